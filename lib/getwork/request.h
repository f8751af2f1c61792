/* SPDX-License-Identifier: MIT */
/* Step 1, recording a request, and what the later steps read and write of it. Each function is one
 * or a few autocommit statements, and holds no lock when it returns. */
#ifndef LOCKQ_REQUEST_H
#define LOCKQ_REQUEST_H

#include "handle/session.h"

void request_make_uuid(char uuid[UUID_BYTES]);
/* For a row of work_requested that has ended: how long its user has waited, in milliseconds. One
 * that was served from the list is recorded at that moment: its user has waited since the view was
 * asked about its loans. */
#define REQUEST_WAITED_MS(r) \
	"GREATEST(TIMESTAMPDIFF(MICROSECOND, IF(" r ".source = 'list'," \
	"    COALESCE(" r ".checked, " r ".served_at), " r ".created_at)," \
	"    " r ".served_at), 0) DIV 1000"

/* Copies a UUID that a caller has chosen, in lower case; false where @text is none. */
LOCKQ_MUST_CHECK bool request_read_uuid(char uuid[UUID_BYTES], const char *text);
/* Begins a request of @user, with the caller's @uuid in lower case, or with a new one for NULL. */
void request_begin(struct request *request, const char *user, const char *uuid);

/* The request that has a UUID which a caller has chosen. */
struct namesake {
	uint64_t request_id;  /* 0: there is none */
	bool own;             /* it is of the caller's user, and the account may ask for that one */
	uint32_t task_id;
	uint32_t asked;
	enum lockq_status status;
};
LOCKQ_MUST_CHECK enum db_rc request_namesake(struct db *db, const struct request *request,
    struct namesake *namesake);

/* Inserts @request for @count loans, or joins the user's pending request for this task: then
 * @request->uuid is that one's. The same UUID may be inserted again after a lost connection.
 * *@refused is true where the task does not allow it, or there is no such user or task; refuse()
 * has the reason. DB_EDUPLICATE where RECORD_TRIES were not enough. */
LOCKQ_MUST_CHECK enum db_rc request_record(struct db *db, uint32_t task_id, uint32_t count,
    struct request *request, bool *refused);
/* Sets @request->request_id by its UUID, 0 where there is no such row, or where the caller has
 * chosen the UUID and the row is not its own. */
LOCKQ_MUST_CHECK enum db_rc request_find(struct db *db, struct request *request);
/* The same by @text, its id or its UUID; *@found is false where there is none. */
LOCKQ_MUST_CHECK enum db_rc request_find_named(struct db *db, const char *text,
    struct request *request, bool *found);
/* Reads whether the request is still pending. Where a leader's commit is @in_doubt, the read first
 * waits up to DB_RESOLVE_WAIT_S for the transaction of the lost connection to end. */
LOCKQ_MUST_CHECK enum db_rc request_status(struct db *db, const struct request *request,
    bool in_doubt, bool *pending);
/* Keeps a pending request from expiring: a process looks after it now, and will look again in
 * @ahead_s seconds. *@pending is false where the request has ended. */
LOCKQ_MUST_CHECK enum db_rc request_seen(struct db *db, const struct request *request,
    uint32_t ahead_s, bool *pending);
/* Ends the request as cancelled unless a leader has ended it, also where its INSERT is still on its
 * way. Sets @request->request_id, 0 where there is no such user or task. */
LOCKQ_MUST_CHECK enum db_rc request_cancel(struct db *db, uint32_t task_id, uint32_t count,
    struct request *request);
/* Whether the task has any pending request. */
LOCKQ_MUST_CHECK enum db_rc request_any_pending(struct db *db, uint32_t task_id, bool *any);
/* The sum of their request_id, which tells whether some came or ended since; 0: there is none. */
LOCKQ_MUST_CHECK enum db_rc request_sum_pending(struct db *db, uint32_t task_id, uint64_t *sum);

#endif
