/* SPDX-License-Identifier: MIT */
/* Which call fails, and what was not released. Only one thread of the test has faults. */
#include "fault.h"

#include <pthread.h>
#include <stdlib.h>

enum { THINGS = 1 << 15 };

static _Thread_local struct {
	bool armed, paused, ever, hit, tracked;
	enum fault fault;
	unsigned int nth, calls;
	const char *where;
} now = { .where = "" };

static struct thing {
	const void *thing;
	const char *from;
} things[THINGS];
static size_t n_things;
/* Any thread may release something, so it must be able to look here. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

void
fault_arm(enum fault fault, unsigned int nth, bool ever)
{
	now.armed = true;
	now.ever = ever;
	now.hit = false;
	now.fault = fault;
	now.nth = nth;
	now.calls = 0;
	now.where = "";
}

unsigned int
fault_disarm(void)
{
	now.armed = false;
	return now.calls;
}

void
fault_pause(bool paused)
{
	now.paused = paused;
}

bool
fault_hit(void)
{
	return now.hit;
}

const char *
fault_where(void)
{
	return now.where;
}

/* Counts a call, and returns whether it is one that fails. */
static bool
falls_on(const char *name)
{
	bool falls;

	now.calls++;
	falls = now.nth != 0 && (now.calls == now.nth || (now.ever && now.calls > now.nth));
	if (falls && !now.hit)
		now.where = name;
	now.hit = now.hit || falls;
	return falls;
}

bool
fault_allocation(const char *name)
{
	return now.armed && !now.paused && now.fault == FAULT_ALLOCATION && falls_on(name);
}

enum fault
fault_next(const char *name, bool on_server)
{
	if (!now.armed || now.paused || now.fault == FAULT_ALLOCATION ||
	    (now.fault != FAULT_NO_MEMORY && !on_server) || !falls_on(name))
		return FAULTS;
	return now.fault == FAULT_ANSWER_LOST && now.calls > now.nth ? FAULT_LOST : now.fault;
}

void
fault_track(bool tracked)
{
	now.tracked = tracked;
}

void
fault_took(const void *thing, const char *from)
{
	if (thing == NULL || !now.tracked || now.paused)
		return;
	pthread_mutex_lock(&guard);
	if (n_things == THINGS)
		abort();
	things[n_things++] = (struct thing){ thing, from };
	pthread_mutex_unlock(&guard);
}

/* What was taken last is mostly released first. */
void
fault_gave(const void *thing)
{
	pthread_mutex_lock(&guard);
	for (size_t i = n_things; i-- > 0;) {
		if (things[i].thing != thing)
			continue;
		things[i] = things[--n_things];
		break;
	}
	pthread_mutex_unlock(&guard);
}

size_t
fault_kept(const char **what)
{
	if (what != NULL)
		*what = n_things > 0 ? things[0].from : "";
	return n_things;
}

void
fault_forget(void)
{
	n_things = 0;
}
