/* SPDX-License-Identifier: MIT */
/* A handle and its connections. */
#ifndef LOCKQ_SESSION_H
#define LOCKQ_SESSION_H

#include "db/db_text.h"
#include "handle/operation.h"
#include "handle/where.h"

/* What a call asks for. */
struct request {
	uint64_t request_id;  /* 0: not recorded, or not known yet */
	char uuid[UUID_BYTES];
	const char *user;     /* the caller's */
	bool joined;          /* an earlier call of the same user made it */
	uint32_t asked;       /* of a joined request: the loans that the earlier call asked for */
	bool fresh;           /* it wants a query that begins after it */
	bool chosen;          /* the caller has chosen the UUID */
	bool in_the_way;      /* joined, but its UUID is not the chosen one: when it has ended, the
	                       * call asks under its own UUID */
	bool found;           /* request_record() found a row with its UUID */
};

/* A connection that was given up while a statement or a transaction was open on it. */
struct given_up {
	uint64_t id;             /* the server's; 0: none */
	uint64_t since;          /* when it was connected; db_clock_ms() */
	char server[UUID_BYTES]; /* the server's server_uuid */
};

struct lockq {
	struct where where;       /* of lockq_read_options(), for connecting, also again */
	struct where query_group; /* what [lockq_query] said then */
	struct where query_where; /* of lockq_query_at() */
	bool asks_elsewhere;  /* the heavy query runs at @query_where */
	struct db *db;        /* the lock connection: all but the heavy query runs on it, the
	                       * lock's transaction too */
	struct db *query;     /* the query connection, while leading: same server, same account */
	struct db *elsewhere; /* the connection to @query_where */
	struct given_up given_up[2]; /* of @db, of @query: to be ended by the next connection */
	int64_t connect_timeout_ms; /* of lockq_connect() */
	const struct request *asking; /* the request of the call in progress; or NULL */
	uint32_t due_task;    /* whose list the last lockq_getwork() took from and found due */
	uint32_t take_task;   /* whose list the last call took from; 0: none */
	uint32_t take_spare;  /* the first so many loans of it are those that others take, too */
	int64_t look_timeout_ms; /* lockq_look_timeout() */
	struct operating operating; /* the call in progress */
	lockq_progress_fn *progress;
	void *progress_data;
	lockq_overtime_fn *overtime;
	void *overtime_data;
	uint64_t overtime_at; /* when the call in progress may have led for long enough;
	                       * db_clock_ms(); 0: never */
	bool overtime_told;   /* in the call in progress it has, and the caller was asked: */
	bool led_elsewhere;   /* another process leads on, with the connections */
	char cursor[65];      /* lockq_expired.kept_for */
	char error[1024];     /* lockq_error() */
	char detail[160];     /* lockq_error_detail() */
	bool was_connected;   /* with these options */
	bool refused;         /* by the server, when the last connection was made */
	bool has_read;        /* the option files were read, and @where is complete */
	struct where_report report; /* what they said beside @where */
};

/* Closes all connections and makes the lock connection anew; then ends what was given up. */
LOCKQ_MUST_CHECK enum db_rc session_connect(struct lockq *q);
/* The same, in about @ms, and DB_CONNECT_TIMEOUT_S at most. */
LOCKQ_MUST_CHECK enum db_rc session_connect_in(struct lockq *q, uint64_t ms);
void session_disconnect(struct lockq *q);
/* The connection with the last error, @q->db or @q->query. */
const struct db *session_failed(const struct lockq *q);
/* Makes sure that the lock connection lives and has its settings, DB_BRIEF_WAIT_S for each lock
 * among them; the server may have closed it after wait_timeout. */
LOCKQ_MUST_CHECK enum db_rc session_ready(struct lockq *q);
/* Makes sure that @q->query lives. DB_ECROWDED, and it is NULL, where the server has no session, or
 * where a router leads to another server each time; @q->db has the error's text. */
LOCKQ_MUST_CHECK enum db_rc session_ready_query(struct lockq *q);
/* The connection for reads beside the lock's transaction: @q->query, or @q->db where there is none.
 * To be asked each time, since a lost connection is closed and made anew. */
struct db *session_beside(const struct lockq *q);
/* Makes sure that @q->elsewhere lives. After a failure it is a handle that has the error. */
LOCKQ_MUST_CHECK enum db_rc session_ready_elsewhere(struct lockq *q);
/* Closes @db, which is @q->query or @q->elsewhere. */
void session_close_query(struct lockq *q, struct db *db);
/* To be called while the call leads, and its time is over: asks the caller whether another process
 * leads on. Where one does, this process has left the connections to it. */
LOCKQ_MUST_CHECK bool session_led_elsewhere(struct lockq *q);
/* Notes that what is open on @db, @q->db or @q->query, is to be ended on the server by the next
 * session_connect(). */
void session_give_up(struct lockq *q, const struct db *db);
/* Gives @q->db up and connects anew at once. */
LOCKQ_MUST_CHECK enum db_rc session_abandon(struct lockq *q);
/* The same for another connection: the first function notes it, the second kills it over @db. */
void session_note_given_up(struct given_up *given_up, const struct db *db);
LOCKQ_MUST_CHECK enum db_rc session_end_given_up(struct db *db, const struct given_up *given_up);
/* Ends on the server, over a new connection, the query that still runs on @q->elsewhere. If that
 * fails, the query ends at its max_execution_time. */
void session_end_elsewhere(struct lockq *q);

/* schema_version.c: refuses a schema that is too old, or too new. Returns a public code. */
LOCKQ_MUST_CHECK int schema_version_check(struct lockq *q);

#endif
