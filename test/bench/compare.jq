# Compares two results, A and B: both numbers, the change, and whether it is better or worse. $a[0]
# has the results A; the input is B.
def number:
	if . == null then "none"
	else . as $n | (if $n == 0 then 0 else ($n | fabs | log10 | floor) end) as $size
		| pow(10; if $size > 3 then 0 else 3 - $size end) as $scale
		| ($n * $scale | round / $scale | tostring)
	end;
def left($n): if length > $n then .[0:$n - 1] + "…" else . + " " * ($n - length) end;
def right($n): " " * ($n - length) + .;
def line($key; $x; $y; $unit; $change; $verdict):
	"\($key | left(31)) \($x | right(10)) \($y | right(10)) \($unit | left(8)) \($change | right(8)) \($verdict)"
	| sub(" +$"; "");
def all: [.[] | .measures[]];
def about($name): (sort_by(.at) | .[0]) as $first
	| "\($name): \($first.at), \($first.versions.lockq), commit \($first.versions.commit), MySQL \($first.versions.mysql)";

# Each measure says which direction is better. A change of ten percent may be noise.
def verdict($x; $better):
	if $x == null or $better == null or ($x > 0.9 and $x < 1.1) then ""
	elif ($x > 1) == ($better == "more") then "better" else "worse" end;
def change($x):
	if $x == null then ""
	elif $x >= 10 then "\($x | round) x"
	else (($x - 1) * 100 | round) as $percent
		| (if $percent > 0 then "+" else "" end) + "\($percent) %" end;

($a[0] | all) as $was | all as $is
| ($a[0] | about("A")), about("B"),
  (if ([$a[0][], .[]] | map(.machine | { cpu, cores, memory_bytes }) | unique | length) > 1
	then "another machine: only ratios (x) can be compared" else empty end),
  (if ([$a[0][], .[]] | map(.settings.server) | unique | length) > 1
	then "another server, or other settings of it" else empty end),
  "",
  line("measure"; "A"; "B"; "unit"; "B to A"; ""),
  ($is[] | . as $n | ($was[] | select(.key == $n.key)) as $o
	| (if ($o.value // 0) == 0 or $n.value == null then null else $n.value / $o.value end) as $x
	| line(.key; $o.value | number; $n.value | number; .unit; change($x);
		verdict($x; .better) + if $n.missed and ($o.missed | not) then ", now missed"
			elif $o.missed and ($n.missed | not) then ", now reached" else "" end
		| ltrimstr(", "))),
  ($was[] | . as $o | select(all($is[]; .key != $o.key))
	| line(.key; .value | number; "-"; .unit; ""; "not in B")),
  ($is[] | . as $n | select(all($was[]; .key != $n.key))
	| line(.key; "-"; .value | number; .unit; ""; "not in A"))
