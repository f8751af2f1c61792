/* SPDX-License-Identifier: MIT */
/*
 * Where the database is: option files and login paths. libmysqlclient reads option files by itself,
 * but knows neither login paths nor group suffixes, and passes over ssl-mode without a word.
 * my_print_defaults knows them all.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

extern char **environ;

#define READER "my_print_defaults"

/* What options point to is freed when the process ends, on whichever way. */
static char *kept[16];
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

/* The client library looks for a name without a slash in /etc, not here. */
static char *
absolute(const char *path)
{
	char *here, *whole;

	if (path[0] == '/')
		return cli_text("%s", path);
	here = cli_alloc(4096);
	if (getcwd(here, 4096) == NULL)
		here[0] = '\0';
	whole = cli_text("%s/%s", here, path);
	free(here);
	return whole;
}

/* The client library passes over a file that it can't use, without a word. */
static int
check_file(const char *path, const char *where, struct cli_error *error)
{
	struct stat status;

	if (stat(path, &status) != 0 || access(path, R_OK) != 0)
		return cli_fail(error, "%s %s: %s", where, path, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return cli_fail(error, "%s %s: is a directory", where, path);
	if (S_ISREG(status.st_mode) && (status.st_mode & S_IWOTH) != 0)
		return cli_fail(error, "%s %s: everybody may write it, so MySQL would ignore it: "
		    "chmod o-w it", where, path);
	return 0;
}

/* Frees a value that take_line() made. */
static void
drop(const char **value)
{
	free((void *)(uintptr_t)*value);
	*value = NULL;
}

/* One line "--host=…" of my_print_defaults. Later lines win, the command line before all. */
static void
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
	}
	if (strncmp(line, "--port=", 7) == 0 && cli_number(&port, line + 7) == 0 && port < 65536)
		found->port = (unsigned int)port;
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

/* Reads what it prints, and its exit status. */
static int
finish_reader(pid_t pid, int output, struct lockq_connection *found)
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
			take_line(found, line);
		}
		fclose(lines);
	}
	if (line != NULL)
		memset(line, 0, size); /* the last one may be a password */
	free(line);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The arguments of my_print_defaults, each to be freed; returns how many. */
static size_t
reader_arguments(char **arguments, const struct cli_common *common, const char *group)
{
	const char *file = common->connection.defaults_file;
	size_t n = 0;

	arguments[n++] = cli_text("%s", READER);
	if (file != NULL)
		arguments[n++] = cli_text("--defaults-file=%s", file);
	if (common->group_suffix != NULL)
		arguments[n++] = cli_text("--defaults-group-suffix=%s", common->group_suffix);
	if (common->login_path != NULL)
		arguments[n++] = cli_text("--login-path=%s", common->login_path);
	arguments[n++] = cli_text("--show");
	arguments[n++] = cli_text("client");
	arguments[n++] = cli_text("lockq");
	if (group != NULL)
		arguments[n++] = cli_text("%s", group);
	return n;
}

/* Fills @found with what the option files say. @need names what can't be had without. */
static int
read_defaults(struct lockq_connection *found, const struct cli_common *common, const char *group,
    const char *need, struct cli_error *error)
{
	enum { MOST = 10 };
	char *arguments[MOST] = { NULL };
	size_t n = reader_arguments(arguments, common, group), i;
	int output = -1, rc;
	pid_t pid = -1;

	rc = start_reader(&pid, &output, arguments);
	for (i = 0; i < n; i++)
		free(arguments[i]);
	if (rc != 0)
		return cli_fail(error, "%s needs the program " READER " of the MySQL client: %s",
		    need, strerror(rc));
	rc = finish_reader(pid, output, found);
	if (rc == 127)
		return cli_fail(error, READER " can't be run: install the MySQL client");
	if (rc != 0)
		return cli_fail(error, READER " failed (MariaDB's knows no login paths)");
	return 0;
}

static void
drop_all(struct lockq_connection *found)
{
	drop(&found->host);
	drop(&found->socket);
	drop(&found->user);
	drop(&found->password);
	drop(&found->database);
	drop(&found->ssl_mode);
}

static void
move(const char **to, const char **from)
{
	if (*to != NULL)
		return;
	*to = keep((char *)(uintptr_t)*from);
	*from = NULL;
}

/* What the command line leaves open. */
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
	MENTIONS_FILES,    /* includes others, which may have an ssl-mode */
	MENTIONS_SSL_MODE
};

/* Whether a file may have an ssl-mode: most have none, and then no program need be run. */
static enum mention
mentions(const char *path)
{
	enum mention found = MENTIONS_NOTHING;
	struct stat status;
	char *line = NULL;
	const char *word;
	size_t size = 0;
	FILE *file;

	/* what is no regular file can be read only once */
	if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return found;
	file = fopen(path, "r");
	if (file == NULL)
		return found;
	while (found != MENTIONS_SSL_MODE && getline(&line, &size, file) >= 0) {
		word = line + strspn(line, " \t");
		if (strncmp(word, "ssl-mode", 8) == 0 || strncmp(word, "ssl_mode", 8) == 0)
			found = MENTIONS_SSL_MODE;
		else if (strncmp(word, "!include", 8) == 0)
			found = MENTIONS_FILES;
	}
	if (line != NULL)
		memset(line, 0, size); /* it may hold a password */
	free(line);
	fclose(file);
	return found;
}

/* The same of the file that is used, or of the usual ones. */
static enum mention
ssl_mode_mentioned(const char *file)
{
	const char *home = getenv("HOME");
	char *own = cli_text("%s/.my.cnf", home != NULL ? home : "");
	const char *const usual[] = { "/etc/my.cnf", "/etc/mysql/my.cnf", own };
	enum mention most = MENTIONS_NOTHING, one;
	size_t i;

	if (file != NULL)
		most = mentions(file);
	for (i = 0; file == NULL && i < sizeof(usual) / sizeof(usual[0]); i++) {
		one = mentions(usual[i]);
		if (one > most)
			most = one;
	}
	free(own);
	return most;
}

/* The ssl-mode of the option files; an error where there is one that can't be read. */
static int
find_ssl_mode(struct cli_common *common, const char *group, struct cli_error *error)
{
	struct lockq_connection found = LOCKQ_CONNECTION_INIT;
	enum mention mention = MENTIONS_NOTHING;
	int rc;

	if (common->connection.ssl_mode == NULL)
		mention = ssl_mode_mentioned(common->connection.defaults_file);
	if (mention == MENTIONS_NOTHING)
		return 0;
	rc = read_defaults(&found, common, group, "ssl-mode in an option file", error);
	if (rc == 0)
		move(&common->connection.ssl_mode, &found.ssl_mode);
	drop_all(&found);
	return mention == MENTIONS_SSL_MODE ? rc : 0;
}

int
cli_connection(struct cli_common *common, const char *group, struct cli_error *error)
{
	struct lockq_connection found = LOCKQ_CONNECTION_INIT;
	struct lockq_connection *connection = &common->connection;
	const char *file = common->defaults_file, *where = "--defaults-file";
	int rc;

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
		connection->defaults_file = keep(absolute(file));
	}
	connection->defaults_group = group;
	if (common->group_suffix == NULL && common->login_path == NULL)
		return find_ssl_mode(common, group, error);
	rc = read_defaults(&found, common, group, common->login_path != NULL ? "--login-path" :
	    "--defaults-group-suffix", error);
	if (rc == 0)
		fill(connection, &found);
	drop_all(&found);
	return rc;
}
