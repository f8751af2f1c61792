/* SPDX-License-Identifier: MIT */
#include "seedloans/seed.h"

#include <stdarg.h>
#include <stdio.h>

#include "handle/where.h"
#include "seedloans/tool.h"

/* Two seedloans at once would give out the same ids. The locks end with their connections: the wait
 * is for the last batches of both lanes of a seedloans that was killed just before. */
static const struct db_query only_one = {
	"only_one",
	"SELECT GET_LOCK(" SEED_TURN ", 2) = 1"
	"   AND GET_LOCK(" SEED_SECOND ", 2) = 1 AND RELEASE_LOCK(" SEED_SECOND ") = 1",
	DB_ONE
};

/* Counts task only to refuse a database without that table before --reset empties the others. */
static const struct db_query whats_there = {
	"whats_there",
	"SELECT (SELECT COUNT(*) FROM loan),"
	"       (SELECT COUNT(*) FROM example_task),"
	"       (SELECT COUNT(*) FROM example_setting),"
	"       (SELECT COUNT(*) FROM task)",
	DB_ONE
};

/* Without new statistics the first queries after a large load run with a bad plan. */
static const struct db_query analyze = {
	"analyze", "ANALYZE TABLE loan, loan_document", DB_MANY
};

static int
take_turn(struct seed *seed)
{
	uint64_t ours;
	enum db_rc rc = db_number(seed->db, &only_one, DB_NO_ARGS, &ours);

	if (rc == DB_OK && ours != 1)
		return seed_fail(seed, LOCKQ_BUSY, "another seedloans is at work on database "
		    "\"%s\": try again when it is done", db_database(seed->db));
	return seed_from_db(seed, seed->db, rc);
}

static int
look_around(struct seed *seed)
{
	struct db_rows rows = { 0 };
	bool example = false;
	enum db_rc rc;
	int code;

	rc = db_run(seed->db, &whats_there, DB_NO_ARGS, &rows);
	if (rc == DB_OK) {
		seed->report->loans_before = seed->options->reset ? 0 : db_cell_u64(&rows, 0, 0);
		example = db_cell_u64(&rows, 0, 1) > 0 && db_cell_u64(&rows, 0, 2) > 0;
	}
	db_rows_clear(&rows);
	code = seed_from_db(seed, seed->db, rc);
	if (code == 0 && !example)
		code = seed_fail(seed, LOCKQ_EDATABASE, "the example's tables are there but not "
		    "filled: run lockq-migrate --example");
	return code;
}

/* The file is checked before --reset empties anything. */
static int
fill(struct seed *seed, struct seed_import *import)
{
	const struct seed_options *options = seed->options;
	struct db_rows rows = { 0 };
	uint64_t started;
	int code;

	code = take_turn(seed);
	if (code == 0)
		code = look_around(seed);
	if (code == 0 && import != NULL && options->strict)
		code = seed_import_check(import);
	if (code == 0 && options->reset)
		code = seed_reset(seed);
	if (code == 0)
		code = seed_people(seed);
	if (code == 0)
		code = seed_tasks(seed);
	started = db_clock_ms();
	if (code == 0 && import != NULL)
		code = seed_import_load(import);
	if (code == 0 && options->loans > 0)
		code = seed_load_made_up(seed);
	seed->report->load_ms = db_clock_ms() - started;
	seed->report->loans_per_second = seed->report->loans * 1000 /
	    (seed->report->load_ms > 0 ? seed->report->load_ms : 1);
	if (code == 0 && seed->report->loans > 0)
		code = seed_tell(seed, SEED_ANALYZE, 0, 0);
	if (code == 0 && seed->report->loans > 0)
		code = seed_from_db(seed, seed->db, db_run(seed->db, &analyze, DB_NO_ARGS, &rows));
	db_rows_clear(&rows);
	if (code == 0 && options->heavy_ms >= 0)
		code = seed_calibrate(seed);
	return code;
}

/* Batches that were committed stay, also after a failure. */
static void
say_what_stays(const struct seed *seed)
{
	char reason[sizeof(seed->report->error)];

	if (seed->report->loans == 0)
		return;
	snprintf(reason, sizeof(reason), "%s", seed->report->error);
	seed_fail(seed, 0, "%.900s: %llu loans were added and are kept", reason,
	    (unsigned long long)seed->report->loans);
}

/* Tries again as long as retry_connect() says. */
static enum db_rc
connect_for(struct db **db, const struct where *where, int64_t timeout_ms)
{
	uint64_t start = db_clock_ms();

	for (unsigned int try = 0;; try++) {
		enum db_rc rc = db_connect(db, where);

		if (!retry_connect(rc, timeout_ms, db_clock_ms() - start))
			return rc;
		db_close(*db);
		db_backoff(try);
	}
}

int
seed_run(const struct lockq_connection *connection, const struct seed_options *options,
    seed_progress_fn *progress, void *progress_data, struct seed_report *report)
{
	struct where where = { .port = 0 }, unused = { .port = 0 };
	struct where_report read;
	struct seed seed = { &where, options, report, NULL, progress, progress_data, 0,
		SEED_CHECK };
	struct seed_import *import = NULL;
	uint64_t started = db_clock_ms();
	enum db_rc rc;
	int code = LOCKQ_OK;

	*report = (struct seed_report){ .heavy_ms = -1 };
	if (options->csv != NULL)
		code = seed_import_open(&import, &seed);
	if (code == 0) {
		rc = where_read(&where, &unused, connection, &read);
		snprintf(report->warning, sizeof(report->warning), "%s", read.warning);
		if (rc != DB_OK)
			code = seed_fail(&seed, rc == DB_ENOMEM ? LOCKQ_ENOMEM : LOCKQ_EUSAGE, "%s",
			    read.error);
	}
	if (code == 0 && options->reset && options->confirm != NULL) {
		code = options->confirm(where.text[WHERE_DATABASE], where.text[WHERE_HOST]);
		if (code != 0)
			(void)seed_fail(&seed, code, "nothing was emptied");
	}
	if (code == 0) {
		rc = connect_for(&seed.db, &where, connection->connect_timeout_ms);
		code = rc == DB_OK || rc == DB_ENOMEM ? seed_from_db(&seed, seed.db, rc) :
		    seed_fail(&seed, LOCKQ_EDATABASE, "%s; %s", db_error(seed.db), read.read);
	}
	if (code == 0)
		code = fill(&seed, import);
	if (code != 0)
		say_what_stays(&seed);
	report->ms = db_clock_ms() - started;
	seed_import_free(import);
	db_close(seed.db);
	where_clear(&where);
	where_clear(&unused);
	return code;
}
