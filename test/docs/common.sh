# What the tests of the documentation share. Sourced by test/docs/*.t.
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

# A file's lines as TAP comments.
show() {
	sed 's/^/#   /' "$1"
}

# The rest is for checks, which print what is wrong in the tree that is their first argument, and
# keep their files in $scratch.

# compare WHAT-IS DOCUMENTED: two files with one name a line.
compare() {
	sort -u "$1" >"$1.sorted"
	sort -u "$2" >"$2.sorted"
	[ -s "$1.sorted" ] || echo "nothing to compare with: this test reads the sources wrongly"
	comm -23 "$1.sorted" "$2.sorted" | sed 's/$/: not documented/'
	comm -13 "$1.sorted" "$2.sorted" | sed 's/$/: documented, but there is no such thing/'
}

# section PAGE NAME: the lines of that .Sh.
section() {
	awk -v name="$2" '/^\.Sh / { inside = ($0 == ".Sh " name) } inside' "$1"
}

# none DESCRIPTION CHECK ARGS…: the check finds nothing to say.
# shellcheck disable=SC2154 # $scratch is the test's
none() {
	local description=$1
	shift
	"$@" >"$scratch/said"
	ok "$([ -s "$scratch/said" ]; echo $((! $?)))" "$description"
	show "$scratch/said"
}

# some FILE SED-SCRIPT CHECK [ARGS…]: in a copy of the tree where FILE is changed so, the check
# finds something.
some() {
	local file=$1 script=$2 check=$3
	shift 3
	rm -rf "$scratch/copy"
	mkdir -p "$scratch/copy/test"
	(cd "$top" && cp -R man lib schema scripts cmd "$scratch/copy" &&
		cp -R test/model "$scratch/copy/test")
	sed -i "$script" "$scratch/copy/$file"
	if cmp -s "$top/$file" "$scratch/copy/$file"; then
		ok 1 "the test's test: '$script' changes nothing in $file"
		return
	fi
	"$check" "$scratch/copy" "$@" >"$scratch/said"
	ok "$([ -s "$scratch/said" ]; echo $?)" "$check notices: $file without '$script'"
}
