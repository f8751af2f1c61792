#!/usr/bin/env bash
# Two managers correct what four users do: they release, reassign and undo, while the users ask,
# complete and return. What each of them was told is what the log has, the log replays, and nobody
# ever had more loans than the task allows.
#   LOCKQ_CORRECTIONS_ROUNDS  how often each of them acts (default: 8)
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=229 users=4 loans=10 cap=4 rounds=${LOCKQ_CORRECTIONS_ROUNDS:-8}
make_task "$task" "$loans" 0
make_users "$users"
sql "UPDATE task SET max_pipeline = $cap, lease_minutes = 60 WHERE task_id = $task"
scratch=$(mktemp -d)
trap forget_all EXIT

# A user asks for work, and says something of any loan.
work_as() {
	local i kind
	for ((i = 0; i < rounds; i++)); do
		getwork --user "$1" --task "$task" --count 2 --timeout 20 >/dev/null
		kind=$((RANDOM % 2 ? 1 : 0))
		if ((kind)); then
			kind=(--complete)
		else
			kind=(--return-after 0)
		fi
		disposition --user "$1" --task "$task" --loan $((RANDOM % loans + 1)) \
			"${kind[@]}" --json | jq -r "\"${kind[0]} \" + .result"
	done
}

# A manager corrects any loan: of an assignment that there is, or of one that there was.
manage_as() {
	local i loan user to kind
	for ((i = 0; i < rounds; i++)); do
		read -r loan user < <(sql "SELECT w.loan_id, u.name
			FROM work AS w JOIN app_user AS u USING (user_id)
			WHERE w.task_id = $task ORDER BY RAND() LIMIT 1")
		[ -n "$loan" ] || continue
		to=race-$((RANDOM % users + 1))
		case $((RANDOM % 3)) in
		0) kind=(release --from "$user") ;;
		1) kind=(undo) ;;
		2)
			[ "$to" != "$user" ] || continue
			kind=(reassign --from "$user" --to "$to")
			;;
		esac
		managetask "${kind[0]}" --task "$task" --loan "$loan" "${kind[@]:1}" --by "$1" \
			--reason "$1 $i" --json | jq -r "\"${kind[0]} \" + .result"
	done
}

getwork --user race-1 --task "$task" --count 4 >/dev/null
for ((i = 1; i <= users; i++)); do
	work_as "race-$i" >"$scratch/user-$i" 2>"$scratch/errors-$i" &
done
for name in marcus maria; do
	manage_as $name >"$scratch/manager-$name" 2>"$scratch/errors-$name" &
done
wait
cat "$scratch"/user-* "$scratch"/manager-* >"$scratch/told"

# told WORDS: how often somebody was told that this is done.
told() {
	grep -cE -e "^($1) done\$" "$scratch/told"
}
logged() {
	sql "SELECT COUNT(*) FROM work_log WHERE task_id = $task AND $1"
}

ok $(($(told 'release|reassign|undo') > 0 ? 0 : 1)) 'corrections were made'
is "$(grep -vE -e ' (done|already|not_assigned|not_yours|not_allowed)$' "$scratch/told" |
	sort | uniq -c)" '' 'everybody was told what became of it'
is "$(logged "event = 'returned' AND manager IS NOT NULL")" "$(told 'release|reassign')" \
	'the log has each release and each reassignment once'
is "$(logged "event = 'assigned' AND manager IS NOT NULL")" "$(told 'reassign|undo')" \
	'the log has each reassignment and each undo once'
is "$(logged "event = 'completed'")" "$(told '--complete')" 'the log has each completion once'
is "$(logged "event = 'returned' AND manager IS NULL")" "$(told '--return-after')" \
	'the log has each return once'
is "$(logged 'manager IS NOT NULL AND NOT note <=> CONCAT(manager, " ",
	SUBSTRING_INDEX(note, " ", -1))')" 0 'each correction has its reason'
is "$(given_twice "$task")" 0 'no loan was given twice'
is "$(sql "SELECT MAX(held) FROM (SELECT SUM(CASE event WHEN 'assigned' THEN 1
	WHEN 'renewed' THEN 0 WHEN 'available' THEN 0 ELSE -1 END)
	OVER (PARTITION BY user_id ORDER BY log_id) AS held FROM work_log
	WHERE task_id = $task) AS steps WHERE held > $cap")" NULL \
	'nobody had more than max_pipeline loans'
is "$(sql "SELECT COUNT(*) FROM work_requested AS r WHERE r.task_id = $task AND r.assigned <>
	(SELECT COUNT(*) FROM work_log AS l
	  WHERE l.request_id = r.request_id AND l.event = 'assigned')")" 0 \
	'each request has its loans'
is "$(replay "$task" | head -n 10)" '' 'the log replays to the table'
[ "$failed" -eq 0 ] || sort "$scratch/told" "$scratch"/errors-* | uniq -c | sort -rn |
	head -n 30 | sed 's/^/# /' >&2
finish
