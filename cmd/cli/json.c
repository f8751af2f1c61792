/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/times.h"
#include "cli/utf8.h"

json_t *
cli_json_text(const char *text)
{
	json_t *value;
	char *valid;

	if (text == NULL)
		return json_null();
	valid = cli_valid_utf8(text);
	value = json_string(valid);
	free(valid);
	return value;
}

#define EXACT_IN_DOUBLE ((UINT64_C(1) << 53) - 1)

json_t *
cli_json_number(uint64_t number)
{
	json_t *value;
	char *text;

	/* Many readers of JSON keep numbers as doubles only. */
	if (number <= EXACT_IN_DOUBLE)
		return json_integer((json_int_t)number);
	text = cli_text("%llu", (unsigned long long)number);
	value = json_string(text);
	free(text);
	return value;
}

json_t *
cli_json_time(const char *utc)
{
	char text[CLI_TIME_SIZE];

	cli_time_iso(text, utc);
	return text[0] == '\0' ? json_null() : json_string(text);
}

void
cli_json_set(json_t *object, const char *key, json_t *value)
{
	/* it also fails where @value is NULL, because jansson had no memory for it */
	if (json_object_set_new(object, key, value) != 0)
		cli_out_of_memory();
}

static json_t *
json_loans(const struct lockq_answer *answer)
{
	json_t *loans = json_array(), *loan;
	size_t i;

	for (i = 0; i < answer->n_loans; i++) {
		loan = json_object();
		cli_json_set(loan, "loan_id", cli_json_number(answer->loans[i].loan_id));
		cli_json_set(loan, "token", cli_json_number(answer->loans[i].token));
		cli_json_set(loan, "lease_expires_at",
		    cli_json_time(answer->loans[i].lease_expires_at));
		if (json_array_append_new(loans, loan) != 0)
			cli_out_of_memory();
	}
	return loans;
}

/* Who gave the loans: somebody who led, or the list that a leader has left. */
static const char *
source(const struct lockq_answer *answer)
{
	if (answer->assigned == 0)
		return NULL;
	/* "cache" is the word of older programs. */
	return cli_answer_is_from_list(answer) || (answer->how != NULL &&
	    strcmp(answer->how, "cache") == 0) ? "list" : "query";
}

json_t *
cli_json_answer(const struct lockq_answer *answer, int status, const char *error)
{
	json_t *object = json_object();

	cli_json_set(object, "request_id", cli_json_number(answer->request_id));
	cli_json_set(object, "uuid", cli_json_text(answer->uuid));
	cli_json_set(object, "user", cli_json_text(answer->user));
	cli_json_set(object, "task", cli_json_number(answer->task));
	cli_json_set(object, "task_name", cli_json_text(answer->task_name));
	cli_json_set(object, "asked", cli_json_number(answer->asked));
	cli_json_set(object, "requested", cli_json_number(answer->requested));
	cli_json_set(object, "assigned", cli_json_number(answer->assigned));
	cli_json_set(object, "status", cli_json_text(lockq_status_name(answer->status)));
	cli_json_set(object, "led", json_boolean(answer->led));
	cli_json_set(object, "joined", json_boolean(answer->joined));
	cli_json_set(object, "leader", cli_json_text(answer->leader));
	cli_json_set(object, "epoch", cli_json_number(answer->epoch));
	cli_json_set(object, "waited_ms", cli_json_number(answer->waited_ms));
	cli_json_set(object, "query_ms",
	    answer->query_ms < 0 ? json_null() : json_integer(answer->query_ms));
	cli_json_set(object, "as_of", cli_json_time(answer->as_of));
	cli_json_set(object, "how", cli_json_text(answer->how));
	cli_json_set(object, "source", cli_json_text(source(answer)));
	cli_json_set(object, "checked", cli_json_time(answer->checked));
	cli_json_set(object, "reason", cli_json_text(answer->reason));
	cli_json_set(object, "excluded", cli_json_number(answer->excluded));
	cli_json_set(object, "retries", cli_json_number(answer->retries));
	cli_json_set(object, "loans", json_loans(answer));
	if (error != NULL)
		cli_json_set(object, "error", cli_json_text(error));
	cli_json_set(object, "exit", json_integer(status));
	return object;
}

void
cli_json_event(json_t *object, const struct lockq_event *e)
{
	cli_json_set(object, "at", cli_json_time(e->at));
	cli_json_set(object, "event", cli_json_text(e->event));
	cli_json_set(object, "user", cli_json_text(e->user));
	cli_json_set(object, "account", cli_json_text(e->account));
	cli_json_set(object, "token", cli_json_number(e->token));
	cli_json_set(object, "version", cli_json_number(e->version));
	cli_json_set(object, "request_id", cli_json_number(e->request_id));
	cli_json_set(object, "available_at", cli_json_time(e->available_at));
	cli_json_set(object, "lease_expires_at", cli_json_time(e->lease_expires_at));
	cli_json_set(object, "excluded_until", cli_json_time(e->excluded_until));
	cli_json_set(object, "note", cli_json_text(e->note));
	cli_json_set(object, "manager", cli_json_text(e->manager));
}

/* jansson writes the control character DEL as it is, which JSON allows. It is in strings only. */
static char *
escape_del(char *line)
{
	static const char escape[] = "\\u007f";
	size_t n = 0;
	char *escaped, *to;

	for (const char *c = line; *c != '\0'; c++)
		n += *c == 0x7f;
	if (n == 0)
		return line;
	escaped = to = cli_alloc(strlen(line) + n * (sizeof(escape) - 1) + 1);
	for (const char *c = line; *c != '\0'; c++) {
		size_t length = *c == 0x7f ? sizeof(escape) - 1 : 1;

		memcpy(to, *c == 0x7f ? escape : c, length);
		to += length;
	}
	*to = '\0';
	free(line);
	return escaped;
}

char *
cli_json_line(json_t *object)
{
	/* ASCII: control characters in text from the database must not reach a terminal */
	char *line = json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);

	json_decref(object);
	if (line != NULL)
		return escape_del(line);
	cli_out_of_memory();
}

void
cli_json_print(json_t *object)
{
	char *line = cli_json_line(object);

	puts(line);
	free(line);
}
