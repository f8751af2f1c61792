#!/usr/bin/env bash
# lockq-patterns(7) has an entry for each pattern of the lab, which begins with the verdict of its
# script: "Safe.", "Safe if CONDITION." or "Unsafe.". The end of this file damages a copy of the
# tree, and each check must notice.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# script_of TREE NAME: prints the longest beginning of the name that is a script.
script_of() {
	local script=$2
	until [ -f "$1/scripts/lab/$script" ] || [ "$script" = "${script%:*}" ]; do
		script=${script%:*}
	done
	echo "$script"
}

# names TREE: prints the patterns of scripts/race, in their order. `scripts/race --list` would start
# hundreds of processes each time.
names() {
	sed -n '/^\(loans\|others\)=($/,/^)$/s/^\t\([a-z]\)/\1/p' "$1/scripts/race"
}

# verdicts TREE: prints the patterns of scripts/race, each with its verdict and a tab before that.
# The last paragraph of a script's comment has the verdicts.
verdicts() {
	find "$1/scripts/lab" -maxdepth 1 -type f -perm -u+x -exec awk 'FNR == 1 { more = 0 }
		/^# [a-z:-]+ is (safe|unsafe)/ { name = $2; more = 1; sub(/^# [^ ]+ is /, "# ") }
		more { sub(/^# /, ""); text[name] = text[name] (text[name] == "" ? "" : " ") $0 }
		/\.$/ { more = 0 }
		END { for (name in text) print name "\t" toupper(substr(text[name], 1, 1)) \
			substr(text[name], 2) }' {} + | sort >"$scratch/claims"
	names "$1" | sort | join -t "$(printf '\t')" -a 1 - "$scratch/claims"
}

# entries TREE: prints the entries of the page, each with the first line of its text.
entries() {
	section "$1/man/lockq-patterns.7" 'THE PATTERNS' |
		awk 'name != "" { print name "\t" $0; name = "" } /^\.It Cm / { name = $3 }'
}

# check_verdicts TREE: the page has the verdicts of the scripts, word for word.
check_verdicts() {
	verdicts "$1" >"$scratch/verdicts"
	[ "$(wc -l <"$scratch/verdicts")" -ge 45 ] || echo 'too few patterns: this reads wrongly'
	grep -vP '^[a-z:-]+\t(Safe|Unsafe|Safe if [^.]+)\.$' "$scratch/verdicts" |
		sed 's/$/: a script has no such verdict/'
	sort "$scratch/verdicts" >"$scratch/said-by-scripts"
	entries "$1" | sort | comm -3 "$scratch/said-by-scripts" - |
		sed -e 's/^\t\(.*\)/the page says: \1/;t' -e 's/^/the script says: /'
}

# check_order TREE: the page has the scripts in the order of scripts/race, and each variant stands
# behind the pattern that its script is for.
check_order() {
	local of name
	names "$1" >"$scratch/list"
	entries "$1" | cut -f 1 >"$scratch/page"
	for of in list page; do
		while read -r name; do
			script_of "$1" "$name"
		done <"$scratch/$of" | uniq >"$scratch/$of.scripts"
	done
	diff "$scratch/list.scripts" "$scratch/page.scripts"
	awk 'NR == FNR { script[$0]; next } $0 in script { seen[$0]; next }
		{ name = $0; while (!(name in script) && sub(/:[^:]*$/, "", name)); }
		!(name in seen) { print $0 " stands before " name }' \
		"$scratch/page.scripts" "$scratch/page"
}

is "$(names "$top")" "$("$top/scripts/race" --list | cut -d ' ' -f 1)" 'the patterns are read'
none 'each entry begins with the verdict of its script' check_verdicts "$top"
none 'the entries are in the order of the scripts' check_order "$top"

page=man/lockq-patterns.7
noticed check_verdicts $page '/^\.It Cm naive$/,/^\.It Cm flag$/s/^Unsafe\.$/Safe./'
noticed check_verdicts $page 's/^Safe if no process is slower than the cleaner/Safe if none is/'
noticed check_verdicts $page '/^\.It Cm saga$/,/^\.It/{/^Safe\.$/d}'
noticed check_verdicts $page '/^\.It Cm nowait$/d'
noticed check_verdicts $page 's/^\.It Cm cap:counter$/.It Cm cap:number/'
noticed check_verdicts scripts/lab/seeds 's/^\(# seeds:foreign-key is\) unsafe/\1 safe/'
noticed check_verdicts scripts/lab/lease 's/than its lease lasts/than its lease/'
noticed check_verdicts scripts/lab/duty '/^# duty:forupdate is safe/d'
noticed check_verdicts scripts/race 's/^\tnowait$/&\n\tlockq:again/'
noticed check_order $page 's/^\(\.It Cm\) optimistic$/\1 new/;s/^\(\.It Cm\) unique$/\1 optimistic/'
noticed check_order $page 's/^\.It Cm lease$/.It Cm new/;s/^\.It Cm lease:no-token$/.It Cm lease/'
noticed check_order scripts/race 's/^\tcap$/\tone/;s/^\tduty$/\tcap/;s/^\tone$/\tduty/'
finish
