#!/usr/bin/env bash
# The network is cut: no packet arrives any more, so no connection ends by itself. People lead and
# wait in two network namespaces, behind virtual network cards. The cut gives each side a wrong
# hardware address of the other. One namespace gets its network back, the other doesn't.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../../support/tap.sh"
# shellcheck source=test/support/network.sh
. "$(dirname "$0")/../../support/network.sh"

scratch=$(mktemp -d)
gone=lockq-gone-$$ back=lockq-back-$$
export LOCKQ_SANDBOX_DIR=$scratch/sb
unset LOCKQ_DEFAULTS_FILE
net=198.18.$((RANDOM % 256))
card=([$gone]=lqg$$ [$back]=lqb$$)
here=([$gone]=$net.1 [$back]=$net.5)
there=([$gone]=$net.2 [$back]=$net.6)

clean_up() {
	local file
	for file in "$scratch"/*.pid; do
		kill -9 "$(cat "$file")" 2>/dev/null
	done
	# shellcheck disable=SC2154 # top is set by what is sourced
	"$top/scripts/sandbox" destroy >"$scratch/destroy" 2>&1
	remove_space "$gone"
	remove_space "$back"
	rm -rf "$scratch"
}

# Only root can make network namespaces, and not everywhere.
if ! { make_space "$gone" && make_space "$back"; } 2>"$scratch/why"; then
	printf '1..0 # SKIP no network namespace can be made here: %s\n' \
		"$(head -n 1 "$scratch/why")"
	remove_space "$gone"
	remove_space "$back"
	rm -rf "$scratch"
	exit 0
fi
trap clean_up EXIT

port=$((20000 + RANDOM % 20000))
export LOCKQ_MYSQLD_ARGS="--skip-networking=OFF
	--bind-address=${here[$gone]},${here[$back]} --port=$port"
if ! "$top/scripts/sandbox" start >"$scratch/start" 2>&1; then
	cat "$scratch/start" >&2
	exit 1
fi
# shellcheck source=test/support/crowd.sh
. "$(dirname "$0")/../../support/crowd.sh"

# The programs' account for each namespace.
password=$(awk '/^\[/ { inside = $0 == "[lockq]" } inside && sub(/^password=/, "")' \
	"$LOCKQ_DEFAULTS_FILE")
for space in "$gone" "$back"; do
	account="lockq_app@'${there[$space]}'"
	sql "CREATE USER $account IDENTIFIED BY '$password'; GRANT lockq_worker@lockq TO $account;
	     SET DEFAULT ROLE ALL TO $account"
	printf '%s\n' '[lockq]' "host=${here[$space]}" "port=$port" protocol=tcp user=lockq_app \
		"password=$password" database=lockq >"$scratch/$space.cnf"
done

now() {
	date +%s%3N
}

# ask NAME WHERE ARG…: getwork in the background. NAME.out and NAME.err have its output, NAME.end
# the time of its end and its status.
ask() {
	local name=$1 where=$2
	shift 2
	(
		set -- getwork "$@" --json
		if [ "$where" != here ]; then
			export LOCKQ_DEFAULTS_FILE=$scratch/$where.cnf
			set -- ip netns exec "$where" "$@"
		fi
		code=0
		"$@" >"$scratch/$name.out" 2>"$scratch/$name.err" &
		echo $! >"$scratch/$name.pid"
		wait $! || code=$?
		echo "$(now) $code" >"$scratch/$name.end"
	) &
}

# ended NAME SINCE: waits until it has ended; sets $status, $answer, and $ms, the time since SINCE.
ended() {
	local when=$2
	status=none
	! wait_for [ -s "$scratch/$1.end" ] || read -r when status <"$scratch/$1.end"
	ms=$((when - $2))
	answer=$(cat "$scratch/$1.out" "$scratch/$1.err")
	printf '# %s: exit %s after %d ms: %.300s\n' "$1" "$status" "$ms" "${answer//$'\n'/ }"
}

interrupt() {
	kill -INT "$(cat "$scratch/$1.pid")"
}

leader_of() {
	sql "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
	     SELECT COALESCE(holder, '') FROM task_lock WHERE task_id = $1"
}

# until_led TASK USER: waits until the user leads the task, or has led it.
until_led() {
	wait_for has_led "$1" "$2"
}
has_led() {
	[ "$(leader_of "$1")" = "$2" ] || [ "$(sql "SELECT COUNT(*) FROM leader_run
	                                             WHERE task_id = $1 AND user = '$2'")" != 0 ]
}

# gate NAME TASK…: nobody can read the loans of these tasks, so their queries wait, until
# `say NAME 'UNLOCK TABLES'`.
gate() {
	local name=$1 tables
	shift
	printf -v tables 'test_loan_%d WRITE, ' "$@"
	say "$name" "LOCK TABLES ${tables%, }"
	said "$name"
}

outcome_of() {
	sql "SELECT r.outcome FROM work_requested AS r JOIN app_user AS u ON u.user_id = r.user_id
	      WHERE r.task_id = $1 AND u.name = '$2' ORDER BY r.request_id DESC LIMIT 1"
}

# The leaders of the first three tasks will be cut off, and followers of the other three.
lead=261 lead_int=262 lead_back=263 follow=264 follow_int=265 follow_back=266
for task in $lead $lead_int $lead_back; do
	make_task "$task" 6000 30000
done
for task in $follow $follow_int $follow_back; do
	make_task "$task" 6000 10000
done
make_users 12

# Everybody asks before the queries can run. The queries of the first three are computing when the
# network is cut; the others run after it.
gate leads $lead $lead_int $lead_back
gate follows $follow $follow_int $follow_back
ask other here --user race-4 --task $follow
ask other-int here --user race-5 --task $follow_int
ask other-back here --user race-6 --task $follow_back
ask leader "$gone" --user race-1 --task $lead --count 2
ask leader-int "$gone" --user race-2 --task $lead_int
ask leader-back "$back" --user race-3 --task $lead_back --count 2
for task in $follow $follow_int $follow_back; do
	until_led "$task" "race-$((task - follow + 4))"
done
ask follower "$gone" --user race-7 --task $follow
ask follower-int "$gone" --user race-8 --task $follow_int
ask follower-back "$back" --user race-9 --task $follow_back
for task in $lead $lead_int $lead_back; do
	until_led "$task" "race-$((task - lead + 1))"
done
ask next here --user race-10 --task $lead
ask next-back here --user race-11 --task $lead_back
until_waiting 5
ask follower-limit "$gone" --user race-12 --task $follow --timeout 20
until_waiting 6
say leads 'UNLOCK TABLES'
await "SELECT COUNT(*) FROM information_schema.processlist
        WHERE user = 'lockq_app' AND state = 'executing' AND info LIKE '%test_candidates%'" 3
cut_cable "$gone"
cut_cable "$back"
cut_at=$(now)
is "$(leader_of $lead) $(leader_of $lead_back)" 'race-1 race-3' 'the network is cut: they lead'
say follows 'UNLOCK TABLES'
interrupt leader-int
interrupt follower-int
int_at=$(now)
until_led $lead race-10
ok $? "a follower elsewhere leads, $(($(now) - cut_at)) ms after the cut"

# At once, since the one that was cut off looks for the server for half a minute only.
until_led $lead_back race-11
mend_cable "$back"
back_at=$(now)
ended next "$cut_at"
is "$status" 0 'that follower is served'
is "$(outcome_of $lead race-1)" served 'the leader that was cut off is served, too'
ended next-back "$cut_at"
is "$status" 0 'the follower of the other task is served'
ended leader-back "$back_at"
is "$status" 0 "the network comes back: the leader that was cut off ends, after $ms ms"
is "$(jq -c '[.status, .led, .leader, (.loans | length)]' "$scratch/leader-back.out")" \
	'["served",false,"race-11",2]' 'it tells the two loans that the follower gave it'
is "$(sql "SELECT COUNT(*), COUNT(DISTINCT token), MAX(version) FROM work
            WHERE task_id = $lead_back")" '3	1	1' 'it gave out nothing itself'
ended follower-back "$back_at"
is "$status:$(jq -r .status "$scratch/follower-back.out")" 0:served \
	"the follower that was cut off is served, after $ms ms"

# gave_up NAME SINCE: it ends by itself, with a true message. The kernel would give up after a
# quarter of an hour.
gave_up() {
	ended "$@"
	like "$status" '^(5|6|130)$' "$1, cut off for good, ends: exit $status after $ms ms"
	like "$answer" 'may still be pending|outcome unknown' 'it says that the outcome is unknown'
}
gave_up leader-int "$int_at"
gave_up follower-int "$int_at"
gave_up follower-limit "$cut_at"
gave_up leader "$cut_at"
gave_up follower "$cut_at"

# earlier NAME THAN: the one ended before the other.
earlier() {
	local one other
	read -r one _ <"$scratch/$1.end"
	read -r other _ <"$scratch/$2.end"
	ok $((one < other ? 0 : 1)) "$1 ended $((other - one)) ms before $2"
}
earlier leader-int leader
earlier follower-int follower

is "$(sql "SELECT COUNT(*) FROM leader_run
            WHERE task_id BETWEEN $lead AND $follow_back AND user IN ('race-1', 'race-3')")" 0 \
	'guard: wait_timeout. No leader that was cut off has written anything'
for task in $lead $lead_back $follow $follow_int $follow_back; do
	is "$(given_twice "$task")" 0 "task $task: no loan was given twice"
done
finish
