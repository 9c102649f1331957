# SPDX-License-Identifier: MIT
"""--define FILE: operators that the caller defines, by functions of an ONNX model or of a text of Tensor IR."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

F = onnx.TensorProto.FLOAT
R = np.random.default_rng(11)
node = helper.make_node
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]

TEXT = """dnn 3
module "acme"
symbol N <= 64
symbol M <= 64
const @half : <f32> = 0.5
func @acme.Swish(%x "x": <N x M x f32>, %k "attribute:k": <f32>) -> ("y") {
  %kb = broadcast(%k) dims=[] : <N x M x f32>
  %kx = mul(%x, %kb) : <N x M x f32>
  %half = broadcast(@half) dims=[] : <N x M x f32>
  %s = max(%kx, %half) : <N x M x f32>
  %y = mul(%x, %s) : <N x M x f32>
  yield(%y)
}
func @Mix(%a "a": <N x M x f32>, %b "b": <N x M x f32>) -> ("y", "z") {
  %m = max(%a, %b) : <N x M x f32>
  %y = add(%m, 0.25) : <N x M x f32>
  yield(%y, %m)
}
"""


def swish(x, k):
    return x * np.maximum(x * np.float32(k), np.float32(.5))


def mix(a, b):
    return np.maximum(a, b) + np.float32(.25)


def model(path, rows=3, nodes=None, outputs="y", functions=()):
    nodes = nodes or [node("Swish", ["x"], ["a"], domain="acme", k=1.5, name="first"), node("Swish", ["a"], ["b"], domain="acme", k=.5),
                      node("Mix", ["a", "b"], ["y"], domain="acme")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, (rows, 5))], [helper.make_tensor_value_info(outputs, F, (rows, 5))])
    onnx.save(helper.make_model(graph, opset_imports=OPSETS, ir_version=8, functions=functions), str(path))
    return path


def written(path, text=TEXT):
    path.write_text(text)
    return path


def want(x):
    a = swish(x, 1.5)
    return mix(a, swish(a, .5))


def run(path, x, folder, *options):
    """what the interpreter makes of x"""
    folder.mkdir(exist_ok=True)
    np.save(folder / "input_0.npy", x)
    done = dnncc.run([dnncc.DNNCC, path, f"--run={folder}", *options])
    assert not done.returncode, done.stderr
    return np.load(folder / "output_0.npy")


def refused(code, path, *options):
    done = dnncc.run([dnncc.DNNCC, path, *options, "-o", path.parent / "none.c"])
    assert done.returncode == code, (done.returncode, done.stderr)
    assert not (path.parent / "none.c").exists()
    return done.stderr


SWISH = helper.make_function("acme", "Swish", ["x"], ["y"], [
    node("Constant", [], ["half"], value=numpy_helper.from_array(np.float32(.5))), node("Constant", [], ["k"], value_float=1.0),
    node("Mul", ["x", "k"], ["kx"]), node("Max", ["kx", "half"], ["s"]), node("Mul", ["x", "s"], ["y"])], OPSETS[:1], ["k"])
SWISH.node[1].attribute[0].Clear()
SWISH.node[1].attribute.append(onnx.AttributeProto(name="value_float", ref_attr_name="k", type=onnx.AttributeProto.FLOAT))
del SWISH.node[1].attribute[0]
MIX = helper.make_function("acme", "Mix", ["a", "b"], ["y", "m"], [
    node("Constant", [], ["c"], value_float=.25), node("Max", ["a", "b"], ["m"]), node("Add", ["m", "c"], ["y"])], OPSETS[:1])


def library(path, functions=(SWISH, MIX)):
    graph = helper.make_graph([], "library", [], [])
    onnx.save(helper.make_model(graph, opset_imports=OPSETS, ir_version=8, functions=list(functions)), str(path))
    return path


@pytest.mark.parametrize("kind", ["text", "model", "onnx text"])
def test_kinds(kind, tmp_path):
    """each kind of file, in C and in the interpreter, with lengths that a run gives and without"""
    if kind == "text":
        file = written(tmp_path / "acme.dnn")
    elif kind == "model":
        file = library(tmp_path / "acme.onnx")
    else:
        file = written(tmp_path / "acme.onnxtxt", """<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
library () => () { }
<domain: "acme", opset_import: ["" : 17]>
Swish <k> (x) => (y) {
  k = Constant <value_float: float = @k> ()
  half = Constant <value_float: float = 0.5> ()
  kx = Mul (x, k)
  s = Max (kx, half)
  y = Mul (x, s)
}
<domain: "acme", opset_import: ["" : 17]>
Mix (a, b) => (y, m) {
  c = Constant <value_float: float = 0.25> ()
  m = Max (a, b)
  y = Add (m, c)
}
""")
    path = model(tmp_path / "m.onnx")
    x = R.standard_normal((3, 5)).astype(np.float32)
    dnncc.compile_model(path, tmp_path, [f"--define={file}"])
    np.testing.assert_array_equal(dnncc.run_host(dnncc.build_host(tmp_path, dnncc.SANITIZE), [x])[0], want(x))
    path = model(tmp_path / "open.onnx", rows="N")
    for rows in 1, 4, 7:
        x = R.standard_normal((rows, 5)).astype(np.float32)
        np.testing.assert_array_equal(run(path, x, tmp_path / str(rows), "--define", file, "--dim=N=1..7"), want(x))


def test_same_code(tmp_path):
    """functions of a file are the model's own: the same C; each names its source"""
    own = model(tmp_path / "own.onnx", functions=[SWISH, MIX])
    bare = model(tmp_path / "bare.onnx")
    file = library(tmp_path / "acme.onnx")
    texts = []
    for path, options in (own, []), (bare, ["--define", file, "-MD"]):
        assert not dnncc.run([dnncc.DNNCC, path, *options, "--name=m", "-o", tmp_path / "m.c"]).returncode
        text = (tmp_path / "m.c").read_text()
        assert ("--define=FILE" in text) == (path == bare)
        texts.append("".join(line for line in text.splitlines(True) if "source: " not in line and "compiled by" not in line and "BUILD" not in line))
    assert texts[0] == texts[1]
    assert str(file) in (tmp_path / "m.d").read_text()


def test_large_constants(tmp_path):
    """tensors of a file's functions and of the model's, which both lie where their file has them"""
    w = [R.standard_normal((5, 400)).astype(np.float32), R.standard_normal((400, 5)).astype(np.float32)]
    wide = helper.make_function("acme", "Wide", ["x"], ["y"], [
        node("Constant", [], ["w"], value=numpy_helper.from_array(w[0])), node("MatMul", ["x", "w"], ["y"])], OPSETS[:1])
    narrow = helper.make_function("acme", "Narrow", ["x"], ["y"], [
        node("Constant", [], ["w"], value=numpy_helper.from_array(w[1])), node("MatMul", ["x", "w"], ["y"])], OPSETS[:1])
    nodes = [node("Wide", ["x"], ["a"], domain="acme"), node("Narrow", ["a"], ["y"], domain="acme")]
    path = model(tmp_path / "m.onnx", nodes=nodes, functions=[narrow])
    file = library(tmp_path / "acme.onnx", [wide])
    x = R.standard_normal((3, 5)).astype(np.float32)
    np.testing.assert_allclose(run(path, x, tmp_path / "in", "--define", file), x @ w[0] @ w[1], rtol=1e-4, atol=1e-4)


def test_precedence(tmp_path):
    """what the caller defines stands in front of dnncc's own operators and of the model's functions; of texts the first that fits counts"""
    own = helper.make_function("acme", "Mix", ["a", "b"], ["y"], [node("Sub", ["a", "b"], ["y"])], OPSETS[:1])
    nodes = [node("Relu", ["x"], ["r"]), node("Mix", ["r", "x"], ["y"], domain="acme")]
    path = model(tmp_path / "m.onnx", nodes=nodes, functions=[own])
    x = R.standard_normal((3, 5)).astype(np.float32)
    relu = np.maximum(x, 0)
    np.testing.assert_array_equal(run(path, x, tmp_path / "in"), relu - x)
    text = written(tmp_path / "acme.dnn")
    np.testing.assert_array_equal(run(path, x, tmp_path / "in", "--define", text), mix(relu, x))
    np.testing.assert_array_equal(run(path, x, tmp_path / "in", "--define", library(tmp_path / "acme.onnx")), mix(relu, x))
    negative = 'dnn 3\nmodule "r"\nfunc @Relu(%x "x": <{} x 5 x f32>) -> ("y") {{\n  %y = min(%x, 0.0) : <{} x 5 x f32>\n  yield(%y)\n}}\n'
    other, fits = written(tmp_path / "other.dnn", negative.format(4, 4)), written(tmp_path / "fits.dnn", negative.format(3, 3))
    got = run(path, x, tmp_path / "in", "--define", other, "--define", fits, "--define", text)
    np.testing.assert_array_equal(got, mix(np.minimum(x, 0), x))
    standard = helper.make_function("", "Relu", ["x"], ["y"], [node("Neg", ["x"], ["y"])], OPSETS[:1])
    got = run(path, x, tmp_path / "in", "--define", library(tmp_path / "relu.onnx", [standard]))
    np.testing.assert_array_equal(got, -x - x)
    message = refused(3, path, "--define", other)
    assert "node of output 'r' (Relu): input 0 is <3 x 5 x f32>, want <4 x 5 x f32>: for func @Relu of" in message


def test_attributes(tmp_path):
    """numbers, lists and tensors are operands of the function, of the types that it states"""
    text = written(tmp_path / "acme.dnn", """dnn 3
module "acme"
symbol N <= 64
symbol M <= 64
func @acme.Line(%x "x": <N x M x f32>, %a "attribute:a": <f32>, %w "attribute:w": <M x f32>, %n "attribute:n": <f32>, %i "attribute:i": <2 x i64>, %t "attribute:t": <M x f32>) -> ("y") {
  %1 = broadcast(%a) dims=[] : <N x M x f32>
  %2 = broadcast(%w) dims=[1] : <N x M x f32>
  %3 = broadcast(%n) dims=[] : <N x M x f32>
  %4 = broadcast(%t) dims=[1] : <N x M x f32>
  %5 = gather(%i, <i64> 1) : <i64>
  %7 = cast(%5) : <f32>
  %8 = broadcast(%7) dims=[] : <N x M x f32>
  %9 = mul(%x, %1) : <N x M x f32>
  %10 = mul(%9, %2) : <N x M x f32>
  %11 = add(%10, %3) : <N x M x f32>
  %12 = add(%11, %4) : <N x M x f32>
  %13 = add(%12, %8) : <N x M x f32>
  yield(%13)
}
""")
    w, t = [1., 2., -1., 4., .5], np.arange(5, dtype=np.float32)
    given = {"a": .5, "w": w, "n": 3, "i": [7, 1 << 20], "t": numpy_helper.from_array(t)}
    path = model(tmp_path / "m.onnx", nodes=[node("Line", ["x"], ["y"], domain="acme", **given)])
    x = R.standard_normal((3, 5)).astype(np.float32)
    expected = ((x * np.float32(.5) * np.float32(w) + np.float32(3)) + t) + np.float32(1 << 20)
    np.testing.assert_array_equal(run(path, x, tmp_path / "in", "--define", text), expected)
    for change, said in [({"a": None}, "attribute 'a' is missing"), ({"w": w[:4]}, "attribute 'w' is <4 x f32>, want <M x f32>"),
                         ({"more": 1}, "unknown attribute 'more'"), ({"a": "text"}, "attribute 'a' is neither a number, numbers, nor a tensor")]:
        changed = {k: v for k, v in (given | change).items() if v is not None}
        message = refused(3, model(tmp_path / "m.onnx", nodes=[node("Line", ["x"], ["y"], domain="acme", **changed)]), "--define", text)
        assert said in message, message


def test_bad_input(tmp_path):
    path = model(tmp_path / "m.onnx")
    text = written(tmp_path / "acme.dnn")
    assert "cannot read" in refused(2, path, f"--define={tmp_path}/none.dnn")
    assert "has no functions" in refused(3, path, "--define", library(tmp_path / "empty.onnx", []))
    assert "bad.dnn: error: line 3" in refused(3, path, "--define", written(tmp_path / "bad.dnn", 'dnn 3\nmodule "m"\nfunk\n'))
    message = refused(4, path, "--define", written(tmp_path / "half.dnn", TEXT[:TEXT.index("func @Mix")]))
    assert "Mix" in message and "Swish" not in message
    assert "symbol N is 65, want 0 to 64" in refused(3, model(tmp_path / "large.onnx", rows=65), "--define", text)
    message = refused(3, model(tmp_path / "many.onnx", nodes=[node("Mix", ["x", "x"], ["y", "z", "more"], domain="acme")]), "--define", text)
    assert "3 outputs, the function has 2" in message
    assert "input 1 is missing" in refused(3, model(tmp_path / "few.onnx", nodes=[node("Mix", ["x"], ["y"], domain="acme")]), "--define", text)
    message = refused(3, model(tmp_path / "more.onnx", nodes=[node("Mix", ["x"] * 3, ["y"], domain="acme")]), "--define", text)
    assert "3 inputs, want 2" in message
    itself = helper.make_function("acme", "Swish", ["x"], ["y"], [node("Swish", ["x"], ["y"], domain="acme")], OPSETS, ["k"])
    assert "function 'Swish' calls itself" in refused(3, path, "--define", library(tmp_path / "self.onnx", [itself, MIX]))
    dnncc.run([dnncc.DNNCC, path, "--define", text, "--emit=ir", "-o", tmp_path / "m.dnn"])
    assert "--define is for .onnx models" in refused(1, tmp_path / "m.dnn", "--define", text)
    blob = TEXT.replace("const @half : <f32> = 0.5", f'data "secret" sha256 "{"0" * 64}" bytes 4\nconst @half : <f32> = file 0')
    assert "constants in a file are not possible here" in refused(3, path, "--define", written(tmp_path / "file.dnn", blob))


def test_entries(tmp_path):
    """several entries share what is defined"""
    text = written(tmp_path / "acme.dnn")
    path = model(tmp_path / "m.onnx", rows="N")
    done = dnncc.run([dnncc.DNNCC, path, "--define", text, "--entry=one:N=1", "--entry=many:N=1..9", "-o", tmp_path / "m.c"])
    assert not done.returncode, done.stderr
    header = (tmp_path / "m.h").read_text()
    assert "m_one_run" in header and "m_many_run" in header


def test_facts(tmp_path):
    """--info counts what is defined among the operators that there are"""
    path = model(tmp_path / "m.onnx")
    text = written(tmp_path / "acme.dnn")
    assert "not supported" in dnncc.run([dnncc.DNNCC, path, "--info"]).stdout
    done = dnncc.run([dnncc.DNNCC, path, "--info", "--define", text])
    assert not done.returncode and "Mix" in done.stdout and "not supported" not in done.stdout
