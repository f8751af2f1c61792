# Accounts of their own for tests of rights. $scratch is a folder for their option files, and $bank
# the database that they use.
# shellcheck shell=bash

# shellcheck source=test/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/shell.sh"

scratch=$(mktemp -d)
sandbox=$(dirname "$LOCKQ_DEFAULTS_FILE")
accounts=()

admin() {
	"$top/scripts/sandbox" mysql --batch --skip-column-names --execute="$1"
}

# account NAME ROLE [DATABASE]
account() {
	admin "DROP USER IF EXISTS test_$1@localhost;
	       CREATE USER test_$1@localhost IDENTIFIED BY 'test';
	       GRANT $2 TO test_$1@localhost; SET DEFAULT ROLE ALL TO test_$1@localhost"
	printf '[client]\nuser=test_%s\npassword=test\nsocket="%s"\ndatabase=%s\n' "$1" \
		"$sandbox/mysql.sock" "${3-$bank}" >"$scratch/$1.cnf"
	chmod 600 "$scratch/$1.cnf"
	accounts+=("$1")
}

# as NAME PROGRAM [ARGUMENT...]: runs a program of lockq with an account.
as() {
	local name=$1
	shift
	run env LOCKQ_DEFAULTS_FILE="$scratch/$name.cnf" "$@"
}

# On exit.
forget_accounts() {
	local name
	for name in "${accounts[@]}"; do
		admin "DROP USER IF EXISTS test_$name@localhost" >/dev/null
	done
	rm -rf "$scratch"
}
