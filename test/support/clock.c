/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <time.h>

uint64_t
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void
sleep_until(uint64_t us)
{
	struct timespec until = { .tv_sec = (time_t)(us / 1000000),
		.tv_nsec = (long)(us % 1000000) * 1000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		continue;
}
