/* SPDX-License-Identifier: MIT */
#include "properties.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LOANS = 3 };

/* What is committed, as the model has it. */
struct state {
	char outcome[SCHEDULE_REQUESTERS][16]; /* "NULL": there is no request */
	bool available[LOANS];
	uint64_t token[LOANS], version[LOANS];
	uint64_t rounds;
};

static const struct scene *scene;
static const struct schedule *schedule;
static struct state before, now;
/* Of the newest query, as it began: the loans that were available, and those of them in its list,
 * with their versions, that no COMMIT has given or dropped; and the requests that were pending,
 * until its round was committed. */
static bool queried, at_start[LOANS], listed[LOANS], asked[SCHEDULE_REQUESTERS];
static uint64_t listed_version[LOANS];

/* As with -DONLY in the model, only the schedule's property fails at once, since a missing guard
 * may break several. The others are noted, and fail at the end. */
static const char *broken;

static bool
is_judged(const char *property, bool wrong)
{
	if (strcmp(schedule->property, property) == 0)
		return true;
	if (wrong && broken == NULL)
		broken = property;
	return false;
}

#define never_is(property, wrong) \
	do { \
		bool is_wrong = (wrong); \
		if (is_judged(#property, is_wrong)) \
			assert_false(is_wrong); \
	} while (0)

/* --- what is committed ------------------------------------------------------------------------ */

static void
look_at_loan(unsigned int l)
{
	/* A loan that was completed is available if the view shows it. */
	now.available[l] = u64("SELECT c.loan_id IS NOT NULL"
	    "   AND (w.loan_id IS NULL OR w.state = 'completed'"
	    "    OR (w.state = 'returned' AND COALESCE(w.available_at <= NOW(6), TRUE))"
	    "    OR COALESCE(w.state = 'assigned' AND w.lease_expires_at <= NOW(6), FALSE))"
	    "  FROM (SELECT %d AS task_id, %u AS loan_id) AS l"
	    "  LEFT JOIN test_candidate AS c USING (task_id, loan_id)"
	    "  LEFT JOIN work AS w USING (task_id, loan_id)", TASK, l + 1) != 0;
	now.token[l] = u64("SELECT COALESCE(MAX(token), 0) FROM work"
	    " WHERE task_id = %d AND loan_id = %u", TASK, l + 1);
	now.version[l] = u64("SELECT COALESCE(MAX(version), 0) FROM work"
	    " WHERE task_id = %d AND loan_id = %u", TASK, l + 1);
}

static void
look(void)
{
	before = now;
	for (int r = 0; r < schedule->n_requesters; r++)
		snprintf(now.outcome[r], sizeof(now.outcome[r]), "%s", text_of("SELECT"
		    " (SELECT outcome FROM work_requested WHERE task_id = %d AND user_id = %u)",
		    TASK, user_id((unsigned int)r)));
	for (unsigned int l = 0; l < schedule->loans; l++)
		look_at_loan(l);
	now.rounds = rounds_of(TASK);
}

static bool
is_pending(const struct state *state, int r)
{
	return strcmp(state->outcome[r], "pending") == 0;
}

static bool
has_ended(const struct state *state, int r)
{
	return !is_pending(state, r) && strcmp(state->outcome[r], "NULL") != 0;
}

static bool
is_served(int r)
{
	return strcmp(now.outcome[r], "served") == 0 || strcmp(now.outcome[r], "partial") == 0;
}

/* Whether the newest round, or the one that has ended this request, was a hand-over. */
static bool
was_handed_over(int r)
{
	return u64("SELECT COALESCE((SELECT l.how = 'hand-over' FROM leader_run AS l"
	    " WHERE l.task_id = %d AND (%d < 0 OR l.epoch = (SELECT q.epoch"
	    "   FROM work_requested AS q WHERE q.task_id = l.task_id AND q.user_id = %u))"
	    " ORDER BY l.epoch DESC LIMIT 1), 0)", TASK, r, r < 0 ? 0 :
	    user_id((unsigned int)r)) != 0;
}

static bool
some_are_left(const bool loans[LOANS])
{
	bool left = false;

	for (unsigned int l = 0; l < schedule->loans; l++)
		left = left || (loans[l] && now.available[l]);
	return left;
}

static void
note_query(void)
{
	unsigned int n = 0;

	queried = true;
	for (unsigned int l = 0; l < schedule->loans; l++) {
		at_start[l] = now.available[l];
		listed[l] = at_start[l] && (schedule->limit == 0 || n < schedule->limit);
		listed_version[l] = now.version[l];
		n += listed[l];
	}
	for (int r = 0; r < schedule->n_requesters; r++)
		asked[r] = is_pending(&now, r);
}

static void
forget_given_and_dropped(void)
{
	for (unsigned int l = 0; l < schedule->loans; l++)
		listed[l] = listed[l] && now.version[l] == listed_version[l] &&
		    (int)l != scene->held_loan;
}

/* --- the properties --------------------------------------------------------------------------- */

static void
judge_changes(void)
{
	for (unsigned int l = 0; l < schedule->loans; l++) {
		bool given = now.token[l] != before.token[l];

		never_is(loan_given_twice, given && !before.available[l]);
	}
	for (int r = 0; r < schedule->n_requesters; r++) {
		bool changed = strcmp(now.outcome[r], before.outcome[r]) != 0;
		bool empty = changed && strcmp(now.outcome[r], "empty") == 0;
		bool known = !empty || (!was_handed_over(r) && !some_are_left(at_start));

		never_is(answered_twice, changed && has_ended(&before, r));
		never_is(no_work_not_known, !known);
	}
}

static void
judge_commit(void)
{
	bool leads = !was_handed_over(-1);
	uint64_t epoch = epoch_of(TASK);

	forget_given_and_dropped();
	never_is(two_leaders, now.rounds != before.rounds + 1);
	/* A process that looked before the pause may lead. */
	never_is(led_while_paused, scene->paused && leads && epoch > scene->pause_epoch + 1);
	for (int r = 0; r < schedule->n_requesters; r++) {
		bool stays = asked[r] && !scene->held_request[r] && is_pending(&now, r);

		never_is(left_out, stays && some_are_left(listed));
		asked[r] = false;
	}
}

void
properties_begin(const struct scene *given)
{
	scene = given;
	schedule = scene->schedule;
	broken = NULL;
	look();
	/* Nothing is left of the schedule before. */
	note_query();
	queried = false;
}

void
properties_query(int r)
{
	never_is(led_for_nothing, !is_pending(&now, r));
	note_query();
}

void
properties_step(bool committed)
{
	look();
	judge_changes();
	if (committed)
		judge_commit();
}

void
properties_rest(void)
{
	/* A later query lists no other loans than those that are available now. */
	if (!queried)
		note_query();
}

/* Whether the user was told how the request has ended. */
static bool
was_told(int r)
{
	const struct worker *w = scene->callers[r];

	return !scene->dead[r] && w->done && w->answer.status != LOCKQ_PENDING &&
	    w->answer.status != LOCKQ_STATUS_UNKNOWN;
}

static void
judge_call(int r)
{
	const struct worker *w = scene->callers[r];
	bool put_off = strstr(w->error, PAUSE) != NULL;
	bool same = strcmp(lockq_status_name(w->answer.status), now.outcome[r]) == 0;
	bool has_loans = u64("SELECT COUNT(*) FROM work_log WHERE event = 'assigned'"
	    " AND request_id = %" PRIu64, request_of(TASK, (unsigned int)r)) != 0;
	bool stays = is_pending(&now, r) && !put_off && !scene->troubled;

	never_is(answer_untrue, has_loans != is_served(r));
	never_is(answered_twice, was_told(r) && !same);
	never_is(left_over, stays && some_are_left(listed));
}

void
properties_end(void)
{
	look();
	judge_changes();
	for (int r = 0; r < schedule->n_requesters; r++) {
		never_is(answered, !scene->dead[r] && !scene->callers[r]->done);
		if (scene->callers[r]->done)
			judge_call(r);
	}
	if (broken != NULL)
		fail_msg("%s is broken", broken);
	assert_consistent(TASK);
}
