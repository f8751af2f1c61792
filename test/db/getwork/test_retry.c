/* SPDX-License-Identifier: MIT */
/* Transactions that are tried again as a whole. Each statement fails once with each error that a
 * rollback cures, and some statements fail for ever. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { DEADLOCK = 1213, LOCK_WAIT = 1205, CERTIFICATION = 3101, AT_COMMIT = 1180,
	READ_ONLY = 1290, NO_MAJORITY = 3100, SHUT_DOWN = 1053 };
enum { FOR_EVER = 1000000, STATEMENTS = 256, MOST_TRIES = 14, MOST_QUERIES = 2,
	CLUSTER_TRIES = 30 /* a server that is behind its cluster is tried for ten seconds */ };

/* A statement of a leader that may fail. */
struct target {
	unsigned int nth;    /* its number among all statements that the leader sends */
	bool in_transaction;
	bool is_commit;
	bool is_look;        /* the hand-over's look for pending requests */
	char text[80];
};

/* Loan 1 and loans 4 to 6 were never given, loan 2 was returned, and the lease of loan 3 has run
 * out. User 1's request is pending. */
static void
make_line(void)
{
	add_loans(TASK, 6);
	add_work(TASK, 2, 5, "returned", 3);
	add_work(TASK, 3, 5, "assigned", 3);
	sql("UPDATE work SET lease_expires_at = NOW(6) - INTERVAL 1 SECOND WHERE task_id = %d"
	    " AND loan_id = 3", TASK);
	(void)add_request(TASK, 1, 1);
}

/* User 0 leads, and user 2's request comes after the leader's last look. So a leader sends every
 * statement that it can. It has time for a lock wait before it leads. */
static struct worker *
lead_through(struct proxy *proxy, const char *late_at)
{
	struct worker *leader = worker_new(0, TASK, 2, PATIENCE_MS);

	leader->proxy = proxy;
	proxy_hold(proxy, late_at, 1);
	worker_start(leader);
	proxy_until_held(proxy);
	(void)add_request(TASK, 2, 1);
	proxy_release(proxy);
	worker_join(leader);
	return leader;
}

static void
assert_all_served(const struct worker *leader)
{
	if (leader->rc != LOCKQ_OK)
		print_error("%s\n", leader->error);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.status, LOCKQ_SERVED);
	assert_int_equal(leader->answer.n_loans, 2);
	assert_int_equal(leader->answer.loans[0].loan_id, 2);
	assert_int_equal(leader->answer.loans[1].loan_id, 3);
	assert_consistent(TASK);
	assert_string_equal(outcome_of(TASK, 1), "served");
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND loan_id = 3"
	    " AND user_id = %u AND version = 5", TASK, user_id(0)), 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'expired'", TASK), 1);
}

/* Whether the late user 2 has got loan 4. */
static bool
is_handed_over(void)
{
	return strcmp(outcome_of(TASK, 2), "served") == 0 &&
	    u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK) == 4;
}

static bool
names_a_table(const char *text)
{
	return strstr(text, " work") != NULL || strstr(text, " task") != NULL ||
	    strstr(text, "leader_run") != NULL;
}

/* Fills @targets with the statements of a leader that meets no error, from the INSERT of its
 * request on. Returns their number. */
static size_t
find_targets(struct target *targets)
{
	struct proxy *proxy = proxy_new();
	size_t first, n = 0;
	unsigned int lock_connection;
	bool inside = false;
	char text[1024];

	make_line();
	assert_all_served(lead_through(proxy, "SET holder = NULL"));
	assert_true(is_handed_over());
	first = proxy_position(proxy, "INSERT INTO request_in", 1);
	lock_connection = proxy_connection(proxy, first);
	for (size_t i = first; i < proxy_total(proxy); i++) {
		struct target *t = &targets[n];

		proxy_text(proxy, i, text, sizeof(text));
		if (strstr(text, "EXECUTE") != NULL || strstr(text, "SET @") == text ||
		    proxy_connection(proxy, i) != lock_connection)
			continue;
		*t = (struct target){ .nth = (unsigned int)i + 1, .in_transaction = inside,
			.is_commit = strcmp(text, "COMMIT") == 0,
			.is_look = strstr(text, "SELECT EXISTS") != NULL };
		snprintf(t->text, sizeof(t->text), "%.79s", text);
		if (strcmp(text, "START TRANSACTION") == 0)
			inside = true;
		if (t->is_commit)
			inside = false;
		if (t->is_commit || names_a_table(text))
			assert_true(++n < STATEMENTS);
	}
	start_again();
	return n;
}

/* One statement fails once. Returns whether the late user 2 was served, too. */
static bool
fail_once(const struct target *target, unsigned int error)
{
	struct proxy *proxy = proxy_new();
	struct worker *leader;
	bool handed_over;

	make_line();
	proxy_fail(proxy, "", target->nth, 1, error);
	/* The statement that fails can't also be the one that is held. */
	leader = lead_through(proxy, strstr(target->text, "SET holder") != NULL ?
	    "INSERT INTO run_in" : "SET holder = NULL");
	handed_over = is_handed_over();
	if (leader->rc != LOCKQ_OK || !handed_over)
		print_error("%u at %u: %s\n", error, target->nth, target->text);
	assert_all_served(leader);
	/* The list is still good, so the query runs once. */
	if (target->in_transaction &&
	    strstr(target->text, "task_lock") == NULL &&
	    strstr(target->text, "lead_in") == NULL &&
	    strstr(target->text, "wake_in") == NULL)
		assert_int_equal(proxy_count(proxy, QUERY), 1);
	if (handed_over && target->in_transaction &&
	    strstr(target->text, "wake_in") == NULL) {
		if (leader->answer.retries == 0)
			print_error("not tried again at %u: %s\n", target->nth, target->text);
		assert_true(leader->answer.retries > 0);
		assert_int_equal(u64("SELECT MAX(retries) FROM leader_run WHERE task_id = %d",
		    TASK), leader->answer.retries);
	}
	start_again();
	return handed_over;
}

static void
fail_each(unsigned int error, bool at_commit_only, bool outside_too)
{
	static struct target targets[STATEMENTS];
	size_t n = find_targets(targets), hit = 0, left_pending = 0;
	uint64_t start = db_clock_ms();

	for (size_t i = 0; i < n; i++) {
		if (at_commit_only ? !targets[i].is_commit :
		    !targets[i].in_transaction && !outside_too)
			continue;
		left_pending += !fail_once(&targets[i], error);
		hit++;
	}
	printf("# error %u at %zu statements, %" PRIu64 " ms\n", error, hit,
	    db_clock_ms() - start);
	assert_true(hit >= (at_commit_only ? 2 : 15));
	assert_int_equal(left_pending, 0);
}

/* guard: a deadlock is tried again, as a whole transaction, at whatever statement it happens. */
static void
a_deadlock_at_any_statement(void **state)
{
	(void)state;
	fail_each(DEADLOCK, false, false);
}

/* guard: after a lock wait that timed out the whole transaction is tried again. The server undid
 * only the statement, so going on would commit half of the transaction. Outside a transaction a
 * statement gets this error if its table is being altered. */
static void
a_lock_wait_that_ends_at_any_statement(void **state)
{
	(void)state;
	fail_each(LOCK_WAIT, false, true);
}

static void
a_certification_that_fails_at_commit(void **state)
{
	(void)state;
	fail_each(CERTIFICATION, true, false);
}

static void
a_commit_that_fails(void **state)
{
	(void)state;
	fail_each(AT_COMMIT, true, false);
}

/* A statement fails for ever. The call reports the error in bounded time, after growing pauses, and
 * nothing is half done. */
static void
never_ends(const char *statement, unsigned int error)
{
	struct worker *w = worker_new(0, TASK, 2, -1);
	char number[8];

	add_loans(TASK, 6);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, statement, 1, FOR_EVER, error);
	worker_start(w);
	worker_join(w);
	printf("# %u for ever at %s: %" PRIu64 " ms, %zu tries, %zu queries, %u retries: %s\n",
	    error, statement, w->ms, proxy_count(w->proxy, statement),
	    proxy_count(w->proxy, QUERY), w->answer.retries, w->error);
	snprintf(number, sizeof(number), "%u", error);
	assert_int_equal(w->rc, LOCKQ_EDATABASE);
	assert_non_null(strstr(w->error, number));
	/* guard: the query is not run again for an error that stays. */
	assert_in_range(proxy_count(w->proxy, statement), 2, error == CERTIFICATION ?
	    CLUSTER_TRIES : MOST_TRIES);
	assert_in_range(proxy_count(w->proxy, QUERY), 0, MOST_QUERIES);
	assert_true(w->ms > 300);
	assert_true(w->answer.retries > 0);
	assert_string_equal(outcome_of(TASK, 0), "cancelled");
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK), 0);
	assert_int_equal(rounds_of(TASK), 0);
	assert_int_equal(epoch_of(TASK), 0);
	/* Other calls are not kept out. */
	assert_int_equal(ask_now(1, TASK, 6)->answer.n_loans, 6);
	assert_consistent(TASK);
	start_again();
}

static void
a_deadlock_that_never_ends(void **state)
{
	(void)state;
	never_ends("CALL work_opens", DEADLOCK);
}

static void
a_commit_that_never_gets_through(void **state)
{
	(void)state;
	never_ends("=COMMIT", CERTIFICATION);
}

static void
a_lock_wait_that_never_ends(void **state)
{
	(void)state;
	never_ends("CALL work_opens", LOCK_WAIT);
}

/* The request can't be recorded. No request is pending after the call. */
static void
a_request_that_can_not_be_recorded(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, -1);

	(void)state;
	add_loans(TASK, 2);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "INSERT INTO request_in", 1, FOR_EVER, DEADLOCK);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_EDATABASE);
	assert_in_range(proxy_count(w->proxy, "INSERT INTO request_in"), 2, MOST_TRIES);
	assert_int_equal(w->answer.request_id, 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK), 0);
}

/* A commit fails as often as it is tried again with the same list, then succeeds. */
static void
an_error_that_repeats(void **state)
{
	(void)state;
	for (unsigned int times = 2; times <= 6; times += 2) {
		struct proxy *proxy = proxy_new();
		struct worker *leader;

		make_line();
		proxy_fail(proxy, "=COMMIT", 1, times, times == 4 ? AT_COMMIT : DEADLOCK);
		leader = lead_through(proxy, "SET holder = NULL");
		assert_all_served(leader);
		assert_true(is_handed_over());
		assert_int_equal(leader->answer.retries, times);
		assert_int_equal(u64("SELECT retries FROM leader_run WHERE task_id = %d"
		    " AND epoch = 1", TASK), times);
		assert_int_equal(proxy_count(proxy, QUERY), 1);
		start_again();
	}
}

/* A follower's statements and its wait fail. The follower waits on and is served. */
static void
a_follower_goes_on(void **state)
{
	static const char *const statements[] = {
		"INSERT INTO request_in", "SELECT l.holder", QUERY
	};

	(void)state;
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		for (int how = 0; how < 2; how++) {
			struct worker *leader = worker_new(0, TASK, 1, 0);
			struct worker *waits = worker_new(1, TASK, 1, -1);

			add_loans(TASK, 3);
			leader->proxy = proxy_new();
			waits->proxy = proxy_new();
			proxy_hold(leader->proxy, QUERY, 1);
			worker_start(leader);
			proxy_until_held(leader->proxy);
			proxy_fail(waits->proxy, statements[i], 1, 3,
			    how == 0 ? DEADLOCK : LOCK_WAIT);
			worker_start(waits);
			while (proxy_count(waits->proxy, statements[i]) < 4 && !waits->done)
				db_sleep_ms(1);
			assert_false(waits->done);
			proxy_release(leader->proxy);
			worker_join(leader);
			worker_join(waits);
			assert_int_equal(waits->rc, LOCKQ_OK);
			assert_int_equal(waits->answer.n_loans, 1);
			assert_consistent(TASK);
			start_again();
		}
	}
}

/* The statement that cancels is tried again. */
static void
a_cancel_is_tried_again(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *w = worker_new(0, TASK, 1, 1100);

	(void)state;
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "SET outcome = 'cancelled'", 1, 2, LOCK_WAIT);
	proxy_fail(w->proxy, "SET outcome = 'cancelled'", 3, 1, DEADLOCK);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_int_equal(w->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_string_equal(outcome_of(TASK, 0), "cancelled");
	assert_int_equal(proxy_count(w->proxy, "SET outcome = 'cancelled'"), 4);
	db_rollback(leader.lock);
}

/* The connection is lost, and for a while the server has no free connection. */
static void
lost_and_crowded_for_a_time(void **state)
{
	static const char *const statements[] = {
		"INSERT INTO request_in", "CALL work_opens", "=COMMIT"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		struct worker *w = worker_new(0, TASK, 2, -1);

		add_loans(TASK, 4);
		w->proxy = proxy_new();
		proxy_hold(w->proxy, statements[i], 1);
		worker_start(w);
		proxy_until_held(w->proxy);
		proxy_crowd(w->proxy, true);
		proxy_drop(w->proxy);
		db_sleep_ms(800);
		assert_false(w->done);
		proxy_crowd(w->proxy, false);
		worker_join(w);
		if (w->rc != LOCKQ_OK)
			print_error("%s: %s\n", statements[i], w->error);
		assert_int_equal(w->rc, LOCKQ_OK);
		assert_int_equal(w->answer.n_loans, 2);
		assert_true(w->answer.retries > 1);
		assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d",
		    TASK), 1);
		assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 2);
		assert_consistent(TASK);
		start_again();
	}
}

/* Completes the loans 1 and 2 of user 0 through the proxy. */
static int
complete_within(struct worker *by, int64_t timeout_ms, struct lockq_disposed_result *result)
{
	const struct lockq_loan_ref loans[] = { { 2, 0 }, { 1, 0 } };
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;

	what.user = user(0);
	what.task = TASK;
	what.kind = LOCKQ_COMPLETE;
	what.loans = loans;
	what.n_loans = 2;
	what.timeout_ms = timeout_ms;
	return lockq_dispose(by->q, &what, result);
}

static int
complete_through(struct worker *by, struct lockq_disposed_result *result)
{
	return complete_within(by, -1, result);
}

static struct worker *
with_two_loans(void)
{
	struct worker *by = worker_new(0, TASK, 1, 0);

	add_loans(TASK, 2);
	assert_int_equal(ask_now(0, TASK, 2)->answer.n_loans, 2);
	by->proxy = proxy_new();
	worker_connect(by);
	return by;
}

static const char *const disposing[] = {
	"SELECT j.loan_id, me.user_id", "INSERT INTO log_in", "CALL work_moves", "=COMMIT"
};
enum { DISPOSING = sizeof(disposing) / sizeof(disposing[0]) };

static void
a_disposition_is_tried_again(void **state)
{
	static const unsigned int errors[] = { DEADLOCK, LOCK_WAIT, CERTIFICATION, AT_COMMIT,
		READ_ONLY, NO_MAJORITY };

	(void)state;
	for (size_t i = 0; i < DISPOSING * 6; i++) {
		struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
		unsigned int error = errors[i % 6];
		const char *statement = disposing[i / 6];
		struct worker *by;

		if ((error == AT_COMMIT || error == NO_MAJORITY) &&
		    strcmp(statement, "=COMMIT") != 0)
			continue;
		by = with_two_loans();
		proxy_fail(by->proxy, statement, 1, 2, error);
		assert_int_equal(complete_through(by, &result), LOCKQ_OK);
		assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
		assert_int_equal(result.loans[1].what, LOCKQ_DISPOSED);
		assert_int_equal(proxy_count(by->proxy, "SET autocommit = 0"), 3);
		assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d"
		    " AND state = 'completed' AND version = 2", TASK), 2);
		assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
		    " AND event = 'completed'", TASK), 2);
		assert_consistent(TASK);
		lockq_disposed_clear(&result);
		start_again();
	}
}

static void
a_disposition_that_never_gets_through(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *by = with_two_loans();
	uint64_t start = db_clock_ms();

	(void)state;
	proxy_fail(by->proxy, "CALL work_moves", 1, FOR_EVER, DEADLOCK);
	assert_int_equal(complete_through(by, &result), LOCKQ_EDATABASE);
	printf("# a disposition, 1213 for ever: %" PRIu64 " ms, %zu tries: %s\n",
	    db_clock_ms() - start, proxy_count(by->proxy, "CALL work_moves"),
	    lockq_error(by->q));
	assert_non_null(strstr(lockq_error(by->q), "1213"));
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d"
	    " AND state = 'assigned' AND version = 1", TASK), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK), 2);
	assert_in_range(proxy_count(by->proxy, "CALL work_moves"), 2, MOST_TRIES);
	lockq_disposed_clear(&result);
}

/* The proxy takes a while for each statement, and lets it pass. */
static bool
is_slow(const char *statement, void *data)
{
	(void)statement;
	(void)data;
	db_sleep_ms(5);
	return false;
}

/* The second call has to connect first, and then its time is over. So each call is tried as often
 * as after other failures, and no more. */
static void
a_disposition_without_time_ends(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *by = with_two_loans();

	(void)state;
	proxy_hold_each(by->proxy, is_slow, NULL);
	proxy_fail(by->proxy, disposing[0], 1, FOR_EVER, SHUT_DOWN);
	for (unsigned int calls = 1; calls <= 2; calls++) {
		assert_int_equal(complete_within(by, 0, &result), LOCKQ_EDATABASE);
		assert_in_range(proxy_count(by->proxy, disposing[0]), 2, calls * MOST_TRIES);
		lockq_disposed_clear(&result);
	}
}

struct call {
	struct worker *by;
	int rc;
};

static void *
complete(void *data)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct call *call = data;

	call->rc = complete_through(call->by, &result);
	lockq_disposed_clear(&result);
	return NULL;
}

/* A real deadlock. The server ends the transaction that changed fewer rows, which is the
 * disposition's, and the disposition is tried again. */
static void
a_real_deadlock_of_a_disposition(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct call call = { with_two_loans(), -1 };
	pthread_t thread;

	(void)state;
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "UPDATE test_number SET n = n + 1000000 ORDER BY n DESC");
	(void)u64_on(other, "SELECT loan_id FROM work WHERE task_id = %d AND loan_id = 2"
	    " FOR UPDATE", TASK);
	assert_int_equal(pthread_create(&thread, NULL, complete, &call), 0);
	until_waiting_for("work", 1);
	(void)u64_on(other, "SELECT loan_id FROM work WHERE task_id = %d AND loan_id = 1"
	    " FOR UPDATE", TASK);
	db_rollback(other);
	pthread_join(thread, NULL);
	assert_int_equal(call.rc, LOCKQ_OK);
	assert_int_equal(proxy_count(call.by->proxy, "SET autocommit = 0"), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'completed'", TASK), 2);
}

/* guard: the primary becomes a secondary, or loses the majority, under a call. The call goes on at
 * the new primary: on a new connection, and with the same request. */
static void
a_primary_that_is_one_no_more(void **state)
{
	static const struct {
		const char *statement;
		unsigned int error;
	} cases[] = {
		{ "INSERT INTO request_in", READ_ONLY }, { "CALL work_opens", READ_ONLY },
		{ "=COMMIT", NO_MAJORITY }, { "=COMMIT", READ_ONLY },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct worker *w = worker_new(0, TASK, 2, -1);

		add_loans(TASK, 4);
		w->proxy = proxy_new();
		proxy_fail(w->proxy, cases[i].statement, 1, 2, cases[i].error);
		worker_start(w);
		worker_join(w);
		if (w->rc != LOCKQ_OK)
			print_error("%u at %s: %s\n", cases[i].error, cases[i].statement,
			    w->error);
		assert_int_equal(w->rc, LOCKQ_OK);
		assert_int_equal(w->answer.n_loans, 2);
		assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d",
		    TASK), 1);
		assert_consistent(TASK);
		start_again();
	}
}

/* A program that is set to a replica is told so after a few seconds, and not at once: in a failover
 * a router may still lead to the primary of before. */
static void
a_replica_is_told(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, -1);

	(void)state;
	add_loans(TASK, 2);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "INSERT INTO request_in", 1, FOR_EVER, READ_ONLY);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_EDATABASE);
	assert_non_null(strstr(w->error, "connect to the primary"));
	assert_in_range(w->ms, 2500, PATIENCE_MS);
}

/* Begins a disposition that loses its server at the statement, and finds none. */
static pthread_t
complete_without_server(struct call *call, const char *statement)
{
	struct proxy *proxy = call->by->proxy;
	pthread_t thread;

	proxy_hold(proxy, statement, 1);
	assert_int_equal(pthread_create(&thread, NULL, complete, call), 0);
	proxy_until_held(proxy);
	proxy_crowd(proxy, true);
	proxy_drop(proxy);
	return thread;
}

/* guard: a disposition waits for a new primary as long as a getwork does. */
static void
a_disposition_waits_for_the_server(void **state)
{
	struct worker *by = with_two_loans();
	struct call call = { .by = by };
	pthread_t thread = complete_without_server(&call, "=COMMIT");

	(void)state;
	proxy_until_crowded(by->proxy, DB_TRIES + 3);
	proxy_crowd(by->proxy, false);
	pthread_join(thread, NULL);
	assert_int_equal(call.rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'completed'", TASK), 2);
	assert_consistent(TASK);
}

static int
gives_up(const struct lockq_progress *now, void *data)
{
	(void)data;
	return now->phase == LOCKQ_PHASE_RETRY && now->detail != NULL;
}

/* guard: a disposition whose server is away says so, and ends when its caller wants. */
static void
a_disposition_that_waits_for_the_server_gives_up(void **state)
{
	struct worker *by = with_two_loans();
	struct call call = { .by = by };

	(void)state;
	lockq_on_progress(by->q, gives_up, NULL);
	pthread_join(complete_without_server(&call, "SET autocommit = 0"), NULL);
	proxy_crowd(by->proxy, false);
	assert_int_equal(call.rc, LOCKQ_CANCELLED);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'completed'", TASK), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_deadlock_at_any_statement),
		DB_TEST(a_lock_wait_that_ends_at_any_statement),
		DB_TEST(a_certification_that_fails_at_commit),
		DB_TEST(a_commit_that_fails),
		DB_TEST(an_error_that_repeats),
		DB_TEST(a_deadlock_that_never_ends),
		DB_TEST(a_commit_that_never_gets_through),
		DB_TEST(a_lock_wait_that_never_ends),
		DB_TEST(a_request_that_can_not_be_recorded),
		DB_TEST(a_follower_goes_on),
		DB_TEST(a_cancel_is_tried_again),
		DB_TEST(lost_and_crowded_for_a_time),
		DB_TEST(a_disposition_is_tried_again),
		DB_TEST(a_disposition_that_never_gets_through),
		DB_TEST(a_disposition_without_time_ends),
		DB_TEST(a_real_deadlock_of_a_disposition),
		DB_TEST(a_primary_that_is_one_no_more),
		DB_TEST(a_replica_is_told),
		DB_TEST(a_disposition_waits_for_the_server),
		DB_TEST(a_disposition_that_waits_for_the_server_gives_up),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("retry", tests, suite_setup, suite_teardown);
}
