/* SPDX-License-Identifier: MIT */
/* Asks a task's view about some loans. Their numbers are parameters of an IN list, which MySQL
 * pushes down into most kinds of views; it pushes no join into them. */
#include "list/ask_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In 250 ms a view that MySQL can push the list into has told, and nobody minds the wait. */
#define CHECK_FORMAT \
	"SELECT /*+ MAX_EXECUTION_TIME(250) */ c.loan_id FROM %s AS c WHERE c.loan_id IN (%s)"
enum { CHECK_LEAST = 16, CHECK_SQL_BYTES = 1024 + CHECK_LIST_BYTES };

size_t
check_list(size_t n, char list[CHECK_LIST_BYTES])
{
	size_t length = CHECK_LEAST;

	while (length < n)
		length *= 2;
	memcpy(list, "?", 2);
	for (size_t i = 1; i < length; i++)
		memcpy(list + i * 3 - 2, ", ?", 4);
	return length;
}

static const char *
asked_view(const struct task *task)
{
	return task->check_view[0] != '\0' ? task->check_view : task->view;
}

int
check_compare(const void *a, const void *b)
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
	qsort(shown, rows->n_rows, sizeof(*shown), check_compare);
	for (size_t i = 0; i < check->n; i++)
		check->shown[i] = bsearch(&check->loans[i], shown, rows->n_rows, sizeof(*shown),
		    check_compare) != NULL;
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
	char sql[CHECK_SQL_BYTES], quoted[NAME_BYTES * 3], list[CHECK_LIST_BYTES];
	const struct db_query query = { "check_loans", sql, DB_VIEW };
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct db_arg args[CHECK_MOST];
	size_t n = check_list(check->n, list);
	enum db_rc rc = db_quote_identifier(quoted, sizeof(quoted), asked_view(task));

	for (size_t i = 0; i < n; i++)
		args[i] = db_u64(check->loans[i < check->n ? i : check->n - 1]);
	if (rc == DB_OK) {
		snprintf(sql, sizeof(sql), CHECK_FORMAT, quoted, list);
		rc = db_run(db, &query, args, n, &rows);
	} else {
		rc = db_refuse(db, "it has no name of a view");
	}
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
