#!/usr/bin/env bash
# Each real run is a path of the model: runs are recorded with the real programs and faults, and the
# model is walked along their traces. Then traces are forged, one edit each, and the model must
# refuse each of them at the line that has become impossible.
# test/model/traces.sh tells of LOCKQ_TRACES and LOCKQ_SEED.
set -u

# shellcheck source=test/model/traces.sh
. "$(dirname "$0")/traces.sh"

begin_traces lockq 200
have_met 'how=query' 'how=hand-over' 'how=failed' '=served' '=partial' '=empty' '^cancelled' \
	'^put-off' '^killed' ' lost' '^disposed' '^lapsed' '^paused' '^resumed' '^stuck'

forged()
{
	cat <<'END'
a loan is given twice | handed-over | committed 4
	s#4=empty#4=served loan1=4/3#
two leaders commit under one epoch | handed-over | committed 4
	s#^committed 4 epoch=3#committed 4 epoch=2#
an epoch goes back | handed-over | committed 4
	s#^committed 4 epoch=3#committed 4 epoch=1#
an epoch is left out | handed-over | committed 1 epoch=4
	s#epoch=2 how=hand-over#epoch=4 how=hand-over#
a user is told of another loan | returned | answered 2
	s#^answered 2 served 1#answered 2 served 2#
a user who was served is told "no work" | returned | answered 2
	s#^answered 2 served 1#answered 2 empty#
a user is told before the COMMIT | completed | answered 2
	/^answered 2/d; s#^committed 2#answered 2 served 2\n&#
a process that waits is told "pending" | handed-over | put-off 4
	s#^answered 4 empty#put-off 4#
"no work" while a loan is available | completed | committed 2
	s#2=served loan2=2/1#2=empty#
"no work" from a hand-over | handed-over | committed 1 epoch=2
	s#^loans 1 2 3#loans 1 2#; s#3=partial loan3=3/1#3=empty#
more than was asked for | completed | committed 2
	s#2=served loan2=2/1#& loan3=2/1#
a younger request is served first | handed-over | committed 1 epoch=1
	s#loan1=1/1 loan2=2/1#loan1=2/1 loan2=1/1#
a request is ended twice | handed-over | committed 1 epoch=2
	s#3=partial#1=empty 3=partial#
a cancelled request is served | cancelled | committed 1
	s#count=2#count=1#; s#2=empty.*#2=served 3=served loan1=1/1 loan2=2/3 loan3=3/1#
a request that was looked after expires | neglected | committed 1
	/^neglected 2/d
a request that nobody looked after is served | neglected | committed 1
	s#2=expired 4=served loan1=1/1 loan2=4/1#2=served 4=served loan1=1/1 loan2=2/1 loan3=4/1#
a leader goes by an old version | returned | committed 2
	s#loan1=2/3#loan1=2/2#
the log of an expired lease is left out | lapsed | committed 2
	/^disposed/d; s# disposes##; s#loan1=2/3#loan2=2/2#
a loan is given before its lease is over | cancelled | committed 1
	s#loan3=1/1#loan2=1/3#; /^lapsed/d
a completed loan is given before its hold is over | completed | committed 3
	s#loan3=3/1#loan1=3/3#
a loan is given before the pause ends | paused | committed 3
	/^resumed/d
a request is left over | handed-over | committed 4
	/hand-over/d; s#epoch=3#epoch=2#
a request is left over by the last leader | handed-over | answered 1
	/hand-over/d; / 4 /d; /^asked 4/d
requests fail although no query failed | completed | committed 2
	s#2=served loan2=2/1#2=failed#
END
}

refuse_forged

# Programs that do not see that a task is paused.
refuse_mutant 'that does not see a pause' look_if_free "task->paused[0] != '\\0' => false" \
	committed --fault pause
finish
