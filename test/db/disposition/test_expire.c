/* SPDX-License-Identifier: MIT */
/* lockq_expire(), which cron calls: each kind of row at its boundary, rows that others hold, two
 * runs at the same time, and errors, lost connections and kills at each statement. Nothing is lost
 * or logged twice. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "support.h"

/* The name that a run holds on the server. */
#define CRON_NAME \
	"CONCAT('lockq-expire:', LEFT(SHA2(CONCAT(DATABASE()," \
	" (SELECT MIN(applied_at) FROM schema_version)), 256), 40))"

enum { DEADLOCK = 1213, LOCK_WAIT = 1205, CERTIFICATION = 3101, AT_COMMIT = 1180 };
enum { FOR_EVER = 1000000, STATEMENTS = 400, A_WHILE_MS = 150,
	FIRST_FD = 3, LAST_FD = 4095 };

/* One process that calls lockq_expire(), perhaps in a thread. */
struct cron {
	struct lockq_expire what;
	struct lockq_expired did;
	struct lockq *q;
	struct proxy *proxy;
	pthread_t thread;
	int rc;
	volatile bool done;
	unsigned int gives_up_after; /* after so many calls of the progress function; 0: never */
	unsigned int calls;
	uint64_t rows;               /* of the last call of the progress function */
	char error[1024];
};

static int
progress(const struct lockq_progress *now, void *data)
{
	struct cron *cron = data;

	assert_int_equal(now->phase, LOCKQ_PHASE_EXPIRE);
	cron->rows = now->rows;
	return ++cron->calls == cron->gives_up_after;
}

static void
connect_cron(struct cron *cron, const char *group)
{
	struct lockq_connection where = cron->proxy != NULL ? proxy_where(cron->proxy) :
	    where_is(group);

	assert_int_equal(lockq_new(&cron->q), LOCKQ_OK);
	assert_int_equal(lockq_connect(cron->q, &where), LOCKQ_OK);
	lockq_on_progress(cron->q, progress, cron);
}

static void
call(struct cron *cron)
{
	cron->rc = lockq_expire(cron->q, &cron->what, &cron->did);
	snprintf(cron->error, sizeof(cron->error), "%s", lockq_error(cron->q));
}

static struct cron
new_cron(uint32_t batch, struct proxy *proxy)
{
	struct cron cron = { .what = LOCKQ_EXPIRE_INIT, .proxy = proxy };

	cron.what.batch = batch;
	return cron;
}

/* Runs lockq_expire() without a proxy, as one call that must succeed. */
static struct lockq_expired
expire(uint32_t batch)
{
	struct cron cron = new_cron(batch, NULL);

	connect_cron(&cron, worker_group());
	call(&cron);
	if (cron.rc != LOCKQ_OK)
		print_error("%s\n", cron.error);
	assert_int_equal(cron.rc, LOCKQ_OK);
	lockq_free(cron.q);
	return cron.did;
}

static void *
run(void *data)
{
	struct cron *cron = data;

	call(cron);
	cron->done = true;
	return NULL;
}

static void
start(struct cron *cron)
{
	connect_cron(cron, worker_group());
	assert_int_equal(pthread_create(&cron->thread, NULL, run, cron), 0);
}

static void
join(struct cron *cron)
{
	uint64_t begun = db_clock_ms();

	while (!cron->done) {
		assert_true(db_clock_ms() - begun < 2 * PATIENCE_MS);
		db_sleep_ms(1);
	}
	pthread_join(cron->thread, NULL);
	lockq_free(cron->q);
	cron->q = NULL;
}

/* Other tests may have left rows that are due. */
static int
setup(void **state)
{
	int rc = test_setup(state);

	sql("DELETE FROM work_exclusion");
	(void)expire(500);
	return rc;
}
#define EXPIRE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, test_teardown)

/* Adds a row of `work` and its change in the log, so that the log replays. */
static void
add_due(uint64_t loan_id, const char *state, const char *due)
{
	bool assigned = strcmp(state, "assigned") == 0;

	add_work(TASK, loan_id, 0, state, 4);
	sql("UPDATE work SET lease_expires_at = IF(%d, %s, NULL), available_at = IF(%d, NULL, %s),"
	    " due_at = %s, note = 'a note' WHERE task_id = %d AND loan_id = %" PRIu64, assigned,
	    due, assigned, due, due, TASK, loan_id);
	sql("INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	    " request_id, available_at, lease_expires_at, note, at)"
	    " SELECT task_id, loan_id, state, user_id, 'x', token, version, request_id,"
	    " available_at, lease_expires_at, note, changed_at FROM work"
	    " WHERE task_id = %d AND loan_id = %" PRIu64, TASK, loan_id);
}

/* The newest change in the log agrees with the row, and each change was logged once. */
static void
assert_replays(void)
{
	assert_int_equal(u64("SELECT COUNT(*)"
	    " - COUNT(DISTINCT loan_id, version, event = 'available')"
	    " FROM work_log WHERE task_id = %d", TASK), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work AS w JOIN work_log AS l"
	    " ON l.task_id = w.task_id AND l.loan_id = w.loan_id AND l.event <> 'available'"
	    " AND l.version = (SELECT MAX(n.version) FROM work_log AS n"
	    "  WHERE n.task_id = w.task_id AND n.loan_id = w.loan_id AND n.event <> 'available')"
	    " WHERE w.task_id = %d AND (l.version <> w.version OR l.user_id <> w.user_id"
	    " OR l.token <> w.token OR l.request_id <> w.request_id"
	    " OR IF(l.event = 'expired', 'returned', l.event) <> w.state"
	    " OR NOT l.available_at <=> w.available_at"
	    " OR NOT l.lease_expires_at <=> w.lease_expires_at)", TASK), 0);
}

static const char *
row_of(uint64_t loan_id)
{
	return text_of("SELECT CONCAT_WS(' ', state, version, due_at IS NULL,"
	    " (SELECT GROUP_CONCAT(event, version ORDER BY log_id) FROM work_log AS l"
	    "   WHERE l.task_id = w.task_id AND l.loan_id = w.loan_id))"
	    " FROM work AS w WHERE task_id = %d AND loan_id = %" PRIu64, TASK, loan_id);
}

/* Returns a proxy by which lockq_expire() takes THEN for the time of its start. A number of six
 * digits replaces NOW(6), since both texts must have the same length. */
#define THEN "'2021-01-01 00:00:00.000000'"
static struct proxy *
beginning_then(void)
{
	struct proxy *proxy = proxy_new();

	proxy_replace(proxy, "NOW(6), NOW(6) - INTERVAL ? SECOND",
	    "210101, NOW(6) - INTERVAL ? SECOND");
	return proxy;
}

static struct lockq_expired
expire_then(void)
{
	struct cron cron = new_cron(500, beginning_then());

	connect_cron(&cron, worker_group());
	call(&cron);
	if (cron.rc != LOCKQ_OK)
		print_error("%s\n", cron.error);
	assert_int_equal(cron.rc, LOCKQ_OK);
	lockq_free(cron.q);
	return cron.did;
}

#define LATER "'2021-01-01 00:00:00.000001'"

static void
each_kind_at_its_boundary(void **state)
{
	struct lockq_expired did;

	(void)state;
	add_due(1, "assigned", THEN);
	add_due(2, "assigned", LATER);
	add_due(3, "assigned", "NULL");
	add_due(4, "returned", THEN);
	add_due(5, "returned", LATER);
	add_due(6, "completed", THEN);
	add_due(7, "completed", LATER);
	add_due(8, "completed", "NULL");
	add_due(9, "never", "NULL");
	did = expire_then();
	assert_int_equal(did.busy, 0);
	assert_int_equal(did.leases, 1);
	assert_int_equal(did.available, 2);
	assert_int_equal(did.skipped, 0);
	assert_string_equal(row_of(1), "returned 5 1 assigned4,expired5");
	assert_string_equal(row_of(2), "assigned 4 0 assigned4");
	assert_string_equal(row_of(3), "assigned 4 1 assigned4");
	assert_string_equal(row_of(4), "returned 4 1 returned4,available4");
	assert_string_equal(row_of(5), "returned 4 0 returned4");
	assert_string_equal(row_of(6), "completed 4 1 completed4,available4");
	assert_string_equal(row_of(7), "completed 4 0 completed4");
	assert_string_equal(row_of(8), "completed 4 1 completed4");
	assert_string_equal(row_of(9), "never 4 1 never4");
	/* available_at is the end of the lease, and the note stays in the row. */
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND loan_id = 1"
	    " AND available_at = " THEN " AND lease_expires_at = available_at"
	    " AND note = 'a note' AND changed_at <= NOW(6)", TASK), 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d AND loan_id = 1"
	    " AND event = 'expired' AND available_at = " THEN " AND lease_expires_at = " THEN
	    " AND user_id = %u AND account LIKE 'lockq%%@%%'", TASK, user_id(0)), 1);
	assert_replays();
	did = expire_then();
	assert_int_equal(did.leases + did.available + did.skipped, 0);
	assert_replays();
}

static void
requests_at_their_boundary(void **state)
{
	uint64_t over, just_not, ended;

	(void)state;
	over = add_request(TASK, 0, 1);
	just_not = add_request(TASK, 1, 1);
	ended = add_request(TASK, 2, 1);
	set_task(TASK, "request_ttl = 60");
	sql("UPDATE work_requested SET seen_at = '2020-12-31 23:58:59.999999'"
	    " WHERE request_id = %" PRIu64, over);
	sql("UPDATE work_requested SET seen_at = '2020-12-31 23:59:00.000000'"
	    " WHERE request_id = %" PRIu64, just_not);
	sql("UPDATE work_requested SET outcome = 'cancelled', requested = 0"
	    " WHERE request_id = %" PRIu64, ended);
	assert_int_equal(expire_then().requests, 1);
	assert_string_equal(outcome_of(TASK, 0), "expired");
	assert_string_equal(outcome_of(TASK, 1), "pending");
	assert_string_equal(outcome_of(TASK, 2), "cancelled");
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE request_id = %" PRIu64
	    " AND epoch IS NULL AND assigned = 0 AND served_at <= NOW(6)", over), 1);
	assert_int_equal(epoch_of(TASK), 0);
	assert_consistent(TASK);
}

/* A kept list of the task with @loans loans. */
static void
add_list(unsigned int task, unsigned int epoch, const char *as_of, unsigned int loans)
{
	sql("INSERT INTO kept_list (task_id, epoch, candidates_view, as_of, length, complete,"
	    " query_ms) VALUES (%u, %u, 'v', %s, %u, TRUE, 1)", task, epoch, as_of, loans);
	for (unsigned int i = 0; i < loans; i++)
		sql("INSERT INTO kept_loan (task_id, epoch, position, loan_id, version)"
		    " VALUES (%u, %u, %u, %u, 0)", task, epoch, i, i + 1);
}

/* guard: of a task's lists the newest one stays while it is used. */
static void
lists_that_nobody_takes_from(void **state)
{
	struct lockq_expired did;

	(void)state;
	set_task(TASK, "cache_ttl = 60");
	set_task(OTHER_TASK, "cache_ttl = 60");
	add_list(TASK, 3, "NOW(6)", 2);
	add_list(TASK, 4, "NOW(6) - INTERVAL 59 SECOND", 3);
	add_list(OTHER_TASK, 9, "NOW(6) - INTERVAL 61 SECOND", 4);
	did = expire(500);
	assert_int_equal(did.candidates, 6);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan WHERE epoch = 4"), 3);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan"), 3);
	did = expire(500);
	assert_int_equal(did.candidates, 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_list"), 2);
}

static void
exclusions_at_their_boundary(void **state)
{
	struct lockq_expired did;

	(void)state;
	sql("INSERT INTO work_exclusion VALUES (%d, 1, 1, " THEN "), (%d, 1, 2, " THEN "),"
	    " (%d, 2, 1, " LATER ")", TASK, TASK, TASK);
	did = expire_then();
	assert_int_equal(did.exclusions, 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_exclusion"), 1);
	sql("DELETE FROM work_exclusion");
}

/* guard: noting that a loan is available keeps its version. A leader that has its list gives both
 * loans, though they were noted meanwhile. */
static void
a_running_leader_loses_nothing(void **state)
{
	struct worker *leader = worker_new(0, TASK, 2, 0);

	(void)state;
	add_loans(TASK, 2);
	add_due(1, "returned", "NOW(6)");
	add_due(2, "completed", "NOW(6)");
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "AS r FORCE INDEX (work_requested_line)", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	assert_int_equal(expire(500).available, 2);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.n_loans, 2);
	assert_int_equal(u64("SELECT SUM(dropped) FROM leader_run WHERE task_id = %d", TASK), 0);
	assert_string_equal(row_of(1), "assigned 5 1 returned4,available4,assigned5");
	assert_replays();
}

/* A lease is ended either by cron or by the next leader, and logged once. */
static void
the_next_leader_ends_it_or_cron(void **state)
{
	(void)state;
	add_loans(TASK, 2);
	add_due(1, "assigned", "NOW(6)");
	add_due(2, "assigned", "NOW(6)");
	assert_int_equal(ask_now(1, TASK, 1)->answer.loans[0].loan_id, 1);
	assert_int_equal(expire(500).leases, 1);
	assert_int_equal(ask_now(2, TASK, 1)->answer.loans[0].loan_id, 2);
	assert_string_equal(row_of(1), "assigned 6 1 assigned4,expired5,assigned6");
	assert_string_equal(row_of(2), "assigned 6 1 assigned4,expired5,assigned6");
	assert_replays();
}

/* Pages end among rows with the same time. With most sizes there are several pages. */
static void
pages_of_any_size(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 7, 8, 10000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct lockq_expired did;

		for (uint64_t loan = 1; loan <= 7; loan++)
			add_due(loan, loan % 2 == 0 ? "assigned" : "returned", "'2026-01-01'");
		set_task(TASK, "cache_ttl = 60");
		add_list(TASK, 1, "'2026-01-01'", 7);
		sql("INSERT INTO work_exclusion SELECT %d, loan_id %% 2, loan_id, '2026-01-01'"
		    " FROM work WHERE task_id = %d", TASK, TASK);
		did = expire(sizes[i]);
		assert_int_equal(did.leases, 3);
		assert_int_equal(did.available, 4);
		assert_int_equal(did.candidates, 7);
		assert_int_equal(did.exclusions, 7);
		assert_int_equal(did.skipped, 0);
		assert_replays();
		start_again();
	}
}

/* guard: cron waits for nobody: its reads are SKIP LOCKED. Rows that another session holds are done
 * by the next run. */
static void
held_rows_are_passed_over(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct lockq_expired did;
	uint64_t request;

	(void)state;
	for (uint64_t loan = 1; loan <= 3; loan++)
		add_due(loan, "assigned", "'2026-01-01'");
	request = add_request(TASK, 0, 1);
	(void)add_request(TASK, 1, 1);
	sql("UPDATE work_requested SET seen_at = '2026-01-01' WHERE task_id = %d", TASK);
	sql("INSERT INTO work_exclusion VALUES (%d, 1, 1, NOW(6)), (%d, 1, 2, NOW(6))", TASK,
	    TASK);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM work WHERE task_id = %d AND loan_id = 2"
	    " FOR UPDATE", TASK);
	(void)u64_on(other, "SELECT request_id FROM work_requested WHERE request_id = %" PRIu64
	    " FOR UPDATE", request);
	(void)u64_on(other, "SELECT loan_id FROM work_exclusion WHERE task_id = %d AND user_id = 1"
	    " AND loan_id = 1 FOR UPDATE", TASK);
	/* With one row in a page, the next page begins behind a row that was left. */
	did = expire(1);
	assert_int_equal(did.leases, 2);
	assert_int_equal(did.requests, 1);
	assert_int_equal(did.exclusions, 1);
	assert_int_equal(did.skipped, 3);
	assert_true(did.took_ms < 1000 * DB_LOCK_WAIT_S);
	assert_string_equal(row_of(2), "assigned 4 0 assigned4");
	db_rollback(other);
	did = expire(1);
	assert_int_equal(did.leases, 1);
	assert_int_equal(did.requests, 1);
	assert_int_equal(did.exclusions, 1);
	assert_int_equal(did.skipped, 0);
	assert_replays();
}

/* guard: requests are expired under the task's lock only. A leader expires requests itself. */
static void
a_led_task_is_left_to_its_leader(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct lockq_expired did;

	(void)state;
	set_task(OTHER_TASK, "request_ttl = 60");
	(void)add_request(TASK, 0, 1);
	(void)add_request(OTHER_TASK, 0, 1);
	sql("UPDATE work_requested SET seen_at = '2026-01-01' WHERE task_id IN (%d, %d)", TASK,
	    OTHER_TASK);
	did = expire(500);
	assert_int_equal(did.requests, 1);
	assert_string_equal(outcome_of(TASK, 0), "pending");
	assert_string_equal(outcome_of(OTHER_TASK, 0), "expired");
	db_rollback(leader.lock);
	did = expire(500);
	assert_int_equal(did.requests, 1);
	assert_int_equal(epoch_of(TASK), 0);
}

/* A user asks while cron holds the task's lock to expire requests. The call leads once the lock is
 * free, and is not told "busy", since cron would not serve it. */
static void
who_asks_meanwhile_leads(void **state)
{
	struct cron cron = new_cron(500, proxy_new());
	struct worker *asks = worker_new(1, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 1);
	(void)add_request(TASK, 0, 1);
	sql("UPDATE work_requested SET seen_at = '2026-01-01' WHERE task_id = %d", TASK);
	proxy_hold(cron.proxy, "SET r.outcome = 'expired'", 1);
	start(&cron);
	proxy_until_held(cron.proxy);
	worker_start(asks);
	db_sleep_ms(A_WHILE_MS);
	proxy_release(cron.proxy);
	join(&cron);
	worker_join(asks);
	assert_int_equal(cron.did.requests, 1);
	assert_int_equal(asks->rc, LOCKQ_OK);
	assert_int_equal(asks->answer.n_loans, 1);
	assert_consistent(TASK);
}

/* guard: one cron at a time runs on a server. */
static void
a_second_one_says_busy(void **state)
{
	/* If the test fails, the thread still writes into this structure. */
	static struct cron first;
	struct lockq_expired did;

	(void)state;
	first = new_cron(500, proxy_new());
	add_due(1, "assigned", "'2026-01-01'");
	proxy_hold(first.proxy, "=COMMIT", 1);
	start(&first);
	proxy_until_held(first.proxy);
	did = expire(500);
	assert_int_equal(did.busy, 1);
	assert_int_equal(did.leases + did.skipped, 0);
	proxy_release(first.proxy);
	join(&first);
	assert_int_equal(first.rc, LOCKQ_OK);
	assert_int_equal(first.did.leases, 1);
	assert_int_equal(expire(500).busy, 0);
	assert_replays();
}

/* guard: cron gives its name on the server back. The handle stays open, and another run
 * succeeds. */
static void
the_name_is_given_back(void **state)
{
	struct cron cron = new_cron(500, NULL);

	(void)state;
	connect_cron(&cron, worker_group());
	call(&cron);
	assert_int_equal(expire(500).busy, 0);
	call(&cron);
	assert_int_equal(cron.rc, LOCKQ_OK);
	assert_int_equal(cron.did.busy, 0);
	lockq_free(cron.q);
}

/* Two runs at the same time are possible on two servers of a cluster. Here they use two names on
 * one server. */
static void
start_two(struct cron *crons, const char *hold_first, const char *hold_second)
{
	crons[0] = new_cron(3, proxy_new());
	crons[1] = new_cron(4, proxy_new());
	proxy_replace(crons[1].proxy, "'lockq-expire:'", "'lockq-expirf:'");
	proxy_hold(crons[0].proxy, hold_first, 2);
	proxy_hold(crons[1].proxy, hold_second, 2);
	for (int i = 0; i < 2; i++) {
		start(&crons[i]);
		proxy_until_held(crons[i].proxy);
	}
}

static void
assert_each_did_some(struct cron *crons)
{
	for (int i = 0; i < 2; i++) {
		join(&crons[i]);
		if (crons[i].rc != LOCKQ_OK)
			print_error("%s\n", crons[i].error);
		assert_int_equal(crons[i].rc, LOCKQ_OK);
		assert_int_equal(crons[i].did.busy, 0);
		assert_true(crons[i].did.leases > 0);
	}
}

/* guard: cron reads the time of a row again under the lock. */
static void
rows_that_another_run_has_done(void **state)
{
	enum { ROWS = 20 };
	struct cron crons[2];

	(void)state;
	for (uint64_t loan = 1; loan <= ROWS; loan++)
		add_due(loan, "assigned", "'2026-01-01'");
	start_two(crons, "=COMMIT", "FOR UPDATE OF w SKIP LOCKED");
	proxy_release(crons[0].proxy);
	until("SELECT COUNT(*) = 0 FROM work WHERE task_id = %d AND due_at IS NOT NULL", TASK);
	proxy_release(crons[1].proxy);
	assert_each_did_some(crons);
	assert_int_equal(crons[0].did.leases + crons[1].did.leases, ROWS);
	assert_replays();
}

static void
two_at_once_do_no_harm(void **state)
{
	enum { ROWS = 300 };
	struct cron crons[2];

	(void)state;
	for (uint64_t loan = 1; loan <= ROWS; loan++)
		add_due(loan, loan % 3 == 0 ? "returned" : "assigned", "'2026-01-01'");
	start_two(crons, "=COMMIT", "=COMMIT");
	for (int i = 0; i < 2; i++)
		proxy_release(crons[i].proxy);
	assert_each_did_some(crons);
	(void)expire(500);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND due_at IS NOT NULL",
	    TASK), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event IN ('expired', 'available')", TASK), ROWS);
	assert_replays();
}

static void
it_may_be_given_up_between_transactions(void **state)
{
	struct cron cron = new_cron(2, NULL);

	(void)state;
	for (uint64_t loan = 1; loan <= 9; loan++)
		add_due(loan, "assigned", "'2026-01-01'");
	cron.gives_up_after = 3;
	connect_cron(&cron, worker_group());
	call(&cron);
	assert_int_equal(cron.rc, LOCKQ_CANCELLED);
	assert_int_equal(cron.did.leases, 4);
	assert_int_equal(cron.rows, 4);
	lockq_free(cron.q);
	assert_int_equal(expire(2).leases, 5);
	assert_replays();
}

/* --- purging --- */

enum { DAY = 86400 };

static struct lockq_expired
purge(uint32_t batch, uint64_t after_s)
{
	struct cron cron = new_cron(batch, NULL);

	cron.what.purge_after_s = after_s;
	connect_cron(&cron, OWNER_GROUP);
	call(&cron);
	if (cron.rc != LOCKQ_OK)
		print_error("%s\n", cron.error);
	assert_int_equal(cron.rc, LOCKQ_OK);
	lockq_free(cron.q);
	return cron.did;
}

static void
add_log(uint64_t loan_id, const char *event, unsigned int token, unsigned int version,
    unsigned int days)
{
	sql("INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	    " request_id, at) VALUES (%d, %" PRIu64 ", '%s', %u, 'x', %u, %u, 1,"
	    " NOW(6) - INTERVAL %u DAY - INTERVAL 1 SECOND)", TASK, loan_id, event, user_id(0),
	    token, version, days);
}

/* guard: a log row that tells how a loan stands is not purged, however old it is. */
static void
purging_keeps_what_is_current(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 500 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		/* The loan was assigned again and renewed. The rows of this assignment and of the
		 * last renewal stay. */
		add_work(TASK, 1, 0, "assigned", 6);
		sql("UPDATE work SET token = 3 WHERE task_id = %d AND loan_id = 1", TASK);
		add_log(1, "assigned", 1, 1, 9);
		add_log(1, "returned", 1, 2, 9);
		add_log(1, "available", 1, 2, 9);
		add_log(1, "assigned", 3, 3, 9);
		add_log(1, "renewed", 3, 4, 9);
		add_log(1, "renewed", 3, 5, 9);
		add_log(1, "renewed", 3, 6, 9);
		/* The loan was completed and became available. Both rows stay. */
		add_work(TASK, 2, 0, "completed", 2);
		add_log(2, "assigned", 1, 1, 9);
		add_log(2, "completed", 1, 2, 9);
		add_log(2, "available", 1, 2, 9);
		/* The loan has no row in `work` any more. */
		add_log(3, "assigned", 1, 1, 9);
		/* The row of day 7 is purged. The row of day 6 is too young. */
		add_work(TASK, 4, 0, "completed", 3);
		add_log(4, "assigned", 1, 1, 7);
		add_log(4, "completed", 1, 2, 6);
		assert_int_equal(purge(sizes[i], 0).log_rows, 0);
		assert_int_equal(purge(sizes[i], 7 * DAY).log_rows, 8);
		assert_string_equal(text_of("SELECT GROUP_CONCAT(loan_id, event, version"
		    " ORDER BY log_id) FROM work_log WHERE task_id = %d", TASK),
		    "1assigned3,1renewed6,2completed2,2available2,4completed2");
		assert_int_equal(purge(sizes[i], 7 * DAY).log_rows, 0);
		start_again();
	}
}

static void
purging_keeps_pending_and_young_requests(void **state)
{
	(void)state;
	for (unsigned int n = 0; n < 5; n++)
		(void)add_request(TASK, n, 1);
	/* User 0's request is pending, user 1's was served 8 days ago, user 2's just now, user 3's
	 * was refused at once, and user 4's is new. */
	sql("UPDATE work_requested SET created_at = NOW(6) - INTERVAL 9 DAY,"
	    " seen_at = NOW(6) + INTERVAL 1 DAY WHERE task_id = %d AND user_id <> %u", TASK,
	    user_id(4));
	sql("UPDATE work_requested SET outcome = 'served', assigned = requested,"
	    " served_at = NOW(6) - INTERVAL 8 DAY"
	    " WHERE task_id = %d AND user_id = %u", TASK, user_id(1));
	sql("UPDATE work_requested SET outcome = 'served', assigned = requested, served_at = NOW(6)"
	    " WHERE task_id = %d AND user_id = %u", TASK, user_id(2));
	sql("UPDATE work_requested SET outcome = 'refused', requested = 0"
	    " WHERE task_id = %d AND user_id IN"
	    " (%u, %u)", TASK, user_id(3), user_id(4));
	assert_int_equal(purge(1, 7 * DAY).old_requests, 2);
	assert_string_equal(text_of("SELECT GROUP_CONCAT(u.name ORDER BY u.name)"
	    " FROM work_requested AS r JOIN app_user AS u ON u.user_id = r.user_id"
	    " WHERE r.task_id = %d", TASK), "test_a,test_c,test_e");
	assert_int_equal(purge(1, 7 * DAY).old_requests, 0);
}

/* guard: the last epochs of a task are not purged. A task that is made again must not begin at an
 * epoch that was used. */
static void
purging_keeps_the_last_runs(void **state)
{
	static const char add[] = "INSERT INTO leader_run (task_id, epoch, user, how, started_at,"
	    " ended_at) SELECT %d, n, 'x', 'query', NOW(6) - INTERVAL 9 DAY,"
	    " NOW(6) - INTERVAL %s DAY FROM test_number WHERE n <= %d";

	(void)state;
	sql(add, TASK, "IF(n < 20, 9, 1)", 150);
	sql(add, OTHER_TASK, "9", 130);
	sql("UPDATE task_lock SET epoch = IF(task_id = %d, 150, 130) WHERE task_id IN (%d, %d)",
	    TASK, TASK, OTHER_TASK);
	/* The task may be gone. */
	sql(add, TASK + 5, "9", 99);
	assert_int_equal(purge(7, 7 * DAY).runs, 19 + 30);
	assert_int_equal(u64("SELECT MIN(epoch) FROM leader_run WHERE task_id = %d", TASK), 20);
	assert_int_equal(u64("SELECT MIN(epoch) FROM leader_run WHERE task_id = %d", OTHER_TASK),
	    31);
	assert_int_equal(u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d", TASK + 5), 99);
	/* Not even an account with the right to purge could delete the last one. */
	assert_int_equal(u64("SELECT MAX(epoch) FROM run_out WHERE task_id = %d", TASK), 149);
	make_task_with_same_view(TASK + 5);
	assert_int_equal(epoch_of(TASK + 5), 99);
}

/* Rows of the log that another session holds are purged by a later run. */
static void
purging_waits_for_nobody(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct lockq_expired did;

	(void)state;
	add_log(1, "assigned", 1, 1, 9);
	add_log(2, "assigned", 1, 1, 9);
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "UPDATE work_log SET note = 'mine' WHERE task_id = %d AND loan_id = 1", TASK);
	did = purge(500, DAY);
	assert_int_equal(did.log_rows, 1);
	assert_int_equal(did.skipped, 1);
	db_rollback(other);
	assert_int_equal(purge(500, DAY).log_rows, 1);
}

static void
what_is_out_of_range_is_refused(void **state)
{
	static const struct lockq_expire bad[] = {
		{ 0, 0, { 0 } }, { LOCKQ_BATCH_MAX + 1, 0, { 0 } }, { 500, DAY - 1, { 0 } },
		{ 500, (uint64_t)LOCKQ_PURGE_AFTER_MAX + 1, { 0 } }
	};
	struct cron cron = new_cron(1, NULL);

	(void)state;
	connect_cron(&cron, OWNER_GROUP);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cron.what = bad[i];
		call(&cron);
		assert_int_equal(cron.rc, LOCKQ_EUSAGE);
		assert_true(strlen(cron.error) > 0);
	}
	cron.what = (struct lockq_expire){ LOCKQ_BATCH_MAX, LOCKQ_PURGE_AFTER_MAX, { 0 } };
	call(&cron);
	assert_int_equal(cron.rc, LOCKQ_OK);
	lockq_free(cron.q);
}

/* A worker's account lacks only the privilege to purge. The error names the role that has it. */
static void
a_missing_privilege_is_named(void **state)
{
	struct cron cron = new_cron(500, NULL);

	(void)state;
	if (administrator() == NULL)
		skip();
	add_log(3, "assigned", 1, 1, 9);
	add_due(1, "assigned", "'2026-01-01'");
	cron.what.purge_after_s = DAY;
	connect_cron(&cron, APP_GROUP);
	call(&cron);
	assert_int_equal(cron.rc, LOCKQ_EDATABASE);
	assert_int_equal(cron.did.leases, 0);
	assert_non_null(strstr(cron.error, "command denied"));
	assert_non_null(strstr(cron.error, "role 'lockq_cron'@'lockq'"));
	lockq_free(cron.q);
	assert_int_equal(expire(500).busy, 0);
}

/* --- errors, lost connections, kills --- */

/* Makes so many rows of each kind due that a batch of 2 needs two pages or more. */
static void
make_everything_due(void)
{
	for (uint64_t loan = 1; loan <= 3; loan++)
		add_due(loan, loan == 2 ? "returned" : "assigned", "'2026-01-01'");
	for (unsigned int n = 0; n < 3; n++)
		(void)add_request(TASK, n, 1);
	sql("UPDATE work_requested SET seen_at = '2026-01-01' WHERE task_id = %d", TASK);
	add_list(TASK, 1, "'2026-01-01'", 3);
	sql("INSERT INTO work_exclusion VALUES (%d, 1, 1, NOW(6)), (%d, 1, 2, NOW(6)),"
	    " (%d, 2, 2, NOW(6))", TASK, TASK, TASK);
}

static void
assert_everything_done(void)
{
	assert_string_equal(row_of(1), "returned 5 1 assigned4,expired5");
	assert_string_equal(row_of(2), "returned 4 1 returned4,available4");
	assert_string_equal(row_of(3), "returned 5 1 assigned4,expired5");
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND outcome = 'expired'", TASK), 3);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan"), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_exclusion"), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM task_lock WHERE holder IS NOT NULL"), 0);
	assert_replays();
	assert_int_equal(epoch_of(TASK), 0);
}

static void
assert_all_counted(const struct lockq_expired *did)
{
	assert_int_equal(did->leases, 2);
	assert_int_equal(did->available, 1);
	assert_int_equal(did->requests, 3);
	assert_int_equal(did->candidates, 3);
	assert_int_equal(did->exclusions, 3);
	assert_int_equal(did->skipped, 0);
	assert_int_equal(did->busy, 0);
}

/* The statements of a run that has no error. */
struct statement {
	char text[80];
	bool in_transaction;
	bool is_commit;
	bool commits;  /* a COMMIT, or a procedure that ends with one */
};

static unsigned int
find_statements(struct statement *statements, unsigned int *first)
{
	struct cron cron = new_cron(2, proxy_new());
	bool inside = false;
	unsigned int n;

	make_everything_due();
	connect_cron(&cron, worker_group());
	call(&cron);
	assert_all_counted(&cron.did);
	lockq_free(cron.q);
	n = (unsigned int)proxy_total(cron.proxy);
	assert_true(n < STATEMENTS);
	for (unsigned int i = 0; i < n; i++) {
		char text[1024];

		proxy_text(cron.proxy, i, text, sizeof(text));
		snprintf(statements[i].text, sizeof(statements[i].text), "%.79s", text);
		statements[i].is_commit = strcmp(text, "COMMIT") == 0;
		statements[i].commits = statements[i].is_commit ||
		    strstr(text, "CALL list_sweeps_2") != NULL;
		statements[i].in_transaction = inside;
		inside = strcmp(text, "START TRANSACTION") == 0 ||
		    (inside && !statements[i].is_commit);
	}
	*first = (unsigned int)proxy_position(cron.proxy, "GET_LOCK", 1);
	start_again();
	return n;
}

static void
fail_at(unsigned int nth, unsigned int error, const char *text)
{
	struct cron cron = new_cron(2, proxy_new());

	make_everything_due();
	proxy_fail(cron.proxy, "", nth + 1, 1, error);
	connect_cron(&cron, worker_group());
	call(&cron);
	if (cron.rc != LOCKQ_OK)
		print_error("%u at %u, %s: %s\n", error, nth, text, cron.error);
	assert_int_equal(cron.rc, LOCKQ_OK);
	assert_all_counted(&cron.did);
	assert_everything_done();
	lockq_free(cron.q);
	start_again();
}

/* guard: after an error the whole transaction is tried again. Each statement fails once with each
 * error that it can have, and everything is done in the end. */
static void
an_error_at_any_statement(void **state)
{
	static struct statement statements[STATEMENTS];
	unsigned int first, n = find_statements(statements, &first), hit = 0;

	(void)state;
	for (unsigned int i = first + 1; i < n; i++) {
		const struct statement *s = &statements[i];
		bool names_table = strstr(s->text, "LOCK(") == NULL;

		if (s->in_transaction)
			fail_at(i, DEADLOCK, s->text);
		if (names_table && !s->is_commit && strcmp(s->text, "START TRANSACTION") != 0)
			fail_at(i, LOCK_WAIT, s->text);
		if (s->is_commit) {
			fail_at(i, CERTIFICATION, s->text);
			fail_at(i, AT_COMMIT, s->text);
		}
		hit += s->in_transaction;
	}
	printf("# errors at %u statements, %u of them in transactions\n", n - first, hit);
	assert_true(hit > 20);
}

static void
an_error_that_never_ends(void **state)
{
	static const char *const statements[] = {
		"CALL work_moves", "INSERT INTO log_in", "=COMMIT", "FORCE INDEX (work_due)"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		struct cron cron = new_cron(500, proxy_new());

		make_everything_due();
		proxy_fail(cron.proxy, statements[i], 1, FOR_EVER,
		    i % 2 == 0 ? DEADLOCK : LOCK_WAIT);
		connect_cron(&cron, worker_group());
		call(&cron);
		assert_int_equal(cron.rc, LOCKQ_EDATABASE);
		assert_in_range(proxy_count(cron.proxy, statements[i]), 2, 2 * DB_TRIES);
		assert_int_equal(cron.did.leases, 0);
		/* Nothing is half done, and another run may begin at once, on another
		 * connection. */
		assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
		    " AND event IN ('expired', 'available')", TASK), 0);
		cron.did = expire(500);
		assert_all_counted(&cron.did);
		assert_everything_done();
		lockq_free(cron.q);
		start_again();
	}
}

enum how { BEFORE, AFTER, LATE, HOWS };

/* Each row is unchanged, or it is done and logged. */
static void
assert_nothing_half_done(void)
{
	assert_int_equal(u64("SELECT COUNT(*) FROM work AS w WHERE task_id = %d"
	    " AND (w.due_at IS NULL) <> ((SELECT COUNT(*) FROM work_log AS l"
	    "   WHERE l.task_id = w.task_id AND l.loan_id = w.loan_id"
	    "     AND l.event IN ('expired', 'available')) = 1)", TASK), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND (outcome = 'expired') <> (served_at IS NOT NULL)", TASK), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM task_lock WHERE holder IS NOT NULL"), 0);
	assert_replays();
}

/* A run that was cut off says that the next run does the rest. It has counted what it did, except
 * for a page whose COMMIT was lost. The next run does the rest. */
static void
assert_the_next_one_finishes(struct cron *cron, bool at_commit)
{
	struct lockq_expired *did = &cron->did, rest;
	uint64_t all = 2 + 1 + 3 + 3 + 3;

	assert_true(cron->rc == LOCKQ_OK || cron->rc == LOCKQ_EDATABASE);
	if (cron->rc == LOCKQ_OK)
		assert_all_counted(did);
	else
		assert_non_null(strstr(cron->error, "the next run does the rest"));
	assert_nothing_half_done();
	rest = expire(500);
	rest.leases += did->leases;
	rest.available += did->available;
	rest.requests += did->requests;
	rest.candidates += did->candidates;
	rest.exclusions += did->exclusions;
	if (at_commit)
		assert_in_range(rest.leases + rest.available + rest.requests + rest.candidates +
		    rest.exclusions, all - cron->what.batch, all);
	else
		assert_all_counted(&rest);
	assert_everything_done();
}

static void
cut_at(unsigned int nth, enum how how, const struct statement *statement)
{
	struct cron cron = new_cron(2, proxy_new());
	uint64_t begun = db_clock_ms();

	make_everything_due();
	connect_cron(&cron, worker_group());
	if (how == LATE)
		proxy_hold_and_cut(cron.proxy, "", nth + 1 - (unsigned int)proxy_total(cron.proxy));
	else
		proxy_cut(cron.proxy, "", nth + 1 - (unsigned int)proxy_total(cron.proxy),
		    how == BEFORE ? CUT_BEFORE : CUT_AFTER);
	assert_int_equal(pthread_create(&cron.thread, NULL, run, &cron), 0);
	while (how == LATE && !proxy_is_holding(cron.proxy) && !cron.done &&
	    db_clock_ms() - begun < PATIENCE_MS)
		db_sleep_ms(1);
	if (how == LATE && proxy_is_holding(cron.proxy)) {
		db_sleep_ms(A_WHILE_MS);
		proxy_release(cron.proxy);
	}
	join(&cron);
	if (cron.rc != LOCKQ_OK && cron.rc != LOCKQ_EDATABASE)
		print_error("cut %d at %u, %s: %s\n", how, nth, statement->text, cron.error);
	/* The server may still execute the COMMIT of the lost connection. */
	until("SELECT IS_FREE_LOCK(" CRON_NAME ")");
	assert_the_next_one_finishes(&cron, statement->commits);
	start_again();
}

/* guard: a lost connection ends the run with nothing half done, and the next run does the rest. */
static void
cut_off_at_any_statement(void **state)
{
	static struct statement statements[STATEMENTS];
	unsigned int first, n = find_statements(statements, &first);

	(void)state;
	for (enum how how = BEFORE; how < HOWS; how++) {
		for (unsigned int i = first + 1; i < n; i++) {
			/* A cut before a statement is the same as one after the statement before
			 * it, except at COMMIT. */
			if (how != BEFORE || statements[i].commits)
				cut_at(i, how, &statements[i]);
		}
	}
}

/* The server gives the name back when the connection is lost, so another run may begin at once. */
static void
another_one_takes_over(void **state)
{
	struct cron cron = new_cron(2, proxy_new());
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	make_everything_due();
	sql_on(other, "SET SESSION wait_timeout = 60");
	proxy_hold(cron.proxy, "FORCE INDEX (work_due)", 2);
	start(&cron);
	proxy_until_held(cron.proxy);
	proxy_drop(cron.proxy);
	assert_int_equal(u64_on(other, "SELECT GET_LOCK(" CRON_NAME ", 20)"), 1);
	join(&cron);
	assert_int_equal(cron.rc, LOCKQ_EDATABASE);
	assert_int_equal(cron.did.busy, 0);
	assert_int_equal(cron.did.leases + cron.did.available, 2);
	sql_on(other, "DO RELEASE_ALL_LOCKS()");
	assert_int_equal(expire(500).leases, 1);
	assert_everything_done();
}

/* Returns the plan of the statement that contains @text. @json is the parameter of JSON_TABLE. */
static const char *
plan_of(struct proxy *proxy, const char *text, const char *json)
{
	char statement[1024], filled[4096] = "";
	size_t position = proxy_position(proxy, text, 1), used = 0;

	assert_true(position != SIZE_MAX);
	proxy_text(proxy, position, statement, sizeof(statement));
	for (const char *c = statement; *c != '\0'; c++) {
		char one[2] = { *c, '\0' };
		const char *part = one;

		if (*c == '?')
			part = strncmp(c - 11, "JSON_TABLE(", 11) == 0 ? json :
			    strncmp(c - 3, "<= ", 3) == 0 ? "NOW(6)" :
			    strncmp(c - 6, "LIMIT ", 6) == 0 ? "500" : "20260101";
		assert_true(used + strlen(part) < sizeof(filled));
		memcpy(filled + used, part, strlen(part) + 1);
		used += strlen(part);
	}
	return plan_of_statement(filled);
}

static void
assert_plan(const char *plan, const char *has)
{
	if (strstr(plan, has) == NULL || strstr(plan, "Sort") != NULL)
		print_error("%s\n", plan);
	assert_non_null(strstr(plan, has));
	assert_null(strstr(plan, "Sort"));
}

/* guard: the rows that are due are found by their index, from the end of the last page. Rows are
 * locked by their primary key. */
static void
each_statement_has_its_index(void **state)
{
	static const char by_key[] = "index lookup on w using PRIMARY"
	    " (task_id=j.task_id, loan_id=j.loan_id)";
	struct cron cron = new_cron(500, proxy_new());

	(void)state;
	make_everything_due();
	sql("INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,"
	    " assigned_at, changed_at, due_at)"
	    " SELECT %d, 1000 + n, %u, 'completed', 1, 1, 1, NOW(6), NOW(6),"
	    " IF(n %% 10 = 0, '2026-01-01', NULL) FROM test_number", TASK, user_id(1));
	connect_cron(&cron, worker_group());
	call(&cron);
	assert_int_equal(cron.did.available, 101);
	sql("UPDATE work SET due_at = '2026-01-01' WHERE task_id = %d AND loan_id %% 10 = 0",
	    TASK);
	assert_plan(plan_of(cron.proxy, "FORCE INDEX (work_due)", ""),
	    "ndex range scan on work using work_due");
	assert_plan(plan_of(cron.proxy, "FORCE INDEX (work_exclusion_until)", ""),
	    "scan on work_exclusion using work_exclusion_until");
	assert_plan(plan_of(cron.proxy, "AND seen_at < ?", ""),
	    "on work_requested using work_requested_line");
	assert_plan(plan_of(cron.proxy, "SELECT w.due_at, w.task_id, w.loan_id, w.version",
	    "'[[\"2026-01-01\",100,1,1,1]]'"), by_key);
	assert_plan(plan_of(cron.proxy, "w.version + j.lease",
	    "'[[\"2026-01-01\",100,1,1,1]]'"), by_key);
	assert_plan(plan_of(cron.proxy, "r.outcome = 'pending' AND r.seen_at < ?",
	    "'[[1]]'"), "index lookup on r using PRIMARY (request_id=j.request_id)");
	lockq_free(cron.q);
}

/* Runs lockq_expire() in a child process and does not return. */
static void
expire_in_child(const struct lockq_connection *where)
{
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired did;
	struct lockq *q = NULL;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(97);
	/* A child inherits what its parent has open. A connection that the proxy cuts would stay
	 * open. */
	for (int fd = FIRST_FD; fd <= LAST_FD; fd++)
		close(fd);
	what.batch = 2;
	if (lockq_new(&q) != LOCKQ_OK || lockq_connect(q, where) != LOCKQ_OK)
		_exit(98);
	_exit(lockq_expire(q, &what, &did) == LOCKQ_OK ? 0 : 99);
}

/* Kills a run at its statement @nth. Returns false if the run has fewer statements. */
static bool
killed_at(unsigned int nth)
{
	struct proxy *proxy = proxy_new();
	struct lockq_connection where = proxy_where(proxy);
	bool held;
	int pid;

	make_everything_due();
	proxy_hold(proxy, "", nth);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		expire_in_child(&where);
	while (!proxy_is_holding(proxy) && !worker_has_exited(pid))
		db_sleep_ms(1);
	held = proxy_is_holding(proxy);
	if (held)
		kill(pid, SIGKILL);
	assert_int_equal(worker_reap(pid), held ? -1 : 0);
	proxy_drop(proxy);
	/* The server gives the name back once it has seen that the process is gone. */
	until("SELECT IS_FREE_LOCK(" CRON_NAME ")");
	assert_int_equal(expire(500).skipped, 0);
	assert_everything_done();
	start_again();
	return held;
}

/* guard: cron's change and its log are one transaction. A run that is killed at any statement
 * leaves nothing half done, and the next run finds nothing that is done. */
static void
killed_at_any_statement(void **state)
{
	unsigned int nth = 1;

	(void)state;
	while (killed_at(nth))
		nth++;
	printf("# killed at each of %u statements\n", nth - 1);
	assert_true(nth > 40);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		EXPIRE_TEST(each_kind_at_its_boundary),
		EXPIRE_TEST(requests_at_their_boundary),
		EXPIRE_TEST(lists_that_nobody_takes_from),
		EXPIRE_TEST(exclusions_at_their_boundary),
		EXPIRE_TEST(a_running_leader_loses_nothing),
		EXPIRE_TEST(the_next_leader_ends_it_or_cron),
		EXPIRE_TEST(pages_of_any_size),
		EXPIRE_TEST(held_rows_are_passed_over),
		EXPIRE_TEST(a_led_task_is_left_to_its_leader),
		EXPIRE_TEST(who_asks_meanwhile_leads),
		EXPIRE_TEST(a_second_one_says_busy),
		EXPIRE_TEST(the_name_is_given_back),
		EXPIRE_TEST(rows_that_another_run_has_done),
		EXPIRE_TEST(two_at_once_do_no_harm),
		EXPIRE_TEST(it_may_be_given_up_between_transactions),
		EXPIRE_TEST(purging_keeps_what_is_current),
		EXPIRE_TEST(purging_keeps_pending_and_young_requests),
		EXPIRE_TEST(purging_keeps_the_last_runs),
		EXPIRE_TEST(purging_waits_for_nobody),
		EXPIRE_TEST(what_is_out_of_range_is_refused),
		EXPIRE_TEST(a_missing_privilege_is_named),
		EXPIRE_TEST(an_error_at_any_statement),
		EXPIRE_TEST(an_error_that_never_ends),
		EXPIRE_TEST(cut_off_at_any_statement),
		EXPIRE_TEST(another_one_takes_over),
		EXPIRE_TEST(each_statement_has_its_index),
		EXPIRE_TEST(killed_at_any_statement),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("expire", tests, suite_setup, suite_teardown);
}
