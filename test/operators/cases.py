# SPDX-License-Identifier: MIT
"""Cases of single nodes: a model for each group of them; each is checked against onnxruntime or, where that has no kernel, the reference
evaluator of the onnx package, or against the function that it gives."""
import collections
import pathlib
import random
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_opsets import F16, F32, element  # noqa: E402

BF16 = np.dtype(ml_dtypes.bfloat16)
HOW = ["generic", "x86-64-v3", "interpreted"]       # the ways in which a model runs
FIRST = [HOW[0], *(pytest.param(how, marks=pytest.mark.long) for how in HOW[1:])]      # of which the tiers below `all` take the first

Case = collections.namedtuple("Case", "op inputs constants outputs attributes expect title slack", defaults=[0])


def collection():
    """groups, by (name, domain, version), and a function that adds a case to one"""
    groups = collections.defaultdict(list)

    def case(where, op, inputs, constants=(), outputs=1, expect=None, title="", slack=0, **attributes):
        """inputs: run-time arrays, None for an absent one; those at positions in constants are initializers; slack: how far integers may be away"""
        groups[where].append(Case(op, list(inputs), set(constants), outputs, attributes, expect, title, slack))
    return groups, case


def group_name(group):
    return f"{group[0]} {group[2]}"


def node_of(c, domain, prefix):
    names = [f"{prefix}_x{k}" if v is not None else "" for k, v in enumerate(c.inputs)]
    return helper.make_node(c.op, names, [f"{prefix}_y{k}" for k in range(c.outputs)], prefix, domain=domain, **c.attributes), \
        {n: v for k, (n, v) in enumerate(zip(names, c.inputs)) if n and k not in c.constants}, \
        [numpy_helper.from_array(v, n) for k, (n, v) in enumerate(zip(names, c.inputs)) if n and k in c.constants]


def model_of(nodes, given, constants, outputs, domain, version):
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(domain, version)] if domain else [helper.make_opsetid("", version)]
    graph = helper.make_graph(nodes, "cases", [helper.make_tensor_value_info(k, element(v), v.shape) for k, v in given.items()], outputs, constants)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


# types that onnxruntime takes no arrays of: what holds their numbers
NARROW = {"tensor(bfloat16)": (BF16, F32), "tensor(int4)": (np.dtype(ml_dtypes.int4), np.int8), "tensor(uint4)": (np.dtype(ml_dtypes.uint4), np.uint8)}


def expected(c, domain, version, types=None):
    """types: of the results, where onnxruntime does not infer them"""
    if c.expect:
        results = c.expect(*[v for v in c.inputs if v is not None])
        return [np.asanyarray(r) for r in (results if isinstance(results, tuple) else (results,))]
    narrow = [k for k, v in enumerate(c.inputs) if v is not None and v.dtype in [t for t, _ in NARROW.values()]]
    node, given, constants = node_of(c._replace(constants=c.constants | set(narrow)), domain, "n")
    ports = [helper.make_tensor_value_info(o, types, None) if types else helper.make_empty_tensor_value_info(o) for o in node.output]
    model = model_of([node], given, constants, ports, domain, version)
    try:
        session = session_of(model)
        kinds = [NARROW.get(o.type) for o in session.get_outputs()]
        casts = [helper.make_node("Cast", [o], [f"wide_{o}"], to=element(np.zeros(0, kind[1]))) for o, kind in zip(node.output, kinds) if kind]
        if casts:
            ports = [helper.make_empty_tensor_value_info(f"wide_{o}" if kind else o) for o, kind in zip(node.output, kinds)]
            session = session_of(model_of([node, *casts], given, constants, ports, domain, version))
        return [r.astype(kind[0]) if kind else r for r, kind in zip(session.run(None, given), kinds)]
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return [np.asarray(r) for r in ReferenceEvaluator(model).run(None, given)]


def onnxruntime_of(where, op, inputs, outputs=2, types=None, **attributes):
    return expected(Case(op, inputs, set(), outputs, attributes, None, ""), *where[1:], types)


def ran(model, folder, given, how):
    """what a model makes of arrays: of its C for a target, or in the interpreter"""
    if how == "interpreted":
        for k, array in enumerate(given):
            if array.dtype.kind == "V":         # a type of ml_dtypes
                (folder / f"input_{k}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
            else:
                np.save(folder / f"input_{k}.npy", array)
        done = dnncc.run([dnncc.DNNCC, model, f"--run={folder}", "-q"])
        assert done.returncode == 0, done.stderr
        return [np.load(folder / f"output_{k}.npy") for k in range(len(list(folder.glob("output_*.npy"))))]
    target, *options = how.split()
    processor.require(target)
    dnncc.compile_model(model, folder, [f"--target={target}", *options])
    return dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), given)


def as_wanted(got, want):
    """types that .npy has not stand there as bits"""
    if want.dtype.kind != "V" or got.dtype == want.dtype or got.dtype.itemsize != want.dtype.itemsize:
        return got
    return got.view(want.dtype) if want.dtype == BF16 else got.astype(want.dtype)


def check(group, cases, how="generic"):
    _, domain, version = group
    nodes, given, constants, wanted, names, slack = [], {}, [], {}, {}, {}
    for index, c in enumerate(cases):
        node, case_given, case_constants = node_of(c, domain, f"n{index}")
        for output, result in zip(node.output, expected(c, domain, version)):
            wanted[output], names[output] = result, f"{c.op} {c.title} {c.attributes} {[v.shape for v in c.inputs if v is not None]}"[:300]
            slack[output] = c.slack
        nodes.append(node)
        given.update(case_given)
        constants += case_constants
    outputs = [helper.make_tensor_value_info(k, element(v), v.shape) for k, v in wanted.items()]
    with dnncc.Workspace(f"{group[0]}_{version}") as folder:
        onnx.save(model_of(nodes, given, constants, outputs, domain, version), str(folder / "model.onnx"))
        results = ran(folder / "model.onnx", folder, list(given.values()), how)
    results = [as_wanted(got, want) for got, want in zip(results, wanted.values())]
    wrong = []
    for (key, want), got in zip(wanted.items(), results):
        narrow = want.dtype in (F16, BF16)
        tolerance = 2e-2 if narrow else 1e-4
        same = got.dtype == want.dtype and got.shape == want.shape
        if np.ma.isMaskedArray(want) and same:      # what is masked may be anything
            got, want = np.where(want.mask, want.data, got), want.data
        if narrow or want.dtype.kind == "V":
            got, want = got.astype(np.float32), want.astype(np.float32)
        if same and want.dtype.kind in "iu" and want.dtype.itemsize < 8:
            same, got = bool(np.all(np.abs(got.astype(np.int64) - want) <= slack[key])), want
        if not same or not np.allclose(got, want, rtol=tolerance, atol=1e-2 if narrow else 1e-5, equal_nan=True):
            wrong.append(f"{names[key]}: {got.dtype} {got.shape} {got.ravel()[:6]}, want {want.dtype} {want.shape} {want.ravel()[:6]}")
    assert not wrong, "\n".join(wrong)


# ---- modules of draws ----

def draw(count, *kinds):
    """adds so many cases of each kind, a function of a generator"""
    for kind in kinds:
        generator = random.Random(0)
        for _ in range(count):
            kind(generator)


def group_test(groups, sample, how=HOW, sampled=None):
    """the test that checks each group in each way, of which the tier check takes `sample`; sampled: the groups, with marks"""
    @pytest.mark.parametrize("how", how)
    @pytest.mark.parametrize("group", sampled or groups, ids=group_name)
    @pytest.mark.slow
    @pytest.mark.sample(sample)
    def test_group(group, how):
        check(group, groups[group], how)
    return test_group
