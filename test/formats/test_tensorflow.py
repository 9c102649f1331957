# SPDX-License-Identifier: MIT
"""Graphs of TensorFlow are computed as TensorFlow computes them, to 1e-5; without its package, as numpy does."""
import json
import os
import pathlib
import re
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402
import tensorflow_writer as w  # noqa: E402
from tensorflow_writer import Graph, Shape, chunk, node, number, type_of  # noqa: E402

SHARED = dnncc.ROOT.parent / "shared" / "formats"
TOLERANCE = 1e-5
F32, I32, I64 = np.float32, np.int32, np.int64


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip("tensorflow")


def draw(rng, extents, kind=F32):
    if np.dtype(kind) == np.bool_:
        return rng.integers(0, 2, extents).astype(bool)
    if np.issubdtype(kind, np.integer):
        return rng.integers(0 if np.issubdtype(kind, np.unsignedinteger) else -9, 10, extents).astype(kind)
    return rng.standard_normal(extents).astype(kind)


def computed(path, inputs, folder, options=()):
    for k, value in enumerate(inputs):
        np.save(folder / f"input_{k}.npy", value)
    done = dnncc.run([dnncc.DNNCC, path, f"--run={folder}", *options])
    assert done.returncode == 0, done.stderr
    return [np.load(folder / f"output_{k}.npy") for k in range(len(list(folder.glob("output_*.npy"))))]


def close(want, got, tolerance=TOLERANCE):
    assert len(want) == len(got), (len(want), len(got))
    for a, b in zip(want, got):
        a = np.asarray(a)
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
        if np.issubdtype(a.dtype, np.floating):
            assert np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True), np.abs(a.astype(float) - b).max()
        else:
            assert np.array_equal(a, b), (a, b)


def of_tensorflow(content, inputs, outputs):
    """what TensorFlow makes of a graph"""
    tf = tensorflow()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        definition = tf.compat.v1.GraphDef()
        definition.ParseFromString(content)
        tf.import_graph_def(definition, name="")
        return session.run([o if ":" in o else o + ":0" for o in outputs], {k + ":0": v for k, v in inputs.items()})


def one(op, *operands, outputs=1, low=None, **attributes):
    """a graph of one node; an operand is extents, (extents, type) or a constant"""
    def make(g, rng):
        names, given = [], {}
        for x in operands:
            if isinstance(x, np.ndarray):
                names.append(g.const(x))
                continue
            extents, kind = x if isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], tuple) else (x, F32)
            name = g.input(extents, kind)
            names.append(name)
            given[name] = draw(rng, extents, kind) if low is None else rng.uniform(low, low + 2, extents).astype(kind)
        y = g.add(op, names, **attributes)
        return given, [f"{y}:{i}" if i else y for i in range(outputs)]
    return make


def T(kind=F32):
    return dict(T=type_of(kind))


IMAGE = (2, 7, 9, 4)
F, H, I = type_of(F32), np.random.default_rng(7), type_of(I32)


def weights(*extents):
    return H.standard_normal(extents).astype(F32)


def ints(*v, kind=I32):
    return np.array(v, kind)


def conv(padding="SAME", strides=(1, 1), dilations=(1, 1), kernel=(3, 3), op="Conv2D", group=1, outputs=6, **more):
    w_shape = (*kernel, 4 // group, outputs)
    return one(op, IMAGE, weights(*w_shape), T=F, padding=padding, strides=[1, *strides, 1], dilations=[1, *dilations, 1], **more)


def pool(op, padding, kernel=(3, 2), strides=(2, 2), **more):
    return one(op, IMAGE, T=F, padding=padding, ksize=[1, *kernel, 1], strides=[1, *strides, 1], **more)


def unary(op, low=None, kind=F32, extents=(3, 5), **more):
    return one(op, (extents, kind), low=low, T=type_of(kind), **more)


def binary(op, kind=F32, a=(3, 4, 5), b=(4, 1), low=None, **more):
    return one(op, (a, kind), (b, kind), low=low, T=type_of(kind), **more)


def reduction(op, axes, keep=False, kind=F32, extents=(3, 4, 5)):
    return one(op, (extents, kind), ints(*axes), keep_dims=keep, Tidx=I, **({} if kind == np.bool_ else dict(T=type_of(kind))))


def back(padding, extents, strides):
    return one("Conv2DBackpropInput", ints(2, *extents, 5), weights(3, 3, 5, 4), IMAGE, T=F, padding=padding, strides=[1, *strides, 1])


CASES = {
    "conv_same": conv(), "conv_valid": conv("VALID"), "conv_stride": conv(strides=(2, 3)), "conv_dilation": conv(dilations=(2, 2)), "conv_group": conv(group=2), "conv_1x1": conv(kernel=(1, 1)),
    "conv_explicit": conv("EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 3, 0, 0]), "conv_3d": one("Conv3D", (1, 4, 5, 6, 3), weights(2, 3, 3, 3, 5), T=F, padding="SAME", strides=[1, 1, 2, 1, 1]),
    "depthwise": one("DepthwiseConv2dNative", IMAGE, weights(3, 3, 4, 2), T=F, padding="SAME", strides=[1, 2, 2, 1]),
    "back_same": back("SAME", (14, 17), (2, 2)), "back_valid": back("VALID", (15, 19), (2, 2)), "back_valid_more": back("VALID", (16, 20), (2, 2)),
    "matmul": one("MatMul", (3, 4), (4, 5), T=F), "matmul_turned": one("MatMul", (4, 3), (5, 4), T=F, transpose_a=True, transpose_b=True),
    "batch_matmul": one("BatchMatMulV2", (2, 3, 4), (2, 5, 4), T=F, adj_y=True), "batch_matmul_spread": one("BatchMatMulV2", (2, 1, 3, 4), (3, 4, 5), T=F),
    "bias": one("BiasAdd", IMAGE, weights(4), T=F), "bias_rows": one("BiasAdd", (3, 4), weights(4), T=F), "bias_first": one("BiasAdd", (2, 4, 5, 6), weights(4), T=F, data_format="NCHW"),
    "batch_norm": one("FusedBatchNormV3", IMAGE, weights(4), weights(4), weights(4), np.abs(weights(4)), T=F, U=F, is_training=False, epsilon=0.001),
    "softmax": one("Softmax", (3, 5), T=F), "log_softmax": one("LogSoftmax", (3, 5), T=F), "lrn": one("LRN", IMAGE, T=F, depth_radius=1, bias=1.5, alpha=0.3, beta=0.7),
    "l2_loss": one("L2Loss", (3, 4), T=F), "add_n": one("AddN", (3, 4), (3, 4), (3, 4), N=3, T=F), "select": one("Select", ((3, 4), np.bool_), (3, 4), (3, 4), T=F),
    "select_rows": one("Select", ((3,), np.bool_), (3, 4), (3, 4), T=F), "select_2": one("SelectV2", ((3, 1), np.bool_), (3, 4), (4,), T=F), "clip": one("ClipByValue", (3, 4), np.array(-0.5, F32), np.array(0.7, F32), T=F),
    "reshape": one("Reshape", (3, 4, 5), ints(5, -1), T=F, Tshape=I), "squeeze": one("Squeeze", (3, 1, 5, 1), T=F), "squeeze_one": one("Squeeze", (3, 1, 5, 1), T=F, squeeze_dims=[-1]),
    "expand": one("ExpandDims", (3, 4), np.array(-2, I32), T=F), "transpose": one("Transpose", (3, 4, 5), ints(2, 0, 1), T=F), "shape": one("Shape", (3, 4), T=F), "rank": one("Rank", (3, 4), T=F), "size": one("Size", (3, 4), T=F),
    "concat": one("ConcatV2", (3, 4), (3, 2), np.array(1, I32), N=2, T=F), "pack": one("Pack", (3, 4), (3, 4), N=2, T=F, axis=1), "unpack": one("Unpack", (3, 4), outputs=3, T=F, num=3, axis=0),
    "split": one("Split", np.array(1, I32), (3, 6), outputs=3, T=F, num_split=3), "split_sizes": one("SplitV", (3, 6), ints(1, -1, 2), np.array(1, I32), outputs=3, T=F, Tlen=I, num_split=3),
    "slice": one("Slice", (4, 6), ints(1, 2), ints(2, -1), T=F, Index=I), "pad": one("Pad", (3, 4), ints(1, 2, 0, 3).reshape(2, 2), T=F), "pad_value": one("PadV2", (3, 4), ints(1, 2, 0, 3).reshape(2, 2), np.array(2.5, F32), T=F),
    "mirror": one("MirrorPad", (3, 4), ints(1, 2, 0, 3).reshape(2, 2), T=F, mode="REFLECT"), "broadcast": one("BroadcastTo", (3, 1), ints(2, 3, 4), T=F), "fill": one("Fill", ints(2, 3), (), T=F),
    "zeros": one("ZerosLike", (3, 4), T=F), "ones": one("OnesLike", (3, 4), T=F), "reverse": one("ReverseV2", (3, 4), ints(-1), T=F), "gather": one("GatherV2", (3, 4, 5), ints(2, 0), np.array(1, I32), Tparams=F, Tindices=I, Taxis=I),
    "gather_nd": one("GatherNd", (3, 4, 5), ints(2, 0, 1, 3).reshape(2, 2), Tparams=F, Tindices=I), "one_hot": one("OneHot", ((5,), I32), np.array(4, I32), np.array(3, F32), np.array(-1, F32), T=F, TI=I, axis=0),
    "top_k": one("TopKV2", (3, 7), np.array(3, I32), outputs=2, T=F), "nth": one("NthElement", (3, 7), np.array(2, I32), T=F), "nth_largest": one("NthElement", (3, 7), np.array(2, I32), T=F, reverse=True),
    "in_top_k": one("InTopKV2", (5, 6), ints(0, 3, 5, 2, 1), np.array(2, I32), T=I), "arg_max": one("ArgMax", (3, 7), np.array(1, I32), T=F), "arg_min": one("ArgMin", (3, 7), np.array(0, I32), T=F, output_type=I),
    "cumsum": one("Cumsum", (3, 7), np.array(1, I32), T=F, exclusive=True, reverse=True), "cumprod": one("Cumprod", (3, 7), np.array(0, I32), T=F),
    "to_depth": one("SpaceToDepth", (1, 4, 6, 3), T=F, block_size=2), "to_space": one("DepthToSpace", (1, 2, 3, 12), T=F, block_size=2), "einsum": one("Einsum", (3, 4), (4, 5), N=2, T=F, equation="ij,jk->ki"),
    "strided": one("StridedSlice", (4, 5, 6), ints(1, -1, 0), ints(3, 0, 6), ints(1, -2, 3), T=F, Index=I), "strided_masks": one("StridedSlice", (4, 5, 6), ints(1, 2, 0), ints(3, 4, 6), ints(1, 1, 2), T=F, Index=I, begin_mask=1, end_mask=4, shrink_axis_mask=2),
    "strided_new": one("StridedSlice", (4, 5, 6), ints(0, 0, -1), ints(0, 0, 0), ints(1, 1, 1), T=F, Index=I, new_axis_mask=1, ellipsis_mask=2, shrink_axis_mask=4), "strided_first": one("StridedSlice", (4, 5), ints(2), ints(0), ints(1), T=F, Index=I, begin_mask=1, shrink_axis_mask=1),
    **{f"{name}_{way}": one(f"Resize{op}", (2, 4, 5, 3), ints(7, 3), T=F, **({way: True} if way != "plain" else {})) for name, op in (("bilinear", "Bilinear"), ("nearest", "NearestNeighbor")) for way in ("plain", "align_corners", "half_pixel_centers")},
    "max_pool": pool("MaxPool", "VALID"), "max_pool_same": pool("MaxPool", "SAME"), "avg_pool": pool("AvgPool", "VALID"), "avg_pool_same": pool("AvgPool", "SAME", kernel=(3, 3)),
    "all": reduction("All", (1,), kind=np.bool_), "any": reduction("Any", (0, 2), True, kind=np.bool_), "relu_int": unary("Relu", kind=I32), "abs_int": unary("Abs", kind=I32),
    "cast": one("Cast", (3, 5), SrcT=F, DstT=I), "cast_bool": one("Cast", ((3, 5), I32), SrcT=I, DstT=type_of(np.bool_)), "leaky": unary("LeakyRelu", alpha=0.3), "not": one("LogicalNot", ((3, 4), np.bool_)),
    "floor_div_int": one("FloorDiv", ((3, 4), I32), ints(3, -2, 5, -7), T=I), "floor_mod_int": one("FloorMod", ((3, 4), I32), ints(3, -2, 5, -7), T=I), "div_int": one("TruncateDiv", ((3, 4), I32), ints(3, -2, 5, -7), T=I),
    "mod_int": one("TruncateMod", ((3, 4), I32), ints(3, -2, 5, -7), T=I), "and": one("LogicalAnd", ((3, 4), np.bool_), ((4,), np.bool_)), "or": one("LogicalOr", ((3, 4), np.bool_), ((4,), np.bool_)), "xor": binary("BitwiseXor", I32),
    "div_no_nan": one("DivNoNan", (3, 4), F32([0, 1, 2, 0]), T=F), "mul_no_nan": one("MulNoNan", (3, 4), F32([0, 1, 2, 0]), T=F), "xdivy": binary("Xdivy", low=0.5), "xlogy": binary("Xlogy", low=0.5),
    **{op: unary(op) for op in ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "Sigmoid", "Tanh", "Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Rint", "Exp", "Expm1", "Erf", "Erfc", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Reciprocal", "Square", "IsNan", "IsInf", "IsFinite", "Snapshot", "StopGradient")},
    **{op: unary(op, low=0.1) for op in ("Sqrt", "Rsqrt", "Log", "Log1p")}, **{op: unary(op, low=-1) for op in ("Asin", "Acos", "Atanh")}, "Acosh": unary("Acosh", low=1.0), "numerics": unary("CheckNumerics", message="m"),
    **{op: binary(op) for op in ("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "SquaredDifference", "FloorDiv", "FloorMod")}, "Pow": binary("Pow", low=0.2),
    **{op: reduction(op, (0, -1)) for op in ("Mean", "Sum", "Prod", "Max", "Min", "EuclideanNorm")}, "mean_keep": reduction("Mean", (1,), True), "sum_int": reduction("Sum", (1,), kind=I32),
}


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", sorted(CASES))
def test_operator(name, tmp_path):
    tensorflow()
    g = Graph()
    inputs, outputs = CASES[name](g, np.random.default_rng(3))
    content = g.bytes()
    (tmp_path / "m.pb").write_bytes(content)
    want = of_tensorflow(content, inputs, outputs)
    close(want, computed(tmp_path / "m.pb", list(inputs.values()), tmp_path, [f"--output={o}" for o in outputs]))


def network(rng, first=False):
    """a convolution, a pool and a dense layer, which numpy can compute, too"""
    g = Graph()
    x = g.input((1, 4, 4, 2), name="image")
    kernel, bias, matrix = draw(rng, (1, 1, 2, 3)), draw(rng, (3,)), draw(rng, (48, 5))
    y = g.add("Conv2D", [x, g.const(kernel)], T=F, padding="SAME", strides=[1, 1, 1, 1])
    y = g.add("Relu", [g.add("BiasAdd", [y, g.const(bias, packed=False)], T=F)], T=F)
    y = g.add("Reshape", [y, g.const(ints(1, -1), packed=False)], T=F, Tshape=I)
    g.add("MatMul", [y, g.add("Identity", [g.const(matrix)], T=F)], name="logits", T=F)
    image = draw(rng, (1, 4, 4, 2))
    want = np.maximum(image @ kernel[0, 0] + bias, 0).reshape(1, -1) @ matrix
    return g, image, want


def test_network(tmp_path):
    g, image, want = network(np.random.default_rng(1))
    (tmp_path / "m.pb").write_bytes(g.bytes())
    close([want], computed(tmp_path / "m.pb", [image], tmp_path))
    info = json.loads(dnncc.run([dnncc.DNNCC, tmp_path / "m.pb", "--info=json"]).stdout)
    assert [p["name"] for p in info["inputs"]] == ["image"] and [p["name"] for p in info["outputs"]] == ["logits"]


# what TensorFlow 2.21 computes of that image
SPOTTED = [0.04747332, 0.06094899, 0.03178382, 0.03001077, 0.03490724, 0.08182468, 0.04324546, 0.0696905, 0.05269134, 0.01651261, 0.05546049, 0.4754509]


def test_keyword_spotting(tmp_path):
    """a SavedModel of TensorFlow 2.3; the files of its variables may lie elsewhere"""
    folder = SHARED / "savedmodel" / "kws"
    if not folder.exists():
        pytest.skip("no shared files")
    x = draw(np.random.default_rng(1), (1, 49, 10, 1))
    close([np.array([SPOTTED], F32)], computed(folder, [x], tmp_path, ["--input", "input_1=1x49x10x1"]))
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "saved_model.pb").write_bytes((folder / "saved_model.pb").read_bytes())
    done = dnncc.run([dnncc.DNNCC, tmp_path / "copy", "--input", "input_1=1x49x10x1", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.IO and "variables" in done.stderr, done.stderr
    close([np.array([SPOTTED], F32)], computed(tmp_path / "copy", [x], tmp_path, ["--input", "input_1=1x49x10x1", f"--allow-external={folder}"]))


def calling():
    """two functions, one of which calls the other"""
    g = Graph()
    x = g.input((2, 3), name="x")
    inner = g.function("inner", [("a", 1), ("b", 1)], [("sum", 1, "s:z:0"), ("both", 1, "t:output:1")],
                       [node("s", "AddV2", ["a", "b"], T=F), node("d", "Const", [], dtype=I, value=w.tensor(ints(0).reshape(()))), node("t", "Split", ["d:output:0", "s:z:0"], T=F, num_split=2)])
    outer = g.function("outer", [("a", 1)], [("y", 1, "m:z:0"), ("z", 1, "c:output:1")], [node("c", "PartitionedCall", ["a", "a"], f=inner, Tin=[F, F], Tout=[F, F]), node("m", "Mul", ["c:output:0", "a"], T=F)])
    y = g.add("StatefulPartitionedCall", [x], name="call", f=outer, Tin=[F], Tout=[F, F])
    g.add("Neg", [f"{y}:1"], name="z", T=F)
    g.add("Identity", [y], name="y", T=F)
    return g


def test_functions(tmp_path):
    (tmp_path / "m.pb").write_bytes(calling().bytes())
    x = draw(np.random.default_rng(1), (2, 3))
    got = computed(tmp_path / "m.pb", [x], tmp_path)
    close([-2 * x[1:], 2 * x * x], got)


def branching(known=None):
    g = Graph()
    x = g.input((3,), name="x")
    c = g.const(np.array(known)) if known is not None else g.input((), np.bool_, name="c")
    then = g.function("then", [("a", 1)], [("y", 1, "n:z:0")], [node("n", "AddV2", ["a", "a"], T=F)])
    other = g.function("other", [("a", 1)], [("y", 1, "n:y:0")], [node("n", "Neg", ["a"], T=F)])
    y = g.add("StatelessIf", [c, x], Tcond=type_of(np.bool_), Tin=[F], Tout=[F], then_branch=then, else_branch=other)
    g.add("Identity", [y], name="y", T=F)
    return g


@pytest.mark.parametrize("known", [None, True, False])
def test_if(known, tmp_path):
    (tmp_path / "m.pb").write_bytes(branching(known).bytes())
    x = draw(np.random.default_rng(1), (3,))
    for c in (True, False) if known is None else (known,):
        inputs = [x, np.array(c)] if known is None else [x]
        close([2 * x if c else -x], computed(tmp_path / "m.pb", inputs, tmp_path))


def looping():
    """while (i < n) { i += 1; x *= 1.5 }"""
    g = Graph()
    n, x = g.input((), I32, name="n"), g.input((3,), name="x")
    kinds = [("i", 3), ("n", 3), ("x", 1)]
    cond = g.function("cond", kinds, [("go", 10, "l:z:0")], [node("l", "Less", ["i", "n"], T=I)])
    body = g.function("body", kinds, [("i1", 3, "a:z:0"), ("n1", 3, "n"), ("x1", 1, "m:z:0")],
                      [node("one", "Const", [], dtype=I, value=w.tensor(np.array(1, I32))), node("a", "AddV2", ["i", "one:output:0"], T=I),
                       node("f", "Const", [], dtype=F, value=w.tensor(np.array(1.5, F32))), node("m", "Mul", ["x", "f:output:0"], T=F)])
    y = g.add("StatelessWhile", [g.const(np.array(0, I32)), n, x], T=[I, I, F], cond=cond, body=body)
    g.add("Identity", [f"{y}:2"], name="y", T=F)
    return g


def test_while(tmp_path):
    (tmp_path / "m.pb").write_bytes(looping().bytes())
    x = draw(np.random.default_rng(1), (3,))
    for n in (4, 0):
        close([x * F32(1.5 ** n)], computed(tmp_path / "m.pb", [np.array(n, I32), x], tmp_path))


def refused(tmp_path, content, code, *said, options=()):
    (tmp_path / "m.pb").write_bytes(content)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.pb", "--emit=ir", "-o", tmp_path / "m.dnn", *options])
    assert done.returncode == code, done.stderr
    for text in said:
        assert text in done.stderr, done.stderr


def test_not_supported(tmp_path):
    """all of it at once, also in functions"""
    g = Graph()
    x = g.input((2, 3), name="x")
    f = g.function("f", [("a", 1)], [("y", 1, "n:y:0")], [node("n", "Inside", ["a"], T=F)])
    g.add("Outside", [g.add("PartitionedCall", [x], f=f, Tin=[F], Tout=[F]), g.add("Outside", [x])])
    refused(tmp_path, g.bytes(), dnncc.UNSUPPORTED, "operator Inside (1 node) is not supported", "operator Outside (2 nodes) is not supported")


def test_invalid(tmp_path):
    g = Graph()
    x = g.input((2, 3), name="x")
    g.nodes += [node("a", "AddV2", ["x", "b"], T=F), node("b", "Neg", ["a"], T=F)]
    g.add("Neg", ["b"])
    refused(tmp_path, g.bytes(), dnncc.INVALID, "needs its own result")
    g = Graph()
    g.add("Neg", [g.input((2, 3)) + ":1"], name="y")
    refused(tmp_path, g.bytes(), dnncc.INVALID, "node 'y' (Neg)", "output 1 of a node that has none")
    g = Graph()
    g.add("Neg", ["nobody"], name="y")
    refused(tmp_path, g.bytes(), dnncc.INVALID, "'nobody' is no output of a node")
    g = Graph()
    g.add("MatMul", [g.input((2, 3)), g.input((2, 3))], name="y", T=F)
    refused(tmp_path, g.bytes(), dnncc.INVALID, "node 'y' (MatMul)")
    g = Graph()
    g.add("Neg", [g.input((-1, 3), name="x")], name="y", T=F)
    refused(tmp_path, g.bytes(), dnncc.INVALID, "input 'x' has an open shape", "--input x=1x3")
    refused(tmp_path, g.bytes(), dnncc.OK, options=["--input", "x=5x3"])
    f = Graph()
    f.function("f", [("a", 1)], [("y", 1, "n:output:0")], [node("n", "PartitionedCall", ["a"], f=w.Function("f"), Tin=[F], Tout=[F])])
    f.add("PartitionedCall", [f.input((2,))], f=w.Function("f"), Tin=[F], Tout=[F])
    refused(tmp_path, f.bytes(), dnncc.INVALID, "nested calls of functions")


def variables(folder, seed=1):
    """a SavedModel of three variables"""
    (folder / "variables").mkdir(parents=True, exist_ok=True)
    rng, g = np.random.default_rng(seed), Graph()
    tensors = {name: draw(rng, extents) for name, extents in (("dense/bias", (4,)), ("dense/kernel", (3, 4)), ("scale", ()))}
    x = g.input((2, 3), name="x")
    values = {}
    for name, array in tensors.items():
        handle = g.add("VarHandleOp", name=name, dtype=F, shape=Shape(array.shape), shared_name=name)
        values[name] = g.add("ReadVariableOp", [handle], dtype=F)
    h = g.add("BiasAdd", [g.add("MatMul", [x, values["dense/kernel"]], T=F), values["dense/bias"]], T=F)
    g.add("Mul", [h, values["scale"]], name="y", T=F)
    (folder / "saved_model.pb").write_bytes(w.saved_model(g, {"serve": ({"x": "x:0"}, {"y": "y:0"})}))
    index, data = w.bundle(tensors)
    (folder / "variables" / "variables.index").write_bytes(index)
    (folder / "variables" / "variables.data-00000-of-00001").write_bytes(data)
    return tensors


def test_files_of_variables(tmp_path):
    tensors = variables(tmp_path / "m")
    x = draw(np.random.default_rng(2), (2, 3))
    close([(x @ tensors["dense/kernel"] + tensors["dense/bias"]) * tensors["scale"]], computed(tmp_path / "m", [x], tmp_path))


@pytest.mark.long
def test_files_of_variables_of_tensorflow(tmp_path):
    """TensorFlow reads what the tests write, and what it writes, checksums among it, is read here"""
    tf = tensorflow()
    tensors = variables(tmp_path / "m")
    reader = tf.train.load_checkpoint(str(tmp_path / "m" / "variables" / "variables"))
    assert all(np.array_equal(reader.get_tensor(name), array) for name, array in tensors.items())
    rng, module = np.random.default_rng(3), tf.Module()
    module.many = [tf.Variable(draw(rng, (2, 3))) for _ in range(40)]
    module.add = tf.function(lambda x: tf.math.add_n([x, *module.many]), input_signature=[tf.TensorSpec((2, 3), tf.float32, name="x")])
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.add)
    x = draw(rng, (2, 3))
    close([module.add(x).numpy()], computed(tmp_path / "saved", [x], tmp_path))


def source_of(folder):
    done = dnncc.run([dnncc.DNNCC, folder, "--emit=ir", "-o", "-"])
    assert done.returncode == 0, done.stderr
    return re.search(r'source "(\w+)"', done.stdout)[1]


def test_the_source_is_the_variables_too(tmp_path):
    """what was calibrated, or tuned, of other variables is of another source"""
    variables(tmp_path / "m")
    before = source_of(tmp_path / "m")
    variables(tmp_path / "m")
    assert source_of(tmp_path / "m") == before
    variables(tmp_path / "m", seed=2)
    assert source_of(tmp_path / "m") != before


def test_damaged_variables(tmp_path, some):
    """whichever bit of their files is another one, their checksums say it; cut off, they are no such files"""
    variables(tmp_path / "m")
    for name in "variables.index", "variables.data-00000-of-00001":
        path = tmp_path / "m" / "variables" / name
        content = path.read_bytes()
        footer = len(content) - 48 if name.endswith("index") else len(content)
        for at in some(range(len(content)), 5):
            if at < footer:
                path.write_bytes(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1:])
                done = dnncc.run([dnncc.DNNCC, tmp_path / "m", "--emit=ir", "-o", tmp_path / "m.dnn"])
                assert done.returncode in (dnncc.INVALID, dnncc.UNSUPPORTED) and "error: " in done.stderr, (name, at, done.stderr)
            path.write_bytes(content[:at])
            done = dnncc.run([dnncc.DNNCC, tmp_path / "m", "--emit=ir", "-o", tmp_path / "m.dnn"])
            assert done.returncode == dnncc.INVALID and "error: " in done.stderr, (name, at, done.stderr)
        path.write_bytes(content)
    assert not (tmp_path / "m.dnn").exists()
    assert dnncc.run([dnncc.DNNCC, tmp_path / "m", "--emit=ir", "-o", tmp_path / "m.dnn"]).returncode == 0


@pytest.mark.slow
def test_truncated(tmp_path, some):
    """At each byte an error, but where a whole field ends: what is left is a message, of fewer nodes. A network of these has other outputs than the whole
    one, or is refused for an operand that is not there."""
    for content in (branching().bytes(), w.saved_model(calling(), {"serve": ({"x": "x:0"}, {"y": "y:0"})})):
        ends, at = set(), 0
        while at < len(content):        # fields of the outermost message: a tag, a length, so many bytes
            tag, at = taken(content, at)
            length, at = taken(content, at)
            at += length if tag & 7 == 2 else 0
            ends.add(at)
        for length in some(range(1, len(content)), 3):
            (tmp_path / "m.pb").write_bytes(content[:length])
            done = dnncc.run([dnncc.DNNCC, tmp_path / "m.pb", "--format=tensorflow", "--emit=ir", "-o", tmp_path / "m.dnn"])
            allowed = (dnncc.OK, dnncc.INVALID, dnncc.UNSUPPORTED) if length in ends else (dnncc.INVALID,)
            assert done.returncode in allowed and bool(done.stderr) == (done.returncode != dnncc.OK), (length, done.returncode, done.stderr)


def taken(content, at):
    """a varint, and what is behind it"""
    number = shift = 0
    while True:
        number |= (content[at] & 127) << shift
        shift += 7
        at += 1
        if content[at - 1] < 128:
            return number, at


def test_signatures(tmp_path):
    """each is an entry; names are theirs"""
    g = calling()
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(w.saved_model(g, {"serve": ({"x": "x:0"}, {"y": "y:0"}), "other": ({"in": "x:0"}, {"z": "z:0", "a": "call:0"})}))
    x = draw(np.random.default_rng(1), (2, 3))
    close([2 * x * x], computed(folder, [x], tmp_path, ["--entry=serve"]))
    close([2 * x * x, -2 * x[1:]], computed(folder, [x], tmp_path, ["--entry=other"]))
    done = dnncc.run([dnncc.DNNCC, folder, "--info"])
    assert "serve/x" in done.stdout and "other/in" in done.stdout, done.stdout
    done = dnncc.run([dnncc.DNNCC, folder, "--entry=none", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.USAGE and "2 signatures" in done.stderr, done.stderr


def test_table_and_page():
    """each row of the table stands in docs/formats.md and in --help-ops; those that change a variable are refused"""
    rows = re.findall(r"^TF_(?:OP|EACH|STATE)\((\w+),", (dnncc.ROOT / "front/tensorflow/tensorflow_ops.def").read_text(), re.M)
    page = (dnncc.ROOT / "docs/formats.md").read_text()
    said = re.findall(r"`(\w+)`", page[page.index("<!-- tensorflow -->"):page.index("<!-- end of tensorflow -->")])
    assert len(rows) > 90 and sorted(row for row in rows if not row.startswith("Assign")) == sorted(said)
    listed = dnncc.run([dnncc.DNNCC, "--help-ops"]).stdout
    assert all(re.search(rf"^  {row}$", listed, re.M) for row in rows)
