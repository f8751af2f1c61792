/* SPDX-License-Identifier: MIT */
/* Where a task's loans come from. A leader searches a list; search.h names the files for that, and
 * this one decides. What the leader's round leaves is kept for others:
 *
 *   list.c      the list in memory
 *   kept.c      writes it to the database
 *   kept_age.c  says whether a kept list is too old, or due to be filled anew
 *   take.c      takes loans from a kept list
 *   ask_view.c  asks the view whether loans still match
 *
 * Step 4: the list comes from a query elsewhere, or from the query here. The
 * list of another server is a hint. Step 5 checks it, and it never means "no work". Where another
 * process has left a kept list meanwhile, no query runs. */
#include "list/search.h"

#include "handle/session.h"
#include "list/kept.h"

static uint64_t
longest(const struct task *task)
{
	return (task->candidate_limit > task->max_count ? task->candidate_limit :
	    task->max_count) + task->excluded;
}

/* Chooses the length of the list. After a light query a short one does: few others ask during the
 * next query, and what nobody gets is lost. */
static void
choose_length(struct search *search)
{
	const struct task *task = search->task;
	const struct lead *lead = search->lead;
	uint64_t wanted = lead->wanted > task->max_count ? lead->wanted : task->max_count;
	uint64_t most = longest(task), enough = list_enough(wanted) + task->excluded;

	search->is_short = search->is_short && lead->light && enough < most;
	search->limit = search->is_short ? enough : most;
}

/* Runs the query, elsewhere or here. */
static enum db_rc
query(struct search *search, bool hints, enum list_result *result)
{
	struct lockq *q = search->q;
	struct db *beside;
	bool crowded;
	enum db_rc rc = DB_OK;

	*result = LIST_LOST;
	if (hints && q->asks_elsewhere)
		rc = replica_ask(search, result);
	if (rc != DB_OK || *result != LIST_LOST)
		return rc;
	/* Asked before the query, since heavy_query_run() closes a connection that was lost. */
	beside = session_beside(q);
	crowded = beside == q->db;
	rc = heavy_query_run(search, beside, result);
	search->found->source = crowded ? LIST_CROWDED : LIST_QUERY;
	return rc;
}

/* Whether there is a list that the call has not taken from; or, for a refill, one that is not due
 * any more. Only a process with the task's lock writes one, and this call has it, so the answer
 * stays true. The list counts also if the task was paused since the lock was taken: else the query
 * would run in vain, and its loans would be given in the pause. */
static enum db_rc
look_for_kept(struct search *search, enum list_result *result)
{
	struct task task = *search->task;
	struct kept kept;
	bool known = false;
	enum db_rc rc = kept_look(search->q->query, NULL, &task, &kept, &known);

	if (rc == DB_OK && search->refills)
		*result = search->only_due && !kept.due ? LIST_KEPT : LIST_FOUND;
	else if (rc == DB_OK && kept.is_there && kept.length > kept.head &&
	    kept.epoch != search->tried)
		*result = LIST_KEPT;
	return rc;
}

enum db_rc
source_find(struct search *search, enum list_result *result)
{
	struct lockq *q = search->q;
	const struct task *task = search->task;
	const struct lead *lead = search->lead;
	/* Without a second connection (DB_ECROWDED) the query runs on the lock connection: waiting
	 * followers, which may have taken all sessions, must not keep the leader from leading. */
	enum db_rc rc = session_ready_query(q);
	/* If the last leader's list left requests pending, a hint is not enough for them. */
	bool hints = lead->left_pending == 0;

	*result = LIST_FOUND;
	choose_length(search);
	list_clear(search->found);
	if (rc != DB_OK && rc != DB_ECROWDED)
		return rc;
	/* These reads never run in the lock's transaction: an error there could end that
	 * transaction unnoticed. */
	if (q->query != NULL)
		task_usual_ms_if_shown(q, q->query, task->task_id, &search->usual_ms);
	rc = DB_OK;
	if (task->cache_ttl > 0 && q->query != NULL && !search->fresh)
		rc = look_for_kept(search, result);
	if (rc != DB_OK || *result == LIST_KEPT)
		return rc;
	rc = query(search, hints, result);
	search->found->cut = search->is_short && !search->found->complete;
	return rc == DB_OK && *result == LIST_FOUND ? urgent_first(search) : rc;
}
