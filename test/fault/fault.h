/* SPDX-License-Identifier: MIT */
/* Faults inside the library: an allocation, or a call of the client library, fails. The test is
 * linked with a copy of the library in which those calls have other names, see the Makefile, and
 * memory.c, client.c and time.c have the functions of these names. So the library's code is as it
 * is installed, and a fault meets its calls only, not those inside the client library. */
#ifndef LOCKQ_TEST_FAULT_H
#define LOCKQ_TEST_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* How a call fails. The kinds but the first are of calls of the client library. Of those that only
 * work in memory, such as mysql_stmt_init(), no more than FAULT_NO_MEMORY is possible. */
enum fault {
	FAULT_ALLOCATION,   /* there is no memory */
	FAULT_LOST,         /* the connection is cut before the server hears of the call */
	FAULT_ANSWER_LOST,  /* the server does it, and the connection is cut before its answer */
	FAULT_NO_MEMORY,    /* the client library has no memory, and does nothing */
	FAULT_DONE_NO_MEMORY, /* the server does it, and there is no memory for its answer */
	FAULTS
};

/* The @nth call of this thread, from 1, that can fail like this, does. @ever: and so do all that
 * follow. After FAULT_ANSWER_LOST, these are FAULT_LOST, since no server can be reached. 0: none
 * fails, and they are counted. */
void fault_arm(enum fault fault, unsigned int nth, bool ever);
/* No call fails any more. Returns how many there were that could have failed. */
unsigned int fault_disarm(void);
/* Whether a call has failed since fault_arm(). */
bool fault_hit(void);
/* While @paused is true, calls of this thread neither fail nor count: what the test itself does. */
void fault_pause(bool paused);
/* The name of the first function that has failed since fault_arm(), or "". */
const char *fault_where(void);

/* While @tracked is true, what the library allocates in this thread, or gets from the client
 * library, is noted until it is released. fault_kept() returns how many of them are left, and
 * *@what, if it is not NULL, is what the oldest one came from. fault_forget() forgets them. */
void fault_track(bool tracked);
size_t fault_kept(const char **what);
void fault_forget(void);

/* For memory.c and client.c: a call @name, which works @on_server or only in memory. Returns how it
 * fails, or FAULTS if it does not. */
enum fault fault_next(const char *name, bool on_server);
bool fault_allocation(const char *name);
void fault_took(const void *thing, const char *from);
void fault_gave(const void *thing);

#endif
