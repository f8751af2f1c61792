# The table of README.md: about ten rows that a user understands. A figure that was not measured has
# no row. Input: all results.
include "markdown";

def by_key: [.measures[]] | map({ (.key): . }) | add // {};

# The case that has a goal. A short run does not have that one: then its largest.
def burst_case:
	[.measures[].key
		| capture("^burst[.](?<s>[0-9]+)[.](?<n>[0-9]+)[.]lockq[.]queries$")] as $all
	| first(($all[] | select(.s == "3" and .n == "50")), $all[-1]);

def burst_rows:
	by_key as $of | burst_case as $c
	| def lockq($what): $of["burst.\($c.s).\($c.n).lockq.\($what)"];
	def own($what): $of["burst.\($c.s).\($c.n).own.\($what)"];
	def times($what): own("\($what)_ratio");
	def beside($what):
		if own($what) == null then "not run"
		elif times($what) == null then own($what) | amount
		else "\(own($what) | amount): \(times($what) | amount) as much" end;
	["\($c.n) people ask while a query of \($c.s) s runs: how often the query runs",
		(lockq("queries") | amount),
		if own("queries") then "\(own("queries") | amount): each person runs it"
			else "not run" end,
		(lockq("queries") | goal)],
	["… CPU time of the server", (lockq("cpu") | amount), beside("cpu"),
		(times("cpu") // {} | goal)],
	["… until the last person has loans", (lockq("last") | amount), beside("last"),
		(times("last") // {} | goal)];

def wake_rows:
	by_key as $of
	| ([.measures[].key | capture("^wake[.](?<n>[0-9]+)[.]p99$").n][1] // empty)
	| ["\(.) people wait for the same query: from the commit until 99 of 100 programs have "
			+ "printed their loans",
		($of["wake.\(.).p99"] | amount),
		"\($of["wake.\(.).bare.p99"] | amount): programs that only wait for a row lock",
		($of["wake.\(.).p99"] | goal)];

def assign_rows:
	[.measures[] | select(.key | test("^assign[.][0-9]+[.]ms$"))][-1]
	| ["\(.key | split(".")[1] | with_commas) people wait for 5 loans each: from the end of "
			+ "the query until all have them", amount, "", goal];

# times_row(KEY; TEXT; HOW; BESIDE)
def times_row($key; $text; $how; $beside):
	by_key[$key] | select(. != null) | [$text, "\(amount) as \($how)", $beside, goal];

def one_rows:
	by_key as $of
	| times_row("one.ratio.bare"; "one whole `getwork` with a light query"; "long";
		"a program that connects and sends the fewest statements for one loan")
	| if $of["one.getwork.wall"] and $of["one.bare.wall"] then
		.[1] |= "\($of["one.getwork.wall"] | amount), \(.)"
		| .[2] |= "\($of["one.bare.wall"] | amount): \(.)"
	else . end;

def scale_rows:
	[.measures[].key | capture("^loans[.](?<n>[0-9]+)[.]p50$").n | with_commas] as $sizes
	| times_row("loans.growth";
		"one request with a light query, \($sizes[-1]) loans in the tables"; "long";
		"\($sizes[0]) loans in the tables");

def warm_rows:
	by_key as $of
	| (.settings.figure) as $set
	| ["\($set.users) people ask again and again while lists are filled behind them by a query of "
			+ "\($set.query) s: a whole `getwork`, median",
		($of["warm.p50"] | amount),
		"\($of["warm.first.p50"] | amount): those who waited for the first list",
		($of["warm.p50"] | goal)],
	["… 99 of 100 within", ($of["warm.p99"] | amount), ($of["warm.first.p99"] | amount),
		($of["warm.p99"] | goal)];

# A goal is missed if it is with one of these numbers of workers.
def peers_row($count; $text):
	[.measures[] | select(.key | test("^peers[.]ratiokept[.]\($count)[.][0-9]+$"))]
	| select(length > 0)
	| ["loans per second from a kept list, \(map(.key | split(".")[3]) | join(", ")) workers "
			+ "that take \($text) at a time",
		"\(map(.value | number) | join(", ")) times as many",
		"jobs per second of the best of the other job queues",
		(.[0] + { missed: (map(.missed) | any) } | goal)];
def peers_rows: peers_row(1; "one"), peers_row(5; "five");

def throughput_rows:
	by_key["many.to_commits"] as $m
	| times_row("many.to_commits"; "requests per second, \($m.text | split(":")[0])"; "many";
		"rows per second that plain `INSERT` statements commit");

def twice_row:
	[.[].measures[]
		| select(.key
			| test("^(burst[.].*[.]lockq[.]twice|wrong|peers[.]lockq.*[.]twice)$"))]
	| select(length > 0) | (map(.value) | add) as $sum
	| ["loans given twice, in all these runs", ($sum | number), "",
		"0" + if $sum > 0 then ", **missed**" else "" end];

measured
| (["", "lockq", "compared with", "goal"] | head),
  ((of("burst") | burst_rows), (of("warm") | warm_rows), (of("wake") | wake_rows),
	(of("assign") | assign_rows), (of("one") | one_rows), (of("scale") | scale_rows),
	(of("peers") | peers_rows), (of("throughput") | throughput_rows), twice_row | row),
  "",
  "Measured on \(days) on \(min_by(.at) | hardware), at commit \(min_by(.at).versions.commit)."
