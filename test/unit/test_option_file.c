/* SPDX-License-Identifier: MIT */
/* Option files: their lines, includes, groups and suffixes, what lockq takes from them, and what it
 * refuses. test/cli/cli/options.t compares the reader with MySQL's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "handle/where.h"

static struct where where, query;
static struct where_report report;

/* Writes a file. Each "@" in @text becomes the path of the test's folder. */
static void
write_file(const char *name, mode_t mode, const char *text)
{
	FILE *file = fopen(path_of(name), "w");

	assert_non_null(file);
	for (; *text != '\0'; text++) {
		if (*text == '@')
			assert_true(fputs(folder_path(), file) >= 0);
		else
			assert_int_equal(fputc(*text, file), (unsigned char)*text);
	}
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path_of(name), mode), 0);
}

static int
set_up(void **state)
{
	(void)state;
	unsetenv("MYSQL_HOME");
	unsetenv("MYSQL_GROUP_SUFFIX");
	return folder_make() == 0 ? setenv("HOME", folder_path(), 1) : -1;
}

static int
clean_up(void **state)
{
	static const char *const names[] = { "a.cnf", "b.cnf", ".my.cnf", "my.cnf", "d/1.cnf",
		"d/2.cnf", "d/3.txt", "d/4.cnf" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(path_of(names[i]));
	rmdir(path_of("d"));
	where_clear(&where);
	where_clear(&query);
	return rmdir(folder_path());
}

/* Reads a.cnf with the groups of @group and @suffix. */
static enum db_rc
read_with(const char *group, const char *suffix)
{
	char file[256];
	struct lockq_connection given = LOCKQ_CONNECTION_INIT;

	snprintf(file, sizeof(file), "%s", path_of("a.cnf"));
	given.defaults_file = file;
	given.defaults_group = group;
	given.defaults_suffix = suffix;
	return where_read(&where, &query, &given, &report);
}

static void
reads(const char *text)
{
	write_file("a.cnf", 0600, text);
	if (read_with(NULL, NULL) != DB_OK)
		print_error("%s\n", report.error);
	assert_string_equal(report.error, "");
	assert_string_equal(report.warning, "");
}

/* Reads a file with that text, which is refused with an error that names the file and goes on with
 * @error: the number of the line, and why. */
static void
refuses(const char *text, const char *error)
{
	char whole[1024];

	write_file("a.cnf", 0600, text);
	assert_int_equal(read_with(NULL, NULL), DB_EFAIL);
	snprintf(whole, sizeof(whole), "option file \"%s\", line %s", path_of("a.cnf"), error);
	assert_string_equal(report.error, whole);
}

static void
reads_lines(void **state)
{
	(void)state;
	reads("# a comment\n; another\n\n [ client ] \r\n\thost = db \t\nuser=app # after it\n"
	    "[mysqldump]\nhost=not this\nquick\n[lockq]\ndatabase=work\nssl_mode=required\n");
	assert_string_equal(where.text[WHERE_HOST], "db");
	assert_string_equal(where.text[WHERE_USER], "app");
	assert_string_equal(where.text[WHERE_DATABASE], "work");
	assert_string_equal(where.text[WHERE_SSL_MODE], "required");
	assert_null(where.text[WHERE_PASSWORD]);
	assert_int_equal(where.port, 0);
	/* With a mark before the first line. */
	reads("\xef\xbb\xbf[client]\nhost=marked\n");
	assert_string_equal(where.text[WHERE_HOST], "marked");
	reads("\xef\xbb\xbf");
}

static void
reads_quotes_and_escapes(void **state)
{
	static const struct {
		const char *line, *password;
	} cases[] = {
		{ "\"a b\"", "a b" }, { "'a#b'", "a#b" }, { "a\"#b", "a\"#b" }, { "a#b", "a" },
		{ "\"a\\\"b\"", "a\"b" }, { "a\\\\b", "a\\b" }, { "a\\sb\\tc", "a b\tc" },
		{ "a\\xb", "a\\xb" }, { "a\\", "a\\" }, { "=a=b", "=a=b" }, { "\"", "\"" },
		{ "\"\"", "" }, { "'a\"", "'a\"" }, { "\"a\" \"b\"", "a\" \"b" }, { "", "" },
		{ "'a\\'#b' # c", "a'#b" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[128];

		snprintf(text, sizeof(text), "[client]\npassword=%s\n", cases[i].line);
		reads(text);
		assert_string_equal(where.text[WHERE_PASSWORD], cases[i].password);
	}
}

static void
a_later_line_counts_and_the_caller_most(void **state)
{
	struct lockq_connection given = LOCKQ_CONNECTION_INIT;
	char file[256];

	(void)state;
	reads("[lockq]\nhost=a\nport=1\nuser=x\n[client]\nhost=b\nport=3307\n");
	assert_string_equal(where.text[WHERE_HOST], "b");
	assert_int_equal(where.port, 3307);
	snprintf(file, sizeof(file), "%s", path_of("a.cnf"));
	given.defaults_file = file;
	given.host = "c";
	given.port = 4;
	assert_int_equal(where_read(&where, &query, &given, &report), DB_OK);
	assert_string_equal(where.text[WHERE_HOST], "c");
	assert_int_equal(where.port, 4);
	assert_string_equal(where.text[WHERE_USER], "x");
	/* A socket is on this machine, whatever host the file names. */
	given.host = NULL;
	given.socket = "/s";
	assert_int_equal(where_read(&where, &query, &given, &report), DB_OK);
	assert_null(where.text[WHERE_HOST]);
}

static void
reads_groups_with_a_suffix(void **state)
{
	static const char text[] = "[client_test]\nhost=a\n[seed]\nuser=u\n[seed_test]\nport=5\n"
	    "[client_tes]\nhost=no\n[client_test2]\nhost=no\n[lockq_query_test]\nhost=q\n"
	    "[lockq]\nuser=no\n";

	(void)state;
	write_file("a.cnf", 0600, text);
	assert_int_equal(read_with("seed", "_test"), DB_OK);
	assert_string_equal(where.text[WHERE_HOST], "a");
	assert_string_equal(where.text[WHERE_USER], "u");
	assert_int_equal(where.port, 5);
	assert_string_equal(query.text[WHERE_HOST], "q");
	assert_int_equal(read_with("seed", NULL), DB_OK);
	assert_null(where.text[WHERE_HOST]);
	assert_null(query.text[WHERE_HOST]);
	setenv("MYSQL_GROUP_SUFFIX", "_test", 1);
	assert_int_equal(read_with("seed", NULL), DB_OK);
	assert_string_equal(where.text[WHERE_HOST], "a");
	unsetenv("MYSQL_GROUP_SUFFIX");
}

static void
reads_included_files(void **state)
{
	(void)state;
	assert_int_equal(mkdir(path_of("d"), 0700), 0);
	write_file("b.cnf", 0600, "[client]\nuser=b\nport=1\n");
	write_file("d/2.cnf", 0600, "[client]\nuser=two\n");
	write_file("d/1.cnf", 0600, "[client]\nuser=one\nhost=one\n");
	write_file("d/3.txt", 0600, "[client]\nuser=no\n");
	assert_int_equal(symlink("/nowhere", path_of("d/4.cnf")), 0);
	write_file("a.cnf", 0600, "[client]\n!include @/b.cnf\n ! includedir @/d \nport=2\n");
	assert_int_equal(read_with(NULL, NULL), DB_OK);
	assert_string_equal(where.text[WHERE_USER], "two");
	assert_string_equal(where.text[WHERE_HOST], "one");
	assert_int_equal(where.port, 2);
}

static void
refuses_includes_that_can_not_be_read(void **state)
{
	char error[1024];

	(void)state;
	write_file("a.cnf", 0600, "!include @/none.cnf\n");
	assert_int_equal(read_with(NULL, NULL), DB_EFAIL);
	snprintf(error, sizeof(error), "option file \"%s/a.cnf\", line 1: the option file "
	    "\"%s/none.cnf\" can't be read: No such file or directory", folder_path(),
	    folder_path());
	assert_string_equal(report.error, error);
	refuses("\n!includedir /none\n",
	    "2: the directory \"/none\" can't be read: No such file or directory");
	refuses("!include\n", "1: !include has no path after it");
	refuses("!inclu x\n", "1: \"!inclu\" is unknown: use !include FILE or !includedir "
	    "DIRECTORY");
	refuses("!include @/a.cnf\n", "1: this is the 10th file that includes another: one of "
	    "them may include itself");
	refuses("!include /dev\n", "1: \"/dev\" is a directory, not an option file");
	refuses("!include /dev/zero\n", "1: \"/dev/zero\" is no option file: it has more than "
	    "262144 bytes");
}

/* A hundred included files are read; when each includes ten others, they are too many. */
static void
refuses_too_many_files(void **state)
{
	char text[2048] = "[client]\n";
	size_t n = strlen(text);

	(void)state;
	write_file("b.cnf", 0600, "[client]\nuser=b\n");
	for (int i = 0; i < 100; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "!include @/b.cnf\n");
	reads(text);
	assert_string_equal(where.text[WHERE_USER], "b");
	write_file("b.cnf", 0600, "!include @/my.cnf\n!include @/my.cnf\n!include @/my.cnf\n"
	    "!include @/my.cnf\n!include @/my.cnf\n!include @/my.cnf\n!include @/my.cnf\n"
	    "!include @/my.cnf\n!include @/my.cnf\n!include @/my.cnf\n");
	write_file("my.cnf", 0600, "");
	assert_int_equal(read_with(NULL, NULL), DB_EFAIL);
	assert_non_null(strstr(report.error, "/b.cnf\", line 9: more than 1000 option files are "
	    "included: one of them may include itself"));
}

static void
refuses_lines_and_values(void **state)
{
	static const char *const with_password[] = {
		"ssl-mode=REQUIRED password=x", "host=db password = x", "user=\"app\"\tPassword=x",
		"port=3306;password=x", "get-server-public-key=1 password2=x",
		"lockq-user=anna password=x", "loose-colour=red password=x",
	};

	(void)state;
	refuses("host=a\n", "1: an option stands before the first group: put a line such as "
	    "[client] above it");
	refuses("\n[client\n", "2: the group's name has no \"]\" after it");
	refuses("[client]\nport=70000\n", "2: port \"70000\" is no number from 0 to 65535");
	refuses("[client]\nport=\n", "2: port \"\" is no number from 0 to 65535");
	refuses("[client]\nport=-1\n", "2: port \"-1\" is no number from 0 to 65535");
	refuses("[client]\npassword\n", "2: \"password\" has no value: write password=…");
	refuses("[client]\nssl-mode=SOME\n", "2: ssl-mode \"SOME\" is unknown: use DISABLED, "
	    "PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY");
	refuses("[client]\nprotocol=pipe\n", "2: protocol \"pipe\" can't be used: use tcp or "
	    "socket");
	refuses("[lockq]\nhots=a\n", "2: \"hots\" is unknown in the group [lockq]: "
	    "lockq-options(5) lists what lockq takes");
	/* What may be meant to protect the connection is never passed over. */
	refuses("[client]\nssl-fips-mode=ON\n", "2: \"ssl-fips-mode\" is unknown in the group "
	    "[client]: lockq-options(5) lists what lockq takes");
	refuses("[client]\nssl-mode REQUIRED\n", "2: the line in the group [client] is no "
	    "option: write it as key=value");
	refuses("[client]\nloose-ssl-mode=SOME\n", "2: ssl-mode \"SOME\" is unknown: use "
	    "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY");
	refuses("[client]\nget-server-public-key=maybe\n", "2: get-server-public-key can't be "
	    "\"maybe\": use 1 or 0");
	/* A password is in no message, nor in a value that another message would show. */
	for (size_t i = 0; i < sizeof(with_password) / sizeof(with_password[0]); i++) {
		char text[128];

		snprintf(text, sizeof(text), "[lockq]\n%s\n", with_password[i]);
		refuses(text, "2: a password stands on the line of another option: put it on a "
		    "line of its own");
	}
	reads("[client]\npassword=a password=b\n");
	assert_string_equal(where.text[WHERE_PASSWORD], "a password=b");
	refuses("[lockq]\npassword secret\n", "2: the line in the group [lockq] is no option: "
	    "write it as key=value");
	refuses("[lockq_query]\nquick\n", "2: \"quick\" is unknown in the group [lockq_query]: "
	    "lockq-options(5) lists what lockq takes");
}

static void
passes_over_options_of_other_programs(void **state)
{
	(void)state;
	reads("[client]\ndefault-character-set=latin1\nno-beep\nloose-quick=x\n[lockq]\n"
	    "loose-colour=x\n");
	write_file("a.cnf", 0600, "[their_program]\ncolour=red\nhost=theirs\n");
	assert_int_equal(read_with("their_program", NULL), DB_OK);
	assert_string_equal(where.text[WHERE_HOST], "theirs");
}

static void
takes_each_option(void **state)
{
	(void)state;
	reads("[Client]\nsocket=/s\nprotocol=SOCKET\nbind-address=::1\nssl-ca=a\nssl_capath=b\n"
	    "ssl-cert=c\nssl-key=d\nssl-cipher=e\nssl-crl=f\nssl-crlpath=g\ntls-version=h\n"
	    "default-auth=j\nplugin-dir=k\nenable-cleartext-plugin\nloose-ssl-mode=REQUIRED\n"
	    "server-public-key-path=l\nget-server-public-key=ON\n");
	assert_string_equal(where.text[WHERE_SOCKET], "/s");
	assert_string_equal(where.text[WHERE_PROTOCOL], "SOCKET");
	assert_string_equal(where.text[WHERE_BIND_ADDRESS], "::1");
	assert_string_equal(where.text[WHERE_SSL_CA], "a");
	assert_string_equal(where.text[WHERE_SSL_CAPATH], "b");
	assert_string_equal(where.text[WHERE_SSL_CERT], "c");
	assert_string_equal(where.text[WHERE_SSL_KEY], "d");
	assert_string_equal(where.text[WHERE_SSL_CIPHER], "e");
	assert_string_equal(where.text[WHERE_SSL_CRL], "f");
	assert_string_equal(where.text[WHERE_SSL_CRLPATH], "g");
	assert_string_equal(where.text[WHERE_TLS_VERSION], "h");
	assert_string_equal(where.text[WHERE_DEFAULT_AUTH], "j");
	assert_string_equal(where.text[WHERE_PLUGIN_DIR], "k");
	assert_string_equal(where.text[WHERE_PUBLIC_KEY_PATH], "l");
	assert_string_equal(where.text[WHERE_CLEARTEXT], "1");
	assert_string_equal(where.text[WHERE_GET_PUBLIC_KEY], "1");
	assert_string_equal(where.text[WHERE_SSL_MODE], "REQUIRED");
	reads("[client]\nenable-cleartext-plugin\nenable-cleartext-plugin=0\n");
	assert_string_equal(where.text[WHERE_CLEARTEXT], "0");
	assert_null(where.text[WHERE_SSL_MODE]);
	if (db_fault_of_ciphersuites() == NULL) {
		reads("[client]\ntls-ciphersuites=i\n");
		assert_string_equal(where.text[WHERE_TLS_CIPHERSUITES], "i");
	} else {
		refuses("[client]\ntls-ciphersuites=i\n", "2: \"tls-ciphersuites\" is not known "
		    "to MariaDB's client library: use ssl-cipher");
	}
}

/* Whoever asks for checked certificates gets them, also without the name of a mode. */
static void
completes_the_ssl_mode(void **state)
{
	struct lockq_connection given = LOCKQ_CONNECTION_INIT;

	(void)state;
	reads("[client]\nssl-verify-server-cert\nssl-mode=REQUIRED\n");
	assert_string_equal(where.text[WHERE_SSL_MODE], "VERIFY_IDENTITY");
	reads("[client]\nssl-verify-server-cert=0\nssl-mode=REQUIRED\n");
	assert_string_equal(where.text[WHERE_SSL_MODE], "REQUIRED");
	reads("[client]\nuser=u\n[lockq_query]\nssl-verify-server-cert=1\n");
	assert_null(where.text[WHERE_SSL_MODE]);
	assert_string_equal(query.text[WHERE_SSL_MODE], "VERIFY_IDENTITY");
	reads("[client]\nssl=0\n[lockq_query]\nssl\n");
	assert_string_equal(where.text[WHERE_SSL_MODE], "DISABLED");
	assert_string_equal(query.text[WHERE_SSL_MODE], "REQUIRED");
	reads("[client]\nskip-ssl\nssl-ca=/ca\n");
	assert_string_equal(where.text[WHERE_SSL_MODE], "DISABLED");
	reads("[client]\nssl=0\nssl-mode=REQUIRED\n");
	assert_string_equal(where.text[WHERE_SSL_MODE], "REQUIRED");
	reads("[client]\nssl=0\nssl-verify-server-cert=1\n");
	assert_string_equal(where.text[WHERE_SSL_MODE], "VERIFY_IDENTITY");
	reads("[client]\nloose-disable-ssl-verify-server-cert\nssl=on\n");
	assert_string_equal(where.text[WHERE_SSL_MODE], "REQUIRED");
	refuses("[lockq]\nskip-host\n", "2: \"skip-host\" is unknown in the group [lockq]: "
	    "lockq-options(5) lists what lockq takes");
	write_file("a.cnf", 0600, "[client]\nssl-ca=/ca\n");
	if (db_fault_of_ssl_mode("VERIFY_CA") == NULL) {
		assert_int_equal(read_with(NULL, NULL), DB_OK);
		assert_string_equal(where.text[WHERE_SSL_MODE], "VERIFY_CA");
	} else {
		assert_int_equal(read_with(NULL, NULL), DB_EFAIL);
		assert_string_equal(report.error, "an option file has ssl-ca, but no ssl-mode: set "
		    "ssl-mode=VERIFY_IDENTITY, or another mode");
	}
	/* The caller's mode counts more. */
	given.defaults_file = path_of("a.cnf");
	given.ssl_mode = "REQUIRED";
	assert_int_equal(where_read(&where, &query, &given, &report), DB_OK);
	assert_string_equal(where.text[WHERE_SSL_MODE], "REQUIRED");
}

/* The usual files, and what file modes do to them. */
static void
reads_the_usual_files(void **state)
{
	struct lockq_connection given = LOCKQ_CONNECTION_INIT;
	char home[256], error[1024];

	(void)state;
	assert_int_equal(where_read(&where, &query, &given, &report), DB_OK);
	write_file("my.cnf", 0600, "[client]\nuser=of MYSQL_HOME\ndatabase=a\n");
	write_file(".my.cnf", 0644, "[client]\nuser=at home\n");
	snprintf(home, sizeof(home), "%s", folder_path());
	setenv("MYSQL_HOME", home, 1);
	assert_int_equal(where_read(&where, &query, &given, &report), DB_OK);
	assert_string_equal(where.text[WHERE_USER], "at home");
	assert_string_equal(where.text[WHERE_DATABASE], "a");
	assert_string_equal(report.warning, "");
	unsetenv("MYSQL_HOME");
	write_file(".my.cnf", 0604, "[client]\npassword=secret\n");
	assert_int_equal(where_read(&where, &query, &given, &report), DB_OK);
	snprintf(error, sizeof(error), "the option file \"%s\" has a password and can be read by "
	    "every user: run chmod o-r on it", path_of(".my.cnf"));
	assert_string_equal(report.warning, error);
	write_file(".my.cnf", 0604, "[other]\npassword=secret\n[client]\npassword=\n");
	assert_int_equal(where_read(&where, &query, &given, &report), DB_OK);
	assert_string_equal(report.warning, "");
	write_file(".my.cnf", 0602, "[client]\n");
	assert_int_equal(where_read(&where, &query, &given, &report), DB_EFAIL);
	snprintf(error, sizeof(error), "the option file \"%s\" can be written by every user: run "
	    "chmod o-w on it", path_of(".my.cnf"));
	assert_string_equal(report.error, error);
	unlink(path_of(".my.cnf"));
}

static void
refuses_files_that_can_not_be_read(void **state)
{
	struct lockq_connection given = LOCKQ_CONNECTION_INIT;
	char error[1024];
	FILE *file;

	(void)state;
	given.defaults_file = "/none.cnf";
	assert_int_equal(where_read(&where, &query, &given, &report), DB_EFAIL);
	assert_string_equal(report.error, "the option file \"/none.cnf\" can't be read: "
	    "No such file or directory");
	given.defaults_file = folder_path();
	assert_int_equal(where_read(&where, &query, &given, &report), DB_EFAIL);
	snprintf(error, sizeof(error), "\"%s\" is a directory, not an option file", folder_path());
	assert_string_equal(report.error, error);
	file = fopen(path_of("a.cnf"), "w");
	assert_non_null(file);
	assert_int_equal(fwrite("[client]\0\n", 10, 1, file), 1);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(read_with(NULL, NULL), DB_EFAIL);
	assert_non_null(strstr(report.error, ", line 1: the line has a NUL byte"));
}

/* What lockq_query_at() is told counts most, then [lockq_query], then the other connections. */
static void
the_query_goes_elsewhere(void **state)
{
	struct lockq_connection given = LOCKQ_CONNECTION_INIT;
	struct where there = { .port = 0 };
	bool elsewhere = true;

	(void)state;
	reads("[client]\nsocket=/s\nuser=app\nport=3307\n");
	assert_int_equal(where_of_query(&there, &elsewhere, &given, &query, &where), DB_OK);
	assert_false(elsewhere);
	reads("[client]\nsocket=/s\nprotocol=socket\nuser=app\nport=3307\n"
	    "[lockq_query]\nhost=replica\nuser=reader\n");
	given.password = "p";
	assert_int_equal(where_of_query(&there, &elsewhere, &given, &query, &where), DB_OK);
	assert_true(elsewhere);
	assert_string_equal(there.text[WHERE_HOST], "replica");
	assert_string_equal(there.text[WHERE_USER], "reader");
	assert_string_equal(there.text[WHERE_PASSWORD], "p");
	assert_null(there.text[WHERE_SOCKET]);
	assert_null(there.text[WHERE_PROTOCOL]);
	assert_int_equal(there.port, 3307);
	reads("[client]\nhost=db\nprotocol=tcp\n[lockq_query]\nsocket=/replica\n");
	given.password = NULL;
	assert_int_equal(where_of_query(&there, &elsewhere, &given, &query, &where), DB_OK);
	assert_true(elsewhere);
	assert_null(there.text[WHERE_HOST]);
	assert_null(there.text[WHERE_PROTOCOL]);
	assert_string_equal(there.text[WHERE_SOCKET], "/replica");
	/* A tunnel of this machine is reached by TCP. */
	reads("[client]\nhost=localhost\nprotocol=tcp\nenable-cleartext-plugin\nssl-mode=REQUIRED\n"
	    "ssl-capath=/cas\nssl-key=/key\n[lockq_query]\nhost=localhost\nport=3307\n"
	    "enable-cleartext-plugin=0\nssl-ca=/ca\nssl-cert=/cert\nssl-mode=VERIFY_IDENTITY\n");
	assert_int_equal(where_of_query(&there, &elsewhere, &given, &query, &where), DB_OK);
	assert_string_equal(there.text[WHERE_PROTOCOL], "tcp");
	assert_string_equal(there.text[WHERE_CLEARTEXT], "0");
	assert_string_equal(there.text[WHERE_SSL_MODE], "VERIFY_IDENTITY");
	assert_string_equal(there.text[WHERE_SSL_CA], "/ca");
	assert_null(there.text[WHERE_SSL_CAPATH]);
	assert_null(there.text[WHERE_SSL_KEY]);
	where_clear(&there);
}

static void
tells_the_user_and_the_task(void **state)
{
	char line[WHERE_ASKER_BYTES + 64] = "[lockq]\nlockq-user=";

	(void)state;
	reads("[client]\nuser=clerk\n[lockq]\nlockq-user=oliver\nlockq_task = 7 # deeds\n");
	assert_string_equal(report.lockq_user, "oliver");
	assert_int_equal(report.lockq_task, 7);
	assert_string_equal(where.text[WHERE_USER], "clerk");
	reads("[lockq]\nlockq-user='O Brien'\nlockq-task=4294967295\n[lockq_x]\nlockq-task=8\n");
	assert_string_equal(report.lockq_user, "O Brien");
	assert_int_equal(report.lockq_task, UINT32_MAX);
	assert_int_equal(read_with(NULL, "_x"), DB_OK);
	assert_string_equal(report.lockq_user, "O Brien");
	assert_int_equal(report.lockq_task, 8);
	reads("[lockq]\nlockq-user=oliver\nlockq-task=7\nlockq-user=\nlockq-task=\n");
	assert_string_equal(report.lockq_user, "");
	assert_int_equal(report.lockq_task, 0);
	/* The group of another program is not read, and what an earlier file said is forgotten. */
	reads("[lockq]\nlockq-user=oliver\nlockq-task=7\n");
	assert_int_equal(read_with("lockq_seed", NULL), DB_OK);
	assert_string_equal(report.lockq_user, "");
	assert_int_equal(report.lockq_task, 0);
	for (size_t n = strlen(line), end = n + WHERE_ASKER_BYTES - 1; n < end; n++)
		line[n] = 'a';
	reads(line);
	assert_int_equal(strlen(report.lockq_user), WHERE_ASKER_BYTES - 1);
	line[strlen(line)] = 'a';
	refuses(line, "2: lockq-user has 257 bytes, more than the name of any user");
}

static void
tells_who_fills_no_lists(void **state)
{
	(void)state;
	reads("[lockq]\nlockq-user=oliver\n");
	assert_false(report.no_refill);
	reads("[lockq]\nlockq-no-refill\n");
	assert_true(report.no_refill);
	reads("[lockq]\nlockq_no_refill = ON\n[lockq_x]\nlockq-no-refill=false\n");
	assert_true(report.no_refill);
	assert_int_equal(read_with(NULL, "_x"), DB_OK);
	assert_false(report.no_refill);
	refuses("[lockq]\nlockq-no-refill=maybe\n",
	    "2: lockq-no-refill can't be \"maybe\": use 1 or 0");
	refuses("[client]\nlockq-no-refill\n", "2: \"lockq-no-refill\" can't stand in the group "
	    "[client]: it belongs under [lockq]");
}

static void
refuses_a_bad_user_or_task(void **state)
{
	static const char *const bad[] = { "x", "0", "-1", "7x", "4294967296",
		"99999999999999999999", "\"7 8\"" };
	static const char *const groups[] = { "client", "lockq_query" };
	char text[128], error[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool quoted = bad[i][0] == '"';

		snprintf(text, sizeof(text), "[lockq]\n\nlockq-task=%s\n", bad[i]);
		snprintf(error, sizeof(error), "3: lockq-task %s%s%s must be the number of a task",
		    quoted ? "" : "\"", bad[i], quoted ? "" : "\"");
		refuses(text, error);
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		snprintf(text, sizeof(text), "[%s]\nlockq-user=oliver\n", groups[i]);
		snprintf(error, sizeof(error), "2: \"lockq-user\" can't stand in the group "
		    "[%s]: it belongs under [lockq]", groups[i]);
		refuses(text, error);
	}
	refuses("[lockq]\nlockq-user\n", "2: \"lockq-user\" has no value: write lockq-user=…");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_lines),
		cmocka_unit_test(reads_quotes_and_escapes),
		cmocka_unit_test(a_later_line_counts_and_the_caller_most),
		cmocka_unit_test(reads_groups_with_a_suffix),
		cmocka_unit_test(reads_included_files),
		cmocka_unit_test(refuses_includes_that_can_not_be_read),
		cmocka_unit_test(refuses_too_many_files),
		cmocka_unit_test(refuses_lines_and_values),
		cmocka_unit_test(passes_over_options_of_other_programs),
		cmocka_unit_test(takes_each_option),
		cmocka_unit_test(completes_the_ssl_mode),
		cmocka_unit_test(reads_the_usual_files),
		cmocka_unit_test(refuses_files_that_can_not_be_read),
		cmocka_unit_test(the_query_goes_elsewhere),
		cmocka_unit_test(tells_the_user_and_the_task),
		cmocka_unit_test(tells_who_fills_no_lists),
		cmocka_unit_test(refuses_a_bad_user_or_task),
	};

	return cmocka_run_group_tests(tests, set_up, clean_up);
}
