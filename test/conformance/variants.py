# SPDX-License-Identifier: MIT
"""Variants of single nodes: other attributes, element types, optional operands, versions, constants, shapes and numbers, as the schema of
the operator allows them. A base is a node test of the onnx package, or a case of test/operators."""
import collections
import functools
import importlib
import itertools
import pathlib
import random
import re
import sys
import zlib

import ml_dtypes
import numpy as np
import onnx
import onnx.reference
from onnx import AttributeProto, helper, numpy_helper

NODES = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
NEWEST = onnx.defs.onnx_opset_version()

# inputs: arrays, None for an absent one; constants: positions of initializers; outputs: which are there; attributes: {name: AttributeProto}
Base = collections.namedtuple("Base", "name op domain version inputs constants outputs attributes")


@functools.cache
def schemas(domain):
    """{(operator, since version): schema}"""
    if domain == "com.microsoft":
        from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
        return {(s.name, s.since_version): s for s in get_all_operator_schema() if s.domain == domain}
    return {(s.name, s.since_version): s for s in onnx.defs.get_all_schemas_with_history() if s.domain == domain and not s.deprecated}


def schema_of(op, domain, version):
    known = [v for name, v in schemas(domain) if name == op and v <= version]
    return schemas(domain)[op, max(known)] if known else None


# ---- bases ----

def tensors(folder, kind, count):
    for k in range(count):
        tensor = onnx.TensorProto()
        tensor.ParseFromString((folder / f"{kind}_{k}.pb").read_bytes())
        yield numpy_helper.to_array(tensor)


def base_of(test):
    """the node of a test of the onnx package with its data; None where it has several, or values that are no tensors"""
    model = onnx.load(NODES / test / "model.onnx")
    nodes, ports = model.graph.node, [*model.graph.input, *model.graph.output]
    if len(nodes) != 1 or model.functions or not all(p.type.HasField("tensor_type") for p in ports):
        return None
    node, data = nodes[0], NODES / test / "test_data_set_0"
    try:
        given = dict(zip([i.name for i in model.graph.input], tensors(data, "input", len(model.graph.input))))
    except (FileNotFoundError, ValueError):
        return None
    given |= {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    version = next((o.version for o in model.opset_import if o.domain == node.domain), None)
    if version is None or not schema_of(node.op_type, node.domain, version):
        return None
    return Base(test.removeprefix("test_"), node.op_type, node.domain, version, [given.get(n) for n in node.input], frozenset(),
                [bool(n) for n in node.output], {a.name: a for a in node.attribute})


@functools.cache
def bases():
    """{operator: bases}"""
    found = collections.defaultdict(list)
    for test in sorted(t.name for t in NODES.iterdir()):
        if base := base_of(test):
            found[base.op].append(base)
    return found


CONTRIB = ("align", "attending", "attention_forms", "caches", "contrib_ops", "contrib_weights", "packed_ops", "rare", "records", "transformer_ops", "transitions")


@functools.cache
def contrib_bases():
    """{operator of com.microsoft: bases}, the first few of the cases of each group in test/operators"""
    sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "operators")]
    found = collections.defaultdict(list)
    for name in CONTRIB:
        for (title, domain, version), cases in importlib.import_module(f"test_{name}").GROUPS.items():
            plain = [c for c in cases if c.expect is None] if domain == "com.microsoft" else []
            for k, c in enumerate(plain[:CASES_OF_GROUP]):
                attributes = {key: helper.make_attribute(key, value) for key, value in c.attributes.items() if value is not None}
                found[c.op].append(Base(f"{title} {k}", c.op, domain, version, c.inputs, frozenset(c.constants), [True] * c.outputs, attributes))
    for op, title, inputs, outputs, domain, attributes in importlib.import_module("test_contrib").CASES:
        if domain == "com.microsoft":
            attributes = {key: helper.make_attribute(key, value) for key, value in attributes.items()}
            there = [True, False, False, True] if outputs == 4 else [True] * outputs
            found[op].append(Base(title, op, domain, 1, inputs, frozenset(range(1, len(inputs))), there, attributes))
    return found


CASES_OF_GROUP = 3
CONTRIB_OPS = """
Attention AttnLSTM BiasGelu BifurcationDetector BranchwiseRMSNorm CDist CausalConvWithState ConvTransposeWithDynamicPads CropAndResize
DecoderMaskedMultiHeadAttention DequantizeLinear DynamicTimeWarping EmbedLayerNormalization EngramGate ExpandDims FastGelu FusedConv
FusedGemm FusedMatMul GatedDeltaNet GatedRMSNorm Gelu HyperConnectionPostMix HyperConnectionPreMix Inverse LinearAttention
LinearAttentionGate MRotaryEmbedding MatMulBnb4 MatMulFpQ4 MatMulInteger16 MaxpoolWithMask MoE MoEGroupRouter MultiHeadAttention MurmurHash3
NGramHashMapping NGramRepeatBlock NhwcMaxPool Pad QEmbedLayerNormalization QLinearAdd QLinearAveragePool QLinearConcat
QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearSoftmax QMoE QuantizeLinear QuickGelu Range RotaryEmbedding
SkipLayerNormalization SkipSimplifiedLayerNormalization TransposeMatMul Trilu UnfoldTensor Unique VarlenCausalConvWithState
VarlenNGramHashMapping WordConvEmbedding
""".split()


# ---- models ----

BF16 = np.dtype(ml_dtypes.bfloat16)


def element(array):
    return onnx.TensorProto.STRING if array.dtype.kind in "OUS" else helper.np_dtype_to_tensor_dtype(array.dtype)


def ir_version(base, kinds):
    if kinds & {25, 26} or base.domain == "" and base.version > 25:
        return 13
    return 12 if 24 in kinds else 11 if 23 in kinds else 10


def model_of(base):
    """A model with this node alone, outputs by shape inference; raises what onnx raises where it is no valid model."""
    names = ["" if v is None else f"x{k}" for k, v in enumerate(base.inputs)]
    outputs = [f"y{k}" if there else "" for k, there in enumerate(base.outputs)]
    node = helper.make_node(base.op, names, outputs, "node", domain=base.domain)
    node.attribute.extend(base.attributes.values())
    arrays = [(k, n, v) for k, (n, v) in enumerate(zip(names, base.inputs)) if n]
    ports = [helper.make_tensor_value_info(n, element(v), v.shape) for k, n, v in arrays if k not in base.constants]
    graph = helper.make_graph([node], "variant", ports, [helper.make_empty_tensor_value_info(n) for n in outputs if n],
                              [numpy_helper.from_array(v, n) for k, n, v in arrays if k in base.constants])
    opsets = [helper.make_opsetid("", base.version if not base.domain else 21)]
    opsets += [helper.make_opsetid(base.domain, base.version)] if base.domain else []
    kinds = {element(v) for _, _, v in arrays} | {a.i for a in base.attributes.values() if a.name in ("to", "dtype", "output_dtype")}
    model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version(base, kinds))
    if base.domain == "com.microsoft":
        return model
    model = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    if any(o.type.HasField("tensor_type") and not o.type.tensor_type.HasField("shape") for o in model.graph.output):
        results = onnx.reference.ReferenceEvaluator(model).run(None, given_of(base))    # whose ranks inference does not find
        for o, r in zip(model.graph.output, results):
            if not o.type.tensor_type.HasField("shape"):
                o.CopyFrom(helper.make_tensor_value_info(o.name, o.type.tensor_type.elem_type, [None] * np.ndim(r)))
    onnx.checker.check_model(model, full_check=True)
    return model


def declared(model, results):
    """the model with these results' types and shapes declared, where it leaves extents open, as the onnx package's tests declare them"""
    for port, result in zip(model.graph.output, results):
        extents = port.type.tensor_type.shape.dim
        if port.type.HasField("tensor_type") and port.type.tensor_type.HasField("shape") and all(d.HasField("dim_value") for d in extents):
            continue
        port.CopyFrom(helper.make_tensor_value_info(port.name, port.type.tensor_type.elem_type or element(result), result.shape))
    return model


def result_types(model):
    return [port.type.tensor_type.elem_type for port in model.graph.output]


NARROW = (BF16, np.dtype(np.float16))


def widened(base):
    """the same in f32; None where nothing is of 16 bits, or where attributes name types"""
    if base.attributes.keys() & {"to", "dtype", "output_dtype", "stash_type"} or not any(v is not None and v.dtype in NARROW for v in base.inputs):
        return None
    return base._replace(inputs=[v.astype(np.float32) if v is not None and v.dtype in NARROW else v for v in base.inputs])


def given_of(base):
    return {f"x{k}": v for k, v in enumerate(base.inputs) if v is not None and k not in base.constants}


# ---- variants ----

def words(attribute):
    """what its description quotes"""
    return list(dict.fromkeys(re.findall(r"[\"'`]+([A-Za-z_]{2,24})[\"'`]+", attribute.description)))


def kind_of(attribute):
    return int(getattr(attribute.type, "value", attribute.type))


def other_values(attribute, present, rank):
    kind = AttributeProto.AttributeType.Name(kind_of(attribute))
    if kind == "INT":
        return [0, 1, -1, 2, 3]
    if kind == "FLOAT":
        return [0.0, 0.5, 2.0, -1.0]
    if kind == "STRING":
        return words(attribute)
    old = helper.get_attribute_value(present) if present else None
    if kind in ("INTS", "FLOATS", "STRINGS") and old:
        return [old[::-1], old[:-1], [*old, old[-1]], *([[1] * len(old), [2] * len(old), [0] * len(old), [-1] * len(old)] if kind == "INTS" else [])]
    if kind == "INTS":
        places = max(rank - 2, 1)
        return [[1] * places, [2] * places, [1] * 2 * places, list(range(rank)), list(range(rank))[::-1], [0], [-1]]
    return []


def attribute_variants(base, schema):
    """(title, {name: AttributeProto}) of one attribute changed"""
    rank = next((v.ndim for v in base.inputs if v is not None), 0)
    for name, attribute in sorted(schema.attributes.items()):
        present = base.attributes.get(name)
        if present and not attribute.required:
            yield f"no {name}", {k: v for k, v in base.attributes.items() if k != name}
        for value in other_values(attribute, present, rank):
            if present and helper.get_attribute_value(present) == value:
                continue
            yield f"{name}={value}", {**base.attributes, name: helper.make_attribute(name, value, attr_type=kind_of(attribute))}


ELEMENTS = {f"tensor({name.lower()})": helper.tensor_dtype_to_np_dtype(number) for name, number in onnx.TensorProto.DataType.items()
            if name not in ("UNDEFINED", "STRING", "COMPLEX64", "COMPLEX128")}


def converted(array, dtype):
    if array.dtype.kind in "OUS":
        return None
    if array.dtype.kind == "f" and dtype.kind == "u":   # what C makes of a negative one is open
        array = np.maximum(array, 0)
    with np.errstate(all="ignore"):
        return array.astype(np.float32).astype(dtype) if array.dtype.kind not in "iub" else array.astype(dtype)


def formal(schema, k):
    """the schema's input that the k-th of a node is"""
    return schema.inputs[min(k, len(schema.inputs) - 1)] if schema.inputs else None


def type_name(parameter):
    return getattr(parameter, "type_str", None) or parameter.typeStr         # of onnx, of onnxruntime


def type_variants(base, schema):
    for constraint in schema.type_constraints:
        at = [k for k, v in enumerate(base.inputs) if v is not None and type_name(formal(schema, k)) == constraint.type_param_str]
        for text in sorted(constraint.allowed_type_strs):
            dtype = ELEMENTS.get(text)
            if not at or dtype is None or base.inputs[at[0]].dtype == dtype:
                continue
            changed = [converted(v, dtype) if k in at else v for k, v in enumerate(base.inputs)]
            if all(changed[k] is not None for k in at):
                yield f"{constraint.type_param_str} of {text}", changed


def optional_variants(base, schema):
    """(title, inputs, outputs)"""
    for k, v in enumerate(base.inputs):
        if v is not None and "Optional" in str(formal(schema, k).option):
            yield f"no input {k}", [None if i == k else v for i, v in enumerate(base.inputs)], base.outputs
            if k + 1 < len(base.inputs):
                yield f"{k} inputs", base.inputs[:k], base.outputs
        if v is not None and "Variadic" in str(formal(schema, k).option):
            yield f"{k} inputs", base.inputs[:k], base.outputs
            yield f"input {k} twice", [*base.inputs, v], base.outputs
    for count in range(schema.min_output, min(schema.max_output, 5) + 1):
        if count and count != len(base.outputs):
            yield f"{count} outputs", base.inputs, [True] * count


def resized(array, shape):
    if array.dtype.kind in "OUS":
        return np.resize(array, shape) if array.size else None
    return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)


def shape_variants(base):
    """(title, inputs): one extent is another wherever it stands, in all inputs or in those of floats; one dimension more in front"""
    arrays = [v for v in base.inputs if v is not None]
    extents = sorted({e for v in arrays for e in v.shape if e < 200})
    for extent, floats in itertools.product(extents, (False, True)):
        if floats and len({v.dtype.kind for v in arrays}) == 1:
            continue
        for new in dict.fromkeys((extent + 1, extent * 2 + 3, 1, 0)):
            if new == extent:
                continue
            changed = [v if v is None or floats and v.dtype.kind not in "fV" else
                       resized(v, [new if e == extent else e for e in v.shape]) for v in base.inputs]
            if all((a is None) == (b is None) for a, b in zip(changed, base.inputs)):
                yield f"{extent} is {new}{' of floats' if floats else ''}", changed
    for new in (1, 2):
        yield f"{new} in front", [v if v is None or not v.ndim else np.concatenate([v[None]] * new) for v in base.inputs]
        yield f"{new} in front of the first", [np.concatenate([v[None]] * new) if v is not None and k == 0 else v for k, v in enumerate(base.inputs)]
    yield "first as a row", [v.reshape(-1) if k == 0 and v is not None else v for k, v in enumerate(base.inputs)]


def number_variants(base):
    rng = np.random.default_rng(zlib.crc32(base.name.encode()))
    floats = [k for k, v in enumerate(base.inputs) if v is not None and v.dtype.kind in "fV"]
    if floats:
        yield "other numbers", [rng.uniform(-3, 3, v.shape).astype(v.dtype) if k in floats else v for k, v in enumerate(base.inputs)]
        yield "many small numbers", [rng.uniform(0, 1e-3, v.shape).astype(v.dtype) if k in floats else v for k, v in enumerate(base.inputs)]
    whole = [k for k, v in enumerate(base.inputs) if v is not None and v.dtype.kind in "iu"]
    for step in (1, -1):
        for k in whole:
            yield f"input {k} {step:+d}", [v + v.dtype.type(step) if i == k else v for i, v in enumerate(base.inputs)] if \
                base.inputs[k].dtype.kind == "i" or step > 0 else base.inputs


def constant_variants(base):
    there = [k for k, v in enumerate(base.inputs) if v is not None]
    for k in there[1:] if len(there) > 2 else []:
        yield f"input {k} constant", frozenset([k])
    if len(there) > 1:
        yield "all but the first constant", frozenset(there[1:])
    yield "all constant", frozenset(there)


def version_variants(base):
    for name, version in sorted(schemas(base.domain)):
        schema = schemas(base.domain)[name, version]
        if name == base.op and schema is not schema_of(base.op, base.domain, base.version) and (base.domain or version > 5):
            yield f"version {version}", version, {k: a for k, a in base.attributes.items() if k in schema.attributes}


def variants(base, pairs=0):
    """(title, variant), the base first; pairs: how many with two attributes changed, and with attributes and shapes"""
    schema = schema_of(base.op, base.domain, base.version)
    yield "", base
    attributes, shapes = list(attribute_variants(base, schema)), list(shape_variants(base))
    yield from ((title, base._replace(attributes=a)) for title, a in attributes)
    yield from ((title, base._replace(inputs=v)) for title, v in type_variants(base, schema))
    yield from ((title, base._replace(inputs=v, outputs=o)) for title, v, o in optional_variants(base, schema))
    yield from ((title, base._replace(inputs=v)) for title, v in shapes)
    yield from ((title, base._replace(inputs=v)) for title, v in number_variants(base))
    yield from ((title, base._replace(constants=c)) for title, c in constant_variants(base))
    yield from ((title, base._replace(version=v, attributes=a)) for title, v, a in version_variants(base))
    choose = random.Random(base.name)
    for _ in range(pairs if attributes else 0):
        (first, one), (second, two) = choose.choice(attributes), choose.choice(attributes)
        both = {**one, **{k: a for k, a in two.items() if base.attributes.get(k) != a}}
        shape, inputs = choose.choice(shapes) if shapes and choose.random() < 0.5 else ("", base.inputs)
        yield f"{first}, {second}{', ' * bool(shape)}{shape}", base._replace(attributes=both, inputs=inputs)


def key_of(base):
    """equal for variants that are the same test, whatever their numbers are"""
    arrays = tuple(None if v is None else (str(v.dtype), v.shape, v.tobytes() if v.dtype.kind in "iub" and v.size < 64 else b"") for v in base.inputs)
    return base.op, base.version, arrays, base.constants, tuple(base.outputs), tuple(sorted((k, a.SerializeToString()) for k, a in base.attributes.items()))
