#!/usr/bin/env bash
# The pictures of README.md and man/figures.md: make pictures draws them, and the pictures in man/
# show the patterns that scripts/race has now.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/../docs/common.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES

# missing FILE NAME…: prints the names that the picture does not show.
missing() {
	local file=$1 name
	shift
	for name in "$@"; do
		grep -qF ">$name<" "$file" || grep -qF ">$name:" "$file" || echo "$name"
	done
}

mapfile -t patterns < <("$top/scripts/race" --list | cut -d ' ' -f 1)
ok "$([ "${#patterns[@]}" -ge 12 ]; echo $?)" "there are patterns: ${#patterns[@]}"

status=0
make -C "$top" --no-print-directory pictures PICTURES="$scratch" QUERY_SECONDS=0.1 \
	PATTERNS='naive lockq' >"$scratch/output" 2>&1 || status=$?
is "$status" 0 'make pictures'
[ "$status" -eq 0 ] || show "$scratch/output"
is "$(missing "$scratch/patterns.svg" naive lockq)" '' 'the patterns that raced are drawn'
is "$(missing "$top/man/patterns.svg" "${patterns[@]}")" '' "man/patterns.svg shows every pattern"
for folder in "$scratch" "$top/man"; do
	is "$(missing "$folder/race.svg" oliver tracy served 'ran the heavy query')" '' \
		"${folder#"$scratch"}/race.svg shows users, the query and the answers"
done
missing "$top/man/race.svg" nobody | grep -q nobody
ok $? 'a name that a picture does not show is noticed'
finish
