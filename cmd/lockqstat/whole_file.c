/* SPDX-License-Identifier: MIT */
#include "lockqstat/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lets @write fill @fd, with this @mode unless that is 0, and closes it. */
static int
fill(int fd, mode_t mode, whole_file_fn *write, const void *data)
{
	FILE *out = fdopen(fd, "w");
	int failure = 0;
	bool broken;

	if (out == NULL || (mode != 0 && fchmod(fd, mode) != 0))
		failure = errno;
	if (failure == 0)
		write(out, data);
	broken = out != NULL && ferror(out) != 0;
	if (out == NULL)
		close(fd);
	else if ((fclose(out) != 0 || broken) && failure == 0)
		failure = errno != 0 ? errno : EIO;
	return failure;
}

int
whole_file(const char *path, mode_t mode, whole_file_fn *write, const void *data)
{
	struct stat there;
	char *beside;
	int fd, failure;

	/* A rename would put a file in the place of /dev/null. */
	if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
		fd = open(path, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
		return fd < 0 ? errno : fill(fd, 0, write, data);
	}
	beside = cli_text("%s.XXXXXX", path);
	fd = mkstemp(beside);
	failure = fd < 0 ? errno : fill(fd, mode, write, data);
	if (failure == 0 && rename(beside, path) != 0)
		failure = errno;
	if (fd >= 0 && failure != 0)
		(void)unlink(beside);
	free(beside);
	return failure;
}
