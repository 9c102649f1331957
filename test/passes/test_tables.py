# SPDX-License-Identifier: MIT
"""A table of rows that is the weights of a product as well lies there once: gathers read the product's panels."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402


def tied(path, rows, columns, also=None):
    """the product of a tanh of some rows by all rows; also: another reader of the table"""
    w = np.random.default_rng(0).standard_normal((rows, columns), np.float32) / 8
    nodes = [helper.make_node("Gather", ["w", "i"], ["e"], axis=0), helper.make_node("Tanh", ["e"], ["x"]),
             helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]), helper.make_node("MatMul", ["x", "wt"], ["y"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", "N", rows])]
    if also:
        nodes.append(helper.make_node(also, ["w", "s"] if also == "Mul" else ["w"], ["z"]))
        outputs.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, None))
    inputs = [helper.make_tensor_value_info("i", TensorProto.INT64, ["B", "N"])] + [helper.make_tensor_value_info("s", TensorProto.FLOAT, [1])] * (also == "Mul")
    graph = helper.make_graph(nodes, "tied", inputs, outputs, [onnx.numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.mark.slow
@pytest.mark.sample(12)
@pytest.mark.parametrize("options", ["", "--precision=bf16", "--quantize-weights=f16", "--quantize-weights=bf16"], ids=lambda o: o or "f32")
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "x86-64-v4-vnni"])
@pytest.mark.parametrize("rows, columns", [(1003, 70), (640, 64)])
def test_one_copy(rows, columns, target, options, tmp_path):
    """the results, of rows counted from the end, too, and the error of a row that is not there"""
    if not processor.has(target):
        pytest.skip("this processor cannot run it")
    model = tied(tmp_path / "m.onnx", rows, columns)
    said = ["--dim=B=1", "--dim=N=1..9", f"--target={target}", *options.split()]
    text = dnncc.run([dnncc.DNNCC, model, *said, "--emit=ir", "-o", "-"]).stdout
    assert text.count("gather_panels(") == 1 and " gather(" not in text and text.count("\nconst ") == 1
    dnncc.compile_model(model, tmp_path, said)
    program = dnncc.build_host(tmp_path, ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for rows_of in ([0, rows - 1, -1, -rows, 31, 32, 500], [7]):
        i = np.array([rows_of], np.int64)
        (got,), (want,) = dnncc.run_host(program, [i]), session.run(None, {"i": i})
        assert np.abs(got - want).max() <= (2e-2 if options else 1e-5) * np.abs(want).max()
    for bad in rows, -rows - 1:
        with pytest.raises(AssertionError, match="returned -3"):
            dnncc.run_host(program, [np.array([[bad]], np.int64)])


@pytest.mark.parametrize("rows, columns, also", [(40, 64, None), (1003, 70, "Mul")])
def test_two_copies(rows, columns, also, tmp_path):
    """small tables, and those that something else reads, stay as they are"""
    text = dnncc.run([dnncc.DNNCC, tied(tmp_path / "m.onnx", rows, columns, also), "--dim=B=1", "--dim=N=4", "--target=x86-64-v4", "--emit=ir", "-o", "-"]).stdout
    assert " gather(" in text and "gather_panels" not in text


def test_outer_product(tmp_path):
    """weights of which nothing is contracted are no table"""
    w = onnx.numpy_helper.from_array(np.random.default_rng(0).standard_normal((200, 100), np.float32), "w")
    nodes = [helper.make_node("Einsum", ["x", "w"], ["y"], equation="a,bc->abc"), helper.make_node("Gather", ["w", "i"], ["z"], axis=0)]
    ports = [helper.make_tensor_value_info(*p) for p in (("x", TensorProto.FLOAT, [8]), ("i", TensorProto.INT64, [3]), ("y", TensorProto.FLOAT, None), ("z", TensorProto.FLOAT, None))]
    onnx.save(helper.make_model(helper.make_graph(nodes, "outer", ports[:2], ports[2:], [w]), opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--target=x86-64-v4", "--emit=ir", "-o", "-"])
    assert done.returncode == 0 and " gather(" in done.stdout, done.stderr


def test_entries(tmp_path):
    """several entries share the one copy, and so do likely extents"""
    model = tied(tmp_path / "m.onnx", 1003, 70)
    for said in ["--entry=many:N=1..9", "--entry=one:N=1"], ["--dim=N=1..9:1"]:
        text = dnncc.run([dnncc.DNNCC, model, "--dim=B=1", *said, "--target=x86-64-v4", "--emit=ir", "-o", "-"]).stdout
        assert text.count("gather_panels(") == 2 and " gather(" not in text and text.count("\nconst ") == 1
