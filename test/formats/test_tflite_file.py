# SPDX-License-Identifier: MIT
"""TFLite files that are damaged or wrong, and what else takes such a file: --calibrate, --test, -MD, the packages. No package of TFLite is needed."""
import copy
import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from onnx import numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE.parent / "quantize"))
import dnncc  # noqa: E402
import python_package  # noqa: E402, F401
import dnncc_package  # noqa: E402
import ranges  # noqa: E402
import tflite_bare as bare  # noqa: E402

R = np.random.default_rng(4)
WEIGHTS, BIAS = R.standard_normal((3, 4)).astype(np.float32), R.standard_normal(3).astype(np.float32)
DENSE = bare.dense(WEIGHTS, BIAS)
GOOD = bare.finish(DENSE)
X = R.standard_normal((2, 4)).astype(np.float32)
Y = np.maximum(X @ WEIGHTS.T + BIAS, 0)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "m.tflite").write_bytes(GOOD)
    return tmp_path / "m.tflite"


def run(*arguments, **keywords):
    return dnncc.run([dnncc.DNNCC, *arguments], **keywords)


def compiled(folder, content):
    (folder / "m.tflite").write_bytes(content)
    return run(folder / "m.tflite", "--emit=ir", "-O0", "-o", "-", timeout=20)


def ended(folder, content):
    done = compiled(folder, content)
    assert done.returncode in (dnncc.OK, dnncc.INVALID, dnncc.UNSUPPORTED) and (done.returncode == 0 or ": error: " in done.stderr), (done.returncode, done.stderr)
    return done


# ---- damaged bytes ----

@pytest.mark.slow
def test_truncated_bare(tmp_path):
    """at every byte: an error that names a byte"""
    assert ended(tmp_path, GOOD).returncode == 0
    for length in range(8, len(GOOD)):
        done = ended(tmp_path, GOOD[:length])
        assert done.returncode == dnncc.INVALID and "byte" in done.stderr, (length, done.stderr)


@pytest.mark.slow
def test_words(tmp_path):
    """each word of the file becomes an offset out of it, into itself, or before it"""
    codes = set()
    for at in range(0, len(GOOD) - 3, 4):
        for word in (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\xff\xff\xff\x7f", b"\x01\0\0\0"):
            if at != 4:
                codes.add(ended(tmp_path, GOOD[:at] + word + GOOD[at + 4:]).returncode)
    assert codes >= {0, 3, 4}


@pytest.mark.parametrize("length", range(8))
def test_too_short(tmp_path, length):
    (tmp_path / "m.tflite").write_bytes(GOOD[:length])
    assert run(tmp_path / "m.tflite", "--format=tflite", "-o", tmp_path / "m.c").returncode == dnncc.INVALID


# ---- tables that say what is wrong ----

def changed(change):
    model = copy.deepcopy(DENSE)
    change(model, model[2][0])
    return bare.finish(model)


def setting(*places):
    """sets a value at each of these places below the model"""
    def change(model, _):
        for *keys, last, value in places:
            at = model
            for key in keys:
                at = at[key]
            at[last] = value
    return change


TENSOR = 2, 0, 0                        # the tensors of the graph
NODE = 2, 0, 3
WRONG = {
    "version": (setting((0, 4)), dnncc.UNSUPPORTED, "version 4"),
    "no_subgraph": (setting((2, [])), dnncc.INVALID, "no subgraph"),
    "operand_outside": (setting((*NODE, 0, 1, np.array([0, 9, 2], np.int32))), dnncc.INVALID, "tensor 9 of 5"),
    "operand_below": (setting((*NODE, 0, 1, np.array([-2, 1, 2], np.int32))), dnncc.INVALID, "tensor -2 of 5"),
    "operand_missing": (setting((*NODE, 0, 1, np.array([0, -1, 2], np.int32))), dnncc.INVALID, "operand 1 is missing"),
    "too_many": (setting((*NODE, 1, 1, np.array([3, 3], np.int32))), dnncc.INVALID, "2 operands, want 1 to 1"),
    "no_output": (setting((*NODE, 1, 2, np.array([], np.int32))), dnncc.INVALID, "0 outputs"),
    "cycle": (setting((*NODE, 0, 1, np.array([4, 1, 2], np.int32))), dnncc.INVALID, "is made by no node before it"),
    "made_twice": (setting((*NODE, 1, 2, np.array([3], np.int32))), dnncc.INVALID, "has a value already"),
    "made_by_none": (setting((2, 0, 3, [bare.operator(0, [0, 1, 2], [3], {0: ("b", 0)}, 8)])), dnncc.INVALID, "is made by no node"),
    "input_twice": (setting((2, 0, 1, np.array([0, 0], np.int32))), dnncc.INVALID, "is two inputs"),
    "no_outputs": (setting((2, 0, 2, np.array([], np.int32))), dnncc.INVALID, "no outputs"),
    "output_outside": (setting((2, 0, 2, np.array([5], np.int32))), dnncc.INVALID, "tensor 5 of 5"),
    "code_outside": (setting((*NODE, 1, 0, 2)), dnncc.INVALID, "operator 1 is number 2 of 2"),
    "unknown": (setting((1, 1, {0: ("b", 127), 3: 999})), dnncc.UNSUPPORTED, "builtin.999"),
    "options": (setting((*NODE, 0, 3, ("b", 1))), dnncc.INVALID, "options are of kind 1, want 8"),
    "format_of_weights": (setting((*NODE, 0, 4, {0: ("b", 0), 1: ("b", 1)})), dnncc.UNSUPPORTED, "weights_format 1"),
    "activation": (setting((*NODE, 0, 4, {0: ("b", 77)})), dnncc.UNSUPPORTED, "fused activation 77"),
    "buffer_outside": (setting((*TENSOR, 1, 2, 9)), dnncc.INVALID, "buffer 9 of 3"),
    "buffer_short": (setting((*TENSOR, 1, 0, np.array([3, 5], np.int32))), dnncc.INVALID, "48 bytes of data, want 60"),
    "extent_below": (setting((*TENSOR, 0, 0, np.array([2, -4], np.int32))), dnncc.INVALID, "extent -4"),
    "rank": (setting((*TENSOR, 0, 0, np.ones(17, np.int32))), dnncc.UNSUPPORTED, "of rank 17"),
    "huge": (setting((*TENSOR, 0, 0, np.full(4, 2 ** 31 - 1, np.int32))), dnncc.INVALID, "--limit tensor_bytes=N"),
    "element": (setting((*TENSOR, 0, 1, ("b", 5))), dnncc.UNSUPPORTED, "of element type 5"),
    "declared": (setting((*TENSOR, 4, 1, ("b", 2))), dnncc.INVALID, "is declared as"),
    "sparse": (setting((*TENSOR, 1, 6, {})), dnncc.INVALID, "sparse tensor 'w': its levels are not those of its shape"),
    "sparse_input": (setting((*TENSOR, 0, 6, {})), dnncc.UNSUPPORTED, "sparse, and not constant"),
    "scale": (setting((*TENSOR, 1, 4, bare.quantization([-1], [0]))), dnncc.INVALID, "the scale -1"),
    "scale_nan": (setting((*TENSOR, 1, 4, bare.quantization([math.nan], [0]))), dnncc.INVALID, "the scale"),
    "zero": (setting((*TENSOR, 1, 4, bare.quantization([1], [2 ** 40]))), dnncc.INVALID, "zero point"),
    "zeros": (setting((*TENSOR, 1, 4, bare.quantization([1, 1, 1], [0, 0]))), dnncc.INVALID, "3 scales and 2 zero points"),
    "dimension": (setting((*TENSOR, 1, 4, bare.quantization([1], [0], 99))), dnncc.INVALID, "dimension 99"),
    "inner": (setting((*TENSOR, 0, 0, np.array([2, 3], np.int32))), dnncc.INVALID, "for weights"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name, tmp_path):
    change, code, text = WRONG[name]
    done = ended(tmp_path, changed(change))
    assert done.returncode == code and text in done.stderr, (done.returncode, done.stderr)


def test_many_nodes(tmp_path):
    """a limit on their number; a chain of 20,000 takes no stack"""
    model = copy.deepcopy(DENSE)
    graph, most = model[2][0], 20000
    graph[0] += [bare.tensor(f"t{i}", [2, 3]) for i in range(most)]
    graph[3] += [bare.operator(1, [4 + i], [5 + i]) for i in range(most)]
    graph[2] = np.array([4 + most], np.int32)
    assert ended(tmp_path, bare.finish(model)).returncode == 0
    done = run(tmp_path / "m.tflite", "--limit", "nodes=1000", "-o", tmp_path / "m.c")
    assert done.returncode == dnncc.INVALID and "--limit nodes=N" in done.stderr


# ---- what else takes such a file ----

@pytest.mark.parametrize("options", [[], ["--cc=gcc -O1"]], ids=["interpreted", "compiled"])
def test_vectors(path, tmp_path, options):
    data = tmp_path / "set"
    data.mkdir()
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(X).SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(Y).SerializeToString())
    done = run(path, "--test", data, *options)
    assert done.returncode == 0 and "equal" in done.stdout, done.stderr
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(Y + 1).SerializeToString())
    assert run(path, "--test", data, *options).returncode != 0


def test_calibration_and_quantization(path, tmp_path):
    """ranges are those of the tensors, and the network quantized by them is near to it"""
    samples = R.standard_normal((20, 2, 4)).astype(np.float32)
    np.savez(tmp_path / "s.npz", x=samples)
    done = run(path, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "r.ranges")
    assert done.returncode == 0, done.stderr
    seen = ranges.read(tmp_path / "r.ranges").tensors
    sums = samples @ WEIGHTS.T + BIAS
    assert seen["x"].extent == (samples.min(), samples.max())
    np.testing.assert_allclose(next(t for name, t in seen.items() if "add" in name).extent, (sums.min(), sums.max()), rtol=1e-5)
    done = run(path, f"--quantize={tmp_path / 'r.ranges'}", "--emit=ir", "-o", tmp_path / "q.dnn")
    assert done.returncode == 0 and " i8" in (tmp_path / "q.dnn").read_text(), done.stderr


def test_dependencies(path, tmp_path):
    """the file of dependencies has the model, and is made beside the output"""
    assert run(path, "-MD", "-o", tmp_path / "m.c").returncode == 0
    rule = (tmp_path / "m.d").read_text().replace("\\\n", " ")
    assert rule.split(":")[0].split()[0].endswith("m.c") and str(path) in rule.split()
    assert run(path, "-MF", tmp_path / "other.d", "-o", tmp_path / "m.c").returncode == 0
    assert (tmp_path / "other.d").read_text() == (tmp_path / "m.d").read_text()


def test_python_package(path):
    """by a path, and by bytes"""
    for model in (path, GOOD):
        got = dnncc_package.compile(model)(X)
        np.testing.assert_allclose(got, Y, rtol=1e-5, atol=1e-6)
    with pytest.raises(dnncc_package.Error) as raised:
        dnncc_package.compile(GOOD[:-100])
    assert raised.value.code == dnncc.INVALID and "byte" in str(raised.value)


def test_entries_of_two_formats(path, tmp_path):
    """each is an entry named after its file"""
    from onnx import TensorProto, helper, save
    graph = helper.make_graph([helper.make_node("Relu", ["a"], ["b"])], "g", [helper.make_tensor_value_info("a", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("b", TensorProto.FLOAT, [2])])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "other.onnx")
    assert run(path, tmp_path / "other.onnx", "-o", tmp_path / "both.c").returncode == 0
    header = (tmp_path / "both.h").read_text()
    assert "both_m_run(" in header and "both_other_run(" in header
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", tmp_path / "both.c", "-o", tmp_path / "both.o"], check=True)
