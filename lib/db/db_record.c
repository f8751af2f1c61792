/* SPDX-License-Identifier: MIT */
/* Fills structures from the rows of an answer. */
#include "db/db_record.h"

#include <stdlib.h>
#include <string.h>

static enum db_rc
fill_field(const struct db_field *field, void *of, const struct db_rows *rows, size_t row,
    size_t column)
{
	void *to = (char *)of + field->offset;
	uint64_t number = db_cell_u64(rows, row, column);

	switch (field->kind) {
	case DB_FIELD_NONE: break;
	case DB_FIELD_U64: *(uint64_t *)to = number; break;
	case DB_FIELD_U32: *(uint32_t *)to = (uint32_t)number; break;
	case DB_FIELD_FLAG: *(int *)to = number != 0; break;
	case DB_FIELD_BOOL: *(bool *)to = number != 0; break;
	case DB_FIELD_OR_NONE: *(int64_t *)to = db_cell_or_none(rows, row, column); break;
	case DB_FIELD_TEXT: return copy_text(to, db_cell(rows, row, column));
	case DB_FIELD_CHARS: copy_cell(to, field->size, rows, row, column); break;
	}
	return DB_OK;
}

enum db_rc
record_fill(const struct db_record *record, void *of, const struct db_rows *rows, size_t row,
    size_t first)
{
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < record->n_fields; i++)
		rc = fill_field(&record->fields[i], of, rows, row, first + i);
	return rc;
}

void
record_fill_plain(const struct db_record *record, void *of, const struct db_rows *rows, size_t row,
    size_t first)
{
	enum db_rc rc = record_fill(record, of, rows, row, first);

	(void)rc;
}

void
record_free_texts(const struct db_record *record, void *of)
{
	for (size_t i = 0; i < record->n_fields; i++) {
		if (record->fields[i].kind == DB_FIELD_TEXT)
			free(*(char **)((char *)of + record->fields[i].offset));
	}
}

enum db_rc
record_list(const struct db_record *record, const struct db_rows *rows, void *list, size_t *n)
{
	char *made = calloc(rows->n_rows + 1, record->size);
	enum db_rc rc = made != NULL ? DB_OK : DB_ENOMEM;

	for (*n = 0; rc == DB_OK && *n < rows->n_rows; ++*n)
		rc = record_fill(record, made + *n * record->size, rows, *n, 0);
	if (rc != DB_OK) {
		record_list_free(record, made, *n);
		made = NULL;
		*n = 0;
	}
	memcpy(list, &made, sizeof(made));
	return rc;
}

enum db_rc
record_read(const struct db_record *record, struct db *db, const struct db_query *query,
    const struct db_arg *args, size_t n_args, void *list, size_t *n)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, query, args, n_args, &rows);

	if (rc == DB_OK)
		rc = record_list(record, &rows, list, n);
	db_rows_clear(&rows);
	return rc;
}

void
record_list_free(const struct db_record *record, void *list, size_t n)
{
	for (size_t i = 0; list != NULL && i < n; i++)
		record_free_texts(record, (char *)list + i * record->size);
	free(list);
}
