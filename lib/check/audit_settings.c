/* SPDX-License-Identifier: MIT */
/* The settings of the task, from which all files of an audit start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/audit.h"
#include "handle/error.h"
#include "handle/session.h"

/* The values that a new row has. A flag is 0 or 1 there. */
static DB_QUERY(read_defaults, DB_MANY,
    "SELECT column_name, column_default"
    "  FROM information_schema.columns"
    " WHERE table_schema = DATABASE() AND table_name = 'task' AND column_default IS NOT NULL");

/* Where its value is; N_DEFINING or more: none of those that define a task has the name. */
static size_t
place_of(const char *setting)
{
	const struct setting *found = settings_find(setting);

	return found != NULL ? (size_t)(found - settings) : N_DEFINING;
}

const char *
audit_value(const struct audit *a, const char *setting)
{
	size_t i = place_of(setting);

	return i < N_DEFINING ? a->values[i] : NULL;
}

uint64_t
audit_number(const struct audit *a, const char *setting)
{
	const char *value = audit_value(a, setting);

	return value != NULL ? strtoull(value, NULL, 10) : 0;
}

bool
audit_flag(const struct audit *a, const char *setting)
{
	const char *value = audit_value(a, setting);

	return value != NULL && strcmp(value, "yes") == 0;
}

bool
audit_name(struct audit *a, const char *setting, struct audited_name *name)
{
	char full[QUOTED_BYTES], schema[SCHEMA_NAME_BYTES];
	const char *dot;

	*name = (struct audited_name){ .setting = setting, .said = audit_value(a, setting) };
	if (name->said == NULL)
		return false;
	dot = strchr(name->said, '.');
	snprintf(name->schema, sizeof(name->schema), "%.*s", dot != NULL ?
	    (int)(dot - name->said) : NAME_BYTES - 1, dot != NULL ? name->said :
	    db_database(a->q->db));
	snprintf(name->name, sizeof(name->name), "%s", dot != NULL ? dot + 1 : name->said);
	if (db_quote_identifier(full, sizeof(full), name->said) == DB_OK &&
	    db_quote_name(schema, sizeof(schema), name->schema) == DB_OK) {
		snprintf(name->quoted, sizeof(name->quoted), "%s.`%s`", schema, name->name);
		return true;
	}
	snprintf(full, sizeof(full), "--%s", setting);
	for (char *c = full; *c != '\0'; c++)
		*c = *c == '_' ? '-' : *c;
	audit_found(a, LOCKQ_FAULT, "bad_name", setting, audit_mend_set(a, full,
	    strcmp(setting, "candidates_view") == 0 ? "VIEW" : "none"),
	    "%s \"%s\" is not a name: a name has letters, digits, _ and $, and one dot at most",
	    setting, name->said);
	name->said = NULL;
	return false;
}

static enum db_rc
read_values(struct audit *a)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(a->q->db, &read_defaults, DB_NO_ARGS, &rows);

	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		size_t n = place_of(db_cell(&rows, i, 0));
		const char *value = db_cell(&rows, i, 1);

		if (n < N_DEFINING && settings[n].kind == SETTING_FLAG)
			value = strcmp(value, "0") == 0 ? "no" : "yes";
		if (n < N_DEFINING)
			rc = copy_text(&a->values[n], value);
	}
	db_rows_clear(&rows);
	return rc;
}

/* The settings of the task's row, or of a new one, with those that the caller names. */
int
audit_read_settings(struct audit *a)
{
	struct lockq_definitions tasks = LOCKQ_DEFINITIONS_INIT;
	const struct lockq_check *what = a->what;
	enum db_rc rc = DB_OK;
	int code = what->task != 0 ? lockq_definitions(a->q, what->task, &tasks) : LOCKQ_OK;

	if (code != LOCKQ_OK) {
		lockq_definitions_clear(&tasks);
		return code;
	}
	if (what->task == 0)
		rc = read_values(a);
	for (size_t i = 0; rc == DB_OK && tasks.n_tasks > 0 && i < N_DEFINING; i++)
		rc = copy_text(&a->values[i], tasks.tasks[0].settings[i].value);
	for (size_t i = 0; rc == DB_OK && i < what->n_settings; i++) {
		size_t n = place_of(what->settings[i].name);

		if (n < N_DEFINING)
			rc = copy_text(&a->values[n], what->settings[i].value);
	}
	if (rc == DB_OK)
		rc = copy_text(&a->findings->name, audit_value(a, "name"));
	lockq_definitions_clear(&tasks);
	return error_from_db(a->q, a->q->db, rc);
}
