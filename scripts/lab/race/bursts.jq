# What two bursts of the same people came to, a line each, and what that means, for scripts/demo.
# $first and $again are the events of the two races, in lines of MS USER EVENT DETAIL with tabs
# between; $requests and $queries are from the database, in the order in which they were made.

def events: [split("\n")[] | select(. != "") | split("\t") |
	{ms: .[0] | tonumber, user: .[1], event: .[2]}];
def when($user; $event): map(select(.user == $user and .event == $event))[0].ms;
def users: map(select(.event == "asked") | .user);

# waits: how long each user has waited; null where a user got no loan.
def waits: . as $events | [users[] as $user | {
	user: $user,
	ms: ($events | when($user; "asked") as $from | when($user; "served") | values - $from)
	} // {user: $user, ms: null}];

def time: if . == null then "-" elif . < 1000 then "\(.) ms"
	else (. / 10 | round | "\(. / 100 | floor).\(. % 100 + 100 | tostring[1:]) s") end;
def left($n): tostring | . + (" " * ([$n - length, 0] | max));
def right($n): tostring | (" " * ([$n - length, 0] | max)) + .;
def words: if length < 2 then join("") else (.[:-1] | join(", ")) + " and " + .[-1] end;

# source($request): where its loans came from, and how old the list was then.
def source($request):
	if $request == null then "-"
	elif $request.source == "list" then "list, \($request.age_ms / 100 | round |
		"\(. / 10 | floor).\(. % 10)") s old"
	else $request.source end;

def row: "  " + (.user | left(10)) + (.first.ms | time | right(8)) + "  " +
	(.first.source | left(16)) + (.again.ms | time | right(8)) + "  " + .again.source;

def ran($burst): [$queries[] | select(.burst == $burst)];
def by: if length > 0 then "by \(map(.user) | unique | words)" else "" end;
def query_row: (ran("first") | "  heavy queries\(length | right(5))  \(by | left(16))") +
	(ran("again") | "\(length | right(8))  \(by)");

# The words below say only what has happened.
def of_list: map(select(.source | startswith("list")));
def among($all): if length == $all then "all \($all)" else "\(length) of \($all)" end;
def longest: map(.ms | values) | max | time;

def first_words: length as $people | map(.first) | (. - of_list) |
	"The first time \(among($people)) had to wait for a query, \(longest) at most.";

def again_words($events): length as $people | map(.again) | of_list |
	if . == [] then "The second time nobody could take from a list."
	else "The second time \(among($people)) took from a list, and waited \(longest) at most."
	end,
	if (ran("again") | map(.user) | unique) == ["(refill)"] and
		all($events[]; .user == "(refill)" or .event != "leads" and .event != "waits") then
		"The list had become old. So a getwork left a process behind, which ran the query",
		"and filled the list anew. Nobody waited for that query."
	else empty end;

# The requests of the first burst come first, one for each user.
def bursts:
	($first | events) as $one | ($again | events) as $two |
	[$one | waits[] | . as $was | [$requests[] | select(.user == $was.user)] as $mine | {
		user,
		first: {ms, source: source($mine[0])},
		again: {ms: ($two | waits[] | select(.user == $was.user) | .ms),
			source: source($mine[1])}
	}] |
	"\("first time" | right(20))\("again" | right(26))",
	(.[] | row),
	query_row,
	"",
	first_words,
	again_words($two);
