/* SPDX-License-Identifier: MIT */
/* The table that decides what to do after a failure, and the function that tries a transaction
 * again by it. */
#include "handle/retry.h"

#include "handle/bounds.h"

static const struct {
	enum db_rc failure;
	enum verdict verdict;
	bool patient; /* it may last for seconds, so more tries than DB_TRIES are worth it */
} rules[] = {
	{ DB_ERETRY, AGAIN, false },
	{ DB_ELOCKWAIT, AGAIN, false },
	{ DB_ECROWDED, RECONNECT, true },
	{ DB_ELOST, RECONNECT, true },
	{ DB_EMOVED, RECONNECT, true },
	{ DB_EINDOUBT, FIND_OUT, true },
};

enum verdict
retry_verdict(enum db_rc failure, bool behind, unsigned int tries, uint64_t spent_ms,
    uint64_t patience_ms)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		bool patient = rules[i].patient || behind;

		if (rules[i].failure == failure &&
		    (tries < DB_TRIES || (patient && spent_ms < patience_ms)))
			return rules[i].verdict;
	}
	return GIVE_UP;
}

uint64_t
retry_patience(enum db_rc failure, bool knew_primary, uint64_t patience_ms)
{
	return failure == DB_EMOVED && !knew_primary && patience_ms > READ_ONLY_MS ?
	    READ_ONLY_MS : patience_ms;
}

bool
retry_cures(enum db_rc failure)
{
	enum verdict verdict = retry_verdict(failure, false, 0, 0, 0);

	return verdict == AGAIN || verdict == RECONNECT;
}

bool
retry_connect(enum db_rc failure, int64_t timeout_ms, uint64_t spent_ms)
{
	uint64_t most = timeout_ms > 0 ? (uint64_t)timeout_ms : timeout_ms < 0 ? 0 :
	    failure == DB_ECROWDED ? CROWDED_MS : CONNECT_MS;

	return (failure == DB_ECROWDED || failure == DB_ELOST) && spent_ms < most;
}

enum db_rc
retry_transaction(struct db *db, transaction_fn *body, void *data, uint32_t *retries)
{
	for (unsigned int try = 1;; try++) {
		enum db_rc rc;

		db_count_attempt(db, try);
		rc = db_begin(db);
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
