/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cli/pipeline.h"
#include "cli/program.h"
#include "cli/table.h"
#include "cli/utf8.h"

enum {
	COLUMNS_FIXED = 7,     /* without a task's details */
	TOKEN = 1, GIVEN, AGE, LEASE, /* columns of every table, after that of the loan */
	RENEW_SOON_S = 15 * 60 /* the user is told of a lease that has less left */
};

/* One table: the assignments of one task with its details, or all assignments without details. */
struct part {
	const struct lockq_assignment *assignments;
	size_t n;
	const struct lockq_assignment *model; /* the first one with details; or NULL */
	bool of_one_task;
	bool has_notes;
	bool is_answer; /* the loans have just been given */
	bool tokens;    /* the column of tokens is wanted */
};

static struct part
make_part(const struct lockq_assignment *assignments, size_t n, bool of_one_task)
{
	struct part part = { assignments, n, NULL, of_one_task, false, false, true };
	size_t i;

	for (i = 0; i < n; i++) {
		if (part.model == NULL && assignments[i].n_details > 0)
			part.model = &assignments[i];
		part.has_notes = part.has_notes || assignments[i].note != NULL;
	}
	return part;
}

static const char *
detail(const struct lockq_assignment *a, size_t i)
{
	return i < a->n_details ? a->details[i].value : NULL;
}

/* Whether all values of a detail consist of these characters, after a minus sign where that is
 * allowed. Such values are never cut. */
static bool
made_of(const struct part *part, size_t column, bool may_have_sign, const char *characters)
{
	const char *value;
	size_t i;

	for (i = 0; i < part->n; i++) {
		value = detail(&part->assignments[i], column);
		if (value != NULL && may_have_sign && value[0] == '-')
			value++;
		if (value != NULL && strspn(value, characters) != strlen(value))
			return false;
	}
	return true;
}

/* Numbers stand at the right, dates and times at the left. */
static unsigned int
detail_kind(const struct part *part, size_t column)
{
	if (made_of(part, column, true, "0123456789."))
		return CLI_RIGHT;
	return made_of(part, column, false, "0123456789.-: ") ? 0 : CLI_TEXT;
}

/* Fills @columns and returns how many; the caller frees their headings. */
static size_t
make_columns(struct cli_column *columns, const struct part *part)
{
	const struct cli_column fixed[] = {
		{ cli_loan(), CLI_RIGHT }, { "token", CLI_RIGHT | CLI_SPARE(8) },
		{ "assigned", CLI_SPARE(9) }, { "age", CLI_RIGHT | CLI_SPARE(6) },
		{ "lease left", 0 },
	};
	size_t n = 0, i;

	if (!part->of_one_task)
		columns[n++] = (struct cli_column){ cli_text("task"), CLI_TEXT };
	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if ((i == TOKEN && !part->tokens) || (part->is_answer && (i == GIVEN || i == AGE)))
			continue;
		columns[n++] = (struct cli_column){ cli_text("%s", part->is_answer && i == LEASE ?
		    "lease until" : fixed[i].heading), fixed[i].is };
	}
	for (i = 0; part->model != NULL && i < part->model->n_details; i++, n++)
		columns[n] = (struct cli_column){ cli_escape(part->model->details[i].name),
			detail_kind(part, i) | CLI_SPARE(i == 0 ? 1 : 5) };
	if (part->has_notes)
		columns[n++] = (struct cli_column){ cli_text("note"), CLI_TEXT | CLI_SPARE(3) };
	return n;
}

static void
add_row(struct cli_table *table, const struct part *part, const struct lockq_assignment *a)
{
	if (!part->of_one_task)
		cli_table_cell(table, "%u %s", a->task, a->task_name != NULL ? a->task_name : "");
	cli_table_cell(table, "%llu", (unsigned long long)a->loan_id);
	if (part->tokens)
		cli_table_cell(table, "%llu", (unsigned long long)a->token);
	if (!part->is_answer) {
		cli_table_cell(table, "%s", cli_local(a->assigned_at).text);
		cli_table_cell(table, "%s", cli_age(a->age_s).text);
	}
	if (a->lease_expires_at[0] == '\0')
		cli_table_cell(table, "no limit");
	else if (part->is_answer)
		cli_table_cell(table, "%s", cli_until(a->lease_expires_at, NULL).text);
	else if (a->lease_expired)
		cli_table_cell(table, "ran out %s", cli_local(a->lease_expires_at).text);
	else
		cli_table_cell(table, "%s", cli_age(a->lease_left_s).text);
	for (size_t i = 0; part->model != NULL && i < part->model->n_details; i++) {
		const char *value = detail(a, i);

		cli_table_cell(table, "%s", value != NULL ? value : "-");
	}
	if (part->has_notes)
		cli_table_cell(table, "%s", a->note != NULL ? a->note : "");
}

static void
print_part(FILE *out, const struct part *part, enum cli_style style, size_t width)
{
	size_t most = COLUMNS_FIXED + (part->model != NULL ? part->model->n_details : 0), n, i;
	struct cli_column *columns = cli_alloc(most * sizeof(*columns));
	struct cli_table *table;

	n = make_columns(columns, part);
	table = cli_table_new(columns, n);
	for (i = 0; i < part->n; i++)
		add_row(table, part, &part->assignments[i]);
	cli_table_fit(out, table, style, width);
	for (i = 0; i < n; i++)
		free((char *)(uintptr_t)columns[i].heading);
	free(columns);
}

/* The assignment of the same loan, with its details; or NULL. */
static const struct lockq_assignment *
find_assignment(const struct lockq_pipeline *pipeline, uint32_t task, const struct lockq_loan *loan)
{
	for (size_t i = 0; pipeline != NULL && i < pipeline->n_assignments; i++) {
		const struct lockq_assignment *a = &pipeline->assignments[i];

		if (a->task == task && a->loan_id == loan->loan_id && a->token == loan->token)
			return a;
	}
	return NULL;
}

void
cli_pipeline_answer(const struct lockq_answer *answer, const struct lockq_pipeline *pipeline,
    bool tokens)
{
	struct lockq_assignment *loans = cli_alloc((answer->n_loans + 1) * sizeof(*loans));
	struct part part;

	for (size_t i = 0; i < answer->n_loans; i++) {
		const struct lockq_loan *loan = &answer->loans[i];
		const struct lockq_assignment *a = find_assignment(pipeline, answer->task, loan);

		loans[i] = a != NULL ? *a : (struct lockq_assignment){ .loan_id = loan->loan_id,
		    .token = loan->token };
		memcpy(loans[i].lease_expires_at, loan->lease_expires_at,
		    sizeof(loan->lease_expires_at));
	}
	part = make_part(loans, answer->n_loans, true);
	part.is_answer = true;
	part.tokens = tokens;
	print_part(stdout, &part, cli_stdout_style(), cli_table_width());
	free(loans);
}

/* How many of the assignments from @from on are of one task. */
static size_t
same_task(const struct lockq_pipeline *pipeline, size_t from)
{
	const struct lockq_assignment *a = &pipeline->assignments[from];
	size_t n = 1;

	while (from + n < pipeline->n_assignments && a[n].task == a->task)
		n++;
	return n;
}

static size_t
print_by_task(const struct lockq_pipeline *pipeline)
{
	const struct lockq_assignment *a;
	struct part part;
	size_t i, n, tasks = 0;

	for (i = 0; i < pipeline->n_assignments; i += n, tasks++) {
		a = &pipeline->assignments[i];
		n = same_task(pipeline, i);
		part = make_part(a, n, true);
		cli_heading("Task %u %s %s", a->task, cli_dot(),
		    a->task_name != NULL ? a->task_name : "");
		print_part(stdout, &part, cli_stdout_style(), cli_table_width());
	}
	return tasks;
}

static void
print_advice(const char *user, const struct lockq_pipeline *pipeline)
{
	const struct lockq_assignment *a, *first = NULL;
	char *word;
	size_t i, over = 0;

	for (i = 0; i < pipeline->n_assignments; i++) {
		a = &pipeline->assignments[i];
		over += a->lease_expired != 0;
		if (a->lease_expires_at[0] != '\0' && !a->lease_expired &&
		    (first == NULL || a->lease_left_s < first->lease_left_s))
			first = a;
	}
	if (over > 0)
		cli_line("%zu %s run out: %s %s may go to another user at any moment", over,
		    over == 1 ? "lease has" : "leases have", over == 1 ? "that" : "those",
		    cli_loans(over));
	if (first == NULL || first->lease_left_s >= RENEW_SOON_S)
		return;
	word = cli_word(user);
	cli_line("the lease of %s %llu ends in %s: disposition --user %s --task %u --loan %llu "
	    "--renew renews it", cli_loan(), (unsigned long long)first->loan_id,
	    cli_age(first->lease_left_s).text, word, first->task,
	    (unsigned long long)first->loan_id);
	free(word);
}

void
checkwork_table(const char *user, const struct lockq_pipeline *pipeline)
{
	struct part all = make_part(pipeline->assignments, pipeline->n_assignments, false);
	size_t n = pipeline->n_assignments, tasks = 1, i;

	cli_heading("Pipeline %s %s", cli_dot(), user);
	if (all.model != NULL) {
		tasks = print_by_task(pipeline);
	} else {
		print_part(stdout, &all, cli_stdout_style(), cli_table_width());
		for (i = same_task(pipeline, 0); i < n; i += same_task(pipeline, i))
			tasks++;
	}
	if (tasks > 1)
		cli_line("%zu %s in %zu tasks", n, cli_loans(n), tasks);
	else
		cli_line("%zu %s", n, cli_loans(n));
	print_advice(user, pipeline);
}

char *
checkwork_table_part(const struct lockq_pipeline *pipeline, size_t from, size_t width,
    enum cli_style style, size_t *n, size_t *first_row)
{
	struct part part = make_part(pipeline->assignments, pipeline->n_assignments, false);
	const struct lockq_assignment *a = &pipeline->assignments[from];
	bool by_task = part.model != NULL;
	char *text = NULL, *heading;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		cli_out_of_memory();
	if (by_task) {
		part = make_part(a, same_task(pipeline, from), true);
		heading = cli_escape(a->task_name);
		fprintf(out, "Task %u %s %s\n", a->task, style == CLI_BOXES ? "·" : "-", heading);
		free(heading);
	}
	print_part(out, &part, style, width);
	if (fclose(out) != 0)
		cli_out_of_memory();
	*n = part.n;
	*first_row = by_task ? 4 : 3; /* below two rules, the columns' names, and the heading */
	return text;
}
