#!/usr/bin/env bash
# Runs what README.md says, from its first command to its last, in order: a private MySQL of its own
# and a home of its own stand for the fresh machine. A block must end with status 0, or with the one
# that the line before it names: "ends with status 1".
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"

readme=$top/README.md
scratch=$(mktemp -d "${TMPDIR:-/tmp}/readme.XXXXXX")
export LOCKQ_SANDBOX_DIR=$scratch/box
cleanup() {
	"$top/scripts/sandbox" destroy >/dev/null 2>&1
	rm -rf "$scratch"
}
trap cleanup EXIT

# Nothing of the caller's: neither its home, nor its database, nor the make that runs this.
unset LOCKQ_DEFAULTS_FILE MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
export HOME=$scratch/home LOCKQ_DEMO_HEAVY=1 LOCKQ_REAL_LOANS=/nonexistent
mkdir "$HOME"
# The administrator's client finds the private MySQL as it would find the reader's.
export MYSQL_UNIX_PORT=$LOCKQ_SANDBOX_DIR/mysql.sock
mkdir "$LOCKQ_SANDBOX_DIR"
ln -s "$LOCKQ_SANDBOX_DIR/admin.cnf" "$HOME/.my.cnf"

# blocks/N is the Nth block, blocks/N.status what it is to end with, blocks/N.line where it is.
mkdir "$scratch/blocks"
awk -v to="$scratch/blocks/" '
	/^```sh$/ { n++; inside = 1; file = sprintf("%s%03d", to, n)
		status = 0
		if (match(before, /ends with status [0-9]+/))
			status = substr(before, RSTART + 17, RLENGTH - 17)
		print status >(file ".status"); print NR + 1 >(file ".line"); next }
	/^```/ { inside = 0; next }
	inside { print >file; next }
	NF > 0 { before = $0 }' "$readme"

# In a shell of its own, which takes over what the block before left: directory and environment.
run() {
	(
		cd "$(cat "$scratch/where")" || exit 99
		# shellcheck disable=SC2016 # that shell's variables, not ours
		exec bash -c 'set -eu -o pipefail
			. "$1/environment"
			trap "export -p >\"$1/environment\"; pwd >\"$1/where\"" EXIT
			. "$2"' - "$scratch" "$1" </dev/null
	) >"$scratch/output" 2>&1
}

export -p >"$scratch/environment"
printf '%s\n' "$top" >"$scratch/where"
n_blocks=0
for block in "$scratch"/blocks/[0-9][0-9][0-9]; do
	n_blocks=$((n_blocks + 1))
	first=$(head -n 1 "$block")
	name="README.md:$(cat "$block.line"): $first"
	case $(cat "$block") in
	'make check')
		skip "$name" 'this test is part of it'
		continue
		;;
	'man -l '*)
		command -v man >/dev/null 2>&1 || {
			skip "$name" 'no man here'
			continue
		}
		;;
	esac
	expected=$(cat "$block.status") status=0
	run "$block" || status=$?
	ok "$([ "$status" = "$expected" ]; echo $?)" "$name"
	if [ "$status" != "$expected" ]; then
		printf '#   ended with status %s, not %s, after:\n' "$status" "$expected"
		tail -n 20 "$scratch/output" >"$scratch/tail"
		show "$scratch/tail"
	fi
done
ok "$([ "$n_blocks" -ge 10 ]; echo $?)" "README.md has commands: $n_blocks blocks"
printf 'false\ntrue\n' >"$scratch/blocks/bad"
run "$scratch/blocks/bad"
ok "$([ $? -eq 1 ]; echo $?)" 'a command that fails inside a block is noticed'

# Commands in running text are not run, so what they name must at least be there.
# shellcheck disable=SC2016 # backquotes that grep is to find
missing=$(grep -o '`make [a-z-]*`' "$readme" | tr -d '\140' | sort -u | while read -r _ target; do
	grep -q "^$target:" "$top/Makefile" || echo "make $target"
done)
ok "$([ -z "$missing" ]; echo $?)" "targets that README.md names are in the Makefile $missing"
missing=$(grep -o '](\([^)]*\))' "$readme" | sed 's/^](\(.*\))$/\1/' | grep -v '^http' |
	while read -r file; do [ -e "$top/$file" ] || echo "$file"; done)
ok "$([ -z "$missing" ]; echo $?)" "files that README.md refers to are there $missing"
finish
