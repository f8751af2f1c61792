/* SPDX-License-Identifier: MIT */
/* lockq_check_task(): whether a task works. The frame: the task's settings, the order of the rooms,
 * and the findings. */
#include "check/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle/error.h"
#include "handle/session.h"

/* The values that a new row has. A flag is 0 or 1 there. */
static const struct db_query read_defaults = {
	"read_defaults",
	"SELECT column_name, column_default"
	"  FROM information_schema.columns"
	" WHERE table_schema = DATABASE() AND table_name = 'task' AND column_default IS NOT NULL",
	DB_MANY
};

/* --- settings --- */

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
	char full[SCHEMA_NAME_BYTES];
	const char *dot;

	*name = (struct audited_name){ .setting = setting, .said = audit_value(a, setting) };
	if (name->said == NULL)
		return false;
	dot = strchr(name->said, '.');
	snprintf(name->schema, sizeof(name->schema), "%.*s", dot != NULL ?
	    (int)(dot - name->said) : NAME_BYTES - 1, dot != NULL ? name->said :
	    db_database(a->q->db));
	snprintf(name->name, sizeof(name->name), "%s", dot != NULL ? dot + 1 : name->said);
	snprintf(full, sizeof(full), "%s.%s", name->schema, name->name);
	if (db_quote_identifier(name->quoted, sizeof(name->quoted), full) == DB_OK ||
	    (dot == NULL && db_quote_identifier(name->quoted, sizeof(name->quoted),
	    name->name) == DB_OK))
		return true;
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
static int
read_settings(struct audit *a)
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

/* --- findings --- */

__attribute__((format(printf, 2, 0))) static char *
format_text(struct audit *a, const char *format, va_list args)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	text = n < 0 ? NULL : malloc((size_t)n + 1);
	if (text == NULL)
		a->no_memory = true;
	else
		vsnprintf(text, (size_t)n + 1, format, args);
	return text;
}

char *
audit_mend(struct audit *a, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = format_text(a, format, args);
	va_end(args);
	return text;
}

char *
audit_mend_set(struct audit *a, const char *option, const char *value)
{
	if (a->what->task == 0)
		return audit_mend(a, "managetask add ... %s %s", option, value);
	return audit_mend(a, "managetask set %u %s %s", a->what->task, option, value);
}

char *
audit_mend_number(struct audit *a, const char *option, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	return audit_mend_set(a, option, digits);
}

/* Whether the caller's settings concern @about. The others were as they are before. */
static bool
is_concerned(const struct lockq_check *what, const char *about)
{
	size_t i = 0;

	while (i < what->n_settings && strcmp(what->settings[i].name, about) != 0)
		i++;
	return what->task == 0 || what->n_settings == 0 || i < what->n_settings;
}

static struct lockq_finding *
add_finding(struct audit *a, enum lockq_severity severity, const char *code, const char *about)
{
	struct lockq_findings *all = a->findings;
	struct lockq_finding *bigger = realloc(all->findings,
	    (all->n_findings + 1) * sizeof(*bigger)), *f;

	if (bigger == NULL) {
		a->no_memory = true;
		return NULL;
	}
	if (severity != LOCKQ_NOTE && !is_concerned(a->what, about))
		severity = severity == LOCKQ_FAULT ? LOCKQ_WARNING : LOCKQ_NOTE;
	all->findings = bigger;
	f = &bigger[all->n_findings++];
	*f = (struct lockq_finding){ .severity = severity };
	snprintf(f->code, sizeof(f->code), "%s", code);
	snprintf(f->about, sizeof(f->about), "%s", about);
	all->n_faults += severity == LOCKQ_FAULT;
	all->n_warnings += severity == LOCKQ_WARNING;
	return f;
}

__attribute__((format(printf, 7, 0))) static void
add_text(struct audit *a, enum lockq_severity severity, const char *code, const char *about,
    int is_grant, char *mend, const char *format, va_list args)
{
	struct lockq_finding *f = add_finding(a, severity, code, about);

	if (f == NULL) {
		free(mend);
		return;
	}
	f->is_grant = is_grant;
	f->mend = mend;
	f->text = format_text(a, format, args);
}

void
audit_found(struct audit *a, enum lockq_severity severity, const char *code, const char *about,
    char *mend, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_text(a, severity, code, about, 0, mend, format, args);
	va_end(args);
}

void
audit_lacks(struct audit *a, enum lockq_severity severity, const char *code, const char *about,
    char *grant, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_text(a, severity, code, about, 1, grant, format, args);
	va_end(args);
}

bool
audit_raise(struct audit *a, const char *code)
{
	struct lockq_findings *all = a->findings;
	bool any = false;

	for (size_t i = 0; i < all->n_findings; i++) {
		struct lockq_finding *f = &all->findings[i];

		if (strcmp(f->code, code) != 0 || f->severity == LOCKQ_FAULT)
			continue;
		all->n_warnings -= f->severity == LOCKQ_WARNING;
		all->n_faults++;
		f->severity = LOCKQ_FAULT;
		any = true;
	}
	return any;
}

/* Those of one severity stay in the order in which they were found. */
static void
sort_findings(struct lockq_findings *all)
{
	for (size_t i = 1; i < all->n_findings; i++) {
		struct lockq_finding f = all->findings[i];
		size_t n = i;

		for (; n > 0 && all->findings[n - 1].severity > f.severity; n--)
			all->findings[n] = all->findings[n - 1];
		all->findings[n] = f;
	}
}

static void
forget_findings(struct lockq_findings *all)
{
	for (size_t i = 0; i < all->n_findings; i++) {
		free(all->findings[i].text);
		free(all->findings[i].mend);
	}
	free(all->findings);
	all->findings = NULL;
	all->n_findings = all->n_faults = all->n_warnings = 0;
}

void
lockq_findings_clear(struct lockq_findings *findings)
{
	if (findings == NULL)
		return;
	forget_findings(findings);
	free(findings->name);
	*findings = (struct lockq_findings)LOCKQ_FINDINGS_INIT;
}

/* --- the check --- */

static void
forget_views(struct audit *a)
{
	for (size_t i = 0; i < N_VIEWS; i++) {
		db_rows_clear(&a->views[i].columns);
		free(a->views[i].definition);
		a->views[i] = (struct audited_view){ .usable = false };
	}
}

/* All that needs no query of the manager's view. */
static enum db_rc
look(struct patience *patience, void *data, int *code)
{
	struct audit *a = data;
	enum db_rc rc;

	(void)patience;
	*code = LOCKQ_OK;
	forget_findings(a->findings);
	forget_views(a);
	audit_limits(a);
	rc = audit_other_task(a);
	if (rc == DB_OK)
		rc = audit_views(a);
	if (rc == DB_OK)
		rc = audit_rights(a);
	if (rc == DB_OK)
		rc = audit_procedures(a);
	if (rc == DB_OK)
		rc = audit_plans(a);
	return rc == DB_OK && a->no_memory ? DB_ENOMEM : rc;
}

static int
check_what(struct lockq *q, const struct lockq_check *what)
{
	const char *fault = error_of_reserved(what->reserved);
	struct text json = { NULL, 0, 0, false };
	int code = LOCKQ_OK;

	error_clear(q);
	if (fault != NULL)
		return error_usage(q, "%s", fault);
	if (what->task == 0)
		code = settings_of_new(q, what->settings, what->n_settings);
	if (code == LOCKQ_OK)
		code = settings_to_json(q, what->settings, what->n_settings, &json);
	text_clear(&json);
	return code;
}

int
lockq_check_task(struct lockq *q, const struct lockq_check *what, struct lockq_findings *findings)
{
	struct audit a = { .q = q, .what = what, .findings = findings };
	enum db_rc rc;
	int code;

	lockq_findings_clear(findings);
	code = check_what(q, what);
	if (code != LOCKQ_OK)
		return code;
	rc = session_ready(q);
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	db_set_role(q->db, "lockq_manager");
	code = read_settings(&a);
	if (code == LOCKQ_OK)
		code = patience_look(q, look, &a);
	if (code == LOCKQ_OK && a.views[CANDIDATES].usable)
		code = audit_query(&a);
	if (code == LOCKQ_OK)
		audit_times(&a);
	if (code == LOCKQ_OK && a.no_memory)
		code = error_from_db(q, q->db, DB_ENOMEM);
	db_set_role(q->db, "lockq_worker");
	sort_findings(findings);
	forget_views(&a);
	for (size_t i = 0; i < N_DEFINING; i++)
		free(a.values[i]);
	return code;
}
