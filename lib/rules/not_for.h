/* SPDX-License-Identifier: MIT */
/* The SQL condition for a loan that a task may not give to a user, by its not_same_user_as and its
 * not_again. The views of schema/doors say what these mean, and the doors keep it; here such
 * loans are only left out. */
#ifndef LOCKQ_NOT_FOR_H
#define LOCKQ_NOT_FOR_H

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

#endif
