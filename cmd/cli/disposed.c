/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/disposed.h"
#include "cli/exit_status.h"
#include "cli/noun.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/times.h"

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

static char *
renewed_text(const struct lockq_disposed_loan *loan, time_t now)
{
	unsigned long long id = loan->loan_id;
	char until[CLI_TIME_SIZE];

	cli_time_local(until, loan->lease_expires_at, false, now);
	if (until[0] == '\0')
		return cli_text("%s %llu: yours without a time limit, %s", cli_loan(), id,
		    loan->what == LOCKQ_DISPOSED ? "the note is recorded" :
		    "there is nothing to renew");
	return cli_text("%s %llu: renewed, yours until %s", cli_loan(), id, until);
}

static char *
excluded_text(const struct lockq_disposed_loan *loan, const char *from, time_t now)
{
	char until[CLI_TIME_SIZE];

	cli_time_local(until, loan->excluded_until, false, now);
	return cli_text("%s %llu: returned, available to others from %s, not to you before %s",
	    cli_loan(), (unsigned long long)loan->loan_id, from, until);
}

static char *
late_text(const struct lockq_disposed_loan *loan, const char *from, time_t now)
{
	char lease[CLI_TIME_SIZE];

	cli_time_local(lease, loan->lease_expires_at, false, now);
	return cli_text("%s %llu: completed late, its lease ran out at %s%s%s",
	    cli_loan(), (unsigned long long)loan->loan_id, lease, from[0] == '\0' ? "" :
	    ", not offered before ", from);
}

char *
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
		return renewed_text(loan, now);
	if (loan->excluded_until[0] != '\0')
		return excluded_text(loan, from, now);
	if (loan->late)
		return late_text(loan, from, now);
	if (loan->what == LOCKQ_DISPOSED)
		return cli_text("%s %llu: %s%s%s", cli_loan(), id, deed(loan), available, from);
	return cli_text("%s %llu: already %s at %s%s%s%s", cli_loan(), id, deed(loan), since,
	    available, from, noted ? ": the new note is not recorded" : "");
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

static char *
not_assigned_text(const struct lockq_disposed_loan *loan, uint32_t task)
{
	unsigned long long id = loan->loan_id;
	char *stands = disposition_standing(loan), *text;

	if (loan->state[0] == '\0')
		text = cli_text("%s %llu is not assigned in task %u: see checkwork --loan %llu "
		    "--task %u", cli_loan(), id, task, id, task);
	else
		text = cli_text("%s %llu is not assigned in task %u: %s: see checkwork "
		    "--loan %llu --task %u", cli_loan(), id, task, stands, id, task);
	free(stands);
	return text;
}

static char *
stale_text(const char *user, const struct lockq_disposed_loan *loan,
    uint64_t given, const char *since)
{
	unsigned long long id = loan->loan_id, token = loan->token, old = given;
	char *holder = cli_quoted(loan->holder, "somebody else");
	char *stands = disposition_standing(loan), *text;

	if (strcmp(loan->state, "assigned") != 0)
		text = cli_text("%s %llu: token %llu is stale: the %s was %s, with token %llu",
		    cli_loan(), id, old, cli_loan(), stands, token);
	else if (loan->holder != NULL && strcmp(loan->holder, user) == 0)
		text = cli_text("%s %llu: token %llu is stale: the %s was assigned to you "
		    "again at %s, with token %llu: look at it again", cli_loan(), id, old,
		    cli_loan(), since, token);
	else
		text = cli_text("%s %llu: token %llu is stale: the %s was assigned to %s at %s",
		    cli_loan(), id, old, cli_loan(), holder, since);
	free(holder);
	free(stands);
	return text;
}

static char *
not_completed_text(const struct lockq_disposed_loan *loan, const char *lease)
{
	unsigned long long id = loan->loan_id;

	if (loan->repeated)
		return cli_text("%s %llu was not completed: %s", cli_loan(), id, loan->reason);
	if (loan->late)
		return cli_text("%s %llu was not completed, and its lease ran out at %s: %s",
		    cli_loan(), id, lease, loan->reason);
	return cli_text("%s %llu was not completed and is still yours: %s", cli_loan(), id,
	    loan->reason);
}

char *
disposition_message_refused(const struct lockq_disposition *what,
    const struct lockq_disposed_loan *loan, uint64_t given)
{
	unsigned long long id = loan->loan_id;
	char *stands = disposition_standing(loan), *text = NULL;
	char since[CLI_TIME_SIZE], lease[CLI_TIME_SIZE];
	time_t now = time(NULL);

	cli_time_local(since, loan->since, false, now);
	cli_time_local(lease, loan->lease_expires_at, false, now);
	switch (loan->what) {
	case LOCKQ_NOT_YOURS:
		text = cli_text("%s %llu is not yours: %s", cli_loan(), id, stands);
		break;
	case LOCKQ_STALE_TOKEN:
		text = stale_text(what->user, loan, given, since);
		break;
	case LOCKQ_LEASE_OVER:
		text = cli_text("%s %llu is no longer yours: its lease ran out at %s: ask again "
		    "with getwork", cli_loan(), id, lease);
		break;
	case LOCKQ_NOT_COMPLETED:
	case LOCKQ_NOT_ALLOWED:
		text = not_completed_text(loan, lease);
		break;
	case LOCKQ_NOT_ASSIGNED:
		text = not_assigned_text(loan, what->task);
		break;
	case LOCKQ_DISPOSED:
	case LOCKQ_DISPOSED_ALREADY:
		break;
	}
	free(stands);
	return text != NULL ? text : disposition_message_done(loan, what->note != NULL);
}

json_t *
disposed_object(const struct lockq_disposition *what, const struct lockq_disposed_loan *loan,
    int status)
{
	json_t *object = json_object();

	cli_json_set(object, "loan_id", cli_json_number(loan->loan_id));
	cli_json_set(object, "user", cli_json_text(what->user));
	cli_json_set(object, "task", cli_json_number(what->task));
	cli_json_set(object, "result", cli_json_text(disposition_result(loan->what)));
	cli_json_set(object, "state", loan->state[0] != '\0' ? cli_json_text(loan->state) :
	    json_null());
	cli_json_set(object, "holder", cli_json_text(loan->holder));
	cli_json_set(object, "token",
	    loan->state[0] != '\0' ? cli_json_number(loan->token) : json_null());
	cli_json_set(object, "since", cli_json_time(loan->since));
	cli_json_set(object, "available_at", cli_json_time(loan->available_at));
	cli_json_set(object, "lease_expires_at", cli_json_time(loan->lease_expires_at));
	cli_json_set(object, "excluded_until", cli_json_time(loan->excluded_until));
	cli_json_set(object, "late", json_boolean(loan->late));
	cli_json_set(object, "repeated", json_boolean(loan->repeated));
	cli_json_set(object, "manager", cli_json_text(loan->manager));
	cli_json_set(object, "reason", cli_json_text(loan->reason));
	cli_json_set(object, "exit", json_integer(status));
	return object;
}

void
disposed_print(bool json, const struct lockq_disposition *what,
    const struct lockq_disposed_loan *loan, int status)
{
	char *text;

	if (json) {
		cli_json_print(disposed_object(what, loan, status));
	} else if (status == CLI_EXIT_DONE) {
		text = disposition_message_done(loan, what->note != NULL);
		cli_line("%s", text);
		free(text);
	}
}
