# SPDX-License-Identifier: MIT
"""--input x=Nx3 names dimensions that a model leaves without a name, and gives others a name in common; conditions that extents of every run decide."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import dnncc

F32 = TensorProto.FLOAT


def tensor(name, shape, element=F32):
    return helper.make_tensor_value_info(name, element, shape)


def save(path, nodes, inputs, constants=(), outputs=("y",)):
    graph = helper.make_graph(nodes, "g", inputs, [tensor(name, None) for name in outputs],
                              [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def pair(path, shape=(None, 3), other=("b", 3)):
    """the sum of two inputs; an extent None has no name, a shape None is not known at all"""
    return save(path, [helper.make_node("Add", ["x", "z"], ["y"])], [tensor("x", shape), tensor("z", other)])


def compiled(model, folder, *options):
    dnncc.compile_model(model, folder, options)
    return dnncc.build_host(folder)


NAMED = [((None, 3), ("b", 3)), ((None, None), (None, 3)), (("a", 3), ("b", 3)), (("a", "c"), ("b", "c")), (None, (None, 3)), (None, None), (("N", 3), (None, 3))]


@pytest.mark.parametrize("shape, other", NAMED)
def test_one_name(shape, other, tmp_path):
    """the same name for two inputs is one extent, whatever the file calls it"""
    program = compiled(pair(tmp_path / "m.onnx", shape, other), tmp_path, "--input=x=Nx3", "--input=z=Nx3", "--dim=N=1..7")
    for n in 1, 4, 7:
        x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
        np.testing.assert_array_equal(dnncc.run_host(program, [x, x])[0], 2 * x)
    assert (tmp_path / "model.h").read_text().split("int model_run(")[1].split(";")[0].count("int64_t") == 1


def test_numbers_and_terms(tmp_path):
    """a name that --dim binds to a number, to a term, or that is a term itself"""
    model = save(tmp_path / "m.onnx", [helper.make_node("Concat", ["x", "z"], ["y"], axis=0)], [tensor("x", [None, None]), tensor("z", ["k", 2])])
    for options in (["--input=x=Nx2", "--input=z=2*Nx2"], ["--input=x=Nx2", "--input=z=Mx2", "--dim=M=2*N"]):
        program = compiled(model, tmp_path, *options, "--dim=N=1..5")
        x, z = np.ones((3, 2), np.float32), np.zeros((6, 2), np.float32)
        np.testing.assert_array_equal(dnncc.run_host(program, [x, z])[0], np.concatenate([x, z]))
    dnncc.compile_model(model, tmp_path, ["--input=x=Nx2", "--input=z=Nx2", "--dim=N=4"])
    assert "int64_t" not in (tmp_path / "model.h").read_text().split("int model_run(")[1].split(";")[0]


def test_terms_alone(tmp_path):
    """lengths that no input has alone follow from terms: sides that are multiples of 4"""
    model = save(tmp_path / "m.onnx", [helper.make_node("Neg", ["x"], ["y"])], [tensor("x", [1, None, None])])
    options = "--input=x=1x4*Hx2*W+1", "--dim=H=1..5", "--dim=W=0..6"
    program = compiled(model, tmp_path, *options)
    for shape, code in ((1, 4, 1), 0), ((1, 20, 13), 0), ((1, 8, 5), 0), ((1, 6, 5), dnncc.INVALID), ((1, 8, 6), dnncc.INVALID), ((1, 24, 5), dnncc.INVALID):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        (tmp_path / "set").mkdir(exist_ok=True)
        np.save(tmp_path / "set" / "input_0.npy", x)
        done = dnncc.run([dnncc.DNNCC, model, *options, f"--run={tmp_path / 'set'}"])
        assert done.returncode == code and (not code or "the model's 'x' is <1 x" in done.stderr), done.stderr
        if not code:
            np.testing.assert_array_equal(np.load(tmp_path / "set" / "output_0.npy"), -x)
            np.testing.assert_array_equal(dnncc.run_host(program, [x])[0], -x)


@pytest.mark.parametrize("options, code, says", [
    (["x=Nx3", "z=Nx3"], dnncc.INVALID, "add --dim N=.."), (["x=Nx3x1"], dnncc.USAGE, "rank 2"), (["x=NxM", "z=4xM"], dnncc.USAGE, "a dimension of the input is 3"),
    (["x=Nx4"], dnncc.USAGE, "a dimension of the input is 3"), (["x=maxx3"], dnncc.USAGE, "rank 2"), (["x=max"], dnncc.USAGE, "without the letter x"), (["x=Nx"], dnncc.USAGE, "without the letter x"),
    (["x=Nx-3"], dnncc.USAGE, "without the letter x"), (["q=Nx3"], dnncc.USAGE, "no such input"), (["w=N"], dnncc.USAGE, "inputs"),
    (["x=Nx3", "z=2*(Nx3"], dnncc.USAGE, "names of extents"), (["x=Nx3", "x=Mx3"], dnncc.USAGE, "given twice"),
])
def test_wrong(options, code, says, tmp_path):
    model = save(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "z"], ["v"]), helper.make_node("Add", ["v", "w"], ["y"])],
                 [tensor("x", [None, 3]), tensor("z", ["b", 3])], [("w", np.ones(1, np.float32))])
    done = dnncc.run([dnncc.DNNCC, model, *(f"--input={o}" for o in options), "-o", tmp_path / "m.c"])
    assert done.returncode == code and says in done.stderr and not (tmp_path / "m.c").exists(), done.stderr


def test_two_values(tmp_path):
    """a symbol of the file gets one name"""
    model = save(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "z"], ["y"])], [tensor("x", ["b", 3]), tensor("z", ["b", 3])])
    for other, code in ("N", 0), ("M", dnncc.USAGE), ("4", dnncc.USAGE):
        done = dnncc.run([dnncc.DNNCC, model, "--input=x=Nx3", f"--input=z={other}x3", "--dim=N=1..4", "-o", tmp_path / "m.c"])
        assert done.returncode == code and (not code or "two values" in done.stderr), (other, done.stderr)


def test_proposed(tmp_path):
    """the error about a dimension without a name says that it may get one"""
    done = dnncc.run([dnncc.DNNCC, pair(tmp_path / "m.onnx")])
    assert done.returncode == dnncc.INVALID and "a name that --dim binds" in done.stderr and "--input x=1x3" in done.stderr, done.stderr


# ---- conditions ----

CONDITIONS = {  # the condition's nodes, from s, the shape <N x 4 x 1>; what it is for every N of 2 to 9
    "last extent is 1": ([("Gather", ["s", "two"], "d"), ("Equal", ["d", "one"], "c")], True),
    "first extent is 1": ([("Gather", ["s", "zero"], "d"), ("Equal", ["d", "one"], "c")], False),
    "rank is not 0": ([("Size", ["s"], "d"), ("Equal", ["d", "zero"], "e"), ("Not", ["e"], "f"), ("Cast", ["f"], "c")], True),
    "elements above 7": ([("ReduceProd", ["s"], "d"), ("Greater", ["d", "seven"], "c")], True),
    "extent as a truth": ([("Gather", ["s", "zero"], "d"), ("Cast", ["d"], "c")], True),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_condition(name, tmp_path):
    """the other branch, which is for other shapes, is not looked at"""
    nodes, holds = CONDITIONS[name]
    made = [helper.make_node(op, inputs, [output], **({"to": TensorProto.BOOL} if op == "Cast" else {"keepdims": 0} if op[:6] == "Reduce" else {}))
            for op, inputs, output in nodes]
    right = helper.make_graph([helper.make_node("Squeeze", ["x", "axis"], ["a"])], "right", [], [tensor("a", None)])
    wrong = helper.make_graph([helper.make_node("Reshape", ["x", "axis"], ["b"])], "wrong", [], [tensor("b", None)])
    branches = {"then_branch": right if holds else wrong, "else_branch": wrong if holds else right}
    model = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["i"], ["x"]), helper.make_node("Shape", ["x"], ["s"]), *made, helper.make_node("If", ["c"], ["y"], **branches)],
                 [tensor("i", ["N", 4, 1])], [("zero", np.int64(0)), ("one", np.int64(1)), ("two", np.int64(2)), ("seven", np.int64(7)), ("axis", np.array([2]))])
    program = compiled(model, tmp_path, "--dim=N=2..9")
    x = np.random.default_rng(0).standard_normal((5, 4, 1)).astype(np.float32)
    np.testing.assert_array_equal(dnncc.run_host(program, [x])[0], np.maximum(x[:, :, 0], 0))


@pytest.mark.slow
def test_silero(tmp_path):
    """a network of as many sequences as a run has, whose dimensions have no names"""
    folder = dnncc.ROOT.parent / "shared" / "models" / "silero_vad"
    if not folder.exists():
        pytest.skip("no shared models")
    import onnxruntime
    options = "--input=input=Nx576", "--input=state=2xNx128", "--dim=N=1..8"
    done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", *options, f"--test={folder / 'test_data_set_0'}"], timeout=600)
    assert done.returncode == 0, done.stderr
    program = compiled(folder / "model.onnx", tmp_path, *options)
    session, rng = onnxruntime.InferenceSession(str(folder / "model.onnx")), np.random.default_rng(0)
    for n in 1, 3, 8:
        feed = {"input": rng.standard_normal((n, 576)).astype(np.float32) / 4, "state": rng.standard_normal((2, n, 128)).astype(np.float32) / 4, "sr": np.array(16000)}
        for got, want in zip(dnncc.run_host(program, list(feed.values())), session.run(None, feed)):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
