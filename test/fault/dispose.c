/* SPDX-License-Identifier: MIT */
/* Scenarios in which loans come back: users dispose of them, leases end, managers correct. */
#include "scenario.h"

#include <inttypes.h>
#include <string.h>

#include "support.h"

#define UUID "0b8de5a4-2f47-4d0a-8f0c-6a1f5f3f9c70"
/* Both loans of the user have had this event, once. */
#define BOTH(event) \
	"SELECT COUNT(*) = 2 AND COUNT(DISTINCT loan_id) = 2 FROM work_log" \
	" WHERE task_id = 100 AND event = '" event "'"

/* And the user has two others. Where only this is missing, the code is that of asking. */
#define BOTH_AND_TWO BOTH("completed") \
	" AND (SELECT COUNT(*) = 2 FROM work WHERE task_id = 100 AND state = 'assigned')"

/* User 0 has two loans. */
static void
has_two(struct run *run)
{
	struct worker *w;

	add_loans(TASK, 20);
	w = ask_now(0, TASK, 2);
	assert_int_equal(w->rc, LOCKQ_OK);
	for (size_t i = 0; i < 2; i++)
		run->loans[i] = (struct lockq_loan_ref){ w->answer.loans[i].loan_id,
			w->answer.loans[i].token };
}

static void
has_two_with_lease(struct run *run)
{
	set_task(TASK, "lease_minutes = 60");
	has_two(run);
}

static void
say_disposed(struct run *run, const struct lockq_disposed_result *result)
{
	for (size_t i = 0; i < result->n_loans; i++)
		say(run, "%" PRIu64 " %d %s %s ", result->loans[i].loan_id,
		    result->loans[i].what == LOCKQ_DISPOSED_ALREADY ? LOCKQ_DISPOSED :
		    result->loans[i].what, result->loans[i].state,
		    result->loans[i].holder != NULL ? result->loans[i].holder : "-");
}

static struct lockq_disposition
of_both(struct run *run, enum lockq_disposition_kind kind)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;

	what.user = user(0);
	what.task = TASK;
	what.kind = kind;
	what.loans = run->loans;
	what.n_loans = 2;
	return what;
}

static int
dispose(struct run *run, struct lockq_disposition what)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	int code = lockq_dispose(run->q, &what, &result);

	say_disposed(run, &result);
	lockq_disposed_clear(&result);
	return code;
}

static int
complete(struct run *run)
{
	return dispose(run, of_both(run, LOCKQ_COMPLETE));
}

static int
return_both(struct run *run)
{
	struct lockq_disposition what = of_both(run, LOCKQ_RETURN);

	what.return_after_s = 3600;
	what.not_me_s = 7200;
	what.note = "no answer";
	return dispose(run, what);
}

static int
never(struct run *run)
{
	return dispose(run, of_both(run, LOCKQ_NEVER));
}

static int
renew(struct run *run)
{
	return dispose(run, of_both(run, LOCKQ_RENEW));
}

static int
complete_by_uuid(struct run *run)
{
	struct lockq_disposition what = of_both(run, LOCKQ_COMPLETE);

	what.uuid = UUID;
	return dispose(run, what);
}

/* The call was made before. */
static void
completed_by_uuid(struct run *run)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_disposition what;
	struct worker *w;

	has_two(run);
	w = worker_connected(0, TASK, 1);
	what = of_both(run, LOCKQ_COMPLETE);
	what.uuid = UUID;
	assert_int_equal(lockq_dispose(w->q, &what, &result), LOCKQ_OK);
	lockq_disposed_clear(&result);
}

/* --- with a procedure of the manager --- */

static void
procedure(struct run *run)
{
	static bool made;

	if (!made) {
		sql("DROP PROCEDURE IF EXISTS test_fault_complete");
		sql("CREATE PROCEDURE test_fault_complete (IN p_loan_id BIGINT UNSIGNED,"
		    " IN p_user VARCHAR(64)) UPDATE test_candidate SET priority = 99"
		    " WHERE loan_id = p_loan_id");
		if (administrator() != NULL)
			sql_on(administrator(), "GRANT EXECUTE ON PROCEDURE %s.test_fault_complete"
			    " TO lockq_worker@lockq", db_database(owner()));
		made = true;
	}
	set_task(TASK, "on_complete = 'test_fault_complete'");
	has_two(run);
}

/* --- to dispose, and to ask --- */

static void
a_list_and_two(struct run *run)
{
	set_task(TASK, "cache_ttl = 60, complete_hold = 3600");
	has_two(run);
}

static int
complete_and_ask(struct run *run)
{
	struct lockq_disposition what = of_both(run, LOCKQ_COMPLETE);
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq_ask ask = LOCKQ_ASK_INIT;
	int code;

	ask.user = user(0);
	ask.task = TASK;
	ask.count = 2;
	ask.timeout_ms = 3000;
	code = lockq_dispose_and_ask(run->q, &what, &result, &ask, &answer);
	say_disposed(run, &result);
	for (size_t i = 0; i < answer.n_loans; i++)
		say(run, "%" PRIu64 " ", answer.loans[i].loan_id);
	lockq_disposed_clear(&result);
	lockq_answer_clear(&answer);
	return code;
}

/* --- time --- */

/* The leases of two loans are over, a request is too old, and there is something to purge. */
static void
much_is_over(struct run *run)
{
	has_two_with_lease(run);
	sql("UPDATE work_log SET at = at - INTERVAL 2 HOUR, lease_expires_at = lease_expires_at -"
	    " INTERVAL 2 HOUR WHERE task_id = %d", TASK);
	sql("UPDATE work SET assigned_at = assigned_at - INTERVAL 2 HOUR, changed_at = changed_at -"
	    " INTERVAL 2 HOUR, lease_expires_at = lease_expires_at - INTERVAL 2 HOUR,"
	    " due_at = due_at - INTERVAL 2 HOUR WHERE task_id = %d", TASK);
	(void)add_request(TASK, 1, 2);
	sql("UPDATE work_requested SET seen_at = seen_at - INTERVAL 2 HOUR, created_at = created_at"
	    " - INTERVAL 2 HOUR WHERE task_id = %d AND pending = 1", TASK);
}

/* It works in batches, so a part may be done when it fails. What it tells must be done, whatever
 * happens. */
enum { CLAIMS_TOO_MUCH = 99 };
static int
expire(struct run *run)
{
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired expired = LOCKQ_EXPIRED_INIT;
	uint64_t true_leases;
	int code;

	what.purge_after_s = LOCKQ_PURGE_AFTER_MIN;
	code = lockq_expire(run->q, &what, &expired);
	say(run, "%" PRIu64 " leases, %" PRIu64 " requests", expired.leases, expired.requests);
	fault_pause(true);
	true_leases = u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d AND event = 'expired'",
	    TASK);
	fault_pause(false);
	return expired.leases > true_leases ? CLAIMS_TOO_MUCH : code;
}

/* --- managers --- */

static int
correct(struct run *run, enum lockq_correction_kind kind)
{
	struct lockq_correction what = LOCKQ_CORRECTION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	int code;

	what.manager = "ann";
	what.task = TASK;
	what.kind = kind;
	what.reason = "a mistake";
	what.loans = run->loans;
	what.n_loans = 2;
	if (kind == LOCKQ_REASSIGN) {
		what.from = user(0);
		what.to = user(1);
	}
	code = lockq_correct(run->q, &what, &result);
	say_disposed(run, &result);
	lockq_disposed_clear(&result);
	return code;
}

static int
release(struct run *run)
{
	return correct(run, LOCKQ_RELEASE);
}

static int
reassign(struct run *run)
{
	return correct(run, LOCKQ_REASSIGN);
}

static int
undo(struct run *run)
{
	return correct(run, LOCKQ_UNDO);
}

static int
urgent(struct run *run)
{
	return correct(run, LOCKQ_URGENT);
}

static void
completed(struct run *run)
{
	completed_by_uuid(run);
}

static void
free_loans(struct run *run)
{
	add_loans(TASK, 20);
	run->loans[0].loan_id = 11;
	run->loans[1].loan_id = 12;
}

const struct scenario dispose_scenarios[] = {
	{ "lockq_dispose", "completes", NULL, has_two, .call = complete,
	  .done = BOTH("completed") },
	{ "lockq_dispose", "completes by UUID", NULL, has_two, .call = complete_by_uuid,
	  .done = BOTH("completed") },
	{ "lockq_dispose", "repeated", NULL, completed_by_uuid, .call = complete_by_uuid },
	{ "lockq_dispose", "completes with on_complete", NULL, procedure, .call = complete,
	  .done = BOTH("completed") },
	{ "lockq_dispose", "returns", NULL, has_two, .call = return_both,
	  .done = BOTH("returned"), .once = true },
	{ "lockq_dispose", "never again", NULL, has_two, .call = never, .done = BOTH("never") },
	{ "lockq_dispose", "renews", NULL, has_two_with_lease, .call = renew,
	  .done = "SELECT COUNT(*) >= 2 FROM work_log WHERE task_id = 100 AND event = 'renewed'" },
	{ "lockq_dispose_and_ask", "in one commit", NULL, a_list_and_two,
	  .call = complete_and_ask, .done = BOTH_AND_TWO },
	{ "lockq_dispose_and_ask", "in two", NULL, has_two, .call = complete_and_ask,
	  .done = BOTH_AND_TWO, .once = true },
	{ "lockq_expire", "", OWNER_GROUP, much_is_over, .call = expire, .changes = true },
	{ "lockq_correct", "releases", MANAGER_GROUP, has_two, .call = release,
	  .done = BOTH("returned"), .once = true },
	{ "lockq_correct", "reassigns", MANAGER_GROUP, has_two, .call = reassign,
	  .done = BOTH("returned"), .once = true },
	{ "lockq_correct", "takes back", MANAGER_GROUP, completed, .call = undo,
	  .done = "SELECT COUNT(*) = 2 FROM work_log WHERE task_id = 100 AND event = 'assigned'"
	  " AND manager = 'ann'", .once = true },
	{ "lockq_correct", "makes urgent", MANAGER_GROUP, free_loans, .call = urgent,
	  .done = "SELECT COUNT(*) = 2 FROM task_touched WHERE task_id = 100 AND urgent",
	  .once = true },
	{ .function = NULL }
};
