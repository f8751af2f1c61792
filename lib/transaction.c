/* SPDX-License-Identifier: MIT */
#include "transaction.h"

#include "retry.h"

enum db_rc
transaction(struct db *db, bool begins, transaction_fn *body, void *data, uint32_t *retries)
{
	for (unsigned int try = 1;; try++) {
		enum db_rc rc = begins ? DB_OK : db_begin(db);

		if (rc == DB_OK)
			rc = body(db, data);
		if (rc == DB_OK)
			rc = db_commit(db);
		if (rc == DB_OK)
			return DB_OK;
		if (!db_lost(db))
			db_rollback(db);
		if (retry_verdict(rc, false, try, 0, 0) != AGAIN)
			return rc;
		if (retries != NULL)
			++*retries;
		db_backoff(try - 1);
	}
}
