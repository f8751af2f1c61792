/* SPDX-License-Identifier: MIT */
/* The bounds of the algorithm's waits, and of its loops that try again, each with the reason for
 * its number. Time limits that the server keeps are in db.h, where they must line up; how often
 * the same transaction is tried is DB_TRIES there. */
#ifndef LOCKQ_BOUNDS_H
#define LOCKQ_BOUNDS_H

/* Step 1: request.c */
enum {
	RECORD_TRIES = 20       /* the user's other request ended between two statements, each time:
				 * twenty rounds in some 300 ms are no chance any more */
};

/* Steps 2 and 3: lock.c */
enum {
	MOMENT_TRIES = 40,      /* a row without a holder is held for a look or by cron for a page
				 * of rows: both are over in a second */
	AGAIN_TRIES = 1,        /* the next time it is a session that was forgotten: no storm */
	MOMENT_MS = 8,          /* of jitter: hundreds meet a leader that writes its name in one */
	WAKE_MS = 1000,         /* woken followers share task_wake for less; a leader goes on
				 * without */
	WAKE_NAP_MS = 2         /* between two tries of it, half as long again each time */
};

/* Connecting, and step 4: handle.c, orphan.c, view.c */
enum {
	CROWDED_TRIES = 14,     /* some ten seconds with their backoff: programs that run for a
				 * moment end meanwhile */
	ORPHAN_WAIT_S = 2,      /* a query that was killed has given its name back by then */
	TICK_EVERY_ROWS = 1024, /* of a long list: they come in far less time than the lock
				 * connection may be idle, which is pinged then */
	LEAST_MS = 100          /* a second query has this where the first took all of the time */
};

/* Steps 5 and 6: assign.c, round.c */
enum {
	LOOKS = 2,              /* the second serves requests that came while the first was written;
				 * the hand-over serves those that come after that */
	BEHIND_MS = 10000,      /* a server that is behind its cluster is given so long; the list in
				 * hand ages meanwhile */
	HAND_OVER_TRIES = 4     /* with their backoff a quarter of a second: then the rows that are
				 * in the way are held for longer, and their requests lead
				 * themselves */
};

/* Step 7: wait.c, getwork.c, checkwork.c */
enum {
	SLICE_S = 20,           /* a follower looks again, and says that it is still there: seldom
				 * enough for hundreds, and often for a usual request_ttl */
	SLICES_IN_TTL = 3,      /* as often at least before its request would expire: one may be
				 * late */
	JOINED_SLICE_S = 5,     /* the maker of a joined request may cancel it: that wakes nobody */
	QUICK_MS = 20,          /* a wait that was shorter was none: the second in a row pauses */
	NAP_MS = 10,            /* after a wait that was none, doubled for each one in a row … */
	NAP_DOUBLINGS = 6,      /* … so often: a commit is heard 640 ms late at most */
	LAST_NAP_MS = 200,      /* lock waits are whole seconds; the last one is spent looking */
	MISSED_TRIES = 12,      /* some six seconds: cron holds the lock for less, a session that
				 * was forgotten for longer */
	REST_MS = 30000,        /* the longest pause between queries that find nothing to give */
	LOOK_EVERY = 4,         /* of the backoff: four looks a second, where no wait is allowed */
	LOOK_SLICE_S = 5        /* checkwork --wait: who made the request may cancel it, as above */
};

/* After a failure, at the end of a call: recover.c, cancel.c, refusal.c */
enum {
	TRIES_FORGOTTEN_MS = 1000, /* an error after so long is not the next one in a row */
	PATIENCE_MS = 30000,    /* a server that is started again is back in less */
	CANCEL_MS = 20000,      /* after a timeout: longer than a leader's last transaction takes */
	CANCEL_AT_ONCE_MS = 5000, /* after Ctrl-C: nobody waits for longer at a terminal */
	CANCEL_WAIT_S = 2,      /* of one try: a leader that serves the request commits in less */
	CHECK_TRIES = 2         /* why an ask was refused is only for the message */
};

/* progress.c, expire.c, expire_batch.c */
enum {
	TICK_SLICE_MS = 250,    /* a user who gives up is heard after a quarter of a second */
	PURGE_WAITS_S = 60,     /* the purge of a night waits for cron's run of a minute */
	PAUSE_MOST_MS = 100     /* between two pages: cron is in no hurry, but is to end */
};

#endif
