#!/usr/bin/env bash
# checkwork as a user runs it.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

task=223 slow=224
make_task "$task" 20 0
make_task "$slow" 6000 20000
make_users 4
scratch=$(mktemp -d)
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'forget_task "$task"; forget_task "$slow"; forget_users; rm -rf "$scratch"' EXIT

run checkwork --help
is "$status" 0 '--help: exit 0'
like "$out" '^Usage: checkwork ' '--help says how to use it'
run checkwork --version
is "$status:$out" '0:checkwork (lockq) 0.1.0' '--version'
for arguments in '--frob' '--task x' '--request 1 --task 1' '--wait 3' '--request 0x1 --wait -1'; do
	# shellcheck disable=SC2086 # words, on purpose
	run checkwork $arguments
	is "$status" 2 "$arguments: exit 2"
	like "$err" '^checkwork: ' "$arguments: one line that names it"
done

run checkwork --user race-1
is "$status" 1 'an empty pipeline: exit 1'
like "$out$err" "race-1's pipeline" 'an empty pipeline: it says whose'
run checkwork --user race-1 --json
is "$status:$out" '1:' 'an empty pipeline in JSON: no object'
getwork --user race-1 --task "$task" --count 3 --json >"$scratch/answer"
run checkwork --user race-1
is "$status" 0 'a pipeline: exit 0'
like "$out" "$task Test $task" 'it names the task'
like "$out" '3 loans' 'it counts the loans'
run checkwork --user race-1 --task "$task" --json
is "$(jq -s -c '[.[].loan_id] | sort' <<<"$out")" "$(jq -c '[.loans[].loan_id] | sort' \
	"$scratch/answer")" 'JSON: an object for each loan, those that getwork gave'
is "$(jq -s -c '.[0] | [.user, .task, .lease_expires_at, .lease_expired, (.age_s < 60)]' \
	<<<"$out")" \
	"[\"race-1\",$task,null,false,true]" 'JSON: what it says of one'
run checkwork --user race-1 --task "$slow"
is "$status" 1 'only the task that was named'
run checkwork --user nobody
is "$status" 4 'an unknown user: exit 4'
run checkwork --user race-1 --task 4711
is "$status" 4 'an unknown task: exit 4'

request=$(jq -r .request_id "$scratch/answer")
uuid=$(jq -r .uuid "$scratch/answer")
run checkwork --request "$request" --json
is "$status:$(jq -r .uuid <<<"$out")" "0:$uuid" 'a request by its number'
run checkwork --request "$uuid" --json
is "$status:$(jq -r .request_id <<<"$out")" "0:$request" 'a request by its UUID'
is "$(jq -c '.loans' <<<"$out")" "$(jq -c '.loans' "$scratch/answer")" 'with its loans, in order'
run checkwork --request 99999999
is "$status" 4 'no such request: exit 4'
like "$err" 'no request 99999999' 'no such request: it says so'

# A request that is pending while nobody leads: recorded by hand, as a leader's crash leaves it.
sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)
     SELECT UUID(), user_id, 'test', $slow, 2, 2 FROM app_user WHERE name = 'race-2'"
request=$(sql "SELECT MAX(request_id) FROM work_requested WHERE task_id = $slow")
run checkwork --request "$request"
is "$status" 3 'pending: exit 3'
like "$out$err" "nobody leads.*getwork --user race-2 --task $slow" 'nobody leads: what to do'
getwork --user race-3 --task "$slow" --json >/dev/null &
sleep 0.3
run checkwork --request "$request"
like "$out$err" "race-3" 'somebody leads: who'
run checkwork --request "$request" --wait 30 --json
is "$status:$(jq -r .status <<<"$out")" 0:served '--wait waits for the answer'
wait
run checkwork --user race-1 --socket "$scratch/no.sock"
is "$status" 5 'no server: exit 5'
finish
