/* SPDX-License-Identifier: MIT */
/* Answers for scripts: JSON objects, one a line. */
#include <stdlib.h>
#include <string.h>

#include "cli/disposed.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/utf8.h"
#include "getwork/command.h"
#include "lockqstat/json.h"
#include "managetask/correct_message.h"
#include "managetask/findings.h"
#include "seedloans/seed.h"

static void
json_error(const char *text, int status)
{
	json_t *object = json_object();

	cli_json_set(object, "error", cli_json_text(text));
	cli_json_set(object, "exit", json_integer(status));
	cli_json_print(object);
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
json_request(const struct lockq_answer *answer, int rc, int status, const char *complaint)
{
	json_t *object = cli_json_answer(answer, status, rc < 0 ? complaint : NULL);
	bool placed = answer->position > 0;

	cli_json_set(object, "nobody_leads", json_boolean(answer->nobody_leads));
	cli_json_set(object, "position",
	    placed ? cli_json_number(answer->position) : json_null());
	cli_json_set(object, "loans_ahead",
	    placed ? cli_json_number(answer->loans_ahead) : json_null());
	cli_json_set(object, "expected_ms",
	    answer->expected_ms < 0 ? json_null() : json_integer(answer->expected_ms));
	cli_json_print(object);
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

/* The number of the user's pending request for the task, or null. */
static json_t *
json_pending_request(const struct lockq_requests *requests, uint32_t task)
{
	size_t i = 0;

	while (i < requests->n_requests && requests->requests[i].task != task)
		i++;
	return i < requests->n_requests ? cli_json_number(requests->requests[i].request_id) :
	    json_null();
}

/* A request without loans of its task has no object here: scripts take each line for a loan. */
static void
json_pipeline(const char *user, uint32_t task, const struct lockq_pipeline *pipeline,
    const struct lockq_requests *requests)
{
	const struct lockq_assignment *a;
	json_t *object;
	size_t i;

	(void)task;
	for (i = 0; i < pipeline->n_assignments; i++) {
		a = &pipeline->assignments[i];
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
		cli_json_set(object, "pending_request", json_pending_request(requests, a->task));
		cli_json_print(object);
	}
}

static void
json_requests(const char *user, uint32_t task, const struct lockq_requests *requests)
{
	size_t i;

	(void)task;
	for (i = 0; i < requests->n_requests; i++) {
		const struct lockq_request *r = &requests->requests[i];
		json_t *object = json_object();

		cli_json_set(object, "user", cli_json_text(user));
		cli_json_set(object, "task", cli_json_number(r->task));
		cli_json_set(object, "task_name", cli_json_text(r->task_name));
		cli_json_set(object, "request_id", cli_json_number(r->request_id));
		cli_json_set(object, "uuid", cli_json_text(r->uuid));
		cli_json_set(object, "asked", cli_json_number(r->asked));
		cli_json_set(object, "created_at", cli_json_time(r->created_at));
		cli_json_set(object, "age_s", cli_json_number(r->age_s));
		cli_json_set(object, "unattended", json_boolean(r->unattended));
		cli_json_set(object, "nobody_leads", json_boolean(r->nobody_leads));
		cli_json_set(object, "leader", cli_json_text(r->leader));
		cli_json_set(object, "paused", cli_json_text(r->paused));
		cli_json_print(object);
	}
}

static void
json_tasks(const char *user, const struct lockq_tasks *tasks)
{
	size_t i;

	for (i = 0; i < tasks->n_tasks; i++) {
		const struct lockq_task *t = &tasks->tasks[i];
		json_t *object = json_object();

		cli_json_set(object, "user", cli_json_text(user));
		cli_json_set(object, "task", cli_json_number(t->task));
		cli_json_set(object, "task_name", cli_json_text(t->task_name));
		cli_json_set(object, "enabled", json_boolean(t->enabled));
		cli_json_set(object, "manager", cli_json_text(t->manager));
		cli_json_set(object, "max_count", cli_json_number(t->max_count));
		cli_json_set(object, "max_pipeline",
		    t->max_pipeline > 0 ? cli_json_number(t->max_pipeline) : json_null());
		cli_json_set(object, "held", cli_json_number(t->held));
		cli_json_set(object, "pending", cli_json_number(t->pending));
		cli_json_set(object, "paused", cli_json_text(t->paused));
		cli_json_set(object, "urgent", cli_json_number(t->urgent));
		cli_json_print(object);
	}
}

static void
json_history(uint32_t task, uint64_t loan_id, const struct lockq_history *history)
{
	json_t *object;
	size_t i;

	for (i = 0; i < history->n_events; i++) {
		object = json_object();
		cli_json_set(object, "task", cli_json_number(task));
		cli_json_set(object, "loan_id", cli_json_number(loan_id));
		cli_json_event(object, &history->events[i]);
		cli_json_print(object);
	}
}

static json_t *
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

static void
json_disposed(const struct lockq_disposition *what, const struct lockq_disposed_loan *loan,
    int status)
{
	cli_json_print(disposed_object(what, loan, status));
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

static void
json_expired(const struct lockq_expired *d, int rc, int status, const char *error)
{
	json_t *object = json_object();

	(void)rc;
	cli_json_set(object, "busy", json_boolean(d->busy));
	cli_json_set(object, "leases", cli_json_number(d->leases));
	cli_json_set(object, "available", cli_json_number(d->available));
	cli_json_set(object, "requests", cli_json_number(d->requests));
	cli_json_set(object, "candidates", cli_json_number(d->candidates));
	cli_json_set(object, "exclusions", cli_json_number(d->exclusions));
	cli_json_set(object, "log_rows", cli_json_number(d->log_rows));
	cli_json_set(object, "old_requests", cli_json_number(d->old_requests));
	cli_json_set(object, "runs", cli_json_number(d->runs));
	cli_json_set(object, "kept_rows", cli_json_number(d->kept_rows));
	cli_json_set(object, "kept_for", cli_json_text(d->kept_for));
	cli_json_set(object, "skipped", cli_json_number(d->skipped));
	cli_json_set(object, "took_ms", cli_json_number(d->took_ms));
	if (error != NULL)
		cli_json_set(object, "error", cli_json_text(error));
	cli_json_set(object, "exit", json_integer(status));
	cli_json_print(object);
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

static void
json_none_due(uint32_t task)
{
	(void)task;
}

/* A column of the table task as JSON: these are texts, and these are flags; the others are
 * numbers. */
static json_t *
json_setting(const struct lockq_setting *setting)
{
	static const char *const texts[] = { "name", "manager", "candidates_view", "on_complete",
		"on_undo", "detail_view", "check_view", "share", "noun" };
	static const char *const flags[] = { "enabled", "view_repeats", "use_unchecked" };

	if (setting->value == NULL)
		return json_null();
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(setting->name, texts[i]) == 0)
			return cli_json_text(setting->value);
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(setting->name, flags[i]) == 0)
			return json_boolean(strcmp(setting->value, "yes") == 0);
	}
	return cli_json_number(strtoull(setting->value, NULL, 10));
}

static void
json_definitions(const struct lockq_definitions *tasks, bool one)
{
	(void)one;
	for (size_t i = 0; i < tasks->n_tasks; i++) {
		const struct lockq_definition *t = &tasks->tasks[i];
		json_t *object = json_object();

		cli_json_set(object, "task", cli_json_number(t->task));
		for (size_t n = 0; n < t->n_settings; n++)
			cli_json_set(object, t->settings[n].name, json_setting(&t->settings[n]));
		cli_json_set(object, "paused", cli_json_text(t->paused));
		cli_json_set(object, "paused_by", cli_json_text(t->paused_by));
		cli_json_set(object, "paused_at", cli_json_time(t->paused_at));
		cli_json_set(object, "urgent", cli_json_number(t->urgent));
		cli_json_print(object);
	}
}

static void
json_people(const struct lockq_people *people)
{
	for (size_t i = 0; i < people->n_people; i++) {
		const struct lockq_person *p = &people->people[i];
		json_t *object = json_object();

		cli_json_set(object, "user", cli_json_text(p->user));
		cli_json_set(object, "account", cli_json_text(p->account));
		cli_json_set(object, "enabled", json_boolean(p->enabled));
		cli_json_set(object, "held", cli_json_number(p->held));
		cli_json_set(object, "pending", cli_json_number(p->pending));
		cli_json_set(object, "created_at", cli_json_time(p->created_at));
		cli_json_print(object);
	}
}

static void
json_managed(const char *what, uint32_t task, const char *user, const char *done)
{
	json_t *object = json_object();

	(void)what;
	cli_json_set(object, "task", task != 0 ? cli_json_number(task) : json_null());
	cli_json_set(object, "user", cli_json_text(user));
	cli_json_set(object, "done", cli_json_text(done));
	cli_json_print(object);
}

static void
json_cursors(const struct lockq_cursors *cursors)
{
	for (size_t i = 0; i < cursors->n_cursors; i++) {
		const struct lockq_cursor *c = &cursors->cursors[i];
		json_t *object = json_object();

		cli_json_set(object, "cursor", cli_json_text(c->cursor));
		cli_json_set(object, "position", cli_json_number(c->position));
		cli_json_set(object, "lag", cli_json_number(c->lag));
		cli_json_set(object, "age_s", c->age_s < 0 ? json_null() :
		    cli_json_number((uint64_t)c->age_s));
		cli_json_set(object, "made_at", cli_json_time(c->made_at));
		cli_json_set(object, "moved_at", cli_json_time(c->moved_at));
		cli_json_set(object, "account", cli_json_text(c->account));
		cli_json_print(object);
	}
}

static void
json_dropped(const char *cursor)
{
	json_t *object = json_object();

	cli_json_set(object, "cursor", cli_json_text(cursor));
	cli_json_set(object, "done", json_string("removed"));
	cli_json_print(object);
}

static json_t *
json_known(int64_t number)
{
	return number >= 0 ? cli_json_number((uint64_t)number) : json_null();
}

static void
json_finding(uint32_t task, const struct lockq_finding *f)
{
	json_t *object = json_object();

	cli_json_set(object, "task", cli_json_number(task));
	cli_json_set(object, "severity", cli_json_text(manage_severity(f->severity)));
	cli_json_set(object, "code", cli_json_text(f->code));
	cli_json_set(object, "about", cli_json_text(f->about));
	cli_json_set(object, "text", cli_json_text(f->text));
	cli_json_set(object, "mend", cli_json_text(f->mend));
	cli_json_set(object, "is_grant", json_boolean(f->is_grant != 0));
	cli_json_print(object);
}

static void
json_findings(uint32_t task, const struct lockq_findings *findings, int status)
{
	json_t *object = json_object();
	bool ran = findings->query_ms >= 0;

	for (size_t i = 0; i < findings->n_findings; i++)
		json_finding(task, &findings->findings[i]);
	cli_json_set(object, "task", cli_json_number(task));
	cli_json_set(object, "name", cli_json_text(findings->name));
	cli_json_set(object, "faults", cli_json_number(findings->n_faults));
	cli_json_set(object, "warnings", cli_json_number(findings->n_warnings));
	cli_json_set(object, "query_ms", json_known(findings->query_ms));
	cli_json_set(object, "rows", ran ? cli_json_number(findings->rows) : json_null());
	cli_json_set(object, "loans", ran ? cli_json_number(findings->loans) : json_null());
	cli_json_set(object, "complete", ran ? json_boolean(findings->complete != 0) : json_null());
	cli_json_set(object, "rows_read", json_known(findings->rows_read));
	cli_json_set(object, "check_ms", json_known(findings->check_ms));
	cli_json_set(object, "check_rows_read", json_known(findings->check_rows_read));
	cli_json_set(object, "pushed_down", findings->pushed_down >= 0 ?
	    json_boolean(findings->pushed_down != 0) : json_null());
	cli_json_set(object, "exit", json_integer(status));
	cli_json_print(object);
}

static void
json_rights(uint32_t task, const struct lockq_findings *findings, size_t granted)
{
	for (size_t i = 0, n = 0; i < findings->n_findings; i++) {
		const struct lockq_finding *f = &findings->findings[i];
		json_t *object;

		if (f->is_grant == 0 || f->mend == NULL)
			continue;
		object = json_object();
		cli_json_set(object, "task", cli_json_number(task));
		cli_json_set(object, "grant", cli_json_text(f->mend));
		cli_json_set(object, "granted", json_boolean(n++ < granted));
		cli_json_print(object);
	}
}

static void
json_corrected(const struct lockq_correction *what, const struct lockq_disposed_loan *loan,
    int status)
{
	bool has_row = loan->state[0] != '\0';
	json_t *object = json_object();

	cli_json_set(object, "loan_id", cli_json_number(loan->loan_id));
	cli_json_set(object, "task", cli_json_number(what->task));
	cli_json_set(object, "manager", cli_json_text(what->manager));
	cli_json_set(object, "result", cli_json_text(correct_message_result(loan->what)));
	cli_json_set(object, "state", has_row ? cli_json_text(loan->state) : json_null());
	cli_json_set(object, "holder", cli_json_text(loan->holder));
	cli_json_set(object, "token", has_row ? cli_json_number(loan->token) : json_null());
	cli_json_set(object, "since", cli_json_time(loan->since));
	cli_json_set(object, "available_at", cli_json_time(loan->available_at));
	cli_json_set(object, "lease_expires_at", cli_json_time(loan->lease_expires_at));
	cli_json_set(object, "excluded_until", cli_json_time(loan->excluded_until));
	cli_json_set(object, "reason", cli_json_text(loan->reason));
	cli_json_set(object, "exit", json_integer(status));
	cli_json_print(object);
}

static void
json_seeded(const struct seed_options *options, const struct seed_report *report)
{
	json_t *object = json_object();

	(void)options;
	cli_json_set(object, "loans", cli_json_number(report->loans));
	cli_json_set(object, "loans_before", cli_json_number(report->loans_before));
	cli_json_set(object, "documents", cli_json_number(report->documents));
	cli_json_set(object, "users", cli_json_number(report->users));
	cli_json_set(object, "tasks", cli_json_number(report->tasks));
	cli_json_set(object, "rejected", cli_json_number(report->rejected));
	cli_json_set(object, "rejects_file",
	    report->rejects[0] != '\0' ? cli_json_text(report->rejects) : json_null());
	cli_json_set(object, "seconds", json_real((double)report->ms / 1000));
	cli_json_set(object, "loans_per_second", cli_json_number(report->loans_per_second));
	cli_json_set(object, "heavy_seconds", report->heavy_ms < 0 ? json_null() :
	    json_real((double)report->heavy_ms / 1000));
	cli_json_print(object);
}

static void
json_stats(const struct lockq_stats *stats, enum stat_order order, const struct lockq_runs *runs)
{
	(void)order;
	stat_json(stats, runs);
}

static void
json_health(const struct lockq_stats *stats, const struct stat_health *health)
{
	(void)stats;
	stat_json_health(health);
}

const struct output output_json = {
	.ticks = false,
	.error = json_error,
	.answer = json_answer,
	.cancelled = json_answer,
	.request = json_request,
	.pipeline = json_pipeline,
	.requests = json_requests,
	.tasks = json_tasks,
	.history = json_history,
	.disposed = json_disposed,
	.executed = json_executed,
	.expired = json_expired,
	.definitions = json_definitions,
	.people = json_people,
	.managed = json_managed,
	.corrected = json_corrected,
	.findings = json_findings,
	.rights = json_rights,
	.refilled = json_refilled,
	.none_due = json_none_due,
	.stats = json_stats,
	.health = json_health,
	.cursors = json_cursors,
	.dropped = json_dropped,
	.seeded = json_seeded,
};
