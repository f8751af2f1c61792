/* SPDX-License-Identifier: MIT */
/* The only retry policy: what to do after a failure, by its class, how often it was tried again,
 * and for how long. A pure table; the rooms that ask it do what it says. */
#ifndef LOCKQ_RETRY_H
#define LOCKQ_RETRY_H

#include "db.h"

enum verdict {
	AGAIN,      /* roll back, and the same once more */
	RECONNECT,  /* the same on a new connection: the server undoes what the old one had open */
	FIND_OUT,   /* on a new connection: was the lost COMMIT done? */
	GIVE_UP
};

/* @tries failures in a row were tried again before this one, for @spent_ms; a server that is away,
 * or @behind its cluster, is waited for up to @patience_ms. */
enum verdict retry_verdict(enum db_rc failure, bool behind, unsigned int tries, uint64_t spent_ms,
    uint64_t patience_ms);
/* Whether another try, without finding out anything, is what the table has for it. */
bool retry_cures(enum db_rc failure);

/* Runs @body between BEGIN and COMMIT; where it @begins, @body does the BEGIN itself. After a
 * failure whose verdict is AGAIN the transaction is rolled back, and the whole of it is run again,
 * with backoff and jitter. Adds the number of further tries to *@retries, which may be NULL. */
typedef int transaction_fn(struct db *db, void *data); /* returns an enum db_rc */
LOCKQ_MUST_CHECK enum db_rc retry_transaction(struct db *db, bool begins, transaction_fn *body,
    void *data, uint32_t *retries);

#endif
