# Lets a script tidy up when a signal ends it. Sourced by the scripts that have something to tidy
# up.
# shellcheck shell=bash

# end_on_signals: at a signal the script runs its EXIT trap and ends with 128 and the signal's
# number. Further signals are ignored: when a program that bash waits for dies of the same Ctrl-C,
# bash may run this trap twice, and the second time would end the EXIT trap in its middle.
end_on_signals() {
	trap 'trap "" HUP INT TERM; exit 129' HUP
	trap 'trap "" HUP INT TERM; exit 130' INT
	trap 'trap "" HUP INT TERM; exit 143' TERM
}
