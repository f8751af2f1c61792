/* SPDX-License-Identifier: MIT */
/* Preloaded into the programs by `make coverage`: they end by _exit(), which skips the handler that
 * writes down which lines were run. Other programs that a test starts end as they do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
_exit(int status)
{
	void (*real)(int);
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	if (strstr(path, "/build/coverage/bin/") != NULL)
		exit(status);
	*(void **)&real = dlsym(RTLD_NEXT, "_exit");
	real(status);
	abort();
}
