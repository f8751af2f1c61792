/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "cli_text.h"
#include "exit_status.h"

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
cli_vtext(const char *format, va_list arguments)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out != NULL) {
		vfprintf(out, format, arguments);
		fclose(out);
	}
	if (text == NULL)
		cli_out_of_memory();
	return text;
}

char *
cli_text(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = cli_vtext(format, arguments);
	va_end(arguments);
	return text;
}
