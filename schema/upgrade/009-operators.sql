-- What operators look at and follow. Every statement may be run again.

-- The change feed. One row for each reader of it: how far it has come in work_log. No foreign key:
-- whoever writes the log waits for nobody here.
CREATE TABLE IF NOT EXISTS follow_cursor (
  name      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  position  BIGINT UNSIGNED NOT NULL
            COMMENT 'rows of work_log up to this log_id are acknowledged',
  made_at   DATETIME(6) NOT NULL
            DEFAULT (TIMESTAMP'1970-01-01 00:00:00'
                     + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND)
            COMMENT 'true time, which no setting of a session moves',
  moved_at  DATETIME(6) NULL COMMENT 'the same: when rows were last acknowledged',
  account   VARCHAR(288) NOT NULL COMMENT 'MySQL account that made it',
  PRIMARY KEY (name),
  KEY follow_cursor_position (position),
  CONSTRAINT follow_cursor_name
    CHECK (name <> '' AND NOT REGEXP_LIKE(name, '[^A-Za-z0-9._-]'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- What held up calls of the library: a row for each task, operation and ten minutes. Each call that
-- was held up adds to it when it has ended, with no other lock. Rows of two days ago go with the
-- first ones of new ten minutes. No foreign key: a locked table holds up no call here, too.
CREATE TABLE IF NOT EXISTS task_trouble (
  slot        DATETIME NOT NULL COMMENT 'the ten minutes that begin then',
  task_id     INT UNSIGNED NOT NULL COMMENT '0: of no task in particular',
  operation   ENUM('getwork','cancel','disposition','expire','refill','manage') NOT NULL,
  busy        INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'calls that ended with LOCKQ_BUSY',
  lock_waits  INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'statements that ended with 1205',
  deadlocks   INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'statements that ended with 1213',
  retries     INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'what was tried again',
  PRIMARY KEY (slot, task_id, operation)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;
