/* SPDX-License-Identifier: MIT */
/* JSON for scripts: values and lines. */
#ifndef LOCKQ_CMD_CLI_JSON_H
#define LOCKQ_CMD_CLI_JSON_H

#include <stdint.h>

#include <jansson.h>

#include "lockq.h"

/* Text or null; bytes that are not UTF-8 are escaped first. */
json_t *cli_json_text(const char *text);

/* A number. Above 2^53 - 1 it is decimal text, since not every reader of JSON keeps it exactly. */
json_t *cli_json_number(uint64_t number);

/* The library's UTC text in ISO 8601, or null where it is "". */
json_t *cli_json_time(const char *utc);

/* Adds @value to @object and gives up the caller's reference to it. */
void cli_json_set(json_t *object, const char *key, json_t *value);

/* Adds what happened to a loan, from the event on. */
void cli_json_event(json_t *object, const struct lockq_event *event);

/* @object as one line of ASCII; free() it. Gives up the caller's reference. */
char *cli_json_line(json_t *object);

/* Prints that line on standard output. */
void cli_json_print(json_t *object);

#endif
