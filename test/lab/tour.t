#!/usr/bin/env bash
# scripts/tour, unattended and in a terminal: each act shows its SQL, runs it, and tells the
# outcome. However it ends, it leaves no process and no file.
#   LOCKQ_LAB=all  the acts that take long, too
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/../docs/common.sh"

tour=$top/scripts/tour
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"

# holds TEXT DESCRIPTION: the tour showed this text.
holds() {
	local found=0
	grep -Fq -e "$1" <<<"$out" || found=1
	ok "$found" "$2"
}

# act OPTION…: runs an act, unattended. A busy machine may be too late to kill or stop a user during
# the query; then the act runs again, with a longer query.
act() {
	local seconds
	for seconds in 0.3 2 8; do
		run timeout 3000 "$tour" "$@" "--query-seconds=$seconds" </dev/null
		grep -q 'over too soon' <<<"$out" || break
	done
}

# outcomes: the outcome of each race, a line each.
outcomes() {
	grep -E '^  Loans given twice: ' <<<"$out"
}

# left: the processes and files of a tour or a race. They are found by their folder for temporary
# files.
left() {
	env -u TMPDIR grep -lzFx -e "TMPDIR=$TMPDIR" /proc/[0-9]*/environ 2>/dev/null |
		while IFS= read -r process; do
			tr '\0' ' ' <"${process%/*}/cmdline"
		done 2>/dev/null
	ls -A "$TMPDIR"
}

# nothing_left DESCRIPTION: a killed process may take a moment to end. The query of a race that goes
# on would take $long_s.
nothing_left() {
	local patience=$gone_s
	wait_for all_is_gone
	is "$(left)" '' "$1: nothing is left"
}
all_is_gone() {
	[ -z "$(left)" ]
}
gone_s=15 long_s=20

# --- unattended ---------------------------------------------------------------------------------

run timeout 3000 "$tour" --act 1 --query-seconds 0.3 </dev/null
is "$status" 0 'act 1'
holds "sql \"INSERT INTO given VALUES \$(values \$loans)\"" 'it shows the SQL of the pattern'
holds 'WHERE loan_id NOT IN (SELECT loan_id FROM given)' 'and the heavy query of the lab'
like "$(outcomes | head -n 1)" 'twice: [1-9].* Loan [0-9]+ went to .* and ' \
	'naive gives loans twice, and the outcome names a loan and its users'
like "$(outcomes | tail -n 1)" 'twice: 0\.' 'with a key no loan is given twice'
like "$out" "ERROR 1062 .*Duplicate entry '[0-9]+' for key 'given.PRIMARY'" \
	'the second user gets an error of the server'
is "$(grep -c $'\e' <<<"$out")" 0 'no colours without a terminal'
is "$(grep -c 'Enter' <<<"$out")" 0 'no pauses without a terminal'
is "$(awk 'length($0) > 80' <<<"$out")" '' 'no line is wider than 80 columns'
nothing_left 'act 1'

# In make check, act 1 and a question of the quiz stand for what follows, which races all patterns.
if [ "${LOCKQ_LAB-}" = all ]; then
	act --act=2
	is "$status" 0 'act 2'
	holds 'SELECT task_id FROM turn WHERE task_id = 7 FOR UPDATE' 'it shows its SQL'
	like "$out" '\| +[a-z]+ +X,REC_NOT_GAP +GRANTED' 'the lock as the server shows it'
	is "$(grep -c 'X,REC_NOT_GAP *WAITING' <<<"$out")" 2 'and two that wait for it'
	holds '(3572)' 'NOWAIT: the error of the others'
	like "$out" 'was killed after' 'a user is killed'
	like "$out" '^  Loans given twice: 3\. Loan' 'without a token a loan goes to two users'
	like "$out" "database refused [a-z]+'s write: token 1 is out of date" \
		'with a token the server refuses that'
	like "$out" '^  Deadlocks: [1-9]' 'a deadlock happened'
	holds '(deadlock:ordered) there are 0 deadlocks' 'in order, none happens'
	is "$(outcomes | grep -vc 'twice: 0')" \
		"$(grep -c 'did not know that time had passed' <<<"$out")" \
		'nothing else was given twice'
	is "$(awk 'length($0) > 80' <<<"$out")" '' 'no line is wider than 80 columns'

	act --act 3 --yes
	is "$status" 0 'act 3'
	holds '   FOR UPDATE SKIP LOCKED' 'it shows the SQL of lockq'
	like "$out" '\| +take_lock +no row' 'the row is passed over'
	like "$out" '\| +read_holder, dirty +[a-z]+$' 'a dirty read shows who leads'
	like "$out" '\| +the same, committed +NULL' 'a committed one does not'
	like "$out" '^  1 heavy query for 3 people: [a-z]+ led' 'one heavy query ran for all'
	is "$(outcomes | sort -u)" '  Loans given twice: 0.' 'no loan is given twice'
	like "$out" '^  [a-z]+ led, and was killed .*\. [a-z]+ led .* later' \
		'another user takes over'
	patterns=$("$top/scripts/race" loans --list | awk '{ print $1 }')
	is "$(awk 'NF == 10 && $2 ~ /^(un)?safe/ { print $1 }' <<<"$out")" "$patterns" \
		'all patterns are compared'
	like "$out" '^  Gave a loan to two people: naive' \
		'the comparison names the patterns that gave loans twice'
	like "$(tr '\n' ' ' <<<"$out")" 'all served: [^.]* lockq  ' \
		'and those that served all users by one query'
	is "$(awk 'length($0) > 80' <<<"$out")" '' 'no line is wider than 80 columns'
	nothing_left 'act 3'

	# The second part whole is in test/long/tour.t.
	act --act=5
	is "$status" 0 'act 5'
	holds "sql 'SELECT COUNT(*) FROM at_work WHERE branch_id = 1'" 'it shows its SQL'
	like "$out" '^  Above the limit of 3: 3\. Isolation level: REPEATABLE READ' \
		'the count breaks the limit, and the level is told'
	like "$out" \
		'^  cap:serializable: above the limit of 3: 0, [0-9]+ deadlocks?, SERIALIZABLE' \
		'another level keeps it'
	like "$out" '^  Shifts with nobody on duty: 2' 'write skew'
	like "$out" '^  Phantoms: 1' 'a phantom'
	is "$(awk 'length($0) > 80' <<<"$out")" '' 'no line is wider than 80 columns'
fi

act --quiz=7
is "$status" 0 'a question of the quiz'
like "$out" '^Quiz, question 7 of 11$' 'the question'
like "$out" '^The answer is a\.$' 'its answer'
like "$out" '^  range:read-committed: phantoms: 1; range: phantoms: 0\.$' 'what shows it'
is "$(grep -c 'Quiz, question' <<<"$out"):$(grep -c 'did not show it' <<<"$out")" 1:0 \
	'only that one'

# Each answer is a sentence of the page, in the section that the quiz names.
section() {
	awk -v name="$1" '/^[A-Z]/ { inside = $0 == name } inside' <<<"$page" | tr -s '\n\t ' ' '
}
page=$(man --no-hyphenation --no-justification -Tascii -l "$top/man/lockq-patterns.7" | col -b)
of_quiz() {
	jq -n -r -L "$top/scripts/lab/tour" "include \"quiz\"; $1"
}
is "$(of_quiz 'questions | length')" 11 'the quiz has eleven questions'
for ((n = 0; n < 11; n++)); do
	says=$(of_quiz "questions[$n].says") of=$(of_quiz "questions[$n].of")
	section "$of" | tr -d '"' | grep -Fq -e " $says"
	ok $? "question $((n + 1)): $of has its answer"
done
is "$(of_quiz 'questions[] | .race' | tr ' ' '\n' | grep '^[a-z]' | sort -u |
	grep -vxFf <("$top/scripts/race" --list | cut -d ' ' -f 1))" '' \
	'the quiz races patterns that there are'

# --- usage --------------------------------------------------------------------------------------

run "$tour" --help
is "$status" 0 '--help'
like "$out" '^usage: scripts/tour ' 'prints the usage'
for bad in '--act 7' '--act 0' '--act' '--act=' '--part 3' '--part' '--quiz 12' '--quiz x' \
	'--query-seconds x' '--query-seconds' --unknown naive '--yes=no'; do
	# shellcheck disable=SC2086 # words
	run "$tour" $bad
	is "$status $(wc -l <<<"$err") $out" '2 1 ' "$bad is refused in one line"
done
LOCKQ_SANDBOX_DIR=$scratch/none run "$tour" </dev/null
is "$status: $err" "5: tour: the sandbox does not run: start it with 'scripts/sandbox start'" \
	'no sandbox'
is "$out" '' 'no sandbox: no output'

# --- in a terminal ------------------------------------------------------------------------------

# in_terminal SECONDS TEXT=KEYS…: a tour of act 1 with a query of SECONDS. The reader types the KEYS
# when the screen shows TEXT. $status is its status, $scratch/screen the screen.
in_terminal() {
	local terminal keys key query=$1
	shift
	rm -f "$scratch/keys"
	mkfifo "$scratch/keys"
	: >"$scratch/screen"
	TERM=xterm timeout 1000 script -qefc "stty rows 24 cols 80; exec '$tour' --act 1 \
		--query-seconds $query" "$scratch/screen" <"$scratch/keys" >/dev/null 2>&1 &
	terminal=$!
	exec {keys}>"$scratch/keys"
	for key in "$@"; do
		wait_for on_screen "${key%=*}"
		printf '%b' "${key##*=}" >&"$keys"
	done
	status=0
	wait "$terminal" || status=$?
	exec {keys}>&-
	sed 's/\x1b\[[0-9;]*[A-Za-z]//g' "$scratch/screen" | tr -d '\r' >"$scratch/text"
}

on_screen() {
	grep -aFq -e "$1" "$scratch/screen"
}

in_terminal 1 'Enter: begin=q'
is "$status" 0 'q at the first page'
like "$(cat "$scratch/text")" 'Enter: begin, q: leave' 'in a terminal there are pauses'
like "$(cat "$scratch/screen")" $'\e\\[1m' 'in a terminal there are colours'
is "$(grep -c 'Act 1: ' "$scratch/text")" 0 'q leaves before the first step'

in_terminal 1 'Enter: begin=\r' 'Enter: run it=\r' 'Enter: go on=\r' 'What happened=q'
is "$status" 0 'q after a race'
like "$(cat "$scratch/text")" 'Loans given twice: [1-9]' 'Enter goes on'
is "$(grep -c 'Look at a flag' "$scratch/text")" 0 'q leaves before the next step'
nothing_left 'q'

NO_COLOR=1 in_terminal 1 'Enter: begin=\003'
is "$status" 130 'Ctrl-C at a pause'
is "$(grep -ac $'\e\\[[0-9]*m' "$scratch/screen")" 0 'NO_COLOR: no colours'
in_terminal $long_s 'Enter: begin=\r' 'Enter: run it=\r' 'runs the heavy query=\003'
is "$status" 130 'Ctrl-C in a race'
nothing_left 'Ctrl-C'

# The screen of before must be gone: test/lab/patterns.t tells why. The runner of this test may
# ignore these signals.
: >"$scratch/screen"
env --default-signal=INT,TERM "$tour" --act 2 --query-seconds $long_s \
	</dev/null >"$scratch/screen" 2>&1 &
wait_for on_screen "runs the heavy query"
kill -TERM $!
status=0
wait $! || status=$?
is "$status" 143 'SIGTERM in a race'
nothing_left 'SIGTERM'

finish
