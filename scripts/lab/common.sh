# What the patterns of the lab share. Sourced by scripts/lab/*, which scripts/race runs.
# shellcheck shell=bash
#
# A pattern is a script with these functions, and with `lab "$@"` at its end:
#   tables      makes its tables, empty
#   ask         gets $count loans for one user, in that user's process
#   arrive      returns when this user comes, where somebody has to come at a certain moment
#   background  runs beside the users: a cleaner or a producer, where the pattern has one
#   afterwards  runs when all users are done, and finishes what they have left behind
#   judge       reads the events of the race, in lines of MS USER EVENT DETAIL with tabs between,
#               and prints how often the pattern broke its promise, and what is counted:
#               "2 places above the limit". A pattern that promises only that no loan goes to
#               two people needs no judge.
#
# The comment at the top has a paragraph that says of the pattern, and of each variant, that it is
# safe, safe if something holds, or unsafe.
#
# They find the user's name in $user and in @me, the number of loans in $count, the number of this
# process, from 0, in $number, and the part after the colon of PATTERN:VARIANT in $variant.
# shellcheck disable=SC2034,SC2154 # for the scripts that source this; exec {events} sets $events
set -eu

# shellcheck source=scripts/nap.sh
. "${BASH_SOURCE[0]%/*}/../nap.sh"

name=${0##*/}
user=${LAB_USER-} count=${LAB_COUNT-3} number=${LAB_NUMBER-0} variant=${LAB_VARIANT-}

# The heavy query is the same in all patterns: the first loans that nobody has. The view makes it
# heavy.
next_loans="
	SELECT loan_id
	  FROM candidates
	 WHERE loan_id NOT IN (SELECT loan_id FROM given)
	 ORDER BY priority, loan_id
	 LIMIT"

# The table tells who has which loan. It has no key, so only the pattern keeps a loan from going to
# two people.
given_to="
	CREATE TABLE given (
	  loan_id   BIGINT UNSIGNED NOT NULL,
	  user_name VARCHAR(64) NOT NULL)"

# --- the session --------------------------------------------------------------------------------

# try STATEMENT: runs it in this process's session, and returns whether it succeeded. $rows has the
# rows that it returned, $changed the number of rows that it changed. After a failure $error has the
# error's number and $message its text.
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
			# With --force the client would go on without a connection.
			case $error in 1053 | 2002 | 2006 | 2013) refused "$message" ;; esac ;;
		*) rows+=${rows:+$'\n'}$line ;;
		esac
	done
	refused "${message:-the connection was lost}"
}

# sql STATEMENT: the same, but a failure is told to the user and ends the process.
sql() {
	try "$1" || refused "$message"
}

# In READ COMMITTED each statement sees what other sessions have committed before it.
open_session() {
	coproc SESSION {
		exec mysql --defaults-file="$LAB_OPTIONS" --database=lockq_lab --batch \
			--skip-column-names --unbuffered --force --skip-reconnect 2>&1
	}
	sql 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'
	to_hex "$user"
	sql "SET @me = CONVERT(X'$hex' USING utf8mb4) COLLATE utf8mb4_0900_as_cs"
}

# isolation LEVEL: sets the level of this session's transactions. The race shows it, since the
# pattern's promise depends on it.
isolation() {
	sql "SET SESSION TRANSACTION ISOLATION LEVEL $1"
	event isolation "$1"
}

# to_hex TEXT: sets $hex to the text's bytes in hexadecimal.
to_hex() {
	local LC_ALL=C byte i
	hex=''
	for ((i = 0; i < ${#1}; i++)); do
		printf -v byte %d "'${1:i:1}"
		# A byte above 127 may count as negative.
		printf -v byte %02x $((byte & 255))
		hex+=$byte
	done
}

# --- the race -----------------------------------------------------------------------------------

# read_clock: sets $now, in milliseconds.
read_clock() {
	now=$((${EPOCHREALTIME//[!0-9]/} / 1000))
}

# event WHAT [DETAIL [MS]]: tells scripts/race what has happened, and when, if it was not just now.
# WHAT is "notes" for a step that only a reader needs to know of.
event() {
	read_clock
	printf '%s\t%s\t%s\t%s\n' "${3-$now}" "$user" "$1" "${2-}" >&"$events"
}

# fill_jobs: the producer of a pattern with a queue runs the heavy query, once, for all.
fill_jobs() {
	heavy "INSERT INTO job (loan_id, priority)
	       SELECT loan_id, priority FROM candidates
	        ORDER BY priority, loan_id LIMIT $((4 * count * LAB_SHELLS))"
}

# look_for_jobs: returns whether the queue has a job left. Where the queue was filled and has none
# left, the user is told that there is no work.
look_for_jobs() {
	sql 'SELECT EXISTS (SELECT * FROM job),
	            EXISTS (SELECT * FROM job WHERE user_name IS NULL)'
	[ "$rows" != $'1\t0' ] || got
	[ "$rows" = $'1\t1' ]
}

# later [SECONDS]: waits before the next look of a pattern that looks again and again. It ends the
# process when scripts/race is gone.
later() {
	nap "${1-0.2}"
	kill -0 "$LAB_RACE" 2>/dev/null || exit
}

# moment NAME: tells the other processes of this race that this process has come so far.
moment() {
	echo $$ >>"$LAB_DIR/moment-$1"
}

# has_come NAME [N]: returns whether one process, or N, have come so far. $came has their ids.
has_come() {
	came=()
	[ ! -e "$LAB_DIR/moment-$1" ] || mapfile -t came <"$LAB_DIR/moment-$1"
	[ "${#came[@]}" -ge "${2-1}" ]
}

# await NAME [N]: waits for that.
await() {
	until has_come "$@"; do
		later 0.02
	done
}

# nap_queries PERCENT: waits for this part of the time that the heavy query takes.
nap_queries() {
	local ms=$((LAB_QUERY_MS * $1 / 100)) wait_s
	printf -v wait_s '%d.%03d' $((ms / 1000)) $((ms % 1000))
	nap "$wait_s"
}

# heavy QUERY: runs it as the heavy query. $rows has its rows.
heavy() {
	event leads
	sql "$1"
	event queried
}

# find_loans N: runs the heavy query. $loans has the first N loans that nobody has.
find_loans() {
	heavy "$next_loans $1"
	loans=$rows
}

# find_loans_elsewhere N: does so on a connection of its own.
find_loans_elsewhere() {
	event leads
	loans=$(mysql --defaults-file="$LAB_OPTIONS" --database=lockq_lab --batch \
		--skip-column-names --execute="$next_loans $1")
	event queried
}

# own_loans: sets $loans to as many loans as this user asks for, where each user has their own ones
# and nobody has to look for them.
own_loans() {
	sql "SELECT loan_id FROM loan ORDER BY loan_id LIMIT $((number * count)), $count"
	loans=$rows
}

# values LOAN…: prints the rows for INSERT INTO given VALUES.
values() {
	local rows
	printf -v rows '(%s, @me),' "$@"
	echo "${rows%,}"
}

# list LOAN…: prints the list for IN (…).
list() {
	local IFS=,
	echo "$*"
}

# collect FUNCTION: takes $count loans in a pattern where other processes may be faster. `FUNCTION
# list` puts more loans into $rows than are needed, since some will be gone. `FUNCTION take ROW`
# tries to take one of them. Where too few are left, collect lists again.
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
			event retry 'others took too many of the loans: asks again'
	done
	got "${mine[@]}"
}

# got [LOAN…]: tells the user that these loans are theirs, or that there is no work, and ends the
# process. $answered is the time of the answer, if it was not just now.
got() {
	if [ $# -eq 0 ]; then
		event nothing '' ${answered:+"$answered"}
	else
		event served "$*" ${answered:+"$answered"}
	fi
	exit 0
}

# in_one_only LIST LIST: prints how many lines stand in one of the two lists only, for a judge.
in_one_only() {
	comm -3 <(sort -u <<<"$1") <(sort -u <<<"$2") | awk 'NF > 0 { n++ } END { print n + 0 }'
}

# dies: kills this user's process, as kill -9 would. Some patterns show what is left behind then.
dies() {
	event killed
	kill -KILL -- "-$$"
}

# refused TEXT: tells the user TEXT, and ends the process without a loan.
refused() {
	event error "$1"
	exit 1
}

# lab [tables | ask | background | afterwards | judge]: runs that function. Without one of these
# words it prints the comment at the top of the script.
lab() {
	case ${1-} in
	tables | ask | background | afterwards | judge) ;;
	*)
		awk 'NR > 1 { if (!/^#/ || /^# shellcheck/) exit; sub(/^# ?/, ""); print }' "$0"
		printf '\nTo see it: scripts/race %s\n' "$name"
		exit 0 ;;
	esac
	[ -n "${LAB_EVENTS-}" ] || {
		echo "$name: only scripts/race can run a pattern: try 'scripts/race $name'" >&2
		exit 2
	}
	[ "$1" != judge ] || { judge; return; }
	exec {events}>"$LAB_EVENTS"
	# lockq's ask runs the real programs, which have connections of their own.
	[ "$name $1" = 'lockq ask' ] || open_session
	if [ "$1" != tables ]; then
		event ready
		# The gate: scripts/race holds its lock until all processes are ready.
		exec {gate}<"$LAB_GATE"
		flock --shared "$gate"
		exec {gate}<&-
	fi
	if [ "$1" = ask ]; then
		[ "$LAB_DELAY" = 0 ] || nap "$LAB_DELAY"
		[ "$(type -t arrive)" != function ] || arrive
		event asked "$count"
	fi
	"$1"
}
