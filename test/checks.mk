# Which check runs which tests: scripts by their file's name, programs without ".c". Each test stands in
# one of these lists, and test/docs/checks.t finds one that stands in none. The tests that take longest
# stand first, so that none of them is left to wait for at the end.

# make check, five minutes: the tests that find most faults for their time, with few packages.
CHECK := db/test_lost db/test_complete db/test_kept db/test_doubt db/test_candidates cli/getwork.t \
	cli/lockqstat.t cli/managetask.t cli/checkwork.t docs/locks.t docs/docs.t cli/disposition.t \
	cli/seedloans.t docs/render.t cli/runwork.t cli/refill.t race/burst.t race/late.t \
	cli/options.t cli/log.t race/held.t race/follow.t docs/patterns.t cli/follow.t \
	race/share.t race/corrections.t race/handover.t race/eyes.t cli/urgent.t docs/doors.t \
	docs/checks.t cli/noun.t unit/rooms.t unit/tools.t \
	$(patsubst test/%.c,%,$(filter-out $(patsubst %,test/db/test_%.c,lost complete kept doubt \
	candidates dies expire seed),$(DB_SRC)) $(UNIT_SRC))

# In make check the races that meet their moments by chance have these few rounds.
SHORT_ROUNDS := LOCKQ_LATE_ROUNDS=20 LOCKQ_HANDOVER_ROUNDS=100 LOCKQ_FOLLOW_KILLS=5 \
	LOCKQ_CORRECTIONS_ROUNDS=3
# So make check-all runs them again, with their usual rounds.
AGAIN := race/late.t race/handover.t race/follow.t race/corrections.t

# The rest of make check-all. Programs are those of the build with sanitizers, and all programs of
# db/ and unit/ run in that build, too.
CHECK_REST := guards/part-1.t guards/part-2.t guards/part-3.t guards/part-4.t lab/patterns.t \
	model/protocol.t docs/lint.t model/list.t model/trace.t model/list-trace.t model/rules.t \
	model/urgent.t docs/readme.t docs/bench.t fault/test_faults soak/soak.t history/check.t \
	race/hundreds.t race/cut.t race/cluster.t race/tls.t race/patience.t race/leases.t \
	race/taken.t cli/signals.t docs/completions.t race/replica.t lab/tour.t lab/ended.t cli/waiting.t \
	cli/migrate.t cli/expire.t memory/programs.t db/test_seed db/test_expire db/test_dies \
	cli/managecheck.t cli/corrections.t cli/roles.t cli/complete.t cli/doubt.t cli/quotes.t \
	cli/rights.t cli/tasks.t race/changed.t race/expire.t race/upgrade.t race/native.t \
	cli/injection.t cli/completion.t cli/report.t cli/screen.t cli/loaded.t docs/admin.t \
	docs/examples.t docs/install.t docs/monitoring.t history/binlog.t lab/caps.t \
	lab/keeping.t lab/taking.t lab/seeds.t lab/figures.t lab/draw.t lab/pictures.t \
	memory/threads.t fuzz/fuzz.t coverage/report.t

# make check-long and make soak-cluster.
CHECK_LONG := long/failovers.t long/packages.t long/report.t long/rows.t long/tour.t \
	long/upgrade.t memory/valgrind.t
