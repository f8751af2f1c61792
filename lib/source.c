/* SPDX-License-Identifier: MIT */
/* Step 4: the list of loans that may be given, from where it costs least: what the last query left,
 * a query elsewhere, or the query here. Whatever is not from here and now is a hint: step 5 checks
 * it, and it never means "no work". */
#include "source.h"

#include "cache.h"
#include "heavy_query.h"
#include "replica.h"
#include "session.h"

static uint64_t
longest(const struct task *task)
{
	return (task->candidate_limit > task->max_count ? task->candidate_limit :
	    task->max_count) + task->excluded;
}

enum db_rc
source_find(struct lockq *q, const struct task *task, struct lead *lead, uint64_t *usual_ms,
    struct list *found, enum list_result *result, char reason[REASON_BYTES])
{
	/* Waiting followers may have taken all connections: the leader must not starve. */
	enum db_rc rc = session_ready_query(q);
	/* Did the last list leave requests pending? Then a hint was not enough. */
	bool hints = lead->left_pending == 0, enough = false, crowded;
	struct db *beside;

	*result = LIST_FOUND;
	list_clear(found);
	if (rc != DB_OK && rc != DB_ECROWDED)
		return rc;
	/* On the lock connection an error would end the lock's transaction unseen. */
	if (q->query != NULL)
		task_usual_ms_if_shown(q, q->query, task->task_id, usual_ms);
	rc = DB_OK;
	if (hints && task->cache_ttl > 0 && q->query != NULL)
		rc = cache_read(q->query, task, lead->wanted + task->excluded, found, &enough);
	/* Something extra, not worth an error: where it can't be had there is the query. */
	if (rc == DB_ELOCKWAIT || rc == DB_EFAIL)
		rc = DB_OK;
	if (rc != DB_OK || enough)
		return rc;
	*result = LIST_LOST;
	if (hints && q->asks_elsewhere)
		rc = replica_ask(q, task, lead, *usual_ms, longest(task), found, result, reason);
	if (rc != DB_OK || *result != LIST_LOST)
		return rc;
	/* Which one it is is not seen any more when the connection was lost behind the list. */
	beside = session_beside(q);
	crowded = beside == q->db;
	rc = heavy_query_run(q, beside, task, lead, *usual_ms, longest(task), found, result, reason);
	found->source = crowded ? LIST_CROWDED : LIST_QUERY;
	return rc;
}
