/* SPDX-License-Identifier: MIT */
/* Steps 2 and 3: takes and releases the lock of a task, which is its row of task_lock. A process
 * that sees by a dirty read that another one leads becomes a follower. */
#include "getwork/lock.h"

#include "handle/bounds.h"
#include "handle/session.h"
#include "rules/outcome_state.h"

static DB_QUERY(take_lock, DB_MAYBE,
    "SELECT epoch, NOW(6), left_pending"
    "  FROM task_lock"
    " WHERE task_id = ?"
    "   FOR UPDATE SKIP LOCKED");

/* On a cluster that certifies at commit, two members may both lock the row; only because they also
 * write it, one of the two commits fails. Followers wait on task_wake only if wakes is set: without
 * the leader's lock on that row they would come back at once, or wait for another session. */
static DB_QUERY(raise_epoch, DB_NO_ROWS,
    "UPDATE lead_in"
    "   SET epoch = ?, holder = ?, since = NOW(6), wakes = ?"
    " WHERE task_id = ?");

/* NOWAIT: a leader that waited here for an exclusive lock would make all followers that come later
 * wait behind it, and its lock wait timeout would look like a failure of the transaction. */
static DB_QUERY(lock_wake, DB_MAYBE,
    "SELECT task_id FROM wake_in WHERE task_id = ? FOR UPDATE NOWAIT");

/* For a leader that got the row of task_wake only after raise_epoch. */
static DB_QUERY(say_wakes, DB_NO_ROWS, "UPDATE lead_in SET wakes = TRUE WHERE task_id = ?");

static DB_QUERY(clear_holder, DB_NO_ROWS,
    "UPDATE lead_in"
    "   SET holder = NULL, since = NULL, left_pending = ?"
    " WHERE task_id = ? AND epoch = ?");

/* After db_next_read_dirty(): a leader clears its name before it commits. */
static DB_QUERY(read_holder, DB_MAYBE,
    "SELECT l.holder, TIMESTAMPDIFF(MICROSECOND, l.since, NOW(6)) DIV 1000, l.wakes,"
    "       t.request_ttl, t.name, l.epoch"
    "  FROM task_lock AS l"
    "  LEFT JOIN task AS t"
    "    ON t.task_id = l.task_id"
    " WHERE l.task_id = ?");

static DB_QUERY(read_committed, DB_ONE, "SELECT epoch FROM task_lock WHERE task_id = ?");

/* Makes the rows of task_lock and task_wake of a task that is new, and mends the epoch. */
static DB_QUERY(make_rows, DB_NO_ROWS, "CALL task_rows(?)");

/* One statement tells whether to lead, and how: the task as its manager has it now, the outcome of
 * the call's own request, the last epoch that was committed, the last of a round, how many loans
 * are asked for, how long the last query took, if the next list is not to be kept, and how many
 * loans the task may not give to the call's user. */
static DB_QUERY(look_first, DB_MAYBE,
    "SELECT " TASK_COLUMNS("r.user_id") ","
    "       r.outcome, l.epoch,"
    "       (SELECT MAX(n.epoch) FROM leader_run AS n WHERE n.task_id = t.task_id),"
    "       (SELECT COALESCE(SUM(p.requested), 0)"
    "          FROM work_requested AS p USE INDEX (work_requested_line)"
    "         WHERE p.task_id = t.task_id AND p.pending = 1),"
    "       IF(t.cache_ttl > 0, NULL,"
    "          (SELECT u.query_ms"
    "             FROM leader_run AS u"
    "            WHERE u.task_id = t.task_id AND u.query_ms IS NOT NULL AND u.how <> 'failed'"
    "            ORDER BY u.epoch DESC"
    "            LIMIT 1)), " NOT_FOR_COUNT("t", "r.user_id")
    "  FROM task AS t"
    "  LEFT JOIN task_lock AS l"
    "    ON l.task_id = t.task_id"
    "  LEFT JOIN work_requested AS r"
    "    ON r.request_id = ?"
    " WHERE t.task_id = ?");

static enum db_rc
make_rows_of(struct db *db, uint32_t task_id)
{
	return db_run(db, &make_rows, DB_ARGS(db_u64(task_id)), NULL);
}

/* Reads who leads. A task that its manager has just added has no row yet: it gets one. */
static enum db_rc
find_holder(struct db *db, uint32_t task_id, struct db_rows *rows)
{
	bool held = false;
	enum db_rc rc = DB_OK;

	for (unsigned int try = 0; rc == DB_OK && try < 2; try++) {
		if (try > 0)
			rc = make_rows_of(db, task_id);
		/* Somebody else has made the row meanwhile, and leads; or holds its place. */
		held = rc == DB_ELOCKWAIT;
		if (held)
			rc = DB_OK;
		if (rc == DB_OK)
			rc = db_next_read_dirty(db);
		if (rc == DB_OK)
			rc = db_run(db, &read_holder, DB_ARGS(db_u64(task_id)), rows);
		if (rc == DB_OK && rows->n_rows > 0)
			return DB_OK;
	}
	if (rc == DB_OK && held)
		rc = DB_ELOCKWAIT;
	return rc != DB_OK ? rc : db_refuse(db, "task %u has no row in task_lock, so nobody can "
	    "lead: run lockq-migrate", task_id);
}

/* A leader's epoch is not committed yet. A name in a committed row is nobody's: only raw SQL leaves
 * one there, and nobody may wait for it. */
static enum db_rc
is_leading(struct db *db, uint32_t task_id, const struct db_rows *rows, bool *leads)
{
	uint64_t committed = 0;
	enum db_rc rc = DB_OK;

	*leads = !db_cell_is_null(rows, 0, 0);
	if (*leads)
		rc = db_number(db, &read_committed, DB_ARGS(db_u64(task_id)), &committed);
	*leads = *leads && db_cell_u64(rows, 0, 5) > committed;
	return rc;
}

enum db_rc
lock_holder(struct db *db, uint32_t task_id, struct leader *leader, bool *held)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = find_holder(db, task_id, &rows);

	*held = leader->leads = false;
	if (rc == DB_OK)
		rc = is_leading(db, task_id, &rows, &leader->leads);
	if (rc == DB_OK) {
		*held = leader->leads;
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

/* Locks the row of task_wake, where followers wait; *@taken is false where that was not possible
 * in @patience_ms. Followers that wake share the row for a moment, and a forgotten session may
 * keep it. Without the row a leader is still the only one, but its followers hear of its commit
 * later. */
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

/* Reads look_first: *@pending is false where @request has ended. It must run before the lock's
 * transaction, which would otherwise hold the metadata lock of work_requested during the whole
 * heavy query; then a waiting ALTER would stall every INSERT of a request. */
static enum db_rc
look_before_lock(struct db *db, const struct request *request, struct task *task,
    struct lead *lead, bool *pending)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &look_first, DB_ARGS(db_u64(request->request_id),
	    db_u64(task->task_id)), &rows);

	*pending = false;
	if (rc == DB_OK && rows.n_rows == 0)
		rc = db_refuse(db, "task %u was deleted: ask its manager", task->task_id);
	if (rc == DB_OK) {
		task_fill(task, task->task_id, &rows);
		lead->committed = db_cell_u64(&rows, 0, TASK_N_COLUMNS + 1);
		lead->newest_run = db_cell_u64(&rows, 0, TASK_N_COLUMNS + 2);
		lead->wanted = db_cell_u64(&rows, 0, TASK_N_COLUMNS + 3);
		lead->light = !db_cell_is_null(&rows, 0, TASK_N_COLUMNS + 4) &&
		    db_cell_u64(&rows, 0, TASK_N_COLUMNS + 4) < LIGHT_MS;
		task->excluded += db_cell_u64(&rows, 0, TASK_N_COLUMNS + 5);
		*pending = request->request_id == 0 ||
		    outcome_read(db_cell(&rows, 0, TASK_N_COLUMNS)) == LOCKQ_PENDING;
	}
	db_rows_clear(&rows);
	return rc;
}

/* The view does not show a row whose epoch is below that of a round or a list. task_rows raises it
 * to that of the last round. Where that does not help, the epoch has come up to the server's clock,
 * or that was set back. */
static enum db_rc
write_leader(struct db *db, uint32_t task_id, const char *user, uint64_t epoch, bool wakes)
{
	enum db_rc rc = DB_OK;

	for (unsigned int try = 0; rc == DB_OK && try < 2; try++) {
		if (try > 0)
			rc = make_rows_of(db, task_id);
		if (rc == DB_OK)
			rc = db_run(db, &raise_epoch, DB_ARGS(db_u64(epoch), db_text(user),
			    db_bool(wakes), db_u64(task_id)), NULL);
		if (rc == DB_OK && db_affected(db) > 0)
			return DB_OK;
	}
	return rc != DB_OK ? rc : db_refuse(db, "task %u can't be led: its epoch would be %llu, "
	    "above the milliseconds since 1970: ask the administrator to look at the server's "
	    "clock", task_id, (unsigned long long)epoch);
}

/* Writes into the locked row who leads, and whether followers may wait on task_wake. */
static enum db_rc
lead_from(struct db *db, uint32_t task_id, const char *user, uint64_t epoch)
{
	bool wakes = false;
	enum db_rc rc = take_wake(db, task_id, 0, &wakes);

	if (rc == DB_OK)
		rc = write_leader(db, task_id, user, epoch, wakes);
	/* Only after raise_epoch, so that others see meanwhile who leads. */
	if (rc == DB_OK && !wakes) {
		rc = take_wake(db, task_id, WAKE_MS, &wakes);
		if (rc == DB_OK && wakes)
			rc = db_run(db, &say_wakes, DB_ARGS(db_u64(task_id)), NULL);
	}
	/* This process may have followed before, and then its lock wait is still that of
	 * wait_slice(). */
	return rc == DB_OK ? db_set_lock_wait(db, DB_LOCK_WAIT_S) : rc;
}

/* One attempt to lock the row. */
enum attempt {
	TAKEN,
	MISSED,   /* another session has the row, leader or not */
	LED_SINCE /* the row is free, but a later epoch than @lead->committed was committed */
};

/* One attempt, from BEGIN on, to lead as the next one after @lead->committed. After MISSED and
 * LED_SINCE the transaction has been rolled back. */
static enum db_rc
lock_once(struct db *db, uint32_t task_id, const char *user, struct lead *lead,
    enum attempt *attempt)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_begin(db);

	*attempt = MISSED;
	if (rc == DB_OK)
		rc = db_run(db, &take_lock, DB_ARGS(db_u64(task_id)), &rows);
	if (rc == DB_OK && rows.n_rows > 0)
		*attempt = db_cell_u64(&rows, 0, 0) == lead->committed ? TAKEN : LED_SINCE;
	if (rc == DB_OK && *attempt == TAKEN) {
		lead->epoch = 1 + (lead->newest_run > lead->committed ? lead->newest_run :
		    lead->committed);
		copy_cell(lead->started_at, sizeof(lead->started_at), &rows, 0, 1);
		lead->left_pending = db_cell_u64(&rows, 0, 2);
		rc = lead_from(db, task_id, user, lead->epoch);
	}
	if (rc != DB_OK || *attempt != TAKEN)
		db_rollback(db);
	db_rows_clear(&rows);
	return rc;
}

/* Without a lock: LOCK_OURS where the row looks free and @request is pending, so that an attempt is
 * worth it. */
static enum db_rc
look_if_free(struct db *db, struct task *task, const struct request *request, struct lead *lead,
    struct leader *leader, enum lock_result *result)
{
	bool held = false, pending = false;
	enum db_rc rc = lock_holder(db, task->task_id, leader, &held);

	*result = LOCK_BUSY;
	if (rc != DB_OK || held)
		return rc;
	rc = look_before_lock(db, request, task, lead, &pending);
	/* A leader that is about to commit has cleared its name, but the dirty read shows its
	 * epoch, which is above the committed one. */
	leader->leads = pending && leader->epoch > lead->committed;
	if (rc == DB_OK && !leader->leads)
		*result = !pending ? LOCK_ENDED : task->paused[0] != '\0' ? LOCK_PAUSED :
		    LOCK_OURS;
	return rc;
}

enum db_rc
lock_try(struct lockq *q, struct task *task, const struct request *request, struct lead *lead,
    struct leader *leader, enum lock_result *result)
{
	unsigned int tries = leader->unled_in_a_row == 0 ? MOMENT_TRIES : AGAIN_TRIES;

	for (unsigned int try = 0; try < tries; try++) {
		enum attempt attempt = TAKEN;
		enum db_rc rc = look_if_free(q->db, task, request, lead, leader, result);

		if (rc == DB_OK && *result == LOCK_OURS)
			rc = lock_once(q->db, task->task_id, request->user, lead, &attempt);
		if (rc != DB_OK || attempt == TAKEN) {
			leader->unled_in_a_row = 0;
			return rc;
		}
		/* A leader that came after the look may have served the request: look again. A
		 * locked row without a holder is not "busy": a process has it for a moment, or a
		 * forgotten session has it, and neither will serve the request. */
		if (attempt == MISSED)
			nap_with_jitter(q->db, try);
	}
	leader->unled_in_a_row++;
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
		enum attempt attempt = MISSED;
		enum db_rc rc = lock_once(q->db, task->task_id, user, lead, &attempt);

		*ours = rc == DB_OK && attempt == TAKEN;
		if (rc != DB_OK || attempt != MISSED)
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
