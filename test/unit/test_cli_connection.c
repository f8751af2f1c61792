/* SPDX-License-Identifier: MIT */
/* Option files, login paths and ssl-mode. The tests put a my_print_defaults of their own into
 * PATH. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "cli_connection.h"

static char folder[] = "/tmp/lockq-test-XXXXXX";

/* Returns the path of a file in the test's folder; the text is valid until the next call. */
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

/* Writes a my_print_defaults that prints these lines and writes its arguments to the file
 * "arguments". */
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
	static const char *const names[] = {
		"my_print_defaults", "arguments", "a.cnf", ".my.cnf"
	};
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
refuses_a_relative_name_in_a_removed_directory(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;

	(void)state;
	write_file("a.cnf", "[client]\n", 0600);
	assert_int_equal(mkdir(path_of("removed"), 0700), 0);
	assert_int_equal(chdir(path_of("removed")), 0);
	assert_int_equal(rmdir(path_of("removed")), 0);
	common.defaults_file = "../a.cnf";
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_string_equal(error.text, "--defaults-file \"../a.cnf\" can't be found, since the "
	    "current directory has no name (No such file or directory): give the whole path of the "
	    "file");
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
	    "--defaults-file \"/nonexistent/a.cnf\" can't be read: No such file or directory");
	common.defaults_file = folder;
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_non_null(strstr(error.text, "is a directory, not an option file"));
	write_file("a.cnf", "[client]\n", 0666);
	common.defaults_file = path_of("a.cnf");
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_non_null(strstr(error.text, "can be written by every user"));
	common.defaults_file = NULL;
	setenv("LOCKQ_DEFAULTS_FILE", "/nonexistent/b.cnf", 1);
	assert_int_equal(cli_connection(&common, NULL, &error), -1);
	assert_string_equal(error.text,
	    "LOCKQ_DEFAULTS_FILE \"/nonexistent/b.cnf\" can't be read: "
	    "No such file or directory");
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
	    "--show client lockq_seed");
	assert_int_equal(cli_connection(&common, NULL, &error), 0);
	assert_string_equal(reader_arguments(), "--defaults-group-suffix=_x --login-path=work "
	    "--show client lockq");
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
	assert_non_null(strstr(error.text, "--login-path needs the program \"my_print_defaults\""));
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

/* Reads the group lockq_query from an option file with the text @text. my_print_defaults prints
 * @lines. */
static int
read_query_group(struct cli_common *common, const char *text, const char *lines,
    struct cli_error *error)
{
	unlink(path_of("arguments"));
	write_file("a.cnf", text, 0600);
	write_reader(lines);
	use_path(true);
	common->connection.defaults_file = path_of("a.cnf");
	return cli_query_connection(common, error);
}

static void
reads_the_query_group(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;
	char *arguments;

	(void)state;
	common.connection.host = "primary";
	common.login_path = "work";
	assert_int_equal(read_query_group(&common, "[client]\nuser=app\n\t[lockq_query]\n",
	    "--host=replica\n--port=3307\n--user=reader\n--password=#=", &error), 0);
	arguments = cli_text("--defaults-file=%s --show lockq_query", path_of("a.cnf"));
	assert_string_equal(reader_arguments(), arguments);
	free(arguments);
	assert_true(common.queries_elsewhere);
	assert_string_equal(common.query.host, "replica");
	assert_int_equal(common.query.port, 3307);
	assert_string_equal(common.query.user, "reader");
	assert_string_equal(common.query.password, "#=");
	assert_null(common.query.socket);
	assert_null(common.query.database);
	assert_string_equal(common.connection.host, "primary");
	assert_null(common.connection.user);
}

static void
reads_the_query_group_with_a_suffix(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;
	char *arguments;

	(void)state;
	common.group_suffix = "_test";
	assert_int_equal(read_query_group(&common, "[lockq_query_test]\nuser=reader\n",
	    "--user=reader", &error), 0);
	arguments = cli_text("--defaults-file=%s --defaults-group-suffix=_test --show lockq_query",
	    path_of("a.cnf"));
	assert_string_equal(reader_arguments(), arguments);
	free(arguments);
	assert_true(common.queries_elsewhere);
	assert_string_equal(common.query.user, "reader");
}

static void
starts_no_reader_for_nothing(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;

	(void)state;
	assert_int_equal(read_query_group(&common,
	    "[lockq]\nuser=lockq_query\n# [lockq_query]\n", "--user=nobody", &error), 0);
	assert_string_equal(reader_arguments(), "");
	assert_false(common.queries_elsewhere);
}

static void
looks_for_the_query_group_where_mysql_does(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;

	(void)state;
	assert_int_equal(read_query_group(&common, "!includedir /etc/mysql/more\n",
	    "--user=included", &error), 0);
	assert_string_equal(common.query.user, "included");
	common = (struct cli_common)CLI_COMMON_INIT;
	write_file(".my.cnf", "[lockq_query]\n", 0600);
	write_reader("--user=at home");
	assert_int_equal(cli_query_connection(&common, &error), 0);
	assert_string_equal(reader_arguments(), "--show lockq_query");
	assert_string_equal(common.query.user, "at home");
	unlink(path_of(".my.cnf"));
}

static void
a_query_group_that_says_nothing_is_none(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;

	(void)state;
	assert_int_equal(read_query_group(&common, "[lockq_query_of_others]\nuser=a\n", "", &error),
	    0);
	assert_false(common.queries_elsewhere);
}

static void
refuses_a_query_group_that_it_would_not_obey(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;

	(void)state;
	assert_int_equal(read_query_group(&common, "[lockq_query]\n",
	    "--host=replica\n--ssl-ca=/secret/place", &error), -1);
	assert_string_equal(error.text, "[lockq_query] in an option file: \"ssl-ca\" can't be used "
	    "as it stands there: the group takes host, port, socket, user, password, database and "
	    "ssl-mode");
	assert_int_equal(read_query_group(&common, "[lockq_query]\n", "--port=70000", &error), -1);
	assert_non_null(strstr(error.text, "\"port\" can't be used"));
	assert_int_equal(read_query_group(&common, "[lockq_query]\n", "--port=", &error), -1);
	assert_false(common.queries_elsewhere);
}

static void
never_drops_the_query_group(void **state)
{
	struct cli_common common = CLI_COMMON_INIT;
	struct cli_error error;
	char *file = cli_text("%s", path_of("a.cnf"));

	(void)state;
	write_file("a.cnf", "[lockq_query]\nhost=replica\n", 0600);
	common.connection.defaults_file = file;
	unlink(path_of("my_print_defaults"));
	use_path(false);
	assert_int_equal(cli_query_connection(&common, &error), -1);
	assert_non_null(strstr(error.text, "[lockq_query] in an option file needs the program"));
	use_path(true);
	write_file("my_print_defaults", "#!/bin/sh\nexit 1\n", 0755);
	assert_int_equal(cli_query_connection(&common, &error), -1);
	assert_non_null(strstr(error.text, "[lockq_query] in an option file needs the program "
	    "\"my_print_defaults\" of the MySQL client: the one that was found failed"));
	free(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_the_option_file),
		cmocka_unit_test(makes_the_file_absolute),
		cmocka_unit_test(refuses_a_relative_name_in_a_removed_directory),
		cmocka_unit_test(refuses_files_that_mysql_would_ignore),
		cmocka_unit_test(reads_login_paths),
		cmocka_unit_test(says_that_the_reader_is_missing),
		cmocka_unit_test(never_drops_an_ssl_mode),
		cmocka_unit_test(reads_the_query_group),
		cmocka_unit_test(reads_the_query_group_with_a_suffix),
		cmocka_unit_test(starts_no_reader_for_nothing),
		cmocka_unit_test(looks_for_the_query_group_where_mysql_does),
		cmocka_unit_test(a_query_group_that_says_nothing_is_none),
		cmocka_unit_test(refuses_a_query_group_that_it_would_not_obey),
		cmocka_unit_test(never_drops_the_query_group),
	};

	return cmocka_run_group_tests(tests, set_up, clean_up);
}
