/* SPDX-License-Identifier: MIT */
/* Step 4 elsewhere: the heavy query over the connection of lockq_query_at(). */
#ifndef LOCKQ_REPLICA_H
#define LOCKQ_REPLICA_H

#include "list/view.h"

/* heavy_query_run() over the other connection. *@result is LIST_LOST, with a reason, also where the
 * connection can't be made, or where most of the list is out of date. */
LOCKQ_MUST_CHECK enum db_rc replica_ask(const struct search *search, enum list_result *result);

#endif
