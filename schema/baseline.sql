-- All of lockq in a database that has none of it: lockq-migrate applies this file to a new
-- database, and only the files in upgrade/ to one that has an older schema. Both ways make the
-- same. Every statement may be run again, since DDL is not transactional in MySQL and the file may
-- be cut short. No syntax later than MySQL 8.0.19, and no triggers and functions: where the binary
-- log is on, only SUPER may make one.

-- Who may ask for work.
CREATE TABLE IF NOT EXISTS app_user (
  user_id     INT UNSIGNED NOT NULL AUTO_INCREMENT,
  name        VARCHAR(64) NOT NULL,
  created_at  DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  account     VARCHAR(32) NULL
              COMMENT 'login name of the only MySQL account that may ask for them; NULL: any may',
  enabled     BOOLEAN NOT NULL DEFAULT TRUE COMMENT 'may ask for work',
  PRIMARY KEY (user_id),
  UNIQUE KEY app_user_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- A kind of work that a manager defines.
CREATE TABLE IF NOT EXISTS task (
  task_id          INT UNSIGNED NOT NULL,
  name             VARCHAR(128) NOT NULL,
  manager          VARCHAR(64) NULL COMMENT 'who answers for it',
  candidates_view  VARCHAR(129) CHARACTER SET utf8mb4 NOT NULL
                   COMMENT 'view or schema.view with loan_id and priority, smallest first',
  enabled          BOOLEAN NOT NULL DEFAULT TRUE,
  max_count        INT UNSIGNED NOT NULL DEFAULT 5 COMMENT 'loans per request',
  max_query_s      INT UNSIGNED NOT NULL DEFAULT 300 COMMENT 'seconds; the heavy query ends there',
  candidate_limit  INT UNSIGNED NOT NULL DEFAULT 10000
                   COMMENT 'rows that one heavy query fetches; never fewer than max_count',
  request_ttl      INT UNSIGNED NOT NULL DEFAULT 600
                   COMMENT 'seconds after which a request that nobody looks after expires',
  lease_minutes    INT UNSIGNED NULL COMMENT 'NULL: an assignment has no time limit',
  cache_ttl        INT UNSIGNED NOT NULL DEFAULT 0
                   COMMENT 'seconds for which the next leaders use what a query found; 0: none',
  on_complete      VARCHAR(129) CHARACTER SET utf8mb4 NULL
                   COMMENT 'procedure (loan_id BIGINT UNSIGNED, user VARCHAR(64))',
  complete_hold    INT UNSIGNED NOT NULL DEFAULT 0
                   COMMENT 'seconds for which a completed loan is not offered',
  max_pipeline     INT UNSIGNED NULL
                   COMMENT 'loans of this task that one user may hold; NULL: any number',
  detail_view      VARCHAR(129) CHARACTER SET utf8mb4 NULL
                   COMMENT 'view with loan_id and what checkwork shows beside a loan',
  view_repeats     BOOLEAN NOT NULL DEFAULT FALSE
                   COMMENT 'candidates_view shows a loan in several rows',
  check_view       VARCHAR(129) CHARACTER SET utf8mb4 NULL
                   COMMENT 'view with loan_id that tells whether a kept loan still matches',
  use_unchecked    BOOLEAN NOT NULL DEFAULT FALSE
                   COMMENT 'kept loans are given, too, if the view takes too long to tell',
  refresh_after    INT UNSIGNED NULL
                   COMMENT 'seconds after which the list is filled anew; NULL: half of cache_ttl',
  paused           VARCHAR(512) NULL COMMENT 'why no loans are given for now; NULL: they are',
  paused_by        VARCHAR(64) NULL COMMENT 'the manager who said so',
  paused_at        DATETIME(6) NULL,
  share            ENUM('order','evenly','least') NOT NULL DEFAULT 'order'
                   COMMENT 'how requests of one moment share loans that are not enough for all',
  on_undo          VARCHAR(129) CHARACTER SET utf8mb4 NULL
                   COMMENT 'procedure like on_complete, which takes back what that did',
  not_same_user_as INT UNSIGNED NULL
                   COMMENT 'task whose users do not get a loan here that they have completed there',
  not_again        INT UNSIGNED NULL
                   COMMENT 'hours for which users do not get a loan that they have completed',
  noun             VARCHAR(32) NULL
                   COMMENT 'what people call a loan: ticket, or entry/entries; NULL: loan',
  any_place        INT UNSIGNED NULL
                   COMMENT 'place among the tasks of getwork --any; NULL: not among them',
  PRIMARY KEY (task_id),
  CONSTRAINT task_max_count CHECK (max_count BETWEEN 1 AND 1000),
  CONSTRAINT task_max_query CHECK (max_query_s BETWEEN 1 AND 86400),
  CONSTRAINT task_candidate_limit CHECK (candidate_limit BETWEEN 1 AND 1000000),
  CONSTRAINT task_request_ttl CHECK (request_ttl >= 1),
  CONSTRAINT task_lease CHECK (lease_minutes BETWEEN 1 AND 525600),
  CONSTRAINT task_cache_ttl CHECK (cache_ttl <= 86400),
  CONSTRAINT task_complete_hold CHECK (complete_hold <= 31536000),
  CONSTRAINT task_max_pipeline CHECK (max_pipeline BETWEEN 1 AND 1000000)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- The row that leaders lock. Nothing references it and nobody takes a shared lock on it: a locked
-- row means that somebody leads. It stays when its task is deleted, so that epochs never go back.
CREATE TABLE IF NOT EXISTS task_lock (
  task_id       INT UNSIGNED NOT NULL,
  epoch         BIGINT UNSIGNED NOT NULL DEFAULT 0,
  holder        VARCHAR(64) NULL
                COMMENT 'who leads; cleared before COMMIT: only a dirty read sees it',
  since         DATETIME(6) NULL,
  wakes         BOOLEAN NOT NULL DEFAULT FALSE
                COMMENT 'the leader holds the row of task_wake too: only a dirty read sees it',
  left_pending  INT UNSIGNED NOT NULL DEFAULT 0
                COMMENT 'requests that the last list had nothing for',
  each_once     BOOLEAN NOT NULL DEFAULT FALSE
                COMMENT 'the right to change it is the right to lock the row, and no more',
  PRIMARY KEY (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- The row that followers wait on. Apart from task_lock, because the shared locks of waiters that
-- have just woken would look like a leader.
CREATE TABLE IF NOT EXISTS task_wake (
  task_id  INT UNSIGNED NOT NULL,
  PRIMARY KEY (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- One row a request. `pending` is 1 or NULL, so that its unique key allows one pending request for
-- each user and task, and any number of ended ones; the second key is the leader's reading order.
CREATE TABLE IF NOT EXISTS work_requested (
  request_id  BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  uuid        CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  user_id     INT UNSIGNED NOT NULL,
  account     VARCHAR(288) NOT NULL COMMENT 'MySQL account of the requester',
  task_id     INT UNSIGNED NOT NULL,
  asked       INT UNSIGNED NOT NULL,
  requested   INT UNSIGNED NOT NULL
              COMMENT 'as asked; once the request has ended, as assigned',
  assigned    INT UNSIGNED NOT NULL DEFAULT 0,
  outcome     ENUM('pending','served','partial','empty','cancelled','expired','failed','refused')
              NOT NULL DEFAULT 'pending',
  pending     TINYINT GENERATED ALWAYS AS (IF(outcome = 'pending', 1, NULL)) STORED,
  reason      VARCHAR(512) NULL,
  epoch       BIGINT UNSIGNED NULL COMMENT 'the leader that ended it',
  created_at  DATETIME(6) NOT NULL
              DEFAULT (TIMESTAMP'1970-01-01 00:00:00'
                       + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND)
              COMMENT 'true time, which no setting of a session moves',
  seen_at     DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  served_at   DATETIME(6) NULL,
  excluded    INT UNSIGNED NOT NULL DEFAULT 0
              COMMENT 'loans that were left, but are not offered to this user: work_exclusion',
  fresh_after DATETIME(6) NULL
              COMMENT 'served only from a query that began later; NULL: from any',
  source      ENUM('list') NULL
              COMMENT 'list: from the kept list of the epoch; NULL: by the leader of the epoch',
  checked     DATETIME(6) NULL
              COMMENT 'when the view was asked whether its loans match; NULL: it was not',
  PRIMARY KEY (request_id),
  UNIQUE KEY work_requested_uuid (uuid),
  UNIQUE KEY work_requested_one_pending (user_id, task_id, pending),
  KEY work_requested_line (task_id, pending, request_id),
  CONSTRAINT work_requested_user FOREIGN KEY (user_id) REFERENCES app_user (user_id),
  CONSTRAINT work_requested_task FOREIGN KEY (task_id) REFERENCES task (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- What became of a loan in a task. The primary key is the last arbiter: a loan has one row a task.
-- due_at is the next moment at which time alone changes what a row means. So cron finds its work by
-- one index.
CREATE TABLE IF NOT EXISTS work (
  task_id           INT UNSIGNED NOT NULL,
  loan_id           BIGINT UNSIGNED NOT NULL,
  user_id           INT UNSIGNED NOT NULL,
  state             ENUM('assigned','completed','returned','never') NOT NULL,
  token             BIGINT UNSIGNED NOT NULL COMMENT 'epoch of the leader that assigned it',
  version           BIGINT UNSIGNED NOT NULL COMMENT 'raised by every change',
  request_id        BIGINT UNSIGNED NOT NULL,
  assigned_at       DATETIME(6) NOT NULL,
  available_at      DATETIME(6) NULL COMMENT 'of a returned loan',
  lease_expires_at  DATETIME(6) NULL,
  note              VARCHAR(512) NULL COMMENT 'of the last disposition',
  changed_at        DATETIME(6) NOT NULL,
  due_at            DATETIME(6) NULL
                    COMMENT 'its lease ends, or it is offered again; NULL: never, or in work_log',
  lockable          TINYINT GENERATED ALWAYS AS (NULL) VIRTUAL
                    COMMENT 'the right to change it is the right to lock the row, and no more',
  PRIMARY KEY (task_id, loan_id),
  KEY work_pipeline (user_id, state, task_id),
  KEY work_due (due_at),
  CONSTRAINT work_user FOREIGN KEY (user_id) REFERENCES app_user (user_id),
  CONSTRAINT work_task FOREIGN KEY (task_id) REFERENCES task (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- Append only: one row a change of state, written in the same transaction.
CREATE TABLE IF NOT EXISTS work_log (
  log_id            BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  task_id           INT UNSIGNED NOT NULL,
  loan_id           BIGINT UNSIGNED NOT NULL,
  event             ENUM('assigned','completed','returned','never','expired','renewed','available')
                    NOT NULL,
  user_id           INT UNSIGNED NOT NULL COMMENT 'whose assignment it is or was',
  account           VARCHAR(288) NOT NULL COMMENT 'MySQL account of the requester',
  token             BIGINT UNSIGNED NOT NULL,
  version           BIGINT UNSIGNED NOT NULL COMMENT 'of the work row after the change',
  request_id        BIGINT UNSIGNED NOT NULL,
  available_at      DATETIME(6) NULL,
  lease_expires_at  DATETIME(6) NULL,
  note              VARCHAR(512) NULL,
  at                DATETIME(6) NOT NULL,
  uuid              CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL
                    COMMENT 'of the disposition that wrote it',
  excluded_until    DATETIME(6) NULL
                    COMMENT 'of a returned loan: not offered to this user before',
  logged_at         DATETIME(6) NULL
                    DEFAULT (TIMESTAMP'1970-01-01 00:00:00'
                             + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND)
                    COMMENT 'true time, which no setting of a session moves',
  manager           VARCHAR(64) NULL
                    COMMENT 'who corrected it, for the reason in note; NULL: nobody',
  PRIMARY KEY (log_id),
  KEY work_log_loan (task_id, loan_id, log_id),
  KEY work_log_request (request_id, log_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- One row a leader. as_of is the start of its query: what "no work" refers to.
CREATE TABLE IF NOT EXISTS leader_run (
  task_id     INT UNSIGNED NOT NULL,
  epoch       BIGINT UNSIGNED NOT NULL,
  user        VARCHAR(64) NOT NULL,
  how         ENUM('query','query on the lock connection','hand-over','failed',
                   'query elsewhere','cache','crowded','elsewhere','replica') NOT NULL,
  as_of       DATETIME(6) NULL,
  query_ms    BIGINT UNSIGNED NULL COMMENT 'NULL: no heavy query ran',
  candidates  INT UNSIGNED NOT NULL DEFAULT 0,
  dropped     INT UNSIGNED NOT NULL DEFAULT 0,
  requests    INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'that it ended: served, empty, failed …',
  loans       INT UNSIGNED NOT NULL DEFAULT 0,
  retries     INT UNSIGNED NOT NULL DEFAULT 0,
  reason      VARCHAR(512) NULL,
  started_at  DATETIME(6) NOT NULL,
  ended_at    DATETIME(6) NOT NULL,
  left_pending  INT UNSIGNED NOT NULL DEFAULT 0
                COMMENT 'requests that its list had nothing for: they lead next',
  check_ms    INT UNSIGNED NULL
              COMMENT 'what asking the view about some loans took; NULL: it was not asked',
  PRIMARY KEY (task_id, epoch)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- One row for each list. Of a task's lists the one with the highest epoch is used.
CREATE TABLE IF NOT EXISTS kept_list (
  task_id          INT UNSIGNED NOT NULL,
  epoch            BIGINT UNSIGNED NOT NULL COMMENT 'of the leader that wrote the list',
  candidates_view  VARCHAR(129) CHARACTER SET utf8mb4 NOT NULL
                   COMMENT 'that was queried: the list is of no other one',
  as_of            DATETIME(6) NOT NULL COMMENT 'start of the query',
  length           INT UNSIGNED NOT NULL COMMENT 'loans that it began with',
  head             INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'so many of its first ones are taken',
  complete         BOOLEAN NOT NULL COMMENT 'the query found no more',
  query_ms         BIGINT UNSIGNED NOT NULL,
  check_ms         INT UNSIGNED NULL COMMENT 'what asking the view about some loans took',
  taken_per_h      INT UNSIGNED NOT NULL DEFAULT 0
                   COMMENT 'loans that were taken from the list before, per hour',
  touched          INT UNSIGNED NOT NULL DEFAULT 0
                   COMMENT 'loans of task_touched that were put before the first one',
  urgent           INT UNSIGNED NOT NULL DEFAULT 0
                   COMMENT 'the positions below it were given to urgent loans of task_touched',
  PRIMARY KEY (task_id, epoch)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- The loans of the lists that nobody got yet, in the order of the query, from position 1000000 on;
-- before it are those of task_touched. Whoever gives a loan of a list that is used locks its row,
-- with SKIP LOCKED, and deletes it in the same transaction.
CREATE TABLE IF NOT EXISTS kept_loan (
  task_id   INT UNSIGNED NOT NULL,
  epoch     BIGINT UNSIGNED NOT NULL,
  position  INT UNSIGNED NOT NULL,
  loan_id   BIGINT UNSIGNED NOT NULL,
  version   BIGINT UNSIGNED NOT NULL COMMENT 'of its row of work as the query saw it; 0: none',
  lockable  TINYINT GENERATED ALWAYS AS (NULL) VIRTUAL
            COMMENT 'the right to change it is the right to lock the row, and no more',
  PRIMARY KEY (task_id, epoch, position),
  KEY kept_loan_loan (task_id, epoch, loan_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- The loans that an application wants to be offered before the others of a task: it inserts them in
-- the transaction that changes them. No foreign keys: its transaction waits for nobody here.
CREATE TABLE IF NOT EXISTS task_touched (
  touched_id  BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  task_id     INT UNSIGNED NOT NULL,
  loan_id     BIGINT UNSIGNED NOT NULL,
  touched_at  DATETIME(6) NOT NULL
              DEFAULT (TIMESTAMP'1970-01-01 00:00:00'
                       + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND),
  epoch       BIGINT UNSIGNED NULL COMMENT 'of the list before which the loan was put; NULL: none',
  put_at      DATETIME(6) NULL COMMENT 'when that was first done',
  urgent      BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'before all others, until it was given',
  PRIMARY KEY (touched_id),
  KEY task_touched_line (task_id, touched_id),
  KEY task_touched_urgent (task_id, urgent DESC, touched_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- One row a task: who fills its list behind people's backs. By it one of many programs finds out
-- that it is the one to do that, and how it went the last time is told.
CREATE TABLE IF NOT EXISTS task_refill (
  task_id   INT UNSIGNED NOT NULL,
  tried_at  DATETIME(6) NULL COMMENT 'when a program last set out to fill the list',
  failures  INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'in a row',
  reason    VARCHAR(512) NULL COMMENT 'of the last failure; NULL: it was filled since',
  PRIMARY KEY (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- The row that whoever gives loans locks before it counts those of a user, where the task has
-- max_pipeline. Nothing references it: a lock on app_user would stop other tasks.
CREATE TABLE IF NOT EXISTS pipeline_lock (
  task_id   INT UNSIGNED NOT NULL,
  user_id   INT UNSIGNED NOT NULL,
  lockable  TINYINT GENERATED ALWAYS AS (NULL) VIRTUAL
            COMMENT 'the right to change it is the right to lock the row, and no more',
  PRIMARY KEY (task_id, user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- Who returned a loan because it is not for them. In the order in which leaders ask: for a task and
-- the users who wait. No foreign keys: it only ever leaves out.
CREATE TABLE IF NOT EXISTS work_exclusion (
  task_id  INT UNSIGNED NOT NULL,
  user_id  INT UNSIGNED NOT NULL,
  loan_id  BIGINT UNSIGNED NOT NULL,
  until    DATETIME(6) NOT NULL COMMENT 'not offered to this user again before then',
  PRIMARY KEY (task_id, user_id, loan_id),
  KEY work_exclusion_until (until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- Append only: what managers did to tasks, people and requests. What they did to loans is in
-- work_log.
CREATE TABLE IF NOT EXISTS manage_log (
  manage_id   BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  at          DATETIME(6) NOT NULL
              DEFAULT (TIMESTAMP'1970-01-01 00:00:00'
                       + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND)
              COMMENT 'true time, which no setting of a session moves',
  manager     VARCHAR(64) NOT NULL COMMENT 'who did it',
  account     VARCHAR(288) NOT NULL COMMENT 'MySQL account of the manager',
  action      VARCHAR(32) NOT NULL COMMENT 'task added, task changed, user disabled …',
  task_id     INT UNSIGNED NULL,
  user_id     INT UNSIGNED NULL,
  request_id  BIGINT UNSIGNED NULL,
  before_it   JSON NULL COMMENT 'what was changed, as it was',
  after_it    JSON NULL COMMENT 'and as it is since',
  reason      VARCHAR(512) NULL,
  PRIMARY KEY (manage_id),
  KEY manage_log_task (task_id, manage_id),
  KEY manage_log_user (user_id, manage_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- What held up calls of the library: a row for each task, operation and ten minutes. Each call that
-- was held up adds to it when it has ended, with no other lock. Rows of two days ago go with the
-- first ones of new ten minutes. No foreign key: a locked table holds up no call here, too.
CREATE TABLE IF NOT EXISTS task_trouble (
  slot        DATETIME NOT NULL COMMENT 'the ten minutes that begin then',
  task_id     INT UNSIGNED NOT NULL COMMENT '0: of no task in particular',
  operation   ENUM('getwork','cancel','disposition','expire','refill','manage') NOT NULL,
  busy        INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'calls that ended with LOCKQ_BUSY',
  lock_waits  INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'statements that ended with 1205',
  deadlocks   INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'statements that ended with 1213',
  retries     INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'what was tried again',
  PRIMARY KEY (slot, task_id, operation)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- The change feed. One row for each reader of it: how far it has come in work_log. No foreign key:
-- whoever writes the log waits for nobody here.
CREATE TABLE IF NOT EXISTS follow_cursor (
  name      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  position  BIGINT UNSIGNED NOT NULL
            COMMENT 'rows of work_log up to this log_id are acknowledged',
  made_at   DATETIME(6) NOT NULL
            DEFAULT (TIMESTAMP'1970-01-01 00:00:00'
                     + INTERVAL UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 MICROSECOND)
            COMMENT 'true time, which no setting of a session moves',
  moved_at  DATETIME(6) NULL COMMENT 'the same: when rows were last acknowledged',
  account   VARCHAR(288) NOT NULL COMMENT 'MySQL account that made it',
  PRIMARY KEY (name),
  KEY follow_cursor_position (position),
  CONSTRAINT follow_cursor_name
    CHECK (name <> '' AND NOT REGEXP_LIKE(name, '[^A-Za-z0-9._-]'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;
