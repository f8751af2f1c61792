/* SPDX-License-Identifier: MIT */
/* Clocks for the benchmark. */
#ifndef LOCKQ_BENCH_CLOCK_H
#define LOCKQ_BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline double
ms_of(clockid_t which)
{
	struct timespec now = { 0, 0 };

	clock_gettime(which, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static inline double
now_ms(void)
{
	return ms_of(CLOCK_MONOTONIC);
}

/* Returns microseconds of a clock that all processes share. */
static inline uint64_t
now_us(void)
{
	struct timespec now = { 0, 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

#endif
