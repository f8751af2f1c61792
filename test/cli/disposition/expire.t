#!/usr/bin/env bash
# disposition --expire as cron runs it: the rows it changes, its output, its exit statuses; the
# examples for cron and systemd.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=226
make_task "$task" 40 0
make_users 3
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'end_all; sql "REVOKE lockq_cron@lockq FROM lockq_app@localhost; DELETE FROM work_exclusion"
	forget_task "$task"; forget_users; rm -rf "$scratch"' EXIT
sql "DELETE FROM work_exclusion"
disposition --expire >/dev/null

# due FROM TO STATE: makes loans in that state which are due.
due() {
	sql "SET SESSION cte_max_recursion_depth = 100000;
	     INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,
	                       assigned_at, available_at, lease_expires_at, due_at, changed_at)
	       WITH RECURSIVE n AS (SELECT $1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < $2)
	       SELECT $task, i, u.user_id, '$3', 1, 1, 1, NOW(6),
	              IF('$3' = 'assigned', NULL, '2026-01-01'),
	              IF('$3' = 'assigned', '2026-01-01', NULL), '2026-01-01', NOW(6)
	         FROM n JOIN app_user AS u ON u.name = 'race-1'"
}

for arguments in '--expire --complete' '--expire --task 7' '--expire --loan 1' '--expire --never' \
	'--expire --user race-1' '--expire --note x' '--expire --return-after 4h' \
	'--expire --token 3' '--expire --batch 0' '--expire --batch 10001' '--expire --batch x' \
	'--expire --purge-after 23h' '--expire --purge-after 0' '--expire --purge-after 90' \
	'--expire --purge-after -1d' '--expire --purge-after 36501d' '--expire x' \
	'--task 7 --loan 1 --complete --batch 5' '--task 7 --loan 1 --complete --purge-after 9d'; do
	# shellcheck disable=SC2086 # words, on purpose
	run disposition $arguments
	is "$status" 2 "'$arguments': exit 2"
	like "$err" '^disposition: ' "'$arguments': one line that names it"
done
run disposition --expire --purge-after 23h
like "$err" '^disposition: --purge-after "23h" must be from 24h to 36500d$' \
	'the line tells the range'

run disposition --expire
is "$status" 0 'nothing to do: exit 0'
like "$out" '^nothing was due - [0-9.]+ m?s$' 'a line says so'
due 1 3 assigned
due 4 4 returned
run disposition --expire
is "$status:$err" '0:' 'something to do: exit 0, nothing on standard error'
like "$out" '^returned 3 loans whose leases had ended, noted 1 loan that is available again - ' \
	'one line tells the counts'
is "$(sql "SELECT GROUP_CONCAT(event, loan_id ORDER BY loan_id) FROM work_log
            WHERE task_id = $task")" expired1,expired2,expired3,available4 'the log has the events'
due 5 6 assigned
run disposition --expire --json --batch 1
is "$status" 0 '--json: exit 0'
is "$(jq -c 'keys_unsorted' <<<"$out")" "$(jq -c . <<<'["busy","busy_session","leases",
	"available","requests","candidates","exclusions","log_rows","old_requests","runs",
	"kept_rows","kept_for","skipped","took_ms","exit"]')" \
	'--json: the keys'
is "$(jq -c '[.busy, .leases, .available, .skipped, .exit]' <<<"$out")" '[false,2,0,0,0]' \
	'--json: the counts'

sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested, seen_at)
       SELECT UUID(), user_id, 'test', $task, 1, 1, NOW(6) - INTERVAL 1 HOUR FROM app_user
        WHERE name = 'race-2';
     UPDATE task SET cache_ttl = 60 WHERE task_id = $task;
     INSERT INTO kept_list (task_id, epoch, candidates_view, as_of, length, complete, query_ms)
       VALUES ($task, 1, 'v', NOW(6) - INTERVAL 1 HOUR, 1, 1, 1);
     INSERT INTO kept_loan (task_id, epoch, position, loan_id, version)
       VALUES ($task, 1, 0, 1, 0);
     INSERT INTO work_exclusion VALUES ($task, 1, 1, NOW(6)), ($task, 1, 2, NOW(6))"
run disposition --expire
like "$out" '^expired 1 request, deleted 1 loan of an old list, deleted 2 exclusions' \
	'requests, candidates, exclusions'
run checkwork --request "$(last_request race-2 "$task")"
is "$status" 3 'checkwork on an expired request: exit 3'
like "$out$err" expired 'it says so'

# --- a second one, a row that another session holds, signals -------------------------------------

open_gatekeeper
# A name that any account can make up stops nobody, and one that is made of what the database has
# is told with the connection that has it.
gatekeeper_does "GET_LOCK(CONCAT('lockq-expire:', LEFT(SHA2('lockq', 256), 40)), 0)"
run disposition --expire --json
is "$(jq -c '[.busy, .busy_session, .exit]' <<<"$out")" '[false,null,0]' \
	'a name that needs no right in the database keeps nobody from a run'
gatekeeper_does 'RELEASE_ALL_LOCKS()'
name="CONCAT('lockq-expire:', LEFT(SHA2(CONCAT('lockq',
	(SELECT MIN(applied_at) FROM lockq.schema_version)), 256), 40))"
gatekeeper_does "GET_LOCK($name, 0)"
holder=$(sql "SELECT IS_USED_LOCK($name)")
due 7 7 assigned
run disposition --expire
is "$status:$out:$err" "3::disposition: another disposition --expire works on this database, as \
connection $holder: nothing was done" 'another one runs: exit 3, and it says which'
is "$(disposition --expire --json 2>"$scratch/json.err" |
	jq -c '[.busy, .busy_session, .leases, .exit]')" "[true,$holder,0,3]" 'in JSON, too'
gatekeeper_does 'RELEASE_ALL_LOCKS()'
due 8 8 assigned
echo "START TRANSACTION; SELECT 1 FROM work WHERE task_id = $task AND loan_id = 8 FOR UPDATE;" \
	>&"${gatekeeper[1]}"
read -r -t "$patience" _ <&"${gatekeeper[0]}"
run disposition --expire
is "$status" 0 'a row that another session holds: exit 0'
like "$out" '^returned 1 loan whose lease had ended, left 1 row that another session holds - ' \
	'it leaves the row, and counts it'
echo 'ROLLBACK;' >&"${gatekeeper[1]}"
gatekeeper_does 1
run disposition --expire
like "$out" '^returned 1 loan whose lease had ended - ' 'the next run does that row'

# signalled SIGNAL: the signal comes when it has done a few of many loans.
signalled() {
	sql "DELETE FROM work_log WHERE task_id = $task; DELETE FROM work WHERE task_id = $task"
	due 1 20000 assigned
	start cron env --default-signal=INT,TERM disposition --expire --batch 1
	await "SELECT COUNT(*) >= 3 FROM work_log WHERE task_id = $task" 1
	kill -"$1" "${process[cron]}"
	end cron
}
for signal in INT:130 TERM:143; do
	signalled "${signal%:*}"
	is "$status" "${signal#*:}" "SIG${signal%:*}: exit ${signal#*:}"
	like "$out" '^returned [0-9]+ loans? whose leases? had ended, until it was interrupted - ' \
		'with a summary'
	is "$(grep -Eo '[0-9]+' <<<"$out" | head -n 1)" \
		"$(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $task")" 'the summary is true'
	like "$(sql "SELECT COUNT(*) FROM work WHERE task_id = $task AND due_at IS NOT NULL")" \
		'^[1-9]' 'the other loans are still due'
done
script -qec 'disposition --expire --batch 10' /dev/null </dev/null >"$scratch/terminal"
like "$(tr '\r' '\n' <"$scratch/terminal")" '^tidying up: [0-9]+ rows, [0-9]+ s' \
	'on a terminal a line ticks'
is "$(sql "SELECT COUNT(*) FROM (SELECT loan_id FROM work_log WHERE task_id = $task
            GROUP BY loan_id HAVING COUNT(*) = 1) AS once")" 20000 'the log has each loan once'

# --- purging --------------------------------------------------------------------------------------

old() {
	sql "UPDATE work_log SET at = NOW(6) - INTERVAL 91 DAY WHERE task_id = $task;
	     UPDATE work SET version = version + 1 WHERE task_id = $task AND loan_id <= 5"
}
old
run disposition --expire --purge-after 90d
is "$status" 5 'purging without the privilege: exit 5'
like "$err" "^disposition: the account lacks a right: .*denied to user 'lockq_app'.* for table '.*'\
: it needs the role 'lockq_cron'@'lockq'" \
	'it names the table, and the role that is needed'
run disposition --expire --purge-after 90d --json
is "$(jq -c '[.exit, .leases, (.error | test("role .lockq_cron.@.lockq."))]' <<<"$out")" \
	'[5,0,true]' 'in JSON, too'
sql "GRANT lockq_cron@lockq TO lockq_app@localhost; SET DEFAULT ROLE ALL TO lockq_app@localhost"
run disposition --expire --purge-after 92d
like "$out" '^nothing was due - ' 'younger rows stay'
run disposition --expire --purge-after 90d
is "$status" 0 'with the role lockq_cron: exit 0'
like "$out" '^purged 5 old rows of work_log - ' 'the line counts the rows'

run env LOCKQ_DEFAULTS_FILE="$LOCKQ_DEFAULTS_FILE" disposition --expire --socket /nowhere
is "$status" 5 'no database: exit 5'
like "$err" '^disposition: the database can.t be reached: ' 'with the reason'
is "$out" '' 'and no summary'
ok "$([ ! -w /dev/full ]; echo $((! $?)))" 'there is a /dev/full'
disposition --expire >/dev/full 2>"$scratch/full"
is "$?" 5 'a summary that can not be written: exit 5'

# --- a purge waits for another --expire ----------------------------------------------------------

busy=0
for ((i = 0; i < 8; i++)); do
	disposition --expire >/dev/null &
	run disposition --expire --purge-after 90d --json
	[ "$status:$(jq .busy <<<"$out")" = 0:false ] || busy=$((busy + 1))
	wait $!
done
is "$busy" 0 'a purge that meets another --expire is done'

# --- the examples ---------------------------------------------------------------------------------

sed -n 's/^[0-9*][0-9* ]*lockq  *//p' "$top/examples/cron" >"$scratch/commands"
is "$(wc -l <"$scratch/commands")" 2 'examples/cron has two commands'
while read -r command; do
	is "$(sh -c "$command" 2>&1; echo $?)" 0 "cron: $command: exit 0, and nothing to mail"
	like "$(LOCKQ_DEFAULTS_FILE=/nowhere sh -c "$command" 2>&1)" '^disposition: ' \
		'if it fails, there is a line to mail'
done <"$scratch/commands"
for unit in expire purge; do
	command=$(sed -n 's/^ExecStart=[^ ]*disposition //p' "$top/examples/lockq-$unit.service")
	# shellcheck disable=SC2086 # words, on purpose
	run disposition $command
	is "$status:$(jq .exit <<<"$out")" 0:0 "the command of lockq-$unit.service"
done
if command -v systemd-analyze >/dev/null 2>&1; then
	mkdir "$scratch/units"
	for unit in "$top"/examples/lockq-*.service "$top"/examples/lockq-*.timer; do
		sed 's|^ExecStart=[^ ]*/|ExecStart=/bin/true |' "$unit" \
			>"$scratch/units/${unit##*/}"
	done
	run systemd-analyze verify --man=no "$scratch"/units/lockq-{expire,purge}.{service,timer}
	is "$status:$out$err" 0: 'systemd-analyze finds no fault in the units'
else
	ok 0 'systemd-analyze finds no fault in the units # SKIP no systemd-analyze'
fi
finish
