/* SPDX-License-Identifier: MIT */
/* The people who may ask for work: lockq_people() reads them, lockq_change_person() changes them
 * for a manager. */
#include <stdio.h>
#include <string.h>

#include "db/db_record.h"
#include "handle/error.h"
#include "handle/patience.h"
#include "handle/session.h"
#include "manage/managing.h"
#include "rules/lease.h"

static DB_QUERY(manage_person, DB_ONE, "CALL manage_person(?, ?, ?, ?, ?)");

/* Each count goes by the user's rows. */
static DB_QUERY(read_people, DB_MANY,
    "SELECT u.name, u.account, u.enabled, u.created_at,"
    "       (SELECT COUNT(*) FROM work AS w FORCE INDEX (work_pipeline)"
    "         WHERE w.user_id = u.user_id AND w.state = 'assigned'"
    "           AND " LEASE_LASTS "),"
    "       (SELECT COUNT(*) FROM task AS t"
    "         STRAIGHT_JOIN work_requested AS r FORCE INDEX (work_requested_one_pending)"
    "            ON r.user_id = u.user_id AND r.task_id = t.task_id AND r.pending = 1)"
    "  FROM app_user AS u"
    " ORDER BY u.name");

static const char *
action_of(enum lockq_person_change what)
{
	static const char *const words[] = {
		[LOCKQ_PERSON_ADD] = "add", [LOCKQ_PERSON_BIND] = "bind",
		[LOCKQ_PERSON_DISABLE] = "disable", [LOCKQ_PERSON_ENABLE] = "enable",
		[LOCKQ_PERSON_REMOVE] = "remove"
	};

	return (size_t)what < sizeof(words) / sizeof(words[0]) ? words[what] : NULL;
}

int
people_check(struct lockq *q, const char *user, enum lockq_person_change what,
    const char *account)
{
	if (action_of(what) == NULL)
		return error_usage(q, "%d is no change of a person", (int)what);
	if (user == NULL || user[0] == '\0')
		return error_usage(q, "no user was named");
	if (text_characters(user) > 64)
		return error_usage(q, "a user's name has 64 characters at most");
	if (account != NULL && (account[0] == '\0' || text_characters(account) > 32))
		return error_usage(q, "the name of a MySQL account has 1 to 32 characters");
	return LOCKQ_OK;
}

int
people_judge(struct lockq *q, const char *word, const char *user, const char *account)
{
	const char *host = account != NULL ? strrchr(account, '@') : NULL;

	if (strcmp(word, "done") == 0)
		return LOCKQ_OK;
	if (strcmp(word, "unknown") == 0)
		return error_refused(q, "user \"%s\" is unknown: managetask user add makes one "
		    "known", user);
	if (strcmp(word, "unclear") == 0)
		return error_usage(q, "user \"%s\": a new name has no blank at an end, no two in a "
		    "row, and no character that can't be seen: leave it out", user);
	if (strcmp(word, "exists") == 0)
		return error_refused(q, "user \"%s\" is there already", user);
	if (strcmp(word, "account") == 0 && host != NULL)
		return error_refused(q, "no MySQL account has the login name \"%s\": give it "
		    "without its host, as in %.*s", account, (int)(host - account), account);
	if (strcmp(word, "account") == 0)
		return error_refused(q, "no MySQL account has the login name \"%s\": nobody could "
		    "ask for user \"%s\"", account, user);
	return error_refused(q, "user \"%s\" has asked for work, and the history names the user: "
	    "disable the user", user);
}

static int
change_person(struct lockq *q, const char *manager, const char *user,
    enum lockq_person_change what, const char *account, const char *reason)
{
	char word[WORD_BYTES], held[96];
	uint64_t number = 0;
	int code;

	error_clear(q);
	code = managing_check(q, manager, reason);
	if (code == LOCKQ_OK)
		code = people_check(q, user, what, account);
	if (code != LOCKQ_OK)
		return code;
	snprintf(held, sizeof(held), "user \"%.64s\"", user);
	code = managing_call(q, &manage_person, DB_ARGS(db_text(manager), db_text(user),
	    db_text(action_of(what)), db_text(account), db_text(reason)), held, word, &number);
	return code == LOCKQ_OK ? people_judge(q, word, user, account) : code;
}

int
lockq_change_person(struct lockq *q, const char *manager, const char *user,
    enum lockq_person_change what, const char *account, const char *reason)
{
	operation_begin(q, OPERATION_MANAGE, manager, 0);
	return operation_end(q, 0, change_person(q, manager, user, what, account, reason));
}

#define PERSON(member) DB_FIELD(struct lockq_person, member)
static const struct db_record person_record = DB_RECORD(struct lockq_person,
    PERSON(user), PERSON(account), PERSON(enabled), PERSON(created_at), PERSON(held),
    PERSON(pending));

static enum db_rc
look_at_people(struct patience *patience, void *data, int *code)
{
	struct lockq_people *people = data;
	enum db_rc rc;

	lockq_people_clear(people);
	rc = record_read(&person_record, patience->q->db, &read_people, DB_NO_ARGS,
	    &people->people, &people->n_people);
	*code = error_if_none(people->n_people);
	return rc;
}

int
lockq_people(struct lockq *q, struct lockq_people *people)
{
	lockq_people_clear(people);
	return patience_look(q, look_at_people, people);
}

void
lockq_people_clear(struct lockq_people *people)
{
	if (people == NULL)
		return;
	record_list_free(&person_record, people->people, people->n_people);
	*people = (struct lockq_people)LOCKQ_PEOPLE_INIT;
}
