/* SPDX-License-Identifier: MIT */
/* Runs one statement with bound parameters and reads its whole answer. */
#include "db/db_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db_text.h"

enum { CELL_MIN = 64, PREPARED_TRIES = 4 };

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

/* The names are after the last row. */
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

int64_t
db_cell_or_none(const struct db_rows *rows, size_t row, size_t column)
{
	return db_cell_is_null(rows, row, column) ? -1 : (int64_t)db_cell_u64(rows, row, column);
}

void
db_forget(struct kept_statement *kept)
{
	if (kept->statement != NULL)
		mysql_stmt_close(kept->statement);
	free(kept->sql);
	*kept = (struct kept_statement){ .sql = NULL };
}

/* The parameters point into @args, which must live until the statement is executed. */
static enum db_rc
bind_args(struct db *db, const char *name, MYSQL_STMT *statement, const struct db_arg *args,
    size_t n_args)
{
	MYSQL_BIND *bind;
	enum db_rc rc = DB_OK;

	if (mysql_stmt_param_count(statement) != n_args)
		return db_fail_at(db, DB_ESHAPE, name, "a statement has the wrong number of "
		    "parameters");
	bind = calloc(n_args, sizeof(*bind));
	if (bind == NULL)
		return db_fail_memory(db);
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
			bind[i].is_unsigned = !args[i].is_signed;
		}
	}
	if (mysql_stmt_bind_param(statement, bind) != 0)
		rc = db_fail_statement(db, name, statement);
	free(bind);
	return rc;
}

/* The answer to a statement, stored in this process. In the text protocol the client library holds
 * the rows as text. The rows of a prepared statement are converted to text one by one, in a buffer
 * that has room for the widest cell of each column. */
struct answer {
	MYSQL_RES *result;     /* NULL: no rows; of a prepared statement it has the columns only */
	MYSQL_ROW row;         /* text protocol: the row that next_row() read */
	MYSQL_STMT *statement; /* NULL: text protocol */
	MYSQL_BIND *bind;      /* prepared statement: where next_row() puts a row … */
	char *buffer;          /* … and its cells */
};

static enum db_rc
bind_row(struct db *db, const char *name, struct answer *answer)
{
	unsigned int n = mysql_num_fields(answer->result);
	const MYSQL_FIELD *fields = mysql_fetch_fields(answer->result);
	size_t width = 0;

	for (unsigned int i = 0; i < n; i++)
		width += fields[i].max_length + CELL_MIN;
	answer->bind = calloc(n, sizeof(*answer->bind));
	answer->buffer = malloc(width);
	if (answer->bind == NULL || answer->buffer == NULL)
		return db_fail_memory(db);
	width = 0;
	for (unsigned int i = 0; i < n; i++) {
		MYSQL_BIND *bind = &answer->bind[i];

		bind->buffer_type = MYSQL_TYPE_STRING;
		bind->buffer = answer->buffer + width;
		bind->buffer_length = fields[i].max_length + CELL_MIN;
		bind->is_null = &bind->is_null_value;
		width += bind->buffer_length;
	}
	return mysql_stmt_bind_result(answer->statement, answer->bind) == 0 ? DB_OK :
	    db_fail_statement(db, name, answer->statement);
}

/* False: the row does not fit into the buffer, or can't be had. */
static bool
next_row(struct answer *answer)
{
	if (answer->statement != NULL)
		return mysql_stmt_fetch(answer->statement) == 0;
	answer->row = mysql_fetch_row(answer->result);
	return answer->row != NULL;
}

/* Why next_row() has failed. */
static enum db_rc
fail_row(struct db *db, const char *name, const struct answer *answer)
{
	if (answer->statement != NULL && mysql_stmt_errno(answer->statement) != 0)
		return db_fail_statement(db, name, answer->statement);
	return db_fail_at(db, DB_ESHAPE, name, "the database sent a row that is wider than it "
	    "said");
}

static char *
cell_of(const struct answer *answer, size_t column)
{
	if (answer->statement == NULL)
		return answer->row[column];
	return answer->bind[column].is_null_value ? NULL : answer->bind[column].buffer;
}

/* @text moves when it grows, so copy_rows() sets the final pointers once it is complete. Until then
 * a cell says only whether it is SQL NULL. */
static void
add_cell(struct text *text, char **cell, char *from)
{
	*cell = from;
	if (from != NULL)
		text_append(text, from, strlen(from) + 1);
}

static enum db_rc
copy_rows(struct db *db, const struct db_query *query, struct answer *answer, struct db_rows *rows)
{
	size_t n = rows->n_columns, n_cells = (rows->n_rows + 1) * n;
	MYSQL_FIELD *fields = mysql_fetch_fields(answer->result);
	struct text text = { NULL, 0, 0, false };

	rows->cells = calloc(n_cells, sizeof(*rows->cells));
	if (rows->cells == NULL)
		return db_fail_memory(db);
	for (size_t row = 0; row < rows->n_rows; row++) {
		if (!next_row(answer)) {
			text_clear(&text);
			return fail_row(db, query->name, answer);
		}
		for (size_t i = 0; i < n; i++)
			add_cell(&text, &rows->cells[row * n + i], cell_of(answer, i));
	}
	for (size_t i = 0; query->expect == DB_VIEW && i < n; i++)
		add_cell(&text, &rows->cells[rows->n_rows * n + i], fields[i].name);
	rows->text = text.data;
	if (text.failed)
		return db_fail_memory(db);
	for (size_t i = 0, at = 0; i < n_cells; i++) {
		if (rows->cells[i] == NULL)
			continue;
		rows->cells[i] = rows->text + at;
		at += strlen(rows->cells[i]) + 1;
	}
	return DB_OK;
}

/* How the answer differs from the shape that the query declares, or NULL. */
static const char *
misfit(const struct db_query *query, const struct answer *answer, size_t n_rows)
{
	bool one = query->expect == DB_ONE;

	if ((answer->result == NULL) != (query->expect == DB_NO_ROWS))
		return "rows where none are expected, or the reverse";
	if (one && n_rows == 0)
		return "no row where one is expected";
	if ((one || query->expect == DB_MAYBE) && n_rows > 1)
		return "more than the one row that is expected";
	return NULL;
}

/* Releases @answer. */
static enum db_rc
read_answer(struct db *db, const struct db_query *query, struct answer *answer,
    struct db_rows *rows)
{
	const char *fault = misfit(query, answer, rows->n_rows);
	enum db_rc rc = DB_OK;

	if (fault != NULL) {
		rc = db_fail_at(db, DB_ESHAPE, query->name, fault);
	} else if (answer->result != NULL) {
		rows->n_columns = mysql_num_fields(answer->result);
		if (answer->statement != NULL)
			rc = bind_row(db, query->name, answer);
		if (rc == DB_OK)
			rc = copy_rows(db, query, answer, rows);
	}
	free(answer->bind);
	free(answer->buffer);
	mysql_free_result(answer->result);
	return rc;
}

/* What was not read stands before the answer to the next statement, so there must be no next one on
 * this connection. */
static void
lose_if_unread(struct db *db)
{
	if (mysql_more_results(db->mysql))
		db->lost = true;
}

/* For a statement without parameters: one round trip, where preparing would be a second one. */
static enum db_rc
run_text(struct db *db, const struct db_query *query, struct db_rows *rows)
{
	struct answer answer = { .statement = NULL };
	enum db_rc rc;

	db->sent = true;
	if (mysql_real_query(db->mysql, query->sql, (unsigned long)strlen(query->sql)) != 0)
		return db_fail(db, query->name);
	answer.result = mysql_store_result(db->mysql);
	if (answer.result == NULL && mysql_errno(db->mysql) != 0)
		return db_fail(db, query->name);
	if (answer.result != NULL)
		rows->n_rows = (size_t)mysql_num_rows(answer.result);
	db->affected = mysql_affected_rows(db->mysql);
	db->insert_id = mysql_insert_id(db->mysql);
	rc = read_answer(db, query, &answer, rows);
	/* A procedure's rows are followed by its own end. */
	while (mysql_more_results(db->mysql)) {
		if (mysql_next_result(db->mysql) > 0) {
			rc = rc == DB_OK ? db_fail(db, query->name) : rc;
			break;
		}
		mysql_free_result(mysql_use_result(db->mysql));
	}
	lose_if_unread(db);
	return rc;
}

static enum db_rc
run_prepared(struct db *db, const struct db_query *query, MYSQL_STMT *statement,
    const struct db_arg *args, size_t n_args, struct db_rows *rows)
{
	struct answer answer = { .statement = statement };
	enum db_rc rc = bind_args(db, query->name, statement, args, n_args);

	if (rc != DB_OK)
		return rc;
	db->sent = true;
	if (mysql_stmt_execute(statement) != 0 || (mysql_stmt_field_count(statement) > 0 &&
	    mysql_stmt_store_result(statement) != 0))
		return db_fail_statement(db, query->name, statement);
	answer.result = mysql_stmt_result_metadata(statement);
	rows->n_rows = (size_t)mysql_stmt_num_rows(statement);
	db->affected = mysql_stmt_affected_rows(statement);
	db->insert_id = mysql_stmt_insert_id(statement);
	rc = answer.result == NULL && mysql_stmt_field_count(statement) > 0 ?
	    db_fail_statement(db, query->name, statement) : read_answer(db, query, &answer, rows);
	mysql_stmt_free_result(statement);
	/* A procedure's rows are followed by its own end. */
	while (mysql_more_results(db->mysql)) {
		if (mysql_stmt_next_result(statement) > 0) {
			rc = rc == DB_OK ? db_fail_statement(db, query->name, statement) : rc;
			break;
		}
		mysql_stmt_free_result(statement);
	}
	lose_if_unread(db);
	return rc;
}

static enum db_rc
prepare(struct db *db, const struct db_query *query, struct kept_statement *kept)
{
	static const db_flag update_max_length = 1;
	char *sql = db_statement(db, query);
	enum db_rc rc = DB_OK;

	kept->sql = strdup(query->sql);
	kept->statement = mysql_stmt_init(db->mysql);
	if (sql == NULL || kept->sql == NULL || kept->statement == NULL) {
		free(sql);
		return db_fail_memory(db);
	}
	mysql_stmt_attr_set(kept->statement, STMT_ATTR_UPDATE_MAX_LENGTH, &update_max_length);
	if (mysql_stmt_prepare(kept->statement, sql, strlen(sql)) != 0)
		rc = db_fail_statement(db, query->name, kept->statement);
	free(sql);
	return rc;
}

/* An error that the server meets between two rows comes behind the columns of the answer, as when a
 * view takes too long. MySQL Router 9.7 expects that in the text protocol alone, and ends a session
 * where the client library has prepared such a statement. */
static enum db_rc
run_view(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    struct db_rows *rows)
{
	const struct db_query first = { query->name, db_prepare_text(LOCKQ_VIEW), DB_NO_ROWS };
	struct db_query execute = { query->name, NULL, DB_VIEW };
	enum db_rc rc = db_set_variables(db, LOCKQ_VIEW, query, args, n_args);

	if (rc == DB_OK && db->preparing)
		rc = run_text(db, &first, rows);
	execute.sql = db->execute;
	if (rc == DB_OK)
		rc = run_text(db, &execute, rows);
	/* As run_kept(): what has failed is prepared anew. */
	if (rc != DB_OK)
		db_forget_prepared(db, LOCKQ_VIEW);
	return rc;
}

/* Finds the kept statement, or prepares it in the place of the least recently used one. */
static enum db_rc
keep(struct db *db, const struct db_query *query, struct kept_statement **found)
{
	struct kept_statement *oldest = &db->kept[0];
	enum db_rc rc;

	for (size_t i = 0; i < KEPT_STATEMENTS; i++) {
		*found = &db->kept[i];
		if ((*found)->sql != NULL && strcmp((*found)->sql, query->sql) == 0) {
			(*found)->used = ++db->n_run;
			return DB_OK;
		}
		if ((*found)->used < oldest->used)
			oldest = *found;
	}
	*found = oldest;
	db_forget(oldest);
	rc = prepare(db, query, oldest);
	if (rc == DB_OK)
		oldest->used = ++db->n_run;
	else
		db_forget(oldest);
	return rc;
}

enum db_rc
db_prepare(struct db *db, const struct db_query *query)
{
	struct kept_statement *kept;
	enum db_rc rc = db_ready(db, query->name);

	return rc == DB_OK ? keep(db, query, &kept) : rc;
}

static enum db_rc
run_kept(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    struct db_rows *rows)
{
	struct kept_statement *kept;
	enum db_rc rc = keep(db, query, &kept);

	if (rc != DB_OK)
		return rc;
	rc = run_prepared(db, query, kept->statement, args, n_args, rows);
	if (rc != DB_OK)
		db_forget(kept);
	return rc;
}

static enum db_rc
run_once(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    struct db_rows *rows)
{
	if (n_args == 0)
		return run_text(db, query, rows);
	return query->expect == DB_VIEW ? run_view(db, query, args, n_args, rows) :
	    run_kept(db, query, args, n_args, rows);
}

/* Where a server has closed the statement's tables since it was prepared, and again while it
 * prepared it anew, nothing was done. A procedure may have done a part. */
static bool
may_run_again(const struct db *db, const struct db_query *query, unsigned int tries)
{
	return db->error.number == ER_NEED_REPREPARE && !db->lost && tries < PREPARED_TRIES &&
	    strncmp(query->sql, "CALL ", strlen("CALL ")) != 0;
}

enum db_rc
db_run(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    struct db_rows *rows)
{
	struct db_rows unread = { 0, 0, NULL, NULL };
	const char *undo = db->undo_next;
	unsigned int tries = 0;
	enum db_rc rc;

	if (rows == NULL)
		rows = &unread;
	db_rows_clear(rows);
	db->sent = false;
	rc = db_ready(db, query->name);
	if (rc != DB_OK)
		return rc;
	db->undo_next = NULL;
	do {
		db_rows_clear(rows);
		rc = run_once(db, query, args, n_args, rows);
	} while (rc == DB_ERETRY && may_run_again(db, query, ++tries));
	if (rc != DB_OK && undo != NULL)
		db_command_aside(db, undo);
	if (rc != DB_OK || rows == &unread)
		db_rows_clear(rows);
	return rc;
}

enum db_rc
db_number(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    uint64_t *number)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, query, args, n_args, &rows);

	*number = db_cell_u64(&rows, 0, 0);
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
db_change(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    uint64_t expected)
{
	enum db_rc rc = db_run(db, query, args, n_args, NULL);

	if (rc != DB_OK || db->affected == expected)
		return rc;
	return db_fail_at(db, DB_ERETRY, query->name, "another session has changed the same rows: "
	    "try again");
}
