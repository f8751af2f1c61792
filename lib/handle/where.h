/* SPDX-License-Identifier: MIT */
/* Where a server is: what the caller gave, and what the option files say. */
#ifndef LOCKQ_WHERE_H
#define LOCKQ_WHERE_H

#include "db/db.h"

enum { WHERE_ASKER_BYTES = 64 * 4 + 1 }; /* app_user.name in UTF-8, with its NUL */

/* What else reading the option files found. The first three are one line or "". */
struct where_report {
	char error[1024];
	char warning[1024];
	char read[600];       /* which files were read, for the message of a failed connect */
	char lockq_user[WHERE_ASKER_BYTES]; /* the key in [lockq]; "": there is none */
	uint32_t lockq_task;  /* the key in [lockq]; 0: there is none */
	bool no_refill;       /* the key in [lockq] */
};

/* Reads the option files of @given. @where is what @given says, and else what [client] and the
 * program's group say; @query is what [lockq_query] says. Both are replaced, and are freed with
 * where_clear() also after a failure. Returns DB_EFAIL with @report->error for option files that
 * can't be used, or DB_ENOMEM. */
LOCKQ_MUST_CHECK enum db_rc where_read(struct where *where, struct where *query,
    const struct lockq_connection *given, struct where_report *report);
/* Makes @where what @given says, and else what @group says, and else what @here says. It sets
 * *@elsewhere, whether the first two say anything. Returns DB_OK or DB_ENOMEM. */
LOCKQ_MUST_CHECK enum db_rc where_of_query(struct where *where, bool *elsewhere,
    const struct lockq_connection *given, const struct where *group, const struct where *here);
void where_clear(struct where *where);

#endif
