# SPDX-License-Identifier: MIT
"""Sparse initializers stay positions and values (ir/sparse.h): in texts, in what --emit=onnx writes, and in memory until something needs the dense tensor. What is
computed is what the dense model computes, to the bit."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

F32, I64 = np.float32, np.int64


def sparse(name, dense, listed):
    places = np.flatnonzero(dense) if listed else np.argwhere(dense)
    return helper.make_sparse_tensor(numpy_helper.from_array(dense[dense != 0], name), numpy_helper.from_array(places.astype(I64), name + "_places"), dense.shape)


def network(tensors, kept, listed=True):
    """a convolution, a dense layer, a bias; those in `kept` are sparse"""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("ReduceMean", ["c"], ["r"], axes=[2, 3], keepdims=0),
             helper.make_node("MatMul", ["r", "m"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, [1, 3, 6, 6])], [helper.make_tensor_value_info("y", T.FLOAT, [1, 10])],
                              [numpy_helper.from_array(v, n) for n, v in tensors.items() if n not in kept],
                              sparse_initializer=[sparse(n, tensors[n], listed) for n in kept])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model


@pytest.fixture
def tensors():
    rng = np.random.default_rng(5)

    def mostly_zero(*shape):
        return np.where(rng.random(shape) < .15, rng.standard_normal(shape), 0).astype(F32)
    return {"w": mostly_zero(8, 3, 3, 3), "m": mostly_zero(8, 10), "b": np.eye(10, dtype=F32)[3] * 2}


def outputs(model, x, folder, *options):
    np.save(folder / "input_0.npy", x)
    done = dnncc.run([dnncc.DNNCC, model, f"--run={folder}", *options])
    assert done.returncode == 0, done.stderr
    return np.load(folder / "output_0.npy")


def emitted(model, form, path, *options):
    done = dnncc.run([dnncc.DNNCC, model, f"--emit={form}", *options, "-o", path])
    assert done.returncode == 0, done.stderr
    return path


def held(model):
    """dense tensors of the sparse initializers, by name"""
    all_of_them = {}
    for t in model.graph.sparse_initializer:
        places, dense = numpy_helper.to_array(t.indices), np.zeros(np.prod(t.dims), F32)
        dense[places] = numpy_helper.to_array(t.values)
        all_of_them[t.values.name] = dense.reshape(t.dims)
    return all_of_them


@pytest.mark.parametrize("listed", [True, False])
def test_there_and_back(tensors, listed, tmp_path):
    model, x = network(tensors, tensors, listed), np.random.default_rng(1).standard_normal((1, 3, 6, 6)).astype(F32)
    onnx.save(model, tmp_path / "m.onnx")
    back = onnx.load(emitted(tmp_path / "m.onnx", "onnx", tmp_path / "back.onnx", "--passes="))
    onnx.checker.check_model(back)
    assert not [t.name for t in back.graph.initializer if t.name in tensors]
    got = held(back)
    assert len(got) == 3
    for name, dense in got.items():
        np.testing.assert_array_equal(dense.ravel(), tensors[name.split("_")[0]].ravel())
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_array_equal(onnxruntime.InferenceSession(str(tmp_path / "back.onnx")).run(None, {"x": x})[0], want)
    emitted(tmp_path / "back.onnx", "onnx", tmp_path / "again.onnx", "--passes=")
    assert {k: v.tobytes() for k, v in held(onnx.load(tmp_path / "again.onnx")).items()} == {k: v.tobytes() for k, v in got.items()}


def test_equal_outputs(tensors, tmp_path):
    x = np.random.default_rng(2).standard_normal((1, 3, 6, 6)).astype(F32)
    for name, kept in ("sparse", tensors), ("dense", []):
        onnx.save(network(tensors, kept), tmp_path / f"{name}.onnx")
    for options in (), ("-O0",), ("--quantize-weights=s8",):
        np.testing.assert_array_equal(outputs(tmp_path / "sparse.onnx", x, tmp_path, *options), outputs(tmp_path / "dense.onnx", x, tmp_path, *options))
    folders = [tmp_path / "s", tmp_path / "d"]
    for folder, name in zip(folders, ("sparse", "dense")):
        folder.mkdir()
        dnncc.compile_model(tmp_path / f"{name}.onnx", folder)
    got, want = (dnncc.run_host(dnncc.build_host(folder), [x])[0] for folder in folders)
    np.testing.assert_array_equal(got, want)


def test_texts(tensors, tmp_path):
    """the text is the same when it is read and printed again; the same C is made of it"""
    onnx.save(network(tensors, tensors), tmp_path / "m.onnx")
    text = emitted(tmp_path / "m.onnx", "ir", tmp_path / "m.dnn", "--passes=")
    lines = [line for line in text.read_text().splitlines() if line.startswith("const")]
    assert len(lines) == 3 and all(" = sparse " in line for line in lines), lines
    assert any(" = sparse [" in line for line in lines) and any(" file " in line for line in lines)
    again = emitted(text, "ir", tmp_path / "again.dnn", "--passes=").read_text()
    assert [line for line in again.splitlines() if line.startswith("const")] == lines
    made = []
    for number, source in enumerate((tmp_path / "m.onnx", text)):
        folder = tmp_path / str(number)
        folder.mkdir()
        dnncc.compile_model(source, folder)
        made.append([line for line in (folder / "model.c").read_text().splitlines() if "BUILD" not in line and not line.startswith((" *", "/*", "#error"))])
    assert made[0] == made[1]


# A process counts what it was before it became another program, so a small one starts the command.
MEASURE = "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"


def peak(*command):
    """the most memory of a run in bytes"""
    done = dnncc.run([sys.executable, "-c", MEASURE, *command])
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1]) * 1024


def test_memory(tmp_path):
    """200 MB of zeros and four numbers: nothing that reads, prints or exports it makes it dense; C does"""
    rows = 50_000
    place = np.array([0, 7_000, 1_000_000, rows * 1000 - 1], I64)
    tensor = helper.make_sparse_tensor(numpy_helper.from_array(np.array([1, 2, 3, 4], F32), "t"), numpy_helper.from_array(place, "p"), [rows, 1000])
    graph = helper.make_graph([helper.make_node("Gather", ["t", "i"], ["y"])], "g", [helper.make_tensor_value_info("i", T.INT64, [2])],
                              [helper.make_tensor_value_info("y", T.FLOAT, [2, 1000])], sparse_initializer=[tensor])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    for form in "ir", "onnx":
        assert peak(dnncc.DNNCC, tmp_path / "m.onnx", f"--emit={form}", "-o", tmp_path / f"back.{form}") < 100 << 20
    assert (tmp_path / "back.onnx").stat().st_size < 2000
    np.save(tmp_path / "input_0.npy", np.array([7, rows - 1], I64))
    assert peak(dnncc.DNNCC, tmp_path / "m.onnx", f"--run={tmp_path}") > 200_000_000
    want = np.zeros((2, 1000), F32)
    want[0, 0], want[1, 999] = 2, 4
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), want)


def test_large_text(tmp_path):
    """a line of text that would be a gigabyte"""
    (tmp_path / "m.dnn").write_text('dnn 3\nmodule "m"\nconst @w : <300000000 x f32> = sparse [3 = 1.0]\n'
                                    'func @main(%i "i": <2 x i64>) -> ("y") {\n  %0 = gather(@w, %i) : <2 x f32>\n  yield(%0)\n}\n')
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "-o", tmp_path / "m.c"])
    assert done.returncode == 3 and "@w: 1200000000 bytes when it is dense" in done.stderr and "--limit sparse_bytes=N" in done.stderr
    assert emitted(tmp_path / "m.dnn", "ir", tmp_path / "again.dnn", "--limit=sparse_bytes=1200000000").exists()


def test_not_lowered(tensors, tmp_path):
    onnx.save(network(tensors, []), tmp_path / "m.onnx")
    np.save(tmp_path / "input_0.npy", np.zeros((1, 3, 6, 6), F32))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--run={tmp_path}", "--passes="])
    assert done.returncode == 1 and "--passes must contain lower" in done.stderr


@pytest.mark.parametrize("places, shape, said", [
    ([[0, 1], [0, 1]], [2, 3], "index 1, [0, 1], is twice"), ([[1, 0], [0, 1]], [2, 3], "index 1, [0, 1], is out of order"),
    ([[0, 1], [2, 0]], [2, 3], "index 1, [2, 0], is outside of its shape"), ([[0, -1], [1, 0]], [2, 3], "index 0, [0, -1], is outside of its shape"),
    ([4, 4], [5], "index 1, [4], is twice"), ([4, 2], [5], "index 1, [2], is out of order"), ([4, 5], [5], "index 1, [5], is outside of its shape"),
    ([1, 2, 3], [5], "indices are <3 x i64> for 2 values of rank 1"), ([[0, 1], [1, 0]], [2, 3, 4], "indices are <2 x 2 x i64> for 2 values of rank 3")])
def test_refused_places(places, shape, said, tmp_path):
    tensor = onnx.SparseTensorProto(values=numpy_helper.from_array(np.array([1, 2], F32), "s"), indices=numpy_helper.from_array(np.array(places, I64)), dims=shape)
    graph = helper.make_graph([helper.make_node("Neg", ["s"], ["y"])], "g", [], [onnx.ValueInfoProto(name="y")], sparse_initializer=[tensor])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"])
    assert done.returncode == 3 and f"sparse initializer 's': {said}" in done.stderr, done.stderr
