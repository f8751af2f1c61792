/* SPDX-License-Identifier: MIT */
/*
 * The protocol of lockq(7), for the model checker Spin. The model has every order in which the
 * statements of a few requesters can reach the server, with faults. It reads from top to bottom
 * like lib/getwork/getwork.c. "Step 5" is that of lockq(7), and names with () are functions of lib/.
 *
 * One step of the model is one SQL statement or one COMMIT, or it touches nothing that other
 * processes can see. Committed rows are global variables. A transaction keeps its changes in its
 * own process until it commits, and other processes meet them as row locks. A dirty read sees more:
 * `holder` is the holder that it finds in task_lock, and a locked row of work that is absent is an
 * INSERT that it finds there.
 *
 * test/model/protocol.t runs the model. A configuration sets the number of each fault with -D. A
 * mutant takes a guard out, and names a property that must fail without it. The counterexample is
 * a schedule for test/db/getwork/test_schedule.c, which knows the texts that it prints.
 * With -DTRACE the model must go the way of a recorded run, see trace.pml.
 */

#ifndef REQUESTERS
#define REQUESTERS 3  /* or 2 */
#endif
#ifndef LOANS
#define LOANS 2       /* or 3 */
#endif
#ifndef LIMIT
#define LIMIT 4       /* candidate_limit; up to LOANS it cuts the list short */
#endif
#ifndef BIG
#define BIG 99        /* the request that asks for two loans; the others ask for one */
#endif
#ifndef NO_WAITS
#define NO_WAITS 0    /* number of requests with --no-wait: any of them, as with POLLS */
#endif
#ifndef POLLS
#define POLLS 0       /* number of requests with --poll */
#endif
#ifndef CRASHES
#define CRASHES 0     /* kill -9: the server frees the locks, the pending row stays */
#endif
#ifndef STOPS
#define STOPS 0       /* SIGSTOP for longer than wait_timeout, or a connection that is lost */
#endif
#ifndef CANCELS
#define CANCELS 0     /* Ctrl-C, or --timeout is over */
#endif
#ifndef EXPIRIES
#define EXPIRIES 0    /* requests that nobody looked after for request_ttl */
#endif
#ifndef DEADLOCKS
#define DEADLOCKS 0   /* 1213 or 1205 in a leader's transaction */
#endif
#ifndef FAILURES
#define FAILURES 0    /* heavy queries that fail */
#endif
#ifndef STUCK
#define STUCK 0       /* a foreign session that holds task_wake */
#endif
#ifndef DISPOSALS
#define DISPOSALS 0   /* loans that their user disposes of at once; needs two LOANS */
#endif
#ifndef LEASES
#define LEASES 0      /* 1: at the start a user has a loan whose lease is about to run out */
#endif
#ifndef PAUSES
#define PAUSES 0      /* a manager pauses the task, and lets it go on */
#endif

/* work_requested.outcome. A request has NO_ROW before step 1. */
#define NO_ROW    0
#define PENDING   1
#define SERVED    2
#define PARTIAL   3
#define EMPTY     4
#define CANCELLED 5
#define EXPIRED   6
#define FAILED    7

/* work.state. ABSENT means that there is no row. */
#define ABSENT    0
#define ASSIGNED  1
#define COMPLETED 2   /* and the business data have changed: the view shows the loan no more */
#define RETURNED  3   /* and available_at has come */

/* How a requester waits. */
#define BLOCKING 0
#define POLLING  1
#define NO_WAIT  2

/* The holder of a row lock. */
#define NOBODY   0
#define ME       (me + 1)
#define A_USER   (REQUESTERS + 1)

#ifndef HAND_OVER_TRIES
#define HAND_OVER_TRIES 3 /* lib/handle/bounds.h has 4: with fewer there are fewer states */
#endif

#define BIT(n)   (1 << (n))
#define ALL      (BIT(REQUESTERS) - 1)
#if LOANS == 3
#define of_all_loans(p) (p(0) && p(1) && p(2))
#else
#define of_all_loans(p) (p(0) && p(1))
#endif
#if REQUESTERS == 4
#define of_all_requests(p) (p(0) && p(1) && p(2) && p(3))
#elif REQUESTERS == 3
#define of_all_requests(p) (p(0) && p(1) && p(2))
#else
#define of_all_requests(p) (p(0) && p(1))
#endif
#define has(set, n) (((set) >> (n)) & 1)

/* What happens next, and to whom, is free, unless a recorded run tells it. */
#ifndef TRACE
#define run_begins skip
#define takes_part(r) true
#define wants(r) (r == BIG -> 2 : 1)
#define may_ask (arrived == me)
#define asks_with(way) true
#define may_meet(set) true              /* the requester may meet the fault: the set of those */
#define may_try true                    /* the lock is worth a try */
#define comes(event, r) true            /* the next event is this one */
#define can_age(r) true                 /* nobody looks after the request */
#define ends_loan(l) true               /* it is the end of an assignment of the loan … */
#define ends_as(new) true               /* … which becomes this */
#define commit_comes true               /* it is the COMMIT of what the process has written */
#define goes_by skip                    /* the next event has happened */
#endif

/* --- the tables ------------------------------------------------------------------------------- */

byte outcome[REQUESTERS], got[REQUESTERS];         /* work_requested, and the loans of each */
bool stale[REQUESTERS];                            /* seen_at is older than request_ttl */
byte request_lock[REQUESTERS];
byte state[LOANS], version[LOANS], work_lock[LOANS]; /* work */
bool lapsed[LOANS];                                /* lease_expires_at has passed */
byte epoch, lock_by;                               /* task_lock: committed epoch, row lock */
byte holder, committed_holder;                     /* for a dirty read, and as committed */
byte wake_by;                                      /* task_wake: exclusive row lock */
byte last_run;                                     /* leader_run: the newest epoch */
bool paused;                                       /* task.paused */
byte arrived;                                      /* requests come in the order of their ids */

/* SCHEDULE: the counterexample becomes a schedule for the real library, in test/model/schedules.
 * An INSERT into work locks the row of task by its foreign key, so a statement that changes the
 * task waits there. The search for all orders does without that. */
#ifdef SCHEDULE
byte task_by;                                      /* task: shared row lock of a leader */
#define task_is_free (task_by == NOBODY)
#else
#define task_is_free true
#endif

/* --- what is left of each fault --------------------------------------------------------------- */

byte crashes = CRASHES, stops = STOPS, cancels = CANCELS, expiries = EXPIRIES;
byte deadlocks = DEADLOCKS, failures = FAILURES, stuck = STUCK, disposals = DISPOSALS;
byte no_waits = NO_WAITS, polls = POLLS, pauses = PAUSES;

/* --- what only the properties look at --------------------------------------------------------- */

byte ended;           /* processes that have ended, a set */
byte told;            /* those that were told how their request ended, a set */
byte list_left;       /* of the newest query's list: the loans that no commit has given */
bool troubled;        /* a leader may have crashed, been stopped, failed, or given up */
byte pause_epoch;     /* the committed epoch as the pause began */
byte put_off;         /* those that were told that the task is paused, and did not wait, a set */

/* Each of these is set and asserted in one step, so it is no part of a state. A mutant may break
 * several properties: ONLY=name leaves the others out, so that the checker shows this one. The
 * search for a schedule can't have hidden variables. */
#ifdef SCHEDULE
#define passing byte
#else
#define passing hidden byte
#endif
passing two_leaders, led_for_nothing, loan_given_twice, answered_twice, answer_untrue;
passing no_work_not_known, left_out, left_over, led_while_paused;
#define two_leaders_n       1
#define led_for_nothing_n   2
#define loan_given_twice_n  3
#define answered_twice_n    4
#define answer_untrue_n     5
#define no_work_not_known_n 6
#define left_out_n          7
#define left_over_n         8
#define led_while_paused_n  9
#ifdef ONLY
#define number_of_(name) name##_n
#define number_of(name) number_of_(name)
#define wanted(number) (number == number_of(ONLY))
#else
#define wanted(number) true
#endif
#define never_is(name, wrong) name = (wrong) && wanted(name##_n); assert(!name)

passing i, l, n;

#define not_given(l) (give[l] == 0)
#define is_free(l) (work_lock[l] == NOBODY)
#define can_be_ended(r) (ends[r] == 0 || request_lock[r] == NOBODY || request_lock[r] == ME)
#define can_be_written(l) (give[l] == 0 || work_lock[l] == NOBODY || work_lock[l] == ME)
#define available(l) (state[l] == ABSENT || state[l] == RETURNED || \
	(state[l] == ASSIGNED && lapsed[l]))

#ifdef TRACE
#include "trace.pml"
#endif

/* --- transactions ----------------------------------------------------------------------------- */

/* The end of a transaction frees all its locks. */
inline free_locks()
{
	for (i : 0 .. REQUESTERS - 1) {
		if
		:: request_lock[i] == ME -> request_lock[i] = NOBODY
		:: else
		fi
	}
	for (l : 0 .. LOANS - 1) {
		if
		:: work_lock[l] == ME -> work_lock[l] = NOBODY
		:: else
		fi
	}
	if
	:: lock_by == ME -> lock_by = NOBODY
	:: else
	fi;
	if
	:: wake_by == ME -> wake_by = NOBODY
	:: else
	fi
#ifdef SCHEDULE
	;
	if
	:: task_by == ME -> task_by = NOBODY
	:: else
	fi
#endif
}

inline forget_plan()
{
	for (i : 0 .. REQUESTERS - 1) {
		ends[i] = 0
	}
	for (l : 0 .. LOANS - 1) {
		give[l] = 0
	}
	to_serve = 0;
	gone = 0;
	dropped = false;
	checked = false;
	second = false
}

inline rollback()
{
	if
	:: lock_by == ME -> holder = committed_holder
	:: else
	fi;
	free_locks();
	forget_plan()
}

inline forget_list()
{
	for (l : 0 .. LOANS - 1) {
		seen[l] = 0
	}
	list = 0;
	cut = false;
	failing = false;
	again = false;
	handing = false;
	no_wake = false;
	tried = false;
	futile = 0;
	pending = 0;
	my_epoch = 0;
	at_start = 0;
	asked = 0
}

/* db_commit(). All changes become visible in one step. The properties are checked first. */
inline commit()
{
	never_is(two_leaders, my_epoch <= last_run);
	/* Whoever has looked before the pause may lead, but only one of them, and then hand over. */
	never_is(led_while_paused, paused && !handing && my_epoch > pause_epoch + 1);
	for (l : 0 .. LOANS - 1) {
		if
		:: give[l] != 0 ->
			never_is(loan_given_twice, !available(l));
			at_start = at_start & ~BIT(l);
			version[l] = version[l] + 1 + (state[l] == ASSIGNED);
			state[l] = ASSIGNED;
			lapsed[l] = false;
			got[give[l] - 1] = got[give[l] - 1] | BIT(l)
		:: else
		fi
	}
	for (i : 0 .. REQUESTERS - 1) {
		if
		:: ends[i] != 0 ->
			never_is(answered_twice, outcome[i] != PENDING || has(told, i));
			/* "No work" is true only if others got all loans that were available as
			 * the query began. */
			never_is(no_work_not_known, ends[i] == EMPTY && (at_start != 0 || handing));
			outcome[i] = ends[i]
		:: else ->
			/* A request that was made before the query ended is served from its
			 * list, if the list has a loan. */
			never_is(left_out, has(asked, i) && outcome[i] == PENDING &&
			    (list & ~gone) != 0 && lock_by == ME)
		fi
	}
	if
	:: lock_by == ME ->
		epoch = my_epoch;
		committed_holder = holder
	:: else
	fi;
	last_run = my_epoch;
	list = list & ~gone;
	list_left = list;
	asked = 0;
	n = 0;
	for (i : 0 .. REQUESTERS - 1) {
		if
		:: ends[i] != 0 -> n++
		:: else
		fi
	}
	if
	:: handing && n == 0 -> futile++
	:: !handing -> fruitless = n == 0
	:: else
	fi;
	free_locks();
	forget_plan()
}

/* --- steps 4 and 5 ---------------------------------------------------------------------------- */

/* source_find(). One statement is one snapshot. The smallest priorities come first, up to LIMIT. */
inline fetch()
{
	n = 0;
	for (l : 0 .. LOANS - 1) {
		if
		:: available(l) ->
			at_start = at_start | BIT(l);
			if
			:: n < LIMIT ->
				list = list | BIT(l);
				seen[l] = version[l];
				n++
			:: else
			fi
		:: else
		fi
	}
	for (i : 0 .. REQUESTERS - 1) {
		if
		:: outcome[i] == PENDING -> asked = asked | BIT(i)
		:: else
		fi
	}
	cut = n >= LIMIT
}

/* pending_read(), FOR UPDATE SKIP LOCKED. A request that this transaction has ended is not pending
 * for it. */
inline pending_read()
{
	to_serve = 0;
	news = false;
	for (i : 0 .. REQUESTERS - 1) {
		if
		:: outcome[i] == PENDING && ends[i] == 0 &&
		    (request_lock[i] == NOBODY || request_lock[i] == ME) ->
#ifndef UNLOCKED_REQUESTS
			request_lock[i] = ME;
#endif
			if
			:: i != me && stale[i] ->
				ends[i] = EXPIRED;
				news = true
			:: else -> to_serve = to_serve | BIT(i)
			fi
		:: outcome[i] == PENDING && ends[i] == 0 &&
		    request_lock[i] != NOBODY && request_lock[i] != ME ->
			asked = asked & ~BIT(i)
		:: else
		fi
	}
}

/* Drops a candidate. count_dropped(): one that somebody has by now leaves no doubt. */
#ifdef NO_VERSION_CHECK
#define drop(l) skip
#else
#define drop(l) \
	gone = gone | BIT(l); \
	if \
	:: version[l] != seen[l] && state[l] == ASSIGNED && !lapsed[l] -> \
		at_start = at_start & ~BIT(l) \
	:: else -> dropped = true \
	fi
#endif

/* lock_seen in check_some(), with SKIP LOCKED: rows that are as the query saw them stay. */
inline lock_seen()
{
	for (l : 0 .. LOANS - 1) {
		if
		:: has(list, l) && seen[l] > 0 ->
			if
			:: version[l] == seen[l] && work_lock[l] == NOBODY -> work_lock[l] = ME
			:: else -> drop(l)
			fi
		:: else
		fi
	}
}

/* appeared in check_some(): a dirty read of rows that were absent. */
inline look_for_new_rows()
{
	for (l : 0 .. LOANS - 1) {
		if
		:: has(list, l) && seen[l] == 0 && (state[l] != ABSENT || work_lock[l] != NOBODY) ->
			drop(l)
		:: else
		fi
	}
	checked = true
}

#ifdef EMPTY_WHEN_CUT
#define list_is_whole (!dropped)
#else
#ifdef EMPTY_WHEN_DROPPED
#define list_is_whole (!cut)
#else
#define list_is_whole (!cut && !dropped)
#endif
#endif
#ifdef HAND_OVER_SAYS_EMPTY
#define may_say_empty true
#else
#define may_say_empty (!handing)
#endif

/* plan_loans(): each request in order, up to what it asked for. This touches no row. */
inline plan_loans()
{
	for (i : 0 .. REQUESTERS - 1) {
		if
		:: has(to_serve, i) && failing -> ends[i] = FAILED   /* assign_failure() */
		:: has(to_serve, i) && !failing ->
			n = 0;
			for (l : 0 .. LOANS - 1) {
				if
				:: has(list & ~gone, l) && n < wants(i) ->
					give[l] = i + 1;
					gone = gone | BIT(l);
					n++
				:: else
				fi
			}
			if
			:: n == wants(i) -> ends[i] = SERVED
			:: n > 0 && n < wants(i) -> ends[i] = PARTIAL
			:: n == 0 && list_is_whole && may_say_empty -> ends[i] = EMPTY
			:: else
			fi
		:: else
		fi;
		if
		:: has(to_serve, i) && ends[i] != 0 -> news = true
		:: else
		fi
	}
}

/* write_loans(). A row that is not as the query saw it is a duplicate key, or is not changed and so
 * missing in the count. */
inline check_work()
{
	conflict = false;
#ifndef UPSERT
	for (l : 0 .. LOANS - 1) {
		if
		:: give[l] != 0 && (version[l] != seen[l]) -> conflict = true
		:: else
		fi
	}
#endif
}

inline lock_work()
{
	for (l : 0 .. LOANS - 1) {
		if
		:: give[l] != 0 ->
			work_lock[l] = ME;
#ifdef SCHEDULE
			task_by = ME
#endif
		:: else
		fi
	}
}

/* pending_write() changes only requests that are still pending, and as many as planned. */
inline check_requests()
{
	conflict = false;
#ifndef UNCHECKED_REQUESTS
	for (i : 0 .. REQUESTERS - 1) {
		if
		:: ends[i] != 0 && outcome[i] != PENDING -> conflict = true
		:: else
		fi
	}
#endif
}

inline lock_requests()
{
	for (i : 0 .. REQUESTERS - 1) {
		if
		:: ends[i] != 0 -> request_lock[i] = ME
		:: else
		fi
	}
}

inline count_pending()
{
	n = 0;
	for (i : 0 .. REQUESTERS - 1) {
		if
		:: outcome[i] == PENDING -> n++
		:: else
		fi
	}
}

/* --- small guards, and what a mutant has in their place --------------------------------------- */

#ifdef BUSY_AT_ONCE
#define led true                /* a locked row counts as a leader */
#else
#define led (holder != NOBODY)
#endif
#ifdef NO_OWN_LOOK
#define must_look_again false
#else
#define must_look_again (saw_epoch != epoch)
#endif
#ifdef NO_EPOCH_CHECK
#define led_since false
#else
#define led_since (my_epoch != epoch)
#endif
#ifdef ONE_LOOK
#define another_look false
#else
#define another_look (!second)
#endif
#ifdef NO_HANDOVER
#define nothing_to_hand_over true
#else
#define nothing_to_hand_over (list == 0 || stops_giving)
#endif
#ifdef LAST_TRY_IS_LAST
#define came_during_last_try false
#else
#define came_during_last_try (before != 0 && pending != before)
#endif
#ifdef PAUSE_UNSEEN
#define is_paused false
#else
#define is_paused paused
#endif
#ifdef PAUSE_SEEN_ONCE
#define is_paused_by_now false
#else
#define is_paused_by_now is_paused
#endif
#ifdef PAUSE_WAITS_FOR_LEADER
#define rest_is_over (holder != NOBODY)
#else
#define rest_is_over (!paused || outcome[me] != PENDING)
#endif
#ifdef PAUSE_ENDS_HANDOVER
#define stops_giving paused
#else
#define stops_giving false
#endif
#ifdef CANCEL_OVERWRITES
#define may_cancel true
#else
#define may_cancel (outcome[me] == PENDING)
#endif
#ifdef HOLDER_STAYS
#define holder_at_commit ME
#else
#define holder_at_commit NOBODY
#endif
#ifdef SHARED_TRY_ROW
byte sharing;                   /* followers with a shared lock on the row of task_lock, a set */
#define can_lock (lock_by == NOBODY && sharing == 0)
#else
#define can_lock (lock_by == NOBODY)
#endif

/* has_tries_left(): a request that came during the last try has tries of its own. */
inline note_pending()
{
	if
	:: futile > 0 ->
		before = pending;
		pending = 0;
		for (i : 0 .. REQUESTERS - 1) {
			if
			:: outcome[i] == PENDING -> pending = pending + (1 << i)
			:: else
			fi
		}
		if
		:: came_during_last_try -> futile = 0
		:: else
		fi;
		before = 0
	:: else
	fi
}

/* --- what can happen to a process at any moment ----------------------------------------------- */

/* A replayed counterexample prints these texts. */
#define say(text) printf("requester %d: ", me); printf(text); printf("\n")
#define happens(text) printf(text); printf("\n")

#define CRASH        :: atomic { crashes > 0 && may_meet(kills) -> crashes--; goto killed }
#define STOP(label)  :: atomic { stops > 0 && may_meet(losses) -> stops--; goto label }
#define CANCEL       :: atomic { cancels > 0 && may_meet(signals) -> cancels--; goto given_up }

#ifdef WRITE_AFTER_LOSS
#define STOP_LEADER STOP(stopped_leader)
#else
#define STOP_LEADER STOP(stopped)
#endif

/* lockq_dispose(), which completes or returns the loan. */
inline dispose(loan)
{
	d_step { version[loan] = version[loan] + 1; lapsed[loan] = false }
	if
	:: ends_as(RETURNED) -> state[loan] = RETURNED; printf("loan %d: is returned\n", loan)
	:: ends_as(COMPLETED) -> state[loan] = COMPLETED; printf("loan %d: is completed\n", loan)
	fi;
	goes_by
}

/* --- getwork ---------------------------------------------------------------------------------- */

proctype requester(byte me)
{
	byte waits;                     /* BLOCKING, POLLING, NO_WAIT */
	byte my_epoch;                  /* of the round that it leads or has led */
	byte saw_epoch;                 /* committed, when it last looked at its own row */
	byte list, seen[LOANS];         /* candidates with their versions, without those gone */
	byte gone;                      /* of the list: given or dropped in this transaction */
	byte to_serve;                  /* pending requests, locked */
	byte give[LOANS], ends[REQUESTERS]; /* written, not committed: loans, outcomes */
	bool cut, dropped, checked, news, second, failing;
	bool again;                     /* takes the lock again: the list is still good */
	bool handing;                   /* round_hand_over() */
	bool no_wake, tried, conflict, fruitless, in_doubt;
	byte futile;                    /* rounds of round_hand_over() that ended no request */
	byte pending, before;           /* requests, a set, before these rounds */
	byte at_start, asked;           /* for the properties */
#ifdef EARLY_REQUESTS
	bool early;
#endif

	/* Step 1: request_record(). All requesters are alike, so the first is requester 0. */
ASK:
	atomic {
		may_ask;
		arrived++;
		outcome[me] = PENDING;
		say("step 1: records its request");
		if
		:: asks_with(BLOCKING)
		:: no_waits > 0 && asks_with(NO_WAIT) ->
			no_waits--; waits = NO_WAIT; say("… with --no-wait")
		:: polls > 0 && asks_with(POLLING) ->
			polls--; waits = POLLING; say("… with --poll")
		fi;
		goes_by
	}

	/* Step 7: look() reads only its own row. An outcome never changes again. look_if_free(),
	 * before the lock is tried, reads whether the task is paused, too. */
LOOK:
	if
	:: atomic { outcome[me] != PENDING -> say("step 7: sees that it was ended"); goto answer }
	:: atomic {
		outcome[me] == PENDING && !stale[me] && !is_paused ->
		saw_epoch = epoch;
		say("step 7: sees that it is pending")
	}
	:: atomic {
		outcome[me] == PENDING && !stale[me] && is_paused ->
		say("step 2: the task is paused");
		goto paused_task
	}
	:: atomic {
		outcome[me] == PENDING && stale[me] && request_lock[me] == NOBODY ->
		stale[me] = false;
		say("wait_still_here()");
		if
		:: is_paused -> goto paused_task
		:: else -> saw_epoch = epoch
		fi
	}
	CRASH
	STOP(stopped)
	fi;

	/* Step 2: lock_once(), take_lock. */
TRY:
	if
	:: atomic { can_lock && may_try -> lock_by = ME; say("step 2: gets the lock") }
	:: atomic { !can_lock -> say("step 2: the lock is taken"); goto taken }
	CRASH
	STOP(stopped)
	fi;
	if
	:: again -> goto compare
	:: else
	fi;

	/* If the epoch is that of the last look, nobody has led since, so nobody can have served
	 * the request. Else the process looks again, without the lock. */
	if
	:: atomic { !must_look_again -> goto raise }
	:: atomic {
		must_look_again ->
		say("step 2: somebody has led since the look, frees the lock");
		d_step { rollback() }
		goto LOOK
	}
	CRASH
	STOP(stopped)
	fi;

	/* lock_again(): has somebody led since? */
compare:
	if
	:: atomic {
		led_since ->
		say("step 6: somebody led since, frees the lock");
		d_step { rollback() }
		goto stale_list
	}
	:: atomic { !led_since -> skip }
	CRASH
	STOP(stopped)
	fi;

	/* lead_from(), raise_epoch. */
raise:
	if
	:: atomic {
		true ->
		d_step { my_epoch = epoch + 1; holder = ME; saw_epoch = 0 }
		say("step 2: raises the epoch, is the holder")
	}
	CRASH
	STOP(stopped)
	fi;

	/* take_wake(). If it fails, the library leads without the row. The model rolls back and
	 * begins again, with no_wake, so that others may come in between. */
	if
	:: atomic { !no_wake && wake_by == NOBODY -> wake_by = ME; say("step 2: locks task_wake") }
	:: atomic { no_wake -> say("step 2: leads without task_wake") }
	:: atomic {
		stuck > 0 && !no_wake ->
		say("step 2: can't have task_wake, rolls back");
		d_step { stuck--; rollback(); no_wake = true; my_epoch-- }
		goto TRY
	}
	CRASH
	STOP(stopped)
	fi;
	if
	:: again -> goto GIVE
	:: else
	fi;

#ifdef EARLY_REQUESTS
	atomic {
		say("step 5, early: reads the pending requests");
		d_step { pending_read(); early = true }
	}
#endif

	/* Step 4: source_find() */
LEAD:
	if
	:: atomic {
		true ->
		say("step 4: the heavy query");
		d_step {
			never_is(led_for_nothing, outcome[me] != PENDING && lock_by == ME);
			fetch()
		}
	}
	:: atomic {
		failures > 0 ->
		say("step 4: the heavy query fails");
		d_step { failures--; failing = true; troubled = true }
	}
	CRASH
	STOP_LEADER
	CANCEL
	fi;

	/* Step 5: assign_loans(), serve_once(), pending_read() */
GIVE:
	if
#ifdef EARLY_REQUESTS
	:: atomic { early -> early = false }
	:: atomic { !early -> d_step { pending_read(); say("step 5: reads the pending requests") } }
#else
	:: atomic { true -> d_step { pending_read(); say("step 5: reads the pending requests") } }
#endif
	CRASH
	STOP_LEADER
	fi;

	/* check_some() has two statements, and is left out if nobody wants a loan. */
	if
	:: atomic { to_serve == 0 || checked || list == 0 -> goto plan }
	:: atomic {
		to_serve != 0 && !checked && list != 0 ->
		d_step { lock_seen(); say("step 5: locks the candidates") }
	}
	CRASH
	STOP_LEADER
	fi;
	if
	:: atomic {
		true ->
		d_step { look_for_new_rows(); say("step 5: looks for rows that were absent") }
	}
	CRASH
	STOP_LEADER
	fi;

plan:
	atomic {
		d_step { plan_loans(); skip }
		if
		:: !news -> goto record
		:: news && of_all_loans(not_given) -> goto write_requests
		:: else
		fi
	}

	/* write_loans() */
	if
	:: atomic {
		of_all_loans(can_be_written) ->
		d_step { check_work(); lock_work(); say("step 5: writes work") }
		if
		:: conflict -> goto retry
		:: else
		fi
	}
	:: atomic {
		deadlocks > 0 && may_meet(deadlocked) ->
		deadlocks--;
		say("step 5: a deadlock");
		goto retry
	}
	CRASH
	STOP_LEADER
	fi;

write_requests:
	if
	:: atomic {
		of_all_requests(can_be_ended) ->
		d_step { check_requests(); lock_requests(); say("step 5: writes work_requested") }
		if
		:: conflict -> goto retry
		:: !conflict && another_look -> second = true; goto GIVE   /* LOOKS */
		:: !conflict && !another_look -> skip
		fi
	}
	CRASH
	STOP_LEADER
	fi;

	/* clear_holder in lock_commit_and_release(), which has to change one row. */
record:
	if
	:: atomic { lock_by == ME -> holder = holder_at_commit; say("step 5: clears the holder") }
#ifdef WRITE_AFTER_LOSS
#ifdef UNCHECKED_CLEAR
	:: atomic { lock_by == NOBODY -> say("step 5: clears no holder") }
#else
	:: atomic { lock_by == NOBODY -> say("step 5: no holder to clear, rolls back"); goto retry }
#endif
	:: atomic {                     /* 1205 or 1213 */
		lock_by != NOBODY && lock_by != ME ->
		say("step 5: somebody leads, rolls back");
		goto retry
	}
#endif
	CRASH
	STOP_LEADER
	fi;

	/* assign_record_run() and the COMMIT are one step: nobody reads that row before. */
	if
#if defined(WRITE_AFTER_LOSS) && !defined(UNCHECKED_RUN)
	:: atomic {
		my_epoch <= last_run;
		say("step 5: leader_run has this epoch: an error, finish_failed()");
		d_step { rollback(); forget_list() }
		goto cancel
	}
	:: atomic { my_epoch > last_run -> say("step 5: COMMIT"); d_step { commit() } }
#else
	:: atomic { commit_comes -> say("step 5: COMMIT"); d_step { commit() } goes_by }
#endif
	:: atomic {
		stops > 0 && may_meet(losses) && commit_comes;
		say("step 5: COMMIT, but the connection is lost before the answer");
		d_step { stops--; troubled = true; commit(); forget_list(); in_doubt = true }
		goes_by;
		goto woken
	}
	CRASH
	STOP_LEADER
	fi;

	/* Step 6: round_hand_over(), request_any_pending() */
HAND_OVER:
	if
	:: atomic { nothing_to_hand_over -> goto REST }
	:: atomic {
		!nothing_to_hand_over ->
		d_step {
			count_pending();
			note_pending();
			say("step 6: looks for pending requests")
		}
		if
		:: n > 0 && futile < HAND_OVER_TRIES ->
			handing = true; again = true; no_wake = false; tried = false;
			goto TRY
		:: else -> goto REST
		fi
	}
	CRASH
	STOP(stopped)
	fi;

REST:
	atomic {
		d_step { forget_list() }
		if
		:: fruitless && waits != BLOCKING -> goto busy
		:: fruitless && waits == BLOCKING -> skip
		:: !fruitless -> goto LOOK
		fi
	}
	/* Other sessions hold the loans that it found, or its own request, but not for ever. */
	if
	:: atomic {
		of_all_loans(is_free) && request_lock[me] == NOBODY ->
		say("rest() is over");
		goto LOOK
	}
	CRASH
	STOP(stopped)
	CANCEL
	fi;

	/* The list is no longer good. round_hand_over() ends, and round_give() goes back to TRY,
	 * which begins with a look at its own row: LOOK here. */
stale_list:
	atomic {
		if
		:: handing -> goto REST
		:: !handing -> d_step { forget_list() } goto LOOK
		fi
	}

	/* give_until_done() tries the whole transaction again, if nobody has led since. */
retry:
	atomic {
		d_step { rollback(); my_epoch-- }
		if
		:: !tried -> tried = true; again = true; goto TRY   /* DB_TRIES */
		:: tried -> goto stale_list
		fi
	}

	/* Step 3: lock_holder(), a dirty read. */
taken:
	if
	:: atomic { led && !again -> say("step 3: somebody leads"); goto busy }
	:: atomic { led && again -> say("step 3: somebody leads"); goto stale_list }
	:: atomic { !led -> say("step 3: held for a moment only") }
	CRASH
	STOP(stopped)
	fi;
	/* look_if_free() reads its own row, and tries again. */
	if
	:: atomic { !again && outcome[me] != PENDING -> say("step 3: was ended"); goto answer }
	:: atomic { again -> goto TRY }
	:: atomic {
		!again && outcome[me] == PENDING && !is_paused_by_now ->
		saw_epoch = epoch;
		say("step 3: sees that it is still pending");
		goto TRY
	}
	:: atomic {
		!again && outcome[me] == PENDING && is_paused_by_now ->
		say("step 3: the task is paused");
		goto paused_task
	}
	CRASH
	STOP(stopped)
	fi;

	/* rest() looks again and again whether the task goes on. */
paused_task:
	atomic {
		if
		:: waits == NO_WAIT -> put_off = put_off | BIT(me); say("does not wait"); goto done
		:: waits == POLLING -> goto touch
		:: waits == BLOCKING -> skip
		fi
	}
	if
	:: atomic { rest_is_over -> say("the task goes on"); goto LOOK }
	CRASH
	STOP(stopped)
	CANCEL
	fi;

busy:
	atomic {
		if
		:: waits == NO_WAIT -> say("does not wait"); goto done
		:: waits == POLLING -> skip
		:: waits == BLOCKING -> goto FOLLOW
		fi
	}

	/* wait_polling() writes seen_at, and a leader passes over the request meanwhile. */
touch:
	if
	:: atomic { request_lock[me] == NOBODY -> request_lock[me] = ME }
	CRASH
	STOP(stopped)
	CANCEL
	fi;
	atomic { true -> request_lock[me] = NOBODY }

	/* Step 7: follow(), with wait_blocking() or wait_polling(). The statement is a transaction
	 * of its own, so the shared lock is gone as soon as it is granted. */
FOLLOW:
	if
#ifdef SHARED_TRY_ROW
	:: atomic {
		waits == BLOCKING && lock_by == NOBODY ->
		sharing = sharing | BIT(me);
		say("step 7: wakes, and shares the lock")
	}
#else
	:: atomic { waits == BLOCKING && wake_by == NOBODY -> say("step 7: wakes") }
#endif
	:: atomic { waits == POLLING -> say("step 7: it is time to look") }
	CRASH
	STOP(stopped)
	CANCEL
	fi;
#ifdef SHARED_TRY_ROW
	sharing = sharing & ~BIT(me);
#endif
#ifdef NO_TAKEOVER
	if
	:: atomic { outcome[me] != PENDING -> goto answer }
	:: atomic { outcome[me] == PENDING -> say("waits again"); goto FOLLOW }
	CRASH
	STOP(stopped)
	fi;
#else
	goto LOOK;
#endif

#ifdef WRITE_AFTER_LOSS
stopped_leader:
	atomic {
		true ->
		d_step { rollback(); troubled = true; say("is cut off, connects and writes") }
		goto GIVE
	}
#endif

	/* The server ends the session, and later the process goes on: recover() connects again, and
	 * after a commit in doubt it calls request_status(). */
stopped:
	atomic {
		true ->
		d_step { rollback(); troubled = true; say("its session is ended") }
		if
		:: handing && futile <= HAND_OVER_TRIES -> goto handing_again
		:: else -> d_step { forget_list() }
		fi
	}
woken:
	if
	:: atomic {
		!in_doubt || request_lock[me] == NOBODY ->
		in_doubt = false;
		say("connects again");
		goto LOOK
	}
	:: atomic {
		expiries > 0 && outcome[me] == PENDING && task_is_free && can_age(me) ->
		expiries--;
		stale[me] = true;
		goes_by;
		say("was away for longer than request_ttl")
	}
#ifdef CLOCK_EXPIRY
	:: atomic {
		outcome[me] == PENDING && stale[me] ->
		told = told | BIT(me);
		say("tells itself that it is expired");
		goto done
	}
#endif
	CRASH
	CANCEL
	fi;
	goto woken;

	/* round_hand_over() goes on with its list, if nobody has led since. */
handing_again:
	atomic {
		true ->
		d_step {
			futile++;
			if
			:: my_epoch > epoch -> my_epoch = epoch
			:: else
			fi;
			say("connects again")
		}
		goto HAND_OVER
	}

	/* session_abandon() closes the connection. */
given_up:
	atomic {
		true ->
		d_step {
			troubled = troubled || lock_by == ME;
			rollback();
			forget_list();
			say("gives up")
		}
	}

	/* cancel() waits for a leader that has locked the request. */
cancel:
	if
	:: atomic {
		request_lock[me] == NOBODY && may_cancel ->
		request_lock[me] = ME;
		say("locks its request, to cancel it")
	}
	:: atomic {
		request_lock[me] == NOBODY && !may_cancel ->
		say("was ended before it could cancel");
		goto answer
	}
	:: atomic {                     /* finish_pending(), after a time */
		request_lock[me] != NOBODY ->
		say("a leader holds its request for too long, it stays pending");
		goto done
	}
	CRASH
	STOP(cancel)
	fi;
	/* The server ends the statement, whatever becomes of the process. */
	atomic {
		comes(GIVEN_UP, me) ->
		d_step { outcome[me] = CANCELLED; request_lock[me] = NOBODY }
		say("cancels its request");
		goes_by
	}

	/* finish(), read_answer() */
answer:
	atomic {
		d_step {
			never_is(answer_untrue, outcome[me] == PENDING || (got[me] != 0) !=
			    (outcome[me] == SERVED || outcome[me] == PARTIAL));
			told = told | BIT(me);
			say("step 6: answers")
		}
		if
		:: true
		:: disposals > 0 && may_meet(disposers) && got[me] != 0 ->
			disposals--; goto dispose_of
		fi
	}
	goto done;

	/* lockq_dispose() locks its rows at its start, so it is one step. */
dispose_of:
	if
	:: atomic { has(got[me], 0) && is_free(0) && ends_loan(0) -> dispose(0) }
	:: atomic { has(got[me], 1) && is_free(1) && ends_loan(1) -> dispose(1) }
#if LOANS == 3
	:: atomic { has(got[me], 2) && is_free(2) && ends_loan(2) -> dispose(2) }
#endif
	fi;
	goto done;

	/* The server ends the session of a process that is dead. */
killed:
	atomic {
		true ->
		d_step { rollback(); forget_list(); troubled = true; say("is dead") }
	}

done:
	atomic {
		ended = ended | BIT(me);
		d_step {
			waits = 0;
			fruitless = false;
			news = false;
			conflict = false;
			in_doubt = false
		}
	}
}

/* lockq_dispose() by the user whose lease is about to run out, in two steps: the row is locked and
 * judged, and later written and committed. */
proctype user()
{
	if
	:: atomic {
		is_free(1) && state[1] == ASSIGNED && version[1] == 1 && !lapsed[1] ->
		work_lock[1] = A_USER;
		happens("loan 1: its user locks it")
	}
	:: atomic { version[1] > 1 || lapsed[1] -> goto refused }
	fi;
	atomic { work_lock[1] = NOBODY; dispose(1) }
refused:
	skip
}

/* The lease runs out, and cron writes that into the row, unless the run ends before. */
proctype clock()
{
	if
	:: atomic {
		state[1] == ASSIGNED && version[1] == 1 && comes(LAPSED, 1) ->
		lapsed[1] = true;
		happens("loan 1: its lease runs out");
		goes_by
	}
	:: comes(NOTHING, 0) -> goto end_of_time
	fi;
	if
	:: atomic {                     /* the loan stays available, but its version changes */
		lapsed[1] && work_lock[1] == NOBODY && comes(CRON, 1) ->
		d_step { state[1] = RETURNED; version[1] = version[1] + 1; lapsed[1] = false };
		happens("loan 1: cron ends its lease")
	}
	:: comes(NOTHING, 0) -> goto end_of_time
	fi;
end_of_time:
	skip
}

#define left(r) (expiries > 0 && has(ended, r) && outcome[r] == PENDING && !stale[r] && \
	can_age(r))
#define neglect(r) expiries--; stale[r] = true; \
	printf("requester %d: its request gets older than request_ttl\n", r); goes_by

/* The request of a process that has ended, by a crash or without waiting, may get older than
 * request_ttl. */
proctype neglecter()
{
	do
	:: atomic { left(0) -> neglect(0) }
	:: atomic { left(1) -> neglect(1) }
#if REQUESTERS > 2
	:: atomic { left(2) -> neglect(2) }
#endif
#if REQUESTERS > 3
	:: atomic { left(3) -> neglect(3) }
#endif
	:: comes(NOTHING, 0) -> break
	od
}

/* A manager, in one statement each. A pause ends at some time. */
proctype manager()
{
	do
	:: atomic {
		pauses > 0 && !paused && task_is_free && comes(PAUSED, 0) ->
		pauses--;
		paused = true;
		pause_epoch = epoch;
		happens("manager: pauses the task");
		goes_by
	}
	:: atomic {
		paused && task_is_free && comes(RESUMED, 0) ->
		paused = false;
		pause_epoch = 0;
		happens("manager: lets the task go on");
		goes_by
	}
	:: atomic { !paused && comes(NOTHING, 0) -> break }
	od
}

active proctype nobody_is_left_over()
{
	atomic {
		ended == ALL && comes(NOTHING, 0);
		d_step {
			n = false;
			for (i : 0 .. REQUESTERS - 1) {
				n = n || (outcome[i] == PENDING && !has(put_off, i))
			}
			never_is(left_over, n && list_left != 0 && !troubled)
		}
		goes_by
	}
}

init {
	atomic {
		run_begins;
		for (i : 0 .. REQUESTERS - 1) {
			if
			:: takes_part(i) -> run requester(i)
			:: else
			fi
		}
		if
		:: LEASES > 0 ->
			state[1] = ASSIGNED;
			version[1] = 1;
#ifndef TRACE
			run user();
#endif
			run clock()
		:: else
		fi;
		if
		:: EXPIRIES > 0 -> run neglecter()
		:: else
		fi;
		if
		:: PAUSES > 0 -> run manager()
		:: else
		fi
	}
}

ltl answered { <> (ended == ALL) }
