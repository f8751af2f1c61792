/* SPDX-License-Identifier: MIT */
/* Where a server is: the options that lockq takes from option files, and what counts if several
 * places name one. */
#include "where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db_text.h"
#include "option_file.h"

static const char query_group[] = "lockq_query";

/* What the value of an option must be. */
enum kind { ANY_TEXT, A_PORT, A_FLAG, AN_SSL_MODE, A_PROTOCOL, VERIFY_FLAG };

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
	/* MariaDB's name for VERIFY_IDENTITY */
	{ "ssl-verify-server-cert", VERIFY_FLAG, WHERE_SSL_MODE },
	{ "ssl-ca", ANY_TEXT, WHERE_SSL_CA },
	{ "ssl-capath", ANY_TEXT, WHERE_SSL_CAPATH },
	{ "ssl-cert", ANY_TEXT, WHERE_SSL_CERT },
	{ "ssl-key", ANY_TEXT, WHERE_SSL_KEY },
	{ "ssl-cipher", ANY_TEXT, WHERE_SSL_CIPHER },
	{ "ssl-crl", ANY_TEXT, WHERE_SSL_CRL },
	{ "ssl-crlpath", ANY_TEXT, WHERE_SSL_CRLPATH },
	{ "tls-version", ANY_TEXT, WHERE_TLS_VERSION },
	{ "tls-ciphersuites", ANY_TEXT, WHERE_TLS_CIPHERSUITES },
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

/* Fills in what @where leaves open. If it names a socket, the host is this machine. */
static enum db_rc
take_rest(struct where *where, const struct where *rest)
{
	bool by_socket = where->text[WHERE_SOCKET] != NULL && where->text[WHERE_HOST] == NULL;
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < WHERE_TEXTS; i++) {
		if (where->text[i] == NULL &&
		    !(by_socket && (i == WHERE_HOST || i == WHERE_PROTOCOL)))
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
	*elsewhere = where->port != 0;
	for (size_t i = 0; i < WHERE_TEXTS; i++) {
		if (i != WHERE_PROGRAM && where->text[i] != NULL)
			*elsewhere = true;
	}
	/* Another host isn't reached by the socket of this one. */
	if (where->text[WHERE_HOST] != NULL)
		rest.text[WHERE_SOCKET] = rest.text[WHERE_PROTOCOL] = NULL;
	return rc == DB_OK ? take_rest(where, &rest) : rc;
}

/* What the option files say. */
struct taken {
	struct where where;
	struct where query;
};

/* Whether all options of the group are lockq's. The others are also read by other programs. */
static bool
is_own_group(const char *group)
{
	return strncmp(group, "lockq", 5) == 0;
}

static enum db_rc
unknown_key(const struct option *option, char error[512])
{
	snprintf(error, 512, "\"%s\" is unknown in the group [%s]: lockq-options(5) lists what it "
	    "takes", option->key, option->group);
	return DB_EFAIL;
}

static enum db_rc
take_port(struct where *where, const struct option *option, char error[512])
{
	size_t n = strspn(option->value, "0123456789");
	unsigned long port = n > 0 && n < 10 && option->value[n] == '\0' ?
	    strtoul(option->value, NULL, 10) : 65536;

	if (port > 65535) {
		snprintf(error, 512, "port \"%s\" is no number from 0 to 65535", option->value);
		return DB_EFAIL;
	}
	where->port = (unsigned int)port;
	return DB_OK;
}

/* Reads a flag as MySQL does: "1", "on" and "true", or no value at all. */
static bool
is_on(const char *value)
{
	return value == NULL || strcmp(value, "1") == 0 || strcmp(value, "on") == 0 ||
	    strcmp(value, "ON") == 0 || strcmp(value, "true") == 0 || strcmp(value, "TRUE") == 0;
}

static enum db_rc
take_value(struct where *where, const struct key *key, const struct option *option,
    char error[512])
{
	bool flag = key->kind == A_FLAG || key->kind == VERIFY_FLAG;

	if (option->value == NULL && !flag) {
		snprintf(error, 512, "\"%s\" has no value: write %s=…", key->name, key->name);
		return DB_EFAIL;
	}
	switch (key->kind) {
	case A_PORT:
		return take_port(where, option, error);
	case A_FLAG:
		return copy_text(&where->text[key->text], is_on(option->value) ? "1" : NULL);
	case VERIFY_FLAG:
		return is_on(option->value) ?
		    copy_text(&where->text[key->text], "VERIFY_IDENTITY") : DB_OK;
	case AN_SSL_MODE:
		if (db_is_ssl_mode(option->value))
			break;
		snprintf(error, 512, "ssl-mode \"%s\" is unknown: use DISABLED, PREFERRED, "
		    "REQUIRED, VERIFY_CA or VERIFY_IDENTITY", option->value);
		return DB_EFAIL;
	case A_PROTOCOL:
		if (db_is_protocol(option->value))
			break;
		snprintf(error, 512, "protocol \"%s\" can't be used: use tcp or socket",
		    option->value);
		return DB_EFAIL;
	case ANY_TEXT:
		break;
	}
	return copy_text(&where->text[key->text], option->value);
}

static enum db_rc
take_option(const struct option *option, void *data, char error[512])
{
	struct taken *taken = data;
	struct where *where = strcmp(option->group, query_group) == 0 ? &taken->query :
	    &taken->where;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(option->key, keys[i].name) == 0)
			return take_value(where, &keys[i], option, error);
	}
	return is_own_group(option->group) ? unknown_key(option, error) : DB_OK;
}

enum db_rc
where_read(struct where *where, struct where *query, const struct lockq_connection *given,
    struct where_report *report)
{
	const char *groups[] = { "client",
		given->defaults_group != NULL ? given->defaults_group : "lockq",
		query_group, NULL };
	struct taken taken = { .where = { .port = 0 } };
	struct option_files files = { .file = given->defaults_file,
		.suffix = given->defaults_suffix, .groups = groups, .take = take_option,
		.data = &taken };
	enum db_rc rc = option_files_read(&files);

	where_clear(where);
	where_clear(query);
	*query = taken.query;
	if (rc == DB_OK)
		rc = take_given(where, given);
	if (rc == DB_OK)
		rc = take_rest(where, &taken.where);
	where_clear(&taken.where);
	snprintf(report->error, sizeof(report->error), "%s",
	    rc == DB_ENOMEM ? "out of memory" : files.error);
	snprintf(report->warning, sizeof(report->warning), "%s", files.warning);
	snprintf(report->read, sizeof(report->read), "%s%s",
	    files.read[0] != '\0' ? "option files: " : "no option file was read", files.read);
	return rc;
}

enum db_rc
where_connect(struct db **db, const struct lockq_connection *given)
{
	struct where where = { .port = 0 }, query = { .port = 0 };
	struct where_report report;
	enum db_rc rc = where_read(&where, &query, given, &report);

	rc = rc == DB_OK ? db_connect(db, &where) : db_refused(db, rc, report.error);
	where_clear(&where);
	where_clear(&query);
	return rc;
}
