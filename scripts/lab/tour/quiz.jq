# The questions of the quiz, and what the races must show. Each answer is a sentence of
# lockq-patterns(7), word for word.
#   ask      the question
#   choices  three answers, of which `right` (from 0) is right
#   says     the sentence, and `of` the section that has it
#   race     the arguments of scripts/race that show it
# seen($n): the input has the figures of these races by name. `holds` is whether they show it, and
# `text` says what they show.

def questions: [
	{
		ask: "Two clerks must never have the same loan. What holds even if a program forgets to lock?",
		choices: ["A lock that everybody takes first",
			"A unique key over the loan",
			"A unique key over the loan and the clerk"],
		right: 1,
		says: "The key holds whatever else goes wrong: a program that somebody forgot, a lock that was lost.",
		of: "WHICH PATTERN WHEN",
		race: "naive unique:both unique --shells 4"
	}, {
		ask: "Many people need the result of one heavy query. Somebody finds the lock taken. What should that process wait for?",
		choices: ["For the lock, to run the query then",
			"For nothing: it should come again later",
			"For the result of the process that has the lock"],
		right: 2,
		says: "A process that finds it taken waits for the result, and not in order to do the same again.",
		of: "WHICH PATTERN WHEN",
		race: "forupdate nowait lockq --shells 4"
	}, {
		ask: "A queue is read with SKIP LOCKED, and yet one process gets every row of it. Why?",
		choices: ["There is no index in the order of the ORDER BY",
			"SKIP LOCKED needs SERIALIZABLE",
			"The LIMIT is missing"],
		right: 0,
		says: "A locking statement that has to sort keeps the locks of all that it sorts.",
		of: "GRANULARITY AND ESCALATION",
		race: "skiplocked:no-index skiplocked --shells 4"
	}, {
		ask: "A lease has run out. Its holder was asleep, wakes up and writes. What stops it?",
		choices: ["The end of the lease",
			"A cleaner that frees old leases",
			"The database, which compares a token"],
		right: 2,
		says: "The database that the holder writes to compares the token.",
		of: "WHICH PATTERN WHEN",
		race: "lease:no-token lease --shells 2 --pause"
	}, {
		ask: "Two transactions take the same two locks, in different orders. What happens at worst?",
		choices: ["Both wait for ever",
			"The server ends one of them with an error",
			"Both get the locks"],
		right: 1,
		says: "So two transactions that take the same two locks in different orders may wait for each other: a deadlock, which the server ends with error 1213 for one of them.",
		of: "THE ORDER OF LOCKS AND OF TIMEOUTS",
		race: "deadlock deadlock:ordered --shells 2"
	}, {
		ask: "Each of two clerks sees that two are on duty, and both leave. What is this called?",
		choices: ["A lost update", "A dirty read", "Write skew"],
		right: 2,
		says: "Each of them counts two, and both leave: this is called write skew, since each of the two writes another row than the one that it relied on.",
		of: "WHICH PATTERN WHEN",
		race: "duty duty:forupdate --shells 4"
	}, {
		ask: "What is a phantom?",
		choices: ["A row that a second look shows and the first one did not",
			"A lock whose holder has died",
			"A row that was read before its COMMIT"],
		right: 0,
		says: "A row that the first look did not show and the second one shows is called a phantom.",
		of: "WHICH PATTERN WHEN",
		race: "range:read-committed range --shells 3"
	}, {
		ask: "What does SERIALIZABLE make of write skew in InnoDB?",
		choices: ["Both transactions run one after the other, and nobody notices",
			"A deadlock: one transaction must be done again",
			"The second COMMIT fails"],
		right: 1,
		says: "So lost updates and write skew end as a deadlock: one transaction gets error 1213 and must be done again.",
		of: "ISOLATION LEVELS",
		race: "cap cap:serializable --shells 5"
	}, {
		ask: "A client did not get its answer and asks again. How does the server know that it is the same request?",
		choices: ["By a number that the server makes",
			"By the user and the time",
			"By a key that the client made before its first try"],
		right: 2,
		says: "The client makes it before its first try, so the second try has the same one.",
		of: "WHICH PATTERN WHEN",
		race: "idempotent:no-key idempotent --shells 3"
	}, {
		ask: "A letter must go out for each change that is committed, and for no other one. When is it safe to send it?",
		choices: ["Just before the COMMIT",
			"Just after the COMMIT",
			"Later, from a row that the same transaction wrote"],
		right: 2,
		says: "The event is a row that is written in the transaction of the change.",
		of: "WHICH PATTERN WHEN",
		race: "outbox:before outbox:after outbox --shells 3"
	}, {
		ask: "A leader of lockq dies in the middle of its query. When can the next one lead?",
		choices: ["Within milliseconds", "When the query has ended",
			"When its lease has run out"],
		right: 0,
		says: "The lock is free in milliseconds, and the next leader ends the query that was left behind (end_orphan() in lib/list/orphan.c).",
		of: "A REVIEW CHECKLIST",
		race: "seeds lockq --shells 4 --kill"
	}
];

def count($one; $many): if . == 1 then "1 \($one)" else "\(.) \($many)" end;
def twice($name): "\($name) gave \(.[$name].violations | count("loan"; "loans")) to two people";
def broken($name): "\($name): \(.[$name].violation): \(.[$name].violations)";

# only($bad; $good): $bad broke its promise, and $good did not.
def only($bad; $good): .[$bad].violations > 0 and .[$good].violations == 0;

def seen($n):
	if $n == 1 then {
		holds: (only("naive"; "unique") and only("unique:both"; "unique")),
		text: "\(twice("naive")), \(twice("unique:both")), \(twice("unique"))."
	} elif $n == 2 then {
		holds: (.forupdate.heavy_queries > .lockq.heavy_queries and
			.lockq.served == .lockq.shells and .nowait.errors > 0),
		text: "forupdate ran \(.forupdate.heavy_queries | count("query"; "queries")) for \(
			.forupdate.shells) people, lockq \(.lockq.heavy_queries), and nowait sent \(
			.nowait.errors) away."
	} elif $n == 3 then {
		holds: (.["skiplocked:no-index"].retries > 0 and .skiplocked.retries == 0),
		text: "People found every row locked: \(.["skiplocked:no-index"].retries | count("time";
			"times")) without the index, \(.skiplocked.retries) with it."
	} elif $n == 4 then {
		holds: (only("lease:no-token"; "lease") and .lease.retries > 0),
		text: "\(twice("lease:no-token")), \(twice("lease")): the one who slept had to begin again."
	} elif $n == 5 then {
		holds: (.deadlock.deadlocks > 0 and .["deadlock:ordered"].deadlocks == 0),
		text: "\(.deadlock.deadlocks | count("deadlock"; "deadlocks")) in two orders, \(
			.["deadlock:ordered"].deadlocks) in one."
	} elif $n == 6 then {
		holds: only("duty"; "duty:forupdate"),
		text: "\(broken("duty")); \(broken("duty:forupdate"))."
	} elif $n == 7 then {
		holds: only("range:read-committed"; "range"),
		text: "\(broken("range:read-committed")); \(broken("range"))."
	} elif $n == 8 then {
		holds: (only("cap"; "cap:serializable") and .["cap:serializable"].deadlocks > 0),
		text: "\(broken("cap")); \(broken("cap:serializable")), with \(
			.["cap:serializable"].deadlocks | count("deadlock"; "deadlocks"))."
	} elif $n == 9 then {
		holds: only("idempotent:no-key"; "idempotent"),
		text: "\(broken("idempotent:no-key")); \(broken("idempotent"))."
	} elif $n == 10 then {
		holds: (only("outbox:before"; "outbox") and only("outbox:after"; "outbox")),
		text: "\(broken("outbox:before")); outbox:after: \(.["outbox:after"].violations
			); outbox: \(.outbox.violations)."
	} else {
		holds: (only("seeds"; "lockq") and .lockq.killed == 1 and
			.lockq.served == .lockq.shells - 1),
		text: "One of \(.lockq.shells) was killed. lockq served the other \(.lockq.served
			); seeds, whose row stays locked until the query has ended, served \(.seeds.served)."
	} end;
