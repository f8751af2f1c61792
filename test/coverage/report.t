#!/usr/bin/env bash
# test/coverage/report, on a small library whose tests leave lines out.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir -p lib/room build/obj/lib/room
cat >lib/room/part.c <<'END'
int
whole(int n)
{
	n *= 2;
	return n + 1;
}

int
part(int n)
{
	if (n > 100) {
		n -= 100;
		n /= 2;
		n += 7;
	}
	return n;
}

int
nearly(int n)
{
	if (n > 100)
		return 0;
	return n;
}
END
cat >main.c <<'END'
int whole(int n);
int part(int n);
int nearly(int n);

int
main(void)
{
	int sum = 0;

	for (int i = 0; i < 3; i++)
		sum += whole(i) + part(i) + nearly(i);
	return sum > 1000;
}
END
gcc -O0 -g --coverage -c -o build/obj/lib/room/part.o lib/room/part.c && gcc -c main.c &&
	gcc --coverage -o main main.o build/obj/lib/room/part.o && ./main
ok $? 'a library with counts is built and run'

# report_says TABLE: what it says of a table with this text.
report_says() {
	printf '%s\n' "$1" >table
	run "$top/test/coverage/report" --table table build
}
total='lib/: 9 of 13 lines were run, 69.2 %'
report_says '# no reasons'
is "$status $out" "1 lib/room/part.c:part: 3 of 6 lines, and no reason
$total" 'a function without a reason is named, and not one that lacks one line'
report_says 'lib/room/part.c:part it is for a test'
is "$status $out" "1 lib/room/part.c:part: 3 of 6 lines: it is for a test
$total" 'one with a reason is shown with it, and the library is below the limit'
report_says $'lib/room/part.c:part it is for a test\nlib/room/part.c:whole all of it is run'
like "$out" '^lib/room/part.c:whole: the table has a reason, and it needs none$' \
	'a reason that is not needed is named'
report_says $'lib/room/part.c:part\nlib/room/part.c:gone it is gone'
like "$out" '^lib/room/part.c:part: 3 of 6 lines, and no reason$' 'a name alone is no reason'
like "$out" '^lib/room/part.c:gone: the table has a reason' 'nor may a reason outlive its function'

run "$top/test/coverage/report" --table table "$scratch"
is "$status $err" "2 report: $scratch has no counts: see test/coverage/report --help" \
	'a build without counts is refused'
finish
