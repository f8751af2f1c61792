/* SPDX-License-Identifier: MIT */
/* A handle: its connections, and what it checks of server and schema. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static const struct db_query newest_schema = {
	"newest_schema", "SELECT MAX(version) FROM schema_version", DB_ONE
};

/* ER_NO_SUCH_TABLE */
enum { NO_SUCH_TABLE = 1146 };

/* With their backoff some ten seconds. */
enum { CROWDED_TRIES = 14 };

const char *
lockq_version(void)
{
	return LOCKQ_VERSION;
}

int
lockq_library_init(void)
{
	return db_library_init() == DB_OK ? LOCKQ_OK : LOCKQ_EDATABASE;
}

int
lockq_new(struct lockq **q)
{
	*q = calloc(1, sizeof(**q));
	return *q != NULL ? LOCKQ_OK : LOCKQ_ENOMEM;
}

/* The handle owns copies: the caller's strings may be gone when it has to reconnect. */
static int
copy_where(struct lockq *q, const struct lockq_connection *from)
{
	const char *const sources[] = { from->program, from->defaults_file, from->defaults_group,
		from->host, from->socket, from->user, from->password, from->database,
		from->ssl_mode };
	const char **const targets[] = { &q->where.program, &q->where.defaults_file,
		&q->where.defaults_group, &q->where.host, &q->where.socket, &q->where.user,
		&q->where.password, &q->where.database, &q->where.ssl_mode };

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		char *copy = NULL;

		if (copy_text(&copy, sources[i]) != DB_OK)
			return LOCKQ_ENOMEM;
		*targets[i] = copy;
	}
	q->where.port = from->port;
	return LOCKQ_OK;
}

static void
free_where(struct lockq_connection *where)
{
	const char *const texts[] = { where->program, where->defaults_file, where->defaults_group,
		where->host, where->socket, where->user, where->password, where->database,
		where->ssl_mode };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free((void *)(uintptr_t)texts[i]);
	*where = (struct lockq_connection)LOCKQ_CONNECTION_INIT;
}

void
handle_disconnect(struct lockq *q)
{
	db_close(q->query);
	q->query = NULL;
	db_close(q->lock);
	q->lock = NULL;
}

int
handle_connect(struct lockq *q)
{
	int rc;

	handle_disconnect(q);
	rc = db_connect(&q->lock, &q->where);
	if (rc == DB_OK && q->orphan != 0) {
		rc = db_kill(q->lock, q->orphan);
		q->orphan = 0;
	}
	return rc;
}

int
handle_ready(struct lockq *q)
{
	if (q->lock != NULL && db_ping(q->lock) == DB_OK)
		return DB_OK;
	return handle_connect(q);
}

int
handle_abandon(struct lockq *q)
{
	if (q->lock != NULL)
		q->orphan = db_connection_id(q->lock);
	return handle_connect(q);
}

static int
check_schema(struct lockq *q)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t version = 0;
	int rc = db_run(q->lock, &newest_schema, DB_NO_ARGS, &rows);

	if (rc == DB_OK)
		version = db_cell_u64(&rows, 0, 0);
	db_rows_clear(&rows);
	if (rc != DB_OK && db_errno(q->lock) != NO_SUCH_TABLE)
		return error_from_db(q, q->lock, rc);
	if (version == LOCKQ_SCHEMA)
		return LOCKQ_OK;
	if (version == 0)
		error_set(q, "database %s has no lockq schema, this is lockq %s with schema %d: "
		    "run scripts/migrate", db_database(q->lock), LOCKQ_VERSION, LOCKQ_SCHEMA);
	else
		error_set(q, "database %s has schema %llu, this is lockq %s with schema %d: %s",
		    db_database(q->lock), (unsigned long long)version, LOCKQ_VERSION, LOCKQ_SCHEMA,
		    version < LOCKQ_SCHEMA ? "run scripts/migrate" : "update lockq");
	return LOCKQ_EDATABASE;
}

int
lockq_connect(struct lockq *q, const struct lockq_connection *connection)
{
	int rc;

	free_where(&q->where);
	rc = copy_where(q, connection);
	if (rc != LOCKQ_OK) {
		error_set(q, "out of memory");
		return rc;
	}
	/* Someone else's connections may be about to end, so a full server is asked again. */
	for (unsigned int try = 0;; try++) {
		rc = handle_connect(q);
		if (rc != DB_ECROWDED || try >= CROWDED_TRIES)
			break;
		db_backoff(try);
	}
	if (rc != DB_OK)
		return error_from_db(q, q->lock, rc);
	return check_schema(q);
}

void
lockq_free(struct lockq *q)
{
	if (q == NULL)
		return;
	handle_disconnect(q);
	free_where(&q->where);
	free(q);
}

void
lockq_on_progress(struct lockq *q, lockq_progress_fn *fn, void *data)
{
	q->progress = fn;
	q->progress_data = data;
}
