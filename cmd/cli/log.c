/* SPDX-License-Identifier: MIT */
#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "cli/json.h"

static bool
is_syslog(const struct cli_common *common)
{
	return strcmp(common->log, "syslog") == 0;
}

/* Opened for each line: so a file that logrotate has renamed gets no more of them, and no process
 * that the program leaves behind has it open. A pipe that nobody reads, or that is full, must not
 * stop the program. */
static int
open_log(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
	    S_IRUSR | S_IWUSR | S_IRGRP);
}

int
cli_log_check(struct cli_common *common, struct cli_error *error)
{
	const char *named = getenv("LOCKQ_LOG");
	int fd;

	if (common->log == NULL && named != NULL && named[0] != '\0')
		common->log = named;
	if (common->log == NULL || is_syslog(common))
		return 0;
	fd = open_log(common->log);
	if (fd < 0)
		return cli_fail(error, "log \"%s\" can't be written: %s", common->log,
		    strerror(errno));
	close(fd);
	return 0;
}

static const char *
result(int code)
{
	switch ((enum lockq_rc)code) {
	case LOCKQ_OK: return "ok";
	case LOCKQ_NOTHING: return "nothing";
	case LOCKQ_BUSY: return "busy";
	case LOCKQ_CANCELLED: return "cancelled";
	case LOCKQ_EUSAGE: return "usage";
	case LOCKQ_EREFUSED: return "refused";
	case LOCKQ_EDATABASE: return "database";
	case LOCKQ_EQUERY: return "query";
	case LOCKQ_EUNKNOWN: return "unknown";
	case LOCKQ_ENOMEM: break;
	}
	return "memory";
}

static json_t *
text_or_null(const char *text)
{
	return text[0] != '\0' ? cli_json_text(text) : json_null();
}

static json_t *
number_or_null(uint64_t number)
{
	return number > 0 ? cli_json_number(number) : json_null();
}

/* By the clock of this machine, as other logs are. */
static json_t *
now(void)
{
	struct timespec time;
	struct tm utc;
	char seconds[32];

	if (clock_gettime(CLOCK_REALTIME, &time) != 0 || gmtime_r(&time.tv_sec, &utc) == NULL ||
	    strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc) == 0)
		return json_null();
	return json_sprintf("%s.%03ldZ", seconds, time.tv_nsec / 1000000);
}

static char *
line_of(const struct cli_common *common, const struct lockq_log *log)
{
	json_t *object = json_object();
	bool ended = log->kind == LOCKQ_LOG_END;

	cli_json_set(object, "at", now());
	cli_json_set(object, "program", cli_json_text(common->connection.program));
	cli_json_set(object, "pid", json_integer(getpid()));
	cli_json_set(object, "event", cli_json_text(ended ? "end" : "failure"));
	cli_json_set(object, "operation", cli_json_text(log->operation));
	cli_json_set(object, "user", text_or_null(log->user));
	cli_json_set(object, "task", number_or_null(log->task));
	if (ended) {
		cli_json_set(object, "result", cli_json_text(result(log->code)));
		cli_json_set(object, "request_id", number_or_null(log->request_id));
	}
	cli_json_set(object, "attempt", cli_json_number(log->attempt));
	cli_json_set(object, "ms", cli_json_number(log->ms));
	if (ended) {
		cli_json_set(object, "lock_wait_ms", cli_json_number(log->lock_wait_ms));
		cli_json_set(object, "lock_waits", cli_json_number(log->lock_waits));
		cli_json_set(object, "deadlocks", cli_json_number(log->deadlocks));
	} else {
		cli_json_set(object, "statement_ms", cli_json_number(log->statement_ms));
	}
	cli_json_set(object, "number", number_or_null(log->number));
	cli_json_set(object, "sqlstate", text_or_null(log->sqlstate));
	cli_json_set(object, "statement", text_or_null(log->statement));
	return cli_json_line(object);
}

/* One write(), so lines of several processes don't mix. What can't be logged is not: the program
 * does its work all the same. */
static void
append(const char *path, char *line)
{
	size_t length = strlen(line);
	int fd = open_log(path);
	ssize_t written = 0;

	if (fd < 0)
		return;
	line[length] = '\n'; /* in the place of its end */
	written = write(fd, line, length + 1);
	line[length] = '\0';
	(void)written;
	close(fd);
}

static void
on_log(const struct lockq_log *log, void *data)
{
	const struct cli_common *common = data;
	char *line = line_of(common, log);

	if (is_syslog(common)) {
		openlog(common->connection.program, LOG_PID, LOG_USER);
		syslog(log->kind == LOCKQ_LOG_END ? LOG_INFO : LOG_NOTICE, "%s", line);
		closelog();
	} else {
		append(common->log, line);
	}
	free(line);
}

void
cli_log(const struct cli_common *common, struct lockq *q)
{
	if (common->log != NULL && q != NULL)
		lockq_on_log(q, on_log, (void *)(uintptr_t)common);
}
