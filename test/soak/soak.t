#!/usr/bin/env bash
# A minute of the soak, with each fault that is over soon: nothing is broken. And a soak in which an
# administrator breaks something says so.
set -u

# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

# A full disk is left out, since the server looks after a minute whether there is room again. How
# much is done after a fault is not judged: other tests run beside this one.
kinds=kill,stop,clock,cut,sessions,slow,silent,mysqld,crowd,forget,alter
! "$top/test/soak/cable" make $$ 2>/dev/null || kinds+=,cable,loss
"$top/test/soak/cable" remove $$
# On a slow machine a minute may be over before each kind has struck.
for minutes in "${LOCKQ_SOAK_MINUTES:-1}" 3; do
	run "$top/test/soak/run" --minutes "$minutes" --seed 1 --workers 5 --people 3 \
		--rest 200 --least 0 --kinds "$kinds"
	[[ $out == *'never struck'* ]] || break
done
is "$status" 0 'a minute of work while faults strike: no promise is broken'
[ "$status" -eq 0 ] || printf '# %s\n' "${out//$'\n'/$'\n'# }" "${err//$'\n'/$'\n'# }" >&2
like "$out" '^in all: [0-9]{3,} commits, [0-9]{2,} calls, .*: 0 violations$' 'all of it was judged'
is "$(grep -c '^without' <<<"$out")" 0 'no kind of fault was left out'
like "$out" '^requests: [1-9][0-9]* with loans, [1-9][0-9]* without, .*; [1-9][0-9]* corrections$' \
	'people had loans, somebody had none, and managers corrected some'
is "$(grep -c '^Use of\| at .* line [0-9]' <<<"$err")" 0 'nothing is wrong with the soak itself'
like "$out" '^kill -9 of a program +[1-9]' 'programs were killed'
like "$out" '^kill -9 of mysqld, and a restart +[1-9]' 'and so was the server'
like "$out" '^0 violations, 0 without an answer, 0 locks left, 0 whose calls .*, 0 other faults' \
	'nothing was left'

broken='UPDATE work SET note = "x" WHERE state = "completed" LIMIT 1;
	INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested, outcome,
	                            served_at)
	SELECT UUID(), user_id, "x", 101, 1, 0, "empty", NOW(6) FROM app_user
	 WHERE name = "soak-other"'
run "$top/test/soak/run" --minutes 0.2 --seed 1 --workers 2 --people 1 --kinds kill --sql "$broken"
is "$status" 1 'what lockq has not made is not overlooked'
like "$out" 'VIOLATION: the row of work was changed without a row of the log, ' \
	'a change is found'
like "$out" 'VIOLATION: a request was made that nobody asked for, .*user soak-other' \
	'and so is a request'

is "$("$top/test/soak/run" --plan --seed 7 | cksum)" \
	"$("$top/test/soak/run" --plan --seed 7 | cksum)" 'a seed makes the same plan again'
[ "$("$top/test/soak/run" --plan --seed 7 | tail -n +2)" != \
	"$("$top/test/soak/run" --plan --seed 8 | tail -n +2)" ]
ok $? 'and another seed makes another one'
run "$top/test/soak/soak" --kinds kill,rain
is "$status $err" "2 soak: there is no fault 'rain': see soak --help" 'a usage error is one line'
run "$top/test/soak/run" --help
is "$status $err" '0 ' '--help'
finish
