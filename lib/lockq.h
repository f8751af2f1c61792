/* SPDX-License-Identifier: MIT */
/**
 * lockq: ask one MySQL database for the next loans of a task.
 *
 * Many people on many machines ask for loans of a task, and the query that finds them is heavy. One
 * process leads: it runs the query once and serves every request that was made meanwhile.
 * lockq_getwork() is the seven steps of lockq(7), lockq_request_look() the look and the wait of
 * step 7; the other functions are not part of the steps.
 *
 * The handle comes first, a result comes last. A function that can fail returns an enum lockq_rc: 0
 * when it is done, a positive code for an answer that a caller expects, a negative code for an
 * error, about which lockq_error() has one line for people.
 *
 * A handle serves one thread at a time. Several threads may each use a handle of their own after
 * one call of lockq_library_init().
 *
 * The library never prints, ends the process or installs signal handlers. Of the environment it
 * reads HOME, MYSQL_HOME and MYSQL_GROUP_SUFFIX, to find option files; lockq-options(5) has them.
 *
 * Strings and arrays that a caller hands in stay the caller's, and a call keeps no pointer to them
 * unless its description says so. A result owns its strings and arrays. It is set to its _INIT
 * before its first use and released with its lockq_…_clear(), which may be called twice, and with
 * NULL.
 *
 * A program that was compiled with this header works with every later library of the same SONAME. A
 * later version takes the place for new members from the members @reserved; their value 0 always
 * means what this version does. So a structure that a caller fills is set to its _INIT first;
 * another value than 0 is LOCKQ_EUSAGE. Each new member takes 8 bytes, or is padded to them. Only
 * struct lockq_progress, which the library makes, grows at its end. struct lockq_loan_ref, struct
 * lockq_detail and struct lockq_setting stay as they are.
 *
 * Times are the server's, in UTC, as text of the form "2026-11-20 13:50:01.123456", or "" where
 * there is no time to tell.
 */

/* scripts/api-page makes lockq(3) from the comments of this file that begin with two stars and from
 * the titles of its sections, and fails where something public has no comment. */
#ifndef LOCKQ_H
#define LOCKQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LOCKQ_EXPORT __attribute__((visibility("default")))
#define LOCKQ_MUST_CHECK __attribute__((warn_unused_result))
#else
#define LOCKQ_EXPORT
#define LOCKQ_MUST_CHECK
#endif

/** The version of this header. lockq_version() returns the version of the library. */
#define LOCKQ_VERSION "0.4.0"

/** The newest schema that this library knows. lockq-migrate makes it. The library works with newer
 * ones, too, until lockq-migrate --finish takes away what it needs. */
#define LOCKQ_SCHEMA 11

/** The oldest schema that this library works with. */
#define LOCKQ_SCHEMA_OLDEST 11

/** The most loans that a task may allow for one request. */
#define LOCKQ_COUNT_MAX 1000

/** The longest time after which a returned loan is available again, in seconds: 72 hours. */
#define LOCKQ_RETURN_AFTER_MAX 259200

/** The longest time for which a returned loan is kept from its user, in seconds: 366 days. */
#define LOCKQ_NOT_ME_MAX 31622400

/** The most loans of one disposition. */
#define LOCKQ_DISPOSE_MAX 10000

/** For how long a disposition waits for sessions that hold its loans, and for a server that is
 * away: 30 seconds. */
#define LOCKQ_DISPOSE_TIMEOUT_MS 30000

/** For how long a call that only looks waits for sessions that have locked a table: 30 seconds. */
#define LOCKQ_LOOK_TIMEOUT_MS 30000

/** The most characters of a disposition's note. */
#define LOCKQ_NOTE_MAX 512

/** What functions return. */
enum lockq_rc {
	LOCKQ_OK = 0,          /**< the call is done */
	LOCKQ_NOTHING = 1,     /**< the task has no work, the pipeline or the history is empty */
	LOCKQ_BUSY = 2,        /**< the request is pending, timed out or expired: ask again */
	LOCKQ_CANCELLED = 3,   /**< the progress function gave up */
	LOCKQ_EUSAGE = -1,     /**< a parameter is out of the range that any task could allow */
	LOCKQ_EREFUSED = -2,   /**< the user, the task or the request is unknown, the task is
	                            disabled, a limit is reached, or a loan is not the user's */
	LOCKQ_EDATABASE = -3,  /**< the database can't be reached or refused a statement */
	LOCKQ_EQUERY = -4,     /**< the task's heavy query failed, by its view or its time limit,
	                            or its on_complete failed */
	LOCKQ_EUNKNOWN = -5,   /**< whether a change was made could not be found out: its COMMIT
	                            was lost, or no memory was left for its answer. After
	                            lockq_getwork(), lockq_request_look() with the answer's UUID
	                            tells it later */
	LOCKQ_ENOMEM = -6      /**< out of memory */
};

/** How a request stands. The words for it are those of work_requested.outcome. */
enum lockq_status {
	LOCKQ_PENDING = 0,       /**< the request has not ended */
	LOCKQ_SERVED,            /**< it got all the loans that it asked for */
	LOCKQ_PARTIAL,           /**< it got some: ask again for the rest */
	LOCKQ_EMPTY,             /**< the task had no work at lockq_answer.as_of */
	LOCKQ_STATUS_CANCELLED,  /**< the call that made it has cancelled it */
	LOCKQ_EXPIRED,           /**< no process looked at it for the task's request_ttl */
	LOCKQ_FAILED,            /**< the heavy query failed, see lockq_answer.reason */
	LOCKQ_REFUSED,           /**< it was refused, see lockq_answer.reason or lockq_error() */
	LOCKQ_STATUS_UNKNOWN     /**< see LOCKQ_EUNKNOWN */
};

/** A handle: the connections to one database. Opaque. */
struct lockq;

/** Where the database is. NULL or 0 leaves a member to the option files of lockq-options(5). */
struct lockq_connection {
	const char *program;        /**< program_name as operators see it; NULL: "liblockq" */
	const char *defaults_file;  /**< an option file; NULL: those of the mysql client */
	const char *defaults_group; /**< the group that is read beside [client]; NULL: "lockq" */
	const char *defaults_suffix; /**< of more groups, "_test"; NULL: MYSQL_GROUP_SUFFIX */
	const char *host;           /**< as for the mysql client */
	unsigned int port;          /**< a TCP port */
	const char *socket;         /**< the path of a socket on this machine */
	const char *user;           /**< the database account */
	const char *password;       /**< its password, which no message contains */
	const char *database;       /**< NULL: the option file's, else "lockq" */
	const char *ssl_mode;       /**< DISABLED, PREFERRED, REQUIRED, VERIFY_CA or
	                             * VERIFY_IDENTITY, see lockq-options(5); NULL: PREFERRED */
	int64_t connect_timeout_ms; /**< how long lockq_connect() tries to reach the server, in
	                             * milliseconds; 0: as it says there; negative: once. Other
	                             * functions ignore it */
	const char *more_group;     /**< one more group that is read; or NULL. Of two lines that
	                             * set the same, the later one in the file counts */
	uint64_t reserved[2];       /**< for later versions: 0 */
};
#define LOCKQ_CONNECTION_INIT { NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, \
	0, NULL, { 0 } }

/** What a call is doing. */
enum lockq_phase {
	LOCKQ_PHASE_QUERY,      /**< this process leads, and its heavy query runs */
	LOCKQ_PHASE_WAIT,       /**< this process waits for another one that leads */
	LOCKQ_PHASE_RETRY,      /**< the database refused for the moment, or others hold the loans
	                         * that were found: it tries again soon, see
	                         * lockq_progress.detail */
	LOCKQ_PHASE_CANCEL,     /**< it tries again to cancel the request, and can't be ended */
	LOCKQ_PHASE_EXPIRE,     /**< lockq_expire() is at work */
	LOCKQ_PHASE_CHECK,      /**< lockq_check_task() runs the task's query */
	LOCKQ_PHASE_FOLLOW,     /**< lockq_follow() waits, see lockq_progress.detail */
	LOCKQ_PHASE_DISPOSE     /**< loans are disposed of. Since: 0.4 */
};

/** For the progress function. Its strings are good until that function returns. */
struct lockq_progress {
	enum lockq_phase phase; /**< what the call is doing */
	uint64_t phase_ms;      /**< milliseconds since the query, this wait or this run began; a
	                         * follower's wait begins anew at each look */
	const char *leader;     /**< the user whose process leads; NULL: not known, or this one */
	uint64_t leader_ms;     /**< with @leader: milliseconds since it began to lead, by the
	                         * server's clock */
	uint64_t usual_ms;      /**< median of the task's last queries in milliseconds; 0: none */
	uint64_t joined_request; /**< the user's earlier request that this call joined; or 0 */
	uint32_t joined_asked;  /**< how many loans the joined request asks for */
	const char *detail;     /**< why something is tried again or waited for, or NULL */
	uint64_t rows;          /**< rows that lockq_expire() has changed or deleted so far, or that
	                         * lockq_follow() has delivered and acknowledged */
};

/* --- The handle --- */

/**
 * lockq_progress_fn:
 * @progress: what the call is doing
 * @data:     the pointer that lockq_on_progress() was given
 *
 * Is told what a call is doing, and can end it. Runs in the thread of the call. lockq_connect()
 * calls it before it tries again. lockq_getwork() and lockq_request_look() call it about four times
 * a second and after a signal while they wait, lockq_follow() does so, too, and lockq_dispose()
 * while it waits and while the task's on_complete runs. lockq_expire() and lockq_follow() call it
 * between their transactions. It must not use the same handle.
 *
 * Returns: 0 to go on. Anything else makes the call give up and return LOCKQ_CANCELLED.
 * Since: 0.1
 */
typedef int lockq_progress_fn(const struct lockq_progress *progress, void *data);

/**
 * lockq_overtime_fn:
 * @sockets:   the connections of the handle, which the process that leads on must keep open; good
 *             until the function returns
 * @n_sockets: how many there are
 * @data:      the pointer that lockq_on_overtime() was given
 *
 * Is called once in a call of lockq_getwork() that leads, when its time has been over for half a
 * second and the query still runs. All that asked meanwhile count on that query, so it must not end
 * with the call. The function may call fork(): then the child leads on, and the parent's call ends
 * in time. It must not use the handle.
 *
 * Returns: 0 where the call goes on: in the child, or since there is none. 1 in the parent: the
 * call leaves the connections to the child, connects anew, and ends as one whose wait ran out.
 * Since: 0.5
 */
typedef int lockq_overtime_fn(const int *sockets, size_t n_sockets, void *data);

/**
 * lockq_version:
 *
 * Tells the version of the library. Takes no lock, and any thread may call it.
 *
 * Returns: the version of the library, "0.4.0". The string is static.
 * Since: 0.1
 */
LOCKQ_EXPORT const char *lockq_version(void);

/**
 * lockq_library_init:
 *
 * Prepares MySQL's client library. A program with threads calls it once before it starts them.
 * Other programs need not call it. Takes no lock.
 *
 * Returns: 0; LOCKQ_EDATABASE when the client library can't be prepared.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_library_init(void);

/**
 * lockq_new:
 * @q: set to a handle that is not connected, or to NULL on failure; the caller releases the handle
 *     with lockq_free()
 *
 * Makes a handle. Takes no lock.
 *
 * Returns: 0; LOCKQ_ENOMEM.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_new(struct lockq **q);

/**
 * lockq_free:
 * @q: a handle, or NULL: nothing is done
 *
 * Closes the connections and releases the handle. Takes no lock.
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_free(struct lockq *q);

/**
 * lockq_read_options:
 * @q:          a handle; its connections are closed
 * @connection: where the database is; copied with its strings
 *
 * Reads the option files, and connects nowhere. A program needs it only where it wants to know what
 * the files say before it connects: with lockq_option_user(), lockq_option_task() and
 * lockq_warning(). Then lockq_connect() with NULL connects, without reading the files again. Takes
 * no lock.
 *
 * Returns: 0; LOCKQ_EUSAGE for an option file that can't be used; LOCKQ_ENOMEM.
 * Since: 0.2
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_read_options(struct lockq *q,
    const struct lockq_connection *connection);

/**
 * lockq_option_user:
 * @q: a handle after lockq_read_options() or lockq_connect()
 *
 * Tells the user of the key "lockq-user" in the group [lockq] of the option files. The library's
 * other functions don't use it: each is told its user. Takes no lock.
 *
 * Returns: the name as it stands in the file, or NULL where there is none. It belongs to the
 * handle, and is good until the files are read again.
 * Since: 0.2
 */
LOCKQ_EXPORT const char *lockq_option_user(const struct lockq *q);

/**
 * lockq_option_task:
 * @q: a handle after lockq_read_options() or lockq_connect()
 *
 * Tells the task of the key "lockq-task" in the group [lockq] of the option files. The library's
 * other functions don't use it: each is told its task. Takes no lock.
 *
 * Returns: the number of the task, or 0 where there is none.
 * Since: 0.2
 */
LOCKQ_EXPORT uint32_t lockq_option_task(const struct lockq *q);

/**
 * lockq_option_no_refill:
 * @q: a handle after lockq_read_options() or lockq_connect()
 *
 * Tells the key "lockq-no-refill" in the group [lockq] of the option files: whether programs leave
 * the filling of kept lists to others. The library's other functions don't use it. Takes no lock.
 *
 * Returns: 1 or 0; also 0 where there is no such key.
 * Since: 0.3
 */
LOCKQ_EXPORT int lockq_option_no_refill(const struct lockq *q);

/**
 * lockq_connect:
 * @q:          a handle
 * @connection: where the database is, copied with its strings; NULL: as lockq_read_options() or an
 *              earlier call was told
 *
 * Reads the option files unless @connection is NULL, connects to the database, sets the session's
 * settings (READ COMMITTED, SQL mode, UTC, time limits) and checks that the server is MySQL 8.0.19
 * or later, not MariaDB, and that its schema is one that this library works with, see LOCKQ_SCHEMA.
 * A task's views and procedures see the server's own SQL mode and time zone. It tries again for
 * connect_timeout_ms, in milliseconds, where the server can't be reached or has no free session;
 * with 0 for two seconds, and for ten where no session is free. The progress function is told of
 * it. If the connection is lost later, the next call that needs it makes it
 * again, without reading the files again. Takes no lock.
 *
 * Returns: 0; LOCKQ_BUSY, see lockq_look_timeout(); LOCKQ_EUSAGE for an option file that can't be
 * used, or for NULL where none was read; LOCKQ_EDATABASE; LOCKQ_ENOMEM; LOCKQ_CANCELLED when the
 * progress function gave up. The caller releases the handle after a failure, too.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_connect(struct lockq *q,
    const struct lockq_connection *connection);

/**
 * lockq_query_at:
 * @q:          a handle after lockq_connect()
 * @connection: where heavy queries run, copied with its strings; members that are NULL or 0 are as
 *              in the group [lockq_query] of the option files, else as lockq_connect() was told;
 *              the members for option files stay NULL; NULL: heavy queries run where everything
 *              else runs
 *
 * Makes step 4 run the heavy query with another account or on a replica, if @connection or the
 * group names one. A call that leads connects there. The list of a replica is a hint: step 5 checks
 * each loan on the primary, and never says "no work" from it. The query runs on the primary when
 * the other server can't be reached, can't run the query or has a list that is mostly out of date.
 * leader_run.reason then says so. Takes no lock.
 *
 * Returns: 0; LOCKQ_EUSAGE for a member that must stay NULL; LOCKQ_ENOMEM.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_query_at(struct lockq *q,
    const struct lockq_connection *connection);

/**
 * lockq_warning:
 * @q: a handle after lockq_read_options() or lockq_connect()
 *
 * Says what should be mended although the call went on: an option file that has a password and that
 * every user may read. Takes no lock.
 *
 * Returns: one line, or "". It belongs to the handle, and is good until the files are read again.
 * Since: 0.2
 */
LOCKQ_EXPORT const char *lockq_warning(const struct lockq *q);

/**
 * lockq_error:
 * @q: a handle
 *
 * After a call that returned a negative code, tells why; after LOCKQ_BUSY, what the result does not
 * tell. The line may contain text from the database as it came, so a program escapes it before it
 * prints it on a terminal. Takes no lock.
 *
 * Returns: one line, or "". It belongs to the handle, and is good until the next call with @q.
 * Since: 0.1
 */
LOCKQ_EXPORT const char *lockq_error(const struct lockq *q);

/**
 * lockq_error_detail:
 * @q: a handle
 *
 * What operators want to know of the same error: the server's number, the SQLSTATE, which statement
 * of the library it was, at which attempt, and after how long. Takes no lock.
 *
 * Returns: one line, or "" where the database has no part in the error. It belongs to the handle,
 * and is good until the next call with @q.
 * Since: 0.2
 */
LOCKQ_EXPORT const char *lockq_error_detail(const struct lockq *q);

/**
 * lockq_on_progress:
 * @q:    a handle
 * @fn:   the function to call while a call waits; NULL: none
 * @data: passed to @fn; the caller keeps it as long as @fn is set
 *
 * Sets the progress function. Takes no lock.
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_on_progress(struct lockq *q, lockq_progress_fn *fn, void *data);

/**
 * lockq_on_overtime:
 * @q:    a handle
 * @fn:   the function to call when a call that leads has no time left; NULL, as at first: the call
 *        leads on, and returns late
 * @data: passed to @fn; the caller keeps it as long as @fn is set
 *
 * Sets what ends a leader's call in time. Takes no lock.
 * Since: 0.5
 */
LOCKQ_EXPORT void lockq_on_overtime(struct lockq *q, lockq_overtime_fn *fn, void *data);

/** What lockq_on_log() tells of. */
enum lockq_log_kind {
	LOCKQ_LOG_END,          /**< a call has ended */
	LOCKQ_LOG_FAILURE       /**< a statement of a call has failed; the call may go on */
};

/** For the log function. Its strings are good until that function returns, and none is NULL. It has
 * no text of the server, no note and no loan: of people it has only the user's name. */
struct lockq_log {
	enum lockq_log_kind kind; /**< what has happened */
	int code;               /**< at the end: what the call returns, an enum lockq_rc */
	const char *operation;  /**< connect, look, getwork, cancel, disposition, expire, refill,
	                         * manage or follow */
	const char *user;       /**< the user, or the manager; "" where nobody is named */
	uint32_t task;          /**< task.task_id; 0: none in particular */
	uint32_t attempt;       /**< which attempt it was, or how many there were, from 1 */
	uint64_t request_id;    /**< at the end: the call's request; or 0 */
	uint64_t ms;            /**< milliseconds since the call began */
	uint64_t lock_wait_ms;  /**< at the end: milliseconds in statements that ended with 1205 or
	                         * 1213 */
	uint32_t lock_waits;    /**< at the end: statements that ended with 1205 */
	uint32_t deadlocks;     /**< at the end: statements that ended with 1213 */
	uint32_t number;        /**< the server's number of the failure, or of the call's last one;
	                         * 0: there was none */
	const char *sqlstate;   /**< the same: its SQLSTATE */
	const char *statement;  /**< the same: the statement's name in the library; "connect" where
	                         * no connection could be made */
	uint64_t statement_ms;  /**< of a failure: milliseconds that the statement took */
	uint64_t reserved[4];   /**< for later versions: 0 */
};

/**
 * lockq_log_fn:
 * @log:  what has happened
 * @data: the pointer that lockq_on_log() was given
 *
 * Is told that a call has ended, or that a statement of it has failed. Runs in the thread of the
 * call. It must not use the same handle.
 * Since: 0.4
 */
typedef void lockq_log_fn(const struct lockq_log *log, void *data);

/**
 * lockq_on_log:
 * @q:    a handle
 * @fn:   the function to call for each call of the library that ends, and for each failed
 *        statement; NULL: none
 * @data: passed to @fn; the caller keeps it as long as @fn is set
 *
 * Sets the log function. Takes no lock.
 * Since: 0.4
 */
LOCKQ_EXPORT void lockq_on_log(struct lockq *q, lockq_log_fn *fn, void *data);

/**
 * lockq_look_timeout:
 * @q:          a handle
 * @timeout_ms: in milliseconds; negative: LOCKQ_LOOK_TIMEOUT_MS
 *
 * Sets how long each later call that only looks waits where another session has locked a table that
 * the call reads, by LOCK TABLES or in order to alter it: a call of lockq_request_look(),
 * lockq_pipeline(), lockq_requests(), lockq_tasks(), lockq_stats(), lockq_runs(), lockq_day(),
 * lockq_history(), lockq_cursors(), lockq_definitions(), lockq_people() or lockq_check_task(). Such
 * a call ends a second later at most. It then returns LOCKQ_BUSY, and lockq_error() names the
 * table. Meanwhile it calls the progress function with LOCKQ_PHASE_RETRY. A value that is not
 * negative holds for lockq_connect(), too, which reads the table schema_version. Takes no lock.
 * Since: 0.2
 */
LOCKQ_EXPORT void lockq_look_timeout(struct lockq *q, int64_t timeout_ms);

/**
 * lockq_status_name:
 * @status: how a request stands
 *
 * Names a status. Takes no lock, and any thread may call it.
 *
 * Returns: the word for @status in work_requested.outcome; "unknown" for LOCKQ_STATUS_UNKNOWN and
 * any other number. The string is static.
 * Since: 0.1
 */
LOCKQ_EXPORT const char *lockq_status_name(enum lockq_status status);

/** How a request waits while another process leads. */
enum lockq_wait {
	LOCKQ_WAIT_BLOCKING = 0, /**< for the lock of the row of task_wake: the call wakes
	                          * milliseconds after the leader's COMMIT */
	LOCKQ_WAIT_POLL,         /**< disconnected between its looks: for more people than
	                          * connections */
	LOCKQ_WAIT_NONE,         /**< not at all: as with a timeout_ms of 0, but the request stays
	                          * pending */
	LOCKQ_WAIT_LIST          /**< not at all: the call takes from the kept list, or records no
	                          * request and returns LOCKQ_NOTHING, or LOCKQ_BUSY where the
	                          * task is paused */
};

/** What to ask for. */
struct lockq_ask {
	const char *user;       /**< app_user.name */
	uint32_t task;          /**< task.task_id */
	uint32_t count;         /**< how many loans, 1 to the task's max_count; initially 1 */
	enum lockq_wait wait;   /**< how the request waits; initially LOCKQ_WAIT_BLOCKING */
	int64_t timeout_ms;     /**< longest wait in milliseconds; negative, as initially: no limit.
	                         * It bounds leading only with lockq_on_overtime() */
	const uint32_t *poll_s; /**< LOCKQ_WAIT_POLL: seconds between looks, 1 or more each; the
	                         * last repeats */
	size_t n_poll;          /**< how many there are in @poll_s */
	const char *uuid;       /**< of the request, by which a repeated call is known; NULL: the
	                         * library makes one */
	int fresh;              /**< 1: only loans of a query that begins after the request */
	uint64_t poll_tries;    /**< LOCKQ_WAIT_POLL: give up after so many looks, or after
	                         * @timeout_ms if that is earlier; 0: no limit */
	uint64_t reserved[1];   /**< for later versions: 0 */
};
#define LOCKQ_ASK_INIT { NULL, 0, 1, LOCKQ_WAIT_BLOCKING, -1, NULL, 0, NULL, 0, 0, { 0 } }

/** A loan that an answer gives. */
struct lockq_loan {
	uint64_t loan_id;          /**< the number of the loan */
	uint64_t token;            /**< above those of all earlier assignments of the loan */
	char lease_expires_at[27]; /**< when the assignment ends; "": the task has no lease */
	uint64_t reserved[4];      /**< for later versions: 0 */
};

/** How a request ended, or stands. After an error, members that are not known have their initial
 * values. */
struct lockq_answer {
	uint64_t request_id;     /**< 0: no request was recorded */
	char uuid[37];           /**< of the request; or "" */
	char *user;              /**< app_user.name; NULL: not known */
	uint32_t task;           /**< task.task_id; 0: not known */
	char *task_name;         /**< task.name; NULL: not known */
	uint32_t asked;          /**< how many loans were asked for */
	uint32_t requested;      /**< @asked while pending, @assigned once it has ended */
	uint32_t assigned;       /**< how many loans were given */
	enum lockq_status status; /**< how the request stands */
	int led;                 /**< 1: this call led and served the request itself */
	int joined;              /**< 1: this call joined an earlier request of the user, whose
	                          * count holds */
	int nobody_leads;        /**< 1: lockq_request_look() saw it pending and no leader */
	uint64_t epoch;          /**< of the leader that ended it or left the list; 0: neither */
	char *leader;            /**< the user who led, or who leads now; NULL: not known */
	uint64_t waited_ms;      /**< milliseconds from the start of this call to its end */
	int64_t query_ms;        /**< milliseconds of the heavy query; negative: not known, or
	                          * the loans are from a kept list */
	char as_of[27];          /**< when the query began that the answer rests on: "no work" is
	                          * said as of then */
	char *how;               /**< "list": from a kept list; else as leader_run.how; or NULL */
	char *reason;            /**< why it failed, was refused, got less, was cancelled by a
	                          * manager, or is pending in a paused task; else NULL */
	uint32_t excluded;       /**< loans that were left, but not for this user, who returned
	                          * them with not_me_s, or from whom the task's not_same_user_as or
	                          * not_again keeps them. With LOCKQ_EMPTY, 0: there was no work at
	                          * all */
	uint32_t position;       /**< of a pending request, by lockq_request_look(): its place in
	                          * the task's line, from 1; else 0 */
	uint64_t loans_ahead;    /**< how many loans the requests before it ask for */
	int64_t expected_ms;     /**< milliseconds until it may be served: the median of the task's
	                          * last queries, less the time for which a leader has led, and not
	                          * below 0; negative: not known */
	uint32_t retries;        /**< how many transactions lockq_getwork() tried again */
	struct lockq_loan *loans; /**< the loans of this request in order of priority; the user may
	                          * hold others */
	size_t n_loans;          /**< how many there are in @loans */
	int repeated;            /**< 1: an earlier call with the same UUID got this answer, before
	                          * this call began */
	char *checked;           /**< when the view was asked whether the loans still match, just
	                          * before they were given; NULL: it was not. A leader asks only
	                          * after a query of more than a second. Loans of a kept list are
	                          * unchecked then: the view could not tell in time, and the task
	                          * allows that */
	char *refill_failed;     /**< the list is overdue, since filling it failed; or NULL */
	int one_commit;          /**< 1: lockq_dispose_and_ask() has disposed of loans and given
	                          * these in one commit. Since: 0.4 */
	uint32_t reserved[1];    /**< for later versions: 0 */
};
#define LOCKQ_ANSWER_INIT { 0, "", NULL, 0, NULL, 0, 0, 0, LOCKQ_PENDING, 0, 0, 0, 0, NULL, 0, -1, \
	"", NULL, NULL, 0, 0, 0, -1, 0, NULL, 0, 0, NULL, NULL, \
	0, { 0 } }

/* --- Asking for work --- */

/**
 * lockq_getwork:
 * @q:      a connected handle; its last error is replaced
 * @ask:    the user, the task, how many loans, and how the request waits
 * @answer: cleared, then filled on every return; the caller releases it with lockq_answer_clear()
 *
 * Asks for work and waits for the answer: the seven steps of lockq(7). Where the task keeps a list,
 * the call first takes the loans from it. Else it leads where nobody leads, or follows. A user has
 * at most one pending request per task. A second call joins that request, gets the same loans, and
 * does not cancel it. If the call that made the request cancels it, or leaves it until it expires,
 * the second call makes a request of its own.
 *
 * With @ask->fresh, the call takes nothing from a kept list, and its request is not served from a
 * query that began before it. If it joins an earlier request, that one waits for such a query, too.
 *
 * With @ask->uuid, one call and all its repetitions with that UUID get the loans of one request. If
 * that request has ended with loans, they are told again as they were told then: some of them may
 * have been completed or may belong to others since. If it is pending, the call joins it, and makes
 * none of its own when that one is cancelled or expires. If it ended without loans, the call is
 * refused, and so is another user, task or count. While another request of the user is pending
 * for the task, the call waits for its end, and asks then. If the wait runs out before that, then
 * nothing was asked for: @answer shows the other request, with its own uuid, and the call may be
 * repeated. The library knows a UUID until the request is purged.
 *
 * A call that takes from a kept list locks the rows that it gives of kept_loan and work, those of
 * kept_loan that it removes, now and then the list's row of kept_list, the pending request where
 * there is one, and, in a task with max_pipeline, the user's row of pipeline_lock. It locks them in
 * one transaction of the server's own, which begins and ends within one statement: so they are free
 * even if the process is stopped at that moment. It passes over rows that others hold. It does the
 * same for requests of others that are pending while nobody leads.
 *
 * A call that leads holds the task's row of task_lock from step 2 to the COMMIT of step 5: as long
 * as the heavy query and a few short statements take. It holds the row of task_wake, too, if it can
 * have that row within a second. Step 5 locks the rows of work_requested and work that it changes,
 * the rows of kept_loan of the loans that it gives, and in a task with max_pipeline the rows of
 * pipeline_lock of those who ask. Step 6 takes these locks again for requests that came late,
 * without a query. A call that follows holds no lock. A blocking wait asks for a shared lock on the
 * row of task_wake.
 *
 * A request that this call made is cancelled when it returns LOCKQ_CANCELLED, LOCKQ_EDATABASE or
 * LOCKQ_ENOMEM, or when the wait ran out. If that fails, lockq_error() says that the request may
 * still be pending. If the request was served just before, the call returns 0 with the loans.
 *
 * Returns:
 * 0 when at least one loan was assigned;
 * LOCKQ_NOTHING when the task has no work for this user, or its list has none with LOCKQ_WAIT_LIST;
 * LOCKQ_BUSY when the wait ran out, the request expired or was cancelled, or it is pending with
 * LOCKQ_WAIT_NONE; while the task is paused nobody is served.
 * lockq_error() then has a line where the answer does not tell why: what another session held, so
 * that nothing was asked for and @answer->request_id is 0, or that the request could not be
 * cancelled and may still be pending;
 * LOCKQ_CANCELLED when the progress function gave up before the request was served;
 * LOCKQ_EUSAGE for no user, a count out of 1 to LOCKQ_COUNT_MAX, polling without gaps or with a gap
 * of 0, or a malformed UUID;
 * LOCKQ_EREFUSED for an unknown or disabled user or task, more than its max_count, where the
 * user already holds max_pipeline loans of the task, or for a UUID that can't be used again;
 * LOCKQ_EQUERY when the heavy query failed; LOCKQ_EDATABASE; LOCKQ_EUNKNOWN; LOCKQ_ENOMEM.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_getwork(struct lockq *q, const struct lockq_ask *ask,
    struct lockq_answer *answer);

/** A new list of a task, as lockq_refill() has made it. */
struct lockq_refilled {
	uint64_t epoch;       /**< of the round; 0: there was none */
	uint64_t loans;       /**< how many loans the list has */
	uint64_t requests;    /**< pending requests that the round ended */
	int64_t query_ms;     /**< milliseconds of the heavy query; negative: none ran */
	char as_of[27];       /**< when it began */
	uint64_t reserved[4]; /**< for later versions: 0 */
};
#define LOCKQ_REFILLED_INIT { 0, 0, 0, -1, "", { 0 } }

/**
 * lockq_refill:
 * @q:        a connected handle; its last error is replaced
 * @task:     task.task_id, of a task that keeps a list: its cache_ttl is not 0
 * @only_due: 1: only if the list is due; 0: in any case
 * @result:   filled on every return; it owns nothing
 *
 * Fills a task's kept list, while others take loans from the old one: a leader's round without a
 * request, see lockq(7). Requests that are pending get their loans first, the rest is the new list.
 * A list is due when it is older than the task's refresh_after, or what is left lasts for less than
 * two queries, and somebody has asked for the task within the last cache_ttl seconds. That is
 * looked at again under the lock, so of many processes that call this at once one runs the query.
 * If the query fails, the old list is used on until its cache_ttl is over, and those who take from
 * it are told, by lockq_answer.refill_failed.
 *
 * Holds the task's rows of task_lock and task_wake, and locks those of step 5, as a call of
 * lockq_getwork() that leads.
 *
 * Returns: 0 when there is a new list; LOCKQ_NOTHING when it is not due; LOCKQ_BUSY when another
 * process leads, or another session has the task locked for some seconds although nobody leads, or
 * the task is paused;
 * LOCKQ_EREFUSED for an unknown task, or one that is disabled or keeps no list; LOCKQ_EQUERY when
 * the query failed; LOCKQ_CANCELLED; LOCKQ_EDATABASE; LOCKQ_EUNKNOWN; LOCKQ_ENOMEM.
 * Since: 0.3
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_refill(struct lockq *q, uint32_t task, int only_due,
    struct lockq_refilled *result);

/**
 * lockq_refill_due:
 * @q:    a connected handle; its last error is replaced
 * @task: one that lockq_due() has found; 0: the task that lockq_getwork() has just been asked for,
 *        if it took from that task's list, and the list is due
 *
 * Tells whether the program is to fill the task's list now, with lockq_refill(), in a process or
 * thread of its own. The library starts none. Of many programs that find a list due, one is told
 * so. The next one is told after ten seconds, or twice the time of the query if that is longer, and
 * after each failure in a row after twice as long. Changes the task's row of task_refill in a
 * statement of its own.
 *
 * Returns: 1 or 0. Where the database has failed it is 0, too, and lockq_error() says why.
 * Since: 0.3
 */
LOCKQ_EXPORT int lockq_refill_due(struct lockq *q, uint32_t task);

/** The tasks whose lists are due. */
struct lockq_due {
	uint32_t *tasks;      /**< task.task_id, in this order */
	size_t n_tasks;       /**< how many there are in @tasks */
	uint64_t reserved[2]; /**< for later versions: 0 */
};
#define LOCKQ_DUE_INIT { NULL, 0, { 0 } }

/**
 * lockq_due:
 * @q:   a connected handle; its last error is replaced
 * @due: cleared, then filled; the caller releases it with lockq_due_clear()
 *
 * Finds the tasks whose lists are due, for lockq_refill_due() and lockq_refill(). Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when there is none; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.3
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_due(struct lockq *q, struct lockq_due *due);

/**
 * lockq_due_clear:
 * @due: what lockq_due() has filled, or NULL
 *
 * Frees the array of @due and sets it to LOCKQ_DUE_INIT. Takes no lock.
 * Since: 0.3
 */
LOCKQ_EXPORT void lockq_due_clear(struct lockq_due *due);

/**
 * lockq_cancel:
 * @q:       a connected handle; its last error is replaced
 * @user:    app_user.name, whose request it is
 * @task:    a task.task_id: the user's pending request for this task is meant; 0: the only one
 * @request: a request's id in decimal, or its UUID, with 0 for @task; or NULL
 * @answer:  cleared, then filled: how the request stands now; its request_id is 0 where there is
 *           none. The caller releases it with lockq_answer_clear()
 *
 * Cancels a pending request, whichever process made it. The call that waits for it ends with
 * LOCKQ_BUSY: after 20 seconds at most, at its next look where it polls, after its query where it
 * leads. A call that has joined the request without a UUID then makes one of its own. Where the
 * request was cancelled before, that is as good, so the call may be repeated.
 *
 * A leader that is serving the request is waited for, a second or two, and its answer then stands.
 * Locks the request's row of work_requested for one short statement.
 *
 * Returns:
 * 0 when the request is cancelled, or when it had got loans before: @answer->status tells which;
 * LOCKQ_NOTHING when the user has no pending request for @task, or @request ended without loans and
 * was not cancelled;
 * LOCKQ_BUSY when a leader held the request for too long: it may still be pending;
 * LOCKQ_EREFUSED for an unknown user or task, for a request that is unknown or not of @user, where
 * the user has several pending requests and none is named, and where this account may not ask for
 * @user;
 * LOCKQ_EUSAGE for no user, or for both @task and @request;
 * LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.2
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_cancel(struct lockq *q, const char *user, uint32_t task,
    const char *request, struct lockq_answer *answer);

/**
 * lockq_answer_clear:
 * @answer: an answer or NULL
 *
 * Frees the strings and loans of @answer and sets it to LOCKQ_ANSWER_INIT. Takes no lock.
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_answer_clear(struct lockq_answer *answer);

/**
 * lockq_request_look:
 * @q:       a connected handle; its last error is replaced
 * @request: a request's id in decimal, or its UUID
 * @wait_ms: how long to wait for a pending request in milliseconds; 0 looks once
 * @answer:  cleared, then filled; the caller releases it with lockq_answer_clear()
 *
 * Looks at a request and waits for its answer: the look and the wait of step 7 of lockq(7). It
 * never leads. The look keeps a pending request from expiring if the account may update
 * work_requested. An account that may not read task_lock is not told whether anybody leads.
 *
 * Holds no lock. The wait asks for a shared lock on the task's row of task_wake.
 *
 * Returns: what lockq_getwork() returns for the request, but LOCKQ_BUSY while it is pending, or
 * with an empty answer as lockq_look_timeout() tells, LOCKQ_EREFUSED also where there is no such
 * request, and never LOCKQ_EUSAGE. LOCKQ_CANCELLED ends the look and leaves the request as it is.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_request_look(struct lockq *q, const char *request,
    int64_t wait_ms, struct lockq_answer *answer);

/** A column of a task's detail_view for one loan. */
struct lockq_detail {
	char *name;                /**< the name of the column */
	char *value;               /**< as MySQL writes it; NULL: SQL NULL */
};

/** One current assignment. */
struct lockq_assignment {
	uint32_t task;             /**< task.task_id */
	char *task_name;           /**< task.name */
	uint64_t loan_id;          /**< the number of the loan */
	uint64_t token;            /**< of this assignment */
	uint64_t request_id;       /**< the request that got it */
	char assigned_at[27];      /**< when it was assigned */
	uint64_t age_s;            /**< seconds since then */
	char lease_expires_at[27]; /**< when the assignment ends; "": the task has no lease */
	int lease_expired;         /**< 1: that time has passed, another user may get the loan at
	                            * any moment */
	uint64_t lease_left_s;     /**< seconds until then; 0: it has passed, or no lease */
	char *note;                /**< the loan's last note in this task, perhaps another user's;
	                            * or NULL */
	struct lockq_detail *details; /**< the columns of detail_view, in its order and without
	                            * loan_id */
	size_t n_details;          /**< how many there are; 0: the view has no row of this loan */
	uint64_t reserved[4];      /**< for later versions: 0 */
};

/** A user's current assignments. */
struct lockq_pipeline {
	struct lockq_assignment *assignments; /**< by task, as they were given out */
	size_t n_assignments;      /**< how many there are */
	char *detail_fault;        /**< one line why some details are missing; NULL: none are */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_PIPELINE_INIT { NULL, 0, NULL, { 0 } }

/* --- Looking at assignments, loans and tasks --- */

/**
 * lockq_pipeline:
 * @q:        a connected handle; its last error is replaced
 * @user:     app_user.name
 * @task:     a task.task_id; 0: all tasks
 * @pipeline: cleared, then filled; the caller releases it with lockq_pipeline_clear()
 *
 * Reads the user's current assignments, by task in the order in which they were given out: the
 * oldest request first, and its loans in the order of its answer. It reads each task's detail_view
 * once, for 3 seconds at most, in a read-only transaction. A view that fails changes
 * @pipeline->detail_fault, not what is returned. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when there are none; LOCKQ_BUSY, see lockq_look_timeout(); LOCKQ_EUSAGE
 * for no user; LOCKQ_EREFUSED for an unknown user or task; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_pipeline(struct lockq *q, const char *user, uint32_t task,
    struct lockq_pipeline *pipeline);

/**
 * lockq_pipeline_clear:
 * @pipeline: a pipeline or NULL
 *
 * Frees what @pipeline has and sets it to LOCKQ_PIPELINE_INIT. Takes no lock.
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_pipeline_clear(struct lockq_pipeline *pipeline);

/** A request that is pending. */
struct lockq_request {
	uint64_t request_id;       /**< its number */
	char uuid[37];             /**< its UUID */
	uint32_t task;             /**< task.task_id */
	char *task_name;           /**< task.name */
	uint32_t asked;            /**< how many loans it asks for */
	char created_at[27];       /**< when it was made */
	uint64_t age_s;            /**< seconds since then */
	int unattended;            /**< 1: nobody has looked after it for the task's request_ttl,
	                            * and the next leader will expire it */
	int nobody_leads;          /**< 1: no process leads its task at the moment */
	char *leader;              /**< the user whose process leads its task; NULL: nobody, or
	                            * it is not known */
	char *paused;              /**< why its task is paused; NULL: it is not */
	char *held;                /**< who has the lock of its task and leads nobody; NULL:
	                            * nobody has. Since: 0.5 */
	uint64_t reserved[2];      /**< for later versions: 0 */
};

/** A user's pending requests. */
struct lockq_requests {
	struct lockq_request *requests; /**< by task; a user has at most one for each task */
	size_t n_requests;         /**< how many there are */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_REQUESTS_INIT { NULL, 0, { 0 } }

/**
 * lockq_requests:
 * @q:        a connected handle; its last error is replaced
 * @user:     app_user.name
 * @task:     a task.task_id; 0: all tasks
 * @requests: cleared, then filled; the caller releases it with lockq_requests_clear()
 *
 * Reads the user's pending requests, and by a dirty read for each of them who leads its task. An
 * account that may not read task_lock is not told that. Unlike lockq_request_look() it does not
 * keep a request from expiring. A caller that shows the pipeline, too, reads the requests first: in
 * the other order a request that is served meanwhile would be in neither. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when none is pending; LOCKQ_BUSY, see lockq_look_timeout();
 * LOCKQ_EUSAGE for no user; LOCKQ_EREFUSED for an unknown user or task; LOCKQ_EDATABASE;
 * LOCKQ_ENOMEM.
 * Since: 0.2
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_requests(struct lockq *q, const char *user, uint32_t task,
    struct lockq_requests *requests);

/**
 * lockq_requests_clear:
 * @requests: pending requests or NULL
 *
 * Frees what @requests has and sets it to LOCKQ_REQUESTS_INIT. Takes no lock.
 * Since: 0.2
 */
LOCKQ_EXPORT void lockq_requests_clear(struct lockq_requests *requests);

/** A task, and how a user stands in it. */
struct lockq_task {
	uint32_t task;             /**< task.task_id */
	char *task_name;           /**< task.name */
	int enabled;               /**< 0: it takes no requests */
	char *manager;             /**< who answers for it; or NULL */
	uint32_t max_count;        /**< the most loans of one request */
	uint32_t max_pipeline;     /**< the most loans that a user may hold; 0: any number */
	uint64_t held;             /**< loans that the user holds, as max_pipeline counts them:
	                            * without those whose lease has run out */
	uint64_t pending;          /**< pending requests of the user: 0 or 1 */
	char *paused;              /**< why nobody gets loans of it for now; NULL: they do */
	uint64_t urgent;           /**< urgent loans that wait to be given */
	uint64_t any_place;        /**< its place among the tasks of getwork --any; 0: none */
	uint64_t reserved[1];      /**< for later versions: 0 */
};

/** The tasks. */
struct lockq_tasks {
	struct lockq_task *tasks;  /**< by number */
	size_t n_tasks;            /**< how many there are */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_TASKS_INIT { NULL, 0, { 0 } }

/**
 * lockq_tasks:
 * @q:     a connected handle; its last error is replaced
 * @user:  app_user.name
 * @tasks: cleared, then filled; the caller releases it with lockq_tasks_clear()
 *
 * Reads which tasks there are, those that are not enabled, too, and how the user stands in each. It
 * finds the user's rows by index, so it costs the same however large the tables are. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when there is no task; LOCKQ_BUSY, see lockq_look_timeout();
 * LOCKQ_EUSAGE for no user; LOCKQ_EREFUSED for an unknown user; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.2
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_tasks(struct lockq *q, const char *user,
    struct lockq_tasks *tasks);

/**
 * lockq_tasks_clear:
 * @tasks: tasks or NULL
 *
 * Frees what @tasks has and sets it to LOCKQ_TASKS_INIT. Takes no lock.
 * Since: 0.2
 */
LOCKQ_EXPORT void lockq_tasks_clear(struct lockq_tasks *tasks);

/** How many assigned loans of all tasks lockq_stats() reads at most. */
#define LOCKQ_STAT_ASSIGNED_MOST 50000

/** How many loans of all tasks whose time is over it reads at most. */
#define LOCKQ_STAT_OVERDUE_MOST 10000

/** How many of the last requests of each task it reads at most. */
#define LOCKQ_STAT_ANSWERS 500

/** How many of the last leaders of each task it reads at most. */
#define LOCKQ_STAT_RUNS 200

/** How many of the last rows of the log it reads at most. */
#define LOCKQ_STAT_CHANGES 200

/** What held up the calls of an operation in the last hour, in steps of ten minutes. */
struct lockq_trouble {
	char operation[16];        /**< getwork, cancel, disposition, expire, refill or manage */
	uint64_t busy;             /**< calls that ended with LOCKQ_BUSY */
	uint64_t lock_waits;       /**< statements that waited too long for a lock: 1205 */
	uint64_t deadlocks;        /**< statements that ended with a deadlock: 1213 */
	uint64_t retries;          /**< what was tried again */
	uint64_t reserved[3];      /**< for later versions: 0 */
};

/** How a task stands. Figures "of the last hour" are of the last LOCKQ_STAT_ANSWERS requests that
 * have ended, or of the last LOCKQ_STAT_RUNS leaders, where there were more in that hour. A time in
 * milliseconds is -1 where there is none to tell. */
struct lockq_stat {
	uint32_t task;             /**< task.task_id */
	int enabled;               /**< 0: it takes no requests */
	char *task_name;           /**< task.name */
	char *paused;              /**< why nobody gets loans of it for now; NULL: they do */
	char *leader;              /**< who leads; NULL: nobody */
	uint64_t leading_ms;       /**< for how long */
	uint64_t epoch;            /**< of the last leader that has committed */
	uint64_t waiting;          /**< pending requests that somebody looks after */
	uint64_t unattended;       /**< the other ones: the next leader lets them expire */
	uint64_t wanted;           /**< loans that those who wait want */
	uint64_t oldest_s;         /**< for how long the oldest one of them has waited, seconds */
	int keeps_list;            /**< 0: each leader runs the heavy query */
	int has_list;              /**< whether there is a list to take from now */
	int list_due;              /**< whether it is time to fill the list anew */
	uint64_t list_length;      /**< loans that the newest list began with */
	uint64_t list_left;        /**< and those that it has now, with those that were touched */
	uint64_t list_age_s;       /**< since the start of its query, seconds */
	uint64_t refill_failures;  /**< tries to fill it that failed, in a row; 0 while the task is
	                            * to keep none: it is paused, for example */
	char *refill_reason;       /**< why the last of them did; or NULL */
	uint64_t assigned;         /**< loans that users have; a part of them where all tasks have
	                            * LOCKQ_STAT_ASSIGNED_MOST or more */
	uint64_t overdue;          /**< of these, whose lease has ended; LOCKQ_STAT_OVERDUE_MOST of
	                            * all tasks at most */
	uint64_t untidied_s;       /**< seconds since a row was over that disposition --expire has
	                            * not logged yet, or 0 */
	uint64_t answers;          /**< requests of the last hour that were served, were told that
	                            * there is no work, or failed */
	uint64_t answers_empty;    /**< of these, told that there is no work */
	uint64_t answers_failed;   /**< of these, failed */
	uint64_t loans;            /**< loans that they got */
	uint64_t loans_per_h;      /**< the same, for an hour at the same speed */
	int64_t wait_p50_ms;       /**< half of them waited no longer */
	int64_t wait_p95_ms;       /**< 95 of 100 waited no longer */
	uint64_t queries;          /**< heavy queries of the last hour that did not fail */
	int64_t query_p50_ms;      /**< half of them took no longer */
	int64_t query_p95_ms;      /**< 95 of 100 took no longer */
	uint64_t failures;         /**< leaders of the last hour that failed */
	uint64_t failures_in_a_row; /**< the last so many leaders of the last hour failed, since a
	                            * check has found the task well */
	char failed[512];          /**< why the last of them did; or "" */
	struct lockq_trouble *trouble; /**< what held calls up in the last hour, by operation */
	size_t n_trouble;          /**< how many there are */
	uint64_t max_query_s;      /**< task.max_query_s */
	uint64_t request_ttl;      /**< task.request_ttl, seconds */
	char *held;                /**< who has its lock and leads nobody, in words; NULL: nobody.
	                            * Since: 0.5, as what follows */
	char *held_rows;           /**< who has locked rows of its work for a minute; NULL: nobody,
	                            * or it can't be seen */
	int64_t found;             /**< loans that its last query found; negative: none ran */
	int64_t found_before;      /**< the same of the query before */
	int64_t last_query_ms;     /**< milliseconds of its last query, and */
	int64_t slowest_before_ms; /**< of the slowest of the three before; negative: fewer ran */
	uint64_t given_again;      /**< of the last LOCKQ_STAT_CHANGES changes of the log, those
	                            * that give a loan which was completed before */
	uint64_t found_age_s;      /**< since the start of its last query, seconds */
};

/** How tasks stand. */
struct lockq_stats {
	struct lockq_stat *tasks;  /**< by number */
	size_t n_tasks;            /**< how many there are */
	char at[27];               /**< when that was */
	struct lockq_trouble *trouble; /**< of calls that were for no task in particular */
	size_t n_trouble;          /**< how many there are */
	uint64_t ahead_s;          /**< seconds by which the newest change or list is ahead of the
	                            * server's clock. Since: 0.5, as what follows */
	uint64_t ahead_loan;       /**< a loan of task @ahead_task whose last change of the log is
	                            * not in the table work; 0: none was found */
	uint64_t ahead_task;       /**< see @ahead_loan */
	uint64_t reserved[1];      /**< for later versions: 0 */
};
#define LOCKQ_STATS_INIT { NULL, 0, "", NULL, 0, 0, 0, 0, { 0 } }

/**
 * lockq_stats:
 * @q:     a connected handle; its last error is replaced
 * @task:  task.task_id; 0: all tasks
 * @stats: cleared, then filled; the caller releases it with lockq_stats_clear()
 *
 * Reads what is going on: who leads, who waits, what is assigned, and how fast the last requests
 * and queries were. It counts no large table: it reads by indexes the rows of those who wait and of
 * what is assigned, and the last rows that leaders and takers have written. So it costs about the
 * same however large the tables are. The figures are of several statements, so they may differ by
 * what happens meanwhile. Who leads is a dirty read, see step 3 of lockq(7). Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when there is no task; LOCKQ_BUSY, see lockq_look_timeout();
 * LOCKQ_EREFUSED for an unknown task; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_stats(struct lockq *q, uint32_t task,
    struct lockq_stats *stats);

/**
 * lockq_stats_clear:
 * @stats: how tasks stand, or NULL
 *
 * Frees what @stats has and sets it to LOCKQ_STATS_INIT. Takes no lock.
 * Since: 0.4
 */
LOCKQ_EXPORT void lockq_stats_clear(struct lockq_stats *stats);

/** A leader of a task, and what came of it: a row of leader_run. A time that does not apply is "",
 * or -1 in milliseconds. */
struct lockq_run {
	uint64_t epoch;            /**< the leader's */
	char *user;                /**< who led */
	char how[32];              /**< where the loans came from: query, cache, hand-over …; or
	                            * failed */
	char as_of[27];            /**< the start of the query that found the loans */
	char started_at[27];       /**< when it began to lead */
	char ended_at[27];         /**< when it ended */
	uint64_t took_ms;          /**< the time between these */
	int64_t query_ms;          /**< what the heavy query took; -1: none ran */
	int64_t check_ms;          /**< what asking the view about some loans took */
	uint64_t candidates;       /**< loans that it found */
	uint64_t dropped;          /**< those that others had changed meanwhile */
	uint64_t requests;         /**< requests that it ended */
	uint64_t loans;            /**< loans that it gave */
	uint64_t left_pending;     /**< requests that it had nothing for: they lead next */
	uint64_t retries;          /**< transactions that it tried again */
	char *reason;              /**< why it failed, or did not run the query as usual; or NULL */
	uint64_t reserved[4];      /**< for later versions: 0 */
};

/** The last leaders of a task. */
struct lockq_runs {
	struct lockq_run *runs;    /**< the last one first */
	size_t n_runs;             /**< how many there are */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_RUNS_INIT { NULL, 0, { 0 } }

/**
 * lockq_runs:
 * @q:    a connected handle; its last error is replaced
 * @task: task.task_id
 * @most: how many are read at most
 * @runs: cleared, then filled; the caller releases it with lockq_runs_clear()
 *
 * Reads who led a task, and what came of it. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when nobody has led it, or all rows were purged; LOCKQ_BUSY, see
 * lockq_look_timeout(); LOCKQ_EREFUSED for an unknown task; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_runs(struct lockq *q, uint32_t task, uint32_t most,
    struct lockq_runs *runs);

/**
 * lockq_runs_clear:
 * @runs: the leaders of a task, or NULL
 *
 * Frees what @runs has and sets it to LOCKQ_RUNS_INIT. Takes no lock.
 * Since: 0.4
 */
LOCKQ_EXPORT void lockq_runs_clear(struct lockq_runs *runs);

/** A quarter of an hour, the step of lockq_day(), in seconds. */
#define LOCKQ_QUARTER_S 900

/** How many quarters of an hour the day of lockq_day() has. */
#define LOCKQ_QUARTERS 96

/** How many queries of each task lockq_day() reads at most. */
#define LOCKQ_DAY_QUERIES 1000

/** How long before the day of lockq_day() its requests may have been made, in seconds. */
#define LOCKQ_DAY_EARLIER_S 3600

/** What went on in a task in a quarter of an hour, or in the whole day. A time is -1 where there is
 * none to tell. */
struct lockq_quarter {
	uint64_t answers;          /**< requests that were served, were told that there is no work,
	                            * or failed */
	uint64_t answers_empty;    /**< of these, told that there is no work */
	uint64_t answers_failed;   /**< of these, failed */
	uint64_t answers_listed;   /**< of these, served from the kept list */
	uint64_t given_up;         /**< other requests: cancelled or expired */
	uint64_t loans_listed;     /**< loans that were given from the kept list */
	uint64_t loans_led;        /**< loans that leaders gave */
	int64_t wait_p50_ms;       /**< half of the answers were waited for no longer */
	int64_t wait_p95_ms;       /**< 95 of 100 were waited for no longer */
	int64_t wait_max_ms;       /**< the longest wait */
	int64_t list_age_s;        /**< how old the list was at most when loans were taken from it,
	                            * seconds since the start of its query */
	uint64_t queries;          /**< heavy queries that did not fail */
	uint64_t failures;         /**< leaders that failed, with those of refills */
	int64_t query_p50_ms;      /**< half of the queries took no longer */
	int64_t query_p95_ms;      /**< 95 of 100 took no longer */
	int64_t query_max_ms;      /**< the longest query */
	uint64_t spare;            /**< how many loans a query found at most beyond those that its
	                            * leader gave: what a kept list begins with */
	uint64_t refills;          /**< leaders that only filled the list, with those that failed */
	uint64_t refill_failures;  /**< those that failed */
	uint64_t completed;        /**< loans that were completed */
	uint64_t returned;         /**< loans that were returned */
	uint64_t never;            /**< loans that are never to be offered again */
	uint64_t expired;          /**< leases that were found to have ended */
	uint64_t reserved[8];      /**< for later versions: 0 */
};

/** What a user did as a leader. */
struct lockq_day_leader {
	char *user;                /**< who led; "(refill)" filled the list */
	uint64_t led;              /**< how often */
	uint64_t led_ms;           /**< for how long altogether */
	uint64_t queries;          /**< heavy queries that did not fail */
	uint64_t failures;         /**< how often that failed */
	uint64_t loans;            /**< loans that this leader gave, to others as well */
	uint64_t retries;          /**< transactions that were tried again */
	uint64_t reserved[4];      /**< for later versions: 0 */
};

/** What a user made of loans. */
struct lockq_day_person {
	char *user;                /**< app_user.name; of a deleted user "#" and the number */
	uint64_t completed;        /**< loans that the user completed */
	uint64_t returned;         /**< loans that the user returned */
	uint64_t never;            /**< loans that are never to be offered again */
	uint64_t expired;          /**< loans whose lease ran out */
	uint64_t reserved[4];      /**< for later versions: 0 */
};

/** A heavy query, or a leader that failed. */
struct lockq_day_query {
	char ended_at[27];         /**< when the leader ended */
	uint64_t since_ms;         /**< the same, in milliseconds from the start of the day */
	uint64_t ms;               /**< what the query took; of a leader that had none, how long it
	                            * led */
	int failed;                /**< whether it failed */
	uint64_t candidates;       /**< loans that the query found */
	char *user;                /**< who led */
	char *reason;              /**< why it failed, or did not run as usual; or NULL */
	uint64_t reserved[4];      /**< for later versions: 0 */
};

/** A task on that day. */
struct lockq_day_task {
	uint32_t task;             /**< task.task_id */
	char *task_name;           /**< task.name */
	struct lockq_quarter *quarters; /**< LOCKQ_QUARTERS of them; NULL: nothing went on */
	struct lockq_quarter whole; /**< the same for the day */
	struct lockq_day_leader *leaders; /**< who led longest comes first */
	size_t n_leaders;          /**< how many there are */
	struct lockq_day_query *queries; /**< in their order; the last LOCKQ_DAY_QUERIES of them */
	size_t n_queries;          /**< how many there are */
	struct lockq_day_person *people; /**< who completed most comes first. Since: 0.5 */
	uint64_t n_people;         /**< how many there are */
	uint64_t reserved[2];      /**< for later versions: 0 */
};

/** The last day. */
struct lockq_day {
	struct lockq_day_task *tasks; /**< by number */
	size_t n_tasks;            /**< how many there are */
	char since[27];            /**< when the first quarter begins */
	char at[27];               /**< when the figures end, in the last quarter */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_DAY_INIT { NULL, 0, "", "", { 0 } }

/**
 * lockq_day:
 * @q:    a connected handle; its last error is replaced
 * @task: task.task_id; 0: all tasks
 * @day:  cleared, then filled; the caller releases it with lockq_day_clear()
 *
 * Reads what went on in the last 24 hours: how long requests waited, what queries took, who led,
 * how many loans were given, and what became of loans. The day ends with the quarter of an hour
 * that has begun. The call reads the rows of the day and hardly any others, however large the
 * tables are: it finds the first one by halves, since keys ascend nearly with time. So it leaves
 * out a request that was made more than LOCKQ_DAY_EARLIER_S seconds before the day, and a row whose
 * key is out of order by more than that. The figures are of several statements, all up to the same
 * moment. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when there is no task; LOCKQ_BUSY, see lockq_look_timeout();
 * LOCKQ_EREFUSED for an unknown task; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_day(struct lockq *q, uint32_t task, struct lockq_day *day);

/**
 * lockq_day_clear:
 * @day: a day, or NULL
 *
 * Frees what @day has and sets it to LOCKQ_DAY_INIT. Takes no lock.
 * Since: 0.4
 */
LOCKQ_EXPORT void lockq_day_clear(struct lockq_day *day);

/** What happened to a loan in a task: a row of work_log. A time that does not apply is "". */
struct lockq_event {
	char event[16];            /**< assigned, completed, returned, never, expired, renewed,
	                            * available */
	char at[27];               /**< when it happened */
	char *user;                /**< whose assignment it is or was; "#17": the user is no longer
	                            * in app_user */
	char *account;             /**< the MySQL account that asked for it; of an expired lease the
	                            * leader's, cron's or the late user's */
	uint64_t token;            /**< of the assignment */
	uint64_t version;          /**< of the loan's row of work after it, from 1; where a history
	                            * begins later, older rows were purged */
	uint64_t request_id;       /**< the request that got the loan */
	char available_at[27];     /**< when the loan is available again */
	char lease_expires_at[27]; /**< when the assignment ends, or has ended, by its lease */
	char excluded_until[27];   /**< until when the loan is not offered to this user */
	char *note;                /**< the note that the event records; or NULL */
	char *manager;             /**< who corrected the assignment, for the reason in @note; or
	                            * NULL */
	uint32_t task;             /**< task.task_id */
	uint64_t reserved[2];      /**< for later versions: 0 */
};

/** What happened to a loan. */
struct lockq_history {
	struct lockq_event *events; /**< the oldest first */
	size_t n_events;           /**< how many there are */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_HISTORY_INIT { NULL, 0, { 0 } }

/**
 * lockq_history:
 * @q:       a connected handle; its last error is replaced
 * @task:    task.task_id; 0: all tasks that there are, in the order of the events
 * @loan_id: the loan
 * @history: cleared, then filled; the caller releases it with lockq_history_clear()
 *
 * Reads from work_log what happened to a loan. Rows that were purged are missing at the start.
 * Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when the log has no row of it; LOCKQ_BUSY, see lockq_look_timeout();
 * LOCKQ_EREFUSED for an unknown task; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_history(struct lockq *q, uint32_t task, uint64_t loan_id,
    struct lockq_history *history);

/**
 * lockq_history_clear:
 * @history: a history or NULL
 *
 * Frees what @history has and sets it to LOCKQ_HISTORY_INIT. Takes no lock.
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_history_clear(struct lockq_history *history);

/* --- Following the changes --- */

/** The most characters of a cursor's name: letters, digits, dots, hyphens and underscores. */
#define LOCKQ_CURSOR_MAX 64

/** For how long lockq_follow() takes a missing number for one that may still come, where it can't
 * see who writes to work_log: 30 seconds. */
#define LOCKQ_FOLLOW_GAP_MS 30000

/** A change of state, as lockq_follow() delivers it: a row of work_log. */
struct lockq_change {
	uint64_t log_id;           /**< work_log.log_id: a repeated change has the same one */
	uint64_t loan_id;          /**< the loan */
	const struct lockq_event *event; /**< what happened */
	uint32_t task;             /**< task.task_id */
	uint64_t reserved[3];      /**< for later versions: 0 */
};

/**
 * lockq_change_fn:
 * @change: the next change, good until the function returns; NULL: this is the end of a batch
 * @data:   the pointer of lockq_follow.data
 *
 * Takes a change. A call with NULL ends a batch: it returns 0 when the changes since the last such
 * call are where they are safe, and only then they are acknowledged. Runs in the thread of the
 * call, in an open transaction, which the server ends if the function takes longer than 10 seconds:
 * then the batch is not acknowledged, and comes again. It must not use the same handle.
 *
 * Returns: 0 to go on. Anything else makes the call give up and return LOCKQ_CANCELLED, and the
 * batch is not acknowledged.
 * Since: 0.4
 */
typedef int lockq_change_fn(const struct lockq_change *change, void *data);

/** What lockq_follow() is to do. */
struct lockq_follow {
	const char *cursor;        /**< the name of the place in the log: up to LOCKQ_CURSOR_MAX
	                            * letters, digits, dots, hyphens and underscores */
	lockq_change_fn *deliver;  /**< takes the changes */
	void *data;                /**< for @deliver */
	uint32_t batch;            /**< the most changes of a batch, 1 to LOCKQ_BATCH_MAX, initially
	                            * 500; a batch also ends after a second */
	int from_now;              /**< not 0: a new cursor begins behind the newest change, else
	                            * before the oldest one that is kept */
	int until_now;             /**< not 0: the call ends when the changes are delivered that
	                            * were there at its start */
	int64_t gap_ms;            /**< as LOCKQ_FOLLOW_GAP_MS, in milliseconds; negative: that */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_FOLLOW_INIT { NULL, NULL, NULL, 500, 0, 0, -1, { 0 } }

/** What lockq_follow() did, as far as the server has confirmed it. */
struct lockq_followed {
	uint64_t changes;          /**< changes that were delivered and acknowledged */
	uint64_t position;         /**< log_id of the last one of them, or where the cursor was */
	int made;                  /**< 1: the cursor is new */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_FOLLOWED_INIT { 0, 0, 0, { 0 } }

/**
 * lockq_follow:
 * @q:        a connected handle of an account with the role lockq_follower; its last error is
 *            replaced
 * @what:     the cursor, and the function that takes the changes
 * @followed: set to LOCKQ_FOLLOWED_INIT, then filled on every return
 *
 * Delivers each change of state, as work_log has it, at least once, from the place of the cursor
 * on. A cursor that does not exist is made. A row of the log is written in the transaction of its
 * change, so nothing is left out, and nothing is delivered that did not happen. The changes come in
 * the order of log_id, so those of a loan come in the order of their versions. A change is held
 * back while one with a lower log_id may still be committed.
 *
 * A batch is delivered, then acknowledged: the cursor is moved behind it and the transaction is
 * committed. A process that ends before that leads to a repetition, never to a loss. Two processes
 * may follow one cursor, and share its changes: each batch goes to one of them, since the call
 * locks the cursor's row meanwhile, and passes over a row that another process has locked. While
 * there is nothing to deliver, the call holds no lock, and looks again after 50 ms, and then less
 * and less often, after a second at most.
 *
 * A lost connection is made again, for as long as it takes; the progress function is told, and ends
 * the call.
 *
 * Returns: 0 after @what->until_now; LOCKQ_CANCELLED when one of the two functions gave up;
 * LOCKQ_EUSAGE for a name, a batch or a time out of range; LOCKQ_EREFUSED when the cursor was
 * removed meanwhile; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_follow(struct lockq *q, const struct lockq_follow *what,
    struct lockq_followed *followed);

/** A place in the log up to which somebody has read the changes. */
struct lockq_cursor {
	char *cursor;              /**< its name */
	char *account;             /**< the MySQL account that made it */
	uint64_t position;         /**< the changes up to this log_id are acknowledged */
	uint64_t lag;              /**< how many numbers the newest change is further: about as many
	                            * changes are not acknowledged */
	int64_t age_s;             /**< seconds since the next change happened; negative: none */
	char made_at[27];          /**< when it was made */
	char moved_at[27];         /**< when changes were last acknowledged; or "" */
	uint64_t reserved[4];      /**< for later versions: 0 */
};

/** The places of all readers. */
struct lockq_cursors {
	struct lockq_cursor *cursors; /**< the one that is furthest behind first */
	size_t n_cursors;          /**< how many there are */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_CURSORS_INIT { NULL, 0, { 0 } }

/**
 * lockq_cursors:
 * @q:       a connected handle; its last error is replaced
 * @cursors: cleared, then filled; the caller releases it with lockq_cursors_clear()
 *
 * Reads how far each cursor of lockq_follow() has come. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when there is none; LOCKQ_BUSY, see lockq_look_timeout();
 * LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_cursors(struct lockq *q, struct lockq_cursors *cursors);

/**
 * lockq_cursors_clear:
 * @cursors: cursors or NULL
 *
 * Frees what @cursors has and sets it to LOCKQ_CURSORS_INIT. Takes no lock.
 * Since: 0.4
 */
LOCKQ_EXPORT void lockq_cursors_clear(struct lockq_cursors *cursors);

/**
 * lockq_drop_cursor:
 * @q:      a connected handle of an account with the role lockq_follower; its last error is
 *          replaced
 * @cursor: its name
 *
 * Removes a cursor, so that the log is kept for it no longer. A process that follows it ends. Locks
 * the cursor's row for a moment.
 *
 * Returns: 0; LOCKQ_EREFUSED where there is no such cursor; LOCKQ_BUSY when a process is delivering
 * from it for longer than a second; LOCKQ_EUSAGE for a name out of range; LOCKQ_EUNKNOWN when the
 * connection was lost meanwhile: make the same call again; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_drop_cursor(struct lockq *q, const char *cursor);

/* --- What a person may type --- */

/** What lockq_choices() reads. */
enum lockq_choice_kind {
	LOCKQ_CHOICE_USERS = 0, /**< app_user.name */
	LOCKQ_CHOICE_TASKS,     /**< task.task_id, with the task's name */
	LOCKQ_CHOICE_LOANS,     /**< loans that are assigned to a user in a task, with the token */
	LOCKQ_CHOICE_REQUESTS   /**< ids of pending requests, with the user and the task */
};

/** The most choices of one call. */
#define LOCKQ_CHOICES_MAX 1000

/** What a person may type. */
struct lockq_choice {
	char *value;               /**< the name or the number */
	char *about;               /**< what helps to choose it; or "" */
	uint64_t reserved[2];      /**< for later versions: 0 */
};

/** What a person may type, in order. */
struct lockq_choices {
	struct lockq_choice *choices; /**< at most LOCKQ_CHOICES_MAX */
	size_t n_choices;          /**< how many there are */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_CHOICES_INIT { NULL, 0, { 0 } }

/**
 * lockq_choices:
 * @q:       a connected handle; its last error is replaced
 * @kind:    what to read
 * @user:    with LOCKQ_CHOICE_LOANS: app_user.name; else not used
 * @task:    with LOCKQ_CHOICE_LOANS: task.task_id; else not used
 * @begins:  only values that begin with this text; NULL: all
 * @choices: cleared, then filled; the caller releases it with lockq_choices_clear()
 *
 * Reads what a person may type, for a shell that completes it. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when there is none, also for an unknown user or task; LOCKQ_EUSAGE for
 * an unknown kind, or loans of no user; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.2
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_choices(struct lockq *q, enum lockq_choice_kind kind,
    const char *user, uint32_t task, const char *begins, struct lockq_choices *choices);

/**
 * lockq_choices_clear:
 * @choices: choices or NULL
 *
 * Frees what @choices has and sets it to LOCKQ_CHOICES_INIT. Takes no lock.
 * Since: 0.2
 */
LOCKQ_EXPORT void lockq_choices_clear(struct lockq_choices *choices);

/* --- Saying what became of loans --- */

/** What a user says of an assignment. */
enum lockq_disposition_kind {
	LOCKQ_COMPLETE = 0, /**< the work is done */
	LOCKQ_RETURN,       /**< the loan is available again after return_after_s */
	LOCKQ_NEVER,        /**< the loan is never available again in this task */
	LOCKQ_RENEW         /**< the assignment goes on, and its lease begins anew */
};

/** A loan to dispose of. */
struct lockq_loan_ref {
	uint64_t loan_id;  /**< the number of the loan */
	uint64_t token;    /**< the assignment's; another one is refused; 0: not checked */
};

/** What to do with which loans. */
struct lockq_disposition {
	const char *user;                   /**< app_user.name */
	uint32_t task;                      /**< task.task_id */
	enum lockq_disposition_kind kind;   /**< what the user says of the loans */
	uint32_t return_after_s;            /**< to return: 0 to LOCKQ_RETURN_AFTER_MAX seconds */
	uint32_t not_me_s;                  /**< to return: seconds without an offer to this user,
	                                     * up to LOCKQ_NOT_ME_MAX; must be 0 otherwise */
	const char *note;                   /**< up to LOCKQ_NOTE_MAX characters; or NULL */
	const struct lockq_loan_ref *loans; /**< each loan once */
	size_t n_loans;                     /**< how many there are, 1 to LOCKQ_DISPOSE_MAX */
	int64_t timeout_ms;                 /**< longest wait in milliseconds for sessions that
	                                     * hold the loans, or for a server that is away,
	                                     * -1: LOCKQ_DISPOSE_TIMEOUT_MS */
	const char *uuid;                   /**< names the call, so that a repetition of it is
	                                     * known, in upper or lower case; or NULL */
	uint64_t reserved[3];               /**< for later versions: 0 */
};
#define LOCKQ_DISPOSITION_INIT { NULL, 0, LOCKQ_COMPLETE, 0, 0, NULL, NULL, 0, -1, NULL, { 0 } }

/** What became of one loan of a disposition. */
enum lockq_disposed {
	LOCKQ_DISPOSED = 0,      /**< done */
	LOCKQ_DISPOSED_ALREADY,  /**< this user did so before, or there is no lease to renew */
	LOCKQ_NOT_ASSIGNED,      /**< nobody holds it in this task */
	LOCKQ_NOT_YOURS,         /**< it is assigned to another user */
	LOCKQ_STALE_TOKEN,       /**< the loan has another token: it was assigned again since, to
	                          * the loan's holder */
	LOCKQ_LEASE_OVER,        /**< it was yours until its lease ran out: ask again. Said of
	                          * LOCKQ_NEVER, and of LOCKQ_RENEW in a task with
	                          * max_pipeline: the others may come late */
	LOCKQ_NOT_COMPLETED,     /**< the task's on_complete failed, see the loan's reason; of
	                          * LOCKQ_UNDO its on_undo */
	LOCKQ_NOT_ALLOWED        /**< on_complete refuses it, by SIGNAL '45000': see the reason */
};

/** What became of one loan, and how its row of work stands now, or stood after the first call. */
struct lockq_disposed_loan {
	uint64_t loan_id;          /**< the number of the loan */
	enum lockq_disposed what;  /**< what became of it */
	uint64_t token;            /**< of the row; 0: there is no row */
	char *holder;              /**< the user of the row; NULL: there is no row */
	char state[16];            /**< of the row; "": there is no row */
	char since[27];            /**< when the row came into that state */
	char available_at[27];     /**< when a returned or a held completed loan is available */
	char lease_expires_at[27]; /**< when the lease ends, or has ended the assignment */
	char excluded_until[27];   /**< returned now: until when it is not offered to this user */
	char *reason;              /**< LOCKQ_NOT_COMPLETED, LOCKQ_NOT_ALLOWED: one line why */
	int late;                  /**< 1: it was said after the end of the lease */
	int repeated;              /**< 1: an earlier call with this UUID did it, and this is its
	                            * answer: the members above are as that call left or met the
	                            * row */
	char *manager;             /**< refused: the manager who has brought the row into its
	                            * state, see lockq_correct(); NULL: it was the user, a leader
	                            * or time */
	uint64_t reserved[2];      /**< for later versions: 0 */
};

/** What became of the loans of a disposition. */
struct lockq_disposed_result {
	struct lockq_disposed_loan *loans; /**< in the order of lockq_disposition.loans */
	size_t n_loans;            /**< how many there are */
	int asked;                 /**< 1: lockq_dispose_and_ask() has asked for loans, too. Since:
	                            * 0.4 */
	uint64_t reserved[3];      /**< for later versions: 0 */
};
#define LOCKQ_DISPOSED_RESULT_INIT { NULL, 0, 0, { 0 } }

/**
 * lockq_dispose:
 * @q:           a connected handle; its last error is replaced
 * @disposition: what to do with which loans
 * @result:      cleared, then filled with one entry per loan, or left empty on an error that
 *               concerns no single loan; the caller releases it with lockq_disposed_clear()
 *
 * Disposes of loans, or renews their leases, in one transaction. A loan that is refused stays as it
 * was, and the others are done. If the task's on_complete ends the transaction, none of them is
 * done. The same call may be made again. A loan is completed or returned also after the end of its
 * lease, as long as it was not assigned again; where the task has no max_pipeline, its lease is
 * also renewed then.
 *
 * With a UUID, a call that was made before changes nothing and is answered as the first time,
 * whatever has become of the loans since. It has been made before if work_log has a row of one of
 * its loans with that UUID. So a call that wrote nothing, because it failed or all its loans were
 * refused or done before, was not. Of a loan that on_complete did not complete the reason is not
 * kept: it is LOCKQ_NOT_COMPLETED.
 *
 * Locks the loans' rows of work by primary key, in key order, from its first statement to its
 * COMMIT: a few short statements and the task's on_complete for each loan. It takes six round trips
 * on a connection that is there, however many loans there are, and one for each on_complete; late
 * work takes two more, and a UUID one.
 *
 * Returns: 0 when all are done; LOCKQ_BUSY when other sessions held what it needs for longer than
 * timeout_ms, and nothing was changed: lockq_error() says which loan is held; LOCKQ_EREFUSED when a
 * loan was refused, for an unknown user or task, or for a UUID of a call of another user, or with
 * other parameters; LOCKQ_EQUERY when the task's on_complete failed for a loan; LOCKQ_CANCELLED
 * when the progress function gave up before the COMMIT, and nothing was changed; LOCKQ_EUSAGE for
 * no user, no loan or too many, a loan named twice, a kind, time or note out of range, or a UUID
 * that is none; LOCKQ_EDATABASE; LOCKQ_EUNKNOWN: make the same call again; LOCKQ_ENOMEM.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_dispose(struct lockq *q,
    const struct lockq_disposition *disposition, struct lockq_disposed_result *result);

/**
 * lockq_disposed_clear:
 * @result: a result or NULL
 *
 * Frees what @result has and sets it to LOCKQ_DISPOSED_RESULT_INIT. Takes no lock.
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_disposed_clear(struct lockq_disposed_result *result);

/**
 * lockq_dispose_and_ask:
 * @q:           a connected handle; its last error is replaced
 * @disposition: what to do with which loans
 * @result:      as that of lockq_dispose(); its asked tells whether loans were asked for
 * @ask:         what to ask for then. Its timeout_ms counts from the start of the call
 * @answer:      as that of lockq_getwork()
 *
 * Disposes of loans, and if none of them is refused or fails, asks for the next ones. Where the
 * task that is asked keeps a list, and its first loans are free, they are given in the transaction
 * of the disposition: both are done, or neither is, and one_commit of @answer is 1. Else the
 * disposition is committed first, and then this call asks as lockq_getwork() does. If the
 * progress function gives up after the disposition, the call asks for nothing.
 *
 * Locks what lockq_dispose() locks. A loan of the list is locked within one CALL, which commits, so
 * no lock on it outlives the process. What is asked after the disposition locks what
 * lockq_getwork() does.
 *
 * Returns: what lockq_getwork() returns, if @result->asked is 1; else what lockq_dispose() does, or
 * LOCKQ_EUSAGE for an @ask that no task could allow. With LOCKQ_CANCELLED the disposition is done
 * if @result has its loans. With LOCKQ_EUNKNOWN from the disposition, the loans may have been
 * given, too, if @answer->uuid is not empty: lockq_request_look() tells by that one.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_dispose_and_ask(struct lockq *q,
    const struct lockq_disposition *disposition, struct lockq_disposed_result *result,
    const struct lockq_ask *ask, struct lockq_answer *answer);

/* --- For cron --- */

/** The most rows of one transaction of lockq_expire(), and the most changes of a batch of
 * lockq_follow(). */
#define LOCKQ_BATCH_MAX 10000

/** What lockq_expire() is to do. */
struct lockq_expire {
	uint32_t batch;          /**< the most rows of one transaction, 1 to LOCKQ_BATCH_MAX */
	uint64_t purge_after_s;  /**< delete rows that ended more seconds ago,
	                          * LOCKQ_PURGE_AFTER_MIN to LOCKQ_PURGE_AFTER_MAX; 0: none */
	uint64_t reserved[4];    /**< for later versions: 0 */
};
#define LOCKQ_EXPIRE_INIT { 500, 0, { 0 } }

/** The least lockq_expire.purge_after_s in seconds: 1 day. Younger rows are still needed: answers
 * and lost commits are looked up in them. */
#define LOCKQ_PURGE_AFTER_MIN 86400

/** The greatest lockq_expire.purge_after_s in seconds: 36500 days. */
#define LOCKQ_PURGE_AFTER_MAX 3153600000

/** What lockq_expire() did, as far as the server has confirmed it. If the connection was lost in a
 * COMMIT, that transaction may be done as well, but no run counts its rows. */
struct lockq_expired {
	int busy;                /**< 1: another run works on this database: nothing was done */
	uint64_t leases;         /**< assignments returned because their lease had run out */
	uint64_t available;      /**< loans noted in work_log as available again */
	uint64_t requests;       /**< requests expired because no process looked at them */
	uint64_t candidates;     /**< deleted rows of kept_loan, of lists from which nobody takes
	                          * any more */
	uint64_t exclusions;     /**< rows of work_exclusion deleted because they were over */
	uint64_t log_rows;       /**< purged rows of work_log */
	uint64_t old_requests;   /**< purged rows of work_requested */
	uint64_t runs;           /**< purged rows of leader_run */
	uint64_t skipped;        /**< rows left for the next run because others held them */
	uint64_t took_ms;        /**< milliseconds from the start of the call to its end */
	uint64_t kept_rows;      /**< old rows of work_log that were kept for @kept_for */
	const char *kept_for;    /**< the cursor that is furthest behind, where rows were kept; else
	                          * NULL. Good until the next call with the handle. Since: 0.4 */
	uint64_t busy_session;   /**< where @busy, the connection of the other run, as SHOW
	                          * PROCESSLIST has it; 0: it has just ended. Since: 0.5 */
	uint64_t reserved[1];    /**< for later versions: 0 */
};
#define LOCKQ_EXPIRED_INIT { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, { 0 } }

/**
 * lockq_expire:
 * @q:       a connected handle; its last error is replaced
 * @what:    how many rows one transaction has, and what to purge
 * @expired: set to LOCKQ_EXPIRED_INIT, then filled on every return: the rows it counts are
 *           committed
 *
 * Does what time has made due, for cron: returns assignments whose lease has run out, notes loans
 * that are available again, expires requests, deletes loans of kept lists that are not used any
 * more and exclusions that are over, and purges, see disposition(1). Rows of work_log that a cursor
 * of the change feed has not passed are kept, see lockq_follow(). Nothing depends on it having run.
 * The transactions that it has committed stay, so a caller may end it at any point and run it
 * again. A lost connection ends the call, lockq_error() says how many rows were done, and the next
 * run does the rest.
 *
 * Holds a name (GET_LOCK) while it runs, so one run at a time works on a database of a server. A
 * run that is to purge waits up to a minute for that name, any other run does not wait. Each
 * transaction locks up to @what->batch rows by primary key for a few short statements and passes
 * over rows that others hold. For requests it first locks the task's row of task_lock, takes 500
 * rows at most, and passes over a task that somebody leads.
 *
 * Returns: 0, also when another run is at work; LOCKQ_CANCELLED when the progress function gave up;
 * LOCKQ_EUSAGE for a batch or a time out of range; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_expire(struct lockq *q, const struct lockq_expire *what,
    struct lockq_expired *expired);

/* --- For managers --- */

/** A column of a task's row, by its name in lockq-schema(5), and its value as text. Both stay the
 * caller's, or the result's. */
struct lockq_setting {
	const char *name;          /**< of the column */
	const char *value;         /**< a number, "yes" or "no", a name or a text; NULL: SQL NULL */
};

/** The bytes of a task's noun in UTF-8, with its NUL. */
#define LOCKQ_NOUN_SIZE 129

/**
 * lockq_noun:
 * @q:    a connected handle; its last error stays
 * @task: task.task_id
 * @noun: set to what the people of the task call a loan: "ticket", or with its plural
 *        "entry/entries"; "loan" where the task says nothing, and where that can't be read
 *
 * Reads task.noun, for lines that people read. Takes no lock.
 * Since: 0.4
 */
LOCKQ_EXPORT void lockq_noun(struct lockq *q, uint32_t task, char noun[LOCKQ_NOUN_SIZE]);

/** A task as its manager has defined it. */
struct lockq_definition {
	uint32_t task;             /**< task.task_id */
	struct lockq_setting *settings; /**< all columns that a manager sets, in their order */
	size_t n_settings;         /**< how many there are */
	char *paused;              /**< why no loans are given for now; NULL: they are */
	char *paused_by;           /**< the manager who said so; or NULL */
	char paused_at[27];        /**< when; or "" */
	uint64_t urgent;           /**< urgent loans that wait to be given */
	uint64_t reserved[3];      /**< for later versions: 0 */
};

/** Tasks as their managers have defined them. */
struct lockq_definitions {
	struct lockq_definition *tasks; /**< by number */
	size_t n_tasks;            /**< how many there are */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_DEFINITIONS_INIT { NULL, 0, { 0 } }

/**
 * lockq_definitions:
 * @q:     a connected handle; its last error is replaced
 * @task:  a task.task_id; 0: all tasks
 * @tasks: cleared, then filled; the caller releases it with lockq_definitions_clear()
 *
 * Reads how tasks are defined. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when there is no task; LOCKQ_BUSY, see lockq_look_timeout();
 * LOCKQ_EREFUSED for an unknown task; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_definitions(struct lockq *q, uint32_t task,
    struct lockq_definitions *tasks);

/**
 * lockq_definitions_clear:
 * @tasks: tasks or NULL
 *
 * Frees what @tasks has and sets it to LOCKQ_DEFINITIONS_INIT. Takes no lock.
 * Since: 0.4
 */
LOCKQ_EXPORT void lockq_definitions_clear(struct lockq_definitions *tasks);

/** How a manager makes a task, or changes one. */
struct lockq_define {
	const char *manager;       /**< the name of the manager who does it; not NULL */
	uint32_t task;             /**< task.task_id; with @adds 0: the next number that no task
	                            * ever had */
	int adds;                  /**< 1: makes the task, 0: changes it; a new one needs the
	                            * settings "name" and "candidates_view" */
	const struct lockq_setting *settings; /**< what is set, each column once; a column that is
	                            * not named stays, or has the value of a new row */
	size_t n_settings;         /**< how many there are */
	const char *reason;        /**< why, up to LOCKQ_NOTE_MAX characters; or NULL */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_DEFINE_INIT { NULL, 0, 0, NULL, 0, NULL, { 0 } }

/**
 * lockq_define:
 * @q:    a connected handle of an account with the role lockq_manager; its last error is replaced
 * @what: the task, and its settings
 * @task: set to the task's number; NULL: not wanted
 *
 * Makes a task, or changes one, and notes that in manage_log with the manager's name, the account
 * and the true time. Beside the columns of lockq_definition.settings there is "paused": a text
 * pauses the task, NULL lets it go on. A process that leads the task goes on with the task as it
 * was, and gives what its query has found. Locks the task's row of the table task for a few short
 * statements, and waits for no query.
 *
 * Returns: 0; LOCKQ_EREFUSED for an unknown task, a number that a task has, or that a removed one
 * had whose loans are still in the log, or a manager who is bound to another account; LOCKQ_EUSAGE
 * for no manager, or a setting that is unknown or out of range; LOCKQ_BUSY when another session
 * holds the row; LOCKQ_EUNKNOWN when the connection was lost meanwhile: look with
 * lockq_definitions(); LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_define(struct lockq *q, const struct lockq_define *what,
    uint32_t *task);

/**
 * lockq_remove_task:
 * @q:       a connected handle of an account with the role lockq_manager; its last error is
 *           replaced
 * @manager: the name of the manager who does it
 * @task:    task.task_id
 * @reason:  why, up to LOCKQ_NOTE_MAX characters; or NULL
 *
 * Removes a task on which nobody works, with its rows of work, its requests and its list, in
 * batches. It disables the task first and cancels its pending requests. The history in work_log and
 * leader_run stays, and its number is not used again while it does. Locks rows of the task only,
 * and the task's row of task_lock for a moment.
 *
 * Returns: 0; LOCKQ_BUSY when a process leads the task, or requests of it have ended within the
 * last minute, so that programs may still read how: try again; LOCKQ_EREFUSED when loans of it are
 * assigned, for an unknown task, or a manager who is bound to another account; LOCKQ_EUSAGE for no
 * manager; LOCKQ_CANCELLED when the progress function gave up: the same call goes on;
 * LOCKQ_EUNKNOWN when the connection was lost: the same call goes on; LOCKQ_EDATABASE;
 * LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_remove_task(struct lockq *q, const char *manager,
    uint32_t task, const char *reason);

/** A person who may ask for work. */
struct lockq_person {
	char *user;                /**< app_user.name */
	char *account;             /**< the only MySQL account that may ask; NULL: any may */
	int enabled;               /**< 0: may not ask for work */
	char created_at[27];       /**< when the row was made */
	uint64_t held;             /**< loans that the user has, of all tasks, without those whose
	                            * lease has run out */
	uint64_t pending;          /**< pending requests of the user */
	uint64_t reserved[4];      /**< for later versions: 0 */
};

/** The people. */
struct lockq_people {
	struct lockq_person *people; /**< by name */
	size_t n_people;           /**< how many there are */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_PEOPLE_INIT { NULL, 0, { 0 } }

/**
 * lockq_people:
 * @q:      a connected handle; its last error is replaced
 * @people: cleared, then filled; the caller releases it with lockq_people_clear()
 *
 * Reads who may ask for work. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING when there is nobody; LOCKQ_BUSY, see lockq_look_timeout();
 * LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_people(struct lockq *q, struct lockq_people *people);

/**
 * lockq_people_clear:
 * @people: people or NULL
 *
 * Frees what @people has and sets it to LOCKQ_PEOPLE_INIT. Takes no lock.
 * Since: 0.4
 */
LOCKQ_EXPORT void lockq_people_clear(struct lockq_people *people);

/** What a manager does to a person. */
enum lockq_person_change {
	LOCKQ_PERSON_ADD = 0, /**< makes the person known */
	LOCKQ_PERSON_BIND,    /**< sets the only MySQL account that may ask for the person */
	LOCKQ_PERSON_DISABLE, /**< the person may not ask, and what is pending is cancelled */
	LOCKQ_PERSON_ENABLE,  /**< the person may ask again */
	LOCKQ_PERSON_REMOVE   /**< a person who has never asked is forgotten */
};

/**
 * lockq_change_person:
 * @q:       a connected handle of an account with the role lockq_manager; its last error is
 *           replaced
 * @manager: the name of the manager who does it
 * @user:    app_user.name, 1 to 64 characters; to be added, a name without blanks at its ends, two
 *           in a row, or characters that can't be seen
 * @what:    what is done
 * @account: LOCKQ_PERSON_ADD, LOCKQ_PERSON_BIND: the login name of a MySQL account; NULL: any
 * @reason:  why, up to LOCKQ_NOTE_MAX characters; or NULL
 *
 * Changes a person, and notes that in manage_log. A person who is disabled keeps the loans that are
 * assigned, and may dispose of them. Locks the person's row of app_user, and to disable the rows of
 * the pending requests, for a few short statements.
 *
 * Returns: 0, also where it was so before; LOCKQ_EREFUSED for an unknown person, to add one who is
 * there, to remove one who has asked for work, for an @account that isn't there, as far as the
 * owner of lockq's database can tell, or for a manager who is bound to another account;
 * LOCKQ_EUSAGE for no manager, no user, a name, an account or a reason that is too long, or a new
 * name that could be taken for another;
 * LOCKQ_BUSY when another session holds the rows; LOCKQ_EUNKNOWN when the connection was lost
 * meanwhile; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_change_person(struct lockq *q, const char *manager,
    const char *user, enum lockq_person_change what, const char *account, const char *reason);

/** How a manager corrects assignments. */
enum lockq_correction_kind {
	LOCKQ_RELEASE = 0, /**< the loan is available at once; its user has it no longer */
	LOCKQ_REASSIGN,    /**< another user has the loan now, with a new token and a new lease */
	LOCKQ_UNDO,        /**< the loan's last disposition, or release, is taken back: its user has
	                    * it again, with a new token and a new lease */
	LOCKQ_URGENT,      /**< the loan is offered before all others, until somebody gets it, for 7
	                    * days at most */
	LOCKQ_NOT_URGENT   /**< that is taken back: the loan comes in its turn */
};

/** Which assignments a manager corrects. */
struct lockq_correction {
	const char *manager;                /**< the name of the manager who does it */
	uint32_t task;                      /**< task.task_id */
	enum lockq_correction_kind kind;    /**< what is done */
	const char *from;                   /**< to reassign: who has the loans, to release: the
	                                     * same, or NULL for whoever has, else NULL */
	const char *to;                     /**< to reassign: who is to get the loans; or NULL */
	const char *reason;                 /**< why, 1 to LOCKQ_NOTE_MAX characters; of
	                                     * LOCKQ_NOT_URGENT it may be NULL */
	const struct lockq_loan_ref *loans; /**< each loan once; a token is that of the assignment
	                                     * that is released, reassigned or was disposed of */
	size_t n_loans;                     /**< how many there are, 1 to LOCKQ_DISPOSE_MAX */
	uint64_t reserved[4];               /**< for later versions: 0 */
};
#define LOCKQ_CORRECTION_INIT { NULL, 0, LOCKQ_RELEASE, NULL, NULL, NULL, NULL, 0, { 0 } }

/**
 * lockq_correct:
 * @q:          a connected handle of an account with the role lockq_manager; its last error is
 *              replaced
 * @correction: what to do with which loans
 * @result:     cleared, then filled with one entry per loan, or left empty on an error that
 *              concerns no single loan; the caller releases it with lockq_disposed_clear()
 *
 * Corrects assignments, in one transaction. work_log has each correction as the event that it is,
 * with the manager's name beside the user's, and the reason as the note. A loan that is refused
 * stays as it was, and the others are done. What a user, a lease's end or another manager has done
 * to a loan before stands, and the loan's entry tells how it is now. A second call that says the
 * same finds it done already, as long as nothing else has come after it.
 *
 * A loan that somebody else has than @correction->from is LOCKQ_NOT_YOURS, and so is one that is to
 * be given back and that somebody has. LOCKQ_LEASE_OVER is said of a loan whose assignment time has
 * ended: it is available, and nobody has disposed of it.
 *
 * A loan that is reassigned or given back goes to a user under a request of its own, which is
 * served at once. It counts as one of the task's max_pipeline; the loans that have room are those
 * with the smallest numbers. A user who is disabled, or who has returned the loan with not_me_s,
 * gets none.
 *
 * A disposition can be taken back until somebody has the loan again. One that has completed the
 * loan may have changed other data, by the task's on_complete. It is taken back if the task has no
 * on_complete, or if it has an on_undo. That procedure is then called, with the rights of this
 * connection's account and by the rules of on_complete; a loan for which it fails is
 * LOCKQ_NOT_COMPLETED, or LOCKQ_NOT_ALLOWED where it refuses by SIGNAL '45000'. What the user has
 * said by not_me_s is taken back, too.
 *
 * LOCKQ_URGENT and LOCKQ_NOT_URGENT change no assignment; manage_log has them, and work_log does
 * not. A token is not looked at. An urgent loan is given only if the task's view shows it. One that
 * somebody has is LOCKQ_NOT_YOURS, one that is never to be offered is LOCKQ_NOT_ALLOWED. In a kept
 * list a loan that is not urgent any more stands at the end, until there is a new list.
 *
 * Locks the rows of pipeline_lock of the users who get loans, then the loans' rows of work by
 * primary key, in key order, until its COMMIT. An undo does that for a few round trips and the
 * task's on_undo for each loan, the others within one CALL.
 *
 * Returns: 0 when all are done; LOCKQ_BUSY when another session holds what it needs, and nothing
 * was changed; LOCKQ_EREFUSED when a loan was refused, for an unknown user or task, for a user who
 * is disabled, or a manager who is bound to another account; LOCKQ_EQUERY when on_undo failed for a
 * loan; LOCKQ_EUSAGE for no manager, no reason, no loan or too many, a loan named twice, or users
 * that don't fit the kind; LOCKQ_EUNKNOWN when the connection was lost meanwhile: make the same
 * call again; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_correct(struct lockq *q,
    const struct lockq_correction *correction, struct lockq_disposed_result *result);

/**
 * lockq_cancel_for:
 * @q:       a connected handle of an account with the role lockq_manager; its last error is
 *           replaced
 * @manager: the name of the manager who does it
 * @request: the request of any user, by its id in digits or its UUID
 * @reason:  why, 1 to LOCKQ_NOTE_MAX characters; the user is told it
 * @answer:  cleared, then filled with how the request stands, unless it is unknown; the caller
 *           releases it with lockq_answer_clear()
 *
 * Cancels a pending request of somebody else, and notes that in manage_log. A process that waits
 * for it ends with the reason. Locks the request's row for a few short statements, and waits for a
 * leader that is serving it.
 *
 * Returns: 0 when it is cancelled, also when this manager has done that before; LOCKQ_EREFUSED when
 * it had ended before, for an unknown request or a manager who is bound to another account;
 * LOCKQ_EUSAGE for no manager, no request or no reason; LOCKQ_BUSY when another session holds the
 * row; LOCKQ_EUNKNOWN when the connection was lost meanwhile: make the same call again;
 * LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_cancel_for(struct lockq *q, const char *manager,
    const char *request, const char *reason, struct lockq_answer *answer);

/**
 * lockq_forget_person:
 * @q:       a connected handle of an account with the role lockq_eraser; its last error is
 *           replaced
 * @manager: the name of the manager who does it
 * @user:    app_user.name
 * @dry_run: 1: only counts the rows
 * @reason:  why, up to LOCKQ_NOTE_MAX characters; or NULL
 * @rows:    set to the number of requests and rows of the log that name the user's account
 *
 * Takes a person out of the history. The name, and the MySQL account in the person's own rows,
 * become a pseudonym, such as "forgotten-17", in app_user, work_requested, work_log, leader_run,
 * manage_log and task, and the person may not ask any more. The account stays in rows about others,
 * and the caller's account stays everywhere. Figures and history stay, since rows name the user by
 * a number. What people wrote into notes and reasons stays, and so does what backups and the binary
 * log have. It disables the person first. It reads the whole log and all requests, some rows at a
 * time, and locks those that it changes for a short statement.
 *
 * Returns: 0; LOCKQ_EREFUSED for an unknown person, one who has loans or pending requests, one who
 * has the manager's name or the caller's account, or for a manager who is bound to another account;
 * LOCKQ_EUSAGE for no manager or no user; LOCKQ_BUSY when another session holds the rows, or a
 * process of the person leads a task; LOCKQ_CANCELLED when the progress function gave up: the same
 * call goes on; LOCKQ_EUNKNOWN when the connection was lost: the same call goes on;
 * LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_forget_person(struct lockq *q, const char *manager,
    const char *user, int dry_run, const char *reason, uint64_t *rows);

/** How much a finding of lockq_check_task() matters. */
enum lockq_severity {
	LOCKQ_FAULT = 0,      /**< the task, or a part of it, does not work */
	LOCKQ_WARNING,        /**< it works, but not as people expect */
	LOCKQ_NOTE            /**< a fact; nothing needs to be mended */
};

/** One thing that lockq_check_task() has found. */
struct lockq_finding {
	enum lockq_severity severity; /**< how much it matters */
	int is_grant;              /**< 1: a right is missing, and @mend is the GRANT */
	char code[32];             /**< a word for programs, "no_loan_id": managetask(1) has all */
	char about[32];            /**< the column of the table task that it concerns, "check_view",
	                            * or "lockq" for lockq's own tables */
	char *text;                /**< one line that names the thing and says what is wrong */
	char *mend;                /**< one line of SQL, or a command of managetask; or NULL */
	uint64_t reserved[4];      /**< for later versions: 0 */
};

/** What lockq_check_task() has found. */
struct lockq_findings {
	struct lockq_finding *findings; /**< faults first, then warnings, then notes */
	size_t n_findings;         /**< how many there are */
	size_t n_faults;           /**< how many of them are faults */
	size_t n_warnings;         /**< how many of them are warnings */
	char *name;                /**< of the task */
	int64_t query_ms;          /**< milliseconds of the query; < 0: it was not run to its end */
	uint64_t rows;             /**< rows that it found, of loans that may be given now */
	uint64_t loans;            /**< how many loans these are */
	int complete;              /**< 0: candidate_limit has cut the query off */
	int pushed_down;           /**< 1: a check reads only rows of the loans that it asks about,
	                            * 0: it reads nearly the whole view, < 0: not known */
	int64_t rows_read;         /**< rows that the server read for the query; < 0: not known */
	int64_t check_rows_read;   /**< rows that it read to check some loans; < 0: not known */
	int64_t check_ms;          /**< milliseconds of that check; < 0: not made, or it failed */
	uint64_t reserved[4];      /**< for later versions: 0 */
};
#define LOCKQ_FINDINGS_INIT { NULL, 0, 0, 0, NULL, -1, 0, 0, 0, -1, -1, -1, -1, { 0 } }

/** What lockq_check_task() is to check. */
struct lockq_check {
	uint32_t task;             /**< task.task_id; 0: a task that is to be made of @settings */
	int quick;                 /**< 1: the query is not run */
	const struct lockq_setting *settings; /**< take the place of those of the task's row. With a
	                            * @task, a fault that does not concern them is a warning, and
	                            * a warning a note */
	size_t n_settings;         /**< how many there are */
	const char *manager;       /**< who notes that the task is well; NULL: nothing is noted.
	                            * Since: 0.5 */
	uint64_t reserved[3];      /**< for later versions: 0 */
};
#define LOCKQ_CHECK_INIT { 0, 0, NULL, 0, NULL, { 0 } }

/**
 * lockq_check_task:
 * @q:        a connected handle of an account with the role lockq_manager; its last error is
 *            replaced
 * @what:     the task, and how it is to be checked
 * @findings: cleared, then filled; the caller releases it with lockq_findings_clear()
 *
 * Tells whether a task works: its views and their columns, its procedure, the rights of each role,
 * its limits, and the plans of lockq's own statements. Unless @what->quick is 1 it also runs the
 * task's query once as a leader does, within max_query_s, on the connection of lockq_query_at() if
 * there is one. It judges the rows, and asks about some of these loans as it is done before a kept
 * loan is given. What the account may not see is told by a note.
 *
 * Changes nothing, takes no lock of the task and waits for no leader, but for @what->manager. The
 * progress function is called while the query runs, and it can end it.
 *
 * Where @what->manager is named, it locks rows of task_lock for a moment, as lockq_stats() does. If
 * the last leader failed, or the list could not be filled, and the check has run the query and
 * finds no fault, it notes that in manage_log and task_refill. Then that failure no longer counts
 * in lockq_stat.failures_in_a_row and refill_failures. A note among @findings says so, or why it
 * could not be noted.
 *
 * Returns: 0, whatever was found; LOCKQ_EREFUSED for an unknown task; LOCKQ_EUSAGE for a setting
 * that is unknown or out of range, or a new task without a name or a view; LOCKQ_BUSY, see
 * lockq_look_timeout(); LOCKQ_CANCELLED when the progress function gave up: @findings has what was
 * found until then; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_check_task(struct lockq *q, const struct lockq_check *what,
    struct lockq_findings *findings);

/**
 * lockq_grant:
 * @q:        a connected handle of an account that may grant these rights; its last error is
 *            replaced
 * @findings: what lockq_check_task() has found
 * @n:        set to how many rights were granted; NULL: not wanted
 *
 * Grants the rights that are missing, in the order of @findings, and ends at the first that can't
 * be granted. Those before it stay.
 *
 * Returns: 0, also where none is missing; LOCKQ_EREFUSED where the account may not grant one;
 * LOCKQ_BUSY when another session has locked a table; LOCKQ_EDATABASE; LOCKQ_ENOMEM.
 * Since: 0.4
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_grant(struct lockq *q,
    const struct lockq_findings *findings, size_t *n);

/**
 * lockq_findings_clear:
 * @findings: findings or NULL
 *
 * Frees what @findings has and sets it to LOCKQ_FINDINGS_INIT. Takes no lock.
 * Since: 0.4
 */
LOCKQ_EXPORT void lockq_findings_clear(struct lockq_findings *findings);

#ifdef __cplusplus
}
#endif

#endif
