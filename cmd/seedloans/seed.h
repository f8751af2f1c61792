/* SPDX-License-Identifier: MIT */
/* Fills a database with the example: people, tasks, loans and their documents. */
#ifndef LOCKQ_CMD_SEEDLOANS_SEED_H
#define LOCKQ_CMD_SEEDLOANS_SEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockq.h"

enum { SEED_USERS_MIN = 24, SEED_USERS_MAX = 100000, SEED_HEAVY_MAX_S = 300 };
#define SEED_LOANS_MAX 1000000000ULL

/* Asks whether the tables of this database are to be emptied; either may be NULL for the usual one.
 * Returns 0 to go on, or what seed_run() is to return. */
typedef int seed_confirm_fn(const char *database, const char *host);

struct seed_options {
	uint64_t loans;       /* to make up; 0: none */
	uint64_t seed;        /* the same seed makes the same loans on any machine */
	int64_t heavy_ms;     /* how long task 7's query is to take; negative: as it is */
	const char *csv;      /* loans to read from a file; NULL: none */
	const char *map;      /* field=Column,…; NULL: columns are named like the fields */
	char delimiter;       /* between the fields; 0: a comma, or what a line sep= says */
	const char *rejects;  /* where bad rows go; NULL: @csv's name and ".rejects.csv", here */
	uint32_t users;       /* 0: SEED_USERS_MIN */
	bool strict;          /* one bad row and nothing is loaded */
	bool reset;           /* empty lockq's and the example's tables first */
	seed_confirm_fn *confirm; /* asked before that; or NULL */
};
#define SEED_OPTIONS_INIT { 0, 1, -1, NULL, NULL, 0, NULL, 0, false, false, NULL }

enum seed_phase { SEED_CHECK, SEED_RESET, SEED_LOAD, SEED_ANALYZE, SEED_MEASURE };
struct seed_progress {
	enum seed_phase phase;
	uint64_t done, total; /* loans, bytes of the file, or milliseconds; total 0: not known */
	uint64_t loans;       /* loaded so far */
};
/* Called when a phase begins, and about ten times a second. Not 0: give up; the loans that were
 * committed stay. With strict all are committed at the end of the file. */
typedef int seed_progress_fn(const struct seed_progress *progress, void *data);

/* Why rows were left out. */
enum { SEED_REASONS = 8, SEED_REASON_BYTES = 128 };
struct seed_reason {
	char text[SEED_REASON_BYTES]; /* as in "amount is not an amount" */
	uint64_t rows;
};

/* The changes that were made, and the rows that are there now. */
struct seed_report {
	uint64_t loans_before;  /* that were there and stayed */
	uint64_t loans, documents, rejected;
	struct seed_reason reasons[SEED_REASONS]; /* the last one is for all others */
	size_t n_reasons;
	uint64_t users, tasks;  /* in the database */
	uint64_t ms;            /* all of it */
	uint64_t load_ms;
	uint64_t loans_per_second;
	int64_t heavy_ms;       /* task 7's query as measured last; negative: not measured */
	bool heavy_by_itself;   /* more than was asked, without any extra work */
	char rejects[4096];     /* "" where there is no such file */
	char error[1024];
	char warning[1024];     /* as lockq_warning(); or "" */
};

/**
 * seed_run:
 *
 * Returns:
 * 0
 * LOCKQ_EUSAGE     a file, a mapping or an option file can't be used, and nothing was changed; or,
 *                  after the load has begun, the CSV file can't be read further or the rejects file
 *                  can't be written; or there is no room for so many loans after the largest
 *                  loan_id
 * LOCKQ_EREFUSED   @options->confirm said no; or a row is bad and strict is set, and nothing was
 *                  changed; or all rows of the file are bad; or heavy_ms can't be
 *                  set, since no loan matches or max_allowed_packet is too small
 * LOCKQ_BUSY       somebody leads a task or uses a table that is to be reset, or another seedloans
 *                  is at work
 * LOCKQ_CANCELLED  @progress gave up
 * LOCKQ_EUNKNOWN   the connection was lost at a COMMIT
 * LOCKQ_EDATABASE, LOCKQ_ENOMEM
 *
 * After a failure @report->error has the reason. Changes that were committed stay, and
 * @report->loans is the number of loans that were added.
 */
LOCKQ_MUST_CHECK int seed_run(const struct lockq_connection *connection,
    const struct seed_options *options, seed_progress_fn *progress, void *progress_data,
    struct seed_report *report);

/* --- output.c: prints what was done, as text for people or as JSON --- */

void seedloans_print(bool json, const struct seed_options *options,
    const struct seed_report *report);

#endif
