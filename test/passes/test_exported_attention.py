# SPDX-License-Identifier: MIT
"""Attention and rotary embeddings as exporters write them, of five to thirty nodes, end in as many kernels as the operators; what is near
to them, and is not them, does not end in theirs, and all compute what onnxruntime does."""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_patterns import expressions  # noqa: E402

HEADS, ROWS, KEYS, SIZE = 4, 24, 32, 16
TARGET = "x86-64-v4"


class Graph:
    """nodes one after the other; constants by value"""

    def __init__(self):
        self.nodes, self.constants, self.inputs, self.outputs = [], [], {}, {}

    def input(self, name, *shape, kind=np.float32):
        values = np.random.default_rng(len(self.inputs))
        self.inputs[name] = values.random(shape) < 0.7 if kind is bool else values.standard_normal(shape).astype(kind)
        return name

    def constant(self, value, kind=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def __getattr__(self, op):
        def add(*operands, **attributes):
            name = f"v{len(self.nodes)}"
            self.nodes.append(helper.make_node(op, list(operands), [name], name, **attributes))
            return name
        return add

    def output(self, name, *shape):
        self.outputs[name] = shape

    def model(self, opset):
        def info(name, shape, kind=TensorProto.FLOAT):
            return helper.make_tensor_value_info(name, kind, shape)
        graph = helper.make_graph(self.nodes, "g", [info(n, v.shape, helper.np_dtype_to_tensor_dtype(v.dtype)) for n, v in self.inputs.items()],
                                  [info(n, s) for n, s in self.outputs.items()], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def heads(g, x, length, count):
    return g.Transpose(g.Reshape(x, g.ints(1, length, count, SIZE)), perm=[0, 2, 1, 3])


def repeated(g, x, groups, axis=2):
    """repeat_kv: each of the groups for the heads that share it; along axis 1 another order"""
    wide = [1, groups, KEYS, SIZE]
    wide.insert(axis, HEADS // groups)
    return g.Reshape(g.Expand(g.Unsqueeze(x, g.ints(axis)), g.ints(*wide)), g.ints(1, HEADS, KEYS, SIZE))


def attention(groups=HEADS, scale="mul", mask="add", factor=SIZE ** -0.5, shown=0.0, axis=-1, repeat=2, watch=False):
    """scale: where; mask: how it hides; the others spoil it"""
    g = Graph()
    q = heads(g, g.input("q", 1, ROWS, HEADS * SIZE), ROWS, HEADS)
    k, v = (heads(g, g.input(n, 1, KEYS, groups * SIZE), KEYS, groups) for n in "kv")
    m = g.input("m", ROWS, KEYS, kind=np.float32 if mask == "add" else bool)
    if groups != HEADS:
        k, v = repeated(g, k, groups, repeat), repeated(g, v, groups, repeat)
    k = g.Transpose(k, perm=[0, 1, 3, 2])
    if scale in ("q", "both"):
        q = g.Mul(q, g.constant(factor if scale == "q" else factor ** 0.5))
    if scale == "both":
        k = g.Mul(k, g.constant(factor ** 0.5))
    s = g.MatMul(q, k)
    if scale in ("mul", "div"):
        s = g.Mul(s, g.constant(factor)) if scale == "mul" else g.Div(s, g.constant(1 / factor))
    if mask == "where":
        s = g.Where(m, s, g.constant(-np.inf))
    else:
        s = g.Add(s, m if mask == "add" else g.Where(m, g.constant(shown), g.constant(-np.inf)))
    y = g.MatMul(g.Softmax(s, axis=axis), v)
    g.output(g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), g.ints(1, ROWS, HEADS * SIZE)), 1, ROWS, HEADS * SIZE)
    if watch:
        g.output(s, 1, HEADS, ROWS, KEYS)
    return g


def attention_operator(groups=HEADS, mask="add"):
    g = Graph()
    q, k, v = g.input("q", 1, ROWS, HEADS * SIZE), g.input("k", 1, KEYS, groups * SIZE), g.input("v", 1, KEYS, groups * SIZE)
    m = g.input("m", ROWS, KEYS, kind=np.float32 if mask == "add" else bool)
    g.output(g.Attention(q, k, v, m, q_num_heads=HEADS, kv_num_heads=groups), 1, ROWS, HEADS * SIZE)
    return g


def compiled(g, opset, folder):
    path = folder / "m.onnx"
    onnx.save(g.model(opset), path)
    done = dnncc.run([dnncc.DNNCC, path, f"--target={TARGET}", "--emit=json", "-o", "-"])
    assert done.returncode == 0, done.stderr
    (folder / "m.json").write_text(done.stdout)
    return expressions(json.loads(done.stdout))


def check_numbers(g, opset, folder):
    path = folder / "m.onnx"
    onnx.save(g.model(opset), path)
    want = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, g.inputs)
    dnncc.compile_model(path, folder)
    for a, b in zip(dnncc.run_host(dnncc.build_host(folder), list(g.inputs.values())), want):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


FORMS = [dict(scale=s, mask=m, groups=n) for n in (HEADS, 2) for s, m in
         (("mul", "add"), ("div", "add"), ("q", "add"), ("both", "add"), ("mul", "where"), ("div", "bias"))]


@pytest.mark.parametrize("form", FORMS, ids=lambda f: "-".join(map(str, f.values())))
@pytest.mark.sample(4)
def test_attention(tmp_path, form):
    """all that hide alike are one expression, in as many kernels as the operator, whose rows are 0 where all keys are hidden"""
    g = attention(**form)
    same = attention(form["groups"], "mul", "add" if form["mask"] == "add" else "where")
    outputs, kernels = compiled(g, 18, tmp_path)
    assert outputs == compiled(same, 18, tmp_path)[0]
    assert kernels == compiled(attention_operator(form["groups"], form["mask"]), 23, tmp_path)[1]
    check_numbers(g, 18, tmp_path)


def test_shared_keys_exact(tmp_path):
    """keys keep the scale that the operator gives them"""
    processor.require(TARGET)
    g = attention_operator(2)
    onnx.save(g.model(23), tmp_path / "m.onnx")
    results = []
    for folder, option in ((tmp_path / "plain", "-O0"), (tmp_path / "exact", "--exact")):
        folder.mkdir()
        dnncc.compile_model(tmp_path / "m.onnx", folder, [f"--target={TARGET}", option])
        results.append(dnncc.run_host(dnncc.build_host(folder), list(g.inputs.values()))[0])
    assert np.array_equal(*results)


TWINS = {"scores are an output": dict(watch=True), "another scale": dict(scale="both", factor=SIZE ** -0.5 + 1e-3),
         "along queries": dict(axis=2), "not quite a mask": dict(mask="bias", shown=1e-3), "other groups": dict(groups=2, repeat=1)}


@pytest.mark.parametrize("twin", TWINS)
def test_near_attention(tmp_path, twin):
    spoilt = attention(**TWINS[twin])
    like = {k: v for k, v in TWINS[twin].items() if k in ("groups", "mask", "scale")}
    outputs, kernels = compiled(spoilt, 18, tmp_path)
    good, fewest = compiled(attention(**like), 18, tmp_path)
    assert outputs != good
    assert kernels > fewest or twin in ("another scale", "other groups")
    check_numbers(spoilt, 18, tmp_path)


def rotary(form, watch=False, sign=-1.0):
    """halves: x * cos + (-right, left) * sin, with each angle twice; pairs: of neighbours"""
    g = Graph()
    x, c, s = g.input("x", 1, HEADS, ROWS, SIZE), g.input("c", 1, ROWS, SIZE // 2), g.input("s", 1, ROWS, SIZE // 2)
    half = SIZE // 2

    def part(first, end, step=1):
        return g.Slice(x, g.ints(first), g.ints(end), g.ints(3), g.ints(step))
    if form == "halves":
        cosine, sine = (g.Unsqueeze(g.Concat(v, v, axis=-1), g.ints(1)) for v in (c, s))
        turned = g.Concat(g.Mul(part(half, SIZE), g.constant(sign)), part(0, half), axis=-1)
        y = g.Add(g.Mul(x, cosine), g.Mul(turned, sine))
    else:
        c, s, a, b = g.Unsqueeze(c, g.ints(1)), g.Unsqueeze(s, g.ints(1)), part(0, SIZE, 2), part(1, SIZE, 2)
        turned = g.Mul(g.Mul(b, s), g.constant(sign))
        y = g.Concat(*(g.Unsqueeze(v, g.ints(-1)) for v in (g.Add(g.Mul(a, c), turned), g.Add(g.Mul(a, s), g.Mul(b, c)))), axis=-1)
        y = g.Reshape(y, g.ints(1, HEADS, ROWS, SIZE))
    g.output(y, 1, HEADS, ROWS, SIZE)
    if watch:
        g.output(turned, 1, HEADS, ROWS, SIZE if form == "halves" else half)
    return g


def rotary_operator(interleaved):
    g = Graph()
    x, c, s = g.input("x", 1, HEADS, ROWS, SIZE), g.input("c", 1, ROWS, SIZE // 2), g.input("s", 1, ROWS, SIZE // 2)
    g.output(g.RotaryEmbedding(x, c, s, interleaved=interleaved), 1, HEADS, ROWS, SIZE)
    return g


@pytest.mark.parametrize("form", ["halves", "pairs"])
def test_rotary(tmp_path, form):
    outputs, kernels = compiled(rotary(form), 18, tmp_path)
    angles = 2 if form == "halves" else 0       # that come twice
    assert kernels <= compiled(rotary_operator(form == "pairs"), 23, tmp_path)[1] + angles
    assert form == "pairs" or "transpose" not in (tmp_path / "m.json").read_text()
    check_numbers(rotary(form), 18, tmp_path)
    for near in (dict(sign=-1.001), dict(watch=True)):
        assert compiled(rotary(form, **near), 18, tmp_path)[0] != outputs
        check_numbers(rotary(form, **near), 18, tmp_path)
