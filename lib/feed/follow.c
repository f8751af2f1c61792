/* SPDX-License-Identifier: MIT */
/* lockq_follow(): the change feed. Each batch goes these steps:
 *
 *   look      where the cursor is and whether a row comes after it, without a lock
 *   read      the numbers of the next rows, also of those that are not committed; follow_order.c
 *   settle    only where numbers are missing: wait until none of them can still be inserted
 *   take      the cursor's row, locked until the batch ends: so no other process has this batch
 *   deliver   the committed rows that come next
 *   move      the cursor behind them, and commit: they are acknowledged
 *
 * The first two come before the transaction: a dirty read is not possible in it, and nobody must
 * hold the cursor while there is nothing to deliver. Whatever fails, the cursor's committed
 * position tells where to go on. follow_order.c says which rows may be delivered, follow_cursor.c
 * lists the cursors. */
#include <stdio.h>
#include <string.h>

#include "feed/feed.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/progress.h"
#include "handle/retry.h"
#include "handle/session.h"
#include "look/history.h"

static DB_QUERY(look_at_cursor, DB_MAYBE, "CALL follow_looks(?)");
static DB_QUERY(begin_cursor, DB_ONE, "CALL follow_begins(?, ?)");
static DB_QUERY(take_cursor, DB_ONE, "CALL follow_takes(?)");
static DB_QUERY(move_cursor, DB_ONE, "CALL follow_moves(?, ?, ?)");

static DB_QUERY(newest_row, DB_ONE, "SELECT MAX(log_id) FROM work_log");

static DB_QUERY(read_changes, DB_MANY,
    "SELECT " HISTORY_COLUMNS ", l.log_id, l.loan_id"
    "  FROM work_log AS l FORCE INDEX (PRIMARY)"
    "  LEFT JOIN app_user AS u"
    "    ON u.user_id = l.user_id"
    " WHERE l.log_id > ? AND l.log_id <= ?"
    " ORDER BY l.log_id LIMIT ?");
enum { TASK_ID = 12, LOG_ID, LOAN_ID };

/* What came of a step. */
enum outcome {
	BEGUN,      /* the cursor is there */
	DELIVERED,  /* a batch, and it is acknowledged */
	MOVED,      /* another process has moved the cursor meanwhile */
	IDLE,       /* there is nothing to deliver */
	HELD,       /* another process has the cursor */
	WAITS,      /* for a transaction that may commit a row with a lower number */
	GONE,       /* the cursor was removed */
	STOPPED,    /* the caller's function gave up */
	DONE        /* all that is to be delivered is */
};

/* A call of lockq_follow(). */
struct following {
	struct lockq *q;
	const struct lockq_follow *what;
	struct lockq_followed *done;
	struct ticking ticking;
	struct order order;
	bool begun;           /* the cursor is there */
	uint64_t from_now;    /* the row behind which a new cursor begins; 0: not known yet */
	uint64_t until;       /* the call ends when this row is delivered; UINT64_MAX: never */
	uint32_t most;        /* changes of the next batch */
	size_t unsure;        /* changes that were delivered, and not acknowledged yet */
	uint64_t gap;         /* the last pause, in milliseconds */
	unsigned int moved;   /* so often in a row the server was read only */
	uint64_t moved_since;
	bool fails_over;      /* its connection was lost since the last step */
	enum outcome last;    /* what that pause was for */
	char text[1024];      /* what the progress function is told */
};

static uint64_t
gap_ms(const struct following *f)
{
	return f->what->gap_ms < 0 ? LOCKQ_FOLLOW_GAP_MS : (uint64_t)f->what->gap_ms;
}

/* --- what is told --- */

/* A wait for something else begins anew. */
static void
say(struct following *f, enum lockq_phase phase, const char *text)
{
	if (f->ticking.detail == NULL || f->ticking.phase != phase || strcmp(f->text, text) != 0)
		f->ticking.since = db_clock_ms();
	snprintf(f->text, sizeof(f->text), "%s", text);
	f->ticking.phase = phase;
	f->ticking.detail = f->text;
}

static void
say_nothing(struct following *f)
{
	f->ticking.phase = LOCKQ_PHASE_FOLLOW;
	f->ticking.detail = NULL;
	f->ticking.since = db_clock_ms();
}

/* Why the row @next, which is committed, is not delivered after row @before. */
static void
say_waits(struct following *f, uint64_t before, uint64_t next)
{
	const struct order *o = &f->order;
	uint64_t uncommitted = order_uncommitted(o, before, next);
	char text[sizeof(f->text)];

	if (uncommitted != 0)
		snprintf(text, sizeof(text), "row %llu of work_log is not committed yet: those "
		    "after it wait for it", (unsigned long long)uncommitted);
	else if (!o->blind)
		snprintf(text, sizeof(text), "a statement may still write before row %llu of "
		    "work_log: it is waited for", (unsigned long long)next);
	else if (o->lacks[0] != '\0')
		snprintf(text, sizeof(text), "a gap in the numbers of work_log is passed after "
		    "%llu s: let an administrator run \"GRANT SELECT ON "
		    "performance_schema.metadata_locks TO %s; GRANT SELECT ON "
		    "performance_schema.threads TO %s\", then it is passed as "
		    "soon as may be", (unsigned long long)gap_ms(f) / 1000, o->lacks, o->lacks);
	else
		snprintf(text, sizeof(text), "a gap in the numbers of work_log is passed after "
		    "%llu s: the performance schema does not show who writes there",
		    (unsigned long long)gap_ms(f) / 1000);
	say(f, LOCKQ_PHASE_FOLLOW, text);
}

static void
say_held(struct following *f)
{
	char text[sizeof(f->text)];

	snprintf(text, sizeof(text), "another process delivers from cursor \"%s\"",
	    f->what->cursor);
	say(f, LOCKQ_PHASE_FOLLOW, text);
}

static void
say_again(struct following *f)
{
	char text[sizeof(f->text)];
	unsigned long long n = f->unsure;

	if (n > 0)
		snprintf(text, sizeof(text), "the last %llu change%s may come again, since %s "
		    "could not be acknowledged: %.600s", n, n == 1 ? "" : "s",
		    n == 1 ? "it" : "they", db_error(f->q->db));
	else
		snprintf(text, sizeof(text), "%.600s", db_error(f->q->db));
	say(f, LOCKQ_PHASE_RETRY, text);
}

/* --- the steps --- */

/* *@there is false where there is no such cursor. *@next is the next committed row, or 0. */
static enum db_rc
look(struct following *f, uint64_t *position, uint64_t *next, bool *there)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(f->q->db, &look_at_cursor, DB_ARGS(db_text(f->what->cursor)),
	    &rows);

	*there = rows.n_rows > 0;
	*position = db_cell_u64(&rows, 0, 0);
	*next = db_cell_u64(&rows, 0, 1);
	db_rows_clear(&rows);
	return rc;
}

/* The newest row that is inserted, committed or not. */
static enum db_rc
read_newest(struct db *db, uint64_t *newest)
{
	enum db_rc rc = db_next_read_dirty(db);

	return rc != DB_OK ? rc : db_number(db, &newest_row, DB_NO_ARGS, newest);
}

/* Behind the newest row, and all rows up to it are decided: each has been committed, or never will
 * be. */
static enum db_rc
find_now(struct following *f, uint64_t *position, bool *found)
{
	struct db *db = f->q->db;
	enum db_rc rc = DB_OK;

	*found = true;
	if (f->from_now == 0)
		rc = read_newest(db, &f->from_now);
	if (rc == DB_OK && f->from_now > f->order.settled)
		rc = order_settle(&f->order, db, f->from_now, TRANSACTIONS_END, gap_ms(f),
		    found);
	*position = f->from_now;
	return rc;
}

/* Makes the cursor, unless it is there. */
static enum db_rc
begin(struct following *f, enum outcome *outcome)
{
	uint64_t position, next, made = 0;
	bool there, found = true;
	enum db_rc rc = look(f, &position, &next, &there);

	*outcome = BEGUN;
	if (rc == DB_OK && !there && f->what->from_now)
		rc = find_now(f, &position, &found);
	if (rc == DB_OK && !found) {
		say_waits(f, position, position + 1);
		*outcome = WAITS;
		return DB_OK;
	}
	if (rc == DB_OK && !there)
		rc = db_number(f->q->db, &begin_cursor, DB_ARGS(db_text(f->what->cursor),
		    f->what->from_now ? db_u64(position) : db_null()), &made);
	if (rc == DB_OK && made != 0)
		f->done->made = 1;
	if (rc == DB_OK && !there)
		rc = look(f, &position, &next, &there);
	f->done->position = position;
	f->until = UINT64_MAX;
	if (rc == DB_OK && f->what->until_now)
		rc = db_number(f->q->db, &newest_row, DB_NO_ARGS, &f->until);
	f->begun = rc == DB_OK;
	return rc;
}

/* Delivers the rows that come next after @before. *@last is the last one, and @f->unsure is how
 * many they were. */
static enum db_rc
deliver(struct following *f, const struct db_rows *rows, uint64_t before, uint64_t *last,
    bool *goes_on)
{
	const struct lockq_follow *w = f->what;
	uint64_t begun = db_clock_ms();
	enum db_rc rc = DB_OK;

	*last = before;
	*goes_on = true;
	for (size_t i = 0; rc == DB_OK && *goes_on && i < rows->n_rows; i++) {
		struct lockq_event event = { .user = NULL };
		struct lockq_change change = {
			.log_id = db_cell_u64(rows, i, LOG_ID), .event = &event,
			.loan_id = db_cell_u64(rows, i, LOAN_ID),
			.task = (uint32_t)db_cell_u64(rows, i, TASK_ID)
		};

		if (!order_allows(&f->order, *last, change.log_id) ||
		    db_clock_ms() - begun > ACKNOWLEDGE_MS)
			break;
		rc = history_event(&event, rows, i);
		if (rc == DB_OK)
			*goes_on = w->deliver(&change, w->data) == 0;
		history_event_clear(&event);
		f->unsure++;
		*last = change.log_id;
	}
	if (rc == DB_OK && *goes_on && f->unsure > 0)
		*goes_on = w->deliver(NULL, w->data) == 0;
	return rc;
}

/* The part of a batch that is a transaction. */
static enum db_rc
transact(struct following *f, uint64_t position, enum outcome *outcome)
{
	struct db *db = f->q->db;
	struct db_arg cursor = db_text(f->what->cursor);
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t before = 0, last = 0, moved = 0;
	bool goes_on = true, taken;
	enum db_rc rc = db_run(db, &take_cursor, DB_ARGS(cursor), &rows);

	taken = rc == DB_OK && !db_cell_is_null(&rows, 0, 0);
	before = db_cell_u64(&rows, 0, 0);
	*outcome = taken ? MOVED : HELD;
	/* What was read before is of rows after @position. */
	if (taken && before >= position && before < order_last(&f->order))
		rc = db_run(db, &read_changes, DB_ARGS(db_u64(before),
		    db_u64(order_last(&f->order)), db_u64(f->most)), &rows);
	else
		db_rows_clear(&rows);
	if (rc == DB_OK)
		rc = deliver(f, &rows, before, &last, &goes_on);
	db_rows_clear(&rows);
	if (rc == DB_OK && !goes_on)
		*outcome = STOPPED;
	if (rc != DB_OK || !goes_on || f->unsure == 0)
		return rc;
	rc = db_number(db, &move_cursor, DB_ARGS(cursor, db_u64(before), db_u64(last)), &moved);
	if (rc == DB_OK && moved == 0)
		rc = db_refuse(db, "cursor \"%s\" can't be moved behind row %llu: work_log was "
		    "emptied: remove the cursor", f->what->cursor, (unsigned long long)last);
	if (rc == DB_OK)
		rc = db_commit(db);
	if (rc != DB_OK)
		return rc;
	*outcome = DELIVERED;
	f->done->changes += f->unsure;
	f->done->position = last;
	f->unsure = 0;
	return DB_OK;
}

static enum db_rc
batch(struct following *f, uint64_t position, enum outcome *outcome)
{
	enum db_rc rc = db_begin(f->q->db);

	if (rc == DB_OK)
		rc = transact(f, position, outcome);
	if ((rc != DB_OK || *outcome != DELIVERED) && !db_lost(f->q->db))
		db_rollback(f->q->db);
	/* A row of a batch that is held up is no reason for a small one. */
	if (rc == DB_OK && *outcome == DELIVERED)
		f->most = f->most > f->what->batch / 2 ? f->what->batch : f->most * 2;
	return rc;
}

/* Settles all numbers that there are, and not only those of the next batch: a wait is for all. Then
 * no more rows are inserted there, and a dirty read shows all that there are. */
static enum db_rc
settle(struct following *f, uint64_t position)
{
	struct db *db = f->q->db;
	uint64_t newest = 0;
	bool settled = false;
	enum db_rc rc = f->order.asked == 0 ? read_newest(db, &newest) : DB_OK;

	if (rc == DB_OK)
		rc = order_settle(&f->order, db, newest, STATEMENTS_END, gap_ms(f), &settled);
	if (rc == DB_OK && settled)
		rc = order_read(&f->order, db, position, f->most);
	return rc;
}

static enum db_rc
follow(struct following *f, enum outcome *outcome)
{
	struct order *order = &f->order;
	uint64_t position, next;
	bool there;
	enum db_rc rc = look(f, &position, &next, &there);

	*outcome = !there ? GONE : f->until == UINT64_MAX ? IDLE : DONE;
	/* The log was emptied, and its numbers begin anew. Or the cursor was moved back. */
	if (rc == DB_OK && there && position < f->done->position) {
		order_clear(order);
		f->done->position = position;
	}
	if (rc != DB_OK || !there || next == 0 || next > f->until)
		return rc;
	rc = order_read(order, f->q->db, position, f->most);
	if (rc == DB_OK && order_has_gap(order, position))
		rc = settle(f, position);
	if (rc != DB_OK)
		return rc;
	if (order_allows(order, position, next))
		return batch(f, position, outcome);
	say_waits(f, position, next);
	*outcome = WAITS;
	return DB_OK;
}

/* --- the call --- */

/* Makes the connection anew, for as long as it takes; but a server that goes on to refuse the
 * account is not on its way up. */
static enum db_rc
reconnect(struct following *f)
{
	uint64_t refused_since = 0;
	enum db_rc rc = DB_ELOST;

	/* The cursor's row is to be free soon, also where the server has not noticed the loss. */
	session_give_up(f->q, f->q->db);
	order_clear(&f->order);
	f->from_now = 0;
	for (unsigned int try = 0; retry_verdict(rc, false, 0, 0, 0) != GIVE_UP; try++) {
		if (tick(&f->ticking) != 0)
			return DB_ECANCELLED;
		if (try > 0)
			db_backoff(try);
		rc = session_connect(f->q);
		if (rc == DB_OK)
			return DB_OK;
		if (!f->q->refused)
			refused_since = 0;
		else if (refused_since == 0)
			refused_since = db_clock_ms();
		else if (db_clock_ms() - refused_since >= PATIENCE_MS)
			return DB_EFAIL;
		say_again(f);
	}
	return rc;
}

/* A reader waits for its server as long as that is away. But a server that is there and read only
 * may be no primary at all. */
static enum verdict
verdict_of(struct following *f, enum db_rc rc)
{
	uint64_t now = db_clock_ms();

	if (rc != DB_EMOVED) {
		f->fails_over = f->fails_over || rc == DB_ELOST || rc == DB_EINDOUBT;
		return retry_verdict(rc, false, 0, 0, 0);
	}
	if (f->moved == 0)
		f->moved_since = now;
	db_backoff(f->moved);
	return retry_verdict(rc, false, f->moved++, now - f->moved_since,
	    retry_patience(rc, f->fails_over, PATIENCE_MS));
}

/* Decides what becomes of a failure. After a batch that was lost the next ones are small: the
 * reader may be slow. */
static enum db_rc
recover(struct following *f, enum db_rc rc)
{
	enum verdict verdict = verdict_of(f, rc);

	if (verdict == GIVE_UP)
		return rc;
	say_again(f);
	if (f->unsure > 0)
		f->most = f->most > 2 ? f->most / 2 : 1;
	if (verdict != AGAIN) {
		rc = reconnect(f);
		if (rc == DB_OK) {
			db_set_role(f->q->db, "lockq_follower");
			rc = db_set_lock_wait(f->q->db, DB_BRIEF_WAIT_S);
		}
		if (rc != DB_OK && retry_cures(rc))
			rc = DB_OK;
	} else {
		rc = tick_sleep(&f->ticking, FOLLOW_LEAST_MS);
	}
	f->unsure = 0;
	return rc;
}

/* Pauses, for longer each time as long as nothing changes. */
static enum db_rc
rest(struct following *f, enum outcome outcome)
{
	uint64_t least = outcome == WAITS ? ORDER_LEAST_MS : FOLLOW_LEAST_MS;
	uint64_t most = outcome == WAITS ? ORDER_MOST_MS : FOLLOW_MOST_MS;

	if (outcome == HELD)
		say_held(f);
	else if (outcome != WAITS)
		say_nothing(f);
	f->gap = outcome != f->last ? least : f->gap * 2 < most ? f->gap * 2 : most;
	f->last = outcome;
	f->ticking.rows = f->done->changes;
	if (outcome == IDLE || outcome == HELD || outcome == WAITS)
		return tick_sleep(&f->ticking, f->gap);
	return tick(&f->ticking) == 0 ? DB_OK : DB_ECANCELLED;
}

static int
run(struct following *f)
{
	struct lockq *q = f->q;
	enum outcome outcome = BEGUN;
	enum db_rc rc = session_ready(q);

	if (rc == DB_OK)
		db_set_role(q->db, "lockq_follower");
	while (rc == DB_OK) {
		rc = f->begun ? follow(f, &outcome) : begin(f, &outcome);
		if (rc != DB_OK) {
			rc = recover(f, rc);
			continue;
		}
		f->moved = 0;
		f->fails_over = false;
		if (outcome == GONE || outcome == STOPPED || outcome == DONE)
			break;
		rc = rest(f, outcome);
	}
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	if (outcome == GONE)
		return error_refused(q, "cursor \"%s\" was removed", f->what->cursor);
	return outcome == STOPPED ? error_from_db(q, q->db, DB_ECANCELLED) : LOCKQ_OK;
}

static int
check_what(struct lockq *q, const struct lockq_follow *what)
{
	const char *fault = error_of_reserved(what->reserved);

	if (fault == NULL && what->deliver == NULL)
		fault = "there is no function to deliver to";
	if (fault == NULL && (what->batch < 1 || what->batch > LOCKQ_BATCH_MAX))
		fault = "a batch must have from 1 to 10000 changes";
	return fault == NULL ? follow_check_name(q, what->cursor) : error_usage(q, "%s", fault);
}

int
lockq_follow(struct lockq *q, const struct lockq_follow *what, struct lockq_followed *followed)
{
	struct following f = {
		.q = q, .what = what, .done = followed, .most = what->batch, .last = DONE,
		.ticking = { .q = q, .phase = LOCKQ_PHASE_FOLLOW, .since = db_clock_ms() }
	};
	int code = check_what(q, what);

	*followed = (struct lockq_followed)LOCKQ_FOLLOWED_INIT;
	if (code != LOCKQ_OK)
		return code;
	error_clear(q);
	operation_begin(q, OPERATION_FOLLOW, NULL, 0);
	code = run(&f);
	order_clear(&f.order);
	if (q->db != NULL)
		db_set_role(q->db, "lockq_worker");
	return operation_end(q, 0, code);
}
