/* SPDX-License-Identifier: MIT */
/* Fuzzes option files: three files that may include one another, with any lines. The reader ends
 * within its bounds, says what is wrong in one line with the file and the line's number, gives
 * options of the groups that were asked for only, and takes a value that was written in quotes as
 * it was. */
#include "files.h"

#include "handle/option_file.h"
#include "handle/where.h"

static const char *const groups[] = { "client", "lockq", NULL };

/* What take() has seen. */
struct seen {
	size_t n;
	char *value;   /* of the last "password" */
	uint8_t fails; /* at this option; 0: never */
};

static enum db_rc
take(const struct option *option, void *data, char error[512])
{
	struct seen *seen = data;

	MUST(option->group == groups[0] || option->group == groups[1]);
	MUST(option->key != NULL && strchr(option->key, '_') == NULL);
	MUST(option->key[0] == '\0' || strchr(" \t\r\n\f\v", option->key[0]) == NULL);
	if (strcmp(option->key, "password") == 0) {
		free(seen->value);
		seen->value = option->value != NULL ? strdup(option->value) : NULL;
	}
	if (++seen->n != seen->fails)
		return DB_OK;
	snprintf(error, 512, "refused");
	return DB_EFAIL;
}

/* How often the files name "!include": without it nothing is read twice. */
static bool
includes(const char *text)
{
	return strstr(text, "!") != NULL;
}

static void
check_files(const char *path, const char *a, uint8_t fails, const char *suffix)
{
	struct seen seen = { .fails = fails };
	struct option_files files = { .file = path, .suffix = suffix, .groups = groups,
		.take = take, .data = &seen };
	enum db_rc rc = option_files_read(&files);
	size_t lines = 1;

	MUST(rc == DB_OK || rc == DB_EFAIL);
	MUST((rc == DB_OK) == (files.error[0] == '\0'));
	MUST(memchr(files.error, '\0', sizeof(files.error)) != NULL);
	MUST(memchr(files.warning, '\0', sizeof(files.warning)) != NULL);
	MUST(memchr(files.read, '\0', sizeof(files.read)) != NULL);
	MUST(strstr(files.read, path) != NULL);
	if (rc != DB_OK)
		MUST(strstr(files.error, fuzz_folder) != NULL || strlen(files.error) > 500);
	for (const char *c = a; *c != '\0'; c++)
		lines += *c == '\n';
	MUST(includes(a) || seen.n <= lines);
	MUST(fails == 0 || seen.n <= fails);
	free(seen.value);
}

/* What the library takes from the same file. */
static void
check_where(const char *path)
{
	static struct where where, query;
	struct lockq_connection given = LOCKQ_CONNECTION_INIT;
	struct where_report report;
	enum db_rc rc;

	given.defaults_file = path;
	rc = where_read(&where, &query, &given, &report);
	MUST(rc == DB_OK || rc == DB_EFAIL);
	MUST((rc == DB_OK) == (report.error[0] == '\0'));
	MUST(strpbrk(report.error, "\n\r") == NULL);
	MUST(where.port <= 65535 && query.port <= 65535);
	where_clear(&where);
	where_clear(&query);
}

/* Writes @text as a value with quotes and escapes, and reads it. */
static void
check_value(const char *text)
{
	static const char escaped[] = "\n\t\r\b\"\\", letters[] = "ntrb\"\\";
	struct seen seen = { .n = 0 };
	struct option_files files = { .groups = groups, .take = take, .data = &seen };
	char *written = NULL;
	size_t size;
	FILE *out = open_memstream(&written, &size);

	MUST(out != NULL);
	fputs("[client]\npassword = \"", out);
	for (const char *c = text; *c != '\0'; c++) {
		const char *escape = strchr(escaped, *c);

		if (escape != NULL)
			fprintf(out, "\\%c", letters[escape - escaped]);
		else
			fputc(*c, out);
	}
	fputs("\" # a comment\n", out);
	MUST(fclose(out) == 0);
	files.file = fuzz_file("c.cnf", written, size);
	MUST(option_files_read(&files) == DB_OK);
	MUST(seen.n == 1 && seen.value != NULL && strcmp(seen.value, text) == 0);
	free(written);
	free(seen.value);
}

/* Each "@" stands for the folder. No other path has a slash, so that no file of the machine is
 * read, and no device that never ends. */
static char *
with_folder(const char *text)
{
	char *whole = NULL;
	size_t size;
	FILE *out = open_memstream(&whole, &size);

	MUST(out != NULL);
	for (; *text != '\0'; text++) {
		if (*text == '@')
			fprintf(out, "%s/", fuzz_folder);
		else
			fputc(*text == '/' ? '.' : *text, out);
	}
	MUST(fclose(out) == 0);
	return whole;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t fails = fuzz_byte(&data, &size);
	char *a, *b, *whole_a, *whole_b, path[128];

	snprintf(path, sizeof(path), "%s", fuzz_file("a.cnf", "", 0));
	a = fuzz_take(&data, &size, '\0');
	b = fuzz_take(&data, &size, '\0');
	whole_a = with_folder(a);
	whole_b = with_folder(b);
	fuzz_file("b.cnf", whole_b, strlen(whole_b));
	fuzz_file("a.cnf", whole_a, strlen(whole_a));
	check_files(path, whole_a, fails, fails % 2 == 0 ? "_test" : NULL);
	check_where(path);
	check_value(b);
	free(a);
	free(b);
	free(whole_a);
	free(whole_b);
	return 0;
}
