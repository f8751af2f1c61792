/* SPDX-License-Identifier: MIT */
/* Step 4: the heavy query on one connection, so that the server notices who died and nobody's query
 * goes on for nothing. Which connection, and whether at all, is source.c's to say. */
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "availability.h"
#include "db.h"
#include "error.h"
#include "list.h"
#include "lock.h"
#include "progress.h"
#include "session.h"
#include "task.h"
#include "text.h"

/* No leader holds this name after its query, and we hold the task's lock: whoever still has it runs
 * the query of a leader that is gone. Hashed, because a name ends at 64 characters. */
#define QUERY_LOCK_NAME "CONCAT('lockq:', LEFT(SHA2(DATABASE(), 256), 40), ':', ?)"

static const struct db_query hold_name = {
	"hold_name",
	"SELECT GET_LOCK(" QUERY_LOCK_NAME ", ?), NOW(6)",
	DB_ONE
};

static const struct db_query name_held_by = {
	"name_held_by", "SELECT IS_USED_LOCK(" QUERY_LOCK_NAME ")", DB_ONE
};

/* This connection has no other. Without parameters it is one round trip. */
static const struct db_query give_name_back = {
	"give_name_back", "DO RELEASE_ALL_LOCKS()", DB_NO_ROWS
};

/* The wrapping, around the manager's view: without the loans that are not available, the smallest
 * priority first. One statement is one snapshot, so `version` is of the same moment as what the
 * view saw. A view that has an index in its order is read no further than LIMIT. */
static const char wrapped_view[] =
	"SELECT c.loan_id, w.version"
	"  FROM %s AS c"
	"  LEFT JOIN work AS w"
	"    ON w.task_id = ? AND w.loan_id = c.loan_id"
	" WHERE w.loan_id IS NULL OR " ROW_IS_AVAILABLE
	" ORDER BY c.priority, c.loan_id"
	" LIMIT ?";

/* The same for a view that shows its loans so often that a list which was cut short has not enough
 * of them: each counts once, and all the view is read for that. ROW_NUMBER, not MIN, which compares
 * an ENUM by its words. */
static const char wrapped_once[] =
	"SELECT c.loan_id, w.version"
	"  FROM (SELECT loan_id, priority,"
	"               ROW_NUMBER() OVER (PARTITION BY loan_id ORDER BY priority) AS n"
	"          FROM %s) AS c"
	"  LEFT JOIN work AS w"
	"    ON w.task_id = ? AND w.loan_id = c.loan_id"
	" WHERE c.n = 1"
	"   AND (w.loan_id IS NULL OR " ROW_IS_AVAILABLE ")"
	" ORDER BY c.priority, c.loan_id"
	" LIMIT ?";

enum { ORPHAN_WAIT_S = 2, TICK_EVERY_ROWS = 1024, LEAST_MS = 100 };

/* The query in progress, and what is wrong with its rows. */
struct reading {
	struct lockq *q;
	struct db *db;        /* where it runs */
	const struct task *task;
	struct list *candidates;
	struct ticking ticking;
	size_t rows;          /* of the view, in which a loan may stand several times */
	const char *fault;
	bool no_memory;
	bool begun;           /* the server has been told to run it */
};

/* What is wrong with a loan_id of the view, or NULL. */
static const char *
fault_of(const char *loan_id)
{
	if (loan_id == NULL)
		return "has a NULL loan_id";
	return loan_id[0] == '-' ? "has a negative loan_id" : NULL;
}

static int
read_candidate(char **cells, const unsigned long *lengths, void *data)
{
	struct reading *reading = data;
	struct list *c = reading->candidates;

	(void)lengths;
	reading->fault = fault_of(cells[0]);
	if (reading->fault != NULL)
		return 1;
	if (list_add(c, strtoull(cells[0], NULL, 10),
	    cells[1] != NULL ? strtoull(cells[1], NULL, 10) : 0, (uint32_t)c->n) != DB_OK) {
		reading->no_memory = true;
		return 1;
	}
	/* A long list must not leave the lock connection idle beyond its wait_timeout. */
	return c->n % TICK_EVERY_ROWS == 0 ? tick(&reading->ticking) : 0;
}

/* GET_LOCK on the query connection, and the server's time as the query is about to start. */
static int
hold(struct db *db, uint32_t task_id, unsigned int wait_s, bool *ours, char as_of[TIME_BYTES])
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &hold_name, DB_ARGS(db_u64(task_id), db_u64(wait_s)), &rows);

	*ours = rc == DB_OK && db_cell_u64(&rows, 0, 0) == 1;
	if (rc == DB_OK)
		copy_cell(as_of, TIME_BYTES, &rows, 0, 1);
	db_rows_clear(&rows);
	return rc;
}

/* Ends the query of a dead leader, where it runs under this account; another account's ends at its
 * time limit. */
static int
end_orphan(struct db *db, uint32_t task_id)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &name_held_by, DB_ARGS(db_u64(task_id)), &rows);
	uint64_t orphan = rc == DB_OK ? db_cell_u64(&rows, 0, 0) : 0;

	db_rows_clear(&rows);
	if (rc != DB_OK || orphan == 0)
		return rc;
	return db_kill(db, orphan);
}

static int
hold_name_or_end_orphan(struct db *db, uint32_t task_id, bool *ours, char as_of[TIME_BYTES])
{
	int rc = hold(db, task_id, 0, ours, as_of);

	if (rc == DB_OK && !*ours) {
		rc = end_orphan(db, task_id);
		if (rc == DB_OK)
			rc = hold(db, task_id, ORPHAN_WAIT_S, ours, as_of);
	}
	return rc;
}

static int
wrap(char sql[VIEW_SQL_BYTES], const char *format, const char *view)
{
	char quoted[NAME_BYTES * 3];
	int rc = db_quote_identifier(quoted, sizeof(quoted), view);

	/* One of the texts above. */
	if (rc == DB_OK && format == wrapped_view)
		snprintf(sql, VIEW_SQL_BYTES, wrapped_view, quoted);
	else if (rc == DB_OK)
		snprintf(sql, VIEW_SQL_BYTES, wrapped_once, quoted);
	return rc;
}

int
view_statement(char sql[VIEW_SQL_BYTES], const char *view)
{
	return wrap(sql, wrapped_view, view);
}

/* One of the two statements, @limit rows of it at most. */
static int
read_view(struct reading *reading, const char *format, uint64_t limit)
{
	const struct task *task = reading->task;
	struct list *c = reading->candidates;
	char sql[VIEW_SQL_BYTES];
	const struct db_query query = { "candidates", sql, DB_MANY };
	uint64_t used = db_clock_ms() - reading->ticking.since, most = task->max_query_s * 1000ull;
	int rc = wrap(sql, format, task->view);

	/* Both together have the task's time. */
	if (reading->begun)
		most = used + LEAST_MS < most ? most - used : LEAST_MS;
	if (rc == DB_OK)
		rc = db_set_time_limit(reading->db, most);
	c->n = 0;
	if (rc == DB_OK)
		rc = db_start(reading->db, &query, DB_ARGS(db_u64(task->task_id), db_u64(limit)));
	reading->begun = rc == DB_OK;
	if (rc == DB_OK)
		rc = db_wait(reading->db, task->max_query_s, tick, &reading->ticking);
	if (rc == DB_OK)
		rc = db_fetch(reading->db, 1, read_candidate, reading);
	reading->rows = c->n;
	c->complete = rc == DB_OK && c->n < limit;
	return rc == DB_OK ? list_once(c) : rc;
}

/* Whether a list that was cut short has too few loans because the view repeats them. */
static bool
has_too_few(const struct reading *reading, const struct lead *lead, uint64_t limit)
{
	const struct task *task = reading->task;
	const struct list *c = reading->candidates;
	uint64_t wanted = lead->wanted < limit ? lead->wanted : limit;

	return !c->complete && c->n < limit && (c->n < task->max_count + task->excluded ||
	    (c->n * 2 < reading->rows && c->n < wanted + task->excluded));
}

/* A second query, in what is left of the task's time; where that is not enough, the list is what it
 * was. The manager can spare the first one. */
static int
read_again_once(struct reading *reading, uint64_t limit, char reason[REASON_BYTES])
{
	struct list *c = reading->candidates, before = *c;
	int rc;

	if (reason[0] == '\0')
		snprintf(reason, REASON_BYTES, "queried twice, since the view shows loans several "
		    "times: declare view_repeats in the task's row");
	c->list = NULL;
	c->n = c->size = 0;
	rc = read_view(reading, wrapped_once, limit);
	if (rc != DB_ETIME) {
		free(before.list);
		return rc;
	}
	free(c->list);
	*c = before;
	return DB_OK;
}

static int
run(struct reading *reading, const struct lead *lead, uint64_t limit, char reason[REASON_BYTES])
{
	int rc;

	if (reading->task->view_repeats)
		return read_view(reading, wrapped_once, limit);
	rc = read_view(reading, wrapped_view, limit);
	if (rc == DB_OK && has_too_few(reading, lead, limit))
		rc = read_again_once(reading, limit, reason);
	return rc;
}

/* The lock connection still answers, so it is the query that failed, not the server. */
static int
explain(const struct reading *reading, int rc, enum list_result *result,
    char reason[REASON_BYTES])
{
	const struct task *task = reading->task;

	if (reading->no_memory)
		return DB_ENOMEM;
	if (rc == DB_ELOST && reading->db == reading->q->elsewhere) {
		snprintf(reason, REASON_BYTES, "queried again here, the connection of lockq_query "
		    "was lost: %s", db_error(reading->db));
		*result = LIST_LOST;
		return DB_OK;
	}
	/* A replica may not have the view yet, an account no right to it. */
	if (rc == DB_EFAIL && reading->db == reading->q->elsewhere) {
		snprintf(reason, REASON_BYTES, "queried here, the server of lockq_query can't do "
		    "it: %s", db_error(reading->db));
		*result = LIST_LOST;
		return DB_OK;
	}
	if (reading->fault != NULL)
		snprintf(reason, REASON_BYTES, "view %s %s", task->view, reading->fault);
	else if (rc == DB_ETIME || rc == DB_ELOCKWAIT)
		snprintf(reason, REASON_BYTES,
		    "view %s took longer than the task's max_query_s, %u s", task->view,
		    task->max_query_s);
	else if (rc == DB_EINTERRUPTED || rc == DB_ELOST)
		snprintf(reason, REASON_BYTES, "the query of view %s was ended on the server",
		    task->view);
	else
		snprintf(reason, REASON_BYTES, "view %s: %s", task->view, db_error(reading->db));
	*result = LIST_FAILED;
	return DB_OK;
}

/* The user gave up: nobody needs the answer, so the server must not go on. Not over the lock
 * connection, which may be cut: the next one that can be had does it, at once. */
static void
end_query(struct reading *reading)
{
	struct lockq *q = reading->q;
	struct db *other = NULL;
	struct given_up orphan;

	if (reading->db != q->elsewhere) {
		session_give_up(q, reading->db);
		return;
	}
	/* Who can't be told ends it at max_execution_time; our own lock is not concerned. */
	session_note_given_up(&orphan, reading->db);
	if (session_connect_elsewhere(q, &other) == DB_OK &&
	    session_end_given_up(other, &orphan) != DB_OK)
		error_set(q, "%s", db_error(other));
	db_close(other);
}

/* What the caller hears after @rc. */
static int
settle(struct reading *reading, int rc, enum list_result *result, char reason[REASON_BYTES])
{
	struct db *lock = reading->q->lock;

	if (rc == DB_OK)
		return DB_OK;
	if (reading->ticking.ping_rc != DB_OK)
		return reading->ticking.ping_rc;
	if (rc == DB_ECANCELLED && reading->fault == NULL && !reading->no_memory) {
		end_query(reading);
		return DB_ECANCELLED;
	}
	/* Nobody's query has failed where none ran. */
	if (db_lost(lock) || db_ping(lock) != DB_OK || (rc == DB_ELOST && !reading->begun &&
	    reading->db != reading->q->elsewhere))
		return DB_ELOST;
	/* It met an ALTER, and did nothing wrong. */
	if (rc == DB_ERETRY && reading->db != reading->q->elsewhere)
		return rc;
	return explain(reading, rc, result, reason);
}

/* Before the commit, or who leads next would take us for an orphan. */
static int
tidy_up(struct reading *reading, bool ours, enum list_result result, int rc)
{
	struct db *db = reading->db;
	int tidied = DB_OK;

	if ((rc != DB_OK || result != LIST_FOUND) && db != reading->q->lock) {
		/* Its state is not known; closed, it gives the name back by itself. */
		session_close_query(reading->q, db);
		return rc;
	}
	if (ours && !db_lost(db))
		tidied = db_run(db, &give_name_back, DB_NO_ARGS, NULL);
	/* What comes next on this connection is not the heavy query. */
	if (tidied == DB_OK && !db_lost(db))
		tidied = db_set_time_limit(db, 0);
	if (tidied != DB_OK && db != reading->q->lock) {
		/* So the name is free, and the list is good. */
		session_close_query(reading->q, db);
		return rc;
	}
	return rc == DB_OK || tidied != DB_OK ? tidied : rc;
}

int
view_query(struct lockq *q, struct db *db, const struct task *task, const struct lead *lead,
    uint64_t usual_ms, uint64_t limit, struct list *candidates, enum list_result *result,
    char reason[REASON_BYTES])
{
	struct reading reading = {
		.q = q, .db = db, .task = task, .candidates = candidates,
		.ticking = { .q = q, .phase = LOCKQ_PHASE_QUERY, .since = db_clock_ms(),
			.usual_ms = usual_ms, .keep_alive = db == q->lock ? NULL : q->lock }
	};
	char sql[VIEW_SQL_BYTES];
	bool ours = false;
	int rc;

	*result = LIST_FOUND;
	list_clear(candidates);
	if (view_statement(sql, task->view) != DB_OK) {
		snprintf(reason, REASON_BYTES, "candidates_view is not the name of a view: "
		    "letters, digits, _ and $, with one dot at most");
		*result = LIST_FAILED;
		return DB_OK;
	}
	rc = hold_name_or_end_orphan(db, task->task_id, &ours, candidates->as_of);
	if (rc == DB_OK)
		rc = run(&reading, lead, limit, reason);
	candidates->query_ms = db_clock_ms() - reading.ticking.since;
	rc = settle(&reading, rc, result, reason);
	return tidy_up(&reading, ours, *result, rc);
}
