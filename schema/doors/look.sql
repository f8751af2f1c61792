-- What people see where they may not read a table: who leads; and how calls note what held them up,
-- for lockqstat. rules.sql says what all doors share.

DELIMITER //
-- Who leads, for accounts that may not read task_lock, since they could lock its rows. A leader's
-- name is seen by a dirty read only: the caller sets the isolation level.
--   p_task_id the task, 0 for all tasks
DROP PROCEDURE IF EXISTS leaders//
CREATE PROCEDURE leaders (IN p_task_id INT UNSIGNED) READS SQL DATA
BEGIN
  SELECT l.task_id, l.epoch, l.holder, TIMESTAMPDIFF(MICROSECOND, l.since, NOW(6)) DIV 1000
    FROM task_lock AS l
   WHERE p_task_id = 0 OR l.task_id = p_task_id;
END//

-- How many have led each task since managetask check last found it well, for accounts that may not
-- read manage_log. A task of whose last 100 changes none is such a check has no row.
--   p_task_id the task, 0 for all tasks
DROP PROCEDURE IF EXISTS leaders_since_check_1//
CREATE PROCEDURE leaders_since_check_1 (IN p_task_id INT UNSIGNED) READS SQL DATA
BEGIN
  SELECT c.task_id,
         GREATEST(CAST(COALESCE((SELECT l.epoch FROM leader_run AS l FORCE INDEX (PRIMARY)
                                  WHERE l.task_id = c.task_id
                                  ORDER BY l.task_id DESC, l.epoch DESC LIMIT 1), 0) AS SIGNED)
                  - CAST(MAX(c.epoch) AS SIGNED), 0)
    FROM (SELECT t.task_id, d.epoch
            FROM task AS t
            JOIN LATERAL
                 (SELECT JSON_EXTRACT(m.after_it, '$.checked') AS epoch
                    FROM manage_log AS m FORCE INDEX (manage_log_task)
                   WHERE m.task_id = t.task_id
                   ORDER BY m.task_id DESC, m.manage_id DESC
                   LIMIT 100) AS d
           WHERE (p_task_id = 0 OR t.task_id = p_task_id) AND d.epoch IS NOT NULL) AS c
   GROUP BY c.task_id;
END//

-- Which sessions hold rows that people wait for: each row of task_lock that is locked, by a leader,
-- too, of whom the caller asks `leaders`; and rows of work that a session has held while it did
-- nothing for a minute. A locked row of task_lock is found by locking the others, for a moment.
-- Where the owner of this procedure may not see the server's locks, nobody is seen, and rows of
-- work are not looked at. A prepared XA transaction has no session: then nobody is seen either.
--   p_task_id the task, 0 for all tasks
DROP PROCEDURE IF EXISTS holders_1//
CREATE PROCEDURE holders_1 (IN p_task_id INT UNSIGNED) READS SQL DATA
BEGIN
  DECLARE v_free JSON;
  DECLARE EXIT HANDLER FOR 1142, 1143, 1683
    SELECT l.task_id, 0 AS rows_of_work, FALSE AS looked, NULL AS session, NULL AS account,
           NULL AS seconds
      FROM task_lock AS l
     WHERE (p_task_id = 0 OR l.task_id = p_task_id)
       AND NOT l.task_id MEMBER OF (COALESCE(v_free, JSON_ARRAY()));
  SELECT JSON_ARRAYAGG(l.task_id) INTO v_free
    FROM task_lock AS l
   WHERE p_task_id = 0 OR l.task_id = p_task_id
     FOR UPDATE SKIP LOCKED;
  WITH held AS (
    SELECT d.object_name = 'work' AS is_work, d.lock_data, t.processlist_id AS session,
           CONCAT(t.processlist_user, '@', t.processlist_host) AS account,
           t.processlist_time AS seconds
      FROM performance_schema.data_locks AS d
      JOIN performance_schema.threads AS t
        ON t.thread_id = d.thread_id
     WHERE d.object_schema = DATABASE() AND d.object_name IN ('task_lock', 'work')
       AND d.index_name = 'PRIMARY' AND d.lock_status = 'GRANTED'
       AND t.processlist_id <> CONNECTION_ID())
  SELECT l.task_id, 0 AS rows_of_work, TRUE AS looked, h.session, h.account, h.seconds
    FROM task_lock AS l
    LEFT JOIN held AS h
      ON NOT h.is_work AND h.lock_data = CAST(l.task_id AS CHAR)
   WHERE (p_task_id = 0 OR l.task_id = p_task_id)
     AND NOT l.task_id MEMBER OF (COALESCE(v_free, JSON_ARRAY()))
  UNION ALL
  SELECT CAST(SUBSTRING_INDEX(h.lock_data, ',', 1) AS UNSIGNED) AS of_task, COUNT(*), TRUE,
         h.session, h.account, h.seconds
    FROM held AS h
   WHERE h.is_work AND h.seconds >= 60 AND h.lock_data <> 'supremum pseudo-record'
   GROUP BY of_task, h.session, h.account, h.seconds
  HAVING p_task_id IN (0, of_task);
END//

-- A call that was held up. Each parameter counts the call's own troubles, so no client can add more
-- than a call could meet. It reads no other table: the one that held up the call may be locked yet.
DROP PROCEDURE IF EXISTS trouble_adds//
CREATE PROCEDURE trouble_adds (IN p_task_id INT UNSIGNED,
                               IN p_operation VARCHAR(16) CHARACTER SET utf8mb4,
                               IN p_busy BOOLEAN, IN p_lock_waits INT UNSIGNED,
                               IN p_deadlocks INT UNSIGNED, IN p_retries INT UNSIGNED)
  MODIFIES SQL DATA
BEGIN
  DECLARE v_now DATETIME DEFAULT
    TIMESTAMP'1970-01-01 00:00:00' + INTERVAL UNIX_TIMESTAMP(SYSDATE()) DIV 600 * 600 SECOND;
  IF p_operation IN ('getwork', 'cancel', 'disposition', 'expire', 'refill', 'manage') THEN
    INSERT INTO task_trouble (slot, task_id, operation, busy, lock_waits, deadlocks, retries)
      VALUES (v_now, p_task_id, p_operation, p_busy <> 0, LEAST(p_lock_waits, 1000),
              LEAST(p_deadlocks, 1000), LEAST(p_retries, 1000))
      ON DUPLICATE KEY UPDATE
        busy = task_trouble.busy + (p_busy <> 0),
        lock_waits = task_trouble.lock_waits + LEAST(p_lock_waits, 1000),
        deadlocks = task_trouble.deadlocks + LEAST(p_deadlocks, 1000),
        retries = task_trouble.retries + LEAST(p_retries, 1000);
    IF ROW_COUNT() = 1 THEN
      DELETE FROM task_trouble
       WHERE slot < v_now - INTERVAL 2 DAY ORDER BY slot, task_id, operation LIMIT 1000;
    END IF;
  END IF;
END//
DELIMITER ;
