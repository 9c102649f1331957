# What the Makefiles of the examples share. Each says NAME (its folder's), MODEL, and FLAGS (for dnncc) before it includes this:
#
#     make -C examples/photo [MODEL=path/to/model.onnx] [TARGET=generic]      makes build/examples/photo
#
# In a copy of what `make install` put in share/dnncc/examples, dnncc is that of PATH, and it makes examples/build/photo.
HERE := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
BUILT := $(wildcard $(HERE)/../build/dnncc)
DNNCC ?= $(or $(BUILT),$(shell command -v dnncc),$(HERE)/../build/dnncc)
MODELS ?= $(HERE)/../../shared/models
OUT ?= $(if $(BUILT),$(HERE)/../build/examples,$(HERE)/build)
TARGET ?= native
CFLAGS ?= -O2
NET_CFLAGS ?= -O2
NET := $(OUT)/$(NAME).net
SUPPORT := $(patsubst $(HERE)/support/%.c,$(OUT)/support/%.o,$(wildcard $(HERE)/support/*.c))

ifneq ($(wildcard $(MODEL)),)
$(OUT)/$(NAME): main.c $(NET)/net.o $(OUT)/support/support.a
	$(CC) -std=c99 -Wall -Wextra $(CFLAGS) -I$(NET) -I$(HERE)/support $^ -lm -o $@
else
absent:
	@echo "$(NAME): there is no $(MODEL); README.md says where it comes from"; $(if $(OPTIONAL),,exit 1)
endif

$(NET)/net.o: $(NET)/net.c
	$(CC) -std=c99 $(NET_CFLAGS) -c $< -o $@

$(NET)/net.c: $(MODEL) $(BUILT) Makefile
	@mkdir -p $(@D)
	"$(DNNCC)" $(MODEL) -o $@ --target=$(TARGET) $(FLAGS)

$(OUT)/support/support.a: $(SUPPORT)
	@rm -f $@
	@$(AR) rcs $@ $^

$(OUT)/support/%.o: $(HERE)/support/%.c $(wildcard $(HERE)/support/*.h)
	@mkdir -p $(@D)
	$(CC) -std=c99 -Wall -Wextra $(CFLAGS) -c $< -o $@

.DELETE_ON_ERROR:
