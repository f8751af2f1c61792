/* SPDX-License-Identifier: MIT */
/* The row of the log that says: the lease has ended the assignment. */
#ifndef LOCKQ_LOG_EXPIRED_H
#define LOCKQ_LOG_EXPIRED_H

#include "rules/identity.h"

/* The beginning of the statement, for rows w of `work`; the caller goes on with FROM. The loan is
 * available from the end of the lease on, whenever that is logged. */
#define LOG_EXPIRED(at) \
	"INSERT INTO log_in (task_id, loan_id, event, user_id, account, token, version," \
	"                    request_id, available_at, lease_expires_at, at)" \
	" SELECT w.task_id, w.loan_id, 'expired', w.user_id, " ACCOUNT ", w.token," \
	"        w.version + 1, w.request_id, w.lease_expires_at, w.lease_expires_at, " at

#endif
