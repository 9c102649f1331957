# SPDX-License-Identifier: MIT
"""dnncc.train: steps, weights by name, files of them, and the ONNX model that comes of them."""
import dnncc_package
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT
RNG = np.random.default_rng(1)
X, LABELS = RNG.normal(size=(16, 4)).astype(np.float32), RNG.integers(0, 3, 16)


def model():
    rng = np.random.default_rng(2)
    weights = {"w": rng.normal(size=(4, 3)).astype(np.float32), "b": np.zeros(3, np.float32)}
    graph = helper.make_graph([helper.make_node("Gemm", ["x", "w", "b"], ["logits"])], "g", [helper.make_tensor_value_info("x", F, (16, 4))],
                              [helper.make_tensor_value_info("logits", F, (16, 3))], [numpy_helper.from_array(w, n) for n, w in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture(scope="module")
def compiled():
    return dnncc_package.train(model(), loss="cross_entropy:logits", optimizer="sgd")


@pytest.fixture
def net(compiled):
    compiled.reset()
    return compiled


def loss_of(w, b):
    logits = X @ w + b
    logits = logits - logits.max(axis=1, keepdims=True)
    return -np.mean((logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))[np.arange(16), LABELS])


def test_steps(net):
    first = {name: net[name].copy() for name in "wb"}
    losses = [net.step(X, LABELS, 0.5) for _ in range(50)]
    assert losses[0] == pytest.approx(loss_of(**first), rel=1e-5) and losses[-1] < 0.9 * losses[0]
    assert net["step"] == 50
    assert net.step(x=X, labels=LABELS, rate=0.0) == pytest.approx(loss_of(net["w"], net["b"]), rel=1e-5)
    np.testing.assert_allclose(net(X), X @ net["w"] + net["b"], rtol=1e-5, atol=1e-6)
    net.reset()
    assert all(np.array_equal(net[name], first[name]) for name in "wb") and net["step"] == 0


def test_names(net):
    assert sorted(net.keys()) == ["b", "step", "w"]
    net["b"] = [1, 2, 3]
    np.testing.assert_allclose(net(X), X @ net["w"] + np.array([1, 2, 3]), rtol=1e-5, atol=1e-5)
    with pytest.raises(KeyError):
        net["w2"]


def test_files(net, tmp_path):
    net.step(X, LABELS, 0.5)
    net.save(tmp_path / "a.npz")
    after = net.step(X, LABELS, 0.5)
    net.reset()
    net.load(tmp_path / "a.npz")
    assert net["step"] == 1 and net.step(X, LABELS, 0.5) == after
    kept = {name: net[name].copy() for name in net.keys()}
    for wrong in ({**kept, "w": np.zeros((3, 4), np.float32)}, {**kept, "b": np.zeros(3)}, {"w": kept["w"]}):
        np.savez(tmp_path / "b.npz", **wrong)
        with pytest.raises(dnncc_package.ArgumentError):
            net.load(tmp_path / "b.npz")
        assert all(np.array_equal(net[name], a) for name, a in kept.items())
    with pytest.raises(dnncc_package.ArgumentError):
        net.save(tmp_path / "a.txt")


def test_wrong_files(net, tmp_path):
    net.save(tmp_path / "a.npz")
    whole, kept = (tmp_path / "a.npz").read_bytes(), {name: net[name].copy() for name in net.keys()}
    with pytest.raises(dnncc_package.MissingFileError, match="b.npz"):
        net.load(tmp_path / "b.npz")
    np.save(tmp_path / "one.npy", X)
    wrong = [b"", b"no archive", (tmp_path / "one.npy").read_bytes(), *(whole[:length] for length in range(1, len(whole), 50)),
             whole.replace(b"NUMPY", b"numpy")]
    for bytes_ in wrong:
        (tmp_path / "b.npz").write_bytes(bytes_)
        with pytest.raises(dnncc_package.ArgumentError, match="b.npz is no file that save wrote"):
            net.load(tmp_path / "b.npz")
    assert all(np.array_equal(net[name], a) for name, a in kept.items())


def test_export(net, tmp_path):
    for _ in range(5):
        net.step(X, LABELS, 0.5)
    net.export(tmp_path / "m.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"))
    np.testing.assert_array_equal(dnncc_package.compile(tmp_path / "m.onnx")(X), net(X))


def test_errors():
    with pytest.raises(dnncc_package.Error, match="no optimizer is called 'sdg', did you mean 'sgd'"):
        dnncc_package.train(model(), loss="cross_entropy:logits", optimizer="sdg")
    with pytest.raises(dnncc_package.ArgumentError, match="no entries train and init"):
        dnncc_package.Training(dnncc_package.compile(model()))


def test_options():
    net = dnncc_package.train(model(), loss="cross_entropy:logits", optimizer="adam,lr=0.1", freeze=["b"], grad_clip="norm:1")
    first = net.step(X, LABELS)
    assert sorted(net.keys()) == ["step", "w", "w.m", "w.v"]
    for _ in range(30):
        last = net.step(X, LABELS)
    assert last < first
