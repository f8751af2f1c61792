#!/usr/bin/env zsh
# offers.zsh FILE PROGRAM [OPTION…]: what zsh, in a terminal of its own, offers after "PROGRAM --".
# With options, what it offers after "PROGRAM OPTION --", each line with the option before it.
emulate -R zsh
zmodload zsh/zpty

local file=$1 program=$2 option heard
shift 2
local hits=$(mktemp)

# Typed into the other shell; what that prints is not what was typed, or the echo would be heard.
# Then its line editor is waited for: before it is there, the terminal takes ^U for itself.
type_line() {
	zpty -w -n shell "$1"$'\n'
	zpty -r -m shell heard $'*TYPED\r\n*EDITING*'
}

zpty shell 'PS1= TERM=dumb zsh -f -i'
type_line "bindkey -e; fpath=(${(q)file:h} \$fpath); autoload -Uz compinit; compinit -D -u
hits=${(q)hits}
compadd() {
	local -a offered
	if [[ \${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]]; then
		builtin compadd -A offered \"\$@\"
		print -rl -- \$word\$^offered >>\$hits
	fi
	builtin compadd \"\$@\"
}
zle-line-init() { print -n EDIT''ING }; zle -N zle-line-init
print TY''PED"
for option in "${@:-}"; do
	type_line "word='${option:+$option }'; print TY''PED"
	zpty -w -n shell "$program $option --"$'\t\025'
	type_line "print TY''PED"
done
zpty -d shell
grep . $hits | sort -u
rm -f $hits
