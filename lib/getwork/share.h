/* SPDX-License-Identifier: MIT */
/* How the requests that a leader reads at once share loans that are not enough for all. */
#ifndef LOCKQ_SHARE_H
#define LOCKQ_SHARE_H

#include "getwork/pending.h"

/* Sets @share of each request, which is at most its @requested, so that their sum is @loans, or
 * less where fewer are wanted. Where that does not come out even, those who asked first get one
 * more. */
void share_out(enum share share, struct pending *list, size_t n, uint64_t loans);

#endif
