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
