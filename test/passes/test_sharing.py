"""Kernels in a row share their work alike, so that threads find in their own caches what they made before; the bits are those of one
thread, whatever the order of tasks."""
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
from test_schedule import here, shape  # noqa: E402
from test_strips import BACKWARDS  # noqa: E402

TARGET = "x86-64-v4"


def bottleneck(blocks, middle, extent):
    """expand, depthwise, project; as text, and its inputs"""
    x, p = [1, blocks, extent, extent, 16], [1, middle, extent + 2, extent + 2, 16]
    e = d = [1, middle, extent, extent, 16]
    inputs = {"x": x, "e": [-(-middle // 2), blocks, 1, 1, 16, 2, 16], "d": [middle, 3, 3, 16], "p": [-(-blocks // 2), middle, 1, 1, 16, 2, 16]}
    arguments = ", ".join(f'%{name} "{name}": {shape(*dims)}' for name, dims in inputs.items())
    text = f"""dnn 1
module "m"
func @main({arguments}) -> ("y") {{
  %0 = convolve_packed(%x, %e) channels={16 * blocks} outputs={16 * middle} : {shape(*e)}
  %1 = max(%0, 0.0) : {shape(*e)}
  %2 = pad(%1, <f32> 0.0, <5 x i64> [0, 0, 1, 1, 0]) : {shape(*p)}
  %3 = convolve_lanes(%2, %d) : {shape(*d)}
  %4 = max(%3, 0.0) : {shape(*d)}
  %5 = convolve_packed(%4, %p) channels={16 * middle} outputs={16 * blocks} : {shape(*x)}
  yield(%5)
}}
"""
    return text, [np.random.default_rng(1).standard_normal(dims, dtype=np.float32) for dims in inputs.values()]


# rows where positions are many; panels where weights are: of an odd number, one is cut
@pytest.mark.parametrize("shapes, tasks", [((2, 12, 28), ["row_tasks"] * 3), ((10, 60, 7), ["panel_tasks"] * 3),
                                           ((9, 45, 7), ["panel_tasks"] * 3)])
def test_neighbours_share_alike(shapes, tasks):
    text, inputs = bottleneck(*shapes)
    results = []
    for threads in (1, 2, 3):
        with dnncc.Workspace(f"sharing-{shapes[0]}-{threads}") as folder:
            path = folder / "program.dnn"
            path.write_text(text)
            options = [f"--target={TARGET}", f"--threads={threads}"]
            ir = dnncc.run([dnncc.DNNCC, path, "--emit=ir", "-o", "-", *options, "--passes=fuse,schedule"]).stdout
            found = re.findall(r"(row_tasks|panel_tasks)=", "\n".join(re.findall(r'schedule="([^";]*)', ir)))
            assert found == (tasks if threads == 2 else found if threads > 1 else []), ir
            dnncc.compile_model(path, folder, [*options, "--passes=fuse,schedule,lower,legalize,plan"])
            if not here(TARGET):
                continue
            if threads > 1:
                with open(folder / "model.c", "a") as file:
                    file.write(BACKWARDS)
            results.append(dnncc.run_host(dnncc.build_host(folder, ["-O1"]), inputs)[0])
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
