/* SPDX-License-Identifier: MIT */
#ifndef LOCKQ_CMD_SEEDLOANS_WORDS_H
#define LOCKQ_CMD_SEEDLOANS_WORDS_H

struct place {
	const char *city;
	const char *state;
};

/* Lists that end with NULL. */
extern const char *const words_users[];
extern const char *const words_first[];
extern const char *const words_last[];
extern const char *const words_trade[];
extern const struct place words_places[];

#endif
