# SPDX-License-Identifier: MIT
"""--cost: what models are predicted to cost, a line each, without code."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import dnncc


def network(path, width):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 16, 16])
    weights = [onnx.numpy_helper.from_array(np.ones(s, np.float32), n) for n, s in (("v", (width, 4, 3, 3)), ("w", (8, width, 1, 1)))]
    nodes = [helper.make_node("Conv", ["x", "v"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["r"]), helper.make_node("Conv", ["r", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


@pytest.fixture
def models(tmp_path):
    for width in 16, 64:
        network(tmp_path / f"m{width}.onnx", width)
    return tmp_path


def cost(folder, *arguments, **keywords):
    return dnncc.run([dnncc.DNNCC, *arguments], cwd=folder, **keywords)


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "cortex-m4", "cuda-sm_90"])
def test_lines(target, models):
    """in the order of the models, larger ones cost more; nothing is written"""
    done = cost(models, "--cost", "m16.onnx", "m64.onnx", f"--target={target}")
    assert done.returncode == 0, done.stderr
    small, large = done.stdout.splitlines()
    assert small.startswith("m16.onnx: ") and large.startswith("m64.onnx: ") and f"cycles of {target}" in small
    assert int(small.split()[1]) < int(large.split()[1])
    assert sorted(p.name for p in models.iterdir()) == ["m16.onnx", "m64.onnx"]


@pytest.mark.parametrize("target", ["x86-64-v3", "riscv32"])
def test_objects(target, models):
    """the numbers of --report, an object for each model"""
    lines = cost(models, "--cost=json", "m64.onnx", "m16.onnx", f"--target={target}").stdout.splitlines()
    for name, line in zip(("m64", "m16"), lines, strict=True):
        got = json.loads(line)
        assert cost(models, f"{name}.onnx", f"--target={target}", "-o", "m.c", "--report=m.json").returncode == 0
        want = json.loads((models / "m.json").read_text())
        assert got["model"] == f"{name}.onnx" and got["target"] == target and got["calls"] == want["calls"]
        assert got["cycles"] == pytest.approx(sum(c["cycles"] for c in want["calls"]), abs=len(want["calls"]))
        for key in "flops", "constants", "workspace", "kernels":
            assert got[key] == want[key], key


def test_lists(models):
    """paths from a file or standard input; a model that fails is reported, the others are not held up"""
    network(models / "with space.onnx", 16)
    (models / "list").write_text("m16.onnx\nnone.onnx\n\nwith space.onnx\r\n")
    for arguments in ["@list"], ["@-"], ["m16.onnx", "none.onnx", "with space.onnx"]:
        with (models / "list").open() as text:
            done = cost(models, "--cost", *arguments, stdin=text)
        assert done.returncode == dnncc.IO and "none.onnx" in done.stderr
        assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["m16.onnx", "with space.onnx"]


def test_table(models):
    """each kernel of all models once, by what it computes, with the numbers of its object"""
    network(models / "again.onnx", 16)
    done = cost(models, "--cost=table", "m16.onnx", "again.onnx", "m64.onnx", "--target=x86-64-v3")
    assert done.returncode == 0, done.stderr
    head, *lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert head == ["cycles", "operations", "read", "constants", "written", "computes"]
    objects = [json.loads(line) for line in cost(models, "--cost=json", "m16.onnx", "m64.onnx", "--target=x86-64-v3").stdout.splitlines()]
    want = {c["summary"]: c for o in objects for c in o["calls"]}
    assert len(lines) == len(want) and {line[5] for line in lines} == set(want)
    for line in lines:
        assert [int(n) for n in line[:5]] == [want[line[5]][key] for key in ("cycles", "flops", "read", "constants", "written")]


def test_batch(models):
    """kernels in loops over a batch count as often as they run"""
    path = models / "batch.onnx"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 16, 96, 96])
    weights = [onnx.numpy_helper.from_array(np.ones((16, 16, 3, 3), np.float32), n) for n in "vw"]
    nodes = [helper.make_node("Conv", ["x", "v"], ["c"], pads=[1] * 4), helper.make_node("Conv", ["c", "w"], ["y"], pads=[1] * 4)]
    graph = helper.make_graph(nodes, "g", [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    cycles = [json.loads(cost(models, "--cost=json", path, "--target=x86-64-v3", f"--limit=microbatch_images={n}").stdout)["cycles"] for n in (1, 8)]
    assert cycles[0] == pytest.approx(cycles[1], rel=.2)


def test_many(models):
    """memory of one is gone when the next comes"""
    (models / "list").write_text("m16.onnx\n" * 100)
    done = cost(models, "--cost", "@list")
    assert done.returncode == 0 and len(set(done.stdout.splitlines())) == 1 and len(done.stdout.splitlines()) == 100


@pytest.mark.parametrize("arguments, code, says", [
    (["--cost=xml", "m16.onnx"], dnncc.USAGE, "want --cost, --cost=json or --cost=table"), (["--cost", "@none"], dnncc.IO, "cannot read none"), (["--cost"], dnncc.USAGE, "no model given"),
    (["--cost", "m16.onnx", "-o", "m.c"], dnncc.USAGE, "--cost"), (["--cost", "m16.onnx", "m64.onnx", "--entry=a", "--entry=b"], dnncc.USAGE, "--cost"),
    (["--cost", "m16.onnx", "--bench"], dnncc.USAGE, "--cost"),
])
def test_wrong(arguments, code, says, models):
    done = cost(models, *arguments)
    assert done.returncode == code and says in done.stderr and not done.stdout, (done.stdout, done.stderr)
