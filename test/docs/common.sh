# What the tests of the documentation share. Sourced by test/docs/*.t.
# shellcheck shell=bash

# shellcheck source=test/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
case :$PATH: in
*:"$top/build/bin":*) ;;
*) command -v getwork >/dev/null 2>&1 || PATH=$top/build/bin:$PATH ;;
esac
skip() {
	tests=$((tests + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tests" "$1" "$2"
}

# A file's lines as TAP comments.
show() {
	sed 's/^/#   /' "$1"
}
