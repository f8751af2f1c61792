#!/usr/bin/env bash
# The manual has everything that the programs, the header and the tables have, and nothing else.
# Each check_ function prints the differences in the tree that is its first argument. The end of
# this file damages copies of the tree, and each check must notice.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"

statuses='0 1 2 3 4 5 6 130 143'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# help_of PROGRAM: prints its --help, and that of each of its commands.
help_of() {
	local command
	commands_of "$1" | while read -r command; do
		help_text "$1" "$command" --help
	done
}

# documented_options PAGE SECTION: prints them in the same way.
documented_options() {
	section "$1" "$2" | sed -n -e 's/^\.It Fl \([A-Za-z]\) , -\([a-z-]*\).*/-\1\n--\2/p' \
		-e 's/^\.It Fl -\([a-z-]*\).*/--\1/p'
}

# shared_options TREE PROGRAM: those that stand in lockq-options(5).
shared_options() {
	case $2 in
	lockq-migrate) ;;
	seedloans) documented_options "$1/man/lockq-options.5" 'COMMAND LINE' | grep -vx -e --log ;;
	*) documented_options "$1/man/lockq-options.5" 'COMMAND LINE' ;;
	esac
}

# --help=all has all options, --help those of the program's own page.
check_options() {
	local program=$2 command help
	for help in --help --help=all; do
		commands_of "$program" | while read -r command; do
			help_options "$program" "$command" "$help"
		done | sort -u >"$scratch/$help"
	done
	mv "$scratch/--help=all" "$scratch/is"
	documented_options "$1/man/$program.1" OPTIONS | sort -u >"$scratch/own"
	comm -23 "$scratch/own" "$scratch/--help" | sed 's/$/: --help does not have it/'
	shared_options "$1" "$program" | cat "$scratch/own" - >"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
}

check_statuses() {
	local program=$2
	{
		printf '%s\n' "$statuses" | tr ' ' '\n'
		help_of "$program" | sed -n '/^Exit status:/,$s/^  \([0-9, ]*[0-9]\)  .*/\1/p' |
			tr -d ' ' | tr ',' '\n'
	} >"$scratch/is"
	section "$1/man/$program.1" 'EXIT STATUS' >"$scratch/text"
	{
		sed -n 's/^\.It \([0-9 ,]*\)$/\1/p' "$scratch/text" | tr -d ' ' | tr ',' '\n'
		grep -o '\b129\b' "$scratch/text"
	} >"$scratch/documented"
	help_of "$program" | grep '\b129\b' >/dev/null || echo 129 >>"$scratch/is"
	compare "$scratch/is" "$scratch/documented"
}

# lib/lockq.h has all that lockq(3) needs: scripts/api-page says what is missing.
check_contract() {
	page_of "$1" lockq.3 2>&1 >"$scratch/made" | head -n 20
	[ -s "$scratch/made" ] || echo 'lockq.3 was not made'
}

# The package's list of symbols, each with its version.
check_package() {
	awk '/^LOCKQ_/ { version = $1 }
		/^\tlockq_.*;$/ { sub(";", ""); print $1 "@" version }' "$1/lib/lockq.map" |
		sort >"$scratch/is"
	sed -n 's/^ \(lockq_[a-z_]*@[A-Z0-9_.]*\) .*/\1/p' "$1/debian/liblockq0.symbols" | sort \
		>"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
}

# The columns of the tables, as "work.loan_id". scripts/lockq-migrate makes schema_version itself.
# shellcheck disable=SC2016 # sed looks for these dollar signs
check_columns() {
	{
		cat "$1/schema/baseline.sql"
		sed -n '/CREATE TABLE IF NOT EXISTS \$1/,/ENGINE/p' "$1/scripts/lockq-migrate" |
			sed -e 's/\$1/schema_version/' -e 's/^.*\(CREATE TABLE\)/\1/' \
				-e 's/^\t*/  /' -e 's/^  CREATE/CREATE/'
	} | awk '/^CREATE TABLE IF NOT EXISTS / { name = $6; next }
		/^\)|ENGINE=/ { name = "" }
		name != "" && /^  [a-z_]+ +[A-Z]/ { print name "." $1 }' >"$scratch/is"
	section "$1/man/lockq-schema.5" TABLES |
		awk '/^\.Ss / { name = $2 }
		/^\.It Va / { sub(/^\.It Va /, ""); n = split($0, columns, / , /)
			for (i = 1; i <= n; i++) print name "." columns[i] }' >"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
}

check_roles() {
	sed -n 's/^CREATE ROLE IF NOT EXISTS \(.*\);$/\1/p' "$1/schema/roles.sql" |
		tr -d ' ' | tr ',' '\n' >"$scratch/is"
	section "$1/man/lockq-schema.5" ROLES | sed -n 's/^\.It Vt \(.*\)$/\1/p' \
		>"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
}

# The files that the manual names are there, and the functions are in the files that it names.
check_places() {
	local page file name
	pages_of "$1" | while read -r page; do
		tr ',' '\n' <"$page" |
			grep -Eo '\b(lib|schema|examples|scripts)/[A-Za-z0-9./_-]*' |
			sed 's/[.,]*$//' | sort -u | while read -r file; do
			[ -e "$top/$file" ] || echo "${page##*/}: there is no $file"
		done
	done
	sed -n 's/^\.Pq \(Fn\|Va\) \([a-z_]*\) No in Pa \([a-z_/.]*\).*/\2 \3/p' "$1/man/lockq.7" \
		>"$scratch/places"
	[ -s "$scratch/places" ] || echo 'lockq.7 names no guards'
	while read -r name file; do
		grep -q "\b$name\b" "$top/$file" || echo "lockq.7: there is no $name in $file"
	done <"$scratch/places"
}

# The states of a call: the table at the top of lib/getwork/getwork.c, the switch below it, the page
# and the model.
check_states() {
	local file code=$1/lib/getwork/getwork.c
	local table='^ \*   \([A-Za-z_]*\) *\([a-z_]*\) *-> \(.*\)'

	sed -n "s/$table/\1 \3/p" "$code" | sed 's/([^)]*)//g; s/|/ /g' >"$scratch/offered"
	section "$1/man/lockq.7" 'STATES OF A CALL' |
		sed -n 's/^\.It \([A-Za-z_]*\) Ta \([A-Z_, ]*\) Ta .*/\1 \2/p' | tr ',' ' ' \
		>"$scratch/documented"
	for file in offered documented; do
		sed -i 's/  */ /g; s/ $//' "$scratch/$file"
	done
	compare "$scratch/offered" "$scratch/documented"
	sed -n "/^ \*   any/!s/$table/\1 \2/p" "$code" >"$scratch/offered"
	sed -n 's/^\t*case \([A-Z_]*\): *rc = \([a-z_]*\)(.*/\1 \2/p' "$code" >"$scratch/documented"
	compare "$scratch/offered" "$scratch/documented"
	# The page says that the model lacks this one.
	cut -d ' ' -f 1 "$scratch/documented" | grep -vx TAKE >"$scratch/offered"
	sed -n 's/^\([A-Z_]*\):$/\1/p' "$1/test/model/lockq.pml" >"$scratch/documented"
	compare "$scratch/offered" "$scratch/documented"
}

# The options of scripts/race, in lockq-patterns(7).
check_race_options() {
	local page=$1/man/lockq-patterns.7
	"$1/scripts/race" --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p' >"$scratch/offered"
	section "$page" OPTIONS | sed -n 's/^\.It Fl \(-[a-z-]*\).*/-\1/p' >"$scratch/documented"
	echo --help >>"$scratch/offered"
	compare "$scratch/offered" "$scratch/documented"
	sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESC/s/^\(.*\)Fl \(-[a-z-]*\).*/-\2/p' "$page" |
		sort -u >"$scratch/named"
	grep -vx -e --help -f "$scratch/named" "$scratch/offered" |
		grep -vx -e --kill | sed 's/$/: not in the synopsis/'
}

check_patterns() {
	"$1/scripts/race" --list | cut -d ' ' -f 1 >"$scratch/offered"
	section "$1/man/lockq-patterns.7" 'THE PATTERNS' | sed -n 's/^\.It Cm \(.*\)/\1/p' \
		>"$scratch/documented"
	compare "$scratch/offered" "$scratch/documented"
}

check_figures() {
	{
		printf '%s\t1\ta\tserved\t1\n' 1 2 | jq -R -s -L "$1/scripts/lab/race" \
			'include "figures"; events | figures'
		sed -n "/ {pattern: /,/} +/p" "$1/scripts/race" | tr -d "'\n" |
			sed -e 's/.*{\(.*\)}.*/{\1}/' -e 's/\$[a-z]*/1/g' \
				-e 's/\([a-z_]*\):/"\1":/g'
	} | jq -r 'keys[]' >"$scratch/offered"
	section "$1/man/lockq-patterns.7" JSON | sed -n 's/^\.It Va //p' | tr ',' '\n' |
		tr -d ' ' >"$scratch/documented"
	compare "$scratch/offered" "$scratch/documented"
}

# check_help TREE NAME COMMAND: its --help keeps to the 80 columns of a terminal.
check_help() {
	local name=$2 status=0
	"${@:3}" --help >"$scratch/help" 2>&1 </dev/null || status=$?
	[ "$status" -eq 0 ] || echo "$name --help ends with status $status"
	[ -s "$scratch/help" ] || echo "$name --help prints nothing"
	LC_ALL=C.UTF-8 grep -E '.{81}' "$scratch/help" | sed "s|^|$name --help: over 80 columns: |"
}

# check_goals: what compiles must know the flags of the MySQL client.
check_goals() {
	local goal
	sed -n '/^WITHOUT_CLIENT := /,/[^\\]$/s/.* := \|[\\]//gp' "$1/Makefile" |
		tr -s '[:space:]' '\n' | while read -r goal; do
		sed -n "s/^$goal:\( .*\)* \(all\|test-programs\)\( .*\)*$/$goal needs \2/p" \
			"$1/Makefile"
	done
}

# Every script has a --help.
check_script_help() {
	local script
	find "$1/scripts" -type f -perm -u+x -printf '%P\n' | sort >"$scratch/scripts"
	[ "$(wc -l <"$scratch/scripts")" -ge 20 ] || echo 'too few scripts were found'
	while read -r script; do
		check_help "$1" "scripts/$script" "$1/scripts/$script"
	done <"$scratch/scripts"
}

check_links() {
	pages_of "$1" | tr '\n' '\0' | xargs -0 \
		sed -n 's/^\.Xr \([a-z-]*\) \([0-9]\).*/\1.\2/p' | sort -u |
		grep -Ev '^(pkg-config|flock|gnuplot|uuidgen)\.' | while read -r page; do
		[ -e "$(page_of "$1" "$page")" ] || echo "there is no $page"
	done
}

check_lint() {
	local page
	pages_of "$1" | while read -r page; do
		(cd "${page%/*}" && mandoc -Tlint -W warning "${page##*/}") 2>&1
	done
}

# The page has the JSON keys that the sources set, and no others.
check_json() {
	local program=$2 function
	local -a functions
	case $program in
	getwork) functions=(cli_json_answer json_loans json_answer disposed_object
			disposed_loan_set) ;;
	runwork) functions=(disposed_object disposed_loan_set json_executed) ;;
	checkwork)
		functions=(cli_json_answer json_loans json_request json_pipeline json_requests
			json_tasks json_history cli_json_event)
		;;
	disposition) functions=(disposed_object disposed_loan_set json_expired) ;;
	refill) functions=(json_refilled) ;;
	managetask)
		functions=(json_definitions json_people manage_say_done json_finding json_findings
			json_rights json_corrected disposed_loan_set)
		;;
	lockqstat)
		functions=(json_list json_run json_trouble json_stats json_health print_rest deliver
			cli_json_event json_cursors drop)
		;;
	seedloans) functions=(json_seeded) ;;
	esac
	{
		[ "$program" != managetask ] ||
			sed -n 's/^\t{ "\([a-z_]*\)", SETTING_.*/\1/p' "$top/lib/manage/settings.c"
		for function in "${functions[@]}"; do
			sed -n "/^$function(/,/^}/p" "$top"/cmd/{cli,"$program"}/*.c |
				sed -n 's/.*cli_json_set([a-z]*, "\([a-z0-9_]*\)".*/\1/p'
		done
		printf 'error\nexit\n'
	} >"$scratch/is"
	section "$1/man/$program.1" JSON | grep '\.\(It \)\?Va ' | sed 's/^\.\(It \)\?Va //' |
		sed 's/ , /\n/g' | sed 's/[ ,.]*$//' >"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
}

# lockq-admin(7) has the keys of the log.
check_log() {
	sed -n 's/.*cli_json_set([a-z]*, "\([a-z_]*\)".*/\1/p' "$1/cmd/cli/log.c" >"$scratch/is"
	section "$1/man/lockq-admin.7" LOGS | sed -n 's/^\.It Va //p' | sed 's/ , /\n/g' \
		>"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
}

# The page has the code of each finding of a check, and no others. Some codes are in tables, so the
# other way round it is enough that the sources have them.
check_findings() {
	local code
	cat "$1"/lib/check/*.c >"$scratch/audit"
	section "$1/man/managetask.1" FINDINGS | sed -n 's/^\.It Sy //p' | sort -u \
		>"$scratch/documented"
	perl -0ne 'print "$1\n" while /audit_(?:found|lacks)\(a, \w+,\s*"(\w+)"/g' \
		"$scratch/audit" | sort -u >"$scratch/is"
	[ -s "$scratch/is" ] || echo 'the sources have no finding'
	comm -23 "$scratch/is" "$scratch/documented" | sed 's/^/without an entry: /'
	while read -r code; do
		grep -q "\"$code\"" "$scratch/audit" || echo "no such finding: $code"
	done <"$scratch/documented"
}

for program in $programs; do
	none "$program(1) has the options that --help has" check_options "$top" "$program"
	while read -r command; do
		# shellcheck disable=SC2086 # a command may have two words
		none "$program${command:+ $command} --help keeps to 80 columns" \
			check_help "$top" "$program" "$program" $command
	done < <(commands_of "$program")
	none "$program(1) has all exit statuses" check_statuses "$top" "$program"
	none "$program(1) has the keys of its JSON" check_json "$top" "$program"
done
PATH=$PATH:$top/scripts
none 'lockq-migrate(1) has the options that --help has' check_options "$top" lockq-migrate
none 'managetask(1) has the code of each finding' check_findings "$top"
none 'lockq-admin(7) has the keys of the log' check_log "$top"
none 'lockq.h describes all that the library exports' check_contract "$top"
none 'the package has a list of all that' check_package "$top"
none 'lockq-schema(5) has every column of every table' check_columns "$top"
none 'lockq-schema(5) has every role' check_roles "$top"
none 'lockq-patterns(7) has the options of scripts/race' check_race_options "$top"
none 'lockq-patterns(7) has every pattern of the lab' check_patterns "$top"
none 'lockq-patterns(7) has the keys of the JSON of scripts/race' check_figures "$top"
none 'each goal of make that compiles includes the client' check_goals "$top"
none 'every script has a --help, which keeps to 80 columns' check_script_help "$top"
none 'files and functions that the manual names are there' check_places "$top"
none 'pages that the manual refers to are there' check_links "$top"
none 'the states of a call are the same in code, manual and model' check_states "$top"
if command -v mandoc >/dev/null 2>&1; then
	none 'mandoc finds no fault' check_lint "$top"
else
	skip 'mandoc finds no fault' 'no mandoc'
fi

noticed check_options man/getwork.1 '/^\.It Fl -poll/d' getwork
noticed check_options man/lockq-options.5 '/^\.It Fl -login-path/d' getwork
noticed check_options man/getwork.1 's/^\.It Fl n , -count/.It Fl m , -count/' getwork
noticed check_statuses man/disposition.1 '/^\.It 6$/d' disposition
noticed check_json man/checkwork.1 '/^\.It Va lease_expired/d' checkwork
noticed check_findings man/managetask.1 '/^\.It Sy procedure_missing/d'
noticed check_log man/lockq-admin.7 '/^\.It Va statement_ms/d'
noticed check_findings man/managetask.1 's/^\.It Sy view_waits/.It Sy view_sits/'
noticed check_contract lib/lockq.h '/^ \* lockq_pipeline:$/d'
noticed check_contract lib/lockq.h 's/^ \* lockq_pipeline:$/ * lockq_pipelines:/'
noticed check_contract lib/lockq.h '/^ \* @wait_ms:/d'
noticed check_contract lib/lockq.h 's/^ \* @wait_ms:/ * @wait_s: /'
noticed check_contract lib/lockq.h 's/^ \* @result: /&\n&/'
noticed check_contract lib/lockq.h 's/^ \* Frees the strings and loans of @answer.*/ */'
noticed check_contract lib/lockq.h 's/^ \* Makes a handle\. /&It is @quick. /'
noticed check_contract lib/lockq.h '/^ \* Returns: the version of/d'
noticed check_contract lib/lockq.h 's/^ \* Closes the connections/ * Returns: 0.\n *\n&/'
noticed check_contract lib/lockq.h '0,/^ \* Since: 0\.1/{//d}'
noticed check_contract lib/lockq.h 's/^ \* Since: 0\.3/ * Since: 0.2/'
noticed check_contract lib/lockq.h 's/\(int64_t timeout_ms;\) *\/\*\*< longest wait in.*/\1 \/* it/'
noticed check_contract lib/lockq.h 's/^\(\tLOCKQ_SERVED,\) .*/\1/'
noticed check_contract lib/lockq.h '/^\/\*\* The most loans of one disposition/d'
noticed check_contract lib/lockq.h '/^\/\*\* What to ask for\. \*\/$/d'
noticed check_contract lib/lockq.h 's/^\/\*\* What to ask for/&, see lockq_get()/'
noticed check_contract lib/lockq.h 's/^\/\*\* What to ask for/&, or LOCKQ_NEVERMORE/'
noticed check_contract lib/lockq.h 's/^#define LOCKQ_ASK_INIT/#define LOCKQ_ASKS_INIT/'
noticed check_contract lib/lockq.h '/^\/\* --- The handle/d'
noticed check_contract man/lockq.3.in '/^@structures@$/d'
noticed check_contract man/lockq.3.in 's/^@numbers@$/@number@/'
noticed check_package debian/liblockq0.symbols '/^ lockq_on_log@/d'
noticed check_contract lib/lockq.map 's/^\tlockq_version;/&\n\tlockq_vanished;/'
noticed check_contract lib/lockq.map '/^\tlockq_version;/d'
noticed check_columns man/lockq-schema.5 '/^\.It Va request_ttl/d'
noticed check_columns man/lockq-schema.5 '/^\.Ss task_wake/d'
noticed check_columns schema/baseline.sql 's/^  since .*/&\n  humour INT NULL,/'
noticed check_roles man/lockq-schema.5 '/^\.It Vt lockq_viewer/d'
noticed check_race_options man/lockq-patterns.7 '/^\.It Fl -gap/d'
noticed check_race_options man/lockq-patterns.7 '/^\.Op Fl -fresh/d'
noticed check_patterns man/lockq-patterns.7 '/^\.It Cm nowait/d'
noticed check_figures man/lockq-patterns.7 's/^\.It Va retries/.It Va tries/'
noticed check_goals Makefile 's/^WITHOUT_CLIENT := /&check-model /'
noticed check_script_help scripts/tour 's/^  --yes  /&                     /'
noticed check_script_help scripts/lab/common.sh 's/^\t\texit 0 ;;/\t\texit 2 ;;/'
noticed check_places man/lockq.7 's/Fn nap_with_jitter/Fn look_once_more/'
noticed check_links man/lockq.7 's/^\.Xr checkwork 1/.Xr checkworks 1/'
noticed check_states man/lockq.7 's/^\.It TRY Ta LEAD, FOLLOW, LOOK/.It TRY Ta LEAD, FOLLOW/'
noticed check_states lib/getwork/getwork.c 's/case REST:  /case GIVE:  /'
noticed check_states test/model/lockq.pml 's/^HAND_OVER:/OVER:/'
if command -v mandoc >/dev/null 2>&1; then
	noticed check_lint man/getwork.1 '/^\.El/d'
fi
finish
