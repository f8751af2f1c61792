# Says in words what happened in one race of the tour. The input is {events, figures}.

def seconds: . / 10 | round / 100 | "\(.) s";
def words: if length < 2 then join("") else (.[:-1] | join(", ")) + " and " + .[-1] end;
def of($event): [.events[] | select(.event == $event)];
def number($one; $many): if . == 1 then "1 \($one)" else "\(.) \($many)" end;
def people: of("asked") | length | number("person"; "people");
def queries: .figures.heavy_queries | number("heavy query"; "heavy queries");

# The loans that were given to several users, with these users.
def twice:
	[of("served")[] | .user as $user | .detail / " " | .[] | {loan: ., $user}] |
	[group_by(.loan)[] | select(length > 1) | {loan: .[0].loan, users: map(.user)}];

# The most people who ran the query at the same time.
def at_once:
	[of("leads")[] | {ms, step: 1}] + [of("queried")[] | {ms, step: -1}] | sort_by(.ms, .step) |
	[foreach .[] as $each (0; . + $each.step; .)] | max // 0;

def cost: "\(queries) ran for \(people), and the last one was served after \(
	.figures.last_ms // 0 | seconds).";

def given_twice:
	"Loans given twice: \(.figures.given_twice)." + (twice[0] as $first |
		if $first then " Loan \($first.loan) went to \($first.users | words)." else "" end);

def naive:
	given_twice,
	if .figures.given_twice > 0 and .figures.errors == 0 then
		"Nobody got an error. Each of them believes that the loans are theirs."
	elif .figures.given_twice == 0 then
		"That was luck, since nothing kept them apart."
	else empty end;

def flag_check:
	given_twice,
	if at_once > 1 then
		"\(at_once) people had set the same flag at the same time: " +
		"each had read 'free'."
	else "This time nobody came in between the reading and the writing. That was luck." end;

def unique:
	given_twice,
	cost,
	if .figures.retries > 0 then
		(of("retry") | map(.user) | unique | words) +
		" lost too many loans of the list to others, and ran the query again."
	else empty end;

def forupdate: given_twice, cost;

def nowait:
	given_twice,
	"\(of("served") | map(.user) | words) got loans. " +
		"\(of("error") | length) of \(people) got an error:",
	(of("error")[:1][] | "    \(.detail)");

# The user that was killed or stopped, and the user that led next.
def harmed($how): of($how)[0];
def next_leader($harmed): [of("leads")[] | select(.ms > $harmed.ms and .user != $harmed.user)][0];

def forupdate_kill:
	harmed("killed") as $dead |
	if $dead then
		next_leader($dead) as $next |
		"\($dead.user) was killed after \($dead.ms | seconds), " +
		"in the middle of the query." +
		if $next then " \($next.user) got the row \(
			$next.ms - $dead.ms | seconds) later, and nobody had to clean up."
		else "" end
	else "Nobody was killed: the query was over too soon." end,
	given_twice;

def still: "\(.user) stood still from \(.ms | seconds)";

def lease_no_token:
	harmed("paused") as $asleep | harmed("resumed") as $awake |
	if $asleep and $awake then
		next_leader($asleep) as $next |
		($asleep | still) + " to \($awake.ms | seconds)." +
		if $next then " The lease ran out, and \($next.user) got it \(
			$next.ms - $asleep.ms | seconds) after the stop." else "" end
	else "Nobody was stopped: the query was over too soon." end,
	given_twice,
	if .figures.given_twice > 0 then
		"\($asleep.user) woke up, did not know that time had passed, " +
		"and wrote the loans down."
	else empty end;

def lease:
	harmed("paused") as $asleep |
	[of("retry")[] | select($asleep and .user == $asleep.user)][0] as $refused |
	if $asleep then ($asleep | still) + ", as before."
	else "Nobody was stopped: the query was over too soon." end,
	if $refused then
		"Then the database refused \($asleep.user)'s write: \($refused.detail)."
	else empty end,
	given_twice;

def deadlock:
	(of("retry") | map(select(.detail | test("1213"))))[0] as $loser |
	"Deadlocks: \(.figures.deadlocks)." +
	if $loser then " The server saw the circle and rolled \($loser.user)'s transaction back."
	else "" end,
	given_twice;

def lockq:
	given_twice,
	"\(queries) for \(people): \(of("leads") | map(.user) | words) led. " +
		"The last one was served after \(.figures.last_ms // 0 | seconds).";

def lockq_kill:
	harmed("killed") as $dead |
	if $dead then
		next_leader($dead) as $next |
		"\($dead.user) led, and was killed after \($dead.ms | seconds)." +
		if $next then " \($next.user) led \($next.ms - $dead.ms | seconds) later." else
			" But the query was over too soon, so it served the others, too." end
	else "Nobody was killed: the query was over too soon." end,
	given_twice,
	"\(queries) ran, and \(.figures.served) of \(people) were served.";

# --- the second part ----------------------------------------------------------------------------

def capital: (.[:1] | ascii_upcase) + .[1:];

# promise: what the pattern counts, with the isolation level where that matters.
def promise:
	"\(.figures.violation | capital): \(.figures.violations)." +
		if .figures.isolation then
			" Isolation level: \(.figures.isolation)."
		else "" end,
	if .figures.heavy_queries > 0 then
		"\(queries) ran, and \(.figures.served) of \(people) got loans."
	elif .figures.errors > 0 then
		"\(.figures.served) of \(people) were served, \(.figures.errors) got an error:",
		(of("error")[:1][] | "    \(.detail)")
	else "\(.figures.served) of \(people) were served." end;

# also: the same of another race, in one line.
def also:
	"  \(.figures.name): \(.figures.violation): \(.figures.violations)" +
	(.figures | [if .errors > 0 then (.errors | number("error"; "errors")) else empty end,
		if .deadlocks > 0 then (.deadlocks | number("deadlock"; "deadlocks"))
		elif .retries > 0 then (.retries | number("retry"; "retries")) else empty end,
		if .isolation then .isolation else empty end] |
		if . == [] then "" else ", " + join(", ") end);

# --- all patterns side by side: input is an array of figures ------------------------------------

def names(condition): map(select(condition) | .name) | if . == [] then "none" else join(", ") end;

def comparison:
	"Gave a loan to two people: \(names(.given_twice > 0))",
	"Told somebody to come back: \(names(.errors + .empty > 0))",
	"Ran one query for each, or more: \(names(.heavy_queries >= .shells))",
	"One query, nothing twice, all served: \(
		names(.heavy_queries == 1 and .given_twice == 0 and .served == .shells))";
