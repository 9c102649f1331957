# SPDX-License-Identifier: MIT
"""A language model with weights in 4 bits, as onnxruntime's model builder writes it: MatMulNBits, GroupQueryAttention that turns packed queries, keys and
values, SkipSimplifiedLayerNormalization; random weights in blocks of 32."""
import llama_shape as shape
import numpy as np
import onnx
from onnx import TensorProto, helper

BLOCK = 32


class Llama:
    def __init__(self, layers, width=shape.WIDTH, heads=shape.HEADS, groups=shape.GROUPS, size=shape.SIZE, hidden=shape.HIDDEN, tokens=shape.TOKENS,
                 positions=shape.POSITIONS, accuracy=4):
        self.layers, self.width, self.heads, self.groups, self.size = layers, width, heads, groups, size
        self.hidden, self.tokens, self.positions, self.accuracy = hidden, tokens, positions, accuracy
        self.rng, self.nodes, self.constants = np.random.default_rng(0), [], {}

    def node(self, op, inputs, outputs, domain="com.microsoft", **attributes):
        inputs = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def constant(self, array):
        self.constants[f"c{len(self.constants)}"] = np.asarray(array)
        return f"c{len(self.constants) - 1}"

    def dense(self, x, name, rows, columns):
        blocks = rows // BLOCK
        weights = self.rng.integers(0, 256, (columns, blocks, BLOCK // 2), np.uint8)
        scales = (self.rng.random((columns * blocks), np.float32) + np.float32(.5)) * np.float32(.2 / rows ** .5)
        return self.node("MatMulNBits", [x, weights, scales], [name], K=rows, N=columns, bits=4, block_size=BLOCK, accuracy_level=self.accuracy)

    def attention(self, both, past, present, i):
        return self.node("GroupQueryAttention", [both, "", "", *past, "seqlens", "total", "cosine", "sine"], [f"attended{i}", *present],
                         num_heads=self.heads, kv_num_heads=self.groups, do_rotary=1, scale=self.size ** -.5, local_window_size=-1)

    def layer(self, x, kept, i):
        past, present = ([f"{which}.{i}.{part}" for part in ("key", "value")] for which in ("past_key_values", "present"))
        both = self.dense(x, f"qkv{i}", self.width, (self.heads + 2 * self.groups) * self.size)
        y = self.attention(both, past, present, i)
        y = self.dense(y, f"o{i}", self.heads * self.size, self.width)
        x, kept = self.norm(kept, y, f"inner{i}")
        gate, up = (self.dense(x, f"{name}{i}", self.width, self.hidden) for name in ("gate", "up"))
        gate = self.node("Mul", [gate, self.node("Sigmoid", [gate], [f"sigmoid{i}"], "")], [f"act{i}"], "")
        y = self.dense(self.node("Mul", [gate, up], [f"wide{i}"], ""), f"down{i}", self.hidden, self.width)
        return self.norm(kept, y, f"outer{i}")

    def norm(self, kept, y, name):
        self.node("SkipSimplifiedLayerNormalization", [kept, y, np.ones(self.width, np.float32)], [name, "", "", name + ".sum"], epsilon=1e-6)
        return name, name + ".sum"

    def prepare(self):
        """nodes before the layers"""

    def save(self, path):
        """saves the model, whose layers' caches have the names that are returned"""
        int32 = TensorProto.INT32
        angles = np.arange(self.positions)[:, None] / 1e6 ** (np.arange(0, self.size, 2) / self.size)
        self.constants |= {"cosine": np.cos(angles).astype(np.float32), "sine": np.sin(angles).astype(np.float32)}
        total = self.node("Gather", [self.node("Shape", ["attention_mask"], ["shape"], ""), np.array(1)], ["extent"], "", axis=0)
        self.node("Cast", [total], ["total"], "", to=int32)
        counted = self.node("Sub", [self.node("ReduceSum", ["attention_mask", np.array([1])], ["sum"], ""), np.array([1])], ["last"], "")
        self.node("Cast", [counted], ["seqlens"], "", to=int32)
        kept = self.node("Gather", [(self.rng.standard_normal((self.tokens, self.width), np.float32)), "input_ids"], ["embedded"], "", axis=0)
        self.prepare()
        x = self.node("SimplifiedLayerNormalization", [kept, np.ones(self.width, np.float32)], ["first"], "", axis=-1, epsilon=1e-6)
        for i in range(self.layers):
            x, kept = self.layer(x, kept, i)
        self.dense(x, "logits", self.width, self.tokens)
        names = [f"{i}.{part}" for i in range(self.layers) for part in ("key", "value")]

        def caches(which, rows):
            return [helper.make_tensor_value_info(f"{which}.{name}", TensorProto.FLOAT, [1, self.groups, rows, self.size]) for name in names]
        ids = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, extent]) for name, extent in (("input_ids", "N"), ("attention_mask", "T"))]
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, "N", self.tokens])
        graph = helper.make_graph(self.nodes, "llama", ids + caches("past_key_values", "P"), [logits, *caches("present", "T")],
                                  [onnx.numpy_helper.from_array(a, name) for name, a in self.constants.items()])
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
        return names
