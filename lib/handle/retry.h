/* SPDX-License-Identifier: MIT */
/* What to do after a failure: a table by the failure's class. Calls, transactions, cancelling and
 * batches ask it. Loops that wait for something else than the end of a failure have bounds of
 * their own in handle/bounds.h: request_record() and request_cancel() wait for the user's other
 * request to end, lock_try() and lock_again() for a lock that is held for a moment, wait_polling()
 * for a session on a full server, and lockq_request_look() for the next time to look. patience.c
 * tries a look again while a table is locked, for as long as the caller said. */
#ifndef LOCKQ_RETRY_H
#define LOCKQ_RETRY_H

#include "db/db.h"

enum verdict {
	AGAIN,      /* roll back, and try once more */
	RECONNECT,  /* try again on a new connection; the server undoes what the old one had open */
	FIND_OUT,   /* look on a new connection whether the lost COMMIT was done */
	GIVE_UP
};

/* What to do after @failure, when @tries failures in a row were tried again before it, over
 * @spent_ms. After DB_TRIES it is GIVE_UP, except that a server that is away or full, or that is
 * @behind its cluster, is waited for up to @patience_ms. */
enum verdict retry_verdict(enum db_rc failure, bool behind, unsigned int tries, uint64_t spent_ms,
    uint64_t patience_ms);
/* How much of @patience_ms a caller has after @failure. A server that is read only, and that it has
 * not known as the primary, is a replica: its user is told soon. */
uint64_t retry_patience(enum db_rc failure, bool knew_primary, uint64_t patience_ms);
/* Whether the first verdict after @failure is AGAIN or RECONNECT. */
bool retry_cures(enum db_rc failure);

/* Whether a program that starts connects once more after @failure, @spent_ms after it began to:
 * a server that is away may be on its way up, and one that is full has sessions that end.
 * @timeout_ms is lockq_connection.connect_timeout_ms. */
bool retry_connect(enum db_rc failure, int64_t timeout_ms, uint64_t spent_ms);

/* Runs @body between BEGIN and COMMIT. After a failure whose verdict is AGAIN the transaction is
 * rolled back, and the whole of it is run again, with backoff and jitter. Adds the number of
 * further tries to *@retries, which may be NULL. */
typedef enum db_rc transaction_fn(struct db *db, void *data);
LOCKQ_MUST_CHECK enum db_rc retry_transaction(struct db *db, transaction_fn *body, void *data,
    uint32_t *retries);

#endif
