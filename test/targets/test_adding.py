"""docs/adding-a-target.md is true: its file and its line, in a copy of the tree, are a new target; so are the least table of vectors, and
the target with a printer of its own."""
import os
import pathlib
import re
import shutil
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

ROOMS = ["base", "ir", "cost", "schedule", "kernels", "passes", "codegen", "compiler", "runtime"]
PAGE = (dnncc.ROOT / "docs" / "adding-a-target.md").read_text()
DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"


def blocks():
    """the indented texts of the page, as they are"""
    for block in re.findall(r"(?:^    .*\n|^\n)+", PAGE, re.M):
        if block.strip():
            yield re.sub(r"^    ", "", block, flags=re.M).strip() + "\n"


NAME = re.search(r"codegen/targets/(\w+)\.c", PAGE)[1]
CODE, LINE = list(blocks())[:2]
PRINTER = next(block for block in blocks() if "struct printer" in block)

# what the page asks of a table at least, in GNU C of any machine: no attribute, no header, no row that may be missing
VECTORS = """#include "ir/spelling.h"

extern const struct target target_generic, target_vectors;

#define ROW(operation, e, ...) { .op = operation, .element = E_##e, .text = __VA_ARGS__ }
#define LEAST(e, suffix, c) \\
        ROW(SPELL_TYPE, e, "v4" suffix), \\
        ROW(LOOP_SPLAT, e, "splat_" suffix "($0)", \\
            "v4" suffix " splat_" suffix "(" c " a)\\n{\\n        return (v4" suffix "){ a, a, a, a };\\n}"), \\
        ROW(LOOP_RAMP, e, "(v4" suffix "){ $0 }"), \\
        ROW(LOOP_LOAD, e, "load_" suffix "($0)", \\
            "v4" suffix " load_" suffix "(const void *p)\\n{\\n        v4" suffix " a;\\n        __builtin_memcpy(&a, p, 16);\\n" \\
            "        return a;\\n}"), \\
        ROW(SPELL_STORE, e, "store_" suffix "($0, $1)", \\
            "void store_" suffix "(void *p, v4" suffix " a)\\n{\\n        __builtin_memcpy(p, &a, 16);\\n}")

static const struct spelling spellings[] = { LEAST(F32, "f32", "float"), LEAST(I32, "i32", "int"), { 0 } };

const struct target target_vectors = {
        .name = "vectors",
        .doc = "vectors of GNU C",
        .base = &target_generic,
        .machine = "defined(__GNUC__)",
        .vector_bytes = 16,
        .vector_registers = 16,
        .spellings = spellings,
};
"""
TYPES = "".join(f"typedef {c} v4{e} __attribute__((vector_size(16)));\n" for e, c in (("f32", "float"), ("i32", "int")))


def processor():
    """vendor, family, model of this processor, as the page writes them; None where there is no such thing"""
    cpu = pathlib.Path("/proc/cpuinfo")
    facts = dict(re.findall(r"^(vendor_id|cpu family|model)\s*: (.*)$", cpu.read_text(), re.M)) if cpu.exists() else {}
    return '"{vendor_id}", {cpu family}, {model}, {model}'.format(**facts) if len(facts) == 3 else None


def make(folder):
    done = dnncc.run(["make", "-C", folder, "B=build", "CFLAGS=-O0", "all"], timeout=1200)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr[-3000:]


def native(program):
    return re.search(r"^ *native .*: (\S+)$", dnncc.run([program, "--target=help"]).stdout, re.M)[1]


def results(program, target, folder, types=""):
    folder.mkdir()
    done = dnncc.run([program, DIGITS, f"--target={target}", "--name=model", "-o", folder / "model.c"])
    assert done.returncode == 0, done.stderr
    (folder / "model.c").write_text(types + (folder / "model.c").read_text())
    image = np.random.default_rng(1).random((1, 1, 8, 8)).astype(np.float32)
    return dnncc.run_host(dnncc.build_host(folder), [image])[0]


@pytest.mark.skipif(not shutil.which("make"), reason="no make")
def test_a_file_and_a_line(tmp_path):
    for room in ROOMS:
        shutil.copytree(dnncc.ROOT / room, tmp_path / room)
    shutil.copy(dnncc.ROOT / "Makefile", tmp_path)
    built = pathlib.Path(dnncc.DNNCC).parent      # what is compiled already need not be again
    if (built / "obj").is_dir():
        shutil.copytree(built / "obj", tmp_path / "build" / "obj")
        for name in ("onnx.pb-c.c", "onnx.pb-c.h", "library.inc"):
            shutil.copy2(built / name, tmp_path / "build")
    assert f"target_{NAME} = {{" in CODE and LINE == f"TARGET({NAME})\n"
    source = tmp_path / "codegen" / "targets" / f"{NAME}.c"
    source.write_text(CODE)
    source.with_name("vectors.c").write_text(VECTORS)
    source.with_name("calls.c").write_text(PRINTER)
    table = tmp_path / "codegen" / "targets.def"
    for above in ("TARGET(sapphirerapids)\n", "TARGET(x86_64_v4)\n"):
        table.write_text(table.read_text().replace(above, above + (LINE if "x86" in above else "TARGET(vectors)\nTARGET(calls)\n")))
    os.utime(tmp_path / "codegen" / "targets.c")
    make(tmp_path)
    program = tmp_path / "build" / "dnncc"
    assert NAME in dnncc.run([program, "--target=help"]).stdout
    for target in (NAME, f"x86-64,{NAME}"):
        done = dnncc.run([program, DIGITS, f"--target={target}", "-o", tmp_path / "digits.c"])
        assert done.returncode == 0, done.stderr
        done = dnncc.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-c", tmp_path / "digits.c", "-o", tmp_path / "digits.o"])
        assert done.returncode == 0, done.stderr

    # another language
    def compiled(target, name, *options):
        return dnncc.run([program, DIGITS, f"--target={target}", "-o", tmp_path / name, *options])
    assert compiled("generic", "digits.loops", "--emit=loops").returncode == 0
    assert compiled("calls", "digits.calls").returncode == 0
    assert (tmp_path / "digits.calls").read_text().split() == re.findall(r"^ *call @(\w+)", (tmp_path / "digits.loops").read_text(), re.M)
    for target, name, why in (("calls", "digits.c", "the output is a listing: its name must end in .calls"),
                              ("generic,calls", "digits.c", "different languages")):
        done = compiled(target, name)
        assert done.returncode == 1 and why in done.stderr, done.stderr

    # a table without attribute, header and ZERO; neither it nor another's processor is native
    want = results(program, "generic", tmp_path / "generic")
    for target in ("vectors", "generic,vectors"):
        got = results(program, target, tmp_path / target, TYPES)
        text = (tmp_path / target / "model.c").read_text()
        assert "load_f32" in text and "(null)" not in text and "__attribute__((target" not in text
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    ours = processor()
    if native(dnncc.DNNCC) == "x86-64-v4":
        assert native(program) == (NAME if f"{{ {ours} }}" in CODE else "x86-64-v4")
        source.write_text(re.sub(r'\{ "GenuineIntel", 6, 106, 106 \}', f"{{ {ours} }}", CODE))
        make(tmp_path)
        assert native(program) == NAME
    else:
        assert native(program) == native(dnncc.DNNCC)
