# SPDX-License-Identifier: MIT
"""Code for 32-bit ARM with NEON, run under qemu: whole numbers are those of generic, floats under --exact, too; what asks for the processor
asks Linux; compilers that lack an option are told so."""
import pathlib
import re
import shutil
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import machine_code  # noqa: E402
import processor  # noqa: E402

TARGET = "armv7-neon"
DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
MODELS = dnncc.ROOT.parent / "shared" / "models"
CLANG = ["clang", "--target=arm-linux-gnueabihf", "-I/usr/arm-linux-gnueabihf/include"]
SHAPES = {"resnet8_fp32": (1, 32, 32, 3), "resnet8_int8": (1, 32, 32, 3), "dscnn_kws_int8": (1, 490), "mnist_cnn": (1, 1, 28, 28)}
pytestmark = [processor.needs(TARGET), pytest.mark.slow]


def results(model, target, folder, *options):
    """of the same inputs for every target"""
    folder.mkdir()
    dnncc.compile_model(model, folder, [f"--target={target}", *options])
    program = dnncc.build_host(folder, ["-O2"], emulator=processor.emulator(target))
    r, given = np.random.default_rng(5), []
    for port in dnncc.describe(program):
        kind = np.dtype(dnncc.numpy_type(port[2]))
        if port[0]:
            given.append(r.standard_normal(port[3]).astype(kind) if kind.kind == "f" else
                         r.integers(np.iinfo(kind).min, np.iinfo(kind).max, port[3], kind, True))
    return dnncc.run_host(program, given)


def bound(name):
    model = MODELS / name / "model.onnx"
    if not model.exists():
        pytest.skip(f"no {name} in ../shared/models")
    lines = [line.rsplit(None, 2) for line in (model.parent / "shapes.txt").read_text().splitlines()] if (model.parent / "shapes.txt").exists() else []
    return [model, *(f"--input={port}={shape}" for port, _, shape in lines if shape != "scalar")]


@pytest.mark.parametrize("options", [[], ["--exact"]], ids=["fast", "exact"])
def test_floats(options, tmp_path):
    want, got = (results(DIGITS, target, tmp_path / target, *options)[0] for target in ("generic", TARGET))
    if options:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        listing = machine_code.listing(tmp_path / TARGET / "model.o")
        assert "vfma.f32\tq" in listing and re.search(r"vdup\.32\tq\d+, d\d+\[1\]", listing)
    assert "Denormal numbers count as 0 in vectors of armv7-neon" in (tmp_path / TARGET / "model.h").read_text()


@pytest.mark.parametrize("name", ["dscnn_kws_int8", pytest.param("resnet8_int8", marks=pytest.mark.long)])
def test_bytes(name, tmp_path):
    model, *bind = bound(name)
    want, got = (results(model, target, tmp_path / target, *bind) for target in ("generic", TARGET))
    for ours, exact in zip(got, want, strict=True):
        np.testing.assert_array_equal(ours, exact)
    assert "vpadal.s16" in machine_code.listing(tmp_path / TARGET / "model.o")


LEVELS = """#include <stdio.h>
#include "model.h"
MODEL_WORKSPACE_DEFINE(workspace);
static float image[MODEL_IMAGE_ELEMS], probabilities[MODEL_PROBABILITIES_ELEMS];
int main(void)
{
        printf("%d %d\\n", model_level(), model_run(workspace, image, probabilities));
        return 0;
}
"""


def test_choice(tmp_path):
    """NEON without VFPv4 (Cortex-A8) is not enough; both together are"""
    dnncc.compile_model(DIGITS, tmp_path, [f"--target=generic,{TARGET}"])
    (tmp_path / "main.c").write_text(LEVELS)
    cc = processor.emulator(TARGET).cc
    done = dnncc.run([cc, *dnncc.STRICT, "-O1", "-static", f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "model.c", "-o", tmp_path / "main"], timeout=600)
    assert done.returncode == 0, done.stderr[:3000]
    for cpu, level in (("cortex-a7", 1), ("cortex-a15", 1), ("cortex-a8", 0), ("cortex-a9", 0)):
        assert dnncc.run(["qemu-arm", "-cpu", cpu, tmp_path / "main"]).stdout == f"{level} 0\n", cpu


def test_native(tmp_path):
    """what --target=native asks, in a program for that machine"""
    (tmp_path / "main.c").write_text('#include <stdio.h>\n#include "codegen/cpu.h"\n'
                                     'int main(void) { printf("%d%d%d\\n", cpu_has("neon"), cpu_has("neon,vfp4"), cpu_has("dotprod")); return 0; }\n')
    done = dnncc.run([processor.emulator(TARGET).cc, "-std=gnu11", "-static", f"-I{dnncc.ROOT}", tmp_path / "main.c", dnncc.ROOT / "codegen" / "cpu.c",
                      "-o", tmp_path / "main"])
    assert done.returncode == 0, done.stderr[:3000]
    for cpu, told in (("cortex-a7", "110"), ("cortex-a8", "100")):
        assert dnncc.run(["qemu-arm", "-cpu", cpu, tmp_path / "main"]).stdout == f"{told}\n", cpu


@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
def test_clang(tmp_path):
    """clang wants the option, and without it says so first; with it there is no warning"""
    dnncc.compile_model(DIGITS, tmp_path, [f"--target={TARGET}"])
    command = [*CLANG, "-O2", *dnncc.STRICT, "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"]
    done = dnncc.run(command, timeout=600)
    assert "-mfpu=neon-vfpv4" in next(line for line in done.stderr.splitlines() if "error:" in line)
    done = dnncc.run([*command, "-mfpu=neon-vfpv4"], timeout=600)
    assert done.returncode == 0 and not done.stderr, done.stderr[:3000]
