/* SPDX-License-Identifier: MIT */
#include "seedloans/rng.h"

static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t
rng_next(struct rng *rng)
{
	rng->state += UINT64_C(0x9e3779b97f4a7c15);
	return mix(rng->state);
}

struct rng
rng_for(uint64_t seed, uint64_t purpose, uint64_t loan_id)
{
	struct rng rng = { seed };

	rng.state = rng_next(&rng) ^ purpose;
	rng.state = rng_next(&rng) ^ loan_id;
	rng.state = rng_next(&rng);
	return rng;
}

uint64_t
rng_below(struct rng *rng, uint64_t n)
{
	return ((rng_next(rng) >> 32) * n) >> 32;
}
