#!/usr/bin/env bash
# lockq-migrate leaves a procedure that is there, since to make it again would take its rights away
# from people at work. So one that a release has made keeps its text for as long as it has its name;
# a new text needs a new name, and schema/finish drops the old one. The new name is the old one with
# the next number, so a reader sees what replaces what. doors.released has the names and the sums of
# the texts, without comments and line breaks.
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

# check_names FOLDER: a procedure that no release has ends in a number: _1 where it is new, else one
# more than the number of the procedure that it replaces, which schema/finish drops. A name without
# a number counts as the first one. Three names are older than this rule, and no release has them
# yet.
check_names() {
	local name word number before
	sums "$1" | cut -d ' ' -f 1 | while read -r name; do
		grep -qs "^[^ ]* $name " "$released" && continue
		case $name in manage_define | manage_person | manage_cancel) continue ;; esac
		word=${name%_*} number=${name##*_}
		case $number in
		1) continue ;;
		'' | 0* | *[!0-9]*)
			echo "$name has no number: a new procedure ends in _1"
			continue
			;;
		2) before="$word(_1)?" ;;
		*) before=${word}_$((number - 1)) ;;
		esac
		grep -Eqsx "DROP PROCEDURE IF EXISTS $before;" "$top"/schema/finish/*.sql ||
			echo "$name replaces nothing that schema/finish drops"
	done
}

# check_apart FOLDER: no view reads another one, so the files may be applied in any order.
check_apart() {
	cat "$1"/*.sql | awk '/^CREATE OR REPLACE / { view = $8 }
		/^DELIMITER/ { view = "" }
		view != "" { text[view] = text[view] " " $0 " " }
		END {
			for (view in text)
				for (other in text)
					if (text[view] ~ ("(FROM|JOIN) " other "[ ;)]"))
						print view " reads the view " other
		}'
}

if [ "${1-}" = --record ]; then
	sums "$top/schema/doors" | sed "s/^/$2 /" >>"$released"
	exit
fi

doors=$top/schema/doors
is "$(sums "$doors" | wc -l)" "$(cat "$doors"/*.sql | grep -c '^CREATE PROCEDURE')" \
	'all procedures are read'
is "$(check "$doors")" '' 'each procedure of a release has its text, or is dropped at the end'
is "$(check_names "$doors")" '' 'each new one has the next number'
is "$(check_apart "$doors")" '' 'no view needs another one'
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
damaged 's/^\(DROP\|CREATE\) PROCEDURE\( IF EXISTS\)* manage_remove_2/&_again/'
like "$(check_names "$scratch/doors")" '^manage_remove_2_again has no number: a new procedure' \
	'a new word in place of a number is found'
damaged 's/^\(DROP\|CREATE\) PROCEDURE\( IF EXISTS\)* manage_remove_2/&1/'
is "$(check_names "$scratch/doors")" 'manage_remove_21 replaces nothing that schema/finish drops' \
	'and so is a number that is left out'
damaged 's/FROM task_lock AS k/FROM lead_in AS k/'
like "$(check_apart "$scratch/doors")" 'run_in reads the view lead_in' 'and a view in a view'
finish
