/* SPDX-License-Identifier: MIT */
/* For what is preloaded into a program: the function that stands behind one of its own. Before any
 * other include: it needs more than POSIX. */
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
