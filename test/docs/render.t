#!/usr/bin/env bash
# Each page of the manual is rendered, and must still have every word of its source: mdoc takes a
# word such as "No" for a macro, and drops it. The pages must name the files that are there. The end
# of this file damages copies of the pages, and each check must notice.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# mandoc writes bold and underlined letters twice, over one another. Here each stays once.
rendered() {
	mandoc -T utf8 -O width=1000 "$1" | LC_ALL=C sed "s/.$(printf '\b')//g"
}

# check_words TREE PAGE: every word of the source is rendered, in the same order. The rendered page
# may have more, such as its header.
check_words() {
	local page
	page=$(page_of "$1" "$2")
	LC_ALL=C awk -f "$(dirname "$0")/words.awk" "$page" >"$scratch/source"
	[ -s "$scratch/source" ] || echo "$2 has no words: this test reads the pages wrongly"
	cut -d ' ' -f 2 "$scratch/source" >"$scratch/is"
	rendered "$page" | LC_ALL=C tr -cs 'A-Za-z0-9_' '\n' >"$scratch/seen"
	diff --unchanged-line-format= --new-line-format= --old-line-format='%dn%c'\''\012'\' \
		"$scratch/is" "$scratch/seen" | while read -r number; do
		sed -n "${number}s/\([0-9]*\) \(.*\)/$2:\1: \"\2\" is not rendered/p" \
			"$scratch/source"
	done
}

check_sections() {
	sed -n 's/^\.Sh //p' "$(page_of "$1" "$2")" | sort | uniq -d | sed "s/^/$2 has it twice: /"
}

# The files that `migrate` applies, and the folder that --example adds.
check_schema_files() {
	(cd "$1" && printf '%s\n' schema/*.sql schema/doors/*.sql schema/upgrade/*.sql \
		schema/finish/*.sql schema/example) | sort >"$scratch/is"
	section "$1/man/lockq-schema.5" FILES | sed -n 's/^\.It Pa \(.*\)$/\1/p' | sort \
		>"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
}

# The groups of option files that the program reads.
check_groups() {
	local sources=("$1/cmd/$2"/*.[ch])
	{
		echo '[client]'
		sed -n 's/^\t\.group = "\(.*\)",/[\1]/p' "${sources[@]}" | grep . || echo '[lockq]'
		sed -n -e 's/.*\.more_group = "\([a-z_]*\)".*/[\1]/p' \
			-e 's/^\t\(.*, \)*\.leads = true,.*/[lockq_query]/p' "${sources[@]}"
	} >"$scratch/is"
	section "$1/man/$2.1" FILES | grep -o '\[[a-z_]*\]' >"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
}

# The option files and their options, as the library has them.
check_option_files() {
	{
		sed -n -e 's/.*read_file(files, "\(.*\)", NULL.*/\1/p' \
			-e 's/.*read_in(files, "HOME", "\(.*\)").*/~\/\1/p' \
			-e 's/.*read_in(files, "\(MYSQL_.*\)", "\(.*\)").*/$\1\/\2/p' \
			"$1/lib/handle/option_file.c"
		echo \~/.mylogin.cnf
		sed -n 's/^\t{ "\(.*\)", [A-Z_]*, WHERE_[A-Z_]* },$/\1/p' "$1/lib/handle/where.c"
		sed -n 's/.* [a-z]*_key\[\] = "\(.*\)";/\1/p' "$1/lib/handle/where.c"
		{
			echo client
			sed -n 's/.* [a-z]*_group\[\] = "\(.*\)";/\1/p' "$1/lib/handle/where.c"
			sed -n -e 's/^\t\.group = "\(.*\)",/\1/p' \
				-e 's/.*\.more_group = "\([a-z_]*\)".*/\1/p' "$1"/cmd/*/*.[ch]
		} | sed 's/.*/[&]/'
	} >"$scratch/is"
	{
		section "$1/man/lockq-options.5" FILES | sed -n 's/^\.It Pa //p'
		section "$1/man/lockq-options.5" OPTIONS |
			sed -n '/^\.It Cm /{s///;s/ , /\n/g;p}'
		section "$1/man/lockq-options.5" GROUPS |
			sed -n 's/^\.It Cm \(\[[a-z_]*\]\)$/\1/p'
	} >"$scratch/documented"
	compare "$scratch/is" "$scratch/documented"
}

# The file that seedloans makes.
check_rejects() {
	local suffix
	suffix=$(sed -n 's/.*rejects->path, .*"%s\(\.[a-z.]*\)",$/\1/p' \
		"$1/cmd/seedloans/rejects.c")
	[ -n "$suffix" ] || echo 'rejects.c has no name of a file: this test reads it wrongly'
	grep -q "^\.Pa $suffix\b" "$1/man/seedloans.1" || echo "seedloans.1 does not name $suffix"
}

if ! command -v mandoc >/dev/null 2>&1; then
	echo '1..0 # SKIP no mandoc: scripts/setup check'
	exit 0
fi

for page in $(pages_of "$top"); do
	page=${page##*/}
	none "$page: every word of its source is rendered" check_words "$top" "$page"
	none "$page: no section stands twice" check_sections "$top" "$page"
done
none 'lockq-schema(5) has every file of schema' check_schema_files "$top"
for program in getwork checkwork disposition runwork refill managetask lockqstat seedloans; do
	none "$program(1) has its groups of option files" check_groups "$top" "$program"
done
none 'lockq-options(5) has the files, groups and options' check_option_files "$top"
none 'seedloans(1) has the file that it makes' check_rejects "$top"

# A line is added in the middle of the page that has words which mdoc takes for macros, requests,
# comments or escapes.
for line in '.Dq No work' '.Sy So it goes' '.Dq In time' '.Sy At last' '.Pq Do it' \
	'.Sy An empty list' '.Va reason No and No work' 'say \\" nothing' "'s is not said" \
	'a \\nb is not said' '.Pp and so on'; do
	noticed check_words man/lockq.7 "/^\.Sh LOCK ORDER/a\\$line" lockq.7
done
noticed check_sections man/getwork.1 '/^\.Sh SEE ALSO/i.Sh FILES' getwork.1
noticed check_schema_files man/lockq-schema.5 '/^\.It Pa schema\/upgrade\/001/d'
noticed check_schema_files man/lockq-schema.5 '/^\.It Pa schema\/baseline/d'
noticed check_schema_files man/lockq-schema.5 '/^\.It Pa schema\/doors\/take/d'
noticed check_groups man/getwork.1 's/\[lockq_query\]/[lockq_here]/' getwork
noticed check_option_files man/lockq-options.5 '/^\.It Pa \/etc\/my.cnf/d'
# shellcheck disable=SC2016 # the page has this dollar sign
noticed check_option_files man/lockq-options.5 '/^\.It Pa \$MYSQL_HOME/d'
noticed check_option_files man/lockq-options.5 's/^\.It Cm user , password/.It Cm user/'
noticed check_option_files man/lockq-options.5 '/^\.It Cm \[lockq_query\]/d'
noticed check_option_files lib/handle/where.c '/"ssl-crlpath"/d'
noticed check_rejects man/seedloans.1 '/^\.Pa \.rejects/d'

# check_words must neither take markup for words nor quoted words for markup.
clean() {
	sed -i "/^\.Sh LOCK ORDER/a\\$1" "$scratch/copy/man/lockq.7"
	check_words "$scratch/copy" lockq.7
}
[ "${LOCKQ_DAMAGE-}" = no ] ||
	for line in '.Pq Va a No and Va b' '.Dq \\\&No work' '.Dq "No work"' \
		'.Op Fl u Ar x Ns = Ns Ar y' 'Do it. So it goes: No.' 'a\\eb and \\(em c'; do
		none "no word is missed in: $line" clean "$line"
	done
finish
