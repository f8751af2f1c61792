#!/usr/bin/env bash
# Each claim of the lab's ways to take a loan by a key, by a list and by a flag on its record.
set -u
# shellcheck source=test/lab/common.sh
. "$(dirname "$0")/common.sh"
# These races need no task and no users of their own.
trap 'rm -rf "$scratch"' EXIT

# --- a key over both columns --------------------------------------------------------------------

race_figures unique:both --shells 3 --query-seconds 0.1
is "$(of unique:both . | jq '.given_twice > 0 and .violations == .given_twice')" true \
	"unique:both: loans are given twice: $(of unique:both given_twice)"
is "$(of unique:both heavy_queries given served errors retries)" '3 9 3 0 0' \
	'unique:both: no INSERT fails, and everybody is served'

# --- a list until a timer -----------------------------------------------------------------------

# A busy machine may need the whole gap for the first query. Then the list is new when the second
# user asks, and the race runs again with a longer gap.
for gap in 0.2 1.5 6; do
	race_figures onemachine --ttl 0.01 --gap "$gap" --shells 2 --query-seconds 0.1
	[ "$(of onemachine heavy_queries)" != 2 ] || break
done
is "$(of onemachine heavy_queries given_twice given served)" '2 0 6 2' \
	'onemachine: the timer is shorter than the gap: the query runs for each of 2 people'
race_figures onemachine --ttl 600 --gap "$gap" --shells 2 --query-seconds 0.1
is "$(of onemachine heavy_queries given_twice given served)" '1 0 6 2' \
	'onemachine: the timer is longer than the gap: the query runs once'

# --- a flag on each record ----------------------------------------------------------------------

# There are records for one of 2 people. That person is stopped until the flags are too old. A busy
# machine may need longer until the other one has the records.
for pause in 1.5 4 12; do
	race_figures flag:record flag:record:checked --pause="$pause" --shells 2 --query-seconds 0.1
	[ "$(of flag:record given_twice):$(of flag:record:checked retries)" != 3:1 ] || break
done
is "$(of flag:record given_twice given served errors paused)" '3 6 2 0 1' \
	'flag:record: the records of a stopped user are flagged anew, and given twice'
is "$(of flag:record:checked given_twice retries given served empty paused)" '0 1 3 1 1 1' \
	'flag:record:checked: that user sees it, begins again, and finds nothing left'

# locks CONDITION: how many records the UPDATE locks that flags 3 of 40.
locks() {
	sql "USE lockq_lab;
	     SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
	     START TRANSACTION;
	     UPDATE record_test SET lock_status = 1, lock_time = NOW(6)
	      WHERE $1 ORDER BY priority, loan_id LIMIT 3;
	     SELECT ROW_COUNT(), COUNT(*) FROM performance_schema.data_locks
	      WHERE object_name = 'record_test' AND index_name = 'PRIMARY';
	     ROLLBACK"
}
sql "USE lockq_lab; DROP TABLE IF EXISTS record_test;
     CREATE TABLE record_test (loan_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
       priority DATETIME NOT NULL, lock_status TINYINT NOT NULL DEFAULT 0,
       lock_time DATETIME(6) NULL, KEY ready (lock_status, priority, loan_id));
     INSERT INTO record_test (loan_id, priority)
       SELECT loan_id, NOW() - INTERVAL loan_id HOUR FROM loan LIMIT 40"
is "$(locks "lock_status = 0 OR lock_status = 1 AND lock_time < NOW(6) - INTERVAL 1 SECOND")" \
	$'3\t40' 'flag:record: an UPDATE that also takes old flags locks all records'
is "$(locks 'lock_status = 0')" $'3\t3' 'with an index, and free records alone, it locks those'
sql 'DROP TABLE lockq_lab.record_test'
finish
