# SPDX-License-Identifier: MIT
"""Kernels joined by the strips pass give the same bits as apart, whatever the number of threads; for the targets that this machine can
run. Inverted bottlenecks of all kinds, large enough to be joined: --emit=ir shows that they are."""
import pathlib
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_schedule import TARGETS, shape  # noqa: E402

BACKWARDS = """
void dnncc_parallel(void (*task)(void *, int, int), void *arg, int count)
{
        for (int i = count; i-- > 0;)
                task(arg, i, count);
}
"""
PASSES = "fuse,schedule,{}lower,legalize,plan"


def bottleneck(seed):
    """expand, depthwise, project; a residual where shapes allow; extents that strips and tiles do not divide. As text; how many kernels
    it takes (without an expansion, the halo is one more); inputs"""
    r = random.Random(seed)
    images, rows, columns, stride, window = r.choice([1, 1, 2]), r.randint(70, 90), r.randint(50, 70), r.choice([1, 1, 2]), r.choice([3, 3, 5])
    blocks, middle, pad = r.randint(1, 2), r.choice([6, 7]), window // 2
    residual, expands = stride == 1, r.random() < 0.8
    out = [(d + 2 * pad - window) // stride + 1 for d in (rows, columns)]
    first = blocks if expands else middle
    x, e = [images, first, rows, columns, 16], [images, middle, rows, columns, 16]
    p = [images, middle, rows + 2 * pad, columns + 2 * pad, 16]
    d, y = [images, middle, *out, 16], [images, first, *out, 16]
    inputs = {"x": x, "d": [middle, window, window, 16], "p": [-(-first // 2), middle, 1, 1, 16, 2, 16]}
    lines, value = [], "%x"
    if expands:
        inputs |= {"e": [-(-middle // 2), blocks, 1, 1, 16, 2, 16], "b": [middle, 16]}
        lines += [f"%0 = convolve_packed(%x, %e) channels={16 * blocks - r.randint(0, 9)} outputs={16 * middle} : {shape(*e)}",
                  f"%1 = broadcast(%b) dims=[1, 4] : {shape(*e)}", f"%2 = add(%0, %1) : {shape(*e)}", f"%3 = max(%2, 0.0) : {shape(*e)}"]
        value = "%3"
    lines += [f"%4 = pad({value}, <f32> 0.0, <5 x i64> [0, 0, {pad}, {pad}, 0]) : {shape(*p)}",
              f"%5 = convolve_lanes(%4, %d) strides=[{stride}, {stride}] : {shape(*d)}", f"%6 = min(%5, 6.0) : {shape(*d)}",
              f"%7 = convolve_packed(%6, %p) channels={16 * middle} outputs={16 * first} : {shape(*y)}"]
    if residual:
        lines.append(f"%8 = add(%7, %x) : {shape(*y)}")
    arguments = ", ".join(f'%{name} "{name}": {shape(*dims)}' for name, dims in inputs.items())
    body = "\n".join("  " + line for line in lines)
    text = f'dnn 1\nmodule "m"\nfunc @main({arguments}) -> ("y") {{\n{body}\n  yield({"%8" if residual else "%7"})\n}}\n'
    values = np.random.default_rng(seed)
    return text, 1 if expands else 2, [values.standard_normal(dims, dtype=np.float32) for dims in inputs.values()]


def pooled(seed):
    """a convolution by a window and a pool with pads"""
    r = random.Random(seed)
    rows, columns, stride = r.randint(90, 100), r.randint(90, 100), r.choice([1, 2])
    out = [(d - 1) // stride + 1 for d in (rows, columns)]
    x, c, y = [1, 1, rows + 2, columns + 2, 8], [1, 3, rows, columns, 16], [1, 3, *out, 16]
    text = f"""dnn 1
module "m"
func @main(%x "x": {shape(*x)}, %w "w": {shape(2, 1, 3, 3, 8, 2, 16)}) -> ("y") {{
  %0 = convolve_packed(%x, %w) channels=8 outputs=48 : {shape(*c)}
  %1 = max(%0, 0.0) : {shape(*c)}
  %2 = reduce_window(%1) window=[1, 1, 3, 3, 1] strides=[1, 1, {stride}, {stride}, 1] pads=[0, 0, 1, 1, 0, 0, 0, 1, 1, 0] : {shape(*y)}
  yield(%2)
}}
"""
    values = np.random.default_rng(seed)
    return text, 1, [values.standard_normal(dims, dtype=np.float32) for dims in (x, (2, 1, 3, 3, 8, 2, 16))]


@pytest.mark.parametrize("make, seed", [(bottleneck, seed) for seed in range(6)] + [(pooled, seed) for seed in range(3)])
@pytest.mark.sample(8)
def test_joined_is_apart(make, seed):
    target = TARGETS[seed % 3]
    processor.require(target)
    text, fewest, inputs = make(seed)
    results = []
    for strips, threads in [("", 1), ("strips,", 1), ("strips,", 3)]:
        with dnncc.Workspace(f"strips-{target}-{seed}-{threads}{strips[:1]}") as folder:
            path = folder / "program.dnn"
            path.write_text(text)
            options = [f"--target={target}", f"--threads={threads}", f"--passes={PASSES.format(strips)}"]
            kernels = dnncc.run([dnncc.DNNCC, path, "--emit=loops", "-o", "-", *options]).stdout.count("\nkernel @")
            assert kernels == fewest if strips else kernels > fewest, text
            dnncc.compile_model(path, folder, options)
            if threads > 1:
                with open(folder / "model.c", "a") as file:
                    file.write(BACKWARDS)
            results.append(dnncc.run_host(dnncc.build_host(folder, ["-O1"]), inputs)[0])
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
