/* SPDX-License-Identifier: MIT */
/* A whole transaction, tried again after what rolling back cures. */
#ifndef LOCKQ_TRANSACTION_H
#define LOCKQ_TRANSACTION_H

#include "db.h"

/* @body between BEGIN, unless it @begins the transaction itself, and COMMIT; bounded, with backoff
 * and jitter. @retries counts, and may be NULL. */
typedef int transaction_fn(struct db *db, void *data); /* an enum db_rc */
LOCKQ_MUST_CHECK enum db_rc transaction(struct db *db, bool begins, transaction_fn *body,
    void *data, uint32_t *retries);

#endif
