#!/usr/bin/env bash
# Each test runs in make check, in the rest of make check-all or in make check-long, and in one of
# them only: test/checks.mk has a list for each.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# check_lists TREE: prints the tests that stand in no list or in two, and the names without a file.
# A program that a script beside it runs, such as memory/test_threads, belongs to the script.
check_lists() {
	local list test script
	for list in CHECK CHECK_REST CHECK_LONG; do
		make -s --no-print-directory -C "$1" BUILD=build print-list LIST=$list
	done | tr ' ' '\n' | grep . | sort >"$scratch/listed"
	find "$1/test" '(' -name '*.t' -o -name 'test_*.c' ')' -printf '%P\n' | sed 's/\.c$//' |
		sort >"$scratch/found"
	uniq -d "$scratch/listed" | sed 's/$/: in two lists/'
	comm -13 "$scratch/listed" "$scratch/found" | while read -r test; do
		script=${test%/*}/${test##*/test_}.t
		[ "$test" = guards.t ] || [ -e "$1/test/$script" ] || echo "$test: in no list"
	done
	comm -23 "$scratch/listed" "$scratch/found" | uniq | sed 's/$/: there is no such test/'
}

none 'each test is in one of the lists of test/checks.mk' check_lists "$top"

# found NAME EDIT: check_lists says something of NAME after EDIT, a command in a copy of the tree.
found() {
	rm -rf "$scratch/copy"
	mkdir "$scratch/copy"
	(cd "$top" && cp -R --parents Makefile lib/lockq.h test "$scratch/copy")
	(cd "$scratch/copy/test" && eval "$2")
	check_lists "$scratch/copy" >"$scratch/said"
	ok "$(grep -q "^$1: " "$scratch/said"; echo $?)" "it notices: $2"
}
found cli/new.t ': >cli/new.t'
found fault/test_new ': >fault/test_new.c'
found cli/getwork/getwork.t 'rm cli/getwork/getwork.t'
found cli/getwork/getwork.t "sed -i 's|cli/getwork/getwork.t|& &|' checks.mk"
found race/getwork/late.t "sed -i 's|	race/getwork/late.t||' checks.mk"
finish
