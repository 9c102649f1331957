# SPDX-License-Identifier: MIT
"""Operators of transformers, onnxruntime's own and the standard's, over as many samples, steps and keys as a run gives: each extent gives what onnxruntime gives,
and on targets without vectors the bits of the code for that extent alone."""
import collections

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from test_resized import SANITIZED, compiled

import dnncc

F32, I32, I64, U8, I8 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.INT8
MS, BOUND = "com.microsoft", 9

# slack: of the comparison with onnxruntime; None: it has no such kernel, and the code for each extent alone is the reference
Case = collections.namedtuple("Case", "title op domain inputs attributes outputs opset extents slack")
CASES = []
FIXED = np.random.default_rng(38)


def floats(*shape):
    return FIXED.random(shape, np.float32) - np.float32(.5)


def bytes_(*shape, low=0, kind=np.uint8):
    return FIXED.integers(low, 127, shape).astype(kind)


def numbers(kind, shape, below):
    """an input of integers 0 .. below - 1"""
    return kind, shape, lambda rng, s: rng.integers(0, below, s)


def prefix(shape):
    """a mask that begins with ones"""
    return I32, shape, lambda rng, s: (np.arange(s[-1]) < rng.integers(1, s[-1] + 1, (*s[:-1], 1))).astype(np.int32)


def lengths(shape, most):
    """1 .. extents[most]"""
    return I32, shape, lambda rng, s, e: rng.integers(1, e[most] + 1, s)


def real(*shape):
    return F32, shape, lambda rng, s: rng.random(s, np.float32) - np.float32(.5)


def case(title, op, inputs, extents, domain=MS, outputs=1, opset=20, slack=1e-4, **attributes):
    CASES.append(Case(title, op, domain, inputs, attributes, outputs, opset, extents, slack))


X, KEYS = real("B", "S", 8), real("B", "K", 8)
STEPS = [dict(B=2, S=5), dict(B=1, S=1), dict(B=3, S=9)]
CROSS = [dict(B=2, S=5, K=7), dict(B=1, S=1, K=1), dict(B=3, S=2, K=9)]
GROWN = [dict(B=2, S=1, P=4), dict(B=1, S=3, P=1), dict(B=3, S=2, P=6)]
PAST = [real("B", 2, "P", 4)] * 2

case("keys and values of others", "MultiHeadAttention", [X, KEYS, KEYS], CROSS, num_heads=2)
case("a mask of keys", "MultiHeadAttention", [X, X, X, None, prefix(("B", "S"))], STEPS, num_heads=2)
case("a bias of scores", "MultiHeadAttention", [X, X, X, None, None, real("B", 2, "S", "S")], STEPS, num_heads=2)
case("packed keys and values", "MultiHeadAttention", [X, real("B", "K", 2, 2, 4)], CROSS, num_heads=2, slack=None)
case("packed queries", "MultiHeadAttention", [real("B", "S", 2, 3, 4)], STEPS, num_heads=2, slack=None)
case("behind a past", "MultiHeadAttention", [X, X, X, None, None, None, *PAST], GROWN, outputs=3, num_heads=2)
WEIGHTS = [floats(8, 24), floats(24)]
case("fused", "Attention", [X, *WEIGHTS], STEPS, num_heads=2)
case("fused, a mask", "Attention", [X, *WEIGHTS, prefix(("B", "S"))], STEPS, num_heads=2)
case("fused, numbers of keys", "Attention", [X, *WEIGHTS, lengths(("B",), "S")], STEPS, num_heads=2)
case("fused, causal", "Attention", [X, *WEIGHTS], STEPS, num_heads=2, unidirectional=1)
case("fused, behind a past", "Attention", [X, *WEIGHTS, None, real(2, "B", 2, "P", 4)], GROWN, outputs=2, num_heads=2, unidirectional=1)
BYTES = [(U8, ("B", "S", 8), lambda rng, s: rng.integers(0, 255, s)), bytes_(8, 24, low=-99, kind=np.int8), floats(24), np.float32(.01), np.float32(.01)]
ZEROS = [np.uint8(128), np.int8(0)]
case("of bytes, a mask", "QAttention", [*BYTES, prefix(("B", "S")), *ZEROS], STEPS, num_heads=2)
case("of bytes, causal", "QAttention", [*BYTES, None, *ZEROS], STEPS, num_heads=2, unidirectional=1)
case("of bytes, behind a past", "QAttention", [*BYTES, None, *ZEROS, real(2, "B", 2, "P", 4)], GROWN, outputs=2, num_heads=2, unidirectional=1)
IDS, KINDS = numbers(I32, ("B", "S"), 30), numbers(I32, ("B", "S"), 2)
case("words, places and segments", "EmbedLayerNormalization",
     [IDS, KINDS, floats(30, 8), floats(16, 8), floats(2, 8), floats(8), floats(8), prefix(("B", "S"))], STEPS, outputs=2)
case("words and places", "EmbedLayerNormalization", [IDS, None, floats(30, 8), floats(16, 8), None, floats(8), floats(8)], STEPS, outputs=2)
case("places as an operand", "EmbedLayerNormalization",
     [IDS, KINDS, floats(30, 8), floats(16, 8), floats(2, 8), floats(8), floats(8), None, numbers(I32, ("B", "S"), 16)], STEPS, outputs=2)
case("tables of bytes", "QEmbedLayerNormalization",
     [IDS, KINDS, bytes_(30, 8), bytes_(16, 8), bytes_(2, 8), bytes_(8), bytes_(8), prefix(("B", "S")), *[np.float32(.01)] * 5, *[np.uint8(128)] * 5],
     STEPS, outputs=2)
ROUTES = [dict(N=5), dict(N=1), dict(N=9)]
case("experts", "MoE", [real("N", 8), real("N", 4), floats(4, 16, 8), None, floats(4, 8, 16)], ROUTES, k=2, activation_type="relu")
case("experts of bytes", "QMoE", [real("N", 32), real("N", 4), bytes_(4, 16, 16), np.abs(floats(4, 16)), None, bytes_(4, 32, 8), np.abs(floats(4, 32))],
     ROUTES, k=2, expert_weight_bits=4, activation_type="relu", slack=1e-3)
case("products of an equation", "Einsum", [real("B", "S", 4), real("B", "K", 4)], CROSS, domain="", equation="bsh,bkh->bsk")
case("a batch in front", "Einsum", [real("B", 2, "S", 4), real("B", "K", 2, 4)], CROSS, domain="", equation="...hsd,...khd->...hsk")
case("sums of an equation", "Einsum", [real("B", "S", 4)], STEPS, domain="", equation="bsh->hb")
case("n-grams that repeat", "NGramRepeatBlock", [numbers(I64, ("B", "S"), 3), real("B", 4)], STEPS, ngram_size=2)
GRAMS = {"min_gram_length": 1, "max_gram_length": 2, "ngram_counts": [0, 3], "ngram_indexes": [0, 1, 2, 3, 4], "pool_int64s": [1, 2, 3, 1, 2, 3, 1]}
case("how often n-grams come", "TfIdfVectorizer", [numbers(I64, ("B", "S"), 5)], STEPS, domain="", mode="TF", max_skip_count=2, **GRAMS)
case("n-grams of a row", "TfIdfVectorizer", [numbers(I64, ("S",), 5)], [dict(S=5), dict(S=1), dict(S=9)], domain="", mode="TF", max_skip_count=0, **GRAMS)


def save(c, path):
    names, ports, constants = [], [], []
    for i, v in enumerate(c.inputs):
        names.append("" if v is None else f"i{i}")
        if isinstance(v, tuple):
            ports.append(helper.make_tensor_value_info(names[-1], v[0], v[1]))
        elif v is not None:
            constants.append(onnx.numpy_helper.from_array(np.asarray(v), names[-1]))
    outputs = [f"o{i}" for i in range(c.outputs)]
    graph = helper.make_graph([helper.make_node(c.op, names, outputs, domain=c.domain, **c.attributes)], "g", ports,
                              [onnx.ValueInfoProto(name=name) for name in outputs], constants)
    opsets = [helper.make_opsetid("", c.opset), helper.make_opsetid(MS, 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return [(f"i{i}", v) for i, v in enumerate(c.inputs) if isinstance(v, tuple)]


def feeds_of(ports, extents, seed):
    rng, feeds = np.random.default_rng(seed), {}
    for name, (kind, shape, make) in ports:
        args = (rng, [extents.get(d, d) for d in shape]) + ((extents,) if make.__code__.co_argcount == 3 else ())
        feeds[name] = np.asarray(make(*args)).astype(helper.tensor_dtype_to_np_dtype(kind))
    return feeds


def check(c, folder, dims=lambda e: [f"--dim={n}={v}" for n, v in e.items()]):
    ports = save(c, folder / "m.onnx")
    least = {n: min(e[n] for e in c.extents) for n in c.extents[0]}
    program = compiled(folder / "m.onnx", folder / "any", *dims({n: f"{v}..{BOUND}" for n, v in least.items()}), "--target=generic", flags=SANITIZED)
    session = c.slack and onnxruntime.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
    for seed, extents in enumerate(c.extents):
        feeds = feeds_of(ports, extents, seed)
        got = dnncc.run_host(program, list(feeds.values()))
        for y, right in zip(got, session.run(None, feeds) if session else got, strict=True):
            assert y.shape == right.shape
            np.testing.assert_allclose(y, right, rtol=c.slack or 0, atol=c.slack or 0, err_msg=str(extents))
        if not seed or not session:
            alone = dnncc.run_host(compiled(folder / "m.onnx", folder / "one", *dims(extents), "--target=generic"), list(feeds.values()))
            for y, right in zip(got, alone, strict=True):
                if "Attention" in c.op or c.op == "AveragePool": # When sums are divided, and by what, depends on what is predicted faster.
                    np.testing.assert_allclose(y, right, rtol=1e-5, atol=1e-6)
                else:
                    np.testing.assert_array_equal(y, right)


@pytest.mark.sample(10)
@pytest.mark.parametrize("c", CASES, ids=lambda c: f"{c.op}, {c.title}".replace(" ", "-"))
def test_operator(c, tmp_path):
    check(c, tmp_path)
