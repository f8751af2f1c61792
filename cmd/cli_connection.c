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

#include "cli_connection.h"
#include "cli_values.h"

extern char **environ;

#define READER "my_print_defaults"

/* Texts that the connection points to. They are freed at exit. */
static char *kept[8];
static size_t n_kept;

static void
free_kept(void)
{
	while (n_kept > 0)
		free(kept[--n_kept]);
}

static char *
keep(char *text)
{
	if (n_kept == 0 && atexit(free_kept) != 0)
		return text;
	if (n_kept < sizeof(kept) / sizeof(kept[0]))
		kept[n_kept++] = text;
	return text;
}

/* The options that it printed. The command line counts more than the login path, and a later line
 * more than an earlier one. */
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

/* Runs it for the login path. */
static int
run_reader(struct found *found, const struct cli_common *common, struct cli_error *error)
{
	static const char needs[] = "--login-path needs the program \"" READER "\" of the MySQL "
	    "client";
	/* An empty suffix is none. */
	char *suffix = cli_text("--defaults-group-suffix=%s",
	    common->group_suffix != NULL ? common->group_suffix : "");
	char *path = cli_text("--login-path=%s", common->login_path);
	char name[] = READER, none[] = "--no-defaults", show[] = "--show", group[] = "client";
	char *const arguments[] = { name, none, suffix, path, show, group, NULL };
	int output = -1, rc;
	pid_t pid = -1;

	rc = start_reader(&pid, &output, arguments);
	free(suffix);
	free(path);
	if (rc != 0)
		return cli_fail(error, "%s: %s", needs, strerror(rc));
	rc = finish_reader(pid, output, found);
	if (rc == 127)
		return cli_fail(error, "the program \"" READER "\" can't be run: install the MySQL "
		    "client");
	if (rc != 0)
		return cli_fail(error, "%s: the one that was found failed, MariaDB's can't be used",
		    needs);
	if (found->n == 0)
		return cli_fail(error, "--login-path \"%s\" is unknown: mysql_config_editor print "
		    "--all shows those that are saved", common->login_path);
	return 0;
}

static void
use(const char **to, const char *from)
{
	if (from == NULL)
		return;
	keep((char *)(uintptr_t)from);
	if (*to == NULL)
		*to = from;
}

/* What the command line says counts more. */
static int
use_login_path(struct cli_common *common, struct cli_error *error)
{
	struct found found = { LOCKQ_CONNECTION_INIT, 0 };
	struct lockq_connection *connection = &common->connection;
	int rc = run_reader(&found, common, error);

	use(&connection->host, found.connection.host);
	use(&connection->socket, found.connection.socket);
	use(&connection->user, found.connection.user);
	use(&connection->password, found.connection.password);
	if (connection->port == 0)
		connection->port = found.connection.port;
	return rc;
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
	return common->login_path != NULL ? use_login_path(common, error) : 0;
}
