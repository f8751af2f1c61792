# What the figures are to reach, and what they reached, as a table in Markdown. Input: all results.
def number: if . == null then "none" else (. * 1000 | round / 1000 | tostring) end;

(map(select(.measures | length > 0)) | sort_by(.at)) as $results
| $results[0] as $first
| "| figure | measured | to reach |",
  "|---|---|---|",
  ($results[] | .figure as $figure
    | .measures[] | select(.at_least != null or .at_most != null)
    | "| \($figure): \(.text) | \(.value | number) \(.unit) | \(
        if .at_least != null then "at least \(.at_least)" else "at most \(.at_most)" end)\(
        if .missed then ", **missed**" else "" end) |"),
  "",
  "Measured on \($first.at[0:10]): \($first.machine.cores) cores of \($first.machine.cpu), \($first.machine.system), MySQL \($first.versions.mysql), innodb_flush_log_at_trx_commit \($first.settings.server.innodb_flush_log_at_trx_commit), log_bin \($first.settings.server.log_bin)."
