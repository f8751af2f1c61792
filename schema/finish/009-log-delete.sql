-- Programs before schema 9 purge work_log itself, and know nothing of cursors. Since then rows go
-- through the view log_out. A right that is not there is no error. Every statement may be run
-- again.
DELIMITER //
DROP PROCEDURE IF EXISTS lockq_revoke//
CREATE PROCEDURE lockq_revoke ()
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
BEGIN
  DECLARE CONTINUE HANDLER FOR 1141, 1147 BEGIN END;
  REVOKE DELETE ON work_log FROM lockq_cron;
END//
DELIMITER ;
CALL lockq_revoke();
DROP PROCEDURE lockq_revoke;
