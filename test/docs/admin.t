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

# options FILE USER PASSWORD
options() {
	(umask 077 && printf '[client]\nuser=%s\npassword=%s\nsocket="%s"\nprotocol=socket\n' \
		"$2" "$3" "$sandbox/mysql.sock" >"$scratch/$1")
}
options owner.cnf docs_admin_owner Put-1-of-your-own-here
options clerk.cnf docs_clerk Put-2-of-your-own-here
options manager.cnf docs_manager Put-3-of-your-own-here
options feed.cnf docs_feed Put-4-of-your-own-here
for name in clerk manager feed; do
	printf '[lockq]\ndatabase=docs_admin\n' >>"$scratch/$name.cnf"
done
(umask 077 && cp "$sandbox/admin.cnf" "$scratch")
unset LOCKQ_DEFAULTS_FILE

# A cluster has tests of its own.
awk -v to="$scratch/block-" -v cluster="$scratch/cluster" '
	/^\.Bd/ { file = sprintf("%s%02d", to, ++n); next }
	/^\.Ed/ { file = ""; next }
	file != cluster && /^scripts\/sandbox cluster/ { file = cluster; n-- }
	file != "" { sub(/\\e$/, "\\"); print >file }' "$page"
sed -i -e 's/bank/docs_admin/g' -e "s/\\bclerk\\b/docs_clerk/g; s/docs_clerk\\.cnf/clerk.cnf/g" \
	-e "s/ manager\\b/ docs_manager/g; s/\\bfeed\\b/docs_feed/g" \
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
	if grep -Eq '^(lockq-migrate|mysql|getwork|managetask)' "$file"; then
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
do_block
like "$out" '^task 1: added' 'the manager makes a task'
like "$out" '^user tracy: added' 'and makes the people known'
do_block
is "$(grep -Eo '\b100[0-9]\b' <<<"$out" | sort | uniq -c | awk '{ print $2 ":" $1 }' |
	tr '\n' ' ')" '1001:2 1002:2 1003:1 1004:1 ' \
	'two people have two loans each, and checkwork shows those of one'
do_block
like "$out" 'nothing is left to finish' 'a new database has no older programs'
do_block
"$top/scripts/sandbox" mysql --execute='DROP DATABASE docs_admin; CREATE DATABASE docs_admin'
do_block
like "$out" 'up to date' 'lockq-migrate has nothing to make, but the roles'
do_block
run checkwork --defaults-file "$scratch/clerk.cnf" --user tracy --json
is "$(jq -s -c 'map(.loan_id)' <<<"$out")" '[1003,1004]' 'what was assigned is there again'
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
is "$(wc -l <<<"$out")" 2 'a task that was queried'
"$top/scripts/sandbox" mysql --execute='UPDATE docs_admin.task SET cache_ttl = 60'
run refill --defaults-file "$scratch/clerk.cnf" --task 1
is "$status" 0 'a list is filled'
do_block
like "$out" '^1	60	[0-9]+	[0-9]+	[0-9]+	' 'a task that keeps a list'
do_block
run lockqstat --defaults-file "$scratch/feed.cnf" --follow broker --until-now
is "$status:$(jq -r .event <<<"$out" | sort | uniq -c | xargs)" '0:5 assigned 1 returned' \
	'the changes are handed to others'
do_block
"$top/scripts/sandbox" mysql --execute='DROP VIEW docs_admin.deeds_to_check'
do_block
is "$("$top/scripts/sandbox" mysql --batch --skip-column-names --execute="
	SHOW TABLES FROM docs_admin; SELECT COUNT(*) FROM mysql.user WHERE host = 'docs_admin'" |
	tr '\n' ' ')" 'deed 0 ' 'nothing of lockq is left'
is "$number" "$(find "$scratch" -name 'block-*' | wc -l)" 'each block of the page was run'
finish
