#!/usr/bin/env bash
# Whoever may read a table can lock its rows, since SELECT is enough for FOR SHARE. Which role can
# lock rows of which table, by which statement, and whether others can work meanwhile: SECURITY.md
# has both tables, and a lock that stands in neither is a fault.
#   LOCKQ_READERS_TABLE  the tables are written to this file, too
# shellcheck disable=SC2016 # these backticks are for the page
set -u
# shellcheck source=test/support/accounts.sh
. "$(dirname "$0")/../../support/accounts.sh"

bank=test_readers task=31 listed=32
cleanup() {
	[ -z "${locker_PID-}" ] || kill "$locker_PID"
	admin "DROP DATABASE IF EXISTS $bank" >/dev/null
	forget_accounts
}
trap cleanup EXIT
mysql=$top/build/mysql/bin/mysql
"$top/scripts/sandbox" database $bank >/dev/null
for role in worker viewer query cron manager follower eraser; do
	account $role lockq_$role@$bank
	# To see what its session has locked, which no role may.
	admin "GRANT SELECT ON performance_schema.* TO test_$role@localhost"
done
admin "USE $bank;
	CREATE TABLE loans (loan_id BIGINT UNSIGNED PRIMARY KEY);
	INSERT INTO loans WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n
	  WHERE n < 300) SELECT n FROM n;
	CREATE VIEW deeds AS SELECT loan_id, loan_id AS priority FROM loans;
	GRANT SELECT ON deeds TO lockq_worker@$bank, lockq_query@$bank;
	INSERT INTO app_user (name) VALUES ('alice');
	INSERT INTO task (task_id, name, candidates_view, cache_ttl) VALUES
	  ($task, 'Deeds', 'deeds', 0), ($listed, 'Deeds by a list', 'deeds', 3600);
	CALL task_rows(NULL)"
ask() {
	as worker getwork --user alice --task "$1" --timeout "${2-$patience}" --no-refill --json
}
for number in $task $listed; do
	ask "$number"
	is "$status" 0 "task $number has loans"
done

# --- which rows can be locked ---------------------------------------------------------------------

# The tables and views of lockq that are there, and a column of each that the account may read.
sed -nE 's/^CREATE TABLE.* ([a-z_]+) \($/\1/p; s/^CREATE OR REPLACE .*VIEW ([a-z_]+) AS$/\1/p' \
	"$top/schema/baseline.sql" "$top"/schema/doors/*.sql | sort -u >"$scratch/tables"
echo schema_version >>"$scratch/tables"
read='SELECT COUNT(@C) FROM @T'
repeatable='SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION'
serializable='SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; START TRANSACTION'
cat >"$scratch/ways" <<END
FOR SHARE|$repeatable; $read FOR SHARE
FOR SHARE of a subquery|$repeatable; SELECT ($read FOR SHARE)
LOCK IN SHARE MODE|$repeatable; $read LOCK IN SHARE MODE
SERIALIZABLE|$serializable; $read
HANDLER at SERIALIZABLE|$serializable; HANDLER @T OPEN AS h; HANDLER h READ FIRST
FOR UPDATE|$repeatable; $read FOR UPDATE
plain SELECT|$repeatable; $read
HANDLER|$repeatable; HANDLER @T OPEN AS h; HANDLER h READ FIRST
LOCK TABLES|LOCK TABLES @T READ
LOCK TABLES … WRITE|LOCK TABLES @T WRITE
FLUSH TABLES|FLUSH TABLES @T WITH READ LOCK
FLUSH TABLES … FOR EXPORT|FLUSH TABLES @T FOR EXPORT
FLUSH TABLES WITH READ LOCK|FLUSH TABLES WITH READ LOCK
LOCK INSTANCE|LOCK INSTANCE FOR BACKUP
END

# tries ROLE: prints the statements for each table and each way; what is locked then comes as lines
# of "cell", the way and the table: by rows of data_locks, or by a lock of the table that stops who
# writes.
tries() {
	local table column way statements
	while IFS=$'\t' read -r table column; do
		while IFS='|' read -r way statements; do
			statements=${statements//@T/$table}
			statements=${statements//@C/$column}
			printf '%s;\n' "${statements//; /;$'\n'}"
			printf '%s\n' "SELECT 'cell', '$way', o.object_name
				  FROM performance_schema.data_locks AS o
				 WHERE o.thread_id = PS_CURRENT_THREAD_ID()
				   AND o.object_schema = '$bank' AND o.lock_type = 'RECORD'
				 UNION
				SELECT 'cell', '$way', COALESCE(m.object_name, m.object_type)
				  FROM performance_schema.metadata_locks AS m
				 WHERE m.owner_thread_id = PS_CURRENT_THREAD_ID()
				   AND (m.object_schema = '$bank' OR m.object_type = 'BACKUP LOCK')
				   AND m.lock_type NOT IN ('SHARED_READ', 'SHARED_WRITE',
				                           'INTENTION_EXCLUSIVE', 'SHARED');" \
				'HANDLER h CLOSE;' 'UNLOCK TABLES;' 'UNLOCK INSTANCE;' 'ROLLBACK;'
		done <"$scratch/ways"
	done < <("$mysql" --defaults-file="$scratch/$1.cnf" --batch --skip-column-names \
		--execute="SELECT table_name, MIN(column_name) FROM information_schema.columns
		            WHERE table_schema = '$bank' AND FIND_IN_SET('select', privileges)
		            GROUP BY 1 ORDER BY 1" | grep -wFf "$scratch/tables")
}
for role in worker viewer query cron manager follower eraser; do
	tries $role >"$scratch/tries"
	"$mysql" --defaults-file="$scratch/$role.cnf" --database=$bank --batch --force \
		--skip-column-names <"$scratch/tries" 2>>"$scratch/errors" |
		sed -n 's/^cell\t//p' | sort -u >"$scratch/$role.cells"
	while IFS='|' read -r way _; do
		printf '%s\t%s\t%s\n' $role "$way" "$(sed -n "s/^$way\t//p" \
			"$scratch/$role.cells" | sed 's/.*/`&`/' | paste -sd , | sed 's/,/, /g')"
	done <"$scratch/ways"
done >"$scratch/cells"
is "$(grep -Ev '^ERROR (1044|1142|1143|1221|1227|1109|1347) ' "$scratch/errors" | head -n 3)" '' \
	'what is refused is refused for lack of a right, or for a view'
# A row for the ways by which a role locks the same tables, and for the roles that have such a row.
awk -F '\t' '
	function add(list, more) { return (list == "" ? "" : list ", ") more }
	$3 != "" {
		key = $1 FS $3
		if (!(key in ways)) order[++n] = key
		ways[key] = add(ways[key], $2)
	}
	END {
		for (i = 1; i <= n; i++) {
			split(order[i], part, FS)
			row = ways[order[i]] " | " part[2]
			if (!(row in roles)) rows[++m] = row
			roles[row] = add(roles[row], part[1])
		}
		for (i = 1; i <= m; i++) print "| " roles[rows[i]] " | " rows[i] " |"
	}' "$scratch/cells" >"$scratch/locked"

# --- who can work meanwhile -----------------------------------------------------------------------

coproc locker {
	exec "$mysql" --defaults-file="$scratch/viewer.cnf" --database=$bank --batch --force \
		--skip-column-names --unbuffered
}
# shellcheck disable=SC2154 # made by coproc
exec {ask_locker}>&"${locker[1]}" {answer}<&"${locker[0]}"
locker_says() {
	local line
	printf '%s;\nSELECT "the end";\n' "$1" >&"$ask_locker"
	while read -r -t "$patience" line <&"$answer" && [ "$line" != 'the end' ]; do :; done
}
# What came of a call: it ends at its time, or where a statement has waited for a lock for five
# seconds.
went() {
	case $status:$err in
	0:*) echo 'goes on' ;;
	3:* | 5:*'another session holds a lock'*) echo waits ;;
	*) echo "ends with $status: $err" ;;
	esac
}
returned() {
	as worker disposition --user alice --task "$1" --loan "$2" --return-after 0 \
		--timeout "${3-$patience}"
}
while read -r table; do
	ask $task
	loan=$(jq -r '.loans[0].loan_id' <<<"$out")
	locker_says "START TRANSACTION; SELECT COUNT(*) FROM $table FOR SHARE"
	ask $task 3
	row=$(went)
	ask $listed 3
	row+=" | $(went)"
	returned $task "$loan" 3
	row+=" | $(went)"
	locker_says ROLLBACK
	printf '| `%s` | %s |\n' "$table" "$row"
	for number in $task $listed; do
		as worker getwork --user alice --task "$number" --cancel
	done
done < <(sed -n 's/^FOR SHARE\t//p' "$scratch/viewer.cells") >"$scratch/stopped"

# --- the page -------------------------------------------------------------------------------------

[ -z "${LOCKQ_READERS_TABLE-}" ] ||
	cat "$scratch/locked" "$scratch/stopped" >"$LOCKQ_READERS_TABLE"
# rows HEADING: those of a table of the page.
rows() {
	sed -n "/^| $1 |/,/^\$/p" "$top/SECURITY.md" | sed '1,2d; /^$/d'
}
is "$(cat "$scratch/locked")" "$(rows 'role | locks rows by')" \
	'SECURITY.md has who can lock rows of which table, and how'
is "$(cat "$scratch/stopped")" "$(rows 'rows of')" 'SECURITY.md has what waits meanwhile'
finish
