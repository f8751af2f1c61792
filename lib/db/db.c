/* SPDX-License-Identifier: MIT */
/* Makes connections to MySQL, keeps them alive and ends them. Begin with db.h, which is all that
 * other rooms see. Behind it db_where.c connects, db_tls.c refuses a connection that is less safe
 * than was asked for, db_session_settings.c pins the time zone and the other settings of a session,
 * db_run.c runs one statement, db_transaction.c begins and ends transactions, db_long.c runs a
 * statement that takes long, db_error.c says what went wrong, and db_text.c has the texts. */
#include "db/db_private.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db/db_text.h"

enum { OLDEST_SERVER = 80019 };

/* KILL takes no parameter, but it takes a user variable. */
static DB_QUERY(set_target, DB_NO_ROWS, "SET @target = ?");

uint64_t
db_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void
db_sleep_ms(unsigned int ms)
{
	(void)poll(NULL, 0, (int)ms);
}

void
db_backoff(unsigned int try)
{
	struct timespec now;
	unsigned int most = try < 6 ? 20u << try : 1000;

	/* Jitter needs to differ between processes, not to be unpredictable. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	db_sleep_ms(most / 2 + (unsigned int)(((unsigned long)now.tv_nsec / 1000 +
	    (unsigned long)getpid() * 7919) % (most / 2 + 1)));
}

void
nap_with_jitter(const struct db *db, unsigned int try)
{
	db_sleep_ms(1 + try + (unsigned int)(db_connection_id(db) + try) % MOMENT_MS);
}

/* By lockq_schema lockq-migrate --finish finds the programs that are older. */
static enum db_rc
set_options(struct db *db, const struct where *where)
{
	static const unsigned int io_s = DB_READ_TIMEOUT_S, no = 0;
	static const char newest[] = NUMBER_TEXT(LOCKQ_SCHEMA);
	unsigned int connect_s = where->connect_s > 0 ? where->connect_s : DB_CONNECT_TIMEOUT_S;
	const char *program = where->text[WHERE_PROGRAM];
	MYSQL *mysql = db->mysql;

	if (mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s) != 0 ||
	    mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &io_s) != 0 ||
	    mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &io_s) != 0 ||
	    mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &no) != 0 ||
	    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4") != 0 ||
	    mysql_options4(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name",
	    program != NULL ? program : "liblockq") != 0 ||
	    mysql_options4(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "lockq_schema", newest) != 0)
		return db_fail(db, "options");
	return DB_OK;
}

static enum db_rc
check_server(struct db *db)
{
	const char *version = mysql_get_server_info(db->mysql);

	if (strstr(version, "MariaDB") != NULL)
		return db_refuse(db, "the server is MariaDB %s: lockq needs MySQL 8.0.19 or later",
		    version);
	if (mysql_get_server_version(db->mysql) < OLDEST_SERVER)
		return db_refuse(db, "the server is MySQL %s: lockq needs 8.0.19 or later",
		    version);
	return DB_OK;
}

static enum db_rc
connect_to(struct db **out, const struct where *where, bool read_only)
{
	struct db *db = calloc(1, sizeof(*db));
	enum db_rc rc;

	*out = db;
	if (db == NULL)
		return DB_ENOMEM;
	db->read_only = read_only;
	db->pinned_wait_s = where->lock_wait_s > 0 && !read_only ? where->lock_wait_s :
	    DB_LOCK_WAIT_S;
	snprintf(db->wanted, sizeof(db->wanted), "%s", where->text[WHERE_DATABASE] != NULL ?
	    where->text[WHERE_DATABASE] : "lockq");
	db->role = "lockq_worker";
	db->mysql = mysql_init(NULL);
	rc = db->mysql != NULL ? set_options(db, where) : db_fail_memory(db);
	if (rc == DB_OK)
		rc = db_connect_at(db, where);
	if (rc == DB_OK)
		rc = check_server(db);
	if (rc == DB_OK)
		rc = db_pin(db);
	/* Without its settings, or without a session, no later call may use it. */
	db->lost = rc != DB_OK;
	return rc;
}

enum db_rc
db_connect(struct db **out, const struct where *where)
{
	return connect_to(out, where, false);
}

enum db_rc
db_connect_read_only(struct db **out, const struct where *where)
{
	return connect_to(out, where, true);
}

void
db_close(struct db *db)
{
	if (db == NULL)
		return;
	/* First the connection: else each kept statement would send its own COM_STMT_CLOSE. */
	if (db->mysql != NULL)
		mysql_close(db->mysql);
	for (size_t i = 0; i < KEPT_STATEMENTS; i++)
		db_forget(&db->kept[i]);
	db_forget_all_prepared(db);
	free(db);
}

int
db_socket(const struct db *db)
{
#if LOCKQ_MARIADB_CLIENT
	return (int)mysql_get_socket(db->mysql);
#else
	return (int)db->mysql->net.fd;
#endif
}

/* The client library says good-bye when it closes, and would end the other process's session. */
void
db_leave(struct db *db)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nowhere < 0 || dup2(nowhere, db_socket(db)) < 0)
		(void)close(db_socket(db));
	if (nowhere >= 0)
		(void)close(nowhere);
	db->lost = true;
	db->connection_id = 0;
}

const char *
db_database(const struct db *db)
{
	return db->database;
}

void
db_set_role(struct db *db, const char *role)
{
	if (db != NULL)
		db->role = role;
}

uint64_t
db_connection_id(const struct db *db)
{
	return db->connection_id;
}

struct db_schema
db_schema(const struct db *db)
{
	return db->schema;
}

uint64_t
db_connected_at(const struct db *db)
{
	return db->connected_at;
}

const char *
db_server(const struct db *db)
{
	return db->server_uuid;
}

bool
db_same_server(const struct db *a, const struct db *b)
{
	return strcmp(a->server_uuid, b->server_uuid) == 0;
}

uint64_t
db_affected(const struct db *db)
{
	return db->affected;
}

uint64_t
db_insert_id(const struct db *db)
{
	return db->insert_id;
}

enum db_rc
db_library_init(void)
{
	return mysql_library_init(0, NULL, NULL) == 0 ? DB_OK : DB_EFAIL;
}

static const char ping[] = "ping";

enum db_rc
db_ready(struct db *db, const char *what)
{
	uint64_t deadline = db_clock_ms() + (uint64_t)DB_GRACE_S * 1000;
	enum db_rc rc = DB_OK;

	if (db->lost)
		return db_fail_at(db, DB_ELOST, what, "the connection to the database was lost");
	if (db->pinged != 0)
		rc = db_wait_answer(db, ping, deadline, NULL, NULL);
	db->used = db_clock_ms();
	return rc;
}

enum db_rc
db_command(struct db *db, const char *text)
{
	enum db_rc rc = db_ready(db, text);

	if (rc != DB_OK)
		return rc;
	return mysql_query(db->mysql, text) == 0 ? DB_OK : db_fail(db, text);
}

void
db_command_aside(struct db *db, const char *text)
{
	struct last_error error = db->error;

	if (db_command(db, text) != DB_OK)
		db->lost = true;
	db->error = error;
}

/* If the next statement fails before it begins a transaction, the server applies @text to the one
 * after it, so db_run() then runs @undo. */
static enum db_rc
set_next(struct db *db, const char *text, const char *undo)
{
	enum db_rc rc = db_command(db, text);

	db->undo_next = rc == DB_OK ? undo : NULL;
	return rc;
}

enum db_rc
db_next_read_only(struct db *db)
{
	return set_next(db, "SET TRANSACTION READ ONLY", "SET TRANSACTION READ WRITE");
}

enum db_rc
db_next_read_dirty(struct db *db)
{
	return set_next(db, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
	    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
}

enum db_rc
db_ping(struct db *db)
{
	enum db_rc rc = db_ready(db, ping);

	if (rc != DB_OK)
		return rc;
	return mysql_ping(db->mysql) == 0 ? DB_OK : db_fail(db, ping);
}

bool
db_was_sent(const struct db *db)
{
	return db->sent;
}

bool
db_is_fresh(const struct db *db)
{
	return !db_lost(db) && !db->called &&
	    db_clock_ms() - db->used < (uint64_t)DB_PING_EVERY_S * 1000;
}

/* Sends a statement, because mysql_ping() would wait for the answer: on a cut network that takes
 * half a minute, in which Ctrl-C does nothing. */
enum db_rc
db_keep_alive(struct db *db)
{
	uint64_t now = db_clock_ms();

	if (db->lost)
		return DB_ELOST;
	if (db->pinged != 0 && !db_has_answer(db, 0) &&
	    now - db->pinged < (uint64_t)DB_GRACE_S * 1000)
		return DB_OK;
	if (db->pinged != 0)
		return db_wait_answer(db, ping, now, NULL, NULL);
	if (now - db->used < (uint64_t)DB_PING_EVERY_S * 1000)
		return DB_OK;
	if (mysql_send_query(db->mysql, "DO 0", 4) != 0)
		return db_fail_sent(db, ping);
	db->used = db->pinged = now;
	return DB_OK;
}

enum db_rc
db_kill(struct db *db, uint64_t connection_id, bool *others)
{
	enum db_rc rc = db_run(db, &set_target, DB_ARGS(db_u64(connection_id)), NULL);
	/* That it is gone already is no failure, and no last one of a call in the log. */
	struct db_watch *watch = db_set_watch(db, NULL);

	if (rc == DB_OK)
		rc = db_command(db, "KILL @target");
	(void)db_set_watch(db, watch);
	if (others != NULL)
		*others = rc == DB_EFAIL && db->error.number == ER_KILL_DENIED_ERROR;
	return rc == DB_EFAIL && (db->error.number == ER_NO_SUCH_THREAD ||
	    db->error.number == ER_KILL_DENIED_ERROR) ? DB_OK : rc;
}

enum db_rc
db_quote_identifier(char *out, size_t size, const char *name)
{
	static const char allowed[] =
	    "abcdefghijklmnopqrstuvwxyz" "ABCDEFGHIJKLMNOPQRSTUVWXYZ" "0123456789_$";
	size_t first = strspn(name, allowed);
	const char *last = name[first] == '.' ? name + first + 1 : name;
	size_t length = strspn(last, allowed);
	int n;

	if (first == 0 || first > 64 || length == 0 || length > 64 || last[length] != '\0')
		return DB_EFAIL;
	n = last == name ? snprintf(out, size, "`%s`", name) :
	    snprintf(out, size, "`%.*s`.`%s`", (int)first, name, last);
	return n > 0 && (size_t)n < size ? DB_OK : DB_EFAIL;
}

enum db_rc
db_quote_name(char *out, size_t size, const char *name)
{
	size_t n = 0;

	if (size < sizeof("````"))
		return DB_EFAIL;
	out[n++] = '`';
	for (; *name != '\0' && n + sizeof("```") <= size; name++) {
		if (*name == '`')
			out[n++] = '`';
		out[n++] = *name;
	}
	out[n++] = '`';
	out[n] = '\0';
	return *name == '\0' ? DB_OK : DB_EFAIL;
}
