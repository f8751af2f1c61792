#!/usr/bin/env bash
# Hostile text in every field that takes text, by the real programs on a real server. Each is
# refused with one clear line and a documented status, or it is stored and shown exactly as it came.
# No other row changes, no table goes, and no control character reaches a terminal. The test has a
# database of its own.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

database=lockq_test_injection
scratch=$(mktemp -d)
sql_database=$database
# shellcheck disable=SC2154 # status, out and err are set by run
trap '"$top/scripts/sandbox" mysql --execute "DROP DATABASE IF EXISTS $database"
	rm -rf "$scratch"' EXIT
"$top/scripts/sandbox" database "$database" >"$scratch/output" 2>&1 ||
	{ echo "Bail out! no database: $(cat "$scratch/output")"; exit 1; }
(umask 077; sed "s/^database=.*/database=$database/" "$LOCKQ_DEFAULTS_FILE" >"$scratch/lockq.cnf")
export LOCKQ_DEFAULTS_FILE=$scratch/lockq.cnf MYSQL_TEST_LOGIN_FILE=$scratch/login.cnf
PATH=$PATH:$top/build/mysql/bin
# Some of the text is a path of a file that is to be written.
mkdir "$scratch/work"
cd "$scratch/work" || exit 1

# --- what is hostile ------------------------------------------------------------------------------

# The names begin with "no-" where the text is not UTF-8, which nothing may store.
names=() texts=() hexes=()
hostile() {
	names+=("$1") texts+=("$2")
	hexes+=("$(printf %s "$2" | od -An -v -tx1 | tr -d ' \n' | tr a-f A-F)")
}
hostile quote "O'Brien"
hostile quotes "'\"\`"
hostile backslash "a\\"
hostile backslash-quote "\\'; --"
hostile sql "x'); DROP TABLE work; DELETE FROM work_log; -- "
hostile or "' OR '1'='1"
hostile comment 'a/*!50000 b*/ # -- c'
# shellcheck disable=SC2016
hostile backtick 'a` AS c; DROP TABLE work; -- `'
# shellcheck disable=SC2016
hostile format '%s%n%99$d%*x'
hostile escape $'\e[31mred\e]0;title\a\x7f'
hostile newline $'a\nb\r\tc'
hostile c1 $'\xc2\x9b31m\xc2\x85'
hostile right-to-left $'\u202eabc\u2066'
hostile mark $'\ufeffx\u2028y'
hostile emoji $'\U1f600 \U10ffff'
# shellcheck disable=SC2016
hostile shell '$(touch pwned)`touch pwned`;touch pwned'
hostile json '{"a":"b\u0000"}'
hostile wildcard '%_%'
hostile long "$(printf 'l%.0s' {1..600})"
hostile no-gbk $'\xbf\x27 OR 1=1 -- '
hostile no-gbk-backslash $'\xbf\x5c\x27'
hostile no-surrogate $'\xed\xa0\x80'
hostile no-overlong $'\xc0\xa7 OR 1=1'
hostile no-bytes $'\xff\xfe'

# --- a task, people, loans ------------------------------------------------------------------------

task=7
make_task $task 200 0
sql "GRANT SELECT ON test_candidates_$task TO lockq_worker@$database, lockq_query@$database;
     UPDATE task SET max_count = 200 WHERE task_id = $task;
     INSERT INTO app_user (name) VALUES ('race-1')" 2>/dev/null
getwork --user race-1 --task $task --count 150 --json >"$scratch/answer"
mapfile -t loans < <(jq '.loans[].loan_id' "$scratch/answer")
is ${#loans[@]} 150 'there are loans in work'

# --- the tables -----------------------------------------------------------------------------------

# sums [TABLE…]: what is in the database, but for the rows of these tables: the sum of each table,
# and the definitions.
sums() {
	local tables
	tables=$(sql "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM
		information_schema.tables WHERE table_schema = '$database' AND
		table_type = 'BASE TABLE' AND NOT FIND_IN_SET(table_name, '${*// /,}')")
	sql "CHECKSUM TABLE $tables;
	     SELECT table_name, table_type FROM information_schema.tables
	      WHERE table_schema = '$database' ORDER BY 1;
	     SELECT routine_name, SHA2(routine_definition, 256)
	       FROM information_schema.routines WHERE routine_schema = '$database' ORDER BY 1"
}

# --- the checks -----------------------------------------------------------------------------------

# is_clean TEXT: it has no control character but the ends of lines, and is UTF-8.
is_clean() {
	local LC_ALL=C.UTF-8 text=${1//$'\n'/}
	[[ $text != *[[:cntrl:]]* && $text != *$'\xc2'[$'\x80'-$'\x9f']* ]] &&
		[[ $text =~ ^.*$ ]] && [[ $text != *[$'\u202a'-$'\u202e\u2066'-$'\u2069']* ]]
}

# is_one_line TEXT: of a message; after a usage error a second line names the help.
is_one_line() {
	local rest=${1%$'\n'"try '"*}
	[[ -n $rest && $rest != *$'\n'* ]]
}

# is_lines_of PROGRAM TEXT: of its messages, such as one for each user.
is_lines_of() {
	! grep -qv "^$1: " <<<"$2"
}

# some NAME …: the same with each fourth text only, for fields that are read as others are.
some() {
	local -a all_names=("${names[@]}") all_texts=("${texts[@]}") all_hexes=("${hexes[@]}")
	local i names=() texts=() hexes=()
	for ((i = 1; i < ${#all_texts[@]}; i += 4)); do
		names+=("${all_names[i]}") texts+=("${all_texts[i]}") hexes+=("${all_hexes[i]}")
	done
	field "$@"
}

# field NAME STATUSES TABLES SQL STORED COMMAND…: runs the command with each text in place of TEXT,
# and with its number in place of the N in -N. TABLES may change. The SQL gives a line for each text
# with which the command has succeeded: the bytes that are stored, in hexadecimal digits. STORED is
# how many of them there must be, and "" is any number, where nothing is stored.
field() {
	local name=$1 statuses=$2 tables=$3 query=$4 stored=$5 i faults='' before expected='' got
	local n=0 words
	shift 5
	before=$(sums "$tables")
	for i in "${!texts[@]}"; do
		words=("${@/-N/-$i}")
		run "${words[@]//TEXT/"${texts[i]}"}"
		[[ " $statuses " = *" $status "* ]] || faults+=" ${names[i]}: status $status: $err;"
		is_clean "$out$err" || faults+=" ${names[i]}: control characters;"
		if [ "$status" -eq 0 ]; then
			expected+=${hexes[i]}$'\n' n=$((n + 1))
			[[ ${names[i]} != no-* || -z $stored ]] || faults+=" ${names[i]}: stored;"
		else
			[ "$status:$err" = 1: ] || is_one_line "$err" ||
				faults+=" ${names[i]}: not one line: $err;"
		fi
	done
	got=''
	[ -z "$query" ] || got=$(sql "$query")
	[ -z "$stored" ] || [ "$n" -eq "$stored" ] || faults+=" $n of them are stored;"
	[ -z "$query" ] || [ "$got" = "${expected%$'\n'}" ] ||
		faults+=" stored otherwise: $(diff <(echo "$got") <(echo "$expected"));"
	[ "$(sums "$tables")" = "$before" ] || faults+=' other tables have changed;'
	[ ! -e pwned ] || faults+=' a shell has run it;'
	is "$faults" '' "$name"
}

# --- what asks ------------------------------------------------------------------------------------

field 'getwork --user' '2 4' '' '' 0 getwork --user TEXT --task $task
field 'checkwork --request' 2 '' '' 0 checkwork --request TEXT
field 'getwork --uuid' 2 '' '' 0 getwork --user race-1 --task $task --uuid TEXT
some 'LOCKQ_USER' '2 4' '' '' 0 env LOCKQ_USER=TEXT checkwork
some 'disposition --loan' 2 '' '' 0 disposition --user race-1 --task $task --complete --loan TEXT
some 'an argument' 2 '' '' 0 getwork TEXT
some 'a command' '126 127' '' '' 0 runwork --user race-1 --task $task -- TEXT
some 'an option' 2 '' '' 0 refill --TEXT
for kind in users loans requests tasks; do
	some "checkwork --choices $kind --begins" '0 1 2' '' '' '' \
		checkwork --choices $kind --user race-1 --task $task --begins TEXT
done

# --- where the database is ------------------------------------------------------------------------

field '--database' 5 '' '' 0 checkwork --user race-1 --database TEXT
field '--db-user' 5 '' '' 0 checkwork --user race-1 --db-user TEXT
some '--socket' 5 '' '' 0 checkwork --user race-1 --socket TEXT
some '--login-path' 2 '' '' 0 checkwork --user race-1 --login-path TEXT
some '--defaults-file' 2 '' '' 0 checkwork --user race-1 --defaults-file TEXT
field 'lockq-migrate --database' 2 '' '' 0 "$top/scripts/lockq-migrate" --check --database TEXT
field 'lockq-migrate --schema-dir' 2 '' '' 0 "$top/scripts/lockq-migrate" --check --schema-dir TEXT
field 'lockq-migrate, an argument' 2 '' '' 0 "$top/scripts/lockq-migrate" --check TEXT
some '--defaults-group-suffix' 0 '' '' '' checkwork --user race-1 --defaults-group-suffix TEXT

# in_file KEY TEXT: the text is the value of a key in an option file.
in_file() {
	local value=${2//\\/\\\\}
	value=${value//\"/\\\"} value=${value//$'\n'/\\n} value=${value//$'\r'/\\r}
	printf '!include %s\n[lockq]\n%s="%s"\n' "$LOCKQ_DEFAULTS_FILE" "$1" "$value" \
		>"$scratch/own.cnf"
	chmod 600 "$scratch/own.cnf"
	checkwork --defaults-file "$scratch/own.cnf"
}
field 'option file: lockq-user' '2 4' '' '' 0 in_file lockq-user TEXT
for key in user database socket port ssl-mode lockq-task; do
	some "option file: $key" '2 5' '' '' 0 in_file $key TEXT
done

# --- what is said of loans ------------------------------------------------------------------------

# next_loan COMMAND…: with the next loan.
next=0
next_loan() {
	"$@" --task $task --loan "${loans[next]}"
}
work='work work_log work_requested manage_log task_trouble task_touched kept_loan'
field 'disposition --note' '0 2' "$work" "SELECT HEX(note) FROM work_log
	WHERE event = 'renewed' ORDER BY log_id" 18 \
	next_loan disposition --user race-1 --renew --note TEXT

# since TABLE KEY: a condition, the rows that come from now on.
since() {
	printf '%s > %s' "$2" "$(sql "SELECT COALESCE(MAX($2), 0) FROM $1")"
}
people='app_user manage_log task_trouble'
new=$(since manage_log manage_id)
field 'managetask pause --reason' '0 2' 'task manage_log task_trouble' "SELECT HEX(reason)
	FROM manage_log WHERE $new ORDER BY manage_id" 18 managetask pause $task --reason TEXT
is "$(sql "SELECT HEX(paused) FROM task WHERE task_id = $task")" "${hexes[17]}" \
	'and the task has the reason that was given last'
new=$(since manage_log manage_id)
field 'managetask --by' '0 2 4' "$people" "SELECT HEX(manager)
	FROM manage_log WHERE $new ORDER BY manage_id" 12 managetask user add --user by-N --by TEXT
sql "DELETE FROM app_user WHERE name LIKE 'by-%'"

# corrects FROM-N COMMAND…: with the N-th loan from this one on, for each text another one.
corrects() {
	"${@:2}" --task $task --loan "${loans[${1%-*} + ${1#*-}]}"
}
corrected="$work work_exclusion task_wake task_lock"
logged='SELECT HEX(MAX(note)) FROM work_log WHERE manager IS NOT NULL AND'
by_loan='GROUP BY loan_id ORDER BY MIN(log_id)'
new=$(since work_log log_id)
some 'managetask release --reason' '0 2' "$corrected" "$logged $new $by_loan" 5 \
	corrects 10-N managetask release --reason TEXT
sql "INSERT INTO app_user (name) VALUES ('race-2')"
new=$(since work_log log_id)
some 'managetask reassign --reason' '0 2' "$corrected" "$logged $new $by_loan" 5 \
	corrects 20-N managetask reassign --from race-1 --to race-2 --reason TEXT
some 'managetask reassign --to' '2 4' '' '' 0 \
	corrects 30-N managetask reassign --from race-1 --to TEXT --reason x
# waits -N COMMAND…: with the N-th of the loans that nobody has.
mapfile -t waiting < <(sql "SELECT loan_id FROM test_loan_$task
	WHERE loan_id NOT IN (SELECT loan_id FROM work)")
waits() {
	"${@:2}" --task $task --loan "${waiting[${1#-}]}"
}
some 'managetask reassign --from' '2 4' '' '' 0 \
	corrects 30-N managetask reassign --from TEXT --to race-2 --reason x
some 'managetask release --from' '2 4' '' '' 0 \
	corrects 30-N managetask release --from TEXT --reason x
new=$(since manage_log manage_id)
some 'managetask urgent --reason' '0 2' "$corrected" "SELECT HEX(reason)
	FROM manage_log WHERE $new ORDER BY manage_id" 5 waits -N managetask urgent --reason TEXT
disposition --user race-1 --task $task --complete \
	--loan "$(IFS=,; echo "${loans[*]:40:10}")" >"$scratch/output"
new=$(since work_log log_id)
some 'managetask undo --reason' '0 2' "$corrected" "$logged $new $by_loan" 5 \
	corrects 40-N managetask undo --reason TEXT
# A request of race-2 is pending each time.
cancels() {
	sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)
	     SELECT UUID(), user_id, 'test', $task, 1, 1 FROM app_user
	      WHERE name = 'race-2' AND NOT EXISTS (SELECT 1 FROM work_requested WHERE pending = 1)"
	"$@" --request "$(sql 'SELECT request_id FROM work_requested WHERE pending = 1')"
}
new=$(since manage_log manage_id)
some 'managetask cancel --reason' '0 2' "$corrected" "SELECT HEX(reason)
	FROM manage_log WHERE $new ORDER BY manage_id" 5 cancels managetask cancel --reason TEXT
sql 'DELETE FROM work_requested WHERE pending = 1'

# --- tasks and people -----------------------------------------------------------------------------

tables='task task_lock task_wake manage_log task_trouble task_refill'
view=test_candidates_$task
for column in name manager noun; do
	new=$(since task task_id)
	others=()
	[ $column = name ] || others=(--name x)
	field "managetask add --$column" '0 2 4' "$tables" "SELECT HEX($column) FROM task
		WHERE $new ORDER BY task_id" "$([ $column = noun ] && echo 13 || echo 18)" \
		managetask add "${others[@]}" --candidates-view "$view" --unchecked \
		"--$column" TEXT
done
new=$(since task task_id)
field 'managetask add --candidates-view' '2 4' "$tables" "SELECT 1 FROM task WHERE $new" 0 \
	managetask add --name x --unchecked --candidates-view TEXT
for key in on-complete on-undo detail-view check-view; do
	some "managetask set --$key" '2 4' "$tables" '' 0 managetask set $task --unchecked \
		"--$key" TEXT
done
new=$(since app_user user_id)
field 'managetask user add' '0 2' "$people" "SELECT HEX(name)
	FROM app_user WHERE $new ORDER BY user_id" 12 managetask user add --user TEXT
new=$(since app_user user_id)
sql 'REVOKE SELECT (user) ON mysql.user FROM lockq_owner@localhost'
field 'managetask user add --account' '0 2 4' "$people" "SELECT
	HEX(account) FROM app_user WHERE $new AND account IS NOT NULL ORDER BY user_id" 16 \
	managetask user add --user bound-N --account TEXT

sql "UPDATE app_user SET account = NULL"
some 'managetask user bind --user' '0 2 4' "$people" "SELECT HEX(name)
	FROM app_user WHERE account = 'x' ORDER BY user_id" 3 \
	managetask user bind --user TEXT --account x
sql "UPDATE app_user SET account = NULL"
some 'managetask user bind --account' '0 2 4' "$people" "SELECT
	HEX(account) FROM app_user WHERE account IS NOT NULL ORDER BY user_id" 4 \
	managetask user bind --user bound-N --account TEXT
sql 'GRANT SELECT (user) ON mysql.user TO lockq_owner@localhost'

for command in disable enable; do
	new=$(since manage_log manage_id)
	some "managetask user $command" '0 2 4' "$people" "SELECT HEX(u.name)
		FROM manage_log AS m JOIN app_user AS u USING (user_id) WHERE $new
		ORDER BY manage_id" 3 managetask user $command --user TEXT
done
forgotten="$people task work_log work_requested leader_run"
some 'managetask user forget' '0 2 4' "$forgotten" '' 3 managetask user forget --user TEXT
some 'managetask user add, of names that were forgotten' '0 2' "$people" '' 3 \
	managetask user add --user TEXT
some 'managetask user remove' '0 2 4' "$people" '' 3 managetask user remove --user TEXT

field 'lockqstat --follow' 2 '' '' 0 lockqstat --follow TEXT --until-now

# --- loans from a file ----------------------------------------------------------------------------

for i in "${!texts[@]}"; do
	printf '%d,"%s",5,2026-01-01\n' $((9000 + i)) "${texts[i]//\"/\"\"}"
done >"$scratch/rows"
{ echo loan_id,applicant,amount,submitted_at; cat "$scratch/rows"; } >"$scratch/loans.csv"
run seedloans --csv "$scratch/loans.csv" --rejects "$scratch/rejects.csv"
is "$status" 0 'seedloans --csv'
expected=$(for i in "${!texts[@]}"; do
	[[ ${names[i]} = no-* || ${names[i]} = long ]] ||
		printf '%d %s\n' $((9000 + i)) "${hexes[i]%20}" # without the blank after it
done)
is "$(sql 'SELECT CONCAT(loan_id, " ", HEX(applicant)) FROM loan WHERE loan_id >= 9000
	ORDER BY loan_id')" "$expected" 'each field of the file is stored as it came'
is "$(sed 1d "$scratch/rejects.csv" | wc -l)" 6 'and what can not be stored is rejected'
is_clean "$out$err"
ok $? 'the message has no control character'
field 'seedloans --map' 2 '' '' 0 seedloans --csv "$scratch/loans.csv" --map TEXT
some 'seedloans --csv' 2 '' '' 0 seedloans --csv TEXT

# --- what is shown --------------------------------------------------------------------------------

# shown FILTER COMMAND…: the texts in a program's JSON, in hexadecimal digits.
shown() {
	local filter=$1
	shift
	"$@" --json >"$scratch/shown"
	is_clean "$(cat "$scratch/shown")" || echo 'control characters'
	jq -r "$filter | @base64" "$scratch/shown" | while read -r line; do
		base64 -d <<<"$line" | od -An -v -tx1 | tr -d ' \n' | tr a-f A-F
		echo
	done
}
is "$(shown '.user | select(. != "race-1" and (startswith("bound-") | not))' \
	managetask user list | sort)" \
	"$(sql "SELECT HEX(name) FROM app_user WHERE name <> 'race-1' AND name NOT LIKE 'bound-%'" |
	sort)" 'managetask user list shows each name as it came'
is "$(shown '.note // empty' checkwork --task $task --loan "${loans[0]}")" \
	"$(sql "SELECT HEX(note) FROM work_log WHERE event = 'renewed' ORDER BY log_id")" \
	'checkwork shows each note as it came'
run checkwork --task $task --loan "${loans[0]}"
is_clean "$out$err"
ok $? 'and on a terminal without control characters'
run managetask user list
is_clean "$out$err"
ok $? 'managetask user list has none either'
run managetask list
is_clean "$out$err"
ok $? 'nor has managetask list'

# --- every option that takes a value --------------------------------------------------------------

# By the help of each program and command, so that a new option is tried, too; each with two of the
# texts. What is said beside it changes nothing. Users have been tried above, and have such names;
# so has --begins, which goes with --choices.
declare -A beside=(
	[getwork]='--user race-1 --task 999999' [runwork]='--user race-1 --task 999999'
	[checkwork]='--user race-1' [refill]='--task 999999'
	[disposition]="--user race-1 --task 999999 --loan ${loans[0]} --renew" [managetask]=list
	[lockqstat]='' [seedloans]='--csv missing.csv'
	[managetask add]='--name x --candidates-view missing' [managetask set]='999999 --name x'
	[managetask list]='' [managetask show]=999999 [managetask check]=999999
	[managetask pause]='999999 --reason x' [managetask disable]=999999
	[managetask enable]=999999 [managetask remove]=999999
	[managetask urgent]='999999 1 --reason x' [managetask cancel]='999999 --reason x'
	[managetask release]='--task 999999 --loan 1 --reason x'
	[managetask reassign]='--task 999999 --loan 1 --from race-1 --to race-2 --reason x'
	[managetask undo]='--task 999999 --loan 1 --reason x' [managetask user list]=''
	[managetask user add]=race-1 [managetask user bind]='nobody --account x'
	[managetask user disable]=nobody [managetask user enable]=nobody
	[managetask user remove]=nobody [managetask user forget]=nobody
)
# What follows the options.
declare -A behind=([runwork]=true)
commands=$(managetask --help |
	sed -En 's/^  ((user )?[a-z]+)( N| \[N\]| ID)?  .*/managetask \1/p')
is "$(printf '%s\n' "${!beside[@]}" | grep ' ' | sort)" "$(sort <<<"$commands")" \
	'each command of managetask is tried'

# options PROGRAM: those that take a value. All commands of managetask have some in common, which
# are left out.
options() {
	local help=--help=all
	[[ $1 != *' '* ]] || help=--help
	# shellcheck disable=SC2086 # a program and its command
	$1 "$help" |
		grep -oE '^ +(-., )?--[a-z-]+ \[?[A-Z]' | grep -oE -e '--[a-z-]+'
}
before=$(sums follow_cursor task_trouble) faults='' n=0
for program in "${!beside[@]}"; do
	while read -r option; do
		read -ra words <<<"$program ${beside[$program]}"
		case $option in
		--user) [[ $program != 'managetask user '* ]] || continue ;;
		--follow) words+=(--until-now) ;;
		--host | --port | --socket) words+=(--connect-timeout 0) ;;
		esac
		for i in $((n % ${#texts[@]})) $(((n + 11) % ${#texts[@]})); do
			# shellcheck disable=SC2086 # a word, or none
			run timeout "$patience" "${words[@]}" "$option" "${texts[i]}" \
				${behind[$program]-}
			is_clean "$out$err" || faults+=" $program $option ${names[i]}: unclean;"
			[[ $status = 0 || ($status = [1-5] && -z $err) ]] || is_one_line "$err" ||
				is_lines_of managetask "$err" ||
				faults+=" $program $option ${names[i]}: not one line: $err;"
			[[ $status = [0-5] ]] ||
				faults+=" $program $option ${names[i]}: status $status: $err;"
		done
		n=$((n + 1))
	done < <(options "$program")
done
after=$(sums follow_cursor task_trouble)
[ "$after" = "$before" ] ||
	faults+=" tables have changed: $(diff <(echo "$before") <(echo "$after"));"
[ ! -e pwned ] || faults+=' a shell has run it;'
is "$faults" '' "each of $n options with a value"
ok $((n < 100)) 'and these are all'

# --- the checks themselves ------------------------------------------------------------------------

clean=''
for i in "${!texts[@]}"; do
	case ${names[i]} in
	escape | c1 | right-to-left | no-*) ! is_clean "${texts[i]}" || clean+=" ${names[i]}" ;;
	esac
done
is "$clean" '' 'control characters and bad bytes are found'
! is_one_line $'getwork: a\nb'
ok $? 'a second line is found'
before=$(sums work)
sql "UPDATE app_user SET account = 'x' WHERE name = 'race-1'"
! [ "$(sums work)" = "$before" ]
ok $? 'a row that has changed is found'
is "$(sums app_user)" "$(sums 'app_user')" 'and one that may change is passed over'
forged=$(
	failed=0 tests=0
	# shellcheck disable=SC2317 # field calls it
	forge() {
		sql "UPDATE app_user SET account = NULL WHERE name = 'race-1'"
		printf 'a\033\n' >&2
		return 1
	}
	some forged 4 '' '' 0 forge TEXT 2>&1
)
like "$forged" 'not ok 1 - forged' 'a command that does all of it wrong fails'
like "$forged" 'status 1: .*control characters;.*other tables have changed' 'and is told why'
finish
