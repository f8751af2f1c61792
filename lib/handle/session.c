/* SPDX-License-Identifier: MIT */
/* The connections of a handle: making, checking, closing them, and ending on the server what was
 * given up. */
#include "handle/session.h"

#include <stdio.h>
#include <string.h>

#include "handle/bounds.h"

static DB_QUERY(uptime, DB_ONE,
    "SELECT variable_value FROM performance_schema.global_status"
    " WHERE variable_name = 'Uptime'");

void
session_disconnect(struct lockq *q)
{
	db_close(q->elsewhere);
	db_close(q->query);
	db_close(q->db);
	q->elsewhere = q->query = q->db = NULL;
}

void
session_close_query(struct lockq *q, struct db *db)
{
	if (db == q->query)
		q->query = NULL;
	if (db == q->elsewhere)
		q->elsewhere = NULL;
	db_close(db);
}

/* While the query runs on a second connection, the lock connection is idle. The server notices at
 * once that a client has died, and releases its lock, only if the connection is idle. */
enum db_rc
session_ready_query(struct lockq *q)
{
	enum db_rc rc = DB_OK;

	if (q->query != NULL && db_ping(q->query) == DB_OK)
		return DB_OK;
	/* A router may lead the second connection to another member of a cluster, which is behind
	 * and has locks of its own. It takes the members in turn. */
	for (unsigned int try = 0; try < SAME_SERVER_TRIES && rc == DB_OK; try++) {
		session_close_query(q, q->query);
		rc = db_connect_read_only(&q->query, &q->where);
		db_watch_connected(q->query, &q->operating.watch);
		if (rc == DB_ENOMEM || (rc == DB_OK && db_same_server(q->query, q->db)))
			return rc;
	}
	if (rc == DB_OK)
		rc = db_fail_with(q->query, DB_ECROWDED, "a second connection leads to another "
		    "server each time");
	/* The first connection works, so a refusal of the second one is treated as a loss, which is
	 * tried again. */
	rc = db_fail_with(q->db, rc == DB_ECROWDED ? rc : DB_ELOST, "%s", db_error(q->query));
	session_close_query(q, q->query);
	return rc;
}

struct db *
session_beside(const struct lockq *q)
{
	return q->query != NULL && !db_lost(q->query) ? q->query : q->db;
}

enum db_rc
session_ready_elsewhere(struct lockq *q)
{
	enum db_rc rc;

	if (q->elsewhere != NULL && db_ping(q->elsewhere) == DB_OK)
		return DB_OK;
	session_close_query(q, q->elsewhere);
	rc = db_connect_read_only(&q->elsewhere, &q->query_where);
	db_watch_connected(q->elsewhere, &q->operating.watch);
	if (q->elsewhere != NULL)
		db_set_role(q->elsewhere, "lockq_query");
	return rc;
}

/* The host's name may lead to another server by now, and a server that was started again begins its
 * ids anew. Either could make this kill another session, so both are checked. */
enum db_rc
session_end_given_up(struct db *db, const struct given_up *given_up)
{
	uint64_t age_s = (db_clock_ms() - given_up->since) / 1000, up_s = 0;
	bool same = strcmp(given_up->server, db_server(db)) == 0;
	enum db_rc rc = same ? db_number(db, &uptime, DB_NO_ARGS, &up_s) : DB_OK;

	return same && rc == DB_OK && up_s >= age_s ? db_kill(db, given_up->id, NULL) : rc;
}

void
session_note_given_up(struct given_up *given_up, const struct db *db)
{
	given_up->id = db_connection_id(db);
	given_up->since = db_connected_at(db);
	snprintf(given_up->server, sizeof(given_up->server), "%s", db_server(db));
}

bool
session_led_elsewhere(struct lockq *q)
{
	struct db *all[] = { q->db, q->query, q->elsewhere };
	int sockets[sizeof(all) / sizeof(all[0])];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i] != NULL)
			sockets[n++] = db_socket(all[i]);
	}
	q->overtime_told = true;
	q->led_elsewhere = q->overtime(sockets, n, q->overtime_data) != 0;
	for (size_t i = 0; q->led_elsewhere && i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i] != NULL)
			db_leave(all[i]);
	}
	return q->led_elsewhere;
}

void
session_end_elsewhere(struct lockq *q)
{
	struct db *other = NULL;
	struct given_up given_up;
	enum db_rc rc;

	session_note_given_up(&given_up, q->elsewhere);
	rc = db_connect_read_only(&other, &q->query_where);
	if (rc == DB_OK)
		rc = session_end_given_up(other, &given_up);
	(void)rc;
	db_close(other);
}

enum db_rc
session_connect(struct lockq *q)
{
	enum db_rc rc;

	session_disconnect(q);
	rc = db_connect(&q->db, &q->where);
	db_watch_connected(q->db, &q->operating.watch);
	/* A server that refuses now what it took before goes down, or is on its way up again. */
	q->refused = rc == DB_EFAIL;
	if (q->refused && q->was_connected)
		rc = DB_ELOST;
	q->was_connected = q->was_connected || rc == DB_OK;
	for (size_t i = 0; rc == DB_OK && i < 2; i++) {
		if (q->given_up[i].id != 0)
			rc = session_end_given_up(q->db, &q->given_up[i]);
		if (rc == DB_OK)
			q->given_up[i].id = 0;
	}
	return rc;
}

enum db_rc
session_connect_in(struct lockq *q, uint64_t ms)
{
	enum db_rc rc;

	/* Whole seconds, and 0 would be no limit. */
	if (ms < (uint64_t)DB_CONNECT_TIMEOUT_S * 1000)
		q->where.connect_s = (unsigned int)(ms / 1000) + (ms < 1000);
	rc = session_connect(q);
	q->where.connect_s = DB_CONNECT_TIMEOUT_S;
	return rc;
}

enum db_rc
session_ready(struct lockq *q)
{
	/* An earlier call may have left the lock wait of a leader or of a follower. */
	if (q->db != NULL && db_restore(q->db) == DB_OK && db_ping(q->db) == DB_OK &&
	    db_set_lock_wait(q->db, DB_BRIEF_WAIT_S) == DB_OK)
		return DB_OK;
	return session_connect(q);
}

const struct db *
session_failed(const struct lockq *q)
{
	return q->query != NULL && db_failed_at(q->query) > db_failed_at(q->db) ? q->query :
	    q->db;
}

void
session_give_up(struct lockq *q, const struct db *db)
{
	session_note_given_up(&q->given_up[db == q->db ? 0 : 1], db);
}

enum db_rc
session_abandon(struct lockq *q)
{
	if (q->db != NULL)
		session_give_up(q, q->db);
	return session_connect(q);
}
