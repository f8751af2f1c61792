/* SPDX-License-Identifier: MIT */
/* The loans that a disposition names, as a table for statements: the user variable is set when its
 * transaction begins. */
#ifndef LOCKQ_SAID_LOANS_H
#define LOCKQ_SAID_LOANS_H

#define SAID_LOANS \
	"JSON_TABLE(@lockq_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]'," \
	"                                         token BIGINT UNSIGNED PATH '$[1]'))"

#endif
