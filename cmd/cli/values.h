/* SPDX-License-Identifier: MIT */
/* Parsers of options' values. */
#ifndef LOCKQ_CMD_CLI_VALUES_H
#define LOCKQ_CMD_CLI_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

cli_parse_fn cli_parse_flag;     /* bool: set to true */
cli_parse_fn cli_parse_text;     /* const char *: the argument itself, any bytes */
cli_parse_fn cli_parse_utf8;     /* const char *: valid UTF-8, up to max characters (0: any) */
cli_parse_fn cli_parse_u32;      /* uint32_t: a decimal number from min to max */
cli_parse_fn cli_parse_u64;      /* uint64_t: the same */
cli_parse_fn cli_parse_seconds;  /* int64_t: seconds with decimals, stored as milliseconds */
cli_parse_fn cli_parse_duration; /* uint32_t: 4h, 90m, 2d, 30s, 0; stored as seconds */
cli_parse_fn cli_parse_gaps;     /* struct cli_gaps: seconds from min to max, as in 5,10,20 */
cli_parse_fn cli_parse_loan;     /* struct cli_loan: any number */
cli_parse_fn cli_parse_uuid;     /* const char *: a UUID */
cli_parse_fn cli_parse_request;  /* const char *: a request's number, or its UUID */

enum { CLI_WAIT_MAX_S = 365 * 24 * 3600 }; /* of --timeout and --wait */

enum { CLI_GAPS_MAX = 64 };
struct cli_gaps {
	uint32_t seconds[CLI_GAPS_MAX];
	size_t n;
};

struct cli_loan {
	bool given;
	uint64_t id;
};

/* A decimal number and nothing else: no sign, no space. Returns 0, or -1. */
LOCKQ_MUST_CHECK int cli_number(uint64_t *number, const char *text);

/* The same of all digits with which @text begins: -1 unless there are @length of them. */
LOCKQ_MUST_CHECK int cli_number_of(uint64_t *number, const char *text, size_t length);

#endif
