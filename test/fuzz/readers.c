/* SPDX-License-Identifier: MIT */
/* Fuzzes the other readers of text: what my_print_defaults prints for a login path, times as the
 * server writes them, the loans that disposition reads from standard input, the server's text that
 * is cut for a message. */
#include "fuzz.h"

#include <unistd.h>

/* The reader of a login path is static in its file. */
#include "../../cmd/cli/connection.c" /* NOLINT(bugprone-suspicious-include) */

#include "cli/times.h"
#include "cli/loan_option.h"

/* The text after the last line that begins with @key; NULL: there is none. */
static char *
model_last(const char *text, const char *key)
{
	char *found = NULL;
	size_t n = strlen(key);

	while (*text != '\0') {
		size_t length = strcspn(text, "\n");

		if (length >= n && strncmp(text, key, n) == 0) {
			free(found);
			found = fuzz_string((const uint8_t *)text + n, length - n);
		}
		text += length + (text[length] == '\n');
	}
	return found;
}

static void
check_key(const char *text, const char *key, const char *value)
{
	char *model = model_last(text, key);

	MUST((value == NULL) == (model == NULL));
	MUST(value == NULL || strcmp(value, model) == 0);
	free(model);
}

static void
check_login_path(const char *text)
{
	struct found found = { LOCKQ_CONNECTION_INIT, 0 };
	char *copy = fuzz_string((const uint8_t *)text, strlen(text)), *line = copy;

	while (*line != '\0') {
		size_t length = strcspn(line, "\n");
		bool last = line[length] == '\0';

		line[length] = '\0';
		take(&found, line);
		line += length + !last;
	}
	check_key(text, "--host=", found.connection.host);
	check_key(text, "--socket=", found.connection.socket);
	check_key(text, "--user=", found.connection.user);
	check_key(text, "--password=", found.connection.password);
	MUST(found.connection.port <= 65535);
	free((void *)(uintptr_t)found.connection.host);
	free((void *)(uintptr_t)found.connection.socket);
	free((void *)(uintptr_t)found.connection.user);
	free((void *)(uintptr_t)found.connection.password);
	free(copy);
}

/* Whether the text begins as "2026-01-01 00:00:00" does: numbers of the right length. */
static bool
looks_like_time(const char *text)
{
	static const char shape[] = "0000-00-00 00:00:00";

	for (size_t i = 0; shape[i] != '\0'; i++) {
		if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	}
	return true;
}

static void
check_time(const char *text)
{
	struct cli_time iso, local;
	char copy[27];
	time_t seconds = 0;
	int rc;

	/* The library's times have this size. */
	snprintf(copy, sizeof(copy), "%s", text);
	rc = cli_time(&seconds, copy);
	iso = cli_time_iso(copy);
	local = cli_time_local(copy, true, 0);
	MUST(memchr(iso.text, '\0', sizeof(iso)) != NULL);
	MUST(memchr(local.text, '\0', sizeof(local)) != NULL);
	MUST(model_is_clean(iso.text) && model_is_clean(local.text));
	MUST(rc != 0 || looks_like_time(copy));
	if (rc != 0)
		MUST(local.text[0] == '\0');
	if (iso.text[0] != '\0') {
		MUST(strlen(iso.text) >= 11 && strncmp(iso.text, copy, 10) == 0);
		MUST(iso.text[10] == 'T' && iso.text[strlen(iso.text) - 1] == 'Z');
	}
}

/* The words between blanks and commas are loans, or the first that is none is named. */
static void
check_loans(const char *text)
{
	struct loan_option loans = { .option = "loan" };
	struct cli_error error = { "" };
	FILE *in;
	int rc;

	if (text[0] == '\0')
		return;
	in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	MUST(in != NULL);
	rc = loan_option_read(&loans, in, &error);
	fclose(in);
	MUST((rc == 0) == (error.text[0] == '\0'));
	MUST(rc != 0 || (loans.n > 0 && strspn(text, "0123456789:, \t\r\n") == strlen(text)));
	MUST(loans.n <= LOCKQ_DISPOSE_MAX && loans.n <= strlen(text));
	free(loans.list);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t choice = fuzz_byte(&data, &size);
	char *text = fuzz_string(data, size);

	switch (choice % 3) {
	case 0: check_login_path(text); break;
	case 1: check_time(text); break;
	default: check_loans(text); break;
	}
	free(text);
	return 0;
}
