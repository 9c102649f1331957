# SPDX-License-Identifier: MIT
"""Life in a firmware: hooks around kernels, code that tests itself, sections of constants, kernels and regions, no header of a libc, alignment."""
import pathlib
import re
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import boards  # noqa: E402
import dnncc  # noqa: E402

DIGITS, DIGITS_INT8 = boards.EXAMPLES["digits"], boards.EXAMPLES["digits_int8"]
STRICT = [*dnncc.STRICT, "-O2"]


def generate(model, folder, *options):
    dnncc.compile_model(model, folder, ["-q", *options])
    return (folder / "model.c").read_text(), (folder / "model.h").read_text()


def compile_object(folder, *flags, cc="gcc"):
    done = dnncc.run([*cc.split(), *STRICT, *flags, "-c", folder / "model.c", "-o", folder / "model.o"])
    assert done.returncode == 0, done.stderr


def run_main(folder, main, *flags, cc="gcc"):
    (folder / "main.c").write_text('#include <stdio.h>\n#include "model.h"\n' + main)
    done = dnncc.run([*cc.split(), *STRICT, *flags, f"-I{folder}", folder / "main.c", folder / "model.c", "-o", folder / "main"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run([folder / "main"])
    assert done.returncode == 0, done
    return done.stdout


# ---- hooks ----

RUN = """MODEL_WORKSPACE_DEFINE(workspace);
static float image[MODEL_IMAGE_ELEMS], p[MODEL_PROBABILITIES_ELEMS];
int main(void) { return model_run(workspace, image, p); }
"""
HOOKS = """#ifndef HOOKS_H
#define HOOKS_H
#include <stdio.h>
static inline void before(int k) { printf("<%d ", k); }
static inline void after(int k) { printf("%d> ", k); }
#endif
"""


def test_hooks(tmp_path):
    text, header = generate(DIGITS, tmp_path, "--hook")
    count = int(re.search(r"MODEL_KERNEL_COUNT (\d+)", header)[1])
    assert run_main(tmp_path, RUN) == ""                # nothing by default
    (tmp_path / "hooks.h").write_text(HOOKS)
    said = run_main(tmp_path, RUN, "-include", "hooks.h", f"-I{tmp_path}", "-DMODEL_HOOK_BEFORE=before", "-DMODEL_HOOK_AFTER=after")
    assert count > 3 and said == "-1> " + "".join(f"<{k} {k}> " for k in range(count))
    assert "dnncc_profile" not in text


def test_hooks_cost_nothing(tmp_path):
    """the same instructions as without, where nothing is defined"""
    objects = []
    for options in ((), ("--hook",)):
        generate(DIGITS, tmp_path, *options)
        compile_object(tmp_path)
        shutil.copy(tmp_path / "model.o", tmp_path / f"{len(objects)}.o")
        objects.append(dnncc.run(["objdump", "-d", "--no-show-raw-insn", tmp_path / "model.o"]).stdout.partition("Disassembly")[2])
    assert objects[0] == objects[1] and len(objects[0]) > 1000


def test_profile_is_a_hook(tmp_path):
    """two models in one program: each with a function of its own"""
    text, _ = generate(DIGITS, tmp_path, "--profile")
    assert "#define MODEL_HOOK_AFTER(kernel) dnncc_profile(kernel)\n" in text
    (tmp_path / "hooks.h").write_text(HOOKS)
    assert run_main(tmp_path, RUN, "-include", "hooks.h", f"-I{tmp_path}", "-DMODEL_HOOK_AFTER=after").startswith("-1> 0> 1> ")


# ---- a model that tests itself ----

SELFTEST = """static uint64_t memory[MODEL_SELFTEST_SIZE / 8 + 1];
int main(void)
{
        printf("%d %d", model_selftest(NULL), model_selftest(memory));
        return 0;
}
"""
NULL_CODE, CONSTANTS, WRONG = -1, -21, -22


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", [[], ["--no-descriptor", "--unchecked"], ["--region=fast=2K"]])
@pytest.mark.parametrize("model", [DIGITS, DIGITS_INT8])
def test_selftest(model, options, tmp_path):
    text, header = generate(model, tmp_path, "--selftest", *options)
    assert all(re.search(rf"#define MODEL_ERROR_{name} +\({code}\)", header) for name, code in (("CONSTANTS", CONSTANTS), ("SELFTEST", WRONG)))
    main = SELFTEST if "--region=fast=2K" not in options else SELFTEST.replace("memory)", "memory, fast)").replace("NULL)", "NULL, fast)").replace(
        "static", "MODEL_FAST_DEFINE(fast);\nstatic", 1)
    run = text.index("int model_run(")
    at = text.index("return 0;", run)
    output = re.search(r"(\w+)\)\n\{", text[run:])[1]
    weight = re.search(r"\"(?:[^\"\\]|\\.)*?\\(\d)\d\d(?:[^\"\\]|\\.)*?\"", text[text.index("static const"):])     # a byte as octal digits
    at_digit = text.index("static const") + weight.start(1)
    changed = {
        0: text,
        CONSTANTS: text[:at_digit] + str((int(text[at_digit]) + 1) % 4) + text[at_digit + 1:],
        WRONG: text[:at] + f"((unsigned char *){output})[3] ^= 1;\n        " + text[at:],
    }
    for code, source in changed.items():
        (tmp_path / "model.c").write_text(source)
        assert run_main(tmp_path, main) == f"{NULL_CODE} {code}"


@pytest.mark.slow
@pytest.mark.parametrize("board", ["m0", "s390x", "mips", "rv32"])
def test_selftest_on_board(board, tmp_path):
    """big-endian machines, too: numbers, not bytes, are what is looked at"""
    b = boards.BOARDS[board]
    if missing := b.missing():
        pytest.skip(f"no {missing}")
    report = boards.generate(DIGITS_INT8, boards.target_of(board, "generic"), ["--selftest"], tmp_path)
    boards.write_ports(tmp_path, report, 1)
    ports = (tmp_path / "ports.h").read_text()
    ports = re.sub(r"MODEL_WORKSPACE_DEFINE\(workspace\);", "static uint64_t workspace[MODEL_SELFTEST_SIZE / 8 + 1];", ports)
    (tmp_path / "ports.h").write_text(re.sub(r"#define RUN .*", "#define RUN (model_selftest(workspace) + model_selftest(0) + 1)", ports))
    (tmp_path / "0").mkdir()
    for k, (kind, shape) in enumerate(boards.ports(report, "input")):
        (tmp_path / "0" / f"input_{k}.bin").write_bytes(bytes(kind.itemsize * int(boards.np.prod(shape))))
    boards.build(b, tmp_path, ())
    boards.execute(b, tmp_path)


@pytest.mark.parametrize("options, code, words", [
    (["--weights=file"], 1, "--selftest is code that looks at its own constants"), (["--fast-libm"], 1, "--selftest compares bits"),
    (["--target=cuda-sm_90"], 1, "--selftest is for code that a processor runs"), (["--target=generic,x86-64"], 1, "--selftest is for one target"),
    (["--dim", "N=1..4"], 4, "a model with extents that a run gives")])
def test_selftest_refused(options, code, words, tmp_path):
    model = tmp_path / "open.dnn"
    model.write_text('dnn 1\nmodule "m"\nsymbol N <= 64\nfunc @main(%x "x": <N x 3 x f32>) -> ("y") {\n  %0 = max(%x, 0.0) : <N x 3 x f32>\n  yield(%0)\n}\n')
    done = dnncc.run([dnncc.DNNCC, model if "--dim" in options else DIGITS, "--selftest", *options, "-o", tmp_path / ("x.cu" if "cuda" in options[0] else "x.c")])
    assert done.returncode == code and words in done.stderr, done.stderr


# ---- where things lie ----

def sections(path, tool="readelf"):
    """{name: (type, flags)}"""
    found = re.findall(r"^ +\[ *\d+\] (\.\S+) +(\w+) +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) \d\d +([A-Z]*)", dnncc.run([tool, "-SW", path]).stdout, re.M)
    return {name: (kind, flags, int(size, 16)) for name, kind, size, flags in found}


COMPILERS = ["gcc", "clang", "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb", "aarch64-linux-gnu-gcc"]


@pytest.mark.parametrize("cc", COMPILERS)
def test_sections(cc, tmp_path):
    if not shutil.which(cc.split()[0]):
        pytest.skip(f"no {cc}")
    generate(DIGITS, tmp_path, "--region=dtcm=64K,8,.dtcm", "--region=more=4K,,.bss.more")
    place = "__attribute__((section(\"{}\")))".format
    compile_object(tmp_path, f"-DMODEL_KERNEL={place('.itcm')}", f"-DMODEL_CONST_LARGE={place('.external')}", f"-DMODEL_CONST={place('.internal')}", cc=cc)
    found = sections(tmp_path / "model.o")
    assert found[".itcm"][1] == "AX" and found[".external"][1] == found[".internal"][1] == "A", found
    assert found[".external"][2] > 30000 and 0 < found[".internal"][2] < 1500 and found[".itcm"][2] > 1000
    (tmp_path / "memory.c").write_text('#include "model.h"\nMODEL_DTCM_DEFINE(fast);\nMODEL_MORE_DEFINE(more);\nvoid *memory(int i);\n'
                                       "void *memory(int i) { return i ? (void *)fast : (void *)more; }\n")
    done = dnncc.run([*cc.split(), *STRICT, "-c", tmp_path / "memory.c", "-o", tmp_path / "memory.o"])
    assert done.returncode == 0, done.stderr
    found = sections(tmp_path / "memory.o")
    assert found[".dtcm"][:2] == ("NOBITS", "WA") and found[".bss.more"][0] == "NOBITS", found       # no bytes of the image


# ---- what it wants of a system ----

@pytest.mark.parametrize("model, options", [(DIGITS, []), (DIGITS_INT8, ["--requantize=integer"]), (DIGITS, ["--selftest", "--hook"])])
def test_freestanding(model, options, tmp_path):
    """no header but those that a compiler brings: Debian has no C library for this one"""
    cc = "riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -ffreestanding"
    if not shutil.which(cc.split()[0]):
        pytest.skip(f"no {cc}")
    text, _ = generate(model, tmp_path, *options)
    assert set(re.findall(r"#include <(.*)>", text)) == {"stddef.h"}
    compile_object(tmp_path, cc=cc)


@pytest.mark.parametrize("options, align", [([], 8), (["--threads=2"], 64), (["--target=x86-64-v3"], 64), (["--target=aarch64"], 64), (["--target=generic,x86-64"], 64)])
def test_alignment(options, align, tmp_path):
    """a workspace without vectors, and without threads, which share no cache line, is aligned as its largest type asks for"""
    assert f"#define MODEL_WORKSPACE_ALIGN {align}u\n" in generate(DIGITS, tmp_path, *options)[1]
