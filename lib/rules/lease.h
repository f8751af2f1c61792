/* SPDX-License-Identifier: MIT */
/* The lease of an assignment, in SQL: when it ends, whether it lasts, and the row of the log that
 * says that it has ended the assignment. */
#ifndef LOCKQ_LEASE_H
#define LOCKQ_LEASE_H

#include "rules/account.h"

/* The end of a lease that begins at @at. The doors of schema/doors compute it by the same rule
 * where they give or renew loans. */
#define LEASE_END(at, minutes) at " + INTERVAL " minutes " MINUTE"

/* For a row w of `work` that is assigned. */
#define LEASE_LASTS "COALESCE(w.lease_expires_at > NOW(6), TRUE)"

/* The beginning of the statement, for rows w of `work`; the caller goes on with FROM. The loan is
 * available from the end of the lease on, whenever that is logged. */
#define LOG_EXPIRED(at) \
	"INSERT INTO log_in (task_id, loan_id, event, user_id, account, token, version," \
	"                    request_id, available_at, lease_expires_at, at)" \
	" SELECT w.task_id, w.loan_id, 'expired', w.user_id, " ACCOUNT ", w.token," \
	"        w.version + 1, w.request_id, w.lease_expires_at, w.lease_expires_at, " at

#endif
