# Which check runs which tests: scripts by their file's name, programs without ".c". Each test stands in
# one of these lists, and test/docs/checks.t finds one that stands in none. The tests that take longest
# stand first, so that none of them is left to wait for at the end.

# The rest of make check-all. Programs are those of the build with sanitizers, and all programs of
# db/ and unit/ run in that build, too.
CHECK_REST := guards/part-1.t guards/part-2.t guards/part-3.t guards/part-4.t lab/patterns.t \
	model/protocol.t docs/lint.t model/list.t model/trace.t model/list-trace.t model/rules.t \
	model/urgent.t docs/readme.t docs/bench.t fault/test_faults soak/soak.t history/check.t \
	race/getwork/hundreds.t race/handle/cut.t race/getwork/cluster.t race/handle/tls.t \
	race/getwork/patience.t race/disposition/leases.t race/list/taken.t \
	cli/getwork/signals.t docs/completions.t race/list/replica.t lab/tour.t lab/ended.t \
	cli/getwork/waiting.t cli/lockq-migrate/migrate.t cli/disposition/expire.t \
	memory/programs.t db/seedloans/test_seed db/disposition/test_expire db/getwork/test_dies \
	db/getwork/test_killed db/list/test_stopped cli/managetask/managecheck.t cli/managetask/corrections.t \
	cli/lockq-migrate/roles.t cli/lockq-migrate/readers.t cli/disposition/complete.t \
	cli/getwork/doubt.t cli/cli/quotes.t cli/lockq-migrate/rights.t cli/getwork/tasks.t \
	race/getwork/changed.t \
	race/disposition/expire.t race/lockq-migrate/upgrade.t race/list/native.t \
	race/feed/follow.t race/manage/corrections.t race/rules/eyes.t docs/patterns.t \
	cli/managetask/urgent.t cli/cli/settings.t cli/cli/noun.t \
	cli/cli/options.t cli/lockqstat/follow.t cli/cli/injection.t cli/cli/completion.t \
	cli/lockqstat/report.t cli/lockqstat/screen.t cli/checkwork/screen.t \
	cli/checkwork/table.t cli/runwork/terminal.t unit/loaded.t unit/rooms.t docs/admin.t \
	docs/examples.t docs/install.t docs/monitoring.t history/binlog.t lab/caps.t \
	lab/keeping.t lab/taking.t lab/seeds.t lab/figures.t lab/draw.t lab/pictures.t \
	memory/threads.t fuzz/fuzz.t coverage/report.t

# make check, five minutes: the tests that find most faults for their time, with few packages. All
# programs of db/ and unit/ are in it but those of CHECK_REST. These tests take longest.
FIRST := db/getwork/test_wait db/getwork/test_retry db/getwork/test_lost \
	db/disposition/test_complete db/list/test_kept db/getwork/test_doubt \
	db/list/test_candidates cli/getwork/getwork.t cli/lockqstat/lockqstat.t \
	cli/managetask/managetask.t cli/checkwork/checkwork.t docs/docs.t
CHECK := $(FIRST) docs/locks.t cli/disposition/disposition.t cli/seedloans/seedloans.t \
	docs/render.t cli/runwork/runwork.t cli/refill/refill.t race/getwork/burst.t \
	race/getwork/late.t cli/cli/log.t race/getwork/held.t race/getwork/share.t \
	race/getwork/why.t race/getwork/handover.t docs/doors.t docs/checks.t unit/tools.t unit/order.t \
	$(filter-out $(FIRST) $(CHECK_REST),$(DB_SRC:test/%.c=%) $(UNIT_SRC:test/%.c=%))

# In make check the races that meet their moments by chance have these few rounds, and no page is
# damaged to see whether its test notices.
IN_SHORT := LOCKQ_LATE_ROUNDS=20 LOCKQ_HANDOVER_ROUNDS=100 LOCKQ_DAMAGE=no
# So make check-all runs these again, as a whole.
AGAIN := race/getwork/late.t race/getwork/handover.t docs/docs.t docs/locks.t docs/render.t

# make check-long and make soak-cluster.
CHECK_LONG := long/failovers.t long/packages.t long/report.t long/rows.t long/tour.t \
	long/upgrade.t memory/valgrind.t
