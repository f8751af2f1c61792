-- Takes the triggers away: where the binary log is on, only SUPER may make one. Programs and
-- managers call a procedure for the rows of task_lock and task_wake, and a kept list has a header
-- that names its view. Programs write through the views of doors.sql. Every statement may be run
-- again.

-- One row a task: which view the list in task_candidate is of.
CREATE TABLE IF NOT EXISTS task_list (
  task_id          INT UNSIGNED NOT NULL,
  candidates_view  VARCHAR(129) NOT NULL COMMENT 'that was queried: the list is of no other one',
  PRIMARY KEY (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- Rows of `work` are locked by accounts that may not change them, which takes a column that nobody
-- can change.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'work'
                           AND column_name = 'lockable'), 'DO 0',
  'ALTER TABLE work
     ADD COLUMN lockable TINYINT GENERATED ALWAYS AS (NULL) VIRTUAL
     COMMENT ''the right to change it is the right to lock the row, and no more'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;

-- Which account may ask for a person.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'app_user'
                           AND column_name = 'account'), 'DO 0',
  'ALTER TABLE app_user
     ADD COLUMN account VARCHAR(32) NULL
     COMMENT ''login name of the only MySQL account that may ask for them; NULL: any may'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;

-- The true time, which no setting of a session moves. The column comes first and its default
-- second: a column with a default that differs from server to server can't be added in one step
-- where the binary log is on. Rows of before have no such time.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'work_log'
                           AND column_name = 'logged_at'), 'DO 0',
  'ALTER TABLE work_log
     ADD COLUMN logged_at DATETIME(6) NULL
     COMMENT ''true time, which no setting of a session moves'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
DEALLOCATE PREPARE lockq_alter;
ALTER TABLE work_log ALTER COLUMN logged_at SET DEFAULT
  (TIMESTAMP'1970-01-01 00:00:00' + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND),
  ALGORITHM=INSTANT;
ALTER TABLE work_requested
  MODIFY COLUMN created_at DATETIME(6) NOT NULL
    DEFAULT (TIMESTAMP'1970-01-01 00:00:00'
             + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND)
    COMMENT 'true time, which no setting of a session moves',
  ALGORITHM=INSTANT;

-- When lockq-migrate --finish took away what only older programs need.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'schema_version'
                           AND column_name = 'finished_at'), 'DO 0',
  'ALTER TABLE schema_version ADD COLUMN finished_at DATETIME(6) NULL, ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
DEALLOCATE PREPARE lockq_alter;

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
