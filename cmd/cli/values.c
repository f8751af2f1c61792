/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uuid/uuid.h>

#include "cli/text.h"
#include "cli/utf8.h"
#include "cli/values.h"

int
cli_number_of(uint64_t *number, const char *text, size_t length)
{
	unsigned long long parsed;

	if (length == 0 || strspn(text, "0123456789") != length)
		return -1;
	errno = 0;
	parsed = strtoull(text, NULL, 10);
	if (errno != 0)
		return -1;
	*number = parsed;
	return 0;
}

int
cli_number(uint64_t *number, const char *text)
{
	return cli_number_of(number, text, strlen(text));
}

int
cli_parse_flag(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	(void)option;
	(void)text;
	(void)error;
	*(bool *)target = true;
	return 0;
}

int
cli_parse_text(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	(void)option;
	(void)error;
	*(const char **)target = text;
	return 0;
}

int
cli_parse_utf8(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	long length = cli_utf8_length(text, strlen(text));

	if (length < 0)
		return cli_fail(error, "--%s must be valid UTF-8", option->name);
	if (option->max != 0 && (uint64_t)length > option->max)
		return cli_fail(error, "--%s has %ld characters: %llu are allowed", option->name,
		    length, (unsigned long long)option->max);
	*(const char **)target = text;
	return 0;
}

int
cli_parse_u64(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	unsigned long long min = option->min, max = option->max;
	uint64_t number = 0;
	int rc = cli_number(&number, text);

	if (rc == 0 && number >= min && number <= max) {
		*(uint64_t *)target = number;
		return 0;
	}
	if (max == UINT64_MAX)
		return cli_fail(error, "--%s \"%s\" must be a number from %llu on", option->name,
		    text, min);
	return cli_fail(error, "--%s \"%s\" must be a number from %llu to %llu", option->name,
	    text, min, max);
}

int
cli_parse_u32(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	uint64_t number = 0;
	int rc = cli_parse_u64(option, text, &number, error);

	if (rc == 0)
		*(uint32_t *)target = (uint32_t)number;
	return rc;
}

/* ".5" is 500, "" is 0; digits after the third are dropped. -1 where @text is neither "" nor a
 * point and digits. */
static int
milliseconds(const char *text)
{
	size_t length = strlen(text), i;
	int ms = 0, weight = 100;

	if (length == 0)
		return 0;
	if (text[0] != '.' || length == 1 || strspn(text + 1, "0123456789") != length - 1)
		return -1;
	for (i = 1; i < length && weight > 0; i++, weight /= 10)
		ms += (text[i] - '0') * weight;
	return ms;
}

int
cli_parse_seconds(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	size_t length = strspn(text, "0123456789");
	int ms = milliseconds(text + length), rc;
	uint64_t seconds = 0, total;

	rc = cli_number_of(&seconds, text, length);
	total = seconds <= option->max && ms >= 0 ? seconds * 1000 + (uint64_t)ms : UINT64_MAX;
	if (rc != 0 || total < option->min * 1000 || total > option->max * 1000)
		return cli_fail(error, "--%s \"%s\" must be a number of seconds from %llu to %llu",
		    option->name, text, (unsigned long long)option->min,
		    (unsigned long long)option->max);
	*(int64_t *)target = (int64_t)total;
	return 0;
}


/* Seconds in a unit; 0 where it is none. */
static uint64_t
unit_seconds(const char *unit)
{
	static const char letters[] = "smhd";
	static const uint64_t seconds[] = { 1, 60, 3600, 86400 };
	const char *letter = unit[0] != '\0' && unit[1] == '\0' ? strchr(letters, unit[0]) : NULL;

	return letter != NULL ? seconds[letter - letters] : 0;
}

/* "0", "1s", "72h", "366d": days only where hours would be hard to read. */
static char *
duration_text(uint64_t seconds)
{
	enum { HOUR_S = 3600, DAY_S = 24 * HOUR_S, HOURS_MOST = 72 };

	if (seconds == 0)
		return cli_text("0");
	if (seconds % DAY_S == 0 && seconds > HOURS_MOST * HOUR_S)
		return cli_text("%llud", (unsigned long long)seconds / DAY_S);
	if (seconds % HOUR_S == 0)
		return cli_text("%lluh", (unsigned long long)seconds / HOUR_S);
	return cli_text("%llus", (unsigned long long)seconds);
}

int
cli_parse_duration(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	size_t length = strspn(text, "0123456789");
	uint64_t number = 0, unit = unit_seconds(text + length);
	bool overflow = cli_number_of(&number, text, length) != 0 && length > 0;
	char *least, *most;

	if (length == 0 || (unit == 0 && text[length] != '\0'))
		return cli_fail(error, "--%s \"%s\" must be a duration such as 30s, 90m, 4h or 2d",
		    option->name, text);
	if (unit == 0 && (number != 0 || overflow))
		return cli_fail(error, "--%s \"%s\" needs a unit: s, m, h or d, as in %sh",
		    option->name, text, text);
	if (overflow || number * unit < option->min || (unit != 0 && number > option->max / unit)) {
		least = duration_text(option->min);
		most = duration_text(option->max);
		cli_fail(error, "--%s \"%s\" must be from %s to %s", option->name, text, least,
		    most);
		free(least);
		free(most);
		return -1;
	}
	*(uint32_t *)target = (uint32_t)(number * unit);
	return 0;
}

int
cli_parse_gaps(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct cli_gaps *gaps = target;
	const char *from = text;
	uint64_t number = 0;

	gaps->n = 0;
	for (;;) {
		size_t length = strcspn(from, ",");

		if (cli_number_of(&number, from, length) != 0 || number < option->min ||
		    number > option->max || gaps->n == CLI_GAPS_MAX)
			return cli_fail(error, "--%s \"%s\" must be up to %d numbers of seconds "
			    "from %llu to %llu, as in 5,10,20", option->name, text, CLI_GAPS_MAX,
			    (unsigned long long)option->min, (unsigned long long)option->max);
		gaps->seconds[gaps->n++] = (uint32_t)number;
		if (from[length] == '\0')
			return 0;
		from += length + 1;
	}
}

int
cli_parse_loan(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct cli_loan *loan = target;

	if (cli_number(&loan->id, text) != 0)
		return cli_fail(error, "--%s \"%s\" must be a loan's number", option->name, text);
	loan->given = true;
	return 0;
}

int
cli_parse_uuid(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	uuid_t uuid;

	if (uuid_parse(text, uuid) != 0)
		return cli_fail(error, "--%s \"%s\" must be a UUID, as uuidgen makes them",
		    option->name, text);
	*(const char **)target = text;
	return 0;
}

int
cli_parse_request(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	uint64_t number = 0;
	uuid_t uuid;

	if (uuid_parse(text, uuid) != 0 && (cli_number(&number, text) != 0 || number == 0))
		return cli_fail(error, "--%s \"%s\" must be a request's number or its UUID",
		    option->name, text);
	*(const char **)target = text;
	return 0;
}
