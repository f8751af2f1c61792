# The first part of the tour, acts 1 to 3: people ask for loans at the same moment. Sourced by
# scripts/tour.
# shellcheck shell=bash disable=SC2154 # $seconds, $scratch and so on are those of scripts/tour
# shellcheck disable=SC2034 # pages.sh and races.sh use $look

# --- act 1 --------------------------------------------------------------------------------------

act_1() {
	act 1 3 'Two people, one loan'

	step 'Ask, then write it down' <<'END_OF_TEXT'
This is the simplest way: find the next loans, then write down whose they are.
Four people do so at the same moment. find_loans runs the heavy query.
END_OF_TEXT
	code naive ask
	pause 'run it'
	run naive --shells 4
	tell naive <<'END_OF_TEXT'
Between one person's query and INSERT everybody else runs the same query and
finds the same loans. The longer the query takes, the more surely this happens.
END_OF_TEXT
	pause

	step 'Look at a flag, then set it' <<'END_OF_TEXT'
Many applications keep a column lock_status. A process that finds it 'free' sets
it to 'locked', and works. This race is flag:check, the upper half: it reads the
flag, and writes it in the next statement.
END_OF_TEXT
	code flag set_flag
	pause 'run it'
	run flag:check --shells 5
	tell flag_check <<'END_OF_TEXT'
Reading and writing are two statements, and others come in between. The lower
half puts them into one: UPDATE ... WHERE lock_status = 'free'. If two try, the
second one changes no row. But who frees the flag of a process that died?
END_OF_TEXT
	pause

	step 'The key decides' <<'END_OF_TEXT'
Now the loan is the primary key of the table. Everybody asks for more loans than
they need, and tries one after the other. Error 1062 means that somebody has it.
END_OF_TEXT
	code unique tables row
	pause 'run it'
	run unique --shells 4
	show_conflict
	tell unique <<'END_OF_TEXT'
A key holds whatever else goes wrong, so lockq has one, too. But it decides only
after everybody has run the heavy query: rule 1 holds, rule 2 does not.
END_OF_TEXT
	pause
}

# Shows what the server says when a second person tries the loan of the first.
show_conflict() {
	local loan other
	read -r loan other < <(jq -r '[.events[] | select(.event == "served")] |
		"\(.[0].detail / " " | .[0]) \(.[1].user)"' <<<"$outcome")
	room 4
	put <<<''
	put <<<"Now $other tries the first one's loan:"
	put "$colour" <<<"	INSERT INTO given VALUES ($loan, '$other')"
	ask "INSERT INTO given VALUES ($loan, '$other')"
	answer=${answer/ at line [0-9]*:/:}
	put <<<"	${answer:-the row is written, since there is no key}"
}

# --- act 2 --------------------------------------------------------------------------------------

act_2() {
	act 2 6 'Waiting in line'
	in_line
	not_waiting
	dead_owner
	sleeping_owner
	circle
}

in_line() {
	step 'A row to lock' <<'END_OF_TEXT'
One row stands for the task. SELECT ... FOR UPDATE locks it until COMMIT, and
the next person waits in that statement. Meanwhile we ask the server who has
which lock. X is an exclusive lock, and REC_NOT_GAP means only the row.
END_OF_TEXT
	code forupdate ask
	put <<<''
	put "$faint" <<<'What we ask meanwhile:'
	sed '1d; s/^/\t/' <<<"$locks" | put "$colour"
	pause 'run it'
	look=look_at_locks
	run forupdate --shells 3
	tell forupdate <<'END_OF_TEXT'
Nobody gets another's loan. But each person who comes to the head of the line
runs the query again. With a query of a minute all but the first one give up
after 50 s of waiting, with error 1205.
END_OF_TEXT
	pause
}

not_waiting() {
	step "Don't wait" <<'END_OF_TEXT'
With NOWAIT a person who finds the row locked gets an error at once.
END_OF_TEXT
	code nowait ask
	pause 'run it'
	run nowait --shells 4
	tell nowait <<'END_OF_TEXT'
There is no line, but there are no loans either. They must come again, and the
next lucky one runs the query again. But remember the idea: a process can find
out that a row is locked, and do something other than wait.
END_OF_TEXT
	pause
}

dead_owner() {
	step 'The owner dies' <<'END_OF_TEXT'
This is the row lock again, with three people. The process that has the row is
killed with kill -9 in the middle of its query. A flag in a column would stay
'locked'. A row lock belongs to the connection.
END_OF_TEXT
	code forupdate ask
	pause 'run it'
	run forupdate --shells 3 --kill
	tell forupdate_kill <<'END_OF_TEXT'
The server rolled the transaction back and freed its lock. So there are no
half-written loans, and no cleaner is needed. (While a query runs, the server
does not notice that its client is gone. It notices when the query ends.)
END_OF_TEXT
	pause
}

sleeping_owner() {
	local sleep
	sleep=$(awk "BEGIN { print 3 * $seconds + 2 }")
	step 'The owner sleeps' <<'END_OF_TEXT'
A process may also stand still: a laptop is closed, a machine swaps. So the lock
gets a time limit, a lease. Here are two people. The owner is stopped in the
middle of the query for longer than the lease, and then goes on.
END_OF_TEXT
	code lease take_lease
	pause 'run it'
	run lease:no-token --shells 2 "--pause=$sleep"
	tell lease_no_token <<'END_OF_TEXT'
A time limit tells the others when they may go on. It tells nothing to the
person who slept. No lock with a time limit is safe by itself.
END_OF_TEXT
	pause

	step 'A number that grows' <<'END_OF_TEXT'
Each lease has a number, one more than the last. It is called a fencing token.
Before it writes, the owner asks whether its token is still the newest, and
keeps that row locked until COMMIT.
END_OF_TEXT
	code lease token_is_newest
	put "$faint" <<<'and its use:'
	awk '/^ask\(\)/ { inside = 1 } inside && /START TRANS/ { on = 1 } on { print }
		/ROLLBACK/ { on = 0 }' "$lab/lease" | put "$colour"
	pause 'run it'
	run lease --shells 2 "--pause=$sleep"
	tell lease <<'END_OF_TEXT'
The database itself refuses a process that comes too late. In lockq each leader
raises a number on the lock row, the epoch. Each loan keeps the epoch in which
it was given, as its token.
END_OF_TEXT
	pause
}

circle() {
	local figures
	step 'In a circle' <<'END_OF_TEXT'
Two people lock several loans, one row after the other. One of them begins at
the other end, so each waits for a row that the other one holds. (A process in
the background fills the queue of loans.)
END_OF_TEXT
	code deadlock lock_all
	pause 'run it'
	run deadlock --shells 2
	quietly deadlock:ordered --shells 2
	tell deadlock <<END_OF_TEXT
If both begin at one end (deadlock:ordered) there are $(jq .deadlocks <<<"$figures") deadlocks.
So lockq locks in one order everywhere, and is ready to do a transaction again.
END_OF_TEXT
	pause
}

# --- act 3 --------------------------------------------------------------------------------------

act_3() {
	act 3 3 'One leads, all are served'
	one_leads
	leader_dies
	compare
}

one_leads() {
	step "Don't wait for the lock: wait for the answer" <<'END_OF_TEXT'
lockq keeps one row per task in task_lock. Everybody first writes a request
down. Then each process tries to lock the row, and passes over a locked row:
END_OF_TEXT
	show_statement getwork/lock.c take_lock
	put <<<''
	put <<'END_OF_TEXT'
The process that gets the row leads: it runs the query once, for all who asked.
The others read the leader's name by a dirty read, since it is not committed.
END_OF_TEXT
	show_statement getwork/lock.c read_holder
	put <<<''
	put <<'END_OF_TEXT'
Then they wait for a second row until the leader commits, and find their loans.
END_OF_TEXT
	pause 'run it'
	look=look_at_leader
	run lockq --shells 3
	tell lockq <<'END_OF_TEXT'
The others did not wait to repeat the query, but to hear that it is done.
END_OF_TEXT
	pause
}

leader_dies() {
	local long
	step 'The leader dies' <<'END_OF_TEXT'
The leader is killed with kill -9 in the middle of its query. lockq has no
server of its own and no cleaner, so the others must find out themselves. They
wait for this row, which the leader has locked:
END_OF_TEXT
	show_statement getwork/wait.c wait_for_commit
	pause 'run it'
	# getwork says a quarter of a second late that it leads. A shorter query would be over then.
	long=$(awk "BEGIN { print $seconds < 1 ? 1 : $seconds }")
	run lockq --shells 4 --kill --query-seconds "$long"
	tell lockq_kill <<'END_OF_TEXT'
The lock ended with the connection. The others woke up, found their requests
still pending, and tried to lead. One got the row, and the rest followed again.
(The query runs on a second connection. So the first one is idle, and the server
sees its end at once.)
END_OF_TEXT
	pause
}

compare() {
	step 'All of them, side by side' <<'END_OF_TEXT'
Now each pattern serves eight people who ask at once. That takes a while, since
half of the patterns run eight heavy queries or more.

    safe         no loan goes to two people; * means: on a condition
    served       people who got loans
    broken       loans that went to two people or more
    queries      heavy queries that ran
    first, last  seconds until the first and the last person was served
    again        how often somebody had to begin again
    1213         how often a deadlock was the reason, which is error 1213
    errors       people who got an error, or were told that there is no work
END_OF_TEXT
	pause 'run them'
	page
	put "$bold" <<<"\$ scripts/race loans --query-seconds $seconds"
	compare_all
	words=$(jq -r -s -L "$lab/tour" 'include "outcomes"; comparison' "$scratch/all")
	room 12
	[ "$used" -eq 0 ] || put <<<''
	put "$bold" <<<'What happened:'
	put <<<"  ${words//$'\n'/$'\n'  }"
	put <<<''
	put <<'END_OF_TEXT'
If flag:check gave nothing twice it was lucky. lease:no-token is right as long
as nobody sleeps. In the last line, onemachine is right on one machine only, and
the job queues (skiplocked, deadlock) need a process that runs the query whether
or not anybody asks. lockq needs neither.
END_OF_TEXT
	pause
}

compare_all() {
	local from line
	: >"$scratch/all"
	table_head | put "$faint"
	exec {from}< <(exec setsid env --default-signal=INT "$top/scripts/race" loans --json \
		--query-seconds "$seconds")
	race=$!
	while IFS= read -r -u "$from" line; do
		printf '%s\n' "$line" >>"$scratch/all"
		table_row "$line" | put
	done
	finish_race
}
