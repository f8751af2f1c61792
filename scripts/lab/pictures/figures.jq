# Figures, an object for each pattern, as tab-separated rows for chart.awk: first one with what all
# of them have in common (empty where they differ), then NAME and the figures of each, "-" for
# those that there are not.

# Escaped by text.awk what remains; a tab or the end of a line would break the row.
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

if length == 0 then error("there are no figures in it") else map(check) end |
([common("shells"), common("nodes"), common("count"), common("query_seconds"),
	common("gap"), common("rounds")] | map(tostring) | join("\t")),
(.[] | [(.name | plain_text), needed("heavy_queries"), number("first_ms"), number("last_ms"),
	needed("given_twice"), needed("errors"), needed("retries"), number("unserved")] |
	map(tostring) | join("\t"))
