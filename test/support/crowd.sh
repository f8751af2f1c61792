# For what looks at many who wait at once: sessions of the administrator's that stay open, who
# waits, what the server has to do with them. Sourced in place of shell.sh; $scratch is a folder of
# its own.
# shellcheck shell=bash

# shellcheck source=test/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/shell.sh"

scratch=$(mktemp -d)
marks=0
declare -A session=()

# say NAME SQL: one of these sessions, opened when it is first told something.
say() {
	local fd
	if [ -z "${session[$1]-}" ]; then
		exec {fd}> >(exec "$top/scripts/sandbox" mysql --batch --skip-column-names \
			--unbuffered >"$scratch/said-$1" 2>&1)
		session[$1]=$fd
	fi
	printf '%s;\n' "$2" >&"${session[$1]}"
}

# said NAME: it has done everything that it was told so far.
said() {
	local i mark=$((++marks))
	say "$1" "SELECT 'done $mark'"
	for ((i = 0; i < 300; i++)); do
		! grep -qsx "done $mark" "$scratch/said-$1" || return 0
		sleep 0.1
	done
	printf '# session %s does not get done\n' "$1"
	return 1
}

# It is told to go: those whom we started have its pipe open, too.
hang_up() {
	local fd=${session[$1]-}
	[ -n "$fd" ] || return 0
	printf '\\q\n' >&"$fd"
	exec {fd}>&-
	unset "session[$1]"
}

# On exit: whoever still waits gets on, and is waited for.
end_crowd() {
	local name
	for name in "${!session[@]}"; do
		hang_up "$name"
	done
	wait
	rm -rf "$scratch"
}

# How many wait for a row.
waiting() {
	sql "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
}

until_waiting() {
	local i
	for ((i = 0; i < 300; i++)); do
		[ "$(waiting)" -lt "$1" ] || return 0
		sleep 0.2
	done
	printf '# %s wait, not %s\n' "$(waiting)" "$1"
	return 1
}

# until_true SQL: until it gives 1.
until_true() {
	local i
	for ((i = 0; i < 300; i++)); do
		[ "$(sql "$1")" != 1 ] || return 0
		sleep 0.1
	done
	printf '# still not: %s\n' "$1"
	return 1
}

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# Statements that each follower's session has run so far, by the server's count (Questions).
statements() {
	sql "SELECT s.thread_id, s.variable_value
	       FROM performance_schema.status_by_thread AS s
	       JOIN performance_schema.threads AS t ON t.thread_id = s.thread_id
	      WHERE t.processlist_user = 'lockq_app' AND s.variable_name = 'Questions'" \
		>"$scratch/$1"
}

# ran_since BEFORE AFTER: what they ran in between, $mean on average and $most the busiest. Sessions
# that ran nothing do not count: a leader's.
ran_since() {
	# shellcheck disable=SC2034 # for those who source this
	read -r mean most < <(awk 'NR == FNR { was[$1] = $2; next }
		{ n = $2 - was[$1]; sum += n; active += n > 0 } n > most { most = n }
		END { printf "%.1f %d\n", sum / (active ? active : 1), most }' \
		"$scratch/$1" "$scratch/$2")
}
