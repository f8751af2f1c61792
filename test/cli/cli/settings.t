#!/usr/bin/env bash
# A server that is set up in another way: a round of getwork, checkwork, disposition, managetask,
# refill and lockqstat passes under each of these global settings, or is refused in one line that
# names the setting and tells the administrator what to run.
set -u
# shellcheck source=test/support/accounts.sh
. "$(dirname "$0")/../../support/accounts.sh"

task=240
make() {
	make_task "$task" 30 0
	make_users 1
	sql "UPDATE test_loan_$task SET line = loan_id;
	     CREATE TABLE test_done_$task (loan_id BIGINT UNSIGNED PRIMARY KEY, at DATETIME);
	     CREATE PROCEDURE test_done_$task (IN p_loan BIGINT UNSIGNED, IN p_user VARCHAR(64))
	       INSERT INTO test_done_$task VALUES (p_loan, NOW());
	     CREATE PROCEDURE test_undone_$task (IN p_loan BIGINT UNSIGNED, IN p_user VARCHAR(64))
	       DELETE FROM test_done_$task WHERE loan_id = p_loan;
	     GRANT EXECUTE ON PROCEDURE test_done_$task TO lockq_worker@lockq;
	     GRANT EXECUTE ON PROCEDURE test_undone_$task TO lockq_manager@lockq;
	     UPDATE task SET on_complete = 'test_done_$task', on_undo = 'test_undone_$task',
	       cache_ttl = 600, max_count = 10 WHERE task_id = $task"
}
forget() {
	sql "DROP PROCEDURE IF EXISTS test_done_$task; DROP PROCEDURE IF EXISTS test_undone_$task;
	     DROP TABLE IF EXISTS test_done_$task"
	forget_task "$task"
	forget_users
	forget_accounts
}
trap 'admin "$undo"; forget' EXIT
undo='DO 0'
forget
scratch=$(mktemp -d)
make

migrate() {
	"$top/scripts/lockq-migrate" --database lockq --check -- \
		--defaults-file="$sandbox/owner.cnf"
}

# passes STATUSES COMMAND...: notes in $faults what ends with none of these.
passes() {
	local want=$1
	shift
	run "$@"
	[[ "$want" == *"$status"* ]] || faults="$faults$* ended with $status: $err "
}

# a_round: leaves what failed in $faults. as_before goes back.
a_round() {
	local of="--task $task" loans
	faults=
	# shellcheck disable=SC2086 # two words
	{
		passes 0 getwork $of --user race-1 --count 3 --json
		read -ra loans <<<"$(jq -r '[.loans[].loan_id] | join(" ")' <<<"$out")"
		[ "${loans[*]}" = '1 2 3' ] || faults="${faults}race-1 got ${loans[*]} "
		passes 0 checkwork --user race-1
		passes 0 disposition $of --user race-1 --complete --loan 1
		passes 0 managetask undo $of --loan 1 --reason why --by marcus
		passes 0 managetask release $of --loan 2 --reason why --by marcus
		passes 0 managetask urgent "$task" 2 --reason why --by marcus
		passes 01 refill $of
		passes 0 getwork $of --user race-1 --count 1 --json
		[ "$(jq '.loans[0].loan_id' <<<"$out")" = 2 ] || faults="${faults}2 is not urgent "
		passes 0 disposition $of --user race-1 --return-after 0 --loan 3
		passes 0 disposition --expire
		passes 0 lockqstat $of
		passes 01 lockqstat --health
		passes 0 managetask check "$task"
		passes 0 migrate
	}
	[ -z "$faults" ] || printf '#   %s\n' "$faults" >&2
}

# as_before: also for the next round.
as_before() {
	admin "$undo"
	undo='DO 0'
	sql "DELETE FROM work_log WHERE task_id = $task; DELETE FROM work WHERE task_id = $task;
	     DELETE FROM kept_loan WHERE task_id = $task;
	     DELETE FROM kept_list WHERE task_id = $task;
	     DELETE FROM task_touched WHERE task_id = $task; DELETE FROM test_done_$task"
}

# under LINE...: each of them is "variable = value".
under() {
	local line set=
	undo=
	for line in "$@"; do
		set="$set, GLOBAL $line" undo="$undo, GLOBAL ${line%% =*} = DEFAULT"
	done
	undo="SET ${undo#, }"
	admin "SET ${set#, }"
}

a_round
is "$faults" '' 'a round passes on a server without any setting'
as_before

# All settings of a paragraph hold at once. A round that fails names the command that did.
settings=()
tried() {
	[ ${#settings[@]} -gt 0 ] || return
	under "${settings[@]}"
	a_round
	is "$faults" '' "under ${settings[*]%% =*}"
	as_before
	settings=()
}
while IFS= read -r line; do
	if [ -n "$line" ]; then
		settings+=("$line")
	else
		tried
	fi
done <<'END'
time_zone = '+13:00'
sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE'
transaction_isolation = 'SERIALIZABLE'
transaction_read_only = 1
autocommit = 0
completion_type = 'RELEASE'
init_connect = 'SET autocommit = 0, NAMES latin1'
binlog_format = 'MIXED'
binlog_row_image = 'MINIMAL'
character_set_server = 'latin1'
collation_connection = 'latin1_swedish_ci'

optimizer_switch = 'derived_merge=off,index_merge=off,materialization=off,semijoin=off'
optimizer_search_depth = 1
optimizer_prune_level = 0
eq_range_index_dive_limit = 1
max_seeks_for_key = 1
sort_buffer_size = 32768
join_buffer_size = 128
max_sort_length = 4
explain_format = 'JSON'
information_schema_stats_expiry = 0

sql_mode = ''
sql_select_limit = 1
sql_safe_updates = 1
sql_auto_is_null = 1
max_join_size = 1
max_execution_time = 1
group_concat_max_len = 4
cte_max_recursion_depth = 0
div_precision_increment = 0
auto_increment_increment = 7
foreign_key_checks = 0
updatable_views_with_limit = 'NO'

wait_timeout = 1
interactive_timeout = 1
innodb_lock_wait_timeout = 1
lock_wait_timeout = 1
net_read_timeout = 1
net_write_timeout = 1
net_buffer_length = 1024
tmp_table_size = 1024
max_allowed_packet = 1048576
max_error_count = 0
sql_require_primary_key = 1
default_storage_engine = 'MyISAM'
table_open_cache = 1
table_definition_cache = 400
local_infile = 1

END

# --- what can't work ------------------------------------------------------------------------------

# refused LINE MEND [LINE...]: the message, the check, health and lockq-migrate say the same. Other
# lines hold, too.
refused() {
	local command said="^[a-z-]+: the server's ${1%% =*} is .*: let an administrator run \"$2\""
	under "$1" "${@:3}"
	while IFS= read -r command; do
		# shellcheck disable=SC2086 # words, on purpose
		run $command
		like "$status:$err" "^[345]:" "$1: $command is refused"
		like "$err" "$said" 'and says what an administrator runs'
		is "$(wc -l <<<"$err")" 1 'in one line'
	done <<-END
		getwork --task $task --user race-1
		managetask check $task
		lockqstat --health
		migrate
	END
	as_before
}
refused "binlog_format = 'STATEMENT'" "SET PERSIST binlog_format = 'ROW'"
refused 'max_prepared_stmt_count = 0' 'SET PERSIST max_prepared_stmt_count = 16382'
refused 'max_allowed_packet = 1024' 'SET PERSIST max_allowed_packet = 67108864'
refused 'max_allowed_packet = 1047552' 'SET PERSIST max_allowed_packet = 67108864'
version=$(admin 'SELECT VERSION()')
if printf '8.0.28\n%s\n' "${version%%[!0-9.]*}" | sort -C -V; then
	limited='global_connection_memory_tracking = 1'
	refused 'connection_memory_limit = 2097152' \
		'SET PERSIST connection_memory_limit = 67108864' "$limited"
	under "$limited" 'connection_memory_limit = 16777216'
	a_round
	is "$faults" '' 'under a connection_memory_limit of 16 MB'
	as_before
fi

# --- a server's small caches ----------------------------------------------------------------------

# While tables are closed all the time, statements deadlock, or are to be prepared again. A server
# that does nothing else would refuse each try.
under 'table_open_cache = 1' 'table_definition_cache = 400'
yes 'FLUSH TABLES; DO SLEEP(0.003);' | mysql --defaults-file="$sandbox/admin.cnf" >/dev/null 2>&1 &
flushing=$!
a_round
kill $flushing
wait $flushing 2>/dev/null
is "$faults" '' 'while tables are closed all the time'
as_before

# --- what a server has from its start -------------------------------------------------------------

# A server without a performance schema that stores names in lower case. Its database has a capital
# letter and a hyphen.
{
	read -r kind
	read -r _
	read -r server
	read -r loader
	read -r libdir
} <<<"$("$top/scripts/setup" server)"
start=("$server" --no-defaults)
[ "$kind" != unpacked ] || start=(env OPENSSL_MODULES="$libdir/ossl-modules" "$loader"
	--library-path "$libdir" "$server" --no-defaults --basedir="${server%/sbin/mysqld}")
[ "$(id -u)" != 0 ] || start+=(--user=root)
export LOCKQ_SANDBOX_DIR=$scratch/box
mkdir "$LOCKQ_SANDBOX_DIR"
"${start[@]}" --datadir="$LOCKQ_SANDBOX_DIR/data" --initialize-insecure --lower-case-table-names=1 \
	--loose-innodb-redo-log-capacity=8M >"$scratch/initialize" 2>&1 ||
	cat "$scratch/initialize" >&2
LOCKQ_MYSQLD_ARGS='--lower-case-table-names=1 --performance-schema=OFF' \
	"$top/scripts/sandbox" start >"$scratch/start" 2>&1 || cat "$scratch/start" >&2
before=$(dirname "$LOCKQ_DEFAULTS_FILE")
trap '"$top/scripts/sandbox" destroy >/dev/null 2>&1; LOCKQ_SANDBOX_DIR=$before; forget' EXIT
eval "$("$top/scripts/sandbox" env)"
sandbox=$LOCKQ_SANDBOX_DIR bank=Bank-2
admin "CREATE DATABASE \`$bank\` CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs"
run "$top/scripts/lockq-migrate" --database "$bank" -- --defaults-file="$sandbox/admin.cnf"
is "$status:$err" 0: "lockq-migrate --database $bank"
admin "USE \`$bank\`; CREATE TABLE Deed (Loan_Id BIGINT UNSIGNED PRIMARY KEY, Line INT);
       INSERT INTO Deed VALUES (1, 1), (2, 2), (3, 3);
       CREATE VIEW Deeds_To_Check AS SELECT Loan_Id, Line AS Priority FROM Deed;
       CREATE PROCEDURE Deed_Is_Checked (IN p_loan BIGINT UNSIGNED, IN p_user VARCHAR(64))
         DELETE FROM Deed WHERE Loan_Id = p_loan"
for each in worker manager follower cron; do
	account "$each" "lockq_$each@\`$bank\`"
done
admin "GRANT ALL ON \`$bank\`.* TO test_manager@localhost WITH GRANT OPTION"
as manager managetask user add anna --by boss
as manager managetask add 7 --name Deeds --candidates-view Deeds_To_Check \
	--on-complete deed_is_checked --grant --by boss
like "$status:$out" '^0:.*' 'managetask add --grant'
like "$out" "GRANT SELECT ON \`bank-2\`.\`Deeds_To_Check\` TO \`lockq_worker\`@\`bank-2\`" \
	'a database with a hyphen, and a view by its name with capital letters'
as manager managetask check 7 --json
is "$status:$(jq -r 'select(.severity == "fault") | .text' <<<"$out")" 0: 'then it has no fault'
as worker getwork --user anna --task 7 --json
is "$status:$(jq '.loans[0].loan_id' <<<"$out")" 0:1 'getwork'
as worker disposition --user anna --task 7 --loan 1 --complete
is "$status" 0 'disposition --complete'
as cron disposition --expire
is "$status" 0 'disposition --expire'
as manager lockqstat --health
is "$status" 0 'lockqstat --health'
# What a transaction has taken back leaves a gap in the numbers.
admin "USE \`$bank\`; START TRANSACTION; INSERT INTO work_log (task_id, loan_id, event, user_id,
         account, token, version, request_id, at)
       SELECT task_id, 9, event, user_id, account, token, 1, request_id, at
         FROM work_log LIMIT 1; ROLLBACK"
as worker getwork --user anna --task 7 --json
as follower lockqstat --follow a --until-now
is "$status:$(jq -s length <<<"$out")" 0:3 'lockqstat --follow passes a gap without that schema'
finish
