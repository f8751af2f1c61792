/* SPDX-License-Identifier: MIT */
/* A row of work_log gets its number before its transaction commits, and transactions commit in any
 * order. So a committed row may be delivered only when none with a lower number can still be
 * committed. A lower number is one of these:
 *
 *   committed   it is delivered first
 *   inserted    a dirty read shows it, a read of committed rows does not: it is waited for
 *   missing     it is dead, since it was rolled back, purged or skipped by the server; or it is
 *               reserved, by a statement that is about to insert it
 *
 * To tell the dead from the reserved: numbers are handed out in ascending order. Once row n is
 * seen, each number below n has been handed out, and a statement inserts its rows before it ends.
 * So when all statements that wrote to the table after row n was seen have ended, no number below n
 * is inserted any more: n is settled. A dirty read that begins after that shows what is there, and
 * all other numbers up to n are dead, however many they are.
 *
 * A transaction that writes to the table holds a metadata lock on it until its end. So only
 * statements of such transactions count, and a heavy query, or what others do on the same server,
 * holds nothing up. Nor does a transaction that rests between two statements. A transaction is
 * named by the thread and the event that took the lock, so one that begins later is not waited for.
 * information_schema.innodb_trx would not do: it is a copy of up to 100 ms ago. */
#include "feed/feed.h"

#include <string.h>

#include "db/db_text.h"

static DB_QUERY(read_seen, DB_MANY,
    "SELECT log_id FROM work_log FORCE INDEX (PRIMARY)"
    " WHERE log_id > ?"
    " ORDER BY log_id LIMIT ?");

static DB_QUERY(read_writers, DB_MANY, "CALL follow_writers()");
enum { WRITES, THREAD, EVENT, RESTS }; /* its columns */
/* ER_..., of MySQL only: the server runs without a performance schema. */
enum { NO_PERFORMANCE_SCHEMA = 1683 };

enum db_rc
order_read(struct order *order, struct db *db, uint64_t position, uint32_t most)
{
	enum db_rc rc = db_next_read_dirty(db);

	return rc != DB_OK ? rc : db_run(db, &read_seen, DB_ARGS(db_u64(position), db_u64(most)),
	    &order->seen);
}

uint64_t
order_last(const struct order *order)
{
	return order->seen.n_rows == 0 ? 0 : db_cell_u64(&order->seen, order->seen.n_rows - 1, 0);
}

bool
order_has_gap(const struct order *order, uint64_t position)
{
	for (size_t i = 0; i < order->seen.n_rows; i++) {
		uint64_t id = db_cell_u64(&order->seen, i, 0);

		if (id > position + 1 && id - 1 > order->settled)
			return true;
		position = id;
	}
	return false;
}

/* The first number of @order->seen that is greater than @id. */
static size_t
first_after(const struct order *order, uint64_t id)
{
	size_t low = 0, high = order->seen.n_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (db_cell_u64(&order->seen, middle, 0) > id)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint64_t
order_uncommitted(const struct order *order, uint64_t before, uint64_t id)
{
	uint64_t seen = db_cell_u64(&order->seen, first_after(order, before), 0);

	return seen < id ? seen : 0;
}

bool
order_allows(const struct order *order, uint64_t before, uint64_t id)
{
	return order_uncommitted(order, before, id) == 0 &&
	    (id == before + 1 || id - 1 <= order->settled);
}

/* Whether the rows tell that they are all: follow_writers() says how. Else notes which account
 * lacks the right. */
static bool
are_all(struct order *order, const struct db_rows *writers)
{
	bool all = false;

	order->lacks[0] = '\0';
	for (size_t i = 0; i < writers->n_rows; i++) {
		if (db_cell_is_null(writers, i, WRITES))
			copy_cell(order->lacks, sizeof(order->lacks), writers, i, THREAD);
		else if (db_cell_u64(writers, i, WRITES) == 0)
			all = true;
	}
	return all;
}

/* Whether a transaction of @before is among @now, which may be the same rows. One that rested once
 * has no statement left that had begun before. */
static bool
any_left(const struct db_rows *before, const struct db_rows *now, enum order_ends ends)
{
	for (size_t i = 0; i < now->n_rows; i++) {
		if (db_cell_u64(now, i, WRITES) == 0 ||
		    (ends == STATEMENTS_END && db_cell_u64(now, i, RESTS) != 0))
			continue;
		for (size_t k = 0; k < before->n_rows; k++) {
			if (db_cell_u64(before, k, WRITES) != 0 &&
			    db_cell_u64(before, k, THREAD) == db_cell_u64(now, i, THREAD) &&
			    db_cell_u64(before, k, EVENT) == db_cell_u64(now, i, EVENT) &&
			    (ends == TRANSACTIONS_END || db_cell_u64(before, k, RESTS) == 0))
				return true;
		}
	}
	return false;
}

enum db_rc
order_settle(struct order *order, struct db *db, uint64_t id, enum order_ends ends,
    uint64_t gap_ms, bool *settled)
{
	struct db_rows now = { 0, 0, NULL, NULL };
	bool first = order->asked == 0, waits;
	enum db_rc rc = db_run(db, &read_writers, DB_NO_ARGS, &now);

	*settled = false;
	/* Then no row tells that they are all. */
	if (rc != DB_OK && db_errno(db) != NO_PERFORMANCE_SCHEMA)
		return rc;
	if (first) {
		order->asked = id;
		order->blind = false;
	}
	/* Whoever was not seen once may still be at work, also when others are seen again. */
	if (!are_all(order, &now) && !order->blind) {
		order->blind = true;
		order->blind_since = db_clock_ms();
	}
	waits = order->blind ? db_clock_ms() - order->blind_since < gap_ms :
	    any_left(first ? &now : &order->writers, &now, ends);
	if (first) {
		db_rows_clear(&order->writers);
		order->writers = now;
	} else {
		db_rows_clear(&now);
	}
	if (!waits) {
		order->settled = order->asked;
		order->asked = 0;
		*settled = true;
	}
	return DB_OK;
}

void
order_clear(struct order *order)
{
	db_rows_clear(&order->writers);
	db_rows_clear(&order->seen);
	*order = (struct order){ .settled = 0 };
}
