# SPDX-License-Identifier: MIT
# Fish completion for the programs of lockq: the file's name says for which. The options
# come from --help=all, so that there is one list of them.

# What the argument of an option may be: nothing for any text.
function __lockq_values
    switch $argv[1]
        case ssl-mode
            echo 'DISABLED PREFERRED REQUIRED VERIFY_CA VERIFY_IDENTITY'
        case host
            echo '(__fish_print_hostnames)'
        case user
            echo '(__fish_complete_users)'
        case return-after retry-after not-me-for
            echo '30m 1h 4h 1d 2d'
        case purge-after
            echo '30d 90d 365d'
        case poll
            echo '5,10,20'
        case share
            echo 'order evenly least'
        case sort
            echo 'task waiting oldest assigned loans wait query failures'
        case enabled use-unchecked view-repeats
            echo 'yes no'
    end
end

# The command that the line names, "list" or "user add", is this one; '' is none.
function __lockq_command_is
    set -l words (commandline -opc)[2..]
    string match -q -- '-*' "$words[1]"; and set words
    test "$words[1]" = user; or set words $words[1]
    test "$words[1..2]" = "$argv[1]"
end

# __lockq_option PROGRAM LETTER NAME ARGUMENT TEXT, for the command in $__lockq_called, if it is set
function __lockq_option
    set -l spec -c $argv[1] -l $argv[3] -d $argv[5]
    set -q __lockq_called; and set -a spec -n "__lockq_command_is '$__lockq_called'"
    test -z "$argv[2]"; or set -a spec -s $argv[2]
    if test -n "$argv[4]"; and not string match -q '[*' -- $argv[4]
        switch $argv[3]
            case defaults-file schema-dir socket csv rejects log
                set -a spec -r -F
            case report
                set -a spec -x -a '(__fish_complete_directories)'
            case '*'
                set -a spec -x -a (__lockq_values $argv[3] | string collect --allow-empty)
        end
    end
    complete $spec
end

# A line of --help begins an option, goes on with its text, or is neither.
function __lockq_complete
    set -l program $argv[1]
    set -l command $argv[2..]
    set -l found
    set -l option '^(?:  -(?<letter>.), |      )--(?<name>[a-z-]+)'
    set option $option'(?: (?<argument>\S+))?(?:  +(?<text>.*))?$'
    complete -c $program -f
    for line in (command $program $command --help=all 2>/dev/null) ''
        set -l letter
        set -l name
        set -l argument
        set -l text
        if string match -rq -- $option $line
            set -q found[1]; and __lockq_option $program $found
            set found "$letter" "$name" "$argument" "$text"
        else if set -q found[1]; and string match -rq -- '^ {10,}(?<text>\S.*)$' $line
            set found[4] (string trim -- "$found[4] $text")
        else if set -q found[1]
            __lockq_option $program $found
            set found
        end
    end
end

# The program's own options, and those of each of its commands.
function __lockq_complete_all
    set -l commands (command $argv[1] --help 2>/dev/null |
        string replace -rf '^  ([a-z]+(?: [a-z]+)?)(?: \[?[A-Z]+\]?)?  +[a-z].*' '$1')
    if not set -q commands[1]
        __lockq_complete $argv[1]
        return
    end
    for called in '' $commands
        set -g __lockq_called $called
        __lockq_complete $argv[1] (string split -n ' ' -- $called)
    end
    set -e __lockq_called
    set -l first (string replace -r ' .*' '' -- $commands | sort -u)
    set -l second (string replace -rf '^user ' '' -- $commands)
    complete -c $argv[1] -n "__lockq_command_is ''" -a "$first"
    complete -c $argv[1] -n "__lockq_command_is user" -a "$second"
end

# The command of runwork, behind "--".
function __lockq_command
    set -l words (commandline -opc)
    set -l command $words[(math (contains -i -- -- $words) + 1)..]
    complete -C (string join ' ' -- (string escape -- $command) (commandline -ct | string collect --allow-empty))
end
complete -c runwork -n 'contains -- -- (commandline -opc)' -x -a '(__lockq_command)'

__lockq_complete_all (string replace -r '\.fish$' '' (path basename (status filename)))
