/* SPDX-License-Identifier: MIT */
/* Step 4: ends the heavy query of a dead leader, the orphan. While a task's query runs, its
 * connection holds a name on the server. The name tells the next leader which connection to
 * kill. */
#include "list/search.h"

#include "handle/bounds.h"

/* A leader gives this name back before it releases the task's lock. So a connection that still has
 * the name while this leader holds the lock is an orphan. Hashed, since a name has 64 characters
 * at most. */
#define QUERY_LOCK_NAME "CONCAT('lockq:', LEFT(SHA2(DATABASE(), 256), 40), ':', ?)"

static DB_QUERY(hold_name, DB_ONE, "SELECT GET_LOCK(" QUERY_LOCK_NAME ", ?), NOW(6)");

static DB_QUERY(name_held_by, DB_ONE, "SELECT IS_USED_LOCK(" QUERY_LOCK_NAME ")");

/* Not RELEASE_LOCK(?): without parameters it is one round trip, and the connection has no other
 * name. */
static DB_QUERY(give_name_back, DB_NO_ROWS, "DO RELEASE_ALL_LOCKS()");

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

/* Another account's connection is left: if it is an orphan, its query ends at its time limit, and
 * any account of the server can have taken the name. Then *@others is set. */
static enum db_rc
end_orphan(struct db *db, uint32_t task_id, bool *others)
{
	uint64_t orphan = 0;
	enum db_rc rc = db_number(db, &name_held_by, DB_ARGS(db_u64(task_id)), &orphan);

	if (rc != DB_OK || orphan == 0)
		return rc;
	return db_kill(db, orphan, others);
}

enum db_rc
orphan_end_and_hold_name(struct db *db, uint32_t task_id, bool *ours, char as_of[TIME_BYTES])
{
	enum db_rc rc = hold(db, task_id, 0, ours, as_of);
	bool others = false;

	if (rc == DB_OK && !*ours) {
		rc = end_orphan(db, task_id, &others);
		if (rc == DB_OK && !others)
			rc = hold(db, task_id, ORPHAN_WAIT_S, ours, as_of);
	}
	return rc;
}

enum db_rc
orphan_give_name_back(struct db *db)
{
	return db_run(db, &give_name_back, DB_NO_ARGS, NULL);
}
