#!/usr/bin/env bash
# lockq-migrate leaves a procedure that is there, since to make it again would take its rights away
# from people at work. So one that a release has made keeps its text for as long as it has its name;
# a new text needs a new name, and schema/finish drops the old one. doors.released has the names and
# the sums of the texts, without comments and line breaks.
#   test/docs/doors.t --record VERSION   adds those of schema/doors, for a release
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
released=$(dirname "$0")/doors.released

# sums FOLDER: a line for each procedure: its name, and the sum of its text.
sums() {
	rm -f "$scratch"/text.*
	awk -v "folder=$scratch" '
		/^DROP PROCEDURE IF EXISTS / { name = $5; sub("//$", "", name); next }
		name != "" && !/^ *--/ { $1 = $1; printf "%s ", $0 >(folder "/text." name) }
		/\/\/$/ { close(folder "/text." name); name = "" }' "$1"/*.sql
	sha256sum "$scratch"/text.* | sed 's/^\(.\{16\}\).*\/text\.\(.*\)/\2 \1/'
}

# check FOLDER: what is wrong with the procedures of FOLDER, beside the table and schema/finish.
check() {
	sums "$1" >"$scratch/sums"
	while read -r version name sum; do
		now=$(sed -n "s/^$name //p" "$scratch/sums")
		if [ -z "$now" ]; then
			grep -qsx "DROP PROCEDURE IF EXISTS $name;" "$top"/schema/finish/*.sql ||
				echo "$name of $version is gone, and schema/finish does not drop it"
		elif [ "$now" != "$sum" ]; then
			echo "$name is not as in $version: give it a new name"
		fi
	done <"$released"
}

if [ "${1-}" = --record ]; then
	sums "$top/schema/doors" | sed "s/^/$2 /" >>"$released"
	exit
fi

doors=$top/schema/doors
is "$(sums "$doors" | wc -l)" "$(cat "$doors"/*.sql | grep -c '^CREATE PROCEDURE')" \
	'all procedures are read'
is "$(check "$doors")" '' 'each procedure of a release has its text, or is dropped at the end'
first=$(awk 'NR == FNR { there[$1]; next } $2 in there { name = $2 } END { print name }' \
	<(sums "$doors") "$released")
# damaged SED: a copy of the folder with each file changed so.
damaged() {
	rm -rf "$scratch/doors"
	cp -r "$doors" "$scratch/doors"
	sed -i "$1" "$scratch"/doors/*.sql
}
damaged "/^CREATE PROCEDURE $first /,/^END\/\/\$/s/^BEGIN\$/BEGIN DO 1;/"
like "$(check "$scratch/doors")" "$first is not as in .*: give it a new name" \
	'another text under its name is found'
damaged "/^DROP PROCEDURE IF EXISTS $first\/\//,/^END\/\/\$/d"
like "$(check "$scratch/doors")" "$first of .* is gone, and schema/finish" 'and one that is gone'
finish
