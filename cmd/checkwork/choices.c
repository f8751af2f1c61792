/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "checkwork/look.h"
#include "cli/utf8.h"

int
checkwork_choices_parse(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	static const char *const words[] = {
		[LOCKQ_CHOICE_USERS] = "users", [LOCKQ_CHOICE_TASKS] = "tasks",
		[LOCKQ_CHOICE_LOANS] = "loans", [LOCKQ_CHOICE_REQUESTS] = "requests"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0) {
			*(int *)target = (int)i;
			return 0;
		}
	}
	return cli_fail(error, "--%s \"%s\" must be users, tasks, loans or requests", option->name,
	    text);
}

bool
checkwork_choices_wanted(const struct checkwork_choices *o)
{
	return o->kind >= 0 || o->begins != NULL;
}

int
checkwork_choices_check(const struct checkwork_choices *o, const char **user, uint32_t *task,
    bool others, struct cli_error *error)
{
	bool loans = o->kind == LOCKQ_CHOICE_LOANS;

	if (o->kind < 0)
		return cli_fail(error, "--begins needs --choices");
	if (others || (!loans && (*user != NULL || *task != 0)))
		return cli_fail(error, "--choices can be combined with --begins only, and with "
		    "loans also with --user and --task");
	if (!loans)
		return 0;
	if (cli_default_user(user, error) != 0 || cli_default_task(task, error) != 0)
		return -1;
	return *task == 0 ? cli_fail_no_task(error) : 0;
}

int
checkwork_choices_run(const struct checkwork_choices *o, const struct cli_common *common,
    struct lockq *q, const char *user, uint32_t task)
{
	struct lockq_choices choices = LOCKQ_CHOICES_INIT;
	int rc = lockq_choices(q, (enum lockq_choice_kind)o->kind, user, task, o->begins, &choices);

	for (size_t i = 0; i < choices.n_choices; i++) {
		char *value = cli_escape(choices.choices[i].value);
		char *about = cli_escape(choices.choices[i].about);

		printf("%s%s%s\n", value, about[0] != '\0' ? "\t" : "", about);
		free(value);
		free(about);
	}
	lockq_choices_clear(&choices);
	return rc < 0 ? cli_report_library(common, q, rc) : cli_exit_status(rc, cli_caught());
}
