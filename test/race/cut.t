#!/usr/bin/env bash
# The network is cut: no packet arrives any more, so no connection ends by itself. People lead and
# wait in two network namespaces, behind virtual cards; then their neighbour's hardware address is
# made a wrong one, on both sides. To one namespace the network comes back, to the other it doesn't.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

scratch=$(mktemp -d)
gone=lockq-gone-$$ back=lockq-back-$$
export LOCKQ_SANDBOX_DIR=$scratch/sb
unset LOCKQ_DEFAULTS_FILE
net=198.18.$((RANDOM % 256))
declare -A card=([$gone]=lqg$$ [$back]=lqb$$) here=([$gone]=$net.1 [$back]=$net.5)
declare -A there=([$gone]=$net.2 [$back]=$net.6)

remove_spaces() {
	local space
	for space in "$gone" "$back"; do
		ip link del "${card[$space]}"
		ip netns del "$space"
	done 2>/dev/null
}

clean_up() {
	local file
	for file in "$scratch"/*.pid; do
		kill -9 "$(cat "$file")" 2>/dev/null
	done
	# shellcheck disable=SC2154 # top is set by what is sourced
	"$top/scripts/sandbox" destroy >"$scratch/destroy" 2>&1
	remove_spaces
	rm -rf "$scratch"
}

make_space() {
	ip netns add "$1" &&
		ip link add "${card[$1]}" type veth peer name lockq netns "$1" &&
		ip addr add "${here[$1]}/30" dev "${card[$1]}" &&
		ip link set "${card[$1]}" up &&
		ip -n "$1" addr add "${there[$1]}/30" dev lockq &&
		ip -n "$1" link set lockq up
}

# What can't be made is a reason to skip.
if ! { make_space "$gone" && make_space "$back"; } 2>"$scratch/why"; then
	printf '1..0 # SKIP no network namespace can be made here: %s\n' \
		"$(head -n 1 "$scratch/why")"
	remove_spaces
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
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

# The same account, from over there.
password=$(awk '/^\[/ { inside = $0 == "[lockq]" } inside && sub(/^password=/, "")' \
	"$LOCKQ_DEFAULTS_FILE")
for space in "$gone" "$back"; do
	account="lockq_app@'${there[$space]}'"
	sql "CREATE USER $account IDENTIFIED BY '$password'; GRANT lockq_worker TO $account;
	     SET DEFAULT ROLE ALL TO $account"
	printf '%s\n' '[lockq]' "host=${here[$space]}" "port=$port" protocol=tcp user=lockq_app \
		"password=$password" database=lockq >"$scratch/$space.cnf"
done

now() {
	date +%s%3N
}

# ask NAME WHERE ARGS...: getwork in the background; NAME.out, NAME.err, NAME.end (when, status).
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

# ended NAME SECONDS SINCE: waits that long for it; sets $status, $answer, and $ms since then.
ended() {
	local deadline=$((SECONDS + $2)) when=$(($(now)))
	while [ ! -s "$scratch/$1.end" ] && [ "$SECONDS" -lt "$deadline" ]; do
		sleep 0.1
	done
	status=none
	[ ! -s "$scratch/$1.end" ] || read -r when status <"$scratch/$1.end"
	ms=$((when - $3))
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

# until_led TASK USER
until_led() {
	local deadline=$((SECONDS + 20))
	while [ "$(leader_of "$1")" != "$2" ] && [ "$SECONDS" -lt "$deadline" ]; do
		sleep 0.02
	done
}

outcome_of() {
	sql "SELECT r.outcome FROM work_requested AS r JOIN app_user AS u ON u.user_id = r.user_id
	      WHERE r.task_id = $1 AND u.name = '$2' ORDER BY r.request_id DESC LIMIT 1"
}

# Packets go to nobody, on both sides; no ICMP, no reset.
cut() {
	ip neigh replace "${there[$1]}" lladdr 02:00:00:00:00:01 nud permanent dev "${card[$1]}"
	ip -n "$1" neigh replace "${here[$1]}" lladdr 02:00:00:00:00:01 nud permanent dev lockq
}

mend() {
	ip neigh del "${there[$1]}" dev "${card[$1]}"
	ip -n "$1" neigh del "${here[$1]}" dev lockq
}

# What a user bears. It takes longer than these where nothing ends it.
take_over_ms=15000 comes_back_ms=60000 gives_up_s=100 interrupted_s=45

# Of three tasks somebody leads who will be cut off, of three somebody waits who will be.
lead=261 lead_int=262 lead_back=263 follow=264 follow_int=265 follow_back=266
for task in $lead $lead_int $lead_back; do
	make_task "$task" 6000 20000
done
for task in $follow $follow_int $follow_back; do
	make_task "$task" 6000 10000
done
make_users 12

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
ask follower-limit "$gone" --user race-12 --task $follow --timeout 10
ask follower-int "$gone" --user race-8 --task $follow_int
ask follower-back "$back" --user race-9 --task $follow_back
for task in $lead $lead_int $lead_back; do
	until_led "$task" "race-$((task - lead + 1))"
done
ask next here --user race-10 --task $lead
ask next-back here --user race-11 --task $lead_back
sleep 0.7
cut "$gone"
cut "$back"
cut_at=$(now)
is "$(leader_of $lead) $(leader_of $lead_back)" 'race-1 race-3' 'the network is cut: they lead'
sleep 1
interrupt leader-int
interrupt follower-int
int_at=$(now)
until_led $lead race-10
ms=$(($(now) - cut_at))
ok $((ms < take_over_ms ? 0 : 1)) "a follower elsewhere leads: after $ms ms"

ended next 60 "$cut_at"
is "$status" 0 'and is served'
is "$(outcome_of $lead race-1)" served 'so is the one who was cut off'
ended next-back 60 "$cut_at"
is "$status" 0 'the same of the other task'
rest=$((cut_at + 16000 - $(now)))
[ "$rest" -le 0 ] || sleep "$((rest / 1000 + 1))"
before=$(sql "SELECT COUNT(*), SUM(version) FROM work WHERE task_id = $lead_back")
mend "$back"
back_at=$(now)
ended leader-back 100 "$back_at"
is "$status" 0 'the network comes back: who led hears what its own row says'
ok $((ms < comes_back_ms ? 0 : 1)) "after $ms ms"
is "$(jq -c '[.status, .led, .leader, (.loans | length)]' "$scratch/leader-back.out")" \
	'["served",false,"race-11",2]' 'it has the two loans that the follower gave it'
is "$(sql "SELECT COUNT(*), SUM(version) FROM work WHERE task_id = $lead_back")" "$before" \
	'and wrote nothing'
ended follower-back 100 "$back_at"
is "$status:$(jq -r .status "$scratch/follower-back.out")" 0:served 'who waited hears it, too'
ok $((ms < comes_back_ms ? 0 : 1)) "after $ms ms"

# gave_up NAME SECONDS SINCE: with a true message.
gave_up() {
	ended "$@"
	like "$status" '^(5|6|130)$' "$1, cut off for good, ends: exit $status after $ms ms"
	like "$answer" 'may still be pending|outcome unknown' 'and does not say more than it knows'
}
gave_up leader-int "$interrupted_s" "$int_at"
gave_up follower-int "$interrupted_s" "$int_at"
gave_up follower-limit "$gives_up_s" "$cut_at"
gave_up leader "$gives_up_s" "$cut_at"
gave_up follower "$gives_up_s" "$cut_at"

is "$(sql "SELECT COUNT(*) FROM leader_run
            WHERE task_id BETWEEN $lead AND $follow_back AND user IN ('race-1', 'race-3')")" 0 \
	'guard: wait_timeout. No leader that was cut off has written anything'
for task in $lead $lead_back $follow $follow_int $follow_back; do
	is "$(given_twice "$task")" 0 "task $task: no loan was given twice"
done
finish
