/* SPDX-License-Identifier: MIT */
/* Option files, login paths and ssl-mode, with a my_print_defaults of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static char folder[] = "/tmp/lockq-test-XXXXXX";

/* A file of the folder; the name lives until the next call. */
static const char *
path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void
write_file(const char *name, const char *text, mode_t mode)
{
	FILE *file = fopen(path_of(name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path_of(name), mode), 0);
}

/* A program that prints its arguments to the file "arguments", and these lines. */
static void
write_reader(const char *lines)
{
	char *text = cli_text("#!/bin/sh\nprintf '%%s\\n' \"$*\" >%s\ncat <<'EOF'\n%s\nEOF\n",
	    path_of("arguments"), lines);

	write_file("my_print_defaults", text, 0755);
	free(text);
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
	if (mkdtemp(folder) == NULL)
		return -1;
	setenv("HOME", folder, 1);
	unsetenv("LOCKQ_DEFAULTS_FILE");
	return 0;
}

static int
clean_up(void **state)
{
	static const char *const names[] = { "my_print_defaults", "arguments", "a.cnf" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(path_of(names[i]));
	return rmdir(folder);
}

static void
use_path(bool with_system)
{
	char *path = cli_text("%s%s", folder, with_system ? ":/usr/bin:/bin" : "");

	setenv("PATH", path, 1);
	free(path);
}

static void
takes_the_option_file(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;

	(void)state;
	write_file("a.cnf", "[client]\nhost=db\n", 0600);
	setenv("LOCKQ_DEFAULTS_FILE", path_of("a.cnf"), 1);
	assert_int_equal(cli_connection(&common, "lockq_seed", &error), 0);
	assert_string_equal(common.connection.defaults_file, path_of("a.cnf"));
	assert_string_equal(common.connection.defaults_group, "lockq_seed");
	assert_null(common.connection.host);
	setenv("LOCKQ_DEFAULTS_FILE", "", 1);
	common = (struct cli_common)CLI_COMMON_INIT;
	assert_int_equal(cli_connection(&common, NULL, &error), 0);
	assert_null(common.connection.defaults_file);
	unsetenv("LOCKQ_DEFAULTS_FILE");
}

static void
makes_the_file_absolute(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;

	(void)state;
	assert_int_equal(chdir(folder), 0);
	write_file("a.cnf", "[client]\n", 0600);
	common.defaults_file = "a.cnf";
	assert_int_equal(cli_connection(&common, NULL, &error), 0);
	assert_string_equal(common.connection.defaults_file, path_of("a.cnf"));
	assert_int_equal(chdir("/"), 0);
}

static void
refuses_files_that_mysql_would_ignore(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;

	(void)state;
	common.defaults_file = "/nonexistent/a.cnf";
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_string_equal(error.text,
	    "--defaults-file /nonexistent/a.cnf: No such file or directory");
	common.defaults_file = folder;
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_non_null(strstr(error.text, "is a directory"));
	write_file("a.cnf", "[client]\n", 0666);
	common.defaults_file = path_of("a.cnf");
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_non_null(strstr(error.text, "everybody may write it"));
	common.defaults_file = NULL;
	setenv("LOCKQ_DEFAULTS_FILE", "/nonexistent/b.cnf", 1);
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_string_equal(error.text,
	    "LOCKQ_DEFAULTS_FILE /nonexistent/b.cnf: No such file or directory");
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
	    "--socket=/s\n--database=other\n--ssl_mode=REQUIRED\n--compress");
	common.login_path = "work";
	common.group_suffix = "_x";
	found->database = "mine";
	assert_int_equal(cli_connection(&common, "lockq_seed", &error), 0);
	assert_string_equal(reader_arguments(), "--defaults-group-suffix=_x --login-path=work "
	    "--show client lockq lockq_seed");
	assert_string_equal(found->host, "db");
	assert_int_equal(found->port, 3307);
	assert_string_equal(found->user, "app");
	assert_string_equal(found->password, "a b#c=d");
	assert_string_equal(found->socket, "/s");
	assert_string_equal(found->database, "mine");
	assert_string_equal(found->ssl_mode, "REQUIRED");
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
	assert_non_null(strstr(error.text, "--login-path needs the program my_print_defaults"));
}

static void
never_drops_an_ssl_mode(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;
	char *file = cli_text("%s", path_of("a.cnf"));

	(void)state;
	write_file("a.cnf", "[client]\n ssl-mode=VERIFY_CA\n", 0600);
	common.defaults_file = file;
	unlink(path_of("my_print_defaults"));
	use_path(false);
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_non_null(strstr(error.text, "ssl-mode in an option file needs the program"));
	use_path(true);
	write_reader("--ssl-mode=VERIFY_CA\n--host=left to the library");
	assert_int_equal(cli_connection(&common, NULL, &error), 0);
	assert_string_equal(common.connection.ssl_mode, "VERIFY_CA");
	assert_null(common.connection.host);
	common.connection.ssl_mode = "DISABLED";
	assert_int_equal(cli_connection(&common, NULL, &error), 0);
	assert_string_equal(common.connection.ssl_mode, "DISABLED");
	free(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_the_option_file),
		cmocka_unit_test(makes_the_file_absolute),
		cmocka_unit_test(refuses_files_that_mysql_would_ignore),
		cmocka_unit_test(reads_login_paths),
		cmocka_unit_test(says_that_the_reader_is_missing),
		cmocka_unit_test(never_drops_an_ssl_mode),
	};

	return cmocka_run_group_tests(tests, set_up, clean_up);
}
