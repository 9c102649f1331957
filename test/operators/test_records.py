# SPDX-License-Identifier: MIT
"""com.microsoft operators whose weights are records of bytes, scales beside numbers, by random records, against onnxruntime: thirty draws of each, and of each
kind of records of a table, in one model."""
import pathlib
import random
import sys

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import collection, draw, group_test, onnxruntime_of  # noqa: E402
from test_opsets import F16, F32, I32, I64, U8, x  # noqa: E402
import dnncc  # noqa: E402
import processor  # noqa: E402

DRAWS = 30
GROUPS, case = collection()
BF16 = ml_dtypes.bfloat16

# of each kind: its number, the numbers of a record, its bytes, and where it has floats of 2 bytes, or of 4
KINDS = {"F32": (0, 1, 4, [0]), "F16": (1, 1, 2, [0]), "Q4_0": (2, 32, 18, [0]), "Q5_0": (6, 32, 22, [0]), "Q8_0": (8, 32, 34, [0]), "Q5_K": (13, 256, 176, [0, 2]),
         "Q6_K": (14, 256, 210, [208]), "IQ2_XXS": (16, 256, 66, [0]), "IQ2_XS": (17, 256, 74, [0]), "IQ3_XXS": (18, 256, 98, [0]), "IQ4_NL": (20, 32, 18, [0]),
         "IQ2_S": (22, 256, 82, [0]), "IQ4_XS": (23, 256, 136, [0]), "BF16": (30, 1, 2, [0]), "Q2_0": (42, 64, 18, [0])}


def whole(r, *shape, dtype=U8, low=0, high=255):
    return x(*shape, dtype=dtype, low=low, high=high, key=r.randrange(1 << 30))


def floats(r, kind, count):
    values = x(count, low=-0.1, high=0.1, key=r.randrange(1 << 30))
    return values.astype({"F32": F32, "BF16": BF16}.get(kind, F16)).view(U8).reshape(count, -1)


def product(r):
    k, n, zeros = r.choice([1, 5, 31, 32, 33, 64, 100]), r.choice([1, 3, 8, 17]), r.randint(0, 1)
    records = whole(r, n * -(-k // 32), 20 + zeros)
    records[:, :4] = x(len(records), low=-0.1, high=0.1, key=r.randrange(1 << 30))[:, None].view(U8)
    records[:, 4:4 + zeros] &= 15       # a number less the zero point fits into i8
    operands = [x(*r.choice([(), (1,), (3,), (2, 3)]), k, low=-1, high=1, key=r.randrange(1 << 30)), records.ravel(), np.array([k, n], I64)]
    case(("MatMulFpQ4", "com.microsoft", 1), "MatMulFpQ4", operands, constants=[2, *([1] if r.random() < 0.7 else [])], blk_quant_type=zeros)


def table(kind):
    number, numbers, size, floats_at = KINDS[kind]
    r = random.Random(number)
    for _ in range(2):
        rows, each, to = r.randint(1, 5), r.choice([1, 2]) if numbers > 1 else r.choice([1, 7]), r.choice([F32, F32, F16, BF16])
        records = whole(r, rows * each, size)
        for at in floats_at:
            part = floats(r, kind, len(records))
            records[:, at:at + part.shape[1]] = part
        indices = whole(r, *r.choice([(), (4,), (2, 3)]), dtype=r.choice([I32, I64]), low=-2, high=rows + 1)
        more = dict(packed_type=number, K=each * numbers)
        operands = [records.reshape(rows, -1), indices]
        where = ("GatherPacked", "com.microsoft", 1)

        def expect(*_, operands=operands, more=more, to=to):
            y, = onnxruntime_of(where, "GatherPacked", operands, 1, output_dtype=1 if to == BF16 else helper.np_dtype_to_tensor_dtype(np.dtype(to)), **more)
            return y.astype(to)
        case(where, "GatherPacked", operands, constants=r.choice([[], [0]]), expect=expect, output_dtype=helper.np_dtype_to_tensor_dtype(np.dtype(to)), title=kind, **more)


if processor.has("x86-64-v4"):          # without it onnxruntime does not have the operator
    draw(DRAWS, product)
for each_kind in KINDS:
    table(each_kind)

test_group = group_test(GROUPS, 3)


def refused(folder, op, operands, constants=(), **attributes):
    names = [f"x{k}" if v is not None else "" for k, v in enumerate(operands)]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)], "g",
                              [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, (n, v) in enumerate(zip(names, operands)) if n and k not in constants],
                              [helper.make_tensor_value_info("y", 1, None)], [numpy_helper.from_array(operands[k], names[k]) for k in constants])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]), str(folder / "m.onnx"))
    with pytest.raises(dnncc.CompileError) as error:
        dnncc.compile_model(folder / "m.onnx", folder)
    return error.value.code, str(error.value)


@pytest.mark.parametrize("shape, size, code, text", [
    ((33, 2), 80, 3, "want 84 bytes"),
    ((34, 2), 84, 3, "34 columns"),
    ((33, 0), 84, 3, "weights' shape"),
    ((33, 2, 1), 84, 3, "3"),
    ((1 << 40, 1 << 40), 84, 3, "more than the limit"),
])
def test_products_refused(shape, size, code, text, tmp_path):
    operands = [np.zeros((3, 33), F32), np.zeros(size, U8), np.array(shape, I64)]
    found, said = refused(tmp_path, "MatMulFpQ4", operands, [2])
    assert found == code and text in said, said


@pytest.mark.parametrize("attributes, rows, code, text", [
    (dict(packed_type=10, K=256), (4, 84), 4, "packed_type = 10"),
    (dict(packed_type=2, K=48), (4, 27), 3, "multiple of 32"),
    (dict(packed_type=2, K=64), (4, 35), 3, "rows of 36 bytes"),
    (dict(packed_type=2, K=64), (0, 36), 3, "without rows"),
    (dict(packed_type=2, K=64), (36,), 3, "rank"),
    (dict(packed_type=2, K=64, output_dtype=11), (4, 36), 3, "output_dtype"),
    (dict(packed_type=2), (4, 36), 3, "K"),
])
def test_tables_refused(attributes, rows, code, text, tmp_path):
    found, said = refused(tmp_path, "GatherPacked", [np.zeros(rows, U8), np.zeros(2, I64)], **attributes)
    assert found == code and text in said, said
