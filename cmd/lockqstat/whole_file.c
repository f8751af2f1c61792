/* SPDX-License-Identifier: MIT */
#include "lockqstat/tool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

int
whole_file(const char *path, mode_t mode, whole_file_fn *write, const void *data)
{
	char *beside = cli_text("%s.XXXXXX", path);
	int fd = mkstemp(beside), failure = errno;
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool broken;

	if (fd < 0) {
		free(beside);
		return failure;
	}
	failure = 0;
	if (out == NULL || fchmod(fd, mode) != 0)
		failure = errno;
	if (failure == 0)
		write(out, data);
	broken = out != NULL && ferror(out) != 0;
	if (out == NULL)
		close(fd);
	else if ((fclose(out) != 0 || broken) && failure == 0)
		failure = errno != 0 ? errno : EIO;
	if (failure == 0 && rename(beside, path) != 0)
		failure = errno;
	if (failure != 0)
		(void)unlink(beside);
	free(beside);
	return failure;
}
