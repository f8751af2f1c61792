/* SPDX-License-Identifier: MIT */
/* Encryption. MySQL's library knows the ssl modes. MariaDB's library knows only "use TLS where the
 * server has it" and "check the certificate"; here the modes are built from these two. */
#include "db_private.h"

#include <string.h>

static const char *const ssl_modes[] = {
	"DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"
};

enum db_rc
db_set_ssl_mode(struct db *db, const char *name)
{
	size_t i = 0;

	if (name == NULL)
		name = "PREFERRED";
	while (i < sizeof(ssl_modes) / sizeof(ssl_modes[0]) && strcmp(name, ssl_modes[i]) != 0)
		i++;
	if (i == sizeof(ssl_modes) / sizeof(ssl_modes[0]))
		return db_refuse(db, "ssl mode \"%s\" is unknown: use DISABLED, PREFERRED, "
		    "REQUIRED, VERIFY_CA or VERIFY_IDENTITY", name);
	db->ssl_mode = DB_SSL_DISABLED + (unsigned int)i;
#if LOCKQ_MARIADB_CLIENT
	/* Despite its name ENFORCE lets the library go on in plain text where the server has no
	 * TLS. Without it there is no TLS at all, or, since 3.4, none without a checked
	 * certificate. */
	db_flag tls = db->ssl_mode != DB_SSL_DISABLED;
	db_flag verify = db->ssl_mode == DB_SSL_VERIFY_IDENTITY;

	if (db->ssl_mode == DB_SSL_VERIFY_CA)
		return db_refuse(db, "ssl mode \"VERIFY_CA\" is not known to MariaDB's client "
		    "library: use VERIFY_IDENTITY");
	if (mysql_options(db->mysql, MYSQL_OPT_SSL_ENFORCE, &tls) != 0 ||
	    mysql_options(db->mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify) != 0)
		return db_fail(db, "ssl mode");
#else
	_Static_assert((int)DB_SSL_DISABLED == (int)SSL_MODE_DISABLED &&
	    (int)DB_SSL_VERIFY_IDENTITY == (int)SSL_MODE_VERIFY_IDENTITY, "the same numbers");

	if (mysql_options(db->mysql, MYSQL_OPT_SSL_MODE, &db->ssl_mode) != 0)
		return db_fail(db, "ssl mode");
#endif
	return DB_OK;
}

static bool
connect_now(struct db *db, const struct lockq_connection *where)
{
	return mysql_real_connect(db->mysql, where->host, where->user, where->password,
	    where->database, where->port, where->socket, 0) != NULL;
}

#if LOCKQ_MARIADB_CLIENT
/* MariaDB's library reads the option files when it connects, and their options win over those that
 * were set before: "ssl-verify-server-cert=0" would undo VERIFY_IDENTITY. With a protocol that Unix
 * does not have, the library reads the files and then fails, so the options can be set after that.
 * If an option file names a protocol of its own, the first attempt already connects. */
static bool
connect_by_library(struct db *db, const struct lockq_connection *where)
{
	static const unsigned int none = MYSQL_PROTOCOL_PIPE, usual = MYSQL_PROTOCOL_DEFAULT;
	static const enum mysql_option turn_it_on[] = { MYSQL_OPT_SSL_KEY, MYSQL_OPT_SSL_CERT,
		MYSQL_OPT_SSL_CA, MYSQL_OPT_SSL_CAPATH, MYSQL_OPT_SSL_CIPHER };
	MYSQL *mysql = db->mysql;
	const char *host = where->host;
	bool socket, plain;
	db_flag verify = db->ssl_mode == DB_SSL_VERIFY_IDENTITY, off = 0;

	mysql_options(mysql, MYSQL_OPT_PROTOCOL, &none);
	if (connect_now(db, where))
		return true;
	if (mysql_errno(mysql) != CR_CONN_UNKNOWN_PROTOCOL)
		return false;
	mysql_options(mysql, MYSQL_OPT_PROTOCOL, &usual);
	if (host == NULL || host[0] == '\0')
		host = mysql->options.host;
	/* As long as my_cnf_group is set, the files have not been read: their host is unknown. */
	socket = mysql->options.my_cnf_group == NULL &&
	    (host == NULL || strcmp(host, "localhost") == 0);
	/* As with MySQL's library, PREFERRED uses no TLS on a socket. MariaDB's library would first
	 * read all of the system's CA certificates, which takes a hundred times as long as to
	 * connect. */
	plain = db->ssl_mode == DB_SSL_DISABLED || (db->ssl_mode == DB_SSL_PREFERRED && socket);
	if (verify || plain)
		mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
	if (plain) {
		mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &off);
		for (size_t i = 0; i < sizeof(turn_it_on) / sizeof(turn_it_on[0]); i++)
			mysql_options(mysql, turn_it_on[i], NULL);
	}
	return connect_now(db, where);
}
#else
#define connect_by_library connect_now
#endif

enum db_rc
db_connect_tls(struct db *db, const struct lockq_connection *where)
{
	if (!connect_by_library(db, where)) {
		db->lost = true;
		return db_fail(db, "connect");
	}
	/* The library may not have kept to the mode. The password has been sent by now, though not
	 * as plain text: only a checked certificate protects it from a false server. */
	if (db->ssl_mode >= DB_SSL_REQUIRED && mysql_get_ssl_cipher(db->mysql) == NULL)
		return db_refuse(db, "ssl mode \"%s\": the connection is not encrypted: connect "
		    "over TCP to a server that offers TLS",
		    ssl_modes[db->ssl_mode - DB_SSL_DISABLED]);
	return DB_OK;
}
