#!/usr/bin/env bash
# Each task of the example, from getwork to disposition --complete: the task's procedure changes the
# business data, and the loan no longer matches the view. The test has a database of its own.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

database=lockq_test_complete
scratch=$(mktemp -d)
# In this test's database, not in the sandbox's.
sql() {
	"$top/scripts/sandbox" mysql --batch --skip-column-names --execute "$1" "$database"
}
trap '"$top/scripts/sandbox" mysql --execute "DROP DATABASE IF EXISTS $database"
	rm -rf "$scratch"' EXIT

"$top/scripts/sandbox" database "$database" >"$scratch/output" 2>&1 ||
	{ echo "Bail out! no database: $(cat "$scratch/output")"; exit 1; }
(umask 077; sed "s/^database=.*/database=$database/" "$LOCKQ_DEFAULTS_FILE" \
	>"$scratch/lockq.cnf")
export LOCKQ_DEFAULTS_FILE=$scratch/lockq.cnf
run seedloans --loans 3000 --seed 3
# shellcheck disable=SC2154 # status, out and err are set by run
is "$status" 0 'loans'

# worker SQL: runs it under a worker's account, without the programs.
worker() {
	"$top/build/mysql/bin/mysql" --defaults-file="$LOCKQ_DEFAULTS_FILE" \
		--defaults-group-suffix=_none --batch --skip-column-names \
		--execute "$1" "$database" 2>&1
}

# matches TASK LOAN: prints how often the task's view shows the loan.
matches() {
	sql "SELECT COUNT(*) FROM $(sql "SELECT candidates_view FROM task WHERE task_id = $1")
	      WHERE loan_id = $2"
}

is "$(sql 'SELECT COUNT(*) FROM task AS t JOIN example_task AS e USING (task_id)
            WHERE t.on_complete = e.on_complete AND t.detail_view = e.detail_view
              AND t.max_pipeline <=> e.max_pipeline AND t.lease_minutes <=> e.lease_minutes
              AND t.complete_hold = e.complete_hold AND t.cache_ttl = e.cache_ttl
              AND t.refresh_after <=> e.refresh_after AND t.check_view <=> e.check_view')" 10 \
	'ten tasks, each with its procedure'
is "$(sql 'SELECT CONCAT_WS(",", max_count, max_pipeline, lease_minutes, complete_hold)
             FROM task WHERE task_id = 7')" 5,0 'task 7: no lease, no cap, no hold'
is "$(sql 'SELECT GROUP_CONCAT(task_id) FROM task WHERE cache_ttl > 0 AND task_id <= 10')" 7 \
	'only task 7 keeps a list'
for task in 1 2 3 4 5 6 7 8 9 10; do
	# The second loan is like the first; completing the first must leave it alone.
	run getwork --user oliver --task "$task" --count 2 --json
	mapfile -t loans < <(jq '.loans[].loan_id' <<<"$out")
	is "$status:${#loans[@]}" 0:2 "task $task: two loans"
	loan=${loans[0]}
	ok $(($(matches "$task" "$loan") > 0 ? 0 : 1)) "task $task: the loan matches the view"
	run disposition --user oliver --task "$task" --loan "$loan" --complete
	is "$status:$err" 0: "task $task: completed"
	is "$(matches "$task" "$loan")" 0 "task $task: the loan does not match any more"
	ok $(($(matches "$task" "${loans[1]}") > 0 ? 0 : 1)) "task $task: the other loan does"
	run disposition --user oliver --task "$task" --loan "$loan" --complete
	is "$status" 0 "task $task: completing it again: exit 0"
	view=$(sql "SELECT detail_view FROM task WHERE task_id = $task")
	is "$(sql "SELECT COUNT(*) FROM $view WHERE loan_id = $loan")" 1 \
		"task $task: its detail_view has one row for a loan"
done

loan=$(sql "SELECT loan_id FROM work WHERE task_id = 7 AND state = 'completed'")
is "$(sql "SELECT DISTINCT status, checked_by, checked_at > NOW() - INTERVAL 1 HOUR
             FROM loan_document WHERE loan_id = $loan AND kind = 'bank_statement'
              AND checked_by IS NOT NULL")" $'verified\toliver\t1' \
	'the document names the user who checked it'
like "$(worker 'UPDATE loan SET stage = "funded"')" 'denied' 'workers may not change loans'

# If the procedure refuses, the loan is not completed. Here the bank's row of the loan is gone.
loan=$(sql "SELECT loan_id FROM work WHERE task_id = 10 AND state = 'assigned'")
sql "DELETE FROM loan_document WHERE loan_id = $loan; DELETE FROM loan WHERE loan_id = $loan"
run disposition --user oliver --task 10 --loan "$loan" --complete
is "$status" 4 'a loan that the bank does not have any more is refused: exit 4'
like "$err" "there is no loan $loan any more" 'with the reason that the procedure gives'
is "$(sql "SELECT state FROM work WHERE task_id = 10 AND loan_id = $loan")" assigned \
	'it is not completed'
run disposition --user oliver --task 10 --loan "$loan" --never
is "$status" 0 'the loan can be set to never'
finish
