/* SPDX-License-Identifier: MIT */
/* lockq_check_task(): whether a task works. Begin here: look() has the order in which an audit
 * looks at things, each in a file of its own.
 *
 *   audit_view.c       the views: whether they are there, their columns and texts
 *   audit_rights.c     who may read the views and call the procedures; lockq_grant()
 *   audit_procedure.c  on_complete and on_undo
 *   audit_limits.c     settings that don't go together
 *   audit_plan.c       the server's plans for lockq's own statements
 *   audit_query.c      the heavy query, which is run once
 *   audit_settings.c   the settings of the task, from which all of these start
 *   audit_words.c      the words of a view or a procedure
 *   audit_failure.c    notes that a task is well whose last leader failed
 *   findings.c         what was found, and how to mend it */
#include "check/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle/error.h"
#include "handle/session.h"

static void
forget_views(struct audit *a)
{
	for (size_t i = 0; i < N_VIEWS; i++) {
		db_rows_clear(&a->views[i].columns);
		free(a->views[i].definition);
		a->views[i] = (struct audited_view){ .usable = false };
	}
}

/* All that needs no query of the manager's view. */
static enum db_rc
look(struct patience *patience, void *data, int *code)
{
	struct audit *a = data;
	enum db_rc rc;

	(void)patience;
	*code = LOCKQ_OK;
	audit_forget_findings(a->findings);
	forget_views(a);
	audit_limits(a);
	rc = audit_other_task(a);
	if (rc == DB_OK)
		rc = audit_views(a);
	if (rc == DB_OK)
		rc = audit_rights(a);
	if (rc == DB_OK)
		rc = audit_procedures(a);
	if (rc == DB_OK)
		rc = audit_plans(a);
	return rc == DB_OK && a->no_memory ? DB_ENOMEM : rc;
}

static int
check_what(struct lockq *q, const struct lockq_check *what)
{
	const char *fault = error_of_reserved(what->reserved);
	struct text json = { NULL, 0, 0, false };
	int code = LOCKQ_OK;

	error_clear(q);
	if (fault != NULL)
		return error_usage(q, "%s", fault);
	if (what->task == 0)
		code = settings_of_new(q, what->settings, what->n_settings);
	if (code == LOCKQ_OK)
		code = settings_to_json(q, what->settings, what->n_settings, &json);
	text_clear(&json);
	return code;
}

int
lockq_check_task(struct lockq *q, const struct lockq_check *what, struct lockq_findings *findings)
{
	struct audit a = { .q = q, .what = what, .findings = findings };
	struct audited_failure failure = { .any = false };
	enum db_rc rc;
	int code;

	lockq_findings_clear(findings);
	code = check_what(q, what);
	if (code != LOCKQ_OK)
		return code;
	rc = session_ready(q);
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	db_set_role(q->db, "lockq_manager");
	code = audit_read_settings(&a);
	if (code == LOCKQ_OK) {
		audit_failure_read(&a, &failure);
		code = patience_look(q, look, &a);
	}
	if (code == LOCKQ_OK && a.views[CANDIDATES].usable)
		code = audit_query(&a);
	if (code == LOCKQ_OK) {
		audit_times(&a);
		audit_failure_note(&a, &failure);
	}
	if (code == LOCKQ_OK && a.no_memory)
		code = error_from_db(q, q->db, DB_ENOMEM);
	db_set_role(q->db, "lockq_worker");
	audit_sort_findings(findings);
	forget_views(&a);
	for (size_t i = 0; i < N_DEFINING; i++)
		free(a.values[i]);
	return code;
}
