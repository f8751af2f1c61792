/* SPDX-License-Identifier: MIT */
/* Steps 2 and 3: who leads. The task's row of task_lock is the lock; who finds it taken follows. */
#include "lock.h"

#include "bounds.h"
#include "session.h"
#include "outcome_state.h"

static const struct db_query take_lock = {
	"take_lock",
	"SELECT epoch, NOW(6), left_pending"
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

/* For a leader that got the row later. */
static const struct db_query say_wakes = {
	"say_wakes", "UPDATE task_lock SET wakes = TRUE WHERE task_id = ?", DB_NO_ROWS
};

static const struct db_query clear_holder = {
	"clear_holder",
	"UPDATE task_lock"
	"   SET holder = NULL, since = NULL, left_pending = ?"
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

/* All that tells whether to lead, and how: the task as its manager has it now, how the own request
 * stands, how much is asked for, and the last epoch that was committed. */
static const struct db_query look_first = {
	"look_first",
	"SELECT " TASK_COLUMNS("r.user_id") ","
	"       r.outcome, l.epoch,"
	"       (SELECT COALESCE(SUM(p.requested), 0)"
	"          FROM work_requested AS p USE INDEX (work_requested_line)"
	"         WHERE p.task_id = t.task_id AND p.pending = 1)"
	"  FROM task AS t"
	"  LEFT JOIN task_lock AS l"
	"    ON l.task_id = t.task_id"
	"  LEFT JOIN work_requested AS r"
	"    ON r.request_id = ?"
	" WHERE t.task_id = ?",
	DB_MAYBE
};

enum db_rc
lock_holder(struct db *db, uint32_t task_id, struct leader *leader, bool *held)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_next_read_dirty(db);

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
static enum db_rc
take_wake(struct db *db, uint32_t task_id, unsigned int patience_ms, bool *taken)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t end = db_clock_ms() + patience_ms;
	enum db_rc rc = DB_EHELD;

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

/* Not in the lock's transaction: it would hold the metadata lock of work_requested during the whole
 * query, and a waiting ALTER would stall every insert. *@pending is false where the request has
 * ended; @lead->committed is the epoch that was committed then. */
static enum db_rc
look_before_lock(struct db *db, const struct request *request, struct task *task,
    struct lead *lead, bool *pending)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &look_first, DB_ARGS(db_u64(request->request_id),
	    db_u64(task->task_id)), &rows);

	*pending = false;
	if (rc == DB_OK && rows.n_rows == 0)
		rc = db_refuse(db, "task %u is gone", task->task_id);
	if (rc == DB_OK) {
		/* A request that waited for long leads for what the task is now. */
		task_fill(task, task->task_id, &rows);
		lead->committed = db_cell_u64(&rows, 0, TASK_N_COLUMNS + 1);
		lead->wanted = db_cell_u64(&rows, 0, TASK_N_COLUMNS + 2);
		*pending = outcome_read(db_cell(&rows, 0, TASK_N_COLUMNS)) == LOCKQ_PENDING;
	}
	db_rows_clear(&rows);
	return rc;
}

/* Says to the others who leads, and that they may wait on task_wake. */
static enum db_rc
lead_from(struct db *db, uint32_t task_id, const char *user, uint64_t epoch)
{
	bool wakes = false;
	enum db_rc rc = take_wake(db, task_id, 0, &wakes);

	if (rc == DB_OK)
		rc = db_run(db, &raise_epoch, DB_ARGS(db_u64(epoch), db_text(user),
		    db_bool(wakes), db_u64(task_id)), NULL);
	/* Not at once; meanwhile others see who leads. */
	if (rc == DB_OK && !wakes) {
		rc = take_wake(db, task_id, WAKE_MS, &wakes);
		if (rc == DB_OK && wakes)
			rc = db_run(db, &say_wakes, DB_ARGS(db_u64(task_id)), NULL);
	}
	/* A follower that waited had another one. */
	return rc == DB_OK ? db_set_lock_wait(db, DB_LOCK_WAIT_S) : rc;
}

/* One attempt, from BEGIN on, to lead as the next one after @lead->committed: LOCK_OURS,
 * LOCK_MISSED or LOCK_LED_SINCE. Whatever is not LOCK_OURS has been rolled back. */
static enum db_rc
lock_once(struct db *db, uint32_t task_id, const char *user, struct lead *lead,
    enum lock_result *result)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_begin(db);

	*result = LOCK_MISSED;
	if (rc == DB_OK)
		rc = db_run(db, &take_lock, DB_ARGS(db_u64(task_id)), &rows);
	if (rc == DB_OK && rows.n_rows > 0)
		*result = db_cell_u64(&rows, 0, 0) == lead->committed ? LOCK_OURS :
		    LOCK_LED_SINCE;
	if (rc == DB_OK && *result == LOCK_OURS) {
		lead->epoch = lead->committed + 1;
		copy_cell(lead->started_at, sizeof(lead->started_at), &rows, 0, 1);
		lead->left_pending = db_cell_u64(&rows, 0, 2);
		rc = lead_from(db, task_id, user, lead->epoch);
	}
	if (rc != DB_OK || *result != LOCK_OURS)
		db_rollback(db);
	db_rows_clear(&rows);
	return rc;
}

/* Hundreds may be here at once, while one of them is about to lead: not all come back together. */
static void
nap_with_jitter(const struct db *db, unsigned int try)
{
	db_sleep_ms(1 + try + (unsigned int)(db_connection_id(db) + try) % MOMENT_MS);
}

/* Looks, and tries once. */
static enum db_rc
look_and_try(struct db *db, struct task *task, const struct request *request, struct lead *lead,
    struct leader *leader, enum lock_result *result)
{
	bool held = false, pending = false;
	enum db_rc rc = lock_holder(db, task->task_id, leader, &held);

	*result = LOCK_BUSY;
	if (rc != DB_OK || held)
		return rc;
	rc = look_before_lock(db, request, task, lead, &pending);
	/* A leader that is about to commit has cleared its name. Its epoch is seen all the same,
	 * and is not committed yet. */
	leader->leads = pending && leader->epoch > lead->committed;
	if (rc != DB_OK || leader->leads)
		return rc;
	*result = LOCK_ENDED;
	return pending ? lock_once(db, task->task_id, request->user, lead, result) : rc;
}

enum db_rc
lock_try(struct lockq *q, struct task *task, const struct request *request, struct lead *lead,
    struct leader *leader, enum lock_result *result)
{
	/* A session that was only forgotten on the row is there again each time: no storm. */
	unsigned int tries = lead->missed == 0 ? MOMENT_TRIES : AGAIN_TRIES;

	for (unsigned int try = 0; try < tries; try++) {
		enum db_rc rc = look_and_try(q->db, task, request, lead, leader, result);

		/* The request may have been served by a leader that came after the look. */
		if (rc == DB_OK && *result == LOCK_LED_SINCE)
			continue;
		/* A locked row without a holder is held for a moment only, by a process that will
		 * not serve the request: that is not "busy". */
		if (rc != DB_OK || *result != LOCK_MISSED) {
			lead->missed = 0;
			return rc;
		}
		nap_with_jitter(q->db, try);
	}
	lead->missed++;
	leader->name[0] = '\0';
	leader->ms = 0;
	leader->leads = false;
	*result = LOCK_BUSY;
	return DB_OK;
}

enum db_rc
lock_again(struct lockq *q, const struct task *task, const char *user, struct lead *lead,
    bool *ours)
{
	struct leader leader;
	bool held = false;

	*ours = false;
	for (unsigned int try = 0; try < MOMENT_TRIES && !held; try++) {
		enum lock_result result = LOCK_MISSED;
		enum db_rc rc = lock_once(q->db, task->task_id, user, lead, &result);

		*ours = rc == DB_OK && result == LOCK_OURS;
		if (rc != DB_OK || result != LOCK_MISSED)
			return rc;
		nap_with_jitter(q->db, try);
		rc = lock_holder(q->db, task->task_id, &leader, &held);
		if (rc != DB_OK)
			return rc;
	}
	return DB_OK;
}

enum db_rc
lock_commit_and_release(struct lockq *q, const struct task *task, const struct lead *lead,
    uint64_t left_pending)
{
	enum db_rc rc = db_change(q->db, &clear_holder, DB_ARGS(db_u64(left_pending),
	    db_u64(task->task_id), db_u64(lead->epoch)), 1);

	return rc == DB_OK ? db_commit(q->db) : rc;
}
