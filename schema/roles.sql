-- The rights that the programs need, and no more. lockq-migrate applies this file each time.
-- MySQL's roles belong to the server. So that an account of one database can do nothing in another
-- one, the host part of a role is the database: lockq-migrate makes 'lockq_worker'@'bank' of
-- lockq_worker.
-- lockq_worker asks for work and disposes of it. lockq_viewer only looks. lockq_query runs heavy
-- queries where they have an account of their own. lockq_cron runs disposition --expire
-- --purge-after. lockq_manager defines tasks, knows the people, and corrects mistakes.
-- lockq_follower reads the change feed: lockqstat --follow. lockq_eraser forgets people.
CREATE ROLE IF NOT EXISTS lockq_worker, lockq_viewer, lockq_query, lockq_cron, lockq_manager;
CREATE ROLE IF NOT EXISTS lockq_follower, lockq_eraser;

-- A worker reads the tables, writes through the views of doors/, and may lock rows: for that
-- MySQL wants the right to change a column, so these are columns with which nothing can be done.
GRANT SELECT ON app_user TO lockq_worker;
GRANT SELECT ON task TO lockq_worker;
GRANT SELECT ON schema_version TO lockq_worker;
GRANT SELECT, UPDATE (each_once) ON task_lock TO lockq_worker;
GRANT SELECT, UPDATE (epoch, holder, since, wakes, left_pending) ON lead_in TO lockq_worker;
GRANT SELECT, UPDATE (lockable) ON wake_in TO lockq_worker;
GRANT SELECT, UPDATE (pending) ON work_requested TO lockq_worker;
GRANT INSERT (uuid, user_id, account, task_id, asked, requested, outcome, fresh_after, served_at)
  ON request_in TO lockq_worker;
GRANT SELECT, UPDATE (requested, outcome, seen_at, fresh_after, served_at)
  ON request_mine TO lockq_worker;
GRANT SELECT, UPDATE (requested, assigned, outcome, excluded, epoch, reason, checked, served_at)
  ON request_end TO lockq_worker;
GRANT SELECT, UPDATE (lockable) ON work TO lockq_worker;
GRANT SELECT ON work_log TO lockq_worker;
GRANT INSERT ON log_in TO lockq_worker;
GRANT SELECT ON leader_run TO lockq_worker;
GRANT INSERT ON run_in TO lockq_worker;
GRANT SELECT ON kept_list TO lockq_worker;
GRANT SELECT ON task_refill TO lockq_worker;
GRANT SELECT ON task_touched TO lockq_worker;
GRANT SELECT, UPDATE (lockable) ON kept_loan TO lockq_worker;
GRANT SELECT, UPDATE (lockable) ON pipeline_lock TO lockq_worker;
GRANT SELECT ON work_exclusion TO lockq_worker;
GRANT SELECT ON other_has TO lockq_worker;
GRANT SELECT ON other_done TO lockq_worker;
GRANT SELECT ON own_done TO lockq_worker;
GRANT INSERT ON exclusion_in TO lockq_worker;
GRANT SELECT, DELETE ON exclusion_out TO lockq_worker;
GRANT EXECUTE ON PROCEDURE task_rows TO lockq_worker;
GRANT EXECUTE ON PROCEDURE work_opens TO lockq_worker;
GRANT EXECUTE ON PROCEDURE work_moves TO lockq_worker;
GRANT EXECUTE ON PROCEDURE work_completes_2 TO lockq_worker;
GRANT EXECUTE ON PROCEDURE list_begins TO lockq_worker;
GRANT EXECUTE ON PROCEDURE list_serves_2 TO lockq_worker;
GRANT EXECUTE ON PROCEDURE list_tops_2 TO lockq_worker;
GRANT EXECUTE ON PROCEDURE list_sweeps_2 TO lockq_worker;
GRANT EXECUTE ON PROCEDURE refill_begins TO lockq_worker;
GRANT EXECUTE ON PROCEDURE refill_notes TO lockq_worker;
GRANT EXECUTE ON PROCEDURE pipeline_rows TO lockq_worker;
GRANT EXECUTE ON PROCEDURE leaders TO lockq_worker;
GRANT EXECUTE ON PROCEDURE leaders_since_check_1 TO lockq_worker;
GRANT EXECUTE ON PROCEDURE holders_1 TO lockq_worker;
GRANT EXECUTE ON PROCEDURE trouble_adds TO lockq_worker;
GRANT SELECT ON task_trouble TO lockq_worker;
GRANT EXECUTE ON PROCEDURE follow_list TO lockq_worker;

-- Not task_lock and not task_wake: an account that can read them could stop every leader with
-- FOR SHARE.
GRANT SELECT ON app_user TO lockq_viewer;
GRANT SELECT ON task TO lockq_viewer;
GRANT SELECT ON schema_version TO lockq_viewer;
GRANT SELECT ON work_requested TO lockq_viewer;
GRANT SELECT ON work TO lockq_viewer;
GRANT SELECT ON work_log TO lockq_viewer;
GRANT SELECT ON leader_run TO lockq_viewer;
GRANT SELECT ON kept_list TO lockq_viewer;
GRANT SELECT ON task_refill TO lockq_viewer;
GRANT SELECT ON task_touched TO lockq_viewer;
GRANT SELECT ON kept_loan TO lockq_viewer;
GRANT SELECT ON work_exclusion TO lockq_viewer;
GRANT EXECUTE ON PROCEDURE leaders TO lockq_viewer;
GRANT EXECUTE ON PROCEDURE leaders_since_check_1 TO lockq_viewer;
GRANT EXECUTE ON PROCEDURE holders_1 TO lockq_viewer;
GRANT SELECT ON task_trouble TO lockq_viewer;
GRANT EXECUTE ON PROCEDURE follow_list TO lockq_viewer;

-- The query reads these columns to leave out the loans that are not available. The manager of a
-- task grants SELECT on its candidates view.
GRANT SELECT (task_id, loan_id, state, version, available_at, lease_expires_at, changed_at) ON work
  TO lockq_query;

-- The rights of a worker, and those to delete what ended long ago.
GRANT lockq_worker TO lockq_cron;
GRANT SELECT, DELETE ON log_out TO lockq_cron;
GRANT SELECT, DELETE ON request_out TO lockq_cron;
GRANT SELECT, DELETE ON run_out TO lockq_cron;

-- The rights of the others: a manager sees by them what is granted to each of these roles.
GRANT lockq_worker, lockq_viewer, lockq_query TO lockq_manager;
GRANT SELECT ON manage_log TO lockq_manager;
GRANT EXECUTE ON PROCEDURE manage_define TO lockq_manager;
GRANT EXECUTE ON PROCEDURE manage_remove_2 TO lockq_manager;
GRANT EXECUTE ON PROCEDURE manage_person TO lockq_manager;
GRANT EXECUTE ON PROCEDURE manage_loans_2 TO lockq_manager;
GRANT EXECUTE ON PROCEDURE manage_urgent_2 TO lockq_manager;
GRANT EXECUTE ON PROCEDURE manage_cancel TO lockq_manager;

-- Not a manager's right: whoever erases history should not be who makes it.
GRANT lockq_worker TO lockq_eraser;
GRANT EXECUTE ON PROCEDURE manage_forget_2 TO lockq_eraser;

-- The rights of a viewer, and those to keep a place in the log.
GRANT lockq_viewer TO lockq_follower;
GRANT EXECUTE ON PROCEDURE follow_begins TO lockq_follower;
GRANT EXECUTE ON PROCEDURE follow_looks TO lockq_follower;
GRANT EXECUTE ON PROCEDURE follow_takes TO lockq_follower;
GRANT EXECUTE ON PROCEDURE follow_moves TO lockq_follower;
GRANT EXECUTE ON PROCEDURE follow_ends TO lockq_follower;
GRANT EXECUTE ON PROCEDURE follow_writers TO lockq_follower;
