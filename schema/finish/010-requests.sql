-- Programs before schema 10 left `requested` as it was where a request ended without a loan. Each
-- batch is a transaction, so nobody waits for all of them. Every statement may be run again.
DELIMITER //
DROP PROCEDURE IF EXISTS lockq_lower//
CREATE PROCEDURE lockq_lower ()
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
BEGIN
  DECLARE v_from, v_to BIGINT UNSIGNED DEFAULT 0;
  REPEAT
    SELECT MAX(b.request_id) INTO v_to
      FROM (SELECT request_id FROM work_requested FORCE INDEX (PRIMARY)
             WHERE request_id > v_from ORDER BY request_id LIMIT 1000) AS b;
    UPDATE work_requested FORCE INDEX (PRIMARY)
       SET requested = 0
     WHERE request_id > v_from AND request_id <= v_to
       AND outcome <> 'pending' AND assigned = 0 AND requested > 0;
    SET v_from = v_to;
  UNTIL v_to IS NULL END REPEAT;
END//
DELIMITER ;
CALL lockq_lower();
DROP PROCEDURE lockq_lower;
-- They removed tasks, disabled and forgot people, cancelled requests, and made and changed tasks by
-- these.
DROP PROCEDURE IF EXISTS manage_removal;
DROP PROCEDURE IF EXISTS manage_user;
DROP PROCEDURE IF EXISTS manage_request;
DROP PROCEDURE IF EXISTS manage_task;
-- They corrected assignments, had loans offered first, forgot people, and told who the manager is.
DROP PROCEDURE IF EXISTS manage_loans;
DROP PROCEDURE IF EXISTS manage_urgent;
DROP PROCEDURE IF EXISTS manage_forget;
DROP PROCEDURE IF EXISTS manage_as;
-- They gave loans of a kept list.
DROP PROCEDURE IF EXISTS list_serves;
DROP PROCEDURE IF EXISTS list_pops;
