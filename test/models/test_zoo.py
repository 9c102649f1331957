# SPDX-License-Identifier: MIT
"""The benchmark zoo: its small models are what the table says, healthy, the same bytes every time, and right when compiled."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import dnncc  # noqa: E402
import zoo  # noqa: E402
from quantized import onnxruntime_saturates  # noqa: E402
from zoo import quantized  # noqa: E402
from zoo.check import worst  # noqa: E402
from zoo.graph import Graph  # noqa: E402

FOLDER = zoo.FOLDER

# name: how many nodes of each kind, among others
SMALL = {"squeezenet": {"Conv": 26, "MaxPool": 3, "Concat": 8}, "recommender": {"Gather": 52, "Gemm": 7},
         "mobilenet_v2": {"Conv": 52, "BatchNormalization": 52, "Clip": 35, "Add": 10}}


def trained(model):
    """elements of the initializers that are parameters: all floats but statistics of norms and bounds of clips"""
    passive = {name for n in model.graph.node for name in n.input[{"BatchNormalization": 3, "Clip": 1}.get(n.op_type, 9):]}
    return sum(int(np.prod(t.dims)) for t in model.graph.initializer if t.data_type == 1 and t.name not in passive)


@pytest.mark.parametrize("name", SMALL)
def test_structure(name):
    model = onnx.load(zoo.build(name))
    onnx.checker.check_model(model, full_check=True)
    kinds = [n.op_type for n in model.graph.node]
    assert {k: kinds.count(k) for k in SMALL[name]} == SMALL[name]
    assert trained(model) == zoo.MODELS[name].parameters
    ports = {i.name: tuple(d.dim_value for d in i.type.tensor_type.shape.dim) for i in model.graph.input}
    assert ports == {i.name: i.shape for i in zoo.MODELS[name].inputs}
    assert worst(name, seed=1).startswith("healthy")


def test_cache(tmp_path, monkeypatch):
    """same scripts, same bytes; a file is written again when its stamp is another's"""
    usual = zoo.build("squeezenet").read_bytes()
    monkeypatch.setattr(zoo, "FOLDER", tmp_path)
    path = zoo.build("squeezenet")
    assert path.parent == tmp_path and path.read_bytes() == usual
    path.write_bytes(b"kept")
    assert zoo.build("squeezenet").read_bytes() == b"kept"
    path.with_suffix(".stamp").write_text("of older scripts")
    assert zoo.build("squeezenet").read_bytes() == usual


def test_unhealthy():
    for value, what in (1e-39, "denormal"), (np.inf, "not finite"):
        g = Graph("bad", {"x": np.array([1, value], np.float32)}, 13)
        with pytest.raises(ValueError, match=what):
            g.op("Abs", g.inputs["x"])
    g = Graph("bad", {"x": np.full((2, 2), 1e4, np.float32)}, 13)
    with pytest.raises(ValueError, match="of rms 2e"):
        g.op("MatMul", g.inputs["x"], g.inputs["x"])


# what each way of quantizing leaves in a small model
WAYS = {"qdq": ("squeezenet", "static", (), {"QuantizeLinear": 40, "Conv": 26}),
        "qoperator": ("squeezenet", "static", (("form", "QOperator"),), {"QLinearConv": 26, "QLinearConcat": 8, "QuantizeLinear": 1}),
        "dynamic": ("recommender", "dynamic", (), {"MatMulInteger": 7, "Gemm": 0}),
        "blocks": ("recommender", "blocks", (("bits", 8),), {"MatMulNBits": 7, "Gemm": 0})}


def make_quantized(way, folder, monkeypatch):
    of, how, options, _ = WAYS[way]
    zoo.build(of)
    monkeypatch.setattr(zoo, "FOLDER", folder)
    (folder / f"{of}.onnx").symlink_to(FOLDER / f"{of}.onnx")
    (folder / f"{of}.stamp").symlink_to(FOLDER / f"{of}.stamp")
    monkeypatch.setitem(quantized.MODELS, way, quantized.Quantized(way, of, "", how, options))
    return quantized.build(way)


@pytest.mark.sample(3)
@pytest.mark.parametrize("way", WAYS)
def test_quantized(way, tmp_path, monkeypatch):
    if way == "blocks":
        pytest.importorskip("onnx_ir", reason="onnxruntime's MatMulNBitsQuantizer wants it: make systems-packages")
    if way == "dynamic" and onnxruntime_saturates():
        pytest.skip("onnxruntime's sums of products of bytes saturate on this processor, and these are not near to the original's")
    path = make_quantized(way, tmp_path, monkeypatch)
    model = onnx.load(path)
    kinds = [n.op_type for n in model.graph.node]
    assert {k: kinds.count(k) for k in WAYS[way][3]} == WAYS[way][3]
    assert path.stat().st_size < 0.3 * zoo.build(WAYS[way][0]).stat().st_size or way == "blocks"
    assert quantized.fidelity(path, WAYS[way][0]) < 1
    usual = path.read_bytes()
    path.write_bytes(b"kept")
    assert quantized.build(way).read_bytes() == b"kept"
    path.with_suffix(".stamp").write_text("of older scripts")
    assert quantized.build(way).read_bytes() == usual


def test_quantized_compiled(tmp_path, monkeypatch):
    """as near to the model as it is written as onnxruntime's own integer kernels are, and a byte for each weight"""
    path = make_quantized("qdq", tmp_path, monkeypatch)
    inputs = zoo.inputs("squeezenet", seed=1)
    dnncc.compile_model(path, tmp_path, ["--target=generic"])
    got, = dnncc.run_host(dnncc.build_host(tmp_path, ["-O2"]), list(inputs.values()))
    want, = quantized.as_written(path, inputs)
    theirs, = quantized.run(str(path), inputs)
    assert quantized.distance(got, want) <= 1.5 * quantized.distance(theirs, want) + 1e-6
    assert quantized.distance(got, want) < quantized.distance(got, quantized.run(str(zoo.build("squeezenet")), inputs)[0])


def test_quantized_is_checked(tmp_path, monkeypatch):
    """a model that no longer does what its original does is not written"""
    monkeypatch.setitem(quantized.METHODS, "static", lambda model, source, path: pathlib.Path(path).write_bytes(zeroed(source)))
    with pytest.raises(ValueError, match="times as much as another input does"):
        make_quantized("qdq", tmp_path, monkeypatch)
    assert not (tmp_path / "qdq.onnx").exists()


def zeroed(path):
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.data_type == 1:
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.zeros(tensor.dims, np.float32), tensor.name))
    return model.SerializeToString()


def test_recurrence(tmp_path):
    """what the inputs add to an LSTM's gates is one product for all steps; the steps are a loop with a product each"""
    done = dnncc.run([dnncc.DNNCC, zoo.build("lstm"), "--emit=ir", "-o", tmp_path / "lstm.dnn", "--passes=simplify,fold,cse,dce"])
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "lstm.dnn").read_text()
    assert text.count(" loop(") == 2 and text.count(" steps=32 ") == 2
    assert len(re.findall(r"^  %\w+ = dot\(", text, re.M)) == len(re.findall(r"^    %\w+ = dot\(", text, re.M)) == 2
    assert text.count(" dot(") == 4 and text.count(" transpose(") == 0


def reference(name, inputs):
    return onnxruntime.InferenceSession(zoo.build(name), providers=["CPUExecutionProvider"]).run(None, inputs)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name, weights", [("squeezenet", "inline"), ("mobilenet_v2", "incbin"), ("lstm", "file")])
def test_compiled(name, weights):
    inputs = zoo.inputs(name, seed=1)
    with dnncc.Workspace(f"zoo-{name}") as work:
        dnncc.compile_model(zoo.build(name), work, ["--target=generic", f"--weights={weights}"])
        got = dnncc.run_host(dnncc.build_host(work, ["-O2"]), list(inputs.values()))
    for g, w in zip(got, reference(name, inputs), strict=True):
        assert g.shape == w.shape and np.max(np.abs(g - w)) <= 1e-4 * np.max(np.abs(w))


def test_interpreted(tmp_path):
    """56 MB of embeddings need no C compiler to be looked up"""
    inputs = zoo.inputs("recommender", seed=1)
    for kind, arrays in ("input", inputs.values()), ("output", reference("recommender", inputs)):
        for k, array in enumerate(arrays):
            (tmp_path / f"{kind}_{k}.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
    done = dnncc.run([dnncc.DNNCC, zoo.build("recommender"), f"--test={tmp_path}"])
    assert done.returncode == 0, done.stderr
