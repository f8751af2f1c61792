/* SPDX-License-Identifier: MIT */
/* Fuzzes the one place where a name goes into a statement's text: a name that is accepted is quoted
 * so that MySQL reads one identifier, or two with a point between them, and the statement around it
 * is the same for every name. */
#include "fuzz.h"

#include "list/search.h"

/* Reads `…` as MySQL does: a doubled backtick is a backtick. Returns the byte after it, or NULL. */
static const char *
read_quoted(const char *text, char *name)
{
	if (*text++ != '`')
		return NULL;
	for (;; text++) {
		if (*text == '\0')
			return NULL;
		if (*text == '`' && *++text != '`')
			break;
		*name++ = *text;
	}
	*name = '\0';
	return text;
}

/* What lockq-schema(5) allows in the names of views: letters, digits, underscores and dollars of
 * ASCII, up to 64 of them, and a schema of the same kind before a point. */
static bool
model_allows(const char *name)
{
	size_t parts = 1, length = 0;

	for (; *name != '\0'; name++) {
		bool word = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
		    (*name >= '0' && *name <= '9') || *name == '_' || *name == '$';

		if (word) {
			length++;
		} else if (*name == '.' && length > 0 && parts == 1) {
			parts++;
			length = 0;
		} else {
			return false;
		}
		if (length > 64)
			return false;
	}
	return length > 0;
}

/* The quoted form, read back, is the name. */
static void
check_quoted(const char *quoted, const char *name)
{
	char *read = malloc(2 * strlen(quoted) + 2);
	const char *rest;

	MUST(read != NULL);
	rest = read_quoted(quoted, read);
	MUST(rest != NULL);
	if (*rest == '.') {
		size_t n = strlen(read);

		read[n] = '.';
		rest = read_quoted(rest + 1, read + n + 1);
		MUST(rest != NULL);
	}
	MUST(*rest == '\0');
	MUST(strcmp(read, name) == 0);
	free(read);
}

/* The statement for @name is the one for "v", with the other name in its place. */
static void
check_statement(const char *statement, const char *other, const char *quoted)
{
	const char *at = strstr(other, "`v`");
	size_t before = (size_t)(at - other), length = strlen(quoted);

	MUST(at != NULL && strstr(at + 1, "`v`") == NULL);
	MUST(strlen(statement) == strlen(other) - 3 + length);
	MUST(memcmp(statement, other, before) == 0);
	MUST(memcmp(statement + before, quoted, length) == 0);
	MUST(strcmp(statement + before + length, at + 3) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room = fuzz_byte(&data, &size);
	char *name = fuzz_string(data, size), *small = malloc(room + 1);
	char quoted[1024], sql[VIEW_SQL_BYTES], other[VIEW_SQL_BYTES];
	enum db_rc rc = db_quote_identifier(quoted, sizeof(quoted), name);

	MUST(small != NULL);
	MUST((rc == DB_OK) == model_allows(name));
	if (rc == DB_OK)
		check_quoted(quoted, name);
	/* Room for the quoted form and its NUL, or none of it is used. */
	rc = db_quote_identifier(small, room, name);
	MUST((rc == DB_OK) == (model_allows(name) && strlen(quoted) < room));
	for (int repeats = 0; repeats < 2; repeats++) {
		rc = view_audit_statement(sql, name, repeats);
		MUST((rc == DB_OK) == model_allows(name));
		MUST(view_audit_statement(other, "v", repeats) == DB_OK);
		if (rc == DB_OK)
			check_statement(sql, other, quoted);
	}
	rc = view_statement(sql, name);
	MUST((rc == DB_OK) == model_allows(name));
	MUST(view_statement(other, "v") == DB_OK);
	if (rc == DB_OK)
		check_statement(sql, other, quoted);
	free(name);
	free(small);
	return 0;
}
