# SPDX-License-Identifier: MIT
"""ONNX's text: the same model as onnx.parser makes of it, and clean errors for what is damaged."""
import pathlib
import random
import re
import sys

import onnx
import onnx.parser
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hostile import check_manners, clean, put, refused, run  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["" : 21, "local" : 1]>\n'
TEXTS = {
    "head": """< # what is said of it
  ir_version: 8, opset_import: ["" : 17], producer_name: "a \\"name\\"", producer_version: "1", domain: "z", model_version: 2, doc_string: "# no comment",
  metadata_props: ["a" : "b", "c" : "d"] >
g (float[2] x) => (float[2] y) { y = Relu (x) }""",
    "initializers": HEAD + """g (float[2, 3] x, float[3] w = {1, -2.5, 3e-1}) => (float[2, 3] y)
<float[2, 3] t, int64[1] axis = {1}, float[2, 1] v = {inf, 1.5}, int8[3] small = {1, -128, 127}, uint64[1] large = {18446744073709551615}, double d = {0.1}, bool[2] b = {1, 0}>
{ t = Add (x, w)  [named] s = ReduceSum (t, axis)  u = Add (s, v)  c = Cast <to = 1> (d)  e = Cast <to = 1> (small)  f = Mul (e, c)  z = Cast <to = 1> (large)  q = Add (f, z)
  r = Add (u, q)  y = Add (t, r) }""",
    "attributes": HEAD + """g (float[1, 2, 8, 8] x) => (float[1, 2, 4, 4] y)
{ t = MaxPool <kernel_shape = [2, 2], strides: ints = [2, 2], auto_pad: string = "VALID"> (x)
  u = Elu <alpha: float = 2.0> (t)  k = Constant <value = float[1] {3}> ()  l = Constant <value: tensor = int64[2] named {4, 4}> ()  m = Constant <value_floats = [1.5, 2.5]> ()
  v = Mul (u, k)  w = ReduceMax <keepdims = 1> (v)  y = Add (v, w) }""",
    "behind": HEAD + "g (float[4, 4] x) => (float[4, 4] y) <int64[1] k = {4}> { t, i = TopK (x, k) <axis = -1> y = Identity (t) }",
    "absent": HEAD + 'g (float[4] x, float[1] h) => (float[4] y) { y = Clip (x, , h) }',
    "quoted": HEAD + 'g (float[3] "x.1", float[3] "1") => (float[3] "y:0") { "y:0" = Add ("x.1", "1") }',
    "branches": HEAD + """g (float[2] x, bool c) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) },
      else_branch: graph = e () => (float[2] b) <float k = {2}> { b = Mul (x, k) }> }""",
    "loop": HEAD + """g (float[2] x) => (float[2] y) <int64 n = {3}, bool go = {1}>
      { y = Loop <body = b (int64 i, bool c, float[2] h) => (bool d, float[2] o) { d = Identity (c) o = Add (h, x) }> (n, go, x) }""",
    "sequences": HEAD + """g (float[2, 3] x) => (float[4, 3] y) <seq(float[2, 3]) t>
      { t = SequenceConstruct (x, x) y = ConcatFromSequence <axis = 0> (t) }""",
    "functions": HEAD + """g (float[2] x) => (float[2] y) { t = local.f <a = 2.5> (x) y = local.h (t) }
<domain: "local", opset_import: ["" : 21], doc_string: "f"> f <a, b: int = 3> (float[2] x) => (float[2] z) { k = Constant <value_float: float = @a> () z = Mul (x, k) }
<domain: "local", opset_import: ["" : 21, "local" : 1]> h (x) => (y) { y = local.f <a = 1.5> (x) }""",
    "types": HEAD + """g (float16[2] a, bfloat16[2] b, uint8[2] c, float8e4m3fn[2] d, int4[2] e) => (float[2] y)
      { f = Cast <to = 1> (a) h = Cast <to = 1> (b) i = Cast <to = 1> (c) j = Cast <to = 1> (d) k = Cast <to = 1> (e) l = Sum (f, h, i, j, k) y = Identity (l) }""",
}
PIECES = ["<", ">", "(", ")", "[", "]", "{", "}", ",", ":", "=", "=>", '"', "@", "#", "?", ".", "-", "1", "99999999999999999999", "1e999", "nan", "float", "seq(", "x", "\n", "\0", "\xff", "graph", "ints"]


def ir(folder, content):
    put(folder, content)
    done = run(folder, "--emit=ir", "--passes=dce", output="out.dnn")
    text = (folder / "out.dnn").read_text() if done.code == 0 else None
    clean(folder)
    return done, text and re.sub('source "[0-9a-f]*"', "", text)


@pytest.mark.parametrize("name", TEXTS)
def test_the_same_as_the_parser(tmp_path, name):
    text = TEXTS[name]
    done, got = ir(tmp_path, text.encode())
    want = ir(tmp_path, onnx.parser.parse_model(text))
    assert done.code == 0 and got == want[1], (done, want[0])
    assert ir(tmp_path, ("# a comment\n " + text).encode())[1] == got


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", TEXTS)
def test_ends(tmp_path, name):
    """a text that ends early is an error with a line"""
    text = TEXTS[name].encode()
    for at in range(HEAD.index(":"), len(text) - 1, 1 + len(text) // 25):
        if text[at:].strip() and not text[:at].rstrip().endswith(b"}"):
            refused(tmp_path, text[:at], codes=(3, 4), lines=1)
        clean(tmp_path)


@pytest.mark.slow
def test_damaged(tmp_path):
    """letters and words that are gone, doubled, or others: an error, or the model that onnx.parser reads"""
    rng = random.Random(35)
    both = 0
    for original in TEXTS.values():
        for _ in range(25):
            at, text = rng.randrange(len(original)), original
            to = at + rng.choice([0, 1, 1, 2, 9])
            changed = (text[:at] + rng.choice(["", *PIECES, text[at:to] * 2]) + text[to:]).encode("utf-8", "replace")
            done, got = ir(tmp_path, changed)
            check_manners(done)
            if got is None:
                continue
            try:
                want = onnx.parser.parse_model(changed.decode())
            except Exception:
                continue                # what it refuses and we read
            assert got == ir(tmp_path, want)[1], changed
            both += 1
    assert both > 20


def test_messages(tmp_path):
    refused(tmp_path, (HEAD + "g (float[2] x) => (float[2] y)\n{\n  y = Relu x\n}").encode(), names="line 4: want '(', found 'x", codes=(3,), lines=1)
    refused(tmp_path, (HEAD.replace("ir_version", "ir_versio") + "g () => () {}").encode(), names="want a field of the model", codes=(3,), lines=1)
    refused(tmp_path, b"<html>\n<body>not found</body>", names="HTML or XML text", codes=(3,), lines=1)
    deep = "seq(" * 500 + "float" + ")" * 500
    refused(tmp_path, (HEAD + f"g ({deep} x) => (float[2] y) {{}}").encode(), limit="wire_depth", codes=(3,), lines=1)
    graphs = HEAD + "g (float[2] x) => (float[2] y) " + "{ y = If (x) <then_branch = t () => (float[2] y) " * 300
    refused(tmp_path, graphs.encode(), limit="wire_depth", codes=(3,), lines=1)


def test_data_beside(tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(12))
    put(tmp_path, (HEAD + 'g (float[3] x) => (float[3] y) <float[3] w = ["location": "w.bin"]> { y = Add (x, w) }').encode())
    assert run(tmp_path).code == 0 and "w.bin" not in (tmp_path / "out.c").read_text()
