/* SPDX-License-Identifier: MIT */
/* Fuzzes what goes to terminals and shells: whatever the text is, its escaped form is clean UTF-8
 * and stands on one line, a cut text fits, a table has a line for each row, and a word that is made
 * for a shell is one word again. */
#include "fuzz.h"

#include "cli/table.h"
#include "cli/text.h"
#include "cli/utf8.h"
#include "db/db_text.h"

/* What cli_escape() promises, written byte by byte. */
static char *
model_escape(const char *text)
{
	char *escaped = NULL;
	size_t size, n;
	FILE *out = open_memstream(&escaped, &size);
	uint32_t c;

	MUST(out != NULL);
	for (; *text != '\0'; text += n) {
		n = model_utf8(text, &c);
		if (n == 0) {
			n = 1;
			fprintf(out, "\\x%02x", (unsigned int)(uint8_t)*text);
		} else if (c == '\n' || c == '\t' || c == '\r') {
			fprintf(out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
		} else if (model_is_harmful(c)) {
			fprintf(out, c < 0x80 ? "\\x%02x" : "\\u%04x", c);
		} else {
			fwrite(text, 1, n, out);
		}
	}
	MUST(fclose(out) == 0);
	return escaped;
}

static void
check_escape(const char *text)
{
	char *escaped = cli_escape(text), *again = cli_escape(escaped);
	char *expected = model_escape(text), *valid = cli_valid_utf8(text);
	char *valid_again = cli_valid_utf8(valid);

	MUST(model_is_clean(escaped));
	MUST(strcmp(escaped, expected) == 0);
	MUST(strcmp(again, escaped) == 0);
	MUST(model_is_utf8(valid));
	MUST(strcmp(valid, valid_again) == 0);
	MUST(!model_is_utf8(text) || strcmp(valid, text) == 0);
	MUST((cli_utf8_length(text, strlen(text)) >= 0) == model_is_utf8(text));
	free(escaped);
	free(again);
	free(expected);
	free(valid);
	free(valid_again);
}

/* The library's own form, in a buffer that may be too small. */
static void
check_one_line(const char *text, size_t size)
{
	char *line = malloc(size), *whole = cli_text("%.*s", (int)size - 1, text);
	size_t n = 0;

	MUST(line != NULL);
	snprintf(line, size, "%s", text);
	text_make_one_line(line, size);
	for (const char *c = line; *c != '\0'; c++)
		MUST((uint8_t)*c >= ' ' && *c != 0x7f);
	/* It begins as the text does, up to the first control character. */
	while ((uint8_t)whole[n] >= ' ' && whole[n] != 0x7f)
		n++;
	MUST(strncmp(line, whole, n) == 0);
	MUST(whole[n] != '\0' || strcmp(line, whole) == 0);
	MUST(whole[n] == '\0' || line[n] == '\\' || strlen(line) == n);
	free(line);
	free(whole);
}

static void
check_cut(const char *text, size_t width)
{
	char *cut = cli_cut(text, width), *shortened = cli_shorten(text, width, "...");
	char *longer = cli_cut(text, width + 2); /* no character is wider than two columns */
	size_t n = strlen(cut);

	MUST(strncmp(text, cut, n) == 0);
	MUST(cli_width(cut) <= width);
	MUST(text[n] == '\0' || strlen(longer) > n);
	MUST(!model_is_utf8(text) || model_is_utf8(cut));
	MUST(cli_width(cut) + cli_width(text + n) == cli_width(text));
	MUST(cli_width(shortened) <= width);
	if (cli_width(text) <= width)
		MUST(strcmp(shortened, text) == 0);
	else if (width > 3)
		MUST(strcmp(shortened + strlen(shortened) - 3, "...") == 0);
	free(cut);
	free(longer);
	free(shortened);
}

/* The columns of text whose width everybody knows: ASCII, and a Chinese character has two. */
static void
check_width(const char *text)
{
	char *word = fuzz_string((const uint8_t *)text, strlen(text)), *wide;

	for (char *c = word; *c != '\0'; c++) {
		if ((uint8_t)*c < ' ' || (uint8_t)*c > '~')
			*c = 'x';
	}
	MUST(cli_width(word) == strlen(word));
	wide = cli_text("\xe4\xb8\xad%s\xe4\xb8\xad", word);
	MUST(cli_width(wide) == strlen(word) + 4);
	free(word);
	free(wide);
}

/* Reads a word as a shell does that knows single quotes and backslashes. Returns NULL where it
 * ends before the text does, or has a character that a shell may take for something else. */
static char *
model_shell(const char *word)
{
	char *text = malloc(strlen(word) + 1), *to = text;

	MUST(text != NULL);
	while (*word != '\0') {
		if (*word == '\'') {
			const char *end = strchr(word + 1, '\'');

			MUST(end != NULL);
			memcpy(to, word + 1, (size_t)(end - word) - 1);
			to += end - word - 1;
			word = end + 1;
		} else if (*word == '\\') {
			MUST(word[1] != '\0' && word[1] != '\n');
			*to++ = word[1];
			word += 2;
		} else {
			MUST((uint8_t)*word < 0x80 &&
			    strchr(" \t\r\n\"$`&|;<>()*?[]{}~#!^=\v\f", *word) == NULL);
			*to++ = *word++;
		}
	}
	*to = '\0';
	return text;
}

static void
check_word(const char *text)
{
	char *word = cli_word(text), *read = model_shell(word);

	MUST(word[0] != '\0');
	MUST(strcmp(read, text) == 0);
	free(word);
	free(read);
}

static void
check_table(const char *text, size_t width)
{
	/* Three rules, the headings, and two rows. */
	enum { LINES = 6 };
	static const struct cli_column columns[] = {
		{ "loan", CLI_RIGHT }, { "note", CLI_TEXT }, { "who", CLI_TEXT | CLI_SPARE(1) }
	};
	struct cli_table *table = cli_table_new(columns, 3);
	char *printed = NULL, *rest;
	size_t size, lines = 0, columns_of_it = 0;
	FILE *out = open_memstream(&printed, &size);

	MUST(out != NULL);
	for (size_t row = 0; row < 2; row++) {
		cli_table_cell(table, "%zu", row);
		cli_table_cell(table, "%s", text);
		cli_table_cell(table, "%s", text);
	}
	cli_table_fit(out, table, CLI_PLAIN, width);
	MUST(fclose(out) == 0);
	MUST(strlen(printed) == size);
	for (char *line = printed; *line != '\0'; line = rest + 1) {
		rest = strchr(line, '\n');
		MUST(rest != NULL);
		*rest = '\0';
		MUST(model_is_clean(line));
		if (lines == 0)
			columns_of_it = strlen(line);
		MUST(lines == LINES || cli_width(line) == columns_of_it);
		lines++;
	}
	/* One line more names the columns that were left out. */
	MUST(lines == LINES || (lines == LINES + 1 && width != 0));
	/* Of those that stay, the numbers are never cut, and the text keeps twelve columns. */
	MUST(width == 0 || columns_of_it <= (width > 23 ? width : 23));
	free(printed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t width = fuzz_byte(&data, &size);
	char *text = fuzz_string(data, size);

	check_escape(text);
	check_one_line(text, width + 1);
	check_cut(text, width);
	check_width(text);
	check_word(text);
	check_table(text, width);
	free(text);
	return 0;
}
