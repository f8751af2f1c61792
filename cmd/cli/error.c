/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/error.h"

int
cli_fail(struct cli_error *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return -1;
}
