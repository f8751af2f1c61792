#!/usr/bin/env bash
# What each role may do and what it may not, by raw SQL and by the programs. SECURITY.md has the
# table of it.
#   LOCKQ_ROLES_TABLE  the table is written to this file, too
#   LOCKQ_ONLY         only the try by raw SQL with this name runs
# shellcheck disable=SC2016 # these backticks are for the page
set -u
# shellcheck source=test/support/accounts.sh
. "$(dirname "$0")/../../support/accounts.sh"

bank=test_bank desk=test_desk task=31

cleanup() {
	admin "DROP DATABASE IF EXISTS $bank; DROP DATABASE IF EXISTS $desk" >/dev/null
	forget_accounts
}
trap cleanup EXIT

"$top/scripts/sandbox" database $bank >/dev/null
[ -n "${LOCKQ_ONLY-}" ] || "$top/scripts/sandbox" database $desk >/dev/null
account alice lockq_worker@$bank
account bob lockq_worker@$bank
[ -n "${LOCKQ_ONLY-}" ] || account clerk lockq_worker@$desk
account viewer lockq_viewer@$bank
account query lockq_query@$bank
account cron lockq_cron@$bank
account boss lockq_manager@$bank
account feed lockq_follower@$bank
account eraser lockq_eraser@$bank
admin "USE $bank;
	CREATE TABLE loans (loan_id BIGINT UNSIGNED PRIMARY KEY);
	INSERT INTO loans VALUES (1), (2), (3), (4), (5), (6);
	CREATE VIEW deeds AS SELECT loan_id, loan_id AS priority FROM loans;
	GRANT SELECT ON deeds TO lockq_worker@$bank, lockq_query@$bank;
	INSERT INTO app_user (user_id, name, account) VALUES
	  (1001, 'alice', 'test_alice'), (1002, 'bob', 'test_bob'), (1003, 'shared', NULL),
	  (1004, 'gone', NULL);
	INSERT INTO task (task_id, name, candidates_view, enabled, lease_minutes) VALUES
	  ($task, 'Deeds', 'deeds', TRUE, 60), (32, 'Closed', 'deeds', FALSE, NULL),
	  (33, 'Others', 'deeds', TRUE, NULL);
	CALL task_rows(NULL)"

# --- the programs ---------------------------------------------------------------------------------

for name in alice bob; do
	as $name getwork --user $name --task $task --count 2
	is "$status" 0 "$name asks for herself, or himself"
done
is "$(admin "SELECT GROUP_CONCAT(loan_id ORDER BY loan_id) FROM $bank.work
	WHERE user_id = 1002")" 3,4 'bob has loans 3 and 4'
programs() {
	as alice getwork --user bob --task $task
	local refused='only the MySQL account "test_bob" may ask for user "bob": connect with it'
	is "$status $err" "4 getwork: $refused" \
		'nobody asks for a person who is bound to another account'
	as alice disposition --complete --user bob --task $task --loan 3
	is "$status $err" "4 disposition: $refused" \
		'nobody disposes of that person'"'"'s loans'
	for name in alice bob; do
		as $name getwork --user shared --task 33
		is "$status" 0 'a person without an account is asked for by all'
	done
	is "$(admin "SELECT GROUP_CONCAT(account ORDER BY request_id) FROM $bank.work_requested
		WHERE task_id = 33")" test_alice@localhost,test_bob@localhost \
		'the request has the account that asked'
	as clerk getwork --user alice --task $task --database $bank
	is "$status" 5 'a worker of one database does nothing in another one'
	like "$err" "^getwork: the account lacks a right: .*: it needs the role \
'lockq_worker'@'$bank'" \
		'and is told which role that takes'
	as viewer checkwork --user bob
	is "$status" 0 'a viewer looks'
	admin "INSERT INTO $bank.work_requested (uuid, user_id, account, task_id, asked, requested)
		VALUES (UUID(), 1002, 'test', 33, 1, 1)"
	as viewer checkwork --user bob --pending --json
	is "$status:$(jq -c '[.task, .nobody_leads, .leader]' <<<"$out")" '0:[33,false,null]' \
		'a viewer sees pending requests, and is not told who leads'
	as viewer checkwork --user bob --tasks --json
	is "$status:$(jq -c 'select(.task > 30) | [.task, .held, .pending]' <<<"$out" |
		tr '\n' ' ')" '0:[31,2,0] [32,0,0] [33,0,1] ' 'a viewer sees the tasks'
	admin "DELETE FROM $bank.work_requested WHERE task_id = 33"
	as alice checkwork --user alice --tasks
	is "$status" 0 'a worker sees the tasks'
	as viewer getwork --user bob --task $task
	is "$status" 5 'and does not ask'
	as cron disposition --expire --purge-after 1d
	is "$status" 0 'cron tidies up'
	as feed lockqstat --follow mine --until-now
	is "$status:$(jq -r .event <<<"$out" | sort | uniq -c | xargs)" '0:6 assigned' \
		'a follower gets the changes'
	as viewer lockqstat --cursors
	is "$status" 0 'a viewer sees how far it is'
	as viewer lockqstat --follow mine --until-now
	is "$status" 5 'and follows nothing'
	like "$err" "it needs the role 'lockq_follower'@'$bank'" 'and is told which role that takes'
	as viewer lockqstat --drop-cursor mine
	is "$status" 5 'nor removes a cursor'
	as feed lockqstat --drop-cursor mine
	is "$status" 0 'which a follower does'
}
[ -n "${LOCKQ_ONLY-}" ] || programs

# Loan 4's lease is over; loan 5 is returned and available; bob has a pending request.
admin "USE $bank; INSERT INTO work_requested
	(request_id, uuid, user_id, account, task_id, asked, requested)
	VALUES (9000, UUID(), 1002, 'test_bob@localhost', $task, 2, 2),
	       (9001, UUID(), 1001, 'test_alice@localhost', 33, 1, 1)"
before=$(admin "SELECT MAX(log_id) FROM $bank.work_log")
admin "USE $bank; UPDATE work SET lease_expires_at = NOW(6) - INTERVAL 1 HOUR, due_at = NULL
	WHERE task_id = $task AND loan_id = 4"

# Loans 7 and 8 were alice's until an hour ago, and 10 was bob's: their leases are over, and the log
# has the end of 8 and 10. Alice has returned loan 9 herself.
work="$bank.work (task_id, loan_id, user_id, state, token, version, request_id, assigned_at,
	available_at, lease_expires_at, changed_at)"
for row in "7, 1001, 'assigned', NULL, @over" "8, 1001, 'returned', @over, @over" \
	"9, 1001, 'returned', @over, NULL" "10, 1002, 'returned', @over, @over"; do
	IFS=, read -r loan user state available lease <<<"$row"
	admin "SET @over = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR;
		INSERT INTO $work VALUES ($task, $loan, $user, $state, 1, 2, 9001,
			@over - INTERVAL 1 HOUR, $available, $lease, @over)"
done

# --- raw SQL --------------------------------------------------------------------------------------

# try ROLE ACCOUNT WORDS SQL: runs the statements in a transaction that is rolled back, and compares
# what came of the last one with the row of the table.
try() {
	local role=$1 account=$2 words=$3 out outcome row
	[ "${LOCKQ_ONLY:-$role: $words}" = "$role: $words" ] || return 0
	if out=$("$mysql" --defaults-file="$scratch/$account.cnf" --batch --skip-column-names \
		--database=$bank --execute="SET time_zone = '+00:00';
		SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
		START TRANSACTION; $4; SELECT CONCAT('rows ', ROW_COUNT()); ROLLBACK" 2>&1); then
		case ${out##*rows } in
		0) outcome='changes nothing' ;;
		*) outcome='done' ;;
		esac
		# What a procedure has changed is not counted, but it says that it has.
		[[ $out != done$'\t'* ]] || outcome='done'
		# Those of the change feed say it by a number.
		[[ $4 != *'CALL follow_'* || $'\n'$out == *$'\n0\nrows '* ]] || outcome='done'
	else
		outcome=refused
		printf '%s\t%s\t%s\n' "$role" "$words" "${out//$'\n'/ }" >>"$scratch/errors"
	fi
	row="| $role | $words | $outcome |"
	printf '%s\n' "$row" >>"$scratch/table"
	is "$(grep -Fx -e "$row" "$top/SECURITY.md")" "$row" "$role: $words"
}
mysql=$top/build/mysql/bin/mysql
: >"$scratch/table"

log='INSERT INTO log_in (task_id, loan_id, event, user_id, account, token, version, request_id,
	available_at, lease_expires_at, at)'
# event NAME LOAN ACCOUNT [CHANGE]: a row of the log for a loan as it is now, with some columns
# changed.
event() {
	local version='w.version + 1' available=NULL lease=NULL
	[ "$1" != renewed ] || lease='w.lease_expires_at'
	if [ "$1" = expired ]; then
		available=w.lease_expires_at lease=w.lease_expires_at
	fi
	echo "$log SELECT w.task_id, w.loan_id, '$1', w.user_id, ${3:-USER()}, w.token, $version,
		w.request_id, $available, $lease, ${4:-NOW(6)}
		FROM work AS w WHERE w.task_id = $task AND w.loan_id = $2"
}
ask='INSERT INTO request_in (uuid, user_id, account, task_id, asked, requested)'
lead="SELECT epoch FROM task_lock WHERE task_id = $task FOR UPDATE;
	UPDATE lead_in SET epoch = epoch + 1, holder = 'me' WHERE task_id = $task"
# give LOAN VERSION
give() {
	echo "$log SELECT $task, $1, 'assigned', 1002, 'test_bob@localhost', k.epoch, $2, 9000,
		NULL, NULL, NOW(6) FROM task_lock AS k WHERE k.task_id = $task"
}

try worker alice 'reads requests, loans and history' \
	'SELECT COUNT(*) FROM work_requested JOIN work JOIN work_log'
try worker alice 'asks for the person of the account' \
	"$ask VALUES (UUID(), 1001, USER(), $task, 1, 1)"
try worker alice 'asks for a person of another account' \
	"$ask VALUES (UUID(), 1002, USER(), 33, 1, 1)"
try worker alice 'asks in the name of another account' \
	"$ask VALUES (UUID(), 1001, 'test_bob@localhost', $task, 1, 1)"
try worker alice 'asks for more than `max_count`' \
	"$ask VALUES (UUID(), 1001, USER(), $task, 6, 6)"
try worker alice 'asks for a task that is disabled' "$ask VALUES (UUID(), 1001, USER(), 32, 1, 1)"
try worker alice 'asks for nobody, with `foreign_key_checks` off' \
	"SET foreign_key_checks = 0; $ask VALUES (UUID(), 77, USER(), $task, 1, 1)"
try worker alice 'sets the time of a request' \
	"INSERT INTO request_in (uuid, user_id, account, task_id, asked, requested, created_at)
	 VALUES (UUID(), 1001, USER(), $task, 1, 1, '2001-01-01')"
try worker alice 'asks, as if seen in the year 2038, by `SET timestamp`' \
	"SET timestamp = 2147483647; $ask VALUES (UUID(), 1001, USER(), 33, 1, 1)"
try worker alice 'asks for a loan of a list of the year 9999' \
	"INSERT INTO request_in (uuid, user_id, account, task_id, asked, requested, fresh_after)
	 VALUES (UUID(), 1001, USER(), $task, 1, 1, '9999-01-01')"
try worker alice 'keeps an own request alive until the year 9999' \
	"UPDATE request_mine SET seen_at = '9999-01-01' WHERE request_id = 9001"
try worker alice 'asks for a task that is not there, with `foreign_key_checks` off' \
	"SET foreign_key_checks = 0; INSERT INTO request_in
	 (uuid, user_id, account, task_id, asked, requested, outcome, served_at)
	 VALUES (UUID(), 1001, USER(), 999, 1, 0, 'cancelled', NOW(6))"
try worker alice 'cancels an own request' \
	"UPDATE request_mine SET outcome = 'cancelled' WHERE request_id = 9001"
try worker alice 'takes the last number that a request can have' \
	"INSERT INTO request_in (request_id, uuid, user_id, account, task_id, asked, requested)
	 VALUES (18446744073709551614, UUID(), 1001, USER(), $task, 1, 1)"
try worker alice "gives somebody else's request another number" \
	'UPDATE request_end SET request_id = request_id + 1000
	 WHERE request_id BETWEEN 8999 AND 9000'
try worker alice "writes a reason into somebody else's pending request" \
	"UPDATE request_end SET reason = 'ha' WHERE request_id BETWEEN 8999 AND 9000"
try worker alice "cancels somebody else's request" \
	"UPDATE request_mine SET outcome = 'cancelled' WHERE request_id = 9000"
try worker alice "keeps somebody else's request alive" \
	'UPDATE request_mine SET seen_at = NOW(6) + INTERVAL 1 DAY WHERE request_id = 9000'
try worker alice 'ends a request as served, without leading' \
	"UPDATE request_end SET outcome = 'served', assigned = 2,
	 epoch = (SELECT k.epoch FROM task_lock AS k WHERE k.task_id = $task)
	 WHERE request_id BETWEEN 8999 AND 9000"
try worker alice 'lets a request expire before its time' \
	"UPDATE request_end SET outcome = 'expired' WHERE request_id BETWEEN 8999 AND 9000"
try worker alice 'leads a task' "$lead"
try worker alice 'leads, and ends a request' "$lead; UPDATE request_end SET outcome = 'empty',
	requested = 0, epoch = (SELECT k.epoch FROM task_lock AS k WHERE k.task_id = $task)
	WHERE request_id BETWEEN 8999 AND 9000"
try worker alice 'leads, and gives a free loan to whoever asks' "$lead; $(give 5 1)"
try worker alice 'leads, and gives a loan that somebody has' "$lead; $(give 1 3)"
try worker alice 'leads, and gives it for good' "$lead; $(give 5 1);
	CALL work_opens($task, '[[5]]')"
admin "INSERT INTO $bank.work_log (task_id, loan_id, event, user_id, account, token, version,
	request_id, at) VALUES (33, 5, 'completed', 1002, 'x', 1, 2, 1, NOW(6));
	UPDATE $bank.task SET not_same_user_as = 33 WHERE task_id = $task"
try worker alice 'leads, and gives a loan to who has completed it in the task `not_same_user_as`' \
	"$lead; $(give 5 1); CALL work_opens($task, '[[5]]')"
admin "UPDATE $bank.task SET not_same_user_as = NULL WHERE task_id = $task"
try worker alice 'gives a loan without leading' "$(give 5 1)"
try worker alice 'notes a round without leading' \
	"INSERT INTO run_in (task_id, epoch, user, how, started_at, ended_at)
	 VALUES ($task, 99, 'me', 'query', NOW(6), NOW(6))"
try worker alice 'sets a task'"'"'s epoch back' "UPDATE lead_in SET epoch = 0 WHERE task_id = $task"
try worker alice 'sets a task'"'"'s epoch to the greatest number' \
	"UPDATE lead_in SET epoch = 18446744073709551615 WHERE task_id = $task"
try worker alice 'pushes the epoch up to the milliseconds since 1970' \
	"UPDATE lead_in SET epoch = UNIX_TIMESTAMP() * 1000 - 1000 WHERE task_id = $task"
try worker alice 'completes an own loan' "$(event completed 1); CALL work_moves($task, '[[1]]')"
try worker alice "completes somebody else's loan" "$(event completed 3)"
try worker alice "returns somebody else's loan" "$(event returned 3)"
try worker alice 'writes another account into the log' \
	"$(event completed 1 "'test_bob@localhost'")"
try worker alice 'completes an own loan years ago, by `SET timestamp`' \
	"SET timestamp = 1000000000; $(event completed 1)"
try worker alice 'completes an own loan some hours ago' \
	"$(event completed 1 '' 'NOW(6) - INTERVAL 2 HOUR')"
try worker alice 'sets `logged_at`, the time that no session moves' \
	"INSERT INTO log_in (task_id, loan_id, logged_at) VALUES ($task, 1, NOW(6))"
try worker alice 'logs the end of an own loan twice' "$(event completed 1); $(event returned 1)"
try worker alice 'renews an own lease for a year' "$log SELECT w.task_id, w.loan_id, 'renewed',
	w.user_id, USER(), w.token, w.version + 1, w.request_id, NULL, NOW(6) + INTERVAL 1 YEAR,
	NOW(6) FROM work AS w WHERE w.task_id = $task AND w.loan_id = 1"
try worker alice 'ends a lease before its time' "$(event expired 3)"
try worker alice 'ends a lease that is over' "$(event expired 4)"
try worker alice 'keeps somebody from a loan when a lease ends' \
	"$(event expired 4 | sed 's/, at)/, at, excluded_until)/; s/NOW(6)/NOW(6), NOW(6)/')"
try worker alice 'completes an own loan without the task'"'"'s `on_complete`' \
	"$(event completed 1); CALL work_moves($task, '[[1]]')"
try worker alice 'completes an own loan after the end of its lease' \
	"$(event completed 8); CALL work_moves($task, '[[8]]')"
try worker alice 'completes an own loan whose lease is over, without its end in the log' \
	"$(event completed 7)"
try worker alice 'notes the end of its lease, and completes the loan' \
	"$(event expired 7); CALL work_moves($task, '[[7]]'); $(event completed 7)"
try worker alice "completes somebody else's loan after the end of its lease" \
	"$(event completed 10)"
try worker alice 'returns an own loan after the end of its lease' "$(event returned 8)"
try worker alice 'completes an own loan after its return' "$(event completed 9)"
try worker alice 'completes an own loan, and withholds it for years' \
	"$(event completed 1 | sed "s/request_id, NULL/request_id, '2099-01-01'/");
	CALL work_moves($task, '[[1]]')"
try worker alice 'returns an own loan for years' \
	"$(event returned 1 | sed "s/request_id, NULL/request_id, '2099-01-01'/");
	CALL work_moves($task, '[[1]]')"
try worker alice 'returns an own loan, and leaves it a lease' \
	"$(event returned 1 | sed 's/NULL, NULL,/NULL, w.lease_expires_at,/')"
try worker alice 'changes a loan that has no new row in the log' \
	"CALL work_moves($task, '[[1],[3],[4]]')"
try worker alice 'changes `work`' "UPDATE work SET user_id = 1001 WHERE loan_id = 3"
try worker alice 'changes the log' "UPDATE work_log SET user_id = 1001"
try worker alice 'deletes from the log' 'DELETE FROM work_log'
try worker alice 'keeps a loan from being offered to somebody' \
	"INSERT INTO exclusion_in VALUES ($task, 1002, 6, NOW(6) + INTERVAL 1 DAY)"
try worker alice 'puts a loan into a kept list' \
	"INSERT INTO kept_loan (task_id, epoch, position, loan_id, version)
	 VALUES ($task, 1, 1, 6, 0)"
try worker alice 'writes a list without leading' \
	"CALL list_begins($task, 1, 'v', NOW(6), TRUE, 1, 1, '[[6,0]]')"
list="$lead; CALL list_begins($task, (SELECT k.epoch FROM task_lock AS k
	WHERE k.task_id = $task), 'deeds', '9999-01-01', TRUE, 10000000000000000, 1, '[[6,0]]')"
try worker alice 'leads, writes a list, and sets the epoch back' "$list;
	UPDATE lead_in SET epoch = epoch - 1, holder = NULL WHERE task_id = $task"
try worker alice 'deletes a list' 'DELETE FROM kept_list'
try worker alice 'deletes the loans of a list' 'DELETE FROM kept_loan'
try worker alice 'moves the head of a list' 'UPDATE kept_list SET head = 9'
try worker alice 'has a loan offered next' \
	"INSERT INTO task_touched (task_id, loan_id) VALUES ($task, 6)"
try worker alice 'keeps lists from being filled' "UPDATE task_refill SET tried_at = '2099-01-01'"
try worker alice 'changes a task' "UPDATE task SET max_count = 1000"
try worker alice 'binds a person to an account' "UPDATE app_user SET account = NULL"
try worker alice 'locks all tasks, so that nobody leads' 'SELECT epoch FROM task_lock FOR UPDATE'
try worker alice 'changes the rows that followers wait on' 'UPDATE wake_in SET task_id = 99'
release="CALL manage_loans_2('me', 'release', 'alone', $task, '[[3]]', NULL, NULL, 'why')"
try worker alice 'releases a loan, as managers do' "$release"
try worker alice 'cancels a request, as managers do' "CALL manage_cancel('me', 9000, 'why')"
urge="CALL manage_urgent_2('me', $task, '[[6]]', FALSE, 'why')"
try worker alice 'has a loan offered next, as managers do' "$urge"
try worker alice 'changes a task, as managers do' \
	"CALL manage_define('me', $task, FALSE, '{\"max_count\": 9}', 'why')"
try worker alice 'disables a person, as managers do' \
	"CALL manage_person('me', 'bob', 'disable', NULL, 'why')"
try worker alice 'names a manager in the log' \
	"INSERT INTO log_in (task_id, loan_id, manager) VALUES ($task, 1, 'me')"
try worker alice 'reads what managers did' 'SELECT COUNT(*) FROM manage_log'
try 'worker of another database' clerk 'reads' "SELECT COUNT(*) FROM $bank.work"
try 'worker of another database' clerk 'completes a loan' "INSERT INTO $bank.log_in (task_id)
	VALUES ($task)"
try 'worker of another database' clerk 'lets `work` follow the log' \
	"CALL $bank.work_moves($task, '[[1]]')"
try viewer viewer 'reads requests, loans and history' \
	'SELECT COUNT(*) FROM work_requested JOIN work JOIN work_log'
try viewer viewer 'locks rows of `work`' 'SELECT loan_id FROM work FOR UPDATE'
try viewer viewer 'locks tasks' 'SELECT epoch FROM task_lock FOR SHARE'
try viewer viewer 'shares rows of `work`' 'SELECT loan_id FROM work FOR SHARE'
try viewer viewer 'asks' "$ask VALUES (UUID(), 1003, USER(), $task, 1, 1)"
try query query 'reads the loans that are not available' \
	'SELECT loan_id, state, version, available_at, lease_expires_at, changed_at FROM work'
try query query 'reads who has a loan' 'SELECT user_id FROM work'
try query query 'shares rows of `work`' 'SELECT loan_id FROM work FOR SHARE'
try query query 'writes anything' "$ask VALUES (UUID(), 1003, USER(), $task, 1, 1)"
try cron cron 'ends a lease that is over' "$(event expired 4); CALL work_moves($task, '[[4]]')"
try cron cron 'deletes from the log' "DELETE FROM work_log WHERE log_id = $before"
try cron cron 'deletes rows of the log that all cursors have passed' \
	"DELETE FROM log_out WHERE log_id = $before"
admin "USE $bank; CALL follow_begins('feed', $before - 1)"
try cron cron 'deletes a row of the log that a cursor has not passed' \
	"DELETE FROM log_out WHERE log_id = $before"
try cron cron 'moves a cursor' "CALL follow_moves('feed', $before - 1, $before)"
try cron cron 'changes the log' "UPDATE work_log SET user_id = 1001"
try cron cron "completes somebody's loan" "$(event completed 3)"
try cron cron 'deletes loans' 'DELETE FROM work'
try cron cron 'releases a loan, as managers do' "$release"
try follower feed 'reads requests, loans and history' \
	'SELECT COUNT(*) FROM work_requested JOIN work JOIN work_log'
try follower feed 'makes a cursor' "CALL follow_begins('mine', NULL)"
try follower feed 'makes a cursor with a name that no file could have' \
	"CALL follow_begins('a/b', NULL)"
try follower feed 'locks a cursor, and moves it' \
	"CALL follow_takes('feed'); CALL follow_moves('feed', $before - 1, $before)"
try follower feed 'moves a cursor back' "CALL follow_moves('feed', $before - 1, 0)"
try follower feed 'moves a cursor beyond the log' \
	"CALL follow_moves('feed', $before - 1, 1000000)"
try follower feed 'removes a cursor' "CALL follow_ends('feed')"
try follower feed 'locks all cursors, so that nobody follows' \
	'SELECT name FROM follow_cursor FOR SHARE'
try follower feed 'changes cursors' 'UPDATE follow_cursor SET position = 0'
try follower feed 'asks' "$ask VALUES (UUID(), 1003, USER(), $task, 1, 1)"
try follower feed "completes somebody's loan" "$(event completed 3)"
try follower feed 'deletes from the log' "DELETE FROM log_out WHERE log_id = $before"
try viewer viewer 'lists the cursors' 'CALL follow_list()'
try viewer viewer 'makes a cursor' "CALL follow_begins('mine', NULL)"
try worker alice 'lists the cursors' 'CALL follow_list()'
try query query 'lists the cursors' 'CALL follow_list()'
try worker alice 'makes a cursor, which keeps the log from being purged' \
	"CALL follow_begins('mine', NULL)"
try worker alice 'reads the cursors' 'SELECT * FROM follow_cursor'
# The procedures of managers have transactions of their own.
try manager boss 'reads what managers did' 'SELECT COUNT(*) FROM manage_log'
try manager boss 'changes what managers did' "UPDATE manage_log SET manager = 'you'"
try manager boss 'corrects without a reason' "ROLLBACK; ${release/"'why'"/NULL}"
try manager boss 'corrects in the name of a person of another account' \
	"ROLLBACK; ${release/me/alice}"
try manager boss 'releases a loan, in any other name' "ROLLBACK; $release"
try manager boss 'gives somebody a loan that is free' \
	"ROLLBACK; CALL manage_loans_2('me', 'reassign', 'alone', $task, '[[6]]', 'bob', 'alice',
	 'why')"
try manager boss 'takes a release back' "SET autocommit = 0;
	CALL manage_loans_2('me', 'undo', 'change', $task, '[[3]]', NULL, NULL, 'why')"
try manager boss 'cancels a request' "ROLLBACK; CALL manage_cancel('me', 9000, 'why')"
try manager boss 'has a loan offered next' "ROLLBACK; $urge"
try manager boss 'has a loan offered next in the name of a person of another account' \
	"ROLLBACK; ${urge/me/alice}"
try manager boss 'completes somebody'"'"'s loan' "$(event completed 1)"
try manager boss 'changes `work`' "UPDATE work SET user_id = 1001 WHERE loan_id = 3"
try manager boss 'writes the log' \
	"INSERT INTO work_log (task_id, loan_id, manager) VALUES ($task, 1, 'me')"
try manager boss 'deletes from the log' 'DELETE FROM work_log'
forget="CALL manage_forget_2('me', 'gone', 'rest', 0, 1, TRUE, 'why')"
try manager boss 'takes a person out of the history' "ROLLBACK; $forget"
try eraser eraser 'takes a person out of the history' "ROLLBACK; $forget"
admin "UPDATE $bank.app_user SET account = 'test_eraser' WHERE user_id = 1004"
try eraser eraser 'takes the person of the own account out of the history' "ROLLBACK; $forget"
admin "UPDATE $bank.app_user SET account = NULL WHERE user_id = 1004"
try eraser eraser 'takes the own name out of the history' \
	"ROLLBACK; ${forget/me/gone}"
try eraser eraser 'disables a person, as managers do' \
	"ROLLBACK; CALL manage_person('me', 'bob', 'disable', NULL, 'why')"
try manager boss 'changes a task without a row of manage_log' "UPDATE task SET max_count = 1000"

if [ -n "${LOCKQ_ONLY-}" ]; then
	finish
	exit
fi

# What every process would count with.
"$mysql" --defaults-file="$scratch/alice.cnf" --database=$bank --execute="START TRANSACTION; $list;
	UPDATE lead_in SET holder = NULL WHERE task_id = $task; COMMIT" >"$scratch/list" 2>&1
is "$(admin "SELECT query_ms, as_of <= UTC_TIMESTAMP(6) FROM $bank.kept_list
	WHERE task_id = $task")" '86400000	1' \
	'list_begins: a query takes a day at most, and has begun'
admin "DELETE FROM $bank.kept_list WHERE task_id = $task;
	DELETE FROM $bank.kept_loan WHERE task_id = $task"

# gives USER COUNT [PLACES]: what comes of asking list_serves_2 by hand for a list's first loan.
gives() {
	"$mysql" --defaults-file="$scratch/alice.cnf" --batch --skip-column-names --database=$bank \
		--execute="CALL list_serves_2(UUID(), NULL, $1, $task, $2, 1, 99,
			'[${3-1000000}]', '[]', UTC_TIMESTAMP(6), 0, FALSE)" 2>&1 | cut -f 1
}
admin "INSERT INTO $bank.kept_list (task_id, epoch, candidates_view, as_of, length, complete,
	query_ms) VALUES ($task, 99, 'deeds', UTC_TIMESTAMP(6), 1, TRUE, 1);
	INSERT INTO $bank.kept_loan (task_id, epoch, position, loan_id, version)
	VALUES ($task, 99, 1000000, 6, 0);
	UPDATE $bank.task SET cache_ttl = 60, max_count = 5 WHERE task_id = $task"
is "$(gives 1002 1)" refused 'list_serves_2: no loan for the user of another account'
is "$(gives 1001 6)" refused 'list_serves_2: no more than max_count'
is "$(gives 1001 2 1000000,1000000 | sed 's/.*: //')" 'p_good names a loan twice' \
	'list_serves_2: no loan twice'
is "$(gives 1001 1)" given 'list_serves_2: a loan for the own user'

[ -z "${LOCKQ_ROLES_TABLE-}" ] || cp "$scratch/table" "$LOCKQ_ROLES_TABLE"
ok "$(diff <(sed -n '/^| role | tries |/,/^$/p' "$top/SECURITY.md" | sed '1,2d; /^$/d') \
	"$scratch/table" >&2; echo $?)" 'SECURITY.md has these rows, and no others'
# A statement that is wrong would count as refused.
is "$(grep -Ev -e 'CHECK OPTION failed|command denied|Access denied|foreign key' \
	-e 'Unknown column .(created_at|logged_at|manager)' -e 'may act for manager' \
	-e 'has your name or account' -e 'your MySQL account is that of user' \
	-e 'a correction has a reason' -e "constraint 'follow_cursor_name'" \
	-e 'only the leader of this epoch' \
	"$scratch/errors")" '' \
	'what is refused is refused for a lack of rights'
# 1568: a transaction is open.
is "$("$mysql" --defaults-file="$scratch/boss.cnf" --database=$bank --force --execute="
	CALL manage_define('me', $task, FALSE, '{\"share\": \"all of it\"}', 'why');
	SET TRANSACTION READ WRITE" 2>&1 | cut -d ' ' -f 1-2)" 'ERROR 1265' \
	'manage_define leaves no transaction open where a setting has another value'
# No CALL leaves a transaction open, whatever its arguments are. Lines of a name, without its
# number, and of arguments that work, each of which is then replaced by each of the values.
cat >"$scratch/calls" <<-END
	follow_begins|'new'|NULL
	follow_looks|'feed'
	follow_takes|'feed'
	follow_moves|'feed'|0|$before
	follow_ends|'new'
	follow_list
	follow_writers
	holders|$task
	leaders|$task
	leaders_since_check|$task
	list_begins|$task|1|'deeds'|NOW(6)|TRUE|1|1|'[[6, 0]]'
	list_serves|UUID()|NULL|1003|$task|1|1|99|'[1000000]'|'[]'|NOW(6)|0|FALSE
	list_tops|$task|99
	list_sweeps|$task|5
	manage_cancel|'me'|9001|'why'
	manage_define|'me'|$task|FALSE|'{"share": "evenly"}'|'why'
	manage_forget|'me'|'gone'|'log'|0|5|TRUE|'why'
	manage_loans|'me'|'release'|'alone'|$task|'[[3]]'|NULL|NULL|'why'
	manage_person|'me'|'new'|'add'|NULL|'why'
	manage_remove|'me'|32|TRUE|5|'why'
	manage_urgent|'me'|$task|'[[6]]'|FALSE|'why'
	pipeline_rows|$task
	refill_begins|$task
	refill_notes|$task|'why'|TRUE
	task_rows|$task
	trouble_adds|$task|'getwork'|TRUE|1|1|1
	work_completes|'$bank.no_such'|1|'alice'
	work_moves|$task|'[[1]]'
	work_opens|$task|'[[1]]'
END
admin "SELECT r.routine_name FROM information_schema.routines AS r
	WHERE r.routine_schema = '$bank' AND r.routine_name NOT LIKE 'complete%'
	  AND EXISTS (SELECT 1 FROM mysql.procs_priv AS p WHERE p.db = '$bank'
	                 AND p.routine_name = r.routine_name AND p.user LIKE 'lockq%')" \
	>"$scratch/procedures"
is "$(cut -d "|" -f 1 "$scratch/calls" | sort)" "$(sed 's/_[0-9]*$//' "$scratch/procedures" |
	sort)" 'each procedure that a role may call is tried'
values=(NULL "''" "'x'" -1 0 4294967296 18446744073709551616 1e300 "REPEAT('x', 600)" "X'ff'"
	"'9999-12-31'" "'0000-00-00'" "'[]'" "'[[\"x\"]]'" "'[[-1]]'" "'[[99999999999999999999]]'"
	"'{\"share\": \"all of it\"}'" "'{\"max_count\": 1e300}'")
while IFS='|' read -ra call; do
	name=$(grep -xE "${call[0]}(_[0-9]+)?" "$scratch/procedures")
	for ((i = 1; i < ${#call[@]} || i == 1; i++)); do
		for value in "${values[@]}"; do
			args=("${call[@]:1}")
			[ ${#args[@]} -eq 0 ] || args[i - 1]=$value
			printf -v list '%s, ' "${args[@]}"
			printf 'CALL %s(%s);\nSET TRANSACTION READ WRITE;\nROLLBACK;\n' \
				"$name" "${list%, }"
		done
	done
done <"$scratch/calls" >"$scratch/hostile"
account all "lockq_manager@$bank, lockq_cron@$bank, lockq_follower@$bank, lockq_eraser@$bank"
"$mysql" --defaults-file="$scratch/all.cnf" --database=$bank --force <"$scratch/hostile" \
	>"$scratch/answers" 2>&1
# 1568: a transaction is open.
is "$(sed -n 's/^ERROR 1568 .* at line \([0-9]*\):.*/\1/p' "$scratch/answers" |
	while read -r line; do
		sed -n "$((line - 1))p" "$scratch/hostile"
	done)" '' 'no procedure leaves a transaction open'
ok "$([ "$(grep -c '^ERROR' "$scratch/answers")" -ge 500 ]; echo $?)" 'though many of them fail'
is "$(grep -E '^ERROR (1044|1142|1143|1318|1370) ' "$scratch/answers" |
	grep -Ev "routine '$bank\.(x|no_such)'")" '' 'and none for lack of a right'
# For the page: what an account can do that may make temporary tables.
admin "GRANT CREATE TEMPORARY TABLES ON $bank.* TO test_boss@localhost"
is "$("$mysql" --defaults-file="$scratch/boss.cnf" --database=$bank --batch --skip-column-names \
	--execute="CREATE TEMPORARY TABLE app_user
	  (user_id INT, name VARCHAR(64), account VARCHAR(32));
	CALL manage_define('alice', $task, FALSE, '{\"max_count\": 5}', 'why')" 2>&1)" \
	"done	$task" \
	'with a temporary table a manager acts in the name of a person of another account'
admin "REVOKE CREATE TEMPORARY TABLES ON $bank.* FROM test_boss@localhost"
# Each table, by each way to write.
sed -n 's/^CREATE TABLE.* \([a-z_]*\) ($/\1/p' "$top/schema/baseline.sql" >"$scratch/tables"
admin "SELECT table_name, GROUP_CONCAT(column_name ORDER BY ordinal_position SEPARATOR ' ')
	 FROM information_schema.columns WHERE table_schema = '$bank'
	GROUP BY 1" >"$scratch/columns"
while IFS=$'\t' read -r table columns; do
	c=${columns%% *} file=doors
	if grep -qx "$table" "$scratch/tables"; then
		file=writes
	elif ! grep -q "^CREATE.* VIEW $table " "$top"/schema/doors/*.sql; then
		continue
	fi
	printf '%s;\n' "INSERT INTO $table () VALUES ()" \
		"INSERT IGNORE $table SELECT * FROM $table" \
		"INSERT INTO $table SET $c = 1" \
		"INSERT INTO $table () VALUES () ON DUPLICATE KEY UPDATE $c = $c" \
		"REPLACE INTO $table () VALUES ()" "REPLACE $table SELECT * FROM $table" \
		"LOAD DATA INFILE '/etc/hostname' INTO TABLE $table" \
		"DELETE FROM $table" "DELETE x FROM $table AS x" "DELETE FROM x USING $table AS x" \
		"WITH y AS (SELECT 1) DELETE FROM $table" "TRUNCATE $table" \
		"DROP TABLE $table" "RENAME TABLE $table TO other" \
		"ALTER TABLE $table COMMENT 'x'" "ALTER TABLE $table RENAME TO other" \
		"CREATE INDEX x ON $table ($c)" "CREATE OR REPLACE VIEW $table AS SELECT 1" \
		"CREATE VIEW other AS SELECT * FROM $table" "CREATE TABLE $table (i INT)" \
		"CREATE TABLE other LIKE $table" \
		"CREATE TABLE other (i INT REFERENCES $table ($c))" \
		"LOCK TABLES $table WRITE" "LOCK TABLES $table READ" \
		"FLUSH TABLES $table WITH READ LOCK" "FLUSH TABLES $table FOR EXPORT" \
		"OPTIMIZE TABLE $table" "REPAIR TABLE $table" \
		"CREATE TEMPORARY TABLE $table (i INT)" "CREATE TEMPORARY TABLE other LIKE $table" \
		>>"$scratch/$file"
	for c in $columns; do
		printf '%s;\n' "UPDATE $table SET $c = $c" "UPDATE $table AS x SET x.$c = NULL" \
			"UPDATE $table AS x, app_user AS y SET x.$c = x.$c" \
			"UPDATE app_user AS y JOIN $table AS x SET x.$c = DEFAULT" \
			"WITH y AS (SELECT 1) UPDATE $table AS x, y SET x.$c = x.$c" \
			"UPDATE (SELECT 1) AS y, $table AS x SET x.$c = x.$c" >>"$scratch/$file"
	done
done <"$scratch/columns"
# refused NAME FILE: tells which of its statements the account may run.
refused() {
	"$mysql" --defaults-file="$scratch/$1.cnf" --database=$bank --force \
		<"$scratch/$2" 2>&1 |
		sed -nE 's/^ERROR (1142|1143|1044|1045|1227) .* at line ([0-9]+): .*/\2/p' \
		>"$scratch/denied"
	awk -v "name=$1" 'NR == FNR { denied[$1]; next }
		!(FNR in denied) { print name ": " $0 }' "$scratch/denied" "$scratch/$2"
}
{
	# By these columns they may lock rows. Two have no value of their own, and nobody reads the
	# third.
	for name in alice cron boss eraser; do
		refused $name writes | grep -Ev ' (x\.)?(each_once|lockable|pending) = '
	done
	for name in viewer query feed; do
		refused $name writes
		refused $name doors
	done
} >"$scratch/written"
ok "$([ "$(wc -l <"$scratch/writes")" -ge 1000 ]; echo $?)" 'each table is tried'
is "$(cat "$scratch/written")" '' 'no role writes to a table, by any spelling'
is "$(admin "SELECT COUNT(*) FROM $bank.work_log WHERE logged_at IS NULL
	OR ABS(TIMESTAMPDIFF(SECOND, logged_at, at)) > 1")" 0 'the log has the true time'

finish
