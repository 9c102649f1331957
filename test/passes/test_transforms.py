# SPDX-License-Identifier: MIT
"""The graph transforms by name: what they leave out, and by how much round_weights and byte_weights are off. A product by the
identity and a gather give the weights back, so that every one of them is held against the bound that its step gives."""
import json
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

TARGETS = ["generic", "x86-64-v3", "x86-64-v4"]


def save(path, nodes, inputs, weights, outputs=("y",)):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, kind, shape) for n, kind, shape in inputs],
                              [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
                              [numpy_helper.from_array(w, n) for n, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def outputs_of(path, folder, inputs, *options):
    for target in (o.partition("=")[2] for o in options if o.startswith("--target=")):
        processor.require(target)
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(path, folder, [*options, f"--report={folder}/r.json"])
    return dnncc.run_host(dnncc.build_host(folder, ["-O1"]), inputs), json.loads((folder / "r.json").read_text())


def lookups(path, seed=0):
    """weights of all signs, given back by a product and by a gather; rows of zeros, of one sign and of one weight among them"""
    r = np.random.default_rng(seed)
    w = (r.standard_normal((48, 64)) * np.exp(r.uniform(-3, 3, 64))).astype(np.float32)
    w[:, 0], w[:, 1], w[:, 2] = 0, np.abs(w[:, 1]), 0
    w[5, 2], w[7] = 3.25, 0
    save(path, [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Gather", ["t", "i"], ["z"])],
         [("x", TensorProto.FLOAT, (48, 48)), ("i", TensorProto.INT64, (64,))], {"w": w, "t": np.ascontiguousarray(w.T)}, ("y", "z"))
    return w, [np.eye(48, dtype=np.float32), np.arange(64)]


@pytest.mark.parametrize("target", TARGETS)
def test_rounded_weights(tmp_path, target):
    w, inputs = lookups(tmp_path / "m.onnx")
    for steps in (256, 16, 2):
        (y, z), _ = outputs_of(tmp_path / "m.onnx", tmp_path / "o", inputs, f"--target={target}", "--passes=+round_weights",
                               f"--limit=round_steps={steps}")
        step = (w.max() - w.min()) / (steps - 1)
        for got in (y, z.T):
            assert len(np.unique(got)) <= steps and (got[w == 0] == 0).all()
            assert np.abs(got - w).max() <= step * .5001 and (steps > 200 or np.abs(got - w).max() > step * .3)


@pytest.mark.parametrize("target", TARGETS)
def test_quantized_weights(tmp_path, target):
    w, inputs = lookups(tmp_path / "m.onnx")
    (y, z), report = outputs_of(tmp_path / "m.onnx", tmp_path / "o", inputs, f"--target={target}", "--passes=+byte_weights")
    assert target != "generic" or report["workspace"] <= 64 * (48 + 12)      # rows of the table as they are stored, what they are decoded with
    step = (np.maximum(w.max(0), 0) - np.minimum(w.min(0), 0)) / 255        # of an output, of a row of the table
    assert (np.abs(z.T - w) <= step * .5001 + 1e-6 * np.abs(w)).all() and (z.T[w == 0] == 0).all() and (z.T != w).any()
    whole = step if target == "generic" else np.full_like(step, step.max())        # packed: of all outputs of a panel
    assert (np.abs(y - w) <= whole * .5001 + 1e-6 * np.abs(w)).all() and (y[w == 0] == 0).all() and (y != w).any()


def network(path, elements=np.float32, seed=0):
    """convolutions of all kinds, their batch norms, a fully connected layer"""
    r = np.random.default_rng(seed)
    weights, nodes, x, channels = {}, [], "x", 8

    def add(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, list(inputs), [f"t{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def weight(*shape, positive=False):
        w = r.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)
        weights[f"w{len(weights)}"] = (np.abs(w) + .5 if positive else w).astype(elements)
        return f"w{len(weights) - 1}"
    for outputs, kernel, groups, stride in ((32, 3, 1, 1), (32, 3, 32, 1), (64, 1, 1, 2), (64, 3, 4, 1)):
        x = add("Conv", x, weight(outputs, channels // groups, kernel, kernel), group=groups, pads=[kernel // 2] * 4, strides=[stride] * 2)
        x = add("Relu", add("BatchNormalization", x, weight(outputs), weight(outputs), weight(outputs), weight(outputs, positive=True)))
        channels = outputs
    x = add("Gemm", add("Flatten", add("GlobalAveragePool", x)), weight(channels, 50), weight(50))
    kind = TensorProto.FLOAT if elements is np.float32 else TensorProto.FLOAT16
    return save(path, [*nodes, helper.make_node("Cast", [x], ["y"], to=TensorProto.FLOAT)], [("x", kind, (1, 8, 14, 14))], weights), \
        [r.standard_normal((1, 8, 14, 14)).astype(elements)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("elements", [np.float32, np.float16])
@pytest.mark.sample(6, each=False)
def test_network_in_8_bits(tmp_path, target, elements):
    """a quarter (or half) of the bytes, and nearly the same results; no copy of the weights in memory on targets without vectors"""
    path, inputs = network(tmp_path / "m.onnx", elements)
    small = ["--limit=weight_elements=64"]
    (want,), before = outputs_of(path, tmp_path / "a", inputs, f"--target={target}")
    (got,), after = outputs_of(path, tmp_path / "b", inputs, f"--target={target}", "--passes=+byte_weights", *small)
    assert not np.array_equal(got, want) and np.abs(got - want).max() < .02 * np.abs(want).max()
    assert after["constants"] < before["constants"] * (.3 if elements is np.float32 else .58)
    if target == "generic":
        assert after["workspace"] == before["workspace"] and len(after["calls"]) == len(before["calls"])
    done = dnncc.run([dnncc.DNNCC, path, f"--target={target}", "--passes=+byte_weights", *small, "--check", "--emit=loops", "-o", tmp_path / "n.loops"])
    lines = dnncc.checks(done)
    assert done.returncode == 0 and "check: byte_weights: skipped: it approximates on purpose" in lines, done.stderr
    assert all(line.endswith(": equal") for line in lines if "byte_weights" not in line) and len(lines) > 10, lines


def test_streams_of_8_bits(tmp_path):
    """--max-ram and weights in 8 bits go together: the same bits"""
    path, inputs = network(tmp_path / "m.onnx")
    plain, before = outputs_of(path, tmp_path / "a", inputs, "--passes=+byte_weights", "--limit=weight_elements=64")
    tight, after = outputs_of(path, tmp_path / "b", inputs, "--passes=+byte_weights", "--limit=weight_elements=64",
                              f"--max-ram={before['workspace'] * 3 // 4}")
    assert after["workspace"] < before["workspace"] and np.array_equal(plain[0], tight[0])


def test_weights_that_stay(tmp_path):
    """biases, what is no number, what is small"""
    r = np.random.default_rng(1)
    w = r.standard_normal((40, 40)).astype(np.float32)
    w[3, 3] = np.inf
    for weights in ({"w": w}, {"w": w[9:, 9:]}):
        n = len(weights["w"])
        save(tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("Add", ["t", "b"], ["y"])],
             [("x", TensorProto.FLOAT, (n, n))], {**weights, "b": r.standard_normal((n, n)).astype(np.float32)})
        plain, changed = (dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--emit=ir", "-o", "-", *o]).stdout
                          for o in ((), ("--passes=+round_weights,byte_weights",)))
        assert changed and re.findall("const.*", plain) == re.findall("const.*", changed)


def test_names_and_places(tmp_path):
    path, _ = network(tmp_path / "m.onnx")

    def passes(*options, code=0):
        done = dnncc.run([dnncc.DNNCC, path, *options, "--emit=loops", "-o", "-"])
        assert done.returncode == code, done.stderr
        return re.search('passes "([^"]*)"', done.stdout).group(1) if not code else done.stderr
    assert passes("--passes=strip_unused,fold_constants,fold_batch_norms,remove_identities,round_weights,quantize_weights,lower,legalize,plan") == \
        "dce,fold,fold_batch_norms,remove_identities,round_weights,byte_weights,lower,legalize,plan"
    assert passes("--passes=strip_unused_nodes,fold_old_batch_norms,remove_nodes,lower,legalize,plan") == "dce,fold_batch_norms,remove_identities,lower,legalize,plan"
    assert "pass quantize" in passes("--passes=quantize_nodes", code=1)
    usual = passes()
    for extra, place in (("fold_batch_norms", 0), ("round_weights", usual.index("cse,requantize,dce,hoist")), ("byte_weights", usual.index("shares,")),
                         ("vectorize", usual.index("vectorize,")), ("plan", len(usual) + 1)):
        found = passes(f"--passes=+{extra}")
        assert sorted(found.split(",")) == sorted([*usual.split(","), extra]), found
        assert extra in ("vectorize", "plan") or found.index(extra) == place, (found, place)
    assert "no pass is called 'quantise'" in passes("--passes=+quantise", code=1)
    assert "cannot run after byte_weights: weights stay in 8 bits" in passes("--passes=byte_weights,fold", code=1)
    for name in ("round_weights", "byte_weights"):
        assert f"pass {name} approximates: not with --exact" in passes(f"--passes=+{name}", "--exact", code=1)
    for steps in (1, 65537):
        assert "want 2 to 65536" in passes("--passes=round_weights", f"--limit=round_steps={steps}", code=1)


@pytest.mark.skipif(not (ROOT / "build" / "zoo" / "mobilenet_v2.onnx").exists(), reason="no zoo")
def test_mobilenet_in_8_bits(tmp_path):
    done = dnncc.run([dnncc.DNNCC, ROOT / "build" / "zoo" / "mobilenet_v2.onnx", "--passes=+byte_weights", "--emit=c", "--weights=file",
                      "-o", tmp_path / "m.c", f"--report={tmp_path / 'r.json'}"])
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "r.json").read_text())["constants"] < 3.7e6        # of 13.95 million bytes
