/* SPDX-License-Identifier: MIT */
/*
 * Made-up loans are loaded by two lanes, each with a connection and a thread. A lane makes up a
 * batch, writes it, and commits it when all batches before it are committed. So the server works on
 * two batches at once, and a process that is killed still leaves loans without a gap.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "seedloans/tool.h"

static const struct db_query largest_loan = {
	"largest_loan", "SELECT MAX(loan_id) FROM loan", DB_ONE
};

static const struct db_query take_second = {
	"take_second", "SELECT GET_LOCK(" SEED_SECOND ", 0)", DB_ONE
};

struct made_up {
	struct seed *seed;
	uint64_t first, total;  /* loans */
	pthread_mutex_t mutex;  /* for the members below, and for the seed's report */
	pthread_cond_t turned;
	uint64_t made;
	uint64_t next_document;
	uint64_t batches, turn; /* how many were given out; how many are done, well or not */
	int code;               /* enum lockq_rc: of the first batch that failed */
};

struct lane {
	struct made_up *m;
	struct seed_load load;
	uint64_t batch;
};

/* Makes up the next batch. One lane at a time does so, since documents are numbered in order. */
static bool
take_batch(struct lane *lane)
{
	struct made_up *m = lane->m;
	uint64_t seed = m->seed->options->seed;
	struct seed_load *load = &lane->load;
	struct seed_loan loan;
	bool more;

	pthread_mutex_lock(&m->mutex);
	more = m->code == 0 && m->made < m->total;
	if (more) {
		load->next_document = m->next_document;
		while (load->n_loans < SEED_BATCH && m->made < m->total) {
			loan_make(&loan, seed, m->first + m->made++);
			seed_load_add(load, &loan);
		}
		m->next_document += load->n_documents;
		lane->batch = m->batches++;
	}
	pthread_mutex_unlock(&m->mutex);
	return more;
}

/* Waits, with the mutex held, until all batches before this one are done. The connection is kept
 * alive meanwhile, or the server would close it as idle. */
static enum db_rc
wait_turn(struct lane *lane)
{
	struct made_up *m = lane->m;
	struct timespec until;
	enum db_rc rc = DB_OK;

	while (m->turn != lane->batch) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		if (pthread_cond_timedwait(&m->turned, &m->mutex, &until) != ETIMEDOUT ||
		    rc != DB_OK)
			continue;
		pthread_mutex_unlock(&m->mutex);
		rc = db_keep_alive(lane->load.db);
		pthread_mutex_lock(&m->mutex);
	}
	return rc;
}

/* Runs last in a batch's transaction: its COMMIT comes next. */
static enum db_rc
before_commit(struct db *db, void *data)
{
	struct lane *lane = data;
	enum db_rc rc;

	(void)db;
	pthread_mutex_lock(&lane->m->mutex);
	rc = wait_turn(lane);
	if (rc == DB_OK && lane->m->code != 0)
		rc = DB_ECANCELLED;
	pthread_mutex_unlock(&lane->m->mutex);
	return rc;
}

/* Only the first failure sets the reason. */
static void
end_turn(struct lane *lane, enum db_rc rc)
{
	struct made_up *m = lane->m;
	bool duplicate;

	pthread_mutex_lock(&m->mutex);
	(void)wait_turn(lane);
	if (m->code == 0) {
		m->code = seed_load_done(&lane->load, rc, &duplicate);
		if (duplicate)
			m->code = seed_fail(m->seed, LOCKQ_EDATABASE,
			    "another program is adding loans: run seedloans again");
		/* The caller's progress function runs in the caller's thread only. */
		if (m->code == 0 && lane->load.db == m->seed->db)
			m->code = seed_tell(m->seed, SEED_LOAD, m->seed->report->loans, m->total);
	}
	m->turn++;
	pthread_cond_broadcast(&m->turned);
	pthread_mutex_unlock(&m->mutex);
}

static void
run_lane(struct lane *lane)
{
	lane->load.also = before_commit;
	lane->load.also_data = lane;
	while (take_batch(lane))
		end_turn(lane, seed_load_write(&lane->load));
}

/* The second lane is only for speed: without its connection the first one does it alone. */
static void *
run_second(void *data)
{
	struct lane *lane = data;
	const struct seed *seed = lane->m->seed;
	struct db *db = NULL;
	uint64_t ours = 0;
	enum db_rc rc;

	rc = db_connect(&db, seed->where);
	if (rc == DB_OK && db_same_server(db, seed->db))
		rc = db_number(db, &take_second, DB_NO_ARGS, &ours);
	if (rc == DB_OK && ours == 1) {
		lane->load.db = db;
		run_lane(lane);
	}
	db_close(db);
	return NULL;
}

static int
first_free_loan(struct seed *seed, uint64_t *loan_id)
{
	enum db_rc rc = db_number(seed->db, &largest_loan, DB_NO_ARGS, loan_id);

	if (rc != DB_OK)
		return seed_from_db(seed, seed->db, rc);
	++*loan_id;
	if (*loan_id == 0 || *loan_id > UINT64_MAX - seed->options->loans)
		return seed_fail(seed, LOCKQ_EUSAGE,
		    "there is no room for so many loans after the largest loan_id: --reset empties "
		    "the tables first");
	return 0;
}

static int
run_lanes(struct made_up *m, struct lane lanes[2])
{
	pthread_t second;
	sigset_t all, before;
	bool started;

	m->next_document = lanes[0].load.next_document;
	/* The new thread takes no signals: they are for the caller's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = m->total > SEED_BATCH &&
	    pthread_create(&second, NULL, run_second, &lanes[1]) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	run_lane(&lanes[0]);
	/* The steps after this use the first lane's connection, so it is kept alive until the
	 * second lane is done. */
	pthread_mutex_lock(&m->mutex);
	lanes[0].batch = m->batches;
	(void)wait_turn(&lanes[0]);
	pthread_mutex_unlock(&m->mutex);
	if (started)
		pthread_join(second, NULL);
	return m->code == 0 ? seed_tell(m->seed, SEED_LOAD, m->total, m->total) : m->code;
}

int
seed_load_made_up(struct seed *seed)
{
	struct made_up m = {
		.seed = seed, .total = seed->options->loans,
		.mutex = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER
	};
	struct lane lanes[2] = { { .m = &m }, { .m = &m } };
	int code;

	code = first_free_loan(seed, &m.first);
	if (code == 0)
		code = seed_load_begin(&lanes[0].load, seed);
	if (code == 0)
		code = seed_load_begin(&lanes[1].load, seed);
	if (code == 0)
		code = run_lanes(&m, lanes);
	seed_load_end(&lanes[0].load);
	seed_load_end(&lanes[1].load);
	return code;
}
