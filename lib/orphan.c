/* SPDX-License-Identifier: MIT */
/* Step 4: the name that a task's heavy query holds on the server. It tells the next leader which
 * connection still runs the query of a dead one, the orphan. */
#include "orphan.h"

#include "bounds.h"

/* No leader holds this name after its query, and we hold the task's lock: whoever still has it runs
 * the query of a leader that is gone. Hashed, because a name ends at 64 characters. */
#define QUERY_LOCK_NAME "CONCAT('lockq:', LEFT(SHA2(DATABASE(), 256), 40), ':', ?)"

static const struct db_query hold_name = {
	"hold_name",
	"SELECT GET_LOCK(" QUERY_LOCK_NAME ", ?), NOW(6)",
	DB_ONE
};

static const struct db_query name_held_by = {
	"name_held_by", "SELECT IS_USED_LOCK(" QUERY_LOCK_NAME ")", DB_ONE
};

/* This connection has no other. Without parameters it is one round trip. */
static const struct db_query give_name_back = {
	"give_name_back", "DO RELEASE_ALL_LOCKS()", DB_NO_ROWS
};

/* GET_LOCK on the query connection, and the server's time as the query is about to start. */
static enum db_rc
hold(struct db *db, uint32_t task_id, unsigned int wait_s, bool *ours, char as_of[TIME_BYTES])
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &hold_name, DB_ARGS(db_u64(task_id), db_u64(wait_s)), &rows);

	*ours = rc == DB_OK && db_cell_u64(&rows, 0, 0) == 1;
	if (rc == DB_OK)
		copy_cell(as_of, TIME_BYTES, &rows, 0, 1);
	db_rows_clear(&rows);
	return rc;
}

/* Ends the query of a dead leader, where it runs under this account; another account's ends at its
 * time limit. */
static enum db_rc
end_orphan(struct db *db, uint32_t task_id)
{
	uint64_t orphan = 0;
	enum db_rc rc = db_number(db, &name_held_by, DB_ARGS(db_u64(task_id)), &orphan);

	if (rc != DB_OK || orphan == 0)
		return rc;
	return db_kill(db, orphan);
}

enum db_rc
orphan_end_and_hold_name(struct db *db, uint32_t task_id, bool *ours, char as_of[TIME_BYTES])
{
	enum db_rc rc = hold(db, task_id, 0, ours, as_of);

	if (rc == DB_OK && !*ours) {
		rc = end_orphan(db, task_id);
		if (rc == DB_OK)
			rc = hold(db, task_id, ORPHAN_WAIT_S, ours, as_of);
	}
	return rc;
}

enum db_rc
orphan_give_name_back(struct db *db)
{
	return db_run(db, &give_name_back, DB_NO_ARGS, NULL);
}
