# SPDX-License-Identifier: MIT
"""Variables that nodes of a TFLite file read and assign are state, and go on as LiteRT's do."""
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

STEPS = 4


def buffer(kind, first, scale=None, zero=0):
    """the last three inputs are kept: the output has the newest and those of two runs before, and a second one is written and not read"""
    m = w.Writer()
    h = m.handle("history")
    m.add("ASSIGN_VARIABLE", [h, m.constant(np.asarray(first, kind), scale=scale, zero=zero)], [])
    begin = m.close()
    q = {"scale": scale, "zero": zero} if scale else {}
    x, before, now, kept = m.tensor([1, 4], kind, **q), m.tensor([2, 4], kind, **q), m.tensor([3, 4], kind, **q), m.tensor([2, 4], kind, **q)
    m.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=begin)
    h = m.handle("history")
    m.add("READ_VARIABLE", [h], [before])
    m.add("CONCATENATION", [before, x], [now], "ConcatenationOptions", axis=0)
    m.add("SLICE", [now, m.constant(np.array([1, 0], np.int32)), m.constant(np.array([2, 4], np.int32))], [kept])
    m.add("ASSIGN_VARIABLE", [h, kept], [])
    return m.bytes([x], [now])


CASES = {
    "zeros": buffer(np.float32, np.zeros((2, 4))),
    "floats": buffer(np.float32, np.arange(8).reshape(2, 4) - 2.5),
    "bytes": buffer(np.int8, np.full((2, 4), -7), 0.1, -7),
    "many_bytes": buffer(np.int8, np.arange(8).reshape(2, 4) - 3, 0.1, 5),
    "words": buffer(np.int16, np.arange(8).reshape(2, 4) * 1000, 0.1, 0),
}


@pytest.mark.parametrize("way", range(len(tflite.WAYS)))
@pytest.mark.parametrize("name", CASES)
def test_goes_on(name, way, tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(CASES[name])
    it = tflite.interpreter(CASES[name])
    rng, kept = np.random.default_rng(5), tflite.states(path)
    assert len(kept) == 1 and kept[0].shape == (2, 4)
    for step in range(STEPS):
        inputs = tflite.random_inputs(it, rng)
        for d, value in zip(it.get_input_details(), inputs):
            it.set_tensor(d["index"], value)
        it.invoke()
        want = [it.get_tensor(d["index"]).copy() for d in it.get_output_details()]
        folder = tmp_path / str(step)
        folder.mkdir()
        got = tflite.computed(path, inputs + kept, folder, tflite.WAYS[way])
        tflite.same(want, got)
        kept = got[len(want):]


def compiled(tmp_path, content):
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    return dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c"])


def test_names(tmp_path):
    """the header has the state's member; an input of its name has another one; variables of two containers are two"""
    m = w.Writer()
    for container in ("a", "b"):
        m.add("ASSIGN_VARIABLE", [m.handle("x", container), m.constant(np.full(3, 2 if container == "a" else 3, np.float32))], [])
    begin = m.close()
    x, y = m.tensor([3], name="x"), m.tensor([3])
    m.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=begin)
    read = [m.tensor([3]) for _ in range(2)]
    for container, t in zip("ab", read):
        m.add("READ_VARIABLE", [m.handle("x", container)], [t])
    m.add("SUB", read, [y], "SubOptions")
    assert compiled(tmp_path, m.bytes([x], [y])).returncode == 0
    header = (tmp_path / "m.h").read_text()
    assert "struct m_state" in header and header.count("float x_1[3]") == 1 and header.count("float x_2[3]") == 1, header


def broken(change):
    m = w.Writer()
    x, y = m.tensor([3]), m.tensor([3])
    change(m, x, y)
    return m.bytes([x], [y])


def no_first(m, x, y):
    m.add("READ_VARIABLE", [m.handle("v")], [y])


def no_handle(m, x, y):
    m.add("READ_VARIABLE", [x], [y])


def handle_elsewhere(m, x, y):
    m.add("RELU", [m.handle("v")], [y])


def outside(m, x, y):
    m.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=7)
    m.add("RELU", [x], [y])


def other_type(m, x, y):
    number = begin_with(m, np.zeros(4, np.float32))
    m.tensors, m.operators = number[1]
    h = m.handle("v")
    m.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=number[0])
    m.add("ASSIGN_VARIABLE", [h, x], [])
    m.add("READ_VARIABLE", [h], [y])


def begin_with(m, data):
    """a subgraph that assigns the constant; what the main one had so far"""
    main = m.tensors, m.operators
    m.tensors, m.operators = [], []
    m.add("ASSIGN_VARIABLE", [m.handle("v"), m.constant(data)], [])
    return m.close(), main


def calls_itself(m, x, y):
    main = m.tensors, m.operators
    m.tensors, m.operators = [], []
    m.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    number = m.close()
    m.tensors, m.operators = main
    m.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=number)
    m.add("RELU", [x], [y])


@pytest.mark.parametrize("change,code,text", [
    (no_first, dnncc.UNSUPPORTED, "variable 'v', which no CALL_ONCE assigns"), (no_handle, dnncc.INVALID, "operand 0 is no variable's handle"),
    (handle_elsewhere, dnncc.UNSUPPORTED, "a handle of a variable, which is not supported"), (outside, dnncc.INVALID, "subgraph 7 of 1"),
    (other_type, dnncc.UNSUPPORTED, "of type <4 x f32>, which is assigned <3 x f32>"), (calls_itself, dnncc.UNSUPPORTED, "in the subgraph of another one"),
], ids=lambda v: v.__name__ if callable(v) else "")
def test_refused(change, code, text, tmp_path):
    done = compiled(tmp_path, broken(change))
    assert done.returncode == code and text in done.stderr, done.stderr
