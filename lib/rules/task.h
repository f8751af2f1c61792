/* SPDX-License-Identifier: MIT */
/* Tasks and users as their tables have them. No function here takes a lock. */
#ifndef LOCKQ_TASK_H
#define LOCKQ_TASK_H

#include "db/db_text.h"
#include "rules/rules.h"

enum {
	TASK_NAME_BYTES = 128 * 4 + 1, /* task.name in UTF-8, with its NUL */
	PAUSED_BYTES = 1024            /* TASK_PAUSED(), cut there, for one line of text */
};

/* How requests of one moment share loans that are not enough for all of them. */
enum share {
	SHARE_ORDER,  /* who asked first gets all */
	SHARE_EVENLY, /* as many for each */
	SHARE_LEAST,  /* who holds least of the task gets the next one */
	SHARE_UNKNOWN
};
/* By the word in the table. */
enum share task_share(const char *word);

struct task {
	uint32_t task_id;
	char name[TASK_NAME_BYTES];
	char view[129 * 4 + 1];
	bool enabled;
	uint32_t max_count;
	uint32_t max_query_s;
	uint32_t candidate_limit;
	uint32_t request_ttl;
	uint32_t lease_minutes;  /* 0: none */
	uint32_t cache_ttl;      /* seconds; 0: none, also if @share is not SHARE_ORDER */
	enum share share;
	uint32_t max_pipeline;   /* loans that a user may hold; 0: any number */
	bool view_repeats;       /* the view shows loans several times, as its manager says */
	char check_view[129 * 4 + 1]; /* asked whether kept loans still match; "": @view is */
	bool use_unchecked;      /* kept loans are given, too, if that view can't tell in time */
	char paused[PAUSED_BYTES]; /* why no loans are given, and who says so; "": they are */
	bool has_rules;          /* not_same_user_as or not_again keeps loans from users */
	uint64_t excluded;       /* loans that are not offered to the user who leads: the leader's
	                          * list is longer by so many, or it might have none for the user */
};
/* The state of a process that leads, or tries to. */
struct lead {
	uint64_t epoch;        /* this leader's */
	uint64_t committed;    /* the last epoch that was committed, by any leader */
	uint64_t newest_run;   /* the last epoch in leader_run; higher only by a fault or raw SQL */
	uint64_t wanted;       /* loans that the pending requests asked for as it began */
	bool light;            /* the last query took less than LIGHT_MS, and nothing is kept */
	uint64_t left_pending; /* requests that the last leader's list had nothing for */
	char started_at[TIME_BYTES];
};

/* For a row t of the table task: why it is paused, as people read it; NULL: it is not, or it is
 * disabled, which counts more. */
#define TASK_PAUSED(t) \
	"IF(" t ".enabled, CONCAT('task ', " t ".task_id, ' is paused by '," \
	"                         COALESCE(" t ".paused_by, 'somebody'), ': ', " t ".paused), NULL)"
/* The columns for task_fill(), of the task t; @user_id is the user for @excluded. */
#define TASK_COLUMNS(user_id) \
	"t.name, t.candidates_view, t.enabled, t.max_count, t.max_query_s, t.candidate_limit," \
	" t.request_ttl, t.lease_minutes, t.cache_ttl," \
	" t.max_pipeline, t.view_repeats, t.check_view, t.use_unchecked, t.share," \
	" " TASK_PAUSED("t") "," \
	" (SELECT COUNT(*) FROM work_exclusion AS e" \
	"   WHERE e.task_id = t.task_id AND e.user_id = " user_id " AND e.until > NOW(6))," \
	" " HAS_RULES("t")
enum { TASK_N_COLUMNS = 17 };
/* Fills @task from the first columns of the first row. */
void task_fill(struct task *task, uint32_t task_id, const struct db_rows *rows);
/* Reads the task; @user_id is the user for @task->excluded. *@known is false where there is
 * none. */
LOCKQ_MUST_CHECK enum db_rc task_read(struct db *db, uint32_t task_id, uint32_t user_id,
    struct task *task, bool *known);
/* Reads the user's id and, unless @task is NULL, the task. Where @user is NULL or one of them is
 * unknown, *@refusal is the public code, and the handle's error has its text; else *@refusal stays
 * as it was. */
LOCKQ_MUST_CHECK enum db_rc task_and_user(struct lockq *q, const char *user, uint32_t task_id,
    struct task *task, uint32_t *user_id, int *refusal);
/* noun.c: what people call @n loans of the task: "loans" where nobody has said that, or where it
 * can't be read. Returns @text. */
char *noun_of(struct db *db, uint32_t task, uint64_t n, char text[LOCKQ_NOUN_SIZE + 1]);
/* Reads the usual time of the task's query in milliseconds, 0 where none has run. */
LOCKQ_MUST_CHECK enum db_rc task_usual_ms(struct db *db, uint32_t task_id, uint64_t *ms);
/* task_usual_ms() if a progress function shows it, and *@ms is still 0. An error leaves 0. */
void task_usual_ms_if_shown(const struct lockq *q, struct db *db, uint32_t task_id, uint64_t *ms);

#endif
