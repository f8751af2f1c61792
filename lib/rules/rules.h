/* SPDX-License-Identifier: MIT */
/* SQL conditions for statements: which loan may be given, and to which user. The views of
 * schema/doors demand the same of each row. account.h has who may ask for a user, lease.h when a
 * lease ends, forgotten_request.h when nobody looks after a request any more, task.c reads tasks
 * and users, max_pipeline.c has the cap on a user's loans, outcome_state.c the words for how
 * requests end and loans stand. */
#ifndef LOCKQ_RULES_H
#define LOCKQ_RULES_H

#include "rules/lease.h"

/* For a row w of `work`: whether the loan may be given, by the clock of the server that runs the
 * statement. A loan without a row may be given, too. One that was returned for at once, or whose
 * lease had ended, was available then, wherever the clock was set since. */
#define ROW_IS_AVAILABLE \
	"((w.state = 'completed' AND COALESCE(w.available_at <= UTC_TIMESTAMP(6), TRUE))" \
	" OR (w.state = 'returned' AND (w.available_at <= UTC_TIMESTAMP(6)" \
	"                               OR w.available_at IN (w.changed_at, w.lease_expires_at)))" \
	" OR (w.state = 'assigned' AND w.lease_expires_at <= UTC_TIMESTAMP(6)))"

/* How many loans of a task a user holds, as an expression for statements. */
#define LOANS_HELD(user_id, task_id) \
	"(SELECT COUNT(*) FROM work AS w FORCE INDEX (work_pipeline)" \
	"  WHERE w.user_id = " user_id " AND w.task_id = " task_id " AND w.state = 'assigned'" \
	"    AND " LEASE_LASTS ")"

/* --- which loans a task may not give to a user, by its not_same_user_as and its not_again --- */

/* For a row t of the table task: whether it may have such loans at all. */
#define HAS_RULES(t) "(" t ".not_same_user_as IS NOT NULL OR " t ".not_again IS NOT NULL)"

/* Counts, which find the few rows of each loan by index. Of NOT EXISTS the server may make a join
 * with all that is assigned in the other task. */
#define NOT_FOR(task_id, loan_id, user_id) \
	"((SELECT COUNT(*) FROM other_has AS o WHERE o.task_id = " task_id \
	"     AND o.loan_id = " loan_id " AND o.user_id = " user_id ") > 0" \
	" OR (SELECT COUNT(*) FROM other_done AS o WHERE o.task_id = " task_id \
	"        AND o.loan_id = " loan_id " AND o.user_id = " user_id ") > 0" \
	" OR (SELECT COUNT(*) FROM own_done AS o WHERE o.task_id = " task_id \
	"        AND o.loan_id = " loan_id " AND o.user_id = " user_id ") > 0)"

/* For the task t: about how many loans it may not give to the user. By index only, since there may
 * be many. */
#define NOT_FOR_COUNT(t, user_id) \
	"IF(" HAS_RULES(t) "," \
	"   (SELECT COUNT(*) FROM work AS d FORCE INDEX (work_pipeline)" \
	"     WHERE d.user_id = " user_id " AND d.state IN ('assigned', 'completed')" \
	"       AND d.task_id IN (" t ".not_same_user_as," \
	"                         IF(" t ".not_again IS NULL, NULL, " t ".task_id))), 0)"

/* --- the loans that a disposition names --- */

/* As a table for statements: the user variable is set when its transaction begins. */
#define SAID_LOANS \
	"JSON_TABLE(@lockq_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]'," \
	"                                         token BIGINT UNSIGNED PATH '$[1]'))"

#endif
