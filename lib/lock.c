/* SPDX-License-Identifier: MIT */
/* Steps 2 and 3: who leads. The task's row of task_lock is the lock; who finds it taken follows. */
#include <string.h>

#include "internal.h"

static const struct db_query take_lock = {
	"take_lock",
	"SELECT epoch, NOW(6), query_ms, left_pending, each_once"
	"  FROM task_lock"
	" WHERE task_id = ?"
	"   FOR UPDATE SKIP LOCKED",
	DB_MAYBE
};

/* The write is what makes two leaders impossible on a cluster that certifies at commit. Followers
 * wait on task_wake only where the leader says that it holds that row: without its lock there they
 * would come back at once, or wait for somebody else. */
static const struct db_query raise_epoch = {
	"raise_epoch",
	"UPDATE task_lock"
	"   SET epoch = ?, holder = ?, since = NOW(6), wakes = ?"
	" WHERE task_id = ?",
	DB_NO_ROWS
};

/* NOWAIT: a request that waits for the row would put all who come after it in line behind it, and
 * its time-out would have to be told from one that ends the transaction. */
static const struct db_query lock_wake = {
	"lock_wake", "SELECT task_id FROM task_wake WHERE task_id = ? FOR UPDATE NOWAIT", DB_MAYBE
};

/* For who got it later. */
static const struct db_query say_wakes = {
	"say_wakes", "UPDATE task_lock SET wakes = TRUE WHERE task_id = ?", DB_NO_ROWS
};

static const struct db_query clear_holder = {
	"clear_holder",
	"UPDATE task_lock"
	"   SET holder = NULL, since = NULL,"
	"       query_ms = COALESCE(?, query_ms), left_pending = ?,"
	"       each_once = COALESCE(?, each_once)"
	" WHERE task_id = ? AND epoch = ?",
	DB_NO_ROWS
};

/* After db_next_read_dirty(): a committed row never has a holder. */
static const struct db_query read_holder = {
	"read_holder",
	"SELECT l.holder, TIMESTAMPDIFF(MICROSECOND, l.since, NOW(6)) DIV 1000, l.wakes,"
	"       t.request_ttl, t.name, l.epoch"
	"  FROM task_lock AS l"
	"  LEFT JOIN task AS t"
	"    ON t.task_id = l.task_id"
	" WHERE l.task_id = ?",
	DB_MAYBE
};

enum {
	MOMENT_TRIES = 40, AGAIN_TRIES = 1, MOMENT_MS = 8, WAKE_MS = 1000, WAKE_NAP_MS = 2,
	LIGHT_MS = 100,        /* hardly anybody asks while such a query runs */
	ANEW = 64
};

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
		*held = leader->leads = !db_cell_is_null(&rows, 0, 0);
		copy_cell(leader->name, sizeof(leader->name), &rows, 0, 0);
		leader->ms = db_cell_u64(&rows, 0, 1);
		leader->wakes = db_cell_u64(&rows, 0, 2) != 0;
		leader->request_ttl = (uint32_t)db_cell_u64(&rows, 0, 3);
		copy_cell(leader->task_name, sizeof(leader->task_name), &rows, 0, 4);
		leader->epoch = db_cell_u64(&rows, 0, 5);
	}
	db_rows_clear(&rows);
	return rc;
}

/* Followers wait on this row. Woken ones share it for a moment; a session that was forgotten keeps
 * it. Who leads without it is still the only leader, its followers hear of its commit later. */
static int
take_wake(struct db *db, uint32_t task_id, unsigned int patience_ms, bool *taken)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t end = db_clock_ms() + patience_ms;
	int rc = DB_EHELD;

	for (unsigned int nap = WAKE_NAP_MS; rc == DB_EHELD; nap += nap / 2) {
		uint64_t now;

		rc = db_run(db, &lock_wake, DB_ARGS(db_u64(task_id)), &rows);
		now = db_clock_ms();
		if (rc != DB_EHELD || now >= end)
			break;
		db_sleep_ms(nap < end - now ? nap : (unsigned int)(end - now));
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
	lead->crowded = rc == DB_ECROWDED;
	return DB_OK;
}

/* All that tells whether to lead, and how, in one look. */
static const struct db_query look_first = {
	"look_first",
	"SELECT " TASK_COLUMNS("r.user_id") ","
	"       r.outcome, l.epoch,"
	"       (SELECT COALESCE(SUM(p.requested), 0)"
	"          FROM work_requested AS p USE INDEX (work_requested_line)"
	"         WHERE p.task_id = t.task_id AND p.pending = 1),"
	"       EXISTS (SELECT 1 FROM work_exclusion AS x WHERE x.task_id = t.task_id)"
	"  FROM task AS t"
	"  LEFT JOIN task_lock AS l"
	"    ON l.task_id = t.task_id"
	"  LEFT JOIN work_requested AS r"
	"    ON r.request_id = ?"
	" WHERE t.task_id = ?",
	DB_MAYBE
};

/* Where others try, too: who gets the lock looks at all of it. */
static const struct db_query look_briefly = {
	"look_briefly",
	"SELECT r.outcome, l.epoch"
	"  FROM task_lock AS l"
	"  LEFT JOIN work_requested AS r"
	"    ON r.request_id = ?"
	" WHERE l.task_id = ?",
	DB_MAYBE
};

static int
while_pending(const char *outcome)
{
	return outcome != NULL && strcmp(outcome, "pending") == 0 ? DB_OK : LOCK_NOT_NEEDED;
}

/* The task as its manager has it now, how the request stands, and what was committed last. */
static int
look(struct db *db, const struct request *request, struct task *task, struct lead *lead)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &look_first, DB_ARGS(db_u64(request->request_id),
	    db_u64(task->task_id)), &rows);

	if (rc == DB_OK && rows.n_rows == 0)
		rc = TASK_UNKNOWN;
	if (rc == DB_OK) {
		/* Who waited for long leads for what the task is now. */
		task_fill(task, task->task_id, &rows);
		lead->looked = true;
		lead->seen = db_cell_u64(&rows, 0, TASK_N_COLUMNS + 1);
		lead->wanted = db_cell_u64(&rows, 0, TASK_N_COLUMNS + 2);
		lead->unlimited = task->max_pipeline == 0 &&
		    db_cell_u64(&rows, 0, TASK_N_COLUMNS + 3) == 0;
		rc = while_pending(db_cell(&rows, 0, TASK_N_COLUMNS));
	}
	db_rows_clear(&rows);
	return rc;
}

static int
glance(struct db *db, const struct request *request, const struct task *task, struct lead *lead)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &look_briefly, DB_ARGS(db_u64(request->request_id),
	    db_u64(task->task_id)), &rows);

	lead->looked = false;
	if (rc == DB_OK && rows.n_rows == 0)
		rc = TASK_UNKNOWN;
	if (rc == DB_OK) {
		lead->seen = db_cell_u64(&rows, 0, 1);
		rc = while_pending(db_cell(&rows, 0, 0));
	}
	db_rows_clear(&rows);
	return rc;
}

/* LOCK_BUSY, and who leads. */
static int
see_holder(struct lockq *q, const struct task *task, struct leader *leader)
{
	bool held = false;
	int rc = lock_holder(q->lock, task->task_id, leader, &held);

	return rc == DB_OK && held ? LOCK_BUSY : rc;
}

/* Whether there is a reason to try the lock. Where others ask, too, mostly somebody leads, and that
 * is seen without a transaction: LOCK_BUSY. A leader that is about to commit has cleared its name;
 * its epoch is seen all the same, and is not committed yet. */
static int
look_around(struct lockq *q, struct task *task, const struct request *request, struct lead *lead,
    struct leader *leader)
{
	int rc = see_holder(q, task, leader);

	if (rc != DB_OK)
		return rc;
	rc = lead->crowded ? look(q->lock, request, task, lead) :
	    glance(q->lock, request, task, lead);
	leader->leads = rc == DB_OK && leader->epoch > lead->seen;
	return leader->leads ? LOCK_BUSY : rc;
}

/* Our own request may have been served between our look and our lock, by who led since. Looked at
 * over the query connection, or the lock's transaction would hold the metadata lock of
 * work_requested during the whole query, and a waiting ALTER would stall every insert. */
static int
look_again(struct lockq *q, struct task *task, const struct request *request, struct lead *lead)
{
	int rc = lock_look(q, lead);

	return rc == DB_OK ? look(lead->look, request, task, lead) : rc;
}

static int
lead_from(struct lockq *q, uint32_t task_id, const char *user, uint64_t epoch)
{
	bool wakes = false;
	int rc = take_wake(q->lock, task_id, 0, &wakes);

	if (rc == DB_OK)
		rc = db_run(q->lock, &raise_epoch, DB_ARGS(db_u64(epoch), db_text(user),
		    db_bool(wakes), db_u64(task_id)), NULL);
	/* Not at once; meanwhile others see who leads. */
	if (rc == DB_OK && !wakes) {
		rc = take_wake(q->lock, task_id, WAKE_MS, &wakes);
		if (rc == DB_OK && wakes)
			rc = db_run(q->lock, &say_wakes, DB_ARGS(db_u64(task_id)), NULL);
	}
	/* A follower that waited had another one. */
	return rc == DB_OK ? db_set_lock_wait(q->lock, DB_LOCK_WAIT_S) : rc;
}

/* Not asked where it was heard of just now: who loses it at its next statement connects again. */
static int
look_soon(struct lockq *q, struct lead *lead)
{
	if (q->query == NULL || !db_is_fresh(q->query))
		return lock_look(q, lead);
	lead->look = q->query;
	lead->crowded = false;
	return DB_OK;
}

/* Once the others see who leads, or all of them would be back before that. Over the query
 * connection, as in look_again(); where there is none, all is looked at before the next try. */
static int
look_as_leader(struct task *task, const struct request *request, struct lead *lead)
{
	int rc = lead->crowded ? LOCK_MISSED : look(lead->look, request, task, lead);

	/* Nobody else ends it while we lead; and who has been seen to lead does not leave others to
	 * wait for nothing. */
	return rc == LOCK_NOT_NEEDED ? DB_OK : rc;
}

/* One attempt, from BEGIN on. Whatever is not 0 has been rolled back. */
static int
attempt(struct lockq *q, struct task *task, const struct request *request, const char *user,
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
		lead->light = !db_cell_is_null(&rows, 0, 2) && db_cell_u64(&rows, 0, 2) < LIGHT_MS;
		lead->left_pending = db_cell_u64(&rows, 0, 3);
		/* A view may have got better. */
		lead->each_once = db_cell_u64(&rows, 0, 4) != 0 && committed % ANEW != 0;
		copy_cell(lead->started_at, sizeof(lead->started_at), &rows, 0, 1);
		/* The same epoch: nobody has led, so nobody can have served us. A request that we
		 * have joined may have been cancelled. */
		if (request == NULL && committed != lead->epoch)
			rc = LOCK_LED_SINCE;
		if (request != NULL && (committed != lead->seen || request->joined))
			rc = look_again(q, task, request, lead);
	}
	if (rc == DB_OK)
		rc = lead_from(q, task->task_id, user, committed + 1);
	if (rc == DB_OK && request != NULL)
		rc = look_soon(q, lead);
	if (rc == DB_OK && request != NULL && !lead->looked)
		rc = look_as_leader(task, request, lead);
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
take(struct lockq *q, struct task *task, const struct request *request, const char *user,
    struct lead *lead, struct leader *leader)
{
	/* Somebody who only forgot a session on the row is there again each time: no storm. */
	unsigned int tries = lead->missed == 0 ? MOMENT_TRIES : AGAIN_TRIES;
	int rc = DB_OK;

	/* Those who were served together ask together again. One of them is to lead, and the others
	 * miss nothing when they look a moment later: their requests are recorded. */
	if (request != NULL && q->expects_leader) {
		db_sleep_ms((unsigned int)db_connection_id(q->lock) % MOMENT_MS);
		rc = look_around(q, task, request, lead, leader);
	} else if (request != NULL) {
		rc = look(q->lock, request, task, lead);
	}
	for (unsigned int try = 0; rc == DB_OK; try++) {
		rc = attempt(q, task, request, user, lead);
		if (rc != LOCK_MISSED)
			break;
		/* Hundreds may be here at once, while one of them connects to lead. */
		if (try > 0 || request == NULL || q->expects_leader)
			db_sleep_ms(1 + try +
			    (unsigned int)(db_connection_id(q->lock) + try) % MOMENT_MS);
		q->expects_leader = true;
		rc = request != NULL ? look_around(q, task, request, lead, leader) :
		    see_holder(q, task, leader);
		if (rc == DB_OK && try + 1 >= tries)
			rc = LOCK_MISSED;
	}
	if (rc != LOCK_MISSED) {
		lead->missed = 0;
		return rc;
	}
	lead->missed++;
	leader->name[0] = '\0';
	leader->ms = 0;
	leader->leads = false;
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
lock_commit(struct lockq *q, const struct task *task, const struct lead *lead,
    const uint64_t *query_ms, uint64_t left_pending, const bool *each_once)
{
	int rc = db_change(q->lock, &clear_holder, DB_ARGS(
	    query_ms != NULL ? db_u64(*query_ms) : db_null(), db_u64(left_pending),
	    each_once != NULL ? db_bool(*each_once) : db_null(), db_u64(task->task_id),
	    db_u64(lead->epoch)), 1);

	return rc == DB_OK ? db_commit(q->lock) : rc;
}
