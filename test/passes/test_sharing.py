# SPDX-License-Identifier: MIT
"""Kernels in a row share their work alike, so that threads find in their own caches what they made before; the bits are those of one
thread, whatever the order of tasks."""
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_schedule import shape  # noqa: E402
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
@pytest.mark.sample(2)
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
            dnncc.compile_model(path, folder, [*options, "--passes=fuse,schedule,lower,legalize,plan,prune"])
            if not processor.here(TARGET):
                continue
            if threads > 1:
                with open(folder / "model.c", "a") as file:
                    file.write(BACKWARDS)
            results.append(dnncc.run_host(dnncc.build_host(folder, ["-O1"]), inputs)[0])
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def schedules(name, text, threads):
    """of a program's contractions, in order"""
    with dnncc.Workspace(f"sharing-{name}-{threads}") as folder:
        path = folder / "program.dnn"
        path.write_text(text)
        ir = dnncc.run([dnncc.DNNCC, path, "--emit=ir", "-o", "-", f"--target={TARGET}", f"--threads={threads}", "--passes=fuse,schedule"]).stdout
    return [dict(word.split("=") for word in words.split()) for words in re.findall(r'schedule="([^";]*)', ir)]


def pointwise(name, weights, x, blocks, inputs, outputs, extent):
    """a line of a convolution by windows of one position, and its weights"""
    w = f'%{weights} "{weights}": {shape(outputs // 2, blocks, 1, 1, 16, 2, 16)}'
    return f"  %{name} = convolve_packed(%{x}, %{weights}) channels={inputs} outputs={16 * outputs} : {shape(1, outputs, extent, extent, 16)}\n", w


def program(steps, extent, blocks, result):
    lines, weights = zip(*[step if isinstance(step, tuple) else (step, None) for step in steps])
    arguments = ", ".join([f'%x "x": {shape(1, blocks, extent, extent, 16)}', *[w for w in weights if w]])
    return f"""dnn 1\nmodule "m"\nfunc @main({arguments}) -> ("y") {{\n{''.join(lines)}  yield(%{result})\n}}\n"""


def test_what_is_added_is_shared_like_what_it_is_added_to():
    """the sum is read by rows: so are both of its parts made, the one with the add in its kernel and the other"""
    text = program([pointwise("0", "a", "x", 4, 64, 16, 56), pointwise("1", "b", "x", 4, 64, 16, 56),
                    f"  %2 = add(%1, %0) : {shape(1, 16, 56, 56, 16)}\n", pointwise("3", "c", "2", 16, 256, 4, 56)], 56, 4, "3")
    assert [s.get("row_tasks") for s in schedules("added", text, 2)] == ["2"] * 3


def test_fewer_tiles_fetch_more_of_the_next_panel():
    text = program([pointwise("0", "a", "x", 16, 256, 8, 14)], 14, 16, "0")
    (alone,), (shared,) = schedules("fetched", text, 1), schedules("fetched", text, 2)
    assert shared["row_tasks"] == "2" and int(shared["prefetch"]) == 2 * int(alone["prefetch"])


def test_short_kernels_in_a_row_stay_on_one_thread():
    """of 64 x 64 x 64: 3 us each, as in a small transformer, after loops as short"""
    text = program([f"  %s = mul(%x, 2.0) : {shape(1, 4, 8, 8, 16)}\n", pointwise("0", "a", "s", 4, 64, 4, 8),
                    pointwise("1", "b", "0", 4, 64, 4, 8), pointwise("2", "c", "1", 4, 64, 4, 8)], 8, 4, "2")
    assert not [s for s in schedules("short", text, 2) if "row_tasks" in s or "panel_tasks" in s]
