# SPDX-License-Identifier: MIT
"""Code for SVE, of 4, 8 and 16 lanes, under qemu with registers of several lengths: whole numbers are those of generic, floats under
--exact, too; where registers are too short, nothing is computed."""
import pathlib
import re
import shutil
import sys
from dataclasses import replace

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import machine_code  # noqa: E402
import processor  # noqa: E402

BYTES = {"aarch64-sve128": 16, "aarch64-sve256": 32, "aarch64-sve512": 64}
LONGEST = 256
DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
MODELS = dnncc.ROOT.parent / "shared" / "models"
ERROR_PROCESSOR = -7
CLANG = ["clang", "--target=aarch64-linux-gnu", "-I/usr/aarch64-linux-gnu/include"]
pytestmark = [processor.needs("aarch64"), pytest.mark.slow]


def registers(length):
    """an emulator whose registers have so many bytes"""
    e = processor.emulator("aarch64")
    return replace(e, run=(*e.run[:-1], f"{e.run[-1]},sve-default-vector-length={length}"))


def results(model, target, folder, inputs, *options, length=None):
    folder.mkdir()
    dnncc.compile_model(model, folder, [f"--target={target}", *options])
    return dnncc.run_host(dnncc.build_host(folder, ["-O2"], emulator=length and registers(length)), inputs)


def real(name):
    if not (MODELS / name).is_dir():
        pytest.skip(f"no {name} in ../shared/models")
    return MODELS / name / "model.onnx"


def bindings(model):
    return [f"--input={p.name}={'x'.join(str(max(d.dim_value, 1)) for d in p.type.tensor_type.shape.dim)}" for p in onnx.load(model).graph.input]


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", BYTES)
@pytest.mark.parametrize("options", [[], ["--exact"]], ids=["fast", "exact"])
def test_floats(target, options, tmp_path):
    image = np.random.default_rng(3).random((1, 1, 8, 8)).astype(np.float32)
    want = results(DIGITS, "generic", tmp_path / "generic", [image], *options)[0]
    for length in (BYTES[target], LONGEST):
        got = results(DIGITS, target, tmp_path / str(length), [image], *options, length=length)[0]
        if options:
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
            assert re.search(r"\tfml?a\s+z", machine_code.listing(tmp_path / str(length) / "model.o"))


@pytest.mark.parametrize("target", BYTES)
@pytest.mark.parametrize("name", ["resnet8_int8", *(pytest.param(name, marks=pytest.mark.long) for name in ("dscnn_kws_int8", "micro_kws_qoperator"))])
def test_bytes(name, target, tmp_path):
    model = real(name)
    kind = {1: np.float32, 3: np.int8, 2: np.uint8}
    r, inputs = np.random.default_rng(5), []
    for port in onnx.load(model).graph.input:
        t = port.type.tensor_type
        numbers = r.standard_normal([max(d.dim_value, 1) for d in t.shape.dim]) * 30
        inputs.append(numbers.astype(kind[t.elem_type]))
    want = results(model, "generic", tmp_path / "generic", inputs, *bindings(model))
    got = results(model, target, tmp_path / target, inputs, *bindings(model), length=LONGEST)
    for ours, exact in zip(got, want, strict=True):
        np.testing.assert_array_equal(ours, exact)
    assert re.search(r"\tsdot\s+z", machine_code.listing(tmp_path / target / "model.o"))


MAIN = """#include <stdio.h>
#include "model.h"
int main(void)
{
        static float x[64], y[10];
        static unsigned char workspace[MODEL_WORKSPACE_SIZE + 64] __attribute__((aligned(64)));
        y[0] = 7;
        printf("%d ", model_run(workspace, x, y));
        printf("%d\\n", y[0] == 7);
        return 0;
}
"""
LEVEL = '#include <stdio.h>\n#include "model.h"\nint main(void)\n{\n        printf("%d\\n", model_level());\n        return 0;\n}\n'


def build(folder, main, *options):
    dnncc.compile_model(DIGITS, folder, options)
    (folder / "main.c").write_text(main)
    command = [processor.emulator("aarch64").cc, *dnncc.STRICT, "-O1", "-static", f"-I{folder}", folder / "main.c", folder / "model.c", "-o", folder / "main"]
    done = dnncc.run(command, timeout=600)
    assert done.returncode == 0, done.stderr[:3000]
    return folder / "main"


def test_choice(tmp_path):
    """one file for several lengths: the longest that registers hold; for NEON where there is no SVE"""
    main = build(tmp_path, LEVEL, "--target=aarch64,aarch64-sve128,aarch64-sve256,aarch64-sve512")
    for cpu, level in (("max,sve-default-vector-length=256", 3), ("max", 3), ("max,sve-default-vector-length=48", 2),
                       ("max,sve-default-vector-length=32", 2), ("max,sve-default-vector-length=16", 1), ("cortex-a76", 0)):
        assert dnncc.run(["qemu-aarch64", "-cpu", cpu, main]).stdout == f"{level}\n", cpu


@pytest.mark.parametrize("target", [target for target, count in BYTES.items() if count > 16])
def test_short_registers(target, tmp_path):
    main = build(tmp_path, MAIN, f"--target={target}")
    for length, code in ((16, ERROR_PROCESSOR), (BYTES[target] // 2, ERROR_PROCESSOR), (BYTES[target], 0)):
        run = [*registers(length).run, main]
        assert dnncc.run(run).stdout == f"{code} {int(code != 0)}\n", length


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name, target", [("resnet8_fp32", "aarch64-sve256"), ("resnet8_int8", "aarch64-sve256"),
                                          ("resnet8_fp32", "aarch64-sve128"), *(pytest.param(name, "aarch64-sve512", marks=pytest.mark.long) for name in ("resnet8_fp32", "resnet8_int8"))])
def test_sums_stay_in_registers(name, target, compiler, tmp_path):
    """of gcc's loops all; clang 14 stores and loads one now and then"""
    model = real(name)
    dnncc.compile_model(model, tmp_path, [f"--target={target}", *bindings(model)])
    cc = {"gcc": [processor.emulator("aarch64").cc], "clang": [*CLANG, "-march=armv8-a+sve"]}[compiler]
    if not shutil.which(cc[0]):
        pytest.skip(f"no {cc[0]}")
    done = dnncc.run([*cc, *dnncc.STRICT, "-O2", "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"], timeout=600)
    assert done.returncode == 0, done.stderr[:3000]
    seen = 0
    for function, body in machine_code.tile_loops(machine_code.listing(tmp_path / "model.o")):
        moved = [text for text in body if re.match(r"(?:str|ldr)\s+z", text)]           # whole registers: compilers alone do that
        seen += 1
        assert len(moved) <= (0 if compiler == "gcc" else len(body) // 16), (function, moved)
    assert seen >= 2


@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
def test_clang_wants_a_flag(tmp_path):
    """of clang before 16, which says so; the least level of a list compiles without"""
    if int(re.search(r"version (\d+)", dnncc.run(["clang", "--version"]).stdout)[1]) >= 16:
        pytest.skip("this clang needs no flag")
    dnncc.compile_model(DIGITS, tmp_path, ["--target=aarch64,aarch64-sve256"])
    command = [*CLANG, "-fsyntax-only", tmp_path / "model.c"]
    done = dnncc.run(command)
    assert done.returncode != 0 and "-march=armv8-a+sve" in done.stderr, done.stderr[:2000]
    for flag in ("-march=armv8-a+sve", "-DMODEL_LEVEL=0"):
        done = dnncc.run([*command, *dnncc.STRICT, flag])
        assert done.returncode == 0, done.stderr[:2000]
