/* SPDX-License-Identifier: MIT */
/* The audit of rights: what is granted to the roles of this database. An account that has the role
 * lockq_manager sees what is granted to the others by itself; one that may read the tables of the
 * server's accounts sees also what is granted on the whole database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/audit.h"
#include "handle/error.h"
#include "handle/session.h"

/* A role of this database, and the roles that were granted to it. */
#define ROLES \
	"WITH RECURSIVE has (name, host) AS (" \
	"  SELECT CAST(? AS CHAR(32) CHARACTER SET utf8mb4) COLLATE utf8mb4_bin," \
	"         CAST(LOWER(DATABASE()) AS CHAR(255) CHARACTER SET utf8mb4)" \
	"           COLLATE utf8mb4_bin" \
	"   UNION" \
	"  SELECT CONVERT(r.role_name USING utf8mb4), CONVERT(r.role_host USING utf8mb4)" \
	"    FROM has" \
	"    JOIN information_schema.applicable_roles AS r" \
	"      ON r.grantee = has.name AND r.grantee_host = has.host)"
#define OF_ROLES "JOIN has ON has.name = g.grantee AND has.host = g.grantee_host"

static DB_QUERY(sees_roles, DB_ONE,
    "SELECT COUNT(*)"
    "  FROM information_schema.role_table_grants AS g"
    " WHERE g.grantee = 'lockq_worker' AND g.grantee_host = LOWER(DATABASE())"
    "   AND g.table_schema = DATABASE() AND g.table_name = 'task'");

/* On the table, or on so many of these columns; "" stands for any. */
static DB_QUERY(role_may_select, DB_ONE,
    ROLES
    " SELECT EXISTS (SELECT 1"
    "                  FROM information_schema.role_table_grants AS g " OF_ROLES
    "                 WHERE g.table_schema = ? AND g.table_name = ?"
    "                   AND FIND_IN_SET('Select', g.privilege_type))"
    "     OR (SELECT COUNT(DISTINCT g.column_name)"
    "           FROM information_schema.role_column_grants AS g " OF_ROLES
    "          WHERE g.table_schema = ? AND g.table_name = ?"
    "            AND FIND_IN_SET('Select', g.privilege_type)"
    "            AND (? = '' OR FIND_IN_SET(LOWER(g.column_name), ?))) >= ?");
static DB_QUERY(role_may_call, DB_ONE,
    ROLES
    " SELECT EXISTS (SELECT 1"
    "                  FROM information_schema.role_routine_grants AS g " OF_ROLES
    "                 WHERE g.routine_schema = ? AND g.routine_name = ?"
    "                   AND FIND_IN_SET('Execute', g.privilege_type))");

/* The same in the server's own tables, and rights on a whole database. */
static DB_QUERY(server_says_select, DB_ONE,
    "SELECT EXISTS (SELECT 1 FROM mysql.user AS u"
    "                WHERE u.user = ? AND u.host = LOWER(DATABASE()) AND u.select_priv = 'Y')"
    "    OR EXISTS (SELECT 1 FROM mysql.db AS d"
    "                WHERE d.user = ? AND d.host = LOWER(DATABASE()) AND ? LIKE d.db"
    "                  AND d.select_priv = 'Y')"
    "    OR EXISTS (SELECT 1 FROM mysql.tables_priv AS t"
    "                WHERE t.user = ? AND t.host = LOWER(DATABASE()) AND t.db = ?"
    "                  AND t.table_name = ? AND FIND_IN_SET('Select', t.table_priv))");
static DB_QUERY(server_says_call, DB_ONE,
    "SELECT EXISTS (SELECT 1 FROM mysql.user AS u"
    "                WHERE u.user = ? AND u.host = LOWER(DATABASE()) AND u.execute_priv = 'Y')"
    "    OR EXISTS (SELECT 1 FROM mysql.db AS d"
    "                WHERE d.user = ? AND d.host = LOWER(DATABASE()) AND ? LIKE d.db"
    "                  AND d.execute_priv = 'Y')"
    "    OR EXISTS (SELECT 1 FROM mysql.procs_priv AS p"
    "                WHERE p.user = ? AND p.host = LOWER(DATABASE()) AND p.db = ?"
    "                  AND p.routine_name = ? AND FIND_IN_SET('Execute', p.proc_priv))");
static DB_QUERY(account_there, DB_ONE,
    "SELECT COUNT(*) FROM mysql.user WHERE CONCAT(user, '@', host) = ?");

/* Finds the accounts that may log in and make temporary tables in this database, with the REVOKE
 * for each place where that was granted. An owner, who may change the tables and let others change
 * them, needs no temporary ones, and neither does an administrator of the server. */
static DB_QUERY(makes_temporary, DB_MANY,
    "WITH RECURSIVE holds (user, host, place, by_user, by_host) AS ("
    "  SELECT d.user, d.host, CONCAT('`', REPLACE(d.db, '`', '``'), '`.*'), d.user, d.host"
    "    FROM mysql.db AS d"
    "   WHERE DATABASE() LIKE d.db AND d.create_tmp_table_priv = 'Y'"
    "     AND NOT (d.update_priv = 'Y' AND d.grant_priv = 'Y')"
    "   UNION"
    "  SELECT u.user, u.host, '*.*', u.user, u.host"
    "    FROM mysql.user AS u"
    "   WHERE u.create_tmp_table_priv = 'Y' AND u.update_priv = 'N'"
    "     AND NOT EXISTS (SELECT 1 FROM JSON_TABLE(u.user_attributes, '$.Restrictions[*]'"
    "                       COLUMNS (db VARCHAR(64) PATH '$.Database',"
    "                                rights JSON PATH '$.Privileges')) AS no"
    "                      WHERE no.db = DATABASE()"
    "                        AND JSON_CONTAINS(no.rights, '\"CREATE TEMPORARY TABLES\"'))"
    "   UNION"
    "  SELECT r.to_user, r.to_host, h.place, h.by_user, h.by_host"
    "    FROM holds AS h"
    "    JOIN mysql.role_edges AS r ON r.from_user = h.user AND r.from_host = h.host)"
    " SELECT CONCAT(IF(COUNT(*) > 9,"
    "                  CONCAT(MIN(CONCAT(QUOTE(h.user), '@', QUOTE(h.host))), ' and ',"
    "                         COUNT(*) - 1, ' others'),"
    "                  GROUP_CONCAT(QUOTE(h.user), '@', QUOTE(h.host)"
    "                               ORDER BY h.user, h.host SEPARATOR ', ')),"
    "               IF(SUM(h.user <> h.by_user OR h.host <> h.by_host) > 0,"
    "                  CONCAT(', by the role ', QUOTE(h.by_user), '@', QUOTE(h.by_host), ','),"
    "                  '')),"
    "        CONCAT('REVOKE CREATE TEMPORARY TABLES ON ', h.place, ' FROM ', QUOTE(h.by_user),"
    "               '@', QUOTE(h.by_host))"
    "   FROM holds AS h"
    "   JOIN mysql.user AS u ON u.user = h.user AND u.host = h.host"
    "  WHERE u.account_locked = 'N' AND u.update_priv = 'N'"
    "  GROUP BY h.place, h.by_user, h.by_host"
    "  ORDER BY h.by_user, h.by_host, h.place");

/* The same of this account alone, which is all that the server shows to others. */
static DB_QUERY(makes_temporary_itself, DB_MANY,
    "SELECT r.grantee,"
    "       CONCAT('REVOKE CREATE TEMPORARY TABLES ON ', r.place, ' FROM ', r.grantee)"
    "  FROM (SELECT s.grantee, s.privilege_type,"
    "               CONCAT('`', REPLACE(s.table_schema, '`', '``'), '`.*') AS place"
    "          FROM information_schema.schema_privileges AS s"
    "         WHERE DATABASE() LIKE s.table_schema"
    "           AND (s.is_grantable = 'NO' OR NOT EXISTS ("
    "                  SELECT 1 FROM information_schema.schema_privileges AS o"
    "                   WHERE o.table_schema = s.table_schema AND o.privilege_type = 'UPDATE'))"
    "         UNION ALL"
    "        SELECT u.grantee, u.privilege_type, '*.*'"
    "          FROM information_schema.user_privileges AS u) AS r"
    " WHERE r.privilege_type = 'CREATE TEMPORARY TABLES'");

static DB_QUERY(tables_behind, DB_MANY,
    "SELECT u.table_schema, u.table_name"
    "  FROM information_schema.view_table_usage AS u"
    " WHERE u.view_schema = ? AND u.view_name = ?"
    " ORDER BY u.table_schema, u.table_name");

enum right { RIGHT_NO, RIGHT_YES, RIGHT_UNKNOWN };

/* What the server's own tables say, if this account may read them. @seen is what the catalogue of
 * roles says, which does not have the rights on a whole database. */
static enum db_rc
ask_server(struct audit *a, const struct db_query *query, const char *role, const char *schema,
    const char *name, enum right *right)
{
	uint64_t has = 0;
	enum db_rc rc = db_number(a->q->db, query, DB_ARGS(db_text(role), db_text(role),
	    db_text(schema), db_text(role), db_text(schema), db_text(name)), &has);

	if (rc == DB_EFAIL) {
		*right = a->sees_roles ? RIGHT_NO : RIGHT_UNKNOWN;
		return DB_OK;
	}
	*right = has != 0 ? RIGHT_YES : RIGHT_NO;
	return rc;
}

static enum db_rc
may_select(struct audit *a, const char *role, const char *schema, const char *name,
    const char *columns, size_t n, enum right *right)
{
	uint64_t has = 0;
	enum db_rc rc = db_number(a->q->db, &role_may_select, DB_ARGS(db_text(role),
	    db_text(schema), db_text(name), db_text(schema), db_text(name), db_text(columns),
	    db_text(columns), db_u64(n)), &has);

	*right = RIGHT_YES;
	return rc == DB_OK && has == 0 ? ask_server(a, &server_says_select, role, schema, name,
	    right) : rc;
}

static void
note_unknown(struct audit *a)
{
	for (size_t i = 0; i < a->findings->n_findings; i++) {
		if (strcmp(a->findings->findings[i].code, "rights_unseen") == 0)
			return;
	}
	audit_found(a, LOCKQ_NOTE, "rights_unseen", "lockq", NULL, "the rights of workers can't be "
	    "seen with this account: it needs the role 'lockq_manager'@'%s'",
	    db_database(a->q->db));
}

/* --- views --- */

/* What one role needs, and why. */
struct need {
	enum audited_place view;
	const char *role;
	const char *code;
	enum lockq_severity severity;
	const char *columns; /* these are enough; "": all */
	size_t n;
	const char *who;
};

static enum db_rc
look_at_need(struct audit *a, const struct need *need)
{
	const struct audited_view *view = &a->views[need->view];
	size_t n = need->n != 0 ? need->n : view->columns.n_rows;
	enum right right = RIGHT_UNKNOWN;
	enum db_rc rc;

	if (!view->there)
		return DB_OK;
	rc = may_select(a, need->role, view->is.schema, view->is.name, need->columns, n, &right);
	if (rc == DB_OK && right == RIGHT_UNKNOWN)
		note_unknown(a);
	if (rc == DB_OK && right == RIGHT_NO)
		audit_lacks(a, need->severity, need->code, view->is.setting, audit_grant(a,
		    "SELECT ON", view->is.quoted, need->role), "%s may not read %s \"%s\"",
		    need->who, view->is.setting, view->is.said);
	return rc;
}

/* A view with SQL SECURITY INVOKER reads with the rights of whoever asks. */
static enum db_rc
look_behind(struct audit *a, const struct audited_view *view)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(a->q->db, &tables_behind, DB_ARGS(db_text(view->is.schema),
	    db_text(view->is.name)), &rows);

	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		enum right right = RIGHT_UNKNOWN;

		rc = may_select(a, "lockq_worker", db_cell(&rows, i, 0), db_cell(&rows, i, 1), "",
		    1, &right);
		if (rc != DB_OK || right != RIGHT_NO)
			continue;
		audit_found(a, LOCKQ_FAULT, "view_invoker", view->is.setting, audit_mend_view(a,
		    view, NULL, NULL, NULL), "%s \"%s\" reads \"%s\" with the rights of whoever "
		    "asks, and workers have none there: it needs SQL SECURITY DEFINER",
		    view->is.setting, view->is.said, db_cell(&rows, i, 1));
		break;
	}
	db_rows_clear(&rows);
	return rc;
}

/* Inside the doors, which have the owner's rights, a temporary table takes the place of the table
 * whose name it has. */
static enum db_rc
look_at_temporary(struct audit *a)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(a->q->db, &makes_temporary, DB_NO_ARGS, &rows);

	if (rc == DB_EFAIL) {
		audit_found(a, LOCKQ_NOTE, "accounts_unseen", "lockq", NULL, "which other accounts "
		    "may make temporary tables in \"%s\" can't be seen with this one: it needs "
		    "SELECT on mysql.user, mysql.db and mysql.role_edges", db_database(a->q->db));
		rc = db_run(a->q->db, &makes_temporary_itself, DB_NO_ARGS, &rows);
	}
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++)
		audit_found(a, LOCKQ_WARNING, "temporary_tables", "lockq", audit_mend(a, "%s",
		    db_cell(&rows, i, 1)), "%s may make temporary tables in \"%s\", which take the "
		    "place of lockq's tables inside its procedures", db_cell(&rows, i, 0),
		    db_database(a->q->db));
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
audit_rights(struct audit *a)
{
	static const char worker[] = "lockq_worker", workers[] = "workers";
	const struct need needs[] = {
		{ CANDIDATES, worker, "worker_select", LOCKQ_FAULT, "loan_id,priority", 2,
		    workers },
		{ CHECKS, worker, "worker_select", LOCKQ_FAULT, "loan_id", 1, workers },
		{ DETAILS, worker, "worker_select", LOCKQ_FAULT, "", 0, workers },
		{ DETAILS, "lockq_viewer", "viewer_select", LOCKQ_WARNING, "", 0, "viewers" },
		/* There may be no such account, or it has the right by itself: the query shows. */
		{ CANDIDATES, "lockq_query", "query_select", LOCKQ_NOTE, "loan_id,priority", 2,
		    "an account for heavy queries" },
	};
	uint64_t seen = 0;
	enum db_rc rc = db_number(a->q->db, &sees_roles, DB_NO_ARGS, &seen);

	a->sees_roles = seen != 0;
	for (size_t i = 0; rc == DB_OK && i < sizeof(needs) / sizeof(needs[0]); i++)
		rc = look_at_need(a, &needs[i]);
	for (size_t i = 0; rc == DB_OK && i < N_VIEWS; i++) {
		if (a->views[i].invoker)
			rc = look_behind(a, &a->views[i]);
	}
	return rc == DB_OK ? look_at_temporary(a) : rc;
}

enum db_rc
audit_execute(struct audit *a, const struct audited_name *procedure, const char *role,
    const char *people, const char *code)
{
	uint64_t has = 0;
	enum right right = RIGHT_YES;
	enum db_rc rc = db_number(a->q->db, &role_may_call, DB_ARGS(db_text(role),
	    db_text(procedure->schema), db_text(procedure->name)), &has);

	if (rc == DB_OK && has == 0)
		rc = ask_server(a, &server_says_call, role, procedure->schema,
		    procedure->name, &right);
	if (rc == DB_OK && right == RIGHT_UNKNOWN)
		note_unknown(a);
	if (rc == DB_OK && right == RIGHT_NO)
		audit_lacks(a, LOCKQ_FAULT, code, procedure->setting, audit_grant(a,
		    "EXECUTE ON PROCEDURE", procedure->quoted, role),
		    "%s may not call %s \"%s\"", people, procedure->setting, procedure->said);
	return rc;
}

enum db_rc
audit_account(struct audit *a, const char *definer, bool *there, bool *known)
{
	uint64_t n = 0;
	enum db_rc rc = db_number(a->q->db, &account_there, DB_ARGS(db_text(definer)), &n);

	*known = rc == DB_OK;
	*there = n > 0;
	return rc == DB_EFAIL ? DB_OK : rc;
}

/* --- lockq_grant() --- */

static int
grant_one(struct lockq *q, const struct lockq_finding *f)
{
	const struct db_query query = { "grant", f->mend, DB_NO_ROWS };
	enum db_rc rc = db_run(q->db, &query, DB_NO_ARGS, NULL);
	char why[sizeof(q->error)];

	if (rc == DB_ELOCKWAIT)
		return error_busy(q, "another session has locked what is to be granted: try again: "
		    "%s", f->mend);
	if (rc != DB_EFAIL)
		return error_from_db(q, q->db, rc);
	error_set_detail(q, q->db);
	snprintf(why, sizeof(why), "%s", db_error(q->db));
	return error_refused(q, "this account can't run \"%.400s\": %.500s", f->mend, why);
}

int
lockq_grant(struct lockq *q, const struct lockq_findings *findings, size_t *n)
{
	size_t granted = 0;
	enum db_rc rc = session_ready(q);
	int code = LOCKQ_OK;

	error_clear(q);
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	for (size_t i = 0; code == LOCKQ_OK && i < findings->n_findings; i++) {
		const struct lockq_finding *f = &findings->findings[i];

		if (f->is_grant == 0 || f->mend == NULL)
			continue;
		code = grant_one(q, f);
		granted += code == LOCKQ_OK;
	}
	if (n != NULL)
		*n = granted;
	return code;
}
