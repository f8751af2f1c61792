/* SPDX-License-Identifier: MIT */
/* Judges one trial: a call of a public function in which something has failed. */
#ifndef LOCKQ_TEST_VERDICT_H
#define LOCKQ_TEST_VERDICT_H

#include "scenario.h"

#include <stdio.h>

struct trial {
	const struct scenario *scenario;
	enum fault fault;
	unsigned int nth;
	bool ever;
	unsigned int calls;     /* that could have failed in the last call */
	unsigned int tries;     /* calls of this scenario in which something failed */
	unsigned int faults;    /* of the library, in this scenario */
	char usual[SAID_BYTES]; /* what the function says where nothing fails */
	bool forged;            /* these faults are the test's own, which must be noticed */
	char text[512];         /* for the handler of signals */
};
extern struct trial trial;

/* Notes a fault of the library. The scenario goes on, so that one run shows them all. */
__attribute__((format(printf, 1, 2))) void verdict_wrong(const char *format, ...);

/* How the answer of a call that may have failed is wrong, or NULL. @done: what it was to do is
 * done. @left: what a failed call must take back is still there. */
const char *verdict_of_answer(const struct scenario *s, int code, const char *said,
    const char *error, bool done, bool left);

/* Each notes what the call has left: a lock or a transaction that the server does not end within
 * @patience_ms milliseconds, tables that do not agree with the log, memory. */
void verdict_open(uint64_t patience_ms);
void verdict_log(void);
void verdict_kept(void);

/* Opens a file of the project for reading. */
FILE *open_file(const char *name);

#endif
