#!/usr/bin/env bash
# Failovers of a cluster, while people ask for work and dispose of it through MySQL Router: the
# primary is switched, killed, stopped, and cut off from the others. It goes away while a leader's
# query runs, in a take from a list, in a refill, with COMMITs that the others do not hear of, or
# with COMMITs of which only the programs do not hear: those are in doubt.
# Programs find each new primary soon. test/history/check judges all that was committed and told.
#
#   LOCKQ_CLUSTER_MINUTES    for how long (3)
#   LOCKQ_CLUSTER_FAILOVERS  how many failovers in that time (two a minute, and each kind once)
#   LOCKQ_CLUSTER_MODE       single or multi: how many members are primaries (single)
#   LOCKQ_CLUSTER_TOLD       a file to which all is added that the programs told
set -u
# shellcheck source=test/support/cluster.sh
. "$(dirname "$0")/../support/cluster.sh"
# shellcheck source=test/history/common.sh
. "$(dirname "$0")/../history/common.sh"

minutes=${LOCKQ_CLUSTER_MINUTES:-3}
mode=${LOCKQ_CLUSTER_MODE:-single}
kinds=(kill:take kill:doubt partition:commit stop:refill kill:query kill:commit stop:take
	stop:commit kill:refill)
[ "$mode" = multi ] || kinds+=(switch:query)
failovers=$((minutes * 2 > ${#kinds[@]} ? minutes * 2 : ${#kinds[@]}))
failovers=${LOCKQ_CLUSTER_FAILOVERS:-$failovers}
# From the new primary to the first loan that is given there.
soon=10
people=10 plain=281 listed=282 heavy=283
told=$scratch/told told_errors=$scratch/errors

trap '[ -z "${jobs-}" ] || kill $jobs; end_cluster' EXIT
if [ "$mode" = multi ]; then
	start_cluster --multi-primary
else
	start_cluster
fi
# The history is the first member's, which gets what it has missed when it comes back.
binlog_begins
people_now "$scratch/people"
# From here on sql goes through the router, too.
export LOCKQ_SANDBOX_DIR=$LOCKQ_CLUSTER_DIR
make_task "$plain" 2000 10
make_task "$listed" 2000 10
make_task "$heavy" 3000 3000
make_users "$people"
sql "UPDATE task SET cache_ttl = 3600 WHERE task_id = $listed;
     UPDATE task SET max_pipeline = 20 WHERE task_id IN ($listed, $heavy)"

# --- people --------------------------------------------------------------------------------------

# work I: race-I asks and disposes until $scratch/end is there. Loans that were given and not told
# are in the pipeline, and are returned from there at the end.
work() {
	local i=$1 n=0 task answer loans how
	while [ ! -e "$scratch/end" ]; do
		n=$((n + 1))
		case $(((n + i) % 4)) in
		0) task=$heavy ;;
		1) task=$plain ;;
		*) task=$listed ;;
		esac
		answer=$(told "$told-$i" getwork "race-$i" "$task" '' through_router getwork \
			--user "race-$i" --task "$task" --count $((1 + n % 3)) --timeout 60 \
			--connect-timeout 30 --json)
		nap 0.1
		loans=$(jq -r '[.loans[]? | "\(.loan_id):\(.token)"] | join(",")' <<<"$answer")
		[ -n "$loans" ] || continue
		how=(--return-after 0h)
		[ $((n % 3)) -gt 0 ] || how=(--complete)
		told "$told-$i" disposition "race-$i" "$task" '' through_router disposition \
			--user "race-$i" --task "$task" --loan "$loans" "${how[@]}" \
			--connect-timeout 30 --json >/dev/null
		nap 0.1
	done
}

# refills: fills the list again and again, so that a failover meets refills.
refills() {
	while [ ! -e "$scratch/end" ]; do
		through_router refill --task "$listed" >>"$scratch/refill" 2>&1
		nap 0.5
	done
}

# --- failovers -----------------------------------------------------------------------------------

# primary: the member to which the router leads.
primary() {
	local port
	port=$(sql 'SELECT @@port' 2>/dev/null) &&
		cluster status | awk -v p="$port" '$4 == p { print $2 }'
}

# another_leads MEMBER PORT: sets $new to another member that takes changes, and is in a group
# without that member, or in which that one is a secondary.
another_leads() {
	for ((new = 1; new <= members; new++)); do
		[ "$new" -ne "$1" ] || continue
		[ "$(at "$new" "
			SELECT @@global.super_read_only = 0 AND
			       SUM(member_id = @@server_uuid AND member_state = 'ONLINE') = 1 AND
			       SUM(member_port = $2 AND
			           (member_role = 'PRIMARY' OR member_state <> 'ONLINE')) = 0
			  FROM performance_schema.replication_group_members" 2>/dev/null)" != 1 ] ||
			return 0
	done
	return 1
}

# served_after TIME: a getwork has told of loans after that.
served_after() {
	cat "$told"-*[0-9] | jq -e -n --argjson t "$1" '
		first(inputs | select(.call == "getwork" and .exit == 0 and .to > $t))
		' >/dev/null 2>&1
}

heavy_is_led() {
	[ "$(sql "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
		SELECT COUNT(holder) FROM task_lock WHERE task_id = $heavy" 2>/dev/null)" = 1 ]
}

# in_a STATEMENTS PROGRAM MEMBER: a session of that program waits there for a table in one of these
# statements.
in_a() {
	[ "$(at "$3" "
		SELECT COUNT(*) > 0
		  FROM performance_schema.threads AS t
		  JOIN performance_schema.events_statements_current AS e USING (thread_id)
		  JOIN performance_schema.session_connect_attrs AS a USING (processlist_id)
		 WHERE t.processlist_state = 'Waiting for table metadata lock'
		   AND e.sql_text LIKE '$1'
		   AND a.attr_name = 'program_name' AND a.attr_value LIKE '$2'" 2>/dev/null)" = 1 ]
}

# has_committed MEMBER SINCE: more than what gtid_executed was.
has_committed() {
	local now
	now=$(at "$1" 'SELECT @@gtid_executed' 2>/dev/null) && [ "$now" != "$2" ]
}

# commits_hang MEMBER: a program's COMMIT is on its way there.
commits_hang() {
	[ "$(at "$1" "SELECT COUNT(*) > 0 FROM performance_schema.threads
	               WHERE processlist_user = 'lockq_app'
	                 AND (processlist_state = 'waiting for handler commit'
	                      OR processlist_info = 'COMMIT')" 2>/dev/null)" = 1 ]
}

# router_gets SIGNAL
router_gets() {
	kill "-$1" "$(cat "$LOCKQ_CLUSTER_DIR/router/router.pid")"
}

# is_quiet MEMBER: no program's COMMIT, nor any statement that does not wait, is on its way there.
is_quiet() {
	[ "$(at "$1" "SELECT COUNT(*) = 0 FROM performance_schema.threads
	               WHERE processlist_user = 'lockq_app' AND processlist_command <> 'Sleep'
	                 AND processlist_time < 1" 2>/dev/null)" = 1 ]
}

# until_in MOMENT MEMBER: waits until the primary is in the middle of that.
until_in() {
	local before tries=0
	case $1 in
	query) wait_for heavy_is_led ;;
	doubt)
		# A COMMIT takes a second. Those that are on their way are done, and nobody hears
		# of that.
		at "$2" 'SET GLOBAL binlog_group_commit_sync_delay = 1000000'
		wait_for commits_hang "$2"
		router_gets STOP
		before=$(at "$2" 'SELECT @@gtid_executed')
		wait_for has_committed "$2" "$before"
		wait_for is_quiet "$2"
		;;
	commit)
		cluster partition "$2" || return 1
		told "$told-minority" getwork race-1 "$plain" '' as "$2" \
			getwork --user race-1 --task "$plain" --timeout 15 --json >/dev/null &
		minority=$!
		wait_for commits_hang "$2"
		;;
	take)
		hold "$2" "$2" 'LOCK TABLES work_log READ'
		wait_for in_a 'CALL list_serves%' getwork "$2"
		;;
	refill)
		# Others ask the view, too.
		while :; do
			hold "$2" "$2" "LOCK TABLES test_loan_$listed WRITE"
			wait_for in_a "%test_candidates_$listed%" % "$2"
			! in_a "%test_candidates_$listed%" refill "$2" || break
			let_go "$2"
			tries=$((tries + 1))
			[ "$tries" -lt 100 ] || return 1
		done
		;;
	esac
}

# fail HOW MOMENT: the primary goes away in that way and moment (one that is cut off from the others
# is away when a COMMIT waits for them); $waited is set to how long people waited then, in
# milliseconds from the moment at which another one took changes.
fail() {
	local old port since from to minority=
	wait_for primary >/dev/null
	old=$(primary)
	port=$(at "$old" 'SELECT @@port')
	from=$EPOCHREALTIME
	until_in "$2" "$old" || return 1
	# A leader's query is no reason for anybody to wait.
	[ "$2" != query ] || from=$EPOCHREALTIME
	case $1 in
	switch) cluster failover ;;
	kill) cluster kill "$old" ;;
	stop) kill -STOP "$(cat "$LOCKQ_CLUSTER_DIR/$old/mysqld.pid")" ;;
	esac || return 1
	[ "$2" != doubt ] || router_gets CONT
	wait_for another_leads "$old" "$port"
	since=$EPOCHREALTIME
	led_since+=("$since")
	wait_for served_after "$since"
	# A line that is being written is no JSON yet.
	waited=$(cat "$told"-*[0-9] | jq -nR --argjson t "$since" \
		'[inputs | fromjson? | select(.call == "getwork" and .exit == 0) | .to |
		  select(. > $t)] | min - $t | . * 1000 | floor')
	[[ $waited =~ ^[0-9]+$ ]] || return 1
	to=$EPOCHREALTIME
	if [ -n "$minority" ]; then
		wait "$minority"
		cluster heal
	fi
	[ -z "${held[$old]-}" ] || let_go "$old"
	[ "$1" = switch ] || cluster join "$old" || return 1
	# Meanwhile nobody could be asked to get on.
	printf '{"call":"fault","args":"%s","from":%s,"to":%s}\n' "$1" "$from" "$to" \
		>>"$told-faults"
}

jobs=
for ((i = 1; i <= people; i++)); do
	work "$i" &
	jobs="$jobs $!"
done
refills &
jobs="$jobs $!"

slowest=0 bad=0 began=$SECONDS led_since=()
for ((n = 0; n < failovers; n++)); do
	kind=${kinds[n % ${#kinds[@]}]}
	if fail "${kind%:*}" "${kind#*:}"; then
		printf '# %s in a %s: the first loan after %s ms\n' "${kind%:*}" "${kind#*:}" \
			"$waited"
		[ "$waited" -le "$slowest" ] || slowest=$waited
	else
		bad=$((bad + 1))
		tail -n 1 "$scratch/cluster.log" | sed 's/^/# /'
	fi
	# The rest of this failover's time. Nobody waits for anything meanwhile.
	while [ $((SECONDS - began)) -lt $(((n + 1) * minutes * 60 / failovers)) ]; do
		nap 0.5
	done
done
is "$bad" 0 "$failovers failovers: another member led, and the old one joined again"
ok $((slowest > soon * 1000)) \
	"somebody had a loan within $soon s of each: the slowest after $slowest ms"

# --- what was told -------------------------------------------------------------------------------

: >"$scratch/end"
for i in $jobs; do
	wait "$i"
done
jobs=
everywhere 1 2 3
cat "$told"-faults "$told"-*[0-9] "$told"-minority >"$told" 2>/dev/null
[ -z "${LOCKQ_CLUSTER_TOLD-}" ] || cat "$told" >>"$LOCKQ_CLUSTER_TOLD"
# Who has just had a loan disposes of it, and may then ask for one of another task.
jq -sr --argjson since "[$(IFS=,; echo "${led_since[*]}")]" '
	map(select(.call == "getwork" and .exit == 0)) | group_by(.user) | length as $people |
	[.[] | map(.to) as $had | $since[] as $t | [$had[] | select(. > $t)] |
	 if length > 0 then min - $t else null end] |
	(map(values) | max // 0 | . * 1000 | floor) as $ms |
	"# \($people) people had a loan again within \($ms) ms, and "
	+ "\(map(select(. == null)) | length) times not until the end"' "$told"
printf '# %s calls, by exit status: %s\n' "$(wc -l <"$told")" \
	"$(jq -r 'select(.exit) | "\(.call) \(.exit)"' "$told" | sort | uniq -c |
		awk '{ print $2, $3 ": " $1 }' | paste -sd,)"
sed 's/ (request.*//; s/[0-9a-f]\{8\}-[-0-9a-f]*/UUID/g; s/[0-9][0-9]*/N/g' "$told_errors" |
	sort | uniq -c | sort -rn | head -20 | sed 's/^/# /'
is "$(jq -s -c '[length > 0, (map(select(.exit == 0)) | length)]' "$told-minority")" '[true,0]' \
	'nobody was served by a primary that the others could not hear'
export LOCKQ_SANDBOX_DIR=$LOCKQ_CLUSTER_DIR/1
columns_now "$scratch/columns"
sql 'FLUSH BINARY LOGS'
logs=()
while read -r log; do
	logs+=(--log "$log")
done < <(logs_from "$first_log" | sed '$d')
# The router leads to several primaries in turn: see lockq-admin(7).
[ "$mode" = single ] || logs+=(--behind)
run "$top/test/history/check" --columns "$scratch/columns" --people "$scratch/people" \
	--tasks "$plain,$listed,$heavy" --bound 20 "${logs[@]}" --told "$told"
is "$status" 0 'the checker finds no promise broken'
printf '# %s\n' "${out:-$err}" | head -n 40
if [ "$status" -ne 0 ]; then
	rm -rf "$top/build/failovers-kept"
	mkdir "$top/build/failovers-kept"
	find "$scratch" -maxdepth 1 -type f -exec cp -t "$top/build/failovers-kept" {} +
	for log in "${logs[@]}"; do
		[ ! -f "$log" ] || cp "$log" "$top/build/failovers-kept"
	done
	echo '# what was committed and told is in build/failovers-kept'
fi
ok $((status != 0 || $(jq -s '[.[] | .answer[]?.loans | length] | add' "$told") < failovers * 20)) \
	'the users have had loans'
tables='CHECKSUM TABLE task_lock, work_requested, work, work_log, leader_run'
sums=$(at 1 "$tables")
is "$(grep -c '	[1-9][0-9]*$' <<<"$sums")" 5 'each table has rows'
is "$(at 2 "$tables") $(at 3 "$tables")" "$sums $sums" 'all members have the same rows'
finish
