/* SPDX-License-Identifier: MIT */
/* A list of loans that may be given, and what finding one comes to. */
#ifndef LOCKQ_LIST_H
#define LOCKQ_LIST_H

#include "task.h"

struct candidate {
	uint64_t loan_id;
	uint64_t version;  /* of its row of work as the query saw it; 0: there was none */
	uint32_t position; /* in the list of the query */
	bool gone;         /* given or dropped by the assignment in progress */
};
/* Where a list comes from: the word for it is the same in leader_run. */
enum list_source {
	LIST_QUERY,     /* the heavy query, over the query connection */
	LIST_CROWDED,   /* the same over the lock connection: no second one was to be had */
	LIST_ELSEWHERE, /* over the connection of lockq_query_at(), on the same tables */
	LIST_REPLICA,   /* the same, on another server's */
	LIST_CACHE,     /* what the last query left */
	LIST_HAND_OVER  /* what the leader's own round left */
};
const char *list_source_name(enum list_source source);
bool list_was_queried(enum list_source source); /* in this round */
/* It may be out of date, and the query here may find more. */
bool list_is_hint(enum list_source source);

struct list {
	struct candidate *list; /* in the view's order */
	size_t n, size;
	size_t next;            /* not looked at yet */
	size_t dropped;
	size_t stale;           /* dropped before, as a hint that was out of date */
	bool complete;          /* there is no more where it comes from */
	bool kept;              /* task_candidate has what is left of it */
	enum list_source source;
	char as_of[TIME_BYTES];
	uint64_t query_ms;
};
/* Whether more is kept than was read: nobody gets less than was asked for from such a list. */
bool list_is_cut(const struct list *list);
/* Whether a request that gets nothing of the list is told so: nothing is left. */
bool list_may_say_empty(enum list_source source, const struct list *list);
LOCKQ_MUST_CHECK enum db_rc list_add(struct list *candidates, uint64_t loan_id,
    uint64_t version, uint32_t position);
void list_clear(struct list *candidates);
/* Each loan where it comes first. */
LOCKQ_MUST_CHECK enum db_rc list_once(struct list *candidates);
/* After a commit: forgets what is gone. */
void list_forget_gone(struct list *candidates);
/* @n of the list as [[loan_id,version],…]. */
void list_json(const struct list *candidates, size_t from, size_t n, struct text *json);

/* A set of loans, as a query returned them in its first column. */
struct loans {
	uint64_t *ids; /* sorted */
	size_t n;
};
/* @query takes @json and @task_id. */
LOCKQ_MUST_CHECK enum db_rc loans_read(struct db *db, const struct db_query *query, const char
    *json, uint32_t task_id, struct loans *loans);
bool loans_have(const struct loans *loans, uint64_t loan_id);
void loans_clear(struct loans *loans);
/* Those of the first @n that are still as the list has them; without a lock. */
LOCKQ_MUST_CHECK enum db_rc list_unchanged(struct db *db, const struct task *task,
    const struct list *candidates, size_t n, struct loans *loans);

/* What a search for a list comes to. */
enum list_result {
	LIST_FOUND,
	LIST_FAILED, /* the view can't be used, or its query ended early */
	LIST_LOST    /* the list of another server can't be had, or is of no use */
};

#endif
