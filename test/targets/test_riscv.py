# SPDX-License-Identifier: MIT
"""Code for 64-bit RISC-V with vectors, compiled by clang and run under qemu, in registers of three lengths: whole numbers are those of generic,
floats under --exact, too, and products take their factor of x from a scalar register."""
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import machine_code  # noqa: E402
import processor  # noqa: E402

TARGETS = {"riscv64-v": (128, 256, 512), "riscv64-v256": (256, 512)}      # and how many bits a register may have
PLACES = [(target, bits) for target in TARGETS for bits in TARGETS[target]]
MODELS = dnncc.ROOT.parent / "shared" / "models"
DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
pytestmark = [processor.needs("riscv64-v"), pytest.mark.slow]


def registers(bits):
    return f"rv64,v=true,vlen={bits},vext_spec=v1.0"


def built(model, target, folder, *options, flags=("-O2",)):
    """{bits of a register: the program}; generic's runs on this processor"""
    folder.mkdir()
    dnncc.compile_model(model, folder, [f"--target={target}", *options])
    emulator = processor.emulator(target.split(",")[-1])
    program = dnncc.build_host(folder, flags, emulator=emulator)
    if not emulator:
        return program
    programs = {}
    for bits in (128, 256, 512):
        programs[bits] = folder / f"host{bits}"
        programs[bits].write_text(f'#!/bin/sh\nexec qemu-riscv64 -cpu {registers(bits)} {folder / "host.emulated"} "$@"\n')
        programs[bits].chmod(0o755)
    return programs


def run(program, inputs):
    try:
        return dnncc.run_host(program, inputs)
    except AssertionError as error:
        if "decode_save_opc" in str(error):
            pytest.skip("QEMU 7.2 gives up where a translated block begins with vfcvt.rtz")
        raise


def real(name):
    if not (MODELS / name).is_dir():
        pytest.skip(f"no {name} in ../shared/models")
    return MODELS / name / "model.onnx"


def bound(model):
    """inputs, and the options that say their shapes"""
    kinds, r, inputs, options = {1: np.float32, 3: np.int8, 2: np.uint8}, np.random.default_rng(5), [], []
    for port in onnx.load(model).graph.input:
        t = port.type.tensor_type
        shape, kind = [max(d.dim_value, 1) for d in t.shape.dim], kinds[t.elem_type]
        inputs.append(r.standard_normal(shape).astype(kind) if kind == np.float32 else r.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind, True))
        options.append(f"--input={port.name}={'x'.join(map(str, shape))}")
    return inputs, options


def results(model, target, folder, inputs, *options):
    """(what it makes, what generic makes), for each length of registers and each output"""
    want = run(built(model, "generic", folder / "generic", *options), inputs)
    programs = built(model, target, folder / target, *options)
    return [pair for bits in TARGETS[target] for pair in zip(run(programs[bits], inputs), want, strict=True)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("options", [[], ["--exact"]], ids=["fast", "exact"])
def test_floats(target, options, tmp_path):
    image = np.random.default_rng(3).random((1, 1, 8, 8)).astype(np.float32)
    for got, want in results(DIGITS, target, tmp_path, [image], *options):
        if options:
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["resnet8_int8", "dscnn_kws_int8", "micro_kws_qdq"])
@pytest.mark.sample(6, each=False)
def test_bytes(name, target, tmp_path):
    inputs, bind = bound(real(name))
    for got, want in results(real(name), target, tmp_path, inputs, *bind):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bits", [8, 4])
def test_blocks_of_weights(bits, target, tmp_path):
    """by rows that are rounded to bytes: a byte at a time, widened"""
    r, (rows, channels, outputs, block) = np.random.default_rng(bits), (3, 96, 24, 32)
    w = r.integers(0, 256, (outputs, channels // block, block * bits // 8)).astype(np.uint8)
    node = onnx.helper.make_node("MatMulNBits", ["x", "w", "scales"], ["y"], domain="com.microsoft", K=channels, N=outputs, bits=bits, block_size=block,
                                 accuracy_level=4)
    value, initial = onnx.helper.make_tensor_value_info, onnx.numpy_helper.from_array
    graph = onnx.helper.make_graph([node], "g", [value("x", 1, [rows, channels])], [value("y", 1, [rows, outputs])],
                                   [initial(w, "w"), initial(r.random(outputs * channels // block).astype(np.float32), "scales")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]), tmp_path / "m.onnx")
    for got, want in results(tmp_path / "m.onnx", target, tmp_path, [r.standard_normal((rows, channels)).astype(np.float32)]):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["resnet8_fp32", "micro_kws_fp32"])
@pytest.mark.sample(4, each=False)
def test_models(name, target, tmp_path):
    inputs, bind = bound(real(name))
    for got, want in results(real(name), target, tmp_path, inputs, *bind):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["resnet8_fp32", "resnet8_int8"])
def test_groups_of_registers(name, tmp_path):
    """chosen by the schedule, which a file can overrule: four registers where that is faster, never in depthwise windows; the same bits"""
    model, (inputs, bind), book = real(name), bound(real(name)), tmp_path / "book"
    options = ["--target=riscv64-v", *bind]
    assert dnncc.run([dnncc.DNNCC, model, *options, "--tune", f"--schedule={book}", "--limit", "tune_seconds=0", "-q"]).returncode == 0
    lines = [line.partition(";")[0] for line in book.read_text().splitlines()]
    assert sum("wide=1" in line for line in lines) >= 3
    book.write_text("\n".join(re.sub(" wide=1", "", line) for line in lines) + "\n")
    wide = built(model, "riscv64-v", tmp_path / "wide", *bind)
    own = built(model, "riscv64-v", tmp_path / "own", *bind, f"--schedule={book}")
    kernels = [len(re.findall(r"\bwide=1\b", (tmp_path / folder / "model.c").read_text())) for folder in ("wide", "own")]
    assert kernels[0] >= 3 and kernels[1] <= 1          # tuning lists no product that a kernel of rows has
    for got, want in zip(run(wide[128], inputs), run(own[128], inputs), strict=True):
        np.testing.assert_array_equal(got, want)


def test_registers_that_are_too_short(tmp_path):
    """nothing is computed, and run says so"""
    programs = built(DIGITS, "riscv64-v256", tmp_path / "v256")
    image = np.zeros((1, 1, 8, 8), np.float32)
    with pytest.raises(AssertionError, match="returned -7"):
        dnncc.run_host(programs[128], [image])
    assert len(run(programs[256], [image])) == 1


def test_choice(tmp_path):
    """one file for all of them: what qemu is told the processor is, is what runs"""
    dnncc.compile_model(DIGITS, tmp_path, ["--target=generic,riscv64-v,riscv64-v256"])
    (tmp_path / "main.c").write_text('#include <stdio.h>\n#include "model.h"\nint main(void)\n{\n        printf("%d\\n", model_level());\n        return 0;\n}\n')
    cc = processor.emulator("riscv64-v").cc.split()
    done = dnncc.run([*cc, *dnncc.STRICT, "-O1", "-static", f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "model.c", "-o", tmp_path / "main"], timeout=600)
    assert done.returncode == 0, done.stderr[:3000]
    for cpu, level in (("rv64", 0), (registers(128), 1), (registers(256), 2), (registers(1024), 2)):
        assert dnncc.run(["qemu-riscv64", "-cpu", cpu, tmp_path / "main"]).stdout == f"{level}\n", cpu


@pytest.mark.parametrize("answer, level", [("0", 0), ("4", 2)], ids=["none", "vectors"])
def test_question(answer, level, tmp_path):
    """what riscv_hwprobe tells counts more than HWCAP, which has the bit here"""
    dnncc.compile_model(DIGITS, tmp_path, ["--target=riscv64,riscv64-v,riscv64-v256"])
    (tmp_path / "main.c").write_text(f"""#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include "model.h"
struct pair {{ int64_t key; uint64_t value; }};
long syscall(long number, ...);
long syscall(long number, ...)
{{
        va_list rest;
        va_start(rest, number);
        struct pair *pair = va_arg(rest, struct pair *);
        va_end(rest);
        if (number != 258 || pair->key != 4)
                return -1;
        pair->value = {answer};
        return 0;
}}
int main(void)
{{
        printf("%d\\n", model_level());
        return 0;
}}
""")
    cc = processor.emulator("riscv64-v").cc.split()
    done = dnncc.run([*cc, *dnncc.STRICT, "-O1", "-static", f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "model.c", "-o", tmp_path / "main"], timeout=600)
    assert done.returncode == 0, done.stderr[:3000]
    assert dnncc.run(["qemu-riscv64", "-cpu", registers(256), tmp_path / "main"]).stdout == f"{level}\n"


def test_native(tmp_path):
    """what --target=native asks, in a program for that machine: vectors, and how long two registers are"""
    (tmp_path / "main.c").write_text('#include <stdio.h>\n#include "codegen/cpu.h"\n'
                                     'int main(void) { printf("%d %d %d\\n", cpu_is_kind("defined(__riscv) && 1"), cpu_has("arch=+v"), cpu_vector_bytes()); return 0; }\n')
    cc = processor.emulator("riscv64-v").cc.replace("rv64gcv", "rv64gc").split()
    done = dnncc.run([*cc, "-std=gnu11", "-static", f"-I{dnncc.ROOT}", tmp_path / "main.c", dnncc.ROOT / "codegen" / "cpu.c", "-o", tmp_path / "main"])
    assert done.returncode == 0, done.stderr[:3000]
    for cpu, told in (("rv64", "1 0 0"), (registers(128), "1 1 32"), (registers(256), "1 1 64")):
        assert dnncc.run(["qemu-riscv64", "-cpu", cpu, tmp_path / "main"]).stdout == f"{told}\n", cpu


def test_flag(tmp_path):
    """clang 16 wants to be told of vectors by a flag, and the error names it"""
    dnncc.compile_model(DIGITS, tmp_path, ["--target=riscv64-v"])
    cc = processor.emulator("riscv64-v").cc.replace("rv64gcv", "rv64gc").split()
    done = dnncc.run([*cc, "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"])
    assert done.returncode and "-march=rv64gcv" in done.stderr, done.stderr[:1000]


@pytest.mark.skipif(not shutil.which("clang-19"), reason="no clang-19")
def test_without_a_flag(tmp_path):
    """from clang 18 on functions say what they need"""
    dnncc.compile_model(DIGITS, tmp_path, ["--target=generic,riscv64-v,riscv64-v256"])
    done = dnncc.run(["clang-19", "--target=riscv64-linux-gnu", "-march=rv64gc", "-O2", *dnncc.STRICT, "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"])
    assert done.returncode == 0, done.stderr[:3000]


# ---- machine code ----

@pytest.mark.sample(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name, product", [("resnet8_fp32", "vfmacc.vf"), ("resnet8_int8", "vmacc.vx")])
def test_sums_stay_in_registers(name, product, target, tmp_path):
    """a product takes x from a scalar register; nothing of a vector is on the stack, nor is its length said anew where all are of 32 bits"""
    dnncc.compile_model(real(name), tmp_path, [f"--target={target}"])
    done = dnncc.run([*processor.emulator(target).cc.split(), "-O2", "-mno-relax", "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"], timeout=600)
    assert done.returncode == 0, done.stderr[:3000]
    listing = machine_code.listing(tmp_path / "model.o", machine_code.RISCV)
    found = [lines for _, lines in machine_code.tile_loops(listing, machine_code.RISCV) if any(line.startswith(product) for line in lines)]
    assert len(found) >= 2
    for lines in found:
        assert not machine_code.on_the_stack(lines, machine_code.RISCV), lines
        assert name != "resnet8_fp32" or not [line for line in lines if line.startswith("vset")], lines


def test_qemu_dies_of_vfcvt_rtz(tmp_path):
    """QEMU 7.2, of that instruction where it is the first to round in a block: what else is there does not matter, so it is neither clang nor dnncc"""
    def ran(name, *instructions):
        lines = [".globl _start", "_start: vsetivli zero, 4, e32, m1, ta, ma", "j 1f", "1:", *instructions, "li a0, 0", "li a7, 93", "ecall"]
        (tmp_path / f"{name}.S").write_text("\n".join(lines) + "\n")
        cc = [word for word in processor.emulator("riscv64-v").cc.split() if word != "-static"]
        built = dnncc.run([*cc, "-nostdlib", "-static", "-o", tmp_path / name, tmp_path / f"{name}.S"])
        assert built.returncode == 0, built.stderr
        return dnncc.run(["qemu-riscv64", "-cpu", registers(256), tmp_path / name])
    alone = ran("alone", "vfcvt.rtz.x.f.v v8, v4")
    assert alone.returncode == 0 or "decode_save_opc" in alone.stderr, alone.stderr
    assert ran("behind", "vfadd.vv v12, v4, v4", "vfcvt.rtz.x.f.v v8, v4").returncode == 0
    assert ran("other", "vfcvt.x.f.v v8, v4").returncode == 0
