# SPDX-License-Identifier: MIT
"""com.microsoft's Attention and MultiHeadAttention over a past of as many keys as a run gives, as onnxruntime has them, also as state that is
appended to in place."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).resolve().parent)]
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_grouped import compiled, same  # noqa: E402

F32, I32 = TensorProto.FLOAT, TensorProto.INT32
HEADS, SIZE, ROOM = 4, 16, 40
WIDTH = HEADS * SIZE
DIMS = [f"--dim=P=0..{ROOM - 8}", "--dim=T=P+N"]


def save(path, op, batch=1, mask=None, bias=False, **attributes):
    """a layer over its past; mask: its extents; bias: of the scores. Returns onnxruntime's session, and a function that makes inputs."""
    rng = np.random.default_rng(5)
    constants = {"w": (rng.standard_normal((WIDTH, 3 * WIDTH)) * 0.3).astype(np.float32), "b": rng.standard_normal(3 * WIDTH).astype(np.float32)}
    ports, held = [("x", F32, [batch, "N", WIDTH])], [batch, HEADS, "P", SIZE]
    masks, scores = ["mask"] if mask else [""], ["scores"] if bias else [""]
    ports += [("mask", I32, mask)] if mask else []
    ports += [("scores", F32, [1, HEADS, "N", "T"])] if bias else []
    grown = [batch, HEADS, "T", SIZE]
    if op == "Attention":
        nodes = [helper.make_node(op, ["x", "w", "b", *masks, "past.all", *scores], ["y", "present.all"], domain="com.microsoft", num_heads=HEADS,
                                  **attributes)]
        ports += [("past.all", F32, [2, *held])]
        results = [("present.all", F32, [2, *grown])]
    else:
        nodes = [helper.make_node("MatMul", ["x", "w"], ["all"]), helper.make_node("Split", ["all"], ["q", "k", "v"], axis=-1),
                 helper.make_node(op, ["q", "k", "v", "b", *masks, *scores, "past.k", "past.v"], ["y", "present.k", "present.v"], domain="com.microsoft",
                                  num_heads=HEADS, **attributes)]
        ports += [(f"past.{z}", F32, held) for z in "kv"]
        results = [(f"present.{z}", F32, grown) for z in "kv"]
    graph = helper.make_graph(nodes, "grown", [helper.make_tensor_value_info(*p) for p in ports],
                              [helper.make_tensor_value_info(*p) for p in [("y", F32, [batch, "N", WIDTH]), *results]],
                              [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)

    def given(rng, before, steps):
        extents = {"P": before, "N": steps, "T": before + steps}
        shapes = {name: [extents.get(e, e) for e in shape] for name, _, shape in ports}
        return {name: rng.integers(0, 4, shapes[name]).clip(0, 1).astype(np.int32) if kind == I32 and len(shape) > 1 else
                np.full(shapes[name], before + steps - 1, np.int32) if kind == I32 else rng.standard_normal(shapes[name]).astype(np.float32)
                for name, kind, shape in ports}
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]), given


KINDS = [("Attention", {"unidirectional": 1}), ("Attention", {"unidirectional": 1, "mask": [1, "T"]}), ("Attention", {"mask": [2, "T"], "batch": 2}),
         ("Attention", {"mask": [1, "N", "T"], "scale": 0.5}), ("Attention", {"mask": [1], "unidirectional": 1}),
         ("MultiHeadAttention", {"unidirectional": 1}), ("MultiHeadAttention", {"mask": [1, "T"]}), ("MultiHeadAttention", {"batch": 2, "mask": [2, "T"], "bias": True}),
         ("MultiHeadAttention", {"mask": [1, "N", "T"], "unidirectional": 1})]


@pytest.mark.parametrize("options", [(), ("-O0",), ("--target=x86-64-v3",), ("--target=x86-64-v4", "--exact")], ids=lambda o: " ".join(o) or "plain")
@pytest.mark.parametrize("op, form", KINDS, ids=str)
@pytest.mark.sample(15)
def test_a_past_that_grows(op, form, options, tmp_path):
    session, given = save(tmp_path / "m.onnx", op, **form)
    program, rng = compiled(tmp_path, *DIMS, "--dim=N=1..8", *options), np.random.default_rng(1)
    for before, count in (0, 1), (7, 1), (32, 1), (0, 8), (13, 5), (32, 8):
        inputs = given(rng, before, count)
        same(dnncc.run_host(program, list(inputs.values())), session.run(None, inputs))


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
@pytest.mark.parametrize("op", ["Attention", "MultiHeadAttention"])
def test_as_state(op, target, tmp_path):
    """rows are written in place: nothing copies the past; entries for a prompt and a step"""
    save(tmp_path / "m.onnx", op, mask=[1, "T"], unidirectional=1)
    command = [dnncc.DNNCC, tmp_path / "m.onnx", *DIMS, "--state=past.*=present.*", f"--target={target}"]
    done = dnncc.run([*command, "--dim=N=1..8", "--emit=loops", "-o", "-"])
    assert done.returncode == 0, done.stderr
    main = done.stdout[done.stdout.index("\nmain"):]
    assert "@copy" not in main, main
    done = dnncc.run([*command, "--dim=N=1", "--emit=loops", "-o", "-"])
    main = done.stdout[done.stdout.index("\nmain"):]
    # the rows of this step, and the two products, which read keys and values where they lie
    assert len(re.findall(r"@past_", main)) == (3 if op == "Attention" else 4), main
    assert dnncc.run([*command, "--entry=prompt:N=1..8", "--entry=step:N=1", "-o", tmp_path / "e.c"]).returncode == 0
    assert dnncc.run([*command, "--dim=N=1..8", "--check", "-o", tmp_path / "e.c"]).returncode == 0


def decoder(path, mask):
    """causal attention over a past as exporters write it: positions are a Range from the past's length on; windows hide early keys, too"""
    nodes, constants = [], {"w": (np.random.default_rng(6).standard_normal((WIDTH, 3 * WIDTH)) * 0.3).astype(np.float32)}

    def node(op, *inputs, name=None, **attributes):
        for i in (i for i in inputs if not isinstance(i, str)):
            constants[f"c{len(constants)}"] = np.asarray(i)
        named = [i if isinstance(i, str) else next(n for n, c in constants.items() if c is i) for i in inputs]
        nodes.append(helper.make_node(op, named, [name or f"v{len(nodes)}"], **attributes))
        return nodes[-1].output[0]
    zero, one = np.array(0), np.array(1)
    past = node("Gather", node("Shape", "past.k"), np.array(2))
    all = node("Add", past, node("Gather", node("Shape", "x"), one))
    rows, keys = node("Unsqueeze", node("Range", past, all, one), np.array([1])), node("Range", zero, all, one)
    hidden = node("Greater", keys, rows)
    if mask == "window":
        hidden = node("Or", hidden, node("Less", keys, node("Sub", rows, np.array(5))))
    low = np.array(-np.inf if mask == "infinite" else -1e9, np.float32)
    added = node("Where", hidden, low, np.array(0, np.float32))
    heads = [node("Transpose", node("Reshape", part, np.array([0, 0, HEADS, SIZE])), perm=[0, 2, 1, 3])
             for part in (node("Slice", node("MatMul", "x", "w", name="all") if not i else "all", np.array([i * WIDTH]), np.array([(i + 1) * WIDTH]), np.array([2])) for i in range(3))]
    k, v = node("Concat", "past.k", heads[1], name="present.k", axis=2), node("Concat", "past.v", heads[2], name="present.v", axis=2)
    scores = node("Mul", node("MatMul", heads[0], node("Transpose", k, perm=[0, 1, 3, 2])), np.array(.25, np.float32))
    y = node("MatMul", node("Softmax", node("Add", scores, added), axis=-1), v)
    node("Reshape", node("Transpose", y, perm=[0, 2, 1, 3]), np.array([0, 0, WIDTH]), name="y")
    ports = [helper.make_tensor_value_info(name, F32, shape) for name, shape in (("x", [1, "N", WIDTH]), ("past.k", [1, HEADS, "P", SIZE]), ("past.v", [1, HEADS, "P", SIZE]),
                                                                                  ("y", [1, "N", WIDTH]), ("present.k", [1, HEADS, "T", SIZE]), ("present.v", [1, HEADS, "T", SIZE]))]
    graph = helper.make_graph(nodes, "decoder", ports[:3], ports[3:], [onnx.numpy_helper.from_array(a, name) for name, a in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


@pytest.mark.sample(6, each=False)
@pytest.mark.slow
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("mask", ["finite", "infinite", "window"])
def test_hidden_keys_are_left_out(mask, target, tmp_path):
    """a tile of rows ends with the last key that one of them sees, behind the past"""
    if not processor.has(target):
        pytest.skip("this processor cannot run it")
    session = decoder(tmp_path / "m.onnx", mask)
    dims = ["--dim=N=1..45", "--dim=P=0..30", "--dim=T=P+N", f"--target={target}"]
    loops = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *dims, "--emit=loops", "-o", "-"]).stdout
    assert "let %columns : index = min(%last + %P, " in loops
    program, rng = compiled(tmp_path, *dims), np.random.default_rng(1)
    for before, count in (0, 1), (30, 1), (0, 45), (1, 13), (17, 14), (30, 29), (13, 44):
        inputs = {"x": rng.standard_normal((1, count, WIDTH)).astype(np.float32)}
        inputs |= {f"past.{z}": rng.standard_normal((1, HEADS, before, SIZE)).astype(np.float32) for z in "kv"}
        same(dnncc.run_host(program, list(inputs.values())), session.run(None, inputs))
