/* SPDX-License-Identifier: MIT */
/* The file of rows that were not loaded: line, reason, and the row as it was. */
#ifndef SEED_REJECTS_H
#define SEED_REJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csvfile.h"

/* Text that grows. */
struct rejects_text {
	char *data;
	size_t used, size;
	bool failed; /* out of memory */
};
void rejects_text_clear(struct rejects_text *text);

/* Appends a row's fields as CSV without a line end, quoted where they must be. */
void rejects_format(struct rejects_text *out, const struct csvfile_row *row);

struct rejects;

/* Settles the name: @path, or that of @csv with ".rejects.csv" in the current directory. Makes no
 * file, but fails where none could be made: NULL, errno says why. */
struct rejects *rejects_new(const char *path, const char *csv);
const char *rejects_path(const struct rejects *rejects);
/* Writes a row; the first one makes the file and its header. -1: it can't be written, see errno. */
int rejects_add(struct rejects *rejects, const struct rejects_text *header, uint64_t line,
    const char *reason, const char *row, size_t length);
/* -1 where not all could be written. */
int rejects_close(struct rejects *rejects);

#endif
