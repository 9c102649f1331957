# SPDX-License-Identifier: MIT
"""--libraries: contractions that are calls of a library's function, against what they mean, with a stub and with the library where it is."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

F = onnx.TensorProto.FLOAT
R = np.random.default_rng(13)
node = helper.make_node
MODELS = dnncc.ROOT.parent / "shared" / "models"
ALWAYS = "--libraries=blas:always"
LIBRARY = dnncc.ROOT / "build" / "libdnncc_blas.a"

# Plain loops in place of the library; call FAILS returns -1 instead, 0: none does.
STUB = """#include "dnncc_blas.h"
#ifndef FAILS
#define FAILS 0
#endif
static int calls;
int dnncc_blas_gemm(size_t batch, size_t m, size_t n, size_t k, size_t transposed_a, size_t transposed_b, size_t step_a, size_t step_b,
                    const float *a, const float *b, float *y)
{
        if (++calls == FAILS)
                return -1;
        for (size_t at = 0; at < batch; at++)
                for (size_t i = 0; i < m; i++)
                        for (size_t j = 0; j < n; j++) {
                                double sum = 0;
                                for (size_t p = 0; p < k; p++)
                                        sum += (double)a[at * step_a + (transposed_a ? p * m + i : i * k + p)] *
                                               b[at * step_b + (transposed_b ? j * k + p : p * n + j)];
                                y[(at * m + i) * n + j] = (float)sum;
                        }
        return 0;
}
"""


def with_stub(folder, fails=0):
    (folder / "stub.c").write_text(STUB)
    return f"--cc=cc -O2 -DFAILS={fails} -I{dnncc.ROOT / 'runtime'} {folder / 'stub.c'}"


def with_library():
    if not LIBRARY.exists():
        pytest.skip("there is no CBLAS: packages.sh blas")
    libs = subprocess.run("pkg-config --libs openblas || pkg-config --libs blas || echo -lblas", shell=True, capture_output=True, text=True).stdout
    libs = " ".join(libs.split())
    # The harness puts sources behind the command's words, so the library is held whole.
    return f"--cc=cc -O2 -Wl,--no-as-needed -Wl,--whole-archive {LIBRARY} -Wl,--no-whole-archive {libs}"


def saved(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, F, s) for n, s in inputs],
                              [helper.make_tensor_value_info(n, F, s) for n, s in outputs], [onnx.numpy_helper.from_array(v, n) for n, v in constants])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def normal(*shape):
    return R.standard_normal(shape).astype(np.float32)


def cases():
    """name: nodes, inputs, outputs, constants, the calls there should be"""
    w = normal(7, 9)
    yield "matmul", [node("MatMul", ["x", "w"], ["y"])], [("x", (5, 7))], [("y", (5, 9))], [("w", w)], 1
    yield "batch of rows", [node("MatMul", ["x", "w"], ["y"])], [("x", (2, 3, 7))], [("y", (2, 3, 9))], [("w", w)], 1
    yield "batches", [node("MatMul", ["x", "z"], ["y"])], [("x", (2, 3, 5, 7)), ("z", (2, 3, 7, 4))], [("y", (2, 3, 5, 4))], [], 1
    yield "transposed", [node("Transpose", ["z"], ["t"], perm=[0, 2, 1]), node("MatMul", ["x", "t"], ["y"])], [("x", (2, 5, 7)), ("z", (2, 4, 7))], [
        ("y", (2, 5, 4))], [], 1
    yield "gemm", [node("Gemm", ["x", "w", "b"], ["y"], transA=1, transB=1, alpha=1.0)], [("x", (9, 5))], [("y", (5, 7))], [("w", w), ("b", normal(7))], 1
    yield "1 x 1", [node("Conv", ["x", "w", "b"], ["r"]), node("Relu", ["r"], ["y"])], [("x", (2, 6, 5, 3))], [("y", (2, 8, 5, 3))], [
        ("w", normal(8, 6, 1, 1)), ("b", normal(8))], 1
    yield "row", [node("MatMul", ["x", "w"], ["y"])], [("x", (7,))], [("y", (9,))], [("w", w)], 1
    yield "inner", [node("MatMul", ["x", "z"], ["y"])], [("x", (7,)), ("z", (7,))], [("y", ())], [], 1
    yield "two", [node("MatMul", ["x", "w"], ["h"]), node("Tanh", ["h"], ["t"]), node("MatMul", ["t", "v"], ["y"])], [("x", (5, 7))], [("y", (5, 3))], [
        ("w", w), ("v", normal(9, 3))], 2
    yield "strided", [node("Conv", ["x", "w"], ["y"], strides=[2, 2])], [("x", (1, 6, 5, 5))], [("y", (1, 8, 3, 3))], [("w", normal(8, 6, 1, 1))], None
    yield "padded", [node("Conv", ["x", "w"], ["y"], pads=[1] * 4)], [("x", (1, 6, 5, 5))], [("y", (1, 8, 7, 7))], [("w", normal(8, 6, 1, 1))], 0
    yield "grouped", [node("Conv", ["x", "w"], ["y"], group=2)], [("x", (1, 6, 5, 5))], [("y", (1, 8, 5, 5))], [("w", normal(8, 3, 1, 1))], 0
    yield "3 x 3", [node("Conv", ["x", "w"], ["y"])], [("x", (1, 6, 5, 5))], [("y", (1, 8, 3, 3))], [("w", normal(8, 6, 3, 3))], 0


CASES = {name: case for name, *case in cases()}


def outputs_of(path, folder, inputs, *options, code=0):
    folder.mkdir(exist_ok=True)
    for k, x in enumerate(inputs):
        np.save(folder / f"input_{k}.npy", x)
    done = dnncc.run([dnncc.DNNCC, path, f"--run={folder}", *options], timeout=600)
    assert done.returncode == code, done.stderr
    return done.stderr if code else np.load(folder / "output_0.npy")


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CASES)
def test_calls(name, tmp_path):
    """which contractions are calls, and what these mean: by the interpreter, by the text in C, by a stub, by the library"""
    nodes, ins, outs, constants, calls = CASES[name]
    path = saved(tmp_path / "m.onnx", nodes, ins, outs, constants)
    xs = [normal(*s) for _, s in ins]
    want = outputs_of(path, tmp_path / "in", xs)
    close = dict(rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(outputs_of(path, tmp_path / "in", xs, ALWAYS), want, **close)
    np.testing.assert_allclose(outputs_of(path, tmp_path / "in", xs, ALWAYS, "--cc=cc", "--target=x86-64"), want, **close)
    np.testing.assert_allclose(outputs_of(path, tmp_path / "in", xs, ALWAYS, with_stub(tmp_path)), want, **close)
    if LIBRARY.exists():
        np.testing.assert_allclose(outputs_of(path, tmp_path / "in", xs, ALWAYS, with_library()), want, **close)
    done = dnncc.run([dnncc.DNNCC, path, ALWAYS, "--name=m", "-o", tmp_path / "m.c"])
    assert not done.returncode, done.stderr
    found = (tmp_path / "m.c").read_text().count("return dnncc_blas_gemm(")
    assert calls is None or found == calls
    header = (tmp_path / "m.h").read_text()
    assert ("M_ERROR_LIBRARY" in header) == ("dnncc_blas_gemm" in header) == bool(found) and "M_ERROR_EXTERNAL" not in header


@pytest.mark.parametrize("fails", [1, 2, 3])
def test_failing_call(fails, tmp_path):
    """a call that fails ends the run, whichever it is"""
    nodes, ins, outs, constants, _ = CASES["two"]
    path = saved(tmp_path / "m.onnx", nodes, ins, outs, constants)
    xs = [normal(*s) for _, s in ins]
    if fails < 3:
        assert "code -24: a library could not compute a contraction" in outputs_of(path, tmp_path / "in", xs, ALWAYS, with_stub(tmp_path, fails),
                                                                                   code=dnncc.INTERNAL if hasattr(dnncc, "INTERNAL") else 70)
    else:
        outputs_of(path, tmp_path / "in", xs, ALWAYS, with_stub(tmp_path, fails))


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", ["mnist_cnn", "resnet8_fp32", "cct2_vit", "ncf_recommender", "micro_kws_fp32"])
def test_networks(name, tmp_path):
    """whole networks: within rounding of those without the library"""
    path = MODELS / name / "model.onnx"
    if not path.exists():
        path = next((MODELS / name).glob("*.onnx"))
    test = next((p for p in sorted((MODELS / name).glob("test*")) if p.is_dir()), None)
    assert test
    options = [ALWAYS, with_stub(tmp_path)], ([ALWAYS, with_library()] if LIBRARY.exists() else None)
    for given in filter(None, options):
        done = dnncc.run([dnncc.DNNCC, path, f"--test={test}", "--target=x86-64-v3", *given], timeout=600)
        assert not done.returncode, done.stderr


def test_nothing_without(tmp_path):
    """without the option nothing changes; -Wall says nothing of what it makes; a dump has the calls"""
    nodes, ins, outs, constants, _ = CASES["two"]
    path = saved(tmp_path / "m.onnx", nodes, ins, outs, constants)
    assert not dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c"]).returncode
    assert "blas" not in (tmp_path / "m.c").read_text() + (tmp_path / "m.h").read_text()
    for options in [], ["--threads=2"], ["--target=x86-64,x86-64-v3"]:
        assert not dnncc.run([dnncc.DNNCC, path, ALWAYS, *options, "-o", tmp_path / "m.c"]).returncode
        made = subprocess.run(["cc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "m.c"], cwd=tmp_path, capture_output=True, text=True)
        assert not made.returncode, made.stderr
    assert not dnncc.run([dnncc.DNNCC, path, ALWAYS, "--emit=ir", "-o", tmp_path / "m.dnn"]).returncode
    assert (tmp_path / "m.dnn").read_text().count("symbol=dnncc_blas_gemm") == 2
    assert not dnncc.run([dnncc.DNNCC, path, ALWAYS, "--check"]).returncode
    assert not dnncc.run([dnncc.DNNCC, path, ALWAYS, "-O1", "-o", tmp_path / "m.c"]).returncode
    assert (tmp_path / "m.c").read_text().count("return dnncc_blas_gemm(") == 2


def test_extents_of_a_run(tmp_path):
    """products of extents that a run gives stay dnncc's own"""
    path = saved(tmp_path / "m.onnx", [node("MatMul", ["x", "w"], ["y"])], [("x", ("N", 7))], [("y", ("N", 9))], [("w", normal(7, 9))])
    assert not dnncc.run([dnncc.DNNCC, path, ALWAYS, "--dim=N=1..8", "-o", tmp_path / "m.c"]).returncode
    assert "dnncc_blas" not in (tmp_path / "m.c").read_text()


def test_bad_input(tmp_path):
    path = saved(tmp_path / "m.onnx", [node("Relu", ["x"], ["y"])], [("x", (5,))], [("y", (5,))])
    for code, said, *options in [
            (1, "there is no library 'bls', did you mean 'blas'?", "--libraries=bls:always"),
            (1, "there is no library 'mkl': there is 'blas'", "--libraries=mkl"),
            (1, "--libraries wants NAME:always, not 'blas:x'", "--libraries=blas:x"),
            (4, "want --libraries=blas:always", "--libraries=blas"),
            (4, "it has nothing for cuda-sm_80", ALWAYS, "--target=cuda-sm_80"),
            (4, "it has nothing for vta", ALWAYS, "--target=vta"),
            (1, "rounds otherwise: not with --exact", ALWAYS, "--exact"),
            (1, "is for code that is linked: not with --jit", ALWAYS, "--jit", "--run=zeros"),
            (1, "dnncc_.. are those of dnncc", "--define=f=c:dnncc_blas_gemm")]:
        done = dnncc.run([dnncc.DNNCC, path, *options])
        assert done.returncode == code and said in done.stderr, (options, done.returncode, done.stderr)
