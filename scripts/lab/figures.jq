# What a pattern's races came to: one object of the events of all its rounds, {round, ms, user,
# event, detail} each. $race is the object that describes the race.

def median: sort | if length == 0 then null else .[(length - 1) / 2 | floor] end;
def times($event): map(select(.event == $event)) | length;

# One round.
def figures:
	[.[] | select(.event == "served") | .user as $user | .detail / " " | .[] | {loan: ., $user}]
		as $given |
	[.[] | select(.event == "served") | .ms] as $served |
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
		unserved: (times("killed") + times("late"))
	};

[group_by(.round)[] | figures] as $rounds |
def total($key): $rounds | map(.[$key]) | add;
def middle($key): $rounds | map(.[$key] | values) | median;

$race + {
	given: total("given"),
	given_twice: total("given_twice"),
	heavy_queries: middle("heavy_queries"),
	first_ms: middle("first_ms"),
	last_ms: middle("last_ms"),
	served: total("served"),
	empty: total("empty"),
	errors: total("errors"),
	retries: total("retries"),
	deadlocks: total("deadlocks"),
	unserved: total("unserved")
} + if ($rounds | length) > 1 then {by_round: $rounds} else {} end
