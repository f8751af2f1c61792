/* SPDX-License-Identifier: MIT */
/* Runs one statement with bound parameters and reads its whole answer. */
#include "db_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_MIN = 64 };

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

void
db_forget(struct kept_statement *kept)
{
	if (kept->statement != NULL)
		mysql_stmt_close(kept->statement);
	free(kept->sql);
	*kept = (struct kept_statement){ .sql = NULL };
}

/* Parameters point into @args, which outlives the execution. */
static enum db_rc
bind_args(struct db *db, const char *name, MYSQL_STMT *statement, const struct db_arg *args,
    size_t n_args)
{
	MYSQL_BIND *bind;
	enum db_rc rc = DB_OK;

	if (mysql_stmt_param_count(statement) != n_args)
		return db_fail_with(db, DB_ESHAPE, "%s: wrong number of parameters", name);
	if (n_args == 0)
		return DB_OK;
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

static enum db_rc
row_buffer_new(struct db *db, struct row_buffer *buffer, MYSQL_RES *meta)
{
	unsigned int n = mysql_num_fields(meta);
	MYSQL_FIELD *fields = mysql_fetch_fields(meta);
	size_t offset = 0;

	if (n == 0) {
		return db_fail_with(db, DB_ESHAPE, "result: no columns");
	}
	for (unsigned int i = 0; i < n; i++)
		buffer->width += fields[i].max_length + CELL_MIN;
	buffer->bind = calloc(n, sizeof(*buffer->bind));
	buffer->length = calloc(n, sizeof(*buffer->length));
	buffer->null = calloc(n, sizeof(*buffer->null));
	buffer->text = malloc(buffer->width);
	if (buffer->bind == NULL || buffer->length == NULL || buffer->null == NULL ||
	    buffer->text == NULL)
		return db_fail_memory(db);
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

static enum db_rc
append_cell(struct db *db, struct growing *grow, const char *cell, unsigned long length,
    size_t *offset)
{
	if (grow->size - grow->used <= length) {
		size_t size = (grow->size + length + CELL_MIN) * 2;
		char *text = realloc(grow->text, size);

		if (text == NULL)
			return db_fail_memory(db);
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
static enum db_rc
append_names(struct db *db, struct growing *grow, MYSQL_RES *meta, size_t *offsets)
{
	MYSQL_FIELD *fields = mysql_fetch_fields(meta);
	enum db_rc rc = DB_OK;

	for (unsigned int i = 0; rc == DB_OK && i < mysql_num_fields(meta); i++)
		rc = append_cell(db, grow, fields[i].name, fields[i].name_length, &offsets[i]);
	return rc;
}

/* @names: the result's metadata where the columns' names are wanted, or NULL. */
static enum db_rc
fetch_rows(struct db *db, const char *name, MYSQL_STMT *statement, struct row_buffer *buffer,
    MYSQL_RES *names, struct db_rows *rows)
{
	struct growing grow = { NULL, 0, 0 };
	size_t n_cells = (rows->n_rows + 1) * rows->n_columns;
	size_t *offsets = calloc(n_cells + 1, sizeof(*offsets));
	size_t cell = 0;
	enum db_rc rc = DB_OK;

	rows->cells = calloc(n_cells + 1, sizeof(*rows->cells));
	if (offsets == NULL || rows->cells == NULL) {
		free(offsets);
		return db_fail_memory(db);
	}
	while (rc == DB_OK && cell < rows->n_rows * rows->n_columns) {
		int fetched = mysql_stmt_fetch(statement);

		if (fetched == MYSQL_DATA_TRUNCATED) {
			rc = db_fail_with(db, DB_ESHAPE,
			    "%s: a cell is wider than the server said", name);
		} else if (fetched != 0) {
			rc = db_fail_statement(db, name, statement);
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

static enum db_rc
store_rows(struct db *db, const struct db_query *query, MYSQL_STMT *statement, MYSQL_RES *meta,
    struct db_rows *rows)
{
	const char *name = query->name;
	struct row_buffer buffer = { NULL, NULL, NULL, NULL, 0 };
	MYSQL_RES *widths;
	enum db_rc rc;

	if (mysql_stmt_store_result(statement) != 0)
		return db_fail_statement(db, name, statement);
	rows->n_rows = (size_t)mysql_stmt_num_rows(statement);
	rows->n_columns = mysql_num_fields(meta);
	widths = mysql_stmt_result_metadata(statement);
	if (widths == NULL)
		return db_fail_statement(db, name, statement);
	rc = row_buffer_new(db, &buffer, widths);
	mysql_free_result(widths);
	if (rc == DB_OK && mysql_stmt_bind_result(statement, buffer.bind) != 0)
		rc = db_fail_statement(db, name, statement);
	if (rc == DB_OK)
		rc = fetch_rows(db, name, statement, &buffer,
		    query->expect == DB_NAMED ? meta : NULL, rows);
	row_buffer_free(&buffer);
	return rc;
}

static enum db_rc
check_shape(struct db *db, const struct db_query *query, const struct db_rows *rows)
{
	if (query->expect == DB_ONE && rows->n_rows != 1)
		return db_fail_with(db, DB_ESHAPE, "%s: %s", query->name, rows->n_rows == 0 ?
		    "no row where one is expected" : "more than the one row that is expected");
	if (query->expect == DB_MAYBE && rows->n_rows > 1)
		return db_fail_with(db, DB_ESHAPE, "%s: more than one row", query->name);
	return DB_OK;
}

static enum db_rc
execute(struct db *db, const struct db_query *query, MYSQL_STMT *statement,
    const struct db_arg *args, size_t n_args, struct db_rows *rows)
{
	MYSQL_RES *meta;
	enum db_rc rc = bind_args(db, query->name, statement, args, n_args);

	if (rc != DB_OK)
		return rc;
	if (mysql_stmt_execute(statement) != 0)
		return db_fail_statement(db, query->name, statement);
	db->affected = mysql_stmt_affected_rows(statement);
	db->insert_id = mysql_stmt_insert_id(statement);
	meta = mysql_stmt_result_metadata(statement);
	if ((meta == NULL) != (query->expect == DB_NO_ROWS) || (meta != NULL && rows == NULL)) {
		rc = db_fail_with(db, DB_ESHAPE,
		    "%s: rows where none are expected, or the reverse", query->name);
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
static enum db_rc
copy_rows(struct db *db, MYSQL_RES *result, struct db_rows *rows)
{
	struct growing grow = { NULL, 0, 0 };
	size_t n, cell = 0, *offsets;
	MYSQL_ROW cells;
	enum db_rc rc = DB_OK;

	rows->n_rows = (size_t)mysql_num_rows(result);
	rows->n_columns = mysql_num_fields(result);
	n = rows->n_rows * rows->n_columns;
	offsets = calloc(n + 1, sizeof(*offsets));
	rows->cells = calloc(n + 1, sizeof(*rows->cells));
	if (offsets == NULL || rows->cells == NULL) {
		free(offsets);
		return db_fail_memory(db);
	}
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
static enum db_rc
run_text(struct db *db, const struct db_query *query, struct db_rows *rows)
{
	MYSQL_RES *result;
	enum db_rc rc = DB_OK;

	if (mysql_real_query(db->mysql, query->sql, (unsigned long)strlen(query->sql)) != 0)
		return db_fail(db, query->name);
	result = mysql_store_result(db->mysql);
	if (result == NULL && mysql_errno(db->mysql) != 0)
		return db_fail(db, query->name);
	db->affected = mysql_affected_rows(db->mysql);
	db->insert_id = mysql_insert_id(db->mysql);
	if ((result == NULL) != (query->expect == DB_NO_ROWS) || (result != NULL && rows == NULL)) {
		rc = db_fail_with(db, DB_ESHAPE,
		    "%s: rows where none are expected, or the reverse", query->name);
	} else if (result != NULL) {
		rc = copy_rows(db, result, rows);
		if (rc == DB_OK)
			rc = check_shape(db, query, rows);
	}
	if (result != NULL)
		mysql_free_result(result);
	return rc;
}

static enum db_rc
prepare(struct db *db, const struct db_query *query, MYSQL_STMT **statement)
{
	static const db_flag update_max_length = 1;

	*statement = mysql_stmt_init(db->mysql);
	if (*statement == NULL)
		return db_fail_memory(db);
	mysql_stmt_attr_set(*statement, STMT_ATTR_UPDATE_MAX_LENGTH, &update_max_length);
	if (mysql_stmt_prepare(*statement, query->sql, strlen(query->sql)) == 0)
		return DB_OK;
	return db_fail_statement(db, query->name, *statement);
}

/* The statement as it was kept, or prepared anew in the place of the one not used for longest. */
static enum db_rc
keep(struct db *db, const struct db_query *query, struct kept_statement **found)
{
	struct kept_statement *oldest = &db->kept[0];
	enum db_rc rc;

	for (size_t i = 0; i < KEPT_STATEMENTS; i++) {
		if (db->kept[i].sql != NULL && strcmp(db->kept[i].sql, query->sql) == 0) {
			*found = &db->kept[i];
			(*found)->used = ++db->n_run;
			return DB_OK;
		}
		if (db->kept[i].used < oldest->used)
			oldest = &db->kept[i];
	}
	db_forget(oldest);
	rc = prepare(db, query, &oldest->statement);
	if (rc == DB_OK) {
		oldest->sql = strdup(query->sql);
		rc = oldest->sql != NULL ? DB_OK : db_fail_memory(db);
	}
	if (rc != DB_OK)
		db_forget(oldest);
	oldest->used = ++db->n_run;
	*found = oldest;
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
run_prepared(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    struct db_rows *rows)
{
	struct kept_statement *kept;
	enum db_rc rc = keep(db, query, &kept);

	if (rc != DB_OK)
		return rc;
	rc = execute(db, query, kept->statement, args, n_args, rows);
	if (rc != DB_OK)
		db_forget(kept);
	return rc;
}

enum db_rc
db_run(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    struct db_rows *rows)
{
	enum db_rc rc;

	if (rows != NULL)
		db_rows_clear(rows);
	rc = db_ready(db, query->name);
	if (rc != DB_OK)
		return rc;
	rc = n_args == 0 ? run_text(db, query, rows) :
	    run_prepared(db, query, args, n_args, rows);
	if (rc != DB_OK && db->undo_next != NULL)
		db_command_aside(db, db->undo_next);
	db->undo_next = NULL;
	if (rc != DB_OK && rows != NULL)
		db_rows_clear(rows);
	return rc;
}

enum db_rc
db_change(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    uint64_t expected)
{
	enum db_rc rc = db_run(db, query, args, n_args, NULL);

	if (rc != DB_OK || db->affected == expected)
		return rc;
	return db_fail_with(db, DB_ERETRY, "%s: changed %llu rows, not %llu", query->name,
	    (unsigned long long)db->affected, (unsigned long long)expected);
}
