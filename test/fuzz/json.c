/* SPDX-License-Identifier: MIT */
/* Fuzzes the JSON that lockq writes: whatever bytes come out of the database, the programs print
 * one line of ASCII that is one valid object, and a reader gets each value back. The library's
 * lists for statements are read back, too. */
#include "fuzz.h"

#include <jansson.h>

#include "cli/answer.h"
#include "cli/json.h"
#include "cli/text.h"
#include "db/db_text.h"

/* The bytes that are UTF-8 as they are, the others as \xNN. */
static char *
model_valid(const char *text)
{
	char *valid = malloc(strlen(text) * 4 + 1), *to = valid;
	uint32_t character;

	MUST(valid != NULL);
	while (*text != '\0') {
		size_t n = model_utf8(text, &character);

		if (n == 0) {
			static const char digits[] = "0123456789abcdef";
			uint8_t byte = (uint8_t)*text++;
			const char hex[] = { '\\', 'x', digits[byte / 16], digits[byte % 16] };

			memcpy(to, hex, sizeof(hex));
			to += sizeof(hex);
			continue;
		}
		memcpy(to, text, n);
		to += n;
		text += n;
	}
	*to = '\0';
	return valid;
}

static void
must_have(const json_t *object, const char *key, const char *text)
{
	const json_t *value = json_object_get(object, key);
	char *valid = model_valid(text);

	MUST(json_is_string(value));
	MUST(json_string_length(value) == strlen(valid));
	MUST(strcmp(json_string_value(value), valid) == 0);
	free(valid);
}

/* Numbers that a double may not keep are decimal text. */
static void
must_have_number(const json_t *object, const char *key, uint64_t number)
{
	const json_t *value = json_object_get(object, key);

	if (number < UINT64_C(9007199254740992))
		MUST(json_is_integer(value) && (uint64_t)json_integer_value(value) == number);
	else
		MUST(json_is_string(value) &&
		    strtoull(json_string_value(value), NULL, 10) == number);
}

static json_t *
read_line(json_t *object)
{
	char *line = cli_json_line(object);
	json_error_t why;
	json_t *read = json_loads(line, JSON_REJECT_DUPLICATES, &why);

	for (const char *c = line; *c != '\0'; c++)
		MUST(*c >= ' ' && *c <= '~');
	MUST(json_is_object(read));
	free(line);
	return read;
}

static void
check_answer(const char *user, const char *reason, uint64_t number)
{
	struct lockq_loan loan = { .loan_id = number, .token = number / 3 };
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	json_t *read;

	snprintf(answer.uuid, sizeof(answer.uuid), "%s", reason);
	snprintf(answer.as_of, sizeof(answer.as_of), "%s", reason);
	answer.user = (char *)(uintptr_t)user;
	answer.task_name = (char *)(uintptr_t)reason;
	answer.reason = (char *)(uintptr_t)reason;
	answer.leader = (char *)(uintptr_t)user;
	answer.request_id = number;
	answer.loans = &loan;
	answer.n_loans = 1;
	read = read_line(cli_json_answer(&answer, 4, user));
	must_have(read, "user", user);
	must_have(read, "leader", user);
	must_have(read, "error", user);
	must_have(read, "task_name", reason);
	must_have(read, "reason", reason);
	must_have_number(read, "request_id", number);
	must_have_number(json_array_get(json_object_get(read, "loans"), 0), "loan_id", number);
	MUST(json_integer_value(json_object_get(read, "exit")) == 4);
	json_decref(read);
}

/* Any keys: each is a value's name in some object. */
static void
check_object(const char *text)
{
	json_t *object = json_object(), *read;

	cli_json_set(object, "text", cli_json_text(text));
	cli_json_set(object, "none", cli_json_text(NULL));
	cli_json_set(object, "time", cli_json_time(text));
	read = read_line(object);
	must_have(read, "text", text);
	MUST(json_is_null(json_object_get(read, "none")));
	MUST(json_object_size(read) == 3);
	json_decref(read);
}

/* A batch of a statement, as the library builds it. */
static void
check_batch(const char *a, const char *b)
{
	struct text text = { NULL, 0, 0, false };
	json_t *read;

	MUST(text_is_utf8(a) == model_is_utf8(a));
	if (!model_is_utf8(a) || !model_is_utf8(b))
		return;
	text_add(&text, "[");
	text_add_json(&text, a);
	text_add(&text, ",%d,", 7);
	text_add_json(&text, b);
	text_append(&text, "]", 1);
	MUST(!text.failed);
	read = json_loadb(text.data, text.used, 0, NULL);
	MUST(json_array_size(read) == 3);
	MUST(strcmp(json_string_value(json_array_get(read, 0)), a) == 0);
	MUST(json_integer_value(json_array_get(read, 1)) == 7);
	MUST(strcmp(json_string_value(json_array_get(read, 2)), b) == 0);
	MUST(text_characters(a) == 0 || a[0] != '\0');
	json_decref(read);
	text_clear(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t number = 0;
	char *a, *b;

	for (size_t i = 0; i < sizeof(number); i++)
		number = number << 8 | fuzz_byte(&data, &size);
	a = fuzz_take(&data, &size, '\0');
	b = fuzz_take(&data, &size, '\0');
	check_answer(a, b, number);
	check_object(a);
	check_batch(a, b);
	free(a);
	free(b);
	return 0;
}
