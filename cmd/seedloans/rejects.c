/* SPDX-License-Identifier: MIT */
#include "seedloans/rejects.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/text.h"

struct rejects {
	FILE *stream;
	char path[4096];
};

static void
append(struct rejects_text *text, const char *bytes, size_t n)
{
	if (text->size - text->used < n) {
		text->size = (text->size + n) * 2 + 256;
		text->data = cli_realloc(text->data, text->size);
	}
	memcpy(text->data + text->used, bytes, n);
	text->used += n;
}

void
rejects_text_clear(struct rejects_text *text)
{
	free(text->data);
	*text = (struct rejects_text){ NULL, 0, 0 };
}

static void
format_field(struct rejects_text *out, const char *field, size_t length)
{
	size_t i;

	if (length > 0 && field[0] != ' ' && field[length - 1] != ' ' &&
	    memchr(field, '"', length) == NULL && memchr(field, ',', length) == NULL &&
	    memchr(field, '\n', length) == NULL && memchr(field, '\r', length) == NULL) {
		append(out, field, length);
		return;
	}
	if (length == 0)
		return;
	append(out, "\"", 1);
	for (i = 0; i < length; i++) {
		if (field[i] == '"')
			append(out, "\"", 1);
		append(out, field + i, 1);
	}
	append(out, "\"", 1);
}

void
rejects_format(struct rejects_text *out, const struct csvfile_row *row)
{
	size_t i;

	for (i = 0; i < row->n_fields; i++) {
		if (i > 0)
			append(out, ",", 1);
		format_field(out, row->fields[i], row->lengths[i]);
	}
}

static bool
can_be_made(const char *path)
{
	char directory[4096];
	char *slash;

	if (access(path, F_OK) == 0)
		return access(path, W_OK) == 0;
	snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (slash == NULL)
		return access(".", W_OK) == 0;
	slash[1] = '\0';
	return access(directory, W_OK) == 0;
}

struct rejects *
rejects_new(const char *path, const char *csv)
{
	struct rejects *rejects = cli_alloc(sizeof(*rejects));
	const char *base = strrchr(csv, '/');
	int n;

	rejects->stream = NULL;
	if (path != NULL)
		n = snprintf(rejects->path, sizeof(rejects->path), "%s", path);
	else
		n = snprintf(rejects->path, sizeof(rejects->path), "%s.rejects.csv",
		    base != NULL ? base + 1 : csv);
	if (n >= (int)sizeof(rejects->path))
		errno = ENAMETOOLONG;
	else if (can_be_made(rejects->path))
		return rejects;
	free(rejects);
	return NULL;
}

const char *
rejects_path(const struct rejects *rejects)
{
	return rejects->path;
}

int
rejects_add(struct rejects *rejects, const struct rejects_text *header, uint64_t line,
    const char *reason, const char *row, size_t length)
{
	struct rejects_text quoted = { NULL, 0, 0 };

	if (rejects->stream == NULL) {
		rejects->stream = fopen(rejects->path, "we");
		if (rejects->stream == NULL)
			return -1;
		fputs("line,reason,", rejects->stream);
		fwrite(header->data, 1, header->used, rejects->stream);
		fputc('\n', rejects->stream);
	}
	fprintf(rejects->stream, "%" PRIu64 ",", line);
	/* It may need quotes, since it may repeat text of the file. */
	format_field(&quoted, reason, strlen(reason));
	fwrite(quoted.data, 1, quoted.used, rejects->stream);
	rejects_text_clear(&quoted);
	fputc(',', rejects->stream);
	fwrite(row, 1, length, rejects->stream);
	fputc('\n', rejects->stream);
	return ferror(rejects->stream) ? -1 : 0;
}

int
rejects_close(struct rejects *rejects)
{
	int rc = 0;

	if (rejects == NULL)
		return 0;
	if (rejects->stream != NULL) {
		rc = ferror(rejects->stream) ? -1 : 0;
		if (fclose(rejects->stream) != 0)
			rc = -1;
	}
	free(rejects);
	return rc;
}
