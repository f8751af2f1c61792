-- Up to schema 5 the roles were the server's. Now that the accounts have the roles of this
-- database, the old ones lose what they could do here. A right that is not there is no error: the
-- database may have been made by a lockq that gave fewer. Every statement may be run again.
DELIMITER //
DROP PROCEDURE IF EXISTS lockq_revoke//
CREATE PROCEDURE lockq_revoke (IN p_what VARCHAR(512), IN p_role VARCHAR(32))
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
BEGIN
  -- No such right, on a table, on a routine; no such table, routine, role; the role is not granted.
  DECLARE CONTINUE HANDLER FOR 1141, 1147, 1403, 1146, 1305, 1269, 3523, 3530 BEGIN END;
  SET @lockq_revoke = CONCAT('REVOKE ', p_what, ' FROM ''', p_role, '''@''%''');
  PREPARE lockq_revoke FROM @lockq_revoke;
  EXECUTE lockq_revoke;
  DEALLOCATE PREPARE lockq_revoke;
END//
DROP PROCEDURE IF EXISTS lockq_revoke_all//
CREATE PROCEDURE lockq_revoke_all (IN p_role VARCHAR(32))
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
BEGIN
  CALL lockq_revoke('ALL PRIVILEGES ON app_user', p_role);
  CALL lockq_revoke('ALL PRIVILEGES ON task', p_role);
  CALL lockq_revoke('ALL PRIVILEGES ON task_lock', p_role);
  CALL lockq_revoke('ALL PRIVILEGES ON task_wake', p_role);
  CALL lockq_revoke('ALL PRIVILEGES ON task_candidate', p_role);
  CALL lockq_revoke('ALL PRIVILEGES ON work_requested', p_role);
  CALL lockq_revoke('ALL PRIVILEGES ON work', p_role);
  CALL lockq_revoke('ALL PRIVILEGES ON work_log', p_role);
  CALL lockq_revoke('ALL PRIVILEGES ON work_exclusion', p_role);
  CALL lockq_revoke('ALL PRIVILEGES ON leader_run', p_role);
  CALL lockq_revoke('ALL PRIVILEGES ON schema_version', p_role);
  CALL lockq_revoke('EXECUTE ON PROCEDURE work_completes', p_role);
  -- Since 006 it had the role of this database.
  CALL lockq_revoke(CONCAT('''', p_role, '''@''', DATABASE(), ''''), p_role);
END//
DELIMITER ;
CALL lockq_revoke_all('lockq_worker');
CALL lockq_revoke_all('lockq_viewer');
CALL lockq_revoke_all('lockq_query');
CALL lockq_revoke_all('lockq_cron');
DROP PROCEDURE lockq_revoke_all;
DROP PROCEDURE lockq_revoke;
