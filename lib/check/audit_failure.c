/* SPDX-License-Identifier: MIT */
/* A failure that a check finds mended. Until the next leader has run, nothing else would tell that
 * the task is well: so the manager's check is noted, and lockq_stats() counts from there. */
#include <stdio.h>

#include "check/audit.h"
#include "handle/error.h"
#include "handle/session.h"
#include "manage/managing.h"

static DB_QUERY(list_is_well, DB_NO_ROWS, "CALL refill_notes(?, NULL, FALSE)");

/* What can't be read is no failure: the check itself tells what is wrong with lockq's tables. */
void
audit_failure_read(struct audit *a, struct audited_failure *failure)
{
	struct lockq_stats stats = LOCKQ_STATS_INIT;

	if (a->what->manager == NULL || a->what->task == 0 || a->what->quick != 0)
		return;
	if (lockq_stats(a->q, a->what->task, &stats) == LOCKQ_OK) {
		const struct lockq_stat *s = stats.tasks;

		failure->any = s->failures_in_a_row > 0 || s->refill_failures > 0;
		failure->epoch = s->epoch;
		snprintf(failure->reason, sizeof(failure->reason), "%s", s->failed[0] != '\0' ?
		    s->failed : s->refill_reason != NULL ? s->refill_reason :
		    "the reason is not known");
	}
	lockq_stats_clear(&stats);
	error_clear(a->q);
	/* That was for a viewer. */
	db_set_role(a->q->db, "lockq_manager");
}

void
audit_failure_note(struct audit *a, const struct audited_failure *failure)
{
	uint32_t task = a->what->task;
	int code;

	if (!failure->any || a->findings->n_faults > 0)
		return;
	code = define_checked(a->q, a->what->manager, task, failure->epoch);
	if (code == LOCKQ_OK)
		code = error_from_db(a->q, a->q->db, db_after_call(a->q->db, db_run(a->q->db,
		    &list_is_well, DB_ARGS(db_u64(task)), NULL)));
	if (code == LOCKQ_OK)
		audit_found(a, LOCKQ_NOTE, "failure_over", "lockq", NULL, "the last failure is "
		    "over, so it is no warning any more: %s", failure->reason);
	else
		audit_found(a, LOCKQ_NOTE, "failure_stays", "lockq", NULL, "the last failure stays "
		    "a warning until somebody asks for work, since that it is over could not be "
		    "noted: %s", lockq_error(a->q));
	error_clear(a->q);
}
