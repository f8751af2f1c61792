-- What a leader should know before it asks for its list, in the row that it locks anyway. Every
-- statement may be run again; MySQL has no ADD COLUMN IF NOT EXISTS, so the catalogue is asked.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task_lock'
                           AND column_name = 'query_ms'), 'DO 0',
  'ALTER TABLE task_lock
     ADD COLUMN query_ms BIGINT UNSIGNED NULL
     COMMENT ''what the last heavy query took; NULL: none has run'',
     ADD COLUMN left_pending INT UNSIGNED NOT NULL DEFAULT 0
     COMMENT ''requests that the last list had nothing for'',
     ADD COLUMN each_once BOOLEAN NOT NULL DEFAULT FALSE
     COMMENT ''the view shows loans so often that a query takes each once by itself''');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
DEALLOCATE PREPARE lockq_alter;
