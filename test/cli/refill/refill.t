#!/usr/bin/env bash
# refill, and getwork that starts it: whose list is filled when, what people wait for meanwhile, and
# that nothing of getwork's stays with the process that it leaves behind.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=232
make_steered "$task" 4000
sql "CREATE OR REPLACE VIEW test_check_$task AS
       SELECT loan_id, line AS priority FROM test_loan_$task;
     GRANT SELECT ON test_check_$task TO lockq_worker@lockq"
make_users 6
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'end_all; forget_steered "$task"; forget_users; rm -rf "$scratch"
	sql "DROP VIEW IF EXISTS test_check_$task"' EXIT

epoch() {
	sql "SELECT COALESCE(MAX(epoch), 0) FROM kept_list WHERE task_id = $task"
}

# make_due: makes the list due, as if its query had begun long ago, and forgets who tried to fill
# it.
make_due() {
	sql "UPDATE kept_list SET as_of = NOW(6) - INTERVAL 400 SECOND WHERE task_id = $task;
	     UPDATE task_refill SET tried_at = NULL, failures = 0, reason = NULL
	      WHERE task_id = $task"
}

ask() {
	getwork --task "$task" --user "race-$1" "${@:2}"
}

# refillers: an expression, how many processes that getwork left behind are connected.
refillers="(SELECT COUNT(DISTINCT p.attr_value) FROM performance_schema.session_connect_attrs AS n
	JOIN performance_schema.session_connect_attrs AS p USING (processlist_id)
	WHERE n.attr_name = 'program_name' AND n.attr_value = 'refill' AND p.attr_name = '_pid')"

# --- options, and what there is to fill -----------------------------------------------------------

for arguments in '' '--every 5' '--due --every 5' '--watch --every 0' '--watch --every 3601' \
	'--task 0' '--task x' "--task $task x"; do
	# shellcheck disable=SC2086 # words, on purpose
	run refill $arguments
	is "$status" 2 "'$arguments': exit 2"
	like "$err" '^refill: ' "'$arguments': one line that names it"
done
run refill --task "$task"
is "$status:$err" "4:refill: task $task keeps no list: its cache_ttl is 0" \
	'a task without a list: exit 4'
run refill --task 999999
is "$status" 4 'an unknown task: exit 4'
sql "UPDATE task SET cache_ttl = 600, refresh_after = 300, check_view = 'test_check_$task'
      WHERE task_id = $task"
run refill --due
is "$status:$out:$err" '0:no list is due:' 'nobody has asked: no list is due'
run refill --due --task "$task"
is "$status:$out" "0:task $task: its list is not due" 'with --task, too'
is "$(refill --due --json)" '' '--json: no object'

run refill --task "$task"
first=$(epoch)
like "$status:$out" \
	"^0:task $task: a list of 4000 loans, after 0 pending requests - query [0-9.]+ m?s\$" \
	'refill --task: a list'
is "$(ask 1 --json | jq -c '[.source, .loans[].loan_id]')" \
	"[\"list\",$(sql "SELECT loan_id FROM test_loan_$task ORDER BY line LIMIT 1")]" \
	'getwork takes from it'
like "$(ask 1)" "served in [0-9.]+ m?s from a refill's list of " 'and says whose list it is'
is "$(sql "SELECT CONCAT_WS(' ', user, how) FROM leader_run WHERE task_id = $task")" \
	'(refill) query' 'one query has run'
run refill --task "$task" --json
is "$(jq -c 'keys_unsorted' <<<"$out")" "$(jq -c . <<<'["task","result","epoch","loans","requests",
	"query_ms","as_of","reason","exit"]')" '--json: the keys'
is "$(jq -c '[.task, .result, .epoch, .loans, .reason, .exit]' <<<"$out")" \
	"[$task,\"filled\",$((first + 1)),1000,null,0]" '--json: the values'
make_due
is "$(refill --due --json | jq -c '[.task, .result]')" "[$task,\"filled\"]" 'a list that is due'
run refill --due
is "$status:$out" '0:no list is due' 'it is due no more'

# --- people beside it -----------------------------------------------------------------------------

open_gatekeeper
shut_gate "$task"
steer "$task" gated
start filler refill --task "$task"
await_leader "$task" '(refill)'
is "$(ask 2 --json --no-refill | jq -c '[.source, .epoch, .assigned]')" \
	"[\"list\",$((first + 2)),1]" \
	'people take from the old list meanwhile'
run refill --task "$task"
is "$status:$err" \
	"3:refill: task $task is led by another process: its list is filled anyway" \
	'a second refill: exit 3'
make_due
gatekeeper_says 'LOCK TABLES task_refill READ;'
run refill --due
gatekeeper_says 'UNLOCK TABLES;'
is "$status:$out" 5: 'refill --due, and a table is locked: exit 5'
like "$err" '^refill: .*Lock wait timeout' 'and a message'
run refill --due
is "$status:$out:$err" \
	"0:task $task is led by another process: its list is filled anyway:" \
	'refill --due: exit 0'
open_gate "$task"
end filler
is "$status:$(epoch)" "0:$((first + 3))" 'the new list is there'

# --- signals --------------------------------------------------------------------------------------

for signal in INT:130 TERM:143 HUP:129; do
	shut_gate "$task"
	start filler refill --task "$task"
	await_leader "$task" '(refill)'
	kill -s "${signal%:*}" "${process[filler]}"
	end filler
	is "$status:$out:$err" "${signal#*:}:task $task: interrupted, the old list stays:" \
		"SIG${signal%:*}: exit ${signal#*:}, and a line"
	open_gate "$task"
done
# A query that waits for the gate ends when its client is gone. This one would go on.
steer "$task" heavy
start filler refill --task "$task"
await_leader "$task" '(refill)'
await "SELECT $(queries "$task")" 1
kill -INT "${process[filler]}"
end filler
is "$status" 130 'SIGINT while the query works'
# It works for a minute and more. A query that is killed ends with its row.
patience=20 await "SELECT $(queries "$task")" 0
ok $? 'its query is ended'
steer "$task" gated
is "$(epoch)" "$((first + 3))" 'the old list stays'
is "$(sql "SELECT $(queries "$task")")" 0 'no query goes on'
is "$(ask 3 --json --no-refill | jq -c '[.source, .epoch]')" "[\"list\",$((first + 3))]" \
	'it is taken from'

# --- --watch --------------------------------------------------------------------------------------

steer "$task" light
start watcher refill --watch --every 1 --json
await "SELECT $refillers" 1
make_due
await "SELECT MAX(epoch) > $first + 3 FROM kept_list WHERE task_id = $task" 1
kill "${process[watcher]}"
end watcher
is "$status:$err" 143: '--watch: SIGTERM ends it, exit 143'
is "$(jq -c '[.task, .result, .exit]' <<<"$out")" "[$task,\"filled\",0]" \
	'it has filled what was due'

# --- getwork leaves one behind --------------------------------------------------------------------

before=$(epoch)
make_due
is "$(ask 1 --json --no-refill | jq -r .source)" list '--no-refill: the loans'
printf '!include %s\n[lockq]\nlockq-no-refill\n' "$LOCKQ_DEFAULTS_FILE" >"$scratch/none.cnf"
chmod 600 "$scratch/none.cnf"
is "$(ask 1 --json --defaults-file "$scratch/none.cnf" | jq -r .source)" list \
	'lockq-no-refill in an option file, too'
is "$(sql "SELECT COALESCE(MAX(tried_at), '-') FROM task_refill WHERE task_id = $task")" - \
	'nobody was told to fill the list'
shut_gate "$task"
steer "$task" gated
exec 9>"$scratch/lock"
flock 9
got=$(ask 1 --json | cat)
exec 9>&-
is "$(jq -c '[.source, .assigned]' <<<"$got")" '["list",1]' 'getwork | cat ends with the loans'
await_leader "$task" '(refill)'
is "$(sql "SELECT $refillers")" 1 'a process that it left behind fills the list'
flock --nonblock "$scratch/lock" true
ok "$?" 'that one has none of its files'
pid=$(sql "SELECT MAX(p.attr_value) FROM performance_schema.session_connect_attrs AS n
	JOIN performance_schema.session_connect_attrs AS p USING (processlist_id)
	WHERE n.attr_name = 'program_name' AND n.attr_value = 'refill' AND p.attr_name = '_pid'")
is "$(readlink "/proc/$pid/fd/0" "/proc/$pid/fd/1" "/proc/$pid/fd/2" | paste -sd ' ')" \
	'/dev/null /dev/null /dev/null' 'no terminal, no pipe'
is "$(ps -o sid= -p "$pid" | tr -d ' ')" "$pid" 'a session of its own'
sql "UPDATE task_refill SET tried_at = NULL WHERE task_id = $task"
for i in 1 2 3 4 5 6; do
	start "asker$i" ask "$i"
done
for i in 1 2 3 4 5 6; do
	end "asker$i"
	is "$status" 0 "asker $i has its loan at once"
done
is "$(sql "SELECT $refillers")" 1 'and none has begun another query'
open_gate "$task"
await "SELECT MAX(epoch) > $before FROM kept_list WHERE task_id = $task" 1
await "SELECT $refillers" 0

# --- a query that fails ---------------------------------------------------------------------------

before=$(epoch)
shut_gate "$task"
sql "UPDATE task SET max_query_s = 1 WHERE task_id = $task"
run refill --task "$task"
like "$status:$err" "^5:refill: task $task: .*max_query_s" 'a query that fails: exit 5, and why'
is "$out" '' 'and no list'
sql "UPDATE kept_list SET as_of = NOW(6) - INTERVAL 400 SECOND WHERE task_id = $task"
run ask 1
is "$status" 0 'people are served from the old list'
like "$err" '^getwork: the list is of .*, since filling it anew failed: .*max_query_s' \
	'and told why'
like "$(ask 2 --json 2>/dev/null | jq -r .refill_failed)" max_query_s 'in JSON, too'
run refill --due
is "$status:$out" '0:no list is due' 'the next try comes after a pause'
is "$(epoch)" "$before" 'the old list stays'
open_gate "$task"
sql "UPDATE task SET max_query_s = 600 WHERE task_id = $task"
make_due
run refill --due --json
is "$status:$(jq -r .result <<<"$out")" 0:filled 'and the one after that fills it'
run ask 1
is "$status:$err" 0: 'nobody complains any more'

# --- the unit -------------------------------------------------------------------------------------

if command -v systemd-analyze >/dev/null 2>&1; then
	mkdir "$scratch/units"
	for unit in "$top"/examples/lockq-{refill,failed@}.service; do
		sed "s|/usr/local/bin/|$top/build/bin/|" "$unit" >"$scratch/units/${unit##*/}"
	done
	run systemd-analyze verify --man=no "$scratch/units/lockq-refill.service"
	is "$status:$out$err" 0: 'systemd-analyze finds no fault in the unit'
else
	ok 0 'systemd-analyze finds no fault in the unit # SKIP no systemd-analyze'
fi

finish
