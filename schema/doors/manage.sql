-- What managers change: tasks, people, loans that somebody has or had, urgent loans, and requests.
-- They may do more than workers: each change is logged with the manager's name, the account, and
-- the true time. rules.sql says what all doors share.

DELIMITER //
-- All others call this first. A name that is somebody else's is refused: that of a user who is
-- bound to another account, of anybody else where users are bound to this account, and one that
-- could be taken for another when people read it.
DROP PROCEDURE IF EXISTS manage_as_2//
CREATE PROCEDURE manage_as_2 (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
                                                       COLLATE utf8mb4_0900_as_cs)
  READS SQL DATA
  SQL SECURITY DEFINER
BEGIN
  DECLARE v_login, v_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs;
  DECLARE v_mine INT;
  DECLARE v_text VARCHAR(128) CHARACTER SET utf8mb4;
  SET v_login = CONVERT(LEFT(USER(), CHAR_LENGTH(USER()) - 1
                  - CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1))) USING utf8mb4);
  SELECT MAX(LEFT(CONCAT('only the MySQL account "', u.account, '" may act for manager "',
                         u.name, '": connect with it'), 128))
    INTO v_text
    FROM app_user AS u
   WHERE u.name = p_manager AND u.account <> v_login;
  SELECT MIN(u.name), SUM(u.name = p_manager) INTO v_name, v_mine
    FROM app_user AS u WHERE u.account = v_login;
  IF v_text IS NULL AND v_mine = 0 THEN
    SET v_text = LEFT(CONCAT('your MySQL account is that of user "', v_name, '": say --by ',
                             v_name), 128);
  END IF;
  -- People would take such a name in the log for another one, as that of a user: see manage_person.
  IF COALESCE(v_mine, 0) = 0 AND p_manager REGEXP '^ | $|  |[[[:Cc:][:Cf:][:Z:]]-[ ]]' THEN
    SET v_text = CONCAT('the name of a manager has no blank at an end, no two in a row, and no',
                        ' character that can''t be seen: leave it out');
  END IF;
  IF p_manager IS NULL OR p_manager = '' THEN
    SET v_text = 'a change needs the name of the manager who makes it';
  END IF;
  IF v_text IS NOT NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
  END IF;
END//

-- Makes a task, or changes one. p_set has the columns to set, by their names; null is SQL NULL. A
-- new task without a number gets the next one that no task ever had. Where p_set has no column, but
-- "checked", an epoch, only the log notes that a check found the task well after that leader. The
-- result is one row, what came of it and the task's number:
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
  -- 1265, a value that the column can't have, is no SQLEXCEPTION.
  DECLARE EXIT HANDLER FOR SQLEXCEPTION, 1265 BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as_2(p_manager);
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
    VALUES (p_manager, CONVERT(USER() USING utf8mb4),
            CASE WHEN p_adds THEN 'task added'
                 WHEN JSON_CONTAINS_PATH(p_set, 'one', '$.checked') THEN 'task checked'
                 ELSE 'task changed' END,
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
DROP PROCEDURE IF EXISTS manage_remove_2//
CREATE PROCEDURE manage_remove_2 (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
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
  CALL manage_as_2(p_manager);
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
     ORDER BY request_id LIMIT p_most;
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
--   unclear   a name to add could be taken for another one when people read it: it has a blank at
--             an end, two of them in a row, a tab or another character that can't be seen
--   exists    there is a user of that name already
--   unknown   there is none
--   history   the user has asked for work: lockq's tables name the user
--   account   no MySQL account has that login name; the owner of lockq's database needs the right
--             to read them, or only a name with a host, "oliver@localhost", is told from others
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
  DECLARE v_login BOOLEAN DEFAULT TRUE;
  DECLARE v_before JSON;
  -- Another manager has just added that name.
  DECLARE EXIT HANDLER FOR 1062 BEGIN ROLLBACK; SELECT 'exists', NULL; END;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as_2(p_manager);
  IF p_action = 'add' AND p_name REGEXP '^ | $|  |[[[:Cc:][:Cf:][:Z:]]-[ ]]' THEN
    SELECT 'unclear', NULL;
    LEAVE manages;
  END IF;
  IF p_account IS NOT NULL THEN
    BEGIN
      DECLARE CONTINUE HANDLER FOR 1142, 1143 SET v_login = LOCATE('@', p_account) = 0;
      -- With an anonymous account any login name is one.
      SELECT EXISTS (SELECT 1 FROM mysql.user AS a
                      WHERE a.user = ''
                         OR CONVERT(a.user USING utf8mb4) COLLATE utf8mb4_bin = p_account)
        INTO v_login;
    END;
  END IF;
  IF NOT v_login THEN
    SELECT 'account', NULL;
    LEAVE manages;
  END IF;
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
DROP PROCEDURE IF EXISTS manage_loans_2//
CREATE PROCEDURE manage_loans_2 (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
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
  DECLARE v_users, v_judged, v_done, v_asks, v_notes, v_answer JSON;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as_2(p_manager);
  IF p_step = 'alone' THEN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
  ELSEIF @@autocommit OR @@transaction_isolation <> 'READ-COMMITTED' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
      'manage_loans_2: needs a transaction at READ COMMITTED, with autocommit = 0';
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
      'manage_loans_2: a correction has a reason, names each loan once, and moves it elsewhere';
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
        MESSAGE_TEXT = 'manage_loans_2: a loan has changed meanwhile';
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
             w.request_id,
             -- At once, also where the server's clock was set back since the loan was given.
             IF(w.changed_at > v_now + INTERVAL 1 MINUTE, v_now, GREATEST(v_now, w.changed_at)),
             p_reason, GREATEST(v_now, w.changed_at), p_manager
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
    SELECT JSON_ARRAYAGG(IF(w.note IS NULL, JSON_ARRAY(w.loan_id),
                            JSON_ARRAY(w.loan_id, w.note)))
      INTO v_notes
      FROM JSON_TABLE(v_done, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j
      STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
        ON w.task_id = p_task_id AND w.loan_id = j.loan_id;
    CALL work_moves(p_task_id, v_done);
    -- The reason is for the log: whoever has the loan next reads what its last user has noted.
    UPDATE JSON_TABLE(v_notes, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',
                                               note VARCHAR(512) PATH '$[1]')) AS j
      STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)
        ON w.task_id = p_task_id AND w.loan_id = j.loan_id
       SET w.note = j.note;
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
        MESSAGE_TEXT = 'manage_loans_2: a loan has become one for others meanwhile';
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
-- of their ids, as that of manage_loans_2: what became of it, and how it stands.
--   done      it comes next, where the view shows it; or it comes in its turn again
--   already   that was so before
--   held      somebody has it: nothing is noted
--   never     it is never to be offered again: nothing is noted
-- Or there is one row, "task": it is unknown, and nothing was done.
DROP PROCEDURE IF EXISTS manage_urgent_2//
CREATE PROCEDURE manage_urgent_2 (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
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
  CALL manage_as_2(p_manager);
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  IF NOT p_withdraws AND COALESCE(p_reason, '') = '' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'manage_urgent_2: an urgent loan has a reason';
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
     AND t.touched_at > v_now - INTERVAL 7 DAY
     AND COALESCE(w.assigned_at < t.touched_at, TRUE);
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
    INSERT INTO task_touched (task_id, loan_id, urgent)
      SELECT p_task_id, j.loan_id, TRUE
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
  CALL manage_as_2(p_manager);
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
-- the number of the user stays, so figures and replays are as before. Only rows about the person
-- change, and those of changes that were made by that name. An account stays where it is the
-- caller's, so that callers can't erase what they did themselves, and in a row that another
-- manager's change has made. A run that was cut short is begun again with the same name:
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
DROP PROCEDURE IF EXISTS manage_forget_2//
CREATE PROCEDURE manage_forget_2 (IN p_manager VARCHAR(64) CHARACTER SET utf8mb4
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
  DECLARE v_alias VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs;
  -- The tables have an account with the client's host.
  DECLARE v_caller VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs
    DEFAULT CONVERT(LEFT(USER(), CHAR_LENGTH(USER()) - 1
                    - CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1))) USING utf8mb4);
  DECLARE v_own BOOLEAN;
  DECLARE v_text VARCHAR(128) CHARACTER SET utf8mb4;
  DECLARE v_by VARCHAR(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs
    DEFAULT CONCAT(' by ', p_name, ': ');
  DECLARE v_phrases VARCHAR(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs
    DEFAULT 'cancelled,reassigned,undone,user disabled,the task was removed';
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL manage_as_2(p_manager);
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT u.user_id, u.enabled, p_manager = p_name OR COALESCE(u.account = v_caller, FALSE)
    INTO v_user_id, v_enabled, v_own
    FROM app_user AS u WHERE u.name = p_name FOR UPDATE;
  IF v_own THEN
    SET v_text = LEFT(CONCAT('user "', p_name, '" has your name or account: ',
                             'another account has to do this'), 128);
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
  END IF;
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
       AND (l.manager = p_name
            OR (l.user_id = v_user_id AND l.manager IS NULL AND l.account <> v_alias
                AND LEFT(l.account, CHAR_LENGTH(l.account) - 1
                      - CHAR_LENGTH(SUBSTRING_INDEX(l.account, '@', -1))) <> v_caller));
    UPDATE work_log AS l FORCE INDEX (PRIMARY)
       SET l.account = IF(LEFT(l.account, CHAR_LENGTH(l.account) - 1
                            - CHAR_LENGTH(SUBSTRING_INDEX(l.account, '@', -1))) = v_caller,
                          l.account, v_alias),
           l.manager = IF(l.manager = p_name, v_alias, l.manager)
     WHERE l.log_id > p_from AND l.log_id <= v_last AND NOT p_dry
       AND (l.manager = p_name OR (l.user_id = v_user_id AND l.manager IS NULL));
  WHEN 'requests' THEN
    -- Where a manager made or ended a request, its reason is one of these phrases, ' by ', the
    -- name, and what the manager wrote. One that a manager made has the manager's account.
    SELECT MAX(d.request_id) INTO v_last
      FROM (SELECT r.request_id FROM work_requested AS r FORCE INDEX (PRIMARY)
             WHERE r.request_id > p_from ORDER BY r.request_id LIMIT p_most) AS d;
    SELECT COUNT(*) INTO v_rows
      FROM work_requested AS r FORCE INDEX (PRIMARY)
     WHERE r.request_id > p_from AND r.request_id <= v_last
       AND (FIND_IN_SET(SUBSTRING_INDEX(CONCAT(r.reason, ': '), v_by, 1), v_phrases)
            OR (r.user_id = v_user_id AND r.account <> v_alias
                AND COALESCE(SUBSTRING_INDEX(r.reason, ' by ', 1)
                             NOT IN ('reassigned', 'undone'), TRUE)
                AND LEFT(r.account, CHAR_LENGTH(r.account) - 1
                      - CHAR_LENGTH(SUBSTRING_INDEX(r.account, '@', -1))) <> v_caller));
    UPDATE work_requested AS r FORCE INDEX (PRIMARY)
       SET r.account = v_alias
     WHERE r.request_id > p_from AND r.request_id <= v_last AND NOT p_dry
       AND (SUBSTRING_INDEX(CONCAT(r.reason, ': '), v_by, 1) IN ('reassigned', 'undone')
            OR (r.user_id = v_user_id
                AND COALESCE(SUBSTRING_INDEX(r.reason, ' by ', 1)
                             NOT IN ('reassigned', 'undone'), TRUE)))
       AND LEFT(r.account, CHAR_LENGTH(r.account) - 1
             - CHAR_LENGTH(SUBSTRING_INDEX(r.account, '@', -1))) <> v_caller;
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
         SET m.before_it = JSON_REPLACE(m.before_it, '$.name', v_alias, '$.account',
               IF(m.before_it ->> '$.account' = v_caller, v_caller, NULL)),
             m.after_it = JSON_REPLACE(m.after_it, '$.name', v_alias, '$.account',
               IF(m.after_it ->> '$.account' = v_caller, v_caller, NULL))
       WHERE m.user_id = v_user_id;
      UPDATE manage_log AS m SET m.before_it = JSON_REPLACE(m.before_it, '$.manager', v_alias)
       WHERE JSON_UNQUOTE(JSON_EXTRACT(m.before_it, '$.manager')) = p_name;
      UPDATE manage_log AS m SET m.after_it = JSON_REPLACE(m.after_it, '$.manager', v_alias)
       WHERE JSON_UNQUOTE(JSON_EXTRACT(m.after_it, '$.manager')) = p_name;
      UPDATE manage_log AS m
         SET m.manager = v_alias,
             m.account = IF(LEFT(m.account, CHAR_LENGTH(m.account) - 1
                              - CHAR_LENGTH(SUBSTRING_INDEX(m.account, '@', -1))) = v_caller,
                            m.account, v_alias)
       WHERE m.manager = p_name;
      UPDATE app_user AS u SET u.name = v_alias, u.account = NULL WHERE u.user_id = v_user_id;
      INSERT INTO manage_log (manager, account, action, user_id, reason)
        VALUES (p_manager, CONVERT(USER() USING utf8mb4), 'user forgotten', v_user_id, p_reason);
    END IF;
  END CASE;
  COMMIT;
  SELECT 'done', v_last, v_rows;
END//
DELIMITER ;
