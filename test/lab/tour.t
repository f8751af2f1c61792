#!/usr/bin/env bash
# scripts/tour, unattended and in a terminal: each act shows its SQL, runs it, and says what came of
# it; however it is left, nothing of it stays.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/../docs/common.sh"

tour=$top/scripts/tour
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"

# holds TEXT DESCRIPTION: somewhere in what the tour showed.
holds() {
	local found=0
	grep -Fq -e "$1" <<<"$out" || found=1
	ok "$found" "$2"
}

# seen PATTERN DESCRIPTION: like of what the tour showed, where a kill or a pause came in time.
seen() {
	if grep -q 'over too soon' <<<"$out"; then
		skip "$2" 'the query was over before it could be disturbed'
	else
		like "$out" "$1" "$2"
	fi
}

# outcomes: what came of each race, a line each.
outcomes() {
	grep -E '^  Loans given twice: ' <<<"$out"
}

# left: processes and files of a tour or a race, which are told by their directory for temporary
# files.
left() {
	env -u TMPDIR grep -lzFx -e "TMPDIR=$TMPDIR" /proc/[0-9]*/environ 2>/dev/null |
		while IFS= read -r process; do
			tr '\0' ' ' <"${process%/*}/cmdline"
		done 2>/dev/null
	ls -A "$TMPDIR"
}

# At once, but for the moment that a killed process takes.
nothing_left() {
	local remains end=$((SECONDS + 3))
	remains=$(left)
	while [ -n "$remains" ] && [ "$SECONDS" -lt "$end" ]; do
		sleep 0.1
		remains=$(left)
	done
	is "$remains" '' "$1: nothing stays"
}

# --- unattended ---------------------------------------------------------------------------------

run timeout 300 "$tour" --act 1 --query-seconds 0.3 </dev/null
is "$status" 0 'act 1'
holds "sql \"INSERT INTO given VALUES \$(values \$loans)\"" 'its SQL is that of the pattern'
holds 'WHERE loan_id NOT IN (SELECT loan_id FROM given)' 'and the heavy query that of the lab'
like "$(outcomes | head -n 1)" 'twice: [1-9].* Loan [0-9]+ went to .* and ' \
	'naive gives loans twice, and it says which one to whom'
like "$(outcomes | tail -n 1)" 'twice: 0\.' 'with a key it does not'
like "$out" "ERROR 1062 .*Duplicate entry '[0-9]+' for key 'given.PRIMARY'" \
	'the server says so to who comes second'
is "$(grep -c $'\e' <<<"$out")" 0 'no colours without a terminal'
is "$(grep -c 'Enter' <<<"$out")" 0 'and no pauses'
is "$(awk 'length($0) > 80' <<<"$out")" '' 'no line is wider than 80 columns'
nothing_left 'act 1'

run timeout 300 "$tour" --act=2 --query-seconds=0.3 </dev/null
is "$status" 0 'act 2'
holds 'SELECT task_id FROM turn WHERE task_id = 7 FOR UPDATE' 'its SQL'
like "$out" '\| +[a-z]+ +X,REC_NOT_GAP +GRANTED' 'the lock as the server shows it'
is "$(grep -c 'X,REC_NOT_GAP *WAITING' <<<"$out")" 2 'and those who wait for it'
holds '(3572)' 'NOWAIT: what the others were told'
seen 'was killed after' 'who has the lock after a kill'
seen '^  Loans given twice: 3\. Loan' 'without a token a loan goes to two'
seen "database refused [a-z]+'s write: token 1 is out of date" 'with one the server refuses'
like "$out" '^  Deadlocks: [1-9]' 'a deadlock was seen'
holds '(deadlock:ordered) there are 0 deadlocks' 'and none in order'
is "$(outcomes | grep -vc 'twice: 0')" "$(grep -c 'did not know that time had passed' <<<"$out")" \
	'nothing else was given twice'
is "$(awk 'length($0) > 80' <<<"$out")" '' 'no line is wider than 80 columns'

run timeout 300 "$tour" --act 3 --query-seconds 0.3 --yes </dev/null
is "$status" 0 'act 3'
holds '   FOR UPDATE SKIP LOCKED' 'its SQL is that of lockq'
like "$out" '\| +take_lock +no row' 'the row is passed over'
like "$out" '\| +read_holder, dirty +[a-z]+$' 'a dirty read shows who leads'
like "$out" '\| +the same, committed +NULL' 'a committed one does not'
like "$out" '^  1 heavy query for 3 people: [a-z]+ led' 'one heavy query for all'
is "$(outcomes | sort -u)" '  Loans given twice: 0.' 'no loan is given twice'
seen '^  [a-z]+ led, and was killed .*\. [a-z]+ led .* later' 'somebody takes over'
patterns=$("$top/scripts/race" --list | awk '{ print $1 }')
is "$(awk 'NF == 9 && $2 ~ /^[0-9]+$/ { print $1 }' <<<"$out")" "$patterns" \
	'all patterns are compared'
like "$out" '^  Gave a loan to two people: naive' 'the comparison tells who gave loans twice'
like "$(tr '\n' ' ' <<<"$out")" 'all served: [^.]* lockq  ' 'and who served all by one query'
is "$(awk 'length($0) > 80' <<<"$out")" '' 'no line is wider than 80 columns'
nothing_left 'act 3'

# --- usage --------------------------------------------------------------------------------------

run "$tour" --help
is "$status" 0 '--help'
like "$out" '^usage: scripts/tour ' 'prints the usage'
for bad in '--act 4' '--act' '--act=' '--query-seconds x' '--query-seconds' --unknown naive \
	'--yes=no'; do
	# shellcheck disable=SC2086 # words
	run "$tour" $bad
	is "$status $(wc -l <<<"$err") $out" '2 1 ' "$bad is refused in one line"
done
LOCKQ_SANDBOX_DIR=$scratch/none run "$tour" </dev/null
is "$status: $err" "5: tour: the sandbox does not run: start it with 'scripts/sandbox start'" \
	'no sandbox'
is "$out" '' 'and nothing else'

# --- in a terminal ------------------------------------------------------------------------------

# So long that no race ends by itself before one looks what is left of it.
query=1

# in_terminal KEYS…: a tour of act 1 whose reader types KEYS, each once what stands before its '='
# has been seen on the screen. Leaves the status in $status, the screen in $scratch/screen.
in_terminal() {
	local terminal keys key
	rm -f "$scratch/keys"
	mkfifo "$scratch/keys"
	: >"$scratch/screen"
	TERM=xterm timeout 120 script -qefc "stty rows 24 cols 80; exec '$tour' --act 1 \
		--query-seconds $query" "$scratch/screen" <"$scratch/keys" >/dev/null 2>&1 &
	terminal=$!
	exec {keys}>"$scratch/keys"
	for key in "$@"; do
		await "${key%=*}"
		printf '%b' "${key##*=}" >&"$keys"
	done
	status=0
	wait "$terminal" || status=$?
	exec {keys}>&-
	sed 's/\x1b\[[0-9;]*[A-Za-z]//g' "$scratch/screen" | tr -d '\r' >"$scratch/text"
}

await() {
	local i
	for ((i = 0; i < 600; i++)); do
		! grep -aFq -e "$1" "$scratch/screen" || return 0
		sleep 0.1
	done
}

in_terminal 'Enter: begin=q'
is "$status" 0 'q at the first page'
like "$(cat "$scratch/text")" 'Enter: begin, q: leave' 'there are pauses in a terminal'
like "$(cat "$scratch/screen")" $'\e\\[1m' 'and colours'
is "$(grep -c 'Act 1: ' "$scratch/text")" 0 'q leaves before the first step'

in_terminal 'Enter: begin=\r' 'Enter: run it=\r' 'Enter: go on=\r' 'What happened=q'
is "$status" 0 'q after a race'
like "$(cat "$scratch/text")" 'Loans given twice: [1-9]' 'Enter goes on'
is "$(grep -c 'Look at a flag' "$scratch/text")" 0 'q leaves before the next step'
nothing_left 'q'

NO_COLOR=1 in_terminal 'Enter: begin=\003'
is "$status" 130 'Ctrl-C at a pause'
is "$(grep -ac $'\e\\[[0-9]*m' "$scratch/screen")" 0 'NO_COLOR: no colours'
in_terminal 'Enter: begin=\r' 'Enter: run it=\r' 'runs the heavy query=\003'
is "$status" 130 'Ctrl-C in a race'
nothing_left 'Ctrl-C'

# Signals as in a terminal, whoever runs this test.
env --default-signal=INT,TERM "$tour" --act 2 --query-seconds "$query" \
	</dev/null >"$scratch/screen" 2>&1 &
await 'GRANTED'
kill -TERM $!
status=0
wait $! || status=$?
is "$status" 143 'SIGTERM in a race'
nothing_left 'SIGTERM'

finish
