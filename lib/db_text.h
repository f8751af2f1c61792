/* SPDX-License-Identifier: MIT */
/* Text for parameters, and copies of what the database answers. */
#ifndef LOCKQ_DB_TEXT_H
#define LOCKQ_DB_TEXT_H

#include "db.h"

/* A DATETIME(6) as the server writes it. */
enum { TIME_BYTES = sizeof("2026-01-01 00:00:00.000000") };

/* An identifier of the server's, with its NUL; a reason, as a message has it; a UUID. */
enum { NAME_BYTES = 64 * 4 + 1, REASON_BYTES = 2048, UUID_BYTES = 37 };

/* A growing buffer, for the JSON arrays of numbers that statements take. Zero-initialise it, and
 * release it with text_clear(). @failed: a text is missing, since there was no memory for it. */
struct text {
	char *data;
	size_t used, size;
	bool failed;
};
__attribute__((format(printf, 2, 3))) void text_add(struct text *text, const char *format, ...);
void text_clear(struct text *text);

/* Replaces *@out, which is freed, by a copy that its owner frees; NULL gives NULL. DB_OK or
 * DB_ENOMEM. */
LOCKQ_MUST_CHECK enum db_rc copy_text(char **out, const char *text);
/* "" for SQL NULL; what is longer than @size - 1 is cut. */
void copy_cell(char *out, size_t size, const struct db_rows *rows, size_t row, size_t column);

#endif
