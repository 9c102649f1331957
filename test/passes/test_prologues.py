# SPDX-License-Identifier: MIT
"""Kernels that take in the element-wise one in front of them give the same bits as apart, whatever the number of threads; for the targets
that this machine can run."""
import pathlib
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_schedule import TARGETS, shape  # noqa: E402
from test_strips import BACKWARDS  # noqa: E402

PASSES = "fuse,schedule,{}lower,legalize,plan"


def normalized(seed):
    """batch norm, activation, perhaps a halo and a stride, a convolution with an epilogue: as text; whether it must become one kernel; its
    inputs"""
    r = random.Random(seed)
    images, blocks, rows, columns = r.choice([1, 1, 2]), r.randint(5, 8), r.randint(50, 70), r.choice([56, 56, r.randint(50, 70)])
    window, stride, outputs = r.choice([1, 1, 3]), r.choice([1, 1, 2]), r.randint(70, 100)
    pad = window // 2
    x, p = [images, blocks, rows, columns, 16], [images, blocks, rows + 2 * pad, columns + 2 * pad, 16]
    y = [images, -(-outputs // 16), (rows + 2 * pad - window) // stride + 1, (columns + 2 * pad - window) // stride + 1, 16]
    inputs = {"x": x, "s": [blocks, 16], "t": [blocks, 16], "w": [-(-y[1] // 2), blocks, window, window, 16, 2, 16], "r": y}
    lines = [f"%0 = broadcast(%s) dims=[1, 4] : {shape(*x)}", f"%1 = mul(%x, %0) : {shape(*x)}",
             f"%2 = broadcast(%t) dims=[1, 4] : {shape(*x)}", f"%3 = add(%1, %2) : {shape(*x)}", f"%4 = max(%3, 0.0) : {shape(*x)}"]
    if pad:
        lines.append(f"%5 = pad(%4, <f32> 0.0, <5 x i64> [0, 0, {pad}, {pad}, 0]) : {shape(*p)}")
    lines += [f"%6 = convolve_packed({'%5' if pad else '%4'}, %w) strides=[{stride}, {stride}] channels={16 * blocks - r.randint(0, 9)} outputs={outputs} : {shape(*y)}",
              f"%7 = add(%6, %r) : {shape(*y)}"]
    arguments = ", ".join(f'%{name} "{name}": {shape(*dims)}' for name, dims in inputs.items())
    body = "\n".join("  " + line for line in lines)
    text = f'dnn 1\nmodule "m"\nfunc @main({arguments}) -> ("y") {{\n{body}\n  yield(%7)\n}}\n'
    values = np.random.default_rng(seed)
    return text, window * stride == 1, [values.standard_normal(dims, dtype=np.float32) for dims in inputs.values()]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sample(8, each=False)
def test_same_bits(target, seed, tmp_path):
    processor.require(target)
    text, joins, inputs = normalized(seed)
    (tmp_path / "program.dnn").write_text(text)
    results = []
    for number, (joined, threads) in enumerate([("", 1), ("prologues,", 1), ("prologues,", 3)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        options = [f"--target={target}", f"--threads={threads}", "--passes=" + PASSES.format(joined)]
        loops = dnncc.run([dnncc.DNNCC, tmp_path / "program.dnn", "--emit=loops", "-o", "-", *options]).stdout
        assert not joins or loops.count("\nkernel @") == (1 if joined else 2), text
        dnncc.compile_model(tmp_path / "program.dnn", folder, options)
        if threads > 1:
            with open(folder / "model.c", "a") as file:
                file.write(BACKWARDS)
        results.append(dnncc.run_host(dnncc.build_host(folder, ["-O1"]), inputs)[0])
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.sample(2)
@pytest.mark.parametrize("number", [0.0, 1.0])
@pytest.mark.parametrize("target", TARGETS)
def test_halo(target, number, tmp_path):
    """what is decoded in front of a contraction keeps the number that a pad puts around it"""
    processor.require(target)
    values = np.random.default_rng(3)
    first, second = ([float(v) for v in values.integers(-4, 5, 32 * 32 * window)] for window in (1, 9))
    x = shape(1, 32, 12, 12)
    (tmp_path / "program.dnn").write_text(f"""dnn 1
module "m"
func @main(%x "x": {x}) -> ("y") {{
  %0 = convolve(%x, {shape(32, 32, 1, 1)} {first}) : {x}
  %1 = cast(%0) to=u8 : <1 x 32 x 12 x 12 x u8>
  %2 = cast(%1) to=f32 : {x}
  %3 = mul(%2, 0.25) : {x}
  %4 = pad(%3, <f32> {number}, <4 x i64> [0, 0, 1, 1]) : {shape(1, 32, 14, 14)}
  %5 = convolve(%4, {shape(32, 32, 3, 3)} {second}) : {x}
  yield(%5)
}}
""")
    given, results = values.integers(0, 40, (1, 32, 12, 12)).astype(np.float32), []
    for options in (["-O0"], [f"--target={target}", "--limit", "winograd_percent=0"]):
        folder = tmp_path / str(len(results))
        folder.mkdir()
        dnncc.compile_model(tmp_path / "program.dnn", folder, options)
        results.append(dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [given])[0])
    np.testing.assert_array_equal(*results)
