-- What a disposition does beside the log: it calls on_complete, and keeps a loan from the user who
-- has returned it for others. The disposition itself is a row of the log, and so is the end of a
-- lease: log_in, in work.sql. What is over is deleted by exclusion_out here, and by log_out in
-- feed.sql. rules.sql says what all doors share.

-- An exclusion is what the log says of its person.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW exclusion_in AS
  SELECT e.task_id, e.user_id, e.loan_id, e.until
    FROM work_exclusion AS e
   WHERE EXISTS (SELECT 1 FROM work_log AS l FORCE INDEX (work_log_loan)
                  WHERE l.task_id = e.task_id AND l.loan_id = e.loan_id
                    AND l.user_id = e.user_id AND l.excluded_until = e.until)
  WITH CASCADED CHECK OPTION;

-- It goes when it is over, or when the log has a later one.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW exclusion_out AS
  SELECT e.task_id, e.user_id, e.loan_id, e.until
    FROM work_exclusion AS e FORCE INDEX (PRIMARY)
   WHERE e.until <= TIMESTAMP'1970-01-01 00:00:00'
           + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND
      OR EXISTS (SELECT 1 FROM work_log AS l FORCE INDEX (work_log_loan)
                  WHERE l.task_id = e.task_id AND l.loan_id = e.loan_id
                    AND l.user_id = e.user_id AND l.excluded_until > e.until)
  WITH CASCADED CHECK OPTION;

DELIMITER //
-- Calls a task's on_complete, whose name has been checked: all or nothing for this loan, and in one
-- round trip. The savepoint tells whether the transaction still is the same one: it is gone with
-- it, and @lockq_ended says so. A deadlock or a lock wait is for the caller, who tries all again.
-- on_complete runs in the server's own time zone, which is the bank's: it writes NOW() into the
-- bank's columns. lockq's is put back at once, since what comes next in this transaction asks for
-- the time.
DROP PROCEDURE IF EXISTS work_completes_2//
CREATE PROCEDURE work_completes_2 (IN p_procedure VARCHAR(264), IN p_loan_id BIGINT UNSIGNED,
                                   IN p_user VARCHAR(64))
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
BEGIN
  DECLARE EXIT HANDLER FOR 1205, 1213 RESIGNAL;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    BEGIN
      DECLARE EXIT HANDLER FOR 1305 SET @lockq_ended = 1;
      ROLLBACK TO SAVEPOINT lockq_on_complete;
    END;
    SET time_zone = '+00:00';
    SET @lockq_failed = JSON_ARRAY_APPEND(@lockq_failed, '$', p_loan_id);
    RESIGNAL;
  END;
  SAVEPOINT lockq_on_complete;
  SET @lockq_call = CONCAT('CALL ', p_procedure, '(?, ?)'), @lockq_loan = p_loan_id,
      @lockq_for = p_user;
  PREPARE lockq_on_complete FROM @lockq_call;
  SET time_zone = @@GLOBAL.time_zone;
  EXECUTE lockq_on_complete USING @lockq_loan, @lockq_for;
  DEALLOCATE PREPARE lockq_on_complete;
  RELEASE SAVEPOINT lockq_on_complete;
  SET time_zone = '+00:00';
END//
DELIMITER ;
