-- Programs before schema 7 kept a task's list in task_candidate and task_list, and those before
-- schema 5 the time of its query in task_lock. No later program uses these. Every statement may be
-- run again.
-- A right outlives its table, so it goes first. One that is not there is no error.
DELIMITER //
DROP PROCEDURE IF EXISTS lockq_revoke//
CREATE PROCEDURE lockq_revoke ()
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
BEGIN
  DECLARE CONTINUE HANDLER FOR 1141, 1146, 1147 BEGIN END;
  REVOKE ALL PRIVILEGES ON task_candidate FROM lockq_worker;
  REVOKE ALL PRIVILEGES ON task_candidate FROM lockq_viewer;
  REVOKE ALL PRIVILEGES ON task_list FROM lockq_worker;
  REVOKE ALL PRIVILEGES ON task_list FROM lockq_viewer;
  -- Programs before schema 11 purge these tables themselves, and not by request_out and run_out.
  REVOKE DELETE ON work_requested FROM lockq_cron;
  REVOKE DELETE ON leader_run FROM lockq_cron;
END//
DELIMITER ;
CALL lockq_revoke();
DROP PROCEDURE lockq_revoke;
-- It deleted the row of task_list, too.
DROP PROCEDURE IF EXISTS manage_remove;
-- It called on_complete and on_undo in UTC.
DROP PROCEDURE IF EXISTS work_completes;

-- A TIMESTAMP ends in 2038, and the procedures before schema 11 relied on one. The ALTER copies the
-- table, which has a row for each loan that was touched in the last hours or is urgent.
DROP PROCEDURE IF EXISTS list_tops;
DROP PROCEDURE IF EXISTS list_sweeps;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task_touched'
                           AND column_name = 'touched_at' AND data_type = 'timestamp'),
  'ALTER TABLE task_touched
     MODIFY touched_at DATETIME(6) NOT NULL
            DEFAULT (TIMESTAMP''1970-01-01 00:00:00''
                     + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND)',
  'DO 0');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;

-- A leader uses task_lock and `task` for as long as its query takes. An ALTER of task_lock would
-- wait for that, and so would everybody who comes after the ALTER. So the locks of all tasks are
-- taken first, without a wait: where a process leads, this ends with 3572, and lockq-migrate tries
-- again. The ALTER lets go of them, and a process that begins to lead just then makes it wait for a
-- second. It does not say INSTANT, since MySQL before 8.0.29 drops no column so: there it rebuilds
-- the table, which has one row for each task.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task_lock'
                           AND column_name = 'query_ms'),
  'ALTER TABLE task_lock
     DROP COLUMN query_ms,
     MODIFY each_once BOOLEAN NOT NULL DEFAULT FALSE
            COMMENT ''the right to change it is the right to lock the row, and no more''',
  'DO 0');
PREPARE lockq_alter FROM @alter;
START TRANSACTION;
SELECT COUNT(*) INTO @lockq_tasks FROM task_lock FOR UPDATE NOWAIT;
EXECUTE lockq_alter;
DEALLOCATE PREPARE lockq_alter;

-- The key of task_candidate refers to `task`, which the server locks when it drops that table.
START TRANSACTION;
SELECT COUNT(*) INTO @lockq_tasks FROM task_lock FOR UPDATE NOWAIT;
DROP TABLE IF EXISTS task_candidate;
DROP TABLE IF EXISTS task_list;
