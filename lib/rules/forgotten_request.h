/* SPDX-License-Identifier: MIT */
/* When a pending request is forgotten, in SQL: no process has looked after it for the task's
 * request_ttl. The next leader (getwork/pending.c) or cron (disposition/expire.c) ends it as
 * expired, and gives it nothing. Until one of them has written that, nobody is told so. */
#ifndef LOCKQ_FORGOTTEN_REQUEST_H
#define LOCKQ_FORGOTTEN_REQUEST_H

/* For a row @r of work_requested; @ttl is in seconds. */
#define IS_FORGOTTEN(r, ttl) r ".seen_at < NOW(6) - INTERVAL " ttl " SECOND"
#define IS_LOOKED_AFTER(r, ttl) r ".seen_at >= NOW(6) - INTERVAL " ttl " SECOND"

#endif
