# SPDX-License-Identifier: MIT
"""Texts as inputs and outputs of compiled models: arrays of str, compiled and interpreted."""
import dnncc_package
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

STRING = TensorProto.STRING


def joined(shape):
    ports = [helper.make_tensor_value_info(n, e, s) for n, e, s in (("x", STRING, shape), ("y", STRING, shape), ("z", STRING, shape), ("same", TensorProto.BOOL, shape))]
    nodes = [helper.make_node("StringConcat", ["x", "y"], ["z"]), helper.make_node("Equal", ["x", "y"], ["same"])]
    return helper.make_model(helper.make_graph(nodes, "joined", ports[:2], ports[2:]), opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()


@pytest.mark.parametrize("compiler", [True, False], ids=["compiled", "interpreted"])
def test_texts(monkeypatch, compiler):
    if not compiler:
        monkeypatch.setattr(dnncc_package._build, "find_compiler", lambda *_, **__: None, raising=False)
    model = dnncc_package.compile(joined([2, 2]), text_bytes=["16", "y=8"])
    x = np.array([["a", "é日本"], ["", "fifteen bytes.."]], object)
    z, same = model(x, [["b", b"\xc3\xa9"], ["", "d"]])
    assert z.tolist() == [["ab", "é日本é"], ["", "fifteen bytes..d"]] and same.tolist() == [[False, False], [True, False]]
    assert model(x.astype(str), x[:, :1].repeat(2, 1).astype(str))[0][1, 1] == "fifteen bytes.."
    for wrong in ("sixteen bytes...", "a\0b", 3):
        with pytest.raises(dnncc_package.Error, match="x"):
            model([["", ""], ["", wrong]], x[:1].repeat(2, 0).tolist() and [["", ""], ["", ""]])
    with pytest.raises(dnncc_package.Error, match="numbers"):
        model.bind(x, x)
    assert [str(port) for port in model.inputs] == ["x text[2, 2]", "y text[2, 2]"]
