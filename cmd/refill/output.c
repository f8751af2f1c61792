/* SPDX-License-Identifier: MIT */
#include "refill/tool.h"

#include "cli/json.h"

static const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

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
		    "%s", task, loans, plural(loans), requests, plural(requests), cli_dot(),
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
json_none_due(uint32_t task)
{
	(void)task;
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

const struct refill_output *
refill_output(bool json)
{
	static const struct refill_output as_text = { text_refilled, text_none_due };
	static const struct refill_output as_json = { json_refilled, json_none_due };

	return json ? &as_json : &as_text;
}
