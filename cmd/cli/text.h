/* SPDX-License-Identifier: MIT */
/* Memory, and formatted strings. */
#ifndef LOCKQ_CMD_CLI_TEXT_H
#define LOCKQ_CMD_CLI_TEXT_H

#include <stdarg.h>
#include <stddef.h>

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

/* A formatted string; free() it. cli_vtext() takes a va_list. */
char *cli_text(const char *format, ...) CLI_PRINTF(1, 2);
char *cli_vtext(const char *format, va_list arguments) CLI_PRINTF(1, 0);

#endif
