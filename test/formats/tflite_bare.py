# SPDX-License-Identifier: MIT
"""Writes TFLite files without any package: tables of a flatbuffer as Python has them, which may be wrong on purpose.

A table is {slot: value}; a value is a number (32 bits), ("b", number) of 8 bits, ("f", number), a table, a list of tables, numbers in an
array of numpy, or a text. The slots are those of front/tflite/tflite_schema.def."""
import struct

import numpy as np

KINDS = {"float32": 0, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9}
FULLY_CONNECTED, RELU, ADD = 9, 19, 0


def put(out, value):
    """Appends the value and all that it has; returns where it lies. What it refers to lies behind it."""
    if isinstance(value, dict):
        return put_table(out, value)
    out += bytes(-(len(out) + 4) % 8)   # elements are aligned to 8 bytes
    at = len(out)
    if isinstance(value, str):
        out += struct.pack("<I", len(value)) + value.encode() + b"\0"
    elif isinstance(value, np.ndarray):
        out += struct.pack("<I", value.size) + value.tobytes()
    else:
        out += struct.pack("<I", len(value)) + bytes(4 * len(value))
        for i, each in enumerate(value):
            refer(out, at + 4 + 4 * i, each)
    return at


def refer(out, at, value):
    where = put(out, value)
    out[at:at + 4] = struct.pack("<I", where - at)


def put_table(out, fields):
    slots = max(fields, default=-1) + 1
    out += bytes(-len(out) % 4)
    vtable, at = len(out), len(out) + (4 + 2 * slots + 3) // 4 * 4
    order = sorted(fields)
    offsets = {slot: 4 + 4 * i for i, slot in enumerate(order)}
    out += struct.pack(f"<{2 + slots}H", 4 + 2 * slots, 4 + 4 * len(order), *(offsets.get(slot, 0) for slot in range(slots)))
    out += bytes(at - len(out)) + struct.pack("<i", at - vtable) + bytes(4 * len(order))
    for slot in order:
        value, here = fields[slot], at + offsets[slot]
        if isinstance(value, tuple):
            out[here:here + 4] = struct.pack("<f", value[1]) if value[0] == "f" else struct.pack("<i", value[1])
        elif isinstance(value, (int, np.integer)):
            out[here:here + 4] = struct.pack("<I", value & 0xffffffff)
        else:
            refer(out, here, value)
    return at


def finish(model):
    out = bytearray(b"\0\0\0\0TFL3")
    refer(out, 0, model)
    return bytes(out)


def tensor(name, shape, kind="float32", buffer=0, **more):
    """more: fields by the number of their slot, as s4=.. of a quantization"""
    return {0: np.array(shape, np.int32), 1: ("b", KINDS[kind]), 2: buffer, 3: name, **{int(k[1:]): v for k, v in more.items()}}


def quantization(scale, zero, dimension=0):
    return {2: np.array(scale, np.float32), 3: np.array(zero, np.int64), 6: dimension}


def operator(code, inputs, outputs, options=None, kind=0):
    o = {0: code, 1: np.array(inputs, np.int32), 2: np.array(outputs, np.int32)}
    return {**o, 3: ("b", kind), 4: options} if options is not None else o


def dense(weights, bias):
    """a model: y = relu(x w^T + b), by the operators FULLY_CONNECTED and RELU"""
    outputs, inputs = weights.shape
    graph = {0: [tensor("x", [2, inputs]), tensor("w", [outputs, inputs], buffer=1), tensor("b", [outputs], buffer=2),
                 tensor("sum", [2, outputs]), tensor("y", [2, outputs])],
             1: np.array([0], np.int32), 2: np.array([4], np.int32),
             3: [operator(0, [0, 1, 2], [3], {0: ("b", 0)}, 8), operator(1, [3], [4])], 4: "main"}
    return {0: 3, 1: [{0: ("b", code), 3: code} for code in (FULLY_CONNECTED, RELU)], 2: [graph], 3: "bare",
            4: [{}, {0: weights.view(np.uint8).ravel()}, {0: bias.view(np.uint8)}]}
