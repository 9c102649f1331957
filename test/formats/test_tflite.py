# SPDX-License-Identifier: MIT
"""Networks in TFLite files are computed as LiteRT's reference kernels do: integers to the bit, floats to 1e-5."""
import json
import pathlib
import re
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402

litert = pytest.importorskip("ai_edge_litert.interpreter")
import tflite_writer as w  # noqa: E402

SHARED = dnncc.ROOT.parent / "shared" / "formats" / "tflite"
FILES = sorted(SHARED.rglob("*.tflite"))
TOLERANCE = 1e-5
# LiteRT has no signal operators
NOT_THERE = {"audio_preprocessor_int8": "SignalWindow"}
# as C for this machine, as it was read, and for machines that have integers alone: the bits are the same
WAYS = [["--cc=gcc -O1"], ["-O0"], ["--target=generic", "--requantize=integer"]]
# what the reference resolver lacks
NO_REFERENCE = ("elu", "ceil", "round")


def interpreter(content, reference=True):
    resolver = litert.OpResolverType.BUILTIN_REF if reference else litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    it = litert.Interpreter(model_content=content, experimental_op_resolver_type=resolver)
    it.allocate_tensors()
    return it


def random_inputs(it, rng):
    made = []
    for d in it.get_input_details():
        kind, shape = d["dtype"], tuple(d["shape"])
        if np.issubdtype(kind, np.floating):
            made.append(rng.standard_normal(shape).astype(kind))
        elif kind == np.bool_:
            made.append(rng.integers(0, 2, shape).astype(kind))
        else:
            info = np.iinfo(kind)
            made.append(rng.integers(max(info.min, -2 ** 20), min(info.max, 2 ** 20) + 1, shape).astype(kind))
    return made


def expected(it, inputs):
    it.reset_all_variables()
    for d, value in zip(it.get_input_details(), inputs):
        it.set_tensor(d["index"], value)
    it.invoke()
    return [it.get_tensor(d["index"]).copy() for d in it.get_output_details()]


def computed(path, inputs, folder, options=()):
    """by dnncc --run; inputs that are state begin as zeros"""
    for k, value in enumerate(inputs):
        np.save(folder / f"input_{k}.npy", value)
    done = dnncc.run([dnncc.DNNCC, path, f"--run={folder}", *options])
    assert done.returncode == 0, done.stderr
    return [np.load(folder / f"output_{k}.npy") for k in range(len(list(folder.glob("output_*.npy"))))]


def same(want, got):
    assert len(got) >= len(want)
    for a, b in zip(want, got):
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
        if np.issubdtype(a.dtype, np.floating):
            assert np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE), np.abs(a - b).max()
        else:
            assert np.array_equal(a, b), (np.count_nonzero(a != b), a.size)


def states(path):
    """shapes and types of inputs that are state, from the IR"""
    done = dnncc.run([dnncc.DNNCC, path, "--emit=ir", "-O0", "-o", "-"])
    assert done.returncode == 0, done.stderr
    head = re.search(r"^func @main\((.*)\) -> ", done.stdout, re.M)[1]
    kinds = {"f32": np.float32, "i8": np.int8, "i16": np.int16}
    return [np.zeros([int(n) for n in dims.split(" x ")], kinds[kind])
            for dims, kind in re.findall(r"next [^:]*: <((?:\d+ x )*\d+) x (\w+)>", head)]


@pytest.mark.sample(20)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_network(path, tmp_path):
    if path.stem in NOT_THERE:
        done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c"])
        assert done.returncode == dnncc.UNSUPPORTED and NOT_THERE[path.stem] in done.stderr
        return
    it = interpreter(path.read_bytes())
    rng = np.random.default_rng(7)
    for number, options in enumerate(WAYS):
        folder = tmp_path / str(number)
        folder.mkdir()
        inputs = random_inputs(it, rng)
        if path.stem.startswith("transpose_conv"):      # an input is the shape of the result
            inputs[0] = it.get_output_details()[0]["shape"].astype(np.int32)
        same(expected(it, inputs), computed(path, inputs + states(path), folder, options))


def test_absent_folder():
    if not SHARED.exists():
        pytest.skip("the folder of other formats is absent")
    assert len(FILES) > 50


# ---- speed ----

TWINS = {"resnet8_int8": "resnet8_int8", "kws_int8": "dscnn_kws_int8"}
# M4 has no more instructions for a sum, but a load, and M55 some where numbers of both signs are rounded: measured, and held
MOST = {"x86-64-v3": 1.02, "x86-64-v4": 1.02, "x86-64-v4-vnni": 1.02, "aarch64": 1.02, "cortex-m0": 1.02, "cortex-m3": 1.02, "cortex-m4": 1.04, "cortex-m55": 1.18}


def cost(path, target):
    done = dnncc.run([dnncc.DNNCC, path, f"--target={target}", "--cost=json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["cycles"]


@pytest.mark.sample(4)
@pytest.mark.parametrize("target", MOST)
@pytest.mark.parametrize("name", TWINS)
def test_no_slower_than_onnx(name, target):
    """the same network from ONNX, whose sums are rounded once"""
    path, twin = SHARED / f"{name}.tflite", SHARED.parents[1] / "models" / TWINS[name] / "model.onnx"
    if not path.exists() or not twin.exists():
        pytest.skip("the folders of networks are absent")
    assert cost(path, target) <= MOST[target] * cost(twin, target)


# ---- operators, by random attributes ----

def scale_of(rng, exponent=-4):
    return float(np.float32(2.0 ** (exponent + rng.uniform(-2, 2))))


class Case:
    """one operator: what it reads is random of these types"""

    def __init__(self, kind, rng):
        self.kind, self.rng, self.w, self.inputs = np.dtype(kind), rng, w.Writer(), []
        self.real = np.issubdtype(self.kind, np.floating)
        self.values = lambda values: values         # what inputs become, where not all numbers are allowed

    def zero(self, kind=None):
        kind = np.dtype(kind or self.kind)
        info = np.iinfo(kind)
        return 0 if kind == np.int16 else int(self.rng.integers(info.min, info.max + 1))

    def quantized(self, scale=None, zero=None):
        if self.real:
            return {}
        return {"scale": scale or scale_of(self.rng), "zero": self.zero() if zero is None else zero}

    def input(self, *shape, **q):
        self.inputs.append(self.w.tensor(shape, self.kind, **(q or self.quantized())))
        return self.inputs[-1]

    def output(self, *shape, **q):
        return self.w.tensor(shape, self.kind, **(q or self.quantized()))

    def scale(self, tensor):
        return self.w.tensors[tensor].quantization.scale[0]

    def weights(self, shape, dimension, channels):
        """weights and biases of `channels` outputs"""
        if self.real:
            return self.w.constant(self.rng.standard_normal(shape).astype(np.float32)), self.w.constant(self.rng.standard_normal(channels).astype(np.float32))
        each = channels if self.rng.integers(2) and dimension is not None else 1
        scales = [scale_of(self.rng, -7) for _ in range(each)]
        x = self.scale(self.inputs[0])
        data = self.rng.integers(-127, 128, shape).astype(np.int8)
        bias = self.rng.integers(-5000, 5000, channels).astype(np.int32 if self.kind == np.int8 else np.int64)
        return (self.w.constant(data, scale=scales, dimension=dimension or 0),
                self.w.constant(bias, scale=[float(np.float32(s) * np.float32(x)) for s in scales]))


def conv(c):
    r = c.rng
    n, height, width, channels, outputs = 1 + r.integers(2), *r.integers(5, 10, 2), r.integers(1, 5), r.integers(1, 7)
    kernel, stride, dilation, padding = r.integers(1, 4, 2), r.integers(1, 3, 2), [1, 1] if r.integers(2) else r.integers(1, 3, 2), int(r.integers(2))
    reach = (kernel - 1) * dilation + 1
    out = [-(-e // s) if padding == w.SAME else (e - k) // s + 1 for e, k, s in zip((height, width), reach, stride)]
    if min(out) < 1:
        return conv(c)
    x = c.input(n, height, width, channels)
    fw, fb = c.weights((outputs, *kernel, channels), 0, outputs)
    y = c.output(n, *out, outputs, **c.quantized(scale_of(r, -2)))
    c.w.add("CONV_2D", [x, fw, fb], [y], "Conv2DOptions", padding=padding, strideH=stride[0], strideW=stride[1], dilationHFactor=dilation[0],
            dilationWFactor=dilation[1], fusedActivationFunction=int(r.integers(4)))
    return [y]


def depthwise(c):
    r = c.rng
    height, width, channels, times = *r.integers(5, 10, 2), r.integers(1, 5), r.integers(1, 3)
    kernel, stride, padding = r.integers(1, 4, 2), int(r.integers(1, 3)), int(r.integers(2))
    out = [-(-e // stride) if padding == w.SAME else (e - k) // stride + 1 for e, k in zip((height, width), kernel)]
    x = c.input(1, height, width, channels)
    fw, fb = c.weights((1, *kernel, channels * times), 3, channels * times)
    y = c.output(1, *out, channels * times, **c.quantized(scale_of(r, -2)))
    c.w.add("DEPTHWISE_CONV_2D", [x, fw, fb], [y], "DepthwiseConv2DOptions", padding=padding, strideH=stride, strideW=stride, depthMultiplier=times,
            dilationHFactor=1, dilationWFactor=1, fusedActivationFunction=int(r.integers(4)))
    return [y]


def transpose_conv(c):
    r = c.rng
    height, width, channels, outputs = *r.integers(2, 6, 2), r.integers(1, 5), r.integers(1, 5)
    kernel, stride, padding = r.integers(2, 4, 2), r.integers(1, 3, 2), int(r.integers(2))
    out = [e * s if padding == w.SAME else (e - 1) * s + max(k, s) for e, k, s in zip((height, width), kernel, stride)]
    if any(k < s for k, s in zip(kernel, stride)):
        return transpose_conv(c)
    x = c.input(1, height, width, channels)
    fw, fb = c.weights((outputs, *kernel, channels), 0, outputs)
    y = c.output(1, *out, outputs, **c.quantized(scale_of(r, -2)))
    shape = c.w.constant(np.array([1, *out, outputs], np.int32))
    c.w.add("TRANSPOSE_CONV", [shape, fw, x, fb], [y], "TransposeConvOptions", padding=padding, strideH=stride[0], strideW=stride[1])
    return [y]


def fully_connected(c):
    r = c.rng
    rows, inner, outputs = r.integers(1, 4), r.integers(1, 40), r.integers(1, 20)
    x = c.input(rows, inner)
    fw, fb = c.weights((outputs, inner), None, outputs)
    y = c.output(rows, outputs, **c.quantized(scale_of(r, -2)))
    c.w.add("FULLY_CONNECTED", [x, fw, fb], [y], "FullyConnectedOptions", fusedActivationFunction=int(r.integers(4)))
    return [y]


def pool(name):
    def make(c):
        r = c.rng
        height, width, channels = *r.integers(4, 9, 2), r.integers(1, 5)
        window, stride, padding = r.integers(1, 4, 2), r.integers(1, 3, 2), int(r.integers(2))
        out = [-(-e // s) if padding == w.SAME else (e - k) // s + 1 for e, k, s in zip((height, width), window, stride)]
        q = c.quantized()
        x, y = c.input(1, height, width, channels, **q), c.output(1, *out, channels, **q)
        c.w.add(name, [x], [y], "Pool2DOptions", padding=padding, strideH=stride[0], strideW=stride[1], filterHeight=window[0], filterWidth=window[1],
                fusedActivationFunction=int(r.integers(4)))
        return [y]
    return make


def binary(name, options=None, fused=True):
    def make(c):
        r = c.rng
        shape = [int(e) for e in r.integers(1, 5, 3)]
        other = shape[int(r.integers(3)):] if r.integers(2) else shape
        q = c.quantized() if not options else {}
        x, y = c.input(*shape, **q), c.input(*other, **q)
        z = c.output(*shape, **q)
        c.w.add(name, [x, y], [z], options, **({"fusedActivationFunction": int(r.integers(4))} if options and fused else {}))
        return [z]
    return make


def compare(name):
    def make(c):
        q = c.quantized()
        x, y = c.input(2, 3, 4, **q), c.input(2, 3, 4)
        z = c.w.tensor([2, 3, 4], np.bool_)
        c.w.add(name, [x, y], [z])
        return [z]
    return make


def unary(name, options=None, q=None, **fields):
    def make(c):
        x = c.input(2, 3, 5, **(q[0] if q and not c.real else {}))
        y = c.output(2, 3, 5, **(q[1] if q and not c.real else {}))
        c.w.add(name, [x], [y], options, **fields)
        return [y]
    return make


def softmax(c):
    q = {} if c.real else {"scale": 1 / 256, "zero": -128}
    x, y = c.input(3, int(c.rng.integers(1, 12))), None
    y = c.output(3, c.w.tensors[x].shape[1], **q)
    c.w.add("SOFTMAX", [x], [y], "SoftmaxOptions", beta=1.0 if c.rng.integers(2) else 0.5)
    return [y]


def moved(name, out, extra=lambda c: [], options=None, many=1, **fields):
    """an operator that moves the elements of [2, 4, 6, 3]"""
    def make(c):
        q = c.quantized()
        x = c.input(2, 4, 6, 3, **q)
        ys = [c.output(*out, **q) for _ in range(many)]
        first, behind = extra(c), []
        if name == "SPLIT":
            first, behind = [], first
        c.w.add(name, [*behind, x, *first], ys, options, **fields)
        return ys
    return make


def ints(*numbers):
    return lambda c: [c.w.constant(np.array(n, np.int32)) for n in numbers]


def concatenation(c):
    q = c.quantized()
    xs = [c.input(2, n, 3, **q) for n in (1, 4, 2)]
    y = c.output(2, 7, 3, **q)
    c.w.add("CONCATENATION", xs, [y], "ConcatenationOptions", axis=-2)
    return [y]


def pack(c):
    q = c.quantized()
    xs, y = [c.input(2, 3, **q) for _ in range(3)], c.output(2, 3, 3, **q)
    c.w.add("PACK", xs, [y], "PackOptions", axis=1, valuesCount=3)
    return [y]


def reduce(name):
    def make(c):
        keep = bool(c.rng.integers(2))
        q = c.quantized()
        x = c.input(2, 4, 6, 3, **q)
        y = c.output(*([2, 1, 1, 3] if keep else [2, 3]), **(q if name not in ("MEAN", "SUM") else {}))
        c.w.add(name, [x, c.w.constant(np.array([1, 2], np.int32))], [y], "ReducerOptions", keepDims=keep)
        return [y]
    return make


def arg(name):
    def make(c):
        x, y = c.input(3, 7, 2), c.w.tensor([3, 2], np.int32)
        c.w.add(name, [x, c.w.constant(np.array([1], np.int32))], [y], name.title().replace("_", "") + "Options", outputType=w.schema.TensorType.INT32)
        return [y]
    return make


def quantize(c):
    kind = [np.int8, np.int16][int(c.rng.integers(2))] if c.real else np.int8
    x, y = c.input(3, 40), c.w.tensor([3, 40], kind, scale=scale_of(c.rng), zero=0 if kind == np.int16 else c.zero(np.int8))
    c.w.add("QUANTIZE", [x], [y])
    return [y]


def dequantize(c):
    x, y = c.input(3, 40), c.w.tensor([3, 40], np.float32)
    c.w.add("DEQUANTIZE", [x], [y])
    return [y]


def resize(name, **fields):
    def make(c):
        q = c.quantized()
        x, y = c.input(1, 4, 5, 3, **q), c.output(1, 7, 10, 3, **q)
        c.w.add(name, [x, c.w.constant(np.array([7, 10], np.int32))], [y], "".join(p.title() for p in name.split("_")) + "Options", **fields)
        return [y]
    return make


FLOAT, INT8, INT16 = np.float32, np.int8, np.int16
BOTH, ALL = (FLOAT, INT8), (FLOAT, INT8, INT16)
LOGISTIC = ({"scale": 0.05, "zero": 3}, {"scale": 1 / 256, "zero": -128})
TANH = ({"scale": 0.05, "zero": 3}, {"scale": 1 / 128, "zero": 0})
CASES = {
    "conv": (conv, ALL), "depthwise": (depthwise, ALL), "transpose_conv": (transpose_conv, ALL), "fully_connected": (fully_connected, BOTH),
    "average_pool": (pool("AVERAGE_POOL_2D"), ALL), "max_pool": (pool("MAX_POOL_2D"), ALL),
    "add": (binary("ADD", "AddOptions"), BOTH), "sub": (binary("SUB", "SubOptions"), BOTH), "mul": (binary("MUL", "MulOptions"), ALL),
    "div": (binary("DIV", "DivOptions"), (FLOAT,)), "maximum": (binary("MAXIMUM", None), BOTH), "minimum": (binary("MINIMUM", None), BOTH),
    "squared_difference": (binary("SQUARED_DIFFERENCE", None), (FLOAT,)),
    "less": (compare("LESS"), BOTH), "greater_equal": (compare("GREATER_EQUAL"), BOTH), "equal": (compare("EQUAL"), BOTH),
    "logistic": (unary("LOGISTIC", q=LOGISTIC), BOTH), "tanh": (unary("TANH", q=TANH), BOTH), "elu": (unary("ELU"), BOTH),
    "relu": (unary("RELU"), BOTH), "relu6": (unary("RELU6"), BOTH), "relu_n1": (unary("RELU_N1_TO_1"), BOTH),
    "leaky_relu": (unary("LEAKY_RELU", "LeakyReluOptions", alpha=0.3), ALL), "hard_swish": (unary("HARD_SWISH", q=({"scale": 0.05, "zero": 3}, {"scale": 0.06, "zero": -4})), BOTH),
    "abs": (unary("ABS"), (FLOAT,)), "neg": (unary("NEG"), (FLOAT,)), "exp": (unary("EXP"), (FLOAT,)), "sin": (unary("SIN"), (FLOAT,)), "cos": (unary("COS"), (FLOAT,)),
    "floor": (unary("FLOOR"), (FLOAT,)), "ceil": (unary("CEIL"), (FLOAT,)), "round": (unary("ROUND"), (FLOAT,)), "square": (unary("SQUARE"), (FLOAT,)),
    "softmax": (softmax, BOTH), "concatenation": (concatenation, BOTH), "pack": (pack, BOTH),
    "reshape": (moved("RESHAPE", [8, 18], ints([8, -1])), ALL), "transpose": (moved("TRANSPOSE", [3, 2, 6, 4], ints([3, 0, 2, 1])), ALL),
    "pad": (moved("PAD", [2, 7, 6, 5], ints([[0, 0], [1, 2], [0, 0], [2, 0]])), ALL),
    "mirror_pad": (moved("MIRROR_PAD", [2, 7, 6, 5], ints([[0, 0], [1, 2], [0, 0], [2, 0]]), "MirrorPadOptions"), BOTH),
    "strided_slice": (moved("STRIDED_SLICE", [2, 2, 6], ints([0, 3, -1, 1], [2, 0, 9, 2], [1, -2, -1, 1]), "StridedSliceOptions", endMask=4, beginMask=1, shrinkAxisMask=8), BOTH),
    "slice": (moved("SLICE", [2, 2, 5, 1], ints([0, 1, 1, 2], [2, 2, -1, 1])), BOTH),
    "split": (moved("SPLIT", [2, 4, 2, 3], ints(2), "SplitOptions", many=3, numSplits=3), BOTH),
    "unpack": (moved("UNPACK", [2, 4, 3], options="UnpackOptions", many=6, axis=2, num=6), BOTH),
    "gather": (moved("GATHER", [2, 4, 5, 3], ints([5, 0, 1, 1, 3]), "GatherOptions", axis=2), BOTH),
    "expand_dims": (moved("EXPAND_DIMS", [2, 4, 6, 1, 3], ints(3)), BOTH),
    "space_to_depth": (moved("SPACE_TO_DEPTH", [2, 2, 3, 12], options="SpaceToDepthOptions", blockSize=2), BOTH),
    "mean": (reduce("MEAN"), ALL), "sum": (reduce("SUM"), (FLOAT,)), "reduce_max": (reduce("REDUCE_MAX"), BOTH), "reduce_min": (reduce("REDUCE_MIN"), BOTH),
    "arg_max": (arg("ARG_MAX"), BOTH), "arg_min": (arg("ARG_MIN"), BOTH), "quantize": (quantize, ALL), "dequantize": (dequantize, (INT8, INT16)),
    "resize_bilinear": (resize("RESIZE_BILINEAR", halfPixelCenters=True), (FLOAT,)), "resize_corners": (resize("RESIZE_BILINEAR", alignCorners=True), (FLOAT,)),
    "resize_nearest": (resize("RESIZE_NEAREST_NEIGHBOR"), BOTH), "resize_nearest_half": (resize("RESIZE_NEAREST_NEIGHBOR", halfPixelCenters=True), BOTH),
}
SEEDS = 3


def compare_operator(make, kind, seed, folder, reference=True):
    """as C for this machine the first time, then as it was read"""
    rng = np.random.default_rng(seed)
    case = Case(kind, rng)
    outputs = make(case)
    content = case.w.bytes(case.inputs, outputs)
    path = folder / "m.tflite"
    path.write_bytes(content)
    it = interpreter(content, reference)
    inputs = case.values(random_inputs(it, rng))
    same(expected(it, inputs), computed(path, inputs, folder, ["--cc=gcc -O1"] if seed == 0 else []))


@pytest.mark.sample(60)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name,kind", [(name, kind) for name, (_, kinds) in CASES.items() for kind in kinds], ids=lambda v: v if isinstance(v, str) else np.dtype(v).name)
def test_operator(name, kind, seed, tmp_path):
    compare_operator(CASES[name][0], kind, seed, tmp_path, name not in NO_REFERENCE)


def test_every_operator_is_in_the_page():
    codes = dict(re.findall(r"^TFLITE_(?:OP|EACH|OP_ABSENT|STATE)\((\d+), +(\w+),", (dnncc.ROOT / "front/tflite/tflite_ops.def").read_text(), re.M))
    rows = list(codes.values())
    assert all(getattr(w.schema.BuiltinOperator, name) == int(code) for code, name in codes.items())
    names = dict(re.findall(r"^TFLITE_NAME\((\d+), (\w+)\)", (dnncc.ROOT / "front/tflite/tflite_ops.def").read_text(), re.M))
    known = {str(code): name for name, code in vars(w.schema.BuiltinOperator).items() if isinstance(code, int) and name != "CUSTOM"}
    assert not names.keys() & codes.keys() and known.items() <= {**codes, **names}.items()
    page = (dnncc.ROOT / "docs/formats.md").read_text()
    said = re.findall(r"`([A-Z][A-Z0-9_]+)`", page[page.index("<!-- operators -->"):page.index("<!-- end -->")])
    assert sorted(rows) == sorted(said)
    listed = dnncc.run([dnncc.DNNCC, "--help-ops"]).stdout
    assert len(rows) > 50 and all(re.search(rf"^  {row}$", listed, re.M) for row in rows)


# ---- hostile files ----

def small_files():
    for name, kind in (("conv", INT8), ("softmax", FLOAT), ("concatenation", INT8)):
        case = Case(kind, np.random.default_rng(1))
        outputs = CASES[name][0](case)
        yield name, case.w.bytes(case.inputs, outputs)


def ended(path, content):
    path.write_bytes(content)
    done = dnncc.run([dnncc.DNNCC, path, "--emit=ir", "-O0", "-o", "-"], timeout=20)
    assert 0 <= done.returncode <= 5 and (done.returncode == 0 or "error:" in done.stderr), (done.returncode, done.stderr)
    return done


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize("name,content", list(small_files()), ids=lambda v: v if isinstance(v, str) else "")
def test_truncated(name, content, tmp_path):
    """at every byte: an error that names a byte, or what is left is a file"""
    assert ended(tmp_path / "m.tflite", content).returncode == 0
    invalid = 0
    for length in range(8, len(content)):
        done = ended(tmp_path / "m.tflite", content[:length])
        invalid += done.returncode == dnncc.INVALID
        assert done.returncode in (dnncc.OK, dnncc.INVALID) and (done.returncode == 0 or "byte" in done.stderr), done.stderr
    assert invalid > len(content) // 2


def test_offsets(tmp_path):
    """far offsets, vtables outside the file, tables that lead to themselves"""
    for _, content in small_files():
        for at in range(0, len(content) - 4, 4):
            if 4 <= at < 8:
                continue
            for word in (b"\x00\x00\x00\x80", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00")[at // 4 % 3:][:1]:
                ended(tmp_path / "m.tflite", content[:at] + word + content[at + 4:])
    root = small_files().__next__()[1]
    for word in (0, 2 ** 31, len(root), 2 ** 32 - 1):
        done = ended(tmp_path / "m.tflite", word.to_bytes(4, "little") + root[4:])
        assert done.returncode == dnncc.INVALID and "at byte 0" in done.stderr


def test_unknown_operators(tmp_path):
    """all are listed at once"""
    m = w.Writer()
    x, y, z = (m.tensor([2]) for _ in range(3))
    m.add("CUSTOM", [x], [y])
    m.add("LSH_PROJECTION", [y], [z])
    done = ended(tmp_path / "m.tflite", m.bytes([x], [z]))
    assert done.returncode == dnncc.UNSUPPORTED and "custom.Mystery" in done.stderr and "operator LSH_PROJECTION (1 nodes)" in done.stderr


def test_options(tmp_path):
    case = Case(FLOAT, np.random.default_rng(1))
    outputs = CASES["softmax"][0](case)
    path = tmp_path / "m.tflite"
    path.write_bytes(case.w.bytes(case.inputs, outputs))
    assert dnncc.run([dnncc.DNNCC, path, "--format=tflite", "-o", tmp_path / "m.c"]).returncode == 0
    assert dnncc.run([dnncc.DNNCC, path, "--format=onnx", "-o", tmp_path / "m.c"]).returncode == dnncc.INVALID
    assert dnncc.run([dnncc.DNNCC, path, "--dim=N=1", "-o", tmp_path / "m.c"]).returncode == dnncc.USAGE
    assert "SOFTMAX: 1" in dnncc.run([dnncc.DNNCC, path, "--info"]).stdout
