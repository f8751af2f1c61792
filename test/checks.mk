# Which check runs which tests: scripts by their file's name, programs without ".c". Each test stands in
# one of these lists, and test/docs/checks.t finds one that stands in none. The tests that take longest
# stand first, so that none of them is left to wait for at the end.

# make check, five minutes: the tests that find most faults for their time, with few packages.
CHECK := race/cut.t db/test_seed db/test_expire cli/waiting.t db/test_wait race/patience.t \
	race/handover.t docs/docs.t cli/expire.t cli/refill.t cli/managecheck.t cli/corrections.t \
	cli/roles.t cli/getwork.t cli/runwork.t cli/checkwork.t cli/disposition.t cli/managetask.t \
	cli/lockqstat.t cli/follow.t cli/seedloans.t cli/options.t cli/complete.t cli/doubt.t \
	cli/urgent.t cli/tasks.t cli/log.t cli/noun.t cli/quotes.t cli/rights.t race/late.t \
	race/changed.t race/expire.t race/follow.t race/eyes.t race/share.t race/held.t \
	race/corrections.t race/burst.t docs/render.t docs/admin.t docs/doors.t docs/locks.t \
	docs/patterns.t docs/checks.t history/binlog.t \
	$(patsubst test/%.c,%,$(filter-out %/test_seed.c %/test_expire.c %/test_wait.c,$(DB_SRC)) \
	$(UNIT_SRC)) unit/rooms.t unit/tools.t lab/caps.t lab/keeping.t lab/taking.t lab/seeds.t \
	lab/figures.t coverage/report.t

# In make check the races that meet their moments by chance have these few rounds.
SHORT_ROUNDS := LOCKQ_LATE_ROUNDS=20 LOCKQ_CHANGED_ROUNDS=20 LOCKQ_HANDOVER_ROUNDS=100 \
	LOCKQ_FOLLOW_KILLS=5 LOCKQ_CORRECTIONS_ROUNDS=3 LOCKQ_EYES_ROUNDS=1
# So make check-all runs them again, with their usual rounds.
AGAIN := race/late.t race/changed.t race/handover.t race/follow.t \
	race/corrections.t race/eyes.t

# The rest of make check-all. Programs are those of the build with sanitizers.
CHECK_REST := race/taken.t race/leases.t guards/part-1.t guards/part-2.t guards/part-3.t guards/part-4.t lab/patterns.t \
	model/protocol.t docs/lint.t model/list.t model/trace.t model/list-trace.t model/rules.t \
	model/urgent.t docs/readme.t docs/bench.t fault/test_faults soak/soak.t history/check.t \
	race/hundreds.t race/cluster.t race/tls.t cli/signals.t race/replica.t lab/tour.t \
	lab/ended.t cli/migrate.t memory/programs.t race/upgrade.t race/native.t cli/injection.t \
	cli/completion.t cli/report.t cli/screen.t cli/loaded.t docs/examples.t docs/install.t \
	docs/monitoring.t lab/draw.t lab/pictures.t memory/threads.t fuzz/fuzz.t

# make check-long and make soak-cluster.
CHECK_LONG := long/failovers.t long/packages.t long/report.t long/rows.t long/tour.t \
	long/upgrade.t memory/valgrind.t
