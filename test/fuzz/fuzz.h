/* SPDX-License-Identifier: MIT */
/* What the fuzzers share: MUST(), which states a property, and small models that are written
 * otherwise than the code that they are compared with. Each fuzzer is one file; test/fuzz/run runs
 * them. */
#ifndef LOCKQ_TEST_FUZZ_H
#define LOCKQ_TEST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer calls it with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that does not hold is a finding: libFuzzer then writes the input to a file. */
#define MUST(property) \
	do { \
		if (!(property)) { \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, \
			    #property); \
			abort(); \
		} \
	} while (0)

/* A string of the first bytes, up to a NUL, in memory of its own, so that the sanitizer sees each
 * byte that is read beyond its end; free() it. */
static inline char *
fuzz_string(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
	size_t n = nul != NULL ? (size_t)(nul - data) : size;
	char *text = malloc(n + 1);

	MUST(text != NULL);
	if (n > 0)
		memcpy(text, data, n);
	text[n] = '\0';
	return text;
}

/* Takes the bytes up to the next @end off the input, or all that is left, as a string. */
static inline char *
fuzz_take(const uint8_t **data, size_t *size, uint8_t end)
{
	const uint8_t *at = *size > 0 ? memchr(*data, end, *size) : NULL;
	size_t n = at != NULL ? (size_t)(at - *data) : *size;
	char *text = fuzz_string(*data, n);

	*data += at != NULL ? n + 1 : n;
	*size -= at != NULL ? n + 1 : n;
	return text;
}

static inline uint8_t
fuzz_byte(const uint8_t **data, size_t *size)
{
	if (*size == 0)
		return 0;
	--*size;
	return *(*data)++;
}

/* The bytes of the character at @text by the table of well-formed UTF-8 in the Unicode standard,
 * and its number; 0: they are not UTF-8. */
static inline size_t
model_utf8(const char *text, uint32_t *character)
{
	static const struct {
		uint8_t first, last, low, high; /* of the first byte, of the second one */
		size_t bytes;
		uint8_t mask;
	} rows[] = {
		{ 0x01, 0x7f, 0x00, 0x00, 1, 0x7f }, { 0xc2, 0xdf, 0x80, 0xbf, 2, 0x1f },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3, 0x0f }, { 0xe1, 0xec, 0x80, 0xbf, 3, 0x0f },
		{ 0xed, 0xed, 0x80, 0x9f, 3, 0x0f }, { 0xee, 0xef, 0x80, 0xbf, 3, 0x0f },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4, 0x07 }, { 0xf1, 0xf3, 0x80, 0xbf, 4, 0x07 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4, 0x07 },
	};
	const uint8_t *b = (const uint8_t *)text;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (b[0] < rows[i].first || b[0] > rows[i].last)
			continue;
		*character = b[0] & rows[i].mask;
		for (size_t n = 1; n < rows[i].bytes; n++) {
			if (b[n] < (n == 1 ? rows[i].low : 0x80) ||
			    b[n] > (n == 1 ? rows[i].high : 0xbf))
				return 0;
			*character = *character << 6 | (b[n] & 0x3f);
		}
		return rows[i].bytes;
	}
	return 0;
}

static inline bool
model_is_utf8(const char *text)
{
	uint32_t character;
	size_t n;

	for (; *text != '\0'; text += n) {
		n = model_utf8(text, &character);
		if (n == 0)
			return false;
	}
	return true;
}

/* What must not reach a terminal: control characters, and those that turn the text around them or
 * break the line. */
static inline bool
model_is_harmful(uint32_t c)
{
	static const uint32_t others[] = { 0x7f, 0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a,
		0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069, 0xfeff };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (c == others[i])
			return true;
	}
	return c < ' ' || (c >= 0x80 && c <= 0x9f);
}

/* Whether @text is UTF-8 without any of these. */
static inline bool
model_is_clean(const char *text)
{
	uint32_t character;
	size_t n;

	for (; *text != '\0'; text += n) {
		n = model_utf8(text, &character);
		if (n == 0 || model_is_harmful(character))
			return false;
	}
	return true;
}

#endif
