/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cli/json.h"
#include "cli/pipeline.h"
#include "cli/program.h"
#include "cli/utf8.h"

/* What happens next, and what the user can do. */
static char *
prospect(const char *user, const struct lockq_request *r)
{
	char *word = cli_word(user), *text;

	if (r->unattended)
		text = cli_text(": it will expire, since nobody looks after it: getwork --user %s "
		    "--task %u takes it up", word, r->task);
	else if (r->paused != NULL)
		text = cli_text(": %s", r->paused);
	else if (r->held != NULL)
		text = cli_text(": %s", r->held);
	else if (r->leader != NULL)
		text = cli_text(": %s leads", r->leader);
	else if (r->nobody_leads)
		text = cli_text(": nobody leads: getwork --user %s --task %u joins it and leads",
		    word, r->task);
	else
		text = cli_text("%s", "");
	free(word);
	return text;
}

char *
request_line(const char *user, const struct lockq_request *r)
{
	char *next = prospect(user, r), *line;

	line = cli_text("request %llu for %u %s of task %u is pending since %s (%s)%s",
	    (unsigned long long)r->request_id, r->asked, r->asked == 1 ? "loan" : "loans", r->task,
	    cli_local(r->created_at).text, cli_age(r->age_s).text, next);
	free(next);
	return line;
}

void
request_lines(const char *user, const struct lockq_requests *requests)
{
	for (size_t i = 0; i < requests->n_requests; i++)
		cli_put_line(request_line(user, &requests->requests[i]));
}

static void
text_pipeline(const char *user, uint32_t task, const struct lockq_pipeline *pipeline,
    const struct lockq_requests *requests)
{
	char *word = cli_word(user);

	if (pipeline->n_assignments > 0)
		checkwork_table(user, pipeline);
	else if (requests->n_requests > 0)
		cli_line("%s's pipeline has no %s yet", user, cli_loan());
	else if (task != 0)
		cli_line("%s's pipeline has no %s of task %u: getwork --user %s --task %u asks "
		    "for work", user, cli_loan(), task, word, task);
	else
		cli_line("%s's pipeline is empty: getwork --user %s --task N asks for work",
		    user, word);
	request_lines(user, requests);
	free(word);
}

static json_t *
json_detail(const struct lockq_assignment *a)
{
	json_t *detail_object;
	char *name;
	size_t i;

	if (a->n_details == 0)
		return json_null();
	detail_object = json_object();
	for (i = 0; i < a->n_details; i++) {
		name = cli_valid_utf8(a->details[i].name);
		cli_json_set(detail_object, name, cli_json_text(a->details[i].value));
		free(name);
	}
	return detail_object;
}

/* A request without loans of its task has no object here: scripts take each line for a loan. */
static void
json_pipeline(const char *user, const struct lockq_pipeline *pipeline,
    const struct lockq_requests *requests)
{
	const struct lockq_assignment *a;
	json_t *object;
	size_t i;

	for (i = 0; i < pipeline->n_assignments; i++) {
		size_t r = 0; /* the user's pending request for the task */

		a = &pipeline->assignments[i];
		while (r < requests->n_requests && requests->requests[r].task != a->task)
			r++;
		object = json_object();
		cli_json_set(object, "user", cli_json_text(user));
		cli_json_set(object, "task", cli_json_number(a->task));
		cli_json_set(object, "task_name", cli_json_text(a->task_name));
		cli_json_set(object, "loan_id", cli_json_number(a->loan_id));
		cli_json_set(object, "token", cli_json_number(a->token));
		cli_json_set(object, "request_id", cli_json_number(a->request_id));
		cli_json_set(object, "assigned_at", cli_json_time(a->assigned_at));
		cli_json_set(object, "age_s", cli_json_number(a->age_s));
		cli_json_set(object, "lease_expires_at", cli_json_time(a->lease_expires_at));
		cli_json_set(object, "lease_left_s", a->lease_expires_at[0] == '\0' ?
		    json_null() : cli_json_number(a->lease_left_s));
		cli_json_set(object, "lease_expired", json_boolean(a->lease_expired));
		cli_json_set(object, "note", cli_json_text(a->note));
		cli_json_set(object, "detail", json_detail(a));
		cli_json_set(object, "pending_request", r < requests->n_requests ?
		    cli_json_number(requests->requests[r].request_id) : json_null());
		cli_json_print(object);
	}
}

void
cli_pipeline_print(bool json, const char *user, uint32_t task,
    const struct lockq_pipeline *pipeline, const struct lockq_requests *requests)
{
	if (json)
		json_pipeline(user, pipeline, requests);
	else
		text_pipeline(user, task, pipeline, requests);
}
