-- Makes the rows of task_lock and task_wake again that somebody deleted. lockq-migrate applies
-- this file each time. At MySQL's default level the SELECT would take shared locks on task_lock,
-- and a shared lock there looks like a leader. READ COMMITTED takes none.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
INSERT INTO task_lock (task_id, epoch)
  SELECT t.task_id, COALESCE((SELECT MAX(l.epoch) FROM leader_run AS l
                               WHERE l.task_id = t.task_id), 0)
    FROM task AS t
   WHERE NOT EXISTS (SELECT 1 FROM task_lock AS k WHERE k.task_id = t.task_id);
INSERT INTO task_wake (task_id)
  SELECT t.task_id
    FROM task AS t
   WHERE NOT EXISTS (SELECT 1 FROM task_wake AS w WHERE w.task_id = t.task_id);
