/* SPDX-License-Identifier: MIT */
/* Where a server is: the options that lockq takes from option files, and what counts if several
 * places name one. */
#include "handle/where.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "db/db_text.h"
#include "handle/option_file.h"

static const char query_group[] = "lockq_query";

/* What the value of an option must be. */
enum kind { ANY_TEXT, A_PORT, A_FLAG, AN_SSL_MODE, A_PROTOCOL, CIPHERSUITES };

static const struct key {
	const char *name;
	enum kind kind;
	enum where_text text;
} keys[] = {
	{ "host", ANY_TEXT, WHERE_HOST },
	{ "port", A_PORT, WHERE_TEXTS },
	{ "socket", ANY_TEXT, WHERE_SOCKET },
	{ "protocol", A_PROTOCOL, WHERE_PROTOCOL },
	{ "bind-address", ANY_TEXT, WHERE_BIND_ADDRESS },
	{ "user", ANY_TEXT, WHERE_USER },
	{ "password", ANY_TEXT, WHERE_PASSWORD },
	{ "database", ANY_TEXT, WHERE_DATABASE },
	{ "ssl-mode", AN_SSL_MODE, WHERE_SSL_MODE },
	{ "ssl", A_FLAG, WHERE_SSL },
	{ "ssl-verify-server-cert", A_FLAG, WHERE_VERIFY },
	{ "ssl-ca", ANY_TEXT, WHERE_SSL_CA },
	{ "ssl-capath", ANY_TEXT, WHERE_SSL_CAPATH },
	{ "ssl-cert", ANY_TEXT, WHERE_SSL_CERT },
	{ "ssl-key", ANY_TEXT, WHERE_SSL_KEY },
	{ "ssl-cipher", ANY_TEXT, WHERE_SSL_CIPHER },
	{ "ssl-crl", ANY_TEXT, WHERE_SSL_CRL },
	{ "ssl-crlpath", ANY_TEXT, WHERE_SSL_CRLPATH },
	{ "tls-version", ANY_TEXT, WHERE_TLS_VERSION },
	{ "tls-ciphersuites", CIPHERSUITES, WHERE_TLS_CIPHERSUITES },
	{ "default-auth", ANY_TEXT, WHERE_DEFAULT_AUTH },
	{ "plugin-dir", ANY_TEXT, WHERE_PLUGIN_DIR },
	{ "enable-cleartext-plugin", A_FLAG, WHERE_CLEARTEXT },
	{ "server-public-key-path", ANY_TEXT, WHERE_PUBLIC_KEY_PATH },
	{ "get-server-public-key", A_FLAG, WHERE_GET_PUBLIC_KEY },
};

void
where_clear(struct where *where)
{
	for (size_t i = 0; i < WHERE_TEXTS; i++)
		free(where->text[i]);
	*where = (struct where){ .port = 0 };
}

/* Fills in what @given says. */
static enum db_rc
take_given(struct where *where, const struct lockq_connection *given)
{
	const char *const texts[WHERE_TEXTS] = {
		[WHERE_PROGRAM] = given->program, [WHERE_HOST] = given->host,
		[WHERE_SOCKET] = given->socket, [WHERE_USER] = given->user,
		[WHERE_PASSWORD] = given->password, [WHERE_DATABASE] = given->database,
		[WHERE_SSL_MODE] = given->ssl_mode,
	};
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < WHERE_TEXTS; i++) {
		if (texts[i] != NULL)
			rc = copy_text(&where->text[i], texts[i]);
	}
	if (given->port != 0)
		where->port = given->port;
	return rc;
}

/* What belongs together comes from one place: the certificates that are trusted would be more, and
 * a key would not fit its certificate. If a socket is named, the host is this machine. */
static bool
is_settled(const struct where *where, size_t text)
{
	static const enum where_text pairs[][2] = {
		{ WHERE_SSL_CA, WHERE_SSL_CAPATH }, { WHERE_SSL_CRL, WHERE_SSL_CRLPATH },
		{ WHERE_SSL_CERT, WHERE_SSL_KEY },
	};

	if (where->text[text] != NULL)
		return true;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if ((text == pairs[i][0] && where->text[pairs[i][1]] != NULL) ||
		    (text == pairs[i][1] && where->text[pairs[i][0]] != NULL))
			return true;
	}
	return (text == WHERE_HOST || text == WHERE_PROTOCOL) &&
	    where->text[WHERE_SOCKET] != NULL && where->text[WHERE_HOST] == NULL;
}

/* Fills in what @where leaves open. */
static enum db_rc
take_rest(struct where *where, const struct where *rest)
{
	struct where settled = *where;
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < WHERE_TEXTS; i++) {
		if (!is_settled(&settled, i))
			rc = copy_text(&where->text[i], rest->text[i]);
	}
	if (where->port == 0)
		where->port = rest->port;
	return rc;
}

enum db_rc
where_of_query(struct where *where, bool *elsewhere, const struct lockq_connection *given,
    const struct where *group, const struct where *here)
{
	struct where rest = *here;
	enum db_rc rc;

	where_clear(where);
	rc = take_given(where, given);
	if (rc == DB_OK)
		rc = take_rest(where, group);
	*elsewhere = rc == DB_OK && where->port != 0;
	for (size_t i = 0; rc == DB_OK && i < WHERE_TEXTS; i++) {
		if (i != WHERE_PROGRAM && where->text[i] != NULL)
			*elsewhere = true;
	}
	/* Another host isn't reached by the socket of this one. */
	if (where->text[WHERE_HOST] != NULL) {
		rest.text[WHERE_SOCKET] = NULL;
		if (rest.text[WHERE_PROTOCOL] != NULL &&
		    strcasecmp(rest.text[WHERE_PROTOCOL], "socket") == 0)
			rest.text[WHERE_PROTOCOL] = NULL;
	}
	if (rc == DB_OK)
		rc = take_rest(where, &rest);
	if (rc != DB_OK)
		*elsewhere = false;
	return rc;
}

static const char program_group[] = "lockq";
static const char user_key[] = "lockq-user";
static const char task_key[] = "lockq-task";
static const char refill_key[] = "lockq-no-refill";

/* What the option files say. */
struct taken {
	struct where where;
	struct where query;
	struct where_report *report; /* of this only the keys that begin with "lockq-" */
};

/* Whether all options of the group are lockq's. The others are also read by other programs. */
static bool
is_own_group(const char *group)
{
	return strncmp(group, "lockq", 5) == 0;
}

__attribute__((format(printf, 2, 3))) static enum db_rc
fault(char error[512], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, 512, format, args);
	va_end(args);
	return DB_EFAIL;
}

/* A group that other programs read, too, may have options for them. Yet an option that may be
 * meant to protect the connection is not passed over. A key that is no word may have a password in
 * it, and is not shown. */
static enum db_rc
unknown_key(const struct option *option, char error[512])
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	bool protects = strncmp(option->key, "ssl", 3) == 0 || strncmp(option->key, "tls", 3) == 0;

	if (!protects && !is_own_group(option->group))
		return DB_OK;
	if (option->key[strspn(option->key, word)] != '\0')
		return fault(error, "the line in the group [%s] is no option: write it as "
		    "key=value", option->group);
	return fault(error, "\"%s\" is unknown in the group [%s]: lockq-options(5) lists what "
	    "lockq takes", option->key, option->group);
}

static bool
read_number(uint64_t *number, const char *text, uint64_t most)
{
	size_t n = strspn(text, "0123456789");

	*number = n > 0 && n < 11 && text[n] == '\0' ? strtoull(text, NULL, 10) : UINT64_MAX;
	return *number <= most;
}

static enum db_rc
take_port(struct where *where, const struct option *option, char error[512])
{
	uint64_t port;

	if (!read_number(&port, option->value, 65535))
		return fault(error, "port \"%s\" is no number from 0 to 65535", option->value);
	where->port = (unsigned int)port;
	return DB_OK;
}

/* An option without a value is on. */
static enum db_rc
read_flag(bool *on, const struct option *option, char error[512])
{
	static const char *const words[2][3] = {
		{ "0", "off", "false" }, { "1", "on", "true" }
	};

	*on = true;
	if (option->value == NULL)
		return DB_OK;
	for (size_t i = 0; i < 6; i++) {
		*on = i >= 3;
		if (strcasecmp(option->value, words[*on][i % 3]) == 0)
			return DB_OK;
	}
	return fault(error, "%s can't be \"%s\": use 1 or 0", option->key, option->value);
}

static enum db_rc
take_flag(char **text, const struct option *option, char error[512])
{
	bool on = false;
	enum db_rc rc = read_flag(&on, option, error);

	return rc == DB_OK ? copy_text(text, on ? "1" : "0") : rc;
}

static enum db_rc
take_value(struct where *where, const struct key *key, const struct option *option,
    char error[512])
{
	const char *wrong = NULL;

	if (key->kind == A_FLAG)
		return take_flag(&where->text[key->text], option, error);
	if (option->value == NULL)
		return fault(error, "\"%s\" has no value: write %s=…", key->name, key->name);
	if (key->kind == A_PORT)
		return take_port(where, option, error);
	if (key->kind == AN_SSL_MODE)
		wrong = db_fault_of_ssl_mode(option->value);
	if (key->kind == A_PROTOCOL)
		wrong = db_fault_of_protocol(option->value);
	if (key->kind == CIPHERSUITES && db_fault_of_ciphersuites() != NULL)
		return fault(error, "\"%s\" %s", key->name, db_fault_of_ciphersuites());
	if (wrong != NULL)
		return fault(error, "%s \"%s\" %s", key->name, option->value, wrong);
	return copy_text(&where->text[key->text], option->value);
}

/* Takes what the programs use where neither the command line nor the environment says it. These
 * keys tell who works and how, not where the database is, so they are no part of struct where. An
 * empty value takes an earlier line back. */
static enum db_rc
take_default(struct where_report *report, const struct option *option, char error[512])
{
	bool is_task = strcmp(option->key, task_key) == 0;
	uint64_t task = 0;

	if (strcmp(option->group, program_group) != 0)
		return fault(error, "\"%s\" can't stand in the group [%s]: it belongs under [%s]",
		    option->key, option->group, program_group);
	if (strcmp(option->key, refill_key) == 0)
		return read_flag(&report->no_refill, option, error);
	if (option->value == NULL)
		return fault(error, "\"%s\" has no value: write %s=…", option->key, option->key);
	if (is_task && option->value[0] != '\0' &&
	    (!read_number(&task, option->value, UINT32_MAX) || task == 0))
		return fault(error, "%s \"%s\" must be the number of a task", option->key,
		    option->value);
	if (!is_task && strlen(option->value) >= sizeof(report->lockq_user))
		return fault(error, "%s has %zu bytes, more than the name of any user",
		    option->key, strlen(option->value));
	if (is_task)
		report->lockq_task = (uint32_t)task;
	else
		memcpy(report->lockq_user, option->value, strlen(option->value) + 1);
	return DB_OK;
}

/* Whether a password stands behind another option on the same line. Then that option has no value
 * that a message may show. */
static bool
has_password(const struct option *option)
{
	static const char key[] = "password";
	const char *at = strcmp(option->key, key) != 0 ? option->value : NULL;

	for (; at != NULL && *at != '\0'; at++) {
		if (strncasecmp(at, key, sizeof(key) - 1) == 0 &&
		    at[sizeof(key) - 1 + strspn(at + sizeof(key) - 1, " \t0123456789")] == '=')
			return true;
	}
	return false;
}

static const struct key *
find_key(const char *name)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(name, keys[i].name) == 0)
			return &keys[i];
	}
	return NULL;
}

/* "skip-" or "disable-" before an option that is on or off turns it off. */
static const struct key *
find_key_to_skip(const char *name)
{
	size_t n = strncmp(name, "skip-", 5) == 0 ? 5 : strncmp(name, "disable-", 8) == 0 ? 8 : 0;
	const struct key *key = n > 0 ? find_key(name + n) : NULL;

	return key != NULL && key->kind == A_FLAG ? key : NULL;
}

/* With "loose-" before it an option that a program does not know is no fault. */
static enum db_rc
take_option(const struct option *option, void *data, char error[512])
{
	struct taken *taken = data;
	struct where *where = strcmp(option->group, query_group) == 0 ? &taken->query :
	    &taken->where;
	bool loose = strncmp(option->key, "loose-", 6) == 0;
	struct option plain = *option;
	const struct key *key;

	if (has_password(option))
		return fault(error, "a password stands on the line of another option: put it on a "
		    "line of its own");
	if (loose)
		plain.key += 6;
	if (strcmp(plain.key, user_key) == 0 || strcmp(plain.key, task_key) == 0 ||
	    strcmp(plain.key, refill_key) == 0)
		return take_default(taken->report, &plain, error);
	key = find_key(plain.key);
	if (key == NULL && plain.value == NULL) {
		key = find_key_to_skip(plain.key);
		plain.value = "0";
	}
	if (key != NULL)
		return take_value(where, key, &plain, error);
	return loose ? DB_OK : unknown_key(option, error);
}

/* Options that name no mode: ssl-verify-server-cert is MariaDB's name for VERIFY_IDENTITY, which no
 * weaker mode in a file takes back; ssl=0, of MariaDB and older programs, is DISABLED; a CA asks
 * for VERIFY_CA, as for MySQL's programs, and ssl=1 for REQUIRED. */
static enum db_rc
complete_mode(struct where *where, struct where_report *report)
{
	char **text = where->text, **mode = &where->text[WHERE_SSL_MODE];

	if (text[WHERE_VERIFY] != NULL && strcmp(text[WHERE_VERIFY], "1") == 0)
		return copy_text(mode, "VERIFY_IDENTITY");
	if (*mode != NULL)
		return DB_OK;
	if (text[WHERE_SSL] != NULL && strcmp(text[WHERE_SSL], "0") == 0)
		return copy_text(mode, "DISABLED");
	if (text[WHERE_SSL_CA] == NULL && text[WHERE_SSL_CAPATH] == NULL)
		return copy_text(mode, text[WHERE_SSL] != NULL ? "REQUIRED" : NULL);
	if (db_fault_of_ssl_mode("VERIFY_CA") == NULL)
		return copy_text(mode, "VERIFY_CA");
	snprintf(report->error, sizeof(report->error), "an option file has %s, but no ssl-mode: "
	    "set ssl-mode=VERIFY_IDENTITY, or another mode",
	    text[WHERE_SSL_CA] != NULL ? "ssl-ca" : "ssl-capath");
	return DB_EFAIL;
}

enum db_rc
where_read(struct where *where, struct where *query, const struct lockq_connection *given,
    struct where_report *report)
{
	const char *groups[] = { "client",
		given->defaults_group != NULL ? given->defaults_group : program_group,
		query_group, given->more_group, NULL };
	struct taken taken = { .where = { .port = 0 }, .report = report };
	struct option_files files = { .file = given->defaults_file,
		.suffix = given->defaults_suffix, .groups = groups, .take = take_option,
		.data = &taken };
	enum db_rc rc;

	*report = (struct where_report){ .lockq_task = 0 };
	rc = option_files_read(&files);
	where_clear(where);
	where_clear(query);
	*query = taken.query;
	snprintf(report->error, sizeof(report->error), "%s", files.error);
	text_make_one_line(report->error, sizeof(report->error));
	if (rc == DB_OK)
		rc = take_given(where, given);
	if (rc == DB_OK && where->text[WHERE_SSL_MODE] == NULL)
		rc = complete_mode(&taken.where, report);
	if (rc == DB_OK)
		rc = complete_mode(query, report);
	if (rc == DB_OK)
		rc = take_rest(where, &taken.where);
	where_clear(&taken.where);
	if (rc == DB_ENOMEM)
		snprintf(report->error, sizeof(report->error), "out of memory");
	snprintf(report->warning, sizeof(report->warning), "%s", files.warning);
	text_make_one_line(report->warning, sizeof(report->warning));
	snprintf(report->read, sizeof(report->read), "%s%s",
	    files.read[0] != '\0' ? "option files: " : "no option file was read", files.read);
	return rc;
}
