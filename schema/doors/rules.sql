-- The doors are the views and procedures that programs write through. Each file has those of one
-- question, and this one has the rules of who may get which loan. The others:
--   request.sql      how a request is made, looked after, cancelled and ended
--   lead.sql         how a process leads a task: its rows, its epoch, its round
--   work.sql         how the log is written, and `work`, which follows it
--   list.sql         what becomes of a kept list: written, moved to the front, swept, filled again
--   take.sql         how a request takes loans from a kept list
--   disposition.sql  what a disposition does beside the log: on_complete, loans for other users
--   manage.sql       what managers change: tasks, people, loans, requests
--   feed.sql         how other programs read the change feed, and what a purge may delete
--   look.sql         what people see where they may not read a table
-- lockq-migrate applies all files each time, in the order of their names. Any order would do: a
-- view reads only tables, and a procedure looks for what it calls when it runs. So all doors belong
-- to the account that ran lockq-migrate last: an account that is dropped must not own them. A
-- procedure that is there and belongs to that account is left, so that nobody at work loses the
-- right to it. So one that changes gets the next number, and not a new word: give_2 comes after
-- give_1, and manage_remove_2 after manage_remove. schema/finish drops the one before.
-- Nobody but the owner of the database writes to lockq's tables. Workers have the right to write to
-- these views, which have rights of their own (SQL SECURITY DEFINER), and a check option: each row
-- that is written must be one that the view shows, and each row that is changed must have been one.
-- To `work` nobody writes: it follows the log, by the procedures of work.sql. So raw SQL in a
-- worker's session can do what the programs do, and little else. SECURITY.md has what is left. The
-- checks take no locks at READ COMMITTED, where the programs work.
-- No functions, which only SUPER may make where the binary log is on: so two expressions stand here
-- several times. USER() is the name that the session logged in with, and the client's host. In a
-- view CURRENT_USER() is the view's owner. The time of a row is a column that no view here has, so
-- its default fills it, and no setting of a session moves it: work_log.logged_at.

-- To whom a task may not give a loan, as its manager has said, in three views: the user who has the
-- loan in the task not_same_user_as, or may still complete it late there; the user who has
-- completed it there; and the one who has completed it in the task itself within not_again hours.
-- What a manager has taken back does not count. Whoever completes a loan has had it since before:
-- so a giver that does not see the completion, since that is not committed, sees the assignment,
-- and no locks are needed between the tasks. The log tells who has completed a loan, since `work`
-- forgets it when somebody else gets the loan.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW other_has AS
  SELECT t.task_id, a.loan_id, a.user_id
    FROM task AS t
    JOIN work AS a FORCE INDEX (PRIMARY)
      ON a.task_id = t.not_same_user_as
   WHERE a.state = 'assigned' OR (a.state = 'returned' AND a.lease_expires_at IS NOT NULL);
CREATE OR REPLACE SQL SECURITY DEFINER VIEW other_done AS
  SELECT t.task_id, c.loan_id, c.user_id
    FROM task AS t
    JOIN work_log AS c FORCE INDEX (work_log_loan)
      ON c.task_id = t.not_same_user_as
   WHERE c.event = 'completed'
     AND NOT EXISTS (SELECT 1 FROM work_log AS n FORCE INDEX (work_log_loan)
                      WHERE n.task_id = c.task_id AND n.loan_id = c.loan_id
                        AND n.version = c.version + 1 AND n.event = 'assigned'
                        AND n.manager IS NOT NULL AND n.user_id = c.user_id);
CREATE OR REPLACE SQL SECURITY DEFINER VIEW own_done AS
  SELECT t.task_id, c.loan_id, c.user_id
    FROM task AS t
    JOIN work_log AS c FORCE INDEX (work_log_loan)
      ON c.task_id = t.task_id
   WHERE t.not_again IS NOT NULL
     AND COALESCE(c.logged_at, c.at) > TIMESTAMP'1970-01-01 00:00:00'
           + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND
           - INTERVAL t.not_again HOUR
     AND c.event = 'completed'
     AND NOT EXISTS (SELECT 1 FROM work_log AS n FORCE INDEX (work_log_loan)
                      WHERE n.task_id = c.task_id AND n.loan_id = c.loan_id
                        AND n.version = c.version + 1 AND n.event = 'assigned'
                        AND n.manager IS NOT NULL AND n.user_id = c.user_id);

DELIMITER //
-- Which rows of the log by which these loans are assigned are no good, since the task may not give
-- them to their users: JSON, NULL if all are. It reads the log after they were written, so a
-- completion in another task that was logged before is seen, or that the user has the loan there.
DROP PROCEDURE IF EXISTS work_refuses//
CREATE PROCEDURE work_refuses (IN p_task_id INT UNSIGNED, IN p_loans JSON, OUT p_refused JSON)
  READS SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_rules INT UNSIGNED;
  SET p_refused = NULL;
  SELECT COUNT(*) INTO v_rules
    FROM task AS t
   WHERE (t.not_same_user_as IS NOT NULL OR t.not_again IS NOT NULL)
     AND COALESCE(t.task_id = p_task_id, TRUE);
  IF v_rules > 0 THEN
    SELECT JSON_ARRAYAGG(l.log_id) INTO p_refused
      FROM JSON_TABLE(p_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                               task_id INT UNSIGNED PATH '$[1]')) AS j
      STRAIGHT_JOIN work_log AS l FORCE INDEX (work_log_loan)
        ON l.task_id = COALESCE(p_task_id, j.task_id) AND l.loan_id = j.loan_id
      LEFT JOIN work AS w FORCE INDEX (PRIMARY)
        ON w.task_id = l.task_id AND w.loan_id = l.loan_id
     WHERE l.event = 'assigned' AND l.version > COALESCE(w.version, 0)
       AND (EXISTS (SELECT 1 FROM other_has AS o
                     WHERE o.task_id = l.task_id AND o.loan_id = l.loan_id
                       AND o.user_id = l.user_id)
            OR EXISTS (SELECT 1 FROM other_done AS o
                        WHERE o.task_id = l.task_id AND o.loan_id = l.loan_id
                          AND o.user_id = l.user_id)
            OR EXISTS (SELECT 1 FROM own_done AS o
                        WHERE o.task_id = l.task_id AND o.loan_id = l.loan_id
                          AND o.user_id = l.user_id));
  END IF;
END//

-- The rows that are locked before a user's loans are counted, for all whose requests are pending.
DROP PROCEDURE IF EXISTS pipeline_rows//
CREATE PROCEDURE pipeline_rows (IN p_task_id INT UNSIGNED)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  INSERT IGNORE INTO pipeline_lock (task_id, user_id)
    SELECT r.task_id, r.user_id
      FROM work_requested AS r FORCE INDEX (work_requested_line)
     WHERE r.task_id = p_task_id AND r.pending = 1
       AND NOT EXISTS (SELECT 1 FROM pipeline_lock AS p
                        WHERE p.task_id = r.task_id AND p.user_id = r.user_id);
END//
DELIMITER ;
