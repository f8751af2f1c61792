/* SPDX-License-Identifier: MIT */
/* What disposition prints, as text for people or as JSON. */
#ifndef LOCKQ_CMD_DISPOSITION_OUTPUT_H
#define LOCKQ_CMD_DISPOSITION_OUTPUT_H

#include <stdbool.h>

#include "lockq.h"

/* The work of --expire, which ended with @rc; @error is the library's, or NULL. */
void disposition_print_expired(bool json, const struct lockq_expired *done, int rc, int status,
    const char *error);

#endif
