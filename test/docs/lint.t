#!/usr/bin/env bash
# scripts/lint finds no fault. It computes all the time, so make check-rest runs it beside tests
# that mostly wait.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

cd "$top" || exit 1
run scripts/lint --no-analyzer
is "$status" 0 'scripts/lint --no-analyzer'
[ "$status" -eq 0 ] || printf '#   %s\n' "${err//$'\n'/$'\n'#   }" >&2
run scripts/lint --nonsense
is "$status" 2 'an unknown option: exit 2'
finish
