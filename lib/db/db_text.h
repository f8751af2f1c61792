/* SPDX-License-Identifier: MIT */
/* Text for parameters, and copies of what the database answers. */
#ifndef LOCKQ_DB_TEXT_H
#define LOCKQ_DB_TEXT_H

#include "db/db.h"

/* A DATETIME(6) as the server writes it. */
enum { TIME_BYTES = sizeof("2026-01-01 00:00:00.000000") };

/* An identifier of the server, a reason in a message, a UUID, each with its NUL. */
enum { NAME_BYTES = 64 * 4 + 1, REASON_BYTES = 2048, UUID_BYTES = 37 };

/* A growing string, mostly a JSON array for a statement. Zero-initialise it, and release it with
 * text_clear(). If memory runs out, @failed is set and stays set. */
struct text {
	char *data;
	size_t used, size;
	bool failed;
};
__attribute__((format(printf, 2, 3))) void text_add(struct text *text, const char *format, ...);
/* Adds @n bytes, and no NUL after them. */
void text_append(struct text *text, const char *bytes, size_t n);
/* Adds a string of UTF-8 as JSON has it, in quotes. */
void text_add_json(struct text *text, const char *string);
void text_clear(struct text *text);
/* Writes the ASCII control characters of a text in a buffer of @size bytes as \n, \t, \r and \x1b.
 * What has no room any more is cut off. */
void text_make_one_line(char *text, size_t size);
bool text_is_utf8(const char *string);
/* How many characters a string of UTF-8 has. */
size_t text_characters(const char *string);

/* Frees *@out and replaces it by a copy of @text, or by NULL. DB_OK or DB_ENOMEM. */
LOCKQ_MUST_CHECK enum db_rc copy_text(char **out, const char *text);
/* Copies a cell, "" for SQL NULL, and cuts it at @size - 1 bytes, or before the character
 * that would be cut in two. */
void copy_cell(char *out, size_t size, const struct db_rows *rows, size_t row, size_t column);

#endif
