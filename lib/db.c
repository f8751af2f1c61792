/* SPDX-License-Identifier: MIT */
#include "db.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* Server errors that MariaDB's headers number otherwise or do not know. */
enum {
	SERVER_TRANSACTION_ROLLED_BACK = 3101,
	SERVER_QUERY_TIMEOUT = 3024,
	SERVER_LOCK_NOWAIT = 3572,
	SERVER_OFFLINE_MODE = 3032,
	SERVER_TOO_MANY_PREPARED = 1461,
	SERVER_IDLE_DISCONNECT = 4031
};

enum { OLDEST_SERVER = 80019, TICK_MS = 250, CELL_MIN = 64, KEPT_STATEMENTS = 8 };

/* A statement that stays prepared: hundreds who wake at once spend most of their time preparing. */
struct kept_statement {
	char *sql;
	MYSQL_STMT *statement;
	uint64_t used;        /* counts up: the least recently used one makes room */
};

struct db {
	MYSQL *mysql;
	bool lost;
	unsigned int error_number;
	uint64_t failed_at;
	unsigned int lock_wait_s;
	uint64_t time_limit_ms;
	uint64_t affected;
	uint64_t insert_id;
	uint64_t connection_id;
	uint64_t connected_at;
	uint64_t used;        /* when its last statement began */
	uint64_t pinged;      /* when, where the answer is outstanding; else 0 */
	const char *started;  /* name of the statement that db_start() sent */
	char *prepared;       /* what the server has prepared for it, with its numbers; or NULL */
	bool preparing;       /* its PREPARE was sent, EXECUTE is next */
	char execute[128];
	char database[65 * 4];
	char server_uuid[37];
	struct kept_statement kept[KEPT_STATEMENTS];
	uint64_t n_run;
	bool begun_set;       /* db_begin_set() */
	bool called;          /* db_call(): who knows what that has set */
	uint64_t commits, rollbacks, others; /* ended by statements of ours, as the server counts */
	char error[1024];
};

/* READ COMMITTED: a leader must see the requests that came during its query, and must not lock the
 * gaps that new ones go into. UTC, so that no time depends on who wrote it. MySQL's own collation,
 * because MariaDB's library brings another, which a view's literals may not mix with. */
static const char pin_session[] =
	"SET SESSION autocommit = 1,"
	" transaction_isolation = 'READ-COMMITTED',"
	" sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
	"ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"
	" time_zone = '+00:00',"
	" collation_connection = 'utf8mb4_0900_ai_ci',"
	" completion_type = 'NO_CHAIN',"
	" max_execution_time = 0,"
	" innodb_lock_wait_timeout = %d,"
	" lock_wait_timeout = %d,"
	" wait_timeout = %d,"
	" net_write_timeout = %d";

/* And what has become of it: something between us and the server may have settings of its own. */
static const struct db_query who_am_i = {
	"who_am_i",
	"SELECT DATABASE(), CONNECTION_ID(), @@server_uuid, @@transaction_isolation, @@autocommit,"
	"       @@innodb_lock_wait_timeout, @@wait_timeout, @@net_write_timeout",
	DB_ONE
};
static const struct db_query set_lock_wait = {
	"set_lock_wait", "SET SESSION innodb_lock_wait_timeout = ?", DB_NO_ROWS
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

bool
db_is_retryable(int rc)
{
	return rc == DB_ERETRY || rc == DB_ELOCKWAIT || rc == DB_ECROWDED || rc == DB_ELOST;
}

bool
db_is_behind(const struct db *db)
{
	return db_errno(db) == SERVER_TRANSACTION_ROLLED_BACK ||
	    db_errno(db) == ER_ERROR_DURING_COMMIT;
}

/* Errors. */

const char *
db_error(const struct db *db)
{
	return db == NULL ? "out of memory" : db->error;
}

uint64_t
db_failed_at(const struct db *db)
{
	return db == NULL ? 0 : db->failed_at;
}

unsigned int
db_errno(const struct db *db)
{
	return db == NULL ? 0 : db->error_number;
}

bool
db_lost(const struct db *db)
{
	return db == NULL || db->lost;
}

static int
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

int
db_failure(const struct db *db)
{
	return db == NULL ? DB_ENOMEM : classify(db->error_number);
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

static int
set_error(struct db *db, const char *what, unsigned int number, const char *text)
{
	int rc = classify(number);

	if (rc == DB_ELOST)
		db->lost = true;
	db->failed_at = db_clock_ms();
	db->error_number = number;
	snprintf(db->error, sizeof(db->error), "%s: %s (%u)%s", what, text, number, advice(number));
	return rc;
}

static int
fail(struct db *db, const char *what)
{
	return set_error(db, what, mysql_errno(db->mysql), mysql_error(db->mysql));
}

static int
fail_statement(struct db *db, const char *what, MYSQL_STMT *statement)
{
	return set_error(db, what, mysql_stmt_errno(statement), mysql_stmt_error(statement));
}

static int
fail_shape(struct db *db, const char *what, const char *text)
{
	db->failed_at = db_clock_ms();
	db->error_number = 0;
	snprintf(db->error, sizeof(db->error), "%s: %s", what, text);
	return DB_ESHAPE;
}

int
db_refuse(struct db *db, const char *format, ...)
{
	va_list args;

	db->failed_at = db_clock_ms();
	db->error_number = 0;
	va_start(args, format);
	vsnprintf(db->error, sizeof(db->error), format, args);
	va_end(args);
	return DB_EFAIL;
}

static int
fail_memory(struct db *db)
{
	db->error_number = 0;
	snprintf(db->error, sizeof(db->error), "out of memory");
	return DB_ENOMEM;
}

/* Results in memory. */

void
db_rows_clear(struct db_rows *rows)
{
	free(rows->cells);
	free(rows->text);
	*rows = (struct db_rows){ 0, 0, NULL, NULL };
}

const char *
db_cell(const struct db_rows *rows, size_t row, size_t column)
{
	return row < rows->n_rows && column < rows->n_columns && rows->cells != NULL ?
	    rows->cells[row * rows->n_columns + column] : NULL;
}

bool
db_cell_is_null(const struct db_rows *rows, size_t row, size_t column)
{
	return db_cell(rows, row, column) == NULL;
}

/* The names stand behind the last row. */
const char *
db_column(const struct db_rows *rows, size_t column)
{
	return column < rows->n_columns && rows->cells != NULL ?
	    rows->cells[rows->n_rows * rows->n_columns + column] : NULL;
}

uint64_t
db_cell_u64(const struct db_rows *rows, size_t row, size_t column)
{
	const char *cell = db_cell(rows, row, column);

	return cell == NULL ? 0 : strtoull(cell, NULL, 10);
}

/* Connecting. */

static int
set_ssl_mode(struct db *db, const char *mode)
{
#if LOCKQ_MARIADB_CLIENT
	db_flag on = 1;

	/* MariaDB's library can't do all of them; what it can't do must not pass for done. */
	if (strcmp(mode, "DISABLED") == 0 || strcmp(mode, "PREFERRED") == 0)
		return DB_OK;
	if (strcmp(mode, "REQUIRED") == 0)
		return mysql_options(db->mysql, MYSQL_OPT_SSL_ENFORCE, &on) == 0 ? DB_OK :
		    fail(db, "ssl mode");
	if (strcmp(mode, "VERIFY_IDENTITY") == 0) {
		if (mysql_options(db->mysql, MYSQL_OPT_SSL_ENFORCE, &on) != 0 ||
		    mysql_options(db->mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on) != 0)
			return fail(db, "ssl mode");
		return DB_OK;
	}
#else
	static const char *const names[] = {
		"DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unsigned int value = SSL_MODE_DISABLED + i;

		if (strcmp(mode, names[i]) == 0)
			return mysql_options(db->mysql, MYSQL_OPT_SSL_MODE, &value) == 0 ? DB_OK :
			    fail(db, "ssl mode");
	}
#endif
	snprintf(db->error, sizeof(db->error),
	    "ssl mode %s: not known to this client library", mode);
	return DB_EFAIL;
}

/* The client library looks in /etc for a file without a slash. */
static int
set_option_file(struct db *db, const char *file)
{
	char here[4096];
	int n = snprintf(here, sizeof(here), "%s%s", strchr(file, '/') == NULL ? "./" : "", file);

	return n > 0 && (size_t)n < sizeof(here) &&
	    mysql_options(db->mysql, MYSQL_READ_DEFAULT_FILE, here) == 0 ? DB_OK : DB_EFAIL;
}

static int
set_options(struct db *db, const struct lockq_connection *where)
{
	static const unsigned int connect_s = DB_CONNECT_TIMEOUT_S, io_s = DB_READ_TIMEOUT_S;
	static const unsigned int no = 0;
	const char *program = where->program != NULL ? where->program : "liblockq";
	const char *group = where->defaults_group != NULL ? where->defaults_group : "lockq";
	MYSQL *mysql = db->mysql;

	if (mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s) != 0 ||
	    mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &io_s) != 0 ||
	    mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &io_s) != 0 ||
	    mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &no) != 0 ||
	    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4") != 0 ||
	    mysql_options(mysql, MYSQL_READ_DEFAULT_GROUP, group) != 0 ||
	    mysql_options4(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", program) != 0)
		return fail(db, "options");
	if (where->defaults_file != NULL && set_option_file(db, where->defaults_file) != DB_OK)
		return fail(db, "option file");
	return where->ssl_mode != NULL ? set_ssl_mode(db, where->ssl_mode) : DB_OK;
}

static int
check_server(struct db *db)
{
	const char *version = mysql_get_server_info(db->mysql);

	if (strstr(version, "MariaDB") != NULL) {
		snprintf(db->error, sizeof(db->error),
		    "the server is MariaDB %s: lockq needs MySQL 8.0.19 or later", version);
		return DB_EFAIL;
	}
	if (mysql_get_server_version(db->mysql) < OLDEST_SERVER) {
		snprintf(db->error, sizeof(db->error),
		    "the server is MySQL %s: lockq needs 8.0.19 or later", version);
		return DB_EFAIL;
	}
	return DB_OK;
}

/* The timeouts line up only if the server keeps to them. */
static int
check_pinned(struct db *db, const struct db_rows *rows)
{
	const struct {
		const char *name;
		const char *want;
		uint64_t seconds;
	} pinned[] = {
		{ "transaction_isolation", "READ-COMMITTED", 0 },
		{ "autocommit", "1", 0 },
		{ "innodb_lock_wait_timeout", NULL, DB_LOCK_WAIT_S },
		{ "wait_timeout", NULL, DB_WAIT_TIMEOUT_S },
		{ "net_write_timeout", NULL, DB_WAIT_TIMEOUT_S },
	};

	for (size_t i = 0; i < sizeof(pinned) / sizeof(pinned[0]); i++) {
		const char *is = db_cell(rows, 0, 3 + i);

		if (is != NULL && (pinned[i].want != NULL ? strcmp(is, pinned[i].want) == 0 :
		    strtoull(is, NULL, 10) == pinned[i].seconds))
			continue;
		return db_refuse(db, "the session's %s is %s after it was set: connect without "
		    "what changes it on the way, a proxy perhaps", pinned[i].name,
		    is != NULL ? is : "NULL");
	}
	return DB_OK;
}

static int
pin(struct db *db)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	char text[sizeof(pin_session) + 64];
	int rc;

	snprintf(text, sizeof(text), pin_session, DB_LOCK_WAIT_S, DB_LOCK_WAIT_S,
	    DB_WAIT_TIMEOUT_S, DB_WAIT_TIMEOUT_S);
	if (mysql_query(db->mysql, text) != 0)
		return fail(db, "session settings");
	db->lock_wait_s = DB_LOCK_WAIT_S;
	db->connected_at = db_clock_ms();
	rc = db_run(db, &who_am_i, DB_NO_ARGS, &rows);
	if (rc == DB_OK)
		rc = check_pinned(db, &rows);
	if (rc != DB_OK) {
		db_rows_clear(&rows);
		return rc;
	}
	db->connection_id = db_cell_u64(&rows, 0, 1);
	snprintf(db->server_uuid, sizeof(db->server_uuid), "%s",
	    db_cell_is_null(&rows, 0, 2) ? "" : db_cell(&rows, 0, 2));
	if (!db_cell_is_null(&rows, 0, 0)) {
		snprintf(db->database, sizeof(db->database), "%s", db_cell(&rows, 0, 0));
	} else if (mysql_select_db(db->mysql, "lockq") != 0) {
		rc = fail(db, "database lockq");
	} else {
		snprintf(db->database, sizeof(db->database), "lockq");
	}
	db_rows_clear(&rows);
	return rc;
}

int
db_connect(struct db **out, const struct lockq_connection *where)
{
	struct db *db = calloc(1, sizeof(*db));
	int rc;

	*out = db;
	if (db == NULL)
		return DB_ENOMEM;
	db->mysql = mysql_init(NULL);
	if (db->mysql == NULL)
		return fail_memory(db);
	rc = set_options(db, where);
	if (rc != DB_OK)
		return rc;
	if (mysql_real_connect(db->mysql, where->host, where->user, where->password,
	    where->database, where->port, where->socket, 0) == NULL) {
		db->lost = true;
		return fail(db, "connect");
	}
	rc = check_server(db);
	if (rc == DB_OK)
		rc = pin(db);
	return rc;
}

static void
forget(struct kept_statement *kept)
{
	if (kept->statement != NULL)
		mysql_stmt_close(kept->statement);
	free(kept->sql);
	*kept = (struct kept_statement){ .sql = NULL };
}

void
db_close(struct db *db)
{
	if (db == NULL)
		return;
	/* In this order the server is told once, not for each statement. */
	if (db->mysql != NULL)
		mysql_close(db->mysql);
	for (size_t i = 0; i < KEPT_STATEMENTS; i++)
		forget(&db->kept[i]);
	free(db->prepared);
	free(db);
}

const char *
db_database(const struct db *db)
{
	return db->database;
}

uint64_t
db_connection_id(const struct db *db)
{
	return db->connection_id;
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

int
db_library_init(void)
{
	return mysql_library_init(0, NULL, NULL) == 0 ? DB_OK : DB_EFAIL;
}

/* Running a statement. */

static int
db_socket(struct db *db)
{
#if LOCKQ_MARIADB_CLIENT
	return (int)mysql_get_socket(db->mysql);
#else
	return (int)db->mysql->net.fd;
#endif
}

static const char ping[] = "ping";

/* The answer to a ping that is outstanding; waits @wait_ms at most. */
static int
read_ping(struct db *db, unsigned int wait_ms)
{
	struct pollfd pfd = { .fd = db_socket(db), .events = POLLIN };
	uint64_t start = db_clock_ms(), waited = 0;

	while (poll(&pfd, 1, (int)(wait_ms - waited)) <= 0) {
		waited = db_clock_ms() - start;
		if (waited < wait_ms)
			continue;
		if (db_clock_ms() - db->pinged < (uint64_t)DB_GRACE_S * 1000)
			return DB_OK;
		return set_error(db, ping, CR_SERVER_LOST, "the server does not answer");
	}
	db->pinged = 0;
	return mysql_read_query_result(db->mysql) == 0 ? DB_OK : fail(db, ping);
}

/* Before the next statement, @what. */
static int
ready(struct db *db, const char *what)
{
	int rc = DB_OK;

	if (db->lost) {
		snprintf(db->error, sizeof(db->error), "%s: the connection is gone", what);
		return DB_ELOST;
	}
	if (db->pinged != 0)
		rc = read_ping(db, DB_GRACE_S * 1000);
	db->used = db_clock_ms();
	return rc;
}

/* Parameters point into @args, which outlives the execution. */
static int
bind_args(struct db *db, const char *name, MYSQL_STMT *statement, const struct db_arg *args,
    size_t n_args)
{
	MYSQL_BIND *bind;
	int rc = DB_OK;

	if (mysql_stmt_param_count(statement) != n_args)
		return fail_shape(db, name, "wrong number of parameters");
	if (n_args == 0)
		return DB_OK;
	bind = calloc(n_args, sizeof(*bind));
	if (bind == NULL)
		return fail_memory(db);
	for (size_t i = 0; i < n_args; i++) {
		if (args[i].null) {
			bind[i].buffer_type = MYSQL_TYPE_NULL;
		} else if (args[i].text != NULL) {
			bind[i].buffer_type = MYSQL_TYPE_STRING;
			bind[i].buffer = (void *)(uintptr_t)args[i].text;
			bind[i].buffer_length = strlen(args[i].text);
		} else {
			bind[i].buffer_type = MYSQL_TYPE_LONGLONG;
			bind[i].buffer = (void *)(uintptr_t)&args[i].number;
			bind[i].is_unsigned = 1;
		}
	}
	if (mysql_stmt_bind_param(statement, bind) != 0)
		rc = fail_statement(db, name, statement);
	free(bind);
	return rc;
}

/* Buffers of one row; the widths are known once the result is stored. */
struct row_buffer {
	MYSQL_BIND *bind;
	unsigned long *length;
	db_flag *null;
	char *text;
	size_t width;  /* of all cells together */
};

static void
row_buffer_free(struct row_buffer *buffer)
{
	free(buffer->bind);
	free(buffer->length);
	free(buffer->null);
	free(buffer->text);
}

static int
row_buffer_new(struct db *db, struct row_buffer *buffer, MYSQL_RES *meta)
{
	unsigned int n = mysql_num_fields(meta);
	MYSQL_FIELD *fields = mysql_fetch_fields(meta);
	size_t offset = 0;

	if (n == 0)
		return fail_shape(db, "result", "no columns");
	for (unsigned int i = 0; i < n; i++)
		buffer->width += fields[i].max_length + CELL_MIN;
	buffer->bind = calloc(n, sizeof(*buffer->bind));
	buffer->length = calloc(n, sizeof(*buffer->length));
	buffer->null = calloc(n, sizeof(*buffer->null));
	buffer->text = malloc(buffer->width);
	if (buffer->bind == NULL || buffer->length == NULL || buffer->null == NULL ||
	    buffer->text == NULL)
		return fail_memory(db);
	for (unsigned int i = 0; i < n; i++) {
		MYSQL_BIND *bind = &buffer->bind[i];

		bind->buffer_type = MYSQL_TYPE_STRING;
		bind->buffer = buffer->text + offset;
		bind->buffer_length = fields[i].max_length + CELL_MIN;
		bind->length = &buffer->length[i];
		bind->is_null = &buffer->null[i];
		offset += bind->buffer_length;
	}
	return DB_OK;
}

/* Text grows as rows come, so cells hold offsets until it stands still. */
struct growing {
	char *text;
	size_t used, size;
};

static int
append_cell(struct db *db, struct growing *grow, const char *cell, unsigned long length,
    size_t *offset)
{
	if (grow->size - grow->used <= length) {
		size_t size = (grow->size + length + CELL_MIN) * 2;
		char *text = realloc(grow->text, size);

		if (text == NULL)
			return fail_memory(db);
		grow->text = text;
		grow->size = size;
	}
	memcpy(grow->text + grow->used, cell, length);
	grow->text[grow->used + length] = '\0';
	*offset = grow->used + 1; /* 0 stands for NULL */
	grow->used += length + 1;
	return DB_OK;
}

/* As one more row. */
static int
append_names(struct db *db, struct growing *grow, MYSQL_RES *meta, size_t *offsets)
{
	MYSQL_FIELD *fields = mysql_fetch_fields(meta);
	int rc = DB_OK;

	for (unsigned int i = 0; rc == DB_OK && i < mysql_num_fields(meta); i++)
		rc = append_cell(db, grow, fields[i].name, fields[i].name_length, &offsets[i]);
	return rc;
}

/* @names: the result's metadata where the columns' names are wanted, or NULL. */
static int
fetch_rows(struct db *db, const char *name, MYSQL_STMT *statement, struct row_buffer *buffer,
    MYSQL_RES *names, struct db_rows *rows)
{
	struct growing grow = { NULL, 0, 0 };
	size_t n_cells = (rows->n_rows + 1) * rows->n_columns;
	size_t *offsets = calloc(n_cells + 1, sizeof(*offsets));
	size_t cell = 0;
	int rc = DB_OK, fetched = 0;

	rows->cells = calloc(n_cells + 1, sizeof(*rows->cells));
	if (offsets == NULL || rows->cells == NULL)
		rc = fail_memory(db);
	while (rc == DB_OK && cell < rows->n_rows * rows->n_columns) {
		fetched = mysql_stmt_fetch(statement);
		if (fetched == MYSQL_DATA_TRUNCATED) {
			rc = fail_shape(db, name, "a cell is wider than the server said");
		} else if (fetched != 0) {
			rc = fail_statement(db, name, statement);
		}
		for (size_t i = 0; rc == DB_OK && i < rows->n_columns; i++, cell++) {
			if (!buffer->null[i])
				rc = append_cell(db, &grow, buffer->bind[i].buffer,
				    buffer->length[i], &offsets[cell]);
		}
	}
	if (rc == DB_OK && names != NULL)
		rc = append_names(db, &grow, names, &offsets[cell]);
	for (size_t i = 0; rc == DB_OK && i < n_cells; i++)
		rows->cells[i] = offsets[i] == 0 ? NULL : grow.text + offsets[i] - 1;
	rows->text = grow.text;
	free(offsets);
	return rc;
}

static int
store_rows(struct db *db, const struct db_query *query, MYSQL_STMT *statement, MYSQL_RES *meta,
    struct db_rows *rows)
{
	const char *name = query->name;
	struct row_buffer buffer = { NULL, NULL, NULL, NULL, 0 };
	MYSQL_RES *widths;
	int rc;

	if (mysql_stmt_store_result(statement) != 0)
		return fail_statement(db, name, statement);
	rows->n_rows = (size_t)mysql_stmt_num_rows(statement);
	rows->n_columns = mysql_num_fields(meta);
	widths = mysql_stmt_result_metadata(statement);
	if (widths == NULL)
		return fail_statement(db, name, statement);
	rc = row_buffer_new(db, &buffer, widths);
	mysql_free_result(widths);
	if (rc == DB_OK && mysql_stmt_bind_result(statement, buffer.bind) != 0)
		rc = fail_statement(db, name, statement);
	if (rc == DB_OK)
		rc = fetch_rows(db, name, statement, &buffer,
		    query->expect == DB_NAMED ? meta : NULL, rows);
	row_buffer_free(&buffer);
	return rc;
}

static int
check_shape(struct db *db, const struct db_query *query, const struct db_rows *rows)
{
	if (query->expect == DB_ONE && rows->n_rows != 1)
		return fail_shape(db, query->name, rows->n_rows == 0 ?
		    "no row where one is expected" : "more than the one row that is expected");
	if (query->expect == DB_MAYBE && rows->n_rows > 1)
		return fail_shape(db, query->name, "more than one row");
	return DB_OK;
}

static int
execute(struct db *db, const struct db_query *query, MYSQL_STMT *statement,
    const struct db_arg *args, size_t n_args, struct db_rows *rows)
{
	MYSQL_RES *meta;
	int rc = bind_args(db, query->name, statement, args, n_args);

	if (rc != DB_OK)
		return rc;
	if (mysql_stmt_execute(statement) != 0)
		return fail_statement(db, query->name, statement);
	db->affected = mysql_stmt_affected_rows(statement);
	db->insert_id = mysql_stmt_insert_id(statement);
	meta = mysql_stmt_result_metadata(statement);
	if ((meta == NULL) != (query->expect == DB_NO_ROWS) || (meta != NULL && rows == NULL)) {
		rc = fail_shape(db, query->name, "rows where none are expected, or the reverse");
	} else if (meta != NULL) {
		rc = store_rows(db, query, statement, meta, rows);
		if (rc == DB_OK)
			rc = check_shape(db, query, rows);
	}
	if (meta != NULL) {
		mysql_free_result(meta);
		mysql_stmt_free_result(statement);
	}
	return rc;
}

/* Text protocol: a result that has been stored, into memory of ours. */
static int
copy_rows(struct db *db, MYSQL_RES *result, struct db_rows *rows)
{
	struct growing grow = { NULL, 0, 0 };
	size_t n, cell = 0, *offsets;
	MYSQL_ROW cells;
	int rc = DB_OK;

	rows->n_rows = (size_t)mysql_num_rows(result);
	rows->n_columns = mysql_num_fields(result);
	n = rows->n_rows * rows->n_columns;
	offsets = calloc(n + 1, sizeof(*offsets));
	rows->cells = calloc(n + 1, sizeof(*rows->cells));
	if (offsets == NULL || rows->cells == NULL)
		rc = fail_memory(db);
	while (rc == DB_OK && (cells = mysql_fetch_row(result)) != NULL) {
		unsigned long *lengths = mysql_fetch_lengths(result);

		for (size_t i = 0; rc == DB_OK && i < rows->n_columns; i++, cell++) {
			if (cells[i] != NULL)
				rc = append_cell(db, &grow, cells[i], lengths[i], &offsets[cell]);
		}
	}
	for (size_t i = 0; rc == DB_OK && i < n; i++)
		rows->cells[i] = offsets[i] == 0 ? NULL : grow.text + offsets[i] - 1;
	rows->text = grow.text;
	free(offsets);
	return rc;
}

/* Without parameters, so in one round trip. */
static int
run_text(struct db *db, const struct db_query *query, struct db_rows *rows)
{
	MYSQL_RES *result;
	int rc = DB_OK;

	if (mysql_real_query(db->mysql, query->sql, (unsigned long)strlen(query->sql)) != 0)
		return fail(db, query->name);
	result = mysql_store_result(db->mysql);
	if (result == NULL && mysql_errno(db->mysql) != 0)
		return fail(db, query->name);
	db->affected = mysql_affected_rows(db->mysql);
	db->insert_id = mysql_insert_id(db->mysql);
	if ((result == NULL) != (query->expect == DB_NO_ROWS) || (result != NULL && rows == NULL)) {
		rc = fail_shape(db, query->name, "rows where none are expected, or the reverse");
	} else if (result != NULL) {
		rc = copy_rows(db, result, rows);
		if (rc == DB_OK)
			rc = check_shape(db, query, rows);
	}
	if (result != NULL)
		mysql_free_result(result);
	return rc;
}

static int
prepare(struct db *db, const struct db_query *query, MYSQL_STMT **statement)
{
	static const db_flag update_max_length = 1;

	*statement = mysql_stmt_init(db->mysql);
	if (*statement == NULL)
		return fail_memory(db);
	mysql_stmt_attr_set(*statement, STMT_ATTR_UPDATE_MAX_LENGTH, &update_max_length);
	if (mysql_stmt_prepare(*statement, query->sql, strlen(query->sql)) == 0)
		return DB_OK;
	return fail_statement(db, query->name, *statement);
}

/* The statement as it was kept, or prepared anew in the place of the one not used for longest. */
static int
keep(struct db *db, const struct db_query *query, struct kept_statement **found)
{
	struct kept_statement *oldest = &db->kept[0];
	int rc;

	for (size_t i = 0; i < KEPT_STATEMENTS; i++) {
		if (db->kept[i].sql != NULL && strcmp(db->kept[i].sql, query->sql) == 0) {
			*found = &db->kept[i];
			(*found)->used = ++db->n_run;
			return DB_OK;
		}
		if (db->kept[i].used < oldest->used)
			oldest = &db->kept[i];
	}
	forget(oldest);
	rc = prepare(db, query, &oldest->statement);
	if (rc == DB_OK) {
		oldest->sql = strdup(query->sql);
		rc = oldest->sql != NULL ? DB_OK : fail_memory(db);
	}
	if (rc != DB_OK)
		forget(oldest);
	oldest->used = ++db->n_run;
	*found = oldest;
	return rc;
}

int
db_prepare(struct db *db, const struct db_query *query)
{
	struct kept_statement *kept;
	int rc = ready(db, query->name);

	return rc == DB_OK ? keep(db, query, &kept) : rc;
}

static int
run_prepared(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    struct db_rows *rows)
{
	struct kept_statement *kept;
	int rc = keep(db, query, &kept);

	if (rc != DB_OK)
		return rc;
	rc = execute(db, query, kept->statement, args, n_args, rows);
	if (rc != DB_OK)
		forget(kept);
	return rc;
}

int
db_run(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    struct db_rows *rows)
{
	int rc;

	if (rows != NULL)
		db_rows_clear(rows);
	rc = ready(db, query->name);
	if (rc != DB_OK)
		return rc;
	rc = n_args == 0 ? run_text(db, query, rows) :
	    run_prepared(db, query, args, n_args, rows);
	if (rc != DB_OK && rows != NULL)
		db_rows_clear(rows);
	return rc;
}

int
db_change(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    uint64_t expected)
{
	int rc = db_run(db, query, args, n_args, NULL);

	if (rc != DB_OK || db->affected == expected)
		return rc;
	db->error_number = 0;
	snprintf(db->error, sizeof(db->error), "%s: changed %llu rows, not %llu", query->name,
	    (unsigned long long)db->affected, (unsigned long long)expected);
	return DB_ERETRY;
}

/* Transactions. */

static int
command(struct db *db, const char *text)
{
	int rc = ready(db, text);

	if (rc != DB_OK)
		return rc;
	return mysql_query(db->mysql, text) == 0 ? DB_OK : fail(db, text);
}

int
db_begin(struct db *db)
{
	db->commits++;
	return command(db, "START TRANSACTION");
}

int
db_begin_set(struct db *db, const char *set, const struct db_arg *args, size_t n_args)
{
	char sql[1024];
	struct db_query query = { "begin", sql, DB_NO_ROWS };

	snprintf(sql, sizeof(sql), "SET autocommit = 0, %s", set);
	db->begun_set = true;
	return db_run(db, &query, args, n_args, NULL);
}

int
db_call(struct db *db, const char *name, const char *sql)
{
	MYSQL_RES *result;
	int rc = ready(db, name), more;

	if (rc != DB_OK)
		return rc;
	db->called = true;
	if (mysql_real_query(db->mysql, sql, (unsigned long)strlen(sql)) != 0)
		return fail(db, name);
	do {
		result = mysql_store_result(db->mysql);
		/* It may fail while rows are on their way. */
		if (result == NULL && mysql_errno(db->mysql) != 0)
			return fail(db, name);
		if (result != NULL)
			mysql_free_result(result);
		more = mysql_next_result(db->mysql);
	} while (more == 0);
	return more < 0 ? DB_OK : fail(db, name);
}

/* Those of the session, procedures included. Whatever commits by the way is no COMMIT. */
static const struct db_query count_ends = {
	"count_ends",
	"SHOW SESSION STATUS"
	" WHERE Variable_name RLIKE '^Com_(begin|commit|rollback|(create|alter|drop|rename)_.*"
	"|truncate|lock_tables|unlock_tables|grant|revoke|flush|set_password|analyze|optimize"
	"|repair|check|reset)$' AND Value > 0",
	DB_MANY
};

/* How often the session has run each kind of statement that ends a transaction. */
struct ends {
	uint64_t commits, rollbacks, others;
};

static int
read_ends(struct db *db, struct ends *ends)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &count_ends, DB_NO_ARGS, &rows);

	*ends = (struct ends){ 0, 0, 0 };
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		const char *name = db_cell(&rows, i, 0);
		uint64_t n = db_cell_u64(&rows, i, 1);

		if (strcmp(name, "Com_commit") == 0 || strcmp(name, "Com_begin") == 0)
			ends->commits += n;
		else if (strcmp(name, "Com_rollback") == 0)
			ends->rollbacks = n;
		else
			ends->others += n;
	}
	db_rows_clear(&rows);
	return rc;
}

static const struct db_query is_autocommit = {
	"is_autocommit", "SELECT @@SESSION.autocommit", DB_ONE
};

int
db_who_ended(struct db *db, enum db_end *end)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct ends ends;
	bool autocommit;
	int rc = read_ends(db, &ends);

	/* Who sets it commits. */
	if (rc == DB_OK)
		rc = db_run(db, &is_autocommit, DB_NO_ARGS, &rows);
	autocommit = rc == DB_OK && db_cell_u64(&rows, 0, 0) != 0;
	db_rows_clear(&rows);
	*end = autocommit || ends.commits > db->commits ? DB_ENDED_BY_COMMIT :
	    ends.rollbacks > db->rollbacks ? DB_ENDED_BY_ROLLBACK :
	    ends.others > db->others ? DB_ENDED_BY_DDL : DB_ENDED_BY_ERROR;
	return rc;
}

/* A procedure may have set anything: as a new connection, but for the connecting. */
static int
reset(struct db *db)
{
	struct ends ends;
	int rc = ready(db, "reset");

	if (rc != DB_OK)
		return rc;
	if (mysql_reset_connection(db->mysql) != 0 ||
	    mysql_set_character_set(db->mysql, "utf8mb4") != 0)
		return fail(db, "reset");
	for (size_t i = 0; i < KEPT_STATEMENTS; i++)
		forget(&db->kept[i]);
	free(db->prepared);
	db->prepared = NULL;
	db->time_limit_ms = 0;
	rc = pin(db);
	if (rc == DB_OK)
		rc = read_ends(db, &ends);
	if (rc == DB_OK) {
		db->commits = ends.commits;
		db->rollbacks = ends.rollbacks;
		db->others = ends.others;
	}
	return rc;
}

int
db_restore(struct db *db)
{
	int rc = db->called ? reset(db) : db->begun_set ? command(db, "SET autocommit = 1") :
	    DB_OK;

	if (rc == DB_OK)
		db->begun_set = db->called = false;
	return rc;
}

int
db_commit(struct db *db)
{
	int rc;

	if (db->lost)
		return DB_ELOST;
	db->commits++;
	rc = command(db, "COMMIT");
	return rc == DB_ELOST || rc == DB_EINTERRUPTED ? DB_EINDOUBT : rc;
}

void
db_rollback(struct db *db)
{
	/* An error in the transaction is what its caller wants to report, not this one. */
	unsigned int number = db->error_number;
	char text[sizeof(db->error)];

	memcpy(text, db->error, sizeof(text));
	db->rollbacks++;
	if (command(db, "ROLLBACK") != DB_OK)
		db->lost = true;
	memcpy(db->error, text, sizeof(text));
	db->error_number = number;
}

int
db_set_lock_wait(struct db *db, unsigned int seconds)
{
	int rc = DB_OK;

	if (db->lock_wait_s != seconds)
		rc = db_run(db, &set_lock_wait, DB_ARGS(db_u64(seconds)), NULL);
	if (rc == DB_OK)
		db->lock_wait_s = seconds;
	return rc;
}

int
db_set_time_limit(struct db *db, uint64_t ms)
{
	int rc = DB_OK;

	if (db->time_limit_ms != ms)
		rc = db_run(db, &set_time_limit, DB_ARGS(db_u64(ms),
		    db_u64(ms == 0 ? DB_LOCK_WAIT_S : (ms + 999) / 1000)), NULL);
	if (rc == DB_OK)
		db->time_limit_ms = ms;
	return rc;
}

int
db_set_read_only(struct db *db)
{
	return command(db, "SET SESSION transaction_read_only = 1");
}

int
db_next_read_only(struct db *db)
{
	return command(db, "SET TRANSACTION READ ONLY");
}

int
db_next_read_dirty(struct db *db)
{
	return command(db, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
}

int
db_ping(struct db *db)
{
	int rc = ready(db, ping);

	if (rc != DB_OK)
		return rc;
	return mysql_ping(db->mysql) == 0 ? DB_OK : fail(db, ping);
}

bool
db_is_as_made(const struct db *db)
{
	return !db_lost(db) && !db->called;
}

bool
db_is_fresh(const struct db *db)
{
	return db_is_as_made(db) &&
	    db_clock_ms() - db->used < (uint64_t)DB_PING_EVERY_S * 1000;
}

/* A statement, since mysql_ping() waits: for a cut network that is half a minute in which nobody
 * hears Ctrl-C. */
int
db_keep_alive(struct db *db)
{
	uint64_t now = db_clock_ms();

	if (db->pinged != 0)
		return read_ping(db, 0);
	if (db->lost)
		return DB_ELOST;
	if (now - db->used < (uint64_t)DB_PING_EVERY_S * 1000)
		return DB_OK;
	if (mysql_send_query(db->mysql, "DO 0", 4) != 0)
		return fail(db, ping);
	db->used = db->pinged = now;
	return DB_OK;
}

int
db_kill(struct db *db, uint64_t connection_id)
{
	int rc = db_run(db, &set_target, DB_ARGS(db_u64(connection_id)), NULL);

	if (rc == DB_OK)
		rc = command(db, "KILL @target");
	return rc == DB_EFAIL && (db->error_number == ER_NO_SUCH_THREAD ||
	    db->error_number == ER_KILL_DENIED_ERROR) ? DB_OK : rc;
}

/* Long statements. The client library has no prepared execution that can be waited for in slices,
 * so the server prepares it from a user variable and its parameters are user variables too: still
 * bound, never text. */

enum { STARTED_ARGS_MAX = 8 };

/* What tells whether the server has just this prepared already: the statement and its numbers. NULL
 * where there is no memory, or a text among the parameters: then it is prepared anew. */
static char *
prepared_key(const struct db_query *query, const struct db_arg *args, size_t n_args)
{
	size_t size = strlen(query->sql) + n_args * 24 + 1, used = 0;
	char *key = malloc(size);

	for (size_t i = 0; key != NULL && i < n_args; i++) {
		if (args[i].text != NULL) {
			free(key);
			return NULL;
		}
		used += (size_t)snprintf(key + used, size - used, "%llu%s,",
		    (unsigned long long)args[i].number, args[i].null ? "-" : "");
	}
	if (key != NULL)
		snprintf(key + used, size - used, "%s", query->sql);
	return key;
}

/* Statement and parameters into user variables, and what executes them into @db->execute. */
static int
set_variables(struct db *db, const struct db_query *query, const struct db_arg *args,
    size_t n_args)
{
	char set[STARTED_ARGS_MAX * 16 + 32];
	struct db_arg all[STARTED_ARGS_MAX + 1];
	struct db_query assign = { query->name, set, DB_NO_ROWS };
	size_t set_length, use_length;

	all[0] = db_text(query->sql);
	set_length = (size_t)snprintf(set, sizeof(set), "SET @statement = ?");
	use_length = (size_t)snprintf(db->execute, sizeof(db->execute), "EXECUTE lockq_started");
	for (size_t i = 0; i < n_args; i++) {
		all[i + 1] = args[i];
		set_length += (size_t)snprintf(set + set_length, sizeof(set) - set_length,
		    ", @p%zu = ?", i);
		use_length += (size_t)snprintf(db->execute + use_length,
		    sizeof(db->execute) - use_length, "%s @p%zu", i == 0 ? " USING" : ",", i);
	}
	return db_run(db, &assign, all, n_args + 1, NULL);
}

int
db_start(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args)
{
	static const char prepare_it[] = "PREPARE lockq_started FROM @statement";
	char *key;
	int rc;

	if (n_args > STARTED_ARGS_MAX)
		return fail_shape(db, query->name, "too many parameters");
	rc = ready(db, query->name);
	if (rc != DB_OK)
		return rc;
	key = prepared_key(query, args, n_args);
	db->preparing = key == NULL || db->prepared == NULL || strcmp(key, db->prepared) != 0;
	free(db->prepared);
	db->prepared = key;
	if (db->preparing)
		rc = set_variables(db, query, args, n_args);
	if (rc != DB_OK)
		return rc;
	db->started = query->name;
	if (mysql_send_query(db->mysql, db->preparing ? prepare_it : db->execute,
	    db->preparing ? sizeof(prepare_it) - 1 : (unsigned long)strlen(db->execute)) != 0)
		return fail(db, query->name);
	return DB_OK;
}

/* For the answer to what was sent last. */
static int
wait_answer(struct db *db, uint64_t deadline, db_tick_fn *tick, void *data)
{
	struct pollfd pfd = { .fd = db_socket(db), .events = POLLIN };

	for (;;) {
		int n = poll(&pfd, 1, TICK_MS);

		if (n > 0)
			break;
		if (n < 0 && errno != EINTR)
			return fail_shape(db, db->started, "poll failed");
		if (tick != NULL && tick(data) != 0) {
			/* The connection has an answer outstanding, so it is of no more use. */
			db->lost = true;
			snprintf(db->error, sizeof(db->error), "%s: given up", db->started);
			return DB_ECANCELLED;
		}
		if (db_clock_ms() > deadline)
			return set_error(db, db->started, CR_SERVER_LOST,
			    "the server does not answer");
	}
	return mysql_read_query_result(db->mysql) == 0 ? DB_OK : fail(db, db->started);
}

int
db_wait(struct db *db, unsigned int limit_s, db_tick_fn *tick, void *data)
{
	uint64_t deadline = db_clock_ms() + ((uint64_t)limit_s + DB_GRACE_S) * 1000;
	int rc = DB_OK;

	/* PREPARE may wait too: for the metadata lock of a table that is being altered. */
	if (db->preparing)
		rc = wait_answer(db, deadline, tick, data);
	if (rc != DB_OK) {
		free(db->prepared);
		db->prepared = NULL;
		return rc;
	}
	if (db->preparing &&
	    mysql_send_query(db->mysql, db->execute, (unsigned long)strlen(db->execute)) != 0)
		return fail(db, db->started);
	return wait_answer(db, deadline, tick, data);
}

static bool
is_integer(enum enum_field_types type)
{
	return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_INT24 ||
	    type == MYSQL_TYPE_LONG || type == MYSQL_TYPE_LONGLONG;
}

int
db_fetch(struct db *db, unsigned int integer_columns, db_row_fn *row, void *data)
{
	MYSQL_RES *result = mysql_use_result(db->mysql);
	MYSQL_ROW cells;
	int rc = DB_OK;

	if (result == NULL)
		return mysql_errno(db->mysql) != 0 ? fail(db, db->started) :
		    fail_shape(db, db->started, "no result");
	for (unsigned int i = 0; i < mysql_num_fields(result); i++) {
		const MYSQL_FIELD *field = mysql_fetch_field_direct(result, i);

		if ((integer_columns & 1u << i) != 0 && !is_integer(field->type)) {
			snprintf(db->error, sizeof(db->error), "%s is not an integer", field->name);
			db->error_number = 0;
			rc = DB_ESHAPE;
		}
	}
	while (rc == DB_OK) {
		cells = mysql_fetch_row(result);
		if (cells == NULL)
			break;
		if (row(cells, mysql_fetch_lengths(result), data) != 0)
			rc = DB_ECANCELLED;
	}
	if (rc == DB_OK && mysql_errno(db->mysql) != 0)
		rc = fail(db, db->started);
	mysql_free_result(result);
	return rc;
}

static int
transaction(struct db *db, bool begin, db_body_fn *body, void *data, uint32_t *retries)
{
	int rc = DB_OK;

	for (unsigned int try = 0; try < DB_TRIES; try++) {
		rc = begin ? db_begin(db) : DB_OK;
		if (rc == DB_OK)
			rc = body(db, data);
		if (rc == DB_OK)
			rc = db_commit(db);
		if (rc == DB_OK)
			return DB_OK;
		if (!db->lost)
			db_rollback(db);
		if (rc != DB_ERETRY && rc != DB_ELOCKWAIT)
			return rc;
		if (retries != NULL)
			++*retries;
		db_backoff(try);
	}
	return rc;
}

int
db_transaction(struct db *db, db_body_fn *body, void *data, uint32_t *retries)
{
	return transaction(db, true, body, data, retries);
}

int
db_transaction_begun(struct db *db, db_body_fn *body, void *data, uint32_t *retries)
{
	return transaction(db, false, body, data, retries);
}

/* Identifiers. */

static bool
is_identifier_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    c == '_' || c == '$';
}

int
db_quote_identifier(char *out, size_t size, const char *name)
{
	size_t n = 0, part = 0;
	bool dot = false;

	if (size < strlen(name) + 6)
		return DB_EFAIL;
	out[n++] = '`';
	for (const char *c = name; *c != '\0'; c++) {
		if (*c == '.' && !dot && part > 0) {
			memcpy(out + n, "`.`", 3);
			n += 3;
			dot = true;
			part = 0;
		} else if (is_identifier_character(*c) && ++part <= 64) {
			out[n++] = *c;
		} else {
			return DB_EFAIL;
		}
	}
	if (part == 0)
		return DB_EFAIL;
	out[n++] = '`';
	out[n] = '\0';
	return DB_OK;
}
