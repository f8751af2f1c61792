/* SPDX-License-Identifier: MIT */
/* Reads option files line by line: comments, groups, "key = value", !include and !includedir. */
#include "handle/option_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* So many files may include one another, so many are read in all, and so many bytes of each. A file
 * that includes itself ends here, and so does a device that never ends. */
enum { DEEPEST = 10, MOST_FILES = 1000, LARGEST = 256 * 1024 };

static const char blank[] = " \t\r\n\f\v";

/* A file that is being read. */
struct reading {
	struct option_files *files;
	const char *path;
	unsigned int line;
	unsigned int depth;      /* how many files include it, one the other */
	bool in_group;           /* a group's name has come */
	const char *group;       /* the group that was asked for; NULL: another one */
	bool has_password;       /* in a group that was asked for */
};

static enum db_rc read_file(struct option_files *files, const char *path,
    struct reading *included_by, bool may_fail);

/* Sets the error to "option file "FILE", line N: …". */
__attribute__((format(printf, 2, 3))) static enum db_rc
refuse(struct reading *reading, const char *format, ...)
{
	struct option_files *files = reading->files;
	va_list args;
	int n = snprintf(files->error, sizeof(files->error), "option file \"%s\", line %u: ",
	    reading->path, reading->line);

	if (n < 0 || (size_t)n >= sizeof(files->error))
		return DB_EFAIL;
	va_start(args, format);
	vsnprintf(files->error + n, sizeof(files->error) - (size_t)n, format, args);
	va_end(args);
	return DB_EFAIL;
}

/* Refuses a whole file; where another file includes it, the error names that line first. */
__attribute__((format(printf, 3, 4))) static enum db_rc
refuse_file(struct option_files *files, struct reading *included_by, const char *format, ...)
{
	char why[sizeof(files->error)];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (included_by != NULL)
		return refuse(included_by, "%s", why);
	memcpy(files->error, why, sizeof(why));
	return DB_EFAIL;
}

static enum db_rc
no_memory(struct option_files *files)
{
	snprintf(files->error, sizeof(files->error), "out of memory");
	return DB_ENOMEM;
}

/* Tells errno. Without memory there is no fault in the file. */
static enum db_rc
unreadable(struct option_files *files, struct reading *included_by, const char *what,
    const char *path)
{
	if (errno == ENOMEM)
		return no_memory(files);
	return refuse_file(files, included_by, "the %s \"%s\" can't be read: %s", what, path,
	    strerror(errno));
}

/* Cuts the blanks after @text off, and returns where the blanks before it end. */
static char *
trim(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && strchr(blank, text[n - 1]) != NULL)
		n--;
	text[n] = '\0';
	return text + strspn(text, blank);
}

/* Cuts a comment off that begins after an option. A # in quotes begins none. */
static void
cut_comment(char *text)
{
	char quote = '\0';

	for (; *text != '\0'; text++) {
		if (*text == '#' && quote == '\0') {
			*text = '\0';
			return;
		}
		if (*text == '\\' && quote != '\0' && text[1] != '\0')
			text++;
		else if (quote == '\0' && (*text == '"' || *text == '\''))
			quote = *text;
		else if (*text == quote)
			quote = '\0';
	}
}

/* Removes the quotes around a value and replaces its escapes, in place. */
static char *
unquote(char *value)
{
	static const char escapes[] = "ntrbs\"'\\", meant[] = "\n\t\r\b \"'\\";
	size_t n = strlen(value);
	char *to;

	if (n > 1 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0]) {
		value[n - 1] = '\0';
		value++;
	}
	to = value;
	for (const char *from = value; *from != '\0'; from++) {
		const char *escape = from[0] == '\\' && from[1] != '\0' ?
		    strchr(escapes, from[1]) : NULL;

		if (escape != NULL)
			from++;
		*to++ = escape != NULL ? meant[escape - escapes] : *from;
	}
	*to = '\0';
	return value;
}

/* Finds which of the groups that were asked for @name is, without or with the suffix. */
static const char *
group_asked_for(const struct option_files *files, const char *name)
{
	for (const char *const *group = files->groups; *group != NULL; group++) {
		size_t n = strlen(*group);

		if (strncasecmp(name, *group, n) == 0 && (name[n] == '\0' ||
		    (files->suffix != NULL && strcasecmp(name + n, files->suffix) == 0)))
			return *group;
	}
	return NULL;
}

static enum db_rc
read_group(struct reading *reading, char *line)
{
	char *end = strchr(line, ']');

	if (end == NULL)
		return refuse(reading, "the group's name has no \"]\" after it");
	*end = '\0';
	reading->in_group = true;
	reading->group = group_asked_for(reading->files, trim(line + 1));
	return DB_OK;
}

static enum db_rc
read_option(struct reading *reading, char *line)
{
	struct option option = { .group = reading->group };
	char why[512], *value;
	enum db_rc rc;

	if (!reading->in_group)
		return refuse(reading, "an option stands before the first group: put a line such "
		    "as [client] above it");
	if (reading->group == NULL)
		return DB_OK;
	cut_comment(line);
	value = strchr(line, '=');
	if (value != NULL) {
		*value = '\0';
		option.value = unquote(trim(value + 1));
	}
	option.key = trim(line);
	for (char *c = line; *c != '\0'; c++) {
		if (*c == '_')
			*c = '-';
	}
	rc = reading->files->take(&option, reading->files->data, why);
	if (rc == DB_EFAIL)
		return refuse(reading, "%s", why);
	if (rc == DB_OK && strcmp(option.key, "password") == 0 && option.value != NULL &&
	    option.value[0] != '\0')
		reading->has_password = true;
	return rc == DB_ENOMEM ? no_memory(reading->files) : rc;
}

static int
is_cnf(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n >= 4 && strcmp(entry->d_name + n - 4, ".cnf") == 0;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static enum db_rc
read_folder(struct reading *reading, const char *folder)
{
	struct dirent **entries = NULL;
	const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
	int n = scandir(folder, &entries, is_cnf, by_name);
	enum db_rc rc = DB_OK;

	if (n < 0)
		return unreadable(reading->files, reading, "directory", folder);
	for (int i = 0; i < n; i++) {
		char path[4096];

		int length = snprintf(path, sizeof(path), "%s%s%s", folder, slash,
		    entries[i]->d_name);

		if (rc == DB_OK && length > 0 && (size_t)length < sizeof(path))
			rc = read_file(reading->files, path, reading, true);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

/* Reads "!include FILE" and "!includedir DIRECTORY". */
static enum db_rc
read_include(struct reading *reading, char *line)
{
	char *word = line + 1 + strspn(line + 1, blank);
	size_t n = strcspn(word, blank);
	char *path = word + n + strspn(word + n, blank);
	bool folder = n == 10 && strncmp(word, "includedir", n) == 0;

	if (!folder && !(n == 7 && strncmp(word, "include", n) == 0))
		return refuse(reading, "\"!%.*s\" is unknown: use !include FILE or "
		    "!includedir DIRECTORY", (int)n, word);
	if (path[0] == '\0')
		return refuse(reading, "!%.*s has no path after it", (int)n, word);
	if (reading->depth + 1 >= DEEPEST)
		return refuse(reading, "this is the %dth file that includes another: one of them "
		    "may include itself", DEEPEST);
	return folder ? read_folder(reading, path) :
	    read_file(reading->files, path, reading, false);
}

static enum db_rc
read_line(struct reading *reading, char *line, size_t n)
{
	if (strlen(line) != n)
		return refuse(reading, "the line has a NUL byte: this is no option file");
	line = trim(line);
	switch (line[0]) {
	case '\0':
	case '#':
	case ';':
		return DB_OK;
	case '!':
		return read_include(reading, line);
	case '[':
		return read_group(reading, line);
	default:
		return read_option(reading, line);
	}
}

static enum db_rc
read_lines(struct reading *reading, char *text, size_t n)
{
	enum db_rc rc = DB_OK;
	/* Editors write a mark before the first line of a file in UTF-8. */
	static const char mark[] = "\xef\xbb\xbf";
	char *line = text, *end = text + n;

	*end = '\0';
	if (strncmp(text, mark, sizeof(mark) - 1) == 0)
		line += sizeof(mark) - 1;
	while (rc == DB_OK && line < end) {
		char *line_end = memchr(line, '\n', (size_t)(end - line));

		if (line_end == NULL)
			line_end = end;
		*line_end = '\0';
		reading->line++;
		rc = read_line(reading, line, (size_t)(line_end - line));
		line = line_end + 1;
	}
	return rc;
}

static enum db_rc
read_text(struct reading *reading, FILE *file, struct reading *included_by)
{
	char *text = malloc(LARGEST + 1);
	enum db_rc rc;
	size_t n;

	if (text == NULL)
		return no_memory(reading->files);
	n = fread(text, 1, LARGEST + 1, file);
	if (ferror(file))
		rc = unreadable(reading->files, included_by, "option file", reading->path);
	else if (n > LARGEST)
		rc = refuse_file(reading->files, included_by, "\"%s\" is no option file: it has "
		    "more than %d bytes", reading->path, LARGEST);
	else
		rc = read_lines(reading, text, n);
	free(text);
	return rc;
}

static void
note_read(struct option_files *files, const char *path)
{
	size_t n = strlen(files->read);

	snprintf(files->read + n, sizeof(files->read) - n, "%s\"%s\"", n > 0 ? ", " : "", path);
}

static bool
is_missing(int number)
{
	return number == ENOENT || number == ENOTDIR || number == EACCES;
}

/* @included_by is NULL for a file that no other includes. If @may_fail, the file is passed over
 * where it is missing or may not be read, as MySQL does. */
static enum db_rc
read_file(struct option_files *files, const char *path, struct reading *included_by, bool may_fail)
{
	struct reading reading = { .files = files, .path = path,
		.depth = included_by != NULL ? included_by->depth + 1 : 0 };
	FILE *file = fopen(path, "r");
	struct stat status;
	enum db_rc rc;

	if (file == NULL || fstat(fileno(file), &status) != 0) {
		rc = may_fail && is_missing(errno) ? DB_OK :
		    unreadable(files, included_by, "option file", path);
	} else if (S_ISDIR(status.st_mode)) {
		rc = refuse_file(files, included_by, "\"%s\" is a directory, not an option file",
		    path);
	} else if (S_ISREG(status.st_mode) && (status.st_mode & S_IWOTH) != 0) {
		rc = refuse_file(files, included_by, "the option file \"%s\" can be written by "
		    "every user: run chmod o-w on it", path);
	} else if (++files->n_read > MOST_FILES) {
		rc = refuse_file(files, included_by, "more than %d option files are included: one "
		    "of them may include itself", MOST_FILES);
	} else {
		note_read(files, path);
		rc = read_text(&reading, file, included_by);
		if (reading.has_password && (status.st_mode & S_IROTH) != 0)
			snprintf(files->warning, sizeof(files->warning), "the option file \"%s\" "
			    "has a password and can be read by every user: run chmod o-r on it",
			    path);
	}
	if (file != NULL)
		fclose(file);
	return rc;
}

/* Reads a usual file in the directory that an environment variable names. */
static enum db_rc
read_in(struct option_files *files, const char *variable, const char *name)
{
	const char *folder = getenv(variable);
	char path[4096];
	int n;

	if (folder == NULL || folder[0] == '\0')
		return DB_OK;
	n = snprintf(path, sizeof(path), "%s/%s", folder, name);
	return n > 0 && (size_t)n < sizeof(path) ? read_file(files, path, NULL, true) : DB_OK;
}

enum db_rc
option_files_read(struct option_files *files)
{
	enum db_rc rc;

	if (files->suffix == NULL)
		files->suffix = getenv("MYSQL_GROUP_SUFFIX");
	if (files->file != NULL)
		return read_file(files, files->file, NULL, false);
	rc = read_file(files, "/etc/my.cnf", NULL, true);
	if (rc == DB_OK)
		rc = read_file(files, "/etc/mysql/my.cnf", NULL, true);
	if (rc == DB_OK)
		rc = read_in(files, "MYSQL_HOME", "my.cnf");
	if (rc == DB_OK)
		rc = read_in(files, "HOME", ".my.cnf");
	return rc;
}
