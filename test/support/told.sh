# What programs told those who called them, and whether the database says the same. Sourced with
# shell.sh, by tests in which servers die.
# shellcheck shell=bash

# told FILE CALL USER TASK COMMAND…: runs the command, which prints JSON, and adds a line to the
# file: the call, its user and task, from when to when it ran, its exit status and what it told.
# Leaves the answer in $answer and the exit status in $status.
told() {
	local file=$1 call=$2 user=$3 task=$4 from=$EPOCHREALTIME
	shift 4
	status=0
	answer=$("$@" 2>>"$file.errors") || status=$?
	printf '{"call":"%s","user":"%s","task":%s,"from":%s,"to":%s,"exit":%s,"answer":[%s]}\n' \
		"$call" "$user" "$task" "$from" "$EPOCHREALTIME" "$status" \
		"${answer//$'\n'/,}" >>"$file"
}

# logged TASKS: what work_log has of these tasks, a line each: event, task, loan, token, user, and
# when it was written.
logged() {
	sql "SELECT l.event, l.task_id, l.loan_id, l.token, u.name, UNIX_TIMESTAMP(l.at)
	       FROM work_log AS l JOIN app_user AS u USING (user_id)
	      WHERE l.task_id IN ($1)"
}

# judge_told FILE LOGGED: a line for each difference between what was told and what is logged.
# A call that ended with status 5 or 6 may have done something or not, and so may one that was
# ended; what the log has and no answer tells must be of such a call.
judge_told() {
	jq -r '
		. as $c | (.answer[]? |
		  if $c.call == "getwork" then .loans[]? | ["assigned", .loan_id, .token]
		  elif .result == "done" then [.state, .loan_id, .token]
		  else empty end) | "told\t\(.[0])\t\($c.task)\t\(.[1])\t\(.[2])\t\($c.user)"
		' "$1" >"$1.changes"
	jq -r 'select(.exit > 3) | "silent\t\(.user)\t\(.task)\t\(.from)\t\(.to)"' "$1" >"$1.silent"
	awk -F '\t' '
		$1 == "silent" {
			n = ++silent[$2, $3]
			from[$2, $3, n] = $4
			to[$2, $3, n] = $5
			next
		}
		$1 == "told" {
			change = $2 " " $3 " " $4 " " $5
			if (change in teller)
				print "told twice: " change ": " teller[change] ", " $6
			teller[change] = $6
			next
		}
		$1 ~ /^(assigned|completed|returned|never)$/ {
			change = $1 " " $2 " " $3 " " $4
			if (change in is_logged) print "logged twice: " change
			is_logged[change] = $5
			if (change in teller) next
			found = 0
			# A COMMIT that nobody waits for any longer may come some seconds later.
			for (i = 1; i <= silent[$5, $2]; i++)
				if (from[$5, $2, i] <= $6 + 1 && $6 <= to[$5, $2, i] + 60) found = 1
			if (!found) print "logged, and told to nobody: " change " " $5
		}
		END {
			for (change in teller)
				if (!(change in is_logged)) print "told, and not logged: " change
				else if (is_logged[change] != teller[change])
					print "told to another user: " change
		}' "$1.silent" "$1.changes" "$2"
}
