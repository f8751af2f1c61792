/* SPDX-License-Identifier: MIT */
/*
 * People who ask again and again, each time with a new process, until a time is over.
 *
 *   people N SECONDS EVERY_MS COMMAND [ARGUMENT…]
 *
 * Each person runs COMMAND, rests for EVERY_MS on average, and so on; % in an argument stands for
 * the number of the person. The first rest of a person is a part of EVERY_MS, so that they do not
 * begin together. The program prints a line per process, with tabs: the start of the process in
 * microseconds since 1970, how many ms it took from there to its end, and its exit status. The
 * processes write to /dev/null.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "clock.h"

enum { PEOPLE_MAX = 1000, WORDS_MAX = 32, WORD_BYTES = 256 };

struct person {
	pthread_t thread;
	unsigned int number;
	uint64_t seed;
	char words[WORDS_MAX][WORD_BYTES];
	char *argv[WORDS_MAX + 1];
};

extern char **environ;

static struct person people[PEOPLE_MAX];
static posix_spawn_file_actions_t to_nowhere;
static double ends_ms, every_ms;

/* Returns a number from 0 to 1. The same person rests in the same way in each run, so that runs can
 * be compared. */
static double
chance(struct person *p)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(p->seed >> 33) / (double)(1u << 31);
}

/* Rests no longer than until the end. */
static void
rest(double ms)
{
	double left = ends_ms - now_ms();
	struct timespec time;

	if (ms > left)
		ms = left;
	if (ms <= 0)
		return;
	time.tv_sec = (time_t)(ms / 1e3);
	time.tv_nsec = (long)((ms - (double)time.tv_sec * 1e3) * 1e6);
	while (nanosleep(&time, &time) != 0 && errno == EINTR)
		continue;
}

static void
ask(struct person *p)
{
	uint64_t begun_us = now_us();
	double begun = now_ms();
	int status = 0;
	pid_t pid;

	if (posix_spawnp(&pid, p->argv[0], &to_nowhere, NULL, p->argv, environ) != 0) {
		fprintf(stderr, "people: can't start %s\n", p->argv[0]);
		exit(5);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	printf("%" PRIu64 "\t%.3f\t%d\n", begun_us, now_ms() - begun,
	    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void *
live(void *data)
{
	struct person *p = data;

	rest(every_ms * chance(p));
	while (now_ms() < ends_ms) {
		ask(p);
		rest(every_ms * (0.5 + chance(p)));
	}
	return NULL;
}

static void
make_words(struct person *p, char **words, int n)
{
	for (int i = 0; i < n; i++) {
		const char *mark = strchr(words[i], '%');

		if (mark == NULL)
			snprintf(p->words[i], WORD_BYTES, "%s", words[i]);
		else
			snprintf(p->words[i], WORD_BYTES, "%.*s%u%s", (int)(mark - words[i]),
			    words[i], p->number, mark + 1);
		p->argv[i] = p->words[i];
	}
	p->argv[n] = NULL;
}

int
main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	if (argc < 5 || argc - 4 > WORDS_MAX || n < 1 || n > PEOPLE_MAX) {
		fprintf(stderr, "usage: people N SECONDS EVERY_MS COMMAND [ARGUMENT...]\n");
		return 2;
	}
	ends_ms = now_ms() + strtod(argv[2], NULL) * 1e3;
	every_ms = strtod(argv[3], NULL);
	posix_spawn_file_actions_init(&to_nowhere);
	posix_spawn_file_actions_addopen(&to_nowhere, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&to_nowhere, 2, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; i < n; i++) {
		people[i].number = (unsigned int)i + 1;
		people[i].seed = i * 2654435761u + 1;
		make_words(&people[i], argv + 4, argc - 4);
		if (pthread_create(&people[i].thread, NULL, live, &people[i]) != 0) {
			fprintf(stderr, "people: no more threads to be had\n");
			return 5;
		}
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(people[i].thread, NULL);
	posix_spawn_file_actions_destroy(&to_nowhere);
	return 0;
}
