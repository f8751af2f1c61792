-- What the programs write through. lockq-migrate applies this file each time, so all of it belongs
-- to the account that ran it last: an account that is dropped must not own it. A procedure that is
-- there and belongs to that account is left, so one that changes gets a new name.
-- Nobody but the owner of the database writes to lockq's tables. Workers have the right to write to
-- these views, which have rights of their own (SQL SECURITY DEFINER), and a check option: each row
-- that is written must be one that the view shows, and each row that is changed must have been one.
-- To `work` nobody writes: it follows the log, by the procedures at the end. So raw SQL in a
-- worker's session can do what the programs do, and little else. SECURITY.md has what is left. The
-- checks take no locks at READ COMMITTED, where the programs work.
-- No functions, which only SUPER may make where the binary log is on: so two expressions stand here
-- several times. USER() is the name that the session logged in with, and the client's host. In a
-- view CURRENT_USER() is the view's owner. The time of a row is a column that no view here has, so
-- its default fills it, and no setting of a session moves it: work_log.logged_at.

-- A request for a person, by an account that may ask for that person. One that ends without a loan
-- has `requested` = 0. Programs before schema 10 leave it as it was, and may do so here and below.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW request_in AS
  SELECT r.request_id, r.uuid, r.user_id, r.account, r.task_id, r.asked, r.requested, r.outcome,
         r.fresh_after, r.served_at
    FROM work_requested AS r
   WHERE r.account = CONVERT(USER() USING utf8mb4) COLLATE utf8mb4_0900_as_cs
     AND r.asked BETWEEN 1 AND 1000
     AND ((r.outcome = 'cancelled' AND r.requested IN (0, r.asked))
          OR (r.outcome = 'pending' AND r.requested = r.asked
              AND EXISTS (SELECT 1 FROM task AS t
                           WHERE t.task_id = r.task_id AND t.enabled
                             AND r.asked <= t.max_count)))
     AND EXISTS (SELECT 1 FROM app_user AS u
                  WHERE u.user_id = r.user_id AND (u.enabled OR r.outcome = 'cancelled')
                    AND (u.account IS NULL
                         OR u.account = CONVERT(LEFT(USER(), CHAR_LENGTH(USER()) - 1
                              - CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1))) USING utf8mb4)
                              COLLATE utf8mb4_0900_as_cs))
  WITH CASCADED CHECK OPTION;

-- A pending request is looked after, or cancelled, by whoever may ask for its person. One that a
-- leader has ended stays ended.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW request_mine AS
  SELECT r.request_id, r.uuid, r.requested, r.outcome, r.seen_at, r.fresh_after, r.served_at
    FROM work_requested AS r
   WHERE r.outcome IN ('pending', 'cancelled')
     AND r.epoch IS NULL AND r.assigned = 0
     AND (r.requested = r.asked OR (r.outcome = 'cancelled' AND r.requested = 0))
     AND (r.outcome = 'cancelled' OR r.served_at IS NULL)
     AND EXISTS (SELECT 1 FROM app_user AS u
                  WHERE u.user_id = r.user_id
                    AND (u.account IS NULL
                         OR u.account = CONVERT(LEFT(USER(), CHAR_LENGTH(USER()) - 1
                              - CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1))) USING utf8mb4)
                              COLLATE utf8mb4_0900_as_cs))
  WITH CASCADED CHECK OPTION;

-- Requests are ended by the process that leads: it has written its name into the task's row of
-- task_lock, and clears it before it commits. One that nobody has looked after for
-- request_ttl may be expired by others, too. An UPDATE of one row by its primary key is refused: in
-- that case alone MySQL 9.7 compares task_lock with the epoch of before.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW request_end AS
  SELECT r.request_id, r.requested, r.assigned, r.outcome, r.excluded, r.epoch, r.reason,
         r.checked, r.served_at
    FROM work_requested AS r FORCE INDEX (PRIMARY)
   WHERE (r.outcome = 'pending' AND r.requested = r.asked AND r.assigned = 0 AND r.excluded = 0
          AND r.epoch IS NULL AND r.reason IS NULL AND r.checked IS NULL
          AND r.served_at IS NULL)
      OR (r.outcome = 'expired' AND r.assigned = 0 AND r.requested IN (0, r.asked)
          AND EXISTS (SELECT 1 FROM task AS t
                       WHERE t.task_id = r.task_id
                         AND r.seen_at <= TIMESTAMP'1970-01-01 00:00:00'
                           + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND
                           - INTERVAL t.request_ttl SECOND))
      OR (r.outcome <> 'pending'
          AND EXISTS (SELECT 1 FROM task_lock AS k
                       WHERE k.task_id = r.task_id AND k.epoch = r.epoch
                         AND k.holder IS NOT NULL))
  WITH CASCADED CHECK OPTION;

-- Who leads. An epoch never goes back, also not below that of a list, and can't be pushed up so far
-- that there is no next one: it stays below the milliseconds since 1970, and no task has a thousand
-- leaders a second. Ordered by the whole key, the last epoch is the first entry that is read;
-- ordered by the epoch alone, an UPDATE would read and sort all rounds of the task.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW lead_in AS
  SELECT k.task_id, k.epoch, k.holder, k.since, k.wakes, k.left_pending
    FROM task_lock AS k
   WHERE k.epoch < UNIX_TIMESTAMP(SYSDATE(3)) * 1000
     AND k.epoch >= COALESCE((SELECT l.epoch FROM leader_run AS l
                               WHERE l.task_id = k.task_id
                               ORDER BY l.task_id DESC, l.epoch DESC LIMIT 1), 0)
     AND k.epoch >= COALESCE((SELECT l.epoch FROM kept_list AS l
                               WHERE l.task_id = k.task_id
                               ORDER BY l.task_id DESC, l.epoch DESC LIMIT 1), 0)
  WITH CASCADED CHECK OPTION;

-- The rows of task_wake, to be locked and not to be written. To lock a row, an account needs the
-- right to change a column: nobody can change this one, which is an expression.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW wake_in AS
  SELECT w.task_id, w.task_id + 0 AS lockable FROM task_wake AS w;

-- What a leader has done.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW run_in AS
  SELECT l.task_id, l.epoch, l.user, l.how, l.as_of, l.query_ms, l.candidates, l.dropped,
         l.requests, l.loans, l.retries, l.reason, l.started_at, l.ended_at, l.left_pending,
         l.check_ms
    FROM leader_run AS l
   WHERE EXISTS (SELECT 1 FROM task_lock AS k
                  WHERE k.task_id = l.task_id AND k.epoch = l.epoch AND k.holder IS NOT NULL)
  WITH CASCADED CHECK OPTION;

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
                                ELSE COALESCE(w.available_at <= l.logged_at,
                                              w.state = 'completed')
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
                           OR (l.event = 'completed' AND w.state = 'returned'
                               AND w.lease_expires_at <= l.logged_at))
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

-- The rows of the log that a purge may delete: those that each reader of the change feed has
-- acknowledged.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW log_out AS
  SELECT l.log_id, l.at
    FROM work_log AS l
   WHERE l.log_id <= COALESCE((SELECT MIN(c.position) FROM follow_cursor AS c),
                              18446744073709551615);

DELIMITER //
-- Makes the rows of task_lock and task_wake that a task needs (NULL: each task). lockq-migrate and
-- a getwork that misses them call it. A task made again, with its lock row gone, must not begin at
-- an epoch that was used, and a round that somebody has noted with a later one must not stop it.
-- What is there is read by a cursor and by SELECT INTO: they take no lock. INSERT with a SELECT,
-- and INSERT IGNORE of a row that is there, take shared ones. On task_lock such a lock would look
-- like a leader, on leader_run it would stop other tasks' leaders. The row of task_lock comes last:
-- who finds it may count on the other one.
DROP PROCEDURE IF EXISTS task_rows//
CREATE PROCEDURE task_rows (IN p_task_id INT UNSIGNED)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_done BOOLEAN DEFAULT FALSE;
  DECLARE v_task_id INT UNSIGNED;
  DECLARE v_epoch, v_last, v_wakes BIGINT UNSIGNED;
  DECLARE each_task CURSOR FOR
    SELECT task_id FROM task WHERE task_id = p_task_id OR p_task_id IS NULL;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = TRUE;
  OPEN each_task;
  tasks: LOOP
    FETCH each_task INTO v_task_id;
    IF v_done THEN
      LEAVE tasks;
    END IF;
    SELECT MAX(epoch) INTO v_last FROM task_lock WHERE task_id = v_task_id;
    SELECT COUNT(*) INTO v_wakes FROM task_wake WHERE task_id = v_task_id;
    IF v_wakes = 0 THEN
      INSERT IGNORE INTO task_wake (task_id) VALUES (v_task_id);
    END IF;
    SELECT COALESCE(MAX(epoch), 0) INTO v_epoch FROM leader_run WHERE task_id = v_task_id;
    IF v_last IS NULL THEN
      INSERT IGNORE INTO task_lock (task_id, epoch) VALUES (v_task_id, v_epoch);
    ELSEIF v_last < v_epoch THEN
      UPDATE task_lock SET epoch = v_epoch WHERE task_id = v_task_id AND epoch < v_epoch;
    END IF;
  END LOOP;
  CLOSE each_task;
END//

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

-- The next ones are for kept lists. A leader writes a list in the lock's transaction, so one that
-- was aborted never was, and a leader that was stopped and has lost the lock can write none.
DROP PROCEDURE IF EXISTS list_begins//
CREATE PROCEDURE list_begins (IN p_task_id INT UNSIGNED, IN p_epoch BIGINT UNSIGNED,
                              IN p_view VARCHAR(129) CHARACTER SET utf8mb4,
                              IN p_as_of DATETIME(6), IN p_complete BOOLEAN,
                              IN p_query_ms BIGINT UNSIGNED, IN p_check_ms INT UNSIGNED,
                              IN p_loans JSON)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_leads, v_rows INT;
  DECLARE v_failed INT UNSIGNED;
  DECLARE v_rate, v_most BIGINT;
  -- Values that would make everybody's sums fail.
  SET p_query_ms = LEAST(p_query_ms, 86400000),
      p_as_of = LEAST(p_as_of, TIMESTAMP'1970-01-01 00:00:00'
                               + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND);
  SELECT COUNT(*) INTO v_leads
    FROM task_lock AS k
   WHERE k.task_id = p_task_id AND k.epoch = p_epoch AND k.holder IS NOT NULL;
  IF v_leads = 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'only the leader of this epoch writes its list';
  END IF;
  -- How fast loans were taken from the list before: so the next refill can begin in time also when
  -- the list is new, and the list need not be longer than twice what is taken until then.
  SELECT LEAST(l.head * 3600 DIV GREATEST(TIMESTAMPDIFF(SECOND, l.as_of, p_as_of), 1), 4000000000)
    INTO v_rate
    FROM kept_list AS l FORCE INDEX (PRIMARY)
   WHERE l.task_id = p_task_id
   ORDER BY l.epoch DESC LIMIT 1;
  SELECT GREATEST(v_rate * (LEAST(COALESCE(t.refresh_after, t.cache_ttl DIV 2), t.cache_ttl)
                            + p_query_ms DIV 1000) * 2 DIV 3600, 1000)
    INTO v_most
    FROM task AS t
   WHERE t.task_id = p_task_id;
  SET v_most = LEAST(COALESCE(v_most, 20000), 20000);
  -- Whoever leads: with this list, failures of before do not count any more. A leader waits for
  -- nobody who has the row locked.
  SELECT COUNT(*) INTO v_rows FROM task_refill AS f WHERE f.task_id = p_task_id;
  IF v_rows = 0 THEN
    INSERT IGNORE INTO task_refill (task_id) VALUES (p_task_id);
  END IF;
  SELECT f.task_id INTO v_failed
    FROM task_refill AS f
   WHERE f.task_id = p_task_id AND (f.failures > 0 OR f.reason IS NOT NULL)
     FOR UPDATE SKIP LOCKED;
  UPDATE task_refill AS f SET f.failures = 0, f.reason = NULL WHERE f.task_id = v_failed;
  INSERT INTO kept_loan (task_id, epoch, position, loan_id, version)
    SELECT p_task_id, p_epoch, 999999 + j.position, j.loan_id, j.version
      FROM JSON_TABLE(p_loans, '$[*]' COLUMNS (position FOR ORDINALITY,
                                               loan_id BIGINT UNSIGNED PATH '$[0]',
                                               version BIGINT UNSIGNED PATH '$[1]')) AS j
     WHERE j.position <= v_most;
  INSERT INTO kept_list (task_id, epoch, candidates_view, as_of, length, complete, query_ms,
                         check_ms, taken_per_h)
    VALUES (p_task_id, p_epoch, p_view, p_as_of, LEAST(JSON_LENGTH(p_loans), v_most),
            p_complete AND JSON_LENGTH(p_loans) <= v_most, p_query_ms, p_check_ms,
            COALESCE(v_rate, 0));
  SELECT LEAST(JSON_LENGTH(p_loans), v_most);
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

-- Gives loans of a kept list, in a transaction that list_serves has begun. That one is below, and
-- tells of the parameters and of what may become of it.
-- Only INSERTs wait, for others that make the same row or alter a person or a task. Other rows are
-- read by SELECT … INTO, which takes no lock: a subquery in IF or SET takes shared ones.
DROP PROCEDURE IF EXISTS list_pops//
CREATE PROCEDURE list_pops (IN p_uuid CHAR(36) CHARACTER SET ascii,
                            INOUT p_request_id BIGINT UNSIGNED,
                            IN p_user_id INT UNSIGNED, IN p_task_id INT UNSIGNED,
                            IN p_count INT UNSIGNED, IN p_least INT UNSIGNED,
                            IN p_epoch BIGINT UNSIGNED, IN p_good JSON, IN p_stale JSON,
                            IN p_checked DATETIME(6), IN p_head INT UNSIGNED,
                            OUT p_outcome VARCHAR(16) CHARACTER SET ascii)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
pops: BEGIN
  DECLARE v_now DATETIME(6) DEFAULT TIMESTAMP'1970-01-01 00:00:00'
    + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND;
  DECLARE v_account VARCHAR(288) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs
    DEFAULT CONVERT(USER() USING utf8mb4);
  DECLARE v_loans, v_gone JSON;
  DECLARE v_asked, v_count, v_n, v_positions, v_new, v_held, v_lease, v_most INT UNSIGNED;
  DECLARE v_rules, v_kept_away INT UNSIGNED;
  DECLARE v_user_id, v_allowed INT UNSIGNED;
  DECLARE v_locked, v_logged BIGINT UNSIGNED;
  DECLARE v_reason VARCHAR(512) CHARACTER SET utf8mb4;
  SET v_user_id = p_user_id, v_asked = p_count;
  IF p_request_id IS NOT NULL THEN
    SET v_user_id = NULL, v_locked = NULL;
    -- Nobody gets loans after having left: only a request that is looked after is served.
    SELECT r.user_id, r.asked, r.request_id INTO v_user_id, v_asked, v_locked
      FROM work_requested AS r
      STRAIGHT_JOIN task AS t
        ON t.task_id = r.task_id
      STRAIGHT_JOIN kept_list AS l FORCE INDEX (PRIMARY)
        ON l.task_id = r.task_id AND l.epoch = p_epoch
     WHERE r.request_id = p_request_id AND r.task_id = p_task_id AND r.outcome = 'pending'
       AND COALESCE(r.fresh_after <= l.as_of, TRUE)
       AND r.seen_at > v_now - INTERVAL t.request_ttl SECOND
       FOR UPDATE OF r SKIP LOCKED;
    IF v_locked IS NULL THEN
      SELECT IF(r.outcome = 'pending', 'held', 'ended') INTO p_outcome
        FROM work_requested AS r
       WHERE r.request_id = p_request_id;
      LEAVE pops;
    END IF;
  END IF;
  -- A manager who disables the person is done, or waits for the end of this. Nobody else locks the
  -- row like that, so other people's tasks go on.
  SET v_locked = NULL;
  SELECT u.user_id INTO v_locked
    FROM app_user AS u WHERE u.user_id = v_user_id FOR SHARE SKIP LOCKED;
  IF v_locked IS NULL THEN
    SELECT IF(COUNT(*) > 0, 'held', 'refused') INTO p_outcome
      FROM app_user AS u WHERE u.user_id = v_user_id;
    LEAVE pops;
  END IF;
  -- A pending request was allowed when it was made.
  SELECT COUNT(*), MAX(t.lease_minutes), MAX(t.max_pipeline),
         MAX(t.not_same_user_as IS NOT NULL OR t.not_again IS NOT NULL)
    INTO v_allowed, v_lease, v_most, v_rules
    FROM task AS t
    STRAIGHT_JOIN app_user AS u
   WHERE t.task_id = p_task_id AND t.enabled AND t.paused IS NULL
     AND u.user_id = v_user_id AND u.enabled
     AND (p_request_id IS NOT NULL
          OR (v_asked BETWEEN 1 AND t.max_count
              AND (u.account IS NULL
                   OR u.account = CONVERT(LEFT(USER(), CHAR_LENGTH(USER()) - 1
                        - CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1))) USING utf8mb4)
                        COLLATE utf8mb4_0900_as_cs)));
  IF v_allowed = 0 THEN
    SET p_outcome = 'refused';
    LEAVE pops;
  END IF;
  SET v_count = v_asked;
  IF v_most IS NOT NULL THEN
    -- Whoever gives loans locks this row before counting, or two would count the same.
    SELECT COUNT(*) INTO v_n
      FROM pipeline_lock AS p
     WHERE p.task_id = p_task_id AND p.user_id = v_user_id;
    IF v_n = 0 THEN
      INSERT IGNORE INTO pipeline_lock (task_id, user_id) VALUES (p_task_id, v_user_id);
    END IF;
    SET v_locked = NULL;
    SELECT p.user_id INTO v_locked
      FROM pipeline_lock AS p
     WHERE p.task_id = p_task_id AND p.user_id = v_user_id
       FOR UPDATE SKIP LOCKED;
    SELECT COUNT(*) INTO v_held
      FROM work AS w FORCE INDEX (work_pipeline)
     WHERE w.user_id = v_user_id AND w.task_id = p_task_id AND w.state = 'assigned'
       AND COALESCE(w.lease_expires_at > v_now, TRUE);
    SET v_count = LEAST(v_count, IF(v_held < v_most, v_most - v_held, 0));
    IF v_locked IS NULL OR v_count = 0 THEN
      SET p_outcome = IF(v_locked IS NULL, 'held', 'full');
      LEAVE pops;
    END IF;
  END IF;
  -- The tickets: whoever gives a loan of the list has its row locked. In the order of p_good, since
  -- a sort would lock all of them; so there is no ORDER BY. A row of work that somebody has locked
  -- makes its loan missing here, and never absent. The conditions of the list stand in the same
  -- statement: nobody takes from a list after it has been replaced.
  SELECT COUNT(*), COUNT(DISTINCT d.position), SUM(d.version = 0),
         JSON_ARRAYAGG(JSON_ARRAY(d.loan_id, d.position))
    INTO v_n, v_positions, v_new, v_loans
    FROM (SELECT k.loan_id, k.version, k.position
            FROM JSON_TABLE(p_good, '$[*]' COLUMNS (position INT UNSIGNED PATH '$')) AS j
            STRAIGHT_JOIN kept_loan AS k FORCE INDEX (PRIMARY)
              ON k.task_id = p_task_id AND k.position = j.position
             AND k.epoch = (SELECT l.epoch
                              FROM kept_list AS l FORCE INDEX (PRIMARY)
                              STRAIGHT_JOIN task AS t
                                ON t.task_id = l.task_id
                             WHERE l.task_id = p_task_id AND l.epoch = p_epoch
                               AND l.candidates_view = t.candidates_view
                               AND l.as_of > v_now - INTERVAL t.cache_ttl SECOND
                               AND t.share = 'order'
                               AND (p_checked IS NOT NULL OR t.use_unchecked)
                               AND NOT EXISTS (SELECT 1 FROM kept_list AS n
                                                WHERE n.task_id = p_task_id
                                                  AND n.epoch > p_epoch))
            LEFT JOIN work AS w FORCE INDEX (PRIMARY)
              ON w.task_id = p_task_id AND w.loan_id = k.loan_id AND k.version > 0
           WHERE (k.version = 0
                  AND NOT EXISTS (SELECT 1 FROM work AS v FORCE INDEX (PRIMARY)
                                   WHERE v.task_id = p_task_id AND v.loan_id = k.loan_id))
              OR (w.version = k.version
                  AND ((w.state = 'completed' AND COALESCE(w.available_at <= v_now, TRUE))
                       OR (w.state = 'returned' AND w.available_at <= v_now)
                       OR (w.state = 'assigned' AND w.lease_expires_at <= v_now)))
           LIMIT v_count
             FOR UPDATE OF k, w SKIP LOCKED) AS d;
  -- The time of all that is written is one at which the rows are locked. Until then the statements
  -- may have waited for a table that somebody alters.
  SET v_now = TIMESTAMP'1970-01-01 00:00:00'
    + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND;
  IF p_checked <= v_now - INTERVAL 1 SECOND THEN
    SET v_n = 0;
  END IF;
  IF v_positions < v_n THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'p_good names a loan twice';
  END IF;
  -- The client has left them out, or they are kept from the user since.
  IF v_rules THEN
    SELECT COUNT(*) INTO v_kept_away
      FROM JSON_TABLE(v_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
     WHERE EXISTS (SELECT 1 FROM other_has AS o
                    WHERE o.task_id = p_task_id AND o.loan_id = j.loan_id
                      AND o.user_id = v_user_id)
        OR EXISTS (SELECT 1 FROM other_done AS o
                    WHERE o.task_id = p_task_id AND o.loan_id = j.loan_id
                      AND o.user_id = v_user_id)
        OR EXISTS (SELECT 1 FROM own_done AS o
                    WHERE o.task_id = p_task_id AND o.loan_id = j.loan_id
                      AND o.user_id = v_user_id);
    IF v_kept_away > 0 THEN
      SET v_n = 0;
    END IF;
  END IF;
  -- What must not be given goes from the list, also if nothing else is done: or the next ones would
  -- have to find it out again.
  IF JSON_LENGTH(p_stale) > 0 THEN
    SELECT JSON_ARRAYAGG(d.position) INTO v_gone
      FROM (SELECT k.position
              FROM JSON_TABLE(p_stale, '$[*]' COLUMNS (position INT UNSIGNED PATH '$')) AS j
              STRAIGHT_JOIN kept_loan AS k FORCE INDEX (PRIMARY)
                ON k.task_id = p_task_id AND k.epoch = p_epoch AND k.position = j.position
               FOR UPDATE OF k SKIP LOCKED) AS d;
    DELETE k FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (position INT UNSIGNED PATH '$')) AS j
      STRAIGHT_JOIN kept_loan AS k FORCE INDEX (PRIMARY)
        ON k.task_id = p_task_id AND k.epoch = p_epoch AND k.position = j.position;
  END IF;
  IF v_n = 0 OR v_n < LEAST(p_least, v_count) THEN
    SELECT IF(MAX(l.epoch) > p_epoch, 'over', 'fewer') INTO p_outcome
      FROM kept_list AS l WHERE l.task_id = p_task_id;
    LEAVE pops;
  END IF;
  IF v_n = v_count AND v_count < v_asked THEN
    SET v_reason = CONCAT('you have ', v_held, ' of ', v_most, ' loans that this task allows: ',
                          'dispose of some that checkwork shows');
  END IF;
  -- INSERT … SELECT: a foreign key is not checked by every server where another column is NULL.
  IF p_request_id IS NULL THEN
    INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested, assigned,
                                outcome, epoch, reason, source, checked, served_at)
      SELECT p_uuid, u.user_id, v_account, t.task_id, v_asked, v_n, v_n,
             IF(v_n < v_asked, 'partial', 'served'), p_epoch,
             v_reason, 'list', p_checked, v_now
        FROM app_user AS u
        STRAIGHT_JOIN task AS t
       WHERE u.user_id = v_user_id AND t.task_id = p_task_id;
    SET p_request_id = LAST_INSERT_ID();
  ELSE
    UPDATE work_requested AS r
       SET r.requested = v_n, r.assigned = v_n, r.outcome = IF(v_n < v_asked, 'partial', 'served'),
           r.epoch = p_epoch, r.reason = v_reason,
           r.source = 'list', r.checked = p_checked, r.served_at = v_now
     WHERE r.request_id = p_request_id;
    SELECT r.account INTO v_account FROM work_requested AS r WHERE r.request_id = p_request_id;
  END IF;
  IF v_new < v_n THEN
    -- An assignment whose lease ran out ends before the next one begins.
    INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version, request_id,
                          available_at, lease_expires_at, at)
      SELECT w.task_id, w.loan_id, 'expired', w.user_id,
             CONVERT(USER() USING utf8mb4) COLLATE utf8mb4_0900_as_cs, w.token, w.version + 1,
             w.request_id, w.lease_expires_at, w.lease_expires_at, v_now
        FROM JSON_TABLE(v_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
        STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
          ON w.task_id = p_task_id AND w.loan_id = j.loan_id
       WHERE w.state = 'assigned'
       ORDER BY w.loan_id;
  END IF;
  -- The token is above every earlier one of the loan.
  INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version, request_id,
                        lease_expires_at, note, at)
    SELECT p_task_id, j.loan_id, 'assigned', v_user_id, v_account,
           GREATEST(p_epoch, COALESCE(w.token + 1, 0)),
           COALESCE(w.version + IF(w.state = 'assigned', 2, 1), 1), p_request_id,
           v_now + INTERVAL v_lease MINUTE, w.note, v_now
      FROM JSON_TABLE(v_loans, '$[*]' COLUMNS (n FOR ORDINALITY,
                                               loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
      LEFT JOIN work AS w FORCE INDEX (PRIMARY)
        ON w.task_id = p_task_id AND w.loan_id = j.loan_id
     ORDER BY j.n;
  SET v_logged = LAST_INSERT_ID();
  IF v_new > 0 AND v_rules THEN
    CALL work_opens(p_task_id, v_loans);
  ELSEIF v_new > 0 THEN
    -- The same, from what the log has got just now.
    INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id, assigned_at,
                      lease_expires_at, note, due_at, changed_at)
      SELECT l.task_id, l.loan_id, l.user_id, 'assigned', l.token, l.version, l.request_id, l.at,
             l.lease_expires_at, l.note, l.lease_expires_at, l.at
        FROM work_log AS l FORCE INDEX (work_log_request)
       WHERE l.request_id = p_request_id AND l.log_id >= v_logged AND l.event = 'assigned'
         AND l.version = 1
       ORDER BY l.loan_id;
  END IF;
  IF v_new < v_n THEN
    CALL work_moves(p_task_id, v_loans);
  END IF;
  IF v_rules THEN
    -- The other task has given the user a loan since v_kept_away was read. The log must not keep
    -- an assignment that never was: the client tries again.
    SELECT COUNT(*) INTO v_kept_away
      FROM JSON_TABLE(v_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
      LEFT JOIN work AS w FORCE INDEX (PRIMARY)
        ON w.task_id = p_task_id AND w.loan_id = j.loan_id
     WHERE NOT COALESCE(w.state = 'assigned' AND w.request_id = p_request_id, FALSE);
    IF v_kept_away > 0 THEN
      SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213,
        MESSAGE_TEXT = 'list_pops: a loan has become one for others meanwhile';
    END IF;
  END IF;
  DELETE k FROM JSON_TABLE(v_loans, '$[*]' COLUMNS (position INT UNSIGNED PATH '$[1]')) AS j
    STRAIGHT_JOIN kept_loan AS k FORCE INDEX (PRIMARY)
      ON k.task_id = p_task_id AND k.epoch = p_epoch AND k.position = j.position;
  IF p_head IS NOT NULL THEN
    SET v_locked = NULL;
    SELECT l.task_id INTO v_locked
      FROM kept_list AS l
     WHERE l.task_id = p_task_id AND l.epoch = p_epoch AND l.head < p_head
       FOR UPDATE SKIP LOCKED;
    IF v_locked IS NOT NULL THEN
      UPDATE kept_list AS l SET l.head = LEAST(p_head, l.length)
       WHERE l.task_id = p_task_id AND l.epoch = p_epoch;
    END IF;
  END IF;
  SET p_outcome = 'given';
END//

-- Gives loans of the kept list of p_epoch to a person: all of it is one transaction of the server's
-- own, so a client that dies or is stopped holds nothing. The client has read the list's front and
-- has asked the view about it (p_checked is when it began to, NULL where it could not):
--   p_good    the positions of loans that may be given, in order; p_least of them or none
--   p_stale   the positions of loans that must not be given: their rows go
--   p_head    how many of the list's first ones are gone, if that is to be noted, or NULL
--   p_joins   whether it is the last part of a disposition's transaction, which the client has
--             begun: that one is committed, whatever becomes of the request, or rolled back by an
--             error
-- For the pending request p_request_id, or else for p_user_id, under the new request p_uuid.
-- The result is one row, with what became of it, and the request:
--   given     the request has ended; a third column tells whether others are pending, and the next
--             ones have the answer, with a row for each loan
--   fewer     than p_least are left, since others have taken some of them; or the list is not used
--             any more; or the view was asked longer than a second ago; or p_good has a loan that
--             is kept from the person
--   over      as fewer, and there is a newer list
--   held      another session has the pending request, the person's row, or that of pipeline_lock
--   refused   there is no such person or task, they are disabled, the task is paused, or this
--             account may not ask for them
--   full      the person holds max_pipeline loans
--   ended     the request is not pending any more
DROP PROCEDURE IF EXISTS list_serves//
CREATE PROCEDURE list_serves (IN p_uuid CHAR(36) CHARACTER SET ascii,
                              IN p_request_id BIGINT UNSIGNED,
                              IN p_user_id INT UNSIGNED, IN p_task_id INT UNSIGNED,
                              IN p_count INT UNSIGNED, IN p_least INT UNSIGNED,
                              IN p_epoch BIGINT UNSIGNED, IN p_good JSON, IN p_stale JSON,
                              IN p_checked DATETIME(6), IN p_head INT UNSIGNED,
                              IN p_joins BOOLEAN)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_outcome VARCHAR(16) CHARACTER SET ascii;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  IF p_joins THEN
    -- Where there is no transaction, the savepoint is gone at once, and this fails. The locks would
    -- be gone, too.
    SAVEPOINT joins;
    RELEASE SAVEPOINT joins;
    IF @@transaction_isolation <> 'READ-COMMITTED' THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'list_serves: needs READ COMMITTED';
    END IF;
    -- The on_complete that ran in this session may have changed it. The answer has names.
    SET character_set_results = utf8mb4;
  ELSE
    -- The session may have any level.
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
  END IF;
  CALL list_pops(p_uuid, p_request_id, p_user_id, p_task_id, p_count, p_least, p_epoch, p_good,
                 p_stale, p_checked, p_head, v_outcome);
  COMMIT;
  IF v_outcome = 'given' THEN
    -- The answer has the columns that lib/getwork/answer.c reads.
    SELECT 'given', r.request_id,
           EXISTS (SELECT 1 FROM work_requested AS o FORCE INDEX (work_requested_line)
                    WHERE o.task_id = p_task_id AND o.pending = 1),
           r.request_id, r.uuid, NULL, r.task_id, NULL, r.asked, r.requested, r.assigned, r.outcome,
           r.epoch, r.reason, l.user, NULL, l.as_of, r.excluded, r.source, r.checked, g.loan_id,
           g.token, g.lease_expires_at
      FROM work_requested AS r
      LEFT JOIN leader_run AS l
        ON l.task_id = r.task_id AND l.epoch = r.epoch
      LEFT JOIN work_log AS g
        ON g.request_id = r.request_id AND g.event = 'assigned'
     WHERE r.request_id = p_request_id
     ORDER BY g.log_id;
  ELSE
    SELECT v_outcome, p_request_id;
  END IF;
  -- Where autocommit is off, the answer was read in a transaction, too.
  COMMIT;
END//

-- Puts loans that an application has touched before the first one of the list, and the urgent ones
-- before these. It tells below which position they are, 0 if all of them are gone. It puts none
-- where the view can't tell whether they match. They are tickets like the others: whoever takes
-- asks the view about them, and they are given as they are seen here. One that is not available
-- waits until it is, but not for ever. A row stays until a list whose query began later has seen
-- the loan itself: the refill that runs now has not. That of an urgent loan stays until the loan is
-- given, for 7 days at most, and each new list has the loan first again: in the list's order where
-- that has it, since the order of the view can't be asked for here. It waits for nobody, and nobody
-- waits for it. The urgent ones have the positions from 0 on, the others those from 500000 on; a
-- list of an earlier schema has others from 0 on, too.
DROP PROCEDURE IF EXISTS list_tops//
CREATE PROCEDURE list_tops (IN p_task_id INT UNSIGNED, IN p_epoch BIGINT UNSIGNED)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_now, v_as_of DATETIME(6);
  DECLARE v_first, v_first_urgent, v_n, v_n_urgent, v_keep_s INT UNSIGNED;
  DECLARE v_touched, v_listed, v_held, v_put JSON;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  SELECT GREATEST(t.cache_ttl, 3600) INTO v_keep_s FROM task AS t WHERE t.task_id = p_task_id;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  -- One at a time, so each position is used once.
  SELECT GREATEST(l.touched, 500000),
         GREATEST(l.urgent, IF(l.touched < 500000, l.touched, 0)), l.as_of
    INTO v_first, v_first_urgent, v_as_of
    FROM kept_list AS l
   WHERE l.task_id = p_task_id AND l.epoch = p_epoch AND l.touched < 900000
     AND l.urgent < 400000 AND l.check_ms IS NOT NULL
     FOR UPDATE SKIP LOCKED;
  SET v_now = TIMESTAMP'1970-01-01 00:00:00'
    + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND;
  IF v_first IS NOT NULL THEN
    SELECT JSON_ARRAYAGG(JSON_ARRAY(d.touched_id, d.loan_id, d.version, d.is_over, d.urgent))
      INTO v_touched
      FROM (SELECT t.touched_id, t.loan_id, t.urgent,
                   IF(w.loan_id IS NULL
                      OR (w.state = 'completed' AND COALESCE(w.available_at <= v_now, TRUE))
                      OR (w.state = 'returned' AND w.available_at <= v_now)
                      OR (w.state = 'assigned' AND w.lease_expires_at <= v_now),
                      COALESCE(w.version, 0), NULL) AS version,
                   CASE WHEN t.urgent THEN
                          UNIX_TIMESTAMP(t.touched_at) < UNIX_TIMESTAMP(SYSDATE(6)) - 604800
                          -- It was given since.
                          OR COALESCE(w.assigned_at >= TIMESTAMP'1970-01-01 00:00:00'
                                + INTERVAL UNIX_TIMESTAMP(t.touched_at) * 1000000 MICROSECOND,
                                FALSE)
                        WHEN t.epoch IS NULL THEN
                          UNIX_TIMESTAMP(t.touched_at) < UNIX_TIMESTAMP(SYSDATE(6)) - v_keep_s
                        ELSE t.put_at <= v_as_of END AS is_over,
                   t.put_at
              FROM task_touched AS t FORCE INDEX (task_touched_urgent)
              LEFT JOIN work AS w FORCE INDEX (PRIMARY)
                ON w.task_id = t.task_id AND w.loan_id = t.loan_id
             WHERE t.task_id = p_task_id AND COALESCE(t.epoch <> p_epoch, TRUE)
             -- Those that somebody has wait, and are not in the way of the others.
            HAVING version IS NOT NULL OR is_over OR put_at IS NOT NULL
             -- In the order of the index: a sort would lock all of them.
             ORDER BY t.urgent DESC, t.touched_id
             LIMIT 64
               FOR UPDATE OF t SKIP LOCKED) AS d;
    -- Where the list has the loan, its row there is the ticket: it moves. Whoever has it locked is
    -- giving the loan.
    SELECT JSON_ARRAYAGG(JSON_ARRAY(j.loan_id, k.position)) INTO v_listed
      FROM JSON_TABLE(v_touched, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[1]',
                                                 version BIGINT UNSIGNED PATH '$[2]')) AS j
      STRAIGHT_JOIN kept_loan AS k FORCE INDEX (kept_loan_loan)
        ON k.task_id = p_task_id AND k.epoch = p_epoch AND k.loan_id = j.loan_id
       AND k.version = j.version;
    SELECT JSON_ARRAYAGG(JSON_ARRAY(d.loan_id, d.position)) INTO v_held
      FROM (SELECT k.loan_id, k.position
              FROM JSON_TABLE(v_listed, '$[*]' COLUMNS (position INT UNSIGNED PATH '$[1]')) AS j
              STRAIGHT_JOIN kept_loan AS k FORCE INDEX (PRIMARY)
                ON k.task_id = p_task_id AND k.epoch = p_epoch AND k.position = j.position
               FOR UPDATE OF k SKIP LOCKED) AS d;
    SELECT JSON_ARRAYAGG(JSON_ARRAY(d.loan_id, d.version,
                                    IF(d.urgent, v_first_urgent, v_first) + d.place - 1)),
           COALESCE(SUM(d.urgent), 0), COALESCE(SUM(NOT d.urgent), 0)
      INTO v_put, v_n_urgent, v_n
      FROM (SELECT g.loan_id, g.version, g.urgent,
                   ROW_NUMBER() OVER (PARTITION BY g.urgent ORDER BY g.listed, g.n) AS place
              FROM (SELECT j.loan_id, MAX(j.version) AS version, MAX(j.urgent) AS urgent,
                           MIN(j.n) AS n,
                           IF(MAX(j.urgent), COALESCE(MIN(l.position), 4294967295), 0) AS listed
                      FROM JSON_TABLE(v_touched, '$[*]'
                                      COLUMNS (n FOR ORDINALITY,
                                               loan_id BIGINT UNSIGNED PATH '$[1]',
                                               version BIGINT UNSIGNED PATH '$[2]',
                                               is_over INT PATH '$[3]',
                                               urgent INT PATH '$[4]')) AS j
                      LEFT JOIN JSON_TABLE(v_listed, '$[*]'
                                           COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                                    position INT UNSIGNED PATH '$[1]')) AS l
                        ON l.loan_id = j.loan_id
                      LEFT JOIN JSON_TABLE(v_held, '$[*]'
                                           COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS h
                        ON h.loan_id = j.loan_id
                     WHERE j.version IS NOT NULL AND NOT j.is_over
                       AND (l.loan_id IS NULL OR h.loan_id IS NOT NULL)
                     GROUP BY j.loan_id) AS g) AS d;
    DELETE k FROM JSON_TABLE(v_put, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
      STRAIGHT_JOIN JSON_TABLE(v_held, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                                       position INT UNSIGNED PATH '$[1]')) AS h
        ON h.loan_id = j.loan_id
      STRAIGHT_JOIN kept_loan AS k FORCE INDEX (PRIMARY)
        ON k.task_id = p_task_id AND k.epoch = p_epoch AND k.position = h.position;
    INSERT INTO kept_loan (task_id, epoch, position, loan_id, version)
      SELECT p_task_id, p_epoch, j.position, j.loan_id, j.version
        FROM JSON_TABLE(v_put, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                               version BIGINT UNSIGNED PATH '$[1]',
                                               position INT UNSIGNED PATH '$[2]')) AS j;
    UPDATE JSON_TABLE(v_touched, '$[*]' COLUMNS (touched_id BIGINT UNSIGNED PATH '$[0]',
                                                 loan_id BIGINT UNSIGNED PATH '$[1]')) AS j
      STRAIGHT_JOIN JSON_TABLE(v_put, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS p
        ON p.loan_id = j.loan_id
      STRAIGHT_JOIN task_touched AS t FORCE INDEX (PRIMARY)
        ON t.touched_id = j.touched_id
       SET t.epoch = p_epoch, t.put_at = COALESCE(t.put_at, v_now);
    -- What was put before and is not available any more was given.
    DELETE t FROM JSON_TABLE(v_touched, '$[*]' COLUMNS (touched_id BIGINT UNSIGNED PATH '$[0]',
                                                        version BIGINT UNSIGNED PATH '$[2]',
                                                        is_over INT PATH '$[3]')) AS j
      STRAIGHT_JOIN task_touched AS t FORCE INDEX (PRIMARY)
        ON t.touched_id = j.touched_id
     WHERE j.is_over OR (j.version IS NULL AND t.put_at IS NOT NULL);
    UPDATE kept_list AS l
       SET l.touched = v_first + v_n, l.urgent = v_first_urgent + v_n_urgent
     WHERE l.task_id = p_task_id AND l.epoch = p_epoch AND v_n + v_n_urgent > 0;
  END IF;
  COMMIT;
  SELECT IF(EXISTS (SELECT 1 FROM kept_loan AS k FORCE INDEX (PRIMARY)
                     WHERE k.task_id = p_task_id AND k.epoch = p_epoch
                       AND k.position < l.touched), l.touched, 0)
    FROM kept_list AS l
   WHERE l.task_id = p_task_id AND l.epoch = p_epoch;
END//

-- Tells by 1 that the caller is to fill the task's list now, and by 0 that somebody else does, or
-- has tried so lately that it is too soon. After failures the pause is longer each time.
DROP PROCEDURE IF EXISTS refill_begins//
CREATE PROCEDURE refill_begins (IN p_task_id INT UNSIGNED)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_now DATETIME(6) DEFAULT TIMESTAMP'1970-01-01 00:00:00'
    + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND;
  DECLARE v_query_s, v_rows INT UNSIGNED DEFAULT 0;
  DECLARE v_task_id INT UNSIGNED;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  SELECT LEAST(l.query_ms DIV 1000, 86400) INTO v_query_s
    FROM kept_list AS l FORCE INDEX (PRIMARY)
   WHERE l.task_id = p_task_id
   ORDER BY l.epoch DESC LIMIT 1;
  -- A task that never had a list has no row.
  SELECT COUNT(*) INTO v_rows FROM task_refill AS f WHERE f.task_id = p_task_id;
  IF v_rows = 0 THEN
    INSERT IGNORE INTO task_refill (task_id)
      SELECT t.task_id FROM task AS t WHERE t.task_id = p_task_id;
  END IF;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  -- A leader that has the row locked is writing a list.
  SELECT f.task_id INTO v_task_id
    FROM task_refill AS f
   WHERE f.task_id = p_task_id
     AND COALESCE(f.tried_at <= v_now - INTERVAL LEAST(GREATEST(10, 2 * v_query_s)
                                                       * POW(2, LEAST(f.failures, 9)), 3600)
                                        SECOND, TRUE)
     FOR UPDATE SKIP LOCKED;
  UPDATE task_refill AS f SET f.tried_at = v_now WHERE f.task_id = v_task_id;
  COMMIT;
  SELECT v_task_id IS NOT NULL;
END//

-- Notes how it went: p_reason is NULL, or why there is no new list. p_failed: the pause until the
-- next try is longer.
DROP PROCEDURE IF EXISTS refill_notes//
CREATE PROCEDURE refill_notes (IN p_task_id INT UNSIGNED, IN p_reason TEXT CHARACTER SET utf8mb4,
                              IN p_failed BOOLEAN)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_task_id INT UNSIGNED DEFAULT p_task_id;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  -- Mostly there is nothing to take back.
  IF p_reason IS NULL THEN
    SET v_task_id = NULL;
    SELECT f.task_id INTO v_task_id
      FROM task_refill AS f
     WHERE f.task_id = p_task_id AND (f.failures > 0 OR f.reason IS NOT NULL)
       FOR UPDATE SKIP LOCKED;
  END IF;
  UPDATE task_refill AS f
     SET f.failures = IF(p_reason IS NULL, 0, f.failures + p_failed), f.reason = LEFT(p_reason, 512)
   WHERE f.task_id = v_task_id;
  COMMIT;
END//

-- Takes away loans of lists that nobody takes from any more, p_most of them or fewer, and tells how
-- many. It waits for nobody who takes, and nobody waits for it.
DROP PROCEDURE IF EXISTS list_sweeps//
CREATE PROCEDURE list_sweeps (IN p_task_id INT UNSIGNED, IN p_most INT UNSIGNED)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_epoch BIGINT UNSIGNED;
  DECLARE v_n INT UNSIGNED DEFAULT 0;
  DECLARE v_over BOOLEAN;
  DECLARE v_rows JSON;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  SELECT l.epoch, l.as_of <= TIMESTAMP'1970-01-01 00:00:00'
                    + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND
                    - INTERVAL t.cache_ttl SECOND
    INTO v_epoch, v_over
    FROM kept_list AS l FORCE INDEX (PRIMARY)
    STRAIGHT_JOIN task AS t
      ON t.task_id = l.task_id
   WHERE l.task_id = p_task_id
   ORDER BY l.epoch DESC LIMIT 1;
  START TRANSACTION;
  SELECT COUNT(*), JSON_ARRAYAGG(JSON_ARRAY(d.epoch, d.position)) INTO v_n, v_rows
    FROM (SELECT k.epoch, k.position
            FROM kept_loan AS k FORCE INDEX (PRIMARY)
           WHERE k.task_id = p_task_id AND k.epoch < v_epoch + v_over
           ORDER BY k.epoch, k.position
           LIMIT p_most
             FOR UPDATE SKIP LOCKED) AS d;
  DELETE k FROM JSON_TABLE(v_rows, '$[*]' COLUMNS (epoch BIGINT UNSIGNED PATH '$[0]',
                                                   position INT UNSIGNED PATH '$[1]')) AS j
    STRAIGHT_JOIN kept_loan AS k FORCE INDEX (PRIMARY)
      ON k.task_id = p_task_id AND k.epoch = j.epoch AND k.position = j.position;
  -- The same of touched loans: each list that is used is younger. An urgent one stays until it was
  -- given, for 7 days at most.
  SELECT JSON_ARRAYAGG(d.touched_id) INTO v_rows
    FROM (SELECT o.touched_id
            FROM task AS t
            STRAIGHT_JOIN task_touched AS o FORCE INDEX (task_touched_line)
              ON o.task_id = t.task_id
            LEFT JOIN work AS w FORCE INDEX (PRIMARY)
              ON w.task_id = o.task_id AND w.loan_id = o.loan_id
           WHERE t.task_id = p_task_id
             AND (UNIX_TIMESTAMP(o.touched_at)
                  < UNIX_TIMESTAMP(SYSDATE(6)) - IF(o.urgent, 604800, GREATEST(t.cache_ttl, 3600))
                  OR (o.urgent
                      AND w.assigned_at >= TIMESTAMP'1970-01-01 00:00:00'
                        + INTERVAL UNIX_TIMESTAMP(o.touched_at) * 1000000 MICROSECOND))
           LIMIT p_most
             FOR UPDATE OF o SKIP LOCKED) AS d;
  DELETE o FROM JSON_TABLE(v_rows, '$[*]' COLUMNS (touched_id BIGINT UNSIGNED PATH '$')) AS j
    STRAIGHT_JOIN task_touched AS o FORCE INDEX (PRIMARY)
      ON o.touched_id = j.touched_id;
  COMMIT;
  IF v_n = 0 THEN
    DELETE FROM kept_list WHERE task_id = p_task_id AND epoch < v_epoch;
  END IF;
  SELECT v_n;
END//

-- The next ones are for managers, who may do more than workers: each change is logged with the
-- manager's name, the account, and the true time. A manager who is a user, too, and bound to an
-- account, acts from that one only.
DROP PROCEDURE IF EXISTS manage_as//
CREATE PROCEDURE manage_as (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
                                                     COLLATE utf8mb4_0900_as_cs)
  READS SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_text VARCHAR(128) CHARACTER SET utf8mb4;
  SELECT MAX(LEFT(CONCAT('only the MySQL account "', u.account, '" may act for manager "',
                         u.name, '": connect with it'), 128))
    INTO v_text
    FROM app_user AS u
   WHERE u.name = p_manager
     AND u.account <> CONVERT(LEFT(USER(), CHAR_LENGTH(USER()) - 1
                        - CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1))) USING utf8mb4)
                        COLLATE utf8mb4_0900_as_cs;
  IF p_manager IS NULL OR p_manager = '' THEN
    SET v_text = 'a change needs the name of the manager who makes it';
  END IF;
  IF v_text IS NOT NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
  END IF;
END//

-- Makes a task, or changes one. p_set has the columns to set, by their names; null is SQL NULL. A
-- new task without a number gets the next one that no task ever had. The result is one row, what
-- came of it and the task's number:
--   done      it was added, or changed
--   exists    there is a task of that number already
--   used      the log still has loans of a task of that number
--   unknown   there is no such task
-- No process that leads holds the row of a task while its query runs, so this waits for none.
DROP PROCEDURE IF EXISTS manage_define//
CREATE PROCEDURE manage_define (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
                                                         COLLATE utf8mb4_0900_as_cs,
                                IN p_task_id INT UNSIGNED, IN p_adds BOOLEAN, IN p_set JSON,
                                IN p_reason VARCHAR(512) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
manages: BEGIN
  DECLARE v_task_id, v_there, v_logged INT UNSIGNED;
  DECLARE v_next BIGINT UNSIGNED;
  DECLARE v_before JSON;
  -- Another manager has just made a task of that number.
  DECLARE EXIT HANDLER FOR 1062 BEGIN ROLLBACK; SELECT 'exists', p_task_id; END;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as(p_manager);
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  IF p_adds THEN
    IF p_task_id IS NULL THEN
      SELECT GREATEST(COALESCE(MAX(t.task_id), 0),
                      COALESCE((SELECT MAX(k.task_id) FROM task_lock AS k), 0),
                      COALESCE((SELECT MAX(l.task_id) FROM work_log AS l), 0)) + 1
        INTO v_next
        FROM task AS t;
      IF v_next > 4294967295 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
          'a task has the highest number: choose the number of the new one';
      END IF;
      SET p_task_id = v_next;
    END IF;
    SELECT COUNT(*) INTO v_there FROM task AS t WHERE t.task_id = p_task_id;
    SELECT EXISTS (SELECT 1 FROM work_log AS l FORCE INDEX (work_log_loan)
                    WHERE l.task_id = p_task_id) INTO v_logged;
    IF v_there OR v_logged THEN
      ROLLBACK;
      SELECT IF(v_there, 'exists', 'used'), p_task_id;
      LEAVE manages;
    END IF;
    INSERT INTO task (task_id, name, candidates_view)
      VALUES (p_task_id, JSON_UNQUOTE(JSON_EXTRACT(p_set, '$.name')),
              JSON_UNQUOTE(JSON_EXTRACT(p_set, '$.candidates_view')));
  END IF;
  SELECT t.task_id,
         JSON_OBJECT('name', t.name, 'manager', t.manager, 'candidates_view', t.candidates_view,
                     'enabled', t.enabled, 'max_count', t.max_count, 'max_query_s', t.max_query_s,
                     'candidate_limit', t.candidate_limit, 'request_ttl', t.request_ttl,
                     'lease_minutes', t.lease_minutes, 'cache_ttl', t.cache_ttl,
                     'on_complete', t.on_complete, 'complete_hold', t.complete_hold,
                     'max_pipeline', t.max_pipeline, 'detail_view', t.detail_view,
                     'view_repeats', t.view_repeats, 'check_view', t.check_view,
                     'use_unchecked', t.use_unchecked, 'refresh_after', t.refresh_after,
                     'share', t.share, 'on_undo', t.on_undo,
                     'not_same_user_as', t.not_same_user_as, 'not_again', t.not_again,
                     'noun', t.noun, 'any_place', t.any_place, 'paused', t.paused)
    INTO v_task_id, v_before
    FROM task AS t
   WHERE t.task_id = p_task_id
     FOR UPDATE;
  IF v_task_id IS NULL THEN
    ROLLBACK;
    SELECT 'unknown', p_task_id;
    LEAVE manages;
  END IF;
  -- A key that p_set does not have keeps its value. One that is null there is absent then, and a
  -- column whose key is absent gets SQL NULL.
  UPDATE task AS t
    STRAIGHT_JOIN JSON_TABLE(JSON_MERGE_PATCH(v_before, p_set), '$' COLUMNS (
      name VARCHAR(128) PATH '$.name' ERROR ON ERROR,
      manager VARCHAR(64) PATH '$.manager' ERROR ON ERROR,
      candidates_view VARCHAR(129) PATH '$.candidates_view' ERROR ON ERROR,
      enabled BOOLEAN PATH '$.enabled' ERROR ON ERROR,
      max_count INT UNSIGNED PATH '$.max_count' ERROR ON ERROR,
      max_query_s INT UNSIGNED PATH '$.max_query_s' ERROR ON ERROR,
      candidate_limit INT UNSIGNED PATH '$.candidate_limit' ERROR ON ERROR,
      request_ttl INT UNSIGNED PATH '$.request_ttl' ERROR ON ERROR,
      lease_minutes INT UNSIGNED PATH '$.lease_minutes' ERROR ON ERROR,
      cache_ttl INT UNSIGNED PATH '$.cache_ttl' ERROR ON ERROR,
      on_complete VARCHAR(129) PATH '$.on_complete' ERROR ON ERROR,
      complete_hold INT UNSIGNED PATH '$.complete_hold' ERROR ON ERROR,
      max_pipeline INT UNSIGNED PATH '$.max_pipeline' ERROR ON ERROR,
      detail_view VARCHAR(129) PATH '$.detail_view' ERROR ON ERROR,
      view_repeats BOOLEAN PATH '$.view_repeats' ERROR ON ERROR,
      check_view VARCHAR(129) PATH '$.check_view' ERROR ON ERROR,
      use_unchecked BOOLEAN PATH '$.use_unchecked' ERROR ON ERROR,
      refresh_after INT UNSIGNED PATH '$.refresh_after' ERROR ON ERROR,
      share VARCHAR(16) PATH '$.share' ERROR ON ERROR,
      on_undo VARCHAR(129) PATH '$.on_undo' ERROR ON ERROR,
      not_same_user_as INT UNSIGNED PATH '$.not_same_user_as' ERROR ON ERROR,
      not_again INT UNSIGNED PATH '$.not_again' ERROR ON ERROR,
      noun VARCHAR(32) PATH '$.noun' ERROR ON ERROR,
      any_place INT UNSIGNED PATH '$.any_place' ERROR ON ERROR,
      paused VARCHAR(512) PATH '$.paused' ERROR ON ERROR)) AS s
     SET t.name = s.name, t.manager = s.manager, t.candidates_view = s.candidates_view,
         t.enabled = s.enabled, t.max_count = s.max_count, t.max_query_s = s.max_query_s,
         t.candidate_limit = s.candidate_limit, t.request_ttl = s.request_ttl,
         t.lease_minutes = s.lease_minutes, t.cache_ttl = s.cache_ttl,
         t.on_complete = s.on_complete, t.complete_hold = s.complete_hold,
         t.max_pipeline = s.max_pipeline, t.detail_view = s.detail_view,
         t.view_repeats = s.view_repeats, t.check_view = s.check_view,
         t.use_unchecked = s.use_unchecked, t.refresh_after = s.refresh_after, t.share = s.share,
         t.on_undo = s.on_undo, t.not_same_user_as = s.not_same_user_as,
         t.not_again = s.not_again, t.noun = s.noun, t.any_place = s.any_place,
         t.paused_by = IF(JSON_CONTAINS_PATH(p_set, 'one', '$.paused'),
                          IF(s.paused IS NULL, NULL, p_manager), t.paused_by),
         t.paused_at = IF(JSON_CONTAINS_PATH(p_set, 'one', '$.paused'),
                          IF(s.paused IS NULL, NULL,
                             TIMESTAMP'1970-01-01 00:00:00'
                               + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND),
                          t.paused_at),
         t.paused = s.paused
   WHERE t.task_id = p_task_id;
  INSERT INTO manage_log (manager, account, action, task_id, before_it, after_it, reason)
    VALUES (p_manager, CONVERT(USER() USING utf8mb4), IF(p_adds, 'task added', 'task changed'),
            p_task_id, IF(p_adds, NULL, v_before), p_set, p_reason);
  COMMIT;
  -- The task is there now. Where these rows can't be made, the first getwork makes them.
  IF p_adds THEN
    BEGIN
      DECLARE EXIT HANDLER FOR SQLEXCEPTION ROLLBACK;
      CALL task_rows(p_task_id);
    END;
  END IF;
  SELECT 'done', p_task_id;
END//

-- Removes a task and its rows, p_most at a time: the caller repeats it while the result is "more",
-- with p_begins FALSE, which leaves out what was looked at before. The history in work_log and
-- leader_run stays, and so do the rows of task_lock and task_wake: no epoch is used twice. The
-- result is one row, what came of it and a number:
--   more      rows were deleted, and others are left
--   done      the task is gone
--   assigned  so many loans are assigned: nothing was done
--   recent    so many requests were pending, or ended within the last minute: those that were
--             pending are cancelled, and programs may still read how they ended
--   led       a process leads the task
--   unknown   there is no such task
DROP PROCEDURE IF EXISTS manage_remove//
CREATE PROCEDURE manage_remove (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
                                                         COLLATE utf8mb4_0900_as_cs,
                                IN p_task_id INT UNSIGNED, IN p_begins BOOLEAN,
                                IN p_most INT UNSIGNED,
                                IN p_reason VARCHAR(512) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
removes: BEGIN
  DECLARE v_now DATETIME(6) DEFAULT TIMESTAMP'1970-01-01 00:00:00'
    + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND;
  DECLARE v_task_id, v_rows, v_locked, v_enabled INT UNSIGNED;
  DECLARE v_n, v_deleted BIGINT UNSIGNED DEFAULT 0;
  DECLARE v_before JSON;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as(p_manager);
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  -- A leader has read that the task is enabled, and may be giving loans.
  SELECT COUNT(*) INTO v_rows FROM task_lock AS k WHERE k.task_id = p_task_id;
  SELECT k.task_id INTO v_locked
    FROM task_lock AS k WHERE k.task_id = p_task_id FOR UPDATE SKIP LOCKED;
  SELECT t.task_id, t.enabled,
         JSON_OBJECT('name', t.name, 'candidates_view', t.candidates_view)
    INTO v_task_id, v_enabled, v_before
    FROM task AS t WHERE t.task_id = p_task_id FOR UPDATE;
  IF v_task_id IS NULL OR v_rows > 0 AND v_locked IS NULL THEN
    ROLLBACK;
    SELECT IF(v_task_id IS NULL, 'unknown', 'led'), 0;
    LEAVE removes;
  END IF;
  IF p_begins OR v_enabled THEN
    SELECT COUNT(*) INTO v_n
      FROM work AS w
     WHERE w.task_id = p_task_id AND w.state = 'assigned'
       AND COALESCE(w.lease_expires_at > v_now, TRUE);
    IF v_n > 0 THEN
      ROLLBACK;
      SELECT 'assigned', v_n;
      LEAVE removes;
    END IF;
    UPDATE task AS t SET t.enabled = FALSE WHERE t.task_id = p_task_id;
    UPDATE work_requested AS r FORCE INDEX (work_requested_line)
       SET r.outcome = 'cancelled', r.requested = 0, r.served_at = v_now,
           r.reason = LEFT(CONCAT('the task was removed by ', p_manager), 512)
     WHERE r.task_id = p_task_id AND r.pending = 1;
    INSERT INTO manage_log (manager, account, action, task_id, reason)
      SELECT p_manager, CONVERT(USER() USING utf8mb4), 'task removal begun', p_task_id, p_reason
       WHERE v_enabled;
    COMMIT;
    SELECT COUNT(*) INTO v_n
      FROM work_requested AS r FORCE INDEX (work_requested_line)
     WHERE r.task_id = p_task_id AND COALESCE(r.served_at > v_now - INTERVAL 1 MINUTE, FALSE);
    IF v_n > 0 THEN
      SELECT 'recent', v_n;
      LEAVE removes;
    END IF;
  END IF;
  COMMIT;
  -- A loan that was taken in the moment in which the task was disabled stays, and the key of its
  -- row keeps the task.
  DELETE FROM work
   WHERE task_id = p_task_id
     AND (state <> 'assigned' OR COALESCE(lease_expires_at <= v_now, FALSE))
   ORDER BY loan_id LIMIT p_most;
  SET v_deleted = ROW_COUNT();
  IF v_deleted < p_most THEN
    DELETE FROM work_requested
     WHERE task_id = p_task_id AND pending IS NULL
     ORDER BY task_id, pending, request_id LIMIT p_most;
    SET v_deleted = ROW_COUNT();
  END IF;
  IF v_deleted < p_most THEN
    DELETE FROM kept_loan WHERE task_id = p_task_id ORDER BY epoch, position LIMIT p_most;
    SET v_deleted = ROW_COUNT();
  END IF;
  IF v_deleted < p_most THEN
    DELETE FROM work_exclusion WHERE task_id = p_task_id ORDER BY user_id, loan_id LIMIT p_most;
    SET v_deleted = ROW_COUNT();
  END IF;
  IF v_deleted = p_most THEN
    SELECT 'more', v_deleted;
    LEAVE removes;
  END IF;
  SELECT COUNT(*) INTO v_n FROM work AS w WHERE w.task_id = p_task_id;
  IF v_n > 0 THEN
    SELECT 'assigned', v_n;
    LEAVE removes;
  END IF;
  START TRANSACTION;
  DELETE FROM kept_list WHERE task_id = p_task_id;
  DELETE FROM task_touched WHERE task_id = p_task_id;
  DELETE FROM task_refill WHERE task_id = p_task_id;
  DELETE FROM task_list WHERE task_id = p_task_id;
  DELETE FROM pipeline_lock WHERE task_id = p_task_id;
  DELETE FROM task WHERE task_id = p_task_id;
  -- Another manager may have removed the task just now.
  SET v_deleted = ROW_COUNT();
  INSERT INTO manage_log (manager, account, action, task_id, before_it, reason)
    SELECT p_manager, CONVERT(USER() USING utf8mb4), 'task removed', p_task_id, v_before, p_reason
     WHERE v_deleted > 0;
  COMMIT;
  SELECT 'done', 0;
END//

-- Adds a person, or changes one, by p_action: add, bind (to p_account; NULL: any account may ask
-- for them), disable, enable, remove. The result is one row, what came of it and the user's number:
--   done      it was done, or was so before
--   exists    there is a user of that name already
--   unknown   there is none
--   history   the user has asked for work: lockq's tables name the user
DROP PROCEDURE IF EXISTS manage_person//
CREATE PROCEDURE manage_person (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
                                                         COLLATE utf8mb4_0900_as_cs,
                                IN p_name VARCHAR(64) CHARACTER SET utf8mb4
                                                      COLLATE utf8mb4_0900_as_cs,
                                IN p_action VARCHAR(16) CHARACTER SET ascii,
                                IN p_account VARCHAR(32) CHARACTER SET utf8mb4,
                                IN p_reason VARCHAR(512) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
manages: BEGIN
  DECLARE v_now DATETIME(6) DEFAULT TIMESTAMP'1970-01-01 00:00:00'
    + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND;
  DECLARE v_user_id, v_history INT UNSIGNED;
  DECLARE v_before JSON;
  -- Another manager has just added that name.
  DECLARE EXIT HANDLER FOR 1062 BEGIN ROLLBACK; SELECT 'exists', NULL; END;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as(p_manager);
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT u.user_id, JSON_OBJECT('name', u.name, 'account', u.account, 'enabled', u.enabled)
    INTO v_user_id, v_before
    FROM app_user AS u WHERE u.name = p_name FOR UPDATE;
  IF (v_user_id IS NULL) <> (p_action = 'add') THEN
    ROLLBACK;
    SELECT IF(v_user_id IS NULL, 'unknown', 'exists'), v_user_id;
    LEAVE manages;
  END IF;
  SELECT EXISTS (SELECT 1 FROM work_requested AS r WHERE r.user_id = v_user_id)
         OR EXISTS (SELECT 1 FROM work AS w WHERE w.user_id = v_user_id)
         OR (p_action = 'remove'
             AND EXISTS (SELECT 1 FROM work_log AS l WHERE l.user_id = v_user_id))
    INTO v_history;
  IF p_action = 'remove' AND v_history THEN
    ROLLBACK;
    SELECT 'history', v_user_id;
    LEAVE manages;
  END IF;
  CASE p_action
  WHEN 'add' THEN
    INSERT INTO app_user (name, account) VALUES (p_name, p_account);
    SET v_user_id = LAST_INSERT_ID();
  WHEN 'bind' THEN
    UPDATE app_user AS u SET u.account = p_account WHERE u.user_id = v_user_id;
  WHEN 'enable' THEN
    UPDATE app_user AS u SET u.enabled = TRUE WHERE u.user_id = v_user_id;
  WHEN 'disable' THEN
    UPDATE app_user AS u SET u.enabled = FALSE WHERE u.user_id = v_user_id;
    UPDATE work_requested AS r FORCE INDEX (work_requested_one_pending)
       SET r.outcome = 'cancelled', r.requested = 0, r.served_at = v_now,
           r.reason = LEFT(CONCAT('user disabled by ', p_manager), 512)
     WHERE r.user_id = v_user_id AND r.pending = 1;
  WHEN 'remove' THEN
    DELETE FROM work_exclusion WHERE user_id = v_user_id;
    DELETE FROM pipeline_lock WHERE user_id = v_user_id;
    DELETE FROM app_user WHERE user_id = v_user_id;
  END CASE;
  INSERT INTO manage_log (manager, account, action, user_id, before_it, after_it, reason)
    VALUES (p_manager, CONVERT(USER() USING utf8mb4),
            CONCAT('user ', CASE p_action WHEN 'add' THEN 'added' WHEN 'bind' THEN 'bound'
                                          ELSE CONCAT(p_action, 'd') END),
            v_user_id, v_before,
            IF(p_action IN ('add', 'bind'), JSON_OBJECT('name', p_name, 'account', p_account),
               NULL), p_reason);
  COMMIT;
  SELECT 'done', v_user_id;
END//

-- Corrects assignments, by p_action:
--   release   the user's loan is available at once; p_from may be NULL: whoever has it
--   reassign  the loan of p_from is p_to's
--   undo      the last disposition, or release, is taken back: its user has the loan again
-- p_loans is a JSON array with an array for each loan: its id, and its token where that is to be
-- the one of the row. p_step says how:
--   alone     all of it, in one transaction of the server's own
--   judge     locks the loans in the caller's transaction, and tells what a change would do
--   change    does it there. In between the caller calls on_undo, with the caller's rights
-- Each change is an event that programs know, with the manager beside the user. The result has a
-- row for each loan, in the order of their ids: what became of it, and how it stands.
--   done, calls   it is corrected; on_undo is to be called for it
--   already       the same manager has made this very correction, and nothing came after it
--   stale_token, lease_over, not_yours, not_assigned    as lib/disposition/token.c has it
--   full          the user would have more than max_pipeline
--   excluded      the user has returned the loan as one for others
--   four_eyes     the user has the loan in the task not_same_user_as, or has completed it there
--   not_again     the user has completed it within not_again hours
--   disabled      the user, who would have the loan again, may not ask for work
--   no_on_undo    on_complete has changed other data, which only on_undo can take back
--   purged        the log does not tell any more what the loan's last change was
-- Or there is one row, and nothing was done: there is no "task" or user "from" or "to", or the user
-- "to" may not ask for work (closed).
DROP PROCEDURE IF EXISTS manage_loans//
CREATE PROCEDURE manage_loans (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
                                                        COLLATE utf8mb4_0900_as_cs,
                               IN p_action VARCHAR(16) CHARACTER SET ascii,
                               IN p_step VARCHAR(16) CHARACTER SET ascii,
                               IN p_task_id INT UNSIGNED, IN p_loans JSON,
                               IN p_from VARCHAR(64) CHARACTER SET utf8mb4
                                                     COLLATE utf8mb4_0900_as_cs,
                               IN p_to VARCHAR(64) CHARACTER SET utf8mb4
                                                   COLLATE utf8mb4_0900_as_cs,
                               IN p_reason VARCHAR(512) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
corrects: BEGIN
  DECLARE v_now DATETIME(6);
  DECLARE v_account VARCHAR(288) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs
    DEFAULT CONVERT(USER() USING utf8mb4);
  DECLARE v_task_id, v_most, v_lease, v_from, v_to, v_enabled, v_n, v_loans INT UNSIGNED;
  DECLARE v_epoch BIGINT UNSIGNED;
  DECLARE v_on_complete, v_on_undo VARCHAR(129) CHARACTER SET utf8mb4;
  DECLARE v_users, v_judged, v_done, v_asks, v_answer JSON;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as(p_manager);
  IF p_step = 'alone' THEN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
  ELSEIF @@autocommit OR @@transaction_isolation <> 'READ-COMMITTED' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
      'manage_loans: needs a transaction at READ COMMITTED, with autocommit = 0';
  END IF;
  SELECT MAX(t.task_id), MAX(t.max_pipeline), MAX(t.lease_minutes), MAX(t.on_complete),
         MAX(t.on_undo)
    INTO v_task_id, v_most, v_lease, v_on_complete, v_on_undo
    FROM task AS t WHERE t.task_id = p_task_id;
  SELECT MAX(u.user_id) INTO v_from FROM app_user AS u WHERE u.name = p_from;
  -- Nobody disables or forgets this person before the end of this.
  SELECT u.user_id, u.enabled INTO v_to, v_enabled
    FROM app_user AS u WHERE u.name = p_to FOR SHARE;
  SELECT COUNT(*), COUNT(DISTINCT j.loan_id) INTO v_n, v_loans
    FROM JSON_TABLE(p_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j;
  IF v_loans < v_n OR p_action NOT IN ('release', 'reassign', 'undo')
     OR p_reason IS NULL OR p_reason = ''
     OR (p_action = 'reassign' AND (p_to IS NULL OR p_from <=> p_to)) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
      'manage_loans: a correction has a reason, names each loan once, and moves it to another user';
  END IF;
  IF v_task_id IS NULL OR (p_from IS NOT NULL AND v_from IS NULL)
     OR (p_to IS NOT NULL AND (v_to IS NULL OR NOT v_enabled)) THEN
    ROLLBACK;
    SELECT CASE WHEN v_task_id IS NULL THEN 'task'
                WHEN p_from IS NOT NULL AND v_from IS NULL THEN 'from'
                WHEN v_to IS NULL THEN 'to' ELSE 'closed' END, 0;
    LEAVE corrects;
  END IF;
  IF v_most IS NOT NULL AND p_action <> 'release' THEN
    -- Whoever gives loans locks these rows before counting, or two would count the same.
    SELECT JSON_ARRAYAGG(d.user_id) INTO v_users
      FROM (SELECT DISTINCT IF(p_action = 'reassign', v_to, w.user_id) AS user_id
              FROM JSON_TABLE(p_loans, '$[*]'
                              COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
              STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
                ON w.task_id = p_task_id AND w.loan_id = j.loan_id
             ORDER BY user_id LIMIT 18446744073709551615) AS d;
    INSERT IGNORE INTO pipeline_lock (task_id, user_id)
      SELECT p_task_id, j.user_id
        FROM JSON_TABLE(v_users, '$[*]' COLUMNS (user_id INT UNSIGNED PATH '$')) AS j
       WHERE NOT EXISTS (SELECT 1 FROM pipeline_lock AS p
                          WHERE p.task_id = p_task_id AND p.user_id = j.user_id);
    SELECT COUNT(*) INTO v_n
      FROM (SELECT p.user_id
              FROM JSON_TABLE(v_users, '$[*]' COLUMNS (user_id INT UNSIGNED PATH '$')) AS j
              STRAIGHT_JOIN pipeline_lock AS p FORCE INDEX (PRIMARY)
                ON p.task_id = p_task_id AND p.user_id = j.user_id
             LIMIT 18446744073709551615
               FOR UPDATE OF p) AS d;
  END IF;
  -- By primary key and in key order. It waits: what the other session does to a loan comes first.
  SELECT COUNT(*) INTO v_n
    FROM (SELECT w.version
            FROM (SELECT i.loan_id
                    FROM JSON_TABLE(p_loans, '$[*]'
                                    COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS i
                   ORDER BY i.loan_id LIMIT 18446744073709551615) AS j
            STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
              ON w.task_id = p_task_id AND w.loan_id = j.loan_id
           LIMIT 18446744073709551615
             FOR UPDATE OF w) AS d;
  IF p_action = 'undo' THEN
    SELECT COUNT(*) INTO v_n
      FROM (SELECT u.user_id
              FROM JSON_TABLE(p_loans, '$[*]'
                              COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
              STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
                ON w.task_id = p_task_id AND w.loan_id = j.loan_id
              STRAIGHT_JOIN app_user AS u FORCE INDEX (PRIMARY)
                ON u.user_id = w.user_id
             LIMIT 18446744073709551615
               FOR SHARE OF u) AS d;
  END IF;
  -- The time of all that is written is one at which the rows are locked.
  SET v_now = TIMESTAMP'1970-01-01 00:00:00'
    + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND;
  -- A loan went to a user whose row of pipeline_lock is not locked: the caller tries again.
  IF p_action = 'undo' AND v_most IS NOT NULL THEN
    SELECT COUNT(*) INTO v_n
      FROM JSON_TABLE(p_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
      STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
        ON w.task_id = p_task_id AND w.loan_id = j.loan_id
     WHERE NOT COALESCE(JSON_CONTAINS(v_users, CAST(w.user_id AS JSON)), FALSE);
    IF v_n > 0 THEN
      SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213,
        MESSAGE_TEXT = 'manage_loans: a loan has changed meanwhile';
    END IF;
  END IF;
  -- l is the loan's last change, b the one before it. "gets" is the user who is to have the loan.
  SELECT JSON_ARRAYAGG(JSON_ARRAY(g.loan_id, g.what, g.gets)) INTO v_judged
    FROM (SELECT d.loan_id, d.gets,
                 IF(d.what IN ('done', 'calls')
                    AND SUM(d.what IN ('done', 'calls'))
                          OVER (PARTITION BY d.gets ORDER BY d.loan_id) > d.room,
                    'full', d.what) AS what
            FROM (SELECT j.loan_id,
                         CASE p_action WHEN 'reassign' THEN v_to WHEN 'undo' THEN w.user_id
                         END AS gets,
                         IF(v_most IS NULL OR p_action = 'release', NULL,
                            CAST(v_most AS SIGNED)
                            - (SELECT COUNT(*) FROM work AS h FORCE INDEX (work_pipeline)
                                WHERE h.user_id = IF(p_action = 'reassign', v_to, w.user_id)
                                  AND h.task_id = p_task_id AND h.state = 'assigned'
                                  AND COALESCE(h.lease_expires_at > v_now, TRUE))) AS room,
                         CASE
                         WHEN w.loan_id IS NULL THEN 'not_assigned'
                         WHEN l.manager = p_manager
                              AND CASE p_action
                                  WHEN 'release' THEN
                                        w.state = 'returned' AND l.event = 'returned'
                                    AND COALESCE(w.user_id = v_from, TRUE)
                                    AND COALESCE(j.token = w.token, TRUE)
                                  WHEN 'reassign' THEN
                                        w.state = 'assigned' AND w.user_id = v_to
                                    AND b.manager = p_manager AND b.user_id = v_from
                                    AND COALESCE(j.token = b.token, TRUE)
                                  ELSE
                                        w.state = 'assigned' AND w.user_id = b.user_id
                                    AND COALESCE(j.token = b.token, TRUE)
                                  END THEN 'already'
                         WHEN j.token <> w.token THEN 'stale_token'
                         WHEN w.state = 'returned' AND w.lease_expires_at IS NOT NULL
                           THEN 'lease_over'
                         WHEN p_action <> 'undo' AND w.state <> 'assigned' THEN 'not_assigned'
                         WHEN p_action = 'undo' AND w.state = 'assigned' THEN 'not_yours'
                         WHEN p_action <> 'undo' AND w.user_id <> v_from THEN 'not_yours'
                         WHEN w.lease_expires_at <= v_now THEN 'lease_over'
                         WHEN p_action = 'release' THEN 'done'
                         WHEN p_action = 'reassign'
                              AND EXISTS (SELECT 1 FROM work_exclusion AS e FORCE INDEX (PRIMARY)
                                           WHERE e.task_id = p_task_id AND e.user_id = v_to
                                             AND e.loan_id = j.loan_id AND e.until > v_now)
                           THEN 'excluded'
                         WHEN EXISTS (SELECT 1 FROM other_has AS o
                                       WHERE o.task_id = p_task_id AND o.loan_id = j.loan_id
                                         AND o.user_id = COALESCE(v_to, w.user_id))
                              OR EXISTS (SELECT 1 FROM other_done AS o
                                          WHERE o.task_id = p_task_id AND o.loan_id = j.loan_id
                                            AND o.user_id = COALESCE(v_to, w.user_id))
                           THEN 'four_eyes'
                         WHEN p_action = 'reassign'
                              AND EXISTS (SELECT 1 FROM own_done AS o
                                           WHERE o.task_id = p_task_id AND o.loan_id = j.loan_id
                                             AND o.user_id = v_to)
                           THEN 'not_again'
                         WHEN p_action = 'reassign' THEN 'done'
                         WHEN l.log_id IS NULL THEN 'purged'
                         WHEN NOT u.enabled THEN 'disabled'
                         WHEN l.event = 'completed' AND v_on_undo IS NOT NULL THEN 'calls'
                         WHEN l.event = 'completed' AND v_on_complete IS NOT NULL
                           THEN 'no_on_undo'
                         ELSE 'done'
                         END AS what
                    FROM JSON_TABLE(p_loans, '$[*]'
                                    COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                             token BIGINT UNSIGNED PATH '$[1]')) AS j
                    LEFT JOIN work AS w FORCE INDEX (PRIMARY)
                      ON w.task_id = p_task_id AND w.loan_id = j.loan_id
                    LEFT JOIN app_user AS u
                      ON u.user_id = w.user_id
                    LEFT JOIN work_log AS l FORCE INDEX (PRIMARY)
                      ON l.log_id = (SELECT m.log_id FROM work_log AS m FORCE INDEX (work_log_loan)
                                      WHERE m.task_id = p_task_id AND m.loan_id = j.loan_id
                                        AND m.version = w.version AND m.event <> 'available'
                                      ORDER BY (m.event = 'assigned') DESC, m.log_id DESC
                                      LIMIT 1)
                    LEFT JOIN work_log AS b FORCE INDEX (PRIMARY)
                      ON b.log_id = (SELECT m.log_id FROM work_log AS m FORCE INDEX (work_log_loan)
                                      WHERE m.task_id = p_task_id AND m.loan_id = j.loan_id
                                        AND m.version = w.version - 1 AND m.event <> 'available'
                                      ORDER BY m.log_id DESC LIMIT 1)) AS d
           ORDER BY d.loan_id LIMIT 18446744073709551615) AS g;
  SELECT JSON_ARRAYAGG(JSON_ARRAY(j.loan_id, j.gets)) INTO v_done
    FROM JSON_TABLE(v_judged, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                              what VARCHAR(16) PATH '$[1]',
                                              gets INT UNSIGNED PATH '$[2]')) AS j
   WHERE j.what IN ('done', 'calls') AND p_step <> 'judge';
  IF p_action <> 'release' AND v_done IS NOT NULL THEN
    -- Every assignment has a request.
    SELECT JSON_ARRAYAGG(JSON_ARRAY(d.gets, d.n, UUID())) INTO v_asks
      FROM (SELECT j.gets, COUNT(*) AS n
              FROM JSON_TABLE(v_done, '$[*]' COLUMNS (gets INT UNSIGNED PATH '$[1]')) AS j
             GROUP BY j.gets) AS d;
    INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested, assigned,
                                outcome, reason, seen_at, served_at)
      SELECT a.uuid, a.user_id, v_account, p_task_id, a.n, a.n, a.n, 'served',
             LEFT(CONCAT(IF(p_action = 'undo', 'undone by ', 'reassigned by '), p_manager, ': ',
                         p_reason), 512), v_now, v_now
        FROM JSON_TABLE(v_asks, '$[*]' COLUMNS (user_id INT UNSIGNED PATH '$[0]',
                                                n INT UNSIGNED PATH '$[1]',
                                                uuid CHAR(36) PATH '$[2]')) AS a
       ORDER BY a.user_id;
  END IF;
  IF p_action <> 'undo' AND v_done IS NOT NULL THEN
    INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version, request_id,
                          available_at, note, at, manager)
      SELECT w.task_id, w.loan_id, 'returned', w.user_id, v_account, w.token, w.version + 1,
             w.request_id, GREATEST(v_now, w.changed_at), p_reason,
             GREATEST(v_now, w.changed_at), p_manager
        FROM JSON_TABLE(v_done, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
        STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
          ON w.task_id = p_task_id AND w.loan_id = j.loan_id
       ORDER BY w.loan_id;
  END IF;
  IF p_action <> 'release' AND v_done IS NOT NULL THEN
    -- The token is above every earlier one of the loan. This read of task_lock locks nothing.
    SELECT COALESCE(MAX(k.epoch), 0) INTO v_epoch FROM task_lock AS k WHERE k.task_id = p_task_id;
    INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version, request_id,
                          lease_expires_at, note, at, manager)
      SELECT w.task_id, w.loan_id, 'assigned', j.gets, v_account, GREATEST(v_epoch, w.token + 1),
             w.version + IF(p_action = 'undo', 1, 2), r.request_id,
             GREATEST(v_now, w.changed_at) + INTERVAL v_lease MINUTE, p_reason,
             GREATEST(v_now, w.changed_at), p_manager
        FROM JSON_TABLE(v_done, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                                gets INT UNSIGNED PATH '$[1]')) AS j
        STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
          ON w.task_id = p_task_id AND w.loan_id = j.loan_id
        STRAIGHT_JOIN JSON_TABLE(v_asks, '$[*]' COLUMNS (user_id INT UNSIGNED PATH '$[0]',
                                                         uuid CHAR(36) PATH '$[2]')) AS a
          ON a.user_id = j.gets
        STRAIGHT_JOIN work_requested AS r FORCE INDEX (work_requested_uuid)
          ON r.uuid = CONVERT(a.uuid USING ascii) COLLATE ascii_bin
       ORDER BY w.loan_id;
  END IF;
  IF p_action = 'undo' AND v_done IS NOT NULL THEN
    DELETE e FROM JSON_TABLE(v_done, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                                     gets INT UNSIGNED PATH '$[1]')) AS j
      STRAIGHT_JOIN work_exclusion AS e FORCE INDEX (PRIMARY)
        ON e.task_id = p_task_id AND e.user_id = j.gets AND e.loan_id = j.loan_id;
  END IF;
  IF v_done IS NOT NULL THEN
    CALL work_moves(p_task_id, v_done);
    -- The task not_same_user_as has given the user the loan since it was judged. The log must not
    -- keep an assignment that never was: the caller tries again.
    SELECT COUNT(*) INTO v_n
      FROM JSON_TABLE(v_done, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                              gets INT UNSIGNED PATH '$[1]')) AS j
      STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
        ON w.task_id = p_task_id AND w.loan_id = j.loan_id
     WHERE p_action <> 'release' AND NOT (w.state = 'assigned' AND w.user_id = j.gets);
    IF v_n > 0 THEN
      SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213,
        MESSAGE_TEXT = 'manage_loans: a loan has become one for others meanwhile';
    END IF;
  END IF;
  SELECT JSON_ARRAYAGG(JSON_ARRAY(d.what, d.loan_id, d.state, d.token, d.name, d.since,
                                  d.available_at, d.lease_expires_at, d.excluded_until,
                                  d.manager))
    INTO v_answer
    FROM (SELECT j.what, j.loan_id, w.state, w.token, u.name,
                 IF(w.state = 'assigned', w.assigned_at, w.changed_at) AS since, w.available_at,
                 w.lease_expires_at,
                 IF(j.what = 'excluded',
                    (SELECT e.until FROM work_exclusion AS e FORCE INDEX (PRIMARY)
                      WHERE e.task_id = p_task_id AND e.user_id = j.gets
                        AND e.loan_id = j.loan_id), NULL) AS excluded_until,
                 (SELECT m.manager FROM work_log AS m FORCE INDEX (work_log_loan)
                   WHERE m.task_id = p_task_id AND m.loan_id = j.loan_id
                     AND m.version = w.version AND m.event <> 'available'
                   ORDER BY m.log_id DESC LIMIT 1) AS manager
            FROM JSON_TABLE(v_judged, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                                      what VARCHAR(16) PATH '$[1]',
                                                      gets INT UNSIGNED PATH '$[2]')) AS j
            LEFT JOIN work AS w FORCE INDEX (PRIMARY)
              ON w.task_id = p_task_id AND w.loan_id = j.loan_id
            LEFT JOIN app_user AS u
              ON u.user_id = w.user_id) AS d;
  IF p_step = 'alone' THEN
    COMMIT;
  END IF;
  -- After the COMMIT: a client that is stopped while it reads must hold nothing.
  SELECT j.what, j.loan_id, j.state, j.token, j.name, j.since, j.available_at,
         j.lease_expires_at, j.excluded_until, j.manager, v_on_undo
    FROM JSON_TABLE(v_answer, '$[*]' COLUMNS (what VARCHAR(16) PATH '$[0]',
                                              loan_id BIGINT UNSIGNED PATH '$[1]',
                                              state VARCHAR(16) PATH '$[2]',
                                              token BIGINT UNSIGNED PATH '$[3]',
                                              name VARCHAR(64) PATH '$[4]',
                                              since DATETIME(6) PATH '$[5]',
                                              available_at DATETIME(6) PATH '$[6]',
                                              lease_expires_at DATETIME(6) PATH '$[7]',
                                              excluded_until DATETIME(6) PATH '$[8]',
                                              manager VARCHAR(64) PATH '$[9]')) AS j
   ORDER BY j.loan_id;
END//

-- Has loans of a task offered before all others, or takes that back (p_withdraws). p_loans is a
-- JSON array with an array for each loan: its id. The result has a row for each loan, in the order
-- of their ids, as that of manage_loans: what became of it, and how it stands.
--   done      it comes next, where the view shows it; or it comes in its turn again
--   already   that was so before
--   held      somebody has it: nothing is noted
--   never     it is never to be offered again: nothing is noted
-- Or there is one row, "task": it is unknown, and nothing was done.
DROP PROCEDURE IF EXISTS manage_urgent//
CREATE PROCEDURE manage_urgent (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
                                                         COLLATE utf8mb4_0900_as_cs,
                                IN p_task_id INT UNSIGNED, IN p_loans JSON,
                                IN p_withdraws BOOLEAN,
                                IN p_reason VARCHAR(512) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
urges: BEGIN
  DECLARE v_now DATETIME(6) DEFAULT TIMESTAMP'1970-01-01 00:00:00'
    + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND;
  DECLARE v_tasks, v_n, v_length INT UNSIGNED;
  DECLARE v_epoch BIGINT UNSIGNED;
  DECLARE v_waits, v_done, v_answer, v_tickets, v_rows JSON;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as(p_manager);
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  IF NOT p_withdraws AND COALESCE(p_reason, '') = '' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'manage_urgent: an urgent loan has a reason';
  END IF;
  SELECT COUNT(*) INTO v_tasks FROM task AS t WHERE t.task_id = p_task_id;
  IF v_tasks = 0 THEN
    ROLLBACK;
    SELECT 'task', 0;
    LEAVE urges;
  END IF;
  IF p_withdraws THEN
    -- Whoever puts loans before a list has its row locked. So what is put there is seen here, or is
    -- put after the rows have gone.
    SELECT l.epoch, l.length INTO v_epoch, v_length
      FROM kept_list AS l FORCE INDEX (PRIMARY)
     WHERE l.task_id = p_task_id
     ORDER BY l.epoch DESC LIMIT 1
       FOR UPDATE;
  END IF;
  -- Each urgent loan of the task is looked for in p_loans, for which the server makes an index. The
  -- other way round all of them would be read for each of p_loans, for minutes where both are many.
  SELECT JSON_ARRAYAGG(JSON_ARRAY(t.loan_id, t.touched_id)) INTO v_waits
    FROM task_touched AS t FORCE INDEX (task_touched_urgent)
    STRAIGHT_JOIN (SELECT DISTINCT i.loan_id
                     FROM JSON_TABLE(p_loans, '$[*]'
                                     COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS i) AS j
      ON j.loan_id = t.loan_id
    LEFT JOIN work AS w FORCE INDEX (PRIMARY)
      ON w.task_id = t.task_id AND w.loan_id = t.loan_id
   WHERE t.task_id = p_task_id AND t.urgent = 1
     AND UNIX_TIMESTAMP(t.touched_at) > UNIX_TIMESTAMP(SYSDATE(6)) - 604800
     AND COALESCE(w.assigned_at < TIMESTAMP'1970-01-01 00:00:00'
           + INTERVAL UNIX_TIMESTAMP(t.touched_at) * 1000000 MICROSECOND, TRUE);
  SELECT JSON_ARRAYAGG(JSON_ARRAY(d.what, d.loan_id, d.state, d.token, d.name, d.since,
                                  d.available_at, d.lease_expires_at)) INTO v_answer
    FROM (SELECT j.loan_id, w.state, w.token, u.name,
                 IF(w.state = 'assigned', w.assigned_at, w.changed_at) AS since, w.available_at,
                 w.lease_expires_at,
                 CASE
                 WHEN p_withdraws THEN IF(g.loan_id IS NULL, 'already', 'done')
                 WHEN w.state = 'assigned' AND COALESCE(w.lease_expires_at > v_now, TRUE)
                   THEN 'held'
                 WHEN w.state = 'never' THEN 'never'
                 WHEN g.loan_id IS NOT NULL THEN 'already'
                 ELSE 'done'
                 END AS what
            FROM JSON_TABLE(p_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
            LEFT JOIN work AS w FORCE INDEX (PRIMARY)
              ON w.task_id = p_task_id AND w.loan_id = j.loan_id
            LEFT JOIN app_user AS u
              ON u.user_id = w.user_id
            LEFT JOIN (SELECT DISTINCT i.loan_id
                         FROM JSON_TABLE(v_waits, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED
                                                                  PATH '$[0]')) AS i) AS g
              ON g.loan_id = j.loan_id) AS d;
  SELECT JSON_ARRAYAGG(j.loan_id) INTO v_done
    FROM JSON_TABLE(v_answer, '$[*]' COLUMNS (what VARCHAR(16) PATH '$[0]',
                                              loan_id BIGINT UNSIGNED PATH '$[1]')) AS j
   WHERE j.what = 'done';
  IF p_withdraws THEN
    DELETE t FROM JSON_TABLE(v_waits, '$[*]' COLUMNS (touched_id BIGINT UNSIGNED
                                                      PATH '$[1]')) AS j
      STRAIGHT_JOIN task_touched AS t FORCE INDEX (PRIMARY)
        ON t.touched_id = j.touched_id;
    -- Those that stand before the list go to its end: nobody knows their places any more, and the
    -- next list has them there. Whoever has one locked is giving it.
    SELECT JSON_ARRAYAGG(k.position) INTO v_rows
      FROM JSON_TABLE(v_done, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$')) AS j
      STRAIGHT_JOIN kept_loan AS k FORCE INDEX (kept_loan_loan)
        ON k.task_id = p_task_id AND k.epoch = v_epoch AND k.loan_id = j.loan_id
     WHERE k.position < 500000;
    SELECT COUNT(*), JSON_ARRAYAGG(JSON_ARRAY(d.position, d.loan_id, d.version))
      INTO v_n, v_tickets
      FROM (SELECT k.position, k.loan_id, k.version
              FROM JSON_TABLE(v_rows, '$[*]' COLUMNS (position INT UNSIGNED PATH '$')) AS j
              STRAIGHT_JOIN kept_loan AS k FORCE INDEX (PRIMARY)
                ON k.task_id = p_task_id AND k.epoch = v_epoch AND k.position = j.position
               FOR UPDATE OF k SKIP LOCKED) AS d;
    DELETE k FROM JSON_TABLE(v_tickets, '$[*]' COLUMNS (position INT UNSIGNED PATH '$[0]')) AS j
      STRAIGHT_JOIN kept_loan AS k FORCE INDEX (PRIMARY)
        ON k.task_id = p_task_id AND k.epoch = v_epoch AND k.position = j.position;
    INSERT INTO kept_loan (task_id, epoch, position, loan_id, version)
      SELECT p_task_id, v_epoch, 999999 + v_length + j.n, j.loan_id, j.version
        FROM JSON_TABLE(v_tickets, '$[*]' COLUMNS (n FOR ORDINALITY,
                                                   loan_id BIGINT UNSIGNED PATH '$[1]',
                                                   version BIGINT UNSIGNED PATH '$[2]')) AS j;
    UPDATE kept_list AS l SET l.length = v_length + v_n
     WHERE l.task_id = p_task_id AND l.epoch = v_epoch AND v_n > 0;
  ELSE
    INSERT INTO task_touched (task_id, loan_id, touched_at, urgent)
      SELECT p_task_id, j.loan_id, SYSDATE(6), TRUE
        FROM JSON_TABLE(v_done, '$[*]' COLUMNS (n FOR ORDINALITY,
                                                loan_id BIGINT UNSIGNED PATH '$')) AS j
       ORDER BY j.n;
  END IF;
  INSERT INTO manage_log (manager, account, action, task_id, after_it, reason)
    SELECT p_manager, CONVERT(USER() USING utf8mb4),
           IF(p_withdraws, 'loans not urgent', 'loans urgent'), p_task_id,
           JSON_OBJECT('loans', v_done), p_reason
     WHERE v_done IS NOT NULL;
  COMMIT;
  SELECT j.what, j.loan_id, j.state, j.token, j.name, j.since, j.available_at,
         j.lease_expires_at, NULL, NULL, NULL
    FROM JSON_TABLE(v_answer, '$[*]' COLUMNS (what VARCHAR(16) PATH '$[0]',
                                              loan_id BIGINT UNSIGNED PATH '$[1]',
                                              state VARCHAR(16) PATH '$[2]',
                                              token BIGINT UNSIGNED PATH '$[3]',
                                              name VARCHAR(64) PATH '$[4]',
                                              since DATETIME(6) PATH '$[5]',
                                              available_at DATETIME(6) PATH '$[6]',
                                              lease_expires_at DATETIME(6) PATH '$[7]')) AS j
   ORDER BY j.loan_id;
END//

-- Cancels somebody's pending request. The result is one row, what came of it and the request's
-- number:
--   done      it is cancelled, and its user is told the reason
--   already   the same manager has cancelled it before
--   ended     it had ended: served, or otherwise
--   unknown   there is none
DROP PROCEDURE IF EXISTS manage_cancel//
CREATE PROCEDURE manage_cancel (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
                                                         COLLATE utf8mb4_0900_as_cs,
                                IN p_request_id BIGINT UNSIGNED,
                                IN p_reason VARCHAR(512) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
cancels: BEGIN
  DECLARE v_request_id BIGINT UNSIGNED;
  DECLARE v_user_id, v_task_id, v_pending, v_mine INT UNSIGNED;
  DECLARE v_before JSON;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as(p_manager);
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  IF p_reason IS NULL OR p_reason = '' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'manage_cancel: a correction has a reason';
  END IF;
  -- A leader that serves the request holds the row, so this waits for what becomes of it.
  SELECT r.request_id, r.user_id, r.task_id, r.outcome = 'pending',
         JSON_OBJECT('asked', r.asked, 'created_at', r.created_at)
    INTO v_request_id, v_user_id, v_task_id, v_pending, v_before
    FROM work_requested AS r
   WHERE r.request_id = p_request_id
     FOR UPDATE;
  IF v_request_id IS NULL OR NOT v_pending THEN
    ROLLBACK;
    SELECT COUNT(*) INTO v_mine
      FROM manage_log AS m FORCE INDEX (manage_log_user)
     WHERE m.user_id = v_user_id AND m.request_id = v_request_id AND m.manager = p_manager
       AND m.action = 'request cancelled';
    SELECT CASE WHEN v_request_id IS NULL THEN 'unknown' WHEN v_mine > 0 THEN 'already'
                ELSE 'ended' END, v_request_id;
    LEAVE cancels;
  END IF;
  UPDATE work_requested AS r
     SET r.outcome = 'cancelled', r.requested = 0,
         r.served_at = TIMESTAMP'1970-01-01 00:00:00'
           + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND,
         r.reason = LEFT(CONCAT('cancelled by ', p_manager, ': ', p_reason), 512)
   WHERE r.request_id = v_request_id;
  INSERT INTO manage_log (manager, account, action, task_id, user_id, request_id, before_it,
                          reason)
    VALUES (p_manager, CONVERT(USER() USING utf8mb4), 'request cancelled', v_task_id, v_user_id,
            v_request_id, v_before, p_reason);
  COMMIT;
  SELECT 'done', v_request_id;
END//

-- Takes a person's name and account out of the history, by p_step. Each becomes a pseudonym, and
-- the number of the user stays, so figures and replays are as before. An account that is bound to
-- this person alone is the person's also in rows about others: it may have asked for them, have
-- managed tasks by another name, or have noted that a lease is over. A run that was cut short is
-- begun again with the same name:
--   log       p_most rows of the log after p_from, and
--   requests  the same of the requests: the caller repeats each with the result's second column as
--             p_from, until that is NULL
--   rest      all else; the caller has seen that no process of the person leads a task
-- p_dry: only counts. The result is one row: what came of it, where the next call goes on, and how
-- many rows were changed:
--   done      so far
--   unknown   there is no such user
--   holds     the user has so many loans and pending requests; nothing was done
-- What lockq itself has written into reasons is changed, too, and not what people have.
DROP PROCEDURE IF EXISTS manage_forget//
CREATE PROCEDURE manage_forget (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
                                                         COLLATE utf8mb4_0900_as_cs,
                                IN p_name VARCHAR(64) CHARACTER SET utf8mb4
                                                      COLLATE utf8mb4_0900_as_cs,
                                IN p_step VARCHAR(16) CHARACTER SET ascii,
                                IN p_from BIGINT UNSIGNED, IN p_most INT UNSIGNED,
                                IN p_dry BOOLEAN,
                                IN p_reason VARCHAR(512) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
forgets: BEGIN
  DECLARE v_user_id, v_enabled INT UNSIGNED;
  DECLARE v_n, v_rows BIGINT UNSIGNED DEFAULT 0;
  DECLARE v_last BIGINT UNSIGNED;
  DECLARE v_alias, v_login VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs;
  DECLARE v_by VARCHAR(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs
    DEFAULT CONCAT(' by ', p_name, ': ');
  DECLARE v_phrases VARCHAR(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs
    DEFAULT 'cancelled,reassigned,undone,user disabled,the task was removed';
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as(p_manager);
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT u.user_id, u.enabled INTO v_user_id, v_enabled
    FROM app_user AS u WHERE u.name = p_name FOR UPDATE;
  SELECT (SELECT COUNT(*) FROM work AS w FORCE INDEX (work_pipeline)
           WHERE w.user_id = v_user_id AND w.state = 'assigned')
         + (SELECT COUNT(*) FROM task AS t
            STRAIGHT_JOIN work_requested AS r FORCE INDEX (work_requested_one_pending)
               ON r.user_id = v_user_id AND r.task_id = t.task_id AND r.pending = 1)
    INTO v_n;
  IF v_user_id IS NULL OR v_n > 0 THEN
    ROLLBACK;
    SELECT IF(v_user_id IS NULL, 'unknown', 'holds'), NULL, v_n;
    LEAVE forgets;
  END IF;
  -- Somebody may have chosen that name.
  SELECT CONCAT('forgotten-', v_user_id, IF(COUNT(*) > 0, CONCAT('-', v_user_id), ''))
    INTO v_alias
    FROM app_user AS u
   WHERE u.name = CONCAT('forgotten-', v_user_id) AND u.user_id <> v_user_id;
  -- NULL where it is nobody's, or somebody else's, too. The tables have it with its host.
  SELECT MAX(u.account) INTO v_login
    FROM app_user AS u
   WHERE u.account = (SELECT s.account FROM app_user AS s WHERE s.user_id = v_user_id)
  HAVING COUNT(*) = 1;
  IF v_enabled AND NOT p_dry THEN
    UPDATE app_user AS u SET u.enabled = FALSE WHERE u.user_id = v_user_id;
    INSERT INTO manage_log (manager, account, action, user_id, reason)
      VALUES (p_manager, CONVERT(USER() USING utf8mb4), 'user forgetting begun', v_user_id,
              p_reason);
  END IF;
  CASE p_step
  WHEN 'log' THEN
    SELECT MAX(d.log_id) INTO v_last
      FROM (SELECT l.log_id FROM work_log AS l FORCE INDEX (PRIMARY)
             WHERE l.log_id > p_from ORDER BY l.log_id LIMIT p_most) AS d;
    SELECT COUNT(*) INTO v_rows
      FROM work_log AS l FORCE INDEX (PRIMARY)
     WHERE l.log_id > p_from AND l.log_id <= v_last
       AND ((l.user_id = v_user_id AND l.account <> v_alias) OR l.manager = p_name
            OR LEFT(l.account, CHAR_LENGTH(l.account) - 1
                 - CHAR_LENGTH(SUBSTRING_INDEX(l.account, '@', -1))) = v_login);
    UPDATE work_log AS l FORCE INDEX (PRIMARY)
       SET l.account = v_alias, l.manager = IF(l.manager = p_name, v_alias, l.manager)
     WHERE l.log_id > p_from AND l.log_id <= v_last AND NOT p_dry
       AND ((l.user_id = v_user_id AND l.account <> v_alias) OR l.manager = p_name
            OR LEFT(l.account, CHAR_LENGTH(l.account) - 1
                 - CHAR_LENGTH(SUBSTRING_INDEX(l.account, '@', -1))) = v_login);
  WHEN 'requests' THEN
    -- Where a manager made or ended a request, its reason is one of these phrases, ' by ', the
    -- name, and what the manager wrote. One that a manager made has the manager's account.
    SELECT MAX(d.request_id) INTO v_last
      FROM (SELECT r.request_id FROM work_requested AS r FORCE INDEX (PRIMARY)
             WHERE r.request_id > p_from ORDER BY r.request_id LIMIT p_most) AS d;
    SELECT COUNT(*) INTO v_rows
      FROM work_requested AS r FORCE INDEX (PRIMARY)
     WHERE r.request_id > p_from AND r.request_id <= v_last
       AND ((r.user_id = v_user_id AND r.account <> v_alias)
            OR LEFT(r.account, CHAR_LENGTH(r.account) - 1
                 - CHAR_LENGTH(SUBSTRING_INDEX(r.account, '@', -1))) = v_login
            OR FIND_IN_SET(SUBSTRING_INDEX(CONCAT(r.reason, ': '), v_by, 1), v_phrases));
    UPDATE work_requested AS r FORCE INDEX (PRIMARY)
       SET r.account = v_alias
     WHERE r.request_id > p_from AND r.request_id <= v_last AND NOT p_dry
       AND (r.user_id = v_user_id
            OR LEFT(r.account, CHAR_LENGTH(r.account) - 1
                 - CHAR_LENGTH(SUBSTRING_INDEX(r.account, '@', -1))) = v_login
            OR SUBSTRING_INDEX(CONCAT(r.reason, ': '), v_by, 1) IN ('reassigned', 'undone'));
    UPDATE work_requested AS r FORCE INDEX (PRIMARY)
       SET r.reason = LEFT(INSERT(r.reason, CHAR_LENGTH(SUBSTRING_INDEX(r.reason, ' by ', 1)) + 5,
                                  CHAR_LENGTH(p_name), v_alias), 512)
     WHERE r.request_id > p_from AND r.request_id <= v_last AND NOT p_dry
       AND FIND_IN_SET(SUBSTRING_INDEX(CONCAT(r.reason, ': '), v_by, 1), v_phrases);
  WHEN 'rest' THEN
    IF NOT p_dry THEN
      UPDATE task AS t SET t.manager = v_alias WHERE t.manager = p_name;
      UPDATE task AS t SET t.paused_by = v_alias WHERE t.paused_by = p_name;
      UPDATE leader_run AS l SET l.user = v_alias WHERE l.user = p_name;
      UPDATE manage_log AS m
         SET m.before_it = JSON_REPLACE(m.before_it, '$.name', v_alias, '$.account', NULL),
             m.after_it = JSON_REPLACE(m.after_it, '$.name', v_alias, '$.account', NULL)
       WHERE m.user_id = v_user_id;
      UPDATE manage_log AS m SET m.before_it = JSON_REPLACE(m.before_it, '$.manager', v_alias)
       WHERE JSON_UNQUOTE(JSON_EXTRACT(m.before_it, '$.manager')) = p_name;
      UPDATE manage_log AS m SET m.after_it = JSON_REPLACE(m.after_it, '$.manager', v_alias)
       WHERE JSON_UNQUOTE(JSON_EXTRACT(m.after_it, '$.manager')) = p_name;
      UPDATE manage_log AS m SET m.manager = v_alias, m.account = v_alias
       WHERE m.manager = p_name;
      UPDATE follow_cursor AS c SET c.account = v_alias
       WHERE LEFT(c.account, CHAR_LENGTH(c.account) - 1
               - CHAR_LENGTH(SUBSTRING_INDEX(c.account, '@', -1))) = v_login;
      UPDATE app_user AS u SET u.name = v_alias, u.account = NULL WHERE u.user_id = v_user_id;
      INSERT INTO manage_log (manager, account, action, user_id, reason)
        VALUES (IF(p_manager = p_name, v_alias, p_manager),
                IF(p_manager = p_name, v_alias, CONVERT(USER() USING utf8mb4)),
                'user forgotten', v_user_id, p_reason);
      UPDATE manage_log AS m SET m.account = v_alias
       WHERE LEFT(m.account, CHAR_LENGTH(m.account) - 1
               - CHAR_LENGTH(SUBSTRING_INDEX(m.account, '@', -1))) = v_login;
    END IF;
  END CASE;
  COMMIT;
  SELECT 'done', v_last, v_rows;
END//

-- Who leads, for accounts that may not read task_lock, since they could lock its rows. A leader's
-- name is seen by a dirty read only: the caller sets the isolation level.
--   p_task_id the task, 0 for all tasks
DROP PROCEDURE IF EXISTS leaders//
CREATE PROCEDURE leaders (IN p_task_id INT UNSIGNED) READS SQL DATA
BEGIN
  SELECT l.task_id, l.epoch, l.holder, TIMESTAMPDIFF(MICROSECOND, l.since, NOW(6)) DIV 1000
    FROM task_lock AS l
   WHERE p_task_id = 0 OR l.task_id = p_task_id;
END//

-- A call that was held up. Each parameter counts the call's own troubles, so no client can add more
-- than a call could meet. It reads no other table: the one that held up the call may be locked yet.
DROP PROCEDURE IF EXISTS trouble_adds//
CREATE PROCEDURE trouble_adds (IN p_task_id INT UNSIGNED,
                               IN p_operation VARCHAR(16) CHARACTER SET utf8mb4,
                               IN p_busy BOOLEAN, IN p_lock_waits INT UNSIGNED,
                               IN p_deadlocks INT UNSIGNED, IN p_retries INT UNSIGNED)
  MODIFIES SQL DATA
BEGIN
  DECLARE v_now DATETIME DEFAULT
    TIMESTAMP'1970-01-01 00:00:00' + INTERVAL UNIX_TIMESTAMP(SYSDATE()) DIV 600 * 600 SECOND;
  IF p_operation IN ('getwork', 'cancel', 'disposition', 'expire', 'refill', 'manage') THEN
    INSERT INTO task_trouble (slot, task_id, operation, busy, lock_waits, deadlocks, retries)
      VALUES (v_now, p_task_id, p_operation, p_busy <> 0, LEAST(p_lock_waits, 1000),
              LEAST(p_deadlocks, 1000), LEAST(p_retries, 1000))
      ON DUPLICATE KEY UPDATE
        busy = task_trouble.busy + (p_busy <> 0),
        lock_waits = task_trouble.lock_waits + LEAST(p_lock_waits, 1000),
        deadlocks = task_trouble.deadlocks + LEAST(p_deadlocks, 1000),
        retries = task_trouble.retries + LEAST(p_retries, 1000);
    IF ROW_COUNT() = 1 THEN
      DELETE FROM task_trouble
       WHERE slot < v_now - INTERVAL 2 DAY ORDER BY slot, task_id, operation LIMIT 1000;
    END IF;
  END IF;
END//

-- The next ones are for the change feed. Nobody has rights to follow_cursor itself: with the right
-- to read it, an account could lock its rows, and stop the feed. Times are true ones.

-- Makes a cursor at p_position, or, where that is NULL, before the oldest row of the log: a row
-- that is not committed yet may come before the oldest one, unless that one is of yesterday. The
-- result is 1 if the cursor is new.
DROP PROCEDURE IF EXISTS follow_begins//
CREATE PROCEDURE follow_begins (IN p_cursor VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin,
                                IN p_position BIGINT UNSIGNED)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_made INT DEFAULT 1;
  DECLARE v_oldest BIGINT UNSIGNED;
  DECLARE v_logged_at DATETIME(6);
  -- Another process has made it meanwhile.
  DECLARE CONTINUE HANDLER FOR 1062 SET v_made = 0;
  SELECT MIN(l.log_id) INTO v_oldest FROM work_log AS l;
  SELECT MAX(COALESCE(l.logged_at, l.at)) INTO v_logged_at
    FROM work_log AS l
   WHERE l.log_id = v_oldest;
  IF v_logged_at >= TIMESTAMP'1970-01-01 00:00:00'
       + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND - INTERVAL 1 DAY THEN
    SET v_oldest = 1;
  END IF;
  INSERT INTO follow_cursor (name, position, account)
    VALUES (p_cursor, COALESCE(p_position, v_oldest - 1, 0), CONVERT(USER() USING utf8mb4));
  SELECT v_made;
END//

-- Looks, without a lock: where the cursor is, and the next row of the log, or NULL. No row: there
-- is no such cursor.
DROP PROCEDURE IF EXISTS follow_looks//
CREATE PROCEDURE follow_looks (IN p_cursor VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin)
  READS SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_position, v_next BIGINT UNSIGNED;
  SELECT MAX(c.position) INTO v_position FROM follow_cursor AS c WHERE c.name = p_cursor;
  -- By a variable, or the server would read the log from its start.
  SELECT MIN(l.log_id) INTO v_next
    FROM work_log AS l FORCE INDEX (PRIMARY)
   WHERE l.log_id > v_position;
  SELECT v_position, v_next FROM DUAL WHERE v_position IS NOT NULL;
END//

-- Locks the cursor until the caller's transaction ends. NULL: another process has it, or it is
-- gone.
DROP PROCEDURE IF EXISTS follow_takes//
CREATE PROCEDURE follow_takes (IN p_cursor VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_position BIGINT UNSIGNED;
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  SELECT c.position INTO v_position
    FROM follow_cursor AS c
   WHERE c.name = p_cursor
     FOR UPDATE SKIP LOCKED;
  SELECT v_position;
END//

-- Acknowledges the rows after p_from up to p_to, in the caller's transaction. The result is how
-- many cursors were moved: 1, or 0 where the cursor is not at p_from, or the log does not reach to
-- p_to.
DROP PROCEDURE IF EXISTS follow_moves//
CREATE PROCEDURE follow_moves (IN p_cursor VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin,
                               IN p_from BIGINT UNSIGNED, IN p_to BIGINT UNSIGNED)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_newest BIGINT UNSIGNED;
  SELECT MAX(l.log_id) INTO v_newest FROM work_log AS l;
  UPDATE follow_cursor AS c
     SET c.position = p_to,
         c.moved_at = TIMESTAMP'1970-01-01 00:00:00'
           + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND
   WHERE c.name = p_cursor AND c.position = p_from AND p_to > p_from AND p_to <= v_newest;
  SELECT ROW_COUNT();
END//

-- Removes a cursor. The result is how many were removed.
DROP PROCEDURE IF EXISTS follow_ends//
CREATE PROCEDURE follow_ends (IN p_cursor VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DELETE FROM follow_cursor WHERE name = p_cursor;
  SELECT ROW_COUNT();
END//

-- The cursors, the one that is furthest behind first.
DROP PROCEDURE IF EXISTS follow_list//
CREATE PROCEDURE follow_list ()
  READS SQL DATA
  SQL SECURITY DEFINER
BEGIN
  SELECT c.name, c.position, c.made_at, c.moved_at, c.account
    FROM follow_cursor AS c
   ORDER BY c.position, c.name;
END//

-- The transactions that may write to the log now: each has a metadata lock on it until its end. The
-- first column is 1 for such a transaction, with the thread, the event that took the lock, and
-- whether the thread rests between two statements. The first column is 0 in the row that tells that
-- all of them are seen: this statement sees its own lock, and the server has never lacked memory to
-- note one. It is NULL in the row that names the account that lacks the right to see them.
DROP PROCEDURE IF EXISTS follow_writers//
CREATE PROCEDURE follow_writers ()
  READS SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE EXIT HANDLER FOR 1044, 1142, 1143, 1146
    SELECT NULL,
           CONCAT(QUOTE(LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - 1
                             - CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)))), '@',
                  QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1))),
           NULL, NULL;
  SELECT m.lock_type <> 'SHARED_READ', m.owner_thread_id, m.owner_event_id,
         COALESCE(t.processlist_command = 'Sleep', FALSE)
    FROM performance_schema.metadata_locks AS m
    LEFT JOIN performance_schema.threads AS t
      ON t.thread_id = m.owner_thread_id
    LEFT JOIN work_log AS l
      ON l.log_id = 0
   WHERE m.object_type = 'TABLE' AND m.object_schema = DATABASE()
     AND m.object_name = 'work_log' AND m.lock_status = 'GRANTED'
     AND (m.lock_type NOT IN ('SHARED', 'SHARED_HIGH_PRIO', 'SHARED_READ', 'SHARED_READ_ONLY',
                              'INTENTION_EXCLUSIVE')
          OR (m.owner_thread_id = PS_CURRENT_THREAD_ID() AND m.lock_type = 'SHARED_READ'
              AND NOT EXISTS (SELECT 1 FROM performance_schema.global_status AS g
                               WHERE g.variable_name IN ('Performance_schema_metadata_lock_lost',
                                                         'Performance_schema_thread_instances_lost')
                                 AND g.variable_value > 0)));
END//
DELIMITER ;
