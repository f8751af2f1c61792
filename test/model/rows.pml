/* SPDX-License-Identifier: MIT */
/*
 * Shows a model the lines of a recorded run, one after the other, for trace.pml and list-trace.pml.
 *
 * LOCKQ_TRACE is the name of a file of numbers, which Trace.pm makes of a trace in words. Its first
 * row tells what the run was like, and each other row is a line of the trace. Only the place in the
 * trace and the line there are part of a state.
 */

/* The event of a line. Trace.pm has the same numbers. */
#define NOTHING   0   /* the trace is over */
#define ASKED     1
#define COMMITTED 2   /* a leader's round */
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
#define TAKEN     13  /* loans of the kept list */
#define DROPPED   14  /* loans that must not be given have gone from the kept list */
#define UNSHOWN   15  /* the view does not show the loan any more */
#define AGED      16  /* the kept list is older than cache_ttl */

/* How a request ended, as a trace says it. */
#define WAS_SERVED 2
#define WAS_PARTLY 3
#define WAS_EMPTY  4

/* The most processes and loans that a trace can have. */
#define ROW_WHO   4
#define ROW_LOANS 3

/* The run: which requesters and loans it had, and what may have happened to which requester. */
byte members, loans, wants_of[ROW_WHO], way_of[ROW_WHO];
byte kills, losses, deadlocked;

/* The next line, where it is, and the next leader. */
byte place, next_leader, event, line_who, line_epoch, line_how, line_loan, line_state;
byte line_ends[ROW_WHO], line_give[ROW_LOANS], line_version[ROW_LOANS];
#ifdef WITH_LISTS
byte takers;            /* those who take loans at some time from there on, a set */
byte line_list, line_gone, line_kept[ROW_LOANS];
#endif

c_decl {
\#include <stdlib.h>
\#define ROW_MOST 200

	struct row {
		int event, who, epoch, how, loan, state, list, gone, ends[ROW_WHO],
		    give[ROW_LOANS], version[ROW_LOANS], kept[ROW_LOANS];
	};
	struct run {
		int fails, by_rows, members, loans, lease, listed, returned, kills, losses, signals, disposers,
		    deadlocked, slow, late, failures, stuck, wants_of[ROW_WHO], way_of[ROW_WHO];
	};

	static struct run run_of_trace;
	static struct row rows[ROW_MOST];
	static int next_leaders[ROW_MOST], later_takers[ROW_MOST];
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
		for (k = n_rows - 1; k >= 0; k--) {
			next_leaders[k] = rows[k].event == COMMITTED ? rows[k].who + 1 :
			    k + 1 < n_rows ? next_leaders[k + 1] : 0;
			later_takers[k] = (k + 1 < n_rows ? later_takers[k + 1] : 0) |
			    (rows[k].event == TAKEN) << rows[k].who |
			    (rows[k].event == DROPPED) << ROW_WHO;
		}
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
		now.event = row->event;
		now.line_who = row->who;
		now.line_epoch = row->epoch;
		now.line_how = row->how;
		now.line_loan = row->loan;
		now.line_state = row->state;
		for (k = 0; k < ROW_WHO; k++)
			now.line_ends[k] = row->ends[k];
		for (k = 0; k < ROW_LOANS; k++) {
			now.line_give[k] = row->give[k];
			now.line_version[k] = row->version[k];
		}
#ifdef WITH_LISTS
		now.takers = later_takers[now.place];
		now.line_list = row->list;
		now.line_gone = row->gone;
		for (k = 0; k < ROW_LOANS; k++)
			now.line_kept[k] = row->kept[k];
#endif
	}
}

inline read_run()
{
	c_code {
		int k;

		read_rows();
		now.members = run_of_trace.members;
		now.loans = run_of_trace.loans;
		now.kills = run_of_trace.kills;
		now.losses = run_of_trace.losses;
		now.deadlocked = run_of_trace.deadlocked;
		for (k = 0; k < ROW_WHO; k++) {
			now.wants_of[k] = run_of_trace.wants_of[k];
			now.way_of[k] = run_of_trace.way_of[k];
		}
	}
	show_line()
}

#define goes_by \
	d_step { \
		if \
		:: event == NOTHING -> c_code { printf("accepted\n"); exit(0); } \
		:: else -> place++; show_line() \
		fi \
	}

#define takes_part(p) has(members, p)
#define wants(r) wants_of[r]
#define asks_with(way) (way_of[me] == way)
#define may_meet(set) has(set, me)
#define comes(what, p) (event == what && line_who == p)
