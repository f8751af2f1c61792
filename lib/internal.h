/* SPDX-License-Identifier: MIT */
/* What the rooms of the library share. Functions here return enum db_rc when negative, 0 when done,
 * and enum room_answer for what is expected besides. */
#ifndef LOCKQ_INTERNAL_H
#define LOCKQ_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "lockq.h"
#include "text.h"

enum { NAME_BYTES = 64 * 4 + 1, REASON_BYTES = 2048, UUID_BYTES = 37 };

/* handle.c */

struct lockq {
	struct lockq_connection where;
	struct lockq_connection query_where; /* where that differs for the heavy query */
	bool asks_elsewhere; /* … if it does */
	struct db *lock;      /* the lock connection; everything short runs on it too */
	struct db *query;     /* the query connection, while leading: same server, same account */
	struct db *elsewhere; /* runs the heavy query in its place, where query_where says so */
	struct orphan {
		uint64_t id, since;   /* 0, or a connection given up with a statement outstanding */
		char server[UUID_BYTES];
	} orphans[2];
	const struct request *asking; /* that a call is at work on, or NULL */
	lockq_progress_fn *progress;
	void *progress_data;
	char error[1024];
};

LOCKQ_MUST_CHECK int handle_connect(struct lockq *q);
void handle_disconnect(struct lockq *q);
/* The connection whose error is the last one. */
const struct db *handle_failed(const struct lockq *q);
/* Makes sure that a handle which was idle for longer than wait_timeout is connected, and that its
 * session is as it was made. */
LOCKQ_MUST_CHECK int handle_ready(struct lockq *q);
/* The second connection, @q->query; DB_ECROWDED where none is to be had: it is NULL then. */
LOCKQ_MUST_CHECK int handle_ready_query(struct lockq *q);
/* For reads beside the lock's transaction: the second connection, the lock connection itself where
 * there is none. Ask each time, since a lost connection is closed and made anew. */
struct db *handle_beside(const struct lockq *q);
/* @q->elsewhere; on failure it has the error. */
LOCKQ_MUST_CHECK int handle_ready_elsewhere(struct lockq *q);
LOCKQ_MUST_CHECK int handle_connect_elsewhere(struct lockq *q, struct db **db);
/* Closes @db, which is one of the two. */
void handle_close_query(struct lockq *q, struct db *db);
/* What runs on @db, and anything on the lock connection, is ended on the server as soon as a new
 * connection can be had; for the lock connection that is at once. */
void handle_orphan(struct lockq *q, const struct db *db);
void handle_note_orphan(struct orphan *orphan, const struct db *db);
/* Ends it over @db, where that is a connection to the same server. */
LOCKQ_MUST_CHECK int handle_end_orphan(struct db *db, const struct orphan *orphan);
LOCKQ_MUST_CHECK int handle_abandon(struct lockq *q);

/* error.c */

__attribute__((format(printf, 2, 3))) void error_set(struct lockq *q, const char *format, ...);
/* The public code for what the database layer returned, its text into the handle's error. */
LOCKQ_MUST_CHECK int error_from_db(struct lockq *q, const struct db *db, int rc);

/* LOCKQ_EREFUSED, with its text. */
LOCKQ_MUST_CHECK int error_unknown_user(struct lockq *q, const char *user);
LOCKQ_MUST_CHECK int error_unknown_task(struct lockq *q, uint32_t task_id);

/* Puts before the error's text that the outcome is unknown. */
void error_unknown(struct lockq *q);

/* progress.c: from the waits of the database layer to the caller's function */

struct ticking {
	struct lockq *q;
	enum lockq_phase phase;
	uint64_t since;            /* db_clock_ms() */
	const char *leader;
	uint64_t leader_ms;        /* at @since */
	uint64_t usual_ms;
	const char *detail;
	uint64_t rows;             /* done so far */
	struct db *keep_alive;     /* pinged meanwhile; or NULL */
	int ping_rc;
};
/* A db_tick_fn, @data a struct ticking. Not 0 when the caller gives up or @keep_alive is gone. */
int tick(void *data);
/* Sleeps in slices. DB_ECANCELLED when the caller gives up. */
LOCKQ_MUST_CHECK int tick_sleep(struct ticking *ticking, uint64_t ms);

/* task.c */

struct task {
	uint32_t task_id;
	char name[128 * 4 + 1];
	char view[129 * 4 + 1];
	bool enabled;
	uint32_t max_count;
	uint32_t max_query_s;
	uint32_t candidate_limit;
	uint32_t request_ttl;
	uint32_t lease_minutes;  /* 0: none */
	uint32_t cache_ttl;      /* seconds; 0: none */
	uint32_t max_pipeline;   /* loans that a user may hold; 0: any number */
	bool view_repeats;       /* the view shows loans several times, as its manager says */
	uint64_t excluded;       /* loans that are not offered to who leads: the list is longer by
	                          * so many, or it might have none for the one who asked for it */
};
/* What task_fill() takes it from, of the task t; @user_id is who asks, for @excluded. */
#define TASK_COLUMNS(user_id) \
	"t.name, t.candidates_view, t.enabled, t.max_count, t.max_query_s, t.candidate_limit," \
	" t.request_ttl, t.lease_minutes, t.cache_ttl, t.max_pipeline, t.view_repeats," \
	" (SELECT COUNT(*) FROM work_exclusion AS e" \
	"   WHERE e.task_id = t.task_id AND e.user_id = " user_id " AND e.until > NOW(6))"
enum { TASK_N_COLUMNS = 12 };
void task_fill(struct task *task, uint32_t task_id, const struct db_rows *rows);
/* @user_id is who asks, for @task->excluded. *@known is false where there is no such task. */
LOCKQ_MUST_CHECK int task_read(struct db *db, uint32_t task_id, uint32_t user_id,
    struct task *task, bool *known);
/* What the user holds of the task, for max_pipeline. */
LOCKQ_MUST_CHECK int task_held(struct db *db, uint32_t task_id, uint32_t user_id, uint64_t *held);
/* What a user is told whose pipeline has no room, or not enough, for what was asked. */
enum { PIPELINE_REASON_BYTES = 160 };
void pipeline_reason(char reason[PIPELINE_REASON_BYTES], uint64_t most, uint64_t held);
LOCKQ_MUST_CHECK int user_read(struct db *db, const char *name, uint32_t *user_id, bool *known);
/* Both, or a public code with its text when one is unknown. @task may be NULL for no task. */
LOCKQ_MUST_CHECK int task_and_user(struct lockq *q, const char *user, uint32_t task_id,
    struct task *task, uint32_t *user_id);
/* Median of the last queries in milliseconds, 0 where there are none. */
LOCKQ_MUST_CHECK int task_usual_ms(struct db *db, uint32_t task_id, uint64_t *ms);
/* The same where somebody is shown it, and *@ms is not known yet: an error is not worth a word. */
void know_usual(const struct lockq *q, struct db *db, uint32_t task_id, uint64_t *ms);

/* request.c: step 1, and the look of step 7 */

struct request {
	uint64_t request_id;
	char uuid[UUID_BYTES];
	const char *user;
	bool joined;       /* somebody else's call made it … */
	uint32_t asked;    /* … and asked for so many loans */
};
void request_make_uuid(char uuid[UUID_BYTES]);
/* *@refused, without a word why, where there is no such user or task, or not for so many. */
LOCKQ_MUST_CHECK int request_record(struct db *db, uint32_t task_id, uint32_t count,
    struct request *request, bool *refused);
/* Sets @request->request_id by its UUID, 0 where there is none. */
LOCKQ_MUST_CHECK int request_find(struct db *db, struct request *request);
/* *@pending while nobody has ended it. */
LOCKQ_MUST_CHECK int request_status(struct db *db, const struct request *request, bool *pending);
/* The same after a commit in doubt: waits for the old connection's transaction to end. */
LOCKQ_MUST_CHECK int request_status_locked(struct db *db, const struct request *request,
    bool *pending);
/* Says that its owner still waits, and will for the next @ahead_s seconds; *@pending is false where
 * it has ended. */
LOCKQ_MUST_CHECK int request_seen(struct db *db, const struct request *request, uint32_t ahead_s,
    bool *pending);
/* Whatever becomes of an INSERT that is still on its way: it ends as cancelled, unless a leader has
 * ended it. Sets @request->request_id. */
LOCKQ_MUST_CHECK int request_cancel(struct db *db, uint32_t task_id, uint32_t count,
    struct request *request);
LOCKQ_MUST_CHECK int request_any_pending(struct db *db, uint32_t task_id, bool *any);

/* lock.c: steps 2 and 3 */

struct lead {
	uint64_t epoch;        /* ours */
	uint64_t committed;    /* the last one, while it is ours */
	uint64_t wanted;       /* loans, by those who were pending as it began */
	uint64_t left_pending; /* requests that the last leader's list had nothing for */
	char started_at[TIME_BYTES];
	unsigned int missed;   /* attempts in a row that met a lock which nobody held to lead */
};
/* Who leads, as far as a dirty read tells. */
struct leader {
	char name[NAME_BYTES];
	uint64_t ms;      /* since it began */
	bool leads;       /* somebody does, also where the name is not to be seen any more */
	bool wakes;       /* it holds the row of task_wake: followers may wait there */
	uint64_t epoch;   /* that it has raised, or that was committed last */
	uint32_t request_ttl; /* of the task … */
	char task_name[128 * 4 + 1];
};
enum lock_result {
	LOCK_OURS,
	LOCK_BUSY,      /* somebody leads */
	LOCK_ENDED,     /* the own request has ended: the lock is not needed */
	LOCK_LED_SINCE, /* somebody has led meanwhile */
	LOCK_MISSED     /* taken, by whom is not known yet */
};
/* Takes the task's lock for @request: LOCK_OURS, and @task is as its manager has it now; LOCK_BUSY,
 * @leader filled; or LOCK_ENDED. */
LOCKQ_MUST_CHECK int lock_try(struct lockq *q, struct task *task, const struct request *request,
    struct lead *lead, struct leader *leader, enum lock_result *result);
/* Takes it again after the leader's own commit, or after a transaction that was rolled back. *@ours
 * is false where somebody else leads, or has led since. */
LOCKQ_MUST_CHECK int lock_again(struct lockq *q, const struct task *task, const char *user,
    struct lead *lead, bool *ours);
/* Frees it, and notes what the next leader wants to know. */
LOCKQ_MUST_CHECK int lock_commit(struct lockq *q, const struct task *task,
    const struct lead *lead, uint64_t left_pending);
LOCKQ_MUST_CHECK int lock_holder(struct db *db, uint32_t task_id, struct leader *leader,
    bool *held);

/* candidates.c: step 4 */

struct candidate {
	uint64_t loan_id;
	uint64_t version;  /* of its row of work as the query saw it; 0: there was none */
	uint32_t position; /* in the list of the query */
	bool gone;         /* given or dropped by the assignment in progress */
};
/* Where a list comes from: the word for it is the same in leader_run. */
enum list_source {
	LIST_QUERY,     /* the heavy query, over the query connection */
	LIST_CROWDED,   /* the same over the lock connection: no second one was to be had */
	LIST_ELSEWHERE, /* over the connection of lockq_query_at(), on the same tables */
	LIST_REPLICA,   /* the same, on another server's */
	LIST_CACHE,     /* what the last query left */
	LIST_HAND_OVER  /* what the leader's own round left */
};
const char *list_source_name(enum list_source source);
bool list_was_queried(enum list_source source); /* in this round */
/* It may be out of date, and the query here may find more. */
bool list_is_hint(enum list_source source);

struct candidates {
	struct candidate *list; /* in the view's order */
	size_t n, size;
	size_t next;            /* not looked at yet */
	size_t dropped;
	size_t stale;           /* dropped before, as a hint that was out of date */
	bool complete;          /* there is no more where it comes from */
	bool kept;              /* task_candidate has what is left of it */
	enum list_source source;
	char as_of[TIME_BYTES];
	uint64_t query_ms;
};
/* Whether a request that gets nothing of the list is told so: nothing is left. */
bool list_may_say_empty(enum list_source source, const struct candidates *list);
enum list_result {
	LIST_FOUND,
	LIST_FAILED, /* the view can't be used, or its query ended early */
	LIST_LOST    /* the list of another server can't be had, or is of no use */
};
/* The list that a leader gives from: LIST_FOUND, and @reason may say why the query did not run
 * elsewhere; or LIST_FAILED with the reason. */
LOCKQ_MUST_CHECK int candidates_find(struct lockq *q, const struct task *task, struct lead *lead,
    uint64_t *usual_ms, struct candidates *found, enum list_result *result,
    char reason[REASON_BYTES]);
LOCKQ_MUST_CHECK int candidates_add(struct candidates *candidates, uint64_t loan_id,
    uint64_t version, uint32_t position);
void candidates_clear(struct candidates *candidates);
/* Each loan where it comes first. */
LOCKQ_MUST_CHECK int candidates_once(struct candidates *candidates);
/* After a commit: forgets what is gone. */
void candidates_forget_gone(struct candidates *candidates);
/* @n of the list as [[loan_id,version],…]. */
void candidates_json(const struct candidates *candidates, size_t from, size_t n, struct text *json);

/* A set of loans, as a query returned them in its first column. */
struct loans {
	uint64_t *ids; /* sorted */
	size_t n;
};
/* @query takes @json, and @task_id where that is not 0. */
LOCKQ_MUST_CHECK int loans_read(struct db *db, const struct db_query *query, const char *json,
    uint32_t task_id, struct loans *loans);
bool loans_have(const struct loans *loans, uint64_t loan_id);
void loans_clear(struct loans *loans);
/* Those of the first @n that are still as the list has them; without a lock. */
LOCKQ_MUST_CHECK int candidates_unchanged(struct db *db, const struct task *task,
    const struct candidates *candidates, size_t n, struct loans *loans);

/* query.c: the heavy query */

/* Runs it on @db, which is one of @q's, for a list of @limit at most. As candidates_find();
 * LIST_LOST where the connection elsewhere was. */
LOCKQ_MUST_CHECK int query_run(struct lockq *q, struct db *db, const struct task *task,
    const struct lead *lead, uint64_t usual_ms, uint64_t limit, struct candidates *candidates,
    enum list_result *result, char reason[REASON_BYTES]);
/* The statement around @view, a name as in task.candidates_view; parameters: task, limit.
 * DB_EFAIL for what is no name of a view. */
enum { CANDIDATES_SQL_BYTES = 1536 };
LOCKQ_MUST_CHECK int candidates_statement(char sql[CANDIDATES_SQL_BYTES], const char *view);

/* What may be given again, of a row w of `work`, by the time of the server that is asked. */
#define ROW_IS_AVAILABLE \
	"((w.state = 'completed' AND COALESCE(w.available_at <= NOW(6), TRUE))" \
	" OR (w.state = 'returned' AND w.available_at <= NOW(6))" \
	" OR (w.state = 'assigned' AND w.lease_expires_at <= NOW(6)))"

/* And what is somebody's: it counts against task.max_pipeline. */
#define ROW_IS_HELD \
	"(w.state = 'assigned' AND COALESCE(w.lease_expires_at > NOW(6), TRUE))"

/* cache.c: what a query left */

/* What may be used of it, and a few more than are wanted; @enough for all who ask. */
LOCKQ_MUST_CHECK int cache_read(struct db *db, const struct task *task, uint64_t wanted,
    struct candidates *found, bool *enough);
/* In the transaction that has just given from @list. */
LOCKQ_MUST_CHECK int cache_update(struct db *db, const struct task *task,
    const struct candidates *list);

/* claims.c: the line of step 5 */

/* A pending request and what it gets. */
struct claim {
	uint64_t request_id;
	uint64_t user_id;
	uint32_t asked;
	uint32_t requested;   /* … as far as it fits into the user's pipeline */
	uint32_t given;
	uint32_t excluded;    /* loans that were left, but not for this user */
	uint64_t n_excluded;  /* the user's exclusions in this task */
	const char *outcome;  /* NULL: stays pending */
	char reason[PIPELINE_REASON_BYTES]; /* why it gets less than it asked for, or "" */
};
struct exclusion {
	uint64_t user_id, loan_id;
};
struct claims {
	struct claim *list;   /* first come first */
	size_t n;
	uint64_t wanted;      /* loans to be had ready for those that may still be served */
	struct exclusion *excluded; /* sorted */
	size_t n_excluded;
};
/* The task's pending requests, locked. */
LOCKQ_MUST_CHECK int claims_read(struct db *db, const struct task *task, uint64_t own_request,
    struct claims *claims);
/* Whether the loan is not to be offered to who asks. */
bool claims_exclude(const struct claims *claims, const struct claim *claim, uint64_t loan_id);
/* Ends those that have an outcome; @reason is for who has none of its own. */
LOCKQ_MUST_CHECK int claims_write(struct db *db, const struct claims *claims,
    const struct lead *lead, const char *reason, size_t *n_ended);
void claims_clear(struct claims *claims);

/* assign.c: step 5 */

/* What a leader did, for its row of leader_run. */
struct run {
	const char *user;
	enum list_source source;
	size_t candidates, requests, loans;
	uint32_t retries;
	size_t left;         /* requests that stay pending … */
	size_t left_out;     /* … of these, that may not have what there is */
	const char *reason;  /* NULL: loans are given; else why all requests end without */
	bool refused;        /* … as refused; else as failed */
	const char *note;    /* why the list is not from where it should be; or NULL */
};
/* Gives @candidates to the pending requests; not committed yet. Requests that get nothing are told
 * so where list_may_say_empty(); else they stay pending. */
LOCKQ_MUST_CHECK int assign_loans(struct lockq *q, const struct task *task,
    const struct lead *lead, uint64_t own_request, struct candidates *candidates,
    struct run *run);
/* Ends all pending requests as failed or refused, for @run->reason. */
LOCKQ_MUST_CHECK int assign_failure(struct db *db, const struct task *task,
    const struct lead *lead, uint64_t own_request, struct run *run);
LOCKQ_MUST_CHECK int assign_record_run(struct db *db, const struct task *task,
    const struct lead *lead, const struct candidates *candidates, const struct run *run);

/* wait.c: step 7 */

struct waiting {
	uint64_t deadline;   /* db_clock_ms(); UINT64_MAX: none */
	unsigned int quick;  /* waits in a row that ended at once */
	size_t gap;          /* of --poll */
	uint32_t slice_s;    /* the longest wait before it looks again */
	uint64_t usual_ms;
	uint64_t seen;       /* when it last said that it is still there */
};
/* Says now and then that the owner of a pending request waits; *@pending is false where it has
 * ended. */
LOCKQ_MUST_CHECK int wait_still_here(struct lockq *q, const struct request *request,
    struct waiting *waiting, bool *pending);
/* Waits for the leader's commit, until it is time to look, and to try the lock; *@over at the
 * deadline. */
LOCKQ_MUST_CHECK int wait_blocking(struct lockq *q, uint32_t task_id,
    const struct request *request, struct leader *leader, struct waiting *waiting, bool *over);
LOCKQ_MUST_CHECK int wait_polling(struct lockq *q, const struct lockq_ask *ask,
    const struct request *request, const struct leader *leader, struct waiting *waiting,
    bool *over);
/* The longest wait that keeps a request of a task with @request_ttl from expiring. */
uint32_t wait_slice_s(uint32_t request_ttl, bool joined);
/* Sleeps @try's backoff and @ms, but not beyond the deadline. */
LOCKQ_MUST_CHECK int wait_for_better(struct lockq *q, const char *detail, unsigned int try,
    uint64_t ms, struct waiting *waiting);
/* Sleeps a little before the same is tried again. */
LOCKQ_MUST_CHECK int wait_a_moment(struct lockq *q, enum lockq_phase phase, const char *detail,
    unsigned int try, struct waiting *waiting);

/* answer.c */

LOCKQ_MUST_CHECK int answer_read(struct db *db, uint64_t request_id, struct lockq_answer *answer);
/* The same for who asked, without the names of user and task. */
LOCKQ_MUST_CHECK int answer_read_own(struct db *db, uint64_t request_id,
    struct lockq_answer *answer);
/* Beforehand, so that answer_read_own() is quick. */
LOCKQ_MUST_CHECK int answer_prepare(struct db *db);
/* The public code for how it stands, with a text where that is an error. */
LOCKQ_MUST_CHECK int answer_rc(struct lockq *q, const struct lockq_answer *answer);

#endif
