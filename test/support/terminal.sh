# A terminal in tmux, "main": what it shows, and keys for it. Sourced after shell.sh or steered.sh.
# A test defines marked(), what stands in the row that is shown in reverse.
# shellcheck shell=bash

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
