/* SPDX-License-Identifier: MIT */
/*
 * Asking for loans, as getwork and runwork do. ask.c has the options, the call, the answer, and why
 * there are no loans; ask_tasks.c asks several tasks; behind.c has the processes that go on when
 * the program has ended.
 */
#ifndef LOCKQ_CMD_CLI_ASK_H
#define LOCKQ_CMD_CLI_ASK_H

#include "cli/program.h"

enum { CLI_ASK_TASKS_MOST = 64, CLI_ASK_GAP_LONGEST_S = 3600 };

struct cli_ask_tasks {
	uint32_t tasks[CLI_ASK_TASKS_MOST];  /* in the order in which they are asked */
	size_t n;                            /* 0: one task is asked */
	bool unshared;                       /* each request has a UUID of its own */
	uint64_t places[CLI_ASK_TASKS_MOST]; /* those of one place are asked as one */
	bool paused[CLI_ASK_TASKS_MOST];     /* these are not asked */
	uint64_t began;                      /* when the time began to count; cli_clock_ms() */
};

struct cli_ask {
	struct lockq_ask ask;       /* complete after cli_ask_check() */
	struct cli_ask_tasks tasks; /* what --task names, if it is more than one, or --any finds */
	bool any;
	uint32_t count;             /* 0: not given */
	bool fresh;
	struct cli_gaps poll;
	uint32_t tries;             /* 0: no limit */
	bool no_refill;
};
#define CLI_ASK_DEFAULTS { .ask = LOCKQ_ASK_INIT }

cli_parse_fn cli_ask_tasks_parse;

/* Rows of a tool's table; ASK(member) is the offset of a member of the struct cli_ask. */
#define CLI_ASK_WHAT(ASK) \
	{ .help = "What to ask for" }, \
	{ "user", 'u', "NAME", "the user (default: LOCKQ_USER, else lockq-user\n" \
	    "in an option file, else your login)", cli_parse_utf8, ASK(ask.user), 0, 0 }, \
	{ "task", 't', "N[,N...]", "the task's number, or the first of these that has\n" \
	    "loans (default: LOCKQ_TASK, else lockq-task in an\n" \
	    "option file)", cli_ask_tasks_parse, ASK(ask), 1, \
	    UINT32_MAX }, \
	{ "tasks", 0, "N,N,...", "the same as --task", cli_ask_tasks_parse, ASK(ask), 1, \
	    UINT32_MAX }, \
	{ "any", 0, NULL, "the same for tasks that have a place (managetask set\n" \
	    "N --any-place 1), the smallest first", cli_parse_flag, ASK(any), 0, 0 }, \
	{ "count", 'n', "N", "how many loans (default: 1)", cli_parse_u32, ASK(count), 1, \
	    LOCKQ_COUNT_MAX }, \
	{ "uuid", 0, "UUID", "of the request: a repeated call with the same UUID\n" \
	    "has the same loans", cli_parse_uuid, ASK(ask.uuid), 0, 0 }, \
	{ "fresh", 0, NULL, "only loans of a query that begins after the request", \
	    cli_parse_flag, ASK(fresh), 0, 0 }
#define CLI_ASK_WAIT(ASK) \
	{ .help = "How to wait while somebody else's query runs" }, \
	{ "timeout", 0, "SECONDS", "give up after this long; 0: do not wait", cli_parse_seconds, \
	    ASK(ask.timeout_ms), 0, CLI_WAIT_MAX_S }, \
	{ "poll", 0, "S,S,...", "disconnect, and look again after these seconds;\n" \
	    "the last number repeats", cli_parse_gaps, ASK(poll), 1, CLI_ASK_GAP_LONGEST_S }, \
	{ "tries", 0, "N", "with --poll: give up after so many looks", cli_parse_u32, ASK(tries), \
	    1, UINT32_MAX }
#define CLI_ASK_REFILL(ASK) \
	{ "no-refill", 0, NULL, "leave no process that fills a list which is due, or\n" \
	    "leads on after --timeout (also: lockq-no-refill in\n" \
	    "an option file)", cli_parse_flag, ASK(no_refill), 0, 0 }

/* Whether several tasks are named, or --any was given. */
bool cli_ask_several(const struct cli_ask *a);

/* Checks these options together, and completes @a->ask. Returns 0, or -1 with @error. */
LOCKQ_MUST_CHECK int cli_ask_check(struct cli_ask *a, struct cli_error *error);

/* For several tasks, finds out about them. Returns false, with the exit status in *@status, where
 * there is nothing to ask. */
LOCKQ_MUST_CHECK bool cli_ask_find(const struct cli_common *common, struct cli_ask *a,
    struct lockq *q, int *status);

/* Asks, and returns what lockq_getwork() has returned. Of several tasks, prints the answers of
 * those that had no loans. */
LOCKQ_MUST_CHECK int cli_ask_for_loans(const struct cli_common *common, struct cli_ask *a,
    struct lockq *q, struct lockq_answer *answer);

/* Prints the answer of a call that ended with @rc, and the message about it. Returns the exit
 * status. */
int cli_ask_show(const struct cli_common *common, const struct cli_ask *a, struct lockq *q,
    struct lockq_answer *answer, int rc);

/* Fills the task's list behind the caller's back, if it is due and nothing forbids that. */
void cli_ask_fill_due(const struct cli_common *common, const struct cli_ask *a, struct lockq *q);

/*
 * The message for the return code @rc, made with the library's text for it. NULL where standard
 * output already has the answer. free() it.
 */
char *cli_ask_message(const struct lockq_ask *ask, const struct lockq_answer *answer, int rc,
    const char *library_text);

/* --- ask_tasks.c --- */

/* Makes a UUID: a request with one does not join another process's. */
void cli_new_uuid(char uuid[37]);

/* Notes the places of @tasks, those that are named or @any, and which are paused. For @any, first
 * fills it with the enabled tasks that have a place, in their order: the first ones, if there are
 * more than it has room for. @ask->timeout_ms counts from here on. Returns what lockq_tasks()
 * returns. */
LOCKQ_MUST_CHECK int cli_ask_tasks_find(struct cli_ask_tasks *tasks, bool any, struct lockq *q,
    const struct lockq_ask *ask);

/* Shows the answer of a task that had no loans, before the next one is asked. */
typedef void cli_ask_tasks_fn(void *data, struct lockq_answer *answer, int rc);

/* Asks as @ask says, but for the tasks of @tasks, in their order, each as getwork --task does. Of
 * tasks with one place, the lists are asked first. Paused tasks are passed over, unless all are.
 * Ends at the first loans. @ask->task and @answer are then those of the last task that was asked.
 * Returns what lockq_getwork() has returned for it. */
LOCKQ_MUST_CHECK int cli_ask_tasks(const struct cli_ask_tasks *tasks, struct lockq *q,
    struct lockq_ask *ask, struct lockq_answer *answer, cli_ask_tasks_fn *show, void *data);

/* --- behind.c --- */

/*
 * If the list of @task is due, and nobody else has begun to fill it, starts a process that does so
 * behind the caller's back. That one has nothing of the caller's: no terminal, no file, no
 * connection. So a pipe, a shell and ssh do not wait for it. @q is the handle that asked; where its
 * option files say lockq-no-refill, nothing is started. Returns in the caller only.
 */
void cli_fill_due(const struct cli_common *common, struct lockq *q, uint32_t task);

/* To be called before a call that may lead: when its time is over, a process leads on in its place,
 * and has nothing of the caller's but the connections. With @no_process, or lockq-no-refill in an
 * option file, the call leads on itself, and a message says so. */
void cli_watch_overtime(struct lockq *q, bool no_process);

/* To be called after it: ends that process, which has led by then. */
void cli_end_behind(struct lockq *q);

#endif
