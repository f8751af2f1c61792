#!/usr/bin/env bash
# No ORDER BY names a column that its WHERE holds at NULL. MySQL 8.0.39 sorts all rows of such a
# statement, where it reads the index in its order if only the columns that differ are named.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

# null_orders FILE…: prints the file and the column of each.
null_orders() {
	perl -0777 -ne '
		s/"\s*\\?\s*"//g;    # parts of a string of C
		my $inside = qr/(?:[^();]|(\((?:[^();]|(?-1))*\)))*?/;
		while (/\b((?:\w+\.)?\w+) IS NULL\b(?=$inside\bORDER BY ([^();"]*))/g) {
			my ($column, $order) = ($1, $3);
			print "$ARGV: $column\n" if $order =~ /(?<![\w.])\Q$column\E\b/;
		}' "$@"
}

cd "$top" || exit 1
mapfile -t files < <(find lib cmd -name '*.[ch]'; find schema -name '*.sql')
is "$(null_orders "${files[@]}")" '' 'no statement orders by a column that is NULL in all its rows'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# noticed FILE EDIT: null_orders says something of the file after the edit.
noticed() {
	sed "$2" "$1" >"$scratch/${1##*/}"
	like "$(null_orders "$scratch/${1##*/}")" "${1##*/}: [a-z.]*pending\$" "it notices: $2"
}
noticed lib/list/kept_age.c 's/ORDER BY n.task_id DESC/&, n.pending DESC/'
noticed lib/look/stat.c 's/ORDER BY q.task_id DESC/&, q.pending DESC/'
noticed schema/doors/manage.sql 's/ORDER BY request_id LIMIT/ORDER BY pending, request_id LIMIT/'
finish
