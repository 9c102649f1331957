# SPDX-License-Identifier: MIT
"""--emit=onnx: what a model says of itself, so that two can be compared; a model through dnncc and back."""
import hashlib
import re

import onnx
import onnxruntime

import dnncc

CONSTANT = re.compile(r"const (@\S+) : (.*)")


def emit(model, path, *options):
    """the ONNX file that dnncc writes of a model"""
    done = dnncc.run([dnncc.DNNCC, model, "--emit=onnx", "-o", path, *options])
    if done.returncode != dnncc.OK:
        raise dnncc.CompileError(done.returncode, done.stderr)
    return path


def meaning(model, *options):
    """Its Tensor IR as it was read, without what does not matter: where an operation came from, names of constants, their order."""
    done = dnncc.run([dnncc.DNNCC, model, "--emit=ir", "--passes=dce", "-o", "-", *options])
    assert done.returncode == dnncc.OK, done.stderr
    text = re.sub(r'    ; ".*"$', "", done.stdout, flags=re.MULTILINE)
    contents, lines = {}, []
    for line in text.split("\n", 2)[2].splitlines():
        if constant := CONSTANT.match(line):
            contents[constant[1]] = "@" + hashlib.sha256(constant[2].encode()).hexdigest()
        else:
            lines.append(line)
    return [re.sub(r"@\w+", lambda name: contents.get(name[0], name[0]), line) for line in lines]


def session(path):
    """as the file says it: nothing fused, since rounding is compared"""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def optimized(path, scratch):
    """operators of what onnxruntime makes of a model before it runs it"""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath = str(scratch)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [node.op_type for node in onnx.load(str(scratch)).graph.node]


def run_session(path, inputs):
    s = session(path)
    return s.run(None, {port.name: array for port, array in zip(s.get_inputs(), inputs)})


def kinds(path):
    """the operators of a file's nodes, those of subgraphs behind the node that has them"""
    def of(graph):
        for node in graph.node:
            yield node.op_type
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    yield from of(attribute.g)
    return list(of(onnx.load(str(path), load_external_data=False).graph))


def check(path):
    """of the standard, shapes and types of all values included"""
    onnx.checker.check_model(str(path), full_check=True)
