/* SPDX-License-Identifier: MIT */
/* Functions for the tests that need a server. They use the library's public functions, db.h for the
 * statements of the test itself, and inside.h for single steps of a call. A proxy between client
 * and server holds, cuts and counts statements, so that no test depends on timing. */
#ifndef LOCKQ_TEST_SUPPORT_H
#define LOCKQ_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "db/db.h"
#include "inside.h"
#include "lockq.h"

/* main.c */

/* main() calls this first. An optional argument is a pattern of test names, for test/guards.t.
 * Where LOCKQ_DEFAULTS_FILE is not set, the program reports that it was skipped and exits. */
void test_begin(int argc, char **argv);
/* Fixtures for cmocka. Each test has the tasks TASK and OTHER_TASK, and no row of `work`. */
int suite_setup(void **state);
int suite_teardown(void **state);
int test_setup(void **state);
int test_teardown(void **state);
#define DB_TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

/* Bounds of time. Each is far above what a call needs on a busy machine, and below what the call
 * would need if the tested behaviour were missing. */
enum {
	/* A call that took less than this has not waited for a lock. */
	NO_LOCK_WAIT_MS = 1000 * DB_LOCK_WAIT_S - 500,
	/* A test fails if an event that it waits for takes longer than this. */
	PATIENCE_MS = 20000
};

/* sql.c: connections and statements of the test itself */

/* Groups of the option file: the account with the fewest privileges, and the database's owner. */
#define APP_GROUP "lockq"
#define OWNER_GROUP "lockq_seed"

/* Returns how the account of the option-file group @group connects; the strings are static. */
struct lockq_connection where_is(const char *group);
/* Returns the group whose account makes the tested calls: APP_GROUP if there is an administrator,
 * who grants that account the tests' views, else OWNER_GROUP. */
const char *worker_group(void);
/* where_is(worker_group()) */
struct lockq_connection worker_where(void);

/* Returns the owner's connection, which is made on first use. */
struct db *owner(void);
/* Returns the administrator's connection, or NULL if there is no admin.cnf in the folder of
 * LOCKQ_DEFAULTS_FILE. */
struct db *administrator(void);
/* Returns a new connection of this account, which is closed at the end of the test. */
struct db *connect_as(const char *group);
/* Returns a connected handle of the owner, who may all that managers and cron may. */
struct lockq *handle_of_owner(void);
/* Closes the connections that connect_as() made. */
void end_connections(void);
/* Closes the owner's and the administrator's connection. */
void close_connections(void);
/* These run a statement that is formatted like printf(), on @db or on owner(). try_sql() returns an
 * enum db_rc; the others fail the test where the statement fails. u64() and u64_on() return the one
 * number of the result. */
__attribute__((format(printf, 2, 3))) int try_sql(struct db *db, const char *format, ...);
__attribute__((format(printf, 2, 3))) void sql_on(struct db *db, const char *format, ...);
__attribute__((format(printf, 1, 2))) void sql(const char *format, ...);
__attribute__((format(printf, 2, 3))) uint64_t u64_on(struct db *db, const char *format, ...);
__attribute__((format(printf, 1, 2))) uint64_t u64(const char *format, ...);
/* Returns the first cell of the result, "NULL" for NULL. The text is valid until the next call. */
__attribute__((format(printf, 1, 2))) const char *text_of(const char *format, ...);
/* Returns the plan of a statement without parameters; of an INSERT … SELECT that of its SELECT,
 * since MySQL 9.7 can't print the plan of one into a view. There are no blanks around "=", which
 * older servers don't write. */
const char *plan_of_statement(const char *statement);

/* fixture.c */

/* Tests may make more tasks: up to TASK_LAST with views of their own, and from TASK_LAST + 1 to
 * TASK_MOST with the view of TASK. */
enum { TASK = 100, OTHER_TASK = 101, TASK_LAST = 109, TASK_MOST = 199, USERS = 6 };

/* Returns the name of user @n, from 0 to USERS - 1: "test_a" to "test_f". */
const char *user(unsigned int n);
/* Returns app_user.user_id of user @n. */
uint32_t user_id(unsigned int n);

/* Makes a task whose view shows the task's rows of test_candidate. */
void make_task(uint32_t task);
/* Makes a task with the view of TASK, and so with the loans of TASK. */
void make_task_with_same_view(uint32_t task);
/* Ends what the test has running and deletes the rows of TASK and OTHER_TASK, for the next case of
 * the same test. Changes of tasks and views stay. Quicker than a new test. */
void start_again(void);
/* Changes columns of the task's row; @format is the SET clause. */
__attribute__((format(printf, 2, 3))) void set_task(uint32_t task, const char *format, ...);
/* Makes the loans 1 to @n candidates of the task, in this order of priority. */
void add_loans(uint32_t task, unsigned int n);
void add_loan(uint32_t task, uint64_t loan_id, unsigned int priority);
/* Replaces the task's view; @format is its SELECT. */
__attribute__((format(printf, 2, 3))) void set_view(uint32_t task, const char *format, ...);
/* Makes the task's view scan rows for about @ms milliseconds; it shows the same loans. */
void make_heavy(uint32_t task, unsigned int ms);
/* Makes the task's view take @seconds by the clock, however busy the machine is, and compute
 * nothing; it shows the same loans. */
void make_slow(uint32_t task, unsigned int seconds);
/* Inserts a row of `work` with state @state, for the user @owner_no. No row is logged. */
void add_work(uint32_t task, uint64_t loan_id, unsigned int owner_no, const char *state,
    uint64_t version);
/* Inserts a pending request of a user, made and seen now. Returns its request_id. */
uint64_t add_request(uint32_t task, unsigned int user_no, unsigned int count);
/* Lets 30 users ask for five loans of TASK each; no process of theirs waits. The other function
 * removes the users and the rows of the tests' tasks. */
void many_ask_for_five(void);
void forget_the_many(void);
/* Makes a round the task's last one. @how and @query_ms are columns of leader_run; -1: NULL. */
void add_round(uint32_t task, const char *how, int query_ms);
/* Returns the outcome of the user's newest request, as a word. */
const char *outcome_of(uint32_t task, unsigned int user_no);
/* Returns request_id of the user's newest request. */
uint64_t request_of(uint32_t task, unsigned int user_no);
/* Returns how many rows leader_run has of the task. */
uint64_t rounds_of(uint32_t task);
/* Returns the committed epoch of the task. */
uint64_t epoch_of(uint32_t task);
/* Deletes all rows of the tests' tasks. */
void clear_fixture(void);
/* Removes the tests' tables, views and users, too. */
void remove_fixture(void);

/* Fails the test unless the tables agree, as they must whenever nobody leads: no loan was given
 * twice, `work` is what the log says, each request has the loans that were given to it, and each
 * epoch has its row of leader_run. */
void assert_consistent(uint32_t task);

/* How often any statement on the server has waited for a row lock. */
uint64_t lock_waits(void);
/* These wait until a dirty read shows that the task has a holder, or none; PATIENCE_MS at most. */
void until_led(uint32_t task);
void until_free(uint32_t task);
/* These repeat a query, which is formatted like printf(), on owner() or on @db until it returns 1;
 * PATIENCE_MS at most. */
__attribute__((format(printf, 1, 2))) void until(const char *format, ...);
__attribute__((format(printf, 2, 3))) void until_on(struct db *db, const char *format, ...);
/* Returns how many sessions wait for the lock on a row of the table. Without an administrator no
 * account may see locks, so each running statement that names the table counts. */
uint64_t waiting_for(const char *table);
/* Waits until @n sessions or more wait for the lock on a row of the table, PATIENCE_MS at most. */
void until_waiting_for(const char *table, unsigned int n);

/* A leader that the test plays itself. @with_lock: it has raised the epoch, written itself as the
 * holder, and holds the row of task_lock. @with_wake: it holds the row of task_wake, and its holder
 * entry says so. A connection that is not needed is NULL. */
struct leader_by_hand {
	struct db *lock;
	struct db *wake;
};
struct leader_by_hand lead_by_hand(uint32_t task, bool with_lock, bool with_wake);

/* Returns an SQL expression for the name that a leader of the task holds with GET_LOCK() while its
 * query runs, in the database that the session uses. The text is valid until the next call. */
const char *query_lock_name(uint32_t task);

/* proxy.c: a proxy between client and server. In all its functions a statement matches @text if it
 * contains @text, or, for "=TEXT", if it is TEXT. @nth counts from 1, and from the call on where
 * nothing else is said. */

/* The statement that starts a leader's query, or a follower's wait. */
#define QUERY "EXECUTE lockq_started"
/* The statement that asks a view about some loans, or shows their details. */
#define ASK_VIEW "EXECUTE lockq_view"

struct proxy;
struct proxy *proxy_new(void);
/* Returns how the worker's account connects through the proxy. */
struct lockq_connection proxy_where(struct proxy *proxy);
/* The @nth statement that matches @text is held before the server sees it. */
void proxy_hold(struct proxy *proxy, const char *text, unsigned int nth);
/* From now on each statement is held for which @wish returns true. The proxy's thread calls it,
 * once for each statement. NULL: no more statements are held. */
typedef bool proxy_wish(const char *statement, void *data);
void proxy_hold_each(struct proxy *proxy, proxy_wish *wish, void *data);
/* Copies to @text the statement that was held last, or "" if there was none. Returns how many were
 * held since the proxy was made. */
unsigned int proxy_held(struct proxy *proxy, char *text, size_t size);
/* Waits until a statement is held, PATIENCE_MS at most. */
void proxy_until_held(struct proxy *proxy);
bool proxy_is_holding(struct proxy *proxy);
/* Sends the held statements to the server. */
void proxy_release(struct proxy *proxy);
/* Waits until the server has answered the released statements of proxy_hold_and_cut(), PATIENCE_MS
 * at most. */
void proxy_until_answered(struct proxy *proxy);
/* Waits until no client has a connection, PATIENCE_MS at most. */
void proxy_until_left(struct proxy *proxy);
/* The connection is cut at the @nth statement that matches @text: before the server sees the
 * statement, or after the server has answered it. The client gets no answer. */
enum proxy_cut { CUT_BEFORE, CUT_AFTER };
void proxy_cut(struct proxy *proxy, const char *text, unsigned int nth, enum proxy_cut when);
/* The client is cut off at the @nth statement that matches @text. The server gets this statement
 * only when it is released. */
void proxy_hold_and_cut(struct proxy *proxy, const char *text, unsigned int nth);
/* The @nth statement that matches @text, and the following ones until @times of them have failed,
 * are answered with the server's error number @error. The server does not see them. If the real
 * error would roll the transaction back, the proxy rolls it back. */
void proxy_fail(struct proxy *proxy, const char *text, unsigned int nth, unsigned int times,
    unsigned int error);
/* Passes nothing more on, in either direction, on the connections that are open now, and closes
 * none: a cut cable. */
void proxy_silence(struct proxy *proxy);
/* Cuts the connections that are open now. */
void proxy_drop(struct proxy *proxy);
/* From now on no new connection gets through, until proxy_accept(). */
void proxy_refuse(struct proxy *proxy);
void proxy_accept(struct proxy *proxy);
/* While @crowded is true, a new connection gets the error 1040, too many connections. */
void proxy_crowd(struct proxy *proxy, bool crowded);
/* Waits until @n connections or more got that error since the proxy was made, PATIENCE_MS at
 * most. */
void proxy_until_crowded(struct proxy *proxy, unsigned int n);
/* From now on the proxy ends connections as MySQL Router 9.7 does: when a statement that the client
 * library has prepared gets an error behind the columns of its answer. */
void proxy_route(struct proxy *proxy);
/* Tells new connections that the server has this version. */
void proxy_pretend(struct proxy *proxy, const char *version);
/* Replaces @from by @to in each packet of a client; both must have the same length. */
void proxy_replace(struct proxy *proxy, const char *from, const char *to);
/* Returns how many commands were sent that the server answers. Pings count, and so do a PREPARE and
 * its EXECUTE, each. */
size_t proxy_round_trips(struct proxy *proxy);
/* Return how many statements came since the proxy was made: all of them, or those that match @text.
 * Pings are not statements. */
size_t proxy_total(struct proxy *proxy);
size_t proxy_count(struct proxy *proxy, const char *text);
/* Returns the position of the @nth statement that matches @text since the proxy was made, or
 * SIZE_MAX if there is none. */
size_t proxy_position(struct proxy *proxy, const char *text, unsigned int nth);
/* Returns the number of the connection that ran the statement at @position. Connections are counted
 * from 0, in the order in which they came. */
unsigned int proxy_connection(struct proxy *proxy, size_t position);
/* Copies the statement at @position to @text, which has room for @size bytes. */
void proxy_text(struct proxy *proxy, size_t position, char *text, size_t size);
/* Releases held statements on all proxies, and forgets what is still to be held, cut, failed or
 * refused. */
void proxies_relent(void);
/* Ends and frees all proxies. */
void proxies_end(void);

/* worker.c: calls of lockq_getwork() in threads or processes of their own */

struct worker {
	struct lockq_ask ask;
	struct proxy *proxy;     /* the proxy that it connects through; NULL: none */
	struct lockq *q;         /* its handle */
	struct lockq_answer answer;
	int rc;                  /* of lockq_getwork(), or of lockq_connect() if that failed */
	uint64_t ms;             /* how long the call took */
	char error[1024];        /* lockq_error() after the call */
	volatile bool give_up;   /* set by the test: the progress function cancels the call */
	volatile bool done;      /* the call has returned */
	bool started;
	bool refills;            /* it calls lockq_refill() in place of lockq_getwork(), */
	const struct lockq_disposition *first; /* or lockq_dispose_and_ask(); NULL: it does not */
	struct lockq_disposed_result disposed;
	bool stop_while_reading; /* stops itself with SIGSTOP while it reads the query's rows */
	volatile uint64_t called; /* db_clock_ms() when its progress function was last called */
	volatile bool paused;    /* its progress function has heard of LOCKQ_PHASE_RETRY */
	int report_fd;           /* of worker_fork() */
	int pid;                 /* of worker_fork() */
};

/* Returns a worker that asks for @count loans of @task for user @user_no. The fixture owns it. The
 * worker is not started yet. @timeout_ms of 0 is LOCKQ_WAIT_NONE; a negative one means no
 * timeout. */
struct worker *worker_new(unsigned int user_no, uint32_t task, uint32_t count, int64_t timeout_ms);
/* Starts the call in a thread. */
void worker_start(struct worker *worker);
/* Wait until the call has returned; the test fails if it takes longer than 30 s, or than @ms
 * milliseconds. */
void worker_join(struct worker *worker);
void worker_join_within(struct worker *worker, uint64_t ms);
/* Returns a leader of TASK that has its list and is held by its proxy before it reads the pending
 * requests. */
struct worker *leader_after_its_query(unsigned int user_no, uint32_t count);
/* Make, start and join a worker that does not wait for other leaders. */
struct worker *ask_now(unsigned int user_no, uint32_t task, uint32_t count);
struct worker *ask_within(unsigned int user_no, uint32_t task, uint32_t count, uint64_t ms);
/* Wait until the call waits for a server or for a manager, or has returned. */
void worker_until_paused(struct worker *worker);
/* Returns a worker without a thread, whose handle is connected, for the functions of inside.h. */
struct worker *worker_connected(unsigned int user_no, uint32_t task, uint32_t count);
/* Connects the worker's handle, unless it is connected. */
void worker_connect(struct worker *worker);
/* Ends and frees all workers. A call that does not return ends the program with status 99. */
void workers_end(void);
/* Kills the processes of worker_fork(). A proxy that sends to a stopped one would wait for ever. */
void workers_kill(void);
/* Makes the call in a child process, for signals, and returns the process id. The child exits with
 * the code of lockq_getwork(); 100 is added to a negative code. */
int worker_fork(struct worker *worker);
/* How the call of a child process ended. */
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
/* Reads the report that the child process sent before it exited. */
struct report worker_report(const struct worker *worker);
/* Waits until the process is stopped; returns false if it has ended instead. */
bool worker_until_stopped(int pid);
bool worker_has_exited(int pid);
/* Waits until the process has ended, 30 s at most. Returns its exit status, or -1 if a signal ended
 * it. */
int worker_reap(int pid);

#endif
