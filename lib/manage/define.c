/* SPDX-License-Identifier: MIT */
/* Managers' tasks: lockq_define() makes and changes them, lockq_remove_task() takes them away,
 * lockq_definitions() reads them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/patience.h"
#include "handle/progress.h"
#include "handle/session.h"
#include "list/search.h"
#include "manage/managing.h"
#include "manage/settings.h"
#include "rules/task.h"

static DB_QUERY(manage_define, DB_ONE, "CALL manage_define(?, ?, ?, ?, ?)");
static DB_QUERY(manage_remove, DB_ONE, "CALL manage_remove_2(?, ?, ?, ?, ?)");

static int
check_define(struct lockq *q, const struct lockq_define *what)
{
	const char *fault = error_of_reserved(what->reserved);
	int code = managing_check(q, what->manager, what->reason);

	if (code != LOCKQ_OK)
		return code;
	if (fault != NULL)
		return error_usage(q, "%s", fault);
	if (what->task == 0 && what->adds == 0)
		return error_usage(q, "no task was named");
	if (what->n_settings == 0)
		return error_usage(q, "nothing is to be set");
	return what->adds != 0 ? settings_of_new(q, what->settings, what->n_settings) :
	    LOCKQ_OK;
}

/* Turns the procedure's word into a public code. */
static int
judge_define(struct lockq *q, const char *word, uint32_t task)
{
	if (strcmp(word, "done") == 0)
		return LOCKQ_OK;
	if (strcmp(word, "unknown") == 0)
		return error_unknown_task(q, task);
	if (strcmp(word, "exists") == 0)
		return error_refused(q, "task %u is there already: choose another number, or none "
		    "for the next one", task);
	return error_refused(q, "the log has loans of an earlier task %u: choose another number, "
	    "or none for the next one", task);
}

static int
define(struct lockq *q, const struct lockq_define *what, uint32_t *task)
{
	struct text json = { NULL, 0, 0, false };
	char word[WORD_BYTES] = "", held[32];
	uint64_t number = 0;
	int code;

	error_clear(q);
	code = check_define(q, what);
	if (code == LOCKQ_OK)
		code = settings_to_json(q, what->settings, what->n_settings, &json);
	if (code == LOCKQ_OK && json.failed)
		code = error_from_db(q, NULL, DB_ENOMEM);
	snprintf(held, sizeof(held), what->task != 0 ? "task %u" : "a new task", what->task);
	/* Where the number is the next one, another manager may have taken it. */
	for (unsigned int try = 0; code == LOCKQ_OK && try < DB_TRIES; try++) {
		code = managing_call(q, &manage_define, DB_ARGS(db_text(what->manager),
		    what->task != 0 ? db_u64(what->task) : db_null(), db_bool(what->adds != 0),
		    db_text(json.data), db_text(what->reason)), held, word, &number);
		if (what->task != 0 || strcmp(word, "exists") != 0)
			break;
		db_backoff(try);
	}
	text_clear(&json);
	if (code != LOCKQ_OK)
		return code;
	if (task != NULL)
		*task = (uint32_t)number;
	return judge_define(q, word, (uint32_t)number);
}

int
lockq_define(struct lockq *q, const struct lockq_define *what, uint32_t *task)
{
	operation_begin(q, OPERATION_MANAGE, what->manager, what->task);
	return operation_end(q, 0, define(q, what, task));
}

int
define_checked(struct lockq *q, const char *manager, uint32_t task, uint64_t epoch)
{
	char word[WORD_BYTES] = "", held[32], json[48];
	uint64_t number = 0;
	int code = managing_check(q, manager, NULL);

	snprintf(held, sizeof(held), "task %u", task);
	snprintf(json, sizeof(json), "{\"checked\": %llu}", (unsigned long long)epoch);
	if (code == LOCKQ_OK)
		code = managing_call(q, &manage_define, DB_ARGS(db_text(manager), db_u64(task),
		    db_bool(false), db_text(json), db_null()), held, word, &number);
	return code == LOCKQ_OK ? judge_define(q, word, task) : code;
}

static int
judge_removal(struct lockq *q, const char *word, uint64_t n, uint32_t task)
{
	char noun[LOCKQ_NOUN_SIZE + 1];

	if (strcmp(word, "done") == 0)
		return LOCKQ_OK;
	if (strcmp(word, "unknown") == 0)
		return error_unknown_task(q, task);
	if (strcmp(word, "assigned") == 0)
		return error_refused(q, "%llu %s of task %u %s assigned: let the users dispose of "
		    "them, or release them", (unsigned long long)n, noun_of(q->db, task, n, noun),
		    task, n == 1 ? "is" : "are");
	if (strcmp(word, "led") == 0)
		return error_busy(q, "a process leads task %u: try again when it has served", task);
	return error_busy(q, "task %u is disabled, but %llu %s ended within the last minute, and "
	    "programs may still read how: try again in a minute", task, (unsigned long long)n,
	    n == 1 ? "request has" : "requests have");
}

static int
remove_task(struct lockq *q, const char *manager, uint32_t task, const char *reason)
{
	struct ticking ticking = { .q = q, .phase = LOCKQ_PHASE_EXPIRE, .since = db_clock_ms() };
	char word[WORD_BYTES] = "more", held[32];
	uint64_t n = 0;
	bool begins = true;
	int code = managing_check(q, manager, reason);

	snprintf(held, sizeof(held), "task %u", task);
	while (code == LOCKQ_OK && strcmp(word, "more") == 0) {
		if (tick(&ticking) != 0)
			return LOCKQ_CANCELLED;
		code = managing_call(q, &manage_remove, DB_ARGS(db_text(manager), db_u64(task),
		    db_bool(begins), db_u64(REMOVE_ROWS), db_text(reason)), held, word, &n);
		begins = false;
		ticking.rows += n;
	}
	/* The procedure commits that the task is disabled before it deletes. */
	if (code == LOCKQ_BUSY)
		error_set(q, "another session holds rows of task %u, of which a part may be "
		    "removed by now: the same command goes on", task);
	return code == LOCKQ_OK ? judge_removal(q, word, n, task) : code;
}

int
lockq_remove_task(struct lockq *q, const char *manager, uint32_t task, const char *reason)
{
	operation_begin(q, OPERATION_MANAGE, manager, task);
	return operation_end(q, 0, remove_task(q, manager, task, reason));
}

/* --- lockq_definitions() --- */

struct asked {
	uint32_t task;
	struct lockq_definitions *tasks;
};

static enum db_rc
fill_definition(struct lockq_definition *d, const struct db_rows *rows, size_t row)
{
	enum { PAUSED = N_DEFINING + 1, PAUSED_BY, PAUSED_AT, URGENT };
	enum db_rc rc = DB_OK;

	d->task = (uint32_t)db_cell_u64(rows, row, 0);
	d->settings = calloc(N_DEFINING, sizeof(*d->settings));
	if (d->settings == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; rc == DB_OK && i < N_DEFINING; i++) {
		char *value = NULL;

		rc = copy_text(&value, db_cell(rows, row, i + 1));
		d->settings[i] = (struct lockq_setting){ settings[i].name, value };
		d->n_settings++;
	}
	copy_cell(d->paused_at, sizeof(d->paused_at), rows, row, PAUSED_AT);
	d->urgent = db_cell_u64(rows, row, URGENT);
	if (rc == DB_OK)
		rc = copy_text(&d->paused, db_cell(rows, row, PAUSED));
	return rc == DB_OK ? copy_text(&d->paused_by, db_cell(rows, row, PAUSED_BY)) : rc;
}

static enum db_rc
look_at_definitions(struct patience *patience, void *data, int *code)
{
	const struct asked *asked = data;
	struct lockq_definitions *tasks = asked->tasks;
	struct db_rows rows = { 0, 0, NULL, NULL };
	char sql[2048];
	struct db_query query = { "read_definitions", sql, DB_MANY };
	enum db_rc rc;

	lockq_definitions_clear(tasks);
	snprintf(sql, sizeof(sql), "SELECT t.task_id, %s, t.paused, t.paused_by, t.paused_at,"
	    "  " URGENT_COUNT
	    "  FROM task AS t WHERE ? = 0 OR t.task_id = ? ORDER BY t.task_id", settings_columns);
	rc = db_run(patience->q->db, &query, DB_ARGS(db_u64(asked->task), db_u64(asked->task)),
	    &rows);
	if (rc == DB_OK) {
		tasks->tasks = calloc(rows.n_rows + 1, sizeof(*tasks->tasks));
		rc = tasks->tasks != NULL ? DB_OK : DB_ENOMEM;
	}
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++)
		rc = fill_definition(&tasks->tasks[tasks->n_tasks++], &rows, i);
	db_rows_clear(&rows);
	*code = asked->task != 0 && tasks->n_tasks == 0 && rc == DB_OK ?
	    error_unknown_task(patience->q, asked->task) : error_if_none(tasks->n_tasks);
	return rc;
}

int
lockq_definitions(struct lockq *q, uint32_t task, struct lockq_definitions *tasks)
{
	struct asked asked = { task, tasks };

	lockq_definitions_clear(tasks);
	return patience_look(q, look_at_definitions, &asked);
}

void
lockq_definitions_clear(struct lockq_definitions *tasks)
{
	if (tasks == NULL)
		return;
	for (size_t i = 0; i < tasks->n_tasks; i++) {
		struct lockq_definition *d = &tasks->tasks[i];

		for (size_t n = 0; n < d->n_settings; n++)
			free((char *)(uintptr_t)d->settings[n].value);
		free(d->settings);
		free(d->paused);
		free(d->paused_by);
	}
	free(tasks->tasks);
	*tasks = (struct lockq_definitions)LOCKQ_DEFINITIONS_INIT;
}
