# TAP for the tests in shell, without a framework. A failed test writes the values that it saw to
# standard error, which prove passes on. Sourced; sets $top to the project's folder.
# shellcheck shell=bash

# shellcheck source=scripts/nap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/nap.sh"
# shellcheck disable=SC2034 # the sourcing script uses it
top=${LOCKQ_TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
tests=0 failed=0
# The seconds that a test waits for an event. A loaded machine needs a small part of them, so a test
# fails here only if the event never comes.
patience=300

# ok STATUS DESCRIPTION
ok() {
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		printf 'ok %d - %s\n' "$tests" "$2"
	else
		failed=$((failed + 1))
		printf 'not ok %d - %s\n' "$tests" "$2"
	fi
}

# is GOT EXPECTED DESCRIPTION
is() {
	local status=0
	[ "$1" = "$2" ] || status=1
	ok "$status" "$3"
	[ "$status" -eq 0 ] || printf '#   got %s, expected %s\n' "$1" "$2" >&2
}

# run COMMAND…: leaves its status, standard output and standard error in $status, $out and $err.
run() {
	[ "${errors_of-}" = "$BASHPID" ] || open_errors
	status=0
	# shellcheck disable=SC2034 # for the test that called
	out=$(COLUMNS=${COLUMNS:-${run_width-}} "$@" 2>"/dev/fd/$errors" {errors}>&-) || status=$?
	IFS= read -r -d '' err <"/dev/fd/$errors" || true
	while [[ $err == *$'\n' ]]; do
		err=${err%$'\n'}
	done
}

# open_errors: one file for all that this shell runs, and another one for each subshell.
open_errors() {
	local file
	file=$(mktemp)
	exec {errors}<>"$file"
	rm "$file"
	errors_of=$BASHPID
}

# like TEXT PATTERN DESCRIPTION: an extended regular expression, anywhere in TEXT.
like() {
	local found=0
	grep -Eq -e "$2" <<<"$1" || found=1
	ok "$found" "$3"
	[ "$found" -eq 0 ] || printf '#   got: %s\n' "${1//$'\n'/$'\n'#   got: }" >&2
}

# wait_for COMMAND…: repeats the command until it succeeds. If it never does, this is a failed test.
wait_for() {
	local deadline=$((SECONDS + patience))
	until "$@"; do
		if [ "$SECONDS" -ge "$deadline" ]; then
			ok 1 "an event comes within $patience s"
			printf '#   it is: %s\n' "${*//$'\n'/ }" >&2
			return 1
		fi
		nap 0.1
	done
}

# The version of the checkout.
lockq_version() {
	sed -n 's/^#define LOCKQ_VERSION "\(.*\)"/\1/p' "$top/lib/lockq.h"
}

finish() {
	printf '1..%d\n' "$tests"
	[ "$failed" -eq 0 ]
}
