# SPDX-License-Identifier: MIT
"""com.microsoft operators of which other tests show single cases: activations, skipped normalizations, products, quantized maps and pools, by random attributes
and shapes against onnxruntime, thirty draws of each in one model; then all draws of this folder in the other element types that onnxruntime's kernels have."""
import importlib
import pathlib
import random
import sys

import ml_dtypes
import numpy as np
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as state

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("conformance", "operators")]
import variants  # noqa: E402
from cases import HOW, check, collection, draw, expected, group_name, group_test, onnxruntime_of  # noqa: E402
from test_opsets import F16, F32, F64, I8, I16, I32, I64, U8, U16, x  # noqa: E402

DRAWS = 30
GROUPS, case = collection()


def small(r, *shape, dtype=F32, low=-2, high=2):
    return x(*shape, dtype=dtype, low=low, high=high, key=r.randrange(1 << 30))


def put(op, *operands, constants=(), outputs=1, slack=0, **attributes):
    """slack: how many steps bytes may be away"""
    while operands[-1] is None:
        operands = operands[:-1]
    case((op, "com.microsoft", 1), op, list(operands), constants=constants, outputs=outputs, slack=slack, **attributes)


def shape(r, least=1, most=4):
    """odd extents, no elements among them"""
    return [r.choice([1, 2, 3, 5, 7, 17] if r.random() < 0.97 else [0]) for _ in range(r.randint(least, most))]


# ---- of floats ----

def gelus(r):
    v = small(r, *shape(r), low=-5, high=5)
    for op, bias in ("Gelu", None), ("BiasGelu", True), ("FastGelu", r.random() < 0.6), ("QuickGelu", None):
        put(op, v, *([small(r, v.shape[-1])] if bias else []), **({"alpha": r.choice([0.7, 1.702, 3.0, -1.0])} if op == "QuickGelu" and r.random() < 0.8 else {}))


def skipped(r):
    lead, width = r.choice([(3,), (2, 4), (1, 1), (5, 3)]), r.choice([1, 2, 7, 16, 33])
    v = small(r, *lead, width)
    others = [lead + (width,)] + ([(1, lead[1], width), (lead[1], width)] if len(lead) == 2 else [])
    more = {"epsilon": 1e-3} if r.random() < 0.5 else {}
    add, gamma = small(r, *r.choice(others)), small(r, width)
    beta, bias = (small(r, width) if r.random() < 0.6 else None for _ in range(2))
    put("SkipLayerNormalization", v, add, gamma, beta, bias, outputs=r.choice([1, 4]), **more)
    put("SkipSimplifiedLayerNormalization", v, add, gamma, bias, outputs=r.choice([1, 4]), **more)


def gated(r):
    rows, width = r.choice([(3,), (2, 5), (1, 4), ()]), r.choice([1, 4, 6, 17])
    put("GatedAdd", small(r, *rows, width), small(r, *rows, width), small(r, *rows, 1))
    put("ScaledSiLU", small(r, *rows, width), *([np.array(r.choice([0.5, 3.0]), F32)] if r.random() < 0.5 else []), **({"alpha": 1.7} if r.random() < 0.6 else {}))
    rows, heads = rows or (2,), r.choice([1, 3])
    put("GatedRMSNorm", small(r, *rows, heads * width), small(r, width), small(r, *rows, heads * width), **({"activation": r.choice(["silu", "swish", "sigmoid"])} if r.random() < 0.8 else {}),
        **({"epsilon": 1e-3} if r.random() < 0.5 else {}))
    batch, steps = r.randint(1, 2), r.choice([1, 5])
    b = [small(r, batch, steps, heads)] if r.random() < 0.7 else []
    put("LinearAttentionGate", small(r, batch, steps, heads), small(r, heads), small(r, heads), *b, outputs=1 + len(b))
    put("SampleOp", small(r, *shape(r, 0)))


def products(r):
    m, k, n, lead = r.choice([1, 3, 6]), r.choice([1, 4, 9]), r.choice([1, 2, 5]), r.choice([(), (2,), (3, 2)])
    a, b = r.randint(0, 1), r.randint(0, 1)
    more = {"transA": a, "transB": b, **({"alpha": r.choice([0.5, -2.0])} if r.random() < 0.6 else {})}
    left, right = (k, m) if a else (m, k), (n, k) if b else (k, n)
    put("TransposeMatMul", small(r, *lead, *left), small(r, *lead, *right), **more)
    t = r.choice([F32, F32, F64])
    if lead and r.random() < 0.4:               # batches stand between rows and columns
        ba, bb = r.choice([(1, 0), (0, 1), (1, 1)])
        put("FusedMatMul", *(small(r, *((p, *lead, q) if between else (*lead, p, q)), dtype=t) for between, (p, q) in ((ba, left), (bb, right))), **more, transBatchA=ba, transBatchB=bb)
    else:
        put("FusedMatMul", small(r, *lead, *left, dtype=t), small(r, *(lead if r.random() < 0.5 else ()), *right, dtype=t), **more)


def moved_last(v, back=False):
    """an image with its channels last, or first again"""
    return np.ascontiguousarray(np.moveaxis(v, *((-1, 1) if back else (1, -1))))


def convolutions(r):
    dims, groups = r.choice([1, 2, 2, 3]), r.choice([1, 1, 2])
    inputs, outputs = r.choice([1, 3, 4]), groups * r.choice([1, 2, 5])
    kernel, extents = [r.randint(1, 3) for _ in range(dims)], [r.randint(4, 7) for _ in range(dims)]
    more = dict(strides=[r.randint(1, 2) for _ in range(dims)], dilations=[r.randint(1, 2) for _ in range(dims)], pads=[r.randint(0, 2) for _ in range(2 * dims)], group=groups)
    kind = r.choice(["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"])
    values = {"LeakyRelu": [0.2], "Clip": [-1.0, 2.0], "HardSigmoid": [0.2, 0.4]}.get(kind)
    v, w = small(r, r.randint(1, 2), groups * inputs, *extents), small(r, outputs, inputs, *kernel, low=-1, high=1)
    bias = small(r, outputs) if r.random() < 0.7 else None
    after = [1 + (e + a + b - d * (k - 1) - 1) // s for e, a, b, d, k, s in zip(extents, more["pads"][:dims], more["pads"][dims:], more["dilations"], kernel, more["strides"])]
    total = small(r, v.shape[0], outputs, *after) if bias is not None and dims == 2 and r.random() < 0.4 else None
    more |= {"activation": kind, **({"activation_params": values} if values else {})}
    put("FusedConv", v, w, bias, total, constants=r.choice([[], [1]]), **more)

    def expect(v, *rest):               # onnxruntime has a kernel for other processors alone
        rest = [moved_last(p, back=True) if p.ndim == v.ndim and p is not w else p for p in rest]
        return moved_last(onnxruntime_of(where, "FusedConv", [moved_last(v, back=True), *rest[:1], *([bias] if bias is not None else []), *([rest[-1]] if total is not None else [])], 1, **more)[0])
    where = ("NhwcFusedConv", "com.microsoft", 1)
    case(where, "NhwcFusedConv", [moved_last(v), w, *([bias] if bias is not None else []), *([moved_last(total)] if total is not None else [])], expect=expect, **more)


def moved(r):
    rank = r.randint(1, 4)
    data = small(r, *[r.randint(1, 5) for _ in range(rank)])
    depth = r.randint(1, rank)
    lead = [r.randint(1, 4) for _ in range(r.randint(0, 2))]
    t = r.choice([I32, I64])
    places = np.stack([small(r, *lead, dtype=t, low=-e, high=e - 1) for e in data.shape[:depth]], -1).astype(t)
    put("GatherND", data, places)
    batch = r.randint(1, 2)
    put("GridSample", small(r, batch, r.randint(1, 3), r.randint(2, 5), r.randint(2, 6)), small(r, batch, r.randint(1, 3), r.randint(1, 6), 2, low=-1.3, high=1.3),
        mode=r.choice(["bilinear", "nearest", "bicubic"]), padding_mode=r.choice(["zeros", "border", "reflection"]), align_corners=r.randint(0, 1))
    k = [np.array(r.randint(-5, 5), I64)] if r.random() < 0.7 else []
    put("Trilu", small(r, *shape(r, 0, 2), r.randint(1, 5), r.choice([1, 3, 6]), dtype=r.choice([F32, F64, I64])), *k, upper=r.randint(0, 1))


# ---- of bytes ----

def step(r):
    return np.array(r.choice([0.004, 0.02, 0.05, 0.1]), F32)


def zero(r, t):
    return np.array(r.choice([0, 3, 127, 128, 255] if t is U8 else [0, 3, -128, 127]), t)


def code(r, t, *extents):
    return small(r, *extents, dtype=t, low=-128, high=255 if t is U8 else 127)


def quantized_maps(r):
    t, rank = r.choice([U8, I8]), r.randint(1, 3)
    extents = [r.choice([1, 2, 3, 5, 17]) for _ in range(rank)]
    other = [r.choice([1, e]) for e in extents[r.randint(0, rank - 1):]]
    if r.random() < 0.5:
        extents, other = other, extents
    for op in "QLinearAdd", "QLinearMul":
        put(op, code(r, t, *extents), step(r), zero(r, t), code(r, t, *other), step(r), zero(r, t), np.array(r.choice([0.05, 0.3]), F32), zero(r, t), slack=1)
    least = np.array(0 if t is U8 else -128, t)
    v = code(r, t, *[r.choice([1, 3, 40]) for _ in range(r.randint(1, 3))])
    put("QLinearSigmoid", v, step(r), zero(r, t), np.array(1 / 256, F32), least, slack=1)
    put("QLinearLeakyRelu", v, step(r), zero(r, t), step(r), zero(r, t), slack=1, **({"alpha": r.choice([0.1, 0.3])} if r.random() < 0.7 else {}))
    axis, opset = r.randrange(v.ndim), r.choice([11, 13])
    put("QLinearSoftmax", v, step(r), zero(r, t), np.array(1 / 256, F32), least, slack=1, axis=axis - r.choice([0, v.ndim]), opset=opset)


def quantized_parts(r):
    t, rank = r.choice([U8, I8]), r.randint(1, 3)
    axis, extents, parts = r.randrange(rank), [r.randint(1, 4) for _ in range(rank)], []
    for _ in range(r.randint(1, 4)):
        parts += [code(r, t, *extents[:axis], r.randint(1, 5), *extents[axis + 1:]), step(r), zero(r, t)]
    put("QLinearConcat", step(r), zero(r, t), *parts, constants=[k for k in range(len(parts) + 2) if k < 2 or k % 3 != 2], slack=1,
        axis=axis - r.choice([0, rank]))


def quantized_pools(r):
    t, last, dims = r.choice([U8, I8]), r.randint(0, 1), r.choice([1, 2, 2, 3])
    extents, channels = [r.randint(3, 7) for _ in range(dims)], r.choice([1, 3, 8, 17])
    v = code(r, t, r.randint(1, 2), *([*extents, channels] if last else [channels, *extents]))
    scales = [step(r), zero(r, t), step(r), zero(r, t)]
    kernel = [r.randint(1, 3) for _ in range(dims)]
    more = dict(strides=[r.randint(1, 2) for _ in range(dims)], count_include_pad=r.randint(0, 1), ceil_mode=r.randint(0, 1))
    pads = {"pads": [r.randint(0, k // 2) for k in kernel * 2]} if r.random() < 0.6 else {"auto_pad": r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])}
    put("QLinearAveragePool", v, *scales, constants=[1, 2, 3, 4], slack=1, kernel_shape=kernel, channels_last=last, **more, **pads)
    put("QLinearGlobalAveragePool", v, *scales, constants=[1, 2, 3, 4], slack=1, channels_last=last)


def quantizers(r):
    """of one scale, of one for each part along an axis"""
    types = {U8: (0, 255), I8: (-128, 127), U16: (0, 65535), I16: (-32768, 32767), ml_dtypes.uint4: (0, 15), ml_dtypes.int4: (-8, 7)}
    t = r.choice(list(types))
    extents = [r.randint(1, 5) for _ in range(r.randint(1, 3))]
    axis, kind, more = r.randrange(len(extents)), r.choice(["one", "axis"]), {}
    wanted = ()
    if kind == "axis":
        wanted, more = (extents[axis],), {"axis": axis - r.choice([0, len(extents)])}
    least, most = types[t]

    def numbers(*places, dtype=t):
        return small(r, *places, dtype=I32, low=least, high=most).astype(dtype)
    scales = small(r, *wanted, low=0.01, high=0.3)
    zeros = numbers(*wanted) if r.random() < 0.7 else None
    if zeros is not None or t is U8:
        put("QuantizeLinear", small(r, *extents, low=-3, high=3), scales, zeros, **more)
    put("DequantizeLinear", numbers(*extents), scales, zeros, **more)
    whole = small(r, *extents, dtype=I32, low=-70000, high=70000)
    put("DequantizeLinear", whole, scales, **more)


draw(DRAWS, gelus, skipped, gated, products, convolutions, moved, quantized_maps, quantized_parts, quantized_pools, quantizers)

def sampled(groups, n):
    """all of them, of which the tiers below `all` take one of n"""
    return [group if k % n == 0 else pytest.param(group, marks=pytest.mark.long) for k, group in enumerate(groups)]


test_group = group_test(GROUPS, 6, sampled=sampled(GROUPS, 4))


# ---- the same in other element types ----

MODULES = "align attending attention_forms caches contrib_ops contrib_weights packed_ops records transformer_ops transitions".split()
KINDS = [[np.dtype(t) for t in kind] for kind in ((F32, F16, variants.BF16, F64), (I32, I64))]        # what stands for what


def kernels():
    """{operator: the element types that each of its kernels takes, by the schema's names of them}"""
    found = {}
    for k in state.get_all_opkernel_def():
        if k.domain == "com.microsoft" and k.provider == "CPUExecutionProvider":
            found.setdefault(k.op_name, []).append({name: [variants.ELEMENTS[t] for t in types if t in variants.ELEMENTS] for name, types in k.type_constraints.items()})
    return found


def retyped(c, types, r):
    """the case with operands in types that a kernel has, where these are of the same kind; None: as it was"""
    schema, chosen, inputs = variants.schema_of(c.op, "com.microsoft", 1), {}, []
    for k, v in enumerate(c.inputs):
        name = variants.type_name(variants.formal(schema, k))
        if v is not None and name in types and (kind := next((kind for kind in KINDS if v.dtype in kind), None)):
            open_to = [t for t in kind if t in types[name]]
            if not open_to:
                return None
            v = v.astype(chosen.setdefault(name, r.choice(open_to)))
        inputs.append(v)
    return None if all(v is None or v.dtype == w.dtype for v, w in zip(inputs, c.inputs)) else c._replace(inputs=inputs)


def other_types():
    """groups of cases, for each operator and type of its first operand with others than the draws have"""
    groups, case_of, r = {}, kernels(), random.Random(0)
    sources = [GROUPS, *(importlib.import_module(f"test_{m}").GROUPS for m in MODULES)]
    for (_, domain, version), cases in (g for groups_of in sources for g in groups_of.items()):
        for c in cases if domain == "com.microsoft" else []:
            for types in case_of.get(c.op, []) if c.expect is None else []:
                if (other := retyped(c, types, r)) is not None:
                    first = next(v.dtype for v in other.inputs if v is not None)
                    groups.setdefault((f"{c.op} {first.name}", domain, version), []).append(other)
    return {g: cases[:DRAWS] for g, cases in groups.items()}


def computed(c):
    """whether onnxruntime, which has a kernel, takes the case"""
    try:
        return bool(expected(c, "com.microsoft", 1))
    except (state.InvalidGraph, state.RuntimeException, state.Fail):
        return False


OTHERS = other_types()
# types that its kernels are registered with, and its schemas or kernels refuse
REFUSED = {"SkipLayerNormalization float64", "SkipSimplifiedLayerNormalization float64", "GatherND bfloat16", "ExpandDims bfloat16", "AttnLSTM float64", "QMoE bfloat16", "QMoE float32",
           "GatedDeltaNet float32"}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("group", sampled(OTHERS, 12), ids=group_name)
@pytest.mark.slow
@pytest.mark.sample(3)
def test_other_types(group, how):
    cases = [c for c in OTHERS[group] if computed(c)]
    assert cases or group[0] in REFUSED
    if cases:
        check(group, cases, how)
