-- Replays work_log. The changes in the log, one after the other, must lead to the rows of `work`,
-- and each change must be an allowed one. The result has a row for each fault (task, loan, version,
-- fault), so it is empty when all is right. Set @replay_task first, to a task's number, or to NULL
-- for all tasks. Set @replay_rules to 1 where the tasks have always had the rules not_same_user_as
-- and not_again that they have now.
--
-- A loan that changed since the query of a kept list could go out again from that list, and the
-- log alone would look right. So the requests' rows are read, too: they tell the list and when the
-- view was asked about the loan. Each request must also be one that its numbers tell rightly.
--
-- This is one statement, so that it reads one moment. It is right only for tasks whose log was
-- never purged and whose rows only lockq has written. Events 'available' change nothing, so they
-- are checked apart from the changes.
WITH
-- Each change, with the columns of the change before it. n counts the changes of a loan.
step AS (
  SELECT l.*,
         ROW_NUMBER() OVER line AS n,
         LAG(l.event) OVER line AS was,
         LAG(l.user_id) OVER line AS was_user,
         LAG(l.token) OVER line AS was_token,
         LAG(l.request_id) OVER line AS was_request,
         LAG(l.available_at) OVER line AS was_available,
         LAG(l.lease_expires_at) OVER line AS was_lease,
         LAG(l.at) OVER line AS was_at,
         LAG(l.manager) OVER line AS was_manager,
         LAG(l.log_id) OVER line AS was_log_id,
         LEAD(l.log_id) OVER line AS next_log_id,
         MAX(IF(l.event = 'assigned', l.at, NULL)) OVER line AS last_assigned,
         -- An expiry has no note, a manager's is a reason, and the note of the change before them
         -- stays. So notes counts only the other changes.
         SUM(l.event <> 'expired' AND l.manager IS NULL) OVER line AS notes
    FROM work_log AS l
   WHERE l.event <> 'available' AND COALESCE(l.task_id = @replay_task, TRUE)
  WINDOW line AS (PARTITION BY l.task_id, l.loan_id ORDER BY l.version, l.log_id)
),
noted AS (
  SELECT s.*,
         FIRST_VALUE(s.note) OVER (PARTITION BY s.task_id, s.loan_id, s.notes
                                   ORDER BY s.version, s.log_id) AS note_now
    FROM step AS s
),
change_of AS (
  SELECT n.*,
         LAG(n.note_now) OVER line AS was_note,
         n.was IN ('assigned', 'renewed') AS was_active,
         IF(n.was = 'expired' AND n.was_at = n.at, n.was_available, n.was_at) AS changed,
         n.event IN ('assigned', 'renewed') AS is_active,
         -- A manager takes back what the user has said of the loan.
         n.event = 'assigned' AND n.manager IS NOT NULL AND n.user_id = n.was_user
           AND n.was IN ('completed', 'returned', 'never') AS is_undo,
         ROW_NUMBER() OVER (PARTITION BY n.task_id, n.loan_id
                            ORDER BY n.version DESC, n.log_id DESC) AS from_last
    FROM noted AS n
  WINDOW line AS (PARTITION BY n.task_id, n.loan_id ORDER BY n.version, n.log_id)
),
-- The row of `work` that the last change of a loan leaves. due_at is the time at which the row
-- expires or becomes available; it is NULL once that is logged.
stands AS (
  SELECT c.task_id, c.loan_id, c.version, c.user_id, c.token, c.request_id, c.available_at,
         c.lease_expires_at, c.note_now AS note, c.last_assigned AS assigned_at,
         CASE c.event WHEN 'renewed' THEN 'assigned' WHEN 'expired' THEN 'returned'
                      ELSE CONCAT(c.event) END AS state,
         CASE WHEN c.is_active THEN c.lease_expires_at
              WHEN c.event = 'expired' OR c.available_at <= c.at
                OR EXISTS (SELECT 1 FROM work_log AS a
                            WHERE a.task_id = c.task_id AND a.loan_id = c.loan_id
                              AND a.version = c.version AND a.event = 'available') THEN NULL
              ELSE c.available_at END AS due_at
    FROM change_of AS c
   WHERE c.from_last = 1
),
fault AS (
  SELECT c.task_id, c.loan_id, c.version, CONCAT('version ', c.version, ' is change ', c.n) AS what
    FROM change_of AS c WHERE c.version <> c.n
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, CONCAT('written before the ', c.was, ' that it follows')
    FROM change_of AS c WHERE c.log_id < c.was_log_id OR c.at < c.was_at
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, CONCAT('assigned while ', c.was)
    FROM change_of AS c
   WHERE c.event = 'assigned' AND (c.was_active OR (c.was = 'never' AND NOT c.is_undo))
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, 'assigned before it was available'
    FROM change_of AS c WHERE c.event = 'assigned' AND c.at < c.was_available AND NOT c.is_undo
  UNION ALL
  -- What a manager may do: return a loan, give it to somebody else in the same moment, or back.
  SELECT c.task_id, c.loan_id, c.version, CONCAT(c.event, ' by a manager who may not, or not so')
    FROM change_of AS c
   WHERE c.manager IS NOT NULL
     AND NOT COALESCE(c.note <> '' AND c.uuid IS NULL AND c.excluded_until IS NULL
                      AND CASE c.event
                          WHEN 'returned' THEN c.available_at = c.at
                          WHEN 'assigned' THEN
                            c.is_undo OR (c.was = 'returned' AND c.was_manager = c.manager
                                          AND c.at = c.was_at AND c.user_id <> c.was_user)
                          ELSE FALSE END, FALSE)
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, 'assigned by a leader of the past'
    FROM change_of AS c WHERE c.event = 'assigned' AND c.token <= c.was_token
  UNION ALL
  -- A change after the start of a list's query may be one that the list does not have, so the view
  -- must have been asked after the change. Where a lease ended, and the end is logged with the next
  -- assignment, the change is the end itself. The list's row may be gone, its leader's stays.
  SELECT c.task_id, c.loan_id, c.version,
         IF(v.as_of IS NULL, 'assigned from a list that no leader has made',
            CONCAT('assigned from a list of before it was ', c.was, ', and not checked since'))
    FROM change_of AS c
    JOIN work_requested AS r ON r.request_id = c.request_id AND r.source = 'list'
    LEFT JOIN leader_run AS v ON v.task_id = c.task_id AND v.epoch = r.epoch
   WHERE c.event = 'assigned'
     AND (v.as_of IS NULL
          OR (v.as_of < c.changed AND NOT COALESCE(r.checked > c.changed, FALSE)))
  UNION ALL
  -- That is before the list is taken from, and no list is from the future.
  SELECT c.task_id, c.loan_id, c.version, 'assigned before its list was made or checked'
    FROM change_of AS c
    JOIN work_requested AS r ON r.request_id = c.request_id AND r.source = 'list'
    JOIN leader_run AS v ON v.task_id = c.task_id AND v.epoch = r.epoch
   WHERE c.event = 'assigned' AND (c.at < v.as_of OR c.at < r.checked)
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, 'assigned with another note'
    FROM change_of AS c
   WHERE c.event = 'assigned' AND c.manager IS NULL AND NOT c.note <=> c.was_note
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, CONCAT(c.event, ' while ', COALESCE(c.was, 'no row'))
    FROM change_of AS c
   WHERE c.event <> 'assigned' AND NOT COALESCE(c.was_active, FALSE)
     -- The user may come late: the end of the lease, then what the user says.
     AND NOT (c.event IN ('completed', 'returned', 'renewed')
              AND COALESCE(c.was = 'expired', FALSE))
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, CONCAT(c.event, ' by who does not hold it')
    FROM change_of AS c
   WHERE c.event <> 'assigned'
     AND (c.user_id <> c.was_user OR c.token <> c.was_token OR c.request_id <> c.was_request)
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, 'expired before its lease ended, or without one'
    FROM change_of AS c WHERE c.event = 'expired' AND NOT COALESCE(c.was_lease <= c.at, FALSE)
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, 'not available from the end of the lease'
    FROM change_of AS c
   WHERE c.event = 'expired'
     AND NOT (c.available_at <=> c.was_lease AND c.lease_expires_at <=> c.was_lease)
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, CONCAT(c.event, ' after its lease ended')
    FROM change_of AS c
   WHERE c.event NOT IN ('assigned', 'expired') AND c.was_active AND c.at >= c.was_lease
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, 'renewed, with a lease that has ended, or none'
    FROM change_of AS c
   WHERE c.event = 'renewed' AND NOT COALESCE(c.lease_expires_at > c.at, FALSE)
  UNION ALL
  SELECT c.task_id, c.loan_id, c.version, CONCAT(c.event, ' with times that it cannot have')
    FROM change_of AS c
   WHERE (c.event <> 'expired' AND c.available_at < c.at)
      OR (c.event IN ('assigned', 'renewed', 'never') AND c.available_at IS NOT NULL)
      OR (c.event IN ('completed', 'returned', 'never') AND c.lease_expires_at IS NOT NULL)
      OR (c.event IN ('returned', 'expired') AND c.available_at IS NULL)
      OR (c.event = 'assigned' AND c.lease_expires_at <= c.at)
  UNION ALL
  -- An event 'available' belongs to the change with its version. It must come after available_at
  -- and before the next change, once.
  SELECT a.task_id, a.loan_id, a.version, 'noted as available, which it was not, or twice'
    FROM (SELECT l.*, COUNT(*) OVER (PARTITION BY l.task_id, l.loan_id, l.version) AS times
            FROM work_log AS l
           WHERE l.event = 'available' AND COALESCE(l.task_id = @replay_task, TRUE)) AS a
    LEFT JOIN change_of AS c
      ON c.task_id = a.task_id AND c.loan_id = a.loan_id AND c.version = a.version
   WHERE a.times > 1
      OR NOT COALESCE(c.event IN ('completed', 'returned') AND c.available_at <= a.at
                      AND c.available_at <=> a.available_at AND c.user_id = a.user_id
                      AND c.token = a.token AND c.log_id < a.log_id
                      AND COALESCE(a.log_id < c.next_log_id, TRUE), FALSE)
  UNION ALL
  -- The rules of a task that keep loans from users, where they have always been as they are.
  SELECT DISTINCT c.task_id, c.loan_id, c.version,
         CONCAT('assigned to the user who has completed it ',
                IF(d.task_id = c.task_id, 'lately', 'in the other task'))
    FROM change_of AS c
    JOIN task AS t ON t.task_id = c.task_id
    JOIN work_log AS d
      ON d.loan_id = c.loan_id AND d.user_id = c.user_id AND d.event = 'completed'
     AND d.log_id < c.log_id
     AND (d.task_id = t.not_same_user_as
          OR (d.task_id = t.task_id AND d.at > c.at - INTERVAL t.not_again HOUR))
   WHERE c.event = 'assigned' AND @replay_rules
     AND NOT EXISTS (SELECT 1 FROM work_log AS u
                      WHERE u.task_id = d.task_id AND u.loan_id = d.loan_id
                        AND u.version = d.version + 1 AND u.event = 'assigned'
                        AND u.manager IS NOT NULL AND u.user_id = d.user_id
                        AND u.log_id <= c.log_id)
  UNION ALL
  SELECT w.task_id, w.loan_id, w.version, 'the log does not know of the row'
    FROM work AS w
    LEFT JOIN stands AS s ON s.task_id = w.task_id AND s.loan_id = w.loan_id
   WHERE s.version IS NULL AND COALESCE(w.task_id = @replay_task, TRUE)
  UNION ALL
  SELECT s.task_id, s.loan_id, s.version, 'the row is gone'
    FROM stands AS s
    LEFT JOIN work AS w ON w.task_id = s.task_id AND w.loan_id = s.loan_id
   WHERE w.version IS NULL
  UNION ALL
  SELECT s.task_id, s.loan_id, s.version,
         CONCAT('the row differs in',
                IF(w.version = s.version, '', ' version'),
                IF(w.state = s.state, '', ' state'),
                IF(w.user_id = s.user_id, '', ' user_id'),
                IF(w.token = s.token, '', ' token'),
                IF(w.request_id = s.request_id, '', ' request_id'),
                IF(w.assigned_at <=> s.assigned_at, '', ' assigned_at'),
                IF(w.available_at <=> s.available_at, '', ' available_at'),
                IF(w.lease_expires_at <=> s.lease_expires_at, '', ' lease_expires_at'),
                IF(w.due_at <=> s.due_at, '', ' due_at'),
                IF(w.note <=> s.note, '', ' note'))
    FROM stands AS s
    JOIN work AS w ON w.task_id = s.task_id AND w.loan_id = s.loan_id
   WHERE NOT (w.version = s.version AND w.state = s.state AND w.user_id = s.user_id
              AND w.token = s.token AND w.request_id = s.request_id
              AND w.assigned_at <=> s.assigned_at AND w.available_at <=> s.available_at
              AND w.lease_expires_at <=> s.lease_expires_at AND w.due_at <=> s.due_at
              AND w.note <=> s.note)
  UNION ALL
  -- The two numbers of a request alone tell how it stands.
  SELECT r.task_id, NULL, NULL,
         CONCAT('request ', r.request_id, ' is ', r.outcome, ': asked ', r.asked, ', requested ',
                r.requested, ', assigned ', r.assigned)
    FROM work_requested AS r
   WHERE COALESCE(r.task_id = @replay_task, TRUE)
     AND NOT CASE WHEN r.outcome = 'pending' THEN r.requested = r.asked AND r.assigned = 0
                  WHEN r.outcome IN ('served', 'partial') THEN
                    r.assigned > 0 AND r.requested = r.assigned
                  ELSE r.requested = 0 AND r.assigned = 0 END
)
SELECT task_id, loan_id, version, what FROM fault ORDER BY task_id, loan_id, version, what;
