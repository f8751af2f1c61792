/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>

#include "cli/answer.h"
#include "cli/ask.h"
#include "cli/program.h"

/* "after 30 s", "at once", "after 3 looks". */
static char *
when_given_up(const struct lockq_ask *ask, const struct lockq_answer *answer)
{
	uint64_t timeout_ms = ask->timeout_ms > 0 ? (uint64_t)ask->timeout_ms : 0;
	unsigned long long tries = ask->poll_tries;

	if (tries > 0 && (ask->timeout_ms < 0 || answer->waited_ms < timeout_ms))
		return cli_text("after %llu %s", tries, tries == 1 ? "look" : "looks");
	if (timeout_ms == 0)
		return cli_text("at once");
	return cli_text("after %s", timeout_ms % 1000 == 0 ? cli_age(timeout_ms / 1000).text :
	    cli_ms(timeout_ms).text);
}

static char *
gave_up(const struct lockq_ask *ask, const struct lockq_answer *answer)
{
	char *when = when_given_up(ask, answer), *text;
	unsigned long long id = answer->request_id;

	if (answer->status == LOCKQ_STATUS_CANCELLED)
		text = cli_text("gave up %s: request %llu is cancelled: try again", when, id);
	else
		text = cli_text("gave up %s: request %llu stays pending, since another process "
		    "made it: see checkwork --request %llu", when, id, id);
	free(when);
	return text;
}

/* Says why a request ended without loans. */
static char *
try_again(const struct lockq_ask *ask, const struct lockq_answer *answer, int rc)
{
	unsigned long long id = answer->request_id;
	bool cancelled = answer->status == LOCKQ_STATUS_CANCELLED;

	if (id == 0)
		return cli_text("interrupted before anything was asked for");
	if (rc == LOCKQ_CANCELLED && cancelled)
		return cli_text("interrupted: request %llu is cancelled", id);
	if (rc == LOCKQ_CANCELLED)
		return cli_text("interrupted: request %llu stays pending, since another process "
		    "made it: see checkwork --request %llu", id, id);
	if (answer->status == LOCKQ_EXPIRED)
		return cli_text("request %llu has expired, since no process waited for it: try "
		    "again", id);
	return gave_up(ask, answer);
}

char *
cli_ask_message(const struct lockq_ask *ask, const struct lockq_answer *answer, int rc,
    const char *library_text)
{
	char *user, *text;
	bool as_asked = ask->wait == LOCKQ_WAIT_NONE && answer->status == LOCKQ_PENDING;
	bool unread = rc == LOCKQ_CANCELLED && answer->status == LOCKQ_STATUS_UNKNOWN;

	if ((rc == LOCKQ_BUSY || unread) && library_text[0] != '\0')
		return cli_text("%s", library_text);
	if (rc == LOCKQ_EQUERY && answer->reason != NULL)
		return cli_text("task %u's query failed: %s", ask->task, answer->reason);
	if (rc == LOCKQ_EUNKNOWN) {
		user = cli_word(ask->user);
		text = cli_text("%s: checkwork --user %s shows what is yours", library_text, user);
		free(user);
		return text;
	}
	if (rc < 0)
		return cli_text("%s", library_text);
	if (rc == LOCKQ_CANCELLED || (rc == LOCKQ_BUSY && !as_asked))
		return try_again(ask, answer, rc);
	return NULL;
}

void
cli_ask_message_refill(const struct lockq_answer *answer)
{
	if (answer->refill_failed != NULL)
		cli_message("the list is of %s, since filling it anew failed: %s",
		    cli_local_s(answer->as_of).text, answer->refill_failed);
}

/* A leader whose query took no longer than a second need not ask again. */
static void
details_of_check(const struct lockq_answer *answer)
{
	struct cli_time checked = cli_local_s(answer->checked);

	if (checked.text[0] != '\0')
		cli_message("the view was asked again about the %s at %s", cli_loans(2),
		    checked.text);
	else
		cli_message("the view was not asked again about the %s", cli_loans(2));
}

void
cli_ask_message_details(const struct lockq_answer *answer)
{
	if (answer->request_id != 0)
		cli_message("request %llu (%s): %s after %s",
		    (unsigned long long)answer->request_id, answer->uuid,
		    lockq_status_name(answer->status), cli_ms(answer->waited_ms).text);
	if (answer->leader != NULL && cli_answer_is_from_list(answer))
		cli_message("the list was left by \"%s\", epoch %llu", answer->leader,
		    (unsigned long long)answer->epoch);
	else if (answer->leader != NULL && answer->epoch != 0)
		cli_message("the leader was \"%s\", epoch %llu; source of its list: %s",
		    answer->leader, (unsigned long long)answer->epoch,
		    answer->how != NULL ? answer->how : "unknown");
	else if (answer->leader != NULL)
		cli_message("the leader is \"%s\"", answer->leader);
	if (answer->n_loans > 0)
		details_of_check(answer);
	if (answer->retries > 0)
		cli_message("%u %s tried again", answer->retries, answer->retries == 1 ?
		    "transaction was" : "transactions were");
}
