/* SPDX-License-Identifier: MIT */
/* What the rooms behind db.h share, and nobody else: only they see mysql.h. */
#ifndef LOCKQ_DB_PRIVATE_H
#define LOCKQ_DB_PRIVATE_H

#include "db.h"

#include <mysql.h>

#ifdef MARIADB_BASE_VERSION
#define LOCKQ_MARIADB_CLIENT 1
#include <errmsg.h>
#include <mysqld_error.h>
typedef my_bool db_flag;
#else
#define LOCKQ_MARIADB_CLIENT 0
#include <errmsg.h>
#include <mysqld_error.h>
typedef bool db_flag;
#endif

/* More than one call of any kind needs. */
enum { KEPT_STATEMENTS = 40 };

/* A statement that stays prepared: hundreds who wake at once spend most of their time preparing. */
struct kept_statement {
	char *sql;
	MYSQL_STMT *statement;
	uint64_t used;        /* counts up: the least recently used one makes room */
};

/* As MySQL's library numbers them. */
enum db_ssl_mode {
	DB_SSL_DISABLED = 1,
	DB_SSL_PREFERRED,
	DB_SSL_REQUIRED,
	DB_SSL_VERIFY_CA,
	DB_SSL_VERIFY_IDENTITY
};

struct last_error {
	unsigned int number;  /* the server's or the client library's; 0: neither's */
	uint64_t at;          /* db_clock_ms() */
	char text[1024];
};

struct db {
	MYSQL *mysql;
	unsigned int ssl_mode;     /* an enum db_ssl_mode */
	const char *ssl_mode_name;
	bool lost;
	bool read_only;       /* all that it will run */
	unsigned int lock_wait_s;
	uint64_t time_limit_ms;
	uint64_t affected;
	uint64_t insert_id;
	uint64_t connection_id;
	uint64_t connected_at;
	uint64_t used;        /* when its last statement began */
	uint64_t pinged;      /* when, where the answer is outstanding; else 0 */
	const char *started;  /* name of the statement that db_start() sent */
	char *prepared;       /* what the server has prepared for it, or NULL */
	bool preparing;       /* its PREPARE was sent, EXECUTE is next */
	char execute[256];
	char database[65 * 4];
	char server_uuid[37];
	uint64_t schema;      /* as it was connected; 0: not known */
	struct kept_statement kept[KEPT_STATEMENTS];
	uint64_t n_run;
	bool begun_set;       /* db_begin_set() */
	const char *undo_next; /* what the next statement's failure leaves to be undone, or NULL */
	bool called;          /* db_call(): who knows what that has set */
	struct last_error error;
};

/* db_error.c: each sets the handle's error to "@what: …" and returns its class. */
enum db_rc db_set_error(struct db *db, const char *what, unsigned int number, const char *text);
enum db_rc db_fail(struct db *db, const char *what);
enum db_rc db_fail_statement(struct db *db, const char *what, MYSQL_STMT *statement);

static inline enum db_rc
db_fail_memory(struct db *db)
{
	return db_fail_with(db, DB_ENOMEM, "out of memory");
}

/* db.c */
int db_socket(struct db *db);
/* Before the next statement, @what: the answer to a ping may be outstanding. */
LOCKQ_MUST_CHECK enum db_rc db_ready(struct db *db, const char *what);
/* A statement that is text, and has no answer but that it is done. */
LOCKQ_MUST_CHECK enum db_rc db_command(struct db *db, const char *text);
/* After an error, which stays the one to be reported: where this fails, too, the connection is not
 * to be used any more. */
void db_command_aside(struct db *db, const char *text);
/* Makes the session's settings what all else counts on, and sees to it that they are. */
LOCKQ_MUST_CHECK enum db_rc db_pin(struct db *db);

/* db_tls.c */
/* One of the handle's options; NULL is PREFERRED, as with MySQL's client. */
LOCKQ_MUST_CHECK enum db_rc db_set_ssl_mode(struct db *db, const char *name);
/* Connects, and sees to it that the connection is as safe as the mode wants it. */
LOCKQ_MUST_CHECK enum db_rc db_connect_tls(struct db *db, const struct lockq_connection *where);

/* db_run.c */
void db_forget(struct kept_statement *kept);

/* db_long.c */
/* It is to be prepared anew. */
void db_forget_started(struct db *db);

#endif
