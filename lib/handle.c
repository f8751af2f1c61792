/* SPDX-License-Identifier: MIT */
/* The functions of lockq.h that make a handle, connect it to a database whose schema this library
 * knows, set it up and free it. */
#include <stdlib.h>

#include "bounds.h"
#include "error.h"
#include "session.h"

static const struct db_query newest_schema = {
	"newest_schema", "SELECT MAX(version) FROM schema_version", DB_ONE
};

/* ER_NO_SUCH_TABLE */
enum { NO_SUCH_TABLE = 1146 };

const char *
lockq_version(void)
{
	return LOCKQ_VERSION;
}

int
lockq_library_init(void)
{
	return error_code(db_library_init());
}

int
lockq_new(struct lockq **q)
{
	*q = calloc(1, sizeof(**q));
	return error_code(*q != NULL ? DB_OK : DB_ENOMEM);
}

static int
check_schema(struct lockq *q)
{
	uint64_t version = db_schema(q->db);
	enum db_rc rc = DB_OK;

	if (version == LOCKQ_SCHEMA)
		return LOCKQ_OK;
	rc = db_number(q->db, &newest_schema, DB_NO_ARGS, &version);
	if (rc != DB_OK && db_errno(q->db) != NO_SUCH_TABLE)
		return error_from_db(q, q->db, rc);
	if (version == LOCKQ_SCHEMA)
		return LOCKQ_OK;
	if (version == 0)
		return error_database(q, "database \"%s\" has no lockq schema, this is lockq %s "
		    "with schema %d: run scripts/migrate", db_database(q->db), LOCKQ_VERSION,
		    LOCKQ_SCHEMA);
	return error_database(q, "database \"%s\" has schema %llu, this is lockq %s with schema "
	    "%d: %s", db_database(q->db), (unsigned long long)version, LOCKQ_VERSION, LOCKQ_SCHEMA,
	    version < LOCKQ_SCHEMA ? "run scripts/migrate" : "update lockq");
}

int
lockq_connect(struct lockq *q, const struct lockq_connection *connection)
{
	enum db_rc rc = session_copy_where(&q->where, connection);

	q->error[0] = '\0';
	if (rc != DB_OK)
		return error_from_db(q, NULL, rc);
	/* A full server is asked again, since other sessions may be about to end. */
	for (unsigned int try = 0;; try++) {
		rc = session_connect(q);
		if (rc != DB_ECROWDED || try >= CROWDED_TRIES)
			break;
		db_backoff(try);
	}
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	return check_schema(q);
}

void
lockq_free(struct lockq *q)
{
	if (q == NULL)
		return;
	session_disconnect(q);
	session_free_where(&q->where);
	session_free_where(&q->query_where);
	free(q);
}

int
lockq_query_at(struct lockq *q, const struct lockq_connection *connection)
{
	static const struct lockq_connection here = LOCKQ_CONNECTION_INIT;

	session_close_query(q, q->elsewhere);
	q->asks_elsewhere = connection != NULL;
	return error_from_db(q, NULL, session_copy_where(&q->query_where,
	    connection != NULL ? connection : &here));
}

void
lockq_on_progress(struct lockq *q, lockq_progress_fn *fn, void *data)
{
	q->progress = fn;
	q->progress_data = data;
}
