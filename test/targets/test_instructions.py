# SPDX-License-Identifier: MIT
"""How many instructions networks take on machines that are emulated: at most so many (docs/arm.md, docs/riscv.md). Counts are exact, and
those of one compiler, so that they are held where it is the one that they were taken with."""
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import dnncc  # noqa: E402
import instructions  # noqa: E402
import processor  # noqa: E402

# millions; with them: nine tenths of what XNNPACK takes, or less, 2.2 times aarch64's, and NEON's products an instruction less a tenth
AT_MOST = [("aarch64", "resnet8_int8", 3.9), ("aarch64-dotprod", "resnet8_int8", 1.4), ("armv7-neon", "dscnn_kws_int8", 2.95), ("riscv64-v", "resnet8_fp32", 2.0)]
AS_WELL = [("aarch64", "resnet8_fp32", 3.2), ("aarch64", "dscnn_kws_int8", 1.7), ("aarch64-dotprod", "dscnn_kws_int8", .66), ("aarch64-sve256", "resnet8_fp32", 1.95),
           ("armv7-neon", "resnet8_fp32", 6.79), ("armv7-neon", "resnet8_int8", 8.51), ("riscv64-v256", "resnet8_fp32", 1.9)]
VERSIONS = {"gcc": r"\b12\.\d", "clang": r"\b16\.\d"}


@pytest.mark.slow
@pytest.mark.parametrize("target, name, most", AT_MOST + [pytest.param(*case, marks=pytest.mark.long) for case in AS_WELL])
def test_counts(target, name, most, tmp_path):
    processor.require(target)
    cc = processor.emulator(target).cc.split()[0]
    if not re.search(VERSIONS["clang" if "clang" in cc else "gcc"], dnncc.run([cc, "--version"]).stdout):
        pytest.skip(f"counts are those of another version of {cc}")
    model = instructions.MODELS / name / "model.onnx"
    if not model.exists():
        pytest.skip(f"no {name} in ../shared/models")
    assert instructions.measure(dnncc.DNNCC, model, target, instructions.build_plugin(tmp_path))[0] <= most * 1e6
