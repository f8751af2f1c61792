/* SPDX-License-Identifier: MIT */
/* The fields of a loan in a CSV file: their names, and how their text is read. */
#ifndef LOCKQ_CMD_SEEDLOANS_FIELD_H
#define LOCKQ_CMD_SEEDLOANS_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "seedloans/loan.h"

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
/* Returns N_FIELDS where no field has that name. */
enum field field_by_name(const char *name, size_t length);

/* Reads @text into @loan. Returns NULL, or the fault of @text, as in "is too long": static. */
const char *field_read(struct seed_loan *loan, enum field field, const char *text, size_t length);

/* Parts of field_read(). */
const char *field_read_id(uint64_t *id, const char *text);
/* Dollars with at most two decimals that are not 0, with or without $, commas between thousands,
 * and an exponent. */
const char *field_read_amount(uint64_t *cents, const char *text);

#endif
