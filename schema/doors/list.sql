-- What becomes of a kept list. A leader writes it (list_begins), touched and urgent loans move to
-- its front (list_tops_2), old lists are swept away (list_sweeps_2), and one of many programs fills
-- it again in time (refill_begins, refill_notes). How loans are taken from it is in take.sql.
-- rules.sql says what all doors share.

DELIMITER //
-- Writes a list in the transaction of the lock: so a leader that was aborted leaves none, and one
-- that was stopped and has lost the lock can write none.
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
DROP PROCEDURE IF EXISTS list_tops_2//
CREATE PROCEDURE list_tops_2 (IN p_task_id INT UNSIGNED, IN p_epoch BIGINT UNSIGNED)
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
                      OR (w.state = 'returned'
                          AND (w.available_at <= v_now
                               OR w.available_at IN (w.changed_at, w.lease_expires_at)))
                      OR (w.state = 'assigned' AND w.lease_expires_at <= v_now),
                      COALESCE(w.version, 0), NULL) AS version,
                   CASE WHEN t.urgent THEN
                          t.touched_at < v_now - INTERVAL 7 DAY
                          -- It was given since.
                          OR COALESCE(w.assigned_at >= t.touched_at, FALSE)
                        WHEN t.epoch IS NULL THEN
                          t.touched_at < v_now - INTERVAL v_keep_s SECOND
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

-- Takes away loans of lists that nobody takes from any more, p_most of them or fewer, and tells how
-- many. It waits for nobody who takes, and nobody waits for it.
DROP PROCEDURE IF EXISTS list_sweeps_2//
CREATE PROCEDURE list_sweeps_2 (IN p_task_id INT UNSIGNED, IN p_most INT UNSIGNED)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_now DATETIME(6) DEFAULT TIMESTAMP'1970-01-01 00:00:00'
    + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND;
  DECLARE v_epoch BIGINT UNSIGNED;
  DECLARE v_n INT UNSIGNED DEFAULT 0;
  DECLARE v_over BOOLEAN;
  DECLARE v_rows JSON;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  SELECT l.epoch, l.as_of <= v_now - INTERVAL t.cache_ttl SECOND
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
             AND (o.touched_at < v_now - INTERVAL IF(o.urgent, 604800,
                                                     GREATEST(t.cache_ttl, 3600)) SECOND
                  OR (o.urgent AND w.assigned_at >= o.touched_at))
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
DELIMITER ;
