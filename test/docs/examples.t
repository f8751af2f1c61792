#!/usr/bin/env bash
# The examples work: examples/ask.c and the program of lockq(3) are compiled and run, and the SQL of
# lockq-schema(5) and lockq(7) is run, in a database of their own. examples/two-clients, which
# readme.t runs, tells its usage.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"

[ -n "${LOCKQ_DEFAULTS_FILE-}" ] || eval "$("$top/scripts/sandbox" env)"
database=docs_examples
scratch=$(mktemp -d)
sql() { "$top/scripts/sandbox" mysql --batch --skip-column-names --database="$database" "$@"; }
trap 'sql --execute "DROP DATABASE IF EXISTS $database; DROP USER IF EXISTS berta"
	rm -rf "$scratch"' EXIT
"$top/scripts/sandbox" mysql --execute='CREATE USER IF NOT EXISTS berta' # whom the page binds

(umask 077; sed "s/^database=.*/database=$database/" "$LOCKQ_DEFAULTS_FILE" \
	>"$scratch/lockq.cnf")
"$top/scripts/sandbox" database "$database" >/dev/null 2>"$scratch/output"
ok $? 'a database of their own'
export LOCKQ_DEFAULTS_FILE=$scratch/lockq.cnf
seedloans --loans 300 --seed 5 >"$scratch/output" 2>&1
ok $? 'with loans'

# compile FILE: compiles it as a reader would, with the flags that this build's MySQL client needs.
build=$(cd "$(dirname "$(command -v getwork)")/.." && pwd)
compile() {
	printf '%s\n' 'CLIENT_MK := unused.mk' "include $build/client.mk" 'unused.mk: ;' \
		'program: ; cc -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -pedantic' \
		>"$scratch/Makefile"
	sed -i "\$s|\$| -I '$top/lib' -I '$scratch' \$(CLIENT_LDFLAGS) \$(CLIENT_EXE_LDFLAGS) -o \
'$scratch/program' '$1' -L '$build/lib' -llockq -Wl,-rpath,'$build/lib'|" "$scratch/Makefile"
	make -s -f "$scratch/Makefile" program >"$scratch/output" 2>&1
}
unset MAKEFLAGS MAKELEVEL MFLAGS

# The program completes a loan with an even number and returns one with an odd number.
sql --execute "CREATE TABLE numbers (n BIGINT PRIMARY KEY); INSERT INTO numbers VALUES (2), (3);
	CREATE VIEW by_number AS SELECT n AS loan_id, n AS priority FROM numbers;
	INSERT INTO task (task_id, name, candidates_view) VALUES (30, 'Numbers', 'by_number');
	GRANT SELECT ON by_number TO lockq_worker@$database"
compile "$top/examples/ask.c"
ok $? 'examples/ask.c compiles'
show "$scratch/output"
"$scratch/program" oliver 30 2 >"$scratch/output" 2>"$scratch/errors"
ok $? 'it runs'
show "$scratch/errors"
printf 'loan 2: completed\nloan 3: returned\n' | cmp -s - "$scratch/output"
ok $? 'it prints the disposition of each loan'
[ "$(sql --execute "SELECT GROUP_CONCAT(loan_id, state, TIMESTAMPDIFF(HOUR, changed_at,
	COALESCE(available_at, changed_at)) ORDER BY loan_id) FROM work WHERE task_id = 30")" = \
	2completed0,3returned4 ]
ok $? 'the table has the dispositions'
sql --execute 'DELETE FROM numbers'
"$scratch/program" tracy 30 1 >"$scratch/output" 2>&1
[ $? -eq 1 ] && grep -q '^no work for task 30 as of 20' "$scratch/output"
ok $? 'without work it says so'
"$scratch/program" nobody 30 1 >"$scratch/output" 2>&1
[ $? -eq 1 ] && grep -q '^ask: user "nobody" is unknown' "$scratch/output"
ok $? 'it tells why it was refused'

"$top/examples/two-clients" --help >"$scratch/output" 2>"$scratch/errors"
is "$?:$(head -n 1 "$scratch/output"):$(cat "$scratch/errors")" '0:usage: examples/two-clients:' \
	'examples/two-clients --help'
grep -q '^exit status: 0 done, 2 usage error' "$scratch/output" &&
	! grep -Eq '.{81}|^ *[0-9.]+ s  ' "$scratch/output"
ok $? 'it fits into 80 columns, and does not run the example'
"$top/examples/two-clients" --no-such-option >"$scratch/output" 2>"$scratch/errors"
is "$?:$(cat "$scratch/output"):$(cat "$scratch/errors")" \
	"2::two-clients: unknown argument '--no-such-option': try 'examples/two-clients --help'" \
	'an unknown argument is refused with one line'

# The line of examples/cron that runs each minute, as cron runs it: another run that is at work is
# not mailed, a failure is. The unit for systemd takes the same status for success.
line=$(sed -n 's/^\* \* \* \* \* *lockq *//p' "$top/examples/cron")
tidy() { env "$@" /bin/sh -c "$line" >"$scratch/mail" 2>&1; }
tidy
is "$?:$(cat "$scratch/mail")" 0: 'examples/cron: nothing is mailed where nothing is due'
coproc other {
	exec "$top/scripts/sandbox" mysql --batch --skip-column-names --unbuffered "$database"
}
# shellcheck disable=SC2154 # made by coproc
echo "SELECT GET_LOCK(CONCAT('lockq-expire:', LEFT(SHA2(CONCAT(DATABASE(),
	(SELECT MIN(applied_at) FROM schema_version)), 256), 40)), 0);" >&"${other[1]}"
read -r taken <&"${other[0]}"
disposition --expire >"$scratch/output" 2>&1
is "$taken:$?" 1:3 'another run is at work'
tidy
is "$?:$(cat "$scratch/mail")" 0: 'examples/cron: that is not mailed'
# shellcheck disable=SC2154 # made by coproc
pid=$other_PID
eval "exec ${other[1]}>&-"
wait "$pid" 2>/dev/null
tidy LOCKQ_DEFAULTS_FILE=/dev/null LOCKQ_SOCKET="$scratch/none"
is "$(grep -c '^disposition: ' "$scratch/mail")" 1 'examples/cron: a failure is mailed, as one line'
grep -qx 'SuccessExitStatus=.*\<3\>.*' "$top/examples/lockq-expire.service"
ok $? 'examples/lockq-expire.service: status 3 is no failure'

# blocks PAGE: writes its .Bd blocks into files in $scratch/blocks.
blocks() {
	rm -rf "$scratch/blocks"
	mkdir "$scratch/blocks"
	awk -v to="$scratch/blocks/" '/^\.Bd/ { file = sprintf("%s%02d", to, ++n); next }
		/^\.Ed/ { file = ""; next }
		file != "" { gsub(/\\e/, "\\"); print >file }' "$1"
}

blocks "$(page_of "$top" lockq.3)"
cp "$scratch/blocks/01" "$scratch/page.c"
cp "$top/lib/lockq.h" "$scratch"
compile "$scratch/page.c"
ok $? 'the program in lockq(3) compiles'
show "$scratch/output"
(cd "$scratch" && ./program) >"$scratch/output" 2>&1
ok $? 'it runs'
[ "$(cat "$scratch/output")" = "$(checkwork --user oliver --task 7 --json | jq -r .loan_id)" ]
ok $? "it prints Oliver's loan"

# Blocks with placeholders are not run, since they are for programs, and none that make accounts.
sql --execute 'CREATE TABLE invoice (invoice_id INT PRIMARY KEY, due_date DATE, paid_at DATETIME);
	INSERT INTO invoice VALUES (1, "2026-05-01", NULL), (2, "2026-04-01", NULL),
	(3, "2026-03-01", NOW())'
ran=0
for page in lockq-schema.5 lockq.7; do
	blocks "$top/man/$page"
	for block in "$scratch"/blocks/*; do
		if grep -q '^managetask' "$block"; then
			bash -e "$block" >"$scratch/output" 2>&1
			ok $? "$page: $(head -n 1 "$block")"
			show "$scratch/output"
			continue
		fi
		grep -Eqx '(CREATE|INSERT|GRANT|SELECT|SET|UPDATE) .*' "$block" || continue
		grep -Eq 'CREATE USER|\?|^START' "$block" && continue
		sed -i "s/@bank/@$database/" "$block"
		sql <"$block" >"$scratch/output" 2>&1
		ok $? "$page: $(head -n 1 "$block")"
		show "$scratch/output" | grep -i error
		ran=$((ran + 1))
	done
done
ok $((ran >= 10 ? 0 : 1)) "SQL was found: $ran statements"
[ "$(getwork --user tracy --task 21 --count 2 --json | jq -c '[.loans[].loan_id]')" = '[2,1]' ]
ok $? 'the task of lockq-schema(5) gives its work out, oldest first'
disposition --user tracy --task 21 --loan 2 --complete >"$scratch/output" 2>&1
ok $? 'a loan of it is completed'
show "$scratch/output"
[ "$(sql --execute 'SELECT GROUP_CONCAT(invoice_id) FROM invoice WHERE paid_at IS NULL')" = 1 ]
ok $? 'its procedure has changed the business data'
getwork --user anna --task 21 >"$scratch/output" 2>&1
is $? 1 'the loan is not offered again'
finish
