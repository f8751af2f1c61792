# The table that compares patterns, at most 80 columns wide. Sourced by scripts/race and
# scripts/tour.
# shellcheck shell=bash

table_head() {
	table_line pattern served twice queries first last retries deadlocks errors
}

table_line() {
	printf '%-20s %6s %5s %7s %6s %6s %7s %9s %6s\n' "$@"
}

# table_row FIGURES: prints one line for these figures, an object.
table_row() {
	local row
	mapfile -t row < <(jq -r '
		def s: if . == null then "-" else . / 10 | round / 100 end;
		.name, .served, .given_twice, .heavy_queries, (.first_ms | s), (.last_ms | s),
		.retries, .deadlocks, .errors + .empty' <<<"$1")
	table_line "${row[@]}"
}
