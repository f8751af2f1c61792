# Two runs side by side: what is in both, b to a, and the way it went. Noise is some ten percent.
def all: [.[] | .figure as $f | .measures[] | .figure = $f];
def number: if . == null then "none" else (. * 1000 | round / 1000 | tostring) end;

($a | all) as $was | ($b | all) as $is
| (["figure", "measure", "A", "B", "unit", "B/A", ""] | @tsv),
  ($is[] | . as $n | ($was[] | select(.figure == $n.figure and .key == $n.key)) as $o
    | (if ($o.value // 0) == 0 or $n.value == null then null else $n.value / $o.value end) as $x
    | [$n.figure, $n.text, ($o.value | number), ($n.value | number), $n.unit, ($x | number),
       if $x == null or $n.better == null or ($x > 0.9 and $x < 1.1) then ""
       elif ($x > 1) == ($n.better == "more") then "better" else "worse" end]
    | @tsv),
  ($was[] | . as $o | select([$is[] | select(.figure == $o.figure and .key == $o.key)] == [])
    | [.figure, .text, (.value | number), "-", .unit, "-", "not in B"] | @tsv)
