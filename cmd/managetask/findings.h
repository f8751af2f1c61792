/* SPDX-License-Identifier: MIT */
/* What a check of a task has found, for people. */
#ifndef LOCKQ_CMD_MANAGETASK_FINDINGS_H
#define LOCKQ_CMD_MANAGETASK_FINDINGS_H

#include "lockq.h"

/* "fault", "warning" or "note". */
const char *manage_severity(enum lockq_severity severity);

void manage_findings(uint32_t task, const struct lockq_findings *findings, int status);

/* The rights that were missing; the first @granted of them are granted now. */
void manage_missing_rights(uint32_t task, const struct lockq_findings *findings, size_t granted);

#endif
