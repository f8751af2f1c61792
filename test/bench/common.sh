# What the figures share: a result file, percentiles, what the server has used. Sourced by
# test/bench/figures/*, each of which begins with figure() and reports by measure().
# shellcheck shell=bash

# shellcheck source=test/support/crowd.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/crowd.sh"

build=${LOCKQ_BUILD:-$top/build}
# shellcheck disable=SC2034 # for the figures
programs=$build/test/bench
results=${LOCKQ_BENCH_OUT:-$build/bench}
mkdir -p "$results"
result=

server_settings() {
	"$top/scripts/sandbox" mysql --batch --execute "
		SELECT @@innodb_flush_log_at_trx_commit AS innodb_flush_log_at_trx_commit,
		       @@log_bin AS log_bin, @@sync_binlog AS sync_binlog,
		       @@innodb_buffer_pool_size AS innodb_buffer_pool_size,
		       @@innodb_flush_method AS innodb_flush_method,
		       @@innodb_doublewrite AS innodb_doublewrite,
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

# figure TITLE [SETTING=VALUE…]: begins this figure's result file; the settings are its own.
figure() {
	local own='{}' setting
	for setting in "${@:2}"; do
		own=$(jq --arg s "$setting" '. + ($s | capture("^(?<key>[^=]*)=(?<value>.*)$")
			| { (.key): (.value | tonumber? // .) })' <<<"$own")
	done
	result=$results/$(basename "$0").json
	jq -n --arg figure "$(basename "$0")" --arg title "$1" --arg at "$(date -u +%FT%TZ)" \
		--argjson machine "$(machine)" --argjson versions "$(versions)" \
		--argjson server "$(server_settings)" --argjson own "$own" \
		'{ figure: $figure, title: $title, at: $at, machine: $machine, versions: $versions,
		   settings: { server: $server, figure: $own }, measures: [] }' >"$result"
	printf '\n%s\n' "$1"
}

# measure [--less | --more] [--at-least N | --at-most N] KEY VALUE UNIT TEXT: a number. --less,
# --more: which is better; a ratio that is to reach something says what.
measure() {
	local better=null least=null most=null
	while [[ $1 = --* ]]; do
		case $1 in
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
		($v == null or ($least != null and $v < $least) or ($most != null and $v > $most))
			as $missed |
		.measures += [{ key: $key, text: $text, value: $v, unit: $unit, better: $better,
			at_least: $least, at_most: $most, missed: $missed }]' \
		"$result" >"$result.new"
	mv "$result.new" "$result"
	jq -r '.measures[-1] | "  \(.text)\t\(.value) \(.unit)" +
		if .at_least then ", to reach: \(.at_least) at least" else "" end +
		if .at_most then ", to reach: \(.at_most) at most" else "" end +
		if .missed then ": MISSED" else "" end' "$result" |
		awk -F '\t' '{ printf "%-66s %s\n", $1, $2 }'
}

# percentile P: the P'th of a hundred of the numbers on standard input.
percentile() {
	sort -n | awk -v p="$1" '{ v[NR] = $1 } END { i = int(NR * p / 100 + 0.999999)
		print NR ? v[i < 1 ? 1 : i] : "none" }'
}

# ratio A B: how often B goes into A.
ratio() {
	awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.3g\n", a / b; else print "none" }'
}

# The CPU seconds that the server has used since it was started.
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
