/* SPDX-License-Identifier: MIT */
#include "disposition/tool.h"

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
	if (rc != LOCKQ_OK && rc != LOCKQ_CANCELLED) {
		error = cli_library_text(q, rc);
		cli_message("%s", error);
	}
	disposition_print_expired(common->json, &done, rc, status, error);
	status = cli_finish(status, rc == LOCKQ_OK && !done.busy ?
	    "what was due is done nevertheless" : NULL);
	lockq_free(q);
	return status;
}
