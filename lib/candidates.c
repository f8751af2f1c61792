/* SPDX-License-Identifier: MIT */
/* Step 4: the heavy query, once, on a connection of its own. What it returns is a hint that step 5
 * checks under lock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* No leader holds this name after its query, and we hold the task's lock: whoever still has it runs
 * the query of a leader that is gone. Hashed, because a name ends at 64 characters. */
#define QUERY_LOCK_NAME "CONCAT('lockq:', LEFT(SHA2(DATABASE(), 256), 40), ':', ?)"

static const struct db_query claim_query = {
	"claim_query",
	"SELECT GET_LOCK(" QUERY_LOCK_NAME ", ?), NOW(6)",
	DB_ONE
};

static const struct db_query query_claimed_by = {
	"query_claimed_by", "SELECT IS_USED_LOCK(" QUERY_LOCK_NAME ")", DB_ONE
};

static const struct db_query unclaim_query = {
	"unclaim_query", "SELECT RELEASE_LOCK(" QUERY_LOCK_NAME ")", DB_ONE
};

/* The wrapping, around the manager's view: each loan once, without those that are not available,
 * the smallest priority first. One statement is one snapshot, so `version` is of the same moment as
 * what the view saw. ROW_NUMBER, not MIN, which compares an ENUM by its words. */
static const char wrapped_view[] =
	"SELECT c.loan_id, w.version"
	"  FROM (SELECT loan_id, priority,"
	"               ROW_NUMBER() OVER (PARTITION BY loan_id ORDER BY priority) AS n"
	"          FROM %s) AS c"
	"  LEFT JOIN work AS w"
	"    ON w.task_id = ? AND w.loan_id = c.loan_id"
	" WHERE c.n = 1"
	"   AND (w.loan_id IS NULL"
	"        OR w.state = 'completed'"
	"        OR (w.state = 'returned' AND w.available_at <= NOW(6))"
	"        OR (w.state = 'assigned' AND w.lease_expires_at <= NOW(6)))"
	" ORDER BY c.priority, c.loan_id"
	" LIMIT ?";

enum { ORPHAN_WAIT_S = 2, PING_EVERY_ROWS = 1024 };

/* While rows are read: where they go, what is wrong with them. */
struct reading {
	struct candidates *candidates;
	struct ticking *ticking;
	const char *fault;
	bool no_memory;
};

void
candidates_clear(struct candidates *candidates)
{
	free(candidates->list);
	*candidates = (struct candidates){ .list = NULL };
}

void
candidates_forget_gone(struct candidates *candidates)
{
	size_t kept = 0;

	for (size_t i = 0; i < candidates->n; i++) {
		if (!candidates->list[i].gone)
			candidates->list[kept++] = candidates->list[i];
	}
	candidates->n = kept;
	candidates->next = 0;
}

static int
read_candidate(char **cells, const unsigned long *lengths, void *data)
{
	struct reading *reading = data;
	struct candidates *c = reading->candidates;

	(void)lengths;
	if (cells[0] == NULL)
		reading->fault = "has a NULL loan_id";
	else if (cells[0][0] == '-')
		reading->fault = "has a negative loan_id";
	if (reading->fault != NULL)
		return 1;
	if (c->n == c->size) {
		size_t size = c->size * 2 + 1024;
		struct candidate *list = realloc(c->list, size * sizeof(*list));

		if (list == NULL) {
			reading->no_memory = true;
			return 1;
		}
		c->list = list;
		c->size = size;
	}
	c->list[c->n].loan_id = strtoull(cells[0], NULL, 10);
	c->list[c->n].gone = false;
	c->list[c->n].version = cells[1] != NULL ? strtoull(cells[1], NULL, 10) : 0;
	c->n++;
	/* A long list must not leave the lock connection idle beyond its wait_timeout. */
	return c->n % PING_EVERY_ROWS == 0 ? tick(reading->ticking) : 0;
}

/* GET_LOCK on the query connection, and the server's time as the query is about to start. */
static int
claim(struct db *db, uint32_t task_id, unsigned int wait_s, bool *ours, char as_of[TIME_BYTES])
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &claim_query, DB_ARGS(db_u64(task_id), db_u64(wait_s)), &rows);

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
	int rc = db_run(db, &query_claimed_by, DB_ARGS(db_u64(task_id)), &rows);
	uint64_t orphan = rc == DB_OK ? db_cell_u64(&rows, 0, 0) : 0;

	db_rows_clear(&rows);
	if (rc != DB_OK || orphan == 0)
		return rc;
	return db_kill(db, orphan);
}

static int
claim_or_end_orphan(struct db *db, uint32_t task_id, bool *ours, char as_of[TIME_BYTES])
{
	int rc = claim(db, task_id, 0, ours, as_of);

	if (rc == DB_OK && !*ours) {
		rc = end_orphan(db, task_id);
		if (rc == DB_OK)
			rc = claim(db, task_id, ORPHAN_WAIT_S, ours, as_of);
	}
	return rc;
}

static int
unclaim(struct db *db, uint32_t task_id)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &unclaim_query, DB_ARGS(db_u64(task_id)), &rows);

	db_rows_clear(&rows);
	return rc;
}

int
candidates_statement(char sql[CANDIDATES_SQL_BYTES], const char *view)
{
	char quoted[NAME_BYTES * 3];
	int rc = db_quote_identifier(quoted, sizeof(quoted), view);

	if (rc == DB_OK)
		snprintf(sql, CANDIDATES_SQL_BYTES, wrapped_view, quoted);
	return rc;
}

static int
run_query(struct db *db, const struct task *task, const char *sql, struct reading *reading)
{
	const struct db_query query = { "candidates", sql, DB_MANY };
	uint32_t limit = task->candidate_limit > task->max_count ? task->candidate_limit :
	    task->max_count;
	int rc = db_set_time_limit(db, task->max_query_s);

	if (rc == DB_OK)
		rc = db_start(db, &query, DB_ARGS(db_u64(task->task_id), db_u64(limit)));
	if (rc == DB_OK)
		rc = db_wait(db, tick, reading->ticking);
	if (rc == DB_OK)
		rc = db_fetch(db, 1, read_candidate, reading);
	reading->candidates->exhaustive = reading->candidates->n < limit;
	return rc;
}

/* The lock connection still answers, so it is the query that failed, not the server. */
static int
explain(const struct task *task, const struct db *db, const struct reading *reading, int rc,
    char reason[REASON_BYTES])
{
	if (reading->no_memory)
		return DB_ENOMEM;
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
		snprintf(reason, REASON_BYTES, "view %s: %s", task->view, db_error(db));
	return CANDIDATES_FAILED;
}

/* What the caller hears after @rc. */
static int
settle(struct lockq *q, const struct task *task, const struct lead *lead,
    const struct reading *reading, int rc, char reason[REASON_BYTES])
{
	const struct db *db = lead->single ? q->lock : q->query;

	if (rc == DB_OK)
		return DB_OK;
	if (reading->ticking->ping_rc != DB_OK)
		return reading->ticking->ping_rc;
	if (rc == DB_ECANCELLED && reading->fault == NULL && !reading->no_memory) {
		/* The user gave up: nobody needs the answer, so the server must not go on. */
		if (!lead->single && db_kill(q->lock, db_connection_id(q->query)) == DB_ELOST)
			return DB_ELOST;
		return DB_ECANCELLED;
	}
	if (db_lost(q->lock) || db_ping(q->lock) != DB_OK)
		return DB_ELOST;
	return explain(task, db, reading, rc, reason);
}

/* Before the commit, or who leads next would take us for an orphan. */
static int
tidy_up(struct lockq *q, const struct task *task, const struct lead *lead, bool ours, int rc)
{
	struct db *db = lead->single ? q->lock : q->query;
	int tidied = DB_OK;

	if (rc != DB_OK && !lead->single) {
		/* Its state is not known; closed, it gives the name back by itself. */
		db_close(q->query);
		q->query = NULL;
		return rc;
	}
	if (ours && !db_lost(db))
		tidied = unclaim(db, task->task_id);
	if (tidied == DB_OK && lead->single && !db_lost(db))
		tidied = db_set_time_limit(db, 0);
	return rc == DB_OK || tidied != DB_OK ? tidied : rc;
}

int
candidates_fetch(struct lockq *q, const struct task *task, const struct lead *lead,
    uint64_t usual_ms, struct candidates *candidates, char reason[REASON_BYTES])
{
	struct db *db = lead->single ? q->lock : q->query;
	struct ticking ticking = {
		.q = q, .phase = LOCKQ_PHASE_QUERY, .since = db_clock_ms(), .usual_ms = usual_ms,
		.keep_alive = lead->single ? NULL : q->lock, .pinged = db_clock_ms()
	};
	struct reading reading = { candidates, &ticking, NULL, false };
	char sql[CANDIDATES_SQL_BYTES];
	bool ours = false;
	int rc;

	candidates_clear(candidates);
	if (candidates_statement(sql, task->view) != DB_OK) {
		snprintf(reason, REASON_BYTES, "candidates_view is not the name of a view: "
		    "letters, digits, _ and $, with one dot at most");
		return CANDIDATES_FAILED;
	}
	rc = claim_or_end_orphan(db, task->task_id, &ours, candidates->as_of);
	if (rc == DB_OK)
		rc = run_query(db, task, sql, &reading);
	candidates->query_ms = db_clock_ms() - ticking.since;
	rc = settle(q, task, lead, &reading, rc, reason);
	return tidy_up(q, task, lead, ours, rc);
}
