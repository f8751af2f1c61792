/* SPDX-License-Identifier: MIT */
/* Looks for words in the text of a view or a procedure, as people have written it. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "check/audit.h"

/* Returns what comes after the string or the quoted name that begins at @c. */
static const char *
after_quotes(const char *c)
{
	char quote = *c++;

	while (*c != '\0' && *c != quote)
		c += *c == '\\' && quote != '`' && c[1] != '\0' ? 2 : 1;
	return *c == '\0' ? c : c + 1;
}

/* Returns what comes after the comment that begins at @c; @c where there is none. */
static const char *
after_comment(const char *c)
{
	const char *end;

	if (c[0] == '/' && c[1] == '*') {
		end = strstr(c + 2, "*/");
		return end != NULL ? end + 2 : c + strlen(c);
	}
	if (c[0] == '#' || (c[0] == '-' && c[1] == '-' && (c[2] == '\0' || (c[2] >= '\t' &&
	    c[2] <= ' '))))
		return c + strcspn(c, "\n");
	return c;
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

char *
audit_words(struct audit *a, const char *sql)
{
	char *words = malloc(strlen(sql) + 1), *to = words;
	const char *c = sql;

	if (words == NULL) {
		a->no_memory = true;
		return NULL;
	}
	while (*c != '\0') {
		const char *after = after_comment(c);
		bool blank = after != c || (*c >= '\t' && *c <= '\r') || *c == ' ';

		if (*c == '\'' || *c == '"' || *c == '`') {
			*to++ = '?';
			c = after_quotes(c);
		} else if (!blank) {
			*to++ = lower(*c++);
		} else {
			c = after != c ? after : c + 1;
			if (to > words && to[-1] != ' ')
				*to++ = ' ';
		}
	}
	*to = '\0';
	return words;
}

static bool
is_of_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
	    c == '.' || c == '@';
}

bool
audit_says(const char *words, const char *phrase)
{
	size_t length = strlen(phrase);
	const char *at = words;

	for (at = strstr(at, phrase); at != NULL; at = strstr(at + 1, phrase)) {
		bool begins = at == words || !is_of_word(at[-1]);
		bool ends = !is_of_word(phrase[length - 1]) || !is_of_word(at[length]);

		if (begins && ends)
			return true;
	}
	return false;
}

bool
audit_begins(const char *words, const char *phrase)
{
	size_t length = strlen(phrase);

	return strncmp(words, phrase, length) == 0 && !is_of_word(words[length]);
}

/* Whether @c is the end of what may stand before a statement: another statement, the begin of a
 * block or a branch, a label, or the conditions of a handler. */
static bool
ends_before_statement(const char *words, const char *c)
{
	static const char *const before[] = { "begin", "then", "else", "do", "loop", "repeat",
		"sqlexception", "sqlwarning", "found" };

	if (c == words || c[-1] == ';' || c[-1] == ':' || c[-1] == '?' ||
	    (c[-1] >= '0' && c[-1] <= '9'))
		return true;
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		size_t length = strlen(before[i]);

		if ((size_t)(c - words) >= length && memcmp(c - length, before[i], length) == 0 &&
		    ((size_t)(c - words) == length || !is_of_word(c[-(ptrdiff_t)length - 1])))
			return true;
	}
	return false;
}

const char *
audit_statement(const char *words, const char *from)
{
	for (const char *c = from; *c != '\0'; c++) {
		const char *end = c;

		if (!is_of_word(*c) || (c > words && is_of_word(c[-1])))
			continue;
		while (end > words && end[-1] == ' ')
			end--;
		if (ends_before_statement(words, end))
			return c;
	}
	return NULL;
}
