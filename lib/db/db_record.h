/* SPDX-License-Identifier: MIT */
/* Structures that are filled from the rows of an answer, by a table that names the member of each
 * column. */
#ifndef LOCKQ_DB_RECORD_H
#define LOCKQ_DB_RECORD_H

#include "db/db_text.h"

enum db_field_kind {
	DB_FIELD_NONE,    /* the column goes nowhere */
	DB_FIELD_U64,     /* SQL NULL is 0, as for the next two */
	DB_FIELD_U32,
	DB_FIELD_FLAG,    /* an int that is 0 or 1 */
	DB_FIELD_BOOL,
	DB_FIELD_OR_NONE, /* an int64_t; SQL NULL is -1 */
	DB_FIELD_TEXT,    /* copy_text() */
	DB_FIELD_CHARS    /* copy_cell() */
};

struct db_field {
	enum db_field_kind kind;
	size_t offset, size;
};

/* The kind follows from the type of the member. */
#define DB_FIELD(type, member) { \
	_Generic(&((type *)0)->member, uint64_t *: DB_FIELD_U64, uint32_t *: DB_FIELD_U32, \
	    int *: DB_FIELD_FLAG, bool *: DB_FIELD_BOOL, int64_t *: DB_FIELD_OR_NONE, \
	    char **: DB_FIELD_TEXT, default: DB_FIELD_CHARS), \
	offsetof(type, member), sizeof(((type *)0)->member) }
#define DB_NO_FIELD { DB_FIELD_NONE, 0, 0 }

/* The fields are in the order of the columns. Those after the last column are NULL texts, which
 * are filled otherwise, and freed with the others. */
struct db_record {
	size_t size;
	const struct db_field *fields;
	size_t n_fields;
};
#define DB_RECORD(type, ...) { sizeof(type), (const struct db_field[]){ __VA_ARGS__ }, \
	sizeof((const struct db_field[]){ __VA_ARGS__ }) / sizeof(struct db_field) }

/* Fills the structure @of from a row, from column @first on. DB_OK or DB_ENOMEM. */
LOCKQ_MUST_CHECK enum db_rc record_fill(const struct db_record *record, void *of,
    const struct db_rows *rows, size_t row, size_t first);
/* The same for a structure without texts, which needs no memory. */
void record_fill_plain(const struct db_record *record, void *of, const struct db_rows *rows,
    size_t row, size_t first);
/* Frees the structure's texts. */
void record_free_texts(const struct db_record *record, void *of);
/* Makes an array with a structure for each row, and sets the pointer at @list, and *@n. DB_OK or
 * DB_ENOMEM; then there is none. */
LOCKQ_MUST_CHECK enum db_rc record_list(const struct db_record *record, const struct db_rows *rows,
    void *list, size_t *n);
/* The same of the rows that a statement shows. */
LOCKQ_MUST_CHECK enum db_rc record_read(const struct db_record *record, struct db *db,
    const struct db_query *query, const struct db_arg *args, size_t n_args, void *list, size_t *n);
/* Frees such an array, which may be NULL. */
void record_list_free(const struct db_record *record, void *list, size_t n);

#endif
