/* SPDX-License-Identifier: MIT */
/* A task's kept list: what a query found and nobody got yet. It has a row in kept_list, and its
 * loans are in kept_loan, under the epoch of the leader that wrote it. Of a task's lists the newest
 * one is used, for as long as its row says. */
#ifndef LOCKQ_KEPT_H
#define LOCKQ_KEPT_H

#include "list.h"
#include "lock.h"

/* The newest list l of a task t. */
#define NEWEST_LIST \
	"l.task_id = t.task_id" \
	" AND l.epoch = (SELECT MAX(n.epoch) FROM kept_list AS n WHERE n.task_id = t.task_id)"

/* For a task t and its newest list l, which may be none: when the list is to be filled anew. Its
 * time counts from the start of the query. What is left must last for twice as long as a query
 * takes, as fast as loans were taken from the list before, or are from this one. The next query
 * begins no sooner after the last one's end than that one took. A list that has had no loans
 * is due by the clock only. A task that nobody has asked for lately needs no list; whoever reads
 * its row for a user asks. */
#define TASK_IS_ASKED_FOR \
	"(SELECT n.created_at FROM work_requested AS n FORCE INDEX (work_requested_line)" \
	"  WHERE n.task_id = t.task_id AND n.pending IS NULL" \
	"  ORDER BY n.task_id DESC, n.pending DESC, n.request_id DESC LIMIT 1)" \
	" > NOW(6) - INTERVAL t.cache_ttl SECOND"
#define LIST_IS_DUE \
	"COALESCE(t.enabled AND t.paused IS NULL AND t.cache_ttl > 0" \
	" AND t.share = 'order'" \
	" AND (l.epoch IS NULL OR l.candidates_view <> t.candidates_view" \
	"      OR (l.as_of < NOW(6) - INTERVAL 2000 * l.query_ms MICROSECOND" \
	"          AND (l.as_of <= NOW(6) - INTERVAL LEAST(COALESCE(t.refresh_after," \
	"                                                           t.cache_ttl DIV 2)," \
	"                                                  t.cache_ttl) SECOND" \
	"               OR ((l.length > 0 OR NOT l.complete)" \
	"                   AND (CAST(l.length AS SIGNED) - l.head) * 3600000 < 2 * l.query_ms" \
	"                       * GREATEST(l.taken_per_h, l.head * 3600" \
	"                           DIV (TIMESTAMPDIFF(SECOND, l.as_of, NOW(6)) + 1)))))), FALSE)"

/* The newest list, as a plain read saw it. */
struct kept {
	uint64_t epoch;       /* 0: there is none */
	bool usable;          /* of the task's view, not older than cache_ttl */
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
