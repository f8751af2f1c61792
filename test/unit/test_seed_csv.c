/* SPDX-License-Identifier: MIT */
/* Reading CSV row by row, and finding the columns by the header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "seedloans/csvfile.h"
#include "seedloans/map.h"
#include "seedloans/rejects.h"

/* Returns an open file with these bytes. The file's name is gone already. */
static struct csvfile *
open_bytes(const char *bytes, size_t n)
{
	char path[] = "/tmp/lockq-test-XXXXXX";
	struct csvfile *file = NULL;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_true(write(fd, bytes, n) == (ssize_t)n);
	close(fd);
	assert_int_equal(csvfile_open(&file, path), CSVFILE_ROW);
	unlink(path);
	return file;
}

/* Compares all rows with @expected. A row is "line:field|field;", with "!" before it if it has a
 * fault. */
static void
assert_rows(const char *bytes, size_t n, const char *expected)
{
	struct csvfile *file = open_bytes(bytes, n);
	struct csvfile_row row;
	char got[1024] = "";
	size_t i;

	while (csvfile_next(file, &row) == CSVFILE_ROW) {
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%d:",
		    row.fault != NULL ? "!" : "", (int)row.line);
		for (i = 0; i < row.n_fields; i++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s",
			    i > 0 ? "|" : "", row.fields[i]);
		snprintf(got + strlen(got), sizeof(got) - strlen(got), ";");
	}
	assert_string_equal(got, expected);
	csvfile_close(file);
}
#define ROWS(bytes, expected) assert_rows(bytes, sizeof(bytes) - 1, expected)

static void
test_rows(void **state)
{
	(void)state;
	ROWS("a,b\n1,2\n", "1:a|b;2:1|2;");
	ROWS("a,b\r\n1,2", "1:a|b;2:1|2;");
	ROWS("a,b\r1,2\r", "1:a|b;2:1|2;");
	ROWS("\xef\xbb\xbf" "a,b\n", "1:a|b;");
	ROWS("a\n\n \t\n\r\nb\n", "1:a;5:b;");
	ROWS("a,\"b,c\",\"d\"\"e\"\n", "1:a|b,c|d\"e;");
	ROWS("\"x\ny\r\nz\",2\n3,4\n", "1:x\ny\r\nz|2;4:3|4;");
	ROWS(",,\n", "1:||;");
	ROWS("", "");
	ROWS("\n\n", "");
	ROWS("\xef\xbb", "1:\xef\xbb;");
}

static void
test_quote_that_is_never_closed(void **state)
{
	(void)state;
	ROWS("a,b\n1,\"x\n2,y\n3,z\n", "1:a|b;!2:1,\"x;3:2|y;4:3|z;");
	ROWS("a,b\n1,\"x", "1:a|b;!2:1,\"x;");
	ROWS("\"a\r\n\"b\r\nc", "!1:\"a;!2:\"b;3:c;");
	ROWS("\"a\r\rb\n", "!1:\"a;3:b;");
}

static void
test_long_lines_and_rows(void **state)
{
	size_t size = 1 << 20, i;
	char *bytes = malloc(size);
	struct csvfile *file;
	struct csvfile_row row;

	(void)state;
	assert_non_null(bytes);
	/* A line without an end is followed by rows behind a quote that closes far too late. */
	memset(bytes, 'x', size);
	bytes[size / 2] = '\n';
	bytes[size / 2 + 1] = '"';
	for (i = size / 2 + 100; i < size; i += 100)
		bytes[i] = '\n';
	bytes[size - 1] = '\n';
	file = open_bytes(bytes, size);
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	assert_string_equal(row.fault, "the line is longer than 65,536 bytes");
	assert_int_equal(row.line, 1);
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	assert_string_equal(row.fault, "a quote is never closed");
	assert_int_equal(row.line, 2);
	for (i = 3; csvfile_next(file, &row) == CSVFILE_ROW; i++) {
		assert_null(row.fault);
		assert_int_equal(row.line, i);
	}
	assert_int_equal(csvfile_bytes_read(file), size);
	assert_true(i > 5000);
	csvfile_close(file);
	free(bytes);
}

static const char *
unreadable(const char *bytes, size_t n)
{
	struct csvfile *file = open_bytes(bytes, n);
	const char *what = csvfile_unreadable(file);

	csvfile_close(file);
	return what != NULL ? what : "";
}
#define UNREADABLE(bytes, expected) \
	assert_string_equal(unreadable(bytes, sizeof(bytes) - 1), expected)

static void
test_other_kinds_of_files(void **state)
{
	(void)state;
	UNREADABLE("PK\3\4\24\0\6\0", "is a workbook (.xlsx, .ods) or a ZIP archive: save the "
	    "sheet as CSV in UTF-8");
	UNREADABLE("\xd0\xcf\x11\xe0\xa1\xb1", "is a workbook (.xls): save the sheet as CSV in "
	    "UTF-8");
	UNREADABLE("\x1f\x8b\x08\n\0", "is compressed: unpack it with gunzip");
	UNREADABLE("\xff\xfe" "a\0\n\0", "is in UTF-16: save it in UTF-8");
	UNREADABLE("\xfe\xff" "\0a\0\n", "is in UTF-16: save it in UTF-8");
	UNREADABLE("l\0o\0a\0n\0,\0\x42\1\n\0", "is in UTF-16: save it in UTF-8");
	UNREADABLE("\0l\0o\0a\0n\0\n", "is in UTF-16: save it in UTF-8");
	UNREADABLE("loan_id,x\0\n", "");
	UNREADABLE("PK,amount\n", "");
	UNREADABLE("", "");
}

/* The sign between the fields may change after a row. A row that is given up keeps to it. */
static void
test_delimiter(void **state)
{
	static const char bytes[] = "a,b\n1;\"x;y\"\n\"2;\n3;,\n";
	struct csvfile *file = open_bytes(bytes, sizeof(bytes) - 1);
	struct csvfile_row row;

	(void)state;
	assert_null(csvfile_unreadable(file));
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	assert_int_equal(row.n_fields, 2);
	csvfile_set_delimiter(file, ';');
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	assert_int_equal(row.n_fields, 2);
	assert_string_equal(row.fields[1], "x;y");
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	assert_non_null(row.fault);
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	assert_int_equal(row.line, 4);
	assert_string_equal(row.fields[1], ",");
	csvfile_close(file);
}

static void
test_take_back(void **state)
{
	static const char bytes[] = "1,\"a\n2,b\n3,c\"\n4,d\n";
	struct csvfile *file = open_bytes(bytes, sizeof(bytes) - 1);
	struct csvfile_row row;

	(void)state;
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	assert_int_equal(row.n_lines, 3);
	assert_int_equal(csvfile_take_back(file, &row, "no"), CSVFILE_ROW);
	assert_string_equal(row.fields[0], "1,\"a");
	assert_string_equal(row.fault, "no");
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	assert_string_equal(row.fields[1], "b");
	assert_int_equal(row.line, 2);
	assert_true(csvfile_rewind(file));
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	assert_int_equal(row.line, 1);
	csvfile_close(file);
}

/* Finds the columns of a header line. Returns "" or the reason why that fails. */
static const char *
make_map(struct map *map, const char *spec, const char *header)
{
	static char error[512];
	struct csvfile *file = open_bytes(header, strlen(header));
	struct csvfile_row row;

	error[0] = '\0';
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	if (map_make(map, spec, &row, error, sizeof(error)) == 0)
		assert_string_equal(error, "");
	csvfile_close(file);
	return error;
}

static void
test_map(void **state)
{
	struct map map;

	(void)state;
	assert_string_equal(make_map(&map, NULL, "state,Amount,x,loan_id,APPLICANT,submitted_at"),
	    "");
	assert_int_equal(map.columns[FIELD_LOAN_ID], 3);
	assert_int_equal(map.columns[FIELD_APPLICANT], 4);
	assert_int_equal(map.columns[FIELD_STATE], 0);
	assert_true(map.columns[FIELD_CITY] == NO_COLUMN);
	assert_string_equal(make_map(&map, "loan_id=Nr,applicant=The Name",
	    "Nr,The Name,amount,submitted_at,loan_id"), "");
	assert_int_equal(map.columns[FIELD_LOAN_ID], 0);
	assert_int_equal(map.columns[FIELD_APPLICANT], 1);
	assert_string_equal(make_map(&map, "loan_id=\"Nr, new\",applicant=\"The \"\"Name\"\"\"",
	    "x,\"Nr, new\",\"The \"\"Name\"\"\",amount,submitted_at"), "");
	assert_int_equal(map.columns[FIELD_LOAN_ID], 1);
	assert_int_equal(map.columns[FIELD_APPLICANT], 2);
}

static void
test_map_errors(void **state)
{
	static const char header[] = "Nr,applicant,amount,submitted_at,Twice,Twice";
	struct map map;

	(void)state;
	assert_string_equal(make_map(&map, NULL, header), "no column is called \"loan_id\": name "
	    "one with --map loan_id=COLUMN, the columns are \"Nr\", \"applicant\", \"amount\", "
	    "\"submitted_at\", \"Twice\", \"Twice\"");
	assert_string_equal(make_map(&map, "loan_id=nr", header), "--map: no column is called "
	    "\"nr\": the columns are \"Nr\", \"applicant\", \"amount\", \"submitted_at\", "
	    "\"Twice\", \"Twice\"");
	assert_string_equal(make_map(&map, "loan=Nr", header), "--map: no field is called "
	    "\"loan\": the fields are loan_id, applicant, amount, submitted_at, city, state");
	assert_string_equal(make_map(&map, "loan_id=Nr,loan_id=amount", header),
	    "--map: field \"loan_id\" is mapped twice");
	assert_string_equal(make_map(&map, "loan_id=Twice", header),
	    "--map: 2 columns are called \"Twice\"");
	assert_string_equal(make_map(&map, "loan_id", header),
	    "--map: \"loan_id\" is not of the form field=Column");
	assert_string_equal(make_map(&map, "loan_id=", header),
	    "--map: \"loan_id=\" is not of the form field=Column");
	assert_string_equal(make_map(&map, "", header),
	    "--map: \"\" is not of the form field=Column");
	assert_string_equal(make_map(&map, "loan_id=Nr, new", header),
	    "--map: \" new\" is not of the form field=Column: put a name that has a comma in "
	    "double quotes: field=\"Column, one\"");
	assert_string_equal(make_map(&map, "loan_id=\"Nr", header),
	    "--map: \"loan_id=\"Nr\" is not of the form field=Column");
	assert_string_equal(make_map(&map, "loan_id=\"Nr\"x,applicant=y", header),
	    "--map: \"loan_id=\"Nr\"x\" is not of the form field=Column");
	assert_string_equal(make_map(&map, "loan_id=\"Nr\"\"", header),
	    "--map: \"loan_id=\"Nr\"\"\" is not of the form field=Column");
	assert_string_equal(make_map(&map, "loan_id=\"", header),
	    "--map: \"loan_id=\"\" is not of the form field=Column");
	assert_string_equal(make_map(&map, "loan_id=Nr,", header),
	    "--map: \"\" is not of the form field=Column");
	assert_string_equal(make_map(&map, "loan_id=Nr", "Nr,applicant,Applicant,amount"),
	    "2 columns are called \"applicant\", in upper or lower case: name one of them with "
	    "--map applicant=COLUMN");
}

/* A row in the rejects file can be read back, and has the same fields. */
static void
test_rejects_read_back(void **state)
{
	static const char bytes[] = "plain,\"a \"\"b\"\", c\",\"x\ny\",,\" z\"\n";
	struct csvfile *file = open_bytes(bytes, sizeof(bytes) - 1);
	struct rejects_text out = { 0 };
	struct csvfile_row row;

	(void)state;
	assert_int_equal(csvfile_next(file, &row), CSVFILE_ROW);
	rejects_format(&out, &row);
	assert_int_equal(out.used, sizeof(bytes) - 2);
	assert_memory_equal(out.data, bytes, out.used);
	rejects_text_clear(&out);
	csvfile_close(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_quote_that_is_never_closed),
		cmocka_unit_test(test_long_lines_and_rows),
		cmocka_unit_test(test_other_kinds_of_files),
		cmocka_unit_test(test_delimiter),
		cmocka_unit_test(test_take_back),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_errors),
		cmocka_unit_test(test_rejects_read_back)
	};

	return cmocka_run_group_tests_name("seed_csv", tests, NULL, NULL);
}
