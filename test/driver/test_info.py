# SPDX-License-Identifier: MIT
"""--info: what is in a model, what is missing, and a command that compiles it."""
import json
import os
import pathlib
import shlex
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

node, port, F32 = helper.make_node, helper.make_tensor_value_info, TensorProto.FLOAT


def save(path, nodes, inputs, outputs, constants=(), domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in constants])
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(d, 1) for d in domains)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path))
    return path


def info(model, *options, code=dnncc.OK):
    done = dnncc.run([dnncc.DNNCC, model, "--info=json", *options], cwd=model.parent)
    assert done.returncode == code and os.listdir(model.parent) == [model.name], done.stderr
    return json.loads(done.stdout)


def network(path):
    """a convolution, a product of matrices in a branch, an initializer that is an input as well"""
    branch = helper.make_graph([node("MatMul", ["flat", "m"], ["t"])], "then", [], [port("t", F32, ["N", 3])],
                               [numpy_helper.from_array(np.ones((40, 3), np.float32), "m")])
    other = helper.make_graph([node("Slice", ["flat", "zero", "three", "one"], ["e"])], "else", [], [port("e", F32, ["N", 3])])
    constants = [("w", np.ones((4, 2, 3, 3), np.float32)), ("zero", np.int64([0])), ("three", np.int64([3])), ("one", np.int64([1]))]
    nodes = [node("Conv", ["x", "w"], ["c"], "conv"), node("Flatten", ["c"], ["flat"]), node("If", ["go"], ["y"], then_branch=branch, else_branch=other),
             node("Relu", ["c"], ["r"])]
    return save(path, nodes, [port("x", F32, ["N", 2, 4, 7]), port("go", TensorProto.BOOL, []), port("w", F32, [4, 2, 3, 3])],
                [port("y", F32, ["N", 3]), port("r", F32, ["N", 4, 2, 5])], constants)


def test_facts(tmp_path):
    facts = info(network(tmp_path / "m.onnx"), "--dim", "N=2")
    assert facts["inputs"] == [{"name": "x", "type": "f32 <N x 2 x 4 x 7>"}, {"name": "go", "type": "bool <>"}]
    assert facts["outputs"] == [{"name": "y", "type": "f32 <N x 3>"}, {"name": "r", "type": "f32 <N x 4 x 2 x 5>"}]
    assert facts["opsets"] == ["ai.onnx 17"] and facts["missing"] == [] and facts["model"] == str(tmp_path / "m.onnx")
    assert {o["name"]: o["count"] for o in facts["operators"]} == {"Conv": 1, "Flatten": 1, "If": 1, "MatMul": 1, "Slice": 1, "Relu": 1}
    assert all(o["supported"] for o in facts["operators"])
    assert facts["parameters"] == 4 * 2 * 3 * 3 + 3 + 40 * 3
    assert facts["products"] == 2 * (4 * 2 * 5) * (2 * 3 * 3) + 2 * 3 * 40
    text = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--info", "--dim", "N=2"])
    assert text.returncode == 0 and text.stderr == ""
    for line in ("inputs      x: f32 <N x 2 x 4 x 7>", "            go: bool <>", "operators   Conv: 1", "parameters  195", "products    1680"):
        assert line + "\n" in text.stdout


def test_the_command_compiles(tmp_path):
    model = network(tmp_path / "m.onnx")
    facts = info(model)
    assert facts["products"] is None and len(facts["missing"]) == 1 and facts["missing"][0].endswith(facts["command"])
    program, *arguments = shlex.split(facts["command"])
    assert program == "dnncc" and arguments == [str(model), "--dim", "N=1"]
    assert dnncc.run([dnncc.DNNCC, *arguments, "-o", tmp_path / "m.c"]).returncode == 0


def test_names(tmp_path):
    """what options call by name, each once, in the order of the model"""
    model = network(tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, model, "--info=names"], cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.split("\n")[:-1] == ["dim N", "input x", "input go", "output y", "output r", "node conv", "value c", "value flat", "value y", "value r"]
    kept = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("value ")]
    assert dnncc.run([dnncc.DNNCC, model, "--dim", "N=1", *(f"--keep={name}" for name in kept), "-o", tmp_path / "m.c"]).returncode == 0


def test_what_is_not_supported(tmp_path):
    nodes = [node("Relu", ["x"], ["a"]), node("Frob", ["a"], ["b"], "f1", domain="my.own"), node("Frob", ["b"], ["y"], "f2", domain="my.own")]
    model = save(tmp_path / "m.onnx", nodes, [port("x", F32, [3])], [port("y", F32, [3])], domains=["my.own"])
    facts = info(model)
    assert facts["operators"] == [{"name": "Relu", "count": 1, "supported": True}, {"name": "my.own.Frob", "count": 2, "supported": False}]
    assert facts["products"] is None and any("'f1'" in line for line in facts["missing"]) and facts["opsets"] == ["ai.onnx 17", "my.own 1"]


@pytest.mark.parametrize("options, code", [(["--dim", "Q=2"], dnncc.USAGE), (["--target=pdp11"], dnncc.USAGE), (["-o", "x.c"], dnncc.USAGE)])
def test_errors(tmp_path, options, code):
    model = network(tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, model, "--info", *options], cwd=tmp_path)
    assert done.returncode == code and done.stdout == "" and done.stderr.count("error: ") == 1 and os.listdir(tmp_path) == ["m.onnx"]


def test_other_texts(tmp_path):
    (tmp_path / "m.dnn").write_text("dnn 1\n")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--info"])
    assert done.returncode == dnncc.USAGE and "read it" in done.stderr
