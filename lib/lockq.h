/* SPDX-License-Identifier: MIT */
/**
 * lockq: ask one MySQL database for the next piece of work.
 *
 * Many people on many machines ask for loans of a task. Finding them takes a heavy query; one
 * process leads and runs it once, everybody who asked meanwhile is served from its result. The
 * algorithm is in lockq(7), this interface in lockq(3).
 *
 * Conventions: the out-parameter or the handle comes first. A function returns 0 when it is done, a
 * positive value for an expected answer, a negative one for an error; lockq_error() then has one
 * line for people. A handle serves one thread at a time; several handles in several threads are
 * fine after lockq_library_init(). The library never prints, exits or installs signal handlers;
 * libmysqlclient, not lockq, reads option files.
 * Times are the server's, text of the form "2026-11-20 13:50:01.123456", UTC.
 */
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

/** Version of this header; lockq_version() has the library's. */
#define LOCKQ_VERSION "0.1.0"

/** The schema that this library works with; scripts/migrate brings a database there. */
#define LOCKQ_SCHEMA 5

/** No task may allow more loans than this for one request. */
#define LOCKQ_COUNT_MAX 1000

/** A loan may be returned for 0 to this many seconds (72 hours). */
#define LOCKQ_RETURN_AFTER_MAX 259200

/** And not be offered to the same user for up to this many seconds (366 days). */
#define LOCKQ_NOT_ME_MAX 31622400

/** What functions return. */
enum lockq_rc {
	LOCKQ_OK = 0,
	LOCKQ_NOTHING = 1,     /**< no work available; an empty pipeline */
	LOCKQ_BUSY = 2,        /**< still pending, cancelled on timeout, or expired: try again */
	LOCKQ_CANCELLED = 3,   /**< the progress function gave up; the request is cancelled */
	LOCKQ_EUSAGE = -1,     /**< a parameter is out of the range that any task could allow */
	LOCKQ_EREFUSED = -2,   /**< unknown user or task, task disabled, not your loan … */
	LOCKQ_EDATABASE = -3,  /**< the database can't be reached or refused a statement */
	LOCKQ_EQUERY = -4,     /**< the task's heavy query failed: the view or its time limit */
	LOCKQ_EUNKNOWN = -5,   /**< lost at commit and could not be resolved: outcome unknown */
	LOCKQ_ENOMEM = -6      /**< out of memory */
};

/** How a request stands; the words are those of work_requested.outcome. */
enum lockq_status {
	LOCKQ_PENDING = 0,
	LOCKQ_SERVED,            /**< got all it asked for */
	LOCKQ_PARTIAL,           /**< got some; the list had no more: ask again for the rest */
	LOCKQ_EMPTY,             /**< the task has no work, as of lockq_answer.as_of */
	LOCKQ_STATUS_CANCELLED,
	LOCKQ_EXPIRED,           /**< nobody looked after it for the task's request_ttl */
	LOCKQ_FAILED,            /**< the heavy query failed; lockq_answer.reason says why */
	LOCKQ_REFUSED,
	LOCKQ_STATUS_UNKNOWN     /**< see LOCKQ_EUNKNOWN */
};

/** An open connection to the queue; opaque. */
struct lockq;

/** Where the database is. NULL or 0 leaves a field to the option file, or to the client library. */
struct lockq_connection {
	const char *program;        /**< shown to operators as program_name; NULL: "liblockq" */
	const char *defaults_file;  /**< option file; NULL: the usual ones, as the mysql client */
	const char *defaults_group; /**< its group beside [client]; NULL: "lockq" */
	const char *host;
	unsigned int port;
	const char *socket;
	const char *user;           /**< database account */
	const char *password;       /**< never takes part in a message */
	const char *database;       /**< NULL: the option file's, else "lockq" */
	const char *ssl_mode;       /**< DISABLED … VERIFY_IDENTITY; NULL: PREFERRED */
};
#define LOCKQ_CONNECTION_INIT { NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL }

/** What a call is doing, for a line that ticks. */
enum lockq_phase {
	LOCKQ_PHASE_QUERY,      /**< this process leads: its heavy query runs */
	LOCKQ_PHASE_WAIT,       /**< another process leads */
	LOCKQ_PHASE_RETRY,      /**< the database refused for the moment; trying again */
	LOCKQ_PHASE_CANCEL,     /**< the same while the request is being cancelled */
	LOCKQ_PHASE_EXPIRE      /**< lockq_expire() is at work */
};
struct lockq_progress {
	enum lockq_phase phase;
	uint64_t phase_ms;      /**< since this process began the phase */
	const char *leader;     /**< who leads; NULL where that is not known */
	uint64_t leader_ms;     /**< since the leader began, by the server's clock */
	uint64_t usual_ms;      /**< median of the task's last queries; 0 where there are none */
	uint64_t joined_request; /**< the user's earlier request that this call has joined; or 0 */
	uint32_t joined_asked;  /**< … and how many loans that one asks for */
	const char *detail;     /**< when something is tried again: what happened; else NULL */
	uint64_t rows;          /**< that lockq_expire() has changed or deleted so far */
};

/**
 * Called about four times a second while a call waits. Return 0 to go on, anything else to give
 * up: the call then ends with LOCKQ_CANCELLED. It must not call into the same handle.
 */
typedef int lockq_progress_fn(const struct lockq_progress *progress, void *data);

/**
 * lockq_version:
 *
 * Returns: the library's version, "0.1.0". Static.
 * Since: 0.1
 */
LOCKQ_EXPORT const char *lockq_version(void);

/**
 * lockq_library_init:
 *
 * Prepares the client library. A program with threads calls it once before it starts them; others
 * need not call it.
 *
 * Returns: 0, or LOCKQ_EDATABASE.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_library_init(void);

/**
 * lockq_new:
 * @q: receives a handle that is not connected yet; release it with lockq_free()
 *
 * Returns: 0, or LOCKQ_ENOMEM.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_new(struct lockq **q);

/**
 * lockq_free:
 * @q: a handle or NULL
 *
 * Closes the connections and releases the handle. Takes no lock and waits for nothing.
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_free(struct lockq *q);

/**
 * lockq_connect:
 * @q:          a handle that is not connected
 * @connection: where; copied
 *
 * Connects, pins the session's settings and checks server and schema: MySQL 8.0.19 or later, not
 * MariaDB, and the schema version LOCKQ_SCHEMA. Takes no lock.
 *
 * Returns: 0; LOCKQ_EDATABASE with the reason in lockq_error().
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_connect(struct lockq *q,
    const struct lockq_connection *connection);

/**
 * lockq_query_at:
 * @q:          a handle
 * @connection: where heavy queries run instead, copied: what is NULL or 0 in it is as
 *              lockq_connect() was told; NULL: where everything else runs
 *
 * Lets heavy queries run with another account or on a replica. What a replica finds is a hint: each
 * loan is checked on the primary before it is given, "no work" is never said from a replica's list,
 * and where most of the list is out of date, or the replica can't be reached, the query runs on the
 * primary, which leader_run.reason then says. Connects when it is needed. Takes no lock.
 *
 * Returns: 0, or LOCKQ_ENOMEM.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_query_at(struct lockq *q,
    const struct lockq_connection *connection);

/**
 * lockq_error:
 * @q: a handle
 *
 * Returns: one line about the handle's last error, "" where there was none. Text from the database
 * is in it as it came: escape it before a terminal. Valid until the next call with @q.
 * Since: 0.1
 */
LOCKQ_EXPORT const char *lockq_error(const struct lockq *q);

/**
 * lockq_on_progress:
 * @q:    a handle
 * @fn:   called while a call waits, or NULL for none
 * @data: handed to @fn
 *
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_on_progress(struct lockq *q, lockq_progress_fn *fn, void *data);

/**
 * lockq_status_name:
 *
 * Returns: the word for @status as in work_requested.outcome, "unknown" for the last. Static.
 * Since: 0.1
 */
LOCKQ_EXPORT const char *lockq_status_name(enum lockq_status status);

/** How a request waits while another process leads. */
enum lockq_wait {
	LOCKQ_WAIT_BLOCKING = 0, /**< on a row: wakes milliseconds after the commit */
	LOCKQ_WAIT_POLL,         /**< disconnects between looks: for more people than connections */
	LOCKQ_WAIT_NONE          /**< leads where nobody does, else leaves the request pending */
};

/** What to ask for. */
struct lockq_ask {
	const char *user;       /**< app_user.name */
	uint32_t task;          /**< task.task_id */
	uint32_t count;         /**< loans, 1 to the task's max_count */
	enum lockq_wait wait;
	int64_t timeout_ms;     /**< bounds waiting, not leading; negative: none */
	const uint32_t *poll_s; /**< for LOCKQ_WAIT_POLL: gaps in seconds, the last one repeats */
	size_t n_poll;
};
#define LOCKQ_ASK_INIT { NULL, 0, 1, LOCKQ_WAIT_BLOCKING, -1, NULL, 0 }

/** A loan that an answer gives. */
struct lockq_loan {
	uint64_t loan_id;
	uint64_t token;           /**< fencing token: the epoch that assigned it */
	char lease_expires_at[27]; /**< "" where the task has no lease */
};

/** How a request ended, or stands. */
struct lockq_answer {
	uint64_t request_id;     /**< 0: nothing was recorded */
	char uuid[37];
	char *user;
	uint32_t task;
	char *task_name;
	uint32_t asked;
	uint32_t requested;      /**< lowered to what was left when the task ran out */
	uint32_t assigned;
	enum lockq_status status;
	int led;                 /**< this call led and served the request itself */
	int joined;              /**< an earlier pending request of the user was joined */
	int nobody_leads;        /**< pending, and it was seen that nobody leads */
	uint64_t epoch;          /**< of the leader that ended it; 0 while pending */
	char *leader;            /**< who led; while pending, who leads, or NULL */
	uint64_t waited_ms;      /**< from this call's start to its end */
	int64_t query_ms;        /**< of the heavy query that served it; negative: none known */
	char as_of[27];          /**< start of that query: what "no work" refers to; "" if none */
	char *reason;            /**< why it failed, was refused or got less; else NULL */
	uint32_t excluded;       /**< loans that were left, but are not for this user */
	uint32_t position;       /**< while pending: its place in the task's line, from 1; else 0 */
	uint64_t loans_ahead;    /**< while pending: asked for by those before it */
	int64_t expected_ms;     /**< while pending: until it is served, as far as the task's last
	                          * queries tell, negative where that is not known */
	uint32_t retries;        /**< transactions that were tried again */
	struct lockq_loan *loans; /**< this answer's, not the pipeline; in order of priority */
	size_t n_loans;
};
#define LOCKQ_ANSWER_INIT { 0, "", NULL, 0, NULL, 0, 0, 0, LOCKQ_PENDING, 0, 0, 0, 0, NULL, 0, -1, \
	"", NULL, 0, 0, 0, -1, 0, NULL, 0 }

/**
 * lockq_getwork:
 * @q:      a connected handle; its last error is replaced
 * @ask:    who asks, for which task, how many, how long to wait
 * @answer: an answer set to LOCKQ_ANSWER_INIT or cleared; filled on return, also when the return
 *          is not 0; the caller releases it with lockq_answer_clear()
 *
 * Asks for work and waits for the answer: the seven steps of lockq(7). Leads where nobody leads,
 * else follows. While it leads it holds the rows of task_lock and task_wake of the task; while it
 * waits, nothing.
 *
 * Returns: 0 when at least one loan was assigned; LOCKQ_NOTHING when the task has none; LOCKQ_BUSY
 * when the wait ran out (the request is cancelled), when it expired, or when it is pending and
 * @ask->wait is LOCKQ_WAIT_NONE; LOCKQ_CANCELLED when the progress function gave up; LOCKQ_EUSAGE;
 * LOCKQ_EREFUSED for an unknown user or task, a disabled task, or more than its max_count;
 * LOCKQ_EQUERY; LOCKQ_EDATABASE; LOCKQ_EUNKNOWN.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_getwork(struct lockq *q, const struct lockq_ask *ask,
    struct lockq_answer *answer);

/**
 * lockq_answer_clear:
 * @answer: an answer or NULL; what it owns is freed, and it is set to LOCKQ_ANSWER_INIT
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_answer_clear(struct lockq_answer *answer);

/**
 * lockq_request_look:
 * @q:       a connected handle
 * @request: a request's id in decimal, or its UUID
 * @wait_ms: how long to wait while it is pending, in milliseconds; 0 looks once
 * @answer:  as for lockq_getwork(); while the request is pending, @answer->leader is who leads
 *           now, NULL where nobody does (@answer->nobody_leads) or the account may not see it
 *
 * Looks at a request; never leads, takes no lock but the shared one on task_wake while it waits.
 * Looking keeps a pending request from expiring.
 *
 * Returns: as lockq_getwork(), LOCKQ_BUSY while pending; LOCKQ_EREFUSED where there is no such
 * request.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_request_look(struct lockq *q, const char *request,
    int64_t wait_ms, struct lockq_answer *answer);

/** A column of a task's detail_view, of one loan. */
struct lockq_detail {
	char *name;
	char *value;               /**< NULL is SQL NULL */
};

/** One current assignment. */
struct lockq_assignment {
	uint32_t task;
	char *task_name;
	uint64_t loan_id;
	uint64_t token;
	uint64_t request_id;
	char assigned_at[27];
	uint64_t age_s;            /**< seconds since then */
	char lease_expires_at[27]; /**< "" where the task has no lease */
	int lease_expired;         /**< it may go to someone else at any time */
	uint64_t lease_left_s;     /**< until the lease ends; 0 where it has or there is none */
	char *note;                /**< what was last said about the loan in this task; or NULL */
	struct lockq_detail *details; /**< as the task's detail_view has them, in its order */
	size_t n_details;
};

/** A user's current assignments. */
struct lockq_pipeline {
	struct lockq_assignment *assignments; /**< by task, then oldest first */
	size_t n_assignments;
	char *detail_fault;        /**< why some details are missing; NULL where none are */
};
#define LOCKQ_PIPELINE_INIT { NULL, 0, NULL }

/**
 * lockq_pipeline:
 * @q:        a connected handle
 * @user:     app_user.name
 * @task:     only this task, or 0 for all
 * @pipeline: filled; the caller releases it with lockq_pipeline_clear()
 *
 * Reads the user's current assignments. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING where there are none; LOCKQ_EREFUSED for an unknown user or task.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_pipeline(struct lockq *q, const char *user, uint32_t task,
    struct lockq_pipeline *pipeline);

/**
 * lockq_pipeline_clear:
 * @pipeline: a pipeline or NULL
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_pipeline_clear(struct lockq_pipeline *pipeline);

/** What happened to a loan in a task: a row of work_log. */
struct lockq_event {
	char event[16];            /**< assigned, completed, returned, never, expired, renewed,
	                            * available */
	char at[27];
	char *user;                /**< whose assignment it is or was */
	char *account;             /**< MySQL account that did it */
	uint64_t token;
	uint64_t version;          /**< of the row of work after it */
	uint64_t request_id;       /**< that it was assigned for */
	char available_at[27];     /**< "" where that does not apply, as below */
	char lease_expires_at[27];
	char excluded_until[27];   /**< not offered to that user before */
	char *note;                /**< or NULL */
};

/** What happened to a loan in a task, oldest first. */
struct lockq_history {
	struct lockq_event *events;
	size_t n_events;
};
#define LOCKQ_HISTORY_INIT { NULL, 0 }

/**
 * lockq_history:
 * @q:       a connected handle
 * @task:    task.task_id
 * @loan_id: the loan
 * @history: filled; the caller releases it with lockq_history_clear()
 *
 * Reads who had a loan when, from work_log: as far back as that goes. Takes no lock.
 *
 * Returns: 0; LOCKQ_NOTHING where the log has nothing; LOCKQ_EREFUSED for an unknown task;
 * LOCKQ_EDATABASE.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_history(struct lockq *q, uint32_t task, uint64_t loan_id,
    struct lockq_history *history);

/**
 * lockq_history_clear:
 * @history: a history or NULL
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_history_clear(struct lockq_history *history);

/** What a user says at the end, or, to renew its lease, on the way. */
enum lockq_disposition_kind {
	LOCKQ_COMPLETE = 0,
	LOCKQ_RETURN,      /**< available again after return_after_s */
	LOCKQ_NEVER,       /**< never again in this task */
	LOCKQ_RENEW        /**< the lease begins anew */
};

/** A loan to dispose of. */
struct lockq_loan_ref {
	uint64_t loan_id;
	uint64_t token;    /**< refuse when the assignment is not this one; 0: don't check */
};

/** What to do with which loans. */
struct lockq_disposition {
	const char *user;
	uint32_t task;
	enum lockq_disposition_kind kind;
	uint32_t return_after_s;            /**< 0 to LOCKQ_RETURN_AFTER_MAX seconds, server time */
	uint32_t not_me_s;                  /**< not offered to the same user for so long */
	const char *note;                   /**< up to 512 characters, or NULL */
	const struct lockq_loan_ref *loans; /**< each loan once */
	size_t n_loans;
};
#define LOCKQ_DISPOSITION_INIT { NULL, 0, LOCKQ_COMPLETE, 0, 0, NULL, NULL, 0 }

/** What became of one loan of a disposition. */
enum lockq_disposed {
	LOCKQ_DISPOSED = 0,      /**< done */
	LOCKQ_DISPOSED_ALREADY,  /**< the same user had done the same before: nothing to do */
	LOCKQ_NOT_ASSIGNED,      /**< nobody holds it in this task */
	LOCKQ_NOT_YOURS,         /**< assigned to somebody else */
	LOCKQ_STALE_TOKEN,       /**< assigned anew since the token's assignment, to whom it says */
	LOCKQ_LEASE_OVER,        /**< it was yours until its lease ran out: ask again */
	LOCKQ_NOT_COMPLETED      /**< the task's on_complete did not do it; reason says why */
};
struct lockq_disposed_loan {
	uint64_t loan_id;
	enum lockq_disposed what;
	uint64_t token;          /**< of the row as it stands */
	char *holder;            /**< whose row it is; NULL where there is none */
	char state[16];          /**< of the row as it stands; "" where there is none */
	char since[27];          /**< when it came into that state */
	char available_at[27];   /**< of a returned loan, or a completed one that is held */
	char lease_expires_at[27]; /**< of an assignment, or of one that its lease has ended */
	char excluded_until[27]; /**< of one that was returned now: not the user's before; or "" */
	char *reason;            /**< of LOCKQ_NOT_COMPLETED, else NULL */
};
struct lockq_disposed_result {
	struct lockq_disposed_loan *loans; /**< in the order asked */
	size_t n_loans;
};
#define LOCKQ_DISPOSED_RESULT_INIT { NULL, 0 }

/**
 * lockq_dispose:
 * @q:           a connected handle
 * @disposition: what to do
 * @result:      filled with one entry a loan; release it with lockq_disposed_clear()
 *
 * Disposes of loans, or renews their leases, in one transaction; each that can't be is left as it
 * was and says why. Locks the rows of work by primary key, in key order. Saying the same again is
 * fine.
 *
 * Returns: 0; LOCKQ_EREFUSED when at least one loan was refused; LOCKQ_EQUERY when task.on_complete
 * failed for one; LOCKQ_EUSAGE; LOCKQ_EDATABASE; LOCKQ_EUNKNOWN when the connection was lost at
 * commit and could not be resolved.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_dispose(struct lockq *q,
    const struct lockq_disposition *disposition, struct lockq_disposed_result *result);

/**
 * lockq_disposed_clear:
 * @result: a result or NULL
 * Since: 0.1
 */
LOCKQ_EXPORT void lockq_disposed_clear(struct lockq_disposed_result *result);

/** What cron asks for. */
struct lockq_expire {
	uint32_t batch;          /**< rows of one transaction, 1 to LOCKQ_BATCH_MAX */
	uint64_t purge_after_s;  /**< delete what ended longer ago than this; 0: delete nothing */
};
#define LOCKQ_EXPIRE_INIT { 500, 0 }
#define LOCKQ_BATCH_MAX 10000

/** Nothing younger than a day is purged: answers and lost commits are looked up in it. */
#define LOCKQ_PURGE_AFTER_MIN 86400
#define LOCKQ_PURGE_AFTER_MAX 3153600000

/** What lockq_expire() did, as far as the server has confirmed it. Where the connection was lost
 * during a COMMIT, that batch may be done, too, but neither this run nor the next one counts it. */
struct lockq_expired {
	int busy;                /**< another one is at work on this server: nothing was done */
	uint64_t leases;         /**< assignments whose lease had run out, now returned */
	uint64_t available;      /**< loans whose time had come, noted in work_log */
	uint64_t requests;       /**< requests that nobody looked after, now expired */
	uint64_t candidates;     /**< kept candidates that were too old, deleted */
	uint64_t exclusions;     /**< exclusions that were over, deleted */
	uint64_t log_rows;       /**< purged rows of work_log */
	uint64_t old_requests;   /**< purged rows of work_requested */
	uint64_t runs;           /**< purged rows of leader_run */
	uint64_t skipped;        /**< rows that somebody held: left for the next time */
	uint64_t took_ms;
};
#define LOCKQ_EXPIRED_INIT { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * lockq_expire:
 * @q:       a connected handle; the progress function is called between transactions
 * @what:    how much at once, and what to purge
 * @expired: filled, also when the return is not 0: what it counts is done
 *
 * Tidies up what time has changed: returns assignments whose lease has run out, notes loans that
 * are available again, expires requests (under their task's lock), deletes kept candidates and
 * exclusions that are over, and purges. Nothing depends on it having run. One at a time on a server
 * (GET_LOCK); small transactions that pass over rows which others hold (SKIP LOCKED), so nobody
 * waits for it. What was committed stays done, so it may be ended at any point and run again. A
 * lost connection ends the call, and the error says how far it came: the next run does the rest.
 *
 * Returns: 0, also when another one is at work; LOCKQ_CANCELLED when the progress function gave up;
 * LOCKQ_EUSAGE; LOCKQ_EDATABASE.
 * Since: 0.1
 */
LOCKQ_EXPORT LOCKQ_MUST_CHECK int lockq_expire(struct lockq *q, const struct lockq_expire *what,
    struct lockq_expired *expired);

#ifdef __cplusplus
}
#endif

#endif
