# Builds one mutant, for guards.t: the library with some objects replaced, whose sources are in OUT,
# and one test that is linked with this library.
#   make -f mutant.mk TOP=… BUILD=… OUT=… OBJECTS='lib/lock …' TEST=db/test_lock mutant
# `getwork` in place of `mutant` makes the program, for test/model/trace.t.
include $(BUILD)/client.mk

CC := gcc
REPLACED := $(patsubst lib/%,$(OUT)/%.o,$(OBJECTS))
LINK := $(CC) $(CLIENT_LDFLAGS) $(CLIENT_EXE_LDFLAGS)
# Tests of test/fault/ consist of several files, and give names of the library another meaning.
FAULT := $(filter fault/%,$(TEST))
TEST_OBJ := $(if $(FAULT),$(wildcard $(BUILD)/obj/test/fault/*.o),$(BUILD)/obj/test/$(TEST).o)

mutant: library
	@$(LINK) -o '$(OUT)/test' $(TEST_OBJ) $(wildcard $(BUILD)/obj/test/support/*.o) \
		'$(OUT)/liblockq.a' -lcmocka $(CLIENT_LIBS) -luuid -pthread

# What getwork needs of the programs comes from an archive, so that the other ones' main() is left
# out.
getwork: library
	@ar rcD '$(OUT)/cmd.a' $(filter-out %/getwork.o,$(wildcard $(BUILD)/obj/cmd/*.o)) 2>/dev/null
	@$(LINK) -o '$(OUT)/getwork' '$(BUILD)/obj/cmd/getwork.o' '$(OUT)/cmd.a' \
		'$(OUT)/liblockq.a' $(CLIENT_LIBS) -ljansson -lunistring -luuid -pthread

library: $(REPLACED)
	@cp '$(BUILD)/lib/liblockq.a' '$(OUT)/liblockq.a'
	@ar rD '$(OUT)/liblockq.a' $(REPLACED) 2>/dev/null
	@$(if $(FAULT),nm -u '$(OUT)/liblockq.a' | awk -f '$(TOP)/test/fault/names.awk' \
		>'$(OUT)/names' && objcopy --redefine-syms='$(OUT)/names' '$(OUT)/liblockq.a')

$(REPLACED): FORCE
	@$(CC) -std=c11 -D_POSIX_C_SOURCE=200809L -O0 -I '$(TOP)/lib' \
		$(if $(filter db%,$(@F)),$(CLIENT_CFLAGS)) -w -c -o '$@' '$(@:.o=.c)'
FORCE:
.PHONY: mutant getwork library FORCE
