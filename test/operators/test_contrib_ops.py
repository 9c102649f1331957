# SPDX-License-Identifier: MIT
"""com.microsoft operators that are the standard's with another signature, and small formulas, by random attributes and shapes, against onnxruntime: thirty draws
of each in one model, whose C for generic runs under sanitizers."""
import pathlib
import random
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import against  # noqa: E402
import dnncc  # noqa: E402
import processor  # noqa: E402
from cases import FIRST, collection, group_test  # noqa: E402
from test_opsets import F32, F64, I8, I32, I64, U8, x  # noqa: E402

DRAWS = 30
GROUPS, case = collection()


def small(r, *shape, dtype=F32):
    return x(*shape, dtype=dtype, low=-2, high=2, key=r.randrange(1 << 30))


def put(op, *operands, constants=(), outputs=1, **attributes):
    case((op, "com.microsoft", 1), op, list(operands), constants=constants, outputs=outputs, **attributes)


def fused_gemm(r):
    m, k, n = r.choice([1, 3, 5]), r.choice([1, 4, 7]), r.choice([1, 2, 6])
    a, b = r.randint(0, 1), r.randint(0, 1)
    more = {"activation": r.choice(["Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSigmoid", "Softsign"])}
    if more["activation"] in ("LeakyRelu", "Elu", "HardSigmoid"):
        more["activation_alpha"] = r.choice([0.1, 0.3])
    if more["activation"] == "HardSigmoid":
        more["activation_beta"] = 0.4
    c = [small(r, *r.choice([(n,), (m, n), (1,), (m, 1)]))] if r.random() < 0.7 else []
    put("FusedGemm", small(r, *((k, m) if a else (m, k))), small(r, *((n, k) if b else (k, n))), *c, transA=a, transB=b, alpha=r.choice([1.0, 0.5]), **more)


def expand_dims(r):
    rank = r.randint(0, 4)
    put("ExpandDims", small(r, *[r.randint(1, 4) for _ in range(rank)]), np.array(r.randint(-rank - 1, rank), I32), constants=[1])


def pad(r):
    rank = r.randint(1, 4)
    mode = r.choice(["constant", "reflect", "edge"])
    pads = np.array([r.randint(-1 if mode == "constant" else 0, 2) for _ in range(2 * rank)], I64)
    value = [np.array(r.choice([0, 1.5]), F32)] if mode == "constant" and r.random() < 0.5 else []
    put("Pad", small(r, *[r.randint(3, 5) for _ in range(rank)]), pads, *value, constants=[1], mode=mode)


def count(r):
    t = r.choice([F32, F64, I32, I64])
    start, limit, step = r.randint(-5, 5), r.randint(-5, 12), r.choice([1, 2, -1, 3])
    put("Range", *[np.array(v, t) for v in ((start, limit, step) if r.random() < 0.6 else (start, max(start, limit)))], constants=[0, 1, 2])


def distances(r):
    t, k = r.choice([F32, F32, F64]), r.choice([1, 3, 8, 17])
    put("CDist", small(r, r.randint(1, 5), k, dtype=t), small(r, r.randint(1, 6), k, dtype=t), metric=r.choice(["sqeuclidean", "euclidean"]))


def unfold(r):
    rank = r.randint(1, 4)
    shape = [r.randint(2, 6) for _ in range(rank)]
    axis = r.randrange(rank)
    t = r.choice([I32, I64])           # of other sizes onnxruntime 1.31 has no kernel
    put("UnfoldTensor", x(*shape, dtype=t, low=-9, high=9, key=r.randrange(1 << 30)), dim=axis - (rank if r.random() < 0.5 else 0), size=r.randint(1, shape[axis]),
        step=r.randint(1, 3))


def nhwc_max_pool(r):
    dims = r.choice([1, 2, 2, 3])
    shape = [r.randint(1, 2)] + [r.randint(4, 7) for _ in range(dims)] + [r.randint(1, 5)]
    kernel = [r.randint(1, 3) for _ in range(dims)]
    more = dict(kernel_shape=kernel)
    if r.random() < 0.6:
        more["strides"] = [r.randint(1, 2) for _ in range(dims)]
    if r.random() < 0.5:
        more["pads"] = [r.randint(0, k // 2) for k in kernel * 2]
    if r.random() < 0.3:
        more["ceil_mode"] = 1
    put("NhwcMaxPool", x(*shape, dtype=r.choice([I8, U8]), low=-128, high=127, key=r.randrange(1 << 30)), **more)


def branches(r):
    rows, number, width = r.choice([(3,), (2, 4), ()]), r.choice([1, 2, 4]), r.choice([1, 3, 8])
    flat = r.random() < 0.5
    return rows, number, width, (small(r, *rows, number * width) if flat else small(r, *rows, number, width)), {"num_branches": number} if flat else {}


def branchwise(r):
    rows, number, width, v, more = branches(r)
    scale = [small(r, *r.choice([(number * width,), (number, width), (width,)]))] if r.random() < 0.8 else []
    put("BranchwiseRMSNorm", v, *scale, **more, **({"epsilon": 1e-3} if r.random() < 0.5 else {}))


def pre_mix(r):
    rows, number, width, v, more = branches(r)
    put("HyperConnectionPreMix", v, small(r, *rows, *r.choice([(number,), (number, 1), (number, width)])), reduction_scale=r.choice([1.0, 0.25]), **more)


def post_mix(r):
    rows, number, width, v, more = branches(r)
    mix = [small(r, *rows, number, number)] if r.random() < 0.7 else []
    put("HyperConnectionPostMix", v, small(r, *rows, width), small(r, *rows, *r.choice([(number,), (number, 1), (number, width)])), *mix, **more)


def engram(r):
    batch, steps, number, width = r.randint(1, 2), r.randint(1, 4), r.choice([1, 3]), r.choice([4, 8])
    normed = r.random() < 0.6
    scales = [small(r, number, width) for _ in range(3 if normed else 2)]
    put("EngramGate", small(r, batch, steps, number, width), small(r, batch, steps, number, width), small(r, batch, steps, width), *scales, outputs=1 + normed)


def inverse(r):
    t, n = r.choice([F32, F32, F64]), r.choice([1, 2, 3, 5, 9])
    rows = r.choice([(), (2,), (2, 3)])
    m = small(r, *rows, n, n, dtype=t) + np.eye(n, dtype=t) * r.choice([0, 5])         # also such that rows change places
    put("Inverse", m if np.abs(np.linalg.det(m)).min() > 0.5 else m + 9 * np.eye(n, dtype=t))


def murmur(r):
    t = r.choice([F32, F64, I32, I64, np.uint32, np.uint64])
    v = x(r.randint(1, 5), r.randint(1, 7), dtype=t, low=-1000 if np.issubdtype(t, np.signedinteger) or t in (F32, F64) else 0, high=1000, key=r.randrange(1 << 30))
    put("MurmurHash3", v, positive=r.randint(0, 1), **({"seed": r.choice([7, 123456])} if r.random() < 0.5 else {}))


def repeats(r):
    batch, length, size = r.randint(1, 3), r.randint(1, 9), r.randint(1, 4)
    put("NGramRepeatBlock", x(batch, length, dtype=I64, low=0, high=3, key=r.randrange(1 << 30)), small(r, batch, 8), ngram_size=size)


def crops(r):
    batch, number, rows, columns = r.randint(1, 3), r.randint(1, 4), r.randint(1, 6), r.randint(1, 7)
    corners = x(number, 4, low=-0.3, high=1.3, key=r.randrange(1 << 30)) if r.random() < 0.6 else x(number, 4, low=0, high=1, key=r.randrange(1 << 30))
    put("CropAndResize", small(r, batch, r.randint(1, 3), rows, columns), corners, x(number, dtype=I32, low=0, high=batch - 1, key=r.randrange(1 << 30)),
        np.array([r.randint(1, 5), r.randint(1, 5)], I32), constants=[3], mode=r.choice(["bilinear", "nearest"]), extrapolation_value=r.choice([0.0, 7.5]))


def transposed(r):
    dims, groups = r.choice([1, 2, 2]), r.choice([1, 1, 2])
    kernel = [r.randint(1, 3) for _ in range(dims)]
    channels, outputs = groups * r.randint(1, 2), r.randint(1, 3)
    more = dict(kernel_shape=kernel, strides=[r.randint(1, 2) for _ in kernel], group=groups)
    pads = np.array([r.randint(0, k - 1) for k in kernel * 2], I64)
    bias = [small(r, outputs * groups)] if r.random() < 0.5 else []
    put("ConvTransposeWithDynamicPads", small(r, 1, channels, *[r.randint(3, 5) for _ in kernel]), small(r, channels, outputs, *kernel), pads, *bias, constants=[2], **more)


def unique(r):
    put("Unique", x(r.randint(1, 20), low=-3, high=3, key=r.randrange(1 << 30)).round(), outputs=3)        # of other types onnxruntime has no kernel


def hashed_ngrams(r):
    t, size, heads, batch, length = r.choice([I32, I64, I64]), r.randint(2, 4), r.randint(1, 3), r.randint(1, 3), r.randint(1, 9)
    key = lambda: r.randrange(1 << 30)  # noqa: E731
    wide = np.iinfo(t).max // 3
    past = x(batch, size - 1, dtype=t, low=0, high=6, key=key()) if r.random() < 0.5 else None
    offsets = x((size - 1) * heads, dtype=t, low=0, high=100, key=key()) if r.random() < 0.5 else None
    end = np.array(3, t) if r.random() < 0.6 else None
    segments = np.sort(x(batch, length, dtype=I32, low=0, high=2, key=key())) if r.random() < 0.4 else None
    more = [past, offsets, end, segments]
    while more and more[-1] is None:
        more.pop()
    put("NGramHashMapping", x(batch, length, dtype=t, low=0, high=6, key=key()), x(size + r.randint(0, 1), dtype=t, low=-wide, high=wide, key=key()),
        x((size - 1) * heads, dtype=t, low=1, high=97, key=key()), *more, outputs=2, max_ngram_size=size, n_head_per_ngram=heads, pad_id=r.choice([0, 5]), reset_on_eos=r.randint(0, 1))


def letters(r):
    count, longest, size, number = r.randint(1, 4), r.randint(2, 7), r.randint(1, 4), r.randint(1, 5)
    window = r.randint(1, min(longest, 3))
    words = x(count, longest, dtype=I32, low=0, high=5, key=r.randrange(1 << 30))
    words[:, 0] = np.maximum(words[:, 0], 1)            # of a word that begins with none onnxruntime leaves results as they lie in memory
    more = dict(embedding_size=number, conv_window_size=window, char_embedding_size=size) if r.random() < 0.5 else {}
    put("WordConvEmbedding", words, small(r, number, 1, window, size), small(r, number), small(r, 6, size), **more)


def masked_pool(r):
    dims = r.choice([1, 2, 2, 3])
    shape = [r.randint(3, 6) for _ in range(dims)]
    kernel = [r.randint(1, 3) for _ in range(dims)]
    more = dict(kernel_shape=kernel)
    if r.random() < 0.6:
        more["strides"] = [r.randint(1, 2) for _ in range(dims)]
    if r.random() < 0.5:
        more["pads"] = [r.randint(0, k // 2) for k in kernel * 2]
    put("MaxpoolWithMask", small(r, r.randint(1, 2), r.randint(1, 3), *shape), np.minimum(x(1, 1, *shape, dtype=I32, low=0, high=3, key=r.randrange(1 << 30)), 1), **more)


for place, draw in enumerate((fused_gemm, expand_dims, pad, count, distances, unfold, nhwc_max_pool, branchwise, pre_mix, post_mix, engram, inverse, murmur, repeats, crops, transposed,
                              unique, hashed_ngrams, letters, masked_pool)):
    generator = random.Random(place)
    for _ in range(DRAWS):
        draw(generator)


@pytest.mark.parametrize("turns", [range(6), pytest.param(range(6, 36), marks=pytest.mark.long)], ids=str)
def test_sparse_matmul(turns, tmp_path):
    """the sparse operand is an initializer, which onnxruntime, whose operand is an input, has made dense by then: so numpy says what is right; plain
    C, vectors and the interpreter take turns"""
    for turn in turns:
        r = random.Random(99 + turn)
        rows, inner, columns = r.randint(1, 6), r.randint(1, 6), r.randint(1, 5)
        a, b, alpha = r.randint(0, 1), r.randint(0, 1), r.choice([1.0, 0.5, -2.0])
        dense = small(r, *((inner, rows) if a else (rows, inner))) * x(*((inner, rows) if a else (rows, inner)), low=0, high=1, key=turn).round()
        sparse = helper.make_sparse_tensor(numpy_helper.from_array(dense[dense != 0], "s"), numpy_helper.from_array(np.flatnonzero(dense), "i"), dense.shape)
        given = small(r, *((columns, inner) if b else (inner, columns)))
        graph = helper.make_graph([helper.make_node("SparseToDenseMatMul", ["s", "b"], ["y"], domain="com.microsoft", transA=a, transB=b, alpha=alpha)], "g",
                                  [helper.make_tensor_value_info("b", 1, given.shape)], [helper.make_tensor_value_info("y", 1, [rows, columns])], sparse_initializer=[sparse])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
        onnx.save(model, str(tmp_path / "model.onnx"))
        want = alpha * ((dense.T if a else dense) @ (given.T if b else given))
        if turn % 3 == 2:
            got = against.reference(tmp_path / "model.onnx", [given], [], tmp_path)[0]
        else:
            target = "x86-64-v3" if turn % 3 and processor.here("x86-64-v3") else "generic"
            dnncc.compile_model(tmp_path / "model.onnx", tmp_path, [f"--target={target}"])
            got = dnncc.run_host(dnncc.build_host(tmp_path), [given])[0]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


test_group = group_test(GROUPS, 1, FIRST)
