#!/usr/bin/env bash
# lockqstat --report: what is on the page is what the tables say, whatever they say; it reads the
# rows of the day and no others, takes no lock, and needs the rights of a viewer only.
# test/long/report.t has what a browser makes of the page.
set -u
# shellcheck source=test/support/accounts.sh
. "$(dirname "$0")/../../support/accounts.sh"
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

bank=test_report
cleanup() {
	end_all
	admin "DROP DATABASE IF EXISTS $bank" >/dev/null
	forget_accounts
}
# shellcheck disable=SC2154 # status, out and err are set by run
trap cleanup EXIT
"$top/scripts/sandbox" database $bank >/dev/null
account viewer lockq_viewer@$bank
export LOCKQ_DEFAULTS_FILE=$scratch/viewer.cnf TZ=UTC
# shellcheck disable=SC2034 # sql uses it
sql_database=$bank page=$scratch/out/lockq.html

# --- a day: that of task 1, after 5,000 rows of before in each table ------------------------------

# Request 5001 was made before the day and served in it, request 5002 was served before it.
sql "SET SESSION cte_max_recursion_depth = 10000, foreign_key_checks = 0;
	CREATE TABLE n (i INT PRIMARY KEY);
	INSERT INTO n
	  WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
	  SELECT i FROM n;
	SET @old = NOW(6) - INTERVAL 40 DAY, @day = NOW(6) - INTERVAL 22 HOUR;
	INSERT INTO work_requested (request_id, uuid, user_id, account, task_id, asked, requested,
	                            assigned, outcome, created_at, served_at)
	  SELECT i, UUID(), 1, 'x@y', 1, 1, 1, 1, 'served', @old, @old FROM n
	  UNION ALL
	  SELECT 5000 + i, UUID(), 1, 'x@y', 1, 1, 1, 1, 'served', @day - INTERVAL 140 MINUTE,
	         @day - INTERVAL IF(i = 1, 60, 140) MINUTE FROM n WHERE i <= 2
	  UNION ALL
	  SELECT 5000 + i, UUID(), 1, 'x@y', 1, 9, 9,
	         IF(i % 10 AND i % 11 AND i % 13, i % 9 + 1, 0),
	         IF(i % 10 = 0, 'empty', IF(i % 11 = 0, 'failed',
	            IF(i % 13 = 0, 'cancelled', 'served'))), @day + INTERVAL i * 10 MINUTE,
	         @day + INTERVAL i * 10 * 60000000 + (i * 37 % 900 + 1) * 1000 MICROSECOND
	    FROM n WHERE i BETWEEN 3 AND 120;
	UPDATE work_requested AS r SET r.source = 'list', r.checked = r.created_at,
	       r.epoch = 5000 + (r.request_id - 5000) DIV 3
	 WHERE r.request_id > 5002 AND r.request_id % 3 = 0 AND r.outcome = 'served';
	INSERT INTO work_log (log_id, task_id, loan_id, event, user_id, account, token, version,
	                      request_id, at, logged_at)
	  SELECT i, 1, i, 'completed', 1, 'x@y', 1, 1, i, @old, @old FROM n
	  UNION ALL
	  SELECT 5000 + i, 1, i, ELT(1 + i % 5, 'assigned', 'completed', 'returned', 'never',
	         'expired'), 1 + (i % 7 = 0), 'x@y', 1, 1, i, @day + INTERVAL i * 5 MINUTE,
	         @day + INTERVAL i * 5 MINUTE FROM n WHERE i <= 240;
	INSERT INTO leader_run (task_id, epoch, user, how, started_at, ended_at, as_of, query_ms,
	                        candidates, loans, reason)
	  SELECT 1, i, 'bob', 'query', @old, @old, @old, 9, 0, 0, NULL FROM n
	  UNION ALL
	  SELECT 1, 5000 + i,
	         IF(i % 4 = 0, '(refill)', ELT(1 + i % 3, 'anna', 'bob', '<b>\"x'' & y')),
	         IF(i % 9 = 0, 'failed', 'query'), @day + INTERVAL i * 30 * 60 - 2 SECOND,
	         @day + INTERVAL i * 30 MINUTE, @day + INTERVAL i * 30 - 1 MINUTE,
	         IF(i % 9 = 0, NULL, i * 20 + 10), i * 10, i,
	         IF(i % 9 = 0, '<img src=x onerror=alert(1)>', NULL) FROM n WHERE i <= 40;
	UPDATE task SET name = '</svg><script>alert(1)</script>' WHERE task_id = 1;
	UPDATE task SET name = CONCAT('\"><style>*{} ', CHAR(27), '[31m') WHERE task_id = 2"

# --- the command line -----------------------------------------------------------------------------

for arguments in --report= '--report x --json' '--report x --health' '--report x --metrics' \
	'--report x --watch'; do
	# shellcheck disable=SC2086 # words, on purpose
	run lockqstat $arguments
	is "$status" 2 "$arguments: exit 2"
done
run lockqstat --report "$scratch/out" --task 299
is "$status:$([ -e "$scratch/out" ]; echo $?)" 4:1 'an unknown task: no page'
run lockqstat --report /no/such/folder
is "$status:$err" "5:lockqstat: folder \"/no/such/folder\" can't be made: No such file or \
directory" 'a folder that can not be made'
run lockqstat --report "$scratch/viewer.cnf"
is "$status:$err" "5:lockqstat: file \"$scratch/viewer.cnf/lockq.html\" can't be written: Not a \
directory" 'a file in the place of the folder'

# --- what it reads --------------------------------------------------------------------------------

before=$(rows_read)
(umask 027 && lockqstat --report "$scratch/out") 2>"$scratch/err"
is "$?:$(cat "$scratch/err"):$(ls "$scratch/out")" '0::lockq.html' \
	'it writes one file into a new folder'
read=$(($(rows_read) - before))
[ "$read" -lt 3000 ]
ok $? "of 15,000 rows of before it reads hardly any: $read rows in all"
is "$(find "$page" -perm 640 | wc -l)" 1 'with the mode of new files'

# --- the page -------------------------------------------------------------------------------------

# Without a parser of XML: each element is closed, in its order, and each attribute is quoted.
unclosed() {
	perl -0777 -ne 's/<!DOCTYPE html>//; s/<style>.*?<\/style>//s;
		my $stray = qr/[<>]|&(?!(?:amp|lt|gt|quot|#39);)/;
		while (/<(\/?)([a-z0-9]+)((?:\s+[A-Za-z-]+="[^"<]*")*)\s*(\/?)>|($stray)/g) {
			my ($end, $name, $empty) = ($1, $2, $4);
			if (defined $5) { print "stray $5 at $-[0]\n" }
			elsif (!$end) { push @open, $name if !$empty }
			elsif ((my $last = pop @open // "") ne $name) { print "$last, /$name\n" }
		}
		print "open: @open\n" if @open' "$1"
	! command -v xmllint >/dev/null 2>&1 || xmllint --noout "$1" 2>&1
}
is "$(unclosed "$page")" '' 'it is well formed'
is "$(grep -Eoi 'https?:|[ "](src|on[a-z]+)=|url\(|@import|<(script|link|iframe|object|embed|img)' \
	"$page" | grep -v ' src=$\| onerror=$' | sort -u)" '' 'it loads nothing, and runs nothing'
is "$(grep -Eo '&lt;img src=x onerror=' "$page" | wc -l)" "$(grep -Eo ' (src|onerror)=' "$page" |
	wc -l | awk '{ print $1 / 2 }')" 'what would load is in the text of a reason only'
like "$(cat "$page")" "Content-Security-Policy\" content=\"default-src 'none'" 'and it may not'
like "$(cat "$page")" '&lt;/svg&gt;&lt;script&gt;alert\(1\)&lt;/script&gt;' 'a name is text'
like "$(cat "$page")" '>&quot;&gt;&lt;style&gt;\*\{\} \\x1b\[31m<' 'so is another one'
like "$(cat "$page")" '<th scope="row">&lt;b&gt;&quot;x&#39; &amp; y</th>' 'so is that of a leader'
is "$(grep -c '<section' "$page"):$(grep -c '<svg role="img"' "$page")" 1:6 \
	'a section for the task in which something went on, with all pictures'
is "$(grep -c '<svg role="img".*aria-label="[^"]' "$page")" 6 'each has a text in its place'
is "$(grep -c '<tr><td class="task">' "$page")" "$(sql 'SELECT COUNT(*) FROM task')" \
	'the summary has all tasks'

# cells CARD: the rows of its table, with bars between the cells.
cells() {
	sed -n "/^<figure class=\"card $1\">/,/^<\/figure>/s/^<tr>\(.*\)<\/tr>$/\1/p" "$page" |
		sed -e 's/<\/t[hd]><t[hd][^>]*>/|/g' -e 's/<[^>]*>//g'
}
# of_day COLUMNS FROM: what SQL makes of each quarter of an hour.
of_day() {
	sql "SELECT CONCAT_WS('|', DATE_FORMAT(FROM_UNIXTIME(q * 900), '%e %b %H:%i'), $1)
	       FROM (SELECT *, UNIX_TIMESTAMP($2) DIV 900 AS q FROM $3) AS d
	      GROUP BY q ORDER BY q"
}
place() {
	echo "SUBSTRING_INDEX(SUBSTRING_INDEX(GROUP_CONCAT($1 ORDER BY $1), ',',
		CEIL(COUNT($1) * $2)), ',', -1)"
}
ms="IF(outcome = 'cancelled', NULL, TIMESTAMPDIFF(MICROSECOND, created_at, served_at) DIV 1000)"
shown() {
	echo "IF(COUNT($ms) = 0, '-', IF(MAX($ms) > 1000, '1 h 20 min', CONCAT($1, ' ms')))"
}
of_today='work_requested WHERE request_id > 5000 AND request_id <> 5002'
is "$(cells waits)" "$(of_day "COUNT($ms), $(shown "$(place "$ms" 0.5)"),
	$(shown "$(place "$ms" 0.95)"), $(shown "MAX($ms)"), SUM(outcome = 'empty'),
	SUM(outcome = 'failed'), SUM(outcome = 'cancelled')" served_at "$of_today")" \
	'waits are those of SQL'
is "$(cells loans)" "$(of_day "SUM(assigned), SUM(IF(source = 'list', assigned, 0)),
	SUM(IF(source = 'list', 0, assigned))" served_at "$of_today AND assigned > 0")" \
	'so are loans'
is "$(cells dispositions)" "$(of_day "SUM(event = 'completed'), SUM(event = 'returned'),
	SUM(event = 'never'), SUM(event = 'expired')" logged_at \
	"work_log WHERE log_id > 5000 AND event <> 'assigned'")" 'so is what became of loans'
is "$(cells queries)" "$(of_day "COUNT(query_ms), $(for of in 0.5 0.95 1; do
		echo "COALESCE(CONCAT($(place query_ms $of), ' ms'), '-'),"
	done) SUM(how = 'failed')" ended_at 'leader_run WHERE epoch > 5000')" 'so are queries'
is "$(cells lists | awk -F'|' '{ n += $2; l += $3; r += $4; f += $5 } END { print n, l, r, f }')" \
	"$(sql "SELECT (SELECT CONCAT_WS(' ', COUNT(*), SUM(assigned)) FROM work_requested
	                 WHERE source = 'list'), COUNT(*), SUM(how = 'failed')
	          FROM leader_run WHERE user = '(refill)'" | tr '\t' ' ')" 'so are lists'
is "$(cells leaders | cut -d '|' -f 1,2,4-6 | sort)" \
	"$(sql "SELECT CONCAT_WS('|', REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(user, '&', '&amp;'),
	               '<', '&lt;'), '>', '&gt;'), '\"', '&quot;'), '''', '&#39;'), COUNT(*),
	               COUNT(query_ms), SUM(how = 'failed'), SUM(loans))
	          FROM leader_run WHERE epoch > 5000 GROUP BY user" | sort)" 'so are leaders'
is "$(cells people)" "$(sql "SELECT CONCAT_WS('|', COALESCE((SELECT u.name FROM app_user AS u
	       WHERE u.user_id = l.user_id), CONCAT('#', l.user_id)), SUM(event = 'completed'),
	       SUM(event = 'returned'), SUM(event = 'never'), SUM(event = 'expired'))
	  FROM work_log AS l WHERE log_id > 5000 AND event <> 'assigned'
	 GROUP BY user_id ORDER BY SUM(event = 'completed') DESC, user_id")" 'so is who completed'
run env TZ='<+0545>-5:45' lockqstat --report "$scratch/out" --task 1
like "$(cat "$page")" ', in \+0545 \(UTC\+05:45\)</p>' 'times are of the zone of the machine'
is "$(cells waits | head -n 1 | cut -d '|' -f 1)" \
	"$(sql "SELECT DATE_FORMAT(FROM_UNIXTIME(UNIX_TIMESTAMP(served_at) DIV 900 * 900)
	               + INTERVAL 345 MINUTE, '%e %b %H:%i')
	          FROM work_requested WHERE request_id = 5001")" 'by its clock'

# --- as a whole -----------------------------------------------------------------------------------

echo old >"$page"
exec {old}<"$page"
run lockqstat --report "$scratch/out" --task 2
is "$status:$(cat <&"$old"):$(ls "$scratch/out")" 0:old:lockq.html \
	'whoever reads the old file goes on reading it, and nothing else is left'
is "$(grep -c '<section' "$page")" 0 'a task in which nothing went on has no section'
sum=$(cksum <"$page")
run bash -c 'trap "" XFSZ; ulimit -f 1; exec lockqstat --report "$1"' - "$scratch/out"
is "$status:$err" "5:lockqstat: file \"$page\" can't be written: File too large" \
	'a full disk: exit 5'
is "$(cksum <"$page"):$(ls "$scratch/out")" "$sum:lockq.html" 'the file is as it was'

# --- no lock --------------------------------------------------------------------------------------

open_gatekeeper
gatekeeper_says "USE $bank; BEGIN; SELECT COUNT(*) INTO @n FROM work_requested FOR UPDATE;
	SELECT COUNT(*) INTO @n FROM work_log FOR UPDATE;
	SELECT COUNT(*) INTO @n FROM leader_run FOR UPDATE;
	SELECT COUNT(*) INTO @n FROM task FOR UPDATE;"
run lockqstat --report "$scratch/out" --timeout 0
is "$status:$err" 0: 'it answers while another session has locked every row'
gatekeeper_says 'ROLLBACK;'
finish
