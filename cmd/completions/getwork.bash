# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Bash completion for the programs of lockq. The options come from --help, so that there is one list
# of them.

_lockq_options() {
	command -- "$1" --help 2>/dev/null |
		sed -n -e 's/^  -[A-Za-z], \(--[a-z-]*\).*/\1/p' -e 's/^      \(--[a-z-]*\).*/\1/p'
}

_lockq() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}

	# readline makes a word of the equals sign in --option=value
	if [[ $current == = ]]; then
		current=
	elif [[ $previous == = ]]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	COMPREPLY=()
	case $previous in
	--defaults-file | --schema-dir | --socket | --csv | --rejects)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
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
	--user | -u)
		mapfile -t COMPREPLY < <(compgen -u -- "$current")
		return
		;;
	--return-after | --not-me-for)
		mapfile -t COMPREPLY < <(compgen -W '30m 1h 4h 1d 2d' -- "$current")
		return
		;;
	--purge-after)
		mapfile -t COMPREPLY < <(compgen -W '30d 90d 365d' -- "$current")
		return
		;;
	--poll)
		mapfile -t COMPREPLY < <(compgen -W '5,10,20' -- "$current")
		return
		;;
	--task | -t | --width | -w | --count | -n | --timeout | --wait | --loan | -l | --token | \
		--note | --request | -r | --port | --db-user | --database | --login-path | \
		--batch | --connect-timeout | --defaults-group-suffix | --loans | --seed | --heavy | \
		--users | --map)
		return
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$(_lockq_options "${COMP_WORDS[0]}")" -- "$current")
}

complete -F _lockq getwork checkwork disposition seedloans lockq-migrate
