-- Rows of task_lock and task_wake that somebody deleted, made again. Applied after every migration.
-- READ COMMITTED: at MySQL's default level the SELECT would share locks on task_lock, and a shared
-- lock there looks like a leader.
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
