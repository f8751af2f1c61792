-- A manager's INSERT INTO task, in a client that has not committed yet, must not stop the leaders
-- of other tasks. In a transaction at MySQL's default level, REPEATABLE READ, an INSERT … SELECT
-- takes shared locks on what it reads, and on the gap behind that: there another task's leader is
-- about to write its row of leader_run. SELECT … INTO a variable is a plain read.
DROP TRIGGER IF EXISTS task_gets_lock;
DELIMITER //
CREATE TRIGGER task_gets_lock AFTER INSERT ON task FOR EACH ROW
BEGIN
  -- A task made again, with its lock row gone, must not begin at an epoch that was used.
  DECLARE v_epoch BIGINT UNSIGNED;
  SELECT COALESCE(MAX(epoch), 0) INTO v_epoch FROM leader_run WHERE task_id = NEW.task_id;
  INSERT IGNORE INTO task_lock (task_id, epoch) VALUES (NEW.task_id, v_epoch);
END//
DELIMITER ;

-- The manager says that the view shows its loans several times, so that it is queried for each once
-- at first, and not only when a list that was cut short has too few of them.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task'
                           AND column_name = 'view_repeats'), 'DO 0',
  'ALTER TABLE task
     ADD COLUMN view_repeats BOOLEAN NOT NULL DEFAULT FALSE
     COMMENT ''candidates_view shows a loan in several rows'',
     ALGORITHM=INSTANT');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
DEALLOCATE PREPARE lockq_alter;

-- One word for where a list comes from. Rows of before keep theirs.
ALTER TABLE leader_run
  MODIFY COLUMN how ENUM('query','query on the lock connection','hand-over','failed',
                         'query elsewhere','cache','crowded','elsewhere','replica') NOT NULL,
  ALGORITHM=INSTANT;
