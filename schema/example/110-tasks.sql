-- Ten tasks of several managers, and the candidates view of each. The view shows loan_id and
-- priority. The smallest priority comes first, and it may be of any type that sorts: a date, an
-- amount, a word. A view may show more columns, for the people who look at it. It may show a loan
-- more than once: lockq takes each loan once, with its smallest priority. lockq leaves out the
-- loans that somebody already has, so the view need not.
--
-- SQL SECURITY DEFINER: the views run with the rights of the account that ran lockq-migrate, so
-- workers may read the views but not the tables behind them. Every statement may be run again.

-- 1. Loans without identity papers. The one that has waited longest comes first.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_ask_for_identity AS
  SELECT l.loan_id,
         l.submitted_at AS priority,
         l.applicant, l.amount, l.city, l.state
    FROM loan AS l
   WHERE l.stage = 'submitted'
     AND NOT EXISTS (SELECT 1 FROM loan_document AS d
                      WHERE d.loan_id = l.loan_id AND d.kind = 'identity');

-- 2. Identity papers to check. The oldest paper comes first.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_verify_identity AS
  SELECT l.loan_id,
         d.submitted_at AS priority,
         d.document_id, l.applicant, l.amount
    FROM loan_document AS d
    JOIN loan AS l ON l.loan_id = d.loan_id
   WHERE d.kind = 'identity'
     AND d.status = 'submitted'
     AND l.stage = 'submitted';

-- 3. Pay stubs to compare with the income that the applicant claims. Small loans come first, since
-- they are quick.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_verify_income AS
  SELECT l.loan_id,
         l.amount AS priority,
         d.document_id, l.applicant, d.submitted_at
    FROM loan_document AS d
    JOIN loan AS l ON l.loan_id = d.loan_id
   WHERE d.kind = 'pay_stub'
     AND d.status = 'submitted'
     AND l.stage = 'submitted';

-- 4. Tax returns to read. Large loans come first, so the amount is negative.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_read_tax_return AS
  SELECT l.loan_id,
         -l.amount AS priority,
         d.document_id, l.applicant, l.amount, d.submitted_at
    FROM loan_document AS d
    JOIN loan AS l ON l.loan_id = d.loan_id
   WHERE d.kind = 'tax_return'
     AND d.status = 'submitted'
     AND l.stage = 'submitted';

-- 5. Large loans whose property nobody has appraised. They are sorted by state and city, so that
-- one trip serves several.
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

-- 6. Rejected documents, where the loan has no other of that kind. The one that was rejected first
-- comes first.
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

-- 7. Bank statements that were submitted and not verified. The oldest comes first. A statement that
-- is known to be forged is no work for anyone.
--
-- This is the example's heavy query. It computes the seal of each entry of example_forgery, and
-- passes over an entry whose reporter took it back: its seal stands in the column revoked.
-- `seedloans --heavy SECONDS` sets how long that takes. This is real work for the CPU in a real
-- scan, since SLEEP() would behave differently: the server looks after the client during SLEEP().
-- Because of GROUP BY the server makes the list of forgeries once per query, however many loans
-- match and whatever LIMIT is put around the view.
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

-- The task keeps a list, and the view above can't say within 250 milliseconds whether a loan of the
-- list still matches: no condition on loan_id reaches the inner GROUP BY, so the server makes the
-- list of all forgeries for each question. This view is asked instead. It shows the same loans. But
-- it looks up the entry of a statement's checksum by its key, and computes at most the seals of
-- the loans that it is asked about.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW check_verify_bank_account AS
  SELECT l.loan_id
    FROM loan_document AS d
    JOIN loan AS l ON l.loan_id = d.loan_id
    LEFT JOIN (example_forgery AS f
               JOIN example_setting AS s ON s.name = 'heavy_rounds')
      ON f.checksum = d.checksum
     AND CASE WHEN s.value = 0 THEN f.revoked = ''
              ELSE SHA2(REPEAT(f.checksum, s.value), 512) <> f.revoked END
   WHERE d.kind = 'bank_statement'
     AND d.status = 'submitted'
     AND l.stage = 'submitted'
     AND f.checksum IS NULL;

-- 8. Loans whose papers are all there and verified: somebody can decide. The oldest application
-- comes first.
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

-- 9. Declined loans that somebody else should look at once more. Large loans come first.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_second_look AS
  SELECT l.loan_id,
         -l.amount AS priority,
         l.applicant, l.amount, l.submitted_at
    FROM loan AS l
   WHERE l.stage = 'declined'
     AND l.reviewed_by IS NULL;

-- 10. Approved loans whose papers must be prepared for signing. The oldest application comes first.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW candidates_prepare_closing AS
  SELECT l.loan_id,
         l.submitted_at AS priority,
         l.applicant, l.amount, l.city, l.state
    FROM loan AS l
   WHERE l.stage = 'approved';

-- checkwork shows these views beside a loan. Each has one row per loan, however many documents the
-- loan has.
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

-- The example's tasks. seedloans makes missing ones again from this table, and leaves alone those
-- that a manager has changed. Only this file writes the table, so it is made anew each time.
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
  cache_ttl        INT UNSIGNED NOT NULL,
  refresh_after    INT UNSIGNED NULL,
  check_view       VARCHAR(129) CHARACTER SET utf8mb4 NULL,
  PRIMARY KEY (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;
INSERT INTO example_task VALUES
  (1, 'Ask applicant for identity papers', 'ingrid', 'candidates_ask_for_identity',
   'complete_ask_for_identity', 'detail_applicant', 10, NULL, NULL, 0, 0, NULL, NULL),
  -- A user who has begun with the papers has four hours.
  (2, 'Verify identity', 'ingrid', 'candidates_verify_identity',
   'complete_verify_identity', 'detail_applicant', 5, 10, 240, 0, 0, NULL, NULL),
  (3, 'Verify income from pay stubs', 'rafael', 'candidates_verify_income',
   'complete_verify_income', 'detail_applicant', 5, 10, 240, 0, 0, NULL, NULL),
  (4, 'Read tax return', 'rafael', 'candidates_read_tax_return',
   'complete_read_tax_return', 'detail_applicant', 5, NULL, 480, 0, 0, NULL, NULL),
  -- One trip takes up to three days.
  (5, 'Appraise property of large loan', 'wanda', 'candidates_appraise_property',
   'complete_appraise_property', 'detail_property', 20, 20, 4320, 0, 0, NULL, NULL),
  -- A document that is rejected as soon as it comes in is asked for again after a day.
  (6, 'Ask again for rejected document', 'ingrid', 'candidates_ask_again',
   'complete_ask_again', 'detail_applicant', 10, NULL, NULL, 86400, 0, NULL, NULL),
  -- The only task that keeps a list, since only its query can be heavy. The list is used for ten
  -- minutes: `seedloans --heavy` allows a query of five. It is filled anew when it is five seconds
  -- old and somebody asks, so that a short demo shows it. A real task would wait for minutes.
  (7, 'Verify user submitted bank account', 'marcus', 'candidates_verify_bank_account',
   'complete_verify_bank_account', 'detail_applicant', 5, NULL, NULL, 0, 600, 5,
   'check_verify_bank_account'),
  (8, 'Decide on application', 'yvonne', 'candidates_decide',
   'complete_decide', 'detail_decision', 3, 6, 480, 0, 0, NULL, NULL),
  (9, 'Second look at declined loan', 'yvonne', 'candidates_second_look',
   'complete_second_look', 'detail_decision', 5, NULL, NULL, 0, 0, NULL, NULL),
  (10, 'Prepare closing papers', 'wanda', 'candidates_prepare_closing',
   'complete_prepare_closing', 'detail_property', 5, 10, 1440, 0, 0, NULL, NULL);

INSERT INTO task (task_id, name, manager, candidates_view, on_complete, detail_view, max_count,
                  max_pipeline, lease_minutes, complete_hold, cache_ttl, refresh_after, check_view)
  SELECT e.task_id, e.name, e.manager, e.candidates_view, e.on_complete, e.detail_view,
         e.max_count, e.max_pipeline, e.lease_minutes, e.complete_hold, e.cache_ttl,
         e.refresh_after, e.check_view
    FROM example_task AS e
   WHERE NOT EXISTS (SELECT 1 FROM task AS t WHERE t.task_id = e.task_id)
   ORDER BY e.task_id;

-- Tasks of an earlier example get the columns that did not exist then, if nobody has set one of
-- them.
UPDATE task AS t
  JOIN example_task AS e ON e.task_id = t.task_id AND e.candidates_view = t.candidates_view
   SET t.on_complete = e.on_complete, t.detail_view = e.detail_view,
       t.max_pipeline = e.max_pipeline, t.complete_hold = e.complete_hold,
       t.lease_minutes = COALESCE(t.lease_minutes, e.lease_minutes)
 WHERE t.on_complete IS NULL AND t.detail_view IS NULL AND t.max_pipeline IS NULL
   AND t.complete_hold = 0;
UPDATE task AS t
  JOIN example_task AS e ON e.task_id = t.task_id AND e.candidates_view = t.candidates_view
   SET t.cache_ttl = e.cache_ttl, t.refresh_after = e.refresh_after, t.check_view = e.check_view
 WHERE t.cache_ttl = 0 AND t.refresh_after IS NULL AND t.check_view IS NULL;
