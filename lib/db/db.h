/* SPDX-License-Identifier: MIT */
/* The one door to MySQL: connections, bound parameters, result shapes, error classes. */
#ifndef LOCKQ_DB_H
#define LOCKQ_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockq.h"

/* Every db_ function that can fail returns one of these; db_error() has the text. Public codes have
 * other numbers, so none of these can be mistaken for one. */
enum db_rc {
	DB_OK = 0,
	DB_EFAIL = -101,      /* refused: syntax, privilege, no such table … */
	DB_ERETRY = -102,     /* 1213, 3101, 1180: roll back, try the transaction again */
	DB_ELOCKWAIT = -103,  /* 1205: only the statement is undone; roll back all the same */
	DB_EDUPLICATE = -104, /* 1062 */
	DB_ELOST = -105,      /* the connection is gone; the server undoes its transaction */
	DB_ECROWDED = -106,   /* 1040, 1203, 1226: no session to be had at the moment */
	DB_ETIME = -107,      /* 3024: max_execution_time; the transaction lives on */
	DB_EINTERRUPTED = -108, /* 1317: somebody killed the statement */
	DB_ESHAPE = -109,     /* a result of another shape than the query declares */
	DB_ECANCELLED = -110, /* the tick function gave up; the statement still runs */
	DB_ENOMEM = -111,
	DB_EINDOUBT = -112,   /* lost during COMMIT: committed or not, nobody knows */
	DB_EHELD = -113,      /* 3572: NOWAIT met a lock; the transaction goes on */
	DB_EMOVED = -114      /* 1290, 3100 …: the server is read only or has lost its cluster, so
	                       * another one is the primary. The transaction was rolled back, and
	                       * the connection counts as lost */
};

/* The shape of a statement's answer. Any other shape is DB_ESHAPE. */
enum db_expect {
	DB_NO_ROWS, /* no result set */
	DB_ONE,     /* exactly one row */
	DB_MAYBE,   /* one row or none */
	DB_MANY,    /* any number of rows */
	DB_VIEW     /* any number of rows that a task's view shows, and the names of their columns:
	             * db_column(). Its statement may fail between two rows. It is a SELECT that
	             * runs in the server's own time zone and SQL mode, so it compares lockq's
	             * times with UTC_TIMESTAMP(6). */
};

/* Time limits in seconds, in one place because they must line up. A statement of a transaction ends
 * before the server closes the transaction's connection as idle. The server closes that before a
 * process that resolves a doubt stops waiting for it. All this comes before the client stops
 * reading, or the client would leave a lock behind that is still held. The assertions below check
 * this, and each new connection checks the server's part. */
enum {
	DB_PING_EVERY_S = 3,     /* on the lock connection, while it is idle during a query */
	DB_BRIEF_WAIT_S = 1,     /* lock wait before a call leads: then it looks at its own time,
	                          * says what it waits for, and tries again */
	DB_LOCK_WAIT_S = 5,      /* innodb_lock_wait_timeout and lock_wait_timeout of a leader */
	DB_WAIT_TIMEOUT_S = 10,  /* wait_timeout and net_write_timeout: after this a stopped client
	                          * loses its locks */
	DB_RESOLVE_WAIT_S = 15,  /* lock wait when a commit is in doubt */
	DB_READ_TIMEOUT_S = 20,  /* of the client library, where it does not wait in slices */
	DB_CONNECT_TIMEOUT_S = 5, /* of the client library */
	DB_GRACE_S = 10          /* an answer that is so much later than its limit never comes */
};
enum {
	TICK_SLICE_MS = 250,     /* a user who gives up is heard after a quarter of a second */
	MOMENT_MS = 8            /* jitter: hundreds may meet a leader that is writing its name */
};
_Static_assert((int)DB_PING_EVERY_S < (int)DB_WAIT_TIMEOUT_S, "a leader that lives keeps its lock");
_Static_assert((int)DB_CONNECT_TIMEOUT_S < (int)DB_WAIT_TIMEOUT_S,
    "a leader that connects keeps its lock");
_Static_assert((int)DB_BRIEF_WAIT_S < (int)DB_LOCK_WAIT_S, "others < leader");
_Static_assert((int)DB_LOCK_WAIT_S < (int)DB_WAIT_TIMEOUT_S, "statement < transaction");
_Static_assert((int)DB_WAIT_TIMEOUT_S < (int)DB_RESOLVE_WAIT_S, "transaction < resolving a doubt");
_Static_assert((int)DB_RESOLVE_WAIT_S < (int)DB_READ_TIMEOUT_S, "server < client");

/* The value of a macro as text, for an SQL statement. */
#define NUMBER_TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

struct db_schema {
	uint64_t version;  /* 0: not known */
	uint64_t finished; /* the version up to which it is finished */
	bool held;         /* not known, since another session had locked its table */
};
/* The columns for the first two. */
#define SCHEMA_VERSIONS \
	"(SELECT MAX(version) FROM schema_version)," \
	"       (SELECT MAX(version) FROM schema_version WHERE finished_at IS NOT NULL)"

/* A statement: a name for messages, its text, the shape of its answer. */
struct db_query {
	const char *name;
	const char *sql;
	enum db_expect expect;
};
/* Defines a statement; its name for messages is that of the object. */
#define DB_QUERY(name, expect, ...) const struct db_query name = { #name, __VA_ARGS__, expect }

/* A bound parameter. */
struct db_arg {
	const char *text; /* NULL: a number, or SQL NULL */
	uint64_t number;
	bool null;
	bool is_signed;   /* of a truth value: if it were unsigned, the server would prepare anew */
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
	char *text;    /* the cells point into it */
};

/* NULL for SQL NULL, and where there is no such cell. */
const char *db_cell(const struct db_rows *rows, size_t row, size_t column);
uint64_t db_cell_u64(const struct db_rows *rows, size_t row, size_t column); /* NULL is 0 */
int64_t db_cell_or_none(const struct db_rows *rows, size_t row, size_t column); /* NULL is -1 */
bool db_cell_is_null(const struct db_rows *rows, size_t row, size_t column);
const char *db_column(const struct db_rows *rows, size_t column); /* of DB_VIEW, else NULL */
void db_rows_clear(struct db_rows *rows);

/* Where a server is, and how to connect to it: the texts that the options of the same names have.
 * NULL or 0 leaves one to the client library. */
enum where_text {
	WHERE_PROGRAM, /* program_name, which operators see */
	WHERE_HOST, WHERE_SOCKET, WHERE_PROTOCOL, WHERE_BIND_ADDRESS,
	WHERE_USER, WHERE_PASSWORD, WHERE_DATABASE,
	WHERE_SSL_MODE, WHERE_VERIFY, WHERE_SSL, /* the latter two "1" or "0" */
	WHERE_SSL_CA, WHERE_SSL_CAPATH, WHERE_SSL_CERT, WHERE_SSL_KEY,
	WHERE_SSL_CIPHER, WHERE_SSL_CRL, WHERE_SSL_CRLPATH, WHERE_TLS_VERSION,
	WHERE_TLS_CIPHERSUITES,
	WHERE_DEFAULT_AUTH, WHERE_PLUGIN_DIR, WHERE_PUBLIC_KEY_PATH,
	WHERE_CLEARTEXT, WHERE_GET_PUBLIC_KEY, /* "1" or "0" */
	WHERE_TEXTS
};
struct where {
	char *text[WHERE_TEXTS];
	unsigned int port;
	unsigned int connect_s;   /* for connecting; 0: DB_CONNECT_TIMEOUT_S */
	unsigned int lock_wait_s; /* of a new connection that writes; 0: DB_LOCK_WAIT_S */
};

/* Says why the client library can't use the option's value, or returns NULL. */
const char *db_fault_of_ssl_mode(const char *name);
const char *db_fault_of_protocol(const char *name);
const char *db_fault_of_ciphersuites(void);

struct db;

/* Connects and pins the session's settings. After a failure *@db is still a handle, whose
 * db_error() says why and which must be released. It may be NULL for DB_ENOMEM. */
LOCKQ_MUST_CHECK enum db_rc db_connect(struct db **db, const struct where *where);
/* The same, and the connection can't write, whatever the functions of a view try. */
LOCKQ_MUST_CHECK enum db_rc db_connect_read_only(struct db **db, const struct where *where);
void db_close(struct db *db);
/* The socket of the connection. */
int db_socket(const struct db *db);
/* Another process goes on with this connection: nothing that this one does reaches the server any
 * more, and db_close() only frees memory. */
void db_leave(struct db *db);

const char *db_error(const struct db *db);
/* What operators want to know of the last error: the server's number, the SQLSTATE, the statement,
 * the attempt and the time that the statement took; or "". */
const char *db_error_detail(const struct db *db);
/* What the server said of the last error, without a word of lockq's; or "". */
const char *db_server_text(const struct db *db);
/* Whether the last error is one that a procedure has raised by SIGNAL SQLSTATE '45000'. */
bool db_is_signal(const struct db *db);
/* A statement that has failed. Its strings are good until the function returns. */
struct db_failure {
	unsigned int number;   /* of the server or the client library */
	const char *state;     /* SQLSTATE */
	const char *statement; /* its name */
	unsigned int attempt;
	uint64_t ms;           /* how long it took */
};
typedef void db_failure_fn(const struct db_failure *failure, void *data);

/* What the statements of some connections have met since it was set to 0. */
struct db_watch {
	uint32_t lock_waits;   /* 1205 */
	uint32_t deadlocks;    /* 1213 */
	uint32_t retries;      /* what was done for a second time, or a later one */
	uint64_t lock_wait_ms; /* of statements that ended with 1205 or 1213 */
	struct {
		unsigned int number; /* 0: none has failed */
		char state[6], statement[48];
	} last;                /* that has failed */
	db_failure_fn *failed; /* called for each; or NULL */
	void *data;
};
/* Returns the watch that was set before. @watch, or NULL for none, is the caller's, and must live
 * as long as the connection. What only finds words for a message runs without one. */
struct db_watch *db_set_watch(struct db *db, struct db_watch *watch);
/* The same for a connection that was just made. Why it could not be is the last failure then; but
 * @watch->failed is not called, since there may be many tries a second. */
void db_watch_connected(struct db *db, struct db_watch *watch);
/* What is done next is done for the @attempt-th time; for db_error_detail(). */
void db_count_attempt(struct db *db, unsigned int attempt);
/* Sets the error to the caller's text and returns @rc. db_refuse() is for an answer that has the
 * right shape and still can't be used. */
__attribute__((format(printf, 3, 4))) LOCKQ_MUST_CHECK enum db_rc db_fail_with(struct db *db,
    enum db_rc rc, const char *format, ...);
#define db_refuse(db, ...) db_fail_with((db), DB_EFAIL, __VA_ARGS__)
unsigned int db_errno(const struct db *db);
uint64_t db_failed_at(const struct db *db);       /* of the last error; db_clock_ms(), 0: never */
const char *db_database(const struct db *db);     /* the one in use */
/* The role that the account needs for what comes next, for messages; a static string. It is
 * lockq_worker until then. @db may be NULL, after DB_ENOMEM. */
void db_set_role(struct db *db, const char *role);
uint64_t db_connection_id(const struct db *db);   /* the server's, also behind a proxy */
uint64_t db_connected_at(const struct db *db);    /* db_clock_ms() */
struct db_schema db_schema(const struct db *db);      /* as it was at connecting */
const char *db_server(const struct db *db);       /* the server's server_uuid */
bool db_same_server(const struct db *a, const struct db *b); /* by server_uuid */
bool db_lost(const struct db *db);
/* Whether the server has heard of the last db_run(). Where that has failed without an error of the
 * server, it may be done: DB_ENOMEM may mean that there was no memory for the answer. */
bool db_was_sent(const struct db *db);

/* Runs one statement and reads its whole answer. A statement with parameters is prepared and kept,
 * another one is sent as text. @rows may be NULL for DB_NO_ROWS. */
LOCKQ_MUST_CHECK enum db_rc db_run(struct db *db, const struct db_query *query,
    const struct db_arg *args, size_t n_args, struct db_rows *rows);

/* db_run() of a statement that answers a number. *@number is 0 for SQL NULL, for no row, and after
 * a failure. */
LOCKQ_MUST_CHECK enum db_rc db_number(struct db *db, const struct db_query *query,
    const struct db_arg *args, size_t n_args, uint64_t *number);

/* Prepares a statement ahead of a db_run() that will be in a hurry. */
LOCKQ_MUST_CHECK enum db_rc db_prepare(struct db *db, const struct db_query *query);

/* db_run() of a statement that must change exactly @expected rows, else DB_ERETRY. */
LOCKQ_MUST_CHECK enum db_rc db_change(struct db *db, const struct db_query *query,
    const struct db_arg *args, size_t n_args, uint64_t expected);

/* How many rows the last db_run() changed. A row that was updated to the same values doesn't
 * count. */
uint64_t db_affected(const struct db *db);
uint64_t db_insert_id(const struct db *db);

LOCKQ_MUST_CHECK enum db_rc db_begin(struct db *db);
/* DB_EINDOUBT when the connection was lost meanwhile. */
LOCKQ_MUST_CHECK enum db_rc db_commit(struct db *db);
void db_rollback(struct db *db);               /* if it fails, the connection counts as lost */
/* After the call of a procedure that has a transaction of its own: where a KILL has broken it off,
 * that is still open, and is rolled back. Returns @rc, what the call has returned. */
LOCKQ_MUST_CHECK enum db_rc db_after_call(struct db *db, enum db_rc rc);

/* Sets user variables and clears autocommit: until db_restore() all statements are in a
 * transaction, and they need no parameters. @set is a list for SET, "@a = ?, @b = ?". */
LOCKQ_MUST_CHECK enum db_rc db_begin_set(struct db *db, const char *set, const struct db_arg *args,
    size_t n_args);
/* Makes the session as it was before db_begin_set() and db_call(). */
LOCKQ_MUST_CHECK enum db_rc db_restore(struct db *db);
typedef int db_tick_fn(void *data); /* not 0: give up */

/* Runs a statement that calls a procedure, and passes over the rows that it shows. DB_ECANCELLED
 * when @tick, if it is not NULL, returns something else than 0 meanwhile: then the statement goes
 * on on the server, and the connection counts as lost. */
LOCKQ_MUST_CHECK enum db_rc db_call(struct db *db, const char *name, const char *sql,
    db_tick_fn *tick, void *data);

/* These send a statement only if the value changes. The first sets the wait for rows and for tables
 * that others have locked; the second max_execution_time in milliseconds, 0 for none, and while
 * there is one the wait for tables, too, which max_execution_time does not cover. */
LOCKQ_MUST_CHECK enum db_rc db_set_lock_wait(struct db *db, unsigned int seconds);
LOCKQ_MUST_CHECK enum db_rc db_set_time_limit(struct db *db, uint64_t ms);

/* The next db_run(), outside a transaction, can't write. */
LOCKQ_MUST_CHECK enum db_rc db_next_read_only(struct db *db);

/* The next db_run(), outside a transaction, sees what others have not committed. */
LOCKQ_MUST_CHECK enum db_rc db_next_read_dirty(struct db *db);

/* DB_ELOST where the server no longer answers on this connection. */
LOCKQ_MUST_CHECK enum db_rc db_ping(struct db *db);
/* Whether the connection was used so lately that it needs no db_ping(), and has its settings, which
 * a procedure may change. */
bool db_is_fresh(const struct db *db);
/* db_ping() without waiting, to be called often. It sends a ping if the connection has been idle
 * for DB_PING_EVERY_S, and fails if the last ping was not answered in DB_GRACE_S. */
LOCKQ_MUST_CHECK enum db_rc db_keep_alive(struct db *db);

/* Ends another connection. DB_OK also if it is gone or belongs to another account; then *@others is
 * set, unless @others is NULL. */
LOCKQ_MUST_CHECK enum db_rc db_kill(struct db *db, uint64_t connection_id, bool *others);

LOCKQ_MUST_CHECK enum db_rc db_library_init(void);

/* A statement that takes long: started, waited for in slices, read row by row. */
typedef int db_row_fn(char **cells, const unsigned long *lengths, void *data); /* not 0: stop */

/* Starts a statement. It is not prepared again if the last one on this connection was the same. */
LOCKQ_MUST_CHECK enum db_rc db_start(struct db *db, const struct db_query *query,
    const struct db_arg *args, size_t n_args);
/* Waits for the answer; calls @tick every 250 ms and after a signal. DB_ELOST if there is no answer
 * in @limit_s seconds and DB_GRACE_S. */
LOCKQ_MUST_CHECK enum db_rc db_wait(struct db *db, unsigned int limit_s, db_tick_fn *tick,
    void *data);
/* Reads the answer. The columns whose bits are set in @integer_columns must be integers, else
 * DB_ESHAPE. */
LOCKQ_MUST_CHECK enum db_rc db_fetch(struct db *db, unsigned int integer_columns, db_row_fn *row,
    void *data);

/* How often the same thing is tried, the first time included. */
enum { DB_TRIES = 6 };

/* Whether the last error was a cluster's, 3101 or 1180. The server lacks a change that another
 * member has made, and goes on failing until it has it. */
bool db_is_behind(const struct db *db);
/* Sleeps after try number @try, counted from 0: 20 ms, doubling up to 1 s, less a random part of up
 * to a half. */
void db_backoff(unsigned int try);
/* Sleeps for some milliseconds before the @try-th new try, with jitter: hundreds of processes may
 * try while one of them is about to write its name, and must not all come back together. */
void nap_with_jitter(const struct db *db, unsigned int try);

/* "schema.view" or "view" as a quoted identifier into @out (at least 4 * 64 + 8 bytes): letters,
 * digits, _ and $ only. The only place where an identifier is made of what people have typed. */
LOCKQ_MUST_CHECK enum db_rc db_quote_identifier(char *out, size_t size, const char *name);
/* A name that the server has told, of any characters, as one quoted identifier. DB_EFAIL where it
 * does not fit. */
LOCKQ_MUST_CHECK enum db_rc db_quote_name(char *out, size_t size, const char *name);

uint64_t db_clock_ms(void); /* monotonic */
void db_sleep_ms(unsigned int ms); /* ends early on a signal */

#endif
