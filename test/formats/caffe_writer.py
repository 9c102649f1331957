# SPDX-License-Identifier: MIT
"""Writes networks of Caffe: the text of a .prototxt, and the bytes of a .caffemodel, in the forms of 2014 and of later years.

    net = Net(data=(1, 3, 8, 8))
    net.layer("Convolution", ["data"], "conv", weights=[w, b], convolution_param=dict(num_output=4, kernel_size=3))
    net.save(folder / "m")"""
import struct

import numpy as np

# what fields of 2014 are called otherwise, and the numbers of types
OLD_TYPES = {"AbsVal": "ABSVAL", "ArgMax": "ARGMAX", "BNLL": "BNLL", "Concat": "CONCAT", "Convolution": "CONVOLUTION", "Deconvolution": "DECONVOLUTION",
             "Dropout": "DROPOUT", "Eltwise": "ELTWISE", "Exp": "EXP", "Flatten": "FLATTEN", "InnerProduct": "INNER_PRODUCT", "LRN": "LRN", "MVN": "MVN",
             "Pooling": "POOLING", "Power": "POWER", "ReLU": "RELU", "Sigmoid": "SIGMOID", "Silence": "SILENCE", "Slice": "SLICE", "Softmax": "SOFTMAX",
             "SoftmaxWithLoss": "SOFTMAX_LOSS", "Split": "SPLIT", "TanH": "TANH", "Threshold": "THRESHOLD"}


class Word(str):
    """a value of an enum, without quotes"""


def value_text(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, Word):
        return str(v)
    return f'"{v}"' if isinstance(v, str) else repr(v)


def fields_text(fields, indent=""):
    lines = []
    for name, value in fields.items():
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(v, dict):
                lines += [f"{indent}{name} {{", fields_text(v, indent + "  "), f"{indent}}}"]
            else:
                lines.append(f"{indent}{name}: {value_text(v)}")
    return "\n".join(lines)


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def chunk(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def blob(array, form="shape"):
    """form: shape, old (four extents), double, single (numbers one by one)"""
    array = np.asarray(array)
    single = array.astype("<f4").tobytes()
    data = chunk(5, single)
    if form == "double":
        data = chunk(8, array.astype("<f8").tobytes())
    elif form == "single":
        data = b"".join(varint(5 << 3 | 5) + single[i:i + 4] for i in range(0, len(single), 4))
    if form == "old":
        shape = (1,) * (4 - array.ndim) + array.shape
        return b"".join(number(i + 1, n) for i, n in enumerate(shape)) + data
    return chunk(7, chunk(1, b"".join(varint(n) for n in array.shape))) + data


class Net:
    def __init__(self, old=False, form="shape", **inputs):
        self.old, self.form, self.inputs, self.layers = old, form, inputs, []

    def layer(self, kind, bottoms, tops, weights=(), name=None, **fields):
        tops = [tops] if isinstance(tops, str) else list(tops)
        self.layers.append((kind, name or (tops or bottoms)[0] + ("" if tops else ".none"), list(bottoms), tops, list(weights), fields))
        return tops[0] if len(tops) == 1 else tops

    def text(self, weights=False):
        parts = ['name: "net"  # a comment']
        for name, shape in self.inputs.items():
            if self.old:
                parts += [f'input: "{name}"'] + [f"input_dim: {n}" for n in shape]
            else:
                parts.append(fields_text({"layer": dict(name=name, type="Input", top=name, input_param=dict(shape=dict(dim=list(shape))))}))
        for kind, name, bottoms, tops, arrays, fields in self.layers:
            if weights:
                fields = dict(blobs=[dict(shape=dict(dim=list(np.shape(a))), data=np.ravel(a).tolist()) for a in arrays], **fields)
            kind = Word(OLD_TYPES[kind]) if self.old else kind
            parts.append(fields_text({"layers" if self.old else "layer": dict(name=name, type=kind, bottom=bottoms, top=tops, **fields)}))
        return "\n".join(parts) + "\n"

    def weights(self):
        out = chunk(1, "net")
        for _, name, _, _, weights, _ in self.layers:
            blobs = [blob(w, self.form) for w in weights]
            if self.old:
                out += chunk(2, chunk(4, name) + b"".join(chunk(6, b) for b in blobs))
            else:
                out += chunk(100, chunk(1, name) + b"".join(chunk(7, b) for b in blobs))
        return out

    def save(self, stem):
        """returns the path of the text"""
        stem.with_suffix(".caffemodel").write_bytes(self.weights())
        path = stem.with_suffix(".prototxt")
        path.write_text(self.text())
        return path
