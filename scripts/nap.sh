# Waiting without a process for each wait: where many shells wait at once, starting `sleep` again
# and again costs more than what they wait for. Sourced.
# shellcheck shell=bash

# A pipe that nobody writes to. The programs that the script starts inherit it, and leave it alone.
# It is opened here, since <(…) changes $!.
exec {nap_pipe}<> <(:)

# nap SECONDS: the pipe has nothing to read before the time is over.
nap() {
	read -r -t "$1" -u "$nap_pipe" || true
}
