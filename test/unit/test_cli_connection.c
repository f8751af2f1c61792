/* SPDX-License-Identifier: MIT */
/* LOCKQ_DEFAULTS_FILE and login paths. The tests put a my_print_defaults of their own into PATH. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"
#include "folder.h"


/* Writes a my_print_defaults that writes its arguments to the file "arguments" and prints these
 * lines. */
static void
write_reader(const char *lines)
{
	FILE *file = fopen(path_of("my_print_defaults"), "w");

	assert_non_null(file);
	assert_true(fprintf(file, "#!/bin/sh\nprintf '%%s\\n' \"$*\" >%s/arguments\ncat <<'EOF'\n"
	    "%sEOF\n", folder_path(), lines) > 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path_of("my_print_defaults"), 0755), 0);
}

static char *
reader_arguments(void)
{
	static char line[512];
	FILE *file = fopen(path_of("arguments"), "r");

	line[0] = '\0';
	if (file == NULL)
		return line;
	if (fgets(line, sizeof(line), file) != NULL)
		line[strcspn(line, "\n")] = '\0';
	fclose(file);
	return line;
}

static int
set_up(void **state)
{
	(void)state;
	unsetenv("LOCKQ_DEFAULTS_FILE");
	if (folder_make() != 0)
		return -1;
	return setenv("HOME", folder_path(), 1);
}

static int
clean_up(void **state)
{
	(void)state;
	unlink(path_of("my_print_defaults"));
	unlink(path_of("arguments"));
	return rmdir(folder_path());
}

static void
use_path(bool with_system)
{
	char *path = cli_text("%s%s", folder_path(), with_system ? ":/usr/bin:/bin" : "");

	setenv("PATH", path, 1);
	free(path);
}

static void
takes_the_option_file(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;

	(void)state;
	setenv("LOCKQ_DEFAULTS_FILE", "/a.cnf", 1);
	common.group_suffix = "_test";
	assert_int_equal(cli_connection(&common, "lockq_seed", &error), 0);
	assert_string_equal(common.connection.defaults_file, "/a.cnf");
	assert_string_equal(common.connection.defaults_group, "lockq_seed");
	assert_string_equal(common.connection.defaults_suffix, "_test");
	assert_null(common.connection.host);
	common.defaults_file = "b.cnf";
	assert_int_equal(cli_connection(&common, NULL, &error), 0);
	assert_string_equal(common.connection.defaults_file, "b.cnf");
	assert_null(common.connection.defaults_group);
	setenv("LOCKQ_DEFAULTS_FILE", "", 1);
	common.defaults_file = NULL;
	assert_int_equal(cli_connection(&common, NULL, &error), 0);
	assert_null(common.connection.defaults_file);
	unsetenv("LOCKQ_DEFAULTS_FILE");
}

static void
reads_login_paths(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct lockq_connection *found = &common.connection;
	struct cli_error error;

	(void)state;
	use_path(true);
	write_reader("--host=first\n--host=db\n--port=3307\n--user=app\n--password=a b#c=d\n"
	    "--socket=/s\n");
	common.login_path = "work";
	common.group_suffix = "_x";
	found->user = "mine";
	assert_int_equal(cli_connection(&common, "lockq_seed", &error), 0);
	assert_string_equal(reader_arguments(), "--no-defaults --defaults-group-suffix=_x "
	    "--login-path=work --show work");
	assert_string_equal(found->host, "db");
	assert_int_equal(found->port, 3307);
	assert_string_equal(found->user, "mine");
	assert_string_equal(found->password, "a b#c=d");
	assert_string_equal(found->socket, "/s");
	common = (struct cli_common)CLI_COMMON_INIT;
	common.login_path = "work";
	found->socket = "/mine";
	assert_int_equal(cli_connection(&common, NULL, &error), 0);
	assert_string_equal(reader_arguments(), "--no-defaults --login-path=work --show work");
	assert_string_equal(found->socket, "/mine");
	assert_null(found->host);
	write_reader("");
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_string_equal(error.text, "--login-path \"work\" is unknown: mysql_config_editor "
	    "print --all shows those that are saved");
}

static void
says_that_the_reader_is_missing(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;

	(void)state;
	unlink(path_of("my_print_defaults"));
	use_path(false);
	common.login_path = "work";
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_string_equal(error.text, "--login-path needs the program \"my_print_defaults\" of "
	    "the MySQL client: No such file or directory");
	write_reader("EOF\nexit 1\n");
	use_path(true);
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_string_equal(error.text, "--login-path needs the program \"my_print_defaults\" of "
	    "the MySQL client: the one that was found failed, MariaDB's can't be used");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_the_option_file),
		cmocka_unit_test(reads_login_paths),
		cmocka_unit_test(says_that_the_reader_is_missing),
	};

	return cmocka_run_group_tests(tests, set_up, clean_up);
}
