#!/usr/bin/env bash
# scripts/signals.sh: a script that gets a signal while it waits for a program tidies up, and is not
# interrupted in that.
#
#   LOCKQ_ENDED_ROUNDS   how many scripts get SIGINT (32; make check-long has 300)
set -u
# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

: >"$scratch/spun"

# This script has a folder to remove, and waits for programs, which die of the signal, too.
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

# broken_off SIGNAL NUMBER: runs the script, sends it the signal, and adds its status to
# $scratch/ended.
broken_off() {
	local folder=$scratch/folder-$2 status=0 i
	setsid env --default-signal=HUP,INT,TERM bash "$scratch/script" "$top" "$folder" \
		>/dev/null 2>&1 &
	wait_for [ -d "$folder" ]
	sleep "0.0$((RANDOM % 10))"
	# bash may take a signal as meant only for the program that it waits for: then another is
	# sent. A second is more than the script needs to tidy up.
	for ((i = 0; i < 1000; i++)); do
		if ((i % 50 == 0)); then
			kill -"$1" -- -$! 2>/dev/null || break
		fi
		kill -0 -- -$! 2>/dev/null || break
		nap 0.02
	done
	if kill -KILL -- -$! 2>/dev/null; then
		# bash 5.2 sends SIGINT to itself for ever if it comes while bash prepares to wait
		# for a program. No script can help that, so the round is run again.
		wait $!
		rm -rf "$folder"
		echo "SIG$1" >>"$scratch/spun"
		broken_off "$@"
		return
	fi
	wait $! || status=$?
	[ ! -d "$folder" ] || status="$status, with its folder left"
	printf '%s\n' "$status" >>"$scratch/ended"
}

# If a second signal could break off the tidying up, it would do so 1 to 3 times in a hundred.
interrupted=${LOCKQ_ENDED_ROUNDS:-32}
for each in HUP:129:20 TERM:143:20 "INT:130:$interrupted"; do
	IFS=: read -r signal expected rounds <<<"$each"
	: >"$scratch/ended"
	for ((round = 0; round < rounds; round += 4)); do
		for i in 1 2 3 4; do
			broken_off "$signal" "$round-$i" &
		done
		wait
	done
	is "$(sort "$scratch/ended" | uniq -c | sed 's/^ *//')" "$rounds $expected" \
		"SIG$signal: each of $rounds scripts tidies up, and ends with $expected"
done

# The signal comes while bash waits for the first $(…), and bash sees it where it reads the second.
cat >"$scratch/between" <<'END'
set -eu
. "$1/scripts/signals.sh"
trap 'echo "$(echo tidied up)"' EXIT
end_on_signals
: "$(kill -s "$2" $$)$(:)"
echo 'went on'
END
for each in HUP:129 TERM:143 INT:130; do
	run env --default-signal=HUP,INT,TERM bash "$scratch/between" "$top" "${each%:*}"
	is "$status $out $err" "${each#*:} tidied up " "SIG${each%:*} between two \$(…)"
done

[ ! -s "$scratch/spun" ] || sed 's/^/# bash did not end, and was killed: /' "$scratch/spun"
ok "$(($(wc -l <"$scratch/spun") > 3))" 'at most 3 had to be killed'
finish
