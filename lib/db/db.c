/* SPDX-License-Identifier: MIT */
/* Makes connections to MySQL, pins their settings, keeps them alive and ends them. The other files
 * behind db.h: db_where.c connects, db_run.c runs one statement, db_transaction.c begins and ends
 * transactions, db_long.c runs a statement that takes long, db_error.c says what went wrong, and
 * db_text.c has the texts. */
#include "db/db_private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db/db_text.h"

enum { OLDEST_SERVER = 80019, SCHEMA_COLUMN = 10, FINISHED_COLUMN };

/* READ COMMITTED: a leader must see the requests that came during its query, and must not lock the
 * gaps that new requests go into. UTC: a time must not depend on the session that wrote it.
 * utf8mb4: an init_connect of old has another character set. MySQL's own collation: MariaDB's
 * library sets another, which a view's literals may not mix with. */
static const char pin_session[] =
	"SET SESSION autocommit = 1,"
	" transaction_isolation = 'READ-COMMITTED',"
	" sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
	"ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"
	" time_zone = '+00:00',"
	" character_set_client = 'utf8mb4',"
	" character_set_results = 'utf8mb4',"
	" collation_connection = 'utf8mb4_0900_ai_ci',"
	" completion_type = 'NO_CHAIN',"
	" max_execution_time = 0,"
	" innodb_lock_wait_timeout = %u,"
	" lock_wait_timeout = %u,"
	" wait_timeout = %d,"
	" net_write_timeout = %d%s";

/* The settings are read back: a proxy between lockq and the server may have changed them. */
#define WHO_AM_I \
	"SELECT DATABASE(), CONNECTION_ID(), @@server_uuid, @@transaction_isolation," \
	"       @@autocommit, @@innodb_lock_wait_timeout, @@wait_timeout, @@net_write_timeout," \
	"       @@character_set_client, @@character_set_results"

static const struct db_query who_am_i = { "who_am_i", WHO_AM_I, DB_ONE };

/* Where another session has locked that table, the caller waits for it and can say so. */
static const struct db_query who_am_i_and_schema = {
	"who_am_i",
	WHO_AM_I ", (SELECT MAX(version) FROM schema_version),"
	"       (SELECT MAX(version) FROM schema_version WHERE finished_at IS NOT NULL)",
	DB_ONE
};
static const struct db_query set_time_limit = {
	"set_time_limit",
	"SET SESSION max_execution_time = ?, lock_wait_timeout = ?",
	DB_NO_ROWS
};
/* KILL takes no parameter, but it takes a user variable. */
static const struct db_query set_target = { "set_target", "SET @target = ?", DB_NO_ROWS };

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

/* The timeouts line up only if the server keeps to them. */
static enum db_rc
check_pinned(struct db *db, const struct db_rows *rows)
{
	const struct {
		const char *name;
		const char *want;
		uint64_t seconds;
	} pinned[] = {
		{ "transaction_isolation", "READ-COMMITTED", 0 },
		{ "autocommit", "1", 0 },
		{ "innodb_lock_wait_timeout", NULL, db->pinned_wait_s },
		{ "wait_timeout", NULL, DB_WAIT_TIMEOUT_S },
		{ "net_write_timeout", NULL, DB_WAIT_TIMEOUT_S },
		{ "character_set_client", "utf8mb4", 0 },
		{ "character_set_results", "utf8mb4", 0 },
	};

	for (size_t i = 0; i < sizeof(pinned) / sizeof(pinned[0]); i++) {
		const char *is = db_cell(rows, 0, 3 + i);

		if (is != NULL && (pinned[i].want != NULL ? strcmp(is, pinned[i].want) == 0 :
		    strtoull(is, NULL, 10) == pinned[i].seconds))
			continue;
		return db_refuse(db, "the session's %s is \"%s\" although it was set otherwise: "
		    "a proxy may have changed it: connect without one", pinned[i].name,
		    is != NULL ? is : "NULL");
	}
	return DB_OK;
}

/* On a new connection the same statement reads the versions of the schema, which saves a round
 * trip. It fails where no database is in use, or where the table is missing, is locked or may not
 * be read. Then db_schema() is 0, and its caller reads the version itself. */
static enum db_rc
read_who_am_i(struct db *db, struct db_rows *rows)
{
	if (db->server_uuid[0] == '\0' && !db->read_only) {
		enum db_rc rc = db_run(db, &who_am_i_and_schema, DB_NO_ARGS, rows);

		if (rc == DB_OK) {
			db->schema = db_cell_u64(rows, 0, SCHEMA_COLUMN);
			db->finished = db_cell_u64(rows, 0, FINISHED_COLUMN);
		}
		db->schema_held = rc == DB_ELOCKWAIT;
		if (rc != DB_EFAIL && !db->schema_held)
			return rc;
		db->error = (struct last_error){ .number = 0 };
	}
	return db_run(db, &who_am_i, DB_NO_ARGS, rows);
}

enum db_rc
db_pin(struct db *db)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	char text[sizeof(pin_session) + 64];
	enum db_rc rc;

	snprintf(text, sizeof(text), pin_session, db->pinned_wait_s, db->pinned_wait_s,
	    DB_WAIT_TIMEOUT_S, DB_WAIT_TIMEOUT_S,
	    db->read_only ? ", transaction_read_only = 1" : "");
	if (mysql_query(db->mysql, text) != 0)
		return db_fail(db, "session settings");
	db->lock_wait_s = db->pinned_wait_s;
	db->connected_at = db_clock_ms();
	rc = read_who_am_i(db, &rows);
	if (rc == DB_OK)
		rc = check_pinned(db, &rows);
	if (rc == DB_OK) {
		copy_cell(db->database, sizeof(db->database), &rows, 0, 0);
		db->connection_id = db_cell_u64(&rows, 0, 1);
		copy_cell(db->server_uuid, sizeof(db->server_uuid), &rows, 0, 2);
	}
	db_rows_clear(&rows);
	if (rc != DB_OK || db->database[0] != '\0')
		return rc;
	snprintf(db->database, sizeof(db->database), "lockq");
	return mysql_select_db(db->mysql, db->database) == 0 ? DB_OK :
	    db_fail(db, "USE lockq");
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

uint64_t
db_schema(const struct db *db)
{
	return db->schema;
}

uint64_t
db_finished(const struct db *db)
{
	return db->finished;
}

uint64_t
db_connected_at(const struct db *db)
{
	return db->connected_at;
}

bool
db_schema_held(const struct db *db)
{
	return db->schema_held;
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

enum db_rc
db_set_lock_wait(struct db *db, unsigned int seconds)
{
	char sql[96];
	struct db_query set_lock_wait = { "set_lock_wait", sql, DB_NO_ROWS };
	enum db_rc rc = DB_OK;

	/* A text, which is one round trip; with a parameter it would be two. */
	snprintf(sql, sizeof(sql), "SET SESSION innodb_lock_wait_timeout = %u, lock_wait_timeout = "
	    "%u", seconds, seconds);
	if (db->lock_wait_s != seconds)
		rc = db_run(db, &set_lock_wait, DB_NO_ARGS, NULL);
	if (rc == DB_OK)
		db->lock_wait_s = seconds;
	return rc;
}

enum db_rc
db_set_time_limit(struct db *db, uint64_t ms)
{
	enum db_rc rc = DB_OK;

	if (db->time_limit_ms != ms)
		rc = db_run(db, &set_time_limit, DB_ARGS(db_u64(ms),
		    db_u64(ms == 0 ? db->lock_wait_s : (ms + 999) / 1000)), NULL);
	if (rc == DB_OK)
		db->time_limit_ms = ms;
	return rc;
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
db_kill(struct db *db, uint64_t connection_id)
{
	enum db_rc rc = db_run(db, &set_target, DB_ARGS(db_u64(connection_id)), NULL);
	/* That it is gone already is no failure, and no last one of a call in the log. */
	struct db_watch *watch = db_set_watch(db, NULL);

	if (rc == DB_OK)
		rc = db_command(db, "KILL @target");
	(void)db_set_watch(db, watch);
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
