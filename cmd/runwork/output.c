/* SPDX-License-Identifier: MIT */
#include "runwork/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dispose.h"
#include "cli/json.h"

char *
runwork_no_command_text(const char *name, int failure)
{
	return failure == ENOENT ? cli_text("command \"%s\" is not found", name) :
	    cli_text("command \"%s\" can't be run: %s", name, strerror(failure));
}

char *
runwork_note(const struct command_end *end)
{
	if (!end->begun)
		return cli_text("the command could not be started");
	if (end->signal != 0)
		return cli_text("the command was killed by signal %d", end->signal);
	return cli_text("exit %d of the command", end->exit);
}

/* "exit 0 after 1.2 s" */
static char *
end_text(const struct command_end *end)
{
	struct cli_time took = cli_ms(end->ms);

	if (!end->begun)
		return cli_text("not begun");
	if (end->signal != 0)
		return cli_text("killed by signal %d after %s", end->signal, took.text);
	return cli_text("exit %d after %s", end->exit, took.text);
}

/* "loan 12: completed (exit 0 after 1.2 s)" */
static char *
outcome_text(const struct lockq_disposition *what, size_t i,
    const struct lockq_disposed_loan *loan, const struct command_end *end, int status,
    const char *error)
{
	unsigned long long id = what->loans[i].loan_id;
	char *ended = end_text(end), *said = NULL, *text;

	if (loan == NULL && status == CLI_EXIT_UNKNOWN)
		said = cli_text("%s %llu: %s: see checkwork --loan %llu --task %u", cli_loan(), id,
		    error, id, what->task);
	else if (loan == NULL)
		said = cli_text("%s %llu stays assigned to you: %s", cli_loan(), id, error);
	else if (status == CLI_EXIT_DONE)
		said = disposition_message_done(loan, false);
	else
		said = disposition_message_refused(what, loan, what->loans[i].token);
	text = cli_text("%s (%s)", said, ended);
	free(said);
	free(ended);
	return text;
}

static void
json_executed(const struct lockq_disposition *what, size_t i,
    const struct lockq_disposed_loan *loan, const struct command_end *end, int status,
    const char *error)
{
	const struct lockq_disposed_loan not_known = { .loan_id = what->loans[i].loan_id };
	json_t *object = disposed_object(what, loan != NULL ? loan : &not_known, status);

	cli_json_set(object, "command_exit", end->begun && end->signal == 0 ?
	    json_integer(end->exit) : json_null());
	cli_json_set(object, "command_signal", end->signal != 0 ? json_integer(end->signal) :
	    json_null());
	cli_json_set(object, "command_ms", end->begun ? cli_json_number(end->ms) : json_null());
	if (loan == NULL) {
		cli_json_set(object, "result", json_string(status == CLI_EXIT_UNKNOWN ? "unknown" :
		    "failed"));
		cli_json_set(object, "error", cli_json_text(error));
	}
	cli_json_print(object);
}

void
runwork_print(bool json, const struct lockq_disposition *what, size_t i,
    const struct lockq_disposed_loan *loan, const struct command_end *end, int status,
    const char *error)
{
	char *text;

	if (json)
		json_executed(what, i, loan, end, status, error);
	if (status != CLI_EXIT_DONE || !json) {
		text = outcome_text(what, i, loan, end, status, error);
		if (status != CLI_EXIT_DONE)
			cli_put_message(text, "\n");
		else
			cli_put_line(text);
	}
	/* The next command may run for long, and people look at what is done. */
	(void)fflush(stdout);
}
