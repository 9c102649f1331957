# SPDX-License-Identifier: MIT
"""Constants that a TFLite file has in fewer bytes: numbers of 4 and 2 bits, floats of 16 bits, sparse tensors. LiteRT's reference kernels say what they are, and
sparse ones are those that the test has made sparse."""
import itertools
import pathlib
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402
import tflite_bare as bare  # noqa: E402

pytest.importorskip("ai_edge_litert.interpreter")
import test_tflite as tflite  # noqa: E402
import tflite_writer as w  # noqa: E402

FLOAT, HALF, INT8, INT16 = np.float32, np.float16, np.int8, np.int16


# ---- numbers of 4 and 2 bits ----

def packed(numbers, bits):
    """the first number of a byte in its lowest bits"""
    each = 8 // bits
    flat = np.asarray(numbers).ravel().astype(np.int64)
    flat = np.append(flat, np.zeros(-flat.size % each, np.int64)).reshape(-1, each) & (1 << bits) - 1
    return (flat << np.arange(each) * bits).sum(1).astype(np.uint8)


def small(m, rng, bits, shape, **q):
    """a constant of random numbers of so many bits"""
    numbers = rng.integers(-(1 << bits - 1), 1 << bits - 1, shape)
    t = m.constant(numbers.astype(np.int8), **q)
    m.buffers[m.tensors[t].buffer].data = packed(numbers, bits)
    m.tensors[t].type = {4: w.schema.TensorType.INT4, 2: w.schema.TensorType.INT2}[bits]
    return t


def quantized(kind):
    return {} if kind == FLOAT else {"scale": 0.05, "zero": 0 if kind == INT16 else 3}


def fully_connected(m, rng, bits, kind):
    x, y = m.tensor([2, 7], kind, **quantized(kind)), m.tensor([2, 3], kind, **quantized(kind))
    m.add("FULLY_CONNECTED", [x, small(m, rng, bits, (3, 7), scale=0.1)], [y], "FullyConnectedOptions")
    return x, y


def no_bias(m, kind, count):
    return m.constant(np.zeros(count, {FLOAT: FLOAT, INT8: np.int32, INT16: np.int64}[kind]))


def conv(m, rng, bits, kind):
    x, y = m.tensor([1, 4, 5, 3], kind, **quantized(kind)), m.tensor([1, 4, 5, 2], kind, **quantized(kind))
    fw = small(m, rng, bits, (2, 3, 3, 3), scale=[0.1, 0.2], dimension=0)
    m.add("CONV_2D", [x, fw, no_bias(m, kind, 2)], [y], "Conv2DOptions", padding=w.SAME, strideH=1, strideW=1)
    return x, y


def depthwise(m, rng, bits, kind):
    x, y = m.tensor([1, 4, 5, 3], kind, **quantized(kind)), m.tensor([1, 4, 5, 3], kind, **quantized(kind))
    fw = small(m, rng, bits, (1, 3, 3, 3), scale=[0.1, 0.2, 0.3], dimension=3)
    m.add("DEPTHWISE_CONV_2D", [x, fw, no_bias(m, kind, 3)], [y], "DepthwiseConv2DOptions", padding=w.SAME, strideH=1, strideW=1, depthMultiplier=1)
    return x, y


def added(operator, *options):
    """the constant as floats, which are added to the input"""
    def make(m, rng, bits, kind):
        x, d, y = (m.tensor([3, 5]) for _ in range(3))
        fields = {"inDataType": w.schema.TensorType.INT4 if bits == 4 else w.schema.TensorType.INT2} if options else {}
        m.add(operator, [small(m, rng, bits, (3, 5), scale=0.1)], [d], *options, **fields)
        m.add("ADD", [x, d], [y], "AddOptions")
        return x, y
    return make


# what LiteRT has no kernel for is left out; its DEPTHWISE_CONV_2D of i16 takes two numbers of 4 bits for one, its CONV_2D of f32 numbers of 2 bits for floats
SMALL = {
    "fully_connected": (fully_connected, [(4, FLOAT), (4, INT8), (2, FLOAT), (2, INT8)]), "conv": (conv, [(4, FLOAT), (4, INT8), (4, INT16)]),
    "depthwise": (depthwise, [(4, INT8)]), "dequantize": (added("DEQUANTIZE"), [(4, FLOAT), (2, FLOAT)]), "cast": (added("CAST", "CastOptions"), [(4, FLOAT), (2, FLOAT)]),
}


@pytest.mark.parametrize("name,bits,kind", [(name, bits, kind) for name, (_, kinds) in SMALL.items() for bits, kind in kinds], ids=lambda v: v.__name__ if isinstance(v, type) else str(v))
def test_few_bits(name, bits, kind, tmp_path):
    m, rng = w.Writer(), np.random.default_rng(bits)
    x, y = SMALL[name][0](m, rng, bits, kind)
    content = m.bytes([x], [y])
    (tmp_path / "m.tflite").write_bytes(content)
    it = tflite.interpreter(content)
    inputs = tflite.random_inputs(it, rng)
    for way in tflite.WAYS:
        tflite.same(tflite.expected(it, inputs), tflite.computed(tmp_path / "m.tflite", inputs, tmp_path, way))


# ---- floats of 16 bits ----

@pytest.mark.parametrize("layer", ["fully_connected", "conv"])
def test_half(layer, tmp_path):
    """weights and biases behind DEQUANTIZE, as converters write them"""
    m, rng = w.Writer(), np.random.default_rng(2)

    def half(*shape):
        t = m.tensor(shape)
        m.add("DEQUANTIZE", [m.constant(rng.standard_normal(shape).astype(HALF))], [t])
        return t

    if layer == "conv":
        x, y = m.tensor([1, 6, 5, 3]), m.tensor([1, 6, 5, 4])
        m.add("CONV_2D", [x, half(4, 3, 3, 3), half(4)], [y], "Conv2DOptions", padding=w.SAME, strideH=1, strideW=1)
    else:
        x, y = m.tensor([3, 40]), m.tensor([3, 7])
        m.add("FULLY_CONNECTED", [x, half(7, 40), half(7)], [y], "FullyConnectedOptions")
    content = m.bytes([x], [y])
    (tmp_path / "m.tflite").write_bytes(content)
    it = tflite.interpreter(content)
    inputs = tflite.random_inputs(it, rng)
    for way in tflite.WAYS:
        tflite.same(tflite.expected(it, inputs), tflite.computed(tmp_path / "m.tflite", inputs, tmp_path, way))


# ---- sparse tensors ----

def levels_of(dense, order, sparse, blocks):
    """the values of the entries, and of each level its extent, segments and indices. order: of dimensions and, behind them, of blocks; sparse: the levels that
    are; blocks: (dimension, size)"""
    shape = list(dense.shape)
    for d, size in blocks:
        shape[d] //= size
    split, axes = [], []
    for d, extent in enumerate(shape):
        size = dict(blocks).get(d)
        axes.append(len(split))
        split += [extent, size] if size else [extent]
    axes += [axes[d] + 1 for d, _ in blocks]
    tensor = dense.reshape(split).transpose([axes[i] for i in order])
    levels, parents = [], [()]
    for level in range(tensor.ndim):
        extent = tensor.shape[level]
        if level not in sparse:
            levels.append((extent, None, None))
            parents = [p + (i,) for p in parents for i in range(extent)]
            continue
        kept = [[i for i in range(extent) if np.any(tensor[p + (i,)])] for p in parents]
        levels.append((extent, np.cumsum([0] + [len(k) for k in kept]), [i for k in kept for i in k]))
        parents = [p + (i,) for p, k in zip(parents, kept) for i in k]
    return np.array([tensor[p] for p in parents], dense.dtype), levels


def numbers(values, kind):
    table = getattr(w.schema, kind + "T")()
    table.values = np.array(values, {"Int32Vector": np.int32, "Uint16Vector": np.uint16, "Uint8Vector": np.uint8}[kind])
    return table


def make_sparse(m, t, dense, order, sparse, blocks, kind="Uint8Vector"):
    """makes the writer's constant sparse"""
    values, levels = levels_of(dense, order, sparse, blocks)
    s = w.schema.SparsityParametersT()
    s.traversalOrder, s.blockMap, s.dimMetadata = list(order), [d for d, _ in blocks], []
    for extent, segments, indices in levels:
        d = w.schema.DimensionMetadataT()
        d.denseSize = extent
        if segments is not None:
            d.format = w.schema.DimensionType.SPARSE_CSR
            d.arraySegmentsType = d.arrayIndicesType = getattr(w.schema.SparseIndexVector, kind)
            d.arraySegments, d.arrayIndices = numbers(segments, kind), numbers(indices, kind)
        s.dimMetadata.append(d)
    m.tensors[t].sparsity = s
    m.buffers[m.tensors[t].buffer].data = np.frombuffer(values.tobytes(), np.uint8)


def sparse_matrix(rng, shape, kind, blocks=()):
    """random numbers, of which most blocks are zeros"""
    sizes = [dict(blocks).get(d, 1) for d in range(len(shape))]
    mask = rng.random([e // s for e, s in zip(shape, sizes)]) < 0.3
    for d, s in enumerate(sizes):
        mask = mask.repeat(s, d)
    mask.flat[-1] = True
    values = rng.integers(1, 100, shape) * rng.choice([-1, 1], shape)
    return np.where(mask, values, 0).astype(kind)


def densified(kind, dense, *sparsity):
    """a model: y = x + the constant"""
    m = w.Writer()
    q = {"scale": 0.1} if kind == INT8 else {}
    x, full, y = m.tensor(dense.shape), m.tensor(dense.shape, kind, **q), m.tensor(dense.shape)
    t = m.constant(dense, **q)
    make_sparse(m, t, dense, *sparsity)
    m.add("DENSIFY", [t], [full])
    read = full
    if kind != FLOAT:
        read = m.tensor(dense.shape)
        m.add("DEQUANTIZE", [full], [read])
    m.add("ADD", [x, read], [y], "AddOptions")
    return m.bytes([x], [y])


KINDS = FLOAT, HALF, INT8
SHAPES = [((5, 7), ()), ((4, 8), ((1, 4),)), ((8, 4), ((0, 2), (1, 4))), ((2, 3, 4), ()), ((4, 3, 8), ((0, 2), (2, 4))), ((4, 3, 8), ((2, 4), (0, 2))), ((2, 2, 3, 4), ((3, 4),))]


@pytest.mark.sample(12)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", ["Uint8Vector", "Uint16Vector", "Int32Vector"])
@pytest.mark.parametrize("shape,blocks", SHAPES, ids=lambda v: str(v).replace(" ", ""))
def test_densify(shape, blocks, width, kind, tmp_path):
    """in each of a few orders, with each of a few choices of levels that are sparse; the numbers are those that were made sparse, and LiteRT's, which wants blocks
    in the order of dimensions, and a level that is sparse"""
    rng = np.random.default_rng(3)
    rank, every, ordered = len(shape), len(shape) + len(blocks), list(blocks) == sorted(blocks)
    ran = 0
    for number in range(4):
        order = [*rng.permutation(rank), *(range(rank, every) if ordered else reversed(range(rank, every)))] if number else range(every)
        sparse = [level for level in range(rank) if rng.integers(2)] if number else [rank - 1]
        dense = sparse_matrix(rng, shape, kind, blocks)
        content = densified(kind, dense, [int(i) for i in order], sparse, blocks, width)
        (tmp_path / "m.tflite").write_bytes(content)
        x = rng.standard_normal(shape).astype(FLOAT)
        want = [x + dense.astype(FLOAT) * np.float32(0.1 if kind == INT8 else 1)]
        tflite.same(want, tflite.computed(tmp_path / "m.tflite", [x], tmp_path))
        if sparse and ordered:
            tflite.same(want, tflite.expected(tflite.interpreter(content), [x]))
            ran += 1
    assert ran > 1 or not ordered


def test_sparse_weights(tmp_path):
    """a layer reads them as they lie, in blocks of four inputs, as a pruned network has them"""
    rng, m = np.random.default_rng(1), w.Writer()
    dense = sparse_matrix(rng, (8, 32), FLOAT, ((1, 4),)) / 50
    x, y = m.tensor([3, 32]), m.tensor([3, 8])
    t, bias = m.constant(dense), m.constant(rng.standard_normal(8).astype(FLOAT))
    make_sparse(m, t, dense, [0, 1, 2], [1], ((1, 4),))
    m.add("FULLY_CONNECTED", [x, t, bias], [y], "FullyConnectedOptions")
    content = m.bytes([x], [y])
    (tmp_path / "m.tflite").write_bytes(content)
    it = tflite.interpreter(content)
    inputs = tflite.random_inputs(it, rng)
    for way in tflite.WAYS:
        tflite.same(tflite.expected(it, inputs), tflite.computed(tmp_path / "m.tflite", inputs, tmp_path, way))


# ---- what is wrong with them ----

SPARSE = {0: np.array([0, 1], np.int32), 1: np.array([], np.int32),
          2: [{1: 3}, {0: ("b", 1), 2: ("b", 3), 3: {0: np.array([0, 1, 1, 3], np.uint8)}, 4: ("b", 3), 5: {0: np.array([2, 0, 3], np.uint8)}}]}


def wrong(*places, count=3, more=None):
    """a dense layer whose weights, [3, 4], have three numbers that are not zero; sets values below the table of its levels"""
    model = bare.dense(np.zeros((3, 4), np.float32), np.zeros(3, np.float32))
    table = {0: SPARSE[0], 1: SPARSE[1], 2: [dict(d) for d in SPARSE[2]]}
    for *keys, last, value in places:
        at = table
        for key in keys:
            at = at[key]
        at[last] = value
    weights = model[2][0][0][1]
    weights[6] = table
    weights.update(more or {})
    model[4][1] = {0: np.arange(1, 1 + count, dtype=np.float32).view(np.uint8)}
    return bare.finish(model)


def ints(*values):
    return np.array(values, np.int32)


def bytes_of(*values):
    return {0: np.array(values, np.uint8)}


WRONG = {
    "order_twice": (wrong((0, ints(0, 0))), dnncc.INVALID, "order of levels"), "order_outside": (wrong((0, ints(0, 2))), dnncc.INVALID, "order of levels"),
    "order_below": (wrong((0, ints(0, -1))), dnncc.INVALID, "order of levels"), "order_short": (wrong((0, ints(0))), dnncc.INVALID, "not those of its shape"),
    "too_few": (wrong((2, SPARSE[2][:1])), dnncc.INVALID, "not those of its shape"), "block": (wrong((1, ints(0))), dnncc.INVALID, "not those of its shape"),
    "extent": (wrong((2, 0, 1, 4)), dnncc.INVALID, "extents of its levels"), "extent_below": (wrong((2, 0, 1, -3)), dnncc.INVALID, "extents of its levels"),
    "block_outside": (wrong((0, ints(0, 1, 2)), (1, ints(2)), (2, [*SPARSE[2], {1: 2}])), dnncc.INVALID, "blocks do not fill"),
    "block_size": (wrong((0, ints(0, 1, 2)), (1, ints(1)), (2, [*SPARSE[2], {1: 3}])), dnncc.INVALID, "blocks do not fill"),
    "block_zero": (wrong((0, ints(0, 1, 2)), (1, ints(1)), (2, [*SPARSE[2], {1: 0}])), dnncc.INVALID, "blocks do not fill"),
    "block_twice": (wrong((0, ints(0, 1, 2, 3)), (1, ints(1, 1)), (2, [*SPARSE[2], {1: 2}, {1: 2}])), dnncc.INVALID, "blocks do not fill"),
    "no_segments": (wrong((2, 1, 2, ("b", 0))), dnncc.INVALID, "missing"), "kind": (wrong((2, 1, 4, ("b", 9))), dnncc.INVALID, "missing"),
    "segments_few": (wrong((2, 1, 3, bytes_of(0, 1, 3))), dnncc.INVALID, "segments of a level"), "segments_fall": (wrong((2, 1, 3, bytes_of(0, 2, 1, 3))), dnncc.INVALID, "do not rise"),
    "segments_far": (wrong((2, 1, 3, bytes_of(0, 1, 1, 4))), dnncc.INVALID, "do not rise"), "segments_end": (wrong((2, 1, 3, bytes_of(0, 1, 1, 2))), dnncc.INVALID, "last segment"),
    "segments_begin": (wrong((2, 1, 3, bytes_of(1, 1, 1, 3))), dnncc.INVALID, "first segment"),
    "segments_below": (wrong((2, 1, 2, ("b", 1)), (2, 1, 3, {0: ints(0, -1, 1, 3)})), dnncc.INVALID, "do not rise"),
    "index_far": (wrong((2, 1, 5, bytes_of(2, 0, 4))), dnncc.INVALID, "lie outside"), "index_twice": (wrong((2, 1, 5, bytes_of(2, 3, 3))), dnncc.INVALID, "indices do not rise"),
    "too_many_numbers": (wrong(count=4), dnncc.INVALID, "as many numbers"), "too_few_numbers": (wrong(count=2), dnncc.INVALID, "as many numbers"),
    "few_bits": (wrong(more={1: ("b", 17)}), dnncc.UNSUPPORTED, "sparse, of integers of less than 8 bits"),
}


def compiled(tmp_path, content, *options):
    (tmp_path / "m.tflite").write_bytes(content)
    return dnncc.run([dnncc.DNNCC, tmp_path / "m.tflite", "--emit=ir", "-O0", "-o", "-", *options], timeout=20)


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name, tmp_path):
    content, code, text = WRONG[name]
    done = compiled(tmp_path, content)
    assert done.returncode == code and text in done.stderr, (done.returncode, done.stderr)


def test_right(tmp_path):
    """what the wrong ones are made of"""
    done = compiled(tmp_path, wrong())
    assert done.returncode == 0, done.stderr
    x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
    weights = np.array([[0, 0, 1, 0], [0, 0, 0, 0], [2, 0, 0, 3]], np.float32)
    tflite.same([np.maximum(x @ weights.T, 0)], tflite.computed(tmp_path / "m.tflite", [x], tmp_path))


def test_few_bits_short(tmp_path):
    model = bare.dense(np.zeros((3, 4), np.float32), np.zeros(3, np.float32))
    model[2][0][0][1].update({0: ints(3, 5), 1: ("b", 17)})
    model[4][1] = {0: np.zeros(7, np.uint8)}
    done = compiled(tmp_path, bare.finish(model))
    assert done.returncode == dnncc.INVALID and "of 4 bits and has 7 bytes of data, want 8" in done.stderr, done.stderr


def test_few_bits_not_constant(tmp_path):
    model = bare.dense(np.zeros((3, 4), np.float32), np.zeros(3, np.float32))
    model[2][0][0][0][1] = ("b", 17)
    done = compiled(tmp_path, bare.finish(model))
    assert done.returncode == dnncc.UNSUPPORTED and "less than 8 bits, and not constant" in done.stderr, done.stderr


def test_limit(tmp_path):
    """a few numbers that would be a large tensor"""
    m = w.Writer()
    dense = np.zeros((1, 4096), FLOAT)
    dense[0, 7] = 1
    x, y, t = m.tensor([1, 4096]), m.tensor([1, 1]), m.constant(dense)
    make_sparse(m, t, dense, [0, 1], [1], (), "Int32Vector")
    m.add("FULLY_CONNECTED", [x, t], [y], "FullyConnectedOptions")
    content = m.bytes([x], [y])
    assert compiled(tmp_path, content).returncode == 0
    done = compiled(tmp_path, content, "--limit", "sparse_bytes=1000")
    assert done.returncode == dnncc.INVALID and "sparse_bytes" in done.stderr and "16384 bytes when it is dense" in done.stderr, done.stderr


@pytest.mark.slow
def test_damaged(tmp_path):
    """each word of a sparse file becomes an offset out of it, and each byte of its levels another one"""
    good = wrong()
    codes = set()
    for at, word in itertools.product(range(8, len(good) - 3, 4), (b"\xff\xff\xff\xff", b"\1\0\0\0")):
        done = compiled(tmp_path, good[:at] + word + good[at + 4:])
        codes.add(done.returncode)
        assert done.returncode in (dnncc.OK, dnncc.INVALID, dnncc.UNSUPPORTED) and (done.returncode == 0 or ": error: " in done.stderr), (at, done.stderr)
    assert codes == {dnncc.OK, dnncc.INVALID, dnncc.UNSUPPORTED}
