/* SPDX-License-Identifier: MIT */
/*
 * What the files of seedloans share. The steps and their files stand below. loan.c makes up a loan
 * of the random numbers of rng.c and the names in words.c. For import.c, csvfile.c reads rows,
 * map.c finds which column is which field, field.c reads the text of a field, and rejects.c writes
 * the file of bad rows.
 *
 * Functions return enum lockq_rc, with the reason in the seed's report, unless their comment says
 * otherwise.
 */
#ifndef LOCKQ_CMD_SEEDLOANS_TOOL_H
#define LOCKQ_CMD_SEEDLOANS_TOOL_H

#include "db/db.h"
#include "handle/retry.h"
#include "seedloans/loan.h"
#include "seedloans/seed.h"

struct seed {
	const struct where *where;
	const struct seed_options *options;
	struct seed_report *report;
	struct db *db;
	seed_progress_fn *progress;
	void *progress_data;
	uint64_t told;              /* db_clock_ms() of the last progress */
	enum seed_phase told_phase; /* its phase */
};

/* seed.c */

/* Names for GET_LOCK: one for the seedloans that is at work, one for its second lane. */
#define SEED_TURN "CONCAT('lockq seed ', LEFT(SHA2(DATABASE(), 256), 40))"
#define SEED_SECOND "CONCAT('lockq seed 2 ', LEFT(SHA2(DATABASE(), 256), 40))"

/* tell.c */

/* Sets the reason and returns @code. */
__attribute__((format(printf, 3, 4)))
int seed_fail(const struct seed *seed, int code, const char *format, ...);
/* The same for what the database layer returned on @db; 0 stays 0. */
LOCKQ_MUST_CHECK int seed_from_db(const struct seed *seed, const struct db *db, enum db_rc rc);
/* Tells the caller how far it is. Returns LOCKQ_CANCELLED when the caller gives up. */
LOCKQ_MUST_CHECK int seed_tell(struct seed *seed, enum seed_phase phase, uint64_t done,
    uint64_t total);

/* load.c: loans and their documents, a batch in one transaction */

enum { SEED_BATCH = 2000 };
struct load_document {
	uint64_t document_id, loan_id;
	struct seed_document document;
};
struct seed_load {
	struct seed *seed;
	struct db *db;          /* the seed's, unless the caller sets another */
	struct seed_loan *loans;
	struct load_document *documents;
	uint64_t next_document; /* the next free document_id */
	size_t n_loans, n_documents;
	bool one_transaction;   /* the caller begins and commits */
	transaction_fn *also;   /* runs last in the batch's transaction; or NULL */
	void *also_data;
};
/* @load is all zero before. Release it with seed_load_end(), whatever this returns. */
LOCKQ_MUST_CHECK int seed_load_begin(struct seed_load *load, struct seed *seed);
void seed_load_add(struct seed_load *load, const struct seed_loan *loan);
/* Writes the batch, and leaves the report alone. */
LOCKQ_MUST_CHECK enum db_rc seed_load_write(struct seed_load *load);
/* Comes after seed_load_write(), with its @rc: adds a written batch to the report, and empties it.
 * *@duplicate is true, and 0 is returned, when a loan of the batch existed already: then nothing of
 * the batch was written. */
LOCKQ_MUST_CHECK int seed_load_done(struct seed_load *load, enum db_rc rc, bool *duplicate);
void seed_load_end(struct seed_load *load);

/* made_up.c */

/* Makes up options->loans loans, after the largest that is there. */
LOCKQ_MUST_CHECK int seed_load_made_up(struct seed *seed);

/* people.c */

/* Adds the users and tasks that are not there yet. */
LOCKQ_MUST_CHECK int seed_people(struct seed *seed);
LOCKQ_MUST_CHECK int seed_tasks(struct seed *seed);

/* reset.c: returns LOCKQ_BUSY when a process leads or uses a table */

LOCKQ_MUST_CHECK int seed_reset(struct seed *seed);

/* calibrate.c: makes task 7's query take options->heavy_ms */

LOCKQ_MUST_CHECK int seed_calibrate(struct seed *seed);

/* import.c: a CSV file */

struct seed_import;
/* Opens the file and finds out which column is which field; it writes nothing. */
LOCKQ_MUST_CHECK int seed_import_open(struct seed_import **import, struct seed *seed);
/* For --strict: reads all rows. Returns LOCKQ_EREFUSED when one is bad. */
LOCKQ_MUST_CHECK int seed_import_check(struct seed_import *import);
LOCKQ_MUST_CHECK int seed_import_load(struct seed_import *import);
void seed_import_free(struct seed_import *import);

#endif
