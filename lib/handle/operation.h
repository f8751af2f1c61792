/* SPDX-License-Identifier: MIT */
/* What the calls of a handle met, for operators: each call is counted where it was held up, and
 * told to the function of lockq_on_log(). */
#ifndef LOCKQ_OPERATION_H
#define LOCKQ_OPERATION_H

#include "db/db.h"

/* The words are in operation.c; those that are counted are in the table task_trouble, too. */
enum operation {
	OPERATION_NONE, OPERATION_CONNECT, OPERATION_LOOK, OPERATION_GETWORK, OPERATION_CANCEL,
	OPERATION_DISPOSITION, OPERATION_EXPIRE, OPERATION_REFILL, OPERATION_MANAGE,
	OPERATION_FOLLOW
};

/* The call in progress. */
struct operating {
	enum operation operation; /* OPERATION_NONE: none */
	char user[64 * 4 + 1];    /* for whom; or "" */
	uint32_t task;            /* 0: none in particular */
	uint64_t since;           /* db_clock_ms() */
	struct db_watch watch;    /* of all connections */
	lockq_log_fn *log;        /* or NULL */
	void *log_data;
};

/* The first thing that a public call does once its arguments are checked. */
void operation_begin(struct lockq *q, enum operation operation, const char *user, uint32_t task);

/* The last thing that it does: adds what it met to task_trouble, in a statement of its own, and
 * tells the log. A call that was not held up runs no statement here. @request_id is 0 where there
 * is none. Returns @code. */
LOCKQ_MUST_CHECK int operation_end(struct lockq *q, uint64_t request_id, int code);

#endif
