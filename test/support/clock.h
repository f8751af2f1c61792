/* SPDX-License-Identifier: MIT */
/* For the races, whose processes and threads begin at chosen moments: one clock for all of them.
 * Apart from support.h, for they are no tests of cmocka. */
#ifndef LOCKQ_TEST_CLOCK_H
#define LOCKQ_TEST_CLOCK_H

#include <stdint.h>

uint64_t now_us(void); /* monotonic */
void sleep_until(uint64_t us);

#endif
