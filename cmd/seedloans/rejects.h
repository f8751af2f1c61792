/* SPDX-License-Identifier: MIT */
/* The file of rows that were not loaded: line, reason, and the row itself. */
#ifndef LOCKQ_CMD_SEEDLOANS_REJECTS_H
#define LOCKQ_CMD_SEEDLOANS_REJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "seedloans/csvfile.h"

/* Text that grows. */
struct rejects_text {
	char *data;
	size_t used, size;
};
void rejects_text_clear(struct rejects_text *text);

/* Appends a row's fields as CSV without a line end, quoted where they must be. */
void rejects_format(struct rejects_text *out, const struct csvfile_row *row);

struct rejects;

/* Sets the file's name: @path or, in the current directory, @csv's name and ".rejects.csv". No file
 * is made yet. Returns NULL with errno where it could not be made. */
struct rejects *rejects_new(const char *path, const char *csv);
const char *rejects_path(const struct rejects *rejects);
/* Writes a row; the first one makes the file with its header. Returns 0, or -1 with errno. */
int rejects_add(struct rejects *rejects, const struct rejects_text *header, uint64_t line,
    const char *reason, const char *row, size_t length);
/* Returns -1 where not all rows could be written. */
int rejects_close(struct rejects *rejects);

#endif
