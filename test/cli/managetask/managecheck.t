#!/usr/bin/env bash
# managetask check finds each of many planted faults, and its mend takes the fault away; the
# example's tasks have none. managetask add and set check first.
# shellcheck disable=SC2016 # these backticks are MySQL's
set -u
# shellcheck source=test/support/accounts.sh
. "$(dirname "$0")/../../support/accounts.sh"

bank=test_check task=50 gone=test_gone@localhost

# One session for all that the administrator does, which saves seconds. It takes DELIMITER.
coproc administrator {
	exec "$top/build/mysql/bin/mysql" --defaults-file="$sandbox/admin.cnf" --batch --force \
		--skip-column-names --unbuffered
}
# shellcheck disable=SC2154 # made by coproc
exec {ask}>&"${administrator[1]}" {answer}<&"${administrator[0]}"
admin() {
	local line
	printf '%s\n%s\n' "${1%;};" "SELECT 'the end of the answer';" >&"$ask"
	while read -r -t "$patience" line <&"$answer"; do
		[ "$line" != 'the end of the answer' ] || return 0
		printf '%s\n' "$line"
	done
	return 1
}
admin 'SET sql_log_bin = 0'

cleanup() {
	forget_bank
	forget_accounts
}
# Rights to a view stay when it goes, so the roles have to go, too.
forget_bank() {
	local role
	for role in worker viewer query cron manager; do
		echo "DROP ROLE IF EXISTS lockq_$role@$bank;"
	done >"$scratch/roles"
	admin "DROP DATABASE IF EXISTS $bank; DROP USER IF EXISTS $gone; $(cat "$scratch/roles")"
}
trap cleanup EXIT

forget_bank
"$top/scripts/sandbox" database $bank >/dev/null
account boss lockq_manager@$bank
account reader lockq_manager@$bank
account query lockq_query@$bank
set -m # or the programs in the background would ignore Ctrl-C
admin "GRANT SELECT, CREATE VIEW, SHOW VIEW, EXECUTE, CREATE ROUTINE ON $bank.*
	  TO test_boss@localhost WITH GRANT OPTION;
	GRANT SELECT ON mysql.user TO test_boss@localhost;
	GRANT SELECT ON mysql.db TO test_boss@localhost;
	GRANT SELECT ON mysql.role_edges TO test_boss@localhost;
	GRANT SHOW_ROUTINE ON *.* TO test_boss@localhost;
	USE $bank;
	CREATE TABLE deed (loan_id BIGINT UNSIGNED PRIMARY KEY, due DATE NOT NULL,
	  line INT NOT NULL);
	INSERT INTO deed
	  WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 990)
	  SELECT n, '2026-01-01' + INTERVAL n DAY, n FROM n;
	CREATE TABLE odd (loan_id BIGINT NULL, due DATE NULL);
	CREATE TABLE spare (loan_id BIGINT UNSIGNED, priority INT);
	CREATE VIEW deeds_to_check AS SELECT 1 AS loan_id, 1 AS priority;
	CREATE VIEW deed_shown AS SELECT 1 AS loan_id;
	GRANT SELECT ON deeds_to_check TO lockq_worker@$bank, lockq_query@$bank;
	GRANT SELECT ON deed_shown TO lockq_worker@$bank, lockq_viewer@$bank;
	INSERT INTO task (task_id, name, candidates_view) VALUES ($task, 'Check the deed', 'x')"

# The task as it should be. Each fault is planted into this one.
good="USE $bank;
	CREATE OR REPLACE SQL SECURITY DEFINER VIEW deeds_to_check AS
	  SELECT loan_id, due AS priority, line FROM deed WHERE loan_id <= 400;
	CREATE OR REPLACE SQL SECURITY DEFINER VIEW deed_shown AS SELECT loan_id, line FROM deed;
	UPDATE task SET candidates_view = 'deeds_to_check', on_complete = 'deed_is_checked',
	  on_undo = NULL, detail_view = 'deed_shown', check_view = NULL, cache_ttl = DEFAULT,
	  refresh_after = NULL,
	  use_unchecked = FALSE, view_repeats = FALSE, max_pipeline = NULL, max_count = DEFAULT,
	  max_query_s = DEFAULT, candidate_limit = DEFAULT, request_ttl = DEFAULT, enabled = TRUE
	  WHERE task_id = $task"
good_procedure="USE $bank; DROP PROCEDURE IF EXISTS deed_is_checked;
	CREATE PROCEDURE deed_is_checked (IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))
	  SQL SECURITY DEFINER DELETE FROM deed WHERE loan_id = p_loan_id;
	GRANT EXECUTE ON PROCEDURE deed_is_checked TO lockq_worker@$bank"
view="CREATE OR REPLACE SQL SECURITY DEFINER VIEW"
rewritten="CREATE OR REPLACE SQL SECURITY DEFINER VIEW \`$bank\`.\`deeds_to_check\` AS "
by_hand="SHOW CREATE VIEW \`$bank\`.\`deeds_to_check\`"
read_it="SHOW CREATE PROCEDURE \`$bank\`.\`deed_is_checked\`"
set_it="managetask set $task"

check() {
	as "${2-boss}" managetask check "$1" --json
}

# found CODE: the findings with this code, as "severity about mend" lines.
found() {
	jq -r --arg code "$1" 'select(.code == $code) | "\(.severity) \(.about) \(.mend)"' <<<"$out"
}

# mend LINE
mend() {
	case $1 in
	managetask*)
		# shellcheck disable=SC2086 # the words of a command
		as boss $1 --by boss
		is "$status" 0 "the mend works: $1"
		;;
	*) admin "USE $bank; $1" ;;
	esac
}

# fault SQL CODE SEVERITY ABOUT MEND [mends]: plants the fault. MEND is how the mend begins.
fault() {
	local line begin="$3 $4 $5"
	admin "$good;
$1"
	check $task
	line=$(found "$2")
	is "${line:0:${#begin}}" "$begin" "$2 of $4"
	[ "$status" = "$([ "$3" = fault ] && echo 4 || echo 0)" ] || ok 1 "$2: exit $status"
	[ "${6-}" = mends ] || return 0
	mend "${line#"$3 $4 "}"
	check $task
	is "$(found "$2" | grep -v ^note)" '' "$2 is mended"
}

# --- nothing to mend ------------------------------------------------------------------------------

admin "$good; $good_procedure"
check $task
is "$status:$(jq -c 'select(.severity)' <<<"$out")" '0:' 'a task as it should be has no findings'
is "$(jq -c '[.faults, .warnings, .rows, .loans, .complete, .exit]' <<<"$out")" \
	'[0,0,400,400,true,0]' 'the last line has the figures'
run env LOCKQ_DEFAULTS_FILE="$scratch/boss.cnf" managetask check $task
like "$out" "^task $task: nothing to mend$" 'and for people: nothing to mend'

# --- views ----------------------------------------------------------------------------------------

fault "UPDATE task SET candidates_view = 'nowhere' WHERE task_id = $task" \
	view_missing fault candidates_view "$set_it --candidates-view VIEW"
fault "UPDATE task SET check_view = 'nowhere' WHERE task_id = $task" \
	view_missing fault check_view "$set_it --check-view none" mends
fault "UPDATE task SET detail_view = 'nowhere' WHERE task_id = $task" \
	view_missing fault detail_view "$set_it --detail-view none" mends
fault "UPDATE task SET detail_view = 'a name' WHERE task_id = $task" \
	bad_name fault detail_view "$set_it --detail-view none" mends
fault "$view deeds_to_check AS SELECT loan_id, priority FROM spare;
	ALTER TABLE spare RENAME COLUMN priority TO urgency" \
	view_broken fault candidates_view "$by_hand"
admin "CREATE USER $gone"
fault "CREATE OR REPLACE DEFINER = $gone SQL SECURITY DEFINER VIEW deeds_to_check AS
	SELECT loan_id, due AS priority FROM deed" view_broken fault candidates_view "$by_hand"
admin "DROP USER $gone"
fault "CREATE OR REPLACE DEFINER = $gone SQL SECURITY DEFINER VIEW deeds_to_check AS
	SELECT loan_id, due AS priority FROM deed" \
	view_definer_gone fault candidates_view "$rewritten" mends
fault "DROP TABLE IF EXISTS other_deeds; CREATE TABLE other_deeds (loan_id INT, priority INT)
	ENGINE = MRG_MYISAM UNION = (nowhere);
	UPDATE task SET candidates_view = 'other_deeds' WHERE task_id = $task" \
	view_fails fault candidates_view "SHOW CREATE VIEW \`$bank\`.\`other_deeds\`"
fault "$view deeds_to_check AS SELECT loan_id AS id, due AS priority FROM deed" \
	no_loan_id fault candidates_view "$by_hand"
fault "$view deeds_to_check AS SELECT loan_id, due FROM deed" \
	no_priority fault candidates_view "$by_hand"
fault "$view deed_shown AS SELECT loan_id AS id FROM deed" \
	no_loan_id fault detail_view "SHOW CREATE VIEW \`$bank\`.\`deed_shown\`"
fault "$view deeds_to_check AS SELECT loan_id + 0.0 AS loan_id, due AS priority, line FROM deed" \
	loan_id_type fault candidates_view \
	"${rewritten}SELECT CAST(v.loan_id AS UNSIGNED) AS \`loan_id\`, v.\`priority\`, " \
	mends
fault "$view deeds_to_check AS SELECT loan_id, JSON_OBJECT('due', due) AS priority FROM deed" \
	priority_type fault candidates_view "${rewritten}SELECT v.\`loan_id\`, CAST(" mends
fault "$view deeds_to_check AS SELECT loan_id, CONCAT(line) AS priority FROM deed" \
	priority_text warning candidates_view \
	"${rewritten}SELECT v.\`loan_id\`, v.priority + 0 AS " mends
fault "CREATE TABLE rush (loan_id INT, priority ENUM('now', 'later'));
	INSERT INTO rush VALUES (1, 'now'), (2, 'later'); $view deeds_to_check AS
	SELECT loan_id, priority FROM rush UNION ALL SELECT loan_id, priority FROM rush" \
	priority_words note candidates_view null
like "$out" "which sorts by its letters: the first loans are 2 \('later'\), 2" \
	'an ENUM through UNION is text, and check shows what comes first'
admin "USE $bank; CREATE TABLE paper (loan_id INT, doc JSON);
	INSERT INTO paper
	  SELECT loan_id, JSON_OBJECT('due', due, 'more', REPEAT('x', 60000)) FROM deed;
	SET GLOBAL sort_buffer_size = 32768"
fault "$view deeds_to_check AS SELECT loan_id, doc ->> '\$' AS priority FROM paper" \
	rows_long fault candidates_view 'SET PERSIST sort_buffer_size = '
admin 'SET GLOBAL sort_buffer_size = DEFAULT'
check $task
is "$(found rows_long)" '' 'and with a larger sort_buffer_size the fault is gone'
fault "$view deeds_to_check AS SELECT loan_id, POINT(line, 0) AS priority FROM deed" \
	priority_type fault candidates_view "$by_hand"
fault "CREATE OR REPLACE SQL SECURITY INVOKER VIEW deeds_to_check AS
	SELECT loan_id, due AS priority FROM deed" \
	view_invoker fault candidates_view "$rewritten" mends
fault "$view deeds_to_check AS SELECT loan_id, due AS priority, USER() AS me FROM deed" \
	view_of_session warning candidates_view "$by_hand"
fault "$view deeds_to_check AS SELECT loan_id, CONNECTION_ID() AS priority FROM deed" \
	view_of_session warning candidates_view "$by_hand"
fault "$view deeds_to_check AS SELECT loan_id, RAND() AS priority FROM deed" \
	view_of_chance warning candidates_view "$by_hand"
fault "$view deeds_to_check AS SELECT loan_id, due AS priority, SLEEP(0) AS nap FROM deed" \
	view_waits warning candidates_view "$by_hand"
fault "$view deeds_to_check AS SELECT loan_id, due AS priority FROM deed
	 WHERE loan_id IN (SELECT loan_id FROM odd) OR line > 0 ORDER BY due LIMIT 10" \
	view_limit warning candidates_view "$rewritten" mends
fault "CREATE OR REPLACE SQL SECURITY INVOKER VIEW deeds_to_check AS
	SELECT loan_id, line AS priority FROM deed_shown
	 WHERE CURRENT_USER() <> ''" view_of_session warning candidates_view "$by_hand"
# Views behind it, the second behind the first.
admin "USE $bank; $view deed_of_all AS
	SELECT loan_id, due AS priority, USER() AS me, UUID_SHORT() AS n FROM deed LIMIT 500;
	$view deed_of_some AS SELECT loan_id, priority FROM deed_of_all;
	$view deed_count AS SELECT line FROM deed WHERE CURRENT_USER() <> '' LIMIT 2"
behind="SHOW CREATE VIEW \`$bank\`.\`deed_of_all\`"
fault "$view deeds_to_check AS SELECT loan_id, priority FROM deed_of_some WHERE loan_id <= 400" \
	view_limit warning candidates_view "$behind"
is "$(found view_of_session)|$(found view_of_chance)" \
	"warning candidates_view $behind|warning candidates_view $behind" \
	'calls in a view behind it, too'
admin "$good; $view deeds_to_check AS SELECT loan_id, due AS priority, line FROM deed
	WHERE line IN (SELECT line FROM deed_count)"
check $task
is "$(jq -c 'select(.severity).code' <<<"$out")" '' 'a LIMIT of other things than loans is no fault'
admin "$good; $view deeds_to_check AS
	SELECT loan_id, (SELECT ' limit 1 user()' FROM deed LIMIT 1) AS priority FROM deed"
check $task
is "$(found view_limit)$(found view_of_session)" '' \
	'a LIMIT of a subquery and a string are no faults'

# --- rights ---------------------------------------------------------------------------------------

grants="GRANT SELECT ON \`$bank\`.\`deeds_to_check\` TO \`lockq_worker\`@\`$bank\`"
fault "REVOKE SELECT ON deeds_to_check FROM lockq_worker@$bank" \
	worker_select fault candidates_view "$grants" mends
fault "REVOKE SELECT ON deed_shown FROM lockq_worker@$bank" \
	worker_select fault detail_view "${grants/deeds_to_check/deed_shown}" mends
fault "REVOKE SELECT ON deed_shown FROM lockq_viewer@$bank" viewer_select warning detail_view \
	"GRANT SELECT ON \`$bank\`.\`deed_shown\` TO \`lockq_viewer\`@\`$bank\`" mends
fault "$view deed_matches AS SELECT loan_id FROM deed;
	UPDATE task SET check_view = 'deed_matches', cache_ttl = 60 WHERE task_id = $task" \
	worker_select fault check_view "${grants/deeds_to_check/deed_matches}" mends
fault "REVOKE SELECT ON deeds_to_check FROM lockq_query@$bank" query_select note candidates_view \
	"GRANT SELECT ON \`$bank\`.\`deeds_to_check\` TO \`lockq_query\`@\`$bank\`" mends
admin "$good; REVOKE SELECT ON deeds_to_check FROM lockq_worker@$bank;
	GRANT SELECT (loan_id, priority) ON deeds_to_check TO lockq_worker@$bank"
check $task
is "$(found worker_select)" '' 'the two columns are enough'
admin "REVOKE SELECT (priority) ON $bank.deeds_to_check FROM lockq_worker@$bank"
check $task
like "$(found worker_select)" '^fault candidates_view' 'one of them is not'
admin "REVOKE SELECT (loan_id) ON $bank.deeds_to_check FROM lockq_worker@$bank;
	CREATE ROLE test_reads_the_deeds@$bank;
	GRANT SELECT ON $bank.deeds_to_check TO test_reads_the_deeds@$bank;
	GRANT test_reads_the_deeds@$bank TO lockq_worker@$bank"
check $task
is "$(found worker_select)" '' "nor is a right of a role that workers have missed"
admin "DROP ROLE test_reads_the_deeds@$bank;
	GRANT SELECT ON mysql.tables_priv TO test_boss@localhost;
	GRANT SELECT ON $bank.* TO lockq_worker@$bank"
check $task
is "$(found worker_select)" '' 'nor one on the whole database, if the account can see it'
admin "REVOKE SELECT ON mysql.tables_priv FROM test_boss@localhost;
	REVOKE SELECT ON $bank.* FROM lockq_worker@$bank;
	GRANT SELECT ON $bank.deeds_to_check TO lockq_worker@$bank"

# --- the procedure --------------------------------------------------------------------------------

procedure="DROP PROCEDURE IF EXISTS deed_is_checked; CREATE PROCEDURE deed_is_checked"
parameters='(IN p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64))'
fault 'DROP PROCEDURE deed_is_checked' \
	procedure_missing fault on_complete "$set_it --on-complete none" mends
fault "DROP FUNCTION IF EXISTS deed_count; CREATE FUNCTION deed_count () RETURNS INT
	READS SQL DATA RETURN 1; UPDATE task SET on_complete = 'deed_count' WHERE task_id = $task" \
	procedure_function fault on_complete "$set_it --on-complete none" mends
fault "$procedure (IN p_loan_id BIGINT UNSIGNED) DO 0" \
	procedure_parameters fault on_complete "$read_it"
fault "$procedure (OUT p_loan_id BIGINT UNSIGNED, IN p_user VARCHAR(64)) DO 0" \
	procedure_parameters fault on_complete "$read_it"
fault "$procedure (IN p_loan_id INT, IN p_user VARCHAR(64)) DO 0" \
	procedure_parameters fault on_complete "$read_it"
fault "$procedure (IN p_loan_id BIGINT, IN p_user VARCHAR(10)) DO 0" \
	procedure_parameters fault on_complete "$read_it"
fault "$procedure $parameters DO 0" worker_execute fault on_complete \
	"GRANT EXECUTE ON PROCEDURE \`$bank\`.\`deed_is_checked\` TO \`lockq_worker\`@\`$bank\`" \
	mends
fault "$procedure $parameters SQL SECURITY INVOKER DO 0" procedure_invoker fault on_complete \
	"ALTER PROCEDURE \`$bank\`.\`deed_is_checked\` SQL SECURITY DEFINER" mends
fault "${procedure/CREATE/CREATE DEFINER = $gone} $parameters DO 0" \
	procedure_definer_gone fault on_complete "$read_it"
fault "DELIMITER //
$procedure $parameters BEGIN DELETE FROM deed WHERE loan_id = p_loan_id; COMMIT; END//
DELIMITER ;" procedure_commits fault on_complete "$read_it"
fault "$procedure $parameters  /* a table */
	  -- of another kind
	  # for the test
	  Create
	  TABLE IF NOT EXISTS other (n INT)" procedure_commits fault on_complete "$read_it"
fault "DELIMITER //
$procedure $parameters BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION DO 0; DO 0; END//
DELIMITER ;
GRANT EXECUTE ON PROCEDURE deed_is_checked TO lockq_worker@$bank" \
	procedure_catches warning on_complete "$read_it"
# text BODY...: what the check says of procedures with these bodies, the first word of each code.
text() {
	local body all=
	for body in "$@"; do
		admin "DELIMITER //
$procedure $parameters BEGIN $body; END//
DELIMITER ;
GRANT EXECUTE ON PROCEDURE deed_is_checked TO lockq_worker@$bank"
		check $task
		all+=$(jq -rj 'select(.about == "on_complete") | .code | ltrimstr("procedure_")' \
			<<<"$out"),
	done
	printf %s "$all"
}
is "$(text 'TRUNCATE deed' 'DROP INDEX i ON deed' 'CREATE UNIQUE INDEX i ON deed (line)' \
	'SET @n = 1, autocommit = 1' "GRANT SELECT ON deed TO lockq_worker@$bank" \
	'IF p_user = 1 THEN SAVEPOINT s; ROLLBACK TO s; ELSE ROLLBACK; END IF' \
	'DECLARE EXIT HANDLER FOR SQLEXCEPTION COMMIT; DO 0')" \
	commits,commits,commits,commits,commits,commits,commitscatches, \
	'statements that end the transaction'
caught='DECLARE CONTINUE HANDLER FOR'
is "$(text "$caught NOT FOUND, SQLEXCEPTION DO 0; DO 0" "$caught 1205, 1213 DO 0; DO 0" \
	"$caught SQLSTATE VALUE '40001' DO 0; DO 0" \
	"$caught SQLEXCEPTION RESIGNAL; BEGIN $caught SQLEXCEPTION DO 0; END")" \
	catches,catches,catches,catches, 'handlers that swallow a deadlock'
is "$(text 'SAVEPOINT s; ROLLBACK WORK TO SAVEPOINT s' 'DROP TEMPORARY TABLE IF EXISTS t' \
	'UPDATE deed SET line = TRUNCATE(line, 0) WHERE loan_id = p_loan_id' \
	'SET @n = @@autocommit, @m = (SELECT MAX(c.commit) FROM (SELECT 1 AS commit) AS c)' \
	"$caught NOT FOUND SET @n = 1; DO 0" "$caught SQLSTATE '23000' BEGIN END; DO 0" \
	"$caught SQLEXCEPTION BEGIN SET @n = 1; RESIGNAL; END; DO 0" \
	$'DO 0; -- COMMIT\n# COMMIT\nDO 1')" ,,,,,,,, \
	'others that look like them'
admin "$good; $procedure $parameters COMMENT 'x'
	UPDATE deed SET line = LENGTH('commit; drop table deed') /* commit */"
check $task
is "$(found procedure_commits)" '' 'a string and a comment commit nothing'

# The same of on_undo, which managers call.
undone="UPDATE task SET on_undo = 'deed_is_undone' WHERE task_id = $task;
	DROP PROCEDURE IF EXISTS deed_is_undone"
undo="$undone; CREATE PROCEDURE deed_is_undone"
fault "$undone" procedure_missing fault on_undo "$set_it --on-undo none" mends
fault "$undo $parameters DO 0" manager_execute fault on_undo \
	"GRANT EXECUTE ON PROCEDURE \`$bank\`.\`deed_is_undone\` TO \`lockq_manager\`@\`$bank\`" \
	mends
fault "$undo (IN p_loan_id BIGINT UNSIGNED) DO 0" procedure_parameters fault on_undo \
	"${read_it/checked/undone}"
admin "$good_procedure; DROP PROCEDURE deed_is_undone"

# --- what the query finds -------------------------------------------------------------------------

fault "DELETE FROM odd; INSERT INTO odd VALUES (1, NOW()), (NULL, NOW());
	$view deeds_to_check AS SELECT loan_id, due AS priority FROM odd" \
	null_loan_id fault candidates_view "$rewritten" mends
fault "DELETE FROM odd; INSERT INTO odd VALUES (1, NOW()), (-2, NOW());
	$view deeds_to_check AS SELECT loan_id, due AS priority FROM odd" \
	negative_loan_id fault candidates_view "$rewritten" mends
fault "DELETE FROM odd; INSERT INTO odd VALUES (1, NOW()), (2, NULL);
	$view deeds_to_check AS SELECT loan_id, due AS priority FROM odd" \
	null_priority warning candidates_view "$rewritten" mends
fault "$view deeds_to_check AS SELECT loan_id, due AS PRIORITY FROM odd" \
	null_priority warning candidates_view \
	"${rewritten}SELECT v.\`loan_id\`, COALESCE(v.priority, DATE'9999-12-31') AS "
fault "UPDATE task SET candidate_limit = 10, max_count = 5 WHERE task_id = $task;
	$view deeds_to_check AS SELECT loan_id DIV 8 AS loan_id, due AS priority FROM deed" \
	loans_repeat warning view_repeats "$set_it --view-repeats yes" mends
fault "$view deeds_to_check AS SELECT loan_id, (SELECT line FROM deed) AS priority FROM deed" \
	query_fails fault candidates_view "$by_hand"
fault "DROP FUNCTION IF EXISTS deed_noted;
DELIMITER //
CREATE FUNCTION deed_noted (p_loan_id BIGINT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA
BEGIN INSERT INTO spare (loan_id) VALUES (p_loan_id); RETURN 1; END//
DELIMITER ;
	$view deeds_to_check AS SELECT loan_id, deed_noted(loan_id) AS priority FROM deed" \
	view_writes fault candidates_view "$by_hand"
is "$(admin "SELECT COUNT(*) FROM $bank.spare")" 0 'the check has written nothing'
slow="$view deeds_to_check AS
	SELECT loan_id, due AS priority FROM deed WHERE loan_id <= 3 AND SLEEP(0.37) = 0"
fault "$slow; UPDATE task SET max_query_s = 1 WHERE task_id = $task" \
	query_slow fault max_query_s "$set_it --max-query-s 2"
fault "$slow; UPDATE task SET cache_ttl = 1, request_ttl = 1, use_unchecked = TRUE
	WHERE task_id = $task" \
	ttl_short warning cache_ttl "$set_it --cache-ttl 20"
like "$(found requests_expire)" "^warning request_ttl $set_it --request-ttl 4" requests_expire

# --- a kept list ----------------------------------------------------------------------------------

keeps="GRANT SELECT ON deed_matches TO lockq_worker@$bank;
	UPDATE task SET cache_ttl = 60, check_view = 'deed_matches' WHERE task_id = $task;
	$view deed_matches AS"
fault "$keeps SELECT loan_id FROM deed WHERE SLEEP(0.03) = 0" \
	check_slow fault check_view "$set_it --use-unchecked yes" mends
fault "$keeps SELECT loan_id FROM deed WHERE (SELECT line FROM deed) = 1" \
	check_fails fault check_view "$set_it --use-unchecked yes" mends
fault "$keeps SELECT loan_id FROM deed WHERE loan_id > 3" \
	check_hides fault check_view "$set_it --check-view none" mends
fault "$view deeds_to_check AS SELECT loan_id, due AS priority FROM deed;
	$keeps SELECT loan_id FROM (SELECT loan_id, RANK() OVER (ORDER BY line) AS n FROM deed) AS d
	WHERE n > 0" not_pushed_down warning check_view "$set_it --check-view VIEW"
is "$(jq -c 'select(has("exit")) | .pushed_down' <<<"$out")" false 'the figures say so'
fault "$keeps SELECT loan_id AS id FROM deed" \
	no_loan_id fault check_view "SHOW CREATE VIEW \`$bank\`.\`deed_matches\`"
fault "UPDATE task SET cache_ttl = 60, refresh_after = 60 WHERE task_id = $task" \
	refresh_late warning refresh_after "$set_it --refresh-after none" mends
fault "UPDATE task SET cache_ttl = 60, share = 'evenly' WHERE task_id = $task" \
	share_without_list warning share "$set_it --cache-ttl 0" mends
admin "UPDATE task SET share = 'order' WHERE task_id = $task"
fault "UPDATE task SET max_pipeline = 2, max_count = 5 WHERE task_id = $task" \
	pipeline_below_count warning max_pipeline "$set_it --max-pipeline 5" mends
other='not_same_user_as'
fault "UPDATE task SET $other = 4711 WHERE task_id = $task" \
	other_task_unknown fault $other "$set_it --not-same-user-as none" mends
fault "UPDATE task SET $other = $task WHERE task_id = $task" \
	other_task_itself fault $other "$set_it --not-same-user-as none" mends
admin "INSERT INTO task (task_id, name, candidates_view, enabled) VALUES (4711, 'x', 'x', FALSE)"
fault "UPDATE task SET $other = 4711 WHERE task_id = $task" \
	other_task_disabled warning $other 'managetask enable 4711' mends
admin "UPDATE task SET $other = NULL WHERE task_id = $task; DELETE FROM task WHERE task_id = 4711"
admin "$good; UPDATE task SET cache_ttl = 60 WHERE task_id = $task"
check $task
is "$(jq -c 'select(has("exit")) | [.faults, .warnings]' <<<"$out")" '[0,0]' \
	'a list with a view that is fast has nothing to mend'

# --- the detail view ------------------------------------------------------------------------------

fault "$view deed_shown AS SELECT loan_id, line FROM deed UNION ALL SELECT loan_id, 0 FROM deed" \
	detail_repeats warning detail_view "SHOW CREATE VIEW \`$bank\`.\`deed_shown\`"
fault "$view deed_shown AS SELECT loan_id, line FROM deed WHERE loan_id > 900" \
	detail_empty warning detail_view "$set_it --detail-view none" mends
fault "$view deed_shown AS SELECT loan_id, line FROM deed WHERE (SELECT line FROM deed) = 1" \
	detail_fails warning detail_view "$set_it --detail-view none" mends

# --- lockq's own statements -----------------------------------------------------------------------

fault 'ALTER TABLE kept_loan DROP KEY kept_loan_loan' index_missing fault lockq \
	'ALTER TABLE `kept_loan` ADD KEY kept_loan_loan (task_id, epoch, loan_id)' mends
# In a group each table keeps a primary key.
makes_keys=$(sql "SELECT COUNT(*) FROM performance_schema.global_variables
	WHERE variable_name = 'sql_generate_invisible_primary_key' AND variable_value = 'ON'")
[ "$makes_keys" = 1 ] ||
	fault 'ALTER TABLE pipeline_lock DROP PRIMARY KEY' full_scan fault lockq \
		'ALTER TABLE `pipeline_lock` ADD PRIMARY KEY (task_id, user_id)' mends
fault 'ALTER TABLE work_requested DROP KEY work_requested_line,
	ADD KEY work_requested_line (task_id, pending, requested)' sort_under_lock fault lockq \
	'ALTER TABLE `work_requested` DROP KEY work_requested_line, ADD KEY' mends

# --- the account of heavy queries -----------------------------------------------------------------

# elsewhere USER PASSWORD: the option file of an account whose query has another one.
elsewhere() {
	{
		cat "$scratch/boss.cnf"
		printf '[lockq_query]\nuser=%s\npassword=%s\n' "$1" "$2"
	} >"$scratch/elsewhere.cnf"
	chmod 600 "$scratch/elsewhere.cnf"
}
elsewhere test_query test
admin "$good"
check $task elsewhere
is "$status:$(jq -c 'select(.severity)' <<<"$out")" '0:' 'an account of lockq_query that may read'
admin "REVOKE SELECT ON $bank.deeds_to_check FROM lockq_query@$bank"
check $task elsewhere
grants=$(found query_select)
is "$grants" "fault candidates_view GRANT SELECT ON \`$bank\`.\`deeds_to_check\` TO \
\`lockq_query\`@\`$bank\`" 'query_select is a fault where the query has such an account'
mend "${grants#fault candidates_view }"
admin "REVOKE lockq_query@$bank FROM test_query@localhost;
	GRANT SELECT ON $bank.deed_shown TO test_query@localhost"
check $task elsewhere
grants=$(found query_role)
is "$grants" "fault candidates_view GRANT \`lockq_query\`@\`$bank\` TO \
\`test_query\`@\`localhost\`" \
	query_role
mend "${grants#fault candidates_view }"
admin 'SET DEFAULT ROLE ALL TO test_query@localhost'
check $task elsewhere
is "$(found query_role)" '' 'query_role is mended'
elsewhere test_query wrong
check $task elsewhere
like "$status:$(found query_place)" '^0:warning lockq' 'query_place: the query runs here'

# --- what an account may not see ------------------------------------------------------------------

admin "$good; $good_procedure; UPDATE task SET check_view = 'deeds_to_check' WHERE task_id = $task;
	REVOKE SELECT ON deed_shown FROM lockq_worker@$bank, lockq_viewer@$bank;
	REVOKE EXECUTE ON PROCEDURE deed_is_checked FROM lockq_worker@$bank"
check $task reader
like "$(found view_unseen)" '^fault detail_view GRANT SELECT ON .*deed_shown' view_unseen
like "$(found procedure_unseen)" '^fault on_complete GRANT EXECUTE ON PROC' procedure_unseen
like "$(found no_list)" '^note check_view' 'no_list: check_view does nothing'
admin "GRANT SELECT ON $bank.deed_shown TO lockq_worker@$bank, lockq_viewer@$bank;
	GRANT EXECUTE ON PROCEDURE $bank.deed_is_checked TO lockq_worker@$bank;
	UPDATE $bank.task SET check_view = NULL WHERE task_id = $task"
check $task reader
is "$status:$(found text_unseen | sort | tr '\n' ' ')" \
	'0:note candidates_view null note detail_view null note on_complete null ' text_unseen
admin "GRANT EXECUTE ON PROCEDURE $bank.deed_is_checked TO test_reader@localhost"
check $task reader
like "$(found definer_unseen)" '^note on_complete' definer_unseen
admin "REVOKE SELECT ON $bank.deeds_to_check FROM lockq_worker@$bank, lockq_query@$bank;
	GRANT SHOW VIEW ON $bank.deeds_to_check TO test_reader@localhost"
check $task reader
like "$status:$(found view_unread)$(found worker_select)" \
	'^4:note candidates_view null.*fault candidates_view GRANT' \
	'view_unread: the right that is missing is the fault'
admin "GRANT SELECT ON $bank.deeds_to_check TO lockq_worker@$bank, lockq_query@$bank;
	UPDATE $bank.task SET on_complete = NULL, enabled = FALSE, candidate_limit = 7
	 WHERE task_id = $task"
check $task
for code in no_on_complete disabled query_cut; do
	like "$(found $code)" '^note ' "$code is a note"
done
is "$status:$(jq -c 'select(has("exit")) | [.rows, .complete]' <<<"$out")" '0:[7,false]' \
	'a query that candidate_limit cuts'
admin "$good; DELETE FROM odd;
	$view deeds_to_check AS SELECT loan_id, due AS priority FROM odd"
check $task
like "$(found nothing_found)" '^note ' 'nothing_found is a note'
admin "$good; REVOKE lockq_manager@$bank FROM test_reader@localhost;
	GRANT SELECT ON $bank.* TO test_reader@localhost"
check $task reader
is "$status:$(found rights_unseen)" '0:note lockq null' 'rights_unseen: a role is missing'
admin "REVOKE SELECT ON $bank.* FROM test_reader@localhost;
	GRANT SELECT ON $bank.task TO test_reader@localhost;
	GRANT SELECT ON $bank.task_touched TO test_reader@localhost;
	GRANT SELECT (task_id, loan_id, assigned_at) ON $bank.work TO test_reader@localhost;
	GRANT SELECT ON $bank.schema_version TO test_reader@localhost"
check $task reader
is "$(found plans_unseen)" 'note lockq null' 'plans_unseen: all roles are'
like "$(jq -r 'select(.code == "plans_unseen").text' <<<"$out")" "the role 'lockq_manager'@" \
	'and the one for the check is named'
check 51
like "$status:$err" '^4:managetask: task 51 is unknown' 'an unknown task'

# --- temporary tables -----------------------------------------------------------------------------

# makers TEST ACCOUNTS REVOKE: who may make them, and the mend works.
makers() {
	local line
	check $task
	line=$(jq -r 'select(.code == "temporary_tables") | "\(.severity) \(.about) \(.text)"' \
		<<<"$out")
	is "$status:$line" "0:warning lockq $2 may make temporary tables in \"$bank\", which take \
the place of lockq's tables inside its procedures" "temporary_tables: $1"
	line=$(jq -r 'select(.code == "temporary_tables") | .mend' <<<"$out")
	is "$line" "REVOKE CREATE TEMPORARY TABLES ON $3" "$1: the REVOKE"
	mend "$line"
	check $task
	is "$(found temporary_tables)" '' "$1: the REVOKE mends it"
}
admin "$good; GRANT CREATE TEMPORARY TABLES ON $bank.* TO test_query@localhost"
makers 'on the database' "'test_query'@'localhost'" "\`$bank\`.* FROM 'test_query'@'localhost'"
admin 'GRANT CREATE TEMPORARY TABLES ON `test\_che_k%`.* TO test_query@localhost'
makers 'on databases with names of a kind' "'test_query'@'localhost'" \
	'`test\_che_k%`.* FROM '"'test_query'@'localhost'"
admin 'GRANT CREATE TEMPORARY TABLES ON *.* TO test_query@localhost'
makers 'on all databases' "'test_query'@'localhost'" "*.* FROM 'test_query'@'localhost'"
admin "CREATE ROLE test_inner, test_outer;
	GRANT CREATE TEMPORARY TABLES ON $bank.* TO test_inner; GRANT test_inner TO test_outer;
	GRANT test_outer TO test_query@localhost, test_reader@localhost"
makers 'by a role of a role' \
	"'test_query'@'localhost', 'test_reader'@'localhost', by the role 'test_inner'@'%'," \
	"\`$bank\`.* FROM 'test_inner'@'%'"
admin "GRANT CREATE TEMPORARY TABLES ON $bank.* TO lockq_cron@$bank;
	GRANT lockq_cron@$bank TO test_query@localhost"
makers "by one of lockq's own roles" \
	"'test_query'@'localhost', by the role 'lockq_cron'@'$bank'," \
	"\`$bank\`.* FROM 'lockq_cron'@'$bank'"
admin "GRANT CREATE TEMPORARY TABLES ON $bank.* TO test_inner;
	DROP ROLE test_outer"
check $task
is "$(found temporary_tables)" '' 'a role that nobody has makes none'
admin "DROP ROLE test_inner; GRANT lockq_manager@$bank TO test_reader@localhost;
	GRANT SELECT, CREATE TEMPORARY TABLES ON \`test\_check\`.* TO test_reader@localhost"
check $task reader
is "$(found accounts_unseen)" 'note lockq null' 'accounts_unseen: others can not be seen'
is "$(found temporary_tables)" "warning lockq REVOKE CREATE TEMPORARY TABLES ON \
\`test\\_check\`.* FROM 'test_reader'@'localhost'" 'but an account sees its own right'
admin "REVOKE lockq_manager@$bank FROM test_reader@localhost;
	REVOKE SELECT, CREATE TEMPORARY TABLES ON \`test\_check\`.* FROM test_reader@localhost"

# --- add and set ----------------------------------------------------------------------------------

admin "$good; DROP VIEW IF EXISTS new_deeds;
	$view new_deeds AS SELECT loan_id, due AS priority FROM deed"
add=(managetask add --by boss --name New --on-complete deed_is_checked --candidates-view)
tasks() {
	admin "SELECT COUNT(*) FROM $bank.task WHERE task_id > $task"
}
as boss "${add[@]}" nowhere
is "$status:$(tasks):$out" '4:0:' 'a task whose view is missing is not added'
like "$err" '^managetask: fault: candidates_view "nowhere" is not there' 'and the fault is said'
like "$err" '^managetask: the task was not added: mend that fault, or say --unchecked$' \
	'with advice'
as boss "${add[@]}" nowhere --json
is "$status:$(jq -c .exit <<<"$out")" '4:4' 'with --json as one object'
as boss "${add[@]}" nowhere --unchecked
is "$status:$(tasks)" '0:1' 'unless it is not checked'
grants="GRANT SELECT ON \`$bank\`.\`new_deeds\` TO"
as boss "${add[@]}" new_deeds
is "$status:$out" "0:task 52: added
these rights are missing: run this, or give --grant:
  $grants \`lockq_worker\`@\`$bank\`;
  $grants \`lockq_query\`@\`$bank\`;" 'rights that are missing are shown as SQL'
as boss "${add[@]}" new_deeds --json
is "$status:$(jq -c '.grant // .done' <<<"$out" | tr '\n' ' ')" \
	"0:\"added\" \"$grants \`lockq_worker\`@\`$bank\`\" \
\"$grants \`lockq_query\`@\`$bank\`\" " \
	'with --json one object a line'
as reader "${add[@]}" new_deeds --unchecked
is "$status:$(tasks)" '5:3' 'an account without the role adds nothing'
admin "GRANT lockq_manager@$bank TO test_reader@localhost;
	GRANT SELECT ON $bank.new_deeds TO test_reader@localhost;
	SET DEFAULT ROLE ALL TO test_reader@localhost"
as reader "${add[@]}" new_deeds --grant
is "$status:$(tasks)" '4:4' 'an account that may not grant'
like "$err" "^managetask: this account can't run \"GRANT SELECT" 'is told so'
as boss managetask set 52 --by boss --max-count 7 --grant
is "$status:$out" "0:task 52: changed
these rights were missing, and are granted now:
  $grants \`lockq_worker\`@\`$bank\`;
  $grants \`lockq_query\`@\`$bank\`;" '--grant runs them'
check 52
is "$status:$(jq -c 'select(has("exit")) | [.faults, .warnings]' <<<"$out")" '0:[0,0]' \
	'and then the task has nothing to mend'
as boss managetask set 51 --by boss --max-count 3
is "$status:$out" '0:task 51: changed' \
	'a part that is broken already keeps nobody from setting another'
like "$err" '^managetask: warning: candidates_view "nowhere" is not there' 'but is a warning'
as boss managetask set 51 --by boss --detail-view nowhere
is "$status" 4 'what is to be set is judged'
as boss managetask set 51 --by boss --detail-view 'a b'
is "$status" 2 'a value that no task may have is a usage error'
as boss managetask add --by boss --name Open --candidates-view new_deeds
is "$status:${out#task }" '0:55: added' 'a task without on_complete is added'
like "$err" '^managetask: warning: a loan that is completed is offered again' 'with a warning'

# --- beside others --------------------------------------------------------------------------------

# Whoever runs this query waits at the gate, which the other session keeps shut.
admin "INSERT INTO $bank.app_user (name) VALUES ('anna'); $good;
	$view deeds_to_check AS SELECT loan_id, due AS priority FROM deed
	 WHERE GET_LOCK('test gate check', 300) + RELEASE_LOCK('test gate check') > 0"
account anna lockq_worker@$bank
gate() {
	[ "$(admin "SELECT $1('test gate check'$2)")" = 1 ]
}
# at_gate: how many sessions of this account wait there.
at_gate() {
	[ "$(admin "SELECT COUNT(*) FROM information_schema.processlist
		WHERE user = 'test_$1' AND state = 'User lock'")" = "$2" ]
}
gate GET_LOCK ', 300'
LOCKQ_DEFAULTS_FILE=$scratch/boss.cnf managetask check $task >"$scratch/out" 2>"$scratch/err" &
checking=$!
wait_for at_gate boss 1
is "$(admin "SELECT COUNT(*) FROM performance_schema.data_locks
	WHERE object_schema = '$bank'")" 0 'no row is locked while the query of a check runs'
as boss managetask set $task --by boss --max-count 6
is "$status" 0 'nor does a manager wait for it'
kill -INT $checking
status=0
wait $checking || status=$?
is "$status:$(cat "$scratch/out"):$(cat "$scratch/err")" '130::managetask: interrupted' \
	'Ctrl-C ends the check'
wait_for at_gate boss 0
ok 0 'and its query'
LOCKQ_DEFAULTS_FILE=$scratch/anna.cnf getwork --user anna --task $task >"$scratch/out" 2>&1 &
asking=$!
wait_for at_gate anna 1
as boss managetask set $task --by boss --max-count 5
is "$status" 0 'a task is checked and changed while somebody leads it'
LOCKQ_DEFAULTS_FILE=$scratch/boss.cnf managetask check $task --json >"$scratch/err" 2>&1 &
checking=$!
wait_for at_gate boss 1
is "$(at_gate anna 1 && echo waits)" waits 'a check does not end the query of a leader'
gate RELEASE_LOCK ''
wait $asking
is "$?" 0 'who asked gets loans'
wait $checking
is "$?:$(jq -c 'select(has("exit")) | .rows >= 985' "$scratch/err")" '0:true' \
	'and the check ends, too'

# --- a failure that is over, and what else health finds -------------------------------------------

# health: the codes of what lockqstat --health finds of the task.
health() {
	as reader lockqstat --health --task $task --json
	jq -r 'select(.code != null) | .code' <<<"$out" | paste -sd ' '
}
# fails [N]: the next leader, or so many, fail.
fails() {
	local n
	admin "USE $bank; $view deeds_to_check AS SELECT loan_id, due AS priority FROM deed
	       WHERE (SELECT line FROM deed WHERE loan_id < 3) > 0"
	for ((n = 0; n < ${1-1}; n++)); do
		as anna getwork --user anna --task $task --fresh
		[ "$status" = 5 ] || ok 1 "a leader fails: exit $status, $err"
	done
	admin "$good"
}
# codes: those of the check, as "severity code"; noted: how often it was noted.
codes() {
	jq -r 'select(.code != null) | "\(.severity) \(.code)"' <<<"$out"
}
noted() {
	admin "SELECT COUNT(*) FROM $bank.manage_log WHERE action = 'task checked'
		AND task_id = $task AND manager = 'boss'"
}
admin "$good"
as anna getwork --user anna --task $task --fresh
fails 3
is "$(health)" query_fails 'leaders failed: health says so'
as reader lockqstat --health --task $task
is "${out##*: }" "see managetask check $task" \
	'and leads to the check'
as anna managetask check $task --json
is "$status:$(codes | grep fail)" '0:warning query_fails
note failure_stays' 'an account that may note nothing: the failure stays a warning'
like "$(jq -r 'select(.code == "failure_stays").text' <<<"$out")" "the role .*lockq_manager" \
	'and why'
is "$(health)" query_fails 'for health, too'
LOCKQ_USER=$'\xff' as boss managetask check $task --json
is "$status:$(codes | grep fail):$(jq -r 'select(.code == "failure_stays").text' <<<"$out" |
	sed 's/.*: //')" '0:warning query_fails
note failure_stays:no manager was named' 'a check by nobody notes nothing, but it looks'
admin "UPDATE $bank.task SET candidates_view = 'nowhere' WHERE task_id = $task"
as boss managetask check $task --by boss --json
is "$status:$(codes | grep fail):$(noted)" '4:warning query_fails:0' \
	'a check that finds a fault notes nothing'
admin "$good"
as boss managetask check $task --by boss
like "$out" '^  the last failure is over, so it is no warning any more: ' \
	'one that finds none says that the failure is over'
is "$(noted):$(health):$status" 1::0 'notes it, and health warns no more'
as reader lockqstat --metrics --task $task
is "$(grep -c '^lockq_finding{' <<<"$out"):$(sed -n 's/^lockq_failures_in_a_row.* //p' <<<"$out")" \
	0:0 'nor do the metrics'
# served WHEN: when those got their answers who got some.
served() {
	admin "UPDATE $bank.work_requested SET served_at = $1
	        WHERE task_id = $task AND outcome <> 'failed'"
}
served 'NOW(6) - INTERVAL 2 HOUR'
is "$(health)" '' 'nor of the calls that failed with their leaders, where nobody was served'
served 'NOW(6)'
as boss managetask check $task --by boss --json
is "$(codes):$(noted)" :1 'the next check has nothing to note'
fails
is "$(health)" query_failed 'a later failure is a warning again, and one that was before is none'

# A list that could not be filled is tried again at once.
admin "UPDATE $bank.task SET cache_ttl = 600 WHERE task_id = $task;
	REPLACE INTO $bank.task_refill (task_id, tried_at, failures, reason)
	  VALUES ($task, NOW(6), 5, 'no table')"
is "$(health)" 'refill_fails query_failed' 'a list could not be filled'
as boss managetask check $task --by boss
is "$(health):$(admin "SELECT failures FROM $bank.task_refill WHERE task_id = $task")" :0 \
	'the check ends both'

# What runs now is a warning of the check, with the same words and what mends it.
admin "INSERT INTO $bank.leader_run (task_id, epoch, user, how, candidates, query_ms, started_at,
	                             ended_at)
	  SELECT $task, MAX(epoch) + 1, 'anna', 'query', 400, 9, NOW(6), NOW(6)
	    FROM $bank.leader_run WHERE task_id = $task;
	INSERT INTO $bank.leader_run (task_id, epoch, user, how, candidates, query_ms, started_at,
	                              ended_at)
	  SELECT $task, MAX(epoch) + 1, 'anna', 'query', 0, 9, NOW(6), NOW(6)
	    FROM $bank.leader_run WHERE task_id = $task"
check $task
is "$status:$(codes)" '0:warning found_nothing' 'what health finds is a warning of the check'
is "$(jq -r '.text | select(.)' <<<"$out")" \
	'the last query found nothing, the one before found 400: look at the view' 'and its remedy'
admin "BEGIN; SELECT 1 INTO @x FROM $bank.task_lock WHERE task_id = $task FOR UPDATE"
as boss managetask check $task
like "$out" "^  the lock of task $task is held by .*: KILL [0-9]+ ends it" \
	'so is a session that has its lock'
like "$out" "task $task: 0 faults, 2 warnings" 'they are counted'
admin 'ROLLBACK'
admin "DELETE FROM $bank.leader_run WHERE task_id = $task"

# --- the example ----------------------------------------------------------------------------------

for n in 1 2 3 4 5 6 7 8 9 10; do
	check $n
	is "$status:$(jq -c 'select(has("exit")) | [.faults, .warnings]' <<<"$out")" '0:[0,0]' \
		"task $n of the example has no fault and no warning"
done

finish
