# For tests in which many wait at once: sessions of the administrator that stay open, how many wait,
# and how many statements they send. Sourced in place of shell.sh; $scratch is a folder for files.
# shellcheck shell=bash

# shellcheck source=test/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/shell.sh"

[ -n "${scratch-}" ] || scratch=$(mktemp -d)
marks=0
declare -A session=()

# say NAME SQL: sends it to the session of that name, which is opened for its first SQL.
say() {
	local fd
	if [ -z "${session[$1]-}" ]; then
		exec {fd}> >(exec "$top/scripts/sandbox" mysql --batch --skip-column-names \
			--unbuffered >"$scratch/said-$1" 2>&1)
		session[$1]=$fd
	fi
	printf '%s;\n' "$2" >&"${session[$1]}"
}

# said NAME: waits until the session has executed all its SQL.
said() {
	local mark=$((++marks))
	say "$1" "SELECT 'done $mark'"
	wait_for grep -qsx "done $mark" "$scratch/said-$1"
}

# hang_up NAME: ends the session. To close its pipe is not enough, since the programs in the
# background have the pipe open, too.
hang_up() {
	local fd=${session[$1]-}
	[ -n "$fd" ] || return 0
	printf '\\q\n' >&"$fd"
	exec {fd}>&-
	unset "session[$1]"
}

# On exit: the sessions end, so the programs in the background go on, and end.
end_crowd() {
	local name
	for name in "${!session[@]}"; do
		hang_up "$name"
	done
	wait
	rm -rf "$scratch"
}

# How many wait for a row. Not from innodb_trx: who asks more often than ten times a second gets the
# same answer for ever, since each look renews the life of a kept one.
waiting() {
	sql "SELECT COUNT(DISTINCT engine_transaction_id) FROM performance_schema.data_locks
		WHERE lock_status = 'WAITING'"
}

# until_waiting N: waits until so many wait.
until_waiting() {
	wait_for at_least_wait "$1"
}
at_least_wait() {
	[ "$(waiting)" -ge "$1" ]
}

# until_true SQL: waits until the query gives 1.
until_true() {
	await "$1" 1
}

now_ms() {
	echo $((${EPOCHREALTIME//[!0-9]/} / 1000))
}

# statements FILE: how many statements each session of the programs has sent, by the server's count.
statements() {
	sql "SELECT s.thread_id, s.variable_value
	       FROM performance_schema.status_by_thread AS s
	       JOIN performance_schema.threads AS t ON t.thread_id = s.thread_id
	      WHERE t.processlist_user = 'lockq_app' AND s.variable_name = 'Questions'" \
		>"$scratch/$1"
}

# ran_since BEFORE AFTER: how many statements the sessions sent between the two counts: $mean on
# average, $most the busiest. Sessions that sent none, as a leader's, do not count.
ran_since() {
	# shellcheck disable=SC2034 # the sourcing script uses them
	read -r mean most < <(awk 'NR == FNR { was[$1] = $2; next }
		{ n = $2 - was[$1]; sum += n; active += n > 0 } n > most { most = n }
		END { printf "%.1f %d\n", sum / (active ? active : 1), most }' \
		"$scratch/$1" "$scratch/$2")
}
