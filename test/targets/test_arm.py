# SPDX-License-Identifier: MIT
"""Code for 64-bit ARM, compiled by gcc and clang and run under qemu: whole numbers are those of generic, floats under --exact, too, and the
machine code takes lanes of vectors where the schedule does."""
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "passes"))
import dnncc  # noqa: E402
import machine_code  # noqa: E402
import processor  # noqa: E402
import test_bytes as of_bytes  # noqa: E402
from zoo import twins  # noqa: E402

TARGETS = ["aarch64", "aarch64-dotprod", "aarch64-fp16", "aarch64-i8mm"]
PRODUCTS = {"aarch64": "smull", "aarch64-dotprod": "sdot", "aarch64-fp16": "sdot", "aarch64-i8mm": "(?:smmla|sdot)"}         # short sums: SDOT
DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
MODELS = dnncc.ROOT.parent / "shared" / "models"
pytestmark = [processor.needs("aarch64"), pytest.mark.slow]


def results(model, target, folder, inputs, *options):
    folder.mkdir()
    dnncc.compile_model(model, folder, [f"--target={target}", *options])
    return dnncc.run_host(dnncc.build_host(folder, ["-O2"], emulator=processor.emulator(target)), inputs)


def operands_of(folder, instruction):
    """of the instruction, each time that it stands in the object file"""
    return re.findall(rf"\t{instruction}\s+(.*)", machine_code.listing(folder / "model.o"))


def real(name):
    if not (MODELS / name).is_dir():
        pytest.skip(f"no {name} in ../shared/models")
    return MODELS / name


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("options", [[], ["--exact"]], ids=["fast", "exact"])
@pytest.mark.sample(2)
def test_floats(target, options, tmp_path):
    image = np.random.default_rng(3).random((1, 1, 8, 8)).astype(np.float32)
    want = results(DIGITS, "generic", tmp_path / "generic", [image], *options)[0]
    got = results(DIGITS, target, tmp_path / target, [image], *options)[0]
    if options:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        assert any("[" in operands for operands in operands_of(tmp_path / target, "fmla"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["resnet8_int8", "dscnn_kws_int8"])
@pytest.mark.sample(4, each=False)
def test_bytes(name, target, tmp_path):
    model = real(name) / "model.onnx"
    kind = {1: np.float32, 3: np.int8, 2: np.uint8}
    r, inputs = np.random.default_rng(5), []
    for port in onnx.load(model).graph.input:
        t = port.type.tensor_type
        shape = [max(d.dim_value, 1) for d in t.shape.dim]
        dtype = kind[t.elem_type]
        inputs.append(r.standard_normal(shape).astype(dtype) if dtype == np.float32 else
                      r.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, True))
    bind = [f"--input={p.name}={'x'.join(str(max(d.dim_value, 1)) for d in p.type.tensor_type.shape.dim)}" for p in onnx.load(model).graph.input]
    want = results(model, "generic", tmp_path / "generic", inputs, *bind)
    got = results(model, target, tmp_path / target, inputs, *bind)
    for ours, exact in zip(got, want, strict=True):
        np.testing.assert_array_equal(ours, exact)
    assert operands_of(tmp_path / target, PRODUCTS[target])


def check_sums(path, x, expected, targets, tmp_path):
    for target in targets:
        got = results(path, target, tmp_path / target, [x])[0]
        np.testing.assert_array_equal(got, expected.astype(np.int64).astype(np.int32), err_msg=target)        # sums wrap


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.sample(4)
def test_convolutions_of_bytes(seed, tmp_path):
    """tails everywhere: of positions, of channels, of outputs"""
    x, expected = of_bytes.convolution(seed, tmp_path / "m.onnx")
    check_sums(tmp_path / "m.onnx", x, expected, TARGETS if seed < 3 else TARGETS[-1:], tmp_path)


def test_wide_panels(tmp_path):
    """of products of matrices: a vector of x, which takes two loads and an instruction to put together, serves twelve products where no zeros
    have to be computed for that"""
    r = np.random.default_rng(11)
    x, w = (of_bytes.numbers(r, shape, np.int8, "random") for shape in ((1, 64, 6, 6), (96, 64, 3, 3)))
    expected = of_bytes.convolved(x, w, [1, 1], [1, 1], [1, 1, 1, 1], 1)
    node = onnx.helper.make_node("ConvInteger", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    of_bytes.save(tmp_path / "m.onnx", node, x, expected, {"w": w})
    check_sums(tmp_path / "m.onnx", x, expected, ["neoverse-v1"], tmp_path)
    tiles = [body for _, body in machine_code.tile_loops(machine_code.listing(tmp_path / "neoverse-v1" / "model.o"))]
    best = max(sum(text.startswith("smmla") for text in body) / max(1, sum(".d[1]" in text or "}[1]" in text for text in body)) for body in tiles)
    assert best >= 12


@pytest.mark.parametrize("types, depth", [("i8 i8", 1), ("i8 i8", 101), ("u8 i8", 64), ("u8 u8", 101), ("i8 u8", 4608)])
def test_products_of_bytes(types, depth, tmp_path):
    x, expected = of_bytes.product(types, depth, tmp_path / "m.onnx")
    check_sums(tmp_path / "m.onnx", x, expected, TARGETS[-1:], tmp_path)


def schedules(model, target, folder):
    dnncc.run([dnncc.DNNCC, model, f"--target={target}", "--emit=ir", "-o", folder / f"{target}.dnn"])
    return re.findall(r'schedule="([^";]*)', (folder / f"{target}.dnn").read_text())


def test_cores(tmp_path):
    """a core in order, which loads half a vector a cycle, has other tiles than one out of order; both compute the same"""
    model = real("resnet8_fp32") / "model.onnx"
    small, large = (schedules(model, target, tmp_path) for target in ("cortex-a53", "cortex-a76"))
    assert len(small) == len(large) >= 5 and small != large
    image = np.random.default_rng(3).random([d.dim_value for d in onnx.load(model).graph.input[0].type.tensor_type.shape.dim]).astype(np.float32)
    want = results(model, "generic", tmp_path / "generic", [image])[0]
    for target in ("cortex-a53", "cortex-a76"):
        np.testing.assert_allclose(results(model, target, tmp_path / target, [image])[0], want, rtol=1e-4, atol=1e-5)


def test_core_files_are_short():
    """a core is its rates, and where they come from"""
    for path in (dnncc.ROOT / "codegen" / "targets").glob("*.c"):
        text = path.read_text()
        if "processors = " in text and '"0x' in text:
            assert len(text.splitlines()) <= 31 and re.search("[Gg]uide", text), path


@pytest.mark.sample(3)
@pytest.mark.parametrize("name, target", [("mobilenet_v2_qdq", "aarch64-i8mm"), ("gpt_step_nbits4", "aarch64-i8mm"),
                                          ("gpt_step_nbits4", "aarch64-dotprod"), ("gpt_step_nbits4", "aarch64")])
def test_bytes_without_a_sign(name, target, tmp_path):
    """of activations, of weights in blocks: usdot and sudot take them as they are, others those that have no eighth bit"""
    if "nbits" in name:
        pytest.importorskip("onnx_ir", reason="onnxruntime's MatMulNBitsQuantizer wants it: make systems-packages")
    model, given = twins.build(name), list(twins.inputs(name, seed=1).values())
    want = results(model, "generic", tmp_path / "generic", given)
    got = results(model, target, tmp_path / "arm", given)
    for ours, exact in zip(got, want, strict=True):
        np.testing.assert_allclose(ours, exact, rtol=1e-3, atol=1e-4)
    assert operands_of(tmp_path / "arm", {"aarch64-i8mm": "(?:usdot|sudot)", "aarch64-dotprod": "sdot", "aarch64": "smull"}[target])


def test_choice(tmp_path):
    """one file for several of them: what qemu is told the processor is, is what runs"""
    model = real("resnet8_int8") / "model.onnx"
    dnncc.compile_model(model, tmp_path, ["--target=" + ",".join(TARGETS)])
    (tmp_path / "main.c").write_text('#include <stdio.h>\n#include "model.h"\nint main(void)\n{\n        printf("%d\\n", model_level());\n        return 0;\n}\n')
    cc = processor.emulator("aarch64").cc
    done = dnncc.run([cc, *dnncc.STRICT, "-O1", "-static", f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "model.c", "-o", tmp_path / "main"], timeout=600)
    assert done.returncode == 0, done.stderr[:3000]
    for cpu, level in (("max", 3), ("cortex-a76", 1), ("cortex-a53", 0)):
        assert dnncc.run(["qemu-aarch64", "-cpu", cpu, tmp_path / "main"]).stdout == f"{level}\n", cpu


def test_none_of_them(tmp_path):
    """a processor that lacks even the least: an error before anything is computed"""
    dnncc.compile_model(DIGITS, tmp_path, ["--target=aarch64-dotprod,aarch64-i8mm"])
    (tmp_path / "main.c").write_text("""#include <stdio.h>
#include "model.h"
MODEL_WORKSPACE_DEFINE(workspace);
static float image[MODEL_IMAGE_ELEMS], probabilities[MODEL_PROBABILITIES_ELEMS] = { 0.375f };
int main(void)
{
        const int code = model_run(workspace, image, probabilities);
        printf("%d %d %g\\n", model_level() < 0, code == MODEL_ERROR_PROCESSOR, (double)probabilities[0]);
        return 0;
}
""")
    cc = processor.emulator("aarch64").cc
    done = dnncc.run([cc, *dnncc.STRICT, "-O1", "-static", f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "model.c", "-o", tmp_path / "main"], timeout=600)
    assert done.returncode == 0, done.stderr[:3000]
    for cpu, told in (("cortex-a53", "1 1 0.375"), ("cortex-a76", "0 0 ")):
        assert dnncc.run(["qemu-aarch64", "-cpu", cpu, tmp_path / "main"]).stdout.startswith(told), cpu


# ---- spills ----

@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name, target", [("resnet8_fp32", "aarch64"), ("resnet8_int8", "aarch64"), ("resnet8_int8", "aarch64-dotprod"),
                                          ("dscnn_kws_int8", "aarch64-dotprod"), ("resnet8_int8", "aarch64-i8mm")])
@pytest.mark.sample(4)
def test_sums_stay_in_registers(name, target, compiler, tmp_path):
    """loops of register tiles keep nothing on the stack; those of pairs of bytes, which fill all 32 registers, little"""
    model = real(name) / "model.onnx"
    bind = [f"--input={p.name}={'x'.join(str(d.dim_value or 1) for d in p.type.tensor_type.shape.dim)}" for p in onnx.load(model).graph.input]
    dnncc.compile_model(model, tmp_path, [f"--target={target}", *bind])
    cc = {"gcc": [processor.emulator("aarch64").cc], "clang": ["clang", "--target=aarch64-linux-gnu", "-I/usr/aarch64-linux-gnu/include"]}[compiler]
    if not shutil.which(cc[0]):
        pytest.skip(f"no {cc[0]}")
    done = dnncc.run([*cc, "-O2", "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"], timeout=600)
    assert done.returncode == 0, done.stderr[:3000]
    seen = 0
    for function, body in machine_code.tile_loops(machine_code.listing(tmp_path / "model.o")):
        seen += 1
        moved = [text for text in body if re.search(r"\b[qd]\d+,.*\[sp", text)]
        assert len(moved) <= (len(body) // (16 if compiler == "gcc" else 11) if any(text.startswith("smull") for text in body) else 0), (function, moved)
    assert seen >= 2


@pytest.mark.sample(2)
@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
@pytest.mark.parametrize("target", TARGETS)
def test_clang(target, tmp_path):
    model = real("resnet8_int8") / "model.onnx"
    dnncc.compile_model(model, tmp_path, [f"--target={target}"])
    done = dnncc.run(["clang", "--target=aarch64-linux-gnu", "-I/usr/aarch64-linux-gnu/include", "-O2", *dnncc.STRICT, "-c", tmp_path / "model.c",
                      "-o", tmp_path / "model.o"], timeout=600)
    assert done.returncode == 0, done.stderr[:3000]


# ---- bf16 ----

SUMS_OF_PAIRS = """loop 3
program "t" source ""
buffer @s : f32[{n}] input "s"
buffer @x : u32[{n}] input "x"
buffer @w : u32[{n}] input "w"
buffer @y : f32[{n}] output "y"
kernel @k(%s: in f32[{n}], %x: in u32[{n}], %w: in u32[{n}], %y: out f32[{n}]) {{
  for %i = 0 to {n} step 4 {{
    store %y[%i] = dot_bf16_odd(%s<4>[%i], {x}, %w<4>[%i])
  }}
}}
main {{
  call @k(@s, @x, @w, @y)
}}
"""


@pytest.mark.parametrize("x", ["%x<4>[%i]", "splat<4>(lane(%x<4>[%i], 2))"], ids=["vector", "lane"])
def test_sums_of_pairs(x, tmp_path, count=40000):
    """bfdot rounds to odd and takes subnormal numbers for zero: as the library says it, to the bit"""
    r = np.random.default_rng(7)
    near = [r.integers(0, 2**32, count, np.uint32) & np.uint32(0x87ff87ff) | np.uint32(0x3c003c00) for _ in range(2)]     # exponents close to each other
    far = [r.integers(0, 2**32, count, np.uint32) for _ in range(2)]
    words = [np.where(np.arange(count) // 4 % 2, a, b) for a, b in zip(near, far)]
    sums = r.integers(0, 2**32, count, np.uint32)
    sums = np.where(np.arange(count) % 3 == 0, sums, sums & np.uint32(0x87ffffff) | np.uint32(0x3c000000)).view(np.float32)
    (tmp_path / "m.loops").write_text(SUMS_OF_PAIRS.format(n=count, x=x))
    given = [sums, *words]
    (tmp_path / "generic").mkdir()
    dnncc.compile_model(tmp_path / "m.loops", tmp_path / "generic", ["--target=generic"])
    want = dnncc.run_host(dnncc.build_host(tmp_path / "generic", ["-O2"]), given)[0]
    got = results(tmp_path / "m.loops", "aarch64-i8mm", tmp_path / "arm", given)[0]
    assert operands_of(tmp_path / "arm", "bfdot") and np.isfinite(want).mean() > .5
    np.testing.assert_array_equal(got[np.isfinite(want)], want[np.isfinite(want)])
    assert not np.isfinite(got[~np.isfinite(want)]).any()


def test_products_in_bf16(tmp_path):
    """a network in bf16: near to the one in f32, by products of matrices"""
    image = np.random.default_rng(3).random((1, 1, 8, 8)).astype(np.float32)
    options = ["--precision=bf16", "--limit=bf16_percent=1000000"]
    want = results(DIGITS, "generic", tmp_path / "generic", [image])[0]
    got = results(DIGITS, "aarch64-i8mm", tmp_path / "arm", [image], *options)[0]
    assert operands_of(tmp_path / "arm", "bfmmla") and operands_of(tmp_path / "arm", "bfcvtn")
    assert 0 < np.abs(got - want).max() <= 2e-2 * np.abs(want).max()
