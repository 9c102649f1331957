# SPDX-License-Identifier: MIT
"""--training-mode: BatchNormalization by the moments of its samples, and Dropout, in a step and not in inference."""
import dnncc_package
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT
node = helper.make_node
RATE, MOMENTUM, EPSILON, STEPS = 0.1, 0.75, 1e-3, 40
X = np.random.default_rng(3).normal(1, 2, size=(12, 4)).astype(np.float32)
LABELS = np.random.default_rng(4).normal(size=(12, 3)).astype(np.float32)


def weights():
    rng = np.random.default_rng(2)
    return {"w1": rng.normal(size=(4, 5)).astype(np.float32), "scale": rng.uniform(.5, 2, 5).astype(np.float32), "bias": rng.normal(size=5).astype(np.float32),
            "mean": np.full(5, .5, np.float32), "variance": np.full(5, 2, np.float32), "w2": rng.normal(size=(5, 3)).astype(np.float32)}


def model(nodes, constants, shape=(12, 4), outputs=(("y", (12, 3)),), opset=17):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, shape)], [helper.make_tensor_value_info(n, F, s) for n, s in outputs],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def normalization(stated, x="h", y="n"):
    more = {"training_mode": 1} if stated else {}
    return node("BatchNormalization", [x, "scale", "bias", "mean", "variance"], [y, f"{y}.mean", f"{y}.variance"][:3 if stated else 1],
                momentum=MOMENTUM, epsilon=EPSILON, **more)


def normalized(stated=True, opset=17):
    return model([node("MatMul", ["x", "w1"], ["h"]), normalization(stated), node("MatMul", ["n", "w2"], ["y"])], weights(), opset=opset)


def step(p):
    """a step of steepest descent in f64, by the samples' moments: the loss in front of it"""
    h = X @ p["w1"]
    mean, variance = h.mean(axis=0), h.var(axis=0)
    inverse = 1 / np.sqrt(variance + EPSILON)
    unit = (h - mean) * inverse
    n = unit * p["scale"] + p["bias"]
    y = n @ p["w2"]
    by_y = 2 * (y - LABELS) / y.size
    by_n = by_y @ p["w2"].T
    by_unit = by_n * p["scale"]
    by_h = inverse * (by_unit - by_unit.mean(axis=0) - unit * (by_unit * unit).mean(axis=0))
    g = {"w1": X.T @ by_h, "scale": (by_n * unit).sum(axis=0), "bias": by_n.sum(axis=0), "w2": n.T @ by_y}
    p |= {k: p[k] - RATE * d for k, d in g.items()}
    p["mean"] = MOMENTUM * p["mean"] + (1 - MOMENTUM) * mean
    p["variance"] = MOMENTUM * p["variance"] + (1 - MOMENTUM) * variance
    return np.mean((y - LABELS) ** 2)


def inferred(p):
    n = (X @ p["w1"] - p["mean"]) / np.sqrt(p["variance"] + EPSILON) * p["scale"] + p["bias"]
    return n @ p["w2"]


def in_training(m, **options):
    return dnncc_package.train(m, loss="mse:y", optimizer=f"sgd,lr={RATE}", **options)


@pytest.mark.parametrize("stated, opset, options", [(True, 17, {}), (False, 17, {"training_mode": "all"}), (False, 9, {"training_mode": "all"}), (True, 17, {"update": ["*"]})])
def test_normalization(stated, opset, options, tmp_path):
    net = in_training(normalized(stated, opset), **options)
    assert sorted(net.keys()) == ["bias", "mean", "scale", "step", "variance", "w1", "w2"]
    p = {n: a.astype(float) for n, a in weights().items()}
    np.testing.assert_allclose(net(X), inferred(p), rtol=1e-4, atol=1e-4)
    for _ in range(STEPS):
        assert net.step(X, LABELS) == pytest.approx(step(p), rel=1e-4)
    for name, want in p.items():
        np.testing.assert_allclose(net[name], want, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(net(X), inferred(p), rtol=1e-3, atol=1e-3)
    net.export(tmp_path / "trained.onnx")
    assert any(t.name == "variance" and np.array_equal(numpy_helper.to_array(t), net["variance"]) for t in onnx.load(tmp_path / "trained.onnx").graph.initializer)


@pytest.mark.parametrize("options", [{"training_mode": "none"}, {"freeze": ["mean"]}, {"freeze": ["var*"]}, {"update": ["w1", "w2", "scale", "bias"]}])
def test_recorded_moments_normalize(options):
    """a normalization whose moments no step changes uses them"""
    net = in_training(normalized(), **options)
    assert sorted(net.keys()) == ["bias", "scale", "step", "w1", "w2"]
    p = {n: a.astype(float) for n, a in weights().items()}
    assert net.step(X, LABELS) == pytest.approx(np.mean((inferred(p) - LABELS) ** 2), rel=1e-4)


def test_shared_moments():
    """two nodes of one normalization: each follows what the one before it made"""
    net = in_training(model([node("MatMul", ["x", "w1"], ["h"]), normalization(True), node("Add", ["n", "n"], ["n2"]), normalization(True, "n2", "n3"),
                             node("MatMul", ["n3", "w2"], ["y"])], weights()))
    p = {n: a.astype(float) for n, a in weights().items()}
    h = X @ p["w1"]
    twice = 2 * ((h - h.mean(axis=0)) / np.sqrt(h.var(axis=0) + EPSILON) * p["scale"] + p["bias"])
    net.step(X, LABELS)
    first = MOMENTUM * p["mean"] + (1 - MOMENTUM) * h.mean(axis=0)
    np.testing.assert_allclose(net["mean"], MOMENTUM * first + (1 - MOMENTUM) * twice.mean(axis=0), rtol=1e-4)


def test_moments_of_another_output():
    """what the loss does not depend on has no moments in a step"""
    m = model([node("MatMul", ["x", "w1"], ["h"]), node("MatMul", ["h", "w2"], ["y"]), normalization(True)], weights(), outputs=(("y", (12, 3)), ("n", (12, 5))))
    assert sorted(in_training(m).keys()) == ["step", "w1", "w2"]


# ---- Dropout ----

COUNT = 4000


def dropped(opset=17, stated=True, **attributes):
    """y = dropout(x w) and z = x w: a step changes w by what was kept of x"""
    inputs = ["h"] if opset < 12 else ["h", "ratio", "on"] if stated else ["h", "ratio"]
    constants = {"w": np.ones(COUNT, np.float32), **({} if opset < 12 else {"ratio": np.array(.25, np.float32)}), **({"on": np.array(True)} if stated else {})}
    nodes = [node("Mul", ["x", "w"], ["h"]), node("Dropout", inputs, ["d"], **attributes), node("Mul", ["d", "one"], ["y"])]
    return model(nodes, {**constants, "one": np.ones(1, np.float32)}, (COUNT,), (("y", (COUNT,)),), opset)


def masks(net, steps):
    x = np.ones(COUNT, np.float32)
    made = []
    for _ in range(steps):
        net["w"] = np.ones(COUNT, np.float32)
        net.step(x, np.zeros(COUNT, np.float32))        # the loss is the mean of y squared
        change = (1 - net["w"]) * COUNT / (2 * RATE)
        kept = change > 0.5
        np.testing.assert_allclose(change[kept], (4 / 3) ** 2, rtol=1e-2)
        np.testing.assert_allclose(change[~kept], 0, atol=1e-2)
        made.append(kept)
    return made


@pytest.mark.parametrize("m, options", [(dropped(), {}), (dropped(seed=3), {}), (dropped(stated=False), {"training_mode": "all"}),
                                        (dropped(10, False, ratio=.25), {"training_mode": "all"})], ids=["stated", "seed", "all", "attribute"])
def test_dropout(m, options):
    net = in_training(m, freeze=["one"], **options)
    assert sorted(net.keys()) == ["step", "w"], "the ratio is no weight"
    first = masks(net, 3)
    for a in first:
        assert abs(a.mean() - 0.75) < 0.03
    for a, b in ((0, 1), (1, 2), (0, 2)):               # independent: both kept with 9 in 16
        assert abs(np.mean(first[a] & first[b]) - 0.5625) < 0.04
    net["w"] = np.full(COUNT, 3, np.float32)
    np.testing.assert_array_equal(net(np.ones(COUNT, np.float32)), np.full(COUNT, 3, np.float32))
    net.reset()
    assert all(np.array_equal(a, b) for a, b in zip(first, masks(net, 3))), "the same steps have the same numbers"


def test_seeds():
    first, other = (masks(in_training(dropped(), freeze=["one"], **options), 1)[0] for options in ({}, {"seed": 7}))
    assert abs(np.mean(first & other) - 0.5625) < 0.04


def test_no_dropout():
    net = in_training(dropped(), freeze=["one"], training_mode="none")
    net.step(np.ones(COUNT, np.float32), np.zeros(COUNT, np.float32))
    np.testing.assert_allclose((1 - net["w"]) * COUNT / (2 * RATE), 1, rtol=1e-2)


def test_dropout_in_a_branch():
    branches = {f"{name}_branch": helper.make_graph([node("Dropout", ["h", "ratio", on], ["d"])], name, [], [helper.make_tensor_value_info("d", F, (COUNT,))])
                for name, on in (("then", "on"), ("else", "off"))}
    m = model([node("Mul", ["x", "w"], ["h"]), node("If", ["c"], ["y"], **branches)],
              {"w": np.ones(COUNT, np.float32), "ratio": np.array(.25, np.float32), "on": np.array(True), "off": np.array(False)}, (COUNT,), (("y", (COUNT,)),))
    m.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, ()))
    net = in_training(m)
    x, zeros = np.ones(COUNT, np.float32), np.zeros(COUNT, np.float32)
    assert net.step(x, False, zeros) == 1
    net.reset()
    assert 0.7 < net.step(x, True, zeros) * 9 / 16 < 0.8
    net.reset()
    np.testing.assert_array_equal(net(x, True), x)


# ---- settings, and what is refused ----

def test_settings_are_no_weights():
    m = model([node("Mul", ["x", "w"], ["h"]), node("Clip", ["h", "low", "high"], ["c"]), node("Pad", ["c", "pads", "fill"], ["y"])],
              {"w": np.ones(4, np.float32), "low": np.array(0, np.float32), "high": np.array(6, np.float32), "pads": np.array([0, 0, 0, 1]), "fill": np.array(1, np.float32)},
              outputs=(("y", (12, 5)),))
    assert sorted(in_training(m).keys()) == ["step", "w"]


def inside():
    body = helper.make_graph([normalization(True)], "b", [], [helper.make_tensor_value_info("n", F, (12, 5))])
    other = helper.make_graph([node("Identity", ["h"], ["n"])], "b", [], [helper.make_tensor_value_info("n", F, (12, 5))])
    m = model([node("MatMul", ["x", "w1"], ["h"]), node("If", ["c"], ["n"], then_branch=body, else_branch=other), node("MatMul", ["n", "w2"], ["y"])], weights())
    m.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, ()))
    return m


def computed():
    m = normalized()
    m.graph.node.insert(0, node("Neg", ["mean"], ["less"]))
    m.graph.node[2].input[3] = "less"
    return m


def plain():
    return model([node("MatMul", ["x", "w"], ["y"])], {"w": np.ones((4, 3), np.float32)})


@pytest.mark.parametrize("m, options, code, text", [
    (inside(), {}, 4, "training inside of a branch or loop, whose moments are no state"),
    (computed(), {}, 4, "training by a mean and a variance that are no initializers"),
    (plain(), {"training_mode": "all"}, 1, 'training_mode="all": the model has no BatchNormalization and no Dropout'),
    (plain(), {"training_mode": "some"}, 1, "training_mode wants one of model|all|none")], ids=["inside", "computed", "nothing", "word"])
def test_refused(m, options, code, text):
    with pytest.raises(dnncc_package.Error) as error:
        in_training(m, **options)
    assert error.value.code == code and text in str(error.value)


def test_inside_without_training():
    net = in_training(inside(), training_mode="none")
    assert sorted(net.keys()) == ["bias", "scale", "step", "w1", "w2"]
