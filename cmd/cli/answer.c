/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/pipeline.h"
#include "cli/program.h"

enum { DETAILS_MS = 2000 }; /* nobody should wait for more than the loans for long */

bool
cli_answer_is_from_list(const struct lockq_answer *answer)
{
	return answer->how != NULL && strcmp(answer->how, "list") == 0;
}

/* Whose query or list it was: "your", "tracy's", "a refill's", or @nobody where that is not
 * known. */
static char *
whose(const struct lockq_answer *answer, const char *nobody)
{
	if (answer->leader == NULL)
		return cli_text("%s", nobody);
	if (answer->user != NULL && strcmp(answer->leader, answer->user) == 0)
		return cli_text("your");
	if (strcmp(answer->leader, "(refill)") == 0)
		return cli_text("a refill's");
	return cli_text("%s's", answer->leader);
}

/* How old the list was, by the server's clock alone. Where nobody has checked it, that clock has
 * told no later time, so the time of the list stands for its age. */
static char *
how_taken(const struct lockq_answer *answer, bool waited)
{
	time_t as_of, checked;
	char *maker = whose(answer, "a kept"), *list, *text;

	list = cli_text("served%s%s from %s list", waited ? " in " : "",
	    waited ? cli_ms(answer->waited_ms).text : "", maker);
	free(maker);
	if (cli_time(&as_of, answer->as_of) != 0)
		text = cli_text("%s%s", list, answer->checked == NULL ? ", unchecked" : "");
	else if (cli_time(&checked, answer->checked) != 0)
		text = cli_text("%s of %s, unchecked", list, cli_local_s(answer->as_of).text);
	else
		text = cli_text(waited ? "%s of %s ago" : "%s when it was %s old", list,
		    cli_age(checked > as_of ? (uint64_t)(checked - as_of) : 0).text);
	free(list);
	return text;
}

static char *
how_served(const struct lockq_answer *answer, bool waited)
{
	bool known = answer->query_ms >= 0;
	char *maker, *text;
	struct cli_time query = cli_ms(known ? (uint64_t)answer->query_ms : 0);

	if (answer->led)
		return cli_text("you led%s%s", known ? ": the query took " : "",
		    known ? query.text : "");
	maker = whose(answer, "another");
	text = cli_text("served%s%s by %s %s%s%s%s", waited ? " in " : "",
	    waited ? cli_ms(answer->waited_ms).text : "", maker, known ? "query" : "list",
	    known ? " (" : "", known ? query.text : "", known ? ")" : "");
	free(maker);
	return text;
}

char *
cli_answer_summary(const struct lockq_answer *answer, bool waited, const char *dot)
{
	char *how = cli_answer_is_from_list(answer) ? how_taken(answer, waited) :
	    how_served(answer, waited), *text;
	bool less = answer->status == LOCKQ_PARTIAL && answer->reason == NULL;

	text = cli_text("%u of %u %s for %s%s%s%s %s %s %s request %llu", answer->assigned,
	    answer->asked, cli_loans(answer->asked),
	    answer->user != NULL ? answer->user : "",
	    !less ? "" : answer->excluded > 0 ? ": the other " : ": the list had no more",
	    less && answer->excluded > 0 ? cli_loans(2) : "",
	    less && answer->excluded > 0 ? " are for other users" : "",
	    dot, how, dot,
	    (unsigned long long)answer->request_id);
	free(how);
	return text;
}

char *
cli_answer_no_work(const struct lockq_answer *answer, time_t now)
{
	const char *user = answer->user != NULL ? answer->user : "";
	bool one = answer->excluded == 1;
	struct cli_time as_of = cli_time_local(answer->as_of, true, now);
	const char *word = as_of.text[0] != '\0' ? " as of " : "";

	if (answer->excluded == 0)
		return cli_text("no work for task %u%s%s", answer->task, word, as_of.text);
	return cli_text("nothing for %s in task %u%s%s: %u %s %s left, but %s for other users",
	    user, answer->task, word, as_of.text, answer->excluded,
	    cli_loans(answer->excluded), one ? "is" : "are", one ? "it is" : "they are");
}

static const char *
ordinal_end(uint32_t number)
{
	if (number % 100 / 10 == 1)
		return "th";
	switch (number % 10) {
	case 1:
		return "st";
	case 2:
		return "nd";
	case 3:
		return "rd";
	default:
		return "th";
	}
}

static char *
expected_text(const struct lockq_answer *answer)
{
	uint64_t ms = answer->expected_ms > 0 ? (uint64_t)answer->expected_ms : 0;
	struct cli_time wait = cli_age((ms + 999) / 1000);

	if (answer->expected_ms < 0)
		return cli_text("the time to wait is not known");
	if (answer->nobody_leads)
		return cli_text("the task's query usually takes about %s", wait.text);
	return ms == 0 ? cli_text("expected at any moment") :
	    cli_text("expected in about %s", wait.text);
}

char *
cli_answer_line(const struct lockq_answer *answer, const char *dot)
{
	char *expected = expected_text(answer), *behind, *text;

	if (answer->position <= 1)
		behind = cli_text("%s", "");
	else
		behind = cli_text(", behind %s for %llu %s", answer->position == 2 ? "a request" :
		    "requests", (unsigned long long)answer->loans_ahead,
		    cli_loans(answer->loans_ahead));
	text = cli_text("%u%s in line%s %s %s", answer->position,
	    ordinal_end(answer->position), behind, dot, expected);
	free(behind);
	free(expected);
	return text;
}

/* On a terminal the loans are shown with the task's own columns. They are an answer without these,
 * too, so a failure is not told. */
static void
print_loans(const struct cli_common *common, struct lockq *q, const struct lockq_answer *answer)
{
	struct lockq_pipeline details = LOCKQ_PIPELINE_INIT;

	if (answer->user != NULL && isatty(STDOUT_FILENO) && cli_caught() == 0) {
		lockq_look_timeout(q, DETAILS_MS);
		(void)!lockq_pipeline(q, answer->user, answer->task, &details);
	}
	cli_pipeline_answer(answer, &details, common->verbose);
	lockq_pipeline_clear(&details);
}

void
cli_answer_loans(const struct cli_common *common, struct lockq *q,
    const struct lockq_answer *answer, bool waited)
{
	cli_heading("Task %u %s %s", answer->task, cli_dot(),
	    answer->task_name != NULL ? answer->task_name : "");
	print_loans(common, q, answer);
	cli_put_line(cli_answer_summary(answer, waited, cli_dot()));
	if (answer->reason != NULL)
		cli_line("%s", answer->reason);
	if (cli_answer_is_from_list(answer) && answer->checked == NULL)
		cli_line("unchecked: the view could not tell in time whether these %s still match",
		    cli_loans(2));
}

static void
text_answer(const struct cli_common *common, struct lockq *q, const struct lockq_answer *answer,
    int rc)
{
	unsigned long long id = answer->request_id;

	if (answer->joined)
		cli_line("joined your earlier request %llu for %u %s", id, answer->asked,
		    cli_loans(answer->asked));
	if (rc == LOCKQ_OK) {
		cli_answer_loans(common, q, answer, !answer->repeated);
		if (answer->repeated)
			cli_line("an earlier call had this answer: checkwork shows what is yours "
			    "now");
	} else if (rc == LOCKQ_NOTHING) {
		cli_put_line(cli_answer_no_work(answer, time(NULL)));
	} else if (rc == LOCKQ_BUSY && answer->status == LOCKQ_PENDING) {
		cli_line("request %llu is pending, %s leads%s: see checkwork --request %llu", id,
		    answer->leader != NULL ? answer->leader : "nobody",
		    answer->leader != NULL ? "" : " at the moment", id);
	}
}

static json_t *
json_loans(const struct lockq_answer *answer)
{
	json_t *loans = json_array(), *loan;
	size_t i;

	for (i = 0; i < answer->n_loans; i++) {
		loan = json_object();
		cli_json_set(loan, "loan_id", cli_json_number(answer->loans[i].loan_id));
		cli_json_set(loan, "token", cli_json_number(answer->loans[i].token));
		cli_json_set(loan, "lease_expires_at",
		    cli_json_time(answer->loans[i].lease_expires_at));
		if (json_array_append_new(loans, loan) != 0)
			cli_out_of_memory();
	}
	return loans;
}

/* The loans came from a leader's query, or from the list that a leader has left. */
static const char *
source(const struct lockq_answer *answer)
{
	if (answer->assigned == 0)
		return NULL;
	/* "cache" is the word of older programs. */
	return cli_answer_is_from_list(answer) || (answer->how != NULL &&
	    strcmp(answer->how, "cache") == 0) ? "list" : "query";
}

json_t *
cli_json_answer(const struct lockq_answer *answer, int status, const char *error)
{
	json_t *object = json_object();

	cli_json_set(object, "request_id", cli_json_number(answer->request_id));
	cli_json_set(object, "uuid", cli_json_text(answer->uuid));
	cli_json_set(object, "user", cli_json_text(answer->user));
	cli_json_set(object, "task", cli_json_number(answer->task));
	cli_json_set(object, "task_name", cli_json_text(answer->task_name));
	cli_json_set(object, "asked", cli_json_number(answer->asked));
	cli_json_set(object, "requested", cli_json_number(answer->requested));
	cli_json_set(object, "assigned", cli_json_number(answer->assigned));
	cli_json_set(object, "status", cli_json_text(lockq_status_name(answer->status)));
	cli_json_set(object, "led", json_boolean(answer->led));
	cli_json_set(object, "joined", json_boolean(answer->joined));
	cli_json_set(object, "leader", cli_json_text(answer->leader));
	cli_json_set(object, "epoch", cli_json_number(answer->epoch));
	cli_json_set(object, "waited_ms", cli_json_number(answer->waited_ms));
	cli_json_set(object, "query_ms",
	    answer->query_ms < 0 ? json_null() : json_integer(answer->query_ms));
	cli_json_set(object, "as_of", cli_json_time(answer->as_of));
	cli_json_set(object, "how", cli_json_text(answer->how));
	cli_json_set(object, "source", cli_json_text(source(answer)));
	cli_json_set(object, "checked", cli_json_time(answer->checked));
	cli_json_set(object, "reason", cli_json_text(answer->reason));
	cli_json_set(object, "excluded", cli_json_number(answer->excluded));
	cli_json_set(object, "retries", cli_json_number(answer->retries));
	cli_json_set(object, "loans", json_loans(answer));
	if (error != NULL)
		cli_json_set(object, "error", cli_json_text(error));
	cli_json_set(object, "exit", json_integer(status));
	return object;
}

static void
json_answer(const struct lockq_answer *answer, int rc, int status, const char *complaint)
{
	json_t *object = cli_json_answer(answer, status, rc < 0 ? complaint : NULL);

	cli_json_set(object, "refill_failed", cli_json_text(answer->refill_failed));
	cli_json_set(object, "repeated", json_boolean(answer->repeated));
	cli_json_set(object, "one_commit", json_boolean(answer->one_commit));
	cli_json_print(object);
}

static void
text_cancelled(const struct cli_common *common, struct lockq *q,
    const struct lockq_answer *answer, int rc)
{
	unsigned long long id = answer->request_id;

	if (answer->assigned > 0) {
		cli_answer_loans(common, q, answer, false);
		cli_line("request %llu got these %s before it could be cancelled", id,
		    cli_loans(2));
	} else {
		cli_line("request %llu for %s, task %u: %s%s", id, answer->user, answer->task,
		    lockq_status_name(answer->status),
		    rc == LOCKQ_NOTHING ? ", so there is nothing to cancel" : "");
	}
}

void
cli_answer_print(const struct cli_common *common, struct lockq *q,
    const struct lockq_answer *answer, bool cancelled, int rc, int status, const char *complaint)
{
	if (common->json)
		json_answer(answer, rc, status, complaint);
	else if (complaint == NULL && cancelled)
		text_cancelled(common, q, answer, rc);
	else if (complaint == NULL)
		text_answer(common, q, answer, rc);
	if (complaint != NULL)
		cli_message("%s", complaint);
}
