/* SPDX-License-Identifier: MIT */
#include "seedloans/map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* Takes one field=Column of --map. */
static int
map_one(const struct mapping *m, const char *part, size_t length)
{
	const char *equals = memchr(part, '=', length);
	size_t name_length, column_length, column = 0, n;
	const char *column_name;
	enum field field;

	if (equals == NULL || equals == part || equals + 1 == part + length)
		return fail(m, "--map: \"%.*s\" is not of the form field=Column", (int)length,
		    part);
	name_length = (size_t)(equals - part);
	column_name = equals + 1;
	column_length = length - name_length - 1;
	field = field_by_name(part, name_length);
	if (field == N_FIELDS)
		return fail(m, "--map: no field is called \"%.*s\": the fields are loan_id, "
		    "applicant, amount, submitted_at, city, state", (int)name_length, part);
	if (m->map->columns[field] != NO_COLUMN)
		return fail(m, "--map: field \"%s\" is mapped twice", field_name(field));
	n = find(m->header, column_name, column_length, false, &column);
	if (n > 1)
		return fail(m, "--map: %zu columns are called \"%.*s\"", n, (int)column_length,
		    column_name);
	if (n == 0) {
		(void)fail(m, "--map: no column is called \"%.*s\": the columns are",
		    (int)column_length, column_name);
		return fail_listing(m);
	}
	m->map->columns[field] = column;
	return 0;
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
	size_t i, length;

	for (i = 0; i < N_FIELDS; i++)
		map->columns[i] = NO_COLUMN;
	while (spec != NULL) {
		length = strcspn(spec, ",");
		if (map_one(&m, spec, length) != 0)
			return -1;
		spec = spec[length] == ',' ? spec + length + 1 : NULL;
	}
	return map_rest(&m);
}
