/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit_status.h"
#include "cli/text.h"

void
cli_out_of_memory(void)
{
	fputs("lockq: out of memory\n", stderr);
	exit(CLI_EXIT_DATABASE);
}

void *
cli_alloc(size_t size)
{
	return cli_realloc(NULL, size);
}

void *
cli_realloc(void *old, size_t size)
{
	void *memory = realloc(old, size);

	if (memory == NULL)
		cli_out_of_memory();
	return memory;
}

char *
cli_text(const char *format, ...)
{
	va_list arguments;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out != NULL) {
		va_start(arguments, format);
		vfprintf(out, format, arguments);
		va_end(arguments);
		fclose(out);
	}
	if (text == NULL)
		cli_out_of_memory();
	return text;
}

const char *
cli_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

char *
cli_quoted(const char *name, const char *otherwise)
{
	return name != NULL ? cli_text("\"%s\"", name) : cli_text("%s", otherwise);
}

/* Between single quotes a shell takes everything as it is, but for the single quote itself. */
char *
cli_word(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789_-./@%+";
	static const char quote[] = "'\\''";
	char *word, *to;

	if (text[0] != '\0' && text[strspn(text, plain)] == '\0')
		return cli_text("%s", text);
	word = to = cli_alloc(strlen(text) * (sizeof(quote) - 1) + 3);
	*to++ = '\'';
	for (; *text != '\0'; text++) {
		size_t n = *text == '\'' ? sizeof(quote) - 1 : 1;

		memcpy(to, *text == '\'' ? quote : text, n);
		to += n;
	}
	memcpy(to, "'", 2);
	return word;
}

int
cli_fail(struct cli_error *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return -1;
}
