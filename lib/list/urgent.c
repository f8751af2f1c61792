/* SPDX-License-Identifier: MIT */
/* Step 4: the urgent loans of task_touched come first in a leader's list. A kept list has them
 * before its first place besides, by a procedure of schema/doors. */
#include "list/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle/session.h"
#include "list/ask_view.h"
#include "rules/rules.h"

static DB_QUERY(read_urgent, DB_MANY,
    "SELECT o.loan_id"
    "  FROM task_touched AS o FORCE INDEX (task_touched_urgent)"
    "  LEFT JOIN work AS w FORCE INDEX (PRIMARY)"
    "    ON w.task_id = o.task_id AND w.loan_id = o.loan_id"
    " WHERE o.task_id = ? AND o.urgent = 1 AND " URGENT_WAITS
    " ORDER BY o.touched_id"
    " LIMIT ?");

/* The leader's statement for some loans. MySQL pushes the numbers into most kinds of views; the
 * others are not worth a second heavy query. A loan that has changed since the list's query is not
 * what that query would have shown. */
#define ASK_FORMAT \
	"SELECT /*+ MAX_EXECUTION_TIME(250) */ c.loan_id, w.version" \
	"  FROM %s AS c" \
	"  LEFT JOIN work AS w" \
	"    ON w.task_id = ? AND w.loan_id = c.loan_id" \
	" WHERE (w.loan_id IS NULL" \
	"        OR (w.changed_at < CAST(? AS DATETIME(6)) AND " ROW_IS_AVAILABLE "))" \
	"   AND c.loan_id IN (%s)" \
	" ORDER BY c.priority, c.loan_id"
enum { ASK_SQL_BYTES = 2048 + CHECK_LIST_BYTES };

/* The urgent loans of a task. */
struct urgent {
	uint64_t loans[CHECK_MOST]; /* by number, each once */
	bool listed[CHECK_MOST];    /* the list has it */
	size_t n;
};

static void
read_loans(struct db *db, uint32_t task_id, struct urgent *urgent)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	size_t n = 0;

	if (db_run(db, &read_urgent, DB_ARGS(db_u64(task_id), db_u64(CHECK_MOST)), &rows) == DB_OK)
		n = rows.n_rows;
	for (size_t i = 0; i < n; i++)
		urgent->loans[i] = db_cell_u64(&rows, i, 0);
	db_rows_clear(&rows);
	qsort(urgent->loans, n, sizeof(*urgent->loans), check_compare);
	urgent->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || urgent->loans[i] != urgent->loans[i - 1])
			urgent->loans[urgent->n++] = urgent->loans[i];
	}
}

static bool *
find_listed(struct urgent *urgent, uint64_t loan_id)
{
	const uint64_t *at = bsearch(&loan_id, urgent->loans, urgent->n, sizeof(loan_id),
	    check_compare);

	return at != NULL ? &urgent->listed[at - urgent->loans] : NULL;
}

/* Asks the view about the loans that are not in the list, and adds those that it shows. */
static enum db_rc
add_missing(const struct search *search, struct db *db, const struct urgent *urgent)
{
	struct list *list = search->found;
	char sql[ASK_SQL_BYTES], quoted[NAME_BYTES * 3], in_list[CHECK_LIST_BYTES];
	const struct db_query query = { "ask_urgent", sql, DB_VIEW };
	struct db_arg args[2 + CHECK_MOST];
	struct db_rows rows = { 0, 0, NULL, NULL };
	size_t n = 0, length;
	enum db_rc rc = DB_OK;

	for (size_t i = 0; i < urgent->n; i++) {
		if (!urgent->listed[i])
			args[2 + n++] = db_u64(urgent->loans[i]);
	}
	if (n == 0 || db_quote_identifier(quoted, sizeof(quoted), search->task->view) != DB_OK)
		return DB_OK;
	length = check_list(n, in_list);
	for (size_t i = n; i < length; i++)
		args[2 + i] = args[2 + n - 1];
	snprintf(sql, sizeof(sql), ASK_FORMAT, quoted, in_list);
	args[0] = db_u64(search->task->task_id);
	args[1] = db_text(list->as_of);
	if (db_run(db, &query, args, 2 + length, &rows) == DB_OK) {
		for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++)
			rc = list_add(list, db_cell_u64(&rows, i, 0), db_cell_u64(&rows, i, 1),
			    (uint32_t)list->n);
	}
	db_rows_clear(&rows);
	/* The view may show a loan in several rows. */
	return rc == DB_OK ? list_once(list) : rc;
}

/* Moves the urgent loans to the front; both they and the others stay in their order. */
static enum db_rc
reorder(struct list *list, struct urgent *urgent)
{
	struct candidate *others = calloc(list->n + 1, sizeof(*others));
	size_t n_urgent = 0, n_others = 0;

	if (others == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < list->n; i++) {
		if (find_listed(urgent, list->list[i].loan_id) != NULL)
			list->list[n_urgent++] = list->list[i];
		else
			others[n_others++] = list->list[i];
	}
	if (n_others > 0)
		memcpy(list->list + n_urgent, others, n_others * sizeof(*others));
	free(others);
	return DB_OK;
}

enum db_rc
urgent_first(const struct search *search)
{
	struct db *db = session_beside(search->q);
	struct list *list = search->found;
	struct urgent urgent = { .n = 0 };
	enum db_rc rc = DB_OK;

	read_loans(db, search->task->task_id, &urgent);
	if (urgent.n == 0)
		return DB_OK;
	for (size_t i = 0; i < list->n; i++) {
		bool *listed = find_listed(&urgent, list->list[i].loan_id);

		if (listed != NULL)
			*listed = true;
	}
	/* The view is not asked in the lock's transaction, which would hold the manager's
	 * tables. */
	if (db != search->q->db && (!list->complete || list_is_hint(list->source)))
		rc = add_missing(search, db, &urgent);
	return rc == DB_OK ? reorder(list, &urgent) : rc;
}
