/* SPDX-License-Identifier: MIT */
/* How safe a connection must be: the ssl modes, and the refusal of a connection without TLS.
 * MySQL's library knows the modes. MariaDB's library knows only "use TLS where the server has it"
 * and "check the certificate"; here the modes are built from these two. */
#include "db/db_private.h"

#include <strings.h>

static const char *const ssl_modes[] = {
	"DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"
};
enum { SSL_MODES = sizeof(ssl_modes) / sizeof(ssl_modes[0]) };

/* Returns 0 for an unknown mode. */
static unsigned int
ssl_mode_number(const char *name)
{
	for (unsigned int i = 0; i < SSL_MODES; i++) {
		if (strcasecmp(name, ssl_modes[i]) == 0)
			return DB_SSL_DISABLED + i;
	}
	return 0;
}

const char *
db_fault_of_ssl_mode(const char *name)
{
	unsigned int mode = ssl_mode_number(name);

	if (mode == 0)
		return "is unknown: use DISABLED, PREFERRED, REQUIRED, VERIFY_CA or "
		    "VERIFY_IDENTITY";
	return LOCKQ_MARIADB_CLIENT && mode == DB_SSL_VERIFY_CA ?
	    "is not known to MariaDB's client library: use VERIFY_IDENTITY" : NULL;
}

const char *
db_fault_of_ciphersuites(void)
{
	return LOCKQ_MARIADB_CLIENT ? "is not known to MariaDB's client library: use ssl-cipher" :
	    NULL;
}

enum db_rc
db_tls_read_mode(struct db *db, const char *name)
{
	const char *mode = name != NULL ? name : "PREFERRED";

	if (db_fault_of_ssl_mode(mode) != NULL)
		return db_refuse(db, "ssl mode \"%s\" %s", mode, db_fault_of_ssl_mode(mode));
	db->ssl_mode = ssl_mode_number(mode);
	return DB_OK;
}

#if LOCKQ_MARIADB_CLIENT
/* Despite its name ENFORCE lets the library go on in plain text where the server has no TLS.
 * Without it there is no TLS at all, or, since 3.4, none without a checked certificate. */
enum db_rc
db_tls_set_mode(struct db *db, bool plain)
{
	db_flag tls = !plain, verify = db->ssl_mode == DB_SSL_VERIFY_IDENTITY;

	if (mysql_options(db->mysql, MYSQL_OPT_SSL_ENFORCE, &tls) != 0 ||
	    mysql_options(db->mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify) != 0)
		return db_fail(db, "ssl mode");
	return DB_OK;
}
#else
enum db_rc
db_tls_set_mode(struct db *db, bool plain)
{
	_Static_assert((int)DB_SSL_DISABLED == (int)SSL_MODE_DISABLED &&
	    (int)DB_SSL_VERIFY_IDENTITY == (int)SSL_MODE_VERIFY_IDENTITY, "the same numbers");

	(void)plain;
	return mysql_options(db->mysql, MYSQL_OPT_SSL_MODE, &db->ssl_mode) == 0 ? DB_OK :
	    db_fail(db, "ssl mode");
}
#endif

/* By now the account has logged in: only a checked certificate protects its password from a false
 * server. */
enum db_rc
db_tls_check(struct db *db)
{
	if (db->ssl_mode >= DB_SSL_REQUIRED && mysql_get_ssl_cipher(db->mysql) == NULL)
		return db_refuse(db, "ssl mode \"%s\": the connection is not encrypted: connect "
		    "over TCP to a server that offers TLS",
		    ssl_modes[db->ssl_mode - DB_SSL_DISABLED]);
	return DB_OK;
}
