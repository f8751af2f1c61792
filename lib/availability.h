/* SPDX-License-Identifier: MIT */
/* When a row of `work` may be given, as a condition for statements. */
#ifndef LOCKQ_AVAILABILITY_H
#define LOCKQ_AVAILABILITY_H

/* What may be given again, of a row w of `work`, by the time of the server that is asked. */
#define ROW_IS_AVAILABLE \
	"((w.state = 'completed' AND COALESCE(w.available_at <= NOW(6), TRUE))" \
	" OR (w.state = 'returned' AND w.available_at <= NOW(6))" \
	" OR (w.state = 'assigned' AND w.lease_expires_at <= NOW(6)))"

#endif
