# Three servers of the test's own that form a Group Replication group, all of them primaries.
# Sourced in place of shell.sh; sql and the functions that call it speak to member 1. The test is
# skipped if no group can be formed.
# shellcheck shell=bash

members=3
scratch=$(mktemp -d)
export LOCKQ_SANDBOX_DIR=$scratch/1 LOCKQ_DEFAULTS_FILE=$scratch/1/lockq.cnf
# shellcheck source=test/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/shell.sh"

# sandbox MEMBER COMMAND…
sandbox() {
	LOCKQ_SANDBOX_DIR=$scratch/$1 "$top/scripts/sandbox" "${@:2}"
}

# at MEMBER SQL: as sql, at that member.
at() {
	LOCKQ_SANDBOX_DIR=$scratch/$1 timeout "$patience" "$top/scripts/sandbox" mysql --batch \
		--skip-column-names --execute "$2"
}

# as MEMBER COMMAND…: runs one of lockq's programs, connected to that member.
as() {
	LOCKQ_DEFAULTS_FILE=$scratch/$1/lockq.cnf timeout "$patience" "${@:2}"
}

# each COMMAND…: runs it for all members at once, with the member's number as the last argument.
each() {
	local i status=0 pids=()
	for ((i = 1; i <= members; i++)); do
		"$@" "$i" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || status=1
	done
	return "$status"
}

# kill_member MEMBER: kill -9, as a machine that is switched off.
kill_member() {
	local pid
	read -r pid <"$scratch/$1/mysqld.pid" || return 1
	kill -KILL "$pid"
}

end_cluster() {
	local i
	for ((i = 1; i <= members; i++)); do
		[ ! -s "$scratch/$i/mysqld.pid" ] || kill_member "$i" 2>/dev/null
		sandbox "$i" destroy 2>/dev/null
	done
	wait
	rm -rf "$scratch"
}

skip_cluster() {
	printf '1..0 # SKIP %s\n' "$1"
	exit 0
}

# Sets $first_port: it and the ports above it are free, and below those that the system gives out
# itself.
find_ports() {
	local i ports
	for ((i = 0; i < 50; i++)); do
		first_port=$((20000 + RANDOM % 12000))
		printf -v ports '%04X|' $(seq "$first_port" $((first_port + 2 * members - 1)))
		grep -Eqi "^ *[0-9]+: [0-9A-F]+:(${ports%|}) " /proc/net/tcp || return 0
	done
	skip_cluster 'no free ports'
}

# start_member MEMBER: starts the sandbox's server with the options of a group. It does not join by
# itself when it starts, since the first member must form the group.
start_member() {
	local i seeds='' g=--loose-group-replication
	for ((i = 0; i < members; i++)); do
		seeds=$seeds${seeds:+,}127.0.0.1:$((first_port + i))
	done
	LOCKQ_MYSQLD_ARGS="--server-id=$1 --log-bin=binlog --gtid-mode=ON
		--enforce-gtid-consistency=ON --skip-networking=0 --bind-address=127.0.0.1
		--port=$((first_port + members + $1 - 1)) --report-host=127.0.0.1
		--innodb-buffer-pool-size=128M --innodb-redo-log-capacity=64M
		--plugin-load-add=group_replication.so $g-group-name=$group
		$g-start-on-boot=OFF $g-local-address=127.0.0.1:$((first_port + $1 - 1))
		$g-group-seeds=$seeds $g-single-primary-mode=OFF
		$g-enforce-update-everywhere-checks=OFF" \
		sandbox "$1" start >"$scratch/start-$1" 2>&1 && return 0
	sed 's/^/# /' "$scratch/start-$1"
	return 1
}

# All members have the same data, so no member may have transactions that the others don't have: the
# group would refuse it. MySQL 8.4 has the newer name of the statement only.
forget_history() {
	at "$1" 'RESET BINARY LOGS AND GTIDS' 2>/dev/null || at "$1" 'RESET MASTER'
}

join() {
	[ "$1" -eq 1 ] || at "$1" 'START GROUP_REPLICATION'
}

# online MEMBERS: waits until member 1 sees so many primaries.
online() {
	await "SELECT COUNT(*) FROM performance_schema.replication_group_members
	        WHERE member_state = 'ONLINE' AND member_role = 'PRIMARY'" "$1" && return 0
	sql 'SELECT * FROM performance_schema.replication_group_members' | sed 's/^/# /'
	return 1
}

# writable MEMBER: waits until the member takes changes, which is a moment after it is ONLINE.
writable() {
	wait_for is_writable "$1"
}
is_writable() {
	[ "$(at "$1" 'SELECT @@global.super_read_only')" = 0 ]
}

form_group() {
	each forget_history || return 1
	sql 'SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION;
	     SET GLOBAL group_replication_bootstrap_group = OFF' || return 1
	each join && online "$members" && each writable
}

# The data directory is made once, with its schema, and copied. Without auto.cnf each server gives
# itself a name of its own.
start_cluster() {
	local i
	read -r group </proc/sys/kernel/random/uuid
	find_ports
	start_member 1 || skip_cluster 'the first server does not start'
	[ "$(sql "SELECT plugin_status FROM information_schema.plugins
	           WHERE plugin_name = 'group_replication'")" = ACTIVE ] ||
		skip_cluster 'this MySQL has no group_replication.so'
	sandbox 1 stop 2>/dev/null
	rm "$scratch/1/data/auto.cnf"
	for ((i = 2; i <= members; i++)); do
		cp -R "$scratch/1" "$scratch/$i"
	done
	each start_member || skip_cluster 'the servers do not start'
	form_group 2>"$scratch/form" || {
		sed 's/^/# /' "$scratch/form"
		skip_cluster 'the servers do not form a group'
	}
}

# catch_up MEMBER…: waits until these members have all that member 1 has.
catch_up() {
	local i gtids
	gtids=$(sql 'SELECT @@global.gtid_executed')
	gtids="WAIT_FOR_EXECUTED_GTID_SET('${gtids//\\n/}', $patience)"
	for i in "$@"; do
		[ "$(at "$i" "SELECT $gtids")" = 0 ] || return 1
	done
}

# everywhere MEMBER…: waits until each of these members has all that any of them has.
everywhere() {
	local i gtids
	for i in "$@"; do
		gtids=$(at "$i" 'SELECT @@global.gtid_executed')
		sql "SELECT WAIT_FOR_EXECUTED_GTID_SET('${gtids//\\n/}', $patience)" >/dev/null
	done
	catch_up "$@"
}

# everywhere_sum SQL: the sum of the members' answers.
everywhere_sum() {
	local i sum=0
	for ((i = 1; i <= members; i++)); do
		sum=$((sum + $(at "$i" "$1")))
	done
	echo "$sum"
}

# raised ERRORS: how often statements have failed with one of these numbers.
raised() {
	everywhere_sum "SELECT SUM(sum_error_raised)
	                  FROM performance_schema.events_errors_summary_global_by_error
	                 WHERE error_number IN ($1)"
}

# How many COMMITs have failed. Autocommit statements are not among them.
uncommitted() {
	everywhere_sum "SELECT sum_errors
	                  FROM performance_schema.events_statements_summary_global_by_event_name
	                 WHERE event_name = 'statement/sql/commit'"
}
