#!/usr/bin/env bash
# getwork --task N,N and --any: several tasks in their order, and what a call leaves behind.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

first=295 second=296
make_steered "$first" 6000
make_task "$second" 50 0
make_users 3
open_gatekeeper
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'end_all; forget_steered "$first"; forget_task "$second"; forget_users; rm -rf "$scratch"' EXIT

# asked: how many requests were recorded for each task, whatever became of them.
asked() {
	sql "SELECT COUNT(IF(task_id = $first, 1, NULL)), COUNT(IF(task_id = $second, 1, NULL))
	       FROM work_requested WHERE task_id IN ($first, $second)" | tr '\t' ' '
}
forget_requests() {
	sql "DELETE FROM work_log WHERE task_id IN ($first, $second);
	     DELETE FROM work WHERE task_id IN ($first, $second);
	     DELETE FROM work_requested WHERE task_id IN ($first, $second)"
}
# tasks_of: the task and the loans of each object.
tasks_of() {
	jq -c '[.task, .assigned, .exit]' <<<"$out" | tr '\n' ' ' | sed 's/ $//'
}

for arguments in '--task x' '--task 3,3' '--task 3,' '--tasks 3,,4' \
	'--task 3,4 --no-wait' '--task 3,4 --uuid 11111111-2222-3333-4444-555555555555' \
	'--task 3,4 --complete 1' \
	'--task 3,4 --cancel' '--any --tasks 3,4' '--any --task 3' '--any --no-wait' \
	'--any --cancel' "--tasks $(seq -s , 65)"; do
	# shellcheck disable=SC2086 # words, on purpose
	run getwork $arguments
	is "$status" 2 "${arguments:0:40}: exit 2"
done

run getwork --user race-1 --tasks "$first,$second" --count 2 --json
is "$status:$(tasks_of):$(asked)" "0:[$first,2,0]:1 0" \
	'the first task that has loans is the only one'
sql "DELETE FROM test_loan_$first"
run getwork --user race-2 --tasks "$first,$second" --count 2 --json
is "$status:$(tasks_of)" "0:[$first,0,1] [$second,2,0]" 'the next one where the first has none'
run getwork --user race-2 --tasks "$first,$second" --count 2
like "$out" "^no work for task $first as of .*" 'as text, too'
like "$out" "^Task $second" 'with the loans of the other one'
run runwork --user race-2 --tasks "$first,$second" true
is "$status:$(sql "SELECT COUNT(*) FROM work WHERE task_id = $second AND state = 'completed'")" \
	0:1 'runwork works on the loans of the next one'
sql "DELETE FROM test_loan_$second"
run getwork --user race-3 --tasks "$first,$second" --json
is "$status:$(tasks_of)" "1:[$first,0,1] [$second,0,1]" 'no work anywhere: exit 1'

# Lists: the second task has one, the first would have to run its query.
forget_requests
sql "INSERT INTO test_loan_$first VALUES (1, 1), (2, 2), (3, 3);
     INSERT INTO test_loan_$second SELECT loan_id + 10, line FROM test_loan_$first;
     UPDATE task SET cache_ttl = 600 WHERE task_id = $second"
run refill --task "$second"
is "$status" 0 'the second task has a list'
run getwork --user race-1 --task "$first,$second" --json
is "$status:$(tasks_of):$(asked)" "0:[$first,1,0]:1 0" \
	'the first task comes first, also where only the other one has a list'
sql "UPDATE task SET any_place = 10 WHERE task_id IN ($first, $second)"
run getwork --user race-1 --any --json
is "$status:$(tasks_of):$(asked)" "0:[$second,1,0]:1 1" \
	'of one place, a list that has loans comes before a query, and nothing else is recorded'
sql "UPDATE task SET any_place = IF(task_id = $first, 5, 10) WHERE task_id IN ($first, $second)"
run getwork --user race-1 --any --json
is "$status:$(tasks_of)" "0:[$first,1,0]" 'but a smaller place comes before the list'
sql "UPDATE task SET any_place = NULL WHERE task_id IN ($first, $second)"
forget_requests
run refill --task "$second"
sql "UPDATE task SET cache_ttl = 600 WHERE task_id = $first"
run refill --task "$first"
run getwork --user race-1 --tasks "$first,$second" --json
is "$status:$(tasks_of):$(asked)" "0:[$first,1,0]:1 0" 'of two lists the first one serves'
is "$(sql "SELECT source FROM work_requested WHERE task_id = $first")" list 'and no query ran'
run getwork --user race-1 --tasks "$second,$first" --json
is "$(tasks_of)" "[$second,1,0]" 'the order is that of the command line'
run getwork --user race-1 --tasks "$first,$second" --fresh --json
is "$(tasks_of):$(jq -r .source <<<"$out")" "[$first,1,0]:query" '--fresh takes from no list'

# Tasks that are closed, paused, or led by somebody else.
sql "UPDATE task SET enabled = FALSE WHERE task_id = $first"
run getwork --user race-2 --tasks "$first,$second" --json
is "$status:$(tasks_of)" "0:[null,null,4] [$second,1,0]" \
	'a disabled task does not keep its user from the next one'
sql "UPDATE task SET enabled = TRUE, paused = 'closed', paused_by = 'x' WHERE task_id = $first;
     DELETE FROM kept_loan WHERE task_id IN ($first, $second);
     DELETE FROM kept_list WHERE task_id IN ($first, $second);
     DELETE FROM test_loan_$second"
run getwork --user race-3 --tasks "$first,$second" --json
is "$status:$(tasks_of)" "1:[$second,0,1]" 'a paused task is passed over'
run getwork --user race-3 --tasks "$first,$second" --fresh --timeout 20 --json
is "$status:$(tasks_of)" "1:[$second,0,1]" 'with --fresh, too'
run getwork --user race-3 --tasks "$first" --timeout 0 --json
is "$status" 3 'unless all of them are paused'
asked_before=$(asked)
run getwork --user race-3 --tasks "$second,$first" --timeout 0 --json
is "$status:$(tasks_of):$(asked)" "1:[$second,0,1]:${asked_before% *} $((${asked_before#* } + 1))" \
	'with --timeout 0, too: it is asked for nothing'
sql "INSERT INTO test_loan_$second VALUES (91, 1)"
refill --task "$second" >"$scratch/refilled"
run getwork --user race-3 --tasks "$first,$second" --timeout 0 --json
is "$status:$(tasks_of):$(jq -r .source <<<"$out")" "0:[$second,1,0]:list" \
	'and it keeps nobody from the list of the next one'
sql "UPDATE task SET paused = NULL, cache_ttl = 0 WHERE task_id = $first;
     DELETE FROM kept_loan WHERE task_id = $second;
     DELETE FROM kept_list WHERE task_id = $second;
     INSERT INTO test_loan_$second VALUES (90, 1)"
steer "$first" gated
shut_gate "$first"
start leader getwork --user race-1 --task "$first"
await_leader "$first" race-1
run getwork --user race-3 --tasks "$first,$second" --timeout 0 --json
is "$status:$(tasks_of)" "0:[$first,0,3] [$second,1,0]" \
	'--timeout 0 does not wait for a leader, and asks the next one'
is "$(sql "SELECT COUNT(*) FROM work_requested WHERE pending = 1 AND user_id = (
	SELECT user_id FROM app_user WHERE name = 'race-3')")" 0 'and leaves nothing pending'
start waiter getwork --user race-3 --tasks "$first,$second" --json
await "SELECT COUNT(*) FROM work_requested WHERE task_id = $first AND pending = 1" 2
kill -INT "${process[waiter]}"
end waiter
is "$status:$(jq -s length <<<"$out")" 130:1 'Ctrl-C ends it, and the other tasks are not asked'
is "$(sql "SELECT COUNT(*) FROM work_requested WHERE pending = 1 AND task_id = $first")" 1 \
	'the request is cancelled'
open_gate "$first"
end leader
steer "$first" light

# Ctrl-C while the list of the first one is asked, whose loans somebody keeps from being checked.
forget_requests
sql "UPDATE task SET cache_ttl = 600, any_place = task_id WHERE task_id = $first;
     UPDATE task SET any_place = $first WHERE task_id = $second"
refill --task "$first" >"$scratch/refilled"
# The view is asked for 250 ms only: on a busy machine the signal may come later, and the call asks.
for ((try = 1; try <= 20; try++)); do
	asked_before=$(asked)
	gatekeeper_says "LOCK TABLES test_loan_$first WRITE;"
	start waiter getwork --user race-3 --any --json
	await "SELECT $(waits_for_metadata '') > 0" 1
	kill -INT "${process[waiter]}"
	end waiter
	gatekeeper_says 'UNLOCK TABLES;'
	[ "$(asked)" != "$asked_before" ] || break
done
is "$status:$(jq -r .exit <<<"$out"):$(asked)" "130:130:$asked_before" \
	'Ctrl-C before all were asked does not say that there is no work'
like "$err$(jq -r .error <<<"$out")" 'interrupted before anything was asked for' 'and says so'
sql "UPDATE task SET cache_ttl = 0, any_place = NULL WHERE task_id IN ($first, $second)"

# While somebody has locked the tasks, no look at them takes longer than the user wants to wait.
gatekeeper_says 'LOCK TABLES task WRITE;'
began=$SECONDS
run getwork --user race-3 --tasks "$first,$second" --fresh --timeout 1
is "$status:$((SECONDS - began < 15))" 3:1 'a table that is locked holds --tasks up for --timeout'
run getwork --user race-3 --any --timeout 1
is "$status:$((SECONDS - began < 20))" 3:1 'and --any, too'
gatekeeper_says 'UNLOCK TABLES;'

# The tasks that have a place.
run getwork --user race-1 --any
is "$status" 4 'no task has a place: exit 4'
like "$err" 'managetask set N --any-place 1' 'and what to do'
sql "UPDATE task SET any_place = IF(task_id = $first, 20, 10) WHERE task_id IN ($first, $second)"
forget_requests
sql "REPLACE INTO test_loan_$first VALUES (1, 1), (2, 2);
     REPLACE INTO test_loan_$second VALUES (11, 1)"
run getwork --user race-1 --any --json
is "$status:$(tasks_of)" "0:[$second,1,0]" '--any goes by the places of the tasks'
sql "UPDATE task SET any_place = 10, cache_ttl = 0 WHERE task_id IN ($first, $second);
     DELETE FROM kept_list WHERE task_id = $second;
     INSERT INTO test_loan_$first SELECT loan_id + 100, line FROM test_loan_$second;
     INSERT INTO test_loan_$second SELECT loan_id + 200, line FROM test_loan_$first"
begins_with_both() {
	getwork --user race-1 --any --json | jq .task >>"$scratch/turns"
	[ "$(sort -u "$scratch/turns" | wc -l)" = 2 ]
}
wait_for begins_with_both
ok $? 'of one place, each task is asked first now and then'
run getwork --user race-2 --tasks "$first,$second" --poll 1 --tries 2 --json
is "$status:$(tasks_of)" "0:[$first,1,0]" '--tasks with --poll and --tries'
run getwork --user nobody-1 --any
is "$status" 4 'an unknown user'
finish
