/* SPDX-License-Identifier: MIT */
/* Steps 2 and 3: who leads. The task's row of task_lock is the lock; who finds it taken follows. */
#include "internal.h"

static const struct db_query take_lock = {
	"take_lock",
	"SELECT epoch, NOW(6)"
	"  FROM task_lock"
	" WHERE task_id = ?"
	"   FOR UPDATE SKIP LOCKED",
	DB_MAYBE
};

/* The write is what makes two leaders impossible on a cluster that certifies at commit. */
static const struct db_query raise_epoch = {
	"raise_epoch",
	"UPDATE task_lock"
	"   SET epoch = ?, holder = ?, since = NOW(6), wakes = FALSE"
	" WHERE task_id = ?",
	DB_NO_ROWS
};

/* NOWAIT: a request that waits for the row would put all who come after it in line behind it, and
 * its time-out would have to be told from one that ends the transaction. */
static const struct db_query lock_wake = {
	"lock_wake", "SELECT task_id FROM task_wake WHERE task_id = ? FOR UPDATE NOWAIT", DB_MAYBE
};

/* Only then do followers wait on the row: without this leader's lock on it they would come back at
 * once, or wait for somebody else. */
static const struct db_query say_wakes = {
	"say_wakes", "UPDATE task_lock SET wakes = TRUE WHERE task_id = ?", DB_NO_ROWS
};

static const struct db_query clear_holder = {
	"clear_holder",
	"UPDATE task_lock"
	"   SET holder = NULL, since = NULL, wakes = FALSE"
	" WHERE task_id = ? AND epoch = ?",
	DB_NO_ROWS
};

/* After db_next_read_dirty(): a committed row never has a holder. */
static const struct db_query read_holder = {
	"read_holder",
	"SELECT holder, TIMESTAMPDIFF(MICROSECOND, since, NOW(6)) DIV 1000, wakes"
	"  FROM task_lock"
	" WHERE task_id = ?",
	DB_MAYBE
};

enum { MOMENT_TRIES = 40, AGAIN_TRIES = 1, MOMENT_MS = 8, WAKE_MS = 1000, WAKE_NAP_MS = 2 };

int
lock_holder(struct db *db, uint32_t task_id, struct leader *leader, bool *held)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_next_read_dirty(db);

	*held = false;
	if (rc == DB_OK)
		rc = db_run(db, &read_holder, DB_ARGS(db_u64(task_id)), &rows);
	if (rc == DB_OK && rows.n_rows == 0)
		rc = db_refuse(db, "task %u has no row in task_lock, so nobody can lead: run "
		    "scripts/migrate", task_id);
	if (rc == DB_OK) {
		*held = !db_cell_is_null(&rows, 0, 0);
		copy_cell(leader->name, sizeof(leader->name), &rows, 0, 0);
		leader->ms = db_cell_u64(&rows, 0, 1);
		leader->wakes = db_cell_u64(&rows, 0, 2) != 0;
	}
	db_rows_clear(&rows);
	return rc;
}

/* Followers wait on this row. Woken ones share it for a moment; a session that was forgotten keeps
 * it. Who leads without it is still the only leader, its followers hear of its commit later. */
static int
take_wake(struct db *db, uint32_t task_id, bool *taken)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t end = db_clock_ms() + WAKE_MS;
	int rc = DB_EHELD;

	for (unsigned int nap = WAKE_NAP_MS; rc == DB_EHELD; nap += nap / 2) {
		rc = db_run(db, &lock_wake, DB_ARGS(db_u64(task_id)), &rows);
		if (rc != DB_EHELD || db_clock_ms() + nap > end)
			break;
		db_sleep_ms(nap);
	}
	db_rows_clear(&rows);
	*taken = rc == DB_OK;
	return rc == DB_EHELD ? DB_OK : rc;
}

int
lock_look(struct lockq *q, struct lead *lead)
{
	/* Waiting followers may have taken all connections; the leader must not starve. Any other
	 * error is reported by who looks at the lock connection. */
	int rc = handle_ready_query(q);

	if (rc != DB_OK && rc != DB_ECROWDED)
		return rc;
	lead->look = rc == DB_OK ? q->query : q->lock;
	return DB_OK;
}

/* Our own request may have been served between our look and our lock. The look goes over the query
 * connection, or the lock's transaction would hold the metadata lock of work_requested during the
 * whole query, and a waiting ALTER would stall every insert. */
static int
still_wanted(struct lockq *q, struct task *task, struct request *request, struct lead *lead)
{
	int rc = lock_look(q, lead);

	if (rc != DB_OK)
		return rc;
	rc = request_status(lead->look, request);
	if (rc != REQUEST_PENDING)
		return rc == DB_OK ? LOCK_NOT_NEEDED : rc;
	/* Who waited for long leads for what the task is now. */
	return task_read(lead->look, task->task_id, request->user_id, task);
}

static int
lead_from(struct lockq *q, uint32_t task_id, const char *user, uint64_t epoch)
{
	bool wakes = false;
	int rc = db_run(q->lock, &raise_epoch, DB_ARGS(db_u64(epoch), db_text(user),
	    db_u64(task_id)), NULL);

	if (rc == DB_OK)
		rc = take_wake(q->lock, task_id, &wakes);
	if (rc == DB_OK && wakes)
		rc = db_run(q->lock, &say_wakes, DB_ARGS(db_u64(task_id)), NULL);
	/* A follower that waited had another one. */
	return rc == DB_OK ? db_set_lock_wait(q->lock, DB_LOCK_WAIT_S) : rc;
}

/* One attempt, from BEGIN on. Whatever is not 0 has been rolled back. */
static int
attempt(struct lockq *q, struct task *task, struct request *request, const char *user,
    struct lead *lead)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t committed = 0;
	int rc = db_begin(q->lock);

	if (rc == DB_OK)
		rc = db_run(q->lock, &take_lock, DB_ARGS(db_u64(task->task_id)), &rows);
	if (rc == DB_OK && rows.n_rows == 0)
		rc = LOCK_MISSED;
	if (rc == DB_OK) {
		committed = db_cell_u64(&rows, 0, 0);
		copy_cell(lead->started_at, sizeof(lead->started_at), &rows, 0, 1);
		if (request != NULL)
			rc = still_wanted(q, task, request, lead);
		else if (committed != lead->epoch)
			rc = LOCK_LED_SINCE;
	}
	if (rc == DB_OK)
		rc = lead_from(q, task->task_id, user, committed + 1);
	if (rc == DB_OK)
		lead->epoch = committed + 1;
	else
		db_rollback(q->lock);
	db_rows_clear(&rows);
	return rc;
}

/* Tries until it is ours or somebody is seen to lead. A locked row without a holder is held for a
 * moment only, by someone who will not serve us: that is not "busy". */
static int
take(struct lockq *q, struct task *task, struct request *request, const char *user,
    struct lead *lead, struct leader *leader)
{
	/* Somebody who only forgot a session on the row is there again each time: no storm. */
	unsigned int tries = lead->missed == 0 ? MOMENT_TRIES : AGAIN_TRIES;
	bool held = false;
	int rc = LOCK_MISSED;

	for (unsigned int try = 0; try < tries; try++) {
		rc = attempt(q, task, request, user, lead);
		if (rc != LOCK_MISSED) {
			lead->missed = 0;
			return rc;
		}
		rc = lock_holder(q->lock, task->task_id, leader, &held);
		if (rc != DB_OK || held) {
			lead->missed = 0;
			return rc == DB_OK ? LOCK_BUSY : rc;
		}
		/* Hundreds may be here at once, while one of them connects to lead. */
		db_sleep_ms(1 + try +
		    (unsigned int)(db_connection_id(q->lock) + try) % MOMENT_MS);
		if (request != NULL) {
			rc = request_status(q->lock, request);
			if (rc != REQUEST_PENDING)
				return rc == DB_OK ? LOCK_NOT_NEEDED : rc;
		}
	}
	lead->missed++;
	leader->name[0] = '\0';
	leader->ms = 0;
	return LOCK_BUSY;
}

int
lock_try(struct lockq *q, struct task *task, struct request *request, struct lead *lead,
    struct leader *leader)
{
	return take(q, task, request, request->user, lead, leader);
}

int
lock_again(struct lockq *q, struct task *task, const char *user, struct lead *lead)
{
	struct leader leader;

	return take(q, task, NULL, user, lead, &leader);
}

int
lock_commit(struct lockq *q, const struct task *task, const struct lead *lead)
{
	int rc = db_change(q->lock, &clear_holder, DB_ARGS(db_u64(task->task_id),
	    db_u64(lead->epoch)), 1);

	return rc == DB_OK ? db_commit(q->lock) : rc;
}
