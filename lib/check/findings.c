/* SPDX-License-Identifier: MIT */
/* What an audit finds: the findings, with their texts and mends, GRANTs among them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/audit.h"
#include "handle/session.h"

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

char *
audit_show(struct audit *a, const char *kind, const struct audited_name *name)
{
	return audit_mend(a, "SHOW CREATE %s %s", kind, name->quoted);
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
void
audit_sort_findings(struct lockq_findings *all)
{
	for (size_t i = 1; i < all->n_findings; i++) {
		struct lockq_finding f = all->findings[i];
		size_t n = i;

		for (; n > 0 && all->findings[n - 1].severity > f.severity; n--)
			all->findings[n] = all->findings[n - 1];
		all->findings[n] = f;
	}
}

void
audit_forget_findings(struct lockq_findings *all)
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
	audit_forget_findings(findings);
	free(findings->name);
	*findings = (struct lockq_findings)LOCKQ_FINDINGS_INIT;
}

/* --- GRANTs as mends --- */

/* `role`@`database`; false where that is too long. */
static bool
role_here(const struct audit *a, const char *role, char out[QUOTED_BYTES * 2])
{
	char whom[QUOTED_BYTES], where[QUOTED_BYTES];

	if (db_quote_identifier(whom, sizeof(whom), role) != DB_OK ||
	    db_quote_name(where, sizeof(where), db_database(a->q->db)) != DB_OK)
		return false;
	snprintf(out, QUOTED_BYTES * 2, "%s@%s", whom, where);
	return true;
}

char *
audit_grant(struct audit *a, const char *right, const char *quoted, const char *role)
{
	char whom[QUOTED_BYTES * 2];

	return role_here(a, role, whom) ? audit_mend(a, "GRANT %s %s TO %s", right, quoted, whom) :
	    NULL;
}

char *
audit_grant_role(struct audit *a, const char *role, const char *account)
{
	const char *at = strrchr(account, '@');
	char name[NAME_BYTES], user[QUOTED_BYTES], host[QUOTED_BYTES] = "'%'";
	char here[QUOTED_BYTES * 2];

	snprintf(name, sizeof(name), "%.*s", at != NULL ? (int)(at - account) : 0, account);
	if (at == NULL || db_quote_name(user, sizeof(user), name) != DB_OK ||
	    !role_here(a, role, here))
		return NULL;
	if (strcmp(at, "@%") != 0 && db_quote_name(host, sizeof(host), at + 1) != DB_OK)
		return NULL;
	return audit_mend(a, "GRANT %s TO %s@%s", here, user, host);
}
