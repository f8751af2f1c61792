-- How other programs read the change feed, each with a cursor of its own; and which rows of the log
-- a purge may delete, since all of them have read these. Nobody has rights to follow_cursor itself:
-- with the right to read it, an account could lock its rows, and stop the feed. Times are true
-- ones. rules.sql says what all doors share.

-- The rows of the log that a purge may delete: those that each reader of the change feed has
-- acknowledged.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW log_out AS
  SELECT l.log_id, l.at
    FROM work_log AS l
   WHERE l.log_id <= COALESCE((SELECT MIN(c.position) FROM follow_cursor AS c),
                              18446744073709551615);

DELIMITER //
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
