#!/usr/bin/env bash
# lockq-migrate: a new database and one that is brought up to date are the same; what is missing is
# told before anything is changed, one line each; a run that was cut short is gone on with.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

scratch=$(mktemp -d)
sandbox=$(dirname "$LOCKQ_DEFAULTS_FILE")
new=test_new old=test_old poor=test_poor
account="'test_owner'@'localhost'" clerk="'test_clerk'@'localhost'"

cleanup() {
	admin "DROP DATABASE IF EXISTS $new; DROP DATABASE IF EXISTS $old;
	       DROP DATABASE IF EXISTS $poor; DROP USER IF EXISTS $account, $clerk;
	       DROP ROLE IF EXISTS test_rights" >/dev/null
	rm -rf "$scratch"
}
trap cleanup EXIT

admin() {
	"$top/scripts/sandbox" mysql --batch --skip-column-names --execute="$1"
}

# migrate DATABASE [OPTION...]: by an account that has what the page asks for, and no more.
migrate() {
	run "$top/scripts/lockq-migrate" --database "$@" -- --defaults-file="$scratch/owner.cnf"
}

# database NAME [CHARSET]
database() {
	admin "DROP DATABASE IF EXISTS $1; CREATE DATABASE $1 CHARACTER SET ${2:-utf8mb4}"
}

# structure DATABASE: all that is in it, without what only comments say and the marks of a run.
structure() {
	admin "SELECT CONCAT('SHOW CREATE ', IF(table_type = 'VIEW', 'VIEW', 'TABLE'), ' $1.',
	                     table_name, ';')
	         FROM information_schema.tables WHERE table_schema = '$1' ORDER BY table_name" |
		"$top/scripts/sandbox" mysql --batch --skip-column-names --raw
	admin "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = '$1'"
	admin "SELECT routine_name, routine_type, security_type, sql_data_access, definer,
	              SHA2(routine_definition, 256)
	         FROM information_schema.routines WHERE routine_schema = '$1'
	        ORDER BY routine_name"
	admin "SELECT user, table_name, table_priv, column_priv
	         FROM mysql.tables_priv WHERE db = '$1' AND host = '$1' ORDER BY 1, 2"
	admin "SELECT user, table_name, column_name, column_priv
	         FROM mysql.columns_priv WHERE db = '$1' AND host = '$1' ORDER BY 1, 2, 3"
	admin "SELECT user, routine_name, proc_priv
	         FROM mysql.procs_priv WHERE db = '$1' AND host = '$1' ORDER BY 1, 2"
}
plain() {
	structure "$1" | sed -e "s/$1/DATABASE/g" -e "s/ COMMENT '[^']*'//" -e 's/ AUTO_INC[^ ]*//'
}

admin "DROP USER IF EXISTS $account; CREATE USER $account IDENTIFIED BY 'owner';
       GRANT ALL ON $new.* TO $account WITH GRANT OPTION;
       GRANT ALL ON $old.* TO $account WITH GRANT OPTION;
       GRANT CREATE ROLE, ROLE_ADMIN ON *.* TO $account"
(umask 077 && printf '[client]\nuser=test_owner\npassword=owner\nsocket="%s"\nprotocol=socket\n' \
	"$sandbox/mysql.sock" >"$scratch/owner.cnf")

# --- a new database, and an old one ---

(umask 077 && { printf '\xef\xbb\xbf'; cat "$scratch/owner.cnf"; } >"$scratch/marked.cnf")
run "$top/scripts/lockq-migrate" --database "$new" --check -- --defaults-file="$scratch/marked.cnf"
is "$status:$err" "2:lockq-migrate: the option file '$scratch/marked.cnf' begins with a byte order \
mark, with which the mysql client can't read it: save it without one" \
	'a byte order mark, which the client refuses, is named in one line'
is "$(admin 'SELECT @@global.log_bin')" 1 'the binary log is on, as on every real server'
database "$new"
migrate "$new" --check
is "$status:$out" "0:lockq-migrate: $new: nothing is missing to bring it to schema 11" \
	'--check says that a new database can be filled'
is "$(admin "SHOW TABLES FROM $new")" '' 'and changes nothing'
migrate "$new" --status
is "$status:$(grep -c '^not applied  00[1-8]-' <<<"$out")" 1:8 '--status shows what is not applied'
migrate "$new"
is "$status:$err" 0: 'a new database is filled, without SUPER beside a binary log'
is "$out" "lockq-migrate: $new: applying baseline.sql" 'from the baseline alone'
migrate "$new"
is "$status:$out" "0:lockq-migrate: $new: up to date, schema 11" 'then it is up to date'
migrate "$new" --check
is "$status:$out" "0:lockq-migrate: $new: up to date, schema 11" 'as --check says, too'
admin "GRANT SELECT ON mysql.user TO $account; GRANT SELECT ON mysql.db TO $account;
       GRANT SELECT ON mysql.role_edges TO $account; CREATE ROLE test_rights;
       CREATE USER $clerk; GRANT test_rights TO $clerk;
       GRANT CREATE TEMPORARY TABLES ON $new.* TO test_rights"
migrate "$new" --check
is "$status:$out" "0:lockq-migrate: $new: up to date, schema 11" '--check: nothing is missing'
is "$err" "lockq-migrate: $clerk may make temporary tables in '$new', which take the place of \
lockq's tables inside its procedures: let an administrator run \"REVOKE CREATE TEMPORARY TABLES ON \
\`$new\`.* FROM 'test_rights'@'%'\"" \
	'--check names who may make temporary tables, by a role, and the REVOKE'
admin "DROP USER $clerk; DROP ROLE test_rights"
migrate "$new" --check
admin "REVOKE SELECT ON mysql.user FROM $account; REVOKE SELECT ON mysql.db FROM $account;
       REVOKE SELECT ON mysql.role_edges FROM $account"
is "$status:$err" 0: 'and not the owner'
migrate "$new" --status
is "$status:$(grep -c '^applied      00[1-8]-' <<<"$out")" 0:8 'the files of upgrades count'

# as_of N: the schema as lockq had it then, with its triggers.
as_of() {
	local file
	mkdir -p "$scratch/schema"
	rm -rf "$scratch/schema/upgrade"
	mkdir "$scratch/schema/upgrade"
	cat >"$scratch/schema/roles.sql" <<'END'
CREATE ROLE IF NOT EXISTS lockq_worker, lockq_viewer, lockq_query, lockq_cron;
GRANT SELECT ON task TO lockq_worker;
GRANT SELECT, INSERT, UPDATE ON work TO lockq_worker;
GRANT SELECT, INSERT ON work_log TO lockq_worker;
END
	for file in "$top"/schema/upgrade/00[1-"$1"]-*.sql; do
		cp "$file" "$scratch/schema/upgrade"
	done
}

as_of 5
# Up to schema 5 there were no doors, lockq-migrate called no procedure, and roles were the
# server's.
sed "s/'CALL task_rows(NULL);'//; s/with_roles \"\$file\"/cat \"\$file\"/; /^\tdoors\$/d;
	/apply .*doors\"/d" \
	"$top/scripts/lockq-migrate" >"$scratch/lockq-migrate"
chmod +x "$scratch/lockq-migrate"
migrate_as_then() {
	run "$scratch/lockq-migrate" --database "$old" --schema-dir "$scratch/schema" \
		-- --defaults-file="$scratch/owner.cnf"
}
database "$old"
migrate_as_then
is "$status" 4 'the files of old schemas make triggers: that is refused without SUPER'
like "$err" 'lockq-migrate: the server has its binary log on, and .test_owner.@.localhost. has no' \
	'the reason is told'
like "$err" 'log_bin_trust_function_creators = 1' 'with the line for the administrator'
is "$(wc -l <<<"$err"):$(admin "SHOW TABLES FROM $old")" 1: 'in one line, and nothing was changed'
admin 'SET GLOBAL log_bin_trust_function_creators = 1'
migrate_as_then
is "$status" 0 'with that line an old schema can be made'
admin 'SET GLOBAL log_bin_trust_function_creators = 0'
is "$(admin "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = '$old'")" 4 \
	'it has four triggers'
migrate "$old" --check
is "$status:$out" "0:lockq-migrate: $old: nothing is missing to bring it to schema 11" \
	'to bring it up to date no SUPER is needed'
admin "CREATE USER $clerk IDENTIFIED BY 'clerk'; GRANT 'lockq_worker'@'%' TO $clerk;
       SET DEFAULT ROLE ALL TO $clerk"
migrate "$old"
is "$status:$out" "0:lockq-migrate: $old: applying 006-no-triggers.sql
lockq-migrate: $old: applying 007-kept-list.sql
lockq-migrate: $old: applying 008-managers.sql
lockq-migrate: $old: applying 009-operators.sql
lockq-migrate: $old: applying 010-requests.sql
lockq-migrate: $old: applying 011-old-lists.sql
lockq-migrate: $old: when no older program is left, run lockq-migrate --finish" \
	'it is brought up to date'
plain "$new" >"$scratch/new"
# Without what only older programs need.
plain "$old" | awk -F '\t' '/^task_(candidate|list)\t/ { skip = 1 }
	NF > 1 { table = $1 }
	!skip && !(table == "task_lock" && /^  `query_ms`/) && $1 != "work_completes" &&
		!(table == "task_touched" && /^  `touched_at`/) { print }
	/^\)/ { skip = 0 }' >"$scratch/old"
ok "$([ "$(wc -l <"$scratch/new")" -gt 100 ]; echo $?)" 'there is much to compare'
is "$(grep -v '^  .touched_at.' "$scratch/new" | diff - "$scratch/old")" '' \
	'both ways make the same, with the same rights'
is "$(grep -ci trigger "$scratch/new")" 0 'and no triggers'

# as_clerk SQL: by somebody who had the role of before.
as_clerk() {
	sed 's/owner/clerk/' "$scratch/owner.cnf" >"$scratch/clerk.cnf"
	"$mysql" --defaults-file="$scratch/clerk.cnf" --batch --skip-column-names \
		--execute="$1" 2>&1
}
mysql=$(command -v mysql)
is "$(as_clerk "SELECT COUNT(*) FROM $old.kept_list; CALL $old.task_rows(1);
	UPDATE $old.lead_in SET holder = NULL; UPDATE $old.work SET note = NULL")" 0 \
	'who has a role of before works on'
like "$(as_clerk "SELECT COUNT(*) FROM $new.kept_list")" 'denied to user' \
	'in the upgraded database only: a role belongs to one'

# --- its second step ---

is "$(admin "SELECT COUNT(*) FROM information_schema.columns
              WHERE table_schema = '$new' AND data_type = 'timestamp';
             USE $new; INSERT INTO task_touched (task_id, loan_id, touched_at)
               VALUES (1, 1, '2040-02-03 04:05:06.789012');
             SELECT touched_at FROM task_touched; TRUNCATE task_touched" | tr '\n' ' ')" \
	'0 2040-02-03 04:05:06.789012 ' 'no time ends in 2038'
# A row as an application writes it, whose session has its own time zone.
admin "SET time_zone = '+05:00'; INSERT INTO $old.task_touched (task_id, loan_id) VALUES (1, 1)"
touched=$(admin "SET time_zone = '+00:00'; SELECT touched_at FROM $old.task_touched")

migrate "$new" --finish
is "$status:$out" "0:lockq-migrate: $new: nothing is left to finish, schema 11" \
	'a new database has nothing to finish'
migrate "$old" --finish
is "$status:$err" "4:lockq-migrate: $account can't see who is left: let an administrator run \
\"GRANT SELECT ON performance_schema.threads TO $account; GRANT SELECT ON \
performance_schema.session_connect_attrs TO $account; GRANT SELECT ON mysql.role_edges TO \
$account\", or say --yes" 'who is left can be seen only with more rights'
admin "GRANT SELECT ON performance_schema.threads TO $account;
       GRANT SELECT ON performance_schema.session_connect_attrs TO $account;
       GRANT SELECT ON mysql.role_edges TO $account"
migrate "$old" --finish
is "$status:$err" "4:lockq-migrate: $clerk would lose its rights in '$old': let an administrator \
run \"GRANT 'lockq_worker'@'$old' TO $clerk; SET DEFAULT ROLE ALL TO $clerk\"" \
	'an account that has only a role of before is named'
like "$(as_clerk "UPDATE $old.work SET note = NULL; SELECT 'it may'")" 'it may' \
	'and may still do what it could'
admin "GRANT 'lockq_worker'@'$old' TO $clerk; SET DEFAULT ROLE ALL TO $clerk"
# Rights and a row of lockq 0.2.
admin "GRANT SELECT, INSERT, DELETE ON $old.task_candidate TO 'lockq_worker'@'$old';
	GRANT SELECT ON $old.task_list TO 'lockq_worker'@'$old', 'lockq_viewer'@'$old';
	INSERT INTO $old.task_list (task_id, candidates_view) VALUES (1, 'candidates')"
# More requests than one batch has, as programs of before ended them.
admin "USE $old; INSERT INTO app_user (name) VALUES ('zoe');
	INSERT INTO task (task_id, name, candidates_view) VALUES (1, 'one', 'candidates');
	SET SESSION cte_max_recursion_depth = 3000;
	INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested, assigned,
		outcome)
	WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
	SELECT UUID(), u.user_id, 'x', 1, 3, 3, IF(i % 5 = 0, 3, 0),
		IF(i = 2500, 'pending', ELT(i % 5 + 1, 'served', 'failed', 'expired', 'cancelled',
			'refused'))
	FROM n JOIN app_user AS u; UPDATE work_requested SET assigned = 0 WHERE outcome = 'pending'"
migrate "$old" --finish
is "$status:$out:$err" "0:lockq-migrate: $old: finishing 006-old-roles.sql
lockq-migrate: $old: finishing 008-list-gives.sql
lockq-migrate: $old: finishing 009-log-delete.sql
lockq-migrate: $old: finishing 010-requests.sql
lockq-migrate: $old: finishing 011-old-lists.sql:" 'then it is finished'
is "$(admin "SELECT outcome, COUNT(*), MIN(requested), MAX(requested)
	FROM $old.work_requested GROUP BY outcome ORDER BY CONCAT(outcome)")" \
	$'cancelled\t500\t0\t0\nexpired\t500\t0\t0\nfailed\t500\t0\t0\npending\t1\t3\t3'$(
		)$'\nrefused\t500\t0\t0\nserved\t499\t3\t3' \
	'requests of before that ended without a loan have requested = 0'
is "$(admin "SET time_zone = '+05:00'; SELECT touched_at FROM $old.task_touched")" "$touched" \
	'when a loan was touched stays the same, in UTC'
is "$(admin "SET time_zone = '+05:00';
             INSERT INTO $old.task_touched (task_id, loan_id) VALUES (1, 2);
             SELECT ABS(TIMESTAMPDIFF(SECOND, touched_at, UTC_TIMESTAMP())) < 60
               FROM $old.task_touched WHERE loan_id = 2; TRUNCATE $old.task_touched")" 1 \
	'and so it is of loans that are touched from then on'
admin "USE $old; DELETE FROM work_requested; DELETE FROM task; DELETE FROM app_user"
like "$(as_clerk "UPDATE $old.work SET note = NULL")" 'denied to user' \
	'who has both roles can do what the new one can'
is "$(as_clerk "UPDATE $old.lead_in SET holder = NULL; SELECT 'it may'")" 'it may' 'and that whole'
is "$(admin "SELECT COUNT(*) FROM mysql.tables_priv WHERE db = '$old' AND host = '%';
             SELECT COUNT(*) FROM mysql.procs_priv WHERE db = '$old' AND host = '%';
             SELECT COUNT(*) FROM mysql.role_edges WHERE from_host = '$old' AND to_host = '%'" |
	tr '\n' ' ')" '0 0 0 ' 'the roles of before have no right left in this database'
migrate "$old" --finish
is "$status:$out" "0:lockq-migrate: $old: nothing is left to finish, schema 11" 'once is enough'
plain "$old" >"$scratch/old"
is "$(diff "$scratch/new" "$scratch/old")" '' 'both ways still make the same'

admin "REVOKE 'lockq_worker'@'$old' FROM $clerk;
       REVOKE 'lockq_worker'@'%' FROM $clerk; GRANT lockq_worker@$new TO $clerk;
       SET DEFAULT ROLE ALL TO $clerk"
is "$(as_clerk "SELECT COUNT(*) FROM $new.kept_list")" 0 'the new role works'
like "$(as_clerk "SELECT COUNT(*) FROM $old.kept_list")" 'denied to user' 'in its database only'

# --- what is missing ---

database "$poor"
right() {
	admin "REVOKE ALL, GRANT OPTION FROM $account;
	       GRANT ALL ON $poor.* TO $account WITH GRANT OPTION;
	       GRANT CREATE ROLE, ROLE_ADMIN ON *.* TO $account"
}
faults=''
for missing in SELECT INSERT UPDATE DELETE EXECUTE CREATE ALTER DROP INDEX REFERENCES \
	'CREATE VIEW' 'SHOW VIEW' 'CREATE ROUTINE' 'ALTER ROUTINE'; do
	right
	admin "REVOKE $missing ON $poor.* FROM $account"
	migrate "$poor"
	[ "$status:$err" = "4:lockq-migrate: $account lacks $missing: let an administrator run \
\"GRANT $missing ON \`$poor\`.* TO $account\"" ] || faults+="$missing: $status: $err"$'\n'
done
is "$faults" '' 'each right on the database that is missing: one line, with the GRANT'
right
admin "REVOKE GRANT OPTION ON $poor.* FROM $account; REVOKE ROLE_ADMIN ON *.* FROM $account;
       REVOKE CREATE ROLE ON *.* FROM $account; ALTER DATABASE $poor CHARACTER SET latin1"
migrate "$poor"
is "$status:$(wc -l <<<"$err")" 4:4 'four things that are missing: four lines'
like "$err" "may not grant rights on '$poor': .* WITH GRANT OPTION" 'the grant option'
like "$err" 'lacks CREATE ROLE: .*GRANT CREATE ROLE ON \*\.\* TO' 'the right to make roles'
like "$err" 'lacks ROLE_ADMIN: .*GRANT ROLE_ADMIN ON \*\.\* TO' 'the right to grant them'
like "$err" "the character set of '$poor' is latin1: run .ALTER DATABASE" 'the character set'
is "$(admin "SHOW TABLES FROM $poor")" '' 'nothing was changed'
migrate "$poor" --check
is "$status:$(wc -l <<<"$err")" 4:4 '--check tells the same'
right
admin "REVOKE ALL, GRANT OPTION FROM $account; DROP ROLE IF EXISTS test_rights;
       CREATE ROLE test_rights; GRANT ALL ON \`test\\_poo_\`.* TO test_rights WITH GRANT OPTION;
       GRANT CREATE ROLE, ROLE_ADMIN ON *.* TO test_rights; GRANT test_rights TO $account;
       SET DEFAULT ROLE ALL TO $account; ALTER DATABASE $poor CHARACTER SET utf8mb4"
migrate "$poor" --check
is "$status:$err" 0: 'rights by a role, and on databases with names of a kind, count'
admin 'DROP ROLE test_rights'
right
admin 'SET GLOBAL read_only = ON'
migrate "$poor"
admin 'SET GLOBAL read_only = OFF'
is "$status:$err" "4:lockq-migrate: the server is read-only: use the primary, of which it may be \
a replica" 'a server that is read-only'

# --- cut short ---

# cut_at FILE N: the file up to its Nth CREATE, then something that fails.
cut_at() {
	rm -rf "$scratch/cut"
	cp -r "$top/schema" "$scratch/cut"
	awk -v n="$2" '/^(CREATE|DROP PROC)/ && ++made > n { print "SELECT broken;"; exit }
		{ print }' "$top/schema/$1" >"$scratch/cut/$1"
}
faults=''
for n in 'baseline 0' 'baseline 7' 'doors/disposition 0' 'doors/manage 3'; do
	database "$poor"
	cut_at "${n% *}.sql" "${n#* }"
	run "$top/scripts/lockq-migrate" --database "$poor" --schema-dir "$scratch/cut" \
		-- --defaults-file="$scratch/owner.cnf"
	[ "$status" = 5 ] || faults+="$n: $status"
	migrate "$poor"
	[ "$status" = 0 ] || faults+="$n, again: $status $err"
	[ "$(plain "$poor")" = "$(cat "$scratch/new")" ] || faults+="$n: not the same"
done
is "$faults" '' 'after a run that was cut short the next one makes the whole'
faults=''
for after in 0.3 0.8; do
	database "$poor"
	setsid "$top/scripts/lockq-migrate" --database "$poor" -- \
		--defaults-file="$scratch/owner.cnf" >"$scratch/killed" 2>&1 &
	sleep "$after"
	kill -KILL -- -$! 2>/dev/null
	wait $! 2>/dev/null
	migrate "$poor"
	[ "$status:$(plain "$poor" | diff - "$scratch/new")" = 0: ] ||
		faults+="$after s: $status $err"
done
is "$faults" '' 'so it is after kill -9'

# rules FILE...: prints what an upgrade must not do, since people work on meanwhile.
rules() {
	sed 's/--.*//; s/;$/\x01/' "$@" | tr '\n\001' ' \n' |
		grep -E 'ALTER TABLE|ADD (KEY|INDEX)' | grep -Ev 'ALGORITHM=(INSTANT|INPLACE)'
	sed 's/--.*//' "$@" | grep -E 'ALTER TABLE (task_lock|task_wake)'
}
upgrade=$top/schema/upgrade
is "$(rules "$upgrade"/00[6-9]-*.sql "$upgrade"/0[1-9]*-*.sql 2>/dev/null)" '' \
	'no upgrade from 006 on copies a table, or alters one that leaders lock'
printf '%s\n' 'ALTER TABLE work' '  ADD COLUMN n INT;' \
	'ALTER TABLE task_lock ADD COLUMN n INT, ALGORITHM=INSTANT;' >"$scratch/bad.sql"
is "$(rules "$scratch/bad.sql" | wc -l)" 2 'both would be found'
database "$poor"
admin "CREATE TABLE $poor.task (mine INT)"
migrate "$poor"
is "$status:$err" "4:lockq-migrate: '$poor' has a table 'task' that is not of lockq: give lockq a \
database of its own" 'a table of somebody else, with the name of one of lockq'
is "$(admin "SHOW TABLES FROM $poor")" task 'is left alone, and nothing is made beside it'
admin "DROP TABLE $poor.task; CREATE TABLE $poor.schema_version (version VARCHAR(50), n INT)"
migrate "$poor"
is "$status:$err" "4:lockq-migrate: '$poor' has a table 'schema_version' that is not of lockq: \
give lockq a database of its own" "so is another tool's table of versions"

# --- another session has the lock ---

admin "GRANT ALL ON $new.* TO $account WITH GRANT OPTION;
       GRANT CREATE ROLE, ROLE_ADMIN ON *.* TO $account"
# In place of a minute the client waits for a second.
mkdir "$scratch/bin"
cat >"$scratch/bin/mysql" <<END
#!/bin/sh
case "\$*" in
*--execute=* | *--version*) exec "$(command -v mysql)" "\$@" ;;
*) sed '1s/, 60) = 1/, 1) = 1/' | exec "$(command -v mysql)" "\$@" ;;
esac
END
chmod +x "$scratch/bin/mysql"
coproc stranger {
	exec "$top/scripts/sandbox" mysql --batch --skip-column-names --unbuffered "$new"
}
# shellcheck disable=SC2154 # made by coproc
echo "SELECT GET_LOCK(CONCAT('lockq.migrate.', LEFT(SHA2(CONCAT(DATABASE(),
	(SELECT MIN(applied_at) FROM schema_version)), 256), 40)), 0), CONNECTION_ID();" \
	>&"${stranger[1]}"
read -r taken holder <&"${stranger[0]}"
is "$taken" 1 'a stranger holds the name'
PATH=$scratch/bin:$PATH migrate "$new" --example
is "$status:$err" "5:lockq-migrate: session $holder has held the lock of migrations of '$new' for \
a minute: try again after it, or end it if that is no migration: KILL $holder" \
	'the session is named, and how to end it'
admin "GRANT PROCESS ON *.* TO $account"
PATH=$scratch/bin:$PATH migrate "$new" --example
like "$err" ": session $holder of 'root'@'localhost' has held the lock " \
	'and its account, where PROCESS allows to see it'
admin "REVOKE PROCESS ON *.* FROM $account; KILL $holder"
migrate "$new" --example
is "$status" 0 'after the KILL it goes on'

# --- removal ---

remove() {
	migrate "$poor" --remove --yes "$@"
}
right
database "$poor"
remove
is "$status:$err" "4:lockq-migrate: '$poor' has nothing of lockq" 'nothing to remove'
migrate "$poor"
# As in a database of an older version that was not finished.
{
	echo "USE $poor;"
	sed -n '/^CREATE TABLE IF NOT EXISTS task_candidate/,/;$/p' "$upgrade/002-waiting.sql"
	sed -n '/^CREATE TABLE IF NOT EXISTS task_list/,/;$/p' "$upgrade/006-no-triggers.sql"
} | "$top/scripts/sandbox" mysql
admin "CREATE TABLE $poor.mine (n INT); INSERT INTO $poor.mine VALUES (7);
       CREATE PROCEDURE $poor.own () SELECT 1"
remove
is "$status:$err" "4:lockq-migrate: $account lacks DROP ROLE: let an administrator run \
\"GRANT DROP ROLE ON *.* TO $account\"" 'a right that removal needs'
admin "GRANT DROP ROLE ON *.* TO $account;
       CREATE VIEW $poor.held AS SELECT loan_id FROM $poor.work;
       CREATE TABLE $poor.badge (user_id INT UNSIGNED REFERENCES $poor.app_user (user_id),
         FOREIGN KEY (user_id) REFERENCES $poor.app_user (user_id))"
remove
is "$status:$err" "4:lockq-migrate: the table $poor.badge uses tables of lockq: drop it first
lockq-migrate: the view $poor.held uses tables of lockq: drop it first" 'what uses lockq is named'
migrate "$poor" --check
is "$status:$out" "0:lockq-migrate: $poor: up to date, schema 11" 'and nothing is removed'
admin "DROP VIEW $poor.held; DROP TABLE $poor.badge"
run "$top/scripts/lockq-migrate" --database "$poor" --remove -- \
	--defaults-file="$scratch/owner.cnf" </dev/null
is "$status:$err" "2:lockq-migrate: --remove deletes lockq's tables in '$poor', with all \
assignments and their history: say --yes where nobody can be asked" 'it asks, on a terminal only'
# typed ANSWER: as somebody at a terminal
typed() {
	printf '%s\n' "$1" | timeout "$patience" script --quiet --return --command \
		"'$top/scripts/lockq-migrate' --database $poor --remove -- \
		--defaults-file='$scratch/owner.cnf'" /dev/null >"$scratch/terminal" 2>&1
	status=$? out=$(tr -d '\r' <"$scratch/terminal" | sed 's/go on: /&\n/')
}
typed yes
asks=$(grep -c 'Type the name of the database to go on: $' <<<"$out")
is "$status:$asks:$(tail -n 1 <<<"$out")" '4:1:lockq-migrate: nothing was removed' \
	'a terminal is asked for the name of the database'
typed "$poor"
is "$status:$(tail -n 1 <<<"$out")" "0:lockq-migrate: $poor: lockq is removed" 'it is removed'
is "$(admin "SHOW TABLES FROM $poor; SELECT n FROM $poor.mine;
             SELECT routine_name FROM information_schema.routines WHERE routine_schema = '$poor';
             SELECT COUNT(*) FROM mysql.user WHERE host = '$poor'" | tr '\n' ' ')" 'mine 7 own 0 ' \
	'all of it, and nothing else'
migrate "$poor" --example
is "$status" 0 'lockq can be made there again'
admin "DROP VIEW $poor.candidates_ask_again; SET FOREIGN_KEY_CHECKS = 0; DROP TABLE $poor.task"
migrate "$poor"
is "$status:$err" "4:lockq-migrate: a removal of lockq from '$poor' was cut short: run it again \
with --remove" 'a removal that was cut short'
remove --example
is "$(admin "SHOW TABLES FROM $poor" | tr '\n' ' ')" 'mine ' 'and be removed with its example'
finish
