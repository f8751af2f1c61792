/* SPDX-License-Identifier: MIT */
/* The loans that runwork has to work on, and their leases, which are renewed while a command
 * runs: that of its loan, and those of the loans that wait for their turn. */
#ifndef LOCKQ_CMD_RUNWORK_LEASE_H
#define LOCKQ_CMD_RUNWORK_LEASE_H

#include <stdbool.h>

#include "lockq.h"

struct runwork_lease_loan {
	char until[27]; /* when the lease ends, as far as it is known; "": there is none */
	bool gone;      /* it has been taken, or has been disposed of */
	bool taken;     /* somebody else has it */
};

struct runwork_lease {
	struct lockq *q;
	const char *user;
	uint32_t task;
	struct lockq_loan_ref *refs;      /* of all loans, in the order of the answer */
	struct runwork_lease_loan *loans; /* the same loans */
	size_t n;
	uint64_t renew_at;                /* cli_clock_ms(); 0: the first look failed; UINT64_MAX:
	                                   * nothing is to renew */
	bool away;                        /* the last renewal failed */
};

/* Takes the loans of @answer, and finds out how much of their leases is left. */
void runwork_lease_begin(struct runwork_lease *lease, struct lockq *q,
    const struct lockq_answer *answer);

void runwork_lease_clear(struct runwork_lease *lease);

/* Renews the leases of the loans from @first on, notes which of them are gone, and sets the time of
 * the next renewal. */
void runwork_lease_renew(struct runwork_lease *lease, size_t first);

#endif
