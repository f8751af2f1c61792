/* SPDX-License-Identifier: MIT */
/* A loan and its documents, and how they are made up. */
#ifndef LOCKQ_CMD_SEEDLOANS_LOAN_H
#define LOCKQ_CMD_SEEDLOANS_LOAN_H

#include <stddef.h>
#include <stdint.h>

/* Characters that the columns of schema/example/100-loans.sql hold, and digits of the amount. */
enum { LOAN_APPLICANT = 128, LOAN_CITY = 64, LOAN_STATE = 32, LOAN_AMOUNT_DIGITS = 12 };

struct seed_loan {
	uint64_t loan_id;
	uint64_t cents;
	int64_t submitted;                     /* as in when.h */
	char applicant[LOAN_APPLICANT * 4 + 1];
	char city[LOAN_CITY * 4 + 1];          /* "": not known */
	char state[LOAN_STATE * 4 + 1];        /* "": not known */
};

struct seed_document {
	const char *kind;
	const char *status;
	int64_t submitted;
	int64_t checked;                       /* 0: not yet */
	char checksum[65];
};
enum { LOAN_DOCUMENTS = 6 };

/* Makes up a loan from @seed and @loan_id alone: the same seed gives the same loans everywhere. */
void loan_make(struct seed_loan *loan, uint64_t seed, uint64_t loan_id);
/* The stage and the documents, also of a loan that was read from a file. */
const char *loan_stage(const struct seed_loan *loan, uint64_t seed);
size_t loan_documents(const struct seed_loan *loan, uint64_t seed,
    struct seed_document documents[LOAN_DOCUMENTS]);

#endif
