#!/usr/bin/env bash
# Each right of the role lockq_worker, taken away alone.
# shellcheck disable=SC2016 # these backticks are names
set -u
# shellcheck source=test/support/accounts.sh
. "$(dirname "$0")/../../support/accounts.sh"

bank=test_rights
cleanup() {
	admin "DROP DATABASE IF EXISTS $bank" >/dev/null
	forget_accounts
}
trap cleanup EXIT
"$top/scripts/sandbox" database $bank >/dev/null
account alice lockq_worker@$bank
admin "USE $bank;
	CREATE TABLE loans (loan_id BIGINT UNSIGNED PRIMARY KEY);
	INSERT INTO loans VALUES (1), (2), (3), (4), (5), (6);
	CREATE VIEW deeds AS SELECT loan_id, loan_id AS priority FROM loans;
	GRANT SELECT ON deeds TO lockq_worker@$bank;
	INSERT INTO app_user (user_id, name) VALUES (1003, 'shared');
	INSERT INTO task (task_id, name, candidates_view) VALUES (33, 'Others', 'deeds');
	CALL task_rows(NULL)"

# Each right of the role, taken away alone. What a program can't do without it names the role, and
# nothing is left half done.
faults='' named=0
while read -r grant; do
	revoke=$(sed 's/^GRANT/REVOKE/; s/ TO `lockq/ FROM `lockq/' <<<"$grant")
	admin "$revoke"
	for call in "getwork --user shared --task 33" "checkwork --user shared" \
		"disposition --user shared --task 33 --loan 1 --return-after 0h" \
		"disposition --expire"; do
		# shellcheck disable=SC2086 # words
		as alice $call
		case $status:$err in
		[01]:*) ;;
		5:*": it needs the role 'lockq_worker'@'$bank'"*) named=$((named + 1)) ;;
		4:*) ;; # the loan is not the caller's
		*) faults+="$revoke: $call: $status $err"$'\n' ;;
		esac
	done
	admin "$grant"
	as alice disposition --user shared --task 33 --loan 1 --return-after 0h
done < <(admin "SHOW GRANTS FOR lockq_worker@$bank" | grep " ON .*\`$bank\`\.")
is "$faults" '' 'each right that is missing is told, with the role that has it'
ok "$([ $named -ge 20 ]; echo $?)" "$named calls could not do without one"
is "$(admin "SELECT COUNT(*) FROM $bank.work AS w JOIN $bank.work_log AS l USING (task_id, loan_id)
	WHERE l.version > w.version")" 0 'nothing is half done'
finish
