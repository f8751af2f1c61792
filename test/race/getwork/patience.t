#!/usr/bin/env bash
# A row, a table and a task that others hold: no call waits for longer than it was asked to and a
# second, and it says what it waits for, and has changed nothing.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"
# shellcheck source=test/support/crowd.sh
. "$(dirname "$0")/../../support/crowd.sh"

task=262
scratch=$(mktemp -d)
trap 'end_crowd; forget_task "$task"; forget_users' EXIT
make_task "$task" 40 0
make_users 2
getwork --user race-1 --task "$task" --count 2 --json >"$scratch/answer"
mapfile -t loans < <(jq '.loans[].loan_id' "$scratch/answer")
both=${loans[0]},${loans[1]}

# bounded SECONDS COMMAND...: runs it, and sets $in_time to yes if it took no longer than that and a
# second. Three more are for the processes and connections of a slow machine; a call without this
# bound would wait for at least five. A busy machine may stop a process for longer. So a call that
# is late is made again, at most seven times: what changes nothing can be repeated, and one that
# waits too long does so each time.
bounded() {
	local limit=$(($1 * 1000 + 4000)) start took
	shift
	for _ in {1..8}; do
		start=$(now_ms)
		run "$@"
		took=$(($(now_ms) - start)) in_time=yes
		[ "$took" -gt "$limit" ] || break
		in_time="$took ms"
	done
}
states() {
	sql "SELECT GROUP_CONCAT(state ORDER BY loan_id) FROM work WHERE task_id = $task"
}

say other "BEGIN; SELECT 1 FROM work WHERE task_id = $task AND loan_id = ${loans[1]} FOR UPDATE"
said other
for seconds in 0 1 3; do
	bounded $seconds disposition --user race-1 --task $task --loan "$both" --complete \
		--timeout $seconds
	is "$status:$in_time" 3:yes "a row is held, --timeout $seconds: exit 3 in time"
	is "$(states)" assigned,assigned 'nothing was changed'
done
held="loan ${loans[1]} is held by another session"
is "$err" "disposition: $held: nothing was changed: try again" 'the loan is named'
bounded 1 disposition --user race-1 --task $task --loan "$both" --complete --timeout 1 --json
is "$(jq -r .exit <<<"$out"):$(jq -r .error <<<"$out")" \
	"3:$held: nothing was changed: try again" 'in JSON, too'
bounded 1 disposition --user race-1 --task $task --loan "$both" --complete --timeout 1 --verbose
like "$err" 'disposition: 1205, SQLSTATE HY000, lock_loans, attempt 1, after 1\.[0-9] s' \
	'--verbose says what the database said'
grant='GRANT SELECT ON performance_schema.data_locks TO lockq_app@localhost;
	GRANT SELECT ON performance_schema.threads TO lockq_app@localhost'
"$top/scripts/sandbox" mysql --execute="$grant"
bounded 2 disposition --user race-1 --task $task --loan "$both" --complete --timeout 2
like "$err" \
	"^disposition: loan ${loans[1]} is held by .[^ ]*@localhost\", connection [0-9]+: nothing" \
	'an account that may see it is told who holds it'
"$top/scripts/sandbox" mysql --execute="$(sed 's/GRANT/REVOKE/; s/ TO / FROM /' <<<"$grant")"
script --quiet --return --command "disposition --user race-1 --task $task --loan $both --complete \
	--timeout 3" /dev/null >"$scratch/typed" </dev/null
like "$(tr '\r' '\n' <"$scratch/typed")" \
	"waiting: $held" 'a line on a terminal tells so'
hang_up other

say other "LOCK TABLES work WRITE"
said other
bounded 2 disposition --user race-1 --task $task --loan "$both" --complete --timeout 2
is "$status:$in_time" 3:yes 'the table is locked: exit 3 in time'
like "$err" '^disposition: another session holds what this needs: nothing was changed' \
	'with a line that tells so'
hang_up other

# --- checkwork: it reads without row locks, but not from a table that is locked ---

look() {
	local seconds=$1
	shift
	bounded "$seconds" checkwork --timeout "$seconds" "$@"
}
request=$(jq .request_id "$scratch/answer")
grant=${grant//data_locks/metadata_locks}
for table in work schema_version; do
	say other "LOCK TABLES $table WRITE"
	said other
	look 0 --user race-1
	is "$status:$in_time" 3:yes "$table is locked, checkwork --timeout 0: exit 3 in time"
	like "$err" '^checkwork: another session has locked a table .*: try again later$' \
		'with a line that tells so'
	look 2 --user race-1 --task $task
	is "$status:$in_time" 3:yes "$table is locked, checkwork --timeout 2: exit 3 in time"
	is "$out:$err" \
		":checkwork: table \"$table\" is locked by another session: try again later" \
		'the line names the table'
	hang_up other
done
say other "LOCK TABLES work_log WRITE, work_requested WRITE"
said other
for form in "--user race-1 --pending" "--tasks --user race-1" "--loan ${loans[0]} --task $task" \
	"--request $request" "--request $request --wait 1"; do
	# shellcheck disable=SC2086 # words, on purpose
	look 0 $form --json
	is "$status:$in_time:$(jq -c .exit <<<"$out")" 3:yes:3 "checkwork $form: exit 3 in time"
done
checkwork --user race-1 --task $task --json >"$scratch/later" 2>&1 &
later=$!
await "SELECT $(waits_for_metadata work_) > 0" 1
hang_up other
wait "$later"
is "$?:$(jq -s length "$scratch/later")" 0:2 'when the table is free again, it is read'

# looks_again TABLE OPTIONS...: a look that meets a locked table, so that it has to try again, and
# then finds the table free.
looks_again() {
	local table=$1 look
	shift
	say other "LOCK TABLES $table WRITE"
	said other
	checkwork "$@" --json --verbose >"$scratch/again" 2>"$scratch/tries" &
	look=$!
	wait_for grep -qs 'waiting: ' "$scratch/tries"
	hang_up other
	wait "$look"
	is "$?:$(jq -s length "$scratch/again")" "$shows" \
		"$table is free at a later try: it is read"
}
shows=0:2
looks_again work --user race-1 --task "$task"

# A look at a request also notes that somebody looks after it. Where its row is held, it goes on.
sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)
     SELECT UUID(), user_id, 'test', $task, 1, 1 FROM app_user WHERE name = 'race-2'"
request=$(sql "SELECT MAX(request_id) FROM work_requested WHERE task_id = $task")
say other "BEGIN; SELECT 1 FROM work_requested WHERE request_id = $request FOR UPDATE"
said other
look 1 --request "$request"
is "$status:$in_time" 3:yes 'the row of a request is held, checkwork --request: in time'
like "$out" "^request $request for race-2, task $task: pending, nobody leads" \
	'the request is shown all the same'
hang_up other
shows=0:1
looks_again work_requested --user race-2 --pending

# An ALTER TABLE that waits for a reader keeps others waiting, too.
say reader "BEGIN; SELECT COUNT(*) FROM work"
said reader
say other "ALTER TABLE work COMMENT = 'as it was'"
await "SELECT $(waits_for_metadata 'ALTER TABLE work')" 1
"$top/scripts/sandbox" mysql --execute="$grant"
look 2 --user race-1 --verbose
is "$status:$in_time" 3:yes 'an ALTER TABLE waits: exit 3 in time'
like "$err" '^checkwork: waiting: another session has locked a table' \
	'--verbose: a line says that it waits'
like "$err" '^checkwork: table "work" is locked by ".*@localhost", connection [0-9]+: try again' \
	'an account that may see it is told who waits to alter the table'
like "$err" '^checkwork: 1205, SQLSTATE HY000, read_pipeline, attempt 1, after 1\.[0-9] s' \
	'--verbose says what the database said'
"$top/scripts/sandbox" mysql --execute="$(sed 's/GRANT/REVOKE/; s/ TO / FROM /' <<<"$grant")"
script --quiet --return --command "checkwork --user race-1 --timeout 2" /dev/null \
	>"$scratch/typed" </dev/null
like "$(tr '\r' '\n' <"$scratch/typed")" 'waiting: another session has locked a table' \
	'a line on a terminal tells so'
hang_up reader
said other
sql "ALTER TABLE work COMMENT = ''"
hang_up other

say other "BEGIN; SELECT 1 FROM work WHERE task_id = $task AND loan_id = ${loans[1]} FOR UPDATE"
said other
disposition --user race-1 --task $task --loan "$both" --complete >"$scratch/later" 2>&1 &
later=$!
until_waiting 1
hang_up other
wait "$later"
is "$?:$(states)" 0:completed,completed 'when the row is free again, it is done'


# A task's own procedure waits for a row of the business.
sql "CREATE TABLE test_business_$task (n INT PRIMARY KEY);
     INSERT INTO test_business_$task VALUES (1);
     CREATE PROCEDURE test_waits_$task (IN loan_id BIGINT UNSIGNED, IN user VARCHAR(64))
       UPDATE test_business_$task SET n = n WHERE n = 1;
     GRANT EXECUTE ON PROCEDURE test_waits_$task TO 'lockq_worker'@'$(sql 'SELECT DATABASE()')';
     UPDATE task SET on_complete = 'test_waits_$task' WHERE task_id = $task"
loan=$(getwork --user race-1 --task "$task" --json | jq '.loans[0].loan_id')
say other "BEGIN; SELECT n FROM test_business_$task FOR UPDATE"
said other
bounded 1 disposition --user race-1 --task $task --loan "$loan" --complete --timeout 1
is "$status:$in_time:$err" "3:yes:disposition: another session holds what the procedure \
\"test_waits_$task\" needs for loan $loan: nothing was changed: try again" \
	'a procedure on_complete that waits is named'
hang_up other
disposition --user race-1 --task $task --loan "$loan" --complete >"$scratch/later"
is $? 0 'when the row is free, it is done'
sql "UPDATE task SET on_complete = NULL WHERE task_id = $task;
     DROP PROCEDURE test_waits_$task; DROP TABLE test_business_$task"

# --- getwork: what it needs before it leads -------------------------------------------------------

requests() {
	sql "SELECT COUNT(*) - ${asked_before:-0} FROM work_requested WHERE task_id = $task
		AND user_id = (SELECT user_id FROM app_user WHERE name = 'race-2')"
}
asked_before=$(requests)
pending() {
	sql "SELECT COALESCE(MAX(request_id), 0) FROM work_requested WHERE task_id = $task
		AND outcome = 'pending'"
}
ask=(getwork --user race-2 --task "$task")

say other "BEGIN; UPDATE task SET manager = 'changed' WHERE task_id = $task"
said other
for seconds in 0 1 3; do
	bounded $seconds "${ask[@]}" --timeout $seconds
	is "$status:$in_time:$(requests)" 3:yes:0 \
		"a manager changes the task, --timeout $seconds: exit 3 in time, nothing asked for"
done
is "$err" "getwork: task $task is held by another session: nothing was asked for: try again" \
	'the task is named'
bounded 1 "${ask[@]}" --timeout 1 --json
is "$(jq -r .exit <<<"$out"):$(jq -r .error <<<"$out")" \
	"3:task $task is held by another session: nothing was asked for: try again" 'in JSON, too'
bounded 1 "${ask[@]}" --no-wait
is "$status:$in_time:$(requests)" 3:yes:0 '--no-wait does not wait for it'
script --quiet --return --command "getwork --user race-2 --task $task --timeout 3" /dev/null \
	>"$scratch/typed" </dev/null
like "$(tr '\r' '\n' <"$scratch/typed")" "waiting: task $task is held by another session" \
	'a line on a terminal tells so'
"${ask[@]}" >"$scratch/later" 2>&1 &
later=$!
until_waiting 1
hang_up other
wait "$later"
is $? 0 'when the manager is done, it asks'

say other "BEGIN; UPDATE app_user SET name = name WHERE name = 'race-2';
	SELECT 1 FROM app_user WHERE name = 'race-2' FOR UPDATE"
said other
bounded 1 "${ask[@]}" --timeout 1
is "$status:$in_time:$err" '3:yes:getwork: user "race-2" is held by another session: nothing was '\
'asked for: try again' 'a user is held'
hang_up other

say other "LOCK TABLES app_user WRITE"
said other
bounded 3 getwork --user race-2 --cancel --task "$task"
is "$status:$in_time:$err" '3:yes:getwork: table "app_user" is locked by another session: '\
'nothing was cancelled: try again' '--cancel speaks as getwork does'
hang_up other

for table in task work_requested task_lock task_wake leader_run; do
	say other "LOCK TABLES $table WRITE"
	said other
	bounded 2 "${ask[@]}" --timeout 2
	is "$status:$in_time" 3:yes "the table $table is locked: exit 3 in time"
	hang_up other
done
is "$(sql "SELECT COUNT(*) FROM work_requested WHERE task_id = $task AND outcome = 'pending'")" 0 \
	'no request is left pending'

# The answer can't be read: that is not the lost COMMIT of an unknown outcome.
unread='another session has locked a table that the answer is in: see checkwork --request '\
'[-0-9a-f]+$'
say other "LOCK TABLES leader_run WRITE"
said other
bounded 3 "${ask[@]}" --no-wait
is "$status:$in_time" 3:yes '--no-wait, and the table leader_run is locked: exit 3 in time'
like "$err" "^getwork: the request was recorded, and $unread" 'the request is named'
start=$(now_ms)
"${ask[@]}" 2>"$scratch/later" &
later=$!
until_true "SELECT $(waits_for_metadata leader_run) > 0"
kill -TERM "$later"
wait "$later"
status=$? took=$(($(now_ms) - start))
is "$status:$((took < 6000))" 143:1 'a signal ends a call whose answer is locked, with its status'
like "$(cat "$scratch/later")" "^getwork: interrupted, and $unread" 'and a message'
hang_up other
getwork --user race-2 --cancel --task "$task" >"$scratch/later" 2>&1

say other "BEGIN; SELECT 1 FROM task_lock WHERE task_id = $task FOR UPDATE"
said other
for seconds in 0 2; do
	bounded $seconds "${ask[@]}" --timeout $seconds
	is "$status:$in_time" 3:yes "a session holds the task's lock, --timeout $seconds"
done

# The request is pending, and then somebody holds it, as a leader does who serves it.
start=$(now_ms)
"${ask[@]}" --timeout 3 2>"$scratch/later" &
later=$!
until_true "SELECT COUNT(*) FROM work_requested WHERE task_id = $task AND outcome = 'pending'"
request=$(pending)
say third "BEGIN; SELECT 1 FROM work_requested WHERE request_id = $request FOR UPDATE"
said third
wait "$later"
status=$? took=$(($(now_ms) - start))
is "$status:$((took < 6000))" 3:1 'the request is held: exit 3 within a second or two'
like "$(cat "$scratch/later")" \
	'^getwork: gave up, but another session holds the request: .* may still be pending' \
	'the message says that it may still be pending'
hang_up third
hang_up other

finish
