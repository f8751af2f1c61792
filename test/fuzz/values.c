/* SPDX-License-Identifier: MIT */
/* Fuzzes the values of options: durations, seconds, gaps, numbers, UUIDs, loans with tokens, texts.
 * What each accepts is compared with a model, and what is accepted is within its bounds. */
#include "fuzz.h"

#include "cli/values.h"
#include "cli/loan_option.h"

/* As many digits as there are at @text, as a number; more than 2^64 are UINT64_MAX. Returns NULL
 * where there is none. */
static const char *
model_digits(const char *text, uint64_t *number)
{
	const char *from = text;

	for (*number = 0; *text >= '0' && *text <= '9'; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		*number = *number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *number * 10 + digit;
	}
	return text > from ? text : NULL;
}

/* Returns the seconds of a duration; UINT64_MAX: it is none, or is too long. */
static uint64_t
model_duration(const char *text)
{
	uint64_t number, unit;
	const char *rest = model_digits(text, &number);

	if (rest == NULL)
		return UINT64_MAX;
	if (*rest == '\0')
		return number == 0 ? 0 : UINT64_MAX;
	unit = *rest == 's' ? 1 : *rest == 'm' ? 60 : *rest == 'h' ? 3600 : *rest == 'd' ? 86400 :
	    0;
	if (unit == 0 || rest[1] != '\0' || number > UINT32_MAX)
		return UINT64_MAX;
	return number * unit;
}

static void
must_explain(const struct cli_error *error)
{
	MUST(error->text[0] != '\0');
	MUST(memchr(error->text, '\0', sizeof(error->text)) != NULL);
}

static void
check_duration(const char *text, struct cli_option option)
{
	struct cli_error error = { "" };
	uint64_t model = model_duration(text);
	uint32_t seconds = 12345;
	int rc = cli_parse_duration(&option, text, &seconds, &error);

	MUST((rc == 0) == (model != UINT64_MAX && model >= option.min && model <= option.max));
	if (rc == 0)
		MUST(seconds == model);
	else
		must_explain(&error);
}

static void
check_number(const char *text, struct cli_option option)
{
	struct cli_error error = { "" };
	uint64_t model, number = 1;
	const char *rest = model_digits(text, &model);
	bool plain = rest != NULL && *rest == '\0';
	uint32_t small = 1;
	int rc = cli_parse_u32(&option, text, &small, &error);

	MUST((rc == 0) == (plain && model >= option.min && model <= option.max));
	MUST(rc != 0 || small == model);
	if (rc != 0)
		must_explain(&error);
	rc = cli_number(&number, text);
	/* The model takes each number that is too large for the largest one. */
	MUST(rc == 0 ? plain && number == model : !plain || model == UINT64_MAX);
}

static void
check_seconds(const char *text, struct cli_option option)
{
	struct cli_error error = { "" };
	int64_t ms = -7;
	int rc = cli_parse_seconds(&option, text, &ms, &error);
	char *end;
	double seconds;

	if (rc != 0) {
		must_explain(&error);
		return;
	}
	seconds = strtod(text, &end);
	MUST(*end == '\0' && strspn(text, "0123456789.") == strlen(text));
	MUST(ms >= (int64_t)option.min * 1000 && ms <= (int64_t)option.max * 1000);
	/* Digits after the third one are dropped. */
	MUST((double)ms <= seconds * 1000 + 0.001 && (double)ms > seconds * 1000 - 1.001);
}

static void
check_gaps(const char *text, struct cli_option option)
{
	struct cli_error error = { "" };
	struct cli_gaps gaps = { .n = 0 };
	char *printed = NULL, *model = NULL;
	size_t size;
	FILE *out;

	if (cli_parse_gaps(&option, text, &gaps, &error) != 0) {
		must_explain(&error);
		return;
	}
	MUST(gaps.n >= 1 && gaps.n <= CLI_GAPS_MAX);
	out = open_memstream(&printed, &size);
	MUST(out != NULL);
	for (size_t i = 0; i < gaps.n; i++) {
		MUST(gaps.seconds[i] >= option.min && gaps.seconds[i] <= option.max);
		fprintf(out, "%s%u", i > 0 ? "," : "", gaps.seconds[i]);
	}
	MUST(fclose(out) == 0);
	/* What was read is what was written, but for zeros before a number. */
	model = fuzz_string((const uint8_t *)text, strlen(text));
	for (char *from = model, *to = model;; from++) {
		if (*from == '0' && (to == model || to[-1] == ',') && from[1] >= '0' &&
		    from[1] <= '9')
			continue;
		*to = *from;
		if (*to++ == '\0')
			break;
	}
	MUST(strcmp(printed, model) == 0);
	free(printed);
	free(model);
}

/* A list of loans is read the same from the option and from standard input. */
static void
check_loans(const char *text, struct cli_option option)
{
	struct cli_error error = { "" };
	struct loan_option one = LOAN_OPTION_EMPTY, two = LOAN_OPTION_EMPTY;
	int rc = loan_option_parse(&option, text, &one, &error), rc_two;
	FILE *in;

	if (rc != 0)
		must_explain(&error);
	for (size_t i = 0; i < one.n; i++) {
		for (size_t j = 0; j < i; j++)
			MUST(one.list[i].loan_id != one.list[j].loan_id);
	}
	if (rc == 0 && !one.from_stdin) {
		in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
		MUST(in != NULL);
		two.option = option.name;
		rc_two = loan_option_read(&two, in, &error);
		fclose(in);
		/* A word of standard input has a bound, and zeros may make a number long. */
		if (rc_two == 0) {
			MUST(two.n == one.n);
			MUST(memcmp(one.list, two.list, one.n * sizeof(*one.list)) == 0);
		} else {
			MUST(strlen(text) > 64);
		}
	}
	free(one.list);
	free(two.list);
}

static void
check_request(const char *text, struct cli_option option)
{
	struct cli_error error = { "" };
	const char *taken = NULL;
	uint64_t number = 0;
	bool uuid = cli_parse_uuid(&option, text, &taken, &error) == 0;

	MUST(!uuid || taken == text);
	if (uuid) {
		MUST(strlen(text) == 36 && strspn(text, "0123456789abcdefABCDEF-") == 36);
		for (size_t i = 0; i < 36; i++)
			MUST((text[i] == '-') == (i == 8 || i == 13 || i == 18 || i == 23));
	} else {
		must_explain(&error);
	}
	MUST((cli_parse_request(&option, text, &taken, &error) == 0) ==
	    (uuid || (cli_number(&number, text) == 0 && number > 0)));
}

static void
check_utf8(const char *text, struct cli_option option)
{
	struct cli_error error = { "" };
	const char *taken = NULL;
	size_t characters = 0;
	int rc = cli_parse_utf8(&option, text, &taken, &error);

	for (const char *c = text; *c != '\0'; c++)
		characters += ((uint8_t)*c & 0xc0) != 0x80;
	MUST((rc == 0) == (model_is_utf8(text) &&
	    (option.max == 0 || characters <= option.max)));
	MUST(rc != 0 || taken == text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bounds = fuzz_byte(&data, &size);
	struct cli_option option = { .name = "x", .min = bounds & 15,
		.max = (bounds & 15) + (UINT64_C(1) << (bounds >> 4) << (bounds & 16 ? 8 : 0)) };
	char *text = fuzz_string(data, size);

	check_duration(text, option);
	check_number(text, option);
	check_seconds(text, option);
	check_gaps(text, option);
	check_loans(text, option);
	check_request(text, option);
	check_utf8(text, option);
	free(text);
	return 0;
}
