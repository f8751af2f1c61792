#!/usr/bin/env bash
# Sixteen processes complete, return, renew and expire the same few loans while they are given out,
# about the moments when their leases end. The log must replay to the table, step by step; the
# answers must agree with the log; and each refusal must be right.
#
#   LOCKQ_LEASES_ROUNDS   how often all sixteen do something at once (50)
#   LOCKQ_LEASES_SEED     the seed of the random choices
#
# The shortest lease is a minute. A trigger shortens those of this task to 0.2 to 1 s, so that they
# end in the middle of the race: as lockq writes the log, which `work` follows.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=255 few=12 many=60 rounds=${LOCKQ_LEASES_ROUNDS:-50} seed=${LOCKQ_LEASES_SEED:-$RANDOM}
build=${LOCKQ_BUILD:-$top/build}
scratch=$(mktemp -d)

drop_triggers() {
	sql "DROP TRIGGER IF EXISTS test_lease_log"
}
drop_ours() {
	drop_triggers
	sql "DROP PROCEDURE IF EXISTS test_complete_$task;
	     DROP TABLE IF EXISTS test_completed_$task, test_told_$task, test_step_$task;
	     DELETE FROM work_exclusion WHERE task_id = $task"
}
trap 'drop_ours; forget_all' EXIT

drop_ours
make_task "$task" 400 0
make_users 8
# A loan that was set to never makes room for another one, so their number stays the same. Every
# other two seconds there are more of them, so that lists are left from which people take.
sql "ALTER VIEW test_candidates_$task AS
       SELECT f.loan_id, f.loan_id AS priority FROM (
         SELECT l.loan_id, ROW_NUMBER() OVER (ORDER BY l.loan_id) AS n
           FROM test_loan_$task AS l
          WHERE NOT EXISTS (SELECT 1 FROM work AS w WHERE w.task_id = $task
                               AND w.loan_id = l.loan_id AND w.state = 'never')) AS f
        WHERE f.n <= IF(SECOND(NOW()) % 4 < 2, $few, $many);
     CREATE TABLE test_completed_$task (
       id INT AUTO_INCREMENT PRIMARY KEY, loan_id BIGINT UNSIGNED, user VARCHAR(64));
     UPDATE task SET lease_minutes = 1, complete_hold = 1, on_complete = 'test_complete_$task',
            cache_ttl = 1
      WHERE task_id = $task"
# The bank's procedure fails once in five calls, after it has written a row.
sql "DELIMITER //
CREATE PROCEDURE test_complete_$task (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
BEGIN
  INSERT INTO test_completed_$task (loan_id, user) VALUES (p_loan_id, p_user);
  IF RAND() < 0.2 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not today';
  END IF;
END//
DELIMITER ;
GRANT EXECUTE ON PROCEDURE test_complete_$task TO lockq_worker@lockq"
# `work` follows the log, so a lease that is shortened there is short in both.
sql "CREATE TRIGGER test_lease_log BEFORE INSERT ON work_log FOR EACH ROW
       SET NEW.lease_expires_at =
             IF(NEW.event IN ('assigned', 'renewed') AND NEW.task_id = $task
                AND NEW.lease_expires_at > NOW(6) + INTERVAL 10 SECOND,
                NOW(6) + INTERVAL 200000 + FLOOR(RAND() * 800000) MICROSECOND,
                NEW.lease_expires_at)"

# After this run, cron counts only loans of this race.
run disposition --expire
is "$status:$err" 0: 'cron, before'
run "$build/test/race/disposition/leases" "$task" race 16 "$rounds" "$seed" "$scratch/told"
is "$status:$err" 0: "$rounds rounds, 16 processes, seed $seed"
sql "CREATE TABLE test_told_$task (
       round INT, process INT, user VARCHAR(64), what VARCHAR(16), event VARCHAR(16),
       loan_id BIGINT UNSIGNED, given BIGINT UNSIGNED, outcome VARCHAR(16),
       token BIGINT UNSIGNED, holder VARCHAR(64), state VARCHAR(16), since DATETIME(6),
       request_id BIGINT UNSIGNED, note VARCHAR(64), leases INT, available INT,
       began DATETIME(6), ended DATETIME(6),
       KEY (loan_id, note), KEY (request_id)
     ) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs"
{
	echo "INSERT INTO test_told_$task VALUES"
	paste -sd, "$scratch/told"
} >"$scratch/told.sql"
"$top/scripts/sandbox" mysql <"$scratch/told.sql"
ok $? 'the answers are in a table'
is "$(replay "$task" | head -n 10)" '' 'the log replays to the table, exactly'
is "$(given_twice "$task")" 0 'no loan was given twice'

# --- the answers ---------------------------------------------------------------------------------

is "$(sql "SELECT COUNT(*) FROM test_told_$task AS t
            WHERE t.what = 'disposed' AND t.outcome = 'done' AND 1 <> (
              SELECT COUNT(*) FROM work_log AS l JOIN app_user AS u ON u.user_id = l.user_id
               WHERE l.task_id = $task AND l.loan_id = t.loan_id AND l.note = t.note
                 AND l.event = t.event AND u.name = t.user AND l.token = t.token
                 AND l.at = t.since AND l.at BETWEEN t.began AND t.ended
                 AND t.given IN (0, l.token))")" 0 \
	'each disposition that was answered with done has its row in the log'
done=$(sql "SELECT COUNT(*) FROM test_told_$task WHERE what = 'disposed' AND outcome = 'done'")
is "$(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $task
              AND event IN ('completed', 'returned', 'never', 'renewed')")" "$done" \
	"the log has no others: $done"
is "$(sql "SELECT COUNT(*) FROM test_told_$task AS t
            WHERE t.event = 'assigned' AND 1 <> (
              SELECT COUNT(*) FROM work_log AS l JOIN app_user AS u ON u.user_id = l.user_id
               WHERE l.task_id = $task AND l.loan_id = t.loan_id AND l.event = 'assigned'
                 AND l.request_id = t.request_id AND l.token = t.token AND u.name = t.user
                 AND l.at <= t.ended)")" 0 'each loan in an answer is in the log'
is "$(sql "SELECT COUNT(*) FROM work_log AS l
            WHERE l.task_id = $task AND l.event = 'assigned' AND NOT EXISTS (
              SELECT 1 FROM test_told_$task AS t
               WHERE t.event = 'assigned' AND t.request_id = l.request_id
                 AND t.loan_id = l.loan_id AND t.token = l.token)")" 0 \
	'each loan in the log is in an answer'
is "$(sql "SELECT COUNT(*) FROM work_requested AS r
            WHERE r.task_id = $task AND r.assigned <> (
              SELECT COUNT(*) FROM work_log AS l
               WHERE l.request_id = r.request_id AND l.event = 'assigned')")" 0 \
	'each request has as many loans as its row says'
is "$(sql "SELECT COUNT(*) FROM (
             SELECT loan_id, user, SUM(n) AS n FROM (
               SELECT loan_id, user, 1 AS n FROM test_completed_$task
               UNION ALL
               SELECT l.loan_id, u.name, -1 FROM work_log AS l
                 JOIN app_user AS u ON u.user_id = l.user_id
                WHERE l.task_id = $task AND l.event = 'completed') AS both_sides
              GROUP BY loan_id, user HAVING SUM(n) <> 0) AS odd")" 0 \
	"each completion called the bank's procedure, once"
read -r cron_leases cron_available < <(sql "SELECT SUM(leases), SUM(available)
	FROM test_told_$task WHERE what = 'expired'")
read -r expired available < <(sql "SELECT SUM(event = 'expired'), SUM(event = 'available')
	FROM work_log WHERE task_id = $task")
is "$available" "$cron_available" "cron noted $available loans as available, as the log says"
by_leaders=$(sql "SELECT COUNT(*) FROM work_log AS l
	JOIN work_log AS a ON a.task_id = l.task_id AND a.loan_id = l.loan_id
	 AND a.version = l.version + 1 AND a.event = 'assigned'
	JOIN work_requested AS q ON q.request_id = a.request_id
	JOIN leader_run AS r ON r.task_id = q.task_id AND r.epoch = q.epoch
	 AND (l.at BETWEEN r.started_at AND r.ended_at OR (q.source = 'list' AND l.at = a.at))
	WHERE l.task_id = $task AND l.event = 'expired'")
# A late completion that ends the assignment itself writes both rows of the log with one time.
read -r late by_late < <(sql "SELECT COUNT(*), COALESCE(SUM(l.at = e.at), 0) FROM work_log AS l
	JOIN work_log AS e ON e.task_id = l.task_id AND e.loan_id = l.loan_id
	 AND e.version = l.version - 1 AND e.event = 'expired'
	WHERE l.task_id = $task AND l.event IN ('completed', 'returned', 'renewed')")
others=$((expired - cron_leases - by_late))
ok $((others >= 0 && others <= by_leaders ? 0 : 1)) \
	"of $expired leases cron ended $cron_leases, late work $by_late, leaders the rest"
ok $((late > 0 ? 0 : 1)) \
	"$late completions came late, and cron had been at $((late - by_late)) of these loans"

# --- the refusals --------------------------------------------------------------------------------

# Each version of a row, and until when it can have been seen. If a disposition made the next
# version, it locked the row while it ran; a late one makes two, with one time. A leader or cron
# locked the row before the time that it wrote down. Version 0 stands for the time before the row
# was inserted.
sql "CREATE TABLE test_step_$task (KEY (loan_id, since))
       DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs AS
     WITH line AS (
       SELECT l.loan_id, l.version, CONCAT(l.event) AS event, l.token, u.name AS user,
              l.lease_expires_at AS lease, l.at AS since,
              IF(l.event IN ('assigned', 'renewed'), 'assigned',
                 IF(l.event = 'expired', 'returned', CONCAT(l.event))) AS state,
              MAX(IF(l.event = 'assigned', l.at, NULL)) OVER by_version AS assigned_at,
              LEAD(CONCAT(l.event)) OVER by_version AS next_event,
              LEAD(CONCAT(l.event)) OVER by_version = 'expired'
                AND LEAD(l.event, 2) OVER by_version = 'completed'
                AND LEAD(l.at, 2) OVER by_version = LEAD(l.at) OVER by_version AS is_late,
              LEAD(l.note) OVER by_version AS next_note,
              LEAD(l.note, 2) OVER by_version AS late_note,
              LEAD(l.at) OVER by_version AS next_at
         FROM work_log AS l JOIN app_user AS u ON u.user_id = l.user_id
        WHERE l.task_id = $task AND l.event <> 'available'
       WINDOW by_version AS (PARTITION BY l.loan_id ORDER BY l.version))
     SELECT line.*, IF(next_event IN ('assigned', 'expired') AND NOT COALESCE(is_late, FALSE),
              next_at,
              (SELECT MAX(t.ended) FROM test_told_$task AS t
                WHERE t.loan_id = line.loan_id
                  AND t.note = IF(is_late, line.late_note, line.next_note)
                  AND t.outcome = 'done')) AS until
       FROM line
     UNION ALL
     SELECT n.loan_id, 0, 'none', 0, NULL, NULL, '1970-01-02', 'none', NULL, NULL, NULL, NULL,
            NULL, NULL,
            (SELECT IF(q.source = 'list', l.at + INTERVAL 1 SECOND, r.ended_at)
               FROM work_log AS l
               JOIN work_requested AS q ON q.request_id = l.request_id
               JOIN leader_run AS r ON r.task_id = q.task_id AND r.epoch = q.epoch
              WHERE l.task_id = $task AND l.loan_id = n.loan_id AND l.version = 1)
       FROM test_loan_$task AS n"
refused="test_told_$task AS t
	WHERE t.what = 'disposed' AND t.outcome <> 'done' AND NOT EXISTS (
	  SELECT 1 FROM test_step_$task AS s
	   WHERE s.loan_id = t.loan_id AND s.since <= t.ended
	     AND (s.until IS NULL OR s.until >= t.began)
	     AND s.state = COALESCE(t.state, 'none') AND s.token = t.token
	     AND s.user <=> t.holder
	     AND t.since <=> CASE s.state WHEN 'none' THEN NULL WHEN 'assigned' THEN s.assigned_at
	                                  ELSE s.since END
	     AND CASE t.outcome
	         WHEN 'stale_token' THEN t.given > 0 AND t.given < s.token
	         ELSE t.given IN (0, s.token) OR s.state = 'none' END
	     AND CASE t.outcome
	         WHEN 'stale_token' THEN TRUE
	         WHEN 'already' THEN s.user = t.user AND s.event = t.event
	         WHEN 'not_yours' THEN s.state = 'assigned' AND s.user <> t.user
	         WHEN 'lease_over' THEN s.user = t.user AND t.event <> 'completed' AND
	           (s.event = 'expired' OR (s.state = 'assigned' AND s.lease <= t.ended))
	         WHEN 'not_allowed' THEN (s.state = 'assigned' OR s.event = 'expired')
	           AND s.user = t.user AND t.event = 'completed'
	         WHEN 'not_assigned' THEN s.state <> 'assigned'
	           AND (NOT (s.user <=> t.user AND s.event IN (t.event, 'expired'))
	                OR (s.event = 'returned' AND t.event = 'returned'))
	         ELSE FALSE END)"
is "$(sql "SELECT COUNT(*) FROM $refused")" 0 'each refusal is right, by the log'
sql "SELECT CONCAT_WS(' ', '#', t.user, t.event, t.loan_id, t.given, t.outcome, t.token, t.holder,
            t.state, t.since, t.began, t.ended) FROM $refused LIMIT 10"
excluded=$(sql "SELECT COUNT(excluded_until) FROM work_log WHERE task_id = $task")
is "$(sql "SELECT COUNT(*) FROM work_log AS a JOIN work_log AS r
               ON r.task_id = a.task_id AND r.loan_id = a.loan_id AND r.user_id = a.user_id
              AND r.version < a.version AND r.excluded_until > a.at
            WHERE a.task_id = $task AND a.event = 'assigned'")" 0 \
	"no user got a loan again that was returned with --not-me: $excluded returned"

# --- was it a race? ------------------------------------------------------------------------------

outcomes=$(sql "SELECT COALESCE(event, what), outcome, COUNT(*) FROM test_told_$task
	GROUP BY 1, 2 ORDER BY 1, 2" | awk '{ printf "# %-10s %-14s %5d\n", $1, $2, $3 }')
echo "$outcomes"
is "$(awk '$2 != "assigned" && $2 != "expired" { print $3 }' <<<"$outcomes" | sort -u |
	tr '\n' ' ')" \
	'already done empty lease_over not_allowed not_assigned not_yours stale_token ' \
	'every kind of answer was given'
close=$(sql "SELECT COUNT(*) FROM (
	SELECT l.at, LAG(l.lease_expires_at) OVER (PARTITION BY l.loan_id ORDER BY l.version)
	         AS lease
	  FROM work_log AS l WHERE l.task_id = $task AND l.event <> 'available') AS steps
	WHERE ABS(TIMESTAMPDIFF(MICROSECOND, lease, at)) < 20000")
ok $((close > 0 && excluded > 0 && expired > cron_leases && cron_leases > 0 ? 0 : 1)) \
	"$close changes within 20 ms of a lease's end"
in_one=$(sql "SELECT COUNT(DISTINCT request_id) FROM test_told_$task WHERE outcome = 'in_one'")
ok $((in_one > 0 ? 0 : 1)) "$in_one dispositions gave the next loans in the same commit"
is "$(sql "SELECT COUNT(*) FROM test_told_$task AS t
             JOIN work_requested AS r ON r.request_id = t.request_id
            WHERE t.outcome = 'in_one' AND (r.source <> 'list' OR NOT EXISTS (
              SELECT 1 FROM test_told_$task AS d
               WHERE d.round = t.round AND d.process = t.process AND d.what = 'disposed')
              OR EXISTS (
              SELECT 1 FROM test_told_$task AS d
               WHERE d.round = t.round AND d.process = t.process AND d.what = 'disposed'
                 AND d.outcome NOT IN ('done', 'already')))")" 0 \
	'they are of the list, and none of their dispositions was refused'

# --- does the replay notice faults? --------------------------------------------------------------

# One loan's last event must be that cron noted it as available, whatever the race has left. All
# leases, holds and exclusions of the race are over by then.
drop_triggers
sleep 2.5
run getwork --user race-1 --task "$task" --json
loan=$(jq '.loans[0].loan_id' <<<"$out")
run disposition --user race-1 --task "$task" --loan "$loan" --return-after 1s
is "$status:$err" 0: 'one more loan is returned'
sleep 1.2
run disposition --expire
is "$status:$err" 0: 'cron notes it as available'
is "$(replay "$task" | head -n 10)" '' 'the replay still finds nothing'

# plant DESCRIPTION SQL: prints SQL that makes a fault, replays, and undoes the fault.
plant() {
	printf "SELECT '== %s';\nSTART TRANSACTION;\n%s;\n" "$1" "$2"
	cat "$top/test/support/replay.sql"
	echo 'ROLLBACK;'
}
log_columns=$(sql "SELECT GROUP_CONCAT(column_name) FROM information_schema.columns
	WHERE table_schema = DATABASE() AND table_name = 'work_log' AND column_name <> 'log_id'")
# row CONDITION: prints SQL that sets @row, the first row of the log for which the condition holds.
row() {
	printf 'SELECT log_id INTO @row FROM work_log AS l WHERE task_id = %s AND (%s)
		ORDER BY log_id LIMIT 1;\n' "$task" "$1"
}
# change_row CONDITION CHANGE: prints SQL that changes that row.
change_row() {
	row "$1"
	printf 'UPDATE work_log SET %s WHERE log_id = @row' "$2"
}
# change_work CONDITION CHANGE: prints SQL that changes one of the task's rows of work.
change_work() {
	printf 'UPDATE work SET %s WHERE task_id = %s AND (%s) ORDER BY loan_id LIMIT 1' \
		"$2" "$task" "$1"
}
# A condition: the assignment of a loan that another user got later.
shared="event = 'assigned' AND EXISTS (SELECT 1 FROM work_log AS m WHERE m.task_id = l.task_id
	AND m.loan_id = l.loan_id AND m.event = 'assigned' AND m.version > l.version
	AND m.user_id <> l.user_id)"
faults() {
	local event column
	for event in $(sql "SELECT DISTINCT event FROM work_log WHERE task_id = $task"); do
		if [ "$event" = available ]; then
			# The replay can miss only the newest of a loan, from due_at in its row.
			plant 'deleted: available' "$(row "event = 'available' AND version = (
				SELECT version FROM work AS w WHERE w.task_id = l.task_id
				   AND w.loan_id = l.loan_id)")
				DELETE FROM work_log WHERE log_id = @row"
		else
			plant "deleted: $event" "$(row "event = '$event'")
				DELETE FROM work_log WHERE log_id = @row"
			plant "another version: $event" "$(change_row "event = '$event'" \
				'version = version + 1')"
			plant "another token: $event" "$(change_row "event = '$event'" \
				'token = token - 1')"
			plant "earlier: $event" "$(change_row "event = '$event' AND version > 1" \
				'at = at - INTERVAL 1 HOUR')"
			plant "later: $event" "$(change_row "event = '$event'" \
				'at = at + INTERVAL 1 HOUR')"
		fi
		plant "twice: $event" "$(row "event = '$event'")
			INSERT INTO work_log ($log_columns)
			SELECT $log_columns FROM work_log WHERE log_id = @row"
		plant "of another user: $event" "$(change_row "event = '$event'" \
			"user_id = (SELECT MIN(u.user_id) FROM app_user AS u
			   WHERE u.name LIKE 'race-%' AND u.user_id <> work_log.user_id)")"
	done
	plant 'users swapped' "$(row "$shared")
		SELECT user_id, loan_id, version INTO @user, @loan, @version
		  FROM work_log WHERE log_id = @row;
		SELECT log_id, user_id INTO @other, @other_user FROM work_log
		 WHERE task_id = $task AND loan_id = @loan AND event = 'assigned'
		   AND version > @version AND user_id <> @user ORDER BY version LIMIT 1;
		UPDATE work_log SET user_id = IF(log_id = @row, @other_user, @user)
		 WHERE log_id IN (@row, @other)"
	plant 'versions swapped' "$(row "version = 2")
		SELECT loan_id INTO @loan FROM work_log WHERE log_id = @row;
		UPDATE work_log SET version = 5 - version
		 WHERE task_id = $task AND loan_id = @loan AND version IN (2, 3)"
	plant 'the whole log of a loan' "$(row 'version = 1')
		SELECT loan_id INTO @loan FROM work_log WHERE log_id = @row;
		DELETE FROM work_log WHERE task_id = $task AND loan_id = @loan"
	plant 'another event' "$(change_row "event IN ('completed', 'returned') AND version = (
		SELECT version FROM work AS w WHERE w.task_id = l.task_id
		   AND w.loan_id = l.loan_id)" \
		"event = IF(event = 'returned', 'completed', 'returned')")"
	plant 'available as nothing was' "$(change_row "event = 'available'" \
		'version = version + 1')"
	plant 'available too early' "$(change_row "event = 'available'" \
		'at = available_at - INTERVAL 1 SECOND')"
	plant 'a lease that ended later' "$(change_row "event = 'assigned' AND EXISTS (SELECT 1
		FROM work_log AS m WHERE m.task_id = l.task_id AND m.loan_id = l.loan_id
		 AND m.version = l.version + 1 AND m.event = 'expired')" \
		'lease_expires_at = lease_expires_at + INTERVAL 1 HOUR')"
	plant 'offered later' "$(change_row "event = 'returned' AND EXISTS (SELECT 1
		FROM work_log AS m WHERE m.task_id = l.task_id AND m.loan_id = l.loan_id
		 AND m.version = l.version + 1)" 'available_at = available_at + INTERVAL 1 HOUR')"
	plant 'another note' "$(change_row "note IS NOT NULL AND EXISTS (SELECT 1
		FROM work_log AS m WHERE m.task_id = l.task_id AND m.loan_id = l.loan_id
		 AND m.version = l.version + 1 AND m.event = 'assigned')" "note = 'another'")"
	plant 'the row: user_id' "$(change_work TRUE "user_id = (SELECT MIN(u.user_id)
		FROM app_user AS u WHERE u.name LIKE 'race-%' AND u.user_id <> work.user_id)")"
	for column in token version request_id; do
		plant "the row: $column" "$(change_work TRUE "$column = $column + 1")"
	done
	for column in assigned_at available_at lease_expires_at due_at; do
		plant "the row: $column" "$(change_work TRUE \
			"$column = COALESCE($column, NOW(6)) + INTERVAL 1 SECOND")"
	done
	plant 'the row: state' "$(change_work "state = 'returned'" "state = 'never'")"
	plant 'the row: note' "$(change_work TRUE "note = CONCAT(COALESCE(note, ''), '.')")"
	plant 'a row too many' "INSERT INTO work (task_id, loan_id, user_id, state, token, version,
		request_id, assigned_at, changed_at)
		SELECT task_id, 4711, user_id, state, token, version, request_id, assigned_at,
		       changed_at FROM work WHERE task_id = $task LIMIT 1"
	plant 'a row too few' "DELETE FROM work WHERE task_id = $task LIMIT 1"
}
faults >"$scratch/faults.sql"
"$top/scripts/sandbox" mysql --batch --skip-column-names <"$scratch/faults.sql" \
	>"$scratch/found" 2>&1
ok $? 'faults are planted'
planted=$(grep -c "^SELECT '== " "$scratch/faults.sql")
missed=$(awk '/^== / { if (name != "") print name; name = $0; next }
	/^'"$task"'\t/ { name = ""; next }
	{ print } END { if (name != "") print name }' "$scratch/found")
is "$missed:$(grep -c '^== ' "$scratch/found")" ":$planted" \
	"the replay finds each of $planted planted faults"
is "$(replay "$task" | head -n 10)" '' 'it finds none when they are undone'
finish
