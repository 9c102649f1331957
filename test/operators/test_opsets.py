# SPDX-License-Identifier: MIT
"""Every operator under every opset from 6 on, in the forms that the conformance suite (mostly the newest opsets) does not show:
attributes that later became inputs, the broadcasting before opset 7, defaults that changed, every element type.

One model per opset holds all cases that exist there; each is checked against onnxruntime or, where that has no kernel, the
reference evaluator of the onnx package, or against the function that the case gives."""
import collections
import functools
import pathlib
import sys
import zlib

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

NEWEST = 27
F32, F64, F16, I8, I16, I32, I64 = (np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64)
U8, U16, U32, U64 = np.uint8, np.uint16, np.uint32, np.uint64
INTEGERS = [I8, I16, I32, I64, U8, U16, U32, U64]
FLOATS = [F32, F64, F16]

Case = collections.namedtuple("Case", "op since until inputs constants outputs attributes expect title")
CASES = []


def x(*shape, dtype=F32, low=-4, high=4, key=0):
    """Numbers that depend on the arguments alone."""
    rng = np.random.default_rng(zlib.crc32(repr((shape, np.dtype(dtype).name, low, high, key)).encode()))
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    if np.issubdtype(dtype, np.integer):
        return rng.integers(max(low, np.iinfo(dtype).min), high, shape, endpoint=True).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def ints(*values, dtype=I64):
    return np.array(values, dtype)


def case(op, inputs, since=6, until=NEWEST, constants=None, outputs=1, expect=None, title="", **attributes):
    """inputs: run-time arrays, or None for an absent one; constants: {position: array}, given as initializers."""
    CASES.append(Case(op, since, until, list(inputs), dict(constants or {}), outputs, attributes, expect, title))


# ---- element-wise ----
for op in "Add Sub Mul Div".split():
    a, b = x(2, 3, 4), x(3, 4, low=1)
    fn = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[op]
    case(op, [a, b], until=6, broadcast=1, expect=lambda a, b, fn=fn: fn(a, b))
    case(op, [a, x(3, low=1)], until=6, broadcast=1, axis=1, expect=lambda a, b, fn=fn: fn(a, b[:, None]), title="axis")
    case(op, [a, x(2, low=1)], until=6, broadcast=1, axis=0, expect=lambda a, b, fn=fn: fn(a, b[:, None, None]), title="axis 0")
    case(op, [a, x(low=1)], until=6, broadcast=1, expect=lambda a, b, fn=fn: fn(a, b), title="scalar")
    case(op, [a, a + 9], title="equal shapes")
    case(op, [a, b], since=7)
    case(op, [x(2, 1, 4), x(3, 1, low=1)], since=7, title="both ways")
    case(op, [x(2, 3, 4), x(low=1)], since=7, title="scalar")
    for t in [F64, F16, I32, I64, U32, U64]:
        case(op, [x(3, 4, dtype=t, low=1, high=9), x(4, dtype=t, low=1, high=5)], since=7, title=t.__name__)
    for t in [I8, I16, U8, U16]:
        wrap = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": lambda p, q: (p // q)}[op]
        case(op, [x(3, 4, dtype=t, low=0, high=100), x(4, dtype=t, low=1, high=90)], since=14, title=t.__name__, expect=wrap)
case("Div", [ints(7, -7, 7, -7), ints(2, 2, -2, -2)], since=7, title="truncates", expect=lambda a, b: ints(3, -3, -3, 3))
case("Pow", [x(2, 3, low=0.5), x(3)], since=7)
case("Pow", [x(2, 3, low=0.5), x(3)], until=6, broadcast=1, expect=np.power)
case("Pow", [x(2, 3), np.array(2, F32)], since=7, title="square")
case("Pow", [x(2, 3, low=0.5), ints(2, 3, -1)], since=12, title="integer exponent")
case("Pow", [x(2, 3, dtype=I32), ints(2, 3, 0, dtype=I32)], since=12, title="integers")
case("Pow", [x(2, 3, dtype=I32, low=1), np.array([0.5, 2, 1.5], F32)], since=12, title="float exponent of integers",
     expect=lambda a, b: np.power(a.astype(F64), b).astype(I32))
for op in "And Or Xor".split():
    fn = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}[op]
    case(op, [x(2, 3, 4, dtype=np.bool_), x(2, 3, 4, dtype=np.bool_, key=1)])
    case(op, [x(2, 3, 4, dtype=np.bool_), x(4, dtype=np.bool_)], since=7)
    case(op, [x(2, 3, 4, dtype=np.bool_), x(3, dtype=np.bool_)], until=6, broadcast=1, axis=1,
         expect=lambda a, b, fn=fn: fn(a, b[:, None]))
for op in "Equal Greater Less".split():
    types = [I32, I64] if op == "Equal" else [F32, F64]
    for t in types:
        case(op, [x(3, 4, dtype=t, low=0, high=2), x(3, 4, dtype=t, low=0, high=2, key=1)], title=t.__name__)
        case(op, [x(3, 4, dtype=t, low=0, high=2), x(4, dtype=t, low=0, high=2, key=1)], since=7, title=t.__name__ + " broadcast")
    for t in [F32, F64, I32, I64] + ([np.bool_] if op == "Equal" else []):
        case(op, [x(3, 4, dtype=t, low=0, high=2), x(4, dtype=t, low=0, high=2, key=1)], since=11, title=t.__name__ + " 11")
case("Not", [x(3, dtype=np.bool_)])
for op in "Abs Neg Sqrt Exp Log Reciprocal Floor Ceil Tanh Sigmoid Relu Softplus Softsign".split():
    for t in FLOATS:
        case(op, [x(3, 5, dtype=t, low=0.1 if op in ("Sqrt", "Log", "Reciprocal") else -4)], title=t.__name__)
for op in "Sin Cos Tan Asin Acos Atan".split():
    case(op, [x(20, low=-0.9, high=0.9)], since=7)
for op in "Sinh Cosh Asinh Atanh Erf Sign".split():
    case(op, [x(20, low=-0.9, high=0.9)], since=9)
case("Acosh", [x(20, low=1.1)], since=9)
case("Round", [np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4], F32)], since=11)
case("IsNaN", [np.array([1, np.nan, np.inf], F32)], since=9)
case("IsInf", [np.array([1, np.nan, np.inf, -np.inf], F32)], since=10, detect_negative=0)
for t in INTEGERS:
    case("Abs", [x(7, dtype=t)], title=t.__name__)
    if t in (I8, I32, I64):
        case("Neg", [x(7, dtype=t)], title=t.__name__)
case("Relu", [x(7, dtype=I32)], since=14, title="int32")
for op in "Max Min Sum Mean".split():
    case(op, [x(3, 4), x(3, 4, key=1), x(3, 4, key=2)])
    case(op, [x(3, 4)], title="one")
    case(op, [x(3, 1), x(4), x(2, 1, 1)], since=8, title="broadcast")
for op in "Max Min".split():
    for t in [F64, I32, I64, U32, U64]:
        case(op, [x(3, 4, dtype=t), x(3, 4, dtype=t, key=1)], since=12, title=t.__name__)
    for t in [I8, I16, U8, U16]:
        case(op, [x(3, 4, dtype=t), x(3, 4, dtype=t, key=1)], since=13, title=t.__name__,
             expect=np.maximum if op == "Max" else np.minimum)
case("Mod", [ints(-7, 7, -7, 7), ints(3, -3, -3, 3)], since=10)
case("Mod", [x(6), x(6, key=1, low=1)], since=10, fmod=1)
case("BitShift", [ints(1, 200, 3, dtype=U8), ints(1, 2, 9, dtype=U8)], since=11, direction="RIGHT",
     expect=lambda a, b: ints(0, 50, 0, dtype=U8))
for op, fn in ("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor):
    for t in INTEGERS:
        case(op, [x(5, dtype=t, high=99), x(5, dtype=t, high=99, key=1)], since=18, title=t.__name__, expect=fn)
case("Where", [x(2, 1, dtype=np.bool_), x(2, 3), x(3)], since=9)
case("Where", [x(2, 3, dtype=np.bool_), x(2, 3, dtype=I64), x(3, dtype=I64)], since=9, title="int64")
case("Clip", [x(9)], until=10, min=-1.0, max=2.0)
case("Clip", [x(9)], until=10, max=2.0, title="max only")
case("Clip", [x(9), np.array(-1, F32), np.array(2, F32)], since=11)
case("Clip", [x(9), None, np.array(2, F32)], since=11, title="max only")
case("Clip", [x(9), None, None], since=11, constants={1: np.array(-1, F32), 2: np.array(2, F32)}, title="constants")
for t in [F64, I8, I32, I64, U8, U64]:
    case("Clip", [x(9, dtype=t), np.array(1, t), np.array(2, t)], since=12, title=t.__name__)
case("LeakyRelu", [x(9)], alpha=0.3)
case("LeakyRelu", [x(9)], title="default")
case("Elu", [x(9)], alpha=2.0)
case("Selu", [x(9)], alpha=2.0, gamma=3.0)
case("Selu", [x(9)], title="default")
case("HardSigmoid", [x(9)], alpha=0.3, beta=0.4)
case("HardSigmoid", [x(9)], title="default")
case("ThresholdedRelu", [x(9)], since=10, alpha=0.5)
case("Shrink", [x(9)], since=9, lambd=1.5, bias=0.5)
case("Celu", [x(9)], since=12, alpha=2.0)
case("HardSwish", [x(9)], since=14)
case("Mish", [x(9)], since=18)
case("Gelu", [x(9)], since=20)
case("Gelu", [x(9)], since=20, approximate="tanh")
case("PRelu", [x(2, 3, 4), x(3)], until=6, expect=lambda a, s: np.where(a < 0, a * s[:, None], a), title="per channel")
case("PRelu", [x(2, 3, 4), x(1)], until=6, expect=lambda a, s: np.where(a < 0, a * s, a), title="one slope")
case("PRelu", [x(2, 3, 4), x(3, 1)], since=7)
case("PRelu", [x(2, 3, 4, dtype=I32), x(4, dtype=I32)], since=9, title="int32", expect=lambda a, s: np.where(a < 0, a * s, a))
for source in FLOATS + INTEGERS + [np.bool_]:
    for target in FLOATS + INTEGERS + [np.bool_]:
        case("Cast", [x(7, dtype=source, low=0, high=100)], to=int(helper.np_dtype_to_tensor_dtype(np.dtype(target))),
             title=f"{source.__name__} to {target.__name__}", expect=lambda a, t=target: a.astype(t))
case("Cast", [ints(300, -1, 2**40 + 7)], to=int(TensorProto.UINT8), title="wraps", expect=lambda a: a.astype(U8))
case("CastLike", [x(7), ints(1)], since=15)

# ---- shapes ----
case("Reshape", [x(2, 3, 4)], constants={1: ints(0, -1)})
case("Reshape", [x(2, 3, 4)], constants={1: ints(4, 0, -1)}, title="copies")
case("Reshape", [x(0, 3)], constants={1: ints(3, 0)}, since=14, allowzero=1, title="allowzero")
case("Reshape", [x(1)], constants={1: np.zeros(0, I64)}, title="scalar")
for axis in 0, 1, 2, 3:
    case("Flatten", [x(2, 3, 4)], axis=axis)
case("Flatten", [x(2, 3, 4)], title="default")
case("Flatten", [x(2, 3, 4)], since=11, axis=-1)
case("Squeeze", [x(1, 3, 1, 4)], until=12, axes=[0, 2])
case("Squeeze", [x(1, 3, 1, 4)], title="all")
case("Squeeze", [x(1, 3, 1, 4)], since=11, until=12, axes=[-2])
case("Squeeze", [x(1, 3, 1, 4)], since=13, constants={1: ints(0, -2)})
case("Unsqueeze", [x(3, 4)], until=12, axes=[0, 3])
case("Unsqueeze", [x(3, 4)], since=11, until=12, axes=[-1, 0])
case("Unsqueeze", [x(3, 4)], since=13, constants={1: ints(-1, 0)})
case("Expand", [x(3, 1)], since=8, constants={1: ints(2, 1, 4)})
case("Expand", [x(2, 3)], since=8, constants={1: ints(1)}, title="keeps")
case("Tile", [x(2, 3)], constants={1: ints(2, 3)})
case("Tile", [x(2, 1, 2, 2, 1, 2, 2, 1, 2)], constants={1: ints(2, 2, 1, 2, 3, 2, 2, 2, 2)}, title="many dimensions")
case("Tile", [x(2, 3, dtype=I32)], constants={1: ints(0, 3)}, title="nothing")
case("Shape", [x(2, 0, 4)])
case("Shape", [x(2, 3, 4)], since=15, start=-2, end=9)
case("Size", [x(2, 3, 4)])
for t in FLOATS + INTEGERS + [np.bool_]:
    case("Identity", [x(2, 3, dtype=t)], title=t.__name__)
    case("Transpose", [x(2, 3, 4, dtype=t)], perm=[2, 0, 1], title=t.__name__)
    case("Concat", [x(2, 3, dtype=t), x(2, 1, dtype=t)], axis=1, title=t.__name__)
case("Transpose", [x(2, 3, 4)], title="default")
case("Concat", [x(2, 3), x(0, 3), x(1, 3)], axis=0, title="empty part")
case("Concat", [x(2, 3), x(2, 1)], since=11, axis=-1)
case("Split", [x(2, 6)], until=12, axis=1, split=[1, 2, 3], outputs=3)
case("Split", [x(6, 2)], until=17, outputs=3, title="equal")
case("Split", [x(2, 6)], since=13, axis=1, constants={1: ints(1, 5)}, outputs=2)
case("Split", [x(7, 2)], since=18, num_outputs=3, outputs=3, title="uneven")
case("Slice", [x(5, 6)], until=9, starts=[1, -3], ends=[4, 1000], axes=[0, 1])
case("Slice", [x(5, 6)], until=9, starts=[1], ends=[-1], title="no axes")
case("Slice", [x(5, 6)], since=10, constants={1: ints(1, -3), 2: ints(4, 1000)})
case("Slice", [x(5, 6)], since=10, constants={1: ints(-1, 5, dtype=I32), 2: ints(-100, 0, dtype=I32), 3: ints(0, 1, dtype=I32),
                                              4: ints(-2, -1, dtype=I32)}, title="backwards")
case("Slice", [x(5, 6)], since=10, constants={1: ints(3), 2: ints(2**63 - 1), 3: ints(1), 4: ints(2**62)}, title="huge step")
case("Slice", [x(5, 6), ints(1, 0), ints(4, 6), ints(0, 1), ints(1, 2)], since=10, title="run-time")
case("Slice", [x(5, 6), ints(-1), ints(-4), ints(-2), ints(-1)], since=11, title="run-time, backwards")
case("Slice", [x(5, 6), ints(2), ints(2**63 - 1)], since=10, title="run-time, to the end")
for mode in "constant reflect edge".split():
    case("Pad", [x(3, 4)], until=10, mode=mode, pads=[1, 2, 0, 1], value=1.5)
    case("Pad", [x(3, 4)], since=11, mode=mode, constants={1: ints(1, 2, 0, 1)})
    case("Pad", [x(3, 4), ints(1, 2, 0, 1)], since=11, mode=mode, title=mode + ", run-time")
case("Pad", [x(3, 4)], until=10, pads=[-1, 0, 1, 0], title="crops")
case("Pad", [x(3, 4)], since=11, constants={1: ints(1, 2, 0, 1), 2: np.array(7, F32)}, title="value")
case("Pad", [x(3, 4, dtype=I32)], since=11, constants={1: ints(1, -2, 0, 1), 2: np.array(7, I32)}, title="int32")
case("Pad", [x(3, 4)], since=18, constants={1: ints(1, 2, 0, 1), 3: ints(1, 0)}, title="axes out of order",
     expect=lambda a: np.pad(a, ((2, 1), (1, 0))))
case("Pad", [x(3, 4), ints(1, 2), None, ints(-1)], since=18, title="run-time axes", expect=lambda a, p, q: np.pad(a, ((0, 0), (1, 2))))
for mode in "reflect edge".split():
    case("Pad", [x(3)], since=11, mode=mode, constants={1: ints(7, 8)}, title=mode + ", past the extent",
         expect=lambda a, mode=mode: np.pad(a, (7, 8), mode=mode))
case("Pad", [x(1, 3)], since=11, mode="reflect", constants={1: ints(2, 0, 1, 0)}, title="reflect of one",
     expect=lambda a: np.pad(a, ((2, 1), (0, 0)), mode="reflect"))
case("Pad", [x(3)], since=19, mode="wrap", constants={1: ints(7, 8)}, title="wrap, past the extent",
     expect=lambda a: np.pad(a, (7, 8), mode="wrap"))
case("Pad", [x(5)], since=11, mode="reflect", constants={1: ints(-2, 2)}, title="reflect, cropped",
     expect=lambda a: np.pad(a[2:], (0, 2), mode="reflect"))
for mode, since in (("wrap", 19), ("reflect", 11), ("edge", 11)):
    for pads in ((4, -1), (-1, 6), (7, -2), (-2, 9), (-3, -1)):         # negative amounts crop first, as PyTorch and onnxruntime do
        case("Pad", [x(5)], since=since, mode=mode, constants={1: ints(*pads)}, title=f"{mode}, cropped by {pads}",
             expect=lambda a, mode=mode, p=pads: np.pad(a[max(-p[0], 0):len(a) - max(-p[1], 0)], [max(n, 0) for n in p], mode=mode))
    case("Pad", [x(5), ints(-1, 6)], since=since, mode=mode, title=f"{mode}, cropped at run time",
         expect=lambda a, p, mode=mode: np.pad(a[1:], (0, 6), mode=mode))
case("Pad", [x(3, 4)], since=19, mode="wrap", constants={1: ints(2, 1, 1, 3)})
case("DepthToSpace", [x(1, 8, 2, 3)], blocksize=2)
case("DepthToSpace", [x(1, 8, 2, 3)], since=11, blocksize=2, mode="CRD")
case("SpaceToDepth", [x(1, 2, 4, 6)], blocksize=2)
case("ReverseSequence", [x(4, 3, 2), ints(1, 2, 4)], since=10, time_axis=0, batch_axis=1)

# ---- indices ----
case("Gather", [x(5, 4), ints(0, 3, 1)])
case("Gather", [x(5, 4), np.array(2, I64)], axis=1, title="scalar")
case("Gather", [x(5, 4), ints(0, -1, -5, dtype=I32)], since=11, title="negative")
case("Gather", [x(5, 4, dtype=U8), np.array([[0, 1], [3, 2]], I64)], since=11, axis=-1, title="matrix")
case("GatherElements", [x(3, 4), np.array([[0, -1, 2, 1]], I64)], since=11, axis=0)
case("GatherND", [x(2, 3, 4), np.array([[0, 1], [1, -1]], I64)], since=11)
case("GatherND", [x(2, 3, 4), np.array([[1], [2]], I64)], since=12, batch_dims=1)
case("OneHot", [ints(1, -1, 7), None, np.array([2, 5], F32)], since=9, constants={1: ints(4)})
case("EyeLike", [x(3, 4)], since=9, k=1, dtype=int(TensorProto.INT32))
case("Trilu", [x(3, 4), np.array(-1, I64)], since=14, upper=0)
case("ConstantOfShape", [None], since=9, constants={0: ints(2, 3)}, value=numpy_helper.from_array(ints(7, dtype=I32)))
case("ConstantOfShape", [None], since=9, constants={0: ints(2, 3)}, title="default")
case("Range", [None, None, None], since=11, constants={0: np.array(1, F32), 1: np.array(4, F32), 2: np.array(0.7, F32)})
case("Range", [None, None, None], since=11, constants={0: np.array(9, I32), 1: np.array(-4, I32), 2: np.array(-3, I32)}, title="down")
case("Constant", [], value=numpy_helper.from_array(x(2, 3)))
case("Constant", [], since=12, value_ints=[3, 4])
case("Constant", [], since=12, value_float=1.5)
case("Constant", [], since=12, value_floats=[1.5, -2.0])
case("Constant", [], since=12, value_int=-7)
for exclusive in (0, 1):
    for reverse in (0, 1):
        for axis in (0, 1, 2):
            case("CumSum", [x(3, 1, 7) if axis == 1 else x(3, 4, 5)], since=11, constants={1: np.array(axis, I32)}, exclusive=exclusive, reverse=reverse)

spots = np.array([[0, -1, 2, 1], [2, 2, -3, 0]], I64)
case("Scatter", [x(3, 4), spots, x(2, 4)], since=9, until=10, axis=0)
case("ScatterElements", [x(3, 4), spots[:, :3], x(2, 3)], since=11, axis=1)
case("ScatterElements", [x(3, 4), spots.astype(I32), x(2, 4)], since=11, title="int32")
for reduction, since in ("add", 16), ("mul", 16), ("max", 18), ("min", 18):
    for t in [F32, F64, I32, I64]:
        case("ScatterElements", [x(3, 4, dtype=t), spots, x(2, 4, dtype=t)], since=since, reduction=reduction, title=f"{reduction} {t.__name__}")
    pairs = np.array([[[0, 1], [1, -1]], [[0, 1], [1, 2]]], I64)
    case("ScatterND", [x(2, 3, 4), pairs, x(2, 2, 4)], since=since, reduction=reduction, title=reduction)
    case("ScatterND", [x(2, 3), None, x(2, 2)], since=since, constants={1: pairs}, reduction=reduction, title=f"{reduction}, known indices")
case("ScatterND", [x(2, 3, 4), np.array([[1], [0]], I64), x(2, 3, 4, key=1)], since=11)
case("ScatterND", [x(2, 3), np.array([[1, 0], [0, 2]], I64), x(2)], since=11)
case("ScatterElements", [x(5, dtype=np.bool_), ints(4, 0), np.array([True, False])], since=11, title="bool")


def around(past, update, begin):
    present = past.copy()
    for b, first in enumerate(begin):
        for k in range(update.shape[2]):
            present[b, :, (first + k) % past.shape[2]] = update[b, :, k]
    return present


case("TensorScatter", [x(2, 3, 4, 5), x(2, 3, 2, 5, key=1), ints(1, 3)], since=24, mode="circular", expect=around)
case("TensorScatter", [x(2, 3, 4, 5), x(2, 3, 2, 5, key=1)], since=24, expect=lambda past, update: around(past, update, [0, 0]))
for t in [F32, F64, I32, I64]:
    many = x(3, 40, dtype=t, low=-9, high=9) if t in (I32, I64) else x(3, 40, dtype=t)
    case("TopK", [many, None], since=11, constants={1: ints(7)}, outputs=2, title=t.__name__)
    case("TopK", [many.T.copy(), None], since=11, constants={1: ints(40)}, outputs=2, axis=0, largest=0, title=f"{t.__name__}, smallest, all")
case("TopK", [x(2, 5, 6)], until=9, outputs=2, k=3, axis=1,
     expect=lambda a: (np.take_along_axis(a, np.argsort(-a, 1, kind="stable"), 1)[:, :3], np.argsort(-a, 1, kind="stable")[:, :3]))
case("TopK", [x(2, 5, 6), None], since=10, constants={1: ints(3)}, outputs=2, axis=1)
case("TopK", [x(1, 1), None], since=10, constants={1: ints(1)}, outputs=2)


def folded(columns, image, block, strides, pads, dilations):
    """columns [N, C * windows, positions] added up in images, pads cut off"""
    n = len(columns)
    padded = [image[d] + pads[d] + pads[d + 2] for d in range(2)]
    out = [(padded[d] - (block[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(2)]
    columns = columns.reshape(n, -1, block[0], block[1], *out)
    result = np.zeros((n, columns.shape[1], *padded), columns.dtype)
    for i in range(block[0]):
        for j in range(block[1]):
            rows, cells = (np.arange(o) * s + k * d for o, s, k, d in zip(out, strides, (i, j), dilations))
            result[:, :, rows[:, None], cells[None, :]] += columns[:, :, i, j]
    return result[:, :, pads[0]:pads[0] + image[0], pads[1]:pads[1] + image[1]]


for strides, pads, dilations, positions in [([1, 1], [0, 0, 0, 0], [1, 1], 16), ([2, 1], [1, 0, 0, 2], [1, 2], 12)]:
    case("Col2Im", [x(2, 3 * 6, positions), None, None], since=18, constants={1: ints(5, 6), 2: ints(2, 3)}, strides=strides, pads=pads, dilations=dilations,
         expect=lambda c, s=strides, p=pads, d=dilations: folded(c, [5, 6], [2, 3], s, p, d))
pooled_at = np.array([[[[0, 3], [9, 14]], [[16, 18], [25, 31]]]], I64)
case("MaxUnpool", [x(1, 2, 2, 2), pooled_at], since=9, kernel_shape=[2, 2], strides=[2, 2])


holds = np.array([[True, False, True], [False, False, True]])
case("NonZero", [holds], since=9)
case("NonZero", [x(2, 3, 4, dtype=I32, low=0, high=1)], since=9, title="int32")
case("NonZero", [np.where(holds, x(2, 3), 0).astype(F32), ], since=9, title="floats")
case("NonZero", [], since=9, constants={0: x(7, 5, dtype=I64, low=-1, high=1)}, title="known")
case("Compress", [x(3, 4), holds[0]], since=9, axis=0)
case("Compress", [x(3, 4), holds[0]], since=9, axis=1, title="shorter")
case("Compress", [x(3, 4), holds[0]], since=9, title="of all")
case("Compress", [x(3, 4)], since=9, constants={1: holds[0]}, axis=0, title="known")


def unique(a, axis=None, in_order=True):
    y, rows, group, counts = np.unique(a, True, True, True, axis=axis)
    if not in_order:
        order = np.argsort(rows)
        rows, counts, group = rows[order], counts[order], np.argsort(order)[group.ravel()]
        y = np.take(a if axis is not None else a.ravel(), rows, axis or 0)
    return tuple(v.astype(I64) if k else v for k, v in enumerate((y, rows, group.ravel(), counts)))


uniques = np.random.default_rng(40)
for turn in range(30):
    kind = [F32, F64, F16, I8, I32, I64, U8, U64, np.bool_][turn % 9]
    shape = uniques.integers(1, 5, uniques.integers(1, 4))
    axis, in_order = [None, -1, 0, len(shape) - 1][turn % 4], bool(turn % 3)
    values = x(*shape, dtype=kind, low=0, high=1 if axis is not None else 5, key=turn)
    values = np.round(values) if kind in FLOATS else values
    if kind in FLOATS and turn % 2 and axis is None:
        values.ravel()[::3] = np.nan
    case("Unique", [values], since=11, until=11, outputs=4, expect=lambda a, axis=axis, in_order=in_order: unique(a, axis, in_order), title=f"{turn}",
         sorted=int(in_order), **({} if axis is None else {"axis": axis}))
case("Unique", [], since=11, constants={0: x(4, 7, dtype=I32, low=0, high=3)}, expect=lambda: unique(x(4, 7, dtype=I32, low=0, high=3))[0], title="known")
case("Unique", [x(40, 3, dtype=I32, low=0, high=2)], since=11, outputs=3, expect=lambda a: unique(a, 0)[:3], axis=0, title="rows of three")


corners, chances = x(2, 30, 4, low=0, high=1), np.round(x(2, 3, 30, low=0, high=1), 1)           # several of one score
half, some = np.array(0.3, F32), np.array(0.4, F32)
case("NonMaxSuppression", [corners, chances, ints(5), half[None], some[None]], since=10)
case("NonMaxSuppression", [corners, chances, None, half[None]], since=11, constants={2: ints(30)}, title="all scores")
case("NonMaxSuppression", [corners, chances], since=11, constants={2: ints(4)[0], 3: half, 4: some}, title="known")
case("NonMaxSuppression", [corners, chances], since=11, constants={2: ints(50), 3: half, 4: some}, center_point_box=1, title="centers")


regions = np.array([[1, 2, 6, 9], [-3, -2, 4, 3], [8, 8, 8.2, 8.1], [0, 0, 30, 30]], F32)
for mode in "avg", "max":
    case("RoiAlign", [x(2, 3, 10, 12), regions, ints(0, 1, 1, 0)], since=16, output_height=3, output_width=4, sampling_ratio=2, spatial_scale=0.5, mode=mode,
         title=mode)
case("RoiAlign", [x(2, 3, 10, 12), regions, ints(0, 1, 1, 0)], since=10, until=15, output_height=3, output_width=4, sampling_ratio=3)


# ---- reductions ----
for op in "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split():
    last, data = 12 if op == "Sum" else 17, x(2, 3, 4, low=0.5 if op == "LogSum" else -4)
    case("Reduce" + op, [data], until=last, axes=[1])
    case("Reduce" + op, [data], until=last, axes=[0, 2], keepdims=0)
    case("Reduce" + op, [data], until=last, title="all")
    case("Reduce" + op, [data], since=11, until=last, axes=[-1], keepdims=0)
    case("Reduce" + op, [data], since=last + 1, constants={1: ints(1)})
    case("Reduce" + op, [data], since=last + 1, constants={1: ints(-1, 0)}, keepdims=0)
    case("Reduce" + op, [data, ints(-2)], since=last + 1, keepdims=0, title="run-time axes")
    case("Reduce" + op, [data, ints(2, 0)], since=last + 1, title="run-time axes, kept")
    if op not in ("Mean", "L2", "LogSum", "LogSumExp"):
        case("Reduce" + op, [x(2, 3, dtype=I32)], until=last, axes=[1], title="int32")
case("ReduceMean", [x(2, 3, dtype=I32)], until=17, axes=[1], title="int32", expect=lambda a: np.fix(a.sum(1, keepdims=True) / 3).astype(I32))
case("ReduceMax", [x(4, 3, dtype=I8)], since=12, until=17, axes=[1], title="int8")
case("ReduceMin", [x(4, 3, dtype=U8)], since=12, until=17, axes=[1], title="uint8")
case("ReduceSum", [x(2, 3)], since=13, noop_with_empty_axes=1)
case("ReduceSum", [x(4, 9, dtype=F16)], title="f16")
for t in I32, I64:           # the standard's function: in f64, then cast, which cuts off the fraction (onnxruntime rounds towards the maximum)
    case("ReduceLogSumExp", [x(40, 3, dtype=t, low=-30, high=5)], until=17, axes=[1], keepdims=0, title=t.__name__,
         expect=lambda a: np.log(np.exp(a.astype(F64)).sum(1)).astype(a.dtype))
case("ReduceLogSumExp", [np.array([[1e4, 1e4], [-1e4, -1e4], [-np.inf, -np.inf]], F32)], until=17, axes=[1], title="extreme",
     expect=lambda a: (np.log(F32(2)) + a[:, :1]).astype(F32))
for op in "ArgMax ArgMin".split():
    data = x(3, 4, dtype=I32, low=0, high=2)
    case(op, [data], axis=1)
    case(op, [data], keepdims=0)
    case(op, [x(3, 4)], since=11, axis=-1, title="negative")
    case(op, [data], since=12, axis=1, select_last_index=1)
    for dtype in (I8, U8, I64, F16, F64):
        case(op, [x(3, 4, 5, dtype=dtype, low=0, high=3)], since=13, axis=1, title=np.dtype(dtype).name)
    rows = np.array([[1, np.nan, 7, np.nan, np.inf], [-np.inf] * 5, [np.inf, 3, np.inf, -np.inf, 0], [0.0, -0.0, -1, -1, 0]], F32)
    if op == "ArgMin":
        rows = -rows
    case(op, [rows], since=12, axis=1, title="NaN and infinities", expect=lambda a: np.array([[1], [0], [0], [0]]))
    case(op, [rows], since=12, axis=1, select_last_index=1, title="NaN and infinities, the last",
         expect=lambda a: np.array([[3], [4], [2], [4]]))
    case(op, [rows], since=12, axis=0, keepdims=0, title="NaN and infinities, columns", expect=lambda a: np.array([2, 0, 2, 0, 0]))
case("Hardmax", [x(2, 3, 4)], until=12, axis=1)
case("Hardmax", [x(2, 3, 4)], since=13, axis=1)
for op in "Softmax LogSoftmax".split():
    case(op, [x(2, 3, 4)], title="default")
    for axis in 0, 1, 2:
        case(op, [x(2, 3, 4)], axis=axis)
    case(op, [x(2, 3, 4)], since=11, axis=-2)
    case(op, [x(2, 3, dtype=F64)], axis=1, title="f64")
    case(op, [np.array([[1e4, 1e4 - 1, -1e4]], F32)], axis=1, title="extreme")

# ---- products ----
for a, b in ((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), \
        ((2, 1, 2, 3), (5, 3, 4)), ((1, 2, 3), (1, 3, 4)), ((2, 5, 2, 3), (2, 5, 3, 4)):
    case("MatMul", [x(*a), x(*b)], title=f"{a} {b}")
for t in [F64, F16, I32, I64, U32, U64]:
    case("MatMul", [x(2, 3, dtype=t), x(3, 4, dtype=t)], since=9, title=t.__name__)
case("Gemm", [x(2, 3), x(3, 4), x(4)], until=6, broadcast=1, alpha=0.5, beta=2.0, expect=lambda a, b, c: 0.5 * a @ b + 2 * c)
case("Gemm", [x(3, 2), x(4, 3), x(2, 4)], transA=1, transB=1, expect=lambda a, b, c: a.T @ b.T + c)
for c in (), (1,), (4,), (2, 1), (1, 4), (2, 4):
    case("Gemm", [x(2, 3), x(3, 4), x(*c)], since=7, title=f"C {c}")
case("Gemm", [x(2, 3), x(3, 4)], since=11, alpha=0.25)
case("Gemm", [x(2, 3, dtype=I32), x(3, 4, dtype=I32), x(4, dtype=I32)], since=9, title="int32", expect=lambda a, b, c: a @ b + c)
case("MatMulInteger", [x(2, 3, dtype=U8, low=0, high=255), x(3, 4, dtype=I8, low=-128, high=127), np.array(7, U8), np.array(-3, I8)],
     expect=lambda a, b, za, zb: (a.astype(I32) - za) @ (b.astype(I32) - zb),         # onnxruntime's sums may saturate (test/support/quantized.py)
     since=10)

# ---- signals ----
def parts(z, dtype=F32):
    return np.stack([z.real, z.imag], -1).astype(dtype)


def complex_of(a):
    return a[..., 0] + 1j * a[..., 1] if a.shape[-1] == 2 else a[..., 0].astype(np.complex128)


for n in 1, 31, 34, 64, 127, 400, 512, 1024:         # one step, several ones, primes
    case("DFT", [x(2, n, 1), None, None], since=20, constants={1: ints(n)[0], 2: ints(1)[0]}, title=f"{n}",
         expect=lambda a: parts(np.fft.fft(complex_of(a), axis=1)))
    case("DFT", [x(n, 3, 2, dtype=F64)], since=17, until=19, axis=0, title=f"{n}, complex",
         expect=lambda a: parts(np.fft.fft(complex_of(a), axis=0), F64))
    case("DFT", [x(n, 3, 2)], since=17, until=19, axis=0, inverse=1, title=f"{n}, inverse", expect=lambda a: parts(np.fft.ifft(complex_of(a), axis=0)))
    case("DFT", [x(1, n, 1, 1)], since=17, until=19, axis=1, onesided=1, title=f"{n}, half", expect=lambda a: parts(np.fft.rfft(a[..., 0], axis=1)))
case("STFT", [x(1, 500, 1), None, np.hanning(64).astype(F32)], since=17, constants={1: ints(16)[0]},
     expect=lambda a, w: parts(np.stack([np.fft.rfft(a[:, k:k + 64, 0] * w) for k in range(0, 500 - 63, 16)], 1)))

# ---- convolutions and pools ----
image = x(2, 4, 7, 6)
case("Conv", [image, x(3, 4, 3, 3)])
case("Conv", [image, x(3, 4, 3, 2), x(3)], strides=[2, 1], pads=[1, 0, 2, 1], dilations=[1, 2])
case("Conv", [image, x(4, 2, 3, 3)], group=2, kernel_shape=[3, 3])
case("Conv", [image, x(8, 1, 3, 3), x(8)], group=4, pads=[1, 1, 1, 1], title="depthwise")
for pad in "SAME_UPPER SAME_LOWER VALID".split():
    case("Conv", [image, x(3, 4, 2, 4)], auto_pad=pad, strides=[2, 2])
case("Conv", [x(2, 3, 8), x(4, 3, 3)], pads=[1, 1], title="1-D")
case("Conv", [x(1, 2, 4, 5, 3), x(2, 2, 2, 3, 2)], title="3-D")
case("Conv", [x(1, 2, 5, 5, dtype=F64), x(2, 2, 3, 3, dtype=F64)], title="f64", expect=None)
case("ConvTranspose", [x(1, 3, 4, 5), x(3, 2, 3, 3)], strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 1])
case("ConvTranspose", [x(1, 4, 4, 5), x(4, 2, 3, 2), x(4)], group=2, dilations=[2, 1])
case("ConvTranspose", [x(1, 3, 4), x(3, 2, 3)], strides=[2], title="1-D")
case("ConvInteger", [x(1, 2, 5, 5, dtype=U8, low=0, high=255), x(3, 2, 3, 3, dtype=U8, low=0, high=255), np.array(9, U8)], since=10,
     pads=[1, 1, 1, 1])
for op in "MaxPool AveragePool".split():
    case(op, [image], kernel_shape=[3, 2])
    case(op, [image], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 2])
    for pad in "SAME_UPPER SAME_LOWER VALID".split():
        case(op, [image], kernel_shape=[3, 3], auto_pad=pad, strides=[2, 2])
    case(op, [image], since=10, kernel_shape=[2, 2], strides=[3, 2], ceil_mode=1, pads=[0, 0, 1, 1])
    case(op, [x(1, 2, 9)], kernel_shape=[3], strides=[2], title="1-D")
    case(op, [x(1, 2, 4, 5, 3)], kernel_shape=[2, 3, 2], title="3-D")
case("MaxPool", [image], since=8, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], outputs=2)
case("MaxPool", [image], since=8, kernel_shape=[3, 2], storage_order=1, outputs=2)
case("MaxPool", [image], since=10, kernel_shape=[2, 2], dilations=[2, 3])


def same_windows(a, kernel, dilation, stride, lower, reduce):
    """auto_pad=SAME_*, as the standard's formulas have it: pads for windows as wide as dilations make them. (onnxruntime pads for the
    kernel alone, the reference rounds SAME_LOWER otherwise.)"""
    out = -(-a.shape[-1] // stride)
    pads = max(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - a.shape[-1])
    starts = [o * stride - (pads - pads // 2 if lower else pads // 2) for o in range(out)]
    return np.stack([reduce(a[..., [i for i in range(s, s + (kernel - 1) * dilation + 1, dilation) if 0 <= i < a.shape[-1]]], -1) for s in starts], -1)


for lower in range(2):
    for kernel, dilation, stride, extent in ((3, 2, 1, 7), (3, 2, 2, 7), (2, 3, 1, 8), (2, 3, 3, 8), (4, 2, 3, 11)):
        for op, since, reduce in (("MaxPool", 10, np.max), ("AveragePool", 19, np.mean)):
            case(op, [x(1, 2, extent)], since=since, kernel_shape=[kernel], dilations=[dilation], strides=[stride],
                 auto_pad="SAME_LOWER" if lower else "SAME_UPPER", title=f"same of {extent} by {kernel} x {dilation} / {stride}, {lower}",
                 expect=lambda a, k=kernel, d=dilation, s=stride, lower=lower, reduce=reduce: same_windows(a, k, d, s, lower, reduce))
case("MaxPool", [x(1, 2, 6, 6, dtype=I8, low=-128, high=-1)], since=12, kernel_shape=[3, 3], pads=[1, 1, 1, 1], title="int8")
case("MaxPool", [x(1, 2, 6, 6, dtype=U8)], since=12, kernel_shape=[3, 3], pads=[1, 1, 1, 1], title="uint8")
case("AveragePool", [image], since=7, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
case("AveragePool", [image], since=19, kernel_shape=[2, 3], dilations=[2, 2], pads=[1, 1, 1, 1])
for op in "GlobalAveragePool GlobalMaxPool".split():
    case(op, [image])
    case(op, [x(2, 3, 4, 2, 3)], title="3-D")
case("GlobalLpPool", [image], p=3, expect=lambda a: (np.abs(a) ** 3).sum((2, 3), keepdims=True) ** F32(1 / 3))
case("LpPool", [image], kernel_shape=[3, 2], p=3, strides=[2, 2])
case("LRN", [x(2, 7, 3, 3)], size=4, alpha=0.2, beta=0.6, bias=1.5, title="even",
     expect=lambda a: a / (1.5 + 0.05 * np.stack([(a[:, max(c - 1, 0):c + 3] ** 2).sum(1) for c in range(7)], 1)) ** F32(0.6))
case("LRN", [x(2, 7, 3, 3)], size=3, title="default")

# ---- normalizations ----
stats = [x(4), x(4, key=1), x(4, key=2), x(4, low=0.5, high=2)]


def batch_norm(a, s, b, m, v, epsilon=1e-5):
    shape = (1, -1) + (1,) * (a.ndim - 2)
    return (s.reshape(shape) * (a - m.reshape(shape)) / np.sqrt(v.reshape(shape) + epsilon) + b.reshape(shape)).astype(a.dtype)


case("BatchNormalization", [image, *stats], until=6, is_test=1, expect=batch_norm)
case("BatchNormalization", [image, *stats], epsilon=0.1, expect=lambda *a: batch_norm(*a, epsilon=0.1))
case("BatchNormalization", [image, *stats], until=8, spatial=1, expect=batch_norm)
case("BatchNormalization", [x(2, 3, 2), x(3, 2), x(3, 2, key=1), x(3, 2, key=2), x(3, 2, low=0.5)], until=8, spatial=0,
     expect=lambda a, s, b, m, v: (s * (a - m) / np.sqrt(v + 1e-5) + b).astype(F32))
case("BatchNormalization", [x(5, 4), *stats], title="2-D", expect=batch_norm)
case("BatchNormalization", [image, *stats], since=14, training_mode=1, outputs=3, momentum=0.8)
case("InstanceNormalization", [image, stats[0], stats[1]], epsilon=0.01)
case("LayerNormalization", [x(2, 3, 4), x(4), x(4, key=1)], since=17)
case("LayerNormalization", [x(2, 3, 4), x(3, 4)], since=17, axis=1, epsilon=0.1, outputs=3)
case("LayerNormalization", [x(2, 3, 4, dtype=F16), x(4, dtype=F16)], since=17, title="f16")
case("GroupNormalization", [image, x(2), x(2, key=1)], since=18, until=20, num_groups=2)
case("GroupNormalization", [image, stats[0], stats[1]], since=21, num_groups=2)
case("RMSNormalization", [x(2, 3, 4), x(4)], since=23)
case("LpNormalization", [x(3, 4)], p=1)
case("LpNormalization", [np.array([[3, 4], [0, 0]], F32)], axis=1, expect=lambda a: np.array([[0.6, 0.8], [0, 0]], F32))
case("MeanVarianceNormalization", [image], since=9)
case("Dropout", [x(3, 4)], until=6, is_test=1, expect=lambda a: a)
case("Dropout", [x(3, 4)], until=11, ratio=0.3, expect=lambda a: a)
case("Dropout", [x(3, 4)], since=10, until=11, outputs=2, expect=lambda a: (a, np.ones((3, 4), bool)))
case("Dropout", [x(3, 4)], since=12, constants={1: np.array(0.3, F32)}, outputs=2, expect=lambda a: (a, np.ones((3, 4), bool)))

# ---- quantization ----
steps = np.array([-3.5, -2.5, -0.5, 0.5, 1.5, 2.5, 300, -300], F32)
for t, zero in (U8, 128), (I8, -3):
    case("QuantizeLinear", [steps], since=10, constants={1: np.array(1, F32), 2: np.array(zero, t)}, title=t.__name__)
    case("QuantizeLinear", [x(2, 3, 4), x(3, low=0.1, high=1), x(3, dtype=t)], since=13, axis=1, title=t.__name__ + " per axis")
    case("DequantizeLinear", [x(7, dtype=t, low=-128, high=127), np.array(0.3, F32), np.array(zero, t)], since=10, title=t.__name__)
    case("DequantizeLinear", [x(2, 3, 4, dtype=t), x(4, low=0.1), x(4, dtype=t, key=1)], since=13, axis=-1, title=t.__name__ + " per axis")
case("QuantizeLinear", [steps, np.array(0.5, F32)], since=10, title="no zero point")
case("DequantizeLinear", [x(7, dtype=I32, low=-10**6, high=10**6), np.array(0.3, F32)], since=10, title="int32")
case("QuantizeLinear", [steps, np.array(0.01, F32), np.array(1000, U16)], since=21, title="uint16")
case("DequantizeLinear", [x(2, 6, dtype=I8), x(2, 3, low=0.1), x(2, 3, dtype=I8, key=1)], since=21, axis=1, block_size=2, title="blocked")
case("DynamicQuantizeLinear", [x(3, 4)], since=11, outputs=3)
for t in U8, I8:
    def q(*shape, t=t, key=0):
        return x(*shape, dtype=t, low=-128, high=255 if t is U8 else 127, key=key)
    one = [np.array(0.02, F32), np.array(5, t)]
    case("QLinearConv", [q(1, 2, 6, 6), *one, q(3, 2, 3, 3), x(3, low=0.01, high=0.05), np.zeros(3, t) + t(3), np.array(0.5, F32),
                         np.array(7, t), x(3, dtype=I32, low=-500, high=500)], since=10, pads=[1, 1, 1, 1], title=t.__name__)
    case("QLinearMatMul", [q(4, 6), *one, q(6, 5, key=1), np.array(0.03, F32), np.array(-2 if t is I8 else 2, t), np.array(0.1, F32),
                           np.array(1, t)], since=10, title=t.__name__)

# ---- resizing ----
case("Upsample", [x(1, 1, 2, 3)], since=7, until=8, mode="nearest", scales=[1.0, 1.0, 2.0, 1.5],
     expect=lambda a: a[:, :, [0, 0, 1, 1]][:, :, :, [0, 0, 1, 2]])
case("Upsample", [x(1, 1, 2, 2)], since=9, until=9, mode="linear", constants={1: np.array([1, 1, 2, 2], F32)})
for mode in "nearest linear".split():
    case("Resize", [x(1, 2, 4, 5)], since=10, until=10, mode=mode, constants={1: np.array([1, 1, 1.6, 0.7], F32)})
for mode in "nearest linear cubic".split():
    for transform in "half_pixel pytorch_half_pixel align_corners asymmetric".split():
        case("Resize", [x(1, 1, 4, 5)], since=11, mode=mode, coordinate_transformation_mode=transform,
             constants={1: np.zeros(0, F32), 2: np.array([1, 1, 1.75, 0.6], F32)})
        case("Resize", [x(1, 1, 4, 5)], since=13, mode=mode, coordinate_transformation_mode=transform, constants={3: ints(1, 1, 3, 8)},
             title="sizes")
for rounding in "round_prefer_floor round_prefer_ceil floor ceil".split():
    case("Resize", [x(1, 1, 4, 5)], since=11, nearest_mode=rounding, constants={1: np.zeros(0, F32), 2: np.array([1, 1, 2, 0.5], F32)})
case("Resize", [x(1, 1, 4, 4)], since=11, mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5,
     constants={1: np.zeros(0, F32), 2: np.array([1, 1, 2, 2], F32)})


# ---- the test ----

def name(c):
    text = ", ".join(f"{k}={v}" for k, v in c.attributes.items() if not isinstance(v, onnx.TensorProto))
    return " ".join(part for part in (c.op, c.title, text) if part)


def element(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def make_case(c, prefix, opset):
    """The node, its run-time inputs, its initializers."""
    names, given, constants = [], {}, []
    positions = max([len(c.inputs), *(p + 1 for p in c.constants)], default=0)
    for p in range(positions):
        value = f"{prefix}_x{p}"
        if p in c.constants:
            constants.append(numpy_helper.from_array(c.constants[p], value))
        elif p < len(c.inputs) and c.inputs[p] is not None:
            given[value] = c.inputs[p]
        else:
            value = ""
        names.append(value)
    node = helper.make_node(c.op, names, [f"{prefix}_y{k}" for k in range(c.outputs)], prefix, **c.attributes)
    return node, given, constants


def make_model(nodes, given, constants, results, opset):
    graph = helper.make_graph(
        nodes, "cases", [helper.make_tensor_value_info(k, element(v), v.shape) for k, v in given.items()],
        [helper.make_tensor_value_info(k, element(v), v.shape) for k, v in results.items()], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset > 20 else 8)


def expected(c, opset):
    node, given, constants = make_case(c, "n", opset)
    if c.expect:
        results = c.expect(*given.values())
        return [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]
    graph = helper.make_graph(
        [node], "case", [helper.make_tensor_value_info(k, element(v), v.shape) for k, v in given.items()],
        [helper.make_empty_tensor_value_info(o) for o in node.output], constants)
    # Before opset 7 onnxruntime has no kernels; what exists there without an expectation of its own did not change at 7.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", max(opset, 7))], ir_version=10 if opset > 20 else 8)
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, given)
    except Exception:
        return [np.asarray(r) for r in ReferenceEvaluator(model).run(None, given)]


@functools.lru_cache(maxsize=None)
def expected_once(index, opset):
    return expected(CASES[index], opset)


OFTEN = (6, 7, 11, 13, 18, NEWEST)      # where many operators changed, and the ends


@pytest.mark.parametrize("opset", [pytest.param(o, marks=[] if o in OFTEN else pytest.mark.long) for o in range(6, NEWEST + 1)])
def test_opset(opset):
    nodes, given, constants, results, names = [], {}, [], {}, {}
    for index, c in enumerate(CASES):
        if not c.since <= opset <= c.until:
            continue
        node, case_given, case_constants = make_case(c, f"n{index}", opset)
        for k, result in enumerate(expected_once(index, opset)):
            results[f"n{index}_y{k}"] = result
            names[f"n{index}_y{k}"] = name(c)
        nodes.append(node)
        given.update(case_given)
        constants += case_constants
    model = make_model(nodes, given, constants, results, opset)
    with dnncc.Workspace(f"opset_{opset}") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        outputs = dnncc.run_host(dnncc.build_host(folder, ["-O0"]), list(given.values()))
    wrong = []
    for (key, want), got in zip(results.items(), outputs):
        tolerance, near = (2e-2, 1e-2) if want.dtype == F16 else (1e-4, 1e-5)
        if want.dtype == F32:                             # Sums that cancel are as near as the largest of their terms are.
            near = max(near, 3e-7 * np.abs(want[np.isfinite(want)]).max(initial=0))
        same = got.dtype == want.dtype and got.shape == want.shape
        if not same or not np.allclose(got, want, rtol=tolerance, atol=near, equal_nan=True):
            wrong.append(f"{names[key]}: {got.dtype} {got.shape} {got.ravel()[:6]}, want {want.dtype} {want.shape} {want.ravel()[:6]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("transform", ["align_corners", "tf_crop_and_resize", "pytorch_half_pixel"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scale", [0.6, 1.3, 0.5, np.float32(7) / np.float32(4), 0.4, 1 / 3])
@pytest.mark.sample(9)
def test_corners_of_a_fraction(scale, mode, transform):
    """scales that make no whole number of elements: length_resized is the extent of the result, as in the text, onnxruntime and PyTorch (the reference has
    scale times length)"""
    if (mode, transform) == ("cubic", "tf_crop_and_resize"):
        pytest.skip("onnxruntime interpolates outside of the region")
    a = x(1, 1, 5, 7)
    node = helper.make_node("Resize", ["x", "roi", "s"], ["y"], "corners", mode=mode, coordinate_transformation_mode=transform)
    # onnxruntime leaves out the region along dimensions that keep their extents, so it is all of these.
    constants = {"roi": np.array([0, 0, 0, 0.2, 1, 1, 1, 0.9], F32), "s": np.array([1, 1, 1, scale], F32)}
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, a.shape)], [onnx.ValueInfoProto(name="y")],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": a})[0]
    with dnncc.Workspace("corners") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        assert not dnncc.compile_model(folder / "model.onnx", folder).stderr
        got = dnncc.run_host(dnncc.build_host(folder), [a])[0]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
