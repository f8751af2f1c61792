/* SPDX-License-Identifier: MIT */
/* Fuzzes seedloans' --map: each field has the column that the mapping names, or else the one of its
 * own name, in any case; no column is made up, and a mapping that is refused says why in one
 * text that ends. */
#include "fuzz.h"

#include <strings.h>

#include "seedloans/map.h"

enum { COLUMNS = 12 };

/* The column with which @part begins: in quotes, of which two stand for one, or up to a comma.
 * @part goes on to what follows. */
static char *
next_column(const char **part)
{
	char *name = malloc(strlen(*part) + 1);
	const char *at = *part;
	size_t n = 0;

	MUST(name != NULL);
	if (*at == '"') {
		for (at++; *at != '"' || *++at == '"'; at++) {
			MUST(*at != '\0');
			name[n++] = *at;
		}
	} else {
		while (*at != ',' && *at != '\0')
			name[n++] = *at++;
	}
	name[n] = '\0';
	MUST(*at == ',' || *at == '\0');
	*part = *at == ',' ? at + 1 : NULL;
	return name;
}

/* The column that @spec, which was taken, has for @name; NULL: none. free() it. */
static char *
mapped(const char *spec, const char *name)
{
	size_t n = strlen(name);

	while (spec != NULL) {
		bool found = strncasecmp(spec, name, n) == 0 && spec[n] == '=';
		char *column;

		spec += strcspn(spec, "=");
		MUST(*spec == '=');
		spec++;
		column = next_column(&spec);
		if (found)
			return column;
		free(column);
	}
	return NULL;
}

static void
check_map(const struct map *map, const char *spec, const struct csvfile_row *header)
{
	for (enum field field = FIELD_LOAN_ID; field < N_FIELDS; field++) {
		size_t column = map->columns[field], length = 0, same = 0;
		const char *name = field_name(field);
		char *named = mapped(spec, name);

		if (column == NO_COLUMN) {
			MUST(!field_is_required(field) && named == NULL);
			continue;
		}
		MUST(column < header->n_fields);
		length = named != NULL ? strlen(named) : 0;
		if (named != NULL)
			MUST(header->lengths[column] == length &&
			    memcmp(header->fields[column], named, length) == 0);
		else
			MUST(strcasecmp(header->fields[column], name) == 0);
		/* It is the only column that may be meant. */
		for (size_t i = 0; i < header->n_fields; i++)
			same += named != NULL ? header->lengths[i] == length &&
			    memcmp(header->fields[i], named, length) == 0 :
			    strcasecmp(header->fields[i], name) == 0;
		MUST(same == 1);
		free(named);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room = 64 + fuzz_byte(&data, &size);
	char *spec = fuzz_take(&data, &size, '\n'), *error = malloc(room);
	char *names[COLUMNS];
	size_t lengths[COLUMNS];
	struct csvfile_row header = { .n_fields = 0, .fields = (const char **)names,
		.lengths = lengths };
	struct map map;
	int rc;

	MUST(error != NULL);
	memset(error, 'x', room);
	for (size_t i = 0; i < COLUMNS && size > 0; i++) {
		names[i] = fuzz_take(&data, &size, ',');
		lengths[i] = strlen(names[i]);
		header.n_fields++;
	}
	rc = map_make(&map, spec[0] == '\0' ? NULL : spec, &header, error, room);
	if (rc == 0)
		check_map(&map, spec[0] == '\0' ? NULL : spec, &header);
	else
		MUST(memchr(error, '\0', room) != NULL && error[0] != '\0');
	for (size_t i = 0; i < header.n_fields; i++)
		free(names[i]);
	free(spec);
	free(error);
	return 0;
}
