# lockq: one non-recursive file for GNU make. `make help` lists the targets.
#
#   BUILD=DIR        where everything is built
#   CLIENT=mariadb   against libmariadb instead of MySQL's own client, in build/mariadb;
#                    CLIENT=installed is what `make install` uses itself
#   SANITIZE=LIST    with these sanitizers, against libmariadb: address,undefined in build/asan,
#                    thread in build/tsan
#   WERROR=1         warnings are errors

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

PROGRAMS := getwork checkwork disposition runwork refill managetask lockqstat seedloans

prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
datadir ?= $(prefix)/share
mandir ?= $(datadir)/man

SANITIZE ?=
CLIENT ?= $(if $(SANITIZE),mariadb,mysql)
ifneq ($(SANITIZE),)
BUILD ?= $(if $(findstring thread,$(SANITIZE)),build/tsan,build/asan)
else ifeq ($(CLIENT),mariadb)
BUILD ?= build/mariadb
else
BUILD ?= build
endif

VERSION := $(shell sed -n 's/^\#define LOCKQ_VERSION "\(.*\)"/\1/p' lib/lockq.h)
# It is raised when a program that was compiled before could not use the library any more.
SOVERSION := 0
JOBS := $(shell nproc 2>/dev/null || echo 2)
# With -j on the command line that number of jobs holds, without it one job for each processor.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin AR),default)
AR := ar
endif
CFLAGS ?= $(if $(SANITIZE),-O1,-O2) -g
WARNINGS := -Wall -Wextra -Wformat=2 -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wundef -Wvla -Wwrite-strings -Wpointer-arith -Wswitch-enum
LANGUAGE := -std=c11 -D_POSIX_C_SOURCE=200809L
INCLUDES := -I lib -I cmd -I test/support
FORTIFY := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
# It wants an optimizing compiler, and no sanitizer.
HARDENING := -fstack-protector-strong \
	$(if $(SANITIZE),,$(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),$(FORTIFY)))
SANITIZERS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer)
COMPILE = $(CC) $(LANGUAGE) $(INCLUDES) $(CPPFLAGS) $(CFLAGS) $(WARNINGS) $(HARDENING) \
	$(SANITIZERS)
LINK = $(CC) $(CFLAGS) $(SANITIZERS) -Wl,--as-needed -Wl,-z,relro,-z,now $(LDFLAGS)

# --- sources ------------------------------------------------------------------------------------

# The folders of lib/ from top to bottom: includes and calls run only to those further down, and in
# no room but these in a circle. scripts/lint-rooms reads both lines.
ROOMS := check manage disposition feed look getwork list rules handle db
CIRCLES := db
LIB_SRC := $(sort $(foreach room,$(ROOMS),$(wildcard lib/$(room)/*.c)))
CLI_SRC := $(sort $(wildcard cmd/cli/*.c))
TOOL_SRC := $(sort $(wildcard $(PROGRAMS:%=cmd/%/*.c)))
SUPPORT_SRC := $(sort $(wildcard test/support/*.c))
UNIT_SRC := $(sort $(wildcard test/unit/test_*.c))
DB_SRC := $(sort $(wildcard test/db/*/test_*.c))
RACE_SRC := $(sort $(wildcard test/race/*/*.c))
FUZZ_SRC := $(sort $(wildcard test/fuzz/*.c))
BENCH_SRC := $(sort $(wildcard test/bench/*.c))
FAULT_SRC := $(sort $(filter-out %/lost_commit.c,$(wildcard test/fault/*.c)))
MEMORY_SRC := test/memory/test_threads.c
SOAK_SRC := $(sort $(wildcard test/soak/*.c))
TEST_SRC := $(SUPPORT_SRC) $(UNIT_SRC) $(DB_SRC) $(RACE_SRC) $(BENCH_SRC) $(FAULT_SRC) \
	$(MEMORY_SRC) $(FUZZ_SRC) $(SOAK_SRC)
ALL_SRC := $(LIB_SRC) $(CLI_SRC) $(TOOL_SRC) $(TEST_SRC)

object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIB_OBJ := $(call object,$(LIB_SRC))
SUPPORT_OBJ := $(call object,$(SUPPORT_SRC))

STATIC := $(BUILD)/lib/liblockq.a
CLI := $(BUILD)/lib/libcli.a
TOOLS := $(BUILD)/lib/tools.a
SONAME := liblockq.so.$(SOVERSION)
SHARED := $(BUILD)/lib/liblockq.so.$(VERSION)
LINKS := $(BUILD)/lib/$(SONAME) $(BUILD)/lib/liblockq.so
BIN := $(PROGRAMS:%=$(BUILD)/bin/%)
UNIT_BIN := $(patsubst %.c,$(BUILD)/%,$(UNIT_SRC))
DB_BIN := $(patsubst %.c,$(BUILD)/%,$(DB_SRC))
RACE_BIN := $(patsubst %.c,$(BUILD)/%,$(RACE_SRC))
BENCH_BIN := $(patsubst %.c,$(BUILD)/%,$(BENCH_SRC))
SOAK_BIN := $(patsubst %.c,$(BUILD)/%,$(SOAK_SRC))
FAULT_BIN := $(BUILD)/test/fault/test_faults
MEMORY_BIN := $(patsubst %.c,$(BUILD)/%,$(MEMORY_SRC))
PRELOAD_SO := $(patsubst %.c,$(BUILD)/%.so,test/fault/lost_commit.c test/coverage/exit.c \
	$(wildcard test/bench/preload/*.c))
# lockq(3), which the comments of lockq.h make.
API_PAGE := $(BUILD)/man/lockq.3
TEST_BIN := $(PRELOAD_SO) $(UNIT_BIN) $(DB_BIN) $(RACE_BIN) $(BENCH_BIN) $(FAULT_BIN) \
	$(SOAK_BIN)

all: $(STATIC) $(SHARED) $(LINKS) $(BIN) $(API_PAGE) ## the library, programs, a page, in build/

test-programs: $(TEST_BIN) build/tap

# What the tests use of the builds with sanitizers.
memory-programs: $(if $(findstring thread,$(SANITIZE)),$(MEMORY_BIN),\
	$(UNIT_BIN) $(DB_BIN) $(FAULT_BIN))

# What valgrind runs: see test/memory/valgrind.t.
valgrind-programs: $(DB_BIN) $(MEMORY_BIN)

# --- the MySQL client ---------------------------------------------------------------------------

# These goals compile nothing, or leave that to a make of their own, which includes client.mk.
CLIENT_MK := $(BUILD)/client.mk
WITHOUT_CLIENT := help clean distclean dist deb check check-all check-locked check-loaded \
	check-memory check-rest rest-locked \
	coverage fuzz fuzz-mutant fuzz-programs lint demo bench bench-compare \
	bench-peers pictures install uninstall print-flags print-list
ifneq ($(filter-out $(WITHOUT_CLIENT),$(or $(MAKECMDGOALS),all)),)
-include $(CLIENT_MK)
# The flags may be old: the checkout has moved, or a client library was installed or removed since
# the last `make install`.
ifneq ($(if $(filter installed,$(CLIENT)),,$(CLIENT_TOP)),$(CURDIR))
$(CLIENT_MK): FORCE
endif
$(CLIENT_MK): scripts/setup
	@scripts/setup client-mk $(CLIENT) $@
endif

# Everything is made again when these flags change. WERROR is not among them, since it changes no
# object.
FLAGS := $(BUILD)/flags
FLAGS_NOW = $(COMPILE) $(LINK) $(CLIENT_KIND) $(VERSION)
$(FLAGS): FORCE
	@mkdir -p $(@D)
	@new=$@.$$$$; printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' >$$new; \
		if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

# --- objects ------------------------------------------------------------------------------------

# make V=1 shows the commands.
Q := $(if $(V),,@)
told = $(if $(V),,@printf '  %-4s %s\n' '$(1)' '$(patsubst $(CURDIR)/%,%,$@)')

WERROR_FLAG := $(if $(filter 1,$(WERROR)),-Werror)

# The only files that see mysql.h, with the benchmark's floors and a test's client library.
$(BUILD)/obj/lib/db/% $(BUILD)/obj/test/bench/floor_% \
	$(BUILD)/obj/test/fault/client.o: PRIVATE_CFLAGS = $(CLIENT_CFLAGS)

$(LIB_OBJ): PIC := -fPIC -fvisibility=hidden
$(BUILD)/obj/%.o: %.c $(FLAGS) $(CLIENT_MK)
	@mkdir -p $(@D)
	$(call told,CC)
	$(Q)$(COMPILE) $(WERROR_FLAG) $(or $(PIC),-fPIE) $(PRIVATE_CFLAGS) -MMD -MP -c -o $@ $<

-include $(patsubst %.c,$(BUILD)/obj/%.d,$(ALL_SRC))

# --- the library --------------------------------------------------------------------------------

LIB_LIBS = $(CLIENT_LIBS) -luuid -pthread

$(STATIC): $(LIB_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(call told,AR)
	$(Q)$(AR) rcsD $@ $(LIB_OBJ)

$(SHARED): $(LIB_OBJ) lib/lockq.map
	@mkdir -p $(@D)
	$(call told,LINK)
	$(Q)$(LINK) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=lib/lockq.map \
		$(if $(SANITIZE),,-Wl,-z,defs) $(CLIENT_LDFLAGS) -o $@ $(LIB_OBJ) $(LIB_LIBS)

$(LINKS): $(SHARED)
	@ln -sf $(notdir $(SHARED)) $@

$(API_PAGE): scripts/api-page lib/lockq.h lib/lockq.map man/lockq.3.in
	@mkdir -p $(@D)
	$(call told,MAN)
	$(Q)$^ >$@

# --- the programs -------------------------------------------------------------------------------

# The programs look for the shared library there; `make install` gives another RPATH, or none.
RPATH := $$ORIGIN/../lib
RPATH_FLAGS = $(if $(RPATH),-Xlinker -rpath -Xlinker '$(RPATH)')

# This is not part of $(FLAGS): for another prefix the programs are linked again, and nothing is
# compiled.
$(BUILD)/rpath: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(RPATH)' | cmp -s - $@ || printf '%s\n' '$(RPATH)' >$@

# jansson writes the JSON. libunistring tells which bytes are UTF-8, and in any locale how wide a
# terminal shows them. libcsv splits the fields of a CSV file. The library needs none of these.
# libuuid, which the library needs, too, tells the programs whether a text is a UUID. ncurses drives
# the terminals of checkwork --watch and lockqstat --watch.
CMD_LIBS := -ljansson -lunistring -luuid
SCREEN_LIBS := -lncursesw -ltinfo
SEED_LIBS := -lcsv -lm

# seedloans needs functions that the shared library does not export, so it has the static one.
link_program = $(LINK) -pie $(CLIENT_LDFLAGS) $(CLIENT_EXE_LDFLAGS) -o $@ $(filter %.o,$^) $(CLI) \
	$(if $(filter $(STATIC),$^),$(STATIC) $(SEED_LIBS) $(LIB_LIBS),$(RPATH_FLAGS) $(SHARED)) \
	$(CMD_LIBS) $(PROGRAM_LIBS)

# What the programs share. From this archive each program takes what it needs.
$(CLI): $(call object,$(CLI_SRC))
	@mkdir -p $(@D)
	@rm -f $@
	$(call told,AR)
	$(Q)$(AR) rcsD $@ $^

# A program consists of the files of its folder and of what it takes from the archive.
objects_of = $(call object,$(wildcard cmd/$(1)/*.c))
$(foreach p,$(PROGRAMS),$(eval $(BUILD)/bin/$(p): $(call objects_of,$(p)) $(CLI)))
$(BUILD)/bin/checkwork $(BUILD)/bin/lockqstat: PROGRAM_LIBS = $(SCREEN_LIBS)
$(filter-out %/seedloans,$(BIN)): $(SHARED) $(BUILD)/rpath | $(LINKS)
$(BUILD)/bin/seedloans: $(STATIC)
$(BIN):
	@mkdir -p $(@D)
	$(call told,LINK)
	$(Q)$(link_program)

# --- the tests ----------------------------------------------------------------------------------

# All the programs' files in one archive, for tests and fuzzers, which take what they need. main()
# of each program has a name of its own. Files of two folders may have the same name, so the archive
# is made with q, not r.
$(BUILD)/obj/main/%.o: $(BUILD)/obj/cmd/%/main.o
	@mkdir -p $(@D)
	$(Q)objcopy --redefine-sym main=$*_main $< $@
$(TOOLS): $(filter-out %/main.o,$(call object,$(TOOL_SRC))) $(PROGRAMS:%=$(BUILD)/obj/main/%.o)
	@mkdir -p $(@D)
	@rm -f $@
	$(call told,AR)
	$(Q)$(AR) qcsD $@ $^

link_test = $(LINK) -pie $(CLIENT_LDFLAGS) $(CLIENT_EXE_LDFLAGS) -o $@ $(filter %.o,$^) \
	$(filter $(TOOLS),$^) $(filter $(CLI),$^) $(STATIC) -lcmocka $(CMD_LIBS) $(SCREEN_LIBS) \
	$(SEED_LIBS) $(LIB_LIBS)

$(UNIT_BIN) $(DB_BIN) $(RACE_BIN): $(BUILD)/test/%: $(BUILD)/obj/test/%.o $(SUPPORT_OBJ) $(TOOLS) \
		$(CLI) $(STATIC)
	@mkdir -p $(@D)
	$(call told,LINK)
	$(Q)$(link_test)

$(BENCH_BIN): $(BUILD)/test/%: $(BUILD)/obj/test/%.o $(BUILD)/obj/test/support/inside.o $(STATIC)
	@mkdir -p $(@D)
	$(call told,LINK)
	$(Q)$(link_test)

$(SOAK_BIN): $(BUILD)/test/%: $(BUILD)/obj/test/%.o $(CLI) $(STATIC)
	@mkdir -p $(@D)
	$(call told,LINK)
	$(Q)$(link_test)

# The library, with other names for the calls that fail in this test. A function of the client
# library that the test does not know yet is missing when it is linked.
FAULTY := $(BUILD)/lib/liblockq-faulty.a
$(FAULTY): $(STATIC) test/fault/names.awk
	$(call told,AR)
	$(Q)nm -u $(STATIC) | awk -f test/fault/names.awk >$@.names
	$(Q)objcopy --redefine-syms=$@.names $(STATIC) $@

$(FAULT_BIN): $(call object,$(FAULT_SRC)) $(SUPPORT_OBJ) $(FAULTY)
$(MEMORY_BIN): $(BUILD)/%: $(BUILD)/obj/%.o $(SUPPORT_OBJ) $(STATIC)
$(FAULT_BIN) $(MEMORY_BIN):
	@mkdir -p $(@D)
	$(call told,LINK)
	$(Q)$(LINK) -pie $(CLIENT_LDFLAGS) $(CLIENT_EXE_LDFLAGS) -o $@ $^ -lcmocka $(LIB_LIBS)

# --- the fuzzers ---------------------------------------------------------------------------------

# libFuzzer is clang's. So the fuzzers have a build of their own, with its coverage and with the
# sanitizers, by a make of their own that has these variables. The + has it share the jobs of this
# one, which does not see that it is a make.
FUZZ := build/fuzz
FUZZ_MAKE = $(MAKE) --no-print-directory $(PARALLEL) BUILD=$(FUZZ) CC=clang CFLAGS='-O1 -g' \
	SANITIZE=address,undefined,fuzzer-no-link
FUZZ_BIN := $(patsubst %.c,$(BUILD)/%,$(FUZZ_SRC))

fuzz-programs:
	+@$(FUZZ_MAKE) fuzzers

fuzzers: $(FUZZ_BIN)

# From the archives a fuzzer takes only what it does not define itself, nor a mutant before them.
link_fuzzer = $(LINK) -fsanitize=fuzzer -Wl,--wrap=cli_start $(CLIENT_LDFLAGS) -o $@ $(1) \
	$(TOOLS) $(CLI) $(STATIC) $(CMD_LIBS) $(SCREEN_LIBS) $(SEED_LIBS) $(LIB_LIBS)

$(FUZZ_BIN): $(BUILD)/test/fuzz/%: $(BUILD)/obj/test/fuzz/%.o $(TOOLS) $(CLI) $(STATIC)
	@mkdir -p $(@D)
	$(call told,LINK)
	$(Q)$(call link_fuzzer,$<)

# FUZZER=csv MUTANT=DIR: this fuzzer as DIR/fuzzer, with DIR/mutant.c in place of a source. For
# test/fuzz/mutants.
fuzz-mutant:
	+@$(FUZZ_MAKE) '$(MUTANT)/fuzzer'
$(MUTANT)/mutant.o: $(MUTANT)/mutant.c
	@$(COMPILE) -w -fPIE $(CLIENT_CFLAGS) -c -o $@ $<
$(MUTANT)/fuzzer: $(BUILD)/obj/test/fuzz/$(FUZZER).o $(MUTANT)/mutant.o
	@$(call link_fuzzer,$^)

# SECONDS=n: each fuzzer runs for so long; FUZZ_ONLY="csv json": only these run.
SECONDS ?= 60
FUZZ_ONLY ?=
fuzz: fuzz-programs ## random input for parsers and printers, SECONDS=n each
	@test/fuzz/run --seconds '$(SECONDS)' $(FUZZ_ONLY)

# These are preloaded into a program, and find the client library's functions at run time.
$(PRELOAD_SO): $(BUILD)/%.so: %.c $(FLAGS)
	@mkdir -p $(@D)
	$(call told,LINK)
	$(Q)$(LINK) $(LANGUAGE) $(INCLUDES) $(CLIENT_CFLAGS) $(WARNINGS) $(WERROR_FLAG) -fPIC \
		-shared -o $@ $< -ldl

# The tests have a server of their own, so the sandbox keeps its data.
CHECK_SANDBOX ?= $(if $(LOCKQ_SANDBOX_DIR),$(LOCKQ_SANDBOX_DIR)-check,$(CURDIR)/build/check-sandbox)
IN_SANDBOX = LOCKQ_SANDBOX_DIR='$(CHECK_SANDBOX)' scripts/sandbox run
IN_CLUSTER = LOCKQ_CLUSTER_DIR='$(CHECK_SANDBOX)-cluster' scripts/sandbox cluster run
# Under nohup or in a script's background signals are ignored, and the programs would ignore those
# that the tests send. So all have their default action.
PROVE = env --default-signal=HUP,INT,QUIT,TERM CMOCKA_MESSAGE_OUTPUT=TAP \
	LOCKQ_TOP='$(CURDIR)' prove --timer --failures -e build/tap

# cmocka 1.1.5 prints "not ok" for a test that was skipped.
build/tap: Makefile
	@mkdir -p $(@D)
	@printf '%s\n' '#!/usr/bin/env bash' 'set -o pipefail' \
		'"$$@" | sed -u "s/^not ok \([0-9]*\) # SKIP/ok \1 # SKIP/"' >$@
	@chmod +x $@

scripts_of = $(sort $(wildcard test/$(1)/*.t test/$(1)/*/*.t))
ASAN := build/asan
ASAN_BIN := $(patsubst %.c,$(ASAN)/%,$(DB_SRC) $(UNIT_SRC))
prove = $(if $(strip $(1)),$(2) $(PROVE) $(strip $(1)),@echo 'no tests of this kind')

UNIT_TESTS := $(UNIT_BIN) $(call scripts_of,unit) $(call scripts_of,coverage)
DB_TESTS := $(DB_BIN) $(call scripts_of,db)
CLI_TESTS := $(call scripts_of,cli)
RACE_TESTS := $(call scripts_of,race)
LAB_TESTS := $(call scripts_of,lab)
DOCS_TESTS := $(call scripts_of,docs)
GUARD_TESTS := $(call scripts_of,guards)
MODEL_TESTS := $(call scripts_of,model)
FUZZ_TESTS := $(call scripts_of,fuzz)
HISTORY_TESTS := $(call scripts_of,history) $(call scripts_of,soak)
# valgrind.t takes minutes, so it is left to check-long.
MEMORY_TESTS := $(ASAN_BIN) $(ASAN)/test/fault/test_faults \
	$(filter-out %/valgrind.t,$(call scripts_of,memory))

# Most tests of make check wait more than they compute, so more run at once than there are
# processors. Those of check-rest compute, and where they are slow some have more to search.
check-locked: LANES ?= $(shell echo $$(($(JOBS) * 3)))
rest-locked: LANES ?= $(shell echo $$(($(JOBS) + 1)))

include test/checks.mk
# test_files BUILD,NAMES: the scripts, and the programs of this build.
test_files = $(foreach t,$(2),$(if $(filter %.t,$(t)),,$(1)/)test/$(t))

# one_check GOAL: two at once would use the same servers.
one_check = @mkdir -p build; \
	flock --nonblock --conflict-exit-code 75 --close build/check.lock \
		$(MAKE) --no-print-directory $(1) || { status=$$?; \
		if [ $$status -eq 75 ]; then \
			echo 'check: another make check is at work here: wait for it' >&2; \
		fi; exit $$status; }
# in_lanes TESTS,VARIABLES
in_lanes = @env LOCKQ_TOP='$(CURDIR)' LOCKQ_SANDBOX_DIR='$(CHECK_SANDBOX)' LOCKQ_TESTED=yes \
	CMOCKA_MESSAGE_OUTPUT=TAP $(2) test/support/lanes $(LANES) $(1)

check: ## what a developer runs before each commit: five minutes
	$(call one_check,check-locked)

check-locked:
	@echo 'check: what the build and the tests need'
	@scripts/setup check
	@echo 'check: build, warnings are errors'
	@$(MAKE) --no-print-directory $(PARALLEL) WERROR=1 all test-programs
	@scripts/lint --quick
	@echo 'check: tests, $(LANES) at once'
	$(call in_lanes,$(call test_files,$(BUILD),$(CHECK)),$(IN_SHORT))

check-all: ## what a merge needs: check, then check-rest
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory check-rest

check-rest: ## what check leaves out: sanitizers, fuzzers, models, guards, clusters, more races
	$(call one_check,rest-locked)

rest-locked:
	@echo 'check-rest: what the build and the tests need'
	@scripts/setup all
	@echo 'check-rest: build, warnings are errors'
	@$(MAKE) --no-print-directory $(PARALLEL) WERROR=1 all test-programs
	@echo 'check-rest: build with the address and undefined behaviour sanitizers'
	@$(MAKE) --no-print-directory $(PARALLEL) SANITIZE=address,undefined WERROR=1 \
		all memory-programs
	@echo 'check-rest: build with the thread sanitizer'
	@$(MAKE) --no-print-directory $(PARALLEL) SANITIZE=thread WERROR=1 memory-programs
	@echo 'check-rest: build the fuzzers'
	@$(MAKE) --no-print-directory $(PARALLEL) WERROR=1 fuzz-programs
	@echo 'check-rest: tests, $(LANES) at once'
	$(call in_lanes,$(call test_files,$(ASAN),$(CHECK_REST) $(AGAIN)) \
		$(filter-out $(CHECK_REST:%=$(ASAN)/test/%),$(ASAN_BIN)))

# RUNS=N: so many times; LOOPS=N: beside so many busy loops.
RUNS ?= 1
LOOPS ?= 2
check-loaded: ## check, RUNS times in a row, beside busy loops
	@scripts/loaded --runs '$(RUNS)' --loops '$(LOOPS)' --deadline 10800

# These tests meet their moments by chance. In check-all they have enough rounds to meet each of
# them.
LONG_ROUNDS := LOCKQ_LATE_ROUNDS=1000 LOCKQ_CHANGED_ROUNDS=1000 LOCKQ_SIGNAL_ROUNDS=1000 \
	LOCKQ_HANDOVER_ROUNDS=5000 LOCKQ_LEASES_ROUNDS=1000 LOCKQ_CLUSTER_ROUNDS=20 \
	LOCKQ_HUNDREDS=300 LOCKQ_ENDED_ROUNDS=300 LOCKQ_LAB=all LOCKQ_BENCH=all \
	LOCKQ_TAKEN_ROUNDS=8 LOCKQ_TAKEN_CHANCES=400 LOCKQ_FOLLOW_KILLS=1000 LOCKQ_FOLLOW_ROWS=5000
# MySQL 9.7 checks foreign keys above InnoDB. With this option it locks as 8.0 and 8.4 do. Races
# that make servers of their own are left out.
NATIVE_KEYS := --innodb-native-foreign-keys=ON
NATIVE_RACES := $(filter-out $(patsubst %,test/race/%.t,getwork/cluster handle/cut list/native \
	list/replica handle/tls lockq-migrate/upgrade),$(call scripts_of,race))
check-long: all test-programs ## tests that take long: packages, MariaDB, random races, the model
	scripts/lint
	@$(MAKE) --no-print-directory fuzz
	test/fuzz/mutants
	$(call prove,$(MODEL_TESTS),$(IN_SANDBOX) env LOCKQ_MODEL=all LOCKQ_TRACES=2000)
	$(call prove,$(DB_BIN),$(IN_SANDBOX) env LOCKQ_KILLS_STEP=1)
	@$(MAKE) --no-print-directory $(PARALLEL) SANITIZE=address,undefined all memory-programs
	$(call prove,$(ASAN)/test/fault/test_faults,$(IN_SANDBOX) env LOCKQ_FAULTS_STEP=1)
	$(call prove,test/memory/programs.t,$(IN_SANDBOX) env LOCKQ_PROGRAMS=all)
	$(call prove,$(patsubst %,test/race/%.t,getwork/late getwork/changed getwork/handover \
		disposition/leases list/taken getwork/cluster getwork/hundreds feed/follow) \
		$(patsubst %,test/%.t,lab/ended lab/tour lab/patterns docs/bench \
		cli/getwork/signals) \
		$(patsubst %,test/%,$(filter long/%,$(CHECK_LONG))),\
		$(IN_SANDBOX) env $(LONG_ROUNDS))
	$(call prove,test/long/failovers.t,$(IN_SANDBOX) env LOCKQ_CLUSTER_MODE=multi)
	test/soak/run --minutes 10
	@$(MAKE) --no-print-directory coverage check-cluster
	$(call prove,$(DB_TESTS) $(NATIVE_RACES),env LOCKQ_SANDBOX_DIR='$(CHECK_SANDBOX)-native' \
		LOCKQ_MYSQLD_ARGS='$(NATIVE_KEYS)' scripts/sandbox run env)
	@$(MAKE) --no-print-directory $(PARALLEL) CLIENT=mariadb all valgrind-programs
	$(call prove,test/memory/valgrind.t,$(IN_SANDBOX) env)
	$(call prove,$(CLI_TESTS),$(IN_SANDBOX) env \
		PATH="$(CURDIR)/build/mariadb/bin:$(CURDIR)/build/mysql/bin:$$PATH")

# LOCKQ_MYSQLDS="/path/of/mysqld /another": these; else the one that is there.
check-versions: all test-programs ## db, cli, race, history tests on each server of LOCKQ_MYSQLDS
	test/support/versions $(DB_TESTS) $(CLI_TESTS) $(RACE_TESTS) $(HISTORY_TESTS)

check-unit: all test-programs ## the tests that need no server
	$(call prove,$(UNIT_TESTS))

check-db: all test-programs ## the library against a server
	$(call prove,$(DB_TESTS),$(IN_SANDBOX) env)

check-cli: all build/tap ## the programs as a user runs them
	$(call prove,$(CLI_TESTS),$(IN_SANDBOX) env)

check-race: all test-programs ## many at once, and processes that die
	$(call prove,$(RACE_TESTS),$(IN_SANDBOX) env)

check-history: all test-programs ## what was committed and told, judged by what lockq promises
	$(call prove,$(HISTORY_TESTS),$(IN_SANDBOX) env)

# These make servers of their own, or look at a server's files, so a router can't lead there.
OWN_SERVER_TESTS := $(patsubst %,test/cli/%.t,lockq-migrate/migrate cli/options)
check-cluster: all test-programs ## db and cli tests through MySQL Router, and failovers
	$(call prove,$(DB_TESTS) $(filter-out $(OWN_SERVER_TESTS),$(CLI_TESTS)),$(IN_CLUSTER) env)
	$(call prove,test/long/failovers.t,$(IN_SANDBOX) env)

# MINUTES=N: for so long, with two failovers a minute; MODE=multi: all members are primaries.
soak-cluster: MINUTES ?= 10
MODE ?= single
soak-cluster: all ## failovers of a cluster under load, for MINUTES
	@$(IN_SANDBOX) env --default-signal=HUP,INT,QUIT,TERM LOCKQ_TOP='$(CURDIR)' \
		LOCKQ_CLUSTER_MINUTES='$(MINUTES)' LOCKQ_CLUSTER_MODE='$(MODE)' \
		test/long/failovers.t

check-lab: all build/tap ## the patterns of locking, their pictures, the tour
	$(call prove,$(LAB_TESTS),$(IN_SANDBOX) env)

check-docs: all test-programs ## what the documentation promises
	$(call prove,$(DOCS_TESTS),$(IN_SANDBOX) env)

check-guards: all test-programs ## each guard of the algorithm has a test that fails without it
	$(call prove,$(GUARD_TESTS),$(IN_SANDBOX) env)

check-memory: ## unit and db tests, faults and threads under the sanitizers
	@$(MAKE) --no-print-directory $(PARALLEL) SANITIZE=address,undefined all memory-programs
	@$(MAKE) --no-print-directory $(PARALLEL) SANITIZE=thread memory-programs
	$(call prove,$(MEMORY_TESTS),$(IN_SANDBOX) env LOCKQ_PROGRAMS=all)

check-faults: all test-programs ## every allocation and call of the client library fails in turn
	$(call prove,$(FAULT_BIN),$(IN_SANDBOX) env LOCKQ_FAULTS_STEP=1)

# MINUTES=N SEED=N, and OPTIONS: see test/soak/soak --help.
soak: MINUTES ?= 30
SEED ?= $(shell date +%s)
OPTIONS ?=
soak: all test-programs ## many users for MINUTES=30 while faults of SEED strike, all judged
	@test/soak/run --minutes '$(MINUTES)' --seed '$(SEED)' $(OPTIONS)

# Scripts run the programs of LOCKQ_COVERED, but for those that preload something of their own, and
# one that lets no file grow, also not those that count the lines.
COVERAGE := build/coverage
COVERAGE_SCRIPTS := $(filter-out $(patsubst %,test/cli/%.t,disposition/disposition getwork/doubt \
	lockqstat/report),$(CLI_TESTS)) \
	$(patsubst %,test/race/%.t,handle/cut getwork/patience list/replica)
coverage: ## which lines of the library the tests run, in build/coverage
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@$(MAKE) --no-print-directory $(PARALLEL) BUILD=$(COVERAGE) CFLAGS='-O0 -g --coverage' \
		all test-programs
	@find $(COVERAGE) -name '*.gcda' -delete
	@env LOCKQ_TOP='$(CURDIR)' LOCKQ_SANDBOX_DIR='$(CHECK_SANDBOX)' LOCKQ_TESTED=yes \
		LOCKQ_FAULTS_STEP=5 CMOCKA_MESSAGE_OUTPUT=TAP test/support/lanes $(LANES) \
		$(patsubst %.c,$(COVERAGE)/%,$(UNIT_SRC) $(DB_SRC)) \
		$(COVERAGE)/test/fault/test_faults
	@env LOCKQ_TOP='$(CURDIR)' LOCKQ_SANDBOX_DIR='$(CHECK_SANDBOX)' LOCKQ_TESTED=yes \
		LOCKQ_COVERED='$(CURDIR)/$(COVERAGE)' test/support/lanes $(LANES) \
		$(COVERAGE_SCRIPTS)
	@test/coverage/report $(COVERAGE)

check-model: all build/tap ## every order of steps of the protocol, with faults, in a model
	$(call prove,$(MODEL_TESTS),$(IN_SANDBOX) env)

lint: ## compilers' warnings, static analysis, house rules
	@scripts/lint

# LIST=NAME: a list of test/checks.mk, for test/docs/checks.t.
print-list:
	@: $(info $($(LIST)))

# scripts/lint compiles with these flags.
print-flags:
	@: $(info $(LANGUAGE) $(INCLUDES) $(WARNINGS) $(FORTIFY) -O2)

print-client-flags:
	@: $(info $(CLIENT_CFLAGS))

demo: ## on a fresh machine: a private MySQL, loans, several shells that race
	@scripts/setup build
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@scripts/demo

# BENCH="burst wake": only these figures; scripts/bench list names them. SIZE=full: adds cases that
# take long.
BENCH ?=
SIZE ?= usual
bench: ## run the benchmark, some minutes
	@scripts/setup build
	@$(MAKE) --no-print-directory $(PARALLEL) all test-programs
	@scripts/sandbox run scripts/bench run --size '$(SIZE)' $(BENCH)

bench-compare: ## compare two results of it: make bench-compare A=DIR B=DIR
	@scripts/bench compare '$(A)' '$(B)'

# PEERS=…, PEERS_WORKERS=… and more: see test/bench/figures/peers.
bench-peers: ## throughput beside other job queues, which it installs
	@scripts/setup build
	@$(MAKE) --no-print-directory $(PARALLEL) all test-programs
	@test/bench/peers/setup || [ $$? -eq 1 ]
	@scripts/sandbox run scripts/bench run peers

# PICTURES=DIR puts the pictures elsewhere; QUERY_SECONDS=S and PATTERNS make the races shorter.
PICTURES ?= man
PATTERNS ?= all
QUERY_SECONDS ?= 1
pictures: ## runs races and draws the pictures of README.md and man/figures.md
	@scripts/setup build
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@mkdir -p '$(PICTURES)'
	@gap=$$(awk 'BEGIN { print $(QUERY_SECONDS) / 10 }'); \
		scripts/sandbox run scripts/race lockq --gap "$$gap" \
		--query-seconds '$(QUERY_SECONDS)' --svg '$(PICTURES)/race.svg'
	@scripts/sandbox run scripts/race $(PATTERNS) --query-seconds '$(QUERY_SECONDS)' \
		--svg '$(PICTURES)/patterns.svg'

# --- installation -------------------------------------------------------------------------------

# `make install` builds its files separately, against the machine's client library. The one in
# build/mysql needs its own C library and dynamic linker, which are lost with the checkout.
INSTALL_CLIENT := $(CLIENT:mysql=installed)
# The dynamic linker looks in these directories however it is configured, so no rpath is needed, and
# distributions refuse packages that have one. /usr/local/lib is different: the dynamic linker looks
# there only if ld.so.conf names it and ldconfig has run, and the programs must start without that.
TRIPLET = $(shell $(CC) -print-multiarch 2>/dev/null)
LINKER_DIRS = /lib /usr/lib /lib64 /usr/lib64 $(TRIPLET:%=/lib/%) $(TRIPLET:%=/usr/lib/%)
INSTALL_RPATH = $(if $(filter $(LINKER_DIRS),$(libdir)),,$(libdir))
MAN := $(wildcard man/*.1 man/*.5 man/*.7) $(API_PAGE)
BASH_COMPLETION := $(wildcard cmd/completions/*.bash)
ZSH_COMPLETION := $(wildcard cmd/completions/_*)
FISH_COMPLETION := $(wildcard cmd/completions/*.fish)
SCHEMA := $(wildcard schema/*.sql)
DOORS := $(wildcard schema/doors/*.sql)
UPGRADES := $(wildcard schema/upgrade/*.sql)
FINISHES := $(wildcard schema/finish/*.sql)
EXAMPLE := $(wildcard schema/example/*.sql)
SHARE := $(datadir)/lockq
BASH_DIR := $(datadir)/bash-completion/completions
ZSH_DIR := $(datadir)/zsh/site-functions
FISH_DIR := $(datadir)/fish/vendor_completions.d
PC_DIR := $(libdir)/pkgconfig

$(BUILD)/lockq.pc: FORCE
	@mkdir -p $(@D)
	@{ \
	echo 'prefix=$(prefix)'; \
	echo 'libdir=$(libdir)'; \
	echo 'includedir=$(includedir)'; \
	echo; \
	echo 'Name: lockq'; \
	echo 'Description: work queues on MySQL row locks'; \
	echo 'Version: $(VERSION)'; \
	echo 'Libs: -L$${libdir} -llockq'; \
	echo 'Libs.private: $(CLIENT_STATIC_LIBS) -luuid -pthread'; \
	echo 'Cflags: -I$${includedir}'; \
	} >$@

$(BUILD)/lockq-migrate: scripts/lockq-migrate FORCE
	@mkdir -p $(@D)
	@sed -e "s|^installed_schema=''|installed_schema='$(SHARE)/schema'|" \
		-e 's|^version=$$|&$(VERSION)|' $< >$@

# install_files MODE, DIRECTORY, FILES
define install_files
$(if $(strip $(3)),install -d '$(DESTDIR)$(2)' && \
	install -m $(1) $(3) '$(DESTDIR)$(2)')
endef

install: ## install under prefix (DESTDIR, libdir, mandir …)
	@$(MAKE) --no-print-directory $(PARALLEL) BUILD='$(BUILD)/install' \
		CLIENT=$(INSTALL_CLIENT) RPATH='$(INSTALL_RPATH)' install-built

install-built: $(STATIC) $(SHARED) $(BIN) $(API_PAGE) $(BUILD)/lockq.pc $(BUILD)/lockq-migrate
	$(call install_files,755,$(bindir),$(BIN) $(BUILD)/lockq-migrate)
	$(call install_files,755,$(libdir),$(SHARED))
	ln -sf $(notdir $(SHARED)) '$(DESTDIR)$(libdir)/$(SONAME)'
	ln -sf $(SONAME) '$(DESTDIR)$(libdir)/liblockq.so'
	$(call install_files,644,$(libdir),$(STATIC))
	$(call install_files,644,$(includedir),lib/lockq.h)
	$(call install_files,644,$(PC_DIR),$(BUILD)/lockq.pc)
	$(call install_files,644,$(mandir)/man1,$(filter %.1,$(MAN)))
	$(call install_files,644,$(mandir)/man3,$(filter %.3,$(MAN)))
	$(call install_files,644,$(mandir)/man5,$(filter %.5,$(MAN)))
	$(call install_files,644,$(mandir)/man7,$(filter %.7,$(MAN)))
	$(call install_files,644,$(SHARE)/schema,$(SCHEMA))
	$(call install_files,644,$(SHARE)/schema/doors,$(DOORS))
	$(call install_files,644,$(SHARE)/schema/upgrade,$(UPGRADES))
	$(call install_files,644,$(SHARE)/schema/finish,$(FINISHES))
	$(call install_files,644,$(SHARE)/schema/example,$(EXAMPLE))
	$(foreach f,$(BASH_COMPLETION),\
		$(call install_as,$(f),$(BASH_DIR),$(basename $(notdir $(f)))))
	$(call install_files,644,$(ZSH_DIR),$(ZSH_COMPLETION))
	$(call install_files,644,$(FISH_DIR),$(FISH_COMPLETION))
	$(note_library)

# Programs of other projects have no rpath to the library, so the dynamic linker's cache must name
# it. ldconfig does not look into a user's folders. A package runs it on the machine that it is for.
define note_library
$(if $(DESTDIR),,$(if $(filter /lib% /usr/%,$(libdir)),\
	@PATH="$$PATH:/usr/sbin:/sbin" ldconfig || \
	echo 'install: "$(libdir)/$(SONAME)" is not in ld.so.cache yet: run ldconfig as root' >&2))
endef

define install_as
install -d '$(DESTDIR)$(2)' && install -m 644 $(1) '$(DESTDIR)$(2)/$(3)'

endef

uninstall: ## remove what install put there
	rm -f $(PROGRAMS:%='$(DESTDIR)$(bindir)/%') '$(DESTDIR)$(bindir)/lockq-migrate'
	rm -f '$(DESTDIR)$(libdir)'/liblockq.a '$(DESTDIR)$(libdir)'/liblockq.so*
	rm -f '$(DESTDIR)$(includedir)/lockq.h' '$(DESTDIR)$(PC_DIR)/lockq.pc'
	rm -f $(foreach m,$(MAN),'$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))')
	rm -f $(foreach f,$(BASH_COMPLETION),'$(DESTDIR)$(BASH_DIR)/$(basename $(notdir $(f)))')
	rm -f $(foreach f,$(ZSH_COMPLETION),'$(DESTDIR)$(ZSH_DIR)/$(notdir $(f))')
	rm -f $(foreach f,$(FISH_COMPLETION),'$(DESTDIR)$(FISH_DIR)/$(notdir $(f))')
	rm -rf '$(DESTDIR)$(SHARE)'

# --- packages -----------------------------------------------------------------------------------

dist: ## a tarball of the sources, in build/dist
	@scripts/package dist

deb: ## Debian packages, in build/deb
	@scripts/setup packages
	@scripts/package deb

# --- the rest -----------------------------------------------------------------------------------

stop_sandboxes = for d in build/sandbox build/check-sandbox build/check-sandbox-*; do \
	if [ -d $$d/data ]; then LOCKQ_SANDBOX_DIR=$(CURDIR)/$$d scripts/sandbox destroy; fi; \
	done; \
	for d in build/cluster build/check-sandbox-cluster; do \
	LOCKQ_CLUSTER_DIR=$(CURDIR)/$$d scripts/sandbox cluster destroy; done

clean: ## remove what was built, and the sandbox; the downloaded MySQL stays
	@$(stop_sandboxes)
	@if [ -d build ]; then \
		find build -mindepth 1 -maxdepth 1 ! -name mysql -exec rm -rf {} +; \
	fi

distclean: ## remove build/ altogether
	@$(stop_sandboxes)
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
		awk -F'|' '{ printf "make %-13s %s\n", $$1, $$2 }'

FORCE:
.PHONY: FORCE \
	all bench bench-compare bench-peers check check-all check-cli check-cluster check-db \
	check-docs check-faults check-guards check-history check-lab check-loaded check-locked \
	check-long check-memory check-model check-race check-rest check-unit check-versions \
	clean coverage deb demo dist distclean fuzz fuzz-mutant fuzz-programs fuzzers help \
	install install-built lint memory-programs pictures print-client-flags print-flags \
	print-list rest-locked soak soak-cluster test-programs uninstall valgrind-programs
.SECONDARY:
