/* SPDX-License-Identifier: MIT */
/* The functions of MySQL's client library that can fail, as lockq's library calls them in this
 * test. A connection is lost by cutting its socket, so what follows on it fails by itself, as it
 * does in use. Only where the server has answered, or memory is to be missing, the error is
 * written into the handle. */
#include "fault.h"

#include <mysql.h>

#include <errmsg.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#ifdef MARIADB_BASE_VERSION
typedef my_bool flag;
#else
typedef bool flag;
#endif

#define CONNECT_PARAMETERS MYSQL *mysql, const char *host, const char *user, \
	const char *password, const char *database, unsigned int port, const char *path, \
	unsigned long flags

int fault_mysql_server_init(int argc, char **argv, char **groups);
MYSQL *fault_mysql_init(MYSQL *mysql);
void fault_mysql_close(MYSQL *mysql);
int fault_mysql_options(MYSQL *mysql, enum mysql_option option, const void *value);
int fault_mysql_options4(MYSQL *mysql, enum mysql_option option, const void *name,
    const void *value);
#ifdef MARIADB_BASE_VERSION
int fault_mysql_optionsv(MYSQL *mysql, enum mysql_option option, ...);
#endif
MYSQL *fault_mysql_real_connect(CONNECT_PARAMETERS);
int fault_mysql_query(MYSQL *mysql, const char *text);
int fault_mysql_real_query(MYSQL *mysql, const char *text, unsigned long length);
int fault_mysql_send_query(MYSQL *mysql, const char *text, unsigned long length);
flag fault_mysql_read_query_result(MYSQL *mysql);
int fault_mysql_ping(MYSQL *mysql);
int fault_mysql_next_result(MYSQL *mysql);
int fault_mysql_reset_connection(MYSQL *mysql);
int fault_mysql_set_character_set(MYSQL *mysql, const char *name);
int fault_mysql_select_db(MYSQL *mysql, const char *name);
MYSQL_RES *fault_mysql_store_result(MYSQL *mysql);
MYSQL_RES *fault_mysql_use_result(MYSQL *mysql);
MYSQL_ROW fault_mysql_fetch_row(MYSQL_RES *result);
void fault_mysql_free_result(MYSQL_RES *result);
MYSQL_STMT *fault_mysql_stmt_init(MYSQL *mysql);
flag fault_mysql_stmt_close(MYSQL_STMT *statement);
int fault_mysql_stmt_prepare(MYSQL_STMT *statement, const char *text, unsigned long length);
flag fault_mysql_stmt_bind_param(MYSQL_STMT *statement, MYSQL_BIND *bind);
flag fault_mysql_stmt_bind_result(MYSQL_STMT *statement, MYSQL_BIND *bind);
int fault_mysql_stmt_execute(MYSQL_STMT *statement);
int fault_mysql_stmt_store_result(MYSQL_STMT *statement);
int fault_mysql_stmt_next_result(MYSQL_STMT *statement);
int fault_mysql_stmt_fetch(MYSQL_STMT *statement);
MYSQL_RES *fault_mysql_stmt_result_metadata(MYSQL_STMT *statement);

static const char no_memory[] = "no memory, for a test", lost[] = "lost, for a test";

static void
cut(MYSQL *mysql)
{
#ifdef MARIADB_BASE_VERSION
	int fd = (int)mysql_get_socket(mysql);
#else
	int fd = mysql->net.vio != NULL ? (int)mysql->net.fd : -1;
#endif

	if (fd >= 0)
		(void)shutdown(fd, SHUT_RDWR);
}

static void
set_error(MYSQL *mysql, unsigned int number, const char *text)
{
	mysql->net.last_errno = number;
	snprintf(mysql->net.last_error, sizeof(mysql->net.last_error), "%s", text);
	snprintf(mysql->net.sqlstate, sizeof(mysql->net.sqlstate), "HY000");
}

static void
set_statement_error(MYSQL_STMT *statement, unsigned int number, const char *text)
{
	statement->last_errno = number;
	snprintf(statement->last_error, sizeof(statement->last_error), "%s", text);
	snprintf(statement->sqlstate, sizeof(statement->sqlstate), "HY000");
}

/* What comes before a call: true if it must not be made. */
static bool
before(MYSQL *mysql, enum fault fault)
{
	if (fault == FAULT_LOST)
		cut(mysql);
	if (fault == FAULT_NO_MEMORY)
		set_error(mysql, CR_OUT_OF_MEMORY, no_memory);
	return fault == FAULT_NO_MEMORY;
}

/* What comes after it: true if its result is lost. */
static bool
after(MYSQL *mysql, enum fault fault)
{
	if (fault == FAULT_ANSWER_LOST) {
		cut(mysql);
		set_error(mysql, CR_SERVER_LOST, lost);
	}
	if (fault == FAULT_DONE_NO_MEMORY)
		set_error(mysql, CR_OUT_OF_MEMORY, no_memory);
	return fault == FAULT_ANSWER_LOST || fault == FAULT_DONE_NO_MEMORY;
}

/* The same for a prepared statement. It has lost its connection where that has been closed. */
static bool
before_statement(MYSQL_STMT *statement, enum fault fault)
{
	if (fault == FAULT_LOST && statement->mysql != NULL)
		cut(statement->mysql);
	if (fault == FAULT_NO_MEMORY)
		set_statement_error(statement, CR_OUT_OF_MEMORY, no_memory);
	return fault == FAULT_NO_MEMORY;
}

static bool
after_statement(MYSQL_STMT *statement, enum fault fault)
{
	if (fault == FAULT_ANSWER_LOST) {
		if (statement->mysql != NULL)
			cut(statement->mysql);
		set_statement_error(statement, CR_SERVER_LOST, lost);
	}
	if (fault == FAULT_DONE_NO_MEMORY)
		set_statement_error(statement, CR_OUT_OF_MEMORY, no_memory);
	return fault == FAULT_ANSWER_LOST || fault == FAULT_DONE_NO_MEMORY;
}

/* mysql_library_init() is a macro for this. */
int
fault_mysql_server_init(int argc, char **argv, char **groups)
{
	return fault_next("mysql_server_init", false) == FAULTS ?
	    mysql_server_init(argc, argv, groups) : 1;
}

/* --- a connection --- */

MYSQL *
fault_mysql_init(MYSQL *mysql)
{
	MYSQL *made = fault_next("mysql_init", false) == FAULTS ? mysql_init(mysql) : NULL;

	fault_took(made, "mysql_init");
	return made;
}

void
fault_mysql_close(MYSQL *mysql)
{
	fault_gave(mysql);
	mysql_close(mysql);
}

int
fault_mysql_options(MYSQL *mysql, enum mysql_option option, const void *value)
{
	return before(mysql, fault_next("mysql_options", false)) ? 1 :
	    mysql_options(mysql, option, value);
}

int
fault_mysql_options4(MYSQL *mysql, enum mysql_option option, const void *name,
    const void *value)
{
	return before(mysql, fault_next("mysql_options4", false)) ? 1 :
	    mysql_options4(mysql, option, name, value);
}

#ifdef MARIADB_BASE_VERSION
/* lockq gives it one value. */
int
fault_mysql_optionsv(MYSQL *mysql, enum mysql_option option, ...)
{
	const void *value;
	va_list args;

	va_start(args, option);
	value = va_arg(args, const void *);
	va_end(args);
	return before(mysql, fault_next("mysql_optionsv", false)) ? 1 :
	    mysql_optionsv(mysql, option, value);
}
#endif

MYSQL *
fault_mysql_real_connect(CONNECT_PARAMETERS)
{
	enum fault fault = fault_next("mysql_real_connect", true);

	/* There is no socket to cut yet. */
	if (fault == FAULT_LOST) {
		set_error(mysql, CR_CONN_HOST_ERROR, lost);
		return NULL;
	}
	if (before(mysql, fault) || mysql_real_connect(mysql, host, user, password, database, port,
	    path, flags) == NULL)
		return NULL;
	return after(mysql, fault) ? NULL : mysql;
}

/* Calls that return 0 when they succeed. */
#define WHOLE(type, name, parameters, ...) \
	type fault_##name parameters \
	{ \
		enum fault fault = fault_next(#name, true); \
		type failed = 1; \
	\
		if (!before(mysql, fault)) \
			failed = name(__VA_ARGS__); \
		return !failed && after(mysql, fault) ? 1 : failed; \
	}

WHOLE(int, mysql_query, (MYSQL *mysql, const char *text), mysql, text)
WHOLE(int, mysql_real_query, (MYSQL *mysql, const char *text, unsigned long length), mysql, text,
    length)
WHOLE(int, mysql_send_query, (MYSQL *mysql, const char *text, unsigned long length), mysql, text,
    length)
WHOLE(flag, mysql_read_query_result, (MYSQL *mysql), mysql)
WHOLE(int, mysql_ping, (MYSQL *mysql), mysql)
WHOLE(int, mysql_reset_connection, (MYSQL *mysql), mysql)
WHOLE(int, mysql_set_character_set, (MYSQL *mysql, const char *name), mysql, name)
WHOLE(int, mysql_select_db, (MYSQL *mysql, const char *name), mysql, name)

/* -1 is no failure here: there is no further result. */
int
fault_mysql_next_result(MYSQL *mysql)
{
	enum fault fault = fault_next("mysql_next_result", true);
	int rc;

	if (before(mysql, fault))
		return 1;
	rc = mysql_next_result(mysql);
	return rc <= 0 && after(mysql, fault) ? 1 : rc;
}

static MYSQL_RES *
stored(MYSQL *mysql, MYSQL_RES *result, enum fault fault, const char *name)
{
	if (result != NULL && after(mysql, fault)) {
		mysql_free_result(result);
		return NULL;
	}
	fault_took(result, name);
	return result;
}

MYSQL_RES *
fault_mysql_store_result(MYSQL *mysql)
{
	enum fault fault = fault_next("mysql_store_result", true);

	return before(mysql, fault) ? NULL : stored(mysql, mysql_store_result(mysql), fault,
	    "mysql_store_result");
}

/* It reads nothing, so it can only lack memory. */
MYSQL_RES *
fault_mysql_use_result(MYSQL *mysql)
{
	enum fault fault = fault_next("mysql_use_result", false);

	return before(mysql, fault) ? NULL : stored(mysql, mysql_use_result(mysql), fault,
	    "mysql_use_result");
}

/* The rows of a stored result are there, so it has no connection any more. */
MYSQL_ROW
fault_mysql_fetch_row(MYSQL_RES *result)
{
	MYSQL *mysql = result->handle;
	enum fault fault = mysql != NULL ? fault_next("mysql_fetch_row", true) : FAULTS;
	MYSQL_ROW row;

	if (mysql == NULL)
		return mysql_fetch_row(result);
	if (before(mysql, fault))
		return NULL;
	row = mysql_fetch_row(result);
	return after(mysql, fault) ? NULL : row;
}

void
fault_mysql_free_result(MYSQL_RES *result)
{
	fault_gave(result);
	mysql_free_result(result);
}

/* --- a prepared statement --- */

MYSQL_STMT *
fault_mysql_stmt_init(MYSQL *mysql)
{
	MYSQL_STMT *statement = before(mysql, fault_next("mysql_stmt_init", false)) ? NULL :
	    mysql_stmt_init(mysql);

	fault_took(statement, "mysql_stmt_init");
	return statement;
}

flag
fault_mysql_stmt_close(MYSQL_STMT *statement)
{
	fault_gave(statement);
	return mysql_stmt_close(statement);
}

#define STATEMENT(type, name, on_server, parameters, ...) \
	type fault_##name parameters \
	{ \
		enum fault fault = fault_next(#name, on_server); \
		type failed = 1; \
	\
		if (!before_statement(statement, fault)) \
			failed = name(__VA_ARGS__); \
		return !failed && after_statement(statement, fault) ? 1 : failed; \
	}

STATEMENT(int, mysql_stmt_prepare, true, (MYSQL_STMT *statement, const char *text,
    unsigned long length), statement, text, length)
STATEMENT(int, mysql_stmt_execute, true, (MYSQL_STMT *statement), statement)
STATEMENT(int, mysql_stmt_store_result, true, (MYSQL_STMT *statement), statement)
STATEMENT(int, mysql_stmt_fetch, false, (MYSQL_STMT *statement), statement)
STATEMENT(flag, mysql_stmt_bind_param, false, (MYSQL_STMT *statement, MYSQL_BIND *bind),
    statement, bind)
STATEMENT(flag, mysql_stmt_bind_result, false, (MYSQL_STMT *statement, MYSQL_BIND *bind),
    statement, bind)

int
fault_mysql_stmt_next_result(MYSQL_STMT *statement)
{
	enum fault fault = fault_next("mysql_stmt_next_result", true);
	int rc;

	if (before_statement(statement, fault))
		return 1;
	rc = mysql_stmt_next_result(statement);
	return rc <= 0 && after_statement(statement, fault) ? 1 : rc;
}

/* It returns NULL for a statement that has no rows, too. */
MYSQL_RES *
fault_mysql_stmt_result_metadata(MYSQL_STMT *statement)
{
	MYSQL_RES *result;

	if (mysql_stmt_field_count(statement) > 0 &&
	    before_statement(statement, fault_next("mysql_stmt_result_metadata", false)))
		return NULL;
	result = mysql_stmt_result_metadata(statement);
	fault_took(result, "mysql_stmt_result_metadata");
	return result;
}
