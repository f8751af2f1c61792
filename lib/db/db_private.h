/* SPDX-License-Identifier: MIT */
/* Shared by lib/db/ only: no other file includes mysql.h. */
#ifndef LOCKQ_DB_PRIVATE_H
#define LOCKQ_DB_PRIVATE_H

#include "db/db.h"

#include <mysql.h>

#include <errmsg.h>
#include <mysqld_error.h>

#ifdef MARIADB_BASE_VERSION
#define LOCKQ_MARIADB_CLIENT 1
typedef my_bool db_flag;
#else
#define LOCKQ_MARIADB_CLIENT 0
typedef bool db_flag;
#endif

/* No call of the library runs so many different statements. */
enum { KEPT_STATEMENTS = 40 };

/* A statement that stays prepared: when hundreds of followers wake at once, the server would spend
 * most of its time on preparing. */
struct kept_statement {
	char *sql;
	MYSQL_STMT *statement;
	uint64_t used;        /* db.n_run at its last run: the least recently used one makes room */
};

/* The statements that SQL's PREPARE makes, each under a name. A connection keeps one of each. */
enum sql_prepared { LOCKQ_STARTED, LOCKQ_VIEW, SQL_PREPARED };

/* Numbered as in MySQL's library. */
enum db_ssl_mode {
	DB_SSL_DISABLED = 1,
	DB_SSL_PREFERRED,
	DB_SSL_REQUIRED,
	DB_SSL_VERIFY_CA,
	DB_SSL_VERIFY_IDENTITY
};

struct last_error {
	unsigned int number;  /* of the server or the client library, 0: lockq's own error */
	uint64_t at;          /* db_clock_ms() */
	char state[6];        /* its SQLSTATE, or "" */
	char text[1024];      /* for people */
	char server[520];     /* what the server said, as much as a SIGNAL can say; or "" */
	char detail[160];     /* for operators, or "" */
};

struct db {
	MYSQL *mysql;
	unsigned int ssl_mode; /* an enum db_ssl_mode; mysql_options() takes an int */
	bool lost;
	bool read_only;       /* db_connect_read_only() */
	unsigned int pinned_wait_s; /* lock wait of the new session */
	unsigned int lock_wait_s;   /* as it is now */
	uint64_t time_limit_ms;
	uint64_t affected;
	uint64_t insert_id;
	uint64_t connection_id;
	uint64_t connected_at;
	uint64_t used;        /* when the last statement began */
	uint64_t pinged;      /* when the ping was sent whose answer is outstanding, 0: none is */
	const char *started;  /* name of the statement that db_start() sent */
	char *prepared[SQL_PREPARED]; /* the SQL that each was prepared from, or NULL */
	bool preparing;       /* PREPARE comes next, then EXECUTE */
	char *execute;        /* the text of that EXECUTE */
	char database[65 * 4];
	char wanted[65 * 4];  /* the database to be used, for messages */
	const char *role;     /* which the account needs there */
	char as_clients[640]; /* hints by which a view sees what the bank's own clients see */
	char server_uuid[37];
	struct db_schema schema; /* as it was when the connection was made */
	struct kept_statement kept[KEPT_STATEMENTS];
	uint64_t n_run;       /* prepared statements so far */
	bool sent;            /* the server has heard of the last db_run() */
	bool begun_set;       /* db_begin_set() has cleared autocommit */
	const char *undo_next; /* SQL to run if the next statement fails, or NULL */
	bool called;          /* db_call(): the procedure may have changed any setting */
	unsigned int attempt; /* db_count_attempt() */
	struct db_watch *watch; /* db_set_watch(), or NULL */
	struct last_error error;
};

/* db_error.c: each sets the handle's error, with @what for operators, and returns its class. */
enum db_rc db_set_error(struct db *db, const char *what, unsigned int number, const char *state,
    const char *text);
enum db_rc db_fail(struct db *db, const char *what);
/* The same for a statement that may have been sent, and whose answer was not read. Without memory
 * the connection is given up, since the next statement on it would read that answer. */
enum db_rc db_fail_sent(struct db *db, const char *what);
/* An error that is not the server's: @text is for people, @what for operators. */
enum db_rc db_fail_at(struct db *db, enum db_rc rc, const char *what, const char *text);
enum db_rc db_fail_statement(struct db *db, const char *what, MYSQL_STMT *statement);

static inline enum db_rc
db_fail_memory(struct db *db)
{
	return db_fail_with(db, DB_ENOMEM, "out of memory");
}

/* db.c */
/* To be called before the next statement, @what: reads the answer to a ping that is outstanding. */
LOCKQ_MUST_CHECK enum db_rc db_ready(struct db *db, const char *what);
/* Runs a statement without parameters and without rows. */
LOCKQ_MUST_CHECK enum db_rc db_command(struct db *db, const char *text);
/* db_command() after an error, which stays the one that db_error() reports. If @text fails, too,
 * the connection counts as lost. */
void db_command_aside(struct db *db, const char *text);

/* db_session_settings.c */
/* Sets the session's settings, which all statements count on, and checks that they hold. */
LOCKQ_MUST_CHECK enum db_rc db_pin(struct db *db);

/* db_where.c */
/* Connects, and fails if the connection is less safe than the ssl mode demands. */
LOCKQ_MUST_CHECK enum db_rc db_connect_at(struct db *db, const struct where *where);

/* db_tls.c */
/* Reads the ssl mode; NULL is PREFERRED. */
LOCKQ_MUST_CHECK enum db_rc db_tls_read_mode(struct db *db, const char *name);
/* @plain: without TLS. */
LOCKQ_MUST_CHECK enum db_rc db_tls_set_mode(struct db *db, bool plain);
/* Refuses a connection without TLS where the mode wants it: the library may not have kept to it. */
LOCKQ_MUST_CHECK enum db_rc db_tls_check(struct db *db);

/* db_run.c */
void db_forget(struct kept_statement *kept);

/* db_long.c */
/* Whether the server has begun to answer within @wait_ms, or the connection has ended. */
bool db_has_answer(const struct db *db, int wait_ms);
/* Waits for the answer to the last statement that was sent, @what, and reads whether it succeeded.
 * Past @deadline, of db_clock_ms(), the server counts as gone. @tick as for db_wait(), or NULL. */
LOCKQ_MUST_CHECK enum db_rc db_wait_answer(struct db *db, const char *what, uint64_t deadline,
    db_tick_fn *tick, void *data);
/* The text of @query, for PREPARE. Of DB_VIEW it has the hints @db->as_clients. free() it. NULL
 * where there is no memory. */
char *db_statement(const struct db *db, const struct db_query *query);
/* Sets the variables of @query. Then comes its PREPARE, where @db->preparing says so, and
 * @db->execute. */
LOCKQ_MUST_CHECK enum db_rc db_set_variables(struct db *db, enum sql_prepared which,
    const struct db_query *query, const struct db_arg *args, size_t n_args);
const char *db_prepare_text(enum sql_prepared which);
/* To be called when the PREPARE has failed, or the session has lost it. */
void db_forget_prepared(struct db *db, enum sql_prepared which);
void db_forget_all_prepared(struct db *db);

#endif
