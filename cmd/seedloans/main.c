/* SPDX-License-Identifier: MIT */
/* seedloans: fills a database with the example's people, tasks and loans. seed.c goes through the
 * steps, output.c prints what was done, and tool.h says what the other files do. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"
#include "seedloans/seed.h"

struct seedloans_options {
	struct cli_common common;
	struct seed_options seed;
	char *map;             /* all --map, one after the other; free() it */
	bool yes;
};
#define SEEDLOANS_DEFAULTS { CLI_COMMON_INIT, SEED_OPTIONS_INIT, NULL, false }

/* Adds this --map to those before it. */
static int
parse_map(const struct cli_option *option, const char *text, void *target, struct cli_error *error)
{
	char **map = target, *before = *map;

	(void)option;
	(void)error;
	*map = before == NULL ? cli_text("%s", text) : cli_text("%s,%s", before, text);
	free(before);
	return 0;
}

static int
parse_delimiter(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	char *delimiter = target;

	*delimiter = strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0 ? '\t' : text[0];
	if ((*delimiter == '\t' || (text[0] != '\0' && text[1] == '\0')) &&
	    strchr("\t !#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", *delimiter) != NULL)
		return 0;
	return cli_fail(error, "--%s \"%s\" must be one sign such as ';', or tab", option->name,
	    text);
}

static int
check(void *options, struct cli_error *error)
{
	struct seed_options *o = &((struct seedloans_options *)options)->seed;

	o->map = ((struct seedloans_options *)options)->map;
	if (o->csv != NULL && o->loans > 0)
		return cli_fail(error, "--loans and --csv can't be combined");
	if (o->csv == NULL && (o->map != NULL || o->delimiter != 0 || o->strict ||
	    o->rejects != NULL))
		return cli_fail(error, "%s needs --csv", o->map != NULL ? "--map" :
		    o->delimiter != 0 ? "--delimiter" : o->strict ? "--strict" : "--rejects");
	if (o->csv == NULL && o->loans == 0 && o->heavy_ms < 0 && o->users == 0 && !o->reset)
		return cli_fail(error, "there is nothing to do: give --loans or --csv");
	return 0;
}

#define OPTION(member) offsetof(struct seedloans_options, member)

static const struct cli_option seedloans_table[] = {
	{ .help = "Loans to make up" },
	{ "loans", 'n', "N", "add this many, with numbers after the largest\n"
	    "loan_id that is there",
	    cli_parse_u64, OPTION(seed.loans), 1, SEED_LOANS_MAX },
	{ "seed", 0, "S", "the same number makes the same loans and\n"
	    "documents (default: 1)",
	    cli_parse_u64, OPTION(seed.seed), 0, UINT64_MAX },
	{ .help = "Loans from a file" },
	{ "csv", 0, "FILE", "load a CSV file with a header row, in UTF-8", cli_parse_text,
	    OPTION(seed.csv), 0, 0 },
	{ "map", 0, "FIELD=COLUMN,...", "which column is loan_id, applicant, amount,\n"
	    "submitted_at, city or state (default: the column of\n"
	    "the same name); may be given again", parse_map, OPTION(map), 0, 0 },
	{ "delimiter", 0, "SIGN", "what stands between the columns: ';', '|', tab\n"
	    "(default: the one that a first line such as sep=;\n"
	    "names, else a comma)", parse_delimiter, OPTION(seed.delimiter), 0, 0 },
	{ "strict", 0, NULL, "load nothing if any row is bad", cli_parse_flag,
	    OPTION(seed.strict), 0, 0 },
	{ "rejects", 0, "FILE", "write bad rows there, with line and reason\n"
	    "(default: the file's name and .rejects.csv, in\n"
	    "this directory)", cli_parse_text, OPTION(seed.rejects), 0,
	    0 },
	{ .help = "Around them" },
	{ "heavy", 0, "SECONDS", "make task 7's query take this long on this server;\n"
	    "0: no extra work (default: leave it as it is)", cli_parse_seconds,
	    OPTION(seed.heavy_ms), 0, SEED_HEAVY_MAX_S },
	{ "users", 0, "N", "make this many people (default: 24)", cli_parse_u32,
	    OPTION(seed.users), SEED_USERS_MIN, SEED_USERS_MAX },
	{ "reset", 0, NULL, "empty lockq's and the example's tables first;\n"
	    "refused while a process leads", cli_parse_flag, OPTION(seed.reset), 0, 0 },
	{ "yes", 'y', NULL, "don't ask before that; without a terminal nothing\n"
	    "is asked", cli_parse_flag, OPTION(yes), 0, 0 },
	CLI_OPTIONS_END
};

static const struct cli_tool seedloans_tool = {
	.name = "seedloans",
	.synopsis = "--loans N [--seed S] [--heavy SECONDS] [--users N]\n"
	    " [--reset] [--json]\n"
	    "--csv FILE [--map FIELD=COLUMN,...] [--delimiter SIGN]\n"
	    " [--strict]\n"
	    " [--rejects FILE] [--seed S] [--heavy SECONDS] [--users N]\n"
	    " [--reset] [--json]\n"
	    "--heavy SECONDS | --users N | --reset [--json]",
	.purpose = "Fills the example's tables: people, ten tasks, loans and their documents.\n"
	    "Loans that are there stay, unless --reset is given. When it is interrupted,\n"
	    "the loans that were added so far stay, each with its documents. With --strict\n"
	    "all rows are loaded or none.",
	.examples = "  seedloans --loans 100000 --heavy 5\n"
	    "  seedloans --reset --csv loans.csv --map loan_id=Number,applicant=Name\n"
	    "  seedloans --heavy 0\n",
	.exits = "  0  done; bad rows of a CSV file, if any, are in the rejects file, but not all\n"
	    "  2  usage error, or a file or mapping that can't be used: nothing was changed,\n"
	    "     unless the load had begun, and then the loans that were added stay\n"
	    "  3  a process leads a task or uses a table (--reset), or another seedloans\n"
	    "     runs: try again\n"
	    "  4  refused: you said no to --reset; a bad row with --strict, or bad rows\n"
	    "     only: nothing was loaded; or --heavy found no loan, or needs a larger\n"
	    "     max_allowed_packet\n"
	    CLI_EXITS_ERRORS
	    "  6  outcome unknown (connection lost at commit): seedloans --users 24\n"
	    "     prints how many loans there are\n"
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP: what was added stays\n",
	.group = "lockq_seed",
	.options = seedloans_table,
	.check = check,
};

static int
on_progress(const struct seed_progress *progress, void *data)
{
	static const char *const words[] = {
		[SEED_CHECK] = "checking the file", [SEED_RESET] = "emptying tables",
		[SEED_LOAD] = "loading", [SEED_ANALYZE] = "gathering statistics",
		[SEED_MEASURE] = "measuring task 7's query"
	};
	const struct cli_common *common = data;
	const char *word = words[progress->phase];
	char *text;

	if (cli_caught() != 0)
		return 1;
	cli_say_phase(common, (int)progress->phase, word);
	if (progress->phase == SEED_LOAD)
		text = cli_text("%s: %llu loans", word, (unsigned long long)progress->loans);
	else
		text = cli_text("%s", word);
	cli_tick(common, progress->done, progress->total, text);
	return 0;
}

/* Any answer but one that begins with "y" is no. */
static int
may_empty(const char *database, const char *host)
{
	struct pollfd terminal = { .fd = STDIN_FILENO, .events = POLLIN };
	char answer[16] = "";
	char *where = cli_quoted(host, "this machine");

	cli_prompt("--reset empties all tables of lockq and of the example in database \"%s\" "
	    "on %s: go on? [y/N] ", database != NULL ? database : "lockq", where);
	free(where);
	while (cli_caught() == 0 && poll(&terminal, 1, -1) <= 0)
		continue;
	if (cli_caught() != 0)
		return LOCKQ_CANCELLED;
	if (fgets(answer, sizeof(answer), stdin) == NULL)
		answer[0] = 'n';
	return answer[0] == 'y' || answer[0] == 'Y' ? LOCKQ_OK : LOCKQ_EREFUSED;
}

int
main(int argc, char **argv)
{
	struct seedloans_options o = SEEDLOANS_DEFAULTS;
	struct seed_report report;
	int rc, status;

	cli_start(&seedloans_tool, &o, argc, argv);
	cli_catch_signals("changes that were committed stay: 'seedloans --users 24' prints how "
	    "many loans there are");
	if (!o.yes && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
		o.seed.confirm = may_empty;
	rc = seed_run(&o.common.connection, &o.seed, on_progress, &o.common, &report);
	cli_tick_end();
	if (report.warning[0] != '\0')
		cli_message("%s", report.warning);
	status = cli_exit_status(rc, cli_caught());
	if (rc != LOCKQ_OK)
		status = cli_report(&o.common, status, "%s", report.error);
	else
		seedloans_print(o.common.json, &o.seed, &report);
	free(o.map);
	return cli_finish(status, rc == LOCKQ_OK && report.loans > 0 ?
	    "the loans are loaded nevertheless" : NULL);
}
