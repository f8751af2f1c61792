# Lets a script tidy up when a signal ends it. Sourced by the scripts that have something to tidy
# up.
# shellcheck shell=bash

# end_on_signals: at a signal the script runs its EXIT trap and ends with 128 and the signal's
# number.
end_on_signals() {
	at_signals exit
}

# at_signals COMMAND: at a signal the script runs COMMAND with 128 and the signal's number, and that
# ends it. Further signals are ignored: when a program that bash waits for dies of the same Ctrl-C,
# bash may run this trap twice, and the second time would end the EXIT trap in its middle.
#
# The ) is for bash 5.2, which may run a trap where it is about to read a $(…), and takes the trap's
# text for what is in it. It calls a text without a ) a syntax error, and ends with 2. Elsewhere the
# script has ended before bash reads the line of the ).
at_signals() {
	local each
	for each in HUP:129 INT:130 TERM:143; do
		trap 'trap "" HUP INT TERM; '"$1 ${each#*:}"$'\n)' "${each%:*}"
	done
}
