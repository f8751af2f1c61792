#!/usr/bin/env bash
# Each real run in which loans are taken from a kept list is a path of list.pml, as trace.t sees it
# for lockq.pml. The traces tell of the takes, of the lists that rounds write, and of the rows that
# go from a list.
# test/model/traces.sh tells of LOCKQ_TRACES and LOCKQ_SEED.
set -u

# shellcheck source=test/model/traces.sh
. "$(dirname "$0")/traces.sh"

# With fewer at once each process lasts for less, and the model has less to search.
begin_traces list 60 --lists --jobs 8
have_met '^taken' '^taken .*list=[2-9]' '^committed [0-9].* kept' '^committed refill' '=served' \
	'=partial' '=empty' '^put-off' '^killed' ' lost' '^disposed' '^unshown' '^aged' '^paused' \
	'^resumed' ' gone'
has_met "$(awk '/^# seed/ { split("", asked) } /^asked/ { asked[$2] = 1 }
	/^taken/ && asked[$2] { n++ } END { print n + 0 }' "$scratch"/runs/*.trace)" \
	'takes for a request that was pending'

forged()
{
	cat <<'END'
a loan is given twice | list-replaced | taken 2
	s#2=served loan1=2/3#2=served loan2=2/3#
a loan is taken from a list that was replaced | list-replaced | taken 2
	s#^taken 2 list=2#taken 2 list=1#
a loan is taken with an old version | list-replaced | taken 2
	s#loan1=2/3#loan1=2/1#
a loan is taken twice from the list | list-taken | taken 2
	s#loan2=2/1 loan3=2/1#loan1=2/2 loan2=2/1#
a list has an old version of a loan | list-replaced | committed refill
	s#kept1=2#kept1=0#
the epoch of a list goes back | list-replaced | committed refill
	s#refill epoch=2#refill epoch=1#
somebody who has no request writes a list | list-replaced | committed 1
	s#^committed refill#committed 1#
a list has a loan that was just given | list-taken | committed 1
	s#kept2=0#kept1=0 kept2=0#
a list lacks a loan that was found | list-taken | committed 1
	s# kept3=0##
more is taken than was asked for | list-taken | taken 2
	s#^requester 2 count=2#requester 2 count=1#
a user is told of another loan than was taken | list-taken | answered 2
	s#^answered 2 served 2 3#answered 2 served 1 2#
a loan is given that the view did not show as the request was made | list-hidden | committed 1
	s#loan3=2/1#loan2=2/1#
a loan is taken that the view did not show as the request was made | list-dropped | taken 2
	/^dropped/d; s#^committed 2 .*#taken 2 list=2 2=partial loan2=2/1#
a row goes from the list although its loan matches | list-dropped | dropped
	/^unshown/d
a loan is taken before the pause ends | list-paused | taken 2
	/^resumed/d
"no work" while the list has a loan | list-paused | committed 3
	s#^taken 3 .*#committed 3 epoch=2 how=query 3=empty#
a request is left over that the list has a loan for | list-paused | !left_over
	/^taken 3/d
a query runs although the list has loans | list-taken | committed 2
	s#^taken 2 list=1#committed 2 epoch=2 how=query#
a request is recorded although the list has loans | list-asked | asked 1
	s#^taken 1#asked 1\n&#
END
}

refuse_forged

# Lists that still have the loans that were just given.
refuse_mutant 'that keeps what it gives' kept_begin 'list->list[i].gone => false' \
	committed --fault refill
finish
