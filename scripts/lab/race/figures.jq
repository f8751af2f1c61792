# The figures of a pattern's races, from the lines that scripts/race wrote down.

# events: lines of ROUND MS USER EVENT DETAIL, with tabs between, as objects.
def events:
	[split("\n")[] | select(. != "") | split("\t") |
		{round: .[0] | tonumber, ms: .[1] | tonumber, user: .[2], event: .[3],
		detail: (.[4] // "")}];

def median: sort | if length == 0 then null else .[(length - 1) / 2 | floor] end;
def times($event): map(select(.event == $event)) | length;

# one_round: a loan is given twice if more than one user was told that it is theirs.
def one_round:
	[.[] | select(.event == "served") | .user as $user | .detail / " " | .[] | {loan: ., $user}]
		as $given |
	[.[] | select(.event == "served") | .ms] as $served |
	[.[] | select(.event == "judged") | .detail / " " | .[0] | tonumber] as $judged |
	{
		given: ($given | length),
		given_twice: ($given | group_by(.loan) | map(select(length > 1)) | length),
		heavy_queries: times("leads"),
		first_ms: ($served | min),
		last_ms: ($served | max),
		served: ($served | length),
		empty: times("nothing"),
		errors: (map(select(.user != "background")) | times("error")),
		retries: times("retry"),
		deadlocks: (map(select(.event == "retry" and (.detail | test("1213")))) | length),
		killed: times("killed"),
		paused: times("paused"),
		unserved: (times("killed") + times("late"))
	} | .violations = ($judged[0] // .given_twice);

# violation: what is counted as one. Where a pattern has no judge, a loan must not go to two people.
def violation:
	[.[] | select(.event == "judged") | .detail | sub("^[0-9]+ "; "")][0] // "loans given twice";

# isolation: the level on which the pattern's promise depends, or null.
def isolation: [.[] | select(.event == "isolation") | .detail][0];

# figures: over all rounds times are medians, and all other figures are sums.
def figures:
	{violation: violation, isolation: isolation} as $text |
	[group_by(.round)[] | one_round] as $rounds |
	(reduce ($rounds[0] | keys_unsorted[]) as $key ({}; .[$key] =
		($rounds | map(.[$key]) | if $key | endswith("_ms") then map(values) | median
			else add end))) + $text +
	if ($rounds | length) > 1 then {by_round: $rounds} else {} end;
