# SPDX-License-Identifier: MIT
"""Signals of a length that a run gives, as many as it gives: spectra of frames, transforms, sequences from their ends. Each extent gives what
onnxruntime gives, and on targets without vectors the bits of the code for that extent alone."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_resized import SANITIZED, compiled

import dnncc

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def save(path, nodes, inputs, constants=(), opset=17):
    """inputs: (name, element, shape)"""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs], [helper.make_tensor_value_info("y", F32, None)],
                              [numpy_helper.from_array(np.asarray(c), n) for n, c in dict(constants).items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def compare(path, folder, dims, runs, target="generic", **tolerance):
    """runs: extents by symbol, and the inputs"""
    program = compiled(path, folder / "any", *(f"--dim={n}={v}" for n, v in dims.items()), f"--target={target}", flags=SANITIZED)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for i, (extents, feeds) in enumerate(runs):
        got, want = dnncc.run_host(program, list(feeds.values()))[0], session.run(None, feeds)[0]
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, err_msg=str(extents), **(tolerance or dict(rtol=1e-4, atol=1e-4)))
        if i == 0 and target == "generic":
            one = dnncc.run_host(compiled(path, folder / "one", *(f"--dim={n}={v}" for n, v in extents.items()), "--target=generic"), list(feeds.values()))[0]
            np.testing.assert_array_equal(got, one)


def signal(seed, *shape):
    return np.random.default_rng(seed).random(shape, np.float32) * 2 - 1


@pytest.mark.parametrize("window, step, onesided", [(16, 4, 1), (25, 10, 1), (12, 5, 0)], ids=str)
def test_frames(window, step, onesided, tmp_path):
    """from the shortest signal with a frame on: those one element shorter and longer than a frame more, too"""
    path = save(tmp_path / "m.onnx", [helper.make_node("STFT", ["x", "step", "w"], ["y"], onesided=onesided)], [("x", F32, ["N", "L", 1])],
                {"step": np.int64(step), "w": np.hanning(window).astype(np.float32)})
    runs = [(dict(N=n, L=length), {"x": signal(length, n, length, 1)})
            for n, length in ((2, window + step), (1, window), (3, window + step - 1), (2, window + 3 * step + 1), (1, 200))]
    compare(path, tmp_path, dict(N="1..3", L=f"{window}..200"), runs)


def test_mel_spectrogram(tmp_path):
    """the powers of frames in bands, on vectors"""
    nodes = [helper.make_node("STFT", ["x", "step", "w"], ["s"]), helper.make_node("Mul", ["s", "s"], ["q"]),
             helper.make_node("ReduceSum", ["q", "last"], ["p"], keepdims=0), helper.make_node("MatMul", ["p", "bands"], ["b"]),
             helper.make_node("Max", ["b", "floor"], ["f"]), helper.make_node("Log", ["f"], ["l"]), helper.make_node("Transpose", ["l"], ["y"], perm=[0, 2, 1])]
    rng = np.random.default_rng(0)
    path = save(tmp_path / "m.onnx", nodes, [("x", F32, ["N", "L", 1])],
                {"step": np.int64(160), "w": np.hanning(400).astype(np.float32), "last": np.array([-1]), "bands": rng.random((201, 40), np.float32),
                 "floor": np.float32(1e-10)})
    for target in "generic", "x86-64-v3":
        compare(path, tmp_path, dict(N="1..2", L="400..16000"), [(dict(N=n, L=length), {"x": signal(n, n, length, 1)}) for n, length in ((1, 1600), (2, 401), (1, 16000))],
                target, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("attributes", [{"axis": 1, "onesided": 1}, {"axis": 1}, {"axis": 2, "inverse": 1}], ids=str)
def test_transforms(attributes, tmp_path):
    """of a known length, of as many signals as a run gives"""
    shape = ["N", 12, "M", 2] if attributes["axis"] == 1 else ["N", "M", 15, 2]
    if attributes.get("onesided"):
        shape[-1] = 1
    path = save(tmp_path / "m.onnx", [helper.make_node("DFT", ["x"], ["y"], **attributes)], [("x", F32, shape)])
    runs = [(dict(N=n, M=m), {"x": signal(n, *(dict(N=n, M=m).get(d, d) for d in shape))}) for n, m in ((2, 3), (1, 1), (4, 5))]
    compare(path, tmp_path, dict(N="1..4", M="1..5"), runs)


@pytest.mark.parametrize("batch", [0, 1])
def test_sequences_from_their_ends(batch, tmp_path):
    shape = ["N", "T", 3] if batch == 0 else ["T", "N", 3]
    path = save(tmp_path / "m.onnx", [helper.make_node("ReverseSequence", ["x", "lengths"], ["y"], batch_axis=batch, time_axis=1 - batch)],
                [("x", F32, shape), ("lengths", I64, ["N"])])
    runs = []
    for n, t in (2, 5), (1, 1), (4, 9):
        runs.append((dict(N=n, T=t), {"x": signal(t, *((n, t, 3) if batch == 0 else (t, n, 3))), "lengths": np.random.default_rng(n).integers(1, t + 1, n)}))
    compare(path, tmp_path, dict(N="1..4", T="1..9"), runs)


def recurrent_state(path, with_past, kernel=4, heads=2, depth=5, width=3):
    """a convolution that sees the steps before, then linear attention, of sequences of T steps; both hand out their states"""
    channels = heads * (2 * depth + width)
    nodes = [helper.make_node("CausalConvWithState", ["x", "w", "", "past_x" if with_past else ""], ["h", "present_x"], activation="silu"),
             helper.make_node("Transpose", ["h"], ["t"], perm=[0, 2, 1]), helper.make_node("Split", ["t", "parts"], ["q", "k", "v"], axis=2),
             helper.make_node("LinearAttention", ["q", "k", "v", "past_s" if with_past else "", "decay", "beta"], ["y", "present_s"], q_num_heads=heads, kv_num_heads=heads,
                              update_rule="gated_delta")]
    inputs = [("x", ["N", channels, "T"]), ("decay", ["N", "T", heads]), ("beta", ["N", "T", heads])]
    if with_past:
        inputs += [("past_x", ["N", channels, kernel - 1]), ("past_s", ["N", heads, depth, width])]
    rng = np.random.default_rng(0)
    constants = {"w": rng.random((channels, 1, kernel), np.float32) - .5, "parts": np.array([heads * depth, heads * depth, heads * width])}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, F32, s) for n, s in inputs],
                              [helper.make_tensor_value_info(n, F32, None) for n in ("y", "present_x", "present_s")],
                              [numpy_helper.from_array(np.asarray(c), n) for n, c in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=12), path)
    return path, inputs


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_linear_attention(target, tmp_path):
    """a sequence at once is what its parts are one after the other, each with the states of the one before; and what the code for its length gives"""
    path, inputs = recurrent_state(tmp_path / "m.onnx", True)
    program = compiled(path, tmp_path / "any", "--dim=N=1..3", "--dim=T=1..20", f"--target={target}", flags=SANITIZED)
    for n, parts in (2, (11,)), (1, (20,)), (3, (1, 7, 2)):
        length = sum(parts)
        feeds = {name: signal(length + i, *(dict(N=n, T=length).get(d, d) for d in shape)) for i, (name, shape) in enumerate(inputs)}
        one = dnncc.run_host(compiled(path, tmp_path / f"{length}", f"--dim=N={n}", f"--dim=T={length}", f"--target={target}"), list(feeds.values()))
        rows, states, at = [], [feeds["past_x"], feeds["past_s"]], 0
        for steps in parts:
            part = [feeds["x"][:, :, at:at + steps], feeds["decay"][:, at:at + steps], feeds["beta"][:, at:at + steps]]
            y, *states = dnncc.run_host(program, [np.ascontiguousarray(a) for a in part] + states)
            rows.append(y)
            at += steps
        for got, want in zip([np.concatenate(rows, 1), *states], one):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
