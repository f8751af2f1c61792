/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>

#include "cli/when.h"
#include "seedloans/loan.h"
#include "seedloans/rng.h"
#include "seedloans/words.h"

/* Each has its own stream of numbers, so that a change of one leaves the others as they were. */
enum purpose { FOR_LOAN = 1, FOR_STAGE, FOR_DOCUMENTS };

/* Submitted in 2024 and 2025 whatever the date is, so that the same seed makes the same rows. */
enum { FIRST_YEAR = 2024, DAYS = 731, DAY = 86400 };

struct band {
	unsigned int percent;
	unsigned int least, most; /* in hundreds */
};
static const struct band amounts[] = {
	{ 45, 50, 500 }, { 35, 500, 2500 }, { 15, 2500, 10000 }, { 5, 10000, 50000 }
};

struct paper {
	const char *kind;
	unsigned int percent;   /* of the loans have it */
	unsigned int submitted; /* percent of those wait to be checked */
	unsigned int verified;  /* percent; the others are rejected */
};
/* The last one is a second bank statement. */
static const struct paper papers[LOAN_DOCUMENTS] = {
	{ "bank_statement", 50, 60, 32 }, { "identity", 40, 40, 52 }, { "pay_stub", 12, 50, 42 },
	{ "tax_return", 12, 50, 42 }, { "appraisal", 4, 30, 60 }, { "bank_statement", 4, 60, 32 }
};

static const char *
pick(struct rng *rng, const char *const words[])
{
	size_t n = 0;

	while (words[n] != NULL)
		n++;
	return words[rng_below(rng, n)];
}

static void
make_applicant(struct seed_loan *loan, struct rng *rng)
{
	const char *first = pick(rng, words_first);
	const char *last = pick(rng, words_last);

	if (rng_below(rng, 4) == 0)
		snprintf(loan->applicant, sizeof(loan->applicant), "%s %s", last,
		    pick(rng, words_trade));
	else
		snprintf(loan->applicant, sizeof(loan->applicant), "%s %s", first, last);
}

static uint64_t
make_cents(struct rng *rng)
{
	uint64_t percent = rng_below(rng, 100);
	const struct band *band = amounts;

	while (percent >= band->percent) {
		percent -= band->percent;
		band++;
	}
	return (band->least + rng_below(rng, band->most - band->least)) * 100 * 100;
}

void
loan_make(struct seed_loan *loan, uint64_t seed, uint64_t loan_id)
{
	struct rng rng = rng_for(seed, FOR_LOAN, loan_id);
	size_t n_places = 0;
	const struct place *place;

	while (words_places[n_places].city != NULL)
		n_places++;
	loan->loan_id = loan_id;
	make_applicant(loan, &rng);
	loan->cents = make_cents(&rng);
	place = &words_places[rng_below(&rng, n_places)];
	snprintf(loan->city, sizeof(loan->city), "%s", place->city);
	snprintf(loan->state, sizeof(loan->state), "%s", place->state);
	(void)when_make(&loan->submitted, FIRST_YEAR, 1, 1, 0, 0, 0);
	loan->submitted += (int64_t)rng_below(&rng, (uint64_t)DAYS * DAY);
}

const char *
loan_stage(const struct seed_loan *loan, uint64_t seed)
{
	struct rng rng = rng_for(seed, FOR_STAGE, loan->loan_id);
	uint64_t percent = rng_below(&rng, 100);

	if (percent < 80)
		return "submitted";
	if (percent < 86)
		return "approved";
	return percent < 93 ? "declined" : "funded";
}

static void
make_document(struct seed_document *document, const struct paper *paper,
    const struct seed_loan *loan, struct rng *rng)
{
	static const char hex[] = "0123456789abcdef";
	uint64_t percent = rng_below(rng, 100);
	int64_t checked;

	document->kind = paper->kind;
	document->submitted = loan->submitted + (int64_t)rng_below(rng, 20 * DAY);
	checked = document->submitted + (int64_t)rng_below(rng, 10 * DAY) + 60;
	if (percent < paper->submitted) {
		document->status = "submitted";
		document->checked = 0;
	} else {
		document->status = percent < paper->submitted + paper->verified ?
		    "verified" : "rejected";
		document->checked = checked;
	}
	for (size_t i = 0; i < sizeof(document->checksum) - 1; i += 16) {
		uint64_t bits = rng_next(rng);

		for (size_t j = 0; j < 16; j++, bits >>= 4)
			document->checksum[i + j] = hex[bits & 15];
	}
	document->checksum[sizeof(document->checksum) - 1] = '\0';
}

size_t
loan_documents(const struct seed_loan *loan, uint64_t seed,
    struct seed_document documents[LOAN_DOCUMENTS])
{
	struct rng rng = rng_for(seed, FOR_DOCUMENTS, loan->loan_id);
	bool has_statement = false;
	size_t i, n = 0;

	for (i = 0; i < LOAN_DOCUMENTS; i++) {
		if (rng_below(&rng, 100) >= papers[i].percent)
			continue;
		if (i == LOAN_DOCUMENTS - 1 && !has_statement)
			continue;
		has_statement = has_statement || i == 0;
		make_document(&documents[n++], &papers[i], loan, &rng);
	}
	return n;
}
