#!/usr/bin/env bash
# seedloans as a user runs it: help, options, exit statuses, JSON. It has a database of its own.
# shellcheck disable=SC2016 # back quotes in SQL
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

seedloans=$(command -v seedloans)
database=lockq_test_seedloans
status=0
work=$(mktemp -d)

sql() {
	"$top/scripts/sandbox" mysql --batch --skip-column-names --execute "$1" "$database" \
		</dev/null
}

clean_up() {
	"$top/scripts/sandbox" mysql --execute "DROP DATABASE IF EXISTS \`$database\`"
	rm -rf "$work"
}
trap clean_up EXIT

# asked ANSWER ARGS…: runs seedloans on a terminal, where the answer is typed. All that it prints is
# in "$work/out".
asked() {
	local answer=$1
	shift
	status=0
	(cd "$work" && export COLUMNS=1000 && printf '%s\n' "$answer" |
		timeout "$patience" script --quiet --return \
		--command "$(printf '%q ' "$seedloans" --database "$database" "$@")" /dev/null) \
		>"$work/out" 2>"$work/err" || status=$?
}

# seed ARGS…: runs seedloans in $work; leaves $status, "$work/out" and "$work/err".
seed() {
	status=0
	(cd "$work" && exec "$seedloans" --database "$database" "$@") \
		>"$work/out" 2>"$work/err" </dev/null || status=$?
}

# exits STATUS DESCRIPTION: the status that seed left.
exits() {
	is "$status" "$1" "$2"
	[ "$status" -eq "$1" ] || sed 's/^/# /' "$work/out" "$work/err" >&2
}

# says FILE PATTERN DESCRIPTION
says() {
	local rc=0
	grep -q -e "$2" "$work/$1" || rc=1
	ok "$rc" "$3"
	[ "$rc" -eq 0 ] || sed 's/^/# got: /' "$work/$1" >&2
}

"$top/scripts/sandbox" database "$database" >/dev/null 2>"$work/err" ||
	{ echo "Bail out! no database: $(cat "$work/err")"; exit 1; }

seed --help=all
exits 0 '--help=all'
for option in loans seed csv map strict rejects heavy users reset json host; do
	says out "--$option" "--help=all names --$option"
done
says out '^Exit status' '--help tells the exit statuses'
seed --version
exits 0 '--version'
says out '^seedloans .*[0-9]' '--version prints the version'

# Usage errors: status 2, one line that names the argument, nothing on standard output.
while IFS='|' read -r arguments pattern; do
	# shellcheck disable=SC2086 # they are words
	seed $arguments
	exits 2 "usage error: seedloans $arguments"
	says err "^seedloans: .*$pattern" "it says $pattern"
	is "$(wc -c <"$work/out")" 0 'and nothing on standard output'
done <<'EOF'
|nothing to do
--loans 0|--loans "0"
--loans x|--loans "x"
--loans 1000000001|--loans
--loans -5|--loans
--seed x --loans 1|--seed
--heavy 301|--heavy
--heavy -1|--heavy
--heavy 5s|--heavy
--users 23 --loans 1|--users
--loans 1 --csv x.csv|--loans and --csv can't be combined
--map loan_id=x --loans 1|--map needs --csv
--strict --loans 1|--strict needs --csv
--delimiter ; --loans 1|--delimiter needs --csv
--delimiter ;; --csv x.csv|--delimiter ";;" must be one sign
--delimiter a --csv x.csv|--delimiter "a" must be one sign
--rejects x --loans 1|--rejects needs --csv
--frobnicate|frobnicate
--csv /nonexistent.csv|No such file
--loans 1 more|more
EOF

seed --loans 3000 --reset
exits 0 'loans are added'
says out '^added: 3000 loans with [0-9]* documents' 'the summary counts them'
says out '^in all: 3000 loans, 24 users, 10 tasks' 'and the people and tasks'
is "$(wc -c <"$work/err")" 0 'no progress where standard error is no terminal'
is "$(sql 'SELECT COUNT(*) FROM loan')" 3000 'the table has them'

loans=$(sql 'SELECT COUNT(*) FROM loan')
asked n --loans 10 --reset
exits 4 'on a terminal --reset asks, and the answer is no'
says out "tables of lockq and of the example in database \"$database\" on this machine: go on?" \
	'it names the database'
says out 'nothing was emptied' 'it says that nothing was emptied'
[ "$(sql 'SELECT COUNT(*) FROM loan')" = "$loans" ]
ok $? 'nothing was emptied'
asked y --loans 10 --reset
exits 0 'with the answer yes it goes on'
[ "$(sql 'SELECT COUNT(*) FROM loan')" = 10 ]
ok $? 'and empties them'
asked '' --loans 20 --reset --yes
exits 0 'with --yes it does not ask'
[ "$(sql 'SELECT COUNT(*) FROM loan')" = 20 ] && ! grep -q 'go on' "$work/out"
ok $? 'and empties them'
seed --loans 3000 --reset --verbose
exits 0 '--verbose'
is "$(cat "$work/err")" 'seedloans: emptying tables
seedloans: loading
seedloans: gathering statistics' '--verbose tells each phase once'

seed --loans 500 --json
exits 0 'more loans, as JSON'
says out '^{"loans": *500, *"loans_before": *3000,' 'with the number of loans before'
is "$(wc -l <"$work/out")" 1 'one line'
for key in documents users tasks rejected rejects_file seconds loans_per_second heavy_seconds; do
	says out "\"$key\": *" "with $key"
done

status=0
"$seedloans" --database "$database" --users 24 >/dev/full 2>"$work/err" || status=$?
exits 5 'standard output that can not be written'
is "$(cat "$work/err")" "seedloans: standard output can't be written: No space left on device" \
	'without loans the message does not say that loans are loaded'
status=0
"$seedloans" --database "$database" --loans 1 >/dev/full 2>"$work/err" || status=$?
says err ': the loans are loaded nevertheless$' 'with loans it does'

printf 'Nr,applicant,amount,submitted_at\n9001,Ann,1,2/28/1997\n9002,Bob,x,2/28/1997\n' \
	>"$work/file.csv"
seed --csv file.csv --map loan_id=Nr --strict --json
exits 4 'a bad row with --strict is refused'
says out '"error": *"1 of 2 rows are bad.*file.csv.rejects.csv.*"exit": *4' 'as a JSON object'
is "$(sql 'SELECT COUNT(*) FROM loan WHERE loan_id > 9000')" 0 'nothing was loaded'
rm -f "$work/file.csv.rejects.csv"
seed --csv file.csv --map loan_id=Nr
exits 0 'without --strict the other rows are loaded'
says out '^rejected: 1 row, see "file.csv.rejects.csv"' 'the file of the bad rows is named'
is "$(tail -n 1 "$work/file.csv.rejects.csv")" '3,amount is not an amount,9002,Bob,x,2/28/1997' \
	'it has line, reason and the row itself'
is "$(sql 'SELECT COUNT(*) FROM loan WHERE loan_id > 9000')" 1 'the good row was loaded'
says out '^  1: amount is not an amount$' 'each reason is on the screen with its number of rows'
seed --csv file.csv --map loan_id=Nr --json
exits 4 'a file of bad rows only is refused'
says out '"error": *"2 of 2 rows are bad, nothing was loaded: see .*file.csv.rejects.csv' \
	'with the file'
says out ': loan_id is in the database already (1 row), amount is not an amount (1 row)"' \
	'and the reasons'
# Columns that are named one by one, in a file with a line for spreadsheets.
printf 'sep=;\n"Nr, new";Who;amount;submitted_at\n9101;Ann;1,000;28-Feb-97\n' >"$work/semi.csv"
seed --csv semi.csv --map 'loan_id="Nr, new"' --map applicant=Who --strict
exits 0 'sep=; is believed, also with --strict, and --map may be given again'
is "$(sql 'SELECT applicant, amount, submitted_at FROM loan WHERE loan_id = 9101')" \
	$'Ann\t1000.00\t1997-02-28 00:00:00' 'the row is as it stands in the file'
tail -n +2 "$work/semi.csv" | tr ';' '|' >"$work/bar.csv"
sed -i 's/9101/9102/' "$work/bar.csv"
seed --csv bar.csv --map 'loan_id="Nr, new"' --map applicant=Who
exits 2 'a file with another sign between its columns'
says err "\"bar.csv\" seems to be separated by '|': give --delimiter '|'" 'it names the option'
seed --csv bar.csv --map 'loan_id="Nr, new"' --map applicant=Who --delimiter '|'
exits 0 '--delimiter'
sed 's/9102/9103/' "$work/bar.csv" | tr '|' '\t' >"$work/tabs.csv"
seed --csv tabs.csv
says err '"tabs.csv" seems to be separated by tabs: give --delimiter tab' 'tabs are named, too'
seed --csv tabs.csv --map 'loan_id="Nr, new",applicant=Who' --delimiter tab
exits 0 '--delimiter tab'
is "$(sql 'SELECT COUNT(*) FROM loan WHERE loan_id BETWEEN 9101 AND 9103')" 3 'they are loaded'
gzip -c "$work/bar.csv" >"$work/bar.csv.gz"
seed --csv bar.csv.gz
exits 2 'a compressed file'
says err 'file "bar.csv.gz" is compressed: unpack it with gunzip' 'it is named as such'
seed --csv file.csv --map loan_id=Nope
exits 2 'a column that is not there'
says err 'the columns are "Nr", "applicant", "amount", "submitted_at"' 'the columns are listed'
printf 'Nr,applicant,amount,submitted_at\n9003,Ann,1,2/28/1997\n' >"$work/good.csv"
seed --csv - --map loan_id=Nr
exits 2 'a file named - that is not there'
seed --csv /dev/stdin --map loan_id=Nr --rejects r.csv
exits 2 'an empty standard input'
status=0
"$seedloans" --database "$database" --csv /dev/stdin --map loan_id=Nr --rejects "$work/r.csv" \
	>"$work/out" 2>"$work/err" < <(cat "$work/good.csv") || status=$?
exits 0 'a pipe can be read'
[ -e "$work/r.csv" ]
is $? 1 'no rejects file where nothing was rejected'

seed --heavy 0.3
exits 0 '--heavy alone'
says out "^task 7's query takes" 'tells how long the query takes now'
seed --heavy 0
exits 0 '--heavy 0'
is "$(sql 'SELECT value FROM example_setting')" 0 'no extra work'

# A session holds the row as a leader does, and shows a name, until its input ends.
mkfifo "$work/leader"
"$top/scripts/sandbox" mysql "$database" <"$work/leader" >"$work/leader.out" 2>&1 &
leader=$!
exec 9>"$work/leader"
echo "BEGIN; UPDATE task_lock SET holder = 'tracy' WHERE task_id = 7; SELECT 'leads';" >&9
await 'SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
	SELECT COUNT(*) FROM task_lock WHERE holder IS NOT NULL' 1
seed --reset --loans 1
exits 3 '--reset while somebody leads'
says err '^seedloans: user "tracy" leads task 7: nothing was emptied' 'names the leader'
exec 9>&-
wait "$leader"

status=0
"$seedloans" --database "$database" --loans 10000000 --json >"$work/out" 2>"$work/err" &
child=$!
before=$(sql 'SELECT COUNT(*) FROM loan')
await "SELECT COUNT(*) > $before FROM loan" 1
is "$(sql "SELECT DISTINCT p.attr_value FROM performance_schema.session_connect_attrs AS p
             JOIN performance_schema.session_connect_attrs AS i USING (processlist_id)
            WHERE p.attr_name = 'program_name' AND i.attr_name = '_pid'
              AND i.attr_value = '$child'")" seedloans 'the server knows the program by its name'
kill -INT "$child"
wait "$child" || status=$?
exits 130 'Ctrl-C'
says out '"error": *"interrupted: [0-9]* loans were added and are kept".*"exit": *130' \
	'tells how many loans stay'

seed --loans 1 --socket "$work/none"
exits 5 'no database to be reached'
seed --loans 1 --database no_such_database
exits 5 'no such database'

finish
