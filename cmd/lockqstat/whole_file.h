/* SPDX-License-Identifier: MIT */
/* A file that takes its place when it is whole, so that nobody reads half of it. */
#ifndef LOCKQ_CMD_LOCKQSTAT_WHOLE_FILE_H
#define LOCKQ_CMD_LOCKQSTAT_WHOLE_FILE_H

#include <stdio.h>
#include <sys/stat.h>

#include "lockq.h"

typedef void whole_file_fn(FILE *out, const void *data);

/* Lets @write fill a file beside @path, gives it @mode, and renames it. Returns 0, or an errno, and
 * then @path is as it was. */
LOCKQ_MUST_CHECK int whole_file(const char *path, mode_t mode, whole_file_fn *write,
    const void *data);

#endif
