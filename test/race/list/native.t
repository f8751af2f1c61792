#!/usr/bin/env bash
# The tests of the kept list on a server that checks foreign keys in InnoDB. Such a server locks the
# row that a foreign key refers to, as MySQL 8.0 and 8.4 do. MySQL 9.7 does not, unless it is
# started with this option. make check-long runs all db and race tests so.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../../support/tap.sh"

build=${LOCKQ_BUILD:-$top/build}
scratch=$(mktemp -d)
export LOCKQ_SANDBOX_DIR=$scratch/sb LOCKQ_TOP=$top
export LOCKQ_MYSQLD_ARGS=--innodb-native-foreign-keys=ON
unset LOCKQ_DEFAULTS_FILE
trap '"$top/scripts/sandbox" destroy >"$scratch/destroy" 2>&1; rm -rf "$scratch"' EXIT

if ! "$top/scripts/sandbox" start >"$scratch/start" 2>&1; then
	# A server before 9.6 has no such option, since its foreign keys are always checked so.
	if "$top/scripts/sandbox" log | grep -q 'unknown variable.*native-foreign-keys'; then
		echo '1..0 # SKIP this server has foreign keys in InnoDB only'
		exit 0
	fi
	cat "$scratch/start" >&2
	exit 1
fi
eval "$("$top/scripts/sandbox" env)"
# sandbox mysql uses the administrator.
is "$("$top/scripts/sandbox" mysql --batch --skip-column-names \
	--execute 'SELECT @@innodb_native_foreign_keys')" 1 \
	'the server checks foreign keys in InnoDB'
for test in "$build"/test/db/list/test_{kept,touched,short_list} \
	"$top/test/race/getwork/held.t"; do
	status=0
	CMOCKA_MESSAGE_OUTPUT=TAP "$test" >"$scratch/out" 2>&1 || status=$?
	ok "$status" "${test#"$top/"}"
	[ "$status" -eq 0 ] || sed 's/^/#   /' "$scratch/out" >&2
done
finish
