-- The on_complete procedure of each task. lockq calls it with the loan's id and the user's name, in
-- the transaction that completes the loan in lockq's tables. The procedure changes the business
-- data, so that the loan stops matching the task's view. Each procedure looks up what there is to
-- do, so calling it twice does no harm.
--
-- Such a procedure must not commit or run DDL, and must not catch errors: lockq rolls everything
-- back, and tries again after a deadlock. Each procedure locks the loan's row first, by its key,
-- and then writes documents of that loan only. So two procedures for one loan run one after the
-- other, and they never wait for each other in a circle.
--
-- SQL SECURITY DEFINER: they run with the rights of the account that ran lockq-migrate, so
-- workers change the business data only by calling them. Every statement may be run again. DROP
-- PROCEDURE also drops the right to call it, so each procedure is followed by its GRANT.
CREATE ROLE IF NOT EXISTS lockq_worker;

DELIMITER //

DROP PROCEDURE IF EXISTS example_hold_loan//
CREATE PROCEDURE example_hold_loan (IN p_loan_id BIGINT UNSIGNED)
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_loan_id BIGINT UNSIGNED;
  DECLARE v_message VARCHAR(128);

  SELECT loan_id INTO v_loan_id FROM loan WHERE loan_id = p_loan_id FOR UPDATE;
  IF v_loan_id IS NULL THEN
    SET v_message = CONCAT('there is no loan ', p_loan_id, ' any more');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_message;
  END IF;
END//

-- 1. The applicant was asked and hands in identity papers, which have to be checked.
DROP PROCEDURE IF EXISTS complete_ask_for_identity//
CREATE PROCEDURE complete_ask_for_identity (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
  SQL SECURITY DEFINER
BEGIN
  CALL example_hold_loan(p_loan_id);
  INSERT INTO loan_document (loan_id, kind, status, submitted_at, checksum)
    SELECT p_loan_id, 'identity', 'submitted', NOW(), SHA2(UUID(), 256)
      FROM DUAL
     WHERE NOT EXISTS (SELECT 1 FROM loan_document AS d
                        WHERE d.loan_id = p_loan_id AND d.kind = 'identity');
END//
GRANT EXECUTE ON PROCEDURE complete_ask_for_identity TO lockq_worker//

-- 2. The identity papers are in order.
DROP PROCEDURE IF EXISTS complete_verify_identity//
CREATE PROCEDURE complete_verify_identity (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
  SQL SECURITY DEFINER
BEGIN
  CALL example_hold_loan(p_loan_id);
  UPDATE loan_document
     SET status = 'verified', checked_at = NOW(), checked_by = p_user
   WHERE loan_id = p_loan_id AND kind = 'identity' AND status = 'submitted';
END//
GRANT EXECUTE ON PROCEDURE complete_verify_identity TO lockq_worker//

-- 3. The pay stubs fit the income that the applicant claims.
DROP PROCEDURE IF EXISTS complete_verify_income//
CREATE PROCEDURE complete_verify_income (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
  SQL SECURITY DEFINER
BEGIN
  CALL example_hold_loan(p_loan_id);
  UPDATE loan_document
     SET status = 'verified', checked_at = NOW(), checked_by = p_user
   WHERE loan_id = p_loan_id AND kind = 'pay_stub' AND status = 'submitted';
END//
GRANT EXECUTE ON PROCEDURE complete_verify_income TO lockq_worker//

-- 4. The tax returns were read.
DROP PROCEDURE IF EXISTS complete_read_tax_return//
CREATE PROCEDURE complete_read_tax_return (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
  SQL SECURITY DEFINER
BEGIN
  CALL example_hold_loan(p_loan_id);
  UPDATE loan_document
     SET status = 'verified', checked_at = NOW(), checked_by = p_user
   WHERE loan_id = p_loan_id AND kind = 'tax_return' AND status = 'submitted';
END//
GRANT EXECUTE ON PROCEDURE complete_read_tax_return TO lockq_worker//

-- 5. The property was appraised. An appraisal that the applicant handed in counts as verified. If
-- there is none, one is added.
DROP PROCEDURE IF EXISTS complete_appraise_property//
CREATE PROCEDURE complete_appraise_property (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
  SQL SECURITY DEFINER
BEGIN
  CALL example_hold_loan(p_loan_id);
  UPDATE loan_document
     SET status = 'verified', checked_at = NOW(), checked_by = p_user
   WHERE loan_id = p_loan_id AND kind = 'appraisal' AND status = 'submitted';
  INSERT INTO loan_document (loan_id, kind, status, submitted_at, checked_at, checked_by, checksum)
    SELECT p_loan_id, 'appraisal', 'verified', NOW(), NOW(), p_user, SHA2(UUID(), 256)
      FROM DUAL
     WHERE NOT EXISTS (SELECT 1 FROM loan_document AS d
                        WHERE d.loan_id = p_loan_id AND d.kind = 'appraisal'
                          AND d.status = 'verified');
END//
GRANT EXECUTE ON PROCEDURE complete_appraise_property TO lockq_worker//

-- 6. The applicant was asked again, and hands in one new document of each rejected kind.
DROP PROCEDURE IF EXISTS complete_ask_again//
CREATE PROCEDURE complete_ask_again (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
  SQL SECURITY DEFINER
BEGIN
  CALL example_hold_loan(p_loan_id);
  INSERT INTO loan_document (loan_id, kind, status, submitted_at, checksum)
    SELECT p_loan_id, r.kind, 'submitted', NOW(), SHA2(UUID(), 256)
      FROM (SELECT DISTINCT d.kind
              FROM loan_document AS d
             WHERE d.loan_id = p_loan_id AND d.status = 'rejected'
               AND NOT EXISTS (SELECT 1 FROM loan_document AS n
                                WHERE n.loan_id = d.loan_id AND n.kind = d.kind
                                  AND n.status <> 'rejected')) AS r
     ORDER BY r.kind;
END//
GRANT EXECUTE ON PROCEDURE complete_ask_again TO lockq_worker//

-- 7. The bank statements are in order.
DROP PROCEDURE IF EXISTS complete_verify_bank_account//
CREATE PROCEDURE complete_verify_bank_account (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
  SQL SECURITY DEFINER
BEGIN
  CALL example_hold_loan(p_loan_id);
  UPDATE loan_document
     SET status = 'verified', checked_at = NOW(), checked_by = p_user
   WHERE loan_id = p_loan_id AND kind = 'bank_statement' AND status = 'submitted';
END//
GRANT EXECUTE ON PROCEDURE complete_verify_bank_account TO lockq_worker//

-- 8. The application was decided. This bank approves what was checked. To decline a loan, somebody
-- sets loan.stage to 'declined' before the user completes it.
DROP PROCEDURE IF EXISTS complete_decide//
CREATE PROCEDURE complete_decide (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
  SQL SECURITY DEFINER
BEGIN
  CALL example_hold_loan(p_loan_id);
  UPDATE loan SET stage = 'approved' WHERE loan_id = p_loan_id AND stage = 'submitted';
END//
GRANT EXECUTE ON PROCEDURE complete_decide TO lockq_worker//

-- 9. A second user has looked at the loan, and it stays declined.
DROP PROCEDURE IF EXISTS complete_second_look//
CREATE PROCEDURE complete_second_look (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
  SQL SECURITY DEFINER
BEGIN
  CALL example_hold_loan(p_loan_id);
  UPDATE loan
     SET reviewed_by = p_user
   WHERE loan_id = p_loan_id AND stage = 'declined' AND reviewed_by IS NULL;
END//
GRANT EXECUTE ON PROCEDURE complete_second_look TO lockq_worker//

-- 10. The papers are signed, and the loan is funded.
DROP PROCEDURE IF EXISTS complete_prepare_closing//
CREATE PROCEDURE complete_prepare_closing (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
  SQL SECURITY DEFINER
BEGIN
  CALL example_hold_loan(p_loan_id);
  UPDATE loan SET stage = 'funded' WHERE loan_id = p_loan_id AND stage = 'approved';
END//
GRANT EXECUTE ON PROCEDURE complete_prepare_closing TO lockq_worker//

DELIMITER ;
