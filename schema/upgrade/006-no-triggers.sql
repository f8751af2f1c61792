-- Takes the triggers away: where the binary log is on, only SUPER may make one. Programs and
-- managers call a procedure for the rows of task_lock and task_wake, exclusions go through a door,
-- and a kept list has a header that names its view. Every statement may be run again.

-- One row a task: which view the list in task_candidate is of.
CREATE TABLE IF NOT EXISTS task_list (
  task_id          INT UNSIGNED NOT NULL,
  candidates_view  VARCHAR(129) NOT NULL COMMENT 'that was queried: the list is of no other one',
  PRIMARY KEY (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- The next two are as in baseline.sql, which says why.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW exclusion_in AS
  SELECT e.task_id, e.user_id, e.loan_id, e.until
    FROM work_exclusion AS e
   WHERE EXISTS (SELECT 1 FROM work_log AS l
                  WHERE l.task_id = e.task_id AND l.loan_id = e.loan_id
                    AND l.user_id = e.user_id AND l.excluded_until = e.until)
  WITH CASCADED CHECK OPTION;

DELIMITER //
DROP PROCEDURE IF EXISTS task_rows//
CREATE PROCEDURE task_rows (IN p_task_id INT UNSIGNED)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_done BOOLEAN DEFAULT FALSE;
  DECLARE v_task_id INT UNSIGNED;
  DECLARE v_epoch, v_locks, v_wakes BIGINT UNSIGNED;
  DECLARE each_task CURSOR FOR
    SELECT task_id FROM task WHERE task_id = p_task_id OR p_task_id IS NULL;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = TRUE;
  OPEN each_task;
  tasks: LOOP
    FETCH each_task INTO v_task_id;
    IF v_done THEN
      LEAVE tasks;
    END IF;
    SELECT COUNT(*) INTO v_locks FROM task_lock WHERE task_id = v_task_id;
    SELECT COUNT(*) INTO v_wakes FROM task_wake WHERE task_id = v_task_id;
    IF v_wakes = 0 THEN
      INSERT IGNORE INTO task_wake (task_id) VALUES (v_task_id);
    END IF;
    IF v_locks = 0 THEN
      SELECT COALESCE(MAX(epoch), 0) INTO v_epoch FROM leader_run WHERE task_id = v_task_id;
      INSERT IGNORE INTO task_lock (task_id, epoch) VALUES (v_task_id, v_epoch);
    END IF;
  END LOOP;
  CLOSE each_task;
END//
DELIMITER ;

-- Up to here the roles were the server's. Whoever has one of those keeps the rights in this
-- database. lockq-migrate adds the database to the names without quotes.
CREATE ROLE IF NOT EXISTS lockq_worker, lockq_viewer, lockq_query, lockq_cron;
CREATE ROLE IF NOT EXISTS 'lockq_worker'@'%', 'lockq_viewer'@'%', 'lockq_query'@'%',
  'lockq_cron'@'%';
GRANT lockq_worker TO 'lockq_worker'@'%';
GRANT lockq_viewer TO 'lockq_viewer'@'%';
GRANT lockq_query TO 'lockq_query'@'%';
GRANT lockq_cron TO 'lockq_cron'@'%';

DROP TRIGGER IF EXISTS task_gets_lock;
DROP TRIGGER IF EXISTS task_gets_wake;
DROP TRIGGER IF EXISTS task_changes_view;
DROP TRIGGER IF EXISTS work_log_excludes;
