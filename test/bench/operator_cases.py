# SPDX-License-Identifier: MIT
"""The models of operators.py: one operator each, by group. A case is its name, operator, inputs and attributes; of the inputs,
those in `weights` are constants of the model."""
import itertools
from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto as T

random = np.random.default_rng(0)
F = np.float32


@dataclass
class Case:
    group: str
    name: str
    operator: str
    inputs: list
    weights: tuple = ()
    outputs: int = 1
    opset: int = 20
    attributes: dict = field(default_factory=dict)


CASES = []
group = ""


def case(name, operator, inputs, weights=(), outputs=1, opset=20, **attributes):
    CASES.append(Case(group, name, operator, [np.asarray(x) for x in inputs], weights, outputs, opset, attributes))


def normal(*shape):
    return random.standard_normal(shape).astype(F)


def positive(*shape):
    return np.abs(normal(*shape)) + F(0.5)


def whole(low, high, shape, element=np.int64):
    return random.integers(low, high, shape).astype(element)


IMAGE = normal(1, 64, 56, 56)
ROWS = normal(128, 768)
TRUTH = IMAGE > 0
LIKE = IMAGE.shape

group = "unary"
for name in ("Abs Neg Sign Floor Ceil Round Relu Sigmoid Tanh Exp Erf Gelu Softplus Softsign Elu Selu Celu HardSwish HardSigmoid Mish "
             "ThresholdedRelu Shrink Sin Cos Tan Atan Sinh Cosh Asinh LeakyRelu IsNaN IsInf").split():
    case(name, name, [IMAGE])
for name in "Log Sqrt Reciprocal Acosh".split():
    case(name, name, [positive(*LIKE) + 1])
for name in "Asin Acos Atanh".split():
    case(name, name, [np.clip(IMAGE, -.9, .9)])
case("Sin, up to 1000", "Sin", [IMAGE * 300])
case("Gelu, tanh", "Gelu", [IMAGE], approximate="tanh")
case("Clip", "Clip", [IMAGE, F(0), F(6)], weights=(1, 2))
case("Not", "Not", [TRUTH])
case("Abs, i32", "Abs", [whole(-99, 99, LIKE, np.int32)])
case("Neg, i64", "Neg", [whole(-99, 99, LIKE)])
case("Sigmoid, f16", "Sigmoid", [IMAGE.astype(np.float16)])
case("BitwiseNot", "BitwiseNot", [whole(0, 99, LIKE, np.int32)])

group = "binary"
for name in "Add Sub Mul Div Max Min Pow Mod".split():
    x, more = positive(*LIKE), {"fmod": 1} if name == "Mod" else {}
    for note, shape in (("", LIKE), (", channels", (1, 64, 1, 1)), (", rows", (56,))):
        case(name + note, name, [x, positive(*shape)], **more)
case("Pow, square", "Pow", [IMAGE, F(2)], weights=(1,))
case("PRelu", "PRelu", [IMAGE, normal(64, 1, 1)], weights=(1,))
for name in "Add Mul Div Mod Max".split():
    for element in (np.int32, np.int64, np.uint8):
        if name != "Max" or element != np.uint8:
            case(f"{name}, {np.dtype(element)}", name, [whole(1, 99, LIKE, element), whole(1, 9, LIKE, element)])
case("Div by 7, int64", "Div", [whole(0, 99999, LIKE), np.array(7)], weights=(1,))
case("Add, f16", "Add", [IMAGE.astype(np.float16)] * 2)
case("Add, f64", "Add", [IMAGE.astype(float)] * 2)
for name in "Greater Less Equal GreaterOrEqual".split():
    case(name, name, [IMAGE, normal(*LIKE)])
case("Equal, i64", "Equal", [whole(0, 3, LIKE), whole(0, 3, LIKE)])
for name in "And Or Xor".split():
    case(name, name, [TRUTH, IMAGE < .5])
for name in "BitwiseAnd BitwiseXor".split():
    case(name, name, [whole(0, 99, LIKE, np.int32), whole(0, 99, LIKE, np.int32)])
case("BitShift", "BitShift", [whole(0, 99, LIKE, np.uint32), whole(0, 9, LIKE, np.uint32)], direction="LEFT")
case("Where", "Where", [TRUTH, IMAGE, normal(*LIKE)])
case("Where, rows", "Where", [TRUTH[:, :1], IMAGE, normal(56)])
case("Where, scalars", "Where", [TRUTH, F(1), F(0)], weights=(1, 2))
case("Sum of 4", "Sum", [IMAGE, normal(*LIKE), normal(*LIKE), normal(*LIKE)])

group = "casts and quantization"
for note, to in (("f16", T.FLOAT16), ("bf16", T.BFLOAT16), ("i8", T.INT8), ("u8", T.UINT8), ("i32", T.INT32), ("i64", T.INT64),
                 ("f64", T.DOUBLE), ("bool", T.BOOL)):
    case("Cast f32 to " + note, "Cast", [positive(*LIKE)], to=to)
for element in (np.float16, np.uint8, np.int8, np.int32, np.int64, np.float64, np.bool_):
    case(f"Cast {np.dtype(element)} to f32", "Cast", [(IMAGE * 50).astype(element)], to=T.FLOAT)
case("Cast i64 to i32", "Cast", [whole(-99, 99, LIKE)], to=T.INT32)
case("Cast i32 to i64", "Cast", [whole(-99, 99, LIKE, np.int32)], to=T.INT64)
case("QuantizeLinear", "QuantizeLinear", [IMAGE, F(.02), np.int8(3)], weights=(1, 2))
case("QuantizeLinear, channels", "QuantizeLinear", [IMAGE, positive(64) * F(.02), np.zeros(64, np.int8)], weights=(1, 2), axis=1)
case("DequantizeLinear", "DequantizeLinear", [(IMAGE * 40).astype(np.int8), F(.02), np.int8(3)], weights=(1, 2))
case("DequantizeLinear, channels", "DequantizeLinear", [(IMAGE * 40).astype(np.int8), positive(64), np.zeros(64, np.int8)],
     weights=(1, 2), axis=1)
case("DynamicQuantizeLinear", "DynamicQuantizeLinear", [IMAGE], outputs=3)

group = "reductions"
for axes in ([1], [2], [3], [2, 3], [1, 2], [0, 2, 3], [1, 2, 3], [1, 3], [0]):
    for name in "ReduceSum ReduceMax ReduceMean".split():
        case(f"{name} {axes}", name, [IMAGE, np.array(axes)], weights=(1,))
for name in "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceProd ReduceSumSquare ReduceMin".split():
    case(name + ", rows", name, [np.abs(ROWS), np.array([1])], weights=(1,))
    case(name + ", columns", name, [np.abs(ROWS), np.array([0])], weights=(1,))
case("ReduceSum, i64", "ReduceSum", [whole(0, 9, (128, 768)), np.array([1])], weights=(1,))
case("ReduceMax, i8", "ReduceMax", [whole(0, 9, (128, 768), np.int8), np.array([1])], weights=(1,))
for axis in (0, 1):
    for name in "ArgMax ArgMin CumSum".split():
        more = {"axis": axis} if name != "CumSum" else {}
        case(f"{name}, axis {axis} of rows", name, [ROWS] + ([] if more else [np.array(axis)]), weights=() if more else (1,), **more)
case("ArgMax, channels", "ArgMax", [IMAGE], axis=1)
case("ArgMax, last", "ArgMax", [IMAGE], axis=3)
case("ArgMax, i8", "ArgMax", [whole(-9, 9, (128, 768), np.int8)], axis=1)
case("CumSum, exclusive", "CumSum", [ROWS, np.array(1)], weights=(1,), exclusive=1)
case("CumSum, i64", "CumSum", [whole(0, 9, (128, 768)), np.array(1)], weights=(1,))
case("TopK 10 of 768", "TopK", [ROWS, np.array([10])], outputs=2, weights=(1,))
case("TopK 100 of 10000", "TopK", [normal(1, 10000), np.array([100])], outputs=2, weights=(1,))
case("NonZero", "NonZero", [ROWS > 1])
case("Unique", "Unique", [ROWS[0]])
case("NonMaxSuppression", "NonMaxSuppression", [positive(1, 500, 4), positive(1, 1, 500), np.array(50), F(.5), F(.1)], weights=(2, 3, 4))

group = "norms"
case("Softmax", "Softmax", [ROWS])
case("Softmax, channels", "Softmax", [IMAGE], axis=1)
case("Softmax, axis 2", "Softmax", [IMAGE], axis=2)
case("Softmax, few", "Softmax", [normal(4000, 10)])
case("Softmax, long", "Softmax", [normal(4, 100000)])
case("LogSoftmax", "LogSoftmax", [ROWS])
case("LogSoftmax, channels", "LogSoftmax", [IMAGE], axis=1)
case("Hardmax", "Hardmax", [ROWS])
case("LayerNormalization", "LayerNormalization", [ROWS, normal(768), normal(768)], weights=(1, 2))
case("LayerNormalization, image", "LayerNormalization", [IMAGE, normal(*LIKE[1:]), normal(*LIKE[1:])], weights=(1, 2), axis=1)
case("RMSNormalization", "RMSNormalization", [ROWS, normal(768)], opset=23, weights=(1,))
case("InstanceNormalization", "InstanceNormalization", [IMAGE, normal(64), normal(64)], weights=(1, 2))
case("GroupNormalization", "GroupNormalization", [IMAGE, normal(64), normal(64)], opset=21, weights=(1, 2), num_groups=8)
case("BatchNormalization", "BatchNormalization", [IMAGE, normal(64), normal(64), normal(64), positive(64)], weights=(1, 2, 3, 4))
case("LRN", "LRN", [IMAGE], size=5)
case("LpNormalization", "LpNormalization", [ROWS], axis=-1)
case("LpNormalization, columns", "LpNormalization", [ROWS], axis=0)
case("MeanVarianceNormalization", "MeanVarianceNormalization", [IMAGE])

group = "moves"
for perm in itertools.permutations(range(4)):
    if perm != (0, 1, 2, 3):
        case("Transpose " + "".join(map(str, perm)), "Transpose", [normal(8, 32, 28, 28)], perm=perm)
case("Transpose heads", "Transpose", [normal(1, 128, 12, 64)], perm=(0, 2, 1, 3))
case("Transpose, u8", "Transpose", [whole(0, 255, (1, 224, 224, 3), np.uint8)], perm=(0, 3, 1, 2))
case("Transpose, i64", "Transpose", [whole(0, 255, (256, 256))], perm=(1, 0))
for axis in (0, 1, 2, 3):
    case(f"Concat, axis {axis}", "Concat", [IMAGE, normal(*LIKE)], axis=axis)
case("Concat, unequal", "Concat", [IMAGE, normal(1, 64, 8, 56)], axis=2)
case("Concat of 6", "Concat", [normal(1, 64, 28, 28) for _ in range(6)], axis=1)
for axis in (1, 3):
    case(f"Split, axis {axis}", "Split", [IMAGE], outputs=2, axis=axis, num_outputs=2)
case("Slice", "Slice", [IMAGE, np.array([1, 1]), np.array([55, 55]), np.array([2, 3])], weights=(1, 2, 3))
case("Slice, steps", "Slice", [IMAGE, np.array([0, 0]), np.array([56, 56]), np.array([2, 3]), np.array([2, 2])], weights=(1, 2, 3, 4))
case("Slice, backwards", "Slice", [IMAGE, np.array([-1]), np.array([-1000]), np.array([3]), np.array([-1])], weights=(1, 2, 3, 4))
case("Pad", "Pad", [IMAGE, np.array([0, 0, 1, 1, 0, 0, 1, 1])], weights=(1,))
for mode in "reflect edge wrap".split():
    case("Pad, " + mode, "Pad", [IMAGE, np.array([0, 0, 3, 3, 0, 0, 3, 3])], weights=(1,), mode=mode)
case("Tile", "Tile", [IMAGE, np.array([1, 1, 2, 2])], weights=(1,))
case("Tile, channels", "Tile", [normal(1, 64, 28, 28), np.array([1, 4, 1, 1])], weights=(1,))
case("Expand, rows", "Expand", [normal(1, 64, 1, 56), np.array(LIKE)], weights=(1,))
case("Expand, last", "Expand", [normal(1, 64, 56, 1), np.array(LIKE)], weights=(1,))
case("Expand, scalar", "Expand", [normal(1), np.array(LIKE)], weights=(1,))
case("DepthToSpace", "DepthToSpace", [IMAGE], blocksize=2)
case("DepthToSpace, CRD", "DepthToSpace", [IMAGE], blocksize=2, mode="CRD")
case("SpaceToDepth", "SpaceToDepth", [IMAGE], blocksize=2)
case("Trilu", "Trilu", [normal(512, 512)])
case("EyeLike", "EyeLike", [normal(256, 256)])
case("Range", "Range", [np.array(0), np.array(100000), np.array(1)], weights=(0, 1, 2))
case("Flatten", "Flatten", [IMAGE])
case("ReverseSequence", "ReverseSequence", [normal(64, 16, 128), whole(1, 64, 16)], time_axis=0, batch_axis=1)
case("Compress", "Compress", [ROWS, np.arange(128) % 2 == 0], axis=0)
case("CenterCropPad", "CenterCropPad", [IMAGE, np.array([1, 64, 48, 64])], weights=(1,))
case("Col2Im", "Col2Im", [normal(1, 64 * 9, 54 * 54), np.array([56, 56]), np.array([3, 3])], weights=(1, 2))

group = "gathers and scatters"
case("Gather, embedding", "Gather", [normal(30000, 768), whole(0, 30000, (1, 128))], weights=(0,))
case("Gather, columns", "Gather", [ROWS, whole(0, 768, 300)], axis=1)
case("Gather, one", "Gather", [IMAGE, np.array(3)], weights=(1,), axis=1)
case("GatherElements", "GatherElements", [ROWS, whole(0, 768, (128, 300))], axis=1)
case("GatherElements, axis 0", "GatherElements", [ROWS, whole(0, 128, (64, 768))], axis=0)
case("GatherND", "GatherND", [IMAGE, np.stack([np.zeros(500, int), whole(0, 64, 500)], 1)])
case("GatherND, elements", "GatherND", [ROWS, np.stack([whole(0, 128, 5000), whole(0, 768, 5000)], 1)])
case("ScatterElements", "ScatterElements", [ROWS, whole(0, 128, (64, 768)), normal(64, 768)], axis=0, reduction="add")
case("ScatterND", "ScatterND", [ROWS, random.permutation(128)[:64, None].astype(np.int64), normal(64, 768)])
case("OneHot", "OneHot", [whole(0, 1000, 128), np.array(1000), np.array([0, 1], F)], weights=(1, 2))

group = "images"
for mode in "nearest linear cubic".split():
    none = np.array([], F)
    case("Resize x2, " + mode, "Resize", [normal(1, 32, 28, 28), none, np.array([1, 1, 2, 2], F)], weights=(1, 2), mode=mode)
    case("Resize 28 to 45, " + mode, "Resize", [normal(1, 32, 28, 28), none, none, np.array([1, 32, 45, 37])], weights=(1, 2, 3), mode=mode)
    case("Resize /2, " + mode, "Resize", [IMAGE, none, np.array([1, 1, .5, .5], F)], weights=(1, 2), mode=mode)
    case("GridSample, " + mode, "GridSample", [normal(1, 32, 28, 28), np.clip(normal(1, 28, 28, 2), -1, 1)], mode=mode)
case("Resize, corners", "Resize", [normal(1, 32, 28, 28), none, none, np.array([1, 32, 56, 56])], weights=(1, 2, 3), mode="linear",
     coordinate_transformation_mode="align_corners")
case("AffineGrid", "AffineGrid", [normal(1, 2, 3), np.array([1, 3, 64, 64])], weights=(1,))
case("RoiAlign", "RoiAlign", [IMAGE, positive(10, 4) * 10 + np.array([0, 0, 20, 20], F), np.zeros(10, np.int64)], output_height=7,
     output_width=7, sampling_ratio=2)

group = "pools"
for name in "MaxPool AveragePool".split():
    case(name + " 3x3 s2", name, [IMAGE], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    case(name + " 2x2 s2", name, [IMAGE], kernel_shape=[2, 2], strides=[2, 2])
    case(name + " 3x3 s1", name, [IMAGE], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    case(name + " 5x5 s1", name, [normal(1, 64, 20, 20)], kernel_shape=[5, 5], pads=[2, 2, 2, 2])
    case(name + " 1-D", name, [normal(1, 64, 4000)], kernel_shape=[3], strides=[2])
    case(name + " 3-D", name, [normal(1, 16, 16, 28, 28)], kernel_shape=[2, 2, 2], strides=[2, 2, 2])
case("MaxPool, indices", "MaxPool", [IMAGE], outputs=2, kernel_shape=[2, 2], strides=[2, 2])
case("MaxUnpool", "MaxUnpool", [normal(1, 64, 28, 28), np.arange(64 * 28 * 28).reshape(1, 64, 28, 28) * 4], kernel_shape=[2, 2], strides=[2, 2])
case("LpPool", "LpPool", [IMAGE], kernel_shape=[3, 3])
case("GlobalAveragePool", "GlobalAveragePool", [IMAGE])
case("GlobalMaxPool", "GlobalMaxPool", [IMAGE])


def convolution(name, x, w, operator="Conv", **attributes):
    outputs = w.shape[0] if operator == "Conv" else w.shape[1] * attributes.get("group", 1)
    case(name, operator, [x, w, normal(outputs)], weights=(1, 2), **attributes)


group = "convolutions"
convolution("Conv 3x3", IMAGE, normal(64, 64, 3, 3), pads=[1] * 4)
convolution("Conv 1x1", IMAGE, normal(128, 64, 1, 1))
convolution("Conv 5x5", normal(1, 32, 28, 28), normal(64, 32, 5, 5), pads=[2] * 4)
convolution("Conv 7x7 s2", normal(1, 3, 224, 224), normal(64, 3, 7, 7), pads=[3] * 4, strides=[2, 2])
convolution("Conv 3x3 s2", IMAGE, normal(128, 64, 3, 3), pads=[1] * 4, strides=[2, 2])
convolution("Conv 3x3, dilated", IMAGE, normal(64, 64, 3, 3), pads=[2] * 4, dilations=[2, 2])
convolution("Conv, 4 groups", IMAGE, normal(64, 16, 3, 3), pads=[1] * 4, group=4)
convolution("Conv, 32 groups", normal(1, 128, 28, 28), normal(128, 4, 3, 3), pads=[1] * 4, group=32)
convolution("Conv, 8 groups of 3", normal(1, 24, 28, 28), normal(24, 3, 3, 3), pads=[1] * 4, group=8)
convolution("Conv, depthwise 3x3", IMAGE, normal(64, 1, 3, 3), pads=[1] * 4, group=64)
convolution("Conv, depthwise 5x5 s2", IMAGE, normal(64, 1, 5, 5), pads=[2] * 4, group=64, strides=[2, 2])
convolution("Conv, depthwise x2", IMAGE, normal(128, 1, 3, 3), pads=[1] * 4, group=64)
convolution("Conv, depthwise 7x7", IMAGE, normal(64, 1, 7, 7), pads=[3] * 4, group=64)
convolution("Conv 3x3, 1 channel", normal(1, 1, 512, 512), normal(1, 1, 3, 3), pads=[1] * 4)
convolution("Conv 3x3, 3 channels", normal(1, 3, 512, 512), normal(3, 3, 3, 3), pads=[1] * 4)
convolution("Conv 3x3, 8 to 2 channels", normal(1, 8, 256, 256), normal(2, 8, 3, 3), pads=[1] * 4)
convolution("Conv, depthwise 5x5, 3 channels", normal(1, 3, 512, 512), normal(3, 1, 5, 5), pads=[2] * 4, group=3)
convolution("Conv 1-D, 64 taps", normal(1, 1, 16000), normal(1, 1, 64), pads=[32, 31])
convolution("Conv 1-D", normal(1, 80, 3000), normal(384, 80, 3), pads=[1, 1])
convolution("Conv 1-D, depthwise", normal(1, 256, 2000), normal(256, 1, 31), pads=[15, 15], group=256)
convolution("Conv 3-D", normal(1, 16, 16, 28, 28), normal(32, 16, 3, 3, 3), pads=[1] * 6)
convolution("Conv 1x7", normal(1, 128, 17, 17), normal(128, 128, 1, 7), pads=[0, 3, 0, 3])
convolution("Conv, 10 channels", normal(1, 10, 40, 40), normal(10, 10, 3, 3), pads=[1] * 4)
case("Conv, weights of the run", "Conv", [normal(1, 32, 28, 28), normal(32, 32, 3, 3)])
case("ConvInteger", "ConvInteger", [whole(0, 255, (1, 32, 28, 28), np.uint8), whole(-127, 127, (64, 32, 3, 3), np.int8)], weights=(1,))
for name, kernel, more in (("2x2 s2", 2, {"strides": [2, 2]}), ("3x3 s2", 3, {"strides": [2, 2], "pads": [1] * 4, "output_padding": [1, 1]}),
                           ("4x4 s2", 4, {"strides": [2, 2], "pads": [1] * 4}), ("3x3 s1", 3, {"pads": [1] * 4})):
    convolution("ConvTranspose " + name, normal(1, 64, 28, 28), normal(64, 32, kernel, kernel), "ConvTranspose", **more)
convolution("ConvTranspose, depthwise", normal(1, 64, 28, 28), normal(64, 1, 4, 4), "ConvTranspose", strides=[2, 2], pads=[1] * 4, group=64)
convolution("ConvTranspose 1-D", normal(1, 128, 500), normal(128, 64, 16), "ConvTranspose", strides=[8], pads=[4, 4])

group = "products"
case("MatMul", "MatMul", [ROWS, normal(768, 768)], weights=(1,))
case("MatMul of inputs", "MatMul", [normal(256, 256), normal(256, 256)])
case("MatMul, batches", "MatMul", [normal(12, 128, 64), normal(12, 64, 128)])
case("MatMul, broadcast", "MatMul", [normal(8, 128, 64), normal(64, 96)])
case("MatMul, vector by matrix", "MatMul", [normal(1, 1024), normal(1024, 1000)], weights=(1,))
case("MatMul, matrix by vector", "MatMul", [normal(1000, 1024), normal(1024)], weights=(0,))
case("MatMul, matrix by vector, inputs", "MatMul", [normal(1000, 1024), normal(1024)])
case("MatMul, vector by matrix, inputs", "MatMul", [normal(1, 512), normal(512, 512)])
case("MatMul, 5 rows", "MatMul", [normal(5, 768), normal(768, 768)], weights=(1,))
case("MatMul, odd", "MatMul", [normal(77, 123), normal(123, 45)], weights=(1,))
case("MatMul, f64", "MatMul", [normal(64, 128).astype(float), normal(128, 96).astype(float)], weights=(1,))
case("MatMul, i32", "MatMul", [whole(-9, 9, (64, 128), np.int32), whole(-9, 9, (128, 96), np.int32)], weights=(1,))
case("Gemm, B transposed", "Gemm", [ROWS, normal(512, 768), normal(512)], weights=(1, 2), transB=1)
case("Gemm, A transposed", "Gemm", [normal(768, 128), normal(768, 512), normal(512)], weights=(1, 2), transA=1)
for equation, shapes in (("bhqd,bhkd->bhqk", [(2, 8, 64, 32), (2, 8, 64, 32)]), ("i,j->ij", [(256,), (512,)]), ("ij,ik->jk", [(64, 32), (64, 48)]),
                         ("bqhd,bkhd->bhqk", [(2, 64, 8, 32), (2, 64, 8, 32)]), ("bij,bj->bi", [(8, 128, 64), (8, 64)]),
                         ("ij->ji", [(256, 300)]), ("ii->i", [(512, 512)]), ("bij->b", [(16, 64, 64)]), ("bi,bi->b", [(128, 768)] * 2)):
    case("Einsum " + equation, "Einsum", [normal(*s) for s in shapes], equation=equation)
case("MatMulInteger", "MatMulInteger", [whole(0, 255, (128, 256), np.uint8), whole(-127, 127, (256, 256), np.int8)], weights=(1,))
case("MatMulInteger, zero points", "MatMulInteger", [whole(0, 255, (128, 256), np.uint8), whole(-127, 127, (256, 256), np.int8), np.uint8(120),
                                                      np.int8(3)], weights=(1, 2, 3))
case("QLinearMatMul", "QLinearMatMul", [whole(0, 255, (128, 256), np.uint8), F(.02), np.uint8(128), whole(-127, 127, (256, 256), np.int8), F(.01),
                                        np.int8(0), F(.5), np.uint8(120)], weights=tuple(range(1, 8)))

group = "recurrent and signal"
for name, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    for note, steps, batch, hidden in (("", 20, 1, 128), (", batch 8", 20, 8, 128), (", small", 50, 1, 32)):
        case(name + note, name, [normal(steps, batch, hidden), normal(1, gates * hidden, hidden) * F(.1), normal(1, gates * hidden, hidden) * F(.1)],
             weights=(1, 2), hidden_size=hidden)
case("DFT", "DFT", [normal(4, 256, 1), np.array(256), np.array(1)], weights=(1, 2))
case("STFT", "STFT", [normal(1, 4000, 1), np.array(160), np.hanning(400).astype(F)], weights=(1, 2), onesided=1)
case("MelWeightMatrix", "MelWeightMatrix", [np.array(40), np.array(400), np.array(16000), F(20), F(8000)], weights=(0, 1, 2, 3, 4))
