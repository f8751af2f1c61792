/* SPDX-License-Identifier: MIT */
/* Step 5: decides which request gets which loan, and writes it in the lock's transaction. It takes
 * a constant number of statements, however many requests there are. A batch of rows is one JSON
 * parameter, since a statement has 65,535 placeholders at most. */
#include "getwork/assign.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "getwork/pending.h"
#include "handle/bounds.h"
#include "handle/session.h"
#include "list/ask_view.h"
#include "rules/rules.h"

/* A batch of candidates; n counts the batch from 1. */
#define BATCH \
	"JSON_TABLE(?, '$[*]' COLUMNS (n FOR ORDINALITY," \
	"                              loan_id BIGINT UNSIGNED PATH '$[0]'," \
	"                              version BIGINT UNSIGNED PATH '$[1]')) AS j"

/* The loans that stand in the task's kept list, which others take from at the same time: whoever
 * gives one of them holds its row there, this leader as well. The rows are locked by the primary
 * key: by another index, the entry there of a row that is passed over would stay locked, and the
 * taker who has the row could not delete it. */
DB_QUERY(in_kept_list, DB_MANY,
    "SELECT j.n, k.epoch, k.position FROM " BATCH
    "  STRAIGHT_JOIN kept_loan AS k FORCE INDEX (kept_loan_loan)"
    "    ON k.task_id = ? AND k.loan_id = j.loan_id"
    "   AND k.epoch = (SELECT l.epoch FROM kept_list AS l FORCE INDEX (PRIMARY)"
    "                   WHERE l.task_id = k.task_id ORDER BY l.epoch DESC LIMIT 1)");
DB_QUERY(lock_kept, DB_MANY,
    "SELECT j.n FROM JSON_TABLE(?, '$[*]' COLUMNS (n INT UNSIGNED PATH '$[0]',"
    "                                              epoch BIGINT UNSIGNED PATH '$[1]',"
    "                                              position INT UNSIGNED PATH '$[2]')) AS j"
    "  STRAIGHT_JOIN kept_loan AS k FORCE INDEX (PRIMARY)"
    "    ON k.task_id = ? AND k.epoch = j.epoch AND k.position = j.position"
    "   FOR UPDATE OF k SKIP LOCKED");

/* They with their rows of work. */
#define CANDIDATES \
	BATCH \
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)" \
	"    ON w.task_id = ? AND w.loan_id = j.loan_id"

/* A row that another transaction holds is skipped, so the loan counts as changed. ROW_IS_AVAILABLE
 * is asked again, since a replica whose clock is ahead has seen leases as over that are not. */
DB_QUERY(lock_seen, DB_MANY,
    "SELECT j.n FROM " CANDIDATES
    " WHERE j.version > 0 AND w.version = j.version"
    "   AND " ROW_IS_AVAILABLE
    "   FOR UPDATE OF w SKIP LOCKED");

/* The loans that had no row as the query saw them, and have one now. Not a locking read: with SKIP
 * LOCKED it would take a row that another session holds for absent. On the query connection it is a
 * dirty read, which sees an INSERT before its COMMIT, so that insert_work need not wait for it. */
static DB_QUERY(appeared, DB_MANY, "SELECT j.n FROM " CANDIDATES " WHERE j.version = 0");

/* The loans that somebody has. A plain read: a row that is being changed is as it was before. */
static DB_QUERY(somebody_has, DB_MANY,
    "SELECT j.n FROM " CANDIDATES
    " WHERE w.state = 'assigned' AND " LEASE_LASTS);

#define PLAN_TABLE \
	"JSON_TABLE(?, '$[*]' COLUMNS (n FOR ORDINALITY," \
	"                              loan_id BIGINT UNSIGNED PATH '$[0]'," \
	"                              version BIGINT UNSIGNED PATH '$[1]'," \
	"                              user_id INT UNSIGNED PATH '$[2]'," \
	"                              request_id BIGINT UNSIGNED PATH '$[3]')) AS j"

/* An assignment whose lease ran out ends before the next one begins. So the log gets two rows, and
 * the row of work two versions. */
static DB_QUERY(log_expired, DB_NO_ROWS,
    LOG_EXPIRED("NOW(6)")
    "   FROM " PLAN_TABLE
    "   STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
    "     ON w.task_id = ? AND w.loan_id = j.loan_id"
    "  WHERE j.version > 0 AND w.version = j.version AND w.state = 'assigned'"
    "  ORDER BY w.loan_id");

/* In the list's order, since answers list their loans by log_id. */
static DB_QUERY(log_assigned, DB_NO_ROWS,
    "INSERT INTO log_in (task_id, loan_id, event, user_id, account, token, version,"
    "                    request_id, lease_expires_at, note, at)"
    " SELECT r.task_id, j.loan_id, 'assigned', j.user_id, r.account,"
    "        GREATEST(?, COALESCE(w.token + 1, 0)),"
    "        COALESCE(w.version + IF(w.state = 'assigned', 2, 1), 1), j.request_id,"
    "        " LEASE_END("NOW(6)", "?") ", w.note, NOW(6)"
    "   FROM " PLAN_TABLE
    "   STRAIGHT_JOIN work_requested AS r FORCE INDEX (PRIMARY)"
    "     ON r.request_id = j.request_id"
    "   LEFT JOIN work AS w FORCE INDEX (PRIMARY)"
    "     ON w.task_id = r.task_id AND w.loan_id = j.loan_id AND w.version = j.version"
    "  ORDER BY j.n");

/* The rows of `work` become what the log says, by procedures of schema/doors: the new ones by
 * an INSERT, which fails where another session has inserted the row. */
static DB_QUERY(insert_work, DB_NO_ROWS, "CALL work_opens(?, ?)");
static DB_QUERY(update_work, DB_NO_ROWS, "CALL work_moves(?, ?)");

static DB_QUERY(record_run, DB_NO_ROWS,
    "INSERT INTO run_in (task_id, epoch, user, how, as_of, query_ms, candidates, dropped,"
    "                    requests, left_pending, loans, retries, reason, check_ms, started_at,"
    "                    ended_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, LEFT(?, 512), ?, ?, NOW(6))");

/* Checked candidates in the list's order, from which requests take their loans. */
struct stock {
	struct candidate **list;
	size_t n;
	size_t next;          /* all before it are given */
	size_t left;          /* not given yet */
};

enum { SPARE = 2 };         /* candidates checked beyond those that are missing */

/* Runs @query for the candidates in @json, and sets @gone for those of @batch that it returns. */
static enum db_rc
mark(struct db *db, const struct db_query *query, const char *json, uint32_t task_id,
    struct candidate *batch, bool gone)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, query, DB_ARGS(db_text(json), db_u64(task_id)), &rows);

	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++)
		batch[db_cell_u64(&rows, i, 0) - 1].gone = gone;
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
mark_appeared(struct lockq *q, const char *json, uint32_t task_id, struct candidate *batch)
{
	struct db *beside = session_beside(q);
	enum db_rc rc = DB_ELOST;

	if (beside != q->db) {
		rc = db_next_read_dirty(beside);
		if (rc == DB_OK)
			rc = mark(beside, &appeared, json, task_id, batch, true);
	}
	/* Without the query connection, insert_work waits for an INSERT that is in progress. */
	return rc == DB_OK ? rc : mark(q->db, &appeared, json, task_id, batch, true);
}

/* Locks the rows that the candidates of @batch have in the kept list, and notes those that another
 * process has locked, or has just taken. */
static enum db_rc
hold_kept(struct lockq *q, const struct task *task, const char *json, struct candidate *batch)
{
	struct db_rows kept = { 0, 0, NULL, NULL }, ours = { 0, 0, NULL, NULL };
	struct text places = { NULL, 0, 0, false };
	enum db_rc rc = db_run(q->db, &in_kept_list, DB_ARGS(db_text(json),
	    db_u64(task->task_id)), &kept);

	for (size_t i = 0; rc == DB_OK && i < kept.n_rows; i++)
		text_add(&places, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i == 0 ? "[" : ",",
		    db_cell_u64(&kept, i, 0), db_cell_u64(&kept, i, 1),
		    db_cell_u64(&kept, i, 2));
	text_add(&places, "]");
	if (rc == DB_OK && places.failed)
		rc = DB_ENOMEM;
	if (rc == DB_OK && kept.n_rows > 0)
		rc = db_run(q->db, &lock_kept, DB_ARGS(db_text(places.data),
		    db_u64(task->task_id)), &ours);
	text_clear(&places);
	for (size_t i = 0; rc == DB_OK && i < kept.n_rows; i++)
		batch[db_cell_u64(&kept, i, 0) - 1].held = true;
	for (size_t i = 0; rc == DB_OK && i < ours.n_rows; i++)
		batch[db_cell_u64(&ours, i, 0) - 1].held = false;
	db_rows_clear(&kept);
	db_rows_clear(&ours);
	return rc;
}

/* Asks the view once more about @n loans of @batch, at most CHECK_MOST, and drops those that it
 * does not show any more. */
static enum db_rc
ask_view(struct lockq *q, const struct task *task, struct list *list, struct candidate *batch,
    size_t n)
{
	struct check check = { .n = n };
	char now[TIME_BYTES] = "";
	enum db_rc rc = DB_OK;

	for (size_t i = 0; i < n; i++)
		check.loans[i] = batch[i].loan_id;
	if (list->checked[0] == '\0')
		rc = check_time(session_beside(q), now);
	if (rc == DB_OK)
		rc = check_loans(session_beside(q), task, &check);
	if (rc == DB_OK && check.too_dear) {
		list->unasked = true;
		list->checked[0] = '\0';
	}
	if (rc != DB_OK || check.too_dear)
		return rc;
	if (list->checked[0] == '\0')
		memcpy(list->checked, now, sizeof(now));
	for (size_t i = 0; i < n; i++) {
		if (!check.shown[i] && !batch[i].gone) {
			batch[i].gone = true;
			list->unshown++;
		}
	}
	return DB_OK;
}

/* After a long query loans may have stopped to match while it ran. The view is not asked in the
 * lock's transaction, which would hold the manager's tables; nor again where it can't tell in
 * time. */
static enum db_rc
drop_unshown(struct lockq *q, const struct task *task, struct list *list,
    struct candidate *batch, size_t n)
{
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < n && list->query_ms >= FRESH_MS &&
	    !list->too_dear && !list->unasked && session_beside(q) != q->db; i += CHECK_MOST)
		rc = ask_view(q, task, list, batch + i, n - i < CHECK_MOST ? n - i : CHECK_MOST);
	return rc;
}

/* Counts those of @batch that were dropped, and those of them that may be available by now: all
 * that nobody else has. */
static enum db_rc
count_dropped(struct lockq *q, const struct task *task, struct list *list, const char *json,
    const struct candidate *batch, size_t n)
{
	struct db_rows had = { 0, 0, NULL, NULL };
	size_t dropped = 0;
	enum db_rc rc = DB_OK;

	for (size_t i = 0; i < n; i++)
		dropped += batch[i].gone;
	list->dropped += dropped;
	list->unsure += dropped;
	/* A list that was cut does not say "no work" anyway. */
	if (dropped > 0 && list->complete)
		rc = db_run(q->db, &somebody_has, DB_ARGS(db_text(json),
		    db_u64(task->task_id)), &had);
	for (size_t i = 0; rc == DB_OK && i < had.n_rows; i++)
		list->unsure -= batch[db_cell_u64(&had, i, 0) - 1].gone;
	db_rows_clear(&had);
	return rc;
}

/* Compares the next @n candidates with `work`, under lock, and adds those to the stock that are
 * exactly as the query saw them. It is not enough that a loan is available now: one that was
 * completed since the query is, and would be given out again. */
static enum db_rc
check_some(struct lockq *q, const struct task *task, struct queue *queue, struct list *list,
    size_t n, struct stock *stock)
{
	struct text json = { NULL, 0, 0, false };
	struct candidate *batch = &list->list[list->next];
	size_t n_seen = 0;
	enum db_rc rc;

	for (size_t i = 0; i < n; i++) {
		batch[i].gone = batch[i].version > 0;
		batch[i].held = false;
		n_seen += batch[i].gone;
	}
	list_json(list, list->next, n, &json);
	rc = json.failed ? DB_ENOMEM : DB_OK;
	if (rc == DB_OK && task->cache_ttl > 0)
		rc = hold_kept(q, task, json.data, batch);
	if (rc == DB_OK && n_seen > 0)
		rc = mark(q->db, &lock_seen, json.data, task->task_id, batch, false);
	if (rc == DB_OK && n_seen < n)
		rc = mark_appeared(q, json.data, task->task_id, batch);
	list->next += n;
	for (size_t i = 0; rc == DB_OK && i < n; i++)
		batch[i].gone = batch[i].gone || batch[i].held;
	if (rc == DB_OK)
		rc = count_dropped(q, task, list, json.data, batch, n);
	if (rc == DB_OK)
		rc = drop_unshown(q, task, list, batch, n);
	if (rc == DB_OK)
		rc = pending_keep_away(q->db, task, json.data, queue);
	for (size_t i = 0; rc == DB_OK && i < n; i++) {
		if (batch[i].gone)
			continue;
		stock->list[stock->n++] = &batch[i];
		stock->left++;
	}
	text_clear(&json);
	return rc;
}

/* Counts the loans of the stock, from place @from on, that are not for the users who ask. */
static void
count_excluded(struct queue *queue, const struct stock *stock, size_t from)
{
	for (size_t i = 0; queue->n_excluded > 0 && i < queue->n; i++) {
		struct pending *pending = &queue->list[i];

		for (size_t k = from; pending_may_get(pending) && k < stock->n; k++)
			pending->n_excluded += !stock->list[k]->gone &&
			    pending_exclude(queue, pending, stock->list[k]->loan_id);
	}
}

/* How many loans must be in the stock, so that each request gets all it wants: others may get all
 * that are for its user, and what is left then is not. */
static uint64_t
enough_for(const struct queue *queue)
{
	uint64_t most = 0;

	for (size_t i = 0; i < queue->n; i++) {
		if (pending_may_get(&queue->list[i]) && queue->list[i].n_excluded > most)
			most = queue->list[i].n_excluded;
	}
	return queue->wanted + most;
}

/* Reads which loans of the stock, left by the look before, are not for the users who ask now. */
static enum db_rc
look_at_stock(struct db *db, const struct task *task, struct queue *queue,
    const struct stock *stock)
{
	struct text json = { NULL, 0, 0, false };
	enum db_rc rc = DB_OK;

	for (size_t i = 0; queue->has_rules && i < stock->n; i++) {
		if (!stock->list[i]->gone)
			text_add(&json, "%s[%" PRIu64 "]", json.used == 0 ? "[" : ",",
			    stock->list[i]->loan_id);
	}
	if (json.used > 0)
		text_add(&json, "]");
	if (json.failed)
		rc = DB_ENOMEM;
	else if (json.used > 0)
		rc = pending_keep_away(db, task, json.data, queue);
	text_clear(&json);
	if (rc == DB_OK)
		count_excluded(queue, stock, 0);
	return rc;
}

/* Checks candidates until there are enough in the stock, or there are no more. A quarter more are
 * checked at once, since some may be dropped, and twice as many each time, since most of them may
 * not be for the user who asks. */
static enum db_rc
fill_stock(struct lockq *q, const struct task *task, struct queue *queue, struct list *list,
    struct stock *stock)
{
	uint64_t n = 0;
	enum db_rc rc = look_at_stock(q->db, task, queue, stock);

	while (rc == DB_OK && stock->left < enough_for(queue) && list->next < list->n) {
		uint64_t missing = enough_for(queue) - stock->left;
		size_t before = stock->n;

		missing += missing / 4 + SPARE;
		n = missing > 2 * n ? missing : 2 * n;
		if (n > list->n - list->next)
			n = list->n - list->next;
		rc = check_some(q, task, queue, list, (size_t)n, stock);
		if (rc == DB_OK)
			count_excluded(queue, stock, before);
	}
	return rc;
}

/* Which loan goes to which request, for the statements that write it. */
struct plan {
	struct text json;
	uint64_t n_inserts, n_updates;
};

static void
plan_loan(struct plan *plan, const struct pending *pending, struct candidate *loan)
{
	loan->gone = true;
	text_add(&plan->json, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
	    plan->json.used == 0 ? "[" : ",", loan->loan_id, loan->version,
	    pending->user_id, pending->request_id);
	++*(loan->version == 0 ? &plan->n_inserts : &plan->n_updates);
}

/* Gives the next loans that are not kept from the user, until the request has @most. */
static void
plan_request(const struct queue *queue, struct pending *pending, uint32_t most,
    struct stock *stock, struct plan *plan)
{
	pending->excluded = 0;
	for (size_t i = stock->next; pending->given < most && i < stock->n; i++) {
		struct candidate *loan = stock->list[i];

		if (loan->gone)
			continue;
		if (pending_exclude(queue, pending, loan->loan_id)) {
			pending->excluded++;
			continue;
		}
		plan_loan(plan, pending, loan);
		stock->left--;
		pending->given++;
	}
	while (stock->next < stock->n && stock->list[stock->next]->gone)
		stock->next++;
}

/* Gives to each request what its share is. What nobody may have of that, or what is left, is given
 * afterwards in order. */
static void
plan_shares(enum share share, struct queue *queue, struct stock *stock, struct plan *plan)
{
	share_out(share, queue->list, queue->n, stock->left);
	for (size_t i = 0; i < queue->n; i++) {
		struct pending *pending = &queue->list[i];

		if (pending_may_get(pending))
			plan_request(queue, pending, pending->share, stock, plan);
	}
}

/* First come, first served; sets the outcomes. */
static void
plan_loans(struct queue *queue, struct stock *stock, bool may_say_empty, bool cut,
    struct plan *plan)
{
	for (size_t i = 0; i < queue->n; i++) {
		struct pending *pending = &queue->list[i];

		if (!pending_may_get(pending))
			continue;
		/* There is more than was read. A request that would get less than it asked for
		 * stays pending with all behind it, for the next leader. */
		if (cut && stock->left < pending->requested + pending->n_excluded)
			break;
		plan_request(queue, pending, pending->requested, stock, plan);
		/* It got less than fits into max_pipeline, so the cap is not the reason. */
		if (pending->given < pending->requested)
			pending->reason[0] = '\0';
		if (pending->given == pending->asked)
			pending->outcome = LOCKQ_SERVED;
		else if (pending->given > 0)
			pending->outcome = LOCKQ_PARTIAL;
		else if (may_say_empty)
			pending->outcome = LOCKQ_EMPTY;
	}
	if (plan->json.used > 0)
		text_add(&plan->json, "]");
}

/* Writes the plan. Each statement must change as many rows as planned; else another session has
 * changed some, and the transaction is tried again. */
static enum db_rc
write_loans(struct db *db, const struct task *task, const struct lead *lead,
    const struct plan *plan)
{
	struct db_arg lease = task->lease_minutes > 0 ? db_u64(task->lease_minutes) : db_null();
	struct db_arg task_id = db_u64(task->task_id), epoch = db_u64(lead->epoch);
	struct db_arg json = db_text(plan->json.data);
	enum db_rc rc = DB_OK;

	if (plan->n_updates > 0)
		rc = db_run(db, &log_expired, DB_ARGS(json, task_id), NULL);
	if (rc == DB_OK && plan->n_inserts + plan->n_updates > 0)
		rc = db_change(db, &log_assigned, DB_ARGS(epoch, lease, json),
		    plan->n_inserts + plan->n_updates);
	if (rc == DB_OK && plan->n_inserts > 0)
		rc = db_change(db, &insert_work, DB_ARGS(task_id, json), plan->n_inserts);
	/* Another session's INSERT was not visible to the check yet. */
	if (rc == DB_EDUPLICATE)
		rc = DB_ERETRY;
	if (rc == DB_OK && plan->n_updates > 0)
		rc = db_change(db, &update_work, DB_ARGS(task_id, json), plan->n_updates);
	return rc;
}

/* Whether a long list is to be had, since nothing was given from a short one yet. */
static bool
is_short(const struct list *list, const struct run *run)
{
	return list->cut && list_was_queried(run->source) && run->requests == 0;
}

/* Reads the queue once, and serves it. Sets *@n_ended to the requests that it ended. */
static enum db_rc
serve_once(struct lockq *q, const struct task *task, const struct lead *lead,
    struct list *list, struct stock *stock, struct run *run, size_t *n_ended)
{
	struct queue queue = { .list = NULL };
	struct plan plan = { { NULL, 0, 0, false }, 0, 0 };
	enum db_rc rc = pending_read(q->db, task, run->own_request, list->as_of, &queue);

	if (rc == DB_OK)
		rc = fill_stock(q, task, &queue, list, stock);
	run->too_short = rc == DB_OK && is_short(list, run) && stock->left < enough_for(&queue);
	if (rc == DB_OK && !run->too_short) {
		/* A list that was cut says nothing of how many loans there are. */
		if (task->share != SHARE_ORDER && !list->cut)
			plan_shares(task->share, &queue, stock, &plan);
		plan_loans(&queue, stock, list_may_say_empty(run->source, list), list->cut, &plan);
		rc = plan.json.failed ? DB_ENOMEM : write_loans(q->db, task, lead, &plan);
	}
	if (rc == DB_OK && !run->too_short)
		rc = pending_write(q->db, &queue, lead, NULL, list->checked, n_ended);
	run->loans += plan.n_inserts + plan.n_updates;
	run->left = run->left_out = 0;
	for (size_t i = 0; i < queue.n; i++) {
		bool stays = queue.list[i].outcome == LOCKQ_PENDING;

		run->left += stays;
		run->left_out += stays && queue.list[i].excluded > 0;
	}
	pending_clear(&queue);
	text_clear(&plan.json);
	return rc;
}

enum db_rc
assign_loans(struct lockq *q, const struct task *task, const struct lead *lead,
    struct list *list, struct run *run)
{
	struct stock stock = { NULL, 0, 0, 0 };
	size_t n_ended = 0;
	bool any = true;
	enum db_rc rc = DB_OK;

	/* An earlier try may have been rolled back. */
	for (size_t i = 0; i < list->n; i++)
		list->list[i].gone = false;
	list->next = list->dropped = list->unsure = list->unshown = 0;
	run->too_short = false;
	stock.list = calloc(list->n + 1, sizeof(struct candidate *));
	if (stock.list == NULL)
		return DB_ENOMEM;
	/* The last look serves requests that came while the others were being written. */
	for (int look = 0; rc == DB_OK && look < LOOKS; look++) {
		n_ended = 0;
		if (look > 0)
			rc = request_any_pending(q->db, task->task_id, &any);
		if (rc != DB_OK || !any)
			break;
		rc = serve_once(q, task, lead, list, &stock, run, &n_ended);
		run->requests += n_ended;
		if (n_ended == 0)
			break;
	}
	free(stock.list);
	return rc;
}

enum db_rc
assign_failure(struct db *db, const struct task *task, const struct lead *lead,
    struct run *run)
{
	struct queue queue = { .list = NULL };
	enum db_rc rc = pending_read(db, task, run->own_request, "", &queue);

	for (size_t i = 0; rc == DB_OK && i < queue.n; i++) {
		if (queue.list[i].outcome != LOCKQ_PENDING)
			continue;
		queue.list[i].outcome = run->refused ? LOCKQ_REFUSED : LOCKQ_FAILED;
		/* It would have got less than it asked for, and that is not why it got nothing. */
		queue.list[i].reason[0] = '\0';
	}
	if (rc == DB_OK)
		rc = pending_write(db, &queue, lead, run->reason, "", &run->requests);
	pending_clear(&queue);
	return rc;
}

enum db_rc
assign_record_run(struct db *db, const struct task *task, const struct lead *lead,
    const struct list *list, const struct run *run)
{
	/* The time of a query that failed is recorded, too. */
	bool queried = run->reason != NULL || list_was_queried(run->source);

	return db_run(db, &record_run, DB_ARGS(db_u64(task->task_id), db_u64(lead->epoch),
	    db_text(run->user),
	    db_text(run->reason != NULL ? "failed" : list_source_name(run->source)),
	    db_text(list->as_of[0] != '\0' ? list->as_of : NULL),
	    queried ? db_u64(list->query_ms) : db_null(),
	    db_u64(run->candidates), db_u64(list->dropped + list->unshown),
	    db_u64(run->requests), db_u64(run->left), db_u64(run->loans),
	    db_u64(run->retries), db_text(run->reason != NULL ? run->reason : run->note),
	    run->asked_view ? db_u64(list->check_ms) : db_null(),
	    db_text(lead->started_at)), NULL);
}
