/* SPDX-License-Identifier: MIT */
/* A task's kept list: what a query found and nobody got yet. It has a row in kept_list, and its
 * loans are in kept_loan, under the epoch of the leader that wrote it. Of a task's lists the newest
 * one is used, for as long as its row says. */
#ifndef LOCKQ_KEPT_H
#define LOCKQ_KEPT_H

#include "list/list.h"

/* The newest list, as a plain read saw it. */
struct kept {
	uint64_t epoch;       /* 0: there is none */
	bool is_there;        /* of the task's view, not older than cache_ttl */
	bool usable;          /* the same, and the task is not paused */
	uint32_t length;      /* loans that it began with */
	uint32_t head;        /* so many of its first ones are gone */
	uint32_t touched;     /* loans of task_touched that were put before the first one, as long
	                       * as any of them is there */
	bool has_touched;     /* some may have to be put there */
	bool too_dear;        /* the view can't tell in time whether its loans match */
	char as_of[TIME_BYTES];
	bool due;             /* it is time to fill it anew, while people take from it */
	char failed[REASON_BYTES]; /* why the last try to do so failed; or "" */
	uint32_t user_id;     /* of the user who was named; 0: unknown */
	bool has_asked;       /* that user has a pending request for the task */
};

/* Reads @task, for @user, and its newest list. *@known is false where there is no such task. Takes
 * no lock. */
LOCKQ_MUST_CHECK enum db_rc kept_look(struct db *db, const char *user, struct task *task,
    struct kept *kept, bool *known);

/* How each task and its list stand, for lockq_stats(). The parameters are the task, twice; 0 stands
 * for all of them. */
extern const struct db_query stat_tasks;

/* Finds the tasks whose lists are due; @rows has a task_id each. Takes no lock. */
LOCKQ_MUST_CHECK enum db_rc kept_due(struct db *db, struct db_rows *rows);

/* Writes what is left of @list as the task's newest one, in the lock's transaction, but no more
 * than is likely to be taken: *@length is how many loans it has. The task's
 * manager may have named another view during the query: then nobody uses it. */
LOCKQ_MUST_CHECK enum db_rc kept_begin(struct db *db, const struct task *task,
    const struct lead *lead, const struct list *list, uint64_t *length);

/* Puts loans that an application has touched before the first one of the list, and sets
 * @kept->touched. One transaction of the server's own, which waits for nobody. */
LOCKQ_MUST_CHECK enum db_rc kept_touch(struct db *db, uint32_t task_id, struct kept *kept);

/* Deletes loans of lists that are not used any more, some of them each time; *@n tells how many.
 * An autocommit statement. */
LOCKQ_MUST_CHECK enum db_rc kept_end(struct db *db, uint32_t task_id, uint64_t *n);

#endif
