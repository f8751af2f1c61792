/* SPDX-License-Identifier: MIT */
/* Scenarios of managers: tasks, people, and the check of a task. */
#include "scenario.h"

#include <inttypes.h>
#include <string.h>

#include "support.h"

enum { MADE = TASK_LAST };
#define PERSON "test_person"
#define LOGIN "test_login"

static void
no_such_task(struct run *run)
{
	static const char *const tables[] = {
		"work", "work_requested", "task_lock", "task_wake", "task"
	};

	(void)run;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		sql("DELETE FROM %s WHERE task_id = %d", tables[i], MADE);
	sql("DELETE FROM manage_log WHERE task_id = %d", MADE);
}

static void
such_a_task(struct run *run)
{
	no_such_task(run);
	make_task(MADE);
}

/* Its requests have ended long ago. */
static void
a_task_of_the_past(struct run *run)
{
	such_a_task(run);
	add_work(MADE, 1, 0, "completed", 1);
	add_work(MADE, 2, 1, "never", 1);
	sql("INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested,"
	    " outcome, served_at) VALUES (UUID(), %u, CURRENT_USER(), %d, 2, 0, 'empty',"
	    " NOW(6) - INTERVAL 1 DAY)", user_id(0), MADE);
}

static int
define(struct run *run, int adds, const struct lockq_setting *settings, size_t n)
{
	struct lockq_define what = LOCKQ_DEFINE_INIT;
	uint32_t task = 0;
	int code;

	what.manager = "ann";
	what.task = MADE;
	what.adds = adds;
	what.settings = settings;
	what.n_settings = n;
	what.reason = "for a test";
	code = lockq_define(run->q, &what, &task);
	if (code == LOCKQ_OK)
		say(run, "task %u", task);
	return code;
}

static int
add_task(struct run *run)
{
	static const struct lockq_setting settings[] = {
		{ "name", "made for a test" }, { "candidates_view", "test_view_100" }
	};

	return define(run, 1, settings, 2);
}

static int
change_task(struct run *run)
{
	static const struct lockq_setting settings[] = { { "max_count", "7" } };

	return define(run, 0, settings, 1);
}

static int
remove_task(struct run *run)
{
	return lockq_remove_task(run->q, "ann", MADE, "for a test");
}

/* --- people --- */

static void
no_such_person(struct run *run)
{
	(void)run;
	sql("DELETE FROM app_user WHERE name = '" PERSON "'");
}

static void
such_a_person(struct run *run)
{
	no_such_person(run);
	sql("INSERT INTO app_user (name) VALUES ('" PERSON "')");
}

/* The name and the account are in each table that has such. */
static void
a_person_of_the_past(struct run *run)
{
	static const char *const tables[] = { "work", "work_log", "work_requested" };

	such_a_person(run);
	some_history(run);
	sql("UPDATE app_user SET account = '" LOGIN "' WHERE name = '" PERSON "'");
	set_task(TASK, "manager = '" PERSON "', paused_by = '" PERSON "'");
	sql("UPDATE leader_run SET user = '" PERSON "' WHERE task_id = %d", TASK);
	/* All of it is the person's, who has nothing any more. */
	sql("DELETE l FROM work_log AS l JOIN work AS w USING (task_id, loan_id)"
	    " WHERE w.task_id = %d AND w.state = 'assigned'", TASK);
	sql("DELETE FROM work WHERE task_id = %d AND state = 'assigned'", TASK);
	sql("DELETE FROM work_requested WHERE task_id = %d AND pending = 1", TASK);
	sql("UPDATE work_requested SET requested = 1, assigned = 1 WHERE task_id = %d", TASK);
	for (size_t i = 0; i < 3; i++)
		sql("UPDATE %s SET user_id = (SELECT u.user_id FROM app_user AS u"
		    " WHERE u.name = '" PERSON "')%s WHERE task_id = %d", tables[i],
		    i > 0 ? ", account = '" LOGIN "@localhost'" : "", TASK);
}

/* No table has the name or the account. */
#define FORGOTTEN \
	"SELECT NOT EXISTS (SELECT 1 FROM app_user" \
	"  WHERE name = '" PERSON "' OR account = '" LOGIN "')" \
	" AND NOT EXISTS (SELECT 1 FROM task" \
	"  WHERE manager = '" PERSON "' OR paused_by = '" PERSON "')" \
	" AND NOT EXISTS (SELECT 1 FROM leader_run WHERE user = '" PERSON "')" \
	" AND NOT EXISTS (SELECT 1 FROM work_log WHERE account LIKE '" LOGIN "@%')" \
	" AND NOT EXISTS (SELECT 1 FROM work_requested WHERE account LIKE '" LOGIN "@%')"

static int
change_person(struct run *run, enum lockq_person_change what, const char *account)
{
	return lockq_change_person(run->q, "ann", PERSON, what, account, "for a test");
}

static int
add_person(struct run *run)
{
	return change_person(run, LOCKQ_PERSON_ADD, NULL);
}

static int
bind_person(struct run *run)
{
	return change_person(run, LOCKQ_PERSON_BIND, "lockq_app");
}

static int
disable_person(struct run *run)
{
	return change_person(run, LOCKQ_PERSON_DISABLE, NULL);
}

static int
remove_person(struct run *run)
{
	return change_person(run, LOCKQ_PERSON_REMOVE, NULL);
}

static int
forget_person(struct run *run)
{
	uint64_t rows = 0;

	return lockq_forget_person(run->q, "ann", PERSON, 0, "for a test", &rows);
}

/* --- the check --- */

static void
a_task_to_check(struct run *run)
{
	(void)run;
	add_loans(TASK, 20);
	set_task(TASK, "cache_ttl = 60");
}

static int
check_task(struct run *run)
{
	struct lockq_check what = LOCKQ_CHECK_INIT;
	struct lockq_findings found = LOCKQ_FINDINGS_INIT;
	int code;

	what.task = TASK;
	code = lockq_check_task(run->q, &what, &found);
	if (code == LOCKQ_OK)
		say(run, "%" PRIu64 " loans", found.loans);
	for (size_t i = 0; i < found.n_findings; i++)
		say(run, ", %s", found.findings[i].code);
	lockq_findings_clear(&found);
	return code;
}

/* A finding as lockq_check_task() makes it of a right that is missing. */
static int
grant(struct run *run)
{
	static char text[] = "the role can't read the view",
	    mend[] = "GRANT SELECT ON `lockq`.`test_view_100` TO `lockq_worker`@`lockq`";
	struct lockq_finding finding = { .is_grant = 1, .text = text, .mend = mend };
	struct lockq_findings found = LOCKQ_FINDINGS_INIT;
	size_t n = 0;
	int code;

	found.findings = &finding;
	found.n_findings = 1;
	code = lockq_grant(run->q, &found, &n);
	if (code == LOCKQ_OK)
		say(run, "%zu", n);
	return code;
}


const struct scenario manage_scenarios[] = {
	{ "lockq_define", "adds", MANAGER_GROUP, no_such_task, .call = add_task,
	  .done = "SELECT COUNT(*) FROM task WHERE task_id = 109", .once = true },
	{ "lockq_define", "changes", MANAGER_GROUP, such_a_task, .call = change_task,
	  .done = "SELECT COUNT(*) FROM task WHERE task_id = 109 AND max_count = 7" },
	{ "lockq_remove_task", "", MANAGER_GROUP, a_task_of_the_past, .call = remove_task,
	  .done = "SELECT COUNT(*) = 0 FROM task WHERE task_id = 109", .once = true },
	{ "lockq_change_person", "adds", MANAGER_GROUP, no_such_person, .call = add_person,
	  .done = "SELECT COUNT(*) FROM app_user WHERE name = '" PERSON "'", .once = true },
	{ "lockq_change_person", "binds", MANAGER_GROUP, such_a_person, .call = bind_person,
	  .done = "SELECT COUNT(*) FROM app_user WHERE name = '" PERSON "'"
	  " AND account = 'lockq_app'" },
	{ "lockq_change_person", "disables", MANAGER_GROUP, such_a_person, .call = disable_person,
	  .done = "SELECT COUNT(*) FROM app_user WHERE name = '" PERSON "' AND enabled = 0" },
	{ "lockq_change_person", "removes", MANAGER_GROUP, such_a_person, .call = remove_person,
	  .done = "SELECT COUNT(*) = 0 FROM app_user WHERE name = '" PERSON "'", .once = true },
	{ "lockq_forget_person", "", MANAGER_GROUP, a_person_of_the_past, .call = forget_person,
	  .done = FORGOTTEN, .once = true },
	{ "lockq_check_task", "", MANAGER_GROUP, a_task_to_check, .call = check_task },
	{ "lockq_grant", "", OWNER_GROUP, a_task_to_check, .call = grant },
	{ .function = NULL }
};
