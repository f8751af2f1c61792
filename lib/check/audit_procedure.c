/* SPDX-License-Identifier: MIT */
/* The audit of a task's procedures, on_complete and on_undo: whether they are there, can be called
 * as lockq calls them, and leave the transaction to lockq. They are never called here, since they
 * change business data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/audit.h"
#include "handle/error.h"
#include "handle/session.h"

/* A procedure and a function may have the same name; the procedure is the one that is called. */
static DB_QUERY(read_routine, DB_MAYBE,
    "SELECT r.routine_type, r.security_type, r.definer, r.routine_definition,"
    "       r.definer = CURRENT_USER()"
    "         OR r.definer IN (SELECT d.definer FROM information_schema.routines AS d"
    "                           WHERE d.routine_schema = DATABASE()"
    "                             AND d.routine_name = 'work_completes_2')"
    "  FROM information_schema.routines AS r"
    " WHERE r.routine_schema = ? AND r.routine_name = ?"
    " ORDER BY r.routine_type = 'PROCEDURE' DESC"
    " LIMIT 1");
static DB_QUERY(read_parameters, DB_MANY,
    "SELECT p.parameter_mode = 'IN', p.data_type = 'bigint',"
    "       COALESCE(p.character_maximum_length >= 64, 0)"
    "  FROM information_schema.parameters AS p"
    " WHERE p.specific_schema = ? AND p.specific_name = ? AND p.routine_type = 'PROCEDURE'"
    " ORDER BY p.ordinal_position");

/* The procedures that lockq calls, and by whose account. */
static const struct called {
	const char *setting, *option;
	const char *role, *people, *right; /* who needs the right, and the code of its finding */
	const char *loss;                  /* what nobody can do without the procedure */
} calls[] = {
	{ "on_complete", "--on-complete", "lockq_worker", "workers", "worker_execute",
	    "complete a loan" },
	{ "on_undo", "--on-undo", "lockq_manager", "managers", "manager_execute",
	    "undo a completion" },
};

static void
note_unseen(struct audit *a, const struct audited_name *name)
{
	audit_found(a, LOCKQ_NOTE, "text_unseen", name->setting, NULL, "the text of %s \"%s\" was "
	    "not looked at: only its definer sees it, and accounts with the right SHOW_ROUTINE",
	    name->setting, name->said);
}

static enum db_rc
look_at_right(struct audit *a, const struct called *call, const struct audited_name *name)
{
	return audit_execute(a, name, call->role, call->people, call->right);
}

/* The catalogue does not have it. It does not show a procedure either that this account may call
 * only by a role, but PREPARE finds that one. */
static enum db_rc
look_for_it(struct audit *a, const struct called *call, const struct audited_name *name)
{
	char sql[QUOTED_BYTES + 32];
	const struct db_query query = { "try_procedure", sql, DB_NO_ROWS };
	enum db_rc rc;

	snprintf(sql, sizeof(sql), "CALL %s(?, ?)", name->quoted);
	rc = db_prepare(a->q->db, &query);
	if (rc == DB_OK) {
		note_unseen(a, name);
		return look_at_right(a, call, name);
	}
	if (rc != DB_EFAIL)
		return rc;
	if (db_errno(a->q->db) == NO_ROUTINE_RIGHT)
		audit_found(a, LOCKQ_FAULT, "procedure_unseen", name->setting, audit_grant(a,
		    "EXECUTE ON PROCEDURE", name->quoted, call->role), "%s \"%s\" is not there, "
		    "or neither %s nor this account may call it", name->setting, name->said,
		    call->people);
	else
		audit_found(a, LOCKQ_FAULT, "procedure_missing", name->setting,
		    audit_mend_set(a, call->option, "none"), "%s \"%s\" is not there, so nobody "
		    "can %s", name->setting, name->said, call->loss);
	return DB_OK;
}

static enum db_rc
look_at_parameters(struct audit *a, const struct audited_name *name)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(a->q->db, &read_parameters, DB_ARGS(db_text(name->schema),
	    db_text(name->name)), &rows);
	bool fit = rows.n_rows == 2 && db_cell_u64(&rows, 0, 0) != 0 &&
	    db_cell_u64(&rows, 1, 0) != 0 && db_cell_u64(&rows, 0, 1) != 0 &&
	    db_cell_u64(&rows, 1, 2) != 0;

	if (rc == DB_OK && !fit)
		audit_found(a, LOCKQ_FAULT, "procedure_parameters", name->setting, audit_show(a,
		    "PROCEDURE", name), "%s \"%s\" has other parameters than (IN loan_id "
		    "BIGINT UNSIGNED, IN user VARCHAR(64))", name->setting, name->said);
	db_rows_clear(&rows);
	return rc;
}

/* --- its text --- */

/* Whether @words go on with one of them. */
static bool
goes_on_with(const char *words, const char *const *phrases)
{
	while (*phrases != NULL && !audit_begins(words, *phrases))
		phrases++;
	return *phrases != NULL;
}

/* "set @n = 1, autocommit = 1": whether it ends a transaction. */
static bool
sets_autocommit(const char *statement)
{
	static const char *const names[] = { "autocommit", "session autocommit", "local autocommit",
		"@@autocommit", "@@session.autocommit", "@@local.autocommit", NULL };
	const char *c = statement + strlen("set");

	while (*c != '\0' && *c != ';') {
		c += 1 + (c[1] == ' ');
		if (goes_on_with(c, names))
			return true;
		c += strcspn(c, ",;");
	}
	return false;
}

/* Whether a statement ends the transaction of a disposition. DDL on temporary tables does not. */
static bool
ends_transaction(const char *statement)
{
	static const char *const ends[] = { "commit", "rollback", "start transaction", "create",
		"alter", "drop", "truncate", "rename", "lock", "unlock", "analyze", "optimize",
		"repair", "check", "cache", "load index", "flush", "reset", "grant", "revoke",
		"set password", "install", "uninstall", "xa", NULL };
	static const char *const leaves[] = { "rollback to", "rollback work to",
		"create temporary", "drop temporary", "drop prepare", NULL };

	if (audit_begins(statement, "set"))
		return goes_on_with(statement, ends) || sets_autocommit(statement);
	return goes_on_with(statement, ends) && !goes_on_with(statement, leaves);
}

/* The statement that does, or NULL. */
static const char *
find_end(const char *words)
{
	const char *at = audit_statement(words, words);

	while (at != NULL && !ends_transaction(at))
		at = audit_statement(words, at + 1);
	return at;
}

/* Returns what comes after a condition of a handler: a word, a number, or one of these. */
static const char *
after_condition(const char *c)
{
	if (audit_begins(c, "not found"))
		return c + strlen("not found");
	if (!audit_begins(c, "sqlstate"))
		return c + strcspn(c, " ,;");
	c += strlen("sqlstate");
	c += *c == ' ';
	c += audit_begins(c, "value") ? strlen("value") : 0;
	c += *c == ' ';
	return c + (*c == '?');
}

/* Whether the conditions of a handler, "not found, sqlexception", have a deadlock among them. Words
 * have no strings; @text is what they were made of. */
static bool
catches_deadlocks(const char *conditions, const char *text)
{
	static const char *const errors[] = { "sqlexception", "1213", NULL };
	const char *c = conditions;

	for (;;) {
		c += *c == ' ';
		if (goes_on_with(c, errors) ||
		    (audit_begins(c, "sqlstate") && strstr(text, "40001") != NULL))
			return true;
		c = after_condition(c);
		c += *c == ' ';
		if (*c != ',')
			return false;
		c++;
	}
}

/* Whether more handlers catch deadlocks than there are RESIGNALs. */
static bool
swallows_deadlocks(const char *words, const char *text)
{
	static const char handler[] = "handler for ", resignal[] = "resignal";
	size_t n = 0;

	for (const char *at = strstr(words, handler); at != NULL; at = strstr(at + 1, handler))
		n += catches_deadlocks(at + strlen(handler), text);
	for (const char *at = strstr(words, resignal); at != NULL && n > 0;
	    at = strstr(at + 1, resignal))
		n--;
	return n > 0;
}

/* As much of a statement as people need to find it. */
static int
said_length(const char *statement)
{
	int length = (int)strcspn(statement, ";?");

	length = length < 40 ? length : 40;
	while (length > 0 && statement[length - 1] == ' ')
		length--;
	return length;
}

static void
look_at_text(struct audit *a, const struct audited_name *name, const char *text)
{
	char *words = audit_words(a, text);
	const char *end;

	if (words == NULL)
		return;
	end = find_end(words);
	if (end != NULL)
		audit_found(a, LOCKQ_FAULT, "procedure_commits", name->setting,
		    audit_show(a, "PROCEDURE", name), "%s \"%s\" says \"%.*s\", and so ends the "
		    "transaction, which it must leave to lockq", name->setting, name->said,
		    said_length(end), end);
	if (swallows_deadlocks(words, text))
		audit_found(a, LOCKQ_WARNING, "procedure_catches", name->setting,
		    audit_show(a, "PROCEDURE", name), "%s \"%s\" catches errors, deadlocks too, so "
		    "lockq may go on though nothing was changed: end the handler with RESIGNAL",
		    name->setting, name->said);
	free(words);
}

/* --- who it runs as --- */

/* Without its definer no call succeeds. This account may see that only where it may read the
 * server's accounts; the account that made lockq's own procedures is there in any case. */
static enum db_rc
look_at_definer(struct audit *a, const struct audited_name *name, const char *definer,
    bool is_known)
{
	bool there = is_known, known = is_known;
	enum db_rc rc = is_known ? DB_OK : audit_account(a, definer, &there, &known);

	if (rc == DB_OK && known && !there)
		audit_found(a, LOCKQ_FAULT, "procedure_definer_gone", name->setting,
		    audit_show(a, "PROCEDURE", name), "%s \"%s\" has a definer that does not exist "
		    "any more, \"%s\"", name->setting, name->said, definer);
	else if (rc == DB_OK && !known)
		audit_found(a, LOCKQ_NOTE, "definer_unseen", name->setting, NULL, "whether \"%s\", "
		    "the definer of %s \"%s\", is there can't be seen with this account", definer,
		    name->setting, name->said);
	return rc;
}

static enum db_rc
look_at_procedure(struct audit *a, const struct called *call, const struct audited_name *name,
    const struct db_rows *rows)
{
	const char *text = db_cell(rows, 0, 3);
	bool invoker = strcmp(db_cell(rows, 0, 1), "INVOKER") == 0;
	enum db_rc rc;

	if (invoker)
		audit_found(a, LOCKQ_FAULT, "procedure_invoker", name->setting, audit_mend(a,
		    "ALTER PROCEDURE %s SQL SECURITY DEFINER", name->quoted), "%s \"%s\" runs with "
		    "the rights of whoever has it called, and %s have none on your tables",
		    name->setting, name->said, call->people);
	rc = look_at_parameters(a, name);
	if (rc == DB_OK && !invoker)
		rc = look_at_definer(a, name, db_cell(rows, 0, 2), db_cell_u64(rows, 0, 4) != 0);
	if (rc != DB_OK)
		return rc;
	if (text != NULL)
		look_at_text(a, name, text);
	else
		note_unseen(a, name);
	return look_at_right(a, call, name);
}

static enum db_rc
look_at_call(struct audit *a, const struct called *call)
{
	struct audited_name name;
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc;

	if (!audit_name(a, call->setting, &name))
		return DB_OK;
	rc = db_run(a->q->db, &read_routine, DB_ARGS(db_text(name.schema), db_text(name.name)),
	    &rows);
	if (rc == DB_OK && rows.n_rows == 0)
		rc = look_for_it(a, call, &name);
	else if (rc == DB_OK && strcmp(db_cell(&rows, 0, 0), "PROCEDURE") != 0)
		audit_found(a, LOCKQ_FAULT, "procedure_function", name.setting,
		    audit_mend_set(a, call->option, "none"), "%s \"%s\" is a function: lockq calls "
		    "a procedure", name.setting, name.said);
	else if (rc == DB_OK)
		rc = look_at_procedure(a, call, &name, &rows);
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
audit_procedures(struct audit *a)
{
	enum db_rc rc = DB_OK;

	if (audit_value(a, "on_complete") == NULL && audit_number(a, "complete_hold") == 0)
		audit_found(a, a->what->task == 0 ? LOCKQ_WARNING : LOCKQ_NOTE, "no_on_complete",
		    "on_complete", NULL, "a loan that is completed is offered again at once, "
		    "unless something else has changed the data: the task has neither "
		    "on_complete nor complete_hold");
	for (size_t i = 0; rc == DB_OK && i < sizeof(calls) / sizeof(calls[0]); i++)
		rc = look_at_call(a, &calls[i]);
	return rc;
}
