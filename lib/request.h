/* SPDX-License-Identifier: MIT */
/* Step 1, recording a request, and step 7, looking at it. */
#ifndef LOCKQ_REQUEST_H
#define LOCKQ_REQUEST_H

#include "db_text.h"

struct request {
	uint64_t request_id;
	char uuid[UUID_BYTES];
	const char *user;
	bool joined;       /* somebody else's call made it … */
	uint32_t asked;    /* … and asked for so many loans */
};
void request_make_uuid(char uuid[UUID_BYTES]);
/* *@refused, without a word why, where there is no such user or task, or not for so many. */
LOCKQ_MUST_CHECK enum db_rc request_record(struct db *db, uint32_t task_id, uint32_t count,
    struct request *request, bool *refused);
/* Sets @request->request_id by its UUID, 0 where there is none. */
LOCKQ_MUST_CHECK enum db_rc request_find(struct db *db, struct request *request);
/* *@pending while nobody has ended it. */
LOCKQ_MUST_CHECK enum db_rc request_status(struct db *db, const struct request *request, bool
    *pending);
/* The same after a commit in doubt: waits for the old connection's transaction to end. */
LOCKQ_MUST_CHECK enum db_rc request_status_locked(struct db *db, const struct request *request,
    bool *pending);
/* Says that its owner still waits, and will for the next @ahead_s seconds; *@pending is false where
 * it has ended. */
LOCKQ_MUST_CHECK enum db_rc request_seen(struct db *db, const struct request *request, uint32_t
    ahead_s, bool *pending);
/* Whatever becomes of an INSERT that is still on its way: it ends as cancelled, unless a leader has
 * ended it. Sets @request->request_id. */
LOCKQ_MUST_CHECK enum db_rc request_cancel(struct db *db, uint32_t task_id, uint32_t count,
    struct request *request);
LOCKQ_MUST_CHECK enum db_rc request_any_pending(struct db *db, uint32_t task_id, bool *any);

#endif
