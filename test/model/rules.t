#!/usr/bin/env bash
# Searches all states of the model of a task's rules, test/model/rules.pml: in whatever order a loan
# is given, completed and returned in two tasks, a rule that a giver could see is kept. Then each
# guard is taken out, and the property that it protects must fail. If another guard masks the first,
# nothing may fail. A row without: begins as the guard does in test/guards/*.guards.
# With an argument, only the rows of the table run that have it in their name.
#   LOCKQ_MODEL=all  the longest search, too
set -u

# shellcheck source=test/model/search.sh
. "$(dirname "$0")/search.sh"

model=$top/test/model/rules.pml

table()
{
	cat <<'END'
holds | safety | two tasks, the second names the first
	-DLEASES=1
holds | safety | each names the other, the first gives no loan again
	-DMUTUAL=1 -DAGAIN=0
holds | long-safety | the same, a lease runs out
	-DMUTUAL=1 -DAGAIN=0 -DLEASES=1 -DGIVES=3
breaks | same_user | without: no loan is given to the user who has it in the task not_same_user_as
	-DHAS_NOT_SEEN
breaks | same_user | without: nor to one whose lease is over there, and who may still complete it
	-DHAS_NOT_LATE -DLEASES=1
breaks | same_user | without: whoever has completed a loan in the task not_same_user_as
	-DDONE_FROM_WORK
breaks | given_again | without: users do not get a loan again before not_again hours are over
	-DOWN_NOT_SEEN -DAGAIN=0
breaks | same_user | without: a loan that the task may not give any more when it is written
	-DNO_LAST_LOOK
breaks | same_user | the last look has two statements, and asks first who has completed the loan
	-DLAST_LOOK_APART
masked | long-safety | without: a leader leaves out the loans that the task may not give to a user
	-DNO_PLAN_LOOK
breaks | done_in_both | what the rules do not keep: two tasks give the loan at the same moment
	-DGAP -DMUTUAL=1
END
}

search_rows "$model" "$@"
report_guards
finish
