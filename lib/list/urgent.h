/* SPDX-License-Identifier: MIT */
/* Step 4: urgent loans come first in a leader's list. */
#ifndef LOCKQ_URGENT_H
#define LOCKQ_URGENT_H

#include "list/view.h"

/* For an urgent row o of task_touched, and the row w of `work` of its loan, or none: whether the
 * loan still waits to be given. */
#define URGENT_WAITS \
	"(o.touched_at > NOW(6) - INTERVAL 7 DAY AND COALESCE(w.assigned_at < o.touched_at, TRUE))"
/* How many such loans the task t has. */
#define URGENT_COUNT \
	"(SELECT COUNT(DISTINCT o.loan_id)" \
	"   FROM task_touched AS o FORCE INDEX (task_touched_urgent)" \
	"   LEFT JOIN work AS w FORCE INDEX (PRIMARY)" \
	"     ON w.task_id = o.task_id AND w.loan_id = o.loan_id" \
	"  WHERE o.task_id = t.task_id AND o.urgent = 1 AND " URGENT_WAITS ")"

/* Puts the urgent loans that the view shows first in @search->found, in the order of the view. One
 * that a list which LIMIT has cut does not have is added to it, if the view tells in time that it
 * shows the loan. Nothing fails by it: where it can't be done, the list stays as it is. DB_ENOMEM
 * is the only error. */
LOCKQ_MUST_CHECK enum db_rc urgent_first(const struct search *search);

#endif
