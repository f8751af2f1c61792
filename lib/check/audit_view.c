/* SPDX-License-Identifier: MIT */
/* The audit of a task's views: whether they are there, what their columns are, and what their text
 * says. They are prepared and not run, so this takes no time, however heavy they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "check/audit.h"
#include "handle/error.h"
#include "handle/session.h"

static DB_QUERY(read_columns, DB_MANY,
    "SELECT c.column_name, c.data_type, c.table_schema, c.table_name"
    "  FROM information_schema.columns AS c"
    " WHERE c.table_schema = ? AND c.table_name = ?"
    " ORDER BY c.ordinal_position");
static DB_QUERY(read_view, DB_MAYBE,
    "SELECT v.definer, v.security_type, v.view_definition"
    "  FROM information_schema.views AS v"
    " WHERE v.table_schema = ? AND v.table_name = ?");

/* The views behind it, however deep, and whether they have loans. */
static DB_QUERY(read_behind, DB_MANY,
    "WITH RECURSIVE behind (at_schema, at_name) AS ("
    "  SELECT u.table_schema, u.table_name"
    "    FROM information_schema.view_table_usage AS u"
    "   WHERE u.view_schema = ? AND u.view_name = ?"
    "   UNION"
    "  SELECT u.table_schema, u.table_name"
    "    FROM behind"
    "    JOIN information_schema.view_table_usage AS u"
    "      ON u.view_schema = behind.at_schema AND u.view_name = behind.at_name)"
    " SELECT v.table_schema, v.table_name, v.view_definition,"
    "        EXISTS (SELECT 1 FROM information_schema.columns AS c"
    "                 WHERE c.table_schema = v.table_schema AND c.table_name = v.table_name"
    "                   AND c.column_name = 'loan_id')"
    "   FROM behind"
    "   JOIN information_schema.views AS v"
    "     ON v.table_schema = behind.at_schema AND v.table_name = behind.at_name"
    "  ORDER BY v.table_schema, v.table_name");

/* --- mends --- */

/* The columns of the view from the text of itself, AS v, one of them anew. */
static void
add_columns(struct text *sql, const struct audited_view *view, const char *column,
    const char *expression)
{
	char quoted[QUOTED_BYTES];

	for (size_t i = 0; i < view->columns.n_rows; i++) {
		const char *name = db_cell(&view->columns, i, 0);

		if (db_quote_name(quoted, sizeof(quoted), name) != DB_OK)
			sql->failed = true;
		else if (column != NULL && strcasecmp(name, column) == 0)
			text_add(sql, "%s%s AS %s", i > 0 ? ", " : "", expression, quoted);
		else
			text_add(sql, "%sv.%s", i > 0 ? ", " : "", quoted);
	}
}

char *
audit_mend_view(struct audit *a, const struct audited_view *view, const char *column,
    const char *expression, const char *where)
{
	struct text sql = { NULL, 0, 0, false };
	char *mend = NULL;

	if (view->definition == NULL || view->definition[0] == '\0')
		return NULL;
	text_add(&sql, "CREATE OR REPLACE SQL SECURITY DEFINER VIEW %s AS ", view->is.quoted);
	if (column != NULL || where != NULL) {
		text_add(&sql, "SELECT ");
		add_columns(&sql, view, column, expression);
		text_add(&sql, " FROM (%s) AS v", view->definition);
		if (where != NULL)
			text_add(&sql, " WHERE %s", where);
	} else {
		text_add(&sql, "%s", view->definition);
	}
	if (!sql.failed)
		mend = audit_mend(a, "%s", sql.data);
	text_clear(&sql);
	return mend;
}

/* --- whether it is there --- */

/* The task can do without the other two. */
static char *
mend_name(struct audit *a, const struct audited_view *view)
{
	if (view == &a->views[CANDIDATES])
		return audit_mend_set(a, "--candidates-view", "VIEW");
	return audit_mend_set(a, view == &a->views[CHECKS] ? "--check-view" : "--detail-view",
	    "none");
}

/* Why this account can't prepare a SELECT from the view. */
static void
explain(struct audit *a, struct audited_view *view, unsigned int number)
{
	const char *setting = view->is.setting, *said = view->is.said;

	switch (number) {
	case NO_TABLE: case NO_DATABASE:
		audit_found(a, LOCKQ_FAULT, "view_missing", setting, mend_name(a, view),
		    "%s \"%s\" is not there", setting, said);
		break;
	case NO_TABLE_RIGHT: case NO_COLUMN_RIGHT: case NO_DATABASE_RIGHT:
		if (view->there)
			audit_found(a, LOCKQ_NOTE, "view_unread", setting, NULL, "%s \"%s\" was "
			    "not tried, since this account may not read it", setting, said);
		else
			audit_found(a, LOCKQ_FAULT, "view_unseen", setting, audit_grant(a,
			    "SELECT ON", view->is.quoted, "lockq_worker"), "%s \"%s\" is not "
			    "there, or neither workers nor this account may read it", setting,
			    said);
		break;
	case NO_DEFINER: case HIDDEN_DEFINER:
		audit_found(a, LOCKQ_FAULT, "view_definer_gone", setting, audit_mend_view(a, view,
		    NULL, NULL, NULL), "%s \"%s\" has a definer that does not exist any more",
		    setting, said);
		break;
	case BROKEN_VIEW:
		audit_found(a, LOCKQ_FAULT, "view_broken", setting, audit_show(a, "VIEW",
		    &view->is), "%s \"%s\" names a table, column or function that is not there, or "
		    "its definer lacks a right to one", setting, said);
		break;
	default:
		audit_found(a, LOCKQ_FAULT, "view_fails", setting, audit_show(a, "VIEW",
		    &view->is), "%s \"%s\" can't be read: %s", setting, said, db_error(a->q->db));
	}
}

static enum db_rc
try_view(struct audit *a, struct audited_view *view)
{
	char sql[QUOTED_BYTES + 32];
	const struct db_query query = { "try_view", sql, DB_VIEW };
	enum db_rc rc;

	snprintf(sql, sizeof(sql), "SELECT 1 FROM %s AS c", view->is.quoted);
	rc = db_prepare(a->q->db, &query);
	view->usable = rc == DB_OK;
	if (rc != DB_EFAIL)
		return rc;
	explain(a, view, db_errno(a->q->db));
	return DB_OK;
}

/* --- its columns --- */

const char *
audit_type(const struct audited_view *view, const char *column)
{
	for (size_t i = 0; i < view->columns.n_rows; i++) {
		if (strcasecmp(db_cell(&view->columns, i, 0), column) == 0)
			return db_cell(&view->columns, i, 1);
	}
	return NULL;
}

bool
audit_is_one_of(const char *type, const char *const *types)
{
	while (*types != NULL && strcasecmp(type, *types) != 0)
		types++;
	return *types != NULL;
}

static void
look_at_loan_id(struct audit *a, struct audited_view *view)
{
	static const char *const integers[] = { "tinyint", "smallint", "mediumint", "int", "bigint",
		NULL };
	const char *type = audit_type(view, "loan_id");

	if (type == NULL)
		audit_found(a, LOCKQ_FAULT, "no_loan_id", view->is.setting, audit_show(a, "VIEW",
		    &view->is), "%s \"%s\" has no column loan_id", view->is.setting, view->is.said);
	else if (!audit_is_one_of(type, integers))
		audit_found(a, LOCKQ_FAULT, "loan_id_type", view->is.setting, audit_mend_view(a,
		    view, "loan_id", "CAST(v.loan_id AS UNSIGNED)", NULL), "%s \"%s\" has a "
		    "loan_id of type %s: it must be an integer", view->is.setting, view->is.said,
		    type);
	else
		return;
	view->usable = false;
}

static void
look_at_priority(struct audit *a, struct audited_view *view)
{
	static const char *const unsorted[] = { "json", "geometry", "point", "linestring",
		"polygon", "multipoint", "multilinestring", "multipolygon", "geomcollection",
		"geometrycollection", "tinyblob", "blob", "mediumblob", "longblob", "vector",
		NULL };
	const char *type = audit_type(view, "priority");

	if (type == NULL) {
		audit_found(a, LOCKQ_FAULT, "no_priority", view->is.setting, audit_show(a, "VIEW",
		    &view->is), "%s \"%s\" has no column priority: the smallest one comes first",
		    view->is.setting, view->is.said);
		view->usable = false;
	} else if (audit_is_one_of(type, unsorted)) {
		audit_found(a, LOCKQ_FAULT, "priority_type", view->is.setting,
		    strcasecmp(type, "json") == 0 ? audit_mend_view(a, view, "priority",
		    "CAST(v.priority AS CHAR)", NULL) : audit_show(a, "VIEW", &view->is),
		    "%s \"%s\" has a priority of type %s, which does not sort as people expect",
		    view->is.setting, view->is.said, type);
	}
}

/* --- its text --- */

/* A LIMIT of the view itself, not of a subquery. */
static bool
has_own_limit(const char *words)
{
	const char *at = strstr(words, " limit ");
	int depth = 0;

	while (at != NULL && strstr(at + 1, " limit ") != NULL)
		at = strstr(at + 1, " limit ");
	for (const char *c = at; c != NULL && *c != '\0'; c++)
		depth += (*c == '(') - (*c == ')');
	return at != NULL && depth == 0;
}

/* The view without that LIMIT, where it is of the usual form, "limit 10" or "limit 5,10". */
static char *
mend_limit(struct audit *a, const struct audited_view *view)
{
	const char *text = view->definition, *at = NULL, *next = strstr(text, " limit ");

	for (; next != NULL; next = strstr(next + 1, " limit "))
		at = next;
	if (at == NULL || strspn(at + strlen(" limit "), "0123456789,") != strlen(at) -
	    strlen(" limit "))
		return audit_show(a, "VIEW", &view->is);
	return audit_mend(a, "CREATE OR REPLACE SQL SECURITY DEFINER VIEW %s AS %.*s",
	    view->is.quoted, (int)(at - text), text);
}

/* A text that was written by hand: that of the view itself, or of one behind it. */
struct said_by {
	const struct audited_view *view;
	const char *schema, *name; /* of the one behind it; NULL: the view itself */
};

static char *
mend_text(struct audit *a, const struct said_by *by)
{
	char schema[QUOTED_BYTES], name[QUOTED_BYTES];

	if (by->name == NULL)
		return audit_show(a, "VIEW", &by->view->is);
	if (db_quote_name(schema, sizeof(schema), by->schema) != DB_OK ||
	    db_quote_name(name, sizeof(name), by->name) != DB_OK)
		return NULL;
	return audit_mend(a, "SHOW CREATE VIEW %s.%s", schema, name);
}

/* `, in the view "x" behind it,`, as a part of a sentence. */
static char *
where_text(struct audit *a, const struct said_by *by)
{
	return by->name == NULL ? audit_mend(a, "%s", "") :
	    audit_mend(a, ", in the view \"%s\" behind it", by->name);
}

/* The result of one leader's query is given to everybody, and to the same at another time. */
static void
look_at_words(struct audit *a, const struct said_by *by, const char *words)
{
	static const char *const sessions[] = { "user(", "connection_id(", "session_user(",
		"system_user(", "last_insert_id(", "current_role(", "found_rows(", "row_count(",
		"is_used_lock(", "is_free_lock(", "ps_current_thread_id(", NULL };
	static const char *const of_invoker[] = { "current_user(", NULL };
	static const char *const chances[] = { "rand(", "uuid(", "uuid_short(", "random_bytes(",
		NULL };
	static const char *const waits[] = { "sleep(", "get_lock(", "benchmark(",
		"wait_for_executed_gtid_set(", "source_pos_wait(", "master_pos_wait(", NULL };
	static const char session[] = "shows each session other rows, but what one process finds "
	    "is given to everybody";
	const struct {
		const char *const *phrases;
		bool counts;
		const char *code, *why;
	} lists[] = {
		{ sessions, true, "view_of_session", session },
		{ of_invoker, by->view->invoker && by->name == NULL, "view_of_session", session },
		{ chances, true, "view_of_chance", "shows another order, or other loans, each "
		    "time it is read" },
		{ waits, true, "view_waits", "waits by itself, while people wait for it" },
	};
	const struct audited_name *view = &by->view->is;
	char *where = where_text(a, by);

	for (size_t i = 0; where != NULL && i < sizeof(lists) / sizeof(lists[0]); i++) {
		const char *const *phrase = lists[i].phrases;

		while (*phrase != NULL && !audit_says(words, *phrase))
			phrase++;
		if (*phrase != NULL && lists[i].counts)
			audit_found(a, LOCKQ_WARNING, lists[i].code, view->setting,
			    mend_text(a, by), "%s \"%s\" calls %s)%s, so it %s", view->setting,
			    view->said, *phrase, where, lists[i].why);
	}
	free(where);
}

static void
note_text_unseen(struct audit *a, const struct said_by *by)
{
	const struct audited_name *view = &by->view->is;

	if (by->name == NULL)
		audit_found(a, LOCKQ_NOTE, "text_unseen", view->setting, NULL, "the text of %s "
		    "\"%s\" was not looked at: this account needs the right SHOW VIEW",
		    view->setting, view->said);
	else
		audit_found(a, LOCKQ_NOTE, "text_unseen", view->setting, NULL, "the text of "
		    "\"%s\", which %s \"%s\" reads, was not looked at: this account needs the "
		    "right SHOW VIEW", by->name, view->setting, view->said);
}

static void
found_limit(struct audit *a, const struct said_by *by)
{
	const struct audited_name *view = &by->view->is;
	static const char so[] = "once its first loans are taken, people are told that there is "
	    "no work";

	if (by->name == NULL)
		audit_found(a, LOCKQ_WARNING, "view_limit", view->setting,
		    mend_limit(a, by->view), "%s \"%s\" has a LIMIT of its own: %s",
		    view->setting, view->said, so);
	else
		audit_found(a, LOCKQ_WARNING, "view_limit", view->setting, mend_text(a, by),
		    "%s \"%s\" reads the view \"%s\", which has a LIMIT: %s", view->setting,
		    view->said, by->name, so);
}

/* @has_loans: a LIMIT is one of loans. Behind the view there may be one of five branches. */
static void
look_at_text(struct audit *a, const struct said_by *by, const char *text, bool has_loans)
{
	char *words = audit_words(a, text);

	if (words == NULL)
		return;
	if (text[0] == '\0')
		note_text_unseen(a, by);
	look_at_words(a, by, words);
	if (by->view != &a->views[DETAILS] && has_loans && has_own_limit(words))
		found_limit(a, by);
	free(words);
}

static enum db_rc
look_behind(struct audit *a, const struct audited_view *view)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(a->q->db, &read_behind, DB_ARGS(db_text(view->is.schema),
	    db_text(view->is.name)), &rows);

	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		const struct said_by by = { view, db_cell(&rows, i, 0), db_cell(&rows, i, 1) };
		const char *text = db_cell(&rows, i, 2);

		look_at_text(a, &by, text != NULL ? text : "", db_cell_u64(&rows, i, 3) != 0);
	}
	db_rows_clear(&rows);
	return rc;
}

/* --- all of it --- */

static enum db_rc
read_catalogue(struct audit *a, struct audited_view *view)
{
	const struct db_arg args[] = { db_text(view->is.schema), db_text(view->is.name) };
	struct db_rows rows = { 0, 0, NULL, NULL };
	const char *security;
	enum db_rc rc = db_run(a->q->db, &read_columns, args, 2, &view->columns);

	if (rc == DB_OK)
		rc = db_run(a->q->db, &read_view, args, 2, &rows);
	/* Rights are noted by the names that the server has stored, perhaps in lower case. */
	if (rc == DB_OK && view->columns.n_rows > 0) {
		copy_cell(view->is.schema, sizeof(view->is.schema), &view->columns, 0, 2);
		copy_cell(view->is.name, sizeof(view->is.name), &view->columns, 0, 3);
	}
	security = db_cell(&rows, 0, 1);
	view->there = rows.n_rows > 0 || view->columns.n_rows > 0;
	view->invoker = security != NULL && strcmp(security, "INVOKER") == 0;
	if (rc == DB_OK)
		rc = copy_text(&view->definition, db_cell(&rows, 0, 2));
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
look_at_view(struct audit *a, struct audited_view *view)
{
	enum db_rc rc = read_catalogue(a, view);

	if (rc == DB_OK)
		rc = try_view(a, view);
	/* Of a view that is broken the columns are not known. */
	if (rc != DB_OK || !view->there || (!view->usable && view->columns.n_rows == 0))
		return rc;
	look_at_loan_id(a, view);
	if (view == &a->views[CANDIDATES])
		look_at_priority(a, view);
	if (view->definition == NULL)
		return DB_OK;
	look_at_text(a, &(struct said_by){ view, NULL, NULL }, view->definition, true);
	return look_behind(a, view);
}

enum db_rc
audit_views(struct audit *a)
{
	static const char *const names[N_VIEWS] = {
		[CANDIDATES] = "candidates_view", [CHECKS] = "check_view", [DETAILS] = "detail_view"
	};
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < N_VIEWS; i++) {
		if (audit_name(a, names[i], &a->views[i].is))
			rc = look_at_view(a, &a->views[i]);
	}
	return rc;
}
