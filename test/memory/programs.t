#!/usr/bin/env bash
# Runs tests of the programs with programs that were built with the address sanitizer and the
# undefined behaviour sanitizer. An error or a leak changes an exit status, so the test fails.
set -u

top=${LOCKQ_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
[ -n "${LOCKQ_DEFAULTS_FILE-}" ] || eval "$("$top/scripts/sandbox" env)"
PATH=$top/build/asan/bin:$PATH
export PATH ASAN_OPTIONS=detect_leaks=1
number=0 failed=0
for script in "$top"/test/cli/getwork.t "$top"/test/cli/checkwork.t "$top"/test/cli/disposition.t \
	"$top"/test/race/burst.t; do
	number=$((number + 1)) status=0
	output=$("$script" 2>&1) || status=$?
	if [ "$status" -eq 0 ] && ! grep -q Sanitizer <<<"$output"; then
		printf 'ok %d - %s\n' "$number" "${script#"$top"/}"
	else
		failed=1
		printf 'not ok %d - %s\n' "$number" "${script#"$top"/}"
		grep -Ev '^ok ' <<<"$output" | sed 's/^/# /'
	fi
done
printf '1..%d\n' "$number"
exit "$failed"
