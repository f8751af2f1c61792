/* SPDX-License-Identifier: MIT */
/* The library's clock and its sleep. A sleep takes a moment only, and the clock goes on as if it
 * had taken its time: so the library's patience ends as it does in use, and thousands of faults
 * don't take hours. A wait for a connection takes its real time. */
#include <poll.h>
#include <time.h>

enum { MOMENT_MS = 5 };

int fault_poll(struct pollfd *fds, nfds_t n, int ms);
int fault_clock_gettime(clockid_t clock, struct timespec *now);

static _Thread_local long skipped_ms;

int
fault_poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (n > 0 || ms <= MOMENT_MS)
		return poll(fds, n, ms);
	skipped_ms += ms - MOMENT_MS;
	return poll(fds, n, MOMENT_MS);
}

int
fault_clock_gettime(clockid_t clock, struct timespec *now)
{
	int rc = clock_gettime(clock, now);

	now->tv_sec += skipped_ms / 1000;
	now->tv_nsec += skipped_ms % 1000 * 1000000;
	if (now->tv_nsec >= 1000000000) {
		now->tv_nsec -= 1000000000;
		now->tv_sec++;
	}
	return rc;
}
