/* SPDX-License-Identifier: MIT */
/*
 * The library reads option files, but not login paths: only MySQL's my_print_defaults knows how
 * they are encrypted.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.h"

extern char **environ;

#define READER "my_print_defaults"

/* Texts that the connection points to. They are freed at exit. */
static char *kept[16];
static size_t n_kept;

static void
free_kept(void)
{
	while (n_kept > 0)
		free(kept[--n_kept]);
}

/* The options that my_print_defaults printed; of two lines the later one counts. */
struct found {
	struct lockq_connection connection;
	size_t n;
};

/* Takes a line such as "--host=db". A login path has no other keys. */
static void
take(struct found *found, const char *line)
{
	const struct {
		const char *key;
		const char **value;
	} keys[] = {
		{ "--host=", &found->connection.host },
		{ "--socket=", &found->connection.socket },
		{ "--user=", &found->connection.user },
		{ "--password=", &found->connection.password },
	};
	uint64_t port;

	found->n++;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t n = strlen(keys[i].key);

		if (strncmp(line, keys[i].key, n) != 0)
			continue;
		free((void *)(uintptr_t)*keys[i].value);
		*keys[i].value = cli_text("%s", line + n);
	}
	if (strncmp(line, "--port=", 7) == 0 && cli_number(&port, line + 7) == 0 && port <= 65535)
		found->connection.port = (unsigned int)port;
}

/* Starts my_print_defaults with its output in a pipe. Returns 0 or an errno. */
static int
start_reader(pid_t *pid, int *output, char *const arguments[])
{
	posix_spawn_file_actions_t actions;
	int ends[2], rc;

	if (pipe(ends) != 0)
		return errno;
	rc = posix_spawn_file_actions_init(&actions);
	if (rc != 0) {
		close(ends[0]);
		close(ends[1]);
		return rc;
	}
	rc = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_addclose(&actions, ends[0]);
	if (rc == 0)
		rc = posix_spawn_file_actions_addclose(&actions, ends[1]);
	if (rc == 0)
		rc = posix_spawnp(pid, READER, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (rc != 0)
		close(ends[0]);
	else
		*output = ends[0];
	return rc;
}

/* Reads its output. Returns its exit status, or -1 where it has none. */
static int
finish_reader(pid_t pid, int output, struct found *found)
{
	FILE *lines = fdopen(output, "r");
	char *line = NULL;
	size_t size = 0;
	int status = -1;

	if (lines == NULL) {
		close(output);
	} else {
		while (getline(&line, &size, lines) >= 0) {
			line[strcspn(line, "\n")] = '\0';
			take(found, line);
		}
		fclose(lines);
	}
	free(line);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Runs it for one login path. Returns its exit status, or -1 with @number set to an errno. */
static int
run_reader(struct found *found, const char *login_path, const char *suffix, int *number)
{
	char *path = cli_text("--login-path=%s", login_path);
	char *suffixed = cli_text("--defaults-group-suffix=%s", suffix != NULL ? suffix : "");
	char *group = cli_text("%s", login_path);
	char name[] = READER, none[] = "--no-defaults", show[] = "--show";
	/* Without a suffix there are fewer arguments: MYSQL_GROUP_SUFFIX counts then. */
	char *const with[] = { name, none, suffixed, path, show, group, NULL };
	char *const without[] = { name, none, path, show, group, NULL };
	int output = -1;
	pid_t pid = -1;

	*number = start_reader(&pid, &output, suffix != NULL ? with : without);
	free(path);
	free(suffixed);
	free(group);
	return *number == 0 ? finish_reader(pid, output, found) : -1;
}

static void
use(const char **to, const char *from)
{
	if (from == NULL)
		return;
	if ((n_kept > 0 || atexit(free_kept) == 0) && n_kept < sizeof(kept) / sizeof(kept[0]))
		kept[n_kept++] = (char *)(uintptr_t)from;
	if (*to == NULL)
		*to = from;
}

/* What is set already counts more; a socket that is set is on this machine. */
static void
use_found(struct lockq_connection *connection, const struct found *found)
{
	bool here = connection->socket != NULL && connection->host == NULL;

	use(&connection->socket, found->connection.socket);
	if (here)
		free((void *)(uintptr_t)found->connection.host);
	else
		use(&connection->host, found->connection.host);
	use(&connection->user, found->connection.user);
	use(&connection->password, found->connection.password);
	if (connection->port == 0)
		connection->port = found->connection.port;
}

/* Uses the login path that --login-path names. */
static int
use_login_path(struct cli_common *common, struct cli_error *error)
{
	struct found found = { LOCKQ_CONNECTION_INIT, 0 };
	int number, status = run_reader(&found, common->login_path, common->group_suffix, &number);

	use_found(&common->connection, &found);
	if (status == 127)
		return cli_fail(error, "the program \"" READER "\" can't be run: install the MySQL "
		    "client");
	if (status != 0)
		return cli_fail(error, "--login-path needs the program \"" READER "\" of the MySQL "
		    "client: %s", number != 0 ? strerror(number) : "the one that was found failed, "
		    "MariaDB's can't be used");
	if (found.n == 0)
		return cli_fail(error, "--login-path \"%s\" is unknown: mysql_config_editor print "
		    "--all shows those that are saved", common->login_path);
	return 0;
}

/* Uses the login path "client", as all of MySQL's programs do, if there are any login paths. */
static void
use_usual_login_path(struct cli_common *common)
{
	struct found found = { LOCKQ_CONNECTION_INIT, 0 };
	const char *home = getenv("HOME"), *file = getenv("MYSQL_TEST_LOGIN_FILE");
	char *own = cli_text("%s/.mylogin.cnf", home != NULL ? home : "");
	int number;

	if (access(file != NULL ? file : own, R_OK) == 0) {
		(void)run_reader(&found, "client", common->group_suffix, &number);
		use_found(&common->connection, &found);
	}
	free(own);
}

int
cli_connection(struct cli_common *common, const char *group, struct cli_error *error)
{
	struct lockq_connection *connection = &common->connection;
	const char *file = getenv("LOCKQ_DEFAULTS_FILE");

	connection->defaults_file = common->defaults_file;
	if (common->defaults_file == NULL && file != NULL && file[0] != '\0')
		connection->defaults_file = file;
	connection->defaults_group = group;
	connection->defaults_suffix = common->group_suffix;
	if (common->connect_timeout_ms >= 0)
		connection->connect_timeout_ms = common->connect_timeout_ms == 0 ? -1 :
		    common->connect_timeout_ms;
	if (common->login_path != NULL && use_login_path(common, error) != 0)
		return -1;
	use_usual_login_path(common);
	return 0;
}
