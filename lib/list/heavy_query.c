/* SPDX-License-Identifier: MIT */
/* Step 4: runs the heavy query on one connection, and tells what a failure of it means: for the
 * leader, for all requests, or for the connection only. source.c and replica.c choose the
 * connection. */
#include "list/search.h"

#include <inttypes.h>
#include <stdio.h>

#include "handle/session.h"

/* Writes why the query failed to the search's reason. The lock connection still answers, so the
 * server is there. */
static enum db_rc
explain(const struct reading *reading, enum db_rc rc, enum list_result *result)
{
	const struct task *task = reading->search->task;
	char *reason = reading->search->reason;
	/* On the connection elsewhere every failure but a time limit and a KILL counts as lost.
	 * Those two would end the query here, too. */
	bool lost = reading->db == reading->search->q->elsewhere && reading->fault == NULL &&
	    rc != DB_ETIME && rc != DB_ELOCKWAIT && rc != DB_EINTERRUPTED;

	*result = lost ? LIST_LOST : LIST_FAILED;
	/* That is this process's fault, not the query's: another one may lead. */
	if (reading->no_memory || (rc == DB_ENOMEM && !lost))
		return DB_ENOMEM;
	/* A replica may not have the view yet, or the other account no privilege for it. */
	if (lost)
		snprintf(reason, REASON_BYTES, "%s: %s", rc == DB_ELOST ?
		    "queried again here, since the connection of lockq_query was lost" :
		    "queried here, since the server of lockq_query can't do it",
		    db_error(reading->db));
	else if (reading->fault != NULL)
		snprintf(reason, REASON_BYTES, "view \"%s\" %s", task->view, reading->fault);
	else if (rc == DB_ETIME || rc == DB_ELOCKWAIT)
		snprintf(reason, REASON_BYTES,
		    "view \"%s\" took longer than the task's max_query_s, %u s", task->view,
		    task->max_query_s);
	else if (rc == DB_EINTERRUPTED)
		snprintf(reason, REASON_BYTES, "the query of view \"%s\" was ended on the server",
		    task->view);
	/* The client can't tell one from the other. */
	else if (rc == DB_ELOST)
		snprintf(reason, REASON_BYTES, "the query of view \"%s\" was ended on the server, "
		    "or its connection was cut, after %" PRIu64 " s: a proxy must let a silent "
		    "connection be for longer than the task's max_query_s, %u s", task->view,
		    (db_clock_ms() - reading->ticking.since) / 1000, task->max_query_s);
	else
		snprintf(reason, REASON_BYTES, "view \"%s\": %s", task->view,
		    db_error(reading->db));
	return DB_OK;
}

/* The user gave up, so the query must not go on. The next connection that is made ends it. The
 * lock connection is not used, since it may be cut. */
static void
end_query(struct reading *reading)
{
	struct lockq *q = reading->search->q;

	if (reading->db != q->elsewhere)
		session_give_up(q, reading->db);
	else
		session_end_elsewhere(q);
}

/* Decides what heavy_query_run() returns after @rc. */
static enum db_rc
settle(struct reading *reading, enum db_rc rc, enum list_result *result)
{
	struct lockq *q = reading->search->q;

	if (rc == DB_OK)
		return DB_OK;
	if (reading->ticking.ping_rc != DB_OK)
		return reading->ticking.ping_rc;
	if (rc == DB_ECANCELLED && reading->fault == NULL && !reading->no_memory) {
		if (!q->led_elsewhere)
			end_query(reading);
		return DB_ECANCELLED;
	}
	if (db_lost(q->db) || db_ping(q->db) != DB_OK)
		return DB_ELOST;
	/* A connection that was lost, or that the server had no room to serve, before the query
	 * began, is not the view's fault, nor is a deadlock, for example with an ALTER: with a
	 * reason all requests would end as failed. The connection is closed next, and its error
	 * goes. */
	if (reading->db != q->elsewhere && (rc == DB_ERETRY ||
	    ((rc == DB_ELOST || rc == DB_ECROWDED) && !reading->begun)))
		return reading->db == q->db ? rc :
		    db_fail_with(q->db, rc, "%s", db_error(reading->db));
	return explain(reading, rc, result);
}

/* Gives the query's name back before the leader's COMMIT, or the next leader would kill this
 * connection as an orphan. */
static enum db_rc
tidy_up(struct reading *reading, bool ours, enum list_result result, enum db_rc rc)
{
	struct lockq *q = reading->search->q;
	struct db *db = reading->db;
	enum db_rc tidied = DB_OK;

	/* The connection's state is not known. Closing it gives the name back as well. */
	if ((rc != DB_OK || result != LIST_FOUND) && db != q->db) {
		session_close_query(q, db);
		return rc;
	}
	if (ours && !db_lost(db))
		tidied = orphan_give_name_back(db);
	/* The next statement on this connection is not the heavy query. */
	if (tidied == DB_OK && !db_lost(db))
		tidied = db_set_time_limit(db, 0);
	/* The list is good all the same. */
	if (tidied != DB_OK && db != q->db) {
		session_close_query(q, db);
		return rc;
	}
	return rc == DB_OK || tidied != DB_OK ? tidied : rc;
}

enum db_rc
heavy_query_run(const struct search *search, struct db *db, enum list_result *result)
{
	struct lockq *q = search->q;
	struct reading reading = {
		.search = search, .db = db,
		.ticking = { .q = q, .phase = LOCKQ_PHASE_QUERY, .since = db_clock_ms(),
			.usual_ms = search->usual_ms, .keep_alive = db == q->db ? NULL : q->db }
	};
	char sql[VIEW_SQL_BYTES];
	bool ours = false;
	enum db_rc rc;

	*result = LIST_FOUND;
	list_clear(search->found);
	if (view_statement(sql, search->task->view) != DB_OK) {
		snprintf(search->reason, REASON_BYTES, "candidates_view is not the name of a "
		    "view: a name has letters, digits, _ and $, and one dot at most");
		*result = LIST_FAILED;
		return DB_OK;
	}
	rc = orphan_end_and_hold_name(db, search->task->task_id, &ours, search->found->as_of);
	if (rc == DB_OK)
		rc = view_read(&reading);
	search->found->query_ms = db_clock_ms() - reading.ticking.since;
	rc = settle(&reading, rc, result);
	return tidy_up(&reading, ours, *result, rc);
}
