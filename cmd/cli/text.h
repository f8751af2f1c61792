/* SPDX-License-Identifier: MIT */
/* Memory, formatted strings, and what is wrong with an option. */
#ifndef LOCKQ_CMD_CLI_TEXT_H
#define LOCKQ_CMD_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CLI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define CLI_NORETURN __attribute__((noreturn))
#else
#define CLI_PRINTF(text, first)
#define CLI_NORETURN
#endif

/* Prints "out of memory" and ends the process with CLI_EXIT_DATABASE. Committed work stays. */
CLI_NORETURN void cli_out_of_memory(void);

/* malloc() and realloc() that end the process where there is no memory. */
void *cli_alloc(size_t size);
void *cli_realloc(void *old, size_t size);

/* @name in quotes, as messages show names, or where it is NULL @otherwise as it is; free() it. */
char *cli_quoted(const char *name, const char *otherwise);

/* @text as one word of a shell's command line, for a command that somebody may copy; free() it. */
char *cli_word(const char *text);

/* The ending of a noun that there are @n of: "" or "s". */
const char *cli_plural(uint64_t n);

/* A formatted string; free() it. */
char *cli_text(const char *format, ...) CLI_PRINTF(1, 2);

/* What is wrong with an option or its value. It is returned, not printed, so that tests can look at
 * it. */

struct cli_error {
	char text[512];
};

/* Formats @error, which is escaped when it is printed. Returns -1, for return cli_fail(…). */
int cli_fail(struct cli_error *error, const char *format, ...) CLI_PRINTF(2, 3);

#endif
