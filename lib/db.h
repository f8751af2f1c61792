/* SPDX-License-Identifier: MIT */
/* The one door to MySQL: connections, bound parameters, result shapes, error classes. */
#ifndef LOCKQ_DB_H
#define LOCKQ_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockq.h"

/* Every db_ function that can fail returns one of these; db_error() has the text. */
enum db_rc {
	DB_OK = 0,
	DB_EFAIL = -1,        /* refused: syntax, privilege, no such table, read only … */
	DB_ERETRY = -2,       /* 1213, 3101, 1180: roll back, try the transaction again */
	DB_ELOCKWAIT = -3,    /* 1205: the statement only is undone; roll back all the same */
	DB_EDUPLICATE = -4,   /* 1062 */
	DB_ELOST = -5,        /* the connection is gone; what it had open is or will be undone */
	DB_ECROWDED = -6,     /* 1040, 1203, 1226: no session to be had at the moment */
	DB_ETIME = -7,        /* 3024: max_execution_time; the transaction lives on */
	DB_EINTERRUPTED = -8, /* 1317: somebody killed the statement */
	DB_ESHAPE = -9,       /* a result of another shape than the query declares */
	DB_ECANCELLED = -10,  /* the tick function gave up; the statement still runs */
	DB_ENOMEM = -11,
	DB_EINDOUBT = -12,    /* lost during COMMIT: it may have happened or not */
	DB_EHELD = -13        /* 3572: NOWAIT met a lock; the transaction goes on */
};

/* What a statement answers. Anything else is DB_ESHAPE. */
enum db_expect {
	DB_NO_ROWS, /* no result set */
	DB_ONE,     /* exactly one row */
	DB_MAYBE,   /* one row or none */
	DB_MANY,    /* any number of rows */
	DB_NAMED    /* the same, and what their columns are called: db_column() */
};

/* Time limits, in one place because they must line up, in seconds: a statement of a transaction
 * ends before the transaction's connection is given up for idle, that before who resolves a doubt
 * stops waiting for it, and all that before the client stops reading, or it would walk away from a
 * lock that is still held. Held to it when this is compiled, below, and the server's part when a
 * connection is made. */
enum {
	DB_PING_EVERY_S = 3,     /* on the lock connection, while it is idle during a query */
	DB_LOCK_WAIT_S = 5,      /* innodb_lock_wait_timeout, lock_wait_timeout: of a statement */
	DB_WAIT_TIMEOUT_S = 10,  /* wait_timeout, net_write_timeout: a stopped client loses its
	                          * locks after this */
	DB_RESOLVE_WAIT_S = 15,  /* lock wait when a commit is in doubt */
	DB_READ_TIMEOUT_S = 20,  /* of the client, where it does not wait in slices */
	DB_CONNECT_TIMEOUT_S = 5, /* a leader connects to where its query runs */
	DB_GRACE_S = 10          /* an answer that is later than its limit by this never comes */
};
_Static_assert((int)DB_PING_EVERY_S < (int)DB_WAIT_TIMEOUT_S, "a leader that lives keeps its lock");
_Static_assert((int)DB_CONNECT_TIMEOUT_S < (int)DB_WAIT_TIMEOUT_S, "and while it connects");
_Static_assert((int)DB_LOCK_WAIT_S < (int)DB_WAIT_TIMEOUT_S, "statement < transaction");
_Static_assert((int)DB_WAIT_TIMEOUT_S < (int)DB_RESOLVE_WAIT_S, "transaction < who resolves it");
_Static_assert((int)DB_RESOLVE_WAIT_S < (int)DB_READ_TIMEOUT_S, "server < client");

/* A statement: a name for messages, its text, the shape of its answer. */
struct db_query {
	const char *name;
	const char *sql;
	enum db_expect expect;
};

/* A bound parameter. */
struct db_arg {
	const char *text; /* NULL: a number, or SQL NULL */
	uint64_t number;
	bool null;
	bool is_signed;   /* as the server takes a truth value to be, or it prepares anew */
};

static inline struct db_arg
db_u64(uint64_t number)
{
	return (struct db_arg){ NULL, number, false, false };
}

/* NULL is SQL NULL. */
static inline struct db_arg
db_text(const char *text)
{
	return (struct db_arg){ text, 0, text == NULL, false };
}

static inline struct db_arg
db_null(void)
{
	return (struct db_arg){ NULL, 0, true, false };
}

static inline struct db_arg
db_bool(bool value)
{
	return (struct db_arg){ NULL, value, false, true };
}

#define DB_ARGS(...) (const struct db_arg[]){ __VA_ARGS__ }, \
	sizeof((const struct db_arg[]){ __VA_ARGS__ }) / sizeof(struct db_arg)
#define DB_NO_ARGS NULL, 0

/* A result in memory; zero-initialise it, release it with db_rows_clear(). */
struct db_rows {
	size_t n_rows;
	size_t n_columns;
	char **cells;  /* row after row; NULL is SQL NULL */
	char *text;    /* what they point into */
};

/* NULL for SQL NULL, and where there is no such cell. */
const char *db_cell(const struct db_rows *rows, size_t row, size_t column);
uint64_t db_cell_u64(const struct db_rows *rows, size_t row, size_t column); /* NULL is 0 */
bool db_cell_is_null(const struct db_rows *rows, size_t row, size_t column);
const char *db_column(const struct db_rows *rows, size_t column); /* of DB_NAMED, else NULL */
void db_rows_clear(struct db_rows *rows);

struct db;

/* Connects and pins the session. Strings of @where are copied. On failure *@db still is a handle
 * whose db_error() says why (NULL only for DB_ENOMEM); release it all the same. */
LOCKQ_MUST_CHECK enum db_rc db_connect(struct db **db, const struct lockq_connection *where);
/* The same, and this connection can't write, whatever a view's functions try. */
LOCKQ_MUST_CHECK enum db_rc db_connect_read_only(struct db **db, const struct lockq_connection
    *where);
void db_close(struct db *db);

const char *db_error(const struct db *db);
/* Sets the error to a text of the caller's, and returns @rc. db_refuse() is for what a room finds
 * wrong in a well-formed answer. */
__attribute__((format(printf, 3, 4))) LOCKQ_MUST_CHECK enum db_rc db_fail_with(struct db *db,
    enum db_rc rc, const char *format, ...);
#define db_refuse(db, ...) db_fail_with((db), DB_EFAIL, __VA_ARGS__)
unsigned int db_errno(const struct db *db);
enum db_rc db_failure(const struct db *db);              /* the last error's enum db_rc */
uint64_t db_failed_at(const struct db *db);       /* db_clock_ms(), 0: never */
const char *db_database(const struct db *db);     /* the one in use */
uint64_t db_connection_id(const struct db *db);   /* the server's, also behind a proxy */
uint64_t db_connected_at(const struct db *db);    /* db_clock_ms() */
uint64_t db_schema(const struct db *db);          /* its version as connected, 0: not known */
const char *db_server(const struct db *db);       /* its server_uuid */
bool db_same_server(const struct db *a, const struct db *b); /* by server_uuid */
bool db_lost(const struct db *db);

/* Runs one statement and reads its whole answer: prepared, where it has parameters, else as text,
 * which is one round trip instead of two. @rows may be NULL for DB_NO_ROWS. */
LOCKQ_MUST_CHECK enum db_rc db_run(struct db *db, const struct db_query *query, const struct db_arg
    *args, size_t n_args, struct db_rows *rows);

/* Prepares what a later db_run() will be in a hurry for. */
LOCKQ_MUST_CHECK enum db_rc db_prepare(struct db *db, const struct db_query *query);

/* db_run() of a statement that must change exactly @expected rows; else DB_ERETRY. */
LOCKQ_MUST_CHECK enum db_rc db_change(struct db *db, const struct db_query *query,
    const struct db_arg *args, size_t n_args, uint64_t expected);

/* Rows that the last db_run() changed; with CLIENT_FOUND_ROWS unset, so really changed. */
uint64_t db_affected(const struct db *db);
uint64_t db_insert_id(const struct db *db);

LOCKQ_MUST_CHECK enum db_rc db_begin(struct db *db);
LOCKQ_MUST_CHECK enum db_rc db_commit(struct db *db); /* DB_EINDOUBT when the connection went meanwhile */
void db_rollback(struct db *db);               /* what fails here has lost the connection: undone */

/* Begins a transaction by setting user variables, for statements without parameters of their own:
 * @set is a list for SET, "@a = ?, @b = ?". Until db_restore(), whatever follows is in a
 * transaction. */
LOCKQ_MUST_CHECK enum db_rc db_begin_set(struct db *db, const char *set, const struct db_arg *args,
    size_t n_args);
/* After db_begin_set(): makes the session as it was. */
LOCKQ_MUST_CHECK enum db_rc db_restore(struct db *db);
/* A statement that calls a procedure; what rows it shows are passed over. What it does to the
 * session's settings is undone by db_restore(). */
LOCKQ_MUST_CHECK enum db_rc db_call(struct db *db, const char *name, const char *sql);

/* A statement only where it changes: innodb_lock_wait_timeout; max_execution_time in milliseconds,
 * 0 for none, and the wait for metadata locks that it does not cover. */
LOCKQ_MUST_CHECK enum db_rc db_set_lock_wait(struct db *db, unsigned int seconds);
LOCKQ_MUST_CHECK enum db_rc db_set_time_limit(struct db *db, uint64_t ms);

/* What db_run() runs next, outside a transaction, can't write. */
LOCKQ_MUST_CHECK enum db_rc db_next_read_only(struct db *db);

/* What db_run() runs next, outside a transaction, sees what others have not committed. */
LOCKQ_MUST_CHECK enum db_rc db_next_read_dirty(struct db *db);

/* DB_ELOST where the server no longer answers on this connection. */
LOCKQ_MUST_CHECK enum db_rc db_ping(struct db *db);
/* Whether it was heard of so lately that it need not be asked, and has its settings: no procedure
 * can have changed them. */
bool db_is_fresh(const struct db *db);
/* The same without waiting, to be called often: sends a ping where the connection has been idle for
 * DB_PING_EVERY_S, and looks whether the last one was answered. */
LOCKQ_MUST_CHECK enum db_rc db_keep_alive(struct db *db);

/* Ends another connection. One that is gone, or another account's, is nothing wrong. */
LOCKQ_MUST_CHECK enum db_rc db_kill(struct db *db, uint64_t connection_id);

LOCKQ_MUST_CHECK enum db_rc db_library_init(void);

/* A statement that takes long: started, waited for in slices, read row by row. */
typedef int db_tick_fn(void *data);              /* not 0: give up */
typedef int db_row_fn(char **cells, const unsigned long *lengths, void *data); /* not 0: stop */

/* The same statement as the last time on this connection is not prepared again. */
LOCKQ_MUST_CHECK enum db_rc db_start(struct db *db, const struct db_query *query,
    const struct db_arg *args, size_t n_args);
/* Waits for the answer; calls @tick every 250 ms and after a signal. After @limit_s seconds and
 * DB_GRACE_S the server is taken for gone: DB_ELOST. */
LOCKQ_MUST_CHECK enum db_rc db_wait(struct db *db, unsigned int limit_s, db_tick_fn *tick, void
    *data);
/* Reads it; @integer_columns, a bit each, must be integers or it is DB_ESHAPE. */
LOCKQ_MUST_CHECK enum db_rc db_fetch(struct db *db, unsigned int integer_columns, db_row_fn *row,
    void *data);

/* So often is the same thing done, one after a failure included. */
enum { DB_TRIES = 6 };

/* The last error was a cluster's: 3101 or 1180. The server lacks what another member has written,
 * and goes on failing until it has that. */
bool db_is_behind(const struct db *db);
/* Sleeps @try's backoff: 20 ms doubling to 1 s, a random half of it. */
void db_backoff(unsigned int try);

/* "schema.view" or "view" as a quoted identifier into @out (at least 4 * 64 + 8 bytes): letters,
 * digits, _ and $ only. The only place where an identifier is made. */
LOCKQ_MUST_CHECK enum db_rc db_quote_identifier(char *out, size_t size, const char *name);

uint64_t db_clock_ms(void); /* monotonic */
void db_sleep_ms(unsigned int ms); /* ends early on a signal */

#endif
