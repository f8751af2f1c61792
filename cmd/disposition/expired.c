/* SPDX-License-Identifier: MIT */
/* disposition --expire, and what is printed of it. Of loans cli/dispose.c prints. */
#include "disposition/tool.h"

#include <stdlib.h>

#include "cli/json.h"

/* Adds "VERB N THING", or THINGS, where there are any. */
static void
add(char **summary, const char *verb, uint64_t n, const char *one, const char *many)
{
	char *longer;

	if (n == 0)
		return;
	longer = cli_text("%s%s%s %llu %s", *summary != NULL ? *summary : "",
	    *summary != NULL ? ", " : "", verb, (unsigned long long)n, n == 1 ? one : many);
	free(*summary);
	*summary = longer;
}

/* "returned 12 loans whose leases had ended, expired 1 request"; NULL for nothing. */
static char *
summarize(const struct lockq_expired *d)
{
	char *summary = NULL;

	add(&summary, "returned", d->leases, "loan whose lease had ended",
	    "loans whose leases had ended");
	add(&summary, "noted", d->available, "loan that is available again",
	    "loans that are available again");
	add(&summary, "expired", d->requests, "request", "requests");
	add(&summary, "deleted", d->candidates, "loan of an old list", "loans of old lists");
	add(&summary, "deleted", d->exclusions, "exclusion that had ended",
	    "exclusions that had ended");
	add(&summary, "purged", d->old_requests, "old request", "old requests");
	add(&summary, "purged", d->log_rows, "old row of work_log", "old rows of work_log");
	add(&summary, "purged", d->runs, "old row of leader_run", "old rows of leader_run");
	if (d->kept_rows > 0) {
		/* Its name has no character that a terminal takes for more than itself. */
		char *many = cli_text("old rows of work_log for the cursor \"%s\"", d->kept_for),
		    *one = cli_text("old row of work_log for the cursor \"%s\"", d->kept_for);

		add(&summary, "kept", d->kept_rows, one, many);
		free(many);
		free(one);
	}
	add(&summary, "left", d->skipped, "row that another session holds",
	    "rows that other sessions hold");
	return summary;
}

static void
text_expired(const struct lockq_expired *d, int rc)
{
	char *summary = summarize(d);
	struct cli_time took = cli_ms(d->took_ms);
	const char *until = rc == LOCKQ_OK ? "" :
	    rc == LOCKQ_CANCELLED ? ", until it was interrupted" : ", until it failed";

	if (summary != NULL)
		cli_line("%s%s %s %s", summary, until, cli_dot(), took.text);
	else if (rc == LOCKQ_OK && !d->busy)
		cli_line("nothing was due %s %s", cli_dot(), took.text);
	else if (rc == LOCKQ_CANCELLED)
		cli_line("interrupted before anything was done");
	free(summary);
}

static void
json_expired(const struct lockq_expired *d, int status, const char *error)
{
	json_t *object = json_object();

	cli_json_set(object, "busy", json_boolean(d->busy));
	cli_json_set(object, "busy_session", d->busy_session > 0 ?
	    cli_json_number(d->busy_session) : json_null());
	cli_json_set(object, "leases", cli_json_number(d->leases));
	cli_json_set(object, "available", cli_json_number(d->available));
	cli_json_set(object, "requests", cli_json_number(d->requests));
	cli_json_set(object, "candidates", cli_json_number(d->candidates));
	cli_json_set(object, "exclusions", cli_json_number(d->exclusions));
	cli_json_set(object, "log_rows", cli_json_number(d->log_rows));
	cli_json_set(object, "old_requests", cli_json_number(d->old_requests));
	cli_json_set(object, "runs", cli_json_number(d->runs));
	cli_json_set(object, "kept_rows", cli_json_number(d->kept_rows));
	cli_json_set(object, "kept_for", cli_json_text(d->kept_for));
	cli_json_set(object, "skipped", cli_json_number(d->skipped));
	cli_json_set(object, "took_ms", cli_json_number(d->took_ms));
	if (error != NULL)
		cli_json_set(object, "error", cli_json_text(error));
	cli_json_set(object, "exit", json_integer(status));
	cli_json_print(object);
}

int
disposition_expire_check(const struct disposition_expire *options, bool about_loans,
    struct cli_error *error)
{
	if (options->wanted && about_loans)
		return cli_fail(error, "--expire can't be combined with options about loans: it "
		    "takes --batch and --purge-after");
	if (!options->wanted && options->batch != 0)
		return cli_fail(error, "--batch needs --expire");
	if (!options->wanted && options->purge_after_s != 0)
		return cli_fail(error, "--purge-after needs --expire");
	return 0;
}

int
disposition_expire_run(struct cli_common *common, const struct disposition_expire *options)
{
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired done = LOCKQ_EXPIRED_INIT;
	struct lockq *q = NULL;
	const char *error = NULL;
	char *busy = NULL;
	int rc = cli_open(&q, common), status;

	if (options->batch != 0)
		what.batch = options->batch;
	what.purge_after_s = options->purge_after_s;
	if (rc == LOCKQ_OK) {
		cli_catch_signals("batches that were committed stay: the next --expire does the "
		    "rest");
		rc = lockq_expire(q, &what, &done);
	}
	status = cli_exit_status(rc, cli_caught());
	if (done.busy) {
		status = cli_exit_status(LOCKQ_BUSY, 0);
		error = busy = cli_text("another disposition --expire works on this database, as "
		    "connection %llu: nothing was done", (unsigned long long)done.busy_session);
	} else if (rc != LOCKQ_OK && rc != LOCKQ_CANCELLED) {
		error = cli_library_text(q, rc);
	}
	if (error != NULL)
		cli_message("%s", error);
	if (common->json)
		json_expired(&done, status, error);
	else
		text_expired(&done, rc);
	status = cli_finish(status, rc == LOCKQ_OK && !done.busy ?
	    "what was due is done nevertheless" : NULL);
	free(busy);
	lockq_free(q);
	return status;
}
