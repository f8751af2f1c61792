/* SPDX-License-Identifier: MIT */
/*
 * checkwork --watch on a terminal: the user's loans, one of them marked, and a line below for what
 * is asked and what came of it. screen.c runs it, keys.c knows the keys, actions.c calls the
 * library for them, state.c looks and keeps the mark and the message, draw.c makes the lines and
 * draws. Each of them calls only those that are named after it.
 */
#ifndef LOCKQ_CMD_CHECKWORK_SCREEN_H
#define LOCKQ_CMD_CHECKWORK_SCREEN_H

#include "checkwork/tool.h"
#include "cli/screen.h"

/* --- draw.c: a user's loans and requests as lines of text --- */

struct checkwork_page {
	struct lockq_pipeline pipeline;
	struct lockq_requests requests;
	struct lines lines;
	size_t *row_of;  /* the line of each assignment of the pipeline */
};
#define CHECKWORK_PAGE_INIT { LOCKQ_PIPELINE_INIT, LOCKQ_REQUESTS_INIT, LINES_INIT, NULL }

/* Reads the loans and the requests of @user, for all tasks if @task is 0. Returns what the library
 * returns; after a failure, and with LOCKQ_BUSY, the page is as before. */
LOCKQ_MUST_CHECK int checkwork_page_look(struct checkwork_page *page, struct lockq *q,
    const char *user, uint32_t task);

void checkwork_page_clear(struct checkwork_page *page);

/* --- screen.c --- */

/* The usual answer to the question for the time. */
enum { CHECKWORK_RETURN_S = 4 * 3600 };
#define CHECKWORK_RETURN "4h"

/* What the line asks for. */
enum checkwork_asks {
	CHECKWORK_ASKS_NOTHING,
	CHECKWORK_ASKS_TIME,  /* after which a loan is offered again */
	CHECKWORK_ASKS_NEVER, /* whether it is never offered again */
	CHECKWORK_ASKS_DONE   /* whether it is completed */
};

struct checkwork_screen {
	const struct checkwork_options *o;
	struct lockq *looks;        /* for the looks */
	struct lockq *acts;         /* for what the keys do, meanwhile; NULL: not needed yet */
	struct checkwork_page page;
	uint64_t next_look;         /* cli_clock_ms() */
	size_t marked;              /* of the page's assignments */
	bool has_mark;              /* false: the loan that was marked has gone */
	size_t top;                 /* the first line of the page that is shown */
	char *message;              /* on the line; NULL: the keys */
	char *doing;                /* while a call works: it stands in the place of the message */
	bool look_failed;           /* the message says why */
	enum checkwork_asks asks;
	uint32_t about_task;        /* what it asks about */
	struct lockq_loan_ref about;
	char typed[16];             /* the answer so far; or the number before a key */
	bool gives_up;              /* the user has ended the wait for a call */
	bool ignores;               /* a key was pressed meanwhile that does nothing then */
	bool ends;
	int failure;                /* why it ends, a code of the library; or 0 */
};

/* Shows it until the user or a signal ends it. Returns the exit status. */
LOCKQ_MUST_CHECK int checkwork_screen(const struct checkwork_options *o, struct lockq *q);

/* Does what the key says; @key is one of curses. keys.c */
void checkwork_key(void *data, int key);

/* --- actions.c --- */

/* Does so with the loan that @s is about, and says what came of it. */
void checkwork_dispose(struct checkwork_screen *s, enum lockq_disposition_kind kind,
    uint32_t return_after_s);

/* Asks for @count loans of the marked loan's task, and says what came of it. */
void checkwork_ask(struct checkwork_screen *s, uint32_t count);

/* --- state.c --- */

/* Takes the message, and shows it on the line. The functions that are given @data are those of the
 * loop, and it is the struct checkwork_screen. */
void checkwork_screen_say(struct checkwork_screen *s, char *message);

/* Reads the loans and the requests anew, and keeps the mark on its loan. */
void checkwork_screen_look(void *data);

/* Moves the mark; false: the key is none of those. */
bool checkwork_screen_moves(struct checkwork_screen *s, int key);

/* While a call of the library works: shows @text on the line, looks when it is time, and takes
 * keys. Sets @s->gives_up on Esc. */
void checkwork_screen_wait(struct checkwork_screen *s, const char *text);

/* --- draw.c --- */

/* Draws the screen. The line has a question, else what it is doing, else the message, else the
 * keys. */
void checkwork_draw(void *data);

/* Makes the lines of the page anew, for the terminal as wide as it is. */
void checkwork_draw_lines(void *data);

#endif
