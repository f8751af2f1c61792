# How a script ends that is ended by a signal. Sourced by those that have something to tidy up.
# shellcheck shell=bash

# end_on_signals: by its EXIT trap, with 128 and the number of the signal. Of the first one alone:
# where a program that bash waits for dies of the same Ctrl-C bash may run the trap a second time,
# which would end the EXIT trap in its middle.
end_on_signals() {
	trap 'trap "" HUP INT TERM; exit 129' HUP
	trap 'trap "" HUP INT TERM; exit 130' INT
	trap 'trap "" HUP INT TERM; exit 143' TERM
}
