#!/usr/bin/env bash
# People take from a task's kept list, touch, complete and return its loans, let leases end, ask for
# fresh ones and fill the list, while some of their programs are stopped or killed: at every
# statement of a take, of a refill, of a call that leads, of a disposition, and of a call that
# completes loans and asks, and by chance. Then
# the tables are judged: no loan was given twice at a time, tokens rise, caps and exclusions hold,
# what the programs told is what is stored, and the log replays.
#
#   LOCKQ_TAKEN_ROUNDS   how often at every statement, each time in another way (1)
#   LOCKQ_TAKEN_CHANCES  how often by chance (10)
#   LOCKQ_TAKEN_SEED     the seed of the random choices
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=256 loans=120 cap=6 users=16 rounds=${LOCKQ_TAKEN_ROUNDS:-1}
chances=${LOCKQ_TAKEN_CHANCES:-10} seed=${LOCKQ_TAKEN_SEED:-$RANDOM}
build=${LOCKQ_BUILD:-$top/build}
scratch=$(mktemp -d)

drop_ours() {
	sql "DROP TRIGGER IF EXISTS test_taken_lease;
	     DROP TRIGGER IF EXISTS test_taken_listed;
	     DELETE FROM task_touched WHERE task_id = $task;
	     DROP TABLE IF EXISTS test_listed_$task, test_run_$task, test_told_$task,
	       test_done_$task, test_both_$task, test_step_$task, test_forged_$task"
}
trap 'drop_ours; forget_all' EXIT

drop_ours
make_task "$task" "$loans" 0
make_users "$users"
sql "UPDATE task SET cache_ttl = 3600, max_pipeline = $cap, lease_minutes = 5
      WHERE task_id = $task;
     CREATE TABLE test_listed_$task (
       epoch BIGINT UNSIGNED, loan_id BIGINT UNSIGNED, version BIGINT UNSIGNED,
       KEY (epoch, loan_id))"
# Each third lease ends in the middle of the race: it is shortened in the log, which work follows.
sql "CREATE TRIGGER test_taken_lease BEFORE INSERT ON work_log FOR EACH ROW
       SET NEW.lease_expires_at =
             IF(NEW.event = 'assigned' AND NEW.task_id = $task AND RAND() < 0.33,
                NOW(6) + INTERVAL 200000 + FLOOR(RAND() * 1500000) MICROSECOND,
                NEW.lease_expires_at);
     CREATE TRIGGER test_taken_listed AFTER INSERT ON kept_loan FOR EACH ROW
       INSERT INTO test_listed_$task
         SELECT NEW.epoch, NEW.loan_id, NEW.version FROM DUAL WHERE NEW.task_id = $task"

run "$build/test/race/list/taken" "$task" race "$loans" "$rounds" "$chances" "$seed" "$scratch"
is "$status:$err" 0: "the race, seed $seed"
printf '# %s\n' "${out//$'\n'/, }"
while read -r kind length stops; do
	ok $((stops >= length && length > 4 ? 0 : 1)) \
		"a $kind of $length statements was stopped $stops times"
done <<<"$out"

# --- what the programs told ----------------------------------------------------------------------

number='def number: input_filename | match("([0-9]+).json").captures[0].string;'
told=$(jq -r "$number"'select(.loans | type == "array") | . as $a | .loans[] |
	"(\(number),\($a.request_id),\(.loan_id),\(.token))"' "$scratch"/*.json | paste -sd,)
done=$(jq -r "$number"'select(.result == "done" and .loan_id) |
	"(\(number),\(.loan_id),\(.token))"' "$scratch"/*.json | paste -sd,)
both=$(awk -F '\t' '$7 != "" { n = split($7, loans, /[,:]/)
	for (i = 1; i < n; i += 2) printf "(%s,%s,%s)\n", $1, loans[i], loans[i + 1] }' \
	"$scratch/runs" | paste -sd,)
{
	echo "CREATE TABLE test_run_$task (number INT PRIMARY KEY, uuid CHAR(36) CHARACTER SET ascii
	       COLLATE ascii_bin, user VARCHAR(64), kind VARCHAR(16), struck INT, status INT,
	       KEY (uuid)) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;
	      CREATE TABLE test_told_$task (number INT, request_id BIGINT UNSIGNED,
	       loan_id BIGINT UNSIGNED, token BIGINT UNSIGNED, KEY (number));
	      CREATE TABLE test_done_$task (number INT, loan_id BIGINT UNSIGNED,
	       token BIGINT UNSIGNED, KEY (number));
	      CREATE TABLE test_both_$task LIKE test_done_$task;
	      INSERT INTO test_run_$task VALUES"
	cut -f 1-6 "$scratch/runs" | sed "s/\t/','/g; s/^/('/; s/\$/')/" | paste -sd,
	echo "; INSERT INTO test_told_$task VALUES $told; INSERT INTO test_done_$task VALUES $done;
	      INSERT INTO test_both_$task VALUES $both"
} >"$scratch/told.sql"
"$top/scripts/sandbox" mysql <"$scratch/told.sql"
ok $? 'what the programs told is in tables'
printf '# %s\n' "$(sql "SELECT kind, struck, status, COUNT(*) FROM test_run_$task
                         GROUP BY kind, struck, status ORDER BY 1, 2, 3" | paste -sd ';')"

is "$(sql "SELECT kind, status FROM test_run_$task
            WHERE status NOT IN (0, 1, 3, 4)
              AND NOT (struck AND status IN (5, 6, 137)) LIMIT 5")" '' \
	'no program met an error, unless it was stopped'
is "$(sql "SELECT COUNT(*) FROM test_told_$task AS t JOIN test_run_$task AS p USING (number)
            WHERE 1 <> (SELECT COUNT(*) FROM work_requested AS r
              JOIN app_user AS u ON u.user_id = r.user_id
              JOIN work_log AS l ON l.request_id = r.request_id AND l.event = 'assigned'
             WHERE r.request_id = t.request_id AND r.uuid = p.uuid AND u.name = p.user
               AND l.user_id = r.user_id AND l.loan_id = t.loan_id AND l.token = t.token)")" 0 \
	'each loan that was told is stored, once, for this user and request'
is "$(sql "SELECT COUNT(*) FROM work_log AS l
             JOIN work_requested AS r ON r.request_id = l.request_id
             LEFT JOIN test_run_$task AS p ON p.uuid = r.uuid
            WHERE l.task_id = $task AND l.event = 'assigned'
              AND NOT COALESCE(p.status IN (3, 5, 6, 137), FALSE)
              AND NOT EXISTS (SELECT 1 FROM test_told_$task AS t
                WHERE t.number = p.number AND t.loan_id = l.loan_id AND t.token = l.token)")" 0 \
	'each loan that is stored was told, unless the program was killed or had gone'
is "$(sql "SELECT COUNT(*) FROM work_requested AS r WHERE r.task_id = $task
              AND r.assigned <> (SELECT COUNT(*) FROM work_log AS l
                WHERE l.request_id = r.request_id AND l.event = 'assigned')")" 0 \
	'each request has as many loans as its row says'
is "$(sql "SELECT COUNT(*) FROM test_done_$task AS d JOIN test_run_$task AS p USING (number)
            WHERE 1 <> (SELECT COUNT(*) FROM work_log AS l
              JOIN app_user AS u ON u.user_id = l.user_id
             WHERE l.task_id = $task AND l.note <=> IF(p.kind = 'both', NULL, d.number)
               AND l.loan_id = d.loan_id
               AND l.token = d.token AND u.name = p.user
               AND l.event IN ('completed', 'returned'))")" 0 \
	'each disposition that was told is in the log, once'
is "$(sql "SELECT COUNT(*) FROM work_log AS l
             LEFT JOIN test_run_$task AS p ON p.number = l.note
            WHERE l.task_id = $task AND l.event IN ('completed', 'returned')
              AND l.note IS NOT NULL
              AND NOT COALESCE(p.status IN (3, 5, 6, 137), FALSE)
              AND NOT EXISTS (SELECT 1 FROM test_done_$task AS d
                               WHERE d.number = l.note AND d.loan_id = l.loan_id)")" 0 \
	'each one in the log was told, unless the program was killed'

is "$(sql "SELECT COUNT(*) FROM work_log AS l JOIN app_user AS u ON u.user_id = l.user_id
            WHERE l.task_id = $task AND l.event = 'completed' AND l.note IS NULL
              AND NOT EXISTS (SELECT 1 FROM test_both_$task AS b
                                JOIN test_run_$task AS p USING (number)
                               WHERE b.loan_id = l.loan_id AND b.token = l.token AND p.user = u.name
                                 AND (p.status IN (3, 5, 6, 137) OR EXISTS (
                                   SELECT 1 FROM test_done_$task AS d
                                    WHERE d.number = b.number AND d.loan_id = b.loan_id)))")" 0 \
	'and so was each one of a call that asked as well'
# What is asked for comes with the completion, or after it.
is "$(sql "SELECT COUNT(*) FROM test_both_$task AS b
             JOIN test_run_$task AS p USING (number)
             JOIN work_requested AS r ON r.uuid = p.uuid
            WHERE NOT EXISTS (SELECT 1 FROM work_log AS l WHERE l.task_id = $task
                AND l.loan_id = b.loan_id AND l.token = b.token AND l.event = 'completed'
                AND l.user_id = r.user_id)")" 0 \
	'whoever completed loans and asked has completed all of them, where there is a request'
in_one=$(jq -s 'map(select(.one_commit)) | length' "$scratch"/*.json)
ok $((in_one > 0 ? 0 : 1)) "$in_one of them got the next loans in the same commit"

# --- what is stored ------------------------------------------------------------------------------

is "$(given_twice "$task")" 0 'no loan was given twice at a time'
is "$(sql "SELECT COUNT(*) FROM (SELECT token, LAG(token) OVER (PARTITION BY loan_id
              ORDER BY version) AS was FROM work_log
             WHERE task_id = $task AND event = 'assigned') AS steps WHERE token <= was")" 0 \
	'tokens of a loan rise'
is "$(replay "$task" | head -n 10)" '' \
	'the log replays to the table, and no loan is from an old list'
# An assignment is the change that comes after the version that the list has; where a lease ended,
# the end comes in between.
is "$(sql "SELECT COUNT(*) FROM work_log AS l
             JOIN work_requested AS r ON r.request_id = l.request_id AND r.source = 'list'
            WHERE l.task_id = $task AND l.event = 'assigned' AND NOT EXISTS (
              SELECT 1 FROM test_listed_$task AS k
               WHERE k.epoch = r.epoch AND k.loan_id = l.loan_id AND k.version = l.version - 1 - (
                 SELECT COUNT(*) FROM work_log AS e WHERE e.task_id = l.task_id
                    AND e.loan_id = l.loan_id AND e.version = l.version - 1
                    AND e.event = 'expired' AND e.at = l.at))")" 0 \
	'each loan of a list was given as the list had it'
sql "CREATE TABLE test_step_$task (KEY (user_id, log_id))
       SELECT log_id, user_id, loan_id, event, lease_expires_at, at,
              LEAD(log_id) OVER (PARTITION BY loan_id ORDER BY version, log_id) AS next_id
         FROM work_log WHERE task_id = $task AND event <> 'available'"
held=$(sql "SELECT MAX(n) FROM (
             SELECT a.log_id, COUNT(*) AS n
               FROM test_step_$task AS a
               JOIN test_step_$task AS h ON h.user_id = a.user_id AND h.log_id <= a.log_id
                AND h.event = 'assigned' AND COALESCE(h.next_id > a.log_id, TRUE)
                AND h.lease_expires_at > a.at
              WHERE a.event = 'assigned' GROUP BY a.log_id) AS counts")
is "$held" "$cap" "nobody ever held more than $cap loans"
sql "DROP TABLE test_step_$task"
is "$(sql "SELECT COUNT(*) FROM work_log AS x
             JOIN work_log AS l ON l.task_id = x.task_id AND l.loan_id = x.loan_id
              AND l.user_id = x.user_id AND l.event = 'assigned'
              AND l.version > x.version AND l.at < x.excluded_until
            WHERE x.task_id = $task AND x.excluded_until IS NOT NULL")" 0 \
	'nobody got a loan again that was not for them'
is "$(sql "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
           SELECT COUNT(*) FROM task_lock WHERE task_id = $task AND holder IS NOT NULL")" 0 \
	'nobody leads'

# --- would the judge notice? ---------------------------------------------------------------------

# One loan that was returned or completed, and went out again from a list, alone. Its history is
# made another one.
sql "CREATE TABLE test_forged_$task
       SELECT m.log_id AS last, l.request_id AS request, r.epoch
       FROM work_log AS l
       JOIN work_requested AS r ON r.request_id = l.request_id AND r.source = 'list'
        AND r.assigned = 1
       JOIN work_log AS m ON m.task_id = l.task_id AND m.loan_id = l.loan_id
        AND m.version = l.version - 1 AND m.event IN ('completed', 'returned')
       JOIN leader_run AS v ON v.task_id = l.task_id AND v.epoch = r.epoch AND m.at < v.as_of
      WHERE l.task_id = $task AND l.event = 'assigned' ORDER BY l.log_id DESC LIMIT 1"
# forge SQL: what the judge says of this loan after the SQL, in which #last is the time of the last
# change.
forge() {
	local change=$1
	change=${change//#last/(SELECT m.at FROM work_log AS m WHERE m.log_id = f.last)}
	replay "$task" "$change" | cut -f 4 | sort -u
}
r="work_requested AS r JOIN test_forged_$task AS f ON f.request = r.request_id"
v="leader_run AS v JOIN test_forged_$task AS f ON f.epoch = v.epoch AND v.task_id = $task"
# The list is made to be older than the change.
older="UPDATE $v SET v.as_of = #last - INTERVAL 1 SECOND"
like "$(forge "$older; UPDATE $r SET r.checked = NULL")" \
	'from a list of before it was (completed|returned), and not checked since' \
	'the judge refuses a loan of an older list that nobody checked'
like "$(forge "$older; UPDATE $r SET r.checked = #last - INTERVAL 1 MICROSECOND")" \
	'from a list of before it was (completed|returned), and not checked since' \
	'or checked before the change only'
is "$(forge "$older; UPDATE $r SET r.checked = #last + INTERVAL 1 MICROSECOND")" '' \
	'it accepts one that was checked after the change'
is "$(forge "UPDATE $r SET r.checked = NULL WHERE r.request_id = f.request")" '' \
	'and one of a younger list that nobody checked'
like "$(forge "UPDATE $v SET v.epoch = 4000000000")" 'a list that no leader has made' \
	'it refuses a list that no leader has made'
like "$(forge "UPDATE $r SET r.checked = r.served_at + INTERVAL 1 SECOND")" \
	'assigned before its list was made or checked' \
	'and a check that came after the loan was given'
is "$(replay "$task" | head -n 10)" '' 'it accepts the true history again'

# The race met what it is about.
for met in "given from a list:r.source = 'list' AND l.event = 'assigned'" \
	"given by a leader:r.source IS NULL AND l.event = 'assigned'" \
	"given again from a list:r.source = 'list' AND l.event = 'assigned' AND l.version > 2" \
	"completed:l.event = 'completed'" "expired:l.event = 'expired'" \
	"not for their users any more:l.excluded_until IS NOT NULL"; do
	n=$(sql "SELECT COUNT(*) FROM work_log AS l
	           JOIN work_requested AS r ON r.request_id = l.request_id
	          WHERE l.task_id = $task AND ${met#*:}")
	ok $((n > 0 ? 0 : 1)) "loans were ${met%%:*}: $n"
done
finish
