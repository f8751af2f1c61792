#!/usr/bin/env bash
# Runs tests of the programs with programs that were built with the address sanitizer and the
# undefined behaviour sanitizer. An error or a leak changes an exit status, so the test fails.
#
#   LOCKQ_PROGRAMS=all   those of managers and operators, too; make check-long has them
set -u

top=${LOCKQ_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
[ -n "${LOCKQ_DEFAULTS_FILE-}" ] || eval "$("$top/scripts/sandbox" env)"
PATH=$top/build/asan/bin:$PATH
export PATH ASAN_OPTIONS=detect_leaks=1
scripts=(cli/getwork/getwork cli/checkwork/checkwork cli/disposition/disposition
	race/getwork/burst)
[ "${LOCKQ_PROGRAMS-}" != all ] ||
	scripts+=(cli/managetask/managetask cli/lockqstat/lockqstat cli/refill/refill
		cli/seedloans/seedloans cli/cli/injection)
for program in getwork checkwork disposition runwork managetask lockqstat refill seedloans; do
	nm -D "$top/build/asan/bin/$program" 2>/dev/null | grep -q ' __asan_init' ||
		{ echo "Bail out! build/asan/bin/$program has no sanitizer"; exit 1; }
done
number=0 failed=0
for script in "${scripts[@]}"; do
	number=$((number + 1)) status=0
	output=$("$top/test/$script.t" 2>&1) || status=$?
	if [ "$status" -eq 0 ] && ! grep -q Sanitizer <<<"$output"; then
		printf 'ok %d - %s\n' "$number" "test/$script.t"
	else
		failed=1
		printf 'not ok %d - %s\n' "$number" "test/$script.t"
		grep -Ev '^ok ' <<<"$output" | sed 's/^/# /'
	fi
done
printf '1..%d\n' "$number"
exit "$failed"
