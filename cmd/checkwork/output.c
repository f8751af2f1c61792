/* SPDX-License-Identifier: MIT */
#include "checkwork/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/json.h"
#include "cli/pipeline.h"
#include "cli/table.h"
#include "cli/utf8.h"

enum { COLUMNS_MOST = 10 };

/* Columns that only some histories need. */
struct shown {
	bool tasks;    /* more than one task had the loan */
	bool accounts; /* more than one database account took part */
	bool excluded;
	bool notes;
	bool managers; /* who have corrected an assignment, and the note says why */
};

static struct shown
what_to_show(const struct lockq_history *history)
{
	struct shown shown = { false, false, false, false, false };
	const struct lockq_event *e;
	size_t i;

	for (i = 0; i < history->n_events; i++) {
		e = &history->events[i];
		shown.tasks = shown.tasks || e->task != history->events[0].task;
		if (strcmp(e->account, history->events[0].account) != 0)
			shown.accounts = true;
		shown.excluded = shown.excluded || e->excluded_until[0] != '\0';
		shown.notes = shown.notes || e->note != NULL;
		shown.managers = shown.managers || e->manager != NULL;
	}
	return shown;
}

static size_t
make_columns(struct cli_column columns[COLUMNS_MOST], const struct shown *shown)
{
	size_t n = 0;

	columns[n++] = (struct cli_column){ "time", 0 };
	if (shown->tasks)
		columns[n++] = (struct cli_column){ "task", CLI_RIGHT };
	columns[n++] = (struct cli_column){ "event", 0 };
	columns[n++] = (struct cli_column){ "user", CLI_TEXT };
	columns[n++] = (struct cli_column){ "until", CLI_SPARE(1) };
	columns[n++] = (struct cli_column){ "token", CLI_RIGHT | CLI_SPARE(8) };
	if (shown->excluded)
		columns[n++] = (struct cli_column){ "excluded until", CLI_SPARE(7) };
	if (shown->accounts)
		columns[n++] = (struct cli_column){ "account", CLI_TEXT | CLI_SPARE(9) };
	if (shown->managers)
		columns[n++] = (struct cli_column){ "by manager", CLI_TEXT };
	if (shown->notes)
		columns[n++] = (struct cli_column){ "note", CLI_TEXT | CLI_SPARE(6) };
	return n;
}

/* The time until which the event holds: the end of the lease, or the time when the loan
 * is offered again. */
static void
add_until(struct cli_table *table, const struct lockq_event *e)
{
	bool held = strcmp(e->event, "assigned") == 0 || strcmp(e->event, "renewed") == 0;
	const char *utc = held ? e->lease_expires_at : e->available_at;
	struct cli_time until;

	/* these two only end something */
	if (strcmp(e->event, "expired") == 0 || strcmp(e->event, "available") == 0)
		utc = "";
	until = cli_until(utc, e->at);
	cli_table_cell(table, "%s", held && until.text[0] == '\0' ? "no limit" : until.text);
}

static void
add_event(struct cli_table *table, const struct lockq_event *e, const struct shown *shown)
{
	cli_table_cell(table, "%s", cli_local_s(e->at).text);
	if (shown->tasks)
		cli_table_cell(table, "%u", e->task);
	cli_table_cell(table, "%s", e->event);
	cli_table_cell(table, "%s", e->user);
	add_until(table, e);
	cli_table_cell(table, "%llu", (unsigned long long)e->token);
	if (shown->excluded)
		cli_table_cell(table, "%s", cli_until(e->excluded_until, e->at).text);
	if (shown->accounts)
		cli_table_cell(table, "%s", e->account);
	if (shown->managers)
		cli_table_cell(table, "%s", e->manager != NULL ? e->manager : "");
	if (shown->notes)
		cli_table_cell(table, "%s", e->note != NULL ? e->note : "");
}

/* A loan's first change in a task is version 1, and each change adds 1; "available" is no
 * change. */
static bool
is_after_gap(const struct lockq_history *history, size_t i)
{
	const struct lockq_event *e = &history->events[i];
	uint64_t version = 0;

	for (size_t n = 0; n < i; n++) {
		if (history->events[n].task == e->task)
			version = history->events[n].version;
	}
	return e->version != version + (strcmp(e->event, "available") != 0);
}

static void
text_history(uint64_t loan_id, const struct lockq_history *history)
{
	struct shown shown = what_to_show(history);
	struct cli_column columns[COLUMNS_MOST];
	struct cli_table *table = cli_table_new(columns, make_columns(columns, &shown));
	unsigned long long id = loan_id;
	bool gaps = false;

	for (size_t i = 0; i < history->n_events; i++) {
		add_event(table, &history->events[i], &shown);
		gaps = gaps || is_after_gap(history, i);
	}
	if (shown.tasks)
		cli_heading("%s %llu", cli_loan_title(), id);
	else
		cli_heading("%s %llu %s task %u", cli_loan_title(), id, cli_dot(),
		    history->events[0].task);
	cli_table_print(table);
	cli_line("%zu %s", history->n_events, history->n_events == 1 ? "event" : "events");
	if (gaps)
		cli_line("some events are missing: their rows of the log were purged");
}

static void
print_pending(const struct lockq_answer *answer)
{
	unsigned long long id = answer->request_id;
	char *user = cli_word(answer->user);

	if (answer->reason != NULL)
		cli_line("request %llu for %s, task %u: pending: %s", id, answer->user,
		    answer->task, answer->reason);
	else if (answer->leader != NULL)
		cli_line("request %llu for %s, task %u: pending, %s leads", id, answer->user,
		    answer->task, answer->leader);
	else if (!answer->nobody_leads)
		cli_line("request %llu for %s, task %u: pending", id, answer->user, answer->task);
	else
		cli_line("request %llu for %s, task %u: pending, nobody leads: run getwork "
		    "--user %s --task %u to be served", id, answer->user, answer->task,
		    user, answer->task);
	if (answer->position > 0)
		cli_put_line(cli_answer_line(answer, cli_dot()));
	free(user);
}

static void
text_request(const struct cli_common *common, struct lockq *q, const struct lockq_answer *answer,
    int rc)
{
	unsigned long long id = answer->request_id;
	char *text;

	if (rc == LOCKQ_OK) {
		cli_answer_loans(common, q, answer, false);
	} else if (rc == LOCKQ_NOTHING) {
		text = cli_answer_no_work(answer, time(NULL));
		cli_line("request %llu%s%s: %s", id, answer->excluded == 0 ? " for " : "",
		    answer->excluded == 0 ? answer->user : "", text);
		free(text);
	} else if (answer->status != LOCKQ_PENDING) {
		cli_line("request %llu for %s, task %u: %s%s%s", id, answer->user, answer->task,
		    lockq_status_name(answer->status), answer->reason != NULL ? ": " : "",
		    answer->reason != NULL ? answer->reason : "");
	} else {
		print_pending(answer);
	}
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

static void
json_requests(const char *user, const struct lockq_requests *requests)
{
	for (size_t i = 0; i < requests->n_requests; i++) {
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
		cli_json_set(object, "held", cli_json_text(r->held));
		cli_json_print(object);
	}
}

static void
add_task(struct cli_table *table, const struct lockq_task *task)
{
	cli_table_cell(table, "%u", task->task);
	cli_table_cell(table, "%s", task->task_name);
	cli_table_cell(table, "%s", !task->enabled ? "no" :
	    task->paused != NULL ? "paused" : "yes");
	cli_table_cell(table, "%s", task->manager != NULL ? task->manager : "-");
	cli_table_cell(table, "%u", task->max_count);
	cli_table_cell(table, "%llu", (unsigned long long)task->held);
	if (task->max_pipeline > 0)
		cli_table_cell(table, "%u", task->max_pipeline);
	else
		cli_table_cell(table, "no limit");
	cli_table_cell(table, "%llu", (unsigned long long)task->pending);
}

static void
text_tasks(const char *user, const struct lockq_tasks *tasks)
{
	static const struct cli_column columns[] = {
		{ "task", CLI_RIGHT }, { "name", CLI_TEXT }, { "enabled", CLI_SPARE(3) },
		{ "manager", CLI_TEXT | CLI_SPARE(5) }, { "per request", CLI_RIGHT | CLI_SPARE(7) },
		{ "you hold", CLI_RIGHT }, { "at most", CLI_RIGHT | CLI_SPARE(6) },
		{ "pending", CLI_RIGHT | CLI_SPARE(1) },
	};
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	size_t i;

	for (i = 0; i < tasks->n_tasks; i++)
		add_task(table, &tasks->tasks[i]);
	cli_heading("Tasks %s %s", cli_dot(), user);
	cli_table_print(table);
	cli_line("%zu %s", tasks->n_tasks, tasks->n_tasks == 1 ? "task" : "tasks");
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
json_history(uint64_t loan_id, const struct lockq_history *history)
{
	json_t *object;
	size_t i;

	for (i = 0; i < history->n_events; i++) {
		object = json_object();
		cli_json_set(object, "task", cli_json_number(history->events[i].task));
		cli_json_set(object, "loan_id", cli_json_number(loan_id));
		cli_json_event(object, &history->events[i]);
		cli_json_print(object);
	}
}

/* What the program has left of --timeout, for the next call. */
static void
allow_rest(const struct checkwork_options *o, struct lockq *q)
{
	int64_t used = (int64_t)(cli_clock_ms() - o->began), all = o->common.look_timeout_ms;

	lockq_look_timeout(q, all > used ? all - used : 0);
}

static int
look_at_request(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int rc = lockq_request_look(q, o->request, o->wait_ms > 0 ? o->wait_ms : 0, &answer);
	const char *complaint = rc < 0 ? cli_library_text(q, rc) : NULL;
	int status = cli_exit_status(rc, cli_caught());

	cli_noun_read(&o->common, q, answer.task);
	if (answer.user == NULL) {
		status = cli_report_library(&o->common, q, rc);
	} else {
		if (o->common.json)
			json_request(&answer, rc, status, complaint);
		else if (complaint == NULL)
			text_request(&o->common, q, &answer, rc);
		if (complaint != NULL)
			cli_message("%s", complaint);
	}
	lockq_answer_clear(&answer);
	return status;
}

static int
look_at_history(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_history history = LOCKQ_HISTORY_INIT;
	int rc = lockq_history(q, o->task, o->loan.id, &history);

	cli_noun_of_history(&o->common, q, o->task, &history);
	if (cli_has_answer(rc) && o->common.json)
		json_history(o->loan.id, &history);
	else if (cli_has_answer(rc) && history.n_events > 0)
		text_history(o->loan.id, &history);
	else if (cli_has_answer(rc) && o->task == 0)
		cli_line("no task has a record of loan %llu: it was never assigned, or the records "
		    "were purged", (unsigned long long)o->loan.id);
	else if (cli_has_answer(rc))
		cli_line("task %u has no record of %s %llu: it was never assigned, or the records "
		    "were purged", o->task, cli_loan(), (unsigned long long)o->loan.id);
	lockq_history_clear(&history);
	return cli_looked(&o->common, q, rc);
}

static int
look_at_requests(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_requests requests = LOCKQ_REQUESTS_INIT;
	int rc = lockq_requests(q, o->user, o->task, &requests);

	if (cli_has_answer(rc) && o->common.json)
		json_requests(o->user, &requests);
	else if (cli_has_answer(rc) && requests.n_requests > 0)
		request_lines(o->user, &requests);
	else if (cli_has_answer(rc) && o->task != 0)
		cli_line("%s has no pending request for task %u", o->user, o->task);
	else if (cli_has_answer(rc))
		cli_line("%s has no pending request", o->user);
	lockq_requests_clear(&requests);
	return cli_looked(&o->common, q, rc);
}

static int
look_at_tasks(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_tasks tasks = LOCKQ_TASKS_INIT;
	int rc = lockq_tasks(q, o->user, &tasks);

	if (cli_has_answer(rc) && o->common.json)
		json_tasks(o->user, &tasks);
	else if (cli_has_answer(rc) && tasks.n_tasks > 0)
		text_tasks(o->user, &tasks);
	else if (cli_has_answer(rc))
		cli_line("there are no tasks: a manager makes them, see lockq-schema(5)");
	lockq_tasks_clear(&tasks);
	return cli_looked(&o->common, q, rc);
}

/* The requests first: one that is served meanwhile is shown as pending, and its loans, too. In the
 * other order neither would be shown. */
static int
look_at_pipeline(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	struct lockq_requests requests = LOCKQ_REQUESTS_INIT;
	int rc = lockq_requests(q, o->user, o->task, &requests);

	allow_rest(o, q);
	if (cli_has_answer(rc))
		rc = lockq_pipeline(q, o->user, o->task, &pipeline);
	if (cli_has_answer(rc)) {
		cli_noun_of_pipeline(&o->common, q, o->task, &pipeline);
		cli_pipeline_print(o->common.json, o->user, o->task, &pipeline, &requests);
		if (pipeline.detail_fault != NULL)
			cli_message("a task's own columns are missing: %s", pipeline.detail_fault);
	}
	lockq_pipeline_clear(&pipeline);
	lockq_requests_clear(&requests);
	return cli_looked(&o->common, q, rc);
}

bool
checkwork_choices_wanted(const struct checkwork_choices *o)
{
	return o->kind >= 0 || o->begins != NULL;
}

/* Prints what may be typed as an option's value, for the completion of a shell. */
static int
list_choices(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_choices choices = LOCKQ_CHOICES_INIT;
	int rc = lockq_choices(q, (enum lockq_choice_kind)o->choices.kind, o->user, o->task,
	    o->choices.begins, &choices);

	for (size_t i = 0; i < choices.n_choices; i++) {
		char *value = cli_escape(choices.choices[i].value);
		char *about = cli_escape(choices.choices[i].about);

		printf("%s%s%s\n", value, about[0] != '\0' ? "\t" : "", about);
		free(value);
		free(about);
	}
	lockq_choices_clear(&choices);
	return rc < 0 ? cli_report_library(&o->common, q, rc) : cli_exit_status(rc, cli_caught());
}

int
checkwork_look(const struct checkwork_options *o, struct lockq *q)
{
	if (checkwork_choices_wanted(&o->choices))
		return list_choices(o, q);
	allow_rest(o, q);
	if (o->request != NULL)
		return look_at_request(o, q);
	if (o->loan.given)
		return look_at_history(o, q);
	if (o->tasks)
		return look_at_tasks(o, q);
	return o->pending ? look_at_requests(o, q) : look_at_pipeline(o, q);
}
