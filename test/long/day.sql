-- A day as a bank may have it, for pictures: task 7 gives loans from its list, task 2 has a heavy
-- query that becomes slower in the afternoon and fails for a while, task 9 has a name that would be
-- markup. What looks like chance is the same each time. The database has the example's tasks, and
-- no requests.

SET SESSION cte_max_recursion_depth = 10000, foreign_key_checks = 0;
CREATE TEMPORARY TABLE n (i INT PRIMARY KEY);
INSERT INTO n WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
  SELECT i FROM n;

-- Each row is a chance to ask: when, how busy the bank is then, and four numbers from 0 to 1.
CREATE TEMPORARY TABLE chance AS
  SELECT i, at, 0.02 + 0.9 * EXP(-POW((hour - 10) / 2, 2)) + 0.8 * EXP(-POW((hour - 15) / 2.2, 2))
         AS busy,
         CRC32(SHA2(CONCAT(i, 'a'), 256)) / 4294967295 AS a,
         CRC32(SHA2(CONCAT(i, 'b'), 256)) / 4294967295 AS b,
         CRC32(SHA2(CONCAT(i, 'c'), 256)) / 4294967295 AS c,
         CRC32(SHA2(CONCAT(i, 'd'), 256)) / 4294967295 AS d
    FROM (SELECT i, at, HOUR(at) + MINUTE(at) / 60 AS hour
            FROM (SELECT i, NOW(6) - INTERVAL 86400 * (1 - i / 6000.0) SECOND AS at FROM n) AS t)
      AS h;

-- Task 7: nine of ten requests take from the list, in milliseconds.
INSERT INTO work_requested (request_id, uuid, user_id, account, task_id, asked, requested, assigned,
                            outcome, source, epoch, created_at, checked, served_at)
  SELECT i, UUID(), 1 + i % 20, 'x@y', 7, 3, 3, IF(b > 0.997, 0, 3),
         IF(b > 0.997, 'empty', 'served'), IF(b < 0.93, 'list', NULL), i DIV 40, at,
         IF(b < 0.93, at, NULL),
         at + INTERVAL 1000 * IF(b < 0.93, 8 + 40 * POW(c, 4), 800 + 5000 * c) MICROSECOND
    FROM chance WHERE a < busy;
INSERT INTO leader_run (task_id, epoch, user, how, as_of, query_ms, candidates, requests, loans,
                        reason, started_at, ended_at)
  SELECT 7, i DIV 40, IF(i % 360 > 80, '(refill)', IF(i % 80 = 0, 'tracy', 'oliver')),
         IF(i % 1480 = 0, 'failed', 'query'), at, IF(i % 1480 = 0, NULL, 3000 + 2500 * c),
         400 + 300 * d, 1, 3, IF(i % 1480 = 0, 'the query was not done after 300 s', NULL),
         at - INTERVAL 1000 * (3000 + 2500 * c) MICROSECOND, at
    FROM chance WHERE i % 40 = 0;

-- Task 2: each leader's query takes about a minute.
INSERT INTO work_requested (request_id, uuid, user_id, account, task_id, asked, requested, assigned,
                            outcome, created_at, served_at)
  SELECT 10000 + i, UUID(), 1 + i % 20, 'x@y', 2, 3, 3,
         IF(i BETWEEN 3600 AND 3660, 0, IF(b < 0.1, 1, 3)),
         IF(i BETWEEN 3600 AND 3660, IF(b < 0.5, 'failed', 'cancelled'),
            IF(b < 0.1, 'partial', 'served')), at,
         at + INTERVAL 1000 * (1000 + 50000 * c + IF(i > 4200, 40000 * d, 0)) MICROSECOND
    FROM chance WHERE a < busy AND i % 4 = 0;
INSERT INTO leader_run (task_id, epoch, user, how, as_of, query_ms, candidates, requests, loans,
                        reason, started_at, ended_at)
  SELECT 2, i, ELT(1 + FLOOR(POW(b, 2) * 12), 'oliver', 'tracy', 'anna', 'bob', 'carol', 'dave',
                   'erin', 'frank', 'grace', 'heidi', 'ivan',
                   'maximilian.von-der-hohenstaufen-muellersberg'),
         IF(i BETWEEN 3600 AND 3660, 'failed', 'query'), at, ms, 100, 4, 9,
         IF(i BETWEEN 3600 AND 3660, CONCAT('View ''bank.candidates'' references ',
            'invalid table(s) or column(s) or function(s) or definer/invoker of view lack ',
            'rights to use them'), NULL),
         at - INTERVAL 1000 * ms MICROSECOND, at
    FROM (SELECT *, FLOOR(38000 + 16000 * c + IF(i > 4200, 30000 * d, 0)) AS ms FROM chance
           WHERE i % 12 = 0 AND a < 0.2 + busy) AS d;

INSERT INTO work_log (log_id, task_id, loan_id, event, user_id, account, token, version, request_id,
                      at, logged_at)
  SELECT i, IF(i % 3 = 0, 2, 7), i, IF(b < 0.6, 'completed', IF(b < 0.85, 'returned',
         IF(b < 0.92, 'never', 'expired'))), 1, 'x@y', 1, 1, i, at, at
    FROM chance WHERE d < busy;

-- Task 9: no leader of it has found anything.
UPDATE task SET name = '</svg><script>alert(1)</script> & "quotes"' WHERE task_id = 9;
INSERT INTO leader_run (task_id, epoch, user, how, reason, started_at, ended_at)
  VALUES (9, 1, '<b onclick="alert(1)">x</b>', 'failed', '<img src=x onerror=alert(1)>',
          NOW(6) - INTERVAL 700 SECOND, NOW(6) - INTERVAL 600 SECOND);
