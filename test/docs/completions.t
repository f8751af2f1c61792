#!/usr/bin/env bash
# The shells bash, zsh and fish complete the options, the commands and the values of each program.
# The end of this file damages copies of the completions, and each check must notice.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LOCKQ_ZSH_DUMP=$scratch/zsh-dump
PATH=$PATH:$top/scripts

# offers TREE SHELL PROGRAM [OPTION…]: prints the words that the shell offers after "PROGRAM --".
# With options, these are the words after "PROGRAM OPTION --", each line with its option.
offers() {
	local completions=$1/cmd/completions shell=$2 program=$3
	shift 3
	case $shell in
	bash)
		# shellcheck disable=SC2016 # that shell's variables, not ours
		bash -c '. "$1"; program=$2; shift 2
			for option in "${@:-}"; do
				COMP_WORDS=("$program" ${option:+$option} --) COMPREPLY=()
				COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
				eval "$(complete -p "$program" |
					sed "s/.*-F \([^ ]*\) .*/\1/")" 2>/dev/null
				printf "%s\n" "${COMPREPLY[@]/#/${option:+$option }}"
			done' - "$completions/$program.bash" "$program" "$@" ;;
	zsh)
		timeout "$patience" zsh -f "$top/test/docs/offers.zsh" "$completions/_lockq" \
			"$program" "$@" ;;
	fish)
		# fish offers options after each dash: only an option's values can be tested.
		[ $# -eq 0 ] || set -- V --ssl-mode
		# shellcheck disable=SC2016
		timeout "$patience" fish --no-config -c 'source $argv[1]
			complete -C "$argv[2] $argv[4] $argv[3]" | while read -l -d \t word text
				echo $word
			end' "$completions/$program.fish" "$program" "${1---}" "${2-}" ;;
	esac
}

# Each option is offered, and none after an option that wants a value.
check_completion() {
	local shell=$2 program=$3
	local -a with_value
	help_options "$program" '' --help=all | grep '^--' >"$scratch/is"
	offers "$1" "$shell" "$program" >"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
	mapfile -t with_value < <("$program" --help=all |
		sed -n 's/^ .*\(--[a-z-]*\) [A-Z].*/\1/p' | sort -u)
	offers "$1" "$shell" "$program" "${with_value[@]}" >"$scratch/values"
	if [ "$shell" = fish ] && grep -qx -e --ssl-mode "$scratch/is"; then
		[ "$(sort "$scratch/values" | tr '\n' ' ')" = 'VERIFY_CA VERIFY_IDENTITY ' ] ||
			echo '--ssl-mode: its values are not offered'
	fi
	sed -n 's/ --[a-z].*/ wants a value, not an option/p' "$scratch/values" | sort -u
}

# The same for each command of a program: its own options, and its words.
check_commands() {
	local shell=$2 program=$3 command first
	local -a commands
	mapfile -t commands < <(commands_of "$program")
	for command in "${commands[@]}"; do
		help_options "$program" "$command" --help=all | grep '^--' |
			sed "s/^/${command:+$command }/"
	done >"$scratch/is"
	if [ "$shell" = fish ]; then
		# shellcheck disable=SC2016
		timeout "$patience" fish --no-config -c 'source $argv[1]
			for command in $argv[3..]
				complete -C "$argv[2] $command --" | while read -l -d \t word text
					echo (string trim "$command $word")
				end
			end' "$1/cmd/completions/$program.fish" "$program" "${commands[@]}"
	else
		offers "$1" "$shell" "$program" "${commands[@]}"
	fi >"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
	for first in '' user; do
		commands_of "$program" |
			sed -n "s/^${first:+$first }\([a-z][a-z]*\).*/\1/p" >"$scratch/is"
		# shellcheck disable=SC2086 # none, or one
		words_offered "$1" "$shell" "$program" $first >"$scratch/documented"
		compare "$scratch/is" "$scratch/documented"
	done
}

# words_offered TREE SHELL PROGRAM [WORD]: the words that come next.
words_offered() {
	local completions=$1/cmd/completions shell=$2 program=$3
	shift 3
	case $shell in
	bash)
		# shellcheck disable=SC2016 # that shell's variables, not ours
		bash -c '. "$1"; shift; COMP_WORDS=("$@" "") COMPREPLY=()
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			_lockq 2>/dev/null; printf "%s\n" "${COMPREPLY[@]}"' \
			- "$completions/$program.bash" "$program" "$@" ;;
	zsh)
		LOCKQ_TYPED="$program ${1:+$1 }" timeout "$patience" zsh -f \
			"$top/test/docs/offers.zsh" "$completions/_lockq" "$program" ;;
	fish)
		# shellcheck disable=SC2016
		timeout "$patience" fish --no-config -c 'source $argv[1]
			complete -C "$argv[2]" | while read -l -d \t word text
				echo $word
			end' "$completions/$program.fish" "$program ${1:+$1 }" ;;
	esac
}

for shell in bash zsh fish; do
	for program in $programs lockq-migrate; do
		check=check_completion
		[ "$program" != managetask ] || check=check_commands
		if command -v "$shell" >/dev/null 2>&1; then
			none "$shell completes the options of $program" \
				"$check" "$top" "$shell" "$program"
		else
			skip "$shell completes the options of $program" "no $shell"
		fi
	done
done

noticed check_completion cmd/completions/seedloans.bash 's/ --heavy |//' bash seedloans
noticed check_commands cmd/completions/managetask.bash 's/before=.user ./before=/' bash managetask
if command -v zsh >/dev/null 2>&1; then
	noticed check_completion cmd/completions/_lockq 's/\[A-Za-z\], --/[A-Z], --/' zsh getwork
	noticed check_completion cmd/completions/_lockq 's/ rest=":.*/ rest=/' zsh getwork
	noticed check_completion cmd/completions/_lockq '1s/ seedloans//' zsh seedloans
fi
if command -v fish >/dev/null 2>&1; then
	noticed check_completion cmd/completions/getwork.fish 's/  -(?<letter>.), |//' fish getwork
	noticed check_completion cmd/completions/disposition.fish \
		's/set -a spec -x -a.*/set -a spec -x/' fish disposition
fi
finish
