/* SPDX-License-Identifier: MIT */
/*
 * peak FILE COMMAND [ARGUMENT…]: runs the command and writes its milliseconds and its peak resident
 * memory, in KiB, to FILE. Its exit status is that of the command.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

int
main(int argc, char **argv)
{
	struct rusage usage;
	double start = now_ms();
	FILE *file;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: peak FILE COMMAND [ARGUMENT...]\n");
		return 2;
	}
	file = fopen(argv[1], "w");
	pid = file != NULL ? fork() : -1;
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||
	    getrusage(RUSAGE_CHILDREN, &usage) != 0) {
		perror("peak");
		return 5;
	}
	fprintf(file, "%.0f %ld\n", now_ms() - start, usage.ru_maxrss);
	if (fclose(file) != 0)
		return 5;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}
