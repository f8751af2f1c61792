/* SPDX-License-Identifier: MIT */
/* Fuzzes seedloans' --map: each field has the column that the mapping names, or else the one of its
 * own name, in any case; no column is made up, and a mapping that is refused says why in one
 * text that ends. */
#include "fuzz.h"

#include <strings.h>

#include "seedloans/map.h"

enum { COLUMNS = 12 };

/* The field=Column that @spec has for @name; NULL: none. */
static const char *
mapped(const char *spec, const char *name, size_t *length)
{
	size_t n = strlen(name);

	for (;;) {
		*length = strcspn(spec, ",");
		if (*length > n && strncasecmp(spec, name, n) == 0 && spec[n] == '=') {
			*length -= n + 1;
			return spec + n + 1;
		}
		if (spec[*length] == '\0')
			return NULL;
		spec += *length + 1;
	}
}

static void
check_map(const struct map *map, const char *spec, const struct csvfile_row *header)
{
	for (enum field field = FIELD_LOAN_ID; field < N_FIELDS; field++) {
		size_t column = map->columns[field], length = 0, same = 0;
		const char *name = field_name(field);
		const char *named = spec != NULL ? mapped(spec, name, &length) : NULL;

		if (column == NO_COLUMN) {
			MUST(!field_is_required(field) && named == NULL);
			continue;
		}
		MUST(column < header->n_fields);
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
