/* SPDX-License-Identifier: MIT */
/* checkwork --choices: what may be typed as an option's value, for the completion of a shell. */
#ifndef LOCKQ_CMD_CHECKWORK_CHOICES_H
#define LOCKQ_CMD_CHECKWORK_CHOICES_H

#include "cli/options.h"

struct checkwork_choices {
	int kind;           /* an enum lockq_choice_kind; negative: not given */
	const char *begins; /* NULL: not given */
};
#define CHECKWORK_CHOICES_DEFAULTS { -1, NULL }

/* Reads the word after --choices into an int. */
cli_parse_fn checkwork_choices_parse;

/* Whether one of its options was given. */
bool checkwork_choices_wanted(const struct checkwork_choices *o);

/* Sets *@user and *@task if loans are to be listed and they were not given. @others: an option was
 * given that goes with none of them. Returns 0, or -1 with @error. */
LOCKQ_MUST_CHECK int checkwork_choices_check(const struct checkwork_choices *o, const char **user,
    uint32_t *task, bool others, struct cli_error *error);

/* Prints the choices. Returns the exit status. */
LOCKQ_MUST_CHECK int checkwork_choices_run(const struct checkwork_choices *o,
    const struct cli_common *common, struct lockq *q, const char *user, uint32_t task);

#endif
