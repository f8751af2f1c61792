#!/usr/bin/env bash
# managetask release, reassign, undo and cancel as a manager runs them: what they change, what they
# refuse, and what the log says of it.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=227 other=228
make_task "$task" 60 0
make_task "$other" 5 0
make_users 5
scratch=$(mktemp -d)
forget_procedures() {
	sql "DROP PROCEDURE IF EXISTS test_undo_$task; DROP PROCEDURE IF EXISTS test_done_$task;
	     DROP TABLE IF EXISTS test_undone_$task"
}
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'forget_procedures; forget_task "$task"; forget_task "$other"; forget_users
	rm -rf "$scratch"' EXIT
reason='oliver is ill'

# correct COMMAND [ARGUMENT...]: a correction of the task's loans by marcus.
correct() {
	run managetask "$1" --task "$task" "${@:2}" --by marcus --reason "$reason"
}
# ask USER COUNT: leaves the loans in the array loans, and their token in $token.
ask() {
	getwork --user "race-$1" --task "$task" --count "$2" --json >"$scratch/answer"
	mapfile -t loans < <(jq '.loans[].loan_id' "$scratch/answer")
	token=$(jq '.loans[0].token' "$scratch/answer")
}
say() {
	disposition --user "race-$1" --task "$task" --loan "$2" "${@:3}" >/dev/null
}
# row LOAN: the row of work; its state, user, token, version and note.
row() {
	sql "SELECT w.state, u.name, w.token, w.version, w.note FROM work AS w
	       JOIN app_user AS u USING (user_id)
	      WHERE w.task_id = $task AND w.loan_id = $1" | tr '\t' ' '
}
# log LOAN [N]: the last N rows of the log; event, user, manager, account, token, version, note.
log() {
	sql "SELECT l.event, u.name, l.manager, l.account, l.token, l.version, l.note
	       FROM work_log AS l JOIN app_user AS u USING (user_id)
	      WHERE l.task_id = $task AND l.loan_id = $1 ORDER BY l.log_id DESC LIMIT ${2:-1}" |
		tr '\t' ' '
}
# replays WORDS
replays() {
	is "$(replay "$task" | head -n 5)" '' "$1: the log replays to the table"
}
boss="marcus lockq_boss@localhost"

# --- usage ----------------------------------------------------------------------------------------

for command in release reassign undo cancel; do
	run managetask $command --help
	is "$status" 0 "$command --help: exit 0"
	like "$out" "^Usage: managetask $command " "$command --help says how to use it"
done
while IFS= read -r arguments; do
	# shellcheck disable=SC2086 # words, on purpose
	run managetask $arguments --by marcus </dev/null
	is "$status" 2 "'$arguments': exit 2"
	like "$err" '^managetask: ' "'$arguments': one line that names it"
done <<'END'
release --loan 1 --reason why
release --task 227 --reason why
release --task 227 --loan 1
release --task 227 --loan x --reason why
release --task 227 --loan 1,1 --reason why
release --task 227 --loan 1 --to race-1 --reason why
release --task 227 --loan - --reason why
release --all --reason why
release --all --from race-1
release --all --from race-1 --loan 1 --reason why
reassign --all --from race-1 --reason why
reassign --task 227 --loan 1 --from race-1 --reason why
reassign --task 227 --loan 1 --to race-1 --reason why
reassign --task 227 --loan 1 --from race-1 --to race-1 --reason why
undo --task 227 --loan 1
undo --task 227 --loan 1 --from race-1 --reason why
cancel --reason why
cancel 1
END

# --- release --------------------------------------------------------------------------------------

ask 1 5
loan=${loans[0]}
correct release --loan "$loan:$token"
is "$status:$out" "0:loan $loan: released, race-1 has it no longer" 'release'
is "$(row "$loan")" "returned race-1 $token 2 NULL" 'release: the row of work'
is "$(log "$loan")" "returned race-1 $boss $token 2 $reason" 'release: the log has both names'
is "$(sql "SELECT available_at <= NOW(6) AND due_at IS NULL AND lease_expires_at IS NULL FROM work
	WHERE task_id = $task AND loan_id = $loan")" 1 'release: the loan is available at once'
correct release --loan "$loan:$token"
is "$status" 0 'release again: exit 0'
like "$out" "^loan $loan: already released at " 'release again: it says so'
is "$(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $task AND loan_id = $loan")" 2 \
	'release again: the log has it once'
run managetask release --task "$task" --loan "$loan" --by other --reason "$reason"
is "$status" 4 'another manager releases it again: exit 4'
like "$err" "^managetask: loan $loan is not assigned in task $task: returned by \"marcus\" for \
\"race-1\" at" \
	'another manager is told how it stands'
say 1 "$loan" --complete 2>"$scratch/err"
like "$(cat "$scratch/err")" "^disposition: loan $loan is not assigned in task $task: \
returned by \"marcus\" for \"race-1\" at .*: see checkwork" 'its user is told who has released it'
correct release --loan "${loans[1]},4711,${loans[2]}:$((token + 1))"
is "$status" 4 'one of several is refused: exit 4'
is "$out" "loan ${loans[1]}: released, race-1 has it no longer" 'the other one is done'
like "$err" 'loan 4711 was never assigned' 'a loan that nobody had'
like "$err" "loan ${loans[2]}: token $((token + 1)) is stale: assigned to \"race-1\" since" \
	'a stale token: who has the loan'
correct release --loan "${loans[2]}" --from race-2
is "$status" 4 'release --from somebody else: exit 4'
like "$err" "loan ${loans[2]} is not one of user \"race-2\": assigned to \"race-1\" since" \
	'release --from somebody else: who has it'
correct release --loan "${loans[2]}" --from race-1 --json
is "$(jq -c '[.loan_id, .task, .manager, .result, .state, .holder, .token, .exit]' <<<"$out")" \
	"[${loans[2]},$task,\"marcus\",\"done\",\"returned\",\"race-1\",$token,0]" 'release --json'
correct release --loan 4711 --json
is "$(jq -c '[.result, .state, .token, .exit]' <<<"$out")" '["not_assigned",null,null,4]' \
	'release --json: refused'
correct release --loan "${loans[3]}" --from nobody
is "$status:$err" "4:managetask: user \"nobody\" is unknown: the table app_user has no row for \
that name" 'release --from an unknown user'
run managetask release --task 9999 --loan 1 --by marcus --reason why
is "$status:$err" '4:managetask: task 9999 is unknown: the table task has no row for it' \
	'an unknown task'
run managetask release "$task" --loan - --by marcus --reason "$reason" <<<"${loans[3]} ${loans[4]}"
is "$status:$(wc -l <<<"$out")" 0:2 'the loans of standard input'
replays release

# --- reassign -------------------------------------------------------------------------------------

sql "UPDATE task SET lease_minutes = 60 WHERE task_id = $task"
ask 1 3
loan=${loans[0]}
say 1 "$loan" --renew --note 'calls on Monday'
before=$(row "$loan" | cut -d ' ' -f 4)
sql "UPDATE task_lock SET epoch = epoch + 40 WHERE task_id = $task"
correct reassign --loan "$loan:$token" --from race-1 --to race-2
is "$status" 0 'reassign: exit 0'
epoch=$(sql "SELECT epoch FROM task_lock WHERE task_id = $task")
like "$out" "^loan $loan: race-2 has it now, with token $epoch, until " 'reassign: it says so'
is "$(row "$loan")" "assigned race-2 $epoch $((before + 2)) calls on Monday" \
	"reassign: the row has a token of the epoch, and the note of the user who had it"
is "$(log "$loan" 2)" "assigned race-2 $boss $epoch $((before + 2)) $reason
returned race-1 $boss $token $((before + 1)) $reason" 'reassign: the log has both'
is "$(sql "SELECT r.outcome, r.asked, r.requested, r.assigned, r.reason, r.account, u.name
	FROM work AS w JOIN work_requested AS r USING (request_id)
	JOIN app_user AS u ON u.user_id = r.user_id
	WHERE w.task_id = $task AND w.loan_id = $loan" | tr '\t' ' ')" \
	"served 1 1 1 reassigned by marcus: $reason lockq_boss@localhost race-2" \
	'reassign: the assignment has a request'
is "$(sql "SELECT lease_expires_at = assigned_at + INTERVAL 60 MINUTE
	AND due_at = lease_expires_at FROM work WHERE task_id = $task AND loan_id = $loan")" 1 \
	'reassign: a lease begins'
correct reassign --loan "$loan:$token" --from race-1 --to race-2
is "$status" 0 'reassign again: exit 0'
like "$out" "^loan $loan: already given to race-2 at .*, with token $epoch" \
	'reassign again: it says so'
correct reassign --loan "$loan" --from race-1 --to race-3
is "$status" 4 'reassign from who had it before: exit 4'
like "$err" "loan $loan is not one of user \"race-1\": assigned to \"race-2\" by \"marcus\" since" \
	'reassign from who had it before: who has it'
run disposition --user race-1 --task "$task" --loan "$loan" --complete
is "$(cut -d ' ' -f -12 <<<"$err")" \
	"disposition: loan $loan is not yours: assigned to \"race-2\" by \"marcus\" since" \
	'the user who had it is told who has it, and by whom'
run disposition --user race-1 --task "$task" --loan "$loan" --complete --json
is "$(jq -c '[.result, .holder, .manager]' <<<"$out")" '["not_yours","race-2","marcus"]' \
	'and so is a script'
correct reassign --loan "$loan" --from race-2 --to race-3
is "$(row "$loan")" "assigned race-3 $((epoch + 1)) $((before + 4)) calls on Monday" \
	'reassign once more: the token is above the one of the row'
say 3 "$loan:$((epoch + 1))" --complete
is "$(row "$loan" | cut -d ' ' -f 1,2)" 'completed race-3' 'the new user completes it'
correct reassign --loan "$loan" --from race-3 --to race-1
like "$status:$err" "^4:managetask: loan $loan is not assigned in task $task: completed by" \
	'a completed loan is not reassigned'
correct reassign --loan "${loans[1]}" --from race-1 --to nobody
is "$status" 4 'reassign to an unknown user: exit 4'
managetask user disable race-4 --by marcus >/dev/null
correct reassign --loan "${loans[1]}" --from race-1 --to race-4
is "$status:$err" '4:managetask: user "race-4" is disabled: managetask user enable lets the user '\
'have loans again' 'reassign to a disabled user'
managetask user enable race-4 --by marcus >/dev/null
sql "INSERT INTO work_exclusion SELECT $task, user_id, ${loans[1]}, NOW(6) + INTERVAL 1 DAY
	FROM app_user WHERE name = 'race-2'"
correct reassign --loan "${loans[1]}" --from race-1 --to race-2
is "$status" 4 'reassign to an excluded user: exit 4'
like "$err" "loan ${loans[1]} was not reassigned: the user has returned it as one for others, \
until " 'reassign to an excluded user: why, and until when'
correct reassign --loan "${loans[1]}" --from race-1 --to race-2 --json
is "$(jq -c '[.result, .holder, .excluded_until != null, .exit]' <<<"$out")" \
	'["not_allowed","race-1",true,4]' 'reassign --json: refused'
sql "DELETE FROM work_exclusion WHERE task_id = $task"

# race-5 has one loan, and may have two.
sql "UPDATE task SET max_pipeline = 2 WHERE task_id = $task"
ask 5 1
sql "UPDATE task SET max_pipeline = NULL WHERE task_id = $task"
ask 4 3
sql "UPDATE task SET max_pipeline = 2 WHERE task_id = $task"
list=$(printf '%s\n' "${loans[@]}" | sort -n | paste -sd ,)
correct reassign --loan "$list" --from race-4 --to race-5
is "$status:$out" "4:$(grep "^loan ${list%%,*}: race-5 has it now" <<<"$out")" \
	'reassign: max_pipeline holds, the loan with the smallest number goes'
is "$(grep -c "was not reassigned: the user would have more than the task's max_pipeline \
allows" <<<"$err")" 2 'reassign: the others are told why not'
is "$(sql "SELECT COUNT(*) FROM work JOIN app_user USING (user_id)
	WHERE task_id = $task AND name = 'race-5' AND state = 'assigned'")" 2 \
	'reassign: two, not more'
sql "UPDATE task SET max_pipeline = NULL WHERE task_id = $task"
replays reassign

# --- undo -----------------------------------------------------------------------------------------

ask 1 4
loan=${loans[0]} before=$(row "$loan" | cut -d ' ' -f 4)
correct undo --loan "$loan"
is "$status" 4 'undo of nothing: exit 4'
like "$err" "loan $loan is assigned to \"race-1\" since .*: there is nothing to take back" \
	'undo of nothing: how it stands'
say 1 "$loan" --complete --note wrong
say 1 "${loans[1]}" --never
say 1 "${loans[2]}" --return-after 4h --not-me
correct undo --loan "$loan:$token,${loans[1]},${loans[2]}"
is "$status" 0 'undo: exit 0'
like "$out" "^loan $loan: race-1 has it again, with token [0-9]*, until " 'undo: it says so'
is "$(row "$loan" | cut -d ' ' -f 1,2,4-)" "assigned race-1 $((before + 2)) wrong" \
	'undo: the row of work'
is "$(log "$loan" | cut -d ' ' -f 1-4,6-)" "assigned race-1 $boss $((before + 2)) $reason" \
	'undo: the log has both names'
is "$(sql "SELECT COUNT(DISTINCT w.request_id), MAX(r.reason), MAX(r.assigned),
	MIN(w.lease_expires_at = w.assigned_at + INTERVAL 60 MINUTE), MIN(w.token) > $token
	FROM work AS w JOIN work_requested AS r USING (request_id)
	WHERE w.task_id = $task AND w.loan_id IN ($loan, ${loans[1]}, ${loans[2]})" |
	tr '\t' ' ')" \
	"1 undone by marcus: $reason 3 1 1" 'undo: one request, new leases, greater tokens'
is "$(sql "SELECT COUNT(*) FROM work_exclusion AS e JOIN app_user USING (user_id)
	WHERE e.task_id = $task AND name = 'race-1'")" 0 'undo: the exclusion goes with the return'
correct undo --loan "$loan:$token"
is "$status" 0 'undo again: exit 0'
like "$out" "^loan $loan: already given to race-1 at " 'undo again: it says so'
say 1 "$loan" --return-after 0
correct release --loan "${loans[1]}"
correct undo --loan "${loans[1]}"
like "$status:$out" "^0:loan ${loans[1]}: race-1 has it again" 'a release is taken back, too'
ask 2 1
is "${loans[0]}" "$loan" 'race-2 gets what race-1 has returned'
correct undo --loan "$loan"
like "$status:$err" "^4:managetask: loan $loan is assigned to \"race-2\" since" \
	'what somebody else has is not taken back'
say 2 "$loan" --complete
managetask user disable race-2 --by marcus >/dev/null
correct undo --loan "$loan"
is "$status:$err" "4:managetask: loan $loan was not given back: its user is disabled" \
	'nothing is given back to a disabled user'
managetask user enable race-2 --by marcus >/dev/null
sql "UPDATE task SET max_pipeline = 1 WHERE task_id = $task"
correct undo --loan "$loan"
is "$status" 0 'an undo within max_pipeline'
sql "UPDATE task SET max_pipeline = NULL WHERE task_id = $task"
ask 2 1
say 2 "$loan" --complete
sql "UPDATE task SET max_pipeline = 1 WHERE task_id = $task"
correct undo --loan "$loan"
like "$status:$err" "^4:.* was not given back: the user would have more than" \
	'an undo beyond max_pipeline'
sql "UPDATE task SET max_pipeline = NULL WHERE task_id = $task"
replays undo

# --- leases ---------------------------------------------------------------------------------------

ask 3 2
sql "UPDATE work SET lease_expires_at = NOW(6) - INTERVAL 1 MINUTE,
	due_at = NOW(6) - INTERVAL 1 MINUTE WHERE task_id = $task AND loan_id = ${loans[0]}"
for noted in no yes; do
	[ $noted = no ] || disposition --expire >/dev/null
	for command in 'release' 'reassign --from race-3 --to race-1'; do
		# shellcheck disable=SC2086 # words, on purpose
		correct $command --loan "${loans[0]}"
		like "$status:$err" "^4:.*loan ${loans[0]} is nobody's: the lease of user \
\"race-3\" ran out at" "$command: a lease that is over, noted: $noted"
	done
done
correct undo --loan "${loans[0]}"
like "$status:$err" "^4:.*loan ${loans[0]} is nobody's: the lease of user" \
	'undo: what time has ended is not taken back'
# Its lease was moved by hand, so its history is not one that replays.
sql "DELETE FROM work_log WHERE task_id = $task AND loan_id = ${loans[0]};
	DELETE FROM work WHERE task_id = $task AND loan_id = ${loans[0]}"

# --- on_complete and on_undo ----------------------------------------------------------------------

# undo_with STATEMENTS: makes the task's on_undo.
undo_with() {
	sql "DROP PROCEDURE IF EXISTS test_undo_$task;
DELIMITER //
	     CREATE PROCEDURE test_undo_$task (IN p_loan BIGINT UNSIGNED, IN p_user VARCHAR(64))
	       BEGIN $1; END//
DELIMITER ;
	     GRANT EXECUTE ON PROCEDURE test_undo_$task TO lockq_manager@lockq"
}
forget_procedures
sql "CREATE TABLE test_undone_$task (loan_id BIGINT UNSIGNED, user VARCHAR(64), what VARCHAR(9));
     CREATE PROCEDURE test_done_$task (IN p_loan BIGINT UNSIGNED, IN p_user VARCHAR(64))
       SQL SECURITY DEFINER INSERT INTO test_undone_$task VALUES (p_loan, p_user, 'done');
     GRANT EXECUTE ON PROCEDURE test_done_$task TO lockq_worker@lockq"
managetask set "$task" --on-complete "test_done_$task" --by marcus >/dev/null
ask 3 4
a=${loans[0]} b=${loans[1]} c=${loans[2]} d=${loans[3]}
for loan in "$a" "$b" "$c"; do
	say 3 "$loan" --complete
done
say 3 "$d" --never
correct undo --loan "$a,$d"
is "$status" 4 'undo without on_undo: exit 4'
is "$err" "managetask: loan $a was not given back: the task's on_complete may have changed other \
data, and the task has no on_undo, which would take that back" 'undo without on_undo: why not'
like "$out" "^loan $d: race-3 has it again" 'undo without on_undo: what was not completed is done'
run managetask set "$task" --on-undo "test_undo_$task" --by marcus
is "$status" 4 'managetask refuses an on_undo that is not there'
run managetask set "$task" --on-undo "test_undo_$task" --unchecked --by marcus
is "$status:$(managetask show "$task" --json | jq -r .on_undo)" "0:test_undo_$task" \
	'managetask sets on_undo'
correct undo --loan "$a"
is "$status" 5 'an on_undo that is not there: exit 5'
like "$err" "loan $a was not given back: on_undo: .*test_undo_$task" 'an on_undo that is not there'
undo_with "UPDATE test_undone_$task SET what = 'undone' WHERE loan_id = p_loan AND user = p_user"
correct undo --loan "$a"
like "$status:$out" "^0:loan $a: race-3 has it again" 'undo with on_undo'
is "$(sql "SELECT what FROM test_undone_$task WHERE loan_id = $a")" undone 'on_undo was called'
undo_with "UPDATE test_undone_$task SET what = 'gone' WHERE loan_id = p_loan;
	IF p_loan = $b THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the letter was sent'; END IF"
correct undo --loan "$b,$c"
is "$status" 4 'on_undo refuses one: exit 4'
is "$err" "managetask: loan $b was not given back: the letter was sent" 'on_undo refuses one: why'
like "$out" "^loan $c: race-3 has it again" 'on_undo refuses one: the other one is done'
is "$(sql "SELECT what FROM test_undone_$task WHERE loan_id IN ($b, $c) ORDER BY loan_id = $c" |
	paste -sd ,)" done,gone 'on_undo refuses one: what it did for that one is undone'
undo_with "SELECT missing FROM nowhere"
correct undo --loan "$b" --json
is "$status:$(jq -c '[.result, .state, .exit]' <<<"$out")" '5:["not_undone","completed",5]' \
	'on_undo fails: exit 5'
for statement in COMMIT ROLLBACK 'CREATE TABLE test_ddl (i INT); DROP TABLE test_ddl'; do
	undo_with "UPDATE test_undone_$task SET what = 'gone' WHERE loan_id = p_loan; $statement"
	correct undo --loan "$b"
	is "$status" 5 "on_undo with $statement: exit 5"
	like "$err" "procedure \"test_undo_$task\" ends the transaction" \
		"on_undo with $statement: it says so"
	is "$(row "$b" | cut -d ' ' -f 1)" completed "on_undo with $statement: nothing is undone"
	sql "UPDATE test_undone_$task SET what = 'done' WHERE loan_id = $b"
done
# Its INSERT is lost to a deadlock, which the procedure ignores.
undo_with "DECLARE CONTINUE HANDLER FOR 1213 BEGIN END;
	UPDATE test_undone_$task SET what = 'gone' WHERE loan_id = p_loan;
	SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; ROLLBACK"
correct undo --loan "$b"
is "$status:$(row "$b" | cut -d ' ' -f 1)" 5:completed 'a deadlock that on_undo ignores'
is "$(sql "SELECT what FROM test_undone_$task WHERE loan_id = $b")" 'done' \
	'a deadlock that on_undo ignores: nothing stays'
replays on_undo

# --- cancel ---------------------------------------------------------------------------------------

sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)
	SELECT UUID(), user_id, 'test', $other, 2, 2 FROM app_user WHERE name = 'race-1'"
read -r id uuid <<<"$(sql "SELECT request_id, uuid FROM work_requested WHERE task_id = $other")"
run managetask cancel "$id" --by marcus --reason "$reason"
is "$status:$out" "0:request $id for race-1, task $other: cancelled" 'cancel'
is "$(sql "SELECT outcome, reason, served_at IS NOT NULL FROM work_requested
	WHERE request_id = $id" | tr '\t' ' ')" "cancelled cancelled by marcus: $reason 1" \
	'cancel: the request says who and why'
is "$(sql "SELECT m.manager, m.account, m.action, m.task_id, u.name, m.reason FROM manage_log AS m
	JOIN app_user AS u USING (user_id) WHERE m.request_id = $id" | tr '\t' ' ')" \
	"$boss request cancelled $other race-1 $reason" 'cancel: manage_log has both names'
run managetask cancel "$uuid" --by marcus --reason "$reason" --json
is "$status:$(jq -c '[.request_id, .status, .exit]' <<<"$out")" "0:[$id,\"cancelled\",0]" \
	'cancel again, by UUID'
run managetask cancel "$id" --by other --reason "$reason"
is "$status:$err" "4:managetask: request $id of user \"race-1\" has ended before: cancelled" \
	'cancel by another manager: it has ended'
run managetask cancel 99999999 --by marcus --reason "$reason"
is "$status:$err" '4:managetask: request "99999999" is unknown' 'cancel of an unknown request'
run checkwork --request "$id"
like "$out" "cancelled: cancelled by marcus: $reason" 'checkwork tells the reason'

# Somebody waits: the leader of the task is a session that holds its lock until the test says so.
mkfifo "$scratch/holder"
"$top/scripts/sandbox" mysql --unbuffered <"$scratch/holder" >/dev/null &
holder=$!
exec {hold}>"$scratch/holder"
echo "START TRANSACTION; SELECT epoch FROM task_lock WHERE task_id = $other FOR UPDATE;
	UPDATE task_lock SET epoch = epoch + 1, holder = 'test' WHERE task_id = $other;" >&"$hold"
await "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
	SELECT holder FROM task_lock WHERE task_id = $other" test
getwork --user race-2 --task "$other" --timeout 60 {hold}>&- >/dev/null \
	2>"$scratch/waiting" &
waiting=$!
await "SELECT COUNT(*) FROM work_requested WHERE task_id = $other AND pending = 1" 1
id=$(sql "SELECT request_id FROM work_requested WHERE task_id = $other AND pending = 1")
run managetask cancel "$id" --by marcus --reason "$reason"
is "$status" 0 'cancel of a request that somebody waits for'
exec {hold}>&-
wait "$holder"
ended=0
wait "$waiting" || ended=$?
is "$ended" 3 'whoever waits ends: exit 3'
like "$(cat "$scratch/waiting")" "request $id is cancelled: cancelled by marcus: $reason" \
	'whoever waits is told the reason'
is "$(sql "SELECT COUNT(*) FROM work_requested WHERE task_id = $other AND pending = 1")" 0 \
	'and does not ask again'

# --- a rule that comes between --------------------------------------------------------------------

# The other task gives the user the loan after it was judged, and before the log makes the row. The
# trigger stands for that moment. Nothing of it stays, or the log would have an assignment that
# never was.
sql "UPDATE task SET not_same_user_as = $other WHERE task_id = $task"
ask 4 1
held=${loans[0]}
getwork --user race-3 --task "$other" --count 1 --json >"$scratch/answer"
theirs=$(jq '.loans[0].loan_id' "$scratch/answer")
sql "CREATE TRIGGER test_gives AFTER INSERT ON work_requested FOR EACH ROW
	UPDATE work SET user_id = NEW.user_id, loan_id = $held
	 WHERE task_id = $other AND loan_id = $theirs AND NEW.task_id = $task"
correct reassign --loan "$held" --from race-4 --to race-2
sql 'DROP TRIGGER test_gives'
is "$status:$(row "$held" | cut -d' ' -f1-2):$(log "$held" | cut -d' ' -f1-2)" \
	'3:assigned race-4:assigned race-4' 'a rule that the loan breaks meanwhile: nothing is done'
replays 'a rule that the loan breaks meanwhile'
correct reassign --loan "$held" --from race-4 --to race-2
is "$status" 0 'and the next try finds what holds then'
sql "UPDATE task SET not_same_user_as = NULL WHERE task_id = $task"

# --- all that somebody has ------------------------------------------------------------------------

run managetask release --from race-5 --all --by marcus --reason "$reason"
correct release --from race-5 --all
is "$status:$out" '1:race-5 has no loans' 'release --all of nobody'"'"'s loans: exit 1'
ask 5 2
getwork --user race-5 --task "$other" --count 1 --json >"$scratch/answer"
far=$(jq '.loans[0].loan_id' "$scratch/answer")
all=(--from race-5 --all --by marcus --reason "$reason")
run managetask release --from nobody --all --by marcus --reason "$reason"
is "$status" 4 'release --all of an unknown user: exit 4'
run managetask release "${all[@]}" --task "$other"
is "$status:$out" "0:loan $far: released, race-5 has it no longer" 'release --all of one task'
getwork --user race-5 --task "$other" --count 1 --json >"$scratch/answer"
far=$(jq '.loans[0].loan_id' "$scratch/answer")
run managetask reassign "${all[@]}" --to race-1
is "$status:$(printf '%s\n' "$out" | sed 's/ with token.*//')" "0:task $task:
$(printf 'loan %d: race-1 has it now,\n' "${loans[@]}")
task $other:
loan $far: race-1 has it now," 'reassign --all: the loans of each task'
run managetask release --from race-1 --all --by marcus --reason "$reason" --json
is "$(jq -c '[.task, .result]' <<<"$out" | sort | uniq -c | tr -s ' ' | tail -n 1)" \
	" 1 [$other,\"done\"]" 'release --all --json: each with its task'
is "$(sql "SELECT COUNT(*) FROM work AS w JOIN app_user AS u USING (user_id)
	WHERE u.name IN ('race-1', 'race-5') AND w.state = 'assigned'")" 0 'they have none any more'
ask 5 1
run managetask release --from race-5 --all --by "" --reason "$reason"
is "$status" 2 'no manager: a usage error'
correct release --from race-5 --all

# --- the history ----------------------------------------------------------------------------------

loan=$(sql "SELECT loan_id FROM work_log WHERE task_id = $task AND event = 'returned'
	AND manager = 'marcus' LIMIT 1")
run checkwork --task "$task" --loan "$loan"
like "$out" "returned .* race-[0-9] .* marcus .* $reason" 'checkwork --loan shows the manager'
run checkwork --task "$task" --loan "$loan" --json
like "$(jq -c 'select(.event == "returned") | [.user, .manager, .note]' <<<"$out")" \
	"\"marcus\",\"$reason\"\]" 'checkwork --loan --json has the manager'
run managetask release --task "$task" --loan "$a" --by race-1 --reason "$reason"
is "$status" 0 'a manager may be a user, too'
managetask user bind race-1 --account lockq_feed --by marcus >/dev/null
run managetask release --task "$task" --loan "$c" --by race-1 --reason "$reason"
is "$status:$err" '4:managetask: only the MySQL account "lockq_feed" may act for manager '\
'"race-1": connect with it' 'one who is bound to another account is refused'
run managetask undo --task "$task" --loan "$b" --by race-1 --reason "$reason"
is "$status" 4 'also for an undo'
run managetask cancel "$id" --by race-1 --reason "$reason"
is "$status" 4 'also to cancel'

is "$(untrue_requests)" '' 'each request has numbers that tell how it stands'
finish
