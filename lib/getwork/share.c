/* SPDX-License-Identifier: MIT */
/* Shares loans like water that is poured into vessels side by side: it rises to one level in all of
 * them, but not above what a request asks for. Evenly: all vessels are empty before. To whoever
 * holds least: what a user holds is in the vessel already. */
#include "getwork/pending.h"

/* What the request gets if the water rises to @level. */
static uint32_t
up_to(enum share share, const struct pending *pending, uint64_t level)
{
	uint64_t ground = share == SHARE_LEAST ? pending->has : 0;

	if (!pending_may_get(pending) || level <= ground)
		return 0;
	return level - ground < pending->requested ? (uint32_t)(level - ground) :
	    pending->requested;
}

static uint64_t
sum_up_to(enum share share, const struct pending *list, size_t n, uint64_t level)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += up_to(share, &list[i], level);
	return sum;
}

/* The highest level for which the loans are enough, at most one at which all requests are full. */
static uint64_t
level_of(enum share share, const struct pending *list, size_t n, uint64_t loans)
{
	uint64_t low = 0, high = LOCKQ_COUNT_MAX;

	for (size_t i = 0; i < n; i++) {
		if (list[i].has + LOCKQ_COUNT_MAX > high)
			high = list[i].has + LOCKQ_COUNT_MAX;
	}
	while (low < high) {
		uint64_t middle = high - (high - low) / 2;

		if (sum_up_to(share, list, n, middle) <= loans)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

void
share_out(enum share share, struct pending *list, size_t n, uint64_t loans)
{
	uint64_t level = level_of(share, list, n, loans);
	uint64_t left = loans - sum_up_to(share, list, n, level);

	for (size_t i = 0; i < n; i++) {
		uint32_t more = up_to(share, &list[i], level + 1);

		list[i].share = up_to(share, &list[i], level);
		if (more > list[i].share && left > 0) {
			list[i].share = more;
			left--;
		}
	}
}
