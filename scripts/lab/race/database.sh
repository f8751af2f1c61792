# The lab's database and account. Sourced by scripts/race.
# shellcheck shell=bash disable=SC2154 # the options are those of scripts/race

# As scripts/sandbox mysql does, which starts more processes.
administer() {
	MYSQL_TEST_LOGIN_FILE=$sandbox/no-login-file mysql --defaults-file="$sandbox/admin.cnf" \
		--batch --skip-column-names "$@"
}

need_programs() {
	local program
	"$top/scripts/sandbox" status >/dev/null 2>&1 ||
		die 5 "the sandbox does not run: start it with 'scripts/sandbox start'"
	eval "$("$top/scripts/sandbox" env)"
	sandbox=$(dirname "$LOCKQ_DEFAULTS_FILE")
	for program in getwork seedloans mysql jq flock; do
		command -v "$program" >/dev/null ||
			die 5 "$program is missing: 'make' builds lockq, 'scripts/setup build'" \
				"installs what it needs"
	done
}

# One race at a time, since the tables of the patterns have the same names.
lock_lab() {
	exec {lab_lock}>"$sandbox/lab.lock"
	flock --nonblock "$lab_lock" ||
		die 3 "another race is at work in this sandbox: wait for its end"
}

# The account of the patterns gets a new password for each race. lockq_lab_two stands for a second
# server, and a race finds nothing in it that it has not made.
make_account() {
	local password
	password=$(od -An -v -N24 -tx1 /dev/urandom | tr -d ' \n')
	administer <<-END
		CREATE USER IF NOT EXISTS lockq_lab@localhost;
		ALTER USER lockq_lab@localhost IDENTIFIED BY '$password';
		GRANT ALL ON \`lockq\_lab\`.* TO lockq_lab@localhost;
		CREATE DATABASE IF NOT EXISTS lockq_lab_two;
		GRANT ALL ON \`lockq\_lab\_two\`.* TO lockq_lab@localhost;
	END
	(umask 077; cat >"$scratch/options") <<-END
		[client]
		user=lockq_lab
		password=$password
		socket="$sandbox/mysql.sock"
	END
}

# Returns whether lockq_lab is there and has the tables of this lockq. Where that can't be found out
# the race ends, since making the database anew would not help.
lab_is_there() {
	local status=0
	[ "$fresh" = no ] || return 1
	[ -n "$(administer --execute="SELECT 1 FROM information_schema.tables
		WHERE table_schema = 'lockq_lab' AND table_name = 'lab'")" ] || return 1
	"$top/scripts/lockq-migrate" --example --status --database lockq_lab -- \
		--defaults-file="$sandbox/admin.cnf" >/dev/null 2>"$scratch/errors" || status=$?
	case $status in
	0) ;;
	1 | 4) return 1 ;;
	*) die 5 "the database lockq_lab can't be used: $(tail -n 1 "$scratch/errors")" ;;
	esac
}

# Makes the loans and the heavy query once; later races use them again.
make_lab() {
	local was=''
	if lab_is_there; then
		was=$(administer --execute='SELECT query_seconds FROM lockq_lab.lab')
	else
		say 'making the database lockq_lab, with 20,000 loans'
		"$top/scripts/sandbox" database lockq_lab
		administer --execute='DROP DATABASE IF EXISTS lockq_lab_two'
		seedloans --database lockq_lab --loans 20000 --seed 7 --users 99 >/dev/null
		administer lockq_lab <<-END
			CREATE SQL SECURITY DEFINER VIEW candidates AS
			  SELECT loan_id, MIN(priority) AS priority
			    FROM candidates_verify_bank_account GROUP BY loan_id;
			CREATE TABLE lab (query_seconds DECIMAL(7,3) NOT NULL);
			INSERT INTO lab VALUES (-1);
		END
	fi
	make_account
	[ "$(reckon "${was:--1}")" != "$(reckon "$seconds")" ] || return 0
	say "making the heavy query take about $seconds s"
	# -1 stands until the end: a seedloans that is broken off leaves a query of unknown length.
	administer --execute='UPDATE lockq_lab.lab SET query_seconds = -1'
	seedloans --database lockq_lab --heavy "$seconds" >/dev/null
	administer --execute="UPDATE lockq_lab.lab SET query_seconds = $seconds"
}

# Sets $users. A name with a control character would break the lines that processes tell, and
# the other names here are those of processes beside the users, so such users don't race.
read_users() {
	mapfile -t users < <(administer --raw --execute="SELECT name FROM $database.app_user
		WHERE name NOT REGEXP '[[:cntrl:]]'
		  AND name NOT IN ('', 'background', '(later)', '(refill)')
		ORDER BY name NOT IN ('oliver', 'tracy'), user_id LIMIT $shells")
	[ "${#users[@]}" -eq "$shells" ] ||
		die 2 "only ${#users[@]} users for $shells shells: 'seedloans --database" \
			"$database --users $((shells < 24 ? 24 : shells))' makes more"
}

# end_queries: the server would go on with the queries of processes that were killed.
end_queries() {
	administer --execute="SELECT CONCAT('KILL ', id, ';') FROM information_schema.processlist
		WHERE user = 'lockq_lab'" | administer --force
} >/dev/null 2>&1
