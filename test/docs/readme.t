#!/usr/bin/env bash
# Runs every command of README.md, from the first to the last, with a private MySQL and an empty
# home directory, and holds the demo to what the transcript promises.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"

readme=$top/README.md figures=$top/man/figures.md
scratch=$(mktemp -d "${TMPDIR:-/tmp}/readme.XXXXXX")
export LOCKQ_SANDBOX_DIR=$scratch/box
cleanup() {
	"$top/scripts/sandbox" destroy >/dev/null 2>&1
	rm -rf "$scratch"
}
trap cleanup EXIT

# README.md has to tell everything that is needed, so the caller's database, home, make and PATH
# must not help.
unset LOCKQ_DEFAULTS_FILE MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
export HOME=$scratch/home LOCKQ_DEMO_HEAVY=1 LOCKQ_REAL_LOANS=/nonexistent
PATH=:$PATH:
PATH=${PATH//":$top/build/bin:"/:}
PATH=${PATH#:}$top/build/mysql/bin
mkdir "$HOME"
# The command "mysql" of README.md finds the private MySQL here, as it would find a reader's.
export MYSQL_UNIX_PORT=$LOCKQ_SANDBOX_DIR/mysql.sock
mkdir "$LOCKQ_SANDBOX_DIR"
ln -s "$LOCKQ_SANDBOX_DIR/admin.cnf" "$HOME/.my.cnf"

# blocks/N is the Nth block, blocks/N.line its first line.
mkdir "$scratch/blocks"
awk -v to="$scratch/blocks/" '
	/^```sh$/ { n++; inside = 1; file = sprintf("%s%03d", to, n)
		print NR + 1 >(file ".line"); next }
	/^```/ { inside = 0; next }
	inside { print >file }' "$readme"

# run BLOCK: runs it in a new shell, with the directory and environment that the last block left.
run() {
	(
		cd "$(cat "$scratch/where")" || exit 99
		# shellcheck disable=SC2016 # that shell expands them
		exec bash -c 'set -eu -o pipefail
			. "$1/environment"
			trap "export -p >\"$1/environment\"; pwd >\"$1/where\"" EXIT
			. "$2"' - "$scratch" "$1" </dev/null
	) >"$scratch/output" 2>&1
}

# look_at_demo: keeps what the demo has printed, and what the database says of it, before the next
# commands change that.
look_at_demo() {
	cp "$scratch/output" "$scratch/demo"
	"$top/scripts/sandbox" mysql lockq --batch --skip-column-names --execute="
		SELECT u.name, COALESCE(r.source, 'query')
		  FROM work_requested AS r JOIN app_user AS u USING (user_id)
		 WHERE r.task_id = 7 ORDER BY r.request_id" >"$scratch/requests"
	"$top/scripts/sandbox" mysql lockq --batch --skip-column-names --execute="
		SELECT user FROM leader_run
		 WHERE task_id = 7 AND query_ms IS NOT NULL ORDER BY epoch" >"$scratch/queries"
}

export -p >"$scratch/environment"
printf '%s\n' "$top" >"$scratch/where"
n_blocks=0
for block in "$scratch"/blocks/[0-9][0-9][0-9]; do
	n_blocks=$((n_blocks + 1))
	first=$(head -n 1 "$block")
	name="README.md:$(cat "$block.line"): $first"
	if [ "$(cat "$block")" = 'make check' ]; then
		skip "$name" 'this test is part of it'
		continue
	fi
	status=0
	run "$block" || status=$?
	[ "$first" != 'make demo' ] || look_at_demo
	is "$status" 0 "$name"
	if [ "$status" -ne 0 ]; then
		echo '#   after:'
		tail -n 20 "$scratch/output" >"$scratch/tail"
		show "$scratch/tail"
	fi
done
ok "$([ "$n_blocks" -ge 7 ]; echo $?)" "README.md has commands: $n_blocks blocks"
is "$("$top/scripts/sandbox" mysql bank --batch --skip-column-names --execute='
	SELECT GROUP_CONCAT(id ORDER BY id) FROM mortgage WHERE deed_checked')" 1002 \
	'with your own database: the loan that Oliver has completed is changed'
printf 'false\ntrue\n' >"$scratch/blocks/bad"
run "$scratch/blocks/bad"
ok "$([ $? -eq 1 ]; echo $?)" 'a command that fails inside a block: the block fails'

# forms FILE: prints its lines without names, numbers and times, which differ in each race.
forms() {
	sed -E -e 's/[0-9]+(\.[0-9]+)?/N/g' -e 's/\bN m?s\b/TIME/g' -e 's/ +/ /g' \
		-e 's/\b(oliver|tracy|amelia|ben|chloe|daniel)\b/NAME/g' "$1" |
		sort -u
}

sed -n '/^<!-- transcript: begin/,/^<!-- transcript: end/p' "$readme" | grep -v '^<!--\|^```\|^$' \
	>"$scratch/transcript"
ok "$([ "$(wc -l <"$scratch/transcript")" -ge 10 ]; echo $?)" 'README.md has a transcript'
forms "$scratch/transcript" >"$scratch/told"
forms "$scratch/demo" >"$scratch/shown"
is "$(comm -23 "$scratch/told" "$scratch/shown")" '' 'make demo prints every line of the transcript'
printf '  1.00 s  oliver     sings\n' >"$scratch/transcript"
forms "$scratch/transcript" >"$scratch/told"
is "$(comm -23 "$scratch/told" "$scratch/shown")" ' TIME NAME sings' '… and another line is noticed'

# --- the two bursts of the demo -----------------------------------------------------------------

# The table has a line for each user: NAME, the first wait and its source, the second wait and its
# source. The database has six requests of the first burst, then six of the second.
sed -n '/^ *first time  *again$/,/^$/p' "$scratch/demo" | sed '1d;$d' >"$scratch/table"
wait='([0-9.]+ m?s)' from='([a-z]+)[^ ]*( [0-9.]+ s old)?'
sed -E -n "s/^  ([a-z]+) +$wait  $from +$wait  $from\$/\1 \2 \3 \5 \6/p" "$scratch/table" \
	>"$scratch/rows"
is "$(awk '{ print $1, $4, $7 }' "$scratch/rows" | sort)" "$(awk '
	{ of[$1] = of[$1] " " $2 } END { for (user in of) print user of[user] }' \
	"$scratch/requests" | sort)" 'make demo: the loans come from where work_requested says'
is "$(grep -c ' list$' "$scratch/rows")" 6 'the second time six people took from a list'
is "$(awk '/^  heavy queries/ { print $3, $4, $5, $6, $7, $8 }' "$scratch/table")" \
	"1 by $(head -n 1 "$scratch/queries") 1 by (refill)" \
	'one heavy query ran in each burst, the second one behind their backs'
is "$(sed 1d "$scratch/queries")" '(refill)' 'leader_run says so, too'
is "$(grep -c 'Nobody waited for that query' "$scratch/demo")" 1 'and the demo says what that means'
# Each wait is the time between two lines of the race, which are rounded.
awk '$2 == "s" && $4 == "asks" { asked[$3, ++n[$3]] = $1 }
	$2 == "s" && $4 == "gets" { got[$3, ++m[$3]] = $1 }
	FILENAME ~ /rows$/ { check(1, $2, $3); check(2, $5, $6) }
	function check(burst, took, unit,    off) {
		off = got[$1, burst] - asked[$1, burst] - took / (unit == "ms" ? 1000 : 1)
		if (off > 0.0151 || off < -0.0151) print $1, burst, took, unit
	}' "$scratch/demo" "$scratch/rows" >"$scratch/wrong"
is "$(cat "$scratch/wrong")" '' 'the waits are those of the races'

# The commands in running text are not run, but the targets that they name must exist. The files
# that links name must exist, too.
for page in "$readme" "$figures"; do
	# shellcheck disable=SC2016 # backquotes that grep has to find
	missing=$(grep -o '`make [a-z-]*[ `]\|^make [a-z-]*' "$page" | tr -d '\140' | sort -u |
		while read -r _ target; do
			[ -z "$target" ] || grep -q "^$target:" "$top/Makefile" ||
				echo "make $target"
		done)
	is "$missing" '' "the Makefile has the targets that ${page##*/} names"
	missing=$(grep -o '](\([^)]*\))' "$page" | sed 's/^](\(.*\))$/\1/' | grep -v '^http' |
		while read -r file; do [ -e "$(dirname "$page")/$file" ] || echo "$file"; done)
	is "$missing" '' "the files that ${page##*/} refers to are there"
done
finish
