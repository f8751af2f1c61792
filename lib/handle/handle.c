/* SPDX-License-Identifier: MIT */
/* The functions of lockq.h that make a handle, connect it, set it up and free it. Beside it:
 *
 *   session.c         the connections of a handle
 *   where.c           where they lead; option_file.c reads MySQL's option files for that
 *   schema_version.c  refuses a schema that is too old, or too new
 *   operation.c       the log of each call
 *   error.c           the public code and the text of a failure
 *   retry.c           what to do after a failure; bounds.h has for how long
 *   patience.c        tries a look again while a table is locked
 *   progress.c        tells the caller how a wait goes
 *   held.c            says which session holds what others wait for */
#include <stdlib.h>
#include <string.h>

#include "handle/error.h"
#include "handle/patience.h"
#include "handle/progress.h"
#include "handle/retry.h"
#include "handle/session.h"

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
	if (*q != NULL)
		(*q)->look_timeout_ms = -1;
	return error_code(*q != NULL ? DB_OK : DB_ENOMEM);
}

/* Tries again as long as retry_connect() says. */
static enum db_rc
connect_for(struct lockq *q, int64_t timeout_ms)
{
	uint64_t start = db_clock_ms(), spent = 0, most = (uint64_t)timeout_ms;
	struct ticking ticking = { .q = q, .phase = LOCKQ_PHASE_RETRY, .since = start };

	for (unsigned int try = 0;; try++) {
		enum db_rc rc = timeout_ms <= 0 ? session_connect(q) :
		    session_connect_in(q, spent < most ? most - spent : 0);

		spent = db_clock_ms() - start;
		if (!retry_connect(rc, timeout_ms, spent))
			return rc;
		ticking.detail = db_error(q->db);
		if (tick(&ticking) != 0)
			return DB_ECANCELLED;
		db_backoff(try);
	}
}

int
lockq_read_options(struct lockq *q, const struct lockq_connection *connection)
{
	const char *fault = error_of_reserved(connection->reserved);
	enum db_rc rc;

	q->has_read = q->was_connected = false;
	if (fault != NULL)
		return error_usage(q, "%s", fault);
	session_disconnect(q);
	where_clear(&q->query_where);
	q->asks_elsewhere = false;
	rc = where_read(&q->where, &q->query_group, connection, &q->report);
	error_clear(q);
	q->where.lock_wait_s = DB_BRIEF_WAIT_S;
	q->connect_timeout_ms = connection->connect_timeout_ms;
	if (rc == DB_EFAIL)
		return error_usage(q, "%s", q->report.error);
	q->has_read = rc == DB_OK;
	return error_from_db(q, NULL, rc);
}

const char *
lockq_option_user(const struct lockq *q)
{
	return q->has_read && q->report.lockq_user[0] != '\0' ? q->report.lockq_user : NULL;
}

uint32_t
lockq_option_task(const struct lockq *q)
{
	return q->has_read ? q->report.lockq_task : 0;
}

int
lockq_option_no_refill(const struct lockq *q)
{
	return q->has_read && q->report.no_refill;
}

static int
connect_as_told(struct lockq *q, const struct lockq_connection *connection)
{
	int code = connection != NULL ? lockq_read_options(q, connection) : LOCKQ_OK;
	enum db_rc rc;

	if (code != LOCKQ_OK)
		return code;
	if (!q->has_read)
		return error_usage(q, "lockq_connect() without a connection needs "
		    "lockq_read_options() before it");
	error_clear(q);
	rc = connect_for(q, q->connect_timeout_ms);
	if (rc != DB_OK && rc != DB_ENOMEM && rc != DB_ECANCELLED) {
		error_set_detail(q, q->db);
		return error_database(q, "%s; %s", db_error(q->db), q->report.read);
	}
	return rc == DB_OK ? schema_version_check(q) : error_from_db(q, NULL, rc);
}

int
lockq_connect(struct lockq *q, const struct lockq_connection *connection)
{
	operation_begin(q, OPERATION_CONNECT, NULL, 0);
	return operation_end(q, 0, connect_as_told(q, connection));
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
	    connection->defaults_suffix != NULL || connection->more_group != NULL)
		return error_usage(q, "lockq_query_at() reads no option files: leave "
		    "defaults_file, defaults_group, defaults_suffix and more_group NULL");
	return error_from_db(q, NULL, where_of_query(&q->query_where, &q->asks_elsewhere,
	    connection, &q->query_group, &q->where));
}

const char *
lockq_warning(const struct lockq *q)
{
	return q->report.warning;
}

void
lockq_on_overtime(struct lockq *q, lockq_overtime_fn *fn, void *data)
{
	q->overtime = fn;
	q->overtime_data = data;
}

void
lockq_on_progress(struct lockq *q, lockq_progress_fn *fn, void *data)
{
	q->progress = fn;
	q->progress_data = data;
}

void
lockq_look_timeout(struct lockq *q, int64_t timeout_ms)
{
	q->look_timeout_ms = timeout_ms;
}
