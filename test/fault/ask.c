/* SPDX-License-Identifier: MIT */
/* Scenarios in which somebody asks for loans. */
#include "scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

#define UUID "5e0c6f0a-7d1e-4c55-9a39-1c3f0d6c2b11"

/* User 0 has two loans of one request, and nothing else is pending. */
#define HAS_TWO \
	"SELECT COUNT(*) = 2 AND COUNT(DISTINCT w.request_id) = 1 FROM work AS w" \
	" JOIN app_user AS u USING (user_id)" \
	" WHERE w.task_id = 100 AND w.state = 'assigned' AND u.name = 'test_a'"
#define PENDING \
	"SELECT COUNT(*) FROM work_requested AS r JOIN app_user AS u USING (user_id)" \
	" WHERE r.task_id = 100 AND r.pending = 1 AND u.name = 'test_a'"

static struct leader_by_hand leader;

static int
ask_with(struct run *run, struct lockq_ask ask)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int code;

	ask.user = user(0);
	ask.task = TASK;
	ask.count = 2;
	if (ask.timeout_ms < 0)
		ask.timeout_ms = 3000;
	code = lockq_getwork(run->q, &ask, &answer);
	say(run, "%s, joined %d:", lockq_status_name(answer.status), answer.joined);
	for (size_t i = 0; i < answer.n_loans; i++)
		say(run, " %" PRIu64 "/%" PRIu64, answer.loans[i].loan_id, answer.loans[i].token);
	/* A query whose connection was lost has another reason than its view. */
	if (answer.reason != NULL && answer.status != LOCKQ_FAILED)
		say(run, " %s", answer.reason);
	lockq_answer_clear(&answer);
	return code;
}

static int
ask(struct run *run)
{
	return ask_with(run, (struct lockq_ask)LOCKQ_ASK_INIT);
}

static void
loans(struct run *run)
{
	(void)run;
	add_loans(TASK, 20);
}

/* --- the query runs on the lock connection --- */

static void
a_proxy(struct run *run)
{
	loans(run);
	run->proxy = proxy_new();
}

/* A second connection would lead to another server. */
static int
ask_with_one_connection(struct run *run)
{
	proxy_replace(run->proxy, "@@server_uuid", "'another one'");
	return ask(run);
}

/* --- others lead --- */

static void
end_leader(void)
{
	if (leader.lock == NULL)
		return;
	fault_pause(true);
	db_rollback(leader.lock);
	db_rollback(leader.wake);
	fault_pause(false);
	leader.lock = NULL;
}

/* The leader goes when the call has waited once. */
static int
leader_goes(const struct lockq_progress *progress, void *data)
{
	(void)data;
	if (progress->phase == LOCKQ_PHASE_WAIT)
		end_leader();
	return 0;
}

static void
somebody_leads(struct run *run)
{
	loans(run);
	leader = lead_by_hand(TASK, true, true);
}

static int
follow(struct run *run)
{
	int code;

	lockq_on_progress(run->q, leader_goes, NULL);
	code = ask(run);
	end_leader();
	return code;
}

static int
poll_for(struct run *run)
{
	static const uint32_t gaps[] = { 1 };
	struct lockq_ask what = LOCKQ_ASK_INIT;
	int code;

	what.wait = LOCKQ_WAIT_POLL;
	what.poll_s = gaps;
	what.n_poll = 1;
	what.timeout_ms = 10000;
	lockq_on_progress(run->q, leader_goes, NULL);
	code = ask_with(run, what);
	end_leader();
	return code;
}

/* --- other requests --- */

static void
a_request_to_join(struct run *run)
{
	loans(run);
	(void)add_request(TASK, 0, 2);
}

static void
others_wait(struct run *run)
{
	loans(run);
	for (unsigned int i = 1; i < 5; i++)
		(void)add_request(TASK, i, 2);
}

static int
ask_without_waiting(struct run *run)
{
	struct lockq_ask what = LOCKQ_ASK_INIT;

	what.wait = LOCKQ_WAIT_NONE;
	return ask_with(run, what);
}

static int
ask_fresh(struct run *run)
{
	struct lockq_ask what = LOCKQ_ASK_INIT;

	what.fresh = 1;
	return ask_with(run, what);
}

static int
ask_by_uuid(struct run *run)
{
	struct lockq_ask what = LOCKQ_ASK_INIT;

	what.uuid = UUID;
	return ask_with(run, what);
}

static void
asked_before(struct run *run)
{
	struct worker *w = worker_new(0, TASK, 2, 3000);

	loans(run);
	w->ask.uuid = UUID;
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
}

/* --- lists --- */

static void
a_list(struct run *run)
{
	set_task(TASK, "cache_ttl = 60");
	loans(run);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_OK);
}

static int
take(struct run *run)
{
	struct lockq_ask what = LOCKQ_ASK_INIT;

	what.wait = LOCKQ_WAIT_LIST;
	return ask_with(run, what);
}

/* --- what a task may demand --- */

static void
limits(struct run *run)
{
	loans(run);
	set_task(TASK, "max_pipeline = 4, lease_minutes = 60, not_again = 5, not_same_user_as = %d",
	    OTHER_TASK);
}

static int
ask_elsewhere(struct run *run)
{
	inside_ask_elsewhere(run->q);
	return ask(run);
}

static void
a_broken_view(struct run *run)
{
	(void)run;
	set_view(TASK, "SELECT 'a' AS loan_id, 1 AS priority");
}

static int
ask_broken(struct run *run)
{
	int code = ask(run);

	fault_pause(true);
	set_view(TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d", TASK);
	fault_pause(false);
	return code;
}

/* --- what leaves a list --- */

static void
for_a_list(struct run *run)
{
	set_task(TASK, "cache_ttl = 60");
	loans(run);
}

static int
refill(struct run *run)
{
	struct lockq_refilled refilled = LOCKQ_REFILLED_INIT;
	int code = lockq_refill(run->q, TASK, 0, &refilled);

	say(run, "%" PRIu64 " loans", refilled.loans);
	return code;
}

static int
due(struct run *run)
{
	struct lockq_due found = LOCKQ_DUE_INIT;
	int code = lockq_due(run->q, &found);

	for (size_t i = 0; i < found.n_tasks; i++)
		say(run, "%u ", found.tasks[i]);
	lockq_due_clear(&found);
	return code;
}

static void
a_due_list(struct run *run)
{
	a_list(run);
	sql("UPDATE kept_list SET as_of = NOW(6) - INTERVAL 50 SECOND WHERE task_id = %d", TASK);
}

/* It returns no code: what it can't find out is not due. */
static int
refill_due(struct run *run)
{
	(void)lockq_refill_due(run->q, TASK);
	return LOCKQ_OK;
}

/* --- a request --- */

static void
a_request(struct run *run)
{
	snprintf(run->request, sizeof(run->request), "%" PRIu64, add_request(TASK, 0, 2));
}

static int
cancel(struct run *run)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int code = lockq_cancel(run->q, user(0), 0, run->request, &answer);

	say(run, "%s", lockq_status_name(answer.status));
	lockq_answer_clear(&answer);
	return code;
}

static int
cancel_for(struct run *run)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int code = lockq_cancel_for(run->q, "ann", run->request, "a mistake", &answer);

	say(run, "%s %s", lockq_status_name(answer.status), answer.reason);
	lockq_answer_clear(&answer);
	return code;
}

static int
look_at(struct run *run, int64_t wait_ms)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int code = lockq_request_look(run->q, run->request, wait_ms, &answer);

	say(run, "%s %u:", lockq_status_name(answer.status), answer.requested);
	for (size_t i = 0; i < answer.n_loans; i++)
		say(run, " %" PRIu64, answer.loans[i].loan_id);
	lockq_answer_clear(&answer);
	return code;
}

static int
look(struct run *run)
{
	return look_at(run, 0);
}

static int
look_for_a_while(struct run *run)
{
	return look_at(run, 100);
}

static void
a_served_request(struct run *run)
{
	loans(run);
	assert_int_equal(ask_now(0, TASK, 2)->rc, LOCKQ_OK);
	snprintf(run->request, sizeof(run->request), "%" PRIu64, request_of(TASK, 0));
}

#define CANCELLED "SELECT COUNT(*) FROM work_requested WHERE task_id = 100" \
	" AND outcome = 'cancelled'"

const struct scenario ask_scenarios[] = {
	{ "lockq_getwork", "leads", .prepare = loans, .call = ask, .done = HAS_TWO,
	  .left = PENDING },
	{ "lockq_getwork", "leads with one connection", .prepare = a_proxy,
	  .call = ask_with_one_connection, .done = HAS_TWO, .left = PENDING },
	{ "lockq_getwork", "without waiting", .prepare = loans, .call = ask_without_waiting,
	  .done = HAS_TWO },
	{ "lockq_getwork", "follows", .prepare = somebody_leads, .call = follow, .done = HAS_TWO,
	  .left = PENDING },
	{ "lockq_getwork", "polls", .prepare = somebody_leads, .call = poll_for, .done = HAS_TWO,
	  .left = PENDING },
	{ "lockq_getwork", "joins", .prepare = a_request_to_join, .call = ask, .done = HAS_TWO },
	{ "lockq_getwork", "serves others", .prepare = others_wait, .call = ask, .done = HAS_TWO,
	  .left = PENDING },
	{ "lockq_getwork", "fresh", .prepare = a_list, .call = ask_fresh, .done = HAS_TWO,
	  .left = PENDING },
	{ "lockq_getwork", "by UUID", .prepare = loans, .call = ask_by_uuid, .done = HAS_TWO,
	  .left = PENDING, .ends = true },
	{ "lockq_getwork", "repeated", .prepare = asked_before, .call = ask_by_uuid,
	  .left = PENDING },
	{ "lockq_getwork", "from a list", .prepare = a_list, .call = ask, .done = HAS_TWO,
	  .left = PENDING },
	{ "lockq_getwork", "only from a list", .prepare = a_list, .call = take, .done = HAS_TWO,
	  .left = PENDING },
	{ "lockq_getwork", "keeps a list", .prepare = for_a_list, .call = ask, .done = HAS_TWO,
	  .left = PENDING },
	{ "lockq_getwork", "with limits", .prepare = limits, .call = ask, .done = HAS_TWO,
	  .left = PENDING },
	{ "lockq_getwork", "asks elsewhere", .prepare = loans, .call = ask_elsewhere,
	  .done = HAS_TWO, .left = PENDING },
	{ "lockq_getwork", "fails", .prepare = a_broken_view, .call = ask_broken,
	  .code = LOCKQ_EQUERY,
	  .left = PENDING },
	{ "lockq_refill", "", .prepare = for_a_list, .call = refill,
	  .done = "SELECT COUNT(*) FROM kept_list WHERE task_id = 100" },
	{ "lockq_due", "", .prepare = a_due_list, .call = due },
	{ "lockq_refill_due", "", .prepare = a_due_list, .call = refill_due, .changes = true },
	{ "lockq_cancel", "", .prepare = a_request, .call = cancel, .done = CANCELLED,
	  .once = true },
	{ "lockq_cancel_for", "", MANAGER_GROUP, a_request, .call = cancel_for, .done = CANCELLED,
	  .once = true },
	{ "lockq_request_look", "at a pending request", .prepare = a_request, .call = look,
	  .code = LOCKQ_BUSY },
	{ "lockq_request_look", "waits", .prepare = a_request, .call = look_for_a_while,
	  .code = LOCKQ_BUSY },
	{ "lockq_request_look", "at a served request", .prepare = a_served_request, .call = look },
	{ .function = NULL }
};
