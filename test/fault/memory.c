/* SPDX-License-Identifier: MIT */
/* The functions of the C library that allocate, as lockq's library calls them in this test. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

void *fault_malloc(size_t size);
void *fault_calloc(size_t n, size_t size);
void *fault_realloc(void *old, size_t size);
char *fault_strdup(const char *text);
FILE *fault_fopen(const char *path, const char *mode);
int fault_fclose(FILE *file);
int fault_scandir(const char *path, struct dirent ***entries,
    int (*wanted)(const struct dirent *), int (*order)(const struct dirent **,
    const struct dirent **));
void fault_free(void *memory);

static bool
fails(const char *name)
{
	if (!fault_allocation(name))
		return false;
	errno = ENOMEM;
	return true;
}

void *
fault_malloc(size_t size)
{
	void *memory = fails("malloc") ? NULL : malloc(size);

	fault_took(memory, "malloc");
	return memory;
}

void *
fault_calloc(size_t n, size_t size)
{
	void *memory = fails("calloc") ? NULL : calloc(n, size);

	fault_took(memory, "calloc");
	return memory;
}

void *
fault_realloc(void *old, size_t size)
{
	void *memory;

	if (fails("realloc"))
		return NULL;
	fault_gave(old);
	memory = realloc(old, size);
	fault_took(memory, "realloc");
	return memory;
}

char *
fault_strdup(const char *text)
{
	char *copy = fails("strdup") ? NULL : strdup(text);

	fault_took(copy, "strdup");
	return copy;
}

FILE *
fault_fopen(const char *path, const char *mode)
{
	FILE *file = fails("fopen") ? NULL : fopen(path, mode);

	fault_took(file, "fopen");
	return file;
}

int
fault_fclose(FILE *file)
{
	fault_gave(file);
	return fclose(file);
}

int
fault_scandir(const char *path, struct dirent ***entries,
    int (*wanted)(const struct dirent *), int (*order)(const struct dirent **,
    const struct dirent **))
{
	int n = fails("scandir") ? -1 : scandir(path, entries, wanted, order);

	for (int i = 0; i < n; i++)
		fault_took((*entries)[i], "scandir");
	if (n >= 0)
		fault_took(*entries, "scandir");
	return n;
}

void
fault_free(void *memory)
{
	fault_gave(memory);
	free(memory);
}
