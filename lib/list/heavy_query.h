/* SPDX-License-Identifier: MIT */
/* Step 4: one run of the heavy query. */
#ifndef LOCKQ_HEAVY_QUERY_H
#define LOCKQ_HEAVY_QUERY_H

#include "list/view.h"

/* Runs the heavy query on @db, which is one of the handle's connections. *@result is LIST_FOUND;
 * LIST_FAILED where the view can't be used; or LIST_LOST where the connection of lockq_query_at()
 * was lost or can't run it. With the last two, the search has a reason. An error is returned only
 * for what ends the leader's round: DB_ECANCELLED, DB_ENOMEM, a lost lock connection, a
 * deadlock. */
LOCKQ_MUST_CHECK enum db_rc heavy_query_run(const struct search *search, struct db *db,
    enum list_result *result);

#endif
