/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "rooms.h"

void
seed_json_raw(struct seed_json *json, const char *bytes, size_t n)
{
	if (json->failed)
		return;
	if (json->size - json->used < n) {
		size_t size = (json->size + n) * 2 + 256;
		char *data = realloc(json->data, size);

		if (data == NULL) {
			json->failed = true;
			return;
		}
		json->data = data;
		json->size = size;
	}
	memcpy(json->data + json->used, bytes, n);
	json->used += n;
}

void
seed_json_u64(struct seed_json *json, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number != 0);
	seed_json_raw(json, digits + at, sizeof(digits) - at);
}

/* The text is valid UTF-8; only what JSON does not allow in a string is escaped. */
void
seed_json_text(struct seed_json *json, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	const char *from = text;

	if (text == NULL) {
		seed_json_raw(json, "null", 4);
		return;
	}
	seed_json_raw(json, "\"", 1);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		char escaped[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		seed_json_raw(json, from, (size_t)(text - from));
		seed_json_raw(json, escaped, sizeof(escaped));
		from = text + 1;
	}
	seed_json_raw(json, from, (size_t)(text - from));
	seed_json_raw(json, "\"", 1);
}

void
seed_json_restart(struct seed_json *json)
{
	json->used = 0;
}

void
seed_json_clear(struct seed_json *json)
{
	free(json->data);
	*json = (struct seed_json){ NULL, 0, 0, false };
}

void
seed_json_row(struct seed_json *json)
{
	if (json->used == 0)
		seed_json_raw(json, "[[", 2);
	else
		seed_json_raw(json, ",[", 2);
}

void
seed_json_row_end(struct seed_json *json)
{
	seed_json_raw(json, "]", 1);
}

const char *
seed_json_done(struct seed_json *json)
{
	if (json->used == 0)
		seed_json_raw(json, "[", 1);
	seed_json_raw(json, "]", 2);
	return json->failed ? NULL : json->data;
}
