/* SPDX-License-Identifier: MIT */
/* A user's current assignments. */
#ifndef LOCKQ_CMD_PIPELINE_H
#define LOCKQ_CMD_PIPELINE_H

#include "lockq.h"

/* A table, or one for each task where tasks have details of their own; and what to do about it. */
void cli_pipeline(const char *user, const struct lockq_pipeline *pipeline);

#endif
