/* SPDX-License-Identifier: MIT */
/*
 * The rules of lockq(7) by which a task keeps a loan from a user, for the model checker Spin: one
 * loan, two tasks and two users. Task 1 may not give the loan to a user who has it in task 0, or
 * has completed it there; task 0 may do so, too, or not give it again. Loans are given, completed,
 * also late, and returned in any order, and leases run out. How a leader or a taker finds a loan is
 * in the other models. Names with () are functions of lib/, or procedures of schema/doors, and
 * other_has, other_done and own_done are the views there.
 *
 * One step of the model is one statement. Committed rows are global variables. A transaction keeps
 * its changes in its own process until it commits, and other processes meet them as row locks.
 * test/model/rules.t runs the model.
 */

#ifndef GIVES
#define GIVES 2       /* so often task 0 gives the loan, to any user; task 1 gives it once */
#endif
#ifndef LEASES
#define LEASES 0      /* leases of task 0 that run out */
#endif
#ifndef MUTUAL
#define MUTUAL 0      /* 1: task 0 names task 1, too */
#endif
#ifndef AGAIN
#define AGAIN 1       /* 0: task 0 has not_again */
#endif

/* work.state. COMPLETED and RETURNED are available, as is EXPIRED, whose user may come late. */
#define RETURNED  0
#define ASSIGNED  1
#define EXPIRED   2
#define COMPLETED 3

#define TASKS    2
#define USERS    2
#define NOBODY   0
#define BIT(n)   (1 << (n))
#define has(set, n) (((set) >> (n)) & 1)
#define other(t) (1 - (t))
#define has_rule(t) ((t) == 1 || MUTUAL)           /* task.not_same_user_as */

byte state[TASKS], owner[TASKS], work_lock[TASKS]; /* work */
byte done[TASKS];                                  /* work_log: who has completed, a set */
byte leases = LEASES;

/* Each of these is set and asserted in one step, so it is no part of a state. A mutant may break
 * several properties: ONLY=name leaves the others out, so that the checker shows this one. */
hidden byte same_user, given_again, done_in_both;
#define same_user_n    1
#define given_again_n  2
#define done_in_both_n 3
#ifdef ONLY
#define number_of_(name) name##_n
#define number_of(name) number_of_(name)
#define wanted(number) (number == number_of(ONLY))
#else
#define wanted(number) true
#endif
#define never_is(name, wrong) name = (wrong) && wanted(name##_n); assert(!name)

#define is_free(t) (work_lock[t] == NOBODY)

/* For the properties: the user has the loan in the task, may still complete it, or has done so. */
#define is_theirs(t, u) (has(done[t], u) || \
	(owner[t] == u && (state[t] == ASSIGNED || state[t] == EXPIRED)))

/* --- the views, and what a mutant has in their place ------------------------------------------ */

#ifdef HAS_NOT_LATE
#define may_be_late(t) false
#else
#define may_be_late(t) (state[t] == EXPIRED)
#endif
#ifdef HAS_NOT_SEEN
#define has_now(t) false
#else
#define has_now(t) (state[t] == ASSIGNED)
#endif
#define other_has(t, u) (has_rule(t) && owner[other(t)] == u && \
	(has_now(other(t)) || may_be_late(other(t))))
#ifdef DONE_FROM_WORK
#define other_done(t, u) (has_rule(t) && owner[other(t)] == u && state[other(t)] == COMPLETED)
#else
#define other_done(t, u) (has_rule(t) && has(done[other(t)], u))
#endif
#ifdef OWN_NOT_SEEN
#define own_done(t, u) false
#else
#define own_done(t, u) (AGAIN == 0 && (t) == 0 && has(done[t], u))
#endif
#define any_of_them(t, u) (other_has(t, u) || other_done(t, u) || own_done(t, u))
#ifdef NO_PLAN_LOOK
#define at_plan(t, u) false
#else
#define at_plan(t, u) any_of_them(t, u)
#endif
#ifdef NO_LAST_LOOK
#define at_last(t, u) false
#else
#ifdef LAST_LOOK_APART
#define at_last(t, u) (other_done(t, u) || own_done(t, u))
#else
#define at_last(t, u) any_of_them(t, u)
#endif
#endif

/* --- what can happen -------------------------------------------------------------------------- */

/* A replayed counterexample prints these texts. */
#define say(text) printf("task %d, user %d: ", t, u); printf(text); printf("\n")

/* A leader or a taker that gives the loan in a task. */
proctype giver(byte t; byte gives)
{
	byte u;
	bool kept, before, was_done;    /* the last two are for the properties */

again:
	atomic {
		if
		:: gives == 0 -> goto over
		:: gives > 0 -> gives--
		fi;
		select (u : 0 .. USERS - 1);
		/* A row that somebody holds is passed over. */
		if
		:: is_free(t) && state[t] != ASSIGNED -> work_lock[t] = 1
		:: else -> goto over
		fi;
		say("locks the row of work")
	}
	/* pending_keep_away(), or the peek of a taker */
	atomic { kept = at_plan(t, u); say("looks at the rules") }
	/* Then the assignment is logged, and work_refuses() looks in one statement. */
	atomic {
		if
		:: kept
		:: else ->
			before = has_rule(t) && is_theirs(other(t), u);
			was_done = AGAIN == 0 && t == 0 && has(done[t], u);
			kept = at_last(t, u);
			say("looks again")
		fi
	}
#ifdef LAST_LOOK_APART
	atomic { kept = kept || other_has(t, u); say("looks again, at the rest") }
#endif
	atomic {
		work_lock[t] = NOBODY;
		if
		:: kept
		:: else ->
			never_is(same_user, before && is_theirs(other(t), u));
			never_is(given_again, was_done);
			state[t] = ASSIGNED;
			owner[t] = u;
			say("gives the loan, COMMIT")
		fi;
		kept = false;
		before = false;
		was_done = false;
		u = 0;
		goto again
	}
over:
	atomic { u = 0; gives = 0 }
}

/* lockq_dispose() by whoever has the loan in a task, or comes late: the row is locked and judged,
 * and later written and committed. */
proctype person(byte t; byte times)
{
	byte u;

	do
	:: atomic {
		times > 0 && is_free(t) && (state[t] == ASSIGNED || state[t] == EXPIRED) ->
		work_lock[t] = 1;
		u = owner[t];
		times--
	}
		if
		:: atomic {
			true ->
			state[t] = COMPLETED;
			done[t] = done[t] | BIT(u);
			work_lock[t] = NOBODY;
			say("completes the loan");
#ifdef GAP
			never_is(done_in_both, has(done[other(t)], u));
#endif
			u = 0
		}
		:: atomic {
			true ->
			state[t] = RETURNED;
			work_lock[t] = NOBODY;
			say("returns the loan");
			u = 0
		}
		:: atomic {
			state[t] == EXPIRED ->
			state[t] = ASSIGNED;
			work_lock[t] = NOBODY;
			say("renews the lease late");
			u = 0
		}
		fi
	:: break
	od;
	times = 0
}

/* Cron writes into the row that a lease has run out. */
proctype clock()
{
	do
	:: atomic {
		leases > 0 && state[0] == ASSIGNED && is_free(0) ->
		leases--;
		state[0] = EXPIRED;
		printf("task 0: a lease runs out\n")
	}
	:: break
	od
}

init {
	atomic {
		run giver(0, GIVES);
		run giver(1, 1);
		run person(0, GIVES);
		run person(1, 1);
		run clock()
	}
}
