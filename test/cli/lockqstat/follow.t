#!/usr/bin/env bash
# lockqstat --follow, --cursors and --drop-cursor as users run them: what they print, how they end,
# and what a purge says of cursors.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=246 scratch=$(mktemp -d)
cleanup() {
	sql "DELETE FROM follow_cursor"
	forget_all
}
trap cleanup EXIT
make_task $task 1 0
sql "DELETE FROM follow_cursor; DELETE FROM work_log"

# log FROM TO: rows of the log, for the loans of these numbers.
log() {
	sql "SET SESSION cte_max_recursion_depth = 1000000;
	     INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,
	                           request_id, note, at, logged_at)
	       WITH RECURSIVE n AS (SELECT $1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < $2)
	       SELECT $task, i, 'returned', 1000000, 'x@y', 7, 2, 3, 'say [no]\n!',
	              '2026-01-02 03:04:05.678', '2026-01-02 03:04:05.678' FROM n ORDER BY i"
}
position() {
	sql "SELECT position - (SELECT MIN(log_id) - 1 FROM work_log) FROM follow_cursor
	      WHERE name = '$1'"
}
loans() {
	jq -r .loan_id <<<"$out" | xargs
}

# --- usage ----------------------------------------------------------------------------------------

for wrong in '--follow' '--follow a/b' '--until-now' '--cursors --from-now' '--cursors --follow a' \
	'--follow a --drop-cursor a' '--follow a --batch 0' '--follow a --batch 10001' \
	'--drop-cursor a/b'; do
	# shellcheck disable=SC2086 # words
	run lockqstat $wrong
	is "$status:$(sed -n 1p <<<"$err" | cut -c 1-11)" '2:lockqstat: ' "$wrong: exit 2"
done
run lockqstat --cursors
is "$status:$out" '1:there is no cursor: lockqstat --follow makes one' 'no cursors: exit 1'
run lockqstat --drop-cursor none
is "$status:$err" '4:lockqstat: there is no cursor "none"' 'an unknown cursor: exit 4'

# --- the lines ------------------------------------------------------------------------------------

log 1 3
run lockqstat --follow a --until-now
is "$status:$err:$(loans)" '0::1 2 3' 'a new cursor begins at the oldest change'
is "$(head -n 1 <<<"$out" | jq -c 'del(.log_id)')" "$(jq -c . <<END
{"task":$task,"loan_id":1,"at":"2026-01-02T03:04:05.678000Z","event":"returned","user":"#1000000",
"account":"x@y","token":7,"version":2,"request_id":3,"available_at":null,"lease_expires_at":null,
"excluded_until":null,"note":"say [no]\n!","manager":null}
END
)" 'a line is a change'
run lockqstat --follow a --until-now --json --verbose
is "$status:$out" 0: 'nothing new: exit 0, and no line'
like "$err" '^lockqstat: 0 changes acknowledged, cursor "a" at [0-9]+$' '--verbose tells so'
run lockqstat --follow a --until-now --log "$scratch/log"
run lockqstat --drop-cursor none --log "$scratch/log"
is "$(jq -c '[.event, .operation, .result]' "$scratch/log" | grep follow | xargs)" \
	'[end,follow,ok] [end,follow,refused]' '--log has these calls, too'
run lockqstat --follow b --until-now --from-now
is "$status:$out" 0: '--from-now: a new cursor begins behind the newest one'
log 4 5
run lockqstat --follow b --until-now --batch 1
is "$status:$(loans)" '0:4 5' 'and gets what comes then'

# --- how it ends ----------------------------------------------------------------------------------

# follows CURSOR: in the background, into the file lines.
follows() {
	lockqstat --follow "$1" >"$scratch/lines" 2>"$scratch/err" &
	follower=$!
}
ends() {
	status=0
	wait "$follower" || status=$?
}
for signal in TERM INT; do
	follows b
	log 6 7
	wait_for test -s "$scratch/lines"
	await "SELECT position = (SELECT MAX(log_id) FROM work_log) FROM follow_cursor
	        WHERE name = 'b'" 1
	kill -$signal $follower
	ends
	is "$status:$(jq -r .loan_id "$scratch/lines" | xargs):$(cat "$scratch/err")" \
		"$((128 + $(kill -l $signal))):6 7:" \
		"SIG$signal: what it has written is acknowledged"
done
follows b
await "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'lockq_feed'" 1
run lockqstat --drop-cursor b
is "$status:$out" '0:cursor "b" is removed' 'a cursor is removed'
ends
is "$status:$(cat "$scratch/err")" '4:lockqstat: cursor "b" was removed' \
	'and the process that follows it ends'

lockqstat --follow b --from-now --log "$scratch/log" >"$scratch/lines" 2>"$scratch/err" &
follower=$!
await "SELECT COUNT(*) FROM follow_cursor WHERE name = 'b'" 1
rm "$scratch/log"
sql "$(sql "SELECT CONCAT('KILL ', id) FROM information_schema.processlist
             WHERE user = 'lockq_feed'")"
wait_for grep -q 'connection' "$scratch/err"
await "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'lockq_feed'" 1
kill -TERM $follower
ends
is "$status:$(jq -r '.number' "$scratch/log" | sort -u | xargs)" 143:2013 \
	'a connection that was lost is made again, and the log has that failure only'
sql "DELETE FROM follow_cursor WHERE name = 'b'"

# Nobody reads.
run perl -e 'pipe(R, W); close(R); open(STDOUT, ">&", \*W); exec @ARGV' \
	lockqstat --follow c --until-now
is "$status:$err" 5: 'a reader that is gone: it ends without a message'
run sh -c 'lockqstat --follow c --until-now >/dev/full'
is "$status" 5 'a full disk: exit 5'
like "$err" "^lockqstat: standard output can't be written: .*: the last changes come again$" \
	'and why'
is "$(position c)" 0 'nothing is acknowledged then'

# A file that is appended to, whose last line was cut.
lines_of() {
	jq -rR 'fromjson? // "half" | if type == "object" then .loan_id else . end' \
		"$scratch/changes" | xargs
}
for before in '' 'x\n' '{"log_id":1,"ta'; do
	sql "DELETE FROM follow_cursor WHERE name = 'd'"
	printf %b "$before" >"$scratch/changes"
	lockqstat --follow d --until-now >>"$scratch/changes"
	lockqstat --follow d --until-now >>"$scratch/changes"
	is "$(lines_of)" "${before:+half }1 2 3 4 5 6 7 6 7" \
		"after \"$before\" each line is whole"
done
sql "DELETE FROM follow_cursor WHERE name = 'd'"

# A reader that takes nothing, of more than a pipe holds.
log 10 400
mkfifo "$scratch/pipe"
exec {reader}<>"$scratch/pipe"
lockqstat --follow c >"$scratch/pipe" 2>"$scratch/err" &
follower=$!
await "SELECT COUNT(*) > 0 FROM performance_schema.data_locks
        WHERE object_schema = 'lockq' AND object_name = 'follow_cursor'" 1
run lockqstat --drop-cursor c
is "$status" 3 'a cursor that is delivered from is not removed: exit 3'
like "$err" 'another session holds what belongs to cursor "c": nothing was changed: try again' 'why'
kill -TERM $follower
ends
exec {reader}<&-
is "$status:$(position c)" 143:0 'it ends, and what the reader did not take is not acknowledged'

# --- the purge ------------------------------------------------------------------------------------

purge() {
	run env LOCKQ_DEFAULTS_FILE="$scratch/owner.cnf" disposition --expire --purge-after 1d "$@"
}
(umask 077 && sed 's/^\[lockq\]/[unused]/; s/^\[lockq_seed\]/[lockq]/' "$LOCKQ_DEFAULTS_FILE" \
	>"$scratch/owner.cnf")
sql "DELETE FROM work_log WHERE loan_id > 5"
run lockqstat --cursors --json
is "$(jq -c '[.cursor, .lag, .age_s > 86400, .account]' <<<"$out" | xargs -d '\n')" \
	'["c",5,true,"lockq_feed@localhost"] ["a",2,true,"lockq_feed@localhost"]' \
	'the one that is furthest behind comes first'
run lockqstat --cursors
like "$out" '\| c +\| +5 \|' 'people get a table'
purge
like "$status:$out" '^0:kept 5 old rows of work_log for the cursor "c" - ' 'a purge waits for it'
run lockqstat --drop-cursor c --json
is "$out" '{"cursor":"c","done":"removed"}' 'when it is removed'
purge --json
is "$(jq -c '[.log_rows, .kept_rows, .kept_for]' <<<"$out")" '[3,2,"a"]' 'the next one counts'
run lockqstat --follow a --until-now
is "$(loans)" '4 5' 'nothing is left out'
purge --json
is "$(jq -c '[.log_rows, .kept_rows, .kept_for]' <<<"$out")" '[2,0,null]' 'then all goes'
finish
