/* SPDX-License-Identifier: MIT */
/* The only retry policy: what to do after a failure, by its class, how often it was tried, and for
 * how long. Calls of lockq_getwork() and lockq_dispose() ask it. */
#ifndef LOCKQ_RECOVER_H
#define LOCKQ_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

enum verdict {
	AGAIN,      /* roll back, and the same once more */
	RECONNECT,  /* the same on a new connection: what the old one had open is undone */
	FIND_OUT,   /* on a new connection: was the lost COMMIT done? */
	GIVE_UP
};

/* @tries failures in a row were tried again before this one, for @spent_ms; a server that is away,
 * or behind its cluster, is waited for up to @patience_ms. */
enum verdict recover_verdict(int failure, bool behind, unsigned int tries, uint64_t spent_ms,
    uint64_t patience_ms);

#endif
