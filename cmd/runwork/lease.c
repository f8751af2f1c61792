/* SPDX-License-Identifier: MIT */
#include "runwork/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/program.h"

enum {
	AGAIN_MS = 5000,    /* to the next look, where a lease could not be renewed */
	HELD_MOST_MS = 5000 /* a command may end meanwhile */
};

/* The answer has the time at which a lease ends by the server's clock. How long that is from now is
 * asked for, since the clock of this machine may be wrong. The loans of an answer that is repeated
 * may have been completed since. */
static void
look(struct runwork_lease *lease)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	int rc = lockq_pipeline(lease->q, lease->user, lease->task, &pipeline);
	bool limited = false;
	uint64_t left_s = UINT64_MAX;

	lease->renew_at = rc == LOCKQ_OK || rc == LOCKQ_NOTHING ? UINT64_MAX : 0;
	for (size_t i = 0; lease->renew_at == UINT64_MAX && i < lease->n; i++)
		lease->loans[i].gone = true;
	for (size_t i = 0; i < pipeline.n_assignments; i++) {
		const struct lockq_assignment *a = &pipeline.assignments[i];
		size_t place = 0;

		while (place < lease->n && (lease->refs[place].loan_id != a->loan_id ||
		    lease->refs[place].token != a->token))
			place++;
		if (place == lease->n || a->lease_expired)
			continue;
		lease->loans[place].gone = false;
		if (a->lease_expires_at[0] == '\0')
			continue;
		limited = true;
		left_s = a->lease_left_s < left_s ? a->lease_left_s : left_s;
		snprintf(lease->loans[place].until, sizeof(lease->loans[place].until), "%s",
		    a->lease_expires_at);
	}
	if (limited)
		lease->renew_at = cli_clock_ms() + left_s * 1000 / 2;
	lockq_pipeline_clear(&pipeline);
}

void
runwork_lease_begin(struct runwork_lease *lease, struct lockq *q,
    const struct lockq_answer *answer)
{
	bool limited = false;

	*lease = (struct runwork_lease){ .q = q, .user = answer->user, .task = answer->task,
		.n = answer->n_loans, .renew_at = UINT64_MAX };
	lease->refs = cli_alloc(lease->n * sizeof(*lease->refs));
	lease->loans = cli_alloc(lease->n * sizeof(*lease->loans));
	for (size_t i = 0; i < lease->n; i++) {
		const struct lockq_loan *loan = &answer->loans[i];

		lease->refs[i] = (struct lockq_loan_ref){ loan->loan_id, loan->token };
		lease->loans[i].gone = lease->loans[i].taken = false;
		snprintf(lease->loans[i].until, sizeof(lease->loans[i].until), "%s",
		    loan->lease_expires_at);
		limited = limited || loan->lease_expires_at[0] != '\0';
	}
	if (limited || answer->repeated)
		look(lease);
}

void
runwork_lease_clear(struct runwork_lease *lease)
{
	free(lease->refs);
	free(lease->loans);
}

/* The next time after this renewal of a loan: when half of its lease is over. A lease that has run
 * out can't be renewed, but the loan may still be completed, unless somebody else gets it. */
static uint64_t
judge(struct runwork_lease_loan *loan, uint64_t token, const struct lockq_disposed_loan *now)
{
	time_t from, until;

	loan->gone = now->what > LOCKQ_DISPOSED_ALREADY && now->what != LOCKQ_LEASE_OVER;
	loan->taken = loan->gone && (now->what != LOCKQ_NOT_ASSIGNED || now->token != token ||
	    now->manager != NULL);
	if (now->what == LOCKQ_LEASE_OVER)
		return cli_clock_ms() + AGAIN_MS;
	if (now->what != LOCKQ_DISPOSED || cli_time(&from, now->since) != 0 ||
	    cli_time(&until, now->lease_expires_at) != 0 || until <= from)
		return UINT64_MAX;
	snprintf(loan->until, sizeof(loan->until), "%s", now->lease_expires_at);
	return cli_clock_ms() + (uint64_t)(until - from) * 1000 / 2;
}

void
runwork_lease_renew(struct runwork_lease *lease, size_t first)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	int rc;

	what.user = lease->user;
	what.task = lease->task;
	what.kind = LOCKQ_RENEW;
	what.loans = &lease->refs[first];
	what.n_loans = lease->n - first;
	what.timeout_ms = HELD_MOST_MS;
	rc = lockq_dispose(lease->q, &what, &result);
	lease->renew_at = result.n_loans > 0 ? UINT64_MAX : cli_clock_ms() + AGAIN_MS;
	if (result.n_loans == 0 && !lease->away)
		cli_message("leases could not be renewed: %s: trying again",
		    cli_library_text(lease->q, rc));
	lease->away = result.n_loans == 0;
	for (size_t i = 0; i < result.n_loans; i++) {
		uint64_t next = judge(&lease->loans[first + i], lease->refs[first + i].token,
		    &result.loans[i]);

		if (next < lease->renew_at)
			lease->renew_at = next;
	}
	lockq_disposed_clear(&result);
}
