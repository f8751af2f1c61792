/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "rooms.h"
#include "when.h"

/* ERROR ON ERROR, or what does not fit its column would become NULL without a word. */
static const struct db_query insert_loans = {
	"insert_loans",
	"INSERT INTO loan (loan_id, applicant, amount, city, state, stage, submitted_at)"
	" SELECT j.loan_id, j.applicant, j.amount, j.city, j.state, j.stage, j.submitted_at"
	"   FROM JSON_TABLE(?, '$[*]' COLUMNS ("
	"          loan_id BIGINT UNSIGNED PATH '$[0]' ERROR ON ERROR,"
	"          applicant VARCHAR(128) PATH '$[1]' ERROR ON ERROR,"
	"          amount DECIMAL(14,2) PATH '$[2]' ERROR ON ERROR,"
	"          city VARCHAR(64) PATH '$[3]' ERROR ON ERROR,"
	"          state VARCHAR(32) PATH '$[4]' ERROR ON ERROR,"
	"          stage VARCHAR(16) PATH '$[5]' ERROR ON ERROR,"
	"          submitted_at DATETIME PATH '$[6]' ERROR ON ERROR)) AS j",
	DB_NO_ROWS
};

static const struct db_query insert_documents = {
	"insert_documents",
	"INSERT INTO loan_document"
	"       (document_id, loan_id, kind, status, submitted_at, checked_at, checksum)"
	" SELECT j.document_id, j.loan_id, j.kind, j.status, j.submitted_at, j.checked_at,"
	"        j.checksum"
	"   FROM JSON_TABLE(?, '$[*]' COLUMNS ("
	"          document_id BIGINT UNSIGNED PATH '$[0]' ERROR ON ERROR,"
	"          loan_id BIGINT UNSIGNED PATH '$[1]' ERROR ON ERROR,"
	"          kind VARCHAR(16) PATH '$[2]' ERROR ON ERROR,"
	"          status VARCHAR(16) PATH '$[3]' ERROR ON ERROR,"
	"          submitted_at DATETIME PATH '$[4]' ERROR ON ERROR,"
	"          checked_at DATETIME PATH '$[5]' ERROR ON ERROR,"
	"          checksum CHAR(64) PATH '$[6]' ERROR ON ERROR)) AS j",
	DB_NO_ROWS
};

static const struct db_query largest_document = {
	"largest_document", "SELECT MAX(document_id) FROM loan_document", DB_ONE
};
static const struct db_query largest_loan = {
	"largest_loan", "SELECT MAX(loan_id) FROM loan", DB_ONE
};

int
seed_load_begin(struct seed_load *load, struct seed *seed)
{
	struct db_rows rows = { 0 };
	int rc;

	*load = (struct seed_load){ .seed = seed };
	rc = db_run(seed->db, &largest_document, DB_NO_ARGS, &rows);
	if (rc == 0)
		load->next_document = db_cell_u64(&rows, 0, 0) + 1;
	db_rows_clear(&rows);
	return seed_from_db(seed, seed->db, rc);
}

void
seed_load_end(struct seed_load *load)
{
	seed_json_clear(&load->loans);
	seed_json_clear(&load->documents);
}

static void
add_when(struct seed_json *json, int64_t when)
{
	char text[WHEN_BYTES];

	when_format(text, when);
	seed_json_text(json, text);
}

static void
add_document(struct seed_load *load, uint64_t loan_id, const struct seed_document *document)
{
	struct seed_json *json = &load->documents;

	seed_json_row(json);
	seed_json_u64(json, load->next_document + load->n_documents++);
	seed_json_raw(json, ",", 1);
	seed_json_u64(json, loan_id);
	seed_json_raw(json, ",", 1);
	seed_json_text(json, document->kind);
	seed_json_raw(json, ",", 1);
	seed_json_text(json, document->status);
	seed_json_raw(json, ",", 1);
	add_when(json, document->submitted);
	seed_json_raw(json, ",", 1);
	if (document->checked == 0)
		seed_json_text(json, NULL);
	else
		add_when(json, document->checked);
	seed_json_raw(json, ",", 1);
	seed_json_text(json, document->checksum);
	seed_json_row_end(json);
}

void
seed_load_add(struct seed_load *load, const struct seed_loan *loan)
{
	uint64_t seed = load->seed->options->seed;
	struct seed_document documents[LOAN_DOCUMENTS];
	struct seed_json *json = &load->loans;
	char amount[32];
	size_t i, n;

	/* In quotes, because a bare number of JSON with a fraction is a binary one. */
	snprintf(amount, sizeof(amount), "%llu.%02u", (unsigned long long)(loan->cents / 100),
	    (unsigned int)(loan->cents % 100));
	seed_json_row(json);
	seed_json_u64(json, loan->loan_id);
	seed_json_raw(json, ",", 1);
	seed_json_text(json, loan->applicant);
	seed_json_raw(json, ",", 1);
	seed_json_text(json, amount);
	seed_json_raw(json, ",", 1);
	seed_json_text(json, loan->city[0] != '\0' ? loan->city : NULL);
	seed_json_raw(json, ",", 1);
	seed_json_text(json, loan->state[0] != '\0' ? loan->state : NULL);
	seed_json_raw(json, ",", 1);
	seed_json_text(json, loan_stage(loan, seed));
	seed_json_raw(json, ",", 1);
	add_when(json, loan->submitted);
	seed_json_row_end(json);
	load->n_loans++;

	n = loan_documents(loan, seed, documents);
	for (i = 0; i < n; i++)
		add_document(load, loan->loan_id, &documents[i]);
}

static int
insert_batch(struct db *db, void *data)
{
	struct seed_load *load = data;
	int rc;

	rc = db_run(db, &insert_loans, DB_ARGS(db_text(load->loans.data)), NULL);
	if (rc == 0 && load->n_documents > 0)
		rc = db_run(db, &insert_documents, DB_ARGS(db_text(load->documents.data)), NULL);
	if (rc == 0 && load->also != NULL)
		rc = load->also(db, load->also_data);
	return rc;
}

int
seed_load_flush(struct seed_load *load)
{
	struct seed *seed = load->seed;
	int rc = 0;

	if (load->n_loans > 0) {
		if (seed_json_done(&load->loans) == NULL ||
		    seed_json_done(&load->documents) == NULL)
			return seed_fail(seed, LOCKQ_ENOMEM, "out of memory");
		rc = load->one_transaction ? insert_batch(seed->db, load) :
		    db_transaction(seed->db, insert_batch, load, NULL);
	}
	if (rc == 0) {
		seed->report->loans += load->n_loans;
		seed->report->documents += load->n_documents;
		load->next_document += load->n_documents;
	}
	seed_json_restart(&load->loans);
	seed_json_restart(&load->documents);
	load->n_loans = 0;
	load->n_documents = 0;
	return rc == DB_EDUPLICATE ? SEED_DUPLICATE : seed_from_db(seed, seed->db, rc);
}

static int
first_free_loan(struct seed *seed, uint64_t *loan_id)
{
	struct db_rows rows = { 0 };
	int rc;

	rc = db_run(seed->db, &largest_loan, DB_NO_ARGS, &rows);
	if (rc == 0)
		*loan_id = db_cell_u64(&rows, 0, 0) + 1;
	db_rows_clear(&rows);
	if (rc != 0)
		return seed_from_db(seed, seed->db, rc);
	if (*loan_id == 0 || *loan_id > UINT64_MAX - seed->options->loans)
		return seed_fail(seed, LOCKQ_EUSAGE,
		    "no room for more loans after the largest loan_id there is, --reset empties"
		    " the tables");
	return 0;
}

int
seed_load_made_up(struct seed *seed)
{
	uint64_t total = seed->options->loans, i, first = 0;
	struct seed_load load;
	struct seed_loan loan;
	int rc;

	rc = seed_load_begin(&load, seed);
	if (rc == 0)
		rc = first_free_loan(seed, &first);
	for (i = 0; rc == 0 && i < total; i++) {
		loan_make(&loan, seed->options->seed, first + i);
		seed_load_add(&load, &loan);
		if (load.n_loans < SEED_BATCH && i + 1 < total)
			continue;
		rc = seed_load_flush(&load);
		if (rc == SEED_DUPLICATE)
			rc = seed_fail(seed, LOCKQ_EDATABASE,
			    "somebody else is adding loans, run it again");
		if (rc == 0)
			rc = seed_tell(seed, SEED_LOAD, i + 1, total);
	}
	seed_load_end(&load);
	return rc;
}
