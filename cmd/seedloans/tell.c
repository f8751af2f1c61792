/* SPDX-License-Identifier: MIT */
/* What the caller of seed_run() is told: why it failed, and how far it is. */
#include <stdarg.h>
#include <stdio.h>

#include "seedloans/tool.h"

enum { NO_SUCH_TABLE = 1146, TELL_MS = 100 };

int
seed_fail(const struct seed *seed, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(seed->report->error, sizeof(seed->report->error), format, args);
	va_end(args);
	return code;
}

int
seed_from_db(const struct seed *seed, const struct db *db, enum db_rc rc)
{
	const char *text = db != NULL ? db_error(db) : "out of memory";

	switch (rc) {
	case DB_OK:
		return LOCKQ_OK;
	case DB_EINDOUBT:
		return seed_fail(seed, LOCKQ_EUNKNOWN, "%s: the last changes may be there or "
		    "not: 'seedloans --users 24' prints how many loans there are", text);
	case DB_ENOMEM:
		return seed_fail(seed, LOCKQ_ENOMEM, "%s", text);
	case DB_EFAIL: case DB_ERETRY: case DB_ELOCKWAIT: case DB_EDUPLICATE: case DB_ELOST:
	case DB_ECROWDED: case DB_ETIME: case DB_EINTERRUPTED: case DB_ESHAPE: case DB_ECANCELLED:
	case DB_EHELD: case DB_EMOVED:
		break;
	}
	if (db != NULL && db_errno(db) == NO_SUCH_TABLE)
		return seed_fail(seed, LOCKQ_EDATABASE, "%s: run lockq-migrate --example", text);
	return seed_fail(seed, LOCKQ_EDATABASE, "%s", text);
}

int
seed_tell(struct seed *seed, enum seed_phase phase, uint64_t done, uint64_t total)
{
	struct seed_progress progress = { phase, done, total, seed->report->loans };
	uint64_t now = db_clock_ms();

	if (seed->progress == NULL || (done < total && phase == seed->told_phase &&
	    now - seed->told < TELL_MS))
		return 0;
	seed->told = now;
	seed->told_phase = phase;
	if (seed->progress(&progress, seed->progress_data) == 0)
		return 0;
	return seed_fail(seed, LOCKQ_CANCELLED, "interrupted");
}
