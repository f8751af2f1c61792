/* SPDX-License-Identifier: MIT */
/* Step 4: the manager's view in a statement of ours, and its rows as a list. */
#include "list/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle/bounds.h"
#include "rules/rules.h"

/* The manager's view without the loans that are not available, the smallest priority first. One
 * statement is one snapshot, so `version` is of the same moment as the view's rows. Of a view with
 * an index in this order, the server stops reading when it has LIMIT available loans. It would also
 * send each of them as it finds it, and while we read rows that come slowly nobody pings the lock
 * connection. So the outer SELECT sorts them once more, for which it needs all of them. With
 * SQL_BUFFER_RESULT the server joined and copied all loans of a view without such an index, and
 * took 460 ms for 150,000 of them, not 130. */
#define WRAPPED(view, only, also) \
	"SELECT f.loan_id, f.version" also \
	"  FROM (SELECT c.loan_id, w.version, c.priority" \
	"          FROM " view " AS c" \
	"          LEFT JOIN work AS w" \
	"            ON w.task_id = ? AND w.loan_id = c.loan_id" \
	"         WHERE " only "(w.loan_id IS NULL OR " ROW_IS_AVAILABLE ")" \
	"         ORDER BY c.priority, c.loan_id" \
	"         LIMIT ?) AS f" \
	" ORDER BY f.priority, f.loan_id"
#define WRAPPED_VIEW(also) WRAPPED("%s", "", also)

/* For a view that repeats its loans so often that LIMIT leaves too few of them: each loan counts
 * once, for which the server reads all rows of the view. ROW_NUMBER, not MIN, which would compare
 * an ENUM priority by its words. */
#define WRAPPED_ONCE(also) WRAPPED( \
	"(SELECT loan_id, priority," \
	"        ROW_NUMBER() OVER (PARTITION BY loan_id ORDER BY priority) AS n" \
	"   FROM %s)", "c.n = 1 AND ", also)

static const char wrapped_view[] = WRAPPED_VIEW(""), wrapped_once[] = WRAPPED_ONCE("");
#define AUDITED ", f.priority IS NULL, LEFT(f.priority, 64)"
static const char audited_view[] = WRAPPED_VIEW(AUDITED);
static const char audited_once[] = WRAPPED_ONCE(AUDITED);

/* Returns what is wrong with a loan_id of the view, or NULL. */
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
	struct list *list = reading->search->found;

	(void)lengths;
	reading->fault = fault_of(cells[0]);
	if (reading->fault != NULL)
		return 1;
	if (list_add(list, strtoull(cells[0], NULL, 10),
	    cells[1] != NULL ? strtoull(cells[1], NULL, 10) : 0, (uint32_t)list->n) != DB_OK) {
		reading->no_memory = true;
		return 1;
	}
	/* tick() pings the lock connection, which must not stay idle beyond its
	 * wait_timeout. */
	return list->n % TICK_EVERY_ROWS == 0 ? tick(&reading->ticking) : 0;
}

static enum db_rc
wrap(char sql[VIEW_SQL_BYTES], const char *format, const char *view)
{
	char quoted[NAME_BYTES * 3];
	enum db_rc rc = db_quote_identifier(quoted, sizeof(quoted), view);

	/* Two calls, since the compiler checks only a format that it can see. */
	if (rc == DB_OK && format == wrapped_view)
		snprintf(sql, VIEW_SQL_BYTES, wrapped_view, quoted);
	else if (rc == DB_OK)
		snprintf(sql, VIEW_SQL_BYTES, wrapped_once, quoted);
	return rc;
}

enum db_rc
view_statement(char sql[VIEW_SQL_BYTES], const char *view)
{
	return wrap(sql, wrapped_view, view);
}

enum db_rc
view_audit_statement(char sql[VIEW_SQL_BYTES], const char *view, bool repeats)
{
	char quoted[NAME_BYTES * 3];
	enum db_rc rc = db_quote_identifier(quoted, sizeof(quoted), view);

	if (rc == DB_OK && repeats)
		snprintf(sql, VIEW_SQL_BYTES, audited_once, quoted);
	else if (rc == DB_OK)
		snprintf(sql, VIEW_SQL_BYTES, audited_view, quoted);
	return rc;
}

/* Runs one of the two statements. */
static enum db_rc
run_statement(struct reading *reading, const char *format)
{
	const struct task *task = reading->search->task;
	struct list *list = reading->search->found;
	uint64_t limit = reading->search->limit;
	char sql[VIEW_SQL_BYTES];
	const struct db_query query = { "candidates", sql, DB_VIEW };
	uint64_t used = db_clock_ms() - reading->ticking.since, most = task->max_query_s * 1000ull;
	enum db_rc rc = wrap(sql, format, task->view);

	/* Two statements of one query share the task's max_query_s. */
	if (reading->begun)
		most = used + LEAST_MS < most ? most - used : LEAST_MS;
	if (rc == DB_OK)
		rc = db_set_time_limit(reading->db, most);
	list->n = 0;
	if (rc == DB_OK)
		rc = db_start(reading->db, &query, DB_ARGS(db_u64(task->task_id), db_u64(limit)));
	reading->begun = rc == DB_OK;
	if (rc == DB_OK)
		rc = db_wait(reading->db, task->max_query_s, tick, &reading->ticking);
	if (rc == DB_OK)
		rc = db_fetch(reading->db, 1, read_candidate, reading);
	reading->rows = list->n;
	list->complete = rc == DB_OK && list->n < limit;
	return rc == DB_OK ? list_once(list) : rc;
}

/* Whether LIMIT cut the list, and it has too few loans because the view repeats them. For a short
 * list a long one is the remedy: the second statement reads all of the view. */
static bool
has_too_few(const struct reading *reading)
{
	const struct task *task = reading->search->task;
	const struct list *list = reading->search->found;
	uint64_t limit = reading->search->limit, wanted = reading->search->lead->wanted;

	if (wanted > limit)
		wanted = limit;
	return !list->complete && !reading->search->is_short && list->n < limit &&
	    (list->n < task->max_count + task->excluded ||
	    (list->n * 2 < reading->rows && list->n < wanted + task->excluded));
}

/* Runs the second statement in what is left of the task's time. Where that is too short, the first
 * list is kept. */
static enum db_rc
read_again_once(struct reading *reading)
{
	struct list *list = reading->search->found, before = *list;
	enum db_rc rc;

	if (reading->search->reason[0] == '\0')
		snprintf(reading->search->reason, REASON_BYTES, "queried twice, since the view "
		    "shows loans several times: declare view_repeats in the task's row");
	list->list = NULL;
	list->n = list->size = 0;
	rc = run_statement(reading, wrapped_once);
	if (rc != DB_ETIME) {
		free(before.list);
		return rc;
	}
	free(list->list);
	*list = before;
	return DB_OK;
}

enum db_rc
view_read(struct reading *reading)
{
	enum db_rc rc;

	if (reading->search->task->view_repeats)
		return run_statement(reading, wrapped_once);
	rc = run_statement(reading, wrapped_view);
	return rc == DB_OK && has_too_few(reading) ? read_again_once(reading) : rc;
}
