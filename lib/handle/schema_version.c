/* SPDX-License-Identifier: MIT */
/* Whether this library can use the schema of the database that it has connected to. A newer schema
 * has all that this library needs, until it is finished. */
#include "handle/error.h"
#include "handle/patience.h"
#include "handle/session.h"

static DB_QUERY(newest_schema, DB_ONE, "SELECT " SCHEMA_VERSIONS);
/* Up to schema 5 the table has no column finished_at. */
static DB_QUERY(old_schema, DB_ONE, "SELECT MAX(version) FROM schema_version");

/* ER_NO_SUCH_TABLE, ER_BAD_FIELD_ERROR */
enum { NO_SUCH_TABLE = 1146, NO_SUCH_COLUMN = 1054 };

/* For a connection that could not read both. */
static enum db_rc
read_schema(struct db *db, struct db_schema *look)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &newest_schema, DB_NO_ARGS, &rows);

	if (rc == DB_OK) {
		look->version = db_cell_u64(&rows, 0, 0);
		look->finished = db_cell_u64(&rows, 0, 1);
	}
	db_rows_clear(&rows);
	if (rc != DB_OK && db_errno(db) == NO_SUCH_COLUMN)
		rc = db_number(db, &old_schema, DB_NO_ARGS, &look->version);
	return rc != DB_OK && db_errno(db) == NO_SUCH_TABLE ? DB_OK : rc;
}

static enum db_rc
look_at_schema(struct patience *patience, void *data, int *code)
{
	struct db_schema *look = data;
	bool held = look->held; /* connecting was the first try, and has waited for a second */

	(void)code;
	look->held = false;
	return held ? DB_ELOCKWAIT : read_schema(patience->q->db, look);
}

int
schema_version_check(struct lockq *q)
{
	struct db_schema look = db_schema(q->db);
	uint64_t version;
	int code = LOCKQ_OK;

	if (look.version == 0 && q->look_timeout_ms >= 0)
		code = patience_look(q, look_at_schema, &look);
	else if (look.version == 0)
		code = error_from_db(q, q->db, read_schema(q->db, &look));
	version = look.version;
	if (code != LOCKQ_OK)
		return code;
	if (version == 0)
		return error_database(q, "database \"%s\" has no lockq schema, this is lockq %s "
		    "with schema %d: run lockq-migrate", db_database(q->db), LOCKQ_VERSION,
		    LOCKQ_SCHEMA);
	if (version >= LOCKQ_SCHEMA_OLDEST && look.finished <= LOCKQ_SCHEMA)
		return LOCKQ_OK;
	return error_database(q, "database \"%s\" has schema %llu, this is lockq %s with schema "
	    "%d: %s", db_database(q->db), (unsigned long long)version, LOCKQ_VERSION, LOCKQ_SCHEMA,
	    version < LOCKQ_SCHEMA_OLDEST ? "run lockq-migrate" : "update lockq");
}
