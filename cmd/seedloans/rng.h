/* SPDX-License-Identifier: MIT */
/* splitmix64: small, and the same on every machine. */
#ifndef LOCKQ_CMD_SEEDLOANS_RNG_H
#define LOCKQ_CMD_SEEDLOANS_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

/* A stream of its own for each seed, purpose and loan, so that a loan does not depend on those that
 * were made before it. */
struct rng rng_for(uint64_t seed, uint64_t purpose, uint64_t loan_id);
uint64_t rng_next(struct rng *rng);
/* 0 to @n - 1; @n at most 2^32. */
uint64_t rng_below(struct rng *rng, uint64_t n);

#endif
