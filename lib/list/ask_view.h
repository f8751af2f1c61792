/* SPDX-License-Identifier: MIT */
/* Asks a task's view about some loans: whether they still match. */
#ifndef LOCKQ_CHECK_H
#define LOCKQ_CHECK_H

#include "rules/task.h"

enum { CHECK_MOST = 1024 }; /* loans of one check */

struct check {
	uint64_t loans[CHECK_MOST]; /* in: their numbers, */
	size_t n;                   /* and how many there are */
	bool shown[CHECK_MOST];     /* out: whether the view shows the loan */
	bool too_dear;              /* out: the view can't tell in time, or not at all, */
	char why[REASON_BYTES / 2]; /* and why */
};

/* For the IN list of a statement about @n loans: writes a "?" for each parameter to @list, and
 * returns how many parameters there are. Such lists have few different lengths, so that few
 * statements are prepared: the caller fills the list up with the last loan. */
enum { CHECK_LIST_BYTES = CHECK_MOST * 3 };
size_t check_list(size_t n, char list[CHECK_LIST_BYTES]);
/* Compares the numbers of two loans, for qsort() and bsearch(). */
int check_compare(const void *a, const void *b);

/* Reads the server's time, for when a check began. */
LOCKQ_MUST_CHECK enum db_rc check_time(struct db *db, char now[TIME_BYTES]);

/* Asks the task's check_view, or else its view, about @check->loans. One autocommit statement, so
 * that no lock on the manager's tables outlives it. Where another session has locked one of those,
 * or the view is at fault, *@too_dear says so, and DB_OK is returned. */
LOCKQ_MUST_CHECK enum db_rc check_loans(struct db *db, const struct task *task,
    struct check *check);

#endif
