/* SPDX-License-Identifier: MIT */
/* The one place where tests and bench reach inside the library: the names of its rooms, and what
 * they take and return, are said in inside.c alone. Nothing here asserts. Functions return enum
 * db_rc where nothing else is said. */
#ifndef LOCKQ_TEST_INSIDE_H
#define LOCKQ_TEST_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "lockq.h"

/* The connections of a handle; NULL where there is none at the moment. */
struct db *inside_lock_connection(const struct lockq *q);
struct db *inside_query_connection(const struct lockq *q);
/* The handle runs its heavy query over a connection of its own, as after lockq_query_at(). */
void inside_ask_elsewhere(struct lockq *q);

/* A request, as a call of lockq_getwork() has it. */
struct inside_request {
	uint64_t request_id;
	char uuid[37];
	const char *user;
	bool joined;
};
struct inside_request inside_new_request(const char *user);
int inside_record(struct db *db, uint32_t task, uint32_t count, struct inside_request *request);
int inside_cancel(struct db *db, uint32_t task, uint32_t count, struct inside_request *request);

/* A round, step by step. */
struct inside_round;
struct inside_round *inside_round_new(struct lockq *q, uint32_t task);
void inside_round_free(struct inside_round *round);
/* Whether it leads now, for this request; when not, @holder says who does. */
struct inside_holder {
	bool held;
	char name[64 * 4 + 1];
	uint64_t ms;
};
int inside_try(struct inside_round *round, const struct inside_request *request, bool *leads,
    struct inside_holder *holder);
uint64_t inside_epoch(const struct inside_round *round);
/* The list to give from. Where the view can't be used @ok is false, and inside_reason() has why. */
int inside_find(struct inside_round *round, bool *ok);
const char *inside_reason(const struct inside_round *round);
size_t inside_n(const struct inside_round *round);
uint64_t inside_loan(const struct inside_round *round, size_t i);
uint64_t inside_version(const struct inside_round *round, size_t i);
bool inside_complete(const struct inside_round *round);
const char *inside_as_of(const struct inside_round *round);
/* Gives from a list that has a loan twice. */
int inside_give_twice(struct inside_round *round, const struct inside_request *request,
    uint64_t loan_id, uint64_t version);
int inside_commit(struct inside_round *round);

/* Who leads, as far as a dirty read tells. */
int inside_holder(struct db *db, uint32_t task, struct inside_holder *holder);

/* Ends, over @killer, what runs on @victim, as a call does with a connection that it gave up; or
 * one that is the same but for its server, or for how long ago it was made. */
enum inside_orphan { INSIDE_SAME, INSIDE_OTHER_SERVER, INSIDE_SERVER_RESTARTED };
int inside_end_orphan(struct db *killer, const struct db *victim, enum inside_orphan which);

#endif
