/* SPDX-License-Identifier: MIT */
/* The calls of the procedure task.on_complete, and of task.on_undo by the same rules. */
#ifndef LOCKQ_ON_COMPLETE_H
#define LOCKQ_ON_COMPLETE_H

#include "disposition/disposing.h"

/* The user variable @lockq_ids has all loan_ids, each with so many digits. @lockq_user is the user,
 * or, with @d->undoes, @lockq_users is a JSON array of them. */
enum { ON_COMPLETE_ID_DIGITS = 20 };
/* Calls the procedure for each loan whose place says so, in the transaction that has locked
 * them. A loan for which it fails is not changed. DB_EFAIL with @d->refused and @d->reason where
 * no loan may be changed. DB_ELOST with @d->silent after a procedure that gave no answer. */
LOCKQ_MUST_CHECK enum db_rc on_complete_all(struct db *db, struct disposing *d);
/* To be called once that transaction is over, with what became of it, @rc. After a silent procedure
 * it connects anew. If the server is still the same, or the procedure was silent before, it does
 * not end: that is DB_EFAIL with @d->refused. If it is another server, or none, the connection was
 * lost. Else returns @rc. */
LOCKQ_MUST_CHECK enum db_rc on_complete_silent(struct disposing *d, enum db_rc rc);
/* After that transaction was rolled back: sets the results of loans that would have been
 * completed. */
LOCKQ_MUST_CHECK enum db_rc on_complete_refused(struct disposing *d);

#endif
