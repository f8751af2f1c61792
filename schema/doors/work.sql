-- How the log is written, and `work`, which follows it: for each loan that is given, renewed,
-- completed, returned, or whose lease is over. The row of the log comes first, by log_in, and the
-- row of `work` then becomes what it says, by work_opens or work_moves. rules.sql says what all
-- doors share.

-- The log is written before `work`, and says what may become of the row of `work` as it is now:
--   assigned         by whoever leads, for a pending request: a loan without a row, or available
--   expired          by anybody, when the lease is over
--   available        by anybody, when the loan is available again
--   completed        also of an own assignment that was ended by its lease: only such a row is
--                    'returned' and has a lease, since a user's return can't have one
--   any other event  of an own assignment whose lease is not over
CREATE OR REPLACE SQL SECURITY DEFINER VIEW log_in AS
  SELECT l.task_id, l.loan_id, l.event, l.user_id, l.account, l.token, l.version, l.request_id,
         l.available_at, l.lease_expires_at, l.note, l.at, l.uuid, l.excluded_until
    FROM work_log AS l
   WHERE l.at > l.logged_at - INTERVAL 1 DAY
     AND CASE l.event
         WHEN 'assigned' THEN
               l.at <= l.logged_at
           AND EXISTS (SELECT 1 FROM task_lock AS k
                        WHERE k.task_id = l.task_id AND k.holder IS NOT NULL
                          AND l.token = GREATEST(k.epoch, COALESCE(
                                (SELECT v.token + 1 FROM work AS v FORCE INDEX (PRIMARY)
                                  WHERE v.task_id = l.task_id AND v.loan_id = l.loan_id), 0)))
           AND EXISTS (SELECT 1 FROM work_requested AS r
                        WHERE r.request_id = l.request_id AND r.task_id = l.task_id
                          AND r.user_id = l.user_id AND r.account = l.account
                          AND r.outcome = 'pending')
           AND l.available_at IS NULL AND l.excluded_until IS NULL AND l.uuid IS NULL
           AND COALESCE((SELECT CASE w.state
                                WHEN 'assigned' THEN w.lease_expires_at <= l.logged_at
                                                     AND l.version = w.version + 2
                                WHEN 'never' THEN FALSE
                                ELSE (COALESCE(w.available_at <= l.logged_at,
                                               w.state = 'completed')
                                      OR (w.state = 'returned'
                                          AND w.available_at IN (w.changed_at,
                                                                 w.lease_expires_at)))
                                     AND l.version = w.version + 1
                                END
                           FROM work AS w FORCE INDEX (PRIMARY)
                          WHERE w.task_id = l.task_id AND w.loan_id = l.loan_id),
                        l.version = 1)
         ELSE
               l.account = CONVERT(USER() USING utf8mb4) COLLATE utf8mb4_0900_as_cs
           AND (l.event = 'returned' OR l.excluded_until IS NULL)
           AND (l.event NOT IN ('expired', 'available') OR (l.note IS NULL AND l.uuid IS NULL))
           AND EXISTS (
             SELECT 1 FROM work AS w FORCE INDEX (PRIMARY)
              WHERE w.task_id = l.task_id AND w.loan_id = l.loan_id AND w.user_id = l.user_id
                AND w.token = l.token AND w.request_id = l.request_id
                AND l.at <= GREATEST(l.logged_at, w.changed_at)
                AND CASE l.event
                    WHEN 'expired' THEN
                          w.state = 'assigned'
                      AND (w.lease_expires_at <= l.logged_at OR w.due_at <= l.logged_at)
                      AND l.version = w.version + 1
                      AND l.lease_expires_at <=> w.lease_expires_at
                      AND l.available_at <=> w.lease_expires_at
                    WHEN 'available' THEN
                          w.state <> 'assigned' AND w.due_at <= l.logged_at
                      AND l.version = w.version AND l.available_at <=> w.available_at
                      AND l.lease_expires_at <=> w.lease_expires_at
                    ELSE
                          l.version = w.version + 1
                      AND (l.event = 'renewed' OR l.lease_expires_at IS NULL)
                      AND (l.available_at IS NULL
                           OR (l.event = 'returned' AND l.available_at <= l.at + INTERVAL 72 HOUR)
                           OR (l.event = 'completed' AND EXISTS (
                                 SELECT 1 FROM task AS t
                                  WHERE t.task_id = l.task_id AND t.complete_hold > 0
                                    AND l.available_at <= l.at + INTERVAL t.complete_hold SECOND)))
                      AND ((w.state = 'assigned'
                            AND COALESCE(w.lease_expires_at > l.logged_at, TRUE))
                           OR (l.event IN ('completed', 'returned', 'renewed')
                               AND w.state = 'returned' AND w.lease_expires_at <= l.logged_at
                               AND (l.event <> 'renewed' OR EXISTS (
                                      SELECT 1 FROM task AS t, app_user AS o
                                       WHERE t.task_id = l.task_id AND t.max_pipeline IS NULL
                                         AND o.user_id = l.user_id AND o.enabled))))
                      AND EXISTS (
                        SELECT 1 FROM app_user AS u
                         WHERE u.user_id = w.user_id
                           AND (u.account IS NULL
                                OR u.account = CONVERT(LEFT(USER(), CHAR_LENGTH(USER()) - 1
                                     - CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1)))
                                     USING utf8mb4) COLLATE utf8mb4_0900_as_cs))
                    END)
         END
  WITH CASCADED CHECK OPTION;

DELIMITER //
-- The two that write `work`: it becomes what the row of the log with the latest version says, so
-- a replay of the log gives the table. Not the newest row: anybody may note meanwhile that a loan
-- is available, or that a lease is over, which would hide an assignment. Nor may a late completion
-- hide one, logged by raw SQL, without a lock, while a leader gives the loan away: of two rows with
-- the same version an assignment counts, and none that work_refuses. p_loans is a JSON array
-- with an array for each loan: its id, and its task where p_task_id is NULL. Whoever calls them has
-- locked the rows, and has written the log in the same transaction.
DROP PROCEDURE IF EXISTS work_opens//
CREATE PROCEDURE work_opens (IN p_task_id INT UNSIGNED, IN p_loans JSON)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_refused JSON;
  CALL work_refuses(p_task_id, p_loans, v_refused);
  -- Not an upsert, which would overwrite: two users would get one loan without an error.
  INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id, assigned_at,
                    lease_expires_at, note, due_at, changed_at)
    SELECT l.task_id, l.loan_id, l.user_id, 'assigned', l.token, l.version, l.request_id, l.at,
           l.lease_expires_at, l.note, l.lease_expires_at, l.at
      FROM JSON_TABLE(p_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
      STRAIGHT_JOIN work_log AS l FORCE INDEX (PRIMARY)
        ON l.log_id = (SELECT m.log_id FROM work_log AS m FORCE INDEX (work_log_loan)
                        WHERE m.task_id = p_task_id AND m.loan_id = j.loan_id
                          AND COALESCE(NOT JSON_CONTAINS(v_refused, CAST(m.log_id AS JSON)), TRUE)
                        ORDER BY m.version DESC, m.log_id DESC LIMIT 1)
     WHERE l.version = 1
     ORDER BY j.loan_id;
END//

DROP PROCEDURE IF EXISTS work_moves//
CREATE PROCEDURE work_moves (IN p_task_id INT UNSIGNED, IN p_loans JSON)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_refused JSON;
  CALL work_refuses(p_task_id, p_loans, v_refused);
  -- A lease that is over stays in its row: it tells that time has ended the assignment, and not its
  -- user. To note that a loan is available must not raise its version, or the list of a leader that
  -- has seen it would lose it.
  UPDATE JSON_TABLE(p_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                             task_id INT UNSIGNED PATH '$[1]')) AS j
    STRAIGHT_JOIN work_log AS l FORCE INDEX (PRIMARY)
      ON l.log_id = (SELECT m.log_id FROM work_log AS m FORCE INDEX (work_log_loan)
                      WHERE m.task_id = COALESCE(p_task_id, j.task_id)
                        AND m.loan_id = j.loan_id
                        AND COALESCE(NOT JSON_CONTAINS(v_refused, CAST(m.log_id AS JSON)), TRUE)
                      ORDER BY m.version DESC, m.event = 'assigned' DESC, m.log_id DESC
                      LIMIT 1)
    STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
      ON w.task_id = l.task_id AND w.loan_id = l.loan_id
     SET w.version = l.version, w.user_id = l.user_id, w.token = l.token,
         w.request_id = l.request_id,
         w.state = CASE l.event WHEN 'assigned' THEN 'assigned' WHEN 'renewed' THEN 'assigned'
                                WHEN 'expired' THEN 'returned' WHEN 'available' THEN w.state
                                ELSE CONCAT(l.event) END,
         w.assigned_at = IF(l.event = 'assigned', l.at, w.assigned_at),
         w.available_at = l.available_at, w.lease_expires_at = l.lease_expires_at,
         w.note = IF(l.event IN ('expired', 'available'), w.note, l.note),
         w.due_at = IF(l.event IN ('expired', 'available'), NULL,
                       COALESCE(NULLIF(l.available_at, l.at), l.lease_expires_at)),
         w.changed_at = IF(l.event = 'available', w.changed_at, l.at)
   WHERE l.version > w.version
      OR (l.event = 'available' AND l.version = w.version AND w.due_at IS NOT NULL);
END//
DELIMITER ;
