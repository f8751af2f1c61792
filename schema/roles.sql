-- Least privilege: what the programs need, and no more. Applied again after every migration.
-- lockq_worker asks for work and disposes of it; lockq_viewer only looks; lockq_query runs heavy
-- queries, where they have an account of their own; lockq_cron runs disposition --expire, and may
-- purge.
CREATE ROLE IF NOT EXISTS lockq_worker, lockq_viewer, lockq_query, lockq_cron;

GRANT SELECT ON app_user TO lockq_worker;
GRANT SELECT ON task TO lockq_worker;
GRANT SELECT ON schema_version TO lockq_worker;
GRANT SELECT, UPDATE (epoch, holder, since, wakes, left_pending)
  ON task_lock TO lockq_worker;
-- Up to MySQL 8.0.21 FOR SHARE wants more than SELECT; nothing ever writes this column.
GRANT SELECT, UPDATE (task_id) ON task_wake TO lockq_worker;
GRANT SELECT, INSERT, UPDATE ON work_requested TO lockq_worker;
GRANT SELECT, INSERT, UPDATE ON work TO lockq_worker;
GRANT SELECT, INSERT ON work_log TO lockq_worker;
GRANT SELECT, INSERT ON leader_run TO lockq_worker;
GRANT SELECT, INSERT, DELETE ON task_candidate TO lockq_worker;
GRANT SELECT, DELETE ON work_exclusion TO lockq_worker;
GRANT EXECUTE ON PROCEDURE work_completes TO lockq_worker;

-- Not task_lock and not task_wake: who may read them could stop every leader with FOR SHARE.
GRANT SELECT ON app_user TO lockq_viewer;
GRANT SELECT ON task TO lockq_viewer;
GRANT SELECT ON schema_version TO lockq_viewer;
GRANT SELECT ON work_requested TO lockq_viewer;
GRANT SELECT ON work TO lockq_viewer;
GRANT SELECT ON work_log TO lockq_viewer;
GRANT SELECT ON leader_run TO lockq_viewer;
GRANT SELECT ON task_candidate TO lockq_viewer;
GRANT SELECT ON work_exclusion TO lockq_viewer;

-- And the candidates views. The query leaves out what is not available, so it reads that of work.
GRANT SELECT (task_id, loan_id, state, version, available_at, lease_expires_at) ON work
  TO lockq_query;

-- What a worker may do, and delete what ended long ago.
GRANT lockq_worker TO lockq_cron;
GRANT DELETE ON work_log TO lockq_cron;
GRANT DELETE ON work_requested TO lockq_cron;
GRANT DELETE ON leader_run TO lockq_cron;
