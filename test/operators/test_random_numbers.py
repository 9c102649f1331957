# SPDX-License-Identifier: MIT
"""Operators that draw random numbers: the generator word by word, numpy's numbers for nodes that state a seed, distributions, and what the numbers depend on."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
from against import reference  # noqa: E402

F32, F64, F16 = np.float32, np.float64, np.float16
TYPES = {F32: TensorProto.FLOAT, F64: TensorProto.DOUBLE, F16: TensorProto.FLOAT16, np.int64: TensorProto.INT64, np.int32: TensorProto.INT32, np.bool_: TensorProto.BOOL}


def model_of(nodes, inputs=(), outputs=(), opset=22, name="g"):
    """inputs, outputs: (name, type, shape)"""
    ports = [[helper.make_tensor_value_info(n, TYPES[t], shape) for n, t, shape in side] for side in (inputs, outputs)]
    return helper.make_model(helper.make_graph(nodes, name, *ports), opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def run(model, inputs=(), options=(), interpreted=False):
    with dnncc.Workspace("random") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        if interpreted:
            return reference(folder / "model.onnx", inputs, options, folder)
        dnncc.compile_model(folder / "model.onnx", folder, options)
        return dnncc.run_host(dnncc.build_host(folder), list(inputs))


def words(key, position):
    """Philox 4 x 32-10"""
    mask = 0xffffffff
    counter, keys = [position & mask, position >> 32, 0, 0], [key & mask, key >> 32]
    for _ in range(10):
        first, second = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [(second >> 32) ^ counter[1] ^ keys[0], second & mask, (first >> 32) ^ counter[3] ^ keys[1], first & mask]
        keys = [(keys[0] + 0x9E3779B9) & mask, (keys[1] + 0xBB67AE85) & mask]
    return counter


def bits(key, position):
    low, high = words(key, position)[:2]
    return low | high << 32


def test_words():
    """the known answer of the paper's authors for zeros, and other keys and counters by the algorithm written out above"""
    assert [f"{w:08x}" for w in words(0, 0)] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
    rng = np.random.default_rng(1)
    keys, places = (np.concatenate([np.array([0, 2**64 - 1], np.uint64), rng.integers(0, 2**64, 30, np.uint64)]) for _ in range(2))
    text = 'dnn 3\nmodule "m"\nfunc @main(%k "k": <32 x u64>, %p "p": <32 x u64>) -> ("y") {\n  %0 = random_bits(%k, %p) : <32 x u64>\n  yield(%0)\n}\n'
    want = [bits(int(k), int(p)) for k, p in zip(keys, places)]
    for options in [], ["--target=native"]:
        with dnncc.Workspace("words") as folder:
            (folder / "model.dnn").write_text(text)
            dnncc.compile_model(folder / "model.dnn", folder, options)
            assert dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), [keys, places])[0].tolist() == want
            assert reference(folder / "model.dnn", [keys, places], options, folder)[0].tolist() == want


SEEDED = {"RandomUniform": dict(low=-1.0, high=3.0), "RandomNormal": dict(mean=2.0, scale=0.5), "RandomUniformLike": dict(low=-1.0, high=3.0), "RandomNormalLike": dict(mean=-2.0, scale=3.0)}


@pytest.mark.parametrize("dtype", [F32, F64, F16])
@pytest.mark.parametrize("op", SEEDED)
def test_stated_seed(op, dtype):
    """the numbers of numpy's RandomState, as the reference evaluator has them, also of more than 624 words"""
    like = op.endswith("Like")
    for seed, shape in (0.0, [3, 5]), (4294967040.0, [700]), (17.5, [1]):
        node = helper.make_node(op, ["x"] if like else [], ["y"], dtype=TYPES[dtype], seed=seed, **SEEDED[op], **({} if like else {"shape": shape}))
        model = model_of([node], [("x", F32, shape)] if like else [], [("y", dtype, shape)])
        given = [np.zeros(shape, F32)] if like else []
        want = ReferenceEvaluator(model).run(None, dict(zip("x", given)))[0]
        got = run(model, given)[0]
        np.testing.assert_allclose(got.astype(F64), want.astype(F64), **(dict(rtol=2e-3, atol=4e-3) if dtype == F16 else dict(rtol=3e-7, atol=5e-7)))


def test_stated_seed_of_bernoulli():
    p = np.random.default_rng(3).uniform(0.01, 0.99, (40, 9)).astype(F32)
    model = model_of([helper.make_node("Bernoulli", ["p"], ["y"], seed=5.0, dtype=TensorProto.INT64)], [("p", F32, p.shape)], [("y", np.int64, p.shape)])
    assert run(model, [p])[0].tolist() == ReferenceEvaluator(model).run(None, {"p": p})[0].tolist()


def draws(count=20000, dtype=F32):
    nodes = [helper.make_node("RandomUniform", [], ["u"], shape=[count], low=-2.0, high=6.0, dtype=TYPES[dtype]),
             helper.make_node("RandomNormal", [], ["n"], shape=[count], mean=1.0, scale=3.0, dtype=TYPES[dtype]),
             helper.make_node("RandomNormal", [], ["m"], shape=[count], mean=1.0, scale=3.0, dtype=TYPES[dtype])]
    return model_of(nodes, [], [(k, dtype, [count]) for k in "unm"])


def far(sample, cdf):
    """the distance of Kolmogorov and Smirnov, times the root of the count: above 1.95 for one sample of 1000"""
    sample = np.sort(sample.astype(F64))
    ranks = np.arange(1, len(sample) + 1) / len(sample)
    return np.max(np.abs(ranks - cdf(sample))) * np.sqrt(len(sample))


def normal_cdf(x):
    import math
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])


@pytest.mark.parametrize("dtype", [F32, F64])
def test_distributions(dtype):
    """of the numbers, of each pair of neighbours, of two nodes, of two seeds"""
    first = run(draws(dtype=dtype), options=["--seed=1"])
    other = run(draws(dtype=dtype), options=["--seed=2"])
    for u, n, m in first, other:
        assert -2 <= u.min() < -1.99 and 5.99 < u.max() < 6
        assert far(u, lambda x: (x + 2) / 8) < 1.95
        assert far((n - 1) / 3, normal_cdf) < 1.95 and far((m - 1) / 3, normal_cdf) < 1.95
        for a, b in (u[1:], u[:-1]), (n[1:], n[:-1]), (n, m), (u, n), (first[0], other[0]) if u is other[0] else (n, u):
            assert abs(np.corrcoef(a, b)[0, 1]) < 0.03
    assert first[0].tolist() == run(draws(dtype=dtype), options=["--seed=1"], interpreted=True)[0].tolist()


def test_seed():
    """the same numbers as input and as option; others at another seed; numbers of a stated seed are replaced"""
    model = model_of([helper.make_node("RandomNormal", [], ["y"], shape=[64], seed=3.0), helper.make_node("RandomUniform", [], ["z"], shape=[64])], [], [("y", F32, [64]), ("z", F32, [64])])
    with dnncc.Workspace("seed") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder, ["--seed=input"])
        host = dnncc.build_host(folder)
        by_input = {seed: dnncc.run_host(host, [np.array(seed, np.int64)]) for seed in (0, 7, 2**62 + 5)}
    for seed, got in by_input.items():
        option = run(model, options=[f"--seed={seed}"])
        assert [v.tolist() for v in got] == [v.tolist() for v in option]
        with np.errstate(over="ignore"):
            key = bits(bits(seed, 2), 0)
        assert got[1][0] == F32(key >> 40) / F32(2**24)
    assert not set(by_input[0][0].tolist()) & set(by_input[7][0].tolist())
    stated = run(model)[0]
    np.testing.assert_allclose(stated, np.random.RandomState(3).randn(64), rtol=1e-5, atol=1e-6)


def test_loops_draw_anew():
    """numbers of a loop's body are others at each iteration; of nested loops as well"""
    draw = helper.make_node("RandomUniform", [], ["u"], shape=[4])
    inner = helper.make_graph([draw, helper.make_node("Identity", ["c2"], ["d2"])], "inner", [helper.make_tensor_value_info("i2", TensorProto.INT64, []), helper.make_tensor_value_info("c2", TensorProto.BOOL, [])],
                              [helper.make_tensor_value_info("d2", TensorProto.BOOL, []), helper.make_tensor_value_info("u", TensorProto.FLOAT, [4])])
    outer = helper.make_graph([helper.make_node("Loop", ["three", "c"], ["us"], body=inner), helper.make_node("Identity", ["c"], ["d"])], "outer",
                              [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
                              [helper.make_tensor_value_info("d", TensorProto.BOOL, []), helper.make_tensor_value_info("us", TensorProto.FLOAT, [3, 4])])
    nodes = [helper.make_node("Constant", [], ["three"], value_int=3), helper.make_node("Constant", [], ["five"], value_int=5), helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("t", TensorProto.BOOL, [], [1])),
             helper.make_node("Loop", ["five", "yes"], ["y"], body=outer)]
    model = model_of(nodes, [], [("y", F32, [5, 3, 4])])
    got = run(model, options=["--seed=1"])[0]
    assert len(set(got.ravel().tolist())) == 60
    assert got.tolist() == run(model, options=["--seed=1"], interpreted=True)[0].tolist()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_multinomial(dtype):
    """frequencies of classes, one of which never comes, and probabilities that are far from 1 in sum"""
    p = np.array([[0.1, 0.0, 0.6, 0.3], [0.25, 0.25, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0]])
    with np.errstate(divide="ignore"):
        x = (np.log(p) + [[30], [-50], [0]]).astype(F32)
    model = model_of([helper.make_node("Multinomial", ["x"], ["y"], sample_size=5000, dtype=TYPES[dtype])], [("x", F32, x.shape)], [("y", dtype, [3, 5000])])
    got = run(model, [x], ["--seed=4"])[0]
    assert got.dtype == dtype
    counts = np.array([np.bincount(row, minlength=4) for row in got]) / 5000
    assert np.all(counts[p == 0] == 0)
    assert np.max(np.abs(counts - p)) < 0.03


@pytest.mark.parametrize("known", [True, False], ids=["training", "mode of a run"])
@pytest.mark.parametrize("seed", [None, 11])
@pytest.mark.parametrize("dtype", [F32, F64, F16])
def test_dropout(dtype, seed, known):
    x = np.random.default_rng(8).normal(size=(50, 40)).astype(dtype)
    mode = helper.make_tensor("mode", TensorProto.BOOL, [], [1])
    node = helper.make_node("Dropout", ["x", "r", "mode"], ["y", "kept"], **({} if seed is None else {"seed": seed}))
    nodes = ([helper.make_node("Constant", [], ["mode"], value=mode)] if known else []) + [node]
    inputs = [("x", dtype, x.shape), ("r", F32, [])] + ([] if known else [("mode", np.bool_, [])])
    model = model_of(nodes, inputs, [("y", dtype, x.shape), ("kept", np.bool_, x.shape)])
    ratio = np.array(0.3, F32)
    y, kept = run(model, [x, ratio] + ([] if known else [np.array(True)]))
    if seed is not None:
        want = np.random.RandomState(seed).uniform(0, 1, x.shape) >= ratio
        assert kept.tolist() == want.tolist()
    assert abs(kept.mean() - 0.7) < 0.04
    want = np.where(kept, x.astype(F64) / (1 - F64(ratio)), 0)
    np.testing.assert_allclose(y.astype(F64), want, rtol=2e-3 if dtype == F16 else 1e-6)
    if not known:
        y, kept = run(model, [x, ratio, np.array(False)])
        assert kept.all() and y.tolist() == x.tolist()


def said(model, options=()):
    with dnncc.Workspace("said") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        return dnncc.run([dnncc.DNNCC, folder / "model.onnx", *options, "-o", folder / "model.c"])


def test_messages():
    done = said(draws(8))
    assert done.returncode == 0 and done.stderr.count("the same at every run; --seed=input makes their seed an input") == 1
    assert not said(draws(8), ["--seed=0"]).stderr
    for wrong in "-1", "x", "", "9223372036854775808":
        done = said(draws(8), [f"--seed={wrong}"])
        assert done.returncode == dnncc.USAGE and "want a number from 0 on, or input" in done.stderr
    done = said(model_of([helper.make_node("Dropout", ["x"], ["y"])], [("x", F32, [3])], [("y", F32, [3])]), ["--seed=1"])
    assert done.returncode == dnncc.USAGE and "--seed 1: no node of the model draws random numbers" in done.stderr
    named = model_of([helper.make_node("Bernoulli", ["seed"], ["y"])], [("seed", F32, [3])], [("y", F32, [3])])
    assert "has a value 'seed' of its own" in said(named, ["--seed=input"]).stderr
    for op, attributes, why in ("RandomUniform", dict(seed=-5e9, shape=[2]), "seed -5e+09, want -4294967295 to 4294967295"), ("RandomUniform", {}, "'shape' is required"), \
                               ("RandomNormal", dict(dtype=TensorProto.INT64, shape=[2]), "random numbers of i64"):
        done = said(model_of([helper.make_node(op, [], ["y"], **attributes)], [], [("y", F32, [2])]))
        assert done.returncode == dnncc.INVALID and why in done.stderr
