#!/usr/bin/env bash
# Programs under valgrind: no use of memory that is not there, or was not set, and nothing lost. The
# sanitizers don't see memory that was not set, nor what the client library does with what it is
# given. valgrind can't run programs that have the C library of build/mysql, so it gets those of
# `make CLIENT=mariadb`.
set -u

# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

build=$top/build/mariadb
[ -n "${LOCKQ_DEFAULTS_FILE-}" ] || eval "$("$top/scripts/sandbox" env)"
[ -x "$build/test/memory/test_threads" ] || {
	echo "Bail out! build/mariadb is missing: make CLIENT=mariadb valgrind-programs"
	exit 1
}
faulty=99

# watched COMMAND…: runs it under valgrind, and sets $output and $status.
watched()
{
	status=0
	output=$(valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite \
		--show-leak-kinds=definite --error-exitcode=$faulty --child-silent-after-fork=yes \
		"$@" 2>&1) || status=$?
}

# clean STATUS COMMAND…: it ends with this status, and valgrind has nothing to say.
clean()
{
	local expected=$1

	shift
	watched "$@"
	is "$status $(grep -c '^==' <<<"$output")" "$expected 0" "${1##*/} ${*:2}"
	grep '^==' <<<"$output" | head -n 40 | sed 's/^/# /'
}

for test in getwork/test_lock getwork/test_retry list/test_kept rules/test_rules feed/test_follow \
	look/test_history look/test_pipeline; do
	clean 0 "$build/test/db/$test"
done

"$top/build/bin/seedloans" --reset --loans 200 --users 24 >/dev/null 2>&1
clean 0 "$build/bin/getwork" --user oliver --task 2 --count 2
clean 0 "$build/bin/checkwork" --user oliver
loan=$("$build/bin/checkwork" --user oliver --json | jq -r '.loan_id // empty' | head -n 1)
clean 0 "$build/bin/disposition" --user oliver --task 2 --loan "$loan" --complete
clean 1 "$build/bin/checkwork" --user tracy

# --- does it notice? ------------------------------------------------------------------------------

for forged in leak unset beyond; do
	export LOCKQ_FORGED=$forged
	watched "$build/test/memory/test_threads" forged
	is "$status" $faulty "a forged fault fails: $forged"
done
finish
