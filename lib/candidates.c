/* SPDX-License-Identifier: MIT */
/* Step 4: the list of loans that may be given, from where it costs least: what the last query left,
 * a query elsewhere, or the query here. Whatever is not from here and now is a hint: step 5 checks
 * it, and it never means "no work". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

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

enum { SAMPLE = 200 };

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
list_may_say_empty(enum list_source source, const struct candidates *list)
{
	/* A list that was cut short, or that lost some, does not tell that nothing is left. */
	return list_was_queried(source) && !list_is_hint(source) && list->complete &&
	    list->dropped == 0;
}

void
candidates_clear(struct candidates *candidates)
{
	free(candidates->list);
	*candidates = (struct candidates){ .list = NULL };
}

int
candidates_add(struct candidates *c, uint64_t loan_id, uint64_t version, uint32_t position)
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
candidates_forget_gone(struct candidates *candidates)
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

int
candidates_once(struct candidates *c)
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
	candidates_forget_gone(c);
	return DB_OK;
}

void
candidates_json(const struct candidates *candidates, size_t from, size_t n, struct text *json)
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

int
loans_read(struct db *db, const struct db_query *query, const char *json, uint32_t task_id,
    struct loans *loans)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = task_id == 0 ? db_run(db, query, DB_ARGS(db_text(json)), &rows) :
	    db_run(db, query, DB_ARGS(db_text(json), db_u64(task_id)), &rows);

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
int
candidates_unchanged(struct db *db, const struct task *task, const struct candidates *candidates,
    size_t n, struct loans *loans)
{
	struct text json = { NULL, 0, 0, false };
	int rc;

	candidates_json(candidates, 0, n, &json);
	rc = json.failed ? DB_ENOMEM : loans_read(db, &unchanged, json.data, task->task_id, loans);
	text_clear(&json);
	return rc;
}

/* Whether most of what comes first has changed since the list's server saw it. */
static int
is_stale(struct db *db, const struct task *task, const struct candidates *candidates, bool *stale)
{
	struct loans loans = { NULL, 0 };
	size_t n = candidates->n < SAMPLE ? candidates->n : SAMPLE;
	int rc = candidates_unchanged(db, task, candidates, n, &loans);

	*stale = loans.n * 2 < n;
	loans_clear(&loans);
	return rc;
}

/* Another account on the same server sees the same `work`, if it looks into the same database. */
static bool
same_tables(const struct db *a, const struct db *b)
{
	return db_same_server(a, b) && strcmp(db_database(a), db_database(b)) == 0;
}

static uint64_t
longest(const struct task *task)
{
	return (task->candidate_limit > task->max_count ? task->candidate_limit :
	    task->max_count) + task->excluded;
}

/* The list of a server that may lag. LIST_LOST where it is of no use; @reason says why. */
static int
ask_elsewhere(struct lockq *q, const struct task *task, const struct lead *lead, uint64_t usual_ms,
    struct candidates *found, enum list_result *result, char reason[REASON_BYTES])
{
	bool stale = false;
	int rc = handle_ready_elsewhere(q);

	*result = LIST_LOST;
	if (rc != DB_OK) {
		snprintf(reason, REASON_BYTES, "queried here, the server of lockq_query can't be "
		    "used: %s", db_error(q->elsewhere));
		handle_close_query(q, q->elsewhere);
		return rc == DB_ENOMEM ? rc : DB_OK;
	}
	rc = query_run(q, q->elsewhere, task, lead, usual_ms, longest(task), found, result,
	    reason);
	/* The second connection was idle meanwhile, perhaps for longer than the server waits. */
	if (rc == DB_OK && *result != LIST_FAILED)
		rc = handle_ready_query(q);
	if (rc == DB_ECROWDED)
		rc = DB_OK;
	if (rc != DB_OK || *result != LIST_FOUND)
		return rc;
	found->source = same_tables(q->elsewhere, q->lock) ? LIST_ELSEWHERE : LIST_REPLICA;
	if (found->source == LIST_REPLICA)
		rc = is_stale(handle_beside(q), task, found, &stale);
	if (rc == DB_OK && stale) {
		snprintf(reason, REASON_BYTES, "queried again here, most of what the server of "
		    "lockq_query found was stale");
		*result = LIST_LOST;
	}
	return rc;
}

int
candidates_find(struct lockq *q, const struct task *task, struct lead *lead, uint64_t *usual_ms,
    struct candidates *found, enum list_result *result, char reason[REASON_BYTES])
{
	/* Waiting followers may have taken all connections: the leader must not starve. */
	int rc = handle_ready_query(q);
	/* Did the last list leave requests pending? Then a hint was not enough. */
	bool hints = lead->left_pending == 0, enough = false;

	*result = LIST_FOUND;
	candidates_clear(found);
	if (rc != DB_OK && rc != DB_ECROWDED)
		return rc;
	/* On the lock connection an error would end the lock's transaction unseen. */
	if (q->query != NULL)
		know_usual(q, q->query, task->task_id, usual_ms);
	rc = DB_OK;
	if (hints && task->cache_ttl > 0 && q->query != NULL)
		rc = cache_read(q->query, task, lead->wanted, found, &enough);
	/* Something extra, not worth an error: where it can't be had there is the query. */
	if (rc == DB_ELOCKWAIT || rc == DB_EFAIL)
		rc = DB_OK;
	if (rc != DB_OK || enough)
		return rc;
	*result = LIST_LOST;
	if (hints && q->asks_elsewhere)
		rc = ask_elsewhere(q, task, lead, *usual_ms, found, result, reason);
	if (rc != DB_OK || *result != LIST_LOST)
		return rc;
	rc = query_run(q, handle_beside(q), task, lead, *usual_ms, longest(task), found, result,
	    reason);
	found->source = q->query != NULL ? LIST_QUERY : LIST_CROWDED;
	return rc;
}
