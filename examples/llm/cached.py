# SPDX-License-Identifier: MIT
"""python3 cached.py stories260k.onnx cached.onnx

The network that looks at all tokens so far becomes one that takes what it has made of the past, and hands out what it made of it and of
N tokens more: in each layer keys and values of P rows get N rows more (past.0.key -> present.0.key). Exporters of language models
write such networks themselves (optimum: `--task text-generation-with-past`)."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def cached(model):
    graph = model.graph
    nodes, consumers = list(graph.node), {}
    for node in nodes:
        for name in node.input:
            consumers.setdefault(name, []).append(node)

    def made_with(operand):
        return next(node for node in nodes if operand in node.input)

    def replace(old, new):
        for node in consumers[old]:
            node.input[:] = [new if name == old else name for name in node.input]

    def constant(name, array):
        graph.initializer.append(numpy_helper.from_array(np.array(array), name))

    # positions P .. P + N - 1; what stands behind a token is hidden from it
    head = [helper.make_node("Shape", ["past.0.key"], ["past.shape"]), helper.make_node("Gather", ["past.shape", "one"], ["past.rows"]),
            helper.make_node("Shape", ["input_ids"], ["ids.shape"]), helper.make_node("Gather", ["ids.shape", "one"], ["ids.count"]),
            helper.make_node("Add", ["past.rows", "ids.count"], ["all.rows"]),
            helper.make_node("Range", ["past.rows", "all.rows", "one"], ["positions"]),
            helper.make_node("Range", ["zero", "all.rows", "one"], ["columns"]),
            helper.make_node("Unsqueeze", ["positions", "ones"], ["rows"]),
            helper.make_node("Greater", ["columns", "rows"], ["hidden"]), helper.make_node("Where", ["hidden", "ninf", "zero_f"], ["mask"])]
    constant("zero", np.int64(0))
    constant("one", np.int64(1))
    constant("ones", np.array([1]))
    old_mask = made_with("ninf")
    replace(next(node for node in nodes if node.op_type == "Range").output[0], "positions")
    replace(old_mask.output[0], "mask")
    rows = []
    for layer in range(sum(1 for i in graph.initializer if i.name.startswith("rtk"))):
        for kind, operand in (("key", f"rtk{layer}"), ("value", f"rv{layer}")):
            new = made_with(operand)
            _, _, heads, size = map(int, numpy_helper.to_array(next(i for i in graph.initializer if i.name == operand)))
            past, present = f"past.{layer}.{kind}", f"present.{layer}.{kind}"
            replace(new.output[0], present)
            nodes.insert(nodes.index(new) + 1, helper.make_node("Concat", [past, new.output[0]], [present], axis=1))
            graph.input.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, [1, "P", heads, size]))
            rows.append(helper.make_tensor_value_info(present, TensorProto.FLOAT, [1, "P + N", heads, size]))
    for port in (graph.input[0], graph.output[0]):
        port.type.tensor_type.shape.dim[1].dim_param = "N"
    graph.output.extend(rows)
    needed, kept = {port.name for port in graph.output}, []
    for node in reversed(head + nodes):
        if needed & set(node.output):
            kept.insert(0, node)
            needed.update(node.input)
    del graph.node[:], graph.value_info[:]
    graph.node.extend(kept)
    return model


if __name__ == "__main__":
    onnx.save(cached(onnx.load(sys.argv[1])), sys.argv[2])
