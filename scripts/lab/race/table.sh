# The table that compares patterns, at most 80 columns wide. Sourced by scripts/race and
# scripts/tour.
# shellcheck shell=bash

# What stands below the table.
# shellcheck disable=SC2034 # for scripts/race
table_legend='broken: how often a pattern broke its promise, in what users were told. first
and last: seconds until the first and the last person was served. again: how
often somebody had to begin again; 1213: how often a deadlock was the reason.'

table_head() {
	table_line pattern '' served broken queries first last again 1213 errors
}

table_line() {
	printf '%-21s %-6s %6s %6s %7s %5s %5s %5s %4s %6s\n' "$@"
}

# table_row FIGURES: prints one line for these figures, an object.
table_row() {
	local row
	mapfile -t row < <(jq -r '
		def marked: if . == "safe if" then "safe*" else . end;
		def s: if . == null then "-" else . / 10 | round / 100 end;
		.name, (.verdict | marked), .served, .violations, .heavy_queries,
		(.first_ms | s), (.last_ms | s),
		.retries, .deadlocks, .errors' <<<"$1")
	table_line "${row[@]}"
}
