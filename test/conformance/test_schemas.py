# SPDX-License-Identifier: MIT
"""Models of one node that the schemas of operators allow, operators without a node test included: operands of each rank and of several types, attributes
of other values, one and two at a time. Each that onnx.checker takes is compiled, or refused in words (exit 4); it is called invalid (exit 3) only
where neither onnxruntime nor the reference evaluator computes it, or onnxruntime refuses it. Of com.microsoft, which no checker knows, each is compiled or refused."""
import pathlib
import random
import re
import sys
import zlib

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import dnncc  # noqa: E402
import oracles  # noqa: E402
import variants  # noqa: E402
from test_variants import FOLLOWED_NOT  # noqa: E402

SHAPES = [(), (4,), (4, 4), (2, 4, 4), (1, 4, 4, 4), (1, 2, 4, 4, 4)]
BASES_MOST, PAIRS = 5, 8            # of an operator that are varied; combinations of two attributes of each
GRAPHS = {AttributeProto.GRAPH, AttributeProto.GRAPHS}
# what the schema allows, and is called invalid though something computes it: {operator and message: why}
INVALID = {
    r"(GlobalAveragePool|GlobalMaxPool|GlobalLpPool|InstanceNormalization) .*of rank \d, want": "images have a dimension of samples, and one of channels",
    r"pads\[\d\] is \d for a window of extent": "a window that lies outside of the image has nothing to take",
    r"axis -?\d+ in a tensor of rank 0|^BatchNormalization .*(of rank 0|the scale is .* for an input <4 x f..>)": "a number has no axes, and no channels",
    r"the axes 0, 2, 3 of a tensor of rank": "these are not there",
    r"^Clip .*want one element": "it is one number",
    r"^Resize .*(of rank 0, want 1|scales has \d values|both scales and sizes)": "one of both, of which each axis has one",
    r"^PRelu 6 .*the slope is|^PRelu 6 .*slope is": "before opset 7 nothing but a channel's slope is broadcast",
    r"^TfIdfVectorizer .*of string, and the pool is not": "no n-gram can be in it",
    r"^TreeEnsemble\w+ .*nodes_treeids is missing": "there is no tree",
}


OLDEST = 6              # the first operator set of ai.onnx that is read


def newest():
    """{(domain, operator): schemas}: those in force in some operator set from OLDEST on, the newest first"""
    found = {}
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain != "ai.onnx.preview.training":
            found.setdefault((s.domain, s.name), []).append(s)
    for (name, _), s in variants.schemas("com.microsoft").items():
        found.setdefault(("com.microsoft", name), []).append(s)
    for key, schemas in found.items():
        first = max((s.since_version for s in schemas if s.since_version <= OLDEST), default=OLDEST) if not key[0] else 0
        found[key] = sorted((s for s in schemas if s.since_version >= first and not s.deprecated), key=lambda s: -s.since_version)
    return {key: schemas for key, schemas in found.items() if schemas}


def option(parameter):
    return str(parameter.option).rpartition(".")[2]


def kinds_of(schema, parameter):
    """the element types that an operand may have"""
    name = variants.type_name(parameter)
    of = next((sorted(c.allowed_type_strs) for c in schema.type_constraints if c.type_param_str == name), [name])
    return [k for k in of if k in variants.ELEMENTS or k == "tensor(string)"]


def chosen(kinds, which):
    floats = [k for k in kinds if k == "tensor(float)"]
    return (floats + [k for k in kinds if k not in floats])[min((0, len(kinds) // 2, len(kinds) - 1)[which], len(kinds) - 1)]


def values(kind, shape, rng):
    if kind == "tensor(string)":
        return np.array([f"{k % 3}" for k in range(int(np.prod(shape)))], object).reshape(shape)
    dtype = variants.ELEMENTS[kind]
    return rng.integers(0, 2, shape).astype(dtype) if dtype.kind in "iub" else rng.uniform(0.25, 1, shape).astype(np.float32).astype(dtype)


def required(attribute, rank):
    """a value of an attribute that has to be there; None: one is not made"""
    kind = variants.kind_of(attribute)
    if kind in GRAPHS:
        return None
    return {AttributeProto.INT: 1, AttributeProto.FLOAT: 1.0, AttributeProto.STRING: (variants.words(attribute) or ["a"])[0], AttributeProto.INTS: [1] * max(rank - 2, 1),
            AttributeProto.FLOATS: [1.0], AttributeProto.STRINGS: ["a"], AttributeProto.TENSOR: helper.make_tensor("t", onnx.TensorProto.FLOAT, [1], [1.0])}.get(kind)


def guesses(schema, domain, version, rng):
    """bases with operands of one rank; an operand of small integers alone is a list of them, known when compiling"""
    for rank, shape in enumerate(SHAPES):
        attributes = {}
        for name, attribute in schema.attributes.items():
            if attribute.required:
                value = required(attribute, rank)
                if value is None:
                    return
                attributes[name] = helper.make_attribute(name, value, attr_type=variants.kind_of(attribute))
        for which in range(3):
            for optional in (False, True):
                arrays, constants, known = [], set(), {}
                for k, parameter in enumerate(schema.inputs):
                    if option(parameter) == "Optional" and not optional:
                        break
                    kinds = kinds_of(schema, parameter)
                    if not kinds:
                        return
                    kind = known.setdefault(variants.type_name(parameter), chosen(kinds, which))
                    if k and set(kinds) <= {"tensor(int64)", "tensor(int32)"}:
                        arrays.append(np.ones(max(rank, 1) if which else 1, variants.ELEMENTS[kind]))
                        constants.add(k)
                    else:
                        arrays.extend([values(kind, shape, rng)] * (2 if option(parameter) == "Variadic" else 1))
                if optional and len(arrays) == len([p for p in schema.inputs if option(p) != "Optional"]):
                    continue
                outputs = [True] * max(schema.min_output, 1)
                yield variants.Base(f"rank {rank} types {which}{' optional' * optional}", schema.name, domain, version, arrays, frozenset(constants), outputs, attributes)


def combined(base, schema, chance):
    """the base, each attribute changed, and two"""
    yield "", base
    changes = list(variants.attribute_variants(base, schema))
    yield from ((title, base._replace(attributes=a)) for title, a in changes)
    for _ in range(PAIRS if len(changes) > 1 else 0):
        (first, one), (second, two) = chance.sample(changes, 2)
        yield f"{first}, {second}", base._replace(attributes={**one, **{k: v for k, v in two.items() if base.attributes.get(k) != v}})


def fault(base, title, folder, asked):
    """whether onnx takes the model, and what is wrong with what dnncc says of it, in words, or None"""
    data = asked.model(base)
    if data is None:
        return False, None
    model, given = onnx.load_model_from_string(data), variants.given_of(base)
    (folder / "model.onnx").write_bytes(data)
    done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", "-q", "-o", folder / "model.c"], timeout=60)
    line = done.stderr.strip().partition("\n")[0].replace(str(folder), "")[:300]
    text = f"{base.op} {base.version} {base.name}: {title}: {done.returncode}: {line}"
    if done.returncode not in (0, dnncc.UNSUPPORTED, 3) or not line and done.returncode:
        return True, text
    if done.returncode != 3 or base.domain == "com.microsoft":
        return True, None
    answers = asked.ask(model.SerializeToString(), given)
    computed = any(isinstance(a, list) for a in answers) and answers[0] != oracles.REFUSED
    followed = any(re.search(p, text) for p in (*FOLLOWED_NOT, *INVALID))
    return True, text if computed and not followed else None


@pytest.mark.parametrize("domain, op", sorted(newest()), ids=lambda v: v or "onnx")
@pytest.mark.sample(204)
def test_schema(domain, op, tmp_path, request):
    """in the tier check the first base of a twelfth of the operators in its newest version; in the tier all several, in each version"""
    whole = request.config.getoption("--tier") == "all"
    schemas = newest()[domain, op]
    asked, faults, chance = oracles.Oracles(), [], random.Random(op)
    try:
        for schema in schemas if whole else schemas[:1]:
            rng, taken = np.random.default_rng(zlib.crc32(op.encode())), 0
            for base in guesses(schema, domain, schema.since_version if domain else max(schema.since_version, OLDEST), rng):
                is_model, said = fault(base, "", tmp_path, asked)
                faults += [said] if said else []
                if not is_model or taken >= (BASES_MOST if whole else 1):
                    continue
                taken += 1
                for title, variant in list(combined(base, schema, chance))[1:]:
                    _, said = fault(variant, title, tmp_path, asked)
                    faults += [said] if said else []
    finally:
        asked.close()
    assert not faults, "\n".join(faults[:200])
