/* SPDX-License-Identifier: MIT */
/* What is wrong with tasks that run: for lockqstat, which shows it by --health and below its table,
 * and for managetask check. */
#ifndef LOCKQ_CLI_HEALTH_H
#define LOCKQ_CLI_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "lockq.h"

/* The exit statuses of --health: those that monitoring programs expect of a check. */
enum stat_level { STAT_FINE = 0, STAT_WARNING = 1, STAT_CRITICAL = 2, STAT_UNKNOWN = 3 };

/* When a wait is too long. */
struct stat_limits {
	uint64_t warning_s, critical_s;
	bool in_check; /* managetask check says it: no text leads there */
};
extern const struct stat_limits STAT_LIMITS_USUAL;

struct stat_finding {
	uint32_t task;
	enum stat_level level;
	const char *code; /* a word for scripts */
	char *text;
};

struct stat_health {
	struct stat_finding *findings; /* the worst first, then by task */
	size_t n;
	enum stat_level level;         /* the worst of them */
};

/* Fills @health; release it with stat_health_clear(). */
void stat_health_look(struct stat_health *health, const struct lockq_stats *stats,
    const struct stat_limits *limits);
void stat_health_clear(struct stat_health *health);

/* A line for people; free() it. */
char *stat_finding_text(const struct stat_finding *finding);

/* "ok", "warning", "critical", "unknown" */
const char *stat_level_name(enum stat_level level);

#endif
