#!/usr/bin/env bash
# The benchmark works: each figure that needs nothing but the sandbox runs, as short as can be; its
# numbers can be had as a table, in a README, and compared. How quick anything was is not looked at.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

bench=$top/scripts/bench
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset LOCKQ_BENCH_OUT BENCH_SIZE

# short ARGUMENT…: scripts/bench run, as short as can be.
short() {
	run timeout 600 "$bench" run --size short --out "$scratch/out" "$@"
}

# What a figure may leave behind: tasks, users, tables, requests, queries.
left_behind() {
	sql "SELECT 'task', COUNT(*) FROM task WHERE task_id BETWEEN 211 AND 219
	     UNION ALL SELECT 'user', COUNT(*) FROM app_user WHERE name LIKE 'race-%'
	     UNION ALL SELECT 'table', COUNT(*) FROM information_schema.tables
	      WHERE table_schema = DATABASE() AND table_name LIKE 'test\\_%'
	     UNION ALL SELECT 'request', COUNT(*) FROM work_requested
	      WHERE task_id BETWEEN 211 AND 219
	     UNION ALL SELECT 'query', COUNT(*) FROM information_schema.processlist
	      WHERE id <> CONNECTION_ID() AND info LIKE '%test\\_%'" | tr '\t\n' '  '
}

# --- usage ---------------------------------------------------------------------------------------

run "$bench" list
is "$status" 0 'list'
for figure in "$top"/test/bench/figures/*; do
	like "$out" "^${figure##*/} +[A-Za-z].*[^ ]" "list says what ${figure##*/} measures"
	ok "$([ -x "$figure" ]; echo $?)" "${figure##*/} can be run"
done
is "$(awk 'length($0) > 80' <<<"$out")" '' 'list: 80 columns are enough'
read -r -a usual <<<"$(sed -n 's/^usual: //p' <<<"$out")"
for figure in "${usual[@]}"; do
	ok "$([ -x "$top/test/bench/figures/$figure" ]; echo $?)" "a usual figure is there: $figure"
done
run "$bench" --help
is "$status" 0 '--help'
like "$out" '--strict' '--help names its options'
while IFS='|' read -r arguments says; do
	# shellcheck disable=SC2086 # words
	run "$bench" $arguments
	is "$status" 2 "usage error: bench $arguments"
	like "$err" "$says" "… and why: $says"
done <<'END'
|usage:
nonsense|usage:
list more|list takes nothing
run nonsense|no figure 'nonsense'
run ../common.sh|no figure
run --size|--size needs a value
run --size huge burst|short, not 'huge'
run --nonsense|unknown option '--nonsense'
table /nonexistent|no results in '/nonexistent'
table /tmp /tmp|one folder
compare /nonexistent|two results
compare /nonexistent /nonexistent|no results in '/nonexistent'
END
echo '{"some": "thing"}' >"$scratch/other.json"
run "$bench" table "$scratch/other.json"
is "$status" 2 'a file that is no result is none'

# --- each figure ---------------------------------------------------------------------------------

before=$(left_behind)
figures=(assign burst cron killed record waiting wake)
for figure in "${figures[@]}"; do
	short "$figure"
	is "$status" 0 "$figure: measured"
	[ "$status" -eq 0 ] || printf '# %s\n' "${out//$'\n'/$'\n'# }" "${err//$'\n'/$'\n'# }"
	result=$scratch/out/$figure.json
	is "$(jq -c '[.figure, .size, .complete]' "$result")" "[\"$figure\",\"short\",true]" \
		"$figure: its file says what it is"
	ok "$(jq -e '.at and .title and .machine.cores > 0 and .machine.cpu and .versions.mysql and
		.versions.commit and (.settings.server | has("innodb_flush_log_at_trx_commit"))' \
		"$result" >/dev/null; echo $?)" "$figure: and where it was measured"
	is "$(jq -r '.measures[] | select(.value == null) | .key' "$result")" '' \
		"$figure: every number is one"
	ok "$(jq -e '(.measures | length) > 0 and (.measures | map(.key) | unique | length) ==
		(.measures | length)' "$result" >/dev/null; echo $?)" "$figure: each has its key"
	is "$(awk 'length($0) > 80' <<<"$out")" '' "$figure: 80 columns are enough"
	is "$(left_behind)" "$before" "$figure: leaves nothing behind"
done
is "$(jq '.measures[] | select(.key == "burst.1.4.lockq.queries") | .value' \
	"$scratch/out/burst.json")" 1 'burst: one heavy query for all'
is "$(jq -c '[.measures[] | select(.key | test("^burst.1.4.[a-z]+.loans$")) | .value]' \
	"$scratch/out/burst.json")" '[20,20,20,20,20]' \
	'burst: whoever asks, by whichever way, has loans'
is "$(jq -c '[.measures[] | select(.key | test("twice$")) | .value] | add' \
	"$scratch/out/burst.json")" 0 'burst: no loan is given to two people'

# A case that would take longer than the limit is not reckoned from another one.
BURST_LIMIT=0 short burst
is "$status" 0 'burst, with a limit of no time'
is "$(jq -c '[.not_run[].key]' "$scratch/out/burst.json")" \
	'["burst.1.4.own","burst.1.4.line","burst.1.4.claim","burst.1.4.rows"]' \
	'burst: says what it did not run'
is "$(jq '[.measures[] | select(.key | test("own|line|claim|rows"))] | length' \
	"$scratch/out/burst.json")" 0 'burst: and has no number of it'

# --- what was measured ---------------------------------------------------------------------------

# made NAME VALUE: a folder of results with a promise whose number is VALUE.
made() {
	mkdir -p "$scratch/$1"
	jq '.size = "usual" | .measures |= [.[0], .[1]]
		| .measures[0] += { key: "wake.x", text: "a time", value: '"$2"', unit: "ms",
			better: "less", at_most: 20, missed: ('"$2"' > 20) }
		| .measures[1] += { key: "wake.y", text: "another", value: 5, unit: "x" }' \
		"$scratch/out/wake.json" >"$scratch/$1/wake.json"
}
made a 10
made b 25
run "$bench" table "$scratch/a"
is "$status" 0 'table'
like "$out" '^\| wake: a time \| 10 ms \| at most 20 \|$' 'table: a promise that is kept'
like "$out" 'MySQL [0-9.-]+, .innodb_flush_log_at_trx_commit' 'table: and where that was'
run "$bench" table "$scratch/b"
like "$out" '^\| wake: a time \| 25 ms \| at most 20, \*\*missed\*\* \|$' \
	'table: one that is missed'
run "$bench" table "$scratch/out"
is "$status" 0 'table: of all figures'
like "$out" 'Not of the usual size: .*burst \(short\)' \
	'table: says that the sizes are not the usual'
jq 'del(.complete)' "$scratch/a/wake.json" >"$scratch/broken.json"
run "$bench" table "$scratch/broken.json"
like "$out" 'Broken off: wake' 'table: and what was broken off'

run "$bench" compare "$scratch/a" "$scratch/b"
is "$status" 0 'compare'
like "$out" '^wake.x +10 +25 ms +\+150 % worse, now missed$' \
	'compare: what is worse, and by how much'
like "$out" '^wake.y +5 +5 x +0 %$' 'compare: what is the same'
run "$bench" compare "$scratch/b" "$scratch/a/wake.json"
like "$out" '^wake.x +25 +10 ms +-60 % better, now reached$' 'compare: what is better; with a file'
run "$bench" compare "$scratch/a" "$scratch/out/burst.json"
like "$out" '^wake.x .*not in B$' 'compare: what only one of them has'
like "$out" '^burst.* not in A$' '… and the other'
is "$(awk 'length($0) > 90' <<<"$out")" '' 'compare: lines of a terminal'
jq '.machine.cores = 99' "$scratch/b/wake.json" >"$scratch/elsewhere.json"
run "$bench" compare "$scratch/a" "$scratch/elsewhere.json"
like "$out" 'another machine: only ratios' 'compare: two machines are not alike'

printf 'one\n<!-- bench: x -->\nold\n<!-- bench ends -->\ntwo\n' >"$scratch/README.md"
LOCKQ_BENCH_README=$scratch/README.md run "$bench" readme "$scratch/a"
is "$status" 0 'readme'
run cat "$scratch/README.md"
is "$(sed -n '1p;$p' <<<"$out" | tr '\n' ' ')" 'one two ' 'readme: what is around it stays'
like "$out" 'wake: a time \| 10 ms' 'readme: the table is in it'
ok "$(! grep -q '^old$' <<<"$out"; echo $?)" 'readme: and the old one is gone'
first=$out
LOCKQ_BENCH_README=$scratch/README.md run "$bench" readme "$scratch/a"
is "$(cat "$scratch/README.md")" "$first" 'readme: a second time changes nothing'
echo nothing >"$scratch/README.md"
LOCKQ_BENCH_README=$scratch/README.md run "$bench" readme "$scratch/a"
is "$status" 5 'readme: a file without a place for it'
is "$(cat "$scratch/README.md")" nothing '… stays as it is'
is "$(grep -cE '^<!-- bench(: | ends -->)' "$top/README.md")" 2 'README.md has a place for it'

# --- misses, failures, ends ----------------------------------------------------------------------

# A project whose only figures are made up, beside the real common.sh.
fake=$scratch/fake
mkdir -p "$fake/test/bench/figures" "$fake/scripts" "$fake/build"
ln -s "$top/test/support" "$fake/test/support"
ln -s "$top"/test/bench/{common.sh,table.jq,compare.jq} "$fake/test/bench/"
ln -s "$top"/build/test "$fake/build/test"
cp "$bench" "$fake/scripts/"
ln -s "$top"/scripts/{sandbox,signals.sh} "$fake/scripts/"

# fake NAME: a figure whose lines are standard input.
fake() {
	{
		printf '#!/usr/bin/env bash\n# One that is made up.\nset -eu\n. "%s/common.sh"\n' \
			"$top/test/bench"
		printf 'clean_up() { end_crowd; touch "%s"; }\n' "$scratch/cleaned"
		cat
	} >"$fake/test/bench/figures/$1"
	chmod +x "$fake/test/bench/figures/$1"
}
fake missed <<'END'
figure 'Made up'
measure --at-most 3 missed.a 4 s 'too much'
measure --at-least 3 missed.b 3 s 'enough'
measure --at-least 3 missed.c none s 'not to be had'
END
fake fails <<'END'
figure 'Made up'
measure fails.a 4 s 'one'
false
END
fake long <<'END'
figure 'Made up'
make_users 3
measure long.a 4 s 'one'
sleep 300 &
echo $! >"$LOCKQ_BENCH_OUT/sleeper"
bash -c 'echo $$ >"$0/waited"; exec sleep 300' "$LOCKQ_BENCH_OUT"
END
fake_run() {
	LOCKQ_TOP=$top run timeout 60 "$fake/scripts/bench" run --out "$scratch/fakes" "$@"
}
fake_run missed
is "$status" 0 'a promise that is missed is no failure'
like "$out" 'too much +4 s +MISSED: at most 3' '… and is said'
like "$out" 'not to be had +none s +MISSED: at least 3' '… as is one that could not be measured'
like "$out" 'enough +3 s +at least 3' '… beside one that is kept'
like "$out" '^  missed: too much' '… and again at the end'
fake_run --strict missed
is "$status" 3 '--strict: status 3'
rm -f "$scratch/cleaned"
fake_run fails missed
is "$status" 5 'a figure that fails: status 5'
like "$err" 'fails could not be measured' '… and which'
ok "$([ -f "$scratch/cleaned" ]; echo $?)" '… and it has cleaned up'
is "$(jq -c '[.measures[].key, .complete]' "$scratch/fakes/fails.json")" '["fails.a",null]' \
	'… and what it had is not taken for all'
is "$(jq .complete "$scratch/fakes/missed.json")" true '… the one after it was measured'

# end_by SIGNAL STATUS: the driver alone is told; the figure, and what it has started, end with it.
end_by() {
	local driver i
	rm -f "$scratch/cleaned" "$scratch/fakes/sleeper" "$scratch/fakes/waited"
	env --default-signal=INT,TERM LOCKQ_TOP="$top" "$fake/scripts/bench" run \
		--out "$scratch/fakes" long >/dev/null 2>&1 &
	driver=$!
	for ((i = 0; i < 300; i++)); do
		[ ! -s "$scratch/fakes/waited" ] || break
		sleep 0.1
	done
	kill -"$1" "$driver"
	for ((i = 0; i < 600; i++)); do
		kill -0 "$driver" 2>/dev/null || break
		sleep 0.1
	done
	# What the figure waits for would end by itself long after that.
	ok "$(! kill -0 "$driver" 2>/dev/null; echo $?)" "SIG$1: ends soon"
	ok "$(! kill -0 "$(cat "$scratch/fakes/sleeper")" 2>/dev/null; echo $?)" \
		"SIG$1: what it had started has ended"
	kill "$(cat "$scratch/fakes/sleeper")" "$(cat "$scratch/fakes/waited")" 2>/dev/null
	status=0
	wait "$driver" || status=$?
	is "$status" "$2" "SIG$1: status $2"
	ok "$([ -f "$scratch/cleaned" ]; echo $?)" "SIG$1: the figure has cleaned up"
}
end_by INT 130
end_by TERM 143
forget_users

# A real one, while others wait for a query that computes.
env --default-signal=INT,TERM timeout 120 "$bench" run --size short --out "$scratch/out" burst \
	>/dev/null 2>&1 &
driver=$!
for ((i = 0; i < 600; i++)); do
	[ "$(sql "SELECT COUNT(*) FROM information_schema.processlist
		WHERE id <> CONNECTION_ID()
		  AND info LIKE '%test\\_candidates\\_213%LIMIT%'")" -lt 2 ] || break
	sleep 0.1
done
kill -INT "$driver"
wait "$driver"
is "$(left_behind)" "$before" 'burst, broken off: no user, no task, no query is left'
finish
