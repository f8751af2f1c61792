/* SPDX-License-Identifier: MIT */
/* Fuzzes what a call does after failures: lib/getwork/recover.c and lib/handle/retry.c, over
 * connections that fail as the input says, and a clock that goes on as fast as it says. Any row of
 * failures ends within its budget; no call goes on while a commit is in doubt; none gives up a
 * failure that it might find out; and before each wait what was open is given up.
 * test/db/getwork/test_retry.c and others do the same with a server, for the failures that a server
 * has. */
#include "fuzz.h"

#include "getwork/call.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/retry.h"

enum { CALLS_MOST = 2000 };

static const uint8_t *input;
static size_t left;
static uint64_t now;
static bool connected, behind, cancelled, found_out;
static unsigned int connects, waits, begun, committed, rolled_back;

static const enum db_rc failures[] = { DB_EFAIL, DB_ERETRY, DB_ELOCKWAIT, DB_EDUPLICATE, DB_ELOST,
	DB_ECROWDED, DB_ETIME, DB_EINTERRUPTED, DB_ESHAPE, DB_ECANCELLED, DB_ENOMEM, DB_EINDOUBT,
	DB_EHELD };
enum { N_FAILURES = sizeof(failures) / sizeof(failures[0]) };

/* The next result that the input names. When it has ended, the last failure stays. */
static enum db_rc
next_result(void)
{
	static uint8_t last;

	if (left > 0)
		last = fuzz_byte(&input, &left);
	now += last / 16 * 7;
	if (last % (N_FAILURES + 3) >= N_FAILURES)
		return DB_OK;
	cancelled = cancelled || failures[last % (N_FAILURES + 3)] == DB_ECANCELLED;
	return failures[last % (N_FAILURES + 3)];
}

/* --- in place of the connections ------------------------------------------------------------- */

uint64_t
db_clock_ms(void)
{
	return now;
}

bool
db_is_behind(const struct db *db)
{
	(void)db;
	return behind;
}

enum db_rc
db_set_lock_wait(struct db *db, unsigned int seconds)
{
	(void)db;
	MUST(seconds == DB_BRIEF_WAIT_S);
	return next_result();
}

const char *
db_error(const struct db *db)
{
	(void)db;
	return now % 2 == 0 ? "" : "why";
}

void
db_count_attempt(struct db *db, unsigned int attempt)
{
	(void)db;
	MUST(attempt == begun + 1);
}

enum db_rc
db_begin(struct db *db)
{
	(void)db;
	begun++;
	return next_result();
}

enum db_rc
db_commit(struct db *db)
{
	(void)db;
	committed++;
	return next_result();
}

void
db_rollback(struct db *db)
{
	(void)db;
	rolled_back++;
}

bool
db_lost(const struct db *db)
{
	(void)db;
	return false;
}

/* At least half of the longest sleep, as the real one. */
void
db_backoff(unsigned int try)
{
	now += (try < 6 ? 20u << try : 1000u) / 2;
}

void
list_clear(struct list *list)
{
	list->n = 0;
}

void
error_set(struct lockq *q, const char *format, ...)
{
	(void)format;
	snprintf(q->error, sizeof(q->error), "set");
}

void
error_clear(struct lockq *q)
{
	q->error[0] = '\0';
}

void
error_set_detail(struct lockq *q, const struct db *db)
{
	(void)q;
	(void)db;
}

void
held_task_or_user(struct db *db, uint32_t task_id, const char *user, char text[HELD_BYTES])
{
	(void)db;
	(void)task_id;
	(void)user;
	snprintf(text, HELD_BYTES, "%s", next_result() == DB_OK ? "held" : "");
}

void
held_table(struct db *db, char text[HELD_BYTES])
{
	now += 1000;
	held_task_or_user(db, 0, NULL, text);
}

const struct db *
session_failed(const struct lockq *q)
{
	return q->db;
}

void
session_disconnect(struct lockq *q)
{
	(void)q;
	connected = false;
}

enum db_rc
session_connect(struct lockq *q)
{
	enum db_rc rc = next_result();

	(void)q;
	connects++;
	connected = rc == DB_OK;
	return rc;
}

enum db_rc
session_connect_in(struct lockq *q, uint64_t ms)
{
	(void)ms;
	return session_connect(q);
}

enum db_rc
request_status(struct db *db, const struct request *request, bool in_doubt, bool *pending)
{
	enum db_rc rc = next_result();

	(void)db;
	(void)request;
	MUST(connected && in_doubt);
	*pending = rc == DB_OK && left % 2 == 0;
	found_out = rc == DB_OK;
	return rc;
}

enum db_rc
wait_a_moment(struct lockq *q, enum lockq_phase phase, const char *detail, unsigned int try,
    uint64_t ms, struct waiting *waiting)
{
	(void)q;
	(void)waiting;
	MUST(phase == LOCKQ_PHASE_RETRY && detail != NULL);
	waits++;
	db_backoff(try);
	now += ms;
	return next_result() == DB_ECANCELLED ? DB_ECANCELLED : DB_OK;
}

/* --- the properties -------------------------------------------------------------------------- */

/* The table of lib/handle/retry.h in words. */
static enum verdict
model_verdict(enum db_rc failure, bool is_behind, unsigned int tries, bool within)
{
	bool lasts = failure == DB_ECROWDED || failure == DB_ELOST || failure == DB_EINDOUBT;

	if (tries >= DB_TRIES && !((lasts || is_behind) && within))
		return GIVE_UP;
	if (failure == DB_ERETRY || failure == DB_ELOCKWAIT)
		return AGAIN;
	if (failure == DB_ECROWDED || failure == DB_ELOST)
		return RECONNECT;
	return failure == DB_EINDOUBT ? FIND_OUT : GIVE_UP;
}

static void
check_verdict(uint8_t which, uint8_t tries, uint16_t spent, uint16_t patience)
{
	enum db_rc failure = failures[which % N_FAILURES];
	bool is_behind = which >= 128;
	enum verdict verdict = retry_verdict(failure, is_behind, tries, spent, patience);

	MUST(verdict == model_verdict(failure, is_behind, tries, spent < patience));
	MUST(retry_cures(failure) == (failure == DB_ERETRY || failure == DB_ELOCKWAIT ||
	    failure == DB_ECROWDED || failure == DB_ELOST));
	MUST(retry_verdict(DB_OK, is_behind, tries, spent, patience) == GIVE_UP);
	MUST(!retry_connect(failure, -1, spent));
	MUST(!retry_connect(failure, patience + 1, patience + 1));
	MUST(retry_connect(failure, patience + 1, patience) ==
	    (failure == DB_ECROWDED || failure == DB_ELOST));
}

static enum db_rc
body(struct db *db, void *data)
{
	unsigned int *ran = data;

	(void)db;
	++*ran;
	return next_result();
}

static void
check_transaction(void)
{
	unsigned int ran = 0;
	uint32_t retries = 0;
	enum db_rc rc;

	begun = committed = rolled_back = 0;
	rc = retry_transaction(NULL, body, &ran, &retries);
	MUST(begun >= 1 && begun <= DB_TRIES);
	MUST(retries == begun - 1);
	MUST(ran <= begun && committed <= ran);
	/* Each try that has failed was rolled back, and none that was done. */
	MUST(rolled_back == begun - (rc == DB_OK));
	MUST(rc != DB_OK || committed >= 1);
	MUST((rc != DB_ERETRY && rc != DB_ELOCKWAIT) || begun == DB_TRIES);
}

/* One recovery of a call, at any step. Returns false where the call ends with it. */
static bool
check_recover(struct call *c, enum db_rc failure, enum step from, uint64_t began)
{
	enum step step = from;
	uint64_t start = now;
	unsigned int before = connects;
	bool waits_for_holder = failure == DB_ELOCKWAIT && (from < LEAD || from == FOLLOW);
	enum db_rc rc;

	cancelled = found_out = false;
	rc = recover(c, failure, &step);
	/* What no try can mend ends the call at once, as it came. */
	if (!waits_for_holder && model_verdict(failure, behind, 0, true) == GIVE_UP)
		MUST(rc == failure && connects == before);
	if (rc != DB_OK) {
		MUST(rc != DB_ECANCELLED || cancelled || failure == DB_ECANCELLED);
		MUST(!c->in_doubt || rc == DB_EINDOUBT || rc == DB_ECANCELLED);
		MUST(failure != DB_EINDOUBT || found_out || rc == DB_EINDOUBT ||
		    rc == DB_ECANCELLED);
		return false;
	}
	/* Only what a lost connection has kept from looking at the list looks there again. */
	MUST((step == TAKE) == (from == TAKE && !c->sent && connects > before));
	MUST(step == TAKE || step == ASK || step == LOOK || (waits_for_holder &&
	    (step == PENDING || step == TIMED_OUT)));
	/* Without a recorded request there is no row to look at. */
	MUST(step != LOOK || c->request.request_id != 0 || (from != ASK && from != TAKE));
	MUST(!c->in_doubt);
	MUST(failure != DB_EINDOUBT || found_out);
	MUST(waits_for_holder || connects > before);
	/* 30 s of patience, a wait of a second, and what the tries themselves took. */
	MUST(waits_for_holder || c->tries < DB_TRIES || behind ||
	    start - began < PATIENCE_MS + 1000 + CALLS_MOST * 112);
	return step == TAKE || step == ASK || step == LOOK;
}

static void
check_call(uint8_t flags, uint16_t seconds)
{
	static struct lockq q;
	static struct lockq_answer answer;
	const struct lockq_ask ask = { .user = "u", .task = 7,
		.timeout_ms = flags & 1 ? 0 : 1000,
		.wait = flags & 2 ? LOCKQ_WAIT_BLOCKING : LOCKQ_WAIT_NONE };
	struct call c = { .q = &q, .ask = &ask, .answer = &answer };
	unsigned int calls = 0;
	uint64_t began = now;

	c.request.request_id = flags & 4 ? 9 : 0;
	c.sent = flags & 16;
	c.waiting.deadline = now + seconds;
	behind = flags & 8;
	connected = true;
	connects = waits = 0;
	for (;;) {
		enum step from = (enum step)(left > 0 ? fuzz_byte(&input, &left) % ANSWERED : LOOK);
		enum db_rc failure = left > 0 ? next_result() : DB_ELOST;

		if (failure == DB_OK)
			failure = DB_ELOST;
		if (!check_recover(&c, failure, from, began))
			break;
		MUST(++calls < CALLS_MOST);
	}
	/* Six tries, then one in half a second at least until the patience or the time is over. */
	MUST(connects <= DB_TRIES + 1 + PATIENCE_MS / 500 + calls);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t a, b, d, e, f, g;

	input = data;
	left = size;
	now = 1000;
	a = fuzz_byte(&input, &left);
	b = fuzz_byte(&input, &left);
	d = fuzz_byte(&input, &left);
	e = fuzz_byte(&input, &left);
	f = fuzz_byte(&input, &left);
	g = fuzz_byte(&input, &left);
	check_verdict(a, b, (uint16_t)(d * 256 + e), (uint16_t)(f * 256 + g));
	if (a % 2 == 0)
		check_transaction();
	else
		check_call(b, (uint16_t)(d * 256 + e));
	return 0;
}
