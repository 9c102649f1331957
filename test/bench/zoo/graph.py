# SPDX-License-Identifier: MIT
"""A graph that computes while it is written: every node runs in onnxruntime as it is added, so a builder sees shapes and values.
That is how batch norms are calibrated, and how no value is ever NaN, infinite, denormal, exploding or vanishing.
"""
import contextlib
import math
import os
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

DENORMAL = np.finfo(np.float32).tiny
WEIGHTED = {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "BatchNormalization", "LayerNormalization"}


def unhealthy(array):
    """what is wrong with an array, or None; one denormal operand makes a vector operation 90 times as slow"""
    if array.dtype.kind != "f" or array.size == 0:
        return None
    size = np.abs(array)
    if not np.isfinite(size).all():
        return "not finite"
    if np.any((size > 0) & (size < DENORMAL)):
        return "denormal"
    return None


class Tensor:
    def __init__(self, name, value):
        self.name, self.value = name, value

    @property
    def shape(self):
        return self.value.shape


class Graph:
    def __init__(self, name, inputs, opset):
        """inputs: {name: example}; nodes are computed on these examples"""
        self.name, self.opset = name, opset
        self.nodes, self.initializers, self.parameters, self.outputs, self.macs = [], {}, set(), [], 0
        self.inputs = {k: Tensor(k, v) for k, v in inputs.items()}
        self.prefix, self.taken = "", set(inputs)
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = 1       # results in one order, whatever the machine's load
        self.options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.options.log_severity_level = 3

    @contextlib.contextmanager
    def scope(self, name):
        before, self.prefix = self.prefix, f"{self.prefix}{name}."
        yield
        self.prefix = before

    def unique(self, name):
        name, number = self.prefix + name, 0
        while (full := f"{name}_{number}" if number else name) in self.taken:
            number += 1
        self.taken.add(full)
        return full

    # ---- constants ----

    def constant(self, array, name="constant"):
        """an initializer that is no trained parameter: shapes, masks, running statistics"""
        array = np.asarray(array, order="C")
        full = self.unique(name)
        self.initializers[full] = array
        return Tensor(full, array)

    def ints(self, *values):
        return self.constant(np.array(values, np.int64), "shape")

    def scalar(self, value):
        return self.constant(np.array(value, np.float32), "scalar")

    def parameter(self, name, array):
        tensor = self.constant(np.asarray(array, np.float32), name)
        self.parameters.add(tensor.name)
        return tensor

    def normal(self, name, shape, std, mean=0.0):
        """drawn by name, so that models may share weights whatever the order of their nodes"""
        rng = np.random.default_rng(zlib.crc32((self.prefix + name).encode()))
        array = rng.standard_normal(shape, np.float32)
        array *= np.float32(std)
        array += np.float32(mean)
        return self.parameter(name, array)

    # ---- nodes ----

    def op(self, kind, *inputs, name=None, outputs=1, **attributes):
        """adds and computes a node; inputs are Tensors, or None for one that is left out. Returns a Tensor, or several."""
        label = self.unique(name or kind.lower())
        names = [label] if outputs == 1 else [f"{label}.{k}" for k in range(outputs)]
        node = helper.make_node(kind, [x.name if x else "" for x in inputs], names, label, **attributes)
        self.nodes.append(node)
        results = [Tensor(n, v) for n, v in zip(names, self.compute(node, [x for x in inputs if x]))]
        for result in results:
            self.check(node, result.value)
        self.macs += multiplications(node, inputs, results[0])
        return results[0] if outputs == 1 else results

    def compute(self, node, inputs):
        distinct = {x.name: x.value for x in inputs}
        ports = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in distinct.items()]
        graph = helper.make_graph([node], "node", ports, [onnx.ValueInfoProto(name=n) for n in node.output])
        session = onnxruntime.InferenceSession(self.model(graph).SerializeToString(), self.options, ["CPUExecutionProvider"])
        return session.run(None, distinct)

    def check(self, node, value):
        wrong = unhealthy(value)
        if not wrong and node.op_type in WEIGHTED and value.dtype.kind == "f":
            rms = math.sqrt(np.mean(np.square(value, dtype=np.float64)))
            wrong = None if 1e-3 < rms < 1e3 else f"of rms {rms:g}"
        if wrong:
            raise ValueError(f"{self.name}: {node.name} is {wrong}")

    def output(self, tensor, name):
        """the node's result gets the name that users see"""
        for node in self.nodes:
            for names in (node.input, node.output):
                for k, old in enumerate(names):
                    if old == tensor.name:
                        names[k] = name
        tensor.name = name
        self.outputs.append(tensor)

    # ---- the file ----

    def parameter_count(self):
        return sum(self.initializers[n].size for n in self.parameters)

    def model(self, graph):
        return helper.make_model(graph, producer_name="dnncc zoo", ir_version=8, opset_imports=[helper.make_opsetid("", self.opset)])

    def save(self, path, weights=None):
        """weights: a file beside path that takes the parameters, for models that share them"""
        apart = sorted(self.parameters) if weights else []
        tensors = [numpy_helper.from_array(v, k) for k, v in self.initializers.items() if k not in apart]
        if weights:
            tensors += self.save_apart(apart, path.parent / weights)

        def port(t):
            return helper.make_tensor_value_info(t.name, helper.np_dtype_to_tensor_dtype(t.value.dtype), t.shape)

        graph = helper.make_graph(self.nodes, self.name, [port(t) for t in self.inputs.values()], [port(t) for t in self.outputs], tensors)
        write(path, [self.model(graph).SerializeToString(deterministic=True)])

    def save_apart(self, names, path):
        tensors, offset = [], 0
        for name in names:
            array = self.initializers[name]
            tensor = onnx.TensorProto(name=name, data_type=onnx.TensorProto.FLOAT, dims=array.shape,
                                      data_location=onnx.TensorProto.EXTERNAL)
            for key, value in (("location", path.name), ("offset", offset), ("length", array.nbytes)):
                tensor.external_data.add(key=key, value=str(value))
            tensors.append(tensor)
            offset += array.nbytes
        write(path, (self.initializers[n].data for n in names))
        return tensors


def write(path, chunks):
    """aside, then renamed: a reader sees the whole file or the one before"""
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    with open(aside, "wb") as file:
        file.writelines(chunks)
    aside.rename(path)


def multiplications(node, inputs, result):
    """multiply-adds of a node's contraction"""
    if node.op_type == "Conv":
        return result.value.size * math.prod(inputs[1].shape[1:])
    if node.op_type == "ConvTranspose":
        return inputs[0].value.size * math.prod(inputs[1].shape[1:])
    if node.op_type == "MatMul":
        return result.value.size * inputs[0].shape[-1]
    if node.op_type == "Gemm":
        return result.value.size * inputs[0].shape[1]
    if node.op_type == "LSTM":
        steps, batch = inputs[0].shape[:2]
        return steps * batch * (inputs[1].value.size + inputs[2].value.size)
    return 0
