/* SPDX-License-Identifier: MIT */
/* Tells the client library where to connect, and how. The library reads no option files. */
#include "db/db_private.h"
#include "db/db_text.h"

#include <string.h>
#include <strings.h>

const char *
db_fault_of_protocol(const char *name)
{
	return strcasecmp(name, "tcp") == 0 || strcasecmp(name, "socket") == 0 ? NULL :
	    "can't be used: use tcp or socket";
}

static bool
is_on(const char *flag)
{
	return flag != NULL && strcmp(flag, "1") == 0;
}

/* Both libraries connect by a socket only to this machine. MySQL's fails if it is told to use a
 * socket for another one, MariaDB's uses TCP. */
static bool
by_socket(const struct where *where)
{
	const char *host = where->text[WHERE_HOST], *protocol = where->text[WHERE_PROTOCOL];

	return (host == NULL || host[0] == '\0' || strcmp(host, "localhost") == 0) &&
	    (protocol == NULL || strcasecmp(protocol, "tcp") != 0);
}

/* As with MySQL's library, PREFERRED uses no TLS on a socket: MariaDB's library would first read
 * all of the system's CA certificates, which takes a hundred times as long as to connect. */
static bool
is_plain(const struct db *db, const struct where *where)
{
	return db->ssl_mode == DB_SSL_DISABLED ||
	    (LOCKQ_MARIADB_CLIENT && db->ssl_mode == DB_SSL_PREFERRED && by_socket(where));
}

/* In MariaDB's library an option for TLS also turns TLS on. */
static const struct {
	enum where_text text;
	enum mysql_option option;
	bool for_tls;
} texts[] = {
	{ WHERE_SSL_CA, MYSQL_OPT_SSL_CA, true },
	{ WHERE_SSL_CAPATH, MYSQL_OPT_SSL_CAPATH, true },
	{ WHERE_SSL_CERT, MYSQL_OPT_SSL_CERT, true },
	{ WHERE_SSL_KEY, MYSQL_OPT_SSL_KEY, true },
	{ WHERE_SSL_CIPHER, MYSQL_OPT_SSL_CIPHER, true },
	{ WHERE_SSL_CRL, MYSQL_OPT_SSL_CRL, true },
	{ WHERE_SSL_CRLPATH, MYSQL_OPT_SSL_CRLPATH, true },
#if LOCKQ_MARIADB_CLIENT
	{ WHERE_TLS_VERSION, MARIADB_OPT_TLS_VERSION, true },
#else
	{ WHERE_TLS_VERSION, MYSQL_OPT_TLS_VERSION, true },
	{ WHERE_TLS_CIPHERSUITES, MYSQL_OPT_TLS_CIPHERSUITES, true },
#endif
	{ WHERE_BIND_ADDRESS, MYSQL_OPT_BIND, false },
	{ WHERE_DEFAULT_AUTH, MYSQL_DEFAULT_AUTH, false },
	{ WHERE_PLUGIN_DIR, MYSQL_PLUGIN_DIR, false },
	{ WHERE_PUBLIC_KEY_PATH, MYSQL_SERVER_PUBLIC_KEY, false },
};

static enum db_rc
set_texts(struct db *db, const struct where *where, bool plain)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = where->text[texts[i].text];

		if (text != NULL && !(plain && texts[i].for_tls) &&
		    mysql_options(db->mysql, texts[i].option, text) != 0)
			return db_fail(db, "connection options");
	}
	return DB_OK;
}

#if LOCKQ_MARIADB_CLIENT
/* Unless it is told which plugins may log in, this library sends the password as it is to any
 * server that asks for that. It asks for the server's public key by itself. */
static enum db_rc
set_flags(struct db *db, const struct where *where)
{
	static const char hashing[] = "caching_sha2_password,sha256_password,mysql_native_password";

	if (is_on(where->text[WHERE_CLEARTEXT]))
		return DB_OK;
	return mysql_optionsv(db->mysql, MARIADB_OPT_RESTRICTED_AUTH, hashing) == 0 ? DB_OK :
	    db_fail(db, "connection options");
}
#else
static enum db_rc
set_flags(struct db *db, const struct where *where)
{
	db_flag cleartext = is_on(where->text[WHERE_CLEARTEXT]);
	db_flag get_key = is_on(where->text[WHERE_GET_PUBLIC_KEY]);

	return mysql_options(db->mysql, MYSQL_ENABLE_CLEARTEXT_PLUGIN, &cleartext) == 0 &&
	    mysql_options(db->mysql, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &get_key) == 0 ? DB_OK :
	    db_fail(db, "connection options");
}
#endif

static enum db_rc
set_protocol(struct db *db, const struct where *where)
{
	unsigned int protocol = by_socket(where) ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;

	if (where->text[WHERE_PROTOCOL] == NULL)
		return DB_OK;
	return mysql_options(db->mysql, MYSQL_OPT_PROTOCOL, &protocol) == 0 ? DB_OK :
	    db_fail(db, "protocol");
}

static enum db_rc
set_where(struct db *db, const struct where *where)
{
	enum db_rc rc = db_tls_read_mode(db, where->text[WHERE_SSL_MODE]);

	if (rc == DB_OK)
		rc = db_tls_set_mode(db, is_plain(db, where));
	if (rc == DB_OK)
		rc = set_texts(db, where, is_plain(db, where));
	if (rc == DB_OK)
		rc = set_flags(db, where);
	return rc == DB_OK ? set_protocol(db, where) : rc;
}

/* The server cuts a name at the first byte that is not UTF-8, and takes the rest for the name: of
 * another database, or of none, for which lockq would take its usual one. */
static enum db_rc
check_names(struct db *db, const struct where *where)
{
	const char *database = where->text[WHERE_DATABASE], *user = where->text[WHERE_USER];

	if (database != NULL && !text_is_utf8(database))
		return db_refuse(db, "database \"%s\" is no name: it must be valid UTF-8",
		    database);
	if (user != NULL && !text_is_utf8(user))
		return db_refuse(db, "account \"%s\" is no name: it must be valid UTF-8", user);
	return DB_OK;
}

enum db_rc
db_connect_at(struct db *db, const struct where *where)
{
	const char *const *text = (const char *const *)where->text;
	enum db_rc rc = check_names(db, where);

	if (rc == DB_OK)
		rc = set_where(db, where);
	if (rc != DB_OK)
		return rc;
	if (mysql_real_connect(db->mysql, text[WHERE_HOST], text[WHERE_USER], text[WHERE_PASSWORD],
	    text[WHERE_DATABASE], where->port, text[WHERE_SOCKET], 0) == NULL) {
		db->lost = true;
		return db_fail(db, "connect");
	}
	return db_tls_check(db);
}
