/* SPDX-License-Identifier: MIT */
/* Turns the words of work_requested.outcome and work.state into enums, and back. */
#include "rules/outcome_state.h"

#include <string.h>

static const char *const outcomes[] = {
	[LOCKQ_PENDING] = "pending", [LOCKQ_SERVED] = "served", [LOCKQ_PARTIAL] = "partial",
	[LOCKQ_EMPTY] = "empty", [LOCKQ_STATUS_CANCELLED] = "cancelled",
	[LOCKQ_EXPIRED] = "expired", [LOCKQ_FAILED] = "failed", [LOCKQ_REFUSED] = "refused",
	[LOCKQ_STATUS_UNKNOWN] = "unknown"
};

static const char *const states[] = {
	[ASSIGNED] = "assigned", [COMPLETED] = "completed", [RETURNED] = "returned",
	[NEVER] = "never", [NO_STATE] = ""
};

/* Returns @n where @word is none of them. */
static size_t
find(const char *const words[], size_t n, const char *word)
{
	size_t i = word != NULL ? 0 : n;

	while (i < n && strcmp(word, words[i]) != 0)
		i++;
	return i;
}

const char *
lockq_status_name(enum lockq_status status)
{
	return outcomes[(size_t)status < LOCKQ_STATUS_UNKNOWN ? status : LOCKQ_STATUS_UNKNOWN];
}

enum lockq_status
outcome_read(const char *word)
{
	return (enum lockq_status)find(outcomes, LOCKQ_STATUS_UNKNOWN, word);
}

const char *
state_name(enum state state)
{
	return states[state];
}

enum state
state_read(const char *word)
{
	return (enum state)find(states, NO_STATE, word);
}
