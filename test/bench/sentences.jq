# The figures of README.md: four sentences in a user's words, and how many goals were missed. A
# figure that was not measured has no sentence. Input: all results.
include "markdown";

def by_key: [.measures[]] | map({ (.key): . }) | add // {};

# A time of a second or more is told in seconds.
def told: if .unit == "ms" and .value >= 1000 then .value /= 1000 | .unit = "s" else . end | amount;

# "2 to 5", of numbers.
def range_of: "\(min | number)" + if min == max then "" else " to \(max | number)" end;

def often: if .value == 1 then "once" else amount + " times" end;

# The case that has a goal. A short run does not have that one: then its largest.
def burst_case:
	[.measures[].key
		| capture("^burst[.](?<s>[0-9]+)[.](?<n>[0-9]+)[.]lockq[.]queries$")] as $all
	| first(($all[] | select(.s == "3" and .n == "50")), $all[-1]);

def burst:
	by_key as $of | burst_case as $c
	| def lockq($what): $of["burst.\($c.s).\($c.n).lockq.\($what)"];
	def not_own($what; $times):
		$of["burst.\($c.s).\($c.n).own.\($what)"]
		| if . == null then "" else ", not \(amount)\($times)" end;
	"\($c.n) people ask while a query of \($c.s) s runs: the query runs "
		+ "\(lockq("queries") | often)\(not_own("queries"; " times")). "
		+ "The last of them has loans after "
		+ "\(lockq("last") | amount)\(not_own("last"; "")). "
		+ "The server computes for \(lockq("cpu") | amount)\(not_own("cpu"; "")).";

def warm:
	by_key as $of | .settings.figure as $set
	| "\($set.users) people ask again and again, and take from a list whose query takes "
		+ "\($set.query) s: half of the answers come within \($of["warm.p50"] | told), "
		+ "99 of 100 within \($of["warm.p99"] | told).";

def assign:
	[.measures[] | select(.key | test("^assign[.][0-9]+[.]ms$"))][-1]
	| "\(.key | split(".")[1] | with_commas) people wait for 5 loans each: all of them have "
		+ "their loans \(told) after the query's end.";

# ratios(COUNT): of workers that take COUNT loans at a time from a kept list.
def ratios($count):
	[.measures[]
		| .value as $value
		| .key | capture("^peers[.]ratiokept[.]\($count)[.](?<workers>[0-9]+)$")
		| { workers: (.workers | tonumber), $value }];
def as_many: "\(map(.value) | range_of) times as many";

def peers:
	ratios(1) as $one | ratios(5) as $five
	| select(($one | length) > 0 and ($five | length) > 0)
	| "\($one | map(.workers) | range_of) workers take one loan at a time from a kept list: "
		+ "they get \($one | as_many) per second as workers of the fastest other job queue "
		+ "get jobs. With five at a time they get \($five | as_many).";

def twice:
	[.[].measures[] | select(.key | test("^(burst[.].*[.]lockq|warm|peers)[.]twice$")
		or test("^(take[.]crowd[.])?wrong$"))]
	| select(length > 0) | (map(.value) | add)
	| if . == 0 then "In all these runs no loan was given to two people."
		else "**\(number) loans were given twice, or requests failed.**" end;

def missed:
	goals | select(length > 0)
	| "\(map(select(.missed)) | length) of \(length) goals were missed: "
		+ "[man/figures.md](man/figures.md) has them all, and tells why.";

measured
| (min_by(.at) | "\(hardware), at commit \(.versions.commit)") as $where
| ((of("burst") | burst), (of("warm") | warm), (of("assign") | assign), (of("peers") | peers)
	| "- " + .),
  "", ([twice, missed,
	"Measured on \(days) on \($where)."] | join(" "))
