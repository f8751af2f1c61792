/* SPDX-License-Identifier: MIT */
/* The change feed: writes its lines, and tells what it waits for. */
#include "lockqstat/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/json.h"
#include "cli/table.h"

bool
lockqstat_follow_wanted(const struct lockqstat_follow *o)
{
	return o->cursor != NULL || o->cursors || o->drop != NULL || o->until_now || o->from_now ||
	    o->batch != 0;
}

int
lockqstat_follow_check(const struct lockqstat_follow *o, bool others, struct cli_error *error)
{
	if ((o->cursor != NULL) + o->cursors + (o->drop != NULL) + others > 1)
		return cli_fail(error, "--follow, --cursors and --drop-cursor can't be combined "
		    "with each other%s", others ? " or with other options" : "");
	if (o->cursor == NULL && (o->until_now || o->from_now || o->batch != 0))
		return cli_fail(error, "--until-now, --from-now and --batch need --follow");
	return 0;
}

/* --- the lines --- */

/* A write() of so many bytes to a pipe that poll() calls writable does not block. */
enum { PIECE = 512, SLICE_MS = 250, BUFFER = 4096 };

struct feed {
	char buffer[BUFFER];
	size_t used;
	bool begun;          /* a line was added */
	int failed;          /* errno of a write; 0: none */
	char *told, *again;  /* the last wait and the last failure that were told */
	const struct cli_common *common;
};

/* Writes to standard output, past stdio: what could not be written must not be written later, when
 * its changes are delivered again. A signal ends the wait for a reader that does not read. */
static int
write_out(struct feed *feed, const char *bytes, size_t n)
{
	while (n > 0 && feed->failed == 0) {
		struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
		ssize_t written;

		if (poll(&out, 1, SLICE_MS) <= 0) {
			if (cli_caught() != 0)
				return -1;
			continue;
		}
		written = write(STDOUT_FILENO, bytes, n < PIECE ? n : PIECE);
		if (written >= 0) {
			bytes += written;
			n -= (size_t)written;
		} else if (errno != EINTR && errno != EAGAIN) {
			feed->failed = errno;
		}
	}
	return feed->failed != 0 ? -1 : 0;
}

static int
flush(struct feed *feed)
{
	int rc = write_out(feed, feed->buffer, feed->used);

	feed->used = 0;
	return rc;
}

/* Whether standard output is a file whose last line lacks its end, since the process that wrote it
 * was killed, or the disk was full. The descriptor of a file that is appended to can't read it, so
 * it is opened anew. A file that can't be read passes for a whole one. */
static bool
follows_half_a_line(void)
{
	struct stat file;
	char last = '\n';
	off_t size = lseek(STDOUT_FILENO, 0, SEEK_CUR);
	int fd = -1;

	if (fstat(STDOUT_FILENO, &file) != 0 || !S_ISREG(file.st_mode))
		return false;
	if ((fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) != 0)
		size = file.st_size;
	if (size > 0)
		fd = open("/dev/stdout", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, &last, 1, size - 1) != 1)
		last = '\n';
	if (fd >= 0)
		close(fd);
	return last != '\n';
}

/* Not only at the end of a batch: a slow reader must not get all of it at once, see
 * lockq_change_fn. */
static int
add_line(struct feed *feed, const char *line)
{
	size_t n = strlen(line);
	int rc = 0;

	/* Or the first line would be the rest of that one, and be lost with it. */
	if (!feed->begun && follows_half_a_line())
		rc = write_out(feed, "\n", 1);
	feed->begun = true;
	if (rc == 0 && feed->used + n + 1 > BUFFER)
		rc = flush(feed);
	if (rc == 0 && n + 1 > BUFFER)
		rc = write_out(feed, line, n) != 0 ? -1 : write_out(feed, "\n", 1);
	else if (rc == 0) {
		memcpy(feed->buffer + feed->used, line, n);
		feed->buffer[feed->used + n] = '\n';
		feed->used += n + 1;
	}
	return rc;
}

static int
deliver(const struct lockq_change *change, void *data)
{
	struct feed *feed = data;
	json_t *object;
	char *line;
	int rc;

	if (change == NULL)
		return flush(feed);
	object = json_object();
	cli_json_set(object, "log_id", cli_json_number(change->log_id));
	cli_json_set(object, "task", cli_json_number(change->task));
	cli_json_set(object, "loan_id", cli_json_number(change->loan_id));
	cli_json_event(object, change->event);
	line = cli_json_line(object);
	rc = add_line(feed, line);
	free(line);
	return rc;
}

/* --- what is told --- */

enum { TELL_MS = 2000 }; /* a shorter wait is not worth a line */

static void
tell_once(char **told, const char *text)
{
	if (*told != NULL && strcmp(*told, text) == 0)
		return;
	free(*told);
	*told = cli_text("%s", text);
	cli_message("%s", text);
}

/* A failure is told at once, and again if it comes again. A wait is told when it lasts. */
static int
on_progress(const struct lockq_progress *progress, void *data)
{
	struct feed *feed = data;

	if (cli_caught() != 0)
		return 1;
	if (progress->phase == LOCKQ_PHASE_RETRY && progress->detail != NULL) {
		tell_once(&feed->again, progress->detail);
		return 0;
	}
	free(feed->again);
	feed->again = NULL;
	if (progress->detail != NULL && (feed->common->verbose || progress->phase_ms >= TELL_MS))
		tell_once(&feed->told, progress->detail);
	return 0;
}

/* --- what the options ask for --- */

static int
follow(const struct lockqstat_follow *o, const struct cli_common *common, struct lockq *q)
{
	struct lockq_follow what = LOCKQ_FOLLOW_INIT;
	struct lockq_followed done = LOCKQ_FOLLOWED_INIT;
	struct feed *feed = cli_alloc(sizeof(*feed));
	int rc;

	*feed = (struct feed){ .common = common };
	what.cursor = o->cursor;
	what.deliver = deliver;
	what.data = feed;
	what.from_now = o->from_now;
	what.until_now = o->until_now;
	if (o->batch != 0)
		what.batch = o->batch;
	cli_catch_signals("the last changes come again");
	lockq_on_progress(q, on_progress, feed);
	rc = lockq_follow(q, &what, &done);
	lockq_on_progress(q, NULL, NULL);
	if (feed->failed != 0 && feed->failed != EPIPE)
		cli_message("standard output can't be written: %s: the last changes come again",
		    strerror(feed->failed));
	/* After EPIPE nobody reads any more: whoever ended the reader knows. */
	rc = feed->failed != 0 ? CLI_EXIT_DATABASE :
	    rc == LOCKQ_CANCELLED ? cli_exit_status(rc, cli_caught()) : cli_looked(common, q, rc);
	if (common->verbose)
		cli_message("%llu change%s acknowledged, cursor \"%s\" at %llu",
		    (unsigned long long)done.changes, cli_plural(done.changes), o->cursor,
		    (unsigned long long)done.position);
	free(feed->told);
	free(feed->again);
	free(feed);
	return rc;
}

static void
text_cursors(const struct lockq_cursors *cursors)
{
	static const struct cli_column columns[] = {
		{ "cursor", 0 }, { "behind", CLI_RIGHT }, { "next change", CLI_RIGHT },
		{ "position", CLI_RIGHT | CLI_SPARE(1) }, { "moved", CLI_SPARE(2) },
		{ "made", CLI_SPARE(4) }, { "by", CLI_TEXT | CLI_SPARE(3) },
	};
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	size_t i;

	for (i = 0; i < cursors->n_cursors; i++) {
		const struct lockq_cursor *c = &cursors->cursors[i];
		struct cli_time moved = cli_local(c->moved_at);

		cli_table_cell(table, "%s", c->cursor);
		cli_table_cell(table, "%llu", (unsigned long long)c->lag);
		cli_table_cell(table, "%s", c->age_s < 0 ? "none" :
		    cli_age((uint64_t)c->age_s).text);
		cli_table_cell(table, "%llu", (unsigned long long)c->position);
		cli_table_cell(table, "%s", moved.text[0] != '\0' ? moved.text : "never");
		cli_table_cell(table, "%s", cli_local(c->made_at).text);
		cli_table_cell(table, "%s", c->account);
	}
	cli_table_print(table);
	cli_line("%zu %s", cursors->n_cursors, cursors->n_cursors == 1 ? "cursor" : "cursors");
}

static void
json_cursors(const struct lockq_cursors *cursors)
{
	for (size_t i = 0; i < cursors->n_cursors; i++) {
		const struct lockq_cursor *c = &cursors->cursors[i];
		json_t *object = json_object();

		cli_json_set(object, "cursor", cli_json_text(c->cursor));
		cli_json_set(object, "position", cli_json_number(c->position));
		cli_json_set(object, "lag", cli_json_number(c->lag));
		cli_json_set(object, "age_s", c->age_s < 0 ? json_null() :
		    cli_json_number((uint64_t)c->age_s));
		cli_json_set(object, "made_at", cli_json_time(c->made_at));
		cli_json_set(object, "moved_at", cli_json_time(c->moved_at));
		cli_json_set(object, "account", cli_json_text(c->account));
		cli_json_print(object);
	}
}

static int
show(const struct cli_common *common, struct lockq *q)
{
	struct lockq_cursors cursors = LOCKQ_CURSORS_INIT;
	int rc = lockq_cursors(q, &cursors);

	if (cli_has_answer(rc) && common->json)
		json_cursors(&cursors);
	else if (cli_has_answer(rc) && cursors.n_cursors > 0)
		text_cursors(&cursors);
	else if (cli_has_answer(rc))
		cli_line("there is no cursor: lockqstat --follow makes one");
	lockq_cursors_clear(&cursors);
	return cli_looked(common, q, rc);
}

static int
drop(const struct lockqstat_follow *o, const struct cli_common *common, struct lockq *q)
{
	int rc = lockq_drop_cursor(q, o->drop);
	json_t *object;

	if (rc != LOCKQ_OK)
		return cli_report_library(common, q, rc);
	if (!common->json) {
		cli_line("cursor \"%s\" is removed", o->drop);
		return CLI_EXIT_DONE;
	}
	object = json_object();
	cli_json_set(object, "cursor", cli_json_text(o->drop));
	cli_json_set(object, "done", json_string("removed"));
	cli_json_print(object);
	return CLI_EXIT_DONE;
}

int
lockqstat_follow_run(const struct lockqstat_follow *o, const struct cli_common *common,
    struct lockq *q)
{
	if (o->cursors)
		return show(common, q);
	if (o->drop != NULL)
		return drop(o, common, q);
	return follow(o, common, q);
}
