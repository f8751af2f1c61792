#!/usr/bin/env zsh
# offers.zsh FILE PROGRAM [OPTION…]: prints the words that zsh, in a terminal of its own, offers
# after "PROGRAM --". With options, these are the words after "PROGRAM OPTION --", each line with
# its option. LOCKQ_ZSH_DUMP is where zsh keeps what it has found of its own completions, since it
# looks through a thousand files for that.
emulate -R zsh
zmodload zsh/zpty

local file=$1 program=$2 option heard
shift 2
local hits=$(mktemp)

# type_line LINE: types it into the other shell, and waits until that shell has printed TYPED. The
# line spells it differently, or its echo would be taken for it. Then type_line waits for the
# shell's line editor: without it the terminal would take ^U for itself.
type_line() {
	zpty -w -n shell "$1"$'\n'
	zpty -r -m shell heard $'*TYPED\r\n*EDITING*'
}

zpty shell 'PS1= TERM=dumb zsh -f -i'
type_line "bindkey -e; autoload -Uz compinit; compinit -u -d ${(q)LOCKQ_ZSH_DUMP}
fpath=(${(q)file:h} \$fpath); autoload -Uz _lockq; read -rA head <${(q)file}
compdef _lockq \${head[2,-1]}
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
# LOCKQ_TYPED: what is typed in place of that.
for option in "${@:-}"; do
	type_line "word='${option:+$option }'; print TY''PED"
	zpty -w -n shell "${LOCKQ_TYPED:-$program $option --}"$'\t\025'
	type_line "print TY''PED"
done
zpty -d shell
grep . $hits | sort -u
rm -f $hits
