/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>
#include <uniwidth.h>

#include "cli/text.h"
#include "cli/utf8.h"

enum { ESCAPED_MAX = 7 }; /* "\u202e" and its NUL */

/* Decodes the first character of @text. Returns its bytes, 0 where they are not valid UTF-8. */
static size_t
decode(ucs4_t *character, const char *text)
{
	int bytes = u8_strmbtouc(character, (const uint8_t *)text);

	return bytes > 0 ? (size_t)bytes : 0;
}

long
cli_utf8_length(const char *text, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)text;

	return u8_check(bytes, size) == NULL ? (long)u8_mbsnlen(bytes, size) : -1;
}

/* Unicode's width, not the locale's: in the C locale wcwidth() knows ASCII only, but the terminal
 * mostly shows more. */
static size_t
character_width(ucs4_t character)
{
	int width = uc_width(character, "UTF-8");

	return width < 0 ? 1 : (size_t)width;
}

size_t
cli_width(const char *text)
{
	ucs4_t character;
	size_t bytes, width = 0;

	for (; *text != '\0'; text += bytes) {
		bytes = decode(&character, text);
		width += bytes == 0 ? 1 : character_width(character);
		if (bytes == 0)
			bytes = 1;
	}
	return width;
}

static bool
is_control(ucs4_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

/* Writes the first character of @text to @out, escaped. Returns its bytes in @text. */
static size_t
escape_one(char out[ESCAPED_MAX], const char *text)
{
	ucs4_t character = 0;
	size_t bytes = decode(&character, text);
	/* Characters that change the direction of the text around them, or break the line. */
	bool misleads = character == 0x061c || character == 0x200e || character == 0x200f ||
	    (character >= 0x2028 && character <= 0x202e) ||
	    (character >= 0x2066 && character <= 0x2069) || character == 0xfeff;

	if (bytes == 0) {
		snprintf(out, ESCAPED_MAX, "\\x%02x", (unsigned char)text[0]);
		return 1;
	}
	if (character == '\n')
		snprintf(out, ESCAPED_MAX, "\\n");
	else if (character == '\t')
		snprintf(out, ESCAPED_MAX, "\\t");
	else if (character == '\r')
		snprintf(out, ESCAPED_MAX, "\\r");
	else if (is_control(character) && character < 0x80)
		snprintf(out, ESCAPED_MAX, "\\x%02x", (unsigned int)character);
	else if (is_control(character) || misleads)
		snprintf(out, ESCAPED_MAX, "\\u%04x", (unsigned int)(character & 0xffff));
	else
		snprintf(out, ESCAPED_MAX, "%.*s", (int)bytes, text);
	return bytes;
}

char *
cli_escape(const char *text)
{
	size_t size = 0;
	char *escaped, one[ESCAPED_MAX];

	if (text == NULL)
		text = "";
	escaped = cli_alloc(strlen(text) * (ESCAPED_MAX - 1) + 1);
	while (*text != '\0') {
		text += escape_one(one, text);
		memcpy(escaped + size, one, strlen(one));
		size += strlen(one);
	}
	escaped[size] = '\0';
	return escaped;
}

char *
cli_escaped(char *text)
{
	char *escaped = cli_escape(text);

	free(text);
	return escaped;
}

char *
cli_valid_utf8(const char *text)
{
	size_t size = 0, bytes;
	ucs4_t character;
	char *valid;

	valid = cli_alloc(strlen(text) * 4 + 1);
	while (*text != '\0') {
		bytes = decode(&character, text);
		if (bytes == 0) {
			snprintf(valid + size, 5, "\\x%02x", (unsigned char)*text++);
			size += 4;
			continue;
		}
		memcpy(valid + size, text, bytes);
		text += bytes;
		size += bytes;
	}
	valid[size] = '\0';
	return valid;
}

char *
cli_cut(const char *text, size_t width)
{
	ucs4_t character;
	size_t end = 0, bytes, used = 0, wide;

	while (text[end] != '\0') {
		bytes = decode(&character, text + end);
		wide = bytes == 0 ? 1 : character_width(character);
		if (used + wide > width)
			break;
		used += wide;
		end += bytes == 0 ? 1 : bytes;
	}
	return cli_text("%.*s", (int)end, text);
}

char *
cli_shorten(const char *text, size_t width, const char *ellipsis)
{
	size_t room = cli_width(ellipsis);
	char *cut, *shortened;

	if (cli_width(text) <= width)
		return cli_text("%s", text);
	if (width <= room)
		return cli_cut(text, width);
	cut = cli_cut(text, width - room);
	shortened = cli_text("%s%s", cut, ellipsis);
	free(cut);
	return shortened;
}
