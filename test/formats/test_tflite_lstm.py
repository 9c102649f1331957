# SPDX-License-Identifier: MIT
"""LSTMs of TFLite files, with and without an input gate, peephole weights, a projection, layer normalization and bounds, go on from run to run as LiteRT's do."""
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

FLOAT = np.float32
INPUT, FORGET, CELL, OUTPUT = range(4)
GATES = 4


def lstm(seed, parts, steps=3, batch=2, inputs=3, cells=5, outputs=4, clip=0.0, time_major=False, change=lambda operands, m: None):
    """parts: of "gate" (an input gate), "peephole", "projection", "bias" (of the projection), "bound", "norm" """
    rng, m = np.random.default_rng(seed), w.Writer()
    outputs = outputs if "projection" in parts else cells

    def weights(*shape):
        return m.constant(rng.standard_normal(shape).astype(FLOAT) / 2)

    x = m.tensor([steps, batch, inputs] if time_major else [batch, steps, inputs])
    kept = range(GATES) if "gate" in parts else range(1, GATES)
    operands = [x] + [-1] * 23
    for k in kept:
        operands[1 + k], operands[5 + k], operands[12 + k] = weights(cells, inputs), weights(cells, outputs), weights(cells)
        if "peephole" in parts and k != CELL:
            operands[9 + min(k, 2)] = weights(cells)
        if "norm" in parts:
            operands[20 + k] = weights(cells)
    if "projection" in parts:
        operands[16] = weights(outputs, cells)
        if "bias" in parts:
            operands[17] = weights(outputs)
    operands[18], operands[19] = m.tensor([batch, outputs], variable=True, name="h"), m.tensor([batch, cells], variable=True, name="c")
    change(operands, m)
    if operands[20:] == [-1] * 4:
        del operands[20:]
    y = m.tensor([steps, batch, outputs] if time_major else [batch, steps, outputs])
    bound = clip or ("bound" in parts) * 0.3
    m.add("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [y], "UnidirectionalSequenceLSTMOptions", fusedActivationFunction=w.schema.ActivationFunctionType.TANH,
          cellClip=bound, projClip=bound, timeMajor=time_major)
    return m.bytes([x], [y])


KINDS = [[], ["gate"], ["peephole"], ["gate", "peephole"], ["projection"], ["gate", "projection", "bias"], ["gate", "norm"], ["norm", "peephole"], ["gate", "bound"],
         ["gate", "peephole", "projection", "bias", "bound", "norm"], ["peephole", "projection", "bound"]]


@pytest.mark.sample(24)
@pytest.mark.parametrize("steps", [1, 3, 9])
@pytest.mark.parametrize("parts", KINDS, ids="-".join)
def test_goes_on(parts, steps, tmp_path):
    """9 steps are a loop"""
    content = lstm(steps, parts, steps, time_major=bool(len(parts) % 2))
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    it, rng, kept = tflite.interpreter(content), np.random.default_rng(5), tflite.states(path)
    assert len(kept) == 2
    it.reset_all_variables()
    for run in range(3):
        inputs = tflite.random_inputs(it, rng)
        it.set_tensor(it.get_input_details()[0]["index"], inputs[0])
        it.invoke()
        want = [it.get_tensor(d["index"]).copy() for d in it.get_output_details()]
        folder = tmp_path / str(run)
        folder.mkdir()
        got = tflite.computed(path, inputs + kept, folder, tflite.WAYS[run])
        tflite.same(want, got)
        assert np.abs(want[0]).max() > 0.01
        kept = got[1:]


def one(index, *shape, kind=FLOAT):
    def change(operands, m):
        operands[index] = m.constant(np.ones(shape, kind))
    return change


def other_batch(operands, m):
    m.tensors[operands[18]].shape[0] += 1


@pytest.mark.parametrize("parts,change,code,text", [
    (["gate"], other_batch, dnncc.INVALID, "the states are not of 2 sequences"),
    (["gate"], one(9, 4), dnncc.INVALID, "operand 9 is <4 x f32>, want 5 numbers"),
    (["gate"], one(14, 6), dnncc.INVALID, "operand 14 is <6 x f32>, want 5 numbers"),
    (["gate", "norm"], one(21, 1), dnncc.INVALID, "operand 21"),
    (["projection"], one(16, 5, 4), dnncc.INVALID, "the projection is not of 5 cells and 4 outputs"),
    (["projection", "bias"], one(17, 5), dnncc.INVALID, "operand 17"),
    ([], one(7, 5, 4), dnncc.INVALID, "5 outputs"),
    (["gate"], one(11, 5, kind=np.int8), dnncc.UNSUPPORTED, "operand 11"),
], ids=range(8))
def test_wrong(parts, change, code, text, tmp_path):
    (tmp_path / "m.tflite").write_bytes(lstm(1, parts, change=change))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.tflite", "-o", tmp_path / "m.c"])
    assert done.returncode == code and text in done.stderr, (done.returncode, done.stderr)
