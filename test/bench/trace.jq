# Makes the input of floor_replay from the traces of three runs (test/bench/preload/trace.c). Values
# that are the same in all runs stay. Values that differ become marks, which floor_replay replaces:
#   \u0002u1\u0003       a new UUID
#   \u0002i17\u0003      the id that the INSERT of event 17 was given
#   \u0002l800,1\u0003   800, plus 1 for each leader since the first trace
# Other numbers that differ are measured times; they stay as in the first run, and so do dates.

def parts:
  [scan("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    + "|[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+|[0-9]+|[^0-9a-f]+|[a-f]+")];

def number: test("^[0-9]{1,18}$");

def mark: "\u0002" + . + "\u0003";

def one_part($ids):
  . as [$a, $b, $c]
  | if $a == $b and $b == $c then $a
    elif ($a | length) == 36 then "u\($a)" | mark
    elif ([$a, $b, $c] | all(number)) then
      ($ids | map(. == [$a, $b, $c]) | index(true)) as $event
      | ($a | tonumber) as $x | ($b | tonumber) as $y | ($c | tonumber) as $z
      | if $event != null then "i\($event)" | mark
        elif $y > $x and $z - $y == $y - $x then "l\($a),\($y - $x)" | mark
        else $a end
    else $a end;

# $values: the values of one field in the three traces.
def one_field($values; $ids):
  if $values[0] == $values[1] and $values[1] == $values[2] then $values[0] // "\u0004"
  elif $values | any(. == null) then $values[0] // "\u0004"
  else ($values | map(parts)) as $p
    | if ($p | map(length) | unique | length) == 1
      then [$p | transpose[] | one_part($ids)] | join("")
      else $values[0] end
  end;

# Gives each UUID a number in its mark.
def number_uuids:
  reduce ([scan("\u0002u[0-9a-f-]+\u0003")] | unique | to_entries[]) as $e (.;
    split($e.value) | join("u\($e.key)" | mark));

# The field of an event with the id of the inserted row, and the one with the number of rows.
def id_at: { execute: 4, text: 4, reply: 3, next: 3 }[.[0]];
def rows_at: { execute: 3, text: 3, reply: 2, next: 2, rows: 2, stream: 2, stored: 3 }[.[0]];
def insert_id: id_at as $at | if $at == null or .[$at] == "0" then null else .[$at] end;

[$one, $two, $three] as $traces
| if ($traces | map(map([.[0:2], length])) | unique | length) > 1
  then error("one run did other things than the next") else . end
| if ($traces | map(map(.[rows_at // 0])) | unique | length) > 1
  then error("one run changed or showed other rows than the next") else . end
| ($traces | map(map(select(.[0] == "untold") | .[2])) | add) as $untold
| if $untold | length > 0 then error("the trace does not tell all: \($untold[0])") else . end
| ($traces | transpose) as $events
| ($events | map(map(insert_id))) as $ids
| [ $events[]
    | .[0] as $first
    | ($first | id_at) as $id_at
    | [transpose | to_entries[]
        | if .key == $id_at then "" else one_field(.value; $ids) end]
    | join("\u001f") ]
| join("\u001e") | number_uuids
