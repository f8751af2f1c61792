# What sentences.jq and tables.jq share: numbers, goals, rows of a table in Markdown, and where was
# measured.

# Three significant digits.
def number:
	if . == null then "none"
	elif . == 0 then "0"
	else . as $n
		| (fabs | log10 | floor | if . > 2 then 2 else . end) as $size
		| pow(10; 2 - $size) as $scale
		| ($n * $scale | round / $scale | tostring)
	end;

# with_unit(UNIT): a ratio has the unit x in the results.
def with_unit($unit):
	if . == "none" or $unit == "" then .
	elif $unit == "x" then "\(.) times"
	else "\(.) \($unit)" end;
def amount: . as $m | .value | number | with_unit($m.unit);
def goal:
	. as $m
	| (if .at_least != null then "at least " + (.at_least | tostring)
		elif .at_most != null then "at most " + (.at_most | tostring)
		else "" end)
	| if . == "" then .
		else with_unit($m.unit) + (if $m.missed then ", **missed**" else "" end) end;

# 10000000 is hard to read.
def with_commas: tostring | [scan("[0-9]{1,3}(?=(?:[0-9]{3})*$)")] | join(",");

def row: "| " + join(" | ") + " |";
def head: row, (map("---") | row);
def of($figure): .[] | select(.figure == $figure);

def days: map(.at[0:10]) | unique | if length > 1 then "\(first) to \(last)" else .[0] end;
def hardware:
	.machine as $m
	| "\($m.cores) cores of \($m.cpu | gsub(" +"; " ")), "
		+ "\($m.memory_bytes / 1073741824 | round) GiB, \($m.system), "
		+ "MySQL \(.versions.mysql)";
def measured: map(select(.measures | length > 0));
def has_goal: .at_least != null or .at_most != null;
def goals: [.[].measures[] | select(has_goal)];
