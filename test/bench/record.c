/* SPDX-License-Identifier: MIT */
/*
 * record TASK PREFIX FROM TO: records a request for each of the users PREFIX-FROM to PREFIX-TO, one
 * after the other on one connection. Prints how many milliseconds each took.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "inside.h"

static int
record_one(struct db *db, uint32_t task_id, const char *user)
{
	struct inside_request request = inside_new_request(user);
	double before;
	int rc;

	before = now_ms();
	rc = inside_record(db, task_id, 1, &request);
	if (rc == DB_OK)
		printf("%.3f\n", now_ms() - before);
	return rc;
}

int
main(int argc, char **argv)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;
	struct db *db = NULL;
	long last;
	int rc;

	if (argc != 5) {
		fprintf(stderr, "usage: record TASK PREFIX FROM TO\n");
		return 2;
	}
	where.defaults_file = getenv("LOCKQ_DEFAULTS_FILE");
	rc = where_connect(&db, &where);
	last = strtol(argv[4], NULL, 10);
	for (long i = strtol(argv[3], NULL, 10); rc == DB_OK && i <= last; i++) {
		char user[64];

		snprintf(user, sizeof(user), "%s-%ld", argv[2], i);
		rc = record_one(db, (uint32_t)strtoul(argv[1], NULL, 10), user);
	}
	if (rc != DB_OK)
		fprintf(stderr, "record: %s\n", db_error(db));
	db_close(db);
	return rc == DB_OK ? 0 : 5;
}
