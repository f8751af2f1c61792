/* SPDX-License-Identifier: MIT */
/* For code that is preloaded into a program: finds the function that this code replaces. Includers
 * include this file first, since it needs more than POSIX. */
#ifndef LOCKQ_NEXT_H
#define LOCKQ_NEXT_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static void *
next(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (symbol == NULL)
		abort();
	return symbol;
}

#endif
