/* SPDX-License-Identifier: MIT */
/* A handle and its connections. */
#ifndef LOCKQ_SESSION_H
#define LOCKQ_SESSION_H

#include "db_text.h"

struct request;

struct lockq {
	struct lockq_connection where;
	struct lockq_connection query_where; /* where that differs for the heavy query */
	bool asks_elsewhere; /* … if it does */
	struct db *db;        /* the ordinary connection: all but the heavy query runs on it, the
	                       * lock's transaction too */
	struct db *query;     /* the query connection, while leading: same server, same account */
	struct db *elsewhere; /* runs the heavy query in its place, where query_where says so */
	struct given_up {
		uint64_t id, since;   /* 0, or a connection given up with a statement outstanding */
		char server[UUID_BYTES];
	} given_up[2];
	const struct request *asking; /* that a call is at work on, or NULL */
	lockq_progress_fn *progress;
	void *progress_data;
	char error[1024];
};

/* The handle owns copies: the caller's strings may be gone when it has to reconnect. */
LOCKQ_MUST_CHECK enum db_rc session_copy_where(struct lockq_connection *to,
    const struct lockq_connection *from);
void session_free_where(struct lockq_connection *where);
LOCKQ_MUST_CHECK enum db_rc session_connect(struct lockq *q);
void session_disconnect(struct lockq *q);
/* The connection whose error is the last one. */
const struct db *session_failed(const struct lockq *q);
/* Makes sure that a handle which was idle for longer than wait_timeout is connected, and that its
 * session is as it was made. */
LOCKQ_MUST_CHECK enum db_rc session_ready(struct lockq *q);
/* The second connection, @q->query; DB_ECROWDED where none is to be had: it is NULL then. */
LOCKQ_MUST_CHECK enum db_rc session_ready_query(struct lockq *q);
/* For reads beside the lock's transaction: the second connection, the lock connection itself where
 * there is none. Ask each time, since a lost connection is closed and made anew. */
struct db *session_beside(const struct lockq *q);
/* @q->elsewhere; on failure it has the error. */
LOCKQ_MUST_CHECK enum db_rc session_ready_elsewhere(struct lockq *q);
LOCKQ_MUST_CHECK enum db_rc session_connect_elsewhere(struct lockq *q, struct db **db);
/* Closes @db, which is one of the two. */
void session_close_query(struct lockq *q, struct db *db);
/* What runs on @db, and anything on the lock connection, is ended on the server as soon as a new
 * connection can be had; for the lock connection that is at once. */
void session_give_up(struct lockq *q, const struct db *db);
void session_note_given_up(struct given_up *given_up, const struct db *db);
/* Ends it over @db, where that is a connection to the same server. */
LOCKQ_MUST_CHECK enum db_rc session_end_given_up(struct db *db, const struct given_up *given_up);
LOCKQ_MUST_CHECK enum db_rc session_abandon(struct lockq *q);

#endif
