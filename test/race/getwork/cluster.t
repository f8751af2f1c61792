#!/usr/bin/env bash
# A Group Replication group. A row lock holds at one member only, so two processes can lead one
# task. At COMMIT the group decides which transaction was first. The other one gets error 3101 or
# 1180.
#
#   LOCKQ_CLUSTER_ROUNDS   rounds of the race (4); up to four times as many until the group has
#                          rolled a transaction back
set -u
# shellcheck source=test/support/cluster.sh
. "$(dirname "$0")/../../support/cluster.sh"

rounds=${LOCKQ_CLUSTER_ROUNDS:-4} people=9 race=271 heavy=272
trap end_cluster EXIT
start_cluster --multi-primary

make_task "$race" 60 300000
make_task "$heavy" 3000 60000
make_users "$people"
everywhere 1 2 3

# --- all at once, at all members -------------------------------------------------------------

# work I ROUND: race-I asks at one of the first $spread members, and gives the loans back there.
work() {
	local member=$(($1 % spread + 1)) name=$scratch/answer-$2-$1 loans
	as "$member" getwork --user "race-$1" --task "$race" --count $((1 + ($1 + $2) % 3)) --json \
		>"$name" 2>"$name.errors" || return 1
	loans=$(jq -r '[.loans[] | "\(.loan_id):\(.token)"] | join(",")' "$name")
	as "$member" disposition --user "race-$1" --task "$race" --loan "$loans" \
		--return-after 0h >"$name.returned" 2>>"$name.errors"
}

# all_work ROUND: $bad counts the users whose work failed.
all_work() {
	local i pids=()
	for ((i = 1; i <= people; i++)); do
		work "$i" "$1" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || bad=$((bad + 1))
	done
}

bad=0 spread=$members most=$((rounds * 4))
for ((round = 1; round <= rounds; round++)); do
	all_work "$round"
	[ "$round" -lt "$rounds" ] || [ "$(uncommitted)" -gt 0 ] || [ "$rounds" -ge "$most" ] ||
		rounds=$((rounds + 1))
done
is "$bad" 0 "$((rounds * people)) times at three members: all get loans and return them"
[ "$bad" -eq 0 ] || cat "$scratch"/*.errors | sed 's/^/#   /'
everywhere 1 2 3

is "$(sql "SELECT COUNT(*) FROM (
             SELECT event, LAG(event) OVER (PARTITION BY loan_id ORDER BY version) AS before_it
               FROM work_log WHERE task_id = $race) AS steps
            WHERE event = before_it OR (before_it IS NULL AND event <> 'assigned')")" 0 \
	'no loan was given out while a user had it'
is "$(sql "SELECT COUNT(*) - COUNT(DISTINCT loan_id, version) FROM work_log
            WHERE task_id = $race")" 0 'no change was made twice'
is "$(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $race AND event = 'assigned'")" \
	"$(cat "$scratch"/answer-*[0-9] | jq -s '[.[].loans | length] | add')" \
	'the loans in the answers are the loans in the log'
is "$(cat "$scratch"/answer-*[0-9] | jq -r '.loans[] | "\(.loan_id) \(.token)"' | sort |
	uniq -d | wc -l)" 0 'no two answers name the same loan under the same token'
is "$(sql "SELECT COUNT(*) FROM work_requested
            WHERE task_id = $race AND outcome IN ('served', 'partial') AND assigned > 0")" \
	$((rounds * people)) 'each request was answered once'
is "$(sql "SELECT COUNT(*) FROM work_requested AS r
            WHERE r.task_id = $race AND r.assigned <> (
              SELECT COUNT(*) FROM work_log AS l
               WHERE l.request_id = r.request_id AND l.event = 'assigned')")" 0 \
	'each request has as many loans as its row says'
is "$(sql "SELECT CONCAT_WS(' ', COUNT(*), MIN(epoch), MAX(epoch)) FROM leader_run
            WHERE task_id = $race")" \
	"$(sql "SELECT CONCAT_WS(' ', epoch, 1, epoch) FROM task_lock WHERE task_id = $race")" \
	'each epoch has had one leader'
is "$(sql "SELECT COUNT(*) FROM work_log AS l LEFT JOIN leader_run AS r
             ON r.task_id = l.task_id AND r.epoch = l.token
            WHERE l.task_id = $race AND r.epoch IS NULL")" 0 \
	'no loan has the token of a leader that was rolled back'
tables='CHECKSUM TABLE task_lock, work_requested, work, work_log, leader_run'
is "$(at 2 "$tables") $(at 3 "$tables")" "$(at 1 "$tables") $(at 1 "$tables")" \
	'all members have the same rows'
ok $(($(uncommitted) == 0)) \
	"the group rolled back $(uncommitted) transactions at COMMIT, and they were tried again"
sql "SELECT CONCAT('# ', COUNT(*), ' leaders, ', SUM(retries), ' tries more, ',
            MAX(retries), ' at most') FROM leader_run WHERE task_id = $race"
printf '# %s people had to go again, %s times in all; rolled back %s times, deadlocks %s\n' \
	"$(cat "$scratch"/answer-*[0-9] | jq -s '[.[] | select(.retries > 0)] | length')" \
	"$(cat "$scratch"/answer-*[0-9] | jq -s '[.[].retries] | add')" "$(raised 3101,1180)" \
	"$(raised 1213)"

# --- two leaders at the same time ---------------------------------------------------------------

# lead_at MEMBER ARG…: race-MEMBER asks for a loan of $heavy at that member, in the background.
lead_at() {
	as "$1" getwork --user "race-$1" --task "$heavy" "${@:2}" >"$scratch/lead-$1" 2>&1 &
	leader[$1]=$!
}

# until_led MEMBER: waits until somebody leads $heavy at this member.
until_led() {
	wait_for is_led "$1"
}
is_led() {
	[ "$(at "$1" "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
		SELECT COUNT(holder) FROM task_lock WHERE task_id = $heavy")" = 1 ]
}

leader=()
before=$(($(uncommitted) + $(raised 1213)))
# Nobody can read the loans there, so a leader's query waits.
for i in 1 2; do
	hold "loans-$i" "$i" "LOCK TABLES test_loan_$heavy WRITE"
done
lead_at 1
lead_at 2
until_led 1 && until_led 2
ok $? 'a leader at each of two members, at the same time'
let_go loans-1
let_go loans-2
status=0
wait "${leader[1]}" || status=$?
wait "${leader[2]}" || status=$?
is "$status" 0 'both get their loan'
ok $(($(uncommitted) + $(raised 1213) == before)) 'one of them was rolled back'
everywhere 1 2 3
is "$(sql "SELECT CONCAT_WS(' ', COUNT(*), COUNT(DISTINCT loan_id), COUNT(DISTINCT user_id))
             FROM work WHERE task_id = $heavy")" '2 2 2' 'these are two loans'

# --- one user, at two members -------------------------------------------------------------------

# both OUT COMMAND… -- COMMAND…: runs them at members 1 and 2 at the same time; $statuses has their
# exit statuses.
both() {
	local name=$1 first second one=()
	shift
	while [ "$1" != -- ]; do
		one+=("$1")
		shift
	done
	as 1 "${one[@]}" >"$name-1" 2>&1 &
	first=$!
	as 2 "${@:2}" >"$name-2" 2>&1 &
	second=$! statuses=0
	wait "$first" || statuses=$?
	wait "$second" && statuses="$statuses 0" || statuses="$statuses $?"
}

ask=(getwork --user race-1 --task "$race" --count 3 --json)
both "$scratch/joint" "${ask[@]}" -- "${ask[@]}"
is "$statuses" '0 0' 'two shells of one user at two members: both are answered'
is "$(jq -s '[.[].request_id] | unique | length' "$scratch"/joint-?)" \
	"$(jq -s '[.[] | select(.joined | not)] | length' "$scratch"/joint-?)" \
	'the second has joined the first, or came after its answer'

# --- two dispositions of one loan ---------------------------------------------------------------

everywhere 1 2 3
wrong=0 untrue=0 n=0 before=$(uncommitted)
for loan in $(sql "SELECT loan_id FROM work WHERE task_id = $race AND state = 'assigned'"); do
	how=(disposition --user race-1 --task "$race" --loan "$loan")
	both "$scratch/disposed" "${how[@]}" --complete -- "${how[@]}" --return-after 48h
	everywhere 1 2 3
	n=$((n + 1))
	case "$statuses $(sql "SELECT state FROM work
	                        WHERE task_id = $race AND loan_id = $loan")" in
	'0 4 completed') grep -q completed "$scratch/disposed-2" || untrue=$((untrue + 1)) ;;
	'4 0 returned') grep -q returned "$scratch/disposed-1" || untrue=$((untrue + 1)) ;;
	*) wrong=$((wrong + 1)) ;;
	esac
done
ok $((n == 0 || wrong > 0)) 'complete and return at two members at once: one is done, one refused'
is "$untrue" 0 'the refusal tells the state of the loan'
printf '# %s dispositions were rolled back at COMMIT\n' $(($(uncommitted) - before))

# --- one primary --------------------------------------------------------------------------------

refused='server is read only: .*: connect to the primary$'
sql 'SELECT group_replication_switch_to_single_primary_mode(@@server_uuid)' >/dev/null
before=$(raised 3101,1180) bad=0 spread=1
all_work 1001
all_work 1002
is "$bad" 0 'a single primary: all get loans there and return them'
is "$(raised 3101,1180)" "$before" 'the group rolled nothing back'
run as 2 getwork --user race-2 --task "$race"
is "$status" 5 'getwork at a secondary'
like "$err" "^getwork: .*$refused" 'the line tells to connect to the primary'
run as 2 disposition --user race-1 --task "$race" --loan 1 --complete
is "$status" 5 'disposition at a secondary'
like "$err" "^disposition: .*$refused" 'the line tells to connect to the primary'
run as 2 checkwork --user race-1
is "$status $err" '0 ' 'checkwork works at a secondary, since it only reads'

# --- another primary, through the router ----------------------------------------------------------

through_router getwork --user race-4 --task "$heavy" >"$scratch/moved" 2>&1 &
moved=$!
until_led 1
at 1 "SELECT group_replication_set_as_primary('$(at 2 'SELECT @@server_uuid')')" >/dev/null
status=0
wait "$moved" || status=$?
is "$status" 0 'the primary is switched under a leader: its user is served'
[ "$status" -eq 0 ] || sed 's/^/# /' "$scratch/moved"
run through_router getwork --connect-timeout "$patience" --user race-5 --task "$race" --json
is "$status" 0 'the router leads to the new primary'
[ "$status" -eq 0 ] || printf '# %s\n' "$err"
is "$(at 2 "SELECT COUNT(*) FROM work WHERE request_id = $(jq .request_id <<<"$out")")" 1 \
	'the loan was given there'
everywhere 1 2 3
sql 'SELECT group_replication_switch_to_multi_primary_mode()' >/dev/null

# --- a member that has left the group ------------------------------------------------------------

at 3 'STOP GROUP_REPLICATION'
run as 3 getwork --user race-3 --task "$race"
is "$status" 5 'getwork at a member that has left the group'
like "$err" "^getwork: .*$refused" 'the line tells to connect to the primary'
at 3 'SET GLOBAL offline_mode = ON'
run as 3 getwork --user race-3 --task "$race"
is "$status" 5 'getwork at a member that was expelled, which lets nobody in'
like "$err" '^getwork: .*offline mode: connect to another server; option files: ' \
	'says where to go'
at 3 'SET GLOBAL offline_mode = OFF'
cluster join 3
ok $? 'it comes back'

# The group has rolled back a transaction of the late one, or that has ended.
late_is_rolled_back() {
	! kill -0 "$late" 2>/dev/null || [ "$(raised 3101,1180)" -gt "$before" ]
}

# --- a member that is behind --------------------------------------------------------------------

sql 'CREATE TABLE test_behind (i INT PRIMARY KEY)'
catch_up 2 3
hold applier 3 'LOCK TABLES test_behind READ'
sql 'INSERT INTO test_behind VALUES (1)'
run as 1 getwork --user race-1 --task "$race"
is "$status" 0 'a member is behind: a user at another member is served'
before=$(raised 3101,1180)
as 3 getwork --user race-3 --task "$race" >"$scratch/late" 2>&1 &
late=$!
wait_for late_is_rolled_back
let_go applier
wait "$late"
status=$?
is "$status" 0 'a user at that member is served when it has caught up'
[ "$status" -eq 0 ] || sed 's/^/# /' "$scratch/late"

# --- a member that is switched off while its leader runs ------------------------------------------

# keep_on I: race-I takes loans at member 3 and returns them, as long as that member answers.
# Without --timeout a getwork would look for a dead member for half a minute.
keep_on() {
	local name=$scratch/keep-$1 status
	while :; do
		status=0
		as 3 getwork --user "race-$1" --task "$race" --timeout 5 --json \
			>"$name" 2>"$name.errors" || status=$?
		[ "$status" -ne 3 ] || continue
		[ "$status" -eq 0 ] || break
		jq -r '.loans[] | "\(.loan_id)\t\(.token)"' "$name" >>"$scratch/told-$1"
		as 3 disposition --user "race-$1" --task "$race" --return-after 0h --loan \
			"$(jq -r '.loans[0].loan_id' "$name")" >>"$name.errors" 2>&1 || break
	done
}

steady=()
for i in 7 8 9; do
	keep_on "$i" &
	steady+=($!)
done
have_loans() {
	[ "$(cat "$scratch"/told-* 2>/dev/null | wc -l)" -ge 3 ]
}
wait_for have_loans
lead_at 3 --timeout 5
until_led 3
cluster kill 3
lead_at 1
lead_at 2
status=0
wait "${leader[1]}" || status=$?
wait "${leader[2]}" || status=$?
is "$status" 0 'a member dies under its leader: users at the other members are served'
status=0
wait "${leader[3]}" || status=$?
is "$status $(wc -l <"$scratch/lead-3")" '5 1' 'its leader ends with status 5 and one line'
request=$(sed -n 's/.* checkwork --request \([0-9a-f-]*\).*/\1/p' "$scratch/lead-3")
run as 1 checkwork --request "$request" --json
is "$(jq -r .status <<<"$out")" served \
	'the line names its request, which a leader at another member has served'
wait "${steady[@]}"
sort "$scratch"/told-* >"$scratch/told"
sql "SELECT loan_id, token FROM work_log WHERE task_id = $race AND event = 'assigned'" |
	sort >"$scratch/logged"
is "$(comm -23 "$scratch/told" "$scratch/logged" | wc -l)" 0 \
	"the others have all loans that the dead member gave out: $(wc -l <"$scratch/told")"
finish
