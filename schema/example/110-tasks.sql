-- Ten tasks of several managers, and the view behind each. A candidates view shows loan_id and
-- priority, smallest first, of any type that sorts: a date, an amount, a word. It may show more
-- columns for the people who look at it, and may show a loan more than once: lockq takes each loan
-- once, with its smallest priority. Which loans are taken already is not the view's business.
--
-- Views run with the rights of the account that migrates (SQL SECURITY DEFINER): workers may read
-- the views and nothing of the business behind them. Every statement may be run again.

-- 1. Nobody can start without knowing who asks. Longest waiting first.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_ask_for_identity AS
  SELECT l.loan_id,
         l.submitted_at AS priority,
         l.applicant, l.amount, l.city, l.state
    FROM loan AS l
   WHERE l.stage = 'submitted'
     AND NOT EXISTS (SELECT 1 FROM loan_document AS d
                      WHERE d.loan_id = l.loan_id AND d.kind = 'identity');

-- 2. Identity papers to check. Oldest paper first.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_verify_identity AS
  SELECT l.loan_id,
         d.submitted_at AS priority,
         d.document_id, l.applicant, l.amount
    FROM loan_document AS d
    JOIN loan AS l ON l.loan_id = d.loan_id
   WHERE d.kind = 'identity'
     AND d.status = 'submitted'
     AND l.stage = 'submitted';

-- 3. Pay stubs to compare with what the applicant says to earn. Small loans first: they are quick.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_verify_income AS
  SELECT l.loan_id,
         l.amount AS priority,
         d.document_id, l.applicant, d.submitted_at
    FROM loan_document AS d
    JOIN loan AS l ON l.loan_id = d.loan_id
   WHERE d.kind = 'pay_stub'
     AND d.status = 'submitted'
     AND l.stage = 'submitted';

-- 4. Tax returns to read. Large loans first: the smallest priority comes first, so it is negative.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_read_tax_return AS
  SELECT l.loan_id,
         -l.amount AS priority,
         d.document_id, l.applicant, l.amount, d.submitted_at
    FROM loan_document AS d
    JOIN loan AS l ON l.loan_id = d.loan_id
   WHERE d.kind = 'tax_return'
     AND d.status = 'submitted'
     AND l.stage = 'submitted';

-- 5. Large loans whose property nobody has appraised. By state, so that one trip serves several.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_appraise_property AS
  SELECT l.loan_id,
         CONCAT_WS(', ', l.state, l.city) AS priority,
         l.applicant, l.amount, l.city, l.state
    FROM loan AS l
   WHERE l.stage = 'submitted'
     AND l.amount >= 500000
     AND NOT EXISTS (SELECT 1 FROM loan_document AS d
                      WHERE d.loan_id = l.loan_id AND d.kind = 'appraisal'
                        AND d.status = 'verified');

-- 6. Documents that were rejected, with no other of their kind since. Longest rejected first.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_ask_again AS
  SELECT l.loan_id,
         d.checked_at AS priority,
         d.document_id, d.kind, l.applicant
    FROM loan_document AS d
    JOIN loan AS l ON l.loan_id = d.loan_id
   WHERE d.status = 'rejected'
     AND l.stage = 'submitted'
     AND NOT EXISTS (SELECT 1 FROM loan_document AS n
                      WHERE n.loan_id = d.loan_id AND n.kind = d.kind
                        AND n.status <> 'rejected');

-- 7. Bank statements that were submitted and not verified. Oldest submission first. A statement
-- that is known to be forged is no work for anyone.
--
-- This is the example's heavy query: before the list of forgeries is believed, each entry's seal is
-- computed and compared with the one its reporter took back, and what that costs is set with
-- `seedloans --heavy SECONDS`. It is honest work for the CPU in a real scan, because SLEEP() would
-- behave differently from a query that is really heavy. GROUP BY keeps the list a table that is
-- made once for each query, however many loans match and whatever LIMIT is put around the view.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_verify_bank_account AS
  SELECT l.loan_id,
         d.submitted_at AS priority,
         d.document_id, l.applicant, l.amount, d.checksum
    FROM loan_document AS d
    JOIN loan AS l ON l.loan_id = d.loan_id
    LEFT JOIN (SELECT f.checksum
                 FROM example_forgery AS f
                 JOIN example_setting AS s ON s.name = 'heavy_rounds'
                WHERE CASE WHEN s.value = 0 THEN f.revoked = ''
                           ELSE SHA2(REPEAT(f.checksum, s.value), 512) <> f.revoked END
                GROUP BY f.checksum) AS forged ON forged.checksum = d.checksum
   WHERE d.kind = 'bank_statement'
     AND d.status = 'submitted'
     AND l.stage = 'submitted'
     AND forged.checksum IS NULL;

-- 8. Everything is there and checked: decide. Oldest application first.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_decide AS
  SELECT l.loan_id,
         l.submitted_at AS priority,
         l.applicant, l.amount, l.city, l.state
    FROM loan AS l
   WHERE l.stage = 'submitted'
     AND EXISTS (SELECT 1 FROM loan_document AS d
                  WHERE d.loan_id = l.loan_id AND d.kind = 'identity' AND d.status = 'verified')
     AND EXISTS (SELECT 1 FROM loan_document AS d
                  WHERE d.loan_id = l.loan_id AND d.kind = 'bank_statement'
                    AND d.status = 'verified');

-- 9. Declined loans, looked at once more by somebody else. Large loans first.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_second_look AS
  SELECT l.loan_id,
         -l.amount AS priority,
         l.applicant, l.amount, l.submitted_at
    FROM loan AS l
   WHERE l.stage = 'declined'
     AND l.reviewed_by IS NULL;

-- 10. Approved loans: prepare the papers to sign. Oldest application first.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_prepare_closing AS
  SELECT l.loan_id,
         l.submitted_at AS priority,
         l.applicant, l.amount, l.city, l.state
    FROM loan AS l
   WHERE l.stage = 'approved';

-- What checkwork shows beside a loan: a row a loan, whatever the loan has in documents.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW detail_applicant AS
  SELECT l.loan_id, l.applicant, l.amount, l.city
    FROM loan AS l;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW detail_property AS
  SELECT l.loan_id, l.applicant, l.amount, l.city, l.state
    FROM loan AS l;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW detail_decision AS
  SELECT l.loan_id, l.applicant, l.amount, l.stage,
         DATE(l.submitted_at) AS submitted,
         (SELECT COUNT(*) FROM loan_document AS d
           WHERE d.loan_id = l.loan_id AND d.status = 'verified') AS verified,
         (SELECT COUNT(*) FROM loan_document AS d
           WHERE d.loan_id = l.loan_id AND d.status = 'rejected') AS rejected
    FROM loan AS l;

-- The tasks as they are meant to be. seedloans makes those again that are gone, and leaves alone
-- what a manager has changed. It is this file's alone, so it is made anew each time.
DROP TABLE IF EXISTS example_task;
CREATE TABLE example_task (
  task_id          INT UNSIGNED NOT NULL,
  name             VARCHAR(128) NOT NULL,
  manager          VARCHAR(64) NOT NULL,
  candidates_view  VARCHAR(129) CHARACTER SET utf8mb4 NOT NULL,
  on_complete      VARCHAR(129) CHARACTER SET utf8mb4 NOT NULL,
  detail_view      VARCHAR(129) CHARACTER SET utf8mb4 NOT NULL,
  max_count        INT UNSIGNED NOT NULL,
  max_pipeline     INT UNSIGNED NULL,
  lease_minutes    INT UNSIGNED NULL,
  complete_hold    INT UNSIGNED NOT NULL,
  PRIMARY KEY (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;
INSERT INTO example_task VALUES
  (1, 'Ask applicant for identity papers', 'ingrid', 'candidates_ask_for_identity',
   'complete_ask_for_identity', 'detail_applicant', 10, NULL, NULL, 0),
  -- Who has begun with papers has them for a morning.
  (2, 'Verify identity', 'ingrid', 'candidates_verify_identity',
   'complete_verify_identity', 'detail_applicant', 5, 10, 240, 0),
  (3, 'Verify income from pay stubs', 'rafael', 'candidates_verify_income',
   'complete_verify_income', 'detail_applicant', 5, 10, 240, 0),
  (4, 'Read tax return', 'rafael', 'candidates_read_tax_return',
   'complete_read_tax_return', 'detail_applicant', 5, NULL, 480, 0),
  -- One trip, three days.
  (5, 'Appraise property of large loan', 'wanda', 'candidates_appraise_property',
   'complete_appraise_property', 'detail_property', 20, 20, 4320, 0),
  -- What comes in and is rejected at once is not asked for again before the next day.
  (6, 'Ask again for rejected document', 'ingrid', 'candidates_ask_again',
   'complete_ask_again', 'detail_applicant', 10, NULL, NULL, 86400),
  (7, 'Verify user submitted bank account', 'marcus', 'candidates_verify_bank_account',
   'complete_verify_bank_account', 'detail_applicant', 5, NULL, NULL, 0),
  (8, 'Decide on application', 'yvonne', 'candidates_decide',
   'complete_decide', 'detail_decision', 3, 6, 480, 0),
  (9, 'Second look at declined loan', 'yvonne', 'candidates_second_look',
   'complete_second_look', 'detail_decision', 5, NULL, NULL, 0),
  (10, 'Prepare closing papers', 'wanda', 'candidates_prepare_closing',
   'complete_prepare_closing', 'detail_property', 5, 10, 1440, 0);

INSERT INTO task (task_id, name, manager, candidates_view, on_complete, detail_view, max_count,
                  max_pipeline, lease_minutes, complete_hold)
  SELECT e.task_id, e.name, e.manager, e.candidates_view, e.on_complete, e.detail_view,
         e.max_count, e.max_pipeline, e.lease_minutes, e.complete_hold
    FROM example_task AS e
   WHERE NOT EXISTS (SELECT 1 FROM task AS t WHERE t.task_id = e.task_id)
   ORDER BY e.task_id;

-- Tasks of an earlier example get what there was not at the time, where nobody has set any of it.
UPDATE task AS t
  JOIN example_task AS e ON e.task_id = t.task_id AND e.candidates_view = t.candidates_view
   SET t.on_complete = e.on_complete, t.detail_view = e.detail_view,
       t.max_pipeline = e.max_pipeline, t.complete_hold = e.complete_hold,
       t.lease_minutes = COALESCE(t.lease_minutes, e.lease_minutes)
 WHERE t.on_complete IS NULL AND t.detail_view IS NULL AND t.max_pipeline IS NULL
   AND t.complete_hold = 0;
