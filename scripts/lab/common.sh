# What the patterns of the lab share. Sourced by scripts/lab/*, which scripts/race runs.
# shellcheck shell=bash
#
# A pattern is a script with these functions, and `lab "$@"` at its end:
#   tables      makes its tables, empty
#   ask         what the process of one user does to get $count loans
#   background  what runs beside the users, where there is something: a cleaner, a producer
#
# In them: $user and @me is who asks, $count how many loans, $number which process this is (from
# 0), $variant what stood behind the colon of PATTERN:VARIANT.
# shellcheck disable=SC2034,SC2154 # for those who source this; $events is of exec {events}
set -eu

name=$(basename "$0")
user=${LAB_USER-} count=${LAB_COUNT-3} number=${LAB_NUMBER-0} variant=${LAB_VARIANT-}

# The heavy query, the same in all patterns: the first loans that nobody has. What makes it heavy
# is inside the view.
next_loans="
	SELECT loan_id
	  FROM candidates
	 WHERE loan_id NOT IN (SELECT loan_id FROM given)
	 ORDER BY priority, loan_id
	 LIMIT"

# Who has which loan. No key: nothing but the pattern keeps two people apart.
given_to="
	CREATE TABLE given (
	  loan_id   BIGINT UNSIGNED NOT NULL,
	  user_name VARCHAR(64) NOT NULL)"

# --- the session --------------------------------------------------------------------------------

# try STATEMENT: runs it in this process's session and says whether it went well. Leaves what it
# returned in $rows, how many rows it changed in $changed; where it failed, the error's number in
# $error and its text in $message.
try() {
	local line
	rows='' changed=0 error=0 message=''
	printf "%s;\nSELECT '--done--', ROW_COUNT();\n" "$1" >&"${SESSION[1]}"
	while IFS= read -r line <&"${SESSION[0]}"; do
		case $line in
		--done--*)
			changed=${line#*$'\t'}
			[ "$error" -eq 0 ]
			return ;;
		'ERROR '*)
			error=${line#ERROR } message="${line#*: } (${error%% *})"
			error=${error%% *}
			# The client would go on without a connection.
			case $error in 1053 | 2002 | 2006 | 2013) refused "$message" ;; esac ;;
		*) rows+=${rows:+$'\n'}$line ;;
		esac
	done
	refused "${message:-the connection was lost}"
}

# sql STATEMENT: the same, where a failure is the end: the user is told.
sql() {
	try "$1" || refused "$message"
}

# In READ COMMITTED every statement sees what others have committed by then.
open_session() {
	coproc SESSION {
		exec mysql --defaults-file="$LAB_OPTIONS" --database=lockq_lab --batch \
			--skip-column-names --unbuffered --force --skip-reconnect 2>&1
	}
	sql 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'
	sql "SET @me = CONVERT(X'$(printf %s "$user" | od -An -v -tx1 | tr -d ' \n')'
		USING utf8mb4) COLLATE utf8mb4_0900_as_cs"
}

# --- the race -----------------------------------------------------------------------------------

# Milliseconds in $now.
read_clock() {
	now=$((${EPOCHREALTIME//[!0-9]/} / 1000))
}

# event WHAT [DETAIL [MS]]: tells scripts/race, which knows what to make of it.
event() {
	read_clock
	printf '%s\t%s\t%s\t%s\n' "${3-$now}" "$user" "$1" "${2-}" >&"$events"
}

# fill_jobs: in patterns with a queue, what its producer does: the heavy query, once, for all.
fill_jobs() {
	heavy "INSERT INTO job (loan_id, priority)
	       SELECT loan_id, priority FROM candidates
	        ORDER BY priority, loan_id LIMIT $((4 * count * LAB_SHELLS))"
}

# look_for_jobs: in patterns with a queue: whether it has been filled, and has a job left. No job of
# a queue that was filled: there is no work.
look_for_jobs() {
	sql 'SELECT EXISTS (SELECT * FROM job),
	            EXISTS (SELECT * FROM job WHERE user_name IS NULL)'
	[ "$rows" != $'1\t0' ] || got
	[ "$rows" = $'1\t1' ]
}

# later: before the next look, where a pattern has to look again and again. Not when nobody follows
# the race any more.
later() {
	sleep 0.2
	kill -0 "$LAB_RACE" 2>/dev/null || exit
}

# heavy QUERY: runs it, leaves its rows in $rows.
heavy() {
	event leads
	sql "$1"
	event queried
}

# find_loans N: the first N loans that nobody has, by the heavy query, in $loans.
find_loans() {
	heavy "$next_loans $1"
	loans=$rows
}

# values LOAN…: for INSERT INTO given VALUES …
values() {
	printf '(%s, @me)\n' "$@" | paste -sd ,
}

# list LOAN…: for … IN (…)
list() {
	printf '%s\n' "$@" | paste -sd ,
}

# collect ROW: for patterns in which others may be faster. `ROW list` leaves more loans in $rows
# than are needed, since some of them will be gone; `ROW take LOAN…` takes one of these rows, until
# $count are taken; begins again where that did not suffice.
collect() {
	local row found
	local -a mine=()
	while [ "${#mine[@]}" -lt "$count" ]; do
		"$1" list
		[ -n "$rows" ] || break
		found=$rows
		while [ "${#mine[@]}" -lt "$count" ] && read -r row; do
			# shellcheck disable=SC2086 # the row's columns
			if "$1" take $row; then
				mine+=("${row%%$'\t'*}")
			fi
		done <<<"$found"
		[ "${#mine[@]}" -ge "$count" ] ||
			event retry 'others took too many of them: asks again'
	done
	got "${mine[@]}"
}

# got LOAN…: the user has these; no loan: has been told that there is no work. It is so from
# $answered, or from now on.
got() {
	if [ $# -eq 0 ]; then
		event nothing '' ${answered:+"$answered"}
	else
		event served "$*" ${answered:+"$answered"}
	fi
	exit 0
}

# refused TEXT: the user is told TEXT, and has nothing.
refused() {
	event error "$1"
	exit 1
}

# lab tables | ask | background
lab() {
	case ${1-} in
	tables | ask | background) ;;
	*)
		awk 'NR > 1 { if (!/^#/ || /^# shellcheck/) exit; sub(/^# ?/, ""); print }' "$0"
		printf '\nTo see it: scripts/race %s\n' "$name"
		exit 0 ;;
	esac
	[ -n "${LAB_EVENTS-}" ] || {
		echo "$name: a pattern is run by scripts/race: try 'scripts/race $name'" >&2
		exit 2
	}
	exec {events}>"$LAB_EVENTS"
	# The real programs have connections of their own.
	[ "$name $1" = 'lockq ask' ] || open_session
	if [ "$1" != tables ]; then
		event ready
		# The gate: all start when scripts/race lets go of it.
		flock --shared "$LAB_GATE" true
	fi
	if [ "$1" = ask ]; then
		sleep "$LAB_DELAY"
		event asked "$count"
	fi
	"$1"
}
