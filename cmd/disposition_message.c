/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "cli_terminal.h"
#include "cli_times.h"
#include "disposition_message.h"

const char *
disposition_result(enum lockq_disposed what)
{
	static const char *const names[] = {
		[LOCKQ_DISPOSED] = "done",
		[LOCKQ_DISPOSED_ALREADY] = "already",
		[LOCKQ_NOT_ASSIGNED] = "not_assigned",
		[LOCKQ_NOT_YOURS] = "not_yours",
		[LOCKQ_STALE_TOKEN] = "stale_token",
		[LOCKQ_LEASE_OVER] = "lease_over",
		[LOCKQ_NOT_COMPLETED] = "not_completed",
		[LOCKQ_NOT_ALLOWED] = "not_allowed",
	};

	return (size_t)what < sizeof(names) / sizeof(names[0]) ? names[what] : "unknown";
}

/* The verb in "already completed at 10:41". */
static const char *
deed(const struct lockq_disposed_loan *loan)
{
	return strcmp(loan->state, "never") == 0 ? "set to never" : loan->state;
}

static void
print_renewed(const struct lockq_disposed_loan *loan, time_t now)
{
	unsigned long long id = loan->loan_id;
	char until[CLI_TIME_SIZE];

	cli_time_local(until, loan->lease_expires_at, false, now);
	if (until[0] == '\0')
		cli_line("loan %llu: yours without a time limit, %s", id,
		    loan->what == LOCKQ_DISPOSED ? "the note is recorded" :
		    "there is nothing to renew");
	else
		cli_line("loan %llu: renewed, yours until %s", id, until);
}

static void
print_excluded(const struct lockq_disposed_loan *loan, const char *from, time_t now)
{
	char until[CLI_TIME_SIZE];

	cli_time_local(until, loan->excluded_until, false, now);
	cli_line("loan %llu: returned, available to others from %s, not to you before %s",
	    (unsigned long long)loan->loan_id, from, until);
}

static void
print_late(const struct lockq_disposed_loan *loan, const char *from, time_t now)
{
	char lease[CLI_TIME_SIZE];

	cli_time_local(lease, loan->lease_expires_at, false, now);
	cli_line("loan %llu: completed late, its lease ran out at %s%s%s",
	    (unsigned long long)loan->loan_id, lease, from[0] == '\0' ? "" :
	    ", not offered before ", from);
}

void
disposition_message_done(const struct lockq_disposed_loan *loan, bool noted)
{
	unsigned long long id = loan->loan_id;
	char since[CLI_TIME_SIZE], from[CLI_TIME_SIZE];
	time_t now = time(NULL);
	const char *available;

	cli_time_local(since, loan->since, false, now);
	cli_time_local(from, loan->available_at, false, now);
	available = from[0] == '\0' ? "" : strcmp(loan->state, "returned") == 0 ?
	    ", available from " : ", not offered before ";
	if (strcmp(loan->state, "assigned") == 0)
		print_renewed(loan, now);
	else if (loan->excluded_until[0] != '\0')
		print_excluded(loan, from, now);
	else if (loan->late)
		print_late(loan, from, now);
	else if (loan->what == LOCKQ_DISPOSED)
		cli_line("loan %llu: %s%s%s", id, deed(loan), available, from);
	else
		cli_line("loan %llu: already %s at %s%s%s%s", id, deed(loan), since, available,
		    from, noted ? ": the new note is not recorded" : "");
}

char *
disposition_standing(const struct lockq_disposed_loan *loan)
{
	bool assigned = strcmp(loan->state, "assigned") == 0;
	char *holder = cli_quoted(loan->holder, "somebody"), *manager, *text;
	char since[CLI_TIME_SIZE];

	manager = loan->manager != NULL ? cli_quoted(loan->manager, "") : NULL;
	cli_time_local(since, loan->since, false, time(NULL));
	if (assigned)
		text = cli_text("assigned to %s%s%s since %s", holder,
		    manager != NULL ? " by " : "", manager != NULL ? manager : "", since);
	else
		text = cli_text("%s by %s%s%s at %s", deed(loan), manager != NULL ? manager : "",
		    manager != NULL ? " for " : "", holder, since);
	free(manager);
	free(holder);
	return text;
}

static void
print_not_assigned(const struct lockq_disposed_loan *loan, uint32_t task)
{
	unsigned long long id = loan->loan_id;
	char *stands = disposition_standing(loan);

	if (loan->state[0] == '\0')
		cli_message("loan %llu is not assigned in task %u: see checkwork --loan %llu "
		    "--task %u", id, task, id, task);
	else
		cli_message("loan %llu is not assigned in task %u: %s: see checkwork --loan %llu "
		    "--task %u", id, task, stands, id, task);
	free(stands);
}

static void
print_stale(const char *user, const struct lockq_disposed_loan *loan,
    uint64_t given, const char *since)
{
	unsigned long long id = loan->loan_id, token = loan->token, old = given;
	char *holder = cli_quoted(loan->holder, "somebody else");
	char *stands = disposition_standing(loan);

	if (strcmp(loan->state, "assigned") != 0)
		cli_message("loan %llu: token %llu is stale: the loan was %s, with token %llu", id,
		    old, stands, token);
	else if (loan->holder != NULL && strcmp(loan->holder, user) == 0)
		cli_message("loan %llu: token %llu is stale: the loan was assigned to you again at "
		    "%s, with token %llu: look at it again", id, old, since, token);
	else
		cli_message("loan %llu: token %llu is stale: the loan was assigned to %s at %s", id,
		    old, holder, since);
	free(holder);
	free(stands);
}

void
disposition_message_refused(const struct lockq_disposition *what,
    const struct lockq_disposed_loan *loan, uint64_t given)
{
	unsigned long long id = loan->loan_id;
	char *stands = disposition_standing(loan);
	char since[CLI_TIME_SIZE], lease[CLI_TIME_SIZE];
	time_t now = time(NULL);

	cli_time_local(since, loan->since, false, now);
	cli_time_local(lease, loan->lease_expires_at, false, now);
	switch (loan->what) {
	case LOCKQ_NOT_YOURS:
		cli_message("loan %llu is not yours: %s", id, stands);
		break;
	case LOCKQ_STALE_TOKEN:
		print_stale(what->user, loan, given, since);
		break;
	case LOCKQ_LEASE_OVER:
		cli_message("loan %llu is no longer yours: its lease ran out at %s: ask again with "
		    "getwork", id, lease);
		break;
	case LOCKQ_NOT_COMPLETED:
	case LOCKQ_NOT_ALLOWED:
		if (loan->repeated)
			cli_message("loan %llu was not completed: %s", id, loan->reason);
		else if (loan->late)
			cli_message("loan %llu was not completed, and its lease ran out at %s: %s",
			    id, lease, loan->reason);
		else
			cli_message("loan %llu was not completed and is still yours: %s", id,
			    loan->reason);
		break;
	case LOCKQ_NOT_ASSIGNED:
		print_not_assigned(loan, what->task);
		break;
	case LOCKQ_DISPOSED:
	case LOCKQ_DISPOSED_ALREADY:
		break;
	}
	free(stands);
}
