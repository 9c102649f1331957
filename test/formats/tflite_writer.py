# SPDX-License-Identifier: MIT
"""Writes small TFLite files: tensors, operators, graphs. The schema is that of the ai-edge-litert wheel."""
import flatbuffers
import numpy as np

schema = __import__("pytest").importorskip("ai_edge_litert.schema_py_generated")

TYPES = {np.dtype(t): getattr(schema.TensorType, name) for t, name in [
    (np.float32, "FLOAT32"), (np.float16, "FLOAT16"), (np.int32, "INT32"), (np.uint8, "UINT8"), (np.int64, "INT64"), (np.bool_, "BOOL"),
    (np.int16, "INT16"), (np.int8, "INT8"), (np.float64, "FLOAT64"), (np.uint32, "UINT32"), (np.uint16, "UINT16")]}
SAME, VALID = 0, 1
VERSIONS = {schema.BuiltinOperator.BROADCAST_TO: 2}      # others are there since version 1
NONE, RELU, RELU_N1_TO_1, RELU6 = 0, 1, 2, 3


class Writer:
    def __init__(self):
        self.tensors, self.operators, self.codes = [], [], {}
        self.buffers = [schema.BufferT()]
        self.graphs = []

    def tensor(self, shape, dtype=np.float32, scale=None, zero=0, data=None, dimension=0, variable=False, name=None):
        """scale: a number, or one for each index of the dimension; data: of a constant. Returns the tensor's number."""
        t = schema.TensorT()
        t.shape, t.type = list(shape), TYPES[np.dtype(dtype)]
        t.name = name or f"t{len(self.tensors)}"
        t.isVariable, t.buffer = variable, 0
        if data is not None:
            b = schema.BufferT()
            b.data = np.frombuffer(np.ascontiguousarray(data, dtype).tobytes(), np.uint8) if np.size(data) else None
            t.buffer = len(self.buffers)
            self.buffers.append(b)
        if scale is not None:
            q = schema.QuantizationParametersT()
            q.scale = [float(s) for s in np.atleast_1d(scale)]
            q.zeroPoint = [int(z) for z in np.broadcast_to(zero, len(q.scale))]
            q.quantizedDimension = dimension
            t.quantization = q
        self.tensors.append(t)
        return len(self.tensors) - 1

    def constant(self, data, **keywords):
        data = np.asarray(data)
        return self.tensor(data.shape, data.dtype, data=data, **keywords)

    def add(self, name, inputs, outputs, options=None, **fields):
        """options: the name of a table of the schema, whose fields are given by their names there"""
        code = getattr(schema.BuiltinOperator, name)
        o = schema.OperatorT()
        o.opcodeIndex = self.codes.setdefault(code, len(self.codes))
        o.inputs, o.outputs = list(inputs), list(outputs)
        if options:
            o.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            o.builtinOptions = getattr(schema, options + "T")()
            for field, value in fields.items():
                assert hasattr(o.builtinOptions, field), field
                setattr(o.builtinOptions, field, value)
        self.operators.append(o)

    def handle(self, name, container=""):
        """the tensor of a variable's handle, and the node that makes it"""
        number = self.tensor([])
        self.tensors[number].type = schema.TensorType.RESOURCE
        self.add("VAR_HANDLE", [], [number], "VarHandleOptions", sharedName=name, container=container)
        return number

    def graph(self, inputs, outputs, name):
        g = schema.SubGraphT()
        g.tensors, g.operators, g.inputs, g.outputs, g.name = self.tensors, self.operators, list(inputs), list(outputs), name
        return g

    def close(self, inputs=(), outputs=()):
        """Makes what was added so far a subgraph behind the main one, and returns its number."""
        self.graphs.append(self.graph(inputs, outputs, f"graph{len(self.graphs) + 1}"))
        self.tensors, self.operators = [], []
        return len(self.graphs)

    @staticmethod
    def named(name, number):
        t = schema.TensorMapT()
        t.name, t.tensorIndex = name, number
        return t

    def bytes(self, inputs, outputs, signatures=()):
        """signatures: (key, number of a subgraph, {name: number of an input}, {name: number of an output})"""
        m = schema.ModelT()
        for key, graph, *sides in signatures:
            s = schema.SignatureDefT()
            s.signatureKey, s.subgraphIndex = key, graph
            s.inputs, s.outputs = ([self.named(*pair) for pair in side.items()] for side in sides)
            m.signatureDefs = (m.signatureDefs or []) + [s]
        m.version, m.description = 3, "written by a test"
        for code in self.codes:
            c = schema.OperatorCodeT()
            c.builtinCode, c.deprecatedBuiltinCode, c.version = code, min(code, 127), VERSIONS.get(code, 1)
            if code == schema.BuiltinOperator.CUSTOM:
                c.customCode = "Mystery"
            m.operatorCodes = (m.operatorCodes or []) + [c]
        m.subgraphs, m.buffers = [self.graph(inputs, outputs, "main"), *self.graphs], self.buffers
        b = flatbuffers.Builder(1024)
        b.Finish(m.Pack(b), b"TFL3")
        return bytes(b.Output())
