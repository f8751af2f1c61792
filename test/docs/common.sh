# The tests of the documentation share this. Sourced by test/docs/*.t and test/lab/*.t.
# shellcheck shell=bash

# shellcheck source=test/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
case :$PATH: in
*:"$top/build/bin":*) ;;
*) command -v getwork >/dev/null 2>&1 || PATH=$top/build/bin:$PATH ;;
esac
skip() {
	tests=$((tests + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tests" "$1" "$2"
}

# show FILE: prints its lines as TAP comments.
show() {
	sed 's/^/#   /' "$1"
}

# The rest is for checks. A check is a function that prints the faults of the tree that is its first
# argument. It keeps its files in $scratch.

# compare IS DOCUMENTED: prints the differences of two files with a name in each line.
compare() {
	sort -u "$1" >"$1.sorted"
	sort -u "$2" >"$2.sorted"
	[ -s "$1.sorted" ] || echo "nothing to compare with: this test reads the sources wrongly"
	comm -23 "$1.sorted" "$2.sorted" | sed 's/$/: not documented/'
	comm -13 "$1.sorted" "$2.sorted" | sed 's/$/: documented, but there is no such thing/'
}

# section PAGE NAME: prints the lines of that .Sh.
section() {
	awk -v name="$2" '/^\.Sh / { inside = ($0 == ".Sh " name) } inside' "$1"
}

# page_of TREE PAGE: prints where that page of the manual is. lockq.3 is made of the tree.
# shellcheck disable=SC2154 # $scratch is the test's
page_of() {
	if [ "$2" != lockq.3 ]; then
		printf '%s\n' "$1/man/$2"
		return
	fi
	mkdir -p "$scratch/man"
	"$1/scripts/api-page" "$1/lib/lockq.h" "$1/lib/lockq.map" "$1/man/lockq.3.in" \
		>"$scratch/man/lockq.3" || return
	printf '%s\n' "$scratch/man/lockq.3"
}

# pages_of TREE: prints where the pages of the manual are.
pages_of() {
	page_of "$1" lockq.3
	printf '%s\n' "$1"/man/*.[1-9]
}

# none DESCRIPTION CHECK ARG…: the check finds no fault.
# shellcheck disable=SC2154 # $scratch is the test's
none() {
	local description=$1
	shift
	"$@" >"$scratch/said"
	ok "$([ -s "$scratch/said" ]; echo $((! $?)))" "$description"
	show "$scratch/said"
}

# noticed CHECK FILE EDIT [ARG…]: the check finds a fault where the file is edited, in a copy of the
# tree that all edits of a test share. LOCKQ_DAMAGE=no, in make check, leaves these tests of the
# tests to make check-rest.
noticed() {
	local check=$1 file=$2 edit=$3 copy=$scratch/copy
	shift 3
	if [ "${LOCKQ_DAMAGE-}" = no ]; then
		skip "$check notices: $file: $edit" 'see LOCKQ_DAMAGE'
		return
	fi
	if [ ! -d "$copy" ]; then
		mkdir "$copy"
		(cd "$top" && cp -R --parents Makefile man lib schema scripts cmd debian \
			test/model "$copy")
	fi
	sed -i "$edit" "$copy/$file"
	"$check" "$copy" "$@" >"$scratch/said"
	ok "$([ -s "$scratch/said" ] && ! cmp -s "$top/$file" "$copy/$file"; echo $?)" \
		"$check notices: $file: $edit"
	cp "$top/$file" "$copy/$file"
}

# The programs of lockq, each with a page of its name.
# shellcheck disable=SC2034 # tests use it
programs='getwork checkwork disposition runwork refill managetask lockqstat seedloans'

# help_text PROGRAM COMMAND HELP: prints its HELP, --help or --help=all. Each runs once. Both sides
# of a pipe may ask for the same, so a text is kept when it is whole.
help_text() {
	local kept=$scratch/help_texts/$1$2$3
	local own=$kept.$BASHPID
	if [ ! -e "$kept" ]; then
		mkdir -p "$scratch/help_texts"
		# shellcheck disable=SC2086 # a command may have two words
		"$1" $2 "$3" >"$own"
		mv "$own" "$kept"
	fi
	cat "$kept"
}

# commands_of PROGRAM: prints its commands, "list", "user add", and an empty line for none.
commands_of() {
	echo
	help_text "$1" '' --help | sed -En 's/^  ([a-z]+( [a-z]+)?)( \[?[A-Z]+\]?)?  +[a-z].*/\1/p'
}

# help_options PROGRAM COMMAND HELP: prints the options that its HELP has: "-u" and "--user", one a
# line.
help_options() {
	help_text "$1" "$2" "$3" | sed -n \
		-e 's/^  \(-[A-Za-z]\), \(--[a-z-]*\).*/\1\n\2/p' -e 's/^      \(--[a-z-]*\).*/\1/p'
}
