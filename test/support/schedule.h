/* SPDX-License-Identifier: MIT */
/* Reads a schedule of test/model/schedules: a counterexample of test/model/lockq.pml, one event a
 * line, as the model prints it. test/db/getwork/test_schedule.c includes this. */
#ifndef LOCKQ_TEST_SCHEDULE_H
#define LOCKQ_TEST_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

enum { SCHEDULE_LINES = 120, SCHEDULE_REQUESTERS = 3, SCHEDULE_TEXT = 100 };

/* Whose event a line is, if it is no requester's. */
enum { MANAGER = -1, OF_A_LOAN = -2 };

/* What an event of the model is in the library. */
struct step {
	const char *says;      /* as the model prints it */
	/* The statement that does it, as proxy_hold() has it. NULL: none of its own. */
	const char *statement;
	enum {
		ALWAYS,        /* the statement is this step wherever it comes, */
		MAY_LACK,      /* and the library may go without it, or have it elsewhere; */
		MAY_REPEAT,    /* the same for one that may come twice, */
		OUTSIDE,       /* or only without the task's lock, */
		WHEN_DUE,      /* or only where this is the requester's next line */
		LAST,          /* the call ends */
		FAULT
	} kind;
};

struct line {
	int who;               /* a requester from 0 on, MANAGER, or OF_A_LOAN */
	const struct step *step; /* of a requester */
	char text[SCHEDULE_TEXT];
	int loan;              /* OF_A_LOAN: from 0 on */
};

struct schedule {
	char name[SCHEDULE_TEXT];     /* of the file, and of the test */
	char property[SCHEDULE_TEXT]; /* of the model, which is broken without the guard */
	char left[SCHEDULE_TEXT];     /* the line that the library does not follow any more: it has
	                               * the guard. Empty: it can follow each */
	unsigned int loans, limit;    /* LOANS and LIMIT of the model; 0: no limit */
	bool lease;                   /* a user has loan 1 at the start */
	int n_requesters;
	bool no_wait[SCHEDULE_REQUESTERS];
	struct line lines[SCHEDULE_LINES];
	size_t n;
};

/* Reads the schedule from a file. The process ends if it has a line that is not known. */
void schedule_read(struct schedule *schedule, const char *folder, const char *name);
/* Whether the statement is held: as a step of the model, or as that of @due, which may be NULL.
 * *@locked says whether the requester has the task's lock; the function keeps it up to date. */
bool schedule_holds(const char *statement, const struct step *due, bool *locked);
/* Whether this statement does the step. */
bool schedule_is(const struct step *step, const char *statement);
/* Whether this statement reads who leads. The model has this only after a try that found the lock
 * taken, but lock_try() begins with it, before its look. */
bool schedule_reads_dirty(const char *statement);
/* Whether the library may have this statement where the model has not: it only reads, or locks. */
bool schedule_may_come(const char *statement);
/* Whether a step is a look at the requester's own row, before the lock is tried. */
bool schedule_looks(const struct step *step);
/* Whether this statement is a follower's wait, or the heavy query. */
bool schedule_waits(const char *statement);
/* Returns the requester's next line from @from on, or NULL. */
const struct line *schedule_next(const struct schedule *schedule, int who, size_t from);

#endif
