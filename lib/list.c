/* SPDX-License-Identifier: MIT */
/* A list of loans that may be given: kept in order, each loan once. */
#include "list.h"

#include <inttypes.h>
#include <stdlib.h>

/* Those that are still as the list has them. Not under lock: a first impression. */
static const struct db_query unchanged = {
	"unchanged",
	"SELECT j.loan_id"
	"  FROM JSON_TABLE(?, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',"
	"                                     version BIGINT UNSIGNED PATH '$[1]')) AS j"
	"  LEFT JOIN work AS w FORCE INDEX (PRIMARY)"
	"    ON w.task_id = ? AND w.loan_id = j.loan_id"
	" WHERE COALESCE(w.version, 0) = j.version",
	DB_MANY
};

static const char *const sources[] = {
	[LIST_QUERY] = "query", [LIST_CROWDED] = "crowded", [LIST_ELSEWHERE] = "elsewhere",
	[LIST_REPLICA] = "replica", [LIST_CACHE] = "cache", [LIST_HAND_OVER] = "hand-over"
};

const char *
list_source_name(enum list_source source)
{
	return sources[source];
}

bool
list_was_queried(enum list_source source)
{
	return source != LIST_CACHE && source != LIST_HAND_OVER;
}

bool
list_is_hint(enum list_source source)
{
	return source == LIST_CACHE || source == LIST_REPLICA;
}

bool
list_is_cut(const struct list *list)
{
	return list->source == LIST_CACHE && !list->complete;
}

bool
list_may_say_empty(enum list_source source, const struct list *list)
{
	/* A list that was cut short, or that lost some, does not tell that nothing is left. */
	return list_was_queried(source) && !list_is_hint(source) && list->complete &&
	    list->dropped == 0;
}

void
list_clear(struct list *candidates)
{
	free(candidates->list);
	*candidates = (struct list){ .list = NULL };
}

enum db_rc
list_add(struct list *c, uint64_t loan_id, uint64_t version, uint32_t position)
{
	if (c->n == c->size) {
		size_t size = c->size * 2 + 1024;
		struct candidate *list = realloc(c->list, size * sizeof(*list));

		if (list == NULL)
			return DB_ENOMEM;
		c->list = list;
		c->size = size;
	}
	c->list[c->n++] = (struct candidate){
		.loan_id = loan_id, .version = version, .position = position
	};
	return DB_OK;
}

void
list_forget_gone(struct list *candidates)
{
	size_t kept = 0;

	for (size_t i = 0; i < candidates->n; i++) {
		if (!candidates->list[i].gone)
			candidates->list[kept++] = candidates->list[i];
	}
	candidates->n = kept;
	candidates->next = 0;
}

/* By loan, and of one loan by place. */
static int
compare_place(const void *a, const void *b)
{
	const struct candidate *const *x = a, *const *y = b;

	if ((*x)->loan_id != (*y)->loan_id)
		return (*x)->loan_id < (*y)->loan_id ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

enum db_rc
list_once(struct list *c)
{
	struct candidate **sorted = calloc(c->n + 1, sizeof(struct candidate *));

	if (sorted == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < c->n; i++)
		sorted[i] = &c->list[i];
	qsort(sorted, c->n, sizeof(struct candidate *), compare_place);
	for (size_t i = 1; i < c->n; i++)
		sorted[i]->gone = sorted[i]->loan_id == sorted[i - 1]->loan_id;
	free(sorted);
	list_forget_gone(c);
	return DB_OK;
}

void
list_json(const struct list *candidates, size_t from, size_t n, struct text *json)
{
	for (size_t i = from; i < from + n; i++)
		text_add(json, "%s[%" PRIu64 ",%" PRIu64 "]", i == from ? "[" : ",",
		    candidates->list[i].loan_id, candidates->list[i].version);
	text_add(json, n == 0 ? "[]" : "]");
}

static int
compare_loan(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

enum db_rc
loans_read(struct db *db, const struct db_query *query, const char *json, uint32_t task_id,
    struct loans *loans)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, query, DB_ARGS(db_text(json), db_u64(task_id)), &rows);

	loans_clear(loans);
	if (rc == DB_OK) {
		loans->ids = calloc(rows.n_rows + 1, sizeof(*loans->ids));
		if (loans->ids == NULL)
			rc = DB_ENOMEM;
	}
	for (; rc == DB_OK && loans->n < rows.n_rows; loans->n++)
		loans->ids[loans->n] = db_cell_u64(&rows, loans->n, 0);
	if (rc == DB_OK)
		qsort(loans->ids, loans->n, sizeof(*loans->ids), compare_loan);
	db_rows_clear(&rows);
	return rc;
}

bool
loans_have(const struct loans *loans, uint64_t loan_id)
{
	return bsearch(&loan_id, loans->ids, loans->n, sizeof(*loans->ids), compare_loan) != NULL;
}

void
loans_clear(struct loans *loans)
{
	free(loans->ids);
	*loans = (struct loans){ NULL, 0 };
}

/* What of the first @n is still as the list has it. */
enum db_rc
list_unchanged(struct db *db, const struct task *task, const struct list *candidates,
    size_t n, struct loans *loans)
{
	struct text json = { NULL, 0, 0, false };
	enum db_rc rc;

	list_json(candidates, 0, n, &json);
	rc = json.failed ? DB_ENOMEM : loans_read(db, &unchanged, json.data, task->task_id, loans);
	text_clear(&json);
	return rc;
}
