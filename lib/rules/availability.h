/* SPDX-License-Identifier: MIT */
/* The SQL condition for a loan that may be given. */
#ifndef LOCKQ_AVAILABILITY_H
#define LOCKQ_AVAILABILITY_H

/* For a row w of `work`, by the clock of the server that runs the statement. A loan without a row
 * may be given, too. */
#define ROW_IS_AVAILABLE \
	"((w.state = 'completed' AND COALESCE(w.available_at <= NOW(6), TRUE))" \
	" OR (w.state = 'returned' AND w.available_at <= NOW(6))" \
	" OR (w.state = 'assigned' AND w.lease_expires_at <= NOW(6)))"

#endif
