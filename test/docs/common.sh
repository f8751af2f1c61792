# What the tests of the documentation share. Sourced by test/docs/*.t; plain TAP, no framework.
# shellcheck shell=bash

top=${LOCKQ_TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
case :$PATH: in
*:"$top/build/bin":*) ;;
*) command -v getwork >/dev/null 2>&1 || PATH=$top/build/bin:$PATH ;;
esac
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

skip() {
	tests=$((tests + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tests" "$1" "$2"
}

# A file's lines as TAP comments.
show() {
	sed 's/^/#   /' "$1"
}

finish() {
	printf '1..%d\n' "$tests"
	[ "$failed" -eq 0 ]
}
