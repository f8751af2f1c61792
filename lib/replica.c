/* SPDX-License-Identifier: MIT */
/* Step 4 elsewhere: the heavy query over the connection of lockq_query_at(), to another account or
 * to a server that may lag. */
#include "replica.h"

#include <stdio.h>
#include <string.h>

#include "heavy_query.h"
#include "session.h"

enum { SAMPLE = 200 };

/* Whether most of what comes first has changed since the list's server saw it. */
static enum db_rc
is_stale(struct db *db, const struct task *task, const struct list *candidates, bool *stale)
{
	struct loans loans = { NULL, 0 };
	size_t n = candidates->n < SAMPLE ? candidates->n : SAMPLE;
	enum db_rc rc = list_unchanged(db, task, candidates, n, &loans);

	*stale = loans.n * 2 < n;
	loans_clear(&loans);
	return rc;
}

/* Another account on the same server sees the same `work`, if it looks into the same database. */
static bool
same_tables(const struct db *a, const struct db *b)
{
	return db_same_server(a, b) && strcmp(db_database(a), db_database(b)) == 0;
}

enum db_rc
replica_ask(struct lockq *q, const struct task *task, const struct lead *lead, uint64_t usual_ms,
    uint64_t limit, struct list *found, enum list_result *result, char reason[REASON_BYTES])
{
	bool stale = false, same;
	enum db_rc rc = session_ready_elsewhere(q);

	*result = LIST_LOST;
	if (rc != DB_OK) {
		snprintf(reason, REASON_BYTES, "queried here, since the server of lockq_query "
		    "can't be used: %s", db_error(q->elsewhere));
		session_close_query(q, q->elsewhere);
		return rc == DB_ENOMEM ? rc : DB_OK;
	}
	/* Before the query: a connection that is lost behind the list is closed. */
	same = same_tables(q->elsewhere, q->db);
	rc = heavy_query_run(q, q->elsewhere, task, lead, usual_ms, limit, found, result, reason);
	/* The second connection was idle meanwhile, perhaps for longer than the server waits. */
	if (rc == DB_OK && *result != LIST_FAILED) {
		rc = session_ready_query(q);
		if (rc == DB_ECROWDED)
			rc = DB_OK;
	}
	if (rc != DB_OK || *result != LIST_FOUND)
		return rc;
	found->source = same ? LIST_ELSEWHERE : LIST_REPLICA;
	if (found->source == LIST_REPLICA)
		rc = is_stale(session_beside(q), task, found, &stale);
	if (rc == DB_OK && stale) {
		snprintf(reason, REASON_BYTES, "queried again here, since most loans that the "
		    "server of lockq_query found are stale");
		*result = LIST_LOST;
	}
	return rc;
}
