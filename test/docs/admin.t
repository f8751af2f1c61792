#!/usr/bin/env bash
# lockq-admin(7): its commands, run from top to bottom, do what the page says: from nothing to two
# people with work, a backup that is restored, and a removal that leaves nothing.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

page=$top/man/lockq-admin.7
scratch=$(mktemp -d)
sandbox=$(dirname "$LOCKQ_DEFAULTS_FILE")
drop_ours() {
	"$top/scripts/sandbox" mysql --execute="SET GLOBAL read_only = OFF;
		DROP DATABASE IF EXISTS docs_admin;
		DROP USER IF EXISTS docs_admin_owner, docs_clerk, docs_manager, docs_feed"
}
trap 'drop_ours; rm -rf "$scratch"' EXIT
drop_ours

# On PATH, as it is installed.
mkdir "$scratch/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$top/scripts/lockq-migrate" >"$scratch/bin/lockq-migrate"
chmod +x "$scratch/bin/lockq-migrate"
PATH=$scratch/bin:$PATH

# The page makes the files of the clerk and the manager. All of them lead to the sandbox.
export MYSQL_UNIX_PORT=$sandbox/mysql.sock
(
	umask 077
	printf '[client]\nuser=docs_admin_owner\npassword=Put-1-of-your-own-here\n' \
		>"$scratch/owner.cnf"
	printf '[client]\nuser=docs_feed\npassword=Put-4-of-your-own-here\n%s\n' \
		$'[lockq]\ndatabase=docs_admin' >"$scratch/feed.cnf"
	cp "$sandbox/admin.cnf" "$scratch"
)
unset LOCKQ_DEFAULTS_FILE

# A cluster has tests of its own.
awk -v to="$scratch/block-" -v cluster="$scratch/cluster" '
	/^\.Bd/ { file = sprintf("%s%02d", to, ++n); next }
	/^\.Ed/ { file = ""; next }
	file != cluster && /^scripts\/sandbox cluster/ { file = cluster; n-- }
	file != "" { sub(/\\e$/, "\\"); print >file }' "$page"
sed -i -e 's/bank/docs_admin/g' -e "s/\\bclerk\\b/docs_clerk/g; s/docs_clerk\\.cnf/clerk.cnf/g" \
	-e "s/\\([ =]\\)manager\\b/\\1docs_manager/g; s/\\bfeed\\b/docs_feed/g" \
	-e "s|/root/|$scratch/|g" "$scratch"/block-*

usage=$("$top/scripts/sandbox" cluster --help)
while read -r command; do
	like "$usage" "(^|[ |])$command( |$)" "scripts/sandbox cluster $command is there"
done < <(grep -o 'sandbox cluster [a-z]*' "$scratch/cluster" | cut -d ' ' -f 3 | sort -u)

# do_block: runs the next one: SQL as the administrator, else a shell's commands.
number=0
do_block() {
	local file
	number=$((number + 1))
	file=$(printf '%s/block-%02d' "$scratch" "$number")
	if grep -Eq '^(\(umask|lockq|mysql|managetask|getwork|disposition)' "$file"; then
		run bash -e -c "cd '$scratch'; . '$file'"
	else
		run "$top/scripts/sandbox" mysql --batch --execute="$(cat "$file")"
	fi
	is "$status:$err" 0: "lockq-admin(7): $(head -n 1 "$file" | sed "s|$scratch|/root|g")"
}

do_block
do_block
like "$out" 'nothing is missing' '--check says so first'
like "$out" 'applying baseline.sql' 'the tables are made'
do_block
do_block
is "$(stat -c %a "$scratch/clerk.cnf" "$scratch/manager.cnf" | xargs)" '600 600' \
	'the option files are readable by one person only'
do_block
do_block
like "$out" '^task 1: added' 'the manager makes a task'
like "$out" '^user tracy: added' 'and makes the people known'
do_block
like "$out" '^loan 1001: completed' 'two people work'
like "$out" '^loan 1002: returned, available from ' '… and one gives a loan back'
is "$("$top/scripts/sandbox" mysql docs_admin --batch --skip-column-names --execute='
	SELECT loan_id FROM deed WHERE checked')" 1001 'the procedure has changed the data'
do_block
like "$out" '1003' 'a loan goes to another user'
do_block
do_block
is "$("$top/scripts/sandbox" mysql docs_admin --batch --skip-column-names --execute='
	SELECT lease_minutes, cache_ttl, (SELECT COUNT(*) FROM kept_list) FROM task' | xargs)" \
	'60 300 1' 'the task has a lease and a list'
do_block
like "$out" 'Check the deed' 'lockqstat shows the task'
do_block
do_block
like "$out" 'nothing is left to finish' 'a new database has no older programs'
do_block
"$top/scripts/sandbox" mysql --execute='DROP DATABASE docs_admin; CREATE DATABASE docs_admin'
do_block
like "$out" 'up to date' 'lockq-migrate has nothing to make, but the roles'
do_block
run checkwork --defaults-file "$scratch/clerk.cnf" --user tracy --json
is "$(jq -s -c 'map(.loan_id)' <<<"$out")" '[1004]' 'what was assigned is there again'
"$top/scripts/sandbox" mysql --execute='UPDATE docs_admin.task SET cache_ttl = 0'
run disposition --defaults-file "$scratch/clerk.cnf" --user tracy --task 1 --loan 1004 \
	--return-after 0h --json
run getwork --defaults-file "$scratch/clerk.cnf" --user oliver --task 1 --json
is "$status:$(jq '.epoch > 1000000' <<<"$out")" 0:true 'work goes on, with higher epochs'
"$top/scripts/sandbox" mysql --execute='SET GLOBAL read_only = ON'
run getwork --defaults-file "$scratch/clerk.cnf" --user tracy --task 1
is "$status" 5 'a read-only server: exit 5'
like "$err" 'read.only' 'the message says why'
"$top/scripts/sandbox" mysql --execute='SET GLOBAL read_only = OFF'
do_block
do_block
do_block
run lockqstat --defaults-file "$scratch/feed.cnf" --follow broker --until-now
is "$status:$(jq -r .event <<<"$out" | sort | uniq -c | xargs)" \
	'0:6 assigned 1 completed 3 returned' 'the changes are handed to others'
do_block
"$top/scripts/sandbox" mysql --execute='DROP VIEW docs_admin.deeds_to_check'
do_block
is "$("$top/scripts/sandbox" mysql --batch --skip-column-names --execute="
	SHOW TABLES FROM docs_admin; SELECT COUNT(*) FROM mysql.user WHERE host = 'docs_admin'" |
	tr '\n' ' ')" 'deed 0 ' 'nothing of lockq is left'
is "$number" "$(find "$scratch" -name 'block-*' | wc -l)" 'each block of the page was run'
finish
