# The tables of man/figures.md: a section for each figure. Input: all results.
include "markdown";

def value($key): (.[$key] // null) | number;
def goal_of: [.measures[] | { (.key): goal }] | add;

# Keys are burst.SECONDS.USERS.WAY.WHAT.
def burst:
	{ lockq: "lockq", own: "each runs the query",
	  line: "each waits for a lock, then runs the query",
	  claim: "`SKIP LOCKED`, query that groups",
	  rows: "`SKIP LOCKED`, query row by row" } as $names
	| (.measures | map({ (.key): .value }) | add) as $of
	| (["query", "people", "way", "queries run", "server CPU", "first has loans", "median",
		"last has loans"] | head),
	([(.measures[].key
		| capture("^(?<case>burst[.](?<s>[0-9]+)[.](?<n>[0-9]+)[.](?<way>[a-z]+))"
			+ "[.]queries$")),
	  (.not_run[].key
		| capture("^(?<case>burst[.](?<s>[0-9]+)[.](?<n>[0-9]+)[.](?<way>[a-z]+))$"))]
	| sort_by((.s | tonumber), (.n | tonumber),
		(.way as $way | ["lockq", "own", "line", "claim", "rows"] | index($way)))[]
	| .case as $case
	| ["\(.s) s", .n, $names[.way]] +
		if $of | has("\($case).queries") then
			[($of | value("\($case).queries"))] +
			[("cpu", "first", "median", "last") as $what
				| ($of | value("\($case).\($what)")) + " s"]
		else ["not run", "", "", "", ""] end | row);

# Keys are wake.WHO.PERCENTILE and wake.WHO.bare.PERCENTILE.
def wake:
	(.measures | map({ (.key): .value }) | add) as $of | goal_of as $goals
	| (["followers", "median", "99 of 100 within", "the same for programs that only wait for a "
		+ "row lock", "goal for 99 of 100"] | head),
	(.measures[] | .text as $text | .key | capture("^wake[.](?<who>[0-9]+|poll)[.]p50$")
		| .who as $who
		| [($text | sub(": median$"; "")), ($of | value("wake.\($who).p50")) + " ms",
			($of | value("wake.\($who).p99")) + " ms",
			if $of["wake.\($who).bare.p99"] then
				($of | value("wake.\($who).bare.p99")) + " ms" else "" end,
			($goals["wake.\($who).p99"] // "")] | row);

# Keys are warm.PHASE.WHAT.
def warm:
	(.measures | map({ (.key): .value }) | add) as $of
	| (["people", "asked", "median", "95 of 100 within", "99 of 100 within", "slowest"] | head),
	(.measures[] | .text as $text | .key | capture("^warm[.](?<phase>[a-z]+)[.]asks$")
		| .phase as $phase
		| [($text | sub(": how often people asked$"; "")),
			($of | value("warm.\($phase).asks")),
			("p50", "p95", "p99", "p100" | . as $what
				| ($of | value("warm.\($phase).\($what)")) + " ms")] | row);

# Keys are peers.NAME.WORKERS.WHAT and peers.ratio.COUNT.WORKERS, peers.ratiokept.COUNT.WORKERS.
def peers:
	(.measures | map({ (.key): .value }) | add) as $of | goal_of as $goals
	| (["queue", "workers", "loans or jobs per second", "one take: median",
		"99 of 100 within", "divided by the best other queue", "goal"] | head),
	(.measures[] | .text as $text
		| .key | capture("^peers[.](?<name>[a-z_0-9]+)[.](?<workers>[0-9]+)[.]rate$")
		| .name as $name | .workers as $workers
		| "peers.\($name).\($workers)" as $key
		| ($name | ltrimstr("lockq") | sub("(?<n>[0-9]+)$"; ".\(.n)")) as $way
		| "peers.ratio\($way).\($workers)" as $ratio
		| [($text | sub(", [0-9]+ workers$"; "")), $workers, ($of | value("\($key).rate")),
			($of | value("\($key).p50")) + " ms", ($of | value("\($key).p99")) + " ms",
			if $of[$ratio] then ($of | value($ratio)) + " times" else "" end,
			($goals[$ratio] // "")] | row);

# The cases of the figure beside one another.
def cases:
	if .figure == "burst" then burst elif .figure == "wake" then wake
	elif .figure == "warm" then warm elif .figure == "peers" then peers else empty end;

# The measures that have a goal, but for those of the cases. Of a figure without cases and without
# goals it is all measures, and of take, which has few.
def rows_of_measures:
	[.measures[]
		| select(has_goal and (.key | test("^wake[.][0-9]+[.]p99$|^peers[.]ratio") | not))]
		as $goals
	| if .figure == "take" or ([cases, $goals[]] == []) then .measures else $goals end;

def section:
	"### \(.figure): \(.title)",
	([cases] | select(. != []) | "", .[]),
	([rows_of_measures[] | [.text, amount, goal] | row] | select(. != [])
		| "", (["what was measured", "result", "goal"] | head), .[]),
	"";

def on_or_off: if . == 1 or . == "ON" then "on" else "off" end;
def server:
	.settings.server
	| "`innodb_flush_log_at_trx_commit` \(.innodb_flush_log_at_trx_commit), "
		+ "binary log \(.log_bin | on_or_off)";

# First the figures that show what lockq is for. A figure that is not named here comes last.
def rank: .figure as $f | ["burst", "wake", "warm", "take", "one", "throughput", "peers", "scale"]
	| index($f) // length;

measured
| min_by(.at) as $first
| sort_by(rank, .at)
| (.[] | section),
  "Measured on \(days) on \($first | hardware), \($first | server), lockq at commit "
	+ "\($first.versions.commit).",
  (if (map(.machine | del(.load_before)) | unique | length) > 1
	then "", "Not all of them on the same machine." else empty end),
  ((map(select(.size? and .size != "usual") | "\(.figure) (\(.size))")) as $sized
	| if $sized != [] then "", "Not of the usual size: \($sized | join(", "))." else empty end),
  ((map(select(.complete != true) | .figure)) as $broken
	| if $broken != [] then "", "Broken off: \($broken | join(", "))." else empty end)
