#!/usr/bin/env bash
# The benchmark works: each figure that needs only the sandbox runs in its short form. Its results
# become tables, go into README.md and man/figures.md, and can be compared. No test depends on a
# measured time.
#
#   LOCKQ_BENCH=all  also the figures that the rest of this test does not need
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

bench=$top/scripts/bench
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset LOCKQ_BENCH_OUT BENCH_SIZE

# short ARGUMENT…: scripts/bench run, in the short form.
short() {
	run timeout 3000 "$bench" run --size short --out "$scratch/out" "$@"
}

# Counts the tasks, users, tables, requests and queries that a figure might leave behind.
left_behind() {
	sql "SELECT 'task', COUNT(*) FROM task WHERE task_id BETWEEN 211 AND 499
	     UNION ALL SELECT 'user', COUNT(*) FROM app_user WHERE name LIKE 'race-%'
	     UNION ALL SELECT 'table', COUNT(*) FROM information_schema.tables
	      WHERE table_schema = DATABASE() AND table_name LIKE 'test\\_%'
	     UNION ALL SELECT 'request', COUNT(*) FROM work_requested
	      WHERE task_id BETWEEN 211 AND 499
	     UNION ALL SELECT 'query', COUNT(*) FROM information_schema.processlist
	      WHERE id <> CONNECTION_ID() AND info LIKE '%test\\_%'" | tr '\t\n' '  '
}

# --- usage ---------------------------------------------------------------------------------------

run "$bench" list
is "$status" 0 'list'
for figure in "$top"/test/bench/figures/*; do
	like "$out" "^${figure##*/} +[A-Za-z]" "list says what ${figure##*/} measures"
done
run "$bench" --help
is "$status" 0 '--help'
like "$out" '--strict' '--help names its options'
while IFS='|' read -r arguments says; do
	# shellcheck disable=SC2086 # words
	run "$bench" $arguments
	is "$status" 2 "usage error: bench $arguments"
	like "$err" "$says" "… the line has: $says"
done <<'END'
|usage:
run nonsense|no figure 'nonsense'
run --size huge burst|short, not 'huge'
run --nonsense|unknown option '--nonsense'
readme /nonexistent|no results in '/nonexistent'
compare /nonexistent|two results
END
echo '{"some": "thing"}' >"$scratch/other.json"
run "$bench" table "$scratch/other.json"
is "$status" 2 'a JSON file that is no result is refused'

# --- each figure ---------------------------------------------------------------------------------

before=$(left_behind)
figures=(assign burst peers take throughput wake warm)
[ "${LOCKQ_BENCH-}" != all ] || figures+=(cron killed record stat waiting)
# in_time FIGURE: on a busy machine one of the four of burst may come after the others' query, and
# the people of warm may need the whole first phase to get a list.
in_time() {
	jq -e 'all(.measures[]; .value != null and (.value == 1 or
		.key != "burst.1.4.lockq.queries"))' "$scratch/out/$1.json" >/dev/null
}
for figure in "${figures[@]}"; do
	short "$figure"
	for _ in 1 2; do
		in_time "$figure" || short "$figure"
	done
	is "$status" 0 "$figure: measured"
	[ "$status" -eq 0 ] || printf '# %s\n' "${out//$'\n'/$'\n'# }" "${err//$'\n'/$'\n'# }"
	result=$scratch/out/$figure.json
	is "$(jq -c '[.figure, .size, .complete]' "$result")" "[\"$figure\",\"short\",true]" \
		"$figure: its file has name, size and completeness"
	ok "$(jq -e '.at and .title and .machine.cores > 0 and .machine.cpu and .versions.mysql and
		.versions.commit and (.settings.server | has("innodb_flush_log_at_trx_commit"))' \
		"$result" >/dev/null; echo $?)" "$figure: where it was measured"
	ok "$(in_time "$figure"; echo $?)" \
		"$figure: every measure has a number, and burst one query for all"
	ok "$(jq -e '(.measures | length) > 0 and (.measures | map(.key) | unique | length) ==
		(.measures | length)' "$result" >/dev/null; echo $?)" "$figure: each has a key"
	is "$(left_behind)" "$before" "$figure: leaves nothing behind"
done
# With SKIP LOCKED, a user takes what the others' scans leave free in that moment: fewer than 5
# loans, sometimes.
is "$(jq -c '[.measures[] | select(.key | test("^burst.1.4.(lockq|own|line).loans$")) | .value]' \
	"$scratch/out/burst.json")" '[20,20,20]' 'burst: all users get all the loans they ask for'
is "$(jq -c '[.measures[] | select(.key | test("unserved$")) | .value]' \
	"$scratch/out/burst.json")" '[0,0,0,0,0]' 'burst: all users get loans, in each of the ways'
is "$(jq -c '[.measures[] | select(.key | test("twice$")) | .value] | add' \
	"$scratch/out/burst.json")" 0 'burst: no loan is given to two people'

is "$(jq -c '[.measures[] | select(.key | test("^warm.(twice|.*unserved)$")) | .value] | add' \
	"$scratch/out/warm.json")" 0 'warm: all people get loans, and none is given twice'
is "$(jq -c '[.measures[] | select(.key | test("^(take.crowd.)?wrong$|lockq.*twice$")) | .value]
	| add' "$scratch"/out/{take,throughput,peers}.json | sort -u)" 0 \
	'take, throughput, peers: no loan is given twice'
is "$(jq '[.measures[] | select(.key == "take.crowd.gave_up") | .value] | add' \
	"$scratch/out/take.json")" 0 'take: nobody gives up while the list has loans'

# A case that would take longer than the limit has no numbers.
cp -R "$scratch/out" "$scratch/all"
BURST_LIMIT=0 short burst
is "$status" 0 'burst, with a limit of no time'
is "$(jq -c '[.not_run[].key]' "$scratch/out/burst.json")" \
	'["burst.1.4.own","burst.1.4.line","burst.1.4.claim","burst.1.4.rows"]' \
	'burst: it names the cases that it did not run'
is "$(jq '[.measures[] | select(.key | test("own|line|claim|rows"))] | length' \
	"$scratch/out/burst.json")" 0 'burst: it has no number of them'

# --- the results ---------------------------------------------------------------------------------

# made NAME VALUE: makes a folder of results. One has a goal, and VALUE as its number.
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
like "$out" '^\| a time \| 10 ms \| at most 20 ms \|$' 'table: a goal that is reached'
like "$out" 'MySQL [0-9.-]+, .innodb_flush_log_at_trx_commit' 'table: versions and settings'
run "$bench" table "$scratch/b"
like "$out" '^\| a time \| 25 ms \| at most 20 ms, \*\*missed\*\* \|$' \
	'table: a goal that is missed'
run "$bench" table "$scratch/out"
like "$out" 'Not of the usual size: .*burst \(short\)' \
	'table: it names the figures that have not the usual size'
jq 'del(.complete)' "$scratch/a/wake.json" >"$scratch/broken.json"
run "$bench" table "$scratch/broken.json"
like "$out" 'Broken off: wake' 'table: it names the figures that were broken off'

run "$bench" compare "$scratch/a" "$scratch/b"
is "$status" 0 'compare'
like "$out" '^wake.x +10 +25 ms +\+150 % worse, now missed$' 'compare: a number that is worse'
like "$out" '^wake.y +5 +5 x +0 %$' 'compare: a number that is the same'
run "$bench" compare "$scratch/b" "$scratch/a/wake.json"
like "$out" '^wake.x +25 +10 ms +-60 % better, now reached$' 'compare: a number that is better'
run "$bench" compare "$scratch/a" "$scratch/out/burst.json"
like "$out" '^wake.x .*not in B$' 'compare: a number that only A has'
like "$out" '^burst.* not in A$' '… and one that only B has'
jq '.machine.cores = 99' "$scratch/b/wake.json" >"$scratch/elsewhere.json"
run "$bench" compare "$scratch/a" "$scratch/elsewhere.json"
like "$out" 'another machine: only ratios' 'compare: it says that the machines differ'

pages=$scratch/pages
mkdir -p "$pages/man"
readme() {
	LOCKQ_BENCH_PAGES=$pages run "$bench" readme "$@"
}
for page in README.md man/figures.md; do
	printf 'one\n<!-- bench: x -->\nold\n<!-- bench ends -->\ntwo\n' >"$pages/$page"
done
readme "$scratch/all"
is "$status" 0 'readme'
for page in README.md man/figures.md; do
	is "$(sed -n '1p;$p' "$pages/$page" | xargs)" 'one two' "$page: the text around stays"
	ok "$(! grep -q '^old$' "$pages/$page"; echo $?)" "$page: the old figures are gone"
	like "$(cat "$pages/$page")" 'MySQL [0-9.-]+' "$page: it tells the version of MySQL"
done
ok "$(! grep -q 'null\|none' "$pages/README.md"; echo $?)" 'README.md: each sentence has numbers'
run cat "$pages/man/figures.md"
like "$out" '^\| 1 s \| 4 \| each runs the query \| 4 \|' 'figures.md has the burst'
like "$out" '^\| 8 followers, 1 times \| [0-9.]+ ms \|' 'figures.md has the wake-up'
is "$(grep -c '^### ' <<<"$out")" "${#figures[@]}" 'figures.md has a section for each figure'
cp -R "$pages" "$scratch/before"
readme "$scratch/all"
is "$(diff -r "$scratch/before" "$pages")" '' 'readme: a second time changes nothing'

# made_up NAME SETTINGS: makes results of the figure NAME; standard input has its measures.
made_up() {
	mkdir -p "$scratch/made"
	jq --arg name "$1" --argjson settings "$2" --argjson measures "$(jq -s .)" \
		'.figure = $name | .settings.figure = $settings | .measures = $measures' \
		"$scratch/out/wake.json" >"$scratch/made/$1.json"
}
made_up burst '{}' <<'END'
{"key": "burst.3.50.lockq.queries", "value": 1, "unit": "", "at_most": 1}
{"key": "burst.3.50.lockq.cpu", "value": 3.1, "unit": "s"}
{"key": "burst.3.50.lockq.last", "value": 2.88, "unit": "s"}
{"key": "burst.3.50.lockq.twice", "value": 0, "unit": "loans"}
{"key": "burst.3.50.own.queries", "value": 50, "unit": ""}
{"key": "burst.3.50.own.cpu", "value": 135, "unit": "s"}
{"key": "burst.3.50.own.last", "value": 68.3, "unit": "s"}
{"key": "burst.3.50.own.twice", "value": 7, "unit": "loans"}
END
made_up warm '{"users": 200, "query": 30}' <<'END'
{"key": "warm.p50", "value": 20.2, "unit": "ms", "at_most": 50}
{"key": "warm.p99", "value": 1200, "unit": "ms", "at_most": 1000, "missed": true}
END
made_up assign '{}' <<'END'
{"key": "assign.1000.ms", "value": 400, "unit": "ms"}
{"key": "assign.10000.ms", "value": 4107, "unit": "ms", "at_most": 2000, "missed": true}
END
made_up peers '{}' <<'END'
{"key": "peers.lockqkept1.64.rate", "value": 450, "unit": "/s", "text": "a queue, 64 workers"}
{"key": "peers.ratiokept.1.8", "value": 1.2, "unit": "x", "at_least": 1}
{"key": "peers.ratiokept.1.64", "value": 0.9, "unit": "x", "at_least": 1, "missed": true}
{"key": "peers.ratiokept.5.8", "value": 4.5, "unit": "x", "at_least": 4}
END
# sentences: the figures of README.md, as one line.
sentences() {
	readme "$scratch/made"
	sed '/^<!-- bench: /,/^<!-- bench ends/!d;//d' "$pages/README.md" | xargs -d '\n' |
		tr -s ' '
}
said=$(sentences)
while read -r sentence; do
	like "$said" "$sentence" "README.md says: $sentence"
done <<'END'
50 people .* query of 3 s .* once, not 50 times. .* after 2.88 s, not 68.3 s. .* 3.1 s, not 135 s\.
200 people .* takes 30 s: .* within 20.2 ms, 99 of 100 within 1.2 s\.
10,000 people .* 4.11 s after
8 to 64 workers .* get 0.9 to 1.2 times .* get 4.5 times as many\.
no loan was given to two people. 3 of 7 goals were missed
END
made_up throughput '{}' <<'END'
{"key": "wrong", "value": 3, "unit": "", "at_most": 0, "missed": true}
END
like "$(sentences)" '3 loans were given twice.* 4 of 8 goals were missed' \
	'README.md owns up to a fault'
is "$(grep -c 'missed\*\*' "$pages/man/figures.md")" 4 'figures.md says once what was missed'
jq 'del(.measures[] | select(.key | test("own")))' "$scratch/made/burst.json" >"$scratch/burst"
mv "$scratch/burst" "$scratch/made/burst.json"
like "$(sentences)" 'runs once. .* after 2.88 s. ' \
	'README.md: a case that was not run has no number'

# Both pages are written, or none.
for page in README.md man/figures.md; do
	cp -R "$scratch/before/." "$pages"
	echo nothing >"$pages/$page"
	cp -R "$pages" "$scratch/kept"
	readme "$scratch/a"
	is "$status" 5 "readme: $page has no place for the figures"
	is "$(diff -r "$scratch/kept" "$pages")" '' '… and both pages stay as they are'
	rm -rf "$scratch/kept"
done

# The project's own pages are of the same results.
is "$(grep -o '[0-9]* of [0-9]* goals' "$top/README.md")" \
	"$(grep -c 'missed\*\*' "$top/man/figures.md") of $(
		grep -cE '^\|.*\| at (least|most) ' "$top/man/figures.md") goals" \
	'README.md counts the goals of figures.md'

# --- misses, failures, ends ----------------------------------------------------------------------

# A copy of the project with made-up figures and the real common.sh.
fake=$scratch/fake
mkdir -p "$fake/test/bench/figures" "$fake/scripts" "$fake/build"
ln -s "$top/test/support" "$fake/test/support"
ln -s "$top/test/bench/common.sh" "$fake/test/bench/"
ln -s "$top"/build/test "$fake/build/test"
cp "$bench" "$fake/scripts/"
ln -s "$top"/scripts/{sandbox,signals.sh} "$fake/scripts/"

# fake NAME: makes the figure NAME of the lines on standard input.
fake() {
	{
		printf '#!/usr/bin/env bash\n# A made-up figure.\nset -eu\n. "%s/common.sh"\n' \
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
sleep 3000 &
echo $! >"$LOCKQ_BENCH_OUT/sleeper"
bash -c 'echo $$ >"$0/waited"; exec sleep 3000' "$LOCKQ_BENCH_OUT"
END
fake_run() {
	LOCKQ_TOP=$top run timeout "$patience" "$fake/scripts/bench" run --out "$scratch/fakes" "$@"
}
fake_run missed
is "$status" 0 'a goal that is missed is no failure'
# A goal that leaves no room in 80 columns has the next line.
joined=${out//$'\n'/ }
like "$joined" 'too much +4 s +MISSED: at most 3' '… it is said that it is missed'
like "$joined" 'not to be had +none s +MISSED: at least 3' '… as is one that could not be measured'
like "$out" 'enough +3 s +at least 3' '… beside a goal that is reached'
like "$out" '^  missed: too much' '… and again at the end'
fake_run --strict missed
is "$status" 3 '--strict: status 3'
rm -f "$scratch/cleaned"
fake_run fails missed
is "$status" 5 'a figure that fails: status 5'
like "$err" 'fails could not be measured' '… the line names it'
ok "$([ -f "$scratch/cleaned" ]; echo $?)" '… it has cleaned up'
is "$(jq -c '[.measures[].key, .complete]' "$scratch/fakes/fails.json")" '["fails.a",null]' \
	'… its result is not complete'
is "$(jq .complete "$scratch/fakes/missed.json")" true '… the next figure was measured'

# gone PID: there is no such process, or only its exit status is left.
gone() {
	! kill -0 "$1" 2>/dev/null || [[ $(ps -o stat= -p "$1") = Z* ]]
}

# Only scripts/bench gets the signal. The figure and its processes must end, too. Without the signal
# the figure would take ten times as long as the test waits.
rm -f "$scratch/cleaned"
env --default-signal=TERM LOCKQ_TOP="$top" "$fake/scripts/bench" run --out "$scratch/fakes" long \
	>/dev/null 2>&1 &
driver=$!
wait_for [ -s "$scratch/fakes/waited" ]
kill -TERM "$driver"
wait_for gone "$driver"
ok $? 'SIGTERM: it ends'
wait_for gone "$(cat "$scratch/fakes/sleeper")"
ok $? 'SIGTERM: the processes of the figure have ended'
kill "$(cat "$scratch/fakes/sleeper")" "$(cat "$scratch/fakes/waited")" 2>/dev/null
status=0
wait "$driver" || status=$?
is "$status" 143 'SIGTERM: status 143'
ok "$([ -f "$scratch/cleaned" ]; echo $?)" 'SIGTERM: the figure has cleaned up'
forget_users

# A real figure is broken off while its followers wait for a query.
env --default-signal=INT "$bench" run --size short --out "$scratch/out" burst \
	>/dev/null 2>&1 &
driver=$!
await "SELECT COUNT(*) >= 2 FROM information_schema.processlist
        WHERE id <> CONNECTION_ID() AND info LIKE '%test\\_candidates\\_213%LIMIT%'" 1
kill -INT "$driver"
status=0
wait "$driver" || status=$?
is "$status" 130 'SIGINT: status 130'
is "$(left_behind)" "$before" 'burst, broken off: no user, no task, no query is left'
finish
