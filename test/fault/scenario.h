/* SPDX-License-Identifier: MIT */
/* A scenario: a small real use of one public function on the real server. test_faults.c runs it
 * again and again, and each time another call inside the library fails. */
#ifndef LOCKQ_TEST_SCENARIO_H
#define LOCKQ_TEST_SCENARIO_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault.h"
#include "lockq.h"

#define MANAGER_GROUP "lockq_manager"
#define FOLLOWER_GROUP "lockq_follower"
/* The cursor of these tests. */
#define CURSOR "test_faults"

enum { SAID_BYTES = 4096 };

struct run {
	struct lockq *q;        /* connected, unless the scenario says otherwise */
	char said[SAID_BYTES];  /* what the function has answered, as text; without times */
	struct proxy *proxy;    /* which prepare() has made: the way to the server; or NULL */
	char request[40];       /* a request that prepare() has made */
	struct lockq_loan_ref loans[2];
};

struct scenario {
	const char *function;   /* of lockq.h, which it calls */
	const char *how;        /* what is special in it; or "" */
	const char *group;      /* of the option file: the account that calls it; NULL: APP_GROUP */
	/* Makes the rows that the call needs. The tables of TASK are empty before. */
	void (*prepare)(struct run *run);
	/* The call: nothing else happens while calls fail. Adds to run->said what is answered. */
	int (*call)(struct run *run);
	/* SQL whose one number is 1 if the call has done what it is for, and 0 if it has done
	 * nothing of it. NULL: it changes nothing. */
	const char *done;
	/* SQL that counts what a failed call must have taken back, as a request that nobody waits
	 * for. NULL: nothing. */
	const char *left;
	int code;               /* what the call returns where nothing fails */
	bool unconnected;       /* the call itself makes or connects the handle */
	bool changes;           /* it changes rows, although @done is NULL */
	bool gives_up;          /* its progress function gives up in the end, or it would wait
	                         * for ever */
	bool once;              /* what it has done can't be done again: a repetition is refused */
	bool ends;              /* a failed call may have ended its request, so a repetition may be
	                         * refused although nothing was done */
	bool goes_on;           /* a repetition says only what the failed call has not said yet */
};

/* Adds to run->said, formatted like printf(). */
__attribute__((format(printf, 2, 3))) void say(struct run *run, const char *format, ...);

/* User 0 has two loans, and has returned one with a note; user 1 waits; a leader has led. */
void some_history(struct run *run);

/* Ends with a scenario whose function is NULL. */
extern const struct scenario ask_scenarios[], dispose_scenarios[], look_scenarios[],
    manage_scenarios[], handle_scenarios[];

#endif
