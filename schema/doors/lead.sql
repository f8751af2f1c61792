-- How a process leads a task: the rows that it locks, its epoch, and its round in leader_run. It
-- ends requests by request_end, in request.sql, and gives loans by log_in and work_opens, in
-- work.sql. rules.sql says what all doors share.

-- Who leads. An epoch never goes back, also not below that of a list, and can't be pushed up so far
-- that there is no next one: it stays below the milliseconds since 1970, and no task has a thousand
-- leaders a second. Ordered by the whole key, the last epoch is the first entry that is read;
-- ordered by the epoch alone, an UPDATE would read and sort all rounds of the task.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW lead_in AS
  SELECT k.task_id, k.epoch, k.holder, k.since, k.wakes, k.left_pending
    FROM task_lock AS k
   WHERE k.epoch < UNIX_TIMESTAMP(SYSDATE(3)) * 1000
     AND k.epoch >= COALESCE((SELECT l.epoch FROM leader_run AS l
                               WHERE l.task_id = k.task_id
                               ORDER BY l.task_id DESC, l.epoch DESC LIMIT 1), 0)
     AND k.epoch >= COALESCE((SELECT l.epoch FROM kept_list AS l
                               WHERE l.task_id = k.task_id
                               ORDER BY l.task_id DESC, l.epoch DESC LIMIT 1), 0)
  WITH CASCADED CHECK OPTION;

-- The rows of task_wake, to be locked and not to be written. To lock a row, an account needs the
-- right to change a column: nobody can change this one, which is an expression.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW wake_in AS
  SELECT w.task_id, w.task_id + 0 AS lockable FROM task_wake AS w;

-- What a leader has done.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW run_in AS
  SELECT l.task_id, l.epoch, l.user, l.how, l.as_of, l.query_ms, l.candidates, l.dropped,
         l.requests, l.loans, l.retries, l.reason, l.started_at, l.ended_at, l.left_pending,
         l.check_ms
    FROM leader_run AS l
   WHERE EXISTS (SELECT 1 FROM task_lock AS k
                  WHERE k.task_id = l.task_id AND k.epoch = l.epoch AND k.holder IS NOT NULL)
  WITH CASCADED CHECK OPTION;

DELIMITER //
-- Makes the rows of task_lock and task_wake that a task needs (NULL: each task). lockq-migrate and
-- a getwork that misses them call it. A task made again, with its lock row gone, must not begin at
-- an epoch that was used, and a round that somebody has noted with a later one must not stop it.
-- What is there is read by a cursor and by SELECT INTO: they take no lock. INSERT with a SELECT,
-- and INSERT IGNORE of a row that is there, take shared ones. On task_lock such a lock would look
-- like a leader, on leader_run it would stop other tasks' leaders. The row of task_lock comes last:
-- who finds it may count on the other one.
DROP PROCEDURE IF EXISTS task_rows//
CREATE PROCEDURE task_rows (IN p_task_id INT UNSIGNED)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_done BOOLEAN DEFAULT FALSE;
  DECLARE v_task_id INT UNSIGNED;
  DECLARE v_epoch, v_last, v_wakes BIGINT UNSIGNED;
  DECLARE each_task CURSOR FOR
    SELECT task_id FROM task WHERE task_id = p_task_id OR p_task_id IS NULL;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = TRUE;
  OPEN each_task;
  tasks: LOOP
    FETCH each_task INTO v_task_id;
    IF v_done THEN
      LEAVE tasks;
    END IF;
    SELECT MAX(epoch) INTO v_last FROM task_lock WHERE task_id = v_task_id;
    SELECT COUNT(*) INTO v_wakes FROM task_wake WHERE task_id = v_task_id;
    IF v_wakes = 0 THEN
      INSERT IGNORE INTO task_wake (task_id) VALUES (v_task_id);
    END IF;
    SELECT COALESCE(MAX(epoch), 0) INTO v_epoch FROM leader_run WHERE task_id = v_task_id;
    IF v_last IS NULL THEN
      INSERT IGNORE INTO task_lock (task_id, epoch) VALUES (v_task_id, v_epoch);
    ELSEIF v_last < v_epoch THEN
      UPDATE task_lock SET epoch = v_epoch WHERE task_id = v_task_id AND epoch < v_epoch;
    END IF;
  END LOOP;
  CLOSE each_task;
END//
DELIMITER ;
