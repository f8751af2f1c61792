# One race: a process for each user, one gate for all, and the events that they tell. Sourced by
# scripts/race.
# shellcheck shell=bash disable=SC2154 # the options are those of scripts/race

# --- the processes ------------------------------------------------------------------------------

# run_pattern ARGUMENTS…: lab/common.sh reads these variables.
run_pattern() {
	LAB_OPTIONS=$scratch/options LAB_EVENTS=$scratch/pipe LAB_GATE=$scratch/gate \
		LAB_DIR=$scratch LAB_VARIANT=$variant LAB_COUNT=$count LAB_LEASE=$lease \
		LAB_TTL=$ttl LAB_QUERY_MS=$((2 * half)) LAB_DATABASE=$database \
		LAB_TASK=${task:-7} LAB_SHELLS=$shells LAB_RACE=$$ \
		exec setsid "$lab/$pattern" "$@" 2>>"$scratch/errors"
}

# start NUMBER USER ask|background|afterwards: runs the pattern in a process group of its own, which
# can be killed or stopped as a whole. The subshell around it stays and tells that the pattern has
# ended. It closes the gate, the lab's lock and the pipe's end for reading: if this script is
# killed, they must not stay open. It is in a process group of its own (set -m), out of the reach of
# Ctrl-C: a SIGINT in the moment in which its `wait` begins would make bash 5.2 send itself SIGINT
# for ever.
start() {
	local delay=0
	[ "$gap" = 0 ] || delay=$(reckon "$1 * $gap")
	set -m
	(
		exec 2>/dev/null {tell}>"$scratch/pipe" {pipe}>&- {gate}>&- {lab_lock}>&-
		LAB_NUMBER=$1 LAB_USER=$2 LAB_DELAY=$delay \
			LAB_NODE=$scratch/node-$(($1 % nodes + 1)) run_pattern "$3" &
		printf '%s\n' "$!" >"$scratch/group-$1"
		status=0
		wait "$!" || status=$?
		rm -f "$scratch/group-$1"
		read_clock
		printf '%s\t%s\tended\t%s\n' "$now" "$2" "$status" >&"$tell"
	) &
	set +m
}

# signal SIGNAL NUMBER: sends it to the process group of that number.
signal() {
	local group
	read -r group <"$scratch/group-$2" && kill -"$1" -- "-$group"
} 2>/dev/null

# Kills the processes that are left. In a race that was broken off a process may be about to make
# its process group, so this tries again.
end_all() {
	local number tries
	for ((tries = 0; tries < 500; tries++)); do
		for ((number = 0; number <= shells; number++)); do
			signal KILL "$number" || true
		done
		[ -n "$(jobs -rp)" ] || break
		nap 0.02
	done
}

# read_clock: sets $now, in milliseconds.
read_clock() {
	now=$((${EPOCHREALTIME//[!0-9]/} / 1000))
}

# --- the race -----------------------------------------------------------------------------------

# The tables of all patterns.
lab_tables=(
	answer at_work branch completed duty entry flag given job lease outbox owner request saga
	seat turn
)

# Makes the pattern's tables, empty. The tables of lockq stay.
make_tables() {
	local detail='' list
	printf -v list '%s, ' "${lab_tables[@]}"
	if administer lockq_lab 2>>"$scratch/errors" \
		--execute="SET foreign_key_checks = 0;
			DROP TABLE IF EXISTS ${list%, }"; then
		(LAB_USER='' run_pattern tables) && return
		IFS= read -r -t 1 -u "$pipe" detail || true
	fi
	[ -n "$detail" ] || detail=$(tail -n 1 "$scratch/errors")
	die 5 "the tables of $pattern could not be made: ${detail##*$'\t'}"
}

# has FUNCTION: returns whether the pattern has that function.
has() {
	grep -q "^$1()" "$lab/$pattern"
}

# judge_race: the pattern counts how often it broke its promise, from the events of the race.
judge_race() {
	local said
	(run_pattern judge <"$events" >"$scratch/judged") || true
	read -r said <"$scratch/judged" || true
	[[ $said =~ ^[0-9]+\ .+$ ]] ||
		die 5 "the race of $pattern could not be judged: $(tail -n 1 "$scratch/errors")"
	read_clock
	take_down "$now" '(race)' judged "$said"
}

# race PATTERN[:VARIANT]: runs one race. The file $events has its events.
race() {
	local pattern variant number ready=$shells nodes=$nodes half seen opened=0
	held=()
	split "$1"
	nodes=$(nodes "$1")
	# Not once the processes run: a Ctrl-C in the middle of a $(…) may confuse bash 5.2.
	half=$(milliseconds "$seconds / 2")
	: >"$events"
	# Drop events that came after the end of the race before this one.
	while read -r -t 0 -u "$pipe"; do
		read -r _ <&"$pipe"
	done
	rm -rf "$scratch"/node-* "$scratch"/answer-* "$scratch"/moment-*
	for ((number = 1; number <= nodes; number++)); do
		mkdir "$scratch/node-$number"
	done
	[ -n "$task" ] || make_tables
	# shellcheck disable=SC2034 # for follow_refill
	[ "$pattern" != lockq ] || seen=$(refill_seen)
	flock "$gate"
	for number in "${!users[@]}"; do
		start "$number" "${users[number]}" ask
	done
	if has background; then
		start "$shells" background background
		ready=$((ready + 1))
	fi
	follow "$ready"
	end_all
	say_held $((1 << 62))
	! has judge || judge_race
	[ -z "$harm" ] || cut -f 3 "$events" | grep -Eqx 'killed|paused' ||
		say "$1: nobody led long enough to be harmed: give a longer --query-seconds"
}

# follow READY: opens the gate when so many processes are ready, which sets $opened, and writes down
# what they tell. It kills or stops one where that is asked for, and returns when every user's
# process has ended.
follow() {
	local ready=$1 left=$shells deadline harm_at=0 victim='' resume_at=0
	local ms user what detail now
	local -A ended=()
	read_clock
	deadline=$((now + 60000))
	hear_all
	[ "$pattern" != lockq ] || follow_refill
	if has afterwards; then
		# The background process dies in the middle of its work, and somebody comes later.
		end_all
		left=1
		start "$shells" '(later)' afterwards
		hear_all
	fi
}

# hear_all: handles events until no process is left. It uses the variables of follow.
hear_all() {
	while [ "$left" -gt 0 ]; do
		# Processes write whole lines. A read with a time limit could lose the end of a
		# line.
		if read -r -t 0 -u "$pipe"; then
			IFS=$'\t' read -r ms user what detail <&"$pipe"
			hear
		else
			nap 0.02
		fi
		read_clock
		do_harm "$now"
		say_held $((now - opened - told_within))
	done
}

# hear: handles one event, in the variables of follow.
hear() {
	case $what in
	ready)
		ready=$((ready - 1))
		[ "$ready" -eq 0 ] || return 0
		read_clock
		opened=$now
		deadline=$((opened + $(milliseconds "$timeout")))
		flock --unlock "$gate"
		return ;;
	error | ended)
		[ "$opened" -gt 0 ] || die 5 "$user could not begin: ${detail:-$(
			tail -n 1 "$scratch/errors")}" ;;&
	leads) choose_victim $((ms + half)) ;;
	holds)
		choose_victim "$ms"
		return ;;
	served | nothing | error | killed)
		# The process wrote it before do_harm ended that process.
		case ${ended[$user]-} in killed | late) return 0 ;; esac
		ended[$user]=$what ;;
	ended)
		[ "$user" != background ] || {
			take_down "$ms" "$user" 'done' ''
			return
		}
		left=$((left - 1))
		[ -z "${ended[$user]-}" ] || return 0
		[ "$user $detail" != '(later) 0' ] || return 0
		ended[$user]=error
		take_down "$ms" "$user" error "its process ended with status $detail: $(
			tail -n 1 "$scratch/errors")"
		return ;;
	esac
	take_down "$ms" "$user" "$what" "$detail"
}

# choose_victim MS: this user is to be harmed at that time, unless somebody else is. do_harm forgets
# a victim that has ended by then, and the next user that leads or holds locks is chosen.
choose_victim() {
	[ -n "$harm" ] && [ -z "$victim" ] && [ "$user" != background ] || return 0
	victim=$user harm_at=$1
}

# signal_victim SIGNAL EVENT NOW: signals the victim and writes that down.
signal_victim() {
	local number
	for number in "${!users[@]}"; do
		[ "${users[number]}" != "$victim" ] || break
	done
	signal "$1" "$number" || return
	take_down "$3" "$victim" "$2" ''
}

# do_harm NOW: kills, stops or resumes the victim when it is time. After the time limit it ends the
# race.
do_harm() {
	local late
	if [ "$harm_at" -gt 0 ] && [ "$1" -ge "$harm_at" ]; then
		harm_at=0
		if [ -n "${ended[$victim]-}" ]; then
			victim=''
		elif [ "$harm" = kill ] && signal_victim KILL killed "$1"; then
			ended[$victim]=killed
		elif [ "$harm" = pause ] && signal_victim STOP paused "$1"; then
			resume_at=$(($1 + $(milliseconds "$pause")))
		else
			victim=''
		fi
	fi
	if [ "$resume_at" -gt 0 ] && [ "$1" -ge "$resume_at" ]; then
		resume_at=0
		signal_victim CONT resumed "$1" || true
	fi
	[ "$1" -ge "$deadline" ] || return 0
	deadline=$(($1 + 60000))
	for late in "${users[@]}"; do
		[ -z "${ended[$late]-}" ] || continue
		ended[$late]=late
		take_down "$1" "$late" late "not served within $timeout s"
	done
	end_all
}

# take_down MS USER EVENT DETAIL: writes an event down, its time counted from the opening of the
# gate.
take_down() {
	local ms=$(($1 - opened))
	[ "$ms" -ge 0 ] || ms=0
	printf '%s\t%s\t%s\t%s\n' "$ms" "$2" "$3" "$4" >>"$events"
	[ "$live" = no ] || hold_line "$ms" "$2" "$3" "$4"
}

# Processes tell an event so many milliseconds after its time at the latest, as a rule. Its line is
# held back for so long, since an earlier event of another process may be told later.
told_within=500

# hold_line MS USER EVENT DETAIL: puts a line among those that are held back, in the order of time.
hold_line() {
	local at=${#held[@]} before
	while [ "$at" -gt 0 ]; do
		before=${held[at - 1]}
		[ "${before%%$'\t'*}" -gt "$1" ] || break
		held[at]=$before
		at=$((at - 1))
	done
	held[at]=$1$'\t'$2$'\t'$3$'\t'$4
}

# say_held MS: prints the lines that are held back, up to that time.
say_held() {
	local ms user what detail n=0
	while [ "$n" -lt "${#held[@]}" ]; do
		IFS=$'\t' read -r ms user what detail <<<"${held[n]}"
		[ "$ms" -le "$1" ] || break
		say_event "$ms" "$user" "$what" "$detail"
		n=$((n + 1))
	done
	held=("${held[@]:n}")
}
