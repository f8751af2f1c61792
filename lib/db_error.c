/* SPDX-License-Identifier: MIT */
/* What went wrong: the classes that the other rooms tell apart, and a line for people. */
#include "db_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Server errors that MariaDB's headers number otherwise or do not know. */
enum {
	SERVER_TRANSACTION_ROLLED_BACK = 3101,
	SERVER_QUERY_TIMEOUT = 3024,
	SERVER_LOCK_NOWAIT = 3572,
	SERVER_OFFLINE_MODE = 3032,
	SERVER_TOO_MANY_PREPARED = 1461,
	SERVER_IDLE_DISCONNECT = 4031
};

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

static enum db_rc
classify(unsigned int number)
{
	switch (number) {
	case ER_LOCK_DEADLOCK:
	case ER_ERROR_DURING_COMMIT:
	case SERVER_TRANSACTION_ROLLED_BACK:
		return DB_ERETRY;
	case ER_LOCK_WAIT_TIMEOUT:
		return DB_ELOCKWAIT;
	case SERVER_LOCK_NOWAIT:
		return DB_EHELD;
	case ER_DUP_ENTRY:
		return DB_EDUPLICATE;
	case CR_SERVER_GONE_ERROR:
	case CR_SERVER_LOST:
	case CR_SERVER_LOST_EXTENDED:
	case CR_CONNECTION_ERROR:
	case CR_CONN_HOST_ERROR:
	case ER_SERVER_SHUTDOWN:
	case SERVER_IDLE_DISCONNECT:
		return DB_ELOST;
	case ER_CON_COUNT_ERROR:
	case ER_TOO_MANY_USER_CONNECTIONS:
	case ER_USER_LIMIT_REACHED:
	case SERVER_TOO_MANY_PREPARED:
		return DB_ECROWDED;
	case SERVER_QUERY_TIMEOUT:
		return DB_ETIME;
	case ER_QUERY_INTERRUPTED:
		return DB_EINTERRUPTED;
	case CR_OUT_OF_MEMORY:
		return DB_ENOMEM;
	default:
		return DB_EFAIL;
	}
}

enum db_rc
db_failure(const struct db *db)
{
	return db == NULL ? DB_ENOMEM : classify(db->error.number);
}

/* What an operator should do about the errors whose own text does not say it. */
static const char *
advice(unsigned int number)
{
	switch (number) {
	case ER_OPTION_PREVENTS_STATEMENT:
	case ER_READ_ONLY_MODE:
	case ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION:
		return ": the server is read only, connect to the primary";
	case ER_CON_COUNT_ERROR:
	case ER_TOO_MANY_USER_CONNECTIONS:
	case ER_USER_LIMIT_REACHED:
		return ": try again later";
	case ER_ERROR_DURING_COMMIT:
	case SERVER_TRANSACTION_ROLLED_BACK:
		return ": another member of the cluster was first, try again";
	case SERVER_OFFLINE_MODE:
		return ": it is closed, or has lost its cluster: connect to another server";
	case ER_LOCK_WAIT_TIMEOUT:
		return ": another session holds it, try again later";
	default:
		return "";
	}
}

enum db_rc
db_set_error(struct db *db, const char *what, unsigned int number, const char *text)
{
	enum db_rc rc = db_fail_with(db, classify(number), "%s: %s (%u)%s", what, text, number,
	    advice(number));

	if (rc == DB_ELOST)
		db->lost = true;
	db->error.number = number;
	return rc;
}

enum db_rc
db_fail(struct db *db, const char *what)
{
	return db_set_error(db, what, mysql_errno(db->mysql), mysql_error(db->mysql));
}

enum db_rc
db_fail_statement(struct db *db, const char *what, MYSQL_STMT *statement)
{
	return db_set_error(db, what, mysql_stmt_errno(statement), mysql_stmt_error(statement));
}

enum db_rc
db_fail_with(struct db *db, enum db_rc rc, const char *format, ...)
{
	va_list args;

	db->error.number = 0;
	db->error.at = db_clock_ms();
	va_start(args, format);
	vsnprintf(db->error.text, sizeof(db->error.text), format, args);
	va_end(args);
	return rc;
}
