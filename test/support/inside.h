/* SPDX-License-Identifier: MIT */
/* The functions by which tests and benchmarks reach inside the library. Only inside.c knows the
 * library's inner functions and structures, but for four headers: all tests use db.h and where.h,
 * and test_lib.c and leases.c use functions of db_text.h and retry.h that need no connection.
 * Nothing here asserts. A function that returns int returns an enum db_rc. */
#ifndef LOCKQ_TEST_INSIDE_H
#define LOCKQ_TEST_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/db.h"
#include "handle/where.h"
#include "lockq.h"

/* Reads the option files and connects. The process ends if they can't be used. */
int where_connect(struct db **db, const struct lockq_connection *given);

/* Return a connection of the handle, or NULL if there is none at the moment. */
struct db *inside_lock_connection(const struct lockq *q);
struct db *inside_query_connection(const struct lockq *q);
/* Makes the handle run its heavy query on a connection of its own, as lockq_query_at() does. */
void inside_ask_elsewhere(struct lockq *q);

/* A request, as a call of lockq_getwork() has it. */
struct inside_request {
	uint64_t request_id;
	char uuid[37];
	const char *user;
	bool joined;
};
/* Returns a request of this user with a new UUID, not recorded yet. */
struct inside_request inside_new_request(const char *user);
/* Records a request for @count loans, or joins the user's pending one. Sets request_id and joined
 * of @request. */
int inside_record(struct db *db, uint32_t task, uint32_t count, struct inside_request *request);
/* Cancels the request if it is pending. If it was never recorded, its UUID is taken. */
int inside_cancel(struct db *db, uint32_t task, uint32_t count, struct inside_request *request);

/* One round of a leader, step by step. The caller frees it. */
struct inside_round;
struct inside_round *inside_round_new(struct lockq *q, uint32_t task);
void inside_round_free(struct inside_round *round);
/* The leader: @held is false if nobody does; else the leader's user, and for how long, in ms. */
struct inside_holder {
	bool held;
	char name[64 * 4 + 1];
	uint64_t ms;
};
/* Tries to lead for this request. *@leads says whether it succeeded. If not, @holder says who
 * leads. */
int inside_try(struct inside_round *round, const struct inside_request *request, bool *leads,
    struct inside_holder *holder);
/* Returns the epoch of the round. */
uint64_t inside_epoch(const struct inside_round *round);
/* Finds the list to give from. If the view can't be used, *@ok is false and inside_reason() returns
 * why. */
int inside_find(struct inside_round *round, bool *ok);
const char *inside_reason(const struct inside_round *round);
/* The list: the number of its candidates, the loan and the version of candidate @i, whether these
 * are all that the view has, and the start of the query as text. */
size_t inside_n(const struct inside_round *round);
uint64_t inside_loan(const struct inside_round *round, size_t i);
uint64_t inside_version(const struct inside_round *round, size_t i);
bool inside_complete(const struct inside_round *round);
const char *inside_as_of(const struct inside_round *round);
/* Gives to the pending requests from a list that has this loan twice. */
int inside_give_twice(struct inside_round *round, const struct inside_request *request,
    uint64_t loan_id, uint64_t version);
/* Commits the round, which frees the lock. */
int inside_commit(struct inside_round *round);

/* Reads with a dirty read who leads the task. */
int inside_holder(struct db *db, uint32_t task, struct inside_holder *holder);

/* Over @killer, ends the connection @victim, as a call does with a connection that it gave up. For
 * the other two values the given-up connection is said to be one of another server, or one made
 * before the server was started, so that @victim must survive. */
enum inside_given_up { INSIDE_SAME, INSIDE_OTHER_SERVER, INSIDE_SERVER_RESTARTED };
int inside_end_given_up(struct db *killer, const struct db *victim, enum inside_given_up which);

#endif
