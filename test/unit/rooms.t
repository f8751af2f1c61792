#!/usr/bin/env bash
# scripts/lint-rooms: the library keeps to its rooms, and copies of it that don't are noticed.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run "$top/scripts/lint-rooms" "$top"
is "$status $out$err" '0 ' 'no file calls up or includes up, and none goes in circles'

# Makes a copy of the library with its objects anew.
copy()
{
	rm -rf "$scratch/top"
	mkdir -p "$scratch/top/build/obj"
	cp -R "$top/Makefile" "$top/lib" "$scratch/top"
	cp -R "$top/build/obj/lib" "$scratch/top/build/obj"
}

# damage FILE LINE…: appends the lines to a file of the copy, and compiles it.
damage()
{
	local file=$1
	shift
	printf '%s\n' "$@" >>"$scratch/top/$file"
	gcc -std=c11 -D_POSIX_C_SOURCE=200809L -I "$scratch/top/lib" -c \
		-o "$scratch/top/build/obj/${file%.c}.o" "$scratch/top/$file"
}

# notices PATTERN DESCRIPTION
notices()
{
	run "$scratch/lint-rooms" "$scratch/top"
	is "$status" 1 "$2"
	like "$out" "$1" 'and it says where'
}
cp "$top/scripts/lint-rooms" "$scratch"

copy
damage lib/list/take.c '#include "getwork/pending.h"'
notices '^lib/list/take\.c includes getwork/pending\.h, which is above it: list may use rules' \
	'an include that runs up'

copy
damage lib/list/take.c 'void pending_clear(void *); void up(void);' \
	'void up(void) { pending_clear(0); }'
notices '^lib/list/take\.c calls pending_clear\(\) of lib/getwork/pending\.c, which is above it' \
	'a call that runs up'

copy
damage lib/rules/task.c 'void to_there(void); void from_there(void);' \
	'void from_there(void) { to_there(); }'
damage lib/rules/outcome_state.c 'void to_there(void); void from_there(void);' \
	'void to_there(void) { from_there(); }'
notices 'calls itself in a circle: .*calls (to|from)_there\(\) of' 'a circle of two files'

copy
sed -i 's/^ROOMS := check /ROOMS := /' "$scratch/top/Makefile"
notices '^lib/check/audit\.c lies in a room that ROOMS of the Makefile has not$' \
	'a folder that is no room'

copy
rm "$scratch/top/build/obj/lib/list/take.o"
run "$scratch/lint-rooms" "$scratch/top"
is "$status" 1 'an object that is missing'
like "$err" 'take\.o is missing, or older than lib/list/take\.c: run make$' 'and what to do then'
finish
