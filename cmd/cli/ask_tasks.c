/* SPDX-License-Identifier: MIT */
#include "cli/ask.h"
#include "cli/program.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <uuid/uuid.h>

int
cli_ask_tasks_parse(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct cli_ask *a = target;
	struct cli_ask_tasks *tasks = &a->tasks;
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
			break;
		from += length + 1;
	}
	a->ask.task = tasks->n == 1 ? tasks->tasks[0] : 0;
	if (tasks->n == 1)
		tasks->n = 0;
	return 0;
}

/* The tasks come by their numbers, and keep that order where they have the same place. */
static void
insert(struct cli_ask_tasks *tasks, const struct lockq_task *task)
{
	size_t at = tasks->n < CLI_ASK_TASKS_MOST ? tasks->n++ : tasks->n;

	while (at > 0 && tasks->places[at - 1] > task->any_place) {
		if (at < CLI_ASK_TASKS_MOST) {
			tasks->places[at] = tasks->places[at - 1];
			tasks->tasks[at] = tasks->tasks[at - 1];
		}
		at--;
	}
	if (at < CLI_ASK_TASKS_MOST) {
		tasks->places[at] = task->any_place;
		tasks->tasks[at] = task->task;
	}
}

/* Where the next place begins after that of the task with the number @i. */
static size_t
end_of_place(const struct cli_ask_tasks *tasks, size_t i)
{
	size_t end = i + 1;

	while (end < tasks->n && tasks->places[end] == tasks->places[i])
		end++;
	return end;
}

/* Tasks of one place have no order, so each call begins with another one: else the last of them
 * would be asked only when the others have nothing. */
static void
turn(struct cli_ask_tasks *tasks, size_t i, size_t end)
{
	struct timespec now;
	size_t n = end - i, first;
	uint32_t was[CLI_ASK_TASKS_MOST];

	clock_gettime(CLOCK_MONOTONIC, &now);
	first = ((size_t)now.tv_nsec / 1000 + (size_t)getpid()) % n;
	memcpy(was, tasks->tasks + i, n * sizeof(*was));
	for (size_t k = 0; k < n; k++)
		tasks->tasks[i + k] = was[(first + k) % n];
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

/* Notes which of the tasks are paused: to wait for its manager would keep the user from the other
 * ones. Where all are, none counts as paused. */
static void
note_paused(struct cli_ask_tasks *tasks, const struct lockq_tasks *all)
{
	size_t n = 0;

	memset(tasks->paused, 0, sizeof(tasks->paused));
	for (size_t i = 0; i < tasks->n; i++) {
		for (size_t j = 0; j < all->n_tasks; j++) {
			if (all->tasks[j].task == tasks->tasks[i])
				tasks->paused[i] = all->tasks[j].paused != NULL;
		}
		n += tasks->paused[i];
	}
	if (n == tasks->n)
		memset(tasks->paused, 0, sizeof(tasks->paused));
}

int
cli_ask_tasks_find(struct cli_ask_tasks *tasks, bool any, struct lockq *q,
    const struct lockq_ask *ask)
{
	struct lockq_tasks all = LOCKQ_TASKS_INIT;
	int rc;

	tasks->began = cli_clock_ms();
	lockq_look_timeout(q, ask->timeout_ms);
	rc = lockq_tasks(q, ask->user, &all);
	if (any)
		tasks->n = 0;
	for (size_t i = 0; any && i < all.n_tasks; i++) {
		if (all.tasks[i].enabled && all.tasks[i].any_place > 0)
			insert(tasks, &all.tasks[i]);
	}
	for (size_t i = 0, end; any && i < tasks->n; i = end) {
		end = end_of_place(tasks, i);
		turn(tasks, i, end);
	}
	for (size_t i = 0; !any && i < tasks->n; i++)
		tasks->places[i] = i;
	note_paused(tasks, &all);
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

/* Takes from the lists of the tasks with the numbers from @i to @end. Where that gives loans, or
 * ends the call, @answer is its answer. */
static int
take(const struct cli_ask_tasks *tasks, size_t i, size_t end, struct lockq *q,
    struct lockq_ask *ask, struct lockq_answer *answer)
{
	struct lockq_ask one = *ask;
	int rc = LOCKQ_NOTHING;

	one.wait = LOCKQ_WAIT_LIST;
	one.poll_tries = 0;
	for (; i < end && goes_on(rc); i++) {
		if (tasks->paused[i])
			continue;
		lockq_answer_clear(answer);
		one.timeout_ms = time_left(ask, tasks->began);
		ask->task = tasks->tasks[i];
		rc = ask_one(tasks, i, q, &one, answer);
	}
	return rc;
}

int
cli_ask_tasks(const struct cli_ask_tasks *tasks, struct lockq *q, struct lockq_ask *ask,
    struct lockq_answer *answer, cli_ask_tasks_fn *show, void *data)
{
	struct lockq_ask one = *ask;
	size_t i, end = 0, asked = 0, shown = 0;
	int rc = LOCKQ_NOTHING;

	for (i = 0; i < tasks->n && goes_on(rc); i++) {
		if (tasks->paused[i])
			continue;
		if (shown < asked)
			show(data, answer, rc);
		shown = asked;
		/* A list takes a moment, so those of one place come before its queries. */
		if (i >= end) {
			end = end_of_place(tasks, i);
			if (end - i > 1 && ask->fresh == 0)
				rc = take(tasks, i, end, q, ask, answer);
			if (!goes_on(rc))
				break;
		}
		ask->task = tasks->tasks[i];
		one.timeout_ms = time_left(ask, tasks->began);
		rc = ask_one(tasks, i, q, &one, answer);
		asked++;
	}
	/* A signal has kept the others from being asked, and they may have work. */
	if (i < tasks->n && wants_next(rc)) {
		if (shown < asked)
			show(data, answer, rc);
		lockq_answer_clear(answer);
		rc = LOCKQ_CANCELLED;
	}
	return rc;
}
