#!/usr/bin/env bash
# Searches all states of the model, test/model/lockq.pml. No property may fail, in whatever order
# the statements come, and with each kind of fault. Then each guard is taken out, and the property
# that it protects must fail. If another guard masks the first, nothing may fail until both are out.
# With an argument, only the rows of the table run that have it in their name.
#   LOCKQ_MODEL=all  the searches of the mode long, too, which take most of the time
set -u

# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
# shellcheck source=scripts/signals.sh
. "$(dirname "$0")/../../scripts/signals.sh"

model=$top/test/model/lockq.pml
only=${1-}

# --job DIRECTORY KIND: searches with the "MODE OPTIONS…" in the file `wanted` of the directory, and
# writes the output to its file `log`.
if [ "$only" = --job ]; then
	cd "$2" || exit 1
	read -r mode options <wanted
	level=-O0 compile=(-DNFAIR=3) search=(-a -f)
	if [ "$mode" = safety ]; then
		compile=(-DSAFETY -DNOCLAIM) search=()
	fi
	# These searches are so long that -Og saves more time than the compiler needs for it.
	case "$3 $mode $options" in
	'holds live '* | 'masked live '* | *' safety '*LEASES*) level=-Og ;;
	esac
	# shellcheck disable=SC2086 # options are words
	timeout 1000 spin -a $options "$model" >log 2>&1 &&
		timeout 1000 gcc "$level" -w "${compile[@]}" -o pan pan.c >>log 2>&1 &&
		timeout 3000 ./pan "${search[@]}" -m50000 -w22 >log 2>&1
	rm -f pan pan.*
	exit 0
fi

# A row is: kind | property, or modes | name. The line below it has the options. Mode safety checks
# the assertions, and that no process waits for ever with nothing left to happen. Mode live checks
# the property `answered`. Mode long is mode live, too, but only make check-long has it. In make
# check a search with two requesters stands in for it.
table()
{
	cat <<'END'
holds | safety live | three requesters, two loans
	-DCRASHES=0
holds | safety live | one who does not wait, a loan for each
	-DNO_WAITS=1 -DLOANS=3
holds | safety long | two who do not wait
	-DNO_WAITS=2
holds | safety live | two are killed
	-DCRASHES=2
holds | safety live | one is killed, its request expires
	-DCRASHES=1 -DEXPIRIES=1
holds | safety | one is killed, one does not wait, requests expire
	-DCRASHES=1 -DNO_WAITS=1 -DEXPIRIES=1
holds | safety live | two are stopped, or lose their connection
	-DSTOPS=2
holds | safety long | one is stopped for longer than request_ttl
	-DSTOPS=1 -DEXPIRIES=1
holds | safety long | one is killed, one is stopped
	-DCRASHES=1 -DSTOPS=1
holds | safety live | two cancel, one does not wait
	-DCANCELS=2 -DNO_WAITS=1
holds | safety live | the list is cut short, one is killed
	-DLIMIT=1 -DCRASHES=1
holds | safety live | the list is cut short, one wants two loans
	-DLIMIT=1 -DBIG=0
holds | safety live | one wants two loans and gets one
	-DBIG=1
holds | safety long | two deadlocks
	-DDEADLOCKS=2
holds | safety long | a query fails, another one has a deadlock
	-DFAILURES=1 -DDEADLOCKS=1
holds | safety long | one polls, task_wake is held
	-DPOLLS=1 -DSTUCK=1
holds | live | two requesters who do not wait
	-DNO_WAITS=2 -DREQUESTERS=2
holds | live | two requesters, two deadlocks
	-DDEADLOCKS=2 -DREQUESTERS=2
holds | live | two requesters, a query fails, another one has a deadlock
	-DFAILURES=1 -DDEADLOCKS=1 -DREQUESTERS=2
holds | live | two requesters, one polls, task_wake is held
	-DPOLLS=1 -DSTUCK=1 -DREQUESTERS=2
holds | live | two requesters, one is killed, one is stopped
	-DCRASHES=1 -DSTOPS=1 -DREQUESTERS=2
holds | live | two requesters, one is stopped for longer than request_ttl
	-DSTOPS=1 -DEXPIRIES=1 -DREQUESTERS=2
holds | safety live | loans come back, or are completed
	-DDISPOSALS=2
holds | safety | a lease runs out, its user and others change the row
	-DLEASES=1
holds | live | the same, two requesters
	-DLEASES=1 -DREQUESTERS=2
breaks | answered | no take-over, one is killed
	-DNO_TAKEOVER -DCRASHES=1
breaks | answered | no take-over, one is stopped
	-DNO_TAKEOVER -DSTOPS=1
breaks | left_over | no look after the commit
	-DNO_HANDOVER -DNO_WAITS=1 -DLOANS=3
masked | safety live | requests read before the query, but once more before the commit
	-DEARLY_REQUESTS
masked | safety live | one look at the line only, after the query
	-DONE_LOOK
breaks | left_out | requests read before the query, and not again
	-DEARLY_REQUESTS -DONE_LOOK
masked | safety live | requests read without a lock, but written where pending
	-DUNLOCKED_REQUESTS -DCANCELS=1
masked | safety | requests written whatever they are, but read with a lock
	-DUNCHECKED_REQUESTS -DCANCELS=1
breaks | answered_twice | requests read without a lock, and written whatever they are
	-DUNLOCKED_REQUESTS -DUNCHECKED_REQUESTS -DCANCELS=1
breaks | answered_twice | expired by the clock alone
	-DCLOCK_EXPIRY -DSTOPS=1 -DEXPIRIES=1
masked | safety live | followers wait on the row of task_lock, but a leader shows a holder
	-DSHARED_TRY_ROW -DNO_WAITS=1 -DLOANS=3
breaks | left_over | followers wait on the row of task_lock, a locked row is a leader
	-DSHARED_TRY_ROW -DBUSY_AT_ONCE -DNO_WAITS=1 -DLOANS=3
breaks | left_over | a locked row is a leader
	-DBUSY_AT_ONCE -DNO_WAITS=1 -DLOANS=3
breaks | left_over | the holder is not cleared
	-DHOLDER_STAYS -DNO_WAITS=1 -DLOANS=3
masked | safety | no check of the versions, but rows written as planned
	-DNO_VERSION_CHECK -DLEASES=1
masked | safety | rows overwritten, but versions checked under lock
	-DUPSERT -DLEASES=1
breaks | loan_given_twice | no check of the versions, rows overwritten
	-DNO_VERSION_CHECK -DUPSERT -DLEASES=1
masked | safety live | handed over after somebody led, but versions checked
	-DNO_EPOCH_CHECK -DDISPOSALS=1
masked | safety | handed over after somebody led, but rows written as planned
	-DNO_EPOCH_CHECK -DNO_VERSION_CHECK -DDISPOSALS=1
masked | safety | no check, rows overwritten, but not after somebody led
	-DNO_VERSION_CHECK -DUPSERT -DDISPOSALS=1
breaks | loan_given_twice | handed over after somebody led, no check, rows overwritten
	-DNO_EPOCH_CHECK -DNO_VERSION_CHECK -DUPSERT -DDISPOSALS=1
masked | safety | a woken leader writes, but has no holder to clear
	-DWRITE_AFTER_LOSS -DSTOPS=1 -DREQUESTERS=2
masked | safety | a woken leader writes, leader_run takes an epoch twice
	-DWRITE_AFTER_LOSS -DUNCHECKED_RUN -DSTOPS=1 -DREQUESTERS=2
breaks | led_for_nothing | a woken leader writes, its holder is not counted
	-DWRITE_AFTER_LOSS -DUNCHECKED_CLEAR -DSTOPS=1
breaks | two_leaders | a woken leader writes, nothing is counted
	-DWRITE_AFTER_LOSS -DUNCHECKED_CLEAR -DUNCHECKED_RUN -DSTOPS=1
breaks | led_for_nothing | no own look before leading
	-DNO_OWN_LOOK
breaks | no_work_not_known | "no work" from a list that was cut short
	-DEMPTY_WHEN_CUT -DLIMIT=1
breaks | no_work_not_known | "no work" although candidates were dropped
	-DEMPTY_WHEN_DROPPED -DLEASES=1
breaks | no_work_not_known | "no work" from a hand-over
	-DHAND_OVER_SAYS_EMPTY -DLEASES=1
breaks | answer_untrue | cancelled although it was served
	-DCANCEL_OVERWRITES -DCANCELS=1
END
}

if ! command -v spin >/dev/null 2>&1 || ! command -v gcc >/dev/null 2>&1; then
	echo '1..0 # SKIP no spin or no gcc: scripts/setup check'
	exit 0
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq-model.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
end_on_signals

# job_of ROW MODE OPTIONS…: adds a job to the list.
job_of()
{
	local directory=$scratch/$1.$2

	mkdir -p "$directory"
	printf '%s %s\n' "$2" "$3" >"$directory/wanted"
	printf '%s\0%s\0' "$directory" "$kind" >>"$scratch/jobs"
}

# The fields of a row are used without the blanks around them.
kinds=() names=() properties=() row=0
while IFS='|' read -r kind property name && read -r options; do
	kind=${kind%% *} property=${property# } property=${property% } name=${name# }
	[[ $name == *"$only"* ]] || continue
	kinds[row]=$kind names[row]=$name properties[row]=$property
	case $kind,$property in
	breaks,answered) job_of $row live "$options" ;;
	breaks,*) job_of $row safety "-DONLY=$property $options" ;;
	*)
		for mode in $property; do
			if [ "$mode" = long ]; then
				[ "${LOCKQ_MODEL-}" = all ] || continue
				mode=live
			fi
			job_of $row "$mode" "$options"
		done
		;;
	esac
	row=$((row + 1))
done < <(table)
xargs -0 -n 2 -P "$(nproc 2>/dev/null || echo 2)" "$0" --job <"$scratch/jobs"

# searched LOG: succeeds if the search went through all states and found no error.
searched()
{
	grep -q 'errors: 0$' "$1" &&
		! grep -Eq 'max search depth|^error|pan:1:|out of memory' "$1" &&
		grep -q '^Full statespace search' "$1"
}

states()
{
	sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1 states/p' "$1"
	sed -n 's/^State-vector.*depth reached \([0-9]*\),.*/depth \1/p' "$1"
	sed -n 's/^ *\([0-9.]*\)\ttotal actual memory usage/\1 MB/p' "$1"
	sed -n 's/^pan: elapsed time \([0-9.]*\) seconds/\1 s/p' "$1"
}

show()
{
	printf '#   %s: %s\n' "$2" "$(states "$1" | paste -sd, | sed 's/,/, /g')"
}

for ((n = 0; n < row; n++)); do
	property=${properties[n]}
	for mode in safety live; do
		log=$scratch/$n.$mode/log
		[ -e "$log" ] || continue
		case ${kinds[n]},$property in
		holds,* | masked,*)
			searched "$log"
			ok $? "${kinds[n]}: ${names[n]}: $mode"
			;;
		breaks,answered)
			grep -q '^pan:1: acceptance cycle' "$log"
			ok $? "breaks: ${names[n]}: not all are answered"
			;;
		*)
			grep -q "^pan:1: assertion violated  !($property) " "$log"
			ok $? "breaks: ${names[n]}: $property"
			;;
		esac
		show "$log" "$mode"
		grep -E '^pan:1:|[Ee]rror:|max search depth' "$log" | sed 's/^/#   /'
	done
done

# Each statement of the model must be reached by some configuration. Spin does not report an option
# that only jumps, because it has no state of its own.
if [ -z "$only" ]; then
	for ((n = 0; n < row; n++)); do
		[[ ${kinds[n]} = holds && -e $scratch/$n.safety/log ]] || continue
		awk '/^unreached in/ { inside = !/claim/; process = $4 }
			inside && /lockq.pml:/ {
				sub(/, state [0-9]+/, "")
				split($1, place, ":")
				$1 = ""
				gsub(/[0-9]+/, "#")
				print place[2] " in " process $0
			}' "$scratch/$n.safety/log" | sort -u >"$scratch/$n.unreached"
		if [ -e "$scratch/unreached" ]; then
			comm -12 "$scratch/unreached" "$scratch/$n.unreached" >"$scratch/both"
			mv "$scratch/both" "$scratch/unreached"
		else
			cp "$scratch/$n.unreached" "$scratch/unreached"
		fi
	done
	[ ! -s "$scratch/unreached" ]
	ok $? 'every statement of the model is reached'
	sed 's/^/#   line /' "$scratch/unreached"

	# lib has the functions that the model names, and lockq(7) names what the model has.
	grep -Eo '[a-z_]+\(\)' "$model" | tr -d '()' | sort -u | while read -r name; do
		grep -q "^inline $name(\|proctype $name(" "$model" ||
			grep -q "^$name(" "$top"/lib/*.c || echo "$name"
	done >"$scratch/names"
	[ ! -s "$scratch/names" ]
	ok $? 'every function that the model names is in lib'
	sed 's/^/#   no /' "$scratch/names"
	awk '/^\.Sh / { inside = ($0 == ".Sh THE MODEL") } inside' "$top/man/lockq.7" \
		>"$scratch/page"
	{
		table | grep -o '\-D[A-Z_]*' | sed 's/^-D//' | sort -u | while read -r name; do
			grep -q "^#define $name " "$model" || grep -qw "$name" "$scratch/page" ||
				echo "$name"
		done
		sed -n 's/^#define \([a-z_]*\)_n  *[0-9]*$/\1/p' "$model" | while read -r name; do
			grep -q "^\.It Va $name\$" "$scratch/page" || echo "$name"
		done
		sed -n 's/^\.It \([A-Z_ ,]*\)$/\1/p' "$scratch/page" | tr -d ' ' | tr , '\n' |
			while read -r name; do
				grep -q "def $name\b\|defined($name)" "$model" || echo "$name"
			done
		grep ' Ta Fn ' "$scratch/page" | grep -Eo 'Fn [a-z_]+' | cut -d ' ' -f 2 |
			while read -r name; do
				grep -q "^$name(" "$top"/lib/*.c || echo "$name"
			done
	} >"$scratch/names"
	[ ! -s "$scratch/names" ]
	ok $? 'lockq(7) has the guards, the properties and the functions'
	sed 's/^/#   /' "$scratch/names"
fi
finish
