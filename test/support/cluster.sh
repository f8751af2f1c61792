# A cluster of the test's own: three members of a Group Replication group and MySQL Router, as
# scripts/sandbox cluster makes it. Sourced in place of shell.sh; sql and the functions that call it
# speak to member 1. The test is skipped if no group can be formed.
# shellcheck shell=bash

members=3
scratch=$(mktemp -d)
export LOCKQ_CLUSTER_DIR=$scratch/cluster
export LOCKQ_SANDBOX_DIR=$LOCKQ_CLUSTER_DIR/1 LOCKQ_DEFAULTS_FILE=$LOCKQ_CLUSTER_DIR/1/lockq.cnf
# shellcheck source=test/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/shell.sh"

# cluster COMMAND…: scripts/sandbox cluster; what it says goes into a file.
cluster() {
	LOCKQ_CLUSTER_WAIT=$patience "$top/scripts/sandbox" cluster "$@" 2>>"$scratch/cluster.log"
}

# at MEMBER SQL: as sql, at that member.
at() {
	LOCKQ_SANDBOX_DIR=$LOCKQ_CLUSTER_DIR/$1 timeout "$patience" "$top/scripts/sandbox" mysql \
		--batch --skip-column-names --execute "$2"
}

# as MEMBER COMMAND…: runs one of lockq's programs, connected to that member.
as() {
	LOCKQ_DEFAULTS_FILE=$LOCKQ_CLUSTER_DIR/$1/lockq.cnf timeout "$patience" "${@:2}"
}

# through_router COMMAND…: runs one of lockq's programs as users of a cluster do.
through_router() {
	LOCKQ_DEFAULTS_FILE=$LOCKQ_CLUSTER_DIR/lockq.cnf timeout "$patience" "$@"
}

end_cluster() {
	cluster destroy
	wait
	rm -rf "$scratch"
}

# hold NAME MEMBER SQL: executes it in a session of its own there, which keeps the locks that it has
# taken until let_go NAME.
declare -A held=()
hold() {
	local fd
	exec {fd}> >(LOCKQ_SANDBOX_DIR=$LOCKQ_CLUSTER_DIR/$2 exec "$top/scripts/sandbox" mysql \
		--batch --skip-column-names --unbuffered >"$scratch/held-$1" 2>&1)
	held[$1]=$fd
	printf "%s; SELECT 'held';\n" "$3" >&"$fd"
	wait_for grep -qsx held "$scratch/held-$1"
}
let_go() {
	local fd=${held[$1]}
	# Others may have the pipe open, so that to close it does not end the session.
	printf 'KILL CONNECTION_ID();\n' >&"$fd"
	exec {fd}>&-
	unset "held[$1]"
}

# start_cluster [--multi-primary]: ends the test where it fails, as skipped only where what a
# cluster is made of is missing.
start_cluster() {
	cluster start "$@" && return 0
	sed 's/^/# /' "$scratch/cluster.log"
	if ! "$top/scripts/setup" router >/dev/null 2>&1; then
		printf '1..0 # SKIP there is no MySQL Router\n'
		exit 0
	fi
	if grep -qs "open shared library 'group_replication.so'" "$scratch/cluster.log"; then
		printf '1..0 # SKIP this server has no Group Replication\n'
		exit 0
	fi
	ok 1 'a cluster is formed'
	finish
	exit 1
}

# catch_up MEMBER…: waits until these members have all that member 1 has. If one never has, this is
# a failed test.
catch_up() {
	local i gtids
	gtids=$(sql 'SELECT @@global.gtid_executed')
	gtids="WAIT_FOR_EXECUTED_GTID_SET('${gtids//\\n/}', $patience)"
	for i in "$@"; do
		[ "$(at "$i" "SELECT $gtids")" = 0 ] ||
			{ ok 1 "member $i has what member 1 has"; return 1; }
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
