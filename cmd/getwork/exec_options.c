/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <uuid/uuid.h>

#include "cli/values.h"
#include "getwork/exec.h"

enum { RETRY_AFTER_S = 3600, GIVE_UP_AFTER = 3 };

int
getwork_exec_parse(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	if (text[strspn(text, " \t\n")] == '\0')
		return cli_fail(error, "--%s names no command", option->name);
	return cli_parse_text(option, text, target, error);
}

bool
getwork_exec_wanted(const struct getwork_exec *o)
{
	return o->command != NULL || o->retry_after_s != UINT32_MAX || o->give_up_after != 0;
}

void
getwork_exec_uuid(char uuid[37])
{
	uuid_t bytes;

	uuid_generate(bytes);
	uuid_unparse_lower(bytes, uuid);
}

int
getwork_exec_check(struct getwork_exec *o, const char **uuid, struct cli_error *error)
{
	if (o->command == NULL && getwork_exec_wanted(o))
		return cli_fail(error, "--%s needs --exec", o->give_up_after != 0 ?
		    "give-up-after" : "retry-after");
	if (o->command == NULL)
		return 0;
	if (o->retry_after_s == UINT32_MAX)
		o->retry_after_s = RETRY_AFTER_S;
	if (o->give_up_after == 0)
		o->give_up_after = GIVE_UP_AFTER;
	if (uuid != NULL && *uuid == NULL) {
		getwork_exec_uuid(o->uuid);
		*uuid = o->uuid;
	}
	return 0;
}
