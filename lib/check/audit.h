/* SPDX-License-Identifier: MIT */
/* lockq_check_task(): what its files share. Each file looks at one thing, and adds what it finds.
 * Inside the library this is an audit: a check is the question whether kept loans still match. */
#ifndef LOCKQ_AUDIT_H
#define LOCKQ_AUDIT_H

#include "handle/patience.h"
#include "manage/settings.h"

enum { SCHEMA_NAME_BYTES = NAME_BYTES * 2, QUOTED_BYTES = NAME_BYTES * 4 };

/* The server's errors that tell what is wrong with a view or a procedure. */
enum {
	NO_DATABASE = 1049, NO_TABLE = 1146, NO_ROUTINE = 1305, BROKEN_VIEW = 1356,
	NO_DEFINER = 1449, HIDDEN_DEFINER = 1045, /* the same, as plain accounts are told it */
	NO_DATABASE_RIGHT = 1044, NO_TABLE_RIGHT = 1142, NO_COLUMN_RIGHT = 1143,
	NO_ROUTINE_RIGHT = 1370, NO_INDEX = 1176, READ_ONLY_WRITE = 1792,
	ENDED_BY_TIME = 3024, NO_SORT_MEMORY = 1038
};

/* A name that a task's row has, "name" or "schema.name". */
struct audited_name {
	const char *setting;        /* the column of the table task */
	const char *said;           /* its value; NULL: none */
	char schema[NAME_BYTES];    /* the database in use where it says none */
	char name[NAME_BYTES];
	char quoted[QUOTED_BYTES];  /* `schema`.`name` */
};

struct audited_view {
	struct audited_name is;
	bool there;             /* a view or a table of that name is there, and can be read about */
	bool usable;            /* this account may read it, and its columns are fit */
	bool invoker;           /* SQL SECURITY INVOKER */
	struct db_rows columns; /* name, type */
	char *definition;       /* of a view, where the account may see it; or NULL */
};
enum audited_place { CANDIDATES, CHECKS, DETAILS, N_VIEWS };

struct audit {
	struct lockq *q;
	const struct lockq_check *what;
	struct lockq_findings *findings;
	char *values[N_DEFINING];     /* of the settings, in their order; NULL is SQL NULL */
	struct audited_view views[N_VIEWS];
	bool sees_roles;              /* the account sees what is granted to each role */
	bool no_memory;
};

/* audit_settings.c: reads the settings of the task's row, or of a new one, with those that the
 * caller names. Returns a public code. */
LOCKQ_MUST_CHECK int audit_read_settings(struct audit *a);
/* The value of a setting; NULL is SQL NULL. audit_number() is 0 then. */
const char *audit_value(const struct audit *a, const char *setting);
uint64_t audit_number(const struct audit *a, const char *setting);
bool audit_flag(const struct audit *a, const char *setting);
/* Reads the name in @setting. False where there is none; and where that is no name, which is a
 * finding. */
bool audit_name(struct audit *a, const char *setting, struct audited_name *name);

/* findings.c: adds a finding. @mend is freed with it; NULL: there is none. */
__attribute__((format(printf, 6, 7))) void audit_found(struct audit *a,
    enum lockq_severity severity, const char *code, const char *about, char *mend,
    const char *format, ...);
/* The same for a right that is missing; the mend is the GRANT. */
__attribute__((format(printf, 6, 7))) void audit_lacks(struct audit *a,
    enum lockq_severity severity, const char *code, const char *about, char *grant,
    const char *format, ...);
/* Makes the findings with this code faults; false where there is none. */
bool audit_raise(struct audit *a, const char *code);
/* Makes a mend. audit_mend_set() is the command that sets @option, "--max-count", to @value. */
__attribute__((format(printf, 2, 3))) char *audit_mend(struct audit *a, const char *format, ...);
char *audit_mend_set(struct audit *a, const char *option, const char *value);
char *audit_mend_number(struct audit *a, const char *option, uint64_t value);
/* A mend that only shows the text of a "VIEW" or a "PROCEDURE": a person has to write it anew. */
char *audit_show(struct audit *a, const char *kind, const struct audited_name *name);
/* The GRANT of @right, "SELECT ON", for a role of this database. */
char *audit_grant(struct audit *a, const char *right, const char *quoted, const char *role);
/* The GRANT of such a role to "user@host"; NULL where that name has other characters. */
char *audit_grant_role(struct audit *a, const char *role, const char *account);
/* The worst come first. */
void audit_sort_findings(struct lockq_findings *all);
void audit_forget_findings(struct lockq_findings *all);

/* The words of a statement, for audit_says(): in lower case, one blank between them, without
 * comments, and "?" for each string and quoted name. NULL where there is no memory. free() it. */
char *audit_words(struct audit *a, const char *sql);
/* Whether @words have @phrase, "start transaction", and not as a part of longer words. */
bool audit_says(const char *words, const char *phrase);
/* Whether @words begin with @phrase, and not with a longer word. */
bool audit_begins(const char *words, const char *phrase);
/* Where a statement of the procedure @words begins, at @from or later; or NULL. */
const char *audit_statement(const char *words, const char *from);

/* audit_view.c: each view: whether it is there, its columns and types, and its text. */
LOCKQ_MUST_CHECK enum db_rc audit_views(struct audit *a);
/* The type of a column of the view; NULL: there is no such column. */
const char *audit_type(const struct audited_view *view, const char *column);
/* Whether @type is one of @types, which NULL ends. */
bool audit_is_one_of(const char *type, const char *const *types);
/* The view's own text as a part of a new one, with @expression in place of @column, or with the
 * condition @where; each of them may be NULL. NULL where the account does not see the text. */
char *audit_mend_view(struct audit *a, const struct audited_view *view, const char *column,
    const char *expression, const char *where);

/* audit_rights.c: what workers, viewers and the query account may do with the views. */
LOCKQ_MUST_CHECK enum db_rc audit_rights(struct audit *a);
/* Whether @role, of @people, may call it; @code is that of the finding. */
LOCKQ_MUST_CHECK enum db_rc audit_execute(struct audit *a, const struct audited_name *procedure,
    const char *role, const char *people, const char *code);
/* Whether "user@host" is there. *@known is false where this account can't see that. */
LOCKQ_MUST_CHECK enum db_rc audit_account(struct audit *a, const char *definer, bool *there,
    bool *known);

/* audit_procedure.c: on_complete and on_undo, and whether those who need them may call them. */
LOCKQ_MUST_CHECK enum db_rc audit_procedures(struct audit *a);

/* audit_limits.c: settings that don't go together; and the same with what the query has shown. */
void audit_limits(struct audit *a);
/* The same file: whether the task that not_same_user_as names can be one. */
LOCKQ_MUST_CHECK enum db_rc audit_other_task(struct audit *a);
void audit_times(struct audit *a);

/* audit_plan.c: the plans of lockq's own locking statements. */
LOCKQ_MUST_CHECK enum db_rc audit_plans(struct audit *a);

/* audit_query.c: runs the query once, and asks about some of its loans. Returns a public code. */
LOCKQ_MUST_CHECK int audit_query(struct audit *a);

/* audit_failure.c: whether the last leader failed, or the list could not be filled. */
struct audited_failure {
	bool any;
	uint64_t epoch;    /* of the last leader */
	char reason[512];
};
/* Reads it before the check looks at anything: a later failure is another one. */
void audit_failure_read(struct audit *a, struct audited_failure *failure);
/* Notes that the check has found no fault since, and adds a finding that says so. */
void audit_failure_note(struct audit *a, const struct audited_failure *failure);

#endif
