/* SPDX-License-Identifier: MIT */
/* Looks for words in the text of a view or a procedure, as people have written it. */
#include <stdlib.h>
#include <string.h>

#include "audit.h"

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
