/* SPDX-License-Identifier: MIT */
/* An administrator ends the session of a call, both of its sessions, or only the statement that
 * runs, at each statement of the call; or the server refuses that statement. Loans are given once
 * all the same, and a call that fails tells a reason, which is what happened. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { DEADLOCK = 1213, LOCK_WAIT = 1205, KILLED_STATEMENT = 1317, SHUT_DOWN = 1053,
	FOR_EVER = 1000000, GETS = 2, CAP = 3, TIMEOUT_MS = 8000 };

/* What the call does where nothing happens to it. User 0 gets two loans in each of these. With a
 * cap that user has one loan and room for two, and asks for four. */
struct way {
	const char *name;
	bool list, filled, capped, follows;
};

/* KILL of an idle session closes it, and all of a call's sessions may be killed at once. In the
 * middle of a statement KILL QUERY is error 1317, and KILL is 1053. */
struct blow {
	const char *name;
	unsigned int error;   /* 0: the session ends before the server has the statement */
	unsigned int times;
	bool all;             /* of all sessions */
	const char *words[3]; /* a call that fails because of it has one of these in its text */
};

#define CUT "or its connection was cut"
static const struct blow blows[] = {
	{ "KILL", 0, 1, false, { "the connection to the database was lost", CUT } },
	{ "KILL of both", 0, 1, true, { "the connection to the database was lost", CUT } },
	{ "KILL in a statement", SHUT_DOWN, 1, false, { "error 1053", CUT } },
	{ "KILL QUERY", KILLED_STATEMENT, 1, false, { "error 1317", "was ended on the server" } },
	{ "KILL QUERY for ever", KILLED_STATEMENT, FOR_EVER, false, { "error 1317" } },
	{ "a deadlock", DEADLOCK, 1, false, { "error 1213" } },
	{ "a lock wait", LOCK_WAIT, 1, false,
	  { "error 1205", "took longer than the task's max_query_s" } }
};

static struct worker *
made(const struct way *way)
{
	struct worker *w;

	set_task(TASK, "cache_ttl = %d, max_pipeline = %s", way->list ? 600 : 0,
	    way->capped ? "3" : "NULL");
	add_loans(TASK, 9);
	if (way->filled)
		assert_int_equal(ask_now(5, TASK, 1)->rc, LOCKQ_OK);
	if (way->capped)
		add_work(TASK, 9, 0, "assigned", 1);
	w = worker_new(0, TASK, way->capped ? CAP + 1 : GETS, TIMEOUT_MS);
	w->proxy = proxy_new();
	return w;
}

static void
strike(struct proxy *proxy, const struct blow *blow, unsigned int nth)
{
	if (blow->error != 0)
		proxy_fail(proxy, "", nth, blow->times, blow->error);
	else if (blow->all)
		proxy_hold(proxy, "", nth);
	else
		proxy_cut(proxy, "", nth, CUT_BEFORE);
}

/* Lets the call run to its end. A leader that it follows commits once the call waits for that. */
static void
run(struct worker *w, struct worker *leader)
{
	bool released = leader == NULL;

	worker_start(w);
	while (!w->done) {
		if (proxy_is_holding(w->proxy)) {
			proxy_drop(w->proxy);
			while (proxy_is_holding(w->proxy))
				db_sleep_ms(1);
		}
		if (!released && proxy_count(w->proxy, QUERY) > 0) {
			proxy_release(leader->proxy);
			released = true;
		}
		db_sleep_ms(1);
	}
	worker_join(w);
	if (leader == NULL)
		return;
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
}

static bool
is_open(const struct worker *w)
{
	return strstr(w->error, "the request may still be pending: see checkwork") != NULL ||
	    w->rc == LOCKQ_EUNKNOWN;
}

/* How the answer of the call is wrong, or NULL. */
static const char *
fault_of(const struct worker *w, const struct blow *blow)
{
	bool told = false;

	if (w->rc == LOCKQ_OK)
		return w->answer.n_loans == GETS ? NULL : "other loans";
	if (w->rc != LOCKQ_EDATABASE && w->rc != LOCKQ_EQUERY && w->rc != LOCKQ_EUNKNOWN)
		return "another code";
	if (strchr(w->error, '\n') != NULL)
		return "two lines";
	if (strstr(w->error, "no reason") != NULL || strstr(w->error, "you have") != NULL)
		return "a reason that is none";
	if (blow->error != 0 && blow->error != SHUT_DOWN && strstr(w->error, "lost") != NULL)
		return "a connection that was not lost";
	for (size_t i = 0; blow->words[i] != NULL; i++)
		told = told || strstr(w->error, blow->words[i]) != NULL;
	return told ? NULL : "no reason, or another one";
}

/* What the user has got, told or not, is in the table once; the next call gets what it did not. */
static void
assert_loans(const struct way *way, const struct worker *w)
{
	uint64_t before = way->capped, has = u64("SELECT COUNT(*) FROM work WHERE task_id = %d"
	    " AND user_id = %u AND state = 'assigned'", TASK, user_id(0));
	struct worker *next;

	assert_true(has == before || has == before + GETS);
	if (!is_open(w))
		assert_int_equal(has > before, w->rc == LOCKQ_OK);
	assert_consistent(TASK);
	next = ask_now(0, TASK, GETS);
	if (way->capped && has > before)
		assert_int_equal(next->rc, LOCKQ_EREFUSED);
	else
		assert_int_equal(next->answer.n_loans, GETS);
	assert_consistent(TASK);
}

/* Returns false if the call has fewer statements than @nth. */
static bool
struck_at(const struct way *way, const struct blow *blow, unsigned int nth)
{
	struct worker *leader = NULL, *w = made(way);
	char statement[80];
	const char *fault;

	if (way->follows)
		leader = leader_after_its_query(1, 1);
	strike(w->proxy, blow, nth);
	run(w, leader);
	fault = fault_of(w, blow);
	if (proxy_total(w->proxy) < nth) {
		assert_null(fault);
		return false;
	}
	proxy_text(w->proxy, nth - 1, statement, sizeof(statement));
	if (fault != NULL)
		print_error("%s, %s at %u, %s: %s: code %d, %zu loans, \"%s\"\n", way->name,
		    blow->name, nth, statement, fault, w->rc, (size_t)w->answer.n_loans, w->error);
	assert_null(fault);
	assert_loans(way, w);
	return true;
}

/* LOCKQ_KILLS_STEP=1 strikes at each statement, else each blow meets one of three. */
static void
strike_everywhere(struct way way, unsigned int statements)
{
	const char *text = getenv("LOCKQ_KILLS_STEP");
	unsigned int step = text != NULL ? (unsigned int)strtoul(text, NULL, 10) : 3;

	assert_true(step > 0);
	for (size_t i = 0; i < sizeof(blows) / sizeof(blows[0]); i++) {
		unsigned int nth = 1 + (unsigned int)i % step;
		uint64_t start = db_clock_ms();

		for (; struck_at(&way, &blows[i], nth); nth += step)
			start_again();
		start_again();
		printf("# %s, %s, to statement %u: %" PRIu64 " ms\n", way.name, blows[i].name,
		    nth - 1, db_clock_ms() - start);
		assert_true(nth > statements);
	}
}

static void
a_leader(void **state)
{
	(void)state;
	strike_everywhere((struct way){ .name = "leads" }, 30);
}

static void
a_leader_with_a_cap(void **state)
{
	(void)state;
	strike_everywhere((struct way){ .name = "leads, with a cap", .capped = true }, 30);
}

static void
a_leader_that_leaves_a_list(void **state)
{
	(void)state;
	strike_everywhere((struct way){ .name = "leads, with a list", .list = true }, 30);
}

static void
a_follower(void **state)
{
	(void)state;
	strike_everywhere((struct way){ .name = "follows", .follows = true }, 10);
}

static void
a_taker(void **state)
{
	(void)state;
	strike_everywhere((struct way){ .name = "takes", .list = true, .filled = true }, 5);
}

static void
a_taker_with_a_cap(void **state)
{
	(void)state;
	strike_everywhere((struct way){ .name = "takes, with a cap", .list = true, .filled = true,
	    .capped = true }, 5);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_leader),
		DB_TEST(a_leader_with_a_cap),
		DB_TEST(a_leader_that_leaves_a_list),
		DB_TEST(a_follower),
		DB_TEST(a_taker),
		DB_TEST(a_taker_with_a_cap),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("killed", tests, suite_setup, suite_teardown);
}
