# The tour's pages, and the SQL on them. Sourced by scripts/tour.
# shellcheck shell=bash disable=SC2154 # $yes, $lab and $top are those of scripts/tour
# shellcheck disable=SC2034,SC2119,SC2120 # scripts/tour uses these variables and arguments

# --- the page -----------------------------------------------------------------------------------

# There are pages and pauses only where somebody reads along in a terminal.
pauses=no height=24 used=0
bold='' colour='' faint='' plain=''

prepare_terminal() {
	local size
	[ -t 1 ] && [ "${TERM:-dumb}" != dumb ] || return 0
	if [ -z "${NO_COLOR-}" ]; then
		bold=$'\e[1m' colour=$'\e[36m' faint=$'\e[2m' plain=$'\e[0m'
	fi
	[ "$yes" = no ] && [ -t 0 ] || return 0
	pauses=yes
	exec {keys}<&0
	size=$(stty size)
	[ "${size%% *}" -lt 10 ] || height=${size%% *}
	terminal=$(stty -g)
	# A key that is pressed while a race runs must not disturb the page.
	stty -echo
}

# put [COLOUR [INDENT]]: prints its standard input, wraps lines that are too wide, and counts lines.
put() {
	local line
	while IFS= read -r line; do
		printf '%s%s%s\n' "${1-}" "$line" "${1:+$plain}"
		used=$((used + 1))
	done < <(LC_ALL=C tr -d '\000-\010\013-\037\177' | expand -t 4 | wrap "${2-0}")
}

# wrap [INDENT]: breaks lines at blanks. The rest of a line is indented like the text of an event,
# or by INDENT more than the line.
wrap() {
	awk -v more="${1-0}" '{
		match($0, /^ *[0-9.]+ s  [^ ]+ +|^ */)
		indent = sprintf("%" (RLENGTH + more) "s", "")
		while (length($0) > 80) {
			for (at = 81; at > RLENGTH + 1 && substr($0, at, 1) != " "; at--)
				;
			for (comma = at; more && comma > 50; comma--)
				if (substr($0, comma - 1, 2) == ", ") {
					at = comma
					break
				}
			if (at <= RLENGTH + 1)
				break
			print substr($0, 1, at - 1)
			$0 = indent substr($0, at + 1)
		}
		print
	}'
}

# page: begins a new page, or prints an empty line where there are no pages.
page() {
	if [ "$pauses" = yes ]; then
		printf '\e[H\e[2J'
	else
		echo
	fi
	used=0
}

# pause [WHAT ENTER DOES]: waits for Enter, or leaves the tour at q.
pause() {
	local key
	[ "$pauses" = yes ] || return 0
	while IFS= read -rsn 1 -t 0.01 -u "$keys" key; do
		case $key in q | Q) exit 0 ;; esac
	done
	printf '\n%s[Enter: %s, q: leave]%s ' "$faint" "${1-go on}" "$plain"
	while IFS= read -rsn 1 -u "$keys" key; do
		case $key in
		'') printf '\r\e[K'; return ;;
		q | Q) break ;;
		esac
	done
	echo
	exit 0
}

# room LINES: begins a new page, after a pause, if so many lines don't fit below the present ones.
room() {
	if [ "$pauses" = yes ] && [ $((used + $1 + 2)) -gt "$height" ]; then
		pause
		page
	fi
}

act() {
	act=$1 steps=$2 step=0 act_title=$3
}

# step TITLE: begins a new page. Standard input explains the step.
step() {
	step=$((step + 1))
	page
	put "$faint" <<<"Act $act: $act_title ($step of $steps)"
	put "$bold" <<<"$1"
	put <<<''
	put
}

# --- the SQL, from where it is run --------------------------------------------------------------

# code PATTERN FUNCTION…: shows the bodies of these functions, without the lines that only tell
# scripts/race what happens.
code() {
	local pattern=$1 function
	shift
	local text
	text=$(for function in "$@"; do
		awk -v name="$function" '
			$0 == name "() {" { inside = 1; next }
			/^}/ { inside = 0 }
			inside && !/^\t*(event|local|moment|await|# shellcheck) /
			' "$lab/$pattern"
	done)
	room $(($(expand -t 4 <<<"$text" | wrap 6 | wc -l) + 2))
	put <<<''
	put "$faint" <<<"From scripts/lab/$pattern:"
	put "$colour" 6 <<<"$text"
}

# statement FILE NAME: prints the SQL of that query in lib/FILE.
statement() {
	awk -v name="$2" '
		index($0, "DB_QUERY(" name ",") { inside = 1 }
		inside { text = text $0 }
		inside && /);$/ { exit }
		END { for (; match(text, /"[^"]*"/); text = substr(text, RSTART + RLENGTH))
			print substr(text, RSTART + 1, RLENGTH - 2) }' "$top/lib/$1"
}

show_statement() {
	put <<<''
	put "$faint" <<<"From lib/$1, $2:"
	statement "$1" "$2" | sed 's/^/\t/' | put "$colour"
}
