# A kept list that is filled behind people's backs. Sourced by scripts/race and scripts/demo.
# shellcheck shell=bash disable=SC2034,SC2154 # the other variables are those of scripts/race

# list_is EXPRESSION TASK: prints a query that returns the expression for the task's newest list,
# and no row where there is no list.
list_is() {
	printf '%s' "
		SELECT $1
		  FROM task AS t
		  JOIN kept_list AS l USING (task_id)
		 WHERE t.task_id = $2
		 ORDER BY l.epoch DESC
		 LIMIT 1"
}

# The list is so old that a process which sets out to fill it runs the query. (It also does so when
# the list is nearly used up, which takes more people than race here.)
old="l.as_of <= UTC_TIMESTAMP(6) - INTERVAL 1000 * GREATEST(2 * l.query_ms,
	1000 * COALESCE(t.refresh_after, t.cache_ttl DIV 2)) MICROSECOND"

# What leader_run has as the user of a process that fills a list.
refiller='(refill)'

# refill_seen: prints the task's last epoch, and when a process last set out to fill its list.
refill_seen() {
	administer "$database" --execute="
		SELECT COALESCE((SELECT MAX(epoch) FROM leader_run WHERE task_id = ${task:-7}), 0),
		       (SELECT tried_at FROM task_refill WHERE task_id = ${task:-7})"
}

# follow_refill: a getwork that finds the list due leaves a process behind, and nobody waits for it.
# Where that has happened since $seen, this waits for the end of that process, and writes down
# what it did. The process tells no events itself, so the database is asked. Where the list is new
# without it, that process has had nothing to do.
follow_refill() {
	local seen_now row began ran ended text
	seen_now=$(refill_seen)
	[ "${seen#*$'\t'}" != "${seen_now#*$'\t'}" ] || return 0
	while :; do
		row=$(administer "$database" --execute="
			SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', as_of) DIV 1000, query_ms,
			       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ended_at) DIV 1000,
			       CONCAT('has filled the list anew, by a query of ',
			         ROUND(query_ms / 1000, 2), ' s')
			  FROM leader_run
			 WHERE task_id = ${task:-7} AND epoch > ${seen%%$'\t'*}
			   AND user = '$refiller'
			 ORDER BY epoch LIMIT 1;
			$(list_is "IF($old, 'old', 'new')" "${task:-7}")")
		read_clock
		case $row in
		new* | '') return 0 ;;
		old) [ "$now" -ge "$deadline" ] || { nap 0.1; continue; } ;;
		esac
		break
	done
	IFS=$'\t' read -r began ran ended text <<<"$row"
	if [ "${ran:-NULL}" = NULL ]; then
		say 'the list was not filled anew: see the last row of leader_run'
		return 0
	fi
	take_down "$began" "$refiller" leads ''
	take_down $((began + ran)) "$refiller" queried ''
	take_down "$ended" "$refiller" 'done' "$text"
}
