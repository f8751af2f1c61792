/* SPDX-License-Identifier: MIT */
/*
 * libmysqlclient reads option files by itself, but it knows neither login paths nor group suffixes,
 * and it silently ignores ssl-mode. my_print_defaults knows all three, and runs where one is used.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_connection.h"
#include "cli_values.h"

extern char **environ;

#define READER "my_print_defaults"
#define QUERY_GROUP "lockq_query"

/* The arguments of a run of my_print_defaults. */
struct wanted {
	const char *login_path;   /* or NULL */
	const char *groups[3];    /* NULL ends them */
	const char *need;         /* for messages: the option that needs the run */
};

/* The options that it printed. */
struct found {
	struct lockq_connection connection;
	char *other;             /* the first option that can't be used here; or NULL */
	size_t n;                /* number of options that can be used */
};
#define FOUND_NOTHING { LOCKQ_CONNECTION_INIT, NULL, 0 }

/* Texts that the options point to. They are freed at exit. */
static char *kept[32];
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

/* The client library looks for a file name without a slash in /etc, not in the current directory.
 * Returns NULL with @error if the current directory has no name, as when it was removed. */
static char *
absolute(const char *path, const char *where, struct cli_error *error)
{
	char *here, *whole = NULL;

	if (path[0] == '/')
		return cli_text("%s", path);
	here = cli_alloc(4096);
	if (getcwd(here, 4096) != NULL)
		whole = cli_text("%s/%s", here, path);
	else
		cli_fail(error, "%s \"%s\" can't be found, since the current directory has no "
		    "name (%s): give the whole path of the file", where, path, strerror(errno));
	free(here);
	return whole;
}

/* The client library silently ignores a file that it can't use. */
static int
check_file(const char *path, const char *where, struct cli_error *error)
{
	struct stat status;

	if (stat(path, &status) != 0 || access(path, R_OK) != 0)
		return cli_fail(error, "%s \"%s\" can't be read: %s", where, path, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return cli_fail(error, "%s \"%s\" is a directory, not an option file", where, path);
	if (S_ISREG(status.st_mode) && (status.st_mode & S_IWOTH) != 0)
		return cli_fail(error, "%s \"%s\" can be written by every user, so MySQL would "
		    "ignore it: run chmod o-w on it", where, path);
	return 0;
}

/* Frees a value that take_line() made. */
static void
drop(const char **value)
{
	free((void *)(uintptr_t)*value);
	*value = NULL;
}

/* Takes a line such as "--host=db", which replaces an earlier one. Returns whether it is of use. */
static bool
take_line(struct lockq_connection *found, const char *line)
{
	const struct {
		const char *key;
		const char **value;
	} keys[] = {
		{ "--host=", &found->host },
		{ "--socket=", &found->socket },
		{ "--user=", &found->user },
		{ "--password=", &found->password },
		{ "--database=", &found->database },
		{ "--ssl-mode=", &found->ssl_mode },
		{ "--ssl_mode=", &found->ssl_mode },
	};
	uint64_t port;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strncmp(line, keys[i].key, strlen(keys[i].key)) != 0)
			continue;
		drop(keys[i].value);
		*keys[i].value = cli_text("%s", line + strlen(keys[i].key));
		return true;
	}
	if (strncmp(line, "--port=", 7) != 0 || cli_number(&port, line + 7) != 0 || port > 65535)
		return false;
	found->port = (unsigned int)port;
	return true;
}

static void
take(struct found *found, const char *line)
{
	if (strncmp(line, "--", 2) != 0)
		return;
	if (take_line(&found->connection, line))
		found->n++;
	else if (found->other == NULL)
		found->other = cli_text("%.*s", (int)strcspn(line + 2, "="), line + 2);
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

/* The arguments of my_print_defaults, each to be freed; returns how many. */
static size_t
reader_arguments(char **arguments, const struct cli_common *common, const struct wanted *wanted)
{
	const char *file = common->connection.defaults_file;
	size_t n = 0, i;

	arguments[n++] = cli_text("%s", READER);
	if (file != NULL)
		arguments[n++] = cli_text("--defaults-file=%s", file);
	if (common->group_suffix != NULL)
		arguments[n++] = cli_text("--defaults-group-suffix=%s", common->group_suffix);
	if (wanted->login_path != NULL)
		arguments[n++] = cli_text("--login-path=%s", wanted->login_path);
	arguments[n++] = cli_text("--show");
	for (i = 0; wanted->groups[i] != NULL; i++)
		arguments[n++] = cli_text("%s", wanted->groups[i]);
	return n;
}

/* Fills @found from the option files. */
static int
read_defaults(struct found *found, const struct cli_common *common, const struct wanted *wanted,
    struct cli_error *error)
{
	enum { MOST = 10 };
	char *arguments[MOST] = { NULL };
	size_t n = reader_arguments(arguments, common, wanted), i;
	int output = -1, rc;
	pid_t pid = -1;

	rc = start_reader(&pid, &output, arguments);
	for (i = 0; i < n; i++)
		free(arguments[i]);
	if (rc != 0)
		return cli_fail(error, "%s needs the program \"" READER "\" of the MySQL client: "
		    "%s", wanted->need, strerror(rc));
	rc = finish_reader(pid, output, found);
	if (rc == 127)
		return cli_fail(error, "the program \"" READER "\" can't be run: install the MySQL "
		    "client");
	if (rc != 0)
		return cli_fail(error, "%s needs the program \"" READER "\" of the MySQL client: "
		    "the one that was found failed, MariaDB's can't be used", wanted->need);
	return 0;
}

static void
drop_all(struct found *found)
{
	drop(&found->connection.host);
	drop(&found->connection.socket);
	drop(&found->connection.user);
	drop(&found->connection.password);
	drop(&found->connection.database);
	drop(&found->connection.ssl_mode);
	free(found->other);
	found->other = NULL;
}

static void
move(const char **to, const char **from)
{
	if (*to != NULL || *from == NULL)
		return;
	*to = keep((char *)(uintptr_t)*from);
	*from = NULL;
}

/* Fills in the members that the command line left open. */
static void
fill(struct lockq_connection *connection, struct lockq_connection *found)
{
	if (connection->port == 0)
		connection->port = found->port;
	move(&connection->host, &found->host);
	move(&connection->socket, &found->socket);
	move(&connection->user, &found->user);
	move(&connection->password, &found->password);
	move(&connection->database, &found->database);
	move(&connection->ssl_mode, &found->ssl_mode);
}

enum mention {
	MENTIONS_NOTHING = 0,
	MENTIONS_FILES,    /* includes others, which may have it */
	MENTIONS_IT
};

/* Whether @line, without its indentation, is the line that is looked for. */
typedef bool line_fn(const char *line);

static bool
is_ssl_mode(const char *line)
{
	return strncmp(line, "ssl-mode", 8) == 0 || strncmp(line, "ssl_mode", 8) == 0;
}

/* Also with a suffix, as in [lockq_query_test]. */
static bool
is_query_group(const char *line)
{
	return strncmp(line, "[" QUERY_GROUP, sizeof(QUERY_GROUP)) == 0;
}

/* Whether a file may have such a line. Most have none, and then my_print_defaults need not run. */
static enum mention
mentions(const char *path, line_fn *is_it)
{
	enum mention found = MENTIONS_NOTHING;
	struct stat status;
	char *line = NULL;
	const char *word;
	size_t size = 0;
	FILE *file;

	/* a pipe can be read only once, and the client library has to read it */
	if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return found;
	file = fopen(path, "r");
	if (file == NULL)
		return found;
	while (found != MENTIONS_IT && getline(&line, &size, file) >= 0) {
		word = line + strspn(line, " \t");
		if (is_it(word))
			found = MENTIONS_IT;
		else if (strncmp(word, "!include", 8) == 0)
			found = MENTIONS_FILES;
	}
	free(line);
	fclose(file);
	return found;
}

/* The same for @file, or for MySQL's usual files where it is NULL. */
static enum mention
mentioned(const char *file, line_fn *is_it)
{
	const char *home = getenv("HOME");
	char *own = cli_text("%s/.my.cnf", home != NULL ? home : "");
	const char *const usual[] = { "/etc/my.cnf", "/etc/mysql/my.cnf", own };
	enum mention most = MENTIONS_NOTHING, one;
	size_t i;

	if (file != NULL)
		most = mentions(file, is_it);
	for (i = 0; file == NULL && i < sizeof(usual) / sizeof(usual[0]); i++) {
		one = mentions(usual[i], is_it);
		if (one > most)
			most = one;
	}
	free(own);
	return most;
}

/* Reads the options that a file mentions. A failure counts only where the line itself was seen: an
 * included file may not have it. */
static int
read_mentioned(struct found *found, const struct cli_common *common, line_fn *is_it,
    const struct wanted *wanted, struct cli_error *error)
{
	enum mention mention = mentioned(common->connection.defaults_file, is_it);
	int rc = mention == MENTIONS_NOTHING ? 0 : read_defaults(found, common, wanted, error);

	return mention == MENTIONS_IT ? rc : 0;
}

int
cli_connection(struct cli_common *common, const char *group, struct cli_error *error)
{
	struct found found = FOUND_NOTHING;
	struct wanted wanted = {
		common->login_path, { "client", group != NULL ? group : "lockq", NULL },
		"ssl-mode in an option file"
	};
	struct lockq_connection *connection = &common->connection;
	const char *file = common->defaults_file, *where = "--defaults-file";
	char *path;
	int rc = 0;

	if (file == NULL) {
		file = getenv("LOCKQ_DEFAULTS_FILE");
		where = "LOCKQ_DEFAULTS_FILE";
		if (file != NULL && file[0] == '\0')
			file = NULL;
	}
	if (file != NULL) {
		rc = check_file(file, where, error);
		if (rc != 0)
			return rc;
		path = absolute(file, where, error);
		if (path == NULL)
			return -1;
		connection->defaults_file = keep(path);
	}
	connection->defaults_group = group;
	if (common->group_suffix != NULL || common->login_path != NULL) {
		wanted.need = common->login_path != NULL ? "--login-path" :
		    "--defaults-group-suffix";
		rc = read_defaults(&found, common, &wanted, error);
		if (rc == 0)
			fill(connection, &found.connection);
	} else if (connection->ssl_mode == NULL) {
		rc = read_mentioned(&found, common, is_ssl_mode, &wanted, error);
		if (rc == 0)
			move(&connection->ssl_mode, &found.connection.ssl_mode);
	}
	drop_all(&found);
	return rc;
}

int
cli_query_connection(struct cli_common *common, struct cli_error *error)
{
	/* Without the login path: its options would look like the group's. */
	static const struct wanted wanted = { NULL, { QUERY_GROUP, NULL },
		"[" QUERY_GROUP "] in an option file" };
	struct found found = FOUND_NOTHING;
	int rc = read_mentioned(&found, common, is_query_group, &wanted, error);

	if (rc == 0 && found.other != NULL)
		rc = cli_fail(error, "%s: \"%s\" can't be used as it stands there: the group takes "
		    "host, port, socket, user, password, database and ssl-mode", wanted.need,
		    found.other);
	if (rc == 0 && found.n > 0) {
		fill(&common->query, &found.connection);
		common->queries_elsewhere = true;
	}
	drop_all(&found);
	return rc;
}
