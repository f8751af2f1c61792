/* SPDX-License-Identifier: MIT */
/* Fuzzes the CSV files of seedloans. Any bytes are read as rows whose lines cover the file, and
 * the same ones a second time; fields that were written as CSV come back as they were; what a field
 * may hold is compared with models. */
#include "files.h"

#include "seedloans/csvfile.h"
#include "seedloans/field.h"
#include "cli/when.h"

enum { LONG_RUN = 33000, MOST_RUNS = 3 };

/* In one of eight inputs a byte 1 stands for many of the same letter, since libFuzzer's inputs are
 * short, and a row's bound is not. */
static char *
expand(const uint8_t *data, size_t size, size_t most_runs, size_t *n)
{
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, n);
	size_t runs = 0;

	MUST(out != NULL);
	for (size_t i = 0; i < size; i++) {
		if (data[i] != 1 || runs == most_runs) {
			fputc(data[i], out);
			continue;
		}
		runs++;
		for (size_t j = 0; j < LONG_RUN; j++)
			fputc('x', out);
	}
	MUST(fclose(out) == 0);
	return bytes;
}

/* Line ends are \n, \r\n and \r; the last line may have none. */
static uint64_t
model_lines(const char *bytes, size_t n)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += bytes[i] == '\n' || (bytes[i] == '\r' && (i + 1 == n ||
		    bytes[i + 1] != '\n'));
	return lines + (n > 0 && bytes[n - 1] != '\n' && bytes[n - 1] != '\r');
}

/* The line of that number, from 1, without its end. */
static const char *
model_line(const char *bytes, size_t n, uint64_t number, size_t *length)
{
	const char *end = bytes + n, *line = bytes;

	for (;; number--) {
		const char *at = line;

		while (at < end && *at != '\n' && *at != '\r')
			at++;
		*length = (size_t)(at - line);
		if (number <= 1 || at == end)
			return line;
		line = at + (at + 1 < end && at[0] == '\r' && at[1] == '\n' ? 2 : 1);
	}
}

/* A row is what stands on its lines: a bad one is its first line, and of a good one that does not
 * begin with a blank, a comma or a quote the first field begins as the line does. */
static void
check_row(const struct csvfile_row *row, const char *bytes, size_t n)
{
	size_t length;
	const char *line = model_line(bytes, n, row->line, &length);

	if (row->fault != NULL) {
		MUST(row->n_fields == 1 && row->n_lines == 1);
		MUST(row->lengths[0] == (length < CSV_ROW_BYTES ? length : CSV_ROW_BYTES));
		MUST(memcmp(row->fields[0], line, row->lengths[0]) == 0);
	} else if (length > 0 && strchr(" \t,\"", line[0]) == NULL) {
		MUST(row->fields[0][0] == line[0]);
	}
}

/* Reads the whole file, which has @n bytes after its mark. Returns a sum over all that was read. */
static uint64_t
read_all(struct csvfile *file, const char *bytes, size_t n, uint8_t take_back)
{
	uint64_t lines = model_lines(bytes, n);
	uint64_t sum = 0, last = 0, rows = 0;
	struct csvfile_row row;
	enum csvfile_rc rc;

	while ((rc = csvfile_next(file, &row)) == CSVFILE_ROW) {
		rows++;
		MUST(row.line > last && row.n_lines >= 1);
		check_row(&row, bytes, n);
		if (take_back > 0 && row.n_lines > 1 && rows % take_back == 0) {
			uint64_t line = row.line;

			MUST(csvfile_take_back(file, &row, "taken back") == CSVFILE_ROW);
			MUST(row.line == line && strcmp(row.fault, "taken back") == 0);
			check_row(&row, bytes, n);
		}
		last = row.line + row.n_lines - 1;
		MUST(last <= lines);
		MUST(row.n_fields > 0);
		for (size_t i = 0; i < row.n_fields; i++) {
			MUST(row.fields[i][row.lengths[i]] == '\0');
			for (size_t j = 0; j <= row.lengths[i]; j++)
				sum = sum * 31 + (uint8_t)row.fields[i][j];
		}
		sum = sum * 31 + row.line;
		MUST(rows <= lines);
	}
	MUST(rc == CSVFILE_END);
	return sum;
}

static void
check_any(const char *bytes, size_t n, uint8_t take_back)
{
	size_t mark = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	struct csvfile *file = NULL;
	uint64_t sum;

	MUST(csvfile_open(&file, fuzz_file("rows.csv", bytes, n)) == CSVFILE_ROW);
	sum = read_all(file, bytes + mark, n - mark, take_back);
	MUST(csvfile_bytes_read(file) == n);
	MUST(csvfile_rewind(file));
	MUST(read_all(file, bytes + mark, n - mark, take_back) == sum);
	csvfile_close(file);
}

/* Writes the bytes between NULs as the quoted fields of one row. */
static void
check_written(const uint8_t *data, size_t size)
{
	enum { MOST = 8 };
	char *fields[MOST], *bytes = NULL;
	size_t n = 0, length;
	struct csvfile *file = NULL;
	struct csvfile_row row;
	FILE *out = open_memstream(&bytes, &length);

	MUST(out != NULL);
	while (n < MOST && size > 0) {
		fields[n] = fuzz_take(&data, &size, '\0');
		fputs(n > 0 ? ",\"" : "\"", out);
		for (const char *c = fields[n]; *c != '\0'; c++)
			fprintf(out, *c == '"' ? "\"\"" : "%c", *c);
		fputc('"', out);
		n++;
	}
	fputs("\n\"the end\"\n", out);
	MUST(fclose(out) == 0);
	MUST(csvfile_open(&file, fuzz_file("rows.csv", bytes, length)) == CSVFILE_ROW);
	if (n > 0) {
		MUST(csvfile_next(file, &row) == CSVFILE_ROW);
		MUST(row.fault == NULL && row.line == 1 && row.n_fields == n);
		for (size_t i = 0; i < n; i++) {
			MUST(row.lengths[i] == strlen(fields[i]));
			MUST(strcmp(row.fields[i], fields[i]) == 0);
			free(fields[i]);
		}
	}
	MUST(csvfile_next(file, &row) == CSVFILE_ROW);
	MUST(row.n_fields == 1 && strcmp(row.fields[0], "the end") == 0);
	MUST(csvfile_next(file, &row) == CSVFILE_END);
	csvfile_close(file);
	free(bytes);
}

/* An amount is the number that is left of it without blanks, "$" and commas, in cents. */
static void
check_amount(const char *text)
{
	uint64_t cents = 0;
	const char *fault = field_read_amount(&cents, text);
	char *plain, *end;
	long double off;
	size_t n = 0;

	if (fault != NULL)
		return;
	plain = malloc(strlen(text) + 1);
	MUST(plain != NULL);
	for (const char *c = text; *c != '\0'; c++) {
		MUST(strchr("$ ,0123456789.Ee+-", *c) != NULL);
		if (strchr("$ ,", *c) == NULL)
			plain[n++] = *c;
	}
	plain[n] = '\0';
	off = strtold(plain, &end) * 100 - (long double)cents;
	MUST(*end == '\0' && off > -0.001L && off < 0.001L);
	free(plain);
}

static void
check_id(const char *text)
{
	uint64_t id = 0;
	char printed[32];

	if (field_read_id(&id, text) != NULL)
		return;
	snprintf(printed, sizeof(printed), "%llu", (unsigned long long)id);
	MUST(strcmp(printed, text + strspn(text, "0")) == 0);
}

/* Returns the year; the text is static. */
static const char *
printed_year(const char *printed)
{
	static char year[5];

	memcpy(year, printed, sizeof(year) - 1);
	return year;
}

/* A date that was read is the same when it is printed and read again. */
static void
check_when(const char *text)
{
	char printed[WHEN_BYTES], again[WHEN_BYTES];
	int64_t when = 0, same = 1;

	if (!when_parse(&when, text))
		return;
	when_format(printed, when);
	MUST(when_parse(&same, printed) && same == when);
	when_format(again, same);
	MUST(strcmp(printed, again) == 0);
	MUST(strcmp(printed, "1900-01-01 00:00:00") >= 0);
	MUST(strcmp(printed, "2100-12-31 23:59:59") <= 0);
	/* The year stands in the text as it was given, behind a month's name perhaps two digits. */
	MUST(strstr(text, printed_year(printed)) != NULL ||
	    (text[strcspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] != '\0' &&
	    strstr(text, printed_year(printed) + 2) != NULL));
}

static size_t
characters(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((uint8_t)*text & 0xc0) != 0x80;
	return n;
}

static void
check_field(enum field field, const uint8_t *data, size_t size)
{
	struct seed_loan loan = { .loan_id = 0 };
	char *text = malloc(size + 1);
	const char *fault;

	MUST(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	fault = field_read(&loan, field, text, size);
	MUST(fault == NULL || fault[0] != '\0');
	if (fault == NULL) {
		MUST(strlen(text) == size && model_is_utf8(text));
		MUST(characters(loan.applicant) <= LOAN_APPLICANT);
		MUST(characters(loan.city) <= LOAN_CITY);
		MUST(characters(loan.state) <= LOAN_STATE);
		MUST(strstr(text, loan.applicant) != NULL);
		MUST(strstr(text, loan.city) != NULL && strstr(text, loan.state) != NULL);
	}
	check_amount(text);
	check_id(text);
	check_when(text);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t choice = fuzz_byte(&data, &size);
	size_t n;
	char *bytes;

	check_field(choice % N_FIELDS, data, size);
	if (choice < 128) {
		bytes = expand(data, size, choice % 8 == 0 ? MOST_RUNS : 0, &n);
		check_any(bytes, n, choice / 16);
		free(bytes);
	} else {
		check_written(data, size);
	}
	return 0;
}
