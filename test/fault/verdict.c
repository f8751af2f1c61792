/* SPDX-License-Identifier: MIT */
/* What must hold after each call, whatever has failed in it. */
#include "verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { SHOWN = 12, REPLAY_BYTES = 32768 };

void
verdict_wrong(const char *format, ...)
{
	char text[2048];
	va_list args;

	if (trial.faults++ >= SHOWN || trial.forged)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	print_error("%s at %s: %s\n", trial.text, fault_where(), text);
}

static bool
is_one_line(const char *text)
{
	for (const char *c = text; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ')
			return false;
	}
	return text[0] != '\0';
}

/* Whether the call has said that it does not know what became of it. */
static bool
is_unknown(int code, const char *error)
{
	return code == LOCKQ_EUNKNOWN || strstr(error, "may still be pending") != NULL;
}

static bool
is_lost(void)
{
	return trial.fault == FAULT_LOST || trial.fault == FAULT_ANSWER_LOST;
}

const char *
verdict_of_answer(const struct scenario *s, int code, const char *said, const char *error,
    bool done, bool left)
{
	bool writes = s->done != NULL;

	if (code == s->code) {
		if (strcmp(said, trial.usual) != 0)
			return "another answer than usual";
		return writes && !done ? "it says that it has done what it has not" : NULL;
	}
	if (code == LOCKQ_CANCELLED && s->gives_up)
		return NULL;
	/* A query that has lost its connection may have been ended on the server. */
	if (code != LOCKQ_EDATABASE && code != LOCKQ_ENOMEM && code != LOCKQ_EUNKNOWN &&
	    code != LOCKQ_BUSY && !(code == LOCKQ_EQUERY && is_lost()))
		return "a code that is not true";
	if (!is_one_line(error))
		return "no error text, or not one line";
	if (is_unknown(code, error)) {
		if (!writes && s->left == NULL)
			return "an unknown outcome, although it changes nothing";
		/* Of a lost COMMIT those who work find out what became of it. The headers of the
		 * other functions say to make the same call again. */
		return trial.ever || s->group != NULL || !is_lost() ? NULL :
		    "an unknown outcome, although it could have looked";
	}
	if (writes && done)
		return "it says that it has failed, but it is done";
	return left ? "it has failed, and has left something behind" : NULL;
}

/* Counts locks, open transactions and GET_LOCK()s of the accounts that the library has used. */
#define OPEN \
	"SELECT (SELECT COUNT(*) FROM performance_schema.data_locks AS l" \
	"  JOIN performance_schema.threads AS t USING (thread_id)" \
	"  WHERE t.processlist_user LIKE 'lockq\\_%%') +" \
	" (SELECT COUNT(*) FROM performance_schema.events_transactions_current AS e" \
	"  JOIN performance_schema.threads AS t USING (thread_id)" \
	"  WHERE t.processlist_user LIKE 'lockq\\_%%' AND e.state = 'ACTIVE'" \
	"    AND e.autocommit = 'NO') +" \
	" (SELECT COUNT(*) FROM performance_schema.metadata_locks AS m" \
	"  JOIN performance_schema.threads AS t ON t.thread_id = m.owner_thread_id" \
	"  WHERE t.processlist_user LIKE 'lockq\\_%%'" \
	"    AND m.object_type = 'USER LEVEL LOCK')"

/* The server needs a moment to notice that a connection has ended. */
void
verdict_open(uint64_t patience_ms)
{
	uint64_t start = db_clock_ms();

	if (administrator() == NULL)
		return;
	while (u64_on(administrator(), OPEN) != 0) {
		if (db_clock_ms() - start > patience_ms) {
			verdict_wrong("a lock, a transaction or a GET_LOCK() is left");
			return;
		}
		db_sleep_ms(1);
	}
}

FILE *
open_file(const char *name)
{
	const char *top = getenv("LOCKQ_TOP");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", top != NULL ? top : ".", name);
	file = fopen(path, "r");
	assert_non_null(file);
	return file;
}

/* The tables agree with the log, see test/support/replay.sql. */
void
verdict_log(void)
{
	static char replay[REPLAY_BYTES];
	static const struct db_query query = { "replay", replay, DB_MANY };
	struct db_rows rows = { 0, 0, NULL, NULL };

	if (replay[0] == '\0') {
		FILE *file = open_file("test/support/replay.sql");

		assert_true(fread(replay, 1, sizeof(replay) - 1, file) > 0);
		assert_true(feof(file));
		fclose(file);
		*strrchr(replay, ';') = '\0';
	}
	sql("SET @replay_task = %d, @replay_rules = 0", TASK);
	assert_int_equal(db_run(owner(), &query, DB_NO_ARGS, &rows), DB_OK);
	for (size_t i = 0; i < rows.n_rows; i++)
		verdict_wrong("loan %s: %s", db_cell(&rows, i, 1), db_cell(&rows, i, 3));
	db_rows_clear(&rows);
}

void
verdict_kept(void)
{
	const char *what;
	size_t kept = fault_kept(&what);

	if (kept > 0)
		verdict_wrong("%zu things were not released, the first is of %s", kept, what);
	fault_forget();
}
