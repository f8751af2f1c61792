/* SPDX-License-Identifier: MIT */
/* Parsers of options' values. */
#ifndef LOCKQ_CMD_CLI_VALUES_H
#define LOCKQ_CMD_CLI_VALUES_H

#include <stdint.h>

#include "cli_options.h"

cli_parse_fn cli_parse_flag;     /* bool: set to true */
cli_parse_fn cli_parse_text;     /* const char *: the argument itself, any bytes */
cli_parse_fn cli_parse_utf8;     /* const char *: valid UTF-8, up to max characters (0: any) */
cli_parse_fn cli_parse_u32;      /* uint32_t: a decimal number from min to max */
cli_parse_fn cli_parse_u64;      /* uint64_t: the same */
cli_parse_fn cli_parse_seconds;  /* int64_t: seconds with decimals, stored as milliseconds */
cli_parse_fn cli_parse_duration; /* uint32_t: 4h, 90m, 2d, 30s, 0; stored as seconds */

/* A decimal number and nothing else: no sign, no space. Returns 0, or -1. */
LOCKQ_MUST_CHECK int cli_number(uint64_t *number, const char *text);

#endif
