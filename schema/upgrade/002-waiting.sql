-- Leftovers of a query for the next leader, and what leaders and followers tell each other. Every
-- statement may be run again; MySQL has no ADD COLUMN IF NOT EXISTS, so the catalogue is asked.

-- Followers wait on task_wake only where the leader says that it holds the row.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task_lock'
                           AND column_name = 'wakes'), 'DO 0',
  'ALTER TABLE task_lock
     ADD COLUMN wakes BOOLEAN NOT NULL DEFAULT FALSE
     COMMENT ''the leader holds the row of task_wake too: only a dirty read sees it''');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;

SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task'
                           AND column_name = 'cache_ttl'), 'DO 0',
  'ALTER TABLE task
     ADD COLUMN cache_ttl INT UNSIGNED NOT NULL DEFAULT 0
     COMMENT ''seconds for which what a query found is kept for the next leaders; 0: not kept'',
     ADD CONSTRAINT task_cache_ttl CHECK (cache_ttl <= 86400)');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;

SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'leader_run'
                           AND column_name = 'left_pending'), 'DO 0',
  'ALTER TABLE leader_run
     MODIFY COLUMN how ENUM(''query'',''query on the lock connection'',''hand-over'',''failed'',
                            ''query elsewhere'',''cache'') NOT NULL,
     ADD COLUMN left_pending INT UNSIGNED NOT NULL DEFAULT 0
     COMMENT ''requests that its list had nothing for: they lead next''');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
DEALLOCATE PREPARE lockq_alter;

-- What a query found beyond what was given, in its order. Only who holds the task's lock writes it.
CREATE TABLE IF NOT EXISTS task_candidate (
  task_id   INT UNSIGNED NOT NULL,
  position  INT UNSIGNED NOT NULL COMMENT 'in the list of the query',
  loan_id   BIGINT UNSIGNED NOT NULL,
  version   BIGINT UNSIGNED NOT NULL COMMENT 'of its row of work as the query saw it; 0: none',
  as_of     DATETIME(6) NOT NULL COMMENT 'start of the query',
  kept_at   DATETIME(6) NOT NULL COMMENT 'used for cache_ttl seconds from then on',
  PRIMARY KEY (task_id, position),
  CONSTRAINT task_candidate_task FOREIGN KEY (task_id) REFERENCES task (task_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- What one view found is nothing that another one has found.
DROP TRIGGER IF EXISTS task_changes_view;
CREATE TRIGGER task_changes_view AFTER UPDATE ON task FOR EACH ROW
  DELETE FROM task_candidate
   WHERE task_id = NEW.task_id
     AND (NEW.candidates_view <> OLD.candidates_view OR NEW.cache_ttl = 0);
