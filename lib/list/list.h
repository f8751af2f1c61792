/* SPDX-License-Identifier: MIT */
/* A list of loans that may be given, and where it comes from. */
#ifndef LOCKQ_LIST_H
#define LOCKQ_LIST_H

#include "rules/task.h"

struct candidate {
	uint64_t loan_id;
	uint64_t version;  /* of its row of work as the query saw it; 0: there was no row */
	uint32_t position; /* in the list of the query, from 0 */
	bool gone;         /* given or dropped by the transaction in progress */
	bool held;         /* another process is about to take it from the kept list */
};

/* Where a list comes from; leader_run.how has the same words. */
enum list_source {
	LIST_QUERY,     /* the heavy query on the query connection */
	LIST_CROWDED,   /* the query on the lock connection: no second one was to be had */
	LIST_ELSEWHERE, /* the query over the connection of lockq_query_at(), on the same tables */
	LIST_REPLICA,   /* the query over that connection, on another server or database */
	LIST_HAND_OVER  /* what the leader's own round left */
};
const char *list_source_name(enum list_source source);
/* Whether a query ran for the list in this round. */
bool list_was_queried(enum list_source source);
/* Whether the list may be out of date, so that the query here may find more. */
bool list_is_hint(enum list_source source);

/* Zero-initialise it, and release it with list_clear(). */
struct list {
	struct candidate *list; /* in the view's order */
	size_t n, size;
	size_t next;            /* the first that was not checked yet */
	size_t dropped;         /* by the checks of the transaction in progress */
	size_t unshown;         /* the same, since the view does not show them any more */
	size_t unsure;          /* of those dropped: whether they are available now is not known */
	bool complete;          /* its source has no more */
	bool cut;               /* only a part was read: no request gets less than it asked for */
	bool kept;              /* kept_loan has what is left of it */
	enum list_source source;
	char as_of[TIME_BYTES]; /* when its query began, by the server's clock */
	uint64_t query_ms;      /* how long that took, in milliseconds */
	bool too_dear;          /* the view can't tell in time whether some loans match */
	uint64_t check_ms;      /* what asking it took in milliseconds, where it could */
	bool unasked;           /* it could not about some of those to be given */
	char checked[TIME_BYTES]; /* when it was first asked about loans to be given; or "" */
};
/* How many loans to read where @wanted are asked for, since others will ask. */
uint64_t list_enough(uint64_t wanted);
/* Whether "no work" is true for a request that gets nothing of the list. @source is the round's:
 * LIST_HAND_OVER where the list was found for an earlier one. */
bool list_may_say_empty(enum list_source source, const struct list *list);
LOCKQ_MUST_CHECK enum db_rc list_add(struct list *list, uint64_t loan_id, uint64_t version,
    uint32_t position);
void list_clear(struct list *list);
/* Keeps each loan at its first place only. */
LOCKQ_MUST_CHECK enum db_rc list_once(struct list *list);
/* Removes the candidates that are gone, after the COMMIT. */
void list_forget_gone(struct list *list);
/* Adds @n candidates from @from on to @json as [[loan_id,version],…]. */
void list_json(const struct list *list, size_t from, size_t n, struct text *json);

/* How a search for a list ends. */
enum list_result {
	LIST_FOUND,
	LIST_KEPT,   /* none is needed: another process has left a kept one meanwhile */
	LIST_FAILED, /* the view can't be used, or its query ended early */
	LIST_LOST    /* the list of another server can't be had, or is out of date */
};

#endif
