#!/usr/bin/env bash
# managetask: tasks and people, what others see of it, and what is refused. managecheck.t has the
# check of a task. The manager of the sandbox has an account of its own, in the group
# [lockq_manager] of the option file.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=241 new=2410 next=0
make_steered "$task" 40
make_users 8
open_gatekeeper
# shellcheck disable=SC2154 # the sourced files set status, out, err and scratch
trap 'end_all; forget_steered "$task"; forget_task "$new"
	sql "DELETE FROM task WHERE task_id = $next; DELETE FROM app_user
		WHERE name LIKE '"'managed %' OR name LIKE 'forgotten-%'"'"; forget_users
	rm -rf "$scratch"' EXIT

manage() {
	run managetask "$@"
}
# column NAME [TASK]
column() {
	sql "SELECT COALESCE($1, 'NULL') FROM task WHERE task_id = ${2-$new}"
}
logged() {
	sql "SELECT CONCAT_WS('|', action, manager, account, COALESCE(reason, '-'))
		FROM manage_log ORDER BY manage_id DESC LIMIT 1"
}
view=test_candidates_$task

# --- tasks are made and changed -------------------------------------------------------------------

manage add $new --name 'Über "all" \ of it' --candidates-view $view --unchecked \
	--by marcus --reason 'a test'
is "$status:$out:$err" "0:task $new: added:" 'add: the task is made'
is "$(logged)" 'task added|marcus|lockq_boss@localhost|a test' \
	'and logged with the manager, the account and the reason'
is "$(column name)" 'Über "all" \\ of it' 'its name is what was said'
is "$(sql "SELECT COUNT(*) FROM task_lock JOIN task_wake USING (task_id)
	WHERE task_id = $new")" 1 'it can be led at once'
next=$(sql 'SELECT GREATEST((SELECT MAX(task_id) FROM task), (SELECT MAX(task_id) FROM task_lock),
	(SELECT COALESCE(MAX(task_id), 0) FROM work_log)) + 1')
manage add --name second --candidates-view $view --json --unchecked
is "$status:$out" "0:{\"task\":$next,\"user\":null,\"done\":\"added\"}" \
	'add: the next number, in JSON'
manage add $new --name again --candidates-view $view --unchecked
is "$status:$err" "4:managetask: task $new is there already: choose another number, or none for \
the next one" 'a number that is taken'
manage set $new --max-count 7 --lease-minutes 30 --on-complete a.b --enabled no --cache-ttl 60 \
	--manager none --by marcus --unchecked
is "$status:$out:$(sql "SELECT CONCAT_WS('|', max_count, lease_minutes, on_complete, enabled,
	cache_ttl, COALESCE(manager, '-'), max_query_s) FROM task WHERE task_id = $new")" \
	"0:task $new: changed:7|30|a.b|0|60|-|300" 'set: what is named changes, and the rest stays'
is "$(sql "SELECT CONCAT_WS('|', action, before_it->>'\$.max_count', after_it->>'\$.max_count')
	FROM manage_log ORDER BY manage_id DESC LIMIT 1")" 'task changed|5|7' \
	'the log has what it was and what it is'
manage set $new --share least
is "$status:$(column share)" 0:least 'set --share'
manage set $new --share order
manage set $new --lease-minutes none --on-complete none --cache-ttl 0
is "$(column lease_minutes):$(column on_complete)" NULL:NULL 'none takes a value back'
manage show $new --json
is "$status:$(jq -c '[.task, .name, .max_count, .enabled, .lease_minutes, .candidates_view]' \
	<<<"$out")" "0:[$new,\"Über \\\"all\\\" \\\\ of it\",7,false,null,\"$view\"]" \
	'show in JSON: numbers, text, flags, null'
manage show $new
like "$out" '^\| *max_count *\| *7 *\|$' 'show: a row for each setting'
like "$out" '^\| *cache_ttl *\| *0 s *\|$' 'with its unit'
is "$(sed '1,/^expert/d' <<<"$out" | grep -c '|')$(sed '/^expert/,$d' <<<"$out" |
	grep -c max_query_s)" '80' 'seven expert settings come last'
manage list --json
is "$(jq -c "select(.task == $new) | .max_count" <<<"$out"):$(jq .task <<<"$out" | wc -l)" \
	"7:$(sql 'SELECT COUNT(*) FROM task')" 'list in JSON: an object for each task'
manage list
like "$out" "^\| *$new \| Über" 'list: a row for each'

# refused STATUS MESSAGE ARGUMENT…
refused() {
	local expected=$1 message=$2
	shift 2
	manage "$@"
	is "$status:$(sed -n 1p <<<"$err")" "$expected:managetask: $message" "managetask $*"
}
refused 2 'max_count "0" must be a number from 1 to 1000' set $new --max-count 0
refused 2 'share "by chance" must be order, evenly or least' set $new --share 'by chance'
refused 2 'max_count "7x" must be a number from 1 to 1000' set $new --max-count 7x
refused 2 'cache_ttl "99999999999999999999" must be a number from 0 to 86400' \
	set $new --cache-ttl 99999999999999999999
refused 2 'enabled "maybe" must be yes or no' set $new --enabled maybe
refused 2 "candidates_view \"x; DROP TABLE task\" must be a name, or schema.name, of letters, \
digits, _ and \$" set $new --candidates-view 'x; DROP TABLE task'
refused 2 "name can't be none: every task has one" set $new --name none
refused 2 'name has 129 characters: 1 to 128 are allowed' \
	set $new --name "$(printf 'x%.0s' {1..129})"
refused 2 'the setting "max_count" is named twice' set $new --max-count 1 --max-count 2
refused 2 'there is nothing to set: name what is to change, as in --max-count 5' set $new
refused 2 "the task's number is missing" set --max-count 5
refused 2 '--task "seven" must be a number from 1 to 4294967295' show seven
refused 2 'argument "8" is not expected' show $new 8
refused 2 'a new task needs a candidates_view' add --name x
refused 2 '--reason is missing: people who wait are told it' pause $new
refused 2 'command "lst" is unknown' lst
refused 2 'command "user lst" is unknown' user lst
refused 2 'command "user" needs a second word, as in managetask user list' user
manage user lst --by marcus --json
is "$status:$out" '2:{"error":"command \"user lst\" is unknown","exit":2}' \
	'a command that is unknown is told in JSON, too'
refused 2 'a command is missing, as in managetask list'
refused 4 'task 2419 is unknown: the table task has no row for it' set 2419 --max-count 1
refused 4 'task 2419 is unknown: the table task has no row for it' show 2419
LOCKQ_TASK=$new run managetask disable
is "$status" 2 'no change goes by LOCKQ_TASK'
is "$(column max_count):$(column name)" '7:Über "all" \\ of it' 'what was refused changed nothing'
manage set 2419 --max-count 1 --json
is "$(jq -c '[.exit, (.error | length > 0)]' <<<"$out")" '[4,true]' 'a refusal in JSON'

# A worker's account.
app=$(mktemp -d "$scratch/XXXXXX")/app.cnf
(umask 077 && sed '/^\[lockq_manager\]/,$d' "$LOCKQ_DEFAULTS_FILE" >"$app")
LOCKQ_DEFAULTS_FILE=$app run managetask set $new --max-count 1
is "$status" 5 "a worker's account may not"
like "$err" "it needs the role 'lockq_manager'@'lockq'" 'and is told which role that takes'

# --- the state of a task, as others see it --------------------------------------------------------

manage disable "$task"
run getwork --user race-1 --task "$task"
is "$status" 4 'disabled: whoever asks is refused'
manage enable "$task"
run getwork --user race-1 --task "$task" --json
is "$status" 0 'enabled: and is served'
manage set "$task" --cache-ttl 600 --refresh-after 500
run refill --task "$task"
is "$status" 0 'the task has a list'
manage pause "$task" --reason 'month end' --by marcus
is "$status:$out:$(column paused "$task"):$(column paused_by "$task")" \
	"0:task $task: paused:month end:marcus" 'pause: the reason stands with the task'
why="task $task is paused by marcus: month end"
runs=$(sql "SELECT COUNT(*) FROM leader_run WHERE task_id = $task")
run getwork --user race-1 --task "$task" --no-wait
request=$(last_request race-1 "$task")
is "$status:$out:$err" "3::getwork: $why: request $request stays pending" \
	'paused: --no-wait leaves the request pending, although there is a list'
run getwork --user race-1 --task "$task" --no-wait --json
is "$status:$(jq -c '[.status, .reason, .exit]' <<<"$out")" "3:[\"pending\",\"$why\",3]" \
	'and JSON has the reason'
run getwork --user race-2 --task "$task" --timeout 0.2
is "$status:$err" "3:getwork: $why: request $(last_request race-2 "$task") is cancelled: try again \
later" '--timeout: the request is cancelled'
run refill --task "$task"
is "$status:$err" "3:refill: $why" 'its list is not filled'
sql "UPDATE kept_list SET as_of = as_of - INTERVAL 550 SECOND WHERE task_id = $task"
run refill --due --task "$task"
is "$status:$out" "0:task $task: its list is not due" 'nor is it due'
run checkwork --user race-1 --pending
like "$out" ": $why\$" 'checkwork --pending tells the reason'
run checkwork --request "$request"
like "$out" "pending: $why\$" 'checkwork --request, too'
run checkwork --user race-1 --tasks --json
is "$(jq -c "select(.task == $task) | [.enabled, .paused]" <<<"$out")" "[true,\"$why\"]" \
	'and checkwork --tasks'
manage show "$task"
like "$out" '^paused by marcus since [0-9:]+: month end$' 'and managetask show'
is "$(sql "SELECT COUNT(*) FROM leader_run WHERE task_id = $task")" "$runs" \
	'nobody has led meanwhile'
start waiter getwork --user race-3 --task "$task" --json
await_request race-3 "$task"
manage enable "$task" --by marcus
is "$(column paused "$task"):$(column paused_by "$task")" NULL:NULL 'enable takes it back'
end waiter
is "$status:$(jq -c '[.status, .assigned]' <<<"$out")" '0:["served",1]' 'whoever waits is served'

# A manager's change waits for no query, and a query that runs serves those who wait.
sql "UPDATE task SET cache_ttl = 0 WHERE task_id = $task"
steer "$task" gated
shut_gate "$task"
start leader getwork --user race-4 --task "$task" --json
await_leader "$task" race-4
manage set "$task" --max-count 6
is "$status" 0 'set: while a query runs'
manage pause "$task" --reason 'in mid-query'
is "$status" 0 'pause: while a query runs'
manage remove "$task"
is "$status:$err" "3:managetask: a process leads task $task: try again when it has served" \
	'remove: somebody leads'
open_gate "$task"
end leader
is "$status:$(jq -c '[.status, .assigned]' <<<"$out")" '0:["served",1]' \
	'the query that runs already serves'
manage enable "$task"

# --- removal --------------------------------------------------------------------------------------

manage remove "$task"
is "$status:$err" "4:managetask: 4 loans of task $task are assigned: let the users dispose of \
them, or release them" 'remove: loans are assigned'
is "$(column enabled "$task")" 1 'and nothing was done'
sql "UPDATE work SET state = 'returned', available_at = NOW(6) WHERE task_id = $task
	AND state = 'assigned'"
run getwork --user race-1 --task "$task" --no-wait # joins, and is served
sql "UPDATE work SET state = 'completed' WHERE task_id = $task AND state = 'assigned'"
manage remove "$task"
is "$status" 3 'remove: requests have ended just now'
like "$err" "^managetask: task $task is disabled, but [0-9]+ requests have ended within the last \
minute" 'it says so'
sql "UPDATE work_requested SET served_at = served_at - INTERVAL 2 MINUTE WHERE task_id = $task"
epoch=$(sql "SELECT epoch FROM task_lock WHERE task_id = $task")
history=$(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $task")
# Rows are held when the task is disabled already.
gatekeeper_says "START TRANSACTION; UPDATE work SET user_id = user_id WHERE task_id = $task;"
manage remove "$task"
is "$status:$err" "3:managetask: another session holds rows of task $task, of which a part may be \
removed by now: the same command goes on" 'remove: others hold rows'
gatekeeper_says 'ROLLBACK;'
# Two managers at once: both wait where the last rows are deleted. The second one begins when the
# first one waits, or it may take the first one for a leader.
sql "INSERT IGNORE INTO pipeline_lock (task_id, user_id) SELECT $task, MIN(user_id) FROM app_user"
gatekeeper_says "START TRANSACTION; UPDATE pipeline_lock SET user_id = user_id
	WHERE task_id = $task;"
last=$(sql 'SELECT MAX(manage_id) FROM manage_log')
wait_here='SELECT COUNT(DISTINCT requesting_thread_id) FROM performance_schema.data_lock_waits'
start marcus "$top/build/bin/managetask" remove "$task" --by marcus --reason 'not needed'
await "$wait_here" 1
start wanda "$top/build/bin/managetask" remove "$task" --by wanda --reason 'not needed'
await "$wait_here" 2
gatekeeper_says 'ROLLBACK;'
for by in wanda marcus; do
	end "$by"
	is "$status:$out:$err" "0:task $task: removed:" "a minute later: it is removed, says $by"
done
is "$(logged | sed 's/wanda/marcus/')" 'task removed|marcus|lockq_boss@localhost|not needed' \
	'the log says by whom'
is "$(sql "SELECT COUNT(*) FROM manage_log WHERE task_id = $task AND action = 'task removed'
	AND manage_id > $last")" 1 'once'
is "$(sql "SELECT (SELECT COUNT(*) FROM task WHERE task_id = $task)
	+ (SELECT COUNT(*) FROM work WHERE task_id = $task)
	+ (SELECT COUNT(*) FROM work_requested WHERE task_id = $task)
	+ (SELECT COUNT(*) FROM kept_list WHERE task_id = $task)
	+ (SELECT COUNT(*) FROM kept_loan WHERE task_id = $task)")" 0 'with its rows'
is "$(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $task"):$(sql "SELECT epoch FROM task_lock
	WHERE task_id = $task")" "$history:$epoch" 'its log and its epoch stay'
manage add "$task" --name again --candidates-view $view --unchecked
is "$status:$err" "4:managetask: the log has loans of an earlier task $task: choose another \
number, or none for the next one" 'its number is not used again'
manage remove "$task"
is "$status" 4 'a task that is gone is unknown'

# --- people ---------------------------------------------------------------------------------------

manage user add 'managed ä' 'managed b' --by marcus
is "$status:$out" '0:user managed ä: added: any MySQL account may ask
user managed b: added: any MySQL account may ask' 'user add: several at once'
is "$(logged)" 'user added|marcus|lockq_boss@localhost|-' 'each is logged'
refused 4 'user "managed b" is there already' user add 'managed b'
# Names that people could take for 'managed b': nobody gets one, by whatever client they come.
for name in 'managed b ' ' managed b' 'managed  b' $'managed b\t' $'managed b\n' \
	$'managed\u200b b' $'managed\u00a0b' $'managed b\u00ad'; do
	manage user add "$name"
	is "$status:$(grep -c "a new name has no blank at an end, no two in a row, and no \
character that can't be seen: leave it out$" <<<"$err")" 2:1 "user add $(printf %q "$name")"
done
is "$(sql "SELECT COUNT(*) FROM app_user WHERE name LIKE '%managed%'")" 2 'nobody was added'
# Nor does a manager act by such a name.
for name in 'marcus ' ' marcus' $'marcus\t' $'mar\u200bcus' $'marcus\u00a0' ' '; do
	refused 4 "the name of a manager has no blank at an end, no two in a row, and no character \
that can't be seen: leave it out" set "$new" --max-count 3 --by "$name"
done
run getwork --user 'managed b ' --task "$task" --no-wait
is "$status:${err%%:*}" '4:getwork' 'and nobody is found by such a name'
manage user add 'managed b' 'managed c'
is "$status:$out" '4:user managed c: added: any MySQL account may ask' \
	'the others are added nevertheless'
refused 4 'no MySQL account has the login name "somebody": nobody could ask for user "managed b"' \
	user bind 'managed b' --account somebody
refused 4 'no MySQL account has the login name "lockq_feed@localhost": give it without its host, '\
'as in lockq_feed' user bind 'managed b' --account lockq_feed@localhost
refused 4 'no MySQL account has the login name "somebody": nobody could ask for user "managed d"' \
	user add 'managed d' --account somebody
is "$(sql "SELECT COUNT(*) FROM app_user WHERE account IS NOT NULL OR name = 'managed d'")" 0 \
	'nobody is locked out'
# The owner of the database may not read which accounts there are.
sql 'REVOKE SELECT (user) ON mysql.user FROM lockq_owner@localhost'
manage user bind 'managed b' --account somebody
is "$status" 0 'where the accounts are not known, any may be one'
refused 4 'no MySQL account has the login name "lockq_feed@localhost": give it without its host, '\
'as in lockq_feed' user bind 'managed b' --account lockq_feed@localhost
sql 'GRANT SELECT (user) ON mysql.user TO lockq_owner@localhost'
manage user bind 'managed b' --account lockq_boss
refused 4 'your MySQL account is that of user "managed b": say --by managed b' \
	set $new --max-count 3 --by marcus
refused 4 'your MySQL account is that of user "managed b": say --by managed b' \
	set $new --max-count 3 --by 'managed ä'
manage set $new --max-count 3 --by 'managed b'
is "$status" 0 'an account that is bound to somebody acts for this user'
manage user bind 'managed b' --account lockq_feed --by 'managed b' --json
is "$status:$(jq -c '[.task, .user, .done]' <<<"$out")" \
	'0:[null,"managed b","only the MySQL account \"lockq_feed\" may ask"]' 'user bind in JSON'
run getwork --user 'managed b' --task $new
is "$status:$err" '4:getwork: only the MySQL account "lockq_feed" may ask for user "managed b": '\
'connect with it' 'it counts at once'
refused 4 'only the MySQL account "lockq_feed" may act for manager "managed b": connect with it' \
	set $new --max-count 3 --by 'managed b'
manage user bind 'managed b' --any
is "$(sql "SELECT account IS NULL FROM app_user WHERE name = 'managed b'")" 1 'bind --any'
refused 2 'give --account with the MySQL account'"'"'s name, or --any' user bind 'managed b'
refused 2 'the name of a MySQL account has 1 to 32 characters' user bind 'managed b' --account ''
refused 2 "the user's name is missing" user disable
refused 4 'user "managed z" is unknown: managetask user add makes one known' user enable 'managed z'
manage set $new --enabled yes
manage pause $new --reason wait
start waiter getwork --user 'managed b' --task $new --json
await_request 'managed b' $new
manage user disable 'managed b' --by marcus --reason 'on leave'
is "$status:$out" '0:user managed b: disabled' 'user disable'
end waiter
is "$status:$(jq -c '[.status, .reason]' <<<"$out"):$err" \
	"3:[\"cancelled\",\"user disabled by marcus\"]:getwork: request \
$(last_request 'managed b' $new) is cancelled: user disabled by marcus" \
	'a pending request is cancelled, and the one who waits is told why'
manage enable $new
run getwork --user 'managed b' --task $new
is "$status:$err" '4:getwork: user "managed b" is disabled: ask a manager' 'and may not ask'
sql "INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version, request_id,
	at) SELECT $new, 1, 'assigned', user_id, 'x', 1, 1, 1, NOW(6) FROM app_user
	WHERE name = 'managed b';
	INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id, assigned_at,
	changed_at) SELECT $new, 1, user_id, 'assigned', 1, 1, 1, NOW(6), NOW(6) FROM app_user
	WHERE name = 'managed b'"
run disposition --user 'managed b' --task $new --loan 1 --complete
is "$status" 0 'and may dispose of what is left'
manage user enable 'managed b'
run getwork --user 'managed b' --task $new --no-wait
is "$status" 0 'user enable: and asks again'
manage user remove 'managed b' 'managed c'
is "$status:$out:$err" '4:user managed c: removed:managetask: user "managed b" has asked for '\
'work, and the history names the user: disable the user' \
	'user remove: only those who have never asked'
refused 4 \
	'user "managed b" still has loans or pending requests, 1 in all: they have to end first' \
	user forget 'managed b'
sql "UPDATE work SET state = 'completed' WHERE state = 'assigned' AND user_id =
	(SELECT user_id FROM app_user WHERE name = 'managed b')"
id=$(sql "SELECT user_id FROM app_user WHERE name = 'managed b'")
# names TEXT: in how many rows a name or an account stands.
names() {
	sql "SELECT (SELECT COUNT(*) FROM app_user WHERE name = '$1')
		+ (SELECT COUNT(*) FROM work_requested WHERE account = '$1' AND user_id = $id)
		+ (SELECT COUNT(*) FROM work_log WHERE account = '$1' AND user_id = $id)
		+ (SELECT COUNT(*) FROM leader_run WHERE user = '$1')
		+ (SELECT COUNT(*) FROM manage_log WHERE user_id = $id AND '$1' IN (manager,
			COALESCE(before_it->>'\$.name', ''), COALESCE(after_it->>'\$.name', '')))"
}
sql "UPDATE work_log SET manager = 'managed b' WHERE user_id <> $id ORDER BY log_id LIMIT 1"
before=$(names 'managed b') rows=$(names lockq_app@localhost)
manage user forget 'managed b' --dry-run
is "$status:${out%% in *}:$(names 'managed b')" \
	"0:user managed b: would be forgotten:$before" 'user forget --dry-run changes nothing'
# The name in what lockq itself has written, of others' requests and of tasks. A longer name that
# begins like it stays.
sql "INSERT INTO work_requested (uuid, task_id, user_id, account, requested, asked, outcome,
	reason, served_at)
	SELECT UUID(), $new, MIN(user_id), 'lockq_boss@localhost', 0, 1, 'cancelled', j.reason,
		NOW(6)
	FROM app_user
	JOIN JSON_TABLE('[\"undone by managed b: managed b erred\", \"user disabled by managed b\",
		\"cancelled by managed bc: no\", \"because of managed b\"]',
		'\$[*]' COLUMNS (reason TEXT PATH '\$')) AS j
	GROUP BY j.reason"
manage set $new --manager 'managed b'
manage set $new --manager none
# A process of the person leads.
gatekeeper_says "START TRANSACTION; UPDATE task_lock SET holder = 'managed b' WHERE task_id = $new;"
refused 3 "user \"managed b\" leads task $new: try again when the query has ended" \
	user forget 'managed b'
is "$(logged | cut -d'|' -f1)" 'user forgetting begun' 'its begin is logged'
gatekeeper_says 'ROLLBACK;'
# The account is bound to this person alone, and has asked for others and managed by another name.
sql "UPDATE app_user SET account = 'managed@b' WHERE user_id = $id;
	UPDATE work_log SET account = 'managed@b@%' WHERE user_id <> $id ORDER BY log_id LIMIT 1;
	UPDATE work_requested SET account = 'managed@b@%' WHERE user_id <> $id
		ORDER BY request_id LIMIT 1;
	UPDATE manage_log SET account = 'managed@b@%' ORDER BY manage_id LIMIT 1;
	INSERT INTO follow_cursor (name, position, account) VALUES ('managed', 0, 'managed@b@%')"
bound() {
	sql "SELECT (SELECT COUNT(*) FROM work_log WHERE account = '$1'),
		(SELECT COUNT(*) FROM work_requested WHERE account = '$1'),
		(SELECT COUNT(*) FROM manage_log WHERE account = '$1'),
		(SELECT COUNT(*) FROM follow_cursor WHERE account = '$1')" | tr '\t' ' '
}
is "$(bound managed@b@%)" '1 1 1 1' 'the account stands in rows about others'
manage user forget 'managed b' --by marcus --reason 'has asked for it'
is "$status:${out%% in *}" '0:user managed b: forgotten' 'user forget'
is "$(names 'managed b'):$(sql "SELECT COUNT(*) FROM work_log WHERE manager = 'managed b'")" 0:0 \
	'the name is nowhere'
is "$(sql "SELECT GROUP_CONCAT(reason ORDER BY reason) FROM work_requested
	WHERE task_id = $new AND reason LIKE '%managed b%' OR reason LIKE '%by forgotten-$id%'")" \
	"because of managed b,cancelled by managed bc: no,\
undone by forgotten-$id: managed b erred,\
user disabled by forgotten-$id" 'what lockq wrote into reasons is changed, what people wrote is not'
is "$(sql "SELECT COUNT(*) FROM manage_log WHERE 'managed b' IN (before_it->>'\$.manager',
	after_it->>'\$.manager')")" 0 \
	'the log of managers has the pseudonym, too'
is "$(sql "SELECT CONCAT_WS('|', name, account, enabled) FROM app_user WHERE user_id = $id")" \
	"forgotten-$id|0" 'the user has a pseudonym, and may not ask'
ok "$([ "$before" -gt 2 ] && [ "$rows" -gt 2 ]; echo $?)" "there were $before names, $rows accounts"
is "$(names lockq_app@localhost)" 0 'nor is the account'
is "$(bound managed@b@%)" '1 1 1 1' 'the bound account stays in rows about others'
sql "DELETE FROM follow_cursor WHERE name = 'managed'"
is "$(logged)" 'user forgotten|marcus|lockq_boss@localhost|has asked for it' 'the log says by whom'
# A manager takes the own account for a person's, and has the person forgotten.
manage user add 'managed d' --account lockq_boss
id=$(sql "SELECT user_id FROM app_user WHERE name = 'managed d'")
refused 4 'user "managed d" has your name or account: another account has to do this' \
	user forget 'managed d' --by 'managed d'
sql "INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version, request_id,
	at, manager)
	SELECT $new, 9, j.event, $id, j.account, 1, 1, 1, NOW(6), j.manager
	FROM JSON_TABLE('[[\"renewed\", \"lockq_boss@localhost\", null],
		[\"renewed\", \"managed@d@%\", null], [\"returned\", \"other@%\", \"paula\"]]',
		'\$[*]' COLUMNS (event TEXT PATH '\$[0]', account TEXT PATH '\$[1]',
			manager TEXT PATH '\$[2]')) AS j;
	INSERT INTO work_requested (uuid, task_id, user_id, account, requested, asked, outcome,
		assigned, reason, served_at)
	SELECT UUID(), $new, $id, j.account, 1, 1, 'served', 1, j.reason, NOW(6)
	FROM JSON_TABLE('[[\"lockq_boss@localhost\", null], [\"managed@d@%\", null],
		[\"other@%\", \"reassigned by paula: why\"]]',
		'\$[*]' COLUMNS (account TEXT PATH '\$[0]', reason TEXT PATH '\$[1]')) AS j"
manage user bind 'managed d' --account lockq_app --by 'managed d'
manage user disable 'managed d' --by 'managed e'
manage user enable 'managed d' --by 'managed e'
truth=$(bound lockq_boss@localhost)
manage user forget 'managed d' --by marcus
is "$status:${out%% in *}" '0:user managed d: forgotten' 'the account was bound to the person'
# Beginning and end of the forgetting are two rows more.
is "$(bound lockq_boss@localhost | awk '{ $3 -= 2; print }')" "$truth" \
	'the account that runs the command stays in all rows'
is "$(sql "SELECT GROUP_CONCAT(account ORDER BY log_id) FROM work_log
		WHERE user_id = $id"):$(
	sql "SELECT GROUP_CONCAT(account ORDER BY request_id) FROM work_requested
		WHERE user_id = $id")" "lockq_boss@localhost,forgotten-$id,other@%:$(
	)lockq_boss@localhost,forgotten-$id,other@%" \
	'so does that of another manager, and the one of the person is a pseudonym'
is "$(sql "SELECT GROUP_CONCAT(COALESCE(after_it->>'\$.account', '-') ORDER BY manage_id)
	FROM manage_log WHERE user_id = $id AND action IN ('user added', 'user bound')")" \
	'lockq_boss,null' 'the log says that it was bound to the person'
manage user add 'managed e'
id=$(sql "SELECT user_id FROM app_user WHERE name = 'managed e'")
manage user forget 'managed e' --by marcus
is "$(sql "SELECT GROUP_CONCAT(action, ' ', account ORDER BY manage_id) FROM manage_log
	WHERE manager = 'forgotten-$id'")" \
	'user disabled lockq_boss@localhost,user enabled lockq_boss@localhost' \
	'a name that was made up goes, and the account stays'
manage user add 'managed b'
is "$status" 0 'the name is free again'
manage user list --json
is "$(jq -c 'select(.user == "managed b") | [.account, .enabled, .held, .pending]' <<<"$out")" \
	'[null,true,0,0]' 'user list in JSON'
manage user list
like "$out" '^\| managed b +\| any +\| yes +\| +0 \|' 'user list: a row for each'
any=$(sql 'SELECT COUNT(*) FROM app_user WHERE account IS NULL AND enabled')
like "$out" "^any account may ask for $any of them" \
	'it says for how many anybody may ask, without those who may not ask'

is "$(untrue_requests)" '' 'each request has numbers that tell how it stands'

# --- others hold what is needed -------------------------------------------------------------------

# The rows that a new task gets in other tables are made later, too.
gatekeeper_says 'LOCK TABLES task_wake READ;'
manage add --name 'managed locked' --candidates-view "$view" --unchecked
gatekeeper_says 'UNLOCK TABLES;'
is "$status:$(sql "SELECT COUNT(*) FROM task WHERE name = 'managed locked'")" 0:1 \
	'add, with a table locked: the task is there, once'
sql "DELETE FROM task WHERE name = 'managed locked'"
gatekeeper_says "START TRANSACTION; INSERT INTO app_user (name) VALUES ('managed twice');"
start adder managetask user add 'managed twice' --by marcus
await "$wait_here" 1
gatekeeper_says 'COMMIT;'
end adder
is "$status" 4 'user add: another one has added the same name at the same time'
finish
