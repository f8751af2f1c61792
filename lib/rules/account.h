/* SPDX-License-Identifier: MIT */
/* Which account asks, and for whom it may ask, in SQL. */
#ifndef LOCKQ_ACCOUNT_H
#define LOCKQ_ACCOUNT_H

/* The name that the session has logged in with, and the client's host. Not CURRENT_USER(): that is
 * the same for all people behind a proxy account. */
#define ACCOUNT "CONVERT(USER() USING utf8mb4) COLLATE utf8mb4_0900_as_cs"
#define LOGIN_NAME \
	"LEFT(USER(), CHAR_LENGTH(USER()) - 1 - CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1)))"

/* For a row u of app_user: whether this account may ask for that person. */
#define MAY_ASK(u) \
	"(" u ".account IS NULL OR " u ".account = CONVERT(" LOGIN_NAME " USING utf8mb4)" \
	" COLLATE utf8mb4_0900_as_cs)"

#endif
