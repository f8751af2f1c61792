/* SPDX-License-Identifier: MIT */
#include "seedloans/field.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/utf8.h"
#include "cli/when.h"

static const char *const names[N_FIELDS] = {
	[FIELD_LOAN_ID] = "loan_id",
	[FIELD_APPLICANT] = "applicant",
	[FIELD_AMOUNT] = "amount",
	[FIELD_SUBMITTED_AT] = "submitted_at",
	[FIELD_CITY] = "city",
	[FIELD_STATE] = "state"
};

enum { TEXT_BYTES = 1024 };

const char *
field_name(enum field field)
{
	return names[field];
}

bool
field_is_required(enum field field)
{
	return field != FIELD_CITY && field != FIELD_STATE;
}

enum field
field_by_name(const char *name, size_t length)
{
	enum field field = FIELD_LOAN_ID;

	while (field < N_FIELDS && (strlen(names[field]) != length ||
	    strncasecmp(names[field], name, length) != 0))
		field++;
	return field;
}

const char *
field_read_id(uint64_t *id, const char *text)
{
	uint64_t number = 0;

	for (; *text != '\0'; text++) {
		unsigned int digit = (unsigned int)(unsigned char)*text - '0';

		if (digit > 9)
			return text[strspn(text, "0123456789.E+")] == '\0' &&
			    strchr(text, 'E') != NULL ?
			    "may have lost digits: a spreadsheet wrote it with an exponent" :
			    "is not a number";
		if (number > (UINT64_MAX - digit) / 10)
			return "is too large";
		number = number * 10 + digit;
	}
	if (number == 0)
		return "is 0";
	*id = number;
	return NULL;
}

/* Reads the digits before the point, with commas between thousands or without. */
static const char *
read_dollars(uint64_t *dollars, const char **text)
{
	unsigned int n = 0, group = 0;
	bool commas = false;

	*dollars = 0;
	for (; (**text >= '0' && **text <= '9') || **text == ','; (*text)++) {
		if (**text == ',') {
			if (group == 0 || group > 3 || (commas && group != 3))
				return "is not an amount";
			commas = true;
			group = 0;
			continue;
		}
		if (*dollars != 0 || **text != '0')
			n++;
		if (n > LOAN_AMOUNT_DIGITS)
			return "is too large";
		*dollars = *dollars * 10 + (uint64_t)(**text - '0');
		group++;
	}
	return group == 0 || (commas && group != 3) ? "is not an amount" : NULL;
}

/* Reads an exponent, as spreadsheets write it; it may be missing. */
static bool
read_exponent(int *exponent, const char **text)
{
	bool negative;
	int n = 0;

	*exponent = 0;
	if (**text != 'E' && **text != 'e')
		return true;
	(*text)++;
	negative = **text == '-';
	if (**text == '-' || **text == '+')
		(*text)++;
	for (; **text >= '0' && **text <= '9' && n < 3; (*text)++, n++)
		*exponent = *exponent * 10 + (**text - '0');
	if (negative)
		*exponent = -*exponent;
	return n > 0;
}

/* Multiplies @cents by ten to the power of @scale. */
static const char *
scale_cents(uint64_t *cents, int scale)
{
	static const uint64_t most = UINT64_C(99999999999999);

	for (; scale < 0 && *cents % 10 == 0 && *cents > 0; scale++)
		*cents /= 10;
	if (scale < 0 && *cents > 0)
		return "has more than two decimals";
	for (; scale > 0 && *cents > 0 && *cents <= most; scale--)
		*cents *= 10;
	return *cents > most ? "is too large" : NULL;
}

const char *
field_read_amount(uint64_t *cents, const char *text)
{
	static const uint64_t room = UINT64_MAX / 100;
	const char *fault = NULL, *point;
	uint64_t number = 0;
	int decimals = 0, exponent;

	if (*text == '-' || *text == '(')
		return "is negative";
	if (*text == '$')
		text++;
	while (*text == ' ')
		text++;
	if (*text != '.')
		fault = read_dollars(&number, &text);
	if (fault != NULL)
		return fault;
	if (*text == '.') {
		for (point = text++; *text >= '0' && *text <= '9'; text++) {
			if (number < room) {
				number = number * 10 + (uint64_t)(*text - '0');
				decimals++;
			} else if (*text != '0') {
				fault = "has more than two decimals";
			}
		}
		if (text - point == 1)
			return "is not an amount";
	}
	if (!read_exponent(&exponent, &text) || *text != '\0')
		return "is not an amount";
	if (fault == NULL)
		fault = scale_cents(&number, 2 - decimals + exponent);
	*cents = number;
	return fault;
}

static const char *
copy(char *out, size_t size, size_t most, const char *text, long characters)
{
	size_t length = strlen(text);

	if (characters > (long)most || length >= size)
		return "is too long";
	memcpy(out, text, length + 1);
	return NULL;
}

/* Whether each byte is a character of Windows-1252, which has those of ISO 8859-1. */
static bool
may_be_windows_1252(const char *text, size_t length)
{
	static const char none[] = "\x81\x8d\x8f\x90\x9d";

	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\0' || strchr(none, text[i]) != NULL)
			return false;
	}
	return true;
}

const char *
field_read(struct seed_loan *loan, enum field field, const char *text, size_t length)
{
	long characters = cli_utf8_length(text, length);
	char trimmed[TEXT_BYTES];

	if (characters < 0)
		return may_be_windows_1252(text, length) ?
		    "is not in UTF-8 but in an encoding such as Windows-1252" :
		    "is not valid UTF-8";
	if (memchr(text, '\0', length) != NULL)
		return "has a NUL byte in it";
	while (length > 0 && strchr(" \t\r\n", text[0]) != NULL) {
		text++;
		length--;
		characters--;
	}
	while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) {
		length--;
		characters--;
	}
	if (length == 0)
		return field_is_required(field) ? "is missing" : NULL;
	if (length >= sizeof(trimmed))
		return "is too long";
	snprintf(trimmed, sizeof(trimmed), "%.*s", (int)length, text);
	switch (field) {
	case FIELD_LOAN_ID:
		return field_read_id(&loan->loan_id, trimmed);
	case FIELD_AMOUNT:
		return field_read_amount(&loan->cents, trimmed);
	case FIELD_SUBMITTED_AT:
		return when_parse(&loan->submitted, trimmed) ? NULL :
		    "is not a date such as 2/28/1997 or 1997-02-28";
	case FIELD_APPLICANT:
		return copy(loan->applicant, sizeof(loan->applicant), LOAN_APPLICANT, trimmed,
		    characters);
	case FIELD_CITY:
		return copy(loan->city, sizeof(loan->city), LOAN_CITY, trimmed, characters);
	case FIELD_STATE:
	case N_FIELDS:
		break;
	}
	return copy(loan->state, sizeof(loan->state), LOAN_STATE, trimmed, characters);
}
