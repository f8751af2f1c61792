#!/usr/bin/env bash
# Several handles in several threads under the thread sanitizer. The client library is not built
# with it, so only what lockq's own code does is seen.
set -u

# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

program=$top/build/tsan/test/memory/test_threads
[ -n "${LOCKQ_DEFAULTS_FILE-}" ] || eval "$("$top/scripts/sandbox" env)"
[ -x "$program" ] || {
	echo "Bail out! $program is missing: make SANITIZE=thread memory-programs"
	exit 1
}
export TSAN_OPTIONS=halt_on_error=0:exitcode=66

# threads TEST: sets $output and $status.
threads()
{
	status=0
	output=$("$program" "$1" 2>&1) || status=$?
}

threads many_handles
is "$status" 0 'many handles in many threads'
is "$(grep -c 'WARNING: ThreadSanitizer' <<<"$output")" 0 'and no data race'

# --- does it notice? ------------------------------------------------------------------------------

export LOCKQ_FORGED=race
threads forged
is "$status" 66 'a forged race fails the program'
is "$(grep -c 'data race.*in write_shared' <<<"$output")" 1 'and is told'
finish
