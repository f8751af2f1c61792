/* SPDX-License-Identifier: MIT */
/* The loans that getwork --exec has to work on, and their leases, which are renewed while a command
 * runs: that of its loan, and those of the loans that wait for their turn. */
#ifndef LOCKQ_CMD_GETWORK_LEASE_H
#define LOCKQ_CMD_GETWORK_LEASE_H

#include <stdbool.h>

#include "lockq.h"

struct getwork_lease_loan {
	char until[27]; /* when the lease ends, as far as it is known; "": there is none */
	bool gone;      /* it has been taken, or has been disposed of */
	bool taken;     /* somebody else has it */
};

struct getwork_lease {
	struct lockq *q;
	const char *user;
	uint32_t task;
	struct lockq_loan_ref *refs;      /* of all loans, in the order of the answer */
	struct getwork_lease_loan *loans; /* the same loans */
	size_t n;
	uint64_t renew_at;                /* cli_clock_ms(); UINT64_MAX: nothing is to renew */
	bool away;                        /* the last renewal failed */
};

/* Takes the loans of @answer, and finds out how much of their leases is left. */
void getwork_lease_begin(struct getwork_lease *lease, struct lockq *q,
    const struct lockq_answer *answer);

void getwork_lease_clear(struct getwork_lease *lease);

/* Renews the leases of the loans from @first on, notes which of them are gone, and sets the time of
 * the next renewal. */
void getwork_lease_renew(struct getwork_lease *lease, size_t first);

#endif
