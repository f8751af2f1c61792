#!/usr/bin/env bash
# The pictures of the lab: the segments that events become, the lanes to the letter, the texts of
# the SVG. No name, however odd, breaks a picture or sends control characters to a terminal.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

draw=$top/scripts/lab/pictures/draw
parts=$top/scripts/lab/pictures
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
unset COLUMNS

# events LINE…: writes the file "events". The first three blanks of each line become tabs.
events() {
	printf '%s\n' "$@" | sed 's/ /\t/; s/ /\t/; s/ /\t/' >events
}

# segments LINE…: prints the segments of these events, made as draw makes them, blanks for tabs.
segments() {
	events "$@"
	awk '{ print NR "\t" $0 }' events | LC_ALL=C sort -s -t $'\t' -k 2,2n |
		LC_ALL=C awk -f "$parts/text.awk" -f "$parts/segments.awk" | tr '\t' ' '
}

# lines LINE…: prints these lines.
lines() {
	printf '%s\n' "$@"
}

# well_formed FILE: each element is closed, in order; valid UTF-8, no controls, no bare "&".
well_formed() {
	perl -e '
		use strict; use warnings; use Encode;
		local $/;
		my $text = decode("UTF-8", scalar <STDIN>, Encode::FB_CROAK);
		die "a control character\n" if $text =~ /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;
		die "a bare &\n" if $text =~ /&(?!(?:amp|lt|gt|quot|apos|#\d+);)/;
		my $name = qr/[A-Za-z][\w:.-]*/;
		my $value = qr/"[^<"]*"|\x27[^<\x27]*\x27/;
		my $attributes = qr/(?:\s+$name\s*=\s*$value)*/;
		my @open;
		$text =~ s/^<\?xml [^?]*\?>\s*// or die "no XML declaration\n";
		while ($text =~ /\G([^<]*)(?:<(\/?)($name)($attributes)\s*(\/?)>|\z)/gc) {
			my ($between, $closes, $tag, $alone) = ($1, $2, $3, $5);
			die "text outside\n" if !@open && $between =~ /\S/;
			last if !defined $tag;
			if ($closes) {
				my $last = pop @open;
				die "</$tag>\n" if !defined $last || $last ne $tag;
			} elsif (!$alone) {
				push @open, $tag;
			}
		}
		die "no tag at " . pos($text) . "\n" if (pos($text) // 0) != length $text;
		die "open: @open\n" if @open;
	' <"$1"
}

# --- segments -----------------------------------------------------------------------------------

is "$(segments '0 ann asked 3' '4 ann waits for bob' '2000 ann served 7 8')" "$(lines \
	'race 2000 s 1000' 'lane 1 ann 0 2000 2.00 s 2 loans plain' \
	'segment 1 0 2000 waited' 'mark 1 2000 served')" \
	'asked, waits, served: one wait from asking to the end, and the loans'
is "$(segments '0 ann asked 3' '4 ann waits for bob' '5 ann isolation SERIALIZABLE' '9 ann sees 7' \
	'2000 ann served 7 8' '2001 (race) judged 1 phantoms')" \
	"$(segments '0 ann asked 3' '4 ann waits for bob' '2000 ann served 7 8')" \
	'isolation, sees, judged: no part of the picture'
is "$(segments '5 ann asked 3' '10 ann leads ' '900 ann queried ' '950 ann nothing ')" "$(lines \
	'race 950 ms 1' 'lane 1 ann 5 950 945 ms no work plain' 'segment 1 5 10 waited' \
	'segment 1 10 900 query' 'segment 1 900 950 waited' 'mark 1 950 nothing')" \
	'leads, queried: the query; nothing: no work, which is not bad'
is "$(segments '0 ann asked 1' '10 ann leads ' '40 ann retry deadlock' '60 ann leads ' \
	'80 ann error try again')" "$(lines \
	'race 80 ms 1' 'lane 1 ann 0 80 80 ms error, 1 retry: try again bad' \
	'segment 1 0 10 waited' \
	'segment 1 10 40 query' 'mark 1 40 retry' 'segment 1 40 60 waited' 'segment 1 60 80 query' \
	'mark 1 80 error')" \
	'retry ends a query and begins a wait; error ends the lane, with its text'
is "$(segments '0 ann asked 1' '5 ann isolation SERIALIZABLE' '10 ann notes reads 2 rows' \
	'20 ann served 1' '30 (race) judged 0 things')" "$(lines \
	'race 20 ms 1' 'lane 1 ann 0 20 20 ms 1 loan plain' 'segment 1 0 20 waited' \
	'mark 1 20 served')" 'what is only told or judged is not drawn'
is "$(segments '0 ann asked 1' '10 ann leads ' '20 ann paused ' '25 ann queried ' \
	'50 ann resumed ' '60 ann served 1' '0 bob asked 1' '30 bob paused ' '40 bob resumed ' \
	'70 bob late ')" "$(lines \
	'race 70 ms 1' 'lane 1 ann 0 60 60 ms 1 loan plain' \
	'lane 2 bob 0 70 70 ms never served bad' \
	'segment 1 0 10 waited' 'segment 1 10 20 query' 'segment 2 0 30 waited' \
	'segment 2 30 40 paused' 'segment 1 20 50 paused' \
	'segment 1 50 60 waited' 'mark 1 60 served' 'segment 2 40 70 waited' 'mark 2 70 late')" \
	'paused to resumed: it stands still, then has the state of the newest event'
is "$(segments '0 ann asked 1' '5 ann leads ' '8 ann paused ' '20 ann killed ' '30 ann resumed ' \
	'40 ann served 1' '50 ann ended 137')" "$(lines \
	'race 20 ms 1' 'lane 1 ann 0 20 20 ms killed bad' 'segment 1 0 5 waited' \
	'segment 1 5 8 query' 'segment 1 8 20 paused' 'mark 1 20 killed')" \
	'killed is the end, and later events are ignored'
is "$(segments '9 ann ended 0' '0 ann asked 1' '9 ann served 4')" "$(lines \
	'race 9 ms 1' 'lane 1 ann 0 9 9 ms 1 loan plain' 'segment 1 0 9 waited' \
	'mark 1 9 served')" \
	'ended is ignored beside a real end, in either order'
is "$(segments '0 ann asked 1' '3 ann ended 1' '0 bob asked 1' '7 bob leads ' '9 eve nothing ')" \
	"$(lines 'race 9 ms 1' 'lane 1 ann 0 3 3 ms no answer bad' \
	'lane 2 bob 0 9 9 ms no answer bad' 'lane 3 eve 9 9 0 ms no work plain' \
	'segment 1 0 3 waited' 'segment 2 0 7 waited' 'mark 3 9 nothing' 'segment 2 7 9 query')" \
	'without an end: no answer, until the process ended, or the race'
is "$(segments '5 ann asked 1' '5 bob asked 1' '-1 eve asked 1' '4 bob paused ' '9 bob served 1' \
	'6 eve leads ' '6 eve queried ' '7 ann served 2' '8 eve served 3')" "$(lines \
	'race 9 ms 1' 'lane 1 eve 0 8 8 ms 1 loan plain' 'lane 2 ann 5 7 2 ms 1 loan plain' \
	'lane 3 bob 5 9 4 ms 1 loan plain' 'segment 1 0 6 waited' 'segment 1 6 6 query' \
	'segment 2 5 7 waited' 'mark 2 7 served' 'segment 1 6 8 waited' 'mark 1 8 served' \
	'segment 3 5 9 paused' 'mark 3 9 served')" \
	'lanes in the order of asking, then of appearance; stopped before it asked; a query of 0 ms'
is "$(segments '0 ann asked 2' '0 bob asked 2' '1 ann served 5 6' '2 bob served 6 6 7' |
	sed -n 's/^lane//p')" "$(lines ' 1 ann 0 1 1 ms 2 loans, 1 given twice bad' \
	' 2 bob 0 2 2 ms 3 loans, 1 given twice bad')" \
	'a loan of two users is given twice; a loan that one user has twice is not'

# --- lanes ----------------------------------------------------------------------------------------

events '0 oliver asked 3' '0 oliver leads ' '1500 oliver queried ' '2000 oliver served 1 2 3' \
	'500 tracy asked 3' '500 tracy waits for oliver' '1000 tracy retry deadlock' \
	'2000 tracy served 4' '0 ben asked 1' '20 ben error busy' '0 eve asked 1' '0 eve leads ' \
	'1000 eve paused ' '1500 eve killed '
expected='         0 s         0.5 s        1 s          1.5 s
         |-----------|------------|------------|------------|
  oliver ======================================.............* 2.00 s  3 loans
  ben    .!                                                   0.02 s  error: busy
  eve    =========================zzzzzzzzzzzzzX              1.50 s  killed
  tracy              .............r.........................* 1.50 s  1 loan, 1 retry
  .... waited   ==== ran the heavy query   zzzz stood still   r retry   * served
  ! error   X killed'
is "$(COLUMNS=85 "$draw" lanes events)" "$expected" 'the lanes of a small race'
is "$("$draw" lanes - <events | LC_ALL=C.UTF-8 wc -L)" 100 'no terminal: 100 columns, from a pipe'
is "$(COLUMNS=200 "$draw" lanes events | LC_ALL=C.UTF-8 wc -L)" 100 'at most 100 columns'
is "$(COLUMNS=40 "$draw" lanes events | LC_ALL=C.UTF-8 wc -L)" 40 'and 40 are enough'
events '0 ann asked 1' '5 ann served 1'
is "$("$draw" lanes events | tail -n 1)" '  .... waited   * served' \
	'the legend has the signs that appear, and no others'
events '0 ann asked 1' '1000000 ann served 1'
like "$("$draw" lanes events)" '^  ann \.+\* 1000 s  1 loan$' 'a race of 1000 s'

# --- names ----------------------------------------------------------------------------------------

odd=$'\e[31mred\a\r\u202e\u0085' bytes=$'b\xff\xc3(\xed\xa0\x80' wide=$'\u6f22\u5b57 e\u0301'
quotes="O'Neill \"<&>\" \`id\` \$HOME"
{
	printf '0\t%s\tasked\t1\n' "$odd" "$bytes" "$wide" "$quotes"
	printf '9\t%s\terror\t\e]0;title\a %%s @x {/Bold a_b} \\ \xfe\n' \
		"$odd" "$bytes" "$wide" "$quotes"
} >odd
run "$draw" lanes odd
is "$status:$(LC_ALL=C tr -d '\n\040-\176\200-\377' <<<"$out" | wc -c)" 0:0 \
	'lanes: no control character of a name or an error reaches the terminal'
like "$out" '^  \\x1b\[31mred\\x07\\r\\u… \.+!' 'control characters are spelled out'
like "$out" '^  b\\xff\\xc3\(\\xed\\xa0\\… ' 'bytes that are no UTF-8 are spelled out'
is "$(sed -n 's/ 9 ms .*/ 9 ms/p' <<<"$out" | while IFS= read -r line; do
	LC_ALL=C.UTF-8 wc -L <<<"$line"
done | uniq -c | awk '{ print $1 }')" 4 'wide and combining characters: the columns stay'
like "$out" "^  $wide {15}\.+!" 'a wide character counts as two columns, a combining one as none'
run "$draw" timeline odd odd.svg --title "$odd & $quotes"
is "$status:$out:$err" 0:: 'timeline: says nothing'
well_formed odd.svg
ok $? 'timeline: well-formed for all of them'
texts=$(sed -n 's/.*<text>\(.*\)<\/text>.*/\1/p' odd.svg)
# shellcheck disable=SC2016 # this must not be expanded
like "$texts" '^O.Neill "&lt;&amp;(>|&gt;)" `id` \$HOME$' \
	'timeline: a name with quotes and markup is that text, nothing is run'
like "$texts" '%s @x \{/Bold a_b\}' 'timeline: an error is no markup of gnuplot'
like "$texts" '^\\x1b\[31mred\\x07\\r\\u202e\\u0085 &amp; O.Neill' \
	'timeline: the title is text, too'

# --- SVG ------------------------------------------------------------------------------------------

events '0 oliver asked 3' '0 oliver leads ' '1500 oliver queried ' '2000 oliver served 1 2 3' \
	'500 tracy asked 3' '2000 tracy served 3 4' '0 ben asked 1' '20 ben error busy'
run "$draw" timeline events race.svg
well_formed race.svg
is "$status:$?" 0:0 'timeline: done, and well-formed'
texts=$(sed -n 's/.*<text>\(.*\)<\/text>.*/\1/p' race.svg)
for text in oliver tracy ben '2.00 s' '3 loans, 1 given twice' 'error: busy' \
	'ran the heavy query' 'seconds since the start'; do
	grep -qFx -- "$text" <<<"$texts"
	ok $? "timeline: has '$text'"
done
is "$(grep -cFx -e killed -e 'stood still' <<<"$texts")" 0 \
	'timeline: the legend has no signs that do not appear'
is "$(grep -c 'polygon fill.*rgb(230, *159, *0)' race.svg)" 2 \
	'timeline: the query, and its place in the legend'
is "$(stat -c %a race.svg)" "$(printf '%o' $((0666 & ~$(umask))))" \
	'timeline: the file has the rights of a new file'
height() {
	sed -n 's/.* height="\([0-9]*\)"$/\1/p' "$1" | head -n 1
}
for n in {1..50}; do
	printf '%s\n' "0 user$n asked 1" "9 user$n served $n"
done | tr ' ' '\t' >many
"$draw" timeline many many.svg
is "$(($(height many.svg) - $(height race.svg) >= 47 * 16))" 1 'timeline: grows with its lanes'

# figure NAME QUERIES FIRST LAST VIOLATIONS ERRORS RETRIES [VERDICT]
figure() {
	printf '{"name":"%s","shells":8,"count":3,"query_seconds":1.5,"heavy_queries":%s,' "$1" "$2"
	printf '"first_ms":%s,"last_ms":%s,"violations":%s,"errors":%s,"retries":%s,' \
		"$3" "$4" "$5" "$6" "$7"
	printf '"verdict":"%s"}\n' "${8-}"
}
{
	figure naive 8 1043 8120 17 0 0
	figure skiplocked:no-index 1 null null 0 2 1
	figure '\u001b<b>\"x\"\n' 2.5 5 12345 0 0 0
} >figures
run "$draw" chart figures chart.svg --title 'All & more'
well_formed chart.svg
is "$status:$?:$out:$err" 0:0:: 'chart: done, and well-formed'
texts=$(sed -n 's/.*<text>\(.*\)<\/text>.*/\1/p' chart.svg)
for text in 'All &amp; more' '8 users, 3 loans each, a heavy query of 1.5 s' naive \
	skiplocked:no-index 17 2.5 '1.04 – 8.12' '0.005 – 12.3' nobody '2 errors, 1 retry'; do
	grep -qFx -- "$text" <<<"$texts"
	ok $? "chart: has '$text'"
done
like "$texts" '^\?&lt;b(>|&gt;)"x"\?$' 'chart: a name with markup and controls is text'
red=$(grep -c "polygon fill *= *.rgb(213, *94, *0)" chart.svg)
figure naive 8 1043 8120 0 0 0 | "$draw" chart - none.svg
is "$((red > $(grep -c "polygon fill *= *.rgb(213, *94, *0)" none.svg)))" 1 \
	'chart: red for broken promises, and not where there are none'
{
	figure naive 8 1043 8120 17 0 0 unsafe
	figure lockq 1 1043 8120 0 0 0 safe
	figure lease 8 1043 8120 0 0 0 'safe if'
} | "$draw" chart - kinds.svg
is "$(sed -n 's/.*<text>\(.*\)<\/text>.*/\1/p' kinds.svg | tr -d '\n' | grep -Eo \
	'^.*(Safelockq.*Safe on a conditionlease.*Unsafenaive)' | wc -l)" 1 \
	'chart: the safe ones come first, and each kind has its heading'
is "$(grep -c "polygon fill *= *.rgb(221, 243, 228)" kinds.svg)" 1 'chart: lockq is set apart'

# --- refusals -------------------------------------------------------------------------------------

# refused STATUS PATTERN DESCRIPTION ARGUMENT…: draw prints one line, and writes nothing.
refused() {
	local expected=$1 pattern=$2 description=$3
	shift 3
	rm -f out.svg*
	run "$draw" "$@" </dev/null
	is "$status:$out:$(wc -l <<<"$err"):$(find . -name 'out.svg*')" "$expected::1:" \
		"$description"
	like "$err" "^draw: $pattern" "$description: the line says so"
}
: >empty
printf '1\tann\tjumped\t\n' >unknown
printf '1 ann asked\n' >blanks
printf '0\tann\tasked\t1\nsoon\tann\t\e[2Jx\t\n' >clock
printf '1\tann\t\e[2Jx\t\n' >steering
printf '1\tann\tended\t0\n' >ended
printf '{"name":"a","heavy_queries":"x"}\n' >text
printf '{"name":"a"}\n' >few
refused 2 'lanes, timeline or chart' 'no picture named'
refused 2 'unknown picture oil' 'an unknown picture' oil events
refused 2 'unknown option --big' 'an unknown option' lanes events --big
refused 2 'too few' 'no FILE' timeline events
refused 2 '--title needs' 'a title without text' timeline events out.svg --title
refused 2 'nowhere: there is no such' 'no such EVENTS' lanes nowhere
refused 2 'empty is empty' 'empty EVENTS' timeline empty out.svg
refused 2 'empty is empty' 'empty FIGURES' chart empty out.svg
refused 2 "ended has no user's events" 'EVENTS of nobody' timeline ended out.svg
refused 2 "unknown: line 1: 'jumped' is no event" 'an unknown event' lanes unknown
refused 2 "clock: line 2: 'soon' is no number" 'a time that is none' timeline clock out.svg
refused 2 'blanks: line 1: an event is' 'no tabs' lanes blanks
refused 2 "steering: line 1: '\\\\x1b\\[2Jx' is no" 'controls in EVENTS' lanes steering
refused 2 '.*no-such\?\[2J' 'controls in arguments' lanes $'no-such\e[2J'
refused 2 'events: parse error' 'FIGURES that are no JSON' chart events out.svg
refused 2 'text: a: heavy_queries is no number' 'a figure that is no number' chart text out.svg
refused 2 'few: a: there is no heavy_queries' 'a figure that is not there' chart few out.svg
refused 5 "can't write nowhere/out.svg" 'a folder that is not there' \
	timeline events nowhere/out.svg
# A pipe and not a device: without its guard draw would put a file in its place.
mkfifo pipe
refused 5 "can't write pipe: .* no plain file" 'no plain file' chart figures pipe
ok "$([ -p pipe ]; echo $?)" 'no plain file: the pipe is still there'

# If a picture can't be made, the picture of before stays.
echo before >kept.svg
run bash -c "ulimit -f 8; exec '$draw' timeline many kept.svg"
is "$status:$(cat kept.svg):$(echo kept.svg*):$(wc -l <<<"$err")" 5:before:kept.svg:1 \
	'no room: exit 5, the picture of before stays, no other file is left'

mkdir bin
for name in bash dirname mktemp rm tr; do ln -s "$(command -v "$name")" bin/; done
run env PATH="$scratch/bin" "$(command -v bash)" "$draw" timeline events kept.svg
is "$status:$err" "5:draw: gnuplot is missing: install gnuplot-nox, or run 'scripts/setup build'" \
	'without gnuplot: exit 5, and the next step'
printf '#!/bin/sh\necho "line 3: undefined" >&2\nexit 1\n' >bin/gnuplot
chmod +x bin/gnuplot
run env PATH="$scratch/bin:$PATH" "$draw" timeline events kept.svg
is "$status:$err:$(cat kept.svg)" '5:draw: gnuplot failed: line 3: undefined:before' \
	'gnuplot fails: exit 5, with the message of gnuplot'
like "$("$draw" --help)" '^usage: scripts/lab/pictures/draw lanes EVENTS$' '--help'

finish
