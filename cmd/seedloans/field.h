/* SPDX-License-Identifier: MIT */
/* The fields of a loan in a CSV file: what they are called, how their text is read. */
#ifndef SEED_FIELD_H
#define SEED_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loan.h"

enum field {
	FIELD_LOAN_ID,
	FIELD_APPLICANT,
	FIELD_AMOUNT,
	FIELD_SUBMITTED_AT,
	FIELD_CITY,
	FIELD_STATE,
	N_FIELDS
};

const char *field_name(enum field field);
bool field_is_required(enum field field);
/* N_FIELDS where there is none of that name. */
enum field field_by_name(const char *name, size_t length);

/* Reads @text into @loan. Returns NULL, or what is wrong with it: static text. */
const char *field_read(struct seed_loan *loan, enum field field, const char *text, size_t length);

/* The parts of it. */
const char *field_read_id(uint64_t *id, const char *text);
/* Dollars with at most two decimals, with or without $ and commas between thousands. */
const char *field_read_amount(uint64_t *cents, const char *text);

#endif
