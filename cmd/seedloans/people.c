/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "cli/text.h"
#include "seedloans/tool.h"
#include "seedloans/words.h"

/* COLLATE, because text from JSON_TABLE has another collation than the column. */
static const struct db_query insert_users = {
	"insert_users",
	"INSERT INTO app_user (name)"
	" SELECT j.name"
	"   FROM JSON_TABLE(?, '$[*]' COLUMNS ("
	"          n FOR ORDINALITY,"
	"          name VARCHAR(64) PATH '$' ERROR ON ERROR)) AS j"
	"   LEFT JOIN app_user AS u ON u.name = j.name COLLATE utf8mb4_0900_as_cs"
	"  WHERE u.user_id IS NULL"
	"  ORDER BY j.n",
	DB_NO_ROWS
};
static const struct db_query count_users = {
	"count_users", "SELECT COUNT(*) FROM app_user", DB_ONE
};

static const struct db_query insert_tasks = {
	"insert_tasks",
	"INSERT INTO task (task_id, name, manager, candidates_view, on_complete, detail_view,"
	"                  max_count, max_pipeline, lease_minutes, complete_hold, cache_ttl,"
	"                  refresh_after, check_view)"
	" SELECT e.task_id, e.name, e.manager, e.candidates_view, e.on_complete, e.detail_view,"
	"        e.max_count, e.max_pipeline, e.lease_minutes, e.complete_hold, e.cache_ttl,"
	"        e.refresh_after, e.check_view"
	"   FROM example_task AS e"
	"  WHERE NOT EXISTS (SELECT 1 FROM task AS t WHERE t.task_id = e.task_id)"
	"  ORDER BY e.task_id",
	DB_NO_ROWS
};
static const struct db_query make_rows = { "make_rows", "CALL task_rows(NULL)", DB_NO_ROWS };
static const struct db_query count_tasks = {
	"count_tasks", "SELECT COUNT(*) FROM task", DB_ONE
};

static int
read_count(struct seed *seed, const struct db_query *query, uint64_t *count)
{
	return seed_from_db(seed, seed->db, db_number(seed->db, query, DB_NO_ARGS, count));
}

int
seed_people(struct seed *seed)
{
	json_t *list = json_array();
	size_t n_users = seed->options->users, n_words = 0, i;
	char *names;
	int code;

	if (n_users == 0)
		n_users = SEED_USERS_MIN;
	do
		n_words++;
	while (words_users[n_words] != NULL);
	for (i = 0; i < n_users; i++) {
		char name[64];

		if (i < n_words)
			snprintf(name, sizeof(name), "%s", words_users[i]);
		else
			snprintf(name, sizeof(name), "%s-%02zu", words_users[i % n_words],
			    i / n_words + 1);
		if (json_array_append_new(list, json_string(name)) != 0)
			cli_out_of_memory();
	}
	names = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	if (names == NULL)
		cli_out_of_memory();
	code = seed_from_db(seed, seed->db,
	    db_run(seed->db, &insert_users, DB_ARGS(db_text(names)), NULL));
	free(names);
	return code != 0 ? code : read_count(seed, &count_users, &seed->report->users);
}

int
seed_tasks(struct seed *seed)
{
	int code;

	code = seed_from_db(seed, seed->db, db_run(seed->db, &insert_tasks, DB_NO_ARGS, NULL));
	if (code == 0)
		code = seed_from_db(seed, seed->db,
		    db_run(seed->db, &make_rows, DB_NO_ARGS, NULL));
	return code != 0 ? code : read_count(seed, &count_tasks, &seed->report->tasks);
}
