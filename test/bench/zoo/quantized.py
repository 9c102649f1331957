# SPDX-License-Identifier: MIT
"""Models of the zoo in 8 and 4 bits, as onnxruntime's own quantizers make them; written into build/zoo beside those they are made of.

    from zoo import quantized
    quantized.build("resnet50_qdq_u8")          # the path of build/zoo/resnet50_qdq_u8.onnx, written if absent or out of date
    quantized.MODELS["resnet50_qdq_u8"].of      # the model of the zoo that it is made of; its inputs are these, too

All begin as users are told to begin: with onnxruntime's pre-processing, which folds norms and constants. Ranges of activations are
the least and the largest value on a few inputs of the zoo. A model that no longer does what its original does is an error.
"""
import contextlib
import hashlib
import logging
import pathlib
import tempfile
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime

import zoo

from . import graph

CALIBRATION = range(100, 104)       # seeds; inputs(name, 0) has calibrated norms, inputs(name, 1) is measured
BLOCK = 32                          # weights of a column that share a scale, of MatMulNBits
ROUNDED = 4                         # its accuracy_level that models for processors come with: activations may be rounded to 8 bits


@dataclass(frozen=True)
class Quantized:
    name: str
    of: str
    about: str
    how: str                        # one of METHODS
    options: tuple = ()             # of onnxruntime's quantizer: (name, value)


# ---- onnxruntime's quantizers; each writes `path` ----

def calibration(name):
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.samples = iter([zoo.inputs(name, seed) for seed in CALIBRATION])

        def get_next(self):
            return next(self.samples, None)

    return Reader()


def static(model, source, path, form="QDQ", activations="QUInt8", kinds=None, extra=()):
    """weights of 8 bits, signed, a scale for each channel"""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    quantize_static(source, path, calibration(model.of), QuantFormat[form], activation_type=QuantType[activations],
                    weight_type=QuantType.QInt8, per_channel=True, reduce_range=False, op_types_to_quantize=kinds, extra_options=dict(extra))


def dynamic(model, source, path):
    """what is multiplied is quantized while the model runs"""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(source, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=False)


def blocks(model, source, path, bits):
    """weights alone, as MatMulNBits"""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    from onnxruntime.quantization.onnx_model import ONNXModel
    wrapped = ONNXModel(onnx.load(source))
    wrapped.replace_gemm_with_matmul()
    quantizer = MatMulNBitsQuantizer(wrapped.model, bits=bits, block_size=BLOCK, is_symmetric=True, accuracy_level=ROUNDED)
    quantizer.process()
    onnx.save(quantizer.model.model, path)


METHODS = {"static": static, "dynamic": dynamic, "blocks": blocks}
SYMMETRIC = ("extra", (("ActivationSymmetric", True),))
PRODUCTS = ("kinds", ("MatMul", "Gemm"))    # of a transformer: norms, softmax and sums stay in f32, as its users keep them

MODELS = {m.name: m for m in (
    Quantized("resnet50_qdq_u8", "resnet50", "QDQ, u8 by s8", "static"),
    Quantized("resnet50_qdq_s8", "resnet50", "QDQ, s8 by s8, no zero points", "static", (("activations", "QInt8"), SYMMETRIC)),
    Quantized("resnet50_qoperator", "resnet50", "QOperator, u8 by s8", "static", (("form", "QOperator"),)),
    Quantized("mobilenet_v2_qdq", "mobilenet_v2", "QDQ, u8 by s8", "static"),
    Quantized("mobilenet_v1_quarter_qdq", "mobilenet_v1_quarter", "QDQ, s8 by s8", "static", (("activations", "QInt8"),)),
    Quantized("autoencoder_qdq", "autoencoder", "QDQ, s8 by s8", "static", (("activations", "QInt8"),)),
    Quantized("bert_base_qdq", "bert_base", "QDQ of products, u8 by s8", "static", (PRODUCTS,)),
    Quantized("bert_base_dynamic", "bert_base", "dynamic, u8 by s8", "dynamic"),
    Quantized("gpt_step_qdq", "gpt_step", "QDQ of products, u8 by s8", "static", (PRODUCTS,)),
    Quantized("gpt_step_dynamic", "gpt_step", "dynamic, u8 by s8", "dynamic"),
    Quantized("gpt_step_nbits8", "gpt_step", "MatMulNBits, 8 bits, blocks of 32", "blocks", (("bits", 8),)),
    Quantized("gpt_step_nbits4", "gpt_step", "MatMulNBits, 4 bits, blocks of 32", "blocks", (("bits", 4),)),
)}


# ---- what became of it ----

def run(model, inputs, level="ORT_ENABLE_ALL"):
    """outputs of onnxruntime"""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.__members__[level]
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, inputs)


def in_whole_numbers(graph):
    """MatMulInteger as a product of i32, which is what it means: onnxruntime's kernel adds pairs of products in 16 bits on x86 processors without VNNI"""
    nodes = []
    for node in graph.node:
        if node.op_type != "MatMulInteger":
            nodes.append(node)
            continue
        parts = []
        for k in range(2):
            name = f"{node.output[0]}/{k}"
            nodes.append(onnx.helper.make_node("Cast", [node.input[k]], [name], to=onnx.TensorProto.INT32))
            if len(node.input) > 2 + k and node.input[2 + k]:
                nodes += [onnx.helper.make_node("Cast", [node.input[2 + k]], [f"{name}/zero"], to=onnx.TensorProto.INT32),
                          onnx.helper.make_node("Sub", [name, f"{name}/zero"], [f"{name}/centred"])]
                name += "/centred"
            parts.append(name)
        nodes.append(onnx.helper.make_node("MatMul", parts, node.output))
    del graph.node[:]
    graph.node.extend(nodes)


def as_written(path, inputs):
    """outputs node by node, and where activations need not be rounded they are not"""
    model = onnx.load(path)
    in_whole_numbers(model.graph)
    for node in model.graph.node:
        kept = [a for a in node.attribute if a.name != "accuracy_level"]
        del node.attribute[:]
        node.attribute.extend(kept)
    return run(model.SerializeToString(), inputs, "ORT_DISABLE_ALL")


def distance(a, b):
    return float(np.sqrt(np.mean(np.square(a.astype(np.float64) - b))))


def fidelity(path, of):
    """How far the first output is from the original's, by how far the original's are from each other for two inputs; root mean squares.
    1 or more: what the model computes is as far off as another input would make it."""
    first, second = zoo.inputs(of, 1), zoo.inputs(of, 2)
    original, other = (run(str(zoo.build(of)), given)[0] for given in (first, second))
    return distance(run(str(path), first)[0], original) / distance(original, other)


# ---- the files ----

def stamp(model):
    row = repr((model, onnxruntime.__version__, zoo.stamp(zoo.MODELS[model.of])))
    return hashlib.sha256(pathlib.Path(__file__).read_bytes() + row.encode()).hexdigest()


@contextlib.contextmanager
def silence():
    """the quantizers report each node, on the root logger"""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def build(name):
    """the path of the model, written if it is absent or out of date"""
    from onnxruntime.quantization.shape_inference import quant_pre_process
    model, path = MODELS[name], zoo.FOLDER / f"{name}.onnx"
    mark, wanted = path.with_suffix(".stamp"), stamp(model)
    original = zoo.build(model.of)
    if path.exists() and mark.exists() and mark.read_text() == wanted:
        return path
    with tempfile.TemporaryDirectory(dir=zoo.FOLDER) as folder, silence():
        whole, ready, made = (str(pathlib.Path(folder) / f"{step}.onnx") for step in ("whole", "ready", "made"))
        onnx.save(onnx.load(original), whole)           # parameters that lie in a file of their own are not found by what follows
        quant_pre_process(whole, ready, skip_symbolic_shape=True)
        METHODS[model.how](model, ready, made, **dict(model.options))
        if (far := fidelity(made, model.of)) >= 1:
            raise ValueError(f"{name}: quantization changes the outputs {far:.2f} times as much as another input does")
        graph.write(path, [pathlib.Path(made).read_bytes()])
    graph.write(mark, [wanted.encode()])
    return path
