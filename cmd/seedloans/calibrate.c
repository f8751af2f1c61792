/* SPDX-License-Identifier: MIT */
/* Task 7's view does a number of rounds of work. The cost of a round on this server is measured,
 * and the number is set so that the query takes --heavy seconds. */
#include <math.h>
#include <stdio.h>

#include "list/search.h"
#include "seedloans/tool.h"

static const char heavy_view[] = "candidates_verify_bank_account";

static const struct db_query read_rounds = {
	"read_rounds",
	"SELECT value, @@max_allowed_packet FROM example_setting WHERE name = 'heavy_rounds'",
	DB_ONE
};
static const struct db_query write_rounds = {
	"write_rounds",
	"UPDATE example_setting SET value = ? WHERE name = 'heavy_rounds'",
	DB_NO_ROWS
};

enum {
	CHECKSUM_BYTES = 64,    /* what a round repeats; REPEAT ends at max_allowed_packet */
	FIRST_ROUNDS = 64,
	LIMIT_S = 3600,
	HEAVY_TASK = 7,
	LIMIT_ROWS = 10000,     /* a task's usual candidate_limit */
	PROBE_RUNS = 3
};
static const double probe_s = 0.5; /* a probe this long tells a round's cost from noise */
static const double close_enough = 0.05; /* a result this near the goal needs no correction */
static const double busy = 1.2; /* a round this many times dearer: other work slows the server */

struct measuring {
	struct seed *seed;
	uint64_t started;
	uint64_t expected_ms;
	uint64_t rows;
	int code; /* enum lockq_rc: why measure_tick() gave up */
};

static int
measure_tick(void *data)
{
	struct measuring *m = data;
	uint64_t now = db_clock_ms();

	m->code = seed_tell(m->seed, SEED_MEASURE, now - m->started, m->expected_ms);
	if (m->code == 0)
		m->code = seed_from_db(m->seed, m->seed->db, db_keep_alive(m->seed->db));
	return m->code;
}

static int
count_row(char **cells, const unsigned long *lengths, void *data)
{
	struct measuring *m = data;

	(void)cells;
	(void)lengths;
	m->rows++;
	return 0;
}

static int
set_rounds(struct seed *seed, uint64_t rounds)
{
	return seed_from_db(seed, seed->db,
	    db_run(seed->db, &write_rounds, DB_ARGS(db_u64(rounds)), NULL));
}

/* Runs the query on a connection of its own, as a leader does. */
static int
measure(struct seed *seed, uint64_t rounds, double expected_s, double *seconds)
{
	struct measuring m = { .seed = seed, .expected_ms = (uint64_t)(expected_s * 1000) };
	char sql[VIEW_SQL_BYTES];
	const struct db_query heavy_query = { "heavy_query", sql, DB_VIEW };
	struct db *db = NULL;
	enum db_rc rc, kill_rc;
	int code;

	code = set_rounds(seed, rounds);
	if (code != 0)
		return code;
	rc = db_connect(&db, seed->where);
	if (rc == DB_OK)
		rc = view_statement(sql, heavy_view);
	if (rc == DB_OK)
		rc = db_set_time_limit(db, LIMIT_S * 1000);
	if (rc == DB_OK)
		rc = db_start(db, &heavy_query, DB_ARGS(db_u64(HEAVY_TASK), db_u64(LIMIT_ROWS)));
	m.started = db_clock_ms();
	if (rc == DB_OK)
		rc = db_wait(db, LIMIT_S, measure_tick, &m);
	if (rc == DB_ECANCELLED) {
		/* The server does not notice that nobody waits for the query any more. */
		kill_rc = db_kill(seed->db, db_connection_id(db), NULL);
		code = kill_rc == DB_ELOST ? seed_from_db(seed, seed->db, kill_rc) : m.code;
	} else {
		if (rc == DB_OK)
			rc = db_fetch(db, 1, count_row, &m);
		code = seed_from_db(seed, db, rc);
	}
	*seconds = (double)(db_clock_ms() - m.started) / 1000;
	if (code == 0 && m.rows == 0)
		code = seed_fail(seed, LOCKQ_EREFUSED, "no loan matches task 7, so its query has "
		    "nothing to do: add some with --loans");
	db_close(db);
	return code;
}

/* The shortest of a few runs: other work on the machine only ever adds time. */
static int
measure_least(struct seed *seed, uint64_t rounds, double *seconds)
{
	double took = 0, total = 0;
	int code, i;

	*seconds = 0;
	for (i = 0; i < PROBE_RUNS && total < PROBE_RUNS * probe_s; i++) {
		code = measure(seed, rounds, 0, &took);
		if (code != 0)
			return code;
		*seconds = i == 0 ? took : fmin(*seconds, took);
		total += took;
	}
	return 0;
}

/* Measures the query without rounds, and the time that a round adds. */
static int
probe(struct seed *seed, double *base, double *per_round)
{
	double goal = (double)seed->options->heavy_ms / 1000, took = 0;
	uint64_t rounds = FIRST_ROUNDS;
	int code;

	/* The first run reads the tables into memory. */
	code = measure(seed, 0, 0, base);
	if (code == 0)
		code = measure_least(seed, 0, base);
	while (code == 0 && *base < goal) {
		code = measure(seed, rounds, 0, &took);
		if (took - *base >= fmin(probe_s, goal / 2) || rounds > UINT32_MAX)
			break;
		rounds *= 4;
	}
	if (code == 0 && *base < goal)
		code = measure_least(seed, rounds, &took);
	*per_round = fmax(took - *base, 0.001) / (double)rounds;
	return code;
}

/* Sets the rounds that follow from the probe, measures, and corrects them. A run much slower than
 * the probe is not corrected: other work on the machine made it slow, not the query. */
static int
approach(struct seed *seed, uint64_t most_rounds, double *took)
{
	double goal = (double)seed->options->heavy_ms / 1000, base = 0, probed = 0, per_round;
	uint64_t rounds;
	int code, i;

	code = probe(seed, &base, &probed);
	*took = base;
	seed->report->heavy_by_itself = code == 0 && base >= goal;
	if (seed->report->heavy_by_itself)
		return set_rounds(seed, 0);
	per_round = probed;
	for (i = 0; code == 0 && i < 3; i++) {
		if ((goal - base) / per_round > (double)most_rounds)
			return seed_fail(seed, LOCKQ_EREFUSED, "--heavy %g needs a larger "
			    "max_allowed_packet on the server", goal);
		rounds = (uint64_t)((goal - base) / per_round + 0.5);
		code = measure(seed, rounds, goal, took);
		per_round = fmax(*took - base, 0.001) / fmax((double)rounds, 1);
		if (fabs(*took - goal) <= goal * close_enough || per_round > probed * busy)
			break;
	}
	return code;
}

/* A calibration that failed or was interrupted leaves the query as it was. */
static void
restore_rounds(struct seed *seed, uint64_t rounds)
{
	char reason[sizeof(seed->report->error)];

	snprintf(reason, sizeof(reason), "%s", seed->report->error);
	if (set_rounds(seed, rounds) != 0)
		seed_fail(seed, 0, "%.900s: task 7's query may now take longer than before",
		    reason);
	else
		seed_fail(seed, 0, "%s", reason);
}

int
seed_calibrate(struct seed *seed)
{
	uint64_t before = 0, most_rounds = 0;
	struct db_rows rows = { 0 };
	double took = 0;
	enum db_rc rc;
	int code;

	rc = db_run(seed->db, &read_rounds, DB_NO_ARGS, &rows);
	if (rc == DB_OK) {
		before = db_cell_u64(&rows, 0, 0);
		most_rounds = db_cell_u64(&rows, 0, 1) / CHECKSUM_BYTES;
	}
	db_rows_clear(&rows);
	code = seed_from_db(seed, seed->db, rc);
	if (code == 0 && seed->options->heavy_ms == 0)
		return set_rounds(seed, 0);
	if (code == 0)
		code = approach(seed, most_rounds, &took);
	if (code == 0)
		seed->report->heavy_ms = (int64_t)(took * 1000);
	else
		restore_rounds(seed, before);
	return code;
}
