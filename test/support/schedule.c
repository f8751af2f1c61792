/* SPDX-License-Identifier: MIT */
#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One statement of the library has the same text wherever it comes, and the model has names for
 * what it finds there. In the library take_wake() comes before raise_epoch, and a row of `work` is
 * written after the row of the log. */
#define LOOK "SUM(p.requested)"
#define TAKE "left_pending  FROM task_lock"
#define HOLDER "SELECT l.holder"
#define LONG "EXECUTE lockq_started"
#define END "SET outcome = 'cancelled'"

static const struct step steps[] = {
	{ "step 1: records its request", "INSERT INTO request_in", ALWAYS },
	{ "step 7: sees that it is pending", LOOK, ALWAYS },
	{ "step 7: sees that it was ended", LOOK, LAST },
	{ "step 2: the task is paused", LOOK, ALWAYS },
	{ "step 2: gets the lock", TAKE, ALWAYS },
	{ "step 2: the lock is taken", TAKE, ALWAYS },
	{ "step 2: somebody has led since the look, frees the lock", "=ROLLBACK", WHEN_DUE },
	{ "step 2: raises the epoch, is the holder", "SET epoch = ?, holder", MAY_REPEAT },
	{ "step 2: locks task_wake", NULL, ALWAYS },
	{ "step 3: somebody leads", HOLDER, ALWAYS },
	{ "step 3: held for a moment only", HOLDER, ALWAYS },
	{ "step 3: sees that it is still pending", LOOK, ALWAYS },
	{ "step 3: was ended", LOOK, LAST },
	{ "step 3: the task is paused", LOOK, ALWAYS },
	{ "does not wait", NULL, LAST },
	{ "the task goes on", NULL, ALWAYS },
	{ "step 4: the heavy query", LONG, ALWAYS },
	{ "step 5, early: reads the pending requests", NULL, ALWAYS },
	{ "step 5: reads the pending requests", "r.seen_at < NOW(6) - INTERVAL ?", MAY_LACK },
	{ "step 5: locks the candidates", "FOR UPDATE OF w", MAY_LACK },
	{ "step 5: looks for rows that were absent", "WHERE j.version = 0", MAY_LACK },
	{ "step 5: writes work", "'assigned', j.user_id", ALWAYS },
	{ "step 5: writes work_requested", "STRAIGHT_JOIN request_end", ALWAYS },
	{ "step 5: clears the holder", "left_pending = ? WHERE task_id", ALWAYS },
	{ "step 5: clears no holder", "left_pending = ? WHERE task_id", ALWAYS },
	{ "step 5: COMMIT", "=COMMIT", ALWAYS },
	{ "step 6: looks for pending requests", "SELECT EXISTS (SELECT 1 FROM work_requested",
	    OUTSIDE },
	{ "step 6: somebody led since, frees the lock", "=ROLLBACK", WHEN_DUE },
	{ "step 6: answers", NULL, LAST },
	{ "step 7: wakes", LONG, ALWAYS },
	{ "step 7: wakes, and shares the lock", LONG, ALWAYS },
	{ "waits again", NULL, ALWAYS },
	{ "cancels its request", END, ALWAYS },
	{ "was ended before it could cancel", END, ALWAYS },
	{ "connects again", NULL, ALWAYS },
	{ "tells itself that it is expired", NULL, LAST },
	{ "is dead", NULL, FAULT },
	{ "its session is ended", NULL, FAULT },
	{ "is cut off, connects and writes", NULL, FAULT },
	{ "gives up", NULL, FAULT },
	{ "locks its request, to cancel it", NULL, FAULT },
	{ "was away for longer than request_ttl", NULL, FAULT },
	{ "its request gets older than request_ttl", NULL, FAULT }
};

enum { N_STEPS = sizeof(steps) / sizeof(steps[0]) };

static void
refuse(const char *name, const char *line)
{
	fprintf(stderr, "# schedule %s: not known: %s\n", name, line);
	abort();
}

static void
copy(const struct schedule *s, char to[SCHEDULE_TEXT], const char *from)
{
	if (strlen(from) >= SCHEDULE_TEXT)
		refuse(s->name, from);
	memcpy(to, from, strlen(from) + 1);
}

bool
schedule_is(const struct step *step, const char *statement)
{
	const char *text = step->statement;

	if (text == NULL)
		return false;
	return text[0] == '=' ? strcmp(statement, text + 1) == 0 : strstr(statement, text) != NULL;
}

bool
schedule_reads_dirty(const char *statement)
{
	return strstr(statement, HOLDER) != NULL;
}

bool
schedule_looks(const struct step *step)
{
	return step->statement != NULL && strcmp(step->statement, LOOK) == 0;
}

bool
schedule_waits(const char *statement)
{
	return strstr(statement, LONG) != NULL;
}

static bool
has_kind(const char *statement, int kind)
{
	for (size_t i = 0; i < N_STEPS; i++) {
		if ((int)steps[i].kind == kind && schedule_is(&steps[i], statement))
			return true;
	}
	return false;
}

bool
schedule_may_come(const char *statement)
{
	return schedule_reads_dirty(statement) || has_kind(statement, MAY_LACK) ||
	    has_kind(statement, MAY_REPEAT) || has_kind(statement, OUTSIDE);
}

bool
schedule_holds(const char *statement, const struct step *due, bool *locked)
{
	bool outside = !*locked;

	if (strstr(statement, TAKE) != NULL)
		*locked = true;
	else if (strcmp(statement, "COMMIT") == 0 || strcmp(statement, "ROLLBACK") == 0)
		*locked = false;
	return has_kind(statement, ALWAYS) || has_kind(statement, MAY_LACK) ||
	    has_kind(statement, MAY_REPEAT) || has_kind(statement, LAST) ||
	    (outside && has_kind(statement, OUTSIDE)) ||
	    (due != NULL && due->kind == WHEN_DUE && schedule_is(due, statement));
}

const struct line *
schedule_next(const struct schedule *schedule, int who, size_t from)
{
	for (size_t i = from; i < schedule->n; i++) {
		if (schedule->lines[i].who == who)
			return &schedule->lines[i];
	}
	return NULL;
}

/* The number of -DNAME=number in the options of the model, or @otherwise. */
static unsigned int
option(const char *options, const char *name, unsigned int otherwise)
{
	const char *at = strstr(options, name);

	return at != NULL ? (unsigned int)strtoul(at + strlen(name), NULL, 10) : otherwise;
}

static void
read_options(struct schedule *s, const char *options)
{
	s->loans = option(options, "-DLOANS=", 2);
	s->limit = option(options, "-DLIMIT=", 0);
	s->lease = option(options, "-DLEASES=", 0) > 0;
	if (strstr(options, "-DBIG=") != NULL)
		refuse(s->name, options);
}

/* "requester 2: step 2: gets the lock" */
static void
read_requester(struct schedule *s, struct line *line)
{
	const char *says = strchr(line->text, ':') + 2;

	line->who = line->text[strlen("requester ")] - '0';
	if (line->who < 0 || line->who >= SCHEDULE_REQUESTERS)
		refuse(s->name, line->text);
	if (line->who >= s->n_requesters)
		s->n_requesters = line->who + 1;
	if (strcmp(says, "… with --no-wait") == 0) {
		s->no_wait[line->who] = true;
		return;
	}
	for (size_t i = 0; line->step == NULL && i < N_STEPS; i++) {
		if (strcmp(says, steps[i].says) == 0)
			line->step = &steps[i];
	}
	if (line->step == NULL)
		refuse(s->name, line->text);
	s->n++;
}

static void
read_event(struct schedule *s, const char *text)
{
	struct line *line = &s->lines[s->n];

	if (s->n == SCHEDULE_LINES)
		refuse(s->name, "so many lines");
	*line = (struct line){ .who = MANAGER };
	copy(s, line->text, text);
	if (strncmp(text, "requester ", strlen("requester ")) == 0) {
		read_requester(s, line);
		return;
	}
	if (strncmp(text, "loan ", strlen("loan ")) == 0) {
		line->who = OF_A_LOAN;
		line->loan = text[strlen("loan ")] - '0';
	} else if (strncmp(text, "manager: ", strlen("manager: ")) != 0) {
		refuse(s->name, text);
	}
	s->n++;
}

void
schedule_read(struct schedule *s, const char *folder, const char *name)
{
	char path[1024], text[512];
	bool goes_on = true;
	FILE *file;

	*s = (struct schedule){ .n = 0 };
	copy(s, s->name, name);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	if (file == NULL)
		refuse(name, path);
	while (goes_on && fgets(text, sizeof(text), file) != NULL) {
		text[strcspn(text, "\n")] = '\0';
		if (strncmp(text, "property: ", strlen("property: ")) == 0)
			copy(s, s->property, text + strlen("property: "));
		else if (strncmp(text, "left: ", strlen("left: ")) == 0)
			copy(s, s->left, text + strlen("left: "));
		else if (strncmp(text, "model: ", strlen("model: ")) == 0)
			read_options(s, text);
		/* What a cycle repeats for ever is left to the calls, which are let go there. */
		else if (strncmp(text, "<<<<<START OF CYCLE", 19) == 0)
			goes_on = false;
		else if (text[0] != '#')
			read_event(s, text);
	}
	fclose(file);
	if (s->property[0] == '\0' || s->n == 0)
		refuse(name, "no property, or no events");
}
