/* SPDX-License-Identifier: MIT */
/* Builds and copies strings. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db_text.h"

void
text_add(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || text->failed) {
		text->failed = true;
		return;
	}
	if (text->size - text->used <= (size_t)n) {
		size_t size = (text->size + (size_t)n) * 2 + 64;
		char *data = realloc(text->data, size);

		if (data == NULL) {
			text->failed = true;
			return;
		}
		text->data = data;
		text->size = size;
	}
	va_start(args, format);
	vsnprintf(text->data + text->used, (size_t)n + 1, format, args);
	va_end(args);
	text->used += (size_t)n;
}

void
text_clear(struct text *text)
{
	free(text->data);
	*text = (struct text){ NULL, 0, 0, false };
}

enum db_rc
copy_text(char **out, const char *text)
{
	free(*out);
	*out = NULL;
	if (text == NULL)
		return DB_OK;
	*out = strdup(text);
	return *out != NULL ? DB_OK : DB_ENOMEM;
}

void
copy_cell(char *out, size_t size, const struct db_rows *rows, size_t row, size_t column)
{
	const char *cell = db_cell(rows, row, column);

	snprintf(out, size, "%s", cell != NULL ? cell : "");
}
