/* SPDX-License-Identifier: MIT */
/* Builds and copies strings. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db_text.h"

/* Makes room for @n bytes more. False: there is no memory for them. */
static bool
make_room(struct text *text, size_t n)
{
	size_t size = (text->size + n) * 2 + 64;
	char *data;

	if (text->size - text->used >= n)
		return true;
	data = text->failed ? NULL : realloc(text->data, size);
	if (data == NULL) {
		text->failed = true;
		return false;
	}
	text->data = data;
	text->size = size;
	return true;
}

void
text_append(struct text *text, const char *bytes, size_t n)
{
	if (!make_room(text, n))
		return;
	memcpy(text->data + text->used, bytes, n);
	text->used += n;
}

void
text_add(struct text *text, const char *format, ...)
{
	size_t room;
	va_list args;
	int n;

	/* Most texts fit at once. The others are printed again, when there is room. */
	do {
		room = text->size - text->used;
		va_start(args, format);
		n = vsnprintf(room > 0 ? text->data + text->used : NULL, room, format, args);
		va_end(args);
	} while (n >= 0 && (size_t)n >= room && make_room(text, (size_t)n + 1));
	if (n < 0)
		text->failed = true;
	if (!text->failed)
		text->used += (size_t)n;
}

void
text_add_json(struct text *text, const char *string)
{
	text_add(text, "\"");
	for (const char *c = string; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			text_add(text, "\\%c", *c);
		else if ((unsigned char)*c < ' ')
			text_add(text, "\\u%04x", (unsigned int)*c);
		else
			text_append(text, c, 1);
	}
	text_add(text, "\"");
}

/* Writes the escape of the control character at @c in its place, and moves the rest of the text,
 * which is cut where @room bytes from @c on are too few. Returns the bytes of the escape. */
static size_t
escape_control(char *c, size_t room)
{
	static const char known[] = "\n\t\r", letters[] = "ntr";
	char escape[sizeof("\\x1b")];
	const char *at = strchr(known, *c);
	size_t rest = strlen(c + 1), n;

	if (at != NULL)
		snprintf(escape, sizeof(escape), "\\%c", letters[at - known]);
	else
		snprintf(escape, sizeof(escape), "\\x%02x", (unsigned int)(unsigned char)*c);
	n = strlen(escape);
	if (n >= room)
		n = rest = 0;
	else if (rest >= room - n)
		rest = room - n - 1;
	memmove(c + n, c + 1, rest);
	memcpy(c, escape, n);
	c[n + rest] = '\0';
	return n;
}

void
text_make_one_line(char *text, size_t size)
{
	for (char *c = text; *c != '\0';) {
		bool control = (unsigned char)*c < ' ' || *c == 0x7f;

		c += control ? escape_control(c, size - (size_t)(c - text)) : 1;
	}
}

/* The bytes of the character at @b, of which the second one is from *@low to *@high; 0: no
 * character begins so. */
static size_t
bytes_of_character(const unsigned char *b, unsigned char *low, unsigned char *high)
{
	/* The shortest form only, no surrogate, and nothing beyond U+10FFFF. */
	*low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
	*high = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
	if (b[0] < 0x80)
		return 1;
	if (b[0] < 0xc2 || b[0] > 0xf4)
		return 0;
	return b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
}

bool
text_is_utf8(const char *string)
{
	const unsigned char *b = (const unsigned char *)string;

	while (*b != '\0') {
		unsigned char low, high;
		size_t n = bytes_of_character(b, &low, &high);

		if (n == 0 || (n > 1 && (b[1] < low || b[1] > high)))
			return false;
		for (size_t i = 2; i < n; i++) {
			if ((b[i] & 0xc0) != 0x80)
				return false;
		}
		b += n;
	}
	return true;
}

size_t
text_characters(const char *string)
{
	size_t n = 0;

	for (; *string != '\0'; string++)
		n += ((unsigned char)*string & 0xc0) != 0x80;
	return n;
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
	size_t length = cell != NULL ? strlen(cell) : 0;

	if (length >= size) {
		length = size - 1;
		/* Back to where a character begins. */
		while (length > 0 && ((unsigned char)cell[length] & 0xc0) == 0x80)
			length--;
	}
	if (length > 0)
		memcpy(out, cell, length);
	out[length] = '\0';
}
