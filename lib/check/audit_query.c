/* SPDX-License-Identifier: MIT */
/* The audit of a task's query: runs it once as a leader does, on a connection that can't write, and
 * asks about some of its loans as it is done before a kept loan is given. The query does not hold
 * the task's name, so no leader takes it for an orphan, and it ends no leader's query. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/audit.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/session.h"
#include "list/ask_view.h"
#include "list/search.h"

/* How many rows the session has read so far; the statement itself reads some, too. */
static DB_QUERY(rows_read, DB_ONE,
    "SELECT SUM(variable_value)"
    "  FROM performance_schema.session_status"
    " WHERE variable_name LIKE 'Handler\\_read%'");

enum {
	FEWEST_ROWS = 1000, /* of the whole view: with fewer, nobody can tell from the numbers
	                     * whether the list of loans was pushed down */
	PUSHED_SHARE = 10,  /* a check that reads more than this part of them was not */
	DETAIL_MS = 3000,   /* as long as checkwork gives the detail view */
	SHOWN_FIRST = 3     /* so many loans are shown with a priority that is text */
};

/* One run of the query. */
struct trial {
	struct audit *a;
	struct db *db;          /* where it runs */
	struct ticking ticking;
	struct list list;       /* each row, and then each loan once */
	uint64_t limit;
	size_t null_loans, negative, null_priorities;
	size_t numbers, words;  /* priorities that are numbers, and others */
	struct text first;      /* the first loans with theirs, for a sentence */
	bool no_memory;
};

/* --- the rows that the server reads --- */

/* Zero-initialise it. */
struct meter {
	uint64_t before, own; /* before: 0 where the server does not tell */
};

static enum db_rc
read_meter(struct db *db, uint64_t *rows)
{
	enum db_rc rc = db_number(db, &rows_read, DB_NO_ARGS, rows);

	return rc == DB_EFAIL ? DB_OK : rc;
}

static enum db_rc
meter_begin(struct db *db, struct meter *m)
{
	uint64_t first = 0;
	enum db_rc rc = read_meter(db, &first);

	if (rc == DB_OK)
		rc = read_meter(db, &m->before);
	m->own = m->before - first;
	return rc;
}

static enum db_rc
meter_end(struct db *db, const struct meter *m, int64_t *rows)
{
	uint64_t now = 0;
	enum db_rc rc = read_meter(db, &now);

	if (rc == DB_OK && m->before > 0 && now >= m->before + m->own)
		*rows = (int64_t)(now - m->before - m->own);
	return rc;
}

/* --- the query --- */

enum { LOAN_ID, PRIORITY_IS_NULL = 2, PRIORITY }; /* columns of view_audit_statement() */

static void
note_priority(struct trial *t, char **cells)
{
	const char *text = cells[PRIORITY] != NULL ? cells[PRIORITY] : "";
	size_t digits = strspn(text, "+-.0123456789");

	t->null_priorities += cells[PRIORITY_IS_NULL] != NULL && cells[PRIORITY_IS_NULL][0] == '1';
	t->numbers += digits > 0 && text[digits] == '\0';
	t->words += text[digits] != '\0';
	if (t->a->findings->rows < SHOWN_FIRST && cells[LOAN_ID] != NULL)
		text_add(&t->first, "%s%s ('%s')", t->first.used > 0 ? ", " : "", cells[LOAN_ID],
		    text);
}

static int
read_row(char **cells, const unsigned long *lengths, void *data)
{
	struct trial *t = data;

	(void)lengths;
	/* The one beyond the limit only tells that there are more. */
	if (t->a->findings->rows == t->limit) {
		t->a->findings->complete = 0;
		return 0;
	}
	note_priority(t, cells);
	t->null_loans += cells[0] == NULL;
	t->negative += cells[0] != NULL && cells[0][0] == '-';
	t->a->findings->rows++;
	if (cells[0] != NULL && cells[0][0] != '-' && list_add(&t->list,
	    strtoull(cells[0], NULL, 10), 0, (uint32_t)t->list.n) != DB_OK) {
		t->no_memory = true;
		return 1;
	}
	return t->a->findings->rows % TICK_EVERY_ROWS == 0 ? tick(&t->ticking) : 0;
}

/* The caller gave up, so the query must not go on. */
static void
end_query(struct trial *t)
{
	struct lockq *q = t->a->q;
	struct given_up given_up;
	enum db_rc rc;

	if (t->db == q->elsewhere) {
		session_end_elsewhere(q);
	} else {
		session_note_given_up(&given_up, t->db);
		/* If that fails, the query ends at its max_execution_time. */
		rc = session_end_given_up(q->db, &given_up);
		(void)rc;
	}
	session_close_query(q, t->db);
}

static enum db_rc
run(struct trial *t, const char *sql)
{
	const struct db_query query = { "candidates", sql, DB_VIEW };
	struct lockq_findings *all = t->a->findings;
	unsigned int most_s = (unsigned int)audit_number(t->a, "max_query_s");
	struct meter meter = { 0, 0 };
	enum db_rc rc = meter_begin(t->db, &meter);

	if (rc == DB_OK)
		rc = db_set_time_limit(t->db, most_s * 1000ull);
	all->complete = 1;
	t->ticking.since = db_clock_ms();
	if (rc == DB_OK)
		rc = db_start(t->db, &query, DB_ARGS(db_u64(t->a->what->task),
		    db_u64(t->limit + 1)));
	if (rc == DB_OK)
		rc = db_wait(t->db, most_s, tick, &t->ticking);
	if (rc == DB_OK)
		rc = db_fetch(t->db, 1, read_row, t);
	if (rc == DB_OK) {
		all->query_ms = (int64_t)(db_clock_ms() - t->ticking.since);
		rc = meter_end(t->db, &meter, &all->rows_read);
	}
	return rc == DB_OK ? db_set_time_limit(t->db, 0) : rc;
}

/* --- what a failure means --- */

static bool
is_denied(unsigned int number)
{
	return number == NO_TABLE_RIGHT || number == NO_COLUMN_RIGHT || number == NO_DATABASE_RIGHT;
}

/* The role of heavy queries lacks the right, which was a note so far, or the account the role. */
static void
explain_denial(struct audit *a, struct db *db)
{
	static DB_QUERY(who, DB_ONE, "SELECT CURRENT_USER()");
	const struct audited_name *view = &a->views[CANDIDATES].is;
	struct db_rows rows = { 0, 0, NULL, NULL };
	const char *account;

	if (audit_raise(a, "query_select"))
		return;
	if (db_run(db, &who, DB_NO_ARGS, &rows) != DB_OK)
		db_rows_clear(&rows);
	account = db_cell(&rows, 0, 0);
	audit_found(a, LOCKQ_FAULT, "query_role", view->setting, audit_grant_role(a, "lockq_query",
	    account != NULL ? account : ""), "the account of lockq_query, \"%s\", may not read "
	    "candidates_view \"%s\": it needs the role 'lockq_query'@'%s'", account != NULL ?
	    account : "", view->said, db_database(a->q->db));
	db_rows_clear(&rows);
}

static void
explain(struct trial *t, enum db_rc rc)
{
	struct audit *a = t->a;
	const struct audited_name *view = &a->views[CANDIDATES].is;
	uint64_t most_s = audit_number(a, "max_query_s");
	unsigned int number = db_errno(t->db);

	if (rc == DB_ETIME || rc == DB_ELOCKWAIT)
		audit_found(a, LOCKQ_FAULT, "query_slow", "max_query_s", audit_mend_number(a,
		    "--max-query-s", most_s * 2), "the query of candidates_view \"%s\" was ended "
		    "after max_query_s, %llu s", view->said, (unsigned long long)most_s);
	else if (number == READ_ONLY_WRITE)
		audit_found(a, LOCKQ_FAULT, "view_writes", view->setting, audit_show(a,
		    "VIEW", view), "candidates_view \"%s\" writes, by a function that it calls, "
		    "but it may only read", view->said);
	else if (is_denied(number) && t->db == a->q->elsewhere)
		explain_denial(a, t->db);
	else if (number == NO_SORT_MEMORY)
		audit_found(a, LOCKQ_FAULT, "rows_long", view->setting, audit_mend(a,
		    "SET PERSIST sort_buffer_size = 8388608"), "the rows of candidates_view "
		    "\"%s\" are too long for the server to sort them, as if the priority comes out "
		    "of a document: give it a column of its own, or raise sort_buffer_size",
		    view->said);
	else
		audit_found(a, LOCKQ_FAULT, "query_fails", view->setting, audit_show(a,
		    "VIEW", view), "the query of candidates_view \"%s\" fails: %s", view->said,
		    db_error(t->db));
}

/* Returns a public code. The query's failure is a finding; a lost connection is not. */
static int
settle(struct trial *t, enum db_rc rc)
{
	struct lockq *q = t->a->q;

	if (t->no_memory || rc == DB_ENOMEM)
		return error_from_db(q, t->db, DB_ENOMEM);
	if (rc == DB_ECANCELLED && t->ticking.ping_rc != DB_OK)
		return error_from_db(q, q->db, t->ticking.ping_rc);
	if (rc == DB_ECANCELLED) {
		end_query(t);
		return LOCKQ_CANCELLED;
	}
	if (rc == DB_ELOST || rc == DB_EINTERRUPTED || rc == DB_ECROWDED)
		return error_from_db(q, t->db, rc);
	if (rc == DB_OK)
		return LOCKQ_OK;
	explain(t, rc);
	/* The state of the connection is not known. */
	session_close_query(q, t->db);
	return LOCKQ_OK;
}

/* --- what the rows are --- */

static const char *const texts[] = { "char", "varchar", "text", "tinytext", "mediumtext",
	"longtext", "binary", "varbinary", NULL };

/* NULL sorts before everything else; these values come after it. */
static const char *
last_of_type(const struct audited_view *view)
{
	static const char *const dates[] = { "date", "datetime", "timestamp", NULL };
	static const char *const words[] = { "enum", "set", "json", NULL };
	const char *type = audit_type(view, "priority");

	if (type != NULL && audit_is_one_of(type, dates))
		return "COALESCE(v.priority, DATE'9999-12-31')";
	if (type != NULL && (audit_is_one_of(type, texts) || audit_is_one_of(type, words)))
		return "COALESCE(v.priority, 'zzzz')";
	return type != NULL && strcmp(type, "time") == 0 ? "COALESCE(v.priority, TIME'838:59:59')" :
	    "COALESCE(v.priority, 9223372036854775807)";
}

/* Of an ENUM through UNION or a function only the text is left. */
static void
judge_text(const struct trial *t)
{
	struct audit *a = t->a;
	const struct audited_view *view = &a->views[CANDIDATES];
	const char *type = audit_type(view, "priority");
	bool numbers = t->numbers > 0 && t->words == 0;

	if (type == NULL || !audit_is_one_of(type, texts) || t->first.used == 0)
		return;
	audit_found(a, numbers ? LOCKQ_WARNING : LOCKQ_NOTE, numbers ? "priority_text" :
	    "priority_words", view->is.setting, numbers ? audit_mend_view(a, view, "priority",
	    "v.priority + 0", NULL) : NULL, "candidates_view \"%s\" has a priority of type %s, "
	    "which sorts %s: the first loans are %s", view->is.said, type, numbers ?
	    "as text, '10' before '9'" : "by its letters", t->first.data);
}

static const char *
rows_of(size_t n)
{
	return n == 1 ? "row" : "rows";
}

static void
judge_rows(const struct trial *t)
{
	struct audit *a = t->a;
	const struct audited_view *view = &a->views[CANDIDATES];
	const struct lockq_findings *all = a->findings;
	const char *setting = view->is.setting, *said = view->is.said;
	bool dear = all->complete == 0 && all->loans * 2 < all->rows;

	if (t->null_loans > 0)
		audit_found(a, LOCKQ_FAULT, "null_loan_id", setting, audit_mend_view(a, view, NULL,
		    NULL, "v.loan_id IS NOT NULL"), "candidates_view \"%s\" has %zu %s whose "
		    "loan_id is NULL, so its query fails", said, t->null_loans,
		    rows_of(t->null_loans));
	if (t->negative > 0)
		audit_found(a, LOCKQ_FAULT, "negative_loan_id", setting, audit_mend_view(a, view,
		    NULL, NULL, "v.loan_id >= 0"), "candidates_view \"%s\" has %zu %s whose "
		    "loan_id is negative, so its query fails", said, t->negative,
		    rows_of(t->negative));
	if (t->null_priorities > 0)
		audit_found(a, LOCKQ_WARNING, "null_priority", setting, audit_mend_view(a, view,
		    "priority", last_of_type(view), NULL), "candidates_view \"%s\" has %zu %s "
		    "whose priority is NULL: these come before all others", said,
		    t->null_priorities, rows_of(t->null_priorities));
	judge_text(t);
	if (all->loans < all->rows && !audit_flag(a, "view_repeats"))
		audit_found(a, dear ? LOCKQ_WARNING : LOCKQ_NOTE, "loans_repeat", "view_repeats",
		    dear ? audit_mend_set(a, "--view-repeats", "yes") : NULL, "candidates_view "
		    "\"%s\" shows %llu loans in %llu rows%s", said, (unsigned long long)all->loans,
		    (unsigned long long)all->rows, dear ? ", so the query may have to run twice" :
		    ": each counts once, with its smallest priority");
	if (all->complete == 0)
		audit_found(a, LOCKQ_NOTE, "query_cut", "candidate_limit", NULL, "the query finds "
		    "more than candidate_limit, %llu rows: the others come with a later one",
		    (unsigned long long)t->limit);
	if (all->rows == 0)
		audit_found(a, LOCKQ_NOTE, "nothing_found", setting, NULL, "the query finds "
		    "nothing to give now, so no rows were looked at");
}

/* --- some of its loans --- */

/* The view that is asked, and whether that is a check_view. */
static const struct audited_view *
asked_view(const struct audit *a)
{
	return &a->views[audit_value(a, "check_view") != NULL ? CHECKS : CANDIDATES];
}

static void
explain_check(struct audit *a, const struct check *check, bool slow)
{
	bool keeps = audit_number(a, "cache_ttl") > 0, unchecked = audit_flag(a, "use_unchecked");
	const char *about = asked_view(a) == &a->views[CHECKS] ? "check_view" : "cache_ttl";
	const char *code = slow ? "check_slow" : "check_fails";

	if (keeps && !unchecked)
		audit_found(a, LOCKQ_FAULT, code, about, audit_mend_set(a, "--use-unchecked",
		    "yes"), "%s, so no list is kept: name a light check_view, or allow loans to be "
		    "given unchecked", check->why);
	else
		audit_found(a, LOCKQ_NOTE, code, about, NULL, "%s: %s", check->why, keeps ?
		    "loans of the kept list are given unchecked" :
		    "the task can keep no list like this");
}

/* Whether MySQL pushes the list of loans into the view. */
static void
judge_reading(struct audit *a)
{
	struct lockq_findings *all = a->findings;
	const struct audited_view *view = asked_view(a);

	if (all->rows_read < FEWEST_ROWS || all->check_rows_read < 0)
		return;
	all->pushed_down = all->check_rows_read * PUSHED_SHARE <= all->rows_read;
	if (all->pushed_down == 0 && audit_number(a, "cache_ttl") > 0)
		audit_found(a, LOCKQ_WARNING, "not_pushed_down", view->is.setting,
		    audit_mend_set(a, "--check-view", "VIEW"), "%s \"%s\" reads %lld rows to tell "
		    "whether some loans still match, and the query reads %lld: that gets slow as "
		    "the tables grow: name a light check_view", view->is.setting, view->is.said,
		    (long long)all->check_rows_read, (long long)all->rows_read);
}

/* Loans that the check view hides are never given, but they may have been completed since the
 * query. So the candidates view is asked about them once more. */
static enum db_rc
judge_shown(struct audit *a, struct db *db, struct task *task, const struct check *check)
{
	struct check again = { .n = 0 };
	enum db_rc rc = DB_OK;
	size_t hidden = 0;

	for (size_t i = 0; i < check->n; i++) {
		if (!check->shown[i])
			again.loans[again.n++] = check->loans[i];
	}
	if (again.n == 0 || task->check_view[0] == '\0' || a->what->quick != 0)
		return DB_OK;
	task->check_view[0] = '\0';
	rc = check_loans(db, task, &again);
	for (size_t i = 0; rc == DB_OK && i < again.n; i++)
		hidden += again.shown[i] || again.too_dear;
	if (hidden > 0)
		audit_found(a, again.too_dear ? LOCKQ_WARNING : LOCKQ_FAULT, "check_hides",
		    "check_view", audit_mend_set(a, "--check-view", "none"), "check_view \"%s\" "
		    "does not show %zu of %zu loans of candidates_view, such as %" PRIu64 ": these "
		    "are never given from a list", a->views[CHECKS].is.said, hidden, check->n,
		    again.loans[0]);
	return rc;
}

static enum db_rc
ask_about(struct audit *a, struct db *db, struct check *check)
{
	struct task task = { .task_id = a->what->task };
	struct lockq_findings *all = a->findings;
	struct meter meter = { 0, 0 };
	uint64_t since;
	enum db_rc rc = meter_begin(db, &meter);

	if (!asked_view(a)->usable)
		return rc;
	snprintf(task.view, sizeof(task.view), "%s", a->views[CANDIDATES].is.said);
	if (asked_view(a) == &a->views[CHECKS])
		snprintf(task.check_view, sizeof(task.check_view), "%s", asked_view(a)->is.said);
	since = db_clock_ms();
	if (rc == DB_OK)
		rc = check_loans(db, &task, check);
	if (rc != DB_OK)
		return rc;
	if (check->too_dear) {
		explain_check(a, check, db_errno(db) == ENDED_BY_TIME);
		return DB_OK;
	}
	all->check_ms = (int64_t)(db_clock_ms() - since);
	rc = meter_end(db, &meter, &all->check_rows_read);
	judge_reading(a);
	return rc == DB_OK ? judge_shown(a, db, &task, check) : rc;
}

/* --- the detail view --- */

static void
judge_details(struct audit *a, uint64_t rows, uint64_t loans, size_t n)
{
	const struct audited_name *view = &a->views[DETAILS].is;

	if (rows > loans)
		audit_found(a, LOCKQ_WARNING, "detail_repeats", view->setting,
		    audit_show(a, "VIEW", view), "detail_view \"%s\" has several rows for "
		    "one loan: only the first is shown", view->said);
	else if (loans == 0)
		audit_found(a, LOCKQ_WARNING, "detail_empty", view->setting, audit_mend_set(a,
		    "--detail-view", "none"), "detail_view \"%s\" shows none of %zu loans that may "
		    "be given now", view->said, n);
}

static enum db_rc
look_at_details(struct audit *a, struct db *db, const struct check *check)
{
	const struct audited_name *view = &a->views[DETAILS].is;
	struct text sql = { NULL, 0, 0, false };
	struct db_query query = { "details", NULL, DB_VIEW };
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct db_arg args[CHECK_SAMPLE];
	enum db_rc rc = DB_ENOMEM;

	text_add(&sql, "SELECT /*+ MAX_EXECUTION_TIME(%d) */ COUNT(*), COUNT(DISTINCT d.loan_id)"
	    "  FROM %s AS d WHERE d.loan_id IN (", DETAIL_MS, view->quoted);
	for (size_t i = 0; i < check->n; i++) {
		args[i] = db_u64(check->loans[i]);
		text_add(&sql, i == 0 ? "?" : ", ?");
	}
	text_add(&sql, ")");
	query.sql = sql.data;
	if (!sql.failed)
		rc = db_run(db, &query, args, check->n, &rows);
	if (rc == DB_OK)
		judge_details(a, db_cell_u64(&rows, 0, 0), db_cell_u64(&rows, 0, 1), check->n);
	else if (rc == DB_ETIME || rc == DB_EFAIL)
		audit_found(a, LOCKQ_WARNING, "detail_fails", view->setting, audit_mend_set(a,
		    "--detail-view", "none"), "detail_view \"%s\" can't show %zu loans%s%s",
		    view->said, check->n, rc == DB_ETIME ? " in three seconds" : ": ",
		    rc == DB_ETIME ? "" : db_error(db));
	db_rows_clear(&rows);
	text_clear(&sql);
	return rc == DB_ETIME || rc == DB_EFAIL ? DB_OK : rc;
}

/* --- all of it --- */

/* The first loans that were found; in a quick audit any numbers, for how long the view takes. */
static void
take_sample(const struct audit *a, const struct list *list, struct check *check)
{
	size_t most = a->what->quick != 0 ? CHECK_SAMPLE : list->n;

	for (size_t i = 0; i < most && i < CHECK_SAMPLE; i++)
		check->loans[check->n++] = i < list->n ? list->list[i].loan_id : i + 1;
}

static int
look_at_loans(struct audit *a, const struct list *list)
{
	struct lockq *q = a->q;
	struct check *check = calloc(1, sizeof(*check));
	enum db_rc rc = check != NULL ? session_ready_query(q) : DB_ENOMEM;
	int code;

	if (rc == DB_OK)
		take_sample(a, list, check);
	if (rc == DB_OK && check->n > 0)
		rc = ask_about(a, q->query, check);
	if (rc == DB_OK && a->what->quick == 0 && check->n > 0 && a->views[DETAILS].usable)
		rc = look_at_details(a, q->query, check);
	code = error_from_db(q, q->query != NULL ? q->query : q->db, rc);
	free(check);
	return code;
}

/* The place of the query: that of lockq_query_at(), or a second connection here. */
static enum db_rc
choose_place(struct trial *t)
{
	struct lockq *q = t->a->q;
	enum db_rc rc = q->asks_elsewhere ? session_ready_elsewhere(q) : DB_OK;

	t->db = q->elsewhere;
	if (q->asks_elsewhere && rc == DB_OK)
		return DB_OK;
	if (q->asks_elsewhere) {
		audit_found(t->a, LOCKQ_WARNING, "query_place", "lockq", NULL, "the query ran "
		    "here, since the server of lockq_query can't be used: %s",
		    db_error(q->elsewhere));
		session_close_query(q, q->elsewhere);
	}
	rc = rc == DB_ENOMEM ? rc : session_ready_query(q);
	t->db = q->query;
	return rc;
}

static int
try_query(struct trial *t)
{
	struct audit *a = t->a;
	char sql[VIEW_SQL_BYTES];
	uint64_t count = audit_number(a, "max_count");
	enum db_rc rc = choose_place(t);
	int code;

	if (rc != DB_OK)
		return error_from_db(a->q, a->q->db, rc);
	t->limit = audit_number(a, "candidate_limit");
	if (t->limit < count)
		t->limit = count;
	rc = view_audit_statement(sql, a->views[CANDIDATES].is.said,
	    audit_flag(a, "view_repeats"));
	task_usual_ms_if_shown(a->q, t->db, a->what->task, &t->ticking.usual_ms);
	if (rc == DB_OK)
		rc = run(t, sql);
	code = settle(t, rc);
	if (code != LOCKQ_OK || rc != DB_OK)
		return code;
	if (list_once(&t->list) != DB_OK)
		return error_from_db(a->q, NULL, DB_ENOMEM);
	a->findings->loans = t->list.n;
	judge_rows(t);
	return LOCKQ_OK;
}

int
audit_query(struct audit *a)
{
	struct trial t = { .a = a, .ticking = { .q = a->q, .phase = LOCKQ_PHASE_CHECK,
		.keep_alive = a->q->db } };
	bool quick = a->what->quick != 0;
	int code = quick ? LOCKQ_OK : try_query(&t);

	/* Without a list it is only of interest with the rest of it. */
	if (code == LOCKQ_OK && (!quick || audit_number(a, "cache_ttl") > 0))
		code = look_at_loans(a, &t.list);
	list_clear(&t.list);
	text_clear(&t.first);
	return code;
}
