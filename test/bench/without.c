/* SPDX-License-Identifier: MIT */
/*
 * Asks for loans without lockq, on one connection, with SQL that an application could use instead.
 *
 *   without own|line|claim|rows TASK USER COUNT
 *
 *   own    runs the heavy query and takes the first loans of its list that nobody has taken
 *   line   waits for a row lock first, so that processes run the heavy query one after the other
 *   claim  runs SELECT … FOR UPDATE SKIP LOCKED LIMIT n on the heavy query, as queues on MySQL do.
 *          If it finds nothing it tries again a second later
 *   rows   does the same as claim, on the view test_rows_TASK
 *
 * A loan is taken by writing test_loan_TASK.taken_by. The view test_candidates_TASK shows the free
 * loans. When it has its loans, the program prints a line: how many heavy queries it ran, how often
 * it found nothing, the loans.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "inside.h"

enum { LIST = 1000, LIMIT_S = 3600, PAUSE_MS = 1000, TRIES = 3600, SQL_BYTES = 256 };

struct asker {
	struct db *db;
	const char *user;
	char select_sql[SQL_BYTES], take_sql[SQL_BYTES], turn_sql[SQL_BYTES];
	uint64_t count, limit;
	uint64_t list[LIST], taken[LIST];
	size_t n_list, n_taken;
	unsigned int queries, nothing;
};

typedef int ask_fn(struct asker *);

static int
add_loan(char **cells, const unsigned long *lengths, void *data)
{
	struct asker *a = data;

	(void)lengths;
	if (a->n_list < LIST)
		a->list[a->n_list++] = strtoull(cells[0], NULL, 10);
	return 0;
}

/* Runs a statement that may take long: db_run() would end it after some seconds. */
static int
patiently(struct asker *a, const char *name, const char *sql, const struct db_arg *args, size_t n)
{
	struct db_query query = { name, sql, DB_MANY };
	int rc = db_start(a->db, &query, args, n);

	a->n_list = 0;
	if (rc == DB_OK)
		rc = db_wait(a->db, LIMIT_S, NULL, NULL);
	return rc == DB_OK ? db_fetch(a->db, 1, add_loan, a) : rc;
}

static int
find(struct asker *a)
{
	int rc = patiently(a, "find", a->select_sql, DB_ARGS(db_u64(a->limit)));

	if (rc == DB_OK && a->n_list > 0)
		a->queries++;
	else if (rc == DB_OK)
		a->nothing++;
	return rc;
}

static int
take(struct asker *a)
{
	struct db_query query = { "take", a->take_sql, DB_NO_ROWS };
	int rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < a->n_list && a->n_taken < a->count; i++) {
		rc = db_run(a->db, &query, DB_ARGS(db_text(a->user), db_u64(a->list[i])), NULL);
		if (rc == DB_OK && db_affected(a->db) == 1)
			a->taken[a->n_taken++] = a->list[i];
	}
	return rc;
}

static int
own(struct asker *a)
{
	int rc = find(a);

	return rc == DB_OK ? take(a) : rc;
}

static int
line(struct asker *a)
{
	int rc = db_set_lock_wait(a->db, LIMIT_S);

	if (rc == DB_OK)
		rc = db_begin(a->db);
	if (rc == DB_OK)
		rc = patiently(a, "turn", a->turn_sql, DB_NO_ARGS);
	if (rc == DB_OK)
		rc = find(a);
	if (rc == DB_OK)
		rc = take(a);
	return rc == DB_OK ? db_commit(a->db) : rc;
}

static int
claim(struct asker *a)
{
	int rc = DB_OK;

	for (int i = 0; rc == DB_OK && i < TRIES; i++) {
		rc = db_begin(a->db);
		if (rc == DB_OK)
			rc = find(a);
		if (rc == DB_OK)
			rc = take(a);
		if (rc == DB_OK)
			rc = db_commit(a->db);
		if (rc != DB_OK || a->n_taken > 0)
			break;
		db_sleep_ms(PAUSE_MS);
	}
	return rc;
}

static void
write_sql(struct asker *a, const char *way, const char *task)
{
	bool rows = strcmp(way, "rows") == 0, claims = rows || strcmp(way, "claim") == 0;

	/* With own, other processes may take the first loans of the list before, so the list is
	 * longer. */
	a->limit = strcmp(way, "own") == 0 ? LIST : a->count;
	snprintf(a->select_sql, SQL_BYTES, "SELECT loan_id FROM test_%s_%.10s"
	    " ORDER BY priority, loan_id LIMIT ?%s", rows ? "rows" : "candidates", task,
	    claims ? " FOR UPDATE SKIP LOCKED" : "");
	snprintf(a->take_sql, SQL_BYTES, "UPDATE test_loan_%.10s SET taken_by = ?"
	    " WHERE loan_id = ? AND taken_by IS NULL", task);
	snprintf(a->turn_sql, SQL_BYTES, "SELECT id FROM test_turn_%.10s WHERE id = 1 FOR UPDATE",
	    task);
}

static void
print(const struct asker *a)
{
	printf("{\"queries\":%u,\"nothing\":%u,\"loans\":[", a->queries, a->nothing);
	for (size_t i = 0; i < a->n_taken; i++)
		printf("%s%" PRIu64, i > 0 ? "," : "", a->taken[i]);
	printf("]}\n");
}

static ask_fn *
way_of(const char *name)
{
	static const struct {
		const char *name;
		ask_fn *ask;
	} ways[] = { { "own", own }, { "line", line }, { "claim", claim }, { "rows", claim } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(name, ways[i].name) == 0)
			return ways[i].ask;
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	static struct asker a;
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;
	const char *way = argc == 5 ? argv[1] : "";
	ask_fn *ask = way_of(way);
	int rc;

	a.count = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;
	if (ask == NULL || a.count < 1 || a.count > LIST ||
	    strspn(argv[2], "0123456789") != strlen(argv[2])) {
		fprintf(stderr, "usage: without own|line|claim|rows TASK USER COUNT\n");
		return 2;
	}
	a.user = argv[3];
	write_sql(&a, way, argv[2]);
	where.defaults_file = getenv("LOCKQ_DEFAULTS_FILE");
	rc = where_connect(&a.db, &where);
	if (rc == DB_OK)
		rc = ask(&a);
	if (rc == DB_OK)
		print(&a);
	else
		fprintf(stderr, "without: %s\n", db_error(a.db));
	db_close(a.db);
	return rc != DB_OK ? 5 : a.n_taken > 0 ? 0 : 1;
}
