# SPDX-License-Identifier: MIT
"""--define NAME=c:SYMBOL: C functions of the program's that stand for functions of a text, which says what they mean."""
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dnncc  # noqa: E402
import test_define as define  # noqa: E402
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "jit"))
from test_jit import missing  # noqa: E402

R = np.random.default_rng(12)
node = helper.make_node
SWISH = "--define=acme.Swish=c:acme_swish"

# What the C functions compute is written down a second time here. BAD makes them fail, from call FIRST on; COUNT counts their calls.
C = """#include <stddef.h>
#ifndef BAD
#define BAD 0
#endif
#ifndef FIRST
#define FIRST 1
#endif
static int calls;
int acme_swish(size_t rows, size_t columns, const float *x, const float *k, float *y);
int acme_swish(size_t rows, size_t columns, const float *x, const float *k, float *y)
{
        for (size_t i = 0; i < rows * columns; i++) {
                float scaled = x[i] * k[0];
                y[i] = x[i] * (scaled > 0.5f ? scaled : 0.5f);
        }
        return ++calls >= FIRST ? BAD : 0;
}
"""

ATTEND = """dnn 3
module "acme"
symbol N <= 64
symbol M <= 64
func @acme.Attend(%x "x": <N x M x f32>, %w "w": <M x M x f32>) -> ("y", "order") {
  %p = dot(%x, %w) contract_a=[1] contract_b=[0] : <N x M x f32>
  %m = reduce(%p, <1 x i64> [1]) kind=max : <N x f32>
  %mb = broadcast(%m) dims=[0] : <N x M x f32>
  %d = sub(%p, %mb) : <N x M x f32>
  %e = exp(%d) : <N x M x f32>
  %s = reduce(%e, <1 x i64> [1]) kind=sum : <N x f32>
  %sb = broadcast(%s) dims=[0] : <N x M x f32>
  %q = div(%e, %sb) : <N x M x f32>
  %y = dot(%q, %w) contract_a=[1] contract_b=[1] : <N x M x f32>
  %o = argsort(%q) axis=1 : <N x M x i64>
  yield(%y, %o)
}
"""


def need_llvm():
    if missing():
        pytest.skip(f"LLVM is missing: {missing()}")


def text(folder, content=define.TEXT):
    return f"--define={define.written(folder / 'acme.dnn', content)}"


def source(folder):
    path = folder / "acme.c"
    path.write_text(C)
    return path


def attend_model(path, rows=3):
    F, I = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    nodes = [node("Attend", ["x", "w"], ["y", "o"], domain="acme", name="attend")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, (rows, 5)), helper.make_tensor_value_info("w", F, (5, 5))],
                              [helper.make_tensor_value_info("y", F, (rows, 5)), helper.make_tensor_value_info("o", I, (rows, 5))])
    onnx.save(helper.make_model(graph, opset_imports=define.OPSETS, ir_version=8), str(path))
    return path


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "x86-64,x86-64-v3"])
@pytest.mark.parametrize("options", [[], ["--threads=2"], ["-O0"]])
def test_code(target, options, tmp_path):
    """the C has a call, a prototype and no body; warnings are errors; a program without the function does not link"""
    path = define.model(tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, path, text(tmp_path), SWISH, f"--target={target}", *options, "-o", tmp_path / "m.c"])
    assert not done.returncode, done.stderr
    code, header = (tmp_path / "m.c").read_text(), (tmp_path / "m.h").read_text()
    assert "int acme_swish(size_t n0, size_t n1, const float *p0, const float *p1, float *p2);" in header
    assert "#define M_ERROR_EXTERNAL" in header and "(-23)" in header
    assert "acme_swish(3, 5, " in code and "weak" not in code
    made = subprocess.run(["cc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "m.c", "-o", "m.o"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert not made.returncode, made.stderr
    plain = dnncc.run([dnncc.DNNCC, path, text(tmp_path), f"--target={target}", *options, "-o", tmp_path / "plain.c"])
    assert not plain.returncode and "ERROR_EXTERNAL" not in (tmp_path / "plain.h").read_text()


@pytest.mark.parametrize("options", [[], ["--cc=cc"], ["--cc=cc -DFIRST=9 FILE"], ["--jit"], ["-O0"], ["--threads=2", "--cc=cc FILE"],
                                     ["--target=x86-64-v3"], ["--weights=file", "--cc=cc FILE"], ["--step=3", "--cc=cc FILE"]], ids=" ".join)
def test_bits(options, tmp_path):
    """the interpreter, LLVM in memory, C that links the meaning and C that links the function give the same bits"""
    if "--jit" in options:
        need_llvm()
    options = [o.replace("FILE", str(source(tmp_path))) for o in options]
    path = define.model(tmp_path / "m.onnx")
    x = R.standard_normal((3, 5)).astype(np.float32)
    got = define.run(path, x, tmp_path / "in", text(tmp_path), SWISH, *options)
    np.testing.assert_array_equal(got, define.want(x))


def test_function_is_called(tmp_path):
    """a function that fails ends the run with a code of its own, whichever call of it fails"""
    path = define.model(tmp_path / "m.onnx")
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "input_0.npy", R.standard_normal((3, 5)).astype(np.float32))
    for first, fails in (1, True), (2, True), (3, False):
        done = dnncc.run([dnncc.DNNCC, path, text(tmp_path), SWISH, f"--run={tmp_path / 'in'}", f"--cc=cc -DBAD=7 -DFIRST={first} {source(tmp_path)}"])
        assert bool(done.returncode) == fails, done.stderr
        assert not fails or "code -23: a C function of the program's did not return 0" in done.stderr


def test_kept_apart(tmp_path):
    """nothing is fused into the call or laid out across it; its meaning stays in dumps, from which the same C comes"""
    path = define.model(tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, path, text(tmp_path), SWISH, "--target=x86-64-v3", "--check", "--name=m", "-o", tmp_path / "m.c"])
    assert not done.returncode and "differs" not in done.stderr, done.stderr
    for kind, suffix in ("ir", "dnn"), ("loops", "loops"):
        dump = tmp_path / f"m.{suffix}"
        assert not dnncc.run([dnncc.DNNCC, path, text(tmp_path), SWISH, "--target=x86-64-v3", f"--emit={kind}", "-o", dump]).returncode
        assert dump.read_text().count("acme_swish") == (2 if kind == "ir" else 1)
        again = dnncc.run([dnncc.DNNCC, dump, "--target=x86-64-v3", "-o", tmp_path / "again.c"])
        assert not again.returncode, again.stderr
        bodies = [(tmp_path / name).read_text().split("/* first", 1)[1] for name in ("m.c", "again.c")]
        assert bodies[0].replace("M_ERROR", "AGAIN_ERROR").split("m_run")[0].split("\nint ")[0] == bodies[1].split("again_run")[0].split("\nint ")[0]


@pytest.mark.parametrize("options", [[], ["--cc=cc -Wall -Wextra -Wpedantic -Werror -std=gnu99"], ["--jit"], ["--target=x86-64-v3", "--cc=cc -march=native"]], ids=" ".join)
def test_large_meaning(options, tmp_path):
    """a meaning of several products, reductions and a sort, with two results, is computed operation by operation"""
    if "--jit" in options:
        need_llvm()
    path = attend_model(tmp_path / "m.onnx")
    x, w = R.standard_normal((3, 5)).astype(np.float32), R.standard_normal((5, 5)).astype(np.float32)
    folder = tmp_path / "in"
    folder.mkdir()
    np.save(folder / "input_0.npy", x)
    np.save(folder / "input_1.npy", w)
    done = dnncc.run([dnncc.DNNCC, path, text(tmp_path, ATTEND), "--define=acme.Attend=c:attend", f"--run={folder}", *options])
    assert not done.returncode, done.stderr
    p = x @ w
    q = np.exp(p - p.max(1, keepdims=True))
    q /= q.sum(1, keepdims=True)
    np.testing.assert_allclose(np.load(folder / "output_0.npy"), q @ w.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(np.load(folder / "output_1.npy"), np.argsort(q, 1, kind="stable"))


def test_no_memory_of_its_own(tmp_path):
    """what a meaning keeps in between takes nothing of the workspace"""
    path = attend_model(tmp_path / "m.onnx", rows=60)
    done = dnncc.run([dnncc.DNNCC, path, text(tmp_path, ATTEND), "--define=acme.Attend=c:attend", "-o", tmp_path / "m.c"])
    assert not done.returncode, done.stderr
    assert "M_WORKSPACE_SIZE 0" in " ".join((tmp_path / "m.h").read_text().split())


def test_folded(tmp_path):
    """a call on constants is folded by its meaning, and needs no function"""
    F = onnx.TensorProto.FLOAT
    c = R.standard_normal((3, 5)).astype(np.float32)
    nodes = [node("Swish", ["c"], ["s"], domain="acme", k=1.5), node("Add", ["x", "s"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, (3, 5))], [helper.make_tensor_value_info("y", F, (3, 5))],
                              [onnx.numpy_helper.from_array(c, "c")])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=define.OPSETS, ir_version=8), str(path))
    x = R.standard_normal((3, 5)).astype(np.float32)
    np.testing.assert_array_equal(define.run(path, x, tmp_path / "in", text(tmp_path), SWISH), x + define.swish(c, 1.5))
    assert not dnncc.run([dnncc.DNNCC, path, text(tmp_path), SWISH, "-o", tmp_path / "m.c"]).returncode
    assert "acme_swish" not in (tmp_path / "m.c").read_text() + (tmp_path / "m.h").read_text()


def test_object(tmp_path):
    """an object of LLVM calls the function, too"""
    need_llvm()
    path = define.model(tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, path, text(tmp_path), SWISH, "--target=x86-64-v3", "--triple=x86_64-unknown-linux-gnu", "--emit=object", "-o",
                      tmp_path / "m.o"])
    assert not done.returncode, done.stderr
    if not shutil.which("nm"):
        pytest.skip("no nm")
    assert "U acme_swish" in subprocess.run(["nm", tmp_path / "m.o"], capture_output=True, text=True).stdout


@pytest.mark.parametrize("change, said", [
    (("symbol=acme_swish", "symbol=int"), "symbol is no C identifier"), (("symbol=acme_swish ", ""), "symbol is missing"),
    (("external(%x, <f32> 1.5)", "external(%x, <f32> 1.5, %x)"), "its region has 2 arguments, want 3"),
    (("external(%x, <f32> 1.5)", "external(%x, <f64> 1.5)"), "argument 1 of its region is <f32>, want <f64>"),
    (("mul(%x_2, %1)", "mul(%x, %1)"), "its region reads values around it"),
    (("external(%x, <f32> 1.5)", "external()"), "has 0 operands, want at least 1"),
])
def test_bad_texts(change, said, tmp_path):
    path, dump = define.model(tmp_path / "m.onnx"), tmp_path / "m.dnn"
    assert not dnncc.run([dnncc.DNNCC, path, text(tmp_path), SWISH, "--emit=ir", "-o", dump]).returncode
    assert change[0] in dump.read_text()
    dump.write_text(dump.read_text().replace(*change, 1))
    assert said in define.refused(3, dump)


def test_bad_input(tmp_path):
    path, file = define.model(tmp_path / "m.onnx"), text(tmp_path)

    def said(code, *options, model=path):
        return define.refused(code, model, *options)

    assert "want a C identifier of at most 31 characters that is no reserved word, not '1x'" in said(1, file, "--define=acme.Swish=c:1x")
    assert "not 'while'" in said(1, file, "--define=acme.Swish=c:while")
    assert "want a C identifier" in said(1, file, "--define=acme.Swish=c:")
    assert "c:none_run is a name of the generated code" in said(1, file, "--define=acme.Swish=c:none_run")
    assert "c:f32 is a name of the generated code" in said(1, file, "--define=acme.Swish=c:f32")
    assert "no text of --define has func @acme.Swich, did you mean 'acme.Swish'?" in said(1, file, "--define=acme.Swich=c:s")
    assert "no text of --define has func @acme.Swish" in said(1, "--define=acme.Swish=c:s")
    assert "would have two prototypes" in said(1, file, "--define=acme.Swish=c:s", "--define=Mix=c:s")
    assert "c:s stands for it already" in said(1, file, "--define=acme.Swish=c:s", "--define=acme.Swish=c:t")
    done = dnncc.run([dnncc.DNNCC, path, file, SWISH, "--target=cuda-sm_80", "-o", tmp_path / "none.cu"])
    assert done.returncode == 4 and "node 'first' (external): kernels of a device call no C function" in done.stderr
    still = define.model(tmp_path / "open.onnx", rows="N")
    message = said(4, file, SWISH, "--dim=N=1..7", model=still)
    assert "c:acme_swish cannot stand for func @acme.Swish: a run gives an extent of an input: bind it with --dim" in message
    assert not dnncc.run([dnncc.DNNCC, still, file, SWISH, "--dim=N=7", "-o", tmp_path / "bound.c"]).returncode
    table = define.TEXT.replace("const @half : <f32> = 0.5", "const @half : <4 x f32> = [0.125, 0.0625, 0.25, 0.0625]").replace(
        "  %half = broadcast(@half)", "  %all = reduce(@half, <1 x i64> [0]) : <f32>\n  %half = broadcast(%all)")
    assert "reads a constant of several elements" in said(4, text(tmp_path, table), SWISH)
    branch = define.TEXT[:define.TEXT.index("func @acme.Swish")] + """func @acme.Swish(%x "x": <N x M x f32>, %k "attribute:k": <f32>) -> ("y") {
  %c = gt(%k, 0.5) : <bool>
  %y = if(%c) : <N x M x f32> {
    yield(%x)
  } else {
    yield(%x)
  }
  yield(%y)
}
""" + define.TEXT[define.TEXT.index("func @Mix"):]
    assert "its text has control flow, or kernels" in said(4, text(tmp_path, branch), SWISH)
    other = define.TEXT[:define.TEXT.index("func @Mix")] + define.TEXT[define.TEXT.index("func @Mix"):].replace("@Mix", "@acme.Mix")
    assert not dnncc.run([dnncc.DNNCC, path, text(tmp_path, other), "--define=acme.Mix=c:mix", "-o", tmp_path / "own.c"]).returncode
    assert "int mix(size_t n0, size_t n1, const float *p0, const float *p1, float *p2, float *p3);" in " ".join((tmp_path / "own.h").read_text().split())
