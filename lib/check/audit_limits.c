/* SPDX-License-Identifier: MIT */
/* The audit of a task's limits: settings that don't go together, alone or with the time that the
 * query takes. */
#include "check/audit.h"

#include <stdio.h>

#include "handle/session.h"
#include "rules/task.h"

static DB_QUERY(other_task, DB_MAYBE, "SELECT t.enabled FROM task AS t WHERE t.task_id = ?");

static void
look_at_list(struct audit *a)
{
	static const char *const useless[] = { "check_view", "refresh_after" };
	uint64_t ttl = audit_number(a, "cache_ttl"), refresh = audit_number(a, "refresh_after");
	const char *share = audit_value(a, "share");

	if (ttl > 0 && share != NULL && task_share(share) != SHARE_ORDER) {
		audit_found(a, LOCKQ_WARNING, "share_without_list", "share", audit_mend_set(a,
		    "--cache-ttl", "0"), "share is \"%s\", so the task keeps no list, and "
		    "cache_ttl does nothing: people wait for the query", share);
		return;
	}

	for (size_t i = 0; ttl == 0 && i < sizeof(useless) / sizeof(useless[0]); i++) {
		if (audit_value(a, useless[i]) != NULL)
			audit_found(a, LOCKQ_NOTE, "no_list", useless[i], NULL, "%s does "
			    "nothing: the task keeps no list, since cache_ttl is 0", useless[i]);
	}
	if (ttl > 0 && refresh >= ttl)
		audit_found(a, LOCKQ_WARNING, "refresh_late", "refresh_after", audit_mend_set(a,
		    "--refresh-after", "none"), "refresh_after, %llu s, is not less than "
		    "cache_ttl, %llu s: each list ends before a new one is made, and people wait",
		    (unsigned long long)refresh, (unsigned long long)ttl);
}

void
audit_limits(struct audit *a)
{
	uint64_t most = audit_number(a, "max_pipeline"), count = audit_number(a, "max_count");

	if (most > 0 && most < count)
		audit_found(a, LOCKQ_WARNING, "pipeline_below_count", "max_pipeline",
		    audit_mend_number(a, "--max-pipeline", count), "max_pipeline, %llu, is less "
		    "than max_count, %llu: nobody ever gets as many loans as they may ask for",
		    (unsigned long long)most, (unsigned long long)count);
	if (audit_value(a, "enabled") != NULL && !audit_flag(a, "enabled"))
		audit_found(a, LOCKQ_NOTE, "disabled", "enabled", a->what->task != 0 ?
		    audit_mend(a, "managetask enable %u", a->what->task) : NULL,
		    "the task is disabled: whoever asks is refused");
	look_at_list(a);
}

enum db_rc
audit_other_task(struct audit *a)
{
	static const char about[] = "not_same_user_as", option[] = "--not-same-user-as";
	uint64_t other = audit_number(a, about);
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = DB_OK;

	if (other == 0)
		return DB_OK;
	rc = db_run(a->q->db, &other_task, DB_ARGS(db_u64(other)), &rows);
	if (other == a->what->task)
		audit_found(a, LOCKQ_FAULT, "other_task_itself", about, audit_mend_set(a, option,
		    "none"), "not_same_user_as names the task itself: it is for another task, and "
		    "not_again keeps users from a loan that they have completed in this one");
	else if (rc == DB_OK && rows.n_rows == 0)
		audit_found(a, LOCKQ_FAULT, "other_task_unknown", about, audit_mend_set(a, option,
		    "none"), "not_same_user_as names task %llu, and there is none",
		    (unsigned long long)other);
	else if (rc == DB_OK && db_cell_u64(&rows, 0, 0) == 0)
		audit_found(a, LOCKQ_WARNING, "other_task_disabled", about, audit_mend(a,
		    "managetask enable %llu", (unsigned long long)other), "not_same_user_as names "
		    "task %llu, which is disabled: nobody gets a first look there",
		    (unsigned long long)other);
	db_rows_clear(&rows);
	return rc;
}

void
audit_times(struct audit *a)
{
	int64_t ms = a->findings->query_ms;
	uint64_t query_s = ms > 0 ? ((uint64_t)ms + 999) / 1000 : 0;
	uint64_t ttl = audit_number(a, "cache_ttl"), alive = audit_number(a, "request_ttl");

	if (ms < 0)
		return;
	if (ttl > 0 && ttl * 1000 < (uint64_t)ms * 2)
		audit_found(a, LOCKQ_WARNING, "ttl_short", "cache_ttl", audit_mend_number(a,
		    "--cache-ttl", query_s * 10), "cache_ttl, %llu s, is less than twice the time "
		    "of the query, %lld ms: a list is hardly made before it ends",
		    (unsigned long long)ttl, (long long)ms);
	if (alive * 1000 < (uint64_t)ms)
		audit_found(a, LOCKQ_WARNING, "requests_expire", "request_ttl", audit_mend_number(a,
		    "--request-ttl", query_s * 2), "request_ttl, %llu s, is shorter than the "
		    "query, %lld ms: requests of getwork --no-wait expire before they are served",
		    (unsigned long long)alive, (long long)ms);
}
