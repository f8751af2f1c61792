# Turns figures, an object for each pattern, into tab-separated rows for chart.awk. The first row
# has the values that all patterns share, and is empty where they differ. Then each pattern has a
# row of its name and its figures, with "-" for a figure that is missing. Those that are safe come
# first, and each kind has a row with its heading alone.

# A tab or a line break would break the row. text.awk escapes the rest.
def plain_text: explode | map(if . < 32 then 63 else . end) | implode;

def number($key):
	.[$key] as $value |
	if $value == null then "-"
	elif ($value | type) == "number" and $value >= 0 then $value
	else error("\(.name | plain_text): \($key) is no number") end;

def needed($key):
	(.name | plain_text) as $name |
	number($key) | if . == "-" then error("\($name): there is no \($key)") else . end;

def common($key):
	map(.[$key]) | unique | if length == 1 and (.[0] | type) == "number" then .[0] else "" end;

def check:
	if type != "object" then error("figures are JSON objects, one for each pattern")
	elif (.name | type) != "string" then error("a pattern has no name")
	else . end;

# kind: how safe the pattern is, with a number for the order; "" where the figures don't tell.
def kind:
	if .verdict == "safe" then [1, "Safe"]
	elif .verdict == "safe if" then [2, "Safe on a condition"]
	elif .verdict == "unsafe" then [3, "Unsafe"]
	else [4, ""] end;

def row: [(.name | plain_text), needed("heavy_queries"), number("first_ms"), number("last_ms"),
	needed("violations"), needed("errors"), needed("retries"), number("unserved")] |
	map(tostring) | join("\t");

if length == 0 then error("there are no figures in it") else map(check) end |
([common("shells"), common("nodes"), common("count"), common("query_seconds"),
	common("gap"), common("rounds")] | map(tostring) | join("\t")),
(group_by(kind)[] | (.[0] | kind[1] | select(. != "")), (.[] | row))
