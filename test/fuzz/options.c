/* SPDX-License-Identifier: MIT */
/* Fuzzes the command lines of all programs, with their own tables: main() of each is called, and
 * stops in cli_start(), in whose place __wrap_cli_start() stands. Any arguments are taken, or
 * refused with a reason; the forms "--name VALUE", "--name=VALUE" and "-nVALUE" mean the same; and
 * a number that was taken is within its option's bounds. */
#include "fuzz.h"

#include <fcntl.h>
#include <setjmp.h>
#include <unistd.h>

#include "cli/program.h"
#include "cli/values.h"

/* The programs keep what they have parsed until they end, and here they don't end. */
int __lsan_is_turned_off(void);
int
__lsan_is_turned_off(void)
{
	return 1;
}

typedef int main_fn(int argc, char **argv);
main_fn getwork_main, checkwork_main, disposition_main, refill_main, managetask_main,
    lockqstat_main, seedloans_main, runwork_main;
static main_fn *const programs[] = { getwork_main, checkwork_main, disposition_main, refill_main,
	managetask_main, lockqstat_main, seedloans_main, runwork_main };
enum { N_PROGRAMS = sizeof(programs) / sizeof(programs[0]), MOST = 24, VALUE_BYTES = 256 };

/* What came of the last command line. */
static jmp_buf out_of_main;
static const struct cli_tool *tool;
static int parsed, checked;
static struct cli_error error;
static const struct cli_option *wanted; /* whose value is read, or NULL */
static char value[VALUE_BYTES];

/* Prints the value of an option whose kind is known, and checks its bounds. */
static void
read_value(const struct cli_option *row, const void *target)
{
	uint64_t number = 0;
	bool bounded = true;

	value[0] = '\0';
	if (row->parse == cli_parse_u32 || row->parse == cli_parse_duration) {
		number = *(const uint32_t *)target;
	} else if (row->parse == cli_parse_u64) {
		number = *(const uint64_t *)target;
	} else if (row->parse == cli_parse_seconds) {
		number = *(const uint64_t *)target / 1000;
	} else {
		bounded = false;
	}
	if (bounded) {
		MUST(number >= row->min && number <= row->max);
		snprintf(value, sizeof(value), "%llu", (unsigned long long)number);
	} else if (row->parse == cli_parse_text || row->parse == cli_parse_utf8 ||
	    row->parse == cli_parse_uuid || row->parse == cli_parse_request) {
		snprintf(value, sizeof(value), "%s", *(const char *const *)target);
	}
}

/* What stands behind the name of a command is no option. */
static bool
has_command(const void *options)
{
	const void *arguments = (const char *)options + tool->arguments;

	return tool->arguments != 0 && **(char *const *const *)arguments != NULL;
}

void __wrap_cli_start(const struct cli_tool *its_tool, void *options, int argc, char **argv);
void
__wrap_cli_start(const struct cli_tool *its_tool, void *options, int argc, char **argv)
{
	static struct cli_tool copy; /* one may be of main()'s stack */

	copy = *its_tool;
	tool = &copy;
	error.text[0] = '\0';
	checked = 0;
	parsed = cli_parse(tool, options, argc, argv, &error);
	MUST(parsed >= CLI_PARSED_ERROR && parsed <= CLI_PARSED_VERSION);
	MUST(parsed == CLI_PARSED_ERROR || error.text[0] == '\0');
	if (parsed == CLI_PARSED_RUN && wanted != NULL && !has_command(options))
		read_value(wanted, (const char *)options + wanted->offset);
	if (parsed == CLI_PARSED_RUN && tool->check != NULL)
		checked = tool->check(options, &error);
	MUST(checked == 0 || checked == -1);
	MUST((parsed == CLI_PARSED_ERROR || checked != 0) == (error.text[0] != '\0'));
	MUST(memchr(error.text, '\0', sizeof(error.text)) != NULL);
	longjmp(out_of_main, 1);
}

/* getopt_long() changes the order of the arguments, so each call gets a list of its own. */
static void
call(main_fn *program, size_t n, char *const words[])
{
	char *argv[MOST + 4];

	MUST(n < MOST + 3);
	memcpy(argv, words, n * sizeof(argv[0]));
	argv[n] = NULL;
	if (setjmp(out_of_main) == 0)
		program((int)n, argv);
}

/* The three forms of one option. */
static void
check_forms(main_fn *program, size_t n, char *words[], const struct cli_option *row,
    const char *text)
{
	char name[64], first[VALUE_BYTES], letter[] = { '-', row->letter, '\0' };
	char *equals = cli_text("--%s=%s", row->name, text);
	char *joined = cli_text("-%c%s", row->letter, text);
	char *const forms[][2] = { { name, (char *)(uintptr_t)text }, { equals, NULL },
		{ letter, (char *)(uintptr_t)text }, { joined, NULL } };
	struct cli_error first_error;
	int first_parsed = 0, first_checked = 0;
	size_t n_forms = row->letter == 0 ? 2 : text[0] == '\0' ? 3 : 4;

	snprintf(name, sizeof(name), "--%s", row->name);
	wanted = row;
	for (size_t i = 0; i < n_forms; i++) {
		words[n] = forms[i][0];
		words[n + 1] = forms[i][1];
		value[0] = '\0';
		call(program, n + (forms[i][1] != NULL ? 2 : 1), words);
		if (i == 0) {
			first_parsed = parsed;
			first_checked = checked;
			first_error = error;
			memcpy(first, value, sizeof(first));
		}
		MUST(parsed == first_parsed && checked == first_checked);
		MUST(strcmp(error.text, first_error.text) == 0);
		MUST(strcmp(value, first) == 0);
	}
	wanted = NULL;
	free(equals);
	free(joined);
}

/* The row number @number of those that have a name. */
static const struct cli_option *
row_of(const struct cli_option *rows, size_t number)
{
	const struct cli_option *row;
	size_t n = 0, i = 0;

	for (row = rows; row->name != NULL || row->help != NULL; row++)
		n += row->name != NULL;
	if (n == 0)
		return NULL;
	for (row = rows;; row++) {
		if (row->name != NULL && i++ == number % n)
			return row;
	}
}

static void
set_up(void)
{
	static bool done;
	int null;

	if (done)
		return;
	done = true;
	/* --loan - reads standard input. */
	null = open("/dev/null", O_RDONLY);
	MUST(null >= 0 && dup2(null, STDIN_FILENO) == STDIN_FILENO);
	unsetenv("LOCKQ_USER");
	unsetenv("LOCKQ_TASK");
}

/* The first byte names the program, the second an option of it. Then come lines: the words of the
 * command, and the arguments. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	main_fn *program = programs[fuzz_byte(&data, &size) % N_PROGRAMS];
	uint8_t option = fuzz_byte(&data, &size);
	char name[] = "program", *command = fuzz_take(&data, &size, '\n');
	char *words[MOST + 3] = { name }, *space = strchr(command, ' ');
	size_t n = 1, given, command_words;
	const struct cli_option *row;

	set_up();
	/* An option before the others might take the next one as its value. */
	if (command[0] != '\0' && command[0] != '-')
		words[n++] = command;
	if (n > 1 && space != NULL && space[1] != '-') {
		*space = '\0';
		words[n++] = space + 1;
	}
	for (given = n; given < MOST && size > 0; given++)
		words[given] = fuzz_take(&data, &size, '\n');
	wanted = NULL;
	call(program, given, words);
	/* Where an argument completes the command, another one in its place makes it unknown. */
	command_words = tool->command == NULL ? 0 : strchr(tool->command, ' ') == NULL ? 1 : 2;
	row = n > command_words ? row_of(tool->options, option) : NULL;
	if (row != NULL && row->argument != NULL && row->argument[0] != '[' && given > n) {
		char *text = words[n];

		check_forms(program, n, words, row, text);
		words[n] = text;
		/* check_forms() has written over the second one. */
		for (size_t i = n + 2; i < given; i++)
			free(words[i]);
		free(text);
	} else {
		for (size_t i = n; i < given; i++)
			free(words[i]);
	}
	free(command);
	return 0;
}
