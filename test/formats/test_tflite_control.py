# SPDX-License-Identifier: MIT
"""IF and WHILE of TFLite files: branches, conditions and bodies in other subgraphs, as LiteRT runs them."""
import pathlib
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402

pytest.importorskip("ai_edge_litert.interpreter")
import test_tflite as tflite  # noqa: E402
import tflite_writer as w  # noqa: E402

FLOAT, INT32, INT8, BOOL = np.float32, np.int32, np.int8, np.bool_


def graph(m, shapes, nodes):
    """a subgraph of these inputs, (shape, type) each; nodes(m, inputs) makes its outputs. Returns its number."""
    inputs = [m.tensor(*s) for s in shapes]
    return m.close(inputs, nodes(m, inputs))


def made(m, name, inputs, *type_of, options=None, **fields):
    y = m.tensor(*type_of)
    m.add(name, inputs, [y], options, **fields)
    return y


def number(m, value, kind=INT32):
    return m.constant(np.array(value, kind))


def binary(name, options):
    return lambda m, x: [made(m, name, [x[0], x[1]], [4], options=options)]


def while_of(m, inputs, cond, body):
    outs = [m.tensor(m.tensors[i].shape, {v: k for k, v in w.TYPES.items()}[m.tensors[i].type]) for i in inputs]
    m.add("WHILE", inputs, outs, "WhileOptions", condSubgraphIndex=cond, bodySubgraphIndex=body)
    return outs


def branches():
    m = w.Writer()
    two = [([4], FLOAT)] * 2
    then = graph(m, two, binary("ADD", "AddOptions"))
    other = graph(m, two, binary("MUL", "MulOptions"))
    c, x, y = m.tensor([1], BOOL), m.tensor([4]), m.tensor([4])
    z = m.tensor([4])
    m.add("IF", [c, x, y], [z], "IfOptions", thenSubgraphIndex=then, elseSubgraphIndex=other)
    return m.bytes([c, x, y], [z]), [[np.array([v]), np.arange(4, dtype=FLOAT), np.full(4, 3, FLOAT)] for v in (True, False)]


def counter(first=None, most=None, kind=FLOAT):
    """while (i < n) { i += 1; x = x * 0.5 + i } """
    shapes = [([], INT32), ([], INT32), ([3], FLOAT)]

    def step(m, v):
        i = made(m, "ADD", [v[0], number(m, 1)], [], INT32, options="AddOptions")
        half = made(m, "MUL", [v[2], number(m, 0.5, FLOAT)], [3], options="MulOptions")
        real = made(m, "CAST", [i], [], FLOAT)
        return [i, v[1], made(m, "ADD", [half, real], [3], options="AddOptions")]

    m = w.Writer()
    cond = graph(m, shapes, lambda m, v: [made(m, "LESS", [v[0], v[1]], [], BOOL)])
    body = graph(m, shapes, step)
    i = number(m, first) if first is not None else m.tensor([], INT32)
    n = number(m, most) if most is not None else m.tensor([], INT32)
    x = m.tensor([3])
    outs = while_of(m, [i, n, x], cond, body)
    inputs = [t for t, given in ((i, first), (n, most)) if given is None] + [x]
    numbers = [np.array(v, INT32) for v, given in ((2, first), (7, most)) if given is None]
    none = [np.array(v, INT32) for v, given in ((2, first), (-1, most)) if given is None]
    real = np.array([1, -2, 0.25], FLOAT)
    return m.bytes(inputs, [outs[2], outs[0]]), [[*numbers, real], [*none, real]]


def nested():
    """a WHILE whose body has an IF, whose branch has a WHILE"""
    m = w.Writer()
    shapes = [([], INT32), ([4], FLOAT)]
    below = lambda most: lambda m, v: [made(m, "LESS", [v[0], number(m, most)], [], BOOL)]

    def double(m, v):
        return [made(m, "ADD", [v[0], number(m, 2)], [], INT32, options="AddOptions"), made(m, "ADD", [v[1], v[1]], [4], options="AddOptions")]
    inner_cond, inner = graph(m, shapes, below(5)), graph(m, shapes, double)
    then = graph(m, shapes, lambda m, v: [while_of(m, [v[0], v[1]], inner_cond, inner)[1]])
    other = graph(m, shapes, lambda m, v: [made(m, "SUB", [v[1], number(m, 1, FLOAT)], [4], options="SubOptions")])

    def step(m, v):
        y = m.tensor([4])
        c = made(m, "EQUAL", [made(m, "FLOOR_MOD", [v[0], number(m, 2)], [], INT32), number(m, 0)], [], BOOL)
        m.add("IF", [c, v[0], v[1]], [y], "IfOptions", thenSubgraphIndex=then, elseSubgraphIndex=other)
        return [made(m, "ADD", [v[0], number(m, 1)], [], INT32, options="AddOptions"), y]
    cond, body = graph(m, shapes, below(6)), graph(m, shapes, step)
    i, x = m.tensor([], INT32), m.tensor([4])
    outs = while_of(m, [i, x], cond, body)
    return m.bytes([i, x], outs), [[np.array(k, INT32), np.array([1, 2, -1, 0.5], FLOAT)] for k in (0, 3, 9)]


def quantized():
    """convolutions of i8 in a loop, with constants of their own"""
    m, rng = w.Writer(), np.random.default_rng(5)
    image = ([1, 5, 4, 2], INT8, 0.1, 3)
    shapes = [([], INT32), image]

    def step(m, v):
        fw = m.constant(rng.integers(-127, 128, (2, 3, 3, 2)).astype(INT8), scale=[0.02, 0.03])
        fb = m.constant(rng.integers(-500, 500, 2).astype(INT32), scale=[0.002, 0.003])
        y = made(m, "CONV_2D", [v[1], fw, fb], *image, options="Conv2DOptions", padding=w.SAME, strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1,
                 fusedActivationFunction=w.RELU)
        return [made(m, "ADD", [v[0], number(m, 1)], [], INT32, options="AddOptions"), y]
    cond, body = graph(m, shapes, lambda m, v: [made(m, "LESS", [v[0], number(m, 3)], [], BOOL)]), graph(m, shapes, step)
    i, x = m.tensor([], INT32), m.tensor(*image)
    z = m.tensor(*image)
    m.add("WHILE", [i, x], [m.tensor([], INT32), z], "WhileOptions", condSubgraphIndex=cond, bodySubgraphIndex=body)
    return m.bytes([i, x], [z]), [[np.array(k, INT32), rng.integers(-128, 128, image[0]).astype(INT8)] for k in (0, 2, 3)]


def constant():
    """the branch that is not taken is for other types"""
    m = w.Writer()
    then = graph(m, [([4], FLOAT)], lambda m, v: [made(m, "NEG", [v[0]], [4])])
    other = graph(m, [([4], INT32)], lambda m, v: [made(m, "LSH_PROJECTION", [v[0]], [4])])
    x, y = m.tensor([4]), m.tensor([4])
    m.add("IF", [m.constant(np.array(True)), x], [y], "IfOptions", thenSubgraphIndex=then, elseSubgraphIndex=other)
    return m.bytes([x], [y]), [[np.arange(4, dtype=FLOAT)]]


MODELS = {"branches": branches, "while": counter, "while_constant": lambda: counter(0, 5), "while_from": lambda: counter(first=0), "while_never": lambda: counter(4, 4),
          "nested": nested, "quantized": quantized}


@pytest.mark.sample(8)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_control(name, compiled, tmp_path):
    content, cases = MODELS[name]()
    (tmp_path / "m.tflite").write_bytes(content)
    it = tflite.interpreter(content)
    for k, inputs in enumerate(cases):
        folder = tmp_path / str(k)
        folder.mkdir()
        tflite.same(tflite.expected(it, inputs), tflite.computed(tmp_path / "m.tflite", inputs, folder, ["--cc=gcc -O1"] if compiled else ["-O0"]))


def test_constant_branch(tmp_path):
    content, cases = constant()
    (tmp_path / "m.tflite").write_bytes(content)
    assert np.array_equal(tflite.computed(tmp_path / "m.tflite", cases[0], tmp_path)[0], -cases[0][0])


# ---- wrong files ----

def condition(then, other, kind=BOOL, nodes=binary("ADD", "AddOptions"), outputs=1):
    m = w.Writer()
    graph(m, [([4], FLOAT)] * 2, nodes)
    graph(m, [([4], FLOAT)] * 2, lambda m, x: [made(m, "ADD", [x[0], number(m, np.zeros((2, 4)), FLOAT)], [2, 4], options="AddOptions")])
    graph(m, [([4], FLOAT)] * 3, binary("ADD", "AddOptions"))
    graph(m, [([4], INT32)] * 2, lambda m, x: [x[0]])
    c, x, y = m.tensor([1], kind), m.tensor([4]), m.tensor([4])
    z = [m.tensor([4]) for _ in range(outputs)]
    m.add("IF", [c, x, y], z, "IfOptions", thenSubgraphIndex=then, elseSubgraphIndex=other)
    return m.bytes([c, x, y], z)


def calling(depth, times):
    """subgraph k calls k + 1 so many times; the last one does nothing, or, where it is the only one, calls itself"""
    m = w.Writer()
    shapes = [([1], BOOL), ([4], FLOAT)]

    def call(m, c, x, k):
        return made(m, "IF", [c, c, x], [4], options="IfOptions", thenSubgraphIndex=k, elseSubgraphIndex=k)

    def nodes(k):
        def make(m, v):
            y = v[1]
            for _ in range(times if k < depth or depth == 1 else 0):
                y = call(m, v[0], y, min(k + 1, depth))
            return [y]
        return make
    for k in range(1, depth + 1):
        graph(m, shapes, nodes(k))
    c, x = m.tensor([1], BOOL), m.tensor([4])
    return m.bytes([c, x], [call(m, c, x, 1)])


def endless():
    m = w.Writer()
    cond = graph(m, [([4], FLOAT)], lambda m, v: [m.constant(np.array(True))])
    body = graph(m, [([4], FLOAT)], lambda m, v: [made(m, "NEG", [v[0]], [4])])
    x = m.tensor([4])
    return m.bytes([x], while_of(m, [x], cond, body))


def growing():
    m = w.Writer()
    cond = graph(m, [([4], FLOAT), ([], BOOL)], lambda m, v: [v[1]])
    body = graph(m, [([4], FLOAT), ([], BOOL)], lambda m, v: [made(m, "CONCATENATION", [v[0], v[0]], [8], options="ConcatenationOptions"), v[1]])
    x, c = m.tensor([4]), m.tensor([], BOOL)
    return m.bytes([x, c], while_of(m, [x, c], cond, body))


def unknown(m, x):
    return [made(m, "LSH_PROJECTION", [x[0]], [4])]


WRONG = {
    "outside": (condition(1, 9), dnncc.INVALID, "subgraph 9 of 5"),
    "main": (condition(0, 1), dnncc.INVALID, "subgraph 0 of 5"),
    "condition": (condition(1, 1, FLOAT), dnncc.INVALID, "want one bool"),
    "shapes": (condition(1, 2), dnncc.UNSUPPORTED, "output 0 is <4 x f32> in one branch and <2 x 4 x f32>"),
    "inputs": (condition(1, 3), dnncc.INVALID, "has 3 inputs, and is called with 2"),
    "types": (condition(4, 1), dnncc.INVALID, "of a subgraph is called with"),
    "outputs": (condition(1, 1, outputs=2), dnncc.INVALID, "has 1 outputs, want 2"),
    "unknown": (condition(1, 2, nodes=unknown), dnncc.UNSUPPORTED, "LSH_PROJECTION"),
    "itself": (calling(1, 1), dnncc.INVALID, "nested subgraphs"),
    "doubling": (calling(40, 2), dnncc.INVALID, "operators and tensors of subgraphs that are called"),
    "endless": (endless(), dnncc.INVALID, "never ends"),
    "growing": (growing(), dnncc.UNSUPPORTED, "after an iteration"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name, tmp_path):
    content, code, text = WRONG[name]
    done = tflite.ended(tmp_path / "m.tflite", content)
    assert done.returncode == code and text in done.stderr, (done.returncode, done.stderr)
