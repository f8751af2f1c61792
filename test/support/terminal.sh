# A terminal in tmux, "main": what it shows, and keys for it. Sourced after shell.sh or steered.sh.
# A test defines marked(), what stands in the row that is shown in reverse.
# shellcheck shell=bash

# need_tmux WHAT: without tmux the test ends here, and WHAT is skipped.
need_tmux() {
	if ! command -v tmux >/dev/null 2>&1; then
		ok 0 "$1 # SKIP no tmux"
		finish
		exit
	fi
}
# shellcheck disable=SC2154 # set by the sourced files
terminal() {
	timeout "$patience" tmux -S "$scratch/tmux" -f /dev/null "$@"
}
screen() {
	terminal capture-pane -p -t main | sed 's/ *$//'
}
shows() {
	screen | grep -Eq -e "$1"
}
# await_screen TEXT: waits until it is there.
await_screen() {
	wait_for shows "$1" || screen | sed 's/^/#   /'
}
press() {
	terminal send-keys -t main "$@"
}
# marks WHAT: whether that is the row.
marks() {
	[ "$(marked)" = "$1" ]
}
