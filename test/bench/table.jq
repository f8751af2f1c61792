# The results as tables in Markdown: what the figures are to reach and what they reached, then the
# burst and the wake-up in full. Input: all results.

# Three digits that count, and no more.
def number:
	if . == null then "none"
	elif . == 0 then "0"
	else . as $n
		| (fabs | log10 | floor | if . > 2 then 2 else . end) as $size
		| pow(10; 2 - $size) as $scale
		| ($n * $scale | round / $scale | tostring)
	end;
def row: "| " + join(" | ") + " |";
def head: row, (map("---") | row);
def of($figure): .[] | select(.figure == $figure);
def value($key): (.[$key] // null) | number;

def promises:
	(["figure", "measured", "to reach"] | head),
	(.[] | .figure as $figure
		| .measures[] | select(.at_least != null or .at_most != null)
		| ["\($figure): \(.text)", "\(.value | number) \(.unit)",
			if .at_least != null then "at least \(.at_least)" else "at most \(.at_most)" end +
			if .missed then ", **missed**" else "" end] | row);

# Keys are burst.SECONDS.USERS.WAY.WHAT.
def burst:
	{ lockq: "lockq", own: "each runs its own query", line: "wait in line, then run it",
	  claim: "claim from it, `SKIP LOCKED`",
	  rows: "the same, of a query that tests row by row" } as $names
	| (.measures | map({ (.key): .value }) | add) as $of
	| "", "\(.title):", "",
	(["query", "users", "", "heavy queries", "server CPU", "first served", "median", "last"]
		| head),
	([(.measures[].key
		| capture("^(?<case>burst[.](?<s>[0-9]+)[.](?<n>[0-9]+)[.](?<way>[a-z]+))[.]queries$")),
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
	(.measures | map({ (.key): .value }) | add) as $of
	| "", "\(.title):", "",
	(["who waits", "median", "99th of a hundred", "99th of bare waiters"] | head),
	(.measures[] | .text as $text | .key | capture("^wake[.](?<who>[0-9]+|poll)[.]p50$")
		| .who as $who
		| [($text | sub(": median$"; "")), ($of | value("wake.\($who).p50")) + " ms",
			($of | value("wake.\($who).p99")) + " ms",
			if $of["wake.\($who).bare.p99"] then
				($of | value("wake.\($who).bare.p99")) + " ms" else "" end] | row);

def yes: if . == 1 or . == "ON" then "on" else "off" end;
def days: map(.at[0:10]) | unique | if length > 1 then "\(first) to \(last)" else .[0] end;
def where:
	.machine as $m | .settings.server as $s
	| "\($m.cores) cores of \($m.cpu | gsub(" +"; " ")), \($m.memory_bytes / 1073741824 | round) GiB, "
		+ "\($m.system), MySQL \(.versions.mysql), `innodb_flush_log_at_trx_commit` "
		+ "\($s.innodb_flush_log_at_trx_commit), binary log \($s.log_bin | yes), lockq at commit "
		+ .versions.commit;

# What lockq is for, first; what is not named here comes last.
def rank: .figure as $f | ["burst", "wake", "one", "throughput", "peers", "scale"]
	| index($f) // length;

map(select(.measures | length > 0))
| min_by(.at) as $first
| sort_by(rank, .at)
| promises, (of("burst") | burst), (of("wake") | wake), "",
  "Measured on \(days), \($first | where).",
  (if (map(.machine | del(.load_before)) | unique | length) > 1
	then "", "Not all of them on the same machine." else empty end),
  ((map(select(.size? and .size != "usual") | "\(.figure) (\(.size))")) as $sized
	| if $sized != [] then "", "Not of the usual size: \($sized | join(", "))." else empty end),
  ((map(select(.complete != true) | .figure)) as $broken
	| if $broken != [] then "", "Broken off: \($broken | join(", "))." else empty end)
