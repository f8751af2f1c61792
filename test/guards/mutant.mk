# Builds one mutant, for guards.t: the library with some objects replaced, whose sources are in OUT
# under their own paths, and one test that is linked with this library.
#   make -f mutant.mk TOP=… BUILD=… OUT=… OBJECTS='lib/getwork/lock …' \
#           TEST=db/getwork/test_lock mutant
# `getwork` in place of `mutant` makes the program, for tests that are scripts. Then objects of cmd/
# may be replaced, too.
include $(BUILD)/client.mk

CC := gcc
REPLACED := $(OBJECTS:%=$(OUT)/%.o)
LINK := $(CC) $(CLIENT_LDFLAGS) $(CLIENT_EXE_LDFLAGS)
# The linker takes from an archive only what it has not met, so the replaced objects come first.
LIBRARY := $(BUILD)/lib/liblockq.a

mutant: $(REPLACED)
	@$(LINK) -o '$(OUT)/test' $(BUILD)/obj/test/$(TEST).o \
		$(wildcard $(BUILD)/obj/test/support/*.o) $(REPLACED) $(LIBRARY) \
		-lcmocka $(CLIENT_LIBS) -luuid -pthread

OWN = $(patsubst $(TOP)/%.c,$(BUILD)/obj/%.o,$(wildcard $(TOP)/cmd/getwork/*.c))
getwork: $(REPLACED)
	@$(LINK) -o '$(OUT)/getwork' $(REPLACED) $(filter-out $(OBJECTS:%=$(BUILD)/obj/%.o),$(OWN)) \
		$(BUILD)/lib/libcli.a $(LIBRARY) $(CLIENT_LIBS) -ljansson -lunistring -luuid -pthread

$(REPLACED): FORCE
	@$(CC) -std=c11 -D_POSIX_C_SOURCE=200809L -O0 -I '$(TOP)/lib' -I '$(TOP)/cmd' \
		$(if $(filter db%,$(@F)),$(CLIENT_CFLAGS)) -w -c -o '$@' '$(@:.o=.c)'
FORCE:
.PHONY: mutant getwork FORCE
