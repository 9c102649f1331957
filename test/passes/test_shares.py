# SPDX-License-Identifier: MIT
"""shares: a softmax gives no denormal numbers, where a mask adds -100, on targets with vectors; exponentials of other numbers stay what they are."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

WINDOWS, HEADS, POSITIONS, WIDTH = 4, 3, 49, 32


def save(path, nodes, inputs, outputs, constants=()):
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in part] for part in (inputs, outputs)]
    graph = helper.make_graph(nodes, "m", *ports, [numpy_helper.from_array(v, k) for k, v in constants])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def softmax(path, axis=-1):
    """of scores and a mask, which is the output"""
    shape = [HEADS, POSITIONS, POSITIONS]
    mask = np.where(np.random.default_rng(0).random(shape) < 0.5, -100, 0).astype(np.float32)
    nodes = [helper.make_node("Add", ["x", "mask"], ["s"]), helper.make_node("Softmax", ["s"], ["y"], axis=axis)]
    return save(path, nodes, [("x", shape)], [("y", shape)], [("mask", mask)])


def attention(path):
    """windows of which some positions do not see each other, as shifted windows have"""
    shape = [WINDOWS, HEADS, POSITIONS, WIDTH]
    mask = np.where(np.random.default_rng(0).random([WINDOWS, 1, POSITIONS, POSITIONS]) < 0.5, -100, 0).astype(np.float32)
    nodes = [helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", ["q", "kt"], ["p"]),
             helper.make_node("Add", ["p", "mask"], ["s"]), helper.make_node("Softmax", ["s"], ["w"]), helper.make_node("MatMul", ["w", "v"], ["y"])]
    return save(path, nodes, [(n, shape) for n in "qkv"], [("y", shape)], [("mask", mask)])


def others(path):
    """e to the x alone; less the largest of other rows, or of another value; less the mean: none of these is at most 1"""
    shape = [POSITIONS, POSITIONS]
    nodes, outputs = [helper.make_node("Exp", ["x"], ["y0"])], ["y0"]
    for n, (less, axes, keep) in enumerate([("ReduceMax", [0], 1), ("ReduceMean", [1], 1), ("ReduceMax", [1], 0), ("other", [1], 1)], 1):
        nodes += [helper.make_node("Neg", ["x"], [f"n{n}"]),
                  helper.make_node("ReduceMax" if less == "other" else less, [f"n{n}" if less == "other" else "x"], [f"m{n}"], axes=axes, keepdims=keep),
                  helper.make_node("Sub", ["x", f"m{n}"], [f"d{n}"]), helper.make_node("Exp", [f"d{n}"], [f"e{n}"]),
                  helper.make_node("ReduceSum", [f"e{n}", "one"], [f"t{n}"], keepdims=1), helper.make_node("Div", [f"e{n}", f"t{n}"], [f"y{n}"])]
        outputs.append(f"y{n}")
    return save(path, nodes, [("x", shape)], [(y, shape) for y in outputs], [("one", np.array([1]))])


def counts(model, *options):
    text = dnncc.run([dnncc.DNNCC, model, "--emit=ir", "-o", "-", *options]).stdout
    return len(re.findall(r"= exp_flushed\(", text)), len(re.findall(r"= exp\(", text))


@pytest.mark.parametrize("make", [softmax, attention])
def test_where(make, tmp_path):
    """on vectors, and not under --exact"""
    model = make(tmp_path / "m.onnx")
    assert counts(model, "--target=x86-64-v3") == counts(model, "--target=aarch64") == (1, 0)
    assert counts(model, "--target=x86-64-v3", "--exact") == counts(model, "--target=generic") == counts(model, "--target=cuda-sm_80") == (0, 1)


def test_others(tmp_path):
    """the largest along axis 0 gives a softmax along rows an x of at most 0 all the same; the rest stays"""
    assert counts(others(tmp_path / "m.onnx"), "--target=x86-64-v3") == (1, 4)


@pytest.mark.sample(5)
@pytest.mark.slow
@pytest.mark.parametrize("make, options", [(softmax, ""), (attention, ""), (attention, "--precision=bf16"), (others, "")])
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_results(make, options, target, tmp_path):
    """onnxruntime's, but no denormal numbers of a softmax; and of each pass, in the interpreter, what was before"""
    if not processor.has(target):
        pytest.skip("this processor cannot run it")
    model, said = make(tmp_path / "m.onnx"), [f"--target={target}", *options.split()]
    done = dnncc.run([dnncc.DNNCC, model, *said, "--check"])
    assert done.returncode == 0, done.stderr
    dnncc.compile_model(model, tmp_path, said)
    program = dnncc.build_host(tmp_path, ["-O2"])
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    feeds = {i.name: np.random.default_rng(1).standard_normal(i.shape, np.float32) for i in session.get_inputs()}
    for got, want in zip(dnncc.run_host(program, list(feeds.values())), session.run(None, feeds)):
        assert np.abs(got - want).max() <= (2e-2 if "bf16" in options else 2e-6) * np.abs(want).max()
        tiny = [np.sum((a != 0) & (np.abs(a) < np.finfo(np.float32).tiny)) for a in (got, want)]
        assert make is not softmax or (tiny[0] == 0 < tiny[1])
