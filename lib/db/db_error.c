/* SPDX-License-Identifier: MIT */
/* Errors: the class that the code decides by, and the line that the user reads. */
#include "db/db_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Errors of MySQL's server that MariaDB's headers lack or number differently. */
enum {
	SERVER_TRANSACTION_ROLLED_BACK = 3101,
	SERVER_QUERY_TIMEOUT = 3024,
	SERVER_LOCK_NOWAIT = 3572,
	SERVER_HOOK_FAILED = 3100,
	SERVER_NOT_IN_GROUP = 3796,
	SERVER_OFFLINE_MODE = 3032,
	SERVER_TOO_MANY_PREPARED = 1461,
	SERVER_IDLE_DISCONNECT = 4031
};

enum { ADVICE_BYTES = 400 };

bool
db_is_behind(const struct db *db)
{
	return db_errno(db) == SERVER_TRANSACTION_ROLLED_BACK ||
	    db_errno(db) == ER_ERROR_DURING_COMMIT;
}

const char *
db_error(const struct db *db)
{
	return db == NULL ? "out of memory" : db->error.text;
}

const char *
db_error_detail(const struct db *db)
{
	return db == NULL ? "" : db->error.detail;
}

const char *
db_server_text(const struct db *db)
{
	return db->error.server;
}

bool
db_is_signal(const struct db *db)
{
	return db != NULL && strcmp(db->error.state, "45000") == 0;
}

void
db_count_attempt(struct db *db, unsigned int attempt)
{
	db->attempt = attempt;
	if (db->watch != NULL && attempt > 1)
		db->watch->retries++;
}

struct db_watch *
db_set_watch(struct db *db, struct db_watch *watch)
{
	struct db_watch *before = db != NULL ? db->watch : NULL;

	if (db != NULL)
		db->watch = watch;
	return before;
}

static void
watch_failure(struct db *db, const char *what, unsigned int number, uint64_t ms)
{
	struct db_watch *watch = db->watch;
	const struct db_failure failure = {
		.number = number, .state = db->error.state, .statement = what,
		.attempt = db->attempt > 1 ? db->attempt : 1, .ms = ms
	};

	if (watch == NULL)
		return;
	watch->lock_waits += number == ER_LOCK_WAIT_TIMEOUT;
	watch->deadlocks += number == ER_LOCK_DEADLOCK;
	if (number == ER_LOCK_WAIT_TIMEOUT || number == ER_LOCK_DEADLOCK)
		watch->lock_wait_ms += ms;
	watch->last.number = number;
	snprintf(watch->last.state, sizeof(watch->last.state), "%s", db->error.state);
	snprintf(watch->last.statement, sizeof(watch->last.statement), "%s", what);
	if (watch->failed != NULL)
		watch->failed(&failure, watch->data);
}

void
db_watch_connected(struct db *db, struct db_watch *watch)
{
	(void)db_set_watch(db, watch);
	if (db == NULL || db->error.number == 0)
		return;
	watch->last.number = db->error.number;
	snprintf(watch->last.state, sizeof(watch->last.state), "%s", db->error.state);
	snprintf(watch->last.statement, sizeof(watch->last.statement), "connect");
}

uint64_t
db_failed_at(const struct db *db)
{
	return db == NULL ? 0 : db->error.at;
}

unsigned int
db_errno(const struct db *db)
{
	return db == NULL ? 0 : db->error.number;
}

bool
db_lost(const struct db *db)
{
	return db == NULL || db->lost;
}

#define UNREACHABLE "the database can't be reached"
#define LOST "the connection to the database was lost"
#define NO_RIGHT "the account lacks a right", needs_role
#define FULL "the database has no free connection", ": try again later"
#define HELD "another session holds a lock"
#define BEHIND "another member of the cluster was first", ": try again"
#define READ_ONLY "the server is read only", ": connect to the primary"
#define OTHER "the database reports an error"
#define CACHES "the server's caches of tables are too small", \
	": let an administrator raise table_open_cache and table_definition_cache"

/* Its advice names the role of this database. */
static const char needs_role[] = "role";

/* An error that is not in this table is DB_EFAIL. The words stand before the server's text, which
 * few users understand; the advice after it, where the text does not say what to do. */
static const struct known_error {
	unsigned int number;
	enum db_rc rc;
	const char *words, *advice;
} known_errors[] = {
	{ ER_LOCK_DEADLOCK, DB_ERETRY, HELD, "" },
	{ ER_ERROR_DURING_COMMIT, DB_ERETRY, BEHIND },
	{ SERVER_TRANSACTION_ROLLED_BACK, DB_ERETRY, BEHIND },
	/* Nothing was done: a table has gone from the server's caches since the statement or its
	 * transaction began. */
	{ ER_NEED_REPREPARE, DB_ERETRY, CACHES },
	{ ER_TABLE_DEF_CHANGED, DB_ERETRY, CACHES },
	{ ER_LOCK_WAIT_TIMEOUT, DB_ELOCKWAIT, HELD, ": try again later" },
	{ SERVER_LOCK_NOWAIT, DB_EHELD, HELD, "" },
	{ ER_DUP_ENTRY, DB_EDUPLICATE, OTHER, "" },
	/* A row has changed, or a lease has ended, since it was read. A person who is bound to
	 * another account is told so before. */
	{ ER_VIEW_CHECK_FAILED, DB_ERETRY, "the database does not let that in", "" },
	{ CR_SERVER_GONE_ERROR, DB_ELOST, LOST, "" },
	{ CR_SERVER_LOST, DB_ELOST, LOST, "" },
	{ CR_SERVER_LOST_EXTENDED, DB_ELOST, LOST, "" },
	{ CR_CONNECTION_ERROR, DB_ELOST, UNREACHABLE, "" },
	{ CR_CONN_HOST_ERROR, DB_ELOST, UNREACHABLE, "" },
	/* By a router that has no primary yet, or for a wrong certificate. */
	{ CR_SSL_CONNECTION_ERROR, DB_ELOST, UNREACHABLE, "" },
	{ CR_UNKNOWN_HOST, DB_EFAIL, UNREACHABLE, "" },
	{ ER_SERVER_SHUTDOWN, DB_ELOST, LOST, "" },
	{ SERVER_IDLE_DISCONNECT, DB_ELOST, LOST, "" },
	{ ER_CON_COUNT_ERROR, DB_ECROWDED, FULL },
	{ ER_TOO_MANY_USER_CONNECTIONS, DB_ECROWDED, FULL },
	{ ER_USER_LIMIT_REACHED, DB_ECROWDED, FULL },
	{ SERVER_TOO_MANY_PREPARED, DB_ECROWDED, OTHER, "" },
	{ SERVER_QUERY_TIMEOUT, DB_ETIME, OTHER, "" },
	{ ER_QUERY_INTERRUPTED, DB_EINTERRUPTED, OTHER, "" },
	{ CR_OUT_OF_MEMORY, DB_ENOMEM, OTHER, "" },
	{ ER_ACCESS_DENIED_ERROR, DB_EFAIL, "the database refuses the account or its password",
	  "" },
	{ CR_AUTH_PLUGIN_ERR, DB_EFAIL, "the database refuses the account or its password",
	  ": use TLS, or say get-server-public-key in the option file" },
	{ ER_DBACCESS_DENIED_ERROR, DB_EFAIL, NO_RIGHT },
	{ ER_TABLEACCESS_DENIED_ERROR, DB_EFAIL, NO_RIGHT },
	{ ER_COLUMNACCESS_DENIED_ERROR, DB_EFAIL, NO_RIGHT },
	{ ER_PROCACCESS_DENIED_ERROR, DB_EFAIL, NO_RIGHT },
	{ ER_OUT_OF_SORTMEMORY, DB_EFAIL, "the server can't sort rows that long",
	  ": let an administrator raise sort_buffer_size, or give what is sorted by a column of "
	  "its own, not one within a document" },
	{ ER_SIGNAL_EXCEPTION, DB_EFAIL, "the database refuses that", "" },
	{ ER_OPTION_PREVENTS_STATEMENT, DB_EMOVED, READ_ONLY },
	{ ER_READ_ONLY_MODE, DB_EMOVED, READ_ONLY },
	/* Of a member of a group that can't commit: it has lost the majority, or leaves. */
	{ SERVER_HOOK_FAILED, DB_EMOVED, "the server has lost its cluster",
	  ": connect to another server" },
	{ SERVER_NOT_IN_GROUP, DB_EMOVED, "the server has lost its cluster",
	  ": connect to another server" },
	{ ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, DB_EFAIL, READ_ONLY },
	{ SERVER_OFFLINE_MODE, DB_EFAIL, "the server is closed, or has lost its cluster",
	  ": connect to another server" },
};

/* 1290 is said of other options, too. Their names are in it in any language. */
static bool
is_read_only(const char *text)
{
	return strstr(text, "read-only") != NULL || strstr(text, "read_only") != NULL;
}

static const struct known_error *
known_error(unsigned int number, const char *text)
{
	static const struct known_error other = { 0, DB_EFAIL, OTHER, "" };

	if (number == ER_OPTION_PREVENTS_STATEMENT && !is_read_only(text))
		return &other;
	/* Nor is it always TLS that a plugin misses. The client library has one language. */
	if (number == CR_AUTH_PLUGIN_ERR && strstr(text, "secure connection") == NULL)
		return &other;
	for (size_t i = 0; i < sizeof(known_errors) / sizeof(known_errors[0]); i++) {
		if (known_errors[i].number == number)
			return &known_errors[i];
	}
	return &other;
}

/* Managers, cron and followers need no view, or have it by the role of workers. */
static bool
reads_views(const char *role)
{
	return strcmp(role, "lockq_worker") == 0 || strcmp(role, "lockq_query") == 0 ||
	    strcmp(role, "lockq_viewer") == 0;
}

/* The right may be lockq's, or one on a manager's view: the server's text names the table. */
static const char *
advice_of(const struct db *db, const struct known_error *known, char text[ADVICE_BYTES])
{
	if (known->advice != needs_role)
		return known->advice;
	snprintf(text, ADVICE_BYTES, ": it needs the role '%s'@'%s'%s", db->role,
	    db->database[0] != '\0' ? db->database : db->wanted, reads_views(db->role) ?
	    ", and this role a GRANT on each task's view" : "");
	return text;
}

enum db_rc
db_set_error(struct db *db, const char *what, unsigned int number, const char *state,
    const char *text)
{
	const struct known_error *known = known_error(number, text);
	uint64_t ms = db->used == 0 ? 0 : db_clock_ms() - db->used;
	char advice[ADVICE_BYTES];
	enum db_rc rc = db_fail_with(db, known->rc, "%s: %s%s", known->words, text,
	    advice_of(db, known, advice));

	if (rc == DB_ELOST || rc == DB_EMOVED)
		db->lost = true;
	db->error.number = number;
	snprintf(db->error.state, sizeof(db->error.state), "%s", state);
	snprintf(db->error.server, sizeof(db->error.server), "%s", text);
	snprintf(db->error.detail, sizeof(db->error.detail),
	    "%u, SQLSTATE %s, %s, attempt %u, after %llu.%llu s", number, state, what,
	    db->attempt > 1 ? db->attempt : 1, (unsigned long long)ms / 1000,
	    (unsigned long long)ms / 100 % 10);
	/* A row that is held, or there already, is expected where it is asked for like that. */
	if (rc != DB_EHELD && rc != DB_EDUPLICATE)
		watch_failure(db, what, number, ms);
	return rc;
}

enum db_rc
db_fail(struct db *db, const char *what)
{
	return db_set_error(db, what, mysql_errno(db->mysql), mysql_sqlstate(db->mysql),
	    mysql_error(db->mysql));
}

enum db_rc
db_fail_sent(struct db *db, const char *what)
{
	enum db_rc rc = db_fail(db, what);

	if (rc == DB_ENOMEM)
		db->lost = true;
	return rc;
}

enum db_rc
db_fail_at(struct db *db, enum db_rc rc, const char *what, const char *text)
{
	enum db_rc same = db_fail_with(db, rc, "%s", text);

	snprintf(db->error.detail, sizeof(db->error.detail), "%s", what);
	return same;
}

enum db_rc
db_fail_statement(struct db *db, const char *what, MYSQL_STMT *statement)
{
	return db_set_error(db, what, mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
	    mysql_stmt_error(statement));
}

enum db_rc
db_fail_with(struct db *db, enum db_rc rc, const char *format, ...)
{
	va_list args;

	db->error.number = 0;
	db->error.state[0] = db->error.server[0] = db->error.detail[0] = '\0';
	db->error.at = db_clock_ms();
	va_start(args, format);
	vsnprintf(db->error.text, sizeof(db->error.text), format, args);
	va_end(args);
	return rc;
}
