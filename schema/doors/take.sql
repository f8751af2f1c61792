-- How a request takes loans from a kept list, without a leader: one call of list_serves_2 does all
-- of it, and commits. What else becomes of a list is in list.sql. rules.sql says what all doors
-- share.

DELIMITER //
-- Gives loans of a kept list, in a transaction that list_serves_2 has begun. That one is below, and
-- tells of the parameters and of what may become of it.
-- Only INSERTs wait, for others that make the same row or alter a person or a task. Other rows are
-- read by SELECT … INTO, which takes no lock: a subquery in IF or SET takes shared ones.
DROP PROCEDURE IF EXISTS list_pops_2//
CREATE PROCEDURE list_pops_2 (IN p_uuid CHAR(36) CHARACTER SET ascii,
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
                       OR (w.state = 'returned'
                           AND (w.available_at <= v_now
                                OR w.available_at IN (w.changed_at, w.lease_expires_at)))
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
    SET v_reason = CONCAT('with these you have ', v_most, ' of ', v_most,
                          ' that this task allows');
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
        MESSAGE_TEXT = 'list_pops_2: a loan has become one for others meanwhile';
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
DROP PROCEDURE IF EXISTS list_serves_2//
CREATE PROCEDURE list_serves_2 (IN p_uuid CHAR(36) CHARACTER SET ascii,
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
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'list_serves_2: needs READ COMMITTED';
    END IF;
    -- The on_complete that ran in this session may have changed it. The answer has names.
    SET character_set_results = utf8mb4;
  ELSE
    -- The session may have any level.
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
  END IF;
  CALL list_pops_2(p_uuid, p_request_id, p_user_id, p_task_id, p_count, p_least, p_epoch, p_good,
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
DELIMITER ;
