/* SPDX-License-Identifier: MIT */
/* How a user stands: lockq_requests() reads which requests of the user are pending, lockq_tasks()
 * which tasks there are, and how much the user has of each. */
#include "db/db_record.h"
#include "getwork/lock.h"
#include "handle/error.h"
#include "handle/held.h"
#include "handle/patience.h"
#include "handle/session.h"
#include "list/search.h"
#include "rules/forgotten_request.h"
#include "rules/task.h"

/* By the unique key of pending requests: of those that have ended there may be millions. */
static DB_QUERY(read_requests, DB_MANY,
    "SELECT r.request_id, r.uuid, r.task_id, t.name, r.asked, r.created_at,"
    "       GREATEST(TIMESTAMPDIFF(SECOND, r.created_at, NOW(6)), 0),"
    "       " IS_FORGOTTEN("r", "t.request_ttl") ", " TASK_PAUSED("t")
    "  FROM work_requested AS r FORCE INDEX (work_requested_one_pending)"
    "  JOIN task AS t"
    "    ON t.task_id = r.task_id"
    " WHERE r.user_id = ? AND r.pending = 1 AND (? = 0 OR r.task_id = ?)"
    " ORDER BY r.task_id");

#define REQUEST(member) DB_FIELD(struct lockq_request, member)
static const struct db_record pending_record = DB_RECORD(struct lockq_request,
    REQUEST(request_id), REQUEST(uuid), REQUEST(task), REQUEST(task_name), REQUEST(asked),
    REQUEST(created_at), REQUEST(age_s), REQUEST(unattended), REQUEST(paused), REQUEST(leader),
    REQUEST(held));

/* An account that may not read task_lock is told of the requests all the same. */
static enum db_rc
fill_leader(struct db *db, struct lockq_request *r)
{
	struct leader leader = { .name = "" };
	char text[HELD_BYTES] = "";
	bool held = false;
	enum db_rc rc = lock_holder(db, r->task, &leader, &held);

	if (rc == DB_EFAIL)
		return DB_OK;
	r->nobody_leads = rc == DB_OK && !held;
	if (r->nobody_leads)
		held_lock(db, r->task, text);
	if (text[0] != '\0')
		rc = copy_text(&r->held, text);
	return rc == DB_OK && held ? copy_text(&r->leader, leader.name) : rc;
}

/* What a call was asked, and where its result goes. */
struct standing {
	const char *user;
	uint32_t task;
	struct lockq_requests *requests;
	struct lockq_tasks *tasks;
};

static enum db_rc
look_at_requests(struct patience *patience, void *data, int *code)
{
	const struct standing *s = data;
	struct lockq *q = patience->q;
	struct task known;
	uint32_t user_id = 0;
	enum db_rc rc = task_and_user(q, s->user, s->task, s->task != 0 ? &known : NULL, &user_id,
	    code);

	lockq_requests_clear(s->requests);
	if (rc != DB_OK || *code != LOCKQ_OK)
		return rc;
	rc = record_read(&pending_record, q->db, &read_requests, DB_ARGS(db_u64(user_id),
	    db_u64(s->task), db_u64(s->task)), &s->requests->requests, &s->requests->n_requests);
	for (size_t i = 0; rc == DB_OK && i < s->requests->n_requests; i++)
		rc = fill_leader(q->db, &s->requests->requests[i]);
	*code = error_if_none(s->requests->n_requests);
	return rc;
}

int
lockq_requests(struct lockq *q, const char *user, uint32_t task, struct lockq_requests *requests)
{
	struct standing standing = { user, task, requests, NULL };

	lockq_requests_clear(requests);
	return patience_look(q, look_at_requests, &standing);
}

void
lockq_requests_clear(struct lockq_requests *requests)
{
	if (requests == NULL)
		return;
	record_list_free(&pending_record, requests->requests, requests->n_requests);
	*requests = (struct lockq_requests)LOCKQ_REQUESTS_INIT;
}

/* Each count goes by the user's rows of one task. */
static DB_QUERY(read_tasks, DB_MANY,
    "SELECT t.task_id, t.name, t.enabled, t.manager, t.max_count, t.max_pipeline,"
    "       " LOANS_HELD("u.user_id", "t.task_id") ","
    "       (SELECT COUNT(*)"
    "          FROM work_requested AS r FORCE INDEX (work_requested_one_pending)"
    "         WHERE r.user_id = u.user_id AND r.task_id = t.task_id AND r.pending = 1),"
    "       " TASK_PAUSED("t") ", " URGENT_COUNT ", t.any_place"
    "  FROM app_user AS u"
    "  JOIN task AS t"
    " WHERE u.user_id = ?"
    " ORDER BY t.task_id");

#define TASK(member) DB_FIELD(struct lockq_task, member)
static const struct db_record task_record = DB_RECORD(struct lockq_task,
    TASK(task), TASK(task_name), TASK(enabled), TASK(manager), TASK(max_count), TASK(max_pipeline),
    TASK(held), TASK(pending), TASK(paused), TASK(urgent), TASK(any_place));

static enum db_rc
look_at_tasks(struct patience *patience, void *data, int *code)
{
	const struct standing *s = data;
	struct lockq *q = patience->q;
	uint32_t user_id = 0;
	enum db_rc rc = task_and_user(q, s->user, 0, NULL, &user_id, code);

	lockq_tasks_clear(s->tasks);
	if (rc != DB_OK || *code != LOCKQ_OK)
		return rc;
	rc = record_read(&task_record, q->db, &read_tasks, DB_ARGS(db_u64(user_id)),
	    &s->tasks->tasks, &s->tasks->n_tasks);
	*code = error_if_none(s->tasks->n_tasks);
	return rc;
}

int
lockq_tasks(struct lockq *q, const char *user, struct lockq_tasks *tasks)
{
	struct standing standing = { user, 0, NULL, tasks };

	lockq_tasks_clear(tasks);
	return patience_look(q, look_at_tasks, &standing);
}

void
lockq_tasks_clear(struct lockq_tasks *tasks)
{
	if (tasks == NULL)
		return;
	record_list_free(&task_record, tasks->tasks, tasks->n_tasks);
	*tasks = (struct lockq_tasks)LOCKQ_TASKS_INIT;
}
