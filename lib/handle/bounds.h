/* SPDX-License-Identifier: MIT */
/* The bounds of the algorithm's waits, and of its loops that try again, each with the reason for
 * its number. db/db.h has the time limits of connections, which must line up, and DB_TRIES with its
 * db_backoff(). Two statements have their time limits beside them: 250 ms in the SQL of
 * list/ask_view.c, and DETAIL_LIMIT_MS in look/checkwork.c. */
#ifndef LOCKQ_BOUNDS_H
#define LOCKQ_BOUNDS_H

/* Step 1: getwork/request.c */
enum {
	RECORD_TRIES = 20       /* some 300 ms: that the user's other request ends between two
	                         * statements each time can't be a coincidence any more */
};

/* Steps 2 and 3: getwork/lock.c */
enum {
	MOMENT_TRIES = 40,      /* a second: a process that does not lead, also cron with a page of
	                         * rows, releases the lock sooner */
	AGAIN_TRIES = 1,        /* after that a forgotten session has the lock, and more tries
	                         * would only add load */
	OVERTIME_MS = 500,      /* a query that ends so soon after the call's time still serves it
	                         * in the second that a timeout may be late */
	WAKE_MS = 1000,         /* woken followers share task_wake for less */
	WAKE_NAP_MS = 2         /* between two tries, one and a half times as long each time */
};

/* Connecting, and step 4: handle/handle.c, getwork/lock.c, list/list.c, list/orphan.c,
 * list/view.c */
enum {
	LIGHT_MS = 100,         /* hardly anybody else asks while such a query runs */
	LIST_SPARE = 64,        /* loans of a short list beyond twice what is asked for */
	SAME_SERVER_TRIES = 6,  /* twice through the three members of a usual cluster */
	CONNECT_MS = 2000,      /* at the start of a program: a server that is started again */
	CROWDED_MS = 10000,     /* on a full one: programs that run for a moment end meanwhile */
	ORPHAN_WAIT_S = 2,      /* a query that was killed has given its name back by then */
	TICK_EVERY_ROWS = 1024, /* of a long list: they come in far less time than the lock
	                         * connection may stay without a ping */
	LEAST_MS = 100          /* for a second query, also if the first took all of the time */
};

/* The kept list: list/take.c, list/kept.c, getwork/round.c */
enum {
	TAKE_SPARE = 15,        /* more loans are read than asked for: others take some meanwhile */
	SPARE_MOST = 255,       /* among so many first ones, times what it asks for, each taker
	                         * begins elsewhere, if dozens take at once; where these are
	                         * locked, up to 1,024 are checked */
	HEAD_STEP = 64,         /* so many loans are gone, or an eighth of the list, before a taker
	                         * that reads from the front notes it */
	TAKE_TRIES = 8,         /* some 150 ms, and each try reads more than the last one, or begins
	                         * elsewhere; then others hold all of it */
	LINE_MOST = 64,         /* requests of the line that are read at a time */
	LINE_TRIES = 2,         /* for each of them: nobody waits for it here */
	LINE_MS = 500,          /* then the next one who asks goes on: a user waits for the line */
	FIRST_PLACE = 1000000,  /* of a list; before it are loans that were touched */
	KEPT_MOST = 20000,      /* loans of a list: written in a quarter of a second */
	KEPT_END_ROWS = 1000,   /* deleted at a time, in some 10 ms */
	CHECK_SAMPLE = 16,      /* loans with which a leader measures what a check takes */
	FRESH_MS = 1000         /* after a longer query the view is asked again before loans are
	                         * given */
};

/* Steps 5 and 6: getwork/assign.c, getwork/round.c */
enum {
	LOOKS = 2,              /* the second serves requests that came while the first was written;
	                         * the hand-over serves those that come after that */
	BEHIND_MS = 10000,      /* for a server that is behind its cluster; the list in hand ages
	                         * meanwhile */
	HAND_OVER_TRIES = 4     /* a quarter of a second with their backoff: rows that are held for
	                         * longer are left, and their requests lead themselves */
};

/* Step 7: getwork/wait.c, getwork/getwork.c, look/checkwork.c */
enum {
	SLICE_S = 20,           /* then a follower looks again, and touches seen_at: seldom enough
	                         * for hundreds, and often enough for a usual request_ttl */
	SLICES_IN_TTL = 3,      /* slices in one request_ttl: one of them may be late */
	SEEN_IN_SLICE = 2,      /* a look touches seen_at once in half a slice: a follower that
	                         * wakes often would write each time */
	JOINED_WAIT_S = 5,      /* the call that made a joined request may cancel it, which wakes
	                         * nobody */
	QUICK_MS = 20,          /* a shorter wait counts as no wait, and after the second in a row
	                         * comes a nap */
	NAP_MS = 10,            /* after such a wait, doubled for each further one in a row */
	NAP_DOUBLINGS = 6,      /* a commit is heard 640 ms late at most */
	LAST_NAP_MS = 200,      /* lock waits are whole seconds; in the last second a call naps */
	HELD_EVERY_MS = 5000,   /* between two looks at who has a lock without leading */
	MISSED_TRIES = 12,      /* some six seconds: cron holds the lock for less, a forgotten
	                         * session for longer */
	REST_MS = 30000,        /* the longest pause between two queries without a loan to give */
	PAUSED_MS = 2000,       /* between two looks whether a task is still paused: some ten
	                         * statements for each of hundreds who wait */
	LOOK_EVERY = 4,         /* a try number for the backoff: four looks a second */
	LOOK_SLICE_S = 5,       /* lockq_request_look(), for the reason of JOINED_WAIT_S */
	SEEN_WAIT_S = 1         /* the same, to keep a request from expiring: a leader that ends it
	                         * holds its row for less */
};

/* After a failure, at the end of a call: getwork/recover.c, getwork/cancel.c, getwork/refusal.c */
enum {
	TRIES_FORGOTTEN_MS = 1000, /* a failure after so long is not in a row with the last one */
	PATIENCE_MS = 30000,    /* a server that is started again is back in less, and a group has
	                         * another primary */
	READ_ONLY_MS = 3000,    /* for a server that was never seen as the primary: a new primary
	                         * takes changes by then, and a replica's user is told */
	CANCEL_MS = 500,        /* after a timeout: then the last try begins, of a second */
	CANCEL_AT_ONCE_MS = 5000, /* after Ctrl-C: nobody waits for longer at a terminal */
	CANCEL_WAIT_S = 1,      /* of one try: a leader that serves the request commits in less */
	CHECK_TRIES = 2         /* the reason of a refusal is only for the message */
};

/* The change feed: feed/follow.c */
enum {
	FOLLOW_LEAST_MS = 50,   /* from look to look where nothing comes, doubled each time … */
	FOLLOW_MOST_MS = 1000,  /* … up to this: a statement a second costs next to nothing */
	ORDER_LEAST_MS = 2,     /* the same, while a transaction of others holds changes up: most
	                         * end within milliseconds */
	ORDER_MOST_MS = 100,
	ACKNOWLEDGE_MS = 1000   /* then a batch ends, whatever its size: the session of a reader
	                         * that is slow must not be idle for DB_WAIT_TIMEOUT_S */
};

/* disposition/expire.c, disposition/expire_batch.c, manage/define.c, manage/forget_person.c */
enum {
	FORGET_ROWS = 10000,    /* of the log, which are read to find those of a person */
	REMOVE_ROWS = 1000,     /* of a task that is removed: a page takes some 20 ms */
	PURGE_WAITS_S = 60,     /* the purge of a night waits for cron's run of a minute */
	PAUSE_MOST_MS = 100     /* between two pages: cron is in no hurry, but must come to
	                         * an end */
};

#endif
