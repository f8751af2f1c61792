/* SPDX-License-Identifier: MIT */
#include "managetask/commands.h"

#include <stdlib.h>

#include "cli/dispose.h"

const char *
correct_message_result(enum lockq_disposed what)
{
	return what == LOCKQ_NOT_COMPLETED ? "not_undone" : disposition_result(what);
}

/* A loan that nobody has yet has no row to tell of. */
static void
print_urgent(const struct lockq_correction *what, const struct lockq_disposed_loan *loan)
{
	unsigned long long id = loan->loan_id;
	bool already = loan->what == LOCKQ_DISPOSED_ALREADY, row = loan->state[0] != '\0';
	char *stands = disposition_standing(loan);

	if (what->kind == LOCKQ_NOT_URGENT && already)
		cli_line("loan %llu: not urgent%s%s", id, row ? ": " : "", row ? stands : "");
	else if (what->kind == LOCKQ_NOT_URGENT)
		cli_line("loan %llu: comes in its turn", id);
	else
		cli_line("loan %llu: comes next%s, where the view of task %u shows it%s%s", id,
		    already ? " already" : "", what->task, row ? ": " : "", row ? stands : "");
	free(stands);
}

void
correct_message_done(const struct lockq_correction *what, const struct lockq_disposed_loan *loan)
{
	unsigned long long id = loan->loan_id, token = loan->token;
	bool already = loan->what == LOCKQ_DISPOSED_ALREADY;
	struct cli_time since = cli_local(loan->since), until = cli_local(loan->lease_expires_at);

	if (what->kind == LOCKQ_URGENT || what->kind == LOCKQ_NOT_URGENT)
		print_urgent(what, loan);
	else if (what->kind == LOCKQ_RELEASE && already)
		cli_line("loan %llu: already released at %s", id, since.text);
	else if (what->kind == LOCKQ_RELEASE)
		cli_line("loan %llu: released, %s has it no longer", id, loan->holder);
	else if (already)
		cli_line("loan %llu: already given to %s at %s, with token %llu", id, loan->holder,
		    since.text, token);
	else
		cli_line("loan %llu: %s has it %s, with token %llu%s%s", id, loan->holder,
		    what->kind == LOCKQ_UNDO ? "again" : "now", token,
		    until.text[0] != '\0' ? ", until " : "", until.text);
}

void
correct_message_refused(const struct lockq_correction *what,
    const struct lockq_disposed_loan *loan, uint64_t given)
{
	unsigned long long id = loan->loan_id, token = given;
	char *stands = disposition_standing(loan);
	struct cli_time until = cli_local(loan->excluded_until);

	switch (loan->what) {
	case LOCKQ_NOT_YOURS:
		if (what->kind == LOCKQ_UNDO)
			cli_message("loan %llu is %s: there is nothing to take back", id, stands);
		else if (what->kind == LOCKQ_URGENT)
			cli_message("loan %llu was not put first: %s", id, stands);
		else
			cli_message("loan %llu is not one of user \"%s\": %s", id, what->from,
			    stands);
		break;
	case LOCKQ_STALE_TOKEN:
		cli_message("loan %llu: token %llu is stale: %s, with token %llu", id, token,
		    stands, (unsigned long long)loan->token);
		break;
	case LOCKQ_LEASE_OVER:
		cli_message("loan %llu is nobody's: the lease of user \"%s\" ran out at %s", id,
		    loan->holder, cli_local(loan->lease_expires_at).text);
		break;
	case LOCKQ_NOT_COMPLETED:
	case LOCKQ_NOT_ALLOWED:
		cli_message("loan %llu was not %s: %s%s%s", id, what->kind == LOCKQ_UNDO ?
		    "given back" : what->kind == LOCKQ_URGENT ? "put first" : "reassigned",
		    loan->reason, until.text[0] != '\0' ? ", until " : "", until.text);
		break;
	case LOCKQ_NOT_ASSIGNED:
		if (loan->state[0] == '\0')
			cli_message("loan %llu was never assigned in task %u", id, what->task);
		else
			cli_message("loan %llu is not assigned in task %u: %s", id, what->task,
			    stands);
		break;
	case LOCKQ_DISPOSED:
	case LOCKQ_DISPOSED_ALREADY:
		break;
	}
	free(stands);
}
