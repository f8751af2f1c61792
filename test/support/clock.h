/* SPDX-License-Identifier: MIT */
/* The clock of the race programs, whose processes and threads begin at chosen moments. These
 * programs are no tests of cmocka, so they do not include support.h. */
#ifndef LOCKQ_TEST_CLOCK_H
#define LOCKQ_TEST_CLOCK_H

#include <stdint.h>

/* Microseconds of the monotonic clock. */
uint64_t now_us(void);
void sleep_until(uint64_t us);

#endif
