/* SPDX-License-Identifier: MIT */
/*
 * Lets lockq.pml take only the way of a run that was recorded from the real programs. Each step of
 * the model that a record can show waits until the next line of the trace tells of it, with the
 * same values. The other steps stay free: looks, locks, waits. The run is a path of the model if
 * some path comes to the end of the trace.
 *
 * LOCKQ_TRACE is the name of a file of numbers, which Trace.pm makes of a trace in words. Its first
 * row tells what the run was like, and each other row is a line of the trace. Only the place in the
 * trace and the line there are part of a state.
 */

/* What a line tells. Trace.pm has the same numbers. */
#define NOTHING   0   /* the trace is over */
#define ASKED     1
#define COMMITTED 2
#define GIVEN_UP  3   /* the requester has cancelled its request */
#define ANSWERED  4   /* by here the program has told its user how the request ended … */
#define PUT_OFF   5   /* … or that it is pending still … */
#define KILLED    6   /* … or it is dead */
#define DISPOSED  7
#define LAPSED    8   /* the lease has run out */
#define NEGLECTED 9   /* nobody has looked after the request for request_ttl */
#define PAUSED    10
#define RESUMED   11
#define CRON      12  /* is not recorded */

/* leader_run.how */
#define BY_QUERY     0
#define BY_HAND_OVER 1
#define BY_FAILURE   2

/* The run: which requesters and loans it had, and what may have happened to which requester. */
byte members, loans, lease, wants_of[REQUESTERS], way_of[REQUESTERS];
byte kills, losses, signals, disposers, deadlocked;

/* The next line, and where it is. */
byte place, next_leader, line, line_who, line_epoch, line_how, line_loan, line_state;
byte line_ends[REQUESTERS], line_give[LOANS], line_version[LOANS];

c_decl {
\#include <stdlib.h>
\#define ROW_MOST 200

	struct row {
		int line, who, epoch, how, loan, state, ends[4], give[3], version[3];
	};
	struct run {
		int members, loans, lease, kills, losses, signals, disposers, deadlocked,
		    failures, stuck, wants_of[4], way_of[4];
	};

	static struct run run_of_trace;
	static struct row rows[ROW_MOST];
	static int next_leaders[ROW_MOST];
	static int n_rows, furthest;
}

c_code {
	/* The last line of the output is for test/model/walk. */
	static void
	tell_furthest(void)
	{
		printf("furthest %d\n", furthest);
	}

	static void
	read_rows(void)
	{
		FILE *file = fopen(getenv("LOCKQ_TRACE") ? getenv("LOCKQ_TRACE") : "", "r");
		int *numbers = (int *)&run_of_trace;
		size_t n = sizeof(run_of_trace) / sizeof(int), i;
		int k;

		if (file == NULL) {
			perror("LOCKQ_TRACE");
			exit(2);
		}
		while (n_rows < ROW_MOST) {
			for (i = 0; i < n && fscanf(file, "%d", &numbers[i]) == 1; i++)
				;
			if (i < n)
				break;
			numbers = (int *)&rows[n_rows++];
			n = sizeof(rows[0]) / sizeof(int);
		}
		fclose(file);
		for (k = n_rows - 1; k >= 0; k--)
			next_leaders[k] = rows[k].line == 2 ? rows[k].who + 1 :
			    k + 1 < n_rows ? next_leaders[k + 1] : 0;
		atexit(tell_furthest);
	}
}

/* Shows the line at the place. */
inline show_line()
{
	c_code {
		const struct row *row = &rows[now.place];
		int k;

		if (now.place > furthest)
			furthest = now.place;
		now.next_leader = next_leaders[now.place];
		now.line = row->line;
		now.line_who = row->who;
		now.line_epoch = row->epoch;
		now.line_how = row->how;
		now.line_loan = row->loan;
		now.line_state = row->state;
		for (k = 0; k < 4; k++)
			now.line_ends[k] = row->ends[k];
		for (k = 0; k < 3; k++) {
			now.line_give[k] = row->give[k];
			now.line_version[k] = row->version[k];
		}
	}
}

inline read_trace()
{
	c_code {
		int k;

		read_rows();
		now.members = run_of_trace.members;
		now.loans = run_of_trace.loans;
		now.lease = run_of_trace.lease;
		now.kills = run_of_trace.kills;
		now.losses = run_of_trace.losses;
		now.signals = run_of_trace.signals;
		now.disposers = run_of_trace.disposers;
		now.deadlocked = run_of_trace.deadlocked;
		now.failures = run_of_trace.failures;
		now.stuck = run_of_trace.stuck;
		for (k = 0; k < 4; k++) {
			now.wants_of[k] = run_of_trace.wants_of[k];
			now.way_of[k] = run_of_trace.way_of[k];
		}
	}
	/* The view shows the loans of the run only. */
	for (l : 0 .. LOANS - 1) {
		if
		:: has(loans, l) -> skip
		:: else -> state[l] = COMPLETED
		fi
	}
	ended = ALL & ~members;
	show_line();
	run reader()
}

#define goes_by \
	d_step { \
		if \
		:: line == NOTHING -> c_code { printf("accepted\n"); exit(0); } \
		:: else -> place++; show_line() \
		fi \
	}

#define run_begins read_trace()
#define takes_part(r) has(members, r)
#define wants(r) wants_of[r]
#define may_ask (line == ASKED && line_who == me)
#define asks_with(way) (way_of[me] == way)
#define may_meet(set) has(set, me)
#define comes(event, r) (line == event && line_who == r)
/* The administrator who makes it old takes the task's lock for that, and the request's. */
#define can_age(r) (comes(NEGLECTED, r) && lock_by == NOBODY && request_lock[r] == NOBODY)
/* A process that has the lock, and is the first to lead since its look, commits, unless a fault
 * keeps it from that. So no other one needs to try, which saves most of the states. */
#define leads_next (next_leader == ME || stuck > 0 || \
	has(kills | losses | signals | deadlocked, me))
#define may_try (leads_next || (again -> my_epoch : saw_epoch) != epoch)
#define ends_loan(l) (line == DISPOSED && line_who == me && line_loan == l && \
	line_version[l] == version[l] + 1)
#define ends_as(new) (line_state == new)

#define ends_so(r) (line_ends[r] == ends[r])
#define gives_so(l) (line_give[l] == give[l] && (give[l] == 0 || \
	line_version[l] == version[l] + 1 + (state[l] == ASSIGNED)))
#define how_it_leads (handing -> BY_HAND_OVER : (failing -> BY_FAILURE : BY_QUERY))
#define commit_comes (line == COMMITTED && line_who == me && line_epoch == my_epoch && \
	line_how == how_it_leads && of_all_requests(ends_so) && \
	of_all_loans(gives_so))

#define told_so(l) ((line_give[l] == line_who + 1) == has(got[line_who], l))

/* A program has ended at some time before the line that says so. */
proctype reader()
{
	do
	:: atomic {
		line == ANSWERED && has(told, line_who) &&
		    outcome[line_who] == line_ends[line_who] && of_all_loans(told_so) ->
		goes_by
	}
	:: atomic {
		line == PUT_OFF && has(ended, line_who) && !has(told, line_who) -> goes_by
	}
	:: atomic { line == KILLED && has(ended, line_who) -> goes_by }
	od
}
