-- What happens to a loan after it was assigned: leases, holds, caps, exclusions, and what cron has
-- to do. Every statement may be run again; MySQL has no ADD COLUMN IF NOT EXISTS, so the catalogue
-- is asked.

SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'task'
                           AND column_name = 'on_complete'), 'DO 0',
  'ALTER TABLE task
     ADD COLUMN on_complete VARCHAR(129) CHARACTER SET utf8mb4 NULL
     COMMENT ''procedure (loan_id BIGINT UNSIGNED, user VARCHAR(64)), run as a loan is completed'',
     ADD COLUMN complete_hold INT UNSIGNED NOT NULL DEFAULT 0
     COMMENT ''seconds for which a completed loan is not offered, though it still matches'',
     ADD COLUMN max_pipeline INT UNSIGNED NULL
     COMMENT ''loans of this task that one user may hold; NULL: any number'',
     ADD COLUMN detail_view VARCHAR(129) CHARACTER SET utf8mb4 NULL
     COMMENT ''view with loan_id and what checkwork shows beside a loan'',
     ADD CONSTRAINT task_complete_hold CHECK (complete_hold <= 31536000),
     ADD CONSTRAINT task_max_pipeline CHECK (max_pipeline BETWEEN 1 AND 1000000)');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;

-- The next moment at which time alone changes what a row means: its lease ends, or it is offered
-- again. NULL: there is none, or work_log has it already. So cron finds its work by one index.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'work'
                           AND column_name = 'due_at'), 'DO 0',
  'ALTER TABLE work
     ADD COLUMN due_at DATETIME(6) NULL
     COMMENT ''when its lease ends, or it is offered again; NULL: never, or noted in work_log''');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
UPDATE work
   SET due_at = IF(state = 'assigned', lease_expires_at, available_at)
 WHERE state IN ('assigned', 'returned') AND due_at IS NULL;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.statistics
                         WHERE table_schema = DATABASE() AND table_name = 'work'
                           AND index_name = 'work_due'), 'DO 0',
  'ALTER TABLE work ADD KEY work_due (due_at)');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;

SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'work_log'
                           AND column_name = 'uuid'), 'DO 0',
  'ALTER TABLE work_log
     MODIFY COLUMN event ENUM(''assigned'',''completed'',''returned'',''never'',''expired'',
                              ''renewed'',''available'') NOT NULL,
     ADD COLUMN uuid CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL
     COMMENT ''of the disposition that wrote it'',
     ADD COLUMN excluded_until DATETIME(6) NULL
     COMMENT ''of a returned loan: not offered to this user before''');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;

SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'work_requested'
                           AND column_name = 'excluded'), 'DO 0',
  'ALTER TABLE work_requested
     ADD COLUMN excluded INT UNSIGNED NOT NULL DEFAULT 0
     COMMENT ''loans that were left, but are not offered to this user: work_exclusion''');
PREPARE lockq_alter FROM @alter;
EXECUTE lockq_alter;
DEALLOCATE PREPARE lockq_alter;

-- Who returned a loan because it is not for them. In the order in which leaders ask: for a task and
-- the users who wait. No foreign keys: it only ever leaves out.
CREATE TABLE IF NOT EXISTS work_exclusion (
  task_id  INT UNSIGNED NOT NULL,
  user_id  INT UNSIGNED NOT NULL,
  loan_id  BIGINT UNSIGNED NOT NULL,
  until    DATETIME(6) NOT NULL COMMENT 'not offered to this user again before then',
  PRIMARY KEY (task_id, user_id, loan_id),
  KEY work_exclusion_until (until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- From what was said about a loan, so that it is one statement, and no account needs the right to
-- exclude anybody.
DROP TRIGGER IF EXISTS work_log_excludes;
DELIMITER //
CREATE TRIGGER work_log_excludes AFTER INSERT ON work_log FOR EACH ROW
  IF NEW.excluded_until IS NOT NULL THEN
    INSERT INTO work_exclusion (task_id, user_id, loan_id, until)
      VALUES (NEW.task_id, NEW.user_id, NEW.loan_id, NEW.excluded_until)
      ON DUPLICATE KEY UPDATE until = GREATEST(until, NEW.excluded_until);
  END IF//

-- Calls a task's on_complete, whose name has been checked: all or nothing for this loan, and in one
-- round trip. The savepoint tells whether the transaction still is the same one: it is gone with
-- it, and @lockq_ended says so. A deadlock or a lock wait is for the caller, who tries all again.
-- The time zone is put right at once: what comes next in this transaction asks for the time.
DROP PROCEDURE IF EXISTS work_completes//
CREATE PROCEDURE work_completes (IN p_procedure VARCHAR(264), IN p_loan_id BIGINT UNSIGNED,
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
  EXECUTE lockq_on_complete USING @lockq_loan, @lockq_for;
  DEALLOCATE PREPARE lockq_on_complete;
  RELEASE SAVEPOINT lockq_on_complete;
  SET time_zone = '+00:00';
END//
DELIMITER ;
