/* SPDX-License-Identifier: MIT */
/* A row of work_log as an event. */
#ifndef LOCKQ_HISTORY_H
#define LOCKQ_HISTORY_H

#include "db/db_text.h"

/* What history_event() reads, of work_log AS l and app_user AS u. A deleted user is shown by the
 * number. */
#define HISTORY_COLUMNS \
	"l.event, l.at, COALESCE(u.name, CONCAT('#', l.user_id)), l.account, l.token," \
	"       l.version, l.request_id, l.available_at, l.lease_expires_at, l.excluded_until," \
	"       l.note, l.manager, l.task_id"

/* Fills a zeroed event with the first columns of the row. DB_OK or DB_ENOMEM; in both cases the
 * caller clears it. */
LOCKQ_MUST_CHECK enum db_rc history_event(struct lockq_event *event, const struct db_rows *rows,
    size_t row);
void history_event_clear(struct lockq_event *event);

#endif
