/* SPDX-License-Identifier: MIT */
/* Step 5: who gets which loan, in the lock's own transaction. A constant number of statements,
 * however many requests; a batch is one JSON parameter, since placeholders end at 65,535. */
#include "assign.h"

#include <inttypes.h>
#include <stdlib.h>

#include "availability.h"
#include "bounds.h"
#include "pending.h"
#include "session.h"

/* Rows that another transaction holds are skipped, so they count as changed. And the time is this
 * server's: by that of a replica whose clock is ahead, leases would be over too early. */
static const struct db_query lock_seen = {
	"lock_seen",
	"SELECT w.loan_id"
	"  FROM JSON_TABLE(?, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',"
	"                                     version BIGINT UNSIGNED PATH '$[1]')) AS j"
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"    ON w.task_id = ? AND w.loan_id = j.loan_id"
	" WHERE j.version > 0 AND w.version = j.version"
	"   AND " ROW_IS_AVAILABLE
	"   FOR UPDATE OF w SKIP LOCKED",
	DB_MANY
};

/* Of the loans that had no row: those that have one by now. Not a locking read, which passes over a
 * row that somebody holds, as if it were absent; and on the query connection a dirty one, which
 * sees an insert before its commit, so that nobody waits for that. */
static const struct db_query appeared = {
	"appeared",
	"SELECT w.loan_id"
	"  FROM JSON_TABLE(?, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',"
	"                                     version BIGINT UNSIGNED PATH '$[1]')) AS j"
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"    ON w.task_id = ? AND w.loan_id = j.loan_id"
	" WHERE j.version = 0",
	DB_MANY
};

#define PLAN_TABLE \
	"JSON_TABLE(?, '$[*]' COLUMNS (n FOR ORDINALITY," \
	"                              loan_id BIGINT UNSIGNED PATH '$[0]'," \
	"                              version BIGINT UNSIGNED PATH '$[1]'," \
	"                              user_id INT UNSIGNED PATH '$[2]'," \
	"                              request_id BIGINT UNSIGNED PATH '$[3]')) AS j"

/* A plain INSERT: an upsert would overwrite, and give one loan to two people without an error. */
static const struct db_query insert_work = {
	"insert_work",
	"INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,"
	"                  assigned_at, lease_expires_at, due_at, changed_at)"
	" SELECT ?, j.loan_id, j.user_id, 'assigned', ?, 1, j.request_id,"
	"        NOW(6), NOW(6) + INTERVAL ? MINUTE, NOW(6) + INTERVAL ? MINUTE, NOW(6)"
	"   FROM " PLAN_TABLE
	"  WHERE j.version = 0"
	"  ORDER BY j.loan_id",
	DB_NO_ROWS
};

/* An assignment whose lease ran out ends before the next one begins: two changes, two versions. */
static const struct db_query log_expired = {
	"log_expired",
	"INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	"                      request_id, available_at, lease_expires_at, at)"
	" SELECT w.task_id, w.loan_id, 'expired', w.user_id, CURRENT_USER(), w.token,"
	"        w.version + 1, w.request_id, w.lease_expires_at, w.lease_expires_at, NOW(6)"
	"   FROM " PLAN_TABLE
	"   STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"     ON w.task_id = ? AND w.loan_id = j.loan_id"
	"  WHERE j.version > 0 AND w.version = j.version AND w.state = 'assigned'"
	"  ORDER BY w.loan_id",
	DB_NO_ROWS
};

static const struct db_query update_work = {
	"update_work",
	"UPDATE " PLAN_TABLE
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"    ON w.task_id = ? AND w.loan_id = j.loan_id"
	"   SET w.version = w.version + IF(w.state = 'assigned', 2, 1),"
	"       w.state = 'assigned', w.user_id = j.user_id, w.token = ?,"
	"       w.request_id = j.request_id, w.assigned_at = NOW(6), w.available_at = NULL,"
	"       w.lease_expires_at = NOW(6) + INTERVAL ? MINUTE,"
	"       w.due_at = NOW(6) + INTERVAL ? MINUTE,"
	"       w.changed_at = NOW(6)"
	" WHERE j.version > 0 AND w.version = j.version",
	DB_NO_ROWS
};

/* In the list's order, so that log_id tells which loan came first. */
static const struct db_query log_assigned = {
	"log_assigned",
	"INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	"                      request_id, lease_expires_at, note, at)"
	" SELECT w.task_id, w.loan_id, 'assigned', w.user_id, r.account, w.token, w.version,"
	"        w.request_id, w.lease_expires_at, w.note, w.assigned_at"
	"   FROM " PLAN_TABLE
	"   STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"     ON w.task_id = ? AND w.loan_id = j.loan_id"
	"   STRAIGHT_JOIN work_requested AS r FORCE INDEX (PRIMARY)"
	"     ON r.request_id = w.request_id"
	"  ORDER BY j.n",
	DB_NO_ROWS
};

static const struct db_query record_run = {
	"record_run",
	"INSERT INTO leader_run (task_id, epoch, user, how, as_of, query_ms, candidates, dropped,"
	"                        requests, left_pending, loans, retries, reason, started_at,"
	"                        ended_at)"
	" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, LEFT(?, 512), ?, NOW(6))",
	DB_NO_ROWS
};

/* Checked candidates, in order, from where the next request takes its loans. */
struct stock {
	struct candidate **list;
	size_t n, next;
	size_t left;          /* not given yet; from @next on, though not one after the other: some
	                       * are kept from those who came first */
};

enum { SPARE = 2 };

static enum db_rc
loans_that_appeared(struct lockq *q, const struct task *task, const char *json,
    struct loans *loans)
{
	struct db *beside = session_beside(q);
	enum db_rc rc = DB_ELOST;

	if (beside != q->db) {
		rc = db_next_read_dirty(beside);
		if (rc == DB_OK)
			rc = loans_read(beside, &appeared, json, task->task_id, loans);
	}
	/* Without that connection an insert in progress is met when ours waits for it. */
	return rc == DB_OK ? rc : loans_read(q->db, &appeared, json, task->task_id, loans);
}

/* Holds the next @n candidates against `work`, under lock: kept is what is still exactly as the
 * query saw it. "Available now" would not do: a loan completed since then is available, and would
 * go out again. */
static enum db_rc
check_some(struct lockq *q, const struct task *task, struct list *candidates, size_t n,
    struct stock *stock)
{
	struct text json = { NULL, 0, 0, false };
	struct loans kept = { NULL, 0 }, taken = { NULL, 0 };
	size_t n_seen = 0;
	enum db_rc rc;

	for (size_t i = 0; i < n; i++)
		n_seen += candidates->list[candidates->next + i].version > 0;
	list_json(candidates, candidates->next, n, &json);
	rc = json.failed ? DB_ENOMEM : DB_OK;
	if (rc == DB_OK && n_seen > 0)
		rc = loans_read(q->db, &lock_seen, json.data, task->task_id, &kept);
	if (rc == DB_OK && n_seen < n)
		rc = loans_that_appeared(q, task, json.data, &taken);
	for (size_t i = 0; rc == DB_OK && i < n; i++) {
		struct candidate *c = &candidates->list[candidates->next++];
		bool as_seen = c->version > 0 ? loans_have(&kept, c->loan_id) :
		    !loans_have(&taken, c->loan_id);

		if (as_seen) {
			stock->list[stock->n++] = c;
			stock->left++;
		} else {
			c->gone = true;
			candidates->dropped++;
		}
	}
	loans_clear(&kept);
	loans_clear(&taken);
	text_clear(&json);
	return rc;
}

/* Enough checked candidates for @wanted loans, or all there are. */
static enum db_rc
fill_stock(struct lockq *q, const struct task *task, struct list *candidates,
    uint64_t wanted, struct stock *stock)
{
	enum db_rc rc = DB_OK;

	while (rc == DB_OK && stock->left < wanted && candidates->next < candidates->n) {
		size_t n = candidates->n - candidates->next;
		uint64_t missing = wanted - stock->left;

		missing += missing / 4 + SPARE;
		rc = check_some(q, task, candidates, n < missing ? n : (size_t)missing, stock);
	}
	return rc;
}

/* Who writes what goes to whom. */
struct plan {
	struct text json;
	uint64_t n_inserts, n_updates;
};

static void
plan_loan(struct plan *plan, const struct pending *c, struct candidate *loan)
{
	loan->gone = true;
	text_add(&plan->json, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
	    plan->json.used == 0 ? "[" : ",", loan->loan_id, loan->version, c->user_id,
	    c->request_id);
	++*(loan->version == 0 ? &plan->n_inserts : &plan->n_updates);
}

/* The next loans that may be the user's, up to what it asked for. */
static void
plan_request(const struct queue *line, struct pending *c, struct stock *stock, struct plan *plan)
{
	for (size_t i = stock->next; c->given < c->requested && i < stock->n; i++) {
		struct candidate *loan = stock->list[i];

		if (loan->gone)
			continue;
		if (pending_exclude(line, c, loan->loan_id)) {
			c->excluded++;
			continue;
		}
		plan_loan(plan, c, loan);
		stock->left--;
		c->given++;
	}
	while (stock->next < stock->n && stock->list[stock->next]->gone)
		stock->next++;
}

/* First come, first served. */
static void
plan_loans(struct queue *line, struct stock *stock, bool may_say_empty, bool is_cut,
    struct plan *plan)
{
	for (size_t i = 0; i < line->n; i++) {
		struct pending *c = &line->list[i];

		if (c->outcome != LOCKQ_PENDING)
			continue;
		/* There is more than this list has, and whoever leads next gets it. */
		if (is_cut && stock->left < c->requested + c->n_excluded)
			break;
		plan_request(line, c, stock, plan);
		/* It fitted, and there was no more of it. */
		if (c->given < c->requested)
			c->reason[0] = '\0';
		if (c->given == c->asked)
			c->outcome = LOCKQ_SERVED;
		else if (c->given > 0)
			c->outcome = LOCKQ_PARTIAL;
		else if (may_say_empty)
			c->outcome = LOCKQ_EMPTY;
	}
	if (plan->json.used > 0)
		text_add(&plan->json, "]");
}

/* To the row as planned, or somebody else has been at work and all is undone. */
static enum db_rc
write_loans(struct db *db, const struct task *task, const struct lead *lead,
    const struct plan *plan)
{
	struct db_arg lease = task->lease_minutes > 0 ? db_u64(task->lease_minutes) : db_null();
	struct db_arg task_id = db_u64(task->task_id), epoch = db_u64(lead->epoch);
	struct db_arg json = db_text(plan->json.data);
	enum db_rc rc = DB_OK;

	if (plan->n_inserts > 0)
		rc = db_change(db, &insert_work,
		    DB_ARGS(task_id, epoch, lease, lease, json), plan->n_inserts);
	/* The last arbiter spoke: somebody's insert was not visible to our check yet. */
	if (rc == DB_EDUPLICATE)
		rc = DB_ERETRY;
	if (rc == DB_OK && plan->n_updates > 0)
		rc = db_run(db, &log_expired, DB_ARGS(json, task_id), NULL);
	if (rc == DB_OK && plan->n_updates > 0)
		rc = db_change(db, &update_work,
		    DB_ARGS(json, task_id, epoch, lease, lease), plan->n_updates);
	if (rc == DB_OK && plan->n_inserts + plan->n_updates > 0)
		rc = db_change(db, &log_assigned, DB_ARGS(json, task_id),
		    plan->n_inserts + plan->n_updates);
	return rc;
}

/* One look at the line, and what it leads to. @n_ended: requests that it ended. */
static enum db_rc
serve_once(struct lockq *q, const struct task *task, const struct lead *lead,
    uint64_t own_request, struct list *candidates, struct stock *stock, struct run *run,
    size_t *n_ended)
{
	struct queue line = { .list = NULL };
	struct plan plan = { { NULL, 0, 0, false }, 0, 0 };
	enum db_rc rc = pending_read(q->db, task, own_request, &line);

	if (rc == DB_OK)
		rc = fill_stock(q, task, candidates, line.wanted, stock);
	if (rc == DB_OK) {
		plan_loans(&line, stock, list_may_say_empty(run->source, candidates),
		    list_is_cut(candidates), &plan);
		rc = plan.json.failed ? DB_ENOMEM : write_loans(q->db, task, lead, &plan);
	}
	if (rc == DB_OK)
		rc = pending_write(q->db, &line, lead, NULL, n_ended);
	run->loans += plan.n_inserts + plan.n_updates;
	run->left = run->left_out = 0;
	for (size_t i = 0; i < line.n; i++) {
		run->left += line.list[i].outcome == LOCKQ_PENDING;
		run->left_out += line.list[i].outcome == LOCKQ_PENDING && line.list[i].excluded > 0;
	}
	pending_clear(&line);
	text_clear(&plan.json);
	return rc;
}

enum db_rc
assign_loans(struct lockq *q, const struct task *task, const struct lead *lead,
    uint64_t own_request, struct list *candidates, struct run *run)
{
	struct stock stock = { NULL, 0, 0, 0 };
	size_t n_ended = 0;
	bool any = true;
	enum db_rc rc = DB_OK;

	/* From the list's start: an earlier try may have been rolled back. */
	for (size_t i = 0; i < candidates->n; i++)
		candidates->list[i].gone = false;
	candidates->next = candidates->dropped = 0;
	stock.list = calloc(candidates->n + 1, sizeof(struct candidate *));
	if (stock.list == NULL)
		return DB_ENOMEM;
	/* The last look serves those who came while the others were being written. */
	for (int look = 0; rc == DB_OK && look < LOOKS; look++) {
		n_ended = 0;
		if (look > 0)
			rc = request_any_pending(q->db, task->task_id, &any);
		if (rc != DB_OK || !any)
			break;
		rc = serve_once(q, task, lead, own_request, candidates, &stock, run, &n_ended);
		run->requests += n_ended;
		if (n_ended == 0)
			break;
	}
	free(stock.list);
	return rc;
}

enum db_rc
assign_failure(struct db *db, const struct task *task, const struct lead *lead,
    uint64_t own_request, struct run *run)
{
	struct queue line = { .list = NULL };
	enum db_rc rc = pending_read(db, task, own_request, &line);

	for (size_t i = 0; rc == DB_OK && i < line.n; i++) {
		if (line.list[i].outcome == LOCKQ_PENDING)
			line.list[i].outcome = run->refused ? LOCKQ_REFUSED : LOCKQ_FAILED;
	}
	if (rc == DB_OK)
		rc = pending_write(db, &line, lead, run->reason, &run->requests);
	pending_clear(&line);
	return rc;
}

enum db_rc
assign_record_run(struct db *db, const struct task *task, const struct lead *lead,
    const struct list *candidates, const struct run *run)
{
	/* A query that failed has taken its time, too. */
	bool queried = run->reason != NULL || list_was_queried(run->source);

	return db_run(db, &record_run, DB_ARGS(db_u64(task->task_id), db_u64(lead->epoch),
	    db_text(run->user),
	    db_text(run->reason != NULL ? "failed" : list_source_name(run->source)),
	    db_text(candidates->as_of[0] != '\0' ? candidates->as_of : NULL),
	    queried ? db_u64(candidates->query_ms) : db_null(),
	    db_u64(run->candidates), db_u64(candidates->dropped + candidates->stale),
	    db_u64(run->requests), db_u64(run->left), db_u64(run->loans),
	    db_u64(run->retries), db_text(run->reason != NULL ? run->reason : run->note),
	    db_text(lead->started_at)), NULL);
}
