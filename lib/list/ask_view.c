/* SPDX-License-Identifier: MIT */
/* Asks a task's view about some loans. Their numbers are parameters of an IN list, which MySQL
 * pushes down into most kinds of views; it pushes no join into them. */
#include "list/ask_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In 250 ms a view that MySQL can push the list into has told, and nobody minds the wait. */
#define CHECK_FORMAT \
	"SELECT /*+ MAX_EXECUTION_TIME(250) */ c.loan_id FROM %s AS c WHERE c.loan_id IN (?"
enum { CHECK_LEAST = 16, CHECK_SQL_BYTES = 1024 + CHECK_MOST * 3 };

/* Few different lengths, so that few statements are prepared. */
static size_t
padded(size_t n)
{
	size_t length = CHECK_LEAST;

	while (length < n)
		length *= 2;
	return length;
}

static const char *
asked_view(const struct task *task)
{
	return task->check_view[0] != '\0' ? task->check_view : task->view;
}

static enum db_rc
compose(char sql[CHECK_SQL_BYTES], const struct task *task, size_t n)
{
	char quoted[NAME_BYTES * 3], *end = sql;
	enum db_rc rc = db_quote_identifier(quoted, sizeof(quoted), asked_view(task));

	if (rc != DB_OK)
		return rc;
	end += snprintf(sql, CHECK_SQL_BYTES, CHECK_FORMAT, quoted);
	for (size_t i = 1; i < n; i++, end += 3)
		memcpy(end, ", ?", 3);
	memcpy(end, ")", 2);
	return DB_OK;
}

static int
compare_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static enum db_rc
read_shown(struct check *check, const struct db_rows *rows)
{
	uint64_t *shown = calloc(rows->n_rows + 1, sizeof(*shown));

	if (shown == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < rows->n_rows; i++)
		shown[i] = db_cell_u64(rows, i, 0);
	qsort(shown, rows->n_rows, sizeof(*shown), compare_number);
	for (size_t i = 0; i < check->n; i++)
		check->shown[i] = bsearch(&check->loans[i], shown, rows->n_rows, sizeof(*shown),
		    compare_number) != NULL;
	free(shown);
	return DB_OK;
}

enum db_rc
check_time(struct db *db, char now[TIME_BYTES])
{
	static DB_QUERY(read_time, DB_ONE, "SELECT NOW(6)");
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &read_time, DB_NO_ARGS, &rows);

	copy_cell(now, TIME_BYTES, &rows, 0, 0);
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
check_loans(struct db *db, const struct task *task, struct check *check)
{
	char sql[CHECK_SQL_BYTES];
	const struct db_query query = { "check_loans", sql, DB_VIEW };
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct db_arg args[CHECK_MOST];
	size_t n = padded(check->n);
	enum db_rc rc = compose(sql, task, n);

	/* The last loan fills the list up. */
	for (size_t i = 0; i < n; i++)
		args[i] = db_u64(check->loans[i < check->n ? i : check->n - 1]);
	if (rc == DB_OK)
		rc = db_run(db, &query, args, n, &rows);
	else
		rc = db_refuse(db, "it has no name of a view");
	check->too_dear = rc == DB_ETIME || rc == DB_ELOCKWAIT || rc == DB_EINTERRUPTED ||
	    rc == DB_EFAIL;
	if (check->too_dear)
		snprintf(check->why, sizeof(check->why), "view \"%s\" can't tell %s%s",
		    asked_view(task), rc == DB_ETIME ?
		    "in 250 ms whether some loans match" : "whether some loans match: ",
		    rc == DB_ETIME ? "" : db_error(db));
	if (rc == DB_OK)
		rc = read_shown(check, &rows);
	db_rows_clear(&rows);
	return check->too_dear ? DB_OK : rc;
}
