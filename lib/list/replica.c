/* SPDX-License-Identifier: MIT */
/* Step 4 elsewhere: runs the heavy query over the connection of lockq_query_at(), with another
 * account or on a replica, which may lag behind. */
#include "list/search.h"

#include <stdio.h>
#include <string.h>

#include "handle/session.h"

/* How many loans of the list are still as its server saw them. Without a lock, since step 5 checks
 * each loan that is given. */
static DB_QUERY(count_unchanged, DB_ONE,
    "SELECT COUNT(*)"
    "  FROM JSON_TABLE(?, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',"
    "                                     version BIGINT UNSIGNED PATH '$[1]')) AS j"
    "  LEFT JOIN work AS w FORCE INDEX (PRIMARY)"
    "    ON w.task_id = ? AND w.loan_id = j.loan_id"
    " WHERE COALESCE(w.version, 0) = j.version");

enum { SAMPLE = 200 };

/* Whether most of the list's first loans have changed since its server saw them. */
static enum db_rc
is_stale(struct db *db, const struct task *task, const struct list *list, bool *stale)
{
	struct text json = { NULL, 0, 0, false };
	size_t n = list->n < SAMPLE ? list->n : SAMPLE;
	uint64_t unchanged = 0;
	enum db_rc rc;

	list_json(list, 0, n, &json);
	rc = json.failed ? DB_ENOMEM : db_number(db, &count_unchanged,
	    DB_ARGS(db_text(json.data), db_u64(task->task_id)), &unchanged);
	*stale = unchanged * 2 < n;
	text_clear(&json);
	return rc;
}

/* Another account on the same server, in the same database, sees the same rows of `work`. */
static bool
same_tables(const struct db *a, const struct db *b)
{
	return db_same_server(a, b) && strcmp(db_database(a), db_database(b)) == 0;
}

enum db_rc
replica_ask(const struct search *search, enum list_result *result)
{
	struct lockq *q = search->q;
	bool stale = false, same;
	enum db_rc rc = session_ready_elsewhere(q);

	*result = LIST_LOST;
	if (rc != DB_OK) {
		snprintf(search->reason, REASON_BYTES, "queried here, since the server of "
		    "lockq_query can't be used: %s", db_error(q->elsewhere));
		session_close_query(q, q->elsewhere);
		return rc == DB_ENOMEM ? rc : DB_OK;
	}
	/* Asked before the query, since heavy_query_run() closes a connection that was lost. */
	same = same_tables(q->elsewhere, q->db);
	rc = heavy_query_run(search, q->elsewhere, result);
	/* The query connection was idle meanwhile, perhaps for longer than wait_timeout. */
	if (rc == DB_OK && *result != LIST_FAILED) {
		rc = session_ready_query(q);
		if (rc == DB_ECROWDED)
			rc = DB_OK;
	}
	if (rc != DB_OK || *result != LIST_FOUND)
		return rc;
	search->found->source = same ? LIST_ELSEWHERE : LIST_REPLICA;
	if (!same)
		rc = is_stale(session_beside(q), search->task, search->found, &stale);
	if (rc == DB_OK && stale) {
		snprintf(search->reason, REASON_BYTES, "queried again here, since most loans "
		    "that the server of lockq_query found are stale");
		*result = LIST_LOST;
	}
	return rc;
}
