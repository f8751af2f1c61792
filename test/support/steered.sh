# A task whose query takes as long as the test wants, and programs in the background. Sourced in
# place of shell.sh.
# shellcheck shell=bash

# shellcheck source=test/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/shell.sh"
[ -n "${scratch-}" ] || scratch=$(mktemp -d)

declare -A process # by the name that start gave

# make_steered TASK LOANS: as make_task; its query is cheap until steer says otherwise.
make_steered() {
	local task=$1
	make_task "$task" "$2" 0
	sql "CREATE TABLE test_steer_$task (rounds INT NOT NULL, gated BOOLEAN NOT NULL);
	     INSERT INTO test_steer_$task VALUES (0, FALSE);
	     CREATE OR REPLACE VIEW test_candidates_$task AS
	       SELECT l.loan_id, l.line AS priority
	         FROM test_loan_$task AS l CROSS JOIN test_steer_$task AS s
	        WHERE SHA2(REPEAT(CONCAT('loan ', l.loan_id), s.rounds), 512) <> ''
	          AND (NOT s.gated
	               OR GET_LOCK('test gate $task', $patience) +
	               RELEASE_LOCK('test gate $task') > 0)"
}

forget_steered() {
	forget_task "$1"
	sql "DROP TABLE IF EXISTS test_steer_$1"
}

# steer TASK HOW: sets what the task's next query does. light: next to nothing. heavy: real work for
# minutes, with 6000 loans. gated: it ends when the gate is opened. While a query waits for the
# gate, the server looks whether the client is gone, so where the leader dies only heavy will do.
steer() {
	local rounds=0 gated=FALSE
	case $2 in
	heavy) rounds=1000000 ;;
	gated) gated=TRUE ;;
	esac
	sql "UPDATE test_steer_$1 SET rounds = $rounds, gated = $gated"
}

# One session keeps the gates shut.
open_gatekeeper() {
	coproc gatekeeper {
		exec "$top/scripts/sandbox" mysql --batch --skip-column-names --unbuffered
	}
}
# gatekeeper_gives STATEMENTS: runs them in the session of the gatekeeper. They give one row: 1.
gatekeeper_gives() {
	local answer=''
	# shellcheck disable=SC2154 # made by coproc
	echo "$1" >&"${gatekeeper[1]}"
	if ! read -r -t "$patience" answer <&"${gatekeeper[0]}" || [ "$answer" != 1 ]; then
		ok 1 "the gatekeeper runs $1, which gives '$answer'"
	fi
}
# gatekeeper_says STATEMENTS: which give nothing.
gatekeeper_says() {
	gatekeeper_gives "$1 SELECT 1;"
}
gatekeeper_does() {
	gatekeeper_gives "SELECT $1;"
}
shut_gate() {
	gatekeeper_does "GET_LOCK('test gate $1', $patience)"
}
open_gate() {
	gatekeeper_does "RELEASE_LOCK('test gate $1')"
}

# start NAME COMMAND…: runs it in the background; its process id is in process[NAME].
start() {
	local name=$1
	shift
	"$@" >"$scratch/$name.out" 2>"$scratch/$name.err" </dev/null &
	process[$name]=$!
}

# end NAME: waits until it has ended by itself; leaves status, out and err as run does.
end() {
	wait_for has_ended "$1" || kill -KILL "${process[$1]}" 2>/dev/null
	status=0
	wait "${process[$1]}" 2>/dev/null || status=$?
	# shellcheck disable=SC2034 # for the test that called
	out=$(cat "$scratch/$1.out")
	# shellcheck disable=SC2034
	err=$(cat "$scratch/$1.err")
}

has_ended() {
	! kill -0 "${process[$1]}" 2>/dev/null
}

# end_hard NAME: kill -9.
end_hard() {
	kill -KILL "${process[$1]}"
	wait "${process[$1]}" 2>/dev/null
}

end_all() {
	local pid
	[ -z "${gatekeeper_PID-}" ] || kill "$gatekeeper_PID"
	for pid in "${process[@]}"; do
		kill -KILL "$pid" 2>/dev/null
	done
	wait
}

# await_holder TASK USER: waits until USER leads the task; -: until nobody does.
await_holder() {
	await "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
	       SELECT COALESCE(MAX(holder), '-') FROM task_lock WHERE task_id = $1" "$2"
}

# await_leader TASK USER: waits until USER leads the task and its query runs.
await_leader() {
	await_holder "$1" "$2" && await "SELECT $(queries "$1") > 0" 1
}

# follows NAME: an expression, how many connections of the program wait for a leader's commit.
follows() {
	printf "(SELECT COUNT(*) FROM performance_schema.session_connect_attrs AS a
	          JOIN performance_schema.threads AS t ON t.processlist_id = a.processlist_id
	         WHERE a.attr_name = '_pid' AND a.attr_value = '%d'
	           AND %s)" "${process[$1]}" "$(runs_text '%FOR SHARE%')"
}

# queries TASK: an expression, how many of its queries the server runs.
queries() {
	printf "(SELECT COUNT(*) FROM performance_schema.threads AS t
	          WHERE %s
	            AND processlist_command IN ('Query', 'Execute')
	            AND processlist_id <> CONNECTION_ID())" "$(runs_text "%test_candidates_$1%")"
}

# connections NAME: an expression, how many the program has.
connections() {
	printf "(SELECT COUNT(*) FROM performance_schema.session_connect_attrs
	          WHERE attr_name = '_pid' AND attr_value = '%d')" "${process[$1]}"
}

# last_request USER TASK: the number of the user's newest request.
last_request() {
	sql "SELECT COALESCE(MAX(r.request_id), 0)
	       FROM work_requested AS r JOIN app_user AS u ON u.user_id = r.user_id
	      WHERE u.name = '$1' AND r.task_id = $2"
}

# await_request USER TASK [ABOVE]: waits until the user has a pending request, with a number over
# ABOVE.
await_request() {
	await "SELECT COUNT(*) FROM work_requested AS r JOIN app_user AS u ON u.user_id = r.user_id
	        WHERE u.name = '$1' AND r.task_id = $2 AND r.outcome = 'pending'
	          AND r.request_id > ${3-0}" 1
}

# request_is REQUEST: prints "outcome asked assigned", and how many loans the log has for it.
request_is() {
	sql "SELECT CONCAT_WS(' ', outcome, asked, assigned,
	       (SELECT COUNT(*) FROM work_log AS l WHERE l.request_id = r.request_id))
	       FROM work_requested AS r WHERE request_id = $1"
}
