# SPDX-License-Identifier: MIT
"""Convolutions of few outputs and long windows: neighbouring positions are the lanes (passes/layout/layout_filters.c)."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import dnncc

CASES = {  # x, w, pads, other attributes; is it done with blocks of 16?
    "one channel": ([1, 1, 300], [1, 1, 129], [0, 0], {}, True),
    "pads, a rest behind the last block": ([1, 1, 301], [1, 1, 40], [39, 3], {}, True),
    "a block more than is wide": ([2, 1, 33], [1, 1, 17], [8, 8], {}, True),
    "several outputs": ([1, 2, 200], [3, 2, 64], [5, 0], {}, True),
    "cropped": ([1, 1, 400], [1, 1, 64], [-3, -8], {}, True),
    "images": ([1, 1, 40, 70], [1, 1, 5, 31], [2, 15, 2, 15], {}, True),
    "steps along rows alone": ([1, 2, 40, 70], [2, 2, 5, 31], [2, 0, 2, 15], {"strides": [2, 1], "dilations": [2, 1]}, True),
    "volumes": ([1, 1, 6, 7, 64], [1, 1, 2, 3, 33], [0, 1, 16, 1, 1, 16], {}, True),
    "steps along columns": ([1, 1, 300], [1, 1, 64], [0, 0], {"strides": [2]}, False),
    "holes": ([1, 1, 300], [1, 1, 64], [0, 0], {"dilations": [2]}, False),
    "full blocks": ([1, 1, 300], [16, 1, 64], [0, 0], {}, False),
    "channels apart": ([1, 4, 300], [4, 1, 64], [0, 0], {"group": 4}, False),
    "short windows": ([1, 3, 40, 40], [3, 3, 3, 3], [1, 1, 1, 1], {}, False),
    "narrow": ([1, 1, 70], [1, 1, 64], [0, 0], {}, False),
}


def network(path, x, w, pads, attributes):
    """Relu(conv + bias) + 1, so that something follows in the same kernel"""
    rng = np.random.default_rng(0)
    constants = {"w": rng.standard_normal(w).astype(np.float32), "b": rng.standard_normal(w[0]).astype(np.float32), "one": np.ones(1, np.float32)}
    spatial = len(x) - 2
    low, crops = [max(p, 0) for p in pads], any(p < 0 for p in pads)
    nodes = []
    if crops:
        constants["crop"] = np.array([0, 0, *pads[:spatial], 0, 0, *pads[spatial:]])
        nodes.append(helper.make_node("Pad", ["x", "crop"], ["cropped"]))
    nodes += [helper.make_node("Conv", ["cropped" if crops else "x", "w", "b"], ["c"], pads=low, **attributes), helper.make_node("Relu", ["c"], ["r"]),
              helper.make_node("Add", ["r", "one"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [onnx.numpy_helper.from_array(a, n) for n, a in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize("name", CASES)
def test_filter(name, target, tmp_path):
    """in the interpreter and, where this processor can, in C, against the canonical nest"""
    x, w, pads, attributes, done = CASES[name]
    model = network(tmp_path / "m.onnx", x, w, pads, attributes)
    given = np.random.default_rng(1).standard_normal(x).astype(np.float32)
    (tmp_path / "set").mkdir()
    np.save(tmp_path / "set" / "input_0.npy", given)
    results = []
    for options in ["--exact"], [f"--target={target}"]:
        run = dnncc.run([dnncc.DNNCC, "m.onnx", "--run=set", *options], cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        results.append(np.load(tmp_path / "set" / "output_0.npy"))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-4)
    text = dnncc.run([dnncc.DNNCC, "m.onnx", f"--target={target}", "--passes=simplify,layout", "--emit=ir", "-o", "-"], cwd=tmp_path).stdout
    blocks = "convolve_packed" in text and "strides=[16]" in text.replace("1, ", "").replace("2, ", "")
    assert blocks == done or (target == "aarch64" and w[-1] <= 128 and not blocks), text    # four lanes: the nest may be as fast
    check = dnncc.run([dnncc.DNNCC, "m.onnx", f"--target={target}", "--check"], cwd=tmp_path)
    assert check.returncode == 0, check.stderr


@pytest.mark.sample(2)
@pytest.mark.parametrize("shape, w, pads, dims", [(["N", 1, "L"], [2, 1, 129], [64, 64], {"N": 3, "L": 400}), ([1, 2, "H", "L"], [1, 2, 3, 40], [1, 0, 1, 39], {"H": 9, "L": 150})])
def test_open(shape, w, pads, dims, tmp_path):
    """as wide as a run has it: less than a block, whole blocks, one more"""
    model = network(tmp_path / "m.onnx", shape, w, pads, {})
    options = [f"--dim={name}=1..{bound}" for name, bound in dims.items()]
    text = dnncc.run([dnncc.DNNCC, model, "--target=x86-64-v4", *options, "--passes=simplify,layout", "--emit=ir", "-o", "-"]).stdout
    assert "strides=[16]" in text or "strides=[1, 16]" in text, text
    programs = []
    for name, target in ("open", "native"), ("plain", "generic"):
        (tmp_path / name).mkdir()
        dnncc.compile_model(model, tmp_path / name, [*options, f"--target={target}"])
        programs.append(dnncc.build_host(tmp_path / name, flags=["-O1", "-fsanitize=address,undefined"]))
    for length in 5, 16, 31, 64, 97, dims["L"]:
        x = np.random.default_rng(length).standard_normal([length if d == "L" else min(dims[d], 2) if d in dims else d for d in shape]).astype(np.float32)
        got, want = (dnncc.run_host(program, [x])[0] for program in programs)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


def test_infinite(tmp_path):
    """under --exact a number that is infinite meets no products by 0 that the model does not have"""
    model = network(tmp_path / "m.onnx", [1, 1, 300], [1, 1, 129], [0, 0], {})
    dnncc.compile_model(model, tmp_path, ["--target=native", "--exact"])
    x = np.ones((1, 1, 300), np.float32)
    x[0, 0, 299] = np.inf
    (y,) = dnncc.run_host(dnncc.build_host(tmp_path), [x])
    assert np.isfinite(y[0, 0, :-1]).all()
