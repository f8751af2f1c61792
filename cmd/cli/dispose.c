/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cli/dispose.h"
#include "cli/disposed.h"
#include "cli/program.h"

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

/* Prints a line for each loan. Returns the exit status. */
static int
show(const struct cli_common *common, const struct lockq_disposition *what, struct lockq *q,
    const struct lockq_disposed_result *result, int rc, const char *uuid)
{
	int status = cli_exit_status(rc, cli_caught()), one;
	size_t i;

	if (result->n_loans == 0 && rc == LOCKQ_EUNKNOWN)
		return cli_report(common, status, "%s: run the same command again%s%s",
		    cli_library_text(q, rc), uuid[0] != '\0' ? ", with --uuid " : "", uuid);
	if (result->n_loans == 0)
		return cli_report_library(common, q, rc);
	for (i = 0; i < result->n_loans; i++) {
		one = cli_exit_status_of_loan(result->loans[i].what);
		disposed_print(common->json, what, &result->loans[i], one);
		if (one != CLI_EXIT_DONE)
			cli_put_message(disposition_message_refused(what, &result->loans[i],
			    what->loans[i].token), "\n");
	}
	return status;
}

static void
print_details(uint32_t task, const struct lockq_disposed_result *result)
{
	const struct lockq_disposed_loan *loan;
	size_t i;

	for (i = 0; i < result->n_loans; i++) {
		loan = &result->loans[i];
		cli_message("%s %llu, task %u: %s, token %llu%s",
		    cli_loan(), (unsigned long long)loan->loan_id, task,
		    disposition_result(loan->what), (unsigned long long)loan->token,
		    loan->repeated ? ", as the first time" : "");
	}
}

/* The library gives a result only after its COMMIT. */
static bool
is_recorded(const struct lockq_disposed_result *result)
{
	size_t i;

	for (i = 0; i < result->n_loans; i++) {
		if (result->loans[i].what == LOCKQ_DISPOSED)
			return true;
	}
	return false;
}

int
disposition_loans_show(const struct cli_common *common, const struct disposition_loans *o,
    struct lockq *q, int rc, const char *uuid, const struct lockq_disposed_result *result,
    bool *recorded)
{
	int status;

	cli_noun_read(common, q, o->what.task);
	status = show(common, &o->what, q, result, rc, uuid);
	*recorded = is_recorded(result);
	if (common->verbose)
		print_details(o->what.task, result);
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
