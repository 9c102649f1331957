# SPDX-License-Identifier: MIT
"""Writes graphs of TensorFlow (GraphDef, SavedModel), byte by byte, without its package."""
import struct

import numpy as np
from caffe_writer import chunk, number

TYPES = {np.dtype(k): v for k, v in {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "int64": 9, "bool": 10, "uint16": 17, "float16": 19}.items()}


class Type(int):
    """a number of the enum DataType"""


def type_of(kind):
    return Type(TYPES[np.dtype(kind)])


class Function(str):
    """the name of a function"""


class Shape(tuple):
    """extents, -1 where one is open; None: of no rank"""


def shape(extents):
    if extents is None:
        return number(3, 1)
    return b"".join(chunk(2, number(1, d % 2 ** 64)) for d in extents)


def tensor(value, packed=True):
    """packed: its numbers lie in one piece"""
    if isinstance(value, list) and value and isinstance(value[0], bytes):
        return number(1, 7) + chunk(2, shape((len(value),))) + b"".join(chunk(8, v) for v in value)
    value = np.asarray(value)
    head = number(1, TYPES[value.dtype]) + chunk(2, shape(value.shape))
    if packed:
        return head + chunk(4, value.tobytes())
    if value.dtype == np.float32:
        return head + chunk(5, value.tobytes())
    field = {np.int64: 10, np.bool_: 11}.get(value.dtype.type, 7)
    return head + chunk(field, b"".join(varint(int(v)) for v in value.ravel()))


def varint(v):
    v %= 2 ** 64
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def attribute(v):
    if isinstance(v, bool):
        return number(5, int(v))
    if isinstance(v, Type):
        return number(6, v)
    if isinstance(v, Function):
        return chunk(10, chunk(1, v.encode()))
    if isinstance(v, Shape):
        return chunk(7, shape(v))
    if isinstance(v, (int, np.integer)):
        return number(3, int(v) % 2 ** 64)
    if isinstance(v, float):
        return struct.pack("<Bf", 4 << 3 | 5, v)
    if isinstance(v, str):
        return chunk(2, v.encode())
    if isinstance(v, list) and v and isinstance(v[0], Type):
        return chunk(1, chunk(6, b"".join(varint(i) for i in v)))
    if isinstance(v, list):
        return chunk(1, chunk(3, b"".join(varint(i) for i in v)))
    return chunk(8, v)                  # a tensor


def node(name, op, inputs=(), **attributes):
    return (chunk(1, name.encode()) + chunk(2, op.encode()) + b"".join(chunk(3, i.encode()) for i in inputs)
            + b"".join(chunk(5, chunk(1, k.encode()) + chunk(2, attribute(v))) for k, v in attributes.items()))


class Graph:
    def __init__(self):
        self.nodes, self.functions, self.inputs, self.count = [], [], {}, 0

    def add(self, op, inputs=(), name=None, **attributes):
        """returns the node's name"""
        self.count += 1
        name = name or f"{op}_{self.count}"
        self.nodes.append(node(name, op, inputs, **attributes))
        return name

    def input(self, extents, kind=np.float32, name=None):
        name = self.add("Placeholder", name=name or f"x{len(self.inputs)}", dtype=type_of(kind), shape=Shape(extents))
        self.inputs[name] = (extents, kind)
        return name

    def const(self, value, packed=True, name=None):
        value = np.asarray(value)
        return self.add("Const", name=name, dtype=type_of(value.dtype), value=tensor(value, packed))

    def function(self, name, inputs, outputs, nodes):
        """inputs: (name, type) each; outputs: (name, type, what it is) each"""
        arguments = b"".join(chunk(2, chunk(1, n.encode()) + number(3, t)) for n, t in inputs)
        results = b"".join(chunk(3, chunk(1, n.encode()) + number(3, t)) for n, t, _ in outputs)
        body = chunk(1, chunk(1, name.encode()) + arguments + results) + b"".join(chunk(3, n) for n in nodes)
        body += b"".join(chunk(4, chunk(1, n.encode()) + chunk(2, e.encode())) for n, _, e in outputs)
        self.functions.append(body)
        return Function(name)

    def bytes(self):
        library = chunk(2, b"".join(chunk(1, f) for f in self.functions)) if self.functions else b""
        return b"".join(chunk(1, n) for n in self.nodes) + library + chunk(4, number(1, 1087))


def saved_model(graph, signatures, restore=None):
    """signatures: name: (inputs, outputs), each name: node:number"""
    def ports(field, named):
        return b"".join(chunk(field, chunk(1, k.encode()) + chunk(2, chunk(1, v.encode()) + number(2, 1))) for k, v in named.items())
    defs = b"".join(chunk(5, chunk(1, k.encode()) + chunk(2, ports(1, i) + ports(2, o) + chunk(3, b"tensorflow/serving/predict"))) for k, (i, o) in signatures.items())
    saver = chunk(3, chunk(1, b"file:0") + chunk(3, restore.encode())) if restore else b""
    return number(1, 1) + chunk(2, chunk(1, chunk(4, b"serve") + chunk(5, b"2.0")) + chunk(2, graph.bytes()) + saver + defs)


# ---- files of variables ----

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def checksum(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def block(entries):
    """entries of a table of LevelDB, (key, value) each"""
    content, before = b"", b""
    for key, value in entries:
        shared = next((i for i, (a, b) in enumerate(zip(key, before)) if a != b), min(len(key), len(before)))
        content += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    content += struct.pack("<II", 0, 1) + b"\0"
    return content + checksum(content)


def bundle(tensors, per_block=2):
    """variables.index and variables.data-00000-of-00001 of arrays by name"""
    data, entries = b"", [(b"", number(1, 1) + chunk(3, number(1, 1)))]
    for name in sorted(tensors):
        array = np.asarray(tensors[name])
        content = array.tobytes()
        value = number(1, TYPES[array.dtype]) + chunk(2, shape(array.shape)) + (number(4, len(data)) if data else b"") + number(5, len(content))
        entries.append((name.encode(), value + varint(6 << 3 | 5) + checksum(content)))
        data += content
    index, handles = b"", []
    for i in range(0, len(entries), per_block):
        part = block(entries[i:i + per_block])
        handles.append((entries[min(i + per_block, len(entries)) - 1][0], varint(len(index)) + varint(len(part) - 5)))
        index += part
    footer = b""
    for part in block([]), block(handles):
        footer += varint(len(index)) + varint(len(part) - 5)
        index += part
    return index + footer.ljust(40, b"\0") + bytes.fromhex("57fb808b247547db"), data
