/* SPDX-License-Identifier: MIT */
/* The columns of the table task that a manager sets: what each may be. */
#ifndef LOCKQ_SETTINGS_H
#define LOCKQ_SETTINGS_H

#include "db/db_text.h"

enum setting_kind { SETTING_TEXT, SETTING_NAME, SETTING_NUMBER, SETTING_FLAG, SETTING_SHARE,
	SETTING_NOUN };

struct setting {
	const char *name;       /* of the column */
	enum setting_kind kind; /* SETTING_NAME: of a view or a procedure, with or without its
	                         * schema */
	uint64_t min, max;      /* of a number; of a text: its characters */
	bool may_be_null;
};

/* In the order of the table. The last one is "paused", which only pauses. */
extern const struct setting settings[];
enum { N_SETTINGS = 25, N_DEFINING = N_SETTINGS - 1 };

/* NULL: there is none of that name. */
const struct setting *settings_find(const char *name);

/* The settings as the columns of a SELECT from the table task AS t, without "paused". */
extern const char settings_columns[];

/* Adds the settings to @json as one object, for manage_define. Returns LOCKQ_OK, or LOCKQ_EUSAGE
 * with the handle's text where one is unknown, named twice or out of range. */
LOCKQ_MUST_CHECK int settings_to_json(struct lockq *q, const struct lockq_setting *given, size_t n,
    struct text *json);
/* Whether they have what a new task needs, a name and a view: LOCKQ_OK, or LOCKQ_EUSAGE with the
 * handle's text. */
LOCKQ_MUST_CHECK int settings_of_new(struct lockq *q, const struct lockq_setting *given, size_t n);

#endif
