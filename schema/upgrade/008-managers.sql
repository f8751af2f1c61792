-- What managers say and correct: a task is paused, a person is disabled, an assignment is taken
-- back. Every statement may be run again.

SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'app_user'
                           AND column_name = 'enabled'), 'DO 0',
  'ALTER TABLE app_user
     ADD COLUMN enabled BOOLEAN NOT NULL DEFAULT TRUE COMMENT ''may ask for work'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task'
                           AND column_name = 'paused'), 'DO 0',
  'ALTER TABLE task
     ADD COLUMN paused VARCHAR(512) NULL
     COMMENT ''why no loans are given for now; NULL: they are'',
     ADD COLUMN paused_by VARCHAR(64) NULL COMMENT ''the manager who said so'',
     ADD COLUMN paused_at DATETIME(6) NULL,
     ADD COLUMN share ENUM(''order'', ''evenly'', ''least'') NOT NULL DEFAULT ''order''
     COMMENT ''how requests of one moment share loans that are not enough for all'',
     ADD COLUMN on_undo VARCHAR(129) CHARACTER SET utf8mb4 NULL
     COMMENT ''procedure like on_complete, which takes back what that did'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task'
                           AND column_name = 'not_again'), 'DO 0',
  'ALTER TABLE task
     ADD COLUMN not_same_user_as INT UNSIGNED NULL
     COMMENT ''task whose users do not get a loan here that they have completed there'',
     ADD COLUMN not_again INT UNSIGNED NULL
     COMMENT ''hours for which users do not get a loan that they have completed'',
     ADD COLUMN noun VARCHAR(32) NULL
     COMMENT ''what people call a loan: ticket, or entry/entries; NULL: loan'',
     ADD COLUMN any_place INT UNSIGNED NULL
     COMMENT ''place among the tasks of getwork --any; NULL: not among them'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'work_log'
                           AND column_name = 'manager'), 'DO 0',
  'ALTER TABLE work_log
     ADD COLUMN manager VARCHAR(64) NULL
     COMMENT ''who corrected it, for the reason in note; NULL: nobody'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task_touched'
                           AND column_name = 'urgent'), 'DO 0',
  'ALTER TABLE task_touched
     ADD COLUMN urgent BOOLEAN NOT NULL DEFAULT FALSE
     COMMENT ''before all others, until it was given'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.statistics
                         WHERE table_schema = DATABASE() AND table_name = 'task_touched'
                           AND index_name = 'task_touched_urgent'), 'DO 0',
  'ALTER TABLE task_touched
     ADD KEY task_touched_urgent (task_id, urgent DESC, touched_id),
     ALGORITHM=INPLACE, LOCK=NONE');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'kept_list'
                           AND column_name = 'urgent'), 'DO 0',
  'ALTER TABLE kept_list
     ADD COLUMN urgent INT UNSIGNED NOT NULL DEFAULT 0
     COMMENT ''the positions below it were given to urgent loans of task_touched'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
DEALLOCATE PREPARE lockq_alter;

-- Append only: what managers did to tasks, people and requests. What they did to loans is in
-- work_log.
CREATE TABLE IF NOT EXISTS manage_log (
  manage_id   BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  at          DATETIME(6) NOT NULL
              DEFAULT (TIMESTAMP'1970-01-01 00:00:00'
                       + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND)
              COMMENT 'true time, which no setting of a session moves',
  manager     VARCHAR(64) NOT NULL COMMENT 'who did it',
  account     VARCHAR(288) NOT NULL COMMENT 'MySQL account of the manager',
  action      VARCHAR(32) NOT NULL COMMENT 'task added, task changed, user disabled …',
  task_id     INT UNSIGNED NULL,
  user_id     INT UNSIGNED NULL,
  request_id  BIGINT UNSIGNED NULL,
  before_it   JSON NULL COMMENT 'what was changed, as it was',
  after_it    JSON NULL COMMENT 'and as it is since',
  reason      VARCHAR(512) NULL,
  PRIMARY KEY (manage_id),
  KEY manage_log_task (task_id, manage_id),
  KEY manage_log_user (user_id, manage_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;
