/* SPDX-License-Identifier: MIT */
/* The wait of calls that only look. They read without row locks, but a table that another session
 * has locked, or is to alter, keeps them waiting. So each try ends after a second. */
#include "patience.h"

#include <stdio.h>

#include "error.h"
#include "progress.h"
#include "session.h"

static const char some_table[] = "another session has locked a table that is to be read";

/* What the looks read, the largest first, since that takes long to alter. A statement that opens
 * one of them waits as a look does. */
#define OPENS(table) { table, "SELECT 1 FROM " table " LIMIT 0", DB_MANY }
static const struct db_query opens[] = {
	OPENS("work_log"), OPENS("work_requested"), OPENS("work"), OPENS("leader_run"),
	OPENS("task"), OPENS("app_user"), OPENS("schema_version"), OPENS("task_lock"),
	OPENS("task_wake"), OPENS("request_mine"), OPENS("wake_in"),
};

/* Only an account that may read these tables of the server gets an answer. A session that waits for
 * its lock keeps others waiting, too. */
static const struct db_query holder_of_table = {
	"holder_of_table",
	"SELECT CONCAT(t.processlist_user, '@', t.processlist_host), t.processlist_id"
	"  FROM performance_schema.metadata_locks AS m"
	"  JOIN performance_schema.threads AS t"
	"    ON t.thread_id = m.owner_thread_id"
	" WHERE m.object_type = 'TABLE' AND m.object_schema = DATABASE() AND m.object_name = ?"
	"   AND m.lock_type IN ('SHARED_NO_READ_WRITE', 'EXCLUSIVE')"
	" ORDER BY m.lock_status = 'GRANTED' DESC"
	" LIMIT 1",
	DB_MAYBE
};

void
patience_renew(struct patience *p)
{
	p->since = db_clock_ms();
	p->deadline = p->since + (p->q->look_timeout_ms < 0 ? LOCKQ_LOOK_TIMEOUT_MS :
	    (uint64_t)p->q->look_timeout_ms);
	p->held[0] = '\0';
}

enum db_rc
patience_ready(const struct patience *p)
{
	return db_set_lock_wait(p->q->db, DB_BRIEF_WAIT_S);
}

uint64_t
patience_left(const struct patience *p)
{
	uint64_t now = db_clock_ms();

	return p->deadline > now + DB_BRIEF_WAIT_S * 1000 ? p->deadline - now : DB_BRIEF_WAIT_S * 1000;
}

/* Writes to @p->held which table is locked, and by which session, where this account may see that.
 * What fails here is not told: it is only for a message. */
static void
find_locked(struct patience *p)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct db *db = p->q->db;
	size_t i = 0, n = sizeof(opens) / sizeof(opens[0]);

	while (i < n && db_run(db, &opens[i], DB_NO_ARGS, &rows) != DB_ELOCKWAIT)
		i++;
	if (i < n && db_run(db, &holder_of_table, DB_ARGS(db_text(opens[i].name)),
	    &rows) == DB_OK && rows.n_rows > 0)
		snprintf(p->held, sizeof(p->held), "table \"%s\" is locked by %s, connection %s",
		    opens[i].name, db_cell(&rows, 0, 0), db_cell(&rows, 0, 1));
	else if (i < n)
		snprintf(p->held, sizeof(p->held), "table \"%s\" is locked by another session",
		    opens[i].name);
	db_rows_clear(&rows);
}

/* False where the caller gives up. */
static bool
say_waiting(struct patience *p)
{
	struct ticking ticking = {
		.q = p->q, .phase = LOCKQ_PHASE_RETRY, .since = p->since,
		.detail = p->held[0] != '\0' ? p->held : some_table
	};

	return tick(&ticking) == 0;
}

/* After DB_ELOCKWAIT: whether to try again. *@rc is DB_ECANCELLED where the caller gives up. */
static bool
wait_for_table(struct patience *p, enum db_rc *rc)
{
	bool named = p->held[0] != '\0', goes_on = true;

	error_set_detail(p->q, p->q->db);
	if (!named)
		goes_on = say_waiting(p);
	/* This takes a second, too. */
	if (goes_on && p->q->look_timeout_ms != 0 && (!named || db_clock_ms() < p->deadline))
		find_locked(p);
	if (goes_on && db_clock_ms() >= p->deadline)
		return false;
	goes_on = goes_on && say_waiting(p);
	if (!goes_on)
		*rc = DB_ECANCELLED;
	return goes_on;
}

static int
over(const struct patience *p)
{
	error_set(p->q, "%s: try again later", p->held[0] != '\0' ? p->held : some_table);
	return LOCKQ_BUSY;
}

int
patience_look(struct lockq *q, look_fn *look, void *data)
{
	struct patience patience = { .q = q };
	int code = LOCKQ_OK;
	enum db_rc rc = session_ready(q);

	error_clear(q);
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	patience_renew(&patience);
	do {
		rc = patience_ready(&patience);
		if (rc == DB_OK)
			rc = look(&patience, data, &code);
	} while (rc == DB_ELOCKWAIT && wait_for_table(&patience, &rc));
	if (rc != DB_OK)
		code = rc == DB_ELOCKWAIT ? over(&patience) : error_from_db(q, q->db, rc);
	return code;
}
