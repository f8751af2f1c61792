/* SPDX-License-Identifier: MIT */
#include "handle/operation.h"

#include <stdio.h>
#include <string.h>

#include "handle/session.h"

static const char *const words[] = {
	[OPERATION_NONE] = "", [OPERATION_CONNECT] = "connect", [OPERATION_LOOK] = "look",
	[OPERATION_GETWORK] = "getwork", [OPERATION_CANCEL] = "cancel",
	[OPERATION_DISPOSITION] = "disposition", [OPERATION_EXPIRE] = "expire",
	[OPERATION_REFILL] = "refill", [OPERATION_MANAGE] = "manage",
	[OPERATION_FOLLOW] = "follow"
};

/* A procedure of schema/doors. Each call that was held up adds to a row of its task, operation
 * and time, which others want, too: the row is locked for this statement only, and no other lock is
 * held meanwhile. */
static DB_QUERY(add_trouble, DB_NO_ROWS, "CALL trouble_adds(?, ?, ?, ?, ?, ?)");

static void
tell(const struct lockq *q, struct lockq_log *log)
{
	const struct operating *o = &q->operating;

	log->operation = words[o->operation];
	log->user = o->user;
	log->task = o->task;
	log->ms = db_clock_ms() - o->since;
	o->log(log, o->log_data);
}

/* A statement has failed. */
static void
on_failure(const struct db_failure *failure, void *data)
{
	const struct lockq *q = data;
	struct lockq_log log = {
		.kind = LOCKQ_LOG_FAILURE, .attempt = failure->attempt,
		.number = failure->number, .sqlstate = failure->state,
		.statement = failure->statement, .statement_ms = failure->ms
	};

	if (q->operating.log != NULL && q->operating.operation != OPERATION_NONE)
		tell(q, &log);
}

void
lockq_on_log(struct lockq *q, lockq_log_fn *fn, void *data)
{
	q->operating.log = fn;
	q->operating.log_data = data;
}

void
operation_begin(struct lockq *q, enum operation operation, const char *user, uint32_t task)
{
	struct operating *o = &q->operating;

	o->operation = operation;
	o->task = task;
	o->since = db_clock_ms();
	o->watch = (struct db_watch){ .failed = on_failure, .data = q };
	snprintf(o->user, sizeof(o->user), "%s", user != NULL ? user : "");
}

/* A look is not counted, nor is a feed: it may be made by an account that must not write. */
static bool
is_counted(enum operation operation)
{
	return operation != OPERATION_NONE && operation != OPERATION_CONNECT &&
	    operation != OPERATION_LOOK && operation != OPERATION_FOLLOW;
}

/* What can't be counted is not: the call has its result. */
static void
count(struct lockq *q, int code)
{
	const struct operating *o = &q->operating;
	const struct db_watch watch = o->watch;
	bool busy = code == LOCKQ_BUSY;

	if (!busy && watch.lock_waits == 0 && watch.deadlocks == 0 && watch.retries == 0)
		return;
	if (!is_counted(o->operation) || db_lost(q->db))
		return;
	/* A disposition leaves the session without autocommit. */
	if (db_restore(q->db) != DB_OK)
		return;
	(void)!db_run(q->db, &add_trouble, DB_ARGS(db_u64(o->task), db_text(words[o->operation]),
	    db_bool(busy), db_u64(watch.lock_waits), db_u64(watch.deadlocks),
	    db_u64(watch.retries)), NULL);
}

int
operation_end(struct lockq *q, uint64_t request_id, int code)
{
	struct operating *o = &q->operating;
	const struct db_watch *watch = &o->watch;
	struct lockq_log log = {
		.kind = LOCKQ_LOG_END, .code = code, .request_id = request_id,
		.attempt = watch->retries + 1, .lock_waits = watch->lock_waits,
		.deadlocks = watch->deadlocks, .lock_wait_ms = watch->lock_wait_ms,
		.number = watch->last.number, .sqlstate = watch->last.state,
		.statement = watch->last.statement
	};

	if (o->log != NULL)
		tell(q, &log);
	/* A failure of the counting itself is no part of the call. */
	o->watch.failed = NULL;
	count(q, code);
	/* A transaction that could not be rolled back keeps its locks as long as the connection is
	 * there. */
	if (db_lost(q->db))
		session_disconnect(q);
	o->operation = OPERATION_NONE;
	return code;
}
