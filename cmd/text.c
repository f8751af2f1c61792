/* SPDX-License-Identifier: MIT */
/* Text for people: memory, UTF-8, escaping, times and ages. */
#define _XOPEN_SOURCE 700 /* wcwidth() */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli.h"

enum {
	ESCAPED_MAX = 7, /* "\u202e" and its NUL */
	MINUTE = 60,
	HOUR = 60 * MINUTE,
	DAY = 24 * HOUR
};

void
cli_out_of_memory(void)
{
	fputs("lockq: out of memory\n", stderr);
	exit(CLI_EXIT_DATABASE);
}

void *
cli_alloc(size_t size)
{
	return cli_realloc(NULL, size);
}

void *
cli_realloc(void *old, size_t size)
{
	void *memory = realloc(old, size);

	if (memory == NULL)
		cli_out_of_memory();
	return memory;
}

char *
cli_vtext(const char *format, va_list arguments)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out != NULL) {
		vfprintf(out, format, arguments);
		fclose(out);
	}
	if (text == NULL)
		cli_out_of_memory();
	return text;
}

char *
cli_text(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = cli_vtext(format, arguments);
	va_end(arguments);
	return text;
}

size_t
cli_utf8_decode(uint32_t *character, const char *text)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *byte = (const unsigned char *)text;
	size_t length, i;
	uint32_t c;

	if (byte[0] < 0x80) {
		*character = byte[0];
		return byte[0] != 0;
	}
	length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
	if (byte[0] < 0xc2 || byte[0] > 0xf4)
		return 0;
	c = byte[0] & (0xffu >> (length + 1));
	for (i = 1; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (byte[i] & 0x3f);
	}
	if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*character = c;
	return length;
}

long
cli_utf8_length(const char *text)
{
	uint32_t character;
	size_t bytes;
	long length = 0;

	for (; *text != '\0'; text += bytes) {
		bytes = cli_utf8_decode(&character, text);
		if (bytes == 0)
			return -1;
		length++;
	}
	return length;
}

/* For the C locale, which knows no width of what is not ASCII; the terminal does, mostly. */
static size_t
usual_width(uint32_t character)
{
	static const struct {
		uint32_t first, last;
		size_t width;
	} ranges[] = {
		{ 0x0300, 0x036f, 0 }, { 0x0483, 0x0489, 0 }, { 0x0591, 0x05bd, 0 },
		{ 0x064b, 0x065f, 0 }, { 0x1100, 0x115f, 2 }, { 0x1ab0, 0x1aff, 0 },
		{ 0x1dc0, 0x1dff, 0 }, { 0x200b, 0x200d, 0 }, { 0x20d0, 0x20ff, 0 },
		{ 0x2e80, 0x303e, 2 }, { 0x3041, 0xa4cf, 2 }, { 0xac00, 0xd7a3, 2 },
		{ 0xf900, 0xfaff, 2 }, { 0xfe00, 0xfe0f, 0 }, { 0xfe20, 0xfe2f, 0 },
		{ 0xfe30, 0xfe6f, 2 }, { 0xff01, 0xff60, 2 }, { 0xffe0, 0xffe6, 2 },
		{ 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1f9ff, 2 },
		{ 0x20000, 0x3fffd, 2 }, { 0xe0100, 0xe01ef, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (character >= ranges[i].first && character <= ranges[i].last)
			return ranges[i].width;
	}
	return 1;
}

static size_t
character_width(uint32_t character)
{
	int width = wcwidth((wchar_t)character);

	return width < 0 ? usual_width(character) : (size_t)width;
}

size_t
cli_width(const char *text)
{
	uint32_t character;
	size_t bytes, width = 0;

	for (; *text != '\0'; text += bytes) {
		bytes = cli_utf8_decode(&character, text);
		width += bytes == 0 ? 1 : character_width(character);
		if (bytes == 0)
			bytes = 1;
	}
	return width;
}

static bool
is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

/* What turns the direction of the text around it, or breaks a line. */
static bool
is_misleading(uint32_t character)
{
	return character == 0x061c || character == 0x200e || character == 0x200f ||
	    (character >= 0x2028 && character <= 0x202e) ||
	    (character >= 0x2066 && character <= 0x2069) || character == 0xfeff;
}

/* Writes one character of @text to @out; returns its length in @text. */
static size_t
escape_one(char out[ESCAPED_MAX], const char *text)
{
	uint32_t character;
	size_t bytes = cli_utf8_decode(&character, text);

	if (bytes == 0) {
		snprintf(out, ESCAPED_MAX, "\\x%02x", (unsigned char)text[0]);
		return 1;
	}
	if (character == '\n')
		snprintf(out, ESCAPED_MAX, "\\n");
	else if (character == '\t')
		snprintf(out, ESCAPED_MAX, "\\t");
	else if (character == '\r')
		snprintf(out, ESCAPED_MAX, "\\r");
	else if (is_control(character) && character < 0x80)
		snprintf(out, ESCAPED_MAX, "\\x%02x", (unsigned int)character);
	else if (is_control(character) || is_misleading(character))
		snprintf(out, ESCAPED_MAX, "\\u%04x", (unsigned int)(character & 0xffff));
	else
		snprintf(out, ESCAPED_MAX, "%.*s", (int)bytes, text);
	return bytes;
}

char *
cli_escape(const char *text)
{
	size_t size = 0;
	char *escaped, one[ESCAPED_MAX];

	if (text == NULL)
		text = "";
	escaped = cli_alloc(strlen(text) * (ESCAPED_MAX - 1) + 1);
	while (*text != '\0') {
		text += escape_one(one, text);
		memcpy(escaped + size, one, strlen(one));
		size += strlen(one);
	}
	escaped[size] = '\0';
	return escaped;
}

char *
cli_valid_utf8(const char *text)
{
	size_t size = 0, bytes;
	uint32_t character;
	char *valid;

	valid = cli_alloc(strlen(text) * 4 + 1);
	while (*text != '\0') {
		bytes = cli_utf8_decode(&character, text);
		if (bytes == 0) {
			snprintf(valid + size, 5, "\\x%02x", (unsigned char)*text++);
			size += 4;
			continue;
		}
		memcpy(valid + size, text, bytes);
		text += bytes;
		size += bytes;
	}
	valid[size] = '\0';
	return valid;
}

char *
cli_cut(const char *text, size_t width)
{
	uint32_t character;
	size_t end = 0, bytes, used = 0, wide;

	while (text[end] != '\0') {
		bytes = cli_utf8_decode(&character, text + end);
		wide = bytes == 0 ? 1 : character_width(character);
		if (used + wide > width)
			break;
		used += wide;
		end += bytes == 0 ? 1 : bytes;
	}
	return cli_text("%.*s", (int)end, text);
}

char *
cli_shorten(const char *text, size_t width, const char *ellipsis)
{
	size_t room = cli_width(ellipsis);
	char *cut, *shortened;

	if (cli_width(text) <= width)
		return cli_text("%s", text);
	if (width <= room)
		return cli_cut(text, width);
	cut = cli_cut(text, width - room);
	shortened = cli_text("%s%s", cut, ellipsis);
	free(cut);
	return shortened;
}

/* Days from 1970-01-01; timegm() is not POSIX. */
static int64_t
days_from_civil(int64_t year, int64_t month, int64_t day)
{
	int64_t era, day_of_year;

	year -= month <= 2;
	era = year / 400;
	day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	year -= era * 400;
	return era * 146097 + year * 365 + year / 4 - year / 100 + day_of_year - 719468;
}

/* Reads the number in text[from … from + length - 1]; -1 where there are other characters. */
static int
digits(const char *text, size_t from, size_t length)
{
	int number = 0;
	size_t i;

	for (i = from; i < from + length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		number = number * 10 + (text[i] - '0');
	}
	return number;
}

/* Whether @utc begins with "2026-11-20 13:50:01". */
static bool
is_time(const char *utc)
{
	static const char form[] = "0000-00-00 00:00:00";
	size_t i;

	if (utc == NULL || strlen(utc) < sizeof(form) - 1)
		return false;
	for (i = 0; i < sizeof(form) - 1; i++) {
		if (form[i] == '0' ? utc[i] < '0' || utc[i] > '9' : utc[i] != form[i])
			return false;
	}
	return true;
}

int
cli_time(time_t *seconds, const char *utc)
{
	int64_t days;

	if (!is_time(utc))
		return -1;
	days = days_from_civil(digits(utc, 0, 4), digits(utc, 5, 2), digits(utc, 8, 2));
	*seconds = (time_t)(days * DAY + digits(utc, 11, 2) * HOUR + digits(utc, 14, 2) * MINUTE +
	    digits(utc, 17, 2));
	return 0;
}

/* Whether the clocks show @then, the local time of @seconds, at another time as well: they were put
 * back between the two. */
static bool
comes_twice(time_t seconds, const struct tm *then)
{
	static const int apart[] = { -HOUR, -HOUR / 2, HOUR / 2, HOUR };
	struct tm other;
	time_t at;
	size_t i;

	for (i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
		at = seconds + apart[i];
		if (localtime_r(&at, &other) != NULL && other.tm_yday == then->tm_yday &&
		    other.tm_hour == then->tm_hour && other.tm_min == then->tm_min)
			return true;
	}
	return false;
}

void
cli_time_local(char text[CLI_TIME_SIZE], const char *utc, bool with_seconds, time_t now)
{
	struct tm then, today;
	time_t seconds;
	size_t length;
	bool same_day;

	text[0] = '\0';
	if (cli_time(&seconds, utc) != 0 || localtime_r(&seconds, &then) == NULL ||
	    localtime_r(&now, &today) == NULL)
		return;
	same_day = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
	length = strftime(text, CLI_TIME_SIZE, same_day ?
	    (with_seconds ? "%H:%M:%S" : "%H:%M") :
	    (with_seconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M"), &then);
	if (length > 0 && comes_twice(seconds, &then))
		strftime(text + length, CLI_TIME_SIZE - length, " %Z", &then);
}

void
cli_time_iso(char text[CLI_TIME_SIZE], const char *utc)
{
	text[0] = '\0';
	if (is_time(utc))
		snprintf(text, CLI_TIME_SIZE, "%.10sT%.15sZ", utc, utc + 11);
}

void
cli_age(char text[CLI_TIME_SIZE], uint64_t seconds)
{
	unsigned long long s = seconds;

	if (s < MINUTE)
		snprintf(text, CLI_TIME_SIZE, "%llu s", s);
	else if (s < HOUR)
		snprintf(text, CLI_TIME_SIZE, "%llu min %llu s", s / MINUTE, s % MINUTE);
	else if (s < DAY)
		snprintf(text, CLI_TIME_SIZE, "%llu h %llu min", s / HOUR, s % HOUR / MINUTE);
	else
		snprintf(text, CLI_TIME_SIZE, "%llu d %llu h", s / DAY, s % DAY / HOUR);
}

void
cli_ms(char text[CLI_TIME_SIZE], uint64_t ms)
{
	uint64_t tenths = ms / 100 + (ms % 100 >= 50);

	if (ms < 1000)
		snprintf(text, CLI_TIME_SIZE, "%u ms", (unsigned int)ms);
	else if (tenths < 100)
		snprintf(text, CLI_TIME_SIZE, "%u.%u s", (unsigned int)(tenths / 10),
		    (unsigned int)(tenths % 10));
	else
		cli_age(text, ms / 1000 + (ms % 1000 >= 500));
}
