# SPDX-License-Identifier: MIT
"""Operators of TFLite files that networks for images and sounds have less often, by random attributes, as LiteRT's reference kernels compute them."""
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

FLOAT, INT8, INT16, INT32, BOOL = np.float32, np.int8, np.int16, np.int32, np.bool_


def plain(c, *shape, kind=None):
    """an input without a scale"""
    c.inputs.append(c.w.tensor(shape, kind or c.kind))
    return c.inputs[-1]


def ints(c, numbers, kind=np.int32):
    return c.w.constant(np.array(numbers, kind))


def batch_matmul(c):
    r = c.rng
    batch, rows, inner, columns = r.integers(1, 4), *r.integers(1, 9, 3)
    adj_x, adj_y = bool(r.integers(2)), bool(r.integers(2))
    other = [batch] if r.integers(2) else [1]
    x = c.input(2, batch, *([inner, rows] if adj_x else [rows, inner]))
    y = c.input(*other, *([columns, inner] if adj_y else [inner, columns]))
    z = c.output(2, batch, rows, columns, **c.quantized(tflite.scale_of(r, -2)))
    c.w.add("BATCH_MATMUL", [x, y], [z], "BatchMatMulOptions", adjX=adj_x, adjY=adj_y)
    return [z]


def batch_matmul_hybrid(c):
    """floats by weights of 8 bits, whose zero point does not count"""
    r = c.rng
    batch, rows, inner, columns = r.integers(1, 4), *r.integers(1, 9, 3)
    adj_x, adj_y, constant = bool(r.integers(2)), bool(r.integers(2)), bool(r.integers(2))
    many = [[batch], [1]][int(r.integers(2))], [batch]
    x = c.input(*many[0], *([inner, rows] if adj_x else [rows, inner]))
    shape, q = [*many[1], *([columns, inner] if adj_y else [inner, columns])], {"scale": tflite.scale_of(r), "zero": int(r.integers(-3, 3))}
    y = c.w.constant(r.integers(-127, 128, shape).astype(np.int8), **q) if constant else c.w.tensor(shape, np.int8, **q)
    if not constant:
        c.inputs.append(y)
    z = c.output(batch, rows, columns)
    c.w.add("BATCH_MATMUL", [x, y], [z], "BatchMatMulOptions", adjX=adj_x, adjY=adj_y, asymmetricQuantizeInputs=bool(r.integers(2)))
    return [z]


def batches(back):
    def make(c):
        r = c.rng
        n, rows, columns, channels = r.integers(1, 3), *r.integers(1, 4, 2), r.integers(1, 4)
        block, flat = r.integers(1, 4, 2), bool(r.integers(2)) and not c.kind == INT8
        around = np.array([[r.integers(0, b), 0] for b in block])
        if flat:                        # LiteRT takes 3 dimensions, too
            block, around = block[:1], around[:1]
        inner = [rows * block[0] - around[0].sum(), *([] if flat else [columns * block[1] - around[1].sum()])]
        outer = [rows, *([] if flat else [columns])]
        q = c.quantized()
        wide, narrow = [n * int(np.prod(block)), *outer, channels], [n, *inner, channels]
        x, y = c.input(*(wide if back else narrow), **q), c.output(*(narrow if back else wide), **q)
        c.w.add("BATCH_TO_SPACE_ND" if back else "SPACE_TO_BATCH_ND", [x, ints(c, block), ints(c, around)], [y])
        return [y]
    return make


def dilated(c):
    """a convolution of samples that are every second pixel, as converters write dilated ones"""
    q = c.quantized()
    x, cut, y, back = c.input(1, 6, 8, 3, **q), c.output(4, 5, 6, 3, **q), None, None
    around = ints(c, [[2, 2], [2, 2]])
    c.w.add("SPACE_TO_BATCH_ND", [x, ints(c, [2, 2]), around], [cut])
    fw, fb = c.weights((4, 3, 3, 3), 0, 4)
    z = c.quantized(tflite.scale_of(c.rng, -2))
    y, back = c.output(4, 3, 4, 4, **z), c.output(1, 6, 8, 4, **z)
    c.w.add("CONV_2D", [cut, fw, fb], [y], "Conv2DOptions", padding=w.VALID, strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1, fusedActivationFunction=w.RELU)
    c.w.add("BATCH_TO_SPACE_ND", [y, ints(c, [2, 2]), ints(c, [[0, 0], [0, 0]])], [back])
    return [back]


def add_n(c):
    xs = [plain(c, 2, 3) for _ in range(int(c.rng.integers(1, 5)))]
    y = c.w.tensor([2, 3], c.kind)
    c.w.add("ADD_N", xs, [y])
    return [y]


def broadcast(c):
    shape = c.w.tensor([3], np.int32)
    c.w.add("BROADCAST_ARGS", [ints(c, [3, 1]), ints(c, [2, 1, 4])], [shape])
    x, y = plain(c, 3, 1), c.w.tensor([2, 3, 4], c.kind)
    c.w.add("BROADCAST_TO", [x, shape], [y])
    return [y]


def cumsum(c):
    x, y = plain(c, 3, 5, 2), c.w.tensor([3, 5, 2], c.kind)
    c.w.add("CUMSUM", [x, ints(c, int(c.rng.integers(-3, 3)))], [y], "CumsumOptions", exclusive=bool(c.rng.integers(2)), reverse=bool(c.rng.integers(2)))
    return [y]


def fill(c):
    x, y = plain(c), c.w.tensor([2, 3], c.kind)
    c.w.add("FILL", [ints(c, [2, 3]), x], [y])
    return [y]


def not_zero(values):
    """no divisor of 0, and small ones of both signs"""
    x, y = values
    y = (y % 7 + 1) * np.where(np.arange(y.size).reshape(y.shape) % 2, -1, 1)
    return [x, y.astype(x.dtype)]


def floor(name):
    def make(c):
        x, y, z = plain(c, 4, 6), plain(c, *([4, 6] if c.rng.integers(2) else [6])), c.w.tensor([4, 6], c.kind)
        c.values = not_zero
        c.w.add(name, [x, y], [z])
        return [z]
    return make


def power(c):
    x, y, z = plain(c, 4, 6), plain(c, 6), c.w.tensor([4, 6], c.kind)
    c.values = (lambda v: [np.abs(v[0]), v[1]]) if c.real else (lambda v: [v[0] % 5 - 2, np.abs(v[1]) % 6])
    c.w.add("POW", [x, y], [z])
    return [z]


def gather_nd(c):
    q = c.quantized() if c.kind in (INT8, INT16) else {}
    depth = int(c.rng.integers(1, 4))
    x = c.w.tensor([3, 4, 5], c.kind, **q)
    c.inputs.append(x)
    at = c.rng.integers(0, 3, (2, depth)).astype(np.int32)
    y = c.w.tensor([2, *[3, 4, 5][depth:]], c.kind, **q)
    c.w.add("GATHER_ND", [x, ints(c, at)], [y])
    return [y]


def embedding(c):
    """by indices of a run; a table of bytes becomes floats"""
    table = c.rng.integers(-128, 128, (9, 4)).astype(INT8) if c.kind == INT8 else c.rng.standard_normal((9, 4)).astype(FLOAT)
    x, y = plain(c, 5, kind=np.int32), c.w.tensor([5, 4], FLOAT)
    c.values = lambda v: [np.abs(v[0]) % 9]
    c.w.add("EMBEDDING_LOOKUP", [x, c.w.constant(table, **({"scale": 0.25} if c.kind == INT8 else {}))], [y])
    return [y]


def l2_normalization(c):
    x, y = plain(c, 3, 7), c.w.tensor([3, 7], c.kind)
    c.w.add("L2_NORMALIZATION", [x], [y], "L2NormOptions")
    return [y]


def row(name, shape=(3, 7), options=None, to=None, **fields):
    """an operator of one operand without a scale"""
    def make(c):
        x, y = plain(c, *shape), c.w.tensor(shape, to or c.kind)
        c.w.add(name, [x], [y], options, **fields)
        return [y]
    return make


def reverse(c):
    q = c.quantized() if c.kind in (INT8, INT16) else {}
    x, y = c.w.tensor([2, 3, 4], c.kind, **q), c.w.tensor([2, 3, 4], c.kind, **q)
    c.inputs.append(x)
    c.w.add("REVERSE_V2", [x, ints(c, [int(c.rng.integers(-3, 3))])], [y])
    return [y]


def select(name, condition, *shapes):
    def make(c):
        q = c.quantized() if c.kind in (INT8, INT16) else {}
        x = plain(c, *condition, kind=BOOL)
        a, b = (c.w.tensor(shape, c.kind, **q) for shape in shapes)
        c.inputs += [a, b]
        y = c.w.tensor(np.broadcast_shapes(*shapes, condition if name == "SELECT_V2" else shapes[0]), c.kind, **q)
        c.w.add(name, [x, a, b], [y])
        return [y]
    return make


def shape(c):
    """the shape of an input, of which a part is another one's"""
    x, s, two, y = plain(c, 4, 6, 2), c.w.tensor([3], np.int32), c.w.tensor([2], np.int32), c.w.tensor([4, 6], c.kind)
    z, r = plain(c, 24), c.w.tensor([], np.int32)
    c.w.add("SHAPE", [x], [s], "ShapeOptions", outType=w.schema.TensorType.INT32)
    c.w.add("SLICE", [s, ints(c, [0]), ints(c, [2])], [two])
    c.w.add("RESHAPE", [z, two], [y])
    c.w.add("RANK", [x], [r])
    return [y, s, r]


def zeros_like(c):
    x, z, y = plain(c, 4, 6), c.w.tensor([4, 6], c.kind), c.w.tensor([4, 6], c.kind)
    c.w.add("ZEROS_LIKE", [x], [z])
    c.w.add("ADD", [x, z], [y], "AddOptions")
    return [y]


def truth(name):
    def make(c):
        keep = bool(c.rng.integers(2))
        x, y = plain(c, 3, 2, 2, kind=BOOL), c.w.tensor([3, 1, 2] if keep else [3, 2], BOOL)
        c.w.add(name, [x, ints(c, [1])], [y], "ReducerOptions", keepDims=keep)
        return [y]
    return make


def update(*part):
    """starts may lie outside: the update is moved into its tensor"""
    def make(c):
        q = c.quantized() if c.kind in (INT8, INT16) else {}
        x, u, y = c.w.tensor([4, 5, 3], c.kind, **q), c.w.tensor(part, c.kind, **q), c.w.tensor([4, 5, 3], c.kind, **q)
        c.inputs += [x, u]
        at = plain(c, 3, kind=np.int32)
        c.values = lambda v: [v[0], v[1], v[2] % 9 - 2]
        c.w.add("DYNAMIC_UPDATE_SLICE", [x, u, at], [y])
        return [y]
    return make


def tile(c):
    times = c.rng.integers(1, 4, 3)
    x, y = plain(c, 2, 1, 3), c.w.tensor([2 * times[0], times[1], 3 * times[2]], c.kind)
    c.w.add("TILE", [x, ints(c, times)], [y])
    return [y]


def one_hot(c):
    axis = int(c.rng.integers(-1, 2))
    out = [3, 2]
    out.insert(axis if axis >= 0 else 2, 5)
    x, y = plain(c, 3, 2, kind=np.int32), c.w.tensor(out, c.kind)
    c.values = lambda v: [v[0] % 9 - 2]
    c.w.add("ONE_HOT", [x, ints(c, 5), c.w.constant(np.array(2, c.kind)), c.w.constant(np.array(-1, c.kind))], [y], "OneHotOptions", axis=axis)
    return [y]


def top_k(c):
    q = c.quantized() if c.kind in (INT8, INT16) else {}
    x, y, at = c.w.tensor([3, 9], c.kind, **q), c.w.tensor([3, 4], c.kind, **q), c.w.tensor([3, 4], np.int32)
    c.inputs.append(x)
    c.values = lambda v: [v[0] if c.real else v[0] // 32]       # some are equal
    c.w.add("TOPK_V2", [x, ints(c, 4)], [y, at])
    return [y, at]


def mirror(c):
    q = c.quantized()
    pads = np.array([[0, 0], [1, 2], [3, 0], [0, 2]])
    x, y = c.input(2, 3, 3, 2, **q), c.output(*(np.array([2, 3, 3, 2]) + pads.sum(1)), **q)
    c.w.add("MIRROR_PAD", [x, ints(c, pads)], [y], "MirrorPadOptions", mode=1)
    return [y]


def resize(c):
    """to more pixels or fewer; corners, halves or neither"""
    r = c.rng
    q, size, way = c.quantized(), r.integers(1, 12, 2), int(r.integers(3))
    x, y = c.input(2, 5, 4, 3, **q), c.output(2, *size, 3, **q)
    c.w.add("RESIZE_BILINEAR", [x, ints(c, size)], [y], "ResizeBilinearOptions", alignCorners=way == 1, halfPixelCenters=way == 2)
    return [y]


def total(c):
    """The reference kernel takes i8 for u8: these numbers and sums are at least 0."""
    q = c.quantized(zero=20) if c.kind == INT8 else c.quantized()
    x = c.input(2, 4, 6, 3, **q)
    y = c.output(2, 3, **({"scale": q["scale"] * 5, "zero": 64} if c.kind == INT8 else c.quantized(tflite.scale_of(c.rng, -2))))
    if c.kind == INT8:
        c.values = lambda v: [(v[0].astype(int) % 23 + 9).astype(INT8)]
    c.w.add("SUM", [x, ints(c, [1, 2])], [y], "ReducerOptions", keepDims=False)
    return [y]


def bounded(c):
    """sums that are bounded, by both ends"""
    x, y = c.input(2, 4, 6, 3, scale=0.5, zero=3), c.output(2, 3, scale=1.0, zero=-4)
    c.values = lambda v: [np.broadcast_to(np.where(np.arange(2).reshape(2, 1, 1, 1), 127, -128), (2, 4, 6, 3)).astype(INT8)]
    c.w.add("SUM", [x, ints(c, [1, 2])], [y], "ReducerOptions", keepDims=False)
    return [y]


def softmax(c):
    """of few numbers, or many; of differences that are small or large"""
    n = int(c.rng.integers(1, 300))
    x, y = c.input(3, n, scale=10 / 65535 * 2.0 ** c.rng.uniform(-2, 5), zero=0), c.output(3, n, scale=1 / 32768, zero=0)
    c.w.add("SOFTMAX", [x], [y], "SoftmaxOptions", beta=1.0)
    return [y]


def concatenation(c):
    """of tensors with scales of their own"""
    q = c.quantized()
    xs = [c.input(2, n, 3, **(q if n == 4 else {})) for n in (1, 4, 2)]
    y = c.output(2, 7, 3, **q)
    c.w.add("CONCATENATION", xs, [y], "ConcatenationOptions", axis=1)
    return [y]


def gather(c):
    """batches of an operand have indices of their own"""
    r = c.rng
    q = c.quantized() if c.kind in (INT8, INT16) else {}
    shape = [2, 3, 4, 5]
    batch = int(r.integers(1, 4))
    axis = int(r.integers(batch, 4))
    rows = [int(n) for n in r.integers(1, 4, r.integers(0, 3))]
    x, y = c.w.tensor(shape, c.kind, **q), c.w.tensor([*shape[:axis], *rows, *shape[axis + 1:]], c.kind, **q)
    c.inputs.append(x)
    at = r.integers(0, shape[axis], (*shape[:batch], *rows))
    name = batch if rows and r.integers(2) else batch - (batch + len(rows)) or batch
    c.w.add("GATHER", [x, ints(c, at, [np.int32, np.int64][int(r.integers(2))])], [y], "GatherOptions", axis=axis, batchDims=name)
    return [y]


def masked(c):
    """an ellipsis of one dimension or more, new axes, single elements, parts"""
    r = c.rng
    q = c.quantized() if c.kind in (INT8, INT16) else {}
    shape = [int(n) for n in r.integers(2, 5, r.integers(1, 4))]
    cut = r.permutation(["cut"] * int(r.integers(0, len(shape))) + ["new"] * int(r.integers(0, 3)))
    at = int(r.integers(0, len(cut) + 1))
    kinds = [*cut[:at], *(["ellipsis"] if r.integers(4) else []), *cut[at:]]
    kinds = [k if k != "cut" or r.integers(3) else "one" for k in kinds] or ["new"]
    begin, end, step, d = [], [], [], 0
    for k in kinds:
        taken = k in ("cut", "one")
        if k == "ellipsis":
            d += len(shape) - int(np.isin(cut, ["cut"]).sum())
        if taken:
            extent = shape[d]
            d += 1
        else:
            extent = 1
        start = int(r.integers(0, extent))
        back = k == "cut" and r.integers(3) == 0
        begin.append(start - (extent if r.integers(2) else 0))
        end.append(-extent - 1 if back else extent + 1)
        step.append(int(r.integers(1, 3)) * (-1 if back else 1) if k == "cut" else 1)
    mask = lambda kind: sum(1 << i for i, k in enumerate(kinds) if k == kind)
    x, y = c.w.tensor(shape, c.kind, **q), c.w.tensor([1], c.kind, **q)
    c.inputs.append(x)
    c.w.add("STRIDED_SLICE", [x, ints(c, begin), ints(c, end), ints(c, step)], [y], "StridedSliceOptions", ellipsisMask=mask("ellipsis"), newAxisMask=mask("new"), shrinkAxisMask=mask("one"))
    return [y]


def split(c):
    """parts that are said to have another scale are copied all the same"""
    x, ys = c.input(2, 6), [c.output(2, 2) for _ in range(3)]
    c.w.add("SPLIT", [ints(c, 1), x], ys, "SplitOptions", numSplits=3)
    return ys


MOVES = (FLOAT, INT8, INT16)
CASES = {
    "batch_matmul": (batch_matmul, (FLOAT, INT8, INT16)), "batch_matmul_hybrid": (batch_matmul_hybrid, (FLOAT,)), "space_to_batch": (batches(False), (FLOAT, INT8)), "batch_to_space": (batches(True), (FLOAT, INT8)),
    "dilated": (dilated, (FLOAT, INT8)), "add_n": (add_n, (FLOAT, INT32)), "broadcast": (broadcast, (FLOAT, INT32)), "cumsum": (cumsum, (FLOAT, INT32)),
    "fill": (fill, (FLOAT, INT32)), "floor_div": (floor("FLOOR_DIV"), (FLOAT, INT32)), "floor_mod": (floor("FLOOR_MOD"), (FLOAT, INT32)), "pow": (power, (FLOAT, INT32)),
    "gather_nd": (gather_nd, (FLOAT, INT8, INT16, INT32)), "embedding_lookup": (embedding, (FLOAT, INT8)),
    "l2_normalization": (l2_normalization, (FLOAT,)), "l2_pool": (tflite.pool("L2_POOL_2D"), (FLOAT,)), "log_softmax": (row("LOG_SOFTMAX"), (FLOAT,)),
    "reverse": (reverse, (FLOAT, INT8, INT16, INT32)), "select": (select("SELECT", [3, 4], [3, 4], [3, 4]), (FLOAT, INT8, INT32)),
    "select_rows": (select("SELECT", [3], [3, 4], [3, 4]), (FLOAT, INT8)), "select_one": (select("SELECT", [], [3, 4], [3, 4]), (FLOAT,)),
    "select_v2": (select("SELECT_V2", [3, 1], [4], [2, 3, 4]), (FLOAT, INT8, INT16, INT32)), "shape": (shape, (FLOAT, INT32)), "zeros_like": (zeros_like, (FLOAT, INT32)),
    "reduce_all": (truth("REDUCE_ALL"), (BOOL,)), "reduce_any": (truth("REDUCE_ANY"), (BOOL,)),
    "update": (update(2, 3, 1), MOVES), "update_rows": (update(2, 5, 3), MOVES), "update_inner": (update(4, 2, 3), (FLOAT,)), "update_all": (update(4, 5, 3), (FLOAT,)),
    "tile": (tile, (FLOAT, INT32)), "one_hot": (one_hot, (FLOAT, INT32)), "top_k": (top_k, (FLOAT, INT8)), "mirror_pad": (mirror, (FLOAT, INT8)),
    "sum": (total, (FLOAT, INT8, np.uint8)), "sum_bounded": (bounded, (INT8,)), "softmax": (softmax, (INT16,)), "concatenation": (concatenation, (np.uint8, INT16)), "resize_bilinear": (resize, (FLOAT, INT8, INT16)),
    "gather_batches": (gather, (FLOAT, INT8, INT16, INT32)), "strided_slice_masks": (masked, (FLOAT, INT8, INT32)), "split_scales": (split, (INT8, INT16)),
    "gelu": (row("GELU", options="GeluOptions"), (FLOAT,)), "gelu_tanh": (row("GELU", options="GeluOptions", approximate=True), (FLOAT,)), "sign": (row("SIGN"), (FLOAT, INT32)),
}


# The reference kernel of SUM takes i8 for u8; LiteRT's other kernels round otherwise, and have the right bounds.
WRONG = {("sum_bounded", INT8)}


@pytest.mark.sample(60)
@pytest.mark.parametrize("seed", range(tflite.SEEDS))
@pytest.mark.parametrize("name,kind", [(name, kind) for name, (_, kinds) in CASES.items() for kind in kinds], ids=lambda v: v if isinstance(v, str) else np.dtype(v).name)
def test_operator(name, kind, seed, tmp_path):
    tflite.compare_operator(CASES[name][0], kind, seed, tmp_path, (name, kind) not in WRONG)


def test_concatenation_of_other_scales(tmp_path):
    """i8, which LiteRT refuses: as the reference kernel computes u8"""
    m, rng = w.Writer(), np.random.default_rng(3)
    scales, zeros, out = np.float32([0.5, 0.013, 1.7]), [3, -90, 127], (np.float32(0.11), -5)
    xs = [m.tensor([4, 64], INT8, scale=s, zero=z) for s, z in zip(scales, zeros)]
    y = m.tensor([4, 192], INT8, scale=out[0], zero=out[1])
    m.add("CONCATENATION", xs, [y], "ConcatenationOptions", axis=1)
    (tmp_path / "m.tflite").write_bytes(m.bytes(xs, [y]))
    values = [rng.permutation(np.arange(-128, 128)).reshape(4, 64).astype(INT8) for _ in xs]
    want = []
    for v, s, z in zip(values, scales, zeros):
        factor = s * (np.float32(1) / out[0])
        real = v.astype(FLOAT) * factor + np.float32(-z) * factor
        want.append(np.clip(np.trunc(real + np.copysign(np.float32(0.5), real)) + out[1], -128, 127).astype(INT8))
    assert np.array_equal(tflite.computed(tmp_path / "m.tflite", values, tmp_path)[0], np.concatenate(want, 1))


def wrong_node(name, tensors, **fields):
    """a node of constants and an input [2, 3], the first operand"""
    m = w.Writer()
    x, y = m.tensor([2, 3]), m.tensor([1])
    m.add(name, [x, *(m.constant(np.array(t, np.int32)) for t in tensors)], [y], **fields)
    return m.bytes([x], [y])


SLICE, GATHER = {"options": "StridedSliceOptions"}, {"options": "GatherOptions"}
WRONG_NODES = {
    "two_ellipses": (wrong_node("STRIDED_SLICE", [[0, 0], [0, 0], [1, 1]], ellipsisMask=3, **SLICE), dnncc.INVALID, "two ellipses"),
    "too_many": (wrong_node("STRIDED_SLICE", [[0] * 4, [1] * 4, [1] * 4], newAxisMask=1, **SLICE), dnncc.INVALID, "3 begins, ends or strides for rank 2"),
    "lengths": (wrong_node("STRIDED_SLICE", [[0, 0], [1], [1, 1]], newAxisMask=1, **SLICE), dnncc.INVALID, "2 begins, and 1 ends"),
    "new_rank": (wrong_node("STRIDED_SLICE", [[0] * 15, [1] * 15, [1] * 15], newAxisMask=2 ** 15 - 1, **SLICE), dnncc.UNSUPPORTED, "rank 17"),
    "stride_0": (wrong_node("STRIDED_SLICE", [[0, 0], [1, 1], [1, 0]], ellipsisMask=1, **SLICE), dnncc.INVALID, "a stride of 0"),
    "batch_behind_axis": (wrong_node("GATHER", [[[0], [1]]], axis=0, batchDims=1, **GATHER), dnncc.INVALID, "batch_dims 1"),
    "batch_below": (wrong_node("GATHER", [[[0], [1]]], axis=1, batchDims=-3, **GATHER), dnncc.INVALID, "batch_dims -3"),
    "batch_extent": (wrong_node("GATHER", [[[0], [1], [1]]], axis=1, batchDims=1, **GATHER), dnncc.INVALID, "differ at dimension 0"),
}


@pytest.mark.parametrize("name", WRONG_NODES)
def test_wrong_node(name, tmp_path):
    content, code, text = WRONG_NODES[name]
    done = tflite.ended(tmp_path / "m.tflite", content)
    assert done.returncode == code and text in done.stderr, (done.returncode, done.stderr)
