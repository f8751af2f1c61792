/* SPDX-License-Identifier: MIT */
/* Loans and their documents, from memory into the tables. */
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "cli/when.h"
#include "seedloans/tool.h"

/* Each value is a parameter. With all of them in one parameter of JSON the server would spend more
 * time on reading it than on inserting the rows. */
static const struct insert {
	const char *name;
	const char *into;
} insert_loans = {
	"insert_loans",
	"INSERT INTO loan (loan_id, applicant, amount, city, state, stage, submitted_at) VALUES "
}, insert_documents = {
	"insert_documents",
	"INSERT INTO loan_document"
	"       (document_id, loan_id, kind, status, submitted_at, checked_at, checksum) VALUES "
};

/* Many rows, so that the cost of a statement is small beside theirs; few enough for 65,535
 * parameters and for any max_allowed_packet. */
enum { COLUMNS = 7, ROWS_PER_INSERT = 256, AMOUNT_BYTES = 32 };
#define ROW "(?,?,?,?,?,?,?),"

static const struct db_query largest_document = {
	"largest_document", "SELECT MAX(document_id) FROM loan_document", DB_ONE
};

int
seed_load_begin(struct seed_load *load, struct seed *seed)
{
	enum db_rc rc;

	load->seed = seed;
	load->db = seed->db;
	load->loans = cli_alloc(SEED_BATCH * sizeof(*load->loans));
	load->documents = cli_alloc((size_t)SEED_BATCH * LOAN_DOCUMENTS * sizeof(*load->documents));
	rc = db_number(seed->db, &largest_document, DB_NO_ARGS, &load->next_document);
	load->next_document++;
	return seed_from_db(seed, seed->db, rc);
}

void
seed_load_end(struct seed_load *load)
{
	free(load->loans);
	free(load->documents);
}

void
seed_load_add(struct seed_load *load, const struct seed_loan *loan)
{
	struct seed_document documents[LOAN_DOCUMENTS];
	size_t i, n;

	load->loans[load->n_loans++] = *loan;
	n = loan_documents(loan, load->seed->options->seed, documents);
	for (i = 0; i < n; i++, load->n_documents++)
		load->documents[load->n_documents] = (struct load_document){
			load->next_document + load->n_documents, loan->loan_id, documents[i]
		};
}

static enum db_rc
insert_rows(struct db *db, const struct insert *insert, const struct db_arg *args, size_t n_rows)
{
	char sql[256 + ROWS_PER_INSERT * sizeof(ROW)];
	struct db_query query = { insert->name, sql, DB_NO_ROWS };
	size_t length = strlen(insert->into), i;

	memcpy(sql, insert->into, length);
	for (i = 0; i < n_rows; i++) {
		memcpy(sql + length, ROW, sizeof(ROW) - 1);
		length += sizeof(ROW) - 1;
	}
	sql[length - 1] = '\0';
	return db_run(db, &query, args, n_rows * COLUMNS, NULL);
}

/* Formats @cents as dollars, from the last digit on. */
static const char *
format_amount(char text[AMOUNT_BYTES], uint64_t cents)
{
	char *at = text + AMOUNT_BYTES - 1;
	unsigned int digits = 0;

	*at = '\0';
	do {
		if (digits++ == 2)
			*--at = '.';
		*--at = (char)('0' + cents % 10);
		cents /= 10;
	} while (cents != 0 || digits < 3);
	return at;
}

static enum db_rc
insert_some_loans(struct db *db, const struct seed_load *load, size_t first, size_t n)
{
	struct db_arg args[ROWS_PER_INSERT * COLUMNS];
	char amount[ROWS_PER_INSERT][AMOUNT_BYTES], submitted[ROWS_PER_INSERT][WHEN_BYTES];
	struct db_arg *arg = args;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct seed_loan *loan = &load->loans[first + i];

		when_format(submitted[i], loan->submitted);
		*arg++ = db_u64(loan->loan_id);
		*arg++ = db_text(loan->applicant);
		*arg++ = db_text(format_amount(amount[i], loan->cents));
		*arg++ = db_text(loan->city[0] != '\0' ? loan->city : NULL);
		*arg++ = db_text(loan->state[0] != '\0' ? loan->state : NULL);
		*arg++ = db_text(loan_stage(loan, load->seed->options->seed));
		*arg++ = db_text(submitted[i]);
	}
	return insert_rows(db, &insert_loans, args, n);
}

static enum db_rc
insert_some_documents(struct db *db, const struct seed_load *load, size_t first, size_t n)
{
	struct db_arg args[ROWS_PER_INSERT * COLUMNS];
	char submitted[ROWS_PER_INSERT][WHEN_BYTES], checked[ROWS_PER_INSERT][WHEN_BYTES];
	struct db_arg *arg = args;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct load_document *row = &load->documents[first + i];
		const struct seed_document *document = &row->document;

		when_format(submitted[i], document->submitted);
		when_format(checked[i], document->checked);
		*arg++ = db_u64(row->document_id);
		*arg++ = db_u64(row->loan_id);
		*arg++ = db_text(document->kind);
		*arg++ = db_text(document->status);
		*arg++ = db_text(submitted[i]);
		*arg++ = db_text(document->checked != 0 ? checked[i] : NULL);
		*arg++ = db_text(document->checksum);
	}
	return insert_rows(db, &insert_documents, args, n);
}

typedef enum db_rc insert_some_fn(struct db *db, const struct seed_load *load, size_t first,
    size_t n);

static enum db_rc
insert_all(struct db *db, const struct seed_load *load, insert_some_fn *insert_some, size_t n)
{
	size_t first, some = ROWS_PER_INSERT;
	enum db_rc rc = DB_OK;

	/* The rest by halves: these few statements stay prepared, while each other number of rows
	 * would need one of its own. */
	for (first = 0; rc == DB_OK && first < n; first += some) {
		while (some > n - first)
			some /= 2;
		rc = insert_some(db, load, first, some);
	}
	return rc;
}

static enum db_rc
insert_batch(struct db *db, void *data)
{
	struct seed_load *load = data;
	enum db_rc rc;

	rc = insert_all(db, load, insert_some_loans, load->n_loans);
	if (rc == DB_OK)
		rc = insert_all(db, load, insert_some_documents, load->n_documents);
	if (rc == DB_OK && load->also != NULL)
		rc = load->also(db, load->also_data);
	return rc;
}

enum db_rc
seed_load_write(struct seed_load *load)
{
	if (load->n_loans == 0)
		return DB_OK;
	return load->one_transaction ? insert_batch(load->db, load) :
	    retry_transaction(load->db, insert_batch, load, NULL);
}

int
seed_load_done(struct seed_load *load, enum db_rc rc, bool *duplicate)
{
	struct seed *seed = load->seed;

	if (rc == DB_OK) {
		seed->report->loans += load->n_loans;
		seed->report->documents += load->n_documents;
		load->next_document += load->n_documents;
	}
	load->n_loans = 0;
	load->n_documents = 0;
	*duplicate = rc == DB_EDUPLICATE;
	return *duplicate ? LOCKQ_OK : seed_from_db(seed, load->db, rc);
}
