# SPDX-License-Identifier: MIT
"""--emit=onnx of models with extents that a run gives: symbolic dimensions stay symbolic, and onnxruntime gives what the model itself gives at every length."""
import numpy as np
import onnx
import onnxruntime
import pytest
import test_extents
from onnx import TensorProto, helper

import dnncc


def session(path):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def written(folder, *options):
    done = dnncc.run([dnncc.DNNCC, "m.onnx", "--emit=onnx", "-o", "e.onnx", *options], cwd=folder)
    assert done.returncode == 0, done.stderr
    model = onnx.load(folder / "e.onnx")
    onnx.checker.check_model(model, full_check=True)
    return model


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(40))
def test_random(seed, tmp_path):
    """random networks, with their own passes and with none"""
    rng = np.random.default_rng(seed)
    test_extents.Network(seed).save(tmp_path / "m.onnx", 6)
    written(tmp_path, "--dim=N=1..70", "--dim=M=1..70", *([] if seed % 2 else ["-O0"]))
    first, again = session(tmp_path / "m.onnx"), session(tmp_path / "e.onnx")
    for n, m in (1, 1), (70, 70), tuple(rng.integers(2, 70, 2)):
        x, y = test_extents.given(rng, int(n), int(m))
        feed = {k: v for k, v in zip("xm", (x, y))}
        want = first.run(None, {i.name: feed[i.name] for i in first.get_inputs()})
        got = again.run(None, {i.name: feed[i.name] for i in again.get_inputs()})
        np.testing.assert_allclose(got[0], want[0], rtol=1e-3, atol=1e-4)


def test_names(tmp_path):
    """inputs have the model's symbols, results terms of them; the file is read again with the same flag"""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6, "rows"])
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["flat"]), helper.make_node("Relu", ["flat"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [onnx.numpy_helper.from_array(np.array([-1, 2]), "shape")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    dims = "--dim=batch=1..4", "--dim=rows=0..9"
    model = written(tmp_path, *dims)
    assert [d.dim_param or d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim] == ["batch", 6, "rows"]
    (rows, two) = model.graph.output[0].type.tensor_type.shape.dim
    assert "batch" in rows.dim_param and "rows" in rows.dim_param and two.dim_value == 2
    data = np.random.default_rng(0).standard_normal((3, 6, 5)).astype(np.float32)
    (tmp_path / "set").mkdir()
    np.save(tmp_path / "set" / "input_0.npy", data)
    np.save(tmp_path / "set" / "output_0.npy", np.maximum(data, 0).reshape(-1, 2))
    done = dnncc.run([dnncc.DNNCC, "e.onnx", *dims, "--test=set"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_has_no_form(tmp_path):
    """a dimension that only the data of a run say"""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
    nodes = [helper.make_node("NonZero", ["x"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [helper.make_tensor_value_info("y", TensorProto.INT64, [2, "K"])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, "m.onnx", "--emit=onnx", "-o", "e.onnx", "--dim=N=1..5"], cwd=tmp_path)
    assert done.returncode == dnncc.UNSUPPORTED and "'K'" in done.stderr and not (tmp_path / "e.onnx").exists(), done.stderr
