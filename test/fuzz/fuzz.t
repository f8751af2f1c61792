#!/usr/bin/env bash
# Each fuzzer finds nothing in the inputs that are committed, nor in those that it makes of them in
# some seconds, and some mutants are found. `make fuzz` and `make check-long` take longer.
#   LOCKQ_FUZZ_SECONDS=N  how long each fuzzer runs (default: 2, two at a time)
set -u

# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

cd "$top" || exit 1
run make -s fuzz-programs WERROR=1
is "$status" 0 'the fuzzers are built'
run test/fuzz/run --seconds "${LOCKQ_FUZZ_SECONDS:-2}"
is "$status" 0 'the fuzzers find nothing'
printf '# %s\n' "${out//$'\n'/$'\n'# }"
for file in test/fuzz/*.c; do
	name=${file##*/} name=${name%.c}
	ran=0
	grep -Eq "^$name +[0-9]*[1-9][0-9]* .* none\$" <<<"$out" || ran=1
	ok "$ran" "$name has tried its inputs"
	[ -n "$(ls "test/fuzz/corpus/$name" 2>/dev/null)" ]
	ok $? "$name has inputs to begin with"
done
run test/fuzz/mutants --check
is "$status" 0 'mutants are found'
[ "$status" -eq 0 ] || printf '#   %s\n' "${out//$'\n'/$'\n'#   }" >&2
run test/fuzz/run --seconds 0 no-such-fuzzer
is "$status:$out:$err" "2::run: there is no fuzzer 'no-such-fuzzer': see 'test/fuzz/run --help'" \
	'test/fuzz/run refuses what it does not know'
run test/fuzz/mutants --bogus
is "$status:$out:$err" "2::mutants: unknown option '--bogus': see 'test/fuzz/mutants --help'" \
	'test/fuzz/mutants refuses what it does not know'
finish
