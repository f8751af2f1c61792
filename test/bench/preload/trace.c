/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD. It writes each call that the program makes of the client library to the
 * file that LOCKQ_TRACE names, a JSON array per line:
 *
 *   ["option", CONNECTION, NUMBER, "i", "b" or "s", VALUE]   ["attribute", CONNECTION, NAME, VALUE]
 *   ["connect", CONNECTION, HOST, USER, PASSWORD, DATABASE, PORT, SOCKET, FLAGS]
 *   ["text", CONNECTION, SQL, CHANGED, INSERT_ID]       ["send", CONNECTION, SQL]
 *   ["reply", CONNECTION, CHANGED, INSERT_ID]           ["next", CONNECTION, CHANGED, INSERT_ID]
 *   ["rows", CONNECTION, N]                             ["stream", CONNECTION, N]
 *   ["prepare", CONNECTION, STATEMENT, SQL]             ["stored", CONNECTION, STATEMENT, N]
 *   ["execute", CONNECTION, STATEMENT, CHANGED, INSERT_ID, VALUE…]
 *   ["forget", CONNECTION, STATEMENT]                   ["ping", CONNECTION]
 *   ["database", CONNECTION, NAME]                      ["close", CONNECTION]
 *   ["untold", CONNECTION, WHAT]   a call that floor_replay could not replay
 *
 * Everything is text or null. CHANGED is "-" where there are rows. A VALUE is "n" and a number, "i"
 * and one that was bound as signed, "s" and a text, or "0" for NULL.
 */
#include "next.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db_private.h"

enum { MOST = 64, NUMBER_BYTES = 24 };

/* A prepared statement and its bound values. */
struct statement {
	MYSQL_STMT *handle;
	unsigned int connection;
	MYSQL_BIND *bind;
};

static MYSQL *connections[MOST];
static unsigned int n_connections;
static struct statement statements[MOST];
static unsigned int n_statements;
static MYSQL_RES *streamed;        /* of mysql_use_result() */
static unsigned int streamed_from;
static uint64_t n_streamed;
static unsigned int depth;         /* above 0: the client library calls itself */
static FILE *trace;

static void
put_text(const char *text, size_t length)
{
	if (text == NULL) {
		fputs("null", trace);
		return;
	}
	fputc('"', trace);
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '"' || text[i] == '\\')
			fprintf(trace, "\\%c", text[i]);
		else if ((unsigned char)text[i] < ' ')
			fprintf(trace, "\\u%04x", (unsigned int)text[i]);
		else
			fputc(text[i], trace);
	}
	fputc('"', trace);
}

static void
begin(const char *kind, unsigned int connection)
{
	const char *name = getenv("LOCKQ_TRACE");

	if (trace == NULL)
		trace = fopen(name != NULL ? name : "/dev/null", "we");
	if (trace == NULL)
		abort();
	fprintf(trace, "[\"%s\",\"%u\"", kind, connection);
}

static void
also(const char *text)
{
	fputc(',', trace);
	put_text(text, text != NULL ? strlen(text) : 0);
}

static void
also_number(uint64_t number)
{
	fprintf(trace, ",\"%" PRIu64 "\"", number);
}

static void
end(void)
{
	fputs("]\n", trace);
	/* The program may end by _exit(), which writes no buffers. */
	fflush(trace);
}

static void
untold(unsigned int connection, const char *what)
{
	begin("untold", connection);
	also(what);
	end();
}

static unsigned int
number_of(MYSQL *mysql)
{
	unsigned int i = n_connections;

	/* From the last one back, because the address of a closed connection may be used again. */
	while (i > 0 && connections[i - 1] != mysql)
		i--;
	if (i > 0)
		return i;
	if (n_connections == MOST)
		abort();
	connections[n_connections++] = mysql;
	return n_connections;
}

static struct statement *
statement_of(const MYSQL_STMT *handle)
{
	unsigned int i = n_statements;

	while (i > 0 && statements[i - 1].handle != handle)
		i--;
	if (i == 0)
		abort();
	return &statements[i - 1];
}

static unsigned int
place_of(const struct statement *statement)
{
	return (unsigned int)(statement - statements) + 1;
}

/* The result of a statement that was sent as text. */
static void
also_done(MYSQL *mysql)
{
	if (mysql_field_count(mysql) > 0)
		also("-");
	else
		also_number(mysql_affected_rows(mysql));
	also_number(mysql_insert_id(mysql));
}

static bool
option_is_text(enum mysql_option option)
{
	return option == MYSQL_READ_DEFAULT_FILE || option == MYSQL_READ_DEFAULT_GROUP ||
	    option == MYSQL_SET_CHARSET_NAME || option == MYSQL_INIT_COMMAND;
}

/* Its value is one byte. The options of both flags are off, as in a new handle. */
static bool
option_is_flag(enum mysql_option option)
{
#if LOCKQ_MARIADB_CLIENT
	(void)option;
	return false;
#else
	return option == MYSQL_ENABLE_CLEARTEXT_PLUGIN ||
	    option == MYSQL_OPT_GET_SERVER_PUBLIC_KEY;
#endif
}

static bool
option_is_number(enum mysql_option option)
{
	return option == MYSQL_OPT_CONNECT_TIMEOUT || option == MYSQL_OPT_READ_TIMEOUT ||
	    option == MYSQL_OPT_WRITE_TIMEOUT || option == MYSQL_OPT_LOCAL_INFILE ||
	    option == MYSQL_OPT_PROTOCOL
#if !LOCKQ_MARIADB_CLIENT
	    || option == MYSQL_OPT_SSL_MODE
#endif
	    ;
}

int
mysql_options(MYSQL *mysql, enum mysql_option option, const void *arg)
{
	int (*real)(MYSQL *, enum mysql_option, const void *), rc;

	*(void **)&real = next("mysql_options");
	if (depth == 0 && option_is_flag(option)) {
		begin("option", number_of(mysql));
		also_number(option);
		also("b");
		also_number(*(const unsigned char *)arg);
		end();
	} else if (depth == 0 && !option_is_text(option) && !option_is_number(option)) {
		untold(number_of(mysql), "an option that test/bench/preload/trace.c does not know");
	} else if (depth == 0) {
		begin("option", number_of(mysql));
		also_number(option);
		also(option_is_text(option) ? "s" : "i");
		if (option_is_text(option))
			also(arg);
		else
			also_number(*(const unsigned int *)arg);
		end();
	}
	depth++;
	rc = real(mysql, option, arg);
	depth--;
	return rc;
}

int
mysql_options4(MYSQL *mysql, enum mysql_option option, const void *arg1, const void *arg2)
{
	int (*real)(MYSQL *, enum mysql_option, const void *, const void *);

	*(void **)&real = next("mysql_options4");
	if (depth == 0) {
		begin("attribute", number_of(mysql));
		also(arg1);
		also(arg2);
		end();
	}
	return real(mysql, option, arg1, arg2);
}

MYSQL *
mysql_real_connect(MYSQL *mysql, const char *host, const char *user, const char *passwd,
    const char *db, unsigned int port, const char *unix_socket, unsigned long clientflag)
{
	MYSQL *(*real)(MYSQL *, const char *, const char *, const char *, const char *,
	    unsigned int, const char *, unsigned long), *result;

	*(void **)&real = next("mysql_real_connect");
	depth++;
	result = real(mysql, host, user, passwd, db, port, unix_socket, clientflag);
	depth--;
	begin("connect", number_of(mysql));
	also(host);
	also(user);
	also(passwd);
	also(db);
	also_number(port);
	also(unix_socket);
	also_number(clientflag);
	end();
	if (result == NULL)
		untold(number_of(mysql), "a connection that could not be had");
	return result;
}

int
mysql_real_query(MYSQL *mysql, const char *q, unsigned long length)
{
	int (*real)(MYSQL *, const char *, unsigned long), rc;

	*(void **)&real = next("mysql_real_query");
	depth++;
	rc = real(mysql, q, length);
	depth--;
	if (depth > 0)
		return rc;
	begin("text", number_of(mysql));
	fputc(',', trace);
	put_text(q, length);
	also_done(mysql);
	end();
	if (rc != 0)
		untold(number_of(mysql), "a statement that failed");
	return rc;
}

int
mysql_query(MYSQL *mysql, const char *q)
{
	return mysql_real_query(mysql, q, (unsigned long)strlen(q));
}

int
mysql_send_query(MYSQL *mysql, const char *q, unsigned long length)
{
	int (*real)(MYSQL *, const char *, unsigned long);

	*(void **)&real = next("mysql_send_query");
	if (depth == 0) {
		begin("send", number_of(mysql));
		fputc(',', trace);
		put_text(q, length);
		end();
	}
	return real(mysql, q, length);
}

db_flag
mysql_read_query_result(MYSQL *mysql)
{
	db_flag (*real)(MYSQL *), rc;

	*(void **)&real = next("mysql_read_query_result");
	rc = real(mysql);
	if (depth == 0) {
		begin("reply", number_of(mysql));
		also_done(mysql);
		end();
	}
	if (rc)
		untold(number_of(mysql), "a statement that failed");
	return rc;
}

int
mysql_next_result(MYSQL *mysql)
{
	int (*real)(MYSQL *), rc;

	*(void **)&real = next("mysql_next_result");
	rc = real(mysql);
	if (depth == 0 && rc == 0) {
		begin("next", number_of(mysql));
		also_done(mysql);
		end();
	}
	return rc;
}

MYSQL_RES *
mysql_store_result(MYSQL *mysql)
{
	MYSQL_RES *(*real)(MYSQL *), *result;

	*(void **)&real = next("mysql_store_result");
	depth++;
	result = real(mysql);
	depth--;
	if (depth == 0 && result != NULL) {
		begin("rows", number_of(mysql));
		also_number(mysql_num_rows(result));
		end();
	}
	return result;
}

MYSQL_RES *
mysql_use_result(MYSQL *mysql)
{
	MYSQL_RES *(*real)(MYSQL *), *result;

	*(void **)&real = next("mysql_use_result");
	result = real(mysql);
	if (depth == 0) {
		streamed = result;
		streamed_from = number_of(mysql);
		n_streamed = 0;
	}
	return result;
}

MYSQL_ROW
mysql_fetch_row(MYSQL_RES *result)
{
	MYSQL_ROW (*real)(MYSQL_RES *), row;

	*(void **)&real = next("mysql_fetch_row");
	row = real(result);
	if (result == streamed && row != NULL)
		n_streamed++;
	return row;
}

void
mysql_free_result(MYSQL_RES *result)
{
	void (*real)(MYSQL_RES *);

	*(void **)&real = next("mysql_free_result");
	if (result != NULL && result == streamed) {
		begin("stream", streamed_from);
		also_number(n_streamed);
		end();
		streamed = NULL;
	}
	real(result);
}

MYSQL_STMT *
mysql_stmt_init(MYSQL *mysql)
{
	MYSQL_STMT *(*real)(MYSQL *);
	struct statement *statement = &statements[n_statements];

	*(void **)&real = next("mysql_stmt_init");
	if (n_statements++ == MOST)
		abort();
	statement->handle = real(mysql);
	statement->connection = number_of(mysql);
	return statement->handle;
}

int
mysql_stmt_prepare(MYSQL_STMT *stmt, const char *query, unsigned long length)
{
	int (*real)(MYSQL_STMT *, const char *, unsigned long), rc;
	const struct statement *statement = statement_of(stmt);

	*(void **)&real = next("mysql_stmt_prepare");
	depth++;
	rc = real(stmt, query, length);
	depth--;
	begin("prepare", statement->connection);
	also_number(place_of(statement));
	fputc(',', trace);
	put_text(query, length);
	end();
	if (rc != 0)
		untold(statement->connection, "a statement that can't be prepared");
	return rc;
}

/* The values are read when the statement is executed: only then are they final. */
db_flag
mysql_stmt_bind_param(MYSQL_STMT *stmt, MYSQL_BIND *bnd)
{
	db_flag (*real)(MYSQL_STMT *, MYSQL_BIND *);
	struct statement *statement = statement_of(stmt);
	size_t n = mysql_stmt_param_count(stmt);

	*(void **)&real = next("mysql_stmt_bind_param");
	free(statement->bind);
	statement->bind = calloc(n + 1, sizeof(*bnd));
	if (statement->bind == NULL)
		abort();
	memcpy(statement->bind, bnd, n * sizeof(*bnd));
	return real(stmt, bnd);
}

static void
also_value(const MYSQL_BIND *bind)
{
	unsigned long length = bind->length != NULL ? *bind->length : bind->buffer_length;
	char number[NUMBER_BYTES];
	uint64_t value;

	if (bind->buffer_type == MYSQL_TYPE_NULL || (bind->is_null != NULL && *bind->is_null)) {
		also("0");
	} else if (bind->buffer_type == MYSQL_TYPE_LONGLONG) {
		memcpy(&value, bind->buffer, sizeof(value));
		snprintf(number, sizeof(number), "%c%" PRIu64, bind->is_unsigned ? 'n' : 'i',
		    value);
		also(number);
	} else if (bind->buffer_type == MYSQL_TYPE_STRING) {
		char *text = malloc(length + 1);

		if (text == NULL)
			abort();
		text[0] = 's';
		memcpy(text + 1, bind->buffer, length);
		fputc(',', trace);
		put_text(text, length + 1);
		free(text);
	} else {
		abort();
	}
}

int
mysql_stmt_execute(MYSQL_STMT *stmt)
{
	int (*real)(MYSQL_STMT *), rc;
	const struct statement *statement = statement_of(stmt);

	*(void **)&real = next("mysql_stmt_execute");
	depth++;
	rc = real(stmt);
	depth--;
	begin("execute", statement->connection);
	also_number(place_of(statement));
	if (mysql_stmt_field_count(stmt) > 0)
		also("-");
	else
		also_number(mysql_stmt_affected_rows(stmt));
	also_number(mysql_stmt_insert_id(stmt));
	for (unsigned long i = 0; i < mysql_stmt_param_count(stmt); i++)
		also_value(&statement->bind[i]);
	end();
	if (rc != 0)
		untold(statement->connection, "a statement that failed");
	return rc;
}

int
mysql_stmt_store_result(MYSQL_STMT *stmt)
{
	int (*real)(MYSQL_STMT *), rc;
	const struct statement *statement = statement_of(stmt);

	*(void **)&real = next("mysql_stmt_store_result");
	depth++;
	rc = real(stmt);
	depth--;
	begin("stored", statement->connection);
	also_number(place_of(statement));
	also_number(mysql_stmt_num_rows(stmt));
	end();
	return rc;
}

db_flag
mysql_stmt_close(MYSQL_STMT *stmt)
{
	db_flag (*real)(MYSQL_STMT *);
	struct statement *statement = statement_of(stmt);

	*(void **)&real = next("mysql_stmt_close");
	/* After the end of the connection nothing is sent to the server. */
	if (connections[statement->connection - 1] != NULL) {
		begin("forget", statement->connection);
		also_number(place_of(statement));
		end();
	}
	free(statement->bind);
	*statement = (struct statement){ .handle = NULL };
	return real(stmt);
}

int
mysql_ping(MYSQL *mysql)
{
	int (*real)(MYSQL *);

	*(void **)&real = next("mysql_ping");
	begin("ping", number_of(mysql));
	end();
	return real(mysql);
}

int
mysql_select_db(MYSQL *mysql, const char *db)
{
	int (*real)(MYSQL *, const char *), rc;

	*(void **)&real = next("mysql_select_db");
	depth++;
	rc = real(mysql, db);
	depth--;
	begin("database", number_of(mysql));
	also(db);
	end();
	return rc;
}

void
mysql_close(MYSQL *sock)
{
	void (*real)(MYSQL *);

	*(void **)&real = next("mysql_close");
	if (depth == 0) {
		begin("close", number_of(sock));
		end();
		connections[number_of(sock) - 1] = NULL;
	}
	depth++;
	real(sock);
	depth--;
}
