/* SPDX-License-Identifier: MIT */
/* What getwork prints on standard error: why there are no loans, and what to do next. */
#ifndef LOCKQ_CMD_CLI_ASK_MESSAGE_H
#define LOCKQ_CMD_CLI_ASK_MESSAGE_H

#include "lockq.h"

/*
 * The message for the return code @rc, made with the library's text for it. NULL where standard
 * output already has the answer. free() it.
 */
char *getwork_message(const struct lockq_ask *ask, const struct lockq_answer *answer, int rc,
    const char *library_text);

/* Prints why the list is old that the loans come from, if filling it anew has failed. */
void getwork_message_refill(const struct lockq_answer *answer);

/* Prints what --verbose adds: the request, the leader, how many transactions were tried again. */
void getwork_message_details(const struct lockq_answer *answer);

#endif
