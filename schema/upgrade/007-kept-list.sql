-- The list that a query leaves is kept under the task and the epoch of the leader that wrote it.
-- Whoever asks takes loans from its front, without the task's lock. task_candidate and task_list
-- are for older programs. Every statement may be run again.

-- One row for each list. Of a task's lists the one with the highest epoch is used.
CREATE TABLE IF NOT EXISTS kept_list (
  task_id          INT UNSIGNED NOT NULL,
  epoch            BIGINT UNSIGNED NOT NULL COMMENT 'of the leader that wrote the list',
  candidates_view  VARCHAR(129) CHARACTER SET utf8mb4 NOT NULL
                   COMMENT 'that was queried: the list is of no other one',
  as_of            DATETIME(6) NOT NULL COMMENT 'start of the query',
  length           INT UNSIGNED NOT NULL COMMENT 'loans that it began with',
  head             INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'so many of its first ones are taken',
  complete         BOOLEAN NOT NULL COMMENT 'the query found no more',
  query_ms         BIGINT UNSIGNED NOT NULL,
  check_ms         INT UNSIGNED NULL COMMENT 'what asking the view about some loans took',
  taken_per_h      INT UNSIGNED NOT NULL DEFAULT 0
                   COMMENT 'loans that were taken from the list before, per hour',
  touched          INT UNSIGNED NOT NULL DEFAULT 0
                   COMMENT 'loans of task_touched that were put before the first one',
  PRIMARY KEY (task_id, epoch)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- The loans of the lists that nobody got yet, in the order of the query, from position 1000000 on;
-- before it are those of task_touched. Whoever gives a loan of a list that is used locks its row,
-- with SKIP LOCKED, and deletes it in the same transaction.
CREATE TABLE IF NOT EXISTS kept_loan (
  task_id   INT UNSIGNED NOT NULL,
  epoch     BIGINT UNSIGNED NOT NULL,
  position  INT UNSIGNED NOT NULL,
  loan_id   BIGINT UNSIGNED NOT NULL,
  version   BIGINT UNSIGNED NOT NULL COMMENT 'of its row of work as the query saw it; 0: none',
  lockable  TINYINT GENERATED ALWAYS AS (NULL) VIRTUAL
            COMMENT 'the right to change it is the right to lock the row, and no more',
  PRIMARY KEY (task_id, epoch, position),
  KEY kept_loan_loan (task_id, epoch, loan_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- A dump of an older version that was restored over these tables has lower epochs than their lists.
DELETE FROM kept_loan;
DELETE FROM kept_list;

-- The loans that an application wants to be offered before the others of a task: it inserts them in
-- the transaction that changes them. No foreign keys: its transaction waits for nobody here.
CREATE TABLE IF NOT EXISTS task_touched (
  touched_id  BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  task_id     INT UNSIGNED NOT NULL,
  loan_id     BIGINT UNSIGNED NOT NULL,
  touched_at  TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  epoch       BIGINT UNSIGNED NULL COMMENT 'of the list before which the loan was put; NULL: none',
  put_at      DATETIME(6) NULL COMMENT 'when that was first done',
  PRIMARY KEY (touched_id),
  KEY task_touched_line (task_id, touched_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- One row a task: who fills its list behind people's backs. By it one of many programs finds out
-- that it is the one to do that, and how it went the last time is told.
CREATE TABLE IF NOT EXISTS task_refill (
  task_id   INT UNSIGNED NOT NULL,
  tried_at  DATETIME(6) NULL COMMENT 'when a program last set out to fill the list',
  failures  INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'in a row',
  reason    VARCHAR(512) NULL COMMENT 'of the last failure; NULL: it was filled since',
  PRIMARY KEY (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- The row that whoever gives loans locks before it counts those of a user, where the task has
-- max_pipeline. Nothing references it: a lock on app_user would stop other tasks.
CREATE TABLE IF NOT EXISTS pipeline_lock (
  task_id   INT UNSIGNED NOT NULL,
  user_id   INT UNSIGNED NOT NULL,
  lockable  TINYINT GENERATED ALWAYS AS (NULL) VIRTUAL
            COMMENT 'the right to change it is the right to lock the row, and no more',
  PRIMARY KEY (task_id, user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- What the manager says of a list, and how a request was served.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task'
                           AND column_name = 'check_view'), 'DO 0',
  'ALTER TABLE task
     ADD COLUMN check_view VARCHAR(129) CHARACTER SET utf8mb4 NULL
     COMMENT ''view with loan_id that tells whether a kept loan still matches'',
     ADD COLUMN use_unchecked BOOLEAN NOT NULL DEFAULT FALSE
     COMMENT ''kept loans are given, too, if the view takes too long to tell'',
     ADD COLUMN refresh_after INT UNSIGNED NULL
     COMMENT ''seconds after which the list is filled anew; NULL: half of cache_ttl'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'work_requested'
                           AND column_name = 'fresh_after'), 'DO 0',
  'ALTER TABLE work_requested
     ADD COLUMN fresh_after DATETIME(6) NULL
     COMMENT ''served only from a query that began later; NULL: from any'',
     ADD COLUMN source ENUM(''list'') NULL
     COMMENT ''list: from the kept list of the epoch; NULL: by the leader of the epoch'',
     ADD COLUMN checked DATETIME(6) NULL
     COMMENT ''when the view was asked whether its loans match; NULL: it was not'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'leader_run'
                           AND column_name = 'check_ms'), 'DO 0',
  'ALTER TABLE leader_run
     ADD COLUMN check_ms INT UNSIGNED NULL
     COMMENT ''what asking the view about some loans took; NULL: it was not asked'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
DEALLOCATE PREPARE lockq_alter;
