/* SPDX-License-Identifier: MIT */
/* What refill prints, as text for people or as JSON: a table of functions each. */
#ifndef LOCKQ_CMD_REFILL_OUTPUT_H
#define LOCKQ_CMD_REFILL_OUTPUT_H

#include <stdbool.h>

#include "lockq.h"

struct refill_output {
	/* What came of filling the list of @task, which ended with @rc; @reason is why it was not
	 * filled, or NULL. */
	void (*refilled)(uint32_t task, const struct lockq_refilled *result, int rc, int status,
	    const char *reason);

	/* No list is due; @task is 0 for every task. */
	void (*none_due)(uint32_t task);
};

const struct refill_output *refill_output(bool json);

#endif
