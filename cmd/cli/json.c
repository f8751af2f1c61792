/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	struct cli_time iso = cli_time_iso(utc);

	return iso.text[0] == '\0' ? json_null() : json_string(iso.text);
}

void
cli_json_set(json_t *object, const char *key, json_t *value)
{
	/* it also fails where @value is NULL, because jansson had no memory for it */
	if (json_object_set_new(object, key, value) != 0)
		cli_out_of_memory();
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
