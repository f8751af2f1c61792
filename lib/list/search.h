/* SPDX-License-Identifier: MIT */
/* Step 4: a leader's search for a list, and what the files of this room do for it. */
#ifndef LOCKQ_SEARCH_H
#define LOCKQ_SEARCH_H

#include "handle/progress.h"
#include "list/list.h"

/* A leader's search for a list: what it needs, and where the result goes. */
struct search {
	struct lockq *q;
	const struct task *task;
	const struct lead *lead;
	uint64_t usual_ms;  /* the usual time of the task's query in milliseconds; 0: not known */
	bool is_short;      /* a short list may do; source_find() makes it false where none does, */
	uint64_t limit;     /* and sets the most loans of the list */
	uint64_t tried;     /* the epoch of the kept list that the call has taken from; 0: none */
	bool fresh;         /* the call wants a query in any case */
	bool refills;       /* it fills the kept list, */
	bool only_due;      /* if that is due */
	struct list *found;
	char *reason;       /* REASON_BYTES: why there is no list, or why it is from this source */
};

/* One run of the heavy query. */
struct reading {
	const struct search *search;
	struct db *db;        /* where it runs */
	struct ticking ticking;
	size_t rows;          /* of the view, in which a loan may stand several times */
	const char *fault;    /* what is wrong with a row; or NULL */
	bool no_memory;
	bool begun;           /* the server has been told to run it */
};

/* view.c: the SQL around the manager's view, and the reading of its rows. */

/* Runs the query and reads the loans into @reading->search->found. Where the view shows loans so
 * often that the list is too short, it runs a second query and notes that in @reason, if that is
 * "". */
LOCKQ_MUST_CHECK enum db_rc view_read(struct reading *reading);
/* Composes the statement around @view, the name in task.candidates_view. Its parameters are the
 * task and the limit. DB_EFAIL where @view is not the name of a view. */
enum { VIEW_SQL_BYTES = 2048 };
LOCKQ_MUST_CHECK enum db_rc view_statement(char sql[VIEW_SQL_BYTES], const char *view);
/* The same for an audit: the leader's statement with a third column, whether the priority is NULL;
 * where the view @repeats its loans, the one that counts each loan once. */
LOCKQ_MUST_CHECK enum db_rc view_audit_statement(char sql[VIEW_SQL_BYTES], const char *view,
    bool repeats);

/* source.c: where a leader's list comes from. */

/* Finds the list to give from, and sets @search->limit. *@result is LIST_FOUND, and the reason may
 * say why the query did not run elsewhere; or LIST_FAILED, and the reason says why; or LIST_KEPT.
 * To be called with the task's lock. */
LOCKQ_MUST_CHECK enum db_rc source_find(struct search *search, enum list_result *result);

/* heavy_query.c: one run of the heavy query. */

/* Runs the heavy query on @db, which is one of the handle's connections. *@result is LIST_FOUND;
 * LIST_FAILED where the view can't be used; or LIST_LOST where the connection of lockq_query_at()
 * was lost or can't run it. With the last two, the search has a reason. An error is returned only
 * for what ends the leader's round: DB_ECANCELLED, DB_ENOMEM, a lost lock connection, a
 * deadlock. */
LOCKQ_MUST_CHECK enum db_rc heavy_query_run(const struct search *search, struct db *db,
    enum list_result *result);

/* replica.c: the heavy query over the connection of lockq_query_at(). */

/* heavy_query_run() over the other connection. *@result is LIST_LOST, with a reason, also where the
 * connection can't be made, or where most of the list is out of date. */
LOCKQ_MUST_CHECK enum db_rc replica_ask(const struct search *search, enum list_result *result);

/* orphan.c: ends the heavy query of a dead leader, the orphan. */

/* To be called with the task's lock, before the heavy query runs on @db. Takes the name (GET_LOCK)
 * of the task's query there; if another connection of this account has the name, that connection
 * is killed. *@ours is false where the name could not be had in ORPHAN_WAIT_S, or another account
 * has it, for which nobody waits; the query may run all the same. @as_of is the server's time. */
LOCKQ_MUST_CHECK enum db_rc orphan_end_and_hold_name(struct db *db, uint32_t task_id, bool *ours,
    char as_of[TIME_BYTES]);
LOCKQ_MUST_CHECK enum db_rc orphan_give_name_back(struct db *db);

/* urgent.c: urgent loans come first in a leader's list. */

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
