/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { STATEMENT_BYTES = 16384, CONNECTIONS = 32 };

static struct db *owner_db, *admin_db, *connections[CONNECTIONS];
static bool admin_tried;
static char admin_file[4096];

struct lockq_connection
where_is(const char *group)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;

	where.program = "lockq-test";
	where.defaults_file = getenv("LOCKQ_DEFAULTS_FILE");
	where.defaults_group = group;
	return where;
}

static struct db *
connect_to(struct lockq_connection where)
{
	struct db *db = NULL;
	int rc = where_connect(&db, &where);

	if (rc != DB_OK)
		print_error("connect: %s\n", db_error(db));
	assert_int_equal(rc, DB_OK);
	/* The test's own connections may be idle for longer than the library's. */
	sql_on(db, "SET SESSION wait_timeout = 3600, lock_wait_timeout = 20");
	return db;
}

struct db *
connect_as(const char *group)
{
	size_t n = 0;

	while (connections[n] != NULL)
		assert_true(++n < CONNECTIONS);
	connections[n] = connect_to(where_is(group));
	return connections[n];
}

struct lockq *
handle_of_owner(void)
{
	struct lockq_connection where = where_is(NULL);
	struct lockq *q = NULL;

	where.defaults_group = OWNER_GROUP;
	assert_int_equal(lockq_new(&q), LOCKQ_OK);
	assert_int_equal(lockq_connect(q, &where), LOCKQ_OK);
	return q;
}

void
end_connections(void)
{
	for (size_t i = 0; i < CONNECTIONS; i++) {
		db_close(connections[i]);
		connections[i] = NULL;
	}
}

struct db *
owner(void)
{
	if (owner_db == NULL)
		owner_db = connect_to(where_is(OWNER_GROUP));
	return owner_db;
}

/* scripts/sandbox writes the administrator's option file beside that of the programs. */
struct db *
administrator(void)
{
	struct lockq_connection where = where_is("client");
	const char *slash = where.defaults_file != NULL ? strrchr(where.defaults_file, '/') : NULL;

	if (admin_tried)
		return admin_db;
	admin_tried = true;
	if (slash == NULL)
		return NULL;
	snprintf(admin_file, sizeof(admin_file), "%.*s/admin.cnf",
	    (int)(slash - where.defaults_file), where.defaults_file);
	if (access(admin_file, R_OK) != 0)
		return NULL;
	where.defaults_file = admin_file;
	where.database = db_database(owner());
	admin_db = connect_to(where);
	return admin_db;
}

const char *
worker_group(void)
{
	return administrator() != NULL ? APP_GROUP : OWNER_GROUP;
}

struct lockq_connection
worker_where(void)
{
	return where_is(worker_group());
}

void
close_connections(void)
{
	db_close(admin_db);
	db_close(owner_db);
	admin_db = owner_db = NULL;
	admin_tried = false;
}

__attribute__((format(printf, 4, 0))) static int
run(struct db *db, enum db_expect expect, struct db_rows *rows, const char *format, va_list args)
{
	char statement[STATEMENT_BYTES];
	struct db_query query = { "test", statement, expect };
	int n = vsnprintf(statement, sizeof(statement), format, args);

	assert_true(n >= 0 && (size_t)n < sizeof(statement));
	return db_run(db, &query, DB_NO_ARGS, rows);
}

static void
must(struct db *db, int rc, const char *format)
{
	if (rc != DB_OK)
		print_error("%s: %s\n", format, db_error(db));
	assert_int_equal(rc, DB_OK);
}

int
try_sql(struct db *db, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = run(db, DB_NO_ROWS, NULL, format, args);
	va_end(args);
	return rc;
}

void
sql_on(struct db *db, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = run(db, DB_NO_ROWS, NULL, format, args);
	va_end(args);
	must(db, rc, format);
}

void
sql(const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = run(owner(), DB_NO_ROWS, NULL, format, args);
	va_end(args);
	must(owner(), rc, format);
}

__attribute__((format(printf, 2, 0))) static uint64_t
one_number(struct db *db, const char *format, va_list args)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t number = 0;
	int rc = run(db, DB_ONE, &rows, format, args);

	if (rc == DB_OK)
		number = db_cell_u64(&rows, 0, 0);
	db_rows_clear(&rows);
	must(db, rc, format);
	return number;
}

uint64_t
u64_on(struct db *db, const char *format, ...)
{
	va_list args;
	uint64_t number;

	va_start(args, format);
	number = one_number(db, format, args);
	va_end(args);
	return number;
}

uint64_t
u64(const char *format, ...)
{
	va_list args;
	uint64_t number;

	va_start(args, format);
	number = one_number(owner(), format, args);
	va_end(args);
	return number;
}

const char *
text_of(const char *format, ...)
{
	static char text[STATEMENT_BYTES];
	struct db_rows rows = { 0, 0, NULL, NULL };
	va_list args;
	int rc;

	va_start(args, format);
	rc = run(owner(), DB_ONE, &rows, format, args);
	va_end(args);
	if (rc == DB_OK)
		snprintf(text, sizeof(text), "%s", db_cell_is_null(&rows, 0, 0) ? "NULL" :
		    db_cell(&rows, 0, 0));
	db_rows_clear(&rows);
	must(owner(), rc, format);
	return text;
}

const char *
plan_of_statement(const char *statement)
{
	static char plan[STATEMENT_BYTES];
	const char *rows = strncmp(statement, "INSERT", 6) == 0 ? strstr(statement, "SELECT") :
	    statement;
	const char *from = text_of("EXPLAIN FORMAT=TREE %s", rows);
	char *to = plan;

	for (; *from != '\0'; from++) {
		bool around = (from[0] == ' ' && from[1] == '=') ||
		    (from[0] == ' ' && to > plan && to[-1] == '=');

		if (!around)
			*to++ = *from;
	}
	*to = '\0';
	return plan;
}
