/* SPDX-License-Identifier: MIT */
/* How long a call that only looks waits where other sessions have locked a table. */
#ifndef LOCKQ_PATIENCE_H
#define LOCKQ_PATIENCE_H

#include "handle/held.h"

struct patience {
	struct lockq *q;
	uint64_t since;        /* db_clock_ms() */
	uint64_t deadline;     /* the same */
	char held[HELD_BYTES]; /* what the call waits for; "": not known yet */
};

/* How long the call may still take, in milliseconds: a second at least, since it has begun. */
uint64_t patience_left(const struct patience *patience);
/* The call waits anew for as long as lockq_look_timeout() said. For a look that has waited for
 * something else. */
void patience_renew(struct patience *patience);
/* Bounds the waits on the connection, which may be a new one. */
LOCKQ_MUST_CHECK enum db_rc patience_ready(const struct patience *patience);

/* Reads; may be called again, and then begins anew. Sets *@code where there is no error of the
 * database, but a public code to return. */
typedef enum db_rc look_fn(struct patience *patience, void *data, int *code);
/* Runs @look on a connection that lives, and again while a table is locked. Returns a public
 * code. */
LOCKQ_MUST_CHECK int patience_look(struct lockq *q, look_fn *look, void *data);
/* The same for operators, whose account needs no more than the right to look: if that is missing,
 * the message names its role. */
LOCKQ_MUST_CHECK int patience_look_as_viewer(struct lockq *q, look_fn *look, void *data);

#endif
