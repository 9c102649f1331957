# SPDX-License-Identifier: MIT
# dnncc. `make` builds build/dnncc; `make demo` shows it at work; `make check` tests it. README.md says the rest.

B := build
CC ?= cc
CFLAGS ?= -O2
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
STD := -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D_DARWIN_C_SOURCE -D_FILE_OFFSET_BITS=64
INC := -I. -I$(B)
LIBS := -lprotobuf-c -lz -lm
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# JOBS=mpi: tests are pieces for mpirun (docs/many-machines.md), whose flags are MPIRUN_FLAGS; the rest takes the cores that there are
ifeq ($(JOBS),mpi)
override JOBS := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
FARM := yes
endif

# The rooms. compiler/main.c and compiler/vta/main.c are the programs; everything else is libdnncc.a, which the unit tests link too.
ROOMS := base ir $(addprefix ir/,target tensor adjoint loop library interp lower) cost schedule kernels passes $(addprefix passes/,simplify microbatch layout fuse vectorize memory calibrate quantize requantize) \
         $(addprefix engines/,scalar words vector tile grid stream commands) front front/compose front/onnx front/tflite front/gguf front/caffe front/tensorflow \
         codegen codegen/targets codegen/llvm codegen/machines codegen/vta codegen/unified codegen/sections compiler compiler/export compiler/vta
SOURCES := $(filter-out compiler/farm_mpi.c,$(sort $(foreach r,$(ROOMS),$(wildcard $(r)/*.c))))
# what POSIX has and Windows has not; five files have others in their place
ifneq ($(filter windows w64,$(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null))),)
SOURCES := $(filter-out compiler/process.c compiler/farm_line.c compiler/farm_enter.c base/beneath.c base/private.c,$(SOURCES)) $(wildcard windows/*.c)
INC += -Iwindows -include windows/posix.h
endif
# LLVM's headers, where they are and dnncc is built for this system; dnncc loads the library when it is wanted (codegen/llvm/).
# LLVM= builds without it.
ifneq ($(filter $(shell uname -m)-%linux-gnu,$(shell $(CC) -dumpmachine 2>/dev/null)),)
LLVM ?= $(firstword $(foreach v,14 15 16 19,$(wildcard /usr/lib/llvm-$v/include)) $(shell llvm-config --includedir 2>/dev/null))
COST := $(B)/libdnncc_cost.a
all: $(COST)
# What carries messages for dnncc under mpirun and srun (docs/many-machines.md), where there is MPI. MPICC= builds without it.
MPICC ?= $(shell command -v mpicc 2>/dev/null)
endif
ifneq ($(MPICC),)
MPI := $(B)/dnncc-mpi
all: $(MPI)
endif
ifneq ($(and $(LLVM),$(wildcard $(LLVM)/llvm-c/LLJIT.h)),)
SOURCES := $(filter-out codegen/llvm/llvm_absent.c,$(SOURCES))
$(B)/obj/codegen/llvm/%.o: INC += -isystem $(LLVM)
LIBS += -ldl -lpthread
JITTED := $(B)/obj/runtime/threads.o $(B)/obj/runtime/trace.o       # what code in this process calls
JIT := $(B)/libdnncc_jit.a
all: $(JIT) $(B)/libdnncc_jit.so
PIC := -fPIC -fno-semantic-interposition    # for the latter; in a program the linker leaves none of it
COMPILED := $(B)/obj/.pic                   # objects are older than this where they were compiled without
else
SOURCES := $(filter-out codegen/llvm/%,$(SOURCES)) codegen/llvm/llvm_absent.c
endif
# formats whose messages protoc-c makes code of: front/NAME/NAME.proto
PROTOS := onnx caffe tensorflow
OBJECTS := $(patsubst %.c,$(B)/obj/%.o,$(filter-out compiler/main.c compiler/vta/main.c,$(SOURCES))) $(PROTOS:%=$(B)/obj/%.pb-c.o) $(JITTED)
GENERATED := $(PROTOS:%=$(B)/%.pb-c.h) $(B)/library.inc $(B)/report_page.inc $(B)/harness_main.inc $(B)/runtime_header.inc $(B)/runtime_trace.inc $(B)/runtime_threads.inc $(B)/sources.inc
UNIT := $(patsubst test/unit/%.c,$(B)/unit/%,$(sort $(wildcard test/unit/*_test.c)))
DEPENDENCIES = $(shell find $(B)/obj $(B)/unit -name '*.d' 2>/dev/null)

.PHONY: all static setup python systems systems-packages cuda browser samples torch install uninstall demo demo-vta check check-quick check-all check-unit check-random check-docs check-python check-farm conformance asan fuzz bless format bench bench-setup \
        boards bench-cuda bench-interp bench-threads bench-compile bench-operators bench-jit bench-train fit-cost zoo-digest docs clean
.DEFAULT_GOAL := all
# A command is said in short, `CC ir/loop/loop.c`; with V=1 as it is, with -s not at all.
SILENT := $(findstring s,$(filter-out -%,$(firstword $(MAKEFLAGS))))
Q := $(if $(V),,@)
say = $(if $(V)$(SILENT),,$(info $1 $2))
.DELETE_ON_ERROR:

# ---- set-up: packages of Debian by purpose (packages.sh), and Python for the tests ----

VENV := $(B)/venv
PY := $(VENV)/bin/python
PYTHON_PACKAGES := onnx==1.22.0 onnxruntime==1.32.0 numpy==2.4.6 pytest==9.2.0 pytest-xdist==3.8.0

# After what installs something there is one recursive make, so that its variables see what was installed.
setup: $(B)/.packages-build
# tests decode images, too
PURPOSES_check := check image
.PRECIOUS: $(B)/.packages-%
$(B)/.packages-%: packages.sh
	@mkdir -p $(B)
	@CC="$(CC)" LOG=$@.log sh packages.sh $(or $(PURPOSES_$*),$*)
	@touch $@
# one after another: apt-get waits for no other one
$(B)/.packages-python: | $(B)/.packages-build
$(B)/.packages-check: | $(B)/.packages-python

python: $(B)/.python
$(B)/.python: | $(B)/.packages-python
	@echo "python: $(PYTHON_PACKAGES)"
	@test -x $(PY) || python3 -m venv $(VENV)
	@$(VENV)/bin/pip install -q --disable-pip-version-check $(PYTHON_PACKAGES)
	@$(VENV)/bin/pip install -q --disable-pip-version-check ai-edge-litert==2.3.0 || $(SKIPPED)
	@$(VENV)/bin/pip install -q --disable-pip-version-check gguf==0.19.0 || $(SKIPPED)
	@$(VENV)/bin/pip install -q --disable-pip-version-check opencv-python-headless==4.14.0.94 || $(SKIPPED)
	@touch $@

# What some tests want and can do without: they are skipped where it is not.
SKIPPED := echo "the tests that need them are skipped"
# Compilers for other systems, an emulator of one and what makes a fresh one, and shells (check-all).
systems-packages: $(B)/.systems $(B)/.others
$(B)/.others: python/libraries.sh packages.sh | $(B)/.systems
	@LOG=$@.log sh packages.sh systems && \
	    sh $< $(B)/windows "$(abspath $(PY)) -m ziglang cc -target x86_64-windows-gnu" "$(abspath $(PY)) -m ziglang ar" || $(SKIPPED)
	@touch $@
$(B)/.systems: packages.sh | python
	@$(VENV)/bin/pip install -q --disable-pip-version-check ziglang==0.17.1 onnx-ir==1.1.0 skl2onnx==1.20.0 mypy==2.4.1
	@LOG=$@.log sh packages.sh riscv mpi || $(SKIPPED)
	@touch $@

# Compilers and emulators of the boards of test/boards, beside those that `check` installs.
$(B)/.boards: packages.sh | $(B)/.packages-check
	@LOG=$@.log sh packages.sh boards || echo "boards: what is missing is named"
	@touch $@

# `make demo` and `make check` whole, on a Debian that has git, make and certificates: half an hour
systems: systems-packages
	python3 test/systems/bare.py

# nvcc, for the tests that ask it about CUDA C, where PATH has none: 9 s, 330 MB. `check` does not make it.
CUDA_WHEELS := $(foreach w,cuda-nvcc cuda-runtime cuda-crt nvvm cuda-cuobjdump cuda-nvdisasm,nvidia-$w==13.2.*)
cuda: $(B)/.cuda
$(B)/.cuda: | $(B)/.packages-python
	@if command -v nvcc >/dev/null; then :; else \
	    { test -x $(B)/cuda-venv/bin/pip || python3 -m venv $(B)/cuda-venv; } && \
	    $(B)/cuda-venv/bin/pip install -q --disable-pip-version-check $(CUDA_WHEELS) || echo "no nvcc: the tests that need it are skipped"; fi
	@touch $@

# The page of --report is looked at with this.
browser: $(B)/.browser
$(B)/.browser: | setup
	@LOG=$@.log sh packages.sh page || $(SKIPPED)
	@touch $@

# Pictures and a table that come with scikit-image and scikit-learn, Pillow to read pictures, and a voice: for the tests of examples/.
SAMPLES := pillow==13.0.0 scikit-image==0.26.0 scikit-learn==1.9.1
samples: $(B)/.samples
$(B)/.samples: | python
	@$(VENV)/bin/pip install -q --disable-pip-version-check --no-deps --upgrade --target $(B)/samples $(SAMPLES) || \
	    echo "no samples: the tests that need them are skipped"
	@LOG=$@.log sh packages.sh voice || $(SKIPPED)
	@touch $@

# PyTorch and its exporter, 5 GB: test/operators/test_torch.py compares with it. No tier installs it.
torch: $(B)/.torch
$(B)/.torch: | python
	@$(VENV)/bin/pip install -q --disable-pip-version-check torch==2.15.0 onnxscript==0.7.2 || $(SKIPPED)
	@touch $@

# ---- the compiler ----

all: $(B)/dnncc $(B)/dnncc-vta $(B)/libdnncc_vta.a $(B)/libdnncc_unified.a $(B)/libdnncc_runtime.a $(B)/libdnncc_runtime.so

$(B)/dnncc: $(B)/obj/compiler/main.o $(B)/libdnncc.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The one program that is linked with MPI. Its compiler is MPI's own, and what that leaves behind is not for sanitizers.
$(B)/dnncc-mpi: compiler/farm_mpi.c compiler/farm_frame.h
	@mkdir -p $(B)
	$(call say,MPICC,$<)
	$(Q)$(MPICC) $(STD) $(WARN) $(filter-out -fsanitize% -fno-sanitize%,$(CFLAGS)) -I. -o $@ $<

# what runs programs for an accelerator: docs/accelerators.md
$(B)/dnncc-vta: $(B)/obj/compiler/vta/main.o $(B)/libdnncc.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# ... and the same for generated code: devices (runtime/dnncc_vta.h, runtime/dnncc_unified.h)
$(B)/libdnncc_vta.a $(B)/libdnncc_unified.a: $(B)/libdnncc_%.a: $(filter $(B)/obj/base/% $(B)/obj/codegen/machines/%,$(OBJECTS))
$(foreach m,vta unified,$(eval $(B)/libdnncc_$m.a: $(filter $(B)/obj/codegen/$m/%,$(OBJECTS))))
$(B)/libdnncc_vta.a $(B)/libdnncc_unified.a:
	@rm -f $@
	@$(AR) rcs $@ $^

# The compiler in a library, for programs that load models (runtime/dnncc_jit.h): one object, whose names but those of the header are its own.
# Threads are those of libdnncc_runtime, which generated code in the program shares.
$(B)/libdnncc_jit.a: $(filter-out $(JITTED) %/cost_library.o,$(OBJECTS))
$(B)/libdnncc_jit.a: NAMES := load load_memory describe entry state run free
# ... or what models cost (runtime/dnncc_cost.h): nothing that runs one is in it
$(B)/libdnncc_cost.a: $(filter-out $(JITTED) %/jit_library.o $(B)/obj/codegen/llvm/%,$(OBJECTS)) $(B)/obj/codegen/llvm/llvm_absent.o
$(B)/libdnncc_cost.a: NAMES := cost cost_memory cost_free
$(B)/libdnncc_jit.a $(B)/libdnncc_cost.a: $(B)/libdnncc_%.a:
	$(call say,AR,$@)
	@$(CC) -r -nostdlib -o $(B)/$*.o $^
	@objcopy $(addprefix --keep-global-symbol=dnncc_,$(NAMES)) $(B)/$*.o
	@rm -f $@
	@$(AR) rcs $@ $(B)/$*.o
# the same for Python, which loads libdnncc_runtime.so for all models
$(B)/libdnncc_jit.so: $(B)/libdnncc_jit.a $(B)/libdnncc_runtime.so
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-rpath,'$$ORIGIN' -o $@ $(B)/jit.o -L$(B) $(LDFLAGS) -ldnncc_runtime $(LIBS)

# one file that needs no library of the system that it runs on, and loads none: LLVM is not for it
static: $(B)/dnncc-static
$(B)/dnncc-static: $(B)/obj/compiler/main.o $(B)/obj/codegen/llvm/llvm_absent.o $(B)/libdnncc.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static -o $@ $^ $(LIBS)

$(B)/libdnncc.a: $(OBJECTS)
	@rm -f $@
	@$(AR) rcs $@ $^

$(B)/obj/%.o: %.c $(COMPILED) | $(GENERATED) $(B)/obj/.folders
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(PIC) $(INC) -MMD -MP -c -o $@ $<

$(PROTOS:%=$(B)/obj/%.pb-c.o): $(B)/obj/%.o: $(B)/%.c $(COMPILED) | $(B)/obj/.folders
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(CFLAGS) $(PIC) $(INC) -w -c -o $@ $<

$(B)/obj/.pic:
	@mkdir -p $(@D)
	@touch $@
$(B)/obj/.folders: Makefile                # which names the rooms
	@mkdir -p $(sort $(dir $(OBJECTS))) $(B)/obj/runtime
	@touch $@

define protoc
$(B)/$1.pb-c.c $(B)/$1.pb-c.h &: front/$1/$1.proto
	@mkdir -p $(B)
	$$(call say,PROTOC,$$<)
	$(Q)protoc-c --c_out=$(B) -Ifront/$1 $$<
$(B)/obj/$1.pb-c.o: $(B)/$1.pb-c.h
endef
$(foreach p,$(PROTOS),$(eval $(call protoc,$p)))

# The library of math functions travels inside the program, as C string literals; callees first.
LIBRARY := $(patsubst %,ir/library/%.loop,arithmetic exponential trigonometric power bits multiply)
$(B)/library.inc: $(LIBRARY)
	@mkdir -p $(B)
	$(call say,TEXT,$@)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $(LIBRARY) > $@

# A digest of all that dnncc is made of, by which --cache knows its own.
$(B)/sources.inc: Makefile $(foreach r,$(ROOMS) runtime,$(wildcard $(r)/*.c $(r)/*.h $(r)/*.def $(r)/*.loop $(r)/*.proto))
	@mkdir -p $(B)
	@cat $^ | { sha256sum 2>/dev/null || shasum -a 256; } | sed 's/^\([0-9a-f]*\).*/"\1"/' > $@
$(B)/obj/compiler/cache.o: $(B)/sources.inc

# and the page that --report fills in, a string for each line: its parts in the order in which they stand there;
# and the program that --tune and --bench compile
# (those of the tabs in any: they only say what is done when a tab is shown)
PAGE_TABS := $(filter-out %/base.js %/tabs.js %/start.js,$(sort $(wildcard compiler/page/*.js)))
PAGE := $(addprefix compiler/page/,head.html style.css body.html base.js tabs.js) $(PAGE_TABS) $(addprefix compiler/page/,start.js tail.html)
$(B)/report_page.inc: $(PAGE)
$(B)/harness_main.inc: compiler/harness/main.c
$(B)/runtime_header.inc: runtime/dnncc_runtime.h
$(B)/runtime_trace.inc: runtime/trace.c
$(B)/runtime_threads.inc: runtime/threads.c
$(B)/report_page.inc $(B)/harness_main.inc $(B)/runtime_header.inc $(B)/runtime_trace.inc $(B)/runtime_threads.inc:
	@mkdir -p $(B)
	$(call say,TEXT,$@)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n",/' $^ > $@

# What generated code may link to; a library of its own, for programs that know nothing of the compiler.
$(B)/libdnncc_runtime.a: $(B)/obj/runtime/threads.o $(B)/obj/runtime/memory.o $(B)/obj/runtime/trace.o
	@rm -f $@
	@$(AR) rcs $@ $^
# the same for programs that load models, all of which share its threads: Python's
$(B)/libdnncc_runtime.so: runtime/threads.c runtime/memory.c runtime/trace.c runtime/dnncc_runtime.h
	@mkdir -p $(B)
	$(call say,LD,$@)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -fPIC -shared -o $@ runtime/threads.c runtime/memory.c runtime/trace.c $(LDFLAGS) -lpthread
# What decodes images for generated code, where the five libraries are that do it (packages.sh image).
IMAGE_HEADERS := stdio.h jpeglib.h png.h tiffio.h webp/decode.h openjpeg.h
IMAGE_INC := $(shell pkg-config --cflags libopenjp2 2>/dev/null)
IMAGE_LIBS := -ljpeg -lpng -ltiff -lwebp -lopenjp2
# -include, because a number sign in a shell function is not the same for every make
ifneq ($(shell $(CC) $(IMAGE_INC) $(addprefix -include ,$(IMAGE_HEADERS)) -E -x c /dev/null >/dev/null 2>&1 && echo yes),)
IMAGE := $(B)/libdnncc_image.a $(B)/libdnncc_image.so
all: $(IMAGE)
endif
$(B)/obj/runtime/image.o: INC += $(IMAGE_INC)
$(B)/libdnncc_image.a: $(B)/obj/runtime/image.o
	@rm -f $@
	@$(AR) rcs $@ $^
$(B)/libdnncc_image.so: runtime/image.c runtime/dnncc_image.h
	@mkdir -p $(B)
	$(call say,LD,$@)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) $(IMAGE_INC) -fPIC -shared -o $@ runtime/image.c $(LDFLAGS) $(IMAGE_LIBS)
# Products for generated code (--libraries=blas:always), where there is a CBLAS (packages.sh blas).
BLAS_INC := $(shell pkg-config --cflags openblas 2>/dev/null || pkg-config --cflags blas 2>/dev/null)
BLAS_LIBS := $(shell pkg-config --libs openblas 2>/dev/null || pkg-config --libs blas 2>/dev/null || echo -lblas)
ifneq ($(shell $(CC) $(BLAS_INC) -include cblas.h -E -x c /dev/null >/dev/null 2>&1 && echo yes),)
BLAS := $(B)/libdnncc_blas.a
all: $(BLAS)
endif
$(B)/obj/runtime/blas.o: INC += $(BLAS_INC)
$(B)/libdnncc_blas.a: $(B)/obj/runtime/blas.o
	@rm -f $@
	@$(AR) rcs $@ $^
# what names the version or the place
FILL = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@BLAS_LIBS@|$(BLAS_LIBS)|' -e "s|@VERSION@|$$(sed -n 's/.*DNNCC_VERSION "\(.*\)"/\1/p' compiler/options.h)|" $< > $@
$(B)/dnncc-runtime.pc $(B)/dnncc-jit.pc $(B)/dnncc-cost.pc $(B)/dnncc-blas.pc: $(B)/%.pc: runtime/%.pc.in FORCE
	@$(FILL)
$(B)/dnncc-config-version.cmake: cmake/dnncc-config-version.cmake.in FORCE
	@$(FILL)
FORCE:                                  # PREFIX may be another one each time

# What goes where under PREFIX: source>place. share/dnncc/runtime is for cross builds (cmake/dnncc-config.cmake).
PROGRAMS := $(B)/dnncc>bin/dnncc $(B)/dnncc-vta>bin/dnncc-vta $(if $(MPI),$(B)/dnncc-mpi>lib/dnncc/dnncc-mpi)
EXAMPLES := $(filter-out %/__pycache__,$(wildcard examples/*.* examples/Makefile examples/*/*))
FILES := runtime/dnncc_runtime.h>include/dnncc_runtime.h runtime/dnncc.hpp>include/dnncc.hpp $(B)/libdnncc_runtime.a>lib/libdnncc_runtime.a \
         $(foreach m,vta unified,runtime/dnncc_$m.h>include/dnncc_$m.h $(B)/libdnncc_$m.a>lib/libdnncc_$m.a) \
         $(if $(IMAGE),runtime/dnncc_image.h>include/dnncc_image.h $(B)/libdnncc_image.a>lib/libdnncc_image.a) \
         $(if $(BLAS),runtime/dnncc_blas.h>include/dnncc_blas.h $(B)/libdnncc_blas.a>lib/libdnncc_blas.a $(B)/dnncc-blas.pc>lib/pkgconfig/dnncc-blas.pc) \
         $(if $(COST),runtime/dnncc_cost.h>include/dnncc_cost.h $(B)/libdnncc_cost.a>lib/libdnncc_cost.a $(B)/dnncc-cost.pc>lib/pkgconfig/dnncc-cost.pc) \
         $(if $(JIT),runtime/dnncc_jit.h>include/dnncc_jit.h $(B)/libdnncc_jit.a>lib/libdnncc_jit.a $(B)/dnncc-jit.pc>lib/pkgconfig/dnncc-jit.pc) \
         $(B)/dnncc-runtime.pc>lib/pkgconfig/dnncc-runtime.pc \
         cmake/dnncc-config.cmake>lib/cmake/dnncc/dnncc-config.cmake \
         $(B)/dnncc-config-version.cmake>lib/cmake/dnncc/dnncc-config-version.cmake \
         $(foreach f,threads.c memory.c trace.c dnncc_runtime.h,runtime/$f>share/dnncc/runtime/$f) \
         docs/dnncc-schedule.5>share/man/man5/dnncc-schedule.5 docs/dnncc-ir.5>share/man/man5/dnncc-ir.5 \
         docs/dnncc.1>share/man/man1/dnncc.1 docs/dnncc-vta.1>share/man/man1/dnncc-vta.1 \
         $(B)/completion.bash>share/bash-completion/completions/dnncc \
         $(B)/completion.zsh>share/zsh/site-functions/_dnncc \
         $(B)/completion.fish>share/fish/vendor_completions.d/dnncc.fish \
         $(B)/completion-vta.bash>share/bash-completion/completions/dnncc-vta \
         $(B)/completion-vta.zsh>share/zsh/site-functions/_dnncc-vta \
         $(B)/completion-vta.fish>share/fish/vendor_completions.d/dnncc-vta.fish \
         $(B)/editor/vim-dnn>share/vim/vimfiles/syntax/dnn.vim $(B)/editor/vim-loops>share/vim/vimfiles/syntax/loops.vim \
         $(B)/editor/vim-detect>share/vim/vimfiles/ftdetect/dnncc.vim $(B)/editor/extension>share/dnncc/vscode/package.json \
         $(B)/editor/dnn>share/dnncc/vscode/dnn.tmLanguage.json $(B)/editor/loops>share/dnncc/vscode/loops.tmLanguage.json \
         $(foreach f,$(EXAMPLES),$f>share/dnncc/$f) \
         $(foreach f,README.md LICENSE $(sort $(wildcard docs/*.md)),$f>share/doc/dnncc/$(notdir $f))
OWN_FOLDERS := lib/dnncc lib/cmake/dnncc share/dnncc/runtime share/dnncc/vscode \
               $(sort $(foreach f,$(wildcard examples/*/.),share/dnncc/$(f:/.=))) share/dnncc/examples share/dnncc share/doc/dnncc
TOP := $(DESTDIR)$(PREFIX)
source_of = $(firstword $(subst >, ,$1))
place_of = $(TOP)/$(lastword $(subst >, ,$1))
define line

	$1
endef

install: all $(foreach f,$(PROGRAMS) $(FILES),$(call source_of,$f))
	$(foreach f,$(PROGRAMS),$(call line,install -D -m 755 $(call source_of,$f) "$(call place_of,$f)"))
	$(foreach f,$(FILES),$(call line,@install -D -m 644 $(call source_of,$f) "$(call place_of,$f)"))
	@echo "installed in $(TOP): $(words $(PROGRAMS) $(FILES)) files"
uninstall:
	@rm -f $(foreach f,$(PROGRAMS) $(FILES),"$(call place_of,$f)")
	@for d in $(OWN_FOLDERS); do [ ! -d "$(TOP)/$$d" ] || rmdir --ignore-fail-on-non-empty "$(TOP)/$$d"; done
	@echo "removed from $(TOP)"

# A Debian package, which lintian accepts: build/dnncc_VERSION_ARCHITECTURE.deb.
DEB := $(abspath $(B))/deb
.PHONY: deb
deb: all
	@rm -rf $(DEB)
	@$(MAKE) --no-print-directory --silent install DESTDIR=$(DEB) PREFIX=/usr >/dev/null
	@sh deb.sh $(DEB) $$(sed -n 's/.*DNNCC_VERSION "\(.*\)"/\1/p' compiler/options.h) $(abspath $(B))

# syntax files of Vim, grammars of VS Code
$(B)/editor/%: $(B)/editor/print
	@$< $(notdir $@) > $@
$(B)/editor/print: docs/editor.c $(B)/libdnncc.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -o $@ $< $(B)/libdnncc.a $(LDFLAGS) $(LIBS)

$(B)/completion.%: $(B)/completion
	@$(B)/completion dnncc $* > $@
$(B)/completion-vta.%: $(B)/completion
	@$(B)/completion dnncc-vta $* > $@
$(B)/completion: docs/completion.c $(B)/libdnncc.a
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -o $@ $< $(B)/libdnncc.a $(LDFLAGS) $(LIBS)

# The Python package with compiler and runtime inside: build/dist/dnncc-VERSION-py3-none-manylinux_2_34_x86_64.whl on Debian 12. It needs
# nothing that a system without compilers lacks: protobuf-c and zlib are linked in.
WHEEL := $(B)/wheel
WHEEL_LIBRARIES := $(WHEEL)/libdnncc_runtime.so $(if $(JIT),$(WHEEL)/libdnncc_jit.so)
.PHONY: wheel wheels
wheel: all python $(JIT:%.a=$(WHEEL)/libdnncc_jit.so)
	@rm -rf $(B)/dist
	@mkdir -p $(WHEEL)/licences
	cp /usr/share/doc/libprotobuf-c-dev/copyright $(WHEEL)/licences/LICENSE.protobuf-c
	cp /usr/share/doc/zlib1g-dev/copyright $(WHEEL)/licences/LICENSE.zlib
	$(CC) $(CFLAGS) $(LDFLAGS) -o $(WHEEL)/dnncc $(B)/obj/compiler/main.o $(B)/libdnncc.a -l:libprotobuf-c.a -l:libz.a -lm
	cp $(B)/libdnncc_runtime.so $(WHEEL)
	strip $(WHEEL)/dnncc $(WHEEL_LIBRARIES)
	sh python/wheel.sh $(WHEEL)/package $(WHEEL)/dnncc "$(WHEEL_LIBRARIES)" $(WHEEL)/licences $(VENV)/bin/pip
	@ls -l $(B)/dist

$(WHEEL)/libdnncc_jit.so: $(JIT) $(B)/libdnncc_runtime.so
	@mkdir -p $(WHEEL)
	$(CC) $(CFLAGS) -shared -Wl,-rpath,'$$ORIGIN' -Wl,--exclude-libs,ALL -o $@ $(B)/jit.o -L$(B) $(LDFLAGS) -ldnncc_runtime -l:libprotobuf-c.a -l:libz.a -lm -ldl -lpthread

# Wheels for other systems in build/wheels, by a cross compiler (ziglang): make wheels, or one: make wheel-macosx_11_0_arm64. A row is the wheel's
# tag, the compiler's name of the system, and the program's name there.
WHEELS := manylinux_2_28_x86_64=x86_64-linux-gnu.2.28=dnncc manylinux_2_28_aarch64=aarch64-linux-gnu.2.28=dnncc \
          macosx_11_0_x86_64=x86_64-macos.11.0=dnncc macosx_11_0_arm64=aarch64-macos.11.0=dnncc \
          win_amd64=x86_64-windows-gnu=dnncc.exe win_arm64=aarch64-windows-gnu=dnncc.exe
ZIG := $(abspath $(PY)) -m ziglang
WHEEL_NAMES := $(foreach w,$(WHEELS),wheel-$(word 1,$(subst =, ,$w)))
.PHONY: $(WHEEL_NAMES)
wheels: $(WHEEL_NAMES)
$(WHEEL_NAMES): wheel-%: $(B)/.systems
	@set -e; row=$(filter $*=%,$(WHEELS)); system=$${row#*=}; program=$${system#*=}; system=$${system%=*}; to=$(abspath $(B))/cross/$*; \
	SOURCES=$(B)/cross/source sh python/libraries.sh $$to "$(ZIG) cc -target $$system" "$(ZIG) ar"; \
	library=; case $* in *linux*) library=$$to/libdnncc_runtime.so;; esac; \
	$(MAKE) --no-print-directory -j$(JOBS) B=$$to "CC=$(ZIG) cc -target $$system" "AR=$(ZIG) ar" "CFLAGS=-O2 -isystem $$to/include" \
	    "LDFLAGS=-s -L$$to/lib" $$to/dnncc $$library >$$to/log 2>&1 || { tail -20 $$to/log; exit 1; }; \
	[ -f $$to/$$program ] || mv $$to/dnncc $$to/$$program; \
	DNNCC_WHEEL_TAG=$* sh python/wheel.sh $$to/package $$to/$$program "$$library" $$to $(abspath $(VENV))/bin/pip $(B)/wheels; \
	ls -l $(B)/wheels/*-$*.whl

# ---- showing and testing ----

demo: setup
	@$(MAKE) --no-print-directory -j$(JOBS) $(B)/dnncc
	@$(MAKE) --no-print-directory run-demo

# the same digits on an accelerator, which is simulated
demo-vta: setup
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@$(MAKE) --no-print-directory -C examples/vta
	@$(B)/examples/vta

D := $(B)/digits
.PHONY: run-demo
run-demo:
	@mkdir -p $(D)
	$(B)/dnncc examples/digits/digits.onnx -o $(D)/digits.c
	$(CC) -std=c99 -O2 -Wall -Wextra -I$(D) examples/digits/main.c $(D)/digits.c -o $(D)/digits
	@echo
	@$(D)/digits
	@echo "sizes: model $$(stat -c %s examples/digits/digits.onnx) bytes, digits.c $$(stat -c %s $(D)/digits.c) bytes;" \
	      "compiled:" && $(CC) -std=c99 -Os -c $(D)/digits.c -o $(D)/digits.o && size $(D)/digits.o
	@printf '%s\n' '' 'Next, with a model of your own:' '' \
	    '    $(B)/dnncc model.onnx --info                   # what is in it, what is missing, the command that compiles it' \
	    '    $(B)/dnncc model.onnx -o model.c               # writes model.c and model.h, which says how it is called' \
	    '    $(B)/dnncc model.onnx --target=native --bench  # how fast it is here' \
	    '    make install                                   # the compiler, its manual pages, packages for CMake and pkg-config' \
	    '' 'README.md has whole programs in C, Python and CMake; docs/user-guide.md says the rest.'

# Three tiers: quick (3 minutes on two cores), check (under 25), all (everything; before something is called done).
check check-quick check-all: $(B)/.packages-check
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@$(MAKE) --no-print-directory -j1 python browser samples
	@$(MAKE) --no-print-directory --keep-going TIER=$(@:check-%=%) $(if $(FARM),check-farm,check-unit check-python) check-docs $(MORE)
check-all: MORE = $(if $(FARM),,check-random) asan fuzz
check-all: systems-packages $(B)/.boards $(B)/.site
TIER := check

# each with what it says in a file; what fails is shown
check-unit: $(UNIT)
	@printf '%s\n' $(notdir $(UNIT)) | xargs -P $(JOBS) -I{} sh -c \
	    'if $(B)/unit/{} >$(B)/unit/{}.log 2>&1; then echo "unit: {} passed"; else cat $(B)/unit/{}.log; echo "unit: {} FAILED"; exit 1; fi'

# ten thousand random programs, of which check-unit runs the first three thousand; two thousand random streams, of which it runs a hundred;
# ten thousand graphs whose contractions are joined, of which it runs four hundred
check-random: $(B)/unit/random_passes_test $(B)/unit/stream_test $(B)/unit/joined_test
	$(B)/unit/random_passes_test 10000
	$(B)/unit/stream_test 2000
	$(B)/unit/joined_test 10000

$(B)/unit/%: test/unit/%.c $(B)/libdnncc.a $(B)/libdnncc_runtime.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -MMD -MP -o $@ $< $(B)/libdnncc.a $(B)/libdnncc_runtime.a $(LDFLAGS) -lcmocka \
	    $(LIBS) -lpthread

# the compiler for machines that tests make up
$(B)/machines: test/targets/machines.c $(B)/libdnncc.a
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -o $@ $< $(B)/libdnncc.a $(LDFLAGS) $(LIBS)
# and what observers make of a file of ranges
$(B)/observe: test/quantize/observe.c $(B)/libdnncc.a
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -o $@ $< $(B)/libdnncc.a $(LDFLAGS) $(LIBS)

PYTEST := $(PY) -m pytest -q -p no:cacheprovider -n $(JOBS) --dist=worksteal
# every folder that has some
PYTHON_TESTS := $(sort $(dir $(wildcard test/*/test_*.py)))
export ONNX_MODELS := $(abspath $(B))/onnx_models
check-python: $(B)/machines $(B)/observe
	$(PYTEST) --tier=$(TIER) $(PYTHON_TESTS)

# The same in many processes, each of which runs one unit test, one file of Python's, or random programs.
MPIRUN ?= mpirun
MPIRUN_FLAGS ?=
RANDOM_TESTS := random_passes_test=10000 stream_test=2000 joined_test=10000
check-farm: $(B)/machines $(B)/observe $(UNIT) $(B)/dnncc-run-tests
	@{ printf '%s\n' $(UNIT); \
	   $(if $(filter all,$(TIER)),printf '%s\n' $(foreach t,$(RANDOM_TESTS),'$(B)/unit/$(subst =, ,$t)');) \
	   for f in $(wildcard test/*/test_*.py); do \
	       echo "ONNX_MODELS=$(ONNX_MODELS) $(PY) -m pytest -q -p no:cacheprovider --tier=$(TIER) $$f || test \$$? = 5"; done; } > $(B)/tests.list
	$(if $(FARM),$(MPIRUN) $(MPIRUN_FLAGS) $(B)/dnncc-run-tests $(B)/tests.list,$(B)/dnncc-run-tests $(B)/tests.list $(JOBS))
$(B)/dnncc-run-tests: test/farm/run_tests.c $(B)/libdnncc.a
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -o $@ $< $(B)/libdnncc.a $(LDFLAGS) $(LIBS)

conformance: setup
	@$(MAKE) --no-print-directory -j$(JOBS) all python
	$(PYTEST) test/conformance --write-score docs/conformance.md $(CONFORMANCE_FLAGS)

# The compiler and its unit tests under ASan and UBSan, by gcc and by clang, in folders of their own; with them the tests
# of the driver, the golden texts and the hostile inputs.
SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
asan: $(B)/.packages-check
	@$(MAKE) --no-print-directory python
	@for cc in gcc clang; do \
	    $(MAKE) --no-print-directory -j$(JOBS) CC=$$cc B=$(B)/asan-$$cc CFLAGS="$(SANITIZE)" all $(B)/asan-$$cc/observe check-unit && \
	    DNNCC=$(abspath $(B))/asan-$$cc/dnncc $(PYTEST) test/driver test/golden test/quantize test/hostile test/fuzz test/vta test/sections || exit 1; \
	done

# Programs of libFuzzer that look for inputs which the compiler does not survive (test/fuzz). Each runs FUZZ_RUNS times, on one
# core; what it finds stands in build/fuzz/found.
FUZZ := import text compile gguf tflite caffe tensorflow
FUZZ_RUNS ?= 100000
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_SEEDS := $(B)/fuzz/seeds
fuzz: $(B)/.packages-check
	@$(MAKE) --no-print-directory -j$(JOBS) all python
	@$(MAKE) --no-print-directory -j$(JOBS) CC=clang B=$(B)/fuzz CFLAGS="$(FUZZ_FLAGS)" $(FUZZ:%=$(B)/fuzz/fuzz_%)
	@$(PY) test/fuzz/seeds.py $(B)/dnncc $(FUZZ_SEEDS)
	@mkdir -p $(B)/fuzz/found
	@printf '%s\n' $(FUZZ) | xargs -P $(JOBS) -I{} sh -c \
	    'mkdir -p $(B)/fuzz/corpus/{} && $(B)/fuzz/fuzz_{} -runs=$(FUZZ_RUNS) $(FUZZ_LIMITS) $(B)/fuzz/corpus/{} $(FUZZ_SEEDS)/{} \
	     >$(B)/fuzz/{}.log 2>&1; code=$$?; tail -3 $(B)/fuzz/{}.log; exit $$code'
# Seconds of a run, megabytes; messages of the compiler are not shown.
FUZZ_LIMITS := -timeout=20 -rss_limit_mb=4096 -malloc_limit_mb=1024 -max_len=8192 -close_fd_mask=3 -detect_leaks=0 -entropic=0 -print_final_stats=1 \
               -artifact_prefix=$(B)/fuzz/found/
$(B)/fuzz_%: test/fuzz/fuzz_%.c $(B)/libdnncc.a $(wildcard test/fuzz/*.h) test/fuzz/fuzz_run.c test/fuzz/mutate.c
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -fsanitize=fuzzer -Wl,--wrap=exit,--wrap=loop_library_new -o $@ $< test/fuzz/fuzz_run.c test/fuzz/mutate.c \
	    $(B)/libdnncc.a $(LDFLAGS) $(LIBS)

bless: setup
	@$(MAKE) --no-print-directory -j$(JOBS) all python docs
	BLESS=1 $(PY) -m pytest -q -p no:cacheprovider test/golden
	@$(MAKE) --no-print-directory conformance CONFORMANCE_FLAGS=--bless

# The documents as pages, with search: build/site/VERSION/index.html; what was made of other versions stays beside it.
SITE_PACKAGES := sphinx==9.0.4 myst-parser==5.2.0 furo==2025.12.19
.PHONY: site
site: $(B)/.site
	@$(B)/site-venv/bin/python docs/pages.py --out $(B)/site
$(B)/.site: | $(B)/.packages-python
	@test -x $(B)/site-venv/bin/pip || python3 -m venv $(B)/site-venv
	@$(B)/site-venv/bin/pip install -q --disable-pip-version-check $(SITE_PACKAGES)
	@touch $@

# what comes from the tables
MADE := ir.md remarks.md rates.md dnncc.1 dnncc-vta.1 dnncc-schedule.5 dnncc-ir.5
docs: $(B)/manual
	$(foreach f,$(MADE),$(call line,$(B)/manual $f > docs/$f))
$(B)/manual: docs/manual.c docs/manual_pages.c docs/manual.h $(B)/libdnncc.a
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -o $@ docs/manual.c docs/manual_pages.c $(B)/libdnncc.a $(LIBS)

check-docs: $(B)/manual
	@for f in $(MADE); do $(B)/manual $$f | diff -u docs/$$f - || { echo "docs/$$f is not what the tables say: make docs"; exit 1; }; done

# the lines of the uncommitted change; tables and aligned comments are laid out by hand
format:
	git clang-format --extensions c,h HEAD

# Generated code beside other engines; docs/benchmarks.md. The engines, at fixed versions, live in an environment of their own.
# BENCH_FLAGS: see bench.py --help.
BENCH_VENV := $(B)/bench-venv
bench: all bench-setup
	$(BENCH_VENV)/bin/python test/bench/bench.py --dnncc=$(B)/dnncc --write=docs/benchmarks.md $(BENCH_FLAGS)
bench-setup: $(B)/.bench-setup
$(B)/.bench-setup: test/bench/peers.py | $(B)/.packages-python
	@test -x $(BENCH_VENV)/bin/python || python3 -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/pip install -q --disable-pip-version-check $$(python3 test/bench/peers.py wheels)
	@$(BENCH_VENV)/bin/pip install -q --disable-pip-version-check --no-deps $$(python3 test/bench/peers.py wheels --alone)
	@touch $@

# On a machine with a GPU: leaves to the bit, all models, compute-sanitizer, times beside peers. Elsewhere it says that there is none.
bench-cuda: all python cuda
	$(PY) test/bench/cuda/bench_cuda.py --write=$(B)/cuda/bench.md $(BENCH_FLAGS)

# Models on microcontrollers under QEMU: bits, instructions, sizes, stack. test/boards/boards.py --help says the rest.
boards: all python $(B)/.boards
	$(PY) test/boards/boards.py --write=docs/measurements/firmware.md $(BOARDS_FLAGS)
# ns per innermost step of the interpreter
bench-interp: $(B)/interp_bench
	$(B)/interp_bench
$(B)/interp_bench: test/bench/interp_bench.c $(B)/libdnncc.a
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -o $@ $< $(B)/libdnncc.a $(LIBS)
# microseconds of a hand-off between threads
bench-threads: $(B)/threads_bench
	$(B)/threads_bench
$(B)/threads_bench: test/bench/threads_bench.c $(B)/libdnncc_runtime.a
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -o $@ $^ -lpthread
# the rates of this processor (ir/target/rates.def): test/bench/fit_cost.py
fit-cost: all $(B)/rates
	python3 test/bench/fit_cost.py --dnncc=$(B)/dnncc --rates=$(B)/rates $(FIT_FLAGS)
$(B)/rates: test/bench/rates.c $(B)/libdnncc.a
	$(call say,CC,$<)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(INC) -o $@ $< $(B)/libdnncc.a $(LIBS)
# steps of training beside PyTorch's: test/bench/train.py; TRAIN_FLAGS names networks
TRAIN_VENV := $(B)/train-venv
bench-train: all $(B)/.train-setup
	$(TRAIN_VENV)/bin/python test/bench/train.py --dnncc=$(B)/dnncc $(TRAIN_FLAGS)
$(B)/.train-setup: | $(B)/.packages-python
	@test -x $(TRAIN_VENV)/bin/python || python3 -m venv $(TRAIN_VENV)
	@$(TRAIN_VENV)/bin/pip install -q --disable-pip-version-check torch==2.15.0 numpy==2.4.6 onnx==1.23.2
	@touch $@
# what --jit costs beside gcc: test/bench/jit_bench.py; BENCH_FLAGS names models
bench-jit: all
	python3 test/bench/jit_bench.py --dnncc=$(B)/dnncc $(BENCH_FLAGS)
bench-operators: all python
	$(PY) test/bench/operators.py --dnncc=$(B)/dnncc --write=docs/operators.md
bench-compile: all python
	$(PY) test/bench/compile_bench.py --write=docs/compile-time.md
# what C all models give, for all targets: the same before and after a refactoring; test/bench/digest.py
zoo-digest: all python $(B)/machines
	$(PY) test/bench/digest.py --dnncc=$(B)/dnncc --write=$(B)/zoo.digest $(DIGEST_FLAGS)

clean:
	rm -rf $(B)/host $(B)/obj $(B)/unit $(B)/asan $(B)/digits $(B)/dnncc $(B)/dnncc-mpi $(B)/dnncc-vta $(B)/libdnncc.a $(B)/libdnncc_runtime.a $(B)/libdnncc_runtime.so $(B)/wheel $(B)/dist $(GENERATED) $(PROTOS:%=$(B)/%.pb-c.c)

-include $(DEPENDENCIES)
