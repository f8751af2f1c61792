/* SPDX-License-Identifier: MIT */
/* What getwork says on standard error. */
#ifndef LOCKQ_CMD_COMPLAINT_H
#define LOCKQ_CMD_COMPLAINT_H

#include "lockq.h"

/*
 * What there is to say about @rc, with the library's text for it; NULL where the answer says it
 * all. free() it.
 */
char *complaint_text(const struct lockq_ask *ask, const struct lockq_answer *answer, int rc,
    const char *library_text);

/* For --verbose: the leader, how long it took, what was tried again. */
void complaint_details(const struct lockq_answer *answer);

#endif
