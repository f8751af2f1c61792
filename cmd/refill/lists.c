/* SPDX-License-Identifier: MIT */
#include "refill/tool.h"

#include <stdio.h>

#include "cli/json.h"

static void
text_none_due(uint32_t task)
{
	if (task != 0)
		cli_line("task %u: its list is not due", task);
	else
		cli_line("no list is due");
}

/* A reason goes to standard error; only where it is none to complain about, it stands here. */
static void
text_refilled(uint32_t task, const struct lockq_refilled *result, int rc, int status,
    const char *reason)
{
	unsigned long long loans = result->loans, requests = result->requests;

	if (rc == LOCKQ_OK && result->query_ms >= 0) {
		cli_line("task %u: a list of %llu loan%s, after %llu pending request%s %s query "
		    "%s", task, loans, cli_plural(loans), requests, cli_plural(requests), cli_dot(),
		    cli_ms((uint64_t)result->query_ms).text);
	} else if (rc == LOCKQ_NOTHING) {
		text_none_due(task);
	} else if (rc == LOCKQ_CANCELLED) {
		cli_line("task %u: interrupted, the old list stays", task);
	} else if (status == CLI_EXIT_DONE && reason != NULL) {
		cli_line("%s", reason);
	}
}

static void
json_refilled(uint32_t task, const struct lockq_refilled *result, int rc, int status,
    const char *reason)
{
	json_t *object = json_object();

	cli_json_set(object, "task", cli_json_number(task));
	cli_json_set(object, "result", cli_json_text(rc == LOCKQ_OK ? "filled" :
	    rc == LOCKQ_NOTHING ? "not_due" : rc == LOCKQ_BUSY ? "busy" :
	    rc == LOCKQ_EREFUSED ? "refused" : rc == LOCKQ_CANCELLED ? "interrupted" : "failed"));
	cli_json_set(object, "epoch", result->epoch != 0 ? cli_json_number(result->epoch) :
	    json_null());
	cli_json_set(object, "loans", cli_json_number(result->loans));
	cli_json_set(object, "requests", cli_json_number(result->requests));
	cli_json_set(object, "query_ms", result->query_ms >= 0 ?
	    cli_json_number((uint64_t)result->query_ms) : json_null());
	cli_json_set(object, "as_of", cli_json_time(result->as_of));
	cli_json_set(object, "reason", cli_json_text(reason));
	cli_json_set(object, "exit", json_integer(status));
	cli_json_print(object);
}

/* Fills the list of this task. Returns the exit status. */
static int
fill(const struct refill_options *o, struct lockq *q, uint32_t task)
{
	struct lockq_refilled result = LOCKQ_REFILLED_INIT;
	int rc = lockq_refill(q, task, o->due, &result);
	/* Where another process leads the task, it leaves a new list: nothing is left to do for one
	 * who fills what is due. Where a session only has it locked, the next run tries again. */
	bool in_order = rc == LOCKQ_OK || (o->due && (rc == LOCKQ_NOTHING || rc == LOCKQ_BUSY));
	int status = in_order ? CLI_EXIT_DONE : cli_exit_status(rc, cli_caught());
	const char *reason = rc == LOCKQ_BUSY ? lockq_error(q) :
	    rc < 0 ? cli_library_text(q, rc) : NULL;

	if (o->common.json)
		json_refilled(task, &result, rc, status, reason);
	else
		text_refilled(task, &result, rc, status, reason);
	/* The texts that tell of the task itself begin with its number. */
	if (status == CLI_EXIT_DONE || rc == LOCKQ_CANCELLED)
		;
	else if (rc == LOCKQ_BUSY || rc == LOCKQ_EREFUSED)
		cli_message("%s", reason);
	else
		cli_message("task %u: %s", task, reason);
	if (rc < 0)
		cli_report_detail(&o->common, q);
	return status;
}

/* Fills what is due and what nobody has tried so lately that it is too soon. */
static int
fill_due(const struct refill_options *o, struct lockq *q, size_t *tried)
{
	struct lockq_due due = LOCKQ_DUE_INIT;
	int status = CLI_EXIT_DONE, rc = lockq_due(q, &due), one;

	*tried = 0;
	if (rc < 0)
		return cli_report_library(&o->common, q, rc);
	for (size_t i = 0; i < due.n_tasks && cli_caught() == 0; i++) {
		bool ours;

		if (o->task != 0 && due.tasks[i] != o->task)
			continue;
		ours = lockq_refill_due(q, due.tasks[i]) != 0;
		if (!ours && lockq_error(q)[0] == '\0')
			continue;
		++*tried;
		one = ours ? fill(o, q, due.tasks[i]) :
		    cli_report_library(&o->common, q, LOCKQ_EDATABASE);
		status = one != CLI_EXIT_DONE ? one : status;
	}
	lockq_due_clear(&due);
	return cli_caught() != 0 ? cli_exit_status(LOCKQ_CANCELLED, cli_caught()) : status;
}

int
refill_lists(const struct refill_options *o, struct lockq *q)
{
	size_t tried;
	int status;

	if (!o->due)
		return fill(o, q, o->task);
	status = fill_due(o, q, &tried);
	if (tried == 0 && status == CLI_EXIT_DONE && !o->common.json)
		text_none_due(o->task);
	return status;
}

int
refill_watch(const struct refill_options *o, struct lockq *q)
{
	size_t tried;

	while (cli_caught() == 0) {
		(void)fill_due(o, q, &tried);
		if (fflush(stdout) != 0)
			return CLI_EXIT_DONE;
		cli_nap((uint64_t)o->every_ms);
	}
	return cli_exit_status(LOCKQ_CANCELLED, cli_caught());
}
