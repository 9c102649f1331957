# SPDX-License-Identifier: MIT
"""Variables that subgraphs of IF and WHILE read and assign, by handles of their own and by those that the node gives them, go on as LiteRT's do."""
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

FLOAT, BOOL, INT32 = np.float32, np.bool_, np.int32
RUNS = 4


def read(m, h):
    y = m.tensor([3])
    m.add("READ_VARIABLE", [h], [y])
    return y


def binary(m, name, a, b, shape=(3,), kind=FLOAT):
    y = m.tensor(list(shape), kind)
    m.add(name, [a, b], [y], None if name == "LESS" else name.title() + "Options")
    return y


def handle(m, given, name="v"):
    """the subgraph's own, or that of its inputs"""
    return given[0] if given else m.handle(name)


def given_handle(m, by_operand):
    if not by_operand:
        return []
    t = m.tensor([])
    m.tensors[t].type = w.schema.TensorType.RESOURCE
    return [t]


def begin(m):
    """the subgraph that assigns what the variables begin with"""
    m.add("ASSIGN_VARIABLE", [m.handle("v"), m.constant(np.array([1, -2, 3], FLOAT))], [])
    m.add("ASSIGN_VARIABLE", [m.handle("u"), m.constant(np.zeros(3, FLOAT))], [])
    return m.close()


def branches(by_operand):
    """v += x, or v is left and u becomes x; the output has both"""
    m = w.Writer()
    first, graphs = begin(m), []
    for assigns in (True, False):
        given = given_handle(m, by_operand)
        x = m.tensor([3])
        if assigns:
            h = handle(m, given)
            y = binary(m, "ADD", read(m, h), x)
            m.add("ASSIGN_VARIABLE", [h, y], [])
        else:
            m.add("ASSIGN_VARIABLE", [m.handle("u"), x], [])
            y = binary(m, "MUL", x, x)
        graphs.append(m.close([*given, x], [y]))
    which, x, y = m.tensor([], BOOL), m.tensor([3]), m.tensor([3])
    m.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=first)
    h = m.handle("v")
    m.add("IF", [which, *([h] if by_operand else []), x], [y], "IfOptions", thenSubgraphIndex=graphs[0], elseSubgraphIndex=graphs[1])
    z = binary(m, "SUB", binary(m, "ADD", read(m, h), y), read(m, m.handle("u")))
    return m.bytes([which, x], [z, y])


def loop(by_operand, nested=False):
    """while (i < n) { i += 1; v = v * 0.5 + x; or, nested, only where i < 3 }, by the variable's new value behind it"""
    m = w.Writer()
    first = begin(m)

    def step(given, x):
        h = handle(m, given)
        half = m.constant(np.float32(0.5).reshape(1))
        m.add("ASSIGN_VARIABLE", [h, binary(m, "ADD", binary(m, "MUL", read(m, h), half), x)], [])

    if nested:
        given, x = given_handle(m, by_operand), m.tensor([3])
        step(given, x)
        then = m.close([*given, x], [x])
        given, x = given_handle(m, by_operand), m.tensor([3])
        other = m.close([*given, x], [x])

    given, i, n, x = given_handle(m, by_operand), *(m.tensor([], INT32) for _ in range(2)), m.tensor([3])
    cond = m.close([*given, i, n, x], [binary(m, "LESS", i, n, (), BOOL)])
    given, i, n, x = given_handle(m, by_operand), *(m.tensor([], INT32) for _ in range(2)), m.tensor([3])
    one = m.constant(np.array(1, INT32))
    if nested:
        early = binary(m, "LESS", i, m.constant(np.array(3, INT32)), (), BOOL)
        m.add("IF", [early, *given, x], [m.tensor([3])], "IfOptions", thenSubgraphIndex=then, elseSubgraphIndex=other)
    else:
        step(given, x)
    body = m.close([*given, i, n, x], [*given, binary(m, "ADD", i, one, (), INT32), n, x])

    n, x = m.tensor([], INT32), m.tensor([3])
    m.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=first)
    h = m.handle("v")
    start = m.constant(np.array(0, INT32))
    outs = given_handle(m, by_operand) + [m.tensor([], INT32), m.tensor([], INT32), m.tensor([3])]
    m.add("WHILE", [*([h] if by_operand else []), start, n, x], outs, "WhileOptions", condSubgraphIndex=cond, bodySubgraphIndex=body)
    y = read(m, outs[0] if by_operand else h)
    return m.bytes([n, x], [y, outs[-3]])


CASES = {"branches": (branches, BOOL), "loop": (loop, INT32), "nested": (lambda by: loop(by, True), INT32)}


@pytest.mark.parametrize("by_operand", [False, True], ids=["by_name", "by_operand"])
@pytest.mark.parametrize("name", CASES)
def test_goes_on(name, by_operand, tmp_path):
    make, kind = CASES[name]
    content = make(by_operand)
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    it, rng, kept = tflite.interpreter(content), np.random.default_rng(3), tflite.states(path)
    assert kept
    for run, first in enumerate((1, 0, 1, 4) if kind == INT32 else (1, 0, 0, 1)):
        inputs = [np.array(first, kind), rng.standard_normal(3).astype(FLOAT)]
        for d, value in zip(it.get_input_details(), inputs):
            it.set_tensor(d["index"], value)
        it.invoke()
        want = [it.get_tensor(d["index"]).copy() for d in it.get_output_details()]
        folder = tmp_path / str(run)
        folder.mkdir()
        got = tflite.computed(path, inputs + kept, folder, tflite.WAYS[run % len(tflite.WAYS)])
        tflite.same(want, got)
        kept = got[len(want):]


def assigned(m, a):
    m.add("ASSIGN_VARIABLE", [m.handle("w"), a], [])
    return a


@pytest.mark.parametrize("result,by_handle,code,text", [
    (assigned, False, dnncc.UNSUPPORTED, "variable 'w', which no CALL_ONCE assigns"),
    (lambda m, a: m.handle("v"), False, dnncc.UNSUPPORTED, "variable 'v', which no CALL_ONCE assigns"),
    (lambda m, a: a, True, dnncc.UNSUPPORTED, "variable 'v', which no CALL_ONCE assigns"),
], ids=["assigned", "handle_out", "handle_in"])
def test_refused(result, by_handle, code, text, tmp_path):
    """an IF of one subgraph twice"""
    m = w.Writer()
    a = m.tensor([3])
    number = m.close([a], [result(m, a)])
    which, x, y = m.tensor([], BOOL), m.tensor([3]), m.tensor([3])
    m.add("IF", [which, m.handle("v") if by_handle else x], [y], "IfOptions", thenSubgraphIndex=number, elseSubgraphIndex=number)
    (tmp_path / "m.tflite").write_bytes(m.bytes([which, x], [y]))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.tflite", "-o", tmp_path / "m.c"])
    assert done.returncode == code and text in done.stderr, (done.returncode, done.stderr)


def test_handles_of_first_values(tmp_path):
    """a result that is a handle, and an input that is a tensor and gets one"""
    for result, given, text in (("handle", "tensor", "output 0, a handle of a variable"), ("tensor", "handle", "is called with a variable")):
        m = w.Writer()
        first = begin(m)
        a = m.tensor([3])
        number = m.close([a], [m.handle("v") if result == "handle" else a])
        which, x, y = m.tensor([], BOOL), m.tensor([3]), m.tensor([3])
        m.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=first)
        m.add("IF", [which, m.handle("v") if given == "handle" else x], [y], "IfOptions", thenSubgraphIndex=number, elseSubgraphIndex=number)
        (tmp_path / "m.tflite").write_bytes(m.bytes([which, x], [y]))
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.tflite", "-o", tmp_path / "m.c"])
        assert done.returncode in (dnncc.UNSUPPORTED, dnncc.INVALID) and text in done.stderr, (done.returncode, done.stderr)
