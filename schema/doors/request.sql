-- How a request is made, looked after and ended. Its user's program inserts it by request_in, and
-- looks after it or cancels it by request_mine. The leader that serves it ends it by request_end,
-- and so may any process once it has expired. A request that takes from a kept list ends in
-- take.sql, and a manager cancels one by manage_cancel, in manage.sql. rules.sql says what all
-- doors share.

-- A request for a person, by an account that may ask for that person. No time of it lies more than
-- a day ahead: such a request would never expire, or no list would be new enough for it. A clock
-- that is set back by less must not stop those that are there. A request that ends without a loan
-- has `requested` = 0. Programs before schema 10 leave it as it was, and may do so here and below.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW request_in AS
  SELECT r.request_id, r.uuid, r.user_id, r.account, r.task_id, r.asked, r.requested, r.outcome,
         r.fresh_after, r.served_at
    FROM work_requested AS r
   WHERE r.account = CONVERT(USER() USING utf8mb4) COLLATE utf8mb4_0900_as_cs
     AND r.asked BETWEEN 1 AND 1000
     AND GREATEST(r.seen_at, COALESCE(r.fresh_after, r.seen_at))
           < TIMESTAMP'1970-01-01 00:00:00'
             + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND + INTERVAL 1 DAY
     AND EXISTS (SELECT 1 FROM task AS t
                  WHERE t.task_id = r.task_id
                    AND ((r.outcome = 'cancelled' AND r.requested IN (0, r.asked))
                         OR (r.outcome = 'pending' AND r.requested = r.asked
                             AND t.enabled AND r.asked <= t.max_count)))
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
     AND GREATEST(r.seen_at, COALESCE(r.fresh_after, r.seen_at))
           < TIMESTAMP'1970-01-01 00:00:00'
             + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND + INTERVAL 1 DAY
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

-- What a purge may delete: requests that have ended, and leaders after whom others have led, so
-- that the epochs of a task never go back.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW request_out AS
  SELECT r.request_id, r.outcome, r.created_at, r.served_at
    FROM work_requested AS r
   WHERE r.outcome <> 'pending';

CREATE OR REPLACE SQL SECURITY DEFINER VIEW run_out AS
  SELECT l.task_id, l.epoch, l.ended_at
    FROM leader_run AS l
   WHERE l.epoch < (SELECT k.epoch FROM task_lock AS k WHERE k.task_id = l.task_id);
