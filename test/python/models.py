# SPDX-License-Identifier: MIT
"""Small models for the tests of the package."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(nodes, inputs, outputs, initializers=(), opset=20):
    """inputs, outputs: {name: (type, shape)}"""
    def ports(all):
        return [helper.make_tensor_value_info(name, *port) for name, port in all.items()]
    graph = helper.make_graph(nodes, "g", ports(inputs), ports(outputs), initializer=[numpy_helper.from_array(v, k) for k, v in initializers])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13 if opset > 20 else 10)
    onnx.checker.check_model(made)
    return made


def two_of_each():
    """sum and product of two rows; the names are no identifiers"""
    return model([helper.make_node("Add", ["a.1", "b"], ["sum.1"]), helper.make_node("Mul", ["a.1", "b"], ["product"])],
                 {"a.1": (TensorProto.FLOAT, [2, 3]), "b": (TensorProto.FLOAT, [3])},
                 {"sum.1": (TensorProto.FLOAT, [2, 3]), "product": (TensorProto.FLOAT, [2, 3])})


def one(op, type, shape=(4,), opset=20):
    """a node of one input and output"""
    return model([helper.make_node(op, ["x"], ["y"])], {"x": (type, shape)}, {"y": (type, shape)}, opset=opset)


def table(rows=5):
    """Gather: a run with an index out of range fails"""
    return model([helper.make_node("Gather", ["t", "i"], ["y"])], {"i": (TensorProto.INT64, [2])}, {"y": (TensorProto.FLOAT, [2, 3])},
                 [("t", np.arange(rows * 3, dtype=np.float32).reshape(rows, 3))])


def matmul(n=64, m=64, k=64, seed=0, dim=None):
    w = np.random.default_rng(seed).standard_normal((k, m)).astype(np.float32)
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": (TensorProto.FLOAT, [dim or n, k])},
                 {"y": (TensorProto.FLOAT, [dim or n, m])}, [("w", w)])


def counted_extents():
    """kept: the rows of a, [6, N], for which c, [6], holds; where: the places of its numbers that are not 0"""
    nodes = [helper.make_node("Compress", ["a", "c"], ["kept"], axis=0), helper.make_node("NonZero", ["kept"], ["where"])]
    return model(nodes, {"a": (TensorProto.FLOAT, [6, "N"]), "c": (TensorProto.BOOL, [6])},
                 {"where": (TensorProto.INT64, [2, "M"]), "kept": (TensorProto.FLOAT, ["K", "N"])}, [])


def open_extents():
    """z = transpose(a) + b as a column; a is [M, N], b is [N], and z is [N, M]"""
    nodes = [helper.make_node("Transpose", ["a"], ["t"], perm=[1, 0]), helper.make_node("Unsqueeze", ["b", "axis"], ["c"]),
             helper.make_node("Add", ["t", "c"], ["z"])]
    f32 = TensorProto.FLOAT
    return model(nodes, {"a": (f32, ["M", "N"]), "b": (f32, ["N"])}, {"z": (f32, ["N", "M"])}, [("axis", np.array([1]))])


def parts():
    """s: x, [6, 2], in parts of as many rows as k says; l: a list of x"""
    nodes = [helper.make_node("SplitToSequence", ["x", "k"], ["s"]), helper.make_node("SequenceConstruct", ["x"], ["l"])]
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [6, 2]), helper.make_tensor_value_info("k", TensorProto.INT64, [])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_value_info(n, sequence) for n in "sl"])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
