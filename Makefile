# dnncc. `make` builds build/dnncc; README.md says the rest.

B := build
CC ?= cc
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
STD := -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D_FILE_OFFSET_BITS=64
INC := -I. -I$(B)
LIBS := -lprotobuf-c -lm
PREFIX ?= /usr/local

# The rooms. compiler/main.c is the program; everything else is libdnncc.a, which the unit tests link too.
ROOMS := base ir passes codegen codegen/targets compiler compiler/import
SOURCES := $(sort $(foreach r,$(ROOMS),$(wildcard $(r)/*.c)))
OBJECTS := $(patsubst %.c,$(B)/obj/%.o,$(filter-out compiler/main.c,$(SOURCES))) $(B)/obj/onnx.pb-c.o
GENERATED := $(B)/onnx.pb-c.h $(B)/library.inc

all: $(B)/dnncc

$(B)/dnncc: $(B)/obj/compiler/main.o $(B)/libdnncc.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libdnncc.a: $(OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/obj/%.o: %.c $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -MMD -MP -c -o $@ $<

$(B)/obj/onnx.pb-c.o: $(B)/onnx.pb-c.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CFLAGS) $(INC) -w -c -o $@ $<

$(B)/onnx.pb-c.c $(B)/onnx.pb-c.h &: compiler/import/onnx.proto
	@mkdir -p $(B)
	protoc-c --c_out=$(B) -Icompiler/import compiler/import/onnx.proto
$(B)/obj/onnx.pb-c.o: $(B)/onnx.pb-c.h

# The library of math functions travels inside the program, as C string literals.
$(B)/library.inc: ir/library.loop
	@mkdir -p $(B)
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

.PHONY: all
