# Builds one mutant, for guards.t: the library with some objects replaced, whose sources are in OUT,
# and one test that is linked with this library.
#   make -f mutant.mk TOP=… BUILD=… OUT=… OBJECTS='lib/lock …' TEST=db/test_lock mutant
# `getwork` in place of `mutant` makes the program, for test/model/traces.sh.
include $(BUILD)/client.mk

CC := gcc
REPLACED := $(patsubst lib/%,$(OUT)/%.o,$(OBJECTS))
LINK := $(CC) $(CLIENT_LDFLAGS) $(CLIENT_EXE_LDFLAGS)
# Tests of test/fault/ consist of several files, and give names of the library another meaning.
FAULT := $(filter fault/%,$(TEST))
TEST_OBJ := $(if $(FAULT),$(wildcard $(BUILD)/obj/test/fault/*.o),$(BUILD)/obj/test/$(TEST).o)
# The linker takes from an archive only what it has not met, so the replaced objects come first.
LIBRARY := $(REPLACED) $(BUILD)/lib/liblockq$(if $(FAULT),-faulty).a

mutant: $(REPLACED)
	@$(LINK) -o '$(OUT)/test' $(TEST_OBJ) $(wildcard $(BUILD)/obj/test/support/*.o) \
		$(LIBRARY) -lcmocka $(CLIENT_LIBS) -luuid -pthread

# What getwork needs of the programs comes from an archive, so that the other ones' main() is left
# out.
getwork: $(REPLACED)
	@ar rcD '$(OUT)/cmd.a' $(filter-out %/getwork.o,$(wildcard $(BUILD)/obj/cmd/*.o)) 2>/dev/null
	@$(LINK) -o '$(OUT)/getwork' '$(BUILD)/obj/cmd/getwork.o' '$(OUT)/cmd.a' \
		$(LIBRARY) $(CLIENT_LIBS) -ljansson -lunistring -luuid -pthread

$(REPLACED): FORCE
	@$(CC) -std=c11 -D_POSIX_C_SOURCE=200809L -O0 -I '$(TOP)/lib' \
		$(if $(filter db%,$(@F)),$(CLIENT_CFLAGS)) -w -c -o '$@' '$(@:.o=.c)'
	@$(if $(FAULT),objcopy --redefine-syms='$(BUILD)/lib/liblockq-faulty.a.names' '$@')
FORCE:
.PHONY: mutant getwork FORCE
