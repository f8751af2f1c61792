# The tour's races, and looks at the server while they run. Sourced by scripts/tour.
# shellcheck shell=bash disable=SC2154 # $seconds, $scratch, $lab and $top are those of scripts/tour

# --- a look at the server while a race runs -----------------------------------------------------

watcher=''

# ask STATEMENTS: sets $answer to what they return. The session stays open, at READ UNCOMMITTED.
ask() {
	local line
	if [ -z "$watcher" ]; then
		coproc WATCH {
			exec "$top/scripts/sandbox" mysql --batch --skip-column-names \
				--unbuffered --force 2>&1
		}
		watcher=$WATCH_PID
		ask 'SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED'
	fi
	answer=''
	printf "USE lockq_lab;\n%s;\nSELECT '--done--';\n" "$1" >&"${WATCH[1]}"
	while IFS= read -r line <&"${WATCH[0]}"; do
		[ "$line" != --done-- ] || return 0
		answer+=${answer:+$'\n'}$line
	done
	die 5 "the connection to the sandbox was lost: see 'scripts/sandbox status'"
}

# Each session of the lab keeps its user's name in @me.
locks="
SELECT who.variable_value, l.lock_mode, l.lock_status
  FROM performance_schema.data_locks AS l
  JOIN performance_schema.user_variables_by_thread AS who USING (thread_id)
 WHERE l.object_schema = 'lockq_lab' AND l.object_name = 'turn'
   AND l.lock_type = 'RECORD' AND who.variable_name = 'me'
 ORDER BY l.lock_status, who.variable_value"
waits="
SELECT a.variable_value, 'waits for', GROUP_CONCAT(b.variable_value SEPARATOR ', ')
  FROM performance_schema.data_lock_waits AS w
  JOIN performance_schema.user_variables_by_thread AS a
    ON a.thread_id = w.requesting_thread_id AND a.variable_name = 'me'
  JOIN performance_schema.user_variables_by_thread AS b
    ON b.thread_id = w.blocking_thread_id AND b.variable_name = 'me'
 GROUP BY a.variable_value"

# A look that comes between two steps of the race fails, and is repeated until the race ends.

# Shows the locks once one process has the row and two stand in line.
look_at_locks() {
	local locked
	ask "$locks"
	locked=$answer
	[ "$(grep -c WAITING <<<"$locked")" -eq 2 ] || return 0
	ask "$waits"
	[ "$(grep -c 'waits for' <<<"$answer")" -eq 2 ] || return 0
	look=''
	inset 'seen now in data_locks and data_lock_waits:' <<<"$locked"$'\n'"$answer"
}

# Shows three reads of the row of task_lock, once somebody leads.
look_at_leader() {
	local dirty='SELECT holder FROM task_lock WHERE task_id = 7 AND holder IS NOT NULL'
	local holder committed row
	ask "$dirty"
	[ -n "$answer" ] || return 0
	holder=$answer
	ask 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		SELECT holder FROM task_lock WHERE task_id = 7'
	committed=$answer
	row=$(statement getwork/lock.c take_lock)
	ask "${row//\?/7}"
	row=$answer
	ask "$dirty"
	[ "$answer" = "$holder" ] || return 0
	look=''
	inset 'seen now in task_lock:' <<-END_OF_TEXT
		take_lock            ${row:-no row}
		read_holder, dirty   $holder
		the same, committed  $committed
	END_OF_TEXT
}

inset() {
	put "$faint" <<<"            | $1"
	sed 's/^/            |   /' | expand -t 24,44 | put "$faint"
}

# --- a race -------------------------------------------------------------------------------------

race=0 look=''

# run ARGUMENTS OF RACE…: runs a race and sets $outcome to {events, figures}. The race has a session
# of its own, so a Ctrl-C reaches it only once, by a signal from here.
run() {
	local from line
	: >"$scratch/events"
	page
	# Now, since a short query would be over before the session of a look is there.
	[ -z "$look" ] || ask 'DO 0'
	put "$bold" <<<"\$ scripts/race $*"
	exec {from}< <(COLUMNS=76 exec setsid env --default-signal=INT "$top/scripts/race" \
		--query-seconds "$seconds" "$@" --events "$scratch/events")
	race=$!
	while :; do
		if read -r -t 0 -u "$from"; then
			IFS= read -r -u "$from" line || break
			show_line "$line"
		else
			[ -z "$look" ] || "$look"
			sleep 0.02
		fi
	done
	finish_race
	figure
}

# quietly ARGUMENTS OF RACE…: runs races unseen, and sets $figures, a line for each pattern.
quietly() {
	local from line
	figures=''
	exec {from}< <(exec setsid env --default-signal=INT "$top/scripts/race" --json \
		--query-seconds "$seconds" "$@" 2>"$scratch/unseen")
	race=$!
	while IFS= read -r -u "$from" line; do
		figures+=${figures:+$'\n'}$line
	done
	finish_race
}

finish_race() {
	local status=0
	exec {from}<&-
	wait "$race" || status=$?
	race=0
	[ -z "$look" ] || put <<<'The query was over too soon for a look at the server.'
	look=''
	[ "$status" -ne 1 ] ||
		say 'a safe pattern broke its promise, or a user of lockq got an error or no answer'
	[ "$status" -eq 0 ] || {
		[ ! -e "$scratch/unseen" ] || cat "$scratch/unseen" >&2
		exit "$status"
	}
}

# All users ask at once, and most wait at once, so a line for each would tell nothing. A wait for
# somebody's query is shown.
show_line() {
	case $1 in
	*' asks for '*) ;;
	*"'s query") put <<<"$1" ;;
	*' waits for '*) ;;
	*) put <<<"$1" ;;
	esac
}

figure() {
	outcome=$(sed 's/^/1\t/' "$scratch/events" | jq -R -s -L "$lab/race" \
		'include "figures"; events | {events: ., figures: figures}')
}

# tell WHAT: prints what happened in the race, in the words of outcomes.jq. Standard input has the
# lesson.
tell() {
	local words lesson
	words=$(jq -r -L "$lab/tour" "include \"outcomes\"; $1" <<<"$outcome")
	lesson=$(cat)
	room $(($(wrap <<<"  $words"$'\n'"$lesson" | wc -l) + 3))
	[ "$used" -eq 0 ] || put <<<''
	put "$bold" <<<'What happened:'
	put <<<"  ${words//$'\n'/$'\n'  }"
	put <<<''
	put <<<"$lesson"
}
