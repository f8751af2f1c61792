# The second part of the tour, acts 4 to 6: the plain algorithm, rules over several rows, and what
# outlives a transaction. Sourced by scripts/tour.
# shellcheck shell=bash disable=SC2154 # $seconds, $lab and so on are those of scripts/tour

# also PATTERN [OPTION…]: races unseen, and sets $also to what came of it, in words.
also() {
	local figures
	quietly "$@"
	also=$(jq -r -L "$lab/tour" 'include "outcomes"; {figures: .} | also' <<<"$figures")
}

# pair BROKEN RIGHT [OPTION…]: shows the race of a pattern that breaks its promise, and sets $also
# to what comes of the one that keeps it.
pair() {
	local broken=$1 right=$2
	shift 2
	pause 'run it'
	run "$broken" "$@"
	also "$right" "$@"
}

# --- act 4 --------------------------------------------------------------------------------------

act_4() {
	act 4 3 'Written down first'

	step 'The plain algorithm' <<'END_OF_TEXT'
Everybody writes a request down, then tries the row of the task. The process
that gets the row runs the query, reads the requests and gives out the loans.
The others look at their request now and then. This looks right.
END_OF_TEXT
	code seeds lead read_requests
	pause 'run it'
	run seeds --shells 4
	tell promise <<'END_OF_TEXT'
One query served all that the leader read. But the last person came after it had
read, and before its COMMIT: the row was locked, and nobody read the requests
again. In lockq the leader looks once more after each COMMIT.
END_OF_TEXT
	pause

	step 'What the leader sees' <<'END_OF_TEXT'
MySQL's own isolation level is REPEATABLE READ. A transaction sees the rows as
they were at its first read. The leader's first read comes before the query.
END_OF_TEXT
	code seeds ask
	pause 'run it'
	run seeds:repeatable-read --shells 4
	also seeds:foreign-key --shells 4
	tell promise <<END_OF_TEXT
So the leader did not see requests that came during the query. lockq reads them
after the query, at READ COMMITTED, under a lock. And if a request refers to
the locked row by a foreign key (seeds:foreign-key), it can't even be written:
${also}
END_OF_TEXT
	pause

	step 'The plain leader dies' <<'END_OF_TEXT'
The leader is killed in the middle of its query. The others only look at their
own requests, and nobody tries the row again.
END_OF_TEXT
	code seeds follow
	pause 'run it'
	run seeds --shells 4 --kill --query-seconds "$(long_enough)"
	also seeds:two-connections --shells 4 --kill --query-seconds "$(long_enough)"
	tell promise <<END_OF_TEXT
In lockq a person whose request is still pending tries to lead. And the query
runs on a second connection, so the lock ends at once (seeds:two-connections):
${also}
END_OF_TEXT
	pause
}

# A shorter query would be over before anybody could be killed.
long_enough() {
	awk "BEGIN { print $seconds < 0.6 ? 0.6 : $seconds }"
}

# --- act 5 --------------------------------------------------------------------------------------

act_5() {
	act 5 3 'Rules over several rows'

	step 'At most three' <<'END_OF_TEXT'
At most three loans of a branch may be at work. Everybody counts, and begins
where there is a place. Each person writes a row of their own.
END_OF_TEXT
	code cap find_place
	pair cap cap:serializable --shells 6
	tell promise <<END_OF_TEXT
They counted at the same time. REPEATABLE READ, in which this ran, doesn't help:
no two write the same row. At SERIALIZABLE the count locks what it read:
${also}
END_OF_TEXT
	also cap:counter --shells 6
	put <<END_OF_TEXT
And a column that is raised where it is below three needs no wait (cap:counter):
${also}
END_OF_TEXT
	pause

	step 'One of two must stay' <<'END_OF_TEXT'
Two people are on duty, and one of them must stay. Each one sees two, and
leaves. Nothing conflicts, since each one changes a row of their own. This is
called write skew.
END_OF_TEXT
	code duty count_people
	pair duty duty:forupdate --shells 4
	tell promise <<END_OF_TEXT
The answer is to lock what the decision rests on, not only what is written:
SELECT ... FOR UPDATE on the rows of both (duty:forupdate).
${also}
END_OF_TEXT
	pause

	step 'A range' <<'END_OF_TEXT'
One person reads the rows of a range with FOR UPDATE, and works on them. The
others insert rows, inside the range and outside. A row that comes into it is
called a phantom.
END_OF_TEXT
	code range look
	pair range:read-committed range --shells 5
	tell promise <<END_OF_TEXT
READ COMMITTED locks the rows that are there. REPEATABLE READ locks the gaps
between them, too, and so INSERTs wait, some of them outside the range:
${also}
END_OF_TEXT
	pause
}

# --- act 6 --------------------------------------------------------------------------------------

act_6() {
	act 6 5 'What outlives a transaction'
	asked_twice
	reserved
	long_work
	told_outside
	two_databases
}

asked_twice() {
	step 'Asked twice' <<'END_OF_TEXT'
The answer to a request is lost, so the program asks again. A key, made by the
program before its first try, tells that it is the same request.
END_OF_TEXT
	code idempotent request
	pair idempotent:no-key idempotent --shells 4
	tell promise <<END_OF_TEXT
Without a key the second request is another one. With it (idempotent):
${also}
lockq's requests have a UUID for this.
END_OF_TEXT
	pause
}

reserved() {
	step 'Reserved, and confirmed too late' <<'END_OF_TEXT'
A person reserves a loan for a moment, and confirms. Half of them are slow, and
the loan has gone to somebody else by then.
END_OF_TEXT
	code reserve confirm
	pair reserve:unchecked reserve --shells 4
	tell promise <<END_OF_TEXT
The lower half names the person, the state and the time in one UPDATE (reserve):
${also}
The late ones are told that they are too late.
END_OF_TEXT
	pause
}

long_work() {
	step 'Work that takes long' <<'END_OF_TEXT'
Somebody works on a loan for minutes, and a manager wants to write a note on it.
The row is locked for as long as the work takes, or it is claimed.
END_OF_TEXT
	code longwork take
	pair longwork:locked longwork --shells 3 --count 1
	tell promise <<END_OF_TEXT
Claim, work, finish, with a token and no lock in between (longwork):
${also}
In lockq nobody holds a lock while a person works.
END_OF_TEXT
	pause
}

told_outside() {
	step 'Tell another system' <<'END_OF_TEXT'
Another system must hear of each change. If a process commits and then tells,
it may die in between. So the event is a row of the same transaction.
END_OF_TEXT
	code outbox ask
	pair outbox:after outbox --shells 4
	tell promise <<END_OF_TEXT
With the outbox a publisher may die, too, and the next one goes on (outbox):
${also}
lockq's outbox is work_log, and lockqstat --follow publishes it.
END_OF_TEXT
	pause
}

two_databases() {
	step 'Two databases' <<'END_OF_TEXT'
A loan is taken in one database, and booked in another one. No transaction
spans the two. A saga writes each step down, and takes back what can't be ended.
END_OF_TEXT
	code saga go_on
	pair saga:hope saga --shells 4
	tell promise <<END_OF_TEXT
With the steps written down, somebody else can finish them (saga):
${also}
END_OF_TEXT
	pause
}
