/* SPDX-License-Identifier: MIT */
/* Step 4: the heavy query on one connection, from the name that it holds to what a failure means.
 * source.c and replica.c say which connection. */
#include "heavy_query.h"

#include <stdio.h>

#include "error.h"
#include "orphan.h"
#include "session.h"
#include "view.h"

/* The lock connection still answers, so it is the query that failed, not the server. */
static enum db_rc
explain(const struct reading *reading, enum db_rc rc, enum list_result *result,
    char reason[REASON_BYTES])
{
	const struct task *task = reading->task;

	if (reading->no_memory)
		return DB_ENOMEM;
	/* A replica may not have the view yet, and an account may have no right to it. */
	if ((rc == DB_ELOST || rc == DB_EFAIL) && reading->db == reading->q->elsewhere) {
		snprintf(reason, REASON_BYTES, "%s: %s", rc == DB_ELOST ?
		    "queried again here, since the connection of lockq_query was lost" :
		    "queried here, since the server of lockq_query can't do it",
		    db_error(reading->db));
		*result = LIST_LOST;
		return DB_OK;
	}
	if (reading->fault != NULL)
		snprintf(reason, REASON_BYTES, "view \"%s\" %s", task->view, reading->fault);
	else if (rc == DB_ETIME || rc == DB_ELOCKWAIT)
		snprintf(reason, REASON_BYTES,
		    "view \"%s\" took longer than the task's max_query_s, %u s", task->view,
		    task->max_query_s);
	else if (rc == DB_EINTERRUPTED || rc == DB_ELOST)
		snprintf(reason, REASON_BYTES, "the query of view \"%s\" was ended on the server",
		    task->view);
	else
		snprintf(reason, REASON_BYTES, "view \"%s\": %s", task->view,
		    db_error(reading->db));
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
static enum db_rc
settle(struct reading *reading, enum db_rc rc, enum list_result *result, char reason[REASON_BYTES])
{
	struct db *lock = reading->q->db;

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
static enum db_rc
tidy_up(struct reading *reading, bool ours, enum list_result result, enum db_rc rc)
{
	struct db *db = reading->db;
	enum db_rc tidied = DB_OK;

	if ((rc != DB_OK || result != LIST_FOUND) && db != reading->q->db) {
		/* Its state is not known; closed, it gives the name back by itself. */
		session_close_query(reading->q, db);
		return rc;
	}
	if (ours && !db_lost(db))
		tidied = orphan_give_name_back(db);
	/* What comes next on this connection is not the heavy query. */
	if (tidied == DB_OK && !db_lost(db))
		tidied = db_set_time_limit(db, 0);
	if (tidied != DB_OK && db != reading->q->db) {
		/* So the name is free, and the list is good. */
		session_close_query(reading->q, db);
		return rc;
	}
	return rc == DB_OK || tidied != DB_OK ? tidied : rc;
}

enum db_rc
heavy_query_run(struct lockq *q, struct db *db, const struct task *task, const struct lead *lead,
    uint64_t usual_ms, uint64_t limit, struct list *candidates, enum list_result *result,
    char reason[REASON_BYTES])
{
	struct reading reading = {
		.q = q, .db = db, .task = task, .candidates = candidates,
		.ticking = { .q = q, .phase = LOCKQ_PHASE_QUERY, .since = db_clock_ms(),
			.usual_ms = usual_ms, .keep_alive = db == q->db ? NULL : q->db }
	};
	char sql[VIEW_SQL_BYTES];
	bool ours = false;
	enum db_rc rc;

	*result = LIST_FOUND;
	list_clear(candidates);
	if (view_statement(sql, task->view) != DB_OK) {
		snprintf(reason, REASON_BYTES, "candidates_view is not the name of a view: a name "
		    "has letters, digits, _ and $, and one dot at most");
		*result = LIST_FAILED;
		return DB_OK;
	}
	rc = orphan_end_and_hold_name(db, task->task_id, &ours, candidates->as_of);
	if (rc == DB_OK)
		rc = view_read(&reading, lead, limit, reason);
	candidates->query_ms = db_clock_ms() - reading.ticking.since;
	rc = settle(&reading, rc, result, reason);
	return tidy_up(&reading, ours, *result, rc);
}
