/* SPDX-License-Identifier: MIT */
/* Step 4: the manager's view in a statement of ours, and its rows as a list. */
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "availability.h"
#include "bounds.h"

/* The wrapping, around the manager's view: without the loans that are not available, the smallest
 * priority first. One statement is one snapshot, so `version` is of the same moment as what the
 * view saw. A view that has an index in its order is read no further than LIMIT. */
static const char wrapped_view[] =
	"SELECT c.loan_id, w.version"
	"  FROM %s AS c"
	"  LEFT JOIN work AS w"
	"    ON w.task_id = ? AND w.loan_id = c.loan_id"
	" WHERE w.loan_id IS NULL OR " ROW_IS_AVAILABLE
	" ORDER BY c.priority, c.loan_id"
	" LIMIT ?";

/* The same for a view that shows its loans so often that a list which was cut short has not enough
 * of them: each counts once, and all the view is read for that. ROW_NUMBER, not MIN, which compares
 * an ENUM by its words. */
static const char wrapped_once[] =
	"SELECT c.loan_id, w.version"
	"  FROM (SELECT loan_id, priority,"
	"               ROW_NUMBER() OVER (PARTITION BY loan_id ORDER BY priority) AS n"
	"          FROM %s) AS c"
	"  LEFT JOIN work AS w"
	"    ON w.task_id = ? AND w.loan_id = c.loan_id"
	" WHERE c.n = 1"
	"   AND (w.loan_id IS NULL OR " ROW_IS_AVAILABLE ")"
	" ORDER BY c.priority, c.loan_id"
	" LIMIT ?";

/* What is wrong with a loan_id of the view, or NULL. */
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
	struct list *c = reading->candidates;

	(void)lengths;
	reading->fault = fault_of(cells[0]);
	if (reading->fault != NULL)
		return 1;
	if (list_add(c, strtoull(cells[0], NULL, 10),
	    cells[1] != NULL ? strtoull(cells[1], NULL, 10) : 0, (uint32_t)c->n) != DB_OK) {
		reading->no_memory = true;
		return 1;
	}
	/* A long list must not leave the lock connection idle beyond its wait_timeout. */
	return c->n % TICK_EVERY_ROWS == 0 ? tick(&reading->ticking) : 0;
}

static enum db_rc
wrap(char sql[VIEW_SQL_BYTES], const char *format, const char *view)
{
	char quoted[NAME_BYTES * 3];
	enum db_rc rc = db_quote_identifier(quoted, sizeof(quoted), view);

	/* One of the texts above. */
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

/* One of the two statements, @limit rows of it at most. */
static enum db_rc
run_statement(struct reading *reading, const char *format, uint64_t limit)
{
	const struct task *task = reading->task;
	struct list *c = reading->candidates;
	char sql[VIEW_SQL_BYTES];
	const struct db_query query = { "candidates", sql, DB_MANY };
	uint64_t used = db_clock_ms() - reading->ticking.since, most = task->max_query_s * 1000ull;
	enum db_rc rc = wrap(sql, format, task->view);

	/* Both together have the task's time. */
	if (reading->begun)
		most = used + LEAST_MS < most ? most - used : LEAST_MS;
	if (rc == DB_OK)
		rc = db_set_time_limit(reading->db, most);
	c->n = 0;
	if (rc == DB_OK)
		rc = db_start(reading->db, &query, DB_ARGS(db_u64(task->task_id), db_u64(limit)));
	reading->begun = rc == DB_OK;
	if (rc == DB_OK)
		rc = db_wait(reading->db, task->max_query_s, tick, &reading->ticking);
	if (rc == DB_OK)
		rc = db_fetch(reading->db, 1, read_candidate, reading);
	reading->rows = c->n;
	c->complete = rc == DB_OK && c->n < limit;
	return rc == DB_OK ? list_once(c) : rc;
}

/* Whether a list that was cut short has too few loans because the view repeats them. */
static bool
has_too_few(const struct reading *reading, const struct lead *lead, uint64_t limit)
{
	const struct task *task = reading->task;
	const struct list *c = reading->candidates;
	uint64_t wanted = lead->wanted < limit ? lead->wanted : limit;

	return !c->complete && c->n < limit && (c->n < task->max_count + task->excluded ||
	    (c->n * 2 < reading->rows && c->n < wanted + task->excluded));
}

/* A second query, in what is left of the task's time; where that is not enough, the list is what it
 * was. The manager can spare the first one. */
static enum db_rc
read_again_once(struct reading *reading, uint64_t limit, char reason[REASON_BYTES])
{
	struct list *c = reading->candidates, before = *c;
	enum db_rc rc;

	if (reason[0] == '\0')
		snprintf(reason, REASON_BYTES, "queried twice, since the view shows loans several "
		    "times: declare view_repeats in the task's row");
	c->list = NULL;
	c->n = c->size = 0;
	rc = run_statement(reading, wrapped_once, limit);
	if (rc != DB_ETIME) {
		free(before.list);
		return rc;
	}
	free(c->list);
	*c = before;
	return DB_OK;
}

enum db_rc
view_read(struct reading *reading, const struct lead *lead, uint64_t limit,
    char reason[REASON_BYTES])
{
	enum db_rc rc;

	if (reading->task->view_repeats)
		return run_statement(reading, wrapped_once, limit);
	rc = run_statement(reading, wrapped_view, limit);
	if (rc == DB_OK && has_too_few(reading, lead, limit))
		rc = read_again_once(reading, limit, reason);
	return rc;
}
