# SPDX-License-Identifier: MIT
"""grid: which loops become lanes, which do not, and that all compute what they did (--check runs the interpreter before and after)."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

HEAD = """loop 1
program "p" source ""
buffer @x : f32[6000] input "x"
buffer @n : i32[4] input "n"
buffer @y : f32[6000] output "y"
kernel @k(%x: in f32[6000], %n: in i32[4], %y: {access} f32[6000]) {{
{body}
}}
main {{
  call @k(@x, @n, @y)
}}
"""


def grid(tmp_path, body, access="out"):
    (tmp_path / "m.loops").write_text(HEAD.format(body=body, access=access))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", "--target=cuda", "--passes=grid", "--emit=loops", "-o", "-"])
    assert done.returncode == 0, done.stderr
    loops = re.findall(r"for %\w+ = 0 to (\d+) gpu_(\w+)", done.stdout)
    checked = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", "--target=cuda", "--passes=grid,legalize,plan", "--check", "-o", tmp_path / "m.cu"])
    assert checked.returncode == 0 and "grid: equal" in checked.stdout + checked.stderr, checked.stdout + checked.stderr
    phases = []
    for count, kind in loops:           # a warp may have several loops over lanes: the most
        if kind == "block":
            phases.append({})
        phases[-1][kind] = max(int(count), phases[-1].get(kind, 0))
    return [(p["block"], p["warp"], p["lane"]) for p in phases], done.stdout


ONE = [(1, 1, 1)]
CASES = [       # body, access, blocks x warps x lanes of each phase
    ("for %i = 0 to 6000 { store %y[%i] = %x[%i] + 1 }", "out", [(188, 1, 32)]),
    ("for %i = 0 to 20 { store %y[%i] = %x[%i] + 1 }", "out", [(1, 1, 20)]),
    ("for %i = 0 to 60 { for %j = 0 to 100 { store %y[%j * 60 + %i] = %x[%i * 100 + %j] } }", "out", [(188, 1, 32)]),
    ("for %i = 2 to 60 step 3 { let %f : f32 = %x[%i] for %j = 1 to 100 { store %y[%i * 100 + %j] = %x[%j] * %f } }", "out", [(62, 1, 32)]),
    ("for %a = 0 to 4 { for %b = 0 to 1 { for %c = 0 to 5 { for %d = 0 to 6 { store %y[%c * 24 + %a * 6 + %d + %b] = %x[%a] } } } }", "out", [(4, 1, 32)]),
    ("for %i = 0 to 50 { var %s : f32 = 0 for %k = 0 to 9 { set %s = %s + %x[%i + %k] } store %y[%i] = %s }", "out", [(2, 1, 32)]),
    # what iterations share
    ("for %i = 0 to 50 { store %y[0] = %x[%i] }", "out", ONE),
    ("for %i = 1 to 50 { store %y[%i] = %y[%i - 1] + %x[%i] }", "inout", ONE),
    ("for %i = 0 to 50 { for %j = 0 to 50 { store %y[%i * 49 + %j] = %x[%j] } }", "out", ONE),
    ("for %i = 0 to 50 { for %j = 0 to 50 { store %y[%i] = %x[%j] } }", "out", [(2, 1, 32)]),
    ("for %i = 0 to 50 { for %j = 1 to 50 { store %y[%i * 50 + %j] = %y[%i * 50 + %j - 1] + 1 } }", "inout", [(2, 1, 32)]),
    ("for %i = 0 to 50 { store %y[index(%n[%i % 4])] = %x[%i] }", "out", ONE),
    ("var %s : f32 = 0 for %i = 0 to 50 { set %s = %s + %x[%i] } store %y[0] = %s", "out", [(1, 1, 32)]),
    # rows of neighbours, for warps
    ("for %i = 0 to 50 { var %s : f32 = 0 for %k = 0 to 40 { set %s = %s + %x[%i * 40 + %k] } store %y[%i] = %s }", "out", [(50, 1, 32)]),
    ("for %i = 0 to 50 { var %s : f32 = 0 for %k = 0 to 40 { set %s = %s + %x[%k * 50 + %i] } store %y[%i] = %s }", "out", [(2, 1, 32)]),
    # phases, and what stands between them
    ("for %i = 0 to 64 { store %y[%i] = %x[%i] } for %i2 = 0 to 64 { store %y[%i2] = %y[63 - %i2] }", "inout", [(2, 1, 32), (1, 1, 1)]),
    ("for %i = 0 to 64 { store %y[%i] = %x[%i] } for %i2 = 0 to 64 { store %y[%i2 * 2 + 1] = %y[%i2 * 2] }", "inout", [(2, 1, 32), (2, 1, 32)]),
    ("let %f : f32 = %x[3] for %i = 0 to 64 { store %y[%i] = %f } for %j = 0 to 64 { store %y[%j + 64] = %f * 2 }", "out", [(2, 1, 32)] * 2),
    ("let %f : f32 = %y[3] for %i = 0 to 64 { store %y[%i] = %f }", "inout", ONE),
    ("alloc %t : f32[64] stack for %i = 0 to 64 { store %t[%i] = %x[%i] } for %j = 0 to 64 { store %y[%j] = %t[63 - %j] }", "out", ONE),
    ("store %y[0] = 1 store %y[1] = 2", "out", ONE * 2),
]


@pytest.mark.parametrize("body, access, phases", CASES, ids=[str(i) for i in range(len(CASES))])
def test_loops(tmp_path, body, access, phases):
    got, text = grid(tmp_path, body, access)
    assert got == phases, text


MOST = "for %i = 0 to ROWS { var %s : f32 = 0 for %k = 0 to COLUMNS { set %s = max(%s, %x[%i * COLUMNS + %k]) } for %j = 0 to COLUMNS { STORES } }"
ITERATIONS = [       # rows, columns, neighbours of a lane, what lanes store
    (50, 64, 2, "store %y[%i * COLUMNS + %j] = %x[%i * COLUMNS + %j] / %s"),
    (50, 256, 4, "store %y[%i * COLUMNS + %j] = %x[%i * COLUMNS + %j] / %s"),
    (3, 1280, 4, "store %y[%i * COLUMNS + %j] = %x[%i * COLUMNS + %j] / %s"),    # more iterations than a lane keeps values of
    (40, 64, 1, "let %v : f32 = %x[%i * COLUMNS + %j] / %s store %y[%i * 128 + %j * 2] = %v store %y[%i * 128 + %j * 2 + 1] = %v + 1"),
    (50, 70, 1, "store %y[%i * COLUMNS + %j] = %x[%i * COLUMNS + %j] / %s"),      # the last iteration has 6 lanes: values and stores under a condition
]


@pytest.mark.parametrize("rows, columns, side, stores", ITERATIONS)
def test_iterations_of_rows(tmp_path, rows, columns, side, stores):
    """all values of a lane stand in front of its stores (grid_iterations.c), and the program is what it was, to the bit (grid() checks)"""
    got, text = grid(tmp_path, MOST.replace("STORES", stores).replace("ROWS", str(rows)).replace("COLUMNS", str(columns)))
    assert got == [(rows, 1, 32)], text
    loops = [m for m in re.finditer(r"^( *)for %iteration\w* = 0 to (\d+)(?: step (\d+))?( unroll)? \{\n(.*?)^\1\}", text, re.S | re.M) if "store" in m[5]]
    few = columns <= 32 * 32
    kept = side > 1 and few             # what both loops load, in the same lanes
    assert [(int(m[2]), int(m[3] or 1), bool(m[4])) for m in loops] == [(-(-columns // 32), side, few)] * (kept + 1 + few), text
    stored = [re.findall(r"store %(\w+?)\d*\[", m[5]) for m in loops]
    each = stores.count("store") * side
    assert stored == [["kept"] * side] * kept + [["values"] * each] * few + [["y"] * each], text
    assert "%x[" not in loops[-1][5] or not few, text
    assert not kept or text.count("%x[") == side and text.count("lanes\n") == 1, text
    assert "#pragma unroll" in (tmp_path / "m.cu").read_text()


MANY = 1 << 21


def of_many(tmp_path, body, many=MANY):
    (tmp_path / "m.loops").write_text(HEAD.replace("6000", str(many)).format(body=body.replace("MANY", str(many)), access="out"))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", "--target=cuda-sm_90", "--passes=grid", "--check", "--emit=loops", "-o", tmp_path / "y.loops"])
    assert done.returncode == 0 and "grid: equal" in done.stdout + done.stderr, done.stdout + done.stderr
    return (tmp_path / "y.loops").read_text()


def test_iterations_of_elements(tmp_path):
    """where there are enough of them for all multiprocessors, a lane has several; a loop that does more than store has not"""
    texts = [of_many(tmp_path, f"for %i = 0 to MANY {{ {body} }}")
             for body in ("store %y[%i] = %x[MANY - 1 - %i] + 1", "var %s : f32 = %x[MANY - 1 - %i] set %s = %s + 1 store %y[%i] = %s")]
    assert texts[0].count("unroll {") == 2 and "%values[" in texts[0], texts[0]
    assert "unroll" not in texts[1], texts[1]


SIDE = {        # a loop's iterations, body, and how many of them a lane has side by side
    "elements": (MANY, "store %y[%i] = %x[%i] + 1", 4),
    "a variable": (MANY, "var %s : f32 = %x[%i] set %s = %s + 1 store %y[%i] = %s", 4),
    "a window": (64, "var %s : f32 = 0 for %k = 0 to 3 { let %at : index = min(%r + %k, 9) * 64 + %i set %s = max(%s, %x[%at]) } store %y[%r * 64 + %i] = %s", 4),
    "all of a loop": (8, "store %y[%r * 8 + %i] = %x[%i * (MANY / 8) + %r]", 8),
    "words that others read": (64, "store %y[%r * 64 + %i] = %x[%r * 64 + %i] + %x[%i % 7]", 1),
    "under a condition": (64, "store %y[%r * 64 + %i] = select(%r > 3, %x[%r * 64 + %i], 0)", 1),
    "all of a loop under one": (8, "store %y[%r * 8 + %i] = select(%r > 3, %x[%i * (MANY / 8) + %r], 0)", 8),
    "one behind": (64, "store %y[%r * 64 + %i] = %x[min(%r, 9) * 64 + %i + 1]", 1),
    "two apart": (64, "store %y[%r * 64 + %i] = %x[min(%r, 9) * 64 + %i * 2]", 1),
    "stores apart": (8, "store %y[%i * (MANY / 8) + %r] = %x[%r * 8 + %i]", 1),
    "no whole words": (62, "store %y[%r * 62 + %i] = %x[%r * 62 + %i]", 1),
    "iterations that differ": (64, "var %s : f32 = 0 for %k = 0 to %i { set %s = %s + %x[%k * 64] } store %y[%r * 64 + %i] = %s", 1),
}


@pytest.mark.parametrize("what", SIDE)
def test_neighbours_of_a_lane(tmp_path, what):
    """words of 16 bytes are one lane's (grid_side.c), and the program is what it was, to the bit (of_many() checks); where lanes would be too few for all schedulers, they have one each"""
    times, body, side = SIDE[what]
    for many, sides in ((MANY, side), (1 << 18, 1)):
        loop = f"for %i = 0 to {min(times, many)} {{ {body} }}"
        text = of_many(tmp_path, loop if times == MANY else f"for %r = 0 to {many // times} {{ {loop} }}", many)
        assert text.count("store %y") == sides, text


@pytest.mark.parametrize("codes, phases", [(["INDEX", "INDEX"], [(2, 1, 32)]), (["INDEX", "EXTENT"], ONE)])
def test_fails(tmp_path, codes, phases):
    """two codes: which is first is known in one lane alone"""
    body = "for %i = 0 to 64 { if %n[%i % 4] > 100000 { fail CODE0 } if %n[%i % 4] > 200000 { fail CODE1 } store %y[%i] = %x[%i] }"
    got, text = grid(tmp_path, body.replace("CODE0", codes[0]).replace("CODE1", codes[1]))
    assert got == phases, text


def test_checks_between_loops(tmp_path):
    """rows that data chooses: a lane an element, each of which checks its row"""
    body = "for %i = 0 to 4 { if %n[%i] > 100000 { fail INDEX } let %f : f32 = %x[%i] for %j = 0 to 100 { store %y[%i * 100 + %j] = %x[%j] * %f } }"
    got, text = grid(tmp_path, body)
    assert got == [(13, 1, 32)] and text.count("fail INDEX") == 1, text
    got, text = grid(tmp_path, body.replace("fail INDEX }", "fail INDEX } else { store %y[%i] = 1 }"))
    assert got != [(13, 1, 32)], text


def test_checks_before_loops(tmp_path):
    """a check of all is each lane's of the loop behind it, and of no other; where what it reads changes, or a row is behind it, it is one lane's"""
    body = "let %j : i32 = %n[0] if %j > 100000 { fail INDEX } for %i = 0 to 64 { store %y[%i] = %x[%i] } for %k = 64 to 128 { store %y[%k] = %x[%k] }"
    got, text = grid(tmp_path, body)
    assert got == [(2, 1, 32)] * 2 and text.count("fail INDEX") == 1, text
    got, text = grid(tmp_path, body.replace("let %j : i32 = %n[0] if %j > 100000", "if %y[0] > 1e30"), "inout")
    assert got == ONE + [(2, 1, 32)] * 2, text
    got, text = grid(tmp_path, "if %n[0] > 100000 { fail INDEX } if %n[1] > 100000 { fail INDEX } for %i = 0 to 5 { var %s : f32 = 0 for %k = 0 to 512 { set %s = %s + %x[%i * 512 + %k] } store %y[%i] = %s }")
    assert got[0] == (1, 1, 1) and len(got) == 2 and text.count("fail INDEX") == 2, text
    got, text = grid(tmp_path, "for %i = 0 to 64 { store %y[%i] = %x[%i] } if %n[0] > 100000 { fail INDEX }")
    assert got == [(2, 1, 32)] + ONE, text


def test_other_targets_have_none(tmp_path):
    (tmp_path / "m.loops").write_text(HEAD.format(body=CASES[0][0], access="out"))
    for target in ("generic", "x86-64-v4"):
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", f"--target={target}", "--passes=grid", "--emit=loops", "-o", "-"])
        assert done.returncode == 0 and "gpu_" not in done.stdout


@pytest.mark.parametrize("target", ["cuda-sm_75", "cuda-sm_80", "cuda-sm_90", "cuda-sm_100"])
def test_network(tmp_path, target):
    """all kernels of a network are in grid form, equal to what they were; pools are computed by the blocks of the product that reads them"""
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((6, 3, 3, 3)).astype(np.float32), "v": rng.standard_normal((96, 10)).astype(np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("MatMul", ["f", "v"], ["d"]), helper.make_node("Softmax", ["d"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 10])], [numpy_helper.from_array(v, k) for k, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--target={target}", "--check", "-o", tmp_path / "m.cu"])
    assert done.returncode == 0 and "grid: equal" in done.stdout + done.stderr, done.stdout + done.stderr
    text = (tmp_path / "m.cu").read_text()
    assert text.count("__global__") >= 3 and "<<<" not in text and "for (ptrdiff_t m" not in text


@pytest.mark.parametrize("options, said", [(["--threads=2"], "does not take --threads"), (["--bench"], "is for a device"), (["--fast-libm"], "does not take --fast-libm"),
                                           (["--target=cuda-sm_80,x86-64-v4"], "different languages"), (["--target=cuda-sm_80,cuda-sm_90"], "target")])
def test_options_it_does_not_have(tmp_path, options, said):
    (tmp_path / "m.loops").write_text(HEAD.format(body=CASES[0][0], access="out"))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", "--target=cuda", *options, "-o", tmp_path / "m.cu"])
    assert done.returncode == 1 and said in done.stderr and not (tmp_path / "m.cu").exists(), done.stderr
