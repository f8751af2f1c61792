/* SPDX-License-Identifier: MIT */
/* Parsers and checks that several commands of managetask have. */
#include <string.h>

#include "cli/json.h"
#include "cli/utf8.h"
#include "managetask/commands.h"

/* "--max-count 5" sets the column max_count, and "none" makes it NULL. The library knows what a
 * column may be. */
int
manage_parse_setting(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct manage_settings *settings = target;
	char *column = cli_text("%s", option->name);

	if (cli_utf8_length(text, strlen(text)) < 0)
		return cli_fail(error, "--%s must be valid UTF-8", option->name);
	if (settings->n == MANAGE_MOST)
		return cli_fail(error, "--%s is one option too many", option->name);
	for (char *c = column; *c != '\0'; c++)
		*c = *c == '-' ? '_' : *c;
	settings->list[settings->n++] = (struct lockq_setting){ column,
		strcmp(text, "none") == 0 ? NULL : text };
	return 0;
}

int
manage_parse_user(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct manage_names *users = target;
	const char *name = NULL;

	if (cli_parse_utf8(option, text, &name, error) != 0)
		return -1;
	if (users->n == MANAGE_MOST)
		return cli_fail(error, "%d users at most can be named at once", MANAGE_MOST);
	users->names[users->n++] = name;
	return 0;
}

int
manage_check_by(void *options, struct cli_error *error)
{
	struct manage_options *o = options;

	return cli_default_user(&o->by, error);
}

int
manage_check_task(void *options, struct cli_error *error)
{
	const struct manage_options *o = options;

	return o->task == 0 ? cli_fail(error, "the task's number is missing") : 0;
}

void
manage_say_done(const struct manage_options *o, const char *what, uint32_t task, const char *user,
    const char *done)
{
	json_t *object;

	if (o->common.json) {
		object = json_object();
		cli_json_set(object, "task", task != 0 ? cli_json_number(task) : json_null());
		cli_json_set(object, "user", cli_json_text(user));
		cli_json_set(object, "done", cli_json_text(done));
		cli_json_print(object);
	} else if (user != NULL) {
		cli_line("%s %s: %s", what, user, done);
	} else {
		cli_line("%s %u: %s", what, task, done);
	}
}
