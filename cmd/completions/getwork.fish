# SPDX-License-Identifier: MIT
# Fish completion for the programs of lockq: the file's name says for which. The options
# come from --help, so that there is one list of them.

# What the argument of an option may be: nothing for any text.
function __lockq_values
    switch $argv[1]
        case ssl-mode
            echo 'DISABLED PREFERRED REQUIRED VERIFY_CA VERIFY_IDENTITY'
        case host
            echo '(__fish_print_hostnames)'
        case user
            echo '(__fish_complete_users)'
        case return-after not-me-for
            echo '30m 1h 4h 1d 2d'
        case purge-after
            echo '30d 90d 365d'
        case poll
            echo '5,10,20'
    end
end

# __lockq_option PROGRAM LETTER NAME ARGUMENT TEXT
function __lockq_option
    set -l spec -c $argv[1] -l $argv[3] -d $argv[5]
    test -z "$argv[2]"; or set -a spec -s $argv[2]
    if test -n "$argv[4]"; and not string match -q '[*' -- $argv[4]
        switch $argv[3]
            case defaults-file schema-dir socket csv rejects
                set -a spec -r -F
            case '*'
                set -a spec -x -a (__lockq_values $argv[3] | string collect --allow-empty)
        end
    end
    complete $spec
end

# A line of --help begins an option, goes on with its text, or is neither.
function __lockq_complete
    set -l program $argv[1]
    set -l found
    set -l option '^(?:  -(?<letter>.), |      )--(?<name>[a-z-]+)'
    set option $option'(?: (?<argument>\S+))?(?:  +(?<text>.*))?$'
    complete -c $program -f
    for line in (command $program --help 2>/dev/null) ''
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

__lockq_complete (string replace -r '\.fish$' '' (path basename (status filename)))
