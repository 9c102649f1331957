# SPDX-License-Identifier: MIT
"""dnncc.testing: where a model's numbers begin to differ from another runtime's."""
import importlib
import pathlib

import dnncc_package
import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

testing = importlib.import_module("dnncc_package.testing")
DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"


def test_equal():
    for options in ({}, {"target": "native", "threads": 2}):
        found = testing.compare(DIGITS, **options)
        assert found and found.output is None and found.node is None and found.error < 1e-4
        assert str(found).startswith("digits.onnx: dnncc ") and "equal to onnxruntime" in str(found) and "\n" not in str(found)
    assert testing.compare(models.two_of_each(), (np.ones((2, 3), np.float32), [1, 2, 3]))
    assert testing.compare(models.two_of_each(), {"b": [1, 2, 3], "a.1": np.ones((2, 3), np.float32)})
    with pytest.raises(dnncc_package.ArgumentError, match="'b' is missing"):
        testing.compare(models.two_of_each(), {"a.1": np.ones((2, 3), np.float32)})


@pytest.mark.parametrize("runtime", [True, False])
def test_the_first_node_that_differs(runtime, monkeypatch):
    """weights in 4 bits: the first layer that has any"""
    if not runtime:
        monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    found = testing.compare(DIGITS, quantize_weights="s4")
    assert not found and (found.output, found.node, found.value) == ("probabilities", "conv2", "c2") and found.error > 1e-3
    output, node, check = str(found).splitlines()
    assert "--quantize-weights=s4: output 'probabilities' differs in" in output and ("onnxruntime 1" if runtime else "is not installed") in output
    assert node.startswith("first node that differs: 'conv2', whose result 'c2' differs in") and "passes change nothing" in check
    assert len(str(testing.compare(DIGITS, quantize_weights="s4", check=False)).splitlines()) == 2


def test_a_difference_that_is_there_only_where_nodes_are_fused(monkeypatch):
    """a compiler that is wrong by this much: what is asked for alone is off, what is asked for with others is right"""
    chain = models.model([helper.make_node("Relu", ["x"], ["a"], "first"), helper.make_node("Neg", ["a"], ["b"], "second"),
                          helper.make_node("Exp", ["b"], ["c"], "third"), helper.make_node("Neg", ["c"], ["y"], "last")],
                         {"x": (TensorProto.FLOAT, [4])}, {"y": (TensorProto.FLOAT, [4])})
    real = dnncc_package.Model.run

    def run(self, inputs):
        y = real(self, inputs)
        for name in {"b", "c", "y"} & set(y) if len(y) < 3 else ():
            y[name] = y[name] + 1
        return y
    monkeypatch.setattr(dnncc_package.Model, "run", run)
    found = testing.compare(chain, np.ones(4, np.float32), check=False)
    assert (found.output, found.node, found.value) == ("y", "second", "b")


def test_a_pass_that_is_wrong_is_named(monkeypatch):
    said = "model.onnx: error: bug in pass fuse: --check: output 'y' differs; the state before it: dnncc-check-fuse.dnn\ncheck: to see it again: ..."

    def run(arguments, *more):
        if "--check" in arguments:
            raise dnncc_package.Error(70, said)
        return real(arguments, *more)
    real = testing._tool.run
    monkeypatch.setattr(testing._tool, "run", run)
    assert str(testing.compare(DIGITS, quantize_weights="s4")).splitlines()[2] == f"check: {said.splitlines()[0]}"


def test_data_beside_the_model(tmp_path):
    onnx.save(models.matmul(), tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    assert testing.compare(tmp_path / "m.onnx")


@pytest.mark.parametrize("got,want,differs", [
    ([1, 2], [1, 2], False), ([1, np.nan], [1, np.nan], False), ([1, np.inf], [1, np.inf], False), ([1, np.inf], [1, 2], True), ([1, np.nan], [1, 2], True),
    ([1, -np.inf], [1, np.inf], True), ([1000, 0.09], [1000, 0], False), ([1000, 0.2], [1000, 0], True), ([1e-8, 0], [0, 0], False)])
def test_equal_is_what_the_option_test_says(got, want, differs):
    assert bool(testing.difference("y", np.array(got, np.float32), np.array(want, np.float32), 1e-3, 1e-4)) == differs
    assert not testing.difference("y", np.array([3, 4], np.uint8), np.array([4, 4], np.uint8), 0, 0)
    assert testing.difference("y", np.array([3, 4]), np.array([4, 4]), 0, 0) and testing.difference("y", np.zeros(2), np.zeros((1, 2)), 0, 0)
