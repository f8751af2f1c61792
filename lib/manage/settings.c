/* SPDX-License-Identifier: MIT */
/* Checks the values that a manager gives to a task's columns. The table's own constraints demand
 * the same, but their messages name neither the value nor what would be right. */
#include "manage/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handle/error.h"
#include "rules/task.h"

const struct setting settings[N_SETTINGS] = {
	{ "name", SETTING_TEXT, 1, 128, false },
	{ "manager", SETTING_TEXT, 1, 64, true },
	{ "candidates_view", SETTING_NAME, 0, 0, false },
	{ "enabled", SETTING_FLAG, 0, 0, false },
	{ "max_count", SETTING_NUMBER, 1, LOCKQ_COUNT_MAX, false },
	{ "max_query_s", SETTING_NUMBER, 1, 86400, false },
	{ "candidate_limit", SETTING_NUMBER, 1, 1000000, false },
	{ "request_ttl", SETTING_NUMBER, 1, UINT32_MAX, false },
	{ "lease_minutes", SETTING_NUMBER, 1, 525600, true },
	{ "cache_ttl", SETTING_NUMBER, 0, 86400, false },
	{ "on_complete", SETTING_NAME, 0, 0, true },
	{ "complete_hold", SETTING_NUMBER, 0, 31536000, false },
	{ "max_pipeline", SETTING_NUMBER, 1, 1000000, true },
	{ "detail_view", SETTING_NAME, 0, 0, true },
	{ "view_repeats", SETTING_FLAG, 0, 0, false },
	{ "check_view", SETTING_NAME, 0, 0, true },
	{ "use_unchecked", SETTING_FLAG, 0, 0, false },
	{ "refresh_after", SETTING_NUMBER, 1, 86400, true },
	{ "share", SETTING_SHARE, 0, 0, false },
	{ "on_undo", SETTING_NAME, 0, 0, true },
	{ "not_same_user_as", SETTING_NUMBER, 1, UINT32_MAX, true },
	{ "not_again", SETTING_NUMBER, 1, 8760, true },
	{ "noun", SETTING_NOUN, 1, 32, true },
	{ "any_place", SETTING_NUMBER, 1, 1000000, true },
	{ "paused", SETTING_TEXT, 1, LOCKQ_NOTE_MAX, true },
};

const char settings_columns[] =
	"t.name, t.manager, t.candidates_view, IF(t.enabled, 'yes', 'no'), t.max_count,"
	" t.max_query_s, t.candidate_limit, t.request_ttl, t.lease_minutes, t.cache_ttl,"
	" t.on_complete, t.complete_hold, t.max_pipeline, t.detail_view,"
	" IF(t.view_repeats, 'yes', 'no'), t.check_view, IF(t.use_unchecked, 'yes', 'no'),"
	" t.refresh_after, t.share, t.on_undo, t.not_same_user_as, t.not_again,"
	" t.noun, t.any_place";

const struct setting *
settings_find(const char *name)
{
	for (size_t i = 0; i < N_SETTINGS; i++) {
		if (strcmp(settings[i].name, name) == 0)
			return &settings[i];
	}
	return NULL;
}

static int
add_number(struct lockq *q, const struct setting *s, const char *value, struct text *json)
{
	size_t digits = strspn(value, "0123456789");
	unsigned long long number;

	errno = 0;
	number = strtoull(value, NULL, 10);
	if (digits == 0 || value[digits] != '\0' || errno != 0 || number < s->min ||
	    number > s->max)
		return error_usage(q, "%s \"%s\" must be a number from %llu to %llu", s->name,
		    value, (unsigned long long)s->min, (unsigned long long)s->max);
	text_add(json, "%llu", number);
	return LOCKQ_OK;
}

static int
add_flag(struct lockq *q, const struct setting *s, const char *value, struct text *json)
{
	bool on = strcmp(value, "yes") == 0;

	if (!on && strcmp(value, "no") != 0)
		return error_usage(q, "%s \"%s\" must be yes or no", s->name, value);
	text_add(json, "%s", on ? "true" : "false");
	return LOCKQ_OK;
}

static int
add_name(struct lockq *q, const struct setting *s, const char *value, struct text *json)
{
	char quoted[4 * 64 + 8];

	if (text_characters(value) > 129 ||
	    db_quote_identifier(quoted, sizeof(quoted), value) != DB_OK)
		return error_usage(q, "%s \"%s\" must be a name, or schema.name, of letters, "
		    "digits, _ and $", s->name, value);
	text_add_json(json, value);
	return LOCKQ_OK;
}

static int
add_share(struct lockq *q, const struct setting *s, const char *value, struct text *json)
{
	if (task_share(value) == SHARE_UNKNOWN)
		return error_usage(q, "%s \"%s\" must be order, evenly or least", s->name, value);
	text_add_json(json, value);
	return LOCKQ_OK;
}

static int
add_text(struct lockq *q, const struct setting *s, const char *value, struct text *json)
{
	size_t n = text_characters(value);

	if (n < s->min || n > s->max)
		return error_usage(q, "%s has %zu characters: %llu to %llu are allowed", s->name, n,
		    (unsigned long long)s->min, (unsigned long long)s->max);
	text_add_json(json, value);
	return LOCKQ_OK;
}

/* One noun, which gets an s for its plural, or both with a slash between them. They stand in lines
 * for people. */
static int
add_noun(struct lockq *q, const struct setting *s, const char *value, struct text *json)
{
	size_t one = strcspn(value, "/"), length = strlen(value);

	for (const char *c = value; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			length = 0;
	}
	if (length == 0 || one == 0 || one + 1 == length ||
	    strchr(value, '/') != strrchr(value, '/'))
		return error_usage(q, "%s \"%s\" must be a noun, as in ticket, or two with a slash "
		    "between them, as in entry/entries", s->name, value);
	return add_text(q, s, value, json);
}

static int
add_value(struct lockq *q, const struct setting *s, const char *value, struct text *json)
{
	if (value == NULL && !s->may_be_null)
		return error_usage(q, "%s can't be none: every task has one", s->name);
	if (value == NULL) {
		text_add(json, "null");
		return LOCKQ_OK;
	}
	switch (s->kind) {
	case SETTING_TEXT:
		return add_text(q, s, value, json);
	case SETTING_NAME:
		return add_name(q, s, value, json);
	case SETTING_NUMBER:
		return add_number(q, s, value, json);
	case SETTING_FLAG:
		return add_flag(q, s, value, json);
	case SETTING_SHARE:
		return add_share(q, s, value, json);
	case SETTING_NOUN:
		return add_noun(q, s, value, json);
	}
	return LOCKQ_EUSAGE;
}

int
settings_to_json(struct lockq *q, const struct lockq_setting *given, size_t n, struct text *json)
{
	bool seen[N_SETTINGS] = { false };
	int code = LOCKQ_OK;

	text_add(json, "{");
	for (size_t i = 0; code == LOCKQ_OK && i < n; i++) {
		const struct setting *s = settings_find(given[i].name);

		if (s == NULL)
			return error_usage(q, "a task has no setting \"%s\"", given[i].name);
		if (seen[s - settings])
			return error_usage(q, "the setting \"%s\" is named twice", s->name);
		seen[s - settings] = true;
		text_add(json, "%s\"%s\":", i > 0 ? "," : "", s->name);
		code = add_value(q, s, given[i].value, json);
	}
	text_add(json, "}");
	return code;
}

int
settings_of_new(struct lockq *q, const struct lockq_setting *given, size_t n)
{
	static const char *const needed[] = { "name", "candidates_view" };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		size_t at = 0;

		while (at < n && strcmp(given[at].name, needed[i]) != 0)
			at++;
		if (at == n)
			return error_usage(q, "a new task needs a %s", needed[i]);
	}
	return LOCKQ_OK;
}
