#!/usr/bin/env bash
# The dashboard and the alerts in examples/ know the figures that lockqstat --metrics has, and no
# others; each figure is in one of them, and in lockqstat(1). test/long/report.t shows that promtool
# takes them, and when the alerts fire.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
dashboard=$top/examples/lockq-dashboard.json alerts=$top/examples/lockq-alerts.yml

# --- figures --------------------------------------------------------------------------------------

# expressions_of RULES: without names of alerts, and what people read.
expressions_of() {
	awk '/^ *expr:/ { inside = 1; sub(/^ *expr: *(>-)?/, "") }
		/^ *(for|labels|annotations|- alert):/ { inside = 0 } inside' "$1"
}
names() {
	grep -Eo '\b(lockq|node)_[a-z0-9_]+' | sort -u
}
# check_figures TREE: a figure that is named and not there, or there and not used.
check_figures() {
	grep -Eo '"lockq_[a-z0-9_]+"' "$1/cmd/lockqstat/metrics.c" | names >"$scratch/is"
	section "$1/man/lockqstat.1" METRICS | sed -n 's/^\.It Sy //p' >"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
	{
		# The collector has this one.
		echo node_textfile_mtime_seconds
		cat "$scratch/is"
	} | sort -u >"$scratch/known"
	{
		jq -r '.. | .expr?, .query?, .definition? | strings' \
			"$1/examples/lockq-dashboard.json"
		expressions_of "$1/examples/lockq-alerts.yml"
	} | names >"$scratch/used"
	comm -13 "$scratch/known" "$scratch/used" | sed 's/$/: there is no such figure/'
	comm -23 "$scratch/known" "$scratch/used" | sed 's/$/: in neither of the two/'
}
none 'figures are those of lockqstat --metrics' check_figures "$top"
cp -R "$top/man" "$top/cmd" "$top/examples" "$scratch"
# noticed FILE EDIT FAULTS: so many faults are found where the file is edited.
noticed() {
	sed -i "$2" "$scratch/$1"
	is "$(check_figures "$scratch" | grep -c ':')" "$3" "another name is noticed: $1: $2"
	cp "$top/$1" "$scratch/$1"
}
noticed examples/lockq-alerts.yml s/lockq_leading_seconds/lockq_led_seconds/ 1
noticed examples/lockq-dashboard.json s/lockq_retries/lockq_tries/ 2
noticed cmd/lockqstat/metrics.c s/lockq_retries/lockq_tries/ 4
noticed man/lockqstat.1 /It.Sy.lockq_retries/d 1

# --- the dashboard --------------------------------------------------------------------------------

is "$(jq -c '[.panels[].id] | length == (unique | length)' "$dashboard")" true \
	'each panel has a number of its own'
# shellcheck disable=SC2016 # Grafana expands it
is "$(jq -c '[.. | .datasource? | objects | .uid] | unique' "$dashboard")" '["${datasource}"]' \
	'the data source is a variable'
is "$(jq -r '.panels[] | select(.description == "" or .title == "") | .id' "$dashboard")" '' \
	'each panel has a title and tells what it shows'
is "$(jq -c '[.panels[].gridPos | . as $p | range(.x; .x + .w) as $x | range(.y; .y + .h) as $y |
	[$x, $y]] | [length == (unique | length), (map(.[0]) | max)]' "$dashboard")" '[true,23]' \
	'none covers another one'

# --- alerts ---------------------------------------------------------------------------------------

section "$top/man/lockqstat.1" DESCRIPTION | sed -n '/^\.Ss What is wrong/,$s/^\.It Sy //p' |
	tr -d ' ' | tr ',' '\n' | sed 's/_//g' | sort >"$scratch/is"
sed -n 's/^ *- alert: Lockq//p' "$alerts" | tr '[:upper:]' '[:lower:]' >"$scratch/documented"
is "$(grep -vxF -f "$scratch/documented" "$scratch/is")" '' \
	'what lockqstat --health finds has an alert of the same name'

# --- the units ------------------------------------------------------------------------------------

if command -v systemd-analyze >/dev/null 2>&1; then
	mkdir "$scratch/units"
	for unit in "$top"/examples/lockq-metrics.*; do
		sed "s|/usr/local/bin/|$top/build/bin/|" "$unit" >"$scratch/units/${unit##*/}"
	done
	run systemd-analyze verify --man=no "$scratch"/units/lockq-metrics.{service,timer}
	is "$status:$out$err" 0: 'systemd-analyze finds no fault in the units'
else
	skip 'systemd-analyze finds no fault in the units' 'no systemd-analyze'
fi
finish
