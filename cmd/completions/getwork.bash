# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Bash completion for the programs of lockq. The options come from --help=all, so that there is one
# list of them. Users, tasks, loans and requests come from the database, by checkwork --choices.
# What the database says is quoted before it is offered, and nothing of the command line is run.

_lockq_options() {
	command -- "$@" --help=all 2>/dev/null |
		sed -n -e 's/^  -[A-Za-z], \(--[a-z-]*\).*/\1/p' -e 's/^      \(--[a-z-]*\).*/\1/p'
}

# The commands of a program that has some, as --help lists them: "list", "user add".
_lockq_commands() {
	command -- "$1" --help 2>/dev/null |
		sed -En 's/^  ([a-z]+( [a-z]+)?)( \[?[A-Z]+\]?)?  +[a-z].*/\1/p'
}

# Completes a command of managetask. Fails, with the command's words in called, where the cursor is
# behind it.
_lockq_command() {
	local first=${COMP_WORDS[1]} before=''

	if ((COMP_CWORD > 2)) && [[ $first == user ]]; then
		called+=("$first" "${COMP_WORDS[2]}")
		return 1
	elif ((COMP_CWORD > 1)) && [[ $first != user ]]; then
		[[ $first == -* ]] || called+=("$first")
		return 1
	elif [[ $current == -* ]]; then
		return 1
	fi
	((COMP_CWORD == 1)) || before='user '
	mapfile -t COMPREPLY < <(compgen -W "$(_lockq_commands "${COMP_WORDS[0]}" |
		sed -n "s/^$before\([a-z]*\).*/\1/p" | sort -u)" -- "$current")
}

# What a word without an option means for managetask: a task, a user, or a request.
_lockq_bare() {
	[[ ${called[1]-} != cancel ]] || { echo --request; return; }
	[[ ${called[1]-} != user ]] || { echo --user; return; }
	((${#words[@]} != 3)) || echo --task
}

# The functions below share variables of _lockq: words are those of the command line up to the
# cursor, as the shell will read them; raw is the last one as it was typed, and quote the quote that
# is open at the cursor.

# Takes an environment variable off the beginning of rest, and adds its value to the word. Another
# expansion could be known only by executing it.
_lockq_variable() {
	local name

	[[ $rest =~ ^([A-Za-z_][A-Za-z0-9_]*) || $rest =~ ^\{([A-Za-z_][A-Za-z0-9_]*)\} ]] || return
	rest=${rest:${#BASH_REMATCH[0]}} name=${BASH_REMATCH[1]}
	value+=$(printenv "$name") && [[ -n $quote || $value != *[[:space:]*?[]* ]]
}

# Takes a character in double quotes or after a backslash.
_lockq_escaped() {
	if [[ $quote == '"' && $rest != [\\\"\$\`]* ]]; then
		value+=\\
	fi
	value+=${rest:0:1} rest=${rest:1}
}

# Reads the command line up to the cursor. Fails where it can't tell what the shell will read.
_lockq_read() {
	local rest=${COMP_LINE:0:COMP_POINT} value='' c

	words=() quote='' raw=''
	while [[ -n $rest ]]; do
		[[ -n $raw || $rest == [[:blank:]]* ]] || raw=$rest
		c=${rest:0:1} rest=${rest:1}
		case $quote$c in
		[[:blank:]])
			[[ -z $raw ]] || words+=("$value")
			value='' raw='' ;;
		"'" | '"') quote=$c ;;
		"''" | '""') quote='' ;;
		\\ | \"\\) _lockq_escaped ;;
		\$ | '"$') _lockq_variable || return ;;
		\` | '"`' | [\;\|\&\<\>\(\)\*\?\[\{]) return 1 ;;
		\~)
			[[ $raw != "~$rest" || $rest == /* ]] || return
			if [[ $raw == "~$rest" ]]; then value=$HOME; else value+=$c; fi ;;
		*) value+=$c ;;
		esac
	done
	words+=("$value")
}

# Reads the options that tell where the database is, and for loans whose and of which task, into
# arguments.
_lockq_arguments() {
	local -a others=()
	local i word

	arguments=()
	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		word=${words[i]}
		case $word in
		--defaults-file | --defaults-group-suffix | --login-path | --host | --port | \
			--socket | --db-user | --database | --ssl-mode)
			arguments+=("$word=${words[++i]}") ;;
		--defaults-file=* | --defaults-group-suffix=* | --login-path=* | --host=* | \
			--port=* | --socket=* | --db-user=* | --database=* | --ssl-mode=*)
			arguments+=("$word") ;;
		--user | -u) others+=("--user=${words[++i]}") ;;
		--task | -t) others+=("--task=${words[++i]}") ;;
		--user=* | --task=*) others+=("$word") ;;
		-u?* | -t?*) others+=("${word:0:2}" "${word:2}") ;;
		esac
	done
	[[ $1 != loans ]] || arguments+=("${others[@]}")
}

# Asks the database, for a second at most. Nothing is asked on the terminal, and nothing is said.
_lockq_ask() {
	local checkwork=checkwork

	[[ ${words[0]} != */* ]] || checkwork=${words[0]%/*}/checkwork
	timeout 1 "$checkwork" --choices "$1" --begins "$2" "${arguments[@]}" </dev/null 2>/dev/null
}

# Writes a value as it has to stand on the command line, into REPLY.
_lockq_quote() {
	case $quote in
	"'") REPLY=${1//\'/\'\\\'\'} ;;
	'"')
		REPLY=${1//\\/\\\\} REPLY=${REPLY//\"/\\\"}
		REPLY=${REPLY//\$/\\\$} REPLY=${REPLY//\`/\\\`}
		[[ $1 != *!* ]] ;; # history expansion has no escape there
	*)
		printf -v REPLY %q "$1"
		REPLY=${REPLY//\\,/,} ;;
	esac
}

# Offers a value in the place of the word at the cursor. Readline's words also end at some
# characters within a word: what stands before the last of them stays.
_lockq_offer() {
	local typed=$raw word=${COMP_WORDS[COMP_CWORD]} kept

	[[ -z $quote ]] || typed=${raw#"$quote"} word=${word#"$quote"}
	[[ $word != [:=@] ]] || word=''
	_lockq_quote "$1" || return
	kept=$((${#typed} - ${#word}))
	if ((kept < 0)); then
		COMPREPLY+=("${word:0:-kept}$REPLY")
	elif [[ ${REPLY:0:kept} == "${typed:0:kept}" ]]; then
		COMPREPLY+=("${REPLY:kept}")
	fi
}

# Lists the values with what the database says about them: for display only, nothing of it comes
# onto the command line.
_lockq_describe() {
	local line

	COMPREPLY=()
	for line in "$@"; do
		COMPREPLY+=("${line/$'\t'/  }")
	done
}

# Completes the value of an option from the database. Fails if the option is none of those.
_lockq_database() {
	local option current=${words[-1]} before='' token='' what line plain
	local -a arguments lines

	((${#words[@]} > 1)) || return
	option=${words[-2]}
	if ((${#called[@]} > 1)) && [[ $option != -* && $current != -* ]]; then
		option=$(_lockq_bare)
	elif [[ $current == --*=* ]]; then
		option=${current%%=*} current=${current#*=} raw=${raw#*=}
	fi
	case $option in
	--user | -u | --from | --to) what=users ;;
	--task | -t) what=tasks ;;
	--loan | -l) what=loans ;;
	--complete)
		[[ ${words[0]##*/} == getwork ]] || return
		what=loans ;;
	--request | -r) what=requests ;;
	*) return 1 ;;
	esac
	# A quote that opens or closes within the word: readline would replace another part of it.
	plain=${raw//\\?/}
	[[ ${plain#"$quote"} != *[${quote:-\'\"}]* ]] || return 0
	if [[ $what == loans ]]; then
		[[ $current != *,* ]] || before=${current%,*}, current=${current##*,}
		[[ $current != *:* ]] || token=:${current#*:} current=${current%%:*}
	fi
	_lockq_arguments "$what"
	mapfile -t lines < <(_lockq_ask "$what" "$current")
	for line in "${lines[@]}"; do
		if [[ -n $token ]]; then
			line=${line/$'\t'/:}
			[[ $line == "$current$token"* ]] || continue
		fi
		_lockq_offer "$before${line%%$'\t'*}"
	done
	if [[ $what != loans && ${COMP_TYPE-} == 63 && ${#lines[@]} -gt 1 ]]; then
		_lockq_describe "${lines[@]}"
	fi
	return 0
}

# Completes the command of runwork, behind "--", as bash-completion does where it is there. Fails
# where the cursor is before it.
_lockq_behind_dashes() {
	local i

	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] || continue
		if declare -F _command_offset >/dev/null; then
			_command_offset $((i + 1))
		elif ((i + 1 == COMP_CWORD)); then
			mapfile -t COMPREPLY < <(compgen -c -- "$current")
		else
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
		fi
		return 0
	done
	return 1
}

_lockq() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} quote raw
	local -a words called=("${COMP_WORDS[0]}")

	# readline makes a word of the equals sign in --option=value
	if [[ $current == = ]]; then
		current=
	elif [[ $previous == = ]]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	COMPREPLY=()
	if [[ ${called[0]##*/} == managetask ]] && _lockq_command; then
		return
	fi
	if [[ ${called[0]##*/} == runwork ]] && _lockq_behind_dashes; then
		return
	fi
	! { _lockq_read && _lockq_database; } || return 0
	case $previous in
	--defaults-file | --schema-dir | --socket | --csv | --rejects | --log)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	--report)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		return
		;;
	--ssl-mode)
		mapfile -t COMPREPLY < <(compgen -W \
			'DISABLED PREFERRED REQUIRED VERIFY_CA VERIFY_IDENTITY' -- "$current")
		return
		;;
	--host)
		mapfile -t COMPREPLY < <(compgen -A hostname -- "$current")
		return
		;;
	--choices)
		mapfile -t COMPREPLY < <(compgen -W 'users tasks loans requests' -- "$current")
		return
		;;
	--return-after | --retry-after | --not-me-for)
		mapfile -t COMPREPLY < <(compgen -W '30m 1h 4h 1d 2d' -- "$current")
		return
		;;
	--purge-after)
		mapfile -t COMPREPLY < <(compgen -W '30d 90d 365d' -- "$current")
		return
		;;
	--share)
		mapfile -t COMPREPLY < <(compgen -W 'order evenly least' -- "$current")
		return
		;;
	--sort)
		mapfile -t COMPREPLY < <(compgen -W \
			'task waiting oldest assigned loans wait query failures' -- "$current")
		return
		;;
	--enabled | --use-unchecked | --view-repeats)
		mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$current")
		return
		;;
	--poll)
		mapfile -t COMPREPLY < <(compgen -W '5,10,20' -- "$current")
		return
		;;
	--complete) # names loans for getwork only
		[[ ${called[0]##*/} != getwork ]] || return 0
		;;
	--user | -u | --task | -t | --width | -w | --count | -n | --timeout | --wait | --loan | \
		-l | --tasks | --token | --note | --request | -r | --uuid | --port | --db-user | \
		--database | --login-path | --batch | --connect-timeout | --every | --loans | \
		--seed | --follow | --drop-cursor | \
		--defaults-group-suffix | --heavy | --users | --map | --delimiter | --begins | \
		--by | --reason | --account | --name | --manager | --candidates-view | \
		--on-complete | --from | --to | --on-undo | \
		--detail-view | --max-count | --max-pipeline | --lease-minutes | --complete-hold | \
		--max-query-s | --candidate-limit | --request-ttl | --cache-ttl | \
		--refresh-after | --check-view | --tries | --give-up-after | --any-place | \
		--runs | --warning | \
		--critical)
		return
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$(_lockq_options "${called[@]}")" -- "$current")
}

complete -F _lockq getwork checkwork disposition runwork refill managetask lockqstat seedloans \
	lockq-migrate
