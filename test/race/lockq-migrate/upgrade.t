#!/usr/bin/env bash
# An upgrade while people work: the first step only adds, so the programs go on, also where
# somebody's open transaction holds a table that is altered; the second step ends the older
# programs.
# LOCKQ_UPGRADE_ROWS is the number of rows in `work` and in `work_log`.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"
# shellcheck source=test/support/crowd.sh
. "$(dirname "$0")/../../support/crowd.sh"

rows=${LOCKQ_UPGRADE_ROWS-10000}
bank=test_upgrade
account="'test_clerk'@'localhost'" owner="'test_owner'@'localhost'"
scratch=$(mktemp -d)
sandbox=$(dirname "$LOCKQ_DEFAULTS_FILE")
cleanup() {
	touch "$scratch/stop"
	hang_up other
	wait
	sql "DROP DATABASE IF EXISTS $bank; DROP USER IF EXISTS $account, $owner;
	     DROP ROLE IF EXISTS lockq_worker@$bank, lockq_viewer@$bank, lockq_query@$bank,
	       lockq_cron@$bank, lockq_manager@$bank, lockq_follower@$bank,
	       lockq_eraser@$bank"
	rm -rf "$scratch"
}
trap cleanup EXIT

# --- a database with a history, and the next schema -----------------------------------------------

sql "DROP DATABASE IF EXISTS $bank; CREATE DATABASE $bank CHARACTER SET utf8mb4;
     DROP USER IF EXISTS $account, $owner;
     CREATE USER $owner IDENTIFIED BY 'owner'; CREATE USER $account IDENTIFIED BY 'clerk';
     GRANT ALL ON $bank.* TO $owner WITH GRANT OPTION;
     GRANT CREATE ROLE, ROLE_ADMIN ON *.* TO $owner"
for name in owner clerk; do
	(umask 077 && printf '[client]\nuser=test_%s\npassword=%s\nsocket="%s"\nprotocol=socket\n' \
		"$name" "$name" "$sandbox/mysql.sock" >"$scratch/$name.cnf")
done
printf '[lockq]\ndatabase=%s\n' "$bank" >>"$scratch/clerk.cnf"
cp -r "$top/schema" "$scratch/schema"
newest=$(basename -a "$top"/schema/upgrade/*.sql | tail -n 1)
newest=$((10#${newest%%-*})) next=$((newest + 1))
test=$(printf '%03d-test.sql' "$next")
# migrate [OPTION...]
migrate() {
	run "$top/scripts/lockq-migrate" --database "$bank" --schema-dir "$scratch/schema" "$@" -- \
		--defaults-file="$scratch/owner.cnf"
}
migrate
is "$status" 0 'a database is made'
sql "GRANT lockq_worker@$bank TO $account; SET DEFAULT ROLE ALL TO $account; USE $bank;
     SET cte_max_recursion_depth = 100000000;
     INSERT INTO app_user (name) VALUES ('one'), ('two'), ('three');
     CREATE TABLE deed (loan_id BIGINT UNSIGNED PRIMARY KEY);
     CREATE VIEW deeds AS SELECT loan_id, loan_id AS priority FROM deed;
     GRANT SELECT ON deeds TO lockq_worker@$bank;
     INSERT INTO task (task_id, name, candidates_view) VALUES (1, 'then', 'deeds'),
       (2, 'now', 'deeds');
     CALL task_rows(NULL);
     INSERT INTO deed WITH RECURSIVE n (n) AS
       (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2000) SELECT n FROM n;
     INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id, assigned_at,
                       changed_at)
       WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $rows)
       SELECT 1, n, 1, 'completed', 1, 2, n, NOW(6), NOW(6) FROM n;
     INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version, request_id,
                           at)
       SELECT task_id, loan_id, 'completed', user_id, 'x@y', token, version, request_id, NOW(6)
         FROM work"
is "$(sql "SELECT COUNT(*) FROM $bank.work_log")" "$rows" "with $rows rows of history"

# As in a database of an older version, whose last file of finish/ was not applied.
sql "ALTER TABLE $bank.task_lock ADD COLUMN query_ms BIGINT UNSIGNED NULL, ALGORITHM=INSTANT;
     USE $bank; $(sed -n '/^CREATE TABLE IF NOT EXISTS task_candidate/,/;$/p' \
	"$top/schema/upgrade/002-waiting.sql")
     UPDATE schema_version SET finished_at = NULL WHERE version = 11"

# What an upgrade does, each in the way in which it stops nobody.
cat >"$scratch/schema/upgrade/$test" <<'END'
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'work'
                           AND column_name = 'test_new'), 'DO 0',
  'ALTER TABLE work ADD COLUMN test_new INT NULL, ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
ALTER TABLE work_log
  MODIFY COLUMN event ENUM('assigned','completed','returned','never','expired','renewed',
                           'available','tested') NOT NULL, ALGORITHM=INSTANT;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.statistics
                         WHERE table_schema = DATABASE() AND table_name = 'work_log'
                           AND index_name = 'work_log_test'), 'DO 0',
  'ALTER TABLE work_log ADD KEY work_log_test (user_id, log_id), ALGORITHM=INPLACE, LOCK=NONE');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
CREATE TABLE IF NOT EXISTS test_ten (task_id INT UNSIGNED NOT NULL PRIMARY KEY) ENGINE=InnoDB;
END
echo 'ALTER TABLE work DROP COLUMN test_new, ALGORITHM=INSTANT;' \
	>"$scratch/schema/finish/$test"

# --- people at work -------------------------------------------------------------------------------

# works NAME: asks and completes until it is told to stop; a line for each call: its exit status,
# and how long it took.
works() {
	local start loans status
	while [ ! -e "$scratch/stop" ]; do
		start=$(now_ms)
		loans=$(getwork --user "$1" --task 2 --count 2 --json 2>>"$scratch/errors-$1" |
			jq -r '[.loans[].loan_id] | join(",")'; exit "${PIPESTATUS[0]}")
		status=$?
		echo "$status $(($(now_ms) - start)) getwork"
		[ -n "$loans" ] || continue
		start=$(now_ms)
		disposition --user "$1" --task 2 --loan "$loans" --complete >/dev/null \
			2>>"$scratch/errors-$1"
		status=$?
		echo "$status $(($(now_ms) - start)) disposition"
	done >"$scratch/calls-$1"
}
export LOCKQ_DEFAULTS_FILE=$scratch/clerk.cnf
for name in one two three; do
	works "$name" &
done
calls() {
	cat "$scratch"/calls-*
}
at_work() {
	[ "$(calls | wc -l)" -ge "$1" ]
}
wait_for at_work 12

# --- what leaders use is altered by the second step alone -----------------------------------------

say other "BEGIN; SELECT 1 FROM $bank.task_lock WHERE task_id = 1 FOR UPDATE"
said other
"$top/scripts/lockq-migrate" --database "$bank" --finish --yes -- \
	--defaults-file="$scratch/owner.cnf" >"$scratch/finished" 2>&1 &
finishing=$!
wait_for grep -q 'waiting for a session' "$scratch/finished"
before=$(calls | wc -l)
wait_for at_work $((before + 6))
ok $? 'people work on while the end of an upgrade waits for the leader of another task'
is "$(sql "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = '$bank'
            AND table_name = 'task_lock' AND column_name = 'query_ms'")" 1 'which it waits for'
hang_up other
wait "$finishing"
is $? 0 'it is done when nobody leads'
is "$(sql "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = '$bank'
            AND (column_name = 'query_ms' AND table_name = 'task_lock'
                 OR table_name = 'task_candidate')")" 0 'the column and the table are gone'

# --- the first step -------------------------------------------------------------------------------

# Somebody's forgotten transaction has read the tables that are to be altered.
say other "BEGIN; SELECT COUNT(*) FROM (SELECT 1 FROM $bank.work LIMIT 1) AS w;
	SELECT 1 FROM $bank.work_log LIMIT 1"
said other
"$top/scripts/lockq-migrate" --database "$bank" --schema-dir "$scratch/schema" -- \
	--defaults-file="$scratch/owner.cnf" >"$scratch/migrated" 2>&1 &
migration=$!
wait_for grep -q 'waiting for a session' "$scratch/migrated"
before=$(calls | wc -l)
wait_for at_work $((before + 6))
ok $? 'people work on while the upgrade waits for somebody'
is "$(sql "SELECT MAX(version) FROM $bank.schema_version")" "$newest" \
	'who holds a table that is altered'
hang_up other
wait "$migration"
is $? 0 'it is done when that session ends'
is "$(sql "SELECT MAX(version) FROM $bank.schema_version")" "$next" 'the schema is a newer one'
before=$(calls | wc -l)
wait_for at_work $((before + 12))
ok $? 'the programs of before work with it'

# --- the second step ------------------------------------------------------------------------------

say other "BEGIN; SELECT 1 FROM $bank.task_lock WHERE task_id = 2 FOR UPDATE"
said other
sql "GRANT SELECT ON performance_schema.threads TO $owner;
     GRANT SELECT ON performance_schema.session_connect_attrs TO $owner;
     GRANT SELECT ON mysql.role_edges TO $owner"
until_true "SELECT COUNT(*) > 0 FROM $bank.work_requested WHERE outcome = 'pending'"
migrate --finish
is "$status" 4 'an older program is connected: that is refused'
like "$err" 'an older getwork is connected, connection [0-9]+ of test_clerk@localhost' 'it is named'
hang_up other
touch "$scratch/stop"
wait
calls >"$scratch/calls"
is "$(grep -vc '^[01] ' "$scratch/calls"):$(cat "$scratch"/errors-* | grep -vc 'no work')" 0:0 \
	"no call failed, of $(wc -l <"$scratch/calls")"
longest=$(sort -n -k 2 "$scratch/calls" | tail -n 1)
echo "# the longest call: $longest ms"
# The figure counts where the machine does nothing else: make check-long. A call that waited for the
# whole of somebody's transaction took longer than this.
ok "$([ "$(cut -d ' ' -f 2 <<<"$longest")" -le "${LOCKQ_UPGRADE_MS-10000}" ]; echo $?)" \
	'none stalled'
is "$(sql "SELECT COUNT(*) FROM (SELECT loan_id FROM $bank.work_log
            WHERE task_id = 2 AND event = 'assigned' GROUP BY loan_id, version
            HAVING COUNT(*) > 1) AS twice")" 0 'no loan was given twice'
migrate --finish
is "$status:$out" "0:lockq-migrate: $bank: finishing $test" 'then it is finished'
run getwork --user one --task 2
is "$status" 5 'from then on the programs of before are refused'
like "$err" "has schema $next, this is lockq .* with schema $newest: update lockq" \
	'and say what to do'
finish
