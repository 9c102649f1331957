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
@pytest.mark.sample(3)
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
