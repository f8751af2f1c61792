/* SPDX-License-Identifier: MIT */
/*
 * The fewest statements that get a loan: on one connection, an INSERT of a request with a commit of
 * its own, then a transaction with a row lock and an INSERT of a loan. Results are not used. The
 * statements are sent as text, which takes one round trip; a prepared statement takes two.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mysql.h>

static const char *const statements[] = {
	"INSERT INTO bench_request (user_id, asked) VALUES (1, 1)",
	"START TRANSACTION",
	"SELECT epoch FROM bench_lock WHERE task_id = 1 FOR UPDATE SKIP LOCKED",
	"INSERT INTO bench_work (user_id) VALUES (1)",
	"COMMIT",
};

static int
fail(MYSQL *mysql)
{
	fprintf(stderr, "floor_bare: %s\n", mysql_error(mysql));
	return 5;
}

int
main(void)
{
	MYSQL *mysql = mysql_init(NULL);

	if (mysql == NULL ||
	    mysql_options(mysql, MYSQL_READ_DEFAULT_FILE, getenv("LOCKQ_DEFAULTS_FILE")) != 0 ||
	    mysql_options(mysql, MYSQL_READ_DEFAULT_GROUP, "lockq") != 0 ||
	    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4") != 0 ||
	    mysql_real_connect(mysql, NULL, NULL, NULL, NULL, 0, NULL, 0) == NULL)
		return fail(mysql);
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		MYSQL_RES *result;

		if (mysql_query(mysql, statements[i]) != 0)
			return fail(mysql);
		result = mysql_store_result(mysql);
		if (mysql_errno(mysql) != 0)
			return fail(mysql);
		mysql_free_result(result);
	}
	mysql_close(mysql);
	return 0;
}
