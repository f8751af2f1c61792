/* SPDX-License-Identifier: MIT */
/* The step TAKE of a call: takes from the task's kept list, if there is one. list/take.c does it,
 * and disposition/dispose_and_ask.c does it as the last part of a disposition. */
#include "getwork/answer.h"
#include "getwork/call.h"
#include "handle/bounds.h"

/* Reads the task and its list. *@may is true where the call may take from that. A user who has
 * asked already joins that request. */
static enum db_rc
may_take(struct call *c, struct kept *kept, bool *may)
{
	bool known = false;
	enum db_rc rc = c->ask->fresh != 0 ? DB_OK :
	    kept_look(c->q->db, c->request.user, &c->task, kept, &known);

	if (rc != DB_OK) {
		/* Not known: to look again costs little. */
		c->keeps = c->may_serve = true;
		return rc;
	}
	c->keeps = known && c->task.cache_ttl > 0;
	c->may_serve = c->keeps && kept->usable && kept->epoch != c->kept_tried;
	*may = c->may_serve && kept->user_id != 0 &&
	    (c->request.request_id != 0 || !kept->has_asked);
	return rc;
}

enum db_rc
from_list_look(struct call *c, struct taking *taking, bool *may)
{
	struct kept *kept = &taking->kept;
	enum db_rc rc = may_take(c, kept, may);

	c->q->due_task = 0;
	if (rc != DB_OK || !*may)
		return rc;
	if (kept->has_touched)
		rc = kept_touch(c->q->db, c->ask->task, kept);
	/* How many take from one task's list says nothing of another task's. */
	if (c->q->take_task != c->ask->task)
		c->q->take_spare = 0;
	c->q->take_task = c->ask->task;
	taking->who = (struct taker){
		.request_id = c->request.request_id, .uuid = c->request.uuid,
		.user_id = kept->user_id, .excluded = c->task.excluded,
		.count = c->request.joined ? c->request.asked : c->ask->count,
		.tries = TAKE_TRIES, .spare = &c->q->take_spare
	};
	/* A deadlock has undone everything, and the next one who takes does it. */
	return rc == DB_ERETRY ? DB_OK : rc;
}

/* The answer has come with the loans. Then the call does what those who take do for others. */
enum db_rc
from_list_given(struct call *c, struct taking *taking)
{
	const struct kept *kept = &taking->kept;
	struct taken *taken = &taking->taken;
	enum db_rc rc = answer_fill(c->answer, &taken->rows, TAKEN_ANSWER);

	db_rows_clear(&taken->rows);
	if (taken->others_wait)
		take_for_line(c->q->db, &c->task, kept);
	if (!kept->due)
		return rc;
	/* Where a list has given nothing, the call makes a new one itself. */
	c->q->due_task = c->ask->task;
	/* People are told where a list is used for longer than its manager wants. */
	return rc == DB_OK && kept->failed[0] != '\0' ?
	    copy_text(&c->answer->refill_failed, kept->failed) : rc;
}

bool
from_list_may_have_given(struct call *c, enum db_rc failure)
{
	struct request request = c->request;

	/* A server that is read only has given nothing. */
	if (failure == DB_EDUPLICATE || failure == DB_EMOVED)
		return false;
	return db_lost(c->q->db) || request_find(c->q->db, &request) != DB_OK ||
	    request.request_id != 0;
}

enum db_rc
from_list(struct call *c, enum step *step)
{
	struct taking taking = { .kept = { .epoch = 0 } };
	struct taken *taken = &taking.taken;
	bool may = false;
	enum db_rc rc = from_list_look(c, &taking, &may);

	if (rc == DB_OK)
		*step = c->request.request_id != 0 ? TRY : ASK;
	if (rc != DB_OK || !may)
		return rc;
	rc = take_loans(c->q->db, &c->task, &taking.kept, &taking.who, taken);
	c->request.request_id = taken->request_id;
	c->sent = c->sent || (rc == DB_OK && taken->result == TAKE_GIVEN) ||
	    (rc != DB_OK && taken->sent && from_list_may_have_given(c, rc));
	/* An earlier call has used the UUID. */
	if (rc == DB_EDUPLICATE)
		return DB_OK;
	if (rc != DB_OK)
		return rc;
	if (taken->result == TAKE_GIVEN || taken->result == TAKE_ENDED)
		*step = LOOK;
	else
		c->kept_tried = taking.kept.epoch;
	if (taken->result == TAKE_OVER)
		*step = TAKE;
	c->may_serve = taken->result == TAKE_UNKNOWN;
	return taken->result == TAKE_GIVEN ? from_list_given(c, &taking) : DB_OK;
}
