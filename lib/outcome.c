/* SPDX-License-Identifier: MIT */
#include "outcome.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
	[LOCKQ_PENDING] = "pending", [LOCKQ_SERVED] = "served", [LOCKQ_PARTIAL] = "partial",
	[LOCKQ_EMPTY] = "empty", [LOCKQ_STATUS_CANCELLED] = "cancelled",
	[LOCKQ_EXPIRED] = "expired", [LOCKQ_FAILED] = "failed", [LOCKQ_REFUSED] = "refused",
	[LOCKQ_STATUS_UNKNOWN] = "unknown"
};

const char *
lockq_status_name(enum lockq_status status)
{
	return names[(size_t)status < LOCKQ_STATUS_UNKNOWN ? status : LOCKQ_STATUS_UNKNOWN];
}

enum lockq_status
outcome_read(const char *word)
{
	size_t i = 0;

	while (word != NULL && i < LOCKQ_STATUS_UNKNOWN && strcmp(word, names[i]) != 0)
		i++;
	return word != NULL ? (enum lockq_status)i : LOCKQ_STATUS_UNKNOWN;
}
