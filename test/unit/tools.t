#!/usr/bin/env bash
# The walls of cmd/, by the symbols of what was built: a tool has no function of another tool, the
# files of a tool call only its own folder, cmd/cli and the library, cmd/cli calls no tool, and no
# two files call each other, not even by way of others.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
build=${LOCKQ_BUILD:-$top/build}
tools=$(sed -n 's/^PROGRAMS := //p' "$top/Makefile")

# The symbols of each file of cmd/: "cli/text.o T cli_text". Of an older source no object counts.
for source in "$top"/cmd/*/*.c; do
	printf '%s\n' "${source#"$top/cmd/"}"
done | sed 's/c$/o/' | (cd "$build/obj/cmd" && xargs nm -A) |
	sed -n 's|^\([^:]*\):[0-9a-f ]* \([TDBRCU]\) \(.*\)|\1 \2 \3|p' >"$scratch/symbols"
awk '$2 != "U" { print $3, $1 }' "$scratch/symbols" >"$scratch/defined"
ok $(($(grep -c . "$scratch/defined") > 295 ? 0 : 1)) 'the files of cmd/ are there'

# calls: "checkwork/keys.o checkwork/actions.o", for each pair of files of which one uses the other.
awk 'NR == FNR { where[$1] = $2; next }
	$2 == "U" && $3 in where { print $1, where[$3] }' \
	"$scratch/defined" "$scratch/symbols" | sort -u >"$scratch/calls"

for tool in $tools; do
	nm "$build/bin/$tool" | awk '$2 ~ /^[TDBRC]$/ { print $3 }' | sort -u >"$scratch/has"
	is "$(awk -v own="^($tool|cli)/" '$2 !~ own && $1 != "main" { print $1 }' \
		"$scratch/defined" | sort -u | comm -12 - "$scratch/has")" '' \
		"$tool has no symbol of another tool"
	is "$(awk -v from="^$tool/" -v to="^($tool|cli)/" '$1 ~ from && $2 !~ to' \
		"$scratch/calls")" '' "$tool calls its own folder and cmd/cli"
done
is "$(awk '$1 ~ /^cli\// && $2 !~ /^cli\//' "$scratch/calls")" '' 'cmd/cli calls no tool'
tsort <"$scratch/calls" >/dev/null 2>"$scratch/circles"
is "$(cat "$scratch/circles")" '' 'no files call each other'

# Only seedloans sees the inside of the library.
beyond=$(cd "$top" && grep -H '^#include "' cmd/*/*.[ch] | grep -v '^cmd/seedloans/' |
	sed 's/:#include "\(.*\)"/ \1/' | while read -r file header; do
	[ "$header" = lockq.h ] || [ -e "cmd/$header" ] || echo "$file: $header"
done)
is "$beyond" '' 'no tool but seedloans sees more of the library than lockq.h'

# The look itself: a call of another tool, and a circle, would be found.
printf '%s\n' 'a.o b.o' 'b.o c.o' 'c.o a.o' | tsort >/dev/null 2>"$scratch/circles"
ok "$([ -s "$scratch/circles" ]; echo $?)" 'a circle would be found'
finish
