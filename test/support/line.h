/* SPDX-License-Identifier: MIT */
/* For tests of options: a command line as one string. test/unit/test_cli_*.c include this file
 * after cmocka.h. */
#ifndef LOCKQ_TEST_LINE_H
#define LOCKQ_TEST_LINE_H

#include <stdio.h>
#include <string.h>

#include "cli/options.h"

struct bad {
	const char *line, *error;
};
typedef int line_parser(const char *line, struct cli_error *error);

/* Parses and checks the words of @line, which stand between blanks. The words live until the next
 * call. */
static inline int
parse_words(const struct cli_tool *tool, void *options, const char *line, struct cli_error *error)
{
	enum { WORDS_MAX = 24 };
	static char words[16384];
	char *argv[WORDS_MAX + 1] = { NULL }, *next = words;
	int argc = 0, rc;

	snprintf(words, sizeof(words), "%s %s", tool->name, line);
	error->text[0] = '\0';
	while (*next != '\0' && argc < WORDS_MAX) {
		argv[argc++] = next;
		next += strcspn(next, " ");
		if (*next != '\0')
			*next++ = '\0';
	}
	rc = cli_parse(tool, options, argc, argv, error);
	return rc == CLI_PARSED_RUN ? tool->check(options, error) : rc;
}

static inline void
refuse_lines(line_parser *parser, const struct bad *bad, size_t n)
{
	struct cli_error error;

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(parser(bad[i].line, &error), CLI_PARSED_ERROR);
		assert_string_equal(error.text, bad[i].error);
	}
}

#endif
