/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into a program, this library breaks the connection at the first COMMIT. LOCKQ_FAULT
 * says how:
 *
 *   reply    the COMMIT is done, and its reply is lost
 *   commit   the COMMIT never arrives
 *   server   the COMMIT is done, its reply is lost, and no new connection can be made
 *   pop      the same at the first CALL of list_serves_2, which commits
 *   kill     the COMMIT is done, and the program is killed
 */
#include "next.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER_LOST = 2013, CANNOT_CONNECT = 2002 };

int mysql_query(void *mysql, const char *text);
unsigned int mysql_errno(void *mysql);
const char *mysql_error(void *mysql);
int mysql_stmt_prepare(void *statement, const char *text, unsigned long length);
int mysql_stmt_execute(void *statement);
unsigned int mysql_stmt_errno(void *statement);
void *mysql_real_connect(void *mysql, const char *host, const char *user, const char *password,
    const char *database, unsigned int port, const char *socket, unsigned long flags);

static bool hit;
static void *broken;         /* the connection that was broken */
static unsigned int number;  /* the number of its error */
static void *pop;            /* the statement that calls list_serves_2 */

static const char *
fault(void)
{
	const char *how = getenv("LOCKQ_FAULT");

	return how != NULL ? how : "";
}

int
mysql_query(void *mysql, const char *text)
{
	int (*real)(void *, const char *);

	*(void **)&real = next("mysql_query");
	if (hit || strcmp(text, "COMMIT") != 0 || fault()[0] == '\0' ||
	    strcmp(fault(), "pop") == 0)
		return real(mysql, text);
	hit = true;
	broken = mysql;
	number = SERVER_LOST;
	/* If the connection ends before COMMIT, the server rolls the transaction back. */
	(void)real(mysql, strcmp(fault(), "commit") == 0 ? "ROLLBACK" : "COMMIT");
	if (strcmp(fault(), "kill") == 0)
		raise(SIGKILL);
	return 1;
}

void *
mysql_real_connect(void *mysql, const char *host, const char *user, const char *password,
    const char *database, unsigned int port, const char *socket, unsigned long flags)
{
	void *(*real)(void *, const char *, const char *, const char *, const char *, unsigned int,
	    const char *, unsigned long);

	*(void **)&real = next("mysql_real_connect");
	if (mysql == broken)
		broken = NULL; /* a new connection at the same address */
	if (!hit || (strcmp(fault(), "server") != 0 && strcmp(fault(), "pop") != 0))
		return real(mysql, host, user, password, database, port, socket, flags);
	broken = mysql;
	number = CANNOT_CONNECT;
	return NULL;
}

unsigned int
mysql_errno(void *mysql)
{
	unsigned int (*real)(void *);

	*(void **)&real = next("mysql_errno");
	return hit && mysql == broken ? number : real(mysql);
}

const char *
mysql_error(void *mysql)
{
	const char *(*real)(void *);

	*(void **)&real = next("mysql_error");
	return hit && mysql == broken ? "lost for a test" : real(mysql);
}

int
mysql_stmt_prepare(void *statement, const char *text, unsigned long length)
{
	int (*real)(void *, const char *, unsigned long);

	*(void **)&real = next("mysql_stmt_prepare");
	if (strcmp(fault(), "pop") == 0 && strncmp(text, "CALL list_serves_2", 16) == 0)
		pop = statement;
	return real(statement, text, length);
}

int
mysql_stmt_execute(void *statement)
{
	int (*real)(void *);

	*(void **)&real = next("mysql_stmt_execute");
	if (hit || statement != pop)
		return real(statement);
	hit = true;
	(void)real(statement);
	return 1;
}

unsigned int
mysql_stmt_errno(void *statement)
{
	unsigned int (*real)(void *);

	*(void **)&real = next("mysql_stmt_errno");
	return hit && statement == pop ? SERVER_LOST : real(statement);
}
