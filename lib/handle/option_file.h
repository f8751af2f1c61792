/* SPDX-License-Identifier: MIT */
/* Reads MySQL's option files, in the format of "Using Option Files" in MySQL's manual, for either
 * client library. MySQL's own reader ignores what it can't use; this one refuses it. */
#ifndef LOCKQ_OPTION_FILE_H
#define LOCKQ_OPTION_FILE_H

#include "db/db.h"

/* One line of a group that was asked for. */
struct option {
	const char *group;   /* without the suffix */
	const char *key;     /* with dashes, also where the file has underscores */
	const char *value;   /* without quotes and escapes; NULL: the line has no "=" */
};

/* Takes an option, or formats @error, without the file's name, and returns DB_EFAIL. */
typedef enum db_rc option_fn(const struct option *option, void *data, char error[512]);

struct option_files {
	const char *file;           /* the only file to read; NULL: the usual ones */
	const char *suffix;         /* of more groups to read; NULL: MYSQL_GROUP_SUFFIX, or none */
	const char *const *groups;  /* NULL ends them */
	option_fn *take;
	void *data;                 /* of @take */
	char error[1024];           /* after DB_EFAIL; it names the file and the line */
	char warning[1024];         /* a file with a password that everybody may read; or "" */
	char read[512];             /* the files that were read, as "A", "B"; or "" */
	unsigned int n_read;        /* so many are in @read, or would be */
};

/* Gives the options to @files->take in the order in which they stand, so that a later one counts.
 * The usual files are /etc/my.cnf, /etc/mysql/my.cnf, my.cnf in MYSQL_HOME, and ~/.my.cnf; one that
 * is missing or may not be read is passed over, as MySQL does. Returns DB_EFAIL or DB_ENOMEM. */
LOCKQ_MUST_CHECK enum db_rc option_files_read(struct option_files *files);

#endif
