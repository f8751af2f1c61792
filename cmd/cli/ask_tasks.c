/* SPDX-License-Identifier: MIT */
#include "cli/ask.h"
#include "cli/program.h"

#include <stdlib.h>
#include <string.h>

#include <uuid/uuid.h>

int
cli_ask_tasks_parse(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct cli_ask_tasks *tasks = target;
	const char *from = text;

	tasks->n = 0;
	for (;;) {
		size_t length = strcspn(from, ",");
		char *one = cli_text("%.*s", (int)length, from);
		uint32_t task = 0;
		int rc = cli_parse_u32(option, one, &task, error);

		free(one);
		for (size_t i = 0; rc == 0 && i < tasks->n; i++) {
			if (tasks->tasks[i] == task)
				rc = cli_fail(error, "--%s names task %u twice", option->name,
				    task);
		}
		if (rc == 0 && tasks->n == CLI_ASK_TASKS_MOST)
			rc = cli_fail(error, "--%s has %d tasks at most", option->name,
			    CLI_ASK_TASKS_MOST);
		if (rc != 0)
			return rc;
		tasks->tasks[tasks->n++] = task;
		if (from[length] == '\0')
			return 0;
		from += length + 1;
	}
}

/* The tasks come by their numbers, and keep that order where they have the same place. */
static void
insert(struct cli_ask_tasks *tasks, uint64_t places[], const struct lockq_task *task)
{
	size_t at = tasks->n < CLI_ASK_TASKS_MOST ? tasks->n++ : tasks->n;

	while (at > 0 && places[at - 1] > task->any_place) {
		if (at < CLI_ASK_TASKS_MOST) {
			places[at] = places[at - 1];
			tasks->tasks[at] = tasks->tasks[at - 1];
		}
		at--;
	}
	if (at < CLI_ASK_TASKS_MOST) {
		places[at] = task->any_place;
		tasks->tasks[at] = task->task;
	}
}

/* How much is left of @ask->timeout_ms. */
static int64_t
time_left(const struct lockq_ask *ask, uint64_t began)
{
	int64_t spent = (int64_t)(cli_clock_ms() - began);

	if (ask->timeout_ms < 0)
		return ask->timeout_ms;
	return ask->timeout_ms > spent ? ask->timeout_ms - spent : 0;
}

int
cli_ask_tasks_find(struct cli_ask_tasks *tasks, struct lockq *q, const struct lockq_ask *ask)
{
	struct lockq_tasks all = LOCKQ_TASKS_INIT;
	uint64_t places[CLI_ASK_TASKS_MOST];
	int rc;

	tasks->began = cli_clock_ms();
	lockq_look_timeout(q, ask->timeout_ms);
	rc = lockq_tasks(q, ask->user, &all);
	tasks->n = 0;
	for (size_t i = 0; i < all.n_tasks; i++) {
		if (all.tasks[i].enabled && all.tasks[i].any_place > 0)
			insert(tasks, places, &all.tasks[i]);
	}
	lockq_tasks_clear(&all);
	return rc;
}

/* Whether the next task is to be asked after this one. A commit in doubt may have given loans. */
static bool
wants_next(int rc)
{
	return rc == LOCKQ_NOTHING || rc == LOCKQ_EREFUSED || rc == LOCKQ_EQUERY ||
	    rc == LOCKQ_BUSY;
}

static bool
goes_on(int rc)
{
	return cli_caught() == 0 && wants_next(rc);
}

void
cli_new_uuid(char uuid[37])
{
	uuid_t bytes;

	uuid_generate(bytes);
	uuid_unparse_lower(bytes, uuid);
}

/* Asks the task with the number @i as @one says. */
static int
ask_one(const struct cli_ask_tasks *tasks, size_t i, struct lockq *q, struct lockq_ask *one,
    struct lockq_answer *answer)
{
	char uuid[37];
	int rc;

	one->task = tasks->tasks[i];
	if (tasks->unshared) {
		cli_new_uuid(uuid);
		one->uuid = uuid;
	}
	rc = lockq_getwork(q, one, answer);
	cli_end_behind(q);
	one->uuid = NULL;
	return rc;
}

/* Notes which of the tasks are paused: to wait for its manager would keep the user from the other
 * ones. Where all are, or nobody can tell, none counts as paused. */
static void
find_paused(const struct cli_ask_tasks *tasks, struct lockq *q, const struct lockq_ask *ask,
    int64_t time_left_ms, bool paused[])
{
	struct lockq_tasks all = LOCKQ_TASKS_INIT;
	size_t n = 0;
	int rc;

	lockq_look_timeout(q, time_left_ms);
	rc = lockq_tasks(q, ask->user, &all);
	for (size_t i = 0; i < tasks->n; i++) {
		for (size_t j = 0; rc == LOCKQ_OK && j < all.n_tasks; j++) {
			if (all.tasks[j].task == tasks->tasks[i])
				paused[i] = all.tasks[j].paused != NULL;
		}
		n += paused[i];
	}
	lockq_tasks_clear(&all);
	if (n == tasks->n)
		memset(paused, 0, n * sizeof(*paused));
}

int
cli_ask_tasks(const struct cli_ask_tasks *tasks, struct lockq *q, struct lockq_ask *ask,
    struct lockq_answer *answer, cli_ask_tasks_fn *show, void *data)
{
	struct lockq_ask one = *ask;
	bool paused[CLI_ASK_TASKS_MOST] = { false }, look = ask->fresh != 0, locked = false;
	uint64_t began = tasks->began != 0 ? tasks->began : cli_clock_ms();
	size_t i, asked = 0;
	int rc = LOCKQ_NOTHING;

	one.wait = LOCKQ_WAIT_LIST;
	one.poll_tries = 0;
	for (i = 0; ask->fresh == 0 && i < tasks->n && goes_on(rc); i++) {
		/* Each of the tasks is asked once more below. */
		if (locked && time_left(ask, began) == 0)
			break;
		ask->task = tasks->tasks[i];
		rc = ask_one(tasks, i, q, &one, answer);
		look = look || rc == LOCKQ_BUSY;
		/* A paused task has a reason. What is locked was waited for. */
		locked = rc == LOCKQ_BUSY && answer->reason == NULL;
	}
	one.wait = ask->wait;
	one.poll_tries = ask->poll_tries;
	if (look && goes_on(rc) && (!locked || time_left(ask, began) != 0))
		find_paused(tasks, q, ask, time_left(ask, began), paused);
	for (i = 0; i < tasks->n && goes_on(rc); i++) {
		if (paused[i])
			continue;
		if (asked++ > 0)
			show(data, answer, rc);
		ask->task = tasks->tasks[i];
		one.timeout_ms = time_left(ask, began);
		rc = ask_one(tasks, i, q, &one, answer);
	}
	/* A signal has kept the others from being asked, and they may have work. */
	if (i < tasks->n && wants_next(rc)) {
		if (asked > 0)
			show(data, answer, rc);
		lockq_answer_clear(answer);
		rc = LOCKQ_CANCELLED;
	}
	return rc;
}
