/* SPDX-License-Identifier: MIT */
/* The layout of the public structures on 64-bit machines. A program that was compiled with version
 * 0.2.0 relies on it. New members take the place of reserved ones, and get a line here; no number
 * that stands here changes without another SONAME. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lockq.h"

#define MEMBER(name, member, at) { #name "." #member, offsetof(struct name, member), at }
#define WHOLE(name, size) { #name, sizeof(struct name), size }

static const struct {
	const char *what;
	size_t is, was;
} layout[] = {
	MEMBER(lockq_connection, program, 0),
	MEMBER(lockq_connection, defaults_file, 8),
	MEMBER(lockq_connection, defaults_group, 16),
	MEMBER(lockq_connection, defaults_suffix, 24),
	MEMBER(lockq_connection, host, 32),
	MEMBER(lockq_connection, port, 40),
	MEMBER(lockq_connection, socket, 48),
	MEMBER(lockq_connection, user, 56),
	MEMBER(lockq_connection, password, 64),
	MEMBER(lockq_connection, database, 72),
	MEMBER(lockq_connection, ssl_mode, 80),
	MEMBER(lockq_connection, connect_timeout_ms, 88),
	MEMBER(lockq_connection, reserved, 96),
	WHOLE(lockq_connection, 120),
	MEMBER(lockq_progress, phase, 0),
	MEMBER(lockq_progress, phase_ms, 8),
	MEMBER(lockq_progress, leader, 16),
	MEMBER(lockq_progress, leader_ms, 24),
	MEMBER(lockq_progress, usual_ms, 32),
	MEMBER(lockq_progress, joined_request, 40),
	MEMBER(lockq_progress, joined_asked, 48),
	MEMBER(lockq_progress, detail, 56),
	MEMBER(lockq_progress, rows, 64),
	WHOLE(lockq_progress, 72),
	MEMBER(lockq_ask, user, 0),
	MEMBER(lockq_ask, task, 8),
	MEMBER(lockq_ask, count, 12),
	MEMBER(lockq_ask, wait, 16),
	MEMBER(lockq_ask, timeout_ms, 24),
	MEMBER(lockq_ask, poll_s, 32),
	MEMBER(lockq_ask, n_poll, 40),
	MEMBER(lockq_ask, reserved, 48),
	WHOLE(lockq_ask, 80),
	MEMBER(lockq_loan, loan_id, 0),
	MEMBER(lockq_loan, token, 8),
	MEMBER(lockq_loan, lease_expires_at, 16),
	MEMBER(lockq_loan, reserved, 48),
	WHOLE(lockq_loan, 80),
	MEMBER(lockq_answer, request_id, 0),
	MEMBER(lockq_answer, uuid, 8),
	MEMBER(lockq_answer, user, 48),
	MEMBER(lockq_answer, task, 56),
	MEMBER(lockq_answer, task_name, 64),
	MEMBER(lockq_answer, asked, 72),
	MEMBER(lockq_answer, requested, 76),
	MEMBER(lockq_answer, assigned, 80),
	MEMBER(lockq_answer, status, 84),
	MEMBER(lockq_answer, led, 88),
	MEMBER(lockq_answer, joined, 92),
	MEMBER(lockq_answer, nobody_leads, 96),
	MEMBER(lockq_answer, epoch, 104),
	MEMBER(lockq_answer, leader, 112),
	MEMBER(lockq_answer, waited_ms, 120),
	MEMBER(lockq_answer, query_ms, 128),
	MEMBER(lockq_answer, as_of, 136),
	MEMBER(lockq_answer, how, 168),
	MEMBER(lockq_answer, reason, 176),
	MEMBER(lockq_answer, excluded, 184),
	MEMBER(lockq_answer, position, 188),
	MEMBER(lockq_answer, loans_ahead, 192),
	MEMBER(lockq_answer, expected_ms, 200),
	MEMBER(lockq_answer, retries, 208),
	MEMBER(lockq_answer, loans, 216),
	MEMBER(lockq_answer, n_loans, 224),
	MEMBER(lockq_answer, reserved, 232),
	WHOLE(lockq_answer, 264),
	MEMBER(lockq_detail, name, 0),
	MEMBER(lockq_detail, value, 8),
	WHOLE(lockq_detail, 16),
	MEMBER(lockq_assignment, task, 0),
	MEMBER(lockq_assignment, task_name, 8),
	MEMBER(lockq_assignment, loan_id, 16),
	MEMBER(lockq_assignment, token, 24),
	MEMBER(lockq_assignment, request_id, 32),
	MEMBER(lockq_assignment, assigned_at, 40),
	MEMBER(lockq_assignment, age_s, 72),
	MEMBER(lockq_assignment, lease_expires_at, 80),
	MEMBER(lockq_assignment, lease_expired, 108),
	MEMBER(lockq_assignment, lease_left_s, 112),
	MEMBER(lockq_assignment, note, 120),
	MEMBER(lockq_assignment, details, 128),
	MEMBER(lockq_assignment, n_details, 136),
	MEMBER(lockq_assignment, reserved, 144),
	WHOLE(lockq_assignment, 176),
	MEMBER(lockq_pipeline, assignments, 0),
	MEMBER(lockq_pipeline, n_assignments, 8),
	MEMBER(lockq_pipeline, detail_fault, 16),
	MEMBER(lockq_pipeline, reserved, 24),
	WHOLE(lockq_pipeline, 56),
	MEMBER(lockq_event, event, 0),
	MEMBER(lockq_event, at, 16),
	MEMBER(lockq_event, user, 48),
	MEMBER(lockq_event, account, 56),
	MEMBER(lockq_event, token, 64),
	MEMBER(lockq_event, version, 72),
	MEMBER(lockq_event, request_id, 80),
	MEMBER(lockq_event, available_at, 88),
	MEMBER(lockq_event, lease_expires_at, 115),
	MEMBER(lockq_event, excluded_until, 142),
	MEMBER(lockq_event, note, 176),
	MEMBER(lockq_event, reserved, 184),
	WHOLE(lockq_event, 216),
	MEMBER(lockq_history, events, 0),
	MEMBER(lockq_history, n_events, 8),
	MEMBER(lockq_history, reserved, 16),
	WHOLE(lockq_history, 48),
	MEMBER(lockq_choice, value, 0),
	MEMBER(lockq_choice, about, 8),
	MEMBER(lockq_choice, reserved, 16),
	WHOLE(lockq_choice, 32),
	MEMBER(lockq_choices, choices, 0),
	MEMBER(lockq_choices, n_choices, 8),
	MEMBER(lockq_choices, reserved, 16),
	WHOLE(lockq_choices, 48),
	MEMBER(lockq_loan_ref, loan_id, 0),
	MEMBER(lockq_loan_ref, token, 8),
	WHOLE(lockq_loan_ref, 16),
	MEMBER(lockq_disposition, user, 0),
	MEMBER(lockq_disposition, task, 8),
	MEMBER(lockq_disposition, kind, 12),
	MEMBER(lockq_disposition, return_after_s, 16),
	MEMBER(lockq_disposition, not_me_s, 20),
	MEMBER(lockq_disposition, note, 24),
	MEMBER(lockq_disposition, loans, 32),
	MEMBER(lockq_disposition, n_loans, 40),
	MEMBER(lockq_disposition, timeout_ms, 48),
	MEMBER(lockq_disposition, uuid, 56),
	MEMBER(lockq_disposition, reserved, 64),
	WHOLE(lockq_disposition, 88),
	MEMBER(lockq_disposed_loan, loan_id, 0),
	MEMBER(lockq_disposed_loan, what, 8),
	MEMBER(lockq_disposed_loan, token, 16),
	MEMBER(lockq_disposed_loan, holder, 24),
	MEMBER(lockq_disposed_loan, state, 32),
	MEMBER(lockq_disposed_loan, since, 48),
	MEMBER(lockq_disposed_loan, available_at, 75),
	MEMBER(lockq_disposed_loan, lease_expires_at, 102),
	MEMBER(lockq_disposed_loan, excluded_until, 129),
	MEMBER(lockq_disposed_loan, reason, 160),
	MEMBER(lockq_disposed_loan, late, 168),
	MEMBER(lockq_disposed_loan, repeated, 172),
	MEMBER(lockq_disposed_loan, reserved, 176),
	WHOLE(lockq_disposed_loan, 200),
	MEMBER(lockq_disposed_result, loans, 0),
	MEMBER(lockq_disposed_result, n_loans, 8),
	MEMBER(lockq_disposed_result, reserved, 16),
	WHOLE(lockq_disposed_result, 48),
	MEMBER(lockq_expire, batch, 0),
	MEMBER(lockq_expire, purge_after_s, 8),
	MEMBER(lockq_expire, reserved, 16),
	WHOLE(lockq_expire, 48),
	MEMBER(lockq_expired, busy, 0),
	MEMBER(lockq_expired, leases, 8),
	MEMBER(lockq_expired, available, 16),
	MEMBER(lockq_expired, requests, 24),
	MEMBER(lockq_expired, candidates, 32),
	MEMBER(lockq_expired, exclusions, 40),
	MEMBER(lockq_expired, log_rows, 48),
	MEMBER(lockq_expired, old_requests, 56),
	MEMBER(lockq_expired, runs, 64),
	MEMBER(lockq_expired, skipped, 72),
	MEMBER(lockq_expired, took_ms, 80),
	MEMBER(lockq_expired, reserved, 88),
	WHOLE(lockq_expired, 120),
};

static void
the_layout_stays(void **state)
{
	(void)state;
	if (sizeof(void *) != 8)
		skip();
	for (size_t i = 0; i < sizeof(layout) / sizeof(layout[0]); i++) {
		if (layout[i].is != layout[i].was)
			print_error("%s has moved\n", layout[i].what);
		assert_int_equal(layout[i].is, layout[i].was);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_layout_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
