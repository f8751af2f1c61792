/* SPDX-License-Identifier: MIT */
#include "lockqstat/tool.h"

#include <curses.h>
#include <limits.h>
#include <stdlib.h>

#include "cli/screen.h"
#include "cli/utf8.h"

enum { ESCAPE = 27 };

static const char table_keys[] =
	"arrows move  Enter one task  < > sort  space looks now  q quit";
static const char task_keys[] = "arrows scroll  Esc all tasks  space looks now  q quit";

struct screen_state {
	const struct lockqstat_options *o;
	struct lockq *q;
	struct lockq_stats stats;
	struct lockq_runs runs;
	struct lines lines;
	uint32_t task;       /* shown alone; 0: the table */
	uint32_t marked;     /* the task that is marked, by its number: rows change places */
	enum stat_order order;
	size_t top;          /* the first line that is shown */
	char *message;       /* on the last line; NULL: the keys */
	bool look_failed;    /* the message is about the last look */
	uint64_t next_look;  /* cli_clock_ms() */
	bool ends;
	int failure;         /* why it ends, a code of the library; or 0 */
};

/* Takes @message. */
static void
say(struct screen_state *s, char *message)
{
	free(s->message);
	s->message = message;
	s->look_failed = false;
}

/* The row of the marked task; the first one where it is gone. */
static size_t
marked_row(const struct screen_state *s)
{
	for (size_t i = 0; i < s->stats.n_tasks; i++) {
		if (s->stats.tasks[i].task == s->marked)
			return i;
	}
	return 0;
}

static void
make_lines(void *data)
{
	struct screen_state *s = data;
	size_t width = COLS > CLI_WIDTH_LEAST ? (size_t)COLS : CLI_WIDTH_LEAST, size = 0;
	enum cli_style style = cli_stdout_style();
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		cli_out_of_memory();
	if (s->task != 0 && s->stats.n_tasks > 0)
		stat_table_of_task(out, &s->stats.tasks[0], &s->runs, style, width);
	else if (s->task == 0)
		stat_table(out, &s->stats, s->order, style, width);
	if (fclose(out) != 0)
		cli_out_of_memory();
	lines_clear(&s->lines);
	lines_add_table(&s->lines, text);
}

static void
look(void *data)
{
	struct screen_state *s = data;
	struct lockq_stats stats = LOCKQ_STATS_INIT;
	struct lockq_runs runs = LOCKQ_RUNS_INIT;
	int rc = lockqstat_read(s->o, s->q, s->task, &stats, &runs);
	bool has_answer = cli_has_answer(rc);

	if (has_answer) {
		lockq_stats_clear(&s->stats);
		lockq_runs_clear(&s->runs);
		s->stats = stats;
		s->runs = runs;
		stat_sort(&s->stats, s->order);
		s->marked = s->stats.n_tasks > 0 ? s->stats.tasks[marked_row(s)].task : 0;
		if (s->look_failed)
			say(s, NULL);
	} else {
		lockq_stats_clear(&stats);
		lockq_runs_clear(&runs);
		say(s, cli_text("%s", cli_library_text(s->q, rc)));
		s->look_failed = true;
	}
	/* The task was removed while it was shown: the others are there. */
	if (rc == LOCKQ_EREFUSED && s->task != s->o->task) {
		s->look_failed = false;
		s->task = 0;
		s->top = 0;
		look(s);
		return;
	}
	/* A database that is away may come back, and a table that is locked is unlocked. */
	if (!has_answer && rc != LOCKQ_BUSY && rc != LOCKQ_EDATABASE) {
		s->failure = rc;
		s->ends = true;
	}
	s->next_look = cli_clock_ms() + (uint64_t)s->o->watch_ms;
	make_lines(s);
}

static size_t
height_of_page(void)
{
	return LINES > 3 ? (size_t)LINES - 2 : 1;
}

/* Keeps the marked row on the screen, and with the first one the names of the columns. */
static void
scroll_to_mark(struct screen_state *s)
{
	size_t row = stat_table_first_row(cli_stdout_style()) + marked_row(s);
	size_t height = height_of_page();

	if (s->task != 0)
		return;
	if (row >= s->top + height)
		s->top = row - height + 1;
	if (row < s->top)
		s->top = row;
	if (marked_row(s) == 0 && row < height)
		s->top = 0;
}

static void
draw(void *data)
{
	struct screen_state *s = data;
	size_t marked = s->task == 0 && s->stats.n_tasks > 0 ?
	    stat_table_first_row(cli_stdout_style()) + marked_row(s) : s->lines.n;
	const char *text = s->message != NULL ? s->message : s->task != 0 ? task_keys : table_keys;
	char *title = s->task == 0 ? cli_text("Tasks %s by %s", cli_dot(),
	    stat_order_name(s->order)) : cli_text("Task %u %s %s", s->task, cli_dot(),
	    s->stats.n_tasks > 0 ? s->stats.tasks[0].task_name : "?");
	char *escaped = cli_escape(text);

	erase();
	screen_heading(title, s->o->watch_ms);
	scroll_to_mark(s);
	if (s->top >= s->lines.n)
		s->top = s->lines.n > 0 ? s->lines.n - 1 : 0;
	for (size_t i = 0; i < height_of_page() && s->top + i < s->lines.n; i++)
		screen_put((int)i + 1, 0, s->lines.text[s->top + i],
		    s->top + i == marked ? A_REVERSE : A_NORMAL);
	screen_put(LINES - 1, 0, escaped, s->message != NULL ? screen_bold() : A_NORMAL);
	refresh();
	free(escaped);
	free(title);
}

/* Moves the mark in the table, or the page of one task, by @lines. */
static void
move_by(struct screen_state *s, long lines)
{
	size_t n = s->task != 0 ? s->lines.n : s->stats.n_tasks;
	size_t at = s->task != 0 ? s->top : marked_row(s);
	size_t steps = (size_t)labs(lines);

	if (lines < 0)
		at -= steps < at ? steps : at;
	else
		at = at + steps < n ? at + steps : n > 0 ? n - 1 : 0;
	if (s->task != 0)
		s->top = at;
	else if (n > 0)
		s->marked = s->stats.tasks[at].task;
}

static void
sort_by(struct screen_state *s, int step)
{
	if (s->task != 0)
		return;
	s->order = (enum stat_order)(((int)s->order + STAT_ORDERS + step) % STAT_ORDERS);
	stat_sort(&s->stats, s->order);
	make_lines(s);
}

static void
show(struct screen_state *s, uint32_t task)
{
	s->task = task;
	s->top = 0;
	look(s);
}

static void
take_key(void *data, int key)
{
	struct screen_state *s = data;
	long page = (long)height_of_page();

	say(s, NULL);
	switch (key) {
	case 'q': s->ends = true; break;
	case 'j': case KEY_DOWN: move_by(s, 1); break;
	case 'k': case KEY_UP: move_by(s, -1); break;
	case KEY_NPAGE: move_by(s, page); break;
	case KEY_PPAGE: move_by(s, -page); break;
	case 'g': case KEY_HOME: move_by(s, -LONG_MAX); break;
	case 'G': case KEY_END: move_by(s, LONG_MAX); break;
	case '<': case KEY_LEFT: sort_by(s, -1); break;
	case '>': case KEY_RIGHT: sort_by(s, 1); break;
	case ' ': look(s); break;
	case 'L' - '@': clearok(curscr, TRUE); break;
	case KEY_RESIZE: make_lines(s); break;
	case '\n': case '\r': case KEY_ENTER:
		if (s->task == 0 && s->stats.n_tasks > 0)
			show(s, s->marked);
		break;
	case ESCAPE: case KEY_BACKSPACE: case 127: case '\b':
		if (s->task != 0 && s->o->task == 0)
			show(s, 0);
		break;
	case '?':
		say(s, cli_text("%s", "also j k g G, PgUp PgDn; Ctrl-L redraws; (paused) gives "
		    "nothing for now"));
		break;
	default: break;
	}
}

int
lockqstat_screen(const struct lockqstat_options *o, struct lockq *q)
{
	struct screen_state s = {
		.o = o, .q = q, .stats = LOCKQ_STATS_INIT, .runs = LOCKQ_RUNS_INIT,
		.lines = LINES_INIT, .task = o->task, .order = o->order
	};
	const struct screen_loop loop = { make_lines, look, draw, take_key, &s, &s.next_look,
		&s.ends };

	if (!screen_open())
		return cli_report(&o->common, CLI_EXIT_DATABASE, "the terminal can't be used");
	screen_look_with(q, o->common.look_timeout_ms);
	screen_run(&loop);
	screen_close();
	lockq_stats_clear(&s.stats);
	lockq_runs_clear(&s.runs);
	lines_clear(&s.lines);
	free(s.message);
	if (cli_caught() != 0)
		return cli_exit_status(LOCKQ_CANCELLED, cli_caught());
	return s.failure != 0 ? cli_report_library(&o->common, q, s.failure) : CLI_EXIT_DONE;
}
