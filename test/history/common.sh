# What tests need to read the history of their server. Sourced with shell.sh.
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

# people_now FILE: who was there before the history begins.
people_now() {
	sql 'SELECT user_id, name FROM app_user' >"$1"
}

# told FILE CALL USER TASK EXTRA COMMAND…: runs the command, which prints JSON, and adds to the
# file what it told. EXTRA is more of the line, as in '"no_wait":true,'. What it complains of goes
# into $told_errors.
told() {
	local file=$1 call=$2 user=$3 of=$4 extra=$5 from=$EPOCHREALTIME answer status=0 end
	shift 5
	if [[ " $* " =~ ' --return-after '([0-9]+)s' ' ]]; then
		extra+='"return_after":'${BASH_REMATCH[1]},
	elif [[ " $* " =~ ' --return-after '([0-9]+)h?' ' ]]; then
		extra+='"return_after":'$((BASH_REMATCH[1] * 3600)),
	fi
	answer=$("$@" 2>>"${told_errors:-/dev/null}") || status=$?
	end='"exit":'$status
	[ "$status" -ne 137 ] || end='"signal":9'
	printf '{"call":"%s","user":"%s","task":%s,%s"from":%s,"to":%s,%s,"answer":[%s]}\n' \
		"$call" "$user" "$of" "$extra" "$from" "$EPOCHREALTIME" "$end" \
		"${answer//$'\n'/,}" >>"$file"
	printf '%s\n' "$answer"
}
