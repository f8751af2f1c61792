/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "cli/text.h"
#include "seedloans/csvfile.h"
#include "seedloans/field.h"
#include "seedloans/map.h"
#include "seedloans/rejects.h"
#include "seedloans/tool.h"

/* The ids of the file are in a table on the server: memory here must not grow with the file. */
static const struct db_query drop_seen = {
	"drop_seen", "DROP TEMPORARY TABLE IF EXISTS seed_seen", DB_NO_ROWS
};
static const struct db_query create_seen = {
	"create_seen",
	"CREATE TEMPORARY TABLE seed_seen ("
	"  loan_id BIGINT UNSIGNED NOT NULL,"
	"  line BIGINT UNSIGNED NOT NULL,"
	"  PRIMARY KEY (loan_id)"
	") ENGINE=InnoDB",
	DB_NO_ROWS
};

#define ENTRIES_TABLE \
	"JSON_TABLE(?, '$[*]' COLUMNS (" \
	"   entry INT UNSIGNED PATH '$[0]' ERROR ON ERROR," \
	"   loan_id BIGINT UNSIGNED PATH '$[1]' ERROR ON ERROR," \
	"   line BIGINT UNSIGNED PATH '$[2]' ERROR ON ERROR)) AS j"

static const struct db_query add_seen = {
	"add_seen",
	"INSERT INTO seed_seen (loan_id, line) SELECT j.loan_id, j.line FROM " ENTRIES_TABLE,
	DB_NO_ROWS
};

/* The last parameter is 1 where --reset will have emptied `loan` before the file is loaded. */
static const struct db_query find_known = {
	"find_known",
	"SELECT j.entry, s.line"
	"  FROM " ENTRIES_TABLE
	"  LEFT JOIN seed_seen AS s ON s.loan_id = j.loan_id"
	"  LEFT JOIN loan AS l ON l.loan_id = j.loan_id AND ? = 0"
	" WHERE s.loan_id IS NOT NULL OR l.loan_id IS NOT NULL",
	DB_MANY
};

enum { RAW_BYTES = 1 << 20, DUPLICATE_TRIES = 3 };

struct entry {
	struct seed_loan loan;
	uint64_t line;
	size_t raw_at, raw_length; /* the row, in the import's raw text */
	char reason[SEED_REASON_BYTES]; /* "": nothing is wrong with it */
	const char *counted_as;    /* a reason without the row's own numbers; NULL: @reason */
};

struct seed_import {
	struct seed *seed;
	struct csvfile *file;
	struct rejects *rejects;
	struct map map;
	struct rejects_text header, raw;
	char *ids;                 /* list_ids() */
	size_t n_columns;
	char delimiter;
	struct csvfile_row row;
	bool row_waits;            /* @row was read and not used yet */
	uint64_t rows;
	struct entry entries[SEED_BATCH];
	size_t n_entries;
	struct entry *by_id[SEED_BATCH];
	struct seed_load load;
};

/* Passes over the file: PASS_LOAD alone or, with --strict, PASS_CHECK and PASS_LOAD_CHECKED. */
enum pass { PASS_CHECK, PASS_LOAD, PASS_LOAD_CHECKED };

static int
fail_file(const struct seed_import *import, const char *what)
{
	return seed_fail(import->seed, LOCKQ_EUSAGE, "file \"%s\" %s", import->seed->options->csv,
	    what);
}

static int
fail_to_read(const struct seed_import *import)
{
	return seed_fail(import->seed, LOCKQ_EUSAGE, "file \"%s\" can't be read: %s",
	    import->seed->options->csv, strerror(errno));
}

enum next { NEXT_ROW, NEXT_END };

static int
next_row(struct seed_import *import, enum next *next)
{
	enum csvfile_rc rc = CSVFILE_ROW;

	if (!import->row_waits)
		rc = csvfile_next(import->file, &import->row);
	import->row_waits = false;
	/* A stray quote joins several rows to one, which rarely has the right number of columns. */
	if (rc == CSVFILE_ROW && import->n_columns > 0 && import->row.n_lines > 1 &&
	    import->row.n_fields != import->n_columns)
		rc = csvfile_take_back(import->file, &import->row,
		    "the number of columns is wrong, or a quote closes on a later line");
	*next = rc == CSVFILE_ROW ? NEXT_ROW : NEXT_END;
	return rc == CSVFILE_EREAD ? fail_to_read(import) : LOCKQ_OK;
}

static void
set_delimiter(struct seed_import *import, char delimiter)
{
	import->delimiter = delimiter;
	csvfile_set_delimiter(import->file, delimiter);
}

/* Spreadsheets write a line such as "sep=;" before the header. It is one field, without the tab at
 * its end; where that very sign is the delimiter already, an empty field follows. */
static bool
is_separator_line(const struct csvfile_row *row)
{
	if (row->line != 1 || strncasecmp(row->fields[0], "sep=", 4) != 0)
		return false;
	return row->n_fields == 1 ? row->lengths[0] <= 5 :
	    row->n_fields == 2 && row->lengths[0] == 4 && row->lengths[1] == 0;
}

static int
next_header(struct seed_import *import, enum next *next)
{
	const struct csvfile_row *row = &import->row;
	int code = next_row(import, next);

	if (code != 0 || *next == NEXT_END || !is_separator_line(row))
		return code;
	if (import->seed->options->delimiter == 0 && row->n_fields == 1)
		set_delimiter(import, row->lengths[0] == 5 ? row->fields[0][4] : '\t');
	return next_row(import, next);
}

static size_t
count_in(const struct csvfile_row *row, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < row->n_fields; i++) {
		for (const char *at = row->fields[i]; *at != '\0'; at++)
			n += *at == c;
	}
	return n;
}

/* Returns the sign that stands in the header more often than the one that is taken for the
 * delimiter; 0: none. */
static char
better_delimiter(const struct seed_import *import)
{
	static const char delimiters[] = ",;\t|:";
	const struct csvfile_row *header = &import->row;
	size_t most = header->n_fields - 1 + count_in(header, import->delimiter);
	char best = 0;

	for (const char *c = delimiters; *c != '\0'; c++) {
		size_t n = *c != import->delimiter ? count_in(header, *c) : 0;

		if (n > most) {
			most = n;
			best = *c;
		}
	}
	return best;
}

static int
fail_header(const struct seed_import *import, const char *error)
{
	const char *csv = import->seed->options->csv;
	char better = better_delimiter(import);

	if (better == '\t')
		return seed_fail(import->seed, LOCKQ_EUSAGE, "file \"%s\" seems to be separated by "
		    "tabs: give --delimiter tab", csv);
	if (better != 0)
		return seed_fail(import->seed, LOCKQ_EUSAGE, "file \"%s\" seems to be separated by "
		    "'%c': give --delimiter '%c'", csv, better, better);
	return seed_fail(import->seed, LOCKQ_EUSAGE, "file \"%s\": %s", csv, error);
}

static int
read_header(struct seed_import *import)
{
	const char *unreadable = csvfile_unreadable(import->file);
	struct csvfile_row *row = &import->row;
	char error[sizeof(import->seed->report->error)] = "";
	enum next next;
	int code;

	if (unreadable != NULL)
		return fail_file(import, unreadable);
	code = next_header(import, &next);
	if (code != 0)
		return code;
	if (next == NEXT_END)
		return fail_file(import, "is empty");
	if (row->fault != NULL) {
		snprintf(error, sizeof(error), "header: %s", row->fault);
		return fail_header(import, error);
	}
	if (map_make(&import->map, import->seed->options->map, row, error, sizeof(error)) != 0)
		return fail_header(import, error);
	import->n_columns = row->n_fields;
	rejects_format(&import->header, row);

	code = next_row(import, &next);
	if (code == 0 && next == NEXT_END)
		return fail_file(import, "has a header but no rows");
	import->row_waits = true;
	return code;
}

static int
open_rejects(struct seed_import *import)
{
	const struct seed_options *options = import->seed->options;

	if (options->rejects != NULL && csvfile_is(import->file, options->rejects))
		return seed_fail(import->seed, LOCKQ_EUSAGE,
		    "--rejects \"%s\" is the file that --csv reads: name another one",
		    options->rejects);
	import->rejects = rejects_new(options->rejects, options->csv);
	if (import->rejects == NULL)
		return seed_fail(import->seed, LOCKQ_EUSAGE, "the file for bad rows can't be "
		    "written: %s: name one with --rejects FILE", strerror(errno));
	return 0;
}

int
seed_import_open(struct seed_import **out, struct seed *seed)
{
	struct seed_import *import = cli_alloc(sizeof(*import));
	int code;

	memset(import, 0, sizeof(*import));
	*out = import;
	import->seed = seed;
	if (csvfile_open(&import->file, seed->options->csv) != CSVFILE_ROW)
		return fail_to_read(import);
	if (seed->options->strict && !csvfile_is_regular(import->file))
		return fail_file(import, "must be a regular file, since --strict reads it twice");
	set_delimiter(import, seed->options->delimiter != 0 ? seed->options->delimiter : ',');
	code = read_header(import);
	return code != 0 ? code : open_rejects(import);
}

void
seed_import_free(struct seed_import *import)
{
	if (import == NULL)
		return;
	csvfile_close(import->file);
	(void)rejects_close(import->rejects);
	rejects_text_clear(&import->header);
	rejects_text_clear(&import->raw);
	free(import->ids);
	seed_load_end(&import->load);
	free(import);
}

/* Reads the row into the next entry. */
static void
take_row(struct seed_import *import)
{
	const struct csvfile_row *row = &import->row;
	struct entry *entry = &import->entries[import->n_entries++];
	enum field field;
	const char *fault;

	*entry = (struct entry){ .line = row->line, .raw_at = import->raw.used };
	rejects_format(&import->raw, row);
	entry->raw_length = import->raw.used - entry->raw_at;
	import->rows++;
	if (row->fault != NULL) {
		snprintf(entry->reason, sizeof(entry->reason), "%s", row->fault);
		return;
	}
	if (row->n_fields != import->n_columns) {
		snprintf(entry->reason, sizeof(entry->reason),
		    "the row has %zu columns, the header has %zu", row->n_fields,
		    import->n_columns);
		return;
	}
	for (field = FIELD_LOAN_ID; field < N_FIELDS && entry->reason[0] == '\0'; field++) {
		size_t column = import->map.columns[field];

		if (column == NO_COLUMN)
			continue;
		fault = field_read(&entry->loan, field, row->fields[column], row->lengths[column]);
		if (fault != NULL)
			snprintf(entry->reason, sizeof(entry->reason), "%s %s", field_name(field),
			    fault);
	}
}

static int
compare_ids(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

	if (x->loan.loan_id != y->loan.loan_id)
		return x->loan.loan_id < y->loan.loan_id ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void
refuse_twice(struct entry *entry, uint64_t line)
{
	snprintf(entry->reason, sizeof(entry->reason), "loan_id %" PRIu64 " is on line %" PRIu64
	    " already", entry->loan.loan_id, line);
	entry->counted_as = "loan_id is on an earlier line already";
}

/* Refuses duplicates within the batch, but not the first of them. */
static void
refuse_duplicates(struct seed_import *import)
{
	size_t n = 0, i, first = 0;

	for (i = 0; i < import->n_entries; i++) {
		if (import->entries[i].reason[0] == '\0')
			import->by_id[n++] = &import->entries[i];
	}
	if (n > 1)
		qsort(import->by_id, n, sizeof(import->by_id[0]), compare_ids);
	for (i = 1; i < n; i++) {
		if (import->by_id[i]->loan.loan_id == import->by_id[first]->loan.loan_id)
			refuse_twice(import->by_id[i], import->by_id[first]->line);
		else
			first = i;
	}
}

/* Makes the parameter of the statements above from the batch's good rows. A loan_id is text in it,
 * since jansson has no number above 2^63 - 1; the server reads the text as a number. */
static void
list_ids(struct seed_import *import)
{
	json_t *ids = json_array();
	char id[24];

	for (size_t i = 0; i < import->n_entries; i++) {
		const struct entry *entry = &import->entries[i];

		if (entry->reason[0] != '\0')
			continue;
		snprintf(id, sizeof(id), "%" PRIu64, entry->loan.loan_id);
		if (json_array_append_new(ids, json_pack("[I,s,I]", (json_int_t)i, id,
		    (json_int_t)entry->line)) != 0)
			cli_out_of_memory();
	}
	free(import->ids);
	import->ids = json_dumps(ids, JSON_COMPACT);
	json_decref(ids);
	if (import->ids == NULL)
		cli_out_of_memory();
}

/* Refuses loans that are in the database, or came earlier in the file. */
static int
refuse_known(struct seed_import *import, enum pass pass)
{
	bool will_be_gone = pass == PASS_CHECK && import->seed->options->reset;
	struct db *db = import->seed->db;
	struct db_rows rows = { 0 };
	enum db_rc rc;
	size_t i;

	list_ids(import);
	rc = db_run(db, &find_known, DB_ARGS(db_text(import->ids), db_u64(will_be_gone)),
	    &rows);
	for (i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		struct entry *entry = &import->entries[db_cell_u64(&rows, i, 0) % SEED_BATCH];

		if (!db_cell_is_null(&rows, i, 1)) {
			refuse_twice(entry, db_cell_u64(&rows, i, 1));
			continue;
		}
		snprintf(entry->reason, sizeof(entry->reason),
		    "loan_id %" PRIu64 " is in the database already", entry->loan.loan_id);
		entry->counted_as = "loan_id is in the database already";
	}
	db_rows_clear(&rows);
	list_ids(import);
	return seed_from_db(import->seed, db, rc);
}

static enum db_rc
remember(struct db *db, void *data)
{
	struct seed_import *import = data;

	return db_run(db, &add_seen, DB_ARGS(db_text(import->ids)), NULL);
}

static void
count_reason(struct seed_report *report, const char *reason)
{
	size_t i = 0;

	while (i < report->n_reasons && strcmp(report->reasons[i].text, reason) != 0)
		i++;
	if (i >= SEED_REASONS - 1) {
		i = SEED_REASONS - 1;
		reason = "other reasons";
	}
	if (i >= report->n_reasons) {
		snprintf(report->reasons[i].text, sizeof(report->reasons[i].text), "%s", reason);
		report->n_reasons = i + 1;
	}
	report->reasons[i].rows++;
}

static int
write_rejects(struct seed_import *import)
{
	struct seed_report *report = import->seed->report;
	size_t i;

	for (i = 0; i < import->n_entries; i++) {
		const struct entry *entry = &import->entries[i];

		if (entry->reason[0] == '\0')
			continue;
		if (rejects_add(import->rejects, &import->header, entry->line, entry->reason,
		    import->raw.data + entry->raw_at, entry->raw_length) != 0)
			return seed_fail(import->seed, LOCKQ_EUSAGE, "file \"%s\" for bad "
			    "rows can't be written: %s: stopped at line %" PRIu64,
			    rejects_path(import->rejects), strerror(errno), entry->line);
		count_reason(report, entry->counted_as != NULL ? entry->counted_as :
		    entry->reason);
		report->rejected++;
		snprintf(report->rejects, sizeof(report->rejects), "%s",
		    rejects_path(import->rejects));
	}
	return 0;
}

static int
close_rejects(struct seed_import *import)
{
	struct rejects *rejects = import->rejects;

	import->rejects = NULL;
	if (rejects_close(rejects) == 0)
		return 0;
	return seed_fail(import->seed, LOCKQ_EUSAGE, "file \"%s\": not all bad rows could be "
	    "written", import->seed->report->rejects);
}

static int
finish_batch(struct seed_import *import, enum pass pass)
{
	struct seed *seed = import->seed;
	bool duplicate;
	unsigned int try;
	int code = 0;

	for (try = 0; try < DUPLICATE_TRIES; try++) {
		duplicate = false;
		if (pass != PASS_LOAD_CHECKED) {
			refuse_duplicates(import);
			code = refuse_known(import, pass);
		}
		for (size_t i = 0; code == 0 && pass != PASS_CHECK && i < import->n_entries; i++) {
			if (import->entries[i].reason[0] == '\0')
				seed_load_add(&import->load, &import->entries[i].loan);
		}
		if (code == 0)
			code = pass == PASS_CHECK ?
			    seed_from_db(seed, seed->db, remember(seed->db, import)) :
			    seed_load_done(&import->load, seed_load_write(&import->load),
				&duplicate);
		if (!duplicate || pass == PASS_LOAD_CHECKED)
			break;
	}
	if (duplicate)
		code = seed_fail(seed, LOCKQ_EDATABASE,
		    "another program is adding loans: try again");
	if (code == 0)
		code = write_rejects(import);
	if (code == 0)
		code = seed_tell(seed, pass == PASS_CHECK ? SEED_CHECK : SEED_LOAD,
		    csvfile_bytes_read(import->file), csvfile_size(import->file));
	import->n_entries = 0;
	import->raw.used = 0;
	return code;
}

static int
read_all(struct seed_import *import, enum pass pass)
{
	enum next next;
	int code;

	do {
		code = next_row(import, &next);
		if (code == 0 && next == NEXT_ROW)
			take_row(import);
		if (code == 0 && import->n_entries > 0 && (next == NEXT_END ||
		    import->n_entries == SEED_BATCH || import->raw.used > RAW_BYTES))
			code = finish_batch(import, pass);
	} while (code == 0 && next == NEXT_ROW);
	return code;
}

static int
make_seen(struct seed *seed)
{
	enum db_rc rc;

	rc = db_run(seed->db, &drop_seen, DB_NO_ARGS, NULL);
	if (rc == DB_OK)
		rc = db_run(seed->db, &create_seen, DB_NO_ARGS, NULL);
	return seed_from_db(seed, seed->db, rc);
}

static int
refuse_rows(const struct seed_import *import)
{
	const struct seed_report *report = import->seed->report;
	char reasons[SEED_REASONS * (SEED_REASON_BYTES + 32)] = "";
	size_t used = 0;

	for (size_t i = 0; i < report->n_reasons; i++)
		used += (size_t)snprintf(reasons + used, sizeof(reasons) - used, "%s%s (%" PRIu64
		    " row%s)", i > 0 ? ", " : "", report->reasons[i].text,
		    report->reasons[i].rows, cli_plural(report->reasons[i].rows));
	return seed_fail(import->seed, LOCKQ_EREFUSED, "%" PRIu64 " of %" PRIu64 " row%s %s bad, "
	    "nothing was loaded: see \"%s\": %s", report->rejected, import->rows,
	    cli_plural(import->rows), import->rows == 1 ? "is" : "are", report->rejects, reasons);
}

int
seed_import_check(struct seed_import *import)
{
	struct seed_report *report = import->seed->report;
	enum next next;
	int code;

	code = make_seen(import->seed);
	if (code == 0)
		code = read_all(import, PASS_CHECK);
	if (code != 0)
		return code;
	if (report->rejected > 0 && close_rejects(import) != 0)
		return LOCKQ_EUSAGE;
	if (report->rejected > 0)
		return refuse_rows(import);
	if (!csvfile_rewind(import->file) || next_header(import, &next) != 0 || next != NEXT_ROW)
		return fail_file(import, "changed while it was read: nothing was loaded");
	return 0;
}

/* With --strict the file is one transaction: a row that has become bad undoes all of it. */
static int
load_checked(struct seed_import *import)
{
	struct seed *seed = import->seed;
	int code;

	import->load.one_transaction = true;
	code = seed_from_db(seed, seed->db, db_begin(seed->db));
	if (code == 0)
		code = read_all(import, PASS_LOAD_CHECKED);
	if (code == 0 && seed->report->rejected > 0)
		code = fail_file(import, "changed while it was read: nothing was loaded");
	if (code == 0)
		code = seed_from_db(seed, seed->db, db_commit(seed->db));
	if (code == 0)
		return 0;
	if (!db_lost(seed->db))
		db_rollback(seed->db);
	seed->report->loans = 0;
	seed->report->documents = 0;
	return code;
}

int
seed_import_load(struct seed_import *import)
{
	struct seed *seed = import->seed;
	int code;

	code = seed_load_begin(&import->load, seed);
	if (code == 0 && seed->options->strict) {
		code = load_checked(import);
	} else if (code == 0) {
		import->load.also = remember;
		import->load.also_data = import;
		code = make_seen(seed);
		if (code == 0)
			code = read_all(import, PASS_LOAD);
	}
	if (code == 0)
		code = close_rejects(import);
	if (code == 0 && seed->report->rejected == import->rows)
		code = refuse_rows(import);
	return code;
}
