# Builds one mutant, for guards.t: the library with one object replaced, and one test that is linked
# with this library.
#   make -f mutant.mk TOP=… BUILD=… OUT=… OBJECT=lib/lock SOURCE=… TEST=db/test_lock mutant
include $(BUILD)/client.mk

CC := gcc

mutant:
	@cp '$(BUILD)/lib/liblockq.a' '$(OUT)/liblockq.a'
	@$(CC) -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -g -I '$(TOP)/lib' \
		$(if $(filter lib/db%,$(OBJECT)),$(CLIENT_CFLAGS)) -w \
		-c -o '$(OUT)/$(notdir $(OBJECT)).o' '$(SOURCE)'
	@ar rD '$(OUT)/liblockq.a' '$(OUT)/$(notdir $(OBJECT)).o' 2>/dev/null
	@$(CC) $(CLIENT_LDFLAGS) $(CLIENT_EXE_LDFLAGS) -o '$(OUT)/test' \
		'$(BUILD)/obj/test/$(TEST).o' $(wildcard $(BUILD)/obj/test/support/*.o) \
		'$(OUT)/liblockq.a' -lcmocka $(CLIENT_LIBS) -luuid -pthread
.PHONY: mutant
