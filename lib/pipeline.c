/* SPDX-License-Identifier: MIT */
/* A user's current assignments. */
#include <stdlib.h>

#include "internal.h"

static const struct db_query read_pipeline = {
	"read_pipeline",
	"SELECT w.task_id, t.name, w.loan_id, w.token, w.request_id, w.assigned_at,"
	"       TIMESTAMPDIFF(SECOND, w.assigned_at, NOW(6)), w.lease_expires_at,"
	"       COALESCE(w.lease_expires_at <= NOW(6), 0)"
	"  FROM work AS w"
	"  JOIN task AS t"
	"    ON t.task_id = w.task_id"
	" WHERE w.user_id = ? AND w.state = 'assigned' AND (? = 0 OR w.task_id = ?)"
	" ORDER BY w.task_id, w.assigned_at, w.loan_id",
	DB_MANY
};

static int
fill(struct lockq_pipeline *pipeline, const struct db_rows *rows)
{
	pipeline->assignments = calloc(rows->n_rows + 1, sizeof(*pipeline->assignments));
	if (pipeline->assignments == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < rows->n_rows; i++) {
		struct lockq_assignment *a = &pipeline->assignments[pipeline->n_assignments++];

		a->task = (uint32_t)db_cell_u64(rows, i, 0);
		a->loan_id = db_cell_u64(rows, i, 2);
		a->token = db_cell_u64(rows, i, 3);
		a->request_id = db_cell_u64(rows, i, 4);
		copy_cell(a->assigned_at, sizeof(a->assigned_at), rows, i, 5);
		a->age_s = db_cell_u64(rows, i, 6);
		copy_cell(a->lease_expires_at, sizeof(a->lease_expires_at), rows, i, 7);
		a->lease_expired = db_cell_u64(rows, i, 8) != 0;
		if (copy_text(&a->task_name, db_cell(rows, i, 1)) != DB_OK)
			return DB_ENOMEM;
	}
	return DB_OK;
}

int
lockq_pipeline(struct lockq *q, const char *user, uint32_t task, struct lockq_pipeline *pipeline)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct task known;
	uint32_t user_id = 0;
	int rc = handle_ready(q);

	lockq_pipeline_clear(pipeline);
	q->error[0] = '\0';
	if (rc != DB_OK)
		return error_from_db(q, q->lock, rc);
	rc = task_and_user(q, user, task, task != 0 ? &known : NULL, &user_id);
	if (rc != LOCKQ_OK)
		return rc;
	rc = db_run(q->lock, &read_pipeline, DB_ARGS(db_u64(user_id), db_u64(task), db_u64(task)),
	    &rows);
	if (rc == DB_OK)
		rc = fill(pipeline, &rows);
	db_rows_clear(&rows);
	if (rc != DB_OK)
		return error_from_db(q, q->lock, rc);
	return pipeline->n_assignments > 0 ? LOCKQ_OK : LOCKQ_NOTHING;
}

void
lockq_pipeline_clear(struct lockq_pipeline *pipeline)
{
	if (pipeline == NULL)
		return;
	for (size_t i = 0; i < pipeline->n_assignments; i++)
		free(pipeline->assignments[i].task_name);
	free(pipeline->assignments);
	*pipeline = (struct lockq_pipeline)LOCKQ_PIPELINE_INIT;
}
