# What the figures share: the result file, sizes, percentiles, a heavy query, the server's CPU time.
# Sourced by test/bench/figures/*. A figure calls figure() first, then measure() for each number.
#
#   clean_up       a figure defines it; it is called once when the figure ends, however it ends
#   BENCH_SIZE     usual, full (adds cases that take long) or short (as small as possible, which
#                  shows that the figure works and measures nothing)
# shellcheck shell=bash

# shellcheck source=test/support/crowd.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/crowd.sh"
# shellcheck source=scripts/signals.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/signals.sh"

build=${LOCKQ_BUILD:-$top/build}
# shellcheck disable=SC2034 # the figures use it
programs=$build/test/bench
results=${LOCKQ_BENCH_OUT:-$build/bench}
mkdir -p "$results"
result=
bench_size=${BENCH_SIZE:-usual}

# For a figure that defines none.
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
	end_crowd
}

# Cleaning up may take a moment. A second Ctrl-C must not break it off, or tasks and users stay.
# shellcheck disable=SC2317
at_end() {
	trap '' INT TERM HUP
	clean_up
}
trap at_end EXIT
end_on_signals

# size USUAL SHORT [FULL]
size() {
	case $bench_size in
	short) echo "$2" ;;
	full) echo "${3-$1}" ;;
	*) echo "$1" ;;
	esac
}

# until_settled TRIES: waits until the server has purged deleted rows and written its pages. It does
# both in the background, which would disturb a measurement. It tries twice a second, then gives up.
# The short form measures nothing.
until_settled() {
	local i settled
	[ "$bench_size" != short ] || return 0
	for ((i = 0; i < $1; i++)); do
		settled=$(sql "SELECT (SELECT count FROM information_schema.innodb_metrics
			             WHERE name = 'trx_rseg_history_len') < 100
			       AND (SELECT variable_value FROM performance_schema.global_status
			             WHERE variable_name = 'Innodb_buffer_pool_pages_dirty') < 200")
		[ "$settled" != 1 ] || return 0
		sleep 0.5
	done
}

server_settings() {
	"$top/scripts/sandbox" mysql --batch --execute "
		SELECT @@innodb_flush_log_at_trx_commit AS innodb_flush_log_at_trx_commit,
		       @@log_bin AS log_bin, @@sync_binlog AS sync_binlog,
		       @@innodb_buffer_pool_size AS innodb_buffer_pool_size,
		       @@innodb_flush_method AS innodb_flush_method,
		       @@innodb_doublewrite AS innodb_doublewrite,
		       @@performance_schema AS performance_schema,
		       @@max_connections AS max_connections" |
		jq -Rn '[inputs / "\t"] | [.[0], .[1]] | transpose
			| map({ (.[0]): (.[1] | tonumber? // .) }) | add'
}

machine() {
	jq -n --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" \
		--argjson cores "$(nproc)" \
		--argjson memory "$(awk '/^MemTotal/ { print $2 * 1024 }' /proc/meminfo)" \
		--arg kernel "$(uname -sr)" \
		--arg load "$(cut -d ' ' -f 1-3 /proc/loadavg)" \
		--arg system "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)" \
		'{ cpu: $cpu, cores: $cores, memory_bytes: $memory, system: $system,
		   kernel: $kernel, load_before: $load }'
}

versions() {
	local commit
	commit=$(git -C "$top" describe --always --dirty 2>/dev/null) || commit=unknown
	jq -n --arg lockq "$(getwork --version | head -n 1)" --arg commit "$commit" \
		--arg mysql "$(sql 'SELECT VERSION()')" \
		'{ lockq: $lockq, commit: $commit, mysql: $mysql }'
}

# figure TITLE [SETTING=VALUE…]: begins the result file; the settings are those of the figure.
figure() {
	local own='{}' setting
	for setting in "${@:2}"; do
		own=$(jq --arg s "$setting" '. + ($s | capture("^(?<key>[^=]*)=(?<value>.*)$")
			| { (.key): (.value | tonumber? // .) })' <<<"$own")
	done
	result=$results/$(basename "$0").json
	jq -n --arg figure "$(basename "$0")" --arg title "$1" --arg at "$(date -u +%FT%TZ)" \
		--arg size "$bench_size" \
		--argjson machine "$(machine)" --argjson versions "$(versions)" \
		--argjson server "$(server_settings)" --argjson own "$own" \
		'{ figure: $figure, title: $title, at: $at, size: $size, machine: $machine,
		   versions: $versions, settings: { server: $server, figure: $own }, measures: [],
		   not_run: [] }' >"$result"
	printf '\n%s: %s\n' "$(basename "$0")" "$1"
}

# measure [--silent] [--less | --more] [--at-least N | --at-most N] KEY VALUE UNIT TEXT: adds a
# number to the result file. --less, --more: which is better. --at-least, --at-most: the goal. A
# VALUE that is no number could not be measured, and misses its goal. A ratio has the unit x.
# --silent: prints no line, for a figure that prints a table.
measure() {
	local better=null least=null most=null silent=no
	while [[ $1 = --* ]]; do
		case $1 in
		--silent) silent=yes ;;
		--less | --more) better="\"${1#--}\"" ;;
		--at-least) least=$2 better='"more"' ;;
		--at-most) most=$2 better='"less"' ;;
		esac
		[[ $1 != --at-* ]] || shift
		shift
	done
	jq --arg key "$1" --arg value "$2" --arg unit "$3" --arg text "$4" \
		--argjson better "$better" --argjson least "$least" --argjson most "$most" '
		($value | tonumber? // null) as $v |
		(($least != null or $most != null) and ($v == null or
			($least != null and $v < $least) or ($most != null and $v > $most)))
			as $missed |
		.seconds = (now - (.at | fromdate) | floor) |
		.measures += [{ key: $key, text: $text, value: $v, unit: $unit, better: $better,
			at_least: $least, at_most: $most, missed: $missed }]' \
		"$result" >"$result.new"
	mv "$result.new" "$result"
	[ "$silent" = no ] || return 0
	jq -r '.measures[-1] | [.text, .value // "none", .unit,
		if .at_least == null and .at_most == null then ""
		else (if .missed then "MISSED: " else "" end) +
			if .at_least then "at least \(.at_least)" else "at most \(.at_most)" end
		end] | @tsv' "$result" | show_line
}

# Reads TEXT, VALUE, UNIT, GOAL with tabs between them; prints them in 80 columns, a long text on
# several lines.
show_line() {
	awk -F '\t' -v width=45 '{
		text = $1
		while (length(text) > width) {
			for (i = width; i > 1 && substr(text, i + 1, 1) != " "; i--)
				;
			if (i == 1)
				i = width
			printf "  %s\n", substr(text, 1, i)
			text = "  " substr(text, i + 2)
		}
		line = sprintf("  %-" width "s %9s %-8s %s", text, $2, $3, $4)
		sub(/ +$/, "", line)
		if (length(line) > 80) {
			line = sprintf("  %-" width "s %9s %s\n%80s", text, $2, $3, $4)
			sub(/ *\n/, "\n", line)
		}
		print line }'
}

# not_run KEY TEXT WHY: a case that was left out. Its number is never computed from other cases.
not_run() {
	jq --arg key "$1" --arg text "$2" --arg why "$3" \
		'.not_run += [{ key: $key, text: $text, why: $why }]' "$result" >"$result.new"
	mv "$result.new" "$result"
	printf '  %-45s not run: %s\n' "$2" "$3"
}

# percentile P: of the numbers on standard input.
percentile() {
	sort -n | awk -v p="$1" '{ v[NR] = $1 } END { i = int(NR * p / 100 + 0.999999)
		print NR ? v[i < 1 ? 1 : i] : "none" }'
}

name_percentile() {
	case $1 in
	50) echo median ;;
	100) echo slowest ;;
	*) echo "$1 of 100 within" ;;
	esac
}

# ratio A B: A divided by B.
ratio() {
	awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.3g\n", a / b; else print "none" }'
}

# The CPU seconds that the server has used since its start.
server_cpu() {
	local pid
	pid=$(cat "${LOCKQ_SANDBOX_DIR:-$top/build/sandbox}/mysqld.pid")
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' \
		"/proc/$pid/stat"
}

# since BEFORE NOW
since() {
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f\n", b - a }'
}

# --- a light query, and kept lists ----------------------------------------------------------------

# make_light TASK LOANS: a task whose query reads a table in the order of its index.
make_light() {
	make_task "$1" "$2" 0
	sql "ALTER TABLE test_loan_$1 ADD KEY (line);
	     CREATE OR REPLACE VIEW test_candidates_$1 AS
	       SELECT loan_id, line AS priority FROM test_loan_$1"
}

# forget_list TASK: the next list is a first one, which no earlier one makes short.
forget_list() {
	sql "DELETE FROM kept_loan WHERE task_id = $1;
	     DELETE FROM kept_list WHERE task_id = $1;
	     DELETE FROM task_refill WHERE task_id = $1"
}

# fresh_list TASK: keeps a list of as many loans as its candidate_limit allows.
fresh_list() {
	forget_list "$1"
	refill --task "$1" >/dev/null
}

# watch_lists OPTION…: a refill fills the lists that get due, until end_watch.
watch=''
watch_lists() {
	refill --watch "$@" >/dev/null 2>&1 &
	watch=$!
}

end_watch() {
	[ -n "$watch" ] || return 0
	kill "$watch" 2>/dev/null || true
	wait "$watch" || true
	watch=''
}

# --- the bare program -----------------------------------------------------------------------------

forget_bare() {
	sql 'DROP TABLE IF EXISTS bench_request, bench_work, bench_lock'
}

# The tables of floor_bare.
make_bare() {
	forget_bare
	sql 'CREATE TABLE bench_request (
	       request_id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
	       user_id INT UNSIGNED NOT NULL, asked INT UNSIGNED NOT NULL);
	     CREATE TABLE bench_work (
	       loan_id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, user_id INT UNSIGNED NOT NULL);
	     CREATE TABLE bench_lock (
	       task_id INT UNSIGNED PRIMARY KEY, epoch BIGINT UNSIGNED NOT NULL);
	     INSERT INTO bench_lock VALUES (1, 0);
	     GRANT SELECT, INSERT, UPDATE ON bench_request TO lockq_worker@lockq;
	     GRANT SELECT, INSERT, UPDATE ON bench_work TO lockq_worker@lockq;
	     GRANT SELECT, INSERT, UPDATE ON bench_lock TO lockq_worker@lockq'
}

# --- a heavy query -------------------------------------------------------------------------------

# make_heavy TASK LOANS SECONDS: a task whose query computes for that long. $rounds is how often its
# view hashes a row for that. It measures CPU time, which other processes of the machine do not
# change.
make_heavy() {
	local part before used
	make_task "$1" "$2" 1000
	rounds=1000
	for part in 0.1 0.3 1; do
		before=$(server_cpu)
		run_query "$1"
		used=$(since "$before" "$(server_cpu)")
		rounds=$(awk -v r="$rounds" -v s="$3" -v part="$part" -v used="$used" \
			'BEGIN { printf "%d", r * s * part / (used > 0.01 ? used : 0.01) + 1 }')
		set_rounds "$1"
	done
}

set_rounds() {
	local view
	view=$(sql "SELECT view_definition FROM information_schema.views
	             WHERE table_schema = DATABASE() AND table_name = 'test_candidates_$1'")
	sql "CREATE OR REPLACE VIEW test_candidates_$1 AS $(
		sed -E "s/(repeat\(concat\([^)]*\),)[0-9]+/\1$rounds/" <<<"$view")"
}

# run_query TASK: runs the query of the task, as a leader would.
run_query() {
	sql "SELECT COUNT(*)
	       FROM (SELECT loan_id FROM test_candidates_$1
	              ORDER BY priority, loan_id LIMIT 1000) AS list" >/dev/null
}

# until_computing TASK: waits until the server executes the leader's query, and not only prepares
# it.
until_computing() {
	until_true "SELECT COUNT(*) > 0 FROM information_schema.processlist
	             WHERE user = 'lockq_app' AND state = 'executing'
	               AND info LIKE '%test_candidates\\_$1%'"
}

# end_queries TASK…: kills their queries. The server does not notice by itself that a client is
# gone.
end_queries() {
	local task id
	for task in "$@"; do
		for id in $(sql "SELECT id FROM information_schema.processlist
		                  WHERE id <> CONNECTION_ID() AND (
		                        info LIKE '%test\_candidates\_$task%' OR
		                        info LIKE '%test\_rows\_$task%' OR
		                        info LIKE '%test\_loan\_$task%')"); do
			sql "KILL $id" 2>/dev/null || true
		done
	done
}

# The administrator's option file, for the programs in test/bench.
admin_options() {
	echo "${LOCKQ_SANDBOX_DIR:-$top/build/sandbox}/admin.cnf"
}

# own_database NAME: makes a database with the sandbox's tables; sql and the programs use it.
own_database() {
	"$top/scripts/sandbox" database "$1" --empty >/dev/null
	sql_database=$1
	"$top/scripts/lockq-migrate" --database "$1" -- \
		--defaults-file="$(admin_options)" >/dev/null 2>&1
	(
		umask 077
		sed "s/^database=.*/database=$1/" "$LOCKQ_DEFAULTS_FILE" >"$scratch/lockq.cnf"
	)
	export LOCKQ_DEFAULTS_FILE=$scratch/lockq.cnf
	sql "GRANT lockq_worker@$1 TO lockq_app@localhost;
	     SET DEFAULT ROLE ALL TO lockq_app@localhost;
	     GRANT lockq_follower@$1 TO lockq_feed@localhost;
	     SET DEFAULT ROLE ALL TO lockq_feed@localhost"
}
