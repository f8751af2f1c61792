/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cli/loan_option.h"
#include "cli/text.h"
#include "cli/values.h"

enum { LOAN_LONGEST = 64 }; /* characters; LOAN:TOKEN has at most 41 */

/* Reads "LOAN" or "LOAN:TOKEN"; tokens count from 1. */
static int
parse_one(struct lockq_loan_ref *ref, const char *text)
{
	size_t length = strcspn(text, ":");

	ref->token = 0;
	if (cli_number_of(&ref->loan_id, text, length) != 0)
		return -1;
	if (text[length] == '\0')
		return 0;
	return cli_number(&ref->token, text + length + 1) != 0 || ref->token == 0 ? -1 : 0;
}

static int
add_one(struct loan_option *loans, const struct lockq_loan_ref *ref, struct cli_error *error)
{
	size_t i;

	for (i = 0; i < loans->n; i++) {
		if (loans->list[i].loan_id == ref->loan_id)
			return cli_fail(error, "--%s: loan %llu is named twice",
			    loans->option, (unsigned long long)ref->loan_id);
	}
	if (loans->n == LOCKQ_DISPOSE_MAX)
		return cli_fail(error, "--%s: more than %d loans: name the rest in another call",
		    loans->option, LOCKQ_DISPOSE_MAX);
	if (loans->n == loans->capacity) {
		loans->capacity = loans->capacity == 0 ? 16 : loans->capacity * 2;
		loans->list = cli_realloc(loans->list, loans->capacity * sizeof(*loans->list));
	}
	loans->list[loans->n++] = *ref;
	return 0;
}

int
loan_option_parse(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct lockq_loan_ref ref = { 0, 0 };
	const char *from = text;
	struct loan_option *loans = target;
	size_t length;
	char *one;
	int rc;

	loans->option = option->name;
	if (strcmp(text, "-") == 0) {
		loans->from_stdin = true;
		return 0;
	}
	for (;;) {
		length = strcspn(from, ",");
		one = cli_text("%.*s", (int)length, from);
		rc = parse_one(&ref, one);
		if (rc != 0)
			cli_fail(error, "--%s \"%s\" must be a loan, or a loan with its token, as "
			    "in 12 or 12:7",
			    option->name, one);
		else
			rc = add_one(loans, &ref, error);
		free(one);
		if (rc != 0 || from[length] == '\0')
			return rc;
		from += length + 1;
	}
}

static int
refuse_word(const struct loan_option *loans, struct cli_error *error, const char *word,
    const char *rest)
{
	return cli_fail(error, "--%s -: \"%s%s\" on standard input must be a loan, or a loan "
	    "with its token, as in 12 or 12:7", loans->option, word, rest);
}

int
loan_option_read(struct loan_option *loans, FILE *in, struct cli_error *error)
{
	char word[LOAN_LONGEST + 1] = "";
	struct lockq_loan_ref ref = { 0, 0 };
	size_t n = 0;
	int c;

	do {
		c = getc(in);
		if (c == '\0')
			return cli_fail(error, "--%s -: standard input has a NUL byte, so it is "
			    "not text", loans->option);
		if (c != EOF && strchr(" \t\r\n,", c) == NULL) {
			if (n == LOAN_LONGEST)
				return refuse_word(loans, error, word, "...");
			word[n++] = (char)c;
			continue;
		}
		word[n] = '\0';
		if (n > 0 && parse_one(&ref, word) != 0)
			return refuse_word(loans, error, word, "");
		if (n > 0 && add_one(loans, &ref, error) != 0)
			return -1;
		n = 0;
	} while (c != EOF);
	if (ferror(in))
		return cli_fail(error, "--%s -: standard input can't be read", loans->option);
	return loans->n > 0 ? 0 : cli_fail(error, "--%s -: standard input names no loan",
	    loans->option);
}
