# TAP for the tests in shell, without a framework; what was seen instead goes to standard error,
# where whoever runs many tests shows it. Sourced; sets $top to the project's folder.
# shellcheck shell=bash

# shellcheck disable=SC2034 # for those who source this
top=${LOCKQ_TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
tests=0 failed=0

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
	local errors
	errors=$(mktemp)
	status=0
	# shellcheck disable=SC2034 # for the test that called
	out=$("$@" 2>"$errors") || status=$?
	# shellcheck disable=SC2034
	err=$(cat "$errors")
	rm -f "$errors"
}

# like TEXT PATTERN DESCRIPTION: an extended regular expression, anywhere in TEXT.
like() {
	local found=0
	grep -Eq -e "$2" <<<"$1" || found=1
	ok "$found" "$3"
	[ "$found" -eq 0 ] || printf '#   got: %s\n' "${1//$'\n'/$'\n'#   got: }" >&2
}

finish() {
	printf '1..%d\n' "$tests"
	[ "$failed" -eq 0 ]
}
