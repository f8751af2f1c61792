#!/usr/bin/env bash
# scripts/signals.sh: whoever presses Ctrl-C while a script waits for a program, that script tidies
# up to the end.
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Something to tidy up, and programs to wait for, which die of the signal, too.
cat >"$scratch/script" <<'END'
set -eu
. "$1/scripts/signals.sh"
folder=$2
clean_up() {
	trap '' INT TERM
	rm -rf "$folder"
}
trap clean_up EXIT
end_on_signals
mkdir "$folder"
while :; do
	printf '%s\n' x | tr -d a
	sleep 0.001
done
END

# broken_off SIGNAL NUMBER: adds how it ended to $scratch/ended.
broken_off() {
	local folder=$scratch/folder-$2 status=0 i
	setsid env --default-signal=HUP,INT,TERM bash "$scratch/script" "$top" "$folder" \
		>/dev/null 2>&1 &
	until [ -d "$folder" ]; do
		sleep 0.01
	done
	sleep "0.0$((RANDOM % 10))"
	# bash may also take one to be meant for the program alone that it waits for.
	while kill -"$1" -- -$! 2>/dev/null; do
		for ((i = 0; i < 50; i++)); do
			kill -0 -- -$! 2>/dev/null || break
			sleep 0.02
		done
	done
	wait $! || status=$?
	[ ! -d "$folder" ] || status="$status, with its folder left"
	printf '%s\n' "$status" >>"$scratch/ended"
}

# Where the second signal ends what the first one began, it does so 1 to 3 times in a hundred.
for each in HUP:129:20 TERM:143:20 INT:130:300; do
	IFS=: read -r signal expected rounds <<<"$each"
	: >"$scratch/ended"
	for ((round = 0; round < rounds; round += 4)); do
		for i in 1 2 3 4; do
			broken_off "$signal" "$round-$i" &
		done
		wait
	done
	is "$(sort "$scratch/ended" | uniq -c | sed 's/^ *//')" "$rounds $expected" \
		"SIG$signal: $rounds of $rounds tidy up, and end with $expected"
done
finish
