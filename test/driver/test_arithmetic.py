# SPDX-License-Identifier: MIT
"""--fast-libm and --flush-denormals: what the C library or the processor's state does instead, and no more than that."""
import pathlib
import shutil
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

COMPILERS = [cc for cc in ("gcc", "clang") if shutil.which(cc)]
ELEMENTS = 40000                        # worth two threads
FUNCTIONS = ["Exp", "Log", "Tanh", "Erf", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Atanh", "Sqrt",
             "Floor", "Ceil", "Round", "Abs"]


def save(path, nodes, shape, outputs):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, shape)],
                              [value(o, TensorProto.FLOAT, None) for o in outputs])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


@pytest.fixture
def functions(tmp_path):
    return save(tmp_path / "m.onnx", [helper.make_node(f, ["x"], [f.lower()]) for f in FUNCTIONS], [37], [f.lower() for f in FUNCTIONS])


def program(model, folder, options, cc="gcc", flags=()):
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(model, folder, options)
    for command in ([cc, *dnncc.STRICT, "-O1", "-c", folder / "model.c", "-o", folder / "model.o"],
                    [cc, "-O1", dnncc.host_object(["-O2"], cc), folder / "model.o", *flags, "-o", folder / "host", "-lm"]):
        done = dnncc.run(command)
        assert done.returncode == 0 and not done.stderr, done.stderr[:3000]
    return folder / "host"


def wanted(folder):
    return {line.split()[-1] for line in dnncc.run(["nm", folder / "model.o"]).stdout.split("\n") if " U " in line}


@pytest.mark.parametrize("cc", COMPILERS)
def test_libm(functions, tmp_path, cc):
    x = np.linspace(-0.99, 0.99, 37, dtype=np.float32)
    ours = dnncc.run_host(program(functions, tmp_path / "ours", [], cc), [x])
    libm = dnncc.run_host(program(functions, tmp_path / "libm", ["--fast-libm"], cc), [x])
    for name, a, b in zip(FUNCTIONS, ours, libm):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7, err_msg=name)
    assert wanted(tmp_path / "ours") <= {"memcpy", "memset"}
    symbols = wanted(tmp_path / "libm")
    assert {"expf", "erff", "tanf", "asinhf"} <= symbols and all(s.endswith("f") for s in symbols - {"memcpy", "memset"})
    text = (tmp_path / "libm" / "model.c").read_text()
    assert "#include <math.h>" in text and "error bound" not in text


@processor.needs("x86-64-v3")
def test_libm_leaves_vectors(tmp_path):
    model = save(tmp_path / "m.onnx", [helper.make_node("Tanh", ["x"], ["y"])], [64], ["y"])
    program(model, tmp_path / "out", ["--fast-libm", "--target=x86-64-v3"])
    assert wanted(tmp_path / "out") <= {"memcpy", "memset"}


# of a machine: its targets; the register in C; as a new thread has it, and rounding down
CONTROLS = {
    "x86-64": (["x86-64", "generic,x86-64,x86-64-v3"], "#include <immintrin.h>\n#define READ() _mm_getcsr()\n#define WRITE(c) _mm_setcsr(c)\n"
               "#define FRESH 0x1f80u\n#define DOWN 0x3f80u\n#define STATE 0xffc0u\n"),
    "aarch64": (["aarch64", "aarch64,aarch64-dotprod"], "static unsigned long long READ(void) { unsigned long long c; __asm__ volatile(\"mrs %0, fpcr\" : \"=r\"(c)); return c; }\n"
                "static void WRITE(unsigned long long c) { __asm__ volatile(\"msr fpcr, %0\" : : \"r\"(c)); }\n"
                "#define FRESH 0ull\n#define DOWN 0x800000ull\n#define STATE ~0ull\n"),
    # the rest is flags of what was computed
    "armv7-neon": (["armv7-neon", "generic,armv7-neon"], "static unsigned READ(void) { unsigned c; __asm__ volatile(\"vmrs %0, fpscr\" : \"=r\"(c)); return c & 0x7c00000u; }\n"
                   "static void WRITE(unsigned long long c) { __asm__ volatile(\"vmsr fpscr, %0\" : : \"r\"((unsigned)c)); }\n"
                   "#define FRESH 0u\n#define DOWN 0x800000u\n#define STATE ~0u\n"),
}


@pytest.mark.parametrize("threads", ["", "--threads=2"], ids=["one", "two"])
@pytest.mark.parametrize("machine, cc", [("x86-64", cc) for cc in COMPILERS] + [("aarch64", None), ("armv7-neon", None)])
@pytest.mark.sample(6)
def test_denormals_are_flushed_and_the_state_restored(threads, machine, cc, tmp_path):
    """x * 1 of a denormal number is 0 while the model runs, and itself after it, however run returns and on every thread"""
    processor.require(machine)
    stands = processor.emulator(machine)
    cc, run = cc or stands.cc, stands.run if stands else []
    targets, control = CONTROLS[machine]
    model = save(tmp_path / "m.onnx", [helper.make_node("Mul", ["x", "x"], ["y"])], [ELEMENTS], ["y"])
    (tmp_path / "main.c").write_text(control + """#include <stdio.h>
#include "model.h"
MODEL_WORKSPACE_DEFINE(workspace);
static float x[MODEL_X_ELEMS], y[MODEL_Y_ELEMS];
static int changed;
void dnncc_parallel(void (*task)(void *, int, int), void *arg, int count);
void dnncc_parallel(void (*task)(void *, int, int), void *arg, int count)
{
        const unsigned long long outside = READ();
        for (int i = 0; i < count; i++) {
                WRITE(FRESH);                   /* as a thread of its own has it */
                task(arg, i, count);
                changed |= (READ() & STATE) != FRESH;
        }
        WRITE(outside);
}
int main(void)
{
        int zeros = 0;
        for (int i = 0; i < (int)MODEL_X_ELEMS; i++)
                x[i] = 1e-20f;                  /* its square is denormal */
        WRITE(DOWN);                            /* rounds down */
        int error = model_run(workspace, x, y), refused = model_run(workspace, x, 0);
        changed |= READ() != DOWN;
        for (int i = 0; i < (int)MODEL_X_ELEMS; i++)
                zeros += y[i] == 0;
        printf("%d %d %d %d\\n", error, refused, changed, zeros);
        return 0;
}
""")
    for target in targets:
        for options, zeros in ((["--flush-denormals"], ELEMENTS), ([], 0)):
            folder = tmp_path / "out"
            folder.mkdir(exist_ok=True)
            dnncc.compile_model(model, folder, [f"--target={target}", *options, *([threads] if threads else [])])
            done = dnncc.run([cc, "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{folder}", tmp_path / "main.c", *(["-static"] if stands else []),
                              folder / "model.c", "-o", tmp_path / "main"])
            assert done.returncode == 0, done.stderr[:3000]
            told = dnncc.run([*run, tmp_path / "main"]).stdout.split()
            if threads:
                assert ("parallel_flushed(Mul" in (folder / "model.c").read_text()) == bool(options)
            if options:
                assert told == ["0", "-1", "0", str(zeros)], (target, options)
            else:
                assert told[0] == "0" and told[3] == (str(ELEMENTS) if machine == "armv7-neon" else "0")     # its vectors always do


def test_remainders_of_what_is_far_when_denormals_are_flushed(tmp_path):
    """are made without denormal numbers on the way"""
    processor.require("x86-64")
    x = np.concatenate([10.0 ** np.arange(5, 38), [7, 1e30, -1e25], np.ldexp(1.0, np.arange(24, 120, 7))]).astype(np.float32)
    y = save(tmp_path / "m.onnx", [helper.make_node("Constant", [], ["c"], value_float=3.1), helper.make_node("Mod", ["x", "c"], ["y"], fmod=1)], [len(x)], ["y"])
    want = np.fmod(x.astype(np.float64), np.float64(np.float32(3.1))).astype(np.float32)
    for options in ([], ["--target=x86-64", "--flush-denormals"]):
        made = dnncc.run_host(program(y, tmp_path / f"m{len(options)}", options), [x])[0]
        assert (made == want).all() and len(np.unique(want)) > 40, options


def test_what_does_not_go_together(functions, tmp_path):
    for options in (["--exact", "--fast-libm"], ["--exact", "--flush-denormals", "--target=x86-64"], ["--flush-denormals"],
                    ["--flush-denormals", "--target=generic"]):
        done = dnncc.run([dnncc.DNNCC, functions, "-o", tmp_path / "x.c", *options])
        assert done.returncode == dnncc.USAGE and done.stderr.count("\n") == 1, done.stderr


def test_dependencies_name_the_schedules(tmp_path):
    model = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], [4], ["y"])
    (tmp_path / "s.schedule").write_text("dnncc-schedule 1\n")
    done = dnncc.run([dnncc.DNNCC, model, "-o", tmp_path / "m.c", "-MD", "--target=x86-64", f"--schedule={tmp_path}/s.schedule"])
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path}/s.schedule" in (tmp_path / "m.d").read_text()
