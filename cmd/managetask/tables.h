/* SPDX-License-Identifier: MIT */
/* Tasks and people as managers see them. */
#ifndef LOCKQ_CMD_MANAGETASK_TABLES_H
#define LOCKQ_CMD_MANAGETASK_TABLES_H

#include "lockq.h"

/* All tasks, one a row; or, of one task, a row for each setting. */
void manage_table(const struct lockq_definitions *tasks);
void manage_table_of_task(const struct lockq_definition *task);

void manage_table_of_people(const struct lockq_people *people);

/* The value of a setting, or NULL. */
const char *manage_setting(const struct lockq_definition *task, const char *name);

#endif
