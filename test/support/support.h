/* SPDX-License-Identifier: MIT */
/* What the tests against a server share. They use the library's public functions, its door to MySQL
 * (db.h) for statements of their own, its rooms through inside.h only, and a proxy between client
 * and server that can hold, cut and count statements, so that no test depends on who is quicker. */
#ifndef LOCKQ_TEST_SUPPORT_H
#define LOCKQ_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "db.h"
#include "inside.h"
#include "lockq.h"

/* main.c */

/* First thing in main(): an optional argument is a pattern of test names (for test/guards.t);
 * ends the program as skipped where LOCKQ_DEFAULTS_FILE is not set. */
void test_begin(int argc, char **argv);
/* Group and test fixtures for cmocka: tasks TASK and OTHER_TASK, nobody's work. */
int suite_setup(void **state);
int suite_teardown(void **state);
int test_setup(void **state);
int test_teardown(void **state);
#define DB_TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

/* Bounds of time. A busy machine is slow, so each lies far above what a call needs, and below what
 * it would need without the thing that is tested. */
enum {
	NO_LOCK_WAIT_MS = 1000 * DB_LOCK_WAIT_S - 500, /* no statement of the call waited for a lock */
	PATIENCE_MS = 20000                            /* something that must happen did not */
};

/* sql.c: connections and statements of the test itself */

/* Option-file groups: the least-privileged account, and the owner of the database. */
#define APP_GROUP "lockq"
#define OWNER_GROUP "lockq_seed"

/* Where the server is, for an account; the strings are static. */
struct lockq_connection where_is(const char *group);
/* The group whose account runs the tested calls: APP_GROUP where an administrator could let it
 * read the tests' views, else OWNER_GROUP. */
const char *worker_group(void);
struct lockq_connection worker_where(void);

struct db *owner(void);          /* connected on first use */
struct db *administrator(void);  /* NULL where its option file is not beside the other one */
struct db *connect_as(const char *group); /* a connection of its own, until the test's end */
void end_connections(void);   /* those of connect_as() */
void close_connections(void); /* the owner's and the administrator's */
/* Statements, formatted; what fails fails the test. The connection may be owner(). */
__attribute__((format(printf, 2, 3))) int try_sql(struct db *db, const char *format, ...);
__attribute__((format(printf, 2, 3))) void sql_on(struct db *db, const char *format, ...);
__attribute__((format(printf, 1, 2))) void sql(const char *format, ...);
__attribute__((format(printf, 2, 3))) uint64_t u64_on(struct db *db, const char *format, ...);
__attribute__((format(printf, 1, 2))) uint64_t u64(const char *format, ...);
/* The first cell, "NULL" for NULL; valid until the next call. */
__attribute__((format(printf, 1, 2))) const char *text_of(const char *format, ...);

/* fixture.c */

/* From TASK_LAST + 1 to TASK_MOST: tasks with the view of another one. */
enum { TASK = 100, OTHER_TASK = 101, TASK_LAST = 109, TASK_MOST = 199, USERS = 6 };

/* "test_a" … "test_f". */
const char *user(unsigned int n);
uint32_t user_id(unsigned int n);

/* A task whose view shows the task's rows of test_candidate. */
void make_task(uint32_t task);
/* A task with the view of TASK, so with its loans. */
void make_task_with_same_view(uint32_t task);
/* As in a new test, but for what was done to tasks and views: quicker than a new one. */
void start_again(void);
__attribute__((format(printf, 2, 3))) void set_task(uint32_t task, const char *format, ...);
/* Loans 1 to @n of the task, in this order. */
void add_loans(uint32_t task, unsigned int n);
void add_loan(uint32_t task, uint64_t loan_id, unsigned int priority);
/* Puts another view under the task, of this SELECT. */
__attribute__((format(printf, 2, 3))) void set_view(uint32_t task, const char *format, ...);
/* The same loans, but computing takes about @ms milliseconds of a real scan. */
void make_heavy(uint32_t task, unsigned int ms);
/* A row of `work`, as if it had been given to the user and disposed of. */
void add_work(uint32_t task, uint64_t loan_id, unsigned int owner_no, const char *state,
    uint64_t version);
/* A pending request, made long before nobody looked at it any more. Its id. */
uint64_t add_request(uint32_t task, unsigned int user_no, unsigned int count);
/* How a user's newest request stands: the word of its outcome. */
const char *outcome_of(uint32_t task, unsigned int user_no);
uint64_t request_of(uint32_t task, unsigned int user_no);
uint64_t rounds_of(uint32_t task); /* rows of leader_run */
uint64_t epoch_of(uint32_t task);  /* committed */
void clear_fixture(void);  /* rows */
void remove_fixture(void); /* all of it */

/* What must be true of a task whenever nobody leads: no loan was given twice, what `work` says is
 * what the log says, each request has the loans that it was given, each epoch its leader. */
void assert_consistent(uint32_t task);

/* Waits up to 20 s until the (dirty) read shows a holder, or none. */
void until_led(uint32_t task);
void until_free(uint32_t task);
/* Waits up to 20 s until the query gives 1. */
__attribute__((format(printf, 1, 2))) void until(const char *format, ...);

/* Somebody who leads, made by hand: holds what a leader holds, writes holder and epoch. */
struct leader_by_hand {
	struct db *lock;
	struct db *wake;
};
struct leader_by_hand lead_by_hand(uint32_t task, bool with_lock, bool with_wake);

/* The name under which a task's query runs, as an SQL expression of the database in use. */
const char *query_lock_name(uint32_t task);

/* proxy.c */

/* A leader's query (or a follower's wait). */
#define QUERY "EXECUTE lockq_started"

struct proxy;
struct proxy *proxy_new(void);
/* Where to connect through it. */
struct lockq_connection proxy_where(struct proxy *proxy);
/* The @nth statement from now on that has @text ("=TEXT": that is TEXT) is held before the server
 * sees it. */
void proxy_hold(struct proxy *proxy, const char *text, unsigned int nth);
/* Waits until it is held, 20 s at most. */
void proxy_until_held(struct proxy *proxy);
bool proxy_is_holding(struct proxy *proxy);
void proxy_release(struct proxy *proxy);
/* The connection is cut before the server sees the statement; or after it, its answer lost. */
enum proxy_cut { CUT_BEFORE, CUT_AFTER };
void proxy_cut(struct proxy *proxy, const char *text, unsigned int nth, enum proxy_cut when);
/* The client is cut off at once, the server gets the statement when it is released. */
void proxy_hold_and_cut(struct proxy *proxy, const char *text, unsigned int nth);
/* It fails with this error of the server's, which does not see it; so do as many after it as make
 * @times with it. Where the real error rolls the transaction back, it is rolled back. */
void proxy_fail(struct proxy *proxy, const char *text, unsigned int nth, unsigned int times,
    unsigned int error);
/* Nothing gets through on what is open now, either way, and nobody is told: a cut cable. */
void proxy_silence(struct proxy *proxy);
/* Cuts what is open now. */
void proxy_drop(struct proxy *proxy);
/* From here on no new connection gets through. */
void proxy_refuse(struct proxy *proxy);
/* From here on, or no longer, a new connection is told 1040, too many connections. */
void proxy_crowd(struct proxy *proxy, bool crowded);
/* The server is said to be of this version. */
void proxy_pretend(struct proxy *proxy, const char *version);
/* In each packet of a client: @to stands where @from was; both are of one length. */
void proxy_replace(struct proxy *proxy, const char *from, const char *to);
/* Commands of any kind that were sent and are answered: a PREPARE is one, and its EXECUTE. */
size_t proxy_round_trips(struct proxy *proxy);
/* Statements since the proxy was made: all, or those with @text; pings are not statements. */
size_t proxy_total(struct proxy *proxy);
size_t proxy_count(struct proxy *proxy, const char *text);
/* Position of the @nth statement with @text, SIZE_MAX where there is none. */
size_t proxy_position(struct proxy *proxy, const char *text, unsigned int nth);
/* The connection, counted from 0 in the order they came, that ran the statement at @position. */
unsigned int proxy_connection(struct proxy *proxy, size_t position);
void proxy_text(struct proxy *proxy, size_t position, char *text, size_t size);
/* Nothing is held, cut or refused any more. */
void proxies_relent(void);
void proxies_end(void);

/* worker.c: calls of lockq_getwork() in threads of their own */

struct worker {
	struct lockq_ask ask;
	struct proxy *proxy;     /* how it connects; NULL: directly */
	struct lockq *q;         /* its handle */
	struct lockq_answer answer;
	int rc;
	uint64_t ms;             /* how long the call took */
	char error[1024];
	volatile bool give_up;   /* its progress function then does */
	volatile bool done;
	bool started;
	bool stop_while_reading; /* it stops itself with SIGSTOP between the rows of the query */
	uint64_t called;         /* when its progress function was */
	int report_fd;           /* of worker_fork() */
	int pid;                 /* of worker_fork() */
};

/* Somebody who asks; owned by the fixture. @timeout_ms of 0 is LOCKQ_WAIT_NONE, negative is for
 * ever. Not started yet. */
struct worker *worker_new(unsigned int user_no, uint32_t task, uint32_t count, int64_t timeout_ms);
void worker_start(struct worker *worker);
void worker_join(struct worker *worker); /* 30 s at most */
void worker_join_within(struct worker *worker, uint64_t ms);
/* All of it: asks without waiting for others, and joins. */
struct worker *ask_now(unsigned int user_no, uint32_t task, uint32_t count);
struct worker *ask_within(unsigned int user_no, uint32_t task, uint32_t count, uint64_t ms);
/* A worker without a thread whose handle is connected: for calling rooms. */
struct worker *worker_connected(unsigned int user_no, uint32_t task, uint32_t count);
/* Connects its handle, unless that was done before. */
void worker_connect(struct worker *worker);
void workers_end(void);
/* Ends what worker_fork() made: a stopped one reads nothing, and who sends to it would wait. */
void workers_kill(void);
/* The same as a process of its own, for signals. The child exits with lockq_getwork()'s code,
 * 100 added where that is negative. */
int worker_fork(struct worker *worker);
/* What it sent before it exited: how its call ended. */
enum { REPORTED_LOANS = 10 };
struct report {
	int rc;
	enum lockq_status status;
	bool led;
	uint64_t epoch;
	uint32_t retries;
	uint64_t loans[REPORTED_LOANS];
	size_t n_loans;
	uint64_t ms;
	char error[512];
};
struct report worker_report(const struct worker *worker);
/* Waits for it to be stopped; false when it has ended instead. */
bool worker_until_stopped(int pid);
bool worker_has_exited(int pid);
/* Ends when the child does, 30 s at most; its exit status, -1 for a signal. */
int worker_reap(int pid);

#endif
