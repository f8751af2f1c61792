/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cli/dispose.h"
#include "cli/program.h"

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

char *
disposition_message_done(const struct lockq_disposed_loan *loan, bool noted)
{
	unsigned long long id = loan->loan_id;
	struct cli_time from = cli_until(loan->available_at, NULL);
	struct cli_time until = cli_until(loan->lease_expires_at, NULL);
	const char *available = from.text[0] == '\0' ? "" : strcmp(loan->state, "returned") == 0 ?
	    ", available from " : ", not offered before ";

	if (strcmp(loan->state, "assigned") == 0 && loan->late)
		return cli_text("%s %llu: renewed late, yours again%s%s", cli_loan(), id,
		    until.text[0] != '\0' ? " until " : "", until.text);
	if (strcmp(loan->state, "assigned") == 0)
		return until.text[0] != '\0' ?
		    cli_text("%s %llu: renewed, yours until %s", cli_loan(), id, until.text) :
		    cli_text("%s %llu: yours without a time limit, %s", cli_loan(), id,
			loan->what == LOCKQ_DISPOSED ? "the note is recorded" :
			"there is nothing to renew");
	if (loan->excluded_until[0] != '\0')
		return cli_text("%s %llu: returned, available to others from %s, not to you before "
		    "%s", cli_loan(), id, from.text, cli_until(loan->excluded_until, NULL).text);
	if (loan->late)
		return cli_text("%s %llu: %s late, its lease ran out at %s%s%s", cli_loan(), id,
		    loan->state, until.text, available, from.text);
	if (loan->what == LOCKQ_DISPOSED)
		return cli_text("%s %llu: %s%s%s", cli_loan(), id, deed(loan), available,
		    from.text);
	return cli_text("%s %llu: already %s at %s%s%s%s", cli_loan(), id, deed(loan),
	    cli_local(loan->since).text, available, from.text,
	    noted ? ": the new note is not recorded" : "");
}

char *
disposition_standing(const struct lockq_disposed_loan *loan)
{
	char *holder = cli_quoted(loan->holder, "somebody"), *manager, *text;
	struct cli_time since = cli_local(loan->since);

	manager = loan->manager != NULL ? cli_quoted(loan->manager, "") : NULL;
	if (strcmp(loan->state, "assigned") == 0)
		text = cli_text("assigned to %s%s%s since %s", holder,
		    manager != NULL ? " by " : "", manager != NULL ? manager : "", since.text);
	else
		text = cli_text("%s by %s%s%s at %s", deed(loan), manager != NULL ? manager : "",
		    manager != NULL ? " for " : "", holder, since.text);
	free(manager);
	free(holder);
	return text;
}

static char *
stale_text(const char *user, const struct lockq_disposed_loan *loan, uint64_t given,
    const char *stands)
{
	unsigned long long id = loan->loan_id, token = loan->token, old = given;
	struct cli_time since = cli_local(loan->since);
	char *holder, *text;

	if (strcmp(loan->state, "assigned") != 0)
		return cli_text("%s %llu: token %llu is stale: the %s was %s, with token %llu",
		    cli_loan(), id, old, cli_loan(), stands, token);
	if (loan->holder != NULL && strcmp(loan->holder, user) == 0)
		return cli_text("%s %llu: token %llu is stale: the %s was assigned to you "
		    "again at %s, with token %llu: look at it again", cli_loan(), id, old,
		    cli_loan(), since.text, token);
	holder = cli_quoted(loan->holder, "somebody else");
	text = cli_text("%s %llu: token %llu is stale: the %s was assigned to %s at %s",
	    cli_loan(), id, old, cli_loan(), holder, since.text);
	free(holder);
	return text;
}

static char *
not_completed_text(const struct lockq_disposed_loan *loan)
{
	unsigned long long id = loan->loan_id;

	if (loan->repeated)
		return cli_text("%s %llu was not completed: %s", cli_loan(), id, loan->reason);
	if (loan->late)
		return cli_text("%s %llu was not completed, and its lease ran out at %s: %s",
		    cli_loan(), id, cli_until(loan->lease_expires_at, NULL).text, loan->reason);
	return cli_text("%s %llu was not completed and is still yours: %s", cli_loan(), id,
	    loan->reason);
}

char *
disposition_message_refused(const struct lockq_disposition *what,
    const struct lockq_disposed_loan *loan, uint64_t given)
{
	unsigned long long id = loan->loan_id;
	char *stands = disposition_standing(loan), *text = NULL;
	bool row = loan->state[0] != '\0';

	switch (loan->what) {
	case LOCKQ_NOT_YOURS:
		text = cli_text("%s %llu is not yours: %s", cli_loan(), id, stands);
		break;
	case LOCKQ_STALE_TOKEN:
		text = stale_text(what->user, loan, given, stands);
		break;
	case LOCKQ_LEASE_OVER:
		text = cli_text("%s %llu is no longer yours: its lease ran out at %s: ask again "
		    "with getwork", cli_loan(), id, cli_until(loan->lease_expires_at, NULL).text);
		break;
	case LOCKQ_NOT_COMPLETED:
	case LOCKQ_NOT_ALLOWED:
		text = not_completed_text(loan);
		break;
	case LOCKQ_NOT_ASSIGNED:
		text = cli_text("%s %llu is not assigned in task %u%s%s: see checkwork --loan %llu "
		    "--task %u", cli_loan(), id, what->task, row ? ": " : "", row ? stands : "",
		    id, what->task);
		break;
	case LOCKQ_DISPOSED:
	case LOCKQ_DISPOSED_ALREADY:
		text = disposition_message_done(loan, what->note != NULL);
		break;
	}
	free(stands);
	return text;
}

void
disposed_loan_set(json_t *object, const struct lockq_disposed_loan *loan)
{
	bool has_row = loan->state[0] != '\0';

	cli_json_set(object, "state", has_row ? cli_json_text(loan->state) : json_null());
	cli_json_set(object, "holder", cli_json_text(loan->holder));
	cli_json_set(object, "token", has_row ? cli_json_number(loan->token) : json_null());
	cli_json_set(object, "since", cli_json_time(loan->since));
	cli_json_set(object, "available_at", cli_json_time(loan->available_at));
	cli_json_set(object, "lease_expires_at", cli_json_time(loan->lease_expires_at));
	cli_json_set(object, "excluded_until", cli_json_time(loan->excluded_until));
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
	disposed_loan_set(object, loan);
	cli_json_set(object, "late", json_boolean(loan->late));
	cli_json_set(object, "repeated", json_boolean(loan->repeated));
	cli_json_set(object, "manager", cli_json_text(loan->manager));
	cli_json_set(object, "reason", cli_json_text(loan->reason));
	cli_json_set(object, "exit", json_integer(status));
	return object;
}

enum { NOT_ME_S = 30 * 24 * 3600 }; /* of --not-me: its reason rarely ends within a week */

bool
disposition_loans_wanted(const struct disposition_loans *o)
{
	return o->complete || o->never || o->renew || o->not_me ||
	    o->not_me_for_s != DISPOSITION_NOT_GIVEN ||
	    o->return_after_s != DISPOSITION_NOT_GIVEN || o->loans.n > 0 ||
	    o->loans.from_stdin || o->token != 0 || o->what.task != 0 || o->what.user != NULL ||
	    o->what.note != NULL || o->what.uuid != NULL;
}

static int
check_kind(struct disposition_loans *o, struct cli_error *error)
{
	bool returned = o->return_after_s != DISPOSITION_NOT_GIVEN;
	int given = o->complete + o->never + o->renew + returned;

	if (given != 1)
		return cli_fail(error, "%sone of --complete, --return-after, --never and --renew "
		    "%s", given == 0 ? "" : "only ", given == 0 ? "is missing" : "may be given");
	o->what.kind = o->complete ? LOCKQ_COMPLETE : o->never ? LOCKQ_NEVER :
	    o->renew ? LOCKQ_RENEW : LOCKQ_RETURN;
	o->what.return_after_s = returned ? o->return_after_s : 0;
	if ((o->not_me || o->not_me_for_s != DISPOSITION_NOT_GIVEN) && !returned)
		return cli_fail(error, "--not-me and --not-me-for need --return-after");
	if (o->not_me_for_s != DISPOSITION_NOT_GIVEN)
		o->what.not_me_s = o->not_me_for_s;
	else if (o->not_me)
		o->what.not_me_s = NOT_ME_S;
	return 0;
}

int
disposition_loans_check(struct disposition_loans *o, struct cli_error *error)
{
	if (cli_default_user(&o->what.user, error) != 0 ||
	    cli_default_task(&o->what.task, error) != 0)
		return -1;
	if (o->what.task == 0)
		return cli_fail_no_task(error);
	if (o->loans.n == 0 && !o->loans.from_stdin)
		return cli_fail(error, "--loan is missing");
	if (check_kind(o, error) != 0)
		return -1;
	if (o->loans.from_stdin && loan_option_read(&o->loans, stdin, error) != 0)
		return -1;
	if (o->token != 0 && (o->loans.n > 1 || o->loans.list[0].token != 0))
		return cli_fail(error, "--token is for one loan that is named without a token: "
		    "for several, write --loan 12:7,13:8");
	if (o->token != 0)
		o->loans.list[0].token = o->token;
	o->what.loans = o->loans.list;
	o->what.n_loans = o->loans.n;
	return 0;
}

int
disposition_loans_show(const struct cli_common *common, const struct disposition_loans *o,
    struct lockq *q, int rc, const char *uuid, const struct lockq_disposed_result *result,
    bool *recorded)
{
	const struct lockq_disposition *what = &o->what;
	int status = cli_exit_status(rc, cli_caught());

	*recorded = false;
	cli_noun_read(common, q, what->task);
	if (result->n_loans == 0 && rc == LOCKQ_EUNKNOWN)
		return cli_report(common, status, "%s: run the same command again%s%s",
		    cli_library_text(q, rc), uuid[0] != '\0' ? ", with --uuid " : "", uuid);
	if (result->n_loans == 0)
		return cli_report_library(common, q, rc);
	for (size_t i = 0; i < result->n_loans; i++) {
		const struct lockq_disposed_loan *loan = &result->loans[i];
		int one = cli_exit_status_of_loan(loan->what);

		/* The library gives a result only after its COMMIT. */
		*recorded = *recorded || loan->what == LOCKQ_DISPOSED;
		if (common->json)
			cli_json_print(disposed_object(what, loan, one));
		if (one != CLI_EXIT_DONE)
			cli_put_message(disposition_message_refused(what, loan,
			    what->loans[i].token), "\n");
		else if (!common->json)
			cli_put_line(disposition_message_done(loan, what->note != NULL));
	}
	for (size_t i = 0; common->verbose && i < result->n_loans; i++) {
		const struct lockq_disposed_loan *loan = &result->loans[i];

		cli_message("%s %llu, task %u: %s, token %llu%s", cli_loan(),
		    (unsigned long long)loan->loan_id, what->task, disposition_result(loan->what),
		    (unsigned long long)loan->token, loan->repeated ? ", as the first time" : "");
	}
	return status;
}

int
disposition_loans_run(struct cli_common *common, struct disposition_loans *o)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq *q = NULL;
	bool recorded;
	int status, rc = cli_open(&q, common);

	if (rc == LOCKQ_OK)
		rc = lockq_dispose(q, &o->what, &result);
	status = disposition_loans_show(common, o, q, rc, "", &result, &recorded);
	lockq_disposed_clear(&result);
	status = cli_finish(status, recorded ?
	    "the disposition is recorded nevertheless: see checkwork" : NULL);
	free(o->loans.list);
	lockq_free(q);
	return status;
}
