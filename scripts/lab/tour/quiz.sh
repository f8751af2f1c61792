# The quiz at the end of the tour. Sourced by scripts/tour.
# shellcheck shell=bash disable=SC2154 # $seconds, $lab and so on are those of scripts/tour

# of_quiz EXPRESSION: prints what jq makes of the questions.
of_quiz() {
	jq -n -r -L "$lab/tour" "include \"quiz\"; $1"
}

# choose: sets $choice to the number of the key that was pressed; without pauses to -1.
choose() {
	local key
	choice=-1
	[ "$pauses" = yes ] || return 0
	printf '\n%s[a, b or c; q: leave]%s ' "$faint" "$plain"
	while IFS= read -rsn 1 -u "$keys" key; do
		case $key in
		a | A) choice=0 ;;
		b | B) choice=1 ;;
		c | C) choice=2 ;;
		q | Q) echo; exit 0 ;;
		*) continue ;;
		esac
		printf '\r\e[K'
		return
	done
	exit 0
}

# ask_question N: asks, runs the races that show the answer, and quotes the page. A choice that was
# right raises $points.
ask_question() {
	local n=$1 right arguments seen choice letters=abc line
	local -a words
	right=$(of_quiz "questions[$n - 1].right")
	arguments=$(of_quiz "questions[$n - 1].race")
	page
	put "$faint" <<<"Quiz, question $n of $(of_quiz 'questions | length')"
	put "$bold" <<<"$(of_quiz "questions[$n - 1].ask")"
	put <<<''
	of_quiz "questions[$n - 1].choices | to_entries[] |
		\"    \\([\"a\", \"b\", \"c\"][.key])  \\(.value)\"" | put
	choose
	put <<<''
	put "$bold" <<<"\$ scripts/race $arguments"
	read -r -a words <<<"$arguments"
	quietly "${words[@]}"
	table_head | put "$faint"
	while IFS= read -r line; do
		table_row "$line" | put
	done <<<"$figures"
	seen=$(jq -s -c -L "$lab/tour" "include \"quiz\";
		map({(.name): .}) | add | seen($n)" <<<"$figures")
	put <<<''
	if [ "$choice" -eq "$right" ]; then
		points=$((points + 1))
		put "$bold" <<<"Right: ${letters:right:1}."
	else
		put "$bold" <<<"The answer is ${letters:right:1}."
	fi
	jq -r '"  " + .text, if .holds then empty
		else "  But this race did not show it: give a longer --query-seconds." end' \
		<<<"$seen" | put
	put <<<''
	of_quiz "questions[$n - 1] | \"  \\\"\\(.says)\\\"\",
		\"  lockq-patterns(7), \\(.of)\"" | put
	pause
}

quiz() {
	local n points=0 all
	all=$(of_quiz 'questions | length')
	for ((n = 1; n <= all; n++)); do
		[ "${question:-$n}" != "$n" ] || ask_question "$n"
	done
	[ "$pauses" = yes ] && [ -z "$question" ] || return 0
	page
	put "$bold" <<<"You had $points of $all."
	pause
}
