/* SPDX-License-Identifier: MIT */
/* Which column of a CSV file is which field. */
#ifndef LOCKQ_CMD_SEEDLOANS_MAP_H
#define LOCKQ_CMD_SEEDLOANS_MAP_H

#include "seedloans/csvfile.h"
#include "seedloans/field.h"

struct map {
	size_t columns[N_FIELDS]; /* NO_COLUMN: none */
};
#define NO_COLUMN SIZE_MAX

/* @spec is field=Column,… or NULL; a column may stand in double quotes, as in CSV. A field that it
 * leaves out takes the column of its own name.
 * Returns 0, or -1 with the reason in @error. */
int map_make(struct map *map, const char *spec, const struct csvfile_row *header, char *error,
    size_t size);

#endif
