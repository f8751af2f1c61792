#!/usr/bin/env bash
# The lab's figures of made-up races, and what two bursts come to, without server and processes.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

# figures: prints the figures of the events on standard input: round, milliseconds, user, event,
# detail.
figures() {
	sed 's/ ; /\t/g' | jq -R -s -c -L "$top/scripts/lab/race" \
		'include "figures"; {name: "made up"} + (events | figures)'
}

# among FIGURE…: prints these figures of the object $out.
among() {
	jq -c --args '. as $all | [$ARGS.positional[] | {(.): $all[.]}] | add' "$@" <<<"$out"
}

run figures <<'END'
1 ; 1 ; ann ; asked ; 3
1 ; 2 ; bob ; asked ; 3
1 ; 2 ; cy ; asked ; 3
1 ; 3 ; dee ; asked ; 3
1 ; 3 ; eve ; asked ; 3
1 ; 3 ; fay ; asked ; 3
1 ; 5 ; ann ; leads
1 ; 6 ; bob ; leads
1 ; 7 ; cy ; waits ; for 17 and 1213
1 ; 90 ; bob ; killed
1 ; 105 ; ann ; queried
1 ; 120 ; ann ; served ; 11 12 13
1 ; 130 ; cy ; retry ; Deadlock found (1213)
1 ; 131 ; cy ; retry ; somebody else was faster
1 ; 250 ; cy ; served ; 13 14
1 ; 110 ; dee ; served ; 13 11 15
1 ; 300 ; eve ; error ; 1213 of them
1 ; 301 ; fay ; nothing
END
is "$status" 0 'figures of a round'
is "$out" "$(jq -c . <<'END'
{"name": "made up", "given": 8, "given_twice": 2, "heavy_queries": 2, "first_ms": 110,
 "last_ms": 250, "served": 3, "empty": 1, "errors": 1, "retries": 2, "deadlocks": 1,
 "killed": 1, "paused": 0, "unserved": 1, "violations": 2, "violation": "loans given twice",
 "isolation": null}
END
)" 'exact figures; a loan that three users have counts once as given twice'

run figures <<'END'
1 ; 5 ; ann ; isolation ; SERIALIZABLE
1 ; 5 ; bob ; isolation ; SERIALIZABLE
1 ; 10 ; ann ; served ; 1
1 ; 11 ; bob ; served ; 1
1 ; 20 ; (race) ; judged ; 3 places above the limit
2 ; 10 ; ann ; served ; 1
2 ; 20 ; (race) ; judged ; 0 places above the limit
END
is "$(among given_twice violations violation isolation)" \
	"{\"given_twice\":1,\"violations\":3,\"violation\":\"places above the limit\",$(
		)\"isolation\":\"SERIALIZABLE\"}" \
	'a pattern with a judge of its own: what it counts is the violations'
is "$(jq -c '[.by_round[] | .violations]' <<<"$out")" '[3,0]' 'also of each round'

run figures <<'END'
1 ; 10 ; ann ; leads
1 ; 20 ; ann ; served ; 1 2
1 ; 30 ; bob ; served ; 2 3
2 ; 10 ; ann ; leads
2 ; 11 ; bob ; leads
2 ; 40 ; ann ; served ; 1 2
2 ; 50 ; bob ; served ; 3 4
3 ; 10 ; ann ; leads
3 ; 11 ; bob ; leads
3 ; 12 ; bob ; leads
3 ; 15 ; bob ; retry ; why
3 ; 60 ; ann ; served ; 1 2
3 ; 90 ; bob ; late ; not served within 0.09 s
END
is "$(among given given_twice served retries unserved)" \
	'{"given":10,"given_twice":1,"served":5,"retries":1,"unserved":1}' \
	'several rounds: sums; a loan of two rounds is not given twice'
is "$(among heavy_queries first_ms last_ms)" \
	'{"heavy_queries":6,"first_ms":40,"last_ms":50}' \
	'several rounds: times are medians'
is "$(jq -c '[.by_round[] | [.given_twice, .heavy_queries, .first_ms, .unserved]]' <<<"$out")" \
	'[[1,1,20,0],[0,2,40,0],[0,3,60,1]]' 'each round has figures of its own'

run figures <<'END'
1 ; 10 ; ann ; error ; refused
1 ; 20 ; bob ; nothing
END
is "$(among first_ms last_ms given served errors empty heavy_queries)" \
	"{\"first_ms\":null,\"last_ms\":null,\"given\":0,\"served\":0,\"errors\":1,\"empty\":1,$(
		)\"heavy_queries\":0}" \
	'nobody was served: first_ms and last_ms are null'

run figures <<'END'
1 ; 10 ; ann ; error ; refused
2 ; 20 ; ann ; served ; 5
END
is "$(among first_ms last_ms given)" '{"first_ms":20,"last_ms":20,"given":1}' \
	'a round in which nobody was served has no times'

run figures <<'END'
1 ; 40 ; ann ; served ; 5
2 ; 20 ; ann ; served ; 5
END
is "$(among first_ms last_ms)" '{"first_ms":20,"last_ms":20}' 'of two rounds, the lower time'

run figures <<'END'
1 ; 5 ; background ; leads
1 ; 9 ; background ; error ; the connection was lost
1 ; 10 ; ann ; served ; 5
END
is "$(among heavy_queries errors served)" '{"heavy_queries":1,"errors":0,"served":1}' \
	"the process beside the users is no user: its queries count, its errors do not"

# --- two bursts of the same people --------------------------------------------------------------

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# bursts QUERIES REQUESTS: what the events of $scratch/first and $scratch/again come to.
bursts() {
	sed -i 's/ ; /\t/g' "$scratch/first" "$scratch/again"
	jq -n -r -L "$top/scripts/lab/race" --rawfile first "$scratch/first" \
		--rawfile again "$scratch/again" --argjson queries "$1" --argjson requests "$2" \
		'include "bursts"; bursts'
}

cat >"$scratch/first" <<'END'
1 ; ann ; asked ; 3
5 ; ann ; leads ;
400 ; bob ; asked ; 3
3005 ; ann ; queried ;
3499 ; bob ; served ; 4 5 6
3505 ; ann ; served ; 1 2 3
END
cat >"$scratch/again" <<'END'
1 ; ann ; asked ; 3
30 ; (refill) ; leads ;
43 ; ann ; served ; 7 8 9
400 ; bob ; asked ; 3
471 ; bob ; served ; 10 11 12
3030 ; (refill) ; queried ;
END
queries='[{"user": "ann", "burst": "first"}, {"user": "(refill)", "burst": "again"}]'
requests='[{"user": "ann", "source": "query", "age_ms": 3404},
	{"user": "bob", "source": "query", "age_ms": 3404},
	{"user": "ann", "source": "list", "age_ms": 5961},
	{"user": "bob", "source": "list", "age_ms": 6349}]'
run bursts "$queries" "$requests"
is "$out" "$(cat <<'END'
          first time                     again
  ann         3.50 s  query              42 ms  list, 6.0 s old
  bob         3.10 s  query              71 ms  list, 6.3 s old
  heavy queries    1  by ann                 1  by (refill)

The first time all 2 had to wait for a query, 3.50 s at most.
The second time all 2 took from a list, and waited 71 ms at most.
The list had become old. So a getwork left a process behind, which ran the query
and filled the list anew. Nobody waited for that query.
END
)" 'two bursts: a line for each user, and what it means'
is "$(LC_ALL=C.UTF-8 wc -L <<<"$out")" 80 'it fits into 80 columns'

sed -i 's/(refill)/bob/; s/^30\t/410\t/' "$scratch/again"
run bursts "${queries/(refill)/bob}" "$(jq '.[3].source = "query"' <<<"$requests")"
is "$(tail -n 2 <<<"$out")" "$(cat <<'END'
The first time all 2 had to wait for a query, 3.50 s at most.
The second time 1 of 2 took from a list, and waited 42 ms at most.
END
)" 'a user ran the query, and it is not said that nobody did'
printf '1 ; ann ; asked ; 3\n9 ; ann ; nothing\n1 ; bob ; asked ; 3\n' >"$scratch/again"
run bursts '[]' "$(jq '.[:2]' <<<"$requests")"
is "$status $(awk 'NR == 2 || NR == 3 { print $5, $6 }' <<<"$out" | tr '\n' ' ')" '0 - - - - ' \
	'users without loans and without a request have neither time nor source'
is "$(tail -n 1 <<<"$out")" 'The second time nobody could take from a list.' 'and that is said'

# --- what people see of a race --------------------------------------------------------------------

# shellcheck source=scripts/lab/race/table.sh
. "$top/scripts/lab/race/table.sh"
is "$(table_row '{"name": "p", "verdict": "safe", "served": 3, "violations": 0, "heavy_queries": 1,
	"first_ms": 10, "last_ms": 20, "retries": 2, "deadlocks": 1, "errors": 1, "empty": 4}' |
	awk '{ print $NF }')" 1 'the column of errors counts errors, and not who was told "no work"'

# shellcheck source=scripts/lab/race/processes.sh
. "$top/scripts/lab/race/processes.sh"
# shellcheck disable=SC2034,SC2317 # for processes.sh
{
	say_event() { printf '%s %s %s %s;' "$@"; }
	opened=1000 live=yes events=$scratch/order held=()
}
is "$(take_down 1300 ann served '7 8'
	take_down 1200 bob asked 1
	take_down 1300 cy nothing ''
	take_down 1250 dee leads ''
	say_held 260
	take_down 1270 eve asked 1
	say_held 1000)" "200 bob asked 1;250 dee leads ;270 eve asked 1;300 ann served 7 8;$(
	)300 cy nothing ;" 'the lines of a race are in the order of time, though one was told later'
finish
