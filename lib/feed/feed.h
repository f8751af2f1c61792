/* SPDX-License-Identifier: MIT */
/* What the files of the change feed share: in which order rows of work_log may be delivered, and
 * the cursors. */
#ifndef LOCKQ_FEED_H
#define LOCKQ_FEED_H

#include "db/db.h"

/* --- follow_order.c --- */

/* What is known of the numbers of work_log, over one connection. Zero-initialise it. */
struct order {
	uint64_t settled;       /* no row up to this number is inserted any more */
	uint64_t asked;         /* the number that is to be settled next; 0: none */
	struct db_rows writers; /* who may still insert rows up to @asked */
	bool blind;             /* not all of them could be seen, */
	uint64_t blind_since;   /* since then; db_clock_ms() */
	char lacks[300];        /* the account that lacks the right to see them; or "" */
	struct db_rows seen;    /* numbers of rows, whether committed or not */
};

/* Reads the numbers of the first @most rows after @position, in order, to @order->seen. */
LOCKQ_MUST_CHECK enum db_rc order_read(struct order *order, struct db *db, uint64_t position,
    uint32_t most);
/* The last number of @order->seen, or 0. */
uint64_t order_last(const struct order *order);
/* Whether @order->seen lacks numbers after @position that are not settled. */
bool order_has_gap(const struct order *order, uint64_t position);
/* What is waited for: the statements that write, or their transactions. */
enum order_ends { STATEMENTS_END, TRANSACTIONS_END };
/* Settles the numbers up to @id, or says in *@settled that something still has to end. Where that
 * can't be seen, it takes @gap_ms. @order->seen is of before: it has to be read anew. A call goes
 * on where the last one has stopped: it is about the @id of that one. */
LOCKQ_MUST_CHECK enum db_rc order_settle(struct order *order, struct db *db, uint64_t id,
    enum order_ends ends, uint64_t gap_ms, bool *settled);
/* Whether the committed row @id comes next after row @before; both are within @order->seen. */
bool order_allows(const struct order *order, uint64_t before, uint64_t id);
/* A number after @before, and before @id, of a row that is not committed; 0: there is none. */
uint64_t order_uncommitted(const struct order *order, uint64_t before, uint64_t id);
/* Frees and forgets all: the next connection may be one to another server. */
void order_clear(struct order *order);

/* --- follow_cursor.c --- */

/* Selects the name, the position, when it was made and moved, and the account of each cursor; the
 * one that is furthest behind comes first. */
extern const struct db_query follow_list;

/* The public code for a cursor's name: LOCKQ_OK, or LOCKQ_EUSAGE with the handle's text. */
LOCKQ_MUST_CHECK int follow_check_name(struct lockq *q, const char *cursor);

#endif
