/* SPDX-License-Identifier: MIT */
/* Step 4: where a leader's list comes from. */
#ifndef LOCKQ_SOURCE_H
#define LOCKQ_SOURCE_H

#include "list/view.h"

/* Finds the list to give from, and sets @search->limit. *@result is LIST_FOUND, and the reason may
 * say why the query did not run elsewhere; or LIST_FAILED, and the reason says why; or LIST_KEPT.
 * To be called with the task's lock. */
LOCKQ_MUST_CHECK enum db_rc source_find(struct search *search, enum list_result *result);

#endif
