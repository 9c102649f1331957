# What the Makefiles of the examples share. Each says NAME (its folder's), MODEL, and FLAGS (for dnncc) before it includes this:
#
#     make -C examples/photo [MODEL=path/to/model.onnx] [TARGET=generic]      makes build/examples/photo
TOP := $(dir $(lastword $(MAKEFILE_LIST)))..
DNNCC ?= $(TOP)/build/dnncc
MODELS ?= $(TOP)/../shared/models
OUT ?= $(TOP)/build/examples
TARGET ?= native
CFLAGS ?= -O2
NET_CFLAGS ?= -O2
NET := $(OUT)/$(NAME).net
SUPPORT := $(patsubst $(TOP)/examples/support/%.c,$(OUT)/support/%.o,$(wildcard $(TOP)/examples/support/*.c))

ifneq ($(wildcard $(MODEL)),)
$(OUT)/$(NAME): main.c $(NET)/net.o $(OUT)/support/support.a
	$(CC) -std=c99 -Wall -Wextra $(CFLAGS) -I$(NET) -I$(TOP)/examples/support $^ -lm -o $@
else
absent:
	@echo "$(NAME): there is no $(MODEL); README.md says where it comes from"; $(if $(OPTIONAL),,exit 1)
endif

$(NET)/net.o: $(NET)/net.c
	$(CC) -std=c99 $(NET_CFLAGS) -c $< -o $@

$(NET)/net.c: $(MODEL) $(DNNCC) Makefile
	@mkdir -p $(@D)
	$(DNNCC) $(MODEL) -o $@ --target=$(TARGET) $(FLAGS)

$(OUT)/support/support.a: $(SUPPORT)
	@rm -f $@
	@$(AR) rcs $@ $^

$(OUT)/support/%.o: $(TOP)/examples/support/%.c $(wildcard $(TOP)/examples/support/*.h)
	@mkdir -p $(@D)
	$(CC) -std=c99 -Wall -Wextra $(CFLAGS) -c $< -o $@

.DELETE_ON_ERROR:
