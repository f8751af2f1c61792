/* SPDX-License-Identifier: MIT */
/* The functions of lockq.h that make a handle, connect it to a database whose schema this library
 * knows, set it up and free it. */
#include <stdlib.h>
#include <string.h>

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
		    "with schema %d: run lockq-migrate", db_database(q->db), LOCKQ_VERSION,
		    LOCKQ_SCHEMA);
	return error_database(q, "database \"%s\" has schema %llu, this is lockq %s with schema "
	    "%d: %s", db_database(q->db), (unsigned long long)version, LOCKQ_VERSION, LOCKQ_SCHEMA,
	    version < LOCKQ_SCHEMA ? "run lockq-migrate" : "update lockq");
}

int
lockq_connect(struct lockq *q, const struct lockq_connection *connection)
{
	const char *fault = error_of_reserved(connection->reserved);
	struct where_report report;
	enum db_rc rc;

	if (fault != NULL)
		return error_usage(q, "%s", fault);
	session_disconnect(q);
	where_clear(&q->query_where);
	q->asks_elsewhere = false;
	rc = where_read(&q->where, &q->query_group, connection, &report);
	error_clear(q);
	memcpy(q->warning, report.warning, sizeof(q->warning));
	if (rc == DB_EFAIL)
		return error_usage(q, "%s", report.error);
	if (rc != DB_OK)
		return error_from_db(q, NULL, rc);
	/* A full server is asked again, since other sessions may be about to end. */
	for (unsigned int try = 0;; try++) {
		rc = session_connect(q);
		if (rc != DB_ECROWDED || try >= CROWDED_TRIES)
			break;
		db_backoff(try);
	}
	if (rc != DB_OK && rc != DB_ENOMEM) {
		error_set_detail(q, q->db);
		return error_database(q, "%s; %s", db_error(q->db), report.read);
	}
	return rc == DB_OK ? check_schema(q) : error_from_db(q, NULL, rc);
}

void
lockq_free(struct lockq *q)
{
	if (q == NULL)
		return;
	session_disconnect(q);
	where_clear(&q->where);
	where_clear(&q->query_group);
	where_clear(&q->query_where);
	free(q);
}

int
lockq_query_at(struct lockq *q, const struct lockq_connection *connection)
{
	session_close_query(q, q->elsewhere);
	q->asks_elsewhere = false;
	if (connection == NULL)
		return LOCKQ_OK;
	if (error_of_reserved(connection->reserved) != NULL)
		return error_usage(q, "%s", error_of_reserved(connection->reserved));
	if (connection->defaults_file != NULL || connection->defaults_group != NULL ||
	    connection->defaults_suffix != NULL)
		return error_usage(q, "lockq_query_at() reads no option files: leave "
		    "defaults_file, defaults_group and defaults_suffix NULL");
	return error_from_db(q, NULL, where_of_query(&q->query_where, &q->asks_elsewhere,
	    connection, &q->query_group, &q->where));
}

const char *
lockq_warning(const struct lockq *q)
{
	return q->warning;
}

void
lockq_on_progress(struct lockq *q, lockq_progress_fn *fn, void *data)
{
	q->progress = fn;
	q->progress_data = data;
}
