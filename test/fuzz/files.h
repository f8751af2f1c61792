/* SPDX-License-Identifier: MIT */
/* A folder of files for the fuzzers whose code reads files by their names. */
#ifndef LOCKQ_TEST_FUZZ_FILES_H
#define LOCKQ_TEST_FUZZ_FILES_H

#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static char fuzz_folder[64];

static void
fuzz_remove_folder(void)
{
	static const char *const names[] = { "a.cnf", "b.cnf", "c.cnf", "rows.csv" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fuzz_folder, names[i]);
		unlink(path);
	}
	rmdir(fuzz_folder);
}

/* Writes a file of this folder, and returns its path, which the next call replaces. The folder is
 * in memory where the machine has /dev/shm, since each input writes files. */
static inline const char *
fuzz_file(const char *name, const void *data, size_t size)
{
	static char path[128];
	FILE *file;

	if (fuzz_folder[0] == '\0') {
		snprintf(fuzz_folder, sizeof(fuzz_folder), "%s/lockq-fuzz.XXXXXX",
		    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		MUST(mkdtemp(fuzz_folder) != NULL);
		atexit(fuzz_remove_folder);
	}
	snprintf(path, sizeof(path), "%s/%s", fuzz_folder, name);
	file = fopen(path, "w");
	MUST(file != NULL);
	MUST(fchmod(fileno(file), 0600) == 0);
	MUST(fwrite(data, 1, size, file) == size);
	MUST(fclose(file) == 0);
	return path;
}

#endif
