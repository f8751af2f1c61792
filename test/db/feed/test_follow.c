/* SPDX-License-Identifier: MIT */
/* lockq_follow(), the change feed: no change is left out, whatever order transactions commit in,
 * and what was acknowledged does not come again. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

#define FOLLOWER_GROUP "lockq_follower"
#define CURSOR "test.cursor-1"

enum { MOST = 600, READERS = 3, GAP_MS = 300 };

/* Somebody who follows, perhaps in a thread. */
struct reader {
	struct lockq *q;
	struct lockq_follow what;
	struct lockq_followed did;
	int rc;
	char error[1024];
	pthread_t thread;
	uint64_t loans[MOST];   /* of the changes that were delivered */
	uint64_t ids[MOST];
	size_t n, batches;
	size_t fails_at;        /* the delivery with this number gives up; 0: none does */
	bool fails_at_end;      /* the end of a batch gives up */
	bool cuts;              /* the first end of a batch cuts the reader's connection */
	const char *gives_up;   /* when it waits for what has these words; or NULL */
	volatile bool ends;     /* the progress function gives up */
	size_t waits;           /* calls of the progress function with a detail */
	char told[1024];        /* the last detail */
	struct reader *other;   /* the first delivery waits until this one has met the cursor */
	volatile bool met;      /* it has delivered something, or waits for the cursor */
};

static struct reader readers[READERS];

static int
deliver(const struct lockq_change *change, void *data)
{
	struct reader *r = data;

	if (change == NULL) {
		r->batches++;
		if (r->cuts) {
			r->cuts = false;
			sql_on(administrator(), "KILL %" PRIu64, u64_on(administrator(),
			    "SELECT MAX(processlist_id) FROM performance_schema.threads"
			    " WHERE processlist_user = 'lockq_feed'"));
		}
		return r->fails_at_end;
	}
	assert_true(r->n < MOST);
	assert_int_equal(change->task, TASK);
	r->ids[r->n] = change->log_id;
	r->loans[r->n++] = change->loan_id;
	r->met = true;
	for (uint64_t start = db_clock_ms(); r->other != NULL && !r->other->met &&
	    db_clock_ms() - start < PATIENCE_MS;)
		db_sleep_ms(1);
	return r->n == r->fails_at;
}

static int
progress(const struct lockq_progress *now, void *data)
{
	struct reader *r = data;

	if (now->detail != NULL) {
		r->met = true;
		r->waits++;
		snprintf(r->told, sizeof(r->told), "%s", now->detail);
	}
	return r->ends || (r->gives_up != NULL && now->detail != NULL &&
	    strstr(now->detail, r->gives_up) != NULL);
}

/* Returns a reader, perhaps behind a proxy, that ends when it has all that is there. */
static struct reader *
reader(struct proxy *proxy)
{
	struct lockq_connection where = proxy != NULL ? proxy_where(proxy) : where_is(NULL);
	struct reader *r = readers;

	while (r->q != NULL)
		assert_true(++r < readers + READERS);
	*r = (struct reader){ .what = LOCKQ_FOLLOW_INIT };
	r->what.cursor = CURSOR;
	r->what.deliver = deliver;
	r->what.data = r;
	r->what.until_now = 1;
	where.defaults_group = administrator() != NULL ? FOLLOWER_GROUP : OWNER_GROUP;
	assert_int_equal(lockq_new(&r->q), LOCKQ_OK);
	assert_int_equal(lockq_connect(r->q, &where), LOCKQ_OK);
	lockq_on_progress(r->q, progress, r);
	return r;
}

static void *
follow(void *data)
{
	struct reader *r = data;

	r->rc = lockq_follow(r->q, &r->what, &r->did);
	snprintf(r->error, sizeof(r->error), "%s", lockq_error(r->q));
	return NULL;
}

/* Follows, and forgets what was delivered before. */
static void
follows(struct reader *r, int rc)
{
	r->n = r->batches = r->waits = 0;
	r->told[0] = '\0';
	(void)follow(r);
	if (r->rc != rc)
		print_error("%s\n%s\n", r->error, r->told);
	assert_int_equal(r->rc, rc);
}

static void
assert_got(const struct reader *r, const char *loans)
{
	char got[MOST * 8] = "";
	size_t used = 0;

	for (size_t i = 0; i < r->n && used < sizeof(got); i++)
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%" PRIu64,
		    i > 0 ? " " : "", r->loans[i]);
	assert_string_equal(got, loans);
}

static uint64_t
position(void)
{
	return u64("SELECT position FROM follow_cursor WHERE name = '" CURSOR "'");
}

#define LOG "INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version," \
	" request_id, at) "
#define ROW(loan) "100, " loan ", 'assigned', 1, 'x@y', 1, 1, 1, NOW(6)"

static void
log_loan(struct db *db, uint64_t loan)
{
	sql_on(db, LOG "VALUES (" ROW("%" PRIu64) ")", loan);
}

/* Whether the server notes who writes, and whether the owner may see it. */
static void
let_see(bool notes, bool may)
{
	if (administrator() == NULL)
		return;
	sql_on(administrator(), "UPDATE performance_schema.setup_instruments SET enabled = '%s'"
	    " WHERE name = 'wait/lock/metadata/sql/mdl'", notes ? "YES" : "NO");
	sql_on(administrator(), "%s SELECT ON performance_schema.metadata_locks"
	    " %s lockq_owner@localhost", may ? "GRANT" : "REVOKE", may ? "TO" : "FROM");
}

static int
setup(void **state)
{
	int rc = test_setup(state);

	sql("DELETE FROM work_log");
	sql("ALTER TABLE work_log AUTO_INCREMENT = 1");
	sql("DELETE FROM follow_cursor");
	sql("CREATE TABLE IF NOT EXISTS test_gate (id INT PRIMARY KEY)");
	return rc;
}

static int
teardown(void **state)
{
	proxies_relent();
	for (size_t i = 0; i < READERS; i++) {
		lockq_free(readers[i].q);
		readers[i].q = NULL;
	}
	end_connections();
	let_see(true, true);
	sql("DELETE FROM work_log");
	sql("DELETE FROM follow_cursor");
	sql("DROP TABLE IF EXISTS test_gate");
	return test_teardown(state);
}
#define FOLLOW_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void
changes_come_once_and_in_order(void **state)
{
	struct reader *r = reader(NULL);

	(void)state;
	for (uint64_t loan = 11; loan <= 15; loan++)
		log_loan(owner(), loan);
	follows(r, LOCKQ_OK);
	assert_got(r, "11 12 13 14 15");
	assert_int_equal(r->did.made, 1);
	assert_int_equal(r->did.changes, 5);
	assert_int_equal(r->batches, 1);
	assert_int_equal(r->did.position, r->ids[4]);
	assert_int_equal(position(), r->ids[4]);
	assert_int_equal(u64("SELECT COUNT(*) FROM follow_cursor WHERE account LIKE 'lockq%%'"
	    " AND moved_at BETWEEN made_at AND UTC_TIMESTAMP(6)"), 1);
	follows(r, LOCKQ_OK);
	assert_got(r, "");
	assert_int_equal(r->did.made, 0);
	assert_int_equal(r->did.position, position());
	r->what.batch = 2;
	for (uint64_t loan = 16; loan <= 20; loan++)
		log_loan(owner(), loan);
	follows(r, LOCKQ_OK);
	assert_got(r, "16 17 18 19 20");
	assert_int_equal(r->batches, 3);
}

/* guard: a row is not passed while it may still be committed. */
static void
an_uncommitted_row_holds_later_ones_up(void **state)
{
	struct reader *r = reader(NULL);
	struct db *first = connect_as(OWNER_GROUP);

	(void)state;
	log_loan(owner(), 1);
	sql_on(first, "BEGIN");
	log_loan(first, 2);
	log_loan(owner(), 3);
	r->gives_up = "is not committed yet";
	follows(r, LOCKQ_CANCELLED);
	assert_got(r, "1");
	assert_int_equal(r->did.changes, 1);
	sql_on(first, "COMMIT");
	r->gives_up = NULL;
	follows(r, LOCKQ_OK);
	assert_got(r, "2 3");
}

/* Nor is it left out because the cursor was made before it was committed. */
static void
a_new_cursor_begins_before_uncommitted_rows(void **state)
{
	struct reader *r = reader(NULL);
	struct db *first = connect_as(OWNER_GROUP);

	(void)state;
	sql_on(first, "BEGIN");
	log_loan(first, 1);
	log_loan(owner(), 2);
	r->gives_up = "is not committed yet";
	follows(r, LOCKQ_CANCELLED);
	assert_got(r, "");
	assert_int_equal(r->did.made, 1);
	sql_on(first, "COMMIT");
	r->gives_up = NULL;
	follows(r, LOCKQ_OK);
	assert_got(r, "1 2");
	/* What others wrote yesterday has been committed. */
	sql("DELETE FROM follow_cursor");
	sql("UPDATE work_log SET logged_at = logged_at - INTERVAL 25 HOUR");
	r->fails_at = 1;
	follows(r, LOCKQ_CANCELLED);
	assert_int_equal(position(), r->ids[0] - 1);
}

static void
a_row_that_was_rolled_back_is_passed_at_once(void **state)
{
	struct reader *r = reader(NULL);
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	log_loan(owner(), 1);
	sql_on(other, "BEGIN");
	log_loan(other, 2);
	log_loan(owner(), 3);
	sql_on(other, "ROLLBACK");
	follows(r, LOCKQ_OK);
	assert_got(r, "1 3");
	assert_int_equal(r->waits, 0);
	/* Numbers that a purge has left are as many as they like. */
	sql("ALTER TABLE work_log AUTO_INCREMENT = 4000000000000");
	log_loan(owner(), 4);
	follows(r, LOCKQ_OK);
	assert_got(r, "4");
	assert_int_equal(r->waits, 0);
}

/* A statement that inserts three loans from the table test_gate, and waits for the last one. */
static void *
insert_through_gate(void *data)
{
	sql_on(data, LOG "SELECT 100, 20 + id, 'assigned', 1, 'x@y', 1, 1, 1, NOW(6)"
	    " FROM test_gate ORDER BY id FOR UPDATE");
	return NULL;
}

/* guard: a number is not passed while a statement that has reserved it still runs. The server gives
 * this statement one number, then two, of which it uses the second one only when the gate opens. */
static void
a_reserved_number_is_waited_for(void **state)
{
	struct reader *r = reader(NULL);
	struct db *gate = connect_as(OWNER_GROUP), *writer = connect_as(OWNER_GROUP);
	uint64_t before;
	pthread_t thread;

	(void)state;
	log_loan(owner(), 1);
	before = u64("SELECT MAX(log_id) FROM work_log");
	sql("INSERT INTO test_gate VALUES (1), (2), (3)");
	sql_on(gate, "BEGIN");
	sql_on(gate, "DELETE FROM test_gate WHERE id = 3");
	assert_int_equal(pthread_create(&thread, NULL, insert_through_gate, writer), 0);
	until_waiting_for("test_gate", 1);
	log_loan(owner(), 2);
	assert_int_equal(u64("SELECT MAX(log_id) FROM work_log"), before + 4);
	r->gives_up = "is not committed yet";
	(void)follow(r);
	sql_on(gate, "ROLLBACK");
	pthread_join(thread, NULL);
	assert_int_equal(r->rc, LOCKQ_CANCELLED);
	assert_got(r, "1");
	r->gives_up = NULL;
	follows(r, LOCKQ_OK);
	assert_got(r, "21 22 23 2");
	assert_int_equal(r->ids[2], before + 3);
}

/* A row that waits for a lock. */
struct held {
	struct db *db;
	uint64_t loan;
};

static void *
log_held(void *data)
{
	const struct held *h = data;

	log_loan(h->db, h->loan);
	return NULL;
}

/* guard: a number that no row has is not passed while a statement that began to write before may
 * still insert it. A statement that has been handed its number inserts the row at once, but it may
 * lose the processor in between. Here a lock on the gap stops it there for longer, and a greater
 * number is committed meanwhile. */
static void
a_number_without_a_row_is_waited_for(void **state)
{
	struct reader *r = reader(NULL);
	struct db *gate = connect_as(OWNER_GROUP), *late = connect_as(OWNER_GROUP);
	struct db *later = connect_as(OWNER_GROUP);
	struct held h = { late, 2 };
	pthread_t thread;
	uint64_t first;

	(void)state;
	log_loan(owner(), 1);
	first = u64("SELECT MAX(log_id) FROM work_log");
	sql("INSERT INTO work_log (log_id, task_id, loan_id, event, user_id, account, token,"
	    " version, request_id, at) VALUES (%" PRIu64 ", " ROW("3") ")", first + 10);
	sql_on(gate, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
	sql_on(gate, "BEGIN");
	sql_on(gate, "DELETE FROM work_log WHERE log_id > %" PRIu64 " AND log_id < %" PRIu64,
	    first, first + 10);
	sql_on(late, "SET insert_id = %" PRIu64, first + 5);
	assert_int_equal(pthread_create(&thread, NULL, log_held, &h), 0);
	until_waiting_for("work_log", 1);
	r->gives_up = "a statement may still write before row";
	(void)follow(r);
	sql_on(gate, "ROLLBACK");
	pthread_join(thread, NULL);
	assert_int_equal(r->rc, LOCKQ_CANCELLED);
	assert_got(r, "1");
	/* A transaction that rests is not waited for. */
	sql_on(later, "BEGIN");
	log_loan(later, 4);
	r->gives_up = NULL;
	follows(r, LOCKQ_OK);
	assert_got(r, "2 3");
}

/* guard: the numbers are read again when they are settled: a row may have come since. */
static void
a_row_that_comes_meanwhile_is_seen(void **state)
{
	struct proxy *proxy = proxy_new();
	struct reader *r = reader(proxy);
	struct db *other = connect_as(OWNER_GROUP);
	uint64_t first;

	(void)state;
	log_loan(owner(), 1);
	first = u64("SELECT MAX(log_id) FROM work_log");
	sql("INSERT INTO work_log (log_id, task_id, loan_id, event, user_id, account, token,"
	    " version, request_id, at) VALUES (%" PRIu64 ", " ROW("3") ")", first + 10);
	proxy_hold(proxy, "=CALL follow_writers()", 1);
	r->gives_up = "is not committed yet";
	assert_int_equal(pthread_create(&r->thread, NULL, follow, r), 0);
	proxy_until_held(proxy);
	sql_on(other, "BEGIN");
	sql_on(other, "SET insert_id = %" PRIu64, first + 5);
	log_loan(other, 2);
	proxy_release(proxy);
	pthread_join(r->thread, NULL);
	assert_int_equal(r->rc, LOCKQ_CANCELLED);
	assert_got(r, "1");
	sql_on(other, "COMMIT");
	r->gives_up = NULL;
	follows(r, LOCKQ_OK);
	assert_got(r, "2 3");
}

/* guard: the cursor's row is locked by whoever delivers from it. */
static void
two_readers_share_a_cursor(void **state)
{
	enum { ROWS = 80 };
	struct reader *r[2] = { reader(NULL), reader(NULL) };
	bool got[ROWS + 1] = { false };

	(void)state;
	for (uint64_t loan = 1; loan <= ROWS; loan++)
		log_loan(owner(), loan);
	for (size_t i = 0; i < 2; i++) {
		r[i]->what.batch = 7;
		r[i]->other = r[1 - i];
		assert_int_equal(pthread_create(&r[i]->thread, NULL, follow, r[i]), 0);
	}
	for (size_t i = 0; i < 2; i++)
		pthread_join(r[i]->thread, NULL);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(r[i]->rc, LOCKQ_OK);
		assert_int_equal(r[i]->n, r[i]->did.changes);
		for (size_t k = 0; k < r[i]->n; k++) {
			assert_false(got[r[i]->loans[k]]);
			got[r[i]->loans[k]] = true;
		}
	}
	assert_int_equal(r[0]->n + r[1]->n, ROWS);
}

/* --- acknowledging --- */

static void
what_was_not_acknowledged_comes_again(void **state)
{
	struct reader *r = reader(NULL);

	(void)state;
	for (uint64_t loan = 1; loan <= 3; loan++)
		log_loan(owner(), loan);
	r->fails_at = 2;
	follows(r, LOCKQ_CANCELLED);
	assert_got(r, "1 2");
	assert_int_equal(r->batches, 0);
	r->fails_at = 0;
	r->fails_at_end = true;
	follows(r, LOCKQ_CANCELLED);
	assert_got(r, "1 2 3");
	assert_int_equal(r->did.changes, 0);
	r->fails_at_end = false;
	follows(r, LOCKQ_OK);
	assert_got(r, "1 2 3");
	follows(r, LOCKQ_OK);
	assert_got(r, "");
}

/* A reader that takes so long that the server ends its session is in the same case. */
static void
a_lost_connection_repeats_the_batch(void **state)
{
	static const struct {
		const char *at;
		enum proxy_cut when;
		const char *got;
	} cuts[] = {
		{ "CALL follow_looks", CUT_AFTER, "1 2" },
		{ "SELECT log_id FROM work_log", CUT_AFTER, "1 2" },
		{ "CALL follow_takes", CUT_AFTER, "1 2" },
		{ "CALL follow_moves", CUT_BEFORE, "1 2 1 2" },
		{ "CALL follow_moves", CUT_AFTER, "1 2 1 2" },
		{ "=COMMIT", CUT_BEFORE, "1 2 1 2" },
		{ "=COMMIT", CUT_AFTER, "1 2" },
	};
	struct proxy *proxy = proxy_new();
	struct reader *r = reader(proxy);

	(void)state;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		bool repeats = strcmp(cuts[i].got, "1 2") != 0;

		log_loan(owner(), 1);
		log_loan(owner(), 2);
		proxy_cut(proxy, cuts[i].at, 1, cuts[i].when);
		follows(r, LOCKQ_OK);
		assert_got(r, cuts[i].got);
		if (repeats)
			assert_non_null(strstr(r->told, "the last 2 changes may come again"));
		else
			assert_true(r->waits > 0);
		assert_int_equal(position(), u64("SELECT MAX(log_id) FROM work_log"));
	}
}

static void
a_session_that_the_server_ends_repeats_the_batch(void **state)
{
	struct reader *r = reader(NULL);

	(void)state;
	if (administrator() == NULL)
		skip();
	for (uint64_t loan = 1; loan <= 3; loan++)
		log_loan(owner(), loan);
	r->what.batch = 2;
	r->cuts = true;
	follows(r, LOCKQ_OK);
	/* From then on the batches are smaller for a while. */
	assert_got(r, "1 2 1 2 3");
	assert_non_null(strstr(r->told, "the last 2 changes may come again, since they could not"));
}

/* --- cursors --- */

static void
a_new_cursor_begins_where_it_is_told(void **state)
{
	struct reader *r = reader(NULL);
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	log_loan(owner(), 1);
	r->what.from_now = 1;
	follows(r, LOCKQ_OK);
	assert_got(r, "");
	assert_int_equal(r->did.made, 1);
	log_loan(owner(), 2);
	follows(r, LOCKQ_OK);
	assert_got(r, "2");
	/* What is being written is waited for, or the cursor would begin in its middle. */
	sql("DELETE FROM follow_cursor");
	sql_on(other, "BEGIN");
	log_loan(other, 3);
	r->gives_up = "a statement may still write before row";
	follows(r, LOCKQ_CANCELLED);
	assert_int_equal(r->did.made, 0);
	sql_on(other, "COMMIT");
	follows(r, LOCKQ_OK);
	assert_got(r, "");
	log_loan(owner(), 4);
	follows(r, LOCKQ_OK);
	assert_got(r, "4");
}

static void
cursors_are_shown_and_removed(void **state)
{
	struct lockq_cursors cursors = LOCKQ_CURSORS_INIT;
	struct reader *r = reader(NULL), *other = reader(NULL);

	(void)state;
	assert_int_equal(lockq_cursors(r->q, &cursors), LOCKQ_NOTHING);
	log_loan(owner(), 1);
	follows(r, LOCKQ_OK);
	other->what.cursor = "b";
	sql("UPDATE work_log SET at = NOW(6) - INTERVAL 70 SECOND");
	for (uint64_t loan = 2; loan <= 3; loan++)
		log_loan(owner(), loan);
	other->fails_at_end = true;
	follows(other, LOCKQ_CANCELLED);
	assert_int_equal(lockq_cursors(r->q, &cursors), LOCKQ_OK);
	assert_int_equal(cursors.n_cursors, 2);
	assert_string_equal(cursors.cursors[0].cursor, "b");
	assert_int_equal(cursors.cursors[0].lag, 3);
	assert_in_range(cursors.cursors[0].age_s, 70, 90);
	assert_string_equal(cursors.cursors[0].moved_at, "");
	assert_string_equal(cursors.cursors[1].cursor, CURSOR);
	assert_int_equal(cursors.cursors[1].lag, 2);
	assert_in_range(cursors.cursors[1].age_s, 0, 20);
	lockq_cursors_clear(&cursors);
	assert_int_equal(lockq_drop_cursor(r->q, "b"), LOCKQ_OK);
	assert_int_equal(lockq_drop_cursor(r->q, "b"), LOCKQ_EREFUSED);
	assert_string_equal(lockq_error(r->q), "there is no cursor \"b\"");
	/* Whoever follows it ends. */
	r->what.until_now = 0;
	assert_int_equal(pthread_create(&r->thread, NULL, follow, r), 0);
	until("SELECT position = (SELECT MAX(log_id) FROM work_log) FROM follow_cursor");
	assert_int_equal(lockq_drop_cursor(other->q, CURSOR), LOCKQ_OK);
	pthread_join(r->thread, NULL);
	assert_int_equal(r->rc, LOCKQ_EREFUSED);
	assert_string_equal(r->error, "cursor \"" CURSOR "\" was removed");
}

/* The owner moves the cursor back while somebody follows it: what came since comes again. */
static void
a_cursor_that_is_moved_back(void **state)
{
	struct reader *r = reader(NULL);
	uint64_t first;

	(void)state;
	log_loan(owner(), 1);
	follows(r, LOCKQ_OK);
	first = position();
	r->what.until_now = 0;
	assert_int_equal(pthread_create(&r->thread, NULL, follow, r), 0);
	for (uint64_t loan = 2; loan <= 3; loan++)
		log_loan(owner(), loan);
	until("SELECT position = (SELECT MAX(log_id) FROM work_log) FROM follow_cursor");
	sql("UPDATE follow_cursor SET position = %" PRIu64, first);
	until("SELECT position = (SELECT MAX(log_id) FROM work_log) FROM follow_cursor");
	assert_int_equal(lockq_drop_cursor(reader(NULL)->q, CURSOR), LOCKQ_OK);
	pthread_join(r->thread, NULL);
	assert_got(r, "1 2 3 2 3");
}

static void
names_and_numbers_are_checked(void **state)
{
	static const char *const names[] = { NULL, "", "a b", "a/b", "caf\xc3\xa9", "a\n",
		"12345678901234567890123456789012345678901234567890123456789012345" };
	struct reader *r = reader(NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		r->what.cursor = names[i];
		follows(r, LOCKQ_EUSAGE);
		assert_int_equal(lockq_drop_cursor(r->q, names[i]), LOCKQ_EUSAGE);
		/* Nor by raw SQL. */
		if (names[i] != NULL)
			assert_int_not_equal(try_sql(owner(), "CALL follow_begins('%s', 1)",
			    names[i]), 0);
	}
	r->what.cursor = CURSOR;
	r->what.batch = 0;
	follows(r, LOCKQ_EUSAGE);
	r->what.batch = LOCKQ_BATCH_MAX + 1;
	follows(r, LOCKQ_EUSAGE);
	r->what.batch = 1;
	r->what.deliver = NULL;
	follows(r, LOCKQ_EUSAGE);
	assert_int_equal(u64("SELECT COUNT(*) FROM follow_cursor"), 0);
}

/* --- numbers --- */

/* On clusters the numbers are seven apart. A step for each of them would be a round trip, too. */
static void
gaps_cost_nothing(void **state)
{
	enum { ROWS = 80 };
	struct proxy *proxy = proxy_new();
	struct reader *r = reader(proxy);
	struct db *db = connect_as(OWNER_GROUP);
	size_t before = proxy_round_trips(proxy);

	(void)state;
	sql_on(db, "SET auto_increment_increment = 7");
	for (uint64_t loan = 1; loan <= ROWS; loan++)
		log_loan(db, loan);
	assert_true(u64("SELECT MAX(log_id) - MIN(log_id) FROM work_log") >= 7 * (ROWS - 1));
	follows(r, LOCKQ_OK);
	assert_int_equal(r->n, ROWS);
	assert_int_equal(r->waits, 0);
	assert_int_equal(r->batches, 1);
	assert_true(proxy_round_trips(proxy) - before < 40);
}

/* Where it can't see who writes, it waits for as long as it was told. */
static void
assert_waits_for_gap(struct reader *r, const char *told)
{
	struct db *other = connect_as(OWNER_GROUP);
	uint64_t begun;

	log_loan(owner(), 1);
	sql_on(other, "BEGIN");
	log_loan(other, 2);
	log_loan(owner(), 3);
	sql_on(other, "ROLLBACK");
	r->what.gap_ms = GAP_MS;
	begun = db_clock_ms();
	follows(r, LOCKQ_OK);
	assert_got(r, "1 3");
	assert_true(db_clock_ms() - begun >= GAP_MS);
	assert_non_null(strstr(r->told, told));
}

/* guard: a gap is not passed at once where nobody can tell whether it will be filled. */
static void
without_the_performance_schema_a_gap_takes_its_time(void **state)
{
	struct reader *r = reader(NULL);

	(void)state;
	if (administrator() == NULL)
		skip();
	let_see(false, true);
	assert_waits_for_gap(r, "the performance schema does not show who writes there");
	let_see(true, false);
	assert_waits_for_gap(r, "let an administrator run \"GRANT SELECT ON performance_schema."
	    "metadata_locks TO 'lockq_owner'@'localhost'; GRANT");
}

/* --- the purge --- */

/* Returns what a purge by cron's account has done. */
static struct lockq_expired
purge(struct reader *r)
{
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired did = LOCKQ_EXPIRED_INIT;

	what.purge_after_s = 86400;
	what.batch = 2;
	assert_int_equal(lockq_expire(r->q, &what, &did), LOCKQ_OK);
	return did;
}

static struct reader *
cron(void)
{
	struct lockq_connection where = where_is(OWNER_GROUP);
	struct reader *r = reader(NULL);

	assert_int_equal(lockq_connect(r->q, &where), LOCKQ_OK);
	return r;
}

/* guard: what a cursor has not passed is not purged. */
static void
a_purge_waits_for_the_last_cursor(void **state)
{
	struct reader *r = reader(NULL), *other = reader(NULL), *c = cron();
	struct db *holder = connect_as(OWNER_GROUP);
	struct lockq_expired did;

	(void)state;
	for (uint64_t loan = 1; loan <= 7; loan++)
		log_loan(owner(), loan);
	sql("UPDATE work_log SET at = NOW(6) - INTERVAL 9 DAY");
	follows(r, LOCKQ_OK);
	other->what.cursor = "behind";
	other->what.batch = 3;
	other->fails_at = 5;
	follows(other, LOCKQ_CANCELLED);
	/* Nor does it wait for a reader that delivers just now. */
	sql_on(holder, "BEGIN");
	sql_on(holder, "UPDATE follow_cursor SET moved_at = NULL");
	did = purge(c);
	assert_int_equal(did.log_rows, 3);
	assert_int_equal(did.kept_rows, 4);
	assert_string_equal(did.kept_for, "behind");
	sql_on(holder, "ROLLBACK");
	other->fails_at = 0;
	follows(other, LOCKQ_OK);
	assert_got(other, "4 5 6 7");
	did = purge(c);
	assert_int_equal(did.log_rows, 4);
	assert_int_equal(did.kept_rows, 0);
	assert_null(did.kept_for);
}

/* guard: a cursor that was made after the purge has looked counts, too. */
static void
a_purge_minds_a_new_cursor(void **state)
{
	struct db *db = connect_as(OWNER_GROUP);

	(void)state;
	for (uint64_t loan = 1; loan <= 3; loan++)
		log_loan(owner(), loan);
	sql("INSERT INTO follow_cursor (name, position, account) SELECT 'late', MIN(log_id), 'x'"
	    " FROM work_log");
	sql_on(db, "DELETE FROM log_out");
	assert_string_equal(text_of("SELECT GROUP_CONCAT(loan_id ORDER BY log_id) FROM work_log"),
	    "2,3");
	sql("DELETE FROM follow_cursor");
	sql_on(db, "DELETE FROM log_out");
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log"), 0);
}

/* guard: a reader that is set to a replica is told so. One whose connection was lost waits longer,
 * since the new primary may not be there yet. */
static void
a_server_that_is_read_only(void **state)
{
	struct proxy *proxy = proxy_new();
	struct reader *r = reader(proxy);
	uint64_t start = db_clock_ms();

	(void)state;
	proxy_fail(proxy, "CALL follow_", 1, 1000, 1290);
	follows(r, LOCKQ_EDATABASE);
	assert_non_null(strstr(r->error, "connect to the primary"));
	assert_in_range(db_clock_ms() - start, 2500, PATIENCE_MS);
	assert_in_range(proxy_count(proxy, "CALL follow_"), 2, 40);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		FOLLOW_TEST(changes_come_once_and_in_order),
		FOLLOW_TEST(an_uncommitted_row_holds_later_ones_up),
		FOLLOW_TEST(a_new_cursor_begins_before_uncommitted_rows),
		FOLLOW_TEST(a_row_that_was_rolled_back_is_passed_at_once),
		FOLLOW_TEST(a_reserved_number_is_waited_for),
		FOLLOW_TEST(a_number_without_a_row_is_waited_for),
		FOLLOW_TEST(a_row_that_comes_meanwhile_is_seen),
		FOLLOW_TEST(two_readers_share_a_cursor),
		FOLLOW_TEST(what_was_not_acknowledged_comes_again),
		FOLLOW_TEST(a_lost_connection_repeats_the_batch),
		FOLLOW_TEST(a_session_that_the_server_ends_repeats_the_batch),
		FOLLOW_TEST(a_new_cursor_begins_where_it_is_told),
		FOLLOW_TEST(cursors_are_shown_and_removed),
		FOLLOW_TEST(a_cursor_that_is_moved_back),
		FOLLOW_TEST(names_and_numbers_are_checked),
		FOLLOW_TEST(gaps_cost_nothing),
		FOLLOW_TEST(without_the_performance_schema_a_gap_takes_its_time),
		FOLLOW_TEST(a_purge_waits_for_the_last_cursor),
		FOLLOW_TEST(a_purge_minds_a_new_cursor),
		FOLLOW_TEST(a_server_that_is_read_only),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests(tests, suite_setup, suite_teardown);
}
