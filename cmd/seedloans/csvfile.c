/* SPDX-License-Identifier: MIT */
#include "seedloans/csvfile.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/text.h"

/* The lines of a row are kept: they are read again where a quote in them is never closed. */
struct csvfile {
	FILE *stream;
	struct stat opened;
	struct csv_parser parser;
	bool parser_ready;
	char delimiter;

	char *held;             /* lines that were read and not given out */
	size_t used, size;
	size_t row_at, next_at; /* in @held: the current row, the next line to parse */
	uint64_t line;          /* of @next_at */
	uint64_t bytes;
	bool too_long;          /* the line that was read last was cut */

	char *text;             /* the row's fields, each with its NUL */
	size_t text_used, text_size;
	size_t *starts, *lengths;
	const char **fields;
	size_t n_fields, fields_size;
	bool ended;
};

static void
make_room(char **buffer, size_t *size, size_t needed)
{
	if (needed <= *size)
		return;
	*size = needed * 2;
	*buffer = cli_realloc(*buffer, *size);
}

static void
add_field(struct csvfile *file, const char *bytes, size_t n)
{
	if (file->n_fields == file->fields_size) {
		size_t most = file->fields_size = file->fields_size * 2 + 32;

		file->starts = cli_realloc(file->starts, most * sizeof(*file->starts));
		file->lengths = cli_realloc(file->lengths, most * sizeof(*file->lengths));
		file->fields = cli_realloc(file->fields, most * sizeof(*file->fields));
	}
	make_room(&file->text, &file->text_size, file->text_used + n + 1);
	if (n > 0)
		memcpy(file->text + file->text_used, bytes, n);
	file->text[file->text_used + n] = '\0';
	file->starts[file->n_fields] = file->text_used;
	file->lengths[file->n_fields] = n;
	file->n_fields++;
	file->text_used += n + 1;
}

static void
on_field(void *bytes, size_t n, void *data)
{
	add_field(data, bytes, n);
}

static void
on_row(int terminator, void *data)
{
	struct csvfile *file = data;

	(void)terminator;
	file->ended = true;
}

static void
start_row(struct csvfile *file)
{
	if (!file->parser_ready)
		file->parser_ready = csv_init(&file->parser, CSV_APPEND_NULL) == 0;
	csv_set_delim(&file->parser, (unsigned char)file->delimiter);
	file->ended = false;
	file->n_fields = 0;
	file->text_used = 0;
}

/* Appends a line to @held; a last line without a line end gets one. False at the file's end. */
static bool
read_line(struct csvfile *file)
{
	size_t start = file->used;
	int c, next;

	file->too_long = false;
	for (;;) {
		c = getc_unlocked(file->stream);
		if (c == EOF && file->used == start)
			return false;
		if (c != EOF)
			file->bytes++;
		else
			c = '\n';
		if (file->used - start < CSV_ROW_BYTES || c == '\n') {
			make_room(&file->held, &file->size, file->used + 2);
			file->held[file->used++] = (char)c;
		} else {
			file->too_long = true;
		}
		if (c == '\n')
			return true;
		if (c != '\r')
			continue;
		next = getc_unlocked(file->stream);
		if (next != '\n') {
			if (next != EOF)
				ungetc(next, file->stream);
			return true;
		}
		file->bytes++;
		file->held[file->used++] = '\n';
		return true;
	}
}

/* Returns where the line at @at in @held ends, without its line end. @next is where the next line
 * begins. */
static size_t
line_end(const struct csvfile *file, size_t at, size_t *next)
{
	while (at < file->used && file->held[at] != '\n' && file->held[at] != '\r')
		at++;
	*next = at;
	if (*next < file->used && file->held[*next] == '\r')
		++*next;
	if (*next < file->used && file->held[*next] == '\n')
		++*next;
	return at;
}

/* Finds the line at next_at, and reads it where it is not held yet. False at the file's end. */
static bool
next_line(struct csvfile *file, size_t *length)
{
	size_t next;

	if (file->next_at == file->used && !read_line(file))
		return false;
	(void)line_end(file, file->next_at, &next);
	*length = next - file->next_at;
	return true;
}

static bool
is_blank(const char *line, size_t n)
{
	while (n > 0 && line[n - 1] != '\0' && strchr(" \t\r\n", line[n - 1]) != NULL)
		n--;
	return n == 0;
}

/* Gives out the row's first line as one field; the next row begins after that line. */
static void
give_up_row(struct csvfile *file, struct csvfile_row *row, const char *fault)
{
	size_t next, end = line_end(file, file->row_at, &next);

	/* A new parser, because the old one is inside the quote. */
	csv_free(&file->parser);
	file->parser_ready = false;
	start_row(file);
	add_field(file, file->held + file->row_at, end - file->row_at);
	row->fault = fault;
	file->next_at = next;
	file->line = row->line + 1;
}

static enum csvfile_rc
finish_row(struct csvfile *file, struct csvfile_row *row)
{
	for (size_t i = 0; i < file->n_fields; i++)
		file->fields[i] = file->text + file->starts[i];
	row->n_lines = file->line - row->line;
	row->n_fields = file->n_fields;
	row->fields = file->fields;
	row->lengths = file->lengths;
	return CSVFILE_ROW;
}

enum csvfile_rc
csvfile_next(struct csvfile *file, struct csvfile_row *row)
{
	size_t length;

	/* Drops the lines that were given out, so that memory does not grow with the file. */
	if (file->next_at == file->used || file->next_at > CSV_ROW_BYTES) {
		memmove(file->held, file->held + file->next_at, file->used - file->next_at);
		file->used -= file->next_at;
		file->next_at = 0;
	}
	start_row(file);
	file->row_at = file->next_at;
	*row = (struct csvfile_row){ .line = file->line };
	while (!file->ended && next_line(file, &length)) {
		const char *line = file->held + file->next_at;
		bool cut = file->too_long && file->next_at + length == file->used;

		file->next_at += length;
		file->line++;
		if (file->row_at + length == file->next_at && is_blank(line, length)) {
			file->row_at = file->next_at;
			row->line = file->line;
			continue;
		}
		if (cut) {
			give_up_row(file, row, file->row_at + length == file->next_at ?
			    "the line is longer than 65,536 bytes" : "a quote is never closed");
			return finish_row(file, row);
		}
		if (csv_parse(&file->parser, line, length, on_field, on_row, file) != length)
			cli_out_of_memory();
		if (!file->ended && file->next_at - file->row_at > CSV_ROW_BYTES) {
			give_up_row(file, row, "a quote is never closed");
			return finish_row(file, row);
		}
	}
	if (ferror(file->stream))
		return CSVFILE_EREAD;
	if (file->ended)
		return finish_row(file, row);
	if (file->row_at == file->next_at)
		return CSVFILE_END;
	give_up_row(file, row, "a quote is never closed");
	return finish_row(file, row);
}

enum csvfile_rc
csvfile_take_back(struct csvfile *file, struct csvfile_row *row, const char *fault)
{
	give_up_row(file, row, fault);
	return finish_row(file, row);
}

static bool
skip_mark(struct csvfile *file)
{
	static const unsigned char mark[] = { 0xef, 0xbb, 0xbf };
	size_t i;
	int c = EOF;

	for (i = 0; i < sizeof(mark); i++) {
		c = getc(file->stream);
		if (c != mark[i])
			break;
	}
	if (i == sizeof(mark)) {
		file->bytes = i;
		return true;
	}
	if (i > 0)
		return fseek(file->stream, 0, SEEK_SET) == 0;
	if (c != EOF)
		ungetc(c, file->stream);
	return true;
}

enum csvfile_rc
csvfile_open(struct csvfile **out, const char *path)
{
	struct csvfile *file = cli_alloc(sizeof(*file));

	*file = (struct csvfile){ .line = 1, .delimiter = ',' };
	*out = file;
	make_room(&file->held, &file->size, CSV_ROW_BYTES);
	file->stream = fopen(path, "re");
	if (file->stream == NULL || fstat(fileno(file->stream), &file->opened) != 0)
		return CSVFILE_EREAD;
	if (S_ISDIR(file->opened.st_mode)) {
		errno = EISDIR;
		return CSVFILE_EREAD;
	}
	return skip_mark(file) ? CSVFILE_ROW : CSVFILE_EREAD;
}

bool
csvfile_rewind(struct csvfile *file)
{
	struct stat now;

	if (!csvfile_is_regular(file) || fstat(fileno(file->stream), &now) != 0 ||
	    now.st_size != file->opened.st_size ||
	    now.st_mtim.tv_sec != file->opened.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != file->opened.st_mtim.tv_nsec ||
	    fseek(file->stream, 0, SEEK_SET) != 0)
		return false;
	file->used = file->row_at = file->next_at = 0;
	file->line = 1;
	file->bytes = 0;
	return skip_mark(file);
}

void
csvfile_set_delimiter(struct csvfile *file, char delimiter)
{
	file->delimiter = delimiter;
}

/* Of the text of a table in UTF-16 most characters are ASCII: one of their two bytes is 0. */
static bool
is_utf16(const char *bytes, size_t n)
{
	size_t zeros[2] = { 0, 0 };

	if (n >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
		return true;
	for (size_t i = 0; i < n; i++)
		zeros[i % 2] += bytes[i] == '\0';
	return (zeros[0] == 0) != (zeros[1] == 0) && zeros[0] + zeros[1] > n / 4;
}

const char *
csvfile_unreadable(struct csvfile *file)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *what;
	} kinds[] = {
		{ "PK\3\4", 4, "is a workbook (.xlsx, .ods) or a ZIP archive: save the sheet as "
		    "CSV in UTF-8" },
		{ "\xd0\xcf\x11\xe0", 4, "is a workbook (.xls): save the sheet as CSV in UTF-8" },
		{ "\x1f\x8b", 2, "is compressed: unpack it with gunzip" },
		{ "BZh", 3, "is compressed: unpack it with bunzip2" },
		{ "\xfd" "7zXZ", 5, "is compressed: unpack it with unxz" },
		{ "\x28\xb5\x2f\xfd", 4, "is compressed: unpack it with unzstd" },
		{ "%PDF", 4, "is a PDF document: save the table as CSV in UTF-8" }
	};
	size_t n, i;

	if (file->used == 0 && !read_line(file))
		return NULL;
	n = file->used;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (n > kinds[i].n && memcmp(file->held, kinds[i].bytes, kinds[i].n) == 0)
			return kinds[i].what;
	}
	return is_utf16(file->held, n) ? "is in UTF-16: save it in UTF-8" : NULL;
}

uint64_t
csvfile_bytes_read(const struct csvfile *file)
{
	return file->bytes;
}

bool
csvfile_is_regular(const struct csvfile *file)
{
	return S_ISREG(file->opened.st_mode);
}

uint64_t
csvfile_size(const struct csvfile *file)
{
	return csvfile_is_regular(file) ? (uint64_t)file->opened.st_size : 0;
}

bool
csvfile_is(const struct csvfile *file, const char *path)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == file->opened.st_dev &&
	    other.st_ino == file->opened.st_ino;
}

void
csvfile_close(struct csvfile *file)
{
	if (file == NULL)
		return;
	if (file->stream != NULL)
		fclose(file->stream);
	if (file->parser_ready)
		csv_free(&file->parser);
	free(file->held);
	free(file->text);
	free(file->starts);
	free(file->lengths);
	free(file->fields);
	free(file);
}
