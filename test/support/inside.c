/* SPDX-License-Identifier: MIT */
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "db/db_text.h"
#include "getwork/assign.h"
#include "getwork/lock.h"
#include "getwork/request.h"
#include "handle/session.h"
#include "list/list.h"
#include "list/search.h"
#include "rules/task.h"

struct inside_round {
	struct lockq *q;
	struct task task;
	struct lead lead;
	struct list candidates;
	char reason[REASON_BYTES];
};

int
where_connect(struct db **db, const struct lockq_connection *given)
{
	struct where where = { .port = 0 }, query = { .port = 0 };
	struct where_report report;
	enum db_rc rc = where_read(&where, &query, given, &report);

	if (rc != DB_OK) {
		fprintf(stderr, "%s\n", report.error);
		abort();
	}
	rc = db_connect(db, &where);
	where_clear(&where);
	where_clear(&query);
	return rc;
}

struct db *
inside_lock_connection(const struct lockq *q)
{
	return q->db;
}

struct db *
inside_query_connection(const struct lockq *q)
{
	return q->query;
}

void
inside_ask_elsewhere(struct lockq *q)
{
	static const struct lockq_connection given = LOCKQ_CONNECTION_INIT;
	bool elsewhere = false;

	if (where_of_query(&q->query_where, &elsewhere, &given, &q->query_group, &q->where) ==
	    DB_OK)
		q->asks_elsewhere = true;
}

struct inside_request
inside_new_request(const char *user)
{
	struct inside_request request = { .user = user };

	request_make_uuid(request.uuid);
	return request;
}

static struct request
request_of(const struct inside_request *from)
{
	struct request request = {
		.request_id = from->request_id, .user = from->user, .joined = from->joined
	};

	memcpy(request.uuid, from->uuid, sizeof(request.uuid));
	return request;
}

int
inside_record(struct db *db, uint32_t task, uint32_t count, struct inside_request *request)
{
	struct request inner = request_of(request);
	bool refused = false;
	int rc = request_record(db, task, count, &inner, &refused);

	request->request_id = inner.request_id;
	request->joined = inner.joined;
	return rc;
}

int
inside_cancel(struct db *db, uint32_t task, uint32_t count, struct inside_request *request)
{
	struct request inner = request_of(request);

	return request_cancel(db, task, count, &inner);
}

struct inside_round *
inside_round_new(struct lockq *q, uint32_t task)
{
	struct inside_round *round = calloc(1, sizeof(*round));
	bool known = false;

	if (round == NULL)
		return NULL;
	round->q = q;
	if (task_read(q->db, task, 0, &round->task, &known) != DB_OK || !known) {
		free(round);
		return NULL;
	}
	return round;
}

void
inside_round_free(struct inside_round *round)
{
	if (round == NULL)
		return;
	list_clear(&round->candidates);
	free(round);
}

static void
holder_from(struct inside_holder *holder, const struct leader *leader)
{
	snprintf(holder->name, sizeof(holder->name), "%s", leader->name);
	holder->ms = leader->ms;
}

int
inside_try(struct inside_round *round, const struct inside_request *request, bool *leads,
    struct inside_holder *holder)
{
	struct leader leader = { .name = "" };
	struct request inner = request_of(request);
	enum lock_result result = LOCK_BUSY;
	int rc = lock_try(round->q, &round->task, &inner, &round->lead, &leader, &result);

	*leads = rc == DB_OK && result == LOCK_OURS;
	holder->held = rc == DB_OK && result == LOCK_BUSY;
	holder_from(holder, &leader);
	return rc;
}

uint64_t
inside_epoch(const struct inside_round *round)
{
	return round->lead.epoch;
}

int
inside_find(struct inside_round *round, bool *ok)
{
	struct search search = {
		.q = round->q, .task = &round->task, .lead = &round->lead,
		.found = &round->candidates, .reason = round->reason
	};
	enum list_result result = LIST_FAILED;
	int rc = source_find(&search, &result);

	*ok = rc == DB_OK && result == LIST_FOUND;
	return rc;
}

const char *
inside_reason(const struct inside_round *round)
{
	return round->reason;
}

size_t
inside_n(const struct inside_round *round)
{
	return round->candidates.n;
}

uint64_t
inside_loan(const struct inside_round *round, size_t i)
{
	return round->candidates.list[i].loan_id;
}

uint64_t
inside_version(const struct inside_round *round, size_t i)
{
	return round->candidates.list[i].version;
}

bool
inside_complete(const struct inside_round *round)
{
	return round->candidates.complete;
}

const char *
inside_as_of(const struct inside_round *round)
{
	return round->candidates.as_of;
}

int
inside_give_twice(struct inside_round *round, const struct inside_request *request,
    uint64_t loan_id, uint64_t version)
{
	struct candidate twice[] = {
		{ .loan_id = loan_id, .version = version },
		{ .loan_id = loan_id, .version = version }
	};
	struct list candidates = { .list = twice, .n = 2, .complete = true };
	struct run run = {
		.user = request->user, .own_request = request->request_id, .source = LIST_QUERY
	};

	return assign_loans(round->q, &round->task, &round->lead, &candidates, &run);
}

int
inside_commit(struct inside_round *round)
{
	return lock_commit_and_release(round->q, &round->task, &round->lead, 0);
}

int
inside_holder(struct db *db, uint32_t task, struct inside_holder *holder)
{
	struct leader leader = { .name = "" };
	int rc = lock_holder(db, task, &leader, &holder->held);

	holder_from(holder, &leader);
	return rc;
}

int
inside_end_given_up(struct db *killer, const struct db *victim, enum inside_given_up which)
{
	static const uint64_t long_ago_ms = 1000000000000;
	struct given_up given_up;

	session_note_given_up(&given_up, victim);
	if (which == INSIDE_OTHER_SERVER)
		given_up.server[0] = given_up.server[0] == 'x' ? 'y' : 'x';
	else if (which == INSIDE_SERVER_RESTARTED)
		given_up.since -= long_ago_ms;
	return session_end_given_up(killer, &given_up);
}
