/* SPDX-License-Identifier: MIT */
#include "runwork/command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.h"

extern char **environ;

enum {
	GRACE_MS = 10000, /* from SIGTERM to SIGKILL */
	LOOK_MS = 250     /* no signal tells that the last process of a group has ended */
};

static fd_set given;

void
command_note_files(void)
{
	for (int fd = 0; fd < FD_SETSIZE; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			FD_SET(fd, &given);
}

static int
look_at(const char *path)
{
	struct stat file;

	if (stat(path, &file) != 0)
		return errno == ENOTDIR ? ENOENT : errno;
	if (!S_ISREG(file.st_mode))
		return EACCES;
	return access(path, X_OK) == 0 ? 0 : errno;
}

int
command_look(const char *name)
{
	const char *path = getenv("PATH"), *from = path != NULL ? path : "/bin:/usr/bin";
	int failure = ENOENT, one;

	if (name[0] == '\0' || strchr(name, '/') != NULL)
		return look_at(name);
	for (;;) {
		size_t length = strcspn(from, ":");
		char *file = cli_text("%.*s%s%s", (int)length, from, length > 0 ? "/" : "", name);

		one = look_at(file);
		free(file);
		if (one == 0)
			return 0;
		failure = one != ENOENT ? one : failure;
		if (from[length] == '\0')
			return failure;
		from += length + 1;
	}
}

static volatile sig_atomic_t suspended;

static void
on_stop(int signal_number)
{
	suspended = signal_number;
}

static void
on_child(int signal_number)
{
	(void)signal_number;
}

/* SIGCHLD is let in by command_wait() only, so it disturbs no call of the library. */
static void
take_signals(struct command *command)
{
	struct sigaction action = { .sa_handler = on_child };
	sigset_t child;

	sigemptyset(&action.sa_mask);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &command->mask);
	sigaction(SIGCHLD, &action, &command->child);
	action.sa_handler = on_stop;
	sigaction(SIGTSTP, NULL, &command->stop);
	if (command->stop.sa_handler != SIG_IGN)
		sigaction(SIGTSTP, &action, NULL);
}

static void
give_signals_back(struct command *command)
{
	sigaction(SIGTSTP, &command->stop, NULL);
	sigaction(SIGCHLD, &command->child, NULL);
	sigprocmask(SIG_SETMASK, &command->mask, NULL);
}

/* A handler ends with this program's code, but what is ignored stays so: SIGPIPE, which this
 * program ignores for itself, and under nohup SIGHUP, which stays as the user wishes. */
static int
spawn(struct command *command, char *const arguments[])
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t pipe_only;
	int rc = posix_spawnattr_init(&how);

	if (rc == 0)
		rc = posix_spawn_file_actions_init(&files);
	if (rc != 0)
		return rc;
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (rc == 0)
		rc = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP |
		    POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	if (rc == 0)
		rc = posix_spawnattr_setsigdefault(&how, &pipe_only);
	if (rc == 0)
		rc = posix_spawnattr_setsigmask(&how, &command->mask);
	if (rc == 0)
		rc = posix_spawnp(&command->pid, arguments[0], &files, &how, arguments, environ);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

int
command_start(struct command *command, char *const arguments[])
{
	int rc;

	*command = (struct command){
		.began = cli_clock_ms(), .kill_at = UINT64_MAX, .end = COMMAND_NOT_BEGUN
	};
	/* The connection among them: a command that outlives this program would keep it open, and
	 * with it what the server keeps for it. */
	for (int fd = STDERR_FILENO + 1; fd < FD_SETSIZE; fd++) {
		if (!FD_ISSET(fd, &given))
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	take_signals(command);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = spawn(command, arguments);
	if (rc != 0)
		give_signals_back(command);
	else
		cli_pass_on(command->pid);
	command->end.begun = rc == 0;
	return rc;
}

/* The terminal belongs to the group of this program, so the kernel stops a command that asks it for
 * a password, and nothing would ever let the command go on. */
static void
end_stopped(struct command *command, int stop_signal)
{
	/* Once: one that is deaf would ask again, and be stopped again. */
	if (command->wants_terminal || (stop_signal != SIGTTIN && stop_signal != SIGTTOU))
		return;
	command->wants_terminal = true;
	command_stop(command);
	kill(-command->pid, SIGCONT);
}

/* Also a process that fills a list, and what a command has left behind, which this program adopts:
 * where nobody waited for those, as in many containers, they would seem to be at work for ever. */
static void
reap(struct command *command)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid == command->pid && WIFSTOPPED(status))
			end_stopped(command, WSTOPSIG(status));
		if (pid != command->pid || WIFSTOPPED(status))
			continue;
		command->reaped = true;
		command->end.ms = cli_clock_ms() - command->began;
		if (WIFSIGNALED(status))
			command->end.signal = WTERMSIG(status);
		else
			command->end.exit = WEXITSTATUS(status);
	}
}

/* A shell may have ended before the rest of a pipeline that was told to end, and the rest may still
 * work on the loan. */
static bool
has_ended(const struct command *command)
{
	bool told = command->kill_at != UINT64_MAX || cli_caught() != 0;
	bool over = cli_clock_ms() >= command->kill_at;

	if (over)
		kill(-command->pid, SIGKILL);
	return command->reaped && (!told || over || kill(-command->pid, 0) != 0);
}

/* This process stops by SIGTSTP, too, which the kernel drops where no shell is left that could let
 * it go on. */
static void
stop_both(const struct command *command)
{
	struct sigaction usual = { .sa_handler = SIG_DFL }, own;
	sigset_t stop, before;

	suspended = 0;
	kill(-command->pid, SIGTSTP);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigaction(SIGTSTP, &usual, &own);
	kill(getpid(), SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigaction(SIGTSTP, &own, NULL);
	kill(-command->pid, SIGCONT);
}

/* Sleeps until a signal comes, or it is time. The signals are let in for this moment only, so none
 * can come between the look before and the sleep. */
static void
sleep_until(const struct command *command, uint64_t until)
{
	uint64_t now = cli_clock_ms(), end = until;
	struct timespec rest;
	sigset_t open = command->mask;

	if (command->kill_at < end)
		end = command->kill_at > now ? command->kill_at : now + LOOK_MS;
	if (command->reaped && end > now + LOOK_MS)
		end = now + LOOK_MS;
	sigdelset(&open, SIGCHLD);
	rest.tv_sec = end > now ? (time_t)((end - now) / 1000) : 0;
	rest.tv_nsec = end > now ? (long)((end - now) % 1000) * 1000000 : 0;
	(void)pselect(0, NULL, NULL, NULL, end == UINT64_MAX ? NULL : &rest, &open);
}

bool
command_wait(struct command *command, uint64_t until)
{
	sigset_t before;
	bool ended;

	cli_block_signals(SIGTSTP, &before);
	for (;;) {
		reap(command);
		ended = has_ended(command);
		if (ended || cli_clock_ms() >= until)
			break;
		if (suspended != 0)
			stop_both(command);
		sleep_until(command, until);
	}
	if (ended)
		cli_pass_on(0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (ended)
		give_signals_back(command);
	return ended;
}

void
command_stop(struct command *command)
{
	if (command->kill_at != UINT64_MAX)
		return;
	command->kill_at = cli_clock_ms() + GRACE_MS;
	kill(-command->pid, SIGTERM);
}
