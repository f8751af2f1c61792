/* SPDX-License-Identifier: MIT */
/* What people call the loans of a task: lockq_noun(), and noun_of() for the library's own texts. */
#include <stdio.h>
#include <string.h>

#include "handle/session.h"
#include "rules/task.h"

static DB_QUERY(read_noun, DB_MAYBE, "SELECT t.noun FROM task AS t WHERE t.task_id = ?");

static void
noun_read(struct db *db, uint32_t task, char noun[LOCKQ_NOUN_SIZE])
{
	struct db_rows rows = { 0, 0, NULL, NULL };

	noun[0] = '\0';
	if (db != NULL && !db_lost(db) && db_after_call(db, db_run(db, &read_noun,
	    DB_ARGS(db_u64(task)), &rows)) == DB_OK && rows.n_rows > 0)
		copy_cell(noun, LOCKQ_NOUN_SIZE, &rows, 0, 0);
	if (noun[0] == '\0')
		snprintf(noun, LOCKQ_NOUN_SIZE, "loan");
	db_rows_clear(&rows);
}

void
lockq_noun(struct lockq *q, uint32_t task, char noun[LOCKQ_NOUN_SIZE])
{
	noun_read(q->db, task, noun);
}

char *
noun_of(struct db *db, uint32_t task, uint64_t n, char text[LOCKQ_NOUN_SIZE + 1])
{
	char noun[LOCKQ_NOUN_SIZE];
	int length;

	noun_read(db, task, noun);
	length = (int)strcspn(noun, "/");
	if (n != 1 && noun[length] == '/')
		snprintf(text, LOCKQ_NOUN_SIZE + 1, "%s", noun + length + 1);
	else
		snprintf(text, LOCKQ_NOUN_SIZE + 1, "%.*s%s", length, noun, n == 1 ? "" : "s");
	return text;
}
