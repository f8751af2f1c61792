/* SPDX-License-Identifier: MIT */
#include "seedloans/map.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/text.h"

struct mapping {
	struct map *map;
	const struct csvfile_row *header;
	char *error;
	size_t size;
};

__attribute__((format(printf, 2, 3)))
static int
fail(const struct mapping *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(m->error, m->size, format, args);
	va_end(args);
	return -1;
}

/* Appends the names of the columns to the reason. */
static int
fail_listing(const struct mapping *m)
{
	size_t used = strlen(m->error), i;

	for (i = 0; i < m->header->n_fields && used < m->size; i++) {
		int n = snprintf(m->error + used, m->size - used, "%s\"%s\"", i == 0 ? " " : ", ",
		    m->header->fields[i]);

		used += n > 0 ? (size_t)n : 0;
	}
	return -1;
}

/* Returns how many columns have that name; *@column is the first. */
static size_t
find(const struct csvfile_row *header, const char *name, size_t length, bool any_case,
    size_t *column)
{
	size_t i, n = 0;

	for (i = 0; i < header->n_fields; i++) {
		const char *field = header->fields[i];

		if (header->lengths[i] != length || (any_case ?
		    strncasecmp(field, name, length) : strncmp(field, name, length)) != 0)
			continue;
		if (n++ == 0)
			*column = i;
	}
	return n;
}

/* Returns how long the field=Column is with which @spec begins. A column's name may stand in
 * quotes, with any commas. */
static size_t
part_length(const char *spec)
{
	size_t length = strcspn(spec, ",=");
	bool quoted = false;

	if (spec[length] != '=' || spec[length + 1] != '"')
		return strcspn(spec, ",");
	for (length++; spec[length] != '\0' && (quoted || spec[length] != ','); length++)
		quoted ^= spec[length] == '"';
	return length;
}

/* Copies a column's name without the quotes around it, if it has them. Returns NULL where they are
 * not closed, or something follows them; free() it. */
static char *
unquoted(const char *name, size_t length)
{
	char *copy = cli_text("%.*s", (int)length, name);
	size_t used = 0, i = 1;

	if (name[0] != '"')
		return copy;
	for (; i + 1 < length && (name[i] != '"' || name[++i] == '"'); i++)
		copy[used++] = name[i];
	copy[used] = '\0';
	if (length >= 2 && i + 1 == length && name[i] == '"')
		return copy;
	free(copy);
	return NULL;
}

/* Finds the column that --map names. */
static int
find_mapped(const struct mapping *m, const char *name, size_t *column)
{
	size_t n = find(m->header, name, strlen(name), false, column);

	if (n > 1)
		return fail(m, "--map: %zu columns are called \"%s\"", n, name);
	if (n == 0) {
		(void)fail(m, "--map: no column is called \"%s\": the columns are", name);
		return fail_listing(m);
	}
	return 0;
}

/* Takes one field=Column of --map. */
static int
map_one(const struct mapping *m, const char *part, size_t length, bool first)
{
	const char *equals = memchr(part, '=', length);
	char *name = NULL;
	enum field field;
	int rc;

	if (equals != NULL && equals > part && equals + 1 < part + length)
		name = unquoted(equals + 1, length - (size_t)(equals + 1 - part));
	if (name == NULL)
		return fail(m, "--map: \"%.*s\" is not of the form field=Column%s", (int)length,
		    part, equals == NULL && length > 0 && !first ? ": put a name that has a comma "
		    "in double quotes: field=\"Column, one\"" : "");
	field = field_by_name(part, (size_t)(equals - part));
	if (field == N_FIELDS)
		rc = fail(m, "--map: no field is called \"%.*s\": the fields are loan_id, "
		    "applicant, amount, submitted_at, city, state", (int)(equals - part), part);
	else if (m->map->columns[field] != NO_COLUMN)
		rc = fail(m, "--map: field \"%s\" is mapped twice", field_name(field));
	else
		rc = find_mapped(m, name, &m->map->columns[field]);
	free(name);
	return rc;
}

static int
map_rest(const struct mapping *m)
{
	enum field field;

	for (field = FIELD_LOAN_ID; field < N_FIELDS; field++) {
		const char *name = field_name(field);
		size_t *column = &m->map->columns[field];
		size_t n;

		if (*column != NO_COLUMN)
			continue;
		n = find(m->header, name, strlen(name), true, column);
		if (n > 1)
			return fail(m, "%zu columns are called \"%s\", in upper or lower case: "
			    "name one of them with --map %s=COLUMN", n, name, name);
		if (n == 0 && field_is_required(field)) {
			(void)fail(m, "no column is called \"%s\": name one with --map %s=COLUMN, "
			    "the columns are", name, name);
			return fail_listing(m);
		}
	}
	return 0;
}

int
map_make(struct map *map, const char *spec, const struct csvfile_row *header, char *error,
    size_t size)
{
	struct mapping m = { map, header, error, size };
	const char *part = spec;
	size_t i, length;

	for (i = 0; i < N_FIELDS; i++)
		map->columns[i] = NO_COLUMN;
	while (part != NULL) {
		length = part_length(part);
		if (map_one(&m, part, length, part == spec) != 0)
			return -1;
		part = part[length] == ',' ? part + length + 1 : NULL;
	}
	return map_rest(&m);
}
