#!/usr/bin/env bash
# The walls of cmd/, by the symbols of what was built: a tool has no function of another tool, the
# files of a tool call only its own folder, cmd/cli and the library, cmd/cli calls no tool, and no
# two files call each other, not even by way of others. Includes keep to the same walls.
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

# beyond TOP: the headers that a file of TOP/cmd includes and may not see. Only seedloans sees the
# inside of the library.
beyond() {
	(cd "$1" && grep -H '^#include "' cmd/*/*.[ch]) | sed 's/:#include "\(.*\)".*/ \1/' |
		while read -r file header; do
			folder=${file#cmd/} folder=${folder%%/*}
			case $folder:$header in
			*:lockq.h | *:cli/* | "$folder:$folder"/*) continue ;;
			seedloans:*) [ -e "$top/lib/$header" ] && continue ;;
			esac
			echo "$file: $header"
		done
}
is "$(beyond "$top")" '' 'tools see no headers but their own, those of cmd/cli, and lockq.h'

# The looks themselves: headers that a file may not see, and a circle, would be found.
mkdir -p "$scratch"/cmd/{cli,getwork,seedloans}
printf '#include "%s"\n' lockq.h cli/text.h getwork/tool.h >"$scratch/cmd/cli/text.c"
printf '#include "%s"\n' getwork/tool.h list/take.h cli/ask.h runwork/tool.h \
	>"$scratch/cmd/getwork/main.c"
printf '#include "%s"\n' list/take.h seedloans/seed.h getwork/tool.h \
	>"$scratch/cmd/seedloans/seed.h"
is "$(beyond "$scratch")" 'cmd/cli/text.c: getwork/tool.h
cmd/getwork/main.c: list/take.h
cmd/getwork/main.c: runwork/tool.h
cmd/seedloans/seed.h: getwork/tool.h' 'headers that a file may not see would be found'
printf '%s\n' 'a.o b.o' 'b.o c.o' 'c.o a.o' | tsort >/dev/null 2>"$scratch/circles"
ok "$([ -s "$scratch/circles" ]; echo $?)" 'a circle would be found'
finish
