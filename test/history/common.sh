# What the tests and the soak need to read the history of their server. Sourced with shell.sh.
# shellcheck shell=bash

# binlog_begins: the history from here on begins with a file of its own, $first_log.
binlog_begins() {
	sql 'FLUSH BINARY LOGS'
	# shellcheck disable=SC2034 # for the test that called
	first_log=$(last_log)
}

# last_log: the file that the server writes now.
last_log() {
	sql 'SHOW BINARY LOGS' | tail -n 1 | cut -f 1
}

# logs_from FIRST: the paths of the files from this one on, a line each.
logs_from() {
	local folder
	folder=$(dirname "$(sql 'SELECT @@log_bin_basename')")
	sql 'SHOW BINARY LOGS' | cut -f 1 | sed -n "/^$1\$/,\$p" | sed "s|^|$folder/|"
}

# columns_now FILE: how the columns are called by now.
# shellcheck disable=SC2154 # of tap.sh
columns_now() {
	sql "$("$top/test/history/commits" --query)" >"$1"
}
