# SPDX-License-Identifier: MIT
"""Tensors, rows 36 to 46 of the catalogue."""
import struct

import numpy as np
import onnx
import pytest
from hostile import (B, F, I64, MIB, accepted, answered, clean, constant, field, graph, model, node, number, put, refused, results,
                     untyped, value, varint, wrap)
from onnx import TensorProto, helper

X = np.arange(6, dtype=np.float32).reshape(2, 3)
BASE = graph([node("Relu", ["x"], ["y"], "r")]).SerializeToString()


def tensor(dims, kind, payload=b"", name=b"w"):
    """The bytes of a TensorProto."""
    return b"".join(number(1, d) for d in dims) + number(2, kind) + payload + (field(8, name) if name else b"")


def raw(data):
    return field(9, bytes(data))


def floats(values):
    return field(4, np.array(values, np.float32).tobytes())


def ints(number_, values):
    return field(number_, b"".join(varint(int(v)) for v in values))


def with_tensor(data):
    """A model with one unused initializer: it is checked all the same."""
    return wrap(BASE + field(5, data))


def used(data, op="Identity"):
    """A model that puts the initializer out."""
    body = graph([node(op, ["w"], ["y"], "n")], []).SerializeToString()
    return wrap(body + field(5, data), ir_version=10, opset=21)


def in_attribute(data):
    attribute = field(1, b"value") + number(20, 4) + field(5, data)
    body = field(1, field(2, b"y") + field(3, b"n") + field(4, b"Constant") + field(5, attribute)) + field(12, untyped("y").SerializeToString())
    return wrap(body, ir_version=10, opset=21)


BAD = {
    "36 2^32 x 2^32": tensor([2 ** 32, 2 ** 32], 1, raw(bytes(4))), "36 2^62 x 4": tensor([2 ** 62, 4], 1, raw(b"")),
    "36 2^31 x 2^31": tensor([2 ** 31 - 1, 2 ** 31 - 1, 4], 1, raw(b"")),
    "36 product passes 2^64": tensor([2 ** 30, 2 ** 30, 2 ** 30], 1, raw(b"")), "36 wraps to 0": tensor([2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1], 1, raw(b"")),
    "38 -1": tensor([-1], 1, raw(bytes(4))), "38 INT64_MIN": tensor([-2 ** 63, 2], 1, raw(b"")),
    "39 short": tensor([2], 1, raw(bytes(7))), "39 long": tensor([2], 1, raw(bytes(9))), "39 absent": tensor([2], 1), "39 typed short": tensor([3], 1, floats([1, 2])),
    "39 typed long": tensor([1], 1, floats([1, 2])), "39 scalar of two": tensor([], 1, floats([1, 2])), "39 scalar of none": tensor([], 1),
    "39 no elements, some data": tensor([0], 1, floats([1])), "39 no elements, raw data": tensor([0], 1, raw(bytes(4))),
    "40 raw and typed": tensor([1], 1, raw(bytes(4)) + floats([1])), "40 two typed": tensor([1], 1, floats([1]) + ints(5, [1])),
    "40 field of another type": tensor([1], 1, ints(7, [1])), "40 raw and another": tensor([1], 1, raw(bytes(4)) + ints(7, [1])),
    "41 2^37 elements": tensor([2 ** 30, 128], 1), "41 2^37 elements, empty raw": tensor([2 ** 30, 128], 1, raw(b"")),
    "42 type 0": tensor([1], 0, raw(bytes(4))), "42 type 255": tensor([1], 255, raw(bytes(4))), "42 type -1": tensor([1], -1, raw(bytes(4))),
    "42 no type": number(1, 1) + raw(bytes(4)) + field(8, b"w"), "42 int4 of odd count, short": tensor([3], 22, raw(bytes(1))),
    "42 int4 long": tensor([3], 22, raw(bytes(3))), "42 int2 short": tensor([5], 26, raw(bytes(1))), "42 strings short": tensor([2], 8, field(6, b"a")),
    "42 raw strings": tensor([1], 8, raw(b"a")), "42 complex short": tensor([2], 14, floats([1, 2, 3])), "42 float8 long": tensor([2], 17, raw(bytes(3))),
    "43 rank 1000": tensor([1] * 1000, 1, raw(bytes(4))), "43 rank 17": tensor([1] * 17, 1, raw(bytes(4))),
    "44 int4 300": tensor([2], 22, ints(5, [300])), "44 uint4 -200": tensor([2], 21, ints(5, [-200])),
    "44 int8 300": tensor([1], 3, ints(5, [300])), "44 int8 -129": tensor([1], 3, ints(5, [-129])), "44 uint8 -1": tensor([1], 2, ints(5, [-1])),
    "44 uint16 65536": tensor([1], 4, ints(5, [65536])), "44 int16": tensor([1], 5, ints(5, [40000])), "44 float16 bits": tensor([1], 10, ints(5, [-1])),
    "44 uint32": tensor([1], 12, ints(11, [2 ** 32])), "44 uint32 -1": tensor([1], 12, ints(11, [2 ** 64 - 1])),
    "segment": tensor([2], 1, raw(bytes(8)) + field(3, number(1, 0) + number(2, 1))), "location 7": tensor([1], 1, raw(bytes(4)) + number(14, 7)),
    "location -1": tensor([1], 1, raw(bytes(4)) + number(14, -1)),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tensor(tmp_path, name):
    refused(tmp_path, with_tensor(BAD[name]), names="'w'", lines=1)
    refused(tmp_path, in_attribute(BAD[name]), names="'n'", lines=1)


def test_36_message_before_memory(tmp_path):
    refused(tmp_path, with_tensor(tensor([2 ** 30, 128], 1)), limit="tensor_bytes", lines=1, codes=(3,))
    put(tmp_path, with_tensor(tensor([1000], 1, raw(bytes(4000)))))
    refused(tmp_path, None, "--limit", "tensor_bytes=3999", names="'w'", limit="tensor_bytes", lines=1, codes=(3,))
    accepted(tmp_path, None, "--limit", "tensor_bytes=4000")


@pytest.mark.parametrize("dims", [[0, 2 ** 62, 2 ** 62], [2 ** 62, 0], [0], [0, 2 ** 31 - 1], [3, 0, 5], [2 ** 30, 2 ** 30, 2 ** 30, 0]])
def test_37_zero_elements(tmp_path, dims):
    answered(tmp_path, used(tensor(dims, 1)))
    clean(tmp_path)
    answered(tmp_path, with_tensor(tensor(dims, 1, raw(b""))))


def test_42_types_without_arithmetic(tmp_path):
    """Well-formed, so harmless while unused; named when used. Floats of 8 and 4 bits, integers below 8 and texts can be moved, no more."""
    never = {14: floats([1] * 6), 15: field(10, bytes(48))}
    moved = {8: field(6, b"a") + field(6, b"b") + field(6, b"c"), 17: raw(bytes(3)), 18: ints(5, [1] * 3), 19: raw(bytes(3)), 20: raw(bytes(3)), 21: raw(bytes(2)), 22: raw(bytes(2)), 23: ints(5, [1] * 2),
             24: raw(bytes(3)), 25: raw(bytes(1)), 26: ints(5, [1])}
    for kind, payload in {**never, **moved}.items():
        data = tensor([3], kind, payload)
        accepted(tmp_path, with_tensor(data))
        clean(tmp_path)
        for content, name in ((used(data), "'w'"), (in_attribute(data), "'n'")):
            if kind in never:
                refused(tmp_path, content, names=name, codes=(4,), lines=1)
            else:
                accepted(tmp_path, content)
                clean(tmp_path)
        refused(tmp_path, used(data, "Relu"), names="'n'" if kind in moved else "'w'", lines=1)


def test_43_ranks(tmp_path):
    accepted(tmp_path, used(tensor([1] * 16, 1, raw(bytes(4)))))
    clean(tmp_path)
    scalar = model([node("Softmax", ["w"], ["y"], "n")], [], initializers=[constant("w", 1)])
    refused(tmp_path, scalar, names="'n'", lines=1)


def test_44_every_form_of_data(tmp_path):
    """All types, raw and typed: the same values"""
    half = np.array([1.5, -2, 65504, 0], np.float16)
    forms = [
        (1, np.float32([1, -2.5, 3e38, 0]), lambda v: floats(v)), (11, np.float64([1, -2.5, 3e300, 0]), lambda v: field(10, v.tobytes())),
        (7, np.int64([1, -2 ** 63, 2 ** 63 - 1, 0]), lambda v: ints(7, v)), (6, np.int32([1, -2 ** 31, 2 ** 31 - 1, 0]), lambda v: ints(5, v)),
        (5, np.int16([1, -2 ** 15, 2 ** 15 - 1, 0]), lambda v: ints(5, v)), (3, np.int8([1, -128, 127, 0]), lambda v: ints(5, v)),
        (2, np.uint8([1, 255, 127, 0]), lambda v: ints(5, v)), (4, np.uint16([1, 65535, 127, 0]), lambda v: ints(5, v)),
        (12, np.uint32([1, 2 ** 32 - 1, 127, 0]), lambda v: ints(11, v)), (13, np.uint64([1, 2 ** 64 - 1, 127, 0]), lambda v: ints(11, v)),
        (9, np.array([True, False, True, True]), lambda v: ints(5, v)), (10, half, lambda v: ints(5, v.view(np.uint16))),
    ]
    names = [f"w{k}_{form}" for k, *_ in forms for form in ("raw", "typed")]
    tensors = [tensor([4], k, p, f"w{k}_{form}".encode()) for k, v, typed in forms for form, p in (("raw", raw(v.tobytes())), ("typed", typed(v)))]
    body = graph([], [], [untyped(n) for n in names]).SerializeToString() + b"".join(field(5, t) for t in tensors)
    got = results(tmp_path, wrap(body), [])
    for k, (_, values, _) in enumerate(forms):
        for form in (0, 1):
            assert got[2 * k + form].tobytes() == values.tobytes(), (names[2 * k + form], got[2 * k + form])


def test_44_bool_bytes(tmp_path):
    for payload in (raw(b"\x02\xff\x00\x01"), ints(5, [2, -1, 0, 256])):
        body = graph([], [], [untyped("w")]).SerializeToString() + field(5, tensor([4], 9, payload))
        assert results(tmp_path, wrap(body), [])[0].tobytes() == b"\x01\x01\x00\x01"


def test_44_large_typed_data(tmp_path):
    """Beyond the size that is used in place"""
    for kind, values, payload in ((1, np.arange(3000, dtype=np.float32), floats(np.arange(3000))), (3, np.int8(np.arange(3000) % 100), ints(5, np.arange(3000) % 100)),
                                  (7, np.arange(3000), ints(7, np.arange(3000)))):
        body = graph([], [], [untyped("w")]).SerializeToString() + field(5, tensor([3000], kind, payload))
        assert results(tmp_path, wrap(body), [])[0].tobytes() == values.tobytes()


def test_45_bits_survive(tmp_path):
    singles = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, -1e-40, 3.4028235e38, 1 / 3, 0], np.float32)
    singles = np.append(singles, np.frombuffer(struct.pack("<3I", 0x7fc12345, 0xffc00001, 0x7f800001), np.float32))
    doubles = np.array([np.nan, np.inf, -0.0, 5e-324, -1e-310, 1.7976931348623157e308, 0.1], np.float64)
    doubles = np.append(doubles, np.frombuffer(struct.pack("<2Q", 0x7ff8123456789abc, 0xfff0000000000001), np.float64))
    for repeat in (1, 100):         # numeric rows, and byte rows
        many = [np.tile(singles, repeat), np.tile(doubles, repeat)]
        body = graph([], [], [untyped("a"), untyped("b")]).SerializeToString()
        body += field(5, tensor([many[0].size], 1, raw(many[0].tobytes()), b"a")) + field(5, tensor([many[1].size], 11, raw(many[1].tobytes()), b"b"))
        got = results(tmp_path, wrap(body), [])
        assert got[0].tobytes() == many[0].tobytes() and got[1].tobytes() == many[1].tobytes()


def test_46_declared_types(tmp_path):
    nodes = [node("Relu", ["x"], ["t"], "n1"), node("Neg", ["t"], ["y"], "n2")]
    for bad in ((3, 2), (6,), (2, 3, 1), (2, 4), ()):
        inner = model(nodes)
        inner.graph.value_info.append(value("t", bad))
        for m, name in ((inner, "'t'"), (model(nodes, outputs=[value("y", bad)]), "'y'"), (model([], outputs=[value("x", bad)]), "'x'")):
            done = accepted(tmp_path, m)
            assert done.text.count("\n") == 1 and "warning" in done.text and name in done.text, done.text
            clean(tmp_path)
    for kind in (I64, B, TensorProto.DOUBLE):
        refused(tmp_path, model(nodes, outputs=[value("y", (2, 3), kind)]), names="'y'", lines=1, codes=(3,))
        m = model(nodes)
        m.graph.value_info.append(value("t", (2, 3), kind))
        refused(tmp_path, m, names="'t'", lines=1, codes=(3,))
    refused(tmp_path, model(nodes, outputs=[value("y", (2, 3), 99)]), names="'y'", lines=1, codes=(3,))
    accepted(tmp_path, model(nodes, outputs=[helper.make_tensor_value_info("y", F, None)]))
    clean(tmp_path)
    done = accepted(tmp_path, model(nodes, outputs=[value("y", ("a", "b"))]))
    assert not done.text
    clean(tmp_path)
    refused(tmp_path, model(nodes, outputs=[value("y", (2, -7))]), names="'y'", lines=1)


def test_large_initializer_in_place(tmp_path):
    """Memory under 64 MiB and 4 times the file"""
    data = np.random.default_rng(1).standard_normal(8 * MIB, np.float32)
    w = onnx.numpy_helper.from_array(data, "w")
    put(tmp_path, model([node("ReduceSum", ["w"], ["y"], "n", keepdims=0)], [], initializers=[w]))
    accepted(tmp_path, None, "--emit=ir", "-O0", compilers=(), output="out.dnn")


def test_unaligned_data(tmp_path):
    """Raw data at any offset of the file"""
    for shift in range(1, 9):
        m = model([node("Add", ["x", "w"], ["y"], "n" * shift)], [value("x", (600,))], initializers=[constant("w", np.arange(600))])
        accepted(tmp_path, m)
    got = results(tmp_path, m, [np.ones(600, np.float32)])
    assert (got[0] == np.arange(600) + 1).all()
