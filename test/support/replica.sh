# A primary and its replica, two servers of the test's own. Sourced after test/support/shell.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154 # $top is set by test/support/tap.sh

# start_pair DIR: starts both. From here on sql() and scripts/sandbox mean the primary, and $replica
# is the replica's folder. If it fails, $why_no_pair has the reason.
start_pair() {
	local args=(--innodb-buffer-pool-size=64M) first=0 second port
	primary=$1/p replica=$1/r
	export LOCKQ_SANDBOX_DIR=$primary
	mkdir -p "$primary" "$replica"
	port=$(free_port)
	LOCKQ_SANDBOX_DIR=$replica LOCKQ_MYSQLD_ARGS="${args[*]} --server-id=2 --relay-log=relay" \
		"$top/scripts/sandbox" start >"$1/r.log" 2>&1 &
	second=$!
	LOCKQ_MYSQLD_ARGS="${args[*]} --server-id=1 --log-bin=bin --skip-networking=OFF
		--bind-address=127.0.0.1 --port=$port" \
		"$top/scripts/sandbox" start >"$1/p.log" 2>&1 || first=$?
	if wait "$second" && [ "$first" -eq 0 ] && replicate "$port" 2>"$1/c.log"; then
		return 0
	fi
	# shellcheck disable=SC2034 # for the test that called
	why_no_pair=$(cat "$1"/[prc].log | grep -iE 'error|die|can.t|sandbox' | tail -n 1)
	return 1
}

stop_pair() {
	LOCKQ_SANDBOX_DIR=$replica "$top/scripts/sandbox" destroy >/dev/null 2>&1 &
	LOCKQ_SANDBOX_DIR=$primary "$top/scripts/sandbox" destroy >/dev/null 2>&1
	wait "$!"
}

free_port() {
	local port=3306
	while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || [ "$port" = 3306 ]; do
		port=$((20000 + RANDOM % 12000))
	done
	echo "$port"
}

rsql() {
	LOCKQ_SANDBOX_DIR=$replica "$top/scripts/sandbox" mysql --batch --skip-column-names \
		--execute "$1"
}

# MySQL changed the words of these statements in 8.0.22, 8.0.23 and 8.2.
replicate() {
	local version source=SOURCE change='REPLICATION SOURCE' reset='RESET BINARY LOGS AND GTIDS'
	version=$(sql 'SELECT VERSION()')
	at_least "$version" 8.2.0 || reset='RESET MASTER'
	at_least "$version" 8.0.23 || { source=MASTER change=MASTER; }
	replica_word=REPLICA
	at_least "$version" 8.0.22 || replica_word=SLAVE
	# The same scripts made both, so the replica needs only what changes from here on.
	sql "$reset; CREATE USER copy@'%' IDENTIFIED BY 'copy';
	     GRANT REPLICATION SLAVE ON *.* TO copy@'%';
	     CREATE TABLE test_copied (n INT PRIMARY KEY)" &&
		rsql "CHANGE $change TO
		       ${source}_HOST = '127.0.0.1', ${source}_PORT = $1, ${source}_USER = 'copy',
		       ${source}_PASSWORD = 'copy', GET_${source}_PUBLIC_KEY = 1;
		      START $replica_word; SET GLOBAL super_read_only = ON" &&
		catch_up
}

at_least() {
	[ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}

# lag: stops the replica. catch_up: lets it go on, and waits until it has all that the primary has.
lag() {
	rsql "STOP $replica_word SQL_THREAD"
}

catch_up() {
	local n
	n=$(sql 'INSERT INTO test_copied SELECT COALESCE(MAX(n), 0) + 1 FROM test_copied;
	         SELECT MAX(n) FROM test_copied')
	rsql "START $replica_word SQL_THREAD" 2>/dev/null
	wait_for has_copied "$n" || {
		echo 'error: the replica does not follow' >&2
		return 1
	}
}
has_copied() {
	[ "$(rsql "SELECT COUNT(*) FROM test_copied WHERE n = $1" 2>/dev/null)" = 1 ]
}
