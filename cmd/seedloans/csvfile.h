/* SPDX-License-Identifier: MIT */
/* Reads a CSV file row by row in constant memory. libcsv splits the fields; this file adds on which
 * line a row begins, and goes on with the next line where a quote is never closed. */
#ifndef LOCKQ_CMD_SEEDLOANS_CSVFILE_H
#define LOCKQ_CMD_SEEDLOANS_CSVFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSV_ROW_BYTES = 65536 };

enum csvfile_rc {
	CSVFILE_ROW = 0,
	CSVFILE_END = 1,
	CSVFILE_EREAD = -1   /* errno says why */
};

struct csvfile;

/* A row, valid until the next one is read. */
struct csvfile_row {
	uint64_t line;          /* where it begins, from 1 */
	uint64_t n_lines;
	const char *fault;      /* why it can't be split: its one field is its line; or NULL */
	size_t n_fields;
	const char **fields;    /* each with a NUL after it */
	const size_t *lengths;  /* without that NUL */
};

/* Returns CSVFILE_ROW or an error, for a directory with EISDIR. Release with csvfile_close(). */
enum csvfile_rc csvfile_open(struct csvfile **out, const char *path);
enum csvfile_rc csvfile_next(struct csvfile *file, struct csvfile_row *row);
/* Takes back a row of several lines that was just read: it becomes its first line, with @fault, and
 * the other lines are read again as rows. */
enum csvfile_rc csvfile_take_back(struct csvfile *file, struct csvfile_row *row,
    const char *fault);
/* Goes back to the first row. False where the file can't be read twice, or has changed since. */
bool csvfile_rewind(struct csvfile *file);
/* What stands between the fields of the rows that are read from now on; a comma until then. */
void csvfile_set_delimiter(struct csvfile *file, char delimiter);
/* Returns what the file is by its first bytes, as in "is in UTF-16: save it in UTF-8", or NULL
 * where it may be a CSV file: static. Comes before the first row is read. */
const char *csvfile_unreadable(struct csvfile *file);
uint64_t csvfile_bytes_read(const struct csvfile *file);
bool csvfile_is_regular(const struct csvfile *file);
uint64_t csvfile_size(const struct csvfile *file); /* 0: not known */
/* Whether @path is this very file. */
bool csvfile_is(const struct csvfile *file, const char *path);
void csvfile_close(struct csvfile *file);

#endif
