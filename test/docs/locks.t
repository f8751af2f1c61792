#!/usr/bin/env bash
# lockq-patterns(7) has a card for each lock that the code takes, with every place that takes it.
# What the page names is there. The end of this file damages a copy of the tree, and each check must
# notice.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# cards TREE: prints the lines of the cards, each with the card's name and a tab before it.
cards() {
	section "$1/man/lockq-patterns.7" 'THE LOCKS OF LOCKQ' |
		awk '/^\.S[hs] / { name = $0 == ".Ss Metadata locks" ? "metadata" : "" }
			/^\.It (Vt|Fn GET_LOCK) / {
				name = $0
				sub(/^\.It (Vt|Fn GET_LOCK) /, "", name)
				gsub(/"/, "", name)
			}
			name != "" { print name "\t" $0 }'
}

# check_cards TREE: each lock has its card, and the card has the places. Metadata locks are taken by
# all statements, so the code does not ask for them.
check_cards() {
	perl "$top/test/docs/locks.pl" "$1" >"$scratch/locks"
	[ "$(wc -l <"$scratch/locks")" -ge 30 ] || echo 'too few locks: locks.pl reads wrongly'
	grep -F '?' "$scratch/locks" | sed 's/$/: locks.pl does not know what this is/'
	cards "$1" >"$scratch/cards"
	awk -F '\t' 'FILENAME == ARGV[1] {
			text[$1] = text[$1] " " $2 " "
			next
		}
		$0 in text { next }
		{
			n = split($0, words, " ")
			if (n != 2 || words[1] ~ /^lockq/)
				print "GET_LOCK " $0 ": it has no card"
			else if (!(words[1] in text))
				print words[1] ": it has no card"
			else if (!index(text[words[1]], " " words[2] " "))
				print words[1] ": its card does not name " words[2]
		}' "$scratch/cards" "$scratch/locks"
	# A card of something that is neither a table nor a name that is taken.
	cut -f 1 "$scratch/cards" | sort -u | grep -vx metadata | while read -r name; do
		grep -qx -F "$name" "$scratch/locks" ||
			grep -q "^CREATE TABLE IF NOT EXISTS $name " "$1/schema/baseline.sql" ||
			echo "$name: it has a card, and there is no such lock"
	done
}

# check_fields TREE: each card has its six parts, or five: a lock is freed at the COMMIT.
check_fields() {
	cards "$1" | awk -F '\t' '{ names[$1] }
		$2 ~ /^\.It [a-z]+$/ { sub(/^\.It /, "", $2); parts[$1] = parts[$1] $2 " " }
		END {
			for (name in names)
				if (parts[name] !~ /^taken (freed )?limit then protects held $/)
					print name ": its card has the parts " parts[name]
		}'
}

# check_choices TREE: the eleven kinds of invariant and the nine questions have all that they need.
check_choices() {
	local page=$1/man/lockq-patterns.7
	section "$page" 'WHICH PATTERN WHEN' | awk '
		function look() {
			if (number > 0 && parts != "use see not by ")
				print "invariant " number " has the parts " parts
			parts = ""
		}
		/^\.It [0-9]+\. / { look(); if ($2 != ++number ".") print "invariant " $2 }
		/^\.It (use|see|not by)$/ { parts = parts substr($0, 5) " " }
		/^\.Ql scripts\/race / { races++ }
		END {
			look()
			if (number != 11 || races < 11)
				print number " kinds of invariant, with " races " races"
		}'
	section "$page" 'THE NINE QUESTIONS' | awk '
		/^\.It [0-9]+\. / { if ($2 != ++number ".") print "question " $2 }
		/^lockq: |^lockq:$/ { answers++ }
		END {
			if (number != 9 || answers != 9)
				print number " questions, " answers " answers"
		}'
}

# check_names TREE: functions, statements and procedures are in the files that the page names,
# figures are those of lockqstat --metrics, and the tests are there.
check_names() {
	local page=$1/man/lockq-patterns.7 name file
	sed -n 's/^\.Pq \(\(Fn\|Va\|Dv\) .*\) No in Pa \([a-z_/.-]*\).*/\3 \1/p' "$page" |
		tr -d ',' >"$scratch/places"
	[ "$(wc -l <"$scratch/places")" -ge 40 ] || echo 'the page names too few places'
	while read -r file names; do
		for name in $names; do
			case $name in Fn | Va | Dv | No | and) continue ;; esac
			grep -q "\b$name\b" "$1/$file" || echo "there is no $name in $file"
		done
	done <"$scratch/places"
	sed -n 's/^\.Sy \(lockq_[a-z0-9_]*\).*/\1/p' "$page" | sort -u >"$scratch/figures"
	[ -s "$scratch/figures" ] || echo 'the page names no figures'
	while read -r name; do
		grep -q "\"$name\"" "$1/cmd/lockqstat/metrics.c" || echo "there is no figure $name"
	done <"$scratch/figures"
	grep -Eo '\btest/[A-Za-z0-9./_-]*' "$page" | sed 's/[.,]*$//' | sort -u |
		while read -r file; do
			[ -e "$top/$file" ] || echo "there is no $file"
		done
}

# check_races TREE: scripts/race has the patterns that the page lets race.
check_races() {
	{
		printf '%s\n' loans others all
		"$1/scripts/race" --list | cut -d ' ' -f 1
	} >"$scratch/patterns"
	sed -n 's/^\.Ql scripts\/race \([a-z].*\)/\1/p' "$1/man/lockq-patterns.7" | tr ' ' '\n' |
		grep '^[a-z]' | sort -u >"$scratch/races"
	[ "$(wc -l <"$scratch/races")" -ge 20 ] || echo 'the page names too few races'
	grep -vx -F -f "$scratch/patterns" "$scratch/races" | sed 's/$/: there is no such pattern/'
}

none 'each lock that the code takes has a card, with its places' check_cards "$top"
none 'each card has its six parts' check_fields "$top"
none 'eleven kinds of invariant, nine questions' check_choices "$top"
none 'the functions, figures and tests that the page names are there' check_names "$top"
none 'scripts/race has the patterns that the page names' check_races "$top"

page=man/lockq-patterns.7
for name in task_wake work task_refill follow_cursor work_exclusion; do
	noticed check_cards $page "/^\.It Vt $name\$/d"
done
noticed check_cards $page '/^\.It Fn GET_LOCK lockq-expire:/d'
noticed check_cards $page 's/^\.It Fn GET_LOCK "lockq seed 2"/.It Fn GET_LOCK "lockq seed 3"/'
noticed check_cards $page 's/^\.Pq Fn take_guard No in Pa cmd.*/.Pq Fn take_guard/'
noticed check_cards $page '/^\.Pq Va manage_forget_2/d'
# shellcheck disable=SC2016 # $ is the last line
noticed check_cards lib/look/stat.c \
	'$a\static const char q[] = "SELECT 1 FROM schema_version FOR UPDATE";'
# shellcheck disable=SC2016 # $ is the last line
noticed check_cards lib/getwork/wait.c \
	'$a\static const char q[] = "SELECT GET_LOCK(" WAIT_NAME ", 1)";'
noticed check_cards lib/getwork/wait.c "\$a\\static const char q[] = \"SELECT GET_LOCK('me', 1)\";"
noticed check_cards schema/doors/feed.sql \
	's/^DROP PROCEDURE IF EXISTS follow_looks/SELECT 1 FROM task FOR SHARE;\n&/'
noticed check_fields $page '/^\.It Vt kept_list$/,/^\.It Vt/{/^\.It limit/d}'
noticed check_fields $page '/^\.Ss Metadata/,/^\.Sh/{/^\.It held/d}'
noticed check_choices $page '/^\.It 7\. A range/,/^\.It 8/{/^\.It not by/d}'
noticed check_choices $page '/^\.It 11\. /d'
noticed check_choices $page '/^\.It 4\. For how long/,/^\.It 5/{/^lockq:/d}'
noticed check_names lib/getwork/round.c 's/round_hand_over/round_gives_more/g'
noticed check_names $page 's/lockq_lock_waits/lockq_lock_wait/'
noticed check_names $page 's/test_explain/test_explains/'
noticed check_races $page 's/^\.Ql scripts\/race forupdate seeds lockq/.Ql scripts\/race forupd/'
finish
