# SPDX-License-Identifier: MIT
"""The kernels of the zoo in machine code of ARM and RISC-V: loops of register tiles keep no vector on the stack, and those of FMLA copy
none. The zoo's twins have all widths of channels that the zoo has. By default a network for each machine and kind of number."""
import pathlib
import re
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import dnncc  # noqa: E402
import machine_code  # noqa: E402
import processor  # noqa: E402
from zoo import twins  # noqa: E402

SAMPLE = {("armv7-neon", "squeezenet"), ("armv7-neon", "mobilenet_v2_qdq"), ("aarch64", "squeezenet"), ("aarch64", "bert_base"), ("riscv64-v", "squeezenet")}
TARGETS = ["aarch64", "aarch64-dotprod", "aarch64-i8mm", "aarch64-fp16", "aarch64-sve256", "armv7-neon", "riscv64-v", "riscv64-v256"]
NETWORKS = [name for name in [*twins.MODELS, *twins.QUANTIZED] if name not in ("recommender", "vgg16")]       # of these all layers are products of one row
# gcc 12 keeps some vectors in memory all the same: one instruction of 16 of pairs of bytes, which take nearly all registers and copies where
# an instruction writes what it reads. Beyond the sample also of tiles that leave fewer than four registers (docs/arm.md): at most one of so many
PAIRS, WINDOWS = ("smull", "vmull"), "depthwise"
FEW = {"aarch64-sve256": 11, "armv7-neon": 4}             # others: 16
ROWS = ("gpt_step", "lstm")             # most of their products are of one row, in loops of few sums


@pytest.mark.slow
@pytest.mark.parametrize("target, name", [pytest.param(target, name, marks=[] if (target, name) in SAMPLE else pytest.mark.long)
                                          for target in TARGETS for name in NETWORKS])
def test_sums_stay_in_registers(target, name, tmp_path):
    processor.require(target)
    machine = next(m for start, m in machine_code.MACHINES.items() if target.startswith(start))
    if not shutil.which(machine.objdump):
        pytest.skip(f"no {machine.objdump}")
    if "nbits" in name:
        pytest.importorskip("onnx_ir", reason="onnxruntime's MatMulNBitsQuantizer wants it: make systems-packages")
    dnncc.compile_model(twins.build(name), tmp_path, [f"--target={target}", "--weights=file"], timeout=600)
    cc = processor.emulator(target).cc.split()
    relax = ["-mno-relax"] if machine is machine_code.RISCV else []          # jumps have places at once
    done = dnncc.run([*cc, "-O2", *relax, "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"], timeout=1200)
    assert done.returncode == 0, done.stderr[:3000]
    seen, wrong = 0, []
    for function, body in machine_code.tile_loops(machine_code.listing(tmp_path / "model.o", machine), machine):
        moved = machine_code.on_the_stack(body, machine)
        seen += 1
        pairs, window = any(line.startswith(PAIRS) for line in body), machine is machine_code.ARM32 and WINDOWS in function
        sample = (target, name) in SAMPLE
        one_of = FEW.get(target, 16) if not sample else 6 if window else 16 if pairs else len(body) + 1
        if len(moved) > len(body) // one_of:
            wrong.append((function, len(body), len(moved), moved[:4]))
        copied = [line for line in body if re.match(r"mov v\d+\.16b", line)]
        if machine is machine_code.ARM64 and copied and any(line.startswith("fmla v") for line in body):
            wrong.append((function, len(body), len(copied), copied[:4]))
    assert not wrong, wrong
    assert seen >= (2 if (target, name) in SAMPLE else 0 if name.startswith(ROWS) else 1)
