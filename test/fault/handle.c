/* SPDX-License-Identifier: MIT */
/* Scenarios of the handle itself: it is made, reads option files, and connects. */
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "support.h"

static int
make(struct run *run)
{
	struct lockq *q = NULL;
	int code = lockq_new(&q);

	say(run, "%s", q != NULL ? "made" : "none");
	lockq_free(q);
	return code;
}

static int
prepare_library(struct run *run)
{
	(void)run;
	return lockq_library_init();
}

/* A file that includes another one and a folder, so each way to read is taken. */
static void
option_files(struct run *run)
{
	static char main_file[4096];
	FILE *file;

	(void)run;
	if (main_file[0] != '\0')
		return;
	assert_int_equal(folder_make(), 0);
	file = fopen(path_of("more.cnf"), "w");
	assert_non_null(file);
	fprintf(file, "[lockq]\nlockq-user = tracy\nlockq-task = 7\n");
	fclose(file);
	snprintf(main_file, sizeof(main_file), "%s", path_of("main"));
	file = fopen(main_file, "w");
	assert_non_null(file);
	fprintf(file, "[client]\nhost = localhost\npassword = \"a b\"\n[lockq_query]\n"
	    "host = other\n!includedir %s\n", folder_path());
	fclose(file);
}

static int
read_options(struct run *run)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;
	char path[4096];
	int code;

	snprintf(path, sizeof(path), "%s", path_of("main"));
	where.defaults_file = path;
	code = run->q == NULL ? lockq_new(&run->q) : LOCKQ_OK;
	if (code == LOCKQ_OK)
		code = lockq_read_options(run->q, &where);
	if (code == LOCKQ_OK)
		say(run, "%s %u %d %s", lockq_option_user(run->q), lockq_option_task(run->q),
		    lockq_option_no_refill(run->q), lockq_warning(run->q));
	return code;
}

static int
connect_anew(struct run *run)
{
	struct lockq_connection where = worker_where();
	int code = run->q == NULL ? lockq_new(&run->q) : LOCKQ_OK;

	where.connect_timeout_ms = 500;
	return code == LOCKQ_OK ? lockq_connect(run->q, &where) : code;
}

static int
query_at(struct run *run)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;

	where.user = "somebody";
	where.host = "elsewhere";
	return lockq_query_at(run->q, &where);
}

static int
forgets(const struct lockq_progress *progress, void *data)
{
	(void)progress;
	(void)data;
	return 0;
}

static void
hears(const struct lockq_log *log, void *data)
{
	(void)log;
	(void)data;
}

/* These allocate nothing and ask no server. */
static int
set_up(struct run *run)
{
	lockq_on_progress(run->q, forgets, NULL);
	lockq_on_log(run->q, hears, NULL);
	lockq_on_overtime(run->q, NULL, NULL);
	lockq_look_timeout(run->q, 1000);
	say(run, "%s %s %s %s", lockq_version(), lockq_status_name(LOCKQ_SERVED),
	    lockq_error(run->q), lockq_error_detail(run->q));
	lockq_free(NULL);
	return LOCKQ_OK;
}

const struct scenario handle_scenarios[] = {
	{ "lockq_library_init", "", .unconnected = true, .call = prepare_library },
	{ "lockq_new", "", .call = make, .unconnected = true },
	{ "lockq_read_options", "", .prepare = option_files, .call = read_options,
	  .unconnected = true },
	{ "lockq_connect", "", .call = connect_anew, .unconnected = true },
	{ "lockq_query_at", "", .call = query_at },
	{ "lockq_on_progress", "and others", .call = set_up },
	{ .function = NULL }
};
